/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS client over a connected, non-blocking socket, by mbedTLS with a static arena (the only
 * allocator of the program). Owns the arena and the session; tls_verify.h decides whether the
 * server is trusted, tls_hello.h whether its version is accepted. TLS 1.3, and 1.2 on demand; ALPN
 * "h2" is required. Never sends application data before
 * the verification has succeeded.
 *
 * A server that updates its keys (TLS 1.3 KeyUpdate, which mbedTLS 3.6 does not speak) ends the
 * connection with PEER_PROTOCOL; session tickets are ignored.
 */
#ifndef HOST_APISERVER_TLS_H
#define HOST_APISERVER_TLS_H

#include "base/bytes.h"

/*
 * PEM texts, which tls_start decodes in place. The authorities' one stays borrowed until
 * tls_handshake has ended, those of the client during tls_start only.
 */
struct tls_identity {
    uint8_t *ca_pem; /* one certificate or several, in any number */
    size_t ca_len;
    uint8_t *cert_pem;
    size_t cert_len; /* 0: no client certificate */
    uint8_t *key_pem;
    size_t key_len;
    const char *server_name; /* DNS name, or IP literal without brackets */
    bool with_tls12;         /* TLS 1.2 is offered too, else TLS 1.3 alone */
};

/* Bits: what the socket must be ready for. TURN: nothing, there is more work after others' turn. */
enum tls_wants { TLS_WANTS_READ = 1, TLS_WANTS_WRITE = 2, TLS_WANTS_TURN = 4 };

/*
 * Checks once per process, before the first tls_start, that the kernel provides random numbers and
 * that the library starts within the arena. HOST_IO: one of them fails.
 */
MUST_USE enum status tls_setup(void);
/*
 * Starts a session on `fd` (borrowed) and ends an earlier one first: the arena is rebuilt, so at
 * most one session exists. `why` gets one line on failure. PEER_MALFORMED: CA, certificate or key
 * cannot be read, or key and certificate do not belong together. FULL_BUFFER: the arena is
 * exhausted. HOST_IO: no randomness.
 */
MUST_USE enum status tls_start(int fd, const struct tls_identity *id, struct writer *why);
/*
 * Continues the handshake, by one signature of a certificate at most. STATUS_MORE: wait for
 * tls_wants. STATUS_OK: verified, speaks h2.
 * Otherwise `why` gets one line. PEER_UNTRUSTED: verification failed (x509_chain.h).
 * PEER_REFUSED: the server rejects the client. PEER_UNSUPPORTED: no ALPN h2, or no common version
 * or cipher. PEER_PROTOCOL, PEER_CLOSED, FULL_BUFFER.
 */
MUST_USE enum status tls_handshake(struct writer *why);
/* What the last STATUS_MORE waits for: bits of enum tls_wants. */
unsigned tls_wants(void);
/*
 * Reads at most `cap` bytes. STATUS_OK: *n >= 1; STATUS_MORE; PEER_CLOSED (close_notify, or the end
 * of the stream); PEER_REFUSED (with TLS 1.3, a client certificate is refused here); PEER_PROTOCOL.
 */
MUST_USE enum status tls_read(uint8_t *data, size_t cap, size_t *n);
/*
 * Writes bytes; verdicts of tls_read. After STATUS_MORE the next call must start with the same
 * bytes; it may have more of them.
 */
MUST_USE enum status tls_write(struct view data, size_t *n);
/* Appends one line on why the last tls_read or tls_write failed; nothing if it did not fail. */
void tls_explain(struct writer *why);
/* Bytes that are received and not read yet: poll must not sleep while there are some. */
size_t tls_pending(void);
/* Ends the session, if there is one, and wipes the arena; the descriptor is the caller's. */
void tls_end(void);
/* Highest use of the arena so far, in bytes: an upper bound, block headers included. */
size_t tls_arena_peak(void);
/* Bytes that the last session did not return to the arena. More than 0 is a leak. */
size_t tls_arena_leak(void);

#endif
