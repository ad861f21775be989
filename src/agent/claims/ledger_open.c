/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the claim store needs beside the claims: it is opened, created, repaired, and flushed when
 * no call did. Fills the table of ledger.c. A store that exists but has no valid header is damaged,
 * never new: it is kept aside, and its readable halves are carried over.
 */
#include "agent/claims/ledger_open.h"

#include <string.h>

#include "agent/state.h"
#include "base/assert.h"
#include "cfg/identity.h"

static const char store_new[] = STORE_FILE_NAME ".new";
static const char store_aside[] = STORE_FILE_NAME ".damaged";
static const char store_aside_newest[] = STORE_FILE_NAME ".damaged-newest";

#define STORE_HEADER_COPY_BYTES (STORE_HEADER_BYTES / 2u)

static unsigned count_entries(const struct agent *a, uint8_t state)
{
    unsigned n = 0;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        n += (a->ledger.entry[i].state == (uint8_t)state) ? 1u : 0u;
    }
    return n;
}

/* Slots that could not be read are what they were. */
static void recount(struct agent *a)
{
    a->ledger.held = (uint16_t)count_entries(a, LEDGER_HELD);
    a->ledger.freeing = (uint16_t)count_entries(a, LEDGER_FREEING);
}

/*
 * The store cannot be opened now: logs why, but only once while another agent has it. The next try
 * comes later.
 */
static void not_usable(struct agent *a, const char *doing, enum status s)
{
    struct ledger *l = &a->ledger;
    struct writer why = writer_of(l->trouble, sizeof l->trouble);
    bool logged = l->busy && s == HOST_BUSY;
    ASSERT(!l->usable);
    recount(a);
    ledger_trouble_text(a, doing, s, &why);
    enum status ended = writer_end_text(&why);
    ASSERT(ended == STATUS_OK);
    l->busy = s == HOST_BUSY;
    if (!logged) {
        log_begin(a, LOG_ID_STORE_FAILED);
        log_text(a, "text", l->trouble);
        log_remedy(a, ledger_remedy(s));
        if (l->busy) {
            log_no_k8s_event(a); /* as in every rolling update */
        }
        log_end(a);
    }
    uint64_t wait = l->busy ? STORE_BUSY_MS : agent_backoff(a, &l->backoff_ms);
    l->retry_ms = a->now_ms + wait;
}

/* A store never shrinks: one that ends early was truncated. */
static enum status check_length(struct agent *a, const char *name)
{
    uint8_t last;
    struct writer byte = writer_of(&last, sizeof last);
    enum status s = a->files->read(a->files->ctx, FILES_STATE, name, STORE_FILE_BYTES - 1u, &byte);
    if (s != STATUS_OK) {
        return s;
    }
    return (byte.len == sizeof last) ? STATUS_OK : HOST_DAMAGED;
}

/* One valid copy is enough. */
static enum status read_header(struct agent *a, const char *name)
{
    const struct files *f = a->files;
    struct store_header h;
    for (unsigned copy = 0; copy < 2u; copy++) {
        struct writer bytes = writer_of(a->scratch.half, STORE_HEADER_COPY_BYTES);
        uint64_t at = (uint64_t)copy * STORE_HEADER_COPY_BYTES;
        enum status s = f->read(f->ctx, FILES_STATE, name, at, &bytes);
        if (s != STATUS_OK) {
            return s;
        }
        s = store_header_read(writer_view(&bytes), &h);
        if (s != HOST_DAMAGED) {
            return (s == STATUS_OK) ? check_length(a, name) : s;
        }
    }
    return HOST_DAMAGED;
}

/*
 * Reads one slot: which half counts, and its record, if it holds one. On failure the entry's state
 * is as it was.
 */
static enum status load_slot(struct agent *a, const char *name, unsigned slot,
                             const struct claim_record **r)
{
    const struct files *f = a->files;
    struct ledger_entry *e = &a->ledger.entry[slot];
    uint8_t before = e->state;
    struct store_half halves[2];
    /* The second half's bytes are needed only when it counts: judged first, read again if so. */
    for (unsigned i = 0; i < 2u; i++) {
        unsigned half = 1u - i;
        struct writer bytes = writer_of(a->scratch.half, sizeof a->scratch.half);
        enum status s = f->read(f->ctx, FILES_STATE, name, store_offset(slot, half), &bytes);
        if (s != STATUS_OK) {
            return s;
        }
        store_half_read(writer_view(&bytes), slot, &halves[half]);
    }
    int pick = store_pick(halves);
    if (pick < 0) {
        e->state = LEDGER_DAMAGED;
        return STATUS_OK;
    }
    e->half = (uint8_t)pick;
    e->sequence = halves[pick].sequence;
    e->state = LEDGER_FREE;
    if (halves[pick].state != STORE_HALF_RECORD) {
        return STATUS_OK;
    }
    e->state = LEDGER_HELD;
    enum status s = ledger_read_from(a, name, slot, r);
    if (s == HOST_DAMAGED) {
        e->state = LEDGER_DAMAGED;
        return STATUS_OK;
    }
    e->state = (s == STATUS_OK) ? LEDGER_HELD : before;
    return s;
}

