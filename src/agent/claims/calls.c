/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodePrepareResources and NodeUnprepareResources: one call is a list of operations, one for each
 * claim UID, each with its own result. Owns calls and operations; the ledger does what they decide,
 * fetch.c reads claims for them, replies.c encodes their answers.
 *
 * Life of a prepare operation: WAITING → FETCHING → WRITTEN → DONE, or FAILED from anywhere. A
 * claim that the ledger knows needs no API server: it goes straight to WRITTEN. One flush covers
 * all claims of a call.
 */
#include "agent/claims/calls_internal.h"

#include "wire/decode.h"
#include "base/assert.h"
#include "generated/dra.pb.h"

/* --- tables --- */

static int free_call(const struct agent *a)
{
    for (unsigned i = 0; i < CALLS_MAX; i++) {
        if (!a->call[i].used) {
            return (int)i;
        }
    }
    return -1;
}

static void operation_release(struct agent *a, unsigned index)
{
    struct operation *o = &a->operation[index];
    if (o->state == OPERATION_FETCHING) {
        fetch_cancel(a, o->fetch);
    }
    o->state = OPERATION_FREE;
}

static void call_release(struct agent *a, unsigned index)
{
    struct call *c = &a->call[index];
    ASSERT(c->used);
    for (unsigned i = 0; i < c->count; i++) {
        operation_release(a, c->operation[i]);
    }
    c->used = false;
}

void operation_fail(struct agent *a, struct operation *o, struct view why)
{
    ASSERT(why.len > 0u);
    o->state = OPERATION_FAILED;
    text_cut(o->error, sizeof o->error, why);
    log_begin(a, LOG_ID_CLAIM_FAILED);
    log_about(a, &o->id);
    log_text(a, "namespace", o->id.namespace_);
    log_text(a, "claim", o->id.name);
    log_text(a, "claim_uid", o->id.uid);
    log_text(a, "error", o->error);
    log_end(a);
}

/* --- beginning a call --- */

struct call_reader {
    struct agent *agent;
    struct call *call;
    unsigned index;
    bool full; /* no free operation */
    bool many; /* over CLAIMS_PER_CALL_MAX */
};

/*
 * A full call's worth is kept for unprepares: they wait for nobody, so a hanging API server never
 * holds them up.
 */
static int free_operation(const struct agent *a, bool unprepare)
{
    unsigned end = unprepare ? OPERATIONS_MAX : OPERATIONS_MAX - CLAIMS_PER_CALL_MAX;
    for (unsigned i = 0; i < end; i++) {
        if (a->operation[i].state == OPERATION_FREE) {
            return (int)i;
        }
    }
    return -1;
}

/* The reply is a map by UID: a UID that is named twice is one operation. */
static bool call_has(const struct agent *a, const struct call *c, const char *uid)
{
    for (unsigned i = 0; i < c->count; i++) {
        if (view_is(view_text(a->operation[c->operation[i]].id.uid), uid)) {
            return true;
        }
    }
    return false;
}

static bool read_claim(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    struct call_reader *r = *arg;
    dra_Claim claim = dra_Claim_init_zero;
    (void)field;
    if (!pb_decode(in, dra_Claim_fields, &claim)) {
        return false;
    }
    if (call_has(r->agent, r->call, claim.uid)) {
        return true;
    }
    int at = free_operation(r->agent, r->call->unprepare);
    r->many = r->call->count >= CLAIMS_PER_CALL_MAX;
    r->full = at < 0;
    if (r->many || r->full) {
        return false;
    }
    struct operation *o = &r->agent->operation[at];
    o->state = OPERATION_WAITING;
    o->call = (uint16_t)r->index;
    o->refuted = 0;
    o->fresh = false;
    o->entry_len = 0;
    o->deadline_ms = r->agent->now_ms + CLAIM_GET_MS;
    o->error[0] = 0;
    memcpy(o->id.uid, claim.uid, sizeof o->id.uid);
    memcpy(o->id.namespace_, claim.namespace, sizeof o->id.namespace_);
    memcpy(o->id.name, claim.name, sizeof o->id.name);
    r->call->operation[r->call->count] = (uint16_t)at;
    r->call->count++;
    return true;
}

_Static_assert(sizeof((dra_Claim *)0)->uid == UID_CAP, "proto/dra.options and cfg/limits.h agree");
_Static_assert(sizeof((dra_Claim *)0)->name == NAME_CAP,
               "proto/dra.options and cfg/limits.h agree");
_Static_assert(sizeof((dra_Claim *)0)->namespace == NAMESPACE_CAP,
               "proto/dra.options and cfg/limits.h agree");

