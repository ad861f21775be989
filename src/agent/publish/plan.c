/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans a round: cuts the pool into parts, matches the parts with stored slices, and sets the
 * generation.
 */
#include "agent/publish/plan.h"

#include <string.h>

#include "base/assert.h"

/* --- reading the list of stored slices --- */

void plan_list_begin(struct plan *p)
{
    p->seen_count = 0;
    p->overflow = 0;
}

void plan_saw_generation(struct plan *p, const struct slice_seen *seen)
{
    if (seen->generation > p->generation_max) {
        p->generation_max = seen->generation;
    }
}

void plan_list_add(struct plan *p, const struct slice_seen *seen)
{
    ASSERT(seen->scope == SLICE_OURS && seen->name[0] != '\0');
    plan_saw_generation(p, seen);
    if (seen->deleting) {
        return; /* the slice is being deleted: the server removes it once its finalizers have run */
    }
    if (p->seen_count >= SLICES_SEEN_MAX) {
        p->overflow++;
        return;
    }
    p->seen[p->seen_count] = *seen;
    p->seen_count++;
}

unsigned plan_devices_seen(const struct plan *p)
{
    unsigned devices = 0;
    for (unsigned i = 0; i < p->seen_count; i++) {
        devices += p->seen[i].count;
    }
    return devices;
}

/* --- cutting the pool into parts --- */

/*
 * Sets p->cut from the first list, so that a restarted agent cuts the pool into slices as before:
 * if the listed slices of the highest generation form a complete pool of several slices, p->cut
 * becomes the largest number of devices in one of them.
 */
static void adopt_cut(struct plan *p)
{
    int64_t stored = 0;
    int64_t stated = 0;
    int64_t counters = 0;
    unsigned most = 0;
    for (unsigned i = 0; i < p->seen_count; i++) {
        const struct slice_seen *s = &p->seen[i];
        if (s->generation == p->generation_max && s->counters) {
            counters++;
        } else if (s->generation == p->generation_max) {
            stored++;
            stated = s->slices;
            most = (s->count > most) ? s->count : most;
        }
    }
    stated -= counters;
    bool whole = stated > 1 && stored >= stated;
    bool usable = most >= SLICE_DEVICES_MIN && most < SLICE_DEVICES_MAX;
    p->cut = (whole && usable) ? most : SLICE_DEVICES_MAX;
}

/* Adds a part of the pool; the part is not yet matched with a stored slice. */
static struct slice_part *add_part(struct plan *p, bool counters)
{
    ASSERT(p->parts < SLICES_MAX);
    struct slice_part *part = &p->part[p->parts];
    p->parts++;
    part->lossy = part->lossy && part->counters == counters;
    part->counters = counters;
    part->first = 0;
    part->count = 0;
    part->action = PART_KEEP;
    memset(&part->stored, 0, sizeof part->stored);
    return part;
}

static void cut_parts(struct plan *p, unsigned devices, bool counters)
{
    ASSERT(p->cut >= SLICE_DEVICES_MIN);
    unsigned parts = (devices + p->cut - 1u) / p->cut;
    parts = (parts == 0u) ? 1u : parts;
    p->parts = 0;
    p->made++;
    if (counters) {
        (void)add_part(p, true);
    }
    for (unsigned i = 0; i < parts; i++) {
        struct slice_part *part = add_part(p, false);
        part->first = i * p->cut;
        part->count = (devices - part->first < p->cut) ? devices - part->first : p->cut;
    }
}

const struct slice_part *plan_devices_part(const struct plan *p)
{
    return &p->part[p->part[0].counters ? 1 : 0];
}

unsigned plan_cut_smaller(struct plan *p)
{
    unsigned now = plan_devices_part(p)->count;
    unsigned half = (now + 1u) / 2u;
    if (half < SLICE_DEVICES_MIN) {
        return 0; /* a pool is not cut into slices of fewer than SLICE_DEVICES_MIN devices */
    }
    p->cut = half;
    plan_forget_losses(p);
    return half;
}

void plan_forget_losses(struct plan *p)
{
    for (unsigned i = 0; i < SLICES_MAX; i++) {
        p->part[i].lossy = false;
    }
}

/* --- matching parts of the pool with stored slices --- */

static bool stored_at_all(const struct slice_part *part)
{
    return part->stored.name[0] != '\0';
}

static bool holds_exactly(const struct slice_part *part, const struct slice_seen *s)
{
    return s->exact && s->counters == part->counters && s->first == part->first &&
           s->count == part->count;
}

/* Whether the stored slice holds the part, or as much of the part as the server keeps. */
static bool holds_part(const struct slice_part *part, const struct slice_seen *s)
{
    return holds_exactly(part, s) || (part->lossy && s->sum == part->stored_sum);
}

/*
 * Index of the slice with the highest generation among the stored slices that match no part yet;
 * -1: there is no such slice. If `holding`, only slices that hold this part count.
 */
static int find_slice(const struct plan *p, const struct slice_part *part, bool holding)
{
    int best = -1;
    for (unsigned i = 0; i < p->seen_count; i++) {
        const struct slice_seen *s = &p->seen[i];
        bool better = best < 0 || s->generation > p->seen[best].generation;
        if (p->to_delete[i] && better && (!holding || holds_part(part, s))) {
            best = (int)i;
        }
    }
    return best;
}

static void match_missing(struct plan *p, bool holding)
{
    for (unsigned i = 0; i < p->parts; i++) {
        struct slice_part *part = &p->part[i];
        int at = stored_at_all(part) ? -1 : find_slice(p, part, holding);
        if (at >= 0) {
            p->to_delete[at] = false;
            part->stored = p->seen[at];
        }
    }
}

