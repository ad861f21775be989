/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodePrepareResources and NodeUnprepareResources: a call is a list of operations, one for each
 * claim UID, each with its own result. Owns calls and operations; the ledger stores claims, fetch.c
 * reads claims from the API server, and replies.c encodes and sends the replies.
 *
 * Life of a prepare operation: WAITING → FETCHING → WRITTEN → DONE, or FAILED from any of these
 * states. If the ledger holds the claim, the operation can become WRITTEN without the API server.
 * After a transient failure of the GET, the operation is WAITING again, as long as the call has
 * time. One flush covers all claims of a call.
 */
#include "agent/calls/calls.h"

#include "agent/api/backoff.h"
#include "agent/api/version.h"
#include "agent/calls/call_log.h"
#include "agent/calls/call_waits.h"
#include "agent/calls/rivals.h"
#include "agent/calls/room.h"
#include "agent/claim/claim_status.h"
#include "agent/claim/device_memory.h"
#include "agent/claim/fetch.h"
#include "agent/claim/numbering.h"
#include "agent/claim/prepared_log.h"
#include "agent/claim/presence.h"
#include "agent/frame.h"
#include "agent/ledger/handover.h"
#include "agent/node/node.h"
#include "agent/recovery/reconcile.h"
#include "agent/recovery/rebuild.h"
#include "agent/recovery/unlisted.h"
#include "agent/report/durations.h"
#include "agent/report/log.h"
#include "base/assert.h"
#include "base/time.h"

/* --- releasing calls and operations --- */

static void operation_release(struct agent *a, unsigned index)
{
    struct operation *o = &a->calls->operation[index];
    if (o->state == OPERATION_FETCHING) {
        fetch_release(a, o->fetch);
    }
    o->state = OPERATION_FREE;
}

static void operations_release(struct agent *a, struct call *c)
{
    for (unsigned i = 0; i < c->count; i++) {
        operation_release(a, c->operation[i]);
    }
    c->count = 0;
}

void calls_release(struct agent *a, unsigned index)
{
    struct call *c = &a->calls->call[index];
    ASSERT(c->state != CALL_FREE);
    operations_release(a, c);
    reply_end(a, index);
    c->state = CALL_FREE;
}

/*
 * Ends a call whose answer cannot be sent completely, and counts the call as failed. Writes no log
 * line if the call had failed as a whole, because that failure was already logged.
 */
static void call_end_unsent(struct agent *a, unsigned index)
{
    const struct call *c = &a->calls->call[index];
    if (c->state != CALL_FAILED) {
        call_log(a, c, "the kubelet ended the call before its answer");
    }
    call_measure(a, c, RESULT_ERROR);
    calls_release(a, index);
}

/*
 * Fails one operation: `why`, which must not be empty, becomes its error and is logged. If the
 * operation has read its claim, logs the claim's configurations before that, as AWS's driver does.
 */
static void operation_fail(struct agent *a, struct operation *o, struct view why)
{
    ASSERT(why.len > 0u);
    if (o->state == OPERATION_FETCHING) {
        prepared_log_refused(a, &fetch_at(a, o->fetch)->builder);
    }
    o->state = OPERATION_FAILED;
    text_cut(o->error, sizeof o->error, why);
    log_begin(a, LOG_ID_CLAIM_FAILED);
    log_about(a, &o->id);
    log_claim(a, &o->id);
    log_text(a, "error", o->error);
    log_no_remedy(a);
    log_end(a);
}

void calls_gone(struct agent *a, const struct grpc_server *server, struct grpc_call_id id)
{
    for (unsigned i = 0; i < CALLS_MAX; i++) {
        const struct call *c = &a->calls->call[i];
        bool named = c->id.index == id.index && c->id.serial == id.serial;
        if (c->state != CALL_FREE && c->server == server && (named || id.serial == 0u)) {
            /*
             * Claims that the call already wrote to the ledger stay prepared, because the kubelet
             * repeats the call, and the repeated call uses their records in the ledger.
             */
            call_end_unsent(a, i);
        }
    }
}

/* --- the end of a call --- */

/* Whether the call failed as a whole, or for at least one of its claims. */
static bool has_failed(const struct agent *a, const struct call *c)
{
    bool failed = c->state == CALL_FAILED;
    for (unsigned i = 0; i < c->count && !failed; i++) {
        failed = a->calls->operation[c->operation[i]].state == OPERATION_FAILED;
    }
    return failed;
}

static void call_over(struct agent *a, unsigned index)
{
    const struct call *c = &a->calls->call[index];
    if (c->state == CALL_REPLYING) {
        call_log(a, c, NULL);
    }
    call_measure(a, c, has_failed(a, c) ? RESULT_ERROR : RESULT_OK);
    calls_release(a, index);
}

