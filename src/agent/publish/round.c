/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a round. Each step has three functions: the first one moves to the next step or
 * sends a request, the second one handles the records of the response, the third one handles the
 * end of the request. The table `steps` lists these functions.
 */
#include "agent/publish/round.h"

#include "agent/api/backoff.h"
#include "agent/api/retry.h"
#include "agent/frame.h"
#include "agent/node/device_states.h"
#include "agent/node/node.h"
#include "agent/publish/room.h"
#include "agent/report/log.h"
#include "base/assert.h"
#include "generated/projection.pb.h"
#include "wire/decode.h"

/* --- functions that several steps of a round use --- */

void round_init(struct agent *a)
{
    struct round *r = &a->publish->round;
    r->step = ROUND_IDLE;
    slice_observe_begin(&r->observer, &a->publish->wanted);
}

/* Returns the bytes of the body of `round.request` that the API client sends next. */
static struct view request_body(struct agent *a, uint32_t offset, size_t room)
{
    size_t cap = (room < sizeof a->scratch.body) ? room : sizeof a->scratch.body;
    struct writer part = writer_of(a->scratch.body, cap);
    enum status s = slice_body_part(&a->publish->round.request, offset, &part);
    ASSERT(s == STATUS_OK);
    return writer_view(&part);
}

/*
 * Sends a request. If the client cannot accept it now, the step tries again when it is next called.
 * Always returns false, so that a step can return this result to wait for the response.
 */
static bool start_request(struct agent *a, const struct api_request *request)
{
    struct round *r = &a->publish->round;
    r->cause = (struct refusal_cause){.text = "", .field = "", .too_many_devices = false};
    enum status s = api_start(a, API_SLOT_SLICES, request);
    ASSERT(s == STATUS_OK || s == STATUS_MORE);
    return false;
}

/*
 * Parses one cause in the Status of a refusal. Keeps the text and the field of the first cause, and
 * whether any cause says that the slice has too many devices.
 */
static void parse_cause(struct refusal_cause *cause, struct view message)
{
    projection_StatusRecord m = projection_StatusRecord_init_zero;
    if (!decode(message, projection_StatusRecord_fields, &m)) {
        return;
    }
    cause->too_many_devices = cause->too_many_devices || text_is(m.details_name, "spec.devices");
    if (cause->text[0] == '\0') {
        text_cut(cause->text, sizeof cause->text, view_text(m.message));
        text_cut(cause->field, sizeof cause->field, view_text(m.details_name));
    }
}

/* --- the end of a round --- */

/*
 * Gives up the round and plans the next one after `wait_ms`. If `firm`, no round starts earlier,
 * even if one is requested.
 */
static void give_up(struct agent *a, uint64_t wait_ms, bool firm)
{
    struct round *r = &a->publish->round;
    r->step = ROUND_IDLE;
    pacing_failed(&a->publish->pacing, a->now_ms + wait_ms, firm);
}

static void log_failure(struct agent *a, const char *doing, const struct api_result *result,
                        enum status status, uint64_t wait_ms)
{
    struct round *r = &a->publish->round;
    if (!log_api_refusal(a, &r->refusal, doing, result, status)) {
        return;
    }
    log_api_refusal_field(a, "field", r->cause.field);
    log_api_refusal_field(a, "cause", r->cause.text);
    log_number(a, "retry_ms", (int64_t)wait_ms);
    if (wait_ms < API_REFUSED_MS && a->publish->pacing.invalid_ms == 0u) {
        log_no_k8s_event(a); /* the failure is transient: the server did not refuse the content */
    }
    log_api_refusal_end(a, &r->refusal, NULL);
}

static void request_failed(struct agent *a, const char *doing, const struct api_result *result,
                           enum status status)
{
    struct round *r = &a->publish->round;
    uint64_t wait = retry_wait(a, result, &a->publish->pacing.backoff_ms);
    r->trouble = "a request for ResourceSlices failed and is retried";
    if (result->http == HTTP_FORBIDDEN && !result->roles_unread) {
        r->trouble = "the API server forbids requests for ResourceSlices: check RBAC and policies";
    } else if (result->http == HTTP_UNAUTHORIZED) {
        r->trouble = "the API server does not accept the agent's token: " API_TOKEN_REMEDY;
    } else {
        /* for any other failure, `trouble` keeps its general text */
    }
    log_failure(a, doing, result, status, wait);
    give_up(a, wait, status != PEER_CLOSED);
}

