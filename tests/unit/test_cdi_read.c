/* SPDX-License-Identifier: Apache-2.0 */
/* CDI files read back: every record that was written, and what is refused. */
#include "tests/unit/node/claim_harness.h"

static char file[CDI_BYTES_MAX * 2];

static size_t write_file(const struct claim_record *r)
{
    struct writer w = writer_of(file, CDI_BYTES_MAX);
    assert_int_equal(cdi_write(r, &(struct cdi_host){.dev_root = "/dev"}, &w), STATUS_OK);
    return w.len;
}

/* Consumers come and go while a claim stays: no part of its file. */
static void round_trip(const struct claim_record *r)
{
    struct claim_record expected = *r;
    struct claim_record back;
    memset(&back, 0xaa, sizeof back);
    memset(&expected.consumer, 0, sizeof expected.consumer);
    size_t len = write_file(r);
    assert_int_equal(cdi_read(view_of(file, len), &back), STATUS_OK);
    assert_same_record(&back, &expected);
}

static void fill_random(struct claim_record *r, uint32_t *seed)
{
    static const char letters[] = "abcxyz0189";
    memset(r, 0, sizeof *r);
    record_begin(r);
    r->zero_numbering = next_random(seed) % 2 == 0;
    unsigned count = 1 + next_random(seed) % RESULTS_MAX;
    for (unsigned i = 0; i < count; i++) {
        char request[3] = {letters[next_random(seed) % 10], letters[i % 10], 0};
        struct claim_result *to = record_add(r, request, next_random(seed) % DEVICES_MAX);
        to->admin_access = next_random(seed) % 3 == 0;
        to->logical_neuron_core = (uint8_t)request[0];
        to->ultraserver_mode = (uint8_t)(request[1] % 5);
        bool node = next_random(seed) % 64 == 0;
        to->node = node;
        to->number = node ? 0 : to->number;
        r->node_devices |= node ? (uint64_t)next_random(seed) << 8 | 1u : 0u;
        if (to->ultraserver_mode != 0) {
            record_mode(r, 1 + next_random(seed) % ULTRASERVER_MODE_MAX);
        }
        fill_name(to->share_id, 1 + next_random(seed) % UID_CAP, 's');
    }
    unsigned unused = DEVICES_MAX - claim_numbers_count(claim_all_numbers(r));
    r->first_number = (uint8_t)(r->zero_numbering ? next_random(seed) % (unused + 1) : 0);
    fill_name(r->boot_id, 1 + next_random(seed) % UID_CAP, (char)('!' + next_random(seed) % 94));
    fill_name(r->pool, 2 + next_random(seed) % (NAME_CAP - 1), 'p');
    fill_name(r->id.name, 2 + next_random(seed) % (NAME_CAP - 1), 'n');
}

static void test_round_trip(void **state)
{
    struct claim_record r;
    uint32_t seed = 1;
    (void)state;
    fill_longest(&r);
    round_trip(&r);
    fill_node(&r);
    round_trip(&r);
    for (unsigned i = 0; i < 2000; i++) {
        fill_random(&r, &seed);
        assert_true(claim_record_valid(&r));
        round_trip(&r);
    }
}

/* A part of a device, with its cores; and what cannot be one. */
static void test_parts(void **state)
{
    struct claim_record r;
    (void)state;
    for (unsigned cores = 1; cores < 0x100; cores++) {
        record_begin(&r);
        struct claim_result *to = record_add(&r, "a", 3);
        r.zero_numbering = true;
        to->cores = (uint8_t)cores;
        memcpy(to->share_id, SHARE_ID, sizeof SHARE_ID);
        if (side_by_side(cores)) {
            round_trip(&r);
        }
    }
    size_t len = write_file(&r);
    file[len] = '\0';
    char *cores = strstr(file, "cores\\\":255");
    assert_non_null(cores);
    memcpy(cores, "cores\\\":256", sizeof "cores\\\":256" - 1);
    assert_int_equal(cdi_read(view_of(file, len), &r), HOST_DAMAGED);
    memcpy(cores, "cores\\\":253", sizeof "cores\\\":253" - 1); /* 1 is missing between 0 and 2 */
    assert_int_equal(cdi_read(view_of(file, len), &r), HOST_DAMAGED);
    memcpy(cores, "cores\\\":255", sizeof "cores\\\":255" - 1);
    assert_int_equal(cdi_read(view_of(file, len), &r), STATUS_OK);
    char *zero = strstr(file, "\"zero\"");
    memcpy(zero, "\"host\"", 6);
    assert_int_equal(cdi_read(view_of(file, len), &r), HOST_DAMAGED);
}

