/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TLS session: its arena, start, handshake, transfers and end. tls_verify.c judges the server's
 * certificate, tls_errors.c translates failures, tls_platform.c provides random bytes and dates to
 * the library (mbedTLS).
 */
#include "host/apiserver/tls.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "cfg/limits.h"
#include "x509/der.h"
#include "x509/pem.h"
#include "host/apiserver/tls_hello.h"
#include "host/apiserver/tls_internal.h"
#include "host/apiserver/tls_verify.h"
#include "host/system.h"
#include "x509/x509_names.h"

#include <mbedtls/memory_buffer_alloc.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/pk.h>
#include <mbedtls/platform_util.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509_crt.h>
#include <psa/crypto.h>
#include <psa/crypto_extra.h>

/*
 * Size of the header of each block of the arena: eight words (mbedTLS,
 * library/memory_buffer_alloc.c).
 */
#define BLOCK_HEADER_BYTES 64u
/*
 * An upper bound of the bytes that one step of a handshake allocates. The check of an RSA-4096
 * signature allocates the most.
 */
#define ARENA_TIGHT_BYTES 4096u

struct tls_session {
    mbedtls_ssl_context ssl;
    mbedtls_ssl_config config;
    mbedtls_x509_crt ca; /* an empty list of authorities, because the library requires a list */
    mbedtls_x509_crt cert;
    struct tls_verifier verifier;
    mbedtls_pk_context key;
    struct tls_hello hello; /* checks the TLS versions in the server's first messages */
    /* failure of the last call of mbedTLS; code 0: the call succeeded */
    struct tls_failure failure;
    const char *protocols[2]; /* ALPN protocols, ended by NULL; not const, as mbedTLS requires */
    char name[TLS_NAME_CAP];
    size_t unsent; /* length of the data of an unfinished tls_write; 0: no write is unfinished */
    /* number of socket reads that the current call of tls_handshake or tls_read may still make */
    unsigned receives;
    size_t ahead_at; /* offset in `ahead` of the first byte that the library has not read */
    size_t ahead_len;
    unsigned char ahead[TLS_AHEAD_BYTES];
    size_t peak;
    size_t leak;
    unsigned wants;
    int fd;
    bool open;
};

static struct tls_session session;

/* At the beginning of a page, for memory_give_back. */
static unsigned char arena[TLS_ARENA_BYTES] __attribute__((aligned(4096)));

/* AES-GCM precedes ChaCha20, because the processors of Trainium instances have AES instructions. */
static const int suites[] = {
    MBEDTLS_TLS1_3_AES_128_GCM_SHA256,
    MBEDTLS_TLS1_3_AES_256_GCM_SHA384,
    MBEDTLS_TLS1_3_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    0,
};

/* --- the arena: the memory of mbedTLS --- */

/*
 * Initializes the arena, then PSA (mbedTLS's interface for cryptography), which allocates its key
 * slots from the arena.
 */
static bool arena_open(void)
{
    mbedtls_memory_buffer_alloc_init(arena, sizeof arena);
    return psa_crypto_init() == PSA_SUCCESS;
}

static void arena_close(void)
{
    size_t used = 0;
    size_t blocks = 0;
    mbedtls_psa_crypto_free();
    mbedtls_memory_buffer_alloc_max_get(&used, &blocks);
    size_t peak = used + blocks * (size_t)BLOCK_HEADER_BYTES;
    session.peak = (peak > session.peak) ? peak : session.peak;
    mbedtls_memory_buffer_alloc_cur_get(&session.leak, &blocks);
    mbedtls_memory_buffer_alloc_free();
    mbedtls_platform_zeroize(arena, sizeof arena);
}

/*
 * Whether the arena was nearly full at any time since its start. If so, a lack of memory may be the
 * cause of a failure, even if the library returned an error code with another meaning.
 */
static bool arena_was_tight(void)
{
    size_t used = 0;
    size_t blocks = 0;
    mbedtls_memory_buffer_alloc_max_get(&used, &blocks);
    return used + blocks * (size_t)BLOCK_HEADER_BYTES > sizeof arena - ARENA_TIGHT_BYTES;
}

