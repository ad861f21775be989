/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct agent: all state of one driver, one member per module, each written by that module alone;
 * struct common: what the drivers share, in the same way; struct agents: all state of the program.
 * The types of the members stand in the headers of their modules. Only .c files of src/agent
 * include this header; the host sees agent/agent.h. Owns every byte that the agent keeps.
 *
 * Modules share their verbs: X_init sets up, X_step does what is due, X_deadline returns when
 * X_step must run at the latest (in now_ms terms; UINT64_MAX: never). A name that ends in _ms is a
 * time of the clock of now_ms in milliseconds, or a duration in milliseconds.
 */
#ifndef AGENT_STATE_H
#define AGENT_STATE_H

#include "agent/agent.h"
#include "agent/api/backoff.h"
#include "agent/api/client.h"
#include "agent/api/connection.h"
#include "agent/calls/calls.h"
#include "agent/claim/claim_status.h"
#include "agent/claim/device_memory.h"
#include "agent/report/k8s_events.h"
#include "agent/report/durations.h"
#include "agent/report/log.h"
#include "agent/claim/fetch.h"
#include "agent/ledger/handover.h"
#include "agent/ledger/ledger_open.h"
#include "agent/recovery/opening.h"
#include "agent/recovery/rebuild.h"
#include "agent/recovery/reconcile.h"
#include "agent/calls/replies.h"
#include "agent/serve/device_streams.h"
#include "agent/serve/grpc_health.h"
#include "agent/serve/links.h"
#include "agent/publish/device_states.h"
#include "agent/publish/node.h"
#include "agent/serve/pages.h"
#include "agent/serve/peer_failures.h"
#include "agent/serve/registration.h"
#include "agent/serve/responses.h"
#include "agent/publish/publish.h"
#include "agent/report/k8s_event_writer.h"
#include "agent/api/version.h"

/* --- memory for one step of work: passed to every function that fills or reads it --- */

/* Working memory: too large for the stack. */
struct scratch {
    uint8_t half[STORE_HALF_BYTES];
    uint8_t record[STORE_RECORD_MAX];
    uint8_t body[CDI_BYTES_MAX];   /* for a CDI file or a request to the API server */
    uint8_t stored[CDI_BYTES_MAX]; /* a CDI file read from the disk */
    struct devices devices;
    struct probe_issues issues;
    struct attributes attributes; /* of a device, for the metadata file of its claim */
};

/* Shared by all drivers: one log, one connection to the API server, one Node. */
struct common {
    struct report report;
    struct durations durations;
    struct k8s_events k8s_events;
    struct api_connection api_connection;
    struct api_client api_client;
    struct version version;
    struct node_object node;
    struct k8s_event_writer k8s_event_writer;
};

/* The state of one driver. */
struct agent {
    struct common *common;
    struct agent *next;                /* the next driver, or NULL */
    const struct driver *driver;       /* borrowed from the settings */
    const struct settings *settings;   /* borrowed */
    const struct files *files;         /* borrowed */
    const struct telemetry *telemetry; /* borrowed; NULL: no --device-metrics */
    uint64_t now_ms;
    uint64_t wall_ms; /* Unix milliseconds */
    struct randomness randomness;
    uint64_t started_ms;
    bool started;         /* the first step was made */
    bool found;           /* the node was probed */
    bool devices_missing; /* the last probe found none: those of the probe before are kept */
    uint64_t missing_ms;  /* when that began */
    bool service_lost;    /* the kubelet cannot connect to the service socket */
    char device_plugin[SOCKET_PATH_CAP]; /* socket of a device plugin on the node; empty: none */
    char other_driver[SOCKET_PATH_CAP];  /* socket of another driver of this name; empty: none */
    uint32_t issues_sum;                 /* checksum of the issues last logged; 0: none */
    bool draining; /* --efa is off: the driver runs until it holds no claim of earlier runs */
    bool drains;   /* it holds some, which was logged, and its sockets are open */
    bool stopping;
    uint64_t stop_ms; /* when running calls are ended */
    bool step_now;    /* something changed outside a step */
    bool order_open_sockets;
    bool order_close_registration;
    bool order_end_driver;
    bool order_exit;
    bool exited;
    struct devices devices;
    struct registration registration;
    struct handover handover;
    struct ledger ledger;
    struct device_states device_states;
    struct publish publish;
    struct claim_status claim_status;
    struct device_memory device_memory;
    struct reconcile reconcile;
    struct rebuild rebuild;
    struct fetch fetch[FETCHES_MAX];
    struct call call[CALLS_MAX];
    struct reply reply[CALLS_MAX];
    struct reply_entry reply_entry;
    struct operation operation[OPERATIONS_MAX];
    struct grpc_buffers buffers;
    struct response response[RESPONSES_MAX];
    struct grpc_health_subscription grpc_health_subscription[GRPC_LINKS]
                                                            [GRPC_HEALTH_SUBSCRIPTIONS_PER_LINK];
    struct device_stream device_stream[SERVICE_LINKS][DEVICE_STREAMS_PER_LINK];
    struct server_link link[GRPC_LINKS];
    struct page_link page[METRICS_LINKS];
    struct peer_failures peer_failures;
    struct scratch scratch;
};

/* All state of the program. The EFA driver's part stays untouched without that driver. */
struct agents {
    struct agent neuron; /* first member, so that a pointer to it finds all */
    struct common common;
    struct agent efa;
};

#endif
