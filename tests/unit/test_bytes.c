/* SPDX-License-Identifier: Apache-2.0 */
/* Views, readers, writers, texts, characters, UTF-8, CRC-32C and the names of status codes. */
#include "unit.h"

#include <ctype.h>

#include "base/chars.h"
#include "base/crc32c.h"
#include "base/status.h"

/* --- views --- */

static void test_views(void **state)
{
    (void)state;
    struct view v = view_text("neuron-device-3");
    assert_int_equal(v.len, 15);
    assert_true(view_is(v, "neuron-device-3"));
    assert_false(view_is(v, "neuron-device-"));
    assert_false(view_is(v, "neuron-device-4"));
    assert_false(view_is(v, "Neuron-device-3"));
    assert_false(view_is(v, "neuron-device-33"));
    assert_true(view_is(view_of(NULL, 0), ""));
    assert_true(view_equal(view_of(NULL, 0), view_text("")));
    assert_true(view_starts(v, "neuron-"));
    assert_true(view_starts(v, ""));
    assert_true(view_starts(v, "neuron-device-3"));
    assert_false(view_starts(v, "Neuron-"));
    assert_false(view_starts(view_text("neu"), "neuron"));
    assert_true(view_ends(v, "-3"));
    assert_true(view_ends(v, ""));
    assert_true(view_ends(v, "neuron-device-3"));
    assert_false(view_ends(v, "-4"));
    assert_false(view_ends(view_text("3"), "-3"));
    assert_view(view_from(v, 7), "device-3");
    assert_int_equal(view_from(v, 99).len, 0);
    assert_view(view_first(v, 6), "neuron");
    assert_view(view_first(v, 99), "neuron-device-3");
    assert_int_equal(view_find(v, '-'), 6);
    assert_int_equal(view_find(v, 'x'), v.len);
    assert_int_equal(view_find(view_of(NULL, 0), 'x'), 0);
    assert_true(view_has(v, (uint8_t)'-'));
    assert_false(view_has(v, 0));
    assert_false(view_has(view_of(NULL, 0), 0));
}

static void test_trim(void **state)
{
    (void)state;
    assert_view(view_trim(view_text(" \t\r\n2.26 .5\n\r ")), "2.26 .5");
    assert_view(view_trim(view_of("8\0\0", 3)), "8");
    assert_view(view_trim(view_of("\0 8", 3)), "8");
    assert_int_equal(view_trim(view_text(" \n ")).len, 0);
    assert_int_equal(view_trim(view_of(NULL, 0)).len, 0);
}

