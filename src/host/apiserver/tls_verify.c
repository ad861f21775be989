/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements mbedTLS's certificate functions with x509_chain.h, and the signature checks of
 * x509_chain.h with mbedTLS. See tls_verify.h.
 */
#include "host/apiserver/tls_verify.h"

#include <string.h>

#include "base/assert.h"
#include "x509/der.h"
#include "host/system.h"
#include "host/apiserver/tls_internal.h"

#include <mbedtls/md.h>
#include <mbedtls/pk.h>
#include <mbedtls/platform.h>
#include <mbedtls/rsa.h>
#include <mbedtls/ssl.h>

#define RSA_BITS_MIN 1024u /* bits of the smallest RSA key that Go's crypto/rsa accepts */
#define RSA_BITS_MAX 4096u /* bits of the largest RSA key that fits in MBEDTLS_MPI_MAX_SIZE */
#define RSA_EXPONENT_MAX 0x7fffffffu /* largest public exponent that Go's crypto/rsa accepts */
#define HASH_BYTES_MAX 64u
/* size of a buffer for a subjectPublicKeyInfo; that of an RSA-4096 key has 550 bytes */
#define KEY_BYTES_MAX 640u
#define KEY_ARENA_BYTES 1024u /* bytes of the arena that an RSA-4096 key uses, with block headers */

/* --- checks of certificate signatures --- */

/*
 * Whether reading a key failed for lack of memory. For an RSA key, the library reports a lack of
 * memory as an invalid key, so this function also tests whether the arena has room for an RSA key.
 */
static bool lacks_memory(int code)
{
    void *room = mbedtls_calloc(1, KEY_ARENA_BYTES);
    bool lacks = room == NULL || tls_is_exhausted(code);
    mbedtls_free(room);
    return lacks;
}

/* Imports the certificate's public key into `key`, which the caller frees. */
static enum x509_reason import_key(mbedtls_pk_context *key, const struct x509_cert *cert)
{
    /* The key is copied, because the library's parser takes a pointer to non-const bytes. */
    unsigned char copy[KEY_BYTES_MAX];
    unsigned char *at = copy;
    mbedtls_pk_init(key);
    if (cert->key == X509_KEY_ED25519) {
        return X509_ED25519_KEY;
    }
    if (cert->spki.len > sizeof copy || cert->exponent > RSA_EXPONENT_MAX) {
        return X509_OTHER_KEY;
    }
    memcpy(copy, cert->spki.data, cert->spki.len);
    int code = mbedtls_pk_parse_subpubkey(&at, &copy[cert->spki.len], key);
    if (code != 0) {
        return lacks_memory(code) ? X509_MEMORY : X509_OTHER_KEY;
    }
    size_t bits = mbedtls_pk_get_bitlen(key);
    bool is_rsa = mbedtls_pk_can_do(key, MBEDTLS_PK_RSA) != 0;
    if (is_rsa && bits < RSA_BITS_MIN) {
        return X509_WEAK_KEY;
    }
    return (is_rsa && bits > RSA_BITS_MAX) ? X509_OTHER_KEY : X509_TRUSTED;
}

static bool key_fits(const struct x509_cert *child, const mbedtls_pk_context *key)
{
    bool is_rsa = mbedtls_pk_can_do(key, MBEDTLS_PK_RSA) != 0;
    bool is_ec = mbedtls_pk_can_do(key, MBEDTLS_PK_ECDSA) != 0;
    return (child->scheme == X509_SCHEME_ECDSA) ? is_ec : is_rsa;
}

/*
 * Whether the signature is a SEQUENCE of two positive INTEGERs in DER (RFC 5480 §2.2.3); the
 * library would accept other encodings.
 */
static bool ecdsa_valid(struct view signature)
{
    struct view in = {0};
    struct view r = {0};
    struct view s = {0};
    return der_expect(&signature, DER_SEQUENCE, &in) && signature.len == 0u &&
           der_integer(&in, DER_INTEGER, &r) && der_integer(&in, DER_INTEGER, &s) && in.len == 0u &&
           (r.data[0] & 0x80u) == 0u && (s.data[0] & 0x80u) == 0u;
}

