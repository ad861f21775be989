/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of a device's health say, and the state that follows from look to look: each
 * oddity of the kernel module as a row, and how many changes a flapping file can cause.
 */
#include "unit.h"

#include <string.h>

#include "base/assert.h"
#include "dra/health.h"

#define HBM 1u
#define SRAM 8u
#define LOOK_MS 5000u

/* --- one look --- */

static const struct {
    const char *components; /* NULL: absent, or mode 0400 of another user */
    const char *reset;
    enum health health;
    uint32_t reasons;
} looks[] = {
    {"\n", "1\n", HEALTH_HEALTHY, 0},
    {"", "1", HEALTH_HEALTHY, 0},
    {"  \n", NULL, HEALTH_HEALTHY, 0},
    {NULL, "1\n", HEALTH_UNKNOWN, 0},
    {NULL, NULL, HEALTH_UNKNOWN, 0},
    {"hbm\n", "1\n", HEALTH_UNHEALTHY, HBM},
    {"hbm", "1\n", HEALTH_UNHEALTHY, HBM},
    {"hbm,sram\n", "1\n", HEALTH_UNHEALTHY, HBM | SRAM},
    {"hbm, sram,\n", "1\n", HEALTH_UNHEALTHY, HBM | SRAM},
    {"hbm,firmware_service_api,firmware_service_processor,sram,link_intraserver,link_host,"
     "link_efa,link_interserver,link_switch,axi_fabric\n",
     "1\n", HEALTH_UNHEALTHY, HEALTH_REASON_COMPONENTS},
    {"flux_capacitor\n", "1\n", HEALTH_UNHEALTHY, HEALTH_REASON_COMPONENT},
    {"hbm\x01", "1\n", HEALTH_UNHEALTHY, HEALTH_REASON_COMPONENT},
    {"device_unreachable\n", "1\n", HEALTH_UNHEALTHY, HEALTH_REASON_UNREACHABLE},
    {"init_error\n", "1\n", HEALTH_UNHEALTHY, HEALTH_REASON_INIT},
    {"busy\n", "1\n", HEALTH_UNKNOWN, 0},
    {"\n", "0\n", HEALTH_UNKNOWN, 0},
    {"\n", "2\n", HEALTH_UNHEALTHY, HEALTH_REASON_RESET},
    {"\n", "busy\n", HEALTH_HEALTHY, 0},
    {"hbm\n", "0\n", HEALTH_UNHEALTHY, HBM},
};

static struct device_reading reading_of(const char *components, const char *reset)
{
    struct device_reading r = {0};
    device_reading_components(&r, view_text(components != NULL ? components : ""),
                              components != NULL);
    device_reading_reset(&r, view_text(reset != NULL ? reset : ""));
    return r;
}

static void test_looks(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        struct device_reading r = reading_of(looks[i].components, looks[i].reset);
        if (device_reading_health(&r) != looks[i].health || r.reasons != looks[i].reasons) {
            fail_msg("row %u: reasons %x", i, r.reasons);
        }
    }
}

static void test_counters(void **state)
{
    (void)state;
    struct device_reading r = {0};
    device_reading_counter(&r, 1, view_text("7\n"));
    assert_int_equal(r.counted, 2);
    assert_int_equal(r.ecc[1], 7);
    static const char *const none[] = {"", "\n", "-1", "busy", "1 2", "99999999999999999999"};
    for (unsigned i = 0; i < sizeof none / sizeof none[0]; i++) {
        device_reading_counter(&r, 0, view_text(none[i]));
    }
    assert_int_equal(r.counted, 2);
}

