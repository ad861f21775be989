/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields and extensions of a certificate that a hostile server encodes wrongly, one at a time: each
 * makes the certificate unreadable, and the message names the field.
 */
#include "certificates.h"

#define OTHER_OID "\x2a\x03\x04"
#define CONTEXT(number, ...) DER(DER_CONTEXT_OUTER(number), __VA_ARGS__)
#define VERSION(part) CONTEXT(0u, (part))

struct row {
    struct spec spec;
    const char *fault; /* NULL: the certificate is readable */
};

static void assert_fault(struct view der, const char *fault)
{
    struct x509_cert cert;
    enum status s = x509_read(der, &cert);
    if (fault == NULL) {
        assert_null(cert.fault);
        assert_int_equal(s, STATUS_OK);
    } else {
        assert_int_equal(s, PEER_MALFORMED);
        assert_string_equal(cert.fault, fault);
    }
}

static void assert_faults(const struct row *row, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct spec spec = row[i].spec;
        spec.subject = spec.issuer = "x";
        assert_fault(certificate(&spec), row[i].fault);
    }
}

/* --- the certificate itself --- */

static void test_version_and_serial(void **state)
{
    const struct row rows[] = {
        {{.version = ABSENT, .extensions = ABSENT}, NULL},
        {{.version = VERSION(INTEGER("\x01")), .extensions = ABSENT}, NULL},
        {{.version = BYTES("\xa0\x84\xff\xff\xff\xff")}, "version"},
        {{.version = VERSION(NUL)}, "version"},
        {{.version = VERSION(joined(INTEGER("\x02"), NUL))}, "version"},
        {{.version = VERSION(INTEGER("\x03"))}, "version"},
        {{.serial = NUL}, "serial number"},
        {{.serial = INTEGER("")}, "serial number"},
        {{.serial = INTEGER("\xff")}, "serial number, which is negative"},
    };
    (void)state;
    assert_faults(rows, COUNT(rows));
}

static void test_signature_algorithm(void **state)
{
    struct view without = SEQ(NUL);
    struct view cut = SEQ(OID(ECDSA_SHA256), CUT("\x05"));
    struct view other = SEQ(OID(OTHER_OID));
    const struct row rows[] = {
        {{.inner = other, .algorithm = other}, NULL},
        {{.inner = other}, "signature algorithm"},
        {{.inner = NUL}, "signature algorithm"},
        {{.algorithm = NUL}, "signature algorithm"},
        {{.inner = without, .algorithm = without}, "signature algorithm"},
        {{.inner = cut, .algorithm = cut}, "signature algorithm"},
        {{.signature = NUL}, "signature"},
        {{.signature = DER(DER_BIT_STRING, BYTES("\x04\xf0"))}, "signature"},
        {{.signature = ABSENT}, "signature"},
    };
    (void)state;
    assert_faults(rows, COUNT(rows));
}

