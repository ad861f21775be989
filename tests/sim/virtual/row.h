/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One scenario of the simulator and what came of it: a row of the table that is printed. Owns the
 * expectations; a row that failed names the first one that did not hold.
 */
#ifndef TESTS_SIM_VIRTUAL_ROW_H
#define TESTS_SIM_VIRTUAL_ROW_H

#include "tests/sim/virtual/world.h"

#define SECONDS(n) ((uint64_t)(n) * 1000u)
#define MINUTES(n) SECONDS((n) * 60u)
#define HOURS(n) MINUTES((n) * 60u)
/* Own requests in any one second, at any time. */
#define RATE_MAX 5u
/* After a fault all is well again within this; what was deleted by hand, within the other. */
#define RECOVERY_MS SECONDS(60)
#define REPAIR_MS SECONDS(2)

struct row {
    const char *name;
    uint64_t begin_ms;
    uint64_t recovery_ms; /* NEVER: there was nothing to recover from */
    bool failed;
    char why[256]; /* what did not hold, with its numbers */
};

/* States what must hold; the first that does not is kept. `text` is a printf format. */
void expect(struct row *r, bool holds, const char *text, ...) __attribute__((format(printf, 3, 4)));
/* A new node whose slice is stored, whose kubelet knows us, with claims 0 to 3 prepared. */
void row_begin(struct world *w, struct row *r, uint64_t seed);
/* Waits until all is well, at most `limit_ms`; keeps how long it took when it was the longest. */
void row_recover(struct world *w, struct row *r, uint64_t limit_ms);
/* Slices deleted by hand are back within REPAIR_MS. */
void row_repairs(struct world *w, struct row *r);
/* Counts begin anew. */
void row_count_anew(struct world *w);
/* What must hold after each row: rate, no exit, foreign objects. */
void row_end(struct world *w, struct row *r);
/* The kubelet's calls are answered: a held claim is prepared again. */
void row_serves(struct world *w, struct row *r);
/* A claim that was never prepared is prepared, the kubelet trying again, within RECOVERY_MS. */
void row_prepares(struct world *w, struct row *r, unsigned index);

void row_print_head(void);
void row_print(const struct world *w, const struct row *r);

/* A scenario: its name and what it does. */
struct scenario {
    const char *name;
    void (*play)(struct world *w, struct row *r);
};

/* Each list ends with an entry without a name. */
extern const struct scenario life_scenarios[];   /* starts, days, restarts, devices, Node */
extern const struct scenario soak_scenarios[];   /* long: what must not grow */
extern const struct scenario answer_scenarios[]; /* answers that are wrong or ambiguous */

/* Troubles that last for some time, by index; NULL: there are no more. */
const char *trouble_name(unsigned index);
void trouble_begin(struct world *w, unsigned index);
void trouble_end(struct world *w, unsigned index);
/* How long the recovery may take. */
uint64_t trouble_limit_ms(unsigned index);
/* The scenario of one: it begins, the kubelet goes on with its work, it ends, all is well again. */
void trouble_play(struct world *w, struct row *r, unsigned index);

/* The seeds of one process: each `stride`-th one from `first` to `last`. */
struct share {
    uint64_t first;
    uint64_t last;
    uint64_t stride;
};

/* What was played. */
struct totals {
    uint64_t seeds;
    uint64_t steps; /* of the agent: calls of agent_step */
    uint64_t ms;
    uint64_t longest_ms; /* of a recovery */
    unsigned most;       /* requests in a second */
    unsigned failed;
};

/* Plays seeds and adds them to the totals. `loud`: prints the log of each. */
void random_runs(struct world *w, struct totals *t, const struct share *share, bool loud);
/* The same of claims and disks; a schedule that fails is shrunk. */
void claim_runs(struct world *w, struct totals *t, const struct share *share, bool loud);
/* The same of claims with devices of both drivers. */
void aligned_runs(struct world *w, struct totals *t, const struct share *share, bool loud);

#endif
