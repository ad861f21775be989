/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reconciliation, see reconcile.h. A prepared claim has two witnesses: its record and its CDI file.
 * When the store is opened, a claim that has only its CDI file left gets its record back. Then, and
 * every --reconcile-interval, every CDI file is compared with its record, and each held claim is
 * read from the API server. Before each comparison, ledger_open checks the store file itself.
 */
#include "agent/recovery/reconcile.h"

#include "agent/api/backoff.h"
#include "agent/api/retry.h"
#include "agent/api/version.h"
#include "agent/claim/claim_status.h"
#include "agent/claim/fetch.h"
#include "agent/claim/prepared_log.h"
#include "agent/frame.h"
#include "agent/ledger/ledger.h"
#include "agent/node/node.h"
#include "agent/recovery/room.h"
#include "agent/recovery/witness.h"
#include "agent/report/log.h"
#include "base/assert.h"
#include "base/time.h"
#include "cfg/identity.h"
#include "generated/projection.pb.h"
#include "wire/decode.h"

/* --- releasing claims --- */

/*
 * Releases a claim; returns whether it is released. If the release cannot be written, the claim
 * stays held.
 */
static bool release_claim(struct agent *a, unsigned slot, const char *reason)
{
    struct writer discarded = writer_of(NULL, 0);
    struct claim_id id;
    id = *ledger_id(a, slot);
    if (ledger_remove(a, id.uid, &discarded) != STATUS_OK) {
        return false;
    }
    claim_status_unprepared(a, slot);
    log_begin(a, LOG_ID_CLAIM_RELEASED);
    log_claim(a, &id);
    log_text(a, "reason", reason);
    log_end(a);
    return true;
}

static bool texts_differ(const char *text, const char *other)
{
    return text[0] != '\0' && other[0] != '\0' && !text_is(text, other);
}

static bool of_another_boot(const struct agent *a, const struct claim_record *r)
{
    return texts_differ(r->boot_id, a->devices->boot_id);
}

/* Whether the record was made on another machine, whose disk was then copied to this one. */
static bool is_foreign(const struct agent *a, const struct claim_record *r)
{
    return of_another_boot(a, r) && texts_differ(r->pool, a->settings->node_name);
}

/*
 * Returns the claim_check of a slot. First resets the claim_check if another record was entered
 * into the slot since the claim_check was last used.
 */
static struct claim_check *check_of(struct agent *a, unsigned slot)
{
    struct claim_check *check = &a->recovery->reconcile.check[slot];
    uint64_t entered = ledger_entry(a, slot)->entered;
    if (check->entered != entered) {
        *check = (struct claim_check){.due_ms = a->now_ms + a->settings->reconcile_ms,
                                      .since_wall_ms = a->wall_ms,
                                      .entered = entered};
    }
    /* a clock that was set back must not make each checkpoint of the kubelet look too old */
    check->since_wall_ms = earlier(check->since_wall_ms, a->wall_ms);
    return check;
}

void reconcile_prepared(struct agent *a, unsigned slot)
{
    check_of(a, slot)->since_wall_ms = a->wall_ms;
}

bool reconcile_withholds(const struct agent *a, unsigned slot)
{
    const struct claim_check *check = &a->recovery->reconcile.check[slot];
    const struct ledger_entry *e = ledger_entry(a, slot);
    return e->state == LEDGER_HELD && check->entered == e->entered && check->withheld;
}

bool reconcile_is_stale(struct agent *a, unsigned slot)
{
    const struct claim_record *r = NULL;
    return ledger_entry(a, slot)->record == RECORD_WHOLE &&
           ledger_record(a, slot, &r) == STATUS_OK && of_another_boot(a, r) &&
           !check_of(a, slot)->boot_unwritten;
}

bool reconcile_release_stale(struct agent *a, unsigned slot)
{
    return release_claim(
        a, slot, "prepared before the node was booted, and another claim has its devices now");
}

/*
 * Writes a record again, into the other half of its slot. If one half is damaged later, the other
 * one still shows whether the claim was rebuilt; the CDI file of the claim does not show that.
 */
static enum status into_other_half(struct agent *a, const struct claim_record *r, unsigned *slot,
                                   struct writer *why)
{
    enum status s = ledger_sync(a, why);
    return (s == STATUS_OK) ? ledger_adopt(a, r, slot, why) : s;
}

