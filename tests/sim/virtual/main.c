/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator: scenarios on a virtual clock, then random schedules of faults.
 *
 *   sim                    all scenarios, then SEEDS_DEFAULT seeds
 *   sim --seed N           the run of one seed, with the agent's log
 *   sim --seeds N          all scenarios, then N random schedules and none of the other kinds
 *   sim --claims N         the schedule of claims of one seed, with the agent's log
 *   sim --claim-seeds N    N schedules of claims
 *   sim --steps FILE       writes the steps that claims make in the schedules of --claim-seeds,
 *                          which then have only what tests/model/claim.pml has
 *   sim --aligned N        the schedule of one seed with both drivers, with the agent's log
 *   sim --aligned-seeds N  N schedules with both drivers
 *   sim --jobs N           seeds are shared by N processes
 *   sim --first N          the seeds before N are left out: what ran already, or runs elsewhere
 *   sim --scenario TEXT    the scenarios whose name holds TEXT, with the agent's log
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "tests/sim/virtual/claims.h"
#include "tests/sim/virtual/moves.h"
#include "tests/sim/virtual/steps.h"

#define SEEDS_DEFAULT 300
#define CLAIM_SEEDS_DEFAULT 8000
#define ALIGNED_SEEDS_DEFAULT 400
#define LOG_LINES 25
#define JOBS_MAX 64

static struct world world;

