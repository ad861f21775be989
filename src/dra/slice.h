/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the devices of a stored ResourceSlice with the wanted ones. Owns the rule of what counts
 * as equal; decodes nothing and does no I/O. The caller passes the stored slice piece by piece, in
 * the order of its bytes, so that a slice of any size is compared in fixed memory. A slice may hold
 * a contiguous part of the devices. Source: ResourceSlice of Kubernetes (resource.k8s.io,
 * KEP-4381).
 */
#ifndef DRA_SLICE_H
#define DRA_SLICE_H

#include "dra/device.h"

/* A comparison in progress. */
struct slice_compare {
    const struct devices *wanted; /* borrowed */
    unsigned first;               /* index in `wanted` of the first stored device */
    unsigned count;               /* number of stored devices begun */
    uint32_t matched;             /* bit i: attribute i of the current device is stored as wanted */
    bool tainted;                 /* the current device has the wanted taint */
    bool unshared;                /* a device to be shared is stored as exclusive */
    /* bit N: neuron-device-N, or the device that stands for the node, lacks its taint */
    uint64_t untainted;
    uint64_t taken;               /* bit N: the current device consumes the counter of number N */
    uint64_t shared;              /* bit N: the slice itself has the counter of number N */
    bool open;                    /* a device has begun and not ended */
    bool differs;                 /* sticky */
    struct attributes attributes; /* wanted for the current device; empty after the last device */
};

/* Starts a comparison; `wanted` is borrowed until slice_compare_end. */
void slice_compare_begin(struct slice_compare *c, const struct devices *wanted);
/* Begins a stored device. The first one determines which part of the devices the slice holds. */
void slice_compare_name(struct slice_compare *c, struct view name);
/* Adds an attribute or capacity of the current stored device. */
void slice_compare_attribute(struct slice_compare *c, const struct attribute *stored);
/* Adds a taint of the current stored device. */
void slice_compare_taint(struct slice_compare *c, const char *key, const char *value,
                         const char *effect);
/*
 * Adds a counter that the current stored device consumes, or, outside a device, a counter that the
 * slice itself has.
 */
void slice_compare_counter(struct slice_compare *c, const char *name, const char *value);
/* Compares the name of the slice's counter set with COUNTER_SET_NAME. */
void slice_compare_counters(struct slice_compare *c, const char *name);
/*
 * Ends the stored device. `extra`: it has fields that this driver never writes; `shared`: it allows
 * multiple allocations.
 */
void slice_compare_device(struct slice_compare *c, bool shared, bool extra);
/*
 * Ends the comparison. Returns whether the stored devices are exactly the `count` wanted devices
 * from index `first` on, in order, and the slice's own counters (`shared`), if any, are exactly the
 * wanted ones.
 */
bool slice_compare_end(const struct slice_compare *c);

#endif
