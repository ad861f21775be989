/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's frame: accepts facts from the host, tells the host which actions to execute (orders),
 * and runs the agent's steps. A step calls each room (a sub-folder of src/agent), and passes each
 * result of the API server to the room that requested it. The frame decides nothing about devices,
 * claims or slices.
 */
#include "agent/api/backoff.h"
#include "agent/api/client.h"
#include "agent/api/version.h"
#include "agent/calls/calls.h"
#include "agent/claim/claim_status.h"
#include "agent/claim/fetch.h"
#include "agent/frame.h"
#include "agent/instance.h"
#include "agent/ledger/handover.h"
#include "agent/ledger/ledger_open.h"
#include "agent/node/inventory.h"
#include "agent/node/node.h"
#include "agent/pods/claim_pods.h"
#include "agent/publish/publish.h"
#include "agent/recovery/memory_watch.h"
#include "agent/recovery/node_drain.h"
#include "agent/recovery/opening.h"
#include "agent/recovery/rebuild.h"
#include "agent/recovery/reconcile.h"
#include "agent/report/durations.h"
#include "agent/report/k8s_event_writer.h"
#include "agent/report/log.h"
#include "agent/report/log_catalogue.h"
#include "agent/serve/device_streams.h"
#include "agent/serve/grpc_health.h"
#include "agent/serve/links.h"
#include "agent/serve/pages.h"
#include "agent/serve/peer_failures.h"
#include "agent/serve/registration.h"
#include "agent/serve/responses.h"
#include "base/assert.h"
#include "base/time.h"
#include "cfg/identity.h"

static void driver_init(struct agent *a)
{
    registration_init(a);
    publish_init(a);
}

struct agent *agent_init(const struct settings *settings, const struct files *files, uint64_t seed,
                         uint64_t now_ms, uint64_t wall_ms)
{
    struct agent *a = instance_neuron();
    /*
     * Write only the fields that differ from zero, because pages of the agent's tables that nothing
     * has written use no memory.
     */
    ASSERT(settings != NULL && files != NULL);
    a->settings = settings;
    a->driver = &settings->driver[DRIVER_NEURON];
    a->files = files;
    randomness_init(&a->randomness, seed);
    a->now_ms = now_ms;
    a->started_ms = now_ms;
    a->wall_ms = wall_ms;
    report_init(a);
    api_init(a);
    node_init(a);
    driver_init(a);
    return a;
}

struct agent *agent_add_efa(struct agent *a, const struct files *files)
{
    struct agent *e = instance_efa();
    ASSERT(a != e && a->next == NULL && files != NULL);
    a->next = e;
    e->settings = a->settings;
    e->driver = &a->settings->driver[DRIVER_EFA];
    e->files = files;
    e->ending = !a->settings->efa;
    e->now_ms = a->now_ms;
    e->started_ms = a->now_ms;
    e->wall_ms = a->wall_ms;
    randomness_init(&e->randomness, agent_random(a));
    driver_init(e);
    return e;
}

/*
 * Adopts the devices that a probe wrote into a->scratch. If the devices changed, rechecks the
 * claims; if the devices or their health changed, lets the publisher update the slices.
 */
static void adopt_found(struct agent *a)
{
    enum inventory_change change = inventory_adopt(a);
    if (change == INVENTORY_OTHER) {
        reconcile_devices(a);
    }
    if (a->ending) {
        return; /* without --efa, the EFA driver publishes no devices and reports no health */
    }
    if (inventory_is_lost(a)) {
        node_drain_module_lost(a);
    }
    bool health = inventory_apply_health(a, ledger_numbers(a), ledger_shares(a));
    if (change == INVENTORY_OTHER || (change == INVENTORY_SAME && health)) {
        publish_changed(a);
    }
}

void agent_found(struct agent *a, const struct found_node *found)
{
    devices_build(&a->scratch.devices, found, &a->scratch.issues);
    adopt_found(a);
}

