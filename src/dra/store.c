/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes headers, halves and records of the claim store in the format of dra/store.h.
 * Owns the translation between claim records and stored messages; validates everything that it
 * reads.
 */
#include "dra/store.h"

#include "dra/pci.h"

#include <string.h>

#include "base/assert.h"
#include "base/crc32c.h"
#include "cfg/identity.h"
#include "generated/store.pb.h"
#include "pb_decode.h"
#include "pb_encode.h"

static const char header_magic[] = "NEURDRA1";
static const char half_magic[] = "NDRS";
enum { STORE_FORMAT = 1, HEADER_MAGIC_BYTES = 8, HALF_MAGIC_BYTES = 4 };
enum { NUMBERING_HOST = 0, NUMBERING_ZERO = 1 };

/* Offsets of the fields in a copy of the store's header, in bytes. */
enum {
    HEADER_FORMAT_AT = 8,
    HEADER_SLOTS_AT = 12,
    HEADER_HALF_AT = 16,
    HEADER_FLAGS_AT = 20,
    HEADER_GENERATION_AT = 24,
    HEADER_COVERED = 32
};

/* Offsets of the fields in a half of a slot, in bytes. */
enum { HALF_LENGTH_AT = 4, HALF_SEQUENCE_AT = 8, HALF_SUM_AT = 16, HALF_RESERVED_AT = 20 };

/* Reads a 32-bit number; the caller has checked that the view contains it. */
static uint32_t u32_at(struct view v, size_t at)
{
    struct reader r = reader_of(view_from(v, at));
    uint32_t n = 0;
    enum status s = reader_u32(&r, &n);
    ASSERT(s == STATUS_OK);
    return n;
}

static uint64_t u64_at(struct view v, size_t at)
{
    struct reader r = reader_of(view_from(v, at));
    uint64_t n = 0;
    enum status s = reader_u64(&r, &n);
    ASSERT(s == STATUS_OK);
    return n;
}

/* --- the header of the store --- */

void store_header_write(struct writer *out, const struct store_header *h)
{
    size_t start = out->len;
    writer_bytes(out, header_magic, HEADER_MAGIC_BYTES);
    writer_u32(out, STORE_FORMAT);
    writer_u32(out, CLAIMS_MAX);
    writer_u32(out, STORE_HALF_BYTES);
    writer_u32(out, h->flags);
    writer_u64(out, h->generation);
    ASSERT(!out->full && out->len - start == HEADER_COVERED);
    writer_u32(out, crc32c(0, view_from(writer_view(out), start)));
}
_Static_assert(STORE_HEADER_WRITTEN == HEADER_COVERED + 4, "layout of a header copy");

enum status store_header_read(struct view bytes, struct store_header *h)
{
    struct view covered = view_first(bytes, HEADER_COVERED);
    if (bytes.len < STORE_HEADER_WRITTEN || !view_starts(covered, header_magic) ||
        u32_at(bytes, HEADER_COVERED) != crc32c(0, covered)) {
        return HOST_DAMAGED;
    }
    if (u32_at(bytes, HEADER_FORMAT_AT) != STORE_FORMAT ||
        u32_at(bytes, HEADER_SLOTS_AT) != CLAIMS_MAX ||
        u32_at(bytes, HEADER_HALF_AT) != STORE_HALF_BYTES) {
        return PEER_UNSUPPORTED;
    }
    h->flags = u32_at(bytes, HEADER_FLAGS_AT);
    h->generation = u64_at(bytes, HEADER_GENERATION_AT);
    return STATUS_OK;
}

/* --- the halves of a slot --- */

uint64_t store_offset(unsigned slot, unsigned half)
{
    ASSERT(slot < CLAIMS_MAX && half < 2u);
    uint64_t halves = (uint64_t)slot * 2u + half;
    return STORE_HEADER_BYTES + halves * STORE_HALF_BYTES;
}

