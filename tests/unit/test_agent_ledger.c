/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger with disks, stores and other claims that do the unexpected: what was unprepared stays
 * so, what was confirmed is on the disk, and the failure of one claim is reported for it alone.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#define CLAIMS 8

static void begin(void)
{
    world_new();
    for (unsigned n = 0; n < CLAIMS; n++) {
        (void)claim_add(n);
    }
    node_up();
}

static struct disk_file *store(void)
{
    struct disk_file *f = disk_find(FILES_STATE, STORE_FILE_NAME);
    assert_non_null(f);
    return f;
}

static void error_has(struct view reply, unsigned n, const char *text)
{
    if (strstr(prepare_error(reply, n), text) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", text, prepare_error(reply, n));
    }
}

/* --- a store that is taken away --- */

/* It is made again, also of claims that memory has no record of, and a restart loads it. */
static void test_made_again(void **state)
{
    (void)state;
    begin();
    prepare_well(0, CLAIMS);
    disk_unlink(store());
    unprepare_well(0, 2);
    pass(2000);
    assert_int_equal(store()->len, STORE_FILE_BYTES);
    assert_int_equal(held(), CLAIMS - 2);
    log_has("it was removed while the agent ran");
    restart();
    assert_int_equal(held(), CLAIMS - 2);
    prepare_well(2, CLAIMS - 2);
    unprepare_well(2, CLAIMS - 2);
    assert_int_equal(disk_count(FILES_CDI), 0);
}

/* Whoever takes it away while claims are prepared fails none of them, new or repeated. */
static void test_removed_under_a_prepare(void **state)
{
    (void)state;
    bool met = true;
    unsigned removed = 0;
    for (unsigned at = 1; met; at++) {
        begin();
        prepare_well(0, 1);
        disk_fault(FAULT_ERROR, at, false, HOST_ABSENT);
        struct view reply = prepare_now(0, 3);
        met = disk.calls >= at;
        disk_fault(FAULT_NONE, 0, false, STATUS_OK);
        removed += said("it was removed while the agent ran");
        for (unsigned n = 0; n < 3; n++) {
            const char *why = prepare_error(reply, n);
            if (strstr(why, "store") != NULL) {
                fail_msg("claim %u, removed before call %u: %s", n, at, why);
            }
        }
    }
    assert_true(removed >= 4); /* before a reading, two writes and a flush */
}

/* Without its CDI file all that is known of a claim is what it holds: that is enough to free it. */
static void test_made_again_without_files(void **state)
{
    (void)state;
    begin();
    prepare_well(0, CLAIMS);
    for (unsigned n = 0; n < CLAIMS; n++) {
        disk_unlink(cdi_of(n));
    }
    disk_unlink(store());
    unprepare_well(7, 1);
    pass(2000);
    restart();
    assert_int_equal(held(), CLAIMS - 1);
    unsigned opaque = 0;
    for (unsigned i = 0; i < CLAIMS; i++) {
        const struct ledger_entry *e = &world.agent->ledger->entry[i];
        opaque += (e->state == LEDGER_HELD && e->record != RECORD_WHOLE) ? 1 : 0;
    }
    assert_int_equal(opaque, CLAIMS - LEDGER_RECORDS_MAX);
    api.claim[7].result[0].device = "neuron-device-1";
    error_has(prepare_soon(7, 1), 7, "is already held by claim ml/claim-1");
    unprepare_well(0, CLAIMS - 1);
    prepare_well(7, 1);
}

