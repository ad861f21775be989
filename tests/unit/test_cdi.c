/* SPDX-License-Identifier: Apache-2.0 */
/* CDI files: their exact bytes, what each container gets, and their annotations. */
#include "tests/unit/node/claim_harness.h"

#include "base/json.h"

static char file[CDI_BYTES_MAX];

static const char *write_file(const struct claim_record *r, const char *dev_root)
{
    struct writer w = writer_of(file, sizeof file);
    assert_int_equal(cdi_write(r, &(struct cdi_host){.dev_root = dev_root}, &w), STATUS_OK);
    return text_of(writer_view(&w));
}

static void test_names(void **state)
{
    char name[CDI_FILE_NAME_CAP];
    char id[CDI_ID_CAP];
    struct claim_record longest;
    (void)state;
    cdi_file_name(DRIVER_NEURON, UID, name);
    assert_string_equal(name, "neuron.aws.com-claim_" UID ".json");
    cdi_device_id(DRIVER_NEURON, UID, "train", id);
    assert_string_equal(id, "neuron.aws.com/claim=" UID "-train");
    fill_longest(&longest);
    cdi_file_name(DRIVER_NEURON, longest.id.uid, name);
    assert_int_equal(strlen(name), strlen("neuron.aws.com-claim_.json") + UID_CAP - 1);
    cdi_device_id(DRIVER_NEURON, longest.id.uid, longest.result[0].request, id);
    assert_int_equal(strlen(id),
                     strlen("neuron.aws.com/claim=-") + UID_CAP - 1 + REQUEST_BASE_CAP - 1);
}

static const char whole_file[] =
    "{\n"
    "  \"cdiVersion\": \"0.6.0\",\n"
    "  \"kind\": \"neuron.aws.com/claim\",\n"
    "  \"annotations\": {\n"
    "    \"neuron.aws.com/claim-namespace\": \"training\",\n"
    "    \"neuron.aws.com/claim-name\": \"llama-0\",\n"
    "    \"neuron.aws.com/claim-uid\": \"" UID "\",\n"
    "    \"neuron.aws.com/pool\": \"node-1\",\n"
    "    \"neuron.aws.com/boot-id\": \"" BOOT_ID "\",\n"
    "    \"neuron.aws.com/device-numbering\": \"host\",\n"
    "    \"neuron.aws.com/result-0\": \"{\\\"request\\\":\\\"train\\\",\\\"device\\\":"
    "\\\"neuron-device-8\\\",\\\"logicalNeuronCore\\\":1}\",\n"
    "    \"neuron.aws.com/result-1\": \"{\\\"request\\\":\\\"train\\\",\\\"device\\\":"
    "\\\"neuron-device-4\\\",\\\"logicalNeuronCore\\\":1}\",\n"
    "    \"neuron.aws.com/result-2\": \"{\\\"request\\\":\\\"probe\\\",\\\"device\\\":"
    "\\\"neuron-device-8\\\",\\\"adminAccess\\\":true,\\\"shareID\\\":\\\"" SHARE_ID "\\\"}\"\n"
    "  },\n"
    "  \"devices\": [\n"
    "    {\n"
    "      \"name\": \"" UID "-train\",\n"
    "      \"containerEdits\": {\n"
    "        \"env\": [\n"
    "          \"NEURON_LOGICAL_NC_CONFIG=1\"\n"
    "        ],\n"
    "        \"deviceNodes\": [\n"
    "          {\n"
    "            \"path\": \"/dev/neuron8\",\n"
    "            \"hostPath\": \"/sim/dev/neuron8\",\n"
    "            \"permissions\": \"rw\"\n"
    "          },\n"
    "          {\n"
    "            \"path\": \"/dev/neuron4\",\n"
    "            \"hostPath\": \"/sim/dev/neuron4\",\n"
    "            \"permissions\": \"rw\"\n"
    "          }\n"
    "        ]\n"
    "      }\n"
    "    },\n"
    "    {\n"
    "      \"name\": \"" UID "-probe\",\n"
    "      \"containerEdits\": {\n"
    "        \"deviceNodes\": [\n"
    "          {\n"
    "            \"path\": \"/dev/neuron8\",\n"
    "            \"hostPath\": \"/sim/dev/neuron8\",\n"
    "            \"permissions\": \"rw\"\n"
    "          }\n"
    "        ]\n"
    "      }\n"
    "    }\n"
    "  ]\n"
    "}\n";

