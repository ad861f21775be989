/* SPDX-License-Identifier: Apache-2.0 */
/* The table of objects; see sim_store.h. Field numbers: meta/v1 ObjectMeta. */
#include "tests/sim/apiserver/sim_store.h"

#include <string.h>

#include "base/assert.h"

enum {
    META_NAME = 1,
    META_GENERATE_NAME = 2,
    META_NAMESPACE = 3,
    META_SELF_LINK = 4,
    META_UID = 5,
    META_VERSION = 6,
    META_GENERATION = 7,
    META_CREATED = 8,
    META_LABELS = 11,
    META_FINALIZERS = 14,
    TIME_SECONDS = 1,
    TIME_NANOS = 2
};
/* Random characters after a generateName, and what the real server cuts the base to. */
#define SUFFIX_CHARS 5
#define GENERATE_BASE_BYTES 58
#define NAME_TRIES 8
#define FIRST_VERSION 1000

void sim_store_init(struct sim_store *s, uint64_t seed)
{
    s->version = FIRST_VERSION;
    s->forgotten = 0;
    s->random = seed | 1;
    s->top = 0;
}

/* xorshift64: names only have to differ. */
static uint64_t random_next(struct sim_store *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random;
}

struct sim_object *sim_store_find(struct sim_store *s, enum sim_kind kind, struct view ns,
                                  struct view name)
{
    for (unsigned i = 0; i < s->top; i++) {
        struct sim_object *o = &s->object[i];
        if (o->state == SIM_LIVE && o->kind == kind && view_is(ns, o->ns) &&
            view_is(name, o->name)) {
            return o;
        }
    }
    return NULL;
}

/* A free entry, a fresh one, else that of the oldest tombstone. */
static struct sim_object *entry_new(struct sim_store *s)
{
    struct sim_object *oldest = NULL;
    for (unsigned i = 0; i < s->top; i++) {
        struct sim_object *o = &s->object[i];
        if (o->state == SIM_FREE) {
            return o;
        }
        if (o->state == SIM_DELETED && (oldest == NULL || o->version < oldest->version)) {
            oldest = o;
        }
    }
    if (s->top < SIM_OBJECTS_MAX) {
        s->object[s->top].state = SIM_FREE;
        return &s->object[s->top++];
    }
    if (oldest != NULL) {
        s->forgotten = oldest->version;
        oldest->state = SIM_FREE;
    }
    return oldest;
}

/* --- names --- */

static void write_uid(struct sim_store *s, char *uid)
{
    struct writer w = writer_of(uid, UID_CAP);
    uint64_t a = random_next(s);
    uint64_t b = random_next(s);
    writer_hex(&w, a >> 32, 8);
    writer_text(&w, "-");
    writer_hex(&w, (a >> 16) & 0xffff, 4);
    writer_text(&w, "-4");
    writer_hex(&w, a & 0xfff, 3);
    writer_text(&w, "-");
    writer_hex(&w, 0x8000 | (b >> 50), 4);
    writer_text(&w, "-");
    writer_hex(&w, b & 0xffffffffffff, 12);
    ASSERT(writer_end_text(&w) == STATUS_OK);
}

static void generate(struct sim_store *s, struct sim_object *o)
{
    static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789"; /* no words by chance */
    struct writer w = writer_of(o->name, sizeof o->name);
    writer_append(&w, view_first(view_text(o->generate_name), GENERATE_BASE_BYTES));
    for (unsigned i = 0; i < SUFFIX_CHARS; i++) {
        writer_u8(&w, (uint8_t)alphabet[(random_next(s) >> 20) % (sizeof alphabet - 1)]);
    }
    ASSERT(writer_end_text(&w) == STATUS_OK);
}

static enum status name_it(struct sim_store *s, struct sim_object *o,
                           const struct sim_wanted *wanted)
{
    struct view name = sim_field_bytes(wanted->meta, META_NAME);
    struct view base = sim_field_bytes(wanted->meta, META_GENERATE_NAME);
    if (text_copy(o->name, sizeof o->name, name) != STATUS_OK ||
        text_copy(o->ns, sizeof o->ns, wanted->ns) != STATUS_OK ||
        text_copy(o->generate_name, sizeof o->generate_name, base) != STATUS_OK ||
        (name.len == 0 && base.len == 0)) {
        return PEER_MALFORMED;
    }
    for (unsigned i = 0; i < NAME_TRIES && name.len == 0; i++) {
        generate(s, o);
        if (sim_store_find(s, o->kind, wanted->ns, view_text(o->name)) == NULL) {
            return STATUS_OK;
        }
    }
    bool taken = sim_store_find(s, o->kind, wanted->ns, view_text(o->name)) != NULL;
    return taken ? PEER_REFUSED : STATUS_OK;
}

/* --- contents --- */

/* Fields of the metadata that their writer owns; the rest is the server's, or dropped. */
static void kept_meta(struct view meta, struct writer *w)
{
    struct reader in = reader_of(meta);
    struct sim_field f;
    while (sim_field_next(&in, &f) == STATUS_OK) {
        if (f.number >= META_LABELS && f.number <= META_FINALIZERS) {
            writer_append(w, f.whole);
        }
    }
}

static bool body_is(const struct sim_object *o, struct view body)
{
    return view_equal(view_of(o->body, o->body_len), body);
}

