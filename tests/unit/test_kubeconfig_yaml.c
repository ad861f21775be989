/* SPDX-License-Identifier: Apache-2.0 */
/* The YAML of kubeconfig files: scalars of every style, what is passed over, what is refused. */
#include "kubeconfig_text.h"

/* --- scalars: what stands behind "    token: " --- */

static void test_scalars(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        {"plain", "plain"},
        {"  spaced \t # comment", "spaced"},
        {"a#b", "a#b"},
        {"a:b::c", "a:b::c"},
        {"-dash", "-dash"},
        {"?x", "?x"},
        {":x", ":x"},
        {"it's \"so\"", "it's \"so\""},
        {"first\n      second\n\n      third", NULL},
        {"first\n      second", "first second"},
        {"\n      below", "below"},
        {"\n      'below' # x", "below"},
        {"'single ''quoted'' \\n'", "single 'quoted' \\n"},
        {"'# no comment: x'", "# no comment: x"},
        {"'two  \n\n\n     lines'", NULL},
        {"\"tab\\t\"", "tab"},
        {"\"a\\x41\\u0042\\U00000043\\/\\\\\\\"\"", "aABC/\\\""},
        {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
        {"\"\\ud83d\"", "\xef\xbf\xbd"},
        {"\"\\ud83d\\u0041\"", "\xef\xbf\xbd"
                               "A"},
        {"\"\\u20ac\\_\\N\"", "\xe2\x82\xac\xc2\xa0\xc2\x85"},
        {"\"joi\\\n     ned\"", "joined"},
        {"\"fol   \n     ded\"", "fol ded"},
        {"\"kept\\  \n     blank\"", "kept  blank"},
        {"\"\" # empty", ""},
        {"''", ""},
        {"~", ""},
        {"null", ""},
        {"\"null\"", "null"},
        {"", ""},
        {"# only a comment", ""},
        {"|\n      literal", "literal"},
        {"|-\n      literal\n", "literal"},
        {">\n      folded\n      line\n", "folded line"},
        {">-  # comment\n\n      folded\n", "folded"},
        {"|2\n        two more", "two more"},
        {"|+\n      keep\n\n", "keep"},
        {"|\n", ""},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[500];
        (void)snprintf(body, sizeof body, "    token: %s\n    unused: 1\n", cases[i].yaml);
        if (cases[i].value == NULL) {
            /* A value of several lines is none for a header field. */
            read_bad(with_user(body), PEER_MALFORMED, "token must be one line of text");
            continue;
        }
        read_good(with_user(body));
        if (!view_is(config.token, cases[i].value)) {
            fail_msg("%s gave \"%.*s\"", cases[i].yaml, (int)config.token.len,
                     (const char *)config.token.data);
        }
    }
}

/* Base64 in lines, as some tools wrap it; all three values of one user resolved in place. */
static void test_wrapped_data(void **state)
{
    (void)state;
    read_good(with_user("    client-certificate-data: |\n"
                        "      QUJD\n"
                        "      REVG\n"
                        "    client-key-data: >-\n"
                        "         R0hJ\n"
                        "         SktM\n"
                        "    client-certificate: other.pem\n"
                        "    client-key: other.key\n"
                        "    token: \"\\u0074\"\n"));
    assert_view(config.cert_data, "QUJD\nREVG");
    assert_view(config.key_data, "R0hJ SktM");
    assert_view(config.token, "t");
    assert_view(config.cert_file, "");
    assert_view(config.key_file, "");
    assert_view(config.ca_file, "ca.pem");
}

/* --- syntax --- */

