/* SPDX-License-Identifier: Apache-2.0 */
/* Times as text: the calendar at its edges, and both ends that are in use. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
