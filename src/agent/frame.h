/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct agent is one driver: the facts that all rooms may read, and a pointer to the state of each
 * room. A room is a sub-folder of src/agent. The room.h of a room defines the type of its state;
 * all other rooms see an incomplete type and must call the functions of that room. The frame
 * (agent.c) writes the facts, except those whose comment names another file.
 *
 * Rooms share the names of their functions: X_init initializes the state, X_step does the work that
 * is due, X_deadline returns the latest time for the next X_step (on the clock of now_ms;
 * UINT64_MAX: no timer runs). A name that ends in _ms is a time on the clock of now_ms, or a
 * duration, in milliseconds.
 */
#ifndef AGENT_FRAME_H
#define AGENT_FRAME_H

#include "agent/agent.h"
#include "base/random.h"
#include "dra/device.h"
#include "dra/store.h"

struct api;
struct report;
struct node_object;
struct claim_pods;
struct node;
struct publish;
struct ledger;
struct claim_room;
struct recovery;
struct calls;
struct serve;

/* --- working memory, whose content is lost at the end of a step --- */

/* Working memory for data that is too large for the stack. */
struct scratch {
    uint8_t half[STORE_HALF_BYTES];
    uint8_t record[STORE_RECORD_MAX];
    uint8_t body[CDI_BYTES_MAX]; /* content of a CDI file, or body of a request to the API server */
    uint8_t stored[CDI_BYTES_MAX]; /* content of a CDI file that was read from the disk */
    struct devices devices;
    struct probe_issues issues;
    /* attributes of a device, for the device metadata file of a claim */
    struct attributes attributes;
};

/* One driver of the agent. */
struct agent {
    /*
     * State that all drivers share: one connection to the API server, one log, one Node, one list
     * of pods.
     */
    struct api *api;
    struct report *report;
    struct node_object *node_object;
    struct claim_pods *pods;
    /* This driver's state in each room (sub-folder of src/agent). */
    struct node *node;
    struct publish *publish;
    struct ledger *ledger;
    struct claim_room *claim;
    struct recovery *recovery;
    struct calls *calls;
    struct serve *serve;

    struct agent *next;          /* the next driver; NULL: this is the last one */
    const struct driver *driver; /* name and sockets of the driver; borrowed from the settings */
    const struct settings *settings; /* settings of the run; borrowed */
    const struct files *files;       /* the files port; borrowed */
    const struct devices *devices;   /* the devices of the node, see node/inventory.h */
    /* device values for the metrics; borrowed; NULL: no --device-metrics */
    const struct telemetry *telemetry;
    uint64_t now_ms;
    uint64_t wall_ms;             /* time of day of this step, in Unix milliseconds */
    struct randomness randomness; /* state of the random numbers that api/backoff.c draws */
    uint64_t started_ms;
    bool started;      /* the first step of the agent has begun */
    bool service_lost; /* the kubelet cannot connect to the service socket */
    /* name of the socket of a device plugin on the node; empty: there is none */
    char device_plugin[SOCKET_PATH_CAP];
    /* path of the socket of another driver with this driver's name; empty: there is none */
    char other_driver[SOCKET_PATH_CAP];
    bool ending; /* --efa is off: the driver runs until it holds no claim of earlier runs */
    /*
     * set if `ending` and claims may be left, after the agent has logged that the EFA driver
     * keeps running and has ordered the host to open the driver's sockets
     */
    bool kept;
    bool stopping;
    /* if `stopping`: time at which the agent ends the kubelet's calls that still run */
    uint64_t stop_ms;
    bool step_now; /* a step is needed at once, because something changed between two steps */
    bool order_open_sockets;
    bool order_close_registration;
    bool order_end_driver;
    bool order_exit;
    bool exited;
    struct scratch scratch;
};

/* Returns the current time in microseconds, to measure durations for log lines and metrics. */
static inline uint64_t agent_clock_us(const struct agent *a)
{
    const struct files *f = a->files;
    return (f->clock_us != NULL) ? f->clock_us(f->ctx) : a->now_ms * 1000u;
}

#endif
