/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of prepare and unprepare calls: a map by claim UID, encoded entry by entry and sent as
 * the peer takes it. Owns the sending position in a call. An entry is encoded anew for each piece:
 * records do not change while a call replies, and nothing of the size of a whole answer is ever
 * kept.
 */
#include "agent/claims/calls_internal.h"
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
    device.has_share_id = result->share_id[0] != '\0';
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

/* Map entries are the repeated field 1 of both responses; the longest one has room. */
static void write_entry(struct writer *entry, const pb_msgdesc_t *fields, const void *message)
{
    pb_ostream_t out = pb_ostream_from_buffer(entry->data, entry->cap);
    bool ok = pb_encode_tag(&out, PB_WT_STRING, dra_NodePrepareResourcesResponse_claims_tag) &&
              pb_encode_submessage(&out, fields, message);
    ASSERT(ok);
    entry->len = out.bytes_written;
}

/* The record of a prepared claim; false: it was unprepared meanwhile, or cannot be read. */
static bool read_prepared(struct agent *a, const struct operation *o, struct claim_record *r,
                          struct writer *why)
{
    const struct ledger_entry *e = &a->ledger.entry[o->slot];
    ASSERT(o->state == OPERATION_DONE);
    if (e->state != LEDGER_HELD || !view_is(view_text(e->id.uid), o->id.uid)) {
        writer_text(why, "the claim was unprepared while its answer was sent; try again");
        return false;
    }
    enum status s = ledger_read(a, o->slot, r);
    if (s != STATUS_OK) {
        say_unreadable(a, s, why);
    }
    return s == STATUS_OK;
}

/* false: `why` says in one line what is wrong with the claim's record. */
static bool encode_prepare(struct agent *a, const struct operation *o, struct writer *entry,
                           struct writer *why)
{
    struct claim_record *r = &a->scratch.claim;
    dra_NodePrepareResourcesResponse_ClaimsEntry e =
        dra_NodePrepareResourcesResponse_ClaimsEntry_init_zero;
    text_cut(e.key, sizeof e.key, view_text(o->id.uid));
    e.has_value = true;
    if (o->state == OPERATION_FAILED) {
        text_cut(e.value.error, sizeof e.value.error, view_text(o->error));
        write_entry(entry, dra_NodePrepareResourcesResponse_ClaimsEntry_fields, &e);
        return true;
    }
    if (!read_prepared(a, o, r, why)) {
        return false;
    }
    e.value.devices.funcs.encode = write_devices;
    e.value.devices.arg = r;
    write_entry(entry, dra_NodePrepareResourcesResponse_ClaimsEntry_fields, &e);
    return true;
}

static void encode_unprepare(const struct operation *o, struct writer *entry)
{
    dra_NodeUnprepareResourcesResponse_ClaimsEntry e =
        dra_NodeUnprepareResourcesResponse_ClaimsEntry_init_zero;
    text_cut(e.key, sizeof e.key, view_text(o->id.uid));
    e.has_value = true;
    text_cut(e.value.error, sizeof e.value.error, view_text(o->error));
    write_entry(entry, dra_NodeUnprepareResourcesResponse_ClaimsEntry_fields, &e);
}

/* The entry of one operation; a claim whose record is not there any more fails, it alone. */
static void encode(struct agent *a, const struct call *c, unsigned at, struct writer *entry)
{
    struct operation *o = &a->operation[c->operation[at]];
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    *entry = writer_of(a->scratch.entry, sizeof a->scratch.entry);
    if (c->unprepare) {
        encode_unprepare(o, entry);
    } else if (!encode_prepare(a, o, entry, &why)) {
        operation_fail(a, o, writer_view(&why));
        bool told = encode_prepare(a, o, entry, &why);
        ASSERT(told);
    }
}

/*
 * Lengths of all entries first: gRPC announces the message's length before its first byte. `entry`
 * is the last one afterwards.
 */
static uint32_t measure(struct agent *a, const struct call *c, struct writer *entry)
{
    uint32_t total = 0;
    for (unsigned i = 0; i < c->count; i++) {
        encode(a, c, i, entry);
        a->operation[c->operation[i]].entry_len = (uint32_t)entry->len;
        total += (uint32_t)entry->len;
    }
    return total;
}

enum reply_progress { REPLY_WAITS, REPLY_COMPLETE, REPLY_BROKEN };

/* `entry` is the next entry, encoded just now, or empty. */
static enum reply_progress send_entry(struct agent *a, struct call *c, struct writer *entry)
{
    struct grpc_server *s = &a->link[c->link].grpc;
    if (entry->len == 0u) {
        encode(a, c, c->at, entry);
    }
    if (entry->len != a->operation[c->operation[c->at]].entry_len) {
        return REPLY_BROKEN; /* its record went meanwhile: the announced length cannot be kept */
    }
    size_t taken = 0;
    size_t len = entry->len;
    enum status st = grpc_reply_bytes(s, c->id, view_from(writer_view(entry), c->offset), &taken);
    entry->len = 0;
    if (st != STATUS_OK && st != STATUS_MORE) {
        return REPLY_BROKEN;
    }
    c->offset += (uint32_t)taken;
    if (c->offset < len) {
        return REPLY_WAITS;
    }
    c->offset = 0;
    c->at++;
    return REPLY_COMPLETE;
}

static enum reply_progress begin(struct agent *a, struct call *c, struct writer *entry)
{
    enum status s = grpc_reply_begin(&a->link[c->link].grpc, c->id, measure(a, c, entry));
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
    struct writer entry = writer_of(a->scratch.entry, sizeof a->scratch.entry);
    enum reply_progress p = c->begun ? REPLY_COMPLETE : begin(a, c, &entry);
    /* Measuring leaves the entry of a call with one claim, the usual one, ready to send. */
    entry.len = (c->count == 1u) ? entry.len : 0u;
    while (p == REPLY_COMPLETE && c->at < c->count) {
        p = send_entry(a, c, &entry);
    }
    if (p == REPLY_WAITS) {
        return false;
    }
    if (p == REPLY_BROKEN) {
        answer_status(a, c->link, c->id, GRPC_INTERNAL,
                      "a claim of this call was unprepared or became unreadable; try again");
        return true;
    }
    return grpc_finish(&a->link[c->link].grpc, c->id, GRPC_OK, "") != STATUS_MORE;
}
