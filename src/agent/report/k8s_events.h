/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator is to see in `kubectl describe node` and `kubectl get events` (event_notes.c):
 * which events of the catalogue also become Kubernetes Events, their notes, and the table in which
 * they wait for recorder.c, equal ones counted together. Owns struct notes; sends nothing.
 * Internal to src/agent.
 *
 * The note of an Event is its fields as they stand in the log's text form, with the remedy, cut at
 * 1024 bytes; durations (keys that end in _ms) are left out, since equal Events must have equal
 * notes. Neither --log-level nor --log-format changes it.
 */
#ifndef AGENT_REPORT_K8S_EVENTS_H
#define AGENT_REPORT_K8S_EVENTS_H

#include "agent/report/log_catalogue.h"
#include "cfg/limits.h"
#include "dra/claim.h"

/*
 * The reasons, which are stable. Applies X to every row: X(event, warning, reason, action). Each
 * regards the Node, or the claim that log_about names; a healthy node that starts, restarts or
 * prepares claims has none. An event that is no row stands in the log alone.
 */
#define K8S_EVENT_REASONS(X)                                                                           \
    X(LOG_ID_DEVICE_ISSUE_FOUND, true, "NeuronDeviceIssue", "Discover")                            \
    X(LOG_ID_PROBE_FAILED, true, "NeuronDiscoveryFailed", "Discover")                              \
    X(LOG_ID_INSTANCE_TYPE_MISMATCH_FOUND, true, "InstanceTypeMismatch", "Discover")               \
    X(LOG_ID_SOCKET_OPEN_FAILED, true, "SocketOpenFailed", "Listen")                               \
    X(LOG_ID_SOCKET_FILE_LOST, true, "SocketFileLost", "Listen")                                   \
    X(LOG_ID_REGISTRATION_REFUSED, true, "RegistrationRefused", "Register")                        \
    X(LOG_ID_REGISTRATION_SOCKET_REPLACED, true, "RegistrationOverdue", "Register")                \
    X(LOG_ID_RESOURCE_API_NOT_SERVED, true, "ResourceAPINotServed", "Publish")                     \
    X(LOG_ID_API_REQUEST_FAILED, true, "APIRequestFailed", "Publish")                              \
    X(LOG_ID_SLICE_FIELDS_DROPPED, true, "ResourceSliceFieldsDropped", "Publish")                  \
    X(LOG_ID_SLICE_ITEM_OMITTED, true, "ResourceSliceItemOmitted", "Publish")                      \
    X(LOG_ID_API_RESPONSE_UNEXPECTED, true, "UnexpectedAPIResponse", "Publish")                    \
    X(LOG_ID_SLICE_DRIFT_DETECTED, false, "ResourceSliceDriftDetected", "Publish")                 \
    X(LOG_ID_CLAIM_FAILED, true, "ClaimFailed", "Prepare")                                         \
    X(LOG_ID_CDI_FILE_FAILED, true, "CDIFileFailed", "Prepare")                                    \
    X(LOG_ID_STORE_DAMAGED, true, "ClaimStoreDamaged", "OpenStore")                                \
    X(LOG_ID_STORE_SLOT_DAMAGED, true, "ClaimRecordLost", "OpenStore")                             \
    X(LOG_ID_STORE_FAILED, true, "ClaimStoreFailed", "OpenStore")

/* One row of the table; static texts. */
struct event_reason {
    uint8_t event; /* enum log_id */
    bool warning;  /* its type is Warning, else Normal */
    const char *action;
    const char *reason;
};

/* How far one Event has come; `state` of struct note. */
enum { NOTE_FREE, NOTE_NEW, NOTE_STORED };

/* One Event: what it says, and how often that came. */
struct note {
    uint8_t state;          /* NOTE_… */
    uint8_t reason;         /* row of the table */
    uint32_t count;         /* how often it came */
    uint32_t told;          /* how often, as the API server knows */
    uint64_t first_wall_ms; /* Unix milliseconds, as is last_wall_ms */
    uint64_t last_wall_ms;
    uint64_t first_ms;
    uint64_t last_ms;
    uint64_t told_ms;      /* when the API server was told last */
    uint64_t serial;       /* last part of its name, unlike any other's */
    struct claim_id about; /* empty name: the Node */
    char text[NOTE_CAP];
};

/* The row of what stands in the log alone. */
#define NOTE_NO_ROW 255u

/* The table, and the event whose line is under way. */
struct notes {
    unsigned row;                 /* of the event under way; NOTE_NO_ROW: no Event comes of it */
    bool full;                    /* its note takes nothing more */
    size_t len;                   /* bytes of its note */
    const struct claim_id *about; /* borrowed until log_end; NULL: the Node */
    char text[NOTE_CAP];
    uint64_t dropped; /* Events for which there was no room, not yet logged */
    struct note note[NOTES_MAX];
};

struct agent;

/* The row of a note's reason. Never NULL. */
const struct event_reason *note_reason(const struct note *n);
/* Whether the API server is to hear of a note again: it came more often than was told. */
bool note_untold(const struct note *n);

/* --- for events.c: beside the line of each event --- */

/* Begins the note of an event, if it has one. */
void notes_begin(struct agent *a, enum log_id id);
/* Adds a field to it. */
void notes_field(struct agent *a, const char *key, struct view value);
/* Puts it into the table, or counts it there. */
void notes_end(struct agent *a);

#endif
