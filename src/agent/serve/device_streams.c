/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends reports of device health to the kubelet. A report is encoded and sent entry by entry, so
 * that no buffer has to hold the entries of all devices.
 */
#include "agent/serve/device_streams.h"

#include <string.h>

#include "agent/frame.h"
#include "agent/node/device_states.h"
#include "agent/node/inventory.h"
#include "agent/serve/responses.h"
#include "agent/serve/room.h"
#include "base/assert.h"
#include "base/time.h"
#include "cfg/identity.h"
#include "dra/pci.h"
#include "generated/dra.pb.h"
#include "pb_encode.h"

/*
 * Size in bytes of the largest entry of a health report: names of pool and device, health text,
 * numbers, and the tags and lengths of the protobuf fields.
 */
#define ENTRY_BYTES_MAX (NAME_CAP + DEVICE_NAME_CAP + HEALTH_TEXT_CAP + 64u)

static struct device_stream *streams_of(struct agent *a, unsigned link)
{
    ASSERT(link >= REGISTRATION_LINKS && link < REGISTRATION_LINKS + SERVICE_LINKS);
    return a->serve->device_stream[link - REGISTRATION_LINKS];
}

static bool is_service(unsigned link)
{
    return link >= REGISTRATION_LINKS && link < REGISTRATION_LINKS + SERVICE_LINKS;
}

void device_streams_watch(struct agent *a, unsigned link, const struct grpc_event *event)
{
    struct device_stream *own = streams_of(a, link);
    for (unsigned i = 0; i < DEVICE_STREAMS_PER_LINK; i++) {
        if (!grpc_call_alive(&a->serve->link[link].grpc, own[i].id)) {
            memset(&own[i], 0, sizeof own[i]);
            own[i].id = event->call;
            return;
        }
    }
    response_status(a, link, event->call, GRPC_RESOURCE_EXHAUSTED,
                    "too many health streams on one connection");
}

unsigned device_streams_open(const struct agent *a, unsigned link)
{
    unsigned n = 0;
    for (unsigned i = 0; is_service(link) && i < DEVICE_STREAMS_PER_LINK; i++) {
        const struct device_stream *s = &a->serve->device_stream[link - REGISTRATION_LINKS][i];
        n += grpc_call_alive(&a->serve->link[link].grpc, s->id) ? 1u : 0u;
    }
    return n;
}

void device_streams_forget(struct agent *a, unsigned link)
{
    if (is_service(link)) {
        memset(streams_of(a, link), 0, sizeof a->serve->device_stream[0]);
    }
}

/* --- sending one health report --- */

static bool is_reported(const struct device_stream *s, unsigned number)
{
    bool device = number < DEVICES_MAX && (s->devices >> number % DEVICES_MAX & 1u) != 0u;
    return device || (number == DEVICES_MAX && s->node);
}

/*
 * The name that the device had when the report began. The length of the report is already
 * announced, so a newer name of another length would make the report invalid.
 */
static void name_of(const struct agent *a, const struct device_stream *s, unsigned number,
                    char name[DEVICE_NAME_CAP])
{
    if (number == DEVICES_MAX) {
        text_set(name, DEVICE_NAME_CAP, NODE_DEVICE_NAME);
    } else if (s->efa_address[number] != 0u) {
        efa_device_name(s->efa_address[number], name);
    } else if (!driver_traits(a->devices->driver)->numbered) {
        /*
         * This EFA device had no known PCI address when the report began, so devices_name returned
         * this name for it.
         */
        text_set(name, DEVICE_NAME_CAP, EFA_DEVICE_PREFIX "?");
    } else {
        /* the name of a Neuron device depends only on its number, so its length cannot change */
        devices_name(a->devices, number, name);
    }
}

/*
 * Encodes a device's entry as an element of field 1 (devices) of the report. Returns an empty view
 * if the report leaves the device out.
 */
static struct view encode_entry(const struct agent *a, const struct device_stream *s,
                                unsigned number, uint8_t bytes[ENTRY_BYTES_MAX])
{
    dra_DeviceHealth m = dra_DeviceHealth_init_zero;
    pb_ostream_t out = pb_ostream_from_buffer(bytes, ENTRY_BYTES_MAX);
    if (!is_reported(s, number)) {
        return view_of(NULL, 0);
    }
    m.has_device = true;
    text_set(m.device.pool_name, sizeof m.device.pool_name, a->settings->node_name);
    name_of(a, s, number, m.device.device_name);
    struct writer text = writer_of(m.message, sizeof m.message);
    device_health_text(&text, (enum health)s->state[number], s->reasons[number]);
    writer_close_text(&text);
    m.health = (dra_HealthStatus)s->state[number];
    m.last_updated_time = s->time_s;
    uint32_t lease_s = DEVICE_LEASE_MS / 1000u;
    m.health_check_timeout_seconds = (int64_t)lease_s;
    bool tag = pb_encode_tag(&out, PB_WT_STRING, dra_NodeWatchResourcesResponse_devices_tag);
    bool entry = pb_encode_submessage(&out, dra_DeviceHealth_fields, &m);
    ASSERT(tag && entry); /* the buffer holds the largest entry */
    return view_of(bytes, out.bytes_written);
}

