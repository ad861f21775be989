/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks the health of all devices, logs each change of it, and decides how the slices show an
 * unhealthy device.
 */
#include "agent/node/device_states.h"

#include "agent/frame.h"
#include "agent/node/node.h"
#include "agent/node/room.h"
#include "agent/report/log.h"
#include "base/assert.h"
#include "cfg/identity.h"

static void log_state(struct agent *a, enum log_id id, unsigned number)
{
    const struct health_track *h = &a->node->device_states.device[number];
    char text[HEALTH_TEXT_CAP];
    char name[DEVICE_NAME_CAP];
    struct writer w = writer_of(text, sizeof text);
    device_health_text(&w, HEALTH_UNHEALTHY, h->reasons);
    writer_close_text(&w);
    devices_name(a->devices, number, name);
    log_begin(a, id);
    log_text(a, "device", name);
    if (text[0] != '\0') { /* a device that has recovered has no reasons */
        log_text(a, "text", text);
    }
    /*
     * Replace the remedy of the log catalogue, which proposes a reset, because a device that is
     * gone cannot be reset.
     */
    if ((h->reasons & HEALTH_REASON_GONE) != 0u) {
        log_remedy(a, "see dmesg; delete its pods, and replace the instance if the device stays "
                      "away");
    }
    log_end(a);
}

/*
 * Handles a change of a device's health: logs that the device became unhealthy or recovered. Until
 * the device recovers, each reason is logged only once.
 */
static void state_changed(struct agent *a, unsigned number, bool was_unhealthy)
{
    struct device_states *s = &a->node->device_states;
    const struct health_track *h = &s->device[number];
    bool unhealthy = h->state == (uint8_t)HEALTH_UNHEALTHY;
    s->changes++;
    if (unhealthy && (h->reasons & ~s->logged[number]) != 0u) {
        s->logged[number] |= h->reasons;
        log_state(a, LOG_ID_DEVICE_UNHEALTHY, number);
    }
    if (was_unhealthy && !unhealthy) {
        s->logged[number] = 0;
        log_state(a, LOG_ID_DEVICE_RECOVERED, number);
    }
    s->unhealthy =
        unhealthy ? s->unhealthy | device_bit(number) : s->unhealthy & ~device_bit(number);
    s->untaintable[TAINT_UNHEALTHY] &= s->unhealthy;
}

/* Bit N: device N has the state for which it may get this taint. */
static uint64_t devices_with(const struct agent *a, enum taint_reason reason)
{
    const struct device_states *s = &a->node->device_states;
    const uint64_t devices[TAINTS] = {[TAINT_UNHEALTHY] = s->unhealthy,
                                      [TAINT_MEMORY_HELD] = s->memory_held,
                                      [TAINT_DRAIN] = node_drains(a) ? UINT64_MAX : 0u};
    return devices[reason];
}

/* Bit N: device N has a state for which the slices omit it if they cannot show the taint. */
static uint64_t devices_unwanted(const struct agent *a)
{
    return devices_with(a, TAINT_UNHEALTHY) | devices_with(a, TAINT_DRAIN);
}

/*
 * Gets what the last probe read about a device's health. If `certain` is false, that probe failed
 * or found no device. Returns false for a device whose health is not tracked, because no probe ever
 * found it and no claim holds it.
 */
static bool reading_of(const struct agent *a, unsigned number, bool certain,
                       struct device_reading *r)
{
    const struct device_states *s = &a->node->device_states;
    int at = devices_numbered(a->devices, number);
    *r = (struct device_reading){0};
    if (at >= 0 && certain) {
        *r = a->devices->device[at].reading;
    } else if (at < 0 && certain) {
        r->reasons = HEALTH_REASON_GONE;
    } else {
        /*
         * the last probe failed or found no device, so the present state of this device is unknown
         */
        r->blind = true;
    }
    return at >= 0 || s->device[number].seen || (s->held & device_bit(number)) != 0u;
}

bool device_states_apply(struct agent *a, uint64_t held, bool shared, bool certain)
{
    struct device_states *s = &a->node->device_states;
    uint64_t unhealthy = s->unhealthy;
    uint64_t kept = s->kept;
    uint64_t listed = devices_unwanted(a) & s->held;
    bool other = s->shared != shared;
    s->untaintable[TAINT_DRAIN] &= devices_with(a, TAINT_DRAIN);
    s->held = held;
    s->shared = shared;
    s->kept = 0;
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        struct device_reading reading;
        bool was_unhealthy = (s->unhealthy & device_bit(n)) != 0u;
        if (!reading_of(a, n, certain, &reading)) {
            continue;
        }
        if (device_health_apply(&s->device[n], &reading, a->now_ms)) {
            state_changed(a, n, was_unhealthy);
        }
        bool gone = devices_numbered(a->devices, n) < 0;
        s->kept |= (gone && (held & device_bit(n)) != 0u) ? device_bit(n) : 0u;
    }
    return other || s->unhealthy != unhealthy || s->kept != kept ||
           (devices_unwanted(a) & held) != listed;
}

