/* SPDX-License-Identifier: Apache-2.0 */
/* Names of stored devices, of any length, at any place of a comparison. */
#include "dra_stubs.h"

#include "dra/slice.c"

static struct devices table;
static struct slice_compare compare;

/* Proof device_find. */
int stub_devices_find(const struct devices *d, struct view name)
{
    stub_check_view(name);
    CHECK(d->count <= DEVICES_MAX);
    unsigned at = any_u16();
    return (at < d->count) ? (int)at : -1;
}

void stub_device_attributes(const struct devices *d, unsigned index, struct attributes *out)
{
    CHECK(index < d->count && __CPROVER_w_ok(out, sizeof *out));
    out->count = any_u8();
    ASSUME(out->count <= ATTRIBUTES_MAX);
}

void proof_slice_name(void)
{
    table.count = any_u16();
    ASSUME(table.count <= DEVICES_MAX); /* devices_valid */
    slice_compare_begin(&compare, &table);
    compare.first = any_u16();
    compare.count = any_unsigned();
    compare.open = any_bool();
    compare.differs = any_bool();
    /* slice_compare_name alone sets it; each name before took bytes of the slice */
    ASSUME(compare.first <= DEVICES_MAX && compare.count < ANY_LENGTH);
    bool differs = compare.differs;
    unsigned before = compare.count;
    slice_compare_name(&compare, any_view(ANY_LENGTH));
    CHECK(compare.open && compare.count == before + 1u && compare.first <= DEVICES_MAX);
    CHECK(compare.differs || !differs);
    CHECK(compare.differs || compare.first + before < table.count);
}
