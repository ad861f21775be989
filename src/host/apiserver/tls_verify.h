/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict on a server's certificate inside of mbedTLS's handshake. Takes the place of the
 * library's own reader and verifier of certificates (its x509_crt.c, which is not linked): the
 * library hands over what was sent, and x509_chain.h decides. Without a verdict of X509_TRUSTED the
 * handshake fails.
 *
 * A server without any trusted key may send certificates that cost tens of signatures, 4 ms each.
 * So the verdict is found between two steps of the handshake, one signature at a time: the step
 * that reads the server's certificates asks tls_verify, which only keeps them, and tls.c makes no
 * further step before tls_verify_on has found that the server is trusted. Reading certificates
 * sends nothing, so nothing is sent to a server, and no key of it is used, before that.
 */
#ifndef HOST_APISERVER_TLS_VERIFY_H
#define HOST_APISERVER_TLS_VERIFY_H

#include "cfg/limits.h"
#include "x509/x509_chain.h"

#include <mbedtls/x509_crt.h>

/* How far the verdict has come. */
enum tls_verify_state {
    TLS_NO_CERTIFICATE, /* was sent yet */
    TLS_UNVERIFIED,
    TLS_VERIFIED /* there is a verdict */
};

/* One for each session; its content means nothing to others. */
struct tls_verifier {
    struct x509_trust trust;
    struct x509_sent sent;
    bool more; /* than X509_SENT_MAX certificates were sent */
    struct x509_search search;
    enum tls_verify_state state;
    struct x509_verdict unread;  /* TRUSTED, or why what was sent cannot be read */
    enum x509_reason key_reason; /* TRUSTED, or why the server's key cannot be used */
    enum x509_reason reason;     /* of the last verdict */
    char text[X509_TEXT_CAP];    /* why the server is not trusted; empty: no verdict, or trusted */
};

/*
 * Prepares a verdict on the server `host`. `anchors`: DER of the authorities, one behind the other.
 * Both are borrowed until the handshake is over.
 */
void tls_verifier_start(struct tls_verifier *v, struct view anchors, struct view host);
/*
 * For mbedtls_ssl_conf_verify, with the verifier as its context. Refuses nothing: `sent` is
 * borrowed until the verdict.
 */
int tls_verify(void *verifier, mbedtls_x509_crt *sent, int depth, uint32_t *flags);
/* Whether certificates were sent and there is no verdict yet. */
bool tls_verify_pending(const struct tls_verifier *v);
/* Whether there is a verdict, and the server is trusted. */
bool tls_verify_trusted(const struct tls_verifier *v);
/*
 * Goes on with a pending verdict, by one signature at most. STATUS_MORE: call it again.
 * PEER_UNTRUSTED: `text` says why.
 */
MUST_USE enum status tls_verify_on(struct tls_verifier *v);
/* The alert for a server that is not trusted (RFC 8446 §6.2). */
uint8_t tls_verify_alert(const struct tls_verifier *v);
/* Adds a certificate of ours, whose key must be one that the library reads, to `chain`. */
int tls_own_certificate(mbedtls_x509_crt *chain, struct view der, const char **fault);

#endif
