/* SPDX-License-Identifier: Apache-2.0 */
/* The resumable field filter: what it keeps, what it cuts and what it leaves out. */
#include "tests/unit/apiserver/filter_harness.h"

/* --- what is kept --- */

static void test_kept_fields_get_new_numbers(void **state)
{
    (void)state;
    /* item { name "ab", number 300, unlisted 15: "zz" } */
    check_hex(rules, UINT64_MAX,
              "0a0b"
              "0a026162"
              "30ac02"
              "7a027a7a",
              "11:0a02616230ac02 = ok done 1 taken 13");
    /* fixed32 and fixed64 keep their wire type */
    check_hex(rules, UINT64_MAX,
              "0a05"
              "3501020304",
              "11:3501020304 = ok done 1 taken 7");
    check_hex(rules, UINT64_MAX,
              "0a09"
              "310102030405060708",
              "11:310102030405060708 = ok done 1 taken 11");
    /* repeated fields come as often as they came */
    check_hex(rules, UINT64_MAX,
              "0a06"
              "0a0161"
              "0a0162",
              "11:0a01610a0162 = ok done 1 taken 8");
    /* a varint longer than need be is written in its shortest form; ten bytes of a negative number
     * stay */
    check_hex(rules, UINT64_MAX,
              "0a04"
              "30818000",
              "11:3001 = ok done 1 taken 6");
    check_hex(rules, UINT64_MAX,
              "0a0b"
              "30ffffffffffffffffff01",
              "11:30ffffffffffffffffff01 = ok done 1 taken 13");
}

static void test_empty_messages_and_fields(void **state)
{
    (void)state;
    check_hex(rules, UINT64_MAX, "", "= ok done 1 taken 0");
    check_hex(rules, 0, "", "= ok done 1 taken 0");
    check_hex(rules, UINT64_MAX, "0a00", "11: = ok done 1 taken 2");
    check_hex(rules, UINT64_MAX,
              "0a02"
              "0a00",
              "11:0a00 = ok done 1 taken 4");
    check_hex(rules, UINT64_MAX,
              "0a02"
              "1200",
              "22: 11: = ok done 1 taken 4");
    check_hex(rules, UINT64_MAX, "4a020a00", "55: = ok done 1 taken 4");
}

static void test_nested_records_share_the_buffer(void **state)
{
    (void)state;
    /* item { name "ab", sub { key "k", inner { value "v" } }, sub { key "l" }, number 1 } : outer
     * bytes survive the inner ones */
    check_hex(rules, UINT64_MAX,
              "0a15"
              "0a026162"
              "1208"
              "0a016b"
              "1a03"
              "0a0176"
              "1203"
              "0a016c"
              "3001"
              "7800",
              "22:0a016b8a010176 22:0a016c 11:0a0261623001 = ok done 1 taken 25");
}

static void test_unlisted_fields_are_skipped(void **state)
{
    (void)state;
    /* every wire type, a field over 255 and one over 2^16, a message that nests deeper than any
     * rule */
    check_hex(rules, UINT64_MAX,
              "7801"
              "7d01020304"
              "790102030405060708"
              "8220"
              "0161"
              "82801001"
              "62"
              "a2060a0a080a060a04"
              "0a020a00",
              "= ok done 1 taken 38");
}

static void test_present(void **state)
{
    (void)state;
    check_hex(rules, UINT64_MAX,
              "0a05"
              "2a03616263",
              "11:2801 = ok done 1 taken 7");
    check_hex(rules, UINT64_MAX,
              "0a02"
              "2800",
              "11:2801 = ok done 1 taken 4");
    check_hex(rules, UINT64_MAX,
              "0a02"
              "2a00",
              "11:2801 = ok done 1 taken 4");
}

static void test_any_field(void **state)
{
    static const struct kube_rule any[] = {
        {KUBE_ROOT, KUBE_RECORD, 1, 7, 0, 0},
        {0, KUBE_PRESENT, KUBE_ANY_FIELD, 0, 2, 0},
        {0, KUBE_KEEP, 1, 0, 1, 0},
    };
    const struct kube_rules any_rules = {any, 3, KUBE_ROOT};

    (void)state;
    check_hex(any_rules, UINT64_MAX,
              "0a03"
              "0a0161",
              "7:0a0161 = ok done 1 taken 5");
    check_hex(any_rules, UINT64_MAX,
              "0a06"
              "0a0161"
              "1a0162",
              "7:0a01611001 = ok done 1 taken 8");
    /* field 2^29-1 */
    check_hex(any_rules, UINT64_MAX,
              "0a06"
              "f8ffffff0f00",
              "7:1001 = ok done 1 taken 8");
}

static void test_record_field(void **state)
{
    (void)state;
    check_hex(rules, UINT64_MAX,
              "12024142"
              "0a00",
              "33:0a024142 11: = ok done 1 taken 6");
    check_hex(rules, UINT64_MAX, "1007", "33:0807 = ok done 1 taken 2");
    check_hex(rules, UINT64_MAX, "12054142434445", "33!: = ok done 1 taken 7");
}

static void test_limits(void **state)
{
    (void)state;
    check_hex(rules, UINT64_MAX,
              "0a06"
              "3a0461626364",
              "11:3a0461626364 = ok done 1 taken 8");
    check_hex(rules, UINT64_MAX,
              "0a0a"
              "3a056162636465"
              "0a0161",
              "11!:0a0161 = ok done 1 taken 12");
    /* truncation is the record's own: neither the outer one nor the next says so */
    check_hex(rules, UINT64_MAX,
              "0a07"
              "3a056162636465"
              "0a03"
              "0a0161",
              "11!: 11:0a0161 = ok done 1 taken 14");
}