enum status tls_setup(void)
{
    unsigned char some[16] = {0};
    unsigned char others[16] = {0};
    ASSERT(!session.open);
    if (tls_random(NULL, some, sizeof some) != 0 || tls_random(NULL, others, sizeof others) != 0 ||
        memcmp(some, others, sizeof some) == 0) {
        return HOST_IO;
    }
    bool good = arena_open();
    arena_close();
    return good ? STATUS_OK : HOST_IO;
}

size_t tls_arena_peak(void)
{
    return session.peak;
}

size_t tls_arena_leak(void)
{
    return session.leak;
}

/* --- reading and writing the socket --- */

static int on_send(void *context, const unsigned char *data, size_t len)
{
    (void)context;
    ssize_t n = send(session.fd, data, len, MSG_NOSIGNAL);
    if (n >= 0) {
        return (int)n;
    }
    if (errno == EAGAIN || errno == EINTR) {
        return MBEDTLS_ERR_SSL_WANT_WRITE;
    }
    return (errno == EPIPE || errno == ECONNRESET) ? MBEDTLS_ERR_NET_CONN_RESET
                                                   : MBEDTLS_ERR_NET_SEND_FAILED;
}

/* Moves at most `len` bytes from the buffer `ahead` to `data`. Returns how many bytes it moved. */
static size_t copy_ahead(unsigned char *data, size_t len)
{
    size_t n = (len < session.ahead_len) ? len : session.ahead_len;
    ASSERT(session.ahead_at + session.ahead_len <= sizeof session.ahead);
    memcpy(data, &session.ahead[session.ahead_at], n);
    session.ahead_at += n;
    session.ahead_len -= n;
    return n;
}

/*
 * Reads from the socket for the library; session.receives limits the reads in one call of
 * tls_handshake or tls_read. Without this limit, a peer that sends records without content could
 * keep the process busy in one call forever.
 */
static int receive_bytes(unsigned char *data, size_t len)
{
    if (session.receives == 0u) {
        return MBEDTLS_ERR_SSL_WANT_READ;
    }
    session.receives--;
    if (session.ahead_len > 0u) {
        return (int)copy_ahead(data, len);
    }
    /*
     * The library first asks for the five bytes of a record's header. To save a system call, this
     * read also fetches the bytes after the header.
     */
    bool ahead = len < sizeof session.ahead;
    ssize_t n =
        ahead ? read(session.fd, session.ahead, sizeof session.ahead) : read(session.fd, data, len);
    if (n > 0 && ahead) {
        session.ahead_at = 0;
        session.ahead_len = (size_t)n;
        return (int)copy_ahead(data, len);
    }
    if (n >= 0) {
        return (int)n;
    }
    if (errno == EAGAIN || errno == EINTR) {
        return MBEDTLS_ERR_SSL_WANT_READ;
    }
    return (errno == ECONNRESET) ? MBEDTLS_ERR_NET_CONN_RESET : MBEDTLS_ERR_NET_RECV_FAILED;
}

/*
 * Reads from the socket for the library. If tls_hello.h refuses the ServerHello, returns an error
 * instead of its last bytes, so that the library never processes this ServerHello.
 */
static int on_receive(void *context, unsigned char *data, size_t len)
{
    (void)context;
    int n = receive_bytes(data, len);
    if (n <= 0) {
        return n;
    }
    switch (tls_hello_read(&session.hello, view_of(data, (size_t)n))) {
    case TLS_HELLO_OLD:
        return MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION;
    case TLS_HELLO_MIXED:
        return MBEDTLS_ERR_SSL_ILLEGAL_PARAMETER;
    case TLS_HELLO_GOOD:
    default:
        break;
    }
    return n;
}

/* --- the start of a TLS session --- */

static void init_all(void)
{
    mbedtls_ssl_init(&session.ssl);
    mbedtls_ssl_config_init(&session.config);
    mbedtls_x509_crt_init(&session.ca);
    mbedtls_x509_crt_init(&session.cert);
    mbedtls_pk_init(&session.key);
}

