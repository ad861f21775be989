/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS client on a connected, non-blocking socket, implemented with mbedTLS and a static arena (the
 * only allocator of the program). Owns the arena and the session; tls_verify.h decides whether the
 * server is trusted, tls_hello.h whether its version is accepted. Offers TLS 1.3, and TLS 1.2 if
 * the settings allow it; requires ALPN "h2". Never sends application data before the server is
 * verified.
 *
 * If a server updates its keys (TLS 1.3 KeyUpdate, which mbedTLS 3.6 does not support), the
 * connection ends with PEER_PROTOCOL. Session tickets are ignored.
 */
#ifndef HOST_APISERVER_TLS_H
#define HOST_APISERVER_TLS_H

#include "base/bytes.h"

/*
 * PEM texts for one connection, which tls_start decodes in place. `ca_pem` is borrowed until the
 * handshake ends, the other texts until tls_start returns.
 */
struct tls_identity {
    uint8_t *ca_pem; /* certificates of the authorities to trust, any number of them */
    size_t ca_len;
    uint8_t *cert_pem;
    size_t cert_len; /* length of the client certificate's PEM text; 0: no client certificate */
    uint8_t *key_pem;
    size_t key_len;
    const char *server_name; /* DNS name of the server, or its IP literal without brackets */
    bool with_tls12;         /* also offer TLS 1.2; otherwise only TLS 1.3 */
};

/*
 * Bits: the events that the connection waits for. TLS_WANTS_TURN: no event; call tls_handshake
 * again in the next turn of the main loop.
 */
enum tls_wants { TLS_WANTS_READ = 1, TLS_WANTS_WRITE = 2, TLS_WANTS_TURN = 4 };

/*
 * Checks that the kernel provides random numbers and that the library starts within the arena. Call
 * once per process, before the first tls_start. HOST_IO: one of the two checks failed.
 */
MUST_USE enum status tls_setup(void);
/*
 * Starts a session on `fd` (borrowed). Ends an earlier session first, because each session starts
 * with an empty arena. On failure `why` gets one line. PEER_MALFORMED: CA, certificate or key is
 * invalid, or key and certificate do not match. FULL_BUFFER: the arena is exhausted. HOST_IO: the
 * kernel provides no random numbers.
 */
MUST_USE enum status tls_start(int fd, const struct tls_identity *id, struct writer *why);
/*
 * Continues the handshake; verifies at most one certificate signature per call. STATUS_MORE: wait
 * for tls_wants. STATUS_OK: the server is verified and speaks h2. Otherwise `why` gets one line.
 * PEER_UNTRUSTED: verification failed (x509_chain.h). PEER_REFUSED: the server rejects the client.
 * PEER_UNSUPPORTED: no ALPN h2, or no common version or cipher. PEER_PROTOCOL: the server broke the
 * protocol. PEER_CLOSED: the connection ended. FULL_BUFFER: the arena is exhausted.
 */
MUST_USE enum status tls_handshake(struct writer *why);
/* Returns what to wait for after the last STATUS_MORE: bits of enum tls_wants. */
unsigned tls_wants(void);
/*
 * Reads at most `cap` bytes. STATUS_OK: *n >= 1. STATUS_MORE: wait for tls_wants. PEER_CLOSED:
 * close_notify, or the end of the stream. PEER_REFUSED: the server rejects the client's
 * certificate, which TLS 1.3 reports here. PEER_PROTOCOL: the server broke the protocol.
 */
MUST_USE enum status tls_read(uint8_t *data, size_t cap, size_t *n);
/*
 * Writes bytes; *n: how many were accepted. Returns the same statuses as tls_read. After
 * STATUS_MORE, the next call must start with the same bytes; more bytes may follow.
 */
MUST_USE enum status tls_write(struct view data, size_t *n);
/*
 * Appends one line with the reason why the last tls_read or tls_write failed; nothing if it did not
 * fail.
 */
void tls_explain(struct writer *why);
/*
 * Returns how many bytes have been read from the socket but not yet processed or returned by
 * tls_read. If more than 0, poll(2) must not wait, because it does not see these bytes.
 */
size_t tls_pending(void);
/* Ends the session, if any, and wipes the arena; the caller keeps the descriptor. */
void tls_end(void);
/* Returns an upper bound of the arena's highest use so far, in bytes, with block headers. */
size_t tls_arena_peak(void);
/* Returns how many bytes the last session did not return to the arena; more than 0 means a leak. */
size_t tls_arena_leak(void);

#endif
