/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's health stream, DRAResourceHealth v1alpha1 and v1 (device_streams.c): it gets the
 * health of all devices at once, after each change, and every DEVICE_REPORT_MS, and the kubelet
 * writes it into the status of pods. Owns struct device_stream. Internal to src/agent.
 *
 * A stream has one running report and no queue: a slow peer gets the newest state next; one that
 * does not take a report within GRPC_REPLY_MS loses the stream. Source: KEP-4680.
 */
#ifndef AGENT_SERVE_DEVICE_STREAMS_H
#define AGENT_SERVE_DEVICE_STREAMS_H

#include "agent/agent.h"
#include "wire/grpc.h"

/* The devices by number, and the one that stands for a whole node of an UltraServer. */
#define HEALTH_ENTRIES (DEVICES_MAX + 1u)

/* One stream; free when its call has ended. Arrays are by entry. */
struct device_stream {
    struct grpc_call_id id;
    bool started;     /* a first report was started */
    bool busy;        /* a report is running */
    uint8_t next;     /* the current entry */
    uint16_t at;      /* sent bytes of that entry */
    uint32_t changes; /* device_states.changes at the report */
    uint64_t due_ms;  /* when the next one starts without a change */
    int64_t time_s;   /* time of the report, Unix time */
    uint64_t devices; /* bit N: device N is in the report */
    bool node;        /* the device that stands for the node is the last entry */
    uint8_t state[HEALTH_ENTRIES];
    uint32_t reasons[HEALTH_ENTRIES];
    uint32_t efa_address[DEVICES_MAX]; /* names an EFA device; 0: the number names the device */
};

/*
 * A call of NodeWatchResources: starts a stream. More than DEVICE_STREAMS_PER_LINK get
 * RESOURCE_EXHAUSTED.
 */
void device_streams_watch(struct agent *a, unsigned link, const struct grpc_event *event);
/* Number of a link's open streams. */
unsigned device_streams_open(const struct agent *a, unsigned link);
/* Drops the streams of a link's previous connection. */
void device_streams_forget(struct agent *a, unsigned link);
/* The verbs of frame.h; ends the streams when the agent stops. */
void device_streams_step(struct agent *a);
uint64_t device_streams_deadline(const struct agent *a);

#endif
