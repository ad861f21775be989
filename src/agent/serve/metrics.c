/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations, and the text of all metrics (Prometheus exposition format 0.0.4), written line by line
 * from a cursor, so that a text of any length goes through a buffer of one line. Owns what families
 * there are; changes nothing but its own durations.
 *
 * Names begin with neuron_dra_: AWS's neuron-monitor uses neuron_, neuroncore_ and neurondevice_.
 */
#include "agent/serve/metrics.h"

#include <string.h>

#include "agent/serve/readiness.h"
#include "agent/state.h"
#include "base/assert.h"
#include "cfg/identity.h"

/* --- families --- */

enum {
    /* one series each, without labels: index in `scalars` */
    FAMILY_REGISTERED,
    FAMILY_READY,
    FAMILY_API_CONNECTED,
    FAMILY_SLICE_CURRENT,
    FAMILY_SLICE_GENERATION,
    FAMILY_PUBLISH_TIME,
    FAMILY_DEVICES,
    FAMILY_PUBLISHED,
    FAMILY_CLAIMS,
    FAMILY_CAPACITY,
    FAMILY_STORE_USABLE,
    FAMILY_QUARANTINED,
    /* with labels */
    FAMILY_BUILD,
    FAMILY_BOARD,
    FAMILY_VERSION,
    FAMILY_EVENTS,
    FAMILY_DEVICE,
    FAMILY_CALLS,
    FAMILY_REQUESTS,
    FAMILIES
};

#define SCALARS FAMILY_BUILD

/* Name without prefix, and meaning, of each family, in that order. */
static const char words[] = "registered\0"
                            "The kubelet accepted the driver.\0"
                            "ready\0"
                            "As /readyz, which gives the reasons.\0"
                            "api_connected\0"
                            "The API server is connected.\0"
                            "slice_current\0"
                            "The stored ResourceSlices are right.\0"
                            "slice_generation\0"
                            "Pool generation of them.\0"
                            "last_publish_timestamp_seconds\0"
                            "When they were last right.\0"
                            "devices\0"
                            "Devices of the node.\0"
                            "devices_published\0"
                            "Devices in the ResourceSlices.\0"
                            "claims_held\0"
                            "Prepared claims.\0"
                            "claims_capacity\0"
                            "Most claims held at one time.\0"
                            "store_usable\0"
                            "The claim store is open.\0"
                            "store_quarantined_slots\0"
                            "Unreadable slots of the claim store.\0"
                            "build_info\0"
                            "Program.\0"
                            "board_info\0"
                            "Hardware.\0"
                            "api_version_info\0"
                            "Version of resource.k8s.io.\0"
                            "events_total\0"
                            "Events by their names in the log.\0"
                            "device_held\0"
                            "A claim holds the device; its first pod.\0"
                            "call_duration_seconds\0"
                            "Calls of the kubelet.\0"
                            "api_request_duration_seconds\0"
                            "Requests to the API server.\0";

/* Names of labels; a family has a run of them. */
static const char keys[] = "version\0"
                           "build\0"
                           "instance_type\0"
                           "driver_version\0"
                           "event\0"
                           "device\0"
                           "claim_namespace\0"
                           "claim_name\0"
                           "claim_uid\0"
                           "pod_name\0"
                           "pod_uid\0"
                           "method\0"
                           "verb\0"
                           "resource\0"
                           "code\0";

#define LABELS_MAX 6u
enum { GAUGE, COUNTER, HISTOGRAM };
static const char types[] = "gauge\0"
                            "counter\0"
                            "histogram\0";

struct family {
    uint8_t type;
    uint8_t key;    /* first of its keys */
    uint8_t labels; /* how many */
    uint16_t rows;  /* series at most */
};
#define SCALAR {GAUGE, 0, 0, 1}
static const struct family families[FAMILIES] = {
    SCALAR,
    SCALAR,
    SCALAR,
    SCALAR,
    SCALAR,
    SCALAR,
    SCALAR,
    SCALAR,
    SCALAR,
    SCALAR,
    SCALAR,
    SCALAR,
    [FAMILY_BUILD] = {GAUGE, 0, 2, 1},
    [FAMILY_BOARD] = {GAUGE, 2, 2, 1},
    [FAMILY_VERSION] = {GAUGE, 0, 1, 1},
    [FAMILY_EVENTS] = {COUNTER, 4, 1, (uint16_t)LOG_ID_COUNT},
    [FAMILY_DEVICE] = {GAUGE, 5, 6, DEVICES_MAX},
    [FAMILY_CALLS] = {HISTOGRAM, 11, 1, KUBELET_METHODS},
    [FAMILY_REQUESTS] = {HISTOGRAM, 12, 3, (uint16_t)(REQUEST_KINDS *HTTP_STATUS_CLASSES)}};

static const char methods[] = "NodePrepareResources\0"
                              "NodeUnprepareResources\0";
