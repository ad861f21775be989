/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes status.devices of claims, see claim_status.h. Owns the list of pending writes; the ledger
 * owns the claims. For each piece of a request that is sent, the whole body is built again from the
 * claim's record. Sources: resource.k8s.io AllocatedDeviceStatus (KEP-4817), Kubernetes API
 * concepts, "Server-Side Apply".
 */
#include "agent/claim/claim_status.h"

#include <string.h>

#include "agent/api/version.h"
#include "agent/claim/room.h"
#include "agent/frame.h"
#include "agent/ledger/ledger.h"
#include "agent/report/refusal.h"
#include "base/assert.h"
#include "base/crc32c.h"
#include "base/json.h"
#include "base/time.h"

/* --- queue of claims whose status must be written --- */

void claim_status_prepared(struct agent *a, unsigned slot)
{
    struct claim_status *c = &a->claim->claim_status;
    ASSERT(slot < CLAIMS_MAX);
    uint32_t claim = crc32c(0, view_text(ledger_id(a, slot)->uid));
    if (!a->settings->claim_status || c->claim[slot] == claim) {
        return;
    }
    c->claim[slot] = claim;
    c->wall_ms[slot] = a->wall_ms;
    c->wanted[slot] = true;
}

void claim_status_changed(struct agent *a, unsigned slot)
{
    struct claim_status *c = &a->claim->claim_status;
    ASSERT(slot < CLAIMS_MAX);
    if (c->out.running && c->slot == (int)slot) {
        outgoing_stop(a, &c->out, API_SLOT_CLAIM_STATUS);
    }
    c->wanted[slot] = false;
    c->claim[slot] = 0;
}

static void forget_gone(struct claim_status *c)
{
    ASSERT(c->gone_count > 0u);
    c->gone_count--;
    memmove(&c->gone[0], &c->gone[1], c->gone_count * sizeof c->gone[0]);
}

void claim_status_unprepared(struct agent *a, unsigned slot)
{
    struct claim_status *c = &a->claim->claim_status;
    ASSERT(slot < CLAIMS_MAX);
    if (!a->settings->claim_status) {
        return;
    }
    claim_status_changed(a, slot);
    bool full = c->gone_count == CLAIM_STATUS_GONE_MAX;
    if (full && c->out.running && c->slot < 0) {
        outgoing_stop(a, &c->out, API_SLOT_CLAIM_STATUS);
    }
    if (full) {
        forget_gone(c);
    }
    c->gone[c->gone_count] = *ledger_id(a, slot);
    c->gone_count++;
}

void claim_status_retire(struct agent *a)
{
    struct claim_status *c = &a->claim->claim_status;
    if (c->out.running) {
        outgoing_stop(a, &c->out, API_SLOT_CLAIM_STATUS);
    }
    c->gone_count = 0;
    memset(c->wanted, 0, sizeof c->wanted);
    memset(c->claim, 0, sizeof c->claim);
}

/*
 * Finds the next status to write; false: there is none. *slot: the slot of its claim; -1: the
 * status of gone[0], an unprepared claim, must be removed.
 */
static bool next_job(const struct claim_status *c, int *slot)
{
    *slot = -1;
    if (c->gone_count > 0u) {
        return true;
    }
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        if (c->wanted[i]) {
            *slot = (int)i;
            return true;
        }
    }
    return false;
}

static void job_over(struct claim_status *c)
{
    c->tries = 0;
    if (c->slot < 0) {
        forget_gone(c);
    } else {
        c->wanted[c->slot] = false;
    }
}

/* --- body of the request that writes a status --- */

/* Writes the members of the JSON object `data`: the configuration of the device, if it has any. */
static void write_data(struct writer *out, const struct claim_result *r)
{
    const char *comma = "";
    if (r->logical_neuron_core > 0u) {
        WRITE(out, "\"logicalNeuronCore\":%", NUMBER(r->logical_neuron_core));
        comma = ",";
    }
    if (r->ultraserver_mode > 0u) {
        WRITE(out, "%\"ultraserverMode\":%", TEXT(comma), NUMBER(r->ultraserver_mode));
    }
}

static void write_device(struct writer *out, const char *driver, const struct claim_record *r,
                         unsigned at, uint64_t wall_ms)
{
    const struct claim_result *result = &r->result[at];
    const char *values[] = {r->pool, result->share_id};
    bool shared = result->share_id[0] != '\0';
    json_fill(out, shared ? "{\"pool\":%,\"shareID\":%" : "{\"pool\":%", values);
    char device[DEVICE_NAME_CAP];
    claim_device_name(result, device);
    /* names of drivers and devices are DNS names, which need no escapes in JSON */
    WRITE(out,
          ",\"driver\":\"%\",\"device\":\"%\",\"conditions\":[{\"type\":\"Ready\","
          "\"status\":\"True\",\"reason\":\"Prepared\",\"message\":\"prepared for ",
          TEXT(driver), TEXT(device));
    if (r->consumer.kind == (uint8_t)CONSUMER_POD) {
        writer_text(out, "its containers");
    } else {
        /*
         * Names of Kubernetes objects consist of letters, digits, '-' and '.', which need no
         * escapes in JSON.
         */
        WRITE(out, "% %", TEXT(claim_consumer_name((enum claim_consumer_kind)r->consumer.kind)),
              TEXT(r->consumer.name));
    }
    writer_text(out, "\",\"lastTransitionTime\":\"");
    writer_time(out, wall_ms, "Z\"}],\"data\":{");
    write_data(out, result);
    writer_text(out, "}}");
}

/*
 * Whether an earlier allocation result of the record names the same device as result `at`. Two
 * requests with admin access may name the same device, which then gets only one entry.
 */
