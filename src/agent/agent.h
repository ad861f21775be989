/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent as the host uses it: bytes of connections in and out, time, the probe's result, and
 * orders that only the host can execute. Owns all state of the program (struct agents, one
 * instance); makes no system call except through the files port, so the same object runs in the
 * real loop, in a simulator and in a fuzzer.
 *
 * The host's loop: agent_init; open the server sockets; then forever: poll until agent_deadline;
 * move bytes between descriptors and links; agent_step; execute agent_order until NONE; write out
 * agent_log. Nothing here blocks.
 *
 * Invariants, for any bytes from any peer and any times, and even if any call of the files port
 * fails or the process ends in it:
 * I1 No assertion fails.
 * I2 Progress: while the time does not change, the agent requests a bounded number of steps; in any
 *    second, it requests steps at a bounded number of times.
 * I3 A claim that was answered as prepared is held and has its CDI file until it is unprepared, or
 *    released for a reason of recovery/reconcile.h.
 * I4 A new process holds the claims that the old one held.
 * I5 The API server's token is sent on LINK_API only, and is in no line of the log.
 * I6 What the agent sends to a peer is bounded by the peer's input and by time.
 * I7 A kubelet that connects gets responses, whatever other peers did or still do.
 * I8 Metrics have the exposition format in every line; pages and log lines are complete.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "agent/files.h"
#include "agent/settings.h"
#include "dra/efa.h"
#include "dra/telemetry.h"

/* One driver, see agent/frame.h; opaque outside src/agent. */
struct agent;

/* The kinds of server sockets; each link belongs to one. */
enum link_kind { LINK_REGISTRATION, LINK_SERVICE, LINK_GRPC_HEALTH, LINK_METRICS };
/* index of the API connection; server links are 0 … SERVER_LINKS-1 */
#define LINK_API SERVER_LINKS
/* Number of links: those of the server sockets and the one to the API server. */
#define LINKS_TOTAL (SERVER_LINKS + 1u)

/* Actions that only the host can execute. */
enum agent_order {
    ORDER_NONE,
    ORDER_CONNECT_API, /* connect, shake hands, then call agent_api_opened or agent_api_failed */
    /* read the token again, and pass it by agent_api_identity, changed or not */
    ORDER_READ_TOKEN,
    ORDER_CLOSE_API,          /* close the API connection now, without agent_api_ended */
    ORDER_RENEW_REGISTRATION, /* unlink and create the registration socket again */
    ORDER_OPEN_SOCKETS,       /* open the sockets of a driver that was added without --efa */
    /* stopping: unlink the registration socket, and accept no connection on it */
    ORDER_CLOSE_REGISTRATION,
    /* the EFA driver has ended: close all its descriptors; the agent has dropped it */
    ORDER_END_DRIVER,
    /* stopped cleanly: flush the log, unlink the service socket, exit 0 */
    ORDER_EXIT
};

/*
 * Initializes the only instance; settings and files are borrowed for its life. `seed` feeds the
 * jitter of backoffs. Never returns NULL.
 */
struct agent *agent_init(const struct settings *settings, const struct files *files, uint64_t seed,
                         uint64_t now_ms, uint64_t wall_ms);

/*
 * Adds the driver of the EFA devices (--efa), with its own files port, which is borrowed too. The
 * returned agent has its own links, orders and service socket: the functions for these,
 * agent_service and agent_device_plugin accept either agent. All other functions need the agent of
 * agent_init, and serve both drivers.
 *
 * Without --efa the driver only lets claims of earlier runs end. Its unix sockets stay closed until
 * ORDER_OPEN_SOCKETS, which follows if its store holds claims; ORDER_END_DRIVER follows once it
 * holds none.
 */
struct agent *agent_add_efa(struct agent *a, const struct files *files);

/* --- facts from the host --- */

/* Sets the time; call it after each wait before anything else. Log lines and time limits use it. */
void agent_time(struct agent *a, uint64_t now_ms, uint64_t wall_ms);
/*
 * Marks the time of the last agent_time as outdated, so that bytes that arrived in time are read
 * before time limits apply. Until the next agent_time the agent starts no API request, because its
 * time limit would begin in the past.
 */
void agent_time_old(struct agent *a);

/*
 * Passes the result of a probe of the node; the first one comes before the first step. Later
 * results may differ (hot-plug, module loaded late).
 */
void agent_found(struct agent *a, const struct found_node *found);
/*
 * Passes the result of a probe for EFA devices, after agent_found. Only if agent_add_efa was
 * called, and until ORDER_END_DRIVER.
 */
