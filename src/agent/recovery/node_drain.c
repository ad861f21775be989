/* SPDX-License-Identifier: Apache-2.0 */
/* Drains the node, see node_drain.h. */
#include "agent/recovery/node_drain.h"

#include "agent/frame.h"
#include "agent/ledger/ledger.h"
#include "agent/node/node.h"
#include "agent/publish/publish.h"
#include "agent/recovery/room.h"
#include "agent/recovery/unlisted.h"
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
    bool known = ledger_is_usable(d) && !unlisted_blocks(d) && reconcile_is_complete(d);
    return known && !ledger_may_hold(d) && (d->draining || publish_current(d));
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

static void remove_file(const struct agent *a)
{
    enum status s = a->files->remove(a->files->ctx, FILES_CDI, DRAINED_FILE, NULL);
    status_ignore(s, "it may be absent; the next drain removes it if claims are held then");
}

static bool has_file(const struct agent *a)
{
    uint8_t byte[1];
    struct writer out = writer_of(byte, sizeof byte);
    return a->files->read(a->files->ctx, FILES_CDI, DRAINED_FILE, 0, &out) == STATUS_OK;
}

/* Follows the label of the Node, if it differs from the last step. */
static void follow_node(struct agent *a)
{
    struct node_drain *d = &a->recovery->node_drain;
    enum drain_state next = node_drains(a) ? DRAIN_ON : DRAIN_OFF;
    if (next == d->state) {
        return;
    }
    d->state = next;
    d->quiet_ms = a->now_ms;
    if (next == DRAIN_ON) {
        d->found = has_file(a);
    } else {
        node_set_drained(a, false);
        remove_file(a);
    }
}

/* Makes the node a drained one, if the file for that can be written; else tries again later. */
static void set_drained(struct agent *a)
{
    struct node_drain *d = &a->recovery->node_drain;
    enum status s =
        a->files->write(a->files->ctx, FILES_CDI, DRAINED_FILE, 0, view_text(AGENT_VERSION "\n"));
    d->found = false;
    d->quiet_ms = a->now_ms;
    if (s == STATUS_OK) {
        node_set_drained(a, true);
        log_one(a, LOG_ID_NODE_DRAINED, "text", "the kernel module may be unloaded");
    }
}

void node_drain_step(struct agent *a)
{
    struct node_drain *d = &a->recovery->node_drain;
    if (node_facts(a)->uid[0] == '\0' || ledger_is_busy(a)) {
        return;
    }
    follow_node(a);
    if (d->state != DRAIN_ON || node_is_drained(a)) {
        return;
    }
    if (d->found && claims_left(a) > 0u) {
        d->found = false;
        remove_file(a);
    }
    if (!are_quiet(a)) {
        d->quiet_ms = a->now_ms;
    } else if (d->found || a->now_ms - d->quiet_ms >= DRAIN_SETTLE_MS) {
        set_drained(a);
    } else {
        /* a claim that was allocated before may still come */
    }
}

uint64_t node_drain_deadline(const struct agent *a)
{
    const struct node_drain *d = &a->recovery->node_drain;
    bool waits = d->state == DRAIN_ON && !node_is_drained(a);
    return waits ? d->quiet_ms + DRAIN_SETTLE_MS : UINT64_MAX;
}

/* --- lines about claims --- */

/* Largest text of a claim and its pod, with NUL or a separator. */
#define CLAIM_SHOWN_CAP (NAMESPACE_CAP + 2u * NAME_CAP + sizeof " of pod , ")

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
            if (c->kind == (uint8_t)CONSUMER_POD) {
                WRITE(out, " of pod %", TEXT(c->name));
            }
            return true;
        }
        *left -= held ? 1u : 0u;
    }
    return false;
}

bool node_drain_line(const struct agent *a, unsigned index, struct writer *out)
{
    if (a->recovery->node_drain.state != DRAIN_ON) {
        return false;
    }
    if (index == 0u) {
        writer_text(out, DRAIN_LINE);
        if (node_is_drained(a)) {
            writer_text(out, "ed: the kernel module may be unloaded");
        } else {
            WRITE(out, "ing, claims left: %", NUMBER(claims_left(a)));
        }
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
