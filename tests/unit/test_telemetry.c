/* SPDX-License-Identifier: Apache-2.0 */
/* The files of --device-metrics: which are read, what their texts mean, and what a look costs. */
#include "tests/unit/disk/host_harness.h"

#include "host/system.h"
#include "host/node/telemetry.h"

static struct settings settings;
static struct found_node found;
static struct telemetry values;

#define POWER TELEMETRY_POWER

static int begin(void **state)
{
    int failed = harness_begin(state);
    memset(&found, 0, sizeof found);
    memset(&values, 0, sizeof values);
    (void)snprintf(settings.sysfs_root, sizeof settings.sysfs_root, "%s", at("sys"));
    settings.device_metrics = true;
    settings.neuron_monitor_metrics = true;
    return failed;
}

static void device(unsigned number, const char *cores)
{
    struct found_device *d = &found.devices[found.count];
    found.count++;
    d->number = (uint16_t)number;
    (void)snprintf(d->core_count, sizeof d->core_count, "%s", cores);
}

/* Writes the file of a value. */
static void set(unsigned number, unsigned index, const char *text)
{
    char path[256];
    char core[32] = "";
    struct telemetry_file f = telemetry_file(index);
    if (f.core >= 0) {
        (void)snprintf(core, sizeof core, "neuron_core%d/", f.core);
    }
    (void)snprintf(path, sizeof path, "sys/class/neuron_device/neuron%u/%sstats/%s%s%s", number,
                   core, f.folder, f.name, (f.core >= 0) ? "/total" : "");
    put(path, text);
}

static void look(void)
{
    telemetry_read(&settings, &found, &values);
}

static int64_t value_of(unsigned number, unsigned index)
{
    int64_t value = 0;
    return telemetry_known(values.value[number][index], &value) ? value : -1;
}

static void test_files(void **state)
{
    static const struct {
        unsigned index;
        const char *path;
    } rows[] = {
        {0, "sys/class/neuron_device/neuron3/stats/hardware/sram_ecc_corrected"},
        {4, "sys/class/neuron_device/neuron3/stats/hardware/mem_ecc_repairable_uncorrected"},
        {5, "sys/class/neuron_device/neuron3/neuron_core0/stats/status/failure/total"},
        {68, "sys/class/neuron_device/neuron3/neuron_core7/stats/status/"
             "hw_dma_abort_error/total"},
        {69, "sys/class/neuron_device/neuron3/neuron_core0/stats/memory_usage/"
             "device_mem/total"},
        {84, "sys/class/neuron_device/neuron3/neuron_core7/stats/memory_usage/"
             "host_mem/total"},
        {86, "sys/class/neuron_device/neuron3/neuron_core0/stats/memory_usage/"
             "device_mem/constants/total"},
        {125, "sys/class/neuron_device/neuron3/neuron_core7/stats/memory_usage/"
              "device_mem/tensors/total"}};
    (void)state;
    device(3, "8");
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[16];
        (void)snprintf(text, sizeof text, "%u\n", 100 + i);
        put(rows[i].path, text);
    }
    put("sys/class/neuron_device/neuron3/stats/power/utilization",
        "POWER_STATUS_VALID,1700000000,1.00,99.00,20.25\n");
    look();
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(value_of(3, rows[i].index), 100 + (int)i);
    }
    assert_int_equal(value_of(3, POWER), 202);
    assert_int_equal(value_of(3, 1), -1); /* no such file */
}

/* A flag costs the reads of its own files alone. */
static void test_each_flag_reads_its_files(void **state)
{
    (void)state;
    device(0, "8");
    for (unsigned i = 0; i < TELEMETRY_VALUES; i++) {
        set(0, i, (i == POWER) ? "POWER_STATUS_VALID,1,0.00,0.00,0.70" : "7");
    }
    for (unsigned flags = 1; flags < 4; flags++) {
        settings.device_metrics = (flags & 1u) != 0;
        settings.neuron_monitor_metrics = (flags & 2u) != 0;
        memset(&values, 0, sizeof values);
        look();
        for (unsigned i = 0; i < TELEMETRY_VALUES; i++) {
            unsigned needed = (i < TELEMETRY_USES_FIRST) ? 1 : 2;
            assert_int_equal(value_of(0, i), ((flags & needed) != 0) ? 7 : -1);
        }
    }
}

/* It counts what is no error too. */
static void test_no_error_events(void **state)
{
    (void)state;
    for (unsigned i = 0; i < TELEMETRY_VALUES; i++) {
        assert_string_not_equal(telemetry_file(i).name, "hw_error_event");
    }
}

/* When the values of a device were read is kept with them. */
static void test_time(void **state)
{
    (void)state;
    device(3, "8");
    device(4, "8");
    uint64_t before = clock_now_ms();
    look();
    assert_in_range(values.value[3][TELEMETRY_READ_MS], before, clock_now_ms());
    assert_true(values.value[4][TELEMETRY_READ_MS] == 0);
}