/*
 * Matches each part with a stored slice: if possible with one that holds the part, otherwise with
 * any slice, which is then updated. Slices without a part are deleted.
 */
static void match_parts(struct plan *p)
{
    for (unsigned i = 0; i < p->seen_count; i++) {
        p->to_delete[i] = true;
    }
    match_missing(p, true);
    match_missing(p, false);
}

/* --- generations of slices, and which parts to write --- */

/*
 * Whether the part is matched with a stored slice, and that slice states the wanted number of
 * slices in the pool.
 */
static bool is_counted(const struct plan *p, const struct slice_part *part)
{
    return stored_at_all(part) && part->stored.slices == (int64_t)p->parts;
}

bool plan_as_wanted(const struct plan *p, const struct slice_part *part,
                    const struct slice_seen *seen)
{
    return holds_part(part, seen) && seen->generation == p->generation &&
           seen->slices == (int64_t)p->parts;
}

static void mark_write(struct slice_part *part)
{
    part->action = stored_at_all(part) ? PART_UPDATE : PART_CREATE;
}

/*
 * Marks for a write the parts whose stored slice is missing or differs. Returns their number, which
 * is the number of writes if the generation stays the same.
 */
static unsigned mark_differing(struct plan *p)
{
    unsigned writes = 0;
    for (unsigned i = 0; i < p->parts; i++) {
        struct slice_part *part = &p->part[i];
        const struct slice_seen *stored = &part->stored;
        bool differs = !stored_at_all(part) || !plan_as_wanted(p, part, stored);
        part->lossy = part->lossy && !holds_exactly(part, stored);
        if (differs) {
            mark_write(part);
            writes++;
        }
    }
    return writes;
}

static bool all_counted(const struct plan *p)
{
    bool all = true;
    for (unsigned i = 0; i < p->parts; i++) {
        all = all && is_counted(p, &p->part[i]);
    }
    return all;
}

static void mark_writes(struct plan *p)
{
    p->generation = p->generation_max;
    if (mark_differing(p) <= 1u && all_counted(p)) {
        return;
    }
    p->generation += (p->generation < INT64_MAX) ? 1 : 0;
    for (unsigned i = 0; i < p->parts; i++) {
        mark_write(&p->part[i]);
    }
}

void plan_make(struct plan *p, unsigned devices, bool counters)
{
    if (p->cut == 0u) {
        adopt_cut(p);
    }
    cut_parts(p, devices, counters);
    match_parts(p);
    mark_writes(p);
}

void plan_make_empty(struct plan *p)
{
    if (p->seen_count > 0u) {
        plan_make(p, 0, false);
        return;
    }
    p->parts = 0;
    p->made++;
}

/* --- carrying out the plan --- */

/* Index of the next slice that must be deleted; -1: there is none. */
static int next_delete(const struct plan *p)
{
    for (unsigned i = 0; i < p->seen_count; i++) {
        if (p->to_delete[i]) {
            return (int)i;
        }
    }
    return -1;
}

const struct slice_seen *plan_next_delete(const struct plan *p)
{
    int at = next_delete(p);
    return (at < 0) ? NULL : &p->seen[at];
}

void plan_deleted(struct plan *p)
{
    int at = next_delete(p);
    ASSERT(at >= 0);
    p->to_delete[at] = false;
}

/* Index of the first part with this action; -1: no part has it. */
static int find_action(const struct plan *p, enum part_action action)
{
    for (unsigned i = 0; i < p->parts; i++) {
        if (p->part[i].action == action) {
            return (int)i;
        }
    }
    return -1;
}

static int next_write(const struct plan *p)
{
    if (p->parts > 0u && p->part[0].counters && p->part[0].action != PART_KEEP) {
        return 0;
    }
    int update = find_action(p, PART_UPDATE);
    return (update >= 0) ? update : find_action(p, PART_CREATE);
}

const struct slice_part *plan_next_write(const struct plan *p)
{
    int at = next_write(p);
    return (at < 0) ? NULL : &p->part[at];
}

/*
 * Whether the response holds the object that was sent: after an update the same object, after a
 * creation an object with a name and a UID.
 */
static bool is_written_object(const struct slice_part *part, const struct slice_seen *response)
{
    const struct slice_seen *stored = &part->stored;
    bool same = text_is(response->name, stored->name) && text_is(response->uid, stored->uid);
    bool named = response->name[0] != '\0' && response->uid[0] != '\0';
    return response->scope == SLICE_OURS && named && (same || part->action == PART_CREATE);
}

bool plan_written(struct plan *p, const struct slice_seen *response)
{
    int at = next_write(p);
    ASSERT(at >= 0);
    struct slice_part *part = &p->part[at];
    if (!is_written_object(part, response)) {
        return false;
    }
    part->action = PART_KEEP;
    part->stored = *response;
    part->lossy = !holds_exactly(part, response);
    part->stored_sum = response->sum;
    plan_saw_generation(p, response);
    return true;
}

bool plan_lossy(const struct plan *p)
{
    bool lossy = false;
    for (unsigned i = 0; i < p->parts; i++) {
        lossy = lossy || p->part[i].lossy;
    }
    return lossy;
}

bool plan_complete(const struct plan *p)
{
    return p->overflow == 0u && next_delete(p) < 0 && next_write(p) < 0 && !plan_lossy(p);
}

/* --- comparing slices that changed after they were listed --- */

const struct slice_part *plan_part_of(const struct plan *p, const char *name)
{
    for (unsigned i = 0; i < p->parts; i++) {
        if (text_is(name, p->part[i].stored.name)) {
            return &p->part[i];
        }
    }
    return NULL;
}
