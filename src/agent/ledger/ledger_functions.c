/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EFA devices in the claim table: a claim holds them by PCI address, and by the uverbs node that
 * its containers have. The kernel renumbers these nodes when the efa driver is reloaded, and the
 * number of a device that no board map names follows from the order of the devices; so the number
 * of the node, or of the device, does not by itself show whether two claims have the same device.
 * Owns nothing: ledger.h owns the table.
 */
#include "agent/ledger/ledger_internal.h"

#include "agent/frame.h"
#include "agent/ledger/room.h"
#include "base/assert.h"
#include "boards/board.h"

/* Bit N: at least one held claim uses ledger.function[N]. */
static uint64_t places_in_use(const struct agent *a)
{
    uint64_t used = 0;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &a->ledger->entry[i];
        used |= (e->state == LEDGER_HELD) ? e->functions : 0u;
    }
    return used;
}

/*
 * Returns bit N if ledger.function[N] has the PCI address and uverbs node of this EFA device. A
 * device without an entry gets one whose bit is not in `taken`. LEDGER_ALL_FUNCTIONS: all entries
 * are taken.
 */
static uint64_t function_bit(struct agent *a, const struct claim_result *r, uint64_t taken)
{
    struct held_function *f = a->ledger->function;
    for (unsigned i = 0; i < LEDGER_FUNCTIONS; i++) {
        if (f[i].address == r->efa_address && f[i].uverbs == r->uverbs) {
            return UINT64_C(1) << i;
        }
    }
    for (unsigned i = 0; i < LEDGER_FUNCTIONS; i++) {
        if ((taken >> i & 1u) == 0u) {
            f[i] = (struct held_function){.address = r->efa_address, .uverbs = r->uverbs};
            return UINT64_C(1) << i;
        }
    }
    return LEDGER_ALL_FUNCTIONS;
}

uint64_t ledger_functions(struct agent *a, const struct claim_record *r)
{
    uint64_t functions = 0;
    uint64_t used = driver_traits(r->driver)->numbered ? 0u : places_in_use(a);
    for (unsigned i = 0; i < r->count; i++) {
        bool holds = r->result[i].efa_address != 0u && !r->result[i].admin_access;
        functions |= holds ? function_bit(a, &r->result[i], used | functions) : 0u;
    }
    return functions;
}

/*
 * Whether the EFA device `f` conflicts with a claim whose devices are the bits of `functions`: the
 * claim has the same device and is not `sharing` it, or another device with the same uverbs node.
 */
static bool function_meets(const struct agent *a, uint64_t functions, const struct held_function *f,
                           bool sharing)
{
    bool meets = functions == LEDGER_ALL_FUNCTIONS;
    for (unsigned i = 0; i < LEDGER_FUNCTIONS; i++) {
        const struct held_function *have = &a->ledger->function[i];
        bool clash = have->uverbs == f->uverbs;
        if (have->address == f->address) {
            clash = !sharing;
        }
        meets = meets || ((functions >> i & 1u) != 0u && clash);
    }
    return meets;
}

bool ledger_functions_meet(const struct agent *a, const struct ledger_entry *x,
                           const struct ledger_entry *y, bool sharing)
{
    bool meets = x->functions == LEDGER_ALL_FUNCTIONS && y->functions != 0u;
    for (unsigned i = 0; i < LEDGER_FUNCTIONS && y->functions != 0u; i++) {
        bool has = (x->functions >> i & 1u) != 0u;
        meets = meets || (has && function_meets(a, y->functions, &a->ledger->function[i], sharing));
    }
    return meets;
}

/*
 * Whether only device numbers show which devices the claim holds. That is so for Neuron devices,
 * for an entry without EFA devices (`functions` is 0), and for a record that is not WHOLE.
 */
static bool by_number(const struct agent *a, const struct ledger_entry *e)
{
    bool numbered = driver_traits(a->driver->kind)->numbered;
    return numbered || e->functions == 0u || e->record != RECORD_WHOLE;
}

/*
 * Adds all numbers of EFA devices that no board map names, if `numbers` has one of them. These
 * numbers are valid in one process only, so a claim for which only numbers are known may have any
 * of these devices.
 */
static uint64_t widened(const struct agent *a, uint64_t numbers)
{
    uint64_t unmapped = UINT64_MAX << BOARD_GROUPED_DEVICES;
    bool any = !driver_traits(a->driver->kind)->numbered && (numbers & unmapped) != 0u;
    return any ? numbers | unmapped : numbers;
}