static void test_decimal(void **state)
{
    static const struct {
        const char *text;
        uint64_t max;
        bool ok;
        uint64_t value;
    } rows[] = {
        {"0", 0, true, 0},
        {"1", 0, false, 0},
        {"63", 63, true, 63},
        {"64", 63, false, 0},
        {"007", 7, true, 7},
        {"18446744073709551615", UINT64_MAX, true, UINT64_MAX},
        {"18446744073709551616", UINT64_MAX, false, 0},
        {"99999999999999999999", UINT64_MAX, false, 0},
        {"", 9, false, 0},
        {"-1", 9, false, 0},
        {"+1", 9, false, 0},
        {"1 ", 9, false, 0},
        {"0x1", 99, false, 0},
        {"9/", 99, false, 0},
        {"9:", 99, false, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t value = 77;
        enum status s = view_decimal(view_text(rows[i].text), rows[i].max, &value);
        assert_int_equal(s, rows[i].ok ? STATUS_OK : PEER_MALFORMED);
        assert_true(value == (rows[i].ok ? rows[i].value : 77));
    }
}

/* --- readers --- */

static void test_reader_numbers(void **state)
{
    static const uint8_t bytes[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09,
                                    0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12};
    struct reader r = reader_of(view_of(bytes, sizeof bytes));
    uint8_t a = 0;
    uint16_t b = 0;
    struct view three = {0};
    uint32_t d = 0;
    uint64_t e = 0;
    (void)state;
    assert_int_equal(reader_u8(&r, &a), STATUS_OK);
    assert_int_equal(reader_u16(&r, &b), STATUS_OK);
    assert_int_equal(reader_consume(&r, 3, &three), STATUS_OK);
    assert_int_equal(reader_u32(&r, &d), STATUS_OK);
    assert_int_equal(reader_u64(&r, &e), STATUS_OK);
    assert_int_equal(a, 0x01);
    assert_int_equal(b, 0x0203);
    assert_memory_equal(three.data, "\x04\x05\x06", 3);
    assert_int_equal(d, 0x0708090a);
    assert_true(e == UINT64_C(0x0b0c0d0e0f101112));
    assert_int_equal(reader_left(&r), 0);
}

static void test_reader_short(void **state)
{
    static const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    (void)state;
    for (size_t have = 0; have < 8; have++) {
        struct reader r = reader_of(view_of(bytes, have));
        uint8_t a = 9;
        uint16_t b = 9;
        uint32_t c = 9;
        uint64_t d = 9;
        struct view v = view_text("x");
        assert_int_equal(reader_u64(&r, &d), STATUS_MORE);
        assert_int_equal(reader_consume(&r, have + 1, &v), STATUS_MORE);
        assert_int_equal(reader_consume(&r, SIZE_MAX, &v), STATUS_MORE);
        if (have < 4) {
            assert_int_equal(reader_u32(&r, &c), STATUS_MORE);
        }
        if (have < 2) {
            assert_int_equal(reader_u16(&r, &b), STATUS_MORE);
        }
        if (have < 1) {
            assert_int_equal(reader_u8(&r, &a), STATUS_MORE);
        }
        assert_int_equal(r.pos, 0);
        assert_true(a == 9 && b == 9 && c == 9 && d == 9);
        assert_view(v, "x");
    }
}

static void test_reader_take(void **state)
{
    struct reader r = reader_of(view_text("abcdef"));
    struct view v;
    (void)state;
    assert_int_equal(reader_consume(&r, 2, &v), STATUS_OK);
    assert_view(v, "ab");
    assert_int_equal(reader_consume(&r, 0, &v), STATUS_OK);
    assert_int_equal(v.len, 0);
    assert_int_equal(reader_consume(&r, 4, &v), STATUS_OK);
    assert_view(v, "cdef");
    assert_int_equal(reader_consume(&r, 1, &v), STATUS_MORE);
}

static void test_varint_round_trip(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t values[] = {UINT64_C(1) << bit, (UINT64_C(1) << bit) - 1, ~(UINT64_C(1) << bit)};
        for (size_t i = 0; i < COUNT(values); i++) {
            uint8_t bytes[10];
            struct writer w = writer_of(bytes, sizeof bytes);
            uint64_t back = 0;
            writer_varint(&w, values[i]);
            assert_false(w.full);
            struct reader r = reader_of(writer_view(&w));
            assert_int_equal(reader_varint(&r, &back), STATUS_OK);
            assert_true(back == values[i]);
            assert_int_equal(reader_left(&r), 0);
            for (size_t cut = 0; cut < w.len; cut++) {
                r = reader_of(view_of(bytes, cut));
                assert_int_equal(reader_varint(&r, &back), STATUS_MORE);
                assert_int_equal(r.pos, 0);
            }
        }
    }
}