static void free_all(void)
{
    mbedtls_ssl_free(&session.ssl);
    mbedtls_ssl_config_free(&session.config);
    mbedtls_x509_crt_free(&session.ca);
    mbedtls_x509_crt_free(&session.cert);
    mbedtls_pk_free(&session.key);
}

/*
 * Translates an error that mbedTLS returned for the CA, the client certificate or its key: the
 * arena is exhausted, or the PEM text is invalid.
 */
static enum status refuse_own(int code, const char *what, struct writer *why)
{
    ASSERT(code != 0);
    if (tls_is_exhausted(code)) {
        struct tls_failure failure = {.code = code, .distrust = ""};
        return tls_judge(&failure, why);
    }
    writer_text(why, what);
    return PEER_MALFORMED;
}

/*
 * Counts the valid certificates of the authorities to trust (`anchors`). Invalid certificates are
 * ignored if at least one is valid. *fault: what is wrong with the first invalid certificate; NULL:
 * all are valid.
 */
static size_t count_readable(struct view anchors, const char **fault)
{
    size_t readable = 0;
    struct der e = {0};
    *fault = NULL;
    while (anchors.len > 0u && der_any(&anchors, &e)) {
        struct x509_cert cert;
        bool good = x509_read(e.whole, &cert) == STATUS_OK;
        readable += good ? 1u : 0u;
        *fault = (good || *fault != NULL) ? *fault : cert.fault;
    }
    return readable;
}

static enum status load_authorities(const struct tls_identity *id, struct writer *why)
{
    const char *fault = NULL;
    if (id->ca_len == 0u) {
        writer_text(why, "no certificate authority is given");
        return PEER_MALFORMED;
    }
    struct view anchors = view_of(id->ca_pem, pem_certificates(id->ca_pem, id->ca_len));
    if (anchors.len == 0u) {
        writer_text(why, "the certificate authority holds no PEM certificate");
        return PEER_MALFORMED;
    }
    if (count_readable(anchors, &fault) == 0u) {
        WRITE(why, "the certificate authority's certificate cannot be read: %", TEXT(fault));
        return PEER_MALFORMED;
    }
    tls_verifier_start(&session.verifier, anchors, view_text(session.name));
    return STATUS_OK;
}

static enum status load_certificates(const struct tls_identity *id, struct writer *why)
{
    struct view list = view_of(id->cert_pem, pem_certificates(id->cert_pem, id->cert_len));
    struct der e = {0};
    if (list.len == 0u) {
        writer_text(why, "the client certificate is not a PEM certificate");
        return PEER_MALFORMED;
    }
    while (list.len > 0u && der_any(&list, &e)) {
        const char *fault = NULL;
        int code = tls_own_certificate(&session.cert, e.whole, &fault);
        if (fault != NULL) {
            writer_text(why, "the client certificate cannot be read: ");
        }
        if (code != 0) {
            return refuse_own(code, (fault != NULL) ? fault : "the client certificate is too large",
                              why);
        }
    }
    return STATUS_OK;
}

static enum status load_key(const struct tls_identity *id, struct writer *why)
{
    struct view keys = view_of(id->key_pem, pem_keys(id->key_pem, id->key_len));
    struct der e = {0};
    int code = MBEDTLS_ERR_PK_KEY_INVALID_FORMAT;
    if (keys.len > 0u && der_any(&keys, &e)) {
        code = mbedtls_pk_parse_key(&session.key, e.whole.data, e.whole.len, NULL, 0, tls_random,
                                    NULL);
    }
    if (code != 0) {
        return refuse_own(code, "the client key is not a PEM key (RSA or EC, no password)", why);
    }
    code = mbedtls_pk_check_pair(&session.cert.pk, &session.key, tls_random, NULL);
    if (code != 0) {
        return refuse_own(code, "the client key does not belong to the client certificate", why);
    }
    return STATUS_OK;
}

