/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: what RFC 8259 allows and refuses, tokens, escapes, skipping, and the writer. */
#include "unit.h"

#include "base/json.h"

/* Reads a whole text; the number of tokens goes to *count. */
static enum status read_all(struct view text, unsigned *count)
{
    struct json_reader r;
    struct json_token t = {.kind = JSON_NULL};
    json_open(&r, text);
    *count = 0;
    for (size_t i = 0; i <= text.len + 1; i++) {
        enum status s = json_next(&r, &t);
        if (s != STATUS_OK) {
            assert_int_equal(json_next(&r, &t), s); /* sticky */
            return s;
        }
        if (t.kind == JSON_END) {
            assert_int_equal(json_next(&r, &t), STATUS_OK);
            assert_int_equal(t.kind, JSON_END);
            return STATUS_OK;
        }
        (*count)++;
    }
    fail_msg("more tokens than bytes in: %s", text_of(text));
    return PEER_MALFORMED;
}

static void test_accepted(void **state)
{
    static const struct {
        const char *text;
        unsigned tokens;
    } rows[] = {
        {"null", 1},
        {"true", 1},
        {"false", 1},
        {"0", 1},
        {"-0", 1},
        {"-12", 1},
        {"1.5", 1},
        {"0.0e0", 1},
        {"1E+9", 1},
        {"1e-9", 1},
        {"10.25E5", 1},
        {"\"\"", 1},
        {"\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\uD83D\\ude00\"", 1},
        {"\"\\ud800\"", 1},
        {"\"\x7f\"", 1},
        {"\"\xc3\xa4\"", 1},
        {" \t\r\n1 \t\r\n", 1},
        {"[]", 2},
        {"{}", 2},
        {"[ ]", 2},
        {"{ }", 2},
        {"[1]", 3},
        {"[1,2]", 4},
        {"[[],{}]", 6},
        {"{\"a\":1}", 4},
        {"{\"a\":1,\"a\":2}", 6},
        {"{\"\":[]}", 5},
        {" { \"a\" : [ 1 , null ] } ", 7},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        unsigned count = 0;
        if (read_all(view_text(rows[i].text), &count) != STATUS_OK) {
            fail_msg("refused: %s", rows[i].text);
        }
        assert_int_equal(count, rows[i].tokens);
    }
}

/* clang-format off */
static void test_refused(void **state)
{
    static const char *const rows[] = {
        "", " ", "nul", "nulll", "truefalse", "True", "+1", "01", "-", "-01", "1.", ".5", "1.e1",
        "1e", "1e+", "1ee1", "0x10", "1 2", "1,", "NaN", "Infinity", "'a'", "\"", "\"a", "\"\\",
        "\"\\\"", "\"\\x41\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\u\"", "\"\t\"", "\"\n\"",
        "\"\x01\"", "\"\x80\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\xff", "[", "]", "[1", "[1,",
        "[1,]", "[,1]", "[1 2]", "[1;2]", "[1}", "{", "}", "{]", "{\"a\"", "{\"a\":", "{\"a\":1",
        "{\"a\":1,", "{\"a\":1,}", "{,}", "{\"a\" 1}", "{\"a\",1}", "{a:1}", "{1:1}", "{\"a\":}",
        "{\"a\":1 \"b\":2}", "{\"a\":1]", "{\"a\":{}", "[] []", "{}x", "[]]", "\"a\" \"b\"",
        "// c\n1", "\xef\xbb\xbf{}",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        unsigned count = 0;
        if (read_all(view_text(rows[i]), &count) != PEER_MALFORMED) {
            fail_msg("accepted: %s", rows[i]);
        }
    }
    unsigned count = 0;
    assert_int_equal(read_all(view_of("\"a\0b\"", 5), &count), PEER_MALFORMED);
    assert_int_equal(read_all(view_of("1\0", 2), &count), PEER_MALFORMED);
}
/* clang-format on */

static void test_depth(void **state)
{
    char text[2 * (JSON_DEPTH_MAX + 1)];
    unsigned count = 0;
    (void)state;
    for (unsigned n = 1; n <= JSON_DEPTH_MAX + 1; n++) {
        memset(text, '[', n);
        memset(text + n, ']', n);
        bool fits = n <= JSON_DEPTH_MAX;
        assert_int_equal(read_all(view_of(text, 2 * n), &count), fits ? STATUS_OK : FULL_BUFFER);
    }
}

static const char sample[] = "{\"apiVersion\":\"neuron.aws.com/v1\","
                             "\"list\":[1,-2.5e3,{\"x\":null}],"
                             "\"t\\u0065xt\":\"a\\\"b\",\"on\":true,\"off\":false}";

