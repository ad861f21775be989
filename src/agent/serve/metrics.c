/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of all metrics (Prometheus exposition format 0.0.4). A cursor holds the position, and
 * the text is written line by line, so that a text of any length needs a buffer for one line only.
 * Changes no state.
 */
#include "agent/serve/metrics.h"

#include <string.h>

#include "agent/claim/device_memory.h"
#include "agent/frame.h"
#include "agent/ledger/ledger.h"
#include "agent/node/device_states.h"
#include "agent/node/node.h"
#include "agent/pods/claim_pods.h"
#include "agent/publish/publish.h"
#include "agent/report/log.h"
#include "agent/report/log_catalogue.h"
#include "agent/serve/readiness.h"
#include "agent/serve/registration.h"
#include "base/assert.h"
#include "base/chars.h"
#include "cfg/identity.h"

/*
 * Prefix of the agent's own metrics; neuron-monitor uses neuron_, neuroncore_ and neurondevice_.
 * The families from FAMILY_CONVENTIONAL on have no prefix, because other programs already report
 * the same values under these names.
 */
#define METRICS_PREFIX "neuron_dra_"

/* --- metric families --- */

enum {
    /* each of the next families has one series, without labels; scalar_value() returns its value */
    FAMILY_REGISTERED,
    FAMILY_READY,
    FAMILY_API_CONNECTED,
    FAMILY_SLICE_CURRENT,
    FAMILY_POOL_GENERATION,
    FAMILY_SLICE_VERIFIED,
    FAMILY_DEVICES,
    FAMILY_PUBLISHED,
    FAMILY_CLAIMS,
    FAMILY_CAPACITY,
    FAMILY_STORE_USABLE,
    FAMILY_QUARANTINED,
    FAMILY_DEVICE_PLUGIN,
    FAMILY_MEMORY_USED,
    FAMILY_MEMORY_HELD,
    FAMILY_DRAIN,
    FAMILY_CONSUMERS_COMPLETE,
    /* the series of the next families have labels */
    FAMILY_BUILD,
    FAMILY_NODE,
    FAMILY_VERSION,
    FAMILY_LOG_EVENTS,
    FAMILY_DEVICE,
    FAMILY_CONSUMER,
    FAMILY_HEALTH,
    /*
     * the next three families need --device-metrics, and are in the order of the values in struct
     * telemetry; the three families of histograms come after them
     */
    FAMILY_ERRORS,
    FAMILY_MEMORY,
    FAMILY_POWER,
    FAMILY_CALLS,
    FAMILY_FLUSHES,
    FAMILY_REQUESTS,
    /*
     * the next families need --neuron-monitor-metrics, and are in the order of a core's values in
     * struct telemetry
     */
    FAMILY_CONSTANTS,
    FAMILY_MODEL_CODE,
    FAMILY_SCRATCHPAD,
    FAMILY_RUNTIME_MEMORY,
    FAMILY_TENSORS,
    /* the next families are the resource use of the process, in the order of enum process_value */
    FAMILY_CPU,
    FAMILY_RESIDENT,
    FAMILY_VIRTUAL,
    FAMILY_START,
    FAMILY_OPEN_FDS,
    FAMILY_MAX_FDS,
    FAMILIES
};

#define SCALARS FAMILY_BUILD
#define FAMILY_CONVENTIONAL FAMILY_CONSTANTS

/*
 * Families with a value for each driver. With --efa they have series for both drivers,
 * distinguished by the label `driver`.
 */
static const bool per_driver[FAMILIES] = {
    [FAMILY_REGISTERED] = true,     [FAMILY_SLICE_CURRENT] = true, [FAMILY_POOL_GENERATION] = true,
    [FAMILY_SLICE_VERIFIED] = true, [FAMILY_DEVICES] = true,       [FAMILY_PUBLISHED] = true,
    [FAMILY_CLAIMS] = true,         [FAMILY_CAPACITY] = true,      [FAMILY_STORE_USABLE] = true,
    [FAMILY_QUARANTINED] = true,    [FAMILY_DEVICE_PLUGIN] = true, [FAMILY_DEVICE] = true,
    [FAMILY_CONSUMER] = true,       [FAMILY_HEALTH] = true,
};

enum metric_type { GAUGE, COUNTER, HISTOGRAM, METRIC_TYPES };
static const char *const type_names[METRIC_TYPES] = {
    [GAUGE] = "gauge", [COUNTER] = "counter", [HISTOGRAM] = "histogram"};

#define LABELS_MAX 6u

/*
 * A metric family. `name` is the name without METRICS_PREFIX; `rows` is the largest number of
 * series of a driver, but see driver_rows.
 */
struct family {
    const char *help;
    const char *name;
    enum metric_type type;
    uint16_t rows;
    const char *labels[LABELS_MAX]; /* keys of the labels; unused elements are NULL */
};