/*
 * Handles a write conflict: another client wrote or deleted the slice after it was listed. The
 * agent does not log this as a failure.
 */
static void write_conflicted(struct agent *a)
{
    uint64_t wait = agent_backoff(a, &a->publish->pacing.backoff_ms);
    log_begin(a, LOG_ID_SLICE_WRITE_CONFLICTED);
    log_number(a, "retry_ms", (int64_t)wait);
    log_end(a);
    give_up(a, wait, true);
}

static bool is_conflict(const struct api_result *result)
{
    return result->status == PEER_NOT_FOUND || result->http == HTTP_CONFLICT;
}

static void log_current(struct agent *a)
{
    log_begin(a, LOG_ID_SLICE_VERIFIED);
    log_text(a, "slice", plan_devices_part(&a->publish->plan)->stored.name);
    log_number(a, "devices", a->publish->wanted.devices.count);
    log_end(a);
}

/*
 * Ends a round that has nothing left to do. `reported`: the log already says that the slices are
 * published.
 */
static void complete_round(struct agent *a, bool reported)
{
    struct round *r = &a->publish->round;
    bool current = plan_complete(&a->publish->plan);
    r->step = ROUND_IDLE;
    r->trouble = plan_lossy(&a->publish->plan)
                     ? "the API server stores less of the slices than it is sent"
                     : NULL;
    pacing_over(a);
    slice_watch_resume(a);
    if (current) {
        r->current_wall_ms = a->wall_ms;
    }
    if (current && !reported && a->publish->plan.parts > 0u) {
        log_current(a);
    }
    if (current) {
        r->stored = STORED_REPORTED;
    } else {
        r->stored = reported ? STORED_RECHECK : STORED_UNKNOWN;
    }
}

static bool is_reported(enum stored_state stored)
{
    return stored == STORED_RECHECK || stored == STORED_REPORTED;
}

/* --- the step ROUND_IDLE: whether a round starts --- */

static bool step_idle(struct agent *a)
{
    struct round *r = &a->publish->round;
    if (a->now_ms < pacing_due(&a->publish->pacing)) {
        return false;
    }
    pacing_started(&a->publish->pacing);
    r->step = ROUND_NODE;
    node_refresh(a);
    return true;
}

/* --- the step ROUND_NODE: waiting for the Node --- */

/* Publishes devices as exclusive, because the API server drops the device-sharing fields. */
static void drop_shares(struct agent *a)
{
    struct round *r = &a->publish->round;
    if (!r->no_shares) {
        log_begin(a, LOG_ID_DEVICE_SHARING_DROPPED);
        log_number(a, "shares", a->driver->shares);
        log_end(a);
    }
    r->no_shares = true;
}

static bool step_node(struct agent *a)
{
    struct round *r = &a->publish->round;
    if (!node_ready(a)) {
        return false;
    }
    if (a->driver->shares > 1u && version_now(a) != API_V1) {
        /* API servers that do not serve resource.k8s.io/v1 drop shares by default */
        drop_shares(a);
    }
    wanted_rebuild(a);
    slice_watch_outdated(a);
    r->step = ROUND_LIST;
    return true;
}

/* --- the step ROUND_LIST: listing the stored slices --- */

static bool step_list(struct agent *a)
{
    char path[KUBE_PATH_CAP];
    struct round *r = &a->publish->round;
    struct writer out = writer_of(path, sizeof path);
    enum status s =
        kube_path_slices(&out, version_name(a), a->driver->name, a->settings->node_name, 0);
    ASSERT(s == STATUS_OK);
    const struct api_request request = {.kind = API_LIST_SLICES,
                                        .shape = KUBE_SHAPE_SLICE_LIST,
                                        .version = version_now(a),
                                        .head = {.method = "GET", .path = writer_view(&out)}};
    plan_list_begin(&a->publish->plan);
    slice_watch_from(a, view_text(""));
    r->foreign = 0;
    r->partial = false;
    slice_observe_begin(&r->observer, &a->publish->wanted);
    return start_request(a, &request);
}

static void list_item(struct agent *a)
{
    struct round *r = &a->publish->round;
    const struct slice_seen *s = &r->observer.seen;
    if (s->name[0] == '\0') {
        return;
    }
    if (s->scope == SLICE_OURS) {
        plan_list_add(&a->publish->plan, s);
    } else if (s->scope == SLICE_FOREIGN) {
        /* the slice belongs to another driver or node, so the server ignores the field selector */
        r->foreign++;
    }
}

