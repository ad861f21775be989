/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the claim store: there and back, byte for byte, and what is refused. */
#include "tests/unit/node/claim_harness.h"

#include "tests/unit/wire/protobuf_build.h"

#include "dra/store.h"

static void round_trip(const struct claim_record *r)
{
    static uint8_t bytes[STORE_RECORD_MAX];
    static uint8_t again[STORE_RECORD_MAX];
    struct claim_record back;
    memset(&back, 0xaa, sizeof back);
    struct writer w = writer_of(bytes, sizeof bytes);
    assert_int_equal(store_record_encode(r, &w), STATUS_OK);
    assert_int_equal(store_record_decode(writer_view(&w), &back), STATUS_OK);
    assert_same_record(&back, r);
    struct writer second = writer_of(again, sizeof again);
    assert_int_equal(store_record_encode(&back, &second), STATUS_OK);
    assert_true(view_equal(writer_view(&w), writer_view(&second)));
}

static void test_round_trip(void **state)
{
    struct claim_record r;
    (void)state;
    record_begin(&r);
    (void)record_add(&r, "a", 0);
    round_trip(&r);
    r.zero_numbering = true;
    record_add(&r, "w", 0)->admin_access = true;
    struct claim_result *b = record_add(&r, "b", 63);
    b->logical_neuron_core = 2;
    b->ultraserver_mode = 4;
    memcpy(b->share_id, SHARE_ID, sizeof SHARE_ID);
    r.ultraserver.mode = 4;
    round_trip(&r);
    record_mode(&r, 1);
    round_trip(&r);
    record_add(&r, "node", 0)->node = true;
    r.node_devices = 0xffff;
    round_trip(&r);
    r.boot_id[0] = 0;
    round_trip(&r);
    r.rebuilt = true;
    round_trip(&r);
    fill_longest(&r);
    round_trip(&r);
    record_begin(&r);
    r.zero_numbering = true;
    struct claim_result *part = record_add(&r, "part", 3);
    memcpy(part->share_id, SHARE_ID, sizeof SHARE_ID);
    for (unsigned cores = 1; cores < 0x100; cores++) {
        part->cores = (uint8_t)cores;
        if (side_by_side(cores)) {
            round_trip(&r);
        } else {
            assert_false(claim_record_valid(&r));
        }
    }
}

static void test_encoding(void **state)
{
    static struct message expected;
    static struct message result;
    uint8_t bytes[STORE_RECORD_MAX];
    struct writer w = writer_of(bytes, sizeof bytes);
    struct claim_record r;
    (void)state;
    record_begin(&r);
    struct claim_result *first = record_add(&r, "train", 12);
    first->logical_neuron_core = 1;
    first->admin_access = true;
    assert_int_equal(store_record_encode(&r, &w), STATUS_OK);
    (void)message_new(&result);
    put_text(&result, 1, "train");
    put_text(&result, 2, "neuron-device-12");
    put_varint(&result, 3, 1);
    put_varint(&result, 5, 12);
    put_varint(&result, 6, 1);
    (void)message_new(&expected);
    put_text(&expected, 1, UID);
    put_text(&expected, 2, "training");
    put_text(&expected, 3, "llama-0");
    put_text(&expected, 4, BOOT_ID);
    put_text(&expected, 5, "node-1");
    put_message(&expected, 6, &result);
    put_text(&expected, 7, AGENT_VERSION);
    put_varint(&expected, 9, 0);
    size_t before_held = expected.w.len;
    put_fixed64(&expected, 13, 0); /* admin access holds nothing */
    assert_true(view_equal(writer_view(&w), message_view(&expected)));
    expected.w.len = before_held;
    /* whom it is for, where it is known */
    (void)snprintf(r.consumer.name, sizeof r.consumer.name, "trainer-0");
    (void)snprintf(r.consumer.uid, sizeof r.consumer.uid, "a-pod");
    put_text(&expected, 10, "trainer-0");
    put_text(&expected, 11, "a-pod");
    before_held = expected.w.len;
    put_fixed64(&expected, 13, 0);
    w = writer_of(bytes, sizeof bytes);
    assert_int_equal(store_record_encode(&r, &w), STATUS_OK);
    assert_true(view_equal(writer_view(&w), message_view(&expected)));
    expected.w.len = before_held;
    /* and what it is, where it is no pod */
    struct claim_record again;
    r.consumer.kind = CONSUMER_POD_GROUP;
    put_varint(&expected, 12, 1);
    put_fixed64(&expected, 13, 0);
    w = writer_of(bytes, sizeof bytes);
    assert_int_equal(store_record_encode(&r, &w), STATUS_OK);
    assert_true(view_equal(writer_view(&w), message_view(&expected)));
    assert_int_equal(store_record_decode(writer_view(&w), &again), STATUS_OK);
    assert_int_equal(again.consumer.kind, CONSUMER_POD_GROUP);
    assert_string_equal(again.consumer.name, "trainer-0");
    /* what a newer agent kept it for is not shown as something else */
    put_varint(&expected, 12, CONSUMER_KINDS);
    assert_int_equal(store_record_decode(message_view(&expected), &again), STATUS_OK);
    assert_int_equal(again.consumer.kind, CONSUMER_POD);
    assert_string_equal(again.consumer.name, "");
}