/* Which files a module has, by its version. */
static void test_files(void **state)
{
    static const struct {
        const char *version;
        unsigned counted; /* on families that count alone */
        unsigned listed;  /* on those that list components */
    } rows[] = {{"2.23.0.0", 0, 0},
                {"2.24.7.0", 0x1e, 0x1e},
                {"2.29.9", 0x1e, 0x1e},
                {"2.30.2.0", 0x1e, 0x1f},
                {"2.31.7", 0x1e, 0x1f},
                {"2.100.0.0", 0x1e, 0x1f},
                {"3.0.0.0", 0x1e, 0x1f},
                {"1.99.0.0", 0, 0},
                {"", 0, 0},
                {"2", 0, 0},
                {"2.", 0, 0},
                {"2.x.1", 0, 0},
                {".30", 0, 0},
                {"-2.30", 0, 0},
                {"2.30", 0x1e, 0x1f},
                {"2.9999999999999999", 0, 0}};
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct view version = view_text(rows[i].version);
        if (health_files_of(version, false) != rows[i].counted ||
            health_files_of(version, true) != rows[i].listed) {
            fail_msg("version \"%s\"", rows[i].version);
        }
    }
    assert_true(view_is(health_file_name(HEALTH_FILE_COMPONENTS), "unhealthy_components"));
    assert_true(view_is(health_file_name(HEALTH_FILE_RESET), "reset"));
    assert_string_equal(health_file_path(HEALTH_FILE_ECC), "stats/hardware/sram_ecc_uncorrected");
}

static void test_texts(void **state)
{
    static char text[HEALTH_TEXT_CAP];
    (void)state;
    struct writer w = writer_of(text, sizeof text);
    device_health_text(&w, HEALTH_UNHEALTHY, HBM | SRAM);
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    assert_string_equal(text, "hbm, sram");
    w = writer_of(text, sizeof text);
    device_health_text(&w, HEALTH_UNHEALTHY, HEALTH_REASON_GONE * 2u - 1u);
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    w = writer_of(text, sizeof text);
    device_health_text(&w, HEALTH_HEALTHY, 0);
    assert_int_equal(w.len, 0);
    device_health_text(&w, HEALTH_UNKNOWN, 0);
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    assert_string_equal(text, "no file that can be read says whether the device is healthy, or a "
                              "reset is under way");
}

/* --- from look to look --- */

static struct health_track health;
static uint64_t now_ms;

static int setup(void **state)
{
    (void)state;
    memset(&health, 0, sizeof health);
    now_ms = 10000;
    return 0;
}

static bool look(const struct device_reading *r)
{
    now_ms += LOOK_MS;
    return device_health_apply(&health, r, now_ms);
}

static bool look_at(const char *components)
{
    struct device_reading r = reading_of(components, "1");
    return look(&r);
}

static void test_at_once(void **state)
{
    (void)state;
    assert_true(look_at("\n"));
    assert_int_equal(health.state, HEALTH_HEALTHY);
    assert_false(look_at("\n"));
    assert_true(look_at("hbm\n"));
    assert_int_equal(health.state, HEALTH_UNHEALTHY);
    assert_int_equal(health.since_ms, now_ms);
    assert_false(look_at("hbm\n"));
    assert_true(look_at("hbm,sram\n"));
    assert_int_equal(health.since_ms, now_ms - 2 * LOOK_MS);
    assert_true(look_at("\n"));
    assert_int_equal(health.state, HEALTH_HEALTHY);
    assert_int_equal(health.reasons, 0);
}

/* What cannot be read does not heal a device, however long that lasts; one good look does. */
static void test_unknown(void **state)
{
    static const char *const silent[] = {"busy", NULL};
    (void)state;
    (void)look_at("\n");
    assert_true(look_at(NULL));
    assert_int_equal(health.state, HEALTH_UNKNOWN);
    (void)look_at("hbm");
    for (unsigned i = 0; i < 4u * HEALTH_ERROR_MS / LOOK_MS; i++) {
        assert_false(look_at(silent[i % 2u]));
        assert_int_equal(health.state, HEALTH_UNHEALTHY);
        assert_int_equal(health.reasons, HBM);
    }
    assert_true(look_at("\n"));
    assert_int_equal(health.state, HEALTH_HEALTHY);
}

