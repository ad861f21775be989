/* SPDX-License-Identifier: Apache-2.0 */
/* The resumable field filter: what it refuses, how inputs end, tables, and noise. */
#include "tests/unit/apiserver/filter_harness.h"

static struct message low;

/* --- what is refused --- */

static void test_malformed(void **state)
{
    static const char *const inputs[] = {
        "7b", /* group begins */
        "7c", /* group ends */
        "0b",
        "0c",     /* the same under a rule */
        "0a017b", /* inside a message */
        "7e",
        "7f",                         /* wire types 6 and 7 */
        "0200",                       /* field number 0 */
        "00",                         /* likewise */
        "808080808000",               /* field number 0 in six bytes */
        "f8ffffff1f00",               /* tag over 32 bits */
        "78ffffffffffffffffff02",     /* 65 bits */
        "78ffffffffffffffffff80",     /* eleven bytes */
        "78808080808080808080800100", /* likewise */
        "7affffffff0f",               /* length of 4 GiB */
        "7a8080808008",               /* length of 2 GiB */
        "0a8080808008",               /* likewise, a record */
        "7affffffffffffffffff01",     /* length of 2^64-1 */
        "0affffffffffffffffff01",     /* likewise, a record */
        "0a020a01",                   /* field longer than its record */
        "0a031202"
        "0a", /* message longer than its parent by one */
        "0a0130"
        "01", /* message ends before its value */
        "0a02"
        "3080"
        "01", /* message ends inside a varint */
        "0a0131"
        "0102030405060708", /* message ends before a fixed value */
        "0a0435010203"
        "04", /* message ends inside a fixed value */
        "0a0180"
        "01",         /* message ends inside a tag */
        "0801",       /* a record that is a varint */
        "0d01020304", /* a record that is fixed */
        "4801",       /* a message to enter that is a varint */
    };

    (void)state;
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        check_hex(rules, UINT64_MAX, inputs[i], "= peer-malformed");
    }
}

static void test_failure_is_final(void **state)
{
    struct reader in = reader_of(view_of("\x0a\x00", 2));
    struct kube_record record;

    (void)state;
    (void)run_whole(rules, UINT64_MAX, view_of("\x7b", 1));
    assert_int_equal(kube_filter_next(&filter, &in, &record), PEER_MALFORMED);
    assert_int_equal(in.pos, 0);
    assert_int_equal(kube_filter_end(&filter), PEER_MALFORMED);
    assert_false(kube_filter_done(&filter));
}

static void test_input_that_ends_too_early(void **state)
{
    static const char *const inputs[] = {"0a",
                                         "0a01",
                                         "80",
                                         "0a020a",
                                         "7803"
                                         "7a",
                                         "7a05"
                                         "61",
                                         "78",
                                         "7880",
                                         "7d0102"};

    (void)state;
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        check_hex(rules, UINT64_MAX, inputs[i], "= peer-malformed");
    }
    /* of known length: the message is not over, though a field is */
    check_hex(rules, 4, "7801", "= peer-malformed");
}

static void test_known_length(void **state)
{
    (void)state;
    /* the byte after the message is left for the owner */
    check_hex(rules, 2, "7801", "= ok done 1 taken 2");
    assert_string_equal(run_whole(rules, 2, view_of("\x78\x01\xff", 3)), "= ok done 1 taken 2");
    assert_string_equal(run_whole(rules, 3, view_of("\x0a\x01", 2)), "= peer-malformed");
    check_hex(rules, 4, "0a020a00", "11:0a00 = ok done 1 taken 4");
    check_hex(rules, 4, "0a030a00", "= peer-malformed");
    assert_string_equal(run_whole(rules, 3, view_of("\x78\x01\x78\x01", 4)), "= peer-malformed");
}

