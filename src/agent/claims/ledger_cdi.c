/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CDI files of claims, and their tombstones: a claim that is unprepared has its CDI file renamed,
 * and the tombstone goes as soon as the store has forgotten the claim for certain. reconcile.c
 * heeds those that it finds at an opening.
 */
#include "agent/claims/ledger_internal.h"

#include <string.h>

#include "agent/state.h"
#include "cfg/identity.h"

const char cdi_temporary[] = "neuron.aws.com-claim.tmp";

void ledger_tidy(struct agent *a)
{
    enum status s = a->files->remove(a->files->ctx, FILES_CDI, cdi_temporary, 0);
    status_ignore(s, "absent as a rule; the next round of reconciliation tries it again");
}

void cdi_failed(struct agent *a, const char *uid, enum status s)
{
    char name[CDI_FILE_NAME_CAP];
    cdi_file_name(a->driver->kind, uid, name);
    log_begin(a, LOG_ID_CDI_FILE_FAILED);
    log_text(a, "file", name);
    log_text(a, "reason", ledger_reason(a, s));
    log_remedy(a, ledger_remedy(s));
    log_end(a);
}

void cdi_rebuilt(struct agent *a, const char *uid, const char *name)
{
    log_begin(a, LOG_ID_CDI_FILE_REBUILT);
    log_text(a, "claim_uid", uid);
    log_text(a, "file", name);
    log_end(a);
}

/* --- writing --- */

static void root_answered(struct agent *a, enum status s)
{
    a->ledger.cdi_failing = s;
    a->ledger.cdi_ms = a->now_ms + CDI_TRY_MS;
}

/* A page, because an empty file takes no space on a full disk. */
void ledger_try_cdi(struct agent *a)
{
    const struct files *f = a->files;
    if (a->ledger.cdi_failing == STATUS_OK || a->now_ms < a->ledger.cdi_ms) {
        return;
    }
    memset(a->scratch.half, 0, sizeof a->scratch.half);
    root_answered(a, f->write(f->ctx, FILES_CDI, cdi_temporary, 0,
                              view_of(a->scratch.half, sizeof a->scratch.half)));
    ledger_tidy(a);
}

enum status cdi_commit(struct agent *a, const char *uid, const char *what, const char *name,
                       enum status written, struct writer *why)
{
    const struct files *f = a->files;
    enum status s = written;
    const char *refused = cdi_temporary;
    if (s == STATUS_OK) {
        refused = name;
        s = f->commit(f->ctx, FILES_CDI, cdi_temporary, name);
    }
    root_answered(a, s);
    if (s != STATUS_OK) {
        writer_text(why, what);
        writer_text(why, " ");
        writer_text(why, a->settings->cdi_root);
        writer_text(why, "/");
        writer_text(why, refused);
        writer_text(why, " cannot be written (");
        writer_text(why, ledger_reason(a, s));
        writer_text(why, "); ");
        writer_text(why, ledger_remedy(s));
        cdi_failed(a, uid, s);
        enum status cleared = f->remove(f->ctx, FILES_CDI, cdi_temporary, 0);
        status_ignore(cleared, "the next claim overwrites it, or reconciliation removes it");
    }
    return s;
}

static enum status write_file(struct agent *a, const struct claim_record *r, struct view content,
                              struct writer *why)
{
    char name[CDI_FILE_NAME_CAP];
    const struct files *f = a->files;
    cdi_file_name(a->driver->kind, r->id.uid, name);
    enum status s = f->write(f->ctx, FILES_CDI, cdi_temporary, 0, content);
    return cdi_commit(a, r->id.uid, "CDI file", name, s, why);
}

static enum status build(struct agent *a, const struct claim_record *r, struct writer *out,
                         struct writer *why)
{
    const struct cdi_host host = {.dev_root = a->settings->dev_root,
                                  .cdi_root = a->settings->cdi_root,
                                  .driver = a->driver->name};
    *out = writer_of(a->scratch.body, sizeof a->scratch.body);
    enum status s = cdi_write(r, &host, out);
    if (s != STATUS_OK) {
        writer_text(why, "the claim's CDI file would be over its limit; use fewer requests");
    }
    return s;
}