/* A module before 2.30: no components. */
static bool look_counted(uint64_t sram, uint64_t memory)
{
    struct device_reading r = reading_of(NULL, "1");
    r.counted = 3;
    r.ecc[0] = sram;
    r.ecc[1] = memory;
    return look(&r);
}

static void test_counters_rise(void **state)
{
    (void)state;
    /* history counts for nothing */
    (void)look_counted(7, 9);
    assert_int_equal(health.state, HEALTH_UNKNOWN);
    (void)look_counted(7, 9);
    assert_true(look_counted(8, 9));
    assert_int_equal(health.reasons, HEALTH_REASON_ECC);
    for (unsigned i = 1; i < HEALTH_ERROR_MS / LOOK_MS; i++) {
        assert_false(look_counted(8, 9));
    }
    assert_true(look_counted(8, 9));
    assert_int_equal(health.state, HEALTH_UNKNOWN);
}

/* Two counters that rise between the same looks are one rise: neither counts again later. */
static void test_counters_rise_together(void **state)
{
    (void)state;
    (void)look_counted(7, 9);
    assert_true(look_counted(8, 10));
    for (unsigned i = 1; i < HEALTH_ERROR_MS / LOOK_MS; i++) {
        assert_false(look_counted(8, 10));
    }
    assert_true(look_counted(8, 10));
    assert_int_equal(health.state, HEALTH_UNKNOWN);
}

/* Where the module lists the components, no counter is the truth, nor a rise of that time. */
static void test_counters_beside_components(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct device_reading r = reading_of("", (i == 3u) ? "0" : "1");
        r.counted = 7;
        r.ecc[0] = i;
        (void)look(&r);
        assert_int_not_equal(health.state, HEALTH_UNHEALTHY);
    }
    (void)look_counted(3, 0);
    assert_int_equal(health.state, HEALTH_UNKNOWN);
    (void)look_counted(4, 0);
    assert_int_equal(health.state, HEALTH_UNHEALTHY);
}

/* The kernel module shows 0 for a counter that it could not read; cleared is what stays so. */
static void test_counters_fall(void **state)
{
    (void)state;
    (void)look_counted(7, 0);
    assert_false(look_counted(0, 0));
    assert_false(look_counted(7, 0));
    assert_int_equal(health.state, HEALTH_UNKNOWN);
    (void)look_counted(8, 0);
    assert_int_equal(health.state, HEALTH_UNHEALTHY);
    (void)look_counted(0, 0);
    assert_int_equal(health.state, HEALTH_UNHEALTHY);
    assert_true(look_counted(0, 0));
    assert_int_equal(health.state, HEALTH_UNKNOWN);
    assert_true(look_counted(1, 0));
}

/* The counter of SRAM is 16 bits wide. */
static void test_counter_wraps(void **state)
{
    (void)state;
    (void)look_counted(65534, 5);
    assert_true(look_counted(1, 5));
    assert_int_equal(health.reasons, HEALTH_REASON_ECC);
}

/* A counter that cannot be read for a while is no error when it can be read again. */
static void test_counters_unreadable(void **state)
{
    (void)state;
    struct device_reading all = reading_of(NULL, "1");
    all.counted = 3;
    all.ecc[0] = 7;
    all.ecc[1] = 5;
    struct device_reading some = all;
    some.counted = 2;
    some.ecc[0] = 0;
    const struct device_reading *const looks_made[] = {&all, &some, &some, &some, &all, &all};
    for (unsigned i = 0; i < sizeof looks_made / sizeof looks_made[0]; i++) {
        (void)look(looks_made[i]);
        assert_int_equal(health.state, HEALTH_UNKNOWN);
    }
    some.ecc[1] = 6;
    assert_true(look(&some));
    assert_int_equal(health.reasons, HEALTH_REASON_ECC);
}

