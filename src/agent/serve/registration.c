/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registration: responds to the kubelet's GetInfo, records the status that the kubelet reports, and
 * times the recreation of the registration socket. Sources: kubelet pluginregistration v1; the
 * kubelet connects to a registration socket only once, when its file appears.
 */
#include "agent/serve/registration.h"

#include "agent/frame.h"
#include "agent/publish/publish.h"
#include "agent/report/log.h"
#include "agent/serve/responses.h"
#include "agent/serve/room.h"
#include "base/assert.h"
#include "generated/registration.pb.h"
#include "pb_encode.h"
#include "wire/decode.h"

void registration_get_info(struct agent *a, unsigned link, const struct grpc_event *event)
{
    /*
     * The gRPC services of the service socket, with the newest version of each first, because
     * kubelet 1.34 and later uses the first version of a service that it supports.
     */
    static const char *const versions[] = {"v1.DRAPlugin", "v1beta1.DRAPlugin",
                                           "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"};
    pluginregistration_PluginInfo info = pluginregistration_PluginInfo_init_zero;
    text_set(info.type, sizeof info.type, "DRAPlugin");
    text_set(info.name, sizeof info.name, a->driver->name);
    text_set(info.endpoint, sizeof info.endpoint, a->driver->service_socket);
    for (unsigned i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        text_set(info.supported_versions[i], sizeof info.supported_versions[i], versions[i]);
    }
    info.supported_versions_count = sizeof versions / sizeof versions[0];
    uint8_t bytes[RESPONSE_BYTES_MAX];
    pb_ostream_t out = pb_ostream_from_buffer(bytes, sizeof bytes);
    bool ok = pb_encode(&out, pluginregistration_PluginInfo_fields, &info);
    ASSERT(ok);
    a->serve->registration.asked = true;
    log_one(a, LOG_ID_REGISTRATION_INFO_REQUESTED, "endpoint", a->driver->service_socket);
    response_message(a, link, event->call, view_of(bytes, out.bytes_written));
}

/*
 * Reads the kubelet's reason for not registering the driver. Keeps as much of the start of the text
 * as fits, and skips the rest.
 */
static bool read_reason(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    struct registration *r = *arg;
    (void)field;
    uint8_t text[sizeof r->last_error];
    size_t n = (in->bytes_left < sizeof text) ? in->bytes_left : sizeof text;
    bool read = pb_read(in, text, n);
    ASSERT(read); /* the message lies in memory, and has n bytes more */
    text_cut(r->last_error, sizeof r->last_error, view_of(text, n));
    return pb_read(in, 0, in->bytes_left);
}

void registration_notify(struct agent *a, unsigned link, const struct grpc_event *event)
{
    struct registration *r = &a->serve->registration;
    pluginregistration_RegistrationStatus status = pluginregistration_RegistrationStatus_init_zero;
    r->last_error[0] = 0;
    status.error.funcs.decode = read_reason;
    status.error.arg = r;
    if (!decode(event->message, pluginregistration_RegistrationStatus_fields, &status)) {
        response_refuse(a, link, event, GRPC_INVALID_ARGUMENT,
                        "RegistrationStatus cannot be decoded as protobuf");
        return;
    }
    if (status.plugin_registered) {
        r->registered = true;
        r->retry_ms = REGISTRATION_RETRY_MS;
        log_begin(a, LOG_ID_REGISTERED);
        /*
         * log_begin adds the field `driver` to lines of the EFA driver, but not to those of the
         * Neuron driver
         */
        if (a->driver->kind == DRIVER_NEURON) {
            log_text(a, "driver", a->driver->name);
        }
        log_end(a);
        publish_registered(a);
    } else {
        r->registered = false;
        r->waiting_ms = a->now_ms;
        log_one(a, LOG_ID_REGISTRATION_REFUSED, "reason", r->last_error);
    }
    response_message(a, link, event->call, view_of(0, 0));
}

void registration_init(struct agent *a)
{
    a->serve->registration.waiting_ms = a->now_ms;
    a->serve->registration.retry_ms = REGISTRATION_RETRY_MS;
}

void registration_step(struct agent *a)
{
    struct registration *r = &a->serve->registration;
    if (r->registered || a->stopping || a->now_ms < registration_deadline(a)) {
        return;
    }
    log_begin(a, LOG_ID_REGISTRATION_SOCKET_REPLACED);
    log_text(a, "socket", a->driver->registration_socket);
    uint64_t waited_s = r->retry_ms / 1000u;
    log_number(a, "waited_s", (int64_t)waited_s);
    log_text(a, "last_error", r->last_error);
    log_end(a);
    r->socket_wanted = true;
    r->waiting_ms = a->now_ms;
    r->retry_ms = (r->retry_ms * 2u > REGISTRATION_RETRY_MAX_MS) ? REGISTRATION_RETRY_MAX_MS
                                                                 : r->retry_ms * 2u;
}

uint64_t registration_deadline(const struct agent *a)
{
    const struct registration *r = &a->serve->registration;
    bool open = !a->ending || a->kept;
    return (r->registered || a->stopping || !open) ? UINT64_MAX : r->waiting_ms + r->retry_ms;
}

bool registration_was_asked(const struct agent *a)
{
    return a->serve->registration.asked;
}

bool registration_is_done(const struct agent *a)
{
    return a->serve->registration.registered;
}

bool registration_wants_socket(struct agent *a)
{
    bool wanted = a->serve->registration.socket_wanted;
    a->serve->registration.socket_wanted = false;
    return wanted;
}
