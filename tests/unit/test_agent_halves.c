/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A claim store that is damaged in two ways at once, fails in the middle of an opening or of a
 * flush, or vanishes between the two. Each claim keeps its devices, the disk's fault is logged, and
 * the store is whole again once the disk is.
 */
#include "tests/unit/agent_reconcile.h"

#include "dra/store.h"

#define LISTS "GET /apis/resource.k8s.io/v1/resourceclaims?limit="
#define HEADER_COPY (STORE_HEADER_BYTES / 2u)

static struct ledger_entry *entry(unsigned n)
{
    return &world.agent->ledger->entry[slot_of(n)];
}

static uint64_t half_at(unsigned n, bool newer)
{
    unsigned half = entry(n)->half;
    return store_offset(slot_of(n), newer ? half : 1u - half);
}

static void rot_at(uint64_t at)
{
    uint8_t byte = 0;
    struct writer w = writer_of(&byte, 1);
    disk_get(store(), at + 20u, &w);
    byte ^= 0x10u;
    disk_set(store(), at + 20u, view_of(&byte, 1));
}

static void put_half(unsigned slot, unsigned half, uint64_t sequence, struct view record)
{
    uint8_t bytes[STORE_HALF_BYTES];
    struct writer out = writer_of(bytes, sizeof bytes);
    store_half_write(&out, slot, sequence, record);
    disk_set(store(), store_offset(slot, half), writer_view(&out));
}

/* The half that counts of claim n becomes an outline with these devices, or of a release. */
static void put_outline(unsigned n, uint64_t numbers)
{
    uint8_t bytes[STORE_RECORD_MAX];
    struct writer out = writer_of(bytes, sizeof bytes);
    const struct store_outline o = {
        .id = *ledger_id(world.agent, slot_of(n)), .numbers = numbers, .released = numbers == 0u};
    assert_int_equal(store_outline_encode(&o, &out), STATUS_OK);
    put_half(slot_of(n), entry(n)->half, entry(n)->sequence, writer_view(&out));
}

static void forget_records(void)
{
    for (unsigned i = 0; i < LEDGER_RECORDS_MAX; i++) {
        world.agent->ledger->kept[i].sequence = 0;
    }
}

static void round_now(void)
{
    world.agent->recovery->reconcile.files_ms = world.now_ms;
    world.poked = true;
    settle();
}

static uint64_t bits(unsigned one, unsigned two)
{
    return UINT64_C(1) << one | UINT64_C(1) << two;
}

/* The claims are held, none of their devices is free, and a restart finds the same. */
static void check_held(unsigned used)
{
    for (unsigned i = 0; i < 2u; i++) {
        assert_true(ledger_is_usable(world.agent));
        assert_false(world.agent->ledger->unlisted);
        assert_int_equal(held(), used);
        prepare_well(0, used);
        assert_non_null(
            strstr(error_of_rival("neuron-device-0"), "already held by claim ml/claim-0"));
        api.claim[7].unallocated = true;
        if (i == 0u) {
            restart();
            register_driver();
            pass(3000);
        }
    }
}

/* --- records that are no records --- */

/* A half whose checksum is right and whose content is nothing: the CDI file has the claim. */
static void test_half_of_nonsense(void **state)
{
    (void)state;
    begin_with(3);
    put_half(slot_of(1), entry(1)->half, entry(1)->sequence, view_text("no record at all"));
    kill_agent();
    up_again();
    log_has("event=store_damaged");
    log_has("slots_lost=1");
    pass(60000);
    assert_int_equal(said("event=claim_adopted"), 1);
    check_held(3);
}