/* A device with this number that comes back has counters of its own. */
static void test_gone_and_back(void **state)
{
    (void)state;
    const struct device_reading gone = {.reasons = HEALTH_REASON_GONE};
    (void)look_counted(7, 0);
    assert_true(look(&gone));
    assert_int_equal(health.reasons, HEALTH_REASON_GONE);
    assert_true(look_counted(900, 900));
    assert_int_equal(health.state, HEALTH_UNKNOWN);
}

/* It is there again, so it is not gone, although it has no files that say how it is. */
static void test_back_without_files(void **state)
{
    (void)state;
    const struct device_reading gone = {.reasons = HEALTH_REASON_GONE};
    const struct device_reading silent = {0};
    (void)look(&gone);
    assert_true(look(&silent));
    assert_int_equal(health.state, HEALTH_UNKNOWN);
}

#define LISTS 0x1fu  /* all files of a module that lists components */
#define COUNTS 0x1eu /* of one that does not */

/* Of a module with these files, of which some cannot be read. */
static struct device_reading partial(unsigned files, unsigned unread, bool absent)
{
    struct device_reading r = {0};
    if ((files & ~unread & 1u) != 0u) {
        device_reading_components(&r, view_text(""), true);
    }
    for (unsigned i = 0; i < HEALTH_FILES; i++) {
        if ((unread >> i & 1u) != 0u) {
            device_reading_unread(&r, i, absent);
        }
    }
    r.counted = (uint8_t)(COUNTS >> 2u & ~(unread >> 2u));
    device_reading_judge(&r, files);
    return r;
}

/* What this look makes of a device that the look before found like that. */
static enum health after(const struct device_reading *before, const struct device_reading *r)
{
    memset(&health, 0, sizeof health);
    (void)look(before);
    assert_int_equal(health.state, HEALTH_UNHEALTHY);
    (void)look(r);
    return (enum health)health.state;
}

/* Whatever was wrong, it is over when a look that sees what decides sees nothing wrong. */
static void test_blind_looks(void **state)
{
    static const struct {
        unsigned files;
        unsigned unread;
        bool absent;
        enum health health; /* after a device that was gone, or whose reset had failed */
    } rows[] = {
        {LISTS, 0, false, HEALTH_HEALTHY},
        {LISTS, 0x1, false, HEALTH_UNHEALTHY},
        {LISTS, 0x1, true, HEALTH_UNHEALTHY},
        {LISTS, 0x1e, false, HEALTH_HEALTHY}, /* the list decides alone */
        {LISTS, 0x2, true, HEALTH_UNKNOWN},
        {LISTS, 0x1c, true, HEALTH_UNKNOWN},
        {COUNTS, 0x1, true, HEALTH_UNKNOWN},
        {COUNTS, 0x4, false, HEALTH_UNHEALTHY},
        {COUNTS, 0x10, true, HEALTH_UNHEALTHY},
        {COUNTS, 0x2, false, HEALTH_UNHEALTHY},
        {0, 0x1f, true, HEALTH_UNKNOWN}, /* nothing is known of that module */
    };
    static const uint32_t reasons[] = {HEALTH_REASON_GONE, HEALTH_REASON_RESET};
    (void)state;
    for (unsigned i = 0; i < 2u * (sizeof rows / sizeof rows[0]); i++) {
        const struct device_reading before = {.reasons = reasons[i % 2u]};
        struct device_reading r =
            partial(rows[i / 2u].files, rows[i / 2u].unread, rows[i / 2u].absent);
        if (after(&before, &r) != rows[i / 2u].health) {
            fail_msg("row %u: %u", i / 2u, health.state);
        }
    }
    /* what the list named, the list alone takes back */
    const struct device_reading hbm = reading_of("hbm", "1");
    struct device_reading r = partial(COUNTS, 0x1, true);
    assert_int_equal(after(&hbm, &r), HEALTH_UNHEALTHY);
}

