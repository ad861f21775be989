/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent as the host sees it: bytes of connections in and out, time, what the probe found, and
 * orders that only the host can carry out. Owns all state of the program (struct agent, one
 * instance); makes no system call but the files port, so the same object runs in the real loop, in
 * a simulator and in a fuzzer.
 *
 * The host's loop: agent_init; open the server sockets; then for ever: poll until agent_deadline;
 * move bytes between descriptors and links; agent_step; carry out agent_order until NONE; write out
 * agent_log. Nothing in here blocks.
 *
 * Invariants, for any octets of any peer, any times, and any call of the files port that fails or
 * is the last one of the process:
 * I1 No assertion fails.
 * I2 Progress: at one moment the agent asks for a bounded number of steps, and in any second for a
 *    bounded number of moments.
 * I3 A claim that was answered as prepared is held and has its CDI file until it is unprepared, or
 *    released for a reason of claims/reconcile.h.
 * I4 A new process holds the claims that the old one held.
 * I5 The API server's token is on no link but LINK_API, and in no line of the log.
 * I6 What a peer is sent is bounded by what it sent and by time.
 * I7 A kubelet that comes is answered, whatever other peers did or still do.
 * I8 Metrics are of the exposition format, every line of them; pages and log lines are whole.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "agent/files.h"
#include "agent/settings.h"
#include "dra/efa.h"
#include "dra/telemetry.h"

/* All state of the program, see agent/state.h; nobody outside src/agent looks into it. */
struct agent;

/* The server sockets: which kind of peer a link belongs to. */
enum link_kind { LINK_REGISTRATION, LINK_SERVICE, LINK_HEALTH, LINK_METRICS };
/* index of the API connection; server links are 0 … SERVER_LINKS-1 */
#define LINK_API SERVER_LINKS
/* All links: those of the servers and the one to the API server. */
#define LINKS_TOTAL (SERVER_LINKS + 1u)

/* What only the host can carry out. */
enum agent_order {
    ORDER_NONE,
    ORDER_CONNECT_API, /* connect, shake hands, then agent_api_opened or agent_api_failed */
    /* read the token again, and hand it in by agent_api_identity, changed or not */
    ORDER_READ_TOKEN,
    ORDER_CLOSE_API,          /* close the API connection now, without agent_api_ended */
    ORDER_RENEW_REGISTRATION, /* unlink and create the registration socket again */
    ORDER_OPEN_SOCKETS,       /* of a driver that was added without --efa */
    /* stopping: unlink the registration socket, accept nothing more on it */
    ORDER_CLOSE_REGISTRATION,
    /* the EFA driver has ended: close all that it has; the agent knows it no more */
    ORDER_END_DRIVER,
    /* stopped cleanly: flush the log, unlink the service socket, exit 0 */
    ORDER_EXIT
};

/*
 * The one instance; settings and files are borrowed for its life. `seed` feeds the jitter of
 * backoffs. Never NULL.
 */
struct agent *agent_init(const struct settings *settings, const struct files *files, uint64_t seed,
                         uint64_t now_ms, uint64_t wall_ms);

/*
 * Adds the driver of the EFA devices (--efa), with a files port of its own; borrowed, too. What it
 * returns has links, orders and a service socket of its own: the functions for these,
 * agent_service and agent_device_plugin take either. All others take what agent_init returned, and
 * serve both drivers.
 *
 * Without --efa the driver only lets claims of earlier runs end. Its unix sockets stay closed until
 * ORDER_OPEN_SOCKETS, which comes if its store holds claims; ORDER_END_DRIVER comes once it holds
 * none.
 */
struct agent *agent_add_efa(struct agent *a, const struct files *files);

/* --- facts from the host --- */

/* Sets the time; called after each wait before anything else. Log lines and time limits use it. */
void agent_time(struct agent *a, uint64_t now_ms, uint64_t wall_ms);
/*
 * The time that was set is old, because what came in time is read before a time limit is judged.
 * Until the next agent_time nothing is asked of the API server: a time limit that counts from the
 * past would be over then.
 */
void agent_time_old(struct agent *a);

/*
 * A probe of the node; the first one comes before the first step. Later ones may differ (hot-plug,
 * module loaded late).
 */
void agent_found(struct agent *a, const struct found_node *found);
/*
 * The same of the EFA devices, after agent_found; only where agent_add_efa was called, and until
 * ORDER_END_DRIVER.
 */
