/* SPDX-License-Identifier: Apache-2.0 */
/* The claim store's format: headers, halves, torn and damaged writes. */
#include "tests/unit/node/claim_harness.h"

#include "base/crc32c.h"
#include "dra/store.h"

/* --- header --- */

static void test_header_layout(void **state)
{
    static const uint8_t expected[] = {
        'N', 'E', 'U', 'R', 'D', 'R', 'A',  '1', 0, 0, 0, 1, /* format */
        0,   0,   1,   0,   0,   0,   0x20, 0,   0, 0, 0, 0, /* 256 slots, 8192 bytes, reserved */
        1,   2,   3,   4,   5,   6,   7,    8,               /* generation */
    };
    const struct store_header h = {.generation = UINT64_C(0x0102030405060708)};
    uint8_t bytes[STORE_HEADER_WRITTEN];
    struct writer w = writer_of(bytes, sizeof bytes);
    (void)state;
    store_header_write(&w, &h);
    assert_int_equal(w.len, STORE_HEADER_WRITTEN);
    assert_memory_equal(bytes, expected, sizeof expected);
    uint32_t sum = crc32c(0, view_of(expected, sizeof expected));
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(bytes[32 + i], (uint8_t)(sum >> (24 - 8 * i)));
    }
    struct store_header back = {0};
    assert_int_equal(store_header_read(writer_view(&w), &back), STATUS_OK);
    assert_true(back.generation == h.generation);
}

static void test_header_damage(void **state)
{
    const struct store_header h = {.generation = 7};
    uint8_t bytes[4096] = {0};
    struct store_header back = {.generation = 99};
    (void)state;
    assert_int_equal(store_header_read(view_of(bytes, sizeof bytes), &back), HOST_DAMAGED);
    struct writer w = writer_of(bytes, sizeof bytes);
    store_header_write(&w, &h);
    for (size_t n = 0; n < STORE_HEADER_WRITTEN; n++) {
        assert_int_equal(store_header_read(view_of(bytes, n), &back), HOST_DAMAGED);
    }
    for (size_t at = 0; at < STORE_HEADER_WRITTEN; at++) {
        for (unsigned change = 1; change < 256; change++) {
            bytes[at] ^= (uint8_t)change;
            assert_int_equal(store_header_read(view_of(bytes, sizeof bytes), &back), HOST_DAMAGED);
            bytes[at] ^= (uint8_t)change;
        }
    }
    assert_true(back.generation == 99);
    bytes[STORE_HEADER_WRITTEN] = 0xff; /* behind it: no meaning */
    assert_int_equal(store_header_read(view_of(bytes, sizeof bytes), &back), STATUS_OK);
    assert_true(back.generation == 7);
}

/* A header whose number at `at` is another one, with a sum that fits. */
static enum status read_changed(size_t at, uint32_t number)
{
    const struct store_header h = {.generation = 7};
    uint8_t bytes[STORE_HEADER_WRITTEN];
    struct store_header back = {.generation = 99};
    struct writer w = writer_of(bytes, sizeof bytes);
    store_header_write(&w, &h);
    w.len = at;
    writer_u32(&w, number);
    w.len = 32;
    writer_u32(&w, crc32c(0, view_of(bytes, 32)));
    enum status s = store_header_read(view_of(bytes, sizeof bytes), &back);
    assert_true(back.generation == ((s == STATUS_OK) ? 7 : 99));
    return s;
}

static void test_header_of_others(void **state)
{
    (void)state;
    assert_int_equal(read_changed(8, 1), STATUS_OK);
    assert_int_equal(read_changed(8, 2), PEER_UNSUPPORTED);
    assert_int_equal(read_changed(12, CLAIMS_MAX * 2), PEER_UNSUPPORTED);
    assert_int_equal(read_changed(16, STORE_HALF_BYTES * 2), PEER_UNSUPPORTED);
    assert_int_equal(read_changed(20, 5), STATUS_OK); /* reserved */
}