static void test_encode_without_room(void **state)
{
    static uint8_t bytes[STORE_RECORD_MAX];
    struct claim_record r;
    (void)state;
    record_begin(&r);
    (void)record_add(&r, "a", 0);
    struct writer w = writer_of(bytes, sizeof bytes);
    assert_int_equal(store_record_encode(&r, &w), STATUS_OK);
    size_t len = w.len;
    for (size_t cap = 0; cap < len; cap++) {
        w = writer_of(bytes, cap + 1);
        writer_u8(&w, 'x');
        assert_int_equal(store_record_encode(&r, &w), FULL_BUFFER);
        assert_int_equal(w.len, 1);
        assert_int_equal(bytes[0], 'x');
    }
    w = writer_of(bytes, len + 1);
    writer_u8(&w, 'x');
    assert_int_equal(store_record_encode(&r, &w), STATUS_OK);
    assert_int_equal(w.len, len + 1);
    fill_longest(&r);
    w = writer_of(bytes, sizeof bytes);
    assert_int_equal(store_record_encode(&r, &w), STATUS_OK);
    assert_in_range(w.len, RESULTS_MAX * 150, STORE_RECORD_MAX);
}

/* A stored message made by hand: what each change makes of it. */
enum change {
    NOTHING,
    UNKNOWN_FIELDS,
    NO_UID,
    UID_EMPTY,
    UID_LONG,
    UID_SLASH,
    NO_NAME,
    NAME_LONG,
    NO_POOL,
    NO_RESULTS,
    TOO_MANY,
    REQUEST_LONG,
    NO_REQUEST,
    NO_INDEX,
    NO_INDEX_NO_DEVICE,
    INDEX_HIGH,
    INDEX_WRAPS,
    LNC_HIGH,
    MODE_HIGH,
    DEVICE_OTHER,
    NO_DEVICE,
    SHARE_LONG,
    SHARE_QUOTE,
    NUMBERING_NEW,
    CONFIGURED_UNLIKE,
    NO_HELD,
    HELD_OTHER,
    CHANGES
};

static void put_result_texts(struct message *m, enum change change, unsigned number)
{
    char longer[UID_CAP + 1];
    char name[DEVICE_NAME_CAP];
    fill_name(longer, sizeof longer, 'x');
    (void)snprintf(name, sizeof name, "neuron-device-%u", number);
    if (change != NO_REQUEST) {
        put_text(m, 1, (change == REQUEST_LONG) ? longer : "a");
    }
    if (change == INDEX_HIGH) {
        (void)snprintf(name, sizeof name, "neuron-device-%u", (unsigned)DEVICES_MAX);
    }
    if (change != NO_DEVICE && change != NO_INDEX_NO_DEVICE) {
        put_text(m, 2, (change == DEVICE_OTHER) ? "neuron-node-0" : name);
    }
    if (change == SHARE_LONG || change == SHARE_QUOTE) {
        put_text(m, 4, (change == SHARE_LONG) ? longer : "a\"b");
    }
}