static void test_varint_malformed(void **state)
{
    static const uint8_t eleven[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                     0x80, 0x80, 0x80, 0x80, 0x00};
    static const uint8_t bit64[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    static const uint8_t padded[] = {0x81, 0x00};
    uint64_t value = 5;
    (void)state;
    struct reader r = reader_of(view_of(eleven, sizeof eleven));
    assert_int_equal(reader_varint(&r, &value), PEER_MALFORMED);
    r = reader_of(view_of(bit64, sizeof bit64));
    assert_int_equal(reader_varint(&r, &value), PEER_MALFORMED);
    assert_int_equal(r.pos, 0);
    assert_true(value == 5);
    r = reader_of(view_of(padded, sizeof padded));
    assert_int_equal(reader_varint(&r, &value), STATUS_OK);
    assert_true(value == 1);
}

/* --- writers --- */

static void test_writer_numbers(void **state)
{
    static const uint8_t expected[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09,
                                       0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12};
    uint8_t bytes[sizeof expected];
    struct writer w = writer_of(bytes, sizeof bytes);
    (void)state;
    writer_u8(&w, 0x01);
    writer_u16(&w, 0x0203);
    writer_u24(&w, 0x040506);
    writer_u32(&w, 0x0708090a);
    writer_u64(&w, UINT64_C(0x0b0c0d0e0f101112));
    assert_false(w.full);
    assert_int_equal(writer_room(&w), 0);
    assert_memory_equal(bytes, expected, sizeof expected);
}

static void test_writer_texts(void **state)
{
    char text[256];
    struct writer w = writer_of(text, sizeof text);
    (void)state;
    writer_decimal(&w, 0);
    writer_text(&w, " ");
    writer_decimal(&w, UINT64_MAX);
    writer_text(&w, " ");
    writer_signed(&w, INT64_MIN);
    writer_text(&w, " ");
    writer_signed(&w, INT64_MAX);
    writer_text(&w, " ");
    writer_signed(&w, -1);
    writer_text(&w, " ");
    writer_hex(&w, 0xbeef, 4);
    writer_text(&w, " ");
    writer_hex(&w, 0xbeef, 2);
    writer_text(&w, " ");
    writer_hex(&w, 0xf, 16);
    assert_view(writer_view(&w),
                "0 18446744073709551615 -9223372036854775808 9223372036854775807 -1 beef ef "
                "000000000000000f");
}

static void test_writer_full_is_sticky(void **state)
{
    uint8_t bytes[4] = {0xee, 0xee, 0xee, 0xee};
    struct writer w = writer_of(bytes, 3);
    (void)state;
    writer_u16(&w, 0x0102);
    writer_u16(&w, 0x0304); /* does not fit: nothing of it is written */
    assert_true(w.full);
    assert_int_equal(w.len, 2);
    assert_int_equal(writer_room(&w), 0);
    writer_u8(&w, 5); /* would fit, but something is missing before it */
    assert_int_equal(w.len, 2);
    assert_int_equal(bytes[2], 0xee);
    assert_int_equal(bytes[3], 0xee);
    w = writer_of(NULL, 0);
    writer_bytes(&w, NULL, 0);
    assert_false(w.full);
    writer_u8(&w, 1);
    assert_true(w.full);
}

static void test_shown(void **state)
{
    char text[64];
    struct writer w = writer_of(text, sizeof text);
    (void)state;
    writer_shown(&w, view_text("plain-text_1.0"), 20);
    assert_view(writer_view(&w), "plain-text_1.0");
    w = writer_of(text, sizeof text);
    writer_shown(&w, view_text("a\nb\"c\x7f\xc3\xa4~ "), 20);
    assert_view(writer_view(&w), "a?b?c???~ ");
    w = writer_of(text, sizeof text);
    writer_shown(&w, view_text("abcdef"), 5);
    assert_view(writer_view(&w), "abcde...");
    w = writer_of(text, sizeof text);
    writer_shown(&w, view_text("abcde"), 5);
    assert_view(writer_view(&w), "abcde");
}

static void test_forms(void **state)
{
    char text[64];
    struct writer w = writer_of(text, sizeof text);
    (void)state;
    WRITE(&w, "% of % is %%.", NUMBER(UINT64_MAX), TEXT("node"), VIEW(view_text("do")), TEXT(""));
    assert_view(writer_view(&w), "18446744073709551615 of node is do.");
    w = writer_of(text, sizeof text);
    WRITE(&w, "\"%\" %", SHOWN(view_text("a\"b%")), SHOWN_LONG(view_text("abcdef"), 5));
    assert_view(writer_view(&w), "\"a?b%\" abcde...");
    WRITE_TEXT(text, 5, "%%", TEXT("abc"), NUMBER(7));
    assert_string_equal(text, "abc7");
    w = writer_of(text, sizeof text);
    writer_text(&w, "abc");
    writer_close_text(&w);
    assert_string_equal(text, "abc");
}

/* What does not fit goes, the rest stays: an error keeps the start of its reason. */
static void test_cut(void **state)
{
    char text[12];
    struct writer w = writer_of(text, sizeof text);
    (void)state;
    writer_text(&w, "why: ");
    writer_cut(&w, view_text("a\nb"));
    assert_view(writer_view(&w), "why: a b");
    w.len = 5;
    writer_cut(&w, view_text("abcdefg"));
    assert_view(writer_view(&w), "why: abcdefg");
    w.len = 5;
    writer_cut(&w, view_text("abcdefgh"));
    assert_view(writer_view(&w), "why: abcd...");
    w.len = 5;
    writer_cut(&w, view_text("abc\xc3\xa4"
                             "efgh"));
    assert_view(writer_view(&w), "why: abc...");
    w.len = 10;
    writer_cut(&w, view_text("abc"));
    assert_int_equal(w.len, 10);
    writer_cut(&w, view_text("ab"));
    assert_int_equal(w.len, 12);
    assert_false(w.full);
    writer_u8(&w, 1);
    writer_cut(&w, view_text("a"));
    assert_int_equal(w.len, 12);
}

/* --- texts --- */

static void test_text_copy(void **state)
{
    char text[4] = "old";
    (void)state;
    assert_int_equal(text_copy(text, sizeof text, view_text("abcd")), FULL_BUFFER);
    assert_string_equal(text, "old");
    assert_int_equal(text_copy(text, sizeof text, view_of("a\0b", 3)), PEER_MALFORMED);
    assert_string_equal(text, "old");
    assert_int_equal(text_copy(text, sizeof text, view_text("abc")), STATUS_OK);
    assert_string_equal(text, "abc");
    assert_int_equal(text_copy(text, sizeof text, view_of(NULL, 0)), STATUS_OK);
    assert_string_equal(text, "");
}

static void test_text_set(void **state)
{
    (void)state;
    char text[4] = "xyz";
    text_set(text, sizeof text, "abc");
    assert_string_equal(text, "abc");
    text_set(text, sizeof text, "");
    assert_string_equal(text, "");
}

/* Every byte, against the C locale of the C library. */
static void test_characters(void **state)
{
    (void)state;
    for (int c = 0; c <= 0xff; c++) {
        uint8_t byte = (uint8_t)c;
        assert_int_equal(is_digit(byte), isdigit(c) != 0);
        assert_int_equal(is_lower(byte), islower(c) != 0);
        assert_int_equal(is_upper(byte), isupper(c) != 0);
        assert_int_equal(is_letter(byte), isalpha(c) != 0);
        assert_int_equal(is_alphanumeric(byte), isalnum(c) != 0);
        assert_int_equal(is_hex_digit(byte), isxdigit(c) != 0);
        assert_int_equal(to_lower(byte), tolower(c));
        if (is_hex_digit(byte)) {
            char digit[] = {(char)c, 0};
            assert_int_equal(hex_value(byte), strtol(digit, NULL, 16));
        }
    }
}

static void test_text_cut(void **state)
{
    char text[5];
    (void)state;
    text_cut(text, sizeof text, view_text("abc"));
    assert_string_equal(text, "abc");
    text_cut(text, sizeof text, view_text("abcdef"));
    assert_string_equal(text, "abcd");
    text_cut(text, sizeof text, view_of("a\0b", 3));
    assert_string_equal(text, "a");
    text_cut(text, sizeof text, view_text("abc\xc3\xa4")); /* two bytes from the third on */
    assert_string_equal(text, "abc");
    text_cut(text, sizeof text, view_text("ab\xc3\xa4x"));
    assert_string_equal(text, "ab\xc3\xa4");
    text_cut(text, sizeof text, view_text("a\xf0\x9f\x98\x80"));
    assert_string_equal(text, "a");
    text_cut(text, 1, view_text("abc"));
    assert_string_equal(text, "");
}

static void test_end_text(void **state)
{
    char text[4];
    struct writer w = writer_of(text, sizeof text);
    (void)state;
    writer_text(&w, "abc");
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    assert_string_equal(text, "abc");
    writer_text(&w, "d");
    assert_int_equal(writer_end_text(&w), FULL_BUFFER); /* no room for the NUL */
    assert_true(w.full);
    assert_string_equal(text, "abc");
    w = writer_of(text, sizeof text);
    writer_text(&w, "ab");
    writer_text(&w, "too long");
    assert_int_equal(writer_end_text(&w), FULL_BUFFER);
    assert_string_equal(text, "ab");
}

/* --- UTF-8 --- */

static void test_utf8(void **state)
{
    static const char *const valid[] = {
        "",
        "abc",
        "\xc2\x80",
        "\xdf\xbf",
        "\xe0\xa0\x80",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xef\xbf\xbf",
        "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf",
        "a\xc3\xa4z",
    };
    static const char *const invalid[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc2",
        "\xc2\x41",
        "\xe0\x80\x80",
        "\xe0\x9f\xbf",
        "\xe1\x80",
        "\xe1\x80\x41",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf1\x80\x80",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "a\xfe",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(valid); i++) {
        assert_true(view_is_utf8(view_text(valid[i])));
    }
    for (size_t i = 0; i < COUNT(invalid); i++) {
        assert_false(view_is_utf8(view_text(invalid[i])));
    }
}

/* Code point of 4 bytes at most, encoded by arithmetic; 0 bytes: it has no encoding. */
static size_t encode(uint32_t c, uint8_t out[4])
{
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
        return 0;
    }
    size_t n = (c < 0x80) ? 1 : (c < 0x800) ? 2 : (c < 0x10000) ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--) {
        out[i] = (uint8_t)(0x80 | (c & 0x3f));
        c >>= 6;
    }
    static const uint8_t marks[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
    out[0] = (uint8_t)(marks[n] | c);
    return n;
}

