/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single moments that go wrong: an answer that does not come, GOAWAY, a token that ended, another
 * version of the API, a server that keeps less than it is sent. See row.h.
 */
#include <string.h>

#include "tests/sim/virtual/row.h"

#define WRITES (SIM_ASK_CREATE | SIM_ASK_UPDATE | SIM_ASK_DELETE)

/* --- writes without an answer --- */

/* The POST is done, its stream is reset: what was made must be found, not made again. */
static void ambiguous_reset(struct world *w, struct row *r)
{
    const struct sim_fault reset = {.asked = SIM_ASK_CREATE};
    row_begin(w, r, 20);
    sim_api_fault(&world_api, SIM_FAULT_RESET, &reset);
    world_wipe(w);
    for (unsigned i = 0; i < 600 && stored_one() == NULL; i++) {
        world_pass(w, 100);
    }
    sim_api_fault_end(&world_api, SIM_FAULT_RESET);
    unsigned posts = w->tally.verb[TALLY_POST];
    row_recover(w, r, RECOVERY_MS);
    world_pass(w, MINUTES(5));
    expect(r, w->tally.verb[TALLY_POST] == posts, "the slice was created again");
}

/* The POST is done, and then the connection ends. */
static void ambiguous_cut(struct world *w, struct row *r)
{
    const struct sim_fault held = {.asked = SIM_ASK_CREATE};
    row_begin(w, r, 21);
    sim_api_fault(&world_api, SIM_FAULT_HELD, &held);
    world_wipe(w);
    world_pass(w, SECONDS(2));
    expect(r, stored_one() != NULL, "nothing was created");
    unsigned posts = w->tally.verb[TALLY_POST];
    world_cut(w, "10.0.0.1:443: connection reset by peer");
    sim_api_fault_end(&world_api, SIM_FAULT_HELD);
    row_recover(w, r, RECOVERY_MS);
    world_pass(w, MINUTES(5));
    expect(r, w->tally.verb[TALLY_POST] == posts, "the slice was created again");
}

/* The POST never arrives whole. */
static void cut_in_post(struct world *w, struct row *r)
{
    row_begin(w, r, 22);
    world_net(w, NET_SLOW, false);
    world_wipe(w);
    world_pass(w, SECONDS(1));
    world_cut(w, "10.0.0.1:443: connection reset by peer");
    world_net(w, NET_OPEN, false);
    row_recover(w, r, RECOVERY_MS);
}

/* --- GOAWAY --- */

static void goaway_idle(struct world *w, struct row *r)
{
    row_begin(w, r, 23);
    for (unsigned i = 0; i < 6; i++) {
        sim_api_goaway(&world_api, (unsigned)w->link, i % 2 == 0);
        world_pass(w, RECOVERY_MS);
        row_repairs(w, r);
        row_serves(w, r);
        world_pass(w, MINUTES(5));
    }
    expect(r, w->tally.connects == 7, "%u connections", w->tally.connects);
}

/* A POST is under way; it is answered after the GOAWAY. */
static void goaway_in_post(struct world *w, struct row *r)
{
    const struct sim_fault held = {.asked = SIM_ASK_CREATE};
    row_begin(w, r, 24);
    world_pass(w, MINUTES(5));
    sim_api_fault(&world_api, SIM_FAULT_HELD, &held);
    world_wipe(w);
    world_pass(w, SECONDS(2));
    unsigned posts = w->tally.verb[TALLY_POST];
    sim_api_goaway(&world_api, (unsigned)w->link, true);
    world_pass(w, SECONDS(1));
    sim_api_fault_end(&world_api, SIM_FAULT_HELD);
    row_recover(w, r, RECOVERY_MS);
    world_pass(w, MINUTES(1));
    expect(r, w->tally.verb[TALLY_POST] == posts, "the slice was created again");
    row_repairs(w, r);
}

/* A POST is under way; GOAWAY says that it was never looked at. */
static void goaway_below_post(struct world *w, struct row *r)
{
    const struct sim_fault silent = {.asked = SIM_ASK_CREATE};
    row_begin(w, r, 25);
    world_pass(w, MINUTES(5));
    sim_api_fault(&world_api, SIM_FAULT_SILENT, &silent);
    world_wipe(w);
    world_pass(w, SECONDS(2));
    sim_api_fault_end(&world_api, SIM_FAULT_SILENT);
    world_goaway_below(w);
    row_recover(w, r, RECOVERY_MS);
    world_pass(w, RECOVERY_MS);
    row_repairs(w, r);
}

/* --- who may ask --- */

static void token_rotated(struct world *w, struct row *r)
{
    row_begin(w, r, 26);
    for (unsigned i = 0; i < 5; i++) {
        world_token(w, i % 2 == 0 ? "token-2" : "token-3");
        world_kubelet_restart(w, true); /* before the file is read again */
        row_recover(w, r, RECOVERY_MS);
        row_serves(w, r);
        world_pass(w, MINUTES(48));
    }
}