static void list_meta(struct agent *a, struct view message)
{
    struct round *r = &a->publish->round;
    projection_ListMetaRecord m = projection_ListMetaRecord_init_zero;
    if (decode(message, projection_ListMetaRecord_fields, &m)) {
        slice_watch_from(a, view_text(m.resource_version));
        r->partial = m.continue_token[0] != '\0';
    }
}

static void list_record(struct agent *a, const struct kube_record *record)
{
    struct slice_observer *o = &a->publish->round.observer;
    if (slice_observe(o, record)) {
        return;
    }
    if (record->record == KUBE_OBJECT_END) {
        list_item(a);
        slice_observe_begin(o, o->wanted);
    } else if (record->record == KUBE_LIST_META) {
        list_meta(a, record->message);
    }
}

/*
 * Logs that the server ignores the field selector. This is logged again only after a list without
 * foreign slices was received.
 */
static void report_foreign(struct agent *a)
{
    struct round *r = &a->publish->round;
    if (r->foreign > 0u && !r->foreign_reported) {
        log_one(a, LOG_ID_API_RESPONSE_UNEXPECTED, "doing", "list slices");
    }
    r->foreign_reported = r->foreign > 0u;
}

/*
 * Whether the stored slices stay as they are, for at most DEVICES_GRACE_MS. They do if they have
 * devices but this process has found none yet, perhaps because it started while the kernel module
 * was being reloaded.
 */
static bool keeps_stored(struct agent *a)
{
    struct round *r = &a->publish->round;
    const struct plan *plan = &a->publish->plan;
    unsigned stored = plan_devices_seen(plan);
    if (a->ending || plan->cut > 0u || a->publish->wanted.devices.count > 0u || stored == 0u) {
        return false;
    }
    if (r->kept_until_ms == 0u) {
        r->kept_until_ms = a->now_ms + DEVICES_GRACE_MS;
        log_begin(a, LOG_ID_DEVICES_MISSING);
        log_number(a, "devices_kept", stored);
        log_number(a, "grace_ms", DEVICES_GRACE_MS);
        log_end(a);
    }
    if (a->now_ms >= r->kept_until_ms) {
        return false;
    }
    r->trouble = "no device was found; the stored slices, which have some, are kept for a while";
    give_up(a, r->kept_until_ms - a->now_ms, false);
    return true;
}

/* Compares the stored slices of a complete list with the wanted ones. */
static void list_complete(struct agent *a, const struct api_result *result)
{
    struct round *r = &a->publish->round;
    struct plan *plan = &a->publish->plan;
    if (r->first_list == FIRST_LIST_UNKNOWN) {
        r->first_list = (plan->seen_count > 0u) ? FIRST_LIST_FULL : FIRST_LIST_EMPTY;
    }
    if (keeps_stored(a)) {
        return;
    }
    slice_watch_listed(a, result);
    if (a->ending) {
        plan_make_empty(plan);
    } else {
        plan_make(plan, a->publish->wanted.devices.count, a->publish->wanted.devices.counters);
    }
    report_foreign(a);
    if (plan->overflow > 0u) {
        /* the next round handles the listed slices that did not fit into the plan */
        pacing_by(&a->publish->pacing, a->now_ms);
    }
    r->step = ROUND_DELETE;
    if (!plan_complete(plan)) {
        r->stored = STORED_UNKNOWN;
    } else {
        r->stored = is_reported(r->stored) ? STORED_REPORTED : STORED_CURRENT;
    }
}

/*
 * Handles a list that failed. While the server answers lists with 5xx, the agent cannot know
 * whether the stored slices still match the wanted ones.
 */
static void list_failed(struct agent *a, const struct api_result *result)
{
    struct round *r = &a->publish->round;
    if (result->http >= HTTP_SERVER_ERROR_FIRST) {
        r->stored = is_reported(r->stored) ? STORED_RECHECK : STORED_UNKNOWN;
    }
    request_failed(a, "list slices", result, result->status);
}

/*
 * Handles the end of the list request. After PEER_UNSUPPORTED the round stays in the same step, so
 * that it lists again in another version of the API.
 */
