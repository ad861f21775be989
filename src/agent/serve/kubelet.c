/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gRPC methods: which path is served on which socket, and registration with the kubelet. Owns
 * the registration state. Sources: kubelet pluginregistration v1, dra v1 and v1beta1.
 */
#include "wire/decode.h"
#include "agent/state.h"
#include "base/assert.h"
#include "cfg/identity.h"
#include "generated/registration.pb.h"
#include "pb_encode.h"

#define ON(kind) (1u << (unsigned)(kind))

static void refuse(struct agent *a, unsigned link, const struct grpc_event *event,
                   enum grpc_status code, const char *text)
{
    log_begin(a, LOG_ID_CALL_REFUSED);
    log_view(a, "path", event->path);
    log_text(a, "text", text);
    log_end(a);
    answer_status(a, link, event->call, code, text);
}

/* --- registration --- */

static void get_info(struct agent *a, unsigned link, const struct grpc_event *event)
{
    /* Order decides: kubelet 1.34 and later takes the first entry that it knows. */
    static const char *const versions[] = {"v1.DRAPlugin", "v1beta1.DRAPlugin"};
    pluginregistration_PluginInfo info = pluginregistration_PluginInfo_init_zero;
    enum status s = text_copy(info.type, sizeof info.type, view_text("DRAPlugin"));
    ASSERT(s == STATUS_OK);
    s = text_copy(info.name, sizeof info.name, view_text(DRIVER_NAME));
    ASSERT(s == STATUS_OK);
    s = text_copy(info.endpoint, sizeof info.endpoint, view_text(a->settings->service_socket));
    ASSERT(s == STATUS_OK);
    for (unsigned i = 0; i < 2u; i++) {
        s = text_copy(info.supported_versions[i], sizeof info.supported_versions[i],
                      view_text(versions[i]));
        ASSERT(s == STATUS_OK);
    }
    info.supported_versions_count = 2;
    uint8_t bytes[ANSWER_BYTES_MAX];
    pb_ostream_t out = pb_ostream_from_buffer(bytes, sizeof bytes);
    bool ok = pb_encode(&out, pluginregistration_PluginInfo_fields, &info);
    ASSERT(ok);
    a->registration.asked = true;
    log_one(a, LOG_ID_REGISTRATION_INFO_REQUESTED, "endpoint", a->settings->service_socket);
    answer_message(a, link, event->call, view_of(bytes, out.bytes_written));
}

/* Keeps the start of the kubelet's reason; the rest is read and dropped. */
static bool read_reason(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    struct registration *r = *arg;
    (void)field;
    uint8_t text[sizeof r->last_error];
    size_t n = (in->bytes_left < sizeof text) ? in->bytes_left : sizeof text;
    if (!pb_read(in, text, n)) {
        return false;
    }
    text_cut(r->last_error, sizeof r->last_error, view_of(text, n));
    return pb_read(in, 0, in->bytes_left);
}

static void notify_status(struct agent *a, unsigned link, const struct grpc_event *event)
{
    struct registration *r = &a->registration;
    pluginregistration_RegistrationStatus status = pluginregistration_RegistrationStatus_init_zero;
    r->last_error[0] = 0;
    status.error.funcs.decode = read_reason;
    status.error.arg = r;
    if (!decode(event->message, pluginregistration_RegistrationStatus_fields, &status)) {
        refuse(a, link, event, GRPC_INVALID_ARGUMENT,
               "RegistrationStatus is not readable as protobuf");
        return;
    }
    if (status.plugin_registered) {
        r->registered = true;
        r->retry_ms = REGISTRATION_RETRY_MS;
        log_one(a, LOG_ID_REGISTERED, "driver", DRIVER_NAME);
        publish_registered(a);
    } else {
        r->registered = false;
        r->waiting_ms = a->now_ms;
        log_one(a, LOG_ID_REGISTRATION_REFUSED, "reason", r->last_error);
    }
    answer_message(a, link, event->call, view_of(0, 0));
}

void kubelet_init(struct agent *a)
{
    a->registration.waiting_ms = a->now_ms;
    a->registration.retry_ms = REGISTRATION_RETRY_MS;
}

