/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One ResourceSlice as bytes (slice_codec.c): the bodies of the publisher's requests, and what
 * matters of a slice that the API server stores. Owns struct slice_observer. Decides nothing and
 * logs nothing. Internal to src/agent.
 */
#ifndef AGENT_PUBLISH_SLICE_CODEC_H
#define AGENT_PUBLISH_SLICE_CODEC_H

#include "agent/api/version.h"
#include "agent/publish/wanted.h"
#include "dra/slice.h"

/* --- encode --- */

/* What a request does to one slice. */
enum slice_verb { SLICE_CREATE, SLICE_UPDATE, SLICE_DELETE };

struct slice_seen;

/* A request with a body: a slice, or the preconditions of its deletion. Pointers are borrowed. */
struct slice_request {
    enum slice_verb verb;
    enum api_version version;        /* of the slice */
    const struct slice_seen *stored; /* what is updated or deleted; not used by SLICE_CREATE */
    const struct wanted *wanted;
    struct attributes *attributes; /* working memory: too large for the stack */
    bool counters;                 /* the slice is that of the shared counters */
    unsigned first;                /* devices of the slice: `count` from this one on */
    unsigned count;
    int64_t generation; /* of the pool */
    unsigned slices;    /* number of slices in the pool */
};

/* Length in bytes of the body: envelope and object. */
uint32_t slice_body_len(struct slice_request *r);
/*
 * Appends body bytes from `offset` on until `out` is full or the body ends. STATUS_MORE: not one
 * byte was appended.
 */
MUST_USE enum status slice_body_part(struct slice_request *r, uint32_t offset, struct writer *out);

/* --- observe --- */

/* Whose a stored slice is. */
enum slice_scope {
    SLICE_FOREIGN,    /* of another driver or node: the field selector does not ask for it */
    SLICE_OTHER_POOL, /* of our driver and node, but not of the pool that the agent writes */
    SLICE_OURS
};

/* What matters of one stored slice. */
struct slice_seen {
    char name[NAME_CAP]; /* empty: no slice, or one whose name could not be read */
    char uid[UID_CAP];
    char resource_version[RESOURCE_VERSION_CAP];
    enum slice_scope scope;
    bool deleting; /* it goes as soon as its finalizers are gone */
    bool exact;    /* owner and devices are the wanted ones, and it has no unknown field */
    bool counters; /* it has shared counters */
    bool unshared; /* see struct slice_compare */
    unsigned
        first; /* with `exact`: its devices are the wanted ones from this on, `count` of them */
    unsigned count;
    uint64_t untainted; /* bit N: see struct slice_compare */
    int64_t generation;
    int64_t slices; /* number of slices in the pool, as this slice states it */
    uint32_t sum;   /* checksum of devices, owner and spec as they were read */
};

/* Reads slices, one after the other, from the records of a response. */
struct slice_observer {
    const struct wanted *wanted; /* borrowed */
    struct slice_compare compare;
    char owner[UID_CAP]; /* of the slice under way */
    struct slice_seen seen;
};

/* Forgets the slice under way; `wanted` is borrowed until the next call. */
void slice_observe_begin(struct slice_observer *o, const struct wanted *wanted);
/* The wanted content changed: a slice that is half read does not count as exact. */
void slice_observe_outdated(struct slice_observer *o);
/* Takes one record. False: it is no piece of a slice. */
bool slice_observe(struct slice_observer *o, const struct kube_record *record);

#endif