/*
 * Sends the status of a call that failed as a whole. If the send buffer has no space for the
 * status, the next step tries again.
 */
static void call_finish(struct agent *a, unsigned index)
{
    const struct call *c = &a->calls->call[index];
    if (grpc_finish(c->server, c->id, c->code, c->text) != STATUS_MORE) {
        call_over(a, index);
    }
}

static void call_fail(struct agent *a, unsigned index, enum grpc_status code, const char *text)
{
    struct call *c = &a->calls->call[index];
    ASSERT(code != GRPC_OK);
    call_log(a, c, text);
    operations_release(a, c);
    c->state = CALL_FAILED;
    c->code = code;
    c->text = text;
    call_finish(a, index);
}

void calls_abandon(struct agent *a)
{
    for (unsigned i = 0; i < CALLS_MAX; i++) {
        if (a->calls->call[i].state == CALL_RUNNING || a->calls->call[i].state == CALL_REPLYING) {
            call_fail(a, i, GRPC_UNAVAILABLE, "the agent is stopping; try again");
        }
    }
}

/*
 * Fails each claim that another call has unprepared since this call prepared it. The other claims
 * of this call keep their results. Must be called before the reply starts.
 */
static void fail_unprepared(struct agent *a, const struct call *c)
{
    for (unsigned i = 0; i < c->count && !c->unprepare; i++) {
        struct operation *o = &a->calls->operation[c->operation[i]];
        if (o->state == OPERATION_DONE && !ledger_holds(a, o->slot, o->id.uid)) {
            operation_fail(
                a, o, view_text("the claim was unprepared while its response was sent; try again"));
        }
    }
}

static void call_reply(struct agent *a, unsigned index)
{
    const struct call *c = &a->calls->call[index];
    if (!a->calls->reply[index].started) {
        fail_unprepared(a, c);
    }
    enum reply_progress p = reply_send(a, index);
    if (p == REPLY_COMPLETE) {
        call_over(a, index);
    }
    if (p == REPLY_BROKEN) {
        call_fail(a, index, GRPC_INTERNAL,
                  "a claim of this call was unprepared or became unreadable; try again");
    }
}

/* --- preparing a claim that the ledger holds --- */

static void fail_with(struct agent *a, struct operation *o, const struct writer *why)
{
    operation_fail(
        a, o, (why->len > 0u) ? writer_view(why) : view_text("internal error without a reason"));
}

/*
 * Fails an operation whose claim cannot be prepared. But if the store was just removed, the
 * operation first waits once, because the next step recreates the store.
 */
static void prepare_refused(struct agent *a, struct operation *o, const struct writer *why)
{
    if (o->store_awaited || !ledger_reopens(a)) {
        fail_with(a, o, why);
        return;
    }
    o->store_awaited = true;
    o->state = OPERATION_WAITING;
}

static void operation_written(struct operation *o, unsigned slot, const struct claim_record *r)
{
    o->slot = (uint16_t)slot;
    o->devices_len = reply_devices_len(r);
    o->state = OPERATION_WRITTEN;
}

/*
 * Finds the record of a held claim, checks that its devices are present, and restores its CDI file.
 * Any status but STATUS_OK: the claim cannot be prepared, and `why` has the reason.
 */
static enum status check_known(struct agent *a, unsigned slot, const struct claim_record **r,
                               struct writer *why)
{
    int other = rivals_disputing(a, slot);
    enum status s = ledger_rewrite_refused(a, slot, why);
    if (s != STATUS_OK) {
        return s;
    }
    s = ledger_read(a, slot, r);
    if (s == HOST_DAMAGED && reconcile_restore(a, slot)) {
        s = ledger_read(a, slot, r);
    }
    if (s != STATUS_OK) {
        WRITE(why,
              "the stored record of this claim cannot be read (%); delete and re-create the pod",
              TEXT(ledger_reason(a, s)));
        return s;
    }
    if (other >= 0) {
        rivals_write(a, (unsigned)other, *r, why);
        return PEER_REFUSED;
    }
    s = presence_check(a, *r, "prepared", why);
    if (s != STATUS_OK) {
        return s;
    }
    reconcile_prepared(a, slot);
    s = reconcile_prepared_again(a, slot, r, why);
    return (s == STATUS_OK) ? ledger_ensure_cdi(a, *r, why) : s;
}

static void prepare_known(struct agent *a, struct operation *o, unsigned slot)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    const struct claim_record *r = NULL;
    if (check_known(a, slot, &r, &why) != STATUS_OK) {
        prepare_refused(a, o, &why);
        return;
    }
    log_begin(a, LOG_ID_CLAIM_PREPARE_REPEATED);
    log_claim(a, &r->id);
    log_end(a);
    operation_written(o, slot, r);
}

