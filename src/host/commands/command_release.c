/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `release`: sends one NodeUnprepareResources call to the agent's service socket, as
 * the kubelet does, with a time limit. The agent releases the claim itself, so that its table,
 * store and CDI files change together. Holds no state.
 */
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "generated/dra.pb.h"
#include "host/commands/commands_internal.h"
#include "host/system.h"
#include "pb_decode.h"
#include "pb_encode.h"

/*
 * Time limit for the call NodeUnprepareResources, in which the agent writes to its disk; the call
 * normally takes much less time.
 */
#define RELEASE_MAX_MS 10000u
#define METHOD "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources"
/*
 * Size of a buffer for the request: three texts, the longest of 253 bytes, with their tags and
 * lengths.
 */
#define REQUEST_BYTES 1024u
#define REPLY_BYTES 4096u

/* Writes the gRPC message of a NodeUnprepareResources request for one claim. */
static void put_request(struct writer *out, const struct claim_id *id)
{
    uint8_t bytes[REQUEST_BYTES];
    pb_ostream_t message = pb_ostream_from_buffer(bytes, sizeof bytes);
    dra_Claim claim = dra_Claim_init_zero;
    text_set(claim.namespace, sizeof claim.namespace, id->namespace_);
    text_set(claim.uid, sizeof claim.uid, id->uid);
    text_set(claim.name, sizeof claim.name, id->name);
    bool written =
        pb_encode_tag(&message, PB_WT_STRING, dra_NodeUnprepareResourcesRequest_claims_tag) &&
        pb_encode_submessage(&message, dra_Claim_fields, &claim);
    ASSERT(written); /* a claim of maximum length fits into REQUEST_BYTES */
    writer_u8(out, 0);
    writer_u32(out, (uint32_t)message.bytes_written);
    writer_append(out, view_of(bytes, message.bytes_written));
    ASSERT(!out->full);
}

/* --- the response to NodeUnprepareResources --- */

/*
 * Reads the first entry of the response's `claims` map. false: the message is malformed, or the map
 * is empty.
 */
static bool read_entry(struct view message, dra_NodeUnprepareResourcesResponse_ClaimsEntry *entry)
{
    pb_istream_t in = pb_istream_from_buffer(message.data, message.len);
    pb_istream_t bytes;
    pb_wire_type_t type = PB_WT_VARINT;
    uint32_t tag = 0;
    bool end = false;
    return pb_decode_tag(&in, &type, &tag, &end) && type == PB_WT_STRING &&
           tag == (uint32_t)dra_NodeUnprepareResourcesResponse_claims_tag &&
           pb_make_string_substream(&in, &bytes) &&
           pb_decode(&bytes, dra_NodeUnprepareResourcesResponse_ClaimsEntry_fields, entry);
}

/*
 * Evaluates the response to NodeUnprepareResources. STATUS_OK: the claim is released. Otherwise
 * `why` gets one line.
 */
static enum status judge_reply(const struct grpc_out *c, struct view reply,
                               const struct claim_id *id, struct writer *why)
{
    if (c->call.code != 0u || reply.len < 5u) {
        WRITE(why, "the agent refused: %", SHOWN(writer_view(&c->call.text)));
        return HOST_IO;
    }
    dra_NodeUnprepareResourcesResponse_ClaimsEntry entry =
        dra_NodeUnprepareResourcesResponse_ClaimsEntry_init_zero;
    if (!read_entry(view_from(reply, 5), &entry) || strcmp(entry.key, id->uid) != 0) {
        writer_text(why, "the agent's response does not name the claim");
        return HOST_IO;
    }
    if (entry.value.error[0] != '\0') {
        WRITE(why, "the agent could not release it: %", SHOWN(view_text(entry.value.error)));
        return HOST_IO;
    }
    return STATUS_OK;
}

/* --- the call of NodeUnprepareResources --- */

/*
 * Runs the call, and appends the response message with its prefix to `reply`. Returns 0 or an
 * errno.
 */
static int run_call(struct command_memory *m, struct grpc_out *c, const char *socket_path,
                    const struct claim_id *id, struct writer *reply)
{
    uint8_t bytes[REQUEST_BYTES + 16u];
    struct writer request = writer_of(bytes, sizeof bytes);
    struct view piece;
    put_request(&request, id);
    int error = grpc_call_begin(m, c, socket_path, METHOD, writer_view(&request));
    error = (error == 0) ? grpc_call_next(c, &piece) : error;
    while (error == 0 && piece.len > 0u) {
        writer_append(reply, view_first(piece, writer_room(reply)));
        error = grpc_call_next(c, &piece);
    }
    grpc_call_end(c);
    return error;
}

enum status release_call(struct command_memory *m, const char *socket_path,
                         const struct claim_id *id, struct writer *why)
{
    struct grpc_out c = {.end_ms = clock_now_ms() + RELEASE_MAX_MS};
    struct writer reply = writer_of(m->cdi[1], REPLY_BYTES);
    int error = run_call(m, &c, socket_path, id, &reply);
    if (error != 0) {
        WRITE(why, "no agent answers at %: ", TEXT(socket_path));
        if (error == EPROTO) {
            writer_text(why, "another program answers there, without gRPC; find it by ss -lxp");
        } else if (error == ETIMEDOUT) {
            WRITE(why, "%; the agent hangs: delete its pod", ERRNO(error));
        } else {
            WRITE(why, "%; check that the agent runs here, with this --pod-uid", ERRNO(error));
        }
        return HOST_IO;
    }
    return judge_reply(&c, writer_view(&reply), id, why);
}