void agent_telemetry(struct agent *a, const struct telemetry *t)
{
    a->telemetry = t;
}

void agent_found_efas(struct agent *a, const struct found_efas *found)
{
    struct agent *e = a->next;
    ASSERT(e != NULL && inventory_is_known(a));
    /*
     * e->scratch.devices gets a copy of the table of Neuron devices, of which efas_build keeps only
     * the instance type, the board and the boot id
     */
    devices_copy(&e->scratch.devices, a->devices);
    efas_build(&e->scratch.devices, e->devices, found, &e->scratch.issues);
    adopt_found(e);
}

/*
 * Opens the claim store if that is due and no other agent owns it, and flushes pending changes of
 * the store. If this step opened the store, applies its claims to the published content, so that
 * the first slices list the devices in use.
 */
static void store_step(struct agent *a)
{
    bool before = ledger_is_usable(a);
    handover_called(a, calls_open_since(a, handover_leaving_ms(a)));
    opening_step(a);
    bool opened = ledger_is_usable(a) && !before && !a->ending;
    if (opened && inventory_is_known(a) &&
        inventory_apply_health(a, ledger_numbers(a), ledger_shares(a))) {
        publish_changed(a);
    }
}

void agent_host_log(struct agent *a, int log_id, const char *text)
{
    ASSERT(log_id >= 0 && log_id < (int)LOG_ID_COUNT);
    log_one(a, (enum log_id)log_id, "text", text);
}

void agent_service(struct agent *a, bool serves)
{
    a->service_lost = !serves;
}

void agent_device_plugin(struct agent *a, const char *name)
{
    bool before = a->device_plugin[0] != '\0';
    bool now = name[0] != '\0';
    text_cut(a->device_plugin, sizeof a->device_plugin, view_text(name));
    if (now != before) {
        log_begin(a, now ? LOG_ID_DEVICE_PLUGIN_FOUND : LOG_ID_DEVICE_PLUGIN_GONE);
        log_text(a, "directory", a->settings->device_plugins_dir);
        if (now) {
            log_text(a, "socket", a->device_plugin);
        }
        log_end(a);
    }
}

void agent_other_driver(struct agent *efa, const char *path)
{
    bool before = efa->other_driver[0] != '\0';
    bool now = path[0] != '\0';
    text_cut(efa->other_driver, sizeof efa->other_driver, view_text(path));
    if (now == before) {
        return;
    }
    log_one(efa, now ? LOG_ID_OTHER_DRIVER_FOUND : LOG_ID_OTHER_DRIVER_GONE, "socket", path);
    if (now) {
        publish_suspend(efa);
    } else {
        publish_changed(efa);
    }
}

static void driver_stop(struct agent *a, uint64_t now_ms)
{
    a->stopping = true;
    a->stop_ms = now_ms + SHUTDOWN_MS;
    a->order_close_registration = true;
    links_drain(a);
}

void agent_stop(struct agent *a, uint64_t now_ms)
{
    if (a->stopping) {
        return;
    }
    for (struct agent *d = a; d != NULL; d = d->next) {
        driver_stop(d, now_ms);
    }
    log_one(a, LOG_ID_STOP_REQUESTED, "text",
            "registration socket first, then running calls, slices stay");
    a->step_now = true;
}

/*
 * Returns whether no driver has a running call of the kubelet or unsent bytes. If `expired` (the
 * time limit for stopping has passed), first ends all running calls.
 */
static bool drivers_quiet(struct agent *a, bool expired)
{
    bool quiet = true;
    for (struct agent *d = a; d != NULL; d = d->next) {
        if (expired) {
            calls_abandon(d);
        }
        quiet = quiet && links_calls_open(d) == 0u && links_quiet(d);
    }
    return quiet;
}

