/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device metadata files of the whole agent: there as long as their claim is prepared, whatever is
 * lost or killed meanwhile, and nothing of them without --device-metadata.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#include "dra/metadata.h"

#define INTERVAL UINT64_C(60000)
/* Whatever is due at the interval, with its jitter. */
#define ROUND (INTERVAL * 5u / 4u + 5000u)
#define CLAIMS 3u
/* Claim 1 has two requests. */
#define FILES 4u
#define FAULTS_MAX 2000u

static void set(bool wanted)
{
    const char *const more[] = {"--reconcile-interval", "60s", "--device-metadata",
                                wanted ? "true" : "false"};
    settings_set(more, 4);
}

/* Claim 0 is from a template, the others are not. */
static void begin(bool wanted)
{
    world_new();
    set(wanted);
    for (unsigned n = 0; n < CLAIMS; n++) {
        (void)claim_add(n);
    }
    api.claim[0].pod_claim = "neurons";
    api.claim[1].results = 3;
    api.claim[1].result[1].request = "other";
    api.claim[1].result[1].device = "neuron-device-9";
    api.claim[1].result[2].request = "req";
    api.claim[1].result[2].device = "neuron-device-8";
    node_up();
    log_forget();
}

static struct disk_file *file_of(unsigned n, unsigned at)
{
    char name[CDI_FILE_NAME_CAP];
    metadata_file_name(DRIVER_NEURON, api.claim[n].uid, at, name);
    return disk_find(FILES_CDI, name);
}

static unsigned files(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < disk.top; i++) {
        const struct disk_file *f = &disk.file[i];
        n += (f->used && f->dir == FILES_CDI &&
              view_starts(view_text(f->name), METADATA_FILE_PREFIX))
                 ? 1u
                 : 0u;
    }
    return n;
}

/* The whole file as text; valid until the call after the next. */
static const char *text_in(const struct disk_file *f)
{
    static char text[2][65536];
    static unsigned turn;
    turn = 1u - turn;
    struct writer w = writer_of(text[turn], sizeof text[turn]);
    assert_non_null(f);
    disk_get(f, 0, &w);
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    assert_int_equal(strlen(text[turn]), f->len);
    return text[turn];
}

static void assert_has(const struct disk_file *f, const char *text)
{
    if (strstr(text_in(f), text) == NULL) {
        fail_msg("%s is not in\n%s", text, text_in(f));
    }
}

#define PATH "/var/run/kubernetes.io/dra-device-attributes/"

static void test_come_and_go(void **state)
{
    (void)state;
    begin(true);
    prepare_well(0, CLAIMS);
    assert_int_equal(files(), FILES);
    assert_int_equal(disk_count(FILES_CDI), CLAIMS + FILES);
    assert_has(file_of(0, 0), "\"podClaimName\": \"neurons\"");
    assert_has(file_of(0, 0), "\"apiVersion\": \"metadata.resource.k8s.io/v1beta1\"");
    assert_has(file_of(0, 0), "\"apiVersion\": \"metadata.resource.k8s.io/v1alpha1\"");
    assert_has(file_of(0, 0), "\"topology_x\": {\n              \"int\": 0\n            }");
    assert_has(cdi_of(0), PATH "resourceclaimtemplates/neurons/req/neuron.aws.com-metadata.json\"");
    assert_has(cdi_of(0), "\"hostPath\":\"/var/run/cdi/neuron.aws.com-metadata_c1a10000-0000-4000-"
                          "8000-000000000000_0\"");
    assert_has(cdi_of(1), PATH "resourceclaims/claim-1/req/neuron.aws.com-metadata.json\"");
    assert_has(cdi_of(1), PATH "resourceclaims/claim-1/other/neuron.aws.com-metadata.json\"");
    assert_null(strstr(text_in(file_of(1, 0)), "podClaimName"));
    assert_null(strstr(text_in(file_of(1, 0)), "neuron-device-9"));
    assert_has(file_of(1, 0), "neuron-device-1");
    assert_has(file_of(1, 0), "neuron-device-8");
    assert_has(file_of(1, 1), "neuron-device-9");
    unprepare_well(0, CLAIMS);
    assert_int_equal(disk_count(FILES_CDI), 0);
}