/* A record with a later number than the agent gave is another writer's, not the claim's. */
static void test_half_with_a_later_number(void **state)
{
    uint8_t bytes[STORE_HALF_BYTES];
    struct writer read = writer_of(bytes, sizeof bytes);
    const struct claim_record *record = NULL;
    struct store_half half;
    (void)state;
    begin_with(2);
    disk_get(store(), half_at(1, true), &read);
    store_half_read(writer_view(&read), slot_of(1), &half);
    assert_int_equal(half.sequence, entry(1)->sequence);
    put_half(slot_of(1), entry(1)->half, half.sequence + 1u, half.record);
    assert_int_equal(ledger_read(world.agent, slot_of(1), &record), HOST_DAMAGED);
    put_half(slot_of(1), entry(1)->half, half.sequence, half.record);
    assert_int_equal(ledger_read(world.agent, slot_of(1), &record), STATUS_OK);
}

/* The disk returns other bytes than were written: no repair helps, and the agent logs it. */
static struct files port;
static uint64_t garbled; /* offset of the slot */

static enum status garbling_read(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                                 struct writer *out)
{
    size_t before = out->len;
    enum status s = disk_files.read(ctx, dir, name, offset, out);
    if (s == STATUS_OK && dir == FILES_STATE && offset >= garbled &&
        offset < garbled + STORE_SLOT_BYTES) {
        memset(out->data + before, 0x77, out->len - before);
    }
    return s;
}

static bool at_once(void)
{
    return true;
}

/* A start with the port of a test. */
static void start_with_port(void)
{
    world.halt = at_once;
    start();
    world.halt = NULL;
    world.agent->files = &port;
    settle();
}

static void test_disk_that_garbles(void **state)
{
    (void)state;
    begin_with(2);
    kill_agent();
    port = disk_files;
    port.read = garbling_read;
    garbled = store_offset(9, 0);
    start_with_port();
    register_driver();
    pass(60000);
    assert_false(ledger_is_usable(world.agent));
    log_has("the disk: it returns other bytes than were written");
    world.agent->files = &disk_files;
    pass(120000);
    assert_int_equal(held(), 2);
    check_held(2);
}

/* --- header --- */

/* One copy is enough, whichever it is; the other one is written again. */
static void test_one_copy_of_the_header(void **state)
{
    (void)state;
    for (unsigned copy = 0; copy < 2u; copy++) {
        char text[32];
        begin_with(2);
        kill_agent();
        rot_at(copy * (uint64_t)HEADER_COPY);
        up_again();
        (void)snprintf(text, sizeof text, "header_copy=%u", copy);
        log_has(text);
        assert_int_equal(said("event=store_damaged"), 0);
        log_forget();
        check_held(2);
        assert_int_equal(said("header_copy="), 0);
    }
}

/* One copy is damaged, the other one unreadable: the store is repaired. */
static void test_no_copy_of_the_header(void **state)
{
    (void)state;
    for (unsigned copy = 0; copy < 2u; copy++) {
        begin_with(2);
        kill_agent();
        rot_at(copy * (uint64_t)HEADER_COPY);
        disk_break(store(), (1u - copy) * (uint64_t)HEADER_COPY, HEADER_COPY, true, false);
        up_again();
        log_has("event=store_damaged");
        pass(60000);
        check_held(2);
    }
}

/* The last half is unreadable, so the file is not too short: the store is no damaged one. */
static void test_end_unreadable(void **state)
{
    (void)state;
    begin_with(2);
    kill_agent();
    disk_break(store(), STORE_FILE_BYTES - STORE_HALF_BYTES, STORE_HALF_BYTES, true, false);
    up_again();
    assert_int_equal(said("event=store_damaged"), 0);
    pass(60000);
    check_held(2);
}

/* --- halves that are damaged beside other damage --- */

/* An outline beside a damaged half: the claim holds what both witnesses and the list name. */
static void test_outline_beside_a_damaged_half(void **state)
{
    (void)state;
    begin_with(2);
    put_outline(0, bits(0, 9));
    rot_at(half_at(0, false));
    kill_agent();
    api.reachable = false;
    up_again();
    assert_int_equal(entry(0)->record, RECORD_UNSURE);
    for (unsigned i = 0; i < 2u; i++) { /* by both witnesses, then by an outline in both halves */
        assert_int_not_equal(entry(0)->record, RECORD_WHOLE);
        assert_int_equal(entry(0)->numbers, bits(0, 9));
        kill_agent();
        up_again();
    }
    api.reachable = true;
    pass(60000);
    assert_int_equal(entry(0)->numbers & bits(0, 9), bits(0, 9));
    prepare_well(0, 1);
    assert_int_equal(entry(0)->numbers, bits(0, 0));
    check_held(2);
}

