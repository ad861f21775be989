/* SPDX-License-Identifier: Apache-2.0 */
/* The counts, see moves.h. */
#include "tests/sim/virtual/moves.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/ledger/handover_states.h"
#include "agent/ledger/ledger_internal.h"
#include "agent/ledger/ledger_states.h"
#include "agent/state.h"
#include "tests/sim/virtual/steps.h"

#define STATES_MAX 8u

enum { MACHINE_SLOT, MACHINE_RECORD, MACHINE_FLUSH, MACHINE_HANDOVER, MACHINES };

struct machine {
    const char *name;
    unsigned states;
    const uint8_t *moves;
    const char *state[STATES_MAX];
};

static const struct machine machines[MACHINES] = {
    [MACHINE_SLOT] = {"slot",
                      LEDGER_STATES,
                      ledger_slot_moves,
                      {"FREE", "HELD", "FREEING", "FREEING_FILE"}},
    [MACHINE_RECORD] = {"record",
                        RECORD_STATES,
                        ledger_record_moves,
                        {"WHOLE", "OUTLINE", "UNSURE"}},
    [MACHINE_FLUSH] = {"flush", FLUSH_STATES, ledger_flush_moves, {"SETTLED", "DUE", "DOUBTED"}},
    [MACHINE_HANDOVER] = {"handover",
                          HANDOVER_STATES,
                          handover_moves,
                          {"WAITING", "NEXT", "OWNER", "LEAVING", "RETIRED", "RETURNING"}},
};

/* Legal moves that no schedule makes, and why. */
static const struct {
    unsigned machine;
    unsigned from;
    unsigned to;
    const char *why;
} explained[] = {
    {MACHINE_RECORD, RECORD_WHOLE, RECORD_OUTLINE,
     "takes more lost records than memory keeps: unit/test_agent_ledger"},
    {MACHINE_RECORD, RECORD_OUTLINE, RECORD_WHOLE,
     "no schedule has records of a newer release: unit/test_agent_store"},
    {MACHINE_RECORD, RECORD_OUTLINE, RECORD_UNSURE,
     "no schedule has records of a newer release: unit/test_agent_store"},
    {MACHINE_HANDOVER, HANDOVER_NEXT, HANDOVER_WAITING,
     "the kubelet of the simulator refuses no agent: unit/test_agent_handover"},
    {MACHINE_HANDOVER, HANDOVER_RETURNING, HANDOVER_RETIRED,
     "the kubelet of the simulator refuses no agent: unit/test_agent_handover"},
};

typedef uint64_t counts[MACHINES][STATES_MAX][STATES_MAX];
static counts *counted;

void moves_begin(void)
{
    counted =
        mmap(NULL, sizeof *counted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counted == MAP_FAILED) {
        perror("sim: mmap");
        exit(2);
    }
}

static void count(unsigned machine, unsigned from, unsigned to)
{
    if (counted != NULL && from != to) {
        (void)__atomic_fetch_add(&(*counted)[machine][from][to], 1u, __ATOMIC_RELAXED);
    }
}

static const char *reason_of(unsigned machine, unsigned from, unsigned to)
{
    for (unsigned i = 0; i < sizeof explained / sizeof explained[0]; i++) {
        if (explained[i].machine == machine && explained[i].from == from && explained[i].to == to) {
            return explained[i].why;
        }
    }
    return NULL;
}

/* Whether a legal move was made, or has a reason why no schedule makes it. */
static bool print_move(unsigned machine, unsigned from, unsigned to)
{
    const struct machine *m = &machines[machine];
    unsigned long long times = (*counted)[machine][from][to];
    const char *why = reason_of(machine, from, to);
    (void)printf("    %-8s %-12s -> %-12s %12llu%s%s\n", m->name, m->state[from], m->state[to],
                 times, (times == 0 && why != NULL) ? "  " : "",
                 (times == 0 && why != NULL) ? why : "");
    return times > 0 || why != NULL;
}

unsigned moves_print(void)
{
    unsigned missing = 0;
    static const counts none;
    if (memcmp(counted, &none, sizeof none) == 0) {
        return 0; /* this program is linked without --wrap */
    }
    (void)printf("moves between states, as often as the schedules made them:\n");
    for (unsigned i = 0; i < MACHINES; i++) {
        for (unsigned from = 0; from < machines[i].states; from++) {
            for (unsigned to = 0; to < machines[i].states; to++) {
                bool legal = (machines[i].moves[from] >> to & 1u) != 0u;
                missing += (legal && !print_move(i, from, to)) ? 1u : 0u;
            }
        }
    }
    return missing;
}

/* --- in front of the functions that move --- */

/* NOLINTBEGIN(bugprone-reserved-identifier): these are the linker's names */
void __real_ledger_move(struct agent *a, unsigned slot, enum ledger_state to) __attribute__((weak));
void __wrap_ledger_move(struct agent *a, unsigned slot, enum ledger_state to);
void __real_ledger_move_record(struct ledger_entry *e, enum ledger_record to) __attribute__((weak));
void __wrap_ledger_move_record(struct ledger_entry *e, enum ledger_record to);
void __real_ledger_move_flush(struct ledger_entry *e, enum ledger_flush to) __attribute__((weak));
void __wrap_ledger_move_flush(struct ledger_entry *e, enum ledger_flush to);
void __real_handover_move(struct handover *h, enum handover_state to) __attribute__((weak));
void __wrap_handover_move(struct handover *h, enum handover_state to);

void __wrap_ledger_move(struct agent *a, unsigned slot, enum ledger_state to)
{
    count(MACHINE_SLOT, (unsigned)a->ledger->entry[slot].state, (unsigned)to);
    __real_ledger_move(a, slot, to);
    steps_moved();
}

void __wrap_ledger_move_record(struct ledger_entry *e, enum ledger_record to)
{
    count(MACHINE_RECORD, (unsigned)e->record, (unsigned)to);
    __real_ledger_move_record(e, to);
}

void __wrap_ledger_move_flush(struct ledger_entry *e, enum ledger_flush to)
{
    count(MACHINE_FLUSH, (unsigned)e->flush, (unsigned)to);
    __real_ledger_move_flush(e, to);
}

void __wrap_handover_move(struct handover *h, enum handover_state to)
{
    count(MACHINE_HANDOVER, (unsigned)h->state, (unsigned)to);
    __real_handover_move(h, to);
}
/* NOLINTEND(bugprone-reserved-identifier) */
