/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparison of a stored slice with the wanted one: each way in which one piece can be otherwise.
 */
#include "tests/unit/node/board_vectors.h"

#include "dra/slice.h"

static struct found_node found;
static struct devices wanted;
static struct probe_issues issues;
static struct slice_compare compare;

static int setup(void **state)
{
    (void)state;
    memset(&wanted, 0, sizeof wanted);
    labels_set(&wanted);
    found_board(&found, board_find("trn2.48xlarge"));
    devices_build(&wanted, &found, &issues);
    return 0;
}

enum change {
    NOTHING,
    REVERSED, /* attributes in another order: a map has none */
    ATTRIBUTE_GONE,
    ATTRIBUTE_TWICE, /* instead of the one after it */
    ATTRIBUTE_MORE,
    KEY_OTHER,
    TYPE_OTHER,
    NUMBER_OTHER,
    TEXT_OTHER,
    NAME_OTHER,
    NAME_LONGER,
    EXTRA_FIELD
};

/* A change of an attribute's value. */
static void change_value(struct attribute *a, enum change change)
{
    bool text = a->type != ATTRIBUTE_INT && a->type != ATTRIBUTE_BOOL;
    if (change == TYPE_OTHER && a->type == ATTRIBUTE_STRING) {
        a->type = ATTRIBUTE_VERSION;
    } else if (change == NUMBER_OTHER && !text) {
        a->number ^= 1;
    } else if (change == TEXT_OTHER && text) {
        a->text[0] ^= 1;
    }
}

/* Tells attribute `i` of a stored device, changed when it is the one that the change is about. */
static void tell_attribute(const struct attributes *all, unsigned i, enum change change)
{
    struct attribute a = all->attribute[i];
    if (change == ATTRIBUTE_GONE && i == 0) {
        return;
    }
    if (change == ATTRIBUTE_TWICE && i == 1) {
        a = all->attribute[0];
    } else if (change == KEY_OTHER && i == 3) {
        a.key[0] ^= 1;
    } else {
        change_value(&a, change);
    }
    slice_compare_attribute(&compare, &a);
}

static void tell_device(const struct devices *stored, unsigned index, enum change change)
{
    struct attributes all;
    char name[DEVICE_NAME_CAP + 1];
    device_attributes(stored, index, &all);
    (void)snprintf(name, sizeof name, "%s%s", stored->device[index].name,
                   (change == NAME_LONGER) ? "0" : "");
    name[0] = (change == NAME_OTHER) ? 'N' : name[0];
    slice_compare_name(&compare, view_text(name));
    for (unsigned i = 0; i < all.count; i++) {
        tell_attribute(&all, (change == REVERSED) ? all.count - 1 - i : i, change);
    }
    if (change == ATTRIBUTE_MORE) {
        struct attribute more = {.key = "zone", .type = ATTRIBUTE_INT};
        slice_compare_attribute(&compare, &more);
    }
    slice_compare_device(&compare, wanted.shares > 1, change == EXTRA_FIELD);
}

/* The verdict on the wanted devices stored with one change in device `at`. */
static bool verdict(unsigned at, enum change change)
{
    slice_compare_begin(&compare, &wanted);
    for (unsigned i = 0; i < wanted.count; i++) {
        tell_device(&wanted, i, (i == at) ? change : NOTHING);
    }
    return slice_compare_end(&compare);
}

static void test_same_slice(void **state)
{
    (void)state;
    assert_true(verdict(0, NOTHING));
    assert_true(verdict(7, REVERSED));
}

static void test_every_change_is_seen_in_every_device(void **state)
{
    (void)state;
    for (unsigned at = 0; at < wanted.count; at++) {
        for (int change = ATTRIBUTE_GONE; change <= EXTRA_FIELD; change++) {
            if (verdict(at, (enum change)change)) {
                fail_msg("change %d of device %u was not seen", change, at);
            }
        }
    }
}

static void test_device_missing_at_the_end(void **state)
{
    (void)state;
    slice_compare_begin(&compare, &wanted);
    for (unsigned i = 0; i + 1 < wanted.count; i++) {
        tell_device(&wanted, i, NOTHING);
    }
    /* a part of the devices, which is not all of them */
    assert_true(slice_compare_end(&compare));
    assert_int_equal(compare.first, 0);
    assert_int_equal(compare.count, wanted.count - 1u);
    tell_device(&wanted, wanted.count - 1u, NOTHING);
    assert_true(slice_compare_end(&compare));
    assert_int_equal(compare.count, wanted.count);
}

/* A slice that begins in the middle reports where. */
static void test_part_from_the_middle(void **state)
{
    (void)state;
    slice_compare_begin(&compare, &wanted);
    for (unsigned i = 5; i < 9; i++) {
        tell_device(&wanted, i, NOTHING);
    }
    assert_true(slice_compare_end(&compare));
    assert_int_equal(compare.first, 5);
    assert_int_equal(compare.count, 4);
    tell_device(&wanted, 5, NOTHING);
    assert_false(slice_compare_end(&compare));
}