static void test_cut_at_a_character(void **state)
{
    (void)state;
    /* ten bytes fit as they are, eleven lose one */
    check_hex(rules, UINT64_MAX,
              "0a0c"
              "220a30313233343536373839",
              "11:220a30313233343536373839 = ok done 1 taken 14");
    check_hex(rules, UINT64_MAX,
              "0a0d"
              "220b3031323334353637383961",
              "11!:220a30313233343536373839 = ok done 1 taken 15");
    /* a two-byte character over the edge, a three-byte one, a four-byte one */
    check_hex(rules, UINT64_MAX,
              "0a0d"
              "220b303132333435363738c3a9",
              "11!:2209303132333435363738 = ok done 1 taken 15");
    check_hex(rules, UINT64_MAX,
              "0a0d"
              "220b3031323334353637e282ac",
              "11!:22083031323334353637 = ok done 1 taken 15");
    check_hex(rules, UINT64_MAX,
              "0a0d"
              "220b30313233343536f09f9880",
              "11!:220730313233343536 = ok done 1 taken 15");
    /* a character that ends at the edge stays */
    check_hex(rules, UINT64_MAX,
              "0a0e"
              "220c3031323334353637c3a96162",
              "11!:220a3031323334353637c3a9 = ok done 1 taken 16");
}

/* --- what does not fit --- */

static void test_record_overflow(void **state)
{
    static uint8_t filler[1000];

    (void)state;
    (void)message_new(&mid);
    memset(filler, 'x', sizeof filler);
    put_text(&mid, 1, "first");
    for (int i = 0; i < 20; i++) {
        put_bytes(&mid, 1, filler, sizeof filler);
    }
    put_text(&mid, 1, "last");
    (void)message_new(&top);
    put_message(&top, 1, &mid);
    put_text(&top, 2, "next");
    (void)run_whole(rules, UINT64_MAX, writer_view(&top.w));
    /* 15 fields of 1003 bytes and two small ones fit; what came after the full point and is small
     * still does */
    assert_memory_equal(run_a.text, "11!:0a056669727374", 18);
    assert_non_null(strstr(run_a.text, "0a046c617374 33:0a046e657874 = ok"));
    assert_int_equal(strchr(run_a.text, ' ') - run_a.text, 4 + 2 * (7 + 15 * 1003 + 6));
    check_splits(rules, UINT64_MAX, view_first(writer_view(&top.w), 3000));
}

static void test_kept_field_larger_than_the_buffer(void **state)
{
    static uint8_t big[KUBE_RECORD_BYTES_MAX + 5000];

    (void)state;
    memset(big, 'y', sizeof big);
    (void)message_new(&mid);
    put_bytes(&mid, 1, big, sizeof big);
    put_text(&mid, 1, "small");
    (void)message_new(&top);
    put_message(&top, 1, &mid);
    assert_string_equal(run_whole(rules, UINT64_MAX, writer_view(&top.w)),
                        "11!:0a05736d616c6c = ok done 1 taken 20375");
    /* exactly full */
    (void)message_new(&mid);
    put_bytes(&mid, 1, big, KUBE_RECORD_BYTES_MAX - 3);
    put_text(&mid, 5, "");
    put_varint(&mid, 6, 1);
    (void)message_new(&top);
    put_message(&top, 1, &mid);
    (void)run_whole(rules, UINT64_MAX, writer_view(&top.w));
    assert_int_equal(strchr(run_a.text, ' ') - run_a.text, 4 + 2 * KUBE_RECORD_BYTES_MAX);
    assert_memory_equal(run_a.text, "11!:", 4);
}

static void test_cut_text_in_the_last_bytes_of_the_buffer(void **state)
{
    static uint8_t big[KUBE_RECORD_BYTES_MAX];
    static const struct kube_rule cut[] = {
        {KUBE_ROOT, KUBE_RECORD, 1, 7, 0, 0},
        {0, KUBE_KEEP, 1, 0, 1, 0},
        {0, KUBE_KEEP_CUT, 2, 0, 2, 200},
    };
    const struct kube_rules cut_rules = {cut, 3, KUBE_ROOT};
    const size_t single[2] = {1, 1};

    (void)state;
    memset(big, 'z', sizeof big);
    (void)message_new(&mid);
    /* leaves 12 bytes: tag, a length of two bytes (200 were planned), 9 of text, of which the last
     * is half a character */
    put_bytes(&mid, 1, big, KUBE_RECORD_BYTES_MAX - 3 - 12);
    memcpy(big, "12345678\xc3\xa9", 10);
    put_bytes(&mid, 2, big, 300);
    (void)message_new(&top);
    put_message(&top, 1, &mid);
    (void)run_whole(cut_rules, UINT64_MAX, writer_view(&top.w));
    assert_non_null(strstr(run_a.text, "7a7a1288003132333435363738 = ok"));
    assert_memory_equal(run_a.text, "7!:", 3);
    run(&run_b, cut_rules, UINT64_MAX, writer_view(&top.w), single);
    assert_string_equal(run_a.text, run_b.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept_fields_get_new_numbers),
        cmocka_unit_test(test_empty_messages_and_fields),
        cmocka_unit_test(test_nested_records_share_the_buffer),
        cmocka_unit_test(test_unlisted_fields_are_skipped),
        cmocka_unit_test(test_present),
        cmocka_unit_test(test_any_field),
        cmocka_unit_test(test_record_field),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_cut_at_a_character),
        cmocka_unit_test(test_record_overflow),
        cmocka_unit_test(test_kept_field_larger_than_the_buffer),
        cmocka_unit_test(test_cut_text_in_the_last_bytes_of_the_buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
