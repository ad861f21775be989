/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of TLS: the verdict and one line that tells an operator the reason and the remedy. */
#include "base/assert.h"
#include "host/tls_internal.h"

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
#define NO_COMMON "the server offers no cipher suite of TLS 1.2 or 1.3 that the agent supports"

#define DAMAGED "a TLS record arrived damaged"
#define UNREADABLE "the server's certificate cannot be read; keys may be RSA, EC P-256 or P-384"

static const struct reason reasons[] = {
    {MBEDTLS_ERR_SSL_CONN_EOF, PEER_CLOSED, "the server closed the connection"},
    {MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY, PEER_CLOSED, "the server closed the connection"},
    {MBEDTLS_ERR_NET_CONN_RESET, PEER_CLOSED, "the connection was reset"},
    {MBEDTLS_ERR_NET_RECV_FAILED, PEER_CLOSED, "the connection failed on receiving"},
    {MBEDTLS_ERR_NET_SEND_FAILED, PEER_CLOSED, "the connection failed on sending"},
    {MBEDTLS_ERR_SSL_INVALID_RECORD, PEER_PROTOCOL, NOT_TLS},
    {MBEDTLS_ERR_SSL_UNEXPECTED_RECORD, PEER_PROTOCOL, NOT_TLS},
    {MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION, PEER_UNSUPPORTED, NO_COMMON},
    {MBEDTLS_ERR_SSL_NO_APPLICATION_PROTOCOL, PEER_UNSUPPORTED,
     "the server does not offer HTTP/2 (ALPN h2); is a proxy in between?"},
    {MBEDTLS_ERR_SSL_INVALID_MAC, PEER_PROTOCOL, DAMAGED},
    {MBEDTLS_ERR_SSL_BAD_CERTIFICATE, PEER_UNTRUSTED, UNREADABLE},
    {MBEDTLS_ERR_SSL_HANDSHAKE_FAILURE, PEER_UNSUPPORTED, NO_COMMON},
    {MBEDTLS_ERR_SSL_BAD_INPUT_DATA, PEER_PROTOCOL,
     "the server sent a TLS message that is too long"},
    {MBEDTLS_ERR_SSL_UNEXPECTED_MESSAGE, PEER_PROTOCOL,
     "the server sent a TLS message that is not supported; after the handshake that is KeyUpdate"},
};

/* Alerts of RFC 8446 §6 and RFC 7301; the code is the alert's number. */
#define CERTIFICATE_FIRST 42 /* these and those between are about our certificate */
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
    {116, PEER_REFUSED, "the server requires a client certificate, and none is configured"},
    {120, PEER_UNSUPPORTED, "the server does not offer HTTP/2 (ALPN h2); is a proxy in between?"},
};

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static const struct reason *find(const struct reason *table, size_t count, int code)
{
    for (size_t i = 0; i < count; i++) {
        if (table[i].code == code) {
            return &table[i];
        }
    }
    return NULL;
}

static void put(struct writer *why, const char *words)
{
    if (why != NULL) {
        writer_text(why, words);
    }
}