static void test_offsets(void **state)
{
    (void)state;
    assert_true(store_offset(0, 0) == 8192);
    assert_true(store_offset(0, 1) == 16384);
    assert_true(store_offset(1, 0) == 24576);
    for (unsigned slot = 0; slot < CLAIMS_MAX; slot++) {
        assert_true(store_offset(slot, 1) == store_offset(slot, 0) + STORE_HALF_BYTES);
        assert_true(store_offset(slot, 0) % 4096 == 0);
    }
    assert_true(store_offset(CLAIMS_MAX - 1, 1) + STORE_HALF_BYTES == STORE_FILE_BYTES);
}

/* --- halves --- */

static void test_half_layout(void **state)
{
    uint8_t bytes[64];
    uint8_t covered[23];
    struct writer w = writer_of(bytes, sizeof bytes);
    struct writer c = writer_of(covered, sizeof covered);
    struct store_half half;
    (void)state;
    store_half_write(&w, 200, UINT64_C(0x0102030405060708), view_text("abc"));
    assert_int_equal(w.len, STORE_HALF_HEADER + 3);
    static const uint8_t head[] = {'N', 'D', 'R', 'S', 0, 0, 0, 3, 1, 2, 3, 4, 5, 6, 7, 8};
    assert_memory_equal(bytes, head, sizeof head);
    assert_memory_equal(bytes + 20, "\0\0\0\0abc", 7);
    writer_bytes(&c, head, sizeof head);
    writer_u32(&c, 200);
    writer_text(&c, "abc");
    struct reader sum = reader_of(view_of(bytes + 16, 4));
    uint32_t stored = 0;
    assert_int_equal(reader_u32(&sum, &stored), STATUS_OK);
    assert_int_equal(stored, crc32c(0, writer_view(&c)));
    store_half_read(writer_view(&w), 200, &half);
    assert_int_equal(half.state, STORE_HALF_RECORD);
    assert_true(half.sequence == UINT64_C(0x0102030405060708));
    assert_view(half.record, "abc");
}

static void test_half_free(void **state)
{
    static uint8_t bytes[STORE_HALF_BYTES];
    struct store_half half;
    (void)state;
    store_half_read(view_of(bytes, sizeof bytes), 0, &half);
    assert_int_equal(half.state, STORE_HALF_DAMAGED); /* zeros are not "new" */
    assert_true(half.sequence == 0);
    memset(bytes, 0xff, sizeof bytes);
    store_half_read(view_of(bytes, sizeof bytes), 0, &half);
    assert_int_equal(half.state, STORE_HALF_DAMAGED);
    struct writer w = writer_of(bytes, sizeof bytes);
    store_half_write(&w, 3, 0, view_of(NULL, 0));
    assert_int_equal(w.len, STORE_HALF_HEADER);
    store_half_read(view_of(bytes, sizeof bytes), 3, &half);
    assert_int_equal(half.state, STORE_HALF_FREE);
    store_half_read(writer_view(&w), 3, &half);
    assert_int_equal(half.state, STORE_HALF_FREE);
    store_half_read(view_of(bytes, sizeof bytes), 4, &half); /* in the wrong place */
    assert_int_equal(half.state, STORE_HALF_DAMAGED);
}

static size_t sample_record(uint8_t *bytes, size_t cap)
{
    struct claim_record r;
    struct writer w = writer_of(bytes, cap);
    record_begin(&r);
    (void)record_add(&r, "train", 3);
    record_add(&r, "train", 4)->admin_access = true;
    assert_int_equal(store_record_encode(&r, &w), STATUS_OK);
    return w.len;
}

static void test_every_changed_byte_is_damage(void **state)
{
    uint8_t record[STORE_RECORD_MAX];
    static uint8_t bytes[STORE_HALF_BYTES];
    struct writer w = writer_of(bytes, sizeof bytes);
    struct store_half half;
    (void)state;
    size_t len = sample_record(record, sizeof record);
    store_half_write(&w, 17, 41, view_of(record, len));
    for (size_t at = 0; at < w.len; at++) {
        for (unsigned change = 1; change < 256; change++) {
            bytes[at] ^= (uint8_t)change;
            store_half_read(view_of(bytes, sizeof bytes), 17, &half);
            assert_int_equal(half.state, STORE_HALF_DAMAGED);
            bytes[at] ^= (uint8_t)change;
        }
    }
    for (size_t n = 0; n < w.len; n++) {
        store_half_read(view_of(bytes, n), 17, &half);
        assert_int_equal(half.state, STORE_HALF_DAMAGED);
    }
    store_half_read(view_of(bytes, w.len), 17, &half);
    assert_int_equal(half.state, STORE_HALF_RECORD);
}

