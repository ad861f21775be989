/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole agent on a disk that is full, read-only or broken, and with stores that were damaged:
 * a failure names its reason and concerns its claim alone, and what can be saved is saved.
 */
#include "tests/unit/kubelet/agent_kubelet.h"
#include "base/crc32c.h"

static void begin(void)
{
    world_new();
    for (unsigned n = 0; n < 8; n++) {
        claim_add(n);
    }
    node_up();
}

/* --- writes that fail --- */

/* Without tombstones. */
static unsigned cdi_files(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < disk.top; i++) {
        bool cdi = disk.file[i].used && disk.file[i].dir == FILES_CDI;
        n += (cdi && view_ends(view_text(disk.file[i].name), CDI_FILE_SUFFIX)) ? 1 : 0;
    }
    return n;
}

static void check_nothing_of(unsigned n, unsigned others)
{
    assert_null(cdi_of(n));
    assert_int_equal(cdi_files(), others);
    assert_int_equal(held(), others);
    restart();
    assert_int_equal(held(), others);
    pass(2000);
}

/* One failing write at each place of a prepare: an error, nothing left, and the next one works. */
static void fail_prepare(enum fault fault, enum status failure)
{
    static const char *const words[] = {"CDI file /var/run/cdi/", "CDI file /var/run/cdi/",
                                        "claim store /var/lib/kubelet/plugins/neuron.aws.com/",
                                        "claim store /var/lib/kubelet/plugins/neuron.aws.com/"};
    for (unsigned at = 1; at <= 4; at++) {
        if (at == 3 && failure == HOST_IO) {
            continue; /* the other half takes it */
        }
        disk_fault(fault, at, true, failure);
        struct view reply = prepare_now(0, 1);
        assert_non_null(strstr(prepare_error(reply, 0), words[at - 1]));
        assert_non_null(strstr(prepare_error(reply, 0), status_name(failure)));
        disk_fault(FAULT_NONE, 0, true, STATUS_OK);
        unprepare_well(0, 1);
        check_nothing_of(0, 0);
        prepare_well(0, 1);
        unprepare_well(0, 1);
        /* the same, but the process ends before anything else is written */
        disk_fault(fault, at, true, failure);
        (void)prepare_now(0, 1);
        disk_fault(FAULT_NONE, 0, true, STATUS_OK);
        check_nothing_of(0, 0);
    }
}

static void test_failing_writes(void **state)
{
    (void)state;
    begin();
    fail_prepare(FAULT_ERROR, HOST_NO_SPACE);
    fail_prepare(FAULT_ERROR, HOST_IO);
    fail_prepare(FAULT_ERROR_TORN, HOST_NO_SPACE);
}

/* The disk did what it was asked to, and said that it did not. */
static void test_failures_after_the_deed(void **state)
{
    (void)state;
    begin();
    fail_prepare(FAULT_ERROR_AFTER, HOST_IO);
}

static void test_one_claim_of_many(void **state)
{
    (void)state;
    begin();
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 8));
    disk_fault(FAULT_ERROR, 5, true, HOST_NO_SPACE);
    settle();
    struct view reply = call_reply_of(c);
    unsigned failed = 0;
    for (unsigned n = 0; n < 8; n++) {
        bool good = prepare_error(reply, n)[0] == 0;
        failed += good ? 0u : 1u;
        assert_int_equal(cdi_of(n) != NULL, good);
    }
    assert_int_equal(failed, 1);
    assert_int_equal(held(), 7);
    unprepare_well(0, 8);
    check_nothing_of(0, 0);
}

static void refused_store(enum status failure)
{
    begin();
    prepare_well(0, 2);
    disk_refuse(FILES_STATE, failure);
    struct view reply = prepare_now(2, 1);
    assert_non_null(strstr(prepare_error(reply, 2), "claims.store cannot be written"));
    assert_null(cdi_of(2));
    log_has("store_failed");
    /* a repeated prepare writes nothing */
    prepare_well(1, 1);
    unprepare_well(0, 1);
    unprepare_well(2, 1);
    assert_int_equal(held(), 1);
    /* what the disk refused is made good with the next call that it takes */
    disk_refuse(FILES_STATE, STATUS_OK);
    prepare_well(3, 1);
    restart();
    assert_int_equal(held(), 2);
    assert_non_null(cdi_of(1));
    assert_non_null(cdi_of(3));
}

