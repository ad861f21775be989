/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes and counts log lines. If a line causes a Kubernetes Event, copies the line's fields into
 * the Event's note. Does not decide what is logged.
 */
#include "agent/report/log.h"

#include <string.h>

#include "agent/frame.h"
#include "agent/report/room.h"
#include "base/assert.h"

struct log_row {
    const char *name;
    const char *remedy;
    enum log_level level;
};

#define LOG_ROW(id, lvl, text, cause, todo)                                                        \
    [(id)] = {.name = (text), .remedy = (todo), .level = (lvl)},
static const struct log_row log_rows[LOG_ID_COUNT] = {LOG_CATALOGUE(LOG_ROW)};

#define EVENT_ROW(id, warns, name, verb) [(id)] = true,
static const bool becomes_event[LOG_ID_COUNT] = {K8S_EVENT_REASONS(EVENT_ROW)};

const char *log_id_name(enum log_id id)
{
    ASSERT((unsigned)id < (unsigned)LOG_ID_COUNT);
    return log_rows[id].name;
}

void report_init(struct agent *a)
{
    log_init(&a->report->log, a->settings->log_level, a->settings->log_format);
    report_time(a);
}

void report_time(struct agent *a)
{
    a->report->log.wall_ms = a->wall_ms;
}

/* --- the Kubernetes Event of the current line --- */

static void start_event(struct event_draft *e, enum log_id id)
{
    e->wanted = becomes_event[id];
    e->full = false;
    e->len = 0;
    e->about = NULL;
    e->note[0] = '\0';
}

static void append_to_note(struct event_draft *e, struct view v)
{
    ASSERT(e->len < sizeof e->note);
    char *end = &e->note[e->len];
    text_cut(end, sizeof e->note - e->len, v);
    size_t added = strlen(end);
    e->len += added;
    e->full = added < v.len;
}

static void add_to_note(struct event_draft *e, const char *key, struct view value)
{
    uint8_t bytes[LOG_LINE_BYTES_MAX];
    struct writer word = writer_of(bytes, sizeof bytes);
    if (!e->wanted || e->full || view_ends(view_text(key), "_ms")) {
        return;
    }
    if (e->len > 0u) {
        writer_u8(&word, ' ');
    }
    log_word(&word, key, value);
    append_to_note(e, writer_view(&word));
    e->full = e->full || word.full;
}

/* --- writing log lines --- */

void log_begin(struct agent *a, enum log_id id)
{
    ASSERT((unsigned)id < (unsigned)LOG_ID_COUNT);
    a->report->count[id]++;
    a->report->id = id;
    a->report->remedy_given = false;
    log_line_begin(&a->report->log, log_rows[id].level, log_id_name(id));
    start_event(&a->report->event, id);
    if (a->driver->kind != DRIVER_NEURON) {
        log_text(a, "driver", a->driver->name);
    }
}

void log_view(struct agent *a, const char *key, struct view value)
{
    log_line_view(&a->report->log, key, value);
    add_to_note(&a->report->event, key, value);
}

void log_text(struct agent *a, const char *key, const char *value)
{
    log_view(a, key, view_text(value));
}

void log_number(struct agent *a, const char *key, int64_t value)
{
    uint8_t digits[24];
    struct writer text = writer_of(digits, sizeof digits);
    log_line_number(&a->report->log, key, value);
    writer_signed(&text, value);
    add_to_note(&a->report->event, key, writer_view(&text));
}

void log_claim(struct agent *a, const struct claim_id *id)
{
    log_text(a, "namespace", id->namespace_);
    log_text(a, "claim", id->name);
    log_text(a, "claim_uid", id->uid);
}

void log_about(struct agent *a, const struct claim_id *id)
{
    struct writer discarded = writer_of(NULL, 0);
    if (claim_id_check(id, &discarded) == STATUS_OK) {
        a->report->event.about = id;
    }
}

void log_no_k8s_event(struct agent *a)
{
    a->report->event.wanted = false;
}

void log_remedy(struct agent *a, const char *text)
{
    log_text(a, "remedy", text);
    a->report->remedy_given = true;
}

void log_no_remedy(struct agent *a)
{
    a->report->remedy_given = true;
}

void log_end(struct agent *a)
{
    const struct log_row *row = &log_rows[a->report->id];
    if (row->level <= LOG_WARN && !a->report->remedy_given) {
        log_remedy(a, row->remedy);
    }
    log_line_end(&a->report->log);
    if (a->report->event.wanted) {
        k8s_events_add(a, a->report->id, a->report->event.about, a->report->event.note);
    }
}

bool log_shows_debug(const struct agent *a)
{
    return a->settings->log_level == LOG_DEBUG;
}

void log_count(struct agent *a, enum log_id id, uint64_t n)
{
    ASSERT((unsigned)id < (unsigned)LOG_ID_COUNT);
    a->report->count[id] += n;
}

void log_one(struct agent *a, enum log_id id, const char *key, const char *text)
{
    log_begin(a, id);
    log_text(a, key, text);
    log_end(a);
}

struct view report_pending(const struct agent *a)
{
    return log_pending(&a->report->log);
}

void report_written(struct agent *a, size_t n)
{
    log_written(&a->report->log, n);
}

uint64_t report_end(const struct agent *a)
{
    return log_end_position(&a->report->log);
}

struct view report_last(const struct agent *a, uint64_t *at)
{
    return log_last(&a->report->log, at);
}

uint64_t report_count(const struct agent *a, enum log_id id)
{
    return a->report->count[id];
}