static void test_syntax(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        {"a:\n\tb: c\n", "line 2: a tab in the indentation; use spaces"},
        {"a:\n  - b\n \t- c\n", "line 3: a tab in the indentation"},
        {"a: 1\n  b: 2\n", "line 2: a value that looks like another \"key:\""},
        {"a:\n    b: 1\n  c: 2\n", "line 3: indentation that fits nothing above"},
        {"a: b: c\n", "line 1: a value that looks like another \"key:\""},
        {"a: - b\n", "line 1: a sequence begins on the line of its key"},
        {"a: &x b\n", "line 1: anchors and aliases are not supported"},
        {"a: *x\n", "line 1: anchors and aliases are not supported"},
        {"a: !!str b\n", "line 1: tags are not supported; leave the tag out"},
        {"a: {b: c}\n", "line 1: flow collections with content are not supported"},
        {"a: [1]\n", "line 1: flow collections with content are not supported"},
        {"a: %x\n", "line 1: a value that needs quotes"},
        {"a: @x\n", "line 1: a value that needs quotes"},
        {"a: \"b\nc: d\n", "line 1: a quote that is not closed"},
        {"a: 'b\n", "line 1: a quote that is not closed"},
        {"a: \"b\\", "line 1: a quote that is not closed"},
        {"a: \"b\" c\n", "line 1: unexpected text behind a value"},
        {"a: {} x\n", "line 1: unexpected text behind a value"},
        {"a: |x\n  b\n", "line 1: a block scalar that is neither"},
        {"a: |\n    b\n  c\n", "line 3: indentation less than that of the block scalar"},
        {"? a\n: b\n", "line 1: unexpected '?', ':' or '-'"},
        {"a: 1\n? b: c\n", "line 2: keys with anchors, tags or flow collections"},
        {"a: 1\nb\n", "line 2: expected \"key:\""},
        {"a: 1\n- b\n", "line 2: expected \"key:\""},
        {"a: 1\n&x b: 1\n", "line 2: keys with anchors, tags or flow collections"},
        {"a: 1\n---\nb: 1\n", "line 2: a second document; one file holds one kubeconfig"},
        {"a: 1\n...\nb: 1\n", "line 3: text behind the end of the document"},
        {"--- a: 1\n", "line 1: unexpected text behind a value"},
        {"%YAML 1.2\n---\na: 1\n", "line 1: a value that needs quotes"},
        {"a: 1\nb: \x01\n", "line 2: bytes that are no UTF-8 text"},
        {"a: \xff\n", "bytes that are no UTF-8 text"},
        {"a: b\rc: d\n", "bytes that are no UTF-8 text"},
        {"a:\n b:\n  c:\n   d:\n    e:\n     f:\n      g:\n       h:\n        i: 1\n",
         "line 9: nested too deeply for a kubeconfig"},
        {"a:\n- - - - - - - - b\n", "line 2: nested too deeply for a kubeconfig"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        read_bad(cases[i].yaml, PEER_MALFORMED, cases[i].value);
    }
}

/* Valid YAML that nobody asks for is passed over. */
static void test_passed_over(void **state)
{
    (void)state;
    static const char extra[] = "odd:\n"
                                "  - - a\n"
                                "    - b: c\n"
                                "      d:\n"
                                "      - e\n"
                                "    -\n"
                                "      f: g\n"
                                "    - \"q\": r\n"
                                "      'it''s' : t\n"
                                "  -\n"
                                "?odd: -x\n"
                                "more: plain text\n"
                                "  over # comment\n"
                                "# a comment at column 0\n"
                                "literal: |\n"
                                "  - not: a list\n"
                                "\n"
                                "    \"\n"
                                "    # no comment\n"
                                "unused-null:\n"
                                "users-of-old:\n"
                                "- a\n"
                                "- b\n"
                                "colour: \"#fff\"\n"
                                "url: http://a:1/?b=c&d#e\n";
    char text[9000];
    (void)snprintf(text, sizeof text, "%s%s", with_user("    token: t\n"), extra);
    read_good(text);
    assert_view(config.token, "t");
    (void)snprintf(text, sizeof text, "%s%s", extra, with_user("    token: t\n"));
    read_good(text);
    assert_view(config.token, "t");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_wrapped_data),
        cmocka_unit_test(test_syntax),
        cmocka_unit_test(test_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, free_block);
}