/* What stood in it is lost or cut off while the agent runs: a round of reconciliation sees that. */
static void test_overwritten(void **state)
{
    (void)state;
    for (unsigned how = 0; how < 3; how++) {
        begin();
        prepare_well(0, CLAIMS);
        if (how == 0) {
            file_fill(store(), 0, 0, STORE_FILE_BYTES);
        } else if (how == 1) {
            file_fill(store(), 0, 0xa5, STORE_HEADER_BYTES);
        } else {
            disk_set_len(store(), 5000);
        }
        log_forget();
        pass(2 * world.settings.reconcile_ms);
        assert_int_equal(said("event=store_damaged"), 1);
        log_has("it was overwritten while the agent ran");
        assert_non_null(disk_find(FILES_STATE, STORE_FILE_NAME ".damaged"));
        assert_int_equal(store()->len, STORE_FILE_BYTES);
        assert_int_equal(held(), CLAIMS);
        log_forget();
        restart();
        assert_int_equal(said("event=store_damaged") + said("event=store_half_damaged"), 0);
        assert_int_equal(held(), CLAIMS);
        prepare_well(0, CLAIMS);
    }
}

/* The disk cannot read it for a while: that is no reason to make it again. */
static void test_unreadable_for_a_while(void **state)
{
    (void)state;
    begin();
    prepare_well(0, CLAIMS);
    disk.refuse_read[FILES_STATE] = true;
    pass(2 * world.settings.reconcile_ms);
    disk.refuse_read[FILES_STATE] = false;
    assert_int_equal(said("event=store_damaged"), 0);
    pass(2 * world.settings.reconcile_ms);
    assert_null(disk_find(FILES_STATE, STORE_FILE_NAME ".damaged"));
    assert_true(world.agent->ledger->usable);
    prepare_well(0, CLAIMS);
}

/* It comes back while it is made again, or the disk refuses that for a time. */
static void test_made_again_late(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 3);
    disk_unlink(store());
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    error_has(prepare_now(0, 1), 0, "cannot be read");
    unprepare_well(0, 1);
    pass(60000);
    assert_false(world.agent->ledger->usable);
    kill_agent();
    disk_refuse(FILES_STATE, STATUS_OK);
    start();
    assert_int_equal(ledger_find(world.agent, api.claim[0].uid), -1);
}

/* Claims unprepared while nothing was known of the store are forgotten once it is read. */
static void test_unprepared_before_the_first_reading(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 3);
    kill_agent();
    disk.refuse_read[FILES_STATE] = true;
    start();
    unprepare_well(1, 1);
    unprepare_well(1, 1);
    disk_unlink(cdi_of(2));
    unprepare_well(2, 1);
    /* what cannot be kept in mind anywhere is refused, and nothing of it is touched */
    disk_refuse(FILES_CDI, HOST_DENIED);
    struct view reply = call_now(service_open(), UNPREPARE, claims_request(0, 1));
    assert_non_null(strstr(unprepare_error(reply, 0), "claim store "));
    assert_non_null(cdi_of(0));
    disk_refuse(FILES_CDI, STATUS_OK);
    kill_agent();
    disk.refuse_read[FILES_STATE] = false;
    start();
    pass(40000);
    assert_int_equal(held(), 1);
    assert_int_equal(disk_count(FILES_CDI), 1);
    restart();
    assert_int_equal(held(), 1);
    unprepare_well(0, 1);
}

/* --- another agent --- */

static void test_another_agent(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    kill_agent();
    log_forget();
    disk.locked_by_other[DRIVER_NEURON][LOCK_OWNER] = HOLDER_AGENT;
    disk_fault(FAULT_NONE, 0, true, STATUS_OK);
    disk_unlink(cdi_of(1));
    node_up();
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(1, 1));
    const struct peer_call *d = call_send(p, UNPREPARE, claims_request(0, 1));
    pass(STORE_WAIT_MS - 1);
    assert_false(c->ended || d->ended);
    pass(1);
    error_has(call_reply_of(c), 1, "another agent uses this store");
    error_has(call_reply_of(c), 1, "end the other agent of this node");
    assert_non_null(strstr(unprepare_error(call_reply_of(d), 0), "another agent uses this store"));
    pass(120000);
    /* nothing was touched, and it was said once */
    assert_int_equal(disk.calls, 0);
    assert_int_equal(said("event=store_awaited"), 1);
    assert_int_equal(said("claim_unprepared"), 0);
    disk.locked_by_other[DRIVER_NEURON][LOCK_OWNER] = HOLDER_NOBODY;
    pass(STORE_BUSY_MS);
    assert_int_equal(held(), 2);
    prepare_well(1, 1);
    unprepare_well(0, 2);
}