static uint32_t report_len(const struct agent *a, const struct device_stream *s)
{
    uint8_t bytes[ENTRY_BYTES_MAX];
    size_t len = 0;
    for (unsigned n = 0; n < HEALTH_ENTRIES; n++) {
        len += encode_entry(a, s, n, bytes).len;
    }
    return (uint32_t)len;
}

/*
 * Fills the report's entry for the whole node: the worst health of its devices, and all of their
 * reasons.
 */
static void copy_node_state(const struct agent *a, struct device_stream *s)
{
    bool unhealthy = false;
    bool unknown = s->devices == 0u;
    uint32_t reasons = 0;
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        bool reported = is_reported(s, n);
        unhealthy = unhealthy || (reported && s->state[n] == (uint8_t)HEALTH_UNHEALTHY);
        unknown = unknown || (reported && s->state[n] == (uint8_t)HEALTH_UNKNOWN);
        reasons |= reported ? s->reasons[n] : 0u;
    }
    enum health calm = unknown ? HEALTH_UNKNOWN : HEALTH_HEALTHY;
    s->node = a->devices->ultraserver.member;
    s->state[DEVICES_MAX] = (uint8_t)(unhealthy ? HEALTH_UNHEALTHY : calm);
    s->reasons[DEVICES_MAX] = reasons;
}

static void copy_names(const struct agent *a, struct device_stream *s)
{
    char name[DEVICE_NAME_CAP];
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        devices_name(a->devices, n, name);
        if (!efa_device_address(view_text(name), &s->efa_address[n])) {
            s->efa_address[n] = 0;
        }
    }
}

static void report_begin(const struct agent *a, struct device_stream *s)
{
    s->devices = 0;
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        const struct health_track *h = device_states_track(a, n);
        s->devices |= h->seen ? UINT64_C(1) << n : 0u;
        s->state[n] = h->state;
        s->reasons[n] = h->reasons;
    }
    copy_node_state(a, s);
    copy_names(a, s);
    uint64_t now_s = a->wall_ms / 1000u;
    s->time_s = (int64_t)now_s;
    s->next = 0;
    s->at = 0;
}

/*
 * Whether a health report is due: the first one of the stream, one after a change of health, or one
 * because the last report is too old.
 */
static bool is_due(const struct agent *a, const struct device_stream *s)
{
    return inventory_is_known(a) &&
           (!s->started || s->changes != device_states_changes(a) || a->now_ms >= s->due_ms);
}

static void report_start(const struct agent *a, struct grpc_server *server, struct device_stream *s)
{
    report_begin(a, s);
    if (grpc_reply_begin(server, s->id, report_len(a, s)) == STATUS_OK) {
        s->started = true;
        s->busy = true;
        s->changes = device_states_changes(a);
        s->due_ms = a->now_ms + DEVICE_REPORT_MS;
    }
}

static void report_send(const struct agent *a, struct grpc_server *server, struct device_stream *s)
{
    uint8_t bytes[ENTRY_BYTES_MAX];
    bool whole = true;
    while (s->next < HEALTH_ENTRIES && whole) {
        struct view left = view_from(encode_entry(a, s, s->next, bytes), s->at);
        size_t taken = 0;
        if (left.len > 0u) {
            enum status sent = grpc_reply_bytes(server, s->id, left, &taken);
            status_ignore(sent, "a call that has ended takes nothing, and the next step sees that");
        }
        whole = taken == left.len;
        s->at = whole ? 0u : (uint16_t)(s->at + taken);
        s->next = (uint8_t)(s->next + (whole ? 1u : 0u));
    }
    s->busy = s->next < HEALTH_ENTRIES;
}

static void stream_step(const struct agent *a, struct grpc_server *server, struct device_stream *s)
{
    if (!grpc_call_alive(server, s->id)) {
        return;
    }
    if (!s->busy && is_due(a, s)) {
        report_start(a, server, s);
    }
    if (s->busy) {
        report_send(a, server, s);
    }
    response_stop(a, server, s->id);
}

void device_streams_step(struct agent *a)
{
    for (unsigned i = 0; i < SERVICE_LINKS * DEVICE_STREAMS_PER_LINK; i++) {
        unsigned link = i / DEVICE_STREAMS_PER_LINK;
        struct server_link *l = &a->serve->link[REGISTRATION_LINKS + link];
        if (l->open && !l->failed) {
            stream_step(a, &l->grpc, &a->serve->device_stream[link][i % DEVICE_STREAMS_PER_LINK]);
        }
    }
}

/*
 * When the next health report is due. Ignores a stream whose report is being sent or cannot start,
 * because such a stream waits until its peer reads.
 */
uint64_t device_streams_deadline(const struct agent *a)
{
    uint64_t at = UINT64_MAX;
    for (unsigned i = 0; i < SERVICE_LINKS * DEVICE_STREAMS_PER_LINK; i++) {
        unsigned link = i / DEVICE_STREAMS_PER_LINK;
        const struct server_link *l = &a->serve->link[REGISTRATION_LINKS + link];
        const struct device_stream *s = &a->serve->device_stream[link][i % DEVICE_STREAMS_PER_LINK];
        bool waits = l->open && !l->failed && s->started && !s->busy && s->due_ms > a->now_ms;
        if (waits && grpc_call_alive(&l->grpc, s->id)) {
            at = earlier(at, s->due_ms);
        }
    }
    return at;
}
