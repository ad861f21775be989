/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The publisher: brings the stored ResourceSlice of this node to the wanted content and keeps it
 * there. Owns struct publish. A round is: read the Node, list our slices, delete what is not
 * wanted, write what differs. Rounds begin after a change, after a hint of the watch, and every
 * --reconcile-interval. An unchanged inventory causes no write.
 *
 * Pool rules (k8s.io/api/resource, ResourcePool): one slice, resourceSliceCount 1; an update keeps
 * the generation, a new slice gets the highest generation seen plus one.
 */
#include "agent/publish_internal.h"

#include "base/assert.h"

void publish_init(struct agent *a)
{
    struct publish *p = &a->publish;
    p->step = PUBLISH_IDLE;
    p->spread_ms = agent_jitter(a, 4u * PUBLISH_SPREAD_MS) - 4u * PUBLISH_SPREAD_MS;
    p->due_ms = a->started_ms + PUBLISH_WAIT_MS + p->spread_ms;
    p->watch_due_ms = UINT64_MAX;
    p->keep = -1;
    publish_want(a);
}

void publish_changed(struct agent *a)
{
    struct publish *p = &a->publish;
    /* Before the kubelet knows the driver, a published slice only draws pods into its backoff. */
    uint64_t wait = a->started_ms + PUBLISH_WAIT_MS;
    uint64_t at = (a->registration.registered || a->now_ms >= wait) ? a->now_ms : wait;
    at += p->spread_ms;
    p->due_ms = (at < p->due_ms) ? at : p->due_ms;
    /* a round that waits for the Node takes the content afterwards */
    p->again = p->step > PUBLISH_NODE;
}

void publish_disconnected(struct agent *a)
{
    struct publish *p = &a->publish;
    p->step = PUBLISH_IDLE;
    p->running = false;
    p->watch_due_ms = UINT64_MAX;
    if (p->due_ms > a->now_ms && p->kept.name[0] != '\0') {
        /* what happened in between is not known: look again once connected */
        p->due_ms = a->now_ms;
    }
}

void publish_version(struct agent *a)
{
    const struct publish *p = &a->publish;
    if (p->step == PUBLISH_IDLE && p->kept.name[0] != '\0') {
        publish_hint(a, 0);
    }
}

void publish_unserved(struct agent *a)
{
    struct publish *p = &a->publish;
    api_cancel(a, REQUEST_PUBLISHER);
    p->current = false;
    p->said = false;
    publish_disconnected(a);
}

/* --- ends of a round --- */

static void round_over(struct agent *a)
{
    struct publish *p = &a->publish;
    p->step = PUBLISH_IDLE;
    p->running = false;
    p->backoff_ms = 0;
    p->due_ms = p->again ? a->now_ms : a->now_ms + agent_jitter(a, a->settings->reconcile_ms);
    p->again = false;
    if (a->api.request[REQUEST_WATCH].kind == REQUEST_NONE) {
        p->watch_due_ms = a->now_ms;
    }
    if (p->current) {
        metrics_published(a);
    }
    if (p->current && !p->said) {
        event_begin(a, EVENT_SLICE_CURRENT);
        event_text(a, "slice", p->kept.name);
        event_number(a, "devices", p->wanted.count);
        event_end(a);
        p->said = true;
    }
}

/* How long until the next round after a failed one. */
static uint64_t round_wait(struct agent *a, const struct request *r)
{
    struct publish *p = &a->publish;
    uint16_t http = r->answer.http_status;
    /* A slice that vanished between list and write (404 to PUT) is everyday life. */
    bool missing = http == 404u && p->step != PUBLISH_WRITE;
    uint64_t wait = retry_wait(a, r, &p->backoff_ms);
    return ((http == 422u || missing) && wait < API_REFUSED_MS) ? API_REFUSED_MS : wait;
}

#define PUBLISH_STEPS ((unsigned)PUBLISH_WRITE + 1u)

static void round_failed(struct agent *a, const struct request *r, enum status status)
{
    struct publish *p = &a->publish;
    static const char *const doing[PUBLISH_STEPS] = {
        [PUBLISH_IDLE] = "idle",           [PUBLISH_NODE] = "read Node",
        [PUBLISH_LIST] = "list slices",    [PUBLISH_DELETE] = "delete slice",
        [PUBLISH_WRITE] = "write slice",
    };
    uint16_t http = r->answer.http_status;
    uint64_t wait = round_wait(a, r);
    /* Somebody else wrote or deleted the slice since it was listed: everyday life. */
    bool overtaken = p->step == PUBLISH_WRITE && (http == 409u || (http == 404u && p->keep >= 0));
    event_begin(a, overtaken ? EVENT_SLICE_OVERTAKEN : EVENT_API_ERROR);
    event_text(a, "doing", doing[p->step]);
    event_text(a, "status", status_name(status));
    event_number(a, "http", http);
    event_text(a, "reason", r->reason);
    event_text(a, "message", r->message);
    event_number(a, "retry_ms", (int64_t)wait);
    if (wait < API_REFUSED_MS) {
        event_log_only(a);
    }
    event_end(a);
    p->step = PUBLISH_IDLE;
    p->running = false;
    p->again = false;
    p->due_ms = a->now_ms + wait;
    if (status != PEER_CLOSED && p->not_before_ms < p->due_ms) {
        p->not_before_ms = p->due_ms; /* hints and new connections do not shorten it */
    }
}