enum status reconcile_prepared_again(struct agent *a, unsigned slot, const struct claim_record **r,
                                     struct writer *why)
{
    char text[CLAIM_ERROR_CAP];
    struct writer refused = writer_of(text, sizeof text);
    struct claim_record *changed = &a->recovery->reconcile.record;
    bool rebuilt = (*r)->rebuilt;
    uint64_t since_wall_ms = check_of(a, slot)->since_wall_ms;
    if (!of_another_boot(a, *r) && !rebuilt) {
        return STATUS_OK;
    }
    *changed = **r;
    changed->rebuilt = false;
    text_set(changed->boot_id, sizeof changed->boot_id, a->devices->boot_id);
    enum status s = ledger_put(a, changed, &slot, &refused);
    s = (s == STATUS_OK && rebuilt) ? into_other_half(a, changed, &slot, &refused) : s;
    if (s != STATUS_OK && rebuilt) {
        writer_append(why, writer_view(&refused));
        return s;
    }
    /* the record is a new one, and the claim was prepared when it was */
    check_of(a, slot)->since_wall_ms = since_wall_ms;
    check_of(a, slot)->boot_unwritten = s != STATUS_OK;
    *r = changed;
    return STATUS_OK;
}

/* --- handling files in the CDI root --- */

static void log_file(struct agent *a, const char *name, const char *reason, const char *remedy)
{
    log_begin(a, LOG_ID_CDI_FILE_FAILED);
    ledger_log_file(a, name);
    log_text(a, "reason", reason);
    log_remedy(a, remedy);
    log_end(a);
}

/*
 * Removes a file of the CDI root. If `aside` is not NULL, the file is renamed to `aside` instead of
 * being unlinked. false: the file is still there.
 */
static bool remove_file(struct agent *a, const char *name, const char *aside)
{
    enum status s = a->files->remove(a->files->ctx, FILES_CDI, name, aside);
    if (s != STATUS_OK && s != HOST_ABSENT) {
        log_file(a, name, ledger_reason(a, s), "check that files in the CDI root can be removed");
        return false;
    }
    return true;
}

/* Removes a CDI file without a record; `reason`: why no claim needs it. */
static void discard_file(struct agent *a, const char *name, const char *reason)
{
    if (remove_file(a, name, NULL)) {
        log_begin(a, LOG_ID_CDI_FILE_REMOVED);
        ledger_log_file(a, name);
        log_text(a, "reason", reason);
        log_end(a);
    }
}

/*
 * Returns the name at offset *at of a page in which each name ends in NUL, and advances *at. NULL:
 * the page has no more names.
 */
static const char *next_name(struct view names, size_t *at)
{
    if (*at >= names.len) {
        return NULL;
    }
    const char *name = (const char *)view_from(names, *at).data;
    *at += view_text(name).len + 1u;
    return name;
}

bool reconcile_adopt(struct agent *a, const struct claim_record *r, const char *from,
                     struct writer *why)
{
    unsigned slot = CLAIMS_MAX;
    bool saved = ledger_adopt(a, r, &slot, why) == STATUS_OK;
    if (!saved && slot < CLAIMS_MAX) {
        ledger_adopt_unsaved(a, r, slot);
    }
    if (saved && r->rebuilt) {
        enum status s = into_other_half(a, r, &slot, why);
        status_ignore(s, "the half that was written counts, and `why` says it");
    }
    if (slot < CLAIMS_MAX) {
        prepared_log_adopted(a, r, from);
    }
    return slot < CLAIMS_MAX;
}

/* Records, for reconcile_reason, that a CDI file without a record cannot be read. */
static void note_unread(struct agent *a, const char *name)
{
    struct reconcile *k = &a->recovery->reconcile;
    if (k->unread_count == 0u) {
        text_set(k->unread, sizeof k->unread, name);
    }
    k->unread_count++;
}

/*
 * Adopts the claim of a CDI file without a record. true: the claim is held now, or the file is gone
 * or belongs to another machine.
 */