/* A claim of which only an outline is known stays held, though it is allocated nothing now. */
static void test_outline_deallocated(void **state)
{
    (void)state;
    begin_with(2);
    put_outline(0, bits(0, 9));
    api.claim[0].unallocated = true;
    kill_agent();
    up_again();
    assert_int_equal(entry(0)->record, RECORD_OUTLINE);
    pass(4u * world.settings.reconcile_ms);
    assert_int_equal(held(), 2);
    assert_non_null(strstr(error_of_rival("neuron-device-9"), "already held by claim ml/claim-0"));
    unprepare_well(0, 1);
    assert_int_equal(held(), 1);
}

/* A slot was released while its CDI file existed, and its other half rots: the file counts. */
static void test_release_beside_a_damaged_half(void **state)
{
    (void)state;
    begin_with(2);
    put_outline(1, 0);
    rot_at(half_at(1, false));
    kill_agent();
    up_again();
    pass(60000);
    assert_int_equal(api_asked(LISTS), 1);
    assert_int_equal(world.agent->ledger->freeing, 0);
    check_held(2);
}

/* A claim is held in one slot, and its release stands in another: the CDI file stays. */
static void test_release_in_another_slot(void **state)
{
    uint8_t bytes[STORE_RECORD_MAX];
    struct writer out = writer_of(bytes, sizeof bytes);
    (void)state;
    begin_with(2);
    const struct store_outline o = {.id = *ledger_id(world.agent, slot_of(1)), .released = true};
    assert_int_equal(store_outline_encode(&o, &out), STATUS_OK);
    put_half(9, 0, 2, writer_view(&out));
    kill_agent();
    up_again();
    pass(10000);
    assert_int_equal(world.agent->ledger->freeing, 0);
    assert_non_null(cdi_of(1));
    check_held(2);
}

/*
 * The store has an older record of claim 0, on device 0, and its CDI file the newer one, on device
 * 5; claim 3 got device 0 meanwhile. Claim 0 gives up device 0 and keeps the other one.
 */
static void test_gives_up_one_of_two(void **state)
{
    (void)state;
    begin_with(2);
    api.claim[0].result[0].device = "neuron-device-5";
    prepare_well(0, 1);
    api.claim[3].unallocated = false;
    api.claim[3].result[0].device = "neuron-device-0";
    prepare_well(3, 1);
    rot_at(half_at(0, true));
    kill_agent();
    api.reachable = false;
    up_again();
    log_has("event=store_conflict");
    assert_int_equal(held(), 3);
    assert_int_equal(entry(0)->numbers, bits(5, 5));
    assert_int_equal(entry(3)->numbers, bits(0, 0));
    api.reachable = true;
    pass(60000);
    prepare_well(0, 2);
    prepare_well(3, 1);
}

/*
 * Record and CDI file of claim 0, which was unprepared, name a device each that another claim has
 * now. Nothing is left of it but the file, which a container may use: it stays held.
 */
static void test_gives_up_all_but_its_file(void **state)
{
    static uint8_t kept[DISK_PAGE];
    (void)state;
    begin_with(2);
    struct view content = file_content(cdi_of(0));
    memcpy(kept, content.data, content.len);
    unsigned slot = slot_of(0);
    api.claim[0].result[0].device = "neuron-device-5";
    prepare_well(0, 1);
    unprepare_well(0, 1);
    unsigned half = world.agent->ledger->entry[slot].half;
    world.agent->ledger->entry[slot].refused = true; /* so that the others get other slots */
    for (unsigned n = 3; n < 5u; n++) {
        api.claim[n].unallocated = false;
        api.claim[n].result[0].device = (n == 3u) ? "neuron-device-0" : "neuron-device-5";
        prepare_well(n, 1);
        assert_int_not_equal(slot_of(n), slot);
    }
    rot_at(store_offset(slot, half));
    kill_agent();
    disk_set(disk_make(FILES_CDI, CDI_FILE_PREFIX "c1a10000-0000-4000-8000-000000000000.json"), 0,
             view_of(kept, content.len));
    api.reachable = false;
    up_again();
    log_has("event=store_conflict");
    assert_int_equal(entry(0)->numbers, 0);
    assert_int_equal(entry(3)->numbers, bits(0, 0));
    assert_int_equal(entry(4)->numbers, bits(5, 5));
    assert_non_null(cdi_of(0));
    unprepare_well(0, 1);
    assert_int_equal(held(), 3);
}