/* RFC 8017 §A.2.4, RFC 5758 §3.2 and RFC 3279 §2.2; 1.3.14.3.2.29 is OIW's sha1WithRSASignature. */
static void test_schemes(void **state)
{
    const struct {
        struct view oid;
        enum x509_scheme scheme;
        unsigned bits;
    } rows[] = {
        {OID("\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b"), X509_SCHEME_RSA, 256},
        {OID("\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0c"), X509_SCHEME_RSA, 384},
        {OID("\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d"), X509_SCHEME_RSA, 512},
        {OID("\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05"), X509_SCHEME_WEAK, 0},
        {OID("\x2b\x0e\x03\x02\x1d"), X509_SCHEME_WEAK, 0},
        {OID("\x2a\x86\x48\x86\xf7\x0d\x01\x01\x04"), X509_SCHEME_WEAK, 0},
        {OID("\x2a\x86\x48\xce\x3d\x04\x01"), X509_SCHEME_WEAK, 0},
        {OID("\x2a\x86\x48\xce\x3d\x04\x03\x02"), X509_SCHEME_ECDSA, 256},
        {OID("\x2a\x86\x48\xce\x3d\x04\x03\x03"), X509_SCHEME_ECDSA, 384},
        {OID("\x2a\x86\x48\xce\x3d\x04\x03\x04"), X509_SCHEME_ECDSA, 512},
        {OID("\x2a\x86\x48\xce\x3d\x04\x03\x01"), X509_SCHEME_OTHER, 0}, /* SHA-224 */
        {OID(OTHER_OID), X509_SCHEME_OTHER, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct view algorithm = SEQ(rows[i].oid);
        struct spec spec = {"x", "x", .algorithm = algorithm, .inner = algorithm};
        struct x509_cert cert = {.hash_bits = 1};
        assert_int_equal(x509_read(certificate(&spec), &cert), STATUS_OK);
        assert_int_equal(cert.scheme, rows[i].scheme);
        assert_int_equal(cert.hash_bits, rows[i].bits);
    }
}

static void test_names_and_validity(void **state)
{
    struct view type = OID(COMMON_NAME);
    struct view time = DER(DER_UTC_TIME, view_text("200101000000Z"));
    const struct row rows[] = {
        {{.issuer_name = SEQ(NONE)}, NULL},
        {{.issuer_name = NUL}, "issuer"},
        {{.issuer_name = DER(DER_SET, NONE)}, "issuer"},
        {{.subject_name = SEQ(SEQ(NONE))}, "subject"},
        {{.subject_name = SEQ(DER(DER_SET, NUL))}, "subject"},
        {{.subject_name = SEQ(DER(DER_SET, SEQ(STRING("x"))))}, "subject"},
        {{.subject_name = SEQ(DER(DER_SET, SEQ(type)))}, "subject"},
        {{.subject_name = SEQ(DER(DER_SET, SEQ(type, NUL)))}, "subject"},
        {{.subject_name = CUT("\x30")}, "subject"},
        {{.validity = NUL}, "validity"},
        {{.validity = SEQ(NUL, time)}, "validity"},
        {{.validity = SEQ(time, NUL)}, "validity"},
        {{.validity = SEQ(time, time)}, NULL},
    };
    (void)state;
    assert_faults(rows, COUNT(rows));
}

/* X.680 §41: which octets each type of string permits. */
static void test_strings(void **state)
{
    const struct {
        unsigned tag;
        struct view text;
        bool good;
    } rows[] = {
        {0x0cu, BYTES("\xc3\xa9"), true},
        {0x0cu, BYTES("\xc3"), false},
        {0x12u, BYTES("1 2"), true},
        {0x12u, BYTES("1a"), false},
        {0x13u, BYTES("a*b&c"), true},
        {0x13u, BYTES("a@b"), false},
        {0x14u, BYTES("\xff"), true},
        {0x16u, BYTES("a@b"), true},
        {0x16u, BYTES("\x80"), false},
        {0x1eu, BYTES("\x00\x61"), true},
        {0x1eu, BYTES("\x00\x61\x00"), false},
        {0x1eu, BYTES("\xd7\xff"), true},
        {0x1eu, BYTES("\xd8\x00"), false},
        {0x1eu, BYTES("\xdf\xff"), false},
        {0x1eu, BYTES("\xe0\x00"), true},
        {0x1eu, BYTES("\xfd\xcf"), true},
        {0x1eu, BYTES("\xfd\xd0"), false},
        {0x1eu, BYTES("\xfd\xef"), false},
        {0x1eu, BYTES("\xfd\xf0"), true},
        {0x1eu, BYTES("\xff\xfd"), true},
        {0x1eu, BYTES("\xff\xfe"), false},
        {0x1eu, BYTES("\xff\xff"), false},
        {0x04u, BYTES("a"), false},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        struct view value = DER(rows[i].tag, rows[i].text);
        struct view name = SEQ(DER(DER_SET, ATTRIBUTE(COMMON_NAME, value)));
        struct spec spec = {.subject = "x", .issuer = "x", .subject_name = name};
        assert_fault(certificate(&spec), rows[i].good ? NULL : "subject");
    }
}

/* A message shows the last common name, whatever follows it. */
static void test_shown_name(void **state)
{
    struct view common = DER(DER_SET, ATTRIBUTE(COMMON_NAME, STRING("first")));
    struct view other = DER(DER_SET, ATTRIBUTE("\x55\x04\x0a", STRING("organization")));
    struct view last = DER(DER_SET, ATTRIBUTE(COMMON_NAME, STRING("last")));
    const struct {
        struct view name;
        const char *shown;
    } rows[] = {
        {SEQ(common, other), "\"first\""},
        {SEQ(other, common), "\"first\""},
        {SEQ(common, other, last), "\"last\""},
        {SEQ(other), "\"organization\""},
        {SEQ(NONE), "\"\""},
        {NUL, "\"\""},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        char text[64];
        struct writer w = writer_of(text, sizeof text);
        x509_show_name(&w, rows[i].name);
        assert_int_equal(writer_end_text(&w), STATUS_OK);
        assert_string_equal(text, rows[i].shown);
    }
}

/* --- the key --- */

static struct view rsa_of(struct view content)
{
    return key_of(OID(RSA_KEY), NUL, content);
}

static void test_rsa_keys(void **state)
{
    struct view e = INTEGER("\x03");
    struct view n = INTEGER("\x7f\x01");
    const struct row rows[] = {
        {{.spki = rsa_of(SEQ(n, e))}, NULL},
        {{.spki = rsa_of(SEQ(INTEGER("\x7f"), e))}, NULL},
        {{.spki = rsa_of(SEQ(INTEGER("\x00"), e))}, "RSA key"},
        {{.spki = rsa_of(SEQ(INTEGER("\x80"), e))}, "RSA key"},
        {{.spki = rsa_of(SEQ(NUL, e))}, "RSA key"},
        {{.spki = rsa_of(NUL)}, "RSA key"},
        {{.spki = rsa_of(SEQ(n))}, "RSA key"},
        {{.spki = rsa_of(SEQ(n, INTEGER("\x00")))}, "RSA key"},
        {{.spki = rsa_of(SEQ(n, INTEGER("\x00\x80\0\0\0\0\0\0\0")))}, "RSA key"},
    };
    (void)state;
    assert_faults(rows, COUNT(rows));
}

static void test_other_keys(void **state)
{
    static const uint8_t even[65] = {2};
    struct view ed25519 = OID("\x2b\x65\x70");
    struct view octets = view_of(even, 32);
    struct view bits = DER(DER_BIT_STRING, BYTES("\0key"));
    const struct row rows[] = {
        {{.spki = key_of(ed25519, NONE, octets)}, NULL},
        {{.spki = key_of(ed25519, NUL, octets)}, "Ed25519 key"},
        {{.spki = key_of(ed25519, NONE, view_of(even, 31))}, "Ed25519 key"},
        {{.spki = key_of(OID(EC_KEY), OID(P256), view_of(even, 65))}, "the point of its key"},
        {{.spki = key_of(OID(OTHER_OID), NONE, octets)}, NULL},
        {{.spki = NUL}, "key"},
        {{.spki = SEQ(NUL, bits)}, "key"},
        {{.spki = SEQ(SEQ(NUL), bits)}, "key"},
        {{.spki = SEQ(SEQ(OID(OTHER_OID)), NUL)}, "key"},
        {{.spki = SEQ(SEQ(OID(OTHER_OID)), DER(DER_BIT_STRING, BYTES("\x01\x80")))}, "key"},
    };
    (void)state;
    assert_faults(rows, COUNT(rows));
}

/* --- what follows the key --- */

/* RFC 5280 §4.1: unique identifiers from version 2 on, extensions in version 3. */
static void test_optional_fields(void **state)
{
    struct view one = DER(DER_CONTEXT(1u), BYTES("\0\x55"));
    struct view two = DER(DER_CONTEXT(2u), BYTES("\0\x55"));
    struct view v2 = VERSION(INTEGER("\x01"));
    const struct row rows[] = {
        {{.identifiers = joined(one, two)}, NULL},
        {{.identifiers = one, .version = v2, .extensions = ABSENT}, NULL},
        {{.identifiers = CUT("\x81"), .extensions = ABSENT}, "unique identifiers"},
        {{.identifiers = CUT("\x82"), .extensions = ABSENT}, "unique identifiers"},
        {{.identifiers = CUT("\x81"), .version = v2, .extensions = ABSENT}, "unique identifiers"},
        {{.identifiers = CUT("\x81"), .version = ABSENT, .extensions = ABSENT}, NULL},
        {{.extensions = ABSENT}, NULL},
        {{.extensions = CUT("\xa3")}, "extensions"},
        {{.extensions = CUT("\xa3"), .version = v2}, NULL},
        {{.extensions = CONTEXT(3u, NUL)}, "extensions"},
        {{.extensions = CONTEXT(3u, SEQ(NUL))}, "extensions"},
    };
    (void)state;
    assert_faults(rows, COUNT(rows));
}

/* Neither a certificate nor a subject is found in what is none. */
static void test_outer_elements(void **state)
{
    struct view tbs = SEQ(INTEGER("\x01"), SEQ(OID(ECDSA_SHA256)), name_of("i"), SEQ(NONE));
    struct view subject = {0};
    (void)state;
    assert_fault(NUL, "encoding (DER)");
    assert_fault(NONE, "encoding (DER)");
    assert_fault(SEQ(NUL), "encoding (DER)");
    assert_fault(SEQ(NONE), "encoding (DER)");
    assert_fault(joined(root_with(NONE), NUL), "encoding (DER)");
    assert_fault(CUT("\x30"), "encoding (DER)");
    assert_false(x509_subject(NUL, &subject));
    assert_false(x509_subject(SEQ(NUL), &subject));
    assert_false(x509_subject(SEQ(SEQ(CUT("\xa0"))), &subject));
    assert_false(x509_subject(SEQ(SEQ(NONE)), &subject));
    assert_false(x509_subject(SEQ(tbs), &subject));
    assert_true(x509_subject(root_with(NONE), &subject));
    assert_true(view_equal(subject, name_of("root")));
}

/* --- extensions --- */

/* The last arc of an extension, its value, and what is wrong with it. */
struct extension_row {
    const char *arc;
    struct view value;
    const char *fault;
};

static void assert_extensions(const struct extension_row *row, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct view oid = DER(DER_OID, BYTES("\x55\x1d"), view_of(row[i].arc, 1));
        struct spec spec = {.subject = "x", .issuer = "x"};
        spec.extension[0] = extension(oid, false, row[i].value);
        assert_fault(certificate(&spec), row[i].fault);
    }
}

