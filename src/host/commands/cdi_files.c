/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the CDI files of claims, compares them with the claim store, and finds the claims that the
 * store lacks. Like the agent (agent/recovery/reconcile.c), the commands treat the CDI file of such
 * a claim as evidence that the claim holds devices. Changes no file.
 */
#include <errno.h>

#include "base/assert.h"
#include "cfg/identity.h"
#include "host/commands/commands_internal.h"
#include "host/system.h"

/* Reads the CDI file `name` of the selected driver into m->cdi[0]. */
static enum status read_cdi(struct command_memory *m, const char *name, struct writer *stored)
{
    char path[COMMAND_PATH_CAP];
    int error = 0;
    *stored = writer_of(m->cdi[0], sizeof m->cdi[0]);
    path_join(path, sizeof path, m->settings->cdi_root, name);
    return file_read_whole(path, stored, &error);
}

enum cdi_state commands_cdi_state(struct command_memory *m)
{
    char name[CDI_FILE_NAME_CAP];
    struct writer stored;
    struct writer wanted = writer_of(m->cdi[1], sizeof m->cdi[1]);
    cdi_file_name(m->record.driver, m->record.id.uid, name);
    enum status s = read_cdi(m, name, &stored);
    if (s != STATUS_OK) {
        return (s == HOST_ABSENT) ? CDI_MISSING : CDI_UNREADABLE;
    }
    s = cdi_write(&m->record,
                  &(struct cdi_host){.dev_root = m->settings->dev_root,
                                     .cdi_root = m->settings->cdi_root,
                                     .driver = m->settings->driver[m->record.driver].name},
                  &wanted);
    bool same = s == STATUS_OK && view_equal(writer_view(&stored), writer_view(&wanted));
    return same ? CDI_GOOD : CDI_DIFFERENT;
}

/* --- the list of claims in the claim store --- */

void commands_stored_begin(struct command_memory *m)
{
    m->stored_claims = 0;
}

void commands_stored_add(struct command_memory *m, enum slot_state state)
{
    bool outline = state == SLOT_OUTLINE;
    if (state != SLOT_CLAIM && !outline) {
        return;
    }
    ASSERT(m->stored_claims < CLAIMS_MAX);
    struct stored_claim *c = &m->stored[m->stored_claims];
    text_set(c->uid, sizeof c->uid, outline ? m->outline.id.uid : m->record.id.uid);
    c->numbers = outline ? m->outline.numbers : claim_numbers(&m->record);
    /* the CDI file of a released claim is a leftover, and shows no device that is still held */
    c->numbers = (outline && m->outline.released) ? UINT64_MAX : c->numbers;
    m->stored_claims++;
}

static const struct stored_claim *find_stored(const struct command_memory *m, const char *uid)
{
    for (unsigned i = 0; i < m->stored_claims; i++) {
        if (text_is(m->stored[i].uid, uid)) {
            return &m->stored[i];
        }
    }
    return NULL;
}

/* --- claims that have a CDI file but are not in the claim store --- */

void commands_witness_begin(struct command_memory *m)
{
    directory_open(&m->directory, m->settings->cdi_root);
}

/*
 * Reads the CDI file `name` of claim `uid`. Returns whether the file shows a claim or devices that
 * the store lacks, or is unreadable and its claim is not in the store. Not inlined, so that its
 * buffers are not on the stack while a claim is written.
 */
__attribute__((noinline)) static bool read_witness(struct command_memory *m, const char *name,
                                                   const char *uid, struct cdi_witness *w)
{
    struct writer stored;
    const struct stored_claim *known = find_stored(m, uid);
    enum status s = read_cdi(m, name, &stored);
    if (s == HOST_ABSENT) {
        /* the agent has removed the CDI file meanwhile, because the claim was unprepared */
        return false;
    }
    s = (s == STATUS_OK) ? cdi_read(writer_view(&stored), &m->record) : s;
    bool good = s == STATUS_OK && m->record.driver == m->driver && text_is(m->record.id.uid, uid);
    *w = (struct cdi_witness){.read = good, .alone = known == NULL};
    text_cut(w->file, sizeof w->file, view_text(name));
    if (!good) {
        return w->alone;
    }
    w->numbers = claim_numbers(&m->record) & ~((known != NULL) ? known->numbers : 0u);
    return w->alone || w->numbers != 0u;
}

bool commands_witness_next(struct command_memory *m, struct cdi_witness *w)
{
    struct directory_entry found;
    char uid[UID_CAP];
    bool more = false;
    while (!more && directory_next(&m->directory, &found)) {
        more = cdi_name_uid(m->driver, found.name, CDI_FILE_SUFFIX, uid) &&
               read_witness(m, found.name, uid, w);
    }
    return more;
}

int commands_witness_end(struct command_memory *m)
{
    int error = directory_close(&m->directory);
    return (error == ENOENT || error == ENOTDIR) ? 0 : error;
}

void commands_witness_hold(struct command_memory *m)
{
    struct inventory *v = &m->inventory;
    struct cdi_witness w;
    commands_witness_begin(m);
    while (commands_witness_next(m, &w)) {
        if (w.read) {
            command_hold(v, w.numbers, &m->record.id, "");
            v->witnesses = (uint16_t)(v->witnesses + (w.alone ? 1u : 0u));
        } else {
            v->cdi_unread++;
            text_set(v->cdi_file, sizeof v->cdi_file, w.file);
        }
    }
    v->cdi_unlisted = commands_witness_end(m) != 0;
}
