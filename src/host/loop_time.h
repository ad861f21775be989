/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of the loop: when it moves and when it stands still. Reads no clock: the clock's time is
 * handed in.
 */
#ifndef HOST_LOOP_TIME_H
#define HOST_LOOP_TIME_H

#include <stdbool.h>
#include <stdint.h>

struct loop_time {
    uint64_t now_ms;       /* by which everything in this turn is judged */
    unsigned frozen_turns; /* turns in a row in which it stood still */
    uint64_t frozen_ms;    /* the clock's time in the first of them */
};

/*
 * A turn starts. `due_ms` is the earliest time limit, `ready` whether a connection has something
 * for us, or room for what waits for it.
 *
 * After a stall (a stopped process, a used-up CPU quota, a slow disk) both bytes and time limits
 * are there, and what came in time must be read before a limit is judged. So while a limit is over
 * and connections are ready, the time stands still just before that limit, for FROZEN_TURNS_MAX
 * turns and FROZEN_MS_MAX at most.
 */
void loop_time_set(struct loop_time *t, uint64_t clock_ms, uint64_t due_ms, bool ready);
/*
 * Whether the time of this turn is so old that what starts now would lose its own time limit: new
 * connections wait in the kernel then, and new requests in the agent.
 */
bool loop_time_is_old(const struct loop_time *t, uint64_t clock_ms);

#endif