/*
 * Labels of a family with telemetry values: the device, and the claim and the pod that hold the
 * device.
 */
#define TELEMETRY_LABELS "device", "claim_namespace", "claim_name", "pod_name"
/* Label neuroncore: number of the physical core, counted from 0 across all devices of the node. */
#define MONITOR_LABELS "neuroncore", "neurondevice", "claim_namespace", "claim_name", "pod_name"

#define SCALAR(text, meaning)                                                                      \
    {                                                                                              \
        (meaning), (text), GAUGE, 1,                                                               \
        {                                                                                          \
            NULL                                                                                   \
        }                                                                                          \
    }
#define MONITOR(text, meaning)                                                                     \
    {                                                                                              \
        (meaning), (text), GAUGE, DEVICES_MAX *TELEMETRY_CORES_MAX,                                \
        {                                                                                          \
            MONITOR_LABELS                                                                         \
        }                                                                                          \
    }
#define PROCESS(text, kind, meaning)                                                               \
    {                                                                                              \
        (meaning), (text), (kind), 1,                                                              \
        {                                                                                          \
            NULL                                                                                   \
        }                                                                                          \
    }
static const struct family families[FAMILIES] = {
    [FAMILY_REGISTERED] = SCALAR("registered", "1 while the kubelet has registered the driver."),
    [FAMILY_READY] = SCALAR("ready", "1 while /readyz answers 200."),
    [FAMILY_API_CONNECTED] = SCALAR("api_connected", "1 while the API server is connected."),
    [FAMILY_SLICE_CURRENT] =
        SCALAR("slice_current", "1 while the stored ResourceSlices are up to date."),
    [FAMILY_POOL_GENERATION] = SCALAR("pool_generation", "Pool generation of the ResourceSlices."),
    [FAMILY_SLICE_VERIFIED] =
        SCALAR("slice_verified_timestamp_seconds",
               "Unix time when slice_current was last found to be 1; 0: never."),
    [FAMILY_DEVICES] = SCALAR("devices", "Devices of the node."),
    [FAMILY_PUBLISHED] = SCALAR("devices_published", "Devices in the ResourceSlices."),
    [FAMILY_CLAIMS] = SCALAR("claims_held", "Prepared claims."),
    [FAMILY_CAPACITY] = SCALAR("claims_capacity", "Claims that can be prepared at the same time."),
    [FAMILY_STORE_USABLE] = SCALAR("store_usable", "1 while the claim store is open."),
    [FAMILY_QUARANTINED] =
        SCALAR("store_quarantined_slots", "Slots of the claim store that cannot be read."),
    [FAMILY_DEVICE_PLUGIN] = SCALAR(
        "device_plugin", "1 while a device plugin, or another driver of the same name, runs."),
    [FAMILY_MEMORY_USED] =
        SCALAR("devices_memory_in_use",
               "Devices refused to new claims, as memory of an earlier claim is in use."),
    [FAMILY_MEMORY_HELD] =
        SCALAR("devices_memory_held", "Devices without a claim whose memory stays in use."),
    [FAMILY_DRAIN] = SCALAR("draining", "1: the node drains; 2: it is drained; 0: neither."),
    [FAMILY_CONSUMERS_COMPLETE] =
        SCALAR("device_consumers_complete",
               "1: device_consumer_info has all pods of the kubelet's last list."),
    [FAMILY_BUILD] = {.name = "build_info",
                      .help = "Version and build of the agent.",
                      .type = GAUGE,
                      .rows = 1,
                      .labels = {"version", "build"}},
    [FAMILY_NODE] = {.name = "node_info",
                     .help = "Name, instance type and Neuron driver of the node.",
                     .type = GAUGE,
                     .rows = 1,
                     .labels = {"node", "instance_type", "driver_version"}},
    [FAMILY_VERSION] = {.name = "resource_api_version_info",
                        .help = "Version of resource.k8s.io in use.",
                        .type = GAUGE,
                        .rows = 1,
                        .labels = {"version"}},
    [FAMILY_LOG_EVENTS] = {.name = "log_events_total",
                           .help = "Log events by name, those below the log level included.",
                           .type = COUNTER,
                           .rows = (uint16_t)LOG_ID_COUNT,
                           .labels = {"event"}},
    [FAMILY_DEVICE] = {.name = "device_held",
                       .help = "1 while a claim holds the device; with the first pod of the claim.",
                       .type = GAUGE,
                       .rows = DEVICES_MAX,
                       .labels = {"device", "claim_namespace", "claim_name", "claim_uid",
                                  "pod_name", "pod_uid"}},
    [FAMILY_CONSUMER] = {.name = "device_consumer_info",
                         .help = "First consumer of a held device's claim, and its other pods.",
                         .type = GAUGE,
                         .rows = DEVICES_MAX,
                         .labels = {"device", "kind", "name", "uid"}},
    [FAMILY_HEALTH] = {.name = "device_healthy",
                       .help = "1: healthy, 0: unhealthy; no series while the health is unknown.",
                       .type = GAUGE,
                       .rows = DEVICES_MAX,
                       .labels = {"device"}},
    [FAMILY_ERRORS] = {.name = "device_errors_total",
                       .help =
                           "Errors of a device and its cores, as the kernel module counts them.",
                       .type = COUNTER,
                       .rows = DEVICES_MAX * TELEMETRY_ERRORS,
                       .labels = {TELEMETRY_LABELS, "core", "error"}},
    [FAMILY_MEMORY] = {.name = "device_memory_bytes",
                       .help = "Memory that the Neuron runtime uses on a core and for it.",
                       .type = GAUGE,
                       .rows = DEVICES_MAX * TELEMETRY_MEMORIES,
                       .labels = {TELEMETRY_LABELS, "core", "memory"}},
    [FAMILY_POWER] = {.name = "device_power_ratio",
                      .help = "Power of the last minute, as a share of the maximum.",
                      .type = GAUGE,
                      .rows = DEVICES_MAX,
                      .labels = {TELEMETRY_LABELS}},
    [FAMILY_CALLS] =
        {.name = "kubelet_call_duration_seconds",
         .help = "Durations of the kubelet's calls; error: the call or one of its claims failed.",
         .type = HISTOGRAM,
         .rows = (uint16_t)((unsigned)KUBELET_METHODS * (unsigned)DURATION_RESULTS),
         .labels = {"method", "result"}},
    [FAMILY_FLUSHES] = {.name = "store_flush_duration_seconds",
                        .help =
                            "Durations of fdatasync of the claim store, for which the agent waits.",
                        .type = HISTOGRAM,
                        .rows = DURATION_RESULTS,
                        .labels = {"result"}},
    [FAMILY_REQUESTS] =
        {.name = "api_request_duration_seconds",
         .help =
             "Durations of requests to the API server; code: class of the HTTP status, or none.",
         .type = HISTOGRAM,
         .rows = (uint16_t)((unsigned)REQUEST_KINDS * (unsigned)REQUEST_ENDINGS),
         .labels = {"verb", "resource", "code", "result"}},
    [FAMILY_CONSTANTS] = MONITOR("neuroncore_memory_usage_constants",
                                 "Device memory that a core uses for constants."),
    [FAMILY_MODEL_CODE] = MONITOR("neuroncore_memory_usage_model_code",
                                  "Device memory that a core uses for the code of models."),
    [FAMILY_SCRATCHPAD] = MONITOR("neuroncore_memory_usage_model_shared_scratchpad",
                                  "Device memory that a core uses for the shared scratchpad."),
    [FAMILY_RUNTIME_MEMORY] = MONITOR("neuroncore_memory_usage_runtime_memory",
                                      "Device memory that a core uses for the Neuron runtime."),
    [FAMILY_TENSORS] =
        MONITOR("neuroncore_memory_usage_tensors", "Device memory that a core uses for tensors."),
    [FAMILY_CPU] = PROCESS("process_cpu_seconds_total", COUNTER,
                           "Processor time of the agent, without the readers of sysfs."),
    [FAMILY_RESIDENT] =
        PROCESS("process_resident_memory_bytes", GAUGE, "Resident memory of the agent."),
    [FAMILY_VIRTUAL] =
        PROCESS("process_virtual_memory_bytes", GAUGE, "Size of the agent's address space."),
    [FAMILY_START] =
        PROCESS("process_start_time_seconds", GAUGE, "Unix time when the agent started."),
    [FAMILY_OPEN_FDS] = PROCESS("process_open_fds", GAUGE, "Open file descriptors of the agent."),
    [FAMILY_MAX_FDS] =
        PROCESS("process_max_fds", GAUGE, "Most file descriptors that the agent may open."),
};
_Static_assert((unsigned)FAMILIES - (unsigned)FAMILY_CPU == (unsigned)PROCESS_VALUES &&
                   (unsigned)FAMILY_CPU - (unsigned)FAMILY_CONSTANTS == TELEMETRY_USES_OF_CORE,
               "a family for each value");

