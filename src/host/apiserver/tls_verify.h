/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict on a server's certificate during mbedTLS's handshake. Replaces the library's own
 * parser and verifier of certificates (x509_crt.c, which is not linked): the library passes the
 * received certificates, and x509_chain.h decides. Unless the verdict is X509_TRUSTED, the
 * handshake fails.
 *
 * Even a server that no authority trusts can send certificates that cost dozens of signature
 * checks, 4 ms each. So the checks run between two steps of the handshake, one signature per call.
 * The step that reads the certificates calls tls_verify, which parses them but checks no signature.
 * After that, tls.c starts no other step until tls_verify_on reports that the server is trusted.
 * Until then nothing is sent to the server, and none of its keys is used.
 */
#ifndef HOST_APISERVER_TLS_VERIFY_H
#define HOST_APISERVER_TLS_VERIFY_H

#include "cfg/limits.h"
#include "x509/x509_chain.h"

#include <mbedtls/x509_crt.h>

/* Progress towards the verdict on the server. */
enum tls_verify_state {
    TLS_NO_CERTIFICATE, /* the server has not sent its certificates yet */
    TLS_UNVERIFIED,
    TLS_VERIFIED /* the verdict on the server is final */
};

/* State of a verifier, one for each session; private to tls_verify.c. */
struct tls_verifier {
    struct x509_trust trust;
    struct x509_sent sent;
    bool more; /* the server sent more than X509_SENT_MAX certificates */
    struct x509_search search;
    enum tls_verify_state state;
    struct x509_verdict unread;  /* X509_TRUSTED, or why a received certificate is unusable */
    enum x509_reason key_reason; /* X509_TRUSTED, or why the server's key is unusable */
    enum x509_reason reason;     /* TLS_VERIFIED: X509_TRUSTED, or why the server is refused */
    /* Why the server is not trusted; empty: the server is trusted, or there is no verdict yet. */
    char text[X509_TEXT_CAP];
};

/*
 * Initializes the check of the certificates of the server `host`. `anchors`: the DER certificates
 * of the authorities, concatenated. `host` and `anchors` are borrowed until the handshake ends.
 */
void tls_verifier_start(struct tls_verifier *v, struct view anchors, struct view host);
/*
 * Callback for mbedtls_ssl_conf_verify, whose context is the verifier. Accepts every certificate,
 * because tls_verify_on decides later. `sent`: the certificates that the server sent; borrowed
 * until the verdict is final.
 */
int tls_verify(void *verifier, mbedtls_x509_crt *sent, int depth, uint32_t *flags);
/*
 * Whether the server's certificates were received and the verdict on the server is not final yet.
 */
bool tls_verify_pending(const struct tls_verifier *v);
/* Whether the verdict on the server is final, and the server is trusted. */
bool tls_verify_trusted(const struct tls_verifier *v);
/*
 * Continues to verify the server's certificates; checks at most one signature per call. STATUS_OK:
 * the server is trusted. STATUS_MORE: call again. PEER_UNTRUSTED: v->text has the reason.
 */
MUST_USE enum status tls_verify_on(struct tls_verifier *v);
/* Returns the alert for a server that is not trusted (RFC 8446 §6.2). */
uint8_t tls_verify_alert(const struct tls_verifier *v);
/*
 * Adds a client certificate to `chain`. Returns 0 or an error of mbedTLS. The key of the chain's
 * first certificate must be usable. *fault: what is wrong with the first certificate; NULL: nothing
 * is wrong.
 */
int tls_own_certificate(mbedtls_x509_crt *chain, struct view der, const char **fault);

#endif
