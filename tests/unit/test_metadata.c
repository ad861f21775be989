/* SPDX-License-Identifier: Apache-2.0 */
/* Device metadata files: names, paths, their exact bytes; and what store and CDI file keep. */
#include "tests/unit/node/claim_harness.h"

#include "dra/metadata.h"
#include "dra/store.h"

static struct devices devices;
static struct attributes attributes;
static char text[METADATA_PART_MAX * 64u];

/* The whole file of the request of result `at`; each part has a buffer of its own size. */
static const char *file_of(const struct claim_record *r, unsigned at, const char *driver)
{
    static char part[METADATA_PART_MAX];
    struct metadata_parts parts = {.record = r,
                                   .devices = &devices,
                                   .driver = driver,
                                   .attributes = &attributes,
                                   .first = at,
                                   .next = at};
    struct writer whole = writer_of(text, sizeof text);
    struct writer out = writer_of(part, sizeof part);
    while (metadata_next(&parts, &out)) {
        assert_false(out.full);
        writer_append(&whole, writer_view(&out));
        out = writer_of(part, sizeof part);
    }
    assert_int_equal(out.len, 0);
    assert_int_equal(writer_end_text(&whole), STATUS_OK);
    return text;
}

static void test_names(void **state)
{
    static const char *const others[] = {
        "", "neuron.aws.com-metadata_", "neuron.aws.com-metadata_abc", "neuron.aws.com-claim_abc_0",
        "efa.networking.k8s.aws-metadata_abc_0"};
    char name[CDI_FILE_NAME_CAP];
    char uid[UID_CAP];
    struct claim_record r;
    (void)state;
    metadata_file_name(DRIVER_NEURON, UID, 3, name);
    assert_string_equal(name, "neuron.aws.com-metadata_" UID "_3");
    assert_true(metadata_name_uid(DRIVER_NEURON, name, uid));
    assert_string_equal(uid, UID);
    assert_false(metadata_name_uid(DRIVER_EFA, name, uid));
    for (unsigned i = 0; i < COUNT(others); i++) {
        assert_false(metadata_name_uid(DRIVER_NEURON, others[i], uid));
    }
    fill_longest(&r);
    metadata_file_name(DRIVER_EFA, r.id.uid, RESULTS_MAX - 1u, name);
    assert_true(metadata_name_uid(DRIVER_EFA, name, uid));
    assert_string_equal(uid, r.id.uid);
    assert_false(cdi_name_uid(DRIVER_EFA, name, CDI_FILE_SUFFIX, uid));
}

static void test_paths(void **state)
{
    char path[METADATA_PATH_CAP];
    struct claim_record r;
    (void)state;
    record_begin(&r);
    record_add(&r, "train", 0);
    r.metadata = true;
    struct writer w = writer_of(path, sizeof path);
    metadata_container_path(&r, 0, "dra.net", &w);
    assert_string_equal(text_of(writer_view(&w)),
                        "/var/run/kubernetes.io/dra-device-attributes/resourceclaims/llama-0/train/"
                        "dra.net-metadata.json");
    text_set(r.pod_claim, sizeof r.pod_claim, "efa");
    w = writer_of(path, sizeof path);
    metadata_container_path(&r, 0, "dra.net", &w);
    assert_string_equal(text_of(writer_view(&w)),
                        "/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/efa/"
                        "train/dra.net-metadata.json");
}

/* Whoever makes a claim by hand writes what he likes into its annotations. */
static void test_annotations(void **state)
{
    static const char key[] = "resource.kubernetes.io/pod-claim-name";
    static const char *const bad[] = {"",
                                      "..",
                                      "a/b",
                                      "a.b",
                                      "-a",
                                      "a-",
                                      "a b",
                                      "\xc3\xa4",
                                      "a234567890123456789012345678901234567890123456789012345678"
                                      "901234"};
    char name[NAMESPACE_CAP] = "";
    (void)state;
    for (unsigned i = 0; i < COUNT(bad); i++) {
        metadata_annotation(view_text(key), view_text(bad[i]), name);
        assert_string_equal(name, "");
    }
    metadata_annotation(view_text("example.com/pod-claim-name"), view_text("neurons"), name);
    assert_string_equal(name, "");
    metadata_annotation(view_text(key), view_text("neurons"), name);
    assert_string_equal(name, "neurons");
}