static const char *const method_names[KUBELET_METHODS] = {
    [METHOD_PREPARE] = "NodePrepareResources", [METHOD_UNPREPARE] = "NodeUnprepareResources"};

static const struct {
    const char *verb;
    const char *resource;
} request_names[REQUEST_KINDS] = {
    [API_GET_CLAIM] = {"get", "resourceclaims"},
    [API_GET_GROUP] = {"get", "apigroups"},
    [API_GET_NODE] = {"get", "nodes"},
    [API_LIST_SLICES] = {"list", "resourceslices"},
    [API_WRITE_SLICE] = {"update", "resourceslices"},
    [REQUEST_CREATE_SLICE] = {"create", "resourceslices"},
    [API_DELETE_SLICE] = {"delete", "resourceslices"},
    [API_WATCH_SLICES] = {"watch", "resourceslices"},
    [API_WATCH_NODE] = {"watch", "nodes"},
    [API_WRITE_EVENT] = {"patch", "events"},
    [REQUEST_CREATE_EVENT] = {"create", "events"},
    [API_APPLY_CLAIM_STATUS] = {"patch", "resourceclaims/status"},
    [API_LOOK_CLAIM] = {"get", "resourceclaims"},
    [API_LIST_CLAIMS] = {"list", "resourceclaims"},
};

