/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One round of the publisher (round.c): it waits for the Node, lists the slices of this driver and
 * node, deletes the unwanted slices, and writes the slices that differ. It sends one request at a
 * time. Owns struct round. Internal to src/agent.
 */
#ifndef AGENT_PUBLISH_ROUND_H
#define AGENT_PUBLISH_ROUND_H

#include "agent/publish/slice_codec.h"
#include "agent/report/refusal.h"

/* The steps of a round, in the order in which they run. */
enum round_step {
    ROUND_IDLE, /* no round is running */
    ROUND_NODE, /* the round waits until UID and labels of the Node are known */
    ROUND_LIST,
    ROUND_DELETE, /* the round deletes the unwanted slices, one after another */
    ROUND_WRITE,  /* the round writes the slices that differ, one after another */
    ROUND_STEPS   /* number of steps of a round */
};

/* What the last list and the watch show about the stored slices. */
enum stored_state {
    STORED_UNKNOWN, /* the stored slices differ from the wanted ones, or may differ */
    /*
     * like STORED_UNKNOWN, but the log already says that the slices are published, and does not say
     * so again if they still match the wanted ones
     */
    STORED_RECHECK,
    STORED_CURRENT, /* the stored slices match the wanted ones, and this was not logged */
    STORED_REPORTED /* the stored slices match the wanted ones, and this was logged */
};

/* Slices of this driver and node in the first complete list that this process received. */
enum first_list {
    FIRST_LIST_UNKNOWN, /* no list is complete yet */
    FIRST_LIST_EMPTY,   /* the list had no slice */
    FIRST_LIST_FULL     /* the list had slices */
};

/* Why the server refused a request, according to the causes in its Status. */
struct refusal_cause {
    /* message of the first cause in the Status; empty: it has no cause */
    char text[SLICE_CAUSE_CAP];
    /* field of the slice to which the first cause in the Status refers */
    char field[SLICE_CAUSE_CAP];
    /* a cause names the field spec.devices: the slice has too many devices */
    bool too_many_devices;
};

/* The state of the current round. */
struct round {
    enum round_step step;
    enum stored_state stored;
    enum first_list first_list;
    /* why the stored slices may differ from the wanted ones, static text; NULL: no known reason */
    const char *trouble;
    bool partial;     /* the server returned only the first page of the list */
    unsigned foreign; /* number of listed slices that the field selector should have excluded */
    bool foreign_reported; /* the log already says that the last list had foreign slices */
    struct slice_observer observer;
    struct slice_request request; /* the request whose body is being sent */
    struct refusal_cause cause;
    struct refusal refusal;
    bool no_counters;  /* the API server does not keep shared counters */
    bool no_shares;    /* the API server does not keep shares: devices are exclusive */
    bool no_resources; /* the API server does not keep node resources of devices */
    /* until when the stored slices are kept although no device was found; 0: not set yet */
    uint64_t kept_until_ms;
    /*
     * when the stored slices were last known to match the wanted ones, Unix milliseconds; 0: never
     */
    uint64_t current_wall_ms;
};

/* The init, step and deadline functions of a round, see frame.h. */
void round_init(struct agent *a);
void round_step(struct agent *a);
uint64_t round_deadline(const struct agent *a);
/*
 * round_record handles a record of the response to a round's request; round_end, the end of that
 * request.
 */
void round_record(struct agent *a, const struct kube_record *record);
void round_end(struct agent *a, const struct api_result *result);
/* Requests a round, which starts as soon as pacing.h allows, or after the current round. */
void round_soon(struct agent *a);
/*
 * Requests a round because a stored slice may differ. The round starts within `wait_ms`, or after
 * the current round.
 */
void round_recheck(struct agent *a, uint64_t wait_ms);
/* Requests a round because the wanted content changed. */
void round_content_changed(struct agent *a);
/* Handles a change of the API version: the server may now keep fields that it dropped before. */
void round_version(struct agent *a);
/* Gives up the current round; another round starts once requests are possible. */
void round_abandon(struct agent *a);
/*
 * Gives up the current round; from now on the stored slices count as different from the wanted
 * ones.
 */
void round_suspend(struct agent *a);
/* Whether the stored slices are known to match the wanted ones. */
bool round_current(const struct agent *a);

#endif
