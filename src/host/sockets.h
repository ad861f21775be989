/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's server sockets: two unix sockets for the kubelet, TCP ports for health and metrics.
 * Owns their descriptors and socket files; knows nothing of the bytes that pass through them. Logs
 * nothing: returns the result of each call to the main loop.
 */
#ifndef HOST_SOCKETS_H
#define HOST_SOCKETS_H

#include <sys/types.h>

#include "base/bytes.h"
#include "wire/dns.h"

/* A server socket, open or not. */
struct listener {
    const char *path;    /* path of the unix socket, borrowed; NULL: the listener is a TCP port */
    const char *address; /* TCP: address to listen on, borrowed; NULL or empty: all addresses */
    uint16_t port;       /* TCP port; 0: the kernel chooses it, and listener_open stores it */
    int fd;              /* descriptor of the listening socket; -1: the listener is not open */
    dev_t device;        /* device and inode number of the socket file that listener_open created */
    ino_t inode;
};

/*
 * Opens the listener. For a unix socket, first removes an existing socket file of this name; only
 * the owner can read and write the new file. Does not create the directory. TCP without an address
 * listens on all IPv6 and IPv4 addresses. On failure (HOST_*) *error is the errno (EEXIST: the path
 * exists and is not a socket).
 */
MUST_USE enum status listener_open(struct listener *l, int *error);
/* Closes the listener, and removes its socket file unless another file has replaced it. */
void listener_close(struct listener *l);
/*
 * Returns a non-blocking descriptor connected to a unix socket, which the caller closes; -1: errno
 * has the reason.
 */
MUST_USE int socket_connect(const char *path);
/* Whether the path is a unix socket that no process serves: connect(2) fails with ECONNREFUSED. */
MUST_USE bool socket_is_dead(const char *path);
/*
 * State of a listener's socket file. A TCP or closed listener has no file, and counts as
 * LISTENER_FILE_OURS.
 */
enum listener_file {
    LISTENER_FILE_OURS,
    LISTENER_FILE_GONE, /* the socket file was removed: no peer can connect */
    LISTENER_FILE_TAKEN /* another process, for instance a second agent, has replaced the file */
};
/* Returns the state of the socket file, by comparing device and inode. */
enum listener_file listener_file(const struct listener *l);

/*
 * Starts connect(2) to a TCP or UDP port. Returns 0, or -1 with the cause in errno; EINPROGRESS: a
 * non-blocking socket is connecting.
 */
MUST_USE int address_connect(int fd, const struct ip_address *a, uint16_t port);

/* What listener_accept returns: an accepted connection, or the reason why there is none. */
struct accepted {
    int fd; /* with STATUS_OK: non-blocking descriptor of the connection, owned by the caller */
    /*
     * With STATUS_OK: identifies the peer. Unix socket: the peer's process id. TCP: a number
     * computed from the peer's address, or 0 if the peer is in the same network namespace.
     */
    uint32_t peer;
    /* the peer has already sent bytes; the caller of listener_accept sets this member */
    bool heard;
    uid_t uid; /* with HOST_DENIED: user id of the refused peer */
    int error; /* with HOST_IO: errno of the failure */
};
/*
 * Accepts one connection. STATUS_MORE: no connection is ready. HOST_DENIED: the peer of a unix
 * socket is neither root nor the agent's user; its connection is closed. HOST_IO: the system lacks
 * descriptors or memory.
 */
MUST_USE enum status listener_accept(const struct listener *l, struct accepted *out);

#endif
