/* SPDX-License-Identifier: Apache-2.0 */
/* Drains the node, see node_drain.h. */
#include "agent/recovery/node_drain.h"

#include "agent/frame.h"
#include "agent/ledger/ledger.h"
#include "agent/node/node.h"
#include "agent/publish/publish.h"
#include "agent/recovery/room.h"
#include "agent/report/log.h"
#include "agent/troubles.h"

/* Number of claims that the drivers hold. */
static unsigned claims_left(const struct agent *a)
{
    unsigned count = 0;
    for (const struct agent *d = a; d != NULL; d = d->next) {
        count += ledger_held_count(d);
    }
    return count;
}

/* Whether the driver knows its claims, holds none, and has published that the node drains. */
static bool is_quiet(const struct agent *d)
{
    bool knows = ledger_is_usable(d) && reconcile_is_complete(d);
    return knows && !ledger_may_hold(d) && publish_current(d);
}

/* Whether the conditions of rule D2 hold for all drivers. */
static bool are_quiet(const struct agent *a)
{
    bool quiet = true;
    for (const struct agent *d = a; d != NULL; d = d->next) {
        quiet = quiet && is_quiet(d);
    }
    return quiet;
}

/* Whether the Node was read and asks for no drain. */
static bool is_off(const struct agent *a)
{
    return node_facts(a)->uid[0] != '\0' && !node_drains(a);
}

static void remove_file(struct agent *a)
{
    struct node_drain *d = &a->recovery->node_drain;
    enum status s = a->files->remove(a->files->ctx, FILES_CDI, DRAINED_FILE, NULL);
    d->clean = s == STATUS_OK || s == HOST_ABSENT;
    d->again_ms = a->now_ms + DRAIN_SETTLE_MS;
}

/* Learns from the file what the process before this one found out (rule D4). */
static void look(struct agent *a)
{
    struct node_drain *d = &a->recovery->node_drain;
    uint8_t byte[1];
    struct writer out = writer_of(byte, sizeof byte);
    enum status s = a->files->read(a->files->ctx, FILES_CDI, DRAINED_FILE, 0, &out);
    d->looked = true;
    d->clean = false;
    d->again_ms = a->now_ms;
    node_set_drained(a, s == STATUS_OK);
}

static void end_drain(struct agent *a)
{
    struct node_drain *d = &a->recovery->node_drain;
    node_set_drained(a, false);
    d->begun = false;
    d->unwritten = false;
    if (d->owns && !d->clean && a->now_ms >= d->again_ms) {
        remove_file(a);
    }
}

/* Makes the node a drained one, if the file for that can be written; else tries again later. */
static void set_drained(struct agent *a)
{
    struct node_drain *d = &a->recovery->node_drain;
    enum status s =
        a->files->write(a->files->ctx, FILES_CDI, DRAINED_FILE, 0, view_text(AGENT_VERSION "\n"));
    d->unwritten = s != STATUS_OK;
    d->quiet_ms = a->now_ms;
    if (s == STATUS_OK) {
        d->clean = false;
        d->again_ms = a->now_ms;
        node_set_drained(a, true);
        log_one(a, LOG_ID_NODE_DRAINED, "text", "the kernel module may be unloaded");
    }
}

/* Finds out whether the node is drained. The Node asks for a drain, or was not read yet. */
static void watch(struct agent *a)
{
    struct node_drain *d = &a->recovery->node_drain;
    bool stale = claims_left(a) > 0u; /* the file is of another drain */
    if (node_is_drained(a) && !stale) {
        return;
    }
    if (node_is_drained(a) || (!d->begun && node_drains(a))) {
        node_set_drained(a, false);
        remove_file(a);
        d->begun = node_drains(a);
        d->quiet_ms = a->now_ms;
    } else if (!d->begun || !are_quiet(a)) {
        d->quiet_ms = a->now_ms;
    } else if (a->now_ms - d->quiet_ms >= DRAIN_SETTLE_MS) {
        set_drained(a);
    } else {
        /* a claim that was allocated before may still come */
    }
}

