/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of servers in certificates, name constraints and policies: each form of a name that a
 * hostile authority may write, and what it permits.
 */
#include "certificates.h"
#include "x509/x509_names_internal.h"

#include "x509/x509_names.h"
#include "x509/x509_policy.h"

/* --- subject alternative names --- */

/* RFC 3986 §3: schemes, escapes and authorities of a URI. */
static void test_uris(void **state)
{
    const struct {
        const char *uri;
        bool good;
    } rows[] = {
        {"http://a.b", true},
        {"a1+-.z://a", true},
        {"http://a-b_c.d:80/x", true},
        {"http://a/%41%4a", true},
        {"/path", true},
        {"a:b", true},
        {"http://a?b", true},
        {"http://a#b", true},
        {"//a", true},
        {"", true},
        {"a/b:c", true},
        {"1a://b", false},
        {"http://a/%4", false},
        {"http://a/%4g", false},
        {"http://a/%g4", false},
        {"http://a/\x01", false},
        {"http://a:8x", false},
        {"http://:80", false},
        {"http://a.:80", false},
        {"http://u@h", false},
        {"http://[::1]", false},
        {"http://a\x80", false},
        {":b", false},
        {"a_b:c", false},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        bool some = false;
        if (x509_names_valid(SEQ(URI(rows[i].uri)), &some) != rows[i].good) {
            fail_msg("%s is %s", rows[i].uri, rows[i].good ? "refused" : "accepted");
        }
    }
}

/* Names of kinds that are not evaluated are valid, whatever they hold. */
static void test_kinds_of_names(void **state)
{
    struct view directory = DER(DER_CONTEXT_OUTER(4u), name_of("x"));
    const struct {
        struct view value;
        bool good;
        bool some;
    } rows[] = {
        {SEQ(directory), true, false},
        {SEQ(directory, DNS("a")), true, true},
        {SEQ(MAIL("a@b")), true, true},
        {SEQ(URI("http://a")), true, true},
        {SEQ(IP("\1\2\3\4"), directory), true, true},
        {SEQ(IP("\1\2\3")), false, false},
        {SEQ(DNS("\x80")), false, false},
        {SEQ(MAIL("\x80@b")), false, false},
        {SEQ(CUT("\x82")), false, false},
        {NUL, false, false},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        bool some = false;
        assert_true(x509_names_valid(rows[i].value, &some) == rows[i].good);
        assert_true(some == rows[i].some);
    }
}

/* RFC 9525 §6.3, and what Go does with names that are no host names. */
static void test_listed_hosts(void **state)
{
    const struct {
        const char *name;
        const char *host;
        bool listed;
    } rows[] = {
        {"a.test", "a.test", true},
        {"A.test", "a.TEST.", true},
        {"*.test", "a.test", true},
        {"*.test", "a.b.test", false},
        {"*.test", "test", false},
        {"*.test", "a_b.test", true},
        {"*.test", "a%b.test", false},
        {"a_b.test", "a_b.test", true},
        {"a-b.test", "a-b.test", true},
        {"*.a-b.test", "x.a-b.test", true},
        {"-a.test", "-a.test", true},
        {"a%b", "a%b", true},
        {"a%b", "a%c", false},
        {".", ".", false},
        {"a..test", "a..test", true},
        {"a.test.", "a.test", false},
        {"", "", false},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        struct x509_cert cert = {.names = SEQ(DNS(rows[i].name), MAIL("x@y"))};
        if (x509_lists_host(&cert, view_text(rows[i].host)) != rows[i].listed) {
            fail_msg("%s, %s: %d", rows[i].name, rows[i].host, !rows[i].listed);
        }
    }
}

/* An address stands in brackets in a URL; a certificate may list it mapped into IPv6. */
static void test_listed_addresses(void **state)
{
    struct view mapped = IP("\0\0\0\0\0\0\0\0\0\0\xff\xff\1\2\3\4");
    struct view loopback = IP("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1");
    const struct {
        struct view name;
        const char *host;
        bool listed;
    } rows[] = {
        {IP("\1\2\3\4"), "1.2.3.4", true}, {IP("\1\2\3\4"), "1.2.3.5", false},
        {mapped, "1.2.3.4", true},         {loopback, "[::1]", true},
        {loopback, "::1", true},           {loopback, "[::1", false},
        {loopback, "[]", false},           {DNS("1.2.3.4"), "1.2.3.4", false},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        struct x509_cert cert = {.names = SEQ(DNS("a.test"), rows[i].name)};
        assert_true(x509_lists_host(&cert, view_text(rows[i].host)) == rows[i].listed);
    }
}