/* --- preparing a claim that was read from the API server --- */

/*
 * Finds the rivals of a claim (other claims that hold its devices), and checks the presence and the
 * memory of its devices. Then releases the rivals, if all of them can be released. false: the
 * operation failed, or waits for the store to be recreated.
 */
static bool may_prepare(struct agent *a, struct operation *o, const struct claim_record *r,
                        struct rivals *rivals)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    enum status s = STATUS_OK;
    rivals_find(a, r, rivals);
    if (a->ending) {
        writer_text(&why, "the agent of this node runs without --efa (draDriver.efa.enabled) and "
                          "prepares no claim for EFA devices: delete the pod, or switch it on");
        fail_with(a, o, &why);
        return false;
    }
    if (node_is_drained(a)) {
        writer_text(&why, "the node is drained until the label " DRAIN_KEY " is removed from it");
        fail_with(a, o, &why);
        return false;
    }
    if (unlisted_blocks(a)) {
        unlisted_reason(a, &why);
        fail_with(a, o, &why);
        return false;
    }
    if (rivals->firm < 0) {
        s = presence_check(a, r, "requested", &why);
        s = (s == STATUS_OK) ? device_memory_check(a, r, false, &why) : s;
        s = (s == STATUS_OK) ? rivals_release(a, r, rivals, &why) : s;
    }
    if (s != STATUS_OK) {
        prepare_refused(a, o, &why);
    } else if (rivals->firm >= 0) {
        rivals_write(a, (unsigned)rivals->firm, r, &why);
        fail_with(a, o, &why);
    } else {
        return true;
    }
    return false;
}

/*
 * Chooses cores for a claim that has a part of a device. If too few cores are free, one of the
 * claims that hold the cores is stale, but it is not known which one: none is released, and all of
 * them are checked at the API server.
 */
static enum status choose_cores(struct agent *a, struct claim_record *r, struct writer *why)
{
    enum status s = cores_choose(a, r, why);
    int slot = (s != STATUS_OK) ? ledger_rival(a, 0, r, false) : -1;
    for (unsigned i = 0; i < CLAIMS_MAX && slot >= 0; i++) {
        reconcile_check(a, (unsigned)slot);
        slot = ledger_rival(a, (unsigned)slot + 1u, r, false);
    }
    return (s == STATUS_OK) ? device_memory_check(a, r, true, why) : s;
}

/*
 * Chooses the numbers that the claim's devices have in containers, so that they differ from those
 * of the other claims of its call and pod.
 */
static enum status choose_numbers(const struct agent *a, const struct operation *o,
                                  struct claim_record *r, struct writer *why)
{
    const struct call *c = &a->calls->call[o->call];
    struct claim_group group = {.count = c->count};
    for (unsigned i = 0; i < c->count; i++) {
        group.uid[i] = a->calls->operation[c->operation[i]].id.uid;
    }
    return numbering_choose(a, &group, r, why);
}

/*
 * Chooses the cores of a new claim, whose rivals are released, and stores the claim. If that fails,
 * takes back the CDI file that rivals_release wrote: the next process would adopt the refused
 * claim, with cores that nobody chose, and prepare it without the check of its memory.
 */
static enum status put_new(struct agent *a, struct claim_record *r, const struct rivals *rivals,
                           unsigned *slot, struct writer *why)
{
    enum status s = choose_cores(a, r, why);
    /*
     * if the claim has a part of a device, its CDI file must name the cores, which were chosen
     * after the file was written: write it again
     */
    bool written = rivals->file_written && claim_cores(r) == 0u;
    if (s == STATUS_OK) {
        s = written ? ledger_put_record(a, r, slot, why) : ledger_put(a, r, slot, why);
    }
    if (s != STATUS_OK && rivals->file_written) {
        ledger_take_back_file(a, r);
    }
    return s;
}

static void prepare_new(struct agent *a, struct operation *o, struct claim_builder *b)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    struct claim_record *r = &b->record;
    struct rivals rivals;
    bool held = ledger_find(a, r->id.uid) >= 0;
    unsigned slot = 0;
    if (consecutive_check(a, r, &why) != STATUS_OK || choose_numbers(a, o, r, &why) != STATUS_OK) {
        fail_with(a, o, &why);
        return;
    }
    if (!may_prepare(a, o, r, &rivals)) {
        return;
    }
    if (put_new(a, r, &rivals, &slot, &why) != STATUS_OK) {
        prepare_refused(a, o, &why);
        return;
    }
    reconcile_prepared(a, slot);
    claim_status_changed(a, slot);
    prepared_log(a, b, slot);
    operation_written(o, slot, r);
    o->fresh = !held;
}

