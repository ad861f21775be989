/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of ResourceSlice validation that a driver can trip over: names, counts, lengths, what
 * must not change. Source: resource.k8s.io/v1 validation. See sim_api_internal.h.
 */
#include "base/assert.h"
#include "tests/sim/apiserver/sim_api_internal.h"

enum { SLICE_SPEC = 2, SPEC_DRIVER = 1, SPEC_POOL = 2, SPEC_NODE = 3, SPEC_DEVICES = 6 };
enum { POOL_NAME = 1, POOL_COUNT = 3 };
enum { DEVICE_NAME = 1, DEVICE_ATTRIBUTES = 2, DEVICE_CAPACITY = 3 };
enum {
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2,
    ATTRIBUTE_FIRST = 2,
    ATTRIBUTE_STRING = 4,
    ATTRIBUTE_VERSION = 5
};
#define VALUE_BYTES_MAX 64
#define LABEL_BYTES_MAX 63

static bool wrong(struct writer *why, const char *what)
{
    writer_text(why, what);
    return false;
}

/* RFC 1123 label, lower case. */
static bool is_label(struct view v)
{
    static const struct view allowed = {
        (const uint8_t *)"abcdefghijklmnopqrstuvwxyz0123456789-",
        37,
    };
    bool good = v.len > 0 && v.len <= LABEL_BYTES_MAX;
    for (size_t i = 0; i < v.len && good; i++) {
        good = view_find(allowed, v.data[i]) < allowed.len;
    }
    return good && v.data[0] != '-' && v.data[v.len - 1] != '-';
}

static bool attribute_valid(struct view entry, struct writer *why)
{
    struct view value = sim_field_bytes(entry, ENTRY_VALUE);
    struct reader in = reader_of(value);
    struct sim_field f;
    unsigned values = 0;
    if (sim_field_bytes(entry, ENTRY_KEY).len == 0) {
        return wrong(why, "spec.devices[].attributes: Required value: name");
    }
    while (sim_field_next(&in, &f) == STATUS_OK) {
        values += f.number >= ATTRIBUTE_FIRST ? 1 : 0;
        bool text = f.number == ATTRIBUTE_STRING || f.number == ATTRIBUTE_VERSION;
        if (text && f.bytes.len > VALUE_BYTES_MAX) {
            return wrong(why, "spec.devices[].attributes: Too long: must have at most 64 bytes");
        }
    }
    return values == 1 ||
           wrong(why, "spec.devices[].attributes: Invalid value: exactly one value must be set");
}

static bool device_valid(struct view device, struct writer *why)
{
    struct reader in = reader_of(device);
    struct sim_field f;
    unsigned count = 0;
    enum status s = sim_field_next(&in, &f);
    if (!is_label(sim_field_bytes(device, DEVICE_NAME))) {
        return wrong(why, "spec.devices[].name: Invalid value: must be a DNS label");
    }
    while (s == STATUS_OK) {
        count += f.number == DEVICE_ATTRIBUTES || f.number == DEVICE_CAPACITY ? 1 : 0;
        if (f.number == DEVICE_ATTRIBUTES && !attribute_valid(f.bytes, why)) {
            return false;
        }
        s = sim_field_next(&in, &f);
    }
    if (s != STATUS_MORE) {
        return wrong(why, "spec.devices[]: does not decode");
    }
    return count <= ATTRIBUTES_MAX ||
           wrong(why, "spec.devices[]: the total number of attributes and capacities must not "
                      "exceed 32");
}

/* How many devices of the spec have that name. */
static unsigned name_count(struct view spec, struct view name)
{
    struct reader in = reader_of(spec);
    struct sim_field f;
    unsigned n = 0;
    while (sim_field_next(&in, &f) == STATUS_OK) {
        bool same =
            f.number == SPEC_DEVICES && view_equal(sim_field_bytes(f.bytes, DEVICE_NAME), name);
        n += same ? 1 : 0;
    }
    return n;
}

static bool devices_valid(struct view spec, struct writer *why)
{
    struct reader in = reader_of(spec);
    struct sim_field f;
    unsigned count = 0;
    while (sim_field_next(&in, &f) == STATUS_OK) {
        if (f.number != SPEC_DEVICES) {
            continue;
        }
        count++;
        if (count > SIM_SLICE_DEVICES_MAX) {
            return wrong(why, "spec.devices: Too many: must have at most 128 items");
        }
        if (!device_valid(f.bytes, why)) {
            return false;
        }
        if (name_count(spec, sim_field_bytes(f.bytes, DEVICE_NAME)) != 1) {
            return wrong(why, "spec.devices[].name: Duplicate value");
        }
    }
    return true;
}

bool sim_slice_valid(struct view body, struct writer *why)
{
    struct view spec = sim_field_bytes(body, SLICE_SPEC);
    struct view pool = sim_field_bytes(spec, SPEC_POOL);
    if (!sim_message_valid(spec)) {
        return wrong(why, "spec: does not decode");
    }
    if (sim_field_bytes(spec, SPEC_DRIVER).len == 0) {
        return wrong(why, "spec.driver: Required value");
    }
    if (sim_field_bytes(pool, POOL_NAME).len == 0) {
        return wrong(why, "spec.pool.name: Required value");
    }
    uint64_t slices = sim_field_value(pool, POOL_COUNT);
    if (slices == 0 || slices > INT64_MAX) {
        return wrong(why, "spec.pool.resourceSliceCount: must be greater than 0");
    }
    if (sim_field_bytes(spec, SPEC_NODE).len == 0) {
        return wrong(why, "spec: exactly one of nodeName, nodeSelector and allNodes is required");
    }
    return devices_valid(spec, why);
}

bool sim_slice_same_identity(struct view before, struct view after)
{
    struct view a = sim_field_bytes(before, SLICE_SPEC);
    struct view b = sim_field_bytes(after, SLICE_SPEC);
    return view_equal(sim_field_bytes(a, SPEC_DRIVER), sim_field_bytes(b, SPEC_DRIVER)) &&
           view_equal(sim_field_bytes(a, SPEC_NODE), sim_field_bytes(b, SPEC_NODE)) &&
           view_equal(sim_field_bytes(sim_field_bytes(a, SPEC_POOL), POOL_NAME),
                      sim_field_bytes(sim_field_bytes(b, SPEC_POOL), POOL_NAME));
}
