/* SPDX-License-Identifier: Apache-2.0 */
/* A node of which the tests change the disk, the boot or the API server between two rounds. */
#ifndef TESTS_UNIT_AGENT_RECONCILE_H
#define TESTS_UNIT_AGENT_RECONCILE_H

#include "tests/unit/kubelet/agent_kubelet.h"

#define INTERVAL UINT64_C(60000)
/* Whatever is due at the interval, with its jitter, and a GET for each claim. */
#define ROUND (INTERVAL * 5u / 4u + 5000u)

UNUSED_OK static void begin(void)
{
    static const char *const more[] = {"--reconcile-interval", "60s"};
    world_new();
    settings_set(more, 2);
    for (unsigned n = 0; n < 8; n++) {
        (void)claim_add(n);
    }
    node_up();
}

UNUSED_OK static void begin_with(unsigned used)
{
    node_with_claims(used);
    log_forget();
    api_forget();
}

UNUSED_OK static struct disk_file *store(void)
{
    struct disk_file *f = disk_find(FILES_STATE, STORE_FILE_NAME);
    assert_non_null(f);
    return f;
}

/* The slot that holds claim `n`. */
UNUSED_OK static unsigned slot_of(unsigned n)
{
    int slot = ledger_find(world.agent, api.claim[n].uid);
    assert_true(slot >= 0);
    return (unsigned)slot;
}

/* Fails unless cfg/deploy/operate.md has this text. */
UNUSED_OK static void documented(const char *text)
{
    static char bytes[262144];
    FILE *f = fopen("cfg/deploy/operate.md", "r");
    assert_non_null(f);
    bytes[fread(bytes, 1, sizeof bytes - 1, f)] = 0;
    (void)fclose(f);
    if (strstr(bytes, text) == NULL) {
        fail_msg("cfg/deploy/operate.md does not say \"%s\"", text);
    }
}

/* The bytes of the CDI file of claim `n`, by turns in two places. */
UNUSED_OK static struct view copy_of(unsigned n)
{
    static uint8_t bytes[2][DISK_PAGE];
    static unsigned turn;
    struct view v = file_content(cdi_of(n));
    turn = 1u - turn;
    memcpy(bytes[turn], v.data, v.len);
    return view_of(bytes[turn], v.len);
}

/* Another claim asks for the device of claim 0; empty: it gets it. */
UNUSED_OK static const char *rival_error(void)
{
    api.claim[7].result[0].device = "neuron-device-0";
    return prepare_error(prepare_soon(7, 1), 7);
}

UNUSED_OK static void lose_store(void)
{
    kill_agent();
    disk_unlink(disk_find(FILES_STATE, STORE_FILE_NAME));
}

UNUSED_OK static void boot(const char *id)
{
    (void)snprintf(world.found.boot_id, sizeof world.found.boot_id, "%s\n", id);
}

UNUSED_OK static void claim_away(unsigned n)
{
    api.claim[n].uid[0] = '\0';
}

#endif
