/* SPDX-License-Identifier: Apache-2.0 */
/* The line about a device's health: what is written is read again, and other lines are not. */
#include "unit.h"

#include "dra/verdict.h"

static char text[512];

static const char *written(const struct device_verdict *v)
{
    struct writer w = writer_of(text, sizeof text);
    device_verdict_write(&w, "neuron-device-3", v);
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    return text;
}

static void test_lines(void **state)
{
    const uint32_t all = HEALTH_REASON_GONE * 2u - 1u;
    (void)state;
    struct device_verdict v = {.given = true, .state = HEALTH_HEALTHY};
    assert_string_equal(written(&v), "device neuron-device-3: healthy");
    v.state = HEALTH_UNKNOWN;
    assert_string_equal(written(&v), "device neuron-device-3: unknown");
    v.state = HEALTH_UNHEALTHY;
    v.reasons = 1u | HEALTH_REASON_ECC;
    assert_string_equal(written(&v),
                        "device neuron-device-3: unhealthy: hbm, uncorrectable memory errors");
    v.waits = true;
    assert_string_equal(written(&v), "device neuron-device-3: unhealthy, without errors now: hbm, "
                                     "uncorrectable memory errors");
    v.memory_held = true;
    assert_string_equal(written(&v), "device neuron-device-3: unhealthy, memory held, without "
                                     "errors now: hbm, uncorrectable memory errors");
    v.reasons = all;
    assert_true(strlen(written(&v)) < sizeof text - 1u);
}

/* I1, for each state and each reason. */
static void test_round_trip(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 200u; i++) {
        struct device_verdict v = {
            .given = true, .memory_held = i % 5u == 0u, .state = (uint8_t)(i % 3u)};
        if (v.state == HEALTH_UNHEALTHY) {
            v.waits = i % 2u == 1u;
            v.reasons = (i < 150u) ? (uint32_t)1 << (i / 3u % 17u) : i * 641u % 0x1ffffu + 1u;
        }
        struct device_verdict read;
        struct view name;
        assert_true(device_verdict_read(view_text(written(&v)), &name, &read));
        assert_true(view_is(name, "neuron-device-3"));
        assert_true(read.given);
        assert_int_equal(read.state, v.state);
        assert_int_equal(read.waits, v.waits);
        assert_int_equal(read.memory_held, v.memory_held);
        assert_int_equal(read.reasons, v.reasons);
    }
}

static void test_other_lines(void **state)
{
    static const char *const lines[] = {"",
                                        "device",
                                        "device ",
                                        "device x",
                                        "device x:",
                                        "device x: ",
                                        "device x: healthyx",
                                        "device x: healthy: hbm",
                                        "device x: unhealthy",
                                        "device x: unhealthy: ",
                                        "device x: unhealthy, without errors now",
                                        "device x: ill",
                                        " device x: healthy",
                                        "trouble: device x: healthy"};
    (void)state;
    for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct device_verdict v = {.reasons = 77};
        struct view name = view_text("kept");
        if (device_verdict_read(view_text(lines[i]), &name, &v)) {
            fail_msg("read: \"%s\"", lines[i]);
        }
        assert_int_equal(v.reasons, 77);
        assert_true(view_is(name, "kept"));
    }
    struct device_verdict v;
    struct view name;
    assert_true(device_verdict_read(view_text("device x: unhealthy: a new reason"), &name, &v));
    assert_int_equal(v.reasons, HEALTH_REASON_COMPONENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_other_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