static mbedtls_md_type_t hash_of(const struct x509_cert *child)
{
    if (child->hash_bits == 256u) {
        return MBEDTLS_MD_SHA256;
    }
    return (child->hash_bits == 384u) ? MBEDTLS_MD_SHA384 : MBEDTLS_MD_SHA512;
}

static int verify_hash(mbedtls_pk_context *key, const struct x509_cert *child,
                       const unsigned char *hash)
{
    size_t len = child->hash_bits / 8u;
    mbedtls_md_type_t md = hash_of(child);
    mbedtls_pk_rsassa_pss_options pss = {.mgf1_hash_id = md, .expected_salt_len = (int)len};
    if (child->scheme == X509_SCHEME_PSS) {
        return mbedtls_pk_verify_ext(MBEDTLS_PK_RSASSA_PSS, &pss, key, md, hash, len,
                                     child->signature.data, child->signature.len);
    }
    return mbedtls_pk_verify(key, md, hash, len, child->signature.data, child->signature.len);
}

static enum x509_reason check_with(mbedtls_pk_context *key, const struct x509_cert *child)
{
    unsigned char hash[HASH_BYTES_MAX];
    if (!key_fits(child, key) ||
        (child->scheme == X509_SCHEME_ECDSA && !ecdsa_valid(child->signature))) {
        return X509_BAD_SIGNATURE;
    }
    int code = mbedtls_md(mbedtls_md_info_from_type(hash_of(child)), child->tbs.data,
                          child->tbs.len, hash);
    code = (code == 0) ? verify_hash(key, child, hash) : code;
    if (code != 0) {
        return tls_is_exhausted(code) ? X509_MEMORY : X509_BAD_SIGNATURE;
    }
    return X509_TRUSTED;
}

static enum x509_reason check_signature(void *context, const struct x509_cert *child,
                                        const struct x509_cert *issuer)
{
    mbedtls_pk_context key;
    (void)context;
    if (child->scheme == X509_SCHEME_WEAK) {
        return X509_WEAK_SIGNATURE;
    }
    enum x509_reason reason = import_key(&key, issuer);
    if (reason == X509_TRUSTED) {
        reason =
            (child->scheme == X509_SCHEME_OTHER) ? X509_OTHER_SIGNATURE : check_with(&key, child);
    }
    mbedtls_pk_free(&key);
    return reason;
}

/* --- verdict on the server's certificates --- */

void tls_verifier_start(struct tls_verifier *v, struct view anchors, struct view host)
{
    v->trust = (struct x509_trust){
        .anchors = anchors, .host = host, .check = check_signature, .context = v};
    v->state = TLS_NO_CERTIFICATE;
    v->reason = X509_TRUSTED;
    v->text[0] = '\0';
}

/*
 * Parses the certificates that the server sent. Like Go's crypto/x509, refuses the chain if one of
 * them cannot be parsed or has an EC key whose point is not on its curve.
 */
static struct x509_verdict read_sent(struct tls_verifier *v, const mbedtls_x509_crt *sent)
{
    struct x509_cert extra;
    v->sent.count = 0;
    v->more = false;
    for (const mbedtls_x509_crt *c = sent; c != NULL && c->raw.len > 0u; c = c->next) {
        mbedtls_pk_context key;
        bool kept = v->sent.count < X509_SENT_MAX;
        struct x509_cert *cert = kept ? &v->sent.cert[v->sent.count] : &extra;
        if (x509_read(view_of(c->raw.p, c->raw.len), cert) != STATUS_OK) {
            return (struct x509_verdict){.reason = X509_UNREADABLE,
                                         .about_issuer = c != sent,
                                         .subject = cert->subject,
                                         .detail = view_text(cert->fault)};
        }
        v->sent.count += kept ? 1u : 0u;
        v->more = !kept;
        if (cert->key == X509_KEY_EC) {
            enum x509_reason reason = import_key(&key, cert);
            mbedtls_pk_free(&key);
            if (reason != X509_TRUSTED) {
                return (struct x509_verdict){
                    .reason = reason, .about_issuer = c != sent, .subject = cert->subject};
            }
        }
    }
    return (struct x509_verdict){.reason = (v->sent.count > 0u) ? X509_TRUSTED : X509_UNREADABLE,
                                 .detail = view_text("none was sent")};
}