static void test_whole_file(void **state)
{
    struct claim_record r;
    (void)state;
    record_begin(&r);
    record_add(&r, "train", 8)->logical_neuron_core = 1;
    record_add(&r, "train", 4)->logical_neuron_core = 1;
    struct claim_result *probe = record_add(&r, "probe", 8);
    probe->admin_access = true;
    memcpy(probe->share_id, SHARE_ID, sizeof SHARE_ID);
    assert_string_equal(write_file(&r, "/sim/dev"), whole_file);
}

/* What a container with a part of a device sees: as the runtime counts cores, from 0 on. */
static void test_visible_cores(void **state)
{
    static const struct {
        uint8_t cores;
        uint8_t lnc;
        const char *env;
    } rows[] = {
        {2, 0, "\"NEURON_RT_VISIBLE_CORES=1\""},
        {3, 2, "\"NEURON_LOGICAL_NC_CONFIG=2\",\n          \"NEURON_RT_VISIBLE_CORES=0\""},
        {0x3c, 2, "\"NEURON_LOGICAL_NC_CONFIG=2\",\n          \"NEURON_RT_VISIBLE_CORES=1-2\""},
    };
    struct claim_record r;
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        record_begin(&r);
        struct claim_result *to = record_add(&r, "a", 3);
        r.zero_numbering = true;
        to->cores = rows[i].cores;
        to->logical_neuron_core = rows[i].lnc;
        memcpy(to->share_id, SHARE_ID, sizeof SHARE_ID);
        const char *text = write_file(&r, "/dev");
        assert_non_null(strstr(text, rows[i].env));
        assert_non_null(strstr(text, "\"path\": \"/dev/neuron0\""));
        assert_non_null(strstr(text, "\"hostPath\": \"/dev/neuron3\""));
    }
}

static void test_repeats_byte_for_byte(void **state)
{
    static char first[CDI_BYTES_MAX];
    struct claim_record r;
    (void)state;
    record_begin(&r);
    (void)record_add(&r, "a", 3);
    (void)snprintf(first, sizeof first, "%s", write_file(&r, "/dev"));
    struct claim_record again;
    memset(&again, 0x5a, sizeof again); /* what the record does not mean must not show */
    again = r;
    memset(again.result[0].request + 2, 'z', sizeof again.result[0].request - 3);
    memset(&again.result[1], 0x5a, sizeof again.result[1]);
    assert_string_equal(write_file(&again, "/dev"), first);
}

/* --- a small reader of the file, that knows only JSON --- */

struct node {
    char device[160]; /* CDI device */
    char path[64];
    char host[64];
};

struct content {
    unsigned nodes;
    struct node node[RESULTS_MAX * 2];
    unsigned devices;
    unsigned envs;
    char env[RESULTS_MAX * 4][64];
    unsigned annotations;
    char key[RESULTS_MAX + 9][64];
    char value[RESULTS_MAX + 9][512];
};

static void copy_string(char *to, size_t cap, struct view raw)
{
    struct writer w = writer_of(to, cap);
    assert_int_equal(json_unescape(raw, &w), STATUS_OK);
    assert_int_equal(writer_end_text(&w), STATUS_OK);
}

static void take_string(struct content *c, const char *section, const char *name, struct view raw)
{
    static char device[160];
    if (strcmp(section, "annotations") == 0) {
        copy_string(c->key[c->annotations], sizeof c->key[0], view_text(name));
        copy_string(c->value[c->annotations], sizeof c->value[0], raw);
        c->annotations++;
    } else if (strcmp(name, "name") == 0) {
        copy_string(device, sizeof device, raw);
        c->devices++;
    } else if (strcmp(name, "path") == 0) {
        memcpy(c->node[c->nodes].device, device, sizeof device);
        copy_string(c->node[c->nodes].path, sizeof c->node[0].path, raw);
    } else if (strcmp(name, "hostPath") == 0) {
        copy_string(c->node[c->nodes].host, sizeof c->node[0].host, raw);
        c->nodes++;
    } else if (strcmp(section, "env") == 0) {
        copy_string(c->env[c->envs], sizeof c->env[0], raw);
        c->envs++;
    }
}