/*
 * The record of the operation's claim, valid until the next record is put or read. NULL: the agent
 * does not hold the claim, or cannot read its record.
 */
static const struct claim_record *record_before(struct agent *a, const struct operation *o)
{
    const struct claim_record *before = NULL;
    int slot = ledger_known(a, o->id.uid);
    bool read = slot >= 0 && ledger_record(a, (unsigned)slot, &before) == STATUS_OK;
    return read ? before : NULL;
}

/*
 * Whether the memory of the devices of a held claim, which has the same ones at the API server,
 * must be checked like that of a new claim. That is so if the kubelet may never have asked to
 * prepare the claim, and its only consumer is one pod: the kubelet prepares the claims of a pod
 * while no container of the pod runs. Containers of other consumers may run, and use that memory.
 */
static bool may_be_unprepared(const struct claim_record *held, const struct claim_builder *b)
{
    const struct claim_consumer *c = &b->record.consumer;
    return held->rebuilt && b->consumers == 1u && c->uid[0] != '\0' &&
           c->kind == (uint8_t)CONSUMER_POD && claim_results_same(held, &b->record);
}

/*
 * Prepares a held claim that has the same devices at the API server, once no process of another
 * claim uses their memory.
 */
static void prepare_compared(struct agent *a, struct operation *o, const struct claim_record *held,
                             const struct claim_builder *b)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    int slot = ledger_known(a, o->id.uid);
    ASSERT(slot >= 0);
    if (may_be_unprepared(held, b) &&
        device_memory_check(a, held, claim_cores(held) != 0u, &why) != STATUS_OK) {
        prepare_refused(a, o, &why);
    } else {
        prepare_known(a, o, (unsigned)slot);
    }
}

/*
 * Prepares a claim that was read from the API server; `before` is its record_before. A held claim
 * may have been allocated again under its UID, because a pod that was deleted by force causes no
 * unprepare (kubernetes#139772). If the record of a held claim is unreadable, a new record replaces
 * it.
 */
static void prepare_fetched(struct agent *a, struct operation *o, struct claim_builder *b,
                            const struct claim_record *before)
{
    if (before != NULL && claim_results_same(before, &b->record)) {
        prepare_compared(a, o, before, b);
        return;
    }
    if (before != NULL) {
        prepared_log_other(a, before, &b->record);
    }
    prepare_new(a, o, b);
}

/*
 * Prepares the claim, or fails the operation, once the files with the memory use of the claim's
 * devices are read. false: the files are still being read; call again.
 */
static bool prepare_read(struct agent *a, struct operation *o, struct claim_builder *b)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    const struct claim_record *before = record_before(a, o);
    if (before != NULL) {
        claim_keep_lnc(b, before);
    }
    bool checked = before != NULL && may_be_unprepared(before, b);
    enum status s = device_memory_read(a, checked ? before : &b->record, &why);
    if (s == STATUS_OK) {
        prepare_fetched(a, o, b, before);
    } else if (s != STATUS_MORE) {
        fail_with(a, o, &why);
    }
    return s != STATUS_MORE;
}

/* Repeats the GET of a claim at once or, without an API connection, as soon as there is one. */
static void repeat_fetch(const struct agent *a, struct operation *o, const struct fetch *f)
{
    const struct call *c = &a->calls->call[o->call];
    o->history = f->history;
    o->deadline_ms = later(c->end_ms, c->start_ms + CLAIM_REPEAT_MS) - CLAIM_REPEAT_MS;
    o->state = OPERATION_WAITING;
}

/*
 * Repeats the GET after the wait that the server asks for, if the call has time for that, else
 * after the operation's own backoff. If there is not enough time for either, the claim fails with
 * the GET's failure.
 */
static void repeat_fetch_later(struct agent *a, struct operation *o, const struct fetch *f)
{
    uint64_t asked = a->now_ms + f->retry_after_ms;
    repeat_fetch(a, o, f);
    uint64_t wait = (uint64_t)API_BACKOFF_MIN_MS << o->waits;
    o->waits = (uint8_t)(o->waits + ((wait < CLAIM_BACKOFF_MAX_MS) ? 1u : 0u));
    o->next_ms = a->now_ms + agent_jitter(a, earlier(wait, CLAIM_BACKOFF_MAX_MS));
    if (asked > o->next_ms && asked < o->deadline_ms) {
        asked = a->now_ms + agent_jitter(a, f->retry_after_ms);
        o->next_ms = earlier(asked, o->deadline_ms - 1u);
    }
    if (o->next_ms >= o->deadline_ms) {
        operation_fail(a, o, view_text(f->builder.why));
    } else {
        text_cut(o->error, sizeof o->error, view_text(f->builder.why));
    }
}