static void test_utf8_every_code_point(void **state)
{
    uint8_t bytes[4];
    (void)state;
    for (uint32_t c = 0; c <= 0x10ffff; c += (c < 0x3000) ? 1 : 251) {
        size_t n = encode(c, bytes);
        if (n == 0) {
            continue;
        }
        assert_true(view_is_utf8(view_of(bytes, n)));
        if (n > 1) {
            assert_false(view_is_utf8(view_of(bytes, n - 1)));
        }
    }
}

/* --- CRC-32C --- */

static void test_crc32c_vectors(void **state)
{
    uint8_t bytes[32];
    (void)state;
    assert_int_equal(crc32c(0, view_text("123456789")), 0xe3069283);
    assert_int_equal(crc32c(0, view_of(NULL, 0)), 0);
    memset(bytes, 0, sizeof bytes); /* RFC 3720 §B.4 from here on */
    assert_int_equal(crc32c(0, view_of(bytes, 32)), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(crc32c(0, view_of(bytes, 32)), 0x62a8ab43);
    for (unsigned i = 0; i < 32; i++) {
        bytes[i] = (uint8_t)i;
    }
    assert_int_equal(crc32c(0, view_of(bytes, 32)), 0x46dd794e);
    for (unsigned i = 0; i < 32; i++) {
        bytes[i] = (uint8_t)(31 - i);
    }
    assert_int_equal(crc32c(0, view_of(bytes, 32)), 0x113fdb5c);
}

static void test_crc32c_continues(void **state)
{
    struct view all = view_text("a claim record of some length");
    (void)state;
    for (size_t cut = 0; cut <= all.len; cut++) {
        uint32_t first = crc32c(0, view_first(all, cut));
        assert_int_equal(crc32c(first, view_from(all, cut)), crc32c(0, all));
    }
}

/* --- verdicts --- */

static void test_status_names(void **state)
{
    (void)state;
    for (int i = 0; i < STATUS_COUNT; i++) {
        assert_one_line(status_name((enum status)i));
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(status_name((enum status)i), status_name((enum status)k));
        }
    }
    assert_string_equal(status_name(STATUS_OK), "ok");
    assert_string_equal(status_name(HOST_DAMAGED), "host-damaged");
}

