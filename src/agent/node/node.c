/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and watches the Node. The watch starts without a resourceVersion, so that the server first
 * reports the current state, and continues from the last resourceVersion. If the ClusterRole grants
 * no watch on nodes, or if the watch stays silent, the publisher's rounds read the Node instead.
 */
#include "agent/api/backoff.h"
#include "agent/api/retry.h"
#include "agent/frame.h"
#include "agent/node/room.h"
#include "agent/report/log.h"
#include "base/assert.h"
#include "base/time.h"
#include "generated/projection.pb.h"
#include "wire/decode.h"

/* The remedy logged for a refused read or watch of the Node. */
#define NODE_REMEDY "grant the agent's ClusterRole get, list and watch on nodes"

void node_init(struct agent *a)
{
    watch_init(&a->node_object->watch, API_SLOT_NODE, true);
    a->node_object->get_due_ms = UINT64_MAX;
}

bool node_changed(struct agent *a)
{
    bool changed = a->node_object->changed;
    a->node_object->changed = false;
    return changed;
}

bool node_ready(const struct agent *a)
{
    const struct node_object *n = a->node_object;
    return n->presence == NODE_PRESENT && !n->awaited;
}

const struct node_facts *node_facts(const struct agent *a)
{
    return &a->node_object->facts;
}

enum node_presence node_presence(const struct agent *a)
{
    return a->node_object->presence;
}

uint64_t node_read_ms(const struct agent *a)
{
    return a->node_object->read_ms;
}

bool node_drains(const struct agent *a)
{
    return text_is(a->node_object->facts.drain, "true");
}

bool node_is_drained(const struct agent *a)
{
    return a->node_object->drained;
}

void node_set_drained(struct agent *a, bool drained)
{
    a->node_object->drained = drained;
}

void node_refresh(struct agent *a)
{
    struct node_object *n = a->node_object;
    if (n->watch.unusable && api_slot_kind(a, API_SLOT_NODE) != API_GET_NODE) {
        n->awaited = true;
        n->get_due_ms = a->now_ms;
    }
}

void node_read(struct agent *a)
{
    struct node_object *n = a->node_object;
    if (n->get_due_ms == UINT64_MAX && api_slot_kind(a, API_SLOT_NODE) != API_GET_NODE) {
        n->get_due_ms = a->now_ms;
    }
}

/* --- the facts of the Node as last read --- */

void node_check_type(struct agent *a)
{
    struct node_object *n = a->node_object;
    struct view label = board_type(view_text(n->facts.instance_type));
    struct view found = view_text(a->devices->instance_type);
    if (label.len == 0u || found.len == 0u || view_equal(label, found)) {
        n->type_logged[0] = '\0';
    } else if (!view_is(label, n->type_logged)) {
        text_cut(n->type_logged, sizeof n->type_logged, label);
        log_begin(a, LOG_ID_INSTANCE_TYPE_MISMATCH_FOUND);
        log_view(a, "label", label);
        log_view(a, "found", found);
        log_end(a);
    }
}

static void report_change(struct agent *a, const char *what)
{
    log_one(a, LOG_ID_NODE_CHANGED, "text", what);
    a->node_object->changed = true;
}

/* Handles the label DRAIN_KEY of the Node that was read. */
static void learn_drain(struct agent *a)
{
    struct node_object *n = a->node_object;
    const char *value = n->now.drain;
    if (text_is(n->facts.drain, value)) {
        return;
    }
    n->drain_ms = a->now_ms;
    if (text_is(value, "true")) {
        report_change(a, "the label " DRAIN_KEY " is true: new pods get no device");
    } else if (value[0] != '\0' && !text_is(value, "false")) {
        report_change(a, "the label " DRAIN_KEY " is neither true nor false: no drain");
    } else if (node_drains(a)) {
        report_change(a, "the drain ends: devices are offered again");
    } else {
        /* no drain, as before */
    }
}

