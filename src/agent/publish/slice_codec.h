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

/* --- encoding the bodies of requests --- */

/* What a request does to a slice. */
enum slice_verb { SLICE_CREATE, SLICE_UPDATE, SLICE_DELETE };

struct slice_seen;

/* A request whose body is a slice, or the preconditions for deleting one. Pointers are borrowed. */
struct slice_request {
    enum slice_verb verb;
    enum api_version version;        /* version of resource.k8s.io in which the slice is sent */
    const struct slice_seen *stored; /* the slice to update or delete; unused by SLICE_CREATE */
    const struct wanted *wanted;
    /* working memory for attributes, which is too large for the stack */
    struct attributes *attributes;
    bool counters; /* the slice holds the shared counters */
    /* the slice gets `count` of the wanted devices, from index `first` on */
    unsigned first;
    unsigned count;
    int64_t generation; /* generation of the pool, as stated in the slice */
    unsigned slices;    /* number of slices in the pool, as stated in the slice */
};

/* Length of the request's body in bytes: the envelope and the object. */
uint32_t slice_body_len(struct slice_request *r);
/*
 * Appends bytes of the request's body, from `offset` on, until `out` is full or the body ends.
 * STATUS_MORE: nothing was appended.
 */
MUST_USE enum status slice_body_part(struct slice_request *r, uint32_t offset, struct writer *out);

/* --- reading a stored slice from records --- */

/* Whether a stored slice belongs to this driver, this node and the agent's pool. */
enum slice_scope {
    SLICE_FOREIGN,    /* a slice of another driver or node: the field selector should exclude it */
    SLICE_OTHER_POOL, /* a slice of this driver and node in a pool other than the agent's */
    SLICE_OURS
};

/* The relevant fields of a stored slice. */
struct slice_seen {
    /* name of the slice; empty: the object is not a slice, or its name is unreadable */
    char name[NAME_CAP];
    char uid[UID_CAP];
    char resource_version[RESOURCE_VERSION_CAP];
    enum slice_scope scope;
    /* the slice is being deleted: the server removes it once its finalizers have run */
    bool deleting;
    bool exact;    /* owner and devices match the wanted ones, and the slice has no unknown field */
    bool counters; /* the slice has shared counters */
    bool unshared; /* at least one device that should be shared is stored as not shared */
    bool lacks_resources; /* at least one device lacks a node resource that it should have */
    /* if `exact`: the slice has `count` of the wanted devices, from index `first` on */
    unsigned first;
    unsigned count;
    /*
     * element i, bit N: stored device N lacks its taint i; all bits: the device that represents the
     * node lacks it
     */
    uint64_t untainted[TAINTS];
    int64_t generation;
    int64_t slices; /* number of slices in the pool, as stated in this slice */
    uint32_t sum;   /* checksum of the slice's devices, owner and spec as stored */
};

/* Reads slices, one after another, from the records of a response. */
struct slice_observer {
    const struct wanted *wanted; /* the wanted content to compare with; borrowed */
    struct slice_compare compare;
    char owner[UID_CAP]; /* UID of the owner of the current slice */
    struct slice_seen seen;
};

/* Discards the current slice and begins the next one; `wanted` is borrowed until the next call. */
void slice_observe_begin(struct slice_observer *o, const struct wanted *wanted);
/*
 * Called when the wanted content changed: the current slice counts as different from the wanted
 * content.
 */
void slice_observe_outdated(struct slice_observer *o);
/* Adds a record of a response to the current slice; false: the record is not part of a slice. */
bool slice_observe(struct slice_observer *o, const struct kube_record *record);

#endif
