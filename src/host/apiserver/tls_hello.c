/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses records and the ServerHello (RFC 8446 §5.1, §4.1.3; RFC 5246 §7.4.1.3); see tls_hello.h.
 */
#include "host/apiserver/tls_hello.h"

#include <string.h>

#include "base/assert.h"

#define RECORD_HANDSHAKE 22u
#define MESSAGE_SERVER_HELLO 2u
#define MESSAGE_HEADER_BYTES 4u
#define RANDOM_BYTES 32u
#define VERSION_TLS12 0x0303u
#define VERSION_TLS13 0x0304u
/* first octet of the number of each TLS 1.3 cipher suite (RFC 8446 §B.4) */
#define SUITES_TLS13 0x13u

/* Extensions that only a TLS 1.3 ServerHello or HelloRetryRequest may have (RFC 8446 §4.2). */
#define EXTENSION_PRE_SHARED_KEY 41u
#define EXTENSION_SUPPORTED_VERSIONS 43u
#define EXTENSION_COOKIE 44u
#define EXTENSION_KEY_SHARE 51u

/*
 * Value of the field random in a HelloRetryRequest (RFC 8446 §4.1.3): the SHA-256 of
 * "HelloRetryRequest".
 */
static const uint8_t retry_random[RANDOM_BYTES] = {
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};

struct hello {
    unsigned version;
    unsigned suite;
    bool retry;
    bool tls13;  /* the message has supported_versions, which names TLS 1.3 */
    bool only13; /* the message has an extension that only TLS 1.3 defines */
    bool only12; /* the message has an extension that a ServerHello of TLS 1.3 must not have */
};

static bool consume_bytes(struct view *in, size_t n, struct view *out)
{
    if (in->len < n) {
        return false;
    }
    *out = view_first(*in, n);
    *in = view_from(*in, n);
    return true;
}

/*
 * Removes an integer of `octets` bytes (one or two), in network byte order, from the front of `in`.
 * Returns false if `in` is shorter.
 */
static bool consume_number(struct view *in, size_t octets, unsigned *number)
{
    struct view part = {0};
    if (!consume_bytes(in, octets, &part)) {
        return false;
    }
    *number = 0;
    for (size_t i = 0; i < octets; i++) {
        *number = (*number << 8) | part.data[i];
    }
    return true;
}

/*
 * Records in `hello` what an extension of the ServerHello says about the TLS version. false:
 * supported_versions is repeated, malformed, or names another version than TLS 1.3 (RFC 8446
 * §4.2.1).
 */
static bool read_extension(unsigned type, struct view value, struct hello *hello)
{
    unsigned version = 0;
    switch (type) {
    case EXTENSION_SUPPORTED_VERSIONS:
        if (hello->tls13 || !consume_number(&value, 2, &version) || value.len > 0u) {
            return false;
        }
        hello->tls13 = true;
        return version == VERSION_TLS13;
    case EXTENSION_PRE_SHARED_KEY:
    case EXTENSION_COOKIE:
    case EXTENSION_KEY_SHARE:
        hello->only13 = true;
        return true;
    default:
        hello->only12 = true;
        return true;
    }
}

/*
 * Reads the extensions of a ServerHello; a ServerHello of TLS 1.2 may have none. Returns false if
 * they are malformed.
 */
static bool read_extensions(struct view in, struct hello *hello)
{
    unsigned len = 0;
    bool good = in.len == 0u || (consume_number(&in, 2, &len) && len == in.len);
    while (good && in.len > 0u) {
        unsigned type = 0;
        struct view value = {0};
        good = consume_number(&in, 2, &type) && consume_number(&in, 2, &len) &&
               consume_bytes(&in, len, &value) && read_extension(type, value, hello);
    }
    return good;
}

static bool read_hello(struct view in, struct hello *hello)
{
    struct view random = {0};
    struct view id = {0};
    unsigned len = 0;
    unsigned compression = 0;
    if (!consume_number(&in, 2, &hello->version) || !consume_bytes(&in, RANDOM_BYTES, &random) ||
        !consume_number(&in, 1, &len) || !consume_bytes(&in, len, &id) ||
        !consume_number(&in, 2, &hello->suite) || !consume_number(&in, 1, &compression)) {
        return false;
    }
    hello->retry = memcmp(random.data, retry_random, RANDOM_BYTES) == 0;
    return read_extensions(in, hello);
}

static bool is_of_one_version(const struct hello *hello)
{
    bool suite13 = hello->suite >> 8 == SUITES_TLS13;
    if (hello->version > VERSION_TLS12 || suite13 != hello->tls13) {
        return false;
    }
    return hello->tls13 ? (hello->version == VERSION_TLS12 && !hello->only12)
                        : (!hello->only13 && !hello->retry);
}

/* Judges a complete ServerHello; `body` excludes the header of the message. */
static enum tls_hello_verdict judge_hello(struct tls_hello *h, struct view body)
{
    struct hello hello = {0};
    if (!read_hello(body, &hello) || !is_of_one_version(&hello)) {
        return TLS_HELLO_MIXED;
    }
    /*
     * RFC 8446 §4.1.4: at most one HelloRetryRequest; the ServerHello after it has the same version
     * and cipher suite.
     */
    if (h->retried && (hello.retry || !hello.tls13 || hello.suite != h->suite)) {
        return TLS_HELLO_MIXED;
    }
    h->retried = hello.retry;
    h->suite = (uint16_t)hello.suite;
    h->done = !hello.retry;
    return (hello.tls13 || h->tls12) ? TLS_HELLO_GOOD : TLS_HELLO_OLD;
}

/*
 * Reads one byte of a handshake record. TLS_HELLO_MIXED: a message other than a ServerHello begins,
 * or the ServerHello is too long or invalid.
 */
static enum tls_hello_verdict read_byte(struct tls_hello *h, uint8_t byte)
{
    ASSERT(h->len < sizeof h->message);
    h->message[h->len] = byte;
    h->len++;
    if (h->message[0] != MESSAGE_SERVER_HELLO) {
        return TLS_HELLO_MIXED;
    }
    if (h->len < MESSAGE_HEADER_BYTES) {
        return TLS_HELLO_GOOD;
    }
    size_t body = ((size_t)h->message[1] << 16) | ((size_t)h->message[2] << 8) | h->message[3];
    if (body > sizeof h->message - MESSAGE_HEADER_BYTES) {
        return TLS_HELLO_MIXED;
    }
    if (h->len < MESSAGE_HEADER_BYTES + body) {
        return TLS_HELLO_GOOD;
    }
    h->len = 0;
    return judge_hello(h, view_of(&h->message[MESSAGE_HEADER_BYTES], body));
}

enum tls_hello_verdict tls_hello_read(struct tls_hello *h, struct view data)
{
    enum tls_hello_verdict verdict = TLS_HELLO_GOOD;
    for (size_t i = 0; i < data.len && verdict == TLS_HELLO_GOOD && !h->done; i++) {
        if (h->left == 0u) {
            h->header[h->header_len] = data.data[i];
            h->header_len++;
            if (h->header_len == sizeof h->header) {
                h->header_len = 0;
                h->left = (uint16_t)(((unsigned)h->header[3] << 8) | h->header[4]);
            }
            continue;
        }
        h->left--;
        if (h->header[0] == RECORD_HANDSHAKE) {
            verdict = read_byte(h, data.data[i]);
        }
    }
    return verdict;
}