static uint32_t half_sum(uint64_t sequence, unsigned slot, struct view record)
{
    uint8_t bytes[HALF_MAGIC_BYTES + 16];
    struct writer w = writer_of(bytes, sizeof bytes);
    writer_bytes(&w, half_magic, HALF_MAGIC_BYTES);
    writer_u32(&w, (uint32_t)record.len);
    writer_u64(&w, sequence);
    writer_u32(&w, slot);
    ASSERT(!w.full);
    return crc32c(crc32c(0, writer_view(&w)), record);
}

void store_half_write(struct writer *out, unsigned slot, uint64_t sequence, struct view record)
{
    ASSERT(slot < CLAIMS_MAX && record.len <= STORE_RECORD_MAX);
    writer_bytes(out, half_magic, HALF_MAGIC_BYTES);
    writer_u32(out, (uint32_t)record.len);
    writer_u64(out, sequence);
    writer_u32(out, half_sum(sequence, slot, record));
    writer_u32(out, 0);
    writer_append(out, record);
}
_Static_assert(STORE_HALF_HEADER == HALF_MAGIC_BYTES + 4u + 8u + 4u + 4u, "layout of its header");
_Static_assert(STORE_HALF_HEADER + STORE_RECORD_MAX <= STORE_HALF_BYTES, "the longest record fits");

void store_half_read(struct view bytes, unsigned slot, struct store_half *out)
{
    *out = (struct store_half){.state = STORE_HALF_DAMAGED};
    if (bytes.len < STORE_HALF_HEADER || !view_starts(bytes, half_magic)) {
        return;
    }
    struct view record = view_from(bytes, STORE_HALF_HEADER);
    uint32_t length = u32_at(bytes, HALF_LENGTH_AT);
    if (length > STORE_RECORD_MAX || length > record.len) {
        return;
    }
    record = view_first(record, length);
    uint64_t sequence = u64_at(bytes, HALF_SEQUENCE_AT);
    if (u32_at(bytes, HALF_RESERVED_AT) != 0u ||
        u32_at(bytes, HALF_SUM_AT) != half_sum(sequence, slot, record)) {
        return;
    }
    out->state = (length == 0u) ? STORE_HALF_FREE : STORE_HALF_RECORD;
    out->sequence = sequence;
    out->record = record;
}

int store_pick(const struct store_half halves[2])
{
    bool first = halves[0].state != STORE_HALF_DAMAGED;
    bool second = halves[1].state != STORE_HALF_DAMAGED;
    if (first && second) {
        return (halves[0].sequence > halves[1].sequence) ? 0 : 1;
    }
    if (first) {
        return 0;
    }
    return second ? 1 : -1;
}

/* --- encoding records --- */

static void fill_result(const struct claim_result *r, store_StoredResult *m)
{
    m->has_request = true;
    text_set(m->request, sizeof m->request, r->request);
    m->has_device = true;
    claim_device_name(r, m->device);
    m->has_admin_access = r->admin_access;
    m->admin_access = r->admin_access;
    m->has_share_id = r->share_id[0] != '\0';
    text_set(m->share_id, sizeof m->share_id, r->share_id);
    m->has_device_index = !r->node;
    m->device_index = (uint8_t)r->number;
    m->has_logical_neuron_core = r->logical_neuron_core != 0u;
    m->logical_neuron_core = r->logical_neuron_core;
    m->has_ultraserver_mode = r->ultraserver_mode != 0u;
    m->ultraserver_mode = r->ultraserver_mode;
    m->has_cores = r->cores != 0u;
    m->cores = r->cores;
    /* only an EFA device has a uverbs number; its PCI address is stored as a part of its name */
    m->has_uverbs = r->efa_address != 0u;
    m->uverbs = r->uverbs;
}

