/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS client over a connected, non-blocking socket, by mbedTLS with a static arena (the only
 * allocator of the program). Owns the arena and the session; tls_verify.h decides whether the
 * server is trusted, tls_hello.h whether its version is accepted. TLS 1.3, and 1.2 on demand; ALPN
 * "h2" is required. Never sends application data before the server is verified.
 *
 * A server that updates its keys (TLS 1.3 KeyUpdate, which mbedTLS 3.6 does not support) ends the
 * connection with PEER_PROTOCOL; session tickets are ignored.
 */
#ifndef HOST_APISERVER_TLS_H
#define HOST_APISERVER_TLS_H

#include "base/bytes.h"

/*
 * PEM texts, which tls_start decodes in place. The authorities' text is borrowed until the end of
 * tls_handshake, the client's only during tls_start.
 */
struct tls_identity {
    uint8_t *ca_pem; /* any number of certificates */
    size_t ca_len;
    uint8_t *cert_pem;
    size_t cert_len; /* 0: no client certificate */
    uint8_t *key_pem;
    size_t key_len;
    const char *server_name; /* DNS name, or IP literal without brackets */
    bool with_tls12;         /* also offer TLS 1.2; otherwise only TLS 1.3 */
};

/* Bits: what the connection waits for. TURN: not for the socket, only for its next turn. */
enum tls_wants { TLS_WANTS_READ = 1, TLS_WANTS_WRITE = 2, TLS_WANTS_TURN = 4 };

/*
 * Checks once per process, before the first tls_start, that the kernel provides random numbers and
 * that the library starts within the arena. HOST_IO: one of the two fails.
 */
MUST_USE enum status tls_setup(void);
/*
 * Starts a session on `fd` (borrowed); ends an earlier one first, because the arena is rebuilt. On
 * failure `why` gets one line. PEER_MALFORMED: CA, certificate or key is invalid, or key and
 * certificate do not match. FULL_BUFFER: the arena is exhausted. HOST_IO: no randomness.
 */
MUST_USE enum status tls_start(int fd, const struct tls_identity *id, struct writer *why);
/*
 * Continues the handshake, by at most one signature check of a certificate. STATUS_MORE: wait for
 * tls_wants. STATUS_OK: the server is verified and speaks h2. Otherwise `why` gets one line.
 * PEER_UNTRUSTED: verification failed (x509_chain.h). PEER_REFUSED: the server rejects the client.
 * PEER_UNSUPPORTED: no ALPN h2, or no common version or cipher. PEER_PROTOCOL, PEER_CLOSED,
 * FULL_BUFFER.
 */
MUST_USE enum status tls_handshake(struct writer *why);
/* What the last STATUS_MORE waits for: bits of enum tls_wants. */
unsigned tls_wants(void);
/*
 * Reads at most `cap` bytes. STATUS_OK: *n >= 1; STATUS_MORE; PEER_CLOSED (close_notify, or the end
 * of the stream); PEER_REFUSED (with TLS 1.3 a server rejects the client's certificate here);
 * PEER_PROTOCOL.
 */
MUST_USE enum status tls_read(uint8_t *data, size_t cap, size_t *n);
/*
 * Writes bytes; returns the verdicts of tls_read. After STATUS_MORE the next call must begin with
 * the same bytes; it may add more.
 */
MUST_USE enum status tls_write(struct view data, size_t *n);
/*
 * Appends one line with the reason why the last tls_read or tls_write failed; nothing if it did not
 * fail.
 */
void tls_explain(struct writer *why);
/* Number of received bytes not read yet: if not 0, poll must not sleep. */
size_t tls_pending(void);
/* Ends the session, if any, and wipes the arena; the caller keeps the descriptor. */
void tls_end(void);
/* Highest use of the arena so far, in bytes, block headers included: an upper bound. */
size_t tls_arena_peak(void);
/* Bytes that the last session did not return to the arena. More than 0 is a leak. */
size_t tls_arena_leak(void);

#endif