static void list_end(struct agent *a, const struct api_result *result)
{
    struct round *r = &a->publish->round;
    if (result->status == STATUS_OK && r->partial) {
        /*
         * A response with only the first page counts as a failure, because the request set no
         * limit, and the slices on the next pages would count as absent.
         */
        text_cut(r->cause.text, sizeof r->cause.text, view_text("a page of a list"));
        request_failed(a, "list slices", result, PEER_MALFORMED);
    } else if (result->status == STATUS_OK) {
        list_complete(a, result);
    } else if (result->status != PEER_UNSUPPORTED) {
        list_failed(a, result);
    }
}

/* --- the step ROUND_DELETE: deleting unwanted slices --- */

static void ignore_record(struct agent *a, const struct kube_record *record)
{
    (void)a;
    (void)record;
}

static bool step_delete(struct agent *a)
{
    char path[KUBE_PATH_CAP];
    struct round *r = &a->publish->round;
    const struct slice_seen *seen = plan_next_delete(&a->publish->plan);
    if (seen == NULL) {
        r->step = ROUND_WRITE;
        return true;
    }
    struct writer out = writer_of(path, sizeof path);
    enum status s = kube_path_slice(&out, version_name(a), seen->name);
    ASSERT(s == STATUS_OK);
    r->request = (struct slice_request){.verb = SLICE_DELETE, .stored = seen};
    const struct api_request request = {.kind = API_DELETE_SLICE,
                                        .shape = KUBE_SHAPE_STATUS,
                                        .version = version_now(a),
                                        .head = {.method = "DELETE",
                                                 .path = writer_view(&out),
                                                 .body_len = slice_body_len(&r->request)},
                                        .body = request_body};
    return start_request(a, &request);
}

static void delete_end(struct agent *a, const struct api_result *result)
{
    if (result->status == STATUS_OK || result->status == PEER_NOT_FOUND) {
        plan_deleted(&a->publish->plan);
    } else if (is_conflict(result)) {
        write_conflicted(a);
    } else {
        request_failed(a, "delete slice", result, result->status);
    }
}

/* --- the step ROUND_WRITE: writing slices that differ --- */

static struct slice_request write_request(struct agent *a, const struct slice_part *part)
{
    struct publish *p = a->publish;
    return (struct slice_request){
        .verb = (part->action == PART_CREATE) ? SLICE_CREATE : SLICE_UPDATE,
        .version = version_now(a),
        .stored = &part->stored,
        .wanted = &p->wanted,
        .attributes = &p->attributes,
        .counters = part->counters,
        .first = part->first,
        .count = part->count,
        .generation = p->plan.generation,
        .slices = p->plan.parts,
    };
}

static bool step_write(struct agent *a)
{
    char path[KUBE_PATH_CAP];
    struct round *r = &a->publish->round;
    const struct slice_part *part = plan_next_write(&a->publish->plan);
    if (part == NULL) {
        complete_round(a, is_reported(r->stored));
        return false;
    }
    bool create = part->action == PART_CREATE;
    struct writer out = writer_of(path, sizeof path);
    enum status s = kube_path_slice(&out, version_name(a), create ? NULL : part->stored.name);
    ASSERT(s == STATUS_OK);
    r->request = write_request(a, part);
    const struct api_request request = {.kind = API_WRITE_SLICE,
                                        .shape = KUBE_SHAPE_SLICE,
                                        .version = r->request.version,
                                        .head = {.method = create ? "POST" : "PUT",
                                                 .path = writer_view(&out),
                                                 .body_len = slice_body_len(&r->request)},
                                        .body = request_body};
    /* clear the observer, so that a response without an object does not count as success */
    slice_observe_begin(&r->observer, &a->publish->wanted);
    return start_request(a, &request);
}

static void write_record(struct agent *a, const struct kube_record *record)
{
    (void)slice_observe(&a->publish->round.observer, record);
}

static bool lacks_taint(const struct slice_seen *stored)
{
    uint64_t devices = 0;
    for (unsigned i = 0; i < (unsigned)TAINTS; i++) {
        devices |= stored->untainted[i];
    }
    return devices != 0u;
}

static void log_slice_written(struct agent *a, const struct slice_part *part, enum slice_verb verb)
{
    enum log_id id = part->lossy ? LOG_ID_SLICE_FIELDS_DROPPED : LOG_ID_SLICE_PUBLISHED;
    if (part->stored.unshared || part->stored.lacks_resources) {
        return; /* drop_shares() or resources_dropped() logs the reason */
    }
    log_begin(a, lacks_taint(&part->stored) ? LOG_ID_DEVICE_TAINT_DROPPED : id);
    log_text(a, "slice", part->stored.name);
    log_text(a, "how", (verb == SLICE_UPDATE) ? "updated" : "created");
    log_number(a, "devices", part->count);
    log_number(a, "generation", part->stored.generation);
    log_end(a);
}

