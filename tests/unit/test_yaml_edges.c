/* SPDX-License-Identifier: Apache-2.0 */
/* YAML at the edges of its lines: markers, scalars at the top, folded lines that are indented more,
 * texts that end inside something; names with escapes that YAML has not. */
#include "tests/unit/apiserver/kubeconfig_text.h"

#include "kubeconfig/yaml.h"

/*
 * The tokens of a text: brackets, "=text" of a scalar, ":text" of a name, '~' of null, '.' at
 * the end; '!' and the problem if the text is refused.
 */
static const char *tokens(const char *text)
{
    static char out[1024];
    uint8_t values[512];
    struct writer w = writer_of(out, sizeof out);
    struct yaml_reader r;
    struct yaml_token t = {.json = {.kind = JSON_NULL}};
    assert_true(strlen(text) <= sizeof values);
    yaml_open(&r, view_text(text), values);
    enum status s = STATUS_OK;
    while (s == STATUS_OK && t.json.kind != JSON_END) {
        static const char marks[] = {
            [JSON_OBJECT_BEGIN] = '{', [JSON_OBJECT_END] = '}', [JSON_ARRAY_BEGIN] = '[',
            [JSON_ARRAY_END] = ']',    [JSON_NAME] = ':',       [JSON_STRING] = '=',
            [JSON_NULL] = '~',         [JSON_END] = '.'};
        s = yaml_next(&r, &t);
        if (s == STATUS_OK) {
            assert_true((size_t)t.json.kind < sizeof marks);
            writer_u8(&w, (uint8_t)marks[t.json.kind]);
            writer_append(&w, (t.json.kind == JSON_NULL) ? view_of(NULL, 0) : t.json.text);
        }
    }
    if (s != STATUS_OK) {
        WRITE(&w, "!%", TEXT(r.problem));
    }
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    return out;
}

static void check(const struct text_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *got = tokens(cases[i].yaml);
        if (!view_starts(view_text(got), cases[i].value)) {
            fail_msg("%s\ngave %s, not %s", cases[i].yaml, got, cases[i].value);
        }
    }
}

static void test_scalars_at_the_top(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        {"plain\n", "=plain."},
        {"plain\nmore\n", "=plain more."},
        {"plain\n---\n", "=plain."},
        {"plain\n...\n", "=plain."},
        {"plain\n---x\n", "=plain ---x."}, /* no marker without a space */
        {"---\nplain\n", "=plain."},
        {"|1\n text\n", "=text\n."},
        {">2-\n  text", "=text."},
        {"  a: b\n", "{:a=b}."},
        {"%YAML 1.1\n\tx: 1\n", "!a directive without --- after it"},
        {"\"a\":b\n", "!"},
        {"[a]\nb: c\n", "[=a]!unexpected text after the document's value"},
    };
    check(cases, COUNT(cases));
}

static void test_markers_in_brackets(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        {"{a: b\n}\n", "{:a=b}."},
        {"{a: b\n---\n}\n", "{:a=b!this bracket is not closed"},
        {"{a: b\n...\n}\n", "{:a=b!this bracket is not closed"},
        {"[a\n...", "[=a!this bracket is not closed"},
        {"{a:", "{:a!this bracket is not closed"},
        {"[a,", "[=a!this bracket is not closed"},
        {"{a: ", "{:a!this bracket is not closed"},
        {"[-x, ?x]\n", "[=-x!unexpected '?', ':' or '-'"},
        {"[:x]\n", "[!unexpected '?', ':' or '-'"},
        {"[- ]\n", "[!unexpected '?', ':' or '-'"},
    };
    check(cases, COUNT(cases));
}

/* A document ends at a marker, even within quotes. */
static void test_markers_in_quotes(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        {"a: \"b\n---\nc\"\n", "{:a!this quote is not closed"},
        {"a: 'b\n...\nc'\n", "{:a!this quote is not closed"},
        {"a: \"b\n ---\nc\"\n", "{:a=b --- c}."},
        {"a: \"b\n---c\"\n", "{:a=b ---c}."},
        {"\"--- \"\n", "=--- ."},
    };
    check(cases, COUNT(cases));
}

static void test_null_in_all_spellings(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        {"[~, null, Null, NULL, nULL, '~']\n", "[~~~~=nULL=~]."},
        {"a:\nb: Null\n", "{:a~:b~}."},
    };
    check(cases, COUNT(cases));
}

static void test_block_scalars(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        /* lines that are indented more stay as they are, and so do the line ends around them */
        {"a: >\n  one\n  two\n    more\n  three\n  four\n", "{:a=one two\n  more\nthree four\n}."},
        {"a: |\n \n  \n  text\n", "{:a=\n\ntext\n}."},
        {"a: |\n    \n   \n  text\n",
         "{:a!less indentation than the block scalar's first line has"},
        {"a: |2\n    \n   \n  text\n", "{:a=  \n \ntext\n}."},
        {"a: |\n  text", "{:a=text\n}."},
        {"a: |", "{:a=}."},
        {"a: |\n    text\n  less\n", "{:a!less indentation than the block scalar's first line has"},
        {"- |\n  text\n-", "[=text\n~]."},
        {"a: |--\n  text\n", "{:a!a block scalar that is neither"},
        {"a: |+-\n  text\n", "{:a!a block scalar that is neither"},
        {"a: |12\n  text\n", "{:a!a block scalar that is neither"},
        {"a: |-1\n  text\n", "{:a= text}."},
    };
    check(cases, COUNT(cases));
}