/* Only 16 bytes can be an IPv4 address that is mapped into IPv6 (RFC 4291 §2.5.5.2). */
static void test_unmapped(void **state)
{
    static const uint8_t bytes[16] = {[10] = 0xff, 0xff, 1, 2, 3, 4};
    (void)state;
    assert_true(view_equal(x509_unmapped(view_of(bytes, 16)), view_of(&bytes[12], 4)));
    assert_true(view_equal(x509_unmapped(view_of(bytes, 4)), view_of(bytes, 4)));
    assert_true(view_equal(x509_unmapped(view_of(&bytes[8], 8)), view_of(&bytes[8], 8)));
}

/* Names that cannot be read list nobody. */
static void test_unreadable_names(void **state)
{
    struct x509_cert cert = {.names = SEQ(CUT("\x82"), DNS("a.test"))};
    struct x509_cert none = {.names = NUL};
    (void)state;
    assert_false(x509_lists_host(&cert, view_text("a.test")));
    assert_false(x509_lists_host(&cert, view_text("1.2.3.4")));
    assert_false(x509_lists_host(&none, view_text("a.test")));
}

static void test_shown_names(void **state)
{
    const struct {
        struct view name;
        const char *shown;
    } rows[] = {
        {DNS("a.test"), "a.test"},
        {IP("\1\2\3\4"), "1.2.3.4"},
        {IP("\x20\1\0\0\0\0\0\0\0\0\0\0\0\0\0\5"), "2001:0000:0000:0000:0000:0000:0000:0005"},
        {IP("abcde"), "abcde"},
        {DER(0x88, BYTES("abcd")), "abcd"}, /* registeredID */
        {CUT("\x82"), ""},
        {NONE, ""},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        char text[64];
        struct writer w = writer_of(text, sizeof text);
        x509_show_general_name(&w, rows[i].name);
        assert_int_equal(writer_end_text(&w), STATUS_OK);
        assert_string_equal(text, rows[i].shown);
    }
}

/* --- constraints --- */

/* Which constraints are well-formed. */
static void test_constraint_forms(void **state)
{
    const struct {
        struct view base;
        bool good;
    } rows[] = {
        {DNS(""), true},
        {DNS(".a.test"), true},
        {DNS("a..test"), false},
        {DNS("a test"), false},
        {DNS("a\x80"), false},
        {MAIL("a.b@c"), true},
        {MAIL("a!#$%&'*+-/=?^_`{|}~z@c"), true},
        {MAIL(".c"), true},
        {MAIL("a(b@c"), false},
        {MAIL("a..b@c"), false},
        {MAIL(".a@c"), false},
        {MAIL("a.@c"), false},
        {MAIL("@c"), false},
        {MAIL("a@"), false},
        {MAIL("a@b."), false},
        {MAIL("a@b\x80"), false},
        {MAIL("b."), false},
        {URI(".a.test"), true},
        {URI("a."), false},
        {URI("1.2.3.4"), false},
        {URI("a\x80"), false},
        {IP("\1\2\3\4\xff\xff\xfe\0"), true},
        {IP("\1\2\3\4\xff\0\xff\0"), false},
        {IP("\1\2\3\4"), false},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        bool whole = true;
        if (x509_constraints_valid(SEQ(rows[i].base), &whole) != rows[i].good) {
            fail_msg("row %u", i);
        }
        assert_true(whole);
    }
    bool whole = true;
    assert_false(x509_constraints_valid(NUL, &whole));
    assert_false(x509_constraints_valid(SEQ(NONE), &whole));
    assert_true(whole);
    assert_true(x509_constraints_valid(SEQ(DER(DER_CONTEXT_OUTER(4u), NONE)), &whole));
    assert_false(whole);
}

