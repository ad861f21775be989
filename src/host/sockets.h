/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server sockets: two unix sockets for the kubelet, TCP ports for health and metrics. Owns
 * descriptors and socket files; knows nothing of the bytes that travel over them. Does not log:
 * verdicts go to the loop.
 */
#ifndef HOST_SOCKETS_H
#define HOST_SOCKETS_H

#include <sys/types.h>

#include "base/bytes.h"
#include "wire/dns.h"

/* One server socket, open or not. */
struct listener {
    const char *path;    /* unix socket, borrowed; NULL: TCP */
    const char *address; /* TCP: where to listen, borrowed; NULL or empty: everywhere */
    uint16_t port;       /* TCP: wanted port, 0 for any; once open, the port in use */
    int fd;              /* -1: not open */
    dev_t device;        /* of the socket file that was created */
    ino_t inode;
};

/*
 * Opens the listener: a stale socket file of the name is removed first, the new one is readable and
 * writable for its owner only. TCP without an address listens on all, IPv6 and IPv4. HOST_*: *error
 * is the errno (EEXIST: the path exists and is not a socket). The directory of a path is never
 * created.
 */
MUST_USE enum status listener_open(struct listener *l, int *error);
/* Closes the listener, and removes its socket file if it is still the one that it created. */
void listener_close(struct listener *l);
/* A non-blocking descriptor connected to a unix socket, the caller's; -1: errno tells why. */
MUST_USE int socket_connect(const char *path);
/* Whether the path is a socket on which nobody listens any more: connect(2) gives ECONNREFUSED. */
MUST_USE bool socket_is_dead(const char *path);
/* State of a listener's socket file. TCP and closed listeners have none: LISTENER_FILE_OURS. */
enum listener_file {
    LISTENER_FILE_OURS,
    LISTENER_FILE_GONE, /* removed: nobody can connect any more */
    LISTENER_FILE_TAKEN /* another file has the name, for instance that of a second agent */
};
/* Compares the file that has the name now with the one that was created. */
enum listener_file listener_file(const struct listener *l);

/*
 * connect(2) to a TCP or UDP port of an address. 0, or -1 with the cause in errno: a non-blocking
 * socket gives EINPROGRESS.
 */
MUST_USE int address_connect(int fd, const struct ip_address *a, uint16_t port);

/* What listener_accept found. */
struct accepted {
    int fd;        /* STATUS_OK: non-blocking, the caller's from now on */
    uint32_t peer; /* STATUS_OK: process id over a unix socket, else the address, folded;
                      0: of this network namespace */
    bool heard;    /* set by who waited until its peer had sent something */
    uid_t uid;     /* HOST_DENIED: whose connection it was */
    int error;     /* HOST_IO: errno */
};
/*
 * Accepts one connection. STATUS_MORE: none waits; HOST_DENIED: a unix peer that is neither root
 * nor our own user (it is closed); HOST_IO: the system lacks descriptors or memory.
 */
MUST_USE enum status listener_accept(const struct listener *l, struct accepted *out);

#endif
