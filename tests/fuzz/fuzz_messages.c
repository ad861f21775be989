/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every message that a peer or the disk can hand to nanopb, by the agent's decoding: what decodes
 * is encoded again, decodes to the same bytes, and stays within its size. Checks I1 to I3 of
 * wire/decode.h.
 *
 * Input: one byte for the message, then its protobuf
 */
#include "wire/decode.h"
#include "generated/dra.pb.h"
#include "generated/grpc_health.pb.h"
#include "generated/kube.pb.h"
#include "generated/projection.pb.h"
#include "generated/registration.pb.h"
#include "generated/store.pb.h"
#include "pb_encode.h"
#include "tests/fuzz/fuzz.h"

/* Messages without callbacks: what is decoded is all that is kept. */
static const struct row {
    const pb_msgdesc_t *fields;
    size_t size;
} rows[] = {
    {dra_Claim_fields, sizeof(dra_Claim)},
    {dra_NodeUnprepareResourceResponse_fields, sizeof(dra_NodeUnprepareResourceResponse)},
    {dra_Device_fields, sizeof(dra_Device)},
    {grpc_health_HealthCheckRequest_fields, sizeof(grpc_health_HealthCheckRequest)},
    {grpc_health_HealthCheckResponse_fields, sizeof(grpc_health_HealthCheckResponse)},
    {pluginregistration_PluginInfo_fields, sizeof(pluginregistration_PluginInfo)},
    {kube_TypeMeta_fields, sizeof(kube_TypeMeta)},
    {kube_ObjectMeta_fields, sizeof(kube_ObjectMeta)},
    {kube_DeviceAttribute_fields, sizeof(kube_DeviceAttribute)},
    {projection_TypeMeta_fields, sizeof(projection_TypeMeta)},
    {projection_StatusRecord_fields, sizeof(projection_StatusRecord)},
    {projection_MetaRecord_fields, sizeof(projection_MetaRecord)},
    {projection_LabelRecord_fields, sizeof(projection_LabelRecord)},
    {projection_ResultRecord_fields, sizeof(projection_ResultRecord)},
    {projection_AllocationRecord_fields, sizeof(projection_AllocationRecord)},
    {projection_ObjectEndRecord_fields, sizeof(projection_ObjectEndRecord)},
    {projection_ConsumerRecord_fields, sizeof(projection_ConsumerRecord)},
    {projection_AttributeRecord_fields, sizeof(projection_AttributeRecord)},
    {projection_DeviceRecord_fields, sizeof(projection_DeviceRecord)},
    {projection_SliceSpecRecord_fields, sizeof(projection_SliceSpecRecord)},
    {projection_ListMetaRecord_fields, sizeof(projection_ListMetaRecord)},
    {projection_WatchTypeRecord_fields, sizeof(projection_WatchTypeRecord)},
    {store_StoredResult_fields, sizeof(store_StoredResult)},
};
#define ROWS (sizeof rows / sizeof rows[0])

/* Room of the largest, with a canary behind the message's own size. */
#define ROOM_BYTES 8192u
#define CANARY 0x5a

static union {
    uint64_t align;
    uint8_t bytes[ROOM_BYTES];
} room;

static uint8_t once[ROOM_BYTES];
static uint8_t twice[ROOM_BYTES];

static struct view encode(const struct row *row, uint8_t *out)
{
    pb_ostream_t stream = pb_ostream_from_buffer(out, ROOM_BYTES);
    CHECK(pb_encode(&stream, row->fields, room.bytes)); /* I1 */
    return view_of(out, stream.bytes_written);
}

static bool read_row(const struct row *row, struct view bytes)
{
    CHECK(row->size + 64u <= ROOM_BYTES);
    memset(room.bytes, 0, row->size);
    memset(room.bytes + row->size, CANARY, 64);
    bool good = decode(bytes, row->fields, room.bytes);
    for (size_t i = 0; i < 64u; i++) {
        CHECK(room.bytes[row->size + i] == CANARY); /* I3 */
    }
    return good;
}

/* --- messages with callbacks: lists of claims, as the kubelet sends them --- */

struct claims {
    unsigned count;
    struct fuzz_sum sum;
};

static bool read_claim(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    struct claims *c = *arg;
    dra_Claim claim = dra_Claim_init_zero;
    (void)field;
    if (!pb_decode(in, dra_Claim_fields, &claim)) {
        return false;
    }
    c->count++;
    fuzz_sum_view(&c->sum, view_text(claim.uid));
    fuzz_sum_view(&c->sum, view_text(claim.name));
    fuzz_sum_view(&c->sum, view_text(claim.namespace));
    return true;
}

static bool read_list(struct view bytes, bool unprepare, struct claims *c)
{
    dra_NodePrepareResourcesRequest prepare = dra_NodePrepareResourcesRequest_init_zero;
    dra_NodeUnprepareResourcesRequest undo = dra_NodeUnprepareResourcesRequest_init_zero;
    *c = (struct claims){.sum = fuzz_sum_of()};
    prepare.claims.funcs.decode = read_claim;
    prepare.claims.arg = c;
    undo.claims.funcs.decode = read_claim;
    undo.claims.arg = c;
    return unprepare ? decode(bytes, dra_NodeUnprepareResourcesRequest_fields, &undo)
                     : decode(bytes, dra_NodePrepareResourcesRequest_fields, &prepare);
}

/* Both calls have one form. */
static void try_list(struct view bytes)
{
    struct claims a;
    struct claims b;
    bool good = read_list(bytes, false, &a);
    CHECK(read_list(bytes, true, &b) == good);
    CHECK(a.count == b.count && a.sum.value == b.sum.value && a.count <= bytes.len / 2u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz in = fuzz_of(data, size);
    const struct row *row = &rows[fuzz_u8(&in) % ROWS];
    struct view rest = fuzz_rest(&in);
    uint8_t *copy = fuzz_copy(rest.data, rest.len);
    struct view bytes = view_of(copy, rest.len);
    if (read_row(row, bytes)) {
        struct view first = encode(row, once);
        CHECK(read_row(row, first)); /* I2 */
        struct view second = encode(row, twice);
        CHECK(view_equal(first, second));
    }
    try_list(bytes);
    free(copy);
    return 0;
}