const char *metrics_verb(enum api_kind kind, bool creates)
{
    return request_names[durations_request_kind(kind, creates)].verb;
}

const char *metrics_resource(enum api_kind kind)
{
    return request_names[kind].resource;
}

static const char *const status_classes[REQUEST_ENDINGS] = {"none", "1xx", "2xx", "3xx",
                                                            "4xx",  "5xx", "2xx"};
static const char *const result_names[DURATION_RESULTS] = {
    [RESULT_OK] = "ok", [RESULT_ERROR] = "error"};

/* --- values of the metric families without labels --- */

static int64_t count_quarantined(const struct agent *a)
{
    int64_t n = 0;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        n += ledger_entry(a, i)->damaged ? 1 : 0;
    }
    return n;
}

static int64_t drain_value(const struct agent *a)
{
    return node_is_drained(a) ? 2 : (node_drains(a) ? 1 : 0);
}

static int64_t scalar_value(const struct agent *a, unsigned family)
{
    ASSERT(family < SCALARS);
    const int64_t scalars[SCALARS] = {
        [FAMILY_REGISTERED] = registration_is_done(a) ? 1 : 0,
        /* readiness of both drivers together, in a series that only the first driver has */
        [FAMILY_READY] = agent_ready(a) ? 1 : 0,
        [FAMILY_API_CONNECTED] = api_connected(a) ? 1 : 0,
        [FAMILY_SLICE_CURRENT] = publish_current(a) ? 1 : 0,
        [FAMILY_POOL_GENERATION] = publish_generation(a),
        [FAMILY_SLICE_VERIFIED] = (int64_t)publish_verified_wall_ms(a),
        [FAMILY_DEVICES] = a->devices->count,
        [FAMILY_PUBLISHED] = publish_device_count(a),
        [FAMILY_CLAIMS] = ledger_held_count(a),
        [FAMILY_CAPACITY] = CLAIMS_MAX,
        [FAMILY_STORE_USABLE] = ledger_is_usable(a) ? 1 : 0,
        [FAMILY_QUARANTINED] = count_quarantined(a),
        [FAMILY_DEVICE_PLUGIN] =
            (a->device_plugin[0] != '\0' || a->other_driver[0] != '\0') ? 1 : 0,
        [FAMILY_MEMORY_USED] = (int64_t)claim_numbers_count(device_memory_used(a)),
        [FAMILY_MEMORY_HELD] = (int64_t)claim_numbers_count(device_states_memory_held(a)),
        [FAMILY_DRAIN] = drain_value(a),
        [FAMILY_CONSUMERS_COMPLETE] = claim_pods_complete(a) ? 1 : 0};
    return scalars[family];
}

/* --- series of a metric family --- */

/*
 * A series of a metric: the values of its labels in the order of the family's keys, and its value.
 */
struct series {
    const char *label[LABELS_MAX];
    const char *driver; /* value of the additional label `driver`; NULL: no such label */
    int64_t value;
    /* texts of the labels neuroncore (`core`) and neurondevice (`number`) */
    char core[8];
    char number[8];
};

/* Writes a number of at most 7 digits as decimal text. */
static void decimal_set(char text[8], unsigned number)
{
    struct writer w = writer_of(text, 8);
    writer_decimal(&w, number);
    writer_close_text(&w);
}

/*
 * Sets the label with index `name` to the name of the claim's consumer, and the next label to the
 * consumer's UID.
 */
static void label_consumer(const struct claim_consumer *c, struct series *s, unsigned name)
{
    s->label[name] = c->name;
    s->label[name + 1u] = c->uid;
}

/*
 * Sets the labels of a consumer of the claim in a slot: of the first one (`which` is 0), which the
 * record has, or of pair `which` - 1 of the kubelet's list, which has no UID. false: the record has
 * no consumer, or the first consumer has the labels already.
 */