void agent_found_efas(struct agent *a, const struct found_efas *found);
/*
 * Sets the device values for the metrics (--device-metrics). `t` is borrowed for the agent's life;
 * the host may change the values between two steps.
 */
void agent_telemetry(struct agent *a, const struct telemetry *t);
/*
 * Sets bearer token (empty: none) and authority of the API server's URL; call before
 * agent_api_opened, whenever the token has changed, and after ORDER_READ_TOKEN.
 */
void agent_api_identity(struct agent *a, struct view token, struct view authority);
/* The API connection is open and its server verified; bytes may flow on LINK_API from now on. */
void agent_api_opened(struct agent *a, uint64_t now_ms);
/*
 * The API connection failed. `why`: one line, what failed and where. Call it also when TLS refuses
 * the server (PEER_UNTRUSTED), and when a file of the host is missing (HOST_ABSENT), which is
 * logged once.
 */
void agent_api_failed(struct agent *a, enum status status, const char *why, uint64_t now_ms);
/* The open API connection ended; `why` is empty if the server closed it without an error. */
void agent_api_ended(struct agent *a, const char *why);
/*
 * Logs an event of the host: `text` is one line, `log_id` an enum log_id of
 * agent/report/log_catalogue.h.
 */
void agent_host_log(struct agent *a, int log_id, const char *text);
/* Sets whether the kubelet can connect to the service socket; initially true. */
void agent_service(struct agent *a, bool serves);
/*
 * Sets the device plugin that gives out the same devices: the name of its socket in
 * settings.device_plugins_dir, in any bytes; empty: none, as before the first call. Changes are
 * logged; with a plugin the agent is not ready.
 */
void agent_device_plugin(struct agent *a, const char *name);
/*
 * Sets another driver with the name of agent_add_efa's driver on this node: the path of its
 * registration socket; empty: none. Changes are logged. While there is another driver, the agent is
 * not ready and does not write the slices: otherwise both drivers would undo each other's writes.
 */
void agent_other_driver(struct agent *efa, const char *path);
/* SIGTERM or SIGINT: begins to stop. */
void agent_stop(struct agent *a, uint64_t now_ms);

/* --- links --- */

/*
 * Opens a link for an accepted connection; returns its index, or -1: all links of the kind are in
 * use. The agent may then be closing an older link: send that link's last bytes and call again. If
 * the result is -1 again, close the connection. `peer` distinguishes peers (process id, address),
 * so that no peer can keep all links. Over TCP it is 0 for processes of this network namespace:
 * only these may read the log.
 */
int agent_link_open(struct agent *a, enum link_kind kind, uint32_t peer, uint64_t now_ms);
/*
 * Earliest time at which a new connection can get a link of the kind, a free one or one that is
 * closed for it; until then the host lets new connections wait. 0: at once; UINT64_MAX: not before
 * another link of the kind has ended.
 */
uint64_t agent_link_room_ms(const struct agent *a, enum link_kind kind);
/* Whether the kind has a free link; if not, agent_link_open returns -1 and may close a link. */
bool agent_link_free(const struct agent *a, enum link_kind kind);
/* Space for received bytes; empty: do not read now. */
struct writer agent_link_rx(struct agent *a, unsigned link);
/* Accepts `n` bytes that were written into the space of agent_link_rx. */
void agent_link_rx_commit(struct agent *a, unsigned link, size_t n);
/* The peer closed its side or the descriptor failed: no more input follows. */
void agent_link_end(struct agent *a, unsigned link);
/* Bytes to send on a link, valid until the next call; may be empty. */
struct view agent_link_tx(struct agent *a, unsigned link);
/* Removes the first `n` bytes of agent_link_tx after they were sent. */
void agent_link_tx_commit(struct agent *a, unsigned link, size_t n);
/* Whether the host must close the descriptor now; if true, the link index is free again. */
bool agent_link_done(struct agent *a, unsigned link);

/* --- running --- */

/* Does all work that is possible with the present bytes, facts and time. */
void agent_step(struct agent *a);
/* The next order; call until NONE after each step. */
enum agent_order agent_next_order(struct agent *a);
/* Whether sent bytes made room for work that waits: call agent_step at once. */
bool agent_step_due(const struct agent *a);
/* The latest time for the next agent_step, on the clock of now_ms. */
uint64_t agent_deadline(const struct agent *a);
/* Log lines to write out; call agent_log_written afterwards. */
struct view agent_log(const struct agent *a);
/* Marks the first `n` bytes of agent_log as written out. */
void agent_log_written(struct agent *a, size_t n);

#endif
