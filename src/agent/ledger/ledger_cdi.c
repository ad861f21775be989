/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of claims in the CDI root: CDI files and their tombstones. An unprepare renames the CDI
 * file to a tombstone, which is removed as soon as the release is flushed to the store. reconcile.c
 * handles tombstones that are left when the store is opened.
 *
 * Device metadata files, which CDI files mount, are compared with the current facts about their
 * devices, and rewritten if they differ. A running container keeps the file that it was started
 * with; a container that starts later gets the current file. While a device or the Node is unknown,
 * existing files stay unchanged. A container runtime does not start a container whose metadata file
 * is missing, so metadata files are written before the CDI file and removed after it.
 */
#include "agent/ledger/ledger_internal.h"

#include <string.h>

#include "agent/frame.h"
#include "agent/ledger/room.h"
#include "agent/node/node.h"
#include "agent/report/log.h"
#include "base/assert.h"
#include "cfg/identity.h"
#include "dra/metadata.h"

_Static_assert(METADATA_PART_MAX <= CDI_BYTES_MAX, "a part fits where it is made");

/*
 * A name for a temporary file in the CDI root; no other driver or agent of the node uses this name.
 */
static const char *temporary_name(const struct agent *a)
{
    return a->files->temporary(a->files->ctx);
}

void ledger_tidy(struct agent *a)
{
    enum status s = a->files->tidy(a->files->ctx);
    status_ignore(s, "absent as a rule; the next round of reconciliation tries it again");
}

/*
 * Adds the claim `uid` to the current log line; adds only the UID if no slot of the ledger names
 * the claim.
 */
static void log_claim_of(struct agent *a, const char *uid)
{
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        if (text_is(uid, a->ledger->id[i].uid)) {
            log_claim(a, &a->ledger->id[i]);
            return;
        }
    }
    log_text(a, "claim_uid", uid);
}

void ledger_log_file(struct agent *a, const char *name)
{
    char uid[UID_CAP];
    log_text(a, "file", name);
    if (cdi_name_uid(a->driver->kind, name, CDI_FILE_SUFFIX, uid)) {
        log_claim_of(a, uid);
    }
}

static void file_failed(struct agent *a, const char *name, enum status s)
{
    log_begin(a, LOG_ID_CDI_FILE_FAILED);
    ledger_log_file(a, name);
    log_text(a, "reason", ledger_reason(a, s));
    log_remedy(a, ledger_remedy(a, s));
    log_end(a);
}

void cdi_failed(struct agent *a, const char *uid, enum status s)
{
    char name[CDI_FILE_NAME_CAP];
    cdi_file_name(a->driver->kind, uid, name);
    file_failed(a, name, s);
}

static void log_rebuilt(struct agent *a, const struct claim_id *id, const char *name)
{
    log_begin(a, LOG_ID_CDI_FILE_REBUILT);
    log_claim(a, id);
    log_text(a, "file", name);
    log_end(a);
}

/* --- writing files of the CDI root --- */

static void root_answered(struct agent *a, enum status s)
{
    if (s == STATUS_OK && a->ledger->cdi_remedy != NULL) {
        log_one(a, LOG_ID_CDI_ROOT_WRITABLE, "file", a->settings->cdi_root);
    }
    a->ledger->cdi_remedy = (s != STATUS_OK) ? ledger_remedy(a, s) : NULL;
    a->ledger->cdi_ms = a->now_ms + CDI_TRY_MS;
}

/*
 * Writes a test file into the CDI root. The file has some content, because even a full disk accepts
 * an empty file.
 */
void ledger_try_cdi(struct agent *a)
{
    const struct files *f = a->files;
    bool refused = a->ledger->cdi_remedy != NULL;
    memset(a->scratch.half, 0, sizeof a->scratch.half);
    enum status s = f->write(f->ctx, FILES_CDI, temporary_name(a), 0,
                             view_of(a->scratch.half, sizeof a->scratch.half));
    root_answered(a, s);
    if (s != STATUS_OK && !refused) {
        file_failed(a, a->settings->cdi_root, s);
    }
    ledger_tidy(a);
}

/*
 * Renames the temporary file to its final name, or removes it if writing or renaming failed; `what`
 * is the kind of file. HOST_*: writing or renaming failed; `why` gets one line.
 */