static void test_extension_form(void **state)
{
    struct view oid = OID(OTHER_OID);
    struct view value = DER(DER_OCTET_STRING, NONE);
    const struct row rows[] = {
        {{.extension = {SEQ(oid, value)}}, NULL},
        {{.extension = {SEQ(oid, DER(DER_BOOLEAN, BYTES("\xff")), value)}}, NULL},
        {{.extension = {NUL}}, "extensions"},
        {{.extension = {SEQ(NUL, value)}}, "extensions"},
        {{.extension = {SEQ(oid, DER(DER_BOOLEAN, BYTES("\x01")), value)}}, "extensions"},
        {{.extension = {SEQ(oid, NUL)}}, "extensions"},
        {{.extension = {SEQ(oid)}}, "extensions"},
    };
    (void)state;
    assert_faults(rows, COUNT(rows));
}

/* As many extensions as are read, and one more. */
static void test_extension_count(void **state)
{
    (void)state;
    for (unsigned count = X509_LIST_MAX; count <= X509_LIST_MAX + 1u; count++) {
        struct view part[X509_LIST_MAX + 1u];
        for (unsigned i = 0; i < count; i++) {
            uint8_t arcs[] = {0x2a, 0x03, (uint8_t)i};
            part[i] = extension(DER(DER_OID, view_of(arcs, sizeof arcs)), false, NONE);
        }
        struct view list = element(DER_SEQUENCE, part, count);
        struct spec spec = {.subject = "x", .issuer = "x", .extensions = CONTEXT(3u, list)};
        assert_fault(certificate(&spec), (count > X509_LIST_MAX) ? "extensions" : NULL);
    }
}