/* Every value has a file of its own. */
static void test_each_is_another(void **state)
{
    (void)state;
    device(0, "8");
    for (unsigned i = 0; i < TELEMETRY_VALUES; i++) {
        char text[16];
        (void)snprintf(text, sizeof text, "%u", i);
        set(0, i, text);
    }
    look();
    for (unsigned i = 0; i < TELEMETRY_VALUES; i++) {
        assert_int_equal(value_of(0, i), (i == POWER) ? -1 : (int)i);
    }
}

static void test_texts(void **state)
{
    static const struct {
        unsigned index;
        const char *text;
        int64_t value;
    } rows[] = {{5, "0\n", 0},
                {5, "", -1},
                {5, "-1\n", -1},
                {5, "device_unreachable\n", -1},
                {5, "2305843009213693952", INT64_C(2305843009213693952)},
                {5, "2305843009213693953", -1},
                {5, "99999999999999999999", -1},
                {POWER, "POWER_STATUS_VALID,1,0.00,0.00,100.00", 1000},
                {POWER, "POWER_STATUS_VALID,1,0.00,0.00,0.09", 0},
                {POWER, "POWER_STATUS_NO_DATA,0,0.00,0.00,0.00", -1},
                {POWER, "POWER_STATUS_INVALID,0,0.00,0.00,0.00", -1},
                {POWER, "POWER_STATUS_VALID,1,0.00,0.00", -1},
                {POWER, "POWER_STATUS_VALID,1,0.00,0.00,101.00", -1},
                {POWER, "POWER_STATUS_VALID,1,0.00,0.00,1", -1},
                {POWER, "POWER_STATUS_VALID,1,0.00,0.00,1.100", -1},
                {POWER, "POWER_STATUS_VALID,1,0.00,0.00,1.00,2", -1},
                {POWER, "12", -1},
                {POWER, "", -1}};
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t kept = 7;
        int64_t value = 0;
        telemetry_parse(&kept, rows[i].index, view_text(rows[i].text));
        if (telemetry_known(kept, &value) != (rows[i].value >= 0) ||
            (rows[i].value >= 0 && value != rows[i].value)) {
            fail_msg("\"%s\" is %lld", rows[i].text, (long long)value);
        }
    }
}

/* I2: the kernel module shows 0 where it could not read the device; a rate would count it again. */
static void test_fall(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } rows[] = {{"5", 5}, {"0", 5}, {"5", 5}, {"0", 5}, {"0", 0}, {"3", 3}, {"2", 3}, {"4", 4},
                {"", -1}, {"0", 4}, {"", -1}, {"5", 5}, {"", -1}, {"0", 5}, {"0", 0}};
    (void)state;
    for (unsigned index = 0; index < 5u; index += 4u) {
        uint64_t kept = 0;
        for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            int64_t value = -1;
            telemetry_parse(&kept, index, view_text(rows[i].text));
            assert_int_equal(telemetry_known(kept, &value) ? value : -1, rows[i].value);
        }
    }
    uint64_t kept = 0;
    int64_t value = 0;
    telemetry_parse(&kept, TELEMETRY_ERRORS, view_text("5")); /* memory is what it is */
    telemetry_parse(&kept, TELEMETRY_ERRORS, view_text("0"));
    assert_true(telemetry_known(kept, &value));
    assert_int_equal(value, 0);
}

/* One device in a look; a core that the device has not is not looked for. */
static void test_turns(void **state)
{
    (void)state;
    look(); /* without devices */
    device(4, "2");
    device(70, "8"); /* no device of the table */
    device(9, "x");
    for (unsigned core = 0; core < 3u; core++) {
        set(4, 5u + core * 8u, "1");
        set(9, 5u + core * 8u, "1");
    }
    set(9, 0, "7");
    look();
    assert_int_equal(value_of(4, 5), 1);
    assert_int_equal(value_of(4, 13), 1);
    assert_int_equal(value_of(4, 21), -1);
    set(4, 5, "2");
    look();
    look();
    assert_int_equal(value_of(4, 5), 1);
    assert_int_equal(value_of(9, 5), -1);
    assert_int_equal(value_of(9, 0), 7); /* the device has it, however many cores it has */
    look();
    assert_int_equal(value_of(4, 5), 2);
    assert_int_equal(unlink(at("sys/class/neuron_device/neuron4/neuron_core0/stats/status/"
                               "failure/total")),
                     0);
    found.count = 1;
    look();
    assert_int_equal(value_of(4, 5), -1);
    /* once the number of cores cannot be read, nothing of them is known any more */
    assert_int_equal(value_of(4, 13), 1);
    found.devices[0].core_count[0] = 0;
    look();
    assert_int_equal(value_of(4, 13), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files, begin, harness_end),
        cmocka_unit_test_setup_teardown(test_each_is_another, begin, harness_end),
        cmocka_unit_test(test_each_flag_reads_its_files),
        cmocka_unit_test(test_no_error_events),
        cmocka_unit_test_setup_teardown(test_time, begin, harness_end),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_fall),
        cmocka_unit_test_setup_teardown(test_turns, begin, harness_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