static void test_half_length_over_the_limit(void **state)
{
    static uint8_t bytes[STORE_HALF_BYTES + 64];
    static uint8_t covered[STORE_HALF_BYTES + 64];
    struct store_half half;
    (void)state;
    for (uint32_t length = STORE_RECORD_MAX; length <= STORE_RECORD_MAX + 1; length++) {
        struct writer w = writer_of(bytes, sizeof bytes);
        struct writer c = writer_of(covered, sizeof covered);
        writer_text(&c, "NDRS");
        writer_u32(&c, length);
        writer_u64(&c, 5);
        writer_u32(&c, 0);
        memset(c.data + c.len, 'r', length);
        c.len += length;
        writer_bytes(&w, covered, 16);
        writer_u32(&w, crc32c(0, writer_view(&c)));
        writer_u32(&w, 0);
        writer_bytes(&w, covered + 20, length);
        store_half_read(writer_view(&w), 0, &half);
        bool fits = length == STORE_RECORD_MAX;
        assert_int_equal(half.state, fits ? STORE_HALF_RECORD : STORE_HALF_DAMAGED);
    }
}

/* --- one slot through changes, kills and torn writes --- */

static uint8_t slot_bytes[2][STORE_HALF_BYTES];
enum { SLOT = 9 };

static int read_slot(struct store_half halves[2])
{
    for (unsigned i = 0; i < 2; i++) {
        store_half_read(view_of(slot_bytes[i], STORE_HALF_BYTES), SLOT, &halves[i]);
    }
    return store_pick(halves);
}

static void fresh_slot(void)
{
    for (unsigned i = 0; i < 2; i++) {
        memset(slot_bytes[i], 0, STORE_HALF_BYTES);
        struct writer w = writer_of(slot_bytes[i], STORE_HALF_BYTES);
        store_half_write(&w, SLOT, i, view_of(NULL, 0));
    }
}

/* What a change would write into the half that does not count. */
static size_t next_write(uint8_t *out, struct view record, unsigned *half)
{
    struct store_half halves[2];
    int pick = read_slot(halves);
    assert_true(pick >= 0);
    *half = 1u - (unsigned)pick;
    struct writer w = writer_of(out, STORE_HALF_BYTES);
    store_half_write(&w, SLOT, halves[pick].sequence + 1, record);
    return w.len;
}

static void test_changes(void **state)
{
    static uint8_t out[STORE_HALF_BYTES];
    struct store_half halves[2];
    (void)state;
    fresh_slot();
    assert_int_equal(read_slot(halves), 1);
    for (unsigned i = 0; i < 9; i++) {
        char text[32];
        unsigned half = 0;
        int n = snprintf(text, sizeof text, "record %u", i);
        bool frees = i % 3 == 2;
        struct view record = view_of(text, frees ? 0 : (size_t)n);
        size_t len = next_write(out, record, &half);
        assert_int_equal(half, i % 2);
        memcpy(slot_bytes[half], out, len);
        int pick = read_slot(halves);
        assert_int_equal(pick, half);
        assert_true(halves[pick].sequence == 2 + i);
        assert_int_equal(halves[pick].state, frees ? STORE_HALF_FREE : STORE_HALF_RECORD);
        assert_true(view_equal(halves[pick].record, record));
    }
}

/* The counting half before the write, or the new one: never anything else. */
static void assert_old_or_new(uint64_t old, struct view before, struct view after, bool whole)
{
    struct store_half halves[2];
    int pick = read_slot(halves);
    assert_true(pick >= 0);
    if (halves[pick].sequence == old) {
        assert_false(whole);
        assert_true(view_equal(halves[pick].record, before));
    } else {
        assert_true(halves[pick].sequence == old + 1);
        assert_true(view_equal(halves[pick].record, after));
    }
}

/*
 * Sectors of 512 bytes of a write that reached the disk: a prefix, a suffix, each alone, any
 * subset.
 */
static void torn_write(const uint8_t *out, size_t len, uint32_t sectors, unsigned half)
{
    for (size_t at = 0; at < len; at += 512) {
        size_t n = (len - at < 512) ? len - at : 512;
        if ((sectors >> (at / 512) & 1u) != 0) {
            memcpy(slot_bytes[half] + at, out + at, n);
        }
    }
}