/* The old token ends some time after the new one lies in the file: nobody notices. */
static void token_rotated_early(struct world *w, struct row *r)
{
    row_begin(w, r, 27);
    text_cut(w->token, sizeof w->token, view_text("token-2"));
    world_pass(w, SECONDS(61));
    world_token(w, "token-2");
    unsigned connects = w->tally.connects;
    row_repairs(w, r);
    world_pass(w, HOURS(1));
    expect(r, w->tally.connects == connects, "%u new connections", w->tally.connects - connects);
}

/* --- versions of resource.k8s.io --- */

static void serve(struct world *w, bool v1, bool v1beta2, bool v1beta1)
{
    world_api.config.serves[SIM_V1] = v1;
    world_api.config.serves[SIM_V1BETA2] = v1beta2;
    world_api.config.serves[SIM_V1BETA1] = v1beta1;
    world_cut(w, "10.0.0.1:443: connection reset by peer");
}

static void versions(struct world *w, struct row *r)
{
    static const bool served[][3] = {
        {false, false, true}, {false, true, true},  {true, true, true},  {true, false, false},
        {false, true, false}, {false, false, true}, {true, false, false}};
    row_begin(w, r, 28);
    for (unsigned i = 0; i < sizeof served / sizeof served[0]; i++) {
        serve(w, served[i][0], served[i][1], served[i][2]);
        world_pass(w, API_RECONNECT_MS + SECONDS(4));
        row_recover(w, r, RECOVERY_MS);
        row_repairs(w, r);
        row_prepares(w, r, 6);
        expect(r, world_unprepare(w, 6), "it was not given back: %s", w->answered.text);
        world_pass(w, MINUTES(5));
    }
}

/* The server drops nothing: what was served is answered 404 from one moment to the next. */
static void version_gone(struct world *w, struct row *r)
{
    row_begin(w, r, 29);
    world_pass(w, MINUTES(1));
    world_api.config.serves[SIM_V1] = false;
    world_kubelet_restart(w, true);
    row_recover(w, r, RECOVERY_MS);
    row_serves(w, r);
    row_prepares(w, r, 6);
}

static void only_v1beta1(struct world *w, struct row *r)
{
    world_new(w, 30);
    r->begin_ms = w->now_ms;
    serve(w, false, false, true);
    world_start(w);
    row_recover(w, r, SECONDS(15));
    world_pass(w, MINUTES(2));
    expect(r, tally_own(&w->tally) <= 5, "%u requests at start", tally_own(&w->tally));
    row_repairs(w, r);
}

static void none_served(struct world *w, struct row *r)
{
    row_begin(w, r, 31);
    serve(w, false, false, false);
    unsigned before = tally_own(&w->tally);
    world_pass(w, HOURS(1));
    unsigned requests = tally_own(&w->tally) - before;
    expect(r, requests <= 400, "%u requests in an hour", requests);
    row_serves(w, r);
    serve(w, true, true, true);
    row_recover(w, r, RECOVERY_MS);
    world_pass(w, MINUTES(1)); /* the looks at claims that came due meanwhile */
}

/* --- a server that keeps less --- */

static void dropped_fields(struct world *w, struct row *r)
{
    const struct sim_fault dropped = {.asked = WRITES, .key = "topology_x"};
    row_begin(w, r, 32);
    sim_api_fault(&world_api, SIM_FAULT_DROPPED, &dropped);
    world_wipe(w);
    unsigned before = tally_writes(&w->tally);
    world_pass(w, HOURS(3));
    unsigned writes = tally_writes(&w->tally) - before;
    expect(r, writes <= 3, "%u writes while fields are dropped", writes);
    expect(r, stored_one() != NULL, "no slice is stored");
    sim_api_fault_end(&world_api, SIM_FAULT_DROPPED);
    world_cut(w, "10.0.0.1:443: connection reset by peer"); /* the server's upgrade */
    row_recover(w, r, RECOVERY_MS);
}

static void history_gone(struct world *w, struct row *r)
{
    row_begin(w, r, 33);
    for (unsigned i = 0; i < 3; i++) {
        world_net(w, NET_REFUSED, true);
        world_wipe(w);
        foreign_put(w);
        sim_api_forget(&world_api);
        world_pass(w, SECONDS(20));
        world_net(w, NET_OPEN, false);
        row_recover(w, r, RECOVERY_MS);
        world_pass(w, RECOVERY_MS);
        row_repairs(w, r);
    }
}

static void few_streams(struct world *w, struct row *r)
{
    world_new(w, 34);
    r->begin_ms = w->now_ms;
    world_api.config.streams = 3;
    world_start(w);
    row_recover(w, r, SECONDS(15));
    for (unsigned i = 0; i < HELD_CLAIMS; i++) {
        expect(r, world_prepare(w, i), "claim %u was not prepared: %s", i, w->answered.text);
    }
    world_pass(w, HOURS(1));
    row_repairs(w, r);
    world_node_again(w, "node-uid-2");
    row_recover(w, r, RECOVERY_MS);
}

