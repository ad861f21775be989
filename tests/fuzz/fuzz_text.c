/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views, readers, writers, times and log lines of any bytes. Checks I1 to I4 of base/bytes.h, I1 of
 * base/time.h and the form of lines in base/log.h. Second opinions: UTF-8 by the definition of
 * RFC 3629, numbers by strtoull(3), dates by gmtime_r(3), JSON lines by jansson.
 *
 * Input: any bytes: texts, numbers, times and fields of log lines
 * Links: -ljansson
 */
#include <time.h>

#include "base/log.h"
#include "base/time.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/json_oracle.h"

/* --- UTF-8 --- */

/* Bytes of a character by its first one; 0: none begins so. */
static size_t length_of(uint8_t lead)
{
    if (lead < 0x80u) {
        return 1;
    }
    if (lead < 0xc0u || lead >= 0xf8u) {
        return 0;
    }
    return lead < 0xe0u ? 2u : lead < 0xf0u ? 3u : 4u;
}

/* Length of the character at the front by the definition; 0: none. */
static size_t character_of(struct view v)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = length_of(v.data[0]);
    uint32_t point = (n == 1u) ? v.data[0] : v.data[0] & (0x7fu >> n);
    if (n == 0u || v.len < n) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        bool more = (v.data[i] & 0xc0u) == 0x80u;
        point = more ? point << 6 | (v.data[i] & 0x3fu) : UINT32_MAX >> 7;
    }
    bool surrogate = point >= 0xd800u && point < 0xe000u;
    return (point < least[n] || point > 0x10ffffu || surrogate) ? 0u : n;
}

static bool is_utf8(struct view v)
{
    while (v.len > 0u) {
        size_t n = character_of(v);
        if (n == 0u) {
            return false;
        }
        v = view_from(v, n);
    }
    return true;
}

static void all_shown(const char *text, size_t len, uint8_t last)
{
    for (size_t i = 0; i < len; i++) {
        CHECK((uint8_t)text[i] >= ' ' && (uint8_t)text[i] != 0x7f && (uint8_t)text[i] <= last);
    }
}

static void try_cuts(struct view v, size_t cap)
{
    char text[300];
    bool whole = is_utf8(v);
    cap = 1u + cap % (sizeof text - 1u);
    text_cut(text, cap, v);
    CHECK(memchr(text, 0, cap) != NULL); /* I3 */
    CHECK(!whole || is_utf8(view_text(text)));
    struct writer w = writer_of(text, cap);
    writer_cut(&w, v);
    CHECK(!w.full && w.len <= cap);
    CHECK(v.len > cap || w.len == v.len);
    all_shown(text, w.len, 0xff);
    CHECK(!whole || is_utf8(writer_view(&w)));
    w = writer_of(text, sizeof text);
    writer_shown(&w, v, cap);
    all_shown(text, w.len, '~');
}

static void try_copy(struct view v, size_t cap)
{
    char text[300] = {0};
    cap = 1u + cap % (sizeof text - 1u);
    enum status s = text_copy(text, cap, v);
    CHECK((s == STATUS_OK) == (v.len < cap && view_find(v, 0) == v.len));
    CHECK(view_is((s == STATUS_OK) ? v : view_of(NULL, 0), text));
}

/* --- numbers --- */

static bool is_digits(struct view v)
{
    for (size_t i = 0; i < v.len; i++) {
        if (v.data[i] < '0' || v.data[i] > '9') {
            return false;
        }
    }
    return v.len > 0u;
}

static void try_numbers(struct view v)
{
    char text[300];
    uint64_t value = 77;
    enum status s = view_decimal(v, UINT64_MAX, &value);
    if (!is_digits(v)) {
        CHECK(s == PEER_MALFORMED && value == 77u);
        return;
    }
    if (text_copy(text, sizeof text, v) != STATUS_OK) {
        return;
    }
    const char *digits = text + strspn(text, "0");
    size_t len = strlen(digits);
    bool fits = len < 20u || (len == 20u && strcmp(digits, "18446744073709551615") <= 0);
    CHECK((s == STATUS_OK) == fits); /* I4 */
    CHECK(!fits || value == strtoull(text, NULL, 10));
    CHECK(!fits || value == 0u || view_decimal(v, value - 1u, &value) == PEER_MALFORMED);
}

