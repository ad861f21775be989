/* SPDX-License-Identifier: Apache-2.0 */
/* Times: the calendar at its edges in both directions, both ends of the text, and their order. */
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

static void test_days(void **state)
{
    (void)state;
    static const struct {
        int64_t date[3];
        int64_t days; /* NO_DATE: there is no such date */
    } rows[] = {
#define NO_DATE INT64_MIN
        {{1970, 1, 1}, 0},        {{1969, 12, 31}, -1},      {{2000, 2, 29}, 11016},
        {{2026, 11, 21}, 20778},  {{9999, 12, 31}, 2932896}, {{0, 1, 1}, -719528},
        {{0, 2, 29}, -719469},    {{1900, 2, 29}, NO_DATE},  {{2023, 2, 29}, NO_DATE},
        {{2024, 2, 30}, NO_DATE}, {{2024, 12, 32}, NO_DATE}, {{2024, 4, 31}, NO_DATE},
        {{2024, 0, 1}, NO_DATE},  {{2024, 13, 1}, NO_DATE},  {{2024, 1, 0}, NO_DATE},
        {{10000, 1, 1}, NO_DATE}, {{-1, 1, 1}, NO_DATE},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t days = NO_DATE;
        const int64_t *date = rows[i].date;
        bool exists = time_days(date[0], date[1], date[2], &days);
        assert_true(exists == (rows[i].days != NO_DATE));
        assert_true(days == rows[i].days);
    }
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
        cmocka_unit_test(test_days),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
