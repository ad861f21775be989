/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator: scenarios on a virtual clock, then random schedules of faults.
 *
 *   sim                    all scenarios, then SEEDS_DEFAULT seeds
 *   sim --seed N           the run of one seed, with the agent's log
 *   sim --seeds N          all scenarios, then N seeds
 *   sim --claims N         the schedule of claims of one seed, with the agent's log
 *   sim --claim-seeds N    N schedules of claims
 *   sim --scenario TEXT    the scenarios whose name holds TEXT, with the agent's log
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "tests/sim/virtual/row.h"

#define SEEDS_DEFAULT 300
#define CLAIM_SEEDS_DEFAULT 300
#define LOG_LINES 25

static struct world world;

_Noreturn void assert_failed(const char *file, int line)
{
    (void)printf("%s:%d: assertion failed, seed %llu, at %llu ms\n", file, line,
                 (unsigned long long)world.seed, (unsigned long long)world.now_ms);
    world_show_log(&world, LOG_LINES);
    exit(1);
}

struct plan {
    const char *only; /* NULL: all scenarios */
    bool one_seed;
    uint64_t seed;
    uint64_t seeds;
    uint64_t claim; /* seed of one schedule of claims; 0: none */
    uint64_t claim_seeds;
    bool claims_only;
};

/* How many scenarios of each outcome there were. */
struct outcome {
    unsigned count;
    unsigned failed;
};

static bool wanted(const struct plan *plan, const char *name)
{
    return plan->only == NULL || strstr(name, plan->only) != NULL;
}

static void done(struct row *row, const struct plan *plan, struct outcome *outcome)
{
    bool loud = plan->only != NULL;
    row_end(&world, row);
    row_print(&world, row);
    if (loud || row->failed) {
        world_show_log(&world, loud ? UINT32_MAX : LOG_LINES);
    }
    outcome->count++;
    outcome->failed += row->failed ? 1 : 0;
}

static void run_list(const struct scenario *s, const struct plan *plan, struct outcome *outcome)
{
    for (; s->name != NULL; s++) {
        struct row row = {.name = s->name, .recovery_ms = NEVER};
        if (wanted(plan, s->name)) {
            s->play(&world, &row);
            done(&row, plan, outcome);
        }
    }
}

static void run_troubles(const struct plan *plan, struct outcome *outcome)
{
    for (unsigned i = 0; trouble_name(i) != NULL; i++) {
        struct row row = {.name = trouble_name(i), .recovery_ms = NEVER};
        if (wanted(plan, row.name)) {
            trouble_play(&world, &row, i);
            done(&row, plan, outcome);
        }
    }
}

static unsigned scenarios(const struct plan *plan)
{
    struct outcome outcome = {0};
    uint64_t seeds = plan->only == NULL ? plan->seeds : 0;
    row_print_head();
    run_list(life_scenarios, plan, &outcome);
    run_list(answer_scenarios, plan, &outcome);
    run_troubles(plan, &outcome);
    outcome.failed += random_runs(&world, 1, seeds, false);
    uint64_t claim_seeds = plan->only == NULL ? plan->claim_seeds : 0;
    outcome.failed += claim_runs(&world, 1, claim_seeds, false);
    (void)printf("sim: %u scenarios, %llu seeds, %u failed\n", outcome.count,
                 (unsigned long long)(seeds + claim_seeds), outcome.failed);
    return outcome.count > 0 ? outcome.failed : 1;
}

static uint64_t number_of(const char *text)
{
    uint64_t n = 0;
    if (view_decimal(view_text(text), UINT32_MAX, &n) != STATUS_OK) {
        (void)fprintf(stderr, "sim: %s is no number\n", text);
        exit(2);
    }
    return n;
}

static void take(struct plan *plan, const char *option, const char *value)
{
    if (strcmp(option, "--seed") == 0) {
        plan->one_seed = true;
        plan->seed = number_of(value);
    } else if (strcmp(option, "--seeds") == 0) {
        plan->seeds = number_of(value);
    } else if (strcmp(option, "--claims") == 0) {
        plan->claim = number_of(value);
    } else if (strcmp(option, "--claim-seeds") == 0) {
        plan->claim_seeds = number_of(value);
        plan->claims_only = true;
    } else if (strcmp(option, "--scenario") == 0) {
        plan->only = value;
    } else {
        (void)fprintf(stderr, "sim: %s: unknown; see tests/sim/virtual/main.c\n", option);
        exit(2);
    }
}

static unsigned run(const struct plan *plan)
{
    if (plan->one_seed) {
        return random_runs(&world, plan->seed, 1, true);
    }
    if (plan->claim != 0) {
        return claim_runs(&world, plan->claim, 1, true);
    }
    return plan->claims_only ? claim_runs(&world, 1, plan->claim_seeds, false) : scenarios(plan);
}

int main(int argc, char **argv)
{
    struct plan plan = {.seeds = SEEDS_DEFAULT, .claim_seeds = CLAIM_SEEDS_DEFAULT};
    for (int i = 1; i < argc; i += 2) {
        take(&plan, argv[i], i + 1 < argc ? argv[i + 1] : "");
    }
    return run(&plan) == 0 ? 0 : 1;
}