static enum status load_identity(const struct tls_identity *id, struct writer *why)
{
    enum status s = load_authorities(id, why);
    if (s == STATUS_OK && id->cert_len > 0u) {
        s = load_certificates(id, why);
        s = (s == STATUS_OK) ? load_key(id, why) : s;
    }
    return s;
}

/*
 * Sets the server name for SNI, without a final dot. Returns false if the name is an IP address,
 * for which TLS sends no SNI (RFC 6066 §3).
 */
static bool sni_of(char sni[TLS_NAME_CAP])
{
    uint8_t address[16];
    struct view name = view_text(session.name);
    struct view bare = view_without_dot(name);
    text_cut(sni, TLS_NAME_CAP, bare);
    return bare.len > 0u && x509_address_of(name, address) == 0u;
}

static int configure_session(bool with_cert, bool with_tls12)
{
    mbedtls_ssl_config *config = &session.config;
    session.protocols[0] = "h2";
    session.protocols[1] = NULL;
    int code = mbedtls_ssl_config_defaults(
        config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT);
    mbedtls_ssl_conf_authmode(config, MBEDTLS_SSL_VERIFY_REQUIRED);
    mbedtls_ssl_conf_min_tls_version(config, with_tls12 ? MBEDTLS_SSL_VERSION_TLS1_2
                                                        : MBEDTLS_SSL_VERSION_TLS1_3);
    mbedtls_ssl_conf_rng(config, tls_random, NULL);
    mbedtls_ssl_conf_ciphersuites(config, suites);
    mbedtls_ssl_conf_ca_chain(config, &session.ca, NULL);
    mbedtls_ssl_conf_verify(config, tls_verify, &session.verifier);
    if (code == 0) {
        code = mbedtls_ssl_conf_alpn_protocols(config, session.protocols);
    }
    if (code == 0 && with_cert) {
        code = mbedtls_ssl_conf_own_cert(config, &session.cert, &session.key);
    }
    if (code == 0) {
        code = mbedtls_ssl_setup(&session.ssl, config);
    }
    if (code == 0) {
        char sni[TLS_NAME_CAP];
        code = mbedtls_ssl_set_hostname(&session.ssl, sni_of(sni) ? sni : NULL);
    }
    mbedtls_ssl_set_bio(&session.ssl, NULL, on_send, on_receive, NULL);
    return code;
}

static enum status set_name(const char *name, struct writer *why)
{
    struct view text = view_text(name);
    if (text.len == 0u || text_copy(session.name, sizeof session.name, text) != STATUS_OK) {
        writer_text(why, "the server's name is empty or longer than 255 bytes");
        return PEER_MALFORMED;
    }
    return STATUS_OK;
}

static enum status start_session(const struct tls_identity *id, struct writer *why)
{
    enum status s = set_name(id->server_name, why);
    if (s == STATUS_OK) {
        s = load_identity(id, why);
    }
    if (s != STATUS_OK) {
        return s;
    }
    int code = configure_session(id->cert_len > 0u, id->with_tls12);
    return (code == 0) ? STATUS_OK : refuse_own(code, "TLS could not be configured", why);
}

enum status tls_start(int fd, const struct tls_identity *id, struct writer *why)
{
    ASSERT(fd >= 0 && id != NULL && id->server_name != NULL && why != NULL);
    tls_end();
    bool good = arena_open();
    init_all();
    session.open = true;
    session.fd = fd;
    session.unsent = 0;
    session.wants = 0;
    session.ahead_len = 0;
    session.hello = (struct tls_hello){.tls12 = id->with_tls12};
    session.failure =
        (struct tls_failure){.distrust = session.verifier.text, .only_tls13 = !id->with_tls12};
    enum status s = good ? start_session(id, why) : HOST_IO;
    if (!good) {
        writer_text(why, "the kernel provides no random numbers");
    }
    if (s != STATUS_OK) {
        tls_end();
    }
    return s;
}

/* --- the handshake, and reading and writing after it --- */

