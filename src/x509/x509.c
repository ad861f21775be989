/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the certificate itself: order of its fields, names, algorithms and key. See x509.h. */

#include "base/chars.h"
#include "cfg/limits.h"
#include "x509/der.h"
#include "x509/x509_internal.h"

/* the OID pkcs-1, to which each algorithm adds one arc */
#define OID_RSA "\x2a\x86\x48\x86\xf7\x0d\x01\x01"
/* the OID ecdsa-with-SHA2, to which each hash adds one arc */
#define OID_ECDSA_SHA2 "\x2a\x86\x48\xce\x3d\x04\x03"
/* the OID hashAlgs of NIST, to which each hash adds one arc */
#define OID_SHA2 "\x60\x86\x48\x01\x65\x03\x04\x02"
#define OID_EC_KEY "\x2a\x86\x48\xce\x3d\x02\x01"
#define OID_ED25519 "\x2b\x65\x70"
#define OID_ECDSA_SHA1 "\x2a\x86\x48\xce\x3d\x04\x01"
#define OID_SHA1_RSA_ISO "\x2b\x0e\x03\x02\x1d"
#define OID_COMMON_NAME "\x55\x04\x03"
#define OID_DSA "\x2a\x86\x48\xce\x38\x04\x01"
#define DER_NULL_ELEMENT "\x05\x00"

/* Whether the OID is `prefix` plus one arc of a single octet, *arc. */
static bool oid_under(struct view oid, const char *prefix, size_t len, unsigned *arc)
{
    if (oid.len != len + 1u || !der_is(view_first(oid, len), prefix, len)) {
        return false;
    }
    *arc = oid.data[len];
    return true;
}

#define OID_UNDER(oid, prefix, arc) oid_under((oid), (prefix), sizeof(prefix) - 1u, (arc))

/* --- parsing and showing names --- */

static bool is_printable_string(struct view text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        /* X.680 forbids '*' and '&' in a PrintableString, but many certificates have them */
        if (!is_alphanumeric(c) && !view_has(view_text(" '()+,-./:=?*&"), c)) {
            return false;
        }
    }
    return true;
}

static bool is_numeric_string(struct view text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.data[i]) && text.data[i] != ' ') {
            return false;
        }
    }
    return true;
}

/* Whether the text is UCS-2 without surrogates and noncharacters. */
static bool is_bmp(struct view text)
{
    bool valid = text.len % 2u == 0u;
    for (size_t i = 0; i + 1u < text.len; i += 2u) {
        unsigned c = ((unsigned)text.data[i] << 8) | text.data[i + 1u];
        bool odd = c >= 0xfffeu || (c >= 0xfdd0u && c <= 0xfdefu) || (c >= 0xd800u && c <= 0xdfffu);
        valid = valid && !odd;
    }
    return valid;
}

/*
 * Whether the element is a valid string of a type that names may have (X.680). T61String is read as
 * Latin-1, in which every octet is valid.
 */
static bool string_valid(const struct der *e)
{
    switch (e->tag) {
    case 0x0cu:
        return view_is_utf8(e->content);
    case 0x12u:
        return is_numeric_string(e->content);
    case 0x13u:
        return is_printable_string(e->content);
    case 0x14u:
        return true;
    case 0x16u:
        return der_is_ascii(e->content);
    case 0x1eu:
        return is_bmp(e->content);
    default:
        return false;
    }
}

/* Parses the next attribute of a set within a Name. */
static bool parse_attribute(struct view *set, struct view *type, struct der *value)
{
    struct view pair = {0};
    return der_expect(set, DER_SEQUENCE, &pair) && der_oid(&pair, type) && der_any(&pair, value) &&
           string_valid(value);
}