static void test_store_full(void **state)
{
    (void)state;
    refused_store(HOST_NO_SPACE);
}

static void test_store_read_only(void **state)
{
    (void)state;
    refused_store(HOST_DENIED);
}

static void test_cdi_refused(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    disk_refuse(FILES_CDI, HOST_DENIED);
    struct view reply = prepare_now(1, 1);
    assert_non_null(strstr(prepare_error(reply, 1), "CDI file /var/run/cdi/"));
    assert_int_equal(held(), 1);
    /* the record goes, the file stays until somebody may remove it */
    struct peer *p = service_open();
    reply = call_now(p, UNPREPARE, claims_request(0, 1));
    assert_string_equal(unprepare_error(reply, 0), "");
    assert_int_equal(held(), 0);
    log_has("cdi_file_failed");
    disk_refuse(FILES_CDI, STATUS_OK);
    unprepare_well(0, 1);
}

/* The error names the file that the CDI root refused: the temporary one, or that of the claim. */
static void test_cdi_file_that_is_refused(void **state)
{
    static const char *const ends[] = {".tmp cannot be written", ".json cannot be written"};
    (void)state;
    for (unsigned at = 1; at <= 2u; at++) {
        begin();
        disk_fault(FAULT_ERROR, at, true, HOST_NO_SPACE);
        struct view reply = prepare_now(1, 1);
        disk_fault(FAULT_NONE, 0, false, STATUS_OK);
        assert_non_null(strstr(prepare_error(reply, 1), ends[at - 1u]));
        assert_int_equal(held(), 0);
    }
}

static void test_no_store_at_start(void **state)
{
    (void)state;
    world_new();
    claim_add(0);
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    node_up();
    assert_false(world.agent->ledger->usable);
    struct view reply = prepare_now(0, 1);
    /* the file that is meant, and one remedy */
    assert_non_null(strstr(prepare_error(reply, 0),
                           "claims.store cannot be locked by claims.store.lock beside it"));
    log_has(" remedy=\"free space there\"");
    (void)disk_make(FILES_STATE, STORE_LOCK_NAME);
    pass(40000);
    reply = prepare_now(0, 1);
    assert_non_null(strstr(prepare_error(reply, 0), "claims.store.new cannot be created"));
    assert_int_equal(cdi_files(), 0);
    unprepare_well(0, 1);
    pass(120000);
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(40000);
    assert_true(world.agent->ledger->usable);
    prepare_well(0, 1);
}

static void test_unreadable_for_a_time(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    disk.refuse_read[FILES_STATE] = true;
    disk.refusal = HOST_IO;
    restart();
    assert_false(world.agent->ledger->usable);
    struct view reply = prepare_soon(0, 1);
    assert_non_null(strstr(prepare_error(reply, 0), "claim store "));
    /* an unprepare works, and its record does not come back with the store */
    unprepare_well(1, 1);
    assert_null(cdi_of(1));
    disk.refuse_read[FILES_STATE] = false;
    pass(40000);
    assert_int_equal(held(), 1);
    prepare_well(0, 2);
    unprepare_well(0, 2);
    restart();
    assert_int_equal(held(), 0);
}

/* What no call flushes any more, time does. */
static void test_flush_by_timer(void **state)
{
    (void)state;
    begin();
    api.claim[1].fault = API_HANGS;
    struct peer *p = service_open();
    struct peer_call *c = call_send(p, PREPARE, claims_request(0, 2));
    settle();
    assert_int_equal(held(), 1);
    assert_true(world.agent->ledger->dirty);
    disk_fault(FAULT_NONE, 0, true, STATUS_OK);
    call_cancel(p, c);
    pass(60000);
    assert_false(world.agent->ledger->dirty);
    assert_int_equal(disk.calls, 1);
    /* and a record whose freeing the disk refused goes as soon as it may */
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    unprepare_well(0, 1);
    pass(600000);
    assert_int_equal(world.agent->ledger->freeing, 1);
    assert_true(disk.calls < 100);
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(60000);
    assert_int_equal(world.agent->ledger->freeing, 0);
    restart();
    assert_int_equal(held(), 0);
}