static bool write_results(pb_ostream_t *out, const pb_field_t *field, void *const *arg)
{
    const struct claim_record *r = *arg;
    for (unsigned i = 0; i < r->count; i++) {
        store_StoredResult m = store_StoredResult_init_zero;
        fill_result(&r->result[i], &m);
        if (!pb_encode_tag_for_field(out, field) ||
            !pb_encode_submessage(out, store_StoredResult_fields, &m)) {
            return false;
        }
    }
    return true;
}

static void fill_record(const struct claim_record *r, store_ClaimRecord *m)
{
    m->has_uid = true;
    text_set(m->uid, sizeof m->uid, r->id.uid);
    m->has_namespace = true;
    text_set(m->namespace, sizeof m->namespace, r->id.namespace_);
    m->has_name = true;
    text_set(m->name, sizeof m->name, r->id.name);
    m->has_boot_id = true;
    text_set(m->boot_id, sizeof m->boot_id, r->boot_id);
    m->has_node_name = true;
    text_set(m->node_name, sizeof m->node_name, r->pool);
    m->has_agent_version = true;
    text_set(m->agent_version, sizeof m->agent_version, AGENT_VERSION);
    m->has_pod_name = r->consumer.name[0] != '\0';
    text_set(m->pod_name, sizeof m->pod_name, r->consumer.name);
    m->has_pod_uid = r->consumer.uid[0] != '\0';
    text_set(m->pod_uid, sizeof m->pod_uid, r->consumer.uid);
    m->has_consumer_kind = r->consumer.kind != (uint8_t)CONSUMER_POD;
    m->consumer_kind = r->consumer.kind;
    m->has_device_numbering = true;
    m->device_numbering = r->zero_numbering ? NUMBERING_ZERO + r->first_number : NUMBERING_HOST;
    m->has_held_devices = true;
    m->held_devices = claim_numbers(r);
    m->has_rebuilt = r->rebuilt;
    m->rebuilt = r->rebuilt;
    m->has_node_devices = r->node_devices != 0u;
    m->node_devices = r->node_devices;
    m->has_ultraserver_mode = r->ultraserver.mode != 0u;
    m->ultraserver_mode = r->ultraserver.mode;
    m->has_ultraserver_server_id = r->ultraserver.place.server_id[0] != '\0';
    text_set(m->ultraserver_server_id, sizeof m->ultraserver_server_id,
             r->ultraserver.place.server_id);
    m->has_ultraserver_node_id = m->has_ultraserver_server_id;
    m->ultraserver_node_id = r->ultraserver.place.node_id;
    m->has_pod_claim_name = r->metadata;
    text_set(m->pod_claim_name, sizeof m->pod_claim_name, r->pod_claim);
}

/*
 * Encodes the message of a record. FULL_BUFFER: the message does not fit, and `out` is unchanged.
 */
static enum status encode_message(const store_ClaimRecord *m, struct writer *out)
{
    size_t room = writer_room(out);
    room = (room < STORE_RECORD_MAX) ? room : STORE_RECORD_MAX;
    pb_ostream_t stream = pb_ostream_from_buffer(out->data + out->len, room);
    if (!pb_encode(&stream, store_ClaimRecord_fields, m)) {
        return FULL_BUFFER;
    }
    out->len += stream.bytes_written;
    return STATUS_OK;
}

enum status store_record_encode(const struct claim_record *r, struct writer *out)
{
    ASSERT(claim_record_valid(r));
    store_ClaimRecord m = {0};
    /*
     * nanopb takes a pointer to a record that is not const, but write_results only reads the
     * record; the union drops the const.
     */
    const union {
        const struct claim_record *record;
        void *argument;
    } borrowed = {.record = r};
    fill_record(r, &m);
    m.results.funcs.encode = write_results;
    m.results.arg = borrowed.argument;
    return encode_message(&m, out);
}