#define HEAD(version)                                                                              \
    "{\n"                                                                                          \
    "  \"kind\": \"DeviceMetadata\",\n"                                                            \
    "  \"apiVersion\": \"metadata.resource.k8s.io/" version "\",\n"                                \
    "  \"metadata\": {\n"                                                                          \
    "    \"name\": \"llama-0\",\n"                                                                 \
    "    \"namespace\": \"training\",\n"                                                           \
    "    \"uid\": \"" UID "\",\n"                                                                  \
    "    \"generation\": 1\n"                                                                      \
    "  },\n"
#define NEURON                                                                                     \
    "  \"podClaimName\": \"neurons\",\n"                                                           \
    "  \"requests\": [\n"                                                                          \
    "    {\n"                                                                                      \
    "      \"name\": \"train\",\n"                                                                 \
    "      \"devices\": [\n"                                                                       \
    "        {\n"                                                                                  \
    "          \"driver\": \"neuron.aws.com\",\n"                                                  \
    "          \"pool\": \"node-1\",\n"                                                            \
    "          \"name\": \"neuron-device-0\",\n"                                                   \
    "          \"attributes\": {\n"                                                                \
    "            \"coreCount\": {\n"                                                               \
    "              \"int\": 2\n"                                                                   \
    "            },\n"                                                                             \
    "            \"deviceId\": {\n"                                                                \
    "              \"int\": 0\n"                                                                   \
    "            },\n"                                                                             \
    "            \"draDriverVersion\": {\n"                                                        \
    "              \"version\": \"" AGENT_VERSION "\"\n"                                           \
    "            },\n"                                                                             \
    "            \"instanceType\": {\n"                                                            \
    "              \"string\": \"trn1.2xlarge\"\n"                                                 \
    "            },\n"                                                                             \
    "            \"lncConfigurable\": {\n"                                                         \
    "              \"bool\": false\n"                                                              \
    "            },\n"                                                                             \
    "            \"logicalCores\": {\n"                                                            \
    "              \"string\": \"0-1\"\n"                                                          \
    "            },\n"                                                                             \
    "            \"logicalNeuronCore\": {\n"                                                       \
    "              \"int\": 1\n"                                                                   \
    "            },\n"                                                                             \
    "            \"neuronDriverVersion\": {\n"                                                     \
    "              \"string\": \"2.21\\\"\\u003c\\u003e\\u0026\"\n"                                \
    "            },\n"                                                                             \
    "            \"resourceType\": {\n"                                                            \
    "              \"string\": \"neuron_device\"\n"                                                \
    "            }\n"                                                                              \
    "          }\n"                                                                                \
    "        },\n"                                                                                 \
    "        {\n"                                                                                  \
    "          \"driver\": \"neuron.aws.com\",\n"                                                  \
    "          \"pool\": \"node-1\",\n"                                                            \
    "          \"name\": \"neuron-device-7\"\n"                                                    \
    "        }\n"                                                                                  \
    "      ]\n"                                                                                    \
    "    }\n"                                                                                      \
    "  ]\n"                                                                                        \
    "}\n"

/* Two devices, of which one is gone; what the device of another request is, is not said. */
static void test_whole_file(void **state)
{
    struct claim_record r;
    (void)state;
    fill_devices(&devices, &trn1, 0, 1);
    devices.device[0].core_count = 2;
    text_set(devices.driver_version, sizeof devices.driver_version, "2.21\"<>&");
    record_begin(&r);
    r.metadata = true;
    text_set(r.pod_claim, sizeof r.pod_claim, "neurons");
    record_add(&r, "other", 0);
    record_add(&r, "train", 0);
    record_add(&r, "other", 9);
    record_add(&r, "train", 7);
    assert_string_equal(file_of(&r, 1, DRIVER_NAME),
                        HEAD("v1beta1") NEURON HEAD("v1alpha1") NEURON);
    assert_false(metadata_known(&r, 1, &devices));
    r.count = 3;
    assert_true(metadata_known(&r, 1, &devices));
    assert_false(metadata_known(&r, 0, &devices));
    assert_null(strstr(file_of(&r, 1, DRIVER_NAME), "neuron-device-9"));
}

