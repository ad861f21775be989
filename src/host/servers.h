/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's server sockets over time: they are opened, retried while that fails, and created
 * again when others removed them. Owns when that happens and what is logged; never touches a socket
 * itself (sockets.h does).
 */
#ifndef HOST_SERVERS_H
#define HOST_SERVERS_H

#include "agent/agent.h"
#include "host/sockets.h"

/* One server socket and when it is looked at again. */
struct server {
    struct listener listener;
    const char *directory; /* of the socket, made again when it is gone, borrowed; NULL: never */
    const char *driver;    /* its name, borrowed; of the unix sockets */
    enum link_kind kind;
    bool wanted;       /* false: off, or closed for good */
    bool taken;        /* the socket file belongs to another process */
    int reported;      /* errno that was logged last; 0: none */
    uint64_t retry_ms; /* when opening is tried again */
    uint64_t backoff_ms;
    uint64_t pause_ms; /* not polled before this: accept failed */
    bool accept_fails; /* that was logged, and no connection was accepted since */
};

/* One for each enum link_kind. */
#define SERVERS 4u

/* The directory of a driver's service socket, which is that of its claim store too. */
void servers_directory(const struct driver *driver, char path[PATH_CAP]);
/*
 * One server of the driver for each enum link_kind, at that index; none is open yet. The ports are
 * the first driver's alone. `service_dir`: of the service socket, borrowed.
 */
void servers_init(struct server servers[SERVERS], const struct settings *settings,
                  enum driver_kind driver, const char *service_dir);
/*
 * At start: removes sockets of this driver that earlier pods left in the two directories, those on
 * which nobody listens.
 */
void servers_remove_stale(const struct server servers[SERVERS], struct agent *agent);
/* Opens the server now. HOST_*: `why` gets one line with name, reason and remedy. */
MUST_USE enum status server_begin(struct server *s, struct agent *agent, struct writer *why);
/* Opens the server if it is wanted, closed and due. A failure is logged once for each reason, and
 * retried. */
void server_try(struct server *s, struct agent *agent, uint64_t now_ms);
/* Creates the socket again if its file was removed. A file of another process is left alone. */
void server_check(struct server *s, struct agent *agent, uint64_t now_ms);
/* Removes the socket and creates it again. */
void server_renew(struct server *s, struct agent *agent, uint64_t now_ms);
/* Whether peers can connect to the server. */
bool server_serves(const struct server *s);
/* Closes the server; it is not opened again. */
void server_stop(struct server *s);
/*
 * Accepts one connection. STATUS_OK: *out is set. STATUS_MORE: none waits. The connection of a peer
 * that may not connect is closed and logged.
 */
MUST_USE enum status server_accept(struct server *s, struct agent *agent, uint64_t now_ms,
                                   struct accepted *out);
/* Descriptor to poll for reading, or -1. */
int server_poll(const struct server *s, uint64_t now_ms);
/* When server_try, or polling again, is due. */
uint64_t server_deadline(const struct server *s, uint64_t now_ms);

#endif