_Noreturn void assert_failed(const char *file, int line, const char *condition)
{
    (void)printf("%s:%d: assertion failed: %s, seed %llu, at %llu ms\n", file, line, condition,
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
    uint64_t aligned; /* seed of one schedule with both drivers; 0: none */
    uint64_t aligned_seeds;
    bool aligned_only;
    uint64_t first;    /* seed */
    const char *steps; /* file; NULL: no steps are observed */
    unsigned jobs;
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

/* --- seeds, shared by processes --- */

typedef void runs(struct world *w, struct totals *t, const struct share *share, bool loud);

static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void add(struct totals *sum, const struct totals *t)
{
    sum->seeds += t->seeds;
    sum->steps += t->steps;
    sum->ms += t->ms;
    sum->longest_ms = t->longest_ms > sum->longest_ms ? t->longest_ms : sum->longest_ms;
    sum->most = t->most > sum->most ? t->most : sum->most;
    sum->failed += t->failed;
}

/* The totals of each process, in memory that all of them have. */
static struct totals *shared_totals(void)
{
    void *at = mmap(NULL, JOBS_MAX * sizeof(struct totals), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        perror("sim: mmap");
        exit(2);
    }
    return at;
}

static pid_t start_process(runs *play, struct totals *t, const struct share *share)
{
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        play(&world, t, share, false);
        (void)fflush(stdout);
        _exit(0);
    }
    if (child < 0) {
        perror("sim: fork");
        exit(2);
    }
    return child;
}

static struct totals run_shared(runs *play, const struct plan *plan, uint64_t seeds)
{
    struct totals *each = shared_totals();
    struct totals sum = {0};
    pid_t child[JOBS_MAX];
    for (unsigned i = 0; i < plan->jobs; i++) {
        const struct share share = {.first = plan->first + i, .last = seeds, .stride = plan->jobs};
        child[i] = start_process(play, &each[i], &share);
    }
    for (unsigned i = 0; i < plan->jobs; i++) {
        int status = 0;
        bool ended = waitpid(child[i], &status, 0) == child[i];
        add(&sum, &each[i]);
        sum.failed += ended && status == 0 ? 0 : 1; /* an assertion, which was printed */
    }
    (void)munmap(each, JOBS_MAX * sizeof(struct totals));
    return sum;
}

static unsigned run_seeds(const char *name, runs *play, const struct plan *plan, uint64_t seeds)
{
    double begin = seconds_now();
    struct totals t = run_shared(play, plan, seeds);
    double minutes = (seconds_now() - begin) / 60.0;
    if (seeds > 0) {
        (void)printf("%s: %llu seeds, %.0f hours, %.2f million steps of the agent (%.1f million a "
                     "minute), %u failed\n",
                     name, (unsigned long long)t.seeds, (double)t.ms / 3600000.0,
                     (double)t.steps / 1e6, (double)t.steps / 1e6 / minutes, t.failed);
    }
    if (t.most > 0) {
        (void)printf("    recovery within %.1f s, at most %u requests in a second\n",
                     (double)t.longest_ms / 1000.0, t.most);
    }
    return t.failed;
}

static unsigned run_claim_seeds(const struct plan *plan, uint64_t seeds)
{
    return run_seeds("random schedules of claims", claim_runs, plan, seeds);
}

static unsigned run_aligned_seeds(const struct plan *plan, uint64_t seeds)
{
    return run_seeds("random schedules of both drivers", aligned_runs, plan, seeds);
}

static unsigned scenarios(const struct plan *plan)
{
    struct outcome outcome = {0};
    uint64_t seeds = plan->only == NULL ? plan->seeds : 0;
    uint64_t claim_seeds = plan->only == NULL ? plan->claim_seeds : 0;
    uint64_t aligned_seeds = plan->only == NULL ? plan->aligned_seeds : 0;
    row_print_head();
    run_list(life_scenarios, plan, &outcome);
    run_list(answer_scenarios, plan, &outcome);
    run_list(soak_scenarios, plan, &outcome);
    run_troubles(plan, &outcome);
    outcome.failed += run_seeds("random schedules", random_runs, plan, seeds);
    outcome.failed += run_claim_seeds(plan, claim_seeds);
    outcome.failed += run_aligned_seeds(plan, aligned_seeds);
    /* Without all kinds of schedules, rare moves are missing. */
    if (claim_seeds > 0 && aligned_seeds > 0) {
        unsigned missing = moves_print();
        (void)printf("%u legal moves without a count or a reason\n", missing);
        outcome.failed += missing;
    }
    (void)printf("sim: %u scenarios, %llu seeds, %u failed\n", outcome.count,
                 (unsigned long long)(seeds + claim_seeds + aligned_seeds), outcome.failed);
    return outcome.count > 0 ? outcome.failed : 1;
}

static unsigned run_one(runs *play, uint64_t seed)
{
    const struct share share = {.first = seed, .last = seed, .stride = 1};
    struct totals t = {0};
    play(&world, &t, &share, true);
    return t.failed;
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

/* Options of the schedules with both drivers; false: it is none. */
static bool take_aligned(struct plan *plan, const char *option, const char *value)
{
    bool one = strcmp(option, "--aligned") == 0;
    if (!one && strcmp(option, "--aligned-seeds") != 0) {
        return false;
    }
    *(one ? &plan->aligned : &plan->aligned_seeds) = number_of(value);
    plan->aligned_only = !one;
    return true;
}

/* Begins to observe the steps of claims. */
static void take_steps(struct plan *plan, const char *file)
{
    plan->steps = file;
    list_modelled = true;
    steps_begin();
}

static void take(struct plan *plan, const char *option, const char *value)
{
    if (strcmp(option, "--seed") == 0) {
        plan->one_seed = true;
        plan->seed = number_of(value);
    } else if (strcmp(option, "--seeds") == 0) {
        plan->seeds = number_of(value);
        plan->claim_seeds = 0;
        plan->aligned_seeds = 0;
    } else if (strcmp(option, "--claims") == 0) {
        plan->claim = number_of(value);
    } else if (strcmp(option, "--claim-seeds") == 0) {
        plan->claim_seeds = number_of(value);
        plan->claims_only = true;
    } else if (strcmp(option, "--jobs") == 0) {
        uint64_t jobs = number_of(value);
        plan->jobs = jobs == 0 ? 1 : (unsigned)(jobs < JOBS_MAX ? jobs : JOBS_MAX);
    } else if (strcmp(option, "--first") == 0) {
        plan->first = number_of(value);
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
        return run_one(random_runs, plan->seed);
    }
    if (plan->claim != 0) {
        return run_one(claim_runs, plan->claim);
    }
    if (plan->aligned != 0) {
        return run_one(aligned_runs, plan->aligned);
    }
    if (plan->aligned_only) {
        return run_aligned_seeds(plan, plan->aligned_seeds);
    }
    return plan->claims_only ? run_claim_seeds(plan, plan->claim_seeds) : scenarios(plan);
}

int main(int argc, char **argv)
{
    struct plan plan = {
        .seeds = SEEDS_DEFAULT, .claim_seeds = CLAIM_SEEDS_DEFAULT, .first = 1, .jobs = 1};
    plan.aligned_seeds = ALIGNED_SEEDS_DEFAULT;
    moves_begin();
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--steps") == 0) {
            take_steps(&plan, value);
        } else if (!take_aligned(&plan, argv[i], value)) {
            take(&plan, argv[i], value);
        }
    }
    unsigned failures = run(&plan);
    bool written = plan.steps == NULL || steps_write(plan.steps);
    return failures == 0 && written ? 0 : 1;
}