enum status store_outline_encode(const struct store_outline *o, struct writer *out)
{
    store_ClaimRecord m = {.has_uid = true,
                           .has_namespace = true,
                           .has_name = true,
                           .has_agent_version = true,
                           .agent_version = AGENT_VERSION,
                           .has_held_devices = true,
                           .held_devices = o->numbers,
                           .has_released = o->released,
                           .released = o->released};
    text_set(m.uid, sizeof m.uid, o->id.uid);
    text_set(m.namespace, sizeof m.namespace, o->id.namespace_);
    text_set(m.name, sizeof m.name, o->id.name);
    return encode_message(&m, out);
}

/* --- decoding records --- */

/*
 * Decodes the uverbs number, and the PCI address from the name of an EFA device. Checks that the
 * stored name is the name of the decoded device.
 */
static bool decode_place(const store_StoredResult *m, struct claim_result *to)
{
    char name[DEVICE_NAME_CAP];
    to->uverbs = m->uverbs;
    if (m->has_uverbs && !efa_device_address(view_text(m->device), &to->efa_address)) {
        return false;
    }
    claim_device_name(to, name);
    return !m->has_device || text_is(m->device, name);
}

static bool decode_result(const store_StoredResult *m, struct claim_result *to)
{
    memset(to, 0, sizeof *to);
    to->node = !m->has_device_index;
    if (to->node && !m->has_device) {
        return false;
    }
    to->number = m->device_index;
    if (!decode_place(m, to)) {
        return false;
    }
    text_set(to->request, sizeof to->request, m->request);
    text_set(to->share_id, sizeof to->share_id, m->share_id);
    to->logical_neuron_core = m->logical_neuron_core;
    to->ultraserver_mode = m->ultraserver_mode;
    to->cores = m->cores;
    to->admin_access = m->admin_access;
    return true;
}

static bool read_result(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    struct claim_record *r = *arg;
    store_StoredResult m = store_StoredResult_init_zero;
    ASSERT(field->tag == store_ClaimRecord_results_tag);
    if (r->count >= RESULTS_MAX || !pb_decode(in, store_StoredResult_fields, &m) ||
        !decode_result(&m, &r->result[r->count])) {
        return false;
    }
    r->driver = m.has_uverbs ? DRIVER_EFA : DRIVER_NEURON;
    r->count++;
    return true;
}

static void decode_record(const store_ClaimRecord *m, struct claim_record *r)
{
    text_set(r->id.uid, sizeof r->id.uid, m->uid);
    text_set(r->id.namespace_, sizeof r->id.namespace_, m->namespace);
    text_set(r->id.name, sizeof r->id.name, m->name);
    text_set(r->boot_id, sizeof r->boot_id, m->boot_id);
    text_set(r->pool, sizeof r->pool, m->node_name);
    /* A newer agent may have written a kind of consumer that this version does not know. */
    bool known = m->consumer_kind < (uint32_t)CONSUMER_KINDS;
    text_set(r->consumer.name, sizeof r->consumer.name, known ? m->pod_name : "");
    text_set(r->consumer.uid, sizeof r->consumer.uid, known ? m->pod_uid : "");
    r->consumer.kind = known ? (uint8_t)m->consumer_kind : (uint8_t)CONSUMER_POD;
    r->zero_numbering = m->device_numbering != NUMBERING_HOST;
    r->first_number = (uint8_t)(r->zero_numbering ? m->device_numbering - NUMBERING_ZERO : 0u);
    r->rebuilt = m->rebuilt;
    r->node_devices = m->node_devices;
    r->ultraserver.mode = (uint8_t)m->ultraserver_mode;
    r->ultraserver.place.node_id = (uint8_t)m->ultraserver_node_id;
    text_set(r->ultraserver.place.server_id, sizeof r->ultraserver.place.server_id,
             m->ultraserver_server_id);
    r->metadata = m->has_pod_claim_name;
    text_set(r->pod_claim, sizeof r->pod_claim, m->pod_claim_name);
}