/*
 * If `code` means that the connection was reset, looks for an alert that the server sent before the
 * reset: a server that rejects the client sends an alert and closes, and a write then fails while
 * the alert is still unread. Returns the alert, or `code` if there is none. Until a TLS 1.2
 * handshake is complete, alerts are not encrypted (RFC 5246 §7.2), so this function then parses the
 * record of the alert itself.
 */
static int alert_instead(int code)
{
    /* bytes of an alert: record type, version (2 bytes), length (2 bytes), level, description */
    unsigned char record[7] = {0};
    if (code != MBEDTLS_ERR_NET_CONN_RESET) {
        return code;
    }
    session.receives = TLS_RECEIVES_PER_CALL;
    if (mbedtls_ssl_is_handshake_over(&session.ssl) != 0) {
        int got = mbedtls_ssl_read(&session.ssl, record, sizeof record);
        return (got == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE) ? got : code;
    }
    int n = on_receive(NULL, record, sizeof record);
    if (n != (int)sizeof record || record[0] != (unsigned char)MBEDTLS_SSL_MSG_ALERT ||
        record[4] != 2u) {
        return code;
    }
    session.ssl.MBEDTLS_PRIVATE(in_msg)[1] = record[6];
    return MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE;
}

/*
 * Whether the error `code`, a connection reset, probably means that the server rejects the client's
 * certificate. In TLS 1.3 (RFC 8446 §4.4) the server may close while the client still sends
 * CertificateVerify or Finished, and the client cannot yet decrypt the alert.
 */
static bool is_refused(int code)
{
    int state = session.ssl.MBEDTLS_PRIVATE(state);
    return code == MBEDTLS_ERR_NET_CONN_RESET &&
           mbedtls_pk_get_type(&session.key) != MBEDTLS_PK_NONE &&
           (state == (int)MBEDTLS_SSL_CLIENT_CERTIFICATE_VERIFY ||
            state == (int)MBEDTLS_SSL_CLIENT_FINISHED || state == (int)MBEDTLS_SSL_FLUSH_BUFFERS);
}

/*
 * Ends a call of tls_handshake, tls_read or tls_write with the code `stop` of mbedTLS. Returns
 * STATUS_MORE, or stores the failure for tls_explain and returns the verdict on it.
 */
static enum status end_step(int stop, struct writer *why)
{
    int code = alert_instead(stop);
    session.wants = 0;
    if (code == MBEDTLS_ERR_SSL_WANT_READ || code == MBEDTLS_ERR_SSL_WANT_WRITE) {
        session.wants = (code == MBEDTLS_ERR_SSL_WANT_READ) ? TLS_WANTS_READ : TLS_WANTS_WRITE;
        return STATUS_MORE;
    }
    session.failure.code = (code < 0) ? code : MBEDTLS_ERR_SSL_CONN_EOF;
    session.failure.refused = is_refused(code);
    session.failure.tight = session.verifier.reason == X509_MEMORY ||
                            (session.verifier.reason == X509_TRUSTED && arena_was_tight());
    session.failure.established = mbedtls_ssl_is_handshake_over(&session.ssl) != 0;
    if (code == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE) {
        /*
         * The second byte of an alert is its description (RFC 8446 §6); the library has no function
         * that returns it.
         */
        session.failure.alert = session.ssl.MBEDTLS_PRIVATE(in_msg)[1];
    }
    return tls_judge(&session.failure, why);
}

/*
 * Continues to verify the server's certificate. Returns STATUS_MORE even when the server turns out
 * to be trusted, because the handshake must then continue.
 */
static enum status continue_verdict(struct writer *why)
{
    session.wants = TLS_WANTS_TURN;
    if (tls_verify_on(&session.verifier) != PEER_UNTRUSTED) {
        return STATUS_MORE;
    }
    /*
     * Send the alert that mbedTLS's own verifier would send. Ignore a failure to send, because the
     * verdict on the server is final.
     */
    (void)mbedtls_ssl_send_alert_message(&session.ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL,
                                         tls_verify_alert(&session.verifier));
    return end_step(MBEDTLS_ERR_X509_CERT_VERIFY_FAILED, why);
}