/* Of two critical extensions that nobody evaluates, the first one is named. */
static void test_first_critical_extension(void **state)
{
    struct x509_cert cert;
    struct spec spec = {.subject = "x", .issuer = "x"};
    (void)state;
    spec.extension[0] = extension(OID("\x2a\x03\x01"), false, NONE);
    spec.extension[1] = extension(OID("\x2a\x03\x02"), true, NONE);
    spec.extension[2] = extension(OID("\x2a\x03\x03"), true, NONE);
    assert_int_equal(x509_read(certificate(&spec), &cert), STATUS_OK);
    assert_true(DER_IS(cert.unhandled, "\x2a\x03\x02"));
}

static void test_constraint_extensions(void **state)
{
    const char *fault = "name constraints";
    struct view subtrees = SEQ(DNS("a"));
    struct view bad = SEQ(DNS("b."));
    const struct extension_row rows[] = {
        {"\x1e", SEQ(CONTEXT(0u, subtrees), CONTEXT(1u, subtrees)), NULL},
        {"\x1e", NUL, fault},
        {"\x1e", joined(SEQ(CONTEXT(0u, subtrees)), NUL), fault},
        {"\x1e", SEQ(CUT("\xa0")), fault},
        {"\x1e", SEQ(CUT("\xa1")), fault},
        {"\x1e", SEQ(CONTEXT(0u, subtrees), NUL), fault},
        {"\x1e", SEQ(CONTEXT(0u, bad)), fault},
        {"\x1e", SEQ(CONTEXT(1u, bad)), fault},
        {"\x1e", SEQ(CONTEXT(0u, NUL)), fault},
        {"\x1e", SEQ(CONTEXT(0u, SEQ(NONE))), fault},
        {"\x11", SEQ(CUT("\x82")), "subject alternative names"},
        {"\x11", NUL, "subject alternative names"},
        {"\x13", NUL, "basic constraints"},
        {"\x13", SEQ(DER(DER_BOOLEAN, BYTES("\x01"))), "basic constraints"},
        {"\x13", SEQ(INTEGER("\xff")), "basic constraints"},
        {"\x13", SEQ(INTEGER("\x00")), NULL},
    };
    (void)state;
    assert_extensions(rows, COUNT(rows));
}