static bool consumer_labels(const struct agent *a, unsigned slot, unsigned which, struct series *s)
{
    const struct claim_consumer *c = ledger_consumer(a, slot);
    s->label[1] = claim_consumer_name((enum claim_consumer_kind)c->kind);
    if (which == 0u) {
        label_consumer(c, s, 2);
        return c->uid[0] != '\0';
    }
    const char *pod = claim_pods_name(a, which - 1u);
    bool first = c->kind == (uint8_t)CONSUMER_POD && text_is(c->name, pod);
    s->label[1] = claim_consumer_name(CONSUMER_POD);
    s->label[2] = pod;
    return !first;
}

/*
 * Number of rows of a device in the family of consumers: the first consumer, and each pair of the
 * kubelet's list, most of which use another device.
 */
static unsigned consumer_rows(const struct agent *a)
{
    return 1u + claim_pods_count(a);
}

/*
 * The slot of the claim that holds the device and has consumer `which` (consumer_labels); -1: there
 * is none. Most pairs of the list are of claims without the device, so the function rejects these
 * before it searches for the holder.
 */
static int consumer_slot(const struct agent *a, unsigned number, unsigned which)
{
    if (which > 0u) {
        int slot = claim_pods_slot(a, which - 1u);
        bool uses = slot >= 0 && ledger_holds_device(a, (unsigned)slot, number);
        return (uses && ledger_holder(a, UINT64_C(1) << number, "") == slot) ? slot : -1;
    }
    return ledger_holder(a, UINT64_C(1) << number, "");
}

/* Fills the series about a consumer of a device; false: no claim with this one holds the device. */
static bool consumer_series(const struct agent *a, unsigned row, struct series *s)
{
    unsigned number = row / consumer_rows(a);
    unsigned which = row % consumer_rows(a);
    int slot = consumer_slot(a, number, which);
    int at = (slot < 0) ? -1 : devices_numbered(a->devices, number);
    if (at < 0) {
        return false;
    }
    s->value = 1;
    s->label[0] = a->devices->device[at].name;
    return consumer_labels(a, (unsigned)slot, which, s);
}

/*
 * Fills the series about a device, with labels of the claim in `slot` (-1: no claim). false: there
 * is no such device.
 */
static bool device_series(const struct agent *a, unsigned number, int slot, struct series *s)
{
    int at = devices_numbered(a->devices, number);
    if (at < 0) {
        return false;
    }
    s->label[0] = a->devices->device[at].name;
    s->value = (slot >= 0) ? 1 : 0;
    if (slot >= 0) {
        const struct claim_id *id = ledger_id(a, (unsigned)slot);
        s->label[1] = id->namespace_;
        s->label[2] = id->name;
        s->label[3] = id->uid;
        const struct claim_consumer *c = ledger_consumer(a, (unsigned)slot);
        if (c->kind == (uint8_t)CONSUMER_POD) {
            label_consumer(c, s, 4);
        }
    }
    return true;
}

/*
 * Fills the series about the health of a device; false: there is no such device, or its health is
 * unknown.
 */
static bool health_series(const struct agent *a, unsigned number, struct series *s)
{
    int at = devices_numbered(a->devices, number);
    enum health health = (enum health)device_states_track(a, number)->state;
    if (at < 0 || health == HEALTH_UNKNOWN) {
        return false;
    }
    s->label[0] = a->devices->device[at].name;
    s->value = (health == HEALTH_HEALTHY) ? 1 : 0;
    return true;
}

/*
 * Returns the slot of the claim to which a device's telemetry is credited: the claim that holds
 * core `core` of the device or, if `core` is -1, the device. Returns -1 if there is no such claim.
 * Also returns -1 if the claim was prepared after the values were read, because the values may then
 * belong to an earlier claim. The host's clock, which dates the values, may be up to FROZEN_MS_MAX
 * ahead of the agent's clock.
 */
static int credited_slot(const struct agent *a, unsigned number, int core)
{
    int slot = ledger_core_holder(a, number, core);
    uint64_t read_ms = a->telemetry->value[number][TELEMETRY_READ_MS];
    bool since = slot >= 0 && read_ms > ledger_entry(a, (unsigned)slot)->held_ms + FROZEN_MS_MAX;
    return since ? slot : -1;
}

/*
 * Fills the series of one telemetry value of a device; false: the device is gone, or the value is
 * unknown.
 */
static bool telemetry_series(const struct agent *a, unsigned family, unsigned row, struct series *s)
{
    static const char *const cores[] = {"0", "1", "2", "3", "4", "5", "6", "7"};
    _Static_assert(sizeof cores / sizeof cores[0] == TELEMETRY_CORES_MAX, "a text for each core");
    unsigned values = families[family].rows / DEVICES_MAX;
    unsigned number = row / values;
    unsigned which = row % values + ((family == FAMILY_MEMORY) ? TELEMETRY_ERRORS : 0u);
    which = (family == FAMILY_POWER) ? TELEMETRY_POWER : which;
    struct telemetry_file f = telemetry_file(which);
    int64_t value = 0;
    if (!telemetry_known(a->telemetry->value[number][which], &value) ||
        !device_series(a, number, credited_slot(a, number, f.core), s)) {
        return false;
    }
    s->value = value;
    s->label[3] = s->label[4];
    s->label[4] = (f.core >= 0) ? cores[f.core] : "";
    s->label[5] = f.name;
    return true;
}

