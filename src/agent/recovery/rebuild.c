/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the claims in use at the API server, see rebuild.h. For each claim of this node, the agent
 * performs the checks of a prepare, writes the CDI file, which the next start of a container needs,
 * and then adopts the claim. A list is read as a stream, page by page; after a failure it starts
 * again from the first page. Claims already adopted stay held.
 *
 * A page borrows one of the fetches (fetch.h) with its claim builder, because a separate builder
 * for pages would take 28 KiB of memory, and fetches wait for the list anyway.
 */
#include "agent/recovery/rebuild.h"

#include "agent/api/backoff.h"
#include "agent/api/retry.h"
#include "agent/api/version.h"
#include "agent/claim/fetch.h"
#include "agent/claim/numbering.h"
#include "agent/frame.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/ledger_open.h"
#include "agent/node/inventory.h"
#include "agent/publish/publish.h"
#include "agent/recovery/reconcile.h"
#include "agent/recovery/room.h"
#include "agent/recovery/unlisted.h"
#include "agent/recovery/witness.h"
#include "agent/report/log.h"
#include "base/assert.h"
#include "base/time.h"
#include "generated/projection.pb.h"
#include "wire/decode.h"

static const char doing[] = "list resourceclaims";

/*
 * Whether the agent must find the claims in use, and the node's devices are known, which the checks
 * of these claims need. While they are unknown, none is counted, so that unlisted_blocks is false.
 */
static bool is_wanted(const struct agent *a)
{
    return ledger_is_unlisted(a) && unlisted_blocks(a) && !inventory_is_missing(a);
}

static bool may_ask(const struct agent *a)
{
    return !a->recovery->rebuild.running && is_wanted(a) && api_ready(a) && version_ready(a);
}

/* --- requests for pages of the list of claims --- */

static void first_page(struct rebuild *k)
{
    k->token[0] = '\0';
    k->pages = 0;
    k->claims = 0;
}

/*
 * Notes that the request of `fetch` is in flight. A negative `fetch`: none could start, so another
 * try is due as soon as the API client may start one. Returns whether the request is in flight.
 */
static bool note_request(struct agent *a, int fetch)
{
    struct rebuild *k = &a->recovery->rebuild;
    if (fetch < 0) {
        k->due_ms = api_later(a);
        return false;
    }
    k->running = true;
    k->fetch = (unsigned)fetch;
    k->broken = false;
    return true;
}

static void next_page(struct agent *a)
{
    char path[KUBE_PATH_CAP];
    struct rebuild *k = &a->recovery->rebuild;
    struct writer out = writer_of(path, sizeof path);
    const char *token = (k->token[0] != '\0') ? k->token : NULL;
    if (kube_path_claims(&out, version_name(a), token) != STATUS_OK) {
        first_page(k); /* the page token does not fit into a path, so the list starts again */
        k->due_ms = a->now_ms + agent_backoff(a, &k->backoff_ms);
        return;
    }
    const struct api_request r = {.kind = API_LIST_CLAIMS,
                                  .shape = KUBE_SHAPE_CLAIM_LIST,
                                  .version = version_now(a),
                                  .head = {.method = "GET", .path = writer_view(&out)}};
    if (note_request(a, fetch_lend(a, &r))) {
        k->id.uid[0] = '\0';
        k->pod_claim[0] = '\0';
        k->token[0] = '\0';
    }
}

static void page_over(struct agent *a)
{
    fetch_release(a, a->recovery->rebuild.fetch);
    a->recovery->rebuild.running = false;
}

void rebuild_retire(struct agent *a)
{
    if (a->recovery->rebuild.running) {
        page_over(a);
    }
    first_page(&a->recovery->rebuild);
    a->recovery->rebuild.way = REBUILD_UNDECIDED;
    a->recovery->rebuild.after[0] = '\0';
    a->recovery->rebuild.slices_by_ms = 0;
    a->recovery->rebuild.hurried = false;
    a->recovery->rebuild.rebuilt = 0;
}

/* --- adopting one claim of the list --- */

static void log_claim_failed(struct agent *a, const char *why)
{
    const struct claim_id *id = &a->recovery->rebuild.id;
    log_begin(a, LOG_ID_CLAIM_FAILED);
    log_about(a, id);
    log_claim(a, id);
    log_text(a, "error", why);
    log_end(a);
}