/* The list comes while the disk refuses the outline of an unsure claim: it goes on asking. */
static void test_list_while_the_disk_refuses(void **state)
{
    (void)state;
    begin_with(2);
    put_outline(0, bits(0, 9));
    rot_at(0);
    rot_at(HEADER_COPY);
    kill_agent();
    api.reachable = false;
    up_again();
    assert_int_equal(entry(0)->record, RECORD_OUTLINE);
    api.claim[0].result[0].device = "neuron-device-12";
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    api.reachable = true;
    pass(20000);
    log_has("event=store_failed doing=written");
    assert_true(world.agent->ledger->unlisted);
    assert_non_null(strstr(error_of_rival("neuron-device-5"), "cannot be written"));
    api.claim[7].unallocated = true;
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(120000);
    assert_false(world.agent->ledger->unlisted);
    assert_int_equal(entry(0)->numbers, bits(0, 9) | bits(12, 12));
    prepare_well(0, 1);
    assert_int_equal(entry(0)->numbers, bits(12, 12));
}

/* The list names one of the devices of an unsure claim while the disk takes nothing. */
static void test_unsure_record_on_a_full_disk(void **state)
{
    (void)state;
    begin_with(2);
    api.claim[0].result[0].device = "neuron-device-5";
    prepare_well(0, 1);
    rot_at(half_at(0, true));
    kill_agent();
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    up_again();
    pass(20000);
    assert_int_equal(entry(0)->record, RECORD_UNSURE);
    assert_int_equal(entry(0)->numbers, bits(0, 5));
    assert_true(world.agent->ledger->unlisted);
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(120000);
    assert_false(world.agent->ledger->unlisted);
    assert_int_equal(entry(0)->numbers, bits(0, 5));
    prepare_well(0, 1);
    assert_int_equal(entry(0)->numbers, bits(5, 5));
}

static unsigned reads_left; /* of the half at `garbled`, before the disk fails to read it */

static enum status failing_read(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                                struct writer *out)
{
    if (dir == FILES_STATE && offset == garbled) {
        if (reads_left == 0u) {
            return HOST_IO;
        }
        reads_left--;
    }
    return disk_files.read(ctx, dir, name, offset, out);
}

/*
 * A record that was read is unreadable by the time that it is compared with its CDI file: nothing
 * proves that it is the newer one, so the list is asked.
 */
static void test_record_unreadable_after_the_load(void **state)
{
    (void)state;
    begin_with(6);
    unsigned half = entry(0)->half;
    rot_at(half_at(0, false));
    garbled = half_at(0, true);
    reads_left = (half == 1u) ? 2 : 1;
    kill_agent();
    api.reachable = false;
    port = disk_files;
    port.read = failing_read;
    start_with_port();
    assert_int_equal(reads_left, 0);
    assert_int_equal(entry(0)->record, RECORD_UNSURE);
    assert_int_equal(entry(0)->numbers, bits(0, 0));
    assert_true(world.agent->ledger->unlisted);
    world.agent->files = &disk_files;
    api.reachable = true;
    register_driver();
    pass(60000);
    check_held(6);
}

