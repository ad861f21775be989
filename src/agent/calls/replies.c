/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies to prepare and unprepare calls. A reply is a map from claim UID to result, encoded entry
 * by entry and sent as the peer accepts it. The length of the message is sent first (gRPC
 * PROTOCOL-HTTP2, Length-Prefixed-Message). So the length of a claim's devices is computed from its
 * record when the claim is prepared; the entry of the claim is encoded just before it is sent.
 *
 * The messages are those of proto/dra.proto. All their fields are strings or messages with field
 * numbers below 16, so a field is one byte of tag, a varint for the length, and the content. Empty
 * strings are omitted.
 */
#include "agent/calls/replies.h"

#include <string.h>

#include "agent/calls/room.h"
#include "agent/frame.h"
#include "agent/ledger/ledger.h"
#include "base/assert.h"
#include "generated/dra.pb.h"

/* --- encoding of protobuf fields --- */

#define WIRE_TYPE_LEN 2u /* wire type of strings and messages (Protocol Buffers, "Encoding") */
/* The largest numbers that fit into a varint of one, two and three bytes, with 7 bits a byte. */
#define VARINT_1_MAX 0x7fu
#define VARINT_2_MAX 0x3fffu
#define VARINT_3_MAX 0x1fffffu

static size_t varint_len(size_t value)
{
    size_t len = 1;
    ASSERT(value <= VARINT_3_MAX);
    len += (value > VARINT_1_MAX) ? 1u : 0u;
    len += (value > VARINT_2_MAX) ? 1u : 0u;
    return len;
}
_Static_assert(REPLY_ENTRY_BYTES_MAX <= VARINT_3_MAX, "three bytes hold every length");

/* Length of a field in bytes: its tag, its length and its content. */
static size_t field_len(size_t content)
{
    return 1u + varint_len(content) + content;
}

static size_t text_len(const char *text)
{
    return (text[0] == '\0') ? 0u : field_len(strlen(text));
}

static void write_head(struct writer *out, unsigned number, size_t content)
{
    writer_u8(out, (uint8_t)(number << 3u | WIRE_TYPE_LEN));
    writer_varint(out, content);
}

static void write_text(struct writer *out, unsigned number, const char *text)
{
    if (text[0] != '\0') {
        write_head(out, number, strlen(text));
        writer_text(out, text);
    }
}

/* --- encoding of the devices of a claim --- */

/*
 * Number of fields of dra.Device; struct device_texts has their texts, in the order of the field
 * numbers.
 */
#define DEVICE_FIELDS 5u
struct device_texts {
    const char *field[DEVICE_FIELDS];
    char name[DEVICE_NAME_CAP];
    char cdi_id[CDI_ID_CAP];
};
_Static_assert(dra_Device_request_names_tag == 1 && dra_Device_pool_name_tag == 2 &&
                   dra_Device_device_name_tag == 3 && dra_Device_cdi_device_ids_tag == 4 &&
                   dra_Device_share_id_tag == 5,
               "device_of has the fields in the order of their numbers");

static void device_of(const struct claim_record *r, unsigned at, struct device_texts *d)
{
    const struct claim_result *result = &r->result[at];
    claim_device_name(result, d->name);
    cdi_device_id(r->driver, r->id.uid, result->request, d->cdi_id);
    d->field[0] = result->request;
    d->field[1] = r->pool;
    d->field[2] = d->name;
    d->field[3] = d->cdi_id;
    d->field[4] = result->share_id;
}

static size_t device_len(const struct device_texts *d)
{
    size_t len = 0;
    for (unsigned i = 0; i < DEVICE_FIELDS; i++) {
        len += text_len(d->field[i]);
    }
    return len;
}

uint32_t reply_devices_len(const struct claim_record *r)
{
    struct device_texts d;
    size_t len = 0;
    for (unsigned i = 0; i < r->count; i++) {
        device_of(r, i, &d);
        len += field_len(device_len(&d));
    }
    return (uint32_t)len;
}

static void write_devices(struct writer *out, const struct claim_record *r)
{
    struct device_texts d;
    for (unsigned i = 0; i < r->count; i++) {
        device_of(r, i, &d);
        write_head(out, dra_NodePrepareResourceResponse_devices_tag, device_len(&d));
        for (unsigned k = 0; k < DEVICE_FIELDS; k++) {
            write_text(out, k + 1u, d.field[k]);
        }
    }
}

/* --- entries of the map from claim UID to result, in prepare and unprepare responses --- */

#define CLAIMS_TAG dra_NodePrepareResourcesResponse_claims_tag
#define KEY_TAG dra_NodePrepareResourcesResponse_ClaimsEntry_key_tag
#define VALUE_TAG dra_NodePrepareResourcesResponse_ClaimsEntry_value_tag
_Static_assert(CLAIMS_TAG == dra_NodeUnprepareResourcesResponse_claims_tag &&
                   KEY_TAG == dra_NodeUnprepareResourcesResponse_ClaimsEntry_key_tag &&
                   VALUE_TAG == dra_NodeUnprepareResourcesResponse_ClaimsEntry_value_tag,
               "both responses have the same fields");

