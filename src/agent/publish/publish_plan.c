/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the stored slices should be, and what has to be done for it. Owns the parts of struct
 * publish; sends nothing.
 *
 * Pool rules (k8s.io/api/resource, ResourcePool): only slices of the highest generation count, and
 * all of one generation carry the same number. One slice that changes keeps the generation; when
 * one is created, several change or their number does, all get the highest generation ever seen
 * plus one, so that no consumer takes a pool that is half old and half new.
 */
#include "agent/publish/publish_internal.h"
#include "base/assert.h"
#include "base/crc32c.h"
#include "dra/flaw.h"

void publish_hint(struct agent *a, uint64_t wait_ms)
{
    struct publish *p = &a->publish;
    p->current = false;
    p->said = false;
    if (p->step != PUBLISH_IDLE) {
        p->again = true;
    } else if (p->due_ms > a->now_ms + wait_ms) {
        p->due_ms = a->now_ms + wait_ms;
    }
}

/* --- what is wanted --- */

/* Each item and value is said once; more than there is room for are left out in silence. */
static void say_left_out(struct agent *a, const struct device *device, const char *item,
                         const char *value, enum flaw flaw)
{
    struct publish *p = &a->publish;
    uint32_t sum = crc32c(crc32c(0, view_text(item)), view_text(value));
    for (unsigned i = 0; i < p->left_out_count; i++) {
        if (p->left_out[i] == sum) {
            return;
        }
    }
    if (p->left_out_count == LEFT_OUT_SAID_MAX) {
        return;
    }
    p->left_out[p->left_out_count] = sum;
    p->left_out_count++;
    log_begin(a, LOG_ID_SLICE_ITEM_OMITTED);
    log_text(a, "device", device->name);
    log_text(a, "item", item);
    log_text(a, "value", value);
    log_text(a, "text", flaw_text(flaw));
    log_end(a);
}

static void say_attributes_left_out(struct agent *a, unsigned index)
{
    struct publish *p = &a->publish;
    device_attributes_flawed(&p->wanted, index, &p->attributes);
    for (unsigned i = 0; i < p->attributes.count; i++) {
        const struct attribute *at = &p->attributes.attribute[i];
        say_left_out(a, &p->wanted.device[index], at->key, at->text, attribute_flaw(at));
    }
}

/* All but the devices whose name the server would refuse. */
static void take_devices(struct agent *a)
{
    struct devices *wanted = &a->publish.wanted;
    unsigned kept = 0;
    *wanted = a->devices;
    wanted->labels = a->node.facts.labels;
    for (unsigned i = 0; i < a->devices.count; i++) {
        const struct device *device = &a->devices.device[i];
        enum flaw flaw = device_flaw(device);
        if (flaw != FLAW_NONE) {
            say_left_out(a, device, "name", device->name, flaw);
        } else {
            wanted->device[kept] = *device;
            kept++;
        }
    }
    wanted->count = (uint16_t)kept;
}

void publish_forget_losses(struct publish *p)
{
    for (unsigned i = 0; i < SLICES_MAX; i++) {
        p->part[i].lossy = false;
    }
}

void publish_want(struct agent *a)
{
    struct publish *p = &a->publish;
    take_devices(a);
    memcpy(p->owner, a->node.facts.uid, sizeof p->owner);
    for (unsigned i = 0; i < p->wanted.count; i++) {
        say_attributes_left_out(a, i);
    }
    slice_compare_begin(&p->compare, &p->wanted);
    slice_compare_begin(&p->watch_compare, &p->wanted);
    /* An object of the watch that is half read was compared with the old content. */
    p->watch_compare.differs = true;
}

/* --- the cut --- */

static void cut_parts(struct publish *p)
{
    unsigned count = p->wanted.count;
    ASSERT(p->cut >= SLICE_DEVICES_MIN);
    unsigned parts = (count + p->cut - 1u) / p->cut;
    p->parts = (parts == 0u) ? 1u : parts;
    ASSERT(p->parts <= SLICES_MAX);
    for (unsigned i = 0; i < p->parts; i++) {
        struct slice_part *part = &p->part[i];
        part->first = i * p->cut;
        part->count = (count - part->first < p->cut) ? count - part->first : p->cut;
        part->write = false;
        part->kept.name[0] = '\0';
    }
}

bool publish_cut_smaller(struct agent *a)
{
    struct publish *p = &a->publish;
    unsigned now = p->part[0].count;
    unsigned half = (now + 1u) / 2u;
    if (half < SLICE_DEVICES_MIN || half == now) {
        return false;
    }
    p->cut = half;
    publish_forget_losses(p);
    log_begin(a, LOG_ID_SLICE_SPLIT);
    log_number(a, "devices", (int64_t)half);
    log_text(a, "text", p->cause);
    log_end(a);
    return true;
}

/* The first list of a process shows how an earlier one had to cut the pool. */
static void adopt_cut(struct publish *p)
{
    int64_t stored = 0;
    int64_t said = 0;
    unsigned most = 0;
    for (unsigned i = 0; i < p->seen_count; i++) {
        const struct slice_seen *s = &p->seen[i];
        if (s->generation == p->generation_max) {
            stored++;
            said = s->slice_count;
            most = (s->count > most) ? s->count : most;
        }
    }
    bool cut = said > 1 && stored >= said && most >= SLICE_DEVICES_MIN && most < p->cut;
    if (!p->cut_known && cut) {
        p->cut = most;
    }
    p->cut_known = true;
}

/* --- the plan --- */

bool publish_exact(const struct publish *p, const struct slice_part *part,
                   const struct slice_seen *s)
{
    return s->same && s->plain && s->first == part->first && s->count == part->count &&
           view_is(view_text(s->owner_uid), p->owner);
}