static void test_envelope(void **state)
{
    (void)state;
    check_hex(rules, UINT64_MAX,
              "1a09"
              "6b387300"
              "0a03"
              "0a0161",
              "44:0a0161 = ok done 1 taken 11");
    check_hex(rules, UINT64_MAX,
              "1a04"
              "6b387300"
              "0a00",
              "11: = ok done 1 taken 8");
    check_hex(rules, UINT64_MAX, "1a00", "= peer-malformed");
    check_hex(rules, UINT64_MAX,
              "1a03"
              "6b3873"
              "00",
              "= peer-malformed");
    check_hex(rules, UINT64_MAX,
              "1a04"
              "6b387301",
              "= peer-malformed");
    check_hex(rules, UINT64_MAX,
              "1a04"
              "7b387300",
              "= peer-malformed");
    check_hex(rules, UINT64_MAX, "1801", "= peer-malformed");
    /* as the whole input */
    check_hex(envelope_rules, UINT64_MAX,
              "6b387300"
              "0a03"
              "0a0161",
              "44:0a0161 = ok done 1 taken 9");
    check_hex(envelope_rules, 9,
              "6b387300"
              "0a03"
              "0a0161",
              "44:0a0161 = ok done 1 taken 9");
    check_hex(envelope_rules, UINT64_MAX, "6b387300", "= ok done 1 taken 4");
    check_hex(envelope_rules, UINT64_MAX, "", "= peer-malformed");
    check_hex(envelope_rules, UINT64_MAX, "6b3873", "= peer-malformed");
    check_hex(envelope_rules, UINT64_MAX, "7b226b696e64223a", "= peer-malformed");
    check_hex(envelope_rules, 0, "", "= peer-malformed");
}

/* --- tables --- */

static void test_tables_that_are_no_tree(void **state)
{
    static const struct kube_rule later[] = {{1, KUBE_DESCEND, 1, 0, 0, 0},
                                             {KUBE_ROOT, KUBE_DESCEND, 1, 0, 0, 0}};
    static const struct kube_rule self[] = {{0, KUBE_RECORD, 1, 0, 0, 0}};
    static const struct kube_rule leaf[] = {{KUBE_ROOT, KUBE_RECORD, 1, 1, 0, 0},
                                            {0, KUBE_KEEP, 1, 0, 1, 0},
                                            {1, KUBE_KEEP, 1, 0, 1, 0}};
    static const struct kube_rule bare[] = {{KUBE_ROOT, KUBE_KEEP, 1, 0, 1, 0}};
    static const struct kube_rule nameless[] = {{KUBE_ROOT, KUBE_RECORD, 1, 1, 0, 0},
                                                {0, KUBE_KEEP, 1, 0, 0, 0}};
    static const struct kube_rule any[] = {{KUBE_ROOT, KUBE_RECORD, KUBE_ANY_FIELD, 1, 0, 0}};
    static struct kube_rule deep[KUBE_DEPTH_MAX + 1];

    (void)state;
    assert_true(kube_rules_valid(rules));
    assert_true(kube_rules_valid(envelope_rules));
    assert_true(kube_rules_valid((struct kube_rules){NULL, 0, KUBE_ROOT}));
    assert_false(kube_rules_valid((struct kube_rules){rows, ROWS, ROWS}));
    assert_false(kube_rules_valid((struct kube_rules){rows, ROWS, ITEM_NAME}));
    assert_false(kube_rules_valid((struct kube_rules){rows, ROWS, ITEM}));
    assert_false(kube_rules_valid((struct kube_rules){later, 2, KUBE_ROOT}));
    assert_false(kube_rules_valid((struct kube_rules){self, 1, KUBE_ROOT}));
    assert_false(kube_rules_valid((struct kube_rules){leaf, 3, KUBE_ROOT}));
    assert_true(kube_rules_valid((struct kube_rules){leaf, 2, KUBE_ROOT}));
    assert_false(kube_rules_valid((struct kube_rules){bare, 1, KUBE_ROOT}));
    assert_false(kube_rules_valid((struct kube_rules){nameless, 2, KUBE_ROOT}));
    assert_false(kube_rules_valid((struct kube_rules){any, 1, KUBE_ROOT}));
    for (uint8_t i = 0; i <= KUBE_DEPTH_MAX; i++) {
        deep[i] =
            (struct kube_rule){i == 0 ? KUBE_ROOT : (uint8_t)(i - 1), KUBE_DESCEND, 1, 0, 0, 0};
    }
    assert_false(kube_rules_valid((struct kube_rules){deep, KUBE_DEPTH_MAX, KUBE_ROOT}));
    assert_true(kube_rules_valid((struct kube_rules){deep, KUBE_DEPTH_MAX - 1, KUBE_ROOT}));
}

