/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines from the catalogue (log.c): writes each line to the log, counts the event of the line,
 * and makes the line a Kubernetes Event if k8s_events.h lists that event. Owns struct report.
 * Internal to src/agent.
 *
 * To write a line, call log_begin, then functions that add fields, then log_end. Lines do not nest.
 *
 * The note of an Event has the fields of the log line in the log's text form, with the remedy, cut
 * at 1024 bytes. Durations (keys that end in _ms) are left out, because equal Events must have
 * equal notes. Neither --log-level nor --log-format changes a note.
 */
#ifndef AGENT_REPORT_LOG_H
#define AGENT_REPORT_LOG_H

#include "agent/report/log_catalogue.h"
#include "base/log.h"
#include "cfg/limits.h"
#include "dra/claim.h"

struct agent;

/* Initializes an empty log with the level and format of the settings. */
void report_init(struct agent *a);
/* Copies the agent's time into the log; must be called after each change of that time. */
void report_time(struct agent *a);

/* Starts a log line, and counts the event that it reports. */
void log_begin(struct agent *a, enum log_id id);
/* Adds a field with a text to the current line. */
void log_text(struct agent *a, const char *key, const char *value);
/* Adds a field to the current line; its value may be any bytes, for example from a peer. */
void log_view(struct agent *a, const char *key, struct view value);
/* Adds a field with an integer to the current line. */
void log_number(struct agent *a, const char *key, int64_t value);
/* Adds to the current line a remedy that fits the cause better than the remedy in the catalogue. */
void log_remedy(struct agent *a, const char *text);
/*
 * Omits the catalogue's remedy from the current line, because a field of the line has a more
 * specific one.
 */
void log_no_remedy(struct agent *a);
/* Adds the three fields that name a claim: namespace, claim and claim_uid. */
void log_claim(struct agent *a, const struct claim_id *id);
/*
 * Makes the current line's Kubernetes Event regard this claim. `id` is borrowed until log_end. If
 * the names in `id` are not valid for a claim, the Event regards the Node.
 */
void log_about(struct agent *a, const struct claim_id *id);
/*
 * Prevents the current line from becoming a Kubernetes Event, because it is about normal work or a
 * transient failure.
 */
void log_no_k8s_event(struct agent *a);
/* Ends the current line; a warning or error that has no remedy gets the catalogue's remedy. */
void log_end(struct agent *a);
/* Writes a complete log line with one text field. */
void log_one(struct agent *a, enum log_id id, const char *key, const char *text);
/* Whether debug lines are logged; a caller that needs time to prepare such a line asks first. */
bool log_shows_debug(const struct agent *a);
/* Adds `n` to the counter of a log event, without writing a line. */
void log_count(struct agent *a, enum log_id id, uint64_t n);

/* --- reading the log and its counters --- */

/* The log lines that the host has not written to stderr yet. */
struct view report_pending(const struct agent *a);
/* Records that the host has written the first `n` bytes of report_pending to stderr. */
void report_written(struct agent *a, size_t n);
/*
 * report_end returns the position after the last log line; report_last, the buffered lines from
 * position *at on. log_end_position and log_last (base/log.h) say more.
 */
uint64_t report_end(const struct agent *a);
struct view report_last(const struct agent *a, uint64_t *at);
/* How many times this log event was logged or counted. */
uint64_t report_count(const struct agent *a, enum log_id id);

/* Name of a log event, the value of `event=` in its lines; static text, never NULL. */
const char *log_id_name(enum log_id id);

#endif