/* It took the store over from a running one: that one answers nothing from its memory. */
static void test_taken_over(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    struct disk_file *f = store();
    disk_rename(f, "taken away");
    disk.locked_by_other[DRIVER_NEURON][LOCK_OWNER] = HOLDER_AGENT;
    const struct peer_call *c = call_send(service_open(), PREPARE, claims_request(2, 1));
    pass(STORE_WAIT_MS);
    error_has(call_reply_of(c), 2, "another agent uses this store");
    assert_int_equal(held(), 0);
    disk_rename(f, STORE_FILE_NAME);
    disk_unlink(cdi_of(0));
    c = call_send(service_open(), PREPARE, claims_request(0, 1));
    pass(STORE_WAIT_MS);
    error_has(call_reply_of(c), 0, "another agent uses this store");
    assert_null(cdi_of(0));
    disk.locked_by_other[DRIVER_NEURON][LOCK_OWNER] = HOLDER_NOBODY;
    pass(STORE_BUSY_MS);
    assert_int_equal(held(), 2);
    prepare_well(0, 2);
}

/* --- disks that fail twice --- */

/* The write was done and said to have failed, and its undoing is refused: it is tried again. */
static void test_undo_refused(void **state)
{
    (void)state;
    begin();
    disk_fault(FAULT_ERROR_AFTER, 3, true, HOST_IO);
    disk.refuse_from = 4;
    error_has(prepare_now(0, 1), 0, "cannot be written");
    assert_int_equal(held(), 0);
    assert_int_equal(world.agent->ledger->freeing, 1);
    disk_fault(FAULT_NONE, 0, true, STATUS_OK);
    disk.refuse_from = 0;
    pass(60000);
    assert_int_equal(world.agent->ledger->freeing, 0);
    restart();
    assert_int_equal(held(), 0);
}

/* The same claim again takes another slot: after a restart it has one all the same. */
static void test_undo_refused_and_prepared_again(void **state)
{
    (void)state;
    begin();
    prepare_well(3, 1);
    disk_fault(FAULT_ERROR_AFTER, 3, true, HOST_IO);
    disk.refuse_from = 4;
    error_has(prepare_now(0, 1), 0, "cannot be written");
    disk.refuse_from = 0;
    disk_fault(FAULT_KILL_AFTER, 3, true, STATUS_OK);
    (void)call_send(service_open(), PREPARE, claims_request(0, 1));
    settle();
    assert_true(world.was_killed);
    start();
    pass(2000);
    assert_int_equal(held(), 2);
    prepare_well(0, 1);
    unprepare_well(0, 1);
    restart();
    assert_int_equal(held(), 1);
}

/*
 * The store fails every write that it has done, and the CDI file stays: the next process would find
 * the claim or not. It is held, so its prepare makes that certain, or fails.
 */
static void test_release_refused_and_done(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    disk_fault(FAULT_ERROR_WRITTEN, 1, true, HOST_IO);
    disk.lasting = true;
    struct peer *p = service_open();
    struct view reply = call_now(p, UNPREPARE, claims_request(0, 1));
    assert_non_null(strstr(unprepare_error(reply, 0), "cannot be removed"));
    peer_close(p);
    assert_int_equal(held(), 2);
    error_has(prepare_now(0, 1), 0, "cannot be written");
    disk_fault(FAULT_NONE, 0, true, STATUS_OK);
    disk.lasting = false;
    prepare_well(0, 1);
    restart();
    assert_int_equal(held(), 2);
    prepare_well(0, 2);
    unprepare_well(0, 2);
    restart();
    assert_int_equal(held(), 0);
}

/*
 * The disk fails the tombstone that it has made of a claim without a CDI file, and takes no write
 * of its store. The claim is held, so it has no tombstone as soon as its record is on the disk.
 */