/* The store is removed by somebody: nothing is forgotten, and nothing is handed out twice. */
static void test_store_removed(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    disk_unlink(disk_find(FILES_STATE, STORE_FILE_NAME));
    api.claim[2].result[0].device = "neuron-device-0";
    struct view reply = prepare_now(2, 1);
    assert_true(prepare_error(reply, 2)[0] != 0);
    prepare_well(3, 1);
    assert_int_equal(held(), 3);
    restart();
    assert_int_equal(held(), 3);
    prepare_well(0, 2);
}

/* --- damaged stores --- */

static struct disk_file *store(void)
{
    struct disk_file *f = disk_find(FILES_STATE, STORE_FILE_NAME);
    assert_non_null(f);
    assert_int_equal(f->len, STORE_FILE_BYTES);
    return f;
}

/* Three claims in slots 0 to 2, each in the half that its entry names. */
static void three_held(void)
{
    begin();
    prepare_well(0, 3);
    for (unsigned n = 0; n < 3; n++) {
        assert_int_equal(ledger_find(world.agent, api.claim[n].uid), n);
    }
}

static uint64_t half_at(unsigned slot, bool newer)
{
    unsigned half = world.agent->ledger->entry[slot].half;
    return store_offset(slot, newer ? half : 1 - half);
}

/* A half's bytes, until the next call. */
static struct view half_of(unsigned slot, bool newer)
{
    static uint8_t bytes[STORE_HALF_BYTES];
    struct writer w = writer_of(bytes, sizeof bytes);
    disk_get(store(), half_at(slot, newer), &w);
    return writer_view(&w);
}

static void half_flip(unsigned slot, bool newer, unsigned at, uint8_t bits)
{
    uint8_t byte = half_of(slot, newer).data[at] ^ bits;
    disk_set(store(), half_at(slot, newer) + at, view_of(&byte, 1));
}

static struct store_half half_state(unsigned slot, bool newer)
{
    struct store_half half;
    store_half_read(half_of(slot, newer), slot, &half);
    return half;
}

/* A change goes to the half that does not count: what was before stays readable until the next. */
static void test_halves_alternate(void **state)
{
    (void)state;
    three_held();
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(half_state(1, true).state, STORE_HALF_RECORD);
        assert_int_equal(half_state(1, false).state, STORE_HALF_FREE);
        assert_true(half_state(1, false).sequence < half_state(1, true).sequence);
        unprepare_well(1, 1);
        assert_int_equal(half_state(1, true).state, STORE_HALF_FREE);
        assert_int_equal(half_state(1, false).state, STORE_HALF_RECORD);
        prepare_well(1, 1);
    }
}

/* What the store lost, the CDI files still show. */
static void check_after_damage(bool kept_aside)
{
    restart();
    assert_true(world.agent->ledger->usable);
    assert_int_equal(held(), 3);
    assert_int_equal(disk_find(FILES_STATE, STORE_FILE_NAME ".damaged") != NULL, kept_aside);
    pass(2000);
    prepare_well(0, 3);
    assert_int_equal(held(), 3);
    restart();
    assert_int_equal(held(), 3);
    unprepare_well(0, 3);
    restart();
    assert_int_equal(held(), 0);
}

static void test_store_of_no_bytes(void **state)
{
    (void)state;
    three_held();
    disk_set_len(store(), 0);
    check_after_damage(true);
    log_has("store_damaged");
}

static void test_store_of_zeros(void **state)
{
    (void)state;
    three_held();
    file_fill(store(), 0, 0, STORE_FILE_BYTES);
    check_after_damage(true);
}

static void test_store_of_garbage(void **state)
{
    static uint8_t bytes[STORE_FILE_BYTES];
    uint32_t x = 1;
    (void)state;
    three_held();
    for (size_t i = 0; i < STORE_FILE_BYTES; i++) {
        x = x * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(x >> 24);
    }
    disk_set(store(), 0, view_of(bytes, sizeof bytes));
    check_after_damage(true);
}

static void test_store_truncated(void **state)
{
    (void)state;
    three_held();
    disk_set_len(store(), STORE_HEADER_BYTES + STORE_SLOT_BYTES + 100);
    check_after_damage(true);
}

