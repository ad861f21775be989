/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The publisher: brings the stored ResourceSlices of this node to the wanted content and keeps them
 * there. Owns struct publish. A round is: list our slices, delete what is not wanted, write what
 * differs. Rounds begin after a change, after a hint of the watch, and every --reconcile-interval.
 * An unchanged inventory causes no write.
 */
#include "agent/publish/publish_internal.h"

#include "base/assert.h"

void publish_init(struct agent *a)
{
    struct publish *p = &a->publish;
    p->step = PUBLISH_IDLE;
    p->spread_ms = agent_random(a) % PUBLISH_SPREAD_MS;
    p->due_ms = a->started_ms + PUBLISH_WAIT_MS + p->spread_ms;
    p->watch_due_ms = UINT64_MAX;
    p->cut = SLICE_DEVICES_MAX;
    publish_want(a);
}

/* The next round begins as soon as it may, or follows the one under way. */
static void round_soon(struct agent *a)
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

void publish_registered(struct agent *a)
{
    round_soon(a);
}

void publish_changed(struct agent *a)
{
    struct publish *p = &a->publish;
    round_soon(a);
    p->current = false;
    publish_forget_losses(p);
    if (p->invalid_ms > 0u) {
        p->invalid_ms = 0; /* what the server called invalid may be another content now */
        p->not_before_ms = 0;
    }
}

/* The round under way is given up. */
static void start_anew(struct agent *a)
{
    struct publish *p = &a->publish;
    p->step = PUBLISH_IDLE;
    p->running = false;
    p->watch_due_ms = UINT64_MAX;
    publish_forget_losses(p); /* perhaps another server, which keeps more */
    if (p->due_ms > a->now_ms && p->cut_known) {
        /* what happened in between is not known: look again once connected */
        p->due_ms = a->now_ms;
    }
}

void publish_disconnected(struct agent *a)
{
    /* Where each answer moves us elsewhere, no round would end if it did not go on there. */
    if (!api_connection_moved(a) || a->publish.step <= PUBLISH_NODE) {
        start_anew(a);
    }
}

void publish_version(struct agent *a)
{
    struct publish *p = &a->publish;
    publish_forget_losses(p);
    if (p->step == PUBLISH_IDLE && p->cut_known) {
        publish_hint(a, 0);
    }
}

void publish_unserved(struct agent *a)
{
    struct publish *p = &a->publish;
    api_cancel(a, API_SLOT_SLICES);
    p->current = false;
    p->said = false;
    start_anew(a);
}

/* --- steps: each sends one request, its end moves on --- */

static bool begin_request(struct agent *a, const struct api_request *r)
{
    struct publish *p = &a->publish;
    p->cause[0] = '\0';
    p->field[0] = '\0';
    p->too_many = false;
    return api_start(a, API_SLOT_SLICES, r) == STATUS_OK;
}

static bool step_list(struct agent *a)
{
    char path[KUBE_PATH_CAP];
    struct publish *p = &a->publish;
    struct writer out = writer_of(path, sizeof path);
    enum status s = kube_path_slices(&out, version_name(a), DRIVER_NAME, a->settings->node_name, 0);
    ASSERT(s == STATUS_OK);
    const struct api_request r = {.kind = API_LIST_SLICES,
                                  .shape = KUBE_SHAPE_SLICE_LIST,
                                  .version = version_now(a),
                                  .head = {.method = "GET", .path = writer_view(&out)}};
    p->seen_count = 0;
    p->overflow = 0;
    p->selector_ignored = false;
    p->partial = false;
    p->resource_version[0] = '\0';
    return begin_request(a, &r);
}

static bool step_delete(struct agent *a)
{
    char path[KUBE_PATH_CAP];
    struct publish *p = &a->publish;
    int at = publish_doomed(p);
    ASSERT(at >= 0);
    struct writer out = writer_of(path, sizeof path);
    enum status s = kube_path_slice(&out, version_name(a), p->seen[at].name);
    ASSERT(s == STATUS_OK);
    p->version = version_now(a);
    p->body_len = slice_body_len(a);
    const struct api_request r = {
        .kind = API_DELETE_SLICE,
        .shape = KUBE_SHAPE_STATUS,
        .version = p->version,
        .head = {.method = "DELETE", .path = writer_view(&out), .body_len = p->body_len},
        .body = slice_body_part};
    return begin_request(a, &r);
}

static bool step_write(struct agent *a)
{
    char path[KUBE_PATH_CAP];
    struct publish *p = &a->publish;
    int at = publish_unwritten(p);
    ASSERT(at >= 0);
    const struct slice_seen *kept = &p->part[at].kept;
    bool update = kept->name[0] != '\0';
    memset(&p->now, 0, sizeof p->now); /* an answer without an object is no success */
    struct writer out = writer_of(path, sizeof path);
    enum status s = kube_path_slice(&out, version_name(a), update ? kept->name : NULL);
    ASSERT(s == STATUS_OK);
    p->version = version_now(a);
    p->body_len = slice_body_len(a);
    const struct api_request r = {.kind = API_WRITE_SLICE,
                                  .shape = KUBE_SHAPE_SLICE,
                                  .version = p->version,
                                  .head = {.method = update ? "PUT" : "POST",
                                           .path = writer_view(&out),
                                           .body_len = p->body_len},
                                  .body = slice_body_part};
    return begin_request(a, &r);
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
    if (p->step == PUBLISH_WRITE && publish_unwritten(p) < 0) {
        publish_round_over(a);
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
    const struct api_request r = {
        .kind = API_WATCH_SLICES,
        .shape = KUBE_SHAPE_SLICE_WATCH,
        .version = version_now(a),
        .head = {.method = "GET", .path = writer_view(&out), .watch = true}};
    if (api_start(a, API_SLOT_SLICE_WATCH, &r) == STATUS_OK) {
        p->watch_due_ms = UINT64_MAX;
    } else {
        p->watch_due_ms = api_later(a);
    }
}

/* When the watch is to be opened; UINT64_MAX: it runs, or there is no version to begin from. */
static uint64_t watch_due(const struct agent *a)
{
    const struct publish *p = &a->publish;
    bool possible = !api_slot_busy(a, API_SLOT_SLICE_WATCH) && p->resource_version[0] != '\0';
    return possible ? p->watch_due_ms : UINT64_MAX;
}

/* The next request may be sent: its content and its version are known, its entry is free. */
static bool may_begin(const struct agent *a)
{
    bool used = api_slot_busy(a, API_SLOT_SLICES);
    return a->devices_known && api_ready(a) && version_ready(a) && !used;
}

void publish_step(struct agent *a)
{
    struct publish *p = &a->publish;
    if (!p->running && may_begin(a)) {
        pass_steps(a);
        p->running = step_functions[p->step](a);
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
