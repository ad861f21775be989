/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the devices of a stored ResourceSlice with the wanted ones. Owns the rule of what counts
 * as equal; decodes nothing and does no I/O. The caller passes the stored slice piece by piece, in
 * the order of its bytes, so that the comparison needs a fixed amount of memory for a slice of any
 * size. A slice may hold only some of the wanted devices, if they follow each other in the table.
 * Source: ResourceSlice of Kubernetes (resource.k8s.io, KEP-4381).
 */
#ifndef DRA_SLICE_H
#define DRA_SLICE_H

#include "dra/device.h"

/* State of a comparison of a stored slice with the wanted devices. */
struct slice_compare {
    const struct devices *wanted; /* table of the wanted devices; borrowed */
    unsigned first;               /* index in `wanted` of the first stored device */
    unsigned count;               /* number of stored devices so far, including the current one */
    uint32_t matched;             /* bit i: attribute i of the current device is stored as wanted */
    unsigned tainted;             /* bit i: the current stored device has the wanted taint i */
    unsigned needed; /* bit i: the current stored device has the wanted amount of node resource i */
    bool unshared;   /* a device that should be shared is stored as not shared */
    bool lacks_resources; /* a stored device lacks a node resource that it should have */
    /*
     * element i, bit N: the stored device with number N lacks taint i, which it should have; all
     * bits: the device for the whole node lacks it
     */
    uint64_t untainted[TAINTS];
    uint64_t taken;  /* bit N: the current device consumes the counter of device N */
    uint64_t shared; /* bit N: the slice itself has the counter of device N */
    bool open;       /* a stored device has begun but has not ended */
    bool differs;    /* a difference was found; never becomes false again */
    /* wanted attributes of the current device; empty between devices */
    struct attributes attributes;
};

/* Starts a comparison; `wanted` is borrowed until slice_compare_end. */
void slice_compare_begin(struct slice_compare *c, const struct devices *wanted);
/*
 * Begins a stored device. The first one determines at which index of the table the slice's devices
 * begin.
 */
void slice_compare_name(struct slice_compare *c, struct view name);
/* Compares an attribute or capacity of the current stored device with the wanted ones. */
void slice_compare_attribute(struct slice_compare *c, const struct attribute *stored);
/* Compares a taint of the current stored device with the wanted taints, in any order. */
void slice_compare_taint(struct slice_compare *c, const char *key, const char *value,
                         const char *effect);
/*
 * Compares a node resource of the current stored device with the wanted ones, in any order.
 * `resource`: a node resource whose stored amount is the wanted one; NODE_RESOURCES: none is.
 */
void slice_compare_resource(struct slice_compare *c, unsigned resource);
/*
 * Compares and records a counter that the current stored device consumes or, outside a device, a
 * counter that the slice itself has.
 */
void slice_compare_counter(struct slice_compare *c, const char *name, const char *value);
/* Compares the name of the slice's counter set with COUNTER_SET_NAME. */
void slice_compare_counters(struct slice_compare *c, const char *name);
/*
 * Ends the current stored device. `shared`: the device allows multiple allocations; `extra`: the
 * device has fields that this driver never writes.
 */
void slice_compare_device(struct slice_compare *c, bool shared, bool extra);
/*
 * Ends the comparison. Returns whether the stored devices equal the `count` wanted devices from
 * index `first` on, in the same order, and the slice's own counters (`shared`) are either absent or
 * exactly the wanted ones.
 */
bool slice_compare_end(const struct slice_compare *c);

#endif
