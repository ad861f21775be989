/* SPDX-License-Identifier: Apache-2.0 */
/* CDI files of EFA devices and of a whole node, each with one value damaged. */
#include "tests/unit/node/claim_harness.h"

static char file[CDI_BYTES_MAX];
static char text[CDI_BYTES_MAX * 2];

static struct view edited(const struct claim_record *r, const char *from, const char *to)
{
    struct writer w = writer_of(file, sizeof file - 1u);
    assert_int_equal(cdi_write(r, &(struct cdi_host){.dev_root = "/dev"}, &w), STATUS_OK);
    file[w.len] = '\0';
    const char *at = strstr(file, from);
    if (at == NULL) {
        fail_msg("%s is not in %s", from, file);
    }
    int n = snprintf(text, sizeof text, "%.*s%s%s", (int)(at - file), file, to, at + strlen(from));
    return view_of(text, (size_t)n);
}

static void check(const struct claim_record *r, const char *const edits[][2], size_t count)
{
    static const struct claim_record nothing;
    struct claim_record back;
    for (size_t i = 0; i < count; i++) {
        struct view same = edited(r, edits[i][0], edits[i][0]);
        assert_int_equal(cdi_read(same, &back), STATUS_OK);
        assert_true(claim_results_same(r, &back));
        struct view damaged = edited(r, edits[i][0], edits[i][1]);
        if (cdi_read(damaged, &back) != HOST_DAMAGED) {
            fail_msg("taken: %s", text);
        }
        assert_memory_equal(&back, &nothing, sizeof back);
    }
}

#define NUMBERED(value) "\\\"number\\\":" value
#define UVERBS(value) "\\\"uverbs\\\":" value

static void test_efa(void **state)
{
    static const char *const edits[][2] = {
        {NUMBERED("3"), NUMBERED("\\\"3\\\"")}, {NUMBERED("3"), NUMBERED("65536")},
        {NUMBERED("3"), NUMBERED("-1")},        {UVERBS("2"), UVERBS("\\\"2\\\"")},
        {UVERBS("2"), UVERBS("65536")},         {UVERBS("2"), UVERBS("null")},
    };
    struct claim_record r;
    (void)state;
    record_begin(&r);
    r.driver = DRIVER_EFA;
    struct claim_result *to = record_add(&r, "a", 3);
    to->efa_address = 0x10c8;
    to->uverbs = 2;
    assert_true(claim_record_valid(&r));
    check(&r, edits, COUNT(edits));
}

/* Only EFA devices have a number beside their name. */
static void test_neuron(void **state)
{
    static const char *const edits[][2] = {
        {"\\\"logicalNeuronCore\\\":2", NUMBERED("3")},
        {"\\\"logicalNeuronCore\\\":2", UVERBS("2")},
        {"\\\"logicalNeuronCore\\\":2}", "\\\"logicalNeuronCore\\\":2} {}"},
        {"\"training\"", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""},
        {"\"neuron.aws.com/pool\"", "\"other\": [1}, \"neuron.aws.com/pool\""},
    };
    struct claim_record r;
    (void)state;
    record_begin(&r);
    record_add(&r, "a", 3)->logical_neuron_core = 2;
    check(&r, edits, COUNT(edits));
}

#define KEY(name) "\"neuron.aws.com/" name "\": "
#define DEVICES(value) KEY("node-devices") value
#define MODE(value) KEY("ultraserver-mode") value
#define NODE_ID(value) KEY("ultraserver-node-id") value

static void test_node(void **state)
{
    static const char *const edits[][2] = {
        {DEVICES("\"0,2\""), DEVICES("5")},
        {DEVICES("\"0,2\""), DEVICES("\"\"")},
        {DEVICES("\"0,2\""), DEVICES("\"0,x,2\"")},
        {DEVICES("\"0,2\""), DEVICES("\"0,64\"")},
        {DEVICES("\"0,2\""), DEVICES("\"0,,2\"")},
        {DEVICES("\"0,2\""),
         DEVICES("\"0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"
                 "2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2\"")},
        {MODE("\"1\""), MODE("1")},
        {MODE("\"1\""), MODE("\"256\"")},
        {MODE("\"1\""), MODE("\"x\"")},
        {NODE_ID("\"1\""), NODE_ID("1")},
        {NODE_ID("\"1\""), NODE_ID("\"-1\"")},
    };
    struct claim_record r;
    (void)state;
    fill_node(&r);
    r.node_devices = 5;
    assert_true(claim_record_valid(&r));
    check(&r, edits, COUNT(edits));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_efa),
        cmocka_unit_test(test_neuron),
        cmocka_unit_test(test_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
