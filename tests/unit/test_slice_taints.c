/* SPDX-License-Identifier: Apache-2.0 */
/* Taints of a stored slice compared with the wanted ones, devices that do not end, and the document
 * of a slice: capacities that claims share, and taints. */
#include "tests/unit/node/board_vectors.h"

#include "dra/slice.h"
#include "dra/slice_document.h"

static struct found_node found;
static struct devices wanted;
static struct probe_issues issues;
static struct slice_compare compare;

static int setup(void **state)
{
    (void)state;
    memset(&wanted, 0, sizeof wanted);
    found_board(&found, board_find("trn2.48xlarge"));
    devices_build(&wanted, &found, &issues);
    static const struct taint taints[TAINTS] = {
        [TAINT_UNHEALTHY] = {"neuron.aws.com/unhealthy", "NoSchedule"},
        [TAINT_MEMORY_HELD] = {"neuron.aws.com/memory-held", "NoExecute"}};
    wanted.device[3].tainted = TAINT_BIT(TAINT_UNHEALTHY);
    wanted.device[3].taint_s[TAINT_UNHEALTHY] = 1764158400;
    wanted.device[5].tainted = TAINT_BIT(TAINT_UNHEALTHY) | TAINT_BIT(TAINT_MEMORY_HELD);
    wanted.taints = taints;
    return 0;
}

struct stored_taint {
    const char *key, *value, *effect;
};

#define WANTED {"neuron.aws.com/unhealthy", "", "NoSchedule"}