static void learn_present(struct agent *a)
{
    struct node_object *n = a->node_object;
    bool first = n->facts.uid[0] == '\0';
    bool other = !text_is(n->facts.uid, n->now.uid);
    bool labels = !node_labels_same(&n->facts.labels, &n->now.labels);
    bool kubelet = !text_is(n->facts.kubelet_version, n->now.kubelet_version);
    learn_drain(a);
    n->facts = n->now;
    /*
     * A new kubelet version counts as a change, because wanted.c derives from the version which
     * fields the API server keeps.
     */
    n->changed = n->changed || first || kubelet;
    if (!first && (other || n->presence == NODE_ABSENT)) {
        report_change(a, "there is another Node object of this name: slices get it as their owner");
    } else if (!first && labels) {
        report_change(a, "labels that become attributes changed");
    }
    n->presence = NODE_PRESENT;
    node_check_type(a);
}

static void learn_absent(struct agent *a)
{
    struct node_object *n = a->node_object;
    bool before = n->presence == NODE_PRESENT;
    n->presence = NODE_ABSENT;
    if (before) {
        report_change(a, "the Node object was deleted: slices wait for the next one");
    }
}

/* --- parsing records of the Node --- */

static void parse_meta(struct agent *a, struct view message)
{
    projection_MetaRecord m = projection_MetaRecord_init_zero;
    struct node_facts *now = &a->node_object->now;
    if (!decode(message, projection_MetaRecord_fields, &m)) {
        return;
    }
    text_cut(now->resource_version, sizeof now->resource_version, view_text(m.resource_version));
    if (text_is(m.name, a->settings->node_name)) {
        text_cut(now->uid, sizeof now->uid, view_text(m.uid));
    }
}

static void parse_label(struct node_facts *now, struct view message)
{
    /*
     * The AWS cloud controller manager sets the first four of these labels of the Node. The label
     * of the instance type has an old and a new name.
     */
    const struct {
        const char *key;
        char *place;
    } rows[] = {
        {"topology.k8s.aws/network-node-layer-1", now->labels.network_layer[0]},
        {"topology.k8s.aws/network-node-layer-2", now->labels.network_layer[1]},
        {"topology.k8s.aws/network-node-layer-3", now->labels.network_layer[2]},
        {"topology.k8s.aws/capacity-block-id", now->labels.capacity_block},
        {"beta.kubernetes.io/instance-type", now->instance_type},
        {"node.kubernetes.io/instance-type", now->instance_type},
        {DRAIN_KEY, now->drain},
    };
    projection_LabelRecord l = projection_LabelRecord_init_zero;
    if (!decode(message, projection_LabelRecord_fields, &l)) {
        return;
    }
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (text_is(l.key, rows[i].key)) {
            text_cut(rows[i].place, ATTRIBUTE_VALUE_CAP, view_text(l.value));
        }
    }
}

static void parse_info(struct node_facts *now, struct view message)
{
    projection_NodeInfoRecord i = projection_NodeInfoRecord_init_zero;
    if (decode(message, projection_NodeInfoRecord_fields, &i)) {
        text_cut(now->kubelet_version, sizeof now->kubelet_version, view_text(i.kubelet_version));
    }
}

void node_record(struct agent *a, const struct api_result *r, const struct kube_record *record)
{
    (void)r;
    if (record->record == KUBE_META) {
        parse_meta(a, record->message);
    } else if (record->record == KUBE_LABEL) {
        parse_label(&a->node_object->now, record->message);
    } else if (record->record == KUBE_NODE_INFO) {
        parse_info(&a->node_object->now, record->message);
    }
}

/* --- the watch of the Node --- */

/*
 * Handles a watch of the Node that reports nothing: plans a GET of the Node after report.wait_ms.
 */
