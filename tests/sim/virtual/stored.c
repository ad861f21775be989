/* SPDX-License-Identifier: Apache-2.0 */
/* What the API server stores, judged and changed by hand; see world.h. */
#include <string.h>

#include "agent/serve/readiness.h"
#include "agent/state.h"
#include "base/assert.h"
#include "cfg/identity.h"
#include "tests/sim/virtual/world.h"

enum {
    OBJECT_META = 1,
    OBJECT_SPEC = 2,
    SPEC_DRIVER = 1,
    SPEC_POOL = 2,
    SPEC_NODE = 3,
    SPEC_DEVICES = 6,
    POOL_NAME = 1,
    POOL_GENERATION = 2,
    POOL_COUNT = 3,
    META_OWNERS = 13,
    OWNER_UID = 4,
    DEVICE_NAME = 1,
    DEVICE_TAINTS = 8
};

const size_t agent_bytes = sizeof(struct agents);

bool world_owns(const struct world *w)
{
    return w != NULL && w->agent != NULL && w->agent->ledger->usable;
}

bool world_owns_efa(const struct world *w)
{
    return w != NULL && w->efa != NULL && w->efa->ledger->usable;
}

bool world_looks_fair(const struct world *w)
{
    for (unsigned i = 0; world_owns(w) && i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &w->agent->ledger->entry[i];
        const struct claim_check *look = &w->agent->recovery->reconcile.check[i];
        if (e->state == LEDGER_HELD && look->entered == e->entered &&
            look->due_ms + LOOK_WAITS_MS < w->now_ms) {
            return false;
        }
    }
    return true;
}

static struct view spec_of(const struct sim_object *o)
{
    return sim_field_bytes(view_of(o->body, o->body_len), OBJECT_SPEC);
}

static bool is_ours(const struct sim_object *o)
{
    return o->state == SIM_LIVE && o->kind == SIM_SLICE &&
           view_is(sim_field_bytes(spec_of(o), SPEC_DRIVER), DRIVER_NAME) &&
           view_is(sim_field_bytes(spec_of(o), SPEC_NODE), NODE_NAME);
}

/* The next one of ours from index *at on; NULL: none. */
static struct sim_object *next_ours(unsigned *at)
{
    while (*at < world_api.store.top) {
        struct sim_object *o = &world_api.store.object[(*at)++];
        if (is_ours(o)) {
            return o;
        }
    }
    return NULL;
}

struct sim_object *stored_one(void)
{
    unsigned at = 0;
    return next_ours(&at);
}

unsigned stored_slices(uint64_t *least, uint64_t *most)
{
    unsigned at = 0;
    unsigned n = 0;
    *least = NEVER;
    *most = 0;
    for (struct sim_object *o = next_ours(&at); o != NULL; o = next_ours(&at)) {
        struct view pool = sim_field_bytes(spec_of(o), SPEC_POOL);
        uint64_t generation = sim_field_value(pool, POOL_GENERATION);
        *least = generation < *least ? generation : *least;
        *most = generation > *most ? generation : *most;
        n++;
    }
    return n;
}

static bool has_taint(struct view device)
{
    struct reader in = reader_of(device);
    struct sim_field f;
    bool found = false;
    while (sim_field_next(&in, &f) == STATUS_OK) {
        found = found || f.number == DEVICE_TAINTS;
    }
    return found;
}

unsigned stored_taints(void)
{
    unsigned at = 0;
    unsigned n = 0;
    for (struct sim_object *o = next_ours(&at); o != NULL; o = next_ours(&at)) {
        struct reader in = reader_of(spec_of(o));
        struct sim_field f;
        while (sim_field_next(&in, &f) == STATUS_OK) {
            n += f.number == SPEC_DEVICES && has_taint(f.bytes) ? 1u : 0u;
        }
    }
    return n;
}

/* --- judging --- */

/* Layers that the device has: bit per layer whose value is the Node's; bit 3: one that is not. */
static unsigned layers_of(const struct world *w, struct view device)
{
    static const char *const keys[3] = {"networkNodeLayer1", "networkNodeLayer2",
                                        "networkNodeLayer3"};
    struct reader in = reader_of(device);
    struct sim_field f;
    unsigned set = 0;
    while (sim_field_next(&in, &f) == STATUS_OK) {
        for (unsigned i = 0; i < 3 && f.number == 2; i++) {
            if (view_is(sim_field_bytes(f.bytes, 1), keys[i])) {
                struct view value = sim_field_bytes(sim_field_bytes(f.bytes, 2), 4);
                bool right = w->layers[i] != NULL && view_is(value, w->layers[i]);
                set |= right ? 1u << i : 8u;
            }
        }
    }
    return set;
}