static void read_file(const char *text, struct content *c)
{
    struct json_reader r;
    struct json_token t = {.kind = JSON_NULL};
    char name[128] = "";
    char section[128] = ""; /* name of the container under way */
    memset(c, 0, sizeof *c);
    json_open(&r, view_text(text));
    for (size_t i = 0; t.kind != JSON_END; i++) {
        assert_true(i < strlen(text));
        assert_int_equal(json_next(&r, &t), STATUS_OK);
        if (t.kind == JSON_NAME) {
            copy_string(name, sizeof name, t.text);
        } else if (t.kind == JSON_OBJECT_BEGIN || t.kind == JSON_ARRAY_BEGIN) {
            memcpy(section, name, sizeof name);
        } else if (t.kind == JSON_ARRAY_END || t.kind == JSON_OBJECT_END) {
            section[0] = 0;
        } else if (t.kind == JSON_STRING) {
            take_string(c, section, name, t.text);
        }
    }
}

static void test_zero_numbering(void **state)
{
    static struct content c;
    struct claim_record r;
    (void)state;
    record_begin(&r);
    r.zero_numbering = true;
    (void)record_add(&r, "a", 12);
    (void)record_add(&r, "b", 3);
    (void)record_add(&r, "a", 7);
    record_add(&r, "w", 12)->admin_access = true;
    (void)record_add(&r, "b", 63);
    read_file(write_file(&r, "/dev"), &c);
    static const struct node expected[] = {
        {UID "-a", "/dev/neuron2", "/dev/neuron12"}, {UID "-a", "/dev/neuron1", "/dev/neuron7"},
        {UID "-b", "/dev/neuron0", "/dev/neuron3"},  {UID "-b", "/dev/neuron3", "/dev/neuron63"},
        {UID "-w", "/dev/neuron2", "/dev/neuron12"},
    };
    assert_int_equal(c.nodes, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++) {
        assert_string_equal(c.node[i].device, expected[i].device);
        assert_string_equal(c.node[i].path, expected[i].path);
        assert_string_equal(c.node[i].host, expected[i].host);
    }
    assert_int_equal(c.devices, 3);
    assert_non_null(strstr(file, "\"neuron.aws.com/device-numbering\": \"zero\""));
    r.first_number = 5; /* another claim of the pod has the numbers before */
    read_file(write_file(&r, "/dev"), &c);
    assert_string_equal(c.node[0].path, "/dev/neuron7");
    assert_string_equal(c.node[3].path, "/dev/neuron8");
    assert_non_null(strstr(file, "\"neuron.aws.com/device-numbering\": \"zero+5\""));
    assert_true(claim_container_numbers(&r) == UINT64_C(0xf) << 5);
    r.zero_numbering = false;
    r.first_number = 0;
    assert_true(claim_container_numbers(&r) == claim_all_numbers(&r));
}

static void test_shares_of_one_device_are_one_node(void **state)
{
    static struct content c;
    struct claim_record r;
    (void)state;
    record_begin(&r);
    memcpy(record_add(&r, "a", 5)->share_id, "s1", 3);
    memcpy(record_add(&r, "a", 5)->share_id, "s2", 3);
    memcpy(record_add(&r, "b", 5)->share_id, "s3", 3);
    read_file(write_file(&r, "/dev"), &c);
    assert_int_equal(c.nodes, 2);
    assert_string_equal(c.node[0].device, UID "-a");
    assert_string_equal(c.node[1].device, UID "-b");
    assert_int_equal(c.annotations, 6 + 3);
}

