/* SPDX-License-Identifier: Apache-2.0 */
/* What the owner lets go wrong with requests. See sim_api_internal.h. */
#include <string.h>

#include "base/assert.h"
#include "tests/sim/apiserver/sim_api_internal.h"

void sim_api_fault(struct sim_api *a, enum sim_fault_kind kind, const struct sim_fault *fault)
{
    ASSERT(kind < SIM_FAULT_KINDS);
    ASSERT((kind != SIM_FAULT_ANSWER && kind != SIM_FAULT_LOST) || fault->http >= 400);
    a->fault[kind] = *fault;
}

void sim_api_fault_end(struct sim_api *a, enum sim_fault_kind kind)
{
    ASSERT(kind < SIM_FAULT_KINDS);
    a->fault[kind].asked = 0;
}

void sim_api_forget(struct sim_api *a)
{
    a->store.forgotten = a->store.version;
}

bool sim_fault_meets(const struct sim_api *a, enum sim_fault_kind kind, const struct sim_stream *s)
{
    ASSERT(kind < SIM_FAULT_KINDS);
    const struct sim_fault *f = &a->fault[kind];
    return (f->asked & s->asked) != 0 &&
           (f->about == NULL || strcmp(f->about, s->target.name) == 0);
}

const struct sim_object *sim_other_object(const struct sim_api *a, const struct sim_object *o)
{
    for (unsigned i = 0; i < a->store.top; i++) {
        const struct sim_object *other = &a->store.object[i];
        if (other != o && other->state == SIM_LIVE && other->kind == o->kind) {
            return other;
        }
    }
    return o;
}

static enum sim_asked asked_of_slices(const struct sim_stream *s)
{
    static const struct {
        const char *method;
        enum sim_asked asked;
    } writes[] = {{"POST", SIM_ASK_CREATE}, {"PUT", SIM_ASK_UPDATE}, {"DELETE", SIM_ASK_DELETE}};
    for (unsigned i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        if (strcmp(s->method, writes[i].method) == 0) {
            return writes[i].asked;
        }
    }
    return s->query.watch ? SIM_ASK_WATCH : SIM_ASK_LIST;
}

static enum sim_asked asked_of(const struct sim_stream *s)
{
    switch (s->target.what) {
    case SIM_TARGET_GROUP:
        return SIM_ASK_GROUP;
    case SIM_TARGET_EVENTS:
        return SIM_ASK_EVENT;
    case SIM_TARGET_CLAIM_STATUS:
        return SIM_ASK_STATUS;
    case SIM_TARGET_OBJECTS:
        break;
    default:
        return SIM_ASK_OTHER;
    }
    if (s->target.kind == SIM_SLICE) {
        return asked_of_slices(s);
    }
    if (s->target.kind == SIM_NODE) {
        return SIM_ASK_NODE;
    }
    return s->target.name[0] == 0 ? SIM_ASK_CLAIMS : SIM_ASK_CLAIM;
}

/* Words of 429 and of what an overloaded server says: no Status, as its filters answer. */
static void answer_fault(struct sim_api *a, struct sim_stream *s)
{
    const struct sim_fault *f = &a->fault[SIM_FAULT_ANSWER];
    s->retry_after_s = f->retry_after_s;
    if (f->http == 401 || f->text != NULL) {
        s->target.what = SIM_TARGET_NONE; /* the message names no object */
    }
    if (f->http == 429 && f->text == NULL) {
        sim_answer_text(s, f->http, "Too many requests, please try again later.\n");
    } else {
        sim_answer_failure(a, s, f->http, f->text != NULL ? f->text : "");
    }
}

static void answer_page(const struct sim_api *a, struct sim_stream *s)
{
    const struct sim_fault *f = &a->fault[SIM_FAULT_PAGE];
    unsigned http = f->http > 0 ? f->http : 200;
    if (f->type != NULL) {
        sim_answer_bytes(s, http, f->type, f->body);
    } else {
        sim_answer_text(s, http, "<html><body>Please sign in.</body></html>\n");
    }
}

/* Refused or silent: what is not even looked at. true: the request is over. */
static bool left_out(struct sim_api *a, struct sim_connection *c, struct sim_stream *s)
{
    if (sim_fault_meets(a, SIM_FAULT_REFUSED, s)) {
        h2_reset(&c->h2, s->id, H2_REFUSED_STREAM);
        s->state = SIM_STREAM_FREE;
        return true;
    }
    s->postponed = sim_fault_meets(a, SIM_FAULT_POSTPONED, s);
    s->told = s->told || s->postponed; /* the owner hears of it when it is served */
    return s->postponed || sim_fault_meets(a, SIM_FAULT_SILENT, s);
}

static void answer(struct sim_api *a, struct sim_stream *s)
{
    if (sim_fault_meets(a, SIM_FAULT_ANSWER, s) && s->authorised) {
        answer_fault(a, s);
    } else if (sim_fault_meets(a, SIM_FAULT_PAGE, s)) {
        answer_page(a, s);
    } else {
        sim_serve(a, s);
    }
    if (sim_fault_meets(a, SIM_FAULT_LOST, s)) {
        sim_answer_withdraw(s);
        sim_answer_failure(a, s, a->fault[SIM_FAULT_LOST].http, "");
    }
    if (sim_fault_meets(a, SIM_FAULT_CUT, s) && s->state == SIM_STREAM_ANSWERING) {
        s->out_len /= 2;
    }
}

struct sim_api_event sim_event_of(const struct sim_stream *s)
{
    return (struct sim_api_event){.method = s->method,
                                  .path = s->path,
                                  .accept = s->accept,
                                  .type = s->type,
                                  .body = view_of(s->body, s->body_len),
                                  .target = &s->target,
                                  .stream = s->id,
                                  .asked = s->asked,
                                  .http = s->http,
                                  .watch = s->query.watch,
                                  .authorised = s->authorised};
}

static void show(struct sim_api *a, const struct sim_connection *c, const struct sim_stream *s,
                 bool cancelled)
{
    struct sim_api_event e = sim_event_of(s);
    e.cancelled = cancelled;
    if (a->config.seen != NULL) {
        a->config.seen(a, (unsigned)(c - a->connection), &e);
    }
}

void sim_request(struct sim_api *a, struct sim_connection *c, struct sim_stream *s)
{
    s->state = SIM_STREAM_ANSWERING;
    s->target = (struct sim_target){.what = SIM_TARGET_NONE};
    sim_path_read(a, s);
    s->asked = asked_of(s);
    show(a, c, s, false);
    if (left_out(a, c, s)) {
        return;
    }
    answer(a, s);
    ASSERT(s->http != 0);
    s->unanswered = sim_fault_meets(a, SIM_FAULT_UNANSWERED, s);
    if (sim_fault_meets(a, SIM_FAULT_RESET, s)) {
        h2_reset(&c->h2, s->id, H2_INTERNAL_ERROR);
        s->state = SIM_STREAM_FREE;
        s->http = 0;
    }
}

void sim_request_cancelled(struct sim_api *a, struct sim_connection *c, struct sim_stream *s)
{
    show(a, c, s, true);
    s->state = SIM_STREAM_FREE;
}

void sim_api_resume(struct sim_api *a)
{
    for (unsigned i = 0; i < SIM_CONNECTIONS_MAX; i++) {
        for (unsigned n = 0; n < SIM_STREAMS_MAX; n++) {
            struct sim_stream *s = &a->connection[i].stream[n];
            if (s->state == SIM_STREAM_ANSWERING && s->postponed) {
                s->told = false;
                sim_request(a, &a->connection[i], s);
            }
        }
    }
}
