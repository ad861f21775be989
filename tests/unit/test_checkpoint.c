/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of the kubelet with one oddity each: none of them proves anything, except those that
 * are odd only in strings that do not matter. */
#include "dra/kubelet_state.h"
#include "unit.h"

#define HEAD                                                                                       \
    "{\"Data\":\"{\\\"kind\\\":\\\"DRACheckpoint\\\",\\\"apiVersion\\\":"                          \
    "\\\"checkpoint.dra.kubelet.k8s.io/v1\\\",\\\"ClaimInfoStateList\\\":"
#define CLAIM "\\\"ClaimUID\\\":\\\"u-1\\\""

static unsigned uids;
static struct kubelet_claim last;

static struct kubelet_state parse(const char *text)
{
    struct kubelet_state k;
    struct reader in = reader_of(view_text(text));
    kubelet_state_begin(&k, "d");
    uids = 0;
    const struct kubelet_claim *c = kubelet_state_next(&k, &in);
    while (c != NULL) {
        assert_string_equal(c->id.uid, "u-1");
        last = *c;
        uids++;
        c = kubelet_state_next(&k, &in);
    }
    return k;
}

/* The text with its right checksum: whatever is wrong is not the sum. */
static enum status verdict(const char *list)
{
    static char text[4096];
    (void)snprintf(text, sizeof text, HEAD "%s}\",\"Checksum\":", list);
    struct kubelet_state k = parse(text);
    size_t len = strlen(text);
    (void)snprintf(&text[len], sizeof text - len, "%u}", (unsigned)(k.crc ^ UINT32_MAX));
    k = parse(text);
    return kubelet_state_end(&k);
}

#define LONG                                                                                       \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void test_strings(void **state)
{
    static const struct {
        const char *list;
        enum status want;
    } rows[] = {
        {"[{" CLAIM "}]", STATUS_OK},
        /* a name and a value of any length, a backslash and a quote in them */
        {"[{\\\"" LONG "\\\":\\\"" LONG "\\\"," CLAIM "}]", STATUS_OK},
        {"[{\\\"x\\\":\\\"a\\\\\\\\\\\"," CLAIM "}]", STATUS_OK},
        {"[{\\\"x\\\":\\\"a\\\\\\\"b\\\"," CLAIM "}]", STATUS_OK},
        {"[{\\\"x\\\":\\\"\\ud7ff\\uffff\\u00e9\\\"," CLAIM "}]", STATUS_OK},
        /* half of a surrogate pair, and no hexadecimal digit */
        {"[{\\\"x\\\":\\\"\\ud800\\\"," CLAIM "}]", PEER_MALFORMED},
        {"[{\\\"x\\\":\\\"\\udfff\\\"," CLAIM "}]", PEER_MALFORMED},
        {"[{\\\"x\\\":\\\"\\u00zz\\\"," CLAIM "}]", PEER_MALFORMED},
        {"[{\\\"x\\\":\\\"\\u00AB\\\"," CLAIM "}]", PEER_MALFORMED},
        {"[{\\\"x\\\":\\\"\\u00zz41\\\"," CLAIM "}]", PEER_MALFORMED},
        /* what is no UID */
        {"[{\\\"ClaimUID\\\":\\\"" LONG "\\\"}]", PEER_MALFORMED},
        {"[{\\\"ClaimUID\\\":\\\"\\\"}]", PEER_MALFORMED},
        {"[{\\\"ClaimUID\\\":\\\"u\\\\\\\\u002d1\\\"}]", PEER_MALFORMED},
        {"[{\\\"ClaimUID\\\":{\\\"u-1\\\":1}}]", PEER_MALFORMED},
        {"[{" CLAIM "," CLAIM "}]", PEER_MALFORMED},
        {"[{" CLAIM ",\\\"ClaimUID\\\":7}]", PEER_MALFORMED},
        {"[{" CLAIM ",\\\"ClaimUID\\\":}]", PEER_MALFORMED},
        {"[{}]", PEER_MALFORMED},
        /* objects in objects, as deep as no kubelet writes them */
        {"[{" CLAIM ",\\\"x\\\":[[[[[[[[[[[[[]]]]]]]]]]]]]}]", STATUS_OK},
        {"[{" CLAIM ",\\\"x\\\":[[[[[[[[[[[[[[]]]]]]]]]]]]]]}]", PEER_MALFORMED},
        {"[{" CLAIM "}]}", PEER_MALFORMED},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        enum status s = verdict(rows[i].list);
        if (s != rows[i].want) {
            fail_msg("row %zu: %s", i, status_name(s));
        }
        assert_true(s != STATUS_OK || uids == 1);
    }
}