static unsigned layers_wanted(const struct world *w)
{
    unsigned set = 0;
    for (unsigned i = 0; i < 3; i++) {
        set |= w->layers[i] != NULL ? 1u << i : 0;
    }
    return set;
}

static const char *devices_wrong(const struct world *w, struct view spec, uint64_t *seen)
{
    struct reader in = reader_of(spec);
    struct sim_field f;
    while (sim_field_next(&in, &f) == STATUS_OK) {
        static const char prefix[] = "neuron-device-";
        struct view name = sim_field_bytes(f.bytes, DEVICE_NAME);
        uint64_t number = 0;
        if (f.number != SPEC_DEVICES) {
            continue;
        }
        if (!view_starts(name, prefix) || view_decimal(view_from(name, sizeof prefix - 1),
                                                       DEVICES_MAX - 1, &number) != STATUS_OK) {
            return "a device of another name is stored";
        }
        if ((*seen & (UINT64_C(1) << number)) != 0) {
            return "a device is stored twice";
        }
        *seen |= UINT64_C(1) << number;
        if (layers_of(w, f.bytes) != layers_wanted(w)) {
            return "the network layers of a device are not the Node's";
        }
    }
    return NULL;
}

/* An instance type as it is published, and as somebody writes it over by hand. */
#define TYPE "trn2.48xlarge"
#define EDITED_TYPE "xyz9.48xlarge"

static const char *slice_wrong(const struct world *w, const struct sim_object *o, unsigned count)
{
    struct view pool = sim_field_bytes(spec_of(o), SPEC_POOL);
    struct view owner = sim_field_bytes(view_of(o->meta, o->meta_len), META_OWNERS);
    if (!view_is(sim_field_bytes(pool, POOL_NAME), NODE_NAME)) {
        return "the pool is not the node's";
    }
    if (memmem(o->body, o->body_len, EDITED_TYPE, sizeof EDITED_TYPE - 1) != NULL) {
        return "an edit by hand stands";
    }
    if (sim_field_value(pool, POOL_COUNT) != count) {
        return "resourceSliceCount is not the number of stored slices";
    }
    return view_is(sim_field_bytes(owner, OWNER_UID), w->node_uid) ? NULL
                                                                   : "the owner is not the Node";
}

/* The devices of the node, and those that are gone while a claim holds them. */
static uint64_t devices_wanted(const struct world *w)
{
    const struct world *owner = (w->second != NULL && world_owns(w->second)) ? w->second : w;
    uint64_t set = 0;
    for (unsigned i = 0; owner->agent != NULL && i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &owner->agent->ledger->entry[i];
        set |= (e->state == LEDGER_HELD) ? e->numbers : 0u;
    }
    for (unsigned i = 0; i < w->found.count; i++) {
        set |= UINT64_C(1) << w->found.devices[i].number;
    }
    return set;
}

static const char *stored_wrong(const struct world *w)
{
    uint64_t least = 0;
    uint64_t most = 0;
    uint64_t seen = 0;
    unsigned at = 0;
    unsigned n = stored_slices(&least, &most);
    const char *wrong = NULL;
    if (n == 0) {
        return "no slice is stored";
    }
    if (least != most) {
        return "the stored slices are of several generations";
    }
    for (struct sim_object *o = next_ours(&at); o != NULL && wrong == NULL; o = next_ours(&at)) {
        wrong = slice_wrong(w, o, n);
        wrong = wrong == NULL ? devices_wrong(w, spec_of(o), &seen) : wrong;
    }
    if (wrong == NULL && seen != devices_wanted(w)) {
        wrong = "the stored devices are not those of the node";
    }
    return wrong;
}

/* --- others' slices --- */

static struct sim_object *find_slice(const char *name)
{
    return sim_store_find(&world_api.store, SIM_SLICE, view_of(NULL, 0), view_text(name));
}