/*
 * Replaces the public key in mbedTLS's copy of the server's certificate by the key in `cert`. With
 * this key, the library verifies that the server has the matching private key.
 */
static enum x509_reason replace_key(mbedtls_x509_crt *own, const struct x509_cert *cert)
{
    mbedtls_pk_free(&own->pk);
    return import_key(&own->pk, cert);
}

int tls_verify(void *verifier, mbedtls_x509_crt *sent, int depth, uint32_t *flags)
{
    struct tls_verifier *v = verifier;
    ASSERT(depth == 0);
    /*
     * With flags 0 the handshake continues; tls_verify_on decides later whether the server is
     * trusted.
     */
    *flags = 0;
    v->trust.now_ms = (int64_t)clock_wall_ms();
    v->unread = read_sent(v, sent);
    if (v->unread.reason == X509_TRUSTED) {
        v->key_reason = replace_key(sent, &v->sent.cert[0]);
        x509_begin(&v->search, &v->trust, &v->sent);
    }
    v->state = TLS_UNVERIFIED;
    return 0;
}

bool tls_verify_pending(const struct tls_verifier *v)
{
    return v->state == TLS_UNVERIFIED;
}

bool tls_verify_trusted(const struct tls_verifier *v)
{
    return v->state == TLS_VERIFIED && v->reason == X509_TRUSTED;
}

enum status tls_verify_on(struct tls_verifier *v)
{
    struct writer w = writer_of(v->text, sizeof v->text - 1u);
    struct x509_verdict verdict = v->unread;
    ASSERT(v->state == TLS_UNVERIFIED);
    if (verdict.reason == X509_TRUSTED) {
        if (!x509_step(&v->search, &verdict)) {
            return STATUS_MORE;
        }
        verdict.reason = (verdict.reason == X509_NO_ISSUER && v->more) ? X509_SENT : verdict.reason;
    }
    if (verdict.reason == X509_TRUSTED) {
        verdict = (struct x509_verdict){.reason = v->key_reason};
    }
    v->state = TLS_VERIFIED;
    v->reason = verdict.reason;
    if (v->reason != X509_TRUSTED) {
        x509_explain(&w, &verdict, v->trust.host);
    }
    v->text[w.len] = '\0';
    return tls_verify_trusted(v) ? STATUS_OK : PEER_UNTRUSTED;
}

uint8_t tls_verify_alert(const struct tls_verifier *v)
{
    if (v->reason == X509_EXPIRED || v->reason == X509_FUTURE) {
        return MBEDTLS_SSL_ALERT_MSG_CERT_EXPIRED;
    }
    return (v->reason == X509_HOST) ? MBEDTLS_SSL_ALERT_MSG_BAD_CERT
                                    : MBEDTLS_SSL_ALERT_MSG_UNKNOWN_CA;
}

/* --- replacements for functions of mbedTLS's x509_crt.c --- */

/*
 * A configuration of mbedTLS points to one of these certificate profiles; this verifier ignores
 * them.
 */
const mbedtls_x509_crt_profile mbedtls_x509_crt_profile_default = {0};
const mbedtls_x509_crt_profile mbedtls_x509_crt_profile_suiteb = {0};

void mbedtls_x509_crt_init(mbedtls_x509_crt *crt)
{
    memset(crt, 0, sizeof *crt);
    mbedtls_pk_init(&crt->pk);
}