/* --- what a listed slice means --- */

static bool owned(const struct agent *a, const struct slice_seen *s)
{
    return view_is(view_text(s->owner_uid), a->publish.owner);
}

static bool perfect(const struct agent *a, const struct slice_seen *s)
{
    return s->same_place && s->same_count && s->same_devices && owned(a, s);
}

/* The slice to keep: ours by place, highest generation first, then one that is as wanted. */
static int choose(const struct agent *a)
{
    const struct publish *p = &a->publish;
    int best = -1;
    for (unsigned i = 0; i < p->seen_count; i++) {
        const struct slice_seen *s = &p->seen[i];
        if (!s->same_place) {
            continue;
        }
        bool newer = best < 0 || s->generation > p->seen[best].generation;
        bool equal = best >= 0 && s->generation == p->seen[best].generation;
        if (newer || (equal && perfect(a, s) && !perfect(a, &p->seen[best]))) {
            best = (int)i;
        }
    }
    return best;
}

static void decide(struct agent *a)
{
    struct publish *p = &a->publish;
    p->keep = choose(a);
    for (unsigned i = 0; i < p->seen_count; i++) {
        p->seen[i].doomed = (int)i != p->keep;
    }
    p->current = p->keep >= 0 && p->seen_count == 1u && p->overflow == 0u &&
                 perfect(a, &p->seen[p->keep]);
    p->again = p->again || p->overflow > 0u;
    p->step = PUBLISH_DELETE;
    p->running = false;
    if (p->keep >= 0) {
        p->kept = p->seen[p->keep];
        p->generation = p->kept.generation;
    } else {
        p->kept.name[0] = 0;
        p->generation = p->generation_max + 1;
    }
    if (!p->current) {
        p->said = false;
    }
}

int publish_doomed(const struct publish *p)
{
    for (unsigned i = 0; i < p->seen_count; i++) {
        if (p->seen[i].doomed) {
            return (int)i;
        }
    }
    return -1;
}

/* --- steps: each sends one request, its end moves on --- */

static bool begin_request(struct agent *a, enum request_kind kind, enum kube_shape shape,
                          struct kube_request *head)
{
    return api_send(a, REQUEST_PUBLISHER, kind, shape, head) == STATUS_OK;
}

static bool step_list(struct agent *a)
{
    char path[KUBE_PATH_CAP];
    struct publish *p = &a->publish;
    struct writer out = writer_of(path, sizeof path);
    enum status s = kube_path_slices(&out, version_name(a), DRIVER_NAME, a->settings->node_name, 0);
    ASSERT(s == STATUS_OK);
    struct kube_request head = {.method = "GET", .path = writer_view(&out)};
    p->seen_count = 0;
    p->overflow = 0;
    return begin_request(a, REQUEST_SLICE_LIST, KUBE_SHAPE_SLICE_LIST, &head);
}

static bool step_delete(struct agent *a)
{
    char path[KUBE_PATH_CAP];
    struct publish *p = &a->publish;
    int at = publish_doomed(p);
    ASSERT(at >= 0);
    struct writer out = writer_of(path, sizeof path);
    if (kube_path_slice(&out, version_name(a), p->seen[at].name) != STATUS_OK) {
        return false;
    }
    p->version = a->version.now;
    p->body_len = slice_body_len(a);
    p->body_sent = 0;
    struct kube_request head = {
        .method = "DELETE", .path = writer_view(&out), .has_body = true, .body_len = p->body_len};
    return begin_request(a, REQUEST_SLICE_DELETE, KUBE_SHAPE_STATUS, &head);
}

static bool step_write(struct agent *a)
{
    char path[KUBE_PATH_CAP];
    struct publish *p = &a->publish;
    bool update = p->keep >= 0;
    memset(&p->now, 0, sizeof p->now); /* an answer without an object is no success */
    struct writer out = writer_of(path, sizeof path);
    enum status s = kube_path_slice(&out, version_name(a), update ? p->kept.name : NULL);
    ASSERT(s == STATUS_OK);
    p->version = a->version.now;
    p->body_len = slice_body_len(a);
    p->body_sent = 0;
    struct kube_request head = {
        .method = update ? "PUT" : "POST", .path = writer_view(&out),
        .has_body = true, .body_len = p->body_len};
    return begin_request(a, REQUEST_SLICE_WRITE, KUBE_SHAPE_SLICE, &head);
}