static bool entry_written(const struct claim_record *r, unsigned at)
{
    const struct claim_result *one = &r->result[at];
    for (unsigned i = 0; i < at; i++) {
        if (r->result[i].number == one->number && r->result[i].node == one->node &&
            text_is(r->result[i].share_id, one->share_id)) {
            return true;
        }
    }
    return false;
}

/*
 * Writes the entries of the devices in the record `r`; NULL: the claim was unprepared and has no
 * entries.
 */
static void write_devices(struct writer *out, const char *driver, const struct claim_record *r,
                          uint64_t wall_ms)
{
    const char *comma = "";
    for (unsigned i = 0; r != NULL && i < r->count; i++) {
        if (!entry_written(r, i)) {
            writer_text(out, comma);
            write_device(out, driver, r, i, wall_ms);
            comma = ",";
        }
    }
}

/*
 * Finds the record of the claim to write. *r: NULL if the claim was unprepared. false: the record
 * is unreadable.
 */
static bool find_record(struct agent *a, const struct claim_record **r)
{
    const struct claim_status *c = &a->claim->claim_status;
    *r = NULL;
    if (c->slot < 0) {
        return true;
    }
    unsigned slot = (unsigned)c->slot;
    return ledger_is_usable(a) && ledger_entry(a, slot)->state == LEDGER_HELD &&
           ledger_record(a, slot, r) == STATUS_OK;
}

/* Builds the body of the request; an empty view: the status cannot be written. */
static struct view body_of(struct agent *a)
{
    struct claim_status *c = &a->claim->claim_status;
    struct writer out = writer_of(a->scratch.body, sizeof a->scratch.body);
    const struct claim_record *r = NULL;
    if (!find_record(a, &r)) {
        return view_of(NULL, 0);
    }
    const struct claim_id *id = (r == NULL) ? &c->gone[0] : &r->id;
    const char *values[] = {version_group(c->version), id->name, id->namespace_, id->uid};
    json_fill(&out,
              "{\"apiVersion\":%,\"kind\":\"ResourceClaim\","
              "\"metadata\":{\"name\":%,\"namespace\":%,\"uid\":%},\"status\":{\"devices\":[",
              values);
    write_devices(&out, a->driver->name, r, (r == NULL) ? 0u : c->wall_ms[c->slot]);
    writer_text(&out, "]}}");
    return out.full ? view_of(NULL, 0) : writer_view(&out);
}

/* --- sending requests that write a status --- */

static struct view body_part(struct agent *a, uint32_t offset, size_t room)
{
    return outgoing_piece(&a->claim->claim_status.out, body_of(a), offset, room);
}

/* Returns the id of the claim whose status the running request writes. */
static const struct claim_id *id_of_job(const struct agent *a)
{
    const struct claim_status *c = &a->claim->claim_status;
    return (c->slot < 0) ? &c->gone[0] : ledger_id(a, (unsigned)c->slot);
}

static void start_write(struct agent *a)
{
    struct claim_status *c = &a->claim->claim_status;
    const struct claim_id *id = id_of_job(a);
    char path[KUBE_PATH_CAP];
    struct writer out = writer_of(path, sizeof path);
    c->version = version_now(a);
    struct view body = body_of(a);
    if (body.len == 0u) {
        job_over(c);
        return;
    }
    /*
     * Each driver uses its own field manager, because an apply removes all fields that the same
     * manager applied before and that the new request leaves out.
     */
    const struct kube_manager manager = {a->driver->name, a->settings->node_name};
    enum status s =
        kube_path_claim_status(&out, version_name(a), id->namespace_, id->name, &manager);
    ASSERT(s == STATUS_OK);
    const struct api_request r = {.kind = API_APPLY_CLAIM_STATUS,
                                  .shape = KUBE_SHAPE_STATUS,
                                  .version = c->version,
                                  .head = {.method = "PATCH",
                                           .path = writer_view(&out),
                                           .body_len = body.len,
                                           .body_type = KUBE_APPLY_PATCH},
                                  .body = body_part};
    bool started = outgoing_start(a, &c->out, API_SLOT_CLAIM_STATUS, &r);
    ASSERT(started == c->out.running);
}

void claim_status_step(struct agent *a)
{
    struct claim_status *c = &a->claim->claim_status;
    if (outgoing_ready(a, &c->out) && version_ready(a) && next_job(c, &c->slot)) {
        start_write(a);
    }
}

uint64_t claim_status_deadline(const struct agent *a)
{
    const struct claim_status *c = &a->claim->claim_status;
    int slot = -1;
    bool waits = a->settings->claim_status && version_ready(a) && next_job(c, &slot);
    return waits ? outgoing_deadline(a, &c->out) : UINT64_MAX;
}

void claim_status_end(struct agent *a, const struct api_result *r)
{
    struct claim_status *c = &a->claim->claim_status;
    enum outcome outcome = outgoing_end(a, &c->out, r);
    switch (outcome) {
    case OUTCOME_DONE:
        c->refused_http = 0;
        job_over(c);
        break;
    case OUTCOME_IGNORED:
        job_over(c);
        break;
    case OUTCOME_REJECTED:
        log_write_refusal(a, &c->refused_http, LOG_ID_CLAIM_STATUS_REFUSED, id_of_job(a), r);
        job_over(c);
        break;
    case OUTCOME_LATER:
        c->tries += (r->http != 0u) ? 1u : 0u;
        if (c->tries >= CLAIM_STATUS_TRIES) {
            job_over(c);
        }
        break;
    case OUTCOME_DENIED:
        log_write_refusal(a, &c->refused_http, LOG_ID_CLAIM_STATUS_REFUSED, id_of_job(a), r);
        break;
    case OUTCOME_CHANGED:
        break;
    }
}
