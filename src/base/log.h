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

/* Least important last. */
enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
/* Form of every line. */
enum log_format { LOG_TEXT, LOG_JSON };

/* The last lines, those not yet written out behind the others, and the one being built. */
struct log {
    enum log_level level; /* lines above it are dropped */
    enum log_format format;
    uint64_t wall_ms;   /* Unix milliseconds, handed in by whoever steps the program */
    size_t len;         /* bytes in `buffer` */
    size_t written;     /* the first of them are written out, and kept until room is needed */
    uint64_t dropped;   /* bytes that gave way before */
    uint64_t lost;      /* lines that did not fit and are not yet reported */
    bool cut;           /* a field of the line being built did not fit */
    struct writer line; /* the line being built; inactive while data is NULL */
    uint8_t buffer[LOG_BUFFER_BYTES];
};

/* Empty log; lines above `level` will be dropped. */
void log_init(struct log *l, enum log_level level, enum log_format format);
/*
 * Starts a line; fields are added until log_line_end. A line over LOG_LINE_BYTES_MAX keeps the
 * fields that fit and ends with `truncated=true`. The fields of a line that the level filters out
 * are ignored. A line for which too much waits in the buffer is counted as lost.
 */
void log_line_begin(struct log *l, enum log_level level, const char *event);
/* One field of the line being built; `key` is plain ASCII, `value` any text. */
void log_line_text(struct log *l, const char *key, const char *value);
/* One field whose value may come from a peer. */
void log_line_view(struct log *l, const char *key, struct view value);
/* One field whose value is an integer. */
void log_line_number(struct log *l, const char *key, int64_t value);
/* Ends the line; it waits in log_pending from now on. */
void log_line_end(struct log *l);
/* Lines waiting to be written out. Valid until the next call. */
struct view log_pending(const struct log *l);
/*
 * Says that the first `n` pending bytes are written out. Lines lost before are reported here by a
 * line `event=log_lines_lost count=N`, as soon as it has room.
 */
void log_taken(struct log *l, size_t n);
/*
 * The last lines, written out or not, from position *at of the whole log on. Where what was there
 * gave way, from the first line that is whole; *at becomes its position. Valid until the next call.
 */
struct view log_last(const struct log *l, uint64_t *at);
/* Position at which the whole log ends. */
uint64_t log_end_position(const struct log *l);

/*
 * Appends one field in the text form, key=value, whatever the log's own form is; cut off where the
 * writer is full.
 */
void log_word(struct writer *w, const char *key, struct view value);

#endif