static void test_tombstone_refused_and_done(void **state)
{
    (void)state;
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    begin();
    prepare_well(0, 2);
    disk_unlink(cdi_of(0));
    disk_fault(FAULT_ERROR_WRITTEN, 2, true, HOST_IO);
    disk.lasting = true;
    assert_int_equal(ledger_remove(world.agent, api.claim[0].uid, &why), HOST_IO);
    disk_fault(FAULT_NONE, 0, true, STATUS_OK);
    disk.lasting = false;
    assert_int_equal(held(), 2);
    assert_int_equal(ledger_tombstone(world.agent, api.claim[0].uid), STATUS_OK);
    assert_int_equal(ledger_sync(world.agent, &why), STATUS_OK);
    assert_int_equal(ledger_tombstone(world.agent, api.claim[0].uid), HOST_ABSENT);
    restart();
    assert_int_equal(held(), 2);
}

static void power_cut(void)
{
    kill_agent();
    disk_power_cut(NULL, NULL);
    start();
    pass(3000);
}

/* As a reboot does, for it is in memory. */
static void empty_cdi_root(void)
{
    for (unsigned i = 0; i < disk.top; i++) {
        if (disk.file[i].used && disk.file[i].dir == FILES_CDI) {
            disk_unlink(&disk.file[i]);
        }
    }
}

/* What the store did not take of an unprepare is made good at the stop, before a reboot. */
static void test_stop_flushes(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    unprepare_well(0, 1);
    disk_refuse(FILES_STATE, STATUS_OK);
    agent_stop(world.agent, world.now_ms);
    world.poked = true;
    settle();
    assert_true(world.exited);
    kill_agent();
    empty_cdi_root();
    power_cut();
    assert_int_equal(held(), 1);
    assert_int_equal(ledger_find(world.agent, api.claim[0].uid), -1);
}

/* A flush that failed took the pages with it: the next one, which succeeds, proves nothing. */
static void test_failed_flush_of_an_unprepare(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    disk_fault(FAULT_ERROR, 3, true, HOST_IO); /* record, CDI file, flush */
    disk.lasting = true;
    unprepare_well(0, 1);
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    assert_true(world.agent->ledger->dirty);
    pass(60000);
    assert_false(world.agent->ledger->dirty);
    power_cut();
    assert_int_equal(held(), 1);
    assert_int_equal(ledger_find(world.agent, api.claim[0].uid), -1);
}

/* One that fails once is made up for before the answer: not even a power cut brings it back. */
static void test_failed_flush_and_a_power_cut(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    disk_fault(FAULT_ERROR, 3, true, HOST_IO);
    unprepare_well(0, 1);
    assert_true(disk.calls > 3);
    empty_cdi_root();
    power_cut();
    assert_int_equal(held(), 1);
    assert_int_equal(ledger_find(world.agent, api.claim[0].uid), -1);
}

static void test_failed_flush_of_a_prepare(void **state)
{
    (void)state;
    begin();
    struct peer *p = service_open();
    api.claim[1].fault = API_HANGS;
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 2));
    settle();
    assert_int_equal(held(), 1);
    /* another call's flush fails, for that call alone */
    disk_fault(FAULT_ERROR, 4, true, HOST_IO);
    error_has(prepare_now(2, 1), 2, "cannot be flushed");
    api_release();
    pass(1000);
    assert_string_equal(prepare_error(call_reply_of(c), 0), "");
    assert_string_equal(prepare_error(call_reply_of(c), 1), "");
    power_cut();
    assert_int_equal(held(), 2);
    prepare_well(0, 2);
}

/* One flush a call, as before. */
static void test_one_flush(void **state)
{
    (void)state;
    begin();
    disk_fault(FAULT_NONE, 0, true, STATUS_OK);
    prepare_well(0, 8);
    assert_int_equal(disk.calls, 8 * 3 + 1);
}

/* --- a claim that got other devices --- */