/*
 * Fills the series of one kind of use of a core's device memory. false: the device is gone, or the
 * value is unknown.
 */
static bool monitor_series(const struct agent *a, unsigned family, unsigned row, struct series *s)
{
    unsigned number = row / TELEMETRY_CORES_MAX;
    unsigned core = row % TELEMETRY_CORES_MAX;
    unsigned which = TELEMETRY_USES_FIRST + core * TELEMETRY_USES_OF_CORE;
    int64_t value = 0;
    if (!telemetry_known(a->telemetry->value[number][which + family - (unsigned)FAMILY_CONSTANTS],
                         &value) ||
        !device_series(a, number, credited_slot(a, number, (int)core), s)) {
        return false;
    }
    unsigned cores = a->devices->device[devices_numbered(a->devices, number)].core_count;
    s->value = value;
    s->label[3] = s->label[2];
    s->label[2] = s->label[1];
    decimal_set(s->core, number * cores + core);
    decimal_set(s->number, number);
    s->label[0] = s->core;
    s->label[1] = s->number;
    return true;
}

static bool info_series(const struct agent *a, unsigned family, struct series *s)
{
    s->value = 1;
    if (family == FAMILY_BUILD) {
        s->label[0] = AGENT_VERSION;
        s->label[1] = BUILD_ID;
    } else if (family == FAMILY_NODE) {
        s->label[0] = a->settings->node_name;
        s->label[1] = a->devices->instance_type;
        s->label[2] = a->devices->driver_version;
    } else {
        s->label[0] = version_name(a);
        return version_settled(a);
    }
    return true;
}

/*
 * Returns the histogram that a row of the family shows, and sets the labels of the series. NULL:
 * the row stands for a kind of request that was never measured.
 */
static const struct histogram *histogram_of(const struct agent *a, unsigned family, unsigned row,
                                            struct series *s)
{
    unsigned result = row % (unsigned)DURATION_RESULTS;
    if (family == FAMILY_CALLS) {
        s->label[0] = method_names[row / (unsigned)DURATION_RESULTS];
        s->label[1] = result_names[result];
        return &durations_of(a)->call[row / (unsigned)DURATION_RESULTS][result];
    }
    if (family == FAMILY_FLUSHES) {
        s->label[0] = result_names[result];
        return &durations_of(a)->flush[result];
    }
    unsigned kind = row / (unsigned)REQUEST_ENDINGS;
    unsigned ending = row % (unsigned)REQUEST_ENDINGS;
    const struct histogram *h = &durations_of(a)->request[kind][ending];
    if (kind == (unsigned)API_NONE || histogram_count(h) == 0u) {
        return NULL;
    }
    s->label[0] = request_names[kind].verb;
    s->label[1] = request_names[kind].resource;
    s->label[2] = status_classes[ending];
    s->label[3] = result_names[(ending == (unsigned)ENDING_2XX) ? RESULT_OK : RESULT_ERROR];
    return h;
}

static bool is_telemetry(unsigned family)
{
    return family >= FAMILY_ERRORS && family <= FAMILY_POWER;
}

static bool is_monitor(unsigned family)
{
    return family >= FAMILY_CONSTANTS && family < FAMILY_CPU;
}

/* Number of rows of one driver; it does not change while a page is written (claim_pods.h, I2). */
static unsigned driver_rows(const struct agent *a, unsigned family)
{
    return families[family].rows * ((family == FAMILY_CONSUMER) ? consumer_rows(a) : 1u);
}

static unsigned rows_of(const struct agent *a, unsigned family)
{
    if ((is_telemetry(family) && !a->settings->device_metrics) ||
        (is_monitor(family) && !a->settings->neuron_monitor_metrics)) {
        return 0;
    }
    ASSERT(a->telemetry != NULL || !(is_telemetry(family) || is_monitor(family)));
    bool twice = per_driver[family] && a->settings->efa;
    return driver_rows(a, family) * (twice ? (unsigned)DRIVERS : 1u);
}

/*
 * Returns the agent of the driver to which a row of the family belongs; sets *row to the index of
 * the row within that driver.
 */