static void put_result_numbers(struct message *m, enum change change, unsigned number)
{
    if (change == INDEX_HIGH) {
        put_varint(m, 5, DEVICES_MAX);
    } else if (change == INDEX_WRAPS) {
        put_varint(m, 5, UINT64_C(0x100000000) + number);
    } else if (change != NO_INDEX && change != NO_INDEX_NO_DEVICE) {
        put_varint(m, 5, number);
    }
    if (change == LNC_HIGH) {
        put_varint(m, 6, 256);
    } else if (change == CONFIGURED_UNLIKE && number == 1) {
        put_varint(m, 6, 2);
    } else if (change == MODE_HIGH) {
        put_varint(m, 7, 256);
    }
}

static void put_result(struct message *record, enum change change, unsigned number)
{
    static struct message m;
    (void)message_new(&m);
    if (change == UNKNOWN_FIELDS) {
        put_text(&m, 99, "later");
        put_varint(&m, 100, 1);
    }
    put_result_texts(&m, change, number);
    put_result_numbers(&m, change, number);
    put_message(record, 6, &m);
}

static void put_names(struct message *m, enum change change)
{
    char longer[NAME_CAP + 1];
    fill_name(longer, (change == UID_LONG) ? UID_CAP + 1 : NAME_CAP + 1, 'x');
    const char *uid = (change == UID_LONG) ? longer : (change == UID_SLASH) ? "a/b" : UID;
    if (change != NO_UID) {
        put_text(m, 1, (change == UID_EMPTY) ? "" : uid);
    }
    put_text(m, 2, "training");
    if (change != NO_NAME) {
        put_text(m, 3, (change == NAME_LONG) ? longer : "llama-0");
    }
    if (change != NO_POOL) {
        put_text(m, 5, "node-1");
    }
}

/* What a record says of the numbers in containers: from N - 1 on. */
static unsigned numbering_of(enum change change)
{
    return (change == NUMBERING_NEW) ? DEVICES_MAX : (change == NO_HELD) ? 8 : 1;
}

static enum status decode_changed(enum change change, struct claim_record *r,
                                  struct store_outline *o, enum status *outlined)
{
    static struct message m;
    (void)message_new(&m);
    if (change == UNKNOWN_FIELDS) {
        put_text(&m, 77, "later");
        put_varint(&m, 78, 5);
        put_varint(&m, 8, 1795262400); /* a number no longer used */
    }
    put_names(&m, change);
    unsigned count = (change == NO_RESULTS) ? 0 : (change == TOO_MANY) ? RESULTS_MAX + 1 : 2;
    for (unsigned i = 0; i < count; i++) {
        put_result(&m, change, i);
    }
    put_varint(&m, 9, numbering_of(change));
    if (change != NO_HELD) {
        put_fixed64(&m, 13, (change == HELD_OTHER) ? 0x103 : 0x3);
    }
    *outlined = store_outline_decode(message_view(&m), o);
    return store_record_decode(message_view(&m), r);
}

/* What is no record of ours says all the same which claim holds which devices. */
static void check_outline(const struct store_outline *o, enum status s, bool fine, uint64_t numbers)
{
    assert_int_equal(s, fine ? STATUS_OK : HOST_DAMAGED);
    if (fine) {
        assert_string_equal(o->id.uid, UID);
        assert_string_equal(o->id.namespace_, "training");
        assert_string_equal(o->id.name, "llama-0");
        assert_int_equal(o->numbers, numbers);
    }
}