static void refuse_call(struct agent *a, unsigned link, struct grpc_call_id id,
                        enum grpc_status code, const char *text)
{
    log_one(a, LOG_ID_CALL_REFUSED, "text", text);
    answer_status(a, link, id, code, text);
}

/*
 * Prepare and unprepare requests have the same shape: repeated Claim claims = 1. False: refused,
 * and answered.
 */
static bool read_claims(struct agent *a, unsigned index, const struct grpc_event *event)
{
    struct call *c = &a->call[index];
    struct call_reader reader = {.agent = a, .call = c, .index = index};
    dra_NodePrepareResourcesRequest request = dra_NodePrepareResourcesRequest_init_zero;
    request.claims.funcs.decode = read_claim;
    request.claims.arg = &reader;
    if (decode(event->message, dra_NodePrepareResourcesRequest_fields, &request)) {
        return true;
    }
    if (reader.many) {
        refuse_call(a, c->link, event->call, GRPC_RESOURCE_EXHAUSTED,
                    "more claims in one call than this driver takes; see its limits by --version");
    } else if (reader.full) {
        refuse_call(a, c->link, event->call, GRPC_RESOURCE_EXHAUSTED,
                    "too many claims in running calls; try again");
    } else {
        refuse_call(a, c->link, event->call, GRPC_INVALID_ARGUMENT,
                    "the request is not readable as protobuf");
    }
    return false;
}

void calls_begin(struct agent *a, unsigned link, const struct grpc_event *event, bool unprepare)
{
    int at = free_call(a);
    if (at < 0) {
        refuse_call(a, link, event->call, GRPC_RESOURCE_EXHAUSTED,
                    "too many calls are running; try again");
        return;
    }
    struct call *c = &a->call[at];
    c->used = true;
    c->unprepare = unprepare;
    c->replying = false;
    c->asked = false;
    c->begun = false;
    c->link = (uint8_t)link;
    c->id = event->call;
    c->begun_ms = a->now_ms;
    c->count = 0;
    c->at = 0;
    c->offset = 0;
    if (!read_claims(a, (unsigned)at, event)) {
        call_release(a, (unsigned)at);
    }
}

void calls_gone(struct agent *a, unsigned link, struct grpc_call_id id)
{
    for (unsigned i = 0; i < CALLS_MAX; i++) {
        const struct call *c = &a->call[i];
        bool named = c->id.index == id.index && c->id.serial == id.serial;
        if (c->used && c->link == link && (named || id.serial == 0u)) {
            /* What is written stays: the kubelet asks again, and the ledger answers. */
            call_release(a, i);
        }
    }
}

void calls_abandon(struct agent *a)
{
    for (unsigned i = 0; i < CALLS_MAX; i++) {
        const struct call *c = &a->call[i];
        if (c->used) {
            answer_status(a, c->link, c->id, GRPC_UNAVAILABLE, "the agent is stopping; try again");
            call_release(a, i);
        }
    }
}

/* --- prepare --- */

static void fail_with(struct agent *a, struct operation *o, const struct writer *why)
{
    operation_fail(
        a, o, (why->len > 0u) ? writer_view(why) : view_text("internal error without a reason"));
}

/* Whether a claim that the ledger holds can be answered from its record. */
static enum status check_known(struct agent *a, unsigned slot, struct claim_record *r,
                               struct writer *why)
{
    enum status s = ledger_read(a, slot, r);
    if (s != STATUS_OK) {
        say_unreadable(a, s, why);
        return s;
    }
    s = devices_here(a, r, why);
    return (s == STATUS_OK) ? ledger_ensure_cdi(a, r, why) : s;
}

/* A claim that the ledger holds: its CDI file is made sure of, its record is the answer. */
static void prepare_known(struct agent *a, struct operation *o, unsigned slot)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    if (check_known(a, slot, &a->scratch.claim, &why) != STATUS_OK) {
        fail_with(a, o, &why);
        return;
    }
    log_begin(a, LOG_ID_CLAIM_PREPARE_REPEATED);
    log_text(a, "claim_uid", o->id.uid);
    log_end(a);
    o->slot = (uint16_t)slot;
    o->state = OPERATION_WRITTEN;
}

static void prepare_new(struct agent *a, struct operation *o, const struct claim_builder *b)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    const struct claim_record *r = &b->record;
    int holder = ledger_holder(a, claim_numbers(r), r->id.uid);
    unsigned slot = 0;
    if (holder >= 0) {
        say_conflict(a, (unsigned)holder, r, &why);
        fail_with(a, o, &why);
        return;
    }
    if (ledger_put(a, r, &slot, &why) != STATUS_OK) {
        fail_with(a, o, &why);
        return;
    }
    log_prepared(a, b);
    o->slot = (uint16_t)slot;
    o->fresh = true;
    o->state = OPERATION_WRITTEN;
}

