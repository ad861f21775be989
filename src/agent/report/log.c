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

#define LOG_ROW(id, lvl, text, cause, todo)                                                        \
    [(id)] = {.name = (text), .remedy = (todo), .level = (lvl)},
static const struct event_row event_rows[LOG_ID_COUNT] = {LOG_CATALOGUE(LOG_ROW)};

const char *log_id_name(enum log_id id)
{
    ASSERT((unsigned)id < (unsigned)LOG_ID_COUNT);
    return event_rows[id].name;
}

void log_begin(struct agent *a, enum log_id id)
{
    ASSERT((unsigned)id < (unsigned)LOG_ID_COUNT);
    a->counter[id]++;
    a->event = id;
    a->remedy_said = false;
    log_line_begin(&a->log, event_rows[id].level, log_id_name(id));
    notes_begin(a, id);
}

void log_view(struct agent *a, const char *key, struct view value)
{
    log_line_view(&a->log, key, value);
    notes_field(a, key, value);
}

void log_text(struct agent *a, const char *key, const char *value)
{
    log_view(a, key, view_text(value));
}

void log_number(struct agent *a, const char *key, int64_t value)
{
    uint8_t digits[24];
    struct writer text = writer_of(digits, sizeof digits);
    log_line_number(&a->log, key, value);
    writer_signed(&text, value);
    notes_field(a, key, writer_view(&text));
}

void log_about(struct agent *a, const struct claim_id *id)
{
    struct writer nowhere = writer_of(NULL, 0);
    if (claim_id_check(id, &nowhere) == STATUS_OK) {
        a->notes.about = id;
    }
}

void log_no_k8s_event(struct agent *a)
{
    a->notes.row = NOTE_NO_ROW;
}

void log_remedy(struct agent *a, const char *text)
{
    log_text(a, "remedy", text);
    a->remedy_said = true;
}

void log_end(struct agent *a)
{
    const struct event_row *row = &event_rows[a->event];
    if (row->level <= LOG_WARN && !a->remedy_said) {
        log_remedy(a, row->remedy);
    }
    log_line_end(&a->log);
    notes_end(a);
}

void log_one(struct agent *a, enum log_id id, const char *key, const char *text)
{
    log_begin(a, id);
    log_text(a, key, text);
    log_end(a);
}