/* --- text for a terminal --- */

static void test_safe_text(void **state)
{
    static const struct {
        const char *in;
        const char *out;
    } rows[] = {
        {"plain \"text\" \\ ~", "plain \"text\" \\ ~"},
        {"\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"},
        {"\x1b]0;title\x07", "\\x1b]0;title\\x07"},
        {"a\tb\rc\x7f", "a\\x09b\\x0dc\\x7f"},
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xc2\x9b"
         "31m",
         "\\xc2\\x9b"
         "31m"}, /* C1: CSI */
        {"\xc2\xa0", "\xc2\xa0"},
        {"\xe2\x80\xae", "\\xe2\\x80\\xae"}, /* right-to-left override */
        {"\xe2\x81\xa6", "\\xe2\\x81\\xa6"}, /* left-to-right isolate */
        {"\xd8\x9c\xef\xbb\xbf\xe2\x80\x8b", "\\xd8\\x9c\\xef\\xbb\\xbf\\xe2\\x80\\x8b"},
        {"\x9b\xff\xc3", "\\x9b\\xff\\xc3"}, /* not UTF-8 */
        {"a\nb", "a\\x0ab"},
    };
    char bytes[64];
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        WRITE_TEXT(bytes, sizeof bytes, "%", SAFE(rows[i].in));
        assert_string_equal(bytes, rows[i].out);
    }
    struct writer w = writer_of(bytes, 20);
    struct view long_text = view_text("one\ntwo, three and four");
    assert_int_equal(writer_safe(&w, long_text, true), 5);
    assert_true(view_is(writer_view(&w), "one\nt"));
    assert_int_equal(view_unsafe(view_of(NULL, 0)), 0); /* reads nothing of nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_safe_text),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_trim),
        cmocka_unit_test(test_decimal),
        cmocka_unit_test(test_reader_numbers),
        cmocka_unit_test(test_reader_short),
        cmocka_unit_test(test_reader_take),
        cmocka_unit_test(test_varint_round_trip),
        cmocka_unit_test(test_varint_malformed),
        cmocka_unit_test(test_writer_numbers),
        cmocka_unit_test(test_writer_texts),
        cmocka_unit_test(test_writer_full_is_sticky),
        cmocka_unit_test(test_shown),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_text_copy),
        cmocka_unit_test(test_text_set),
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_text_cut),
        cmocka_unit_test(test_end_text),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_utf8_every_code_point),
        cmocka_unit_test(test_crc32c_vectors),
        cmocka_unit_test(test_crc32c_continues),
        cmocka_unit_test(test_status_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
