/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events and claim status of the API server in memory: what was posted is taken apart field by
 * field, patches are kept as text. Header only, because each test is one file.
 */
#ifndef TESTS_UNIT_AGENT_EVENTS_H
#define TESTS_UNIT_AGENT_EVENTS_H

#include "agent_answers.h"

#define STORED_EVENTS 64
#define STATUS_TEXT_MAX 30000

struct stored_event {
    bool used;
    char ns[64];
    char name[300];
    char controller[64];
    char instance[140];
    char action[64];
    char reason[64];
    char note[1100];
    char type[16];
    char kind[32];
    char about_ns[64];
    char about_name[300];
    char about_uid[300];
    char api_version[40];
    uint64_t seconds;
    uint64_t nanos;
    uint64_t count; /* of the series; 0: none */
    uint64_t last_seconds;
    unsigned patches;
    char patch[200];
};

static struct {
    unsigned http;         /* answer to Events instead of success; 0: none */
    unsigned posts;        /* that were answered with success */
    unsigned asked;        /* requests for Events, whatever the answer */
    const char *message;   /* of the refusal, NULL: the usual one */
    const char *denied_ns; /* whose Events are answered by 403; NULL: none */
    bool mute;             /* stores Events and does not answer */
    unsigned status_http;
    unsigned status_asked;
    char status_path[1024];
    char status_type[64];
    char status[STATUS_TEXT_MAX];
    struct stored_event event[STORED_EVENTS];
} took;

/* The only Event of a reason; fails when there is another number of them. */
UNUSED_OK static struct stored_event *event_only(const char *reason)
{
    struct stored_event *found = NULL;
    for (unsigned i = 0; i < STORED_EVENTS; i++) {
        struct stored_event *e = &took.event[i];
        if (e->used && strcmp(e->reason, reason) == 0) {
            assert_null(found);
            found = e;
        }
    }
    if (found == NULL) {
        fail_msg("no Event %s", reason);
    }
    return found;
}

UNUSED_OK static unsigned events_stored(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < STORED_EVENTS; i++) {
        n += took.event[i].used ? 1u : 0u;
    }
    return n;
}

static void event_time(struct view time, uint64_t *seconds, uint64_t *nanos)
{
    *seconds = proto_get(time, 1).value;
    *nanos = proto_get(time, 2).value;
    assert_int_equal(*nanos % 1000, 0);
}

static void event_take(struct stored_event *e, struct view object)
{
    struct view meta = proto_get(object, 1).bytes;
    struct view about = proto_get(object, 8).bytes;
    struct view series = proto_get(object, 3).bytes;
    uint64_t nanos = 0;
    memset(e, 0, sizeof *e);
    e->used = true;
    proto_text(meta, 1, e->name, sizeof e->name);
    proto_text(meta, 3, e->ns, sizeof e->ns);
    event_time(proto_get(object, 2).bytes, &e->seconds, &e->nanos);
    proto_text(object, 4, e->controller, sizeof e->controller);
    proto_text(object, 5, e->instance, sizeof e->instance);
    proto_text(object, 6, e->action, sizeof e->action);
    proto_text(object, 7, e->reason, sizeof e->reason);
    proto_text(object, 10, e->note, sizeof e->note);
    proto_text(object, 11, e->type, sizeof e->type);
    proto_text(about, 1, e->kind, sizeof e->kind);
    proto_text(about, 2, e->about_ns, sizeof e->about_ns);
    proto_text(about, 3, e->about_name, sizeof e->about_name);
    proto_text(about, 4, e->about_uid, sizeof e->about_uid);
    proto_text(about, 5, e->api_version, sizeof e->api_version);
    if (series.len > 0) {
        e->count = proto_get(series, 1).value;
        event_time(proto_get(series, 2).bytes, &e->last_seconds, &nanos);
    }
}