/* Verb and resource of each kind of request from REQUEST_CLAIM on. */
static const char requests[] = "get\0"
                               "resourceclaims\0"
                               "get\0"
                               "apigroups\0"
                               "get\0"
                               "nodes\0"
                               "list\0"
                               "resourceslices\0"
                               "write\0"
                               "resourceslices\0"
                               "delete\0"
                               "resourceslices\0"
                               "watch\0"
                               "resourceslices\0"
                               "watch\0"
                               "nodes\0"
                               "create\0"
                               "events\0"
                               "patch\0"
                               "resourceclaims/status\0";
static const char codes[] = "none\0"
                            "1xx\0"
                            "2xx\0"
                            "3xx\0"
                            "4xx\0"
                            "5xx\0";

/* --- values --- */

static int64_t quarantined(const struct agent *a)
{
    int64_t n = 0;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        n += (a->ledger.entry[i].state == LEDGER_DAMAGED) ? 1 : 0;
    }
    return n;
}

static int64_t scalar(const struct agent *a, unsigned family)
{
    ASSERT(family < SCALARS);
    const int64_t scalars[SCALARS] = {[FAMILY_REGISTERED] = a->registration.registered ? 1 : 0,
                                      [FAMILY_READY] = agent_ready(a) ? 1 : 0,
                                      [FAMILY_API_CONNECTED] = (a->api.state == API_UP) ? 1 : 0,
                                      [FAMILY_SLICE_CURRENT] = a->publish.current ? 1 : 0,
                                      [FAMILY_SLICE_GENERATION] = a->publish.generation,
                                      [FAMILY_PUBLISH_TIME] = (int64_t)a->publish.current_wall_ms,
                                      [FAMILY_DEVICES] = a->devices.count,
                                      [FAMILY_PUBLISHED] = a->publish.wanted.count,
                                      [FAMILY_CLAIMS] = a->ledger.held,
                                      [FAMILY_CAPACITY] = CLAIMS_MAX,
                                      [FAMILY_STORE_USABLE] = a->ledger.usable ? 1 : 0,
                                      [FAMILY_QUARANTINED] = quarantined(a)};
    return scalars[family];
}

/* --- series --- */

/* One series: its labels in the order of the family's keys. */
struct series {
    const char *label[LABELS_MAX];
    int64_t value;
};

/* False: there is no device of this number. */
static bool device_series(const struct agent *a, unsigned number, struct series *s)
{
    unsigned at = 0;
    while (at < a->devices.count && a->devices.device[at].number != number) {
        at++;
    }
    if (at == a->devices.count) {
        return false;
    }
    int slot = ledger_holder(a, UINT64_C(1) << number, "");
    s->label[0] = a->devices.device[at].name;
    s->value = (slot >= 0) ? 1 : 0;
    if (slot >= 0) {
        const struct claim_id *id = &a->ledger.entry[slot].id;
        s->label[1] = id->namespace_;
        s->label[2] = id->name;
        s->label[3] = id->uid;
        s->label[4] = ledger_pod(a, (unsigned)slot)->name;
        s->label[5] = ledger_pod(a, (unsigned)slot)->uid;
    }
    return true;
}

static bool info_series(const struct agent *a, unsigned family, struct series *s)
{
    s->value = 1;
    if (family == FAMILY_BUILD) {
        s->label[0] = AGENT_VERSION;
        s->label[1] = BUILD_ID;
    } else if (family == FAMILY_BOARD) {
        s->label[0] = a->devices.instance_type;
        s->label[1] = a->devices.driver_version;
    } else {
        s->label[0] = version_name(a);
        return a->version.state == VERSION_SETTLED;
    }
    return true;
}

/* The durations of a row, and its labels; NULL: nothing was ever measured there. */
static const struct histogram *times(const struct agent *a, unsigned family, unsigned row,
                                     struct series *s)
{
    if (family == FAMILY_CALLS) {
        s->label[0] = text_nth(methods, row);
        return &a->durations.call[row];
    }
    unsigned kind = row / HTTP_STATUS_CLASSES;
    unsigned code = row % HTTP_STATUS_CLASSES;
    const struct histogram *h = &a->durations.request[kind][code];
    if (kind == (unsigned)REQUEST_NONE || histogram_count(h) == 0u) {
        return NULL;
    }
    s->label[0] = text_nth(requests, 2u * (kind - 1u));
    s->label[1] = text_nth(requests, 2u * (kind - 1u) + 1u);
    s->label[2] = text_nth(codes, code);
    return h;
}