/* The record of an unsure claim rots as well before the list comes: nothing is taken from it. */
static void test_unsure_record_rots(void **state)
{
    (void)state;
    begin_with(2);
    api.claim[0].result[0].device = "neuron-device-5";
    prepare_well(0, 1);
    rot_at(half_at(0, true));
    kill_agent();
    lose_files();
    api.reachable = false;
    up_again();
    assert_int_equal(entry(0)->record, RECORD_UNSURE);
    rot_at(half_at(0, true));
    api.claim[0].result[0].device = "neuron-device-0";
    api.reachable = true;
    pass(60000);
    assert_int_equal(held(), 2);
    assert_int_equal(entry(0)->numbers, bits(0, 0));
    assert_false(world.agent->ledger->unlisted);
    prepare_well(0, 1);
    check_held(2);
}

/* --- stores that are made again from memory --- */

/* The CDI file that stands for a record is damaged, or names another device: an outline is left. */
static void test_made_again_beside_a_bad_file(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 2u; kind++) {
        static uint8_t bytes[DISK_PAGE];
        begin_with(2);
        struct view content = file_content(cdi_of(1));
        memcpy(bytes, content.data, content.len);
        if (kind == 0u) {
            disk_set_len(cdi_of(1), 1);
        } else {
            api.claim[1].result[0].device = "neuron-device-5";
            prepare_well(1, 1);
            disk_set_len(cdi_of(1), 0);
            disk_set(cdi_of(1), 0, view_of(bytes, content.len));
        }
        forget_records();
        disk_unlink(store());
        round_now();
        log_has("it was removed while the agent ran: it is made again");
        assert_int_equal(entry(1)->record, RECORD_OUTLINE);
        assert_int_equal(entry(1)->numbers, (kind == 0u) ? bits(1, 1) : bits(5, 5));
        prepare_well(1, 1);
        assert_int_equal(entry(1)->record, RECORD_WHOLE);
        check_held(2);
    }
}

/* A half that took no write counts as damaged, and is whole in the store that is made again. */
static void test_made_again_with_a_damaged_half(void **state)
{
    (void)state;
    begin_with(2);
    unsigned half = 1u - world.agent->ledger->entry[2].half;
    disk_break(store(), store_offset(2, half), STORE_HALF_BYTES, false, true);
    api.claim[2].unallocated = false;
    prepare_well(2, 1);
    assert_int_equal(slot_of(2), 2);
    assert_true(entry(2)->damaged);
    disk_unlink(store());
    round_now();
    assert_false(entry(2)->damaged);
    log_forget();
    check_held(3);
    assert_int_equal(said("event=store_half_damaged"), 0);
}

/* A claim whose release was refused is held in the store that is made again, without tombstone. */
static void test_made_again_with_a_tombstone(void **state)
{
    (void)state;
    begin_with(2);
    disk_fault(FAULT_ERROR_WRITTEN, 1, true, HOST_IO);
    disk.lasting = true;
    struct peer *p = service_open();
    struct view reply = call_now(p, UNPREPARE, claims_request(0, 1));
    assert_non_null(strstr(unprepare_error(reply, 0), "cannot be removed"));
    peer_close(p);
    assert_true(entry(0)->tombstone);
    disk_fault(FAULT_NONE, 0, true, STATUS_OK);
    disk.lasting = false;
    disk_unlink(store());
    round_now();
    assert_true(ledger_is_usable(world.agent));
    prepare_well(0, 1);
    assert_null(tombstone_of(0));
    check_held(2);
}

/* Making it again fails while a flush is due, or that of the opening: both are done in the end. */
static void test_made_again_at_last(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 2u; kind++) {
        begin_with(3);
        disk.refuse_flush = true;
        disk.refusal = HOST_IO;
        if (kind == 0u) {
            unprepare_well(2, 1); /* its release is written, and not flushed */
            assert_true(world.agent->ledger->dirty);
        } else {
            unprepare_well(2, 1);
            restart();
            register_driver();
            assert_true(world.agent->ledger->doubt);
        }
        disk_unlink(store());
        disk_refuse(FILES_STATE, HOST_NO_SPACE);
        round_now();
        pass(5000);
        assert_false(ledger_is_usable(world.agent));
        disk_refuse(FILES_STATE, STATUS_OK);
        disk.refuse_flush = false;
        pass(60000);
        assert_false(world.agent->ledger->dirty || world.agent->ledger->doubt);
        disk_power_cut(NULL, NULL);
        check_held(2);
    }
}