void node_drain_step(struct agent *a)
{
    struct node_drain *d = &a->recovery->node_drain;
    bool owns = ledger_is_usable(a);
    if (!d->looked || (owns && !d->owns)) {
        look(a);
    }
    d->owns = owns;
    if (is_off(a)) {
        end_drain(a);
    } else if (owns) {
        watch(a);
    } else {
        d->begun = false; /* the process that owns the claim store watches */
    }
}

uint64_t node_drain_deadline(const struct agent *a)
{
    const struct node_drain *d = &a->recovery->node_drain;
    uint64_t at = UINT64_MAX;
    if (d->owns && d->begun && !node_is_drained(a)) {
        at = d->quiet_ms + DRAIN_SETTLE_MS;
    } else if (d->owns && !d->clean && is_off(a)) {
        at = d->again_ms;
    } else {
        /* nothing to wait for */
    }
    return at;
}

/* --- lines about claims --- */

/* Largest text of a claim and its pod, with NUL or a separator. */
#define CLAIM_SHOWN_CAP (NAMESPACE_CAP + 2u * NAME_CAP + sizeof " of PodGroup , ")

/*
 * Writes held claim number *left (from 0) of the driver, and returns true. If there are fewer held
 * claims, subtracts their number from *left and returns false.
 */
static bool write_claim(const struct agent *d, unsigned *left, struct writer *out)
{
    for (unsigned slot = 0; slot < CLAIMS_MAX; slot++) {
        bool held = ledger_entry(d, slot)->state == LEDGER_HELD;
        if (held && *left == 0u) {
            const struct claim_id *id = ledger_id(d, slot);
            const struct claim_consumer *c = ledger_consumer(d, slot);
            WRITE(out, "%/%", TEXT(id->namespace_), TEXT(id->name));
            if (c->name[0] != '\0') {
                WRITE(out, " of % %", TEXT(claim_consumer_name((enum claim_consumer_kind)c->kind)),
                      TEXT(c->name));
            }
            return true;
        }
        *left -= held ? 1u : 0u;
    }
    return false;
}

/* Writes how far the drain is; if no claim is left, what else it waits for. */
static void write_progress(const struct agent *a, struct writer *out)
{
    unsigned left = claims_left(a);
    if (node_is_drained(a)) {
        writer_text(out, DRAINED_LINE ": the kernel module may be unloaded");
        return;
    }
    WRITE(out, DRAINING_LINE ", claims left: %", NUMBER(left));
    if (left > 0u) {
        return;
    }
    if (a->recovery->node_drain.unwritten) {
        writer_text(out, "; the file " DRAINED_FILE " cannot be written to the CDI root");
    } else if (!publish_current(a)) {
        WRITE(out, "; the slices are not stored: %", TEXT(publish_reason(a)));
    } else {
        /* a claim that was allocated before may still come */
    }
}

bool node_drain_line(const struct agent *a, unsigned index, struct writer *out)
{
    if (!node_drains(a) && !node_is_drained(a)) {
        return false;
    }
    if (index == 0u) {
        write_progress(a, out);
        return true;
    }
    unsigned left = index - 1u;
    struct writer line = *out;
    bool found = false;
    writer_text(&line, TROUBLE_LINE "the drain waits for claim ");
    for (const struct agent *d = a; d != NULL && !found; d = d->next) {
        found = write_claim(d, &left, &line);
    }
    if (found) {
        *out = line;
    }
    return found;
}

void node_drain_module_lost(struct agent *a)
{
    char text[LOST_CLAIMS_NAMED * CLAIM_SHOWN_CAP];
    struct writer out = writer_of(text, sizeof text);
    unsigned count = ledger_held_count(a);
    if (count == 0u) {
        return;
    }
    for (unsigned i = 0; i < LOST_CLAIMS_NAMED && i < count; i++) {
        unsigned left = i;
        writer_text(&out, (i > 0u) ? ", " : "");
        (void)write_claim(a, &left, &out);
    }
    writer_close_text(&out);
    log_begin(a, LOG_ID_DEVICES_LOST_IN_USE);
    log_number(a, "claims_held", count);
    log_text(a, "claims", text);
    log_end(a);
}
