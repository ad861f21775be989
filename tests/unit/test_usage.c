/* SPDX-License-Identifier: Apache-2.0 */
/* What the process uses: as the kernel says, and unknown where it cannot be read. */
#include "tests/unit/disk/host_harness.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "host/system.h"
#include "host/usage.h"

static struct usage usage;
static uint64_t value[PROCESS_VALUES];

/* The limit allows all descriptors that the program needs, as after the start of the loop. */
static void begin_usage(void)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = (limit.rlim_cur < DESCRIPTORS_NEEDED) ? DESCRIPTORS_NEEDED : limit.rlim_cur;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    usage_begin(&usage);
    usage_read(&usage, value);
    assert_true(value[PROCESS_MAX_FDS] == limit.rlim_cur);
}

static void test_values(void **state)
{
    (void)state;
    uint64_t before_ms = clock_wall_ms();
    begin_usage();
    assert_in_range(value[PROCESS_START_MS], before_ms, clock_wall_ms());
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    assert_true(value[PROCESS_RESIDENT_BYTES] > page);
    assert_true(value[PROCESS_VIRTUAL_BYTES] > value[PROCESS_RESIDENT_BYTES]);
    assert_true(value[PROCESS_VIRTUAL_BYTES] % page == 0);
    uint64_t cpu_us = value[PROCESS_CPU_US];
    uint64_t open_fds = value[PROCESS_OPEN_FDS];
    int fd = open("/dev/null", O_RDONLY);
    assert_true(fd >= 0);
    for (unsigned i = 0; i < 100; i++) {
        usage_read(&usage, value);
    }
    assert_true(value[PROCESS_OPEN_FDS] == open_fds + 1);
    assert_true(value[PROCESS_CPU_US] > cpu_us);
    assert_int_equal(close(fd), 0);
    usage_read(&usage, value);
    assert_true(value[PROCESS_OPEN_FDS] == open_fds);
    assert_int_equal(close(usage.statm_fd), 0);
}

/* Without /proc, and with one that says something else. */
static void test_memory_is_unknown(void **state)
{
    static const char *const texts[] = {NULL, "", "x 2", " ", "18446744073709551615 1"};
    (void)state;
    begin_usage();
    assert_int_equal(close(usage.statm_fd), 0);
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        usage.statm_fd = -1;
        if (texts[i] != NULL) {
            put("statm", texts[i]);
            usage.statm_fd = open(at("statm"), O_RDONLY);
            assert_true(usage.statm_fd >= 0);
        }
        usage_read(&usage, value);
        assert_true(value[PROCESS_VIRTUAL_BYTES] == UINT64_MAX);
        assert_true(value[PROCESS_OPEN_FDS] > 0);
        (void)close(usage.statm_fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_values, harness_begin, harness_end),
        cmocka_unit_test_setup_teardown(test_memory_is_unknown, harness_begin, harness_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
