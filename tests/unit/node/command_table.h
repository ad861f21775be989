/* SPDX-License-Identifier: Apache-2.0 */
/* A node of one board, the claims that hold its devices, and what `devices` prints of both. */
#ifndef TESTS_UNIT_NODE_COMMAND_TABLE_H
#define TESTS_UNIT_NODE_COMMAND_TABLE_H

#include "tests/unit/node/claim_harness.h"

#include "command/command.h"

static struct inventory inventory;
static struct claim_record record;
static char part[COMMAND_PART_BYTES];
static char text[256u * 1024u];

/* Everything that the parts of a command are, together. */
static const char *whole(bool (*more)(unsigned number, struct writer *out))
{
    struct writer all = writer_of(text, sizeof text);
    struct writer w = writer_of(part, sizeof part);
    for (unsigned i = 0; more(i, &w); i++) {
        assert_false(w.full);
        writer_append(&all, writer_view(&w));
        w.len = 0;
    }
    assert_int_equal(writer_end_text(&all), STATUS_OK);
    return text;
}

__attribute__((unused)) static bool table_part(unsigned number, struct writer *out)
{
    return command_devices_text(&inventory, number, out);
}

static void node(unsigned count)
{
    memset(&inventory, 0, sizeof inventory);
    fill_devices(&inventory.devices, board_find("trn2.48xlarge"), 0, count);
    for (unsigned i = 0; i < count; i++) {
        inventory.devices.device[i].core_count = 8;
        inventory.devices.device[i].reading.known = true;
    }
}

__attribute__((unused)) static void hold(const char *name, const char *pod, unsigned first,
                                         unsigned count)
{
    record_begin(&record);
    (void)snprintf(record.id.name, sizeof record.id.name, "%s", name);
    (void)snprintf(record.consumer.name, sizeof record.consumer.name, "%s", pod);
    for (unsigned i = 0; i < count; i++) {
        record_add(&record, "train", first + i);
    }
    command_hold(&inventory, claim_numbers(&record), &record.id, record.consumer.name);
}

static void has(const char *words)
{
    if (strstr(text, words) == NULL) {
        fail_msg("no \"%s\" in:\n%s", words, text);
    }
}

#endif
