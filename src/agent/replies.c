/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of prepare and unprepare calls: a map by claim UID, encoded entry by entry and sent as
 * the peer takes it. Owns the sending position in a call. An entry is encoded anew for each piece:
 * records do not change while a call replies, and nothing of the size of a whole answer is ever
 * kept.
 */
#include "agent/calls.h"
#include "base/assert.h"
#include "generated/dra.pb.h"
#include "pb_encode.h"

static bool write_device(pb_ostream_t *out, const pb_field_t *field, const struct claim_record *r,
                         unsigned index)
{
    const struct claim_result *result = &r->result[index];
    dra_Device device = dra_Device_init_zero;
    device.request_names_count = 1;
    device.cdi_device_ids_count = 1;
    struct writer name = writer_of(device.device_name, sizeof device.device_name);
    writer_text(&name, DEVICE_NAME_PREFIX);
    writer_decimal(&name, result->number);
    enum status s = writer_end_text(&name);
    ASSERT(s == STATUS_OK);
    s = text_copy(device.request_names[0], sizeof device.request_names[0],
                  view_text(result->request));
    ASSERT(s == STATUS_OK);
    s = text_copy(device.pool_name, sizeof device.pool_name, view_text(r->pool));
    ASSERT(s == STATUS_OK);
    cdi_device_id(r->id.uid, result->request, device.cdi_device_ids[0]);
    device.has_share_id = result->share_id[0] != 0;
    text_cut(device.share_id, sizeof device.share_id, view_text(result->share_id));
    return pb_encode_tag_for_field(out, field) &&
           pb_encode_submessage(out, dra_Device_fields, &device);
}

static bool write_devices(pb_ostream_t *out, const pb_field_t *field, void *const *arg)
{
    const struct claim_record *r = *arg;
    for (unsigned i = 0; i < r->count; i++) {
        if (!write_device(out, field, r, i)) {
            return false;
        }
    }
    return true;
}

_Static_assert(sizeof((dra_Device *)0)->cdi_device_ids[0] == CDI_ID_CAP,
               "proto/dra.options and limits agree");

/* Map entries are the repeated field 1 of both responses. */
static bool write_entry(struct writer *entry, const pb_msgdesc_t *fields, const void *message)
{
    pb_ostream_t out = pb_ostream_from_buffer(entry->data, entry->cap);
    bool ok = pb_encode_tag(&out, PB_WT_STRING, dra_NodePrepareResourcesResponse_claims_tag) &&
              pb_encode_submessage(&out, fields, message);
    entry->len = ok ? out.bytes_written : 0;
    return ok;
}

/*
 * Encodes the entry of one operation into scratch.entry. false: its record is gone, or it does not
 * fit.
 */
static bool encode_prepare(struct agent *a, const struct operation *o, struct writer *entry)
{
    dra_NodePrepareResourcesResponse_ClaimsEntry e =
        dra_NodePrepareResourcesResponse_ClaimsEntry_init_zero;
    text_cut(e.key, sizeof e.key, view_text(o->id.uid));
    e.has_value = true;
    if (o->state == OPERATION_FAILED) {
        text_cut(e.value.error, sizeof e.value.error, view_text(o->error));
        return write_entry(entry, dra_NodePrepareResourcesResponse_ClaimsEntry_fields, &e);
    }
    ASSERT(o->state == OPERATION_DONE);
    bool held = a->ledger.entry[o->slot].state == LEDGER_HELD &&
                view_is(view_text(a->ledger.entry[o->slot].id.uid), o->id.uid);
    if (!held || ledger_read(a, o->slot) != STATUS_OK) {
        return false;
    }
    e.value.devices.funcs.encode = write_devices;
    e.value.devices.arg = &a->scratch.claim;
    return write_entry(entry, dra_NodePrepareResourcesResponse_ClaimsEntry_fields, &e);
}

static bool encode_unprepare(const struct operation *o, struct writer *entry)
{
    dra_NodeUnprepareResourcesResponse_ClaimsEntry e =
        dra_NodeUnprepareResourcesResponse_ClaimsEntry_init_zero;
    text_cut(e.key, sizeof e.key, view_text(o->id.uid));
    e.has_value = true;
    text_cut(e.value.error, sizeof e.value.error, view_text(o->error));
    return write_entry(entry, dra_NodeUnprepareResourcesResponse_ClaimsEntry_fields, &e);
}

static bool encode(struct agent *a, const struct call *c, unsigned at, struct writer *entry)
{
    const struct operation *o = &a->operation[c->operation[at]];
    *entry = writer_of(a->scratch.entry, sizeof a->scratch.entry);
    return c->unprepare ? encode_unprepare(o, entry) : encode_prepare(a, o, entry);
}

/* Lengths of all entries first: gRPC announces the message's length before its first byte. */
static bool measure(struct agent *a, struct call *c, uint32_t *total)
{
    struct writer entry;
    *total = 0;
    for (unsigned i = 0; i < c->count; i++) {
        if (!encode(a, c, i, &entry)) {
            return false;
        }
        a->operation[c->operation[i]].entry_len = (uint32_t)entry.len;
        *total += (uint32_t)entry.len;
    }
    return true;
}

enum reply_progress { REPLY_WAITS, REPLY_COMPLETE, REPLY_BROKEN };

static enum reply_progress send_entry(struct agent *a, struct call *c)
{
    struct grpc_server *s = &a->link[c->link].grpc;
    struct writer entry;
    if (!encode(a, c, c->at, &entry) || entry.len != a->operation[c->operation[c->at]].entry_len) {
        return REPLY_BROKEN; /* unprepared meanwhile: the announced length cannot be kept */
    }
    size_t taken = 0;
    enum status st = grpc_reply_bytes(s, c->id, view_from(writer_view(&entry), c->offset), &taken);
    if (st != STATUS_OK && st != STATUS_MORE) {
        return REPLY_BROKEN;
    }
    c->offset += (uint32_t)taken;
    if (c->offset < entry.len) {
        return REPLY_WAITS;
    }
    c->offset = 0;
    c->at++;
    return REPLY_COMPLETE;
}

static enum reply_progress begin(struct agent *a, struct call *c)
{
    uint32_t total = 0;
    if (!measure(a, c, &total)) {
        return REPLY_BROKEN;
    }
    enum status s = grpc_reply_begin(&a->link[c->link].grpc, c->id, total);
    if (s == STATUS_MORE) {
        return REPLY_WAITS;
    }
    c->begun = s == STATUS_OK;
    return c->begun ? REPLY_COMPLETE : REPLY_BROKEN;
}

bool call_reply(struct agent *a, unsigned index)
{
    struct call *c = &a->call[index];
    ASSERT(c->used && c->replying);
    enum reply_progress p = c->begun ? REPLY_COMPLETE : begin(a, c);
    while (p == REPLY_COMPLETE && c->at < c->count) {
        p = send_entry(a, c);
    }
    if (p == REPLY_WAITS) {
        return false;
    }
    if (p == REPLY_BROKEN) {
        answer_status(a, c->link, c->id, GRPC_INTERNAL,
                      "a claim of this call was unprepared meanwhile; try again");
        return true;
    }
    return grpc_finish(&a->link[c->link].grpc, c->id, GRPC_OK, "") != STATUS_MORE;
}
