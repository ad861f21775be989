/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of devices in containers, see numbering.h. Which containers use a claim is not known to
 * a driver: claims of one pod count as used by one.
 */
#include "agent/claims/numbering.h"

#include "agent/state.h"

static bool is_in_call(const struct agent *a, const struct call *c, const char *uid)
{
    bool found = false;
    for (unsigned i = 0; i < c->count; i++) {
        found = found || view_is(view_text(a->operation[c->operation[i]].id.uid), uid);
    }
    return found;
}

/* Whether a container can use the claim of this slot beside that of the record. */
static bool is_beside(const struct agent *a, const struct call *c, unsigned slot,
                      const struct claim_record *r)
{
    const struct ledger_entry *e = &a->ledger.entry[slot];
    /* the host's numbers are distinct, unless devices are shared: then both mean the same one */
    bool counts = e->state == (uint8_t)LEDGER_HELD && (r->zero_numbering || e->zero_numbering);
    if (!counts || view_is(view_text(r->id.uid), a->ledger.id[slot].uid)) {
        return false;
    }
    const char *pod = ledger_consumer(a, slot)->uid;
    return (pod[0] != '\0' && view_is(view_text(pod), r->consumer.uid)) ||
           (c != NULL && is_in_call(a, c, a->ledger.id[slot].uid));
}

static void write_conflict(struct writer *why, const struct claim_record *r, const char *other,
                           uint64_t both)
{
    writer_text(why, "claim ");
    writer_shown(why, view_text(r->id.name), SHOWN_BYTES_MAX);
    writer_text(why, " and claim ");
    writer_shown(why, view_text(other), SHOWN_BYTES_MAX);
    writer_text(why, " of the same pod would both have /dev/neuron");
    writer_decimal(why, (unsigned)__builtin_ctzll(both));
    writer_text(why, " in a container: --device-numbering changed between them; delete and "
                     "re-create the pod");
}

enum status numbering_choose(const struct agent *a, const struct call *c, struct claim_record *r,
                             struct writer *why)
{
    uint64_t taken = 0;
    unsigned other = 0;
    uint64_t own = claim_container_numbers(r);
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        uint64_t seen = is_beside(a, c, i, r) ? a->ledger.entry[i].seen : 0u;
        other = ((seen & own) != 0u) ? i : other;
        taken |= seen;
    }
    while (r->zero_numbering && (own & taken) != 0u && own >> (DEVICES_MAX - 1u) == 0u) {
        own <<= 1u;
        r->first_number++;
    }
    if ((own & taken) != 0u) {
        write_conflict(why, r, a->ledger.id[other].name, own & taken);
        return PEER_REFUSED;
    }
    return STATUS_OK;
}
