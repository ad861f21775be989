/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of the main loop: all decisions of one turn use the same time. Reads no clock; the
 * caller passes the time of the clock.
 */
#ifndef HOST_LOOP_TIME_H
#define HOST_LOOP_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* The time of the main loop. */
struct loop_time {
    uint64_t now_ms; /* the time for all decisions of this turn of the main loop */
    /* number of consecutive turns of the main loop in which now_ms did not advance */
    unsigned frozen_turns;
    /* time of the clock in the turn of the main loop in which now_ms stopped advancing */
    uint64_t frozen_ms;
};

/*
 * Begins a turn of the main loop and sets its time. `due_ms`: the earliest time limit; `ready`: on
 * some connection, input can be read or pending output can be sent.
 *
 * After a stall (a stopped process, a used-up CPU quota, a slow disk) received bytes and expired
 * time limits are waiting at the same time, and bytes that arrived in time must be read before a
 * limit applies. So while a limit has passed and connections are ready, the time stays just before
 * that limit, for at most FROZEN_TURNS_MAX turns and at most FROZEN_MS_MAX milliseconds.
 */
void loop_time_set(struct loop_time *t, uint64_t clock_ms, uint64_t due_ms, bool ready);
/*
 * Whether now_ms lags so far behind the clock that new connections and requests would lose part of
 * their time limits. If so, they must wait for a later turn of the main loop: connections in the
 * kernel's queue, requests in the agent.
 */
bool loop_time_is_old(const struct loop_time *t, uint64_t clock_ms);

#endif