bool publish_fits(const struct publish *p, const struct slice_part *part,
                  const struct slice_seen *s)
{
    return publish_exact(p, part, s) || (part->lossy && s->sum == part->stored_sum);
}

/* The slice of the highest generation that is free for the part; `fitting`: and fits. */
static int find_slice(const struct publish *p, const struct slice_part *part, bool fitting)
{
    int best = -1;
    for (unsigned i = 0; i < p->seen_count; i++) {
        const struct slice_seen *s = &p->seen[i];
        bool better = best < 0 || s->generation > p->seen[best].generation;
        if (s->doomed && better && (!fitting || publish_fits(p, part, s))) {
            best = (int)i;
        }
    }
    return best;
}

/* Slices that fit come first; what is left is rewritten rather than deleted and created. */
static void match_parts(struct publish *p)
{
    for (unsigned i = 0; i < p->seen_count; i++) {
        p->seen[i].doomed = true;
    }
    for (unsigned round = 0; round < 2u; round++) {
        for (unsigned i = 0; i < p->parts; i++) {
            struct slice_part *part = &p->part[i];
            int at = (part->kept.name[0] == '\0') ? find_slice(p, part, round == 0u) : -1;
            if (at >= 0) {
                p->seen[at].doomed = false;
                part->kept = p->seen[at];
            }
        }
    }
}

/* Whether the part is stored, in as many slices as are wanted. */
static bool counted(const struct publish *p, const struct slice_part *part)
{
    return part->kept.name[0] != '\0' && part->kept.slice_count == (int64_t)p->parts;
}

static void mark_write(const struct publish *p, struct slice_part *part)
{
    part->lossy = part->lossy && !publish_exact(p, part, &part->kept);
    part->write = !counted(p, part) || part->kept.generation != p->generation ||
                  !publish_fits(p, part, &part->kept);
}

static void mark_writes(struct publish *p)
{
    unsigned writes = 0;
    bool renumbered = false;
    p->generation = p->generation_max;
    for (unsigned i = 0; i < p->parts; i++) {
        mark_write(p, &p->part[i]);
        writes += p->part[i].write ? 1u : 0u;
        renumbered = renumbered || !counted(p, &p->part[i]);
    }
    if (!renumbered && writes <= 1u) {
        return;
    }
    p->generation += (p->generation < INT64_MAX) ? 1 : 0;
    for (unsigned i = 0; i < p->parts; i++) {
        p->part[i].write = true;
    }
}

static bool any_lossy(const struct publish *p)
{
    bool lossy = false;
    for (unsigned i = 0; i < p->parts; i++) {
        lossy = lossy || p->part[i].lossy;
    }
    return lossy;
}

static void say_selector(struct agent *a)
{
    struct publish *p = &a->publish;
    if (p->selector_ignored && !p->selector_said) {
        log_one(a, LOG_ID_API_RESPONSE_UNEXPECTED, "doing", "list slices");
    }
    p->selector_said = p->selector_ignored;
}

void publish_plan(struct agent *a)
{
    struct publish *p = &a->publish;
    adopt_cut(p);
    cut_parts(p);
    match_parts(p);
    mark_writes(p);
    say_selector(a);
    p->again = p->again || p->overflow > 0u;
    p->step = PUBLISH_DELETE;
    p->running = false;
    p->current =
        p->overflow == 0u && publish_doomed(p) < 0 && publish_unwritten(p) < 0 && !any_lossy(p);
    p->said = p->said && p->current;
}

int publish_doomed(const struct publish *p)
{
    for (unsigned i = 0; i < p->seen_count; i++) {
        if (p->seen[i].doomed) {
            return (int)i;
        }
    }
    return -1;
}

int publish_unwritten(const struct publish *p)
{
    int create = -1;
    for (unsigned i = 0; i < p->parts; i++) {
        bool stored = p->part[i].kept.name[0] != '\0';
        if (p->part[i].write && stored) {
            return (int)i;
        }
        create = (p->part[i].write && create < 0) ? (int)i : create;
    }
    return create;
}

/* --- the end of a round --- */

void publish_round_over(struct agent *a)
{
    struct publish *p = &a->publish;
    p->step = PUBLISH_IDLE;
    p->running = false;
    p->backoff_ms = 0;
    p->invalid_ms = 0;
    p->current = p->overflow == 0u && !any_lossy(p);
    p->trouble = any_lossy(p) ? "the API server stores less of the slices than it is sent" : NULL;
    p->due_ms = p->again ? a->now_ms : a->now_ms + agent_jitter(a, a->settings->reconcile_ms);
    p->again = false;
    if (!api_slot_busy(a, API_SLOT_SLICE_WATCH)) {
        p->watch_due_ms = a->now_ms;
    }
    if (p->current) {
        p->current_wall_ms = a->wall_ms;
    }
    if (p->current && !p->said) {
        log_begin(a, LOG_ID_SLICE_VERIFIED);
        log_text(a, "slice", p->part[0].kept.name);
        log_number(a, "devices", p->wanted.count);
        log_end(a);
        p->said = true;
    }
}

const char *publish_reason(const struct agent *a)
{
    const struct publish *p = &a->publish;
    const char *why = "the stored ResourceSlices are being compared with the wanted ones";
    if (p->current) {
        why = NULL;
    } else if (!a->devices_known) {
        why = "the devices of the node could not be looked at";
    } else if (!api_ready(a)) {
        why = "the API server is not connected";
    } else if (a->node.settled && !a->node.present) {
        why = "the API server has no Node of this name";
    } else if (p->trouble != NULL) {
        why = p->trouble;
    } else if (!a->node.settled) {
        why = "the Node is not known yet";
    }
    return why;
}