static void stop_step(struct agent *a)
{
    if (!a->stopping || a->exited) {
        return;
    }
    bool expired = a->now_ms >= a->stop_ms;
    bool quiet = drivers_quiet(a, expired);
    if (expired || quiet) {
        for (struct agent *d = a; d != NULL; d = d->next) {
            ledger_flush(d);
        }
        log_one(a, LOG_ID_STOPPED, "text",
                expired ? "calls that still ran were ended" : "no call was running");
        a->order_exit = true;
        a->exited = true;
    }
}

/* --- ending the EFA driver when --efa is off --- */

/* Whether the driver may hold claims that the kubelet must still unprepare. */
static bool may_hold(const struct agent *e)
{
    return ledger_may_hold(e) || !reconcile_is_complete(e);
}

static void driver_keep(struct agent *e)
{
    e->kept = true;
    e->order_open_sockets = true;
    log_begin(e, LOG_ID_DRIVER_KEPT);
    log_number(e, "claims_held", ledger_held_count(e));
    log_end(e);
}

/* Removes the EFA driver from the list of drivers, so that no later step runs it. */
static void driver_remove(struct agent *a)
{
    struct agent *e = a->next;
    ledger_flush(e);
    if (e->kept) {
        log_one(e, LOG_ID_DRIVER_ENDED, "text", "the driver holds no claim any more");
    }
    e->order_end_driver = true;
    a->next = NULL;
}

/*
 * Closes the EFA driver's sockets, waits for the kubelet's last calls to it or ends them at the
 * time limit, then removes the driver.
 */
static void driver_leave(struct agent *a)
{
    struct agent *e = a->next;
    if (!e->stopping) {
        driver_stop(e, e->now_ms);
    }
    bool expired = e->now_ms >= e->stop_ms;
    if (expired) {
        calls_abandon(e);
    }
    if (expired || (links_calls_open(e) == 0u && links_quiet(e))) {
        driver_remove(a);
    }
}

/*
 * If --efa is off, keeps the EFA driver running until it holds no claim. An earlier run with --efa
 * may have left claims, and their pods stay Terminating until the claims are unprepared.
 */
static void driver_end_step(struct agent *a)
{
    struct agent *e = a->next;
    bool judged = e != NULL && e->ending && ledger_is_usable(e);
    if (!judged || a->stopping) {
        return;
    }
    if (!may_hold(e)) {
        driver_leave(a);
    } else if (!e->kept) {
        driver_keep(e);
    } else {
        /* wait until the kubelet has unprepared the EFA driver's claims */
    }
}

void agent_time(struct agent *a, uint64_t now_ms, uint64_t wall_ms)
{
    ASSERT(now_ms >= a->now_ms);
    for (struct agent *d = a; d != NULL; d = d->next) {
        d->now_ms = now_ms;
        d->wall_ms = wall_ms;
    }
    api_time_old(a, false);
    report_time(a);
}

void agent_time_old(struct agent *a)
{
    api_time_old(a, true);
}

/* --- passing results of the API server to the folders that sent the requests --- */

/* Ignores a record of a response; used for requests of which only the status matters. */
static void pass_record(struct agent *a, const struct api_result *r,
                        const struct kube_record *record)
{
    (void)a;
    (void)r;
    (void)record;
}

/*
 * For each kind of API request: the functions that handle the records of the response and the end
 * of the request, in the folder that sends such requests.
 */
static const struct {
    void (*on_record)(struct agent *a, const struct api_result *r,
                      const struct kube_record *record);
    void (*on_end)(struct agent *a, const struct api_result *r);
} api_owners[API_KINDS] = {
    [API_GET_CLAIM] = {fetch_record, fetch_end},
    [API_GET_GROUP] = {version_record, version_end},
    [API_GET_NODE] = {node_record, node_end},
    [API_LIST_SLICES] = {publish_record, publish_end},
    [API_WRITE_SLICE] = {publish_record, publish_end},
    [API_DELETE_SLICE] = {publish_record, publish_end},
    [API_WATCH_SLICES] = {publish_watch_record, publish_watch_end},
    [API_WATCH_NODE] = {node_watch_record, node_watch_end},
    [API_WRITE_EVENT] = {pass_record, k8s_event_writer_end},
    [API_APPLY_CLAIM_STATUS] = {pass_record, claim_status_end},
    [API_LOOK_CLAIM] = {reconcile_record, reconcile_end},
    [API_LIST_CLAIMS] = {rebuild_record, rebuild_end},
};