/*
 * Whether the server dropped a taint of a published device; the next round then leaves that device
 * out, or publishes it without that taint.
 */
static bool taints_dropped(const struct agent *a)
{
    const struct devices *d = &a->publish->wanted.devices;
    bool dropped = false;
    for (unsigned i = 0; i < d->count; i++) {
        const struct device *one = &d->device[i];
        uint64_t numbers = one->node ? UINT64_MAX : UINT64_C(1) << one->number;
        dropped = dropped || (device_states_lack_taints(a, numbers) & one->tainted) != 0u;
    }
    return dropped;
}

/*
 * Gives up the round because the server drops or refuses shared counters: the next round publishes
 * only the device that represents the node.
 */
static void counters_refused(struct agent *a, uint64_t wait_ms)
{
    struct round *r = &a->publish->round;
    r->no_counters = true;
    r->trouble = "the API server keeps no shared counters";
    plan_forget_losses(&a->publish->plan);
    give_up(a, wait_ms, true);
}

/*
 * Gives up the round because the server drops or refuses shares: the next round publishes the
 * devices without shares.
 */
static void shares_refused(struct agent *a, uint64_t wait_ms)
{
    drop_shares(a);
    plan_forget_losses(&a->publish->plan);
    give_up(a, wait_ms, true);
}

/*
 * Gives up the round because the server dropped the node resources of a device: the next round
 * publishes the devices without them.
 */
static void resources_dropped(struct agent *a)
{
    log_begin(a, LOG_ID_NODE_RESOURCES_DROPPED);
    log_end(a);
    a->publish->round.no_resources = true;
    plan_forget_losses(&a->publish->plan);
    give_up(a, 0, true);
}

static void part_written(struct agent *a, const struct api_result *result)
{
    struct round *r = &a->publish->round;
    struct plan *plan = &a->publish->plan;
    const struct slice_part *part = plan_next_write(plan);
    if (!plan_written(plan, &r->observer.seen)) {
        log_one(a, LOG_ID_API_RESPONSE_UNEXPECTED, "doing", "write slice");
        r->trouble = "the API server answered with another object than was written";
        give_up(a, retry_wait(a, result, &a->publish->pacing.backoff_ms), true);
        return;
    }
    log_slice_written(a, part, r->request.verb);
    if (part->counters && part->lossy) {
        counters_refused(a, 0);
        return;
    }
    if (part->stored.unshared) {
        shares_refused(a, 0);
        return;
    }
    if (part->stored.lacks_resources) {
        resources_dropped(a);
        return;
    }
    device_states_untaintable(a, part->stored.untainted);
    if (plan_next_write(plan) == NULL) {
        complete_round(a, true);
        if (taints_dropped(a)) {
            round_content_changed(a);
        }
        pacing_wrote(a, plan_lossy(plan) && plan->overflow == 0u);
    }
}

/*
 * Handles the server's refusal of a slice because of its size or content. The next round publishes
 * smaller slices, or no shared counters, or no shares. If the agent cannot change any of these, the
 * next round starts after a longer wait.
 */
static void write_refused(struct agent *a, const struct api_result *result)
{
    struct round *r = &a->publish->round;
    bool large = result->http == HTTP_CONTENT_TOO_LARGE || r->cause.too_many_devices;
    unsigned smaller = large ? plan_cut_smaller(&a->publish->plan) : 0u;
    uint64_t wait = API_BACKOFF_MIN_MS;
    if (smaller > 0u) {
        log_begin(a, LOG_ID_SLICE_SPLIT);
        log_number(a, "devices", smaller);
        log_text(a, "text", r->cause.text);
        log_end(a);
    } else {
        r->trouble = "the API server refuses the slices as invalid; see its causes in the log";
        wait = pacing_invalid(a);
    }
    log_failure(a, "write slice", result, result->status, wait);
    if (a->publish->wanted.devices.counters && smaller == 0u) {
        counters_refused(a, API_BACKOFF_MIN_MS);
    } else if (a->publish->wanted.devices.shares > 1u && smaller == 0u) {
        shares_refused(a, API_BACKOFF_MIN_MS);
    } else {
        give_up(a, wait, true);
    }
}