/* A NUL is no hexadecimal digit. */
static void test_escape_with_a_nul(void **state)
{
    static const char text[] = HEAD "[{\\\"x\\\":\\\"\\u004\0";
    struct kubelet_state k;
    struct reader in = reader_of(view_of(text, sizeof text - 1u));
    (void)state;
    kubelet_state_begin(&k, "d");
    assert_null(kubelet_state_next(&k, &in));
    assert_int_equal(k.failed, PEER_MALFORMED);
}

/* The names of a claim and its drivers: only whole texts in their own places count. */
static void test_members(void **state)
{
    static const struct {
        const char *list;
        const char *name;
        const char *namespace_;
        bool ours;
    } rows[] = {
        {"[{" CLAIM "}]", "", "", false},
        {"[{\\\"ClaimName\\\":\\\"n\\\"," CLAIM ",\\\"Namespace\\\":\\\"m\\\"}]", "n", "m", false},
        {"[{" CLAIM ",\\\"ClaimName\\\":null,\\\"Namespace\\\":7}]", "", "", false},
        {"[{" CLAIM ",\\\"ClaimName\\\":{\\\"Namespace\\\":\\\"m\\\"}}]", "", "", false},
        {"[{" CLAIM ",\\\"Namespace\\\":\\\"" LONG "\\\"}]", "", "", false},
        {"[{" CLAIM ",\\\"ClaimName\\\":\\\"" LONG LONG LONG LONG "\\\"}]", "", "", false},
        {"[{" CLAIM ",\\\"ClaimName\\\":\\\"a\\\\\\\"b\\\"}]", "", "", false},
        {"[{" CLAIM ",\\\"DriverState\\\":{\\\"d\\\":{}}}]", "", "", true},
        {"[{" CLAIM ",\\\"DriverState\\\":{\\\"c\\\":{},\\\"d\\\":{\\\"e\\\":1}}}]", "", "", true},
        {"[{" CLAIM ",\\\"DriverState\\\":{\\\"c\\\":{\\\"d\\\":{}}}}]", "", "", false},
        {"[{" CLAIM ",\\\"DriverState\\\":{\\\"dd\\\":{}}}]", "", "", false},
        {"[{" CLAIM ",\\\"PodUIDs\\\":{\\\"d\\\":{}}}]", "", "", false},
        {"[{" CLAIM ",\\\"DriverState\\\":\\\"d\\\",\\\"x\\\":{\\\"d\\\":1}}]", "", "", false},
        {"[{" CLAIM ",\\\"DriverState\\\":null,\\\"x\\\":{\\\"d\\\":1}}]", "", "", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(verdict(rows[i].list), STATUS_OK);
        assert_int_equal(uids, 1);
        if (strcmp(last.id.name, rows[i].name) != 0 ||
            strcmp(last.id.namespace_, rows[i].namespace_) != 0 || last.of_driver != rows[i].ours) {
            fail_msg("row %zu: %s/%s %d", i, last.id.namespace_, last.id.name, last.of_driver);
        }
    }
}

static void test_sums(void **state)
{
    static const char *const sums[] = {"}", "x}", "-1}", "99999999999}", "4294967296}", "1", "1}}"};
    (void)state;
    for (size_t i = 0; i < COUNT(sums); i++) {
        char text[512];
        (void)snprintf(text, sizeof text, HEAD "[{" CLAIM "}]}\",\"Checksum\":%s", sums[i]);
        struct kubelet_state k = parse(text);
        assert_int_equal(uids, 1); /* which says nothing before the end */
        assert_int_equal(kubelet_state_end(&k), PEER_MALFORMED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_escape_with_a_nul),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
