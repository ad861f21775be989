/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines: one event is one line of key=value text or one JSON object. Owns the form of a line
 * and the buffer of the newest lines; knows neither the events nor stderr.
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

/* Log levels, the most important first. */
enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
/* Format of the lines of a log. */
enum log_format { LOG_TEXT, LOG_JSON };

/*
 * The buffer of the newest lines: first those already written out, then the pending ones, then the
 * line being built.
 */
struct log {
    enum log_level level; /* less important lines are dropped */
    enum log_format format;
    uint64_t wall_ms; /* current time in Unix milliseconds; the owner of the log sets it */
    size_t len;       /* bytes in `buffer` */
    /* length of the front part that is written out; make_room drops it when it needs the room */
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
 * are ignored. If the pending lines leave no room, the new line is dropped and counted as lost.
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
 * Marks the first `n` pending bytes as written out. If lines were lost earlier, also adds a line
 * `event=log_lines_lost count=N` as soon as there is room.
 */
void log_written(struct log *l, size_t n);
/*
 * Returns the buffered lines, written out or not, from position *at on; a position counts bytes
 * from the first line ever logged. If that part was dropped, returns the lines from the first
 * complete one on and sets *at to its position. Valid until the next call.
 */
struct view log_last(const struct log *l, uint64_t *at);
/* Position after the last line, counted in bytes from the first line ever logged. */
uint64_t log_end_position(const struct log *l);

/*
 * Appends one field as key=value (the text form, whatever format the log has). If the writer
 * becomes full, only the front part of the field is written.
 */
void log_word(struct writer *w, const char *key, struct view value);

#endif