static void test_store_short_by_one(void **state)
{
    (void)state;
    three_held();
    disk_set_len(store(), STORE_FILE_BYTES - 1);
    check_after_damage(true);
}

/* A write of a new store fails: no half of zeros is left in it, which would count as damaged. */
static void test_new_store_is_whole(void **state)
{
    (void)state;
    for (unsigned at = 2; at < 2u * CLAIMS_MAX; at += 101) {
        world_new();
        disk_fault(FAULT_ERROR, at, true, HOST_NO_SPACE);
        node_up();
        pass(60000);
        log_has("cannot be created (host-no-space)");
        for (unsigned i = 0; i < 2u * CLAIMS_MAX; i++) {
            uint8_t bytes[STORE_HALF_BYTES];
            struct writer read = writer_of(bytes, sizeof bytes);
            struct store_half half;
            disk_get(store(), store_offset(i / 2u, i % 2u), &read);
            store_half_read(writer_view(&read), i / 2u, &half);
            assert_int_not_equal(half.state, STORE_HALF_DAMAGED);
        }
    }
}

static void test_headers(void **state)
{
    (void)state;
    three_held();
    file_fill(store(), 0, 0xff, 100);
    check_after_damage(false);
    three_held();
    file_fill(store(), 0, 0xff, STORE_HEADER_BYTES);
    check_after_damage(true);
}

static void test_halves(void **state)
{
    (void)state;
    /* the older half is of no account */
    three_held();
    half_flip(1, false, 30, 0xff);
    half_flip(1, false, 8, 0xff);
    check_after_damage(false);
    /* without the newer one, the slot is what it was before, and the CDI file is a witness */
    three_held();
    half_flip(1, true, 30, 1);
    check_after_damage(false);
    three_held();
    file_fill(store(), half_at(2, true), 0, STORE_HALF_BYTES);
    check_after_damage(false);
}

static void test_both_halves(void **state)
{
    (void)state;
    three_held();
    file_fill(store(), half_at(1, true), 0, STORE_HALF_BYTES);
    file_fill(store(), half_at(1, false), 0, STORE_HALF_BYTES);
    check_after_damage(true);
    log_has("slots_lost=1");
}

static void test_halves_in_wrong_places(void **state)
{
    (void)state;
    three_held();
    disk_set(store(), half_at(1, true), half_of(0, true));
    disk_set(store(), half_at(1, false), half_of(0, true));
    check_after_damage(true);
}

/* A store of a format that is not ours is left as it is. */
static void test_store_of_the_future(void **state)
{
    static uint8_t before[STORE_HEADER_BYTES];
    static uint8_t after[STORE_HEADER_BYTES];
    (void)state;
    three_held();
    for (unsigned copy = 0; copy < 2; copy++) {
        uint8_t h[STORE_HEADER_WRITTEN];
        struct writer w = writer_of(h, sizeof h);
        disk_get(store(), copy * (STORE_HEADER_BYTES / 2), &w);
        h[11] = 9; /* format */
        w.len = sizeof h - 4;
        w.full = false;
        writer_u32(&w, crc32c(0, writer_view(&w)));
        disk_set(store(), copy * (STORE_HEADER_BYTES / 2), writer_view(&w));
    }
    struct writer w = writer_of(before, sizeof before);
    disk_get(store(), 0, &w);
    restart();
    assert_false(world.agent->ledger->usable);
    struct view reply = prepare_soon(0, 1);
    assert_non_null(strstr(prepare_error(reply, 0), "run the agent version that wrote it"));
    pass(120000);
    w = writer_of(after, sizeof after);
    disk_get(store(), 0, &w);
    assert_memory_equal(after, before, sizeof before);
    assert_int_equal(disk_count(FILES_STATE), 2);
}

/* --- ready means that a claim would be prepared --- */

static void check_unready(const char *text)
{
    char line[1024];
    struct writer w = writer_of(line, sizeof line);
    assert_true(ready_reason(world.agent, 0, &w));
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    assert_non_null(strstr(line, text));
    w = writer_of(NULL, 0);
    assert_false(ready_reason(world.agent, 1, &w));
}

static void test_unready_when_the_store_refuses(void **state)
{
    (void)state;
    begin();
    assert_true(agent_ready(world.agent));
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    (void)prepare_now(0, 1);
    check_unready("claims.store cannot be written");
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(60000);
    assert_true(agent_ready(world.agent));
}