/*
 * Whether a complete response to the GET shows that the claim now has no devices, or other devices
 * than its stored record names. Also true if that record cannot be read; false if the response is
 * incomplete.
 */
static bool is_reallocated(struct agent *a, unsigned slot, const struct fetch *f)
{
    const struct claim_record *before = NULL;
    bool read = f->state == FETCH_FAILED && f->whole && f->builder.is_wanted;
    return read && (!f->builder.allocated || ledger_record(a, slot, &before) != STATUS_OK ||
                    !claim_devices_same(before, &f->builder.record));
}

/*
 * Handles a GET that was sent to compare a prepared claim with the API server, and that returned no
 * claim that can be prepared. Three cases:
 *
 * - The claim has other devices now: the operation fails with the reason of the GET.
 * - The claim is deleted: the operation repeats the response from the stored record, and the
 *   reconciliation, which checks twice, decides whether to release the claim.
 * - Any other failure: the operation repeats the response from the stored record. Examples: the
 *   claim was not received; this release does not accept its configuration; the UltraServer leader
 *   election still runs.
 */
static void compare_failed(struct agent *a, struct operation *o, const struct fetch *f)
{
    int slot = ledger_known(a, o->id.uid);
    if (slot < 0) {
        /* the held claim was unprepared meanwhile, so prepare it as a new one */
        repeat_fetch(a, o, f);
        o->compares = false;
    } else if (is_reallocated(a, (unsigned)slot, f)) {
        operation_fail(a, o, view_text(f->builder.why));
    } else {
        if (f->state == FETCH_FAILED && f->failed == PEER_NOT_FOUND) {
            reconcile_check(a, (unsigned)slot);
        }
        prepare_known(a, o, (unsigned)slot);
    }
}

/* If the GET of the operation's claim has ended, handles its result. */
static void collect_fetch(struct agent *a, unsigned index)
{
    struct operation *o = &a->calls->operation[index];
    struct fetch *f = fetch_at(a, o->fetch);
    unsigned fetch = o->fetch;
    bool ended = f->state != FETCH_RUNNING;
    if (o->compares && ended && f->state != FETCH_DONE) {
        compare_failed(a, o, f);
        fetch_release(a, fetch);
        return;
    }
    switch (f->state) {
    case FETCH_DONE:
        if (!prepare_read(a, o, &f->builder)) {
            return;
        }
        break;
    case FETCH_FAILED:
        operation_fail(a, o, view_text(f->builder.why));
        break;
    case FETCH_REPEAT:
        repeat_fetch(a, o, f);
        break;
    case FETCH_TRANSIENT:
        repeat_fetch_later(a, o, f);
        break;
    default:
        ASSERT(f->state == FETCH_RUNNING);
        return;
    }
    fetch_release(a, fetch);
}

/*
 * Whether the agent cannot read the list of claims although the API server can be asked. If so,
 * operations that wait for this list fail after STORE_WAIT_MS.
 */
static bool list_fails(const struct agent *a)
{
    return unlisted_failing(a) && api_ready(a) && version_readable(a);
}

/*
 * Returns the time until which an operation waits for its GET. Then it fails or, if the GET only
 * serves to compare a held claim, uses the stored record. The time is CLAIM_QUEUE_MS later than
 * o->deadline_ms if the API server can be asked but no GET of this call was sent yet, for example
 * because all fetches are in use.
 */
static uint64_t wait_deadline(const struct agent *a, const struct operation *o)
{
    const struct call *c = &a->calls->call[o->call];
    if (o->compares) {
        return o->deadline_ms;
    }
    if (list_fails(a)) {
        return earlier(o->deadline_ms, c->start_ms + STORE_WAIT_MS);
    }
    bool queues = api_ready(a) && version_readable(a) && !c->asked;
    return earlier(o->deadline_ms + (queues ? CLAIM_QUEUE_MS : 0u), c->end_ms);
}

/*
 * Fails a claim that could not be read within the time limit of its operation. The error is the
 * failure of the last GET or, if no GET was possible, the reason for that.
 */
static void wait_over(struct agent *a, struct operation *o)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    if (unlisted_blocks(a) && api_ready(a) && version_readable(a)) {
        unlisted_reason(a, &why);
    } else if (o->error[0] != '\0' && api_ready(a)) {
        writer_text(&why, o->error);
    } else {
        WRITE(&why, "the claim cannot be read from the API server: %", TEXT(version_waits_for(a)));
    }
    fail_with(a, o, &why);
}

/*
 * Whether a held claim can be compared with the claim at the API server. Two conditions:
 * - the devices are known, so that the claim can be checked against them;
 * - the API server can be asked now, or soon: the connection is being opened, or the API version is
 *   being read.
 */
