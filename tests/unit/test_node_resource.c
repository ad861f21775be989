/* SPDX-License-Identifier: Apache-2.0 */
/* Node resources: which quantities are taken, and in which form the API server keeps them. */
#include "tests/unit/unit.h"

#include "dra/node_resource.h"

static char quantity[NODE_QUANTITY_CAP];

static bool takes(unsigned resource, const char *text)
{
    text_set(quantity, sizeof quantity, "before");
    return node_quantity_parse(resource, view_text(text), quantity) == STATUS_OK;
}

static void test_quantities(void **state)
{
    static const struct {
        unsigned resource;
        const char *text;
        const char *canonical;
    } good[] = {
        {NODE_MEMORY, "64Mi", "64Mi"},
        {NODE_MEMORY, "1Ki", "1Ki"},
        {NODE_MEMORY, "1025Ki", "1025Ki"},
        {NODE_MEMORY, "2048Ki", "2Mi"},
        {NODE_MEMORY, "1048576Ki", "1Gi"},
        {NODE_MEMORY, "1073741823Ki", "1073741823Ki"},
        {NODE_MEMORY, "1073741824Ki", "1Ti"},
        {NODE_MEMORY, "1024Gi", "1Ti"},
        {NODE_MEMORY, "1Ti", "1Ti"},
        {NODE_MEMORY, "007Mi", "7Mi"},
        {NODE_HUGEPAGES_2MI, "5120Mi", "5Gi"},
        {NODE_HUGEPAGES_2MI, "2048Ki", "2Mi"},
        {NODE_HUGEPAGES_2MI, "320Mi", "320Mi"},
        {NODE_HUGEPAGES_1GI, "3Gi", "3Gi"},
        {NODE_HUGEPAGES_1GI, "1024Mi", "1Gi"},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(good); i++) {
        assert_true(takes(good[i].resource, good[i].text));
        assert_string_equal(quantity, good[i].canonical);
    }
}

static void test_no_quantities(void **state)
{
    static const struct {
        unsigned resource;
        const char *text;
    } bad[] = {
        {NODE_MEMORY, ""},
        {NODE_MEMORY, "i"},
        {NODE_MEMORY, "Mi"},
        {NODE_MEMORY, "64"},
        {NODE_MEMORY, "64M"},
        {NODE_MEMORY, "64MiB"},
        {NODE_MEMORY, "-1Mi"},
        {NODE_MEMORY, "1.5Gi"},
        {NODE_MEMORY, "0Mi"},
        {NODE_MEMORY, "2Ti"},
        {NODE_MEMORY, "1025Gi"},
        {NODE_MEMORY, "1073741825Ki"},
        {NODE_MEMORY, "18446744073709551617Ki"},
        {NODE_HUGEPAGES_2MI, "3Mi"},
        {NODE_HUGEPAGES_2MI, "2047Ki"},
        {NODE_HUGEPAGES_1GI, "512Mi"},
        {NODE_HUGEPAGES_1GI, "1025Mi"},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(bad); i++) {
        assert_false(takes(bad[i].resource, bad[i].text));
        assert_string_equal(quantity, "before");
    }
}

/* The names ascend, as the API server stores the keys of a map. */
static void test_names(void **state)
{
    (void)state;
    for (unsigned i = 1; i < (unsigned)NODE_RESOURCES; i++) {
        assert_true(strcmp(node_resource_name(i - 1), node_resource_name(i)) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantities),
        cmocka_unit_test(test_no_quantities),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