static size_t entry_content_len(const char *uid, size_t value)
{
    return text_len(uid) + field_len(value);
}

static void write_entry_head(struct writer *out, const char *uid, size_t value)
{
    write_head(out, CLAIMS_TAG, entry_content_len(uid, value));
    write_text(out, KEY_TAG, uid);
    write_head(out, VALUE_TAG, value);
}

uint32_t reply_entry_len(const char *uid, uint32_t devices_len)
{
    return (uint32_t)field_len(entry_content_len(uid, devices_len));
}

/*
 * Writes the entry of a claim whose prepare or unprepare failed, or that is unprepared. `tag`:
 * field number of the error in the entry; `error`: its text, empty for an unprepared claim.
 */
static void write_verdict(struct writer *out, const char *uid, unsigned tag, const char *error)
{
    write_entry_head(out, uid, text_len(error));
    write_text(out, tag, error);
}

/*
 * Whether the entry of this operation lists devices. Otherwise the entry has an error or, after an
 * unprepare, no content.
 */
static bool has_devices(const struct call *c, const struct operation *o)
{
    return !c->unprepare && o->state == OPERATION_DONE;
}

static uint32_t entry_len(const struct call *c, const struct operation *o)
{
    return reply_entry_len(o->id.uid,
                           has_devices(c, o) ? o->devices_len : (uint32_t)text_len(o->error));
}

/*
 * Encodes the next entry of the reply. false: the record of a prepared claim is gone, or its
 * devices no longer have the length that the start of the reply announced.
 */
static bool encode_entry(struct agent *a, unsigned call)
{
    const struct call *c = &a->calls->call[call];
    unsigned at = a->calls->reply[call].at;
    const struct operation *o = &a->calls->operation[c->operation[at]];
    struct reply_entry *e = &a->calls->reply_entry;
    struct writer out = writer_of(e->bytes, sizeof e->bytes);
    e->len = 0;
    if (has_devices(c, o)) {
        const struct claim_record *r = NULL;
        if (ledger_record(a, o->slot, &r) != STATUS_OK) {
            return false;
        }
        write_entry_head(&out, r->id.uid, o->devices_len);
        write_devices(&out, r);
    } else {
        write_verdict(&out, o->id.uid,
                      c->unprepare ? dra_NodeUnprepareResourceResponse_error_tag
                                   : dra_NodePrepareResourceResponse_error_tag,
                      o->error);
    }
    ASSERT(!out.full && out.len > 0u);
    e->call = (uint16_t)call;
    e->at = (uint16_t)at;
    e->len = (uint32_t)out.len;
    return e->len == entry_len(c, o);
}

/* --- sending the reply to a call --- */

static enum reply_progress send_entry(struct agent *a, unsigned call)
{
    const struct call *c = &a->calls->call[call];
    struct reply *reply = &a->calls->reply[call];
    const struct operation *o = &a->calls->operation[c->operation[reply->at]];
    const struct reply_entry *e = &a->calls->reply_entry;
    if (has_devices(c, o) && !ledger_holds(a, o->slot, o->id.uid)) {
        return REPLY_BROKEN;
    }
    bool kept = e->len > 0u && e->call == call && e->at == reply->at;
    if (!kept && !encode_entry(a, call)) {
        return REPLY_BROKEN;
    }
    size_t taken = 0;
    struct view rest = view_from(view_of(e->bytes, e->len), reply->offset);
    enum status s = grpc_reply_bytes(c->server, c->id, rest, &taken);
    if (s != STATUS_OK) {
        return REPLY_BROKEN;
    }
    reply->offset += (uint32_t)taken;
    if (reply->offset < e->len) {
        return REPLY_WAITS;
    }
    reply->offset = 0;
    reply->at++;
    return REPLY_COMPLETE;
}

static enum reply_progress start_reply(struct agent *a, unsigned call)
{
    const struct call *c = &a->calls->call[call];
    uint32_t total = 0;
    for (unsigned i = 0; i < c->count; i++) {
        total += entry_len(c, &a->calls->operation[c->operation[i]]);
    }
    enum status s = grpc_reply_begin(c->server, c->id, total);
    if (s == STATUS_MORE) {
        return REPLY_WAITS;
    }
    a->calls->reply[call].started = s == STATUS_OK;
    return (s == STATUS_OK) ? REPLY_COMPLETE : REPLY_BROKEN;
}

enum reply_progress reply_send(struct agent *a, unsigned call)
{
    const struct call *c = &a->calls->call[call];
    enum reply_progress p = a->calls->reply[call].started ? REPLY_COMPLETE : start_reply(a, call);
    while (p == REPLY_COMPLETE && a->calls->reply[call].at < c->count) {
        p = send_entry(a, call);
    }
    if (p == REPLY_COMPLETE && grpc_finish(c->server, c->id, GRPC_OK, "") == STATUS_MORE) {
        p = REPLY_WAITS;
    }
    return p;
}

void reply_end(struct agent *a, unsigned call)
{
    struct reply_entry *e = &a->calls->reply_entry;
    ASSERT(call < CALLS_MAX);
    if (e->call == call) {
        e->len = 0;
    }
    a->calls->reply[call] = (struct reply){0};
}
