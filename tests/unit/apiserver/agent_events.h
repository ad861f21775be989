/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events and claim status that the API server took: what was posted is taken apart field by field,
 * patches are kept as text. The model judges Events as the real server does. Header only, because
 * each test is one file.
 */
#ifndef TESTS_UNIT_AGENT_EVENTS_H
#define TESTS_UNIT_AGENT_EVENTS_H

#include "agent_api.h"

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

/* What the server does not judge. */
static void event_check(const struct stored_event *e)
{
    assert_string_equal(e->ns, e->about_ns[0] == 0 ? "default" : e->about_ns);
    assert_true(e->seconds > 0);
    assert_string_equal(e->controller, "neuron.aws.com");
    assert_true(e->note[0] != 0 && view_is_utf8(view_text(e->note)));
}

static void event_post(struct view object)
{
    for (unsigned i = 0; i < STORED_EVENTS; i++) {
        struct stored_event *e = &took.event[i];
        if (!e->used) {
            event_take(e, object);
            event_check(e);
            took.posts++;
            return;
        }
    }
    fail_msg("no room for another Event");
}

/* A patch of a series. */
static void event_patch(const struct sim_target *target, struct view body)
{
    for (unsigned i = 0; i < STORED_EVENTS; i++) {
        struct stored_event *e = &took.event[i];
        if (e->used && strcmp(e->name, target->name) == 0 && strcmp(e->ns, target->ns) == 0) {
            unsigned count = 0;
            assert_int_equal(text_copy(e->patch, sizeof e->patch, body), STATUS_OK);
            assert_int_equal(sscanf(e->patch, "{\"series\":{\"count\":%u,", &count), 1);
            assert_true(count >= 2 && count >= e->count);
            e->count = count;
            e->patches++;
            return;
        }
    }
    fail_msg("a patch of %s, which nobody posted", target->name);
}

/* The server forgets all Events, as it does an hour after each. */
UNUSED_OK static void events_expire(void)
{
    memset(took.event, 0, sizeof took.event);
    memset(server.log_id_name, 0, sizeof server.log_id_name);
}

/* --- requests --- */

static void took_event(const struct sim_api_event *e)
{
    bool post = strcmp(e->method, "POST") == 0;
    took.asked++;
    assert_string_equal(e->type, post ? PROTOBUF : "application/merge-patch+json");
    if (e->http == 201) {
        event_post(proto_get(view_from(e->body, 4), 2).bytes);
    } else if (e->http == 200) {
        event_patch(e->target, e->body);
    }
}

static void took_status(const struct sim_api_event *e)
{
    took.status_asked++;
    assert_int_equal(text_copy(took.status_path, sizeof took.status_path, view_text(e->path)),
                     STATUS_OK);
    assert_int_equal(text_copy(took.status_type, sizeof took.status_type, view_text(e->type)),
                     STATUS_OK);
    assert_int_equal(text_copy(took.status, sizeof took.status, e->body), STATUS_OK);
}

#endif