static struct claim_record other_devices(unsigned n, unsigned number)
{
    int slot = ledger_find(world.agent, api.claim[n].uid);
    const struct claim_record *r = NULL;
    assert_true(slot >= 0);
    assert_int_equal(ledger_read(world.agent, (unsigned)slot, &r), STATUS_OK);
    struct claim_record changed = *r;
    changed.result[0].number = (uint16_t)number;
    return changed;
}

static enum status put_now(const struct claim_record *r)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    unsigned slot = 0;
    enum status s = ledger_put(world.agent, r, &slot, &why);
    return (s == STATUS_OK) ? ledger_sync(world.agent, &why) : s;
}

static unsigned number_of(unsigned n)
{
    return other_devices(n, 0).count == 1u
               ? (unsigned)__builtin_ctzll(
                     world.agent->ledger->entry[ledger_find(world.agent, api.claim[n].uid)].numbers)
               : DEVICES_MAX;
}

/* --- shares --- */

/* Claim n has device 4, or core n of it, in the table. */
static struct claim_record with_device_4(unsigned n, bool share)
{
    struct claim_record r = other_devices(n, 4);
    text_set(r.result[0].share_id, sizeof r.result[0].share_id, share ? api.claim[n].uid : "");
    r.result[0].cores = (uint8_t)(share ? 1u << n : 0u);
    r.zero_numbering = share;
    return r;
}

/* Who is in whose way: holder, new claim and the driver's sharing, each with and without shares. */
static void test_rivals(void **state)
{
    (void)state;
    for (unsigned mask = 0; mask < 8; mask++) {
        begin();
        prepare_well(0, 2);
        struct claim_record held_record = with_device_4(0, (mask & 1u) != 0);
        struct claim_record next = with_device_4(1, (mask & 2u) != 0);
        assert_int_equal(put_now(&held_record), STATUS_OK);
        int slot = ledger_find(world.agent, api.claim[0].uid);
        bool in_the_way = mask != 7;
        assert_int_equal(ledger_rival(world.agent, 0, &next, (mask & 4u) != 0),
                         in_the_way ? slot : -1);
        assert_int_equal(ledger_rival(world.agent, (unsigned)slot + 1, &next, false), -1);
        assert_int_equal(ledger_holder(world.agent, claim_numbers(&next), next.id.uid), slot);
        /* another device is in nobody's way, nor is the claim in its own */
        next.result[0].number = 5;
        assert_int_equal(ledger_rival(world.agent, 0, &next, false), -1);
        assert_int_equal(ledger_rival(world.agent, 0, &held_record, false), -1);
    }
}

/* A share without cores is one of a whole device. */
static void test_share_of_all_cores(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    struct claim_record whole = with_device_4(0, true);
    const struct claim_record part = with_device_4(1, true);
    whole.result[0].cores = 0;
    assert_int_equal(put_now(&whole), STATUS_OK);
    int slot = ledger_find(world.agent, api.claim[0].uid);
    assert_int_equal(ledger_rival(world.agent, 0, &part, true), slot);
    assert_int_equal(ledger_cores(world.agent, 1u << 4, part.id.uid), 0);
    assert_int_equal(put_now(&part), STATUS_OK);
    assert_int_equal(ledger_rival(world.agent, 0, &whole, true),
                     ledger_find(world.agent, api.claim[1].uid));
    restart();
    assert_int_equal(said("event=store_conflict"), 1);
}

/* Two records with one core of a device: that is reported, and both stay, as with whole devices. */
static void test_one_core_twice(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    for (unsigned n = 0; n < 2; n++) {
        struct claim_record r = with_device_4(n, true);
        r.result[0].cores = (uint8_t)(3u << n);
        assert_int_equal(put_now(&r), STATUS_OK);
    }
    assert_int_equal(ledger_cores(world.agent, 1u << 4, api.claim[0].uid), 6);
    assert_int_equal(ledger_cores(world.agent, 1u << 4, api.claim[1].uid), 3);
    assert_int_equal(ledger_cores(world.agent, 1u << 5, api.claim[1].uid), 0);
    restart();
    assert_int_equal(said("event=store_conflict"), 1);
    assert_int_equal(held(), 2);
}

