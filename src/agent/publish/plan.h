/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan that turns the stored slices into the wanted ones (plan.c): which slices are deleted,
 * updated, created. Owns struct plan. Pure: sends nothing, logs nothing, reads no clock. Internal
 * to src/agent.
 *
 * Rules of a pool (k8s.io/api/resource, ResourcePool): only slices of the highest generation count,
 * and all slices of one generation state the same number of slices. So a change of a single slice
 * keeps the generation. When a slice is created, when several slices change, or when their number
 * changes, all slices get the highest generation ever seen plus one: no consumer then uses a pool
 * that is partly old and partly new.
 *
 * Invariants:
 * I1 Each slice of this driver and node is deleted, updated or kept; no other slice is added to the
 *    plan.
 * I2 Two parts never match the same stored slice.
 * I3 After a plan is carried out, a plan made from a new list has nothing to do.
 */
#ifndef AGENT_PUBLISH_PLAN_H
#define AGENT_PUBLISH_PLAN_H

#include "agent/publish/slice_codec.h"

/* What must be done about one part of the pool. */
enum part_action { PART_KEEP, PART_UPDATE, PART_CREATE };

/*
 * One of the parts into which the pool is cut: a slice with some of the wanted devices, or with the
 * shared counters.
 */
struct slice_part {
    /* the part holds the shared counters and no device; it is always the first part */
    bool counters;
    /* the part has `count` of the wanted devices, from index `first` on */
    unsigned first;
    unsigned count;
    enum part_action action;
    bool lossy;          /* the server dropped fields of the slice that was sent for this part */
    uint32_t stored_sum; /* if `lossy`: checksum of this part's slice as the server stored it */
    /* the stored slice that is matched with this part; empty name: none */
    struct slice_seen stored;
};

/* The stored slices, and the parts of the pool with the action that each part needs. */
struct plan {
    unsigned cut; /* maximum number of devices in one slice; 0: no list of slices is complete yet */
    int64_t generation_max; /* highest generation of all slices that this process has seen */
    int64_t generation;     /* generation of the wanted slices */
    unsigned seen_count;
    unsigned overflow; /* number of listed slices for which `seen` had no element left */
    struct slice_seen seen[SLICES_SEEN_MAX];
    bool to_delete[SLICES_SEEN_MAX];
    uint32_t made; /* number of times that the pool was cut into parts */
    unsigned parts;
    struct slice_part part[SLICES_MAX];
};

/* --- making a plan from the list of stored slices --- */

/* Begins a list of stored slices: forgets the slices of the previous list. */
void plan_list_begin(struct plan *p);
/*
 * Adds a listed slice of this driver and node. If the slice is being deleted, only its generation
 * counts.
 */
void plan_list_add(struct plan *p, const struct slice_seen *seen);
/* Number of devices in the listed slices. */
unsigned plan_devices_seen(const struct plan *p);
/*
 * Ends the list, and plans how to publish `devices` devices, with or without a slice of shared
 * counters.
 */
void plan_make(struct plan *p, unsigned devices, bool counters);
/*
 * Ends the list as plan_make does for no devices, but creates no slice. If the list has slices of
 * this driver and node, one of them becomes empty.
 */
void plan_make_empty(struct plan *p);

/* --- carrying out the plan: deletes and writes --- */

/* The next slice that must be deleted; NULL: there is none. */
const struct slice_seen *plan_next_delete(const struct plan *p);
/* Records that the slice of plan_next_delete was deleted. */
void plan_deleted(struct plan *p);
/*
 * The next part that must be written: first the part with the shared counters, which devices
 * consume; then updates; then creations. NULL: no part must be written.
 */
const struct slice_part *plan_next_write(const struct plan *p);
/*
 * Records that the part of plan_next_write was written, and that the server responded with the
 * slice `response`. false: `response` is another object.
 */
MUST_USE bool plan_written(struct plan *p, const struct slice_seen *response);
/* Whether no slice is left to write or delete, and the server dropped no field. */
bool plan_complete(const struct plan *p);
/* Whether the server dropped fields of a slice that was written. */
bool plan_lossy(const struct plan *p);

/* --- changes that affect the next plan --- */

/*
 * Cuts the pool into slices of half the size. Returns the number of devices in each; 0: the slices
 * cannot become smaller.
 */
unsigned plan_cut_smaller(struct plan *p);
/*
 * Forgets in which slices the server dropped fields, because new content or another server may
 * change that.
 */
void plan_forget_losses(struct plan *p);

/* --- comparing slices that changed after they were listed --- */

/*
 * The first part for devices: part 0 or, if that holds the shared counters, part 1. The part may
 * have 0 devices.
 */
const struct slice_part *plan_devices_part(const struct plan *p);
/* The part of the pool that is matched with the stored slice `name`; NULL: no part is. */
const struct slice_part *plan_part_of(const struct plan *p, const char *name);
/*
 * Whether the stored slice holds the part, and states the planned generation and the planned number
 * of slices.
 */
bool plan_as_wanted(const struct plan *p, const struct slice_part *part,
                    const struct slice_seen *seen);
/*
 * Records the generation of a stored slice of this driver and node, so that the next new generation
 * is higher.
 */
void plan_saw_generation(struct plan *p, const struct slice_seen *seen);

#endif