static void test_environment_by_request(void **state)
{
    static struct content c;
    struct claim_record r;
    (void)state;
    record_begin(&r);
    record_add(&r, "a", 0)->logical_neuron_core = 2;
    (void)record_add(&r, "b", 1);
    record_add(&r, "c", 2)->logical_neuron_core = 1;
    read_file(write_file(&r, "/dev"), &c);
    assert_int_equal(c.devices, 3);
    assert_int_equal(c.envs, 2);
    assert_string_equal(c.env[0], "NEURON_LOGICAL_NC_CONFIG=2");
    assert_string_equal(c.env[1], "NEURON_LOGICAL_NC_CONFIG=1");
    assert_non_null(strstr(file, "\"containerEdits\""));
    assert_null(strstr(file, "\n  \"containerEdits\"")); /* nothing for the file as a whole */
}

/* --- the node of an UltraServer --- */

static void test_node(void **state)
{
    static const char expected[] =
        "{\n"
        "  \"cdiVersion\": \"0.6.0\",\n"
        "  \"kind\": \"neuron.aws.com/claim\",\n"
        "  \"annotations\": {\n"
        "    \"neuron.aws.com/claim-namespace\": \"training\",\n"
        "    \"neuron.aws.com/claim-name\": \"llama-0\",\n"
        "    \"neuron.aws.com/claim-uid\": \"" UID "\",\n"
        "    \"neuron.aws.com/pool\": \"node-1\",\n"
        "    \"neuron.aws.com/boot-id\": \"" BOOT_ID "\",\n"
        "    \"neuron.aws.com/device-numbering\": \"host\",\n"
        "    \"neuron.aws.com/node-devices\": \"0,5\",\n"
        "    \"neuron.aws.com/ultraserver-mode\": \"1\",\n"
        "    \"neuron.aws.com/ultraserver-server-id\": \"0123456789abcdef\",\n"
        "    \"neuron.aws.com/ultraserver-node-id\": \"1\",\n"
        "    \"neuron.aws.com/result-0\": \"{\\\"request\\\":\\\"neurons\\\",\\\"device\\\":"
        "\\\"neuron-node\\\",\\\"logicalNeuronCore\\\":1,\\\"ultraserverMode\\\":4}\"\n"
        "  },\n"
        "  \"devices\": [\n"
        "    {\n"
        "      \"name\": \"" UID "-neurons\",\n"
        "      \"containerEdits\": {\n"
        "        \"env\": [\n"
        "          \"NEURON_LOGICAL_NC_CONFIG=1\",\n"
        "          \"NEURON_RT_ULTRASERVER_MODE=1\",\n"
        "          \"NEURON_RT_ULTRASERVER_SERVER_ID=0123456789abcdef\",\n"
        "          \"NEURON_RT_ULTRASERVER_NODE_ID=1\"\n"
        "        ],\n"
        "        \"deviceNodes\": [\n"
        "          {\n"
        "            \"path\": \"/dev/neuron0\",\n"
        "            \"hostPath\": \"/dev/neuron0\",\n"
        "            \"permissions\": \"rw\"\n"
        "          },\n"
        "          {\n"
        "            \"path\": \"/dev/neuron5\",\n"
        "            \"hostPath\": \"/dev/neuron5\",\n"
        "            \"permissions\": \"rw\"\n"
        "          }\n"
        "        ]\n"
        "      }\n"
        "    }\n"
        "  ]\n"
        "}\n";
    struct claim_record r;
    (void)state;
    fill_node(&r);
    r.node_devices = (1u << 0) | (1u << 5);
    assert_string_equal(write_file(&r, "/dev"), expected);
}

/* A set of one node has no server id: the runtime gets the mode alone. */
static void test_node_alone(void **state)
{
    struct claim_record r;
    (void)state;
    fill_node(&r);
    memset(&r.ultraserver, 0, sizeof r.ultraserver);
    r.ultraserver.mode = 4;
    const char *text = write_file(&r, "/dev");
    assert_non_null(strstr(text, "\"NEURON_RT_ULTRASERVER_MODE=4\""));
    assert_null(strstr(text, "SERVER_ID"));
    assert_null(strstr(text, "ultraserver-server-id"));
    assert_non_null(strstr(text, "/dev/neuron63"));
}

