/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the versions in a server's first handshake messages, independently of mbedTLS but on the
 * same bytes. mbedTLS up to 3.6.7 accepts a ServerHello that mixes versions (CVE-2026-115490): such
 * a ServerHello has the version number and a cipher suite of TLS 1.3, but not the extension
 * supported_versions. The handshake then completes without a shared secret. Performs no I/O and has
 * no global state.
 *
 * Invariant: after TLS_HELLO_GOOD for all bytes of a ServerHello, its version number, its
 * extensions and its cipher suite belong to one version. A HelloRetryRequest before the ServerHello
 * has the same version.
 */
#ifndef HOST_APISERVER_TLS_HELLO_H
#define HOST_APISERVER_TLS_HELLO_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* Verdicts on a ServerHello. */
enum tls_hello_verdict {
    TLS_HELLO_GOOD,
    TLS_HELLO_OLD,  /* the ServerHello chooses TLS 1.2, which the client did not offer */
    TLS_HELLO_MIXED /* the ServerHello mixes TLS versions, or is invalid */
};

/*
 * Progress through records and messages up to the ServerHello; all zero at the start of a
 * connection.
 */
struct tls_hello {
    bool tls12;          /* the client also offers TLS 1.2; set by the caller */
    bool done;           /* the ServerHello is complete; all further bytes are ignored */
    bool retried;        /* a HelloRetryRequest was received */
    uint16_t suite;      /* cipher suite of the HelloRetryRequest */
    uint16_t header_len; /* number of bytes of the current record's header read so far */
    uint16_t left;       /* number of bytes of the current record that are not read yet */
    uint16_t len;        /* number of bytes of the current message read so far */
    uint8_t header[5];
    uint8_t message[TLS_HELLO_BYTES_MAX];
};

/* Reads the next bytes from the server, in the same sequence as mbedTLS gets them. */
enum tls_hello_verdict tls_hello_read(struct tls_hello *h, struct view data);

#endif
