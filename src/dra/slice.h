/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the devices of a stored ResourceSlice with the wanted ones. Owns the rule what counts as
 * equal; decodes nothing and does no I/O. The stored slice is handed in piece by piece, in the
 * order of its bytes, so that a slice of any size is compared in fixed memory. A slice may hold a
 * part of the devices: those from one on, in order. Source: ResourceSlice of Kubernetes
 * (resource.k8s.io, KEP-4381).
 */
#ifndef DRA_SLICE_H
#define DRA_SLICE_H

#include "dra/device.h"

/* A comparison under way. */
struct slice_compare {
    const struct devices *wanted; /* borrowed */
    unsigned first;               /* index in `wanted` of the first stored device */
    unsigned count;               /* stored devices that began */
    uint32_t matched;             /* bit i: wanted attribute i of the last one is as wanted */
    bool tainted;                 /* the last one has the wanted taint */
    bool unshared;                /* a device that claims are to share is stored as exclusive */
    uint64_t untainted;           /* bit N: neuron-device-N, or the node's device, lacks it */
    uint64_t taken;               /* bit N: the last one takes the counter of number N */
    uint64_t shared;              /* bit N: the slice has that counter */
    bool open;                    /* a device began and did not end */
    bool differs;                 /* sticky */
    struct attributes attributes; /* wanted ones of the device under way; none past the last */
};

/* Starts a comparison; `wanted` is borrowed until slice_compare_end. */
void slice_compare_begin(struct slice_compare *c, const struct devices *wanted);
/* A stored device starts. The first one decides which part of the devices the slice holds. */
void slice_compare_name(struct slice_compare *c, struct view name);
/* One attribute or capacity of the stored device that started last. */
void slice_compare_attribute(struct slice_compare *c, const struct attribute *stored);
/* One taint of the stored device that started last. */
void slice_compare_taint(struct slice_compare *c, const char *key, const char *value,
                         const char *effect);
/* A counter that the stored device which started last takes; before any device, of the slice. */
void slice_compare_counter(struct slice_compare *c, const char *name, const char *value);
/* Those counters were of the set of this name. */
void slice_compare_counters(struct slice_compare *c, const char *name);
/*
 * The stored device ends; `extra` says that it has fields that we never write, `shared` that it
 * allows multiple allocations.
 */
void slice_compare_device(struct slice_compare *c, bool shared, bool extra);
/*
 * All was handed in: whether the devices are the wanted ones from `first` on, `count` of them, in
 * order, or the counters the wanted ones (`shared`), and nothing more.
 */
bool slice_compare_end(const struct slice_compare *c);

#endif
