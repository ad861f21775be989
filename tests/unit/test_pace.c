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
        pace_take(&pace, link, now_ms);
        n++;
    }
    return n;
}

static void test_kubelet_is_not_paced(void **state)
{
    (void)state;
    memset(&pace, 0, sizeof pace);
    for (unsigned link = 0; link < STRANGER_FIRST; link++) {
        pace_accepted(&pace, (link < REGISTRATION_LINKS) ? LINK_REGISTRATION : LINK_SERVICE, link,
                      5);
        assert_int_equal(transfers(link, 5), 1000);
    }
    assert_int_equal(pace_accept_ms(&pace, LINK_REGISTRATION), 0);
    assert_int_equal(pace_accept_ms(&pace, LINK_SERVICE), 0);
    assert_int_equal(transfers(STRANGER_FIRST, 5), STRANGER_TRANSFERS); /* they took none of it */
}

static void test_windows(void **state)
{
    (void)state;
    unsigned page = GRPC_LINKS;
    memset(&pace, 0, sizeof pace);
    pace_accepted(&pace, LINK_HEALTH, STRANGER_FIRST, 1000);
    pace_accepted(&pace, LINK_METRICS, page, 1000);
    assert_int_equal(transfers(page, 1000), STRANGER_FIRST_TRANSFERS + STRANGER_TRANSFERS);
    assert_int_equal(pace_next_ms(&pace), 1000 + STRANGER_WINDOW_MS);
    /* others of it have none either, but what is their own */
    assert_int_equal(transfers(page + 1u, 1001), 0);
    assert_int_equal(transfers(STRANGER_FIRST, 1001), STRANGER_FIRST_TRANSFERS);
    assert_int_equal(transfers(page, 1000 + STRANGER_WINDOW_MS - 1u), 0);
    assert_int_equal(transfers(page, 1000 + STRANGER_WINDOW_MS), STRANGER_TRANSFERS);
    /* a new connection of the place has its own again */
    pace_accepted(&pace, LINK_METRICS, page, 1150);
    assert_int_equal(transfers(page, 1150), STRANGER_FIRST_TRANSFERS);
}

static void test_accepting(void **state)
{
    (void)state;
    memset(&pace, 0, sizeof pace);
    assert_int_equal(pace_accept_ms(&pace, LINK_HEALTH), 0);
    pace_accepted(&pace, LINK_HEALTH, STRANGER_FIRST, 1000);
    assert_int_equal(pace_accept_ms(&pace, LINK_HEALTH), 1000 + STRANGER_ACCEPT_MS);
    assert_int_equal(pace_accept_ms(&pace, LINK_METRICS), 0); /* one port delays no other */
    pace_accepted(&pace, LINK_METRICS, GRPC_LINKS, 1003);
    assert_int_equal(pace_accept_ms(&pace, LINK_METRICS), 1003 + STRANGER_ACCEPT_MS);
    assert_int_equal(pace_accept_ms(&pace, LINK_HEALTH), 1000 + STRANGER_ACCEPT_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kubelet_is_not_paced),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_accepting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
