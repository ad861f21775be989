/* SPDX-License-Identifier: Apache-2.0 */
/* Texts at the edge of their room, bytes that are no UTF-8, and the seed that randomness must not
 * keep. */
#include "unit.h"

#include "base/log.h"
#include "base/random.h"

static void test_safe_text_that_does_not_fit(void **state)
{
    (void)state;
    char bytes[WRITER_SAFE_ROOM + 2u];
    struct writer w = writer_of(bytes, sizeof bytes);
    WRITE(&w, "%", SAFE("abc"));
    assert_view(writer_view(&w), "abc");
    assert_false(w.full);
    w = writer_of(bytes, sizeof bytes);
    WRITE(&w, "%", SAFE("abcdefghijklmnopqrstuvwxyz"));
    assert_true(w.full);
    /* what was full before stays so, even if nothing is to be written */
    WRITE(&w, "%", SAFE(""));
    assert_true(w.full);
}

/* A text is cut between characters; bytes that are no character do not make the search endless. */
static void test_cut_in_continuation_bytes(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {'a',  0x80, 0x80, 0x80, 0x80, 0x80,
                                    0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
    char text[9];
    text_cut(text, sizeof text, view_of(bytes, sizeof bytes));
    assert_int_equal(strlen(text), 4); /* of the eight that fit, four bytes were given up */
    assert_memory_equal(text, bytes, 4);
    char small[3];
    text_cut(small, sizeof small, view_of(&bytes[1], 6));
    assert_string_equal(small, "");
}

static void test_text_without_room_for_its_end(void **state)
{
    (void)state;
    struct writer none = writer_of(NULL, 0);
    assert_int_equal(writer_end_text(&none), FULL_BUFFER);
    assert_true(none.full);
    char bytes[2] = {'x', 'x'};
    struct writer w = writer_of(bytes, sizeof bytes);
    writer_text(&w, "ab");
    assert_int_equal(writer_end_text(&w), FULL_BUFFER);
    assert_string_equal(bytes, "a");
}

static void test_unsafe_characters(void **state)
{
    (void)state;
    char bytes[64];
    struct writer w = writer_of(bytes, sizeof bytes);
    assert_int_equal(view_unsafe(view_of(NULL, 0)), 0);
    assert_int_equal(view_unsafe(view_text("\xe2\x80\xae")), 0x202e);
    /* lines: the newline alone of all control characters is kept */
    assert_int_equal(writer_safe(&w, view_text("a\nb\tc"), true), 5);
    assert_true(view_starts(writer_view(&w), "a\nb"));
    assert_int_equal(view_find(writer_view(&w), '\t'), w.len);
}

static void test_quoted_value(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"a\"b", "k=\"a\\\"b\""}, {"a\\b", "k=\"a\\\\b\""}, {"a=b", "k=\"a=b\""}, {"ab", "k=ab"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint8_t bytes[32];
        struct writer w = writer_of(bytes, sizeof bytes);
        log_word(&w, "k", view_text(rows[i][0]));
        assert_view(writer_view(&w), rows[i][1]);
    }
}

/* The generator would stay at 0 for ever. */
static void test_seed_zero(void **state)
{
    (void)state;
    struct randomness zero;
    struct randomness one;
    randomness_init(&zero, 0);
    randomness_init(&one, 1);
    uint64_t first = randomness_next(&zero);
    assert_true(first != 0 && first == randomness_next(&one));
    assert_true(randomness_next(&zero) != first);
}

/* A varint that breaks off asks for more; one that goes on after ten bytes is malformed. */
static void test_varint_that_does_not_end(void **state)
{
    (void)state;
    uint8_t bytes[12];
    memset(bytes, 0x80, sizeof bytes);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        struct reader r = reader_of(view_of(bytes, n));
        uint64_t value = 7;
        assert_int_equal(reader_varint(&r, &value), n < 10u ? STATUS_MORE : PEER_MALFORMED);
        assert_int_equal(r.pos, 0);
        assert_int_equal(value, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_safe_text_that_does_not_fit),
        cmocka_unit_test(test_cut_in_continuation_bytes),
        cmocka_unit_test(test_text_without_room_for_its_end),
        cmocka_unit_test(test_unsafe_characters),
        cmocka_unit_test(test_quoted_value),
        cmocka_unit_test(test_seed_zero),
        cmocka_unit_test(test_varint_that_does_not_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
