/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of strangers: how many transfers and connections they get, and that the kubelet waits for
 * nothing. */
#include "unit.h"

#include "host/pace.h"

static struct pace pace;

static unsigned transfers(unsigned link, uint64_t now_ms)
{
    unsigned n = 0;
    while (n < 1000u && pace_allows(&pace, link, now_ms)) {
        pace_count(&pace, link, now_ms);
        n++;
    }
    return n;
}

static void test_kubelet_is_not_paced(void **state)
{
    (void)state;
    memset(&pace, 0, sizeof pace);
    for (unsigned link = 0; link < STRANGER_FIRST; link++) {
        pace_begin(&pace, link);
        assert_int_equal(transfers(link, 5), 1000);
    }
    assert_int_equal(transfers(STRANGER_FIRST, 5), STRANGER_TRANSFERS); /* they took none of it */
}

static void test_windows(void **state)
{
    (void)state;
    unsigned page = GRPC_LINKS;
    memset(&pace, 0, sizeof pace);
    pace_begin(&pace, STRANGER_FIRST);
    pace_begin(&pace, page);
    assert_int_equal(transfers(page, 1000), STRANGER_FIRST_TRANSFERS + STRANGER_TRANSFERS);
    assert_int_equal(pace_next_ms(&pace), 1000 + STRANGER_WINDOW_MS);
    /* others of it have none either, but what is their own */
    assert_int_equal(transfers(page + 1u, 1001), 0);
    assert_int_equal(transfers(STRANGER_FIRST, 1001), STRANGER_FIRST_TRANSFERS);
    assert_int_equal(transfers(page, 1000 + STRANGER_WINDOW_MS - 1u), 0);
    assert_int_equal(transfers(page, 1000 + STRANGER_WINDOW_MS), STRANGER_TRANSFERS);
    /* a new connection of the place has its own again */
    pace_begin(&pace, page);
    assert_int_equal(transfers(page, 1150), STRANGER_FIRST_TRANSFERS);
}

/* A round ends a window by any of its three budgets; one port delays no other. */
static void test_rounds(void **state)
{
    (void)state;
    memset(&pace, 0, sizeof pace);
    assert_int_equal(pace_round_ms(&pace, LINK_GRPC_HEALTH, 1000), 1000);
    for (unsigned i = 0; i < STRANGER_ROUNDS; i++) {
        assert_int_equal(pace_round_ms(&pace, LINK_GRPC_HEALTH, 1003), 1003);
        pace_round(&pace, LINK_GRPC_HEALTH, 1003);
    }
    assert_int_equal(pace_round_ms(&pace, LINK_GRPC_HEALTH, 1004), 1003 + STRANGER_ROUND_MS);
    assert_int_equal(pace_round_ms(&pace, LINK_METRICS, 1004), 1004);
    pace_round(&pace, LINK_METRICS, 1004);
    for (unsigned i = 0; i < STRANGER_ACCEPTS; i++) {
        assert_int_equal(pace_round_ms(&pace, LINK_METRICS, 1004), 1004);
        assert_true(pace_accept(&pace, LINK_METRICS));
    }
    assert_false(pace_accept(&pace, LINK_METRICS));
    assert_int_equal(pace_round_ms(&pace, LINK_METRICS, 1005), 1004 + STRANGER_ROUND_MS);
    pace_round(&pace, LINK_METRICS, 1004 + STRANGER_ROUND_MS);
    for (unsigned i = 0; i < STRANGER_PLACES; i++) {
        assert_true(pace_place(&pace, LINK_METRICS));
    }
    assert_false(pace_place(&pace, LINK_METRICS));
    assert_int_equal(pace_round_ms(&pace, LINK_METRICS, 1005 + STRANGER_ROUND_MS),
                     1004 + 2u * STRANGER_ROUND_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kubelet_is_not_paced),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
