/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's server sockets: opens them, retries after failures, and creates them again if their
 * files were removed. Owns the timers and the log lines; sockets.h has the system calls.
 */
#ifndef HOST_SERVERS_H
#define HOST_SERVERS_H

#include "agent/agent.h"
#include "host/sockets.h"

/* A server socket, and its timers. */
struct server {
    struct listener listener;
    /*
     * directory to create if it is missing when the server opens; borrowed; NULL: create no
     * directory
     */
    const char *directory;
    /* Name of the driver, borrowed; the file names of its registration sockets start with it. */
    const char *driver;
    enum link_kind kind;
    bool wanted; /* keep the server open; false: the server is off, or closed for good */
    bool taken;  /* another process has replaced the socket file */
    /*
     * Errno of the last logged failure to open the server; 0: no failure since the server was last
     * open.
     */
    int reported;
    uint64_t retry_ms; /* when to try again to open the server */
    uint64_t backoff_ms;
    uint64_t pause_ms; /* accept no connection before this time, because accept4(2) failed */
    /* a failure of accept4(2) was logged, and no connection has been accepted since */
    bool accept_fails;
};

/* One server for each enum link_kind. */
#define SERVERS 4u

/* Sets `path` to the directory of a driver's service socket and claim store. */
void servers_directory(const struct driver *driver, char path[PATH_CAP]);
/*
 * Initializes the servers of a driver; the index of a server is its enum link_kind. Opens no
 * server. Only the first driver has the TCP ports. `service_dir`: directory of the service socket,
 * borrowed.
 */
void servers_init(struct server servers[SERVERS], const struct settings *settings,
                  enum driver_kind driver, const char *service_dir);
/*
 * Removes the driver's sockets that earlier pods left in the directories of the registration socket
 * and the service socket, unless a process serves them. Call at the start.
 */
void servers_remove_stale(const struct server servers[SERVERS], struct agent *agent);
/*
 * Opens the server socket now. On failure (HOST_*) `why` gets one line with the server's name, the
 * reason and the remedy.
 */
MUST_USE enum status server_begin(struct server *s, struct agent *agent, struct writer *why);
/*
 * Opens the server if it is wanted and closed, and its retry time has come. On failure sets the
 * next retry time, and logs the failure unless the last failure had the same errno.
 */
void server_try(struct server *s, struct agent *agent, uint64_t now_ms);
/*
 * Opens the server socket again if its file was removed. If another process has replaced the file,
 * logs that and leaves the file.
 */
void server_check(struct server *s, struct agent *agent, uint64_t now_ms);
/* Closes the server socket and opens a new one, unless another process has replaced its file. */
void server_renew(struct server *s, struct agent *agent, uint64_t now_ms);
/*
 * Whether peers can connect: the server is open, and no other process has replaced its socket file.
 */
bool server_serves(const struct server *s);
/* Closes the server; no later call opens it again. */
void server_stop(struct server *s);
/*
 * Accepts one connection. STATUS_OK: *out is set. STATUS_MORE: no connection was accepted, because
 * no connection is ready, accept4(2) failed, or the peer may not use the server. Logs failures.
 * Closes and logs the connection of a peer that may not use the server.
 */
MUST_USE enum status server_accept(struct server *s, struct agent *agent, uint64_t now_ms,
                                   struct accepted *out);
/*
 * Returns the descriptor of the server socket, to poll for reading; -1: the server is closed, or
 * accepts no connection now.
 */
int server_poll(const struct server *s, uint64_t now_ms);
/*
 * Returns when to call server_try, or when to poll the server again; UINT64_MAX: at no fixed time.
 */
uint64_t server_deadline(const struct server *s, uint64_t now_ms);

#endif
