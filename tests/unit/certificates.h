/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates written element by element: each field of a usual certificate can be replaced, left
 * out, or be bytes that are not DER. Nothing is signed. The elements stand in one static pool,
 * which forget_elements empties before each test.
 */
#ifndef TESTS_UNIT_CERTIFICATES_H
#define TESTS_UNIT_CERTIFICATES_H

#include "unit.h"

#include "x509/der.h"
#include "x509/x509_chain.h"

/* --- DER --- */

static uint8_t pool[1u << 20];
static size_t pool_len;

/* An element with the parts as its content; valid until the next test. */
static inline struct view element(unsigned tag, const struct view *part, size_t count)
{
    struct writer w = writer_of(&pool[pool_len], sizeof pool - pool_len);
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        len += part[i].len;
    }
    writer_u8(&w, (uint8_t)tag);
    if (len >= 256) {
        writer_u8(&w, 0x82);
        writer_u16(&w, (uint16_t)len);
    } else {
        writer_text(&w, (len >= 128) ? "\x81" : "");
        writer_u8(&w, (uint8_t)len);
    }
    for (size_t i = 0; i < count; i++) {
        writer_append(&w, part[i]);
    }
    assert_false(w.full);
    pool_len += w.len;
    return writer_view(&w);
}

/* The parts one after the other, without an element around them. */
static inline struct view joined(struct view a, struct view b)
{
    struct writer w = writer_of(&pool[pool_len], sizeof pool - pool_len);
    writer_append(&w, a);
    writer_append(&w, b);
    assert_false(w.full);
    pool_len += w.len;
    return writer_view(&w);
}

#define DER(tag, ...)                                                                              \
    element((tag), (const struct view[]){__VA_ARGS__},                                             \
            sizeof((const struct view[]){__VA_ARGS__}) / sizeof(struct view))
#define BYTES(literal) view_of((literal), sizeof(literal) - 1)
#define NONE view_of(NULL, 0)
#define ABSENT view_of("", 0) /* of a field of struct spec: the certificate lacks it */
#define OID(literal) DER(DER_OID, BYTES(literal))
#define NUL DER(0x05u, NONE)
#define SEQ(...) DER(DER_SEQUENCE, __VA_ARGS__)
#define INTEGER(literal) DER(DER_INTEGER, BYTES(literal))
#define CUT(tag) BYTES(tag "\x7f") /* an element that ends before its length does */

/* A list of the same element. */
static inline struct view repeated(unsigned tag, struct view e, size_t count)
{
    static struct view parts[600];
    assert_true(count <= sizeof parts / sizeof parts[0]);
    for (size_t i = 0; i < count; i++) {
        parts[i] = e;
    }
    return element(tag, parts, count);
}

/* The same element, some times in a row. */
static inline struct view copies(struct view e, size_t count)
{
    struct view list = repeated(DER_SEQUENCE, e, count);
    struct der d = {0};
    assert_true(der_any(&list, &d));
    return d.content;
}

/* --- certificates --- */

#define HOST "api.test"
#define NOW INT64_C(1800000000) /* 2027 */
#define DNS(name) DER(DER_CONTEXT(2u), view_text(name))
#define IP(bytes) DER(DER_CONTEXT(7u), BYTES(bytes))
#define MAIL(text) DER(DER_CONTEXT(1u), view_text(text))
#define URI(text) DER(DER_CONTEXT(6u), view_text(text))
#define BASIC_CONSTRAINTS "\x55\x1d\x13"
#define ALTERNATIVE_NAMES "\x55\x1d\x11"
#define NAME_CONSTRAINTS "\x55\x1d\x1e"
#define EC_KEY "\x2a\x86\x48\xce\x3d\x02\x01"
#define P256 "\x2a\x86\x48\xce\x3d\x03\x01\x07"
#define RSA_KEY "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01"
#define ECDSA_SHA256 "\x2a\x86\x48\xce\x3d\x04\x03\x02"
#define COMMON_NAME "\x55\x04\x03"
#define UTF8_STRING 0x0cu

