/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds each log line (base/log.h) in place after the end of the buffered lines; close_line adds
 * the complete line to them.
 */
#include "base/log.h"

#include <string.h>

#include "base/assert.h"
#include "base/chars.h"
#include "base/json.h"
#include "base/time.h"

#define LOG_LEVELS ((unsigned)LOG_DEBUG + 1u)
static const char *const level_names[LOG_LEVELS] = {
    [LOG_ERROR] = "error", [LOG_WARN] = "warn", [LOG_INFO] = "info", [LOG_DEBUG] = "debug"};

/* Bytes that every line reserves for the field `truncated` and the end of the line. */
enum { LOG_TAIL_BYTES = 24 };
/* Most bytes that make_room drops in one call; dropping as many makes room for any line. */
#define LOG_DROP_BYTES (LOG_BUFFER_BYTES / 4u)
_Static_assert(LOG_DROP_BYTES >= LOG_LINE_BYTES_MAX, "a line fits what gave way");

void log_init(struct log *l, enum log_level level, enum log_format format)
{
    l->level = level;
    l->format = format;
    l->wall_ms = 0;
    l->len = 0;
    l->written = 0;
    l->dropped = 0;
    l->lost = 0;
    l->cut = false;
    l->line = writer_of(0, 0);
}

/* --- the fields of a log line --- */

static bool needs_quotes(struct view v)
{
    for (size_t i = 0; i < v.len; i++) {
        uint8_t c = v.data[i];
        if (!is_visible(c) || c == '"' || c == '=' || c == '\\') {
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

static void write_plain_or_quoted(struct writer *w, struct view v)
{
    if (needs_quotes(v)) {
        write_quoted(w, v);
    } else {
        writer_append(w, v);
    }
}

void log_word(struct writer *w, const char *key, struct view value)
{
    ASSERT(key[0] != '\0');
    writer_text(w, key);
    writer_u8(w, '=');
    write_plain_or_quoted(w, value);
}

static void write_value(const struct log *l, struct writer *w, struct view v)
{
    if (l->format == LOG_JSON) {
        write_quoted(w, v);
    } else {
        write_plain_or_quoted(w, v);
    }
}

static bool line_open(const struct log *l)
{
    return l->line.data != NULL;
}

/* Adds a field if it fits completely and no earlier field of the line was left out. */
static void append_field(struct log *l, const struct writer *field)
{
    if (field->full || l->cut || field->len + LOG_TAIL_BYTES > writer_room(&l->line)) {
        l->cut = true;
        return;
    }
    writer_append(&l->line, writer_view(field));
}

void log_line_view(struct log *l, const char *key, struct view value)
{
    uint8_t bytes[LOG_LINE_BYTES_MAX];
    struct writer field = writer_of(bytes, sizeof bytes);
    if (!line_open(l)) {
        return;
    }
    write_key(l, &field, key, l->line.len == 0u);
    write_value(l, &field, value);
    append_field(l, &field);
}

void log_line_text(struct log *l, const char *key, const char *value)
{
    log_line_view(l, key, view_text(value));
}

void log_line_number(struct log *l, const char *key, int64_t value)
{
    uint8_t bytes[128];
    struct writer field = writer_of(bytes, sizeof bytes);
    if (!line_open(l)) {
        return;
    }
    write_key(l, &field, key, l->line.len == 0u);
    writer_signed(&field, value);
    append_field(l, &field);
}

/* --- beginning, ending and dropping log lines --- */

static void open_line(struct log *l, enum log_level level, const char *event)
{
    uint8_t time_bytes[32];
    struct writer stamp = writer_of(time_bytes, sizeof time_bytes);
    size_t room = sizeof l->buffer - l->len;
    ASSERT(room >= LOG_LINE_BYTES_MAX);
    l->line = writer_of(l->buffer + l->len, LOG_LINE_BYTES_MAX);
    l->cut = false;
    writer_time(&stamp, l->wall_ms, "Z");
    log_line_view(l, "ts", writer_view(&stamp));
    log_line_text(l, "level", level_names[level]);
    log_line_text(l, "event", event);
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

/*
 * Makes room for a line: drops the oldest lines that are already written out, up to LOG_DROP_BYTES
 * in one call, so that memmove runs rarely. Returns false if the pending lines leave no room.
 */
static bool make_room(struct log *l)
{
    if (sizeof l->buffer - l->len < LOG_LINE_BYTES_MAX) {
        size_t n = (l->written < LOG_DROP_BYTES) ? l->written : LOG_DROP_BYTES;
        memmove(l->buffer, l->buffer + n, l->len - n);
        l->len -= n;
        l->written -= n;
        l->dropped += n;
    }
    return sizeof l->buffer - l->len >= LOG_LINE_BYTES_MAX;
}

static void report_lost(struct log *l)
{
    uint64_t lost = l->lost;
    l->lost = 0;
    open_line(l, LOG_WARN, "log_lines_lost");
    log_line_number(l, "count", (int64_t)lost);
    close_line(l);
}

void log_line_begin(struct log *l, enum log_level level, const char *event)
{
    ASSERT(!line_open(l));
    if (level > l->level) {
        return;
    }
    if (!make_room(l)) {
        l->lost++;
        return;
    }
    open_line(l, level, event);
}

void log_line_end(struct log *l)
{
    if (line_open(l)) {
        close_line(l);
    }
}

struct view log_pending(const struct log *l)
{
    ASSERT(l->written <= l->len && l->len <= sizeof l->buffer);
    return view_of(l->buffer + l->written, l->len - l->written);
}

void log_written(struct log *l, size_t n)
{
    ASSERT(n <= l->len - l->written && !line_open(l));
    l->written += n;
    if (l->lost > 0u && make_room(l)) {
        report_lost(l);
    }
}

struct view log_last(const struct log *l, uint64_t *at)
{
    struct view lines = view_of(l->buffer, l->len);
    uint64_t from = (*at > l->dropped) ? *at - l->dropped : 0u;
    ASSERT(from <= l->len);
    if (from == 0u && l->dropped > 0u) {
        /* the first buffered line may lack its start (see make_room), so skip this line */
        from = view_find(lines, (uint8_t)'\n') + 1u;
        ASSERT(from <= l->len);
    }
    *at = l->dropped + from;
    return view_from(lines, (size_t)from);
}

uint64_t log_end_position(const struct log *l)
{
    return l->dropped + l->len;
}