static enum status finish_file(struct agent *a, const char *what, const char *name,
                               enum status written, struct writer *why)
{
    const struct files *f = a->files;
    enum status s = written;
    const char *refused = temporary_name(a);
    if (s == STATUS_OK) {
        refused = name;
        s = f->commit(f->ctx, FILES_CDI, temporary_name(a), name);
    }
    root_answered(a, s);
    if (s != STATUS_OK) {
        WRITE(why, "% %/%", TEXT(what), TEXT(a->settings->cdi_root), TEXT(refused));
        ledger_cannot_text(a, "written", s, why);
        file_failed(a, name, s);
        enum status cleared = f->remove(f->ctx, FILES_CDI, temporary_name(a), 0);
        status_ignore(cleared, "the next claim overwrites it, or reconciliation removes it");
    }
    return s;
}

/* --- writing device metadata files --- */

/*
 * Copies the devices and the Node's labels, from which the agent also builds the node's
 * ResourceSlices, into scratch.devices. false: the labels are missing, because the Node was not
 * read yet.
 */
static bool copy_devices(struct agent *a, const struct claim_record *r)
{
    struct devices *d = &a->scratch.devices;
    devices_copy(d, a->devices);
    d->labels = node_facts(a)->labels;
    if (r->node_devices != 0u) {
        devices_add_node(d, true);
    }
    return node_facts(a)->uid[0] != '\0';
}

/*
 * Compares `part` with the bytes of the file at `offset`. STATUS_OK: the bytes are the same and, if
 * `last`, the file ends after them; HOST_DAMAGED: the bytes or the end differ.
 */
static enum status compare_part(struct agent *a, const char *name, uint64_t offset,
                                struct view part, bool last)
{
    const struct files *f = a->files;
    struct writer stored = writer_of(a->scratch.stored, part.len + (last ? 1u : 0u));
    enum status s = f->read(f->ctx, FILES_CDI, name, offset, &stored);
    return (s == STATUS_OK && !view_equal(writer_view(&stored), part)) ? HOST_DAMAGED : s;
}

/*
 * Generates the device metadata file of one request of a claim, part by part. If `writes`, writes
 * each part to the temporary file; otherwise compares each part with the file `name`.
 */
static enum status go_through(struct agent *a, const struct claim_record *r, unsigned at,
                              const char *name, bool writes)
{
    const struct files *f = a->files;
    struct metadata_parts parts = {.record = r,
                                   .devices = &a->scratch.devices,
                                   .driver = a->driver->name,
                                   .attributes = &a->scratch.attributes,
                                   .first = at,
                                   .next = at};
    enum status s = STATUS_OK;
    uint64_t offset = 0;
    bool more = true;
    /*
     * the loop ends, because the file has one part for each allocation result, in each version of
     * its format
     */
    while (more && s == STATUS_OK) {
        struct writer out = writer_of(a->scratch.body, sizeof a->scratch.body);
        more = metadata_next(&parts, &out);
        ASSERT(!out.full);
        if (!writes) {
            s = compare_part(a, name, offset, writer_view(&out), !more);
        } else if (out.len > 0u) {
            s = f->write(f->ctx, FILES_CDI, temporary_name(a), offset, writer_view(&out));
        }
        offset += out.len;
    }
    return s;
}

static enum status metadata_put_file(struct agent *a, const struct claim_record *r, unsigned at,
                                     bool again, struct writer *why)
{
    char name[CDI_FILE_NAME_CAP];
    metadata_file_name(r->driver, r->id.uid, at, name);
    bool labels = copy_devices(a, r);
    enum status s = go_through(a, r, at, name, false);
    bool known = labels && metadata_known(r, at, &a->scratch.devices);
    bool stays = s == HOST_DAMAGED && !known;
    if (s == STATUS_OK || stays) {
        return STATUS_OK;
    }
    if (again && s == HOST_ABSENT) {
        log_rebuilt(a, &r->id, name);
    }
    /*
     * Containers can start with an outdated metadata file, so a failure to update one is not an
     * error.
     */
    bool spare = again && s == HOST_DAMAGED;
    struct writer discarded = writer_of(NULL, 0);
    s = go_through(a, r, at, name, true);
    s = finish_file(a, "device metadata file", name, s, spare ? &discarded : why);
    return spare ? STATUS_OK : s;
}

/*
 * Makes sure that the device metadata files of a record exist, if it has any, and are up to date; a
 * file stays unchanged while a fact for it is unknown. `again`: the files should already exist, so
 * a missing file is logged. HOST_*: a file cannot be written; `why` gets one line.
 */
static enum status metadata_put(struct agent *a, const struct claim_record *r, bool again,
                                struct writer *why)
{
    enum status s = STATUS_OK;
    for (unsigned i = 0; i < r->count && r->metadata && s == STATUS_OK; i++) {
        if (claim_request_begins(r, i)) {
            s = metadata_put_file(a, r, i, again, why);
        }
    }
    return s;
}

/* --- writing CDI files --- */

