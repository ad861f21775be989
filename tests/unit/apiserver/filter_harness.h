/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The field filter over one input: everything that can be seen becomes one text, which no split of
 * the input may change. Header only, because each test is one file.
 */
#ifndef TESTS_UNIT_FILTER_HARNESS_H
#define TESTS_UNIT_FILTER_HARNESS_H

#include "tests/unit/apiserver/transcript.h"
#include "tests/unit/wire/protobuf_build.h"
#include "tests/unit/unit.h"
#include "wire/kube_filter.h"

/* --- running: everything observable becomes one text --- */

static struct transcript run_a;
static struct transcript run_b;
static struct kube_filter filter;
static struct message top;
static struct message mid;

static inline void note_record(struct transcript *t, const struct kube_record *r)
{
    char byte[24];

    (void)snprintf(byte, sizeof byte, "%u%s:", r->record, r->truncated ? "!" : "");
    note(t, byte);
    for (size_t i = 0; i < r->message.len; i++) {
        (void)snprintf(byte, sizeof byte, "%02x", r->message.data[i]);
        note(t, byte);
    }
    note(t, " ");
}

static inline enum status feed(struct transcript *t, const uint8_t *data, size_t len, size_t *taken)
{
    struct reader in = reader_of(view_of(data, len));
    struct kube_record record;
    enum status st = kube_filter_next(&filter, &in, &record);

    while (st == STATUS_OK) {
        note_record(t, &record);
        assert_true(kube_filter_valid(&filter));
        st = kube_filter_next(&filter, &in, &record);
    }
    assert_true(kube_filter_valid(&filter));
    *taken += in.pos;
    return st;
}

/* Feeds pieces of `first` bytes, then of `rest` bytes each. */
static inline void run(struct transcript *t, struct kube_rules rules, uint64_t length,
                       struct view input, const size_t split[2])
{
    enum status st = STATUS_MORE;
    size_t at = 0;
    size_t taken = 0;
    size_t step = split[0];
    char end[64];

    t->len = 0;
    t->text[0] = '\0';
    kube_filter_init(&filter, rules, length);
    while (at < input.len && st == STATUS_MORE) {
        size_t n = input.len - at < step ? input.len - at : step;
        st = feed(t, input.data + at, n, &taken);
        at += n;
        step = split[1];
    }
    if (st == STATUS_MORE) {
        st = kube_filter_end(&filter);
    }
    (void)snprintf(end, sizeof end, "= %s", status_name(st));
    note(t, end);
    if (st == STATUS_OK) {
        (void)snprintf(end, sizeof end, " done %d taken %zu", kube_filter_done(&filter), taken);
        note(t, end);
    }
}

static const char *run_whole(struct kube_rules rules, uint64_t length, struct view input)
{
    const size_t split[2] = {input.len + 1, input.len + 1};

    run(&run_a, rules, length, input, split);
    return run_a.text;
}

/* The transcript must be the same in one piece, in single bytes, and cut at every place. */
static inline void check_splits(struct kube_rules rules, uint64_t length, struct view input)
{
    const size_t single[2] = {1, 1};

    (void)run_whole(rules, length, input);
    run(&run_b, rules, length, input, single);
    assert_string_equal(run_a.text, run_b.text);
    for (size_t at = 1; at < input.len; at++) {
        const size_t split[2] = {at, input.len};
        run(&run_b, rules, length, input, split);
        assert_string_equal(run_a.text, run_b.text);
    }
}

static inline void check_hex(struct kube_rules rules, uint64_t length, const char *hex,
                             const char *want)
{
    uint8_t bytes[128];
    size_t n = strlen(hex) / 2;

    assert_true(n <= sizeof bytes);
    for (size_t i = 0; i < n; i++) {
        unsigned value = 0;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &value), 1);
        bytes[i] = (uint8_t)value;
    }
    if (strcmp(run_whole(rules, length, view_of(bytes, n)), want) != 0) {
        fail_msg("%s: %s, not %s", hex, run_a.text, want);
    }
    check_splits(rules, length, view_of(bytes, n));
}

/* --- rules under test --- */

/*
 * top { 1: item { 1: name, 2: sub { 1: key, 3: inner { 1: value } }, 4: text cut at 10, 5: flag, 6:
 * number, 7: limited to 4 }, 2: kind (a record of its own), 3: envelope { 1: item like above but
 * name only }, 9: other { 1: item2 { 1: name } } }
 */
enum {
    ITEM,
    ITEM_NAME,
    SUB,
    SUB_KEY,
    SUB_INNER,
    SUB_VALUE,
    ITEM_TEXT,
    ITEM_FLAG,
    ITEM_NUMBER,
    ITEM_LIMITED,
    KIND,
    ENVELOPE,
    ENVELOPE_ITEM,
    ENVELOPE_NAME,
    OTHER,
    OTHER_ITEM,
    OTHER_NAME,
    ROWS
};

static const struct kube_rule rows[ROWS] = {
    [ITEM] = {KUBE_ROOT, KUBE_RECORD, 1, 11, 0, 0},
    [ITEM_NAME] = {ITEM, KUBE_KEEP, 1, 0, 1, 0},
    [SUB] = {ITEM, KUBE_RECORD, 2, 22, 0, 0},
    [SUB_KEY] = {SUB, KUBE_KEEP, 1, 0, 1, 0},
    [SUB_INNER] = {SUB, KUBE_DESCEND, 3, 0, 0, 0},
    [SUB_VALUE] = {SUB_INNER, KUBE_KEEP, 1, 0, 17, 0},
    [ITEM_TEXT] = {ITEM, KUBE_KEEP_CUT, 4, 0, 4, 10},
    [ITEM_FLAG] = {ITEM, KUBE_PRESENT, 5, 0, 5, 0},
    [ITEM_NUMBER] = {ITEM, KUBE_KEEP, 6, 0, 6, 0},
    [ITEM_LIMITED] = {ITEM, KUBE_KEEP, 7, 0, 7, 4},
    [KIND] = {KUBE_ROOT, KUBE_RECORD_FIELD, 2, 33, 1, 4},
    [ENVELOPE] = {KUBE_ROOT, KUBE_ENVELOPE, 3, 0, 0, 0},
    [ENVELOPE_ITEM] = {ENVELOPE, KUBE_RECORD, 1, 44, 0, 0},
    [ENVELOPE_NAME] = {ENVELOPE_ITEM, KUBE_KEEP, 1, 0, 1, 0},
    [OTHER] = {KUBE_ROOT, KUBE_DESCEND, 9, 0, 0, 0},
    [OTHER_ITEM] = {OTHER, KUBE_RECORD, 1, 55, 0, 0},
    [OTHER_NAME] = {OTHER_ITEM, KUBE_KEEP, 1, 0, 1, 0},
};

static const struct kube_rules rules = {rows, ROWS, KUBE_ROOT};
static const struct kube_rules envelope_rules = {rows, ROWS, ENVELOPE};

#endif
