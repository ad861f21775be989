/* SPDX-License-Identifier: Apache-2.0 */
/* The time of the loop: it follows the clock, and stands still before a limit while input waits. */
#include "unit.h"

#include "cfg/limits.h"
#include "host/loop_time.h"

static void test_follows_the_clock(void **state)
{
    (void)state;
    struct loop_time t = {0};
    loop_time_set(&t, 1000, 0, true); /* the first turn: everything is due */
    assert_int_equal(t.now_ms, 0);
    loop_time_set(&t, 1000, 0, false);
    assert_int_equal(t.now_ms, 1000);
    loop_time_set(&t, 2000, 5000, true);
    assert_int_equal(t.now_ms, 2000);
    loop_time_set(&t, 6000, 5000, false);
    assert_int_equal(t.now_ms, 6000);
    loop_time_set(&t, 7000, UINT64_MAX, true);
    assert_int_equal(t.now_ms, 7000);
}

/* As much of the stall as no limit fell in has passed: nothing that starts is older than needed. */
static void test_stands_still_before_the_limit(void **state)
{
    (void)state;
    struct loop_time t = {.now_ms = 1000};
    loop_time_set(&t, 6500, 6000, true);
    assert_int_equal(t.now_ms, 5999);
    loop_time_set(&t, 6501, 6000, true);
    assert_int_equal(t.now_ms, 5999);
    loop_time_set(&t, 6502, 5000, true); /* a limit that came up meanwhile, in the past */
    assert_int_equal(t.now_ms, 5999);
    loop_time_set(&t, 6503, 6000, false);
    assert_int_equal(t.now_ms, 6503);
    loop_time_set(&t, 6503, 6503, true); /* a step that is due at once */
    assert_int_equal(t.now_ms, 6503);
}

static void test_input_without_end(void **state)
{
    (void)state;
    struct loop_time t = {.now_ms = 1000};
    for (unsigned round = 0; round < 2u; round++) {
        uint64_t due = t.now_ms + 10u;
        for (unsigned i = 0; i < FROZEN_TURNS_MAX; i++) {
            loop_time_set(&t, due + i, due, true);
            assert_int_equal(t.now_ms, due - 1u);
        }
        loop_time_set(&t, due + FROZEN_TURNS_MAX, due, true);
        assert_int_equal(t.now_ms, due + FROZEN_TURNS_MAX);
    }
}

/* Slow turns: new connections, which wait meanwhile, wait no longer than that. */
static void test_slow_turns(void **state)
{
    (void)state;
    struct loop_time t = {.now_ms = 1000};
    loop_time_set(&t, 60000, 6000, true); /* a stall, however long */
    assert_int_equal(t.now_ms, 5999);
    loop_time_set(&t, 60000 + FROZEN_MS_MAX - 1u, 6000, true);
    assert_int_equal(t.now_ms, 5999);
    loop_time_set(&t, 60000 + FROZEN_MS_MAX, 6000, true);
    assert_int_equal(t.now_ms, 60000 + FROZEN_MS_MAX);
    uint64_t due = t.now_ms + 1u;
    loop_time_set(&t, due + 5000u, due, true); /* the next limit has its own time */
    assert_int_equal(t.now_ms, due - 1u);
}

static void test_old(void **state)
{
    (void)state;
    struct loop_time t = {.now_ms = 1000};
    assert_false(loop_time_is_old(&t, 1000));
    assert_false(loop_time_is_old(&t, 1000 + TIME_OLD_MS - 1u));
    assert_true(loop_time_is_old(&t, 1000 + TIME_OLD_MS));
    loop_time_set(&t, 9000, 8990, true); /* a long stall ends just behind a limit */
    assert_false(loop_time_is_old(&t, 9000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_follows_the_clock),
        cmocka_unit_test(test_stands_still_before_the_limit),
        cmocka_unit_test(test_input_without_end),
        cmocka_unit_test(test_slow_turns),
        cmocka_unit_test(test_old),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
