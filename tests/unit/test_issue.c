/* SPDX-License-Identifier: Apache-2.0 */
/* What the API server would refuse of names, keys, texts and versions: both sides of each limit. */
#include "dra/issue.h"
#include "unit.h"

#define D32 "abcdefghijklmnopqrstuvwxyz_01234"
#define D63 "a23456789012345678901234567890123456789012345678901234567890123"

static enum issue issue_of(const char *key, enum attribute_type type, const char *text)
{
    static struct attribute a;
    memset(&a, 0, sizeof a);
    a.type = type;
    memcpy(a.key, key, strlen(key) < sizeof a.key ? strlen(key) : sizeof a.key);
    memcpy(a.text, text, strlen(text) < sizeof a.text ? strlen(text) : sizeof a.text);
    return attribute_issue(&a);
}

static void test_keys(void **state)
{
    (void)state;
    static const char *const good[] = {
        "a", "_", "A_9", D32, "resource.aws.com/devicegroup1_id", "x/y", D63 "/" D32, "a-b.c/d"};
    static const char *const bad[] = {"",     "9a",   "a-b",     "a.b",   "\xc3\xa4", D32 "5",
                                      "/a",   "a/",   "a/b/c",   "A.b/c", "a..b/c",   "a./c",
                                      "-a/c", "a-/c", D63 "4/a", "a b/c", "a/9"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(issue_of(good[i], ATTRIBUTE_INT, ""), ISSUE_NONE);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (issue_of(bad[i], ATTRIBUTE_INT, "") != ISSUE_KEY) {
            fail_msg("key %s", bad[i]);
        }
    }
}

static void test_texts(void **state)
{
    (void)state;
    char text[ATTRIBUTE_VALUE_CAP + 1];
    memset(text, 'x', sizeof text);
    text[64] = 0;
    assert_int_equal(issue_of("k", ATTRIBUTE_STRING, text), ISSUE_NONE);
    text[64] = 'x';
    text[65] = 0;
    assert_int_equal(issue_of("k", ATTRIBUTE_STRING, text), ISSUE_LENGTH);
    assert_int_equal(issue_of("k", ATTRIBUTE_STRING, ""), ISSUE_NONE);
    assert_int_equal(issue_of("k", ATTRIBUTE_STRING, "gr\xc3\xbc\xc3\x9f"), ISSUE_NONE);
    assert_int_equal(issue_of("k", ATTRIBUTE_STRING, "\xc3"), ISSUE_UTF8);
    assert_int_equal(issue_of("k", ATTRIBUTE_STRING, "\xed\xa0\x80"), ISSUE_UTF8);
    /* numbers have no text, and a Quantity is the agent's own */
    assert_int_equal(issue_of("k", ATTRIBUTE_BOOL, "\xc3"), ISSUE_NONE);
    assert_int_equal(issue_of("k", ATTRIBUTE_CAPACITY, "\xc3"), ISSUE_NONE);
}

/* Examples of https://semver.org, and the versions that are none. */
static void test_versions(void **state)
{
    (void)state;
    static const char *const good[] = {"0.0.0",
                                       "1.2.3",
                                       "570.86.15",
                                       "1.0.0-alpha",
                                       "1.0.0-alpha.1",
                                       "1.0.0-0.3.7",
                                       "1.0.0-x.7.z.92",
                                       "1.0.0-x-y-z.--",
                                       "1.0.0-0a",
                                       "1.0.0+001",
                                       "1.0.0-beta+exp.sha.5114f85",
                                       "1.0.0+21AF26D3----117B344092BD",
                                       "1.0.0+a-b"};
    static const char *const bad[] = {
        "",           "1",        "1.2",      "1.2.3.4",  "2.26.5.0",       "v1.2.3",
        "01.2.3",     "1.02.3",   "1.2.03",   "2.19.08",  "1.2.3-",         "1.2.3+",
        "1.2.3-a..b", "1.2.3-01", "1.2.3-a.", "1.2.3-.a", "1.2.3+a..b",     "1.2.",
        ".1.2",       "1..2",     "1.2.x",    "1.2.3 ",   "1.2.3-\xc3\xa4", "1.2.3+a+b",
        "-1.2.3"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (issue_of("k", ATTRIBUTE_VERSION, good[i]) != ISSUE_NONE) {
            fail_msg("version %s", good[i]);
        }
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (issue_of("k", ATTRIBUTE_VERSION, bad[i]) != ISSUE_VERSION) {
            fail_msg("version %s", bad[i]);
        }
    }
}

static void test_names(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "-a", "a-", "A", "a.b", "a_b", "\xc3\xa4"};
    struct device d = {.name = "neuron-device-0"};
    assert_int_equal(device_name_issue(&d), ISSUE_NONE);
    memcpy(d.name, D63, 64);
    assert_int_equal(device_name_issue(&d), ISSUE_NONE);
    memset(d.name, 'a', sizeof d.name); /* 64, and no NUL */
    assert_int_equal(device_name_issue(&d), ISSUE_NAME);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)snprintf(d.name, sizeof d.name, "%s", bad[i]);
        assert_int_equal(device_name_issue(&d), ISSUE_NAME);
    }
}

static void test_words(void **state)
{
    (void)state;
    for (int issue = ISSUE_NONE; issue < ISSUES; issue++) {
        assert_in_range(strlen(issue_text((enum issue)issue)), 4, 120);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),  cmocka_unit_test(test_texts), cmocka_unit_test(test_versions),
        cmocka_unit_test(test_names), cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