/* Parses a whole Name element. *shown: its last common name, else its last attribute. */
static bool name_walk(struct view name, struct view *shown)
{
    struct view sets = {0};
    struct view set = {0};
    bool common = false;
    bool valid = der_expect(&name, DER_SEQUENCE, &sets);
    while (valid && (sets.len > 0u || set.len > 0u)) {
        struct view type = {0};
        struct der value = {0};
        if (set.len == 0u) {
            valid = der_expect(&sets, DER_SET, &set);
            continue;
        }
        valid = parse_attribute(&set, &type, &value);
        bool is_common = valid && DER_IS(type, OID_COMMON_NAME);
        if (valid && (is_common || !common)) {
            *shown = value.content;
            common = is_common;
        }
    }
    return valid;
}

/* Parses a BIT STRING of whole octets. */
static bool parse_octets(struct view *in, struct view *octets)
{
    unsigned unused = 0;
    return der_bits(in, octets, &unused) && unused == 0u;
}

/*
 * Parses a SEQUENCE. Unlike der_expect, also returns a view of the element with its tag and length.
 */
static bool parse_element(struct view *in, struct der *e)
{
    return der_any(in, e) && e->tag == DER_SEQUENCE;
}

static bool parse_name(struct view *in, struct view *whole)
{
    struct der e = {0};
    struct view shown = {0};
    if (!parse_element(in, &e)) {
        return false;
    }
    *whole = e.whole;
    return name_walk(e.whole, &shown);
}

void x509_show_name(struct writer *w, struct view name)
{
    struct view shown = {0};
    writer_text(w, "\"");
    if (name_walk(name, &shown)) {
        writer_shown(w, shown, SHOWN_BYTES_MAX);
    }
    writer_text(w, "\"");
}

/* --- parsing signature algorithms --- */

/*
 * Parses an AlgorithmIdentifier's content: OID, and the whole element of its parameters, which may
 * be absent.
 */
static bool parse_algorithm(struct view in, struct view *oid, struct view *parameters)
{
    struct der e = {0};
    if (!der_oid(&in, oid)) {
        return false;
    }
    *parameters = view_of(NULL, 0);
    if (in.len == 0u) {
        return true;
    }
    if (!der_any(&in, &e)) {
        return false;
    }
    *parameters = e.whole;
    return true;
}

/*
 * Parses an AlgorithmIdentifier of SHA-256, SHA-384 or SHA-512 whose parameters are absent or NULL;
 * returns the hash length in bits. 0: another algorithm.
 */
static unsigned parse_sha2(struct view *in)
{
    static const unsigned bits[] = {256, 384, 512};
    struct view content = {0};
    struct view oid = {0};
    struct view parameters = {0};
    unsigned arc = 0;
    if (!der_expect(in, DER_SEQUENCE, &content) || !parse_algorithm(content, &oid, &parameters) ||
        !OID_UNDER(oid, OID_SHA2, &arc) || arc < 1u || arc > 3u ||
        (parameters.len > 0u && !DER_IS(parameters, DER_NULL_ELEMENT))) {
        return 0;
    }
    return bits[arc - 1u];
}

/*
 * Parses the hash and the mask generation function of RSASSA-PSS-params, which must be MGF1 with
 * the same hash (RFC 4055 §3.1). Returns the hash length in bits. 0: other algorithms.
 */
static unsigned pss_hash(struct view *in)
{
    struct view part = {0};
    struct view mgf = {0};
    struct view oid = {0};
    if (!der_expect(in, DER_CONTEXT_OUTER(0u), &part)) {
        return 0;
    }
    unsigned bits = parse_sha2(&part);
    bool same = part.len == 0u && der_expect(in, DER_CONTEXT_OUTER(1u), &part) &&
                der_expect(&part, DER_SEQUENCE, &mgf) && part.len == 0u && der_oid(&mgf, &oid) &&
                DER_IS(oid, OID_RSA "\x08") && parse_sha2(&mgf) == bits;
    return same ? bits : 0u;
}

/*
 * Whether `in`, the part of RSASSA-PSS-params after the salt length, is empty or has trailer field
 * 1, the only one that is defined.
 */
