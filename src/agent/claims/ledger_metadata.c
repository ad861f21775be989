/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device metadata files of claims. Each is compared with what is known of its devices and written
 * again where it differs: a container that runs keeps the file that it was started with, one that
 * is started later sees what holds then. While a device or the Node is not known, what is there
 * stays. A runtime refuses a container whose file is missing, so
 * they come before the CDI file and go after it.
 */
#include "agent/claims/ledger_internal.h"

#include "agent/state.h"
#include "base/assert.h"
#include "dra/metadata.h"

_Static_assert(METADATA_PART_MAX <= CDI_BYTES_MAX, "a part fits where it is made");

/* What the node's slices are made of, in scratch.devices; false: the Node's labels are not known. */
static bool take_devices(struct agent *a, const struct claim_record *r)
{
    struct devices *d = &a->scratch.devices;
    *d = a->devices;
    d->labels = a->common->node.facts.labels;
    if (r->node_devices != 0u) {
        devices_add_node(d, true);
    }
    return a->common->node.facts.uid[0] != '\0';
}

/* STATUS_OK: these bytes are in the file. `last`: and nothing follows. */
static enum status compare(struct agent *a, const char *name, uint64_t offset, struct view part,
                           bool last)
{
    const struct files *f = a->files;
    struct writer stored = writer_of(a->scratch.stored, part.len + (last ? 1u : 0u));
    enum status s = f->read(f->ctx, FILES_CDI, name, offset, &stored);
    return (s == STATUS_OK && !view_equal(writer_view(&stored), part)) ? HOST_DAMAGED : s;
}

/* Writes the parts of the file of a request under the temporary name, or compares them. */
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
    while (more && s == STATUS_OK) { /* a part for each result and version */
        struct writer out = writer_of(a->scratch.body, sizeof a->scratch.body);
        more = metadata_next(&parts, &out);
        ASSERT(!out.full);
        if (!writes) {
            s = compare(a, name, offset, writer_view(&out), !more);
        } else if (out.len > 0u) {
            s = f->write(f->ctx, FILES_CDI, cdi_temporary, offset, writer_view(&out));
        } else {
            /* a result of another request */
        }
        offset += out.len;
    }
    return s;
}

static enum status put_file(struct agent *a, const struct claim_record *r, unsigned at, bool again,
                            struct writer *why)
{
    char name[CDI_FILE_NAME_CAP];
    metadata_file_name(r->driver, r->id.uid, at, name);
    bool labels = take_devices(a, r);
    enum status s = go_through(a, r, at, name, false);
    bool known = labels && metadata_known(r, at, &a->scratch.devices);
    bool stays = s == HOST_DAMAGED && !known;
    if (s == STATUS_OK || stays) {
        return STATUS_OK;
    }
    if (again && s == HOST_ABSENT) {
        cdi_rebuilt(a, r->id.uid, name);
    }
    s = go_through(a, r, at, name, true);
    return cdi_commit(a, r->id.uid, "device metadata file", name, s, why);
}

enum status metadata_put(struct agent *a, const struct claim_record *r, bool again,
                         struct writer *why)
{
    enum status s = STATUS_OK;
    for (unsigned i = 0; i < r->count && r->metadata && s == STATUS_OK; i++) {
        if (claim_request_begins(r, i)) {
            s = put_file(a, r, i, again, why);
        }
    }
    return s;
}

void ledger_tidy_metadata(struct agent *a, const char *uid)
{
    char prefix[CDI_FILE_NAME_CAP];
    char found[UID_CAP];
    const struct files *f = a->files;
    struct writer w = writer_of(prefix, sizeof prefix);
    struct writer names = writer_of(a->scratch.stored, sizeof a->scratch.stored);
    writer_text(&w, metadata_file_prefix(a->driver->kind));
    writer_text(&w, uid);
    writer_text(&w, (uid[0] == '\0') ? "" : "_");
    enum status s = writer_end_text(&w);
    ASSERT(s == STATUS_OK);
    s = f->list(f->ctx, FILES_CDI, prefix, &names);
    status_ignore(s, "what is not listed is found with the next round, or later");
    struct view rest = writer_view(&names);
    while (rest.len > 0u) {
        const char *name = (const char *)rest.data;
        if (metadata_name_uid(a->driver->kind, name, found) && ledger_find(a, found) < 0 &&
            !ledger_has_cdi_file(a, found)) {
            s = f->remove(f->ctx, FILES_CDI, name, NULL);
            status_ignore(s, "the next round tries it again");
        }
        rest = view_from(rest, view_text(name).len + 1u);
    }
}
