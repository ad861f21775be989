/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the loop waits for besides its peers: files of errors, opened with the devices, opened again
 * after each event, and not waited for during a storm. That a real file wakes the agent is shown by
 * tests/conformance.
 */
#include "tests/unit/disk/host_harness.h"

#include <sys/stat.h>

#include "host/node/error_events.h"

static struct error_events events;
static struct probe probe;
static struct pollfd slots[DEVICES_MAX];

static void put_errors(unsigned number)
{
    char path[128];
    (void)snprintf(path, sizeof path,
                   "sys/class/neuron_device/neuron%u/stats/hardware/health_status/hw_error_event",
                   number);
    put(path, "0\n");
}

static int begin(void **state)
{
    int s = harness_begin(state);
    memset(&probe, 0, sizeof probe);
    probe.known = true;
    probe.listing = 7;
    probe.found.count = 3;
    for (unsigned i = 0; i < 3; i++) {
        probe.found.devices[i].number = (uint16_t)(i * 5u);
        put_errors(i * 5u);
    }
    error_events_begin(&events);
    return s;
}

static int end(void **state)
{
    error_events_end(&events);
    return harness_end(state);
}

#define EVENTS_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static void follow(void)
{
    error_events_follow(&events, at("sys"), &probe);
}

static unsigned waited(uint64_t now_ms)
{
    unsigned count = 0;
    error_events_interest(&events, slots, now_ms);
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        assert_int_equal(slots[i].events, POLLPRI);
        count += slots[i].fd >= 0 ? 1u : 0u;
    }
    return count;
}

static void test_opened_with_the_devices(void **state)
{
    (void)state;
    assert_int_equal(waited(0), 0);
    follow();
    assert_int_equal(waited(0), 3);
    assert_int_equal(poll(slots, DEVICES_MAX, 0), 0); /* a plain file never has news */
    assert_false(error_events_poll(&events, at("sys"), slots, 0));
    /* the same devices: nothing is opened again */
    int first = slots[0].fd;
    probe.found.devices[0].number = 63;
    follow();
    assert_int_equal(waited(0), 3);
    assert_int_equal(slots[0].fd, first);
    /* a look that failed says nothing about them */
    probe.known = false;
    probe.listing = 8;
    follow();
    assert_int_equal(waited(0), 3);
    /* others */
    probe.known = true;
    follow();
    assert_int_equal(waited(0), 2); /* there is no neuron63 */
    probe.found.count = 0;
    probe.listing = 9;
    follow();
    assert_int_equal(waited(0), 0);
}

static void test_other_kinds_of_files(void **state)
{
    const char *first =
        "sys/class/neuron_device/neuron0/stats/hardware/health_status/hw_error_event";
    const char *next =
        "sys/class/neuron_device/neuron5/stats/hardware/health_status/hw_error_event";
    (void)state;
    assert_int_equal(unlink(at(first)), 0);
    assert_int_equal(mkfifo(at(first), 0600), 0);
    assert_int_equal(unlink(at(next)), 0);
    assert_int_equal(mkdir(at(next), 0700), 0);
    follow();
    assert_int_equal(waited(0), 1);
}

static void test_news(void **state)
{
    (void)state;
    follow();
    (void)waited(5000);
    slots[1].revents = POLLPRI | POLLERR;
    assert_true(error_events_poll(&events, at("sys"), slots, 5000));
    /* once */
    assert_int_equal(error_events_armed_ms(&events), 5000 + ERROR_EVENT_GAP_MS);
    assert_int_equal(waited(5000 + ERROR_EVENT_GAP_MS - 1u), 0);
    assert_false(error_events_poll(&events, at("sys"), slots, 5001));
    assert_int_equal(waited(5000 + ERROR_EVENT_GAP_MS), 3);
    assert_false(error_events_poll(&events, at("sys"), slots, 6000));
    /* of a device that is gone: its file is not opened again */
    slots[2].revents = POLLERR;
    assert_int_equal(unlink(at("sys/class/neuron_device/neuron10/stats/hardware/health_status/"
                               "hw_error_event")),
                     0);
    assert_true(error_events_poll(&events, at("sys"), slots, 9000));
    assert_int_equal(waited(9000 + ERROR_EVENT_GAP_MS), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EVENTS_TEST(test_opened_with_the_devices),
        EVENTS_TEST(test_other_kinds_of_files),
        EVENTS_TEST(test_news),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