/*
 * Whether the agent skips the current claim: the claim is already held, or it was or may have been
 * unprepared.
 */
static bool is_settled(struct agent *a)
{
    const char *uid = a->recovery->rebuild.id.uid;
    if (ledger_known(a, uid) >= 0) {
        return true;
    }
    /*
     * LEDGER_FREEING does not prove an unprepare: a claim that was released when the store was
     * opened, because of a conflict, is in this state too, but has neither a tombstone nor a CDI
     * file.
     */
    enum status s = ledger_freeing_file(a, uid) ? STATUS_OK : ledger_tombstone(a, uid);
    if (s != STATUS_OK && s != HOST_ABSENT) {
        log_claim_failed(a, "whether it was unprepared is not known: the CDI root cannot be read");
        a->recovery->rebuild.broken = true;
    }
    return s != HOST_ABSENT;
}

/* Whether another claim holds a device of the record; if so, logs that the claim is not adopted. */
static bool is_others(struct agent *a, const struct claim_record *r)
{
    bool others = ledger_listed_rival(a, r) >= 0;
    if (others) {
        log_claim_failed(a, "another claim, prepared here, holds one of its devices");
    }
    return others;
}

/*
 * Whether the claim is held. If so, applies `r`, the claim as listed by the API server, to the
 * ledger.
 */
static bool is_held(struct agent *a, const struct claim_record *r)
{
    struct rebuild *k = &a->recovery->rebuild;
    int slot = ledger_find(a, r->id.uid);
    if (slot >= 0 && ledger_listed_claim(a, (unsigned)slot, r) != STATUS_OK) {
        k->broken = true;
    }
    return slot >= 0;
}

/* Holds a claim that the store has lost, as the API server returned it, and writes its CDI file. */
static void hold_claim(struct agent *a, struct claim_builder *b)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text - 1u);
    struct writer discarded = writer_of(NULL, 0);
    struct rebuild *k = &a->recovery->rebuild;
    if (cores_choose(a, &b->record, &why) != STATUS_OK) {
        text[why.len] = '\0';
        log_claim_failed(a, text);
        return;
    }
    b->record.rebuilt = true;
    enum status s = numbering_choose(a, NULL, &b->record, &discarded);
    status_ignore(s, "it was prepared all the same");
    bool held = ledger_ensure_cdi(a, &b->record, &why) == STATUS_OK &&
                reconcile_adopt(a, &b->record, "API server", &why);
    k->rebuilt += held ? 1u : 0u;
    if (why.len > 0u) {
        text[why.len] = '\0';
        log_claim_failed(a, text);
        k->broken = true;
    }
}

/*
 * Adopts the current claim, which was read completely. Two kinds of claims are logged, but not
 * adopted, because this version of the agent cannot have prepared them:
 * - a claim that no prepare would accept;
 * - a claim with a device that another claim holds; such a claim is reserved only because its pod
 *   waits for the device.
 */
static void adopt_claim(struct agent *a, struct claim_builder *b)
{
    const struct rebuild *k = &a->recovery->rebuild;
    if (!k->ours || !k->reserved || is_settled(a)) {
        return;
    }
    if (claim_end(b) != STATUS_OK) {
        log_claim_failed(a, b->why);
        return;
    }
    if (!is_others(a, &b->record) && !is_held(a, &b->record)) {
        hold_claim(a, b);
    }
}

/*
 * Begins a claim with its UID, namespace and name, which the API server sends before the claim's
 * devices.
 */
static void begin_claim(struct agent *a, struct view message)
{
    projection_MetaRecord m = projection_MetaRecord_init_zero;
    struct writer discarded = writer_of(NULL, 0);
    struct rebuild *k = &a->recovery->rebuild;
    char pod_claim[NAMESPACE_CAP];
    k->ours = false;
    k->reserved = false;
    text_set(pod_claim, sizeof pod_claim, k->pod_claim);
    k->pod_claim[0] = '\0';
    bool read = decode(message, projection_MetaRecord_fields, &m);
    text_cut(k->id.uid, sizeof k->id.uid, view_text(m.uid));
    text_cut(k->id.namespace_, sizeof k->id.namespace_, view_text(m.namespace));
    text_cut(k->id.name, sizeof k->id.name, view_text(m.name));
    if (!read || claim_id_check(&k->id, &discarded) != STATUS_OK) {
        k->id.uid[0] = '\0';
        return;
    }
    struct claim_builder *b = fetch_begin(a, k->fetch, &k->id);
    if (b->record.metadata) {
        text_set(b->record.pod_claim, sizeof b->record.pod_claim, pod_claim);
    }
    claim_meta(b, view_text(k->id.uid));
}