void kubelet_step(struct agent *a)
{
    struct registration *r = &a->registration;
    if (r->registered || a->stopping || a->now_ms < kubelet_deadline(a)) {
        return;
    }
    log_begin(a, LOG_ID_REGISTRATION_SOCKET_REPLACED);
    log_text(a, "socket", a->settings->registration_socket);
    uint64_t waited_s = r->retry_ms / 1000u;
    log_number(a, "waited_s", (int64_t)waited_s);
    log_text(a, "last_error", r->last_error);
    log_end(a);
    a->order_renew = true;
    r->waiting_ms = a->now_ms;
    r->retry_ms = (r->retry_ms * 2u > REGISTRATION_RETRY_MAX_MS) ? REGISTRATION_RETRY_MAX_MS
                                                                 : r->retry_ms * 2u;
}

uint64_t kubelet_deadline(const struct agent *a)
{
    const struct registration *r = &a->registration;
    return (r->registered || a->stopping) ? UINT64_MAX : r->waiting_ms + r->retry_ms;
}

/* --- health; the analyser of the static rules takes a name in the table for no use --- */

static void check(struct agent *a, unsigned link, const struct grpc_event *event)
{
    health_check(a, link, event);
}

static void watch(struct agent *a, unsigned link, const struct grpc_event *event)
{
    health_watch(a, link, event);
}

/* --- prepare and unprepare --- */

/* The call is answered by claims/calls.c, unless it is refused at once. */
static void start_call(struct agent *a, unsigned link, const struct grpc_event *event,
                       bool unprepare)
{
    const char *text = "";
    enum grpc_status code = calls_start(a, &a->link[link].grpc, event, unprepare, &text);
    if (code != GRPC_OK) {
        refuse(a, link, event, code, text);
    }
}

static void prepare(struct agent *a, unsigned link, const struct grpc_event *event)
{
    start_call(a, link, event, false);
}

static void unprepare(struct agent *a, unsigned link, const struct grpc_event *event)
{
    start_call(a, link, event, true);
}

/* v1 and v1beta1 have the same messages by number. */
static const struct {
    const char *path;
    unsigned kinds;
    void (*serve)(struct agent *a, unsigned link, const struct grpc_event *event);
} methods[] = {
    {"/pluginregistration.Registration/GetInfo", ON(LINK_REGISTRATION) | ON(LINK_SERVICE),
     get_info},
    {"/pluginregistration.Registration/NotifyRegistrationStatus", ON(LINK_REGISTRATION),
     notify_status},
    {"/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources", ON(LINK_SERVICE), prepare},
    {"/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources", ON(LINK_SERVICE),
     unprepare},
    {"/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources", ON(LINK_SERVICE),
     prepare},
    {"/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodeUnprepareResources", ON(LINK_SERVICE),
     unprepare},
    {"/grpc.health.v1.Health/Check", ON(LINK_HEALTH) | ON(LINK_SERVICE), check},
    {"/grpc.health.v1.Health/Watch", ON(LINK_HEALTH) | ON(LINK_SERVICE), watch},
};
#define METHODS (sizeof methods / sizeof methods[0])

/* Index of the method that a kind of socket serves at a path; none: how many there are. */
static unsigned method_at(struct view path, unsigned kind)
{
    unsigned i = 0;
    while (i < METHODS &&
           ((methods[i].kinds & ON(kind)) == 0u || !view_is(path, methods[i].path))) {
        i++;
    }
    return i;
}

bool kubelet_serves(struct view path, unsigned kind)
{
    ASSERT(kind < (unsigned)LINK_METRICS);
    return method_at(path, kind) < METHODS;
}

void kubelet_call(struct agent *a, unsigned link, const struct grpc_event *event)
{
    ASSERT(link < GRPC_LINKS);
    unsigned i = method_at(event->path, (unsigned)a->link[link].kind);
    ASSERT(i < METHODS); /* no other is told of: kubelet_serves */
    methods[i].serve(a, link, event);
}
