/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between the agent and the host. The host passes in the time, received bytes and the
 * results of probes; it gets back bytes to send, log lines, and orders that only the host can
 * execute. The agent owns all state of the program (struct agents, one instance). It makes no
 * system call except through the files port, so the same code runs in the real loop, in a simulator
 * and in a fuzzer.
 *
 * The host calls agent_init and opens the server sockets. Then it repeats: poll until
 * agent_deadline, move bytes between descriptors and links, call agent_step, execute the orders of
 * agent_next_order until ORDER_NONE, write out agent_log. No function of this header waits for a
 * peer.
 *
 * Invariants, which hold for any bytes from any peer and for any times, even if a call of the files
 * port fails or the process dies during such a call:
 * I1 No assertion fails.
 * I2 Progress: while the time does not change, the agent requests a bounded number of steps; in any
 *    second, it requests steps at a bounded number of times.
 * I3 A claim that was answered as prepared is held and has its CDI file until it is unprepared, or
 *    released for one of the reasons in recovery/reconcile.h.
 * I4 After a restart, the new process holds the claims that the old process held.
 * I5 The API server's token is sent only on LINK_API, and appears in no log line.
 * I6 The amount of data that the agent sends to a peer is bounded by the peer's input and by the
 *    elapsed time.
 * I7 A kubelet that connects gets responses, regardless of what other peers do.
 * I8 Every line of the metrics conforms to the exposition format; pages and log lines are complete.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "agent/files.h"
#include "agent/settings.h"
#include "dra/efa.h"
#include "dra/telemetry.h"

/* One driver of the agent, see agent/frame.h; an opaque type outside src/agent. */
struct agent;

/* The kinds of server sockets; each server link belongs to a socket of one of these kinds. */
enum link_kind { LINK_REGISTRATION, LINK_SERVICE, LINK_GRPC_HEALTH, LINK_METRICS };
/*
 * link indexes of the API connection, and of the connection to the kubelet's socket
 * pod-resources/kubelet.sock; the indexes 0 to SERVER_LINKS-1 are those of server links
 */
#define LINK_API SERVER_LINKS
#define LINK_PODS (SERVER_LINKS + 1u)
/* Number of links: the server links, one link to the API server, and one to the kubelet. */
#define LINKS_TOTAL (SERVER_LINKS + 2u)

/* Actions that only the host can execute. */
enum agent_order {
    ORDER_NONE,
    /* connect to the API server by TLS, then call agent_api_opened or agent_api_failed */
    ORDER_CONNECT_API,
    /* read the bearer token again and call agent_api_identity, even if the token is unchanged */
    ORDER_READ_TOKEN,
    ORDER_CLOSE_API, /* close the API connection now, without a call of agent_api_ended */
    /*
     * connect to the kubelet's socket pod-resources/kubelet.sock, then call agent_pods_opened or
     * agent_pods_failed
     */
    ORDER_CONNECT_PODS,
    ORDER_CLOSE_PODS,         /* close that connection now; it may have ended already */
    ORDER_RENEW_REGISTRATION, /* unlink the registration socket and create it again */
    /*
     * open the EFA driver's unix sockets, because claims of an earlier run may be left although
     * --efa is off
     */
    ORDER_OPEN_SOCKETS,
    /* the agent is stopping: unlink the registration socket, and accept no connection on it */
    ORDER_CLOSE_REGISTRATION,
    /* the EFA driver has ended and the agent no longer uses it: close all its descriptors */
    ORDER_END_DRIVER,
    /* the agent has stopped cleanly: flush the log, unlink the service socket, exit 0 */
    ORDER_EXIT
};

/*
 * Initializes the agent, of which the program has only one. `settings` and `files` are borrowed for
 * the agent's life. `seed` feeds the jitter of backoffs. Never returns NULL.
 */
struct agent *agent_init(const struct settings *settings, const struct files *files, uint64_t seed,
                         uint64_t now_ms, uint64_t wall_ms);

/*
 * Adds the driver of the EFA devices (--efa), with its own files port, which is borrowed too. The
 * returned agent has its own links, orders and service socket, so the functions for links and
 * orders, agent_service and agent_device_plugin accept either agent. agent_other_driver needs the
 * returned agent. All other functions need the agent of agent_init, and serve both drivers.
 *
 * Without --efa the driver only unprepares claims of earlier runs. Its unix sockets stay closed
 * until ORDER_OPEN_SOCKETS, which agent_next_order returns if the driver may hold claims. When the
 * driver holds no claim, agent_next_order returns ORDER_END_DRIVER.
 */
struct agent *agent_add_efa(struct agent *a, const struct files *files);

/* --- functions by which the host passes facts to the agent --- */

/*
 * Sets the time; call it after each wait, before any other function. Log lines and time limits use
 * this time.
 */
void agent_time(struct agent *a, uint64_t now_ms, uint64_t wall_ms);
/*
 * Marks the time of the last agent_time as outdated, so that bytes that arrived in time are read
 * before time limits apply. Until the next agent_time the agent starts no API request, because the
 * request's time limit would begin in the past.
 */
void agent_time_old(struct agent *a);

/*
 * Passes the result of a probe of the node. Call it once before the first agent_step, and after
 * each later probe; later results may differ (hot-plug, module loaded late).
 */
void agent_found(struct agent *a, const struct found_node *found);
/*
 * Passes the result of a probe for EFA devices. Call it after agent_found, and only between
 * agent_add_efa and ORDER_END_DRIVER.
 */
void agent_found_efas(struct agent *a, const struct found_efas *found);
/*
 * Sets the device values for the metrics (--device-metrics). `t` is borrowed for the agent's life;
 * the host may change the values between two steps.
 */
