/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines from the catalogue (log.c): each is written to the log, counted, and becomes a
 * Kubernetes Event where k8s_events.h lists it. Owns struct report. Internal to src/agent.
 *
 * A line is log_begin, any number of fields, log_end; lines do not nest.
 *
 * The note of an Event has the fields of the log line in the log's text form, with the remedy, cut
 * at 1024 bytes. Durations (keys that end in _ms) are left out, since equal Events must have equal
 * notes. Neither --log-level nor --log-format changes a note.
 */
#ifndef AGENT_REPORT_LOG_H
#define AGENT_REPORT_LOG_H

#include "agent/report/log_catalogue.h"
#include "base/log.h"
#include "cfg/limits.h"
#include "dra/claim.h"

struct agent;

/* The Kubernetes Event of the line being built. */
struct event_draft {
    bool wanted;                  /* the line becomes an Event */
    bool full;                    /* its note takes nothing more */
    size_t len;                   /* bytes of its note */
    const struct claim_id *about; /* borrowed until log_end; NULL: the Node */
    char note[K8S_EVENT_NOTE_CAP];
};

/* The log, and how often each row of its catalogue occurred. */
struct report {
    struct log log;
    uint64_t count[LOG_ID_COUNT];
    enum log_id id;    /* of the line being built */
    bool remedy_given; /* in that line */
    struct event_draft event;
};

/* An empty log with the level and form of the settings. */
void report_init(struct agent *a);
/* Takes over the time of the agent, after each change of it. */
void report_time(struct agent *a);

/* Starts a line and counts it. */
void log_begin(struct agent *a, enum log_id id);
/* Adds a field to the line being built. */
void log_text(struct agent *a, const char *key, const char *value);
/* Adds a field whose value may come from a peer. */
void log_view(struct agent *a, const char *key, struct view value);
/* Adds a field with an integer. */
void log_number(struct agent *a, const char *key, int64_t value);
/* Adds the remedy, where the cause asks for another one than the catalogue's. */
void log_remedy(struct agent *a, const char *text);
/*
 * The line being built concerns a claim: its Kubernetes Event regards that claim. Borrowed until
 * log_end. With names that cannot be a claim's, the Event regards the Node.
 */
void log_about(struct agent *a, const struct claim_id *id);
/* The line being built describes normal work or passes by itself: no Kubernetes Event. */
void log_no_k8s_event(struct agent *a);
/* Ends the line; a warning or error without a remedy gets the catalogue's. */
void log_end(struct agent *a);
/* Writes a whole line with one text field. */
void log_one(struct agent *a, enum log_id id, const char *key, const char *text);
/* Counts `n` occurrences that get no line of their own. */
void log_count(struct agent *a, enum log_id id, uint64_t n);

/* Name of a row, the value of `event=` in its lines; static text, never NULL. */
const char *log_id_name(enum log_id id);

#endif
