/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines as texts, parsed into `settings`, and what is said about a bad one. */
#ifndef TESTS_UNIT_SETTINGS_LINES_H
#define TESTS_UNIT_SETTINGS_LINES_H

#include "agent/settings.h"
#include "unit.h"

#define WORDS_MAX 16

static struct settings settings;
static char why_text[2048];
static const char *const no_variables[] = {NULL};

static inline enum status parse_words(const char *const *args, unsigned count,
                                      const char *const *env)
{
    struct writer why = writer_of(why_text, sizeof why_text);
    memset(&settings, 0xa5, sizeof settings);
    enum status s = settings_parse(&settings, args, count, env, &why);
    assert_int_equal(writer_end_text(&why), STATUS_OK);
    assert_true((s == STATUS_OK) == (why.len == 0));
    assert_null(strchr(why_text, '\n'));
    return s;
}

/* Arguments in one text, divided by single spaces. */
static inline enum status parse_with(const char *line, const char *const *env)
{
    static char copy[4096];
    const char *args[WORDS_MAX];
    unsigned count = 0;
    assert_true(strlen(line) < sizeof copy);
    strcpy(copy, line);
    char *rest = copy;
    for (char *word = strsep(&rest, " "); word != NULL; word = strsep(&rest, " ")) {
        assert_true(count < WORDS_MAX);
        args[count++] = word;
    }
    return parse_words(args, (copy[0] == '\0') ? 0 : count, env);
}

static inline void expect_good(const char *line)
{
    if (parse_with(line, no_variables) != STATUS_OK) {
        fail_msg("%s: %s", line, why_text);
    }
}

static inline void expect_line(const char *expected)
{
    assert_string_equal(why_text, expected);
}

static inline void expect_bad(const char *line, const char *expected)
{
    assert_int_equal(parse_with(line, no_variables), PEER_MALFORMED);
    expect_line(expected);
}

#endif
