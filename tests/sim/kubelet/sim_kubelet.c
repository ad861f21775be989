/* SPDX-License-Identifier: Apache-2.0 */
/* Life, links and registration of the kubelet model; see sim_kubelet.h. */
#include <string.h>

#include "base/assert.h"
#include "generated/registration.pb.h"
#include "pb_decode.h"
#include "tests/sim/kubelet/sim_kubelet_internal.h"
#include "tests/sim/sim_proto.h"

#define GET_INFO "/pluginregistration.Registration/GetInfo"
#define NOTIFY "/pluginregistration.Registration/NotifyRegistrationStatus"
#define PLUGIN_TYPE "DRAPlugin"

void sim_kubelet_init(struct sim_kubelet *k, const struct sim_kubelet_config *config,
                      uint64_t now_ms)
{
    k->config = *config;
    k->now_ms = now_ms;
    k->registrations = 0;
    for (unsigned i = 0; i < SIM_PLUGINS_MAX; i++) {
        struct sim_plugin *p = &k->plugin[i];
        k->event_due[i] = false;
        p->state = PLUGIN_FREE;
        for (unsigned n = 0; n < 2; n++) {
            p->channel[n].phase = CHANNEL_CLOSED;
            p->channel[n].connect_due = false;
            p->channel[n].close_due = false;
        }
    }
    for (unsigned i = 0; i < SIM_PENDING_MAX; i++) {
        k->pending[i].used = false;
        k->pending[i].lost = false;
        k->pending[i].plugin = SIM_PLUGINS_MAX;
    }
}

static unsigned index_of(const struct sim_kubelet *k, const struct sim_plugin *p)
{
    return (unsigned)(p - k->plugin);
}

static struct sim_channel *channel_of(struct sim_kubelet *k, unsigned link)
{
    ASSERT(link < SIM_LINKS_MAX);
    return &k->plugin[link / 2].channel[link % 2];
}

/* --- events of registration --- */

static struct sim_kubelet_event *tell(struct sim_kubelet *k, struct sim_plugin *p,
                                      enum sim_kubelet_event_kind kind, const char *text)
{
    unsigned i = index_of(k, p);
    text_cut(k->text[i], sizeof k->text[i], view_text(text));
    k->event_due[i] = true;
    k->event[i] = (struct sim_kubelet_event){
        .kind = kind,
        .driver = p->driver,
        .endpoint = p->endpoint,
        .service = p->service,
        .text = k->text[i],
    };
    return &k->event[i];
}

/* --- channels --- */

static void dial(struct sim_kubelet *k, struct sim_channel *c)
{
    ASSERT(c->phase == CHANNEL_CLOSED);
    c->phase = CHANNEL_CONNECTING;
    c->connect_due = true;
    c->at_ms = k->now_ms + SIM_DIAL_MS;
}

static void hang_up(struct sim_channel *c)
{
    if (c->phase != CHANNEL_CLOSED) {
        c->close_due = !c->connect_due; /* what was not begun need not be ended */
        c->connect_due = false;
        c->phase = CHANNEL_CLOSED;
    }
}

static void hang_up_both(struct sim_kubelet *k, struct sim_plugin *p)
{
    hang_up(&p->channel[REGISTRATION]);
    hang_up(&p->channel[SERVICE]);
    sim_calls_lose(k, index_of(k, p));
}

static uint64_t doubled(uint64_t value, uint64_t most)
{
    return value * 2 > most ? most : value * 2;
}

/* --- registration --- */

/* An attempt failed: again after a while, as the reconciler of the plugin manager does. */
static void attempt_failed(struct sim_kubelet *k, struct sim_plugin *p, const char *text)
{
    bool for_good = p->state == PLUGIN_NOTIFYING && !k->config.retries_notify;
    hang_up_both(k, p);
    p->state = for_good ? PLUGIN_FAILED : PLUGIN_WAITING;
    p->at_ms = k->now_ms + p->backoff_ms;
    p->backoff_ms = doubled(p->backoff_ms, SIM_BACKOFF_MAX_MS);
    (void)tell(k, p, SIM_KUBELET_REFUSED, text);
}

static void ask(struct sim_kubelet *k, struct sim_plugin *p, const char *path, struct view message)
{
    const struct sim_grpc_request r = {
        .path = path,
        .authority = "localhost",
        .message = message,
        .tag = 0,
        .limit_ms = strcmp(path, GET_INFO) == 0 ? SIM_GET_INFO_MS : SIM_NOTIFY_MS,
    };
    if (sim_grpc_call(&p->channel[REGISTRATION].grpc, k->now_ms, &r) != STATUS_OK) {
        attempt_failed(k, p, "the registration connection takes no call");
    }
}