/* Labels and value of a row; false: there is no such series now. */
static bool series(const struct agent *a, struct metrics_cursor *c, struct series *s)
{
    unsigned row = c->row - 1u;
    for (unsigned i = 0; i < LABELS_MAX; i++) {
        s->label[i] = "";
    }
    if (c->family < SCALARS) {
        s->value = scalar(a, c->family);
        return true;
    }
    if (families[c->family].type == (unsigned)HISTOGRAM) {
        const struct histogram *h = times(a, c->family, row, s);
        if (h != NULL && c->line == 0u) {
            c->now = *h;
        }
        return h != NULL;
    }
    if (c->family == FAMILY_EVENTS) {
        s->label[0] = log_id_name((enum log_id)row);
        s->value = (int64_t)a->report.count[row];
        return true;
    }
    return (c->family == FAMILY_DEVICE) ? device_series(a, row, s) : info_series(a, c->family, s);
}

/* --- writing --- */

/* Milliseconds as seconds without trailing zeros. */
static void write_seconds(struct writer *out, uint64_t ms)
{
    writer_decimal(out, ms / 1000u);
    uint64_t rest = ms % 1000u;
    writer_text(out, (rest > 0u) ? "." : "");
    uint64_t unit = 100;
    while (rest > 0u) {
        writer_decimal(out, rest / unit);
        rest %= unit;
        unit /= 10u;
    }
}

/* Other than printable ASCII cannot come from a cluster; it becomes '?'. */
static void write_label(struct writer *out, const char *key, const char *value)
{
    writer_text(out, key);
    writer_text(out, "=\"");
    for (size_t i = 0; value[i] != '\0'; i++) {
        uint8_t c = (uint8_t)value[i];
        if (c == '\\' || c == '"' || c == '\n') {
            writer_u8(out, '\\');
            c = (c == '\n') ? 'n' : c;
        }
        writer_u8(out, (c >= ' ' && c <= '~') ? c : '?');
    }
    writer_text(out, "\"");
}

/* `le`: the bound of a bucket, or NULL. */
static void write_labels(struct writer *out, const struct family *f, const struct series *s,
                         const char *le)
{
    for (unsigned i = 0; i < f->labels; i++) {
        writer_text(out, (i == 0u) ? "{" : ",");
        write_label(out, text_nth(keys, f->key + i), s->label[i]);
    }
    if (le != NULL) {
        writer_text(out, ",");
        write_label(out, "le", le);
    }
    writer_text(out, (f->labels > 0u) ? "} " : " ");
}

static void write_name(struct writer *out, unsigned family)
{
    writer_text(out, "neuron_dra_");
    writer_text(out, text_nth(words, 2u * family));
}

static void write_head(struct writer *out, unsigned family)
{
    writer_text(out, "# HELP ");
    write_name(out, family);
    writer_text(out, " ");
    writer_text(out, text_nth(words, 2u * family + 1u));
    writer_text(out, "\n# TYPE ");
    write_name(out, family);
    writer_text(out, " ");
    writer_text(out, text_nth(types, families[family].type));
}

enum { LINE_SUM = DURATION_BUCKETS + 1u, LINE_COUNT, HISTOGRAM_LINES };

static void write_bucket(struct writer *out, const struct metrics_cursor *c, const struct series *s)
{
    char le[16];
    struct writer bound = writer_of(le, sizeof le);
    uint64_t below = 0;
    for (unsigned i = 0; i <= c->line; i++) {
        below += c->now.bucket[i];
    }
    if (c->line < DURATION_BUCKETS) {
        write_seconds(&bound, duration_bounds_ms[c->line]);
    } else {
        writer_text(&bound, "+Inf");
    }
    enum status ended = writer_end_text(&bound);
    ASSERT(ended == STATUS_OK);
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
        write_seconds(out, c->now.sum_ms);
    } else {
        writer_decimal(out, histogram_count(&c->now));
    }
}

static void write_series(struct writer *out, const struct metrics_cursor *c, const struct series *s)
{
    write_name(out, c->family);
    if (families[c->family].type == (unsigned)HISTOGRAM) {
        write_histogram(out, c, s);
        return;
    }
    write_labels(out, &families[c->family], s, NULL);
    if (c->family == FAMILY_PUBLISH_TIME) {
        write_seconds(out, (uint64_t)s->value);
    } else {
        writer_signed(out, s->value);
    }
}

/* The line under the cursor, or nothing where there is none. */
static void write_line(const struct agent *a, struct metrics_cursor *c, struct writer *out)
{
    struct series s;
    if (c->row == 0u) {
        write_head(out, c->family);
    } else if (series(a, c, &s)) {
        write_series(out, c, &s);
    } else {
        c->line = HISTOGRAM_LINES - 1u;
        return;
    }
    writer_text(out, "\n");
}

static void advance(struct metrics_cursor *c)
{
    const struct family *f = &families[c->family];
    bool lines = f->type == (unsigned)HISTOGRAM && c->row > 0u;
    bool more = lines && c->line + 1u < (unsigned)HISTOGRAM_LINES;
    c->line = more ? (uint8_t)(c->line + 1u) : 0u;
    c->row = more ? c->row : (uint16_t)(c->row + 1u);
    if (c->row > f->rows) {
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
        advance(c);
    }
    return true;
}
