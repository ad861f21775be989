/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines: each event is one line of key=value text or one JSON object. Owns the form of a line
 * and the buffer of the newest lines; knows neither the names of events nor stderr.
 *
 * Form (text): ts=2026-11-21T12:00:00.123Z level=info event=<name> key=value key="quoted value" …
 * Values are quoted like JSON strings if they are empty or have a space, a quote, a backslash, '='
 * or a byte outside printable ASCII.
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
 * A log and its buffer of the newest lines: first the lines already written out, then the pending
 * lines, then the line being built.
 */
struct log {
    enum log_level level; /* lines less important than this level are dropped */
    enum log_format format;
    uint64_t wall_ms; /* current time in Unix milliseconds; the owner of the log sets it */
    size_t len;       /* number of bytes of all complete lines in `buffer` */
    /* number of bytes at the front of `buffer` already written out; make_room may drop them */
    size_t written;
    uint64_t dropped; /* number of bytes dropped from the front of `buffer` so far */
    /* number of lines dropped for lack of room since the last line `log_lines_lost` */
    uint64_t lost;
    /* a field of the current line did not fit, so the line will end with `truncated=true` */
    bool cut;
    struct writer line; /* the current line; line.data is NULL if there is none */
    uint8_t buffer[LOG_BUFFER_BYTES];
};

/* Initializes an empty log; lines less important than `level` will be dropped. */
void log_init(struct log *l, enum log_level level, enum log_format format);
/*
 * Starts a line; the caller then adds fields and calls log_line_end. A line over LOG_LINE_BYTES_MAX
 * keeps the fields that fit and ends with `truncated=true`. A line that is less important than the
 * log's level is dropped with its fields. If the pending lines leave no room, the new line is
 * dropped and counted as lost.
 */
void log_line_begin(struct log *l, enum log_level level, const char *event);
/* Adds a field to the current line; `key` is plain ASCII, `value` any text. */
void log_line_text(struct log *l, const char *key, const char *value);
/* Adds a field whose value may have any bytes, for example bytes that a peer sent. */
void log_line_view(struct log *l, const char *key, struct view value);
/* Adds a field with an integer value. */
void log_line_number(struct log *l, const char *key, int64_t value);
/* Ends the line; log_pending includes it from now on. */
void log_line_end(struct log *l);
/* The lines that wait to be written out. Valid until the next call that changes the log. */
struct view log_pending(const struct log *l);
/*
 * Marks the first `n` pending bytes as written out. If lines were lost earlier and the buffer has
 * room for it now, also adds a line `event=log_lines_lost count=N`.
 */
void log_written(struct log *l, size_t n);
/*
 * Returns the buffered lines from position *at on, whether written out or not; a position is a
 * number of bytes, counted from the first line ever logged. If the line at *at was dropped, starts
 * at the oldest complete line. Sets *at to the position of the first returned line. Valid until the
 * next call that changes the log.
 */
struct view log_last(const struct log *l, uint64_t *at);
/* Position after the last line, counted in bytes from the first line ever logged. */
uint64_t log_end_position(const struct log *l);

/*
 * Appends one field as key=value: always in the text form, even if the log's format is JSON. If the
 * writer becomes full, it has only the first part of the field.
 */
void log_word(struct writer *w, const char *key, struct view value);

#endif