static void test_every_prefix_is_incomplete(void **state)
{
    unsigned count = 0;
    (void)state;
    for (size_t n = 0; n < sizeof sample - 1; n++) {
        assert_int_equal(read_all(view_of(sample, n), &count), PEER_MALFORMED);
    }
    assert_int_equal(read_all(view_text(sample), &count), STATUS_OK);
}

/* No byte, changed to any other, makes the reader lose its bounds; the sanitizers watch. */
static void test_every_changed_byte_ends(void **state)
{
    unsigned count = 0;
    unsigned accepted = 0;
    (void)state;
    for (size_t at = 0; at < sizeof sample - 1; at++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            char text[sizeof sample - 1];
            memcpy(text, sample, sizeof text);
            text[at] = (char)byte;
            accepted += read_all(view_of(text, sizeof text), &count) == STATUS_OK;
        }
    }
    assert_true(accepted > 256); /* letters inside strings may change */
}

static void test_tokens(void **state)
{
    static const struct {
        enum json_kind kind;
        const char *text;
        unsigned depth;
    } expected[] = {
        {JSON_OBJECT_BEGIN, "", 0},
        {JSON_NAME, "apiVersion", 1},
        {JSON_STRING, "neuron.aws.com/v1", 1},
        {JSON_NAME, "list", 1},
        {JSON_ARRAY_BEGIN, "", 1},
        {JSON_NUMBER, "1", 2},
        {JSON_NUMBER, "-2.5e3", 2},
        {JSON_OBJECT_BEGIN, "", 2},
        {JSON_NAME, "x", 3},
        {JSON_NULL, "null", 3},
        {JSON_OBJECT_END, "", 2},
        {JSON_ARRAY_END, "", 1},
        {JSON_NAME, "t\\u0065xt", 1},
        {JSON_STRING, "a\\\"b", 1},
        {JSON_NAME, "on", 1},
        {JSON_TRUE, "true", 1},
        {JSON_NAME, "off", 1},
        {JSON_FALSE, "false", 1},
        {JSON_OBJECT_END, "", 0},
        {JSON_END, "", 0},
    };
    struct json_reader r;
    struct json_token t;
    (void)state;
    json_open(&r, view_text(sample));
    for (size_t i = 0; i < COUNT(expected); i++) {
        assert_int_equal(json_next(&r, &t), STATUS_OK);
        assert_int_equal(t.kind, expected[i].kind);
        assert_view(t.text, expected[i].text);
        assert_int_equal(t.depth, expected[i].depth);
    }
}

static void test_skip(void **state)
{
    struct json_reader r;
    struct json_token t;
    (void)state;
    json_open(&r, view_text("{\"a\":{\"b\":[1,[2],{}]},\"c\":5,\"d\":[]}"));
    assert_int_equal(json_next(&r, &t), STATUS_OK);
    static const char *const names[] = {"a", "c", "d"};
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_int_equal(json_next(&r, &t), STATUS_OK);
        assert_int_equal(t.kind, JSON_NAME);
        assert_view(t.text, names[i]);
        assert_int_equal(json_next(&r, &t), STATUS_OK);
        assert_int_equal(json_skip(&r, &t), STATUS_OK);
    }
    assert_int_equal(json_next(&r, &t), STATUS_OK);
    assert_int_equal(t.kind, JSON_OBJECT_END);
}

static void test_skip_fails_with_its_text(void **state)
{
    struct json_reader r;
    struct json_token t;
    (void)state;
    json_open(&r, view_text("[[1,2"));
    assert_int_equal(json_next(&r, &t), STATUS_OK);
    assert_int_equal(json_skip(&r, &t), PEER_MALFORMED);
    json_open(&r, view_text("[[1}]"));
    assert_int_equal(json_next(&r, &t), STATUS_OK);
    assert_int_equal(json_skip(&r, &t), PEER_MALFORMED);
    assert_int_equal(json_next(&r, &t), PEER_MALFORMED);
}

/* --- strings and numbers --- */

