/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server sockets: two unix sockets for the kubelet, TCP ports for health and metrics.
 * Owns descriptors and socket files; knows no byte that travels over them. Does not log: verdicts
 * go to the loop.
 */
#ifndef HOST_SOCKETS_H
#define HOST_SOCKETS_H

#include <sys/types.h>

#include "base/bytes.h"
#include "wire/dns.h"

/* One server socket, open or not. */
struct listener {
    const char *path; /* unix socket, borrowed; NULL: TCP */
    uint16_t port;    /* TCP: wanted port, 0 for any; once open, the port in use */
    int fd;           /* -1: not open */
    dev_t device;     /* of the socket file that we made */
    ino_t inode;
};

/*
 * Opens the listener: a stale socket file of the name is removed first, the new one is readable and
 * writable for its owner only. TCP listens on every address, IPv6 and IPv4. HOST_*: *error is the
 * errno (EEXIST: the path is there and is no socket). The directory of a path is never made.
 */
MUST_USE enum status listener_open(struct listener *l, int *error);
/* Closes it, and removes the socket file if it is still the one that we made. */
void listener_close(struct listener *l);
/* What became of the socket file of a listener; TCP and closed listeners have none to lose. */
enum listener_file {
    LISTENER_FILE_OURS,
    LISTENER_FILE_GONE, /* removed: nobody can connect any more */
    LISTENER_FILE_TAKEN /* another file bears the name, that of a second agent for instance */
};
/* Compares the file that bears the name now with the one that was made. */
enum listener_file listener_file(const struct listener *l);

/*
 * connect(2) to a TCP or UDP port of an address. 0, or -1 with the cause in errno: a non-blocking
 * socket gives EINPROGRESS.
 */
MUST_USE int address_connect(int fd, const struct ip_address *a, uint16_t port);

/* What listener_accept found. */
struct accepted {
    int fd;        /* STATUS_OK: non-blocking, the caller's from now on */
    uint32_t peer; /* STATUS_OK: process id over a unix socket, else the address, folded */
    uid_t uid;     /* HOST_DENIED: whose connection it was */
    int error;     /* HOST_IO: errno */
};
/*
 * Takes one connection. STATUS_MORE: none waits; HOST_DENIED: a unix peer that is neither root nor
 * our own user (it is closed); HOST_IO: the system lacks descriptors or memory.
 */
MUST_USE enum status listener_accept(const struct listener *l, struct accepted *out);

#endif