static bool may_compare(const struct agent *a, const struct operation *o)
{
    struct writer discarded = writer_of(NULL, 0);
    bool ready = api_ready(a) && (version_readable(a) || version_pending(a));
    return (ready || api_pending(a)) && !a->devices->unknown &&
           claim_id_check(&o->id, &discarded) == STATUS_OK;
}

/*
 * Compares a held claim with the claim at the API server, if the server answers within
 * CLAIM_COMPARE_MS; else prepares the claim from its stored record.
 */
static void prepare_held(struct agent *a, struct operation *o, unsigned slot)
{
    if (!o->compares) {
        o->compares = true;
        o->next_ms = 0;
        o->deadline_ms = earlier(a->now_ms + CLAIM_COMPARE_MS, a->calls->call[o->call].end_ms);
    }
    if (a->now_ms >= o->deadline_ms || !may_compare(a, o)) {
        prepare_known(a, o, slot);
    }
}

static void prepare_step(struct agent *a, unsigned index)
{
    struct operation *o = &a->calls->operation[index];
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    int slot = ledger_known(a, o->id.uid);
    o->next_ms = (a->now_ms < o->next_ms) ? o->next_ms : 0u;
    if (unlisted_blocks(a)) {
        rebuild_hurry(a);
    }
    if (slot >= 0) {
        prepare_held(a, o, (unsigned)slot);
    } else if (claim_id_check(&o->id, &why) != STATUS_OK) {
        fail_with(a, o, &why);
    } else if (!ledger_is_usable(a)) {
        operation_fail(a, o, view_text(ledger_trouble(a)));
    } else if (a->now_ms >= wait_deadline(a, o)) {
        wait_over(a, o);
    }
}

/* --- unprepare operations --- */

/*
 * Fails the running prepares of a claim, so that they do not prepare it again after its unprepare.
 */
static void stop_prepares(struct agent *a, const char *uid)
{
    for (unsigned i = 0; i < OPERATIONS_MAX; i++) {
        struct operation *o = &a->calls->operation[i];
        bool runs = o->state == OPERATION_WAITING || o->state == OPERATION_FETCHING ||
                    o->state == OPERATION_WRITTEN;
        if (!runs || a->calls->call[o->call].unprepare || !text_is(o->id.uid, uid)) {
            continue;
        }
        bool fetches = o->state == OPERATION_FETCHING;
        operation_fail(a, o, view_text("the claim was unprepared while it was being prepared"));
        if (fetches) {
            fetch_release(a, o->fetch);
        }
    }
}

static void unprepare_step(struct agent *a, unsigned index)
{
    struct operation *o = &a->calls->operation[index];
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    stop_prepares(a, o->id.uid);
    /* The UID alone identifies the claim; the name in the call is ignored. */
    if (claim_uid_like(o->id.uid)) {
        int slot = ledger_find(a, o->id.uid);
        if (ledger_remove(a, o->id.uid, &why) != STATUS_OK) {
            fail_with(a, o, &why);
            return;
        }
        if (slot >= 0) {
            claim_status_unprepared(a, (unsigned)slot);
        }
        log_begin(a, LOG_ID_CLAIM_UNPREPARED);
        log_claim(a, &o->id);
        log_end(a);
    }
    o->state = OPERATION_WRITTEN;
}

/* --- one step of all calls --- */

/* Whether every operation of the call has a result. */
static bool call_complete(const struct agent *a, const struct call *c)
{
    for (unsigned i = 0; i < c->count; i++) {
        uint8_t state = a->calls->operation[c->operation[i]].state;
        if (state == OPERATION_WAITING || state == OPERATION_FETCHING) {
            return false;
        }
    }
    return true;
}

static void flush_failed(struct agent *a, struct operation *o, const struct writer *why)
{
    struct writer discarded = writer_of(NULL, 0);
    if (o->fresh && (o->store_awaited || !ledger_reopens(a))) {
        enum status s = ledger_remove(a, o->id.uid, &discarded);
        status_ignore(s, "the claim fails in any case; a repeated call finds the record, or none");
    }
    prepare_refused(a, o, why);
}

/*
 * Called after a successful flush, which covers the writes of all calls. Clears `fresh` of all
 * written operations, so that a flush that fails later does not remove their records.
 */
static void settle_written(struct agent *a)
{
    for (unsigned i = 0; i < OPERATIONS_MAX; i++) {
        if (a->calls->operation[i].state == OPERATION_WRITTEN) {
            a->calls->operation[i].fresh = false;
        }
    }
}

