/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of --device-metrics: who holds the device, and how many series a scrape has. */
#include "tests/unit/kubelet/agent_kubelet.h"

static char page[524288];

static void metrics_get(void)
{
    struct metrics_cursor c = {0};
    struct writer out = writer_of(&page[1], sizeof page - 2u);
    page[0] = '\n';
    assert_true(metrics_write(world.agent, &c, &out));
    page[1 + out.len] = 0;
}

/* The text has the line, the whole of it. */
static void has_line(const char *line)
{
    char whole[1024];
    (void)snprintf(whole, sizeof whole, "\n%s\n", line);
    if (strstr(page, whole) == NULL) {
        fail_msg("no line \"%s\"", line);
    }
}

static struct telemetry telemetry;

/* Switches both flags on, as the host does: first without any value. */
static void telemetry_begin(void)
{
    memset(&telemetry, 0, sizeof telemetry);
    world.settings.device_metrics = true;
    world.settings.neuron_monitor_metrics = true;
    agent_telemetry(world.agent, &telemetry);
}

/* The files of all devices are read now, and what comes later is later. */
static void read_all(void)
{
    pass(2 * FROZEN_MS_MAX);
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        telemetry.value[n][TELEMETRY_READ_MS] = world.now_ms;
    }
    pass(1);
}

/* Every value of every device is this. */
static void telemetry_fill(const char *text, const char *power)
{
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        for (unsigned i = 0; i < TELEMETRY_VALUES; i++) {
            bool of_power = i == TELEMETRY_POWER;
            telemetry_parse(&telemetry.value[n][i], i, view_text(of_power ? power : text));
        }
    }
}

/* --device-metrics: with who holds the device; nothing of it without the flag. */
static void test_metrics_of_devices(void **state)
{
#define HELD                                                                                       \
    "{device=\"neuron-device-0\",claim_namespace=\"ml\",claim_name=\"claim-0\","                   \
    "pod_name=\"claim-0\""
#define FREE "{device=\"neuron-device-1\",claim_namespace=\"\",claim_name=\"\",pod_name=\"\""
    (void)state;
    world_new();
    claim_add(0);
    node_up();
    prepare_well(0, 1);
    metrics_get();
    assert_null(strstr(page, "neuron_dra_device_errors_total"));
    assert_null(strstr(page, "neuron_dra_device_memory_bytes"));
    assert_null(strstr(page, "neuron_dra_device_power_ratio"));
    telemetry_begin();
    metrics_get();
    has_line("# TYPE neuron_dra_device_errors_total counter");
    assert_null(strstr(page, "\nneuron_dra_device_errors_total{"));
    read_all();
    telemetry.value[20][0] = 1; /* there is no such device */
    telemetry_parse(&telemetry.value[0][4], 4, view_text("7"));
    telemetry_parse(&telemetry.value[0][68], 68, view_text("8"));
    telemetry_parse(&telemetry.value[0][69], 69, view_text("1000"));
    telemetry_parse(&telemetry.value[0][84], 84, view_text("2000"));
    telemetry_parse(&telemetry.value[1][3], 3, view_text("9"));
    telemetry_parse(&telemetry.value[1][85], 85, view_text("POWER_STATUS_VALID,1,0.00,0.00,7.50"));
    metrics_get();
    has_line("neuron_dra_device_errors_total" HELD
             ",core=\"\",error=\"mem_ecc_repairable_uncorrected\"} 7");
    has_line("neuron_dra_device_errors_total" HELD ",core=\"7\",error=\"hw_dma_abort_error\"} 8");
    has_line("neuron_dra_device_memory_bytes" HELD ",core=\"0\",memory=\"device_mem\"} 1000");
    has_line("neuron_dra_device_memory_bytes" HELD ",core=\"7\",memory=\"host_mem\"} 2000");
    has_line("neuron_dra_device_errors_total" FREE ",core=\"\",error=\"mem_ecc_uncorrected\"} 9");
    has_line("neuron_dra_device_power_ratio" FREE "} 0.075");
    unsigned series = 0;
    for (const char *c = strstr(page, "\nneuron_dra_device_errors_total{"); c != NULL;
         c = strstr(c + 1, "\nneuron_dra_device_errors_total{")) {
        series++;
    }
    assert_int_equal(series, 3);
    assert_null(strstr(page, "hw_error_event"));
}