static bool adopt_file(struct agent *a, const char *name, const char *uid)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text - 1u);
    struct claim_record *r = &a->recovery->reconcile.record;
    enum status s = ledger_read_cdi(a, uid, r);
    if (s == HOST_ABSENT) {
        return true;
    }
    if (s != STATUS_OK) {
        log_file(a, name, ledger_reason(a, s),
                 "delete the file once no container of this node uses its claim");
        note_unread(a, name);
        return false;
    }
    if (is_foreign(a, r)) {
        discard_file(a, name, "made on another machine, from which this one's disk was copied");
        return true;
    }
    bool held = reconcile_adopt(a, r, "CDI file", &why);
    if (why.len > 0u) {
        text[why.len] = '\0';
        log_file(a, name, text, "free the claim store's disk, or unprepare claims");
    }
    return held;
}

/*
 * Checks whether only the CDI file of the claim has the id of this boot, because writing that id
 * into the claim's record failed. If so, the next checks try that write again.
 */
static void see_boot(struct agent *a, unsigned slot, const char *uid)
{
    const struct claim_record *record = NULL;
    struct claim_record *file = &a->recovery->reconcile.record;
    if (ledger_record(a, slot, &record) == STATUS_OK && of_another_boot(a, record) &&
        ledger_read_cdi(a, uid, file) == STATUS_OK && text_is(file->boot_id, a->devices->boot_id)) {
        check_of(a, slot)->boot_unwritten = true;
    }
}

/*
 * Handles a CDI file. If its claim is not held, the file is a leftover, or the only evidence that
 * the claim is prepared. false: the file is the only evidence, and its claim could not be adopted.
 */
static bool see_file(struct agent *a, const char *name, const char *uid, bool opening)
{
    char aside[CDI_FILE_NAME_CAP];
    int held = ledger_find(a, uid);
    if (held >= 0) {
        see_boot(a, (unsigned)held, uid);
        return true;
    }
    if (ledger_freeing(a, uid)) {
        cdi_tombstone_name(a->driver->kind, uid, aside);
        (void)remove_file(a, name, aside);
    } else if (opening || !a->recovery->reconcile.complete) {
        return adopt_file(a, name, uid);
    } else {
        discard_file(a, name, "its claim was unprepared by this agent");
    }
    return true;
}

/*
 * Whether a tombstone is no longer needed: the store has no record of the claim, and the list of
 * claims cannot bring the claim back.
 */
static bool is_past(const struct agent *a, const char *uid)
{
    return !ledger_freeing(a, uid) && ledger_is_flushed(a) && !ledger_is_unlisted(a);
}

/*
 * Handles a tombstone: releases the claim, whose record an earlier process could not free. But if
 * the claim has a CDI file, the claim was prepared again: the tombstone is obsolete and is removed.
 * A tombstone that is no longer needed (is_past) is also removed.
 */
static void see_tombstone(struct agent *a, const char *name, const char *uid)
{
    int slot = ledger_find(a, uid);
    bool frees = a->recovery->reconcile.unseen && slot >= 0;
    enum status file = frees ? ledger_find_cdi_file(a, uid) : STATUS_OK;
    if (file == HOST_ABSENT) {
        (void)release_claim(a, (unsigned)slot,
                            "unprepared before, when its record could not be freed");
    } else if (file == STATUS_OK && (slot >= 0 || is_past(a, uid))) {
        (void)remove_file(a, name, NULL);
    }
    ledger_tombstones(a, true); /* even if it was removed: the next listing, soon, ends that */
    a->recovery->reconcile.files_ms =
        earlier(a->recovery->reconcile.files_ms, a->now_ms + RECONCILE_TOMBSTONE_MS);
}

/*
 * Looks up the tombstones of held claims by name, because a listing of the CDI root that ended
 * early may have left some out. This happens before new CDI files are written, because a tombstone
 * is ignored if its claim has a CDI file.
 */
static void see_tombstones_of_held(struct agent *a)
{
    char name[CDI_FILE_NAME_CAP];
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        const char *uid = ledger_id(a, i)->uid;
        if (ledger_entry(a, i)->state == LEDGER_HELD && ledger_tombstone(a, uid) == STATUS_OK) {
            cdi_tombstone_name(a->driver->kind, uid, name);
            see_tombstone(a, name, uid);
        }
    }
}