/*
 * Flushes the claim store for a call. For an unprepare, retries a failed flush once. The reason:
 * until a flush succeeds, only a tombstone in the CDI root shows that the claim is gone, and a
 * power cut loses the tombstone, because the CDI root is in memory. If the second flush fails too,
 * the termination of the pod still succeeds; after a reboot the record can be released for another
 * claim.
 */
static bool flush_written(struct agent *a, const struct call *c, struct writer *why)
{
    struct writer discarded = writer_of(NULL, 0);
    return ledger_sync(a, why) == STATUS_OK ||
           (c->unprepare && ledger_sync(a, &discarded) == STATUS_OK);
}

static void call_flush(struct agent *a, struct call *c)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    bool flushed = flush_written(a, c, &why);
    if (flushed) {
        settle_written(a);
    }
    for (unsigned i = 0; i < c->count; i++) {
        struct operation *o = &a->calls->operation[c->operation[i]];
        if (o->state != OPERATION_WRITTEN) {
            continue;
        }
        if (flushed || c->unprepare) {
            /* an unprepare succeeds even if the flush failed, which is repeated later */
            o->state = OPERATION_DONE;
            if (!c->unprepare) {
                claim_status_prepared(a, o->slot);
            }
        } else {
            flush_failed(a, o, &why);
        }
    }
}

/*
 * Whether operation `at` of the call must wait although its claim was read. With
 * --device-numbering=zero, the claims of a call get their device numbers in the order in which the
 * call names them. So a claim waits for an earlier one whose GET is running, but not for one whose
 * GET has not started.
 */
static bool waits_for_numbers(const struct agent *a, const struct call *c, unsigned at)
{
    bool waits = false;
    for (unsigned i = 0; i < at && a->settings->zero_numbering; i++) {
        waits = waits || a->calls->operation[c->operation[i]].state == OPERATION_FETCHING;
    }
    return waits;
}

/* Advances an operation; `at`: its index in c->operation. */
static void operation_step(struct agent *a, const struct call *c, unsigned at)
{
    unsigned index = c->operation[at];
    struct operation *o = &a->calls->operation[index];
    if (o->state == OPERATION_FETCHING && !waits_for_numbers(a, c, at)) {
        collect_fetch(a, index);
    }
    if (o->state != OPERATION_WAITING) {
        return;
    }
    if (call_waits_for_store(a, c)) {
        if (ledger_is_busy(a) && a->now_ms >= c->start_ms + STORE_WAIT_MS) {
            operation_fail(a, o, view_text(ledger_trouble(a)));
        }
    } else if (c->unprepare) {
        unprepare_step(a, index);
    } else {
        prepare_step(a, index);
    }
}

static void call_step(struct agent *a, unsigned index)
{
    struct call *c = &a->calls->call[index];
    if (c->state == CALL_RUNNING) {
        for (unsigned i = 0; i < c->count; i++) {
            operation_step(a, c, i);
        }
        if (call_complete(a, c)) {
            call_flush(a, c);
            c->state = call_complete(a, c) ? CALL_REPLYING : CALL_RUNNING;
        }
    }
    if (c->state == CALL_FAILED) {
        call_finish(a, index);
    }
    if (c->state == CALL_REPLYING) {
        call_reply(a, index);
    }
}

/*
 * Whether the call may start another GET: FETCHES_SPARE fetches are reserved for calls without a
 * running GET, because all GETs of other calls may hang.
 */
static bool may_fetch(const struct agent *a, const struct call *c)
{
    unsigned own = 0;
    for (unsigned i = 0; i < c->count; i++) {
        own += (a->calls->operation[c->operation[i]].state == OPERATION_FETCHING) ? 1u : 0u;
    }
    return own == 0u || (own < FETCHES_PER_CALL_MAX && fetch_count_free(a) > FETCHES_SPARE);
}

/* At the first GET of a call: restarts the time limits of its claims that are not held yet. */
static void call_asks(struct agent *a, struct call *c)
{
    uint64_t fresh = a->now_ms + CLAIM_GET_MS;
    for (unsigned i = 0; i < c->count && !c->asked; i++) {
        struct operation *o = &a->calls->operation[c->operation[i]];
        uint64_t latest = o->deadline_ms + CLAIM_QUEUE_MS;
        o->deadline_ms = o->compares ? o->deadline_ms : earlier(fresh, latest);
    }
    c->asked = true;
}

static bool has_round(const struct agent *a, const struct call *c, unsigned round)
{
    return c->state == CALL_RUNNING && !c->unprepare && round < c->count &&
           !call_waits_for_store(a, c);
}

/* Starts the GET of an operation's claim. false: no GET can start now. */
static bool start_fetch(struct agent *a, unsigned index)
{
    struct operation *o = &a->calls->operation[index];
    uint64_t end_ms = o->compares ? o->deadline_ms : a->calls->call[o->call].end_ms;
    int fetch = fetch_start(a, &o->id, o->history, end_ms - a->now_ms);
    if (fetch < 0) {
        return false;
    }
    o->fetch = (uint8_t)fetch;
    o->state = OPERATION_FETCHING;
    return true;
}