static void write_end(struct agent *a, const struct api_result *result)
{
    uint16_t http = result->http;
    if (result->status == STATUS_OK) {
        part_written(a, result);
    } else if (is_conflict(result)) {
        write_conflicted(a);
    } else if (http == HTTP_UNPROCESSABLE_CONTENT || http == HTTP_CONTENT_TOO_LARGE) {
        write_refused(a, result);
    } else {
        request_failed(a, "write slice", result, result->status);
    }
}

/* --- the state machine of a round --- */

static const struct {
    /* true: run the next step now; false: a request was sent, or the round waits */
    bool (*step)(struct agent *a);
    /* NULL in a step that sends no request */
    void (*on_record)(struct agent *a, const struct kube_record *record);
    void (*on_end)(struct agent *a, const struct api_result *result);
} steps[ROUND_STEPS] = {
    [ROUND_IDLE] = {step_idle, NULL, NULL},
    [ROUND_NODE] = {step_node, NULL, NULL},
    [ROUND_LIST] = {step_list, list_record, list_end},
    [ROUND_DELETE] = {step_delete, ignore_record, delete_end},
    [ROUND_WRITE] = {step_write, write_record, write_end},
};

/*
 * Whether a request may be sent: the devices and the API version are known, and no request is in
 * flight.
 */
static bool may_start(const struct agent *a)
{
    bool ready = !a->devices->unknown && api_ready(a) && version_ready(a);
    return ready && !api_slot_busy(a, API_SLOT_SLICES);
}

void round_step(struct agent *a)
{
    bool more = may_start(a);
    for (unsigned i = 0; more && i < (unsigned)ROUND_STEPS; i++) {
        more = steps[a->publish->round.step].step(a);
    }
}

uint64_t round_deadline(const struct agent *a)
{
    bool idle = a->publish->round.step == ROUND_IDLE;
    return (idle && may_start(a)) ? pacing_due(&a->publish->pacing) : UINT64_MAX;
}

void round_record(struct agent *a, const struct kube_record *record)
{
    struct round *r = &a->publish->round;
    ASSERT(r->step >= ROUND_LIST);
    if (record->record == KUBE_STATUS_CAUSE) {
        parse_cause(&r->cause, record->message);
    } else {
        steps[r->step].on_record(a, record);
    }
}

void round_end(struct agent *a, const struct api_result *result)
{
    enum round_step step = a->publish->round.step;
    ASSERT(step >= ROUND_LIST); /* a round that ends or is given up has no request in flight */
    steps[step].on_end(a, result);
}

/* --- requests for rounds --- */

void round_soon(struct agent *a)
{
    struct pacing *p = &a->publish->pacing;
    enum round_step step = a->publish->round.step;
    if (step == ROUND_NODE) {
        /* the current round has not built its wanted content yet, so no further round is needed */
        pacing_cancel(p);
    } else {
        pacing_by(p, (step == ROUND_IDLE) ? pacing_soon(p, a->now_ms) : a->now_ms);
    }
}

void round_recheck(struct agent *a, uint64_t wait_ms)
{
    struct round *r = &a->publish->round;
    r->stored = STORED_UNKNOWN;
    pacing_by(&a->publish->pacing, (r->step == ROUND_IDLE) ? a->now_ms + wait_ms : a->now_ms);
}

void round_content_changed(struct agent *a)
{
    struct round *r = &a->publish->round;
    round_soon(a);
    r->stored = is_reported(r->stored) ? STORED_RECHECK : STORED_UNKNOWN;
    plan_forget_losses(&a->publish->plan);
    pacing_content_changed(&a->publish->pacing);
}

void round_version(struct agent *a)
{
    struct round *r = &a->publish->round;
    /* another version of the API may keep these fields, so try them again */
    r->no_counters = false;
    r->no_shares = false;
    r->no_resources = false;
}

void round_abandon(struct agent *a)
{
    struct round *r = &a->publish->round;
    if (r->step != ROUND_IDLE || a->publish->plan.cut > 0u) {
        /* list the slices again: without a connection, the watch may have missed changes */
        pacing_by(&a->publish->pacing, a->now_ms);
    }
    r->step = ROUND_IDLE;
    slice_watch_suspend(a);
    /* another server may store all fields, so forget which ones were dropped */
    plan_forget_losses(&a->publish->plan);
}

bool round_current(const struct agent *a)
{
    return a->publish->round.stored >= STORED_CURRENT;
}

void round_suspend(struct agent *a)
{
    a->publish->round.stored = STORED_UNKNOWN;
    round_abandon(a);
}