void agent_telemetry(struct agent *a, const struct telemetry *t);
/*
 * Sets the bearer token (empty: none) and the authority (host:port) of the API server. Call it
 * before agent_api_opened, whenever the token has changed, and after ORDER_READ_TOKEN.
 */
void agent_api_identity(struct agent *a, struct view token, struct view authority);
/*
 * Reports that the API connection is open and the server is verified; LINK_API may be used from now
 * on.
 */
void agent_api_opened(struct agent *a, uint64_t now_ms);
/*
 * Reports that the attempt to connect failed. `why`: one line, what failed and where. Call it also
 * when TLS rejects the server (PEER_UNTRUSTED) and when a file of the host is missing
 * (HOST_ABSENT); the agent logs a missing file only once.
 */
void agent_api_failed(struct agent *a, enum status status, const char *why, uint64_t now_ms);
/*
 * Reports that the open API connection has ended. `why`: one line with the reason; empty: the
 * server closed the connection without an error.
 */
void agent_api_ended(struct agent *a, const char *why);
/*
 * Reports that the kubelet's socket of ORDER_CONNECT_PODS is connected: LINK_PODS may be used until
 * ORDER_CLOSE_PODS. If the connection ends before, the host calls agent_link_end.
 */
void agent_pods_opened(struct agent *a, uint64_t now_ms);
/* Reports that the host cannot connect to that socket. `why`: one line, the path and the reason. */
void agent_pods_failed(struct agent *a, const char *why);
/*
 * Logs an event of the host: `text` is one line, `log_id` an enum log_id of
 * agent/report/log_catalogue.h.
 */
void agent_host_log(struct agent *a, int log_id, const char *text);
/*
 * Sets whether the kubelet can connect to the service socket. Before the first call, the agent
 * assumes that the kubelet can connect.
 */
void agent_service(struct agent *a, bool serves);
/*
 * Sets whether a device plugin on this node offers the same devices. `name`: name of the plugin's
 * socket in settings.device_plugins_dir, which may contain any bytes; empty, as before the first
 * call: there is no plugin. The agent logs changes, and is not ready while there is a plugin.
 */
void agent_device_plugin(struct agent *a, const char *name);
/*
 * Sets whether another driver on this node has the same name as the EFA driver. `path`: the other
 * driver's registration socket; empty: there is no other driver. The agent logs changes. While
 * there is another driver, the agent is not ready and does not write the EFA driver's slices,
 * because otherwise both drivers would undo each other's writes.
 */
void agent_other_driver(struct agent *efa, const char *path);
/* Begins to stop the agent; call it after SIGTERM or SIGINT. */
void agent_stop(struct agent *a, uint64_t now_ms);

/* --- functions by which the host moves bytes between descriptors and links --- */

/*
 * Opens a link for an accepted connection; returns the index of the link, or -1: all links of the
 * kind are in use. After -1 the agent may be closing an older link to free it: send that link's
 * last bytes and call again. If the result is -1 again, close the new connection. `peer`
 * distinguishes peers (by process id or address), so that no peer can keep all links. For a TCP
 * connection, `peer` 0 means a process of this network namespace; only such a process may read the
 * log.
 */
int agent_link_open(struct agent *a, enum link_kind kind, uint32_t peer, uint64_t now_ms);
/*
 * Earliest time at which a new connection can get a link of the kind: a free link, or a link that
 * the agent closes for the new connection. Until then the host lets new connections wait. 0: at
 * once; UINT64_MAX: not before another link of the kind has ended.
 */
uint64_t agent_link_room_ms(const struct agent *a, enum link_kind kind);
/*
 * Whether a link of this kind is free; if no link is free, agent_link_open returns -1 and may begin
 * to close a link.
 */
bool agent_link_free(const struct agent *a, enum link_kind kind);
/*
 * Space for the next bytes that arrive on a link; empty: the host must not read from the link's
 * connection now.
 */
struct writer agent_link_rx(struct agent *a, unsigned link);
/* Accepts `n` bytes that were written into the space of agent_link_rx. */
void agent_link_rx_commit(struct agent *a, unsigned link, size_t n);
/*
 * Reports that no more input of a link follows: the peer closed its side, or the descriptor failed.
 */
void agent_link_end(struct agent *a, unsigned link);
/*
 * Returns the bytes to send on a link, valid until the next call of a function of this header;
 * empty: there are no bytes to send now.
 */
struct view agent_link_tx(struct agent *a, unsigned link);
/* Removes the first `n` bytes of agent_link_tx, after the host has sent them. */
void agent_link_tx_commit(struct agent *a, unsigned link, size_t n);
/*
 * Whether the host must close the descriptor of this link now; if true, the link index is free
 * again.
 */
bool agent_link_done(struct agent *a, unsigned link);

/* --- functions that run the agent and return its orders and log lines --- */

/* Does all work that is possible with the bytes, facts and time that the host has passed in. */
void agent_step(struct agent *a);
/*
 * Returns the next order for the host. After each step, call this function until it returns
 * ORDER_NONE.
 */
enum agent_order agent_next_order(struct agent *a);
/*
 * Whether agent_step must be called at once, for example because the host has sent bytes and the
 * link can now take more output.
 */
bool agent_step_due(const struct agent *a);
/*
 * The latest time at which agent_step must be called again, on the clock that agent_time passes as
 * now_ms.
 */
uint64_t agent_deadline(const struct agent *a);
/* The log lines to write out; call agent_log_written afterwards. */
struct view agent_log(const struct agent *a);
/* Marks the first `n` bytes of agent_log as written out. */
void agent_log_written(struct agent *a, size_t n);

#endif
