/* SPDX-License-Identifier: Apache-2.0 */
/* Suggestions for misspelt words: what is similar enough, and what is suggested to nobody. */
#include "unit.h"

#include "base/suggest.h"

static const char *const known[] = {
    "run",           "devices",        "claims",           "check",
    "probe",         "--metrics-port", "--device-metrics", "--log-level",
    "trn2.48xlarge", "trn2u.48xlarge"};

static const char *meant(const char *word)
{
    struct suggestion s = suggestion_of(view_text(word));
    for (size_t i = 0; i < COUNT(known); i++) {
        suggestion_try(&s, known[i]);
    }
    return (s.best != NULL) ? s.best : "";
}

static void test_similar(void **state)
{
    (void)state;
    assert_string_equal(meant("device"), "devices");
    assert_string_equal(meant("cliams"), "claims");
    assert_string_equal(meant("chekc"), "check");
    assert_string_equal(meant("rum"), "run");
    assert_string_equal(meant("-metrics-port"), "--metrics-port");
    assert_string_equal(meant("--metric-port"), "--metrics-port");
    assert_string_equal(meant("--loglevel"), "--log-level");
    assert_string_equal(meant("--LOG_level"), "--log-level");
    assert_string_equal(meant("trn2-48xlarge"), "trn2.48xlarge");
    assert_string_equal(meant("trn2u-48xlarge"), "trn2u.48xlarge");
    assert_string_equal(meant("devices"), "devices");
}

/* The beginning of a word is enough, and weighs less than any similar word. */
static void test_beginning(void **state)
{
    (void)state;
    assert_string_equal(meant("dev"), "devices");
    assert_string_equal(meant("de"), "");
    assert_string_equal(meant("trn2"), "trn2.48xlarge");
    assert_string_equal(meant("trn2u"), "trn2u.48xlarge");
    assert_string_equal(meant("--me"), "--metrics-port");
    struct suggestion s = suggestion_of(view_text("abc"));
    suggestion_try(&s, "abcdefgh");
    suggestion_try(&s, "abd");
    suggestion_try(&s, "abcxyz");
    assert_string_equal(s.best, "abd");
}

static void test_nothing_similar(void **state)
{
    (void)state;
    assert_string_equal(meant(""), "");
    assert_string_equal(meant("x"), "");
    assert_string_equal(meant("serve"), "");
    assert_string_equal(meant("--bogus"), "");
    struct suggestion none = suggestion_of(view_text("none"));
    char text[64] = "";
    struct writer out = writer_of(text, sizeof text);
    suggestion_write(&none, &out);
    assert_int_equal(out.len, 0);
    suggestion_try(&none, "nine");
    suggestion_write(&none, &out);
    writer_close_text(&out);
    assert_string_equal(text, " (did you mean nine?)");
}

/* Words at the bound are compared, longer ones are not. */
static void test_bounds(void **state)
{
    char longest[SUGGEST_BYTES_MAX + 2u];
    char other[SUGGEST_BYTES_MAX + 2u];
    (void)state;
    memset(longest, 'a', sizeof longest);
    longest[SUGGEST_BYTES_MAX] = '\0';
    memcpy(other, longest, sizeof other);
    other[0] = 'b';
    struct suggestion s = suggestion_of(view_text(longest));
    suggestion_try(&s, other);
    assert_ptr_equal(s.best, other);
    assert_int_equal(s.distance, 1);
    longest[SUGGEST_BYTES_MAX] = 'a';
    longest[SUGGEST_BYTES_MAX + 1u] = '\0';
    s = suggestion_of(view_text(longest));
    suggestion_try(&s, other);
    assert_null(s.best);
    s = suggestion_of(view_text(other));
    suggestion_try(&s, longest);
    assert_null(s.best);
}

/* The distance is symmetric, 0 for equal words alone, and as the textbook has it. */
static void test_distance(void **state)
{
    static const struct {
        const char *word;
        const char *other;
        size_t distance;
    } rows[] = {{"kitten-kitten", "sitting-kitten", 3},
                {"abcdefgh", "abcdefgh", 0},
                {"abcdefgh", "abdcefgh", 2},
                {"abcdefgh", "bcdefgh", 1},
                {"abcdefgh", "xabcdefgh", 1}};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct suggestion s = suggestion_of(view_text(rows[i].word));
        suggestion_try(&s, rows[i].other);
        assert_ptr_equal(s.best, rows[i].other);
        assert_int_equal(s.distance, rows[i].distance);
        s = suggestion_of(view_text(rows[i].other));
        suggestion_try(&s, rows[i].word);
        assert_int_equal(s.distance, rows[i].distance);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_similar),         cmocka_unit_test(test_beginning),
        cmocka_unit_test(test_nothing_similar), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_distance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
