/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses the kubelet's checkpoint as a witness, see witness.h. The kubelet writes the checkpoint
 * before it prepares a claim and after it unprepares a claim, under one lock. So the checkpoint
 * lists each claim that has containers on the node. And if the checkpoint was written after a
 * prepare and does not list the claim, the kubelet has finished with the claim. A checkpoint that
 * was written before the prepare proves nothing, because it may be a restored copy, or the kubelet
 * may not be running.
 */
#include "agent/recovery/witness.h"

#include <string.h>

#include "agent/frame.h"
#include "agent/ledger/ledger.h"
#include "dra/kubelet_state.h"

/* What was read from the kubelet's checkpoint so far, and what is looked for in it. */
struct reading {
    struct kubelet_state state;
    uint64_t written_ms;
    const char *uid;   /* UID of the claim that is looked for; NULL: none */
    bool listed;       /* the checkpoint lists the claim `uid` */
    const char *after; /* UID above which the next claim is looked for */
    struct claim_id
        *next;    /* claim of this driver with the smallest UID above `after`; NULL: none */
    bool unnamed; /* a claim of this driver has no namespace or no name */
};

/* Whether UID `a` comes after UID `b` in the order of their bytes. */
static bool is_above(const char *a, const char *b)
{
    size_t i = 0;
    while (i + 1u < UID_CAP && a[i] != '\0' && a[i] == b[i]) {
        i++;
    }
    return (uint8_t)a[i] > (uint8_t)b[i];
}

static void read_claim(struct reading *r, const struct kubelet_claim *c)
{
    if (r->uid != NULL) {
        r->listed = r->listed || text_is(c->id.uid, r->uid);
    }
    if (r->next == NULL || !c->of_driver) {
        return;
    }
    r->unnamed = r->unnamed || c->id.namespace_[0] == '\0' || c->id.name[0] == '\0';
    bool above = is_above(c->id.uid, r->after);
    if (above && (r->next->uid[0] == '\0' || is_above(r->next->uid, c->id.uid))) {
        *r->next = c->id;
    }
}

static void read_claims(struct reading *r, struct view bytes)
{
    struct reader in = reader_of(bytes);
    const struct kubelet_claim *c = kubelet_state_next(&r->state, &in);
    while (c != NULL) { /* each iteration consumes bytes of `in` */
        read_claim(r, c);
        c = kubelet_state_next(&r->state, &in);
    }
}

/*
 * Reads the checkpoint in pieces. The read at offset 0 opens the file again, because the kubelet
 * replaces it. Nothing else may use scratch.body meanwhile.
 */
static enum status read_all(struct agent *a, struct reading *r)
{
    uint64_t at = 0;
    size_t len = sizeof a->scratch.body;
    kubelet_state_begin(&r->state, a->driver->name);
    while (len == sizeof a->scratch.body && at < KUBELET_STATE_BYTES_MAX) {
        struct writer out = writer_of(a->scratch.body, sizeof a->scratch.body);
        enum status s = a->files->kubelet_state(a->files->ctx, at, &out, &r->written_ms);
        if (s != STATUS_OK) {
            return s;
        }
        len = out.len;
        at += len;
        read_claims(r, writer_view(&out));
    }
    return kubelet_state_end(&r->state);
}

bool witness_lists(struct agent *a, const char *uid)
{
    struct reading r = {.uid = uid};
    return read_all(a, &r) == STATUS_OK && r.listed;
}

bool witness_exists(struct agent *a)
{
    struct reading r = {.uid = NULL};
    return read_all(a, &r) == STATUS_OK;
}

/*
 * Whether the kubelet of this boot wrote the checkpoint. An older checkpoint may be a copy that
 * somebody restored. If the checkpoint is dated in the future, the clock was wrong when it was
 * written, or is wrong now.
 */
static bool is_of_boot(const struct agent *a, const struct reading *r)
{
    uint64_t booted_ms = a->wall_ms - a->now_ms; /* now_ms counts from the boot on */
    return r->written_ms >= booted_ms && r->written_ms <= a->wall_ms;
}

enum status witness_next(struct agent *a, const char *after, struct claim_id *next)
{
    struct reading r = {.after = after, .next = next};
    memset(next, 0, sizeof *next);
    enum status s = read_all(a, &r);
    if (s == STATUS_OK && (r.unnamed || !is_of_boot(a, &r))) {
        s = PEER_UNSUPPORTED;
    }
    return (s == STATUS_OK && next->uid[0] == '\0') ? PEER_NOT_FOUND : s;
}

bool witness_unlisted(struct agent *a, const char *uid, uint64_t since_wall_ms, struct writer *why)
{
    struct reading r = {.uid = uid};
    enum status s = read_all(a, &r);
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