void agent_found_efas(struct agent *a, const struct found_efas *found);
/*
 * The metrics have the values of the devices from now on (--device-metrics); `t` is borrowed for
 * the agent's life, and the host writes it between two steps.
 */
void agent_telemetry(struct agent *a, const struct telemetry *t);
/*
 * Bearer token (empty: none) and authority of the API server's URL; before agent_api_opened,
 * whenever the token changed, and after ORDER_READ_TOKEN.
 */
void agent_api_identity(struct agent *a, struct view token, struct view authority);
/* The API connection is up and its server verified; bytes may flow on LINK_API from now on. */
void agent_api_opened(struct agent *a, uint64_t now_ms);
/*
 * `why`: one line, what failed and where. Also for a connection refused by TLS (PEER_UNTRUSTED),
 * and for a file of the host that is missing (HOST_ABSENT): that is logged once.
 */
void agent_api_failed(struct agent *a, enum status status, const char *why, uint64_t now_ms);
/* The open API connection ended; `why` is empty when the server just closed it. */
void agent_api_ended(struct agent *a, const char *why);
/*
 * Logs something that the host met and an operator must know: `text` is one line, `log_id` an
 * enum log_id of agent/report/log_catalogue.h.
 */
void agent_host_log(struct agent *a, int log_id, const char *text);
/* Whether the kubelet can connect to the service socket; until this is called, it can. */
void agent_service(struct agent *a, bool serves);
/*
 * A device plugin gives away the devices of this node too: the name of its socket in
 * settings.device_plugins_dir, in any bytes; empty: none does. Until this is called, none does.
 * Whether there is one is logged when it changes; the agent is not ready meanwhile.
 */
void agent_device_plugin(struct agent *a, const char *name);
/*
 * Another driver of the name of agent_add_efa's runs on this node: the path of its registration
 * socket; empty: none does. Whether there is one is logged when it changes. Meanwhile the agent is
 * not ready, and leaves that driver's slices alone: both would undo what the other one writes.
 */
void agent_other_driver(struct agent *efa, const char *path);
/* SIGTERM or SIGINT. */
void agent_stop(struct agent *a, uint64_t now_ms);

/* --- links --- */

/*
 * A connection was accepted: its link index, or -1 when the table of its kind is full (close it).
 * An older one may have been chosen to end instead: ask again when its last bytes are taken. `peer`
 * distinguishes peers (process id, address): no peer may hold all places. Over TCP
 * it is 0 for processes of this network namespace, which alone may read the log.
 */
int agent_link_open(struct agent *a, enum link_kind kind, uint32_t peer, uint64_t now_ms);
/*
 * When a connection of the kind gets a place, free or one that another gives up for it: one that
 * comes earlier waits. 0: at once; UINT64_MAX: when another one of the kind ended.
 */
uint64_t agent_link_room_ms(const struct agent *a, enum link_kind kind);
/* Whether a place of the kind is free, so that nobody gives way. */
bool agent_link_free(const struct agent *a, enum link_kind kind);
/* Room for received bytes; empty: read nothing now. */
struct writer agent_link_rx(struct agent *a, unsigned link);
/* Says that `n` bytes were written into the room that agent_link_rx gave. */
void agent_link_rx_commit(struct agent *a, unsigned link, size_t n);
/* The peer closed or the descriptor failed: nothing more arrives. */
void agent_link_end(struct agent *a, unsigned link);
/* Bytes to send on a link, valid until the next call; empty: nothing now. */
struct view agent_link_tx(struct agent *a, unsigned link);
/* Says that the first `n` of these bytes are sent. */
void agent_link_tx_commit(struct agent *a, unsigned link, size_t n);
/*
 * Whether the host must close the descriptor now; true also says that the link index is free again.
 */
bool agent_link_done(struct agent *a, unsigned link);

/* --- running --- */

/* Does all work that bytes, facts and time allow. */
void agent_step(struct agent *a);
/* Next order; call until NONE after each step. */
enum agent_order agent_next_order(struct agent *a);
/* Whether bytes that were just sent made room for work that waited: agent_step goes on at once. */
bool agent_step_due(const struct agent *a);
/* When agent_step must run at the latest, in now_ms terms. */
uint64_t agent_deadline(const struct agent *a);
/* Log lines waiting; agent_log_written says how many bytes were written. */
struct view agent_log(struct agent *a);
/* Says that the first `n` bytes of agent_log are written out. */
void agent_log_written(struct agent *a, size_t n);

#endif