bool device_states_hold_memory(struct agent *a, uint64_t devices)
{
    struct device_states *s = &a->node->device_states;
    uint64_t added = devices & ~s->memory_held;
    bool changed = devices != s->memory_held;
    s->memory_held = devices;
    s->untaintable[TAINT_MEMORY_HELD] &= devices;
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        s->memory_ms[n] = ((added & device_bit(n)) != 0u) ? a->now_ms : s->memory_ms[n];
    }
    return changed && a->settings->taint[TAINT_MEMORY_HELD].key[0] != '\0';
}

uint64_t device_states_memory_held(const struct agent *a)
{
    return a->node->device_states.memory_held;
}

uint8_t device_states_taints(const struct agent *a, unsigned number)
{
    const struct device_states *s = &a->node->device_states;
    unsigned taints = 0;
    for (unsigned i = 0; i < (unsigned)TAINTS; i++) {
        uint64_t devices = devices_with(a, (enum taint_reason)i) & ~s->untaintable[i];
        bool has = a->settings->taint[i].key[0] != '\0' && (devices & device_bit(number)) != 0u;
        taints |= has ? TAINT_BIT(i) : 0u;
    }
    return (uint8_t)taints;
}

uint64_t device_states_since(const struct agent *a, unsigned number, enum taint_reason reason)
{
    ASSERT(number < DEVICES_MAX);
    const struct device_states *s = &a->node->device_states;
    const uint64_t since_ms[TAINTS] = {[TAINT_UNHEALTHY] = s->device[number].since_ms,
                                       [TAINT_MEMORY_HELD] = s->memory_ms[number],
                                       [TAINT_DRAIN] = a->node_object->drain_ms};
    return since_ms[reason];
}

bool device_states_omit(const struct agent *a, unsigned number)
{
    const unsigned taints = device_states_taints(a, number);
    /* a device that a claim holds is published in any case, to stay visible to that claim */
    const uint64_t free = ~a->node->device_states.held & device_bit(number);
    bool unhealthy = (devices_with(a, TAINT_UNHEALTHY) & free) != 0u;
    bool drains = (devices_with(a, TAINT_DRAIN) & free) != 0u;
    return (unhealthy && (taints & TAINT_BIT(TAINT_UNHEALTHY)) == 0u) ||
           (drains && (taints & TAINT_BIT(TAINT_DRAIN)) == 0u);
}

void device_states_untaintable(struct agent *a, const uint64_t devices[TAINTS])
{
    struct device_states *s = &a->node->device_states;
    for (unsigned i = 0; i < (unsigned)TAINTS; i++) {
        s->untaintable[i] |= devices[i] & devices_with(a, (enum taint_reason)i);
    }
}

const struct health_track *device_states_track(const struct agent *a, unsigned number)
{
    ASSERT(number < DEVICES_MAX);
    return &a->node->device_states.device[number];
}

uint32_t device_states_changes(const struct agent *a)
{
    return a->node->device_states.changes;
}

struct device_verdict device_states_verdict(const struct agent *a, unsigned number)
{
    const struct health_track *h = device_states_track(a, number);
    int at = devices_numbered(a->devices, number);
    bool clean = at >= 0 && a->devices->device[at].reading.reasons == 0u && h->rising == 0u;
    bool unhealthy = h->state == (uint8_t)HEALTH_UNHEALTHY;
    uint64_t memory_held = a->node->device_states.memory_held;
    return (struct device_verdict){.given = h->seen,
                                   .waits = unhealthy && clean,
                                   .memory_held = (memory_held & device_bit(number)) != 0u,
                                   .state = h->state,
                                   .reasons = h->reasons};
}

bool device_states_keeps(const struct agent *a, unsigned number)
{
    return (a->node->device_states.kept & device_bit(number)) != 0u;
}

bool device_states_are_shared(const struct agent *a)
{
    return a->node->device_states.shared;
}

unsigned device_states_lack_taints(const struct agent *a, uint64_t devices)
{
    unsigned taints = 0;
    for (unsigned i = 0; i < (unsigned)TAINTS; i++) {
        bool lacks = (a->node->device_states.untaintable[i] & devices) != 0u;
        taints |= lacks ? TAINT_BIT(i) : 0u;
    }
    return taints;
}
