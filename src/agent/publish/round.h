/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One round of the publisher (round.c): wait for the Node, list the slices of this driver and node,
 * delete the unwanted ones, write those that differ. One request at a time. Owns struct round.
 * Internal to src/agent.
 */
#ifndef AGENT_PUBLISH_ROUND_H
#define AGENT_PUBLISH_ROUND_H

#include "agent/publish/slice_codec.h"
#include "agent/report/refusal.h"

/* Steps of a round, in their order. */
enum round_step {
    ROUND_IDLE, /* no round is running */
    ROUND_NODE, /* waits until UID and labels of the Node are known */
    ROUND_LIST,
    ROUND_DELETE, /* deletes the unwanted slices, one after another */
    ROUND_WRITE,  /* writes the slices that differ, one after another */
    ROUND_STEPS   /* number of steps */
};

/* What the last list and the watch show about the stored slices. */
enum stored_state {
    STORED_UNKNOWN, /* the stored slices differ from the wanted ones, or may differ */
    /*
     * like STORED_UNKNOWN, but the slices were logged as published: if they still match, they are
     * not logged again
     */
    STORED_RECHECK,
    STORED_CURRENT, /* the stored slices match the wanted ones; this was not logged */
    STORED_REPORTED /* the stored slices match the wanted ones; this was logged */
};

/* Why the server refused a request, from the causes in its Status. */
struct refusal_cause {
    char text[SLICE_CAUSE_CAP];  /* message of the first cause; empty: none */
    char field[SLICE_CAUSE_CAP]; /* the slice's field to which the first cause refers */
    bool too_many_devices;       /* a cause refers to the field spec.devices */
};

/* The current round. */
struct round {
    enum round_step step;
    enum stored_state stored;
    /* why the stored slices may differ, static text; NULL: no reason is known */
    const char *trouble;
    bool partial;          /* the server returned only the first page of the list */
    unsigned foreign;      /* listed slices that the field selector should have excluded */
    bool foreign_reported; /* the log already says that the last list had foreign slices */
    struct slice_observer observer;
    struct slice_request request; /* the request whose body is being sent */
    struct refusal_cause cause;
    struct refusal refusal;
    bool no_counters; /* the API server does not keep shared counters */
    bool no_shares;   /* the API server does not keep shares: devices are exclusive */
    /* when no device was found: until when the stored slices are kept; 0: not set yet */
    uint64_t kept_until_ms;
    /* when the stored slices were last known to match, Unix milliseconds; 0: never */
    uint64_t current_wall_ms;
};

/* The functions that every room has, see frame.h. */
void round_init(struct agent *a);
void round_step(struct agent *a);
uint64_t round_deadline(const struct agent *a);
/* Handle a record of the response to a round's request, and the end of the request. */
void round_record(struct agent *a, const struct kube_record *record);
void round_end(struct agent *a, const struct api_result *result);
/* Requests a round: it starts as soon as pacing.h allows, or after the current round. */
void round_soon(struct agent *a);
/*
 * Requests a round because a stored slice may differ: within `wait_ms`, or after the current round.
 */
void round_recheck(struct agent *a, uint64_t wait_ms);
/* Requests a round because the wanted content changed. */
void round_content_changed(struct agent *a);
/* Handles a change of the API version: the server may now keep fields that it dropped before. */
void round_version(struct agent *a);
/* Gives up the current round; another one starts once requests are possible. */
void round_abandon(struct agent *a);
/* Gives up the current round; from now on the stored slices do not count as matching. */
void round_suspend(struct agent *a);
/* Whether the stored slices are known to match the wanted ones. */
bool round_current(const struct agent *a);

#endif
