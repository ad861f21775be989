/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses the kubelet's checkpoint as a witness, see witness.h. The kubelet writes the checkpoint
 * before it prepares a claim and after it unprepares a claim, under one lock. So if the checkpoint
 * was written after the prepare and does not list the claim, the kubelet has finished with the
 * claim. An older checkpoint proves nothing: it may be a restored copy, or the kubelet may not be
 * running.
 */
#include "agent/recovery/witness.h"

#include "agent/frame.h"
#include "agent/ledger/ledger.h"
#include "dra/kubelet_state.h"

/* What was read so far from the kubelet's checkpoint. */
struct reading {
    struct kubelet_state state;
    uint64_t written_ms;
    bool listed;
};

static void read_claims(struct reading *r, struct view bytes, const char *uid)
{
    char listed[UID_CAP];
    struct reader in = reader_of(bytes);
    while (kubelet_state_next(&r->state, &in, listed)) {
        r->listed = r->listed || text_is(listed, uid);
    }
}

/*
 * Reads the checkpoint in pieces. The read at offset 0 opens the file again, because the kubelet
 * replaces it. Nothing else may use scratch.body meanwhile.
 */
static enum status read_all(struct agent *a, struct reading *r, const char *uid)
{
    uint64_t at = 0;
    size_t len = sizeof a->scratch.body;
    kubelet_state_begin(&r->state);
    while (len == sizeof a->scratch.body && at < KUBELET_STATE_BYTES_MAX) {
        struct writer out = writer_of(a->scratch.body, sizeof a->scratch.body);
        enum status s = a->files->kubelet_state(a->files->ctx, at, &out, &r->written_ms);
        if (s != STATUS_OK) {
            return s;
        }
        len = out.len;
        at += len;
        read_claims(r, writer_view(&out), uid);
    }
    return kubelet_state_end(&r->state);
}

bool witness_exists(struct agent *a)
{
    struct reading r = {.listed = false};
    return read_all(a, &r, "") == STATUS_OK;
}

bool witness_unlisted(struct agent *a, const char *uid, uint64_t since_wall_ms, struct writer *why)
{
    struct reading r = {.listed = false};
    enum status s = read_all(a, &r, uid);
    if (s == PEER_UNSUPPORTED) {
        writer_text(why, "the kubelet's checkpoint is of a version that is not known");
    } else if (s == PEER_MALFORMED) {
        writer_text(why, "the kubelet's checkpoint is damaged, or too long");
    } else if (s != STATUS_OK) {
        WRITE(why, "the kubelet's checkpoint cannot be read (%)", TEXT(ledger_reason(a, s)));
    } else if (r.listed) {
        writer_text(why, "the kubelet has yet to unprepare it");
    } else if (r.written_ms <= since_wall_ms) {
        writer_text(why, "the kubelet has not written its checkpoint since the claim was prepared, "
                         "or since the agent started");
    } else {
        return true;
    }
    return false;
}
