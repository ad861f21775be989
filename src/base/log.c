/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines of base/log.h: built in place at the end of the buffer, so that a line is either whole
 * in it or not at all.
 */
#include "base/log.h"

#include <string.h>

#include "base/assert.h"
#include "base/json.h"

#define LOG_LEVELS ((unsigned)LOG_DEBUG + 1u)
static const char *const level_names[LOG_LEVELS] = {
    [LOG_ERROR] = "error", [LOG_WARN] = "warn", [LOG_INFO] = "info", [LOG_DEBUG] = "debug"};

/* Room that a cut line keeps for saying so and for its end. */
enum { LOG_TAIL_BYTES = 24 };

void log_init(struct log *l, enum log_level level, enum log_format format)
{
    l->level = level;
    l->format = format;
    l->wall_ms = 0;
    l->len = 0;
    l->lost = 0;
    l->cut = false;
    l->line = writer_of(0, 0);
}

/* --- time --- */

static void two_digits(struct writer *w, uint64_t n)
{
    writer_u8(w, (uint8_t)('0' + n / 10u % 10u));
    writer_u8(w, (uint8_t)('0' + n % 10u));
}

/* Civil date of a day count since 1970-01-01, by eras of 400 years that begin in March. */
static void write_date(struct writer *w, uint64_t days)
{
    uint64_t z = days + 719468u;
    uint64_t era = z / 146097u;
    uint64_t day_of_era = z % 146097u;
    uint64_t leap_days = day_of_era / 1460u - day_of_era / 36524u + day_of_era / 146096u;
    uint64_t year_of_era = (day_of_era - leap_days) / 365u;
    uint64_t year_begins = 365u * year_of_era + year_of_era / 4u - year_of_era / 100u;
    uint64_t day_of_year = day_of_era - year_begins;
    uint64_t shifted = (5u * day_of_year + 2u) / 153u; /* 0 is March */
    uint64_t month = (shifted < 10u) ? shifted + 3u : shifted - 9u;
    uint64_t year = year_of_era + era * 400u + ((month <= 2u) ? 1u : 0u);
    writer_decimal(w, year);
    writer_u8(w, '-');
    two_digits(w, month);
    writer_u8(w, '-');
    two_digits(w, day_of_year - (153u * shifted + 2u) / 5u + 1u);
}

/* RFC 3339, UTC, milliseconds. */
static void write_time(struct writer *w, uint64_t wall_ms)
{
    uint64_t seconds = wall_ms / 1000u;
    write_date(w, seconds / 86400u);
    writer_u8(w, 'T');
    two_digits(w, seconds / 3600u % 24u);
    writer_u8(w, ':');
    two_digits(w, seconds / 60u % 60u);
    writer_u8(w, ':');
    two_digits(w, seconds % 60u);
    writer_u8(w, '.');
    writer_u8(w, (uint8_t)('0' + wall_ms / 100u % 10u));
    two_digits(w, wall_ms % 100u);
    writer_u8(w, 'Z');
}

/* --- fields --- */

static bool needs_quotes(struct view v)
{
    for (size_t i = 0; i < v.len; i++) {
        uint8_t c = v.data[i];
        if (c <= ' ' || c > '~' || c == '"' || c == '=' || c == '\\') {
            return true;
        }
    }
    return v.len == 0u;
}

static void write_quoted(struct writer *w, struct view v)
{
    struct json_writer json = json_writer_of(w, 0);
    json_string(&json, v);
}

static void write_key(const struct log *l, struct writer *w, const char *key, bool first)
{
    if (l->format == LOG_JSON) {
        writer_text(w, first ? "{" : ",");
        write_quoted(w, view_text(key));
        writer_u8(w, ':');
        return;
    }
    if (!first) {
        writer_u8(w, ' ');
    }
    writer_text(w, key);
    writer_u8(w, '=');
}

static void write_value(const struct log *l, struct writer *w, struct view v)
{
    if (l->format == LOG_JSON || needs_quotes(v)) {
        write_quoted(w, v);
    } else {
        writer_view_of(w, v);
    }
}

static bool line_open(const struct log *l)
{
    return l->line.data != NULL;
}

/* Keeps a field only when all of it fits. */
static void keep(struct log *l, const struct writer *field)
{
    if (field->full || l->cut || field->len + LOG_TAIL_BYTES > writer_room(&l->line)) {
        l->cut = true;
        return;
    }
    writer_view_of(&l->line, writer_view(field));
}

void log_view(struct log *l, const char *key, struct view value)
{
    uint8_t bytes[LOG_LINE_BYTES_MAX];
    struct writer field = writer_of(bytes, sizeof bytes);
    if (!line_open(l)) {
        return;
    }
    write_key(l, &field, key, l->line.len == 0u);
    write_value(l, &field, value);
    keep(l, &field);
}

void log_text(struct log *l, const char *key, const char *value)
{
    log_view(l, key, view_text(value));
}

void log_number(struct log *l, const char *key, int64_t value)
{
    uint8_t bytes[128];
    struct writer field = writer_of(bytes, sizeof bytes);
    if (!line_open(l)) {
        return;
    }
    write_key(l, &field, key, l->line.len == 0u);
    writer_signed(&field, value);
    keep(l, &field);
}

/* --- lines --- */

static void open_line(struct log *l, enum log_level level, const char *event)
{
    uint8_t time_bytes[32];
    struct writer stamp = writer_of(time_bytes, sizeof time_bytes);
    size_t room = sizeof l->buffer - l->len;
    ASSERT(room >= LOG_LINE_BYTES_MAX);
    l->line = writer_of(l->buffer + l->len, LOG_LINE_BYTES_MAX);
    l->cut = false;
    write_time(&stamp, l->wall_ms);
    log_view(l, "ts", writer_view(&stamp));
    log_text(l, "level", level_names[level]);
    log_text(l, "event", event);
}

static void close_line(struct log *l)
{
    if (l->cut) {
        writer_text(&l->line, (l->format == LOG_JSON) ? ",\"truncated\":true" : " truncated=true");
    }
    writer_text(&l->line, (l->format == LOG_JSON) ? "}\n" : "\n");
    ASSERT(!l->line.full);
    l->len += l->line.len;
    l->line = writer_of(0, 0);
}

static bool room_for_line(const struct log *l)
{
    return sizeof l->buffer - l->len >= LOG_LINE_BYTES_MAX;
}

static void say_lost(struct log *l)
{
    uint64_t lost = l->lost;
    l->lost = 0;
    open_line(l, LOG_WARN, "log_lines_lost");
    log_number(l, "count", (int64_t)lost);
    close_line(l);
}

void log_begin(struct log *l, enum log_level level, const char *event)
{
    ASSERT(!line_open(l));
    if (level > l->level) {
        return;
    }
    if (!room_for_line(l)) {
        l->lost++;
        return;
    }
    open_line(l, level, event);
}

void log_end(struct log *l)
{
    if (line_open(l)) {
        close_line(l);
    }
}

struct view log_pending(const struct log *l)
{
    ASSERT(l->len <= sizeof l->buffer);
    return view_of(l->buffer, l->len);
}

void log_taken(struct log *l, size_t n)
{
    ASSERT(n <= l->len && !line_open(l));
    memmove(l->buffer, l->buffer + n, l->len - n);
    l->len -= n;
    if (l->lost > 0u && room_for_line(l)) {
        say_lost(l);
    }
}
