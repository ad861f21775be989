/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the TLS client share. Owns no state (tls.c does). Only those files include it.
 */
#ifndef HOST_APISERVER_TLS_INTERNAL_H
#define HOST_APISERVER_TLS_INTERNAL_H

#include "host/apiserver/tls.h"

/* Random bytes for mbedTLS. Returns 0, or an error code of the library. */
int tls_random(void *context, unsigned char *data, size_t len);

/* Why a session failed: a code of mbedTLS, an alert and the verdict on the certificate. */
struct tls_failure {
    int code;       /* negative; 0: none */
    unsigned alert; /* the alert, for MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE */
    /* why the server's certificate was refused; empty: it was not. Borrowed */
    const char *distrust;
    bool tight;       /* the arena was nearly full */
    bool only_tls13;  /* TLS 1.2 was not offered */
    bool established; /* after the handshake */
    /* reset after the client's certificate was sent: probably because of it */
    bool refused;
};

/*
 * Verdict of tls_handshake for a failure; the caller may ignore it. `why` gets one line and may be
 * NULL.
 */
enum status tls_judge(const struct tls_failure *failure, struct writer *why);
/* Whether a code of mbedTLS means that the arena is exhausted. */
bool tls_is_exhausted(int code);

#endif
