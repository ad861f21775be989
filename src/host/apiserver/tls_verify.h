/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict on a server's certificate within mbedTLS's handshake. Replaces the library's own
 * parser and verifier of certificates (its x509_crt.c, which is not linked): the library passes the
 * received certificates, and x509_chain.h decides. Without X509_TRUSTED the handshake fails.
 *
 * A server without any trusted key may send certificates that cost tens of signature checks, 4 ms
 * each. So the verdict is found between two steps of the handshake, one signature at a time: the
 * step that reads the server's certificates calls tls_verify, which only keeps them, and tls.c
 * makes no further step before tls_verify_on has found that the server is trusted. Reading
 * certificates sends nothing, so nothing is sent to a server, and none of its keys is used, before
 * that.
 */
#ifndef HOST_APISERVER_TLS_VERIFY_H
#define HOST_APISERVER_TLS_VERIFY_H

#include "cfg/limits.h"
#include "x509/x509_chain.h"

#include <mbedtls/x509_crt.h>

/* Progress of the verdict. */
enum tls_verify_state {
    TLS_NO_CERTIFICATE, /* no certificate received yet */
    TLS_UNVERIFIED,
    TLS_VERIFIED /* the verdict is final */
};

/* One for each session; private to tls_verify.c. */
struct tls_verifier {
    struct x509_trust trust;
    struct x509_sent sent;
    bool more; /* the server sent more than X509_SENT_MAX certificates */
    struct x509_search search;
    enum tls_verify_state state;
    struct x509_verdict unread;  /* TRUSTED, or why a received certificate cannot be parsed */
    enum x509_reason key_reason; /* TRUSTED, or why the server's key is unusable */
    enum x509_reason reason;     /* reason of the last verdict */
    char text[X509_TEXT_CAP];    /* why the server is not trusted; empty: trusted, or no verdict */
};

/*
 * Prepares a verdict on the server `host`. `anchors`: DER of the authorities, one behind the other.
 * Both are borrowed until the end of the handshake.
 */
void tls_verifier_start(struct tls_verifier *v, struct view anchors, struct view host);
/*
 * For mbedtls_ssl_conf_verify, with the verifier as its context. Accepts every certificate, and
 * borrows `sent` until the verdict.
 */
int tls_verify(void *verifier, mbedtls_x509_crt *sent, int depth, uint32_t *flags);
/* Whether certificates were received and the verdict is open. */
bool tls_verify_pending(const struct tls_verifier *v);
/* Whether the verdict is final, and the server is trusted. */
bool tls_verify_trusted(const struct tls_verifier *v);
/*
 * Continues an open verdict, by at most one signature. STATUS_MORE: call again. PEER_UNTRUSTED:
 * `text` has the reason.
 */
MUST_USE enum status tls_verify_on(struct tls_verifier *v);
/* The alert to send to an untrusted server (RFC 8446 §6.2). */
uint8_t tls_verify_alert(const struct tls_verifier *v);
/* Adds a client certificate to `chain`; the library must be able to read its key. */
int tls_own_certificate(mbedtls_x509_crt *chain, struct view der, const char **fault);

#endif
