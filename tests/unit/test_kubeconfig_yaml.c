/* SPDX-License-Identifier: Apache-2.0 */
/* The YAML of kubeconfig files: scalars of every style, what is skipped, what is refused. */
#include "tests/unit/apiserver/kubeconfig_text.h"

#include "kubeconfig/yaml.h"

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
        {"users:\n  - name: a\n    user: b: c\n",
         "line 3: a value that looks like another \"key:\""},
        {"users:\n- user:\n    token: 1\n   exec: 2\n",
         "line 4: indentation that fits nothing above"},
        {"users: - b\n", "line 1: a sequence starts on the line of its key"},
        {"current-context: &x b\n", "line 1: anchors and aliases are not supported"},
        {"users: *x\n", "line 1: anchors and aliases are not supported; write the value out"},
        {"users: !!seq []\n", "line 1: tags are not supported; remove the tag"},
        {"users: {b: c]\n", "line 1: users must be a list"},
        {"users: [{name: c]\n", "line 1: expected ',' or the closing bracket"},
        {"users: [{name: c}\n\n", "line 1: this bracket is not closed"},
        {"users: [{name: [a, {b\n\n", "line 1: this bracket is not closed"},
        {"users: [{name: c}\n---\n]", "line 1: this bracket is not closed"},
        {"users: [{name: a, 'user' {}}]\n", "line 1: expected ':' after a key"},
        {"users: [{name: a,\n? user: {}}]\n", "line 2: unexpected '?', ':' or '-'"},
        {"users: [{&x name: a}]\n", "line 1: anchors and aliases are not supported"},
        {"users: [{<<: a}]\n", "line 1: merge keys (<<) are not supported; write the values out"},
        {"users:\n- <<: *base\n  name: a\n", "line 2: merge keys (<<) are not supported"},
        {"users: [, {}]\n", "line 1: a value that needs quotes"},
        {"current-context: %x\n", "line 1: a value that needs quotes"},
        {"current-context: @x\n", "line 1: a value that needs quotes"},
        {"a: \"b\nc: d\n", "line 1: this quote is not closed"},
        {"a: 'b\n", "line 1: this quote is not closed"},
        {"a: \"b\\", "line 1: this quote is not closed"},
        {"users: \"b\" c\n", "line 1: unexpected text after a value"},
        {"users: [] x\n", "line 1: unexpected text after a value"},
        {"a: |x\n  b\n", "line 1: a block scalar that is neither"},
        {"a: |\n    b\n  c\n", "line 3: less indentation than the block scalar's first line has"},
        {"? a\n: b\n", "line 1: unexpected '?', ':' or '-'"},
        {"a: 1\n? b: c\n", "line 2: unexpected '?', ':' or '-'"},
        {"a: 1\nb\n", "line 2: expected \"key:\""},
        {"a: 1\n- b\n", "line 2: expected \"key:\""},
        {"a: 1\n&x b: 1\n", "line 2: anchors and aliases are not supported"},
        {"a: 1\n[x]: 1\n", "line 2: a value that needs quotes"},
        {"a: 1\n---\nb: 1\n", "line 3: a second document; a file holds one kubeconfig"},
        {"a: 1\n...\nb: 1\n", "line 3: a second document; a file holds one kubeconfig"},
        {"--- a: 1\n", "line 1: unexpected text after a value"},
        {"%YAML 1.2\na: 1\n", "line 2: a directive without --- after it"},
        {"%TAG ! x\n---\na: 1\n", "line 1: a directive other than %YAML 1.x is not supported"},
        {"%YAML 2.0\n---\na: 1\n", "line 1: a directive other than %YAML 1.x is not supported"},
        {"a: 1\nb: \x01\n", "line 1: the file is not UTF-8 text, or holds a control character"},
        {"a: \xff\n", "the file is not UTF-8 text"},
        {"a: b\rc: d\n", "the file is not UTF-8 text"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        read_bad(cases[i].yaml, PEER_MALFORMED, cases[i].value);
    }
}

/* What nobody asks for is skipped: any depth, any style, anchors and tags too. */
static void test_skipped(void **state)
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
                                "url: http://a:1/?b=c&d#e\n"
                                "flow: {a: [b, {c: \"}]\"}, 'it''s', it's], ? d : e, f,}\n"
                                "over-lines: [ # comment ]\n"
                                "  a,\n"
                                "users: b\n"
                                "]\n"
                                "quoted: \"a\n"
                                "users: b\"\n"
                                "anchored: &x !!map\n"
                                "  ? complex\n"
                                "  : *x\n"
                                "  <<: *x\n"
                                "listed: !!seq\n"
                                "- &y \"a\n"
                                "  b\"\n"
                                "- - - - - - - - - - - - deep: [[[[[[[[[[{}]]]]]]]]]]\n"
                                "                         |-\n"
                                "                          : users\n"
                                "plain-lines:\n"
                                "  sub:\n"
                                "    one\n"
                                "    \"two\n"
                                "  sub2: three\n";
    char text[9000];
    (void)snprintf(text, sizeof text, "%s%s", with_user("    token: t\n"), extra);
    read_good(text);
    assert_view(config.token, "t");
    (void)snprintf(text, sizeof text, "%s%s", extra, with_user("    token: t\n"));
    read_good(text);
    assert_view(config.token, "t");
}