static void put_slice(const char *name, const char *driver, const char *node)
{
    uint8_t bytes[5][512];
    struct writer w[5];
    for (unsigned i = 0; i < 5; i++) {
        w[i] = writer_of(bytes[i], sizeof bytes[i]);
    }
    sim_put_text(&w[0], 1, name);
    sim_put_text(&w[1], POOL_NAME, node);
    sim_put_value(&w[1], POOL_GENERATION, 3);
    sim_put_value(&w[1], POOL_COUNT, 1);
    sim_put_text(&w[2], DEVICE_NAME, "neuron-device-0");
    sim_put_text(&w[3], SPEC_DRIVER, driver);
    sim_put_bytes(&w[3], SPEC_POOL, writer_view(&w[1]));
    sim_put_text(&w[3], SPEC_NODE, node);
    sim_put_bytes(&w[3], SPEC_DEVICES, writer_view(&w[2]));
    sim_put_bytes(&w[4], OBJECT_META, writer_view(&w[0]));
    sim_put_bytes(&w[4], OBJECT_SPEC, writer_view(&w[3]));
    enum status s = sim_api_put(&world_api, SIM_SLICE, writer_view(&w[4]));
    ASSERT(s == STATUS_OK);
}

void foreign_put(struct world *w)
{
    static const struct foreign all[FOREIGN_SLICES] = {
        {"other-driver-here", OTHER_DRIVER, NODE_NAME, 0},
        {"our-driver-elsewhere", DRIVER_NAME, OTHER_NODE, 0},
        {"other-driver-elsewhere", OTHER_DRIVER, OTHER_NODE, 0},
    };
    for (unsigned i = 0; i < FOREIGN_SLICES; i++) {
        w->foreign[i] = all[i];
        put_slice(all[i].name, all[i].driver, all[i].node);
        w->foreign[i].version = find_slice(all[i].name)->version;
    }
}

bool foreign_well(const struct world *w)
{
    for (unsigned i = 0; i < FOREIGN_SLICES; i++) {
        const struct sim_object *o = find_slice(w->foreign[i].name);
        if (o == NULL || o->version != w->foreign[i].version) {
            return false;
        }
    }
    return true;
}

bool world_well(struct world *w, const char **why)
{
    const char *wrong = NULL;
    if (w->exited) {
        wrong = "the agent ended";
    } else if (!foreign_well(w)) {
        wrong = "a foreign slice was touched";
    } else {
        wrong = stored_wrong(w);
    }
    if (wrong == NULL && !agent_ready(w->agent)) {
        wrong = w->agent->serve->registration.registered
                    ? "the agent does not know that all is well"
                    : "the agent is not registered";
    }
    *why = wrong == NULL ? "" : wrong;
    return wrong == NULL;
}

/* --- by hand --- */

/* Writes `o` again under a name: what kubectl edit, or a restored backup, does. */
static bool put_again(const struct sim_object *o, const char *name, bool other_type)
{
    static uint8_t bytes[SIM_REQUEST_BYTES];
    uint8_t meta_bytes[SIM_META_BYTES + NAME_CAP];
    struct writer meta = writer_of(meta_bytes, sizeof meta_bytes);
    struct writer w = writer_of(bytes, sizeof bytes);
    sim_put_text(&meta, 1, name);
    writer_bytes(&meta, o->meta, o->meta_len);
    sim_put_bytes(&w, OBJECT_META, writer_view(&meta));
    size_t head = w.len;
    writer_bytes(&w, o->body, o->body_len);
    ASSERT(!w.full && !meta.full);
    uint8_t *at = memmem(bytes + head, w.len - head, TYPE, sizeof TYPE - 1);
    if (other_type && at != NULL) {
        memcpy(at, EDITED_TYPE, sizeof EDITED_TYPE - 1);
    }
    enum status s = sim_api_put(&world_api, SIM_SLICE, writer_view(&w));
    ASSERT(s == STATUS_OK);
    return !other_type || at != NULL;
}

bool stored_edit(struct world *w)
{
    const struct sim_object *o = stored_one();
    (void)w;
    return o != NULL && put_again(o, o->name, true);
}

bool stored_double(struct world *w, const char *name)
{
    const struct sim_object *o = stored_one();
    (void)w;
    return o != NULL && put_again(o, name, false);
}