enum status cdi_put(struct agent *a, const struct claim_record *r, struct writer *why)
{
    struct writer content;
    enum status s = metadata_put(a, r, false, why);
    s = (s == STATUS_OK) ? build(a, r, &content, why) : s;
    return (s == STATUS_OK) ? write_file(a, r, writer_view(&content), why) : s;
}

/* --- reading --- */

/* The claim's CDI file as the disk has it, in scratch.stored. */
static enum status read_file(struct agent *a, const char *uid, struct writer *out)
{
    char name[CDI_FILE_NAME_CAP];
    cdi_file_name(a->driver->kind, uid, name);
    *out = writer_of(a->scratch.stored, sizeof a->scratch.stored);
    return a->files->read(a->files->ctx, FILES_CDI, name, 0, out);
}

enum status ledger_ensure_cdi(struct agent *a, const struct claim_record *r, struct writer *why)
{
    struct writer wanted;
    struct writer stored;
    enum status s = metadata_put(a, r, true, why);
    s = (s == STATUS_OK) ? build(a, r, &wanted, why) : s;
    if (s != STATUS_OK) {
        return s;
    }
    s = read_file(a, r->id.uid, &stored);
    if (s == STATUS_OK && view_equal(writer_view(&stored), writer_view(&wanted))) {
        return STATUS_OK;
    }
    char name[CDI_FILE_NAME_CAP];
    cdi_file_name(a->driver->kind, r->id.uid, name);
    cdi_rebuilt(a, r->id.uid, name);
    return write_file(a, r, writer_view(&wanted), why);
}

enum status ledger_read_cdi(struct agent *a, const char *uid, struct claim_record *r)
{
    struct writer stored;
    enum status s = read_file(a, uid, &stored);
    s = (s == STATUS_OK) ? cdi_read(writer_view(&stored), r) : s;
    return (s == STATUS_OK && (r->driver != a->driver->kind || !view_is(view_text(uid), r->id.uid)))
               ? HOST_DAMAGED
               : s;
}

/* HOST_ABSENT: there is no such file. Other HOST_*: not known. */
static enum status look_for(const struct agent *a, const char *name)
{
    uint8_t first;
    struct writer byte = writer_of(&first, sizeof first);
    enum status s = a->files->read(a->files->ctx, FILES_CDI, name, 0, &byte);
    return (s == FULL_BUFFER) ? STATUS_OK : s;
}

bool ledger_has_cdi_file(const struct agent *a, const char *uid)
{
    char name[CDI_FILE_NAME_CAP];
    cdi_file_name(a->driver->kind, uid, name);
    return look_for(a, name) != HOST_ABSENT;
}

enum status ledger_tombstone(const struct agent *a, const char *uid)
{
    char name[CDI_FILE_NAME_CAP];
    cdi_tombstone_name(a->driver->kind, uid, name);
    return look_for(a, name);
}

/* --- removing --- */

enum status cdi_bury(struct agent *a, const char *uid)
{
    char name[CDI_FILE_NAME_CAP];
    char tombstone[CDI_FILE_NAME_CAP];
    cdi_file_name(a->driver->kind, uid, name);
    cdi_tombstone_name(a->driver->kind, uid, tombstone);
    return a->files->remove(a->files->ctx, FILES_CDI, name, tombstone);
}

enum status cdi_mark_gone(struct agent *a, const char *uid)
{
    char tombstone[CDI_FILE_NAME_CAP];
    cdi_tombstone_name(a->driver->kind, uid, tombstone);
    return a->files->write(a->files->ctx, FILES_CDI, tombstone, 0, view_text(uid));
}

enum status cdi_remove(struct agent *a, const char *uid)
{
    char name[CDI_FILE_NAME_CAP];
    cdi_file_name(a->driver->kind, uid, name);
    enum status s = a->files->remove(a->files->ctx, FILES_CDI, name, 0);
    return (s == HOST_ABSENT) ? STATUS_OK : s;
}

enum status cdi_unmark(struct agent *a, const char *uid)
{
    char tombstone[CDI_FILE_NAME_CAP];
    cdi_tombstone_name(a->driver->kind, uid, tombstone);
    enum status s = a->files->remove(a->files->ctx, FILES_CDI, tombstone, 0);
    return (s == HOST_ABSENT) ? STATUS_OK : s;
}
