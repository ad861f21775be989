/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Troubles that last for some time: the path to the API server, and answers that refuse. In each of
 * them the slices are wiped, held claims are prepared again and given back, the kubelet registers
 * the agent anew; after its end all must be well soon, and repairs as quick as ever. See row.h.
 */
#include <stdio.h>

#include "tests/sim/virtual/row.h"

struct trouble {
    const char *name;
    enum net net;
    bool cut;               /* connections that stand are reset */
    struct sim_fault fault; /* none of these: `asked` 0 */
    enum sim_fault_kind kind;
    uint64_t ms;
    uint64_t limit_ms; /* of the recovery; 0: RECOVERY_MS */
    unsigned requests; /* own ones while it lasts, at most */
};

#define WRITES (SIM_ASK_CREATE | SIM_ASK_UPDATE | SIM_ASK_DELETE)
#define WATCHES (SIM_ASK_WATCH | SIM_ASK_NODE)
#define ANSWERED(set, code) .kind = SIM_FAULT_ANSWER, .fault = {.asked = (set), .http = (code)}
/* Requests of ten minutes with the longest waits, half a minute and more, after short ones. */
#define TEN_MINUTES_SLOW 60u

/* one scenario is one row */
/* clang-format off */
static const struct trouble troubles[] = {
    {.name = "API server stopped: refused, 10 min", .net = NET_REFUSED, .cut = true,
     .ms = MINUTES(10), .requests = 0},
    {.name = "API server stopped: silent, 10 min", .net = NET_SILENT, .cut = true,
     .ms = MINUTES(10), .requests = 0},
    {.name = "connections accepted, then mute, 10 min", .net = NET_MUTE, .cut = true,
     .ms = MINUTES(10), .requests = 0},
    {.name = "path dead without a word, 10 min", .net = NET_SILENT, .ms = MINUTES(10),
     .requests = 0},
    {.name = "path dead for 20 s", .net = NET_SILENT, .ms = SECONDS(20), .requests = 10},
    {.name = "answers lost on the way, 10 min", .net = NET_ONE_WAY, .ms = MINUTES(10),
     .requests = 10},
    {.name = "connections reset after 0.7 s, 10 min", .net = NET_RESETTING, .cut = true,
     .ms = MINUTES(10), .requests = 200},
    {.name = "6 kB/s, 10 min", .net = NET_SLOW, .ms = MINUTES(10), .requests = 100},
    {.name = "6 kB/s from the first byte on, 10 min", .net = NET_SLOW, .cut = true,
     .ms = MINUTES(10), .requests = 100},
    {.name = "401 to all, 10 min", ANSWERED(SIM_ASK_ALL, 401),
     .ms = MINUTES(10), .requests = 2 * TEN_MINUTES_SLOW},
    {.name = "403 to all, 10 min", ANSWERED(SIM_ASK_ALL, 403),
     .ms = MINUTES(10), .limit_ms = MINUTES(6), .requests = 2 * TEN_MINUTES_SLOW},
    {.name = "403 to writes, 10 min", ANSWERED(WRITES, 403),
     .ms = MINUTES(10), .limit_ms = MINUTES(6), .requests = 2 * TEN_MINUTES_SLOW},
    {.name = "403 to watches, 10 min", ANSWERED(WATCHES, 403),
     .ms = MINUTES(10), .limit_ms = MINUTES(6), .requests = 2 * TEN_MINUTES_SLOW},
    {.name = "422 to writes, 10 min", ANSWERED(WRITES, 422),
     .ms = MINUTES(10), .limit_ms = MINUTES(15), .requests = 2 * TEN_MINUTES_SLOW},
    {.name = "404 to all, 10 min", ANSWERED(SIM_ASK_ALL, 404),
     .ms = MINUTES(10), .limit_ms = MINUTES(6), .requests = 2 * TEN_MINUTES_SLOW},
    {.name = "410 to watches, 10 min", ANSWERED(WATCHES, 410),
     .ms = MINUTES(10), .requests = 4 * TEN_MINUTES_SLOW},
    {.name = "410 as event of every watch, 10 min", .kind = SIM_FAULT_EXPIRED,
     .fault = {.asked = WATCHES}, .ms = MINUTES(10), .requests = 4 * TEN_MINUTES_SLOW},
    {.name = "429, Retry-After 30 s, 10 min", .kind = SIM_FAULT_ANSWER,
     .fault = {.asked = SIM_ASK_ALL, .http = 429, .retry_after_s = 30},
     .ms = MINUTES(10), .requests = TEN_MINUTES_SLOW},
    {.name = "429, Retry-After 1 s, 10 min", .kind = SIM_FAULT_ANSWER,
     .fault = {.asked = SIM_ASK_ALL, .http = 429, .retry_after_s = 1},
     .ms = MINUTES(10), .requests = 4 * TEN_MINUTES_SLOW},
    {.name = "500 to all, 10 min", ANSWERED(SIM_ASK_ALL, 500),
     .ms = MINUTES(10), .requests = 2 * TEN_MINUTES_SLOW},
    {.name = "503 to all, 10 min", ANSWERED(SIM_ASK_ALL, 503),
     .ms = MINUTES(10), .requests = 2 * TEN_MINUTES_SLOW},
    {.name = "503 to watches, 10 min", ANSWERED(WATCHES, 503),
     .ms = MINUTES(10), .requests = 2 * TEN_MINUTES_SLOW},
    {.name = "504 to writes, 10 min", ANSWERED(WRITES, 504),
     .ms = MINUTES(10), .requests = 2 * TEN_MINUTES_SLOW},
    {.name = "REFUSED_STREAM to all, 10 min", .kind = SIM_FAULT_REFUSED,
     .fault = {.asked = SIM_ASK_ALL}, .ms = MINUTES(10), .requests = 4 * TEN_MINUTES_SLOW},
    {.name = "every stream reset without answer, 10 min", .kind = SIM_FAULT_RESET,
     .fault = {.asked = SIM_ASK_ALL}, .ms = MINUTES(10), .requests = 4 * TEN_MINUTES_SLOW},
    {.name = "no request answered, 10 min", .kind = SIM_FAULT_SILENT,
     .fault = {.asked = SIM_ASK_ALL}, .ms = MINUTES(10), .requests = 4 * TEN_MINUTES_SLOW},
    {.name = "writes done, answers held, 10 min", .kind = SIM_FAULT_HELD,
     .fault = {.asked = WRITES}, .ms = MINUTES(10), .requests = 4 * TEN_MINUTES_SLOW},
    {.name = "watch events lost, 2 min", .kind = SIM_FAULT_UNTOLD, .fault = {.asked = WATCHES},
     .ms = MINUTES(2), .limit_ms = MINUTES(60), .requests = 20},
    {.name = "lists and watches ignore selectors, 10 min", .kind = SIM_FAULT_UNSELECTED,
     .fault = {.asked = SIM_ASK_LIST | WATCHES}, .ms = MINUTES(10),
     .requests = TEN_MINUTES_SLOW},
    {.name = "200 with a page of text, 10 min", .kind = SIM_FAULT_PAGE,
     .fault = {.asked = SIM_ASK_ALL}, .ms = MINUTES(10), .requests = 2 * TEN_MINUTES_SLOW},
    {.name = "answers end in their midst, 10 min", .kind = SIM_FAULT_CUT,
     .fault = {.asked = SIM_ASK_ALL}, .ms = MINUTES(10), .requests = 2 * TEN_MINUTES_SLOW},
    {.name = "answers carry another object, 10 min", .kind = SIM_FAULT_OTHER,
     .fault = {.asked = SIM_ASK_ALL}, .ms = MINUTES(10), .requests = 2 * TEN_MINUTES_SLOW},
};
/* clang-format on */

