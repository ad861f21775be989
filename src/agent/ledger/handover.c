/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two locks of the claim store: who holds LOCK_OWNER owns it, who holds LOCK_NEXT is to be the
 * next. The owner looks for the latter once a second, finishes its calls, and retires.
 */
#include "agent/ledger/handover.h"

#include "agent/state.h"
#include "base/time.h"
#include "cfg/identity.h"

/*
 * Another agent has the store: this one asks for it. One that gave the store away asks again only
 * when a call comes: the kubelet calls the agent that registered last, and of two that start at
 * once, or that a kubelet which was restarted finds, that need not be the one that asked last.
 */
static void ask(struct agent *a)
{
    struct handover *h = &a->handover;
    const struct files *f = a->files;
    h->older = f->holder(f->ctx, LOCK_OWNER) == HOLDER_OLDER;
    bool asks = h->wanted && !h->next && !h->older;
    if (asks && (!h->owned || h->called)) {
        h->next = f->lock(f->ctx, STORE_LOCK_NAME, LOCK_NEXT) == STATUS_OK;
    }
    if (!h->wanted && h->next) {
        f->unlock(f->ctx, LOCK_NEXT);
        h->next = false;
    }
}

enum status handover_take(struct agent *a)
{
    struct handover *h = &a->handover;
    const struct files *f = a->files;
    enum status s = f->lock(f->ctx, STORE_LOCK_NAME, LOCK_OWNER);
    if (s == STATUS_OK && !h->next && f->holder(f->ctx, LOCK_NEXT) != HOLDER_NOBODY) {
        f->unlock(f->ctx, LOCK_OWNER); /* it was given up for that agent */
        s = HOST_BUSY;
    }
    if (s == HOST_BUSY) {
        h->locked = false;
        ask(a);
    }
    if (s != STATUS_OK) {
        return s;
    }
    /* Also where it was refused as ours: the system may have given it all the same. */
    f->unlock(f->ctx, LOCK_NEXT);
    h->next = false;
    h->older = false;
    h->owned = true;
    h->locked = true;
    h->check_ms = a->now_ms + HANDOVER_CHECK_MS;
    return STATUS_OK;
}

/*
 * Whoever removes the lock file leaves two agents with a lock each, and the store with the first.
 * Now and then the owner looks for that, so that the other one is no less the next.
 */
static bool lock_replaced(struct agent *a)
{
    struct handover *h = &a->handover;
    h->looks = (h->looks + 1u) % HANDOVER_LOCK_LOOKS;
    return h->looks == 0u &&
           a->files->lock(a->files->ctx, STORE_LOCK_NAME, LOCK_OWNER) == HOST_BUSY;
}

static void look_for_next(struct agent *a)
{
    struct handover *h = &a->handover;
    h->check_ms = a->now_ms + HANDOVER_CHECK_MS;
    h->leaving = lock_replaced(a) || a->files->holder(a->files->ctx, LOCK_NEXT) != HOLDER_NOBODY;
    h->leaving_ms = a->now_ms;
}

void handover_called(struct agent *a, bool called)
{
    a->handover.called = called;
}

void handover_step(struct agent *a, bool wanted)
{
    struct handover *h = &a->handover;
    h->wanted = wanted;
    if (a->ledger.busy) {
        return;
    }
    if (!h->leaving && h->owned && a->now_ms >= h->check_ms) {
        look_for_next(a);
    }
}

bool handover_ends(const struct agent *a, bool running)
{
    const struct handover *h = &a->handover;
    bool late = a->now_ms >= h->leaving_ms + HANDOVER_MS;
    return !a->ledger.busy && h->leaving && (late || !running);
}

void handover_retire(struct agent *a)
{
    a->handover.leaving = false;
    a->handover.locked = false;
    a->files->unlock(a->files->ctx, LOCK_OWNER);
    log_one(a, LOG_ID_STORE_HANDED_OVER, "text",
            "this one serves no claim until the other one has ended");
}

uint64_t handover_deadline(const struct agent *a)
{
    const struct handover *h = &a->handover;
    if (a->ledger.busy || !h->owned) {
        return UINT64_MAX;
    }
    return h->leaving ? h->leaving_ms + HANDOVER_MS : h->check_ms;
}