/*
 * Handles a record of the current claim. Skips allocation results of other nodes and drivers, and
 * their configuration.
 */
static void claim_record(struct agent *a, const struct kube_record *record)
{
    struct rebuild *k = &a->recovery->rebuild;
    struct claim_builder *b = fetch_builder(a, k->fetch);
    bool counts = k->ours;
    switch (record->record) {
    case KUBE_RESULT_CAPACITY:
        /*
         * The server sends a capacity before its allocation result. So it is not known yet whether
         * the result is of this node and driver, and the capacity is kept.
         */
        counts = true;
        break;
    case KUBE_RESULT:
        counts = fetch_is_ours(a, record->message);
        k->ours = k->ours || counts;
        break;
    case KUBE_CONSUMER:
        k->reserved = true;
        break;
    case KUBE_OBJECT_END:
        adopt_claim(a, b);
        k->id.uid[0] = '\0';
        k->claims++;
        return;
    default:
        break;
    }
    if (counts) {
        fetch_feed(b, record);
    }
}

static void page_meta(struct agent *a, const struct kube_record *record)
{
    projection_ListMetaRecord m = projection_ListMetaRecord_init_zero;
    struct rebuild *k = &a->recovery->rebuild;
    if (record->truncated || !decode(record->message, projection_ListMetaRecord_fields, &m)) {
        k->broken = true;
        log_one(a, LOG_ID_API_RESPONSE_UNEXPECTED, "doing", doing);
        return;
    }
    text_set(k->token, sizeof k->token, m.continue_token);
}

void rebuild_record(struct agent *a, const struct api_result *r, const struct kube_record *record)
{
    struct rebuild *k = &a->recovery->rebuild;
    ASSERT(k->running);
    (void)r;
    if (!ledger_is_usable(a)) {
        k->broken = true; /* the store is closed, so the agent cannot hold any listed claim */
    } else if (record->record == KUBE_LIST_META) {
        page_meta(a, record);
    } else if (record->record == KUBE_META) {
        begin_claim(a, record->message);
    } else if (k->id.uid[0] != '\0') {
        claim_record(a, record);
    } else if (record->record == KUBE_ANNOTATION) {
        fetch_annotation(record->message, k->pod_claim);
    }
}

/* --- the end of the response for a page --- */

/*
 * Begins again, after a wait, with the first page, the first named claim, or the choice between
 * them.
 */
static void begin_again(struct agent *a)
{
    struct rebuild *k = &a->recovery->rebuild;
    first_page(k);
    k->after[0] = '\0';
    k->slices_by_ms = 0;
    k->due_ms = a->now_ms + agent_backoff(a, &k->backoff_ms);
}

/* Records in the store that all claims in use are held. */
static void all_found(struct agent *a)
{
    struct rebuild *k = &a->recovery->rebuild;
    if (ledger_listed(a) != STATUS_OK) {
        begin_again(a);
        return;
    }
    if (k->way != REBUILD_UNDECIDED) {
        log_begin(a, LOG_ID_CLAIMS_LISTED);
        log_number(a, "pages", k->pages);
        log_number(a, "claims", k->claims);
        log_number(a, "rebuilt", k->rebuilt);
        log_end(a);
    }
    first_page(k);
    k->way = REBUILD_LISTED; /* if the store loses claims later, the agent must list all claims */
    k->hurried = false;
    k->rebuilt = 0;
    k->failing = false;
    k->backoff_ms = 0;
}

/*
 * Whether the failure needs no log line. HTTP 410 means that the token of the page has expired,
 * which happens if a list takes minutes. PEER_UNSUPPORTED means an unknown path, which is requested
 * again in another API version.
 */
