/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error of a claim with a gap: on each type its devices have the attribute that the error
 * names, and a claim with that attribute gets as many consecutive devices as the error says.
 */
#include "tests/unit/node/board_vectors.h"
#include "tests/unit/node/claim_harness.h"

static struct devices devices;
static char text[CLAIM_ERROR_CAP];

/* Builds the devices of a node of this type. */
static void node_of(const struct board *board)
{
    static struct found_node found;
    static struct probe_issues issues;
    found_board(&found, board);
    memset(&devices, 0, sizeof devices);
    devices_build(&devices, &found, &issues);
}

/* A claim for `count` devices with a gap: 0 and those from 2 on. */
static void claim_of(struct claim_record *r, unsigned count)
{
    record_begin(r);
    for (unsigned i = 0; i < count; i++) {
        record_add(r, "a", (i == 0) ? 0 : i + 1);
    }
}

static const char *remedy_for(unsigned count, const struct board *board)
{
    struct claim_record r;
    claim_of(&r, count);
    struct writer w = writer_of(text, sizeof text);
    claim_consecutive_write(&w, &r, board);
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    assert_one_line(text);
    return text;
}

/* Whether the device has the attribute; `name` is its full name, *value its value in words. */
static bool has(unsigned index, const char *name, char value[ATTRIBUTE_VALUE_CAP])
{
    static struct attributes all;
    device_attributes(&devices, index, &all);
    for (unsigned i = 0; i < all.count; i++) {
        const struct attribute *a = &all.attribute[i];
        char full[ATTRIBUTE_KEY_CAP + sizeof DRIVER_NAME];
        bool own = strchr(a->key, '/') == NULL;
        (void)snprintf(full, sizeof full, "%s%s", own ? DRIVER_NAME "/" : "", a->key);
        if (strcmp(full, name) == 0) {
            (void)snprintf(value, ATTRIBUTE_VALUE_CAP, "%s%lld", a->text, (long long)a->number);
            return true;
        }
    }
    return false;
}

/* Whether any two devices with one value of the attribute are in a run of `size` devices. */
static void check_attribute(const char *name, unsigned size)
{
    unsigned with = 0;
    for (unsigned first = 0; first + size <= devices.count; first += size) {
        char value[ATTRIBUTE_VALUE_CAP];
        char other[ATTRIBUTE_VALUE_CAP];
        if (!has(first, name, value)) {
            continue;
        }
        with++;
        for (unsigned i = 0; i < devices.count; i++) {
            bool inside = i >= first && i < first + size;
            bool same = has(i, name, other) && strcmp(value, other) == 0;
            assert_int_equal(same, inside);
        }
    }
    assert_int_not_equal(with, 0);
}

static void test_every_type(void **state)
{
    unsigned named = 0;
    (void)state;
    for (unsigned at = 0; board_at(at) != NULL; at++) {
        const struct board *board = board_at(at);
        if (board_family(board->instance_type)->refused) {
            continue;
        }
        node_of(board);
        for (unsigned count = 2; count < board->devices; count++) {
            char name[ATTRIBUTE_KEY_CAP];
            unsigned size = 0;
            const char *remedy = remedy_for(count, board);
            if (sscanf(remedy, "delete the pod, and ask for %u devices by matchAttribute %96[^,]",
                       &size, name) == 2) {
                assert_in_range(size, count, board->devices);
                assert_int_equal(size != count, strstr(remedy, "has no attribute for") != NULL);
                check_attribute(name, size);
                named++;
            } else {
                assert_non_null(strstr(remedy, "by a selector on deviceId"));
                assert_true(board->efa == NULL && count > board->contiguous);
            }
        }
    }
    assert_in_range(named, 100, 1000);
}

static void test_texts(void **state)
{
    static const struct {
        const char *type;
        unsigned count;
        const char *remedy;
    } rows[] = {
        {"inf2.48xlarge", 3,
         "delete the pod, and ask for 3 devices by matchAttribute neuron.aws.com/contiguous3_id"},
        {"inf2.48xlarge", 11,
         "delete the pod, and ask for 11 devices by matchAttribute neuron.aws.com/contiguous11_id"},
        {"inf2.24xlarge", 5,
         "delete the pod, and ask for 5 devices by matchAttribute neuron.aws.com/contiguous5_id"},
        {"trn2.48xlarge", 2,
         "delete the pod, and ask for 2 devices by matchAttribute neuron.aws.com/contiguous2_id"},
        {"trn2.48xlarge", 3,
         "delete the pod, and ask for 4 devices by matchAttribute "
         "resource.aws.com/devicegroup4_id, because trn2.48xlarge has no attribute for 3"},
        {"trn1.32xlarge", 8,
         "delete the pod, and ask for 8 devices by matchAttribute "
         "resource.aws.com/devicegroup8_id"},
        {"trn2u.48xlarge", 9,
         "delete the pod, and ask for 16 devices by matchAttribute "
         "resource.aws.com/devicegroup16_id, because trn2u.48xlarge has no attribute for 9"},
        {"trn3n.48xlarge", 4,
         "delete the pod, and ask for 4 devices by matchAttribute neuron.aws.com/topology4_id"},
        {"trn3n.48xlarge", 9,
         "delete the pod, and choose devices with consecutive numbers by a selector on deviceId"},
        {NULL, 2,
         "delete the pod, and choose devices with consecutive numbers by a selector on deviceId"},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct board *board = (rows[i].type != NULL) ? board_find(rows[i].type) : NULL;
        assert_true(board != NULL || rows[i].type == NULL);
        assert_string_equal(remedy_for(rows[i].count, board), rows[i].remedy);
    }
}

/* The longest message fits the error of a claim, with the words that --require-consecutive adds. */
static void test_longest(void **state)
{
    static const struct board longest = {.instance_type = "trn3-dev0.metal-48xlarge",
                                         .devices = 63};
    struct claim_record r;
    (void)state;
    fill_longest(&r);
    for (unsigned i = 0; i < r.count; i++) {
        r.result[i].admin_access = false;
        r.result[i].number = (uint16_t)(DEVICES_MAX - 1u - 2u * i);
    }
    for (unsigned at = 0; at <= 1; at++) {
        struct writer w = writer_of(text, sizeof text);
        claim_scattered_write(&w, &r, (at == 0) ? NULL : &longest);
        writer_text(&w, " (--require-consecutive)");
        assert_int_equal(writer_end_text(&w), STATUS_OK);
        assert_one_line(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