static void for_all(struct agent *a, void (*verb)(struct agent *driver))
{
    for (struct agent *d = a; d != NULL; d = d->next) {
        verb(d);
    }
}

static void report_version(struct agent *a)
{
    unsigned changes = version_changes(a);
    if ((changes & VERSION_NAMED) != 0u) {
        log_one(a, LOG_ID_RESOURCE_API_VERSION_SELECTED, "version", version_group(version_now(a)));
    }
    if ((changes & VERSION_OTHER) != 0u) {
        for_all(a, publish_version);
    }
    if ((changes & VERSION_UNSERVED) != 0u) {
        log_one(a, LOG_ID_RESOURCE_API_NOT_SERVED, "text",
                "the API server serves none of resource.k8s.io/v1, v1beta2 and v1beta1: nothing is "
                "published and no new claim prepared");
        for_all(a, publish_suspend);
    }
}

static void report_streams_limited(struct agent *a)
{
    log_begin(a, LOG_ID_API_REQUEST_FAILED);
    log_text(a, "doing", "watch");
    log_text(a, "text", "too few requests may run at a time: read every half minute");
    log_remedy(a, "raise --http2-max-streams-per-connection of the API server");
    log_end(a);
}

/* Whether the driver that sent the request still runs. */
static bool is_owned(const struct agent *a, const struct api_result *r)
{
    return r->owner == a || r->owner == a->next;
}

static void log_request(struct agent *a, const struct api_result *r)
{
    if (log_shows_debug(a)) {
        log_begin(a, LOG_ID_API_REQUEST_ENDED);
        log_text(a, "verb", metrics_verb(r->kind, r->creates));
        log_text(a, "path", r->path);
        log_number(a, "http", r->http);
        log_text(a, "status", status_name(r->status));
        log_number(a, "elapsed_us", (int64_t)r->elapsed_us);
        log_end(a);
    }
}

static void api_end(struct agent *a, const struct api_result *r)
{
    log_request(a, r);
    durations_api_request(a, r);
    if (is_owned(a, r)) {
        api_owners[r->kind].on_end(r->owner, r);
    }
    version_heard(a, r);
    report_version(a);
}

static void api_event(struct agent *a, const struct api_event *event)
{
    switch (event->kind) {
    case API_EVENT_OPENED:
        version_connected(a);
        break;
    case API_EVENT_RECORD:
        if (is_owned(a, event->result)) {
            api_owners[event->result->kind].on_record(event->result->owner, event->result,
                                                      &event->record);
        }
        break;
    case API_EVENT_END:
        api_end(a, event->result);
        break;
    case API_EVENT_LOST:
        log_begin(a, LOG_ID_API_CONNECTION_LOST);
        log_text(a, "text", event->text);
        if (text_is(event->text, API_TOKEN_REFUSED)) {
            log_remedy(a, API_TOKEN_REMEDY);
        }
        log_end(a);
        break;
    case API_EVENT_MOVED:
        log_one(a, LOG_ID_API_CONNECTION_DRAINED, "text", event->text);
        break;
    case API_EVENT_CLOSED:
        node_disconnected(a);
        for_all(a, publish_disconnected);
        break;
    case API_EVENT_STREAMS_LIMITED:
        report_streams_limited(a);
        break;
    case API_EVENT_NONE:
        break;
    }
}

/*
 * Whether the driver needs the connection at once: the kubelet has just found the agent, so claims
 * may arrive soon, or one of its calls is running.
 */
static bool needs_api(const struct agent *a)
{
    bool found = api_pending(a) && registration_was_asked(a);
    return found || calls_open_before(a, UINT64_MAX);
}

