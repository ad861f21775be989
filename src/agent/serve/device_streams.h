/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's health stream, DRAResourceHealth v1alpha1 and v1 (device_streams.c). The stream
 * reports the health of all devices when it starts, after each change, and every DEVICE_REPORT_MS;
 * the kubelet writes the health into the status of pods. Owns struct device_stream. Internal to
 * src/agent.
 *
 * A stream sends one report at a time and has no queue: after that report a slow peer gets the
 * newest state. A stream ends if its peer does not read a report within GRPC_REPLY_MS. Source:
 * KEP-4680.
 */
#ifndef AGENT_SERVE_DEVICE_STREAMS_H
#define AGENT_SERVE_DEVICE_STREAMS_H

#include "agent/agent.h"
#include "wire/grpc.h"

/*
 * Number of entries of a report: one for each device number, and one for the device that represents
 * a whole UltraServer node.
 */
#define HEALTH_ENTRIES (DEVICES_MAX + 1u)

/*
 * One health stream; unused if the call `id` has ended. The arrays have an element for each entry
 * of a report.
 */
struct device_stream {
    struct grpc_call_id id;
    bool started;     /* the first report of the stream was started */
    bool busy;        /* a report is being sent on the stream */
    uint8_t next;     /* index of the entry that is being sent */
    uint16_t at;      /* number of bytes of entry `next` already sent */
    uint32_t changes; /* value of device_states.changes when the report began */
    uint64_t due_ms;  /* when the next report starts even without a change */
    int64_t time_s;   /* when the report began, as Unix time in seconds */
    uint64_t devices; /* bit N: device N is in the report */
    bool node;        /* the report ends with an entry for the whole node */
    uint8_t state[HEALTH_ENTRIES];
    uint32_t reasons[HEALTH_ENTRIES];
    /* PCI address in the name of an EFA device; 0: the name follows from the device's number */
    uint32_t efa_address[DEVICES_MAX];
};

/*
 * Handles a call of NodeWatchResources: starts a stream. A link that has DEVICE_STREAMS_PER_LINK
 * streams gets RESOURCE_EXHAUSTED.
 */
void device_streams_watch(struct agent *a, unsigned link, const struct grpc_event *event);
/* Number of open health streams of a link. */
unsigned device_streams_open(const struct agent *a, unsigned link);
/*
 * Called when a new connection gets the link: drops the health streams of the link's earlier
 * connection.
 */
void device_streams_forget(struct agent *a, unsigned link);
/* Sends the health reports that are due; ends the streams when the agent stops. */
void device_streams_step(struct agent *a);
uint64_t device_streams_deadline(const struct agent *a);

#endif
