/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of the event loop: all decisions of one turn use the same time. Reads no clock; the
 * caller passes the time of the clock.
 */
#ifndef HOST_LOOP_TIME_H
#define HOST_LOOP_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* The time of the event loop. */
struct loop_time {
    uint64_t now_ms;       /* the time for all decisions of this turn */
    unsigned frozen_turns; /* number of consecutive turns in which now_ms did not advance */
    uint64_t frozen_ms;    /* clock time of the turn in which now_ms stopped advancing */
};

/*
 * Begins a turn and sets its time. `due_ms`: the earliest time limit; `ready`: on some connection,
 * input can be read or pending output can be sent.
 *
 * After a stall (a stopped process, a used-up CPU quota, a slow disk) received bytes and expired
 * time limits are waiting at the same time, and bytes that arrived in time must be read before a
 * limit applies. So while a limit has passed and connections are ready, the time stays just before
 * that limit, for at most FROZEN_TURNS_MAX turns and at most FROZEN_MS_MAX milliseconds.
 */
void loop_time_set(struct loop_time *t, uint64_t clock_ms, uint64_t due_ms, bool ready);
/*
 * Whether the time of this turn lags so far behind the clock that new work would lose part of its
 * time limit. If so, new connections wait in the kernel, and new requests wait in the agent.
 */
bool loop_time_is_old(const struct loop_time *t, uint64_t clock_ms);

#endif