/* A kubeconfig may end with markers of documents, as long as no other one follows. */
static void test_documents(void **state)
{
    (void)state;
    static const char *const ends[] = {"---\n", "...\n", "---", "...\n---\n# nothing\n",
                                       "--- # x\n\n...\n"};
    char text[9000];
    for (unsigned i = 0; i < COUNT(ends); i++) {
        (void)snprintf(text, sizeof text, "%%YAML 1.1 # old\n--- # one\n%s%s",
                       with_user("    token: t\n"), ends[i]);
        read_good(text);
        assert_view(config.token, "t");
    }
}

/* The same mapping in blocks and brackets, nested either way. */
static void test_flow_values(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        {"    {token: a}\n", "a"},
        {"    {\"token\":\"a\"}\n", "a"},
        {"    {token: a:b-c?d , }\n", "a:b-c?d"},
        {"    { token\n      : 'a\n\n    b' }\n", NULL},
        {"    {exec, token: \"x\\ty\", as: null}\n", NULL},
        {"    {exec, token: \"x\\x79\", as: }\n", "xy"},
        {"    {token: x # comment\n    }\n", "x"},
        {"    {other: {token: [no]}, token: yes,\n}\n", "yes"},
        {"    {token: -1, \"n\": [null, ~, !!str x, &y z]}\n", "-1"},
        {"    { }\n", ""},
        {"    {\n    }\n", ""},
        {"    other: {\n  }\n    token: b\n", "b"},
    };
    for (unsigned i = 0; i < COUNT(cases); i++) {
        if (cases[i].value == NULL) {
            read_bad(with_user(cases[i].yaml), PEER_MALFORMED, "token must be one line of text");
            continue;
        }
        read_good(with_user(cases[i].yaml));
        assert_view(config.token, cases[i].value);
    }
}

/* The reader itself: tokens with their depth, and a bound for what is not skipped. */
static void test_tokens(void **state)
{
    (void)state;
    static const char text[] = "a:\n- b: [c, {d: }]\n";
    static const struct {
        enum json_kind kind;
        unsigned depth;
        const char *text;
    } want[] = {
        {JSON_OBJECT_BEGIN, 0, ""}, {JSON_NAME, 1, "a"},        {JSON_ARRAY_BEGIN, 1, ""},
        {JSON_OBJECT_BEGIN, 2, ""}, {JSON_NAME, 3, "b"},        {JSON_ARRAY_BEGIN, 3, ""},
        {JSON_STRING, 4, "c"},      {JSON_OBJECT_BEGIN, 4, ""}, {JSON_NAME, 5, "d"},
        {JSON_NULL, 5, ""},         {JSON_OBJECT_END, 4, ""},   {JSON_ARRAY_END, 3, ""},
        {JSON_OBJECT_END, 2, ""},   {JSON_ARRAY_END, 1, ""},    {JSON_OBJECT_END, 0, ""},
        {JSON_END, 0, ""},          {JSON_END, 0, ""},
    };
    uint8_t values[sizeof text];
    struct yaml_reader r;
    struct yaml_token t;
    yaml_open(&r, view_text(text), values);
    for (unsigned i = 0; i < COUNT(want); i++) {
        assert_int_equal(yaml_next(&r, &t), STATUS_OK);
        assert_int_equal(t.json.kind, want[i].kind);
        assert_int_equal(t.json.depth, want[i].depth);
        assert_view(t.json.text, want[i].text);
    }
    yaml_open(&r, view_text("\n[[[[[[[[[\n"), values);
    for (unsigned i = 0; i < YAML_DEPTH_MAX; i++) {
        assert_int_equal(yaml_next(&r, &t), STATUS_OK);
    }
    for (unsigned i = 0; i < 2; i++) { /* a failure is sticky */
        assert_int_equal(yaml_next(&r, &t), PEER_MALFORMED);
        assert_string_equal(r.problem, "nested too deeply for a kubeconfig");
        assert_int_equal(r.line, 2);
    }
    assert_int_equal(yaml_skip(&r, &t), PEER_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents),    cmocka_unit_test(test_flow_values),
        cmocka_unit_test(test_tokens),       cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_wrapped_data), cmocka_unit_test(test_syntax),
        cmocka_unit_test(test_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, free_block);
}
