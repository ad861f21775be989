/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the TLS client share. Owns no state (tls.c does). Nobody else includes it.
 */
#ifndef HOST_APISERVER_TLS_INTERNAL_H
#define HOST_APISERVER_TLS_INTERNAL_H

#include "host/apiserver/tls.h"

/* Random bytes for mbedTLS: 0, or an error code of its own. */
int tls_random(void *context, unsigned char *data, size_t len);

/* A code of mbedTLS, an alert and the verdict on the certificate: why a session failed. */
struct tls_failure {
    int code;             /* negative; 0: none */
    unsigned alert;       /* of MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE */
    const char *distrust; /* why the certificate was refused; empty: it was not. Borrowed */
    bool tight;           /* the arena was nearly full */
    bool only_tls13;      /* TLS 1.2 was not offered */
    bool established;     /* after the handshake */
    bool refused;         /* reset after our certificate was sent: probably because of it */
};

/*
 * Verdict of tls_handshake for a failure, which may be ignored; `why` gets one line and may be
 * NULL.
 */
enum status tls_judge(const struct tls_failure *failure, struct writer *why);
/* Whether a code of mbedTLS means that the arena is exhausted. */
bool tls_is_exhausted(int code);

#endif
