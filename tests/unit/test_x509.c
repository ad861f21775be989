/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates written element by element: what makes one unreadable, and each reason for which a
 * chain is refused, as an operator reads it. Which verdict is right is asked in
 * tests/conformance/verdict.
 */
#include <mbedtls/memory_buffer_alloc.h>

#include "unit.h"

#include "x509/der.h"
#include "host/apiserver/tls.h"
#include "host/apiserver/tls_verify.h"
#include "x509/x509_chain.h"

/* --- DER --- */

static uint8_t pool[1u << 20];
static size_t pool_len;

/* An element with the parts as its content; valid until the next test. */
static struct view element(unsigned tag, const struct view *part, size_t count)
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

#define DER(tag, ...)                                                                              \
    element((tag), (const struct view[]){__VA_ARGS__},                                             \
            sizeof((const struct view[]){__VA_ARGS__}) / sizeof(struct view))
#define BYTES(literal) view_of((literal), sizeof(literal) - 1)
#define NONE view_of(NULL, 0)
#define OID(literal) DER(DER_OID, BYTES(literal))
#define NUL DER(0x05u, NONE)

/* A list of the same element. */
static struct view repeated(unsigned tag, struct view e, size_t count)
{
    static struct view parts[600];
    assert_true(count <= sizeof parts / sizeof parts[0]);
    for (size_t i = 0; i < count; i++) {
        parts[i] = e;
    }
    return element(tag, parts, count);
}

/* The same element, some times in a row. */
static struct view copies(struct view e, size_t count)
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
#define BASIC_CONSTRAINTS "\x55\x1d\x13"
#define ALTERNATIVE_NAMES "\x55\x1d\x11"
#define NAME_CONSTRAINTS "\x55\x1d\x1e"
#define EC_KEY "\x2a\x86\x48\xce\x3d\x02\x01"
#define P256 "\x2a\x86\x48\xce\x3d\x03\x01\x07"
#define RSA_KEY "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01"
#define ECDSA_SHA256 "\x2a\x86\x48\xce\x3d\x04\x03\x02"

/* What differs from a usual certificate; empty views: nothing. */
struct spec {
    const char *subject;
    const char *issuer;
    const char *ends; /* UTCTime */
    struct view version;
    struct view serial;
    struct view algorithm; /* of the outer signature */
    struct view inner;     /* the same in the signed part */
    struct view spki;
    struct view extension[3]; /* further ones */
};

static struct view or_usual(struct view given, struct view usual)
{
    return (given.len > 0) ? given : usual;
}

static struct view name_of(const char *text)
{
    struct view pair = DER(DER_SEQUENCE, OID("\x55\x04\x03"), DER(0x0cu, view_text(text)));
    return DER(DER_SEQUENCE, DER(DER_SET, pair));
}

static struct view key_of(struct view algorithm, struct view parameters, struct view bits)
{
    struct view unused = BYTES("\0");
    return DER(DER_SEQUENCE, DER(DER_SEQUENCE, algorithm, parameters),
               DER(DER_BIT_STRING, unused, bits));
}

static struct view ec_point(size_t octets)
{
    static uint8_t point[160] = {4};
    return view_of(point, 1 + 2 * octets);
}

static struct view rsa_spki(struct view modulus, struct view parameters)
{
    struct view pair =
        DER(DER_SEQUENCE, DER(DER_INTEGER, modulus), DER(DER_INTEGER, BYTES("\x01\x00\x01")));
    return key_of(OID(RSA_KEY), parameters, pair);
}

static struct view extension(struct view oid, bool critical, struct view value)
{
    struct view mark = critical ? DER(DER_BOOLEAN, BYTES("\xff")) : NONE;
    return DER(DER_SEQUENCE, oid, mark, DER(DER_OCTET_STRING, value));
}

