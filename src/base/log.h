/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines: one event is one line of key=value text or one JSON object, written into a caller's
 * buffer. Owns the form of a line and the buffer of lines not yet written out; knows neither the
 * events nor stderr.
 *
 * Form (text): ts=2026-11-21T12:00:00.123Z level=info event=<name> key=value key="quoted value" …
 * Values are quoted, as JSON strings are, when empty or when they hold a space, a quote, a
 * backslash, '=' or a byte outside printable ASCII.
 *
 * Form (JSON): {"ts":"…","level":"info","event":"<name>","key":"value","number":1}
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* In descending order of importance. */
enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
/* Form of every line. */
enum log_format { LOG_TEXT, LOG_JSON };

/*
 * The newest lines, with pending ones behind those already written out, and the line being built.
 */
struct log {
    enum log_level level; /* lines that are less important are dropped */
    enum log_format format;
    uint64_t wall_ms; /* Unix milliseconds, set by whoever steps the program */
    size_t len;       /* bytes in `buffer` */
    /* length of the front part that is written out, kept until its room is needed */
    size_t written;
    uint64_t dropped;   /* bytes dropped from the front so far */
    uint64_t lost;      /* lines that did not fit, not reported yet */
    bool cut;           /* a field of the current line did not fit */
    struct writer line; /* the current line; none while data is NULL */
    uint8_t buffer[LOG_BUFFER_BYTES];
};

/* Initializes an empty log; lines less important than `level` will be dropped. */
void log_init(struct log *l, enum log_level level, enum log_format format);
/*
 * Starts a line; fields are added until log_line_end. A line over LOG_LINE_BYTES_MAX keeps the
 * fields that fit and ends with `truncated=true`. The fields of a line that the level filters out
 * are ignored. A line without room behind the pending ones is counted as lost.
 */
void log_line_begin(struct log *l, enum log_level level, const char *event);
/* Adds a field to the current line; `key` is plain ASCII, `value` any text. */
void log_line_text(struct log *l, const char *key, const char *value);
/* Adds a field whose value may come from a peer. */
void log_line_view(struct log *l, const char *key, struct view value);
/* Adds a field with an integer value. */
void log_line_number(struct log *l, const char *key, int64_t value);
/* Ends the line; log_pending includes it from now on. */
void log_line_end(struct log *l);
/* Lines waiting to be written out. Valid until the next call. */
struct view log_pending(const struct log *l);
/*
 * Marks the first `n` pending bytes as written out. Also reports lines lost earlier by a line
 * `event=log_lines_lost count=N`, as soon as there is room.
 */
void log_written(struct log *l, size_t n);
/*
 * The newest lines, written out or not, from position *at of the whole log on. If that part was
 * dropped, starts at the first complete line and sets *at to its position. Valid until the next
 * call.
 */
struct view log_last(const struct log *l, uint64_t *at);
/* Position of the end of the whole log. */
uint64_t log_end_position(const struct log *l);

/*
 * Appends one field in the text form, key=value, in either format of the log; cut where the writer
 * is full.
 */
void log_word(struct writer *w, const char *key, struct view value);

#endif
