/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs a prepared claim, see prepared_log.h. Contradictory requests are logged but not refused,
 * because a container that uses only one of them works.
 */
#include "agent/claim/prepared_log.h"

#include "agent/frame.h"
#include "agent/ledger/ledger.h"
#include "agent/report/log.h"

static const char lnc_field[] = "logicalNeuronCore";
static const char mode_field[] = "ultraserverMode";

static void log_config(struct agent *a, const struct claim_record *r, unsigned at,
                       const char *version, const char *kind)
{
    log_begin(a, LOG_ID_CLAIM_CONFIG);
    log_claim(a, &r->id);
    log_text(a, "request", r->result[at].request);
    log_text(a, "apiVersion", version);
    log_text(a, "kind", kind);
}

static bool request_logged(const struct claim_record *r, unsigned at)
{
    for (unsigned i = 0; i < at; i++) {
        if (text_is(r->result[i].request, r->result[at].request)) {
            return true;
        }
    }
    return false;
}

/*
 * Logs the configuration of the request to which allocation result `at` of the claim belongs: one
 * line for each kind (NeuronConfig, UltraServerConfig).
 */
static void log_result(struct agent *a, const struct claim_builder *b, unsigned at)
{
    const struct claim_result *r = &b->record.result[at];
    if (b->lnc_version[at] != NULL) {
        log_config(a, &b->record, at, b->lnc_version[at], "NeuronConfig");
        log_number(a, lnc_field, r->logical_neuron_core);
        log_end(a);
    }
    if (b->mode_version[at] != NULL) {
        log_config(a, &b->record, at, b->mode_version[at], "UltraServerConfig");
        log_number(a, mode_field, r->ultraserver_mode);
        log_end(a);
    }
}

static void log_configs(struct agent *a, const struct claim_builder *b)
{
    for (unsigned i = 0; i < b->record.count; i++) {
        if (!request_logged(&b->record, i)) {
            log_result(a, b, i);
        }
    }
}

void prepared_log_refused(struct agent *a, const struct claim_builder *b)
{
    const struct config *c = &b->refused;
    if (!b->ended) {
        return;
    }
    log_configs(a, b);
    if (c->api_version != NULL) {
        bool neuron = c->kind == CONFIG_NEURON;
        log_config(a, &b->record, b->refused_result, c->api_version,
                   neuron ? "NeuronConfig" : "UltraServerConfig");
        log_number(a, neuron ? lnc_field : mode_field, c->value);
        log_end(a);
    }
}

/* --- log lines about contradictory settings --- */

static void log_ambiguous(struct agent *a, const struct claim_record *r, const char *setting)
{
    log_begin(a, LOG_ID_CLAIM_CONFIG_AMBIGUOUS);
    log_about(a, &r->id);
    log_text(a, "setting", setting);
    log_claim(a, &r->id);
}

/* Logs configurations of one request that have the same precedence; the last of them applies. */
static void warn_request(struct agent *a, const struct claim_builder *b, unsigned at)
{
    const struct claim_result *r = &b->record.result[at];
    for (unsigned kind = 0; kind < sizeof b->overruled / sizeof b->overruled[0]; kind++) {
        bool neuron = kind == (unsigned)CONFIG_NEURON;
        if (b->overruled[kind][at] != 0u) {
            log_ambiguous(a, &b->record, neuron ? lnc_field : mode_field);
            log_text(a, "request", r->request);
            log_number(a, neuron ? lnc_field : mode_field,
                       neuron ? r->logical_neuron_core : r->ultraserver_mode);
            log_number(a, "other", b->overruled[kind][at]);
            log_remedy(a, "remove one of the two configurations of this request; the last one "
                          "counts");
            log_end(a);
        }
    }
}

static bool lnc_differs(unsigned x, unsigned y)
{
    return x != y && x != 0u && y != 0u;
}

/*
 * Logs that requests of a claim have different values of logicalNeuronCore (LNC). This is a
 * contradiction, because the environment of a container has only one LNC, whichever requests the
 * container uses.
 */
static void warn_requests(struct agent *a, const struct claim_record *r)
{
    unsigned first = claim_logical_neuron_core(r);
    for (unsigned i = 0; i < r->count; i++) {
        const struct claim_result *other = &r->result[i];
        if (lnc_differs(first, other->logical_neuron_core)) {
            log_ambiguous(a, r, lnc_field);
            log_text(a, "request", other->request);
            log_number(a, lnc_field, other->logical_neuron_core);
            log_number(a, "other", first);
            log_remedy(a, "give both requests the same setting, or let no container use both");
            log_end(a);
            return;
        }
    }
}

