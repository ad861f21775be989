/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates a TLS failure into a verdict, and into one line for an operator with the reason and
 * the remedy.
 */
#include "base/assert.h"
#include "host/apiserver/tls_internal.h"

#include <mbedtls/asn1.h>
#include <mbedtls/bignum.h>
#include <mbedtls/ecp.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/pem.h>
#include <mbedtls/pk.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509.h>

struct reason {
    int code;
    enum status verdict;
    const char *text;
};

#define NOT_TLS "the server's response is not TLS; is this the https port of the API server?"
#define NO_COMMON                                                                                  \
    "the server offers no cipher suite of TLS 1.2 or 1.3 that the agent supports, or no key "      \
    "exchange by X25519, P-256, P-384 or P-521, or its key is Ed25519 (RSA and EC are supported)"

/*
 * Text for a failure to agree on a cipher suite or a key exchange. NO_COMMON: the agent offered TLS
 * 1.2 and 1.3. NO_TLS13: the agent offered only TLS 1.3.
 */
#define NO_TLS13                                                                                   \
    "the server does not speak TLS 1.3, or with no cipher suite or key exchange that the agent "   \
    "supports, or its key is Ed25519 (RSA and EC are supported); for a server that speaks only "   \
    "TLS 1.2 set --tls-min-version=1.2 (TLS_MIN_VERSION)"
#define DAMAGED "a TLS record arrived damaged"
#define UNREADABLE "the server sent no certificate that can be read"
#define NO_H2                                                                                      \
    "the server does not offer HTTP/2 by ALPN (h2); let a proxy or load balancer in between pass " \
    "TLS through or offer h2, and run the API server without --disable-http2-serving"

static const struct reason reasons[] = {
    {MBEDTLS_ERR_SSL_CONN_EOF, PEER_CLOSED, "the server closed the connection"},
    {MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY, PEER_CLOSED, "the server closed the connection"},
    {MBEDTLS_ERR_NET_CONN_RESET, PEER_CLOSED, "the connection was reset"},
    {MBEDTLS_ERR_NET_RECV_FAILED, PEER_CLOSED, "the connection failed on receiving"},
    {MBEDTLS_ERR_NET_SEND_FAILED, PEER_CLOSED, "the connection failed on sending"},
    {MBEDTLS_ERR_SSL_INVALID_RECORD, PEER_PROTOCOL, NOT_TLS},
    {MBEDTLS_ERR_SSL_UNEXPECTED_RECORD, PEER_PROTOCOL, NOT_TLS},
    {MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION, PEER_UNSUPPORTED, NO_COMMON},
    {MBEDTLS_ERR_SSL_NO_APPLICATION_PROTOCOL, PEER_UNSUPPORTED, NO_H2},
    {MBEDTLS_ERR_SSL_INVALID_MAC, PEER_PROTOCOL, DAMAGED},
    {MBEDTLS_ERR_SSL_BAD_CERTIFICATE, PEER_UNTRUSTED, UNREADABLE},
    {MBEDTLS_ERR_SSL_HANDSHAKE_FAILURE, PEER_UNSUPPORTED, NO_COMMON},
    {MBEDTLS_ERR_SSL_ILLEGAL_PARAMETER, PEER_PROTOCOL,
     "the server's answer mixes versions of TLS or has a value that was not offered; let nothing "
     "that is not the API server answer at this address"},
    {MBEDTLS_ERR_SSL_BAD_INPUT_DATA, PEER_PROTOCOL,
     "the server sent a TLS message of over 16 KiB; let it send fewer or smaller certificates"},
    {MBEDTLS_ERR_SSL_UNEXPECTED_MESSAGE, PEER_PROTOCOL,
     "the server sent a TLS message that is not supported; after the handshake that is KeyUpdate"},
};

/* Verdicts and texts for the alerts of RFC 8446 §6 and RFC 7301, by the number of the alert. */
#define CERTIFICATE_FIRST 42 /* number of the first alert about the client's certificate */
#define CERTIFICATE_LAST 49
#define NOT_ACCEPTED "the server does not accept our client certificate: "

static const struct reason alerts[] = {
    {40, PEER_UNSUPPORTED, NO_COMMON ", or it requires a client certificate"},
    {42, PEER_REFUSED, "it cannot be read or verified"},
    {43, PEER_REFUSED, "its type is not supported"},
    {44, PEER_REFUSED, "it is revoked"},
    {45, PEER_REFUSED, "it has expired"},
    {46, PEER_REFUSED, "no reason given"},
    {48, PEER_REFUSED, "its issuer is unknown to the server"},
    {49, PEER_REFUSED, "access denied"},
    {70, PEER_UNSUPPORTED, NO_COMMON},
    {71, PEER_UNSUPPORTED, NO_COMMON},
    {112, PEER_REFUSED, "the server does not serve this name"},
    {116, PEER_REFUSED,
     "the server requires a client certificate, and none is configured; give one in a kubeconfig"},
    {120, PEER_UNSUPPORTED, NO_H2},
};

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static const struct reason *find_reason(const struct reason *table, size_t count, int code)
{
    for (size_t i = 0; i < count; i++) {
        if (table[i].code == code) {
            return &table[i];
        }
    }
    return NULL;
}

