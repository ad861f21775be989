/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Life of the agent's server sockets: opens them, retries failures, and recreates them when others
 * removed them. Owns the times and the log lines of this; sockets.h handles the sockets themselves.
 */
#ifndef HOST_SERVERS_H
#define HOST_SERVERS_H

#include "agent/agent.h"
#include "host/sockets.h"

/* A server socket, and its timers. */
struct server {
    struct listener listener;
    const char *directory; /* of the socket, recreated when it is gone, borrowed; NULL: never */
    const char *driver;    /* unix sockets: the driver's name, borrowed */
    enum link_kind kind;
    bool wanted;       /* false: off, or closed for good */
    bool taken;        /* the socket's name belongs to another process */
    int reported;      /* errno last logged; 0: none */
    uint64_t retry_ms; /* when to try again to open it */
    uint64_t backoff_ms;
    uint64_t pause_ms; /* do not poll before: accept failed */
    bool accept_fails; /* that failure was logged, and no connection was accepted since */
};

/* One for each enum link_kind. */
#define SERVERS 4u

/* The directory of a driver's service socket and claim store. */
void servers_directory(const struct driver *driver, char path[PATH_CAP]);
/*
 * Initializes one server of the driver for each enum link_kind, at that index; none is open yet.
 * Only the first driver has the ports. `service_dir`: directory of the service socket, borrowed.
 */
void servers_init(struct server servers[SERVERS], const struct settings *settings,
                  enum driver_kind driver, const char *service_dir);
/*
 * At the start: removes sockets of this driver that earlier pods left in the two directories and
 * that nobody serves.
 */
void servers_remove_stale(const struct server servers[SERVERS], struct agent *agent);
/* Opens the server now. HOST_*: `why` gets one line with name, reason and remedy. */
MUST_USE enum status server_begin(struct server *s, struct agent *agent, struct writer *why);
/* Opens the server if it is wanted, closed and due. A failure is logged once for each reason, and
 * retried. */
void server_try(struct server *s, struct agent *agent, uint64_t now_ms);
/* Recreates the socket if its file was removed. A file of another process stays. */
void server_check(struct server *s, struct agent *agent, uint64_t now_ms);
/* Removes and recreates the socket. */
void server_renew(struct server *s, struct agent *agent, uint64_t now_ms);
/* Whether peers can connect to the server. */
bool server_serves(const struct server *s);
/* Closes the server for good. */
void server_stop(struct server *s);
/*
 * Accepts one connection. STATUS_OK: *out is set. STATUS_MORE: none waits. If the peer has no right
 * to connect, closes the connection and logs it.
 */
MUST_USE enum status server_accept(struct server *s, struct agent *agent, uint64_t now_ms,
                                   struct accepted *out);
/* Descriptor to poll for reading, or -1. */
int server_poll(const struct server *s, uint64_t now_ms);
/* When server_try, or polling again, is due. */
uint64_t server_deadline(const struct server *s, uint64_t now_ms);

#endif
