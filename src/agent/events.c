/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events: one log line and one counter each, from the catalogue in events.h. Owns the log and the
 * counters; decides nothing.
 */
#include "agent/state.h"
#include "base/assert.h"

struct event_row {
    const char *name;
    const char *remedy;
    enum log_level level;
};

static const struct event_row event_rows[EVENT_COUNT] = {
#define X(id, lvl, text, cause, todo) [id] = {.name = text, .remedy = todo, .level = lvl},
    AGENT_EVENTS(X)
#undef X
};

void event_begin(struct agent *a, enum event_id id)
{
    ASSERT((unsigned)id < EVENT_COUNT);
    a->counter[id]++;
    log_begin(&a->log, event_rows[id].level, event_rows[id].name);
}

void event_say(struct agent *a, enum event_id id, const char *key, const char *text)
{
    event_begin(a, id);
    log_text(&a->log, key, text);
    if (event_rows[id].level <= LOG_WARN) {
        log_text(&a->log, "remedy", event_rows[id].remedy);
    }
    log_end(&a->log);
}
