/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes of Kubernetes Events, see event_notes.h: built field by field beside the log line, then
 * kept or counted in a table of fixed size. A note costs a few copies; nothing here waits.
 */
#include "agent/report/k8s_events.h"

#include <string.h>

#include "agent/state.h"
#include "base/assert.h"

#define REASON_ROW(id, warns, name, verb)                                                          \
    {.event = (uint8_t)(id), .warning = (warns), .action = (verb), .reason = (name)},
static const struct event_reason reasons[] = {K8S_EVENT_REASONS(REASON_ROW)};
#define REASONS (sizeof reasons / sizeof reasons[0])
_Static_assert(REASONS < NOTE_NO_ROW, "each row has a number of its own");

const struct event_reason *note_reason(const struct note *n)
{
    ASSERT(n->reason < REASONS);
    return &reasons[n->reason];
}

bool note_untold(const struct note *n)
{
    ASSERT(n->told <= n->count);
    return n->state != NOTE_FREE && n->told < n->count;
}

/* --- the note under way --- */

void notes_begin(struct agent *a, enum log_id id)
{
    struct notes *t = &a->notes;
    t->row = NOTE_NO_ROW;
    for (unsigned i = 0; i < REASONS; i++) {
        if (reasons[i].event == (unsigned)id) {
            t->row = i;
        }
    }
    t->about = NULL;
    t->full = false;
    t->len = 0;
    t->text[0] = 0;
}

static void append(struct notes *t, struct view v)
{
    ASSERT(t->len < sizeof t->text);
    char *end = &t->text[t->len];
    text_cut(end, sizeof t->text - t->len, v);
    size_t added = strlen(end);
    t->len += added;
    t->full = t->full || added < v.len;
}

void notes_field(struct agent *a, const char *key, struct view value)
{
    struct notes *t = &a->notes;
    uint8_t bytes[LOG_LINE_BYTES_MAX];
    struct writer word = writer_of(bytes, sizeof bytes);
    if (t->row == NOTE_NO_ROW || t->full || view_ends(view_text(key), "_ms")) {
        return;
    }
    if (t->len > 0u) {
        writer_u8(&word, ' ');
    }
    log_word(&word, key, value);
    append(t, writer_view(&word));
    t->full = t->full || word.full;
}

/* --- the table --- */

static bool fresh(const struct agent *a, const struct note *n)
{
    return n->state == NOTE_NEW || a->now_ms - n->last_ms < NOTE_WINDOW_MS;
}

static bool same(const struct notes *t, const struct note *n)
{
    const char *uid = (t->about == NULL) ? "" : t->about->uid;
    return n->state != NOTE_FREE && n->reason == t->row && view_is(view_text(n->about.uid), uid) &&
           view_is(view_text(n->text), t->text);
}

/* A free entry, or the one of those told to the end that came longest ago; NULL: none. */
static struct note *room(struct notes *t)
{
    struct note *best = NULL;
    for (unsigned i = 0; i < NOTES_MAX; i++) {
        struct note *n = &t->note[i];
        if (n->state == NOTE_FREE) {
            return n;
        }
        if (!note_untold(n) && (best == NULL || n->last_ms < best->last_ms)) {
            best = n;
        }
    }
    return best;
}

static struct note *find(const struct agent *a, struct notes *t)
{
    for (unsigned i = 0; i < NOTES_MAX; i++) {
        if (same(t, &t->note[i]) && fresh(a, &t->note[i])) {
            return &t->note[i];
        }
    }
    return NULL;
}

static void note_new(struct agent *a, struct note *n)
{
    const struct notes *t = &a->notes;
    memset(n, 0, sizeof *n);
    n->state = NOTE_NEW;
    n->reason = (uint8_t)t->row;
    n->first_ms = a->now_ms;
    n->first_wall_ms = a->wall_ms;
    n->serial = agent_random(a);
    if (t->about != NULL) {
        n->about = *t->about;
    }
    memcpy(n->text, t->text, sizeof n->text);
}

void notes_end(struct agent *a)
{
    struct notes *t = &a->notes;
    if (t->row == NOTE_NO_ROW) {
        return;
    }
    struct note *n = find(a, t);
    if (n == NULL) {
        n = room(t);
        if (n == NULL) {
            t->dropped++;
            return;
        }
        note_new(a, n);
    }
    n->count += (n->count < (uint32_t)INT32_MAX) ? 1u : 0u;
    n->last_ms = a->now_ms;
    n->last_wall_ms = a->wall_ms;
}