/* A code is that of a module, in steps of 0x80, plus one of the big-number module below it. */
bool tls_is_exhausted(int code)
{
    static const int modules[] = {
        MBEDTLS_ERR_SSL_ALLOC_FAILED,  MBEDTLS_ERR_X509_ALLOC_FAILED, MBEDTLS_ERR_PK_ALLOC_FAILED,
        MBEDTLS_ERR_PEM_ALLOC_FAILED,  MBEDTLS_ERR_ECP_ALLOC_FAILED,  MBEDTLS_ERR_MPI_ALLOC_FAILED,
        MBEDTLS_ERR_ASN1_ALLOC_FAILED,
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

/* --- verification --- */

struct flag {
    uint32_t bit;
    const char *text;
};

static const struct flag flags[] = {
    {MBEDTLS_X509_BADCERT_EXPIRED, "it has expired"},
    {MBEDTLS_X509_BADCERT_FUTURE, "it is not valid yet; check the clock of this node"},
    {MBEDTLS_X509_BADCERT_NOT_TRUSTED, "it is not signed by the given certificate authority"},
    {MBEDTLS_X509_BADCERT_KEY_USAGE, "its key usage does not allow signing or key exchange"},
    {MBEDTLS_X509_BADCERT_EXT_KEY_USAGE, "its extended key usage does not allow servers"},
    {MBEDTLS_X509_BADCERT_BAD_MD, "it is signed with a weak hash"},
    {MBEDTLS_X509_BADCERT_BAD_PK, "its kind of key is not supported"},
    {MBEDTLS_X509_BADCERT_BAD_KEY, "its key is too weak, or on a curve that is not supported"},
};

/* The library sets all flags then, including that of a revocation, which is never checked. */
static bool ended_early(uint32_t verified)
{
    return (verified & MBEDTLS_X509_BADCERT_REVOKED) != 0u;
}

static void put_verification(uint32_t verified, const char *name, struct writer *why)
{
    bool some = false;
    bool whole = !ended_early(verified);
    put(why, "the server's certificate cannot be trusted: ");
    for (size_t i = 0; i < COUNT_OF(flags) && whole; i++) {
        if ((verified & flags[i].bit) != 0u) {
            put(why, some ? "; " : "");
            put(why, flags[i].text);
            some = true;
        }
    }
    if (whole && (verified & MBEDTLS_X509_BADCERT_CN_MISMATCH) != 0u) {
        put(why, some ? "; it does not list " : "it does not list ");
        put(why, name);
        put(why, " among its subject alternative names");
        some = true;
    }
    put(why, some ? "" : "verification failed");
}

/* A wrong key usage is reported with another code. */
static bool is_distrust(const struct tls_failure *failure)
{
    bool known = failure->verified != 0u && !ended_early(failure->verified);
    return failure->code == MBEDTLS_ERR_X509_CERT_VERIFY_FAILED ||
           (failure->code == MBEDTLS_ERR_SSL_BAD_CERTIFICATE && known);
}

/* Lack of memory, also where the library reports it as a wrong signature. */
static bool is_starved(const struct tls_failure *failure)
{
    bool unsigned_chain = (failure->verified & MBEDTLS_X509_BADCERT_NOT_TRUSTED) != 0u;
    return tls_is_exhausted(failure->code) ||
           (failure->tight && unsigned_chain && is_distrust(failure));
}

/* --- verdicts --- */

/* Codes of the table, of the reading of certificates (-0x2080 to -0x2980), and of records. */
static const struct reason *judge_code(const struct tls_failure *failure)
{
    static const struct reason unreadable = {0, PEER_UNTRUSTED, UNREADABLE};
    static const struct reason damaged = {0, PEER_PROTOCOL, DAMAGED};
    unsigned code = (unsigned)-failure->code & 0xff80u;
    int module = -(int)code;
    if (module <= MBEDTLS_ERR_X509_FEATURE_UNAVAILABLE && module > MBEDTLS_ERR_X509_FATAL_ERROR) {
        return &unreadable;
    }
    if (failure->established && failure->code == MBEDTLS_ERR_SSL_INVALID_RECORD) {
        return &damaged;
    }
    return find(reasons, COUNT_OF(reasons), failure->code);
}

static enum status judge_alert(unsigned alert, struct writer *why)
{
    const struct reason *known = find(alerts, COUNT_OF(alerts), (int)alert);
    if (known != NULL) {
        bool ours = known->code >= CERTIFICATE_FIRST && known->code <= CERTIFICATE_LAST;
        put(why, ours ? NOT_ACCEPTED : "");
        put(why, known->text);
        return known->verdict;
    }
    put(why, "the server ended TLS with alert ");
    if (why != NULL) {
        writer_decimal(why, alert);
    }
    return PEER_PROTOCOL;
}

enum status tls_judge(const struct tls_failure *failure, struct writer *why)
{
    ASSERT(failure->code < 0 && failure->name != NULL);
    if (failure->code == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE) {
        return judge_alert(failure->alert, why);
    }
    if (failure->refused) {
        put(why, NOT_ACCEPTED);
        put(why, "it reset the connection when the certificate was sent");
        return PEER_REFUSED;
    }
    const struct reason *known = judge_code(failure);
    if (is_starved(failure)) {
        put(why, "the certificates need more memory than the 72 KiB reserved for TLS; "
                 "give a smaller bundle of certificate authorities");
        return FULL_BUFFER;
    }
    if (is_distrust(failure)) {
        put_verification(failure->verified, failure->name, why);
        return PEER_UNTRUSTED;
    }
    if (known != NULL) {
        put(why, known->text);
        return known->verdict;
    }
    put(why, "TLS failed with mbedTLS code 0x");
    if (why != NULL) {
        writer_hex(why, (uint64_t)-failure->code, 4);
    }
    return PEER_PROTOCOL;
}