static void notify(struct sim_kubelet *k, struct sim_plugin *p, const char *refusal)
{
    uint8_t bytes[sizeof p->refusal + 16];
    struct writer w = writer_of(bytes, sizeof bytes);
    text_cut(p->refusal, sizeof p->refusal, view_text(refusal));
    if (p->refusal[0] == 0) {
        sim_put_value(&w, pluginregistration_RegistrationStatus_plugin_registered_tag, 1);
    } else {
        sim_put_text(&w, pluginregistration_RegistrationStatus_error_tag, p->refusal);
    }
    ASSERT(!w.full);
    p->state = PLUGIN_NOTIFYING;
    ask(k, p, NOTIFY, writer_view(&w));
}

static bool knows(const struct sim_kubelet *k, const char *service)
{
    return strcmp(service, "v1beta1.DRAPlugin") == 0 ||
           (k->config.knows_v1 && strcmp(service, "v1.DRAPlugin") == 0);
}

/* The first of the plugin's list that this kubelet knows. */
static bool choose_service(const struct sim_kubelet *k, struct sim_plugin *p,
                           const pluginregistration_PluginInfo *info)
{
    for (unsigned i = 0; i < info->supported_versions_count; i++) {
        if (knows(k, info->supported_versions[i])) {
            text_cut(p->service, sizeof p->service, view_text(info->supported_versions[i]));
            return true;
        }
    }
    return false;
}

static const char *refusal_of(const struct sim_kubelet *k, struct sim_plugin *p,
                              const pluginregistration_PluginInfo *info)
{
    if (strcmp(info->type, PLUGIN_TYPE) != 0) {
        return "no handler registered for this plugin type";
    }
    if (info->supported_versions_count == 0) {
        return "empty list of supported gRPC services (aka supported versions)";
    }
    if (!choose_service(k, p, info)) {
        return "none of services supported by the plugin are supported by the kubelet";
    }
    return info->endpoint[0] == '/' ? "" : "the endpoint must be an absolute path";
}

static void take_info(struct sim_kubelet *k, struct sim_plugin *p, struct view message)
{
    pluginregistration_PluginInfo info = pluginregistration_PluginInfo_init_zero;
    pb_istream_t in = pb_istream_from_buffer(message.data, message.len);
    if (!pb_decode(&in, pluginregistration_PluginInfo_fields, &info)) {
        attempt_failed(k, p, "the answer to GetInfo does not decode");
        return;
    }
    text_cut(p->driver, sizeof p->driver, view_text(info.name));
    text_cut(p->endpoint, sizeof p->endpoint, view_text(info.endpoint));
    const char *refusal = refusal_of(k, p, &info);
    if (refusal[0] == 0 && p->channel[SERVICE].phase == CHANNEL_CLOSED) {
        p->channel[SERVICE].backoff_ms = SIM_RECONNECT_MIN_MS;
        dial(k, &p->channel[SERVICE]);
    }
    notify(k, p, refusal);
}

static void take_verdict(struct sim_kubelet *k, struct sim_plugin *p)
{
    if (p->refusal[0] != 0) {
        attempt_failed(k, p, p->refusal);
        return;
    }
    hang_up(&p->channel[REGISTRATION]);
    p->state = PLUGIN_REGISTERED;
    p->announced = true;
    p->order = ++k->registrations;
    p->backoff_ms = SIM_BACKOFF_MIN_MS;
    (void)tell(k, p, SIM_KUBELET_REGISTERED, "");
}

static void registration_turn(struct sim_kubelet *k, struct sim_plugin *p)
{
    struct sim_grpc_result r;
    bool asked = p->state == PLUGIN_ASKING || p->state == PLUGIN_NOTIFYING;
    if (!asked || p->channel[REGISTRATION].phase != CHANNEL_OPEN) {
        return;
    }
    enum status s = sim_grpc_next(&p->channel[REGISTRATION].grpc, k->now_ms, &r);
    if (s == STATUS_MORE) {
        return;
    }
    if (s != STATUS_OK) {
        attempt_failed(k, p, "the registration connection failed");
    } else if (r.code != GRPC_OK) {
        attempt_failed(k, p, r.text);
    } else if (p->state == PLUGIN_ASKING) {
        take_info(k, p, r.message);
    } else {
        take_verdict(k, p);
    }
}