/* Labels of the Node are attributes of the devices, in these files as in the slices. */
static void test_labels(void **state)
{
    (void)state;
    begin(true);
    api.label[LABEL_LAYER_1] = "nn-1";
    api.label[LABEL_LAYER_3] = "nn-3";
    api_node_touch();
    pass(500);
    prepare_well(0, 1);
    assert_has(file_of(0, 0), "\"networkNodeLayer1\": {\n              \"string\": \"nn-1\"\n");
    assert_has(file_of(0, 0), "\"networkNodeLayer3\": {\n              \"string\": \"nn-3\"\n");
    assert_null(strstr(text_in(file_of(0, 0)), "networkNodeLayer2"));
    api.label[LABEL_LAYER_3] = NULL;
    api_node_touch();
    pass(ROUND);
    assert_has(file_of(0, 0), "networkNodeLayer1");
    assert_null(strstr(text_in(file_of(0, 0)), "networkNodeLayer3"));
}

static void test_not_asked_for(void **state)
{
    (void)state;
    begin(false);
    prepare_well(0, CLAIMS);
    assert_int_equal(disk_count(FILES_CDI), CLAIMS);
    assert_null(strstr(text_in(cdi_of(0)), "mounts"));
    assert_null(strstr(text_in(cdi_of(0)), "metadata"));
}

/* The flag counts when a claim is prepared: both kinds stay what they are. */
static void test_flag_changes(void **state)
{
    char before[8192];
    (void)state;
    begin(true);
    prepare_well(0, 1);
    (void)snprintf(before, sizeof before, "%s", text_in(cdi_of(0)));
    set(false);
    restart();
    register_driver();
    pass(3000);
    prepare_well(0, 2);
    assert_string_equal(text_in(cdi_of(0)), before);
    assert_int_equal(files(), 1);
    set(true);
    restart();
    register_driver();
    pass(3000);
    prepare_well(0, 2);
    assert_int_equal(files(), 1);
    unprepare_well(0, 2);
    assert_int_equal(disk_count(FILES_CDI), 0);
}

/* --- what is lost comes back --- */

static void test_lost_and_changed_files(void **state)
{
    char before[65536];
    (void)state;
    begin(true);
    prepare_well(0, CLAIMS);
    (void)snprintf(before, sizeof before, "%s", text_in(file_of(1, 0)));
    disk_unlink(file_of(1, 0));
    disk_unlink(file_of(0, 0));
    pass(ROUND);
    assert_int_equal(files(), FILES);
    assert_string_equal(text_in(file_of(1, 0)), before);
    assert_int_equal(said("event=cdi_file_rebuilt"), 2);
    file_fill(file_of(1, 0), 500, 'x', 3);
    disk_set_len(file_of(1, 1), 700);
    disk_set(file_of(2, 0), file_of(2, 0)->len, view_text("{}"));
    file_fill(file_of(0, 0), 0, ' ', 10);
    pass(ROUND);
    assert_string_equal(text_in(file_of(1, 0)), before);
    assert_true(file_of(1, 1)->len > 1000);
    assert_null(strstr(text_in(file_of(2, 0)), "{}"));
    log_forget();
    pass(ROUND);
    assert_int_equal(said("event=cdi_file_rebuilt"), 0);
}

static void empty_root(void)
{
    for (unsigned i = 0; i < disk.top; i++) {
        if (disk.file[i].used && disk.file[i].dir == FILES_CDI) {
            disk_unlink(&disk.file[i]);
        }
    }
}

static void test_lost_root(void **state)
{
    char before[65536];
    (void)state;
    begin(true);
    prepare_well(0, CLAIMS);
    (void)snprintf(before, sizeof before, "%s", text_in(file_of(1, 0)));
    kill_agent();
    empty_root();
    start();
    register_driver();
    pass(3000);
    assert_int_equal(files(), FILES);
    assert_string_equal(text_in(file_of(1, 0)), before);
    empty_root();
    prepare_well(0, CLAIMS);
    assert_int_equal(files(), FILES);
    assert_string_equal(text_in(file_of(1, 0)), before);
}

/* Neither store nor files: the API server's list has the annotation too. */
static void test_lost_store(void **state)
{
    char before[65536];
    (void)state;
    begin(true);
    prepare_well(0, CLAIMS);
    (void)snprintf(before, sizeof before, "%s", text_in(file_of(0, 0)));
    api.lists_claims = true;
    kill_agent();
    disk_unlink(disk_find(FILES_STATE, STORE_FILE_NAME));
    empty_root();
    start();
    register_driver();
    pass(3000);
    assert_int_equal(held(), CLAIMS);
    assert_int_equal(files(), FILES);
    assert_string_equal(text_in(file_of(0, 0)), before);
    assert_null(strstr(text_in(file_of(1, 0)), "podClaimName"));
}

