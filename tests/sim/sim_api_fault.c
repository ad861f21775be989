/* SPDX-License-Identifier: Apache-2.0 */
/* What the owner lets go wrong with requests. See sim_api_internal.h. */
#include <string.h>

#include "base/assert.h"
#include "tests/sim/sim_api_internal.h"

void sim_api_fault(struct sim_api *a, enum sim_fault_kind kind, const struct sim_fault *fault)
{
    ASSERT(kind < SIM_FAULT_KINDS);
    ASSERT(kind != SIM_FAULT_ANSWER || fault->http >= 400);
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
    return (a->fault[kind].asked & s->asked) != 0;
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
    return s->target.kind == SIM_NODE ? SIM_ASK_NODE : SIM_ASK_CLAIM;
}

/* Words of 429 and of what an overloaded server says: no Status, as its filters answer. */
static void answer_fault(struct sim_api *a, struct sim_stream *s)
{
    const struct sim_fault *f = &a->fault[SIM_FAULT_ANSWER];
    s->retry_after_s = f->retry_after_s;
    if (f->http == 429) {
        sim_answer_text(s, f->http, "Too many requests, please try again later.\n");
    } else {
        sim_answer_failure(a, s, f->http, "");
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
    return sim_fault_meets(a, SIM_FAULT_SILENT, s);
}

static void answer(struct sim_api *a, struct sim_stream *s)
{
    if (sim_fault_meets(a, SIM_FAULT_ANSWER, s) && s->authorised) {
        answer_fault(a, s);
    } else if (sim_fault_meets(a, SIM_FAULT_PAGE, s)) {
        sim_answer_text(s, 200, "<html><body>Please sign in.</body></html>\n");
    } else {
        sim_serve(a, s);
    }
    if (sim_fault_meets(a, SIM_FAULT_CUT, s) && s->state == SIM_STREAM_ANSWERING) {
        s->out_len /= 2;
    }
}

void sim_request(struct sim_api *a, struct sim_connection *c, struct sim_stream *s)
{
    s->state = SIM_STREAM_ANSWERING;
    sim_path_read(a, s);
    s->asked = asked_of(s);
    if (left_out(a, c, s)) {
        return;
    }
    answer(a, s);
    ASSERT(s->http != 0);
    if (sim_fault_meets(a, SIM_FAULT_RESET, s)) {
        h2_reset(&c->h2, s->id, H2_INTERNAL_ERROR);
        s->state = SIM_STREAM_FREE;
        s->http = 0;
    }
}