static bool see_name(struct agent *a, const char *name, bool opening)
{
    char uid[UID_CAP];
    if (cdi_name_uid(a->driver->kind, name, CDI_FILE_SUFFIX, uid)) {
        return see_file(a, name, uid, opening);
    }
    if (cdi_name_uid(a->driver->kind, name, CDI_TOMBSTONE_SUFFIX, uid)) {
        see_tombstone(a, name, uid);
    } else if (opening && view_ends(view_text(name), CDI_FILE_SUFFIX)) {
        log_begin(a, LOG_ID_CDI_FILE_IGNORED);
        ledger_log_file(a, name);
        log_end(a);
    } else {
        /* files of other kinds are left alone */
    }
    return true;
}

/* Handles a page of file names of the CDI root; returns whether all files were handled. */
static bool see_page(struct agent *a, struct view names, bool opening)
{
    bool complete = true;
    size_t at = 0;
    const char *name = next_name(names, &at);
    while (name != NULL) {
        complete = see_name(a, name, opening) && complete;
        name = next_name(names, &at);
    }
    return complete;
}

/*
 * Logs that a listing of the CDI root failed, and schedules the next one soon, because each file
 * that the listing left out may be the only evidence that a claim is prepared.
 */
static void list_failed(struct agent *a, enum status s)
{
    struct reconcile *k = &a->recovery->reconcile;
    if (k->list_failing != s) {
        log_file(a, driver_traits(a->driver->kind)->cdi_prefix, ledger_reason(a, s),
                 "check that the CDI root can be listed: each claim in use has a file there");
    }
    ledger_tombstones(a, true);
    k->files_ms = earlier(k->files_ms, a->now_ms + RECONCILE_LIST_MS);
}

/*
 * Handles all files of this driver in the CDI root. scratch.body holds a page of their names, so no
 * function that is called for a name may use scratch.body.
 */
static void handle_files(struct agent *a, bool opening)
{
    struct reconcile *k = &a->recovery->reconcile;
    const char *prefix = driver_traits(a->driver->kind)->cdi_prefix;
    struct listing at = {0};
    enum status s = STATUS_MORE;
    bool complete = true;
    k->files_ms = a->now_ms + agent_jitter(a, a->settings->reconcile_ms);
    k->unseen = k->unseen || opening;
    k->unread[0] = '\0';
    k->unread_count = 0;
    ledger_tombstones(a, false);
    /* this loop ends, because the files port limits the number of pages */
    while (s == STATUS_MORE) {
        struct writer out = writer_of(a->scratch.body, sizeof a->scratch.body);
        s = a->files->list(a->files->ctx, FILES_CDI, prefix, &at, &out);
        complete = see_page(a, writer_view(&out), opening) && complete;
    }
    if (s != STATUS_OK) {
        list_failed(a, s);
    }
    if (s != STATUS_OK && opening) {
        see_tombstones_of_held(a);
    }
    k->list_failing = s;
    k->unseen = k->unseen && s != STATUS_OK;
    k->complete = complete && s == STATUS_OK;
    ledger_tidy_metadata(a, "");
    k->next_slot = 0;
}

/* --- checking the CDI files of held claims --- */

/*
 * Whether the claim is held with exactly the devices and cores of this record. Without this check,
 * an edited CDI file could replace a damaged record.
 */
static bool is_held_as(const struct agent *a, unsigned slot, const struct claim_record *r)
{
    const struct ledger_entry *e = ledger_entry(a, slot);
    return e->numbers == claim_numbers(r) && e->cores == claim_cores(r);
}

bool reconcile_restore(struct agent *a, unsigned slot)
{
    struct writer discarded = writer_of(NULL, 0);
    const struct claim_record *kept = NULL;
    enum status s = ledger_record(a, slot, &kept);
    if (s == STATUS_OK) {
        claim_record_copy(&a->recovery->reconcile.record, kept);
    } else {
        s = ledger_read_cdi(a, ledger_id(a, slot)->uid, &a->recovery->reconcile.record);
        s = (s == STATUS_OK && !is_held_as(a, slot, &a->recovery->reconcile.record)) ? HOST_DAMAGED
                                                                                     : s;
    }
    bool restored = s == STATUS_OK &&
                    ledger_adopt(a, &a->recovery->reconcile.record, &slot, &discarded) == STATUS_OK;
    log_begin(a, LOG_ID_STORE_HALF_DAMAGED);
    log_claim(a, ledger_id(a, slot));
    log_number(a, "slot", (int64_t)slot);
    log_remedy(a, restored ? "none: the record was written again"
                           : "delete and re-create the pod of the claim");
    log_end(a);
    return restored;
}

