/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events: one log line and one counter each, from the catalogue in events.h, and a Kubernetes Event
 * of those that have a reason. Owns the log and the counters; decides nothing.
 */
#include "agent/state.h"
#include "base/assert.h"

struct event_row {
    const char *name;
    const char *remedy;
    enum log_level level;
};

#define EVENT_ROW(id, lvl, text, cause, todo)                                                      \
    [(id)] = {.name = (text), .remedy = (todo), .level = (lvl)},
static const struct event_row event_rows[EVENT_COUNT] = {AGENT_EVENTS(EVENT_ROW)};

const char *event_name(enum event_id id)
{
    ASSERT((unsigned)id < (unsigned)EVENT_COUNT);
    return event_rows[id].name;
}

void event_begin(struct agent *a, enum event_id id)
{
    ASSERT((unsigned)id < (unsigned)EVENT_COUNT);
    a->counter[id]++;
    a->event = id;
    a->remedy_said = false;
    log_begin(&a->log, event_rows[id].level, event_name(id));
    notes_begin(a, id);
}

void event_view(struct agent *a, const char *key, struct view value)
{
    log_view(&a->log, key, value);
    notes_field(a, key, value);
}

void event_text(struct agent *a, const char *key, const char *value)
{
    event_view(a, key, view_text(value));
}

void event_number(struct agent *a, const char *key, int64_t value)
{
    uint8_t digits[24];
    struct writer text = writer_of(digits, sizeof digits);
    log_number(&a->log, key, value);
    writer_signed(&text, value);
    notes_field(a, key, writer_view(&text));
}

void event_about(struct agent *a, const struct claim_id *id)
{
    struct writer nowhere = writer_of(NULL, 0);
    if (claim_id_check(id, &nowhere) == STATUS_OK) {
        a->notes.about = id;
    }
}

void event_log_only(struct agent *a)
{
    a->notes.row = NOTE_NO_ROW;
}

void event_remedy(struct agent *a, const char *text)
{
    event_text(a, "remedy", text);
    a->remedy_said = true;
}

void event_end(struct agent *a)
{
    const struct event_row *row = &event_rows[a->event];
    if (row->level <= LOG_WARN && !a->remedy_said) {
        event_remedy(a, row->remedy);
    }
    log_end(&a->log);
    notes_end(a);
}

void event_say(struct agent *a, enum event_id id, const char *key, const char *text)
{
    event_begin(a, id);
    event_text(a, key, text);
    event_end(a);
}