static const struct agent *driver_of(const struct agent *a, unsigned family, unsigned *row,
                                     struct series *s)
{
    unsigned rows = driver_rows(a, family);
    bool both = rows_of(a, family) > rows;
    const struct agent *of = (*row < rows) ? a : a->next;
    *row %= rows;
    s->driver = both ? of->driver->name : NULL;
    return of;
}

/* Fills the series of a row in a family whose rows are devices, or values of devices. */
static bool series_of_device(const struct agent *a, unsigned family, unsigned row, struct series *s)
{
    if (family == FAMILY_CONSUMER) {
        return consumer_series(a, row, s);
    }
    if (family == FAMILY_HEALTH) {
        return health_series(a, row, s);
    }
    if (is_monitor(family)) {
        return monitor_series(a, family, row, s);
    }
    return is_telemetry(family) ? telemetry_series(a, family, row, s)
                                : device_series(a, row, ledger_core_holder(a, row, -1), s);
}

/*
 * Fills the labels and the value of the row at the cursor; false: the series of this row does not
 * exist now.
 */
static bool series_at(const struct agent *first, struct metrics_cursor *c, struct series *s)
{
    unsigned row = c->row - 1u;
    const struct agent *a = driver_of(first, c->family, &row, s);
    for (unsigned i = 0; i < LABELS_MAX; i++) {
        s->label[i] = "";
    }
    if (c->family < SCALARS) {
        s->value = scalar_value(a, c->family);
        return true;
    }
    if (families[c->family].type == HISTOGRAM) {
        const struct histogram *h = histogram_of(a, c->family, row, s);
        if (h != NULL && c->line == 0u) {
            c->now = *h;
        }
        return h != NULL;
    }
    if (c->family == FAMILY_LOG_EVENTS) {
        s->label[0] = log_id_name((enum log_id)row);
        s->value = (int64_t)report_count(a, (enum log_id)row);
        return true;
    }
    if (c->family >= FAMILY_CPU) {
        s->value = (int64_t)c->process[c->family - FAMILY_CPU];
        return s->value >= 0;
    }
    return (c->family < FAMILY_LOG_EVENTS) ? info_series(a, c->family, s)
                                           : series_of_device(a, c->family, row, s);
}

/*
 * Copies the resource use of the process, so that all families about the process show the same
 * moment.
 */
static void measure_process(const struct agent *a, struct metrics_cursor *c)
{
    if (a->files->process != NULL) {
        a->files->process(a->files->ctx, c->process);
    } else {
        memset(c->process, 0xff, sizeof c->process);
    }
}

/* --- writing the text of the metrics --- */

/* Number of milliseconds, and of microseconds, in a second: times are kept in these two units. */
#define PER_SECOND_MS 1000u
#define PER_SECOND_US 1000000u

/*
 * Writes a time as seconds without trailing zeros. The time is given in units of 1/per_second of a
 * second.
 */
static void write_seconds(struct writer *out, uint64_t time, uint64_t per_second)
{
    writer_decimal(out, time / per_second);
    uint64_t rest = time % per_second;
    writer_text(out, (rest > 0u) ? "." : "");
    uint64_t unit = per_second / 10u;
    while (rest > 0u) {
        writer_decimal(out, rest / unit);
        rest %= unit;
        unit /= 10u;
    }
}

/* Writes a label of a series. Kubernetes names are printable ASCII; any other byte becomes '?'. */
static void write_label(struct writer *out, const char *key, const char *value)
{
    WRITE(out, "%=\"", TEXT(key));
    for (size_t i = 0; value[i] != '\0'; i++) {
        uint8_t c = (uint8_t)value[i];
        if (c == '\\' || c == '"' || c == '\n') {
            writer_u8(out, '\\');
            c = (c == '\n') ? 'n' : c;
        }
        writer_u8(out, is_printable(c) ? c : '?');
    }
    writer_text(out, "\"");
}

/*
 * Writes the labels of a series. `le`: upper bound of the bucket; NULL: the series is not a bucket.
 */
static void write_labels(struct writer *out, const struct family *f, const struct series *s,
                         const char *le)
{
    const char *before = "{";
    if (s->driver != NULL) {
        writer_text(out, before);
        write_label(out, "driver", s->driver);
        before = ",";
    }
    for (unsigned i = 0; i < LABELS_MAX && f->labels[i] != NULL; i++) {
        writer_text(out, before);
        write_label(out, f->labels[i], s->label[i]);
        before = ",";
    }
    if (le != NULL) {
        writer_text(out, before);
        write_label(out, "le", le);
        before = ",";
    }
    writer_text(out, (*before == ',') ? "} " : " ");
}

static void write_name(struct writer *out, unsigned family)
{
    WRITE(out, "%%", TEXT((family < FAMILY_CONVENTIONAL) ? METRICS_PREFIX : ""),
          TEXT(families[family].name));
}

