/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has to be done so that the stored slices become the wanted ones (plan.c): which are deleted,
 * which are updated, which are created. Owns struct plan. Pure: sends nothing, logs nothing, knows
 * no clock. Internal to src/agent.
 *
 * Rules of a pool (k8s.io/api/resource, ResourcePool): only slices of the highest generation count,
 * and all slices of one generation state the same number of slices. So one slice that changes keeps
 * the generation. When a slice is created, several change, or their number changes, all of them get
 * the highest generation ever seen plus one: no consumer takes a pool that is half old, half new.
 *
 * Invariants:
 * I1 A slice that is ours is deleted, updated or kept; what is not ours was never added.
 * I2 Two parts never take the same stored slice.
 * I3 Once everything planned is done, one list of the result plans nothing more.
 */
#ifndef AGENT_PUBLISH_PLAN_H
#define AGENT_PUBLISH_PLAN_H

#include "agent/publish/slice_codec.h"

/* What has to be done for one part. */
enum part_action { PART_KEEP, PART_UPDATE, PART_CREATE };

/* One of the slices that the pool is cut into. */
struct slice_part {
    bool counters;  /* the shared counters, and no device; then it is the first part */
    unsigned first; /* its devices are the wanted ones from this on, `count` of them */
    unsigned count;
    enum part_action action;
    bool lossy;               /* the server stored less than was sent */
    uint32_t stored_sum;      /* checksum of what it stored; meaningful if lossy */
    struct slice_seen stored; /* the stored slice that holds it; empty name: none */
};

/* The stored slices, and what has to be done about them. */
struct plan {
    unsigned cut;           /* most devices in one slice; 0: no list was complete yet */
    int64_t generation_max; /* highest that was ever seen */
    int64_t generation;     /* of the wanted slices */
    unsigned seen_count;
    unsigned overflow; /* slices of the list that did not fit `seen` */
    struct slice_seen seen[SLICES_SEEN_MAX];
    bool to_delete[SLICES_SEEN_MAX];
    unsigned parts;
    struct slice_part part[SLICES_MAX];
};

/* --- from a list to the plan --- */

/* A list begins: forgets the slices of the one before. */
void plan_list_begin(struct plan *p);
/* One stored slice of ours. One that is being deleted counts for its generation only. */
void plan_list_add(struct plan *p, const struct slice_seen *seen);
/* How many devices the slices of the list have. */
unsigned plan_devices_seen(const struct plan *p);
/*
 * The list is complete: plans what is to be done to publish this number of devices, with shared
 * counters in a slice of their own or without.
 */
void plan_make(struct plan *p, unsigned devices, bool counters);

/* --- to carry it out --- */

/* The next slice to be deleted; NULL: none. */
const struct slice_seen *plan_next_delete(const struct plan *p);
/* The slice of plan_next_delete is gone. */
void plan_deleted(struct plan *p);
/*
 * The next part to be written, counters before the devices that take from them, then updates first;
 * NULL: none.
 */
const struct slice_part *plan_next_write(const struct plan *p);
/* The part of plan_next_write was written. False: the answer is another object. */
MUST_USE bool plan_written(struct plan *p, const struct slice_seen *response);
/* Whether nothing is left to be done and everything wanted is stored. */
bool plan_complete(const struct plan *p);
/* Whether the server stores less of a slice than it is sent. */
bool plan_lossy(const struct plan *p);

/* --- what changes the next plan --- */

/* Cuts the pool into smaller slices: the devices of each; 0: they are as small as they may be. */
unsigned plan_cut_smaller(struct plan *p);
/* Other content, or another server: what is stored of it may be complete. */
void plan_forget_losses(struct plan *p);

/* --- a slice that changed since the list --- */

/* The first part that has devices, or may have. */
const struct slice_part *plan_devices_part(const struct plan *p);
/* The part that the slice of this name holds; NULL: none. */
const struct slice_part *plan_part_of(const struct plan *p, const char *name);
/* Whether the slice holds the part as planned. */
bool plan_as_wanted(const struct plan *p, const struct slice_part *part,
                    const struct slice_seen *seen);
/* A slice of ours was seen outside a list: the next generation is above its own. */
void plan_saw_generation(struct plan *p, const struct slice_seen *seen);

#endif
