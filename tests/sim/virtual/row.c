/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the table; see row.h. */
#include "tests/sim/virtual/row.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define START_LIMIT_MS SECONDS(30)
#define POLL_MS 50u

void expect(struct row *r, bool holds, const char *text, ...)
{
    va_list arguments;
    if (holds || r->failed) {
        return;
    }
    r->failed = true;
    va_start(arguments, text);
    (void)vsnprintf(r->why, sizeof r->why, text, arguments);
    va_end(arguments);
}

void row_recover(struct world *w, struct row *r, uint64_t limit_ms)
{
    const char *why = "";
    uint64_t begin = w->now_ms;
    world_settle(w);
    while (!world_well(w, &why) && w->now_ms - begin < limit_ms) {
        world_pass(w, POLL_MS);
    }
    uint64_t took = w->now_ms - begin;
    expect(r, world_well(w, &why), "%.1f s later: %s", (double)limit_ms / 1000.0, why);
    r->recovery_ms = r->recovery_ms == NEVER || took > r->recovery_ms ? took : r->recovery_ms;
}

void row_repairs(struct world *w, struct row *r)
{
    uint64_t recovery = r->recovery_ms;
    world_wipe(w);
    row_recover(w, r, REPAIR_MS);
    r->recovery_ms = recovery;
}

void row_serves(struct world *w, struct row *r)
{
    bool well = world_prepare(w, 0);
    if (!w->answered.done) { /* it waits for the API server to compare, but not long */
        world_pass(w, CLAIM_COMPARE_MS + POLL_MS);
        well = w->answered.done && w->answered.well;
    }
    expect(r, well, "a held claim was not prepared again: %s", w->answered.text);
}

void row_prepares(struct world *w, struct row *r, unsigned index)
{
    uint64_t until = w->now_ms + RECOVERY_MS;
    bool well = false;
    while (!well && w->now_ms < until) {
        well = world_prepare(w, index);
        while (!w->answered.done && w->now_ms < until) {
            world_pass(w, POLL_MS);
        }
        well = well || (w->answered.done && w->answered.well);
        world_pass(w, well ? 0 : SECONDS(1));
    }
    expect(r, well, "claim %u was not prepared: %s", index, w->answered.text);
}

void row_begin(struct world *w, struct row *r, uint64_t seed)
{
    world_new(w, seed);
    r->begin_ms = w->now_ms;
    world_start(w);
    row_recover(w, r, START_LIMIT_MS);
    r->recovery_ms = NEVER;
    for (unsigned i = 0; i < HELD_CLAIMS / 2; i++) {
        bool well = world_prepare(w, i);
        expect(r, well, "claim %u was not prepared: %s", i, w->answered.text);
    }
    world_pass(w, SECONDS(5));
}

void row_count_anew(struct world *w)
{
    w->tally.connects = 0;
    w->tally.most = 0;
    memset(w->tally.verb, 0, sizeof w->tally.verb);
}

void row_end(struct world *w, struct row *r)
{
    expect(r, w->tally.most <= RATE_MAX, "%u requests in the second before %.1f s", w->tally.most,
           (double)(w->tally.most_ms - r->begin_ms) / 1000.0);
    expect(r, !w->exited, "the agent ended");
    expect(r, world_looks_fair(w), "a held claim was not looked up in its turn");
    expect(r, foreign_well(w), "a foreign slice was touched");
}

/* --- the table --- */

static void print_time(uint64_t ms)
{
    if (ms == NEVER) {
        (void)printf(" %9s", "-");
    } else if (ms >= HOURS(2)) {
        (void)printf(" %7.1f h", (double)ms / 3600000.0);
    } else {
        (void)printf(" %7.1f s", (double)ms / 1000.0);
    }
}

void row_print_head(void)
{
    (void)printf("      %-44s %9s %9s %5s %5s %5s %5s %5s %5s %5s %5s %5s %5s\n", "scenario",
                 "time", "recovery", "GET", "LIST", "WATCH", "POST", "PUT", "DEL", "Event", "claim",
                 "max/s", "conn.");
}

void row_print(const struct world *w, const struct row *r)
{
    const struct tally *t = &w->tally;
    (void)printf("%s  %-44s", r->failed ? "FAIL" : "ok  ", r->name);
    print_time(w->now_ms - r->begin_ms);
    print_time(r->recovery_ms);
    (void)printf(" %5u %5u %5u %5u %5u %5u %5u %5u %5u %5u\n", t->verb[TALLY_GET],
                 t->verb[TALLY_LIST], t->verb[TALLY_WATCH], t->verb[TALLY_POST], t->verb[TALLY_PUT],
                 t->verb[TALLY_DELETE], t->verb[TALLY_EVENT], t->verb[TALLY_CLAIM], t->most,
                 t->connects);
    if (r->failed) {
        (void)printf("      %s\n", r->why);
    }
}