static void write_head(struct writer *out, unsigned family)
{
    writer_text(out, "# HELP ");
    write_name(out, family);
    WRITE(out, " %\n# TYPE ", TEXT(families[family].help));
    write_name(out, family);
    writer_text(out, " ");
    writer_text(out, type_names[families[family].type]);
}

enum { LINE_SUM = DURATION_BUCKETS + 1u, LINE_COUNT, HISTOGRAM_LINES };
/* The sum has REQUEST_KINDS - 2, because the kinds API_NONE and API_LOOK_CLAIM have no series. */
_Static_assert(DRIVERS * (3u * DEVICES_MAX + (unsigned)SCALARS) + DEVICES_MAX * TELEMETRY_VALUES +
                       (unsigned)LOG_ID_COUNT + 3u + (unsigned)PROCESS_VALUES +
                       (((unsigned)KUBELET_METHODS + 1u) * (unsigned)DURATION_RESULTS +
                        ((unsigned)REQUEST_KINDS - 2u) * (unsigned)REQUEST_ENDINGS) *
                           (unsigned)HISTOGRAM_LINES <=
                   METRICS_SERIES_MAX,
               "what the families have at most, without further pods of a claim");
_Static_assert(DRIVERS *DEVICES_MAX * (1u + CLAIM_PODS_MAX) < UINT16_MAX,
               "metrics_cursor.row has room for each consumer of each device");

static void write_bucket(struct writer *out, const struct metrics_cursor *c, const struct series *s)
{
    char le[16];
    struct writer bound = writer_of(le, sizeof le);
    uint64_t below = 0;
    for (unsigned i = 0; i <= c->line; i++) {
        below += c->now.bucket[i];
    }
    if (c->line < DURATION_BUCKETS) {
        write_seconds(&bound, duration_bounds_us[c->line], PER_SECOND_US);
    } else {
        writer_text(&bound, "+Inf");
    }
    writer_close_text(&bound);
    writer_text(out, "_bucket");
    write_labels(out, &families[c->family], s, le);
    writer_decimal(out, below);
}

static void write_histogram(struct writer *out, const struct metrics_cursor *c,
                            const struct series *s)
{
    if (c->line < LINE_SUM) {
        write_bucket(out, c, s);
        return;
    }
    bool sum = c->line == LINE_SUM;
    writer_text(out, sum ? "_sum" : "_count");
    write_labels(out, &families[c->family], s, NULL);
    if (sum) {
        write_seconds(out, c->now.sum_us, PER_SECOND_US);
    } else {
        writer_decimal(out, histogram_count(&c->now));
    }
}

static void write_series(struct writer *out, const struct metrics_cursor *c, const struct series *s)
{
    write_name(out, c->family);
    if (families[c->family].type == HISTOGRAM) {
        write_histogram(out, c, s);
        return;
    }
    write_labels(out, &families[c->family], s, NULL);
    bool in_ms = c->family == FAMILY_SLICE_VERIFIED || c->family == FAMILY_POWER ||
                 c->family == FAMILY_START;
    if (in_ms || c->family == FAMILY_CPU) {
        write_seconds(out, (uint64_t)s->value, in_ms ? PER_SECOND_MS : PER_SECOND_US);
    } else {
        writer_signed(out, s->value);
    }
}

/* Writes the line at the cursor, or no line if the series does not exist. */
static void write_line(const struct agent *a, struct metrics_cursor *c, struct writer *out)
{
    struct series s;
    if (c->row == 0u && rows_of(a, c->family) > 0u) {
        write_head(out, c->family);
        if (c->family == FAMILY_CPU) {
            measure_process(a, c);
        }
    } else if (c->row > 0u && series_at(a, c, &s)) {
        write_series(out, c, &s);
    } else {
        c->line = HISTOGRAM_LINES - 1u;
        return;
    }
    writer_text(out, "\n");
}

static void advance_cursor(const struct agent *a, struct metrics_cursor *c)
{
    const struct family *f = &families[c->family];
    bool lines = f->type == HISTOGRAM && c->row > 0u;
    bool more = lines && c->line + 1u < (unsigned)HISTOGRAM_LINES;
    c->line = more ? (uint8_t)(c->line + 1u) : 0u;
    c->row = more ? c->row : (uint16_t)(c->row + 1u);
    if (c->row > rows_of(a, c->family)) {
        c->row = 0;
        c->family++;
    }
}

bool metrics_write(const struct agent *a, struct metrics_cursor *c, struct writer *out)
{
    ASSERT(!out->full && c->family <= FAMILIES);
    while (c->family < FAMILIES) {
        struct writer line = *out;
        write_line(a, c, &line);
        if (line.full) {
            ASSERT(out->len > 0u || out->cap < METRICS_LINE_BYTES_MAX);
            return false;
        }
        *out = line;
        advance_cursor(a, c);
    }
    return true;
}
