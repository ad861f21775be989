/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan that turns the stored slices into the wanted ones (plan.c): which are deleted, updated,
 * created. Owns struct plan. Pure: sends nothing, logs nothing, knows no clock. Internal to
 * src/agent.
 *
 * Rules of a pool (k8s.io/api/resource, ResourcePool): only slices of the highest generation count,
 * and all slices of one generation state the same number of slices. So a change of a single slice
 * keeps the generation. When a slice is created, several change, or their number changes, all of
 * them get the highest generation ever seen plus one: no consumer uses a pool that is half old,
 * half new.
 *
 * Invariants:
 * I1 Each of our slices is deleted, updated or kept; others are never added to the plan.
 * I2 Two parts never match the same stored slice.
 * I3 After everything planned is done, a list of the result plans nothing more.
 */
#ifndef AGENT_PUBLISH_PLAN_H
#define AGENT_PUBLISH_PLAN_H

#include "agent/publish/slice_codec.h"

/* What to do about one part. */
enum part_action { PART_KEEP, PART_UPDATE, PART_CREATE };

/* One of the slices that the pool is cut into. */
struct slice_part {
    bool counters;  /* holds the shared counters and no device; always the first part */
    unsigned first; /* its devices: `count` of the wanted ones, from this index on */
    unsigned count;
    enum part_action action;
    bool lossy;               /* the server did not keep all that was sent */
    uint32_t stored_sum;      /* checksum of what it stored; valid if lossy */
    struct slice_seen stored; /* the stored slice matched with it; empty name: none */
};

/* The stored slices, and what to do about them. */
struct plan {
    unsigned cut;           /* most devices in one slice; 0: no list was complete yet */
    int64_t generation_max; /* highest generation ever seen */
    int64_t generation;     /* generation of the wanted slices */
    unsigned seen_count;
    unsigned overflow; /* number of listed slices that did not fit `seen` */
    struct slice_seen seen[SLICES_SEEN_MAX];
    bool to_delete[SLICES_SEEN_MAX];
    unsigned parts;
    struct slice_part part[SLICES_MAX];
};

/* --- from a list to the plan --- */

/* Begins a list: forgets the slices of the previous one. */
void plan_list_begin(struct plan *p);
/* Adds a stored slice of ours. One under deletion counts only for its generation. */
void plan_list_add(struct plan *p, const struct slice_seen *seen);
/* Number of devices in the listed slices. */
unsigned plan_devices_seen(const struct plan *p);
/*
 * Ends the list: plans how to publish this number of devices, with or without a slice of shared
 * counters.
 */
void plan_make(struct plan *p, unsigned devices, bool counters);

/* --- carrying out the plan --- */

/* The next slice to delete; NULL: none. */
const struct slice_seen *plan_next_delete(const struct plan *p);
/* The slice of plan_next_delete was deleted. */
void plan_deleted(struct plan *p);
/*
 * The next part to write, counters before the devices that consume them, then updates first; NULL:
 * none.
 */
const struct slice_part *plan_next_write(const struct plan *p);
/* The part of plan_next_write was written. false: the response holds another object. */
MUST_USE bool plan_written(struct plan *p, const struct slice_seen *response);
/* Whether nothing is left to do and everything wanted is stored. */
bool plan_complete(const struct plan *p);
/* Whether the server does not keep all of some slice. */
bool plan_lossy(const struct plan *p);

/* --- changes that affect the next plan --- */

/*
 * Cuts the pool into smaller slices. Returns the number of devices in each; 0: they cannot be
 * smaller.
 */
unsigned plan_cut_smaller(struct plan *p);
/* The content or the server changed: a slice may now be stored completely. */
void plan_forget_losses(struct plan *p);

/* --- slices that changed since the list --- */

/* The first part that has devices, or may have some. */
const struct slice_part *plan_devices_part(const struct plan *p);
/* The part matched with the slice of this name; NULL: none. */
const struct slice_part *plan_part_of(const struct plan *p, const char *name);
/* Whether the slice holds the part as planned. */
bool plan_as_wanted(const struct plan *p, const struct slice_part *part,
                    const struct slice_seen *seen);
/* Records a slice of ours seen outside a list: the next generation exceeds its own. */
void plan_saw_generation(struct plan *p, const struct slice_seen *seen);

#endif