enum status sim_store_create(struct sim_store *s, const struct sim_wanted *wanted,
                             struct sim_object **out)
{
    struct sim_object *o = entry_new(s);
    if (o == NULL) {
        return FULL_TABLE;
    }
    struct writer meta = writer_of(o->meta, sizeof o->meta);
    struct view uid = sim_field_bytes(wanted->meta, META_UID);
    kept_meta(wanted->meta, &meta);
    if (meta.full || wanted->body.len > sizeof o->body) {
        return FULL_BUFFER;
    }
    o->kind = wanted->kind;
    enum status st = name_it(s, o, wanted);
    if (st != STATUS_OK) {
        return st;
    }
    /* The real server always chooses the UID itself; a test may need to know it beforehand. */
    if (uid.len == 0 || text_copy(o->uid, sizeof o->uid, uid) != STATUS_OK) {
        write_uid(s, o->uid);
    }
    memcpy(o->body, wanted->body.data, wanted->body.len);
    o->body_len = wanted->body.len;
    o->meta_len = meta.len;
    o->state = SIM_LIVE;
    o->version = ++s->version;
    o->created_version = o->version;
    o->generation = 1;
    o->created_s = wanted->now_s;
    *out = o;
    return STATUS_OK;
}

static bool precondition(const struct sim_object *o, struct view meta)
{
    struct view uid = sim_field_bytes(meta, META_UID);
    struct view text = sim_field_bytes(meta, META_VERSION);
    uint64_t version = 0;
    if (uid.len > 0 && !view_is(uid, o->uid)) {
        return false;
    }
    return text.len == 0 ||
           (view_decimal(text, UINT64_MAX, &version) == STATUS_OK && version == o->version);
}

enum status sim_store_update(struct sim_store *s, struct sim_object *o,
                             const struct sim_wanted *wanted)
{
    uint8_t bytes[SIM_META_BYTES];
    struct writer meta = writer_of(bytes, sizeof bytes);
    kept_meta(wanted->meta, &meta);
    ASSERT(o->state == SIM_LIVE);
    if (!precondition(o, wanted->meta)) {
        return PEER_PROTOCOL;
    }
    if (meta.full || wanted->body.len > sizeof o->body) {
        return FULL_BUFFER;
    }
    bool same_body = body_is(o, wanted->body);
    if (same_body && view_equal(view_of(o->meta, o->meta_len), writer_view(&meta))) {
        return STATUS_OK;
    }
    memcpy(o->meta, bytes, meta.len);
    o->meta_len = meta.len;
    memcpy(o->body, wanted->body.data, wanted->body.len);
    o->body_len = wanted->body.len;
    o->generation += same_body ? 0 : 1;
    o->version = ++s->version;
    return STATUS_OK;
}

void sim_store_delete(struct sim_store *s, struct sim_object *o)
{
    ASSERT(o->state == SIM_LIVE);
    o->state = SIM_DELETED;
    o->version = ++s->version;
}

const struct sim_object *sim_store_after(const struct sim_store *s, enum sim_kind kind,
                                         uint64_t after)
{
    const struct sim_object *first = NULL;
    for (unsigned i = 0; i < s->top; i++) {
        const struct sim_object *o = &s->object[i];
        bool later = o->state != SIM_FREE && o->kind == kind && o->version > after;
        if (later && (first == NULL || o->version < first->version)) {
            first = o;
        }
    }
    return first;
}

/* --- writing; like the real server, what is no pointer there is written even when empty --- */

static void put_meta_fields(const struct sim_object *o, struct writer *w)
{
    uint8_t number[20];
    uint8_t time[24];
    struct writer version = writer_of(number, sizeof number);
    struct writer created = writer_of(time, sizeof time);
    writer_decimal(&version, o->version);
    sim_put_value(&created, TIME_SECONDS, o->created_s);
    sim_put_value(&created, TIME_NANOS, 0);
    sim_put_text(w, META_NAME, o->name);
    sim_put_text(w, META_GENERATE_NAME, o->generate_name);
    sim_put_text(w, META_NAMESPACE, o->ns);
    sim_put_text(w, META_SELF_LINK, "");
    sim_put_text(w, META_UID, o->uid);
    sim_put_bytes(w, META_VERSION, writer_view(&version));
    sim_put_value(w, META_GENERATION, o->generation);
    sim_put_bytes(w, META_CREATED, writer_view(&created));
    writer_bytes(w, o->meta, o->meta_len);
}

void sim_object_meta(const struct sim_object *o, struct writer *w)
{
    uint8_t bytes[SIM_META_BYTES + 1024];
    struct writer meta = writer_of(bytes, sizeof bytes);
    ASSERT(o->state != SIM_FREE);
    put_meta_fields(o, &meta);
    ASSERT(!meta.full);
    sim_put_bytes(w, 1, writer_view(&meta));
}

void sim_object_write(const struct sim_object *o, enum sim_version version, struct writer *w)
{
    struct view body = view_of(o->body, o->body_len);
    sim_object_meta(o, w);
    if (o->kind == SIM_SLICE) {
        /* What is stored was decoded once; only room can lack, and `w` remembers that. */
        if (sim_slice_from_v1(body, version, w) != STATUS_OK) {
            w->full = true;
        }
    } else {
        writer_append(w, body);
    }
}