static bool is_transient(const struct rebuild *k, const struct api_result *r)
{
    bool outdated = r->http == HTTP_GONE && k->pages > 0u && k->backoff_ms == 0u;
    return outdated || r->status == PEER_UNSUPPORTED || r->status == PEER_CLOSED;
}

/*
 * Plans to read the list again later, and logs the failure unless it is transient. A successful
 * response with invalid content was already logged.
 */
static void list_failed(struct agent *a, const struct api_result *r)
{
    struct rebuild *k = &a->recovery->rebuild;
    bool alarming = !is_transient(k, r);
    const char *remedy = (r->http == HTTP_FORBIDDEN)
                             ? "allow the verb list for resourceclaims in the agent's ClusterRole; "
                               "until then no new claim is prepared here"
                             : NULL;
    k->failing = k->failing || alarming;
    first_page(k);
    k->due_ms = a->now_ms + ((r->status == PEER_UNSUPPORTED) ? OUTGOING_GAP_MS
                                                             : retry_wait(a, r, &k->backoff_ms));
    if (alarming && r->status != STATUS_OK &&
        log_api_refusal(a, &k->refusal, doing, r, r->status)) {
        log_api_refusal_end(a, &k->refusal, remedy);
    }
}

void rebuild_end(struct agent *a, const struct api_result *r)
{
    struct rebuild *k = &a->recovery->rebuild;
    ASSERT(k->running);
    page_over(a);
    if (r->status != STATUS_OK || k->broken || !ledger_is_usable(a)) {
        list_failed(a, r);
        return;
    }
    k->pages++;
    if (k->token[0] == '\0') {
        all_found(a);
    }
}

/* --- the claims that the kubelet's checkpoint names --- */

static void list_instead(struct agent *a)
{
    struct rebuild *k = &a->recovery->rebuild;
    k->way = REBUILD_LISTED;
    k->due_ms = a->now_ms + (k->hurried ? 0u : agent_random(a) % REBUILD_SPREAD_MS);
    first_page(k);
}

/*
 * Requests the next claim that the checkpoint names. If all of them were read, the rebuild is
 * complete.
 */
static void next_named(struct agent *a)
{
    struct rebuild *k = &a->recovery->rebuild;
    struct writer discarded = writer_of(NULL, 0);
    /*
     * if another agent has owned the store since this process created it, the checkpoint is not
     * used
     */
    enum status s = ledger_is_created(a) ? witness_next(a, k->after, &k->id) : PEER_UNSUPPORTED;
    if (s == PEER_NOT_FOUND) {
        all_found(a);
        return;
    }
    if (s != STATUS_OK || claim_id_check(&k->id, &discarded) != STATUS_OK) {
        list_instead(a);
        return;
    }
    (void)note_request(a, fetch_start(a, &k->id, k->history, CLAIM_GET_MS));
}

/*
 * Adopts the named claim, which was read. Skips a claim that is already held, that was or may have
 * been unprepared, or that has a device which another claim holds.
 */
static void adopt_named(struct agent *a, struct fetch *f)
{
    if (!is_settled(a) && !is_others(a, &f->builder.record) && !is_held(a, &f->builder.record)) {
        hold_claim(a, &f->builder);
    }
}

/* Ends the work on the named claim, so that the next one follows. */
static void named_over(struct agent *a)
{
    struct rebuild *k = &a->recovery->rebuild;
    k->history = 0;
    if (k->broken) {
        begin_again(a);
        return;
    }
    text_set(k->after, sizeof k->after, k->id.uid);
    k->backoff_ms = 0;
    k->claims++;
}

/*
 * Handles a named claim that could not be read, or that no prepare would accept. If the claim is
 * absent at the API server, or has no device of this node, the agent need not hold it, because the
 * kubelet will unprepare it.
 */
static void named_failed(struct agent *a, const struct fetch *f)
{
    struct rebuild *k = &a->recovery->rebuild;
    if (f->state == FETCH_REPEAT) {
        k->history = f->history;
    } else if (f->state == FETCH_TRANSIENT || f->failed == PEER_TIMEOUT) {
        uint64_t wait_ms = agent_backoff(a, &k->backoff_ms);
        k->due_ms = a->now_ms + later(wait_ms, f->retry_after_ms);
    } else if (f->whole || f->failed == PEER_NOT_FOUND) {
        if (f->failed != PEER_NOT_FOUND) {
            log_claim_failed(a, f->builder.why);
        }
        named_over(a);
    } else {
        list_instead(a);
    }
}