static void test_key_extensions(void **state)
{
    const struct extension_row rows[] = {
        {"\x0e", DER(DER_OCTET_STRING, BYTES("id")), NULL},
        {"\x0e", NUL, "subject key identifier"},
        {"\x23", SEQ(DER(DER_CONTEXT(0u), BYTES("id"))), NULL},
        {"\x23", NUL, "authority key identifier"},
        {"\x23", SEQ(CUT("\x80")), "authority key identifier"},
        {"\x0f", NUL, "key usage"},
        {"\x25", SEQ(OID("\x55\x1d\x25\x00")), NULL},
        {"\x25", NUL, "extended key usage"},
        {"\x25", SEQ(NUL), "extended key usage"},
    };
    struct spec spec = {.subject = "x", .issuer = "x"};
    (void)state;
    assert_extensions(rows, COUNT(rows));
    spec.extension[0] =
        extension(OID("\x55\x1d\x23"), true, SEQ(DER(DER_CONTEXT(0u), BYTES("id"))));
    assert_fault(certificate(&spec), "authority key identifier");
    spec.extension[0] = extension(OID("\x55\x1d\x0e"), true, DER(DER_OCTET_STRING, BYTES("id")));
    assert_fault(certificate(&spec), "subject key identifier");
}

/* Policies of arcs from 0 on. */
static struct view policies(unsigned count)
{
    struct view part[X509_LIST_MAX + 1u];
    for (unsigned i = 0; i < count; i++) {
        uint8_t arcs[] = {0x2a, 0x03, (uint8_t)i};
        part[i] = SEQ(DER(DER_OID, view_of(arcs, sizeof arcs)));
    }
    return element(DER_SEQUENCE, part, count);
}

static void test_policy_extensions(void **state)
{
    struct view a = OID(OTHER_OID);
    struct view one = SEQ(a);
    const char *certificate_policies = "certificate policies";
    const char *mappings = "policy mappings";
    const char *limits = "policy constraints";
    const struct extension_row rows[] = {
        {"\x20", policies(X509_LIST_MAX), NULL},
        {"\x20", policies(X509_LIST_MAX + 1u), certificate_policies},
        {"\x20", SEQ(one, one), certificate_policies},
        {"\x20", NUL, certificate_policies},
        {"\x20", SEQ(NUL), certificate_policies},
        {"\x20", SEQ(SEQ(NUL)), certificate_policies},
        {"\x20", SEQ(SEQ(OID("\x2a\x80\x01"))), certificate_policies},
        {"\x21", SEQ(SEQ(a, a)), NULL},
        {"\x21", NUL, mappings},
        {"\x21", SEQ(NUL), mappings},
        {"\x21", SEQ(SEQ(NUL, a)), mappings},
        {"\x21", SEQ(SEQ(a, NUL)), mappings},
        {"\x24", SEQ(NONE), NULL},
        {"\x24", SEQ(DER(DER_CONTEXT(0u), BYTES("\x01"))), NULL},
        {"\x24", SEQ(DER(DER_CONTEXT(1u), BYTES("\x01"))), NULL},
        {"\x24", NUL, limits},
        {"\x24", SEQ(DER(DER_CONTEXT(0u), BYTES("\xff"))), limits},
        {"\x24", SEQ(DER(DER_CONTEXT(1u), BYTES("\xff"))), limits},
        {"\x36", INTEGER("\x01"), NULL},
        {"\x36", NUL, "inhibit anyPolicy"},
    };
    (void)state;
    assert_extensions(rows, COUNT(rows));
}

