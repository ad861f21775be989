/* SPDX-License-Identifier: Apache-2.0 */
/* The field filter where a record is full, where a text has no whole character, and in messages
 * below a record. */
#include "tests/unit/apiserver/filter_harness.h"

/* record 7 { keep 1, cut 2 to three bytes, below 3 { keep 1 up to two bytes } } */
static const struct kube_rule edge_rows[] = {
    {KUBE_ROOT, KUBE_RECORD, 1, 7, 0, 0}, {0, KUBE_KEEP, 1, 0, 1, 0},
    {0, KUBE_KEEP_CUT, 2, 0, 2, 4},       {0, KUBE_DESCEND, 3, 0, 0, 0},
    {3, KUBE_KEEP, 1, 0, 3, 2},
};
static const struct kube_rules edges = {edge_rows, COUNT(edge_rows), KUBE_ROOT};

static void test_truncated_below_a_record(void **state)
{
    (void)state;
    check_hex(edges, UINT64_MAX,
              "0a05"
              "1a030a0161",
              "7:1a0161 = ok done 1 taken 7");
    /* the record itself says so, not the message inside it */
    check_hex(edges, UINT64_MAX,
              "0a0a"
              "1a050a03616263"
              "0a0162",
              "7!:0a0162 = ok done 1 taken 12");
}

static void test_text_without_a_whole_character(void **state)
{
    (void)state;
    /* nothing but bytes that go on a character: as many as fit */
    check_hex(edges, UINT64_MAX,
              "0a07"
              "12058080808080",
              "7!:120480808080 = ok done 1 taken 9");
    check_hex(edges, UINT64_MAX,
              "0a07"
              "12056180808080",
              "7!:120461808080 = ok done 1 taken 9");
    static const struct kube_rule two[] = {{KUBE_ROOT, KUBE_RECORD, 1, 7, 0, 0},
                                           {0, KUBE_KEEP_CUT, 2, 0, 2, 2}};
    const struct kube_rules small = {two, 2, KUBE_ROOT};
    check_hex(small, UINT64_MAX,
              "0a05"
              "1203808080",
              "7!:12028080 = ok done 1 taken 7");
}

/* A rule that cuts texts cuts no number. */
static void test_number_below_a_rule_that_cuts(void **state)
{
    (void)state;
    check_hex(edges, UINT64_MAX,
              "0a05"
              "1501020304",
              "7:1501020304 = ok done 1 taken 7");
    check_hex(edges, UINT64_MAX,
              "0a09"
              "110102030405060708",
              "7!: = ok done 1 taken 11");
}

/* No byte is left, not even for the tag of the text that would be cut. */
static void test_cut_text_in_a_full_record(void **state)
{
    static uint8_t big[KUBE_RECORD_BYTES_MAX];

    (void)state;
    for (unsigned spare = 0; spare < 5; spare++) {
        memset(big, 'z', sizeof big);
        (void)message_new(&mid);
        put_bytes(&mid, 1, big, KUBE_RECORD_BYTES_MAX - 3u - spare);
        put_text(&mid, 2, "abc");
        (void)message_new(&top);
        put_message(&top, 1, &mid);
        (void)run_whole(edges, UINT64_MAX, writer_view(&top.w));
        size_t kept = spare < 2u ? KUBE_RECORD_BYTES_MAX - spare : KUBE_RECORD_BYTES_MAX;
        assert_int_equal(strchr(run_a.text, ' ') - run_a.text, 3 + 2 * (long)kept);
        assert_memory_equal(run_a.text, "7!:", 3);
    }
}

/* A message type is a message: no field that is kept can be the top of a table. */
static void test_top_that_is_no_message(void **state)
{
    static const struct kube_rule field[] = {{KUBE_ROOT, KUBE_RECORD_FIELD, 1, 7, 1, 0},
                                             {KUBE_ROOT, KUBE_DESCEND, 2, 0, 0, 0}};

    (void)state;
    assert_true(kube_rules_valid((struct kube_rules){field, 2, KUBE_ROOT}));
    assert_true(kube_rules_valid((struct kube_rules){field, 2, 1}));
    assert_false(kube_rules_valid((struct kube_rules){field, 2, 0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truncated_below_a_record),
        cmocka_unit_test(test_text_without_a_whole_character),
        cmocka_unit_test(test_number_below_a_rule_that_cuts),
        cmocka_unit_test(test_cut_text_in_a_full_record),
        cmocka_unit_test(test_top_that_is_no_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
