/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the kubelet model and its judgement of replies; see sim_kubelet.h. */
#include <string.h>

#include "base/assert.h"
#include "generated/dra.pb.h"
#include "tests/sim/kubelet/sim_kubelet_internal.h"
#include "tests/sim/sim_proto.h"

#define PACKAGE "/k8s.io.kubelet.pkg.apis.dra."
#define PATH_MAX_BYTES 128

static const char *method_name(unsigned method)
{
    return method == SIM_PREPARE ? "NodePrepareResources" : "NodeUnprepareResources";
}

/* --- asking --- */

/* The newest plugin of the driver that is connected; else the newest. */
static struct sim_plugin *plugin_of(struct sim_kubelet *k, const char *driver)
{
    struct sim_plugin *best = NULL;
    bool best_open = false;
    for (unsigned i = 0; i < SIM_PLUGINS_MAX; i++) {
        struct sim_plugin *p = &k->plugin[i];
        bool open = p->channel[SERVICE].phase == CHANNEL_OPEN;
        if (p->state != PLUGIN_REGISTERED || strcmp(p->driver, driver) != 0) {
            continue;
        }
        if (best == NULL || (open && !best_open) || (open == best_open && p->order > best->order)) {
            best = p;
            best_open = open;
        }
    }
    return best;
}

const char *sim_kubelet_called(struct sim_kubelet *k, const char *driver)
{
    const struct sim_plugin *p = plugin_of(k, driver);
    return p == NULL ? "" : p->socket;
}

static void write_claims(struct writer *w, const struct sim_batch *batch)
{
    for (unsigned i = 0; i < batch->count; i++) {
        uint8_t bytes[sizeof(struct sim_claim) + 16];
        struct writer claim = writer_of(bytes, sizeof bytes);
        sim_put_text(&claim, dra_Claim_namespace_tag, batch->claims[i].ns);
        sim_put_text(&claim, dra_Claim_uid_tag, batch->claims[i].uid);
        sim_put_text(&claim, dra_Claim_name_tag, batch->claims[i].name);
        ASSERT(!claim.full);
        sim_put_bytes(w, dra_NodePrepareResourcesRequest_claims_tag, writer_view(&claim));
    }
}

static enum status send_call(const struct sim_kubelet *k, struct sim_plugin *p,
                             const struct sim_batch *batch, unsigned call)
{
    static const uint32_t limit_ms = SIM_CALL_MS;
    uint8_t message[GRPC_MESSAGE_BYTES_MAX];
    char path[PATH_MAX_BYTES];
    struct writer w = writer_of(message, sizeof message);
    struct writer full = writer_of(path, sizeof path);
    write_claims(&w, batch);
    writer_text(&full, PACKAGE);
    writer_text(&full, p->service);
    writer_text(&full, "/");
    writer_text(&full, method_name(batch->method));
    if (w.full || writer_end_text(&full) != STATUS_OK) {
        return FULL_BUFFER;
    }
    const struct sim_grpc_request r = {
        .path = path,
        .authority = "localhost",
        .message = writer_view(&w),
        .tag = call,
        .limit_ms = limit_ms,
    };
    return sim_grpc_call(&p->channel[SERVICE].grpc, k->now_ms, &r);
}

enum status sim_kubelet_call(struct sim_kubelet *k, uint64_t now_ms, const struct sim_batch *batch,
                             unsigned *call)
{
    ASSERT(now_ms >= k->now_ms);
    k->now_ms = now_ms;
    struct sim_plugin *p = plugin_of(k, batch->driver);
    ASSERT(batch->count <= CLAIMS_PER_CALL_MAX);
    if (p == NULL) {
        return PEER_NOT_FOUND;
    }
    if (p->channel[SERVICE].phase != CHANNEL_OPEN) {
        return STATUS_MORE;
    }
    for (unsigned i = 0; i < SIM_PENDING_MAX; i++) {
        struct sim_pending *pending = &k->pending[i];
        if (pending->used) {
            continue;
        }
        enum status s = send_call(k, p, batch, i);
        pending->used = s == STATUS_OK;
        pending->lost = false;
        pending->plugin = (unsigned)(p - k->plugin);
        pending->method = (uint8_t)batch->method;
        pending->count = batch->count;
        memcpy(pending->claim, batch->claims, batch->count * sizeof *batch->claims);
        *call = i;
        return s;
    }
    return FULL_TABLE;
}

