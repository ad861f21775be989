/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CDI files as a damaged disk or another program leaves them, and file names in the CDI root.
 * Checks I6 of dra/claim.h; the oracle for what counts as JSON is jansson.
 *
 * Input: a CDI file, and a file name of the CDI root
 * Links: -ljansson
 */
#include "cfg/identity.h"
#include "dra/claim.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/json_oracle.h"

static struct claim_record record;
static struct claim_record again;
static uint8_t file[CDI_BYTES_MAX];

/* Names go into paths, and into requests to the API server. */
static void look_name(const char *text, const char *allowed, bool empty)
{
    CHECK(text[strspn(text, allowed)] == '\0' && (empty || text[0] != '\0'));
}

static void look_names(const struct claim_record *r)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
    look_name(r->id.uid, name, false);
    look_name(r->id.namespace_, name, false);
    look_name(r->id.name, name, false);
    look_name(r->pool, name, false);
    CHECK(r->count >= 1u && r->count <= RESULTS_MAX);
    for (unsigned i = 0; i < r->count; i++) {
        look_name(r->result[i].request, name, false);
        look_name(r->result[i].share_id, name, true);
        CHECK(r->result[i].number < DEVICES_MAX);
    }
    CHECK(r->consumer.name[0] == '\0' && r->consumer.uid[0] == '\0');
}

static void try_file(struct view bytes)
{
    static const struct claim_record nothing;
    memset(&record, 0x5a, sizeof record);
    if (cdi_read(bytes, &record) != STATUS_OK) {
        CHECK(memcmp(&record, &nothing, sizeof record) == 0);
        return;
    }
    oracle_judge(bytes, STATUS_OK);
    CHECK(claim_record_valid(&record));
    look_names(&record);
    struct writer out = writer_of(file, sizeof file);
    const struct cdi_host host = {.dev_root = "/dev", .cdi_root = "/c", .driver = "d"};
    enum status s = cdi_write(&record, &host, &out);
    if (s == FULL_BUFFER && record.metadata) {
        return; /* very many mounts of very long names */
    }
    CHECK(s == STATUS_OK);
    CHECK(cdi_read(writer_view(&out), &again) == STATUS_OK);
    CHECK(memcmp(&again, &record, sizeof record) == 0);
}

static void try_name(struct view bytes)
{
    char name[CDI_FILE_NAME_CAP];
    char same[CDI_FILE_NAME_CAP];
    char uid[UID_CAP];
    if (text_copy(name, sizeof name, bytes) != STATUS_OK) {
        return;
    }
    if (cdi_name_uid(DRIVER_NEURON, name, CDI_FILE_SUFFIX, uid)) {
        cdi_file_name(DRIVER_NEURON, uid, same);
        CHECK(strcmp(name, same) == 0);
    }
    if (cdi_name_uid(DRIVER_NEURON, name, CDI_TOMBSTONE_SUFFIX, uid)) {
        cdi_tombstone_name(DRIVER_NEURON, uid, same);
        CHECK(strcmp(name, same) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = fuzz_copy(data, size);
    try_file(view_of(copy, size));
    try_name(view_of(copy, size));
    free(copy);
    return 0;
}