#define TROUBLES (sizeof troubles / sizeof troubles[0])

const char *trouble_name(unsigned index)
{
    return index < TROUBLES ? troubles[index].name : NULL;
}

uint64_t trouble_limit_ms(unsigned index)
{
    return troubles[index].limit_ms != 0 ? troubles[index].limit_ms : RECOVERY_MS;
}

void trouble_begin(struct world *w, unsigned index)
{
    const struct trouble *t = &troubles[index];
    if (t->net != NET_OPEN) {
        world_net(w, t->net, t->cut);
    }
    if (t->fault.asked != 0) {
        sim_api_fault(&world_api, t->kind, &t->fault);
    }
}

void trouble_end(struct world *w, unsigned index)
{
    const struct trouble *t = &troubles[index];
    if (t->net != NET_OPEN) {
        world_net(w, NET_OPEN, false);
    }
    if (t->fault.asked != 0) {
        sim_api_fault_end(&world_api, t->kind);
    }
}

/* The kubelet goes on living: pods start again, end, and once it restarts and wipes. */
static void kubelet_lives(struct world *w, struct row *r, uint64_t ms)
{
    uint64_t until = w->now_ms + ms;
    unsigned registered = w->registered;
    world_pass(w, SECONDS(5));
    world_kubelet_restart(w, true);
    world_pass(w, SECONDS(1));
    expect(r, w->registered > registered, "the kubelet's GetInfo was not answered");
    expect(r, world_unprepare(w, 1), "a claim was not given back: %s", w->answered.text);
    while (w->now_ms + SECONDS(10) < until) {
        row_serves(w, r);
        world_pass(w, SECONDS(10));
    }
    world_pass(w, until - w->now_ms);
}

void trouble_play(struct world *w, struct row *r, unsigned index)
{
    const struct trouble *t = &troubles[index];
    row_begin(w, r, 100 + index);
    unsigned before = tally_own(&w->tally);
    trouble_begin(w, index);
    kubelet_lives(w, r, t->ms);
    unsigned requests = tally_own(&w->tally) - before;
    expect(r, requests <= t->requests, "%u requests while it lasted", requests);
    trouble_end(w, index);
    row_recover(w, r, trouble_limit_ms(index));
    row_serves(w, r);
    row_prepares(w, r, 5);
    world_pass(w, RECOVERY_MS);
    unsigned writes = tally_writes(&w->tally);
    world_pass(w, MINUTES(10));
    expect(r, tally_writes(&w->tally) == writes, "writes although all was well");
    row_repairs(w, r);
}
