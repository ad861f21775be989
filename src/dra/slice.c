/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a stored ResourceSlice with the wanted devices, piece by piece. Encodes nothing. */
#include "dra/slice.h"

#include <string.h>

#include "base/assert.h"
#include "cfg/identity.h"

_Static_assert(ATTRIBUTES_MAX <= 32u, "`matched` has a bit for each attribute");

void slice_compare_begin(struct slice_compare *c, const struct devices *wanted)
{
    ASSERT(c != NULL && wanted != NULL);
    c->wanted = wanted;
    c->first = 0;
    c->count = 0;
    c->open = false;
    c->tainted = 0;
    c->needed = 0;
    c->unshared = false;
    c->lacks_resources = false;
    memset(c->untainted, 0, sizeof c->untainted);
    c->taken = 0;
    c->shared = 0;
    c->differs = false;
    c->attributes.count = 0;
}

/* The wanted device at the index of the current stored device; NULL: no device is wanted there. */
static const struct device *wanted_device(const struct slice_compare *c)
{
    unsigned at = c->first + c->count - 1u;
    return (c->open && at < c->wanted->count) ? &c->wanted->device[at] : NULL;
}

/*
 * The slice differs if `name` is not the name of the wanted device at the index of this stored
 * device.
 */
void slice_compare_name(struct slice_compare *c, struct view name)
{
    int found = devices_find(c->wanted, name);
    unsigned at = (found >= 0) ? (unsigned)found : c->wanted->count;
    c->first = (c->count == 0u) ? at : c->first;
    c->differs = c->differs || c->open || found < 0 || at != c->first + c->count;
    c->open = true;
    c->count++;
    c->tainted = 0;
    c->needed = 0;
    c->taken = 0;
    c->matched = 0;
    c->attributes.count = 0;
    if (found >= 0) {
        device_attributes(c->wanted, at, &c->attributes);
    }
}

static bool same_attribute(const struct attribute *a, const struct attribute *b)
{
    if (a->type != b->type || !text_is(a->key, b->key)) {
        return false;
    }
    bool number = a->type == ATTRIBUTE_INT || a->type == ATTRIBUTE_BOOL;
    return a->number == b->number && (number || text_is(a->text, b->text));
}

void slice_compare_attribute(struct slice_compare *c, const struct attribute *stored)
{
    ASSERT(c->attributes.count <= ATTRIBUTES_MAX);
    for (unsigned i = 0; i < c->attributes.count; i++) {
        if (same_attribute(&c->attributes.attribute[i], stored)) {
            c->matched |= UINT32_C(1) << i;
            return;
        }
    }
    c->differs = true; /* the attribute is not wanted, or is outside a device */
}

/*
 * Whether every wanted attribute of the device was found. For an attribute that is not wanted,
 * `differs` is already true.
 */
static bool all_matched(const struct slice_compare *c)
{
    return c->matched == (uint32_t)((UINT64_C(1) << c->attributes.count) - 1u);
}

/* A wanted taint has an empty value. The time of the stored taint is not compared. */
void slice_compare_taint(struct slice_compare *c, const char *key, const char *value,
                         const char *effect)
{
    const struct device *d = wanted_device(c);
    unsigned missing = (d != NULL && value[0] == '\0') ? d->tainted & ~c->tainted : 0u;
    unsigned found = 0;
    for (unsigned i = 0; i < (unsigned)TAINTS && found == 0u; i++) {
        bool wanted = (missing & TAINT_BIT(i)) != 0u && text_is(key, c->wanted->taints[i].key) &&
                      text_is(effect, c->wanted->taints[i].effect);
        found = wanted ? TAINT_BIT(i) : 0u;
    }
    c->tainted |= found;
    c->differs = c->differs || found == 0u;
}

void slice_compare_resource(struct slice_compare *c, unsigned resource)
{
    unsigned found = (resource < (unsigned)NODE_RESOURCES) ? 1u << resource : 0u;
    c->differs = c->differs || !c->open || found == 0u || (c->needed & found) != 0u;
    c->needed |= found;
}

/* A counter has the same name as the device to which it belongs. */
void slice_compare_counter(struct slice_compare *c, const char *name, const char *value)
{
    int at = devices_find(c->wanted, view_text(name));
    bool known = at >= 0 && !c->wanted->device[at].node && text_is(value, COUNTER_VALUE);
    uint64_t counter = known ? UINT64_C(1) << c->wanted->device[at].number : 0u;
    uint64_t *counters = c->open ? &c->taken : &c->shared;
    c->differs = c->differs || !known || (*counters & counter) != 0u;
    *counters |= counter;
}

void slice_compare_counters(struct slice_compare *c, const char *name)
{
    c->differs = c->differs || !text_is(name, COUNTER_SET_NAME);
}

static void compare_shared(struct slice_compare *c, const struct device *d, bool shared)
{
    bool wanted = d != NULL && device_shared(c->wanted, d);
    c->unshared = c->unshared || (wanted && !shared);
    c->differs = c->differs || shared != wanted;
}

/* Records which wanted taints the stored device lacks. */
static void compare_taints(struct slice_compare *c, const struct device *d)
{
    if (d == NULL) {
        return;
    }
    unsigned missing = d->tainted & ~c->tainted;
    for (unsigned i = 0; i < (unsigned)TAINTS; i++) {
        if ((missing & TAINT_BIT(i)) != 0u) {
            c->untainted[i] |= d->node ? UINT64_MAX : UINT64_C(1) << d->number;
            c->differs = true;
        }
    }
}

/* Records whether the stored device lacks a wanted node resource. */
static void compare_resources(struct slice_compare *c)
{
    for (unsigned i = 0; i < (unsigned)NODE_RESOURCES; i++) {
        bool wanted = c->wanted->resources.quantity[i][0] != '\0';
        c->lacks_resources = c->lacks_resources || (wanted && (c->needed >> i & 1u) == 0u);
    }
    c->differs = c->differs || c->lacks_resources;
}

void slice_compare_device(struct slice_compare *c, bool shared, bool extra)
{
    const struct device *d = wanted_device(c);
    compare_shared(c, d, shared);
    compare_resources(c);
    c->differs = c->differs || (d != NULL && c->taken != devices_counters(c->wanted, d));
    compare_taints(c, d);
    c->differs = c->differs || !c->open || extra || !all_matched(c);
    c->open = false;
    c->attributes.count = 0;
}

bool slice_compare_end(const struct slice_compare *c)
{
    ASSERT(c->differs || c->first + c->count <= c->wanted->count);
    bool counters = c->shared == 0u || c->shared == devices_counters(c->wanted, NULL);
    return !c->differs && !c->open && counters;
}
