/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What users and operators are told of claims that the ledger holds: error texts, each one line
 * with its remedy, and the lines about a claim that was prepared. Owns these words, decides
 * nothing.
 */
#include "agent/claims/calls_internal.h"
#include "base/assert.h"

/* --- errors --- */

void say_unreadable(const struct agent *a, enum status s, struct writer *why)
{
    writer_text(why, "the stored record of this claim cannot be read (");
    writer_text(why, ledger_reason(a, s));
    writer_text(why, "); delete and re-create the pod");
}

/* Names are cut, so that what follows has its place. */
static void say_claim(const struct claim_id *id, struct writer *why)
{
    writer_shown(why, view_text(id->namespace_), SHOWN_BYTES_MAX);
    writer_text(why, "/");
    writer_shown(why, view_text(id->name), SHOWN_BYTES_MAX);
}

static bool device_here(const struct devices *d, unsigned number)
{
    for (unsigned i = 0; i < d->count; i++) {
        if (d->device[i].number == number) {
            return true;
        }
    }
    return false;
}

enum status devices_here(const struct agent *a, const struct claim_record *r, struct writer *why)
{
    /* A look that failed must not cost a running pod its claim. */
    for (unsigned i = 0; i < r->count && a->devices_known; i++) {
        if (!device_here(&a->devices, r->result[i].number)) {
            writer_text(why, "prepared device " DEVICE_NAME_PREFIX);
            writer_decimal(why, r->result[i].number);
            writer_text(why, " is not found on this node any more; delete and re-create the pod");
            return PEER_NOT_FOUND;
        }
    }
    return STATUS_OK;
}

void say_conflict(const struct agent *a, unsigned slot, const struct claim_record *r,
                  struct writer *why)
{
    const struct ledger_entry *e = &a->ledger.entry[slot];
    uint64_t both = e->numbers & claim_numbers(r);
    ASSERT(both != 0u);
    writer_text(why, "claim ");
    say_claim(&r->id, why);
    writer_text(why, ": requested device " DEVICE_NAME_PREFIX);
    writer_decimal(why, (unsigned)__builtin_ctzll(both));
    writer_text(why, " is already held by claim ");
    say_claim(&e->id, why);
    writer_text(why, " (");
    writer_text(why, e->id.uid);
    writer_text(
        why,
        "); if no pod uses that one: drain the node, stop the agent, delete its " STORE_FILE_NAME);
}

/* --- the log --- */

static void log_config(struct agent *a, const char *request, const char *version, const char *kind)
{
    log_begin(a, LOG_ID_CLAIM_CONFIG);
    log_text(a, "request", request);
    log_text(a, "apiVersion", version);
    log_text(a, "kind", kind);
}

/* What the result's request was configured with: one line for each kind. */
static void log_configs(struct agent *a, const struct claim_builder *b, unsigned at)
{
    const struct claim_result *r = &b->record.result[at];
    if (b->lnc_version[at] != NULL) {
        log_config(a, r->request, b->lnc_version[at], "NeuronConfig");
        log_number(a, "logicalNeuronCore", r->logical_neuron_core);
        log_end(a);
    }
    if (b->mode_version[at] != NULL) {
        log_config(a, r->request, b->mode_version[at], "UltraServerConfig");
        log_number(a, "ultraserverMode", r->ultraserver_mode);
        log_end(a);
    }
}

static bool request_logged(const struct claim_record *r, unsigned at)
{
    for (unsigned i = 0; i < at; i++) {
        if (view_is(view_text(r->result[i].request), r->result[at].request)) {
            return true;
        }
    }
    return false;
}

/* The devices of a request share their configuration. */
void log_prepared(struct agent *a, const struct claim_builder *b)
{
    const struct claim_record *r = &b->record;
    for (unsigned i = 0; i < r->count; i++) {
        if (!request_logged(r, i)) {
            log_configs(a, b, i);
        }
    }
    log_begin(a, LOG_ID_CLAIM_PREPARED);
    log_text(a, "namespace", r->id.namespace_);
    log_text(a, "claim", r->id.name);
    log_text(a, "claim_uid", r->id.uid);
    log_number(a, "devices", r->count);
    log_end(a);
}