static bool read_record(struct view bytes, struct claim_record *r)
{
    store_ClaimRecord m = {0};
    m.results.funcs.decode = read_result;
    m.results.arg = r;
    pb_istream_t in = pb_istream_from_buffer(bytes.data, bytes.len);
    if (!pb_decode(&in, store_ClaimRecord_fields, &m) || m.device_numbering > DEVICES_MAX ||
        m.ultraserver_mode > UINT8_MAX || m.ultraserver_node_id > UINT8_MAX) {
        return false;
    }
    decode_record(&m, r);
    /*
     * A newer agent's claim may hold devices through fields that this version does not know; then
     * held_devices has more bits than the known results.
     */
    return claim_record_valid(r) && !m.released &&
           (!m.has_held_devices || m.held_devices == claim_numbers(r));
}

/* Decodes into *r itself, because a copy of 5 KiB would be the largest object on the stack. */
enum status store_record_decode(struct view bytes, struct claim_record *r)
{
    memset(r, 0, sizeof *r);
    if (!read_record(bytes, r)) {
        memset(r, 0, sizeof *r);
        return HOST_DAMAGED;
    }
    return STATUS_OK;
}

enum status store_outline_decode(struct view bytes, struct store_outline *o)
{
    store_ClaimRecord m = {0};
    struct writer discarded = writer_of(NULL, 0);
    pb_istream_t in = pb_istream_from_buffer(bytes.data, bytes.len);
    memset(o, 0, sizeof *o);
    if (!pb_decode(&in, store_ClaimRecord_fields, &m) || !m.has_held_devices) {
        return HOST_DAMAGED;
    }
    text_set(o->id.uid, sizeof o->id.uid, m.uid);
    text_set(o->id.namespace_, sizeof o->id.namespace_, m.namespace);
    text_set(o->id.name, sizeof o->id.name, m.name);
    o->numbers = m.held_devices;
    o->released = m.released;
    return (claim_id_check(&o->id, &discarded) == STATUS_OK) ? STATUS_OK : HOST_DAMAGED;
}

/* --- proto/store.options must agree with cfg/limits.h --- */

#define SAME_CAP(message, field, cap)                                                              \
    _Static_assert(sizeof((message *)0)->field == (cap), "proto/store.options and limits agree")

SAME_CAP(store_ClaimRecord, uid, UID_CAP);
SAME_CAP(store_ClaimRecord, namespace, NAMESPACE_CAP);
SAME_CAP(store_ClaimRecord, name, NAME_CAP);
SAME_CAP(store_ClaimRecord, boot_id, UID_CAP);
SAME_CAP(store_ClaimRecord, node_name, NAME_CAP);
SAME_CAP(store_ClaimRecord, pod_name, NAME_CAP);
SAME_CAP(store_ClaimRecord, pod_uid, UID_CAP);
SAME_CAP(store_ClaimRecord, ultraserver_server_id, SERVER_ID_CAP);
SAME_CAP(store_ClaimRecord, pod_claim_name, NAMESPACE_CAP);
SAME_CAP(store_StoredResult, request, REQUEST_BASE_CAP);
SAME_CAP(store_StoredResult, device, DEVICE_NAME_CAP);
SAME_CAP(store_StoredResult, share_id, UID_CAP);
/*
 * The longest record fits in STORE_RECORD_MAX bytes. Tag and length add 3 bytes to each message,
 * and 2 or 3 bytes to each string. A result has either uverbs (4 bytes) or a logical core and a
 * mode (12 bytes), so 4 bytes are subtracted from the size of a result.
 */
_Static_assert(RESULTS_MAX *(store_StoredResult_size - 4 + 3) + 4u * UID_CAP + 3u * NAME_CAP +
                       9u * 3u + 33u + 12u + 9u + 2u + 10u + 4u + SERVER_ID_CAP + 3u + 4u +
                       NAMESPACE_CAP + 2u <=
                   STORE_RECORD_MAX,
               "the longest record fits");