static void refused(struct view bytes)
{
    static const struct claim_record nothing;
    struct claim_record r;
    memset(&r, 0xaa, sizeof r);
    if (cdi_read(bytes, &r) != HOST_DAMAGED) {
        fail_msg("taken: %s", text_of(bytes));
    }
    assert_memory_equal(&r, &nothing, sizeof r);
}

static void begin(struct claim_record *r)
{
    record_begin(r);
    record_add(r, "a", 3)->logical_neuron_core = 2;
    (void)record_add(r, "b", 12);
}

static void test_truncated(void **state)
{
    struct claim_record r;
    (void)state;
    begin(&r);
    size_t len = write_file(&r) - 1; /* the newline at the end means nothing */
    for (size_t n = 0; n < len; n++) {
        refused(view_of(file, n));
    }
    assert_int_equal(cdi_read(view_of(file, len), &r), STATUS_OK);
}

/* Zeros from any byte on, as after a loss of power. */
static void test_zeros(void **state)
{
    struct claim_record r;
    (void)state;
    begin(&r);
    size_t len = write_file(&r);
    for (size_t n = len; n > 0; n--) {
        file[n - 1] = 0;
        refused(view_of(file, len));
    }
}

/* The file with its only `from` replaced. */
static struct view edited(const char *from, const char *to)
{
    static char text[CDI_BYTES_MAX * 2];
    struct claim_record r;
    begin(&r);
    file[write_file(&r)] = 0;
    const char *at = strstr(file, from);
    assert_non_null(at);
    int n = snprintf(text, sizeof text, "%.*s%s%s", (int)(at - file), file, to, at + strlen(from));
    return view_of(text, (size_t)n);
}

#define KEY(name) "\"neuron.aws.com/" name "\": "

