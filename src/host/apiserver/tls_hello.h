/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The versions in a server's first handshake messages, read beside mbedTLS from the same bytes. Up
 * to 3.6.7 the library takes a ServerHello of mixed versions (CVE-2026-115490): without the
 * extension supported_versions, but with the version number and a cipher suite of TLS 1.3. The
 * handshake then ends without a secret. Pure.
 *
 * Invariant: after TLS_HELLO_GOOD for all bytes of a ServerHello, its version number, its
 * extensions and its cipher suite are of one version, and of that of a HelloRetryRequest before it.
 */
#ifndef HOST_APISERVER_TLS_HELLO_H
#define HOST_APISERVER_TLS_HELLO_H

#include "base/bytes.h"
#include "cfg/limits.h"

enum tls_hello_verdict {
    TLS_HELLO_GOOD,
    TLS_HELLO_OLD,  /* of TLS 1.2, which was not offered */
    TLS_HELLO_MIXED /* of two versions, or not a ServerHello that can be read */
};

/* Records and messages up to the ServerHello; all zero at the start of a connection. */
struct tls_hello {
    bool tls12;          /* TLS 1.2 was offered too; set by the caller */
    bool done;           /* the ServerHello was read whole: the rest is not looked at */
    bool retried;        /* a HelloRetryRequest came */
    uint16_t suite;      /* of the HelloRetryRequest */
    uint16_t header_len; /* bytes of a record's header so far */
    uint16_t left;       /* bytes of the record that are still to come */
    uint16_t len;        /* bytes of the message so far */
    uint8_t header[5];
    uint8_t message[TLS_HELLO_BYTES_MAX];
};

/* Reads the next bytes of the connection, as they are given to the library. */
enum tls_hello_verdict tls_hello_read(struct tls_hello *h, struct view data);

#endif