/* The store file is removed before the flush of the opening could be done. */
static void test_removed_before_the_first_flush(void **state)
{
    (void)state;
    begin_with(2);
    kill_agent();
    disk.refuse_flush = true;
    disk.refusal = HOST_IO;
    up_again();
    assert_true(world.agent->ledger->doubt);
    disk_unlink(store());
    disk.refuse_flush = false;
    world.agent->recovery->reconcile.files_ms = world.now_ms + 3600000u; /* no round sees it */
    pass(60000);
    log_has("it was removed while the agent ran: it is made again");
    assert_false(world.agent->ledger->doubt);
    check_held(2);
}

/* The file that has the name now cannot be opened: it is not replaced. */
static void test_not_made_again_over_a_locked_file(void **state)
{
    (void)state;
    begin_with(2);
    disk_unlink(store());
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    round_now();
    assert_false(ledger_is_usable(world.agent));
    disk_refuse(FILES_STATE, STATUS_OK);
    disk.refusal = HOST_DENIED;
    disk.refuse_read[FILES_STATE] = true;
    pass(60000);
    assert_false(ledger_is_usable(world.agent));
    assert_null(disk_find(FILES_STATE, STORE_FILE_NAME));
    disk.refuse_read[FILES_STATE] = false;
    pass(60000);
    check_held(2);
}

/* --- failures in the middle --- */

/* Each change of the disk fails while a new store is written, to the end of its header. */
static void test_creation_that_fails(void **state)
{
    (void)state;
    for (unsigned at = 510; at <= 526; at++) {
        begin_with(2);
        kill_agent();
        rot_at(0);
        rot_at(HEADER_COPY);
        rot_at(store_offset(0, 0));
        disk_fault(FAULT_ERROR, at, true, HOST_NO_SPACE);
        start();
        register_driver();
        pass(5000);
        disk_fault(FAULT_NONE, 0, false, STATUS_OK);
        pass(120000);
        check_held(2);
    }
}

/* Each read of the disk fails once while the store is opened, when the newer half is the second. */
static void test_reads_that_fail(void **state)
{
    (void)state;
    for (unsigned at = 1; at <= 30; at++) {
        begin_with(2);
        static const char *const devices[] = {"neuron-device-5", "neuron-device-6",
                                              "neuron-device-0"};
        for (unsigned i = 0; entry(0)->half == 0u || i % 3u != 0u; i++) {
            api.claim[0].result[0].device = devices[i % 3u];
            prepare_well(0, 1);
        }
        kill_agent();
        disk_fault(FAULT_ERROR, at, false, HOST_DENIED);
        start();
        register_driver();
        pass(5000);
        disk_fault(FAULT_NONE, 0, false, STATUS_OK);
        pass(120000);
        check_held(2);
    }
}

/* Each change fails as if the file were gone, in a call with two claims; a repeated call works. */
static void test_store_gone_in_a_call(void **state)
{
    (void)state;
    for (unsigned at = 1; at <= 14; at++) {
        begin_with(1);
        api.claim[1].unallocated = false;
        api.claim[2].unallocated = false;
        disk_fault(FAULT_ERROR, at, true, HOST_ABSENT);
        (void)prepare_soon(1, 2);
        disk_fault(FAULT_NONE, 0, false, STATUS_OK);
        pass(60000);
        (void)prepare_soon(1, 2);
        assert_int_equal(held(), 3);
        check_held(3);
    }
}