static void test_device_missing_in_the_middle(void **state)
{
    (void)state;
    slice_compare_begin(&compare, &wanted);
    for (unsigned i = 0; i < wanted.count; i++) {
        if (i != 5) {
            tell_device(&wanted, i, NOTHING);
        }
    }
    assert_false(slice_compare_end(&compare));
}

static void test_devices_in_another_order(void **state)
{
    (void)state;
    slice_compare_begin(&compare, &wanted);
    for (unsigned i = wanted.count; i > 0; i--) {
        tell_device(&wanted, i - 1, NOTHING);
    }
    assert_false(slice_compare_end(&compare));
}

/* The API allows 128 devices a slice: more than any table of ours. */
static void test_more_devices_than_wanted(void **state)
{
    (void)state;
    slice_compare_begin(&compare, &wanted);
    for (unsigned i = 0; i < 128; i++) {
        tell_device(&wanted, i % wanted.count, NOTHING);
    }
    assert_false(slice_compare_end(&compare));
    slice_compare_begin(&compare, &wanted);
    for (unsigned i = 0; i < wanted.count; i++) {
        tell_device(&wanted, i, NOTHING);
    }
    slice_compare_device(&compare, false, false); /* one without a name */
    assert_false(slice_compare_end(&compare));
}

static void test_device_without_attributes(void **state)
{
    (void)state;
    slice_compare_begin(&compare, &wanted);
    for (unsigned i = 0; i < wanted.count; i++) {
        slice_compare_name(&compare, view_text(wanted.device[i].name));
        slice_compare_device(&compare, false, false);
    }
    assert_false(slice_compare_end(&compare));
}

static void test_empty_slice(void **state)
{
    (void)state;
    struct attribute stray = {.key = "deviceId", .type = ATTRIBUTE_INT};
    wanted.count = 0;
    slice_compare_begin(&compare, &wanted);
    assert_true(slice_compare_end(&compare));
    slice_compare_attribute(&compare, &stray);
    assert_false(slice_compare_end(&compare));
    slice_compare_begin(&compare, &wanted);
    slice_compare_name(&compare, view_text("neuron-device-0"));
    slice_compare_device(&compare, false, false);
    assert_false(slice_compare_end(&compare));
}

static void test_begin_forgets(void **state)
{
    (void)state;
    assert_false(verdict(3, TEXT_OTHER));
    assert_true(verdict(3, NOTHING));
}

/* All 32 attributes that the API allows fit the mask. */
static void test_full_mask(void **state)
{
    (void)state;
    wanted.count = 1;
    slice_compare_begin(&compare, &wanted);
    struct attribute a = {.type = ATTRIBUTE_INT};
    slice_compare_name(&compare, view_text(wanted.device[0].name));
    compare.attributes.count = ATTRIBUTES_MAX;
    for (unsigned i = 0; i < ATTRIBUTES_MAX; i++) {
        (void)snprintf(a.key, sizeof a.key, "k%02u", i);
        compare.attributes.attribute[i] = a;
    }
    for (unsigned i = 0; i < ATTRIBUTES_MAX; i++) {
        slice_compare_attribute(&compare, &compare.attributes.attribute[i]);
    }
    slice_compare_device(&compare, false, false);
    assert_true(slice_compare_end(&compare));
}

/* What is to be shared, and what is stored as shared, as exclusive, or with another capacity. */
static void test_shared_devices(void **state)
{
    struct attributes all;
    (void)state;
    wanted.count = 1;
    wanted.driver = DRIVER_EFA;
    for (unsigned shared = 0; shared < 2; shared++) {
        for (unsigned policy = 0; policy < 2; policy++) {
            wanted.shares = 8;
            device_attributes(&wanted, 0, &all);
            struct attribute *last = &all.attribute[all.count - 1];
            assert_string_equal(last->key, "shares");
            assert_string_equal(last->text, "8");
            assert_int_equal(last->number, 1);
            last->number = policy;
            slice_compare_begin(&compare, &wanted);
            slice_compare_name(&compare, view_text(wanted.device[0].name));
            for (unsigned i = 0; i < all.count; i++) {
                slice_compare_attribute(&compare, &all.attribute[i]);
            }
            slice_compare_device(&compare, shared == 1, false);
            assert_int_equal(slice_compare_end(&compare), shared == 1 && policy == 1);
            assert_int_equal(compare.unshared, shared == 0);
        }
    }
    wanted.shares = 1; /* exclusive again, with what keeps the scheduler off a device with shares */
    device_attributes(&wanted, 0, &all);
    assert_string_equal(all.attribute[all.count - 1].key, "shares");
    assert_string_equal(all.attribute[all.count - 1].text, "1");
    assert_int_equal(all.attribute[all.count - 1].number, 0);
    wanted.shares = 0; /* an exclusive device has no such capacity, and is not stored as shared */
    device_attributes(&wanted, 0, &all);
    assert_string_not_equal(all.attribute[all.count - 1].key, "shares");
    slice_compare_begin(&compare, &wanted);
    slice_compare_name(&compare, view_text(wanted.device[0].name));
    for (unsigned i = 0; i < all.count; i++) {
        slice_compare_attribute(&compare, &all.attribute[i]);
    }
    slice_compare_device(&compare, true, false);
    assert_false(slice_compare_end(&compare));
    assert_false(compare.unshared);
}