static void watch_silent(struct agent *a, const struct api_result *r, struct watch_report report)
{
    struct node_object *n = a->node_object;
    /* if the server allows too few streams for the watch, another log line has already said so */
    bool logged = !report.first || api_streams_limited(a);
    if (!logged && log_api_refusal(a, &n->refusal, "watch Node", r, PEER_TIMEOUT)) {
        log_api_refusal_end(a, &n->refusal, "nothing: the Node is read instead");
    }
    n->get_due_ms = a->now_ms + report.wait_ms;
}

static void watch_refused(struct agent *a, const struct api_result *r, struct watch_report report)
{
    struct node_object *n = a->node_object;
    bool busy = retry_is_busy(r);
    if (report.kind == WATCH_REFUSED && n->presence == NODE_UNKNOWN) {
        n->get_due_ms = a->now_ms;
    }
    if (!busy && (report.first || n->refusal.passes)) {
        /* log this refusal even if it equals the last logged one */
        n->refusal.doing = NULL;
    } else if (!busy) {
        return; /* this refusal was logged when it began */
    }
    if (log_api_refusal(a, &n->refusal, "watch Node", r, r->status)) {
        if (busy) {
            log_no_k8s_event(a); /* an Event would be one more request to a busy server */
        }
        log_api_refusal_end(a, &n->refusal, NODE_REMEDY);
    }
}

static void watch_reported(struct agent *a, const struct api_result *r, struct watch_report report)
{
    struct node_object *n = a->node_object;
    bool named = n->now.uid[0] != '\0';
    switch (report.kind) {
    case WATCH_EVENT_STARTS:
        memset(&n->now, 0, sizeof n->now);
        break;
    case WATCH_STORED:
        if (named) {
            learn_present(a);
        }
        break;
    case WATCH_DELETED:
        /* the end of an earlier Node object of this name may be reported late */
        if (named && text_is(n->facts.uid, n->now.uid)) {
            learn_absent(a);
        }
        break;
    case WATCH_BUSY:
    case WATCH_REFUSED:
        watch_refused(a, r, report);
        break;
    case WATCH_SILENT:
        watch_silent(a, r, report);
        break;
    case WATCH_NOTHING:
    case WATCH_BOOKMARK:
    case WATCH_OUTDATED:
    case WATCH_NO_ROOM:
        break; /* nothing to do: watch.c continues or reopens the watch */
    }
}

/*
 * Whether the watch may handle this record. Before the Node is known, the watch must ignore the end
 * of any event that does not contain the Node, for example a bookmark: such an event must not end
 * the wait for the Node. The watch must not continue from the resourceVersion of such an event
 * either, because it would then never report a Node with an older resourceVersion.
 */
static bool event_counts(const struct node_object *n, const struct kube_record *record)
{
    bool named = n->now.uid[0] != '\0';
    return record->record != KUBE_OBJECT_END || named || n->presence != NODE_UNKNOWN;
}

void node_watch_record(struct agent *a, const struct api_result *r,
                       const struct kube_record *record)
{
    node_record(a, r, record);
    if (event_counts(a->node_object, record)) {
        watch_reported(a, r, watch_record(a, &a->node_object->watch, r, record));
    }
}

void node_watch_end(struct agent *a, const struct api_result *r)
{
    watch_reported(a, r, watch_end(a, &a->node_object->watch, r));
}

void node_disconnected(struct agent *a)
{
    struct kube_watch *w = &a->node_object->watch;
    watch_disconnected(a, w);
    if (!api_connection_moved(a)) {
        /* a server that has restarted refuses earlier versions, which would cost a request */
        watch_from(w, view_text(""));
    }
}

/* --- GETs of the Node --- */

static void get_refused(struct agent *a, const struct api_result *r)
{
    struct node_object *n = a->node_object;
    uint64_t wait = retry_wait(a, r, &n->get_backoff_ms);
    if (r->status == PEER_NOT_FOUND) {
        learn_absent(a);
        watch_from(&n->watch, view_text(""));
        /*
         * wait long before the next GET, because a working watch reports the Node as soon as it
         * exists
         */
        wait = agent_jitter(a, API_REFUSED_MS);
    }
    n->get_due_ms = a->now_ms + wait;
    if (log_api_refusal(a, &n->refusal, "read Node", r, r->status)) {
        log_api_refusal_end(a, &n->refusal,
                            (r->status == PEER_NOT_FOUND)
                                ? "check --node-name; the kubelet creates the Node"
                                : NODE_REMEDY);
    }
}