static bool nothing_to_send(struct agent *a)
{
    (void)a;
    return false;
}

static bool (*const step_functions[PUBLISH_STEPS])(struct agent *a) = {
    [PUBLISH_IDLE] = nothing_to_send, [PUBLISH_NODE] = nothing_to_send, [PUBLISH_LIST] = step_list,
    [PUBLISH_DELETE] = step_delete,   [PUBLISH_WRITE] = step_write,
};

static uint64_t round_due(const struct publish *p)
{
    return (p->due_ms > p->not_before_ms) ? p->due_ms : p->not_before_ms;
}

/* Steps that have nothing to do are passed. */
static void pass_steps(struct agent *a)
{
    struct publish *p = &a->publish;
    if (p->step == PUBLISH_IDLE && a->now_ms >= round_due(p)) {
        p->step = PUBLISH_NODE;
        p->again = false;
        p->spread_ms = 0;
        node_look(a);
    }
    if (p->step == PUBLISH_NODE && node_ready(a)) {
        publish_want(a);
        p->step = PUBLISH_LIST;
    }
    if (p->step == PUBLISH_DELETE && publish_doomed(p) < 0) {
        p->step = PUBLISH_WRITE;
    }
    if (p->step == PUBLISH_WRITE && p->keep >= 0 && perfect(a, &p->kept)) {
        p->current = p->overflow == 0u;
        round_over(a);
    }
}

/* Sends what is left of a body, as far as windows and send buffer allow. */
static void send_body(struct agent *a)
{
    struct publish *p = &a->publish;
    const struct request *r = &a->api.request[REQUEST_PUBLISHER];
    while (p->body_sent < p->body_len) {
        size_t room = h2_data_room(&a->api.h2, r->stream);
        room = (room < sizeof a->scratch.entry) ? room : sizeof a->scratch.entry;
        if (room == 0u) {
            return;
        }
        struct writer piece = writer_of(a->scratch.entry, room);
        enum status s = slice_body_part(a, p->body_sent, &piece);
        ASSERT(s == STATUS_OK && piece.len > 0u);
        bool last = p->body_sent + piece.len >= p->body_len;
        if (h2_data(&a->api.h2, r->stream, writer_view(&piece), last) != STATUS_OK) {
            return; /* the stream is gone; its RESET event ends the step */
        }
        p->body_sent += (uint32_t)piece.len;
    }
}

static void open_watch(struct agent *a)
{
    char path[KUBE_PATH_CAP];
    struct publish *p = &a->publish;
    struct writer out = writer_of(path, sizeof path);
    enum status s = kube_path_slices(&out, version_name(a), DRIVER_NAME, a->settings->node_name,
                                     p->resource_version);
    ASSERT(s == STATUS_OK);
    struct kube_request head = {.method = "GET", .path = writer_view(&out), .watch = true};
    if (api_send(a, REQUEST_WATCH, REQUEST_SLICE_WATCH, KUBE_SHAPE_SLICE_WATCH,
                 &head) == STATUS_OK) {
        p->watch_due_ms = UINT64_MAX;
    } else {
        p->watch_due_ms = api_later(a);
    }
}

/* When the watch is to be opened; UINT64_MAX: it runs, or there is no version to begin from. */
static uint64_t watch_due(const struct agent *a)
{
    const struct publish *p = &a->publish;
    bool possible =
        a->api.request[REQUEST_WATCH].kind == REQUEST_NONE && p->resource_version[0] != '\0';
    return possible ? p->watch_due_ms : UINT64_MAX;
}

/* The next request may be sent: its content and its version are known, its entry is free. */
static bool may_begin(const struct agent *a)
{
    bool used = a->api.request[REQUEST_PUBLISHER].kind != REQUEST_NONE;
    return a->devices_known && api_ready(a) && version_ready(a) && !used;
}

void publish_step(struct agent *a)
{
    struct publish *p = &a->publish;
    if (!p->running && may_begin(a)) {
        pass_steps(a);
        p->running = step_functions[p->step](a);
    }
    bool has_body = p->step == PUBLISH_WRITE || p->step == PUBLISH_DELETE;
    if (p->running && has_body) {
        send_body(a); /* goes on while the connection drains: what was begun may end */
    }
    bool may_watch = p->step == PUBLISH_IDLE && api_ready(a) && version_ready(a);
    if (may_watch && a->now_ms >= watch_due(a)) {
        open_watch(a);
    }
}