static void serve_api(struct agent *a)
{
    struct api_event event;
    /*
     * Each event consumes an HTTP/2 frame or a byte of the input, or ends a request, so the number
     * of events is bounded.
     */
    for (unsigned i = 0; i < LINK_EVENTS_PER_STEP && api_next(a, &event); i++) {
        api_event(a, &event);
    }
    if (needs_api(a) || (a->next != NULL && needs_api(a->next))) {
        api_hurry(a);
    }
    api_step(a);
}

void agent_api_identity(struct agent *a, struct view token, struct view authority)
{
    api_identity(a, token, authority);
}

void agent_api_opened(struct agent *a, uint64_t now_ms)
{
    api_opened(a, now_ms);
    log_one(a, LOG_ID_API_CONNECTED, "server", api_authority(a));
}

void agent_api_failed(struct agent *a, enum status status, const char *why, uint64_t now_ms)
{
    uint64_t at_ms = (now_ms > a->now_ms) ? now_ms : a->now_ms;
    for (struct agent *d = a; d != NULL; d = d->next) {
        d->now_ms = at_ms;
    }
    /*
     * A file that the connection needs may stay missing for the life of the node, so do not log it
     * again if the previous attempt to connect failed for the same reason.
     */
    bool again = status == HOST_ABSENT && view_starts(view_text(why), api_trouble(a));
    api_failed(a, why);
    if (again) {
        return;
    }
    log_begin(a, LOG_ID_API_CONNECT_FAILED);
    log_text(a, "status", status_name(status));
    log_text(a, "text", why);
    log_number(a, "retry_ms", (int64_t)api_reconnect_wait_ms(a));
    log_end(a);
}

void agent_api_ended(struct agent *a, const char *why)
{
    api_ended(a, why);
    a->step_now = true;
}

/* --- the kubelet's list of pods --- */

void agent_pods_opened(struct agent *a, uint64_t now_ms)
{
    claim_pods_opened(a, now_ms);
}

void agent_pods_failed(struct agent *a, const char *why)
{
    claim_pods_failed(a, why);
    a->step_now = true;
}

/* --- handing the claim store over between two agents of one node --- */

/*
 * Checks whether another agent waits for the claim store, and hands the store over when
 * handover_ends returns true. Afterwards this agent publishes nothing and holds no claims.
 */
static void hand_over(struct agent *a)
{
    bool wanted = registration_is_done(a) && inventory_is_known(a) && !a->stopping;
    handover_step(a, wanted);
    if (handover_ends(a, calls_open_before(a, handover_leaving_ms(a)))) {
        calls_retire(a);
        rebuild_retire(a);
        claim_status_retire(a);
        ledger_retire(a);
        publish_suspend(a);
        a->step_now = true;
    }
}

/*
 * Whether the driver may write its slices; false while another agent or driver of the node writes
 * them.
 */
static bool may_publish(const struct agent *a)
{
    return !ledger_is_busy(a) && a->other_driver[0] == '\0';
}

/* Does the work that only the agent that owns the claim store may do. */
static void owner_step(struct agent *a)
{
    if (may_publish(a)) {
        /*
         * publish_step runs before node_step, because requests of the publisher have priority over
         * the watch of the Node
         */
        publish_step(a);
    }
    if (!ledger_is_busy(a)) {
        claim_status_step(a);
        reconcile_step(a);
        rebuild_step(a);
        memory_watch_step(a);
    }
    if (reconcile_asks_node(a)) {
        node_read(a);
    }
}

static uint64_t owner_deadline(const struct agent *a)
{
    uint64_t at = may_publish(a) ? publish_deadline(a) : UINT64_MAX;
    at = earlier(at, claim_status_deadline(a));
    at = earlier(at, earlier(reconcile_deadline(a), rebuild_deadline(a)));
    at = earlier(at, memory_watch_deadline(a));
    return ledger_is_busy(a) ? UINT64_MAX : at;
}

