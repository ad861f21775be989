/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that processes use on a core: what the kernel module counts beyond its own. */
#include "unit.h"

#include "dra/core_memory.h"

static uint64_t used(int64_t total, int64_t driver, int64_t notifications)
{
    const int64_t bytes[CORE_MEMORY_FILES] = {[CORE_MEMORY_TOTAL] = total,
                                              [CORE_MEMORY_DRIVER] = driver,
                                              [CORE_MEMORY_NOTIFICATIONS] = notifications};
    return core_memory_of_processes(bytes);
}

static void test_beyond_the_base_line(void **state)
{
    (void)state;
    assert_int_equal(used(0, 0, 0), 0);
    assert_int_equal(used(4096, 0, 0), 4096);
    assert_int_equal(used(16777216, 16777216, 0), 0);
    assert_int_equal(used(16781312, 16777216, 0), 4096);
    assert_int_equal(used(16781312, 16777216, 4096), 0);
    assert_int_equal(used(4096, 16777216, 0), 0); /* the total was cleared */
    assert_int_equal(used(INT64_MAX, INT64_MAX, INT64_MAX), 0);
}

/* A module that lacks a file, or one that cannot be read. */
static void test_files_that_are_absent(void **state)
{
    (void)state;
    assert_int_equal(used(-2, -2, -2), 0);
    assert_int_equal(used(4096, -2, -5), 4096);
    assert_int_equal(used(4096, 96, -2), 4000);
    assert_int_equal(used(-2, 96, 96), 0);
}

static void test_paths(void **state)
{
    (void)state;
    assert_string_equal(core_memory_path(CORE_MEMORY_TOTAL), "total");
    assert_string_equal(core_memory_path(CORE_MEMORY_DRIVER), "driver_memory/total");
    assert_string_equal(core_memory_path(CORE_MEMORY_NOTIFICATIONS), "notifications/total");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beyond_the_base_line),
        cmocka_unit_test(test_files_that_are_absent),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
