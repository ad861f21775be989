/* SPDX-License-Identifier: Apache-2.0 */
/* Times: the calendar at its edges, both ends of the text that are in use, and their order. */
#include "unit.h"

#include "base/time.h"

static void check_time(uint64_t wall_ms, const char *end, const char *want)
{
    uint8_t bytes[40];
    struct writer w = writer_of(bytes, sizeof bytes);
    writer_time(&w, wall_ms, end);
    assert_view(writer_view(&w), want);
}

static void test_times(void **state)
{
    (void)state;
    check_time(0, "Z", "1970-01-01T00:00:00.000Z");
    check_time(UINT64_C(951782400000), "Z", "2000-02-29T00:00:00.000Z");
    check_time(UINT64_C(1795262400123), "Z", "2026-11-21T12:00:00.123Z");
    check_time(UINT64_C(1795262400123), "000Z", "2026-11-21T12:00:00.123000Z");
    check_time(UINT64_C(253402300799999), "Z", "9999-12-31T23:59:59.999Z");
}

static void test_order(void **state)
{
    (void)state;
    assert_int_equal(earlier(1, 2), 1);
    assert_int_equal(earlier(2, 1), 1);
    assert_true(earlier(UINT64_MAX, 7) == 7);
    assert_int_equal(later(1, 2), 2);
    assert_int_equal(later(2, 1), 2);
    assert_true(later(UINT64_MAX, 7) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
