/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim table alone: which claims conflict by number, by core, by EFA device and by uverbs
 * node, and which slot a new record gets. No files, no API server.
 */
#include "unit.h"

#include "agent/ledger/ledger_internal.h"
#include "agent/state.h"

static struct agent agent;
static struct ledger ledger;
static struct devices devices;
static struct driver driver;
static struct files files;

static int setup(void **state)
{
    (void)state;
    memset(&agent, 0, sizeof agent);
    memset(&ledger, 0, sizeof ledger);
    memset(&devices, 0, sizeof devices);
    memset(&driver, 0, sizeof driver);
    memset(&files, 0, sizeof files);
    agent.ledger = &ledger;
    agent.devices = &devices;
    agent.driver = &driver;
    agent.files = &files;
    return 0;
}

static int setup_efa(void **state)
{
    (void)setup(state);
    driver.kind = DRIVER_EFA;
    devices.driver = DRIVER_EFA;
    return 0;
}

static struct ledger_entry *hold(unsigned slot, const char *uid, uint64_t numbers)
{
    struct ledger_entry *e = &ledger.entry[slot];
    e->state = LEDGER_HELD;
    e->record = RECORD_WHOLE;
    e->numbers = numbers;
    (void)snprintf(ledger.id[slot].uid, UID_CAP, "%s", uid);
    return e;
}

static void release(unsigned slot, enum ledger_state state)
{
    ledger.entry[slot].state = state;
}

/* --- what may still have to be unprepared --- */

static void test_may_hold(void **state)
{
    (void)state;
    assert_false(ledger_may_hold(&agent));
    ledger.held = 1;
    assert_true(ledger_may_hold(&agent));
    ledger.held = 0;
    ledger.freeing = 1;
    assert_true(ledger_may_hold(&agent));
    ledger.freeing = 0;
    ledger.unlisted = true;
    assert_true(ledger_may_hold(&agent));
}

static void test_files_that_are_left(void **state)
{
    (void)state;
    (void)hold(3, "u", 1);
    assert_false(ledger_freeing_file(&agent, "u"));
    release(3, LEDGER_FREEING);
    assert_true(ledger_freeing(&agent, "u"));
    assert_false(ledger_freeing_file(&agent, "u"));
    release(3, LEDGER_FREEING_FILE);
    assert_true(ledger_freeing_file(&agent, "u"));
    assert_false(ledger_freeing_file(&agent, "v"));
}

/* The slot of the claim itself comes first, then a good one, then one that the disk refused. */
static void test_slots(void **state)
{
    (void)state;
    assert_int_equal(ledger_free_slot(&agent, "u"), 0);
    ledger.entry[0].refused = true;
    assert_int_equal(ledger_free_slot(&agent, "u"), 1);
    ledger.entry[1].damaged = true;
    assert_int_equal(ledger_free_slot(&agent, "u"), 2);
    (void)hold(7, "u", 1);
    assert_int_equal(ledger_free_slot(&agent, "u"), 2);
    release(7, LEDGER_FREEING);
    assert_int_equal(ledger_free_slot(&agent, "u"), 7);
    ledger.entry[7].damaged = true;
    assert_int_equal(ledger_free_slot(&agent, "u"), 7);
    ledger.entry[7].refused = true; /* no better than another one that is refused, but than none */
    assert_int_equal(ledger_free_slot(&agent, "u"), 2);
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        ledger.entry[i].state = LEDGER_HELD;
    }
    assert_int_equal(ledger_free_slot(&agent, "u"), -1);
    assert_true(ledger_full(&agent));
}

static void test_remedies(void **state)
{
    (void)state;
    assert_one_line(ledger_remedy(&agent, HOST_IO)); /* the port has none */
    assert_string_equal(
        ledger_remedy(&agent, HOST_DAMAGED),
        "move that file away, and check the disk: it returns other bytes than were written");
    assert_string_equal(ledger_remedy(&agent, HOST_NO_SPACE), "free space there");
}

static const char *port_remedy(void *ctx)
{
    return ctx;
}

/* The port knows the errno, so its remedy comes first, but for what the agent found out itself. */
static void test_remedies_of_the_port(void **state)
{
    static char words[] = "mount the disk again";
    (void)state;
    files.remedy = port_remedy;
    files.ctx = words;
    assert_string_equal(ledger_remedy(&agent, HOST_NO_SPACE), words);
    assert_string_equal(ledger_remedy(&agent, HOST_BUSY),
                        "the agent tries again; end the other agent of this node");
    files.ctx = NULL; /* it has none for this errno */
    assert_string_equal(ledger_remedy(&agent, HOST_NO_SPACE), "free space there");
}

/* --- conflicts by number --- */

struct part {
    bool shares;
    uint8_t cores;
    bool guessed;
};

