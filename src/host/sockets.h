/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server sockets: two unix sockets for the kubelet, TCP ports for health and metrics. Owns
 * descriptors and socket files; knows nothing of the bytes that pass through them. Does not log:
 * returns verdicts to the loop.
 */
#ifndef HOST_SOCKETS_H
#define HOST_SOCKETS_H

#include <sys/types.h>

#include "base/bytes.h"
#include "wire/dns.h"

/* A server socket, open or not. */
struct listener {
    const char *path;    /* unix socket, borrowed; NULL: TCP */
    const char *address; /* TCP: address to listen on, borrowed; NULL or empty: all */
    uint16_t port;       /* TCP: wanted port, 0 for any; once open, the port in use */
    int fd;              /* -1: not open */
    dev_t device;        /* identity of the created socket file */
    ino_t inode;
};

/*
 * Opens the listener: removes a stale socket file of the name first; the new file is readable and
 * writable only for its owner. TCP without an address listens on all, IPv6 and IPv4. HOST_*: *error
 * is the errno (EEXIST: the path exists and is not a socket). Never creates the directory of a
 * path.
 */
MUST_USE enum status listener_open(struct listener *l, int *error);
/* Closes the listener, and removes its socket file if it still is the created one. */
void listener_close(struct listener *l);
/*
 * Returns a non-blocking descriptor connected to a unix socket, which the caller closes; -1: errno
 * has the reason.
 */
MUST_USE int socket_connect(const char *path);
/* Whether the path is a socket that nobody serves: connect(2) gives ECONNREFUSED. */
MUST_USE bool socket_is_dead(const char *path);
/* State of a listener's socket file. TCP and closed listeners have none: LISTENER_FILE_OURS. */
enum listener_file {
    LISTENER_FILE_OURS,
    LISTENER_FILE_GONE, /* removed: no peer can connect */
    LISTENER_FILE_TAKEN /* another file has the name, for instance a second agent's */
};
/* Compares the file that has the name now with the created one. */
enum listener_file listener_file(const struct listener *l);

/*
 * connect(2) to a TCP or UDP port of an address. 0, or -1 with the cause in errno: a non-blocking
 * socket gives EINPROGRESS.
 */
MUST_USE int address_connect(int fd, const struct ip_address *a, uint16_t port);

/* The result of listener_accept. */
struct accepted {
    int fd; /* STATUS_OK: non-blocking; the caller owns it */
    /*
     * STATUS_OK: process id over a unix socket, else the folded address; 0: of this network
     * namespace
     */
    uint32_t peer;
    bool heard; /* set by the caller if the peer has sent something already */
    uid_t uid;  /* HOST_DENIED: the peer's user */
    int error;  /* HOST_IO: errno */
};
/*
 * Accepts one connection. STATUS_MORE: none waits; HOST_DENIED: a unix peer that is neither root
 * nor the agent's own user (its connection is closed); HOST_IO: the system lacks descriptors or
 * memory.
 */
MUST_USE enum status listener_accept(const struct listener *l, struct accepted *out);

#endif