/* An IP range with bits outside its mask may only stand alone in its address family. */
static void test_odd_ranges(void **state)
{
    struct view four = SEQ(IP("\x0a\0\0\0\xff\0\0\0"));
    struct view odd_four = SEQ(IP("\x0a\0\0\5\xff\0\0\0"));
    struct view six = SEQ(IP("\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                             "\xff\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0"));
    struct view odd_six = SEQ(IP("\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5"
                                 "\xff\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0"));
    struct view mapped = SEQ(IP("\0\0\0\0\0\0\0\0\0\0\xff\xff\0\0\0\0"
                                "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0"));
    const struct {
        struct view first;
        struct view second;
        bool good;
    } rows[] = {
        {four, four, true},      {odd_four, NONE, true}, {odd_four, four, false},
        {four, odd_four, false}, {six, six, true},       {odd_six, six, false},
        {odd_six, NONE, true},   {mapped, NONE, true},   {mapped, six, false},
        {odd_four, six, true},   {four, odd_six, true},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        bool whole = true;
        assert_true(x509_constraints_valid(joined(rows[i].first, rows[i].second), &whole) ==
                    rows[i].good);
    }
}

struct permit_row {
    struct view name;
    struct view permitted;
    struct view excluded;
    bool good;
};

static void assert_permits(const struct permit_row *row, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct x509_cert ca = {0};
        struct x509_cert cert = {.names = SEQ(row[i].name)};
        struct view refused = {0};
        uint32_t budget = 100;
        ca.permitted = (row[i].permitted.len > 0) ? SEQ(row[i].permitted) : NONE;
        ca.excluded = (row[i].excluded.len > 0) ? SEQ(row[i].excluded) : NONE;
        if (x509_permits(&ca, &cert, &budget, &refused) != row[i].good) {
            fail_msg("row %zu", i);
        }
        assert_true(row[i].good || view_equal(refused, row[i].name));
    }
}

/* RFC 5280 §4.2.1.10, and that a wildcard is not valid for an excluded name. */
static void test_permitted_domains(void **state)
{
    struct view none = NONE;
    const struct permit_row rows[] = {
        {DNS("a.test"), DNS("test"), none, true},
        {DNS("atest"), DNS("test"), none, false},
        {DNS("test"), DNS(".test"), none, false},
        {DNS("a.test"), DNS(".test"), none, true},
        {DNS("a.test"), DNS(""), none, true},
        {DNS("a."), DNS(""), none, false},
        {DNS("a.test"), none, DNS("test"), false},
        {DNS("*.test"), none, DNS("a.test"), false},
        {DNS("*.test"), none, DNS("a.other"), true},
        {DNS("*.test"), none, DNS("local"), true},
        {DNS("*.test"), DNS("a.test"), none, false},
        {URI("http://a.test:80/x"), URI("test"), none, true},
        {URI("http://a.test"), URI("other"), none, false},
        {URI("/x"), URI("test"), none, false},
        {URI("http://a.test:8x"), URI("test"), none, false},
        {URI("http://1.2.3.4"), URI("test"), none, false},
        {DER(DER_CONTEXT_OUTER(4u), NONE), DNS("test"), none, true},
        {DNS("a.test"), MAIL("other"), none, true},
    };
    (void)state;
    assert_permits(rows, COUNT(rows));
}

static void test_permitted_mailboxes(void **state)
{
    struct view none = NONE;
    const struct permit_row rows[] = {
        {MAIL("a@b.test"), MAIL("a@B.test"), none, true},
        {MAIL("a@b.test"), MAIL("c@b.test"), none, false},
        {MAIL("a@b.test"), MAIL("a@c.test"), none, false},
        {MAIL("a@b.test"), MAIL(".test"), none, true},
        {MAIL("a@b.test"), none, MAIL("b.test"), false},
        {MAIL("a@b.test"), none, MAIL("c.test"), true},
        {MAIL("a@*.test"), none, MAIL("b.test"), false},
        {MAIL("a@*.test"), MAIL("b.test"), none, false},
        {MAIL("a"), MAIL(".test"), none, false},
        {MAIL("a@"), MAIL(".test"), none, false},
        {MAIL("a b@c"), none, MAIL("z"), false},
    };
    (void)state;
    assert_permits(rows, COUNT(rows));
}

/* As in Go, a mapped address is of another kind than its IPv4 form, but exclusion covers both. */
static void test_permitted_addresses(void **state)
{
    struct view none = NONE;
    struct view mapped = IP("\0\0\0\0\0\0\0\0\0\0\xff\xff\1\2\3\4");
    struct view plain = IP("\0\0\0\0\0\0\0\0\0\0\0\0\1\2\3\4");
    struct view range_mapped = IP("\0\0\0\0\0\0\0\0\0\0\xff\xff\0\0\0\0"
                                  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    struct view range_plain = IP("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    const struct permit_row rows[] = {
        {mapped, range_mapped, none, true},
        {plain, range_mapped, none, false},
        {mapped, range_plain, none, false},
        {plain, range_plain, none, true},
        {mapped, none, range_mapped, false},
        {plain, none, range_mapped, false},
        {mapped, none, range_plain, true},
        {plain, none, range_plain, false},
        {IP("\1\2\3\4"), range_plain, none, false},
        {IP("\1\2\3\4"), IP("\1\2\0\0\xff\xff\0\0"), none, true},
        {IP("\1\3\3\4"), IP("\1\2\0\0\xff\xff\0\0"), none, false},
    };
    (void)state;
    assert_permits(rows, COUNT(rows));
}

/* When the comparisons are used up, the remaining constraints count as violated. */
static void test_comparisons_used_up(void **state)
{
    struct view other = SEQ(DNS("other"));
    struct x509_cert ca = {.excluded = joined(other, joined(other, other))};
    struct x509_cert cert = {.names = SEQ(DNS("a.test"))};
    (void)state;
    for (uint32_t left = 0; left <= 4; left++) {
        struct view refused = {0};
        uint32_t budget = left;
        assert_true(x509_permits(&ca, &cert, &budget, &refused) == (left > 3));
        assert_int_equal(budget, (left > 3) ? left - 3 : 0);
    }
}

/* --- policies --- */

#define A_POLICY "\x2a\x03\x01"
#define B_POLICY "\x2a\x03\x02"
#define ANY_POLICY "\x55\x1d\x20\x00"
#define POLICY(oid) SEQ(OID(oid))

/* What a certificate of a chain says about policies, from the server's own on. */
struct policy_row {
    struct x509_cert cert[3];
    size_t count;
    bool good;
};

static void assert_policies(const struct policy_row *row, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct x509_cert *chain[] = {&row[i].cert[0], &row[i].cert[1], &row[i].cert[2]};
        if (x509_policies_allow(chain, row[i].count) != row[i].good) {
            fail_msg("row %zu", i);
        }
    }
}

/* RFC 5280 §6.1.4: a certificate that names itself as its issuer does not count. */
static void test_required_policies(void **state)
{
    struct view a = name_of("a");
    struct view b = name_of("b");
    struct view policy = POLICY(A_POLICY);
    const struct policy_row rows[] = {
        {{{.issuer = a}, {.issuer = a}}, 2, true},
        {{{.requires_policy = true}}, 1, false},
        {{{.requires_policy = true, .policies = policy}}, 1, true},
        {{{.requires_policy = true, .explicit_policy = 1}}, 1, true},
        {{{.issuer = a}, {.issuer = a, .requires_policy = true}}, 2, false},
        {{{.issuer = a}, {.issuer = a, .requires_policy = true, .explicit_policy = 2}}, 2, true},
        {{{.issuer = a},
          {.issuer = a, .subject = b},
          {.issuer = a, .subject = b, .requires_policy = true, .explicit_policy = 2}},
         3,
         false},
        {{{.issuer = a},
          {.issuer = a, .subject = a},
          {.issuer = a, .subject = b, .requires_policy = true, .explicit_policy = 2}},
         3,
         true},
        {{{.issuer = a},
          {.issuer = a, .subject = b},
          {.issuer = a, .subject = b, .requires_policy = true, .explicit_policy = 0}},
         3,
         false},
    };
    (void)state;
    assert_policies(rows, COUNT(rows));
}

/* All certificates need one policy in common; anyPolicy matches unless somebody inhibits it. */
static void test_common_policies(void **state)
{
    struct view a = POLICY(A_POLICY);
    struct view b = POLICY(B_POLICY);
    struct view any = POLICY(ANY_POLICY);
    struct view ab = joined(b, a);
    const struct policy_row rows[] = {
        {{{.requires_policy = true, .policies = a}, {.policies = ab}}, 2, true},
        {{{.requires_policy = true, .policies = a}, {.policies = b}}, 2, false},
        {{{.requires_policy = true, .policies = a}, {.policies = any}}, 2, true},
        {{{.requires_policy = true, .policies = any}, {.policies = any}}, 2, true},
        {{{.requires_policy = true, .policies = a}, {.policies = any, .inhibits_any_policy = true}},
         2,
         false},
        {{{.requires_policy = true, .policies = any, .inhibits_any_policy = true},
          {.policies = any, .inhibits_any_policy = true}},
         2,
         false},
        {{{.requires_policy = true, .policies = a}, {.policies = a, .maps_policies = true}},
         2,
         false},
        {{{.policies = a}, {.maps_any_policy = true}}, 2, false},
        {{{.policies = a, .maps_any_policy = true}, {.policies = a}}, 2, true},
        {{{.requires_policy = true, .policies = NUL}, {.policies = NUL}}, 2, false},
        {{{.requires_policy = true, .policies = SEQ(NUL)}, {.policies = a}}, 2, false},
    };
    (void)state;
    assert_policies(rows, COUNT(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_uris, forget_elements),
        cmocka_unit_test_setup(test_kinds_of_names, forget_elements),
        cmocka_unit_test_setup(test_listed_hosts, forget_elements),
        cmocka_unit_test_setup(test_listed_addresses, forget_elements),
        cmocka_unit_test_setup(test_unreadable_names, forget_elements),
        cmocka_unit_test(test_unmapped),
        cmocka_unit_test_setup(test_shown_names, forget_elements),
        cmocka_unit_test_setup(test_constraint_forms, forget_elements),
        cmocka_unit_test_setup(test_odd_ranges, forget_elements),
        cmocka_unit_test_setup(test_permitted_domains, forget_elements),
        cmocka_unit_test_setup(test_permitted_mailboxes, forget_elements),
        cmocka_unit_test_setup(test_permitted_addresses, forget_elements),
        cmocka_unit_test_setup(test_comparisons_used_up, forget_elements),
        cmocka_unit_test_setup(test_required_policies, forget_elements),
        cmocka_unit_test_setup(test_common_policies, forget_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
