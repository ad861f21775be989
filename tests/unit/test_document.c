/* SPDX-License-Identifier: Apache-2.0 */
/* Which texts a YAML document has without quotes: those that every parser reads as strings (I2). */
#include "base/document.h"
#include "unit.h"

static void assert_text(const char *value, const char *line)
{
    char text[128];
    struct writer out = writer_of(text, sizeof text);
    struct document d = document_of(&out, true);
    document_object_begin(&d);
    document_text(&d, "k", value);
    document_object_end(&d);
    document_end(&d);
    assert_int_equal(writer_end_text(&out), STATUS_OK);
    assert_string_equal(text, line);
}

static void test_plain_texts(void **state)
{
    (void)state;
    assert_text("abcdef", "k: abcdef\n");
    assert_text("a1-2.3/_", "k: a1-2.3/_\n");
    assert_text("Neuron", "k: Neuron\n");
    /* up to five bytes, a text can be a word of YAML 1.1 */
    assert_text("false", "k: \"false\"\n");
    assert_text("abcde", "k: \"abcde\"\n");
    assert_text("", "k: \"\"\n");
    /* first a digit or a sign: a number or a date */
    assert_text("1abcde", "k: \"1abcde\"\n");
    assert_text("2026-01-01", "k: \"2026-01-01\"\n");
    assert_text("-abcde", "k: \"-abcde\"\n");
    /* bytes that mean something */
    assert_text("abcde:f", "k: \"abcde:f\"\n");
    assert_text("abcde #", "k: \"abcde #\"\n");
    assert_text("abcdef\"", "k: \"abcdef\\\"\"\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
