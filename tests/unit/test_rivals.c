/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims whose device another claim has: what the kubelet is told, by what is known of the other
 * claim, and which of them stay. With a claim table made by hand.
 */
#include "unit.h"

#include "agent/calls/rivals.h"
#include "agent/state.h"
#include "tests/unit/node/claim_harness.h"

static struct agent agent;
static struct ledger ledger;
static struct recovery recovery;
static struct devices devices;
static struct driver driver;
static struct settings settings;
static struct claim_record record;
static char text[1024];
/* a checkpoint that lists no claim, as test_kubelet_state.c has it */
static const char no_claims[] =
    "{\"Data\":\"{\\\"kind\\\":\\\"DRACheckpoint\\\",\\\"apiVersion\\\":"
    "\\\"checkpoint.dra.kubelet.k8s.io/v1\\\",\\\"ClaimInfoStateList\\\":null}\","
    "\"Checksum\":4010664294}";
static const char *checkpoint; /* the kubelet's checkpoint; NULL: there is none */

static enum status read_checkpoint(void *ctx, uint64_t offset, struct writer *out,
                                   uint64_t *written_ms)
{
    (void)ctx;
    *written_ms = 0;
    if (checkpoint == NULL) {
        return HOST_ABSENT;
    }
    writer_append(out, view_from(view_text(checkpoint), (size_t)offset));
    return STATUS_OK;
}

static const struct files files = {.kubelet_state = read_checkpoint};

static int setup(void **state)
{
    (void)state;
    memset(&agent, 0, sizeof agent);
    checkpoint = NULL;
    agent.files = &files;
    memset(&ledger, 0, sizeof ledger);
    memset(&recovery, 0, sizeof recovery);
    memset(&driver, 0, sizeof driver);
    memset(&settings, 0, sizeof settings);
    fill_devices(&devices, &trn2, 0, 16);
    agent.ledger = &ledger;
    agent.recovery = &recovery;
    agent.devices = &devices;
    agent.driver = &driver;
    agent.settings = &settings;
    record_begin(&record);
    (void)record_add(&record, "a", 3);
    return 0;
}

static struct ledger_entry *hold(unsigned slot, const char *name, uint64_t numbers)
{
    struct ledger_entry *e = &ledger.entry[slot];
    e->state = LEDGER_HELD;
    e->record = RECORD_OUTLINE;
    e->numbers = numbers;
    (void)snprintf(ledger.id[slot].uid, UID_CAP, "uid-%s", name);
    (void)snprintf(ledger.id[slot].namespace_, NAMESPACE_CAP, "ml");
    (void)snprintf(ledger.id[slot].name, NAME_CAP, "%s", name);
    return e;
}

static const char *told(unsigned slot)
{
    struct writer why = writer_of(text, sizeof text);
    rivals_write(&agent, slot, &record, &why);
    assert_int_equal(writer_end_text(&why), STATUS_OK);
    assert_one_line(text);
    return text;
}

static void part(uint8_t cores)
{
    record.result[0].cores = cores;
    memcpy(record.result[0].share_id, "s", 2);
}

#define HELD                                                                                       \
    "claim training/llama-0: requested device neuron-device-3 is already held by claim ml/one "    \
    "(uid-one"

static void test_what_is_told(void **state)
{
    (void)state;
    struct ledger_entry *e = hold(0, "one", 8);
    assert_string_equal(told(0), "claim training/llama-0: requested device neuron-device-3 is "
                                 "already held by claim ml/one; once no pod uses that one: kubectl "
                                 "-n ml delete resourceclaim one, then neuron-dra-agent release "
                                 "uid-one");
    checkpoint = no_claims;
    assert_string_equal(told(0), HELD "); once no pod uses that one: kubectl -n ml delete "
                                      "resourceclaim one; the agent then releases it by itself");
    /* it is gone, and only a container may still use it */
    recovery.reconcile.check[0].withheld = true;
    assert_string_equal(told(0), HELD "), which is gone; once no container uses it: "
                                      "neuron-dra-agent release uid-one");
    /* it has a share, and sharing is off now */
    e->shares = true;
    e->cores = 3;
    assert_string_equal(told(0),
                        HELD "), which has a share of it, and the agent shares no device "
                             "now: switch sharing on again, or end the pods of that claim");
    driver.shares = 8;
    assert_non_null(strstr(told(0), "which is gone"));
    /* its cores are guessed: for a claim of a part that matters, for others it does not */
    e->guessed = true;
    assert_non_null(strstr(told(0), "which is gone"));
    part(0x0c);
    assert_string_equal(told(0), HELD "), whose cores are not known: no claim joins it before "
                                      "its pod is prepared again or ends");
}

/* Of several devices the one is named that the other claim has. */
static void test_which_device_is_named(void **state)
{
    (void)state;
    (void)record_add(&record, "a", 4);
    (void)record_add(&record, "a", 5);
    (void)hold(0, "one", 0x10);
    assert_non_null(strstr(told(0), "requested device neuron-device-4 is already held"));
    (void)hold(0, "one", 0x20);
    assert_non_null(strstr(told(0), "requested device neuron-device-5 is already held"));
}

/* An EFA device whose uverbs node is another device's in a record. */
static void test_node_of_another_device(void **state)
{
    (void)state;
    driver.kind = DRIVER_EFA;
    devices.driver = DRIVER_EFA;
    record.driver = DRIVER_EFA;
    record.result[0].efa_address = 0x10c8;
    record.result[0].uverbs = 2;
    struct ledger_entry *e = hold(0, "one", 8);
    e->record = RECORD_WHOLE;
    e->shares = true;
    e->functions = 1;
    ledger.function[0] = (struct held_function){.address = 0x10d0, .uverbs = 2};
    assert_non_null(strstr(told(0), " has /dev/infiniband/uverbs2, which is already named by the "
                                    "record of claim ml/one"));
    ledger.function[0].address = 0x10c8;
    assert_non_null(strstr(told(0), "which has a share of it"));
}

/* Who asks for a part does not make a claim give way of whose part nobody knows the cores. */
static void test_who_stays(void **state)
{
    struct rivals found;
    (void)state;
    driver.shares = 8;
    rivals_find(&agent, &record, &found);
    assert_int_equal(found.firm, -1);
    struct ledger_entry *e = hold(2, "one", 8);
    rivals_find(&agent, &record, &found);
    assert_int_equal(found.firm, 2);
    assert_int_equal(found.count, 0);
    e->guessed = true; /* which does not matter to who asks for the whole device */
    rivals_find(&agent, &record, &found);
    assert_int_equal(found.firm, 2);
    e->guessed = false;
    part(0x0c);
    e->shares = true;
    e->cores = 3;
    rivals_find(&agent, &record, &found);
    assert_int_equal(found.firm, -1);
    e->guessed = true;
    rivals_find(&agent, &record, &found);
    assert_int_equal(found.firm, 2);
    assert_int_equal(rivals_disputing(&agent, 2), -1); /* one claim disputes nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_is_told, setup),
        cmocka_unit_test_setup(test_which_device_is_named, setup),
        cmocka_unit_test_setup(test_node_of_another_device, setup),
        cmocka_unit_test_setup(test_who_stays, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