static enum status check_session(struct writer *why)
{
    const char *protocol = mbedtls_ssl_get_alpn_protocol(&session.ssl);
    if (!tls_verify_trusted(&session.verifier)) {
        return end_step(MBEDTLS_ERR_X509_CERT_VERIFY_FAILED, why);
    }
    if (protocol == NULL || strcmp(protocol, session.protocols[0]) != 0) {
        return end_step(MBEDTLS_ERR_SSL_NO_APPLICATION_PROTOCOL, why);
    }
    /* The handshake uses several times what the session keeps, and the library overwrites it. */
    memory_give_back(arena, sizeof arena);
    return STATUS_OK;
}

enum status tls_handshake(struct writer *why)
{
    ASSERT(session.open && why != NULL);
    if (session.failure.code != 0) {
        return tls_judge(&session.failure, why);
    }
    session.receives = TLS_RECEIVES_PER_CALL;
    for (unsigned i = 0; i < TLS_STEPS_PER_CALL; i++) {
        if (tls_verify_pending(&session.verifier)) {
            return continue_verdict(why);
        }
        if (mbedtls_ssl_is_handshake_over(&session.ssl) != 0) {
            return check_session(why);
        }
        int code = mbedtls_ssl_handshake_step(&session.ssl);
        if (code != 0) {
            return end_step(code, why);
        }
    }
    session.wants = TLS_WANTS_TURN;
    return STATUS_MORE;
}

static bool is_usable(void)
{
    return session.open && mbedtls_ssl_is_handshake_over(&session.ssl) != 0;
}

enum status tls_read(uint8_t *data, size_t cap, size_t *n)
{
    ASSERT(is_usable() && data != NULL && cap > 0u && n != NULL);
    if (session.failure.code != 0) {
        return tls_judge(&session.failure, NULL);
    }
    session.receives = TLS_RECEIVES_PER_CALL;
    int got = mbedtls_ssl_read(&session.ssl, data, cap);
    if (got <= 0) {
        return end_step(got, NULL);
    }
    *n = (size_t)got;
    return STATUS_OK;
}

enum status tls_write(struct view data, size_t *n)
{
    ASSERT(is_usable() && data.len > 0u && n != NULL);
    ASSERT(data.len >= session.unsent);
    if (session.failure.code != 0) {
        return tls_judge(&session.failure, NULL);
    }
    /* The library requires the caller to repeat an unfinished write with the same length. */
    size_t len = (session.unsent > 0u) ? session.unsent : data.len;
    int sent = mbedtls_ssl_write(&session.ssl, data.data, len);
    if (sent <= 0) {
        enum status s = end_step(sent, NULL);
        session.unsent = (s == STATUS_MORE) ? len : 0u;
        return s;
    }
    session.unsent = 0;
    *n = (size_t)sent;
    return STATUS_OK;
}

unsigned tls_wants(void)
{
    return session.wants;
}

void tls_explain(struct writer *why)
{
    ASSERT(why != NULL);
    if (session.failure.code != 0) {
        (void)tls_judge(&session.failure, why);
    }
}

size_t tls_pending(void)
{
    return session.open ? mbedtls_ssl_get_bytes_avail(&session.ssl) + session.ahead_len : 0u;
}

void tls_end(void)
{
    if (!session.open) {
        return;
    }
    if (is_usable() && session.failure.code == 0 && session.unsent == 0u) {
        /*
         * Try only once to send close_notify, because the write can never complete if the server
         * does not read its input.
         */
        (void)mbedtls_ssl_close_notify(&session.ssl);
    }
    if (session.failure.established && session.failure.code == MBEDTLS_ERR_SSL_UNEXPECTED_MESSAGE) {
        /*
         * The server sent an unexpected message after the handshake. RFC 8446 §6.2 requires an
         * alert for that, which mbedTLS sends only during the handshake.
         */
        (void)mbedtls_ssl_send_alert_message(&session.ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL,
                                             MBEDTLS_SSL_ALERT_MSG_UNEXPECTED_MESSAGE);
    }
    free_all();
    arena_close();
    session.open = false;
    session.fd = -1;
}