/* Read-only from the start: said before a claim is refused, and over once it can be written. */
static void test_unready_with_a_read_only_store(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    kill_agent();
    disk_refuse(FILES_STATE, HOST_DENIED);
    start();
    node_up();
    pass(3000);
    assert_int_equal(held(), 1);
    check_unready("claims.store cannot be written");
    log_has("event=store_failed");
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(60000);
    assert_true(agent_ready(world.agent));
    prepare_well(1, 1);
}

static void test_unready_when_the_cdi_root_refuses(void **state)
{
    (void)state;
    begin();
    disk_refuse(FILES_CDI, HOST_DENIED);
    (void)prepare_now(0, 1);
    check_unready("CDI files cannot be written to /var/run/cdi; check rights there");
    pass(60000);
    check_unready("CDI files cannot be written to /var/run/cdi");
    disk_refuse(FILES_CDI, STATUS_OK);
    pass(CDI_TRY_MS);
    assert_true(agent_ready(world.agent));
    assert_int_equal(disk_count(FILES_CDI), 0);
}

/* The CDI root refuses files from the start: said before any claim asks, and over by itself. */
static void test_unready_with_a_read_only_cdi_root(void **state)
{
    (void)state;
    begin();
    kill_agent();
    disk_refuse(FILES_CDI, HOST_DENIED);
    start();
    node_up();
    pass(3000);
    check_unready("CDI files cannot be written to /var/run/cdi; check rights there");
    log_has("event=cdi_file_failed file=/var/run/cdi reason=");
    disk_refuse(FILES_CDI, STATUS_OK);
    pass(60000);
    assert_int_equal(said("level=info event=cdi_root_writable file=/var/run/cdi"), 1);
    assert_true(agent_ready(world.agent));
    assert_int_equal(disk_count(FILES_CDI), 0);
}

/* A store that takes bytes and cannot flush them would fail the first claim too. */
static void test_unready_when_the_first_flush_fails(void **state)
{
    (void)state;
    begin();
    kill_agent();
    disk.refuse_flush = true;
    disk.refusal = HOST_IO;
    start();
    node_up();
    pass(3000);
    check_unready("claims.store cannot be flushed");
    disk.refuse_flush = false;
    pass(60000);
    assert_true(agent_ready(world.agent));
}

static void test_unready_without_a_place(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    struct ledger_entry first = world.agent->ledger->entry[0];
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        world.agent->ledger->entry[i] = first;
    }
    check_unready("all slots of the claim store are in use");
    world.agent->ledger->entry[1].state = LEDGER_FREE;
    assert_true(agent_ready(world.agent));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failing_writes),
        cmocka_unit_test(test_failures_after_the_deed),
        cmocka_unit_test(test_one_claim_of_many),
        cmocka_unit_test(test_store_full),
        cmocka_unit_test(test_store_read_only),
        cmocka_unit_test(test_cdi_refused),
        cmocka_unit_test(test_cdi_file_that_is_refused),
        cmocka_unit_test(test_no_store_at_start),
        cmocka_unit_test(test_unreadable_for_a_time),
        cmocka_unit_test(test_flush_by_timer),
        cmocka_unit_test(test_store_removed),
        cmocka_unit_test(test_halves_alternate),
        cmocka_unit_test(test_store_of_no_bytes),
        cmocka_unit_test(test_store_of_zeros),
        cmocka_unit_test(test_store_of_garbage),
        cmocka_unit_test(test_store_truncated),
        cmocka_unit_test(test_store_short_by_one),
        cmocka_unit_test(test_new_store_is_whole),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_both_halves),
        cmocka_unit_test(test_halves_in_wrong_places),
        cmocka_unit_test(test_store_of_the_future),
        cmocka_unit_test(test_unready_when_the_store_refuses),
        cmocka_unit_test(test_unready_with_a_read_only_store),
        cmocka_unit_test(test_unready_with_a_read_only_cdi_root),
        cmocka_unit_test(test_unready_when_the_first_flush_fails),
        cmocka_unit_test(test_unready_when_the_cdi_root_refuses),
        cmocka_unit_test(test_unready_without_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
