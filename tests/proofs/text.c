/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of base/text.c: comparisons, scans, numbers, UTF-8 and texts in arrays, of any length. The
 * loops over bytes have contracts; those over digits and over the table of UTF-8 are unrolled.
 */
#include "dra_stubs.h"

static size_t marks;     /* '%' of a form that were found so far */
static size_t all_marks; /* number of fills, which the caller of WRITE makes equal to that of '%' */

#include "base/text.c"

/* A text of any length and content that ends in NUL. */
static const char *any_text(void)
{
    size_t len = any_length(ANY_LENGTH);
    char *text = malloc(len + 1u);
    ASSUME(text != NULL);
    text[len] = '\0';
    return text;
}

void proof_text_compare(void)
{
    struct view a = any_view(ANY_LENGTH);
    const char *text = any_text();
    bool is = view_is(a, text);
    bool starts = view_starts(a, text);
    CHECK(!is || a.len < __CPROVER_OBJECT_SIZE(text));
    CHECK(a.len > 0u || is == (text[0] == '\0'));
    CHECK(text[0] != '\0' || starts);
}

void proof_text_scan(void)
{
    struct view a = any_view(ANY_LENGTH);
    struct view trimmed = view_trim(a);
    CHECK(view_within(trimmed, a));
    CHECK(trimmed.len == 0u || !is_trimmed(trimmed.data[0]));
    CHECK(a.len > 0u || view_is_visible(a));
}

void proof_text_decimal(void)
{
    struct view a = any_view(ANY_LENGTH);
    uint64_t max = any_u64();
    uint64_t value = 0;
    enum status s = view_decimal(a, max, &value);
    CHECK(s == STATUS_OK || s == PEER_MALFORMED);
    CHECK(s == STATUS_OK ? value <= max : value == 0u);
    CHECK(a.len > 0u || s == PEER_MALFORMED);
}

void proof_text_utf8(void)
{
    struct view v = any_view(ANY_LENGTH);
    bool valid = view_is_utf8(v);
    CHECK(v.len > 0u || valid);
    unsigned point = view_unsafe(v);
    CHECK(point == 0u || (point >= 0x80u && point <= 0xfeffu));
}

void proof_text_arrays(void)
{
    struct view v = any_view(ANY_LENGTH);
    size_t cap = any_length(ANY_LENGTH);
    ASSUME(cap >= 1u);
    char *text = malloc(cap);
    ASSUME(text != NULL);
    if (any_bool()) {
        enum status s = text_copy(text, cap, v);
        CHECK(s == STATUS_OK || s == FULL_BUFFER || s == PEER_MALFORMED);
        CHECK(s != STATUS_OK || (v.len < cap && text[v.len] == '\0'));
        CHECK((s == FULL_BUFFER) == (v.len >= cap));
    } else {
        text_cut(text, cap, v);
    }
}

void proof_text_shown(void)
{
    struct writer w = any_writer(ANY_LENGTH);
    size_t before = w.len;
    writer_shown(&w, any_view(ANY_LENGTH), any_size());
    CHECK(w.len <= w.cap);
    CHECK(w.len >= before || w.full);
}

void proof_text_writer_cut(void)
{
    struct writer w = any_writer(ANY_LENGTH);
    bool full = w.full;
    writer_cut(&w, any_view(ANY_LENGTH));
    CHECK(w.len <= w.cap);
    CHECK(full || !w.full);
}

/* Whether a number was written whole, with 1 to `most` bytes. */
static void check_written(const struct writer *w, size_t before, size_t most)
{
    CHECK(w->len <= w->cap);
    CHECK(w->full || (w->len > before && w->len - before <= most));
}

static struct writer any_small_writer(void)
{
    static uint8_t room[32];
    struct writer w = writer_of(room, any_length(sizeof room));
    w.len = any_length(w.cap);
    return w;
}

void proof_text_numbers(void)
{
    struct writer w = any_small_writer();
    size_t before = w.len;
    if (any_bool()) {
        writer_decimal(&w, any_u64());
    } else {
        writer_signed(&w, any_i64());
    }
    check_written(&w, before, 20);
}