static struct view certificate(const struct spec *s)
{
    struct view algorithm = DER(DER_SEQUENCE, OID(ECDSA_SHA256));
    struct view usual_key = key_of(OID(EC_KEY), OID(P256), ec_point(32));
    struct view validity =
        DER(DER_SEQUENCE, DER(DER_UTC_TIME, view_text("200101000000Z")),
            DER(DER_UTC_TIME, view_text((s->ends != NULL) ? s->ends : "400101000000Z")));
    struct view version = DER(DER_INTEGER, BYTES("\x02"));
    struct view serial = DER(DER_INTEGER, BYTES("\x01"));
    struct view list = DER(DER_SEQUENCE, s->extension[0], s->extension[1], s->extension[2]);
    struct view tbs = DER(DER_SEQUENCE, DER(DER_CONTEXT_OUTER(0u), or_usual(s->version, version)),
                          or_usual(s->serial, serial), or_usual(s->inner, algorithm),
                          name_of(s->issuer), validity, name_of(s->subject),
                          or_usual(s->spki, usual_key), DER(DER_CONTEXT_OUTER(3u), list));
    return DER(DER_SEQUENCE, tbs, or_usual(s->algorithm, algorithm),
               DER(DER_BIT_STRING, BYTES("\0sig")));
}

static struct view names_extension(struct view names)
{
    return extension(OID(ALTERNATIVE_NAMES), false, names);
}

static struct view ca_extension(void)
{
    return extension(OID(BASIC_CONSTRAINTS), true,
                     DER(DER_SEQUENCE, DER(DER_BOOLEAN, BYTES("\xff"))));
}

static struct view root_with(struct view further)
{
    return certificate(&(struct spec){"root", "root", .extension = {ca_extension(), further}});
}

/* That the names of these GeneralSubtrees are permitted (0) or excluded (1). */
static struct view constraints(unsigned which, struct view subtrees)
{
    struct view list = DER(DER_CONTEXT_OUTER(which), subtrees);
    return extension(OID(NAME_CONSTRAINTS), true, DER(DER_SEQUENCE, list));
}

#define PERMITTED(name) constraints(0, DER(DER_SEQUENCE, (name)))

/* --- verdicts --- */

static struct {
    unsigned calls;
    enum x509_reason verdict[2]; /* of the first check, and of all others */
} checks;

static enum x509_reason check(void *context, const struct x509_cert *child,
                              const struct x509_cert *issuer)
{
    (void)context;
    assert_true(view_equal(child->issuer, issuer->subject));
    return checks.verdict[checks.calls++ > 0];
}

/* The whole search: no step checks more than one signature. */
static struct x509_verdict judge(struct x509_search *search, const struct x509_trust *trust,
                                 const struct x509_sent *sent)
{
    struct x509_verdict v = {.reason = X509_TRUSTED};
    unsigned calls = 0;
    bool over = false;
    x509_begin(search, trust, sent);
    for (unsigned i = 0; i <= X509_CANDIDATES_MAX + 1u && !over; i++) {
        calls = checks.calls;
        over = x509_step(search, &v);
        assert_true(checks.calls <= calls + 1u);
    }
    assert_true(over);
    return v;
}

/* Judges a certificate of these names under the anchors: why it is refused, "it " if it is not. */
static const char *explain(struct view names, struct view anchors)
{
    static char text[X509_TEXT_CAP];
    static struct x509_search search;
    static struct x509_sent sent;
    struct writer w = writer_of(text, sizeof text);
    struct spec spec = {"server", "root", .extension = {names_extension(names)}};
    struct x509_trust trust = {
        .anchors = anchors, .host = view_text(HOST), .now_ms = NOW * 1000, .check = check};
    sent.count = 1;
    assert_int_equal(x509_read(certificate(&spec), &sent.cert[0]), STATUS_OK);
    checks.calls = 0;
    struct x509_verdict v = judge(&search, &trust, &sent);
    x509_explain(&w, &v, trust.host);
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    return text;
}

static struct view names_and(struct view further)
{
    return DER(DER_SEQUENCE, DNS(HOST), further);
}

static int start(void **state)
{
    (void)state;
    pool_len = 0;
    memset(&checks, 0, sizeof checks);
    return 0;
}