/* A counter that cannot be read any more ends no error, however long that lasts. */
static void test_blind_counters(void **state)
{
    (void)state;
    (void)look_counted(7, 9);
    assert_true(look_counted(8, 9));
    struct device_reading r = partial(COUNTS, 0x4, false);
    r.ecc[1] = 9;
    for (unsigned i = 0; i < 2u * HEALTH_ERROR_MS / LOOK_MS; i++) {
        assert_false(look(&r));
    }
    assert_int_equal(health.state, HEALTH_UNHEALTHY);
    assert_true(look_counted(8, 9));
    assert_int_equal(health.state, HEALTH_UNKNOWN);
}

/* A healthy device that lacks a file which its module has. */
static void test_absent_files(void **state)
{
    (void)state;
    (void)look_at("");
    assert_int_equal(health.state, HEALTH_HEALTHY);
    struct device_reading r = partial(LISTS, 0x10, true);
    assert_int_equal(device_reading_health(&r), HEALTH_UNKNOWN);
    assert_true(look(&r));
    assert_int_equal(health.state, HEALTH_UNKNOWN);
    r = partial(LISTS, 0x10, false);
    assert_true(look(&r));
    assert_int_equal(health.state, HEALTH_HEALTHY);
}

/* Changes of the state while the file changes at each look, for so long. */
static unsigned flips(unsigned looks_made, unsigned good, unsigned bad)
{
    unsigned changes = 0;
    for (unsigned i = 0; i < looks_made; i++) {
        uint8_t before = health.state;
        (void)look_at(i % (good + bad) < good ? "" : "hbm");
        changes += before != health.state ? 1u : 0u;
    }
    return changes;
}

static void test_flapping(void **state)
{
    (void)state;
    (void)look_at("");
    /* each look another state: one change more than the free ones, then it stays unhealthy */
    assert_int_equal(flips(1000, 1, 1), 2 * HEALTH_FALLS_FREE + 1);
    assert_int_equal(health.state, HEALTH_UNHEALTHY);
    (void)flips(HEALTH_HOLD_MS / LOOK_MS, 1, 0);
    assert_int_equal(health.state, HEALTH_HEALTHY);
}

/* Two minutes good, one look bad, for a day: the longest hold is reached, and little changes. */
static void test_slow_flapping(void **state)
{
    (void)state;
    (void)look_at("");
    unsigned day = 24u * 3600u * 1000u / LOOK_MS;
    assert_in_range(flips(day, 24, 1), 2 * HEALTH_FALLS_FREE + 1, 20);
    /* after an hour without errors it starts again from nothing */
    (void)flips(2 * HEALTH_FALLS_MS / LOOK_MS, 1, 0);
    assert_int_equal(flips(2, 1, 1), 1);
    assert_true(look_at(""));
    assert_int_equal(health.state, HEALTH_HEALTHY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_looks),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_texts),
        cmocka_unit_test_setup(test_at_once, setup),
        cmocka_unit_test_setup(test_unknown, setup),
        cmocka_unit_test_setup(test_counters_rise, setup),
        cmocka_unit_test_setup(test_counters_rise_together, setup),
        cmocka_unit_test_setup(test_counters_beside_components, setup),
        cmocka_unit_test_setup(test_counters_fall, setup),
        cmocka_unit_test_setup(test_counter_wraps, setup),
        cmocka_unit_test_setup(test_counters_unreadable, setup),
        cmocka_unit_test_setup(test_gone_and_back, setup),
        cmocka_unit_test_setup(test_back_without_files, setup),
        cmocka_unit_test_setup(test_blind_looks, setup),
        cmocka_unit_test_setup(test_blind_counters, setup),
        cmocka_unit_test_setup(test_absent_files, setup),
        cmocka_unit_test_setup(test_flapping, setup),
        cmocka_unit_test_setup(test_slow_flapping, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