/* What differs from a usual certificate: whole elements, where a view that is NULL is the usual. */
struct spec {
    const char *subject;
    const char *issuer;
    const char *ends; /* UTCTime */
    struct view version;
    struct view serial;
    struct view algorithm; /* of the outer signature */
    struct view inner;     /* the same in the signed part */
    struct view issuer_name;
    struct view validity;
    struct view subject_name;
    struct view spki;
    struct view identifiers; /* issuerUniqueID and subjectUniqueID */
    struct view extension[3];
    struct view extensions; /* the whole field; else one of extension[] */
    struct view signature;
};

static inline struct view or_usual(struct view given, struct view usual)
{
    return (given.data != NULL) ? given : usual;
}

static inline struct view attribute(const char *type, size_t len, struct view value)
{
    return SEQ(DER(DER_OID, view_of(type, len)), value);
}

#define ATTRIBUTE(type, value) attribute((type), sizeof(type) - 1, (value))
#define STRING(text) DER(UTF8_STRING, view_text(text))

static inline struct view name_of(const char *text)
{
    return SEQ(DER(DER_SET, ATTRIBUTE(COMMON_NAME, STRING(text))));
}

static inline struct view key_of(struct view algorithm, struct view parameters, struct view bits)
{
    return SEQ(SEQ(algorithm, parameters), DER(DER_BIT_STRING, BYTES("\0"), bits));
}

static inline struct view ec_point(size_t octets)
{
    static uint8_t point[160] = {4};
    return view_of(point, 1 + 2 * octets);
}

static inline struct view rsa_spki(struct view modulus, struct view parameters)
{
    struct view pair = SEQ(DER(DER_INTEGER, modulus), INTEGER("\x01\x00\x01"));
    return key_of(OID(RSA_KEY), parameters, pair);
}

static inline struct view extension(struct view oid, bool critical, struct view value)
{
    struct view mark = critical ? DER(DER_BOOLEAN, BYTES("\xff")) : NONE;
    return SEQ(oid, mark, DER(DER_OCTET_STRING, value));
}

static inline struct view certificate(const struct spec *s)
{
    struct view algorithm = SEQ(OID(ECDSA_SHA256));
    struct view key = key_of(OID(EC_KEY), OID(P256), ec_point(32));
    struct view ends = DER(DER_UTC_TIME, view_text((s->ends != NULL) ? s->ends : "400101000000Z"));
    struct view validity = SEQ(DER(DER_UTC_TIME, view_text("200101000000Z")), ends);
    struct view version = DER(DER_CONTEXT_OUTER(0u), INTEGER("\x02"));
    struct view list = SEQ(s->extension[0], s->extension[1], s->extension[2]);
    struct view tbs =
        SEQ(or_usual(s->version, version), or_usual(s->serial, INTEGER("\x01")),
            or_usual(s->inner, algorithm), or_usual(s->issuer_name, name_of(s->issuer)),
            or_usual(s->validity, validity), or_usual(s->subject_name, name_of(s->subject)),
            or_usual(s->spki, key), s->identifiers,
            or_usual(s->extensions, DER(DER_CONTEXT_OUTER(3u), list)));
    return SEQ(tbs, or_usual(s->algorithm, algorithm),
               or_usual(s->signature, DER(DER_BIT_STRING, BYTES("\0sig"))));
}

static inline struct view names_extension(struct view names)
{
    return extension(OID(ALTERNATIVE_NAMES), false, names);
}

static inline struct view ca_extension(void)
{
    return extension(OID(BASIC_CONSTRAINTS), true, SEQ(DER(DER_BOOLEAN, BYTES("\xff"))));
}

static inline struct view root_with(struct view further)
{
    return certificate(&(struct spec){"root", "root", .extension = {ca_extension(), further}});
}

/* That the names of these GeneralSubtrees are permitted (0) or excluded (1). */
static inline struct view constraints(unsigned which, struct view subtrees)
{
    return extension(OID(NAME_CONSTRAINTS), true, SEQ(DER(DER_CONTEXT_OUTER(which), subtrees)));
}

#define PERMITTED(name) constraints(0, SEQ((name)))

static int forget_elements(void **state)
{
    (void)state;
    pool_len = 0;
    return 0;
}

#endif