/* --- one step of the agent --- */

static void log_start(struct agent *a)
{
    if (!a->started) {
        a->started = true;
        log_begin(a, LOG_ID_STARTED);
        log_text(a, "version", AGENT_VERSION);
        log_text(a, "node", a->settings->node_name);
        log_end(a);
    }
}

/* Does the part of a driver's step that must run before results of the API server are handled. */
static void driver_begin(struct agent *a)
{
    a->step_now = false;
    store_step(a);
    links_step(a);
    responses_step(a);
    registration_step(a);
}

static void driver_calls(struct agent *a)
{
    calls_step(a);
    hand_over(a);
}

void agent_step(struct agent *a)
{
    log_start(a);
    for_all(a, driver_begin);
    driver_end_step(a);
    serve_api(a);
    version_step(a);
    node_drain_step(a);
    for_all(a, driver_calls);
    if (node_changed(a)) {
        k8s_event_writer_node(a, node_facts(a)->uid);
        for_all(a, publish_changed);
    }
    for_all(a, owner_step);
    node_step(a);
    k8s_event_writer_step(a);
    for_all(a, peer_failures_step);
    grpc_health_step(a);
    for_all(a, device_streams_step);
    claim_pods_step(a, !pages_show_metrics(a));
    pages_step(a);
    stop_step(a);
}

/*
 * Clears the flag that an order (an action for the host) is pending; returns whether the flag was
 * set.
 */
static bool clear_pending(bool *pending)
{
    bool was = *pending;
    *pending = false;
    return was;
}

enum agent_order agent_next_order(struct agent *a)
{
    if (clear_pending(&a->order_open_sockets)) {
        return ORDER_OPEN_SOCKETS;
    }
    if (clear_pending(&a->order_close_registration)) {
        return ORDER_CLOSE_REGISTRATION;
    }
    if (clear_pending(&a->order_end_driver)) {
        return ORDER_END_DRIVER;
    }
    if (registration_wants_socket(a)) {
        return ORDER_RENEW_REGISTRATION;
    }
    /*
     * All drivers share the API connection and the list of pods, so api_order and claim_pods_order
     * return each order for only one of them.
     */
    enum agent_order order = api_order(a);
    order = (order == ORDER_NONE) ? claim_pods_order(a) : order;
    if (order == ORDER_NONE && clear_pending(&a->order_exit)) {
        order = ORDER_EXIT;
    }
    return order;
}

bool agent_step_due(const struct agent *a)
{
    return a->step_now || (a->next != NULL && a->next->step_now);
}

/* The latest time at which the next step must run for this driver. */
static uint64_t driver_deadline(const struct agent *a)
{
    uint64_t at = a->step_now ? a->now_ms : links_deadline(a);
    at = earlier(at, peer_failures_deadline(a));
    at = earlier(at, device_streams_deadline(a));
    at = earlier(at, registration_deadline(a));
    at = earlier(at, calls_deadline(a));
    at = earlier(at, owner_deadline(a));
    at = earlier(at, handover_deadline(a));
    at = a->stopping ? earlier(at, a->stop_ms) : at;
    return earlier(at, ledger_deadline(a));
}

uint64_t agent_deadline(const struct agent *a)
{
    uint64_t at = driver_deadline(a);
    for (const struct agent *d = a->next; d != NULL; d = d->next) {
        at = earlier(at, driver_deadline(d));
    }
    at = earlier(at, earlier(pages_deadline(a), claim_pods_deadline(a)));
    at = earlier(at, api_deadline(a));
    at = earlier(at, version_deadline(a));
    at = earlier(at, earlier(node_deadline(a), node_drain_deadline(a)));
    return earlier(at, k8s_event_writer_deadline(a));
}

struct view agent_log(const struct agent *a)
{
    return report_pending(a);
}

void agent_log_written(struct agent *a, size_t n)
{
    report_written(a, n);
}