void calls_fetched(struct agent *a, unsigned operation, const struct claim_builder *b,
                   const char *why)
{
    ASSERT(operation < OPERATIONS_MAX);
    struct operation *o = &a->operation[operation];
    ASSERT(o->state == OPERATION_FETCHING);
    o->state = OPERATION_WAITING;
    if (b == NULL) {
        operation_fail(a, o, view_text(why));
        return;
    }
    int slot = ledger_find(a, o->id.uid);
    if (slot >= 0) {
        prepare_known(a, o, (unsigned)slot); /* another call was faster */
        return;
    }
    prepare_new(a, o, b);
}

/* A call that queues for its first GET may wait longer than one whose server is away. */
static uint64_t wait_deadline(const struct agent *a, const struct operation *o)
{
    bool queues = api_ready(a) && version_readable(a) && !a->call[o->call].asked;
    return o->deadline_ms + (queues ? CLAIM_QUEUE_MS : 0u);
}

static void prepare_step(struct agent *a, unsigned index)
{
    struct operation *o = &a->operation[index];
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    int slot = ledger_find(a, o->id.uid);
    if (a->ledger.busy) {
        operation_fail(a, o, view_text(a->ledger.trouble));
        return;
    }
    if (slot >= 0) {
        prepare_known(a, o, (unsigned)slot);
    } else if (claim_id_check(&o->id, &why) != STATUS_OK) {
        fail_with(a, o, &why);
    } else if (!a->ledger.usable) {
        operation_fail(a, o, view_text(a->ledger.trouble));
    } else if (a->now_ms >= wait_deadline(a, o)) {
        writer_text(&why, "the claim cannot be read from the API server: ");
        writer_text(&why, version_waits_for(a));
        fail_with(a, o, &why);
    }
}

/* --- unprepare --- */

/* A prepare of the same claim that still runs must not bring it back. */
static void stop_prepares(struct agent *a, const char *uid)
{
    for (unsigned i = 0; i < OPERATIONS_MAX; i++) {
        struct operation *o = &a->operation[i];
        bool runs = o->state == OPERATION_WAITING || o->state == OPERATION_FETCHING ||
                    o->state == OPERATION_WRITTEN;
        if (!runs || a->call[o->call].unprepare || !view_is(view_text(o->id.uid), uid)) {
            continue;
        }
        if (o->state == OPERATION_FETCHING) {
            fetch_cancel(a, o->fetch);
        }
        operation_fail(a, o, view_text("the claim was unprepared while it was being prepared"));
    }
}

static void unprepare_step(struct agent *a, unsigned index)
{
    struct operation *o = &a->operation[index];
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    stop_prepares(a, o->id.uid);
    /* A UID that cannot be one was never prepared, and no file bears its name. */
    if (claim_id_check(&o->id, &why) == STATUS_OK) {
        int slot = ledger_find(a, o->id.uid);
        if (ledger_remove(a, o->id.uid, &why) != STATUS_OK) {
            fail_with(a, o, &why);
            return;
        }
        if (slot >= 0) {
            claim_status_unprepared(a, (unsigned)slot, &o->id);
        }
        log_begin(a, LOG_ID_CLAIM_UNPREPARED);
        log_text(a, "namespace", o->id.namespace_);
        log_text(a, "claim", o->id.name);
        log_text(a, "claim_uid", o->id.uid);
        log_end(a);
    }
    o->state = OPERATION_WRITTEN;
}

/* --- all calls --- */

/* Whether every operation of the call has its result. */
static bool call_complete(const struct agent *a, const struct call *c)
{
    for (unsigned i = 0; i < c->count; i++) {
        uint8_t state = a->operation[c->operation[i]].state;
        if (state == OPERATION_WAITING || state == OPERATION_FETCHING) {
            return false;
        }
    }
    return true;
}

static void flush_failed(struct agent *a, struct operation *o, const struct writer *why)
{
    struct writer nowhere = writer_of(NULL, 0);
    if (o->fresh) {
        enum status s = ledger_remove(a, o->id.uid, &nowhere);
        status_ignore(s, "the claim fails in any case; a repeated call finds the record, or none");
    }
    fail_with(a, o, why);
}

/* One flush covers what every call wrote: none of it may be taken back for a later failure. */
static void settle_written(struct agent *a)
{
    for (unsigned i = 0; i < OPERATIONS_MAX; i++) {
        if (a->operation[i].state == OPERATION_WRITTEN) {
            a->operation[i].fresh = false;
        }
    }
}

