/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of src/agent/report for all drivers: the log, durations and Kubernetes Events. Only the
 * files of this folder and agent/state.h include this header.
 */
#ifndef AGENT_REPORT_ROOM_H
#define AGENT_REPORT_ROOM_H

#include "agent/report/durations.h"
#include "agent/report/k8s_event_writer.h"
#include "agent/report/k8s_events.h"
#include "agent/report/log.h"

/* Draft of the Kubernetes Event for the current log line. */
struct event_draft {
    bool wanted; /* a Kubernetes Event must be added to the queue when the line ends */
    bool full;   /* the note of the Event is full */
    size_t len;  /* length of the note of the Event in bytes */
    /* the claim that the Event regards, borrowed until log_end; NULL: the Node */
    const struct claim_id *about;
    char note[K8S_EVENT_NOTE_CAP];
};

/* The log, a counter for each row of its catalogue, the durations, and the Kubernetes Events. */
struct report {
    struct log log;
    uint64_t count[LOG_ID_COUNT];
    enum log_id id;    /* catalogue row of the current log line */
    bool remedy_given; /* the current log line has a remedy */
    struct event_draft event;
    struct durations durations;
    struct k8s_events k8s_events;
    struct k8s_event_writer k8s_event_writer;
};

#endif