/* Device `index` as it is stored, with these taints. */
static bool with_taints(unsigned index, const struct stored_taint *taints, unsigned count)
{
    struct attributes all;
    device_attributes(&wanted, index, &all);
    slice_compare_begin(&compare, &wanted);
    slice_compare_name(&compare, view_text(wanted.device[index].name));
    for (unsigned i = 0; i < all.count; i++) {
        slice_compare_attribute(&compare, &all.attribute[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        slice_compare_taint(&compare, taints[i].key, taints[i].value, taints[i].effect);
    }
    slice_compare_device(&compare, false, false);
    return slice_compare_end(&compare);
}

static void test_taints(void **state)
{
    static const struct stored_taint twice[] = {WANTED, WANTED};
    static const struct stored_taint others[] = {{"neuron.aws.com/unhealthy", "hbm", "NoSchedule"},
                                                 {"example.com/unhealthy", "", "NoSchedule"},
                                                 {"neuron.aws.com/unhealthy", "", "NoExecute"}};
    (void)state;
    assert_true(with_taints(3, twice, 1));
    assert_false(with_taints(3, twice, 2));
    assert_false(with_taints(3, twice, 0));
    assert_int_equal(compare.untainted[TAINT_UNHEALTHY], 1u << 3);
    assert_int_equal(compare.untainted[TAINT_MEMORY_HELD], 0);
    assert_true(with_taints(4, twice, 0));
    assert_false(with_taints(4, twice, 1));
    for (unsigned i = 0; i < COUNT(others); i++) {
        const struct stored_taint with[] = {WANTED, others[i]};
        assert_false(with_taints(3, &others[i], 1));
        assert_false(with_taints(3, with, 2)); /* what others added is not wanted either */
        assert_int_equal(compare.untainted[TAINT_UNHEALTHY], 0);
    }
}

/* A device with two taints: in any order, each of them once. */
static void test_two_taints(void **state)
{
    static const struct stored_taint held = {"neuron.aws.com/memory-held", "", "NoExecute"};
    static const struct stored_taint both[] = {WANTED, held};
    static const struct stored_taint turned[] = {held, WANTED, held};
    (void)state;
    assert_true(with_taints(5, both, 2));
    assert_true(with_taints(5, turned, 2));
    assert_false(with_taints(5, turned, 3));
    assert_false(with_taints(5, both, 1));
    assert_int_equal(compare.untainted[TAINT_UNHEALTHY], 0);
    assert_int_equal(compare.untainted[TAINT_MEMORY_HELD], 1u << 5);
    assert_false(with_taints(5, turned, 1));
    assert_int_equal(compare.untainted[TAINT_UNHEALTHY], 1u << 5);
    assert_int_equal(compare.untainted[TAINT_MEMORY_HELD], 0);
    assert_false(with_taints(5, both, 0));
    assert_int_equal(compare.untainted[TAINT_UNHEALTHY], 1u << 5);
    assert_int_equal(compare.untainted[TAINT_MEMORY_HELD], 1u << 5);
    assert_false(with_taints(3, &held, 1)); /* of another device */
}

/* A taint or an end outside every device. */
static void test_outside_devices(void **state)
{
    static const struct stored_taint right = WANTED;
    (void)state;
    slice_compare_begin(&compare, &wanted);
    slice_compare_taint(&compare, right.key, right.value, right.effect);
    assert_false(slice_compare_end(&compare));
    slice_compare_begin(&compare, &wanted);
    slice_compare_device(&compare, false, false);
    assert_false(slice_compare_end(&compare));
}

static void test_device_without_an_end(void **state)
{
    (void)state;
    slice_compare_begin(&compare, &wanted);
    slice_compare_name(&compare, view_text("neuron-device-0"));
    assert_false(compare.differs);
    assert_false(slice_compare_end(&compare));
    slice_compare_name(&compare, view_text("neuron-device-1"));
    assert_true(compare.differs);
}

/* --- the document --- */

static char text[65536];

static const char *document(unsigned index)
{
    static struct attributes attributes;
    const struct slice_shown shown = {.driver = "neuron.aws.com",
                                      .node_name = "node-1",
                                      .devices = &wanted,
                                      .attributes = &attributes,
                                      .slices = 1,
                                      .first = index,
                                      .count = 1};
    struct writer out = writer_of(text, sizeof text - 1u);
    struct document d = document_of(&out, false);
    slice_list_begin(&d);
    for (unsigned part = 0; part < slice_document_parts(&shown); part++) {
        slice_document(&shown, part, &d);
    }
    slice_list_end(&d);
    document_end(&d);
    assert_false(out.full);
    text[out.len] = '\0';
    return text;
}

#define POLICY(key, value, policy)                                                                 \
    "\"" key "\":{\"value\":\"" value "\",\"requestPolicy\":" policy "}"

/* What comes without spaces and line ends. */
static const char *plain(const char *from)
{
    static char out[65536];
    size_t n = 0;
    for (const char *c = from; *c != '\0'; c++) {
        out[n] = *c;
        n += (*c != ' ' && *c != '\n') ? 1u : 0u;
    }
    out[n] = '\0';
    return out;
}

static void contains(const char *all, const char *piece)
{
    if (strstr(all, piece) == NULL) {
        fail_msg("%s\nis not in\n%s", piece, all);
    }
}

static void test_document_of_node_resources(void **state)
{
    (void)state;
    assert_null(strstr(document(0), "nodeAllocatableResources"));
    text_set(wanted.resources.quantity[NODE_HUGEPAGES_2MI], NODE_QUANTITY_CAP, "320Mi");
    text_set(wanted.resources.quantity[NODE_MEMORY], NODE_QUANTITY_CAP, "64Mi");
    contains(plain(document(0)),
             "\"nodeAllocatableResources\":{\"hugepages-2Mi\":{\"overhead\":{\"perPod\":"
             "\"320Mi\"}},\"memory\":{\"overhead\":{\"perPod\":\"64Mi\"}}}}");
}

static void test_document_of_shared_devices(void **state)
{
    (void)state;
    const char *all = plain(document(0));
    contains(all, "\"memory\":{\"value\":\"96Gi\"}");
    assert_null(strstr(all, "requestPolicy"));
    assert_null(strstr(all, "allowMultipleAllocations"));
    wanted.shares = 4;
    all = plain(document(0));
    contains(all, "\"name\":\"neuron-device-0\",\"allowMultipleAllocations\":true");
    contains(all, POLICY("memory", "96Gi", "{\"default\":\"0\"}"));
    contains(all, POLICY("cores", "8",
                         "{\"default\":\"8\",\"validRange\":{\"min\":\"2\",\"step\":\"2\"}}"));
}

static void test_document_of_tainted_devices(void **state)
{
    (void)state;
    contains(plain(document(3)),
             "\"taints\":[{\"key\":\"neuron.aws.com/unhealthy\",\"effect\":\"NoSchedule\","
             "\"timeAdded\":\"2025-11-26T12:00:00Z\"}]");
    wanted.device[3].taint_s[TAINT_UNHEALTHY] = 0;
    contains(plain(document(3)),
             "\"taints\":[{\"key\":\"neuron.aws.com/unhealthy\",\"effect\":\"NoSchedule\"}]");
    assert_null(strstr(document(4), "taints"));
    contains(plain(document(5)),
             "\"taints\":[{\"key\":\"neuron.aws.com/unhealthy\",\"effect\":\"NoSchedule\"},"
             "{\"key\":\"neuron.aws.com/memory-held\",\"effect\":\"NoExecute\"}]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_taints, setup),
        cmocka_unit_test_setup(test_two_taints, setup),
        cmocka_unit_test_setup(test_outside_devices, setup),
        cmocka_unit_test_setup(test_device_without_an_end, setup),
        cmocka_unit_test_setup(test_document_of_node_resources, setup),
        cmocka_unit_test_setup(test_document_of_shared_devices, setup),
        cmocka_unit_test_setup(test_document_of_tainted_devices, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
