/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines: one call from any state of the log that `sound` allows, and `sound` again after it; by
 * induction, any sequence of calls. The bytes of the fields matter to no check, except that the
 * buffer's lines end in a newline.
 */
#include "dra_stubs.h"

#include "base/log.c"

static struct log lines;

/* The line that is being built is at the end of the buffer, and has room for its tail. */
static bool line_sound(const struct log *l)
{
    bool room = sizeof l->buffer - l->len >= LOG_LINE_BYTES_MAX;
    bool text = l->line.data == l->buffer + l->len && l->line.cap == LOG_LINE_BYTES_MAX &&
                l->line.len <= LOG_LINE_BYTES_MAX - LOG_TAIL_BYTES && !l->line.full;
    return l->line.data == NULL || (room && text);
}

static bool bounded(const struct log *l)
{
    return l->written <= l->len && l->len <= sizeof l->buffer && line_sound(l) &&
           (l->dropped == 0u || l->len > 0u);
}

/* What log_init establishes and every call keeps. */
static bool sound(const struct log *l)
{
    return bounded(l) && (l->len == 0u || l->buffer[l->len - 1u] == (uint8_t)'\n');
}

static struct log *any_log(bool open)
{
    lines.len = any_length(sizeof lines.buffer);
    lines.written = any_length(lines.len);
    lines.level = any_bool() ? LOG_WARN : LOG_DEBUG;
    lines.format = any_bool() ? LOG_TEXT : LOG_JSON;
    lines.wall_ms = any_u64();
    lines.dropped = any_u64();
    lines.lost = any_u64();
    lines.cut = any_bool();
    lines.line = writer_of(NULL, 0);
    if (open) {
        lines.line = (struct writer){.data = lines.buffer + lines.len,
                                     .cap = LOG_LINE_BYTES_MAX,
                                     .len = any_length(LOG_LINE_BYTES_MAX)};
    }
    /* a program logs fewer than 2^62 bytes and lines */
    ASSUME(bounded(&lines) && lines.dropped >> 62u == 0u && lines.lost >> 62u == 0u);
    return &lines;
}

/* Any log whose lines end as close_line ended the last one. */
static struct log *any_ended_log(bool open)
{
    struct log *l = any_log(open);
    if (l->len > 0u) {
        l->buffer[l->len - 1u] = (uint8_t)'\n';
    }
    return l;
}

/* Memory of any content but its last byte, which is all that `sound` says of it. */
void *stub_memmove(void *to, const void *from, size_t n)
{
    CHECK(n > 0u && __CPROVER_r_ok(from, n) && __CPROVER_w_ok(to, n));
    ((uint8_t *)to)[n - 1u] = ((const uint8_t *)from)[n - 1u];
    return to;
}

/* The first newline is not behind the last byte, if that is one. */
size_t stub_find_newline(struct view a, uint8_t byte)
{
    size_t at = stub_view_find(a, byte);
    ASSUME(a.len == 0u || a.data[a.len - 1u] != byte || at < a.len);
    return at;
}

/* Appends a text; of its bytes, only the last one matters. */
void stub_append_text(struct writer *w, const char *text)
{
    size_t n = strlen(text);
    stub_writer_bytes(w, text, n);
    if (!w->full && n > 0u) {
        w->data[w->len - 1u] = (uint8_t)text[n - 1u];
    }
}

static void append_any(struct writer *w)
{
    CHECK(w->len <= w->cap);
    w->len += any_length(w->cap - w->len);
    w->full = w->full || any_bool();
}

/* Proof json_write_string. */
void stub_json_string(struct json_writer *w, struct view text)
{
    stub_check_view(text);
    append_any(w->out);
}

/* Proof text_numbers. */
void stub_writer_signed(struct writer *w, int64_t value)
{
    (void)value;
    append_any(w);
}

void stub_writer_time(struct writer *w, uint64_t wall_ms, const char *end)
{
    (void)wall_ms;
    CHECK(__CPROVER_r_ok(end, 1));
    append_any(w);
}

/* Proof log_field. */
static void add_field(struct log *l)
{
    CHECK(bounded(l));
    if (l->line.data == NULL) {
        return;
    }
    l->line.len += any_length(LOG_LINE_BYTES_MAX - LOG_TAIL_BYTES - l->line.len);
    l->cut = l->cut || any_bool();
}

void stub_log_line_view(struct log *l, const char *key, struct view value)
{
    CHECK(__CPROVER_r_ok(key, 1));
    stub_check_view(value);
    add_field(l);
}

void proof_log_init(void)
{
    static struct log l;
    log_init(&l, LOG_INFO, any_bool() ? LOG_TEXT : LOG_JSON);
    CHECK(sound(&l) && l.len == 0u && log_pending(&l).len == 0u && log_end_position(&l) == 0u);
}

void proof_log_field(void)
{
    struct log *l = any_log(any_bool());
    size_t len = l->line.len;
    if (any_bool()) {
        log_line_view(l, "key", any_view(ANY_LENGTH));
    } else if (any_bool()) {
        log_line_text(l, "key", "value");
    } else {
        log_line_number(l, "key", any_i64());
    }
    CHECK(bounded(l) && l->line.len >= len); /* no byte of the buffer but the line's changes */
}

void proof_log_quotes(void)
{
    struct view v = any_view(ANY_LENGTH);
    CHECK(needs_quotes(v) || v.len > 0u);
}

void proof_log_word(void)
{
    struct writer w = any_writer(ANY_LENGTH);
    bool full = w.full;
    log_word(&w, "key", any_view(ANY_LENGTH));
    CHECK(w.len <= w.cap && (!full || w.full));
}

void proof_log_begin(void)
{
    struct log *l = any_ended_log(false);
    unsigned level = any_unsigned();
    ASSUME(level < LOG_LEVELS);
    uint64_t lost = l->lost;
    log_line_begin(l, (enum log_level)level, "event");
    CHECK(sound(l) && (l->lost == lost || l->line.data == NULL));
}

void proof_log_end(void)
{
    struct log *l = any_ended_log(any_bool());
    log_line_end(l);
    CHECK(sound(l) && l->line.data == NULL);
}

void proof_log_last(void)
{
    struct log *l = any_ended_log(any_bool());
    uint64_t end = log_end_position(l);
    uint64_t at = any_u64();
    ASSUME(at <= end); /* an earlier position, which log_last or log_end_position returned */
    uint64_t before = at;
    struct view v = log_last(l, &at);
    CHECK(at >= before && at + v.len == end);
    CHECK(view_within(v, view_of(l->buffer, l->len)));
}