/* RFC 5280 §6.1.4 (a): anyPolicy must be neither mapped nor mapped to. */
static void test_mapped_any_policy(void **state)
{
    struct view any = OID("\x55\x1d\x20\x00");
    struct view a = OID(OTHER_OID);
    const struct {
        struct view mappings;
        bool any;
    } rows[] = {
        {SEQ(SEQ(a, a), SEQ(a, a)), false},
        {SEQ(SEQ(any, a)), true},
        {SEQ(SEQ(a, any)), true},
        {SEQ(SEQ(any, a), SEQ(a, a)), true},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        struct x509_cert cert;
        struct spec spec = {.subject = "x", .issuer = "x"};
        spec.extension[0] = extension(OID("\x55\x1d\x21"), true, rows[i].mappings);
        assert_int_equal(x509_read(certificate(&spec), &cert), STATUS_OK);
        assert_true(cert.maps_policies);
        assert_true(cert.maps_any_policy == rows[i].any);
    }
}

/* Locations are never fetched, but have to be well-formed as in Go. */
static void test_locations(void **state)
{
    struct view access = OID("\x2b\x06\x01\x05\x05\x07\x01\x01");
    struct view method = OID("\x2b\x06\x01\x05\x05\x07\x30\x01");
    const char *fault = "authority information access";
    struct view full = CONTEXT(0u, CONTEXT(0u, URI("http://a")));
    const struct extension_row points[] = {
        {"\x1f", SEQ(SEQ(full), SEQ(NONE)), NULL},
        {"\x1f", SEQ(SEQ(CONTEXT(0u, CONTEXT(0u, DNS("a"))))), NULL},
        {"\x1f", NUL, "CRL distribution points"},
        {"\x1f", SEQ(NUL), "CRL distribution points"},
        {"\x1f", SEQ(SEQ(CUT("\xa0"))), "CRL distribution points"},
        {"\x1f", SEQ(SEQ(CONTEXT(0u, NUL))), "CRL distribution points"},
        {"\x1f", SEQ(SEQ(CONTEXT(0u, CONTEXT(0u, CUT("\x86"))))), "CRL distribution points"},
    };
    const struct row rows[] = {
        {{.extension = {extension(access, false, SEQ(SEQ(method, URI("http://a"))))}}, NULL},
        {{.extension = {extension(access, false, SEQ(SEQ(method, DNS("a"))))}}, NULL},
        {{.extension = {extension(access, true, SEQ(SEQ(method, URI("http://a"))))}}, fault},
        {{.extension = {extension(access, false, NUL)}}, fault},
        {{.extension = {extension(access, false, SEQ(NUL))}}, fault},
        {{.extension = {extension(access, false, SEQ(SEQ(NUL)))}}, fault},
        {{.extension = {extension(access, false, SEQ(SEQ(method, CUT("\x86"))))}}, fault},
    };
    (void)state;
    assert_extensions(points, COUNT(points));
    assert_faults(rows, COUNT(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_version_and_serial, forget_elements),
        cmocka_unit_test_setup(test_signature_algorithm, forget_elements),
        cmocka_unit_test_setup(test_schemes, forget_elements),
        cmocka_unit_test_setup(test_names_and_validity, forget_elements),
        cmocka_unit_test_setup(test_strings, forget_elements),
        cmocka_unit_test_setup(test_shown_name, forget_elements),
        cmocka_unit_test_setup(test_rsa_keys, forget_elements),
        cmocka_unit_test_setup(test_other_keys, forget_elements),
        cmocka_unit_test_setup(test_optional_fields, forget_elements),
        cmocka_unit_test_setup(test_outer_elements, forget_elements),
        cmocka_unit_test_setup(test_extension_form, forget_elements),
        cmocka_unit_test_setup(test_extension_count, forget_elements),
        cmocka_unit_test_setup(test_first_critical_extension, forget_elements),
        cmocka_unit_test_setup(test_constraint_extensions, forget_elements),
        cmocka_unit_test_setup(test_key_extensions, forget_elements),
        cmocka_unit_test_setup(test_policy_extensions, forget_elements),
        cmocka_unit_test_setup(test_mapped_any_policy, forget_elements),
        cmocka_unit_test_setup(test_locations, forget_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