static void slot_damaged(struct agent *a, unsigned slot)
{
    log_begin(a, LOG_ID_STORE_SLOT_DAMAGED);
    log_number(a, "slot", (int64_t)slot);
    log_remedy(
        a, "the other claims are not touched; delete and re-create the pod that lost its claim");
    log_end(a);
}

/* A claim that was unprepared while the store could not be written does not come back with it. */
static enum status load_entry(struct agent *a, const char *name, unsigned slot,
                              const struct claim_record **r)
{
    struct ledger_entry *e = &a->ledger.entry[slot];
    bool freeing = e->state == LEDGER_FREEING;
    enum status s = load_slot(a, name, slot, r);
    if (s == STATUS_OK && e->state == LEDGER_HELD) {
        bool gone = freeing && view_is(view_text(e->id.uid), (*r)->id.uid);
        e->state = gone ? LEDGER_FREEING : LEDGER_HELD;
        ledger_enter(a, slot, *r);
    }
    return s;
}

static enum status load(struct agent *a)
{
    const struct claim_record *r = NULL;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        enum status s = load_entry(a, STORE_FILE_NAME, i, &r);
        if (s != STATUS_OK) {
            return s;
        }
        if (a->ledger.entry[i].state == LEDGER_DAMAGED) {
            slot_damaged(a, i);
        }
    }
    return STATUS_OK;
}

/*
 * Every half is written as free, so that later a half of zeros can only be damage; the blocks exist
 * from then on.
 */
static enum status format(struct agent *a)
{
    const struct files *f = a->files;
    struct writer out;
    /*
     * A header of zeros first: a write at the front creates the file, and until the real header it
     * is damaged.
     */
    memset(a->scratch.half, 0, sizeof a->scratch.half);
    enum status begun =
        f->write(f->ctx, FILES_STATE, store_new, 0, view_of(a->scratch.half, STORE_HALF_BYTES));
    if (begun != STATUS_OK) {
        return begun;
    }
    for (unsigned slot = 0; slot < CLAIMS_MAX; slot++) {
        for (unsigned half = 0; half < 2u; half++) {
            memset(a->scratch.half, 0, sizeof a->scratch.half);
            out = writer_of(a->scratch.half, sizeof a->scratch.half);
            store_half_write(&out, slot, half, view_of(0, 0));
            enum status s = f->write(f->ctx, FILES_STATE, store_new, store_offset(slot, half),
                                     view_of(a->scratch.half, sizeof a->scratch.half));
            if (s != STATUS_OK) {
                return s;
            }
        }
    }
    return STATUS_OK;
}

/* Written last: a new file with a header is complete. */
static enum status write_header(struct agent *a)
{
    const struct files *f = a->files;
    const struct store_header header = {.generation = 1};
    for (unsigned copy = 0; copy < 2u; copy++) {
        memset(a->scratch.half, 0, sizeof a->scratch.half);
        struct writer out = writer_of(a->scratch.half, STORE_HEADER_COPY_BYTES);
        store_header_write(&out, &header);
        enum status s =
            f->write(f->ctx, FILES_STATE, store_new, (uint64_t)copy * STORE_HEADER_COPY_BYTES,
                     view_of(a->scratch.half, STORE_HEADER_COPY_BYTES));
        if (s != STATUS_OK) {
            return s;
        }
    }
    return f->commit(f->ctx, FILES_STATE, store_new, 0);
}

/* Copies the readable records of the damaged file into the new one, each into its old slot. */
static enum status carry_over(struct agent *a, const char *from)
{
    const struct files *f = a->files;
    const struct claim_record *r = NULL;
    for (unsigned slot = 0; slot < CLAIMS_MAX; slot++) {
        enum status s = load_entry(a, from, slot, &r);
        if (s != STATUS_OK) {
            return s;
        }
        if (a->ledger.entry[slot].state != LEDGER_HELD) {
            continue;
        }
        struct writer record = writer_of(a->scratch.record, sizeof a->scratch.record);
        s = store_record_encode(r, &record);
        ASSERT(s == STATUS_OK);
        struct writer out = writer_of(a->scratch.half, sizeof a->scratch.half);
        store_half_write(&out, slot, 2, writer_view(&record));
        s = f->write(f->ctx, FILES_STATE, store_new, store_offset(slot, 0), writer_view(&out));
        if (s != STATUS_OK) {
            return s;
        }
    }
    return STATUS_OK;
}

/*
 * Where a damaged store goes: the first one stays for good, of later ones the newest. More would
 * fill a disk that damages one after the other.
 */
static const char *aside_name(struct agent *a)
{
    uint8_t first;
    struct writer byte = writer_of(&first, sizeof first);
    enum status s = a->files->read(a->files->ctx, FILES_STATE, store_aside, 0, &byte);
    return (s == HOST_ABSENT) ? store_aside : store_aside_newest;
}