static void test_efa(void **state)
{
    struct claim_record r;
    (void)state;
    memset(&devices, 0, sizeof devices);
    devices.driver = DRIVER_EFA;
    devices.count = 1;
    struct device *d = &devices.device[0];
    d->efa = (struct efa_function){.address = 0x00cac0u, .uverbs = 2, .subsystem = 0xefa1};
    text_set(d->name, sizeof d->name, "pci-0000-00-19-0");
    record_begin(&r);
    r.driver = DRIVER_EFA;
    r.metadata = true;
    struct claim_result *to = record_add(&r, "nic", 0);
    to->efa_address = d->efa.address;
    to->uverbs = 2;
    claim_device_name(to, d->name);
    const char *file = file_of(&r, 0, "dra.net");
    assert_non_null(strstr(file, "\"driver\": \"dra.net\""));
    assert_non_null(strstr(file, "\"dra.net/pciAddress\": {\n              \"string\": \"0000:"));
    assert_non_null(strstr(file, "\"dra.net/rdma\": {\n              \"bool\": true\n"));
    assert_null(strstr(file, "podClaimName"));
    assert_null(strstr(file, "memory"));
}

/* The longest part has room, and so has the longest record with all of its requests. */
static void test_longest(void **state)
{
    static char file[CDI_BYTES_MAX];
    static uint8_t room[STORE_RECORD_MAX];
    struct claim_record r;
    struct claim_record back;
    (void)state;
    fill_devices(&devices, &trn2, DEVICES_MAX - RESULTS_MAX, RESULTS_MAX);
    memset(devices.driver_version, '<', sizeof devices.driver_version - 1);
    memset(devices.instance_type, '<', sizeof devices.instance_type - 1);
    fill_longest(&r);
    assert_true(claim_record_valid(&r));
    assert_non_null(strstr(file_of(&r, 7, "dra.net"), "neuron-device-39"));
    for (unsigned i = 1; i < r.count; i++) {
        text_set(r.result[i].request, sizeof r.result[i].request, r.result[0].request);
    }
    assert_non_null(strstr(file_of(&r, 0, "dra.net"), "neuron-device-63"));
    fill_longest(&r);
    r.metadata = true;
    fill_name(r.pod_claim, sizeof r.pod_claim, 'c');
    struct writer w = writer_of(room, sizeof room);
    assert_int_equal(store_record_encode(&r, &w), STATUS_OK);
    assert_int_equal(store_record_decode(writer_view(&w), &back), STATUS_OK);
    assert_same_record(&r, &back);
    /* 32 requests of the names that people give */
    record_begin(&r);
    r.metadata = true;
    text_set(r.pod_claim, sizeof r.pod_claim, "llama-70b-training-neurons");
    for (unsigned i = 0; i < RESULTS_MAX; i++) {
        (void)snprintf(record_add(&r, "", i)->request, REQUEST_BASE_CAP, "neuron-devices-%02u", i);
    }
    w = writer_of(file, sizeof file);
    const struct cdi_host host = {
        .dev_root = "/dev", .cdi_root = "/var/run/cdi", .driver = DRIVER_NAME};
    assert_int_equal(cdi_write(&r, &host, &w), STATUS_OK);
}

/* With and without files, from a template and not. */
static void test_kept(void **state)
{
    static const char *const names[] = {"", "neurons"};
    static char file[CDI_BYTES_MAX];
    static uint8_t room[STORE_RECORD_MAX];
    struct claim_record r;
    struct claim_record back;
    (void)state;
    const struct cdi_host host = {
        .dev_root = "/dev", .cdi_root = "/var/run/cdi", .driver = DRIVER_NAME};
    for (unsigned i = 0; i < 3u; i++) {
        record_begin(&r);
        record_add(&r, "train", 0);
        r.metadata = i < 2u;
        text_set(r.pod_claim, sizeof r.pod_claim, r.metadata ? names[i] : "");
        struct writer w = writer_of(room, sizeof room);
        assert_int_equal(store_record_encode(&r, &w), STATUS_OK);
        assert_int_equal(store_record_decode(writer_view(&w), &back), STATUS_OK);
        assert_same_record(&r, &back);
        w = writer_of(file, sizeof file);
        assert_int_equal(cdi_write(&r, &host, &w), STATUS_OK);
        assert_int_equal(strstr(file, "mounts") != NULL, r.metadata);
        assert_int_equal(cdi_read(writer_view(&w), &back), STATUS_OK);
        assert_same_record(&r, &back);
        memset(file, 0, sizeof file);
    }
    r.metadata = true;
    text_set(r.pod_claim, sizeof r.pod_claim, "../x");
    assert_false(claim_record_valid(&r));
    r.metadata = false;
    text_set(r.pod_claim, sizeof r.pod_claim, "neurons");
    assert_false(claim_record_valid(&r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),       cmocka_unit_test(test_paths),
        cmocka_unit_test(test_annotations), cmocka_unit_test(test_whole_file),
        cmocka_unit_test(test_efa),         cmocka_unit_test(test_longest),
        cmocka_unit_test(test_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