static bool trailer_valid(struct view in)
{
    struct view part = {0};
    uint64_t trailer = 0;
    return in.len == 0u || (der_expect(&in, DER_CONTEXT_OUTER(3u), &part) &&
                            der_number(&part, DER_INTEGER, &trailer) && trailer == 1u);
}

/*
 * Parses RSASSA-PSS-params, which must have a salt as long as the hash, and no trailer field or
 * trailer field 1. Returns the hash length in bits. 0: other parameters.
 */
static unsigned pss_bits(struct view parameters)
{
    struct view in = {0};
    struct view part = {0};
    uint64_t salt = 0;
    if (!der_expect(&parameters, DER_SEQUENCE, &in)) {
        return 0;
    }
    unsigned bits = pss_hash(&in);
    bool good = der_expect(&in, DER_CONTEXT_OUTER(2u), &part) &&
                der_number(&part, DER_INTEGER, &salt) && salt == bits / 8u && trailer_valid(in);
    return good ? bits : 0u;
}

/*
 * Signature algorithms (RFC 8017 §A.2, RFC 5758 §3.2) except RSASSA-PSS, whose hash is in its
 * parameters.
 */
static const struct {
    const char *oid;
    size_t len;
    enum x509_scheme scheme;
    unsigned bits;
} schemes[] = {
    {OID_RSA "\x0b", 9, X509_SCHEME_RSA, 256},
    {OID_RSA "\x0c", 9, X509_SCHEME_RSA, 384},
    {OID_RSA "\x0d", 9, X509_SCHEME_RSA, 512},
    {OID_ECDSA_SHA2 "\x02", 8, X509_SCHEME_ECDSA, 256},
    {OID_ECDSA_SHA2 "\x03", 8, X509_SCHEME_ECDSA, 384},
    {OID_ECDSA_SHA2 "\x04", 8, X509_SCHEME_ECDSA, 512},
    {OID_RSA "\x04", 9, X509_SCHEME_WEAK, 0},
    {OID_RSA "\x05", 9, X509_SCHEME_WEAK, 0},
    {OID_SHA1_RSA_ISO, 5, X509_SCHEME_WEAK, 0},
    {OID_ECDSA_SHA1, 7, X509_SCHEME_WEAK, 0},
};

static bool read_scheme(struct view in, struct x509_cert *cert)
{
    struct view oid = {0};
    struct view parameters = {0};
    if (!parse_algorithm(in, &oid, &parameters)) {
        return false;
    }
    cert->scheme = X509_SCHEME_OTHER;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        if (der_is(oid, schemes[i].oid, schemes[i].len)) {
            cert->scheme = schemes[i].scheme;
            cert->hash_bits = schemes[i].bits;
        }
    }
    if (DER_IS(oid, OID_RSA "\x0a")) {
        cert->hash_bits = pss_bits(parameters);
        cert->scheme = (cert->hash_bits > 0u) ? X509_SCHEME_PSS : X509_SCHEME_OTHER;
    }
    return true;
}

/* --- parsing the public key --- */

/*
 * Parses an RSAPublicKey (RFC 8017 §A.1.1). Both integers are positive; like Go, refuses an
 * exponent of more than 63 bits.
 */
static bool rsa_valid(struct view key, uint64_t *exponent)
{
    struct view in = {0};
    struct view modulus = {0};
    return der_expect(&key, DER_SEQUENCE, &in) && der_integer(&in, DER_INTEGER, &modulus) &&
           (modulus.data[0] & 0x80u) == 0u && (modulus.len > 1u || modulus.data[0] != 0u) &&
           der_number(&in, DER_INTEGER, exponent) && *exponent > 0u;
}

/*
 * Checks an elliptic-curve key: a named NIST curve and an uncompressed point (RFC 5480 §2.1.1.1 and
 * §2.2). Returns what is invalid, for a message; NULL: nothing.
 */
