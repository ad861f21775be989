/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes of double-quoted scalars (YAML 1.2 §5.7), line ends of Windows, and where scalars end. */
#include "tests/unit/apiserver/kubeconfig_text.h"

static void check_token(const char *yaml, const char *value)
{
    char body[500];
    (void)snprintf(body, sizeof body, "    token: %s\n    unused: 1\n", yaml);
    if (value == NULL) {
        read_bad(with_user(body), PEER_MALFORMED, "token");
        return;
    }
    read_good(with_user(body));
    if (!view_is(config.token, value)) {
        fail_msg("%s gave \"%.*s\"", yaml, (int)config.token.len, (const char *)config.token.data);
    }
}

static void test_hex(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        {"\"\\x4a\\x4A\\x4f\"", "JJO"},
        {"\"\\U0010fffd\"", "\xf4\x8f\xbf\xbd"},
        {"\"\\U00110000\"", NULL}, /* over the last code point */
        {"\"\\x4\"", NULL},        /* cut by the end */
        {"\"\\x4g\"", NULL},
        {"\"\\u00G1\"", NULL},
        {"\"\\u004\"", NULL},
        {"\"\\q\"", NULL}, /* no escape */
        /* Halves of surrogate pairs without the other half: the replacement character. */
        {"\"\\udc00x\"", "\xef\xbf\xbdx"},
        {"\"\\ud83dx\"", "\xef\xbf\xbdx"},
        {"\"\\ud83d\\n\"", "\xef\xbf\xbd"}, /* blanks around a token go */
        {"\"\\ud83d\\ud83d\"", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\"\\ud83d\\ue000\"", "\xef\xbf\xbd\xee\x80\x80"},
        {"\"\\ud800\\udc00\"", "\xf0\x90\x80\x80"},
        {"\"\\udbff\\udfff\"", "\xf4\x8f\xbf\xbf"},
    };
    for (unsigned i = 0; i < COUNT(cases); i++) {
        check_token(cases[i].yaml, cases[i].value);
    }
}

/* Keys take the same escapes as values; one that is none is no key that we know. */
static void test_keys(void **state)
{
    (void)state;
    read_good(with_user("    \"t\\u006fken\": a\n"));
    assert_view(config.token, "a");
    read_good(with_user("    'token': b\n"));
    assert_view(config.token, "b");
}

/* What goes on with a plain scalar, and what does not. */
static void test_plain_lines(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        {"one\n      two\n      three", "one two three"},
        {"one\n      # a comment ends it", "one"},
        {"one\n\n      two", NULL}, /* a line end */
        {"one\n      two # comment", "one two"},
    };
    for (unsigned i = 0; i < COUNT(cases); i++) {
        check_token(cases[i].yaml, cases[i].value);
    }
}

static void test_windows_lines(void **state)
{
    (void)state;
    char text[2048];
    size_t n = 0;
    const char *unix_text = with_user("    token: |-\n"
                                      "      secret\n"
                                      "    client-certificate-data: |\n"
                                      "      QUJD\n"
                                      "      REVG\n"
                                      "    client-key-data: \"R0hJ\n"
                                      "      SktM\"\n");
    for (const char *c = unix_text; *c != 0; c++) {
        if (*c == '\n') {
            text[n++] = '\r';
        }
        text[n++] = *c;
        assert_true(n < sizeof text - 2);
    }
    text[n] = 0;
    read_good(text);
    assert_view(config.token, "secret");
    assert_view(config.cert_data, "QUJD\nREVG");
    assert_view(config.key_data, "R0hJ SktM");
    /* A carriage return that ends no line is a control character. */
    read_bad("a: b\rc\n", PEER_MALFORMED, "line 1");
    read_bad("a: b\r", PEER_MALFORMED, "line 1");
    read_bad("a: b\x7f\n", PEER_MALFORMED, "line 1");
}

/* The block scalar's header, and how deep its text lies. */
static void test_block_header(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        {"|-2\n      two", "two"}, {"|2-\n      two", "two"}, {">9\n             nine", "nine"},
        {"|0\n      zero", NULL},  {"|x\n      text", NULL},  {"|--\n      text", NULL},
    };
    for (unsigned i = 0; i < COUNT(cases); i++) {
        char body[500];
        (void)snprintf(body, sizeof body, "    token: %s\n    unused: 1\n", cases[i].yaml);
        if (cases[i].value == NULL) {
            read_bad(with_user(body), PEER_MALFORMED, "a block scalar that is neither");
        } else {
            check_token(cases[i].yaml, cases[i].value);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hex),          cmocka_unit_test(test_keys),
        cmocka_unit_test(test_plain_lines),  cmocka_unit_test(test_windows_lines),
        cmocka_unit_test(test_block_header),
    };
    return cmocka_run_group_tests(tests, NULL, free_block);
}