/* What was read before a claim came tells of whoever had the device then. */
static void test_next_claim(void **state)
{
#define OF(claim)                                                                                  \
    "neuron_dra_device_errors_total{device=\"neuron-device-0\",claim_namespace=\"" claim "\","     \
    "claim_name="
#define NOBODY "\"\",pod_name=\"\",core=\"7\",error=\"hw_dma_abort_error\"} 8"
    (void)state;
    world_new();
    claim_add(0);
    claim_add(1);
    node_up();
    prepare_well(0, 1);
    telemetry_begin();
    telemetry_parse(&telemetry.value[0][68], 68, view_text("8"));
    telemetry_parse(&telemetry.value[0][69], 69, view_text("4096"));
    metrics_get();
    has_line(OF("") NOBODY); /* never read since */
    read_all();
    metrics_get();
    has_line(OF("ml") "\"claim-0\",pod_name=\"claim-0\",core=\"7\","
                      "error=\"hw_dma_abort_error\"} 8");
    unprepare_well(0, 1);
    api.claim[1].result[0].device = "neuron-device-0";
    prepare_well(1, 1);
    metrics_get();
    has_line(OF("") NOBODY);
    has_line("neuron_dra_device_memory_bytes{device=\"neuron-device-0\",claim_namespace=\"\","
             "claim_name=\"\",pod_name=\"\",core=\"0\",memory=\"device_mem\"} 4096");
    assert_non_null(strstr(page, "\nneuron_dra_device_held{device=\"neuron-device-0\","
                                 "claim_namespace=\"ml\",claim_name=\"claim-1\""));
    pass(60000);
    prepare_well(1, 1); /* a repeat changes nothing */
    read_all();
    metrics_get();
    has_line(OF("ml") "\"claim-1\",pod_name=\"claim-1\",core=\"7\","
                      "error=\"hw_dma_abort_error\"} 8");
}

/*
 * A claim that ends takes its labels away at once; the same claim, prepared again, gets them back
 * once the device was read again, and not by a read that began before.
 */
static void test_same_claim_again(void **state)
{
    (void)state;
    world_new();
    claim_add(0);
    node_up();
    prepare_well(0, 1);
    telemetry_begin();
    telemetry_parse(&telemetry.value[0][68], 68, view_text("8"));
    telemetry_parse(&telemetry.value[0][TELEMETRY_USES_FIRST], TELEMETRY_USES_FIRST,
                    view_text("4096"));
    static const char used[] = "neuroncore_memory_usage_constants{neuroncore=\"0\","
                               "neurondevice=\"0\",claim_namespace=\"ml\","
                               "claim_name=\"claim-0\",pod_name=\"claim-0\"} 4096";
    static const char unused[] = "neuroncore_memory_usage_constants{neuroncore=\"0\","
                                 "neurondevice=\"0\",claim_namespace=\"\",claim_name=\"\","
                                 "pod_name=\"\"} 4096";
    read_all();
    metrics_get();
    has_line(OF("ml") "\"claim-0\",pod_name=\"claim-0\",core=\"7\","
                      "error=\"hw_dma_abort_error\"} 8");
    has_line(used);
    unprepare_well(0, 1);
    metrics_get();
    has_line(OF("") NOBODY);
    has_line(unused);
    read_all();
    uint64_t before_ms = world.now_ms;
    metrics_get();
    has_line(OF("") NOBODY);
    pass(5000);
    prepare_well(0, 1);
    metrics_get();
    has_line(OF("") NOBODY);
    has_line(unused);
    pass(60000);
    telemetry.value[0][TELEMETRY_READ_MS] = before_ms; /* a read that hung from then till now */
    metrics_get();
    has_line(OF("") NOBODY);
    has_line(unused);
    read_all();
    metrics_get();
    has_line(OF("ml") "\"claim-0\",pod_name=\"claim-0\",core=\"7\","
                      "error=\"hw_dma_abort_error\"} 8");
    has_line(used);
}