static bool waits_for_fetch(const struct agent *a, const struct operation *o)
{
    bool may = o->compares || !unlisted_blocks(a);
    return o->state == OPERATION_WAITING && o->next_ms == 0u && may;
}

/*
 * Starts GETs of waiting claims: first for the first claim of every call, then for the second claim
 * of every call, and so on, so that no call delays the others.
 */
static void start_fetches(struct agent *a)
{
    for (unsigned round = 0; round < CLAIMS_PER_CALL_MAX; round++) {
        bool more = false;
        for (unsigned i = 0; i < CALLS_MAX; i++) {
            struct call *c = &a->calls->call[i];
            if (!has_round(a, c, round)) {
                continue;
            }
            more = true;
            unsigned at = c->operation[round];
            const struct operation *o = &a->calls->operation[at];
            if (!waits_for_fetch(a, o) || !may_fetch(a, c)) {
                continue;
            }
            if (!start_fetch(a, at)) {
                return;
            }
            call_asks(a, c);
        }
        if (!more) {
            return;
        }
    }
}

bool calls_open_before(const struct agent *a, uint64_t start_ms)
{
    for (unsigned i = 0; i < CALLS_MAX; i++) {
        if (a->calls->call[i].state != CALL_FREE && a->calls->call[i].start_ms < start_ms) {
            return true;
        }
    }
    return false;
}

bool calls_open_since(const struct agent *a, uint64_t start_ms)
{
    for (unsigned i = 0; i < CALLS_MAX; i++) {
        if (a->calls->call[i].state != CALL_FREE && a->calls->call[i].start_ms >= start_ms) {
            return true;
        }
    }
    return false;
}

/*
 * Stops an operation because another agent owns the store now. A claim that is being read waits
 * again; a written claim fails, and the next owner answers when the kubelet repeats the call.
 */
static void retire_operation(struct agent *a, struct operation *o)
{
    if (o->state == OPERATION_FETCHING) {
        fetch_release(a, o->fetch);
        o->state = OPERATION_WAITING;
    } else if (o->state == OPERATION_WRITTEN) {
        operation_fail(a, o, view_text("another agent of this node serves its claims now"));
    }
}

void calls_retire(struct agent *a)
{
    for (unsigned i = 0; i < OPERATIONS_MAX; i++) {
        retire_operation(a, &a->calls->operation[i]);
    }
}

/* --- keeping streams free for unprepares --- */

/*
 * Ends a prepare if PREPARES_STALLED_MAX earlier prepares of the same connection hang. The kubelet
 * sends at most as many calls at a time as a connection has streams. If hanging prepares occupied
 * all streams, unprepares would wait, although they do not need the API server.
 */
static void leave_places(struct agent *a)
{
    for (unsigned i = 0; i < CALLS_MAX; i++) {
        if (call_yields(a, &a->calls->call[i])) {
            call_fail(a, i, GRPC_UNAVAILABLE,
                      "prepares of this connection hang, and its other places are for unprepares; "
                      "try again");
        }
    }
}

void calls_step(struct agent *a)
{
    for (unsigned i = 0; i < CALLS_MAX; i++) {
        if (a->calls->call[i].state != CALL_FREE) {
            call_step(a, i);
        }
    }
    leave_places(a);
    if (api_ready(a)) {
        start_fetches(a);
    }
}

static uint64_t call_deadline(const struct agent *a, const struct call *c)
{
    uint64_t at = UINT64_MAX;
    if (!handover_owns(a) && (c->unprepare || call_waits_for_store(a, c))) {
        return c->start_ms + STORE_WAIT_MS;
    }
    if (call_waits_for_store(a, c)) {
        return UINT64_MAX;
    }
    for (unsigned i = 0; i < c->count; i++) {
        const struct operation *o = &a->calls->operation[c->operation[i]];
        if (o->state == OPERATION_WAITING) {
            uint64_t due = (o->next_ms > 0u) ? o->next_ms : UINT64_MAX;
            at = earlier(at, earlier(due, wait_deadline(a, o)));
        }
    }
    return at;
}

uint64_t calls_deadline(const struct agent *a)
{
    uint64_t at = UINT64_MAX;
    for (unsigned i = 0; i < CALLS_MAX; i++) {
        const struct call *c = &a->calls->call[i];
        if (c->state == CALL_RUNNING) {
            at = earlier(at, call_deadline(a, c));
        }
        at = earlier(at, call_yield_deadline(a, c));
    }
    return at;
}