/* Eight claims hold shares of one device: each has its own pod, and all are there after a restart,
 * whatever becomes of one of them, and without a conflict being reported. */
static void test_shares_of_one_device(void **state)
{
    (void)state;
    begin();
    prepare_well(0, CLAIMS);
    for (unsigned n = 0; n < CLAIMS; n++) {
        struct claim_record r = with_device_4(n, true);
        (void)snprintf(r.consumer.name, sizeof r.consumer.name, "pod-%u", n);
        assert_int_equal(put_now(&r), STATUS_OK);
    }
    restart();
    assert_int_equal(held(), CLAIMS);
    assert_int_equal(said("event=store_conflict"), 0);
    assert_int_equal(ledger_numbers(world.agent), 1u << 4);
    unprepare_well(2, 1);
    restart();
    assert_int_equal(held(), CLAIMS - 1);
    for (unsigned n = 0; n < CLAIMS; n++) {
        char pod[16];
        int slot = ledger_find(world.agent, api.claim[n].uid);
        assert_int_equal(slot < 0, n == 2);
        (void)snprintf(pod, sizeof pod, "pod-%u", n);
        if (n != 2) {
            assert_string_equal(ledger_consumer(world.agent, (unsigned)slot)->name, pod);
            assert_true(world.agent->ledger->entry[slot].shares);
            assert_int_equal(world.agent->ledger->entry[slot].cores, 1u << n);
            assert_true(ledger_has_cdi_file(world.agent, api.claim[n].uid));
        }
    }
    /* the store is lost: their CDI files bring them back */
    disk_unlink(store());
    restart();
    assert_int_equal(held(), CLAIMS - 1);
    assert_int_equal(said("device_also_held_by"), 0);
}

/* The record and the CDI file of a held claim are replaced, or stay as they were. */
static void test_replaced(void **state)
{
    (void)state;
    static uint8_t before[CDI_BYTES_MAX];
    static uint8_t after[CDI_BYTES_MAX];
    begin();
    prepare_well(0, 2);
    struct writer was = writer_of(before, sizeof before);
    disk_get(cdi_of(0), 0, &was);
    const struct claim_record changed = other_devices(0, 12);
    for (unsigned at = 1; at <= 3; at++) {
        for (enum fault fault = FAULT_ERROR; fault <= FAULT_ERROR_WRITTEN; fault++) {
            disk_fault(fault, at, true, HOST_NO_SPACE);
            assert_int_equal(put_now(&changed), HOST_NO_SPACE);
            disk_fault(FAULT_NONE, 0, true, STATUS_OK);
            assert_int_equal(number_of(0), 0);
            restart();
            assert_int_equal(number_of(0), 0);
            prepare_well(0, 2);
            struct writer now = writer_of(after, sizeof after);
            disk_get(cdi_of(0), 0, &now);
            assert_int_equal(now.len, was.len);
            assert_memory_equal(after, before, was.len);
        }
    }
    assert_int_equal(put_now(&changed), STATUS_OK);
    assert_int_equal(held(), 2);
    assert_int_equal(number_of(0), 12);
    restart();
    assert_int_equal(held(), 2);
    assert_int_equal(number_of(0), 12);
    unprepare_well(0, 2);
}

/* A record without its CDI file; what it holds is as good as prepared. */
static void test_adopted(void **state)
{
    (void)state;
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    begin();
    prepare_well(0, 2);
    const struct claim_record known = other_devices(1, 1);
    unprepare_well(1, 1);
    unsigned slot = CLAIMS_MAX;
    assert_int_equal(ledger_adopt(world.agent, &known, &slot, &why), STATUS_OK);
    assert_true(ledger_holds(world.agent, slot, known.id.uid));
    assert_null(cdi_of(1));
    assert_int_equal(ledger_sync(world.agent, &why), STATUS_OK);
    restart();
    assert_int_equal(held(), 2);
    prepare_well(1, 1);
    assert_non_null(cdi_of(1));
}