static void test_torn_writes(void **state)
{
    static uint8_t out[STORE_HALF_BYTES];
    static uint8_t stale[STORE_HALF_BYTES];
    static uint8_t records[3][STORE_RECORD_MAX];
    size_t lengths[3];
    uint32_t seed = 3;
    unsigned half = 0;
    (void)state;
    struct claim_record longest;
    for (unsigned i = 0; i < 3; i++) {
        fill_longest(&longest);
        longest.id.name[5] = (char)('0' + i);
        longest.result[31].share_id[60] = (char)('0' + i);
        longest.count = (uint8_t)(RESULTS_MAX - 8 * i);
        struct writer w = writer_of(records[i], sizeof records[i]);
        assert_int_equal(store_record_encode(&longest, &w), STATUS_OK);
        lengths[i] = w.len;
    }
    for (unsigned round = 0; round < 400; round++) {
        unsigned stale_at = next_random(&seed) % 3;
        unsigned old_at = next_random(&seed) % 3;
        unsigned new_at = next_random(&seed) % 4; /* 3: frees the slot */
        struct view old_record = view_of(records[old_at], lengths[old_at]);
        struct view new_record =
            (new_at == 3) ? view_of(NULL, 0) : view_of(records[new_at], lengths[new_at]);
        fresh_slot();
        size_t len = next_write(out, view_of(records[stale_at], lengths[stale_at]), &half);
        memcpy(slot_bytes[half], out, len);
        len = next_write(out, old_record, &half);
        memcpy(slot_bytes[half], out, len);
        len = next_write(out, new_record, &half);
        memcpy(stale, slot_bytes[half], sizeof stale);
        uint32_t all = (UINT32_C(1) << ((len + 511) / 512)) - 1;
        for (unsigned cut = 0; cut <= 16; cut++) {
            uint32_t prefix = (UINT32_C(1) << cut) - 1;
            uint32_t subsets[] = {prefix, ~prefix, UINT32_C(1) << cut, next_random(&seed)};
            for (size_t i = 0; i < COUNT(subsets); i++) {
                memcpy(slot_bytes[half], stale, sizeof stale);
                torn_write(out, len, subsets[i], half);
                assert_old_or_new(3, old_record, new_record, (subsets[i] & all) == all);
            }
        }
    }
}

static void test_pick(void **state)
{
    static const struct {
        struct store_half halves[2];
        int pick;
    } rows[] = {
        {{{.state = STORE_HALF_DAMAGED}, {.state = STORE_HALF_DAMAGED}}, -1},
        {{{.state = STORE_HALF_FREE, .sequence = 0}, {.state = STORE_HALF_DAMAGED}}, 0},
        {{{.state = STORE_HALF_DAMAGED}, {.state = STORE_HALF_RECORD, .sequence = 0}}, 1},
        {{{.state = STORE_HALF_FREE, .sequence = 0}, {.state = STORE_HALF_FREE, .sequence = 1}}, 1},
        {{{.state = STORE_HALF_RECORD, .sequence = 2}, {.state = STORE_HALF_FREE, .sequence = 1}},
         0},
        {{{.state = STORE_HALF_FREE, .sequence = 3}, {.state = STORE_HALF_RECORD, .sequence = 2}},
         0},
        {{{.state = STORE_HALF_RECORD, .sequence = UINT64_C(0xffffffff)},
          {.state = STORE_HALF_RECORD, .sequence = UINT64_C(0x100000000)}},
         1},
        {{{.state = STORE_HALF_RECORD, .sequence = UINT64_MAX},
          {.state = STORE_HALF_RECORD, .sequence = 0}},
         0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(store_pick(rows[i].halves), rows[i].pick);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_layout),
        cmocka_unit_test(test_header_damage),
        cmocka_unit_test(test_header_of_others),
        cmocka_unit_test(test_offsets),
        cmocka_unit_test(test_half_layout),
        cmocka_unit_test(test_half_free),
        cmocka_unit_test(test_every_changed_byte_is_damage),
        cmocka_unit_test(test_half_length_over_the_limit),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_torn_writes),
        cmocka_unit_test(test_pick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
