/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf messages of a peer or the disk, to the agent's decoder (nanopb, wire/decode.h) and to
 * Google's C++ one.
 *
 * A message that both decoders take has the same value in each field, whereby a text ends at its
 * first NUL, as nanopb's texts do; the same holds for the claims of a call of the kubelet, unless a
 * claim is of another wire type. What only one of them takes has one of the reasons of `explained`:
 * a limit of the generated structure, or a form that no encoder writes.
 *
 * The first byte chooses the message, the rest is its octets.
 *
 * Input: one byte for the message, then its protobuf
 * Links: -lprotobuf
 * With: protobuf_oracle.cc
 */
#include "generated/dra.pb.h"
#include "generated/grpc_health.pb.h"
#include "generated/kube.pb.h"
#include "generated/projection.pb.h"
#include "generated/registration.pb.h"
#include "generated/store.pb.h"
#include "pb_common.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/protobuf_oracle.h"
#include "wire/decode.h"

#ifdef FUZZ_ALONE
/* Without the other decoder only the decoding runs. */
int oracle_decode(const char *name, const uint8_t *data, size_t len, struct oracle_values *values)
{
    (void)name;
    (void)data;
    (void)len;
    (void)values;
    return ORACLE_TOO_LONG;
}
#endif

/* Messages without callbacks: what is decoded is all that is kept. */
static const struct row {
    const char *name;
    const pb_msgdesc_t *fields;
    size_t size;
} rows[] = {
#define ROW(package, message)                                                                      \
    {#package "." #message, package##_##message##_fields, sizeof(package##_##message)}
    ROW(dra, Claim),
    ROW(dra, NodeUnprepareResourceResponse),
    ROW(dra, Device),
    ROW(dra, DeviceHealth),
    ROW(grpc_health, HealthCheckRequest),
    ROW(grpc_health, HealthCheckResponse),
    ROW(pluginregistration, PluginInfo),
    ROW(kube, TypeMeta),
    ROW(kube, ObjectMeta),
    ROW(kube, DeviceAttribute),
    ROW(projection, TypeMeta),
    ROW(projection, StatusRecord),
    ROW(projection, MetaRecord),
    ROW(projection, LabelRecord),
    ROW(projection, ResultRecord),
    ROW(projection, AllocationRecord),
    ROW(projection, ObjectEndRecord),
    ROW(projection, ConsumerRecord),
    ROW(projection, AttributeRecord),
    ROW(projection, DeviceRecord),
    ROW(projection, SliceSpecRecord),
    ROW(projection, ListMetaRecord),
    ROW(projection, WatchTypeRecord),
    ROW(store, StoredResult),
#undef ROW
};
#define ROWS (sizeof rows / sizeof rows[0])
#define ROOM_BYTES 65536u

static union {
    uint64_t align;
    uint8_t bytes[ROOM_BYTES];
} room;

static uint8_t values[2][ROOM_BYTES];
static struct oracle_values theirs = {.data = values[0], .cap = ROOM_BYTES};
static struct writer ours;

/* --- why nanopb may refuse what the other decoder takes --- */

#define PARTS_MAX 64u
#define KEY_OCTETS_MAX 5u /* of keys and lengths for Google's decoder; nanopb reads more */

/* A message, and those in it that are still to be looked at. */
struct look {
    struct {
        const pb_msgdesc_t *fields;
        struct view bytes;
    } parts[PARTS_MAX];
    unsigned count;
    bool found;
};

/* A varint by the wire format: up to ten octets, of which the last has one bit; else overlong. */
static bool take_varint(struct reader *r, uint64_t *value, bool *overlong)
{
    uint8_t octet = 0x80;
    *value = 0;
    for (unsigned i = 0; i < 10u && (octet & 0x80u) != 0u; i++) {
        if (reader_u8(r, &octet) != STATUS_OK) {
            return false;
        }
        *overlong = *overlong || (i == 9u && octet > 1u);
        *value |= (uint64_t)(octet & 0x7fu) << (7u * i);
    }
    *overlong = *overlong || (octet & 0x80u) != 0u;
    return true;
}

static bool fits_integer(const pb_field_iter_t *field, uint64_t value)
{
    unsigned bits = 8u * (unsigned)field->data_size;
    if (PB_LTYPE(field->type) == PB_LTYPE_BOOL) {
        return value >> 32 == 0u; /* nanopb reads 32 bits */
    }
    if (bits >= 64u) {
        return true;
    }
    if (PB_LTYPE(field->type) == PB_LTYPE_UVARINT) {
        return value >> bits == 0u;
    }
    int64_t number = (int64_t)value;
    int64_t half = (int64_t)1 << (bits - 1u);
    return number >= -half && number < half;
}

/* Whether nanopb's wire type for the field is the given one. */
static bool fits_wire(const pb_field_iter_t *field, unsigned wire)
{
    unsigned type = PB_LTYPE(field->type);
    if (type <= PB_LTYPE_LAST_PACKABLE) {
        unsigned fixed = (type == PB_LTYPE_FIXED32) ? 5u : (type == PB_LTYPE_FIXED64) ? 1u : 0u;
        return wire == fixed;
    }
    return wire == 2u;
}

static void look_at_text(struct look *l, const pb_field_iter_t *field, struct view text)
{
    bool nul = view_find(text, 0) < text.len;
    if (PB_LTYPE(field->type) == PB_LTYPE_STRING) {
        l->found = l->found || text.len >= field->data_size || nul || !fuzz_nanopb_takes(text);
    } else if (PB_LTYPE_IS_SUBMSG(field->type) && l->count < PARTS_MAX) {
        l->parts[l->count].fields = field->submsg_desc;
        l->parts[l->count].bytes = text;
        l->count++;
    } else {
        l->found = true;
    }
}

/* A field whose number the message has. */
static void look_at_known(struct look *l, const pb_field_iter_t *field, unsigned wire,
                          uint64_t number, struct view content)
{
    if (!fits_wire(field, wire)) {
        l->found = true; /* the other decoder takes it for an unknown field */
    } else if (wire == 2u) {
        look_at_text(l, field, content);
    } else {
        l->found = l->found || (wire == 0u && !fits_integer(field, number));
    }
}

/* One field as it is on the wire. */
struct wire_field {
    uint64_t key;
    uint64_t number;
    struct view content; /* of the wire types 1, 2 and 5 */
    bool overlong;       /* a varint of it has more octets than it may */
};

static bool take_content(struct reader *r, struct wire_field *w)
{
    static const uint8_t fixed[8] = {[1] = 8, [5] = 4};
    unsigned wire = (unsigned)w->key & 7u;
    bool number = wire == 0u || wire == 2u;
    size_t start = r->pos;
    if (number && !take_varint(r, &w->number, &w->overlong)) {
        return false;
    }
    w->overlong = w->overlong || (wire == 2u && r->pos - start > KEY_OCTETS_MAX);
    size_t len = (wire != 2u)              ? fixed[wire]
                 : (w->number <= SIZE_MAX) ? (size_t)w->number
                                           : SIZE_MAX;
    return reader_consume(r, len, &w->content) == STATUS_OK;
}

/* False: the message ends, or is cut. */
static bool take_field(struct reader *r, struct wire_field *w)
{
    size_t start = r->pos;
    *w = (struct wire_field){.content = view_of(NULL, 0)};
    if (reader_left(r) == 0u || !take_varint(r, &w->key, &w->overlong)) {
        return false;
    }
    w->overlong = w->overlong || r->pos - start > KEY_OCTETS_MAX;
    return take_content(r, w);
}

static void look_at_wire_field(struct look *l, const pb_msgdesc_t *fields,
                               const struct wire_field *w, unsigned *repeated)
{
    unsigned wire = (unsigned)w->key & 7u;
    pb_field_iter_t field;
    l->found = l->found || w->overlong || wire == 3u || wire == 4u || w->key >> 32 != 0u;
    if (!pb_field_iter_begin(&field, fields, room.bytes) ||
        !pb_field_iter_find(&field, (uint32_t)(w->key >> 3))) {
        return;
    }
    if (PB_HTYPE(field.type) == PB_HTYPE_REPEATED && PB_ATYPE(field.type) != PB_ATYPE_CALLBACK) {
        (*repeated)++;
        l->found = l->found || *repeated > field.array_size;
    }
    look_at_known(l, &field, wire, w->number, w->content);
}

/*
 * Whether a message has a text longer than its field, or one with a NUL or with what is not UTF-8
 * for nanopb; more entries than a list has room for; a number that its field does not hold; a
 * varint with more than 64 bits, which nanopb skips in a field that it does not know; a group; a
 * known field of another wire type.
 */
static bool explained(const pb_msgdesc_t *fields, struct view bytes)
{
    struct look l = {.count = 1};
    l.parts[0].fields = fields;
    l.parts[0].bytes = bytes;
    while (l.count > 0u && !l.found) {
        l.count--;
        struct reader r = reader_of(l.parts[l.count].bytes);
        const pb_msgdesc_t *part = l.parts[l.count].fields;
        unsigned repeated = 0; /* of all lists together: the agent's messages have few */
        struct wire_field w;
        while (!l.found && take_field(&r, &w)) {
            look_at_wire_field(&l, part, &w, &repeated);
        }
    }
    return l.found;
}

/* --- what nanopb left in a structure, in the form of protobuf_oracle.h --- */

static void write_head(uint32_t number, uint8_t kind)
{
    writer_append(&ours, view_of((const uint8_t *)&number, sizeof number));
    writer_u8(&ours, kind);
}

static void write_number(const pb_field_iter_t *field, const void *at)
{
    int64_t number = 0;
    bool is_signed = PB_LTYPE(field->type) == PB_LTYPE_VARINT;
    CHECK(PB_LTYPE(field->type) <= PB_LTYPE_SVARINT);
    switch (field->data_size) {
    case 1:
        number = is_signed ? (int64_t)*(const int8_t *)at : (int64_t)*(const uint8_t *)at;
        break;
    case 2:
        number = is_signed ? (int64_t)*(const int16_t *)at : (int64_t)*(const uint16_t *)at;
        break;
    case 4:
        number = is_signed ? (int64_t)*(const int32_t *)at : (int64_t)*(const uint32_t *)at;
        break;
    default:
        CHECK(field->data_size == 8u);
        memcpy(&number, at, sizeof number);
    }
    write_head(field->tag, ORACLE_NUMBER);
    writer_append(&ours, view_of((const uint8_t *)&number, sizeof number));
}

static void write_text(uint32_t number, const char *text)
{
    uint32_t len = (uint32_t)strlen(text);
    write_head(number, ORACLE_TEXT);
    writer_append(&ours, view_of((const uint8_t *)&len, sizeof len));
    writer_append(&ours, view_text(text));
}

static void write_fields(const pb_msgdesc_t *fields, void *structure);

static void write_value(const pb_field_iter_t *field, void *at)
{
    if (PB_LTYPE(field->type) == PB_LTYPE_STRING) {
        write_text(field->tag, at);
    } else if (PB_LTYPE_IS_SUBMSG(field->type)) {
        write_head(field->tag, ORACLE_BEGIN);
        write_fields(field->submsg_desc, at);
        write_head(field->tag, ORACLE_END);
    } else {
        write_number(field, at);
    }
}

/* How many values a field has; proto3 has no other sign of a value than that it is not zero. */
static unsigned values_of(const pb_field_iter_t *field)
{
    const uint8_t *at = field->pData;
    if (PB_HTYPE(field->type) == PB_HTYPE_REPEATED) {
        return *(const pb_size_t *)field->pSize;
    }
    if (field->pSize != NULL) {
        return *(const bool *)field->pSize ? 1u : 0u;
    }
    bool zero = true;
    size_t size = (PB_LTYPE(field->type) == PB_LTYPE_STRING) ? 1u : field->data_size;
    for (size_t i = 0; i < size; i++) {
        zero = zero && at[i] == 0u;
    }
    return zero ? 0u : 1u;
}

/* The fields stand in the order of their numbers; a message holds messages as proto/ nests them. */
static void write_fields(const pb_msgdesc_t *fields, void *structure)
{
    pb_field_iter_t field;
    if (!pb_field_iter_begin(&field, fields, structure)) {
        return;
    }
    do {
        CHECK(PB_ATYPE(field.type) == PB_ATYPE_STATIC);
        for (unsigned i = 0; i < values_of(&field); i++) {
            write_value(&field, (uint8_t *)field.pData + i * field.data_size);
        }
    } while (pb_field_iter_next(&field));
}

/* --- one message --- */

static bool same_values(void)
{
    return view_equal(writer_view(&ours), view_of(theirs.data, theirs.len));
}

static void try_message(const struct row *row, struct view bytes)
{
    CHECK(row->size <= ROOM_BYTES);
    memset(room.bytes, 0, row->size);
    bool taken = decode(bytes, row->fields, room.bytes);
    int verdict = oracle_decode(row->name, bytes.data, bytes.len, &theirs);
    if (verdict == ORACLE_TOO_LONG) {
        return;
    }
    bool both = taken && verdict == ORACLE_TAKEN;
    CHECK(both || (!taken && verdict == ORACLE_REFUSED) || explained(row->fields, bytes));
    if (both) {
        ours = writer_of(values[1], ROOM_BYTES);
        write_fields(row->fields, room.bytes);
        CHECK(same_values());
    }
}

/* --- lists of claims --- */

static bool write_claim(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    dra_Claim claim = dra_Claim_init_zero;
    (void)arg;
    if (!pb_decode(in, dra_Claim_fields, &claim)) {
        return false;
    }
    write_head(field->tag, ORACLE_BEGIN);
    write_fields(dra_Claim_fields, &claim);
    write_head(field->tag, ORACLE_END);
    return true;
}

/*
 * Whether one of the claims is a number on the wire: nanopb hands its octets to the callback as if
 * they were a message, and the other decoder takes it for an unknown field.
 */
static bool claim_of_another_type(struct view bytes)
{
    struct reader r = reader_of(bytes);
    struct wire_field w;
    bool found = false;
    while (!found && take_field(&r, &w)) {
        found = w.key >> 3 == dra_NodePrepareResourcesRequest_claims_tag && (w.key & 7u) != 2u;
    }
    return found;
}

/* nanopb's table of the call has no type for the claims, because a callback reads them. */
static bool explained_call(struct view bytes)
{
    struct reader r = reader_of(bytes);
    struct wire_field w;
    bool found = false;
    while (!found && take_field(&r, &w)) {
        unsigned wire = (unsigned)w.key & 7u;
        bool claim = w.key >> 3 == dra_NodePrepareResourcesRequest_claims_tag;
        found = w.overlong || wire == 3u || wire == 4u || w.key >> 32 != 0u ||
                (claim && (wire != 2u || explained(dra_Claim_fields, w.content)));
    }
    return found;
}

static void try_call(struct view bytes)
{
    dra_NodePrepareResourcesRequest call = dra_NodePrepareResourcesRequest_init_zero;
    ours = writer_of(values[1], ROOM_BYTES);
    call.claims.funcs.decode = write_claim;
    bool taken = decode(bytes, dra_NodePrepareResourcesRequest_fields, &call);
    int verdict = oracle_decode("dra.NodePrepareResourcesRequest", bytes.data, bytes.len, &theirs);
    if (verdict == ORACLE_TOO_LONG) {
        return;
    }
    bool both = taken && verdict == ORACLE_TAKEN;
    CHECK(both || (!taken && verdict == ORACLE_REFUSED) || explained_call(bytes));
    CHECK(!both || same_values() || claim_of_another_type(bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz in = fuzz_of(data, size);
    unsigned which = fuzz_u8(&in) % (ROWS + 1u);
    struct view rest = fuzz_rest(&in);
    uint8_t *copy = fuzz_copy(rest.data, rest.len);
    struct view bytes = view_of(copy, rest.len);
    if (which < ROWS) {
        try_message(&rows[which], bytes);
    } else {
        try_call(bytes);
    }
    free(copy);
    return 0;
}