/* No plain scalar has a colon before a space, not even at the start of a further line. */
static void test_colon_at_the_start_of_a_line(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        {"a: b\n  : c\n", "{:a!a value that looks like another"},
        {"a: b\n  :\n", "{:a!a value that looks like another"},
        {"a: b\n  :", "{:a!a value that looks like another"},
        {"a: b\n  :c\n", "{:a=b :c}."},
        {"{a: b\n  :c}\n", "{:a=b :c}."},
        {"a: b\n  # c\n", "{:a=b}."},
    };
    check(cases, COUNT(cases));
}

/*
 * Within brackets, a tab before a further line of a plain scalar separates, but is no part of the
 * indentation that a block around the brackets asks for.
 */
static void test_tab_before_a_further_line(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        {"{a: b\n\tc}\n", "{:a=b c}."},
        {"{a: true\n\t}\n", "{:a=true}."},
        {"{a: b\n\t'c}\n", "{:a=b 'c}."},
        {"a: {b\n \tc}\n", "{:a{:b c~}}."},
        {"a: {b\n\tc}\n", "{:a{!a tab in the indentation"},
        {"a: {b\n\t}\n", "{:a{!a tab in the indentation"},
        {"a: {b: [c\n\n\t]}\n", "{:a{:b[!a tab in the indentation"},
        {"- {b\n\t}\n", "[{!a tab in the indentation"},
        {"a:\n  b: [c\n  \t]\n", "{:a{:b[!a tab in the indentation"},
        {"a:\n  b: [c\n   \t]\n", "{:a{:b[=c]}}."},
        {"a: {b\n\t# c\n}\n", "{:a{:b~}}."}, /* a comment needs no indentation */
        {"a: {b\n\t\n}\n", "{:a{:b~}}."},
        {"a: b\n \tc\n", "{:a=b c}."},
        {"a: b\n \t# c\n", "{:a=b}."},
        {"a: b\n\tc\n", "{:a=b!a tab in the indentation"},
        {"a: b\n \tc: d\n", "{:a!a value that looks like another"},
    };
    check(cases, COUNT(cases));
}

/* A value or a name with an escape that YAML has not is none that counts. */
static void test_bad_escapes(void **state)
{
    (void)state;
    read_bad(with_user("    token: \"\\q\\t\"\n"), PEER_MALFORMED, "token");
    read_bad(with_user("    token: \"\\ud83d\\u00zz\"\n"), PEER_MALFORMED, "token");
    read_good(with_user("    \"token\\q\": a\n"));
    assert_view(config.token, "");
    read_good(with_user("    \"tok\\en\": a\n")); /* escape ESC: another name */
    assert_view(config.token, "");
    read_bad("current-context: c\n"
             "contexts:\n"
             "- name: \"c\\q\"\n"
             "  context: {cluster: k, user: u}\n",
             PEER_NOT_FOUND, "context \"c\" is not in the file");
}

/* What is skipped must be whole all the same. */
static void test_skipped_brackets(void **state)
{
    (void)state;
    read_good(with_user("    unused: {k: [*a,&b c], l: !t [x], m: &n{}}\n    token: t\n"));
    assert_view(config.token, "t");
    read_bad(with_user("    unused: {k: 'open\n"), PEER_MALFORMED, "this quote is not closed");
    read_bad(with_user("    unused: {k: [\n"), PEER_MALFORMED, "this bracket is not closed");
    read_bad(with_user("    unused: {k\n\t}\n"), PEER_MALFORMED, "a tab in the indentation");
    /* the quote behind the tab is text, and opens nothing */
    read_good(with_user("    unused: {k\n      \t'l}\n    token: t\n    other: m'n}\n"));
    assert_view(config.token, "t");
}

static void test_hosts(void **state)
{
    (void)state;
    static const struct text_case cases[] = {
        {"https://a-b_c.example:443", "a-b_c.example"},
        {"https://a+b.example", NULL},
        {"https://a%b", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct view host = {0};
        uint16_t port = 0;
        enum status s = kubeconfig_server(view_text(cases[i].yaml), &host, &port);
        assert_int_equal(s == STATUS_OK, cases[i].value != NULL);
        assert_view(host, (cases[i].value != NULL) ? cases[i].value : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars_at_the_top),
        cmocka_unit_test(test_markers_in_brackets),
        cmocka_unit_test(test_markers_in_quotes),
        cmocka_unit_test(test_null_in_all_spellings),
        cmocka_unit_test(test_block_scalars),
        cmocka_unit_test(test_colon_at_the_start_of_a_line),
        cmocka_unit_test(test_tab_before_a_further_line),
        cmocka_unit_test(test_bad_escapes),
        cmocka_unit_test(test_skipped_brackets),
        cmocka_unit_test(test_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, free_block);
}