/* --- reading --- */

/* What a prepare costs on the disk: CDI file, its name, record; one flush. */
static void test_reply_reads_nothing(void **state)
{
    (void)state;
    begin();
    for (unsigned n = 1; n <= LEDGER_RECORDS_MAX; n++) {
        disk_fault(FAULT_NONE, 0, false, STATUS_OK);
        prepare_well(0, n);
        assert_int_equal(disk.calls, n * 3 + 1);
        /* Repeated: the record, which must be on the disk, and the CDI file are read. */
        disk_fault(FAULT_NONE, 0, false, STATUS_OK);
        prepare_well(0, n);
        assert_int_equal(disk.calls, n * 2);
        unprepare_well(0, n);
    }
    /* More claims than records have room in memory: each is read once, and the last ones too. */
    unsigned n = 2 * LEDGER_RECORDS_MAX;
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    prepare_well(0, n);
    assert_int_equal(disk.calls, n * 3 + 1 + n);
}

/* A record that has to be read for the reply and cannot be ends the call; the next one succeeds. */
static void test_unreadable_in_the_reply(void **state)
{
    (void)state;
    begin();
    unsigned n = LEDGER_RECORDS_MAX + 1;
    disk_fault(FAULT_ERROR, n * 3 + 1 + 1, false, HOST_IO); /* the claims, the flush, a reading */
    disk.lasting = true;
    call_refused(service_open(), PREPARE, claims_request(0, n), GRPC_INTERNAL);
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    prepare_well(0, n);
}

/* A reading that fails for the moment damages nothing. */
static void test_passing_failure_at_start(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    for (unsigned at = 1; at < 16; at++) {
        kill_agent();
        disk_fault(FAULT_ERROR, at, false, HOST_IO);
        start();
        pass(40000);
        assert_true(world.agent->ledger->usable);
        assert_int_equal(held(), 2);
        assert_int_equal(world.agent->ledger->entry[0].state, LEDGER_HELD);
    }
    unprepare_well(0, 2);
}

/* The CDI files show what a store that is gone held: no device is handed out twice. */
static void test_store_gone_before_start(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 3);
    kill_agent();
    disk_unlink(store());
    log_forget();
    start();
    log_has("event=store_created");
    assert_int_equal(said("event=claim_adopted"), 3);
    assert_int_equal(held(), 3);
    assert_true(world.agent->ledger->usable);
    restart();
    assert_int_equal(said("event=claim_adopted"), 3);
    assert_int_equal(held(), 3);
    unprepare_well(0, 3);
    restart();
    assert_int_equal(held(), 0);
}

/*
 * With both witnesses gone the kubelet's next prepare of the claim brings both back. Until then
 * only the scheduler keeps its device from others.
 */
static void test_store_and_files_gone_before_start(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    kill_agent();
    disk_unlink(store());
    empty_cdi_root();
    start();
    assert_int_equal(held(), 0);
    assert_string_equal(prepare_error(prepare_soon(0, 2), 0), "");
    assert_int_equal(held(), 2);
    assert_int_equal(disk_count(FILES_CDI), 2);
    api.claim[2].result[0].device = "neuron-device-0";
    error_has(prepare_soon(2, 1), 2, "is already held by claim ml/claim-0");
    restart();
    assert_int_equal(held(), 2);
    unprepare_well(0, 2);
}

/* --- what claims are told --- */

static void test_remedy_of_a_conflict(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    api.claim[1].result[0].device = "neuron-device-0";
    struct view reply = prepare_now(1, 1);
    assert_string_equal(prepare_error(reply, 1),
                        "claim ml/claim-1: requested device neuron-device-0 is already held by "
                        "claim ml/claim-0 (c1a10000-0000-4000-8000-000000000000); once no pod uses "
                        "that one: kubectl -n ml delete resourceclaim claim-0; the agent then "
                        "releases it by itself");
}