/* What a writer wrote, a reader reads; on a failure nothing moves. */
static void try_writers(uint64_t number, size_t cap)
{
    uint8_t bytes[64];
    uint64_t back = 0;
    struct writer w = writer_of(bytes, cap % (sizeof bytes + 1u));
    writer_varint(&w, number);
    size_t one = w.len;
    writer_u64(&w, number);
    writer_hex(&w, number, 16);
    writer_signed(&w, (int64_t)number);
    CHECK(w.len <= w.cap && w.full == (writer_room(&w) == 0u && w.full)); /* I1 */
    struct reader r = reader_of(view_first(writer_view(&w), one));
    enum status s = reader_varint(&r, &back);
    CHECK((one == 0u) == (s == STATUS_MORE && r.pos == 0u));
    CHECK(one == 0u || (back == number && reader_left(&r) == 0u)); /* I2 */
    for (size_t cut = 0; cut + 1u < one; cut++) {
        r = reader_of(view_of(bytes, cut));
        CHECK(reader_varint(&r, &back) == STATUS_MORE && r.pos == 0u);
    }
}

static void try_varint(struct view v)
{
    struct reader r = reader_of(v);
    uint64_t value = 0;
    uint8_t bytes[16];
    while (reader_varint(&r, &value) == STATUS_OK) {
        struct writer w = writer_of(bytes, sizeof bytes);
        writer_varint(&w, value);
        CHECK(w.len >= 1u && w.len <= 10u && r.pos <= v.len);
    }
}

/* --- times --- */

static void try_time(uint64_t wall_ms)
{
    char text[64];
    char want[80];
    struct tm tm;
    wall_ms %= UINT64_C(253402300800000); /* the year 9999 ends */
    time_t seconds = (time_t)(wall_ms / 1000u);
    struct writer w = writer_of(text, sizeof text);
    writer_time(&w, wall_ms, "Z");
    CHECK(gmtime_r(&seconds, &tm) != NULL && writer_end_text(&w) == STATUS_OK);
    (void)snprintf(want, sizeof want, "%d-%02d-%02dT%02d:%02d:%02d.%03uZ", tm.tm_year + 1900,
                   tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                   (unsigned)(wall_ms % 1000u));
    CHECK(strcmp(text, want) == 0); /* time.h I1 */
}

/* --- log lines --- */

static void look_lines(struct view text, enum log_format format)
{
    while (text.len > 0u) {
        size_t end = view_find(text, '\n');
        CHECK(end < text.len && end > 0u && end <= LOG_LINE_BYTES_MAX);
        struct view line = view_first(text, end);
        for (size_t i = 0; i < line.len; i++) {
            CHECK(line.data[i] >= ' ' && line.data[i] != 0x7fu);
        }
        CHECK(format != LOG_JSON || oracle_takes(line));
        text = view_from(text, end + 1u);
    }
}

static void try_log(struct fuzz *in, uint64_t now)
{
    static struct log l;
    enum log_format format = (now & 1u) != 0u ? LOG_JSON : LOG_TEXT;
    log_init(&l, LOG_INFO, format);
    l.wall_ms = now;
    for (unsigned i = 0; i < 40u && fuzz_left(in) > 0u; i++) {
        uint8_t how = fuzz_u8(in);
        log_line_begin(&l, (enum log_level)(how & 3u), "fuzz");
        for (unsigned k = 0; k < (how >> 2 & 7u); k++) {
            log_line_view(&l, "value", fuzz_text(in));
            log_line_number(&l, "number", (int64_t)(now << k));
        }
        log_line_end(&l);
        CHECK(log_pending(&l).len <= LOG_BUFFER_BYTES);
        if ((how & 0x80u) != 0u) {
            look_lines(log_pending(&l), format);
            log_written(&l, log_pending(&l).len);
        }
    }
    look_lines(log_pending(&l), format);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz in = fuzz_of(data, size);
    size_t cap = fuzz_u16(&in);
    uint64_t number = (uint64_t)fuzz_u32(&in) << 32 | fuzz_u32(&in);
    number >>= cap & 63u;
    uint8_t *copy = fuzz_copy(data, size);
    struct view v = view_from(view_of(copy, size), 10);
    CHECK(view_is_utf8(v) == is_utf8(v)); /* I3 */
    try_cuts(v, cap);
    try_copy(v, cap);
    try_numbers(v);
    try_writers(number, cap);
    try_varint(v);
    try_time(number);
    try_log(&in, number);
    free(copy);
    return 0;
}
