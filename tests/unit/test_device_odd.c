/* SPDX-License-Identifier: Apache-2.0 */
/* Device tables that no real node has: boards without a grid of fours, maps with holes, unknown
 * types with devices in use, texts without an end; the places of an UltraServer that are none. */
#include "tests/unit/node/board_vectors.h"

#include "dra/claim.h"
#include "dra/metadata.h"
#include "dra/health.h"
#include "dra/store.h"
#include "tests/unit/node/claim_harness.h"

static struct devices d;
static struct attributes all;

static const struct attribute *attribute(const char *key)
{
    const struct attribute *found = NULL;
    for (unsigned i = 0; i < all.count; i++) {
        found = (strcmp(all.attribute[i].key, key) == 0) ? &all.attribute[i] : found;
    }
    return found;
}

/* A grid of fewer devices than a group has rows and columns alone. */
static void test_small_grids(void **state)
{
    static const struct {
        uint8_t columns;
        bool four, eight;
    } rows[] = {{2, false, false}, {4, true, false}, {8, true, true}};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct board board = {.instance_type = "trn2.48xlarge",
                              .devices = rows[i].columns,
                              .grid_rows = 1,
                              .grid_columns = rows[i].columns};
        fill_devices(&d, &board, 0, rows[i].columns);
        device_attributes(&d, 1, &all);
        assert_non_null(attribute("topology_y"));
        assert_int_equal(attribute("topology_y")->number, 1);
        assert_int_equal(attribute("topology4_id") != NULL, rows[i].four);
        assert_int_equal(attribute("topology8_id") != NULL, rows[i].eight);
    }
}

/* Memory is in the largest unit that divides it. */
static void test_memory_of_a_node(void **state)
{
    static const struct {
        uint8_t devices;
        const char *text;
    } rows[] = {{16, "1536Gi"}, {32, "3Ti"}};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct board board = {
            .instance_type = "trn2u.48xlarge", .devices = rows[i].devices, .ultraserver = true};
        fill_devices(&d, &board, 0, rows[i].devices);
        d.ultraserver.member = true;
        devices_add_node(&d, true);
        assert_int_equal(d.count, 1);
        device_attributes(&d, 0, &all);
        assert_string_equal(attribute("memory")->text, rows[i].text);
    }
}

/* More devices than the instance type has: no device for the node, and no counters. */
static void test_more_devices_than_the_node_has(void **state)
{
    const struct board board = {
        .instance_type = "trn2u.48xlarge", .devices = 16, .ultraserver = true};
    (void)state;
    for (unsigned count = 15; count <= DEVICES_MAX; count++) {
        fill_devices(&d, &board, 0, count);
        d.ultraserver.member = true;
        devices_add_node(&d, false);
        assert_int_equal(d.count, (count == 16) ? 17 : count);
        assert_int_equal(d.counters, count <= 16);
        fill_devices(&d, &board, 0, count);
        d.ultraserver.member = true;
        devices_add_node(&d, true);
        assert_int_equal(d.count, (count == 16) ? 1 : 0);
        assert_false(d.counters);
    }
    fill_devices(&d, &board, 0, 16);
    d.board = NULL;
    devices_add_node(&d, false);
    assert_int_equal(d.count, 16);
    assert_false(d.counters);
}

/*
 * Sixteen devices of which none has the number 0: the device for the node takes their counters, and
 * no other.
 */
static void test_node_without_device_0(void **state)
{
    const struct board board = {
        .instance_type = "trn2u.48xlarge", .devices = 16, .ultraserver = true};
    (void)state;
    fill_devices(&d, &board, 0, 16);
    d.device[0].number = 20;
    d.ultraserver.member = true;
    devices_add_node(&d, false);
    assert_true(d.device[16].node);
    assert_int_equal(devices_numbers(&d), 0x10fffe);
    assert_int_equal(devices_counters(&d, &d.device[16]), 0x10fffe);
    assert_int_equal(devices_counters(&d, NULL), 0x10fffe);
}

