/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The publisher (publish.c and its parts). Owns struct publish. Internal to src/agent.
 */
#ifndef AGENT_PUBLISH_H
#define AGENT_PUBLISH_H

#include "agent/api.h"
#include "dra/slice.h"

/* Steps of a round. */
enum publish_step {
    PUBLISH_IDLE,    /* nothing to do until a change, a watch event or the interval */
    PUBLISH_NODE,    /* waiting for what is known of the Node */
    PUBLISH_LIST,
    PUBLISH_DELETE,  /* removing what is not wanted, one by one */
    PUBLISH_WRITE
};

/* What matters of one stored slice. */
struct slice_seen {
    char name[NAME_CAP];
    char uid[UID_CAP];
    char resource_version[RESOURCE_VERSION_CAP];
    char owner_uid[UID_CAP];
    int64_t generation;
    bool same_place;   /* driver, pool and node are ours */
    bool same_count;   /* resourceSliceCount is 1 and nothing unknown stands in the spec */
    bool same_devices;
    bool doomed;       /* to be deleted */
};

/* The round under way, and what is known of the stored slices. */
struct publish {
    enum publish_step step;
    enum api_version version; /* of the body under way: it is encoded piece by piece */
    bool running;             /* the step's request is in flight */
    bool current;             /* stored == wanted, as far as is known */
    bool said;                /* `current` was logged since it became true */
    bool again;               /* a hint came during a round: another one follows */
    bool refused;             /* the last failure needs an operator: slow retry */
    uint64_t due_ms;          /* when the next round begins; UINT64_MAX: not planned */
    uint64_t spread_ms;       /* by which the first round waits longer; 0 once it began */
    uint64_t not_before_ms;   /* no round begins earlier, whatever the hints say */
    uint64_t backoff_ms;
    uint64_t write_ms;        /* last write */
    uint64_t fight_ms;        /* backoff between writes that follow each other closely */
    unsigned writes;          /* that followed each other closely */
    uint64_t watch_due_ms;    /* when the watch is (re)opened */
    uint64_t watch_backoff_ms;
    char resource_version[RESOURCE_VERSION_CAP]; /* watch from here */
    char watch_type[16];
    int64_t generation_max;
    unsigned seen_count;
    unsigned overflow;        /* slices that did not fit `seen` */
    int keep;                 /* index in `seen` of the slice to update; -1: create */
    uint32_t body_len;        /* PUBLISH_WRITE: envelope and object */
    uint32_t body_sent;
    int64_t generation;       /* PUBLISH_WRITE: of the slice to be written */
    struct slice_seen kept;   /* our slice after the round; empty name: none */
    struct slice_seen now;    /* object under way */
    struct slice_seen seen[SLICES_SEEN_MAX];
    char owner[UID_CAP];      /* UID of the Node; this and `wanted` stay put during a round */
    struct devices wanted;    /* what is published */
    struct attributes attributes; /* of the device being encoded; too large for the stack */
    struct slice_compare compare;
    struct slice_compare watch_compare;
    struct slice_seen watch_now;
};

/* The module's verbs, see state.h. */
void publish_init(struct agent *a);
void publish_step(struct agent *a);
uint64_t publish_deadline(const struct agent *a);
/* The wanted content may have changed. */
void publish_changed(struct agent *a);
/* The API connection is gone: nothing that was in flight will answer. */
void publish_disconnected(struct agent *a);
/* Another version of the API is spoken, or tried: what is stored is looked at again. */
void publish_version(struct agent *a);
/* No version of the API is served any more. */
void publish_unserved(struct agent *a);
void publish_record(struct agent *a, unsigned index, const struct kube_record *record);
void publish_end(struct agent *a, unsigned index, enum status status);

#endif