static const char *ec_fault(struct view parameters, struct view key)
{
    static const struct {
        const char *oid;
        size_t len;
        size_t octets; /* length of one coordinate of a point of the curve */
    } curves[] = {
        {"\x2b\x81\x04\x00\x21", 5, 28},
        {"\x2a\x86\x48\xce\x3d\x03\x01\x07", 8, 32},
        {"\x2b\x81\x04\x00\x22", 5, 48},
        {"\x2b\x81\x04\x00\x23", 5, 66},
    };
    struct view oid = {0};
    if (!der_oid(&parameters, &oid)) {
        return "the curve of its key, which has no name";
    }
    for (size_t i = 0; i < sizeof curves / sizeof curves[0]; i++) {
        if (der_is(oid, curves[i].oid, curves[i].len)) {
            bool point = key.len == 1u + 2u * curves[i].octets && key.data[0] == 4u;
            return point ? NULL : "the point of its key";
        }
    }
    return "the curve of its key, which is none of P-224, P-256, P-384 and P-521";
}

static enum x509_key key_of(struct view oid)
{
    if (DER_IS(oid, OID_RSA "\x01")) {
        return X509_KEY_RSA;
    }
    if (DER_IS(oid, OID_EC_KEY)) {
        return X509_KEY_EC;
    }
    return DER_IS(oid, OID_ED25519) ? X509_KEY_ED25519 : X509_KEY_OTHER;
}

/* Parses SubjectPublicKeyInfo's content. Returns what is invalid, for a message; NULL: nothing. */
static const char *read_spki(struct view in, struct x509_cert *cert)
{
    struct view algorithm = {0};
    struct view oid = {0};
    struct view parameters = {0};
    struct view key = {0};
    if (!der_expect(&in, DER_SEQUENCE, &algorithm) ||
        !parse_algorithm(algorithm, &oid, &parameters) || !parse_octets(&in, &key)) {
        return "key";
    }
    cert->key = key_of(oid);
    switch (cert->key) {
    case X509_KEY_RSA:
        return (DER_IS(parameters, DER_NULL_ELEMENT) && rsa_valid(key, &cert->exponent))
                   ? NULL
                   : "RSA key";
    case X509_KEY_EC:
        return ec_fault(parameters, key);
    case X509_KEY_ED25519:
        return (parameters.len == 0u && key.len == 32u) ? NULL : "Ed25519 key";
    default:
        return DER_IS(oid, OID_DSA) ? "key, which is DSA" : NULL;
    }
}

/* --- parsing a whole certificate --- */

struct fields {
    struct view tbs;   /* the part of tbsCertificate's content that is not parsed yet */
    struct view outer; /* content of the signatureAlgorithm that follows tbsCertificate */
};

/* Parses version and serial number. Returns what is invalid, for a message; NULL: nothing. */
static const char *read_start(struct fields *f, struct x509_cert *cert)
{
    struct view part = {0};
    uint64_t version = 0;
    bool given = false;
    if (!der_optional(&f->tbs, DER_CONTEXT_OUTER(0u), &given, &part) ||
        (given && (!der_number(&part, DER_INTEGER, &version) || part.len > 0u)) || version > 2u) {
        return "version";
    }
    cert->version = (unsigned)version + 1u;
    if (!der_integer(&f->tbs, DER_INTEGER, &part)) {
        return "serial number";
    }
    return ((part.data[0] & 0x80u) != 0u) ? "serial number, which is negative" : NULL;
}

/*
 * Parses the fields of tbsCertificate from the signature algorithm to the subject. Returns what is
 * invalid, for a message; NULL: nothing.
 */