/* Half of a logical core is no logical core: the attribute stays away. */
static void test_cores_that_make_no_logical_core(void **state)
{
    static const struct {
        uint8_t cores;
        const char *text;
    } rows[] = {{3, "0"}, {1, NULL}, {0, "0-3"}};
    (void)state;
    fill_devices(&d, &trn2, 0, 16);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct claim_record r;
        record_begin(&r);
        struct claim_result *to = record_add(&r, "a", 1);
        to->logical_neuron_core = 2;
        to->cores = rows[i].cores;
        claim_attributes(to, &d, 1, &all);
        if (rows[i].text == NULL) {
            assert_null(attribute("logicalCores"));
        } else {
            assert_string_equal(attribute("logicalCores")->text, rows[i].text);
        }
    }
}

static void test_map_with_a_hole(void **state)
{
    static struct efa_map map;
    static const struct board holed = {
        .instance_type = "trn1.32xlarge", .devices = 16, .efa = &map};
    char name[DEVICE_NAME_CAP];
    (void)state;
    memcpy(map.address[0], "0000:10:19.0", 13);
    memset(&d, 0, sizeof d);
    d.board = &holed;
    memcpy(d.instance_type, "trn1.32xlarge", 14);
    d.driver = DRIVER_EFA;
    devices_name(&d, 0, name);
    assert_string_equal(name, "pci-0000-10-19-0");
    devices_name(&d, 1, name);
    assert_string_equal(name, "pci-?");
    devices_keep(&d, 1); /* without a name it cannot be published */
    assert_int_equal(d.count, 0);
    devices_keep(&d, 0);
    devices_keep(&d, 0); /* which it has already */
    assert_int_equal(d.count, 1);
    assert_string_equal(d.device[0].name, "pci-0000-10-19-0");
}

static void test_kept_devices_of_an_unknown_type(void **state)
{
    (void)state;
    memset(&d, 0, sizeof d);
    devices_keep(&d, 5);
    assert_int_equal(d.count, 1);
    assert_int_equal(d.device[0].number, 5);
    assert_int_equal(d.device[0].core_count, 0);
    d.ultraserver.member = true;
    assert_false(devices_are_node(&d));
}

/* The cores of an EFA device are nobody's to share, whatever its table says. */
static void test_core_unit(void **state)
{
    (void)state;
    fill_devices(&d, &trn2, 0, 16);
    assert_int_equal(device_core_unit(&d, &d.device[0]), 2);
    d.driver = DRIVER_EFA;
    assert_int_equal(device_core_unit(&d, &d.device[0]), 0);
    d.driver = DRIVER_NEURON;
    d.device[0].core_count = 4;
    assert_int_equal(device_core_unit(&d, &d.device[0]), 0);
}

static void test_refused_family(void **state)
{
    (void)state;
    memset(&d, 0, sizeof d);
    assert_null(devices_refusal(&d));
    memcpy(d.instance_type, "inf1.xlarge", 12);
    assert_non_null(devices_refusal(&d));
    assert_one_line(devices_refusal(&d));
}

static void test_texts_without_an_end(void **state)
{
    (void)state;
    fill_devices(&d, &trn2, 0, 16);
    assert_true(devices_valid(&d));
    memset(d.device[2].efa.rdma_name, 'x', sizeof d.device[2].efa.rdma_name);
    assert_false(devices_valid(&d));
}

/* --- metadata files --- */

static void test_metadata_names(void **state)
{
    char name[NAME_CAP];
    char uid[UID_CAP] = "before";
    char longest[UID_CAP + 1];
    (void)state;
    for (size_t len = UID_CAP; len <= UID_CAP + 1u; len++) {
        fill_name(longest, len, 'u');
        (void)snprintf(name, sizeof name, "%s%s_0.json",
                       driver_traits(DRIVER_NEURON)->metadata_prefix, longest);
        assert_int_equal(metadata_name_uid(DRIVER_NEURON, name, uid), len == UID_CAP);
        assert_int_equal(strlen(uid), UID_CAP - 1u); /* of the one that fits */
    }
}