/* One write is answered by what is no answer to it: it is not believed, what is stored is read. */
static void wrong_answer(struct world *w, struct row *r, enum sim_fault_kind kind)
{
    const struct sim_fault wrong = {.asked = WRITES};
    row_begin(w, r, 37);
    for (unsigned i = 0; i < 2; i++) {
        sim_api_fault(&world_api, kind, &wrong);
        if (i == 0) {
            expect(r, stored_edit(w), "no slice to edit");
        } else {
            world_wipe(w);
        }
        world_pass(w, SECONDS(2));
        sim_api_fault_end(&world_api, kind);
        row_recover(w, r, RECOVERY_MS);
        world_pass(w, MINUTES(2));
    }
}

static void wrong_object(struct world *w, struct row *r)
{
    wrong_answer(w, r, SIM_FAULT_OTHER);
}

static void wrong_page(struct world *w, struct row *r)
{
    wrong_answer(w, r, SIM_FAULT_PAGE);
}

/* Claim status is on: each claim gets it once; a refusal of it disturbs nothing. */
static void claim_status(struct world *w, struct row *r)
{
    const struct sim_fault refused = {.asked = SIM_ASK_STATUS, .http = 403};
    row_begin(w, r, 36);
    w->settings.claim_status = true;
    world_start(w);
    row_recover(w, r, SECONDS(15));
    row_prepares(w, r, 4);
    row_prepares(w, r, 5);
    world_pass(w, SECONDS(30));
    expect(r, world_api.patches >= 2, "%u claims have a status", (unsigned)world_api.patches);
    sim_api_fault(&world_api, SIM_FAULT_ANSWER, &refused);
    unsigned before = tally_own(&w->tally);
    row_prepares(w, r, 6);
    world_pass(w, HOURS(1));
    row_repairs(w, r);
    unsigned requests = tally_own(&w->tally) - before;
    expect(r, requests <= 100, "%u requests in an hour", requests);
}

/*
 * The GET of one claim is always refused, that of another one hangs: the other claims are looked up
 * all the same, and those that are gone are released.
 */
static void failing_looks(struct world *w, struct row *r)
{
    const struct sim_fault refused = {.asked = SIM_ASK_CLAIM, .about = "held-0", .http = 500};
    const struct sim_fault hangs = {.asked = SIM_ASK_CLAIM, .about = "held-1"};
    row_begin(w, r, 38);
    sim_api_fault(&world_api, SIM_FAULT_ANSWER, &refused);
    sim_api_fault(&world_api, SIM_FAULT_SILENT, &hangs);
    world_pass(w, MINUTES(30));
    world_claim_delete("held-2");
    world_claim_delete("held-3");
    for (unsigned i = 0; i < 16; i++) {
        world_pass(w, MINUTES(1));
        expect(r, world_looks_fair(w), "a held claim was not looked up in its turn");
    }
    expect(r, !world_holds(w, 2) && !world_holds(w, 3), "a claim that is gone is still held");
    expect(r, world_holds(w, 0) && world_holds(w, 1), "a claim was released by an error");
}

/* Somebody deletes, edits and doubles without pause: repairs are paced, not endless. */
static void fight(struct world *w, struct row *r)
{
    row_begin(w, r, 35);
    unsigned before = tally_own(&w->tally);
    for (unsigned i = 0; i < 3600; i++) {
        (void)stored_edit(w);
        world_pass(w, SECONDS(1));
    }
    unsigned requests = tally_own(&w->tally) - before;
    expect(r, requests <= 1800, "%u requests in an hour", requests);
    row_recover(w, r, RECOVERY_MS);
}

const struct scenario answer_scenarios[] = {
    {"POST done, stream reset: no duplicate", ambiguous_reset},
    {"POST done, connection ended: no duplicate", ambiguous_cut},
    {"connection ended in the midst of a POST", cut_in_post},
    {"GOAWAY beside watches, six times", goaway_idle},
    {"GOAWAY in a POST that is answered later", goaway_in_post},
    {"GOAWAY, POST above the last stream", goaway_below_post},
    {"token ends before the file is read again", token_rotated},
    {"token rotated as the kubelet does", token_rotated_early},
    {"API versions change, connections dropped", versions},
    {"v1 gone from one moment to the next", version_gone},
    {"start where only v1beta1 is served", only_v1beta1},
    {"no version served for an hour", none_served},
    {"server drops an attribute for three hours", dropped_fields},
    {"history compacted while stopped", history_gone},
    {"three streams a connection", few_streams},
    {"edited each second for an hour", fight},
    {"GETs of two claims always fail", failing_looks},
    {"claim status is written, then refused", claim_status},
    {"a write answered with another object", wrong_object},
    {"a write answered with a page of text", wrong_page},
    {NULL, NULL},
};