static void test_device_is_gone(void **state)
{
    (void)state;
    begin();
    prepare_well(6, 2);
    kill_agent();
    found_set("trn2.48xlarge", 7, 8);
    api.reachable = false; /* else its refusal of the allocation would be the error */
    start();
    struct view reply = prepare_soon(6, 2);
    assert_string_equal(prepare_error(reply, 6), "");
    error_has(reply, 7,
              "prepared device neuron-device-7 is gone: the kernel module no longer shows it");
    unprepare_well(6, 2);
}

/* The first look of a new process fails: what it holds is answered, what is new is not. */
static void test_devices_unknown(void **state)
{
    (void)state;
    begin();
    prepare_well(6, 1);
    kill_agent();
    found_set("trn2.48xlarge", 0, 8);
    world.found.unknown = true;
    api_forget();
    log_forget();
    start();
    struct view reply = prepare_soon(6, 2);
    pass(60000);
    assert_int_equal(api_writes(), 0);
    assert_string_equal(prepare_error(reply, 6), "");
    assert_string_equal(prepare_error(reply, 7),
                        "device neuron-device-7 not found on node node-a: its devices are not "
                        "known, the sysfs root cannot be read");
    assert_null(strstr(world.log, "devices_found"));
    found_trn2();
    agent_found(world.agent, &world.found);
    prepare_well(6, 2);
}

/* The line shows what the user wrote, once for each request and kind. */
static void test_configuration_as_written(void **state)
{
    (void)state;
    begin();
    struct api_claim *c = &api.claim[0];
    c->results = 3;
    c->result[1].request = "other";
    c->result[1].device = "neuron-device-9";
    c->result[2].request = "req";
    c->result[2].device = "neuron-device-10";
    c->parameters = "{\"apiVersion\":\"resource.neuron.aws.com/v1alphav1\","
                    "\"kind\":\"NeuronConfig\",\"logicalNeuronCore\":1}";
    prepare_well(0, 1);
    log_has("apiVersion=resource.neuron.aws.com/v1alphav1 kind=NeuronConfig logicalNeuronCore=1");
    assert_int_equal(said("logicalNeuronCore=1"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made_again),
        cmocka_unit_test(test_overwritten),
        cmocka_unit_test(test_unreadable_for_a_while),
        cmocka_unit_test(test_removed_under_a_prepare),
        cmocka_unit_test(test_made_again_without_files),
        cmocka_unit_test(test_made_again_late),
        cmocka_unit_test(test_unprepared_before_the_first_reading),
        cmocka_unit_test(test_another_agent),
        cmocka_unit_test(test_taken_over),
        cmocka_unit_test(test_undo_refused),
        cmocka_unit_test(test_undo_refused_and_prepared_again),
        cmocka_unit_test(test_release_refused_and_done),
        cmocka_unit_test(test_tombstone_refused_and_done),
        cmocka_unit_test(test_stop_flushes),
        cmocka_unit_test(test_failed_flush_of_an_unprepare),
        cmocka_unit_test(test_failed_flush_and_a_power_cut),
        cmocka_unit_test(test_failed_flush_of_a_prepare),
        cmocka_unit_test(test_one_flush),
        cmocka_unit_test(test_rivals),
        cmocka_unit_test(test_share_of_all_cores),
        cmocka_unit_test(test_one_core_twice),
        cmocka_unit_test(test_shares_of_one_device),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_adopted),
        cmocka_unit_test(test_reply_reads_nothing),
        cmocka_unit_test(test_unreadable_in_the_reply),
        cmocka_unit_test(test_passing_failure_at_start),
        cmocka_unit_test(test_store_gone_before_start),
        cmocka_unit_test(test_store_and_files_gone_before_start),
        cmocka_unit_test(test_remedy_of_a_conflict),
        cmocka_unit_test(test_device_is_gone),
        cmocka_unit_test(test_devices_unknown),
        cmocka_unit_test(test_configuration_as_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