/* The CDI file alone brings a claim back with all that it had. */
static void test_lost_store_alone(void **state)
{
    (void)state;
    begin(true);
    prepare_well(0, CLAIMS);
    kill_agent();
    disk_unlink(disk_find(FILES_STATE, STORE_FILE_NAME));
    start();
    assert_int_equal(held(), CLAIMS);
    assert_int_equal(files(), FILES);
    disk_unlink(file_of(0, 0));
    pass(ROUND);
    assert_has(file_of(0, 0), "\"podClaimName\": \"neurons\"");
    assert_has(cdi_of(0), "resourceclaimtemplates/neurons/");
}

/* --- devices that are gone --- */

static void test_device_gone(void **state)
{
    char before[65536];
    (void)state;
    begin(true);
    prepare_well(0, CLAIMS);
    (void)snprintf(before, sizeof before, "%s", text_in(file_of(0, 0)));
    kill_agent();
    for (unsigned i = 0; i + 1u < world.found.count; i++) { /* device 0 is the first one */
        world.found.devices[i] = world.found.devices[i + 1u];
    }
    world.found.count--;
    start();
    register_driver();
    pass(ROUND);
    assert_string_equal(text_in(file_of(0, 0)), before);
}

/* --- files that nobody has --- */

static void test_strays(void **state)
{
    (void)state;
    begin(true);
    prepare_well(0, 1);
    (void)disk_make(FILES_CDI, METADATA_FILE_PREFIX "0000_0");
    (void)disk_make(FILES_CDI, METADATA_FILE_PREFIX "1111_31");
    (void)disk_make(FILES_CDI, METADATA_FILE_PREFIX "not-ours");
    (void)disk_make(FILES_CDI, EFA_METADATA_FILE_PREFIX "2222_0");
    /* a CDI file that cannot be read may be used by a container, and so may this */
    (void)disk_make(FILES_CDI, METADATA_FILE_PREFIX "3333_0");
    (void)disk_make(FILES_CDI, CDI_FILE_PREFIX "3333.json");
    set(false);
    restart();
    pass(3000);
    assert_null(disk_find(FILES_CDI, METADATA_FILE_PREFIX "0000_0"));
    assert_null(disk_find(FILES_CDI, METADATA_FILE_PREFIX "1111_31"));
    assert_non_null(disk_find(FILES_CDI, METADATA_FILE_PREFIX "not-ours"));
    assert_non_null(disk_find(FILES_CDI, EFA_METADATA_FILE_PREFIX "2222_0"));
    assert_non_null(disk_find(FILES_CDI, METADATA_FILE_PREFIX "3333_0"));
    assert_non_null(file_of(0, 0));
}

/* --- disks that refuse, and kills --- */

static void test_refused(void **state)
{
    (void)state;
    begin(true);
    prepare_well(0, 1);
    disk_refuse(FILES_CDI, HOST_NO_SPACE);
    struct view reply = prepare_now(1, 1);
    assert_non_null(strstr(prepare_error(reply, 1), "device metadata file /var/run/cdi/"));
    assert_non_null(strstr(prepare_error(reply, 1), "free space there"));
    assert_int_equal(held(), 1);
    assert_int_equal(disk_count(FILES_CDI), 2);
    disk_refuse(FILES_CDI, STATUS_OK);
    prepare_well(1, 1);
    assert_int_equal(files(), 3);
}

/* Each change of the CDI root fails in turn: all of a claim is there, or nothing. */
static void test_each_refusal(void **state)
{
    unsigned at = 1;
    bool failed = true;
    (void)state;
    begin(true);
    for (; failed && at < FAULTS_MAX; at++) {
        disk_fault(FAULT_ERROR, at, true, HOST_NO_SPACE);
        struct view reply = prepare_now(1, 1);
        failed = disk.calls >= at;
        disk_fault(FAULT_NONE, 0, false, STATUS_OK);
        bool prepared = prepare_error(reply, 1)[0] == '\0';
        assert_int_equal(held(), prepared ? 1 : 0);
        assert_int_equal(files(), prepared ? 2 : 0);
        if (prepared) {
            unprepare_well(1, 1);
        }
        pass(2u * STORE_FLUSH_MS); /* a tombstone goes with a flush */
        assert_int_equal(disk_count(FILES_CDI), 0);
    }
    assert_true(at > 8u && at < FAULTS_MAX);
}