static void call_flush(struct agent *a, struct call *c)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    bool flushed = ledger_sync(a, &why) == STATUS_OK;
    if (flushed) {
        settle_written(a);
    }
    for (unsigned i = 0; i < c->count; i++) {
        struct operation *o = &a->operation[c->operation[i]];
        if (o->state != OPERATION_WRITTEN) {
            continue;
        }
        if (flushed || c->unprepare) {
            /* an unprepare that the disk did not keep is repeated by the next flush */
            o->state = OPERATION_DONE;
            if (!c->unprepare) {
                claim_status_prepared(a, o->slot);
            }
        } else {
            flush_failed(a, o, &why);
        }
    }
}

static void call_step(struct agent *a, unsigned index)
{
    struct call *c = &a->call[index];
    for (unsigned i = 0; i < c->count; i++) {
        unsigned at = c->operation[i];
        if (a->operation[at].state == OPERATION_WAITING) {
            if (c->unprepare) {
                unprepare_step(a, at);
            } else {
                prepare_step(a, at);
            }
        }
    }
    if (!c->replying && call_complete(a, c)) {
        call_flush(a, c);
        c->replying = true;
    }
    if (c->replying && call_reply(a, index)) {
        durations_call(&a->durations, c->unprepare ? METHOD_UNPREPARE : METHOD_PREPARE,
                       a->now_ms - c->begun_ms);
        call_release(a, index);
    }
}

/* Calls whose claims all hang leave GETs to others: the last ones are for calls without any. */
static bool may_fetch(const struct agent *a, const struct call *c)
{
    unsigned own = 0;
    unsigned idle = 0;
    for (unsigned i = 0; i < c->count; i++) {
        own += (a->operation[c->operation[i]].state == OPERATION_FETCHING) ? 1u : 0u;
    }
    for (unsigned i = 0; i < FETCHES_MAX; i++) {
        idle += a->fetch[i].used ? 0u : 1u;
    }
    return own == 0u || (own < FETCHES_PER_CALL_MAX && idle > FETCHES_SPARE);
}

/* Its first GET begins: what is left of the call waits from now on as if it had come just now. */
static void call_asks(struct agent *a, struct call *c)
{
    uint64_t fresh = a->now_ms + CLAIM_GET_MS;
    for (unsigned i = 0; i < c->count && !c->asked; i++) {
        struct operation *o = &a->operation[c->operation[i]];
        uint64_t latest = o->deadline_ms + CLAIM_QUEUE_MS;
        o->deadline_ms = (fresh < latest) ? fresh : latest;
    }
    c->asked = true;
}

static bool has_round(const struct call *c, unsigned round)
{
    return c->used && !c->unprepare && round < c->count;
}

/*
 * Fair between calls: round by round, the n-th waiting claim of each call gets its GET before
 * anybody's next one.
 */
static void begin_fetches(struct agent *a)
{
    for (unsigned round = 0; round < CLAIMS_PER_CALL_MAX; round++) {
        bool more = false;
        for (unsigned i = 0; i < CALLS_MAX; i++) {
            struct call *c = &a->call[i];
            if (!has_round(c, round)) {
                continue;
            }
            more = true;
            unsigned at = c->operation[round];
            bool waits = a->operation[at].state == OPERATION_WAITING && may_fetch(a, c);
            if (waits && !fetch_begin(a, at)) {
                return;
            }
            if (waits) {
                call_asks(a, c);
            }
        }
        if (!more) {
            return;
        }
    }
}

void calls_step(struct agent *a)
{
    for (unsigned i = 0; i < CALLS_MAX; i++) {
        if (a->call[i].used) {
            call_step(a, i);
        }
    }
    if (api_ready(a)) {
        begin_fetches(a);
    }
}

static uint64_t call_deadline(const struct agent *a, const struct call *c)
{
    uint64_t at = UINT64_MAX;
    for (unsigned i = 0; i < c->count; i++) {
        const struct operation *o = &a->operation[c->operation[i]];
        if (o->state == OPERATION_WAITING && wait_deadline(a, o) < at) {
            at = wait_deadline(a, o);
        }
    }
    return at;
}

uint64_t calls_deadline(const struct agent *a)
{
    uint64_t at = UINT64_MAX;
    for (unsigned i = 0; i < CALLS_MAX; i++) {
        uint64_t d = a->call[i].used ? call_deadline(a, &a->call[i]) : UINT64_MAX;
        at = (d < at) ? d : at;
    }
    return at;
}