/*
 * Logs that a device of a held claim has another uverbs node now. `refused`: UID of the claim that
 * keeps that node; empty: none.
 */
static void log_moved(struct agent *a, const struct claim_record *r, const struct claim_result *was,
                      unsigned now, const char *refused)
{
    char name[DEVICE_NAME_CAP];
    claim_device_name(was, name);
    log_begin(a, refused[0] == '\0' ? LOG_ID_EFA_NODE_MOVED : LOG_ID_EFA_NODE_CONTESTED);
    log_claim(a, &r->id);
    log_text(a, "device", name);
    log_number(a, "uverbs_before", was->uverbs);
    log_number(a, "uverbs", now);
    log_text(a, "other_uid", refused);
    log_end(a);
}

/*
 * Copies the uverbs nodes of the last probe into the record of a held EFA claim, and logs each
 * change. A uverbs node is not copied if another claim has it too (ledger_uverbs_holder), because
 * the containers of that claim may have it open. Returns whether anything changed.
 */
static bool copy_nodes(struct agent *a, struct claim_record *r)
{
    bool changed = false;
    for (unsigned i = 0; i < r->count; i++) {
        struct claim_result *result = &r->result[i];
        int at = devices_addressed(a->devices, result->efa_address);
        if (at < 0 || a->devices->device[at].efa.uverbs == result->uverbs) {
            continue;
        }
        uint16_t uverbs = a->devices->device[at].efa.uverbs;
        int other = ledger_uverbs_holder(a, result->efa_address, uverbs, r->id.uid);
        const char *name = (other >= 0) ? ledger_id(a, (unsigned)other)->uid : "";
        log_moved(a, r, result, uverbs, name);
        result->uverbs = (other >= 0) ? result->uverbs : uverbs;
        changed = changed || other < 0;
    }
    return changed;
}

/*
 * Updates the record and the CDI file of a claim to the current uverbs nodes of its devices.
 * HOST_*: the record or the CDI file could not be written.
 */
static enum status follow_nodes(struct agent *a, unsigned slot, const struct claim_record **r,
                                struct writer *why)
{
    struct claim_record *changed = &a->recovery->reconcile.record;
    if (a->devices->unknown || !ledger_moved(a, slot)) {
        return STATUS_OK;
    }
    claim_record_copy(changed, *r);
    if (!copy_nodes(a, changed)) {
        return STATUS_OK;
    }
    enum status s = ledger_put(a, changed, &slot, why);
    *r = (s == STATUS_OK) ? changed : *r;
    return s;
}

void reconcile_devices(struct agent *a)
{
    if (!driver_traits(a->driver->kind)->numbered && ledger_is_usable(a)) {
        a->recovery->reconcile.next_slot = 0;
    }
}

/*
 * Whether an earlier process may have unprepared the claim: no listing of the CDI root was complete
 * since the store was opened, and the claim has a tombstone or it is not known whether it has one.
 * A new CDI file would make that tombstone void.
 */
static bool may_have_tombstone(const struct agent *a, unsigned slot)
{
    return a->recovery->reconcile.unseen &&
           ledger_tombstone(a, ledger_id(a, slot)->uid) != HOST_ABSENT;
}

/*
 * Checks the record and the CDI file of a held claim, and repairs them. false: a read or write
 * failed, so that the files of other claims would probably fail too, and the caller stops.
 */
static bool check_slot(struct agent *a, unsigned slot)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    const struct claim_record *r = NULL;
    enum status s = ledger_read(a, slot, &r);
    if (s == HOST_DAMAGED && reconcile_restore(a, slot)) {
        s = ledger_read(a, slot, &r);
    }
    if (s != STATUS_OK) {
        return s == HOST_DAMAGED;
    }
    if (is_foreign(a, r)) {
        return release_claim(a, slot,
                             "prepared on another machine, from which this one's disk was copied");
    }
    if (check_of(a, slot)->boot_unwritten &&
        reconcile_prepared_again(a, slot, &r, &why) != STATUS_OK) {
        return false;
    }
    if (follow_nodes(a, slot, &r, &why) != STATUS_OK) {
        return false;
    }
    return may_have_tombstone(a, slot) || ledger_ensure_cdi(a, r, &why) == STATUS_OK;
}

