/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of events.k8s.io/v1, judged as the real server does, and patches of a claim's status.
 * Source: k8s.io/kubernetes pkg/apis/core/validation/events.go. See sim_api_internal.h.
 */
#include <string.h>

#include "base/assert.h"
#include "tests/sim/apiserver/sim_api_internal.h"

enum {
    EVENT_META = 1,
    EVENT_TIME = 2,
    EVENT_SERIES = 3,
    EVENT_CONTROLLER = 4,
    EVENT_INSTANCE = 5,
    EVENT_ACTION = 6,
    EVENT_REASON = 7,
    EVENT_REGARDING = 8,
    EVENT_NOTE = 10,
    EVENT_TYPE = 11
};
enum { META_NAME = 1, META_GENERATE_NAME = 2, META_NAMESPACE = 3, REFERENCE_NAMESPACE = 2 };
enum { SERIES_COUNT = 1, SERIES_TIME = 2 };
#define EVENTS_VERSION "events.k8s.io/v1"
#define NAME_BYTES_MAX 253
#define WORD_BYTES_MAX 128
#define NOTE_BYTES_MAX 1024

static bool is_word(struct view v)
{
    return v.len > 0 && v.len <= WORD_BYTES_MAX;
}

static bool is_alnum(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* A DNS subdomain (RFC 1123), lower case: labels with dots between them. */
static bool is_name(struct view v)
{
    bool edge = true; /* only a letter or digit may come */
    for (size_t i = 0; i < v.len; i++) {
        uint8_t c = v.data[i];
        bool ends_label = c == '.' && !edge && v.data[i - 1] != '-';
        bool inside = c == '-' && !edge;
        if (!is_alnum(c) && !ends_label && !inside) {
            return false;
        }
        edge = ends_label;
    }
    return !edge && v.len <= NAME_BYTES_MAX && v.data[v.len - 1] != '-';
}

/* An object of the cluster has its Events in "default"; any other one in its own namespace. */
static bool place_valid(const struct sim_stream *s, struct view event)
{
    struct view meta = sim_field_bytes(event, EVENT_META);
    struct view ns = sim_field_bytes(meta, META_NAMESPACE);
    struct view of = sim_field_bytes(sim_field_bytes(event, EVENT_REGARDING), REFERENCE_NAMESPACE);
    const char *right = s->target.ns;
    bool named = is_name(sim_field_bytes(meta, META_NAME)) ||
                 sim_field_bytes(meta, META_GENERATE_NAME).len > 0;
    return named && (ns.len == 0 || view_is(ns, right)) &&
           (of.len == 0 ? strcmp(right, "default") == 0 : view_is(of, right));
}

/* A series is one of at least two. */
static bool series_valid(struct view event)
{
    struct sim_field series;
    return !sim_field_find(event, EVENT_SERIES, &series) ||
           (sim_field_value(series.bytes, SERIES_COUNT) >= 2 &&
            sim_field_bytes(series.bytes, SERIES_TIME).len > 0);
}

static const char *wrong_in(const struct sim_stream *s, struct view event)
{
    struct view type = sim_field_bytes(event, EVENT_TYPE);
    if (!place_valid(s, event)) {
        return "is invalid: metadata: no name, or not in the namespace of what it regards";
    }
    if (sim_field_bytes(event, EVENT_TIME).len == 0) {
        return "is invalid: eventTime: Required value";
    }
    for (unsigned field = EVENT_CONTROLLER; field <= EVENT_REASON; field++) {
        if (!is_word(sim_field_bytes(event, field))) {
            return "is invalid: reportingController, reportingInstance, action and reason must "
                   "have 1 to 128 bytes";
        }
    }
    if (sim_field_bytes(event, EVENT_NOTE).len > NOTE_BYTES_MAX) {
        return "is invalid: note: can have at most 1024 bytes";
    }
    if (!series_valid(event)) {
        return "is invalid: series: count must be at least 2, lastObservedTime is required";
    }
    bool known = view_is(type, "Normal") || view_is(type, "Warning");
    return known ? NULL : "is invalid: type: Invalid value";
}

/* --- names --- */

static bool is_known(const struct sim_api *a, struct view name)
{
    for (unsigned i = 0; i < SIM_EVENTS_MAX && name.len > 0; i++) {
        if (view_is(name, a->log_id_name[i])) {
            return true;
        }
    }
    return false;
}

static void create(struct sim_api *a, struct sim_stream *s)
{
    struct view raw = view_of(NULL, 0);
    unsigned wrong = sim_open_body(s, EVENTS_VERSION, "Event", &raw);
    const char *why = wrong == 0 ? wrong_in(s, raw) : NULL;
    struct view name = sim_field_bytes(sim_field_bytes(raw, EVENT_META), META_NAME);
    if (wrong != 0) {
        sim_answer_failure(a, s, wrong, "");
    } else if (why != NULL) {
        sim_answer_failure(a, s, 422, why);
    } else if (is_known(a, name)) {
        sim_answer_failure(a, s, 409, "already exists");
    } else {
        text_cut(a->log_id_name[a->events % SIM_EVENTS_MAX], NAME_CAP, name);
        a->events++;
        sim_answer_raw(s, 201, EVENTS_VERSION, "Event", raw);
    }
}

static void patch(struct sim_api *a, struct sim_stream *s)
{
    uint8_t bytes[NAME_CAP + 16];
    uint8_t meta_bytes[NAME_CAP + 8];
    struct writer meta = writer_of(meta_bytes, sizeof meta_bytes);
    struct writer raw = writer_of(bytes, sizeof bytes);
    if (!s->body_patch) {
        sim_answer_failure(a, s, 415, "");
        return;
    }
    if (!is_known(a, view_text(s->target.name))) {
        sim_answer_failure(a, s, 404, "");
        return;
    }
    sim_put_text(&meta, META_NAME, s->target.name);
    sim_put_bytes(&raw, EVENT_META, writer_view(&meta));
    a->series++;
    sim_answer_raw(s, 200, EVENTS_VERSION, "Event", writer_view(&raw));
}

void sim_serve_event(struct sim_api *a, struct sim_stream *s)
{
    bool one = s->target.name[0] != 0;
    if (!one && strcmp(s->method, "POST") == 0) {
        create(a, s);
    } else if (one && strcmp(s->method, "PATCH") == 0) {
        patch(a, s);
    } else {
        sim_answer_failure(a, s, 405, "");
    }
}

void sim_serve_claim_status(struct sim_api *a, struct sim_stream *s)
{
    const struct sim_object *o =
        sim_store_find(&a->store, SIM_CLAIM, view_text(s->target.ns), view_text(s->target.name));
    ASSERT(s->target.kind == SIM_CLAIM);
    if (strcmp(s->method, "PATCH") != 0) {
        sim_answer_failure(a, s, 405, "");
    } else if (!s->body_patch) {
        sim_answer_failure(a, s, 415, "");
    } else if (o == NULL) {
        sim_answer_failure(a, s, 404, "");
    } else {
        a->patches++;
        sim_answer_object(a, s, 200, o);
    }
}