/* Handles the named claim, if its GET has ended. */
static void handle_named(struct agent *a)
{
    const struct rebuild *k = &a->recovery->rebuild;
    struct fetch *f = fetch_at(a, k->fetch);
    if (f->state == FETCH_RUNNING) {
        return;
    }
    if (f->state == FETCH_DONE && ledger_is_usable(a)) {
        adopt_named(a, f);
        named_over(a);
    } else if (f->state != FETCH_DONE) {
        named_failed(a, f);
    } else {
        begin_again(a); /* the store is closed, so the claim cannot be held */
    }
    page_over(a);
}

/* --- periodic work --- */

/*
 * Called when the kubelet's checkpoint does not show whether this driver has run on the node
 * before: decides that by the ResourceSlices. A driver that was on this node before has left
 * slices, so without slices no claim can have been lost.
 */
static void decide_by_slices(struct agent *a)
{
    struct rebuild *k = &a->recovery->rebuild;
    enum first_list first = publish_first_list(a);
    bool clean = ledger_held_count(a) == 0u && reconcile_is_complete(a);
    if (k->slices_by_ms == 0u) {
        k->slices_by_ms = a->now_ms + REBUILD_SLICES_MS;
        k->due_ms = k->slices_by_ms;
    }
    if (first == FIRST_LIST_EMPTY && clean) {
        all_found(a);
    } else if (first == FIRST_LIST_FULL || !clean || k->hurried || a->now_ms >= k->slices_by_ms) {
        list_instead(a);
    } else {
        /* is_decision_due returns true once the list of slices is known, or at due_ms */
    }
}

static void decide_way(struct agent *a)
{
    struct rebuild *k = &a->recovery->rebuild;
    if (!ledger_is_created(a)) {
        list_instead(a);
        return;
    }
    k->due_ms = a->now_ms; /* the wait, if there was one, ends with the choice */
    enum status s = witness_next(a, "", &k->id);
    if (s == PEER_NOT_FOUND) {
        all_found(a);
    } else if (s == STATUS_OK) {
        k->way = REBUILD_NAMED;
    } else if (k->id.uid[0] != '\0') {
        list_instead(a); /* the checkpoint names a claim of this driver, but may lack others */
    } else {
        decide_by_slices(a);
    }
}

/* Whether the way can be chosen now: the wait has ended, or the awaited list of slices is known. */
static bool is_decision_due(const struct agent *a)
{
    const struct rebuild *k = &a->recovery->rebuild;
    bool slices = k->slices_by_ms != 0u && publish_first_list(a) != FIRST_LIST_UNKNOWN;
    return k->way == REBUILD_UNDECIDED && is_wanted(a) && (slices || a->now_ms >= k->due_ms);
}

void rebuild_hurry(struct agent *a)
{
    struct rebuild *k = &a->recovery->rebuild;
    if (!k->hurried && k->backoff_ms == 0u) {
        k->due_ms = a->now_ms;
    }
    k->hurried = true;
}

void rebuild_step(struct agent *a)
{
    const struct rebuild *k = &a->recovery->rebuild;
    if (k->running && k->way == REBUILD_NAMED) {
        handle_named(a);
    }
    if (is_decision_due(a)) {
        decide_way(a);
    }
    if (!may_ask(a) || a->now_ms < k->due_ms) {
        return;
    }
    if (k->way == REBUILD_NAMED) {
        next_named(a);
    } else {
        /* without a choice, or if the store refused its result, due_ms is in the future */
        ASSERT(k->way == REBUILD_LISTED);
        next_page(a);
    }
}

uint64_t rebuild_deadline(const struct agent *a)
{
    const struct rebuild *k = &a->recovery->rebuild;
    bool due = (k->way == REBUILD_UNDECIDED) ? is_wanted(a) : may_ask(a);
    return due ? later(k->due_ms, a->now_ms) : UINT64_MAX;
}