/* What the server's validation asks of every new Event. */
static void event_check(const struct stored_event *e)
{
    size_t name = strlen(e->name);
    assert_true(name > 0 && name <= 253);
    for (size_t i = 0; i < name; i++) {
        char c = e->name[i];
        bool edge =
            i == 0 || i == name - 1 || c == '.' || e->name[i + 1] == '.' || e->name[i - 1] == '.';
        bool alnum = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        assert_true(alnum || (c == '.' && i > 0 && e->name[i - 1] != '.') || (c == '-' && !edge));
    }
    assert_string_equal(e->ns, e->about_ns[0] == 0 ? "default" : e->about_ns);
    assert_true(e->seconds > 0);
    assert_string_equal(e->controller, "neuron.aws.com");
    assert_in_range(strlen(e->instance), 1, 128);
    assert_in_range(strlen(e->action), 1, 128);
    assert_in_range(strlen(e->reason), 1, 128);
    assert_in_range(strlen(e->note), 1, 1024);
    assert_true(view_is_utf8(view_text(e->note)));
    assert_true(strcmp(e->type, "Normal") == 0 || strcmp(e->type, "Warning") == 0);
    assert_true(e->count != 1);
}

/* Stores a posted Event; false: there is one of that name. */
static bool event_post(struct view object)
{
    static struct stored_event e;
    event_take(&e, object);
    event_check(&e);
    struct stored_event *room = NULL;
    for (unsigned i = 0; i < STORED_EVENTS; i++) {
        struct stored_event *at = &took.event[i];
        if (at->used && strcmp(at->name, e.name) == 0 && strcmp(at->ns, e.ns) == 0) {
            return false;
        }
        room = room == NULL && !at->used ? at : room;
    }
    assert_non_null(room);
    *room = e;
    took.posts++;
    return true;
}

/* Applies a patch of a series; false: there is no such Event. */
static bool event_patch(const char *ns, const char *name, struct view body)
{
    for (unsigned i = 0; i < STORED_EVENTS; i++) {
        struct stored_event *e = &took.event[i];
        if (e->used && strcmp(e->name, name) == 0 && strcmp(e->ns, ns) == 0) {
            unsigned count = 0;
            assert_int_equal(text_copy(e->patch, sizeof e->patch, body), STATUS_OK);
            assert_int_equal(sscanf(e->patch, "{\"series\":{\"count\":%u,", &count), 1);
            assert_true(count >= 2 && count >= e->count);
            e->count = count;
            e->patches++;
            return true;
        }
    }
    return false;
}

/* --- requests --- */

static void answer_refusal(struct api_stream *s, unsigned http)
{
    if (took.message == NULL) {
        answer_failure(s, http);
        return;
    }
    struct writer w = answer_writer(s);
    api_put_status(&w, http, "Forbidden", took.message);
    answer_done(s, &w, http);
}

static void answer_stored(struct api_stream *s, unsigned http)
{
    struct writer w = answer_writer(s);
    api_put_status(&w, http, "", "");
    answer_done(s, &w, http);
}

static void serve_event(struct api_stream *s)
{
    char ns[64];
    char name[300] = "";
    unsigned http = took.http;
    bool post = strcmp(s->method, "POST") == 0;
    took.asked++;
    int parts = sscanf(s->path, "/apis/events.k8s.io/v1/namespaces/%63[^/]/events/%299s", ns, name);
    assert_int_equal(parts, post ? 1 : 2);
    assert_string_equal(post ? PROTOBUF : "application/merge-patch+json", s->body_type);
    if (http == 999) {
        answer_text(s, 404, "text/plain; charset=utf-8", "404 page not found\n");
        return;
    }
    if (took.denied_ns != NULL && strcmp(took.denied_ns, ns) == 0) {
        http = 403;
    }
    if (http == 0 && post) {
        http = event_post(body_object(s, "Event")) ? 201 : 409;
    } else if (http == 0) {
        http = event_patch(ns, name, view_of(s->body, s->body_len)) ? 200 : 404;
    }
    if (took.mute) {
        return;
    }
    if (http < 300) {
        answer_stored(s, http);
    } else {
        answer_refusal(s, http);
    }
}

static void serve_status(struct api_stream *s)
{
    took.status_asked++;
    (void)snprintf(took.status_path, sizeof took.status_path, "%s", s->path);
    (void)snprintf(took.status_type, sizeof took.status_type, "%s", s->body_type);
    assert_int_equal(text_copy(took.status, sizeof took.status, view_of(s->body, s->body_len)),
                     STATUS_OK);
    if (took.mute) {
        return;
    }
    if (took.status_http == 0) {
        answer_stored(s, 200);
    } else {
        answer_refusal(s, took.status_http);
    }
}

#endif
