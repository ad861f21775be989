/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One round of the publisher (round.c): wait for the Node, list our slices, delete what is not
 * wanted, write what differs. One request at a time. Owns struct round. Internal to src/agent.
 */
#ifndef AGENT_PUBLISH_ROUND_H
#define AGENT_PUBLISH_ROUND_H

#include "agent/publish/slice_codec.h"
#include "agent/report/refusal.h"

/* Steps of a round, in their order. */
enum round_step {
    ROUND_IDLE, /* no round is under way */
    ROUND_NODE, /* waits until UID and labels of the Node are known */
    ROUND_LIST,
    ROUND_DELETE, /* one slice after the other */
    ROUND_WRITE,  /* likewise */
    ROUND_STEPS   /* number of steps */
};

/* The stored slices, as the last list and watch report them. */
enum stored_state {
    STORED_UNKNOWN, /* they differ from the wanted ones, or it is not known whether they do */
    STORED_RECHECK, /* likewise, but the log has them as published: no second line if they are */
    STORED_CURRENT, /* they are the wanted ones */
    STORED_REPORTED /* they are, and that was logged */
};

/* Why the server refuses a request, by the causes in its Status. */
struct refusal_cause {
    char text[SLICE_CAUSE_CAP];  /* of the first cause; empty: none */
    char field[SLICE_CAUSE_CAP]; /* what that is about */
    bool too_many_devices;       /* any cause names the list of devices */
};

/* The round under way. */
struct round {
    enum round_step step;
    enum stored_state stored;
    const char *trouble;   /* of the last failed round, static text; NULL: none */
    bool partial;          /* the list under way is only a page */
    unsigned foreign;      /* slices in it that the field selector should have kept out */
    bool foreign_reported; /* that the last list had some was logged */
    struct slice_observer observer;
    struct slice_request request; /* whose body is being sent */
    struct refusal_cause cause;
    struct refusal refusal;
    bool no_counters;         /* the API server does not keep shared counters */
    bool no_shares;           /* nor that claims share a device: devices are exclusive */
    uint64_t kept_until_ms;   /* stored devices that were not found stay until then; 0: not so */
    uint64_t current_wall_ms; /* when the stored slices were last known to be right; 0: never */
};

/* The verbs of state.h. */
void round_init(struct agent *a);
void round_step(struct agent *a);
uint64_t round_deadline(const struct agent *a);
/* A record, and the end, of the response to its request. */
void round_record(struct agent *a, const struct kube_record *record);
void round_end(struct agent *a, const struct api_result *result);
/* A round is asked for: it starts as soon as it may, or follows the one under way. */
void round_soon(struct agent *a);
/*
 * A stored slice may differ from the wanted one: a round starts within `wait_ms`, or follows the
 * one under way.
 */
void round_recheck(struct agent *a, uint64_t wait_ms);
/* The wanted content changed. */
void round_content_changed(struct agent *a);
/* Another version of the API is spoken: what the server keeps is tried again. */
void round_version(struct agent *a);
/* Gives up the round under way; another one starts once requests can be made. */
void round_abandon(struct agent *a);
/* Whether the stored slices are known to be the wanted ones. */
bool round_current(const struct agent *a);

#endif
