/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of health that a kernel module should have, and devices lack: what the table of
 * devices makes of that.
 */
#include "tests/unit/node/device_harness.h"

/* The issue about files of health when these devices lack these files; NULL: there is none. */
static const char *lacking(const char *type, const char *version, uint64_t numbers, uint8_t absent)
{
    found_board(&found, board_find(type));
    (void)snprintf(found.driver_version, sizeof found.driver_version, "%s\n", version);
    for (unsigned i = 0; i < found.count; i++) {
        struct device_reading *r = &found.devices[i].reading;
        *r = (struct device_reading){.known = true};
        if ((numbers >> found.devices[i].number & 1u) != 0u) {
            r->unread = absent;
            r->absent = absent;
        }
    }
    build();
    const char *text = NULL;
    for (unsigned i = 0; i < issues.count; i++) {
        if (issues.issue[i].kind == PROBE_ISSUE_HEALTH_FILES) {
            assert_null(text);
            assert_int_equal(issues.issue[i].number, PROBE_ISSUE_NO_NUMBER);
            text = issues.issue[i].text;
        }
    }
    return text;
}

/* What a kernel module of this version has on this family, and these devices lack. */
static void test_absent_files_of_health(void **state)
{
    (void)state;
    assert_string_equal(lacking("trn2.48xlarge", "2.31.7.0", 0xffff, 0x1),
                        "health unknown: module 2.31.7.0 should have unhealthy_components; absent "
                        "of devices 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15");
    assert_int_equal(device_reading_health(&devices.device[3].reading), HEALTH_UNKNOWN);
    assert_string_equal(lacking("trn3.48xlarge", "2.30.2.0", 0x22, 0x5),
                        "health unknown: module 2.30.2.0 should have unhealthy_components "
                        "sram_ecc_uncorrected; absent of devices 1,5");
    assert_int_equal(device_reading_health(&devices.device[1].reading), HEALTH_UNKNOWN);
    assert_int_equal(device_reading_health(&devices.device[0].reading), HEALTH_HEALTHY);
    assert_string_equal(lacking("trn1.32xlarge", "2.31.7.0", 0x8000, 0x1f),
                        "health unknown: module 2.31.7.0 should have reset sram_ecc_uncorrected "
                        "mem_ecc_uncorrected mem_ecc_repairable_uncorrected; absent of devices 15");
    /* all of them have room */
    const char *all = lacking("trn2.48xlarge", "2.31.7.0", 0xffff, 0x1f);
    assert_string_equal(all + strlen(all) - 3, ",15");
    /* an older module, another family, and what nobody knows */
    assert_null(lacking("trn2.48xlarge", "2.29.1.0", 0xffff, 0x1));
    assert_null(lacking("trn1.32xlarge", "2.31.7.0", 0xffff, 0x1));
    assert_null(lacking("inf2.48xlarge", "2.31.7.0", 0xfff, 0x1));
    assert_null(lacking("trn2.48xlarge", "", 0xffff, 0x1f));
    assert_null(lacking("trn2.48xlarge", "2.31.7.0", 0, 0x1f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_absent_files_of_health),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