/* Each change fails as if the file were gone, in an unprepare of two claims: both are gone. */
static void test_store_gone_in_an_unprepare(void **state)
{
    (void)state;
    for (unsigned at = 1; at <= 8; at++) {
        begin_with(3);
        disk_fault(FAULT_ERROR, at, true, HOST_ABSENT);
        struct peer *p = service_open();
        const struct peer_call *c = call_send(p, UNPREPARE, claims_request(1, 2));
        pass(1000);
        struct view reply = call_reply_of(c);
        assert_string_equal(unprepare_error(reply, 1), "");
        assert_string_equal(unprepare_error(reply, 2), "");
        peer_close(p);
        disk_fault(FAULT_NONE, 0, false, STATUS_OK);
        pass(2u * world.settings.reconcile_ms);
        assert_int_equal(disk_count(FILES_CDI), 1);
        check_held(1);
    }
}

/*
 * The half of a release rots after its flush failed, so that it cannot be written again. The other
 * halves are flushed; the next process finds the claim by its older half, and holds it.
 */
static void test_half_rots_before_it_is_flushed(void **state)
{
    (void)state;
    begin_with(3);
    disk.refuse_flush = true;
    disk.refusal = HOST_IO;
    unprepare_well(2, 1);
    assert_true(world.agent->ledger->failed_flushes > 0u);
    unsigned slot = 0;
    while (world.agent->ledger->entry[slot].state != LEDGER_FREEING) {
        slot++;
    }
    rot_at(store_offset(slot, world.agent->ledger->entry[slot].half));
    disk.refuse_flush = false;
    pass(60000);
    assert_int_equal(world.agent->ledger->freeing, 0);
    assert_false(world.agent->ledger->dirty);
    assert_int_equal(held(), 2);
    api.claim[2].unallocated = true;
    restart();
    register_driver();
    pass(60000);
    log_has("event=store_half_damaged");
    assert_int_equal(held(), 3);
    unprepare_well(2, 1);
    check_held(2);
}

/* Neither half of a slot takes a write, and one was damaged before: the unprepare counts. */
static void test_slot_that_takes_nothing(void **state)
{
    (void)state;
    begin_with(2);
    uint64_t newer = half_at(1, true);
    uint64_t older = half_at(1, false);
    kill_agent();
    disk_break(store(), older, STORE_HALF_BYTES, true, true);
    up_again();
    pass(60000);
    assert_true(entry(1)->damaged);
    disk_break(store(), newer, STORE_HALF_BYTES, false, true);
    unprepare_well(1, 1);
    assert_int_equal(held(), 1);
    restart();
    assert_int_equal(held(), 1);
    disk_repair();
    pass(60000);
    check_held(1);
}

/* The store is damaged while another agent has it, and its repair fails at first: one log line. */
static void test_repair_after_another_agent(void **state)
{
    (void)state;
    begin_with(2);
    kill_agent();
    disk.locked_by_other[DRIVER_NEURON][LOCK_OWNER] = HOLDER_AGENT;
    start();
    register_driver();
    pass(3000);
    assert_true(ledger_is_busy(world.agent));
    rot_at(0);
    rot_at(HEADER_COPY);
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    disk.locked_by_other[DRIVER_NEURON][LOCK_OWNER] = HOLDER_NOBODY;
    pass(60000);
    assert_int_equal(said("event=store_damaged"), 1);
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(60000);
    assert_int_equal(said("event=store_damaged"), 2);
    check_held(2);
}

/* --- unprepares while the claims in use are not known --- */

static void lose_store_and_server(void)
{
    begin_with(2);
    kill_agent();
    disk_unlink(store());
    api.claims_http = 500;
    up_again();
    assert_int_equal(held(), 2);
    assert_true(world.agent->ledger->unlisted);
}

static const char *unprepare_error_of(unsigned n)
{
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, UNPREPARE, claims_request(n, 1));
    pass(1000);
    const char *error = unprepare_error(call_reply_of(c), n);
    peer_close(p);
    return error;
}

