/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of a stored ResourceSlice with the wanted devices, piece by piece. Encodes nothing. */
#include "dra/slice.h"

#include "base/assert.h"

_Static_assert(ATTRIBUTES_MAX <= 32u, "`matched` has a bit for each attribute");

static void load_wanted(struct slice_compare *c)
{
    c->matched = 0;
    c->attributes.count = 0;
    if (c->device < c->wanted->count) {
        device_attributes(c->wanted, c->device, &c->attributes);
    }
}

void slice_compare_begin(struct slice_compare *c, const struct devices *wanted)
{
    ASSERT(c != NULL && wanted != NULL);
    c->wanted = wanted;
    c->device = 0;
    c->differs = false;
    load_wanted(c);
}

static bool same_text(const char *a, const char *b)
{
    return view_equal(view_text(a), view_text(b));
}

static bool same_attribute(const struct attribute *a, const struct attribute *b)
{
    if (a->type != b->type || !same_text(a->key, b->key)) {
        return false;
    }
    bool number = a->type == ATTRIBUTE_INT || a->type == ATTRIBUTE_BOOL;
    return number ? a->number == b->number : same_text(a->text, b->text);
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
    c->differs = true;
}

/* Every wanted attribute was stored as wanted; an unwanted one has set `differs` already. */
static bool all_matched(const struct slice_compare *c)
{
    return c->matched == (uint32_t)((UINT64_C(1) << c->attributes.count) - 1u);
}

void slice_compare_device(struct slice_compare *c, struct view name, bool extra)
{
    if (c->device >= c->wanted->count) {
        c->differs = true;
        return;
    }
    bool same = view_is(name, c->wanted->device[c->device].name) && all_matched(c) && !extra;
    c->differs = c->differs || !same;
    c->device++;
    load_wanted(c);
}

bool slice_compare_end(struct slice_compare *c)
{
    ASSERT(c->device <= c->wanted->count);
    return !c->differs && c->device == c->wanted->count;
}