/* Each flag brings its own families, under the names of neuron-monitor those of the other flag. */
static void test_names_of_neuron_monitor(void **state)
{
    static const char *const uses[TELEMETRY_USES_OF_CORE] = {
        "constants", "model_code", "model_shared_scratchpad", "runtime_memory", "tensors"};
    (void)state;
    world_new();
    claim_add(0);
    node_up();
    prepare_well(0, 1);
    telemetry_begin();
    for (unsigned i = 0; i < TELEMETRY_USES; i++) {
        char text[16];
        unsigned at = TELEMETRY_USES_FIRST + i;
        (void)snprintf(text, sizeof text, "%u", 1000 + i);
        telemetry_parse(&telemetry.value[0][at], at, view_text(text));
        telemetry_parse(&telemetry.value[3][at], at, view_text(text));
    }
    telemetry_parse(&telemetry.value[0][69], 69, view_text("1000"));
    read_all();
    metrics_get();
    for (unsigned i = 0; i < TELEMETRY_USES; i++) {
        char line[256];
        unsigned core = i / TELEMETRY_USES_OF_CORE;
        const char *use = uses[i % TELEMETRY_USES_OF_CORE];
        (void)snprintf(line, sizeof line,
                       "neuroncore_memory_usage_%s{neuroncore=\"%u\",neurondevice=\"0\","
                       "claim_namespace=\"ml\",claim_name=\"claim-0\",pod_name=\"claim-0\"} %u",
                       use, core, 1000 + i);
        has_line(line);
        (void)snprintf(line, sizeof line,
                       "neuroncore_memory_usage_%s{neuroncore=\"%u\",neurondevice=\"3\","
                       "claim_namespace=\"\",claim_name=\"\",pod_name=\"\"} %u",
                       use, 24 + core, 1000 + i); /* after three devices of eight cores */
        has_line(line);
    }
    has_line("# TYPE neuroncore_memory_usage_tensors gauge");
    assert_null(strstr(page, "neurondevice=\"1\""));
    world.settings.device_metrics = false;
    metrics_get();
    assert_non_null(strstr(page, "\nneuroncore_memory_usage_tensors{"));
    assert_null(strstr(page, "neuron_dra_device_memory_bytes"));
    world.settings.device_metrics = true;
    world.settings.neuron_monitor_metrics = false;
    metrics_get();
    assert_null(strstr(page, "neuroncore_memory_usage"));
    assert_non_null(strstr(page, "\nneuron_dra_device_memory_bytes{"));
}

/* Claim n gets these cores of device 0. */
static void hold_part(unsigned n, uint8_t cores)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    const struct claim_record *r = NULL;
    int slot = ledger_find(world.agent, api.claim[n].uid);
    unsigned at = 0;
    assert_true(slot >= 0);
    assert_int_equal(ledger_read(world.agent, (unsigned)slot, &r), STATUS_OK);
    struct claim_record part = *r;
    part.result[0].number = 0;
    part.result[0].cores = cores;
    part.zero_numbering = true;
    text_set(part.result[0].share_id, sizeof part.result[0].share_id, api.claim[n].uid);
    assert_int_equal(ledger_put(world.agent, &part, &at, &why), STATUS_OK);
}

/* Errors and memory of a core are those of the claim that has the core; a free one is nobody's. */
static void test_metrics_of_parts(void **state)
{
    static const char *const holders[] = {"claim-0", "claim-0", "claim-1", "claim-1"};
    (void)state;
    world_new();
    (void)claim_add(0);
    (void)claim_add(1);
    node_up();
    prepare_well(0, 2);
    hold_part(0, 0x03);
    hold_part(1, 0x0c);
    telemetry_begin();
    for (unsigned core = 0; core < 5; core++) {
        telemetry_parse(&telemetry.value[0][5u + core * 8u], 5, view_text("6"));
    }
    read_all();
    telemetry_parse(&telemetry.value[0][0], 0, view_text("5"));
    metrics_get();
    for (unsigned core = 0; core < 4; core++) {
        char line[512];
        (void)snprintf(line, sizeof line,
                       "neuron_dra_device_errors_total{device=\"neuron-device-0\","
                       "claim_namespace=\"ml\",claim_name=\"%s\",pod_name=\"%s\",core=\"%u\","
                       "error=\"failure\"} 6",
                       holders[core], holders[core], core);
        has_line(line);
    }
    has_line("neuron_dra_device_errors_total{device=\"neuron-device-0\",claim_namespace=\"\","
             "claim_name=\"\",pod_name=\"\",core=\"4\",error=\"failure\"} 6");
    has_line("neuron_dra_device_errors_total" HELD ",core=\"\",error=\"sram_ecc_corrected\"} 5");
}