/* The same UID has another allocation, and its files are refused: those of the old one stay. */
static void test_replaced(void **state)
{
    char before[65536];
    (void)state;
    begin(true);
    prepare_well(0, 1);
    (void)snprintf(before, sizeof before, "%s", text_in(file_of(0, 0)));
    api.claim[0].result[0].device = "neuron-device-5";
    for (unsigned at = 4; at <= 6u; at++) {
        disk_fault(FAULT_ERROR, at, true, HOST_NO_SPACE);
        (void)prepare_soon(0, 1);
        disk_fault(FAULT_NONE, 0, false, STATUS_OK);
        bool old = strstr(text_in(cdi_of(0)), "neuron-device-0") != NULL;
        assert_int_equal(old, strcmp(text_in(file_of(0, 0)), before) == 0);
    }
    prepare_well(0, 1);
    assert_has(file_of(0, 0), "neuron-device-5");
}

static bool killed_in(const char *path)
{
    struct peer *p = service_open();
    (void)call_send(p, path, claims_request(0, CLAIMS));
    pass(3000);
    return world.was_killed;
}

static void check_each_file(void)
{
    assert_int_equal(disk_count(FILES_CDI), held() + files());
    for (unsigned n = 0; n < CLAIMS; n++) {
        bool there = cdi_of(n) != NULL;
        assert_int_equal(there, file_of(n, 0) != NULL);
        assert_int_equal(there && n == 1u, file_of(n, 1) != NULL);
    }
}

static void test_kills(void **state)
{
    static const enum fault kills[] = {FAULT_KILL_BEFORE, FAULT_KILL_TORN, FAULT_KILL_AFTER};
    static const char *const paths[] = {PREPARE, UNPREPARE};
    unsigned ended = 0;
    (void)state;
    begin(true);
    for (unsigned k = 0; k < 6u; k++) {
        bool killed = true;
        for (unsigned at = 1; killed && at < FAULTS_MAX; at++) {
            if (k % 2u == 1u) {
                prepare_well(0, CLAIMS);
            }
            disk_fault(kills[k / 2u], at, true, STATUS_OK);
            killed = killed_in(paths[k % 2u]);
            disk_fault(FAULT_NONE, 0, false, STATUS_OK);
            if (killed) {
                world.was_killed = false;
                up_again();
                ended++;
            }
            check_each_file();
            unprepare_well(0, CLAIMS);
            assert_int_equal(disk_count(FILES_CDI), 0);
        }
    }
    assert_true(ended > 50u);
}

/* Without a file that its CDI file mounts, a container cannot start: the prepare fails. */
static void test_prepare_on_a_full_disk(void **state)
{
    (void)state;
    begin(true);
    prepare_well(0, 1);
    disk_unlink(file_of(0, 0));
    disk_refuse(FILES_CDI, HOST_NO_SPACE);
    assert_non_null(strstr(prepare_error(prepare_now(0, 1), 0), "device metadata file"));
    assert_null(file_of(0, 0));
    disk_refuse(FILES_CDI, STATUS_OK);
    prepare_well(0, 1);
    assert_non_null(file_of(0, 0));
}

/* The CDI root refuses a file that is missing, in a round: a later round writes it. */
static void test_round_on_a_full_disk(void **state)
{
    (void)state;
    begin(true);
    prepare_well(0, 1);
    disk_unlink(file_of(0, 0));
    disk_refuse(FILES_CDI, HOST_NO_SPACE);
    pass(ROUND);
    log_has("event=cdi_file_failed");
    assert_null(file_of(0, 0));
    assert_non_null(cdi_of(0));
    assert_int_equal(held(), 1);
    disk_refuse(FILES_CDI, STATUS_OK);
    pass(ROUND);
    assert_non_null(file_of(0, 0));
}

/*
 * A claim that was allocated other devices gets no files, and its earlier record cannot be read:
 * the claim stays held, and the next round makes its files match the record.
 */