bool reconcile_begins(const struct agent *a)
{
    return a->recovery->reconcile.next_slot == CLAIMS_MAX &&
           a->now_ms >= a->recovery->reconcile.files_ms;
}

/*
 * Starts one more comparison of all CDI files after the Node was read, because device metadata
 * files that were written before the Node was read lack the Node's labels.
 */
static void see_labels(struct agent *a)
{
    struct reconcile *k = &a->recovery->reconcile;
    if (a->settings->device_metadata && !k->labels && node_facts(a)->uid[0] != '\0') {
        k->labels = true;
        k->next_slot = 0;
    }
}

static void files_step(struct agent *a)
{
    struct reconcile *k = &a->recovery->reconcile;
    unsigned checked = 0;
    if (reconcile_begins(a)) {
        ledger_tidy(a);
        handle_files(a, false);
    }
    see_labels(a);
    while (k->next_slot < CLAIMS_MAX && checked < RECONCILE_FILES_PER_STEP && ledger_is_usable(a)) {
        const struct ledger_entry *e = ledger_entry(a, k->next_slot);
        bool whole = e->state == LEDGER_HELD && e->record == RECORD_WHOLE;
        bool goes_on = !whole || check_slot(a, k->next_slot);
        checked += whole ? 1u : 0u;
        k->next_slot = goes_on ? k->next_slot + 1u : CLAIMS_MAX;
    }
}

/* --- checking claims at the API server --- */

void reconcile_opened(struct agent *a)
{
    struct reconcile *k = &a->recovery->reconcile;
    uint64_t first_ms = a->now_ms + agent_random(a) % RECONCILE_SPREAD_MS;
    handle_files(a, true);
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        if (ledger_entry(a, i)->state == LEDGER_FREE) {
            continue; /* check_of sets it for the next claim; unwritten pages cost no memory */
        }
        struct claim_check *check = check_of(a, i);
        check->due_ms = first_ms;
        check->gone = false;
    }
    k->check_ms = first_ms;
}

void reconcile_check(struct agent *a, unsigned slot)
{
    struct claim_check *check = check_of(a, slot);
    if (!check->gone || check->withheld) {
        /* a check that is already overdue keeps its due time, and so its place in the queue */
        check->due_ms = earlier(check->due_ms, a->now_ms);
    }
    a->recovery->reconcile.check_ms = earlier(a->recovery->reconcile.check_ms, check->due_ms);
}

/*
 * The slot of the held claim whose check is due first; -1: no check is due within
 * --reconcile-interval. Sets check_ms to the time of that check.
 */
static int first_check(struct agent *a)
{
    struct reconcile *k = &a->recovery->reconcile;
    int first = -1;
    k->check_ms = a->now_ms + a->settings->reconcile_ms;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        if (ledger_entry(a, i)->state != LEDGER_HELD) {
            continue;
        }
        const struct claim_check *check = check_of(a, i);
        if (check->due_ms < k->check_ms) {
            k->check_ms = check->due_ms;
            first = (int)i;
        }
    }
    return first;
}

static void start_check(struct agent *a, unsigned slot)
{
    struct reconcile *k = &a->recovery->reconcile;
    const struct claim_id *id = ledger_id(a, slot);
    if (!fetch_send(a, API_SLOT_LOOK, API_LOOK_CLAIM, id, 0)) {
        k->pause_ms = api_later(a);
        return;
    }
    k->running = true;
    k->slot = slot;
    k->found_uid[0] = '\0';
    k->allocated = false;
    text_set(k->uid, sizeof k->uid, id->uid);
}

static bool may_check(const struct agent *a)
{
    return !a->recovery->reconcile.running && ledger_is_usable(a) && !a->stopping && api_ready(a) &&
           version_ready(a);
}

/*
 * Whether the Node was found after the API server first answered that the claim is deleted. A
 * server that has lost the Node, too, has lost more than a claim, so its second answer proves
 * nothing. An open watch does not show such a loss, so the Node is read between the two answers.
 */
static bool node_was_read(const struct agent *a)
{
    uint64_t read_ms = node_read_ms(a);
    return node_presence(a) == NODE_PRESENT && read_ms > 0u &&
           a->now_ms - read_ms < RECONCILE_CONFIRM_MS;
}