bool ledger_in_the_way(const struct agent *a, const struct ledger_entry *e,
                       const struct claim_record *r, bool joined)
{
    bool meets = by_number(a, e) && !joined && (widened(a, e->numbers) & claim_numbers(r)) != 0u;
    for (unsigned i = 0; i < r->count; i++) {
        const struct held_function f = {.address = r->result[i].efa_address,
                                        .uverbs = r->result[i].uverbs};
        meets =
            meets || (!r->result[i].admin_access && function_meets(a, e->functions, &f, joined));
    }
    return meets;
}

bool ledger_contests(const struct agent *a, unsigned slot, const struct claim_record *r,
                     unsigned at)
{
    const struct ledger_entry *e = &a->ledger->entry[slot];
    const struct claim_result *result = &r->result[at];
    const struct held_function f = {.address = result->efa_address, .uverbs = result->uverbs};
    bool number = by_number(a, e) && (widened(a, e->numbers) & claim_result_numbers(r, at)) != 0u;
    return !result->admin_access && (number || function_meets(a, e->functions, &f, false));
}

bool ledger_holds_address(const struct agent *a, unsigned slot, uint32_t address)
{
    const struct ledger_entry *e = &a->ledger->entry[slot];
    bool holds = by_number(a, e) || e->functions == LEDGER_ALL_FUNCTIONS;
    for (unsigned i = 0; i < LEDGER_FUNCTIONS; i++) {
        bool has = (e->functions >> i & 1u) != 0u;
        holds = holds || (has && a->ledger->function[i].address == address);
    }
    return holds;
}

int ledger_uverbs_holder(const struct agent *a, uint32_t address, uint16_t uverbs, const char *uid)
{
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &a->ledger->entry[i];
        bool other = e->state == LEDGER_HELD && !text_is(uid, a->ledger->id[i].uid);
        for (unsigned k = 0; k < LEDGER_FUNCTIONS && other; k++) {
            const struct held_function *f = &a->ledger->function[k];
            int at = devices_addressed(a->devices, f->address);
            bool moves = at >= 0 && a->devices->device[at].efa.uverbs != f->uverbs;
            if ((e->functions >> k & 1u) != 0u && f->address != address && f->uverbs == uverbs &&
                !moves) {
                return (int)i;
            }
        }
    }
    return -1;
}

bool ledger_moved(const struct agent *a, unsigned slot)
{
    const struct ledger_entry *e = &a->ledger->entry[slot];
    bool moved = false;
    for (unsigned k = 0; k < LEDGER_FUNCTIONS && e->functions != LEDGER_ALL_FUNCTIONS; k++) {
        const struct held_function *f = &a->ledger->function[k];
        bool has = e->state == LEDGER_HELD && (e->functions >> k & 1u) != 0u;
        int at = has ? devices_addressed(a->devices, f->address) : -1;
        moved = moved || (at >= 0 && a->devices->device[at].efa.uverbs != f->uverbs);
    }
    /*
     * true also for a claim whose EFA devices did not fit into ledger.function: the caller must
     * read its record
     */
    return moved || (e->state == LEDGER_HELD && e->functions == LEDGER_ALL_FUNCTIONS);
}

/* The device numbers of a held claim, according to the current numbering of the node. */
uint64_t ledger_numbers_of(const struct agent *a, const struct ledger_entry *e)
{
    uint64_t numbers = 0;
    if (e->functions == 0u || e->functions == LEDGER_ALL_FUNCTIONS) {
        return e->numbers;
    }
    for (unsigned k = 0; k < LEDGER_FUNCTIONS; k++) {
        bool has = (e->functions >> k & 1u) != 0u;
        int at = has ? devices_addressed(a->devices, a->ledger->function[k].address) : -1;
        numbers |= (at >= 0) ? UINT64_C(1) << a->devices->device[at].number : 0u;
    }
    /*
     * a device that is gone keeps the number in the entry, unless another device has that number
     * now
     */
    return numbers | (e->numbers & ~devices_numbers(a->devices));
}

void ledger_give_functions(struct agent *a, unsigned slot, unsigned to)
{
    struct ledger_entry *e = &a->ledger->entry[slot];
    for (unsigned k = 0; k < LEDGER_FUNCTIONS && e->functions != LEDGER_ALL_FUNCTIONS; k++) {
        bool has = (e->functions >> k & 1u) != 0u && a->ledger->entry[to].functions != 0u;
        if (has && ledger_holds_address(a, to, a->ledger->function[k].address)) {
            e->functions &= ~(UINT64_C(1) << k);
        }
    }
}