static void write_words(struct writer *why, const char *words)
{
    if (why != NULL) {
        writer_text(why, words);
    }
}

/*
 * An error code of mbedTLS is the sum of a module's code, a multiple of 0x80, and a low-level code
 * below 0x80. Either part can mean that an allocation failed.
 */
bool tls_is_exhausted(int code)
{
    static const int modules[] = {
        MBEDTLS_ERR_SSL_ALLOC_FAILED, MBEDTLS_ERR_X509_ALLOC_FAILED, MBEDTLS_ERR_PK_ALLOC_FAILED,
        MBEDTLS_ERR_ECP_ALLOC_FAILED, MBEDTLS_ERR_MPI_ALLOC_FAILED,  MBEDTLS_ERR_ASN1_ALLOC_FAILED,
    };
    unsigned whole = (code < 0) ? (unsigned)-code : 0u;
    for (size_t i = 0; i < COUNT_OF(modules); i++) {
        unsigned module = (unsigned)-modules[i];
        if (module == (whole & 0xff80u) || module == (whole & 0x7fu)) {
            return true;
        }
    }
    return false;
}

/*
 * Whether the socket or the server caused the error `code`, so that a full arena cannot be the
 * cause.
 */
static bool is_outside(int code)
{
    return code == MBEDTLS_ERR_SSL_CONN_EOF || code == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY ||
           code == MBEDTLS_ERR_NET_CONN_RESET || code == MBEDTLS_ERR_NET_RECV_FAILED ||
           code == MBEDTLS_ERR_NET_SEND_FAILED;
}

/*
 * Whether the failure means a lack of memory. During a handshake, the library may report a lack of
 * memory as an invalid signature or as a missing common cipher.
 */
static bool is_starved(const struct tls_failure *failure)
{
    return tls_is_exhausted(failure->code) ||
           (failure->tight && !failure->established && !is_outside(failure->code));
}

/* --- the status and text of a TLS failure --- */

static const struct reason *judge_code(const struct tls_failure *failure)
{
    static const struct reason damaged = {0, PEER_PROTOCOL, DAMAGED};
    /* No certificate follows the handshake, so a record that is too long is a damaged one. */
    bool damages = failure->code == MBEDTLS_ERR_SSL_INVALID_RECORD ||
                   failure->code == MBEDTLS_ERR_SSL_BAD_INPUT_DATA;
    if (failure->established && damages) {
        return &damaged;
    }
    return find_reason(reasons, COUNT_OF(reasons), failure->code);
}

/*
 * Whether the failure suggests that the server supports only TLS 1.2, which the agent did not
 * offer.
 */
static bool is_for_tls12(const struct tls_failure *failure)
{
    if (!failure->only_tls13 || is_starved(failure)) {
        return false;
    }
    switch (failure->code) {
    case MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION:
    case MBEDTLS_ERR_SSL_HANDSHAKE_FAILURE:
        return true;
    case MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE:
        return failure->alert == 40u || failure->alert == 70u || failure->alert == 71u;
    default:
        return false;
    }
}

static enum status judge_alert(unsigned alert, struct writer *why)
{
    const struct reason *known = find_reason(alerts, COUNT_OF(alerts), (int)alert);
    if (known != NULL) {
        bool ours = known->code >= CERTIFICATE_FIRST && known->code <= CERTIFICATE_LAST;
        write_words(why, ours ? NOT_ACCEPTED : "");
        write_words(why, known->text);
        return known->verdict;
    }
    write_words(why, "the server ended TLS with alert ");
    if (why != NULL) {
        writer_decimal(why, alert);
    }
    return PEER_PROTOCOL;
}

enum status tls_judge(const struct tls_failure *failure, struct writer *why)
{
    ASSERT(failure->code < 0 && failure->distrust != NULL);
    if (is_for_tls12(failure)) {
        write_words(why, NO_TLS13);
        return PEER_UNSUPPORTED;
    }
    if (failure->code == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE) {
        return judge_alert(failure->alert, why);
    }
    if (failure->refused) {
        write_words(why, NOT_ACCEPTED);
        write_words(why, "it reset the connection when the certificate was sent");
        return PEER_REFUSED;
    }
    const struct reason *known = judge_code(failure);
    if (is_starved(failure)) {
        write_words(why,
                    "the server's or the client's certificates need more memory than the 72 KiB "
                    "reserved for TLS; let the server send fewer or smaller ones");
        return FULL_BUFFER;
    }
    if (failure->distrust[0] != '\0') {
        write_words(why, "the server's certificate cannot be trusted: ");
        write_words(why, failure->distrust);
        return PEER_UNTRUSTED;
    }
    if (known != NULL) {
        write_words(why, known->text);
        return known->verdict;
    }
    write_words(why, "TLS failed with mbedTLS code 0x");
    if (why != NULL) {
        writer_hex(why, (uint64_t)-failure->code, 4);
    }
    return PEER_PROTOCOL;
}