static void check_step(struct agent *a)
{
    struct reconcile *k = &a->recovery->reconcile;
    if (!may_check(a) || a->now_ms < k->check_ms || a->now_ms < k->pause_ms) {
        return;
    }
    int slot = first_check(a);
    if (slot < 0 || a->now_ms < k->check_ms) {
        return;
    }
    if (k->check[slot].gone && !node_was_read(a)) {
        k->asks_node = true;
        k->check[slot].due_ms = a->now_ms + OUTGOING_GAP_MS;
        k->check_ms = a->now_ms;
        return;
    }
    start_check(a, (unsigned)slot);
}

bool reconcile_asks_node(struct agent *a)
{
    bool asks = a->recovery->reconcile.asks_node;
    a->recovery->reconcile.asks_node = false;
    return asks;
}

/*
 * Handles a record of the response to the GET of a claim. An object with another name than the
 * claim's does not count as an answer.
 */
void reconcile_record(struct agent *a, const struct api_result *r, const struct kube_record *record)
{
    projection_MetaRecord m = projection_MetaRecord_init_zero;
    struct reconcile *k = &a->recovery->reconcile;
    const struct claim_id *id = ledger_id(a, k->slot);
    ASSERT(k->running && r->slot == (unsigned)API_SLOT_LOOK);
    if (record->record == KUBE_RESULT) {
        k->allocated = k->allocated || record->truncated || fetch_is_ours(a, record->message);
    }
    if (record->record == KUBE_META && decode(record->message, projection_MetaRecord_fields, &m) &&
        text_is(m.name, id->name) && text_is(m.namespace, id->namespace_)) {
        text_cut(k->found_uid, sizeof k->found_uid, view_text(m.uid));
    }
}

/*
 * Whether a claim that exists at the API server counts as deleted: it was rebuilt, and no longer
 * has a device of this node. The pod of a rebuilt claim may never have started; then the kubelet
 * never prepared the claim, and will never unprepare it. A claim that the kubelet prepared stays
 * held until its unprepare.
 */
static bool is_over(struct agent *a, unsigned slot)
{
    const struct claim_record *r = NULL;
    return !a->recovery->reconcile.allocated && ledger_entry(a, slot)->record == RECORD_WHOLE &&
           ledger_record(a, slot, &r) == STATUS_OK && r->rebuilt;
}

/* Keeps a deleted claim held. The first call for a claim logs that, which also creates an Event. */
static void withhold_claim(struct agent *a, unsigned slot, const char *why)
{
    struct claim_check *check = check_of(a, slot);
    const struct claim_id *id = ledger_id(a, slot);
    check->due_ms = a->now_ms + agent_jitter(a, a->settings->reconcile_ms);
    if (check->withheld) {
        return;
    }
    check->withheld = true;
    log_begin(a, LOG_ID_CLAIM_RELEASE_WITHHELD);
    log_claim(a, id);
    log_text(a, "reason", why);
    log_end(a);
}

/*
 * Whether a deleted claim may be released: the kubelet will never unprepare it, or it was prepared
 * before the node booted, so that it has no containers left.
 */
static bool may_release(struct agent *a, unsigned slot, struct writer *why)
{
    return reconcile_is_stale(a, slot) ||
           witness_unlisted(a, ledger_id(a, slot)->uid, check_of(a, slot)->since_wall_ms, why);
}

static void answered_gone(struct agent *a, unsigned slot, const char *reason)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    struct claim_check *check = check_of(a, slot);
    bool sure = check->gone && node_presence(a) == NODE_PRESENT;
    if (sure && !may_release(a, slot, &why)) {
        enum status ended = writer_end_text(&why);
        status_ignore(ended, "what is too long is cut");
        withhold_claim(a, slot, text);
        return;
    }
    if (sure && release_claim(a, slot, reason)) {
        return;
    }
    check->gone = true;
    check->due_ms = a->now_ms + RECONCILE_CONFIRM_MS;
}

static void answered_present(struct agent *a, unsigned slot)
{
    struct claim_check *check = check_of(a, slot);
    check->gone = false;
    check->withheld = false;
    check->due_ms = a->now_ms + agent_jitter(a, a->settings->reconcile_ms);
}

