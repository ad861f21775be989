/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One ResourceSlice as bytes (slice_codec.c): the bodies of the publisher's requests, and the
 * relevant fields of a stored slice. Owns struct slice_observer. Decides nothing and logs nothing.
 * Internal to src/agent.
 */
#ifndef AGENT_PUBLISH_SLICE_CODEC_H
#define AGENT_PUBLISH_SLICE_CODEC_H

#include "agent/api/version.h"
#include "agent/publish/wanted.h"
#include "dra/slice.h"

/* --- encode: the bodies of requests --- */

/* What a request does to one slice. */
enum slice_verb { SLICE_CREATE, SLICE_UPDATE, SLICE_DELETE };

struct slice_seen;

/* A request whose body is a slice, or the preconditions for deleting one. Pointers are borrowed. */
struct slice_request {
    enum slice_verb verb;
    enum api_version version;        /* version of resource.k8s.io for the slice */
    const struct slice_seen *stored; /* the slice to update or delete; unused by SLICE_CREATE */
    const struct wanted *wanted;
    struct attributes *attributes; /* working memory: too large for the stack */
    bool counters;                 /* the slice holds the shared counters */
    /* the slice has `count` of the wanted devices, from index `first` on */
    unsigned first;
    unsigned count;
    int64_t generation; /* generation of the pool */
    unsigned slices;    /* number of slices in the pool */
};

/* Length in bytes of the body: envelope and object. */
uint32_t slice_body_len(struct slice_request *r);
/*
 * Appends body bytes from `offset` on until `out` is full or the body ends. STATUS_MORE: nothing
 * was appended.
 */
MUST_USE enum status slice_body_part(struct slice_request *r, uint32_t offset, struct writer *out);

/* --- observe: read a stored slice --- */

/* Which driver, node and pool a stored slice belongs to. */
enum slice_scope {
    SLICE_FOREIGN,    /* a slice of another driver or node: the field selector should exclude it */
    SLICE_OTHER_POOL, /* a slice of this driver and node in a pool other than the agent's */
    SLICE_OURS
};

/* The relevant fields of a stored slice. */
struct slice_seen {
    char name[NAME_CAP]; /* empty: not a slice, or its name is unreadable */
    char uid[UID_CAP];
    char resource_version[RESOURCE_VERSION_CAP];
    enum slice_scope scope;
    bool deleting; /* being deleted: the server removes the slice once its finalizers have run */
    bool exact;    /* owner and devices match the wanted ones, and there is no unknown field */
    bool counters; /* the slice has shared counters */
    bool unshared; /* a device that should be shared is stored as not shared */
    /* if `exact`: the slice has `count` of the wanted devices, from index `first` on */
    unsigned first;
    unsigned count;
    /* bit N: stored device N lacks its taint; all bits: the device for the whole node lacks it */
    uint64_t untainted;
    int64_t generation;
    int64_t slices; /* number of slices in the pool, as this slice states it */
    uint32_t sum;   /* checksum of the slice's devices, owner and spec as stored */
};

/* Reads slices, one after another, from the records of a response. */
struct slice_observer {
    const struct wanted *wanted; /* borrowed */
    struct slice_compare compare;
    char owner[UID_CAP]; /* UID of the current slice's owner */
    struct slice_seen seen;
};

/* Discards the current slice and begins the next one; `wanted` is borrowed until the next call. */
void slice_observe_begin(struct slice_observer *o, const struct wanted *wanted);
/* Called when the wanted content changed: the current slice does not count as exact. */
void slice_observe_outdated(struct slice_observer *o);
/* Adds a record to the current slice; false: the record is not part of a slice. */
bool slice_observe(struct slice_observer *o, const struct kube_record *record);

#endif