/* --- sockets --- */

static struct sim_plugin *plugin_at(struct sim_kubelet *k, const char *path)
{
    for (unsigned i = 0; i < SIM_PLUGINS_MAX; i++) {
        if (k->plugin[i].state != PLUGIN_FREE && strcmp(k->plugin[i].socket, path) == 0) {
            return &k->plugin[i];
        }
    }
    return NULL;
}

static struct sim_plugin *plugin_new(struct sim_kubelet *k)
{
    for (unsigned i = 0; i < SIM_PLUGINS_MAX; i++) {
        const struct sim_plugin *p = &k->plugin[i];
        bool closed = !p->channel[REGISTRATION].close_due && !p->channel[SERVICE].close_due;
        if (p->state == PLUGIN_FREE && closed) {
            return &k->plugin[i];
        }
    }
    return NULL;
}

static void deregister(struct sim_kubelet *k, struct sim_plugin *p)
{
    hang_up_both(k, p);
    p->state = PLUGIN_FREE;
    if (p->announced) {
        (void)tell(k, p, SIM_KUBELET_GONE, "");
    }
    p->announced = false;
}

enum status sim_kubelet_socket(struct sim_kubelet *k, const char *path, bool present)
{
    struct sim_plugin *p = plugin_at(k, path);
    if (!present) {
        if (p != NULL) {
            deregister(k, p);
        }
        return STATUS_OK;
    }
    if (p == NULL) {
        p = plugin_new(k);
        if (p == NULL) {
            return FULL_TABLE;
        }
        p->driver[0] = 0;
        p->endpoint[0] = 0;
        p->service[0] = 0;
        p->announced = false;
        if (text_copy(p->socket, sizeof p->socket, view_text(path)) != STATUS_OK) {
            return FULL_BUFFER;
        }
    }
    hang_up_both(k, p);
    p->state = PLUGIN_WAITING;
    p->at_ms = k->now_ms + k->config.notice_ms;
    p->backoff_ms = SIM_BACKOFF_MIN_MS;
    return STATUS_OK;
}

/* --- links --- */

enum sim_order sim_kubelet_order(struct sim_kubelet *k, unsigned *link, const char **path)
{
    for (unsigned i = 0; i < SIM_LINKS_MAX; i++) {
        struct sim_channel *c = channel_of(k, i);
        *link = i;
        if (c->close_due) {
            c->close_due = false;
            return SIM_ORDER_CLOSE;
        }
        if (c->connect_due) {
            c->connect_due = false;
            *path = i % 2 == REGISTRATION ? k->plugin[i / 2].socket : k->plugin[i / 2].endpoint;
            return SIM_ORDER_CONNECT;
        }
    }
    *link = SIM_NO_LINK;
    return SIM_ORDER_NONE;
}

/* The service connection is not there: gRPC dials again after a while. */
static void service_lost(struct sim_kubelet *k, struct sim_channel *c)
{
    c->phase = CHANNEL_CLOSED;
    c->at_ms = k->now_ms + c->backoff_ms;
    c->backoff_ms = doubled(c->backoff_ms, SIM_RECONNECT_MAX_MS);
}

void sim_kubelet_connected(struct sim_kubelet *k, unsigned link, enum status s)
{
    struct sim_channel *c = channel_of(k, link);
    struct sim_plugin *p = &k->plugin[link / 2];
    ASSERT(c->phase == CHANNEL_CONNECTING && !c->connect_due);
    if (s == STATUS_OK) {
        c->phase = CHANNEL_OPEN;
        sim_grpc_init(&c->grpc, k->now_ms);
    }
    if (link % 2 == SERVICE) {
        if (s == STATUS_OK) {
            c->backoff_ms = SIM_RECONNECT_MIN_MS;
        } else {
            service_lost(k, c);
        }
    } else if (s == STATUS_OK) {
        p->state = PLUGIN_ASKING;
        ask(k, p, GET_INFO, view_of(NULL, 0));
    } else {
        c->phase = CHANNEL_CLOSED;
        attempt_failed(k, p, "the registration socket takes no connection");
    }
}

struct writer sim_kubelet_rx(struct sim_kubelet *k, unsigned link)
{
    struct sim_channel *c = channel_of(k, link);
    return c->phase == CHANNEL_OPEN ? h2_rx_space(&c->grpc.h2) : writer_of(NULL, 0);
}