/*
 * Logs that another claim of the same pod has a different LNC (logicalNeuronCore). This is a
 * contradiction, because the environment of a container has only one LNC.
 */
static void warn_claims(struct agent *a, const struct claim_record *r, unsigned other)
{
    if (lnc_differs(claim_logical_neuron_core(r), ledger_entry(a, other)->logical_neuron_core)) {
        log_ambiguous(a, r, lnc_field);
        log_text(a, "other_claim", ledger_id(a, other)->name);
        log_text(a, "pod", r->consumer.name);
        log_remedy(a, "give both claims the same setting, or let no container use both");
        log_end(a);
    }
}

/*
 * Compares the claim of `r`, which is in `slot`, with every other held claim of the same pod, and
 * logs those whose LNC differs.
 */
static void warn_pod(struct agent *a, const struct claim_record *r, unsigned slot)
{
    bool pod = r->consumer.kind == (uint8_t)CONSUMER_POD && r->consumer.uid[0] != '\0';
    for (unsigned i = 0; pod && i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = ledger_entry(a, i);
        if (i != slot && e->state == LEDGER_HELD &&
            view_is(view_text(r->consumer.uid), ledger_consumer(a, i)->uid)) {
            warn_claims(a, r, i);
        }
    }
}

/* --- log line about devices that are not consecutive --- */

/* Adds the device numbers of the bit set `numbers` as a field of the current log line. */
static void log_numbers(struct agent *a, const char *key, uint64_t numbers)
{
    uint8_t text[DEVICE_NUMBERS_CAP];
    struct writer out = writer_of(text, sizeof text);
    device_numbers_write(&out, numbers);
    log_view(a, key, writer_view(&out));
}

/* Adds the names of the claim's devices as a field of the current log line. */
static void log_devices(struct agent *a, const struct claim_record *r)
{
    uint8_t text[RESULTS_MAX * 20u]; /* the longest name of a device is "neuron-device-63" */
    struct writer out = writer_of(text, sizeof text);
    for (unsigned i = 0; i < r->count; i++) {
        char name[DEVICE_NAME_CAP];
        claim_device_name(&r->result[i], name);
        WRITE(&out, "%%", TEXT((i == 0u) ? "" : ","), TEXT(name));
    }
    log_view(a, "devices", writer_view(&out));
}

static void warn_scattered(struct agent *a, const struct claim_record *r)
{
    char remedy[256];
    struct writer out = writer_of(remedy, sizeof remedy);
    if (!claim_consecutive(r)) {
        claim_consecutive_write(&out, r, a->devices->board);
        writer_text(&out, "; --require-consecutive refuses such claims");
        writer_close_text(&out);
        log_begin(a, LOG_ID_CLAIM_DEVICES_SCATTERED);
        log_about(a, &r->id);
        log_claim(a, &r->id);
        log_numbers(a, "devices", claim_numbers(r));
        log_remedy(a, remedy);
        log_end(a);
    }
}

/* --- log lines about claims that were allocated again or adopted --- */

void prepared_log_other(struct agent *a, const struct claim_record *before,
                        const struct claim_record *r)
{
    log_begin(a, LOG_ID_CLAIM_REALLOCATED);
    log_about(a, &r->id);
    log_claim(a, &r->id);
    log_numbers(a, "devices_before", claim_all_numbers(before));
    log_numbers(a, "devices", claim_all_numbers(r));
    log_end(a);
}

void prepared_log_adopted(struct agent *a, const struct claim_record *r, const char *from)
{
    int holder = ledger_rival(a, 0, r, true);
    log_begin(a, LOG_ID_CLAIM_ADOPTED);
    log_about(a, &r->id);
    log_claim(a, &r->id);
    log_devices(a, r);
    log_text(a, "from", from);
    if (holder >= 0) {
        log_text(a, "device_also_held_by", ledger_id(a, (unsigned)holder)->uid);
    }
    log_end(a);
}

/* --- all log lines about a prepare --- */

void prepared_log(struct agent *a, const struct claim_builder *b, unsigned slot)
{
    const struct claim_record *r = &b->record;
    log_configs(a, b);
    log_begin(a, LOG_ID_CLAIM_PREPARED);
    log_claim(a, &r->id);
    log_devices(a, r);
    log_end(a);
    for (unsigned i = 0; i < r->count; i++) {
        if (!request_logged(r, i)) {
            warn_request(a, b, i);
        }
    }
    warn_requests(a, r);
    warn_pod(a, r, slot);
    warn_scattered(a, r);
}