static void test_record_unreadable_beside_refused_files(void **state)
{
    (void)state;
    begin(true);
    prepare_well(0, 1);
    api.claim[0].result[0].device = "neuron-device-5";
    for (unsigned i = 0; i < LEDGER_RECORDS_MAX; i++) {
        world.agent->ledger->kept[i].sequence = 0;
    }
    disk_refuse(FILES_CDI, HOST_NO_SPACE);
    disk.refuse_read[FILES_STATE] = true;
    assert_string_not_equal(prepare_error(prepare_now(0, 1), 0), "");
    assert_int_equal(held(), 1);
    disk_refuse(FILES_CDI, STATUS_OK);
    disk.refuse_read[FILES_STATE] = false;
    pass(ROUND);
    assert_has(file_of(0, 0), "neuron-device-0");
    prepare_well(0, 1);
    assert_has(file_of(0, 0), "neuron-device-5");
}

/* Long paths and names make a CDI file too long: the claim gets no file at all. */
static void test_file_too_long(void **state)
{
    char text[CLAIM_ERROR_CAP] = "";
    struct writer why = writer_of(text, sizeof text - 1u);
    static struct claim_record r;
    const struct claim_record *held_record = NULL;
    char root[400] = "/";
    const char *const more[] = {"--device-metadata=true", "--cdi-root", root, "--dev-root", root};
    unsigned slot = 0;
    (void)state;
    memset(root + 1, 'c', sizeof root - 2u);
    root[sizeof root - 1u] = '\0';
    world_new();
    settings_set(more, 5);
    (void)claim_add(0);
    node_up();
    prepare_well(0, 1);
    slot = (unsigned)ledger_find(world.agent, api.claim[0].uid);
    assert_int_equal(ledger_read(world.agent, slot, &held_record), STATUS_OK);
    claim_record_copy(&r, held_record);
    unprepare_well(0, 1);
    r.count = RESULTS_MAX;
    memset(r.id.name, 'n', NAME_CAP - 1u);
    memset(r.pod_claim, 'p', sizeof r.pod_claim - 1u);
    for (unsigned i = 0; i < RESULTS_MAX; i++) {
        r.result[i] = r.result[0];
        r.result[i].number = (uint16_t)(i % 16u);
        memset(r.result[i].request, 'a' + (int)(i % 26u), REQUEST_BASE_CAP - 1u);
        r.result[i].request[0] = (char)('a' + (int)(i / 26u));
    }
    assert_int_equal(ledger_put(world.agent, &r, &slot, &why), FULL_BUFFER);
    assert_non_null(strstr(text, "CDI file would be over its limit; use fewer requests"));
    assert_int_equal(held(), 0);
    assert_int_equal(files(), 0);
    assert_null(cdi_of(0));
}

/* A claim for the whole node has the attributes of the node's device in its file. */
static void test_node_device(void **state)
{
    static const char *const more[] = {"--ultraserver-devices", "both", "--device-metadata=true"};
    (void)state;
    world_new();
    settings_set(more, 3);
    found_set("trn2u.48xlarge", 16, 8);
    for (unsigned n = 0; n < 16u; n++) {
        world.found.devices[n].reading = (struct device_reading){.known = true};
    }
    struct found_ultraserver *u = &world.found.ultraserver;
    (void)snprintf(u->modes, sizeof u->modes, "1,3,4");
    for (unsigned i = 0; i < ULTRASERVER_SIZES; i++) {
        (void)snprintf(u->node_id[i], sizeof u->node_id[i], "2");
        (void)snprintf(u->server_id[i], sizeof u->server_id[i], "00000000000000a%u", i);
    }
    claim_add(0)->result[0].device = "neuron-node";
    node_up();
    prepare_well(0, 1);
    assert_has(file_of(0, 0), "\"neuron-node\"");
    assert_has(file_of(0, 0),
               "\"instanceType\": {\n              \"string\": \"trn2u.48xlarge\"\n");
    unprepare_well(0, 1);
    assert_int_equal(files(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_come_and_go),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_not_asked_for),
        cmocka_unit_test(test_flag_changes),
        cmocka_unit_test(test_lost_and_changed_files),
        cmocka_unit_test(test_lost_root),
        cmocka_unit_test(test_lost_store),
        cmocka_unit_test(test_lost_store_alone),
        cmocka_unit_test(test_device_gone),
        cmocka_unit_test(test_strays),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_each_refusal),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_kills),
        cmocka_unit_test(test_round_on_a_full_disk),
        cmocka_unit_test(test_prepare_on_a_full_disk),
        cmocka_unit_test(test_record_unreadable_beside_refused_files),
        cmocka_unit_test(test_file_too_long),
        cmocka_unit_test(test_node_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