/* Of a request with two devices that are gone, one is enough. */
static void test_metadata_of_unknown_devices(void **state)
{
    struct claim_record r;
    (void)state;
    fill_devices(&d, &trn2, 0, 4);
    record_begin(&r);
    (void)record_add(&r, "a", 3);
    (void)record_add(&r, "a", 4);
    (void)record_add(&r, "a", 5);
    assert_false(metadata_known(&r, 0, &d));
    d.count = 3;
    assert_false(metadata_known(&r, 0, &d));
    r.count = 1;
    r.result[0].number = 0;
    assert_true(metadata_known(&r, 0, &d));
}

/* --- health --- */

/* The time that a device must stay good doubles with each fall, but not beyond its bound. */
static void test_longest_hold(void **state)
{
    struct health_track h = {0};
    const struct device_reading good = {.known = true, .listed = true};
    const struct device_reading bad = {.known = true, .listed = true, .reasons = 1};
    uint64_t now = 1000;
    uint64_t last = 0;
    (void)state;
    for (unsigned fall = 0; fall < 40; fall++) {
        (void)device_health_apply(&h, &bad, now);
        assert_true(h.hold_ms >= last && h.hold_ms <= HEALTH_HOLD_MAX_MS);
        last = h.hold_ms;
        while (h.state != HEALTH_HEALTHY) {
            now += 5000;
            (void)device_health_apply(&h, &good, now);
        }
    }
    assert_int_equal(last, HEALTH_HOLD_MAX_MS);
}

/* --- UltraServers --- */

static void test_use_of_an_ultraserver(void **state)
{
    static const struct {
        struct ultraserver_use use;
        bool valid;
    } rows[] = {
        {{0, {"", 0}}, true},
        {{1, {"0123456789abcdef", 3}}, true},
        {{4, {"", 0}}, true},
        {{ULTRASERVER_MODE_MAX + 1, {"", 0}}, false},
        {{1, {"0123456789abcdeX", 3}}, false},
        {{1, {"0000000000000000", 3}}, false},
        {{0, {"0123456789abcdef", 3}}, false},
        {{4, {"", 3}}, false},
        {{0, {"", 3}}, false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(ultraserver_use_valid(&rows[i].use), rows[i].valid);
    }
}

/* --- store records --- */

/* What a later field of the same number says counts: here, what no record may say. */
static void test_stored_values(void **state)
{
    static const struct {
        uint8_t bytes[3 + 1];
        uint8_t len;
        bool good;
    } rows[] = {
        {{0x88, 0x01, 0x00}, 3, true},        /* ultraserver_mode 0 */
        {{0x88, 0x01, 0x80, 0x02}, 4, false}, /* 256 */
        {{0x98, 0x01, 0x00}, 3, true},        /* ultraserver_node_id 0 */
        {{0x98, 0x01, 0x80, 0x02}, 4, false}, /* 256 */
        {{0x70, 0x00}, 2, true},              /* released */
        {{0x70, 0x01}, 2, false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint8_t bytes[STORE_RECORD_MAX];
        struct writer w = writer_of(bytes, sizeof bytes);
        struct claim_record r;
        record_begin(&r);
        (void)record_add(&r, "a", 3);
        assert_int_equal(store_record_encode(&r, &w), STATUS_OK);
        writer_append(&w, view_of(rows[i].bytes, rows[i].len));
        assert_false(w.full);
        assert_int_equal(store_record_decode(writer_view(&w), &r),
                         rows[i].good ? STATUS_OK : HOST_DAMAGED);
        assert_int_equal(r.count, rows[i].good ? 1 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_grids),
        cmocka_unit_test(test_memory_of_a_node),
        cmocka_unit_test(test_more_devices_than_the_node_has),
        cmocka_unit_test(test_node_without_device_0),
        cmocka_unit_test(test_cores_that_make_no_logical_core),
        cmocka_unit_test(test_map_with_a_hole),
        cmocka_unit_test(test_kept_devices_of_an_unknown_type),
        cmocka_unit_test(test_core_unit),
        cmocka_unit_test(test_refused_family),
        cmocka_unit_test(test_texts_without_an_end),
        cmocka_unit_test(test_metadata_names),
        cmocka_unit_test(test_metadata_of_unknown_devices),
        cmocka_unit_test(test_longest_hold),
        cmocka_unit_test(test_use_of_an_ultraserver),
        cmocka_unit_test(test_stored_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