void proof_text_digits(void)
{
    struct writer w = any_small_writer();
    size_t before = w.len;
    unsigned digits = any_unsigned();
    uint32_t c = any_u32();
    ASSUME(digits >= 1u && digits <= 16u && c <= 0x10ffffu);
    if (any_bool()) {
        writer_hex(&w, any_u64(), digits);
        check_written(&w, before, digits);
    } else {
        writer_utf8(&w, c);
        check_written(&w, before, 4);
    }
}

void proof_text_end(void)
{
    struct writer w = any_small_writer();
    w.full = any_bool();
    enum status s = writer_end_text(&w);
    CHECK(s == STATUS_OK || s == FULL_BUFFER);
    CHECK((s == STATUS_OK) == !w.full);
}

void proof_text_ends(void)
{
    struct view a = any_view(ANY_LENGTH);
    CHECK(!view_ends(a, "Ki") || a.len >= 2u);
    CHECK(view_ends(a, ""));
    struct view without = view_without_dot(a);
    CHECK(without.data == a.data && a.len - without.len <= 1u);
}

void proof_text_safe(void)
{
    struct writer w = any_writer(ANY_LENGTH);
    struct view v = any_view(ANY_LENGTH);
    bool full = w.full;
    size_t n = writer_safe(&w, v, any_bool());
    CHECK(w.len <= w.cap && w.full == full);
    CHECK(n == v.len || (n < v.len && writer_room(&w) < WRITER_SAFE_ROOM));
}

/* Proofs text_safe, text_shown and text_numbers: a writer keeps its bounds. */
static void stub_write_any(struct writer *w)
{
    CHECK(w->len <= w->cap);
    w->len += any_length(w->cap - w->len);
    w->full = w->full || any_bool();
}

size_t stub_writer_safe(struct writer *w, struct view v, bool lines)
{
    (void)lines;
    stub_check_view(v);
    stub_write_any(w);
    return any_length(v.len);
}

void stub_writer_shown(struct writer *w, struct view v, size_t max)
{
    (void)max;
    stub_check_view(v);
    stub_write_any(w);
}

void stub_writer_decimal(struct writer *w, uint64_t value)
{
    (void)value;
    stub_write_any(w);
}

void stub_write_fill(struct writer *w, const struct fill *fill)
{
    CHECK(__CPROVER_r_ok(fill, sizeof *fill));
    stub_write_any(w);
}

/* A value as one of TEXT, VIEW, SHOWN, SAFE and NUMBER makes it. */
static struct fill any_fill(void)
{
    struct view v = any_view(ANY_LENGTH);
    switch (any_u8()) {
    case 0:
        return fill_view(v);
    case 1:
        return fill_shown(v, any_u32());
    case 2:
        return (struct fill)NUMBER(any_u64());
    case 3:
        return (struct fill)TEXT(any_text());
    default:
        return (struct fill)SAFE(any_text());
    }
}

void proof_text_fill(void)
{
    struct writer w = any_writer(ANY_LENGTH);
    struct fill fill = any_fill();
    bool full = w.full;
    size_t before = w.len;
    write_fill(&w, &fill);
    CHECK(w.len <= w.cap && w.len >= before && (!full || w.full));
}

size_t stub_find_mark(struct view a, uint8_t byte)
{
    size_t at = stub_view_find(a, byte);
    marks += (at < a.len) ? 1u : 0u;
    ASSUME(at < a.len ? marks <= all_marks : marks == all_marks);
    return at;
}

void proof_text_form(void)
{
    struct writer w = any_writer(ANY_LENGTH);
    marks = 0;
    all_marks = any_length(ANY_LENGTH / sizeof(struct fill));
    struct fill *fills = malloc(all_marks * sizeof *fills);
    ASSUME(fills != NULL);
    bool full = w.full;
    writer_fill(&w, any_text(), fills, all_marks);
    CHECK(w.len <= w.cap && (!full || w.full));
}