void node_end(struct agent *a, const struct api_result *r)
{
    struct node_object *n = a->node_object;
    n->awaited = false;
    if (r->status != STATUS_OK) {
        get_refused(a, r);
    } else if (n->now.uid[0] == '\0') {
        log_one(a, LOG_ID_API_RESPONSE_UNEXPECTED, "doing", "read Node");
        n->get_due_ms = a->now_ms + retry_wait(a, r, &n->get_backoff_ms);
    } else {
        n->get_due_ms = UINT64_MAX;
        n->get_backoff_ms = 0;
        n->read_ms = a->now_ms;
        watch_from(&n->watch, view_text(n->now.resource_version));
        learn_present(a);
    }
}

/* --- starting GETs and watches of the Node --- */

static void send_get(struct agent *a)
{
    char path[KUBE_PATH_CAP];
    struct node_object *n = a->node_object;
    struct writer out = writer_of(path, sizeof path);
    enum status s = kube_path_node(&out, a->settings->node_name);
    ASSERT(s == STATUS_OK);
    const struct api_request r = {.kind = API_GET_NODE,
                                  .shape = KUBE_SHAPE_NODE,
                                  .head = {.method = "GET", .path = writer_view(&out)}};
    memset(&n->now, 0, sizeof n->now);
    s = api_start(a, API_SLOT_NODE, &r);
    n->get_due_ms = (s == STATUS_OK) ? UINT64_MAX : api_later(a);
}

static void open_watch(struct agent *a)
{
    char path[KUBE_PATH_CAP];
    struct node_object *n = a->node_object;
    struct writer out = writer_of(path, sizeof path);
    enum status s = kube_path_node_watch(&out, a->settings->node_name, n->watch.version);
    ASSERT(s == STATUS_OK);
    const struct api_request r = {
        .kind = API_WATCH_NODE,
        .shape = KUBE_SHAPE_NODE_WATCH,
        .head = {.method = "GET", .path = writer_view(&out), .watch = true}};
    /* An absent Node causes no event, so the watch may stay silent without a fault. */
    watch_open(a, &n->watch, &r, (n->presence == NODE_ABSENT) ? UINT64_MAX : NODE_SILENT_MS);
}

void node_step(struct agent *a)
{
    struct node_object *n = a->node_object;
    if (!api_ready(a) || api_slot_kind(a, API_SLOT_NODE) == API_GET_NODE) {
        return;
    }
    watch_reported(a, api_slot_result(a, API_SLOT_NODE), watch_check(a, &n->watch));
    if (a->now_ms >= n->get_due_ms) {
        watch_stop(a, &n->watch);
        send_get(a);
    } else if (watch_is_due(a, &n->watch)) {
        open_watch(a);
    }
}

uint64_t node_deadline(const struct agent *a)
{
    const struct node_object *n = a->node_object;
    if (!api_ready(a) || api_slot_kind(a, API_SLOT_NODE) == API_GET_NODE) {
        return UINT64_MAX;
    }
    return earlier(watch_deadline(a, &n->watch), n->get_due_ms);
}

unsigned node_kubelet_minor(const struct agent *a)
{
    static const char major[] = "v1.";
    uint64_t minor = 0;
    struct view version = view_text(a->node_object->facts.kubelet_version);
    struct view rest = view_from(version, sizeof major - 1u);
    rest = view_first(rest, view_find(rest, '.'));
    bool good = view_starts(version, major) && view_decimal(rest, UINT16_MAX, &minor) == STATUS_OK;
    return good ? (unsigned)minor : 0u;
}