uint64_t publish_deadline(const struct agent *a)
{
    const struct publish *p = &a->publish;
    if (!api_ready(a) || !version_ready(a) || p->step != PUBLISH_IDLE) {
        return UINT64_MAX;
    }
    uint64_t watch = watch_due(a);
    uint64_t round = may_begin(a) ? round_due(p) : UINT64_MAX;
    return (watch < round) ? watch : round;
}

/* --- ends of requests --- */

/*
 * Somebody else who writes the same slice, or a server that keeps less than it is sent, must not
 * draw this agent into writing without pause: a few repairs are free, then each waits longer.
 */
static void pace_writes(struct agent *a)
{
    struct publish *p = &a->publish;
    /* longer than the longest wait, or waiting would look like peace */
    bool close = p->write_ms != 0u && a->now_ms - p->write_ms < UINT64_C(2) * API_BACKOFF_MAX_MS;
    p->writes = close ? p->writes + 1u : 0u;
    p->fight_ms = close ? p->fight_ms : 0u;
    p->write_ms = a->now_ms;
    if (!p->current) {
        p->not_before_ms = a->now_ms + API_REFUSED_MS;
    } else if (p->writes > SLICE_REPAIRS_FREE) {
        p->not_before_ms = a->now_ms + agent_backoff(a, &p->fight_ms);
    }
}

static void write_end(struct agent *a)
{
    struct publish *p = &a->publish;
    bool update = p->keep >= 0;
    p->kept = p->now;
    p->generation_max =
        (p->now.generation > p->generation_max) ? p->now.generation : p->generation_max;
    p->current = perfect(a, &p->kept);
    pace_writes(a);
    event_begin(a, p->current ? EVENT_SLICE_PUBLISHED : EVENT_SLICE_DROPPED_FIELDS);
    event_text(a, "slice", p->kept.name);
    event_text(a, "how", update ? "updated" : "created");
    event_number(a, "devices", p->wanted.count);
    event_number(a, "generation", p->kept.generation);
    event_end(a);
    p->said = p->said || p->current;
    round_over(a);
}

/* The rounds of the interval go on without a watch. */
static void watch_refused(struct agent *a, const struct request *r, uint64_t wait_ms)
{
    bool operator_needed = r->answer.http_status < 500u && wait_ms < API_REFUSED_MS;
    uint64_t wait = operator_needed ? API_REFUSED_MS : wait_ms;
    event_begin(a, EVENT_API_ERROR);
    event_text(a, "doing", "watch slices");
    event_number(a, "http", r->answer.http_status);
    event_text(a, "reason", r->reason);
    event_text(a, "message", r->message);
    event_number(a, "retry_ms", (int64_t)wait);
    if (wait < API_REFUSED_MS) {
        event_log_only(a);
    }
    event_end(a);
    a->publish.watch_due_ms = a->now_ms + wait;
}

static void watch_end(struct agent *a, enum status status)
{
    struct publish *p = &a->publish;
    const struct request *r = &a->api.request[REQUEST_WATCH];
    uint16_t http = r->answer.http_status;
    uint64_t wait = retry_watch_wait(a, REQUEST_WATCH, &p->watch_backoff_ms);
    bool ended = status == STATUS_OK || status == PEER_CLOSED || status == PEER_TIMEOUT;
    if (http > 299u && http != 410u) {
        watch_refused(a, r, wait);
    } else if (http == 410u || !ended) {
        /* Too old a version, or an answer that cannot be trusted: list again, the watch follows. */
        publish_hint(a, wait);
        p->watch_due_ms = UINT64_MAX;
    } else {
        p->watch_due_ms = a->now_ms + wait;
    }
}

static void delete_end(struct agent *a)
{
    struct publish *p = &a->publish;
    int at = publish_doomed(p);
    ASSERT(at >= 0);
    p->seen[at].doomed = false;
}

/* The step's request succeeded. */
static void step_end(struct agent *a)
{
    switch (a->publish.step) {
    case PUBLISH_LIST:
        decide(a);
        break;
    case PUBLISH_DELETE:
        delete_end(a);
        break;
    case PUBLISH_WRITE:
        write_end(a);
        break;
    case PUBLISH_NODE:
    case PUBLISH_IDLE:
        break;
    }
}

void publish_end(struct agent *a, unsigned index, enum status status)
{
    struct publish *p = &a->publish;
    const struct request *r = &a->api.request[index];
    if (index == REQUEST_WATCH) {
        watch_end(a, status);
        return;
    }
    p->running = false;
    if (p->step == PUBLISH_LIST && status == PEER_UNSUPPORTED) {
        return; /* listed again in the version that is chosen next */
    }
    bool gone = p->step == PUBLISH_DELETE &&
                (status == PEER_NOT_FOUND || r->answer.http_status == 409u);
    if (status != STATUS_OK && !gone) {
        round_failed(a, r, status);
    } else {
        step_end(a);
    }
}