static const char *read_fields(struct fields *f, struct x509_cert *cert)
{
    struct view algorithm = {0};
    struct view validity = {0};
    if (!der_expect(&f->tbs, DER_SEQUENCE, &algorithm) || !view_equal(algorithm, f->outer) ||
        !read_scheme(algorithm, cert)) {
        return "signature algorithm";
    }
    if (!parse_name(&f->tbs, &cert->issuer)) {
        return "issuer";
    }
    if (!der_expect(&f->tbs, DER_SEQUENCE, &validity) || !der_time(&validity, &cert->not_before) ||
        !der_time(&validity, &cert->not_after)) {
        return "validity";
    }
    return parse_name(&f->tbs, &cert->subject) ? NULL : "subject";
}

/*
 * Parses the optional fields of tbsCertificate after the public key: unique identifiers and
 * extensions. Returns what is invalid, for a message; NULL: nothing.
 */
static const char *read_rest(struct fields *f, struct x509_cert *cert)
{
    struct view part = {0};
    bool given = false;
    if (cert->version > 1u && (!der_optional(&f->tbs, DER_CONTEXT(1u), &given, &part) ||
                               !der_optional(&f->tbs, DER_CONTEXT(2u), &given, &part))) {
        return "unique identifiers";
    }
    if (cert->version < 3u) {
        return NULL;
    }
    if (!der_optional(&f->tbs, DER_CONTEXT_OUTER(3u), &given, &part)) {
        return "extensions";
    }
    return (!given || x509_extensions(part, cert)) ? NULL : cert->fault;
}

/*
 * Parses the fields of tbsCertificate from the public key to the end. Returns what is invalid, for
 * a message; NULL: nothing.
 */
static const char *read_key_and_rest(struct fields *f, struct x509_cert *cert)
{
    struct der key = {0};
    if (!parse_element(&f->tbs, &key)) {
        return "key";
    }
    cert->spki = key.whole;
    const char *fault = read_spki(key.content, cert);
    return (fault == NULL) ? read_rest(f, cert) : fault;
}

/*
 * Splits a certificate into tbsCertificate, signatureAlgorithm and signatureValue (RFC 5280 §4.1).
 * Returns what is invalid, for a message; NULL: nothing.
 */
static const char *read_outer(struct view der, struct fields *f, struct x509_cert *cert)
{
    struct der whole = {0};
    struct der tbs = {0};
    if (!parse_element(&der, &whole) || der.len > 0u || !parse_element(&whole.content, &tbs)) {
        return "encoding (DER)";
    }
    cert->raw = whole.whole;
    cert->tbs = tbs.whole;
    f->tbs = tbs.content;
    if (!der_expect(&whole.content, DER_SEQUENCE, &f->outer)) {
        return "signature algorithm";
    }
    return parse_octets(&whole.content, &cert->signature) ? NULL : "signature";
}

static const char *read_all(struct view der, struct x509_cert *cert)
{
    struct fields f = {0};
    const char *fault = read_outer(der, &f, cert);
    fault = (fault == NULL) ? read_start(&f, cert) : fault;
    fault = (fault == NULL) ? read_fields(&f, cert) : fault;
    return (fault == NULL) ? read_key_and_rest(&f, cert) : fault;
}

enum status x509_read(struct view der, struct x509_cert *out)
{
    *out = (struct x509_cert){0};
    out->fault = read_all(der, out);
    return (out->fault == NULL) ? STATUS_OK : PEER_MALFORMED;
}

bool x509_subject(struct view der, struct view *subject)
{
    struct view in = {0};
    struct view tbs = {0};
    struct der e = {0};
    bool given = false;
    bool found = der_expect(&der, DER_SEQUENCE, &in) && der_expect(&in, DER_SEQUENCE, &tbs) &&
                 der_optional(&tbs, DER_CONTEXT_OUTER(0u), &given, &in);
    /* consumes serialNumber, signature, issuer, validity and subject; only the subject is used */
    for (size_t i = 0; i < 5u && found; i++) {
        found = der_any(&tbs, &e);
    }
    *subject = e.whole;
    return found;
}