/* Numbers from zero count all devices of the node; none of a request is there twice. */
static void test_node_from_zero(void **state)
{
    struct claim_record r;
    (void)state;
    fill_node(&r);
    r.zero_numbering = true;
    r.node_devices = (1u << 4) | (1u << 9);
    record_add(&r, "neurons", 0)->node = true;
    r.result[1] = r.result[0];
    r.result[1].admin_access = true;
    const char *text = write_file(&r, "/dev");
    const char *first = strstr(text, "\"path\": \"/dev/neuron0\"");
    assert_non_null(first);
    assert_null(strstr(first + 1, "\"path\": \"/dev/neuron0\""));
    assert_non_null(strstr(text, "\"path\": \"/dev/neuron1\""));
    assert_null(strstr(text, "\"path\": \"/dev/neuron2\""));
}

/* --- annotations --- */

/*
 * Annotation keys (as Kubernetes has them): prefix, slash, at most 63 of [a-z0-9-], alphanumeric
 * ends.
 */
static void test_annotation_keys(void **state)
{
    static struct content c;
    struct claim_record r;
    (void)state;
    fill_longest(&r);
    read_file(write_file(&r, "/dev"), &c);
    assert_int_equal(c.annotations, 9 + RESULTS_MAX);
    for (unsigned i = 0; i < c.annotations; i++) {
        const char *name = c.key[i] + strlen("neuron.aws.com/");
        assert_int_equal(strncmp(c.key[i], "neuron.aws.com/", strlen("neuron.aws.com/")), 0);
        assert_in_range(strlen(name), 1, 63);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-"), strlen(name));
        assert_true(name[0] != '-' && name[strlen(name) - 1] != '-');
        for (unsigned k = 0; k < i; k++) {
            assert_string_not_equal(c.key[i], c.key[k]);
        }
    }
}

/* --- room --- */

static void test_without_room(void **state)
{
    struct claim_record r;
    (void)state;
    record_begin(&r);
    record_add(&r, "a", 3)->logical_neuron_core = 1;
    size_t len = strlen(write_file(&r, "/dev"));
    for (size_t cap = 0; cap < len; cap++) {
        struct writer w = writer_of(file, cap);
        assert_int_equal(cdi_write(&r, &(struct cdi_host){.dev_root = "/dev"}, &w), FULL_BUFFER);
    }
    struct writer w = writer_of(file, len);
    assert_int_equal(cdi_write(&r, &(struct cdi_host){.dev_root = "/dev"}, &w), STATUS_OK);
    assert_int_equal(w.len, len);
}

static void test_over_the_limit(void **state)
{
    static char larger[CDI_BYTES_MAX * 4];
    static char dev_root[PATH_CAP];
    struct claim_record r;
    (void)state;
    fill_longest(&r);
    memset(dev_root, 'd', sizeof dev_root - 1);
    dev_root[0] = '/';
    struct writer w = writer_of(larger, sizeof larger);
    assert_int_equal(cdi_write(&r, &(struct cdi_host){.dev_root = dev_root}, &w), FULL_BUFFER);
    assert_false(w.full);
    /* Each byte of the path is in the file once for each result. */
    size_t longest = strlen(dev_root) - (w.len - CDI_BYTES_MAX + RESULTS_MAX - 1) / RESULTS_MAX;
    for (size_t n = longest - 1; n <= longest + 1; n++) {
        memset(dev_root + 1, 'd', sizeof dev_root - 2);
        dev_root[n] = 0;
        w = writer_of(larger, sizeof larger);
        writer_text(&w, "something before it");
        assert_int_equal(cdi_write(&r, &(struct cdi_host){.dev_root = dev_root}, &w),
                         (n <= longest) ? STATUS_OK : FULL_BUFFER);
        assert_false(w.full);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_whole_file),
        cmocka_unit_test(test_visible_cores),
        cmocka_unit_test(test_repeats_byte_for_byte),
        cmocka_unit_test(test_zero_numbering),
        cmocka_unit_test(test_shares_of_one_device_are_one_node),
        cmocka_unit_test(test_environment_by_request),
        cmocka_unit_test(test_node),
        cmocka_unit_test(test_node_alone),
        cmocka_unit_test(test_node_from_zero),
        cmocka_unit_test(test_annotation_keys),
        cmocka_unit_test(test_without_room),
        cmocka_unit_test(test_over_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
