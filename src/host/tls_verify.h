/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict on a server's certificate inside of mbedTLS's handshake. Takes the place of the
 * library's own reader and verifier of certificates (its x509_crt.c, which is not linked): the
 * library hands over what was sent, and x509_chain.h decides. Without a verdict of X509_TRUSTED the
 * handshake fails.
 */
#ifndef HOST_TLS_VERIFY_H
#define HOST_TLS_VERIFY_H

#include "cfg/limits.h"
#include "host/x509_chain.h"

#include <mbedtls/x509_crt.h>

/* One for each session; its content means nothing to others. */
struct tls_verifier {
    struct x509_trust trust;
    struct x509_sent sent;
    bool more; /* than X509_SENT_MAX certificates were sent */
    struct x509_search search;
    enum x509_reason reason;  /* of the last verdict */
    char text[X509_TEXT_CAP]; /* why the server is not trusted; empty: no verdict, or trusted */
};

/*
 * Prepares a verdict on the server `host`. `anchors`: DER of the authorities, one behind the other.
 * Both are borrowed until the handshake is over.
 */
void tls_verifier_start(struct tls_verifier *v, struct view anchors, struct view host);
/* For mbedtls_ssl_conf_verify, with the verifier as its context. */
int tls_verify(void *verifier, mbedtls_x509_crt *sent, int depth, uint32_t *flags);
/* Adds a certificate of ours, whose key must be one that the library reads, to `chain`. */
int tls_own_certificate(mbedtls_x509_crt *chain, struct view der, const char **fault);

#endif