static void test_decode(void **state)
{
    (void)state;
    for (int change = 0; change < CHANGES; change++) {
        struct claim_record r = {.count = 77};
        struct store_outline o = {.numbers = 77};
        enum status outlined = STATUS_OK;
        enum status s = decode_changed((enum change)change, &r, &o, &outlined);
        bool fine = change == NOTHING || change == UNKNOWN_FIELDS || change == NO_DEVICE ||
                    change == NO_HELD;
        bool named = change < NO_UID || change > NAME_LONG;
        check_outline(&o, outlined, named && change != NO_HELD, change == HELD_OTHER ? 0x103 : 0x3);
        if ((s == STATUS_OK) != fine) {
            fail_msg("change %d: %s", change, status_name(s));
        }
        if (!fine) {
            assert_int_equal(s, HOST_DAMAGED);
            assert_int_equal(r.count, 0); /* emptied */
            continue;
        }
        assert_string_equal(r.id.uid, UID);
        assert_string_equal(r.pool, "node-1");
        assert_true(r.zero_numbering);
        assert_int_equal(r.first_number, numbering_of((enum change)change) - 1);
        assert_int_equal(r.count, 2);
        assert_int_equal(r.result[1].number, 1);
    }
}

/* An outline is a record that only its outline can be read from. */
static void test_outline(void **state)
{
    uint8_t bytes[STORE_RECORD_MAX];
    struct writer w = writer_of(bytes, sizeof bytes);
    struct claim_record r;
    struct store_outline o = {.numbers = UINT64_C(0x8000000000000001)};
    struct store_outline back;
    (void)state;
    record_begin(&r);
    (void)record_add(&r, "a", 63);
    o.id = r.id;
    assert_int_equal(store_outline_encode(&o, &w), STATUS_OK);
    assert_int_equal(store_outline_decode(writer_view(&w), &back), STATUS_OK);
    assert_int_equal(back.numbers, o.numbers);
    assert_string_equal(back.id.uid, r.id.uid);
    assert_int_equal(store_record_decode(writer_view(&w), &r), HOST_DAMAGED);
    struct writer small = writer_of(bytes, w.len - 1u);
    assert_int_equal(store_outline_encode(&o, &small), FULL_BUFFER);
    assert_false(back.released);
    o = (struct store_outline){.id = back.id, .released = true};
    w = writer_of(bytes, sizeof bytes);
    assert_int_equal(store_outline_encode(&o, &w), STATUS_OK);
    assert_int_equal(store_outline_decode(writer_view(&w), &back), STATUS_OK);
    assert_true(back.released && back.numbers == 0);
    assert_int_equal(store_record_decode(writer_view(&w), &r), HOST_DAMAGED);
    /* and every record has one */
    fill_longest(&r);
    w = writer_of(bytes, sizeof bytes);
    assert_int_equal(store_record_encode(&r, &w), STATUS_OK);
    assert_int_equal(store_outline_decode(writer_view(&w), &back), STATUS_OK);
    assert_int_equal(back.numbers, claim_numbers(&r));
    assert_string_equal(back.id.name, r.id.name);
}

/* Every prefix and every changed byte of a record gives a verdict and a valid record, or none. */
static void test_decode_damaged(void **state)
{
    uint8_t bytes[STORE_RECORD_MAX];
    struct writer w = writer_of(bytes, sizeof bytes);
    struct claim_record r;
    (void)state;
    record_begin(&r);
    (void)record_add(&r, "train", 3);
    record_add(&r, "train", 4)->admin_access = true;
    assert_int_equal(store_record_encode(&r, &w), STATUS_OK);
    size_t len = w.len;
    for (size_t n = 0; n < len; n++) {
        enum status s = store_record_decode(view_of(bytes, n), &r);
        assert_true(s == HOST_DAMAGED || (s == STATUS_OK && claim_record_valid(&r)));
    }
    for (size_t at = 0; at < len; at++) {
        for (unsigned change = 1; change < 256; change++) {
            bytes[at] ^= (uint8_t)change;
            enum status s = store_record_decode(view_of(bytes, len), &r);
            assert_true(s == HOST_DAMAGED || (s == STATUS_OK && claim_record_valid(&r)));
            bytes[at] ^= (uint8_t)change;
        }
    }
    assert_int_equal(store_record_decode(view_of(NULL, 0), &r), HOST_DAMAGED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),          cmocka_unit_test(test_encoding),
        cmocka_unit_test(test_encode_without_room), cmocka_unit_test(test_decode),
        cmocka_unit_test(test_decode_damaged),      cmocka_unit_test(test_outline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