static void share_counters(void)
{
    found_board(&found, board_find("trn2u.48xlarge"));
    devices_build(&wanted, &found, &issues);
    devices_add_node(&wanted, false);
    assert_int_equal(wanted.count, 17);
    assert_true(wanted.device[16].node);
}

/* Device `index` as it is stored, with these counters. */
static bool with_counters(unsigned index, unsigned first, unsigned count, const char *value,
                          const char *set)
{
    struct attributes all;
    device_attributes(&wanted, index, &all);
    slice_compare_begin(&compare, &wanted);
    slice_compare_name(&compare, view_text(wanted.device[index].name));
    for (unsigned i = 0; i < all.count; i++) {
        slice_compare_attribute(&compare, &all.attribute[i]);
    }
    for (unsigned i = first; i < first + count; i++) {
        slice_compare_counter(&compare, wanted.device[i].name, value);
    }
    slice_compare_counters(&compare, set);
    slice_compare_device(&compare, false, false);
    return slice_compare_end(&compare);
}

static void test_counters_that_devices_take(void **state)
{
    (void)state;
    share_counters();
    assert_true(with_counters(3, 3, 1, "1", "devices"));
    assert_true(with_counters(16, 0, 16, "1", "devices"));
    assert_int_equal(compare.shared, 0);
    assert_false(with_counters(3, 3, 0, "1", "devices"));
    assert_false(with_counters(3, 4, 1, "1", "devices"));
    assert_false(with_counters(3, 3, 2, "1", "devices"));
    assert_false(with_counters(3, 3, 1, "2", "devices"));
    assert_false(with_counters(3, 3, 1, "1", "others"));
    assert_false(with_counters(16, 0, 15, "1", "devices"));
    assert_false(with_counters(16, 0, 17, "1", "devices")); /* the node has no counter */
    wanted.counters = false;
    assert_false(with_counters(3, 3, 1, "1", "devices"));
    assert_true(with_counters(3, 3, 0, "1", "devices"));
}

static bool slice_of_counters(unsigned count, const char *value)
{
    slice_compare_begin(&compare, &wanted);
    for (unsigned i = 0; i < count; i++) {
        slice_compare_counter(&compare, wanted.device[i].name, value);
    }
    slice_compare_counters(&compare, "devices");
    return slice_compare_end(&compare);
}

static void test_counters_of_the_slice(void **state)
{
    (void)state;
    share_counters();
    assert_true(slice_of_counters(16, "1"));
    assert_int_equal(compare.shared, 0xffff);
    assert_int_equal(compare.count, 0);
    assert_false(slice_of_counters(15, "1"));
    assert_false(slice_of_counters(17, "1"));
    assert_false(slice_of_counters(16, "16"));
    slice_compare_begin(&compare, &wanted);
    slice_compare_counter(&compare, wanted.device[0].name, "1");
    slice_compare_counter(&compare, wanted.device[0].name, "1");
    assert_false(slice_compare_end(&compare));
    wanted.counters = false;
    assert_false(slice_of_counters(16, "1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_same_slice, setup),
        cmocka_unit_test_setup(test_every_change_is_seen_in_every_device, setup),
        cmocka_unit_test_setup(test_device_missing_at_the_end, setup),
        cmocka_unit_test_setup(test_part_from_the_middle, setup),
        cmocka_unit_test_setup(test_device_missing_in_the_middle, setup),
        cmocka_unit_test_setup(test_devices_in_another_order, setup),
        cmocka_unit_test_setup(test_more_devices_than_wanted, setup),
        cmocka_unit_test_setup(test_device_without_attributes, setup),
        cmocka_unit_test_setup(test_empty_slice, setup),
        cmocka_unit_test_setup(test_begin_forgets, setup),
        cmocka_unit_test_setup(test_full_mask, setup),
        cmocka_unit_test_setup(test_shared_devices, setup),
        cmocka_unit_test_setup(test_counters_that_devices_take, setup),
        cmocka_unit_test_setup(test_counters_of_the_slice, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
