/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that every part of the API server in memory gives. Header only, because each test is one
 * file.
 */
#ifndef TESTS_UNIT_AGENT_ANSWERS_H
#define TESTS_UNIT_AGENT_ANSWERS_H

#include "agent_api.h"

#define PROTOBUF "application/vnd.kubernetes.protobuf"

static struct writer answer_writer(struct api_stream *s)
{
    return writer_of(s->out + s->out_len, sizeof s->out - s->out_len);
}

static void answer_done(struct api_stream *s, const struct writer *w, unsigned http)
{
    assert_false(w->full);
    s->out_len += w->len;
    s->http = http;
    s->end = true;
}

static void answer_failure(struct api_stream *s, unsigned http)
{
    static const struct {
        unsigned http;
        const char *reason;
        const char *message;
    } rows[] = {
        {401, "Unauthorized", "Unauthorized"},
        {403, "Forbidden", "resourceclaims is forbidden: User \"agent\" cannot do that"},
        {404, "NotFound", "resource not found"},
        {409, "Conflict", "the object has been modified"},
        {410, "Expired", "too old resource version"},
        {422, "Invalid", "ResourceSlice is invalid"},
        {429, "TooManyRequests", "too many requests"},
        {500, "InternalError", "etcdserver: request timed out"},
    };
    unsigned at = 0;
    while (at < sizeof rows / sizeof rows[0] - 1 && rows[at].http != http) {
        at++;
    }
    struct writer w = answer_writer(s);
    api_put_status(&w, http, rows[at].reason, rows[at].message);
    s->retry_after = api.retry_after;
    answer_done(s, &w, http);
}

static void answer_text(struct api_stream *s, unsigned http, const char *type, const char *text)
{
    struct writer w = answer_writer(s);
    writer_text(&w, text);
    s->type = type;
    answer_done(s, &w, http);
}

/* What a request carries in its envelope, of the kind that is expected. */
static struct view body_object(const struct api_stream *s, const char *kind)
{
    struct view body = view_of(s->body, s->body_len);
    char text[64];
    assert_true(body.len > 4 && memcmp(body.data, "k8s\0", 4) == 0);
    body = view_from(body, 4);
    proto_text(proto_get(body, 1).bytes, 2, text, sizeof text);
    assert_string_equal(text, kind);
    proto_text(proto_get(body, 1).bytes, 1, text, sizeof text);
    if (strcmp(kind, "ResourceSlice") == 0) {
        assert_string_equal(text, api_group_version(s->version));
    }
    return proto_get(body, 2).bytes;
}

#endif
