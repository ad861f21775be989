/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two layouts of a slice's devices: in v1 and v1beta2 a Device has its fields itself, in
 * v1beta1 they are those of a message `basic`, each under its number minus one. See sim_store.h.
 */
#include "base/assert.h"
#include "tests/sim/apiserver/sim_store.h"

enum {
    OBJECT_SPEC = 2,
    SPEC_ALL_NODES = 5,
    SPEC_DEVICES = 6,
    SPEC_COUNTERS = 8,
    DEVICE_NAME = 1,
    DEVICE_BASIC = 2
};

/* Content of a field whose number becomes another one. */
static void put_renumbered(struct writer *w, const struct sim_field *f, unsigned number)
{
    if (f->wire == 0) {
        sim_put_value(w, number, f->value);
    } else {
        sim_put_bytes(w, number, f->bytes); /* every field of a device but bools has a length */
    }
}

/* Copies the fields above the name with their numbers shifted. */
static void put_shifted(struct writer *w, struct view fields, unsigned first, int shift)
{
    struct reader in = reader_of(fields);
    struct sim_field f;
    while (sim_field_next(&in, &f) == STATUS_OK) {
        if (f.number >= first) {
            put_renumbered(w, &f, (unsigned)((int)f.number + shift));
        }
    }
}

static size_t shifted_len(struct view device)
{
    /* Numbers below 16 keep their one-byte tags. */
    struct reader in = reader_of(device);
    struct sim_field f;
    size_t n = 0;
    while (sim_field_next(&in, &f) == STATUS_OK) {
        n += f.number == DEVICE_NAME ? 0 : f.whole.len;
    }
    return n;
}

static void put_device(struct writer *w, struct view device, bool to_v1)
{
    struct view name = sim_field_bytes(device, DEVICE_NAME);
    if (to_v1) {
        sim_put_bytes(w, DEVICE_NAME, name);
        put_shifted(w, sim_field_bytes(device, DEVICE_BASIC), 1, 1);
    } else {
        sim_put_bytes(w, DEVICE_NAME, name);
        sim_put_head(w, DEVICE_BASIC, shifted_len(device));
        put_shifted(w, device, DEVICE_NAME + 1, -1);
    }
}

/* Length of a device in the other layout: written once into nothing but a count. */
static size_t device_len(struct view device, bool to_v1)
{
    uint8_t bytes[SIM_BODY_BYTES / 4];
    struct writer w = writer_of(bytes, sizeof bytes);
    put_device(&w, device, to_v1);
    return w.full ? SIM_BODY_BYTES : w.len;
}

static void put_spec(struct writer *w, struct view spec, bool to_v1)
{
    struct reader in = reader_of(spec);
    struct sim_field f;
    if (!to_v1 && !sim_field_find(spec, SPEC_ALL_NODES, &f)) {
        sim_put_value(w, SPEC_ALL_NODES, 0); /* no pointer in v1beta1: written even when false */
    }
    while (sim_field_next(&in, &f) == STATUS_OK) {
        if (f.number == SPEC_DEVICES) {
            sim_put_head(w, SPEC_DEVICES, device_len(f.bytes, to_v1));
            put_device(w, f.bytes, to_v1);
        } else {
            writer_append(w, f.whole);
        }
    }
}

static enum status convert(struct view body, bool to_v1, struct writer *w)
{
    uint8_t bytes[SIM_BODY_BYTES];
    struct writer spec = writer_of(bytes, sizeof bytes);
    struct reader in = reader_of(body);
    struct sim_field f;
    enum status s = sim_field_next(&in, &f);
    while (s == STATUS_OK) {
        if (f.number == OBJECT_SPEC) {
            spec.len = 0;
            put_spec(&spec, f.bytes, to_v1);
            sim_put_bytes(w, OBJECT_SPEC, writer_view(&spec));
        } else {
            writer_append(w, f.whole);
        }
        s = sim_field_next(&in, &f);
    }
    if (s != STATUS_MORE) {
        return PEER_MALFORMED;
    }
    return w->full || spec.full ? FULL_BUFFER : STATUS_OK;
}

static enum status copied(struct view body, struct writer *w)
{
    if (!sim_message_valid(body)) {
        return PEER_MALFORMED;
    }
    writer_append(w, body);
    return w->full ? FULL_BUFFER : STATUS_OK;
}

enum status sim_slice_to_v1(struct view body, enum sim_version from, struct writer *w)
{
    ASSERT(from < SIM_VERSIONS);
    return from == SIM_V1BETA1 ? convert(body, true, w) : copied(body, w);
}

enum status sim_slice_from_v1(struct view body, enum sim_version to, struct writer *w)
{
    ASSERT(to < SIM_VERSIONS);
    return to == SIM_V1BETA1 ? convert(body, false, w) : copied(body, w);
}

/* --- a server that does not know an attribute --- */

enum {
    DEVICE_ATTRIBUTES = 2,
    DEVICE_TAKES = 4,
    DEVICE_TAINTS = 8,
    DEVICE_SHARED = 12,
    DEVICE_RESOURCES = 14,
    ENTRY_KEY = 1
};

static bool is_attribute(const struct sim_field *f, const char *key)
{
    if (view_is(view_text(key), SIM_TAINTS)) {
        return f->number == DEVICE_TAINTS;
    }
    if (view_is(view_text(key), SIM_COUNTERS)) {
        return f->number == DEVICE_TAKES;
    }
    if (view_is(view_text(key), SIM_SHARES)) {
        return f->number == DEVICE_SHARED;
    }
    if (view_is(view_text(key), SIM_RESOURCES)) {
        return f->number == DEVICE_RESOURCES;
    }
    return f->number == DEVICE_ATTRIBUTES && view_is(sim_field_bytes(f->bytes, ENTRY_KEY), key);
}

static void put_without(struct writer *w, struct view device, const char *key)
{
    uint8_t bytes[SIM_BODY_BYTES / 4];
    struct writer kept = writer_of(bytes, sizeof bytes);
    struct reader in = reader_of(device);
    struct sim_field f;
    while (sim_field_next(&in, &f) == STATUS_OK) {
        if (!is_attribute(&f, key)) {
            writer_append(&kept, f.whole);
        }
    }
    ASSERT(!kept.full);
    sim_put_bytes(w, SPEC_DEVICES, writer_view(&kept));
}

void sim_slice_without(struct view body, const char *key, struct writer *w)
{
    uint8_t bytes[SIM_BODY_BYTES];
    struct writer spec = writer_of(bytes, sizeof bytes);
    struct reader in = reader_of(sim_field_bytes(body, OBJECT_SPEC));
    struct sim_field f;
    bool counters = key != NULL && view_is(view_text(key), SIM_COUNTERS);
    while (sim_field_next(&in, &f) == STATUS_OK) {
        if (counters && f.number == SPEC_COUNTERS) {
            continue;
        }
        if (f.number != SPEC_DEVICES) {
            writer_append(&spec, f.whole);
        } else if (key != NULL) {
            put_without(&spec, f.bytes, key);
        }
    }
    ASSERT(!spec.full);
    sim_put_bytes(w, OBJECT_SPEC, writer_view(&spec));
}
