/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the time that all decisions of one turn of the main loop use; see loop_time.h. */
#include "host/loop_time.h"

#include "base/assert.h"
#include "cfg/limits.h"

void loop_time_set(struct loop_time *t, uint64_t clock_ms, uint64_t due_ms, bool ready)
{
    ASSERT(clock_ms >= t->now_ms);
    t->frozen_ms = (t->frozen_turns == 0u) ? clock_ms : t->frozen_ms;
    bool may = t->frozen_turns < FROZEN_TURNS_MAX && clock_ms - t->frozen_ms < FROZEN_MS_MAX;
    if (may && ready && clock_ms >= due_ms) {
        t->frozen_turns++;
        t->now_ms = (due_ms > t->now_ms) ? due_ms - 1u : t->now_ms;
    } else {
        t->frozen_turns = 0;
        t->now_ms = clock_ms;
    }
}

bool loop_time_is_old(const struct loop_time *t, uint64_t clock_ms)
{
    ASSERT(clock_ms >= t->now_ms);
    return clock_ms - t->now_ms >= TIME_OLD_MS;
}