/*
 * Handles a check without an answer: moves the claim to the back of the queue. If the checks of
 * different claims fail one after another, the fault is the server's, and the pause between checks
 * grows. A single claim whose check always fails does not delay the others.
 */
static void check_failed(struct agent *a, const struct api_result *r)
{
    struct reconcile *k = &a->recovery->reconcile;
    uint64_t until_ms = a->now_ms + retry_wait(a, r, &k->backoff_ms);
    bool another = k->failed_uid[0] != '\0' && !text_is(k->failed_uid, k->uid);
    text_set(k->failed_uid, sizeof k->failed_uid, k->uid);
    if (ledger_holds(a, k->slot, k->uid)) {
        struct claim_check *check = check_of(a, k->slot);
        uint64_t again_ms = a->now_ms + (check->failed ? RECONCILE_FAILED_MS : 0u);
        check->due_ms = later(until_ms, again_ms);
        check->failed = true;
    }
    if (another && k->failures < RECONCILE_FAILURES_MAX) {
        k->failures++;
    }
    k->pause_ms = a->now_ms + ((uint64_t)OUTGOING_GAP_MS << k->failures);
    if (r->status == PEER_CLOSED || api_retry_after_ms(r) > 0u) {
        k->pause_ms = until_ms;
    }
}

void reconcile_end(struct agent *a, const struct api_result *r)
{
    struct reconcile *k = &a->recovery->reconcile;
    bool found = r->status == STATUS_OK && k->found_uid[0] != '\0';
    bool absent = r->status == PEER_NOT_FOUND;
    ASSERT(k->running);
    k->running = false;
    k->check_ms = a->now_ms;
    k->pause_ms = a->now_ms + OUTGOING_GAP_MS;
    if (!found && !absent) {
        check_failed(a, r);
        return;
    }
    k->backoff_ms = 0;
    k->failed_uid[0] = '\0';
    k->failures = 0;
    if (!ledger_is_usable(a) || !ledger_holds(a, k->slot, k->uid)) {
        return; /* the claim was unprepared, or the store was closed, during the GET */
    }
    check_of(a, k->slot)->failed = false;
    if (!found || !text_is(k->found_uid, k->uid)) {
        answered_gone(a, k->slot, "the API server does not know the claim any more");
    } else if (is_over(a, k->slot)) {
        answered_gone(a, k->slot,
                      "rebuilt from the API server, and deallocated before a pod used it");
    } else {
        answered_present(a, k->slot);
    }
}

/* --- periodic work of the reconciliation --- */

void reconcile_step(struct agent *a)
{
    if (ledger_is_usable(a)) {
        files_step(a);
        check_step(a);
    }
}

bool reconcile_is_complete(const struct agent *a)
{
    return a->recovery->reconcile.complete;
}

void reconcile_reason(const struct agent *a, struct writer *out)
{
    const struct reconcile *k = &a->recovery->reconcile;
    const char *directory = a->settings->cdi_root;
    if (k->unread_count > 0u) {
        WRITE(out, "CDI file %/% cannot be read, so ", TEXT(directory), TEXT(k->unread));
        writer_text(out, "devices of its claim may be given to others: delete the file once no "
                         "container uses its claim; the agent looks again after a restart, and "
                         "every --reconcile-interval");
        if (k->unread_count > 1u) {
            WRITE(out, "; % more such files are in the log, see cdi_file_failed",
                  NUMBER(k->unread_count - 1u));
        }
    } else if (k->list_failing != STATUS_OK) {
        WRITE(out,
              "CDI root % cannot be listed, so devices of claims that have a file there may be "
              "given to others; see cdi_file_failed in the log",
              TEXT(directory));
    } else {
        WRITE(out,
              "the claim store has no place for a claim that has a CDI file in %, so its devices "
              "may be given to others: unprepare claims; see cdi_file_failed in the log",
              TEXT(directory));
    }
}

uint64_t reconcile_deadline(const struct agent *a)
{
    const struct reconcile *k = &a->recovery->reconcile;
    if (!ledger_is_usable(a)) {
        return UINT64_MAX;
    }
    uint64_t files = (k->next_slot < CLAIMS_MAX) ? a->now_ms : k->files_ms;
    uint64_t check_ms = may_check(a) ? later(k->check_ms, k->pause_ms) : UINT64_MAX;
    return earlier(files, check_ms);
}