void sim_kubelet_rx_commit(struct sim_kubelet *k, unsigned link, size_t n)
{
    h2_rx_commit(&channel_of(k, link)->grpc.h2, n);
}

void sim_kubelet_link_end(struct sim_kubelet *k, unsigned link)
{
    struct sim_channel *c = channel_of(k, link);
    if (c->phase == CHANNEL_OPEN) {
        h2_rx_end(&c->grpc.h2);
    }
}

struct view sim_kubelet_tx(struct sim_kubelet *k, unsigned link)
{
    struct sim_channel *c = channel_of(k, link);
    return c->phase == CHANNEL_OPEN ? h2_tx_data(&c->grpc.h2) : view_of(NULL, 0);
}

void sim_kubelet_tx_commit(struct sim_kubelet *k, unsigned link, size_t n)
{
    h2_tx_commit(&channel_of(k, link)->grpc.h2, n);
}

/* --- time --- */

static void registration_dial(struct sim_kubelet *k, struct sim_plugin *p)
{
    struct sim_channel *r = &p->channel[REGISTRATION];
    bool closed = !r->close_due && !p->channel[SERVICE].close_due;
    if (p->state == PLUGIN_WAITING && p->at_ms <= k->now_ms && closed) {
        p->state = PLUGIN_DIALLING;
        dial(k, r);
    } else if (p->state == PLUGIN_DIALLING && r->at_ms <= k->now_ms) {
        attempt_failed(k, p, "the registration socket did not answer in time");
    }
}

static void service_dial(struct sim_kubelet *k, struct sim_plugin *p)
{
    struct sim_channel *s = &p->channel[SERVICE];
    bool closed = s->phase == CHANNEL_CLOSED && !s->close_due;
    if (p->state == PLUGIN_REGISTERED && closed && s->at_ms <= k->now_ms) {
        dial(k, s);
    }
}

void sim_kubelet_step(struct sim_kubelet *k, uint64_t now_ms)
{
    ASSERT(now_ms >= k->now_ms);
    k->now_ms = now_ms;
    for (unsigned i = 0; i < SIM_PLUGINS_MAX; i++) {
        registration_dial(k, &k->plugin[i]);
        service_dial(k, &k->plugin[i]);
        registration_turn(k, &k->plugin[i]);
    }
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t sim_kubelet_deadline(const struct sim_kubelet *k)
{
    uint64_t at = UINT64_MAX;
    for (unsigned i = 0; i < SIM_PLUGINS_MAX; i++) {
        const struct sim_plugin *p = &k->plugin[i];
        const struct sim_channel *s = &p->channel[SERVICE];
        if (p->state == PLUGIN_WAITING) {
            at = least(at, p->at_ms);
        } else if (p->state == PLUGIN_DIALLING) {
            at = least(at, p->channel[REGISTRATION].at_ms);
        } else if (p->state == PLUGIN_REGISTERED && s->phase == CHANNEL_CLOSED) {
            at = least(at, s->at_ms);
        }
        for (unsigned n = 0; n < 2; n++) {
            if (p->channel[n].phase == CHANNEL_OPEN) {
                at = least(at, sim_grpc_deadline(&p->channel[n].grpc));
            }
        }
    }
    return at;
}

/* --- events --- */

static bool service_event(struct sim_kubelet *k, struct sim_plugin *p, struct sim_kubelet_event *e)
{
    struct sim_channel *c = &p->channel[SERVICE];
    struct sim_grpc_result r;
    if (c->phase != CHANNEL_OPEN) {
        return false;
    }
    enum status s = sim_grpc_next(&c->grpc, k->now_ms, &r);
    if (s == STATUS_OK) {
        e->driver = p->driver;
        sim_calls_answered(k, &r, e);
        return true;
    }
    if (s != STATUS_MORE) {
        hang_up(c);
        service_lost(k, c);
    }
    return false;
}

enum status sim_kubelet_next(struct sim_kubelet *k, struct sim_kubelet_event *e)
{
    *e = (struct sim_kubelet_event){.kind = SIM_KUBELET_ANSWERED, .text = ""};
    if (sim_calls_lost(k, e)) {
        return STATUS_OK;
    }
    for (unsigned i = 0; i < SIM_PLUGINS_MAX; i++) {
        if (service_event(k, &k->plugin[i], e)) {
            return STATUS_OK;
        }
        if (k->event_due[i]) {
            k->event_due[i] = false;
            *e = k->event[i];
            return STATUS_OK;
        }
    }
    return STATUS_MORE;
}