static enum status write_file(struct agent *a, const struct claim_record *r, struct view content,
                              struct writer *why)
{
    char name[CDI_FILE_NAME_CAP];
    const struct files *f = a->files;
    cdi_file_name(a->driver->kind, r->id.uid, name);
    enum status s = f->write(f->ctx, FILES_CDI, temporary_name(a), 0, content);
    return finish_file(a, "CDI file", name, s, why);
}

static enum status build_file(struct agent *a, const struct claim_record *r, struct writer *out,
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
    s = (s == STATUS_OK) ? build_file(a, r, &content, why) : s;
    return (s == STATUS_OK) ? write_file(a, r, writer_view(&content), why) : s;
}

/* --- reading CDI files --- */

/*
 * Reads the claim's CDI file into scratch.stored; `out` becomes a writer that has the bytes of the
 * file.
 */
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
    s = (s == STATUS_OK) ? build_file(a, r, &wanted, why) : s;
    if (s != STATUS_OK) {
        return s;
    }
    s = read_file(a, r->id.uid, &stored);
    if (s == STATUS_OK && view_equal(writer_view(&stored), writer_view(&wanted))) {
        return STATUS_OK;
    }
    char name[CDI_FILE_NAME_CAP];
    cdi_file_name(a->driver->kind, r->id.uid, name);
    log_rebuilt(a, &r->id, name);
    return write_file(a, r, writer_view(&wanted), why);
}

enum status ledger_read_cdi(struct agent *a, const char *uid, struct claim_record *r)
{
    struct writer stored;
    enum status s = read_file(a, uid, &stored);
    s = (s == STATUS_OK) ? cdi_read(writer_view(&stored), r) : s;
    return (s == STATUS_OK && (r->driver != a->driver->kind || !text_is(uid, r->id.uid)))
               ? HOST_DAMAGED
               : s;
}

/*
 * Whether the CDI root has a file of this name. HOST_ABSENT: there is no such file; other HOST_*:
 * the CDI root cannot be read.
 */
static enum status find_file(const struct agent *a, const char *name)
{
    uint8_t first;
    struct writer byte = writer_of(&first, sizeof first);
    return a->files->read(a->files->ctx, FILES_CDI, name, 0, &byte);
}

enum status ledger_find_cdi_file(const struct agent *a, const char *uid)
{
    char name[CDI_FILE_NAME_CAP];
    cdi_file_name(a->driver->kind, uid, name);
    return find_file(a, name);
}

bool ledger_has_cdi_file(const struct agent *a, const char *uid)
{
    return ledger_find_cdi_file(a, uid) != HOST_ABSENT;
}

void ledger_tombstones(struct agent *a, bool left)
{
    a->ledger->tombstones = left;
}

enum status ledger_tombstone(const struct agent *a, const char *uid)
{
    char name[CDI_FILE_NAME_CAP];
    cdi_tombstone_name(a->driver->kind, uid, name);
    return find_file(a, name);
}

/* --- removing files of claims --- */

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
    if (s == STATUS_OK || s == HOST_ABSENT) {
        return STATUS_OK;
    }
    a->ledger->tombstones = true;
    return s;
}

/*
 * Removes device metadata files whose claim is not held and has no CDI file. `names`: names of
 * files in the CDI root, each with its NUL.
 */
static void tidy_page(const struct agent *a, struct view names)
{
    char found[UID_CAP];
    const struct files *f = a->files;
    struct view rest = names;
    while (rest.len > 0u) {
        const char *name = (const char *)rest.data;
        if (metadata_name_uid(a->driver->kind, name, found) && ledger_find(a, found) < 0 &&
            !ledger_has_cdi_file(a, found)) {
            enum status s = f->remove(f->ctx, FILES_CDI, name, NULL);
            status_ignore(s, "the next round tries it again");
        }
        rest = view_from(rest, view_text(name).len + 1u);
    }
}

void ledger_tidy_metadata(struct agent *a, const char *uid)
{
    char prefix[CDI_FILE_NAME_CAP];
    const struct files *f = a->files;
    struct listing at = {0};
    enum status s = STATUS_OK;
    WRITE_TEXT(prefix, sizeof prefix, "%%%", TEXT(driver_traits(a->driver->kind)->metadata_prefix),
               TEXT(uid), TEXT((uid[0] == '\0') ? "" : "_"));
    do { /* this loop ends, because the files port limits the number of pages */
        struct writer names = writer_of(a->scratch.stored, sizeof a->scratch.stored);
        s = f->list(f->ctx, FILES_CDI, prefix, &at, &names);
        tidy_page(a, writer_view(&names));
    } while (s == STATUS_MORE);
    status_ignore(s, "what was not listed is found with the next round, or later");
}
