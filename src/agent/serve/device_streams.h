/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's health stream, DRAResourceHealth v1alpha1 and v1 (device_streams.c): it gets the
 * health of all devices at once, after each change, and every DEVICE_REPORT_MS, and writes it into
 * the status of the pods. Owns struct device_stream. Internal to src/agent.
 *
 * A stream has the report that is under way and no queue: a peer that takes one late gets the
 * newest state next, one that does not take it in GRPC_REPLY_MS loses the stream. Source: KEP-4680.
 */
#ifndef AGENT_SERVE_DEVICE_STREAMS_H
#define AGENT_SERVE_DEVICE_STREAMS_H

#include "agent/agent.h"
#include "wire/grpc.h"

/* The devices by number, and the one that is all of a node of an UltraServer. */
#define HEALTH_ENTRIES (DEVICES_MAX + 1u)

/* One stream; free when its call is not alive. Arrays: by entry. */
struct device_stream {
    struct grpc_call_id id;
    bool started;     /* a report was started at all */
    bool busy;        /* one is under way */
    uint8_t next;     /* the entry that goes on */
    uint16_t at;      /* bytes of that entry that are sent */
    uint32_t changes; /* those that the report has */
    uint64_t due_ms;  /* when the next one starts without a change */
    int64_t time_s;   /* of the report, Unix time */
    uint64_t devices; /* bit N: in the report */
    bool node;        /* the device for the whole node is too, as the last entry */
    uint8_t state[HEALTH_ENTRIES];
    uint32_t reasons[HEALTH_ENTRIES];
    uint32_t efa_address[DEVICES_MAX]; /* by which an EFA device is named; 0: by its number */
};

/*
 * A call of NodeWatchResources: a stream starts. More than DEVICE_STREAMS_PER_LINK get
 * RESOURCE_EXHAUSTED.
 */
void device_streams_watch(struct agent *a, unsigned link, const struct grpc_event *event);
/* Streams of a link that have not ended. */
unsigned device_streams_open(const struct agent *a, unsigned link);
/* Drops those of the connection that a link had before. */
void device_streams_forget(struct agent *a, unsigned link);
/* The verbs of state.h; ends the streams when the agent stops. */
void device_streams_step(struct agent *a);
uint64_t device_streams_deadline(const struct agent *a);

#endif
