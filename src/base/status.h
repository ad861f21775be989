/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results that fallible functions of every layer return. Owns the enum and its names; holds no
 * state and knows no domain.
 *
 * Families: OK and MORE (progress), PEER_* (a peer sent something wrong), FULL_* (a limit of
 * cfg/limits.h was reached), HOST_* (the operating system refused). A bug in this program has no
 * status: it fails an ASSERT.
 *
 * In every header, unless a comment says otherwise: a pointer parameter is not NULL and is borrowed
 * for the duration of the call; a call that fails leaves the objects behind its pointer parameters
 * unchanged; lengths are in bytes.
 */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

/* Marks a function whose result the caller must check. */
#define MUST_USE __attribute__((warn_unused_result))

/* Result of a fallible function; the function's comment says when it returns which status. */
enum status {
    STATUS_OK = 0,
    STATUS_MORE,      /* not enough input or room yet: call again when there is more */
    PEER_MALFORMED,   /* bytes that do not follow their format */
    PEER_PROTOCOL,    /* well-formed bytes that the protocol forbids at this point */
    PEER_UNSUPPORTED, /* valid bytes of a version or feature that this program does not support */
    PEER_NOT_FOUND,   /* what was asked for does not exist at the peer */
    PEER_REFUSED,     /* the peer answered with an error that no status above describes */
    PEER_TIMEOUT,     /* the peer did not answer within the time limit */
    PEER_CLOSED,      /* the connection ended */
    PEER_UNTRUSTED,   /* the identity of the peer could not be verified */
    FULL_TABLE,       /* a table of fixed size has no free entry */
    FULL_BUFFER,      /* a value is longer than its bound */
    FULL_BUDGET,      /* a peer exceeded its work limit (HTTP/2 ENHANCE_YOUR_CALM) */
    HOST_IO,          /* read, write or sync failed */
    HOST_NO_SPACE,    /* the disk is full or the quota is used up */
    HOST_DENIED,      /* the process has no permission, or the file system is read-only */
    HOST_ABSENT,      /* the file or directory does not exist */
    HOST_DAMAGED,     /* stored bytes fail their checksum or are malformed */
    HOST_BUSY,        /* another process holds the lock, or the resource is in use */
    STATUS_COUNT
};

/* Ignores the result of a call whose failure needs no reaction; `why` documents the reason. */
static inline void status_ignore(enum status s, const char *why)
{
    (void)s;
    (void)why;
}

/* Short name of a status for log lines, e.g. "peer-malformed". Static text; never NULL. */
const char *status_name(enum status s);

#endif