/* `aside`: where the damaged store goes whose records are carried over; NULL: there is none. */
static enum status create(struct agent *a, const char *aside)
{
    const struct files *f = a->files;
    enum status s = format(a);
    if (s == STATUS_OK && aside != NULL) {
        s = carry_over(a, STORE_FILE_NAME);
    }
    if (s == STATUS_OK) {
        s = write_header(a);
    }
    if (s == STATUS_OK && aside != NULL) {
        s = f->remove(f->ctx, FILES_STATE, STORE_FILE_NAME, aside);
    }
    if (s == STATUS_OK) {
        s = f->commit(f->ctx, FILES_STATE, store_new, STORE_FILE_NAME);
    }
    return s;
}

/*
 * The store vanished while the agent ran: a new one would forget the claims that are held, and
 * their devices would be handed out again.
 */
static bool vanished(struct agent *a)
{
    if (a->ledger.held == 0u) {
        return false;
    }
    log_begin(a, LOG_ID_STORE_DAMAGED);
    log_text(a, "file", STORE_FILE_NAME);
    log_number(a, "claims_held", a->ledger.held);
    log_remedy(a, "put the file back, or end the pods that hold Neuron claims");
    log_end(a);
    return true;
}

static enum status repair(struct agent *a)
{
    const char *aside = aside_name(a);
    log_begin(a, LOG_ID_STORE_DAMAGED);
    log_text(a, "file", STORE_FILE_NAME);
    log_text(a, "kept_as", aside);
    log_remedy(a,
               "nothing if claims_held below is what runs here; else re-create the missing pods");
    log_end(a);
    return create(a, aside);
}

static enum status open_or_create(struct agent *a)
{
    enum status s = read_header(a, STORE_FILE_NAME);
    if (s == HOST_ABSENT && vanished(a)) {
        return s;
    }
    if (s == HOST_ABSENT && read_header(a, store_new) == STATUS_OK) {
        /* A kill between the two renames of a repair, or before the one of a creation. */
        return a->files->commit(a->files->ctx, FILES_STATE, store_new, STORE_FILE_NAME);
    }
    if (s == HOST_ABSENT) {
        s = create(a, NULL);
        if (s == STATUS_OK) {
            log_one(a, LOG_ID_STORE_CREATED, "file", STORE_FILE_NAME);
        }
    } else if (s == HOST_DAMAGED) {
        s = repair(a);
    }
    return s;
}

static void log_opened(struct agent *a)
{
    unsigned damaged = count_entries(a, LEDGER_DAMAGED);
    log_begin(a, LOG_ID_STORE_OPENED);
    log_number(a, "claims_held", a->ledger.held);
    if (damaged > 0u) {
        log_number(a, "slots_damaged", damaged);
    }
    log_end(a);
}

/*
 * What a killed process wrote may be in the page cache alone, even as pages that count as clean
 * after a failed fdatasync(2): all that was ever changed is written again with the first flush.
 */
static void doubt_all(struct agent *a)
{
    struct ledger *l = &a->ledger;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        struct ledger_entry *e = &l->entry[i];
        e->unsynced = e->state == LEDGER_HELD || e->sequence > 1u;
        l->dirty = l->dirty || e->unsynced;
    }
    l->rewrite = l->dirty;
    l->flush_ms = a->now_ms + STORE_FLUSH_MS;
}

/* Opens the store, creating or repairing it; ledger.trouble says why not. */
static void open_store(struct agent *a)
{
    ASSERT(!a->ledger.usable);
    /* Before anything is looked at: the files of another agent are not ours to judge or repair. */
    enum status s = a->files->lock(a->files->ctx, STORE_LOCK_NAME);
    if (s != STATUS_OK) {
        not_usable(a, "locked by " STORE_LOCK_NAME " beside it", s);
        return;
    }
    a->ledger.busy = false;
    ledger_tidy(a);
    s = open_or_create(a);
    if (s != STATUS_OK) {
        not_usable(a, "opened or created", s);
        return;
    }
    s = load(a);
    if (s != STATUS_OK) {
        not_usable(a, "read", s);
        return;
    }
    recount(a);
    doubt_all(a);
    a->ledger.usable = true;
    a->ledger.backoff_ms = 0;
    ledger_remove_gone(a);
    reconcile_opened(a);
    log_opened(a);
}

/* --- with each step --- */

static bool flush_pending(const struct agent *a)
{
    return a->ledger.usable && (a->ledger.dirty || a->ledger.freeing > 0u);
}

void ledger_step(struct agent *a)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    if (!a->ledger.usable && a->now_ms >= a->ledger.retry_ms) {
        open_store(a);
    }
    if (!flush_pending(a) || a->now_ms < a->ledger.flush_ms) {
        return;
    }
    if (ledger_sync(a, &why) != STATUS_OK || a->ledger.freeing > 0u) {
        a->ledger.flush_ms = a->now_ms + agent_backoff(a, &a->ledger.flush_backoff_ms);
    } else {
        a->ledger.flush_backoff_ms = 0;
    }
}

uint64_t ledger_deadline(const struct agent *a)
{
    if (!a->ledger.usable) {
        return a->ledger.retry_ms;
    }
    return flush_pending(a) ? a->ledger.flush_ms : UINT64_MAX;
}
