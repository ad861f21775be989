/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two days of a node with churn: claims, restarts of the API server and of the kubelet, devices
 * that fall ill, labels that change. The agent has no more of anything in the last quarter than in
 * the first, asks no more and wakes no more often. See row.h.
 */
#include "cfg/identity.h"
#include "tests/sim/disk/sim_disk.h"
#include "tests/sim/virtual/row.h"

/* Claims that are prepared at the end of each hour. */
#define HELD_NOW (HELD_CLAIMS / 2u)
#define QUARTERS 4u
#define QUARTER_HOURS 12u
#define OUTAGE_MS SECONDS(30)
#define ILL_MS MINUTES(3)
#define REST_MS MINUTES(10)
/* Hours between two restarts of the kubelet, which wipes the slices. */
#define KUBELET_HOURS 6u
/* Requests and steps of a quarter may differ by this share: timers fall to one side of its end. */
#define SPREAD_PERCENT 2u

/* What is compared. */
struct quarter {
    unsigned requests; /* of all kinds */
    unsigned writes;   /* of slices */
    uint64_t steps;    /* of the agent while nothing happens: how often timers wake it */
    /* at the end of the quarter */
    unsigned cdi_files;
    unsigned state_files;
    unsigned pages; /* of the disk: what all files take */
    uint64_t store_bytes;
};

static void swap_claims(struct world *w, struct row *r, unsigned hour)
{
    for (unsigned i = 0; i < HELD_NOW; i++) {
        unsigned index = (hour + i) % HELD_NOW;
        expect(r, world_unprepare(w, index), "claim %u was not given back: %s", index,
               w->answered.text);
        world_pass(w, SECONDS(20));
        row_prepares(w, r, index);
        row_serves(w, r);
        world_pass(w, MINUTES(3));
    }
}

static void server_restarts(struct world *w, struct row *r)
{
    world_net(w, NET_REFUSED, true);
    world_pass(w, OUTAGE_MS);
    row_serves(w, r);
    world_net(w, NET_OPEN, false);
    row_recover(w, r, RECOVERY_MS);
}

static void device_falls_ill(struct world *w, unsigned hour)
{
    unsigned number = HELD_CLAIMS + hour % HELD_CLAIMS;
    world_device_says(w, number, "hbm\n");
    world_pass(w, ILL_MS);
    world_device_says(w, number, "\n");
    world_pass(w, HEALTH_HOLD_MS + MINUTES(1));
}

static void label_changes(struct world *w, struct row *r, unsigned hour)
{
    w->layers[2] = hour % 2 == 0 ? "nn-even" : "nn-odd";
    world_node_put(w);
    row_recover(w, r, RECOVERY_MS);
}

/* An hour with all of it; counts what the agent does in the part in which nothing happens. */
static void hour_passes(struct world *w, struct row *r, unsigned hour, struct quarter *q)
{
    uint64_t end = w->now_ms + HOURS(1);
    swap_claims(w, r, hour);
    server_restarts(w, r);
    device_falls_ill(w, hour);
    label_changes(w, r, hour);
    if (hour % KUBELET_HOURS == 0) {
        world_kubelet_restart(w, true);
        row_recover(w, r, RECOVERY_MS);
    }
    expect(r, w->now_ms + REST_MS < end, "an hour is too short");
    world_pass(w, end - REST_MS - w->now_ms);
    uint64_t steps = w->steps;
    world_pass(w, REST_MS);
    q->steps += w->steps - steps;
}

static void quarter_passes(struct world *w, struct row *r, unsigned first_hour, struct quarter *q)
{
    *q = (struct quarter){0};
    row_count_anew(w);
    for (unsigned i = 0; i < QUARTER_HOURS; i++) {
        hour_passes(w, r, first_hour + i, q);
    }
    const struct disk_file *store = disk_find(FILES_STATE, STORE_FILE_NAME);
    expect(r, store != NULL, "no claim store");
    q->requests = tally_own(&w->tally) + w->tally.verb[TALLY_CLAIM];
    q->writes = tally_writes(&w->tally);
    q->cdi_files = disk_count(FILES_CDI);
    q->state_files = disk_count(FILES_STATE);
    q->pages = disk.pool_used - disk.free_pages;
    q->store_bytes = store == NULL ? 0 : store->len;
}

static bool steady(uint64_t before, uint64_t after)
{
    return after * 100u <= before * (100u + SPREAD_PERCENT);
}

static void compare(struct row *r, const struct quarter *a, const struct quarter *b)
{
    expect(r, steady(a->requests, b->requests), "%u requests in a quarter, then %u", a->requests,
           b->requests);
    expect(r, steady(a->writes, b->writes), "%u writes in a quarter, then %u", a->writes,
           b->writes);
    expect(r, steady(a->steps, b->steps), "woken %llu times at rest, then %llu",
           (unsigned long long)a->steps, (unsigned long long)b->steps);
    expect(r, b->cdi_files == HELD_NOW, "%u CDI files of %u claims", b->cdi_files, HELD_NOW);
    expect(r, b->cdi_files <= a->cdi_files, "%u CDI files, then %u", a->cdi_files, b->cdi_files);
    expect(r, b->state_files <= a->state_files, "%u files of state, then %u", a->state_files,
           b->state_files);
    expect(r, b->pages <= a->pages, "%u pages on the disk, then %u", a->pages, b->pages);
    expect(r, b->store_bytes == a->store_bytes, "a store of %llu octets, then %llu",
           (unsigned long long)a->store_bytes, (unsigned long long)b->store_bytes);
}

/* The first hours are not compared: what is made once is made in them. */
static void two_days(struct world *w, struct row *r)
{
    struct quarter quarters[QUARTERS];
    struct quarter warm;
    row_begin(w, r, 17);
    quarter_passes(w, r, 0, &warm);
    for (unsigned i = 0; i < QUARTERS; i++) {
        quarter_passes(w, r, (i + 1) * QUARTER_HOURS, &quarters[i]);
    }
    expect(r, quarters[0].requests > 0 && quarters[0].steps > 0, "nothing happened");
    compare(r, &quarters[0], &quarters[QUARTERS - 1]);
}

const struct scenario soak_scenarios[] = {
    {"48 hours with churn, first and last quarter", two_days},
    {NULL, NULL},
};