/* Without a tombstone the list would bring the claim back, so the unprepare fails and says why. */
static void test_no_tombstone_before_the_list(void **state)
{
    (void)state;
    lose_store_and_server();
    disk_refuse(FILES_CDI, HOST_DENIED);
    assert_non_null(strstr(unprepare_error_of(4), "no tombstone can be made in the CDI root, and "
                                                  "the claims of this node are still to be "
                                                  "listed"));
    disk_refuse(FILES_STATE, HOST_DENIED);
    (void)unprepare_error_of(1); /* the store fails from here on, too */
    assert_non_null(strstr(unprepare_error_of(4), "cannot be written"));
    disk_refuse(FILES_STATE, STATUS_OK);
    disk_refuse(FILES_CDI, STATUS_OK);
    assert_string_equal(unprepare_error_of(4), "");
}

/* A CDI file that cannot be removed becomes the tombstone as soon as it can. */
static void test_file_left_before_the_list(void **state)
{
    (void)state;
    lose_store_and_server();
    disk.refuse_remove[FILES_CDI] = true;
    assert_string_equal(unprepare_error_of(1), "");
    assert_string_equal(unprepare_error_of(1), "");
    assert_int_equal(held(), 1);
    assert_non_null(cdi_of(1));
    pass(5000);
    disk.refuse_remove[FILES_CDI] = false;
    pass(40000);
    assert_null(cdi_of(1));
    assert_non_null(tombstone_of(1));
    api.claims_http = 0;
    pass(120000);
    assert_int_equal(held(), 1);
    pass(2u * world.settings.reconcile_ms);
    assert_null(tombstone_of(1));
    check_held(1);
}

/* Another agent owns the store: nothing of a claim is removed here. */
static void test_another_agents_claims(void **state)
{
    char text[CLAIM_ERROR_CAP] = "";
    struct writer why = writer_of(text, sizeof text - 1u);
    (void)state;
    begin_with(2);
    kill_agent();
    disk.locked_by_other[DRIVER_NEURON][LOCK_OWNER] = HOLDER_AGENT;
    start();
    assert_int_equal(ledger_remove(world.agent, api.claim[0].uid, &why), HOST_BUSY);
    assert_non_null(strstr(text, "another agent uses this store"));
    assert_non_null(cdi_of(0));
    assert_null(tombstone_of(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_of_nonsense),
        cmocka_unit_test(test_half_with_a_later_number),
        cmocka_unit_test(test_disk_that_garbles),
        cmocka_unit_test(test_one_copy_of_the_header),
        cmocka_unit_test(test_no_copy_of_the_header),
        cmocka_unit_test(test_end_unreadable),
        cmocka_unit_test(test_outline_beside_a_damaged_half),
        cmocka_unit_test(test_outline_deallocated),
        cmocka_unit_test(test_release_beside_a_damaged_half),
        cmocka_unit_test(test_release_in_another_slot),
        cmocka_unit_test(test_gives_up_one_of_two),
        cmocka_unit_test(test_gives_up_all_but_its_file),
        cmocka_unit_test(test_list_while_the_disk_refuses),
        cmocka_unit_test(test_unsure_record_on_a_full_disk),
        cmocka_unit_test(test_record_unreadable_after_the_load),
        cmocka_unit_test(test_unsure_record_rots),
        cmocka_unit_test(test_made_again_beside_a_bad_file),
        cmocka_unit_test(test_made_again_with_a_damaged_half),
        cmocka_unit_test(test_made_again_with_a_tombstone),
        cmocka_unit_test(test_made_again_at_last),
        cmocka_unit_test(test_removed_before_the_first_flush),
        cmocka_unit_test(test_not_made_again_over_a_locked_file),
        cmocka_unit_test(test_creation_that_fails),
        cmocka_unit_test(test_reads_that_fail),
        cmocka_unit_test(test_store_gone_in_a_call),
        cmocka_unit_test(test_store_gone_in_an_unprepare),
        cmocka_unit_test(test_half_rots_before_it_is_flushed),
        cmocka_unit_test(test_slot_that_takes_nothing),
        cmocka_unit_test(test_repair_after_another_agent),
        cmocka_unit_test(test_no_tombstone_before_the_list),
        cmocka_unit_test(test_file_left_before_the_list),
        cmocka_unit_test(test_another_agents_claims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
