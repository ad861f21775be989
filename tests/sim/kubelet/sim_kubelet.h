/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet as a DRA driver sees it: finds registration sockets, asks GetInfo, says the verdict,
 * keeps a service connection, prepares and unprepares claims, and judges the replies. Pure: the
 * owner carries out its orders, moves the bytes of its links and tells the time; nothing here is
 * random, so equal calls give equal results. Source: the kubelet's plugin manager and DRA manager,
 * 1.33 to 1.37.
 *
 * A link is one connection. The owner's loop: sim_kubelet_step, then orders until none, then
 * events until none, then bytes: sim_kubelet_tx to the peer, the peer's into sim_kubelet_rx.
 */
#ifndef TESTS_SIM_SIM_KUBELET_H
#define TESTS_SIM_SIM_KUBELET_H

#include "tests/sim/kubelet/sim_grpc.h"

#define SIM_LINKS_MAX (2 * SIM_PLUGINS_MAX) /* each plugin: registration, service */
#define SIM_NO_LINK SIM_LINKS_MAX

struct sim_kubelet_config {
    bool knows_v1;       /* since 1.34: v1.DRAPlugin, and the plugin's order of versions counts */
    bool retries_notify; /* since 1.36: a failed NotifyRegistrationStatus is retried */
    uint64_t notice_ms;  /* from a new socket to dialling it; the real reconciler: up to 1000 */
};

/* A claim as a call names it. */
struct sim_claim {
    char ns[NAMESPACE_CAP];
    char name[NAME_CAP];
    char uid[UID_CAP];
};

enum sim_method { SIM_PREPARE, SIM_UNPREPARE };

struct sim_channel { /* internal: one link */
    uint8_t phase;
    bool connect_due; /* orders that wait to be taken */
    bool close_due;
    uint64_t at_ms; /* when to dial again, or when dialling took too long */
    uint64_t backoff_ms;
    struct sim_grpc grpc;
};

struct sim_plugin { /* internal */
    uint8_t state;
    bool announced; /* a REGISTERED event went out, and no GONE one yet */
    uint64_t at_ms; /* of the next attempt to register */
    uint64_t backoff_ms;
    uint64_t order; /* of registration: the newest is asked first */
    char socket[SOCKET_PATH_CAP];
    char endpoint[SOCKET_PATH_CAP];
    char driver[DRIVER_CAP];
    char service[32];  /* "v1.DRAPlugin" */
    char refusal[256]; /* why the plugin is told that it is not registered; empty: it is */
    struct sim_channel channel[2];
};

struct sim_pending { /* internal: one call under way */
    bool used;
    bool lost; /* its connection was given up: told as UNAVAILABLE */
    uint8_t method;
    unsigned plugin;
    unsigned count;
    struct sim_claim claim[CLAIMS_PER_CALL_MAX];
};

#define SIM_PENDING_MAX (SIM_PLUGINS_MAX * SIM_CALLS_MAX)

enum sim_kubelet_event_kind {
    SIM_KUBELET_REGISTERED, /* driver, endpoint, service */
    SIM_KUBELET_REFUSED,    /* an attempt to register failed: driver (may be empty), text */
    SIM_KUBELET_GONE,       /* the registration socket of a registered plugin is gone: driver */
    SIM_KUBELET_ANSWERED    /* a call ended: call, code, text, reply */
};

struct sim_kubelet_event {
    enum sim_kubelet_event_kind kind;
    const char *driver; /* all texts and bytes are borrowed until the next call */
    const char *endpoint;
    const char *service;
    unsigned call;
    int code;          /* enum grpc_status of the call as a whole */
    const char *text;  /* the kubelet's words for what is wrong; empty: all claims are well */
    struct view reply; /* message as it came */
};

struct sim_kubelet {
    struct sim_kubelet_config config;
    uint64_t now_ms;
    uint64_t registrations;
    bool event_due[SIM_PLUGINS_MAX];
    struct sim_kubelet_event event[SIM_PLUGINS_MAX]; /* of registration, one each */
    char text[SIM_PLUGINS_MAX][256];
    char verdict[2048];
    struct sim_plugin plugin[SIM_PLUGINS_MAX];
    struct sim_pending pending[SIM_PENDING_MAX];
};

void sim_kubelet_init(struct sim_kubelet *k, const struct sim_kubelet_config *config,
                      uint64_t now_ms);
/*
 * A socket appeared in the registration directory (again, if it was there: it was made anew), or
 * is gone. FULL_TABLE: SIM_PLUGINS_MAX are known. FULL_BUFFER: the path is too long for a socket.
 */
MUST_USE enum status sim_kubelet_socket(struct sim_kubelet *k, const char *path, bool present);
void sim_kubelet_step(struct sim_kubelet *k, uint64_t now_ms);
uint64_t sim_kubelet_deadline(const struct sim_kubelet *k);

enum sim_order { SIM_ORDER_NONE, SIM_ORDER_CONNECT, SIM_ORDER_CLOSE };
/* Next order; for CONNECT, *path is the socket (borrowed). */
enum sim_order sim_kubelet_order(struct sim_kubelet *k, unsigned *link, const char **path);
/* STATUS_OK: an ordered connection stands. Else why it does not; `link` is free again then. */
void sim_kubelet_connected(struct sim_kubelet *k, unsigned link, enum status s);
/* Room for received bytes; empty while the link is not open. */
struct writer sim_kubelet_rx(struct sim_kubelet *k, unsigned link);
void sim_kubelet_rx_commit(struct sim_kubelet *k, unsigned link, size_t n);
/* The peer closed. */
void sim_kubelet_link_end(struct sim_kubelet *k, unsigned link);
struct view sim_kubelet_tx(struct sim_kubelet *k, unsigned link);
void sim_kubelet_tx_commit(struct sim_kubelet *k, unsigned link, size_t n);

/* Next event; STATUS_MORE: none. */
MUST_USE enum status sim_kubelet_next(struct sim_kubelet *k, struct sim_kubelet_event *e);

struct sim_batch {
    enum sim_method method;
    const char *driver;
    const struct sim_claim *claims; /* at most CLAIMS_PER_CALL_MAX */
    unsigned count;
};

/* Registration socket of the plugin that sim_kubelet_call calls; "": none is registered. */
const char *sim_kubelet_called(struct sim_kubelet *k, const char *driver);
/*
 * Calls at `now_ms` the driver's newest registered plugin that is connected; *call names it in the
 * event to come. PEER_NOT_FOUND: the driver is not registered. STATUS_MORE: it is, but is not
 * connected now. FULL_TABLE: too many calls are under way.
 */
MUST_USE enum status sim_kubelet_call(struct sim_kubelet *k, uint64_t now_ms,
                                      const struct sim_batch *batch, unsigned *call);

#endif
