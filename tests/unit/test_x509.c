/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates written element by element: what makes one unreadable, and each reason for which a
 * chain is refused, as an operator reads it. Which verdict is right is asked in
 * tests/conformance/verdict.
 */
#include <mbedtls/memory_buffer_alloc.h>

#include "unit.h"

#include "certificates.h"
#include "host/apiserver/tls.h"
#include "host/apiserver/tls_verify.h"
#include "x509/x509_chain.h"

/* --- verdicts --- */

static struct {
    unsigned calls;
    enum x509_reason verdict[2]; /* of the first check, and of all others */
    struct view child[4];        /* of the first checks */
} checks;

static enum x509_reason check(void *context, const struct x509_cert *child,
                              const struct x509_cert *issuer)
{
    (void)context;
    assert_true(view_equal(child->issuer, issuer->subject));
    if (checks.calls < COUNT(checks.child)) {
        checks.child[checks.calls] = child->raw;
    }
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
    memset(&checks, 0, sizeof checks);
    return forget_elements(state);
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

/* 520 names under 500 constraints, none of which they violate. */
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

/* A bundle may hold elements that are no certificates, and bytes that are no element. */
static void test_anchors_among_others(void **state)
{
    struct view names = SEQ(DNS(HOST));
    (void)state;
    assert_string_equal(explain(names, joined(NUL, joined(root_with(NONE), CUT("\x30")))), "it ");
    assert_string_equal(explain(names, joined(NUL, CUT("\x30"))), NOT_SIGNED);
    assert_string_equal(explain(names, joined(CUT("\x30"), root_with(NONE))), NOT_SIGNED);
}

/* An authority whose kind of key is unknown signs nothing. */
static void test_unknown_key_of_authority(void **state)
{
    struct view spki = key_of(OID("\x2a\x03\x04"), NONE, BYTES("key"));
    struct spec root = {"root", "root", .spki = spki, .extension = {ca_extension()}};
    (void)state;
    assert_string_equal(explain(SEQ(DNS(HOST)), certificate(&root)), NOT_SIGNED);
    assert_int_equal(checks.calls, 0);
}

/* Judges a server's certificate of issuer "mid" with two certificates of that subject beside it. */
static struct x509_verdict judge_beside(const struct spec *one, const struct spec *two)
{
    static struct x509_search search;
    static struct x509_sent sent;
    struct spec own = {"server", "mid", .extension = {names_extension(SEQ(DNS(HOST)))}};
    struct x509_trust trust = {
        .anchors = root_with(NONE), .host = view_text(HOST), .now_ms = NOW * 1000, .check = check};
    sent.count = 3;
    assert_int_equal(x509_read(certificate(&own), &sent.cert[0]), STATUS_OK);
    assert_int_equal(x509_read(certificate(one), &sent.cert[1]), STATUS_OK);
    assert_int_equal(x509_read(certificate(two), &sent.cert[2]), STATUS_OK);
    struct x509_verdict v = judge(&search, &trust, &sent);
    assert_true(view_equal(checks.child[0], sent.cert[0].raw));
    return v;
}

/*
 * An issuer may have the subject of a certificate in the chain with another key, or, as in Go, with
 * the same key when only one of the two has alternative names; the same issuer does not come twice.
 */
static void test_issuer_in_chain(void **state)
{
    struct view names = names_extension(SEQ(DNS("mid.test")));
    struct spec own = {"mid", "mid", .extension = {ca_extension()}};
    struct spec other_key = {"mid", "root", .extension = {ca_extension()}};
    struct spec named = {"mid", "root", .extension = {ca_extension(), names}};
    (void)state;
    other_key.spki = rsa_spki(BYTES("\x7f\x01"), NUL);
    assert_int_equal(judge_beside(&own, &other_key).reason, X509_TRUSTED);
    assert_int_equal(checks.calls, 3);
    assert_true(view_equal(checks.child[1], certificate(&own)));
    checks.calls = 0;
    assert_int_equal(judge_beside(&own, &named).reason, X509_TRUSTED);
    assert_int_equal(checks.calls, 3);
    assert_true(view_equal(checks.child[1], certificate(&own)));
    checks.calls = 0;
    assert_int_equal(judge_beside(&own, &own).reason, X509_NO_ISSUER);
    assert_int_equal(checks.calls, 2);
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
        {{.version = DER(DER_CONTEXT_OUTER(0u), INTEGER("\x03"))}, "version"},
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

/* The scheme of a certificate that is signed by RSASSA-PSS with these parameters. */
static enum x509_scheme scheme_of(struct view parameters)
{
    struct x509_cert cert;
    struct view algorithm = SEQ(OID(RSA_PSS), parameters);
    struct spec spec = {"x", "x", .algorithm = algorithm, .inner = algorithm};
    assert_int_equal(x509_read(certificate(&spec), &cert), STATUS_OK);
    assert_true((cert.scheme == X509_SCHEME_PSS) == (cert.hash_bits > 0));
    return cert.scheme;
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

/* What is not in the form of RFC 8017 §A.2.3 is no scheme that is known. */
static void test_pss_forms(void **state)
{
    struct view of_hash = sha2(256);
    struct view sha256 = OID("\x60\x86\x48\x01\x65\x03\x04\x02\x01");
    struct view hash = DER(DER_CONTEXT_OUTER(0u), of_hash);
    struct view mask = DER(DER_CONTEXT_OUTER(1u), SEQ(OID(MGF1), of_hash));
    struct view salt = DER(DER_CONTEXT_OUTER(2u), INTEGER("\x20"));
    const struct view hashes[] = {
        NUL,
        SEQ(NUL),
        SEQ(OID("\x2a\x03\x04")),
        SEQ(OID("\x60\x86\x48\x01\x65\x03\x04\x03\x01")),
        SEQ(OID("\x60\x86\x48\x01\x65\x03\x04\x02\x00")),
        SEQ(OID("\x60\x86\x48\x01\x65\x03\x04\x02\x04")),
        SEQ(sha256, INTEGER("\x01")),
        joined(of_hash, NUL),
    };
    const struct view parameters[] = {
        NUL,
        SEQ(mask, salt),
        SEQ(hash, salt),
        SEQ(hash, DER(DER_CONTEXT_OUTER(1u), NUL), salt),
        SEQ(hash, DER(DER_CONTEXT_OUTER(1u), joined(SEQ(OID(MGF1), of_hash), NUL)), salt),
        SEQ(hash, DER(DER_CONTEXT_OUTER(1u), SEQ(NUL, of_hash)), salt),
        SEQ(hash, DER(DER_CONTEXT_OUTER(1u), SEQ(sha256, of_hash)), salt),
        SEQ(hash, mask),
        SEQ(hash, mask, DER(DER_CONTEXT_OUTER(2u), NUL)),
        SEQ(hash, mask, salt, NUL),
        SEQ(hash, mask, salt, DER(DER_CONTEXT_OUTER(3u), NUL)),
    };
    (void)state;
    assert_int_equal(scheme_of(SEQ(hash, mask, salt)), X509_SCHEME_PSS);
    struct view bare = SEQ(sha256);
    struct view bare_mask = DER(DER_CONTEXT_OUTER(1u), SEQ(OID(MGF1), bare));
    assert_int_equal(scheme_of(SEQ(DER(DER_CONTEXT_OUTER(0u), bare), bare_mask, salt)),
                     X509_SCHEME_PSS);
    for (unsigned i = 0; i < COUNT(hashes); i++) {
        struct view other = DER(DER_CONTEXT_OUTER(0u), hashes[i]);
        assert_int_equal(scheme_of(SEQ(other, mask, salt)), X509_SCHEME_OTHER);
    }
    for (unsigned i = 0; i < COUNT(parameters); i++) {
        assert_int_equal(scheme_of(parameters[i]), X509_SCHEME_OTHER);
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
        cmocka_unit_test_setup(test_anchors_among_others, start),
        cmocka_unit_test_setup(test_unknown_key_of_authority, start),
        cmocka_unit_test_setup(test_issuer_in_chain, start),
        cmocka_unit_test_setup(test_faults, start),
        cmocka_unit_test_setup(test_elements, start),
        cmocka_unit_test_setup(test_object_identifiers, start),
        cmocka_unit_test_setup(test_pss, start),
        cmocka_unit_test_setup(test_pss_forms, start),
        cmocka_unit_test_setup(test_rsa_key_without_memory, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