/* --- judging --- */

static int claim_of(const struct sim_pending *p, struct view uid)
{
    for (unsigned i = 0; i < p->count; i++) {
        if (view_is(uid, p->claim[i].uid)) {
            return (int)i;
        }
    }
    return -1;
}

/* Error text of one entry: field 2 of a prepared claim, field 1 of an unprepared one. */
static struct view error_of(const struct sim_pending *p, struct view value)
{
    return sim_field_bytes(value, p->method == SIM_PREPARE
                                      ? dra_NodePrepareResourceResponse_error_tag
                                      : dra_NodeUnprepareResourceResponse_error_tag);
}

/* One entry of the reply; false when the reply as a whole is judged by it. */
static bool judge_entry(const struct sim_pending *p, struct view entry, struct writer *why)
{
    struct view uid = sim_field_bytes(entry, 1);
    struct view error = error_of(p, sim_field_bytes(entry, 2));
    int n = claim_of(p, uid);
    if (n < 0) {
        writer_text(why, method_name(p->method));
        writer_text(why, " returned result for unknown claim UID ");
        writer_shown(why, uid, SHOWN_BYTES_MAX);
        return false;
    }
    if (error.len > 0) {
        writer_text(why, method_name(p->method));
        writer_text(why, " failed for ResourceClaim ");
        writer_text(why, p->claim[n].name);
        writer_text(why, ": ");
        writer_append(why, error);
        return false;
    }
    return true;
}

/* As the kubelet's DRA manager does: the first failed claim is the one that is told. */
static void judge(const struct sim_pending *p, struct view reply, struct writer *why)
{
    struct reader in = reader_of(reply);
    struct sim_field f;
    unsigned seen = 0;
    bool well = true;
    enum status s = sim_field_next(&in, &f);
    while (s == STATUS_OK && well) {
        if (f.number == dra_NodePrepareResourcesResponse_claims_tag) {
            well = judge_entry(p, f.bytes, why);
            seen++;
        }
        s = sim_field_next(&in, &f);
    }
    if (well && s == PEER_MALFORMED) {
        writer_text(why, "the reply does not decode");
    } else if (well && seen != p->count) {
        writer_text(why, method_name(p->method));
        writer_text(why, " skipped ");
        writer_decimal(why, seen < p->count ? p->count - seen : 0);
        writer_text(why, " ResourceClaims");
    }
}

void sim_calls_answered(struct sim_kubelet *k, const struct sim_grpc_result *r,
                        struct sim_kubelet_event *e)
{
    ASSERT(r->tag < SIM_PENDING_MAX && k->pending[r->tag].used);
    struct sim_pending *p = &k->pending[r->tag];
    struct writer why = writer_of(k->verdict, sizeof k->verdict - 1);
    if (r->code == GRPC_OK) {
        judge(p, r->message, &why);
    } else {
        writer_text(&why, method_name(p->method));
        writer_text(&why, ": ");
        writer_text(&why, r->text);
    }
    k->verdict[why.len] = 0;
    p->used = false;
    e->kind = SIM_KUBELET_ANSWERED;
    e->call = r->tag;
    e->code = r->code;
    e->text = k->verdict;
    e->reply = r->message;
}

void sim_calls_lose(struct sim_kubelet *k, unsigned plugin)
{
    for (unsigned i = 0; i < SIM_PENDING_MAX; i++) {
        k->pending[i].lost = k->pending[i].lost || k->pending[i].plugin == plugin;
    }
}

bool sim_calls_lost(struct sim_kubelet *k, struct sim_kubelet_event *e)
{
    for (unsigned i = 0; i < SIM_PENDING_MAX; i++) {
        if (k->pending[i].used && k->pending[i].lost) {
            const struct sim_grpc_result r = {
                .tag = i,
                .code = GRPC_UNAVAILABLE,
                .text = "the connection was closed",
            };
            sim_calls_answered(k, &r, e);
            return true;
        }
    }
    return false;
}