static void test_refused(void **state)
{
    static const char *const edits[][2] = {
        {"{", "["},
        {"{", "\xff{"},
        {"\"kind\": \"neuron.aws.com/claim\"", "\"kind\": \"other.example/claim\""},
        {"\"kind\": \"neuron.aws.com/claim\"", "\"kind\": 1"},
        {"\"kind\": \"neuron.aws.com/claim\",", ""},
        {"\"kind\"", "\"kind\": \"neuron.aws.com/claim\", \"kind\""},
        {"\"annotations\"", "\"annotations\": {}, \"x\""},
        {"\"annotations\"", "\"annotations\": [], \"x\""},
        {"\"annotations\"", "\"x\""},
        {KEY("claim-namespace"), KEY("x")},
        {KEY("claim-namespace"), KEY("claim-namespace") "\"y\", " KEY("claim-namespace")},
        {"\"training\"", "\"\""},
        {"\"training\"", "\"tra/ining\""},
        {"\"training\"", "\"tra\\u0000ining\""},
        {"\"training\"", "null"},
        {KEY("claim-name"), KEY("x")},
        {KEY("claim-uid"), KEY("x")},
        {"\"" UID "\"", "\"../" UID "\""},
        {"\"" UID "\"", "\"" UID UID UID "\""},
        {KEY("pool"), KEY("x")},
        {KEY("boot-id"), KEY("x")},
        {"\"" BOOT_ID "\"", "\"with blank\""},
        {KEY("device-numbering"), KEY("x")},
        {"\"host\"", "\"other\""},
        {"\"host\"", "1"},
        {"\"host\"", "\"host+1\""},
        {"\"host\"", "\"zero1\""},
        {"\"host\"", "\"zero+\""},
        {"\"host\"", "\"zero+x\""},
        {"\"host\"", "\"zero+64\""},
        {"\"host\"", "\"zero+63\""}, /* there is more than one device */
        {KEY("result-0"), KEY("result-2")},
        {KEY("result-1"), KEY("result-01")},
        {KEY("result-0"), KEY("result-0") "{}, \"x\": "},
        {"\"{\\\"request\\\":\\\"a\\\"", "\"{\\\"x\\\":\\\"a\\\""},
        {"\\\"request\\\":\\\"a\\\"", "\\\"request\\\":\\\"a\\\",\\\"request\\\":\\\"b\\\""},
        {"\\\"request\\\":\\\"a\\\"", "\\\"request\\\":\\\"a/b\\\""},
        {"\\\"request\\\":\\\"a\\\"", "\\\"request\\\":7"},
        {"neuron-device-3", "neuron-device-64"},
        {"neuron-device-3", "neuron-device-"},
        {"neuron-device-3", "neuron-node-3"},
        {"\\\"neuron-device-3\\\"", "3"},
        {"\\\"logicalNeuronCore\\\":2", "\\\"logicalNeuronCore\\\":256"},
        {"\\\"logicalNeuronCore\\\":2", "\\\"logicalNeuronCore\\\":-1"},
        {"\\\"logicalNeuronCore\\\":2", "\\\"logicalNeuronCore\\\":true"},
        {"\\\"logicalNeuronCore\\\":2", "\\\"adminAccess\\\":1"},
        {"\\\"logicalNeuronCore\\\":2}", "\\\"logicalNeuronCore\\\":2"},
        {"\\\"logicalNeuronCore\\\":2}", "\\\"logicalNeuronCore\\\":2}}"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(edits); i++) {
        refused(edited(edits[i][0], edits[i][1]));
    }
    struct view twice = edited("\n}\n", "\n}\n{}");
    refused(twice);
}

static void test_without_results(void **state)
{
    struct claim_record r;
    (void)state;
    record_begin(&r);
    (void)record_add(&r, "a", 3);
    file[write_file(&r)] = 0;
    char *at = strstr(file, KEY("result-0"));
    memcpy(at + 1, "x", 1);
    refused(view_text(file));
}

/* What this version does not know, a newer one may have written. */
static void test_ignored(void **state)
{
    static const char *const edits[][2] = {
        {"\"kind\"", "\"x\": [{\"y\": [1, null]}], \"kind\""},
        {KEY("pool"), "\"x\": {\"y\": {}}, " KEY("pool")},
        {"\\\"logicalNeuronCore\\\"", "\\\"x\\\":[1,{}],\\\"logicalNeuronCore\\\""},
        {"\\\"logicalNeuronCore\\\"", "\\\"adminAccess\\\":false,\\\"logicalNeuronCore\\\""},
        {"{", " \n{"},
    };
    struct claim_record r;
    struct claim_record expected;
    (void)state;
    begin(&expected);
    for (size_t i = 0; i < COUNT(edits); i++) {
        assert_int_equal(cdi_read(edited(edits[i][0], edits[i][1]), &r), STATUS_OK);
        assert_same_record(&r, &expected);
    }
}

/* One result more than a record holds. */
static void test_too_many_results(void **state)
{
    struct claim_record r;
    static char text[CDI_BYTES_MAX * 2];
    (void)state;
    record_begin(&r);
    for (unsigned i = 0; i < RESULTS_MAX; i++) {
        (void)record_add(&r, "a", i);
    }
    file[write_file(&r)] = 0;
    const char *end = strstr(file, "\n  },\n  \"devices\"");
    assert_non_null(end);
    int n =
        snprintf(text, sizeof text, "%.*s,\n    " KEY("result-32") "\"%s\"%s", (int)(end - file),
                 file, "{\\\"request\\\":\\\"a\\\",\\\"device\\\":\\\"neuron-device-40\\\"}", end);
    refused(view_of(text, (size_t)n));
}

static void test_names(void **state)
{
    char name[CDI_FILE_NAME_CAP];
    char uid[UID_CAP] = "before";
    char longest[UID_CAP];
    static const char *const others[] = {"",
                                         "neuron.aws.com-claim_.json",
                                         "neuron.aws.com-claim_x.gone",
                                         "neuron.aws.com-claim_x.json2",
                                         "xneuron.aws.com-claim_x.json",
                                         "neuron.aws.com-claim.json",
                                         "neuron.aws.com-claim_a.b.json",
                                         "neuron.aws.com-claim_-a.json",
                                         "neuron.aws.com-claim_a b.json",
                                         "neuron.aws.com-claim_a/b.json"};
    (void)state;
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_false(cdi_name_uid(DRIVER_NEURON, others[i], CDI_FILE_SUFFIX, uid));
        assert_string_equal(uid, "before");
    }
    cdi_tombstone_name(DRIVER_NEURON, UID, name);
    assert_string_equal(name, "neuron.aws.com-claim_" UID ".gone");
    assert_true(cdi_name_uid(DRIVER_NEURON, name, CDI_TOMBSTONE_SUFFIX, uid));
    assert_string_equal(uid, UID);
    assert_false(cdi_name_uid(DRIVER_NEURON, name, CDI_FILE_SUFFIX, uid));
    fill_name(longest, sizeof longest, 'u');
    cdi_file_name(DRIVER_NEURON, longest, name);
    assert_true(cdi_name_uid(DRIVER_NEURON, name, CDI_FILE_SUFFIX, uid));
    assert_string_equal(uid, longest);
    char text[2 * CDI_FILE_NAME_CAP];
    (void)snprintf(text, sizeof text, "neuron.aws.com-claim_u%s.json", longest);
    assert_false(cdi_name_uid(DRIVER_NEURON, text, CDI_FILE_SUFFIX, uid));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_truncated),  cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_without_results),
        cmocka_unit_test(test_ignored),    cmocka_unit_test(test_too_many_results),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