static void test_unescape(void **state)
{
    static const struct {
        const char *raw;
        const char *text;
    } rows[] = {
        {"", ""},
        {"plain \xc3\xa4", "plain \xc3\xa4"},
        {"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t"},
        {"\\u0041\\u00e4\\u20AC", "A\xc3\xa4\xe2\x82\xac"},
        {"\\u07ff\\u0800\\uffff", "\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"},
        {"x\\ud83d\\ude00y", "x\xf0\x9f\x98\x80y"},
        {"\\udbff\\udfff", "\xf4\x8f\xbf\xbf"},
        {"\\u007f\\u0080", "\x7f\xc2\x80"},
        {"\\ud7ff\\ue000", "\xed\x9f\xbf\xee\x80\x80"},
        {"\\ud800\\udc00", "\xf0\x90\x80\x80"},
        {"\\udc00\\udc00", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\\ud83d\\ue000", "\xef\xbf\xbd\xee\x80\x80"},
        {"\\ud83d_____de00", "\xef\xbf\xbd_____de00"},
        {"\\ud83d\\nude00", "\xef\xbf\xbd\nude00"},
        {"\\ud83d_ude00", "\xef\xbf\xbd_ude00"},
        {"\\u0041\\ude00", "A\xef\xbf\xbd"},
        {"\\ud800", "\xef\xbf\xbd"},
        {"\\udc00", "\xef\xbf\xbd"},
        {"\\ud800x", "\xef\xbf\xbdx"},
        {"\\ud800\\u0041", "\xef\xbf\xbd"
                           "A"},
        {"\\ud800\\n", "\xef\xbf\xbd\n"},
        {"\\ud800\\ud83d\\ude00", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
        {"\\ude00\\ud83d", "\xef\xbf\xbd\xef\xbf\xbd"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[64];
        struct writer w = writer_of(text, sizeof text);
        assert_int_equal(json_unescape(view_text(rows[i].raw), &w), STATUS_OK);
        assert_view(writer_view(&w), rows[i].text);
        assert_true(json_text_is(view_text(rows[i].raw), rows[i].text));
    }
}

static void test_unescape_without_room(void **state)
{
    char text[6];
    (void)state;
    for (size_t cap = 0; cap < 5; cap++) {
        struct writer w = writer_of(text, cap + 1);
        writer_u8(&w, 'x');
        assert_int_equal(json_unescape(view_text("ab\\u20ac"), &w), FULL_BUFFER);
        assert_view(writer_view(&w), "x");
        assert_false(w.full);
    }
    struct writer w = writer_of(text, sizeof text);
    writer_u8(&w, 'x');
    assert_int_equal(json_unescape(view_text("ab\\u20ac"), &w), STATUS_OK);
    assert_int_equal(w.len, 6);
}

static void test_text_is(void **state)
{
    char longer[300];
    (void)state;
    assert_true(json_text_is(view_text("k\\u0069nd"), "kind"));
    assert_false(json_text_is(view_text("kind"), "Kind"));
    assert_false(json_text_is(view_text("kind\\u0000"), "kind"));
    assert_false(json_text_is(view_text("kin"), "kind"));
    assert_false(json_text_is(view_text("kindx"), "kind"));
    memset(longer, 'a', sizeof longer);
    assert_false(json_text_is(view_of(longer, sizeof longer), "a"));
}

static void test_integer(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } rows[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"2", true, 2},
        {"-7", true, -7},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"1.0", false, 0},
        {"1e3", false, 0},
        {"-", false, 0},
        {"", false, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t value = 77;
        enum status s = json_integer(view_text(rows[i].text), &value);
        assert_int_equal(s, rows[i].ok ? STATUS_OK : PEER_MALFORMED);
        assert_true(value == (rows[i].ok ? rows[i].value : 77));
    }
}

/* --- writer --- */

static void write_sample(struct json_writer *j)
{
    json_object_begin(j);
    json_name(j, "s");
    json_string(j, view_text("v"));
    json_name(j, "empty");
    json_object_begin(j);
    json_object_end(j);
    json_name(j, "list");
    json_array_begin(j);
    json_number(j, -1);
    json_bool(j, true);
    json_array_begin(j);
    json_array_end(j);
    json_object_begin(j);
    json_name(j, "k");
    json_bool(j, false);
    json_object_end(j);
    json_array_end(j);
    json_object_end(j);
}

static void test_writer_one_line(void **state)
{
    char text[256];
    struct writer w = writer_of(text, sizeof text);
    struct json_writer j = json_writer_of(&w, 0);
    (void)state;
    write_sample(&j);
    assert_view(writer_view(&w), "{\"s\":\"v\",\"empty\":{},\"list\":[-1,true,[],{\"k\":false}]}");
    assert_int_equal(j.depth, 0);
}

static void test_writer_indented(void **state)
{
    char text[256];
    struct writer w = writer_of(text, sizeof text);
    struct json_writer j = json_writer_of(&w, 2);
    (void)state;
    write_sample(&j);
    assert_view(writer_view(&w), "{\n"
                                 "  \"s\": \"v\",\n"
                                 "  \"empty\": {},\n"
                                 "  \"list\": [\n"
                                 "    -1,\n"
                                 "    true,\n"
                                 "    [],\n"
                                 "    {\n"
                                 "      \"k\": false\n"
                                 "    }\n"
                                 "  ]\n"
                                 "}");
}

static void test_writer_full(void **state)
{
    char text[64];
    (void)state;
    for (size_t cap = 0; cap < 50; cap++) {
        struct writer w = writer_of(text, cap);
        struct json_writer j = json_writer_of(&w, 0);
        write_sample(&j);
        assert_true(w.full);
        assert_true(w.len <= cap);
    }
}

static void test_writer_escapes(void **state)
{
    static const struct {
        const char *text;
        const char *json;
    } rows[] = {
        {"", "\"\""},
        {"a/b", "\"a/b\""},
        {" a b ", "\" a b \""},
        {"<>&=", "\"<>&=\""},
        {"\"\\\b\f\n\r\t", "\"\\\"\\\\\\b\\f\\n\\r\\t\""},
        {"\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""},
        {"\xc3\xa4\xe2\x82\xac", "\"\xc3\xa4\xe2\x82\xac\""},
        {"\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "\"\\u0080\\u009b\\u009f\xc2\xa0\""},
        {"\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa",
         "\"\xe2\x80\xa7\\u2028\\u2029\\u202a\""},
        {"\xff"
         "a\xc3",
         "\"\xef\xbf\xbd"
         "a\xef\xbf\xbd\""},
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[128];
        struct writer w = writer_of(text, sizeof text);
        struct json_writer j = json_writer_of(&w, 0);
        json_string(&j, view_text(rows[i].text));
        assert_view(writer_view(&w), rows[i].json);
    }
    char text[128];
    struct writer w = writer_of(text, sizeof text);
    struct json_writer j = json_writer_of(&w, 0);
    j.markup = true;
    json_string(&j, view_text("a<b>c&d=\"\x01"));
    assert_view(writer_view(&w), "\"a\\u003cb\\u003ec\\u0026d=\\\"\\u0001\"");
}

/* Whatever bytes go in, what comes out is one valid JSON string; UTF-8 comes back unchanged. */
static void test_writer_round_trip(void **state)
{
    uint32_t seed = 1;
    (void)state;
    for (unsigned round = 0; round < 20000; round++) {
        uint8_t in[12];
        char json[128];
        char back[64];
        size_t n = next_random(&seed) % (sizeof in + 1);
        for (size_t i = 0; i < n; i++) {
            in[i] = (uint8_t)(next_random(&seed) >> (round % 2));
        }
        struct writer w = writer_of(json, sizeof json);
        struct json_writer j = json_writer_of(&w, 0);
        json_string(&j, view_of(in, n));
        struct json_reader r;
        struct json_token t;
        json_open(&r, writer_view(&w));
        assert_int_equal(json_next(&r, &t), STATUS_OK);
        assert_int_equal(t.kind, JSON_STRING);
        struct writer out = writer_of(back, sizeof back);
        assert_int_equal(json_unescape(t.text, &out), STATUS_OK);
        if (view_is_utf8(view_of(in, n))) {
            assert_true(view_equal(writer_view(&out), view_of(in, n)));
        }
        assert_int_equal(json_next(&r, &t), STATUS_OK);
        assert_int_equal(t.kind, JSON_END);
    }
}

/* Texts in their places, each as a JSON string. */
static void test_fill(void **state)
{
    static const char *const values[] = {"plain", "say \"no\"\n", "%"};
    uint8_t bytes[128];
    struct writer w = writer_of(bytes, sizeof bytes);
    (void)state;
    json_fill(&w, "{\"a\":%,\"b\":[%,%]}", values);
    json_fill(&w, "{}", NULL);
    assert_view(writer_view(&w), "{\"a\":\"plain\",\"b\":[\"say \\\"no\\\"\\n\",\"%\"]}{}");
    w = writer_of(bytes, 8);
    json_fill(&w, "{\"a\":%}", values);
    assert_true(w.full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_every_prefix_is_incomplete),
        cmocka_unit_test(test_every_changed_byte_ends),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_skip),
        cmocka_unit_test(test_skip_fails_with_its_text),
        cmocka_unit_test(test_unescape),
        cmocka_unit_test(test_unescape_without_room),
        cmocka_unit_test(test_text_is),
        cmocka_unit_test(test_integer),
        cmocka_unit_test(test_writer_one_line),
        cmocka_unit_test(test_writer_indented),
        cmocka_unit_test(test_writer_full),
        cmocka_unit_test(test_writer_escapes),
        cmocka_unit_test(test_writer_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