void mbedtls_x509_crt_free(mbedtls_x509_crt *crt)
{
    mbedtls_x509_crt *next = crt;
    while (next != NULL) {
        mbedtls_x509_crt *c = next;
        next = c->next;
        mbedtls_pk_free(&c->pk);
        mbedtls_free(c->raw.p);
        if (c != crt) {
            mbedtls_free(c);
        }
    }
    if (crt != NULL) {
        mbedtls_x509_crt_init(crt);
    }
}

/*
 * Appends a copy of the certificate to the list `chain`, because the verdict on the server needs
 * all certificates.
 */
int mbedtls_x509_crt_parse_der(mbedtls_x509_crt *chain, const unsigned char *buf, size_t buflen)
{
    mbedtls_x509_crt *last = chain;
    while (last->next != NULL) {
        last = last->next;
    }
    if (last->raw.p != NULL) {
        last->next = mbedtls_calloc(1, sizeof *last);
        last = last->next;
        if (last == NULL) {
            return MBEDTLS_ERR_X509_ALLOC_FAILED;
        }
        mbedtls_x509_crt_init(last);
    }
    last->raw.p = mbedtls_calloc(1, buflen);
    if (last->raw.p == NULL) {
        return MBEDTLS_ERR_X509_ALLOC_FAILED;
    }
    memcpy(last->raw.p, buf, buflen);
    last->raw.len = buflen;
    return 0;
}

/* Leaves the decision to the callback `f_vrfy`; without a callback, no server is trusted. */
int mbedtls_x509_crt_verify_restartable(mbedtls_x509_crt *crt, mbedtls_x509_crt *trust_ca,
                                        mbedtls_x509_crl *ca_crl,
                                        const mbedtls_x509_crt_profile *profile, const char *cn,
                                        uint32_t *flags,
                                        int (*f_vrfy)(void *, mbedtls_x509_crt *, int, uint32_t *),
                                        void *p_vrfy, mbedtls_x509_crt_restart_ctx *rs_ctx)
{
    (void)trust_ca;
    (void)ca_crl;
    (void)profile;
    (void)cn;
    (void)rs_ctx;
    *flags = 0;
    if (f_vrfy == NULL || f_vrfy(p_vrfy, crt, 0, flags) != 0) {
        *flags |= MBEDTLS_X509_BADCERT_NOT_TRUSTED;
    }
    return (*flags == 0u) ? 0 : MBEDTLS_ERR_X509_CERT_VERIFY_FAILED;
}

/* Accepts every key usage of a server, as Go does; x509_chain.h checks the extended key usages. */
int mbedtls_x509_crt_check_key_usage(const mbedtls_x509_crt *crt, unsigned int usage)
{
    (void)crt;
    (void)usage;
    return 0;
}

int mbedtls_x509_crt_check_extended_key_usage(const mbedtls_x509_crt *crt, const char *usage_oid,
                                              size_t usage_len)
{
    (void)crt;
    (void)usage_oid;
    (void)usage_len;
    return 0;
}

/* --- the client's own certificate --- */

int tls_own_certificate(mbedtls_x509_crt *chain, struct view der, const char **fault)
{
    struct x509_cert cert;
    bool first = chain->raw.p == NULL;
    *fault = NULL;
    if (first && x509_read(der, &cert) != STATUS_OK) {
        *fault = cert.fault;
        return MBEDTLS_ERR_X509_INVALID_FORMAT;
    }
    int code = mbedtls_x509_crt_parse_der(chain, der.data, der.len);
    if (code != 0 || !first) {
        return code;
    }
    enum x509_reason reason = import_key(&chain->pk, &cert);
    if (reason == X509_MEMORY) {
        return MBEDTLS_ERR_X509_ALLOC_FAILED;
    }
    *fault = (reason == X509_ED25519_KEY) ? "key, which is Ed25519; RSA and EC keys are supported"
                                          : "key";
    *fault = (reason == X509_TRUSTED) ? NULL : *fault;
    return (reason == X509_TRUSTED) ? 0 : MBEDTLS_ERR_X509_INVALID_FORMAT;
}