/* A device that is gone has no series, whatever was read of it before. */
static void test_metrics_of_a_device_that_goes(void **state)
{
    (void)state;
    world_new();
    node_up();
    telemetry_begin();
    read_all();
    telemetry_fill("5", "POWER_STATUS_VALID,1,0.00,0.00,7.50");
    metrics_get();
    assert_non_null(strstr(page, "neurondevice=\"15\""));
    assert_non_null(strstr(page, "device_errors_total{device=\"neuron-device-15\""));
    found_set("trn2.48xlarge", 15, 8);
    agent_found(world.agent, &world.found);
    world.poked = true;
    settle();
    metrics_get();
    assert_null(strstr(page, "neurondevice=\"15\""));
    assert_null(strstr(page, "neuron-device-15\""));
    assert_non_null(strstr(page, "neurondevice=\"14\""));
}

static struct files timed;

static void process_zero(void *ctx, uint64_t value[PROCESS_VALUES])
{
    (void)ctx;
    memset(value, 0, PROCESS_VALUES * sizeof *value);
}

/* Requests of each kind, with each way to end. */
static void requests_of_each_kind(struct agent *a)
{
    for (unsigned kind = 0; kind < REQUEST_KINDS; kind++) {
        if (kind == (unsigned)API_LOOK_CLAIM) {
            continue; /* counted as another GET of a claim */
        }
        for (unsigned ending = 0; ending < REQUEST_ENDINGS; ending++) {
            a->report->durations.request[kind][ending].bucket[0] = 1;
        }
    }
}

/*
 * What a scrape has at most, which README.md names: all devices held, all requests answered in
 * every way, both drivers, all flags.
 */
static void test_number_of_series(void **state)
{
    static struct agent second;
    struct metrics_cursor c = {0};
    unsigned series = 0;
    unsigned telling = 0;
    bool last = false;
    (void)state;
    world_new();
    found_set("xyz9.metal", DEVICES_MAX, 8);
    node_up();
    struct agent *a = world.agent;
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        a->node->device_states.device[n].state = (uint8_t)HEALTH_HEALTHY;
    }
    requests_of_each_kind(a);
    telemetry_fill("5", "POWER_STATUS_VALID,1,0.00,0.00,7.50");
    world.settings.device_metrics = true;
    world.settings.neuron_monitor_metrics = true;
    world.settings.efa = true;
    agent_telemetry(a, &telemetry);
    timed = *a->files;
    timed.process = process_zero;
    a->files = &timed;
    memcpy(&second, a, sizeof second); /* a second driver that has as many devices */
    a->next = &second;
    while (!last) {
        struct writer out = writer_of(page, METRICS_LINE_BYTES_MAX);
        last = metrics_write(a, &c, &out);
        page[out.len] = 0;
        for (const char *line = page; *line != 0; line = strchr(line, '\n') + 1) {
            series += (*line != '#') ? 1u : 0u;
            telling += (strncmp(line, "neuron_dra_device_errors", 24) == 0) ? 1u : 0u;
        }
    }
    a->next = NULL;
    a->files = &disk_files;
    assert_int_equal(a->devices->count, DEVICES_MAX);
    assert_int_equal(telling, DEVICES_MAX * TELEMETRY_ERRORS);
    series += DRIVERS * DEVICES_MAX; /* device_consumer_info, if claims hold them all */
    if (series > METRICS_SERIES_MAX || series + 100u < METRICS_SERIES_MAX) {
        fail_msg("%u series: METRICS_SERIES_MAX and README.md name %u", series, METRICS_SERIES_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics_of_devices),
        cmocka_unit_test(test_next_claim),
        cmocka_unit_test(test_same_claim_again),
        cmocka_unit_test(test_names_of_neuron_monitor),
        cmocka_unit_test(test_metrics_of_parts),
        cmocka_unit_test(test_number_of_series),
        cmocka_unit_test(test_metrics_of_a_device_that_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
