/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles the two locks of the claim store: the holder of LOCK_OWNER owns the store, and the holder
 * of LOCK_NEXT becomes its next owner. Every HANDOVER_CHECK_MS the owner checks whether another
 * agent holds LOCK_NEXT; if so, it finishes its calls and gives the store up.
 */
#include "agent/ledger/handover.h"

#include "agent/frame.h"
#include "agent/ledger/room.h"
#include "agent/report/log.h"
#include "base/time.h"
#include "cfg/identity.h"

static bool is_next(const struct handover *h)
{
    return h->state == HANDOVER_NEXT || h->state == HANDOVER_RETURNING;
}

static bool had_store(const struct handover *h)
{
    return h->state != HANDOVER_WAITING && h->state != HANDOVER_NEXT;
}

bool handover_owns(const struct agent *a)
{
    return a->ledger->handover.state == HANDOVER_OWNER ||
           a->ledger->handover.state == HANDOVER_LEAVING;
}

bool handover_defers(const struct agent *a, uint64_t start_ms)
{
    return a->ledger->handover.state == HANDOVER_LEAVING &&
           start_ms >= a->ledger->handover.leaving_ms;
}

static void request_next_lock(struct agent *a)
{
    struct handover *h = &a->ledger->handover;
    const struct files *f = a->files;
    if (f->lock(f->ctx, STORE_LOCK_NAME, LOCK_NEXT) == STATUS_OK) {
        handover_move(h, had_store(h) ? HANDOVER_RETURNING : HANDOVER_NEXT);
    }
}

/*
 * Asks for the store, which another agent owns, by locking LOCK_NEXT. Unlocks LOCK_NEXT when this
 * agent cannot serve claims any more (`wanted` of handover_step). An agent that handed the store
 * over asks again only while a kubelet call waits. The kubelet calls the agent that registered
 * last: if two agents started at the same time, or the kubelet restarted, this may be the agent
 * that handed the store over.
 */
static void request_store(struct agent *a)
{
    struct handover *h = &a->ledger->handover;
    const struct files *f = a->files;
    h->older = f->holder(f->ctx, LOCK_OWNER) == HOLDER_OLDER;
    bool asks = h->wanted && !is_next(h) && !h->older;
    if (asks && (!had_store(h) || h->called)) {
        request_next_lock(a);
    }
    if (!h->wanted && is_next(h)) {
        f->unlock(f->ctx, LOCK_NEXT);
        handover_move(h, had_store(h) ? HANDOVER_RETIRED : HANDOVER_WAITING);
    }
}

enum status handover_acquire(struct agent *a)
{
    struct handover *h = &a->ledger->handover;
    const struct files *f = a->files;
    enum status s = f->lock(f->ctx, STORE_LOCK_NAME, LOCK_OWNER);
    if (s == STATUS_OK && !is_next(h) && f->holder(f->ctx, LOCK_NEXT) != HOLDER_NOBODY) {
        /*
         * the last owner released LOCK_OWNER for the agent that holds LOCK_NEXT, so leave the lock
         * to that agent
         */
        f->unlock(f->ctx, LOCK_OWNER);
        s = HOST_BUSY;
    }
    if (s == HOST_BUSY) {
        if (handover_owns(a)) {
            handover_move(h, HANDOVER_RETIRED);
        }
        request_store(a);
    }
    if (s != STATUS_OK) {
        return s;
    }
    /*
     * Unlocks LOCK_NEXT even if locking it failed, because the system may have granted the lock
     * nevertheless.
     */
    f->unlock(f->ctx, LOCK_NEXT);
    if (!handover_owns(a)) {
        handover_move(h, HANDOVER_OWNER);
    }
    h->older = false;
    h->check_ms = a->now_ms + HANDOVER_CHECK_MS;
    return STATUS_OK;
}

/*
 * Whether the lock file of the store was removed, and another agent has locked LOCK_OWNER in a new
 * file of that name. As both agents then hold a LOCK_OWNER, this agent hands the store over to the
 * other one. Only one in HANDOVER_LOCK_LOOKS calls checks this.
 */
static bool lock_replaced(struct agent *a)
{
    struct handover *h = &a->ledger->handover;
    h->looks = (h->looks + 1u) % HANDOVER_LOCK_LOOKS;
    return h->looks == 0u &&
           a->files->lock(a->files->ctx, STORE_LOCK_NAME, LOCK_OWNER) == HOST_BUSY;
}

static void look_for_next(struct agent *a)
{
    struct handover *h = &a->ledger->handover;
    h->check_ms = a->now_ms + HANDOVER_CHECK_MS;
    h->leaving_ms = a->now_ms;
    if (lock_replaced(a) || a->files->holder(a->files->ctx, LOCK_NEXT) != HOLDER_NOBODY) {
        handover_move(h, HANDOVER_LEAVING);
    }
}

void handover_called(struct agent *a, bool called)
{
    a->ledger->handover.called = called;
}

void handover_step(struct agent *a, bool wanted)
{
    struct handover *h = &a->ledger->handover;
    h->wanted = wanted;
    if (a->ledger->busy) {
        return;
    }
    if (h->state == HANDOVER_OWNER && a->now_ms >= h->check_ms) {
        look_for_next(a);
    }
}

bool handover_ends(const struct agent *a, bool running)
{
    const struct handover *h = &a->ledger->handover;
    bool late = a->now_ms >= h->leaving_ms + HANDOVER_MS;
    return !a->ledger->busy && h->state == HANDOVER_LEAVING && (late || !running);
}

void handover_retire(struct agent *a)
{
    handover_move(&a->ledger->handover, HANDOVER_RETIRED);
    a->files->unlock(a->files->ctx, LOCK_OWNER);
    log_one(a, LOG_ID_STORE_HANDED_OVER, "text",
            "this agent serves no claim until the other agent has ended");
}

uint64_t handover_deadline(const struct agent *a)
{
    const struct handover *h = &a->ledger->handover;
    if (a->ledger->busy || !handover_owns(a)) {
        return UINT64_MAX;
    }
    return (h->state == HANDOVER_LEAVING) ? h->leaving_ms + HANDOVER_MS : h->check_ms;
}

uint64_t handover_leaving_ms(const struct agent *a)
{
    return a->ledger->handover.leaving_ms;
}

bool handover_is_older(const struct agent *a)
{
    return a->ledger->handover.older;
}
