/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The publisher (publish.c and its parts). Owns struct publish. Internal to src/agent.
 */
#ifndef AGENT_PUBLISH_PUBLISH_H
#define AGENT_PUBLISH_PUBLISH_H

#include "agent/api/client.h"
#include "agent/report/refusal.h"
#include "dra/slice.h"

/* Steps of a round. */
enum publish_step {
    PUBLISH_IDLE, /* nothing to do until a change, a watch event or the interval */
    PUBLISH_NODE, /* waiting for what is known of the Node */
    PUBLISH_LIST,
    PUBLISH_DELETE, /* removing what is not wanted, one by one */
    PUBLISH_WRITE   /* writing what differs, one by one */
};
/* Numbers of steps. */
#define PUBLISH_STEPS ((unsigned)PUBLISH_WRITE + 1u)

/* What matters of one stored slice. */
struct slice_seen {
    char name[NAME_CAP];
    char uid[UID_CAP];
    char resource_version[RESOURCE_VERSION_CAP];
    char owner_uid[UID_CAP];
    int64_t generation;
    int64_t slice_count;
    unsigned first; /* its devices are the wanted ones from this on, `count` of them: `same` */
    unsigned count;
    uint32_t sum;  /* of what was told of devices, owner and unknown fields */
    bool selected; /* driver and node are ours: what the field selector asks for */
    bool ours;     /* the pool too */
    bool plain;    /* nothing unknown stands in the spec */
    bool same;
    bool going;  /* is being deleted, as soon as its finalizers are gone */
    bool doomed; /* to be deleted */
};

/* One of the slices that the pool is cut into. */
struct slice_part {
    unsigned first; /* its devices in `wanted` */
    unsigned count;
    bool write; /* what is stored of it differs, or nothing is */
    bool lossy; /* the server stored less than was sent: `stored_sum` is all there will be */
    uint32_t stored_sum;
    struct slice_seen kept; /* the stored slice that it is; empty name: none */
};

/* The round under way, and what is known of the stored slices. */
struct publish {
    enum publish_step step;
    enum api_version version; /* of the body under way: it is encoded piece by piece */
    bool running;             /* the step's request is in flight */
    bool current;             /* stored == wanted, as far as is known */
    bool said;                /* `current` was logged since it became true */
    bool again;               /* a hint came during a round: another one follows */
    bool cut_known;           /* a list told how the pool was cut before */
    bool selector_said;       /* that the server ignores the selector */
    bool selector_ignored;    /* in the list under way */
    bool partial;             /* likewise: only a page of it came */
    const char *trouble;      /* of the last failed round, static text; NULL: none */
    struct refusal refusal;
    uint64_t current_wall_ms; /* when `current` was last found true, Unix milliseconds; 0: never */
    uint64_t due_ms;          /* when the next round begins; UINT64_MAX: not planned */
    uint64_t spread_ms;       /* by which the first round waits longer; 0 once it began */
    uint64_t not_before_ms;   /* no round begins earlier, whatever the hints say */
    uint64_t backoff_ms;
    uint64_t invalid_ms;   /* backoff of content that the server calls invalid; 0: it does not */
    uint64_t write_ms;     /* last write */
    uint64_t fight_ms;     /* backoff between writes that follow each other closely */
    unsigned writes;       /* that followed each other closely */
    uint64_t watch_due_ms; /* when the watch is (re)opened */
    uint64_t watch_backoff_ms;
    char resource_version[RESOURCE_VERSION_CAP]; /* watch from here */
    char watch_type[16];
    char cause[SLICE_CAUSE_CAP]; /* first cause of the refusal under way; empty: none */
    char field[SLICE_CAUSE_CAP]; /* what it is about */
    bool too_many;               /* a cause names the number of devices */
    int64_t generation_max;      /* highest that was ever seen */
    unsigned seen_count;
    unsigned overflow;  /* slices that did not fit `seen` */
    uint32_t body_len;  /* of the step under way: envelope and object */
    int64_t generation; /* of the wanted slices */
    unsigned cut;       /* most devices in one slice */
    unsigned parts;
    struct slice_part part[SLICES_MAX];
    struct slice_seen now; /* object under way */
    struct slice_seen seen[SLICES_SEEN_MAX];
    uint32_t left_out[LEFT_OUT_SAID_MAX]; /* checksums of what was said to be left out */
    unsigned left_out_count;
    char owner[UID_CAP];          /* UID of the Node; this and `wanted` stay put during a round */
    struct devices wanted;        /* what is published */
    struct attributes attributes; /* of the device being encoded; too large for the stack */
    struct slice_compare compare;
    struct slice_compare watch_compare;
    struct slice_seen watch_now;
};

/* The module's verbs, see state.h. */
void publish_init(struct agent *a);
void publish_step(struct agent *a);
uint64_t publish_deadline(const struct agent *a);
/* The wanted content changed: what is stored is not right before a round told so. */
void publish_changed(struct agent *a);
/* The kubelet knows the driver: what waited for that may be published. */
void publish_registered(struct agent *a);
/*
 * The API connection is gone: nothing that was in flight will answer. A round goes on only when the
 * server moved us to another connection.
 */
void publish_disconnected(struct agent *a);
/* Another version of the API is spoken, or tried: what is stored is looked at again. */
void publish_version(struct agent *a);
/* No version of the API is served any more. */
void publish_unserved(struct agent *a);
/* A record, and the end, of the answer to a list, a write or a delete. */
void publish_record(struct agent *a, const struct api_result *r, const struct kube_record *record);
void publish_end(struct agent *a, const struct api_result *r);
/* The same of the watch. */
void publish_watch_record(struct agent *a, const struct api_result *r,
                          const struct kube_record *record);
void publish_watch_end(struct agent *a, const struct api_result *r);
/* Why the stored slices are not known to be the wanted ones, in words; NULL: they are. */
const char *publish_reason(const struct agent *a);

#endif