static void test_overlaps(void **state)
{
    static const struct {
        struct part x, y;
        uint64_t other; /* the device of y; x has device 1 */
        bool conflict;
    } rows[] = {
        {{false, 0, false}, {false, 0, false}, 1, true},
        {{false, 0, false}, {false, 0, false}, 2, false},
        {{true, 3, false}, {true, 12, false}, 1, false},
        {{true, 3, false}, {true, 6, false}, 1, true},
        {{true, 3, false}, {false, 0, false}, 1, true},
        {{true, 3, false}, {true, 0, false}, 1, true}, /* a share of all cores */
        {{true, 3, true}, {true, 3, false}, 1, false}, /* guessed cores give way */
        {{true, 3, false}, {true, 3, true}, 1, false},
        {{true, 3, true}, {true, 3, true}, 1, false},
        {{true, 3, true}, {false, 0, false}, 1, true},
        {{false, 0, false}, {true, 3, true}, 1, true},
        {{false, 0, true}, {false, 0, true}, 1, false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct ledger_entry *x = hold(0, "x", 1);
        struct ledger_entry *y = hold(1, "y", rows[i].other);
        x->shares = rows[i].x.shares;
        x->cores = rows[i].x.cores;
        x->guessed = rows[i].x.guessed;
        y->shares = rows[i].y.shares;
        y->cores = rows[i].y.cores;
        y->guessed = rows[i].y.guessed;
        if (ledger_overlaps(&agent, x, y) != rows[i].conflict) {
            fail_msg("row %zu", i);
        }
        assert_int_equal(ledger_overlaps(&agent, y, x), rows[i].conflict);
        assert_int_equal(ledger_disputed(&agent, 0), rows[i].conflict ? 1 : -1);
        y->record = RECORD_UNSURE; /* a record that may be old disputes nothing */
        assert_int_equal(ledger_disputed(&agent, 0), -1);
        release(1, LEDGER_FREEING);
        assert_int_equal(ledger_disputed(&agent, 0), -1);
    }
}

/* Shares of EFA devices have no cores. */
static void test_shares_of_efa_devices(void **state)
{
    (void)state;
    struct ledger_entry *x = hold(0, "x", 1);
    struct ledger_entry *y = hold(1, "y", 1);
    assert_true(ledger_overlaps(&agent, x, y));
    x->shares = true;
    assert_true(ledger_overlaps(&agent, x, y));
    y->shares = true;
    assert_false(ledger_overlaps(&agent, x, y));
    assert_true(ledger_shares_rest(&agent, x));
}

static void test_consumers(void **state)
{
    const struct claim_consumer pod = {.name = "p", .uid = "1", .kind = CONSUMER_POD};
    (void)state;
    struct ledger_entry *e = hold(0, "x", 0);
    ledger_hold(&agent, 0, 0, false, &pod);
    assert_string_equal(ledger_consumer(&agent, 0)->name, ""); /* nobody asks for it */
    e->container_numbers = 1;
    ledger_hold(&agent, 0, 0, false, &pod);
    assert_string_equal(ledger_consumer(&agent, 0)->name, "p");
    e->container_numbers = 0;
    ledger_hold(&agent, 0, 2, false, &pod);
    assert_string_equal(ledger_consumer(&agent, 0)->name, "p");
}

/* --- EFA devices --- */

#define A 0x1000u
#define B 0x1008u
#define C 0x1010u

static void record_of(struct claim_record *r, uint32_t address, uint16_t uverbs, uint16_t number)
{
    memset(r, 0, sizeof *r);
    r->driver = DRIVER_EFA;
    r->count = 1;
    r->result[0].efa_address = address;
    r->result[0].uverbs = uverbs;
    r->result[0].number = number;
}

/* A held claim with these devices, as ledger_enter makes it. */
static struct ledger_entry *hold_efa(unsigned slot, const char *uid, uint32_t address,
                                     uint16_t uverbs)
{
    struct claim_record r;
    uint16_t number = (uint16_t)(20u + (address - A) / 8u % 40u);
    record_of(&r, address, uverbs, number);
    struct ledger_entry *e = hold(slot, uid, UINT64_C(1) << number);
    e->functions = 0;
    e->functions = ledger_functions(&agent, &r);
    return e;
}

static void test_places_of_functions(void **state)
{
    struct claim_record r;
    (void)state;
    struct ledger_entry *x = hold_efa(0, "x", A, 1);
    struct ledger_entry *y = hold_efa(1, "y", B, 2);
    assert_int_equal(x->functions, 1);
    assert_int_equal(y->functions, 2);
    record_of(&r, A, 1, 20);
    assert_int_equal(ledger_functions(&agent, &r), 1); /* the same device */
    r.result[0].uverbs = 3;
    assert_int_equal(ledger_functions(&agent, &r), 4); /* with another node it is another one */
    r.result[0].admin_access = true;
    assert_int_equal(ledger_functions(&agent, &r), 0);
    r.driver = DRIVER_NEURON;
    r.result[0] = (struct claim_result){.number = 1};
    assert_int_equal(ledger_functions(&agent, &r), 0);
    /* more devices than there are places: then a claim may have any */
    for (unsigned i = 0; i < LEDGER_FUNCTIONS; i++) {
        (void)hold_efa(i, "z", A + 8u * i, (uint16_t)i);
    }
    record_of(&r, 0x9000, 99, 30);
    assert_true(ledger_functions(&agent, &r) == LEDGER_ALL_FUNCTIONS);
}

static void test_functions_meet(void **state)
{
    (void)state;
    struct ledger_entry *x = hold_efa(0, "x", A, 1);
    struct ledger_entry *y = hold_efa(1, "y", B, 2);
    struct ledger_entry *same = hold_efa(2, "z", A, 1);
    struct ledger_entry *node = hold_efa(3, "w", C, 1);
    assert_false(ledger_functions_meet(&agent, x, y, false));
    assert_true(ledger_functions_meet(&agent, x, same, false));
    assert_false(ledger_functions_meet(&agent, x, same, true)); /* both have shares */
    assert_true(ledger_functions_meet(&agent, x, node, false));
    assert_true(ledger_functions_meet(&agent, x, node, true)); /* one node is one device */
    y->functions = 0;
    assert_false(ledger_functions_meet(&agent, x, y, false));
    x->functions = LEDGER_ALL_FUNCTIONS;
    assert_false(ledger_functions_meet(&agent, x, y, false));
    assert_true(ledger_functions_meet(&agent, x, same, false));
    assert_true(ledger_functions_meet(&agent, node, x, false));
    /* in one claim two devices, of which the second one meets */
    x->functions = 0x3;
    assert_true(ledger_functions_meet(&agent, x, node, false));
}

/* Whole records are compared by their devices, others by number. */
static void test_overlaps_by_devices(void **state)
{
    (void)state;
    struct ledger_entry *x = hold_efa(0, "x", A, 1);
    struct ledger_entry *y = hold_efa(1, "y", B, 2);
    y->numbers = x->numbers; /* of another order of the devices */
    assert_false(ledger_overlaps(&agent, x, y));
    y->record = RECORD_OUTLINE;
    assert_true(ledger_overlaps(&agent, x, y));
    y->record = RECORD_WHOLE;
    x->record = RECORD_UNSURE;
    assert_true(ledger_overlaps(&agent, x, y));
    x->record = RECORD_WHOLE;
    y->functions = 0;
    assert_true(ledger_overlaps(&agent, x, y));
    y->functions = x->functions;
    x->functions = 0;
    assert_true(ledger_overlaps(&agent, x, y));
}

static void test_contests(void **state)
{
    struct claim_record r;
    (void)state;
    struct ledger_entry *x = hold_efa(0, "x", A, 1);
    record_of(&r, A, 1, 40);
    assert_true(ledger_contests(&agent, 0, &r, 0));
    r.result[0].admin_access = true;
    assert_false(ledger_contests(&agent, 0, &r, 0));
    record_of(&r, B, 2, 20);
    assert_false(ledger_contests(&agent, 0, &r, 0)); /* the number says nothing */
    x->record = RECORD_OUTLINE;                      /* but now it is all that is known */
    assert_true(ledger_contests(&agent, 0, &r, 0));
    record_of(&r, B, 2, 21); /* another number that no map gives: any of these */
    assert_true(ledger_contests(&agent, 0, &r, 0));
    record_of(&r, B, 2, 3);
    assert_false(ledger_contests(&agent, 0, &r, 0));
    x->numbers = 8; /* of the map: this one alone */
    assert_true(ledger_contests(&agent, 0, &r, 0));
    record_of(&r, B, 2, 4);
    assert_false(ledger_contests(&agent, 0, &r, 0));
}

static void test_addresses(void **state)
{
    (void)state;
    struct ledger_entry *x = hold_efa(0, "x", A, 1);
    assert_true(ledger_holds_address(&agent, 0, A));
    assert_false(ledger_holds_address(&agent, 0, B));
    x->functions = LEDGER_ALL_FUNCTIONS;
    assert_true(ledger_holds_address(&agent, 0, B));
    x->functions = 0;
    assert_true(ledger_holds_address(&agent, 0, B));
    x->functions = 1;
    x->record = RECORD_OUTLINE;
    assert_true(ledger_holds_address(&agent, 0, B));
}

static void device(unsigned at, uint32_t address, uint16_t uverbs, uint16_t number)
{
    devices.device[at].efa.address = address;
    devices.device[at].efa.uverbs = uverbs;
    devices.device[at].number = number;
    devices.count = (uint16_t)(at + 1u);
}

static void test_nodes_of_others(void **state)
{
    (void)state;
    device(0, A, 1, 20);
    (void)hold_efa(0, "x", A, 1);
    assert_int_equal(ledger_uverbs_holder(&agent, B, 1, "y"), 0);
    assert_int_equal(ledger_uverbs_holder(&agent, B, 2, "y"), -1);
    assert_int_equal(ledger_uverbs_holder(&agent, B, 1, "x"), -1); /* its own */
    assert_int_equal(ledger_uverbs_holder(&agent, A, 1, "y"), -1); /* of the same device */
    device(0, A, 5, 20); /* which is about to get another node */
    assert_int_equal(ledger_uverbs_holder(&agent, B, 1, "y"), -1);
    devices.count = 0; /* or is gone, with its node in the record */
    assert_int_equal(ledger_uverbs_holder(&agent, B, 1, "y"), 0);
}

static void test_moved(void **state)
{
    (void)state;
    device(0, A, 1, 20);
    struct ledger_entry *x = hold_efa(0, "x", A, 1);
    assert_false(ledger_moved(&agent, 0));
    device(0, A, 2, 20);
    assert_true(ledger_moved(&agent, 0));
    release(0, LEDGER_FREEING);
    assert_false(ledger_moved(&agent, 0));
    x->functions = LEDGER_ALL_FUNCTIONS;
    assert_false(ledger_moved(&agent, 0));
    x->state = LEDGER_HELD;
    assert_true(ledger_moved(&agent, 0)); /* nobody knows: its record is to be read */
}

/* By the order of the devices as it is now; of what is gone, by the number it had. */
static void test_numbers(void **state)
{
    (void)state;
    device(0, B, 2, 20);
    device(1, A, 1, 21);
    struct ledger_entry *x = hold_efa(0, "x", A, 1);
    assert_int_equal(x->numbers, 1u << 20);
    assert_int_equal(ledger_numbers_of(&agent, x), 1u << 21);
    devices.count = 0;
    assert_int_equal(ledger_numbers_of(&agent, x), 1u << 20);
    x->functions = LEDGER_ALL_FUNCTIONS;
    assert_int_equal(ledger_numbers_of(&agent, x), 1u << 20);
}

/* What nobody holds any more has no numbers, whatever its entry still says. */
static void test_numbers_of_released_claims(void **state)
{
    static const enum ledger_state released[] = {LEDGER_FREE, LEDGER_FREEING, LEDGER_FREEING_FILE};
    (void)state;
    (void)hold(0, "u", 2);
    (void)hold(1, "v", 4);
    assert_int_equal(ledger_numbers(&agent), 6);
    for (size_t i = 0; i < sizeof released / sizeof released[0]; i++) {
        release(1, released[i]);
        assert_int_equal(ledger_numbers(&agent), 2);
    }
}

static void test_given_functions(void **state)
{
    (void)state;
    struct ledger_entry *x = hold_efa(0, "x", A, 1);
    struct ledger_entry *y = hold_efa(1, "y", B, 2);
    x->functions = 3;
    ledger_give_functions(&agent, 0, 1);
    assert_int_equal(x->functions, 1);
    assert_int_equal(y->functions, 2);
    y->functions = 0; /* of which nothing is known: it takes nothing */
    ledger_give_functions(&agent, 0, 1);
    assert_int_equal(x->functions, 1);
    x->functions = LEDGER_ALL_FUNCTIONS;
    y->functions = 1;
    ledger_give_functions(&agent, 0, 1);
    assert_true(x->functions == LEDGER_ALL_FUNCTIONS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_may_hold, setup),
        cmocka_unit_test_setup(test_files_that_are_left, setup),
        cmocka_unit_test_setup(test_slots, setup),
        cmocka_unit_test_setup(test_remedies, setup),
        cmocka_unit_test_setup(test_remedies_of_the_port, setup),
        cmocka_unit_test_setup(test_overlaps, setup),
        cmocka_unit_test_setup(test_shares_of_efa_devices, setup_efa),
        cmocka_unit_test_setup(test_consumers, setup),
        cmocka_unit_test_setup(test_numbers_of_released_claims, setup),
        cmocka_unit_test_setup(test_places_of_functions, setup_efa),
        cmocka_unit_test_setup(test_functions_meet, setup_efa),
        cmocka_unit_test_setup(test_overlaps_by_devices, setup_efa),
        cmocka_unit_test_setup(test_contests, setup_efa),
        cmocka_unit_test_setup(test_addresses, setup_efa),
        cmocka_unit_test_setup(test_nodes_of_others, setup_efa),
        cmocka_unit_test_setup(test_moved, setup_efa),
        cmocka_unit_test_setup(test_numbers, setup_efa),
        cmocka_unit_test_setup(test_given_functions, setup_efa),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
