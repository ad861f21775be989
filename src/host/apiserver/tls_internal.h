/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that only the files of the TLS client share; no other file includes this header.
 * Owns no state (tls.c does).
 */
#ifndef HOST_APISERVER_TLS_INTERNAL_H
#define HOST_APISERVER_TLS_INTERNAL_H

#include "host/apiserver/tls.h"

/* Writes random bytes for mbedTLS. Returns 0, or an error code of mbedTLS. */
int tls_random(void *context, unsigned char *data, size_t len);

/* Why a session failed: a code of mbedTLS, an alert and the verdict on the certificate. */
struct tls_failure {
    int code; /* error code of mbedTLS, negative; 0: no failure */
    /* number of the alert that the server sent, if code is MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE */
    unsigned alert;
    /* Why the server's certificate is refused; empty: the certificate is not refused. Borrowed. */
    const char *distrust;
    bool tight;       /* the arena was nearly full before the failure */
    bool only_tls13;  /* the agent did not offer TLS 1.2 */
    bool established; /* the handshake is complete */
    /*
     * The connection was reset after the client sent its certificate, so the server probably
     * rejects that certificate.
     */
    bool refused;
};

/*
 * Returns the status that tls_handshake returns for this failure; the caller may ignore it. Writes
 * one line to `why`, unless `why` is NULL.
 */
enum status tls_judge(const struct tls_failure *failure, struct writer *why);
/* Whether an error code of mbedTLS means that the arena is exhausted. */
bool tls_is_exhausted(int code);

#endif