static void test_deepest_table(void **state)
{
    static struct kube_rule deep[KUBE_DEPTH_MAX - 1];
    uint8_t bytes[2 * KUBE_DEPTH_MAX + 2];

    (void)state;
    for (uint8_t i = 0; i < KUBE_DEPTH_MAX - 1; i++) {
        deep[i] =
            (struct kube_rule){i == 0 ? KUBE_ROOT : (uint8_t)(i - 1), KUBE_RECORD, 1, i, 0, 0};
    }
    /* two levels more than the table follows */
    for (unsigned i = 0; i < KUBE_DEPTH_MAX + 1; i++) {
        bytes[2 * i] = 0x0a;
        bytes[2 * i + 1] = (uint8_t)(2 * (KUBE_DEPTH_MAX - i));
    }
    check_splits((struct kube_rules){deep, KUBE_DEPTH_MAX - 1, KUBE_ROOT}, UINT64_MAX,
                 view_of(bytes, sizeof bytes));
    assert_string_equal(run_a.text,
                        "14: 13: 12: 11: 10: 9: 8: 7: 6: 5: 4: 3: 2: 1: 0: = ok done 1 taken 34");
}

static void test_switch(void **state)
{
    static struct kube_rule other[ROWS];
    struct kube_rules other_rules = {other, ROWS, KUBE_ROOT};
    struct reader in = reader_of(view_of("\x12\x01\x41\x0a\x05\x0a\x01\x61\x30\x05", 10));
    struct kube_record record;

    (void)state;
    memcpy(other, rows, sizeof rows);
    other[ITEM_NAME].field = 6;
    other[ITEM_NUMBER].field = 1;
    kube_filter_init(&filter, rules, UINT64_MAX);
    assert_int_equal(kube_filter_next(&filter, &in, &record), STATUS_OK);
    assert_int_equal(record.record, 33);
    kube_filter_switch(&filter, other_rules);
    /* the record stays readable over the switch */
    assert_true(view_equal(record.message, view_of("\x0a\x01\x41", 3)));
    assert_int_equal(kube_filter_next(&filter, &in, &record), STATUS_OK);
    assert_int_equal(record.record, 11);
    assert_true(view_equal(record.message, view_of("\x32\x01\x61\x08\x05", 5)));
}

/* --- many splits, much noise --- */

static void test_every_split_of_a_long_message(void **state)
{
    char name[32];

    (void)state;
    (void)message_new(&top);
    for (int item = 0; item < 6; item++) {
        (void)message_new(&mid);
        (void)snprintf(name, sizeof name, "item-%d", item);
        put_text(&mid, 1, name);
        for (int sub = 0; sub < item; sub++) {
            (void)message_new(&low);
            put_text(&low, 1, "key");
            put_text(&low, 2, "this is skipped");
            put_varint(&low, 9, UINT64_MAX);
            put_message(&mid, 2, &low);
            put_varint(&mid, 6, (uint64_t)sub * 1000);
        }
        put_text(&mid, 4,
                 "gr\xc3\xbc\xc3\x9f"
                 "e \xf0\x9f\x98\x80 und mehr");
        put_text(&mid, 200, "skipped too");
        put_message(&top, 1, &mid);
        put_text(&top, 2, "kind");
    }
    check_splits(rules, UINT64_MAX, writer_view(&top.w));
    check_splits(rules, top.w.len, writer_view(&top.w));
    assert_non_null(strstr(run_a.text, "= ok done 1"));
}

/* Bytes that look like protobuf often enough to go deep: any verdict, but one for all splits. */
static void test_noise(void **state)
{
    static const uint8_t likely[] = {0x0a, 0x12, 0x1a, 0x22, 0x2a, 0x30, 0x3a, 0x4a, 0x00, 0x01,
                                     0x02, 0x03, 0x05, 0x08, 0x7a, 0x80, 0xff, 'k',  '8',  's'};
    uint32_t seed = 1;
    uint8_t bytes[48];
    unsigned ok = 0;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        size_t len = next_random(&seed) % sizeof bytes;
        for (size_t i = 0; i < len; i++) {
            uint32_t r = next_random(&seed);
            bytes[i] = (r & 0x700) == 0 ? (uint8_t)r : likely[(r >> 3) % sizeof likely];
        }
        check_splits(rules, (round & 1) != 0 ? UINT64_MAX : len, view_of(bytes, len));
        ok += strstr(run_a.text, "= ok") != NULL;
    }
    assert_in_range(ok, 30, 2970);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_failure_is_final),
        cmocka_unit_test(test_input_that_ends_too_early),
        cmocka_unit_test(test_known_length),
        cmocka_unit_test(test_envelope),
        cmocka_unit_test(test_tables_that_are_no_tree),
        cmocka_unit_test(test_deepest_table),
        cmocka_unit_test(test_switch),
        cmocka_unit_test(test_every_split_of_a_long_message),
        cmocka_unit_test(test_noise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