#define NOT_SIGNED "it is not signed by the given certificate authority"
#define NOT_PERMITTED "its issuer \"root\" has name constraints that do not permit "

/* Names that no constraint permits are shown as an operator writes them. */
static void test_constraints(void **state)
{
    (void)state;
    struct view ten = IP("\x0a\0\0\0\xff\0\0\0");
    struct view fd00 = IP("\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    struct view v4 = IP("\xc0\0\x02\x07");
    struct view v6 = IP("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x05");
    assert_string_equal(explain(names_and(IP("\x0a\x01\x02\x03")), root_with(PERMITTED(ten))),
                        "it ");
    assert_string_equal(explain(names_and(v4), root_with(PERMITTED(ten))),
                        NOT_PERMITTED "192.0.2.7");
    assert_string_equal(explain(names_and(v6), root_with(PERMITTED(fd00))),
                        NOT_PERMITTED "2001:0db8:0000:0000:0000:0000:0000:0005");
    assert_string_equal(explain(names_and(DNS("b.test")), root_with(PERMITTED(DNS(HOST)))),
                        NOT_PERMITTED "b.test");
}

/* Authorities of one name, none of which signed: each is tried, in a step of its own. */
static void test_one_signature_a_step(void **state)
{
    static struct x509_search search;
    static struct x509_sent sent;
    struct view names = DER(DER_SEQUENCE, DNS(HOST));
    struct spec spec = {"server", "root", .extension = {names_extension(names)}};
    struct x509_trust trust = {.anchors = copies(root_with(NONE), 20),
                               .host = view_text(HOST),
                               .now_ms = NOW * 1000,
                               .check = check};
    struct x509_verdict v;
    (void)state;
    checks.verdict[0] = X509_BAD_SIGNATURE;
    checks.verdict[1] = X509_BAD_SIGNATURE;
    sent.count = 1;
    assert_int_equal(x509_read(certificate(&spec), &sent.cert[0]), STATUS_OK);
    x509_begin(&search, &trust, &sent);
    assert_int_equal(checks.calls, 0);
    for (unsigned i = 1; i <= 20; i++) {
        assert_false(x509_step(&search, &v));
        assert_int_equal(checks.calls, i);
    }
    assert_true(x509_step(&search, &v));
    assert_int_equal(checks.calls, 20);
    assert_int_equal(v.reason, X509_NO_ISSUER);
    assert_int_equal(v.hint, X509_BAD_SIGNATURE);
}

/* 520 names under 500 constraints, none of which they violate. */
/* As in Go: it expires within its last second, not behind it. */
static void test_time(void **state)
{
    static struct x509_search search;
    static struct x509_sent sent;
    struct view names = DER(DER_SEQUENCE, DNS(HOST));
    struct spec spec = {"server", "root", "270115080000Z", .extension = {names_extension(names)}};
    struct view own = certificate(&spec);
    struct x509_trust trust = {.anchors = own, .host = view_text(HOST), .check = check};
    (void)state;
    sent.count = 1;
    assert_int_equal(x509_read(own, &sent.cert[0]), STATUS_OK);
    trust.now_ms = NOW * 1000;
    assert_int_equal(judge(&search, &trust, &sent).reason, X509_TRUSTED);
    trust.now_ms++;
    assert_int_equal(judge(&search, &trust, &sent).reason, X509_EXPIRED);
    trust.now_ms = sent.cert[0].not_before * 1000;
    assert_int_equal(judge(&search, &trust, &sent).reason, X509_TRUSTED);
    trust.now_ms--;
    assert_int_equal(judge(&search, &trust, &sent).reason, X509_FUTURE);
}

static void test_too_many_comparisons(void **state)
{
    (void)state;
    struct view names = repeated(DER_SEQUENCE, DNS(HOST), 520);
    struct view subtree = DER(DER_SEQUENCE, DNS("b"));
    struct view few = constraints(1, copies(subtree, 400));
    struct view many = constraints(1, copies(subtree, 500));
    assert_string_equal(explain(names, root_with(few)), "it ");
    assert_string_equal(explain(names, root_with(many)),
                        "it has more names under name constraints than are compared");
}

/* An anchor, whether its signature is right, and the reason. */
static void test_issuers(void **state)
{
    (void)state;
    struct view other = extension(OID("\x2a\x03\x04"), true, NONE);
    const struct {
        struct view anchors;
        enum x509_reason check;
        const char *text;
    } rows[] = {
        {root_with(NONE), X509_TRUSTED, "it "},
        {NONE, X509_TRUSTED, NOT_SIGNED},
        {root_with(NONE), X509_BAD_SIGNATURE,
         NOT_SIGNED "; \"root\" has another key than the one that signed"},
        {root_with(NONE), X509_WEAK_SIGNATURE, NOT_SIGNED "; \"root\" signed with SHA-1 or MD5"},
        {root_with(NONE), X509_ED25519_KEY,
         NOT_SIGNED "; \"root\" has an Ed25519 key, which is not supported; RSA and EC keys are"},
        {root_with(NONE), X509_MEMORY, "it could not be verified: memory is exhausted"},
        {root_with(other), X509_TRUSTED,
         NOT_SIGNED "; \"root\" has a critical extension that is not supported: 1.2.3.4"},
        {certificate(&(struct spec){.subject = "root", .issuer = "root"}), X509_TRUSTED,
         NOT_SIGNED "; \"root\" may not sign certificates"},
        {certificate(
             &(struct spec){"root", "root", "260101000000Z", .extension = {ca_extension()}}),
         X509_TRUSTED, NOT_SIGNED "; \"root\" has expired"},
        {copies(root_with(NONE), X509_CANDIDATES_MAX + 1), X509_BAD_SIGNATURE,
         "it has more possible issuers than are tried"},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        checks.verdict[0] = checks.verdict[1] = rows[i].check;
        assert_string_equal(explain(DER(DER_SEQUENCE, DNS(HOST)), rows[i].anchors), rows[i].text);
        assert_in_range(checks.calls, 0, X509_CANDIDATES_MAX);
    }
}

/* One issuer of two cannot be checked: it may be the right one. */
static void test_memory_outweighs(void **state)
{
    (void)state;
    struct view two = copies(root_with(NONE), 2);
    for (unsigned i = 0; i < 2; i++) {
        checks.verdict[i] = X509_MEMORY;
        checks.verdict[1 - i] = X509_BAD_SIGNATURE;
        assert_string_equal(explain(DER(DER_SEQUENCE, DNS(HOST)), two),
                            "it could not be verified: memory is exhausted");
        assert_int_equal(checks.calls, 2);
    }
}

/* --- what cannot be read --- */

static void test_faults(void **state)
{
    (void)state;
    struct view ec = OID(EC_KEY);
    struct view ca = ca_extension();
    struct view modulus = BYTES("\x7f\x01");
    struct view name = extension(OID(ALTERNATIVE_NAMES), false, DER(DER_SEQUENCE, IP("\x0a")));
    const struct {
        struct spec spec;
        const char *fault;
    } rows[] = {
        {{.spki = key_of(ec, OID("\x2b\x81\x04\x00\x21"), ec_point(28))}, NULL},
        {{.spki = key_of(ec, OID("\x2b\x81\x04\x00\x23"), ec_point(66))}, NULL},
        {{.spki = rsa_spki(modulus, NUL)}, NULL},
        {{.version = DER(DER_INTEGER, BYTES("\x03"))}, "version"},
        {{.serial = DER(DER_INTEGER, BYTES("\x81"))}, "serial number, which is negative"},
        {{.algorithm = DER(DER_SEQUENCE, OID(RSA_KEY))}, "signature algorithm"},
        {{.ends = "301301000000Z"}, "validity"},
        {{.spki = key_of(ec, OID("\x2a\x86\x48\xce\x3d\x03\x01\x01"), ec_point(24))},
         "the curve of its key, which is none of P-224, P-256, P-384 and P-521"},
        {{.spki = key_of(ec, NUL, ec_point(32))}, "the curve of its key, which has no name"},
        {{.spki = key_of(ec, OID(P256), ec_point(31))}, "the point of its key"},
        {{.spki = rsa_spki(modulus, NONE)}, "RSA key"},
        {{.spki = rsa_spki(BYTES("\x81"), NUL)}, "RSA key"},
        {{.spki = key_of(OID("\x2a\x86\x48\xce\x38\x04\x01"), NONE, modulus)}, "key, which is DSA"},
        {{.extension = {ca, ca}}, "extensions, one of which stands there twice"},
        {{.extension = {name}}, "subject alternative names"},
        {{.extension = {extension(OID(NAME_CONSTRAINTS), true, DER(DER_SEQUENCE, NONE))}},
         "name constraints"},
        {{.extension = {PERMITTED(DNS("b."))}}, "name constraints"},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct x509_cert cert;
        struct spec spec = rows[i].spec;
        spec.subject = spec.issuer = "x";
        enum status s = x509_read(certificate(&spec), &cert);
        if (rows[i].fault == NULL) {
            assert_int_equal(s, STATUS_OK);
        } else {
            assert_int_equal(s, PEER_MALFORMED);
            assert_string_equal(cert.fault, rows[i].fault);
        }
    }
}

/* Elements that end before their length does, and lengths that are not in their shortest form. */
static void test_elements(void **state)
{
    (void)state;
    static const struct {
        struct view bytes;
        bool good;
    } rows[] = {
        {{(const uint8_t *)"\x04\x00", 2}, true},
        {{(const uint8_t *)"\x04\x02"
                           "ab",
          4},
         true},
        {{(const uint8_t *)"\x04\x02"
                           "a",
          3},
         false},
        {{(const uint8_t *)"\x04", 1}, false},
        {{(const uint8_t *)"\x04\x80", 2}, false},
        {{(const uint8_t *)"\x04\x81\x01"
                           "a",
          4},
         false},
        {{(const uint8_t *)"\x04\x82\x00\x80", 4}, false},
        {{(const uint8_t *)"\x04\x81", 2}, false},
        {{(const uint8_t *)"\x04\x84\xff\xff\xff\xff", 6}, false},
        {{(const uint8_t *)"\x04\x85\x01\x00\x00\x00\x00", 7}, false},
        {{(const uint8_t *)"\x1f\x01"
                           "a",
          3},
         false},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct view in = rows[i].bytes;
        struct der e = {0};
        assert_true(der_any(&in, &e) == rows[i].good);
    }
}

/* X.690 §8.19.2: no arc has an empty octet before its first one. */
static void test_object_identifiers(void **state)
{
    (void)state;
    const struct {
        struct view content;
        bool good;
    } rows[] = {
        {BYTES("\x2a\x03\x04"), true},
        {BYTES("\x2a\x81\x00"), true},
        {BYTES("\x2a\x81\x80\x01"), true},
        {BYTES("\x2a\x80\x01"), false},
        {BYTES("\x2a\x03\x80\x80\x01"), false},
        {BYTES("\x80\x2a\x01"), false},
        {BYTES("\x2a\x81"), false},
        {NONE, false},
    };
    for (unsigned i = 0; i < COUNT(rows); i++) {
        struct view oid = DER(DER_OID, rows[i].content);
        struct view in = oid;
        struct view content = {0};
        assert_true(der_oid(&in, &content) == rows[i].good);
        in = oid;
        assert_true(der_long_oid(&in, &content) == rows[i].good);
    }
}

/* --- signature algorithms --- */

#define RSA_PSS "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0a"
#define MGF1 "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x08"

static struct view sha2(unsigned bits)
{
    static const char *const oids[] = {"\x60\x86\x48\x01\x65\x03\x04\x02\x01",
                                       "\x60\x86\x48\x01\x65\x03\x04\x02\x02",
                                       "\x60\x86\x48\x01\x65\x03\x04\x02\x03"};
    struct view oid = view_of(oids[(bits - 256u) / 128u], 9);
    return DER(DER_SEQUENCE, DER(DER_OID, oid), NUL);
}

/* RFC 8017 §A.2.3: one hash for the message and its mask, and a salt as long as that. */
static void test_pss(void **state)
{
    (void)state;
    struct view nothing = NONE;
    struct view one = DER(DER_CONTEXT_OUTER(3u), DER(DER_INTEGER, BYTES("\x01")));
    struct view two = DER(DER_CONTEXT_OUTER(3u), DER(DER_INTEGER, BYTES("\x02")));
    const struct {
        unsigned hash;
        unsigned mask;
        uint8_t salt;
        struct view trailer;
        bool good;
    } rows[] = {
        {256, 256, 32, nothing, true},  {384, 384, 48, nothing, true},
        {512, 512, 64, one, true},      {256, 384, 32, nothing, false},
        {384, 256, 48, nothing, false}, {512, 384, 64, nothing, false},
        {256, 256, 20, nothing, false}, {256, 256, 48, nothing, false},
        {256, 256, 32, two, false},
    };
    for (unsigned i = 0; i < COUNT(rows); i++) {
        struct x509_cert cert;
        struct view hash = DER(DER_CONTEXT_OUTER(0u), sha2(rows[i].hash));
        struct view mask =
            DER(DER_CONTEXT_OUTER(1u), DER(DER_SEQUENCE, OID(MGF1), sha2(rows[i].mask)));
        struct view salt = DER(DER_CONTEXT_OUTER(2u), DER(DER_INTEGER, view_of(&rows[i].salt, 1)));
        struct view parameters = DER(DER_SEQUENCE, hash, mask, salt, rows[i].trailer);
        struct view algorithm = DER(DER_SEQUENCE, OID(RSA_PSS), parameters);
        struct spec spec = {"x", "x", .algorithm = algorithm, .inner = algorithm};
        assert_int_equal(x509_read(certificate(&spec), &cert), STATUS_OK);
        assert_int_equal(cert.scheme, rows[i].good ? X509_SCHEME_PSS : X509_SCHEME_OTHER);
        assert_int_equal(cert.hash_bits, rows[i].good ? rows[i].hash : 0);
    }
}

/* --- memory --- */

/* mbedTLS has no code of its own for an RSA key that the arena cannot hold. */
static void test_rsa_key_without_memory(void **state)
{
    static unsigned char arena[16384] __attribute__((aligned(16)));
    static uint8_t modulus[513] = {0, 0x80};
    (void)state;
    assert_int_equal(tls_setup(), STATUS_OK);
    modulus[512] = 1;
    struct view spki = rsa_spki(view_of(modulus, sizeof modulus), NUL);
    struct view der = certificate(&(struct spec){"x", "x", .spki = spki});
    unsigned refused = 0;
    int code = -1;
    for (size_t size = 512; code != 0; size += 16) {
        mbedtls_x509_crt own;
        const char *fault = NULL;
        assert_true(size <= sizeof arena);
        mbedtls_memory_buffer_alloc_init(arena, size);
        mbedtls_x509_crt_init(&own);
        code = tls_own_certificate(&own, der, &fault);
        mbedtls_x509_crt_free(&own);
        mbedtls_memory_buffer_alloc_free();
        assert_true(code == 0 || code == MBEDTLS_ERR_X509_ALLOC_FAILED);
        assert_null(fault);
        refused += (code != 0) ? 1 : 0;
    }
    assert_true(refused > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_constraints, start),
        cmocka_unit_test_setup(test_time, start),
        cmocka_unit_test_setup(test_one_signature_a_step, start),
        cmocka_unit_test_setup(test_too_many_comparisons, start),
        cmocka_unit_test_setup(test_issuers, start),
        cmocka_unit_test_setup(test_memory_outweighs, start),
        cmocka_unit_test_setup(test_faults, start),
        cmocka_unit_test_setup(test_elements, start),
        cmocka_unit_test_setup(test_object_identifiers, start),
        cmocka_unit_test_setup(test_pss, start),
        cmocka_unit_test_setup(test_rsa_key_without_memory, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
