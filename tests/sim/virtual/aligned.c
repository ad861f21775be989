/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random schedules of claims with devices of both drivers: each driver prepares and unprepares its
 * part, by itself or at the same moment as the other, while the disk fails, the process is killed,
 * the node reboots, the store of either driver is removed or zeroed, CDI files vanish and the API
 * server is away. After each action: what a driver answered as prepared it holds, with the device
 * that was allocated and no other driver's; what it unprepared it does not hold; no device is held
 * twice. At rest: each driver's part has its CDI file, and what is gone from the API server is held
 * by neither. A schedule follows from its seed alone.
 */
#include <stdio.h>
#include <string.h>

#include "agent/state.h"
#include "base/assert.h"
#include "cfg/identity.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/virtual/claims.h"

#define ALIGNED 6 /* claims, and devices of each driver that they take */
#define ACTIONS 40
#define ALIGNED_RECONCILE_MS SECONDS(60)
#define ALIGNED_REST_MS MINUTES(8)
/* Longest answer, the kubelet's own limit included. */
#define ANSWER_SECONDS 50u

/* A claim, and what the last call of each driver for it came to. */
struct pair {
    bool allocated;
    unsigned round;
    unsigned device[DRIVERS];
    enum known known[DRIVERS];
    char name[WORLD_CLAIM_CAP];
    char uid[WORLD_CLAIM_CAP];
};

struct aligned {
    struct world *w;
    struct row *r;
    struct pair pair[ALIGNED];
    bool away;
    unsigned boot;
};

static const char *const store_name[DRIVERS] = {STORE_FILE_NAME, EFA_STORE_NAME};

static struct agent *driver_at(const struct aligned *p, unsigned driver)
{
    return driver == DRIVER_EFA ? p->w->efa : p->w->agent;
}

/* --- what must hold --- */

static void check_part(const struct aligned *p, unsigned driver, const struct pair *c)
{
    struct agent *a = driver_at(p, driver);
    const struct claim_record *record = NULL;
    int slot = ledger_find(a, c->uid);
    expect(p->r, c->known[driver] != PREPARED || slot >= 0, "driver %u: claim %s is lost", driver,
           c->uid);
    expect(p->r, c->known[driver] != UNPREPARED || slot < 0,
           "driver %u: claim %s was unprepared and is held", driver, c->uid);
    if (slot < 0 || ledger_record(a, (unsigned)slot, &record) != STATUS_OK) {
        return;
    }
    uint32_t address = driver == DRIVER_EFA ? world_efa_address(c->device[driver]) : 0u;
    expect(p->r,
           record->driver == (enum driver_kind)driver && record->count == 1u &&
               record->result[0].efa_address == address &&
               record->result[0].number == c->device[driver],
           "driver %u: claim %s is held with a device that is not its own", driver, c->uid);
}

static void check_driver(const struct aligned *p, unsigned driver)
{
    const struct ledger *l = &driver_at(p, driver)->ledger;
    uint64_t seen = 0;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        bool held = l->entry[i].state == LEDGER_HELD;
        expect(p->r, !held || (seen & l->entry[i].numbers) == 0u,
               "driver %u: a device of claim %s is held twice", driver, l->id[i].uid);
        seen |= held ? l->entry[i].numbers : 0u;
    }
    for (unsigned i = 0; i < ALIGNED && l->usable && !l->unlisted; i++) {
        if (p->pair[i].uid[0] != '\0') {
            check_part(p, driver, &p->pair[i]);
        }
    }
}

static void check(const struct aligned *p)
{
    for (unsigned d = 0; d < DRIVERS; d++) {
        check_driver(p, d);
    }
    expect(p->r, !p->w->exited, "the agent ended");
}

/*
 * The file of a part that is held is what its record says. A part whose newer record may be lost
 * has no record until it is prepared again, and perhaps no file. Returns whether there is a file.
 */
static bool check_file(const struct aligned *p, unsigned driver, const struct pair *c, int slot)
{
    static uint8_t wanted_bytes[CDI_BYTES_MAX];
    static uint8_t stored_bytes[CDI_BYTES_MAX];
    struct writer wanted = writer_of(wanted_bytes, sizeof wanted_bytes);
    struct writer stored = writer_of(stored_bytes, sizeof stored_bytes);
    const struct claim_record *record = NULL;
    char name[CDI_FILE_NAME_CAP];
    cdi_file_name((enum driver_kind)driver, c->uid, name);
    const struct disk_file *f = disk_find(FILES_CDI, name);
    enum status s = ledger_record(driver_at(p, driver), (unsigned)slot, &record);
    bool unsure = driver_at(p, driver)->ledger.entry[slot].unsure;
    expect(p->r, unsure || (s == STATUS_OK && f != NULL),
           "driver %u: claim %s has no record or no file", driver, c->uid);
    if (s == STATUS_OK && f != NULL) {
        disk_get(f, 0, &stored);
        const struct cdi_host host = {.dev_root = p->w->settings.dev_root};
        bool whole = cdi_write(record, &host, &wanted) == STATUS_OK;
        expect(p->r, whole && view_equal(writer_view(&wanted), writer_view(&stored)),
               "driver %u: claim %s has another file than its record", driver, c->uid);
    }
    return f != NULL;
}

/* How many files the parts that the driver holds have, each of a claim that is there. */
static unsigned check_files(const struct aligned *p, unsigned driver)
{
    struct agent *a = driver_at(p, driver);
    unsigned held = 0;
    expect(p->r, a->ledger.usable, "driver %u: the store is not usable", driver);
    for (unsigned i = 0; i < ALIGNED && !p->r->failed; i++) {
        const struct pair *c = &p->pair[i];
        int slot = ledger_find(a, c->uid);
        expect(p->r, c->allocated || slot < 0, "driver %u: claim %s is gone and still held", driver,
               c->uid);
        if (slot >= 0) {
            held += check_file(p, driver, c, slot) ? 1u : 0u;
        }
    }
    return held;
}

/* --- actions --- */

static void start(struct aligned *p)
{
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    world_start(p->w);
    world_pass(p->w, SECONDS(3));
}

static bool free_device(const struct aligned *p, unsigned driver, unsigned device)
{
    for (unsigned i = 0; i < ALIGNED; i++) {
        const struct pair *c = &p->pair[i];
        bool holds = c->allocated || c->known[driver] != UNPREPARED;
        if (c->uid[0] != '\0' && holds && c->device[driver] == device) {
            return false;
        }
    }
    return true;
}

/* The scheduler chooses a free device of each driver; they need not have the same number. */
static void allocate(struct aligned *p, unsigned i)
{
    struct pair *c = &p->pair[i];
    if (c->known[0] != UNPREPARED || c->known[1] != UNPREPARED) {
        return; /* the kubelet has to end with the old one first */
    }
    for (unsigned d = 0; d < DRIVERS; d++) {
        unsigned device = (unsigned)world_random(p->w, ALIGNED);
        while (!free_device(p, d, device)) {
            device = (device + 1u) % ALIGNED;
        }
        c->device[d] = device;
    }
    c->round++;
    c->allocated = true;
    (void)snprintf(c->name, sizeof c->name, "aligned-%u", i);
    (void)snprintf(c->uid, sizeof c->uid, "aligned-uid-%u-%u", i, c->round);
    world_claim_put_both(c->name, c->uid, c->device[DRIVER_NEURON], c->device[DRIVER_EFA]);
}

/* Both drivers know what is held: none waits for the list of claims. */
static bool is_listed(const struct aligned *p)
{
    return !p->w->agent->ledger.unlisted && !p->w->efa->ledger.unlisted;
}

static bool is_done(const struct aligned *p, const bool asked[DRIVERS])
{
    return (!asked[DRIVER_NEURON] || p->w->answered.done) &&
           (!asked[DRIVER_EFA] || p->w->efa_answered.done);
}

static void wait_answers(const struct aligned *p, const bool asked[DRIVERS])
{
    world_settle(p->w);
    for (unsigned s = 0; s < ANSWER_SECONDS && p->w->agent != NULL && !is_done(p, asked); s++) {
        world_pass(p->w, SECONDS(1));
    }
}

/* What an answer, or none, says of a driver's part; one that was prepared stays so. */
static void learn(struct aligned *p, struct pair *c, unsigned driver, bool unprepare, bool clean)
{
    const struct answered *a = driver == DRIVER_EFA ? &p->w->efa_answered : &p->w->answered;
    bool well = a->done && a->well;
    expect(p->r, well || !clean, "driver %u: nothing is wrong, and claim %s: %s", driver, c->uid,
           a->text);
    if (well) {
        c->known[driver] = unprepare ? UNPREPARED : PREPARED;
    } else if (unprepare || c->known[driver] != PREPARED) {
        c->known[driver] = UNKNOWN;
    } else {
        /* a repeat that failed */
    }
}

/* Calls one driver, or (`drivers` 3) both at the same moment, and waits for the answers. */
static void call(struct aligned *p, struct pair *c, bool unprepare, unsigned drivers)
{
    bool asked[DRIVERS];
    bool clean = !p->away && disk.fault == FAULT_NONE && is_listed(p);
    for (unsigned d = 0; d < DRIVERS; d++) {
        asked[d] = (drivers >> d & 1u) != 0u &&
                   world_ask(p->w, (enum driver_kind)d, unprepare, c->name, c->uid);
    }
    wait_answers(p, asked);
    for (unsigned d = 0; d < DRIVERS; d++) {
        if (asked[d]) {
            learn(p, c, d, unprepare, clean);
        }
    }
    if (p->w->agent == NULL) {
        start(p); /* a fault of the disk ended the process */
    }
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
}

static void act_fault(const struct aligned *p)
{
    static const enum fault all[] = {FAULT_KILL_BEFORE,  FAULT_KILL_TORN,  FAULT_KILL_AFTER,
                                     FAULT_ERROR,        FAULT_ERROR_TORN, FAULT_ERROR_AFTER,
                                     FAULT_ERROR_WRITTEN};
    disk_fault(all[world_random(p->w, 7)], 1u + (unsigned)world_random(p->w, 12), false, HOST_IO);
}

static void act_prepare(struct aligned *p, unsigned i)
{
    if (!p->pair[i].allocated) {
        allocate(p, i);
    }
    if (p->pair[i].allocated) {
        if (world_random(p->w, 4) == 0) {
            act_fault(p);
        }
        call(p, &p->pair[i], false, 1u + (unsigned)world_random(p->w, 3));
    }
}

static void act_unprepare(struct aligned *p, unsigned i)
{
    struct pair *c = &p->pair[i];
    if (c->uid[0] == '\0') {
        return;
    }
    if (world_random(p->w, 4) == 0) {
        act_fault(p);
    }
    call(p, c, true, 1u + (unsigned)world_random(p->w, 3));
    if (c->known[0] == UNPREPARED && c->known[1] == UNPREPARED && c->allocated) {
        world_claim_delete(c->name);
        c->allocated = false;
    }
}

static void remove_files(void)
{
    for (unsigned i = 0; i < disk.top; i++) {
        if (disk.file[i].used && disk.file[i].dir == FILES_CDI) {
            disk_unlink(&disk.file[i]);
        }
    }
}

static void act_reboot(struct aligned *p)
{
    world_kill(p->w);
    disk_power_cut(NULL, NULL);
    remove_files(); /* /run is in memory */
    p->boot++;
    (void)snprintf(p->w->found.boot_id, sizeof p->w->found.boot_id,
                   "6b1d58d4-7a0f-4c7e-9d3a-%012u\n", p->boot);
    start(p);
}

/* The store of one driver, or of both, is removed or zeroed: the CDI files know what it held. */
static void act_store(struct aligned *p, unsigned drivers, bool zeroed)
{
    static const uint8_t zeros[DISK_PAGE];
    world_kill(p->w);
    for (unsigned d = 0; d < DRIVERS; d++) {
        struct disk_file *f = disk_find(FILES_STATE, store_name[d]);
        if (f == NULL || (drivers >> d & 1u) == 0u) {
            continue;
        }
        for (uint64_t at = 0; at < f->len && zeroed; at += sizeof zeros) {
            disk_set(f, at, view_of(zeros, sizeof zeros));
        }
        if (!zeroed) {
            disk_unlink(f);
        }
    }
    start(p);
}

static void act_rest(struct aligned *p)
{
    world_net(p->w, NET_OPEN, false);
    p->away = false;
    world_pass(p->w, ALIGNED_REST_MS);
    for (unsigned i = 0; i < ALIGNED; i++) {
        for (unsigned d = 0; d < DRIVERS; d++) {
            struct pair *c = &p->pair[i];
            bool gone = c->known[d] == UNKNOWN && !c->allocated;
            c->known[d] = gone ? UNPREPARED : c->known[d];
        }
    }
    check(p);
    unsigned held = check_files(p, DRIVER_NEURON);
    held += check_files(p, DRIVER_EFA);
    expect(p->r, disk_count(FILES_CDI) == held, "%u CDI files, %u of them of parts",
           disk_count(FILES_CDI), held);
}

/* A claim goes from the API server, and the kubelet never unprepares it. */
static void act_given_up(const struct aligned *p, struct pair *c)
{
    if (c->allocated) {
        world_claim_delete(c->name);
        c->allocated = false;
        c->known[0] = c->known[0] == PREPARED ? UNKNOWN : c->known[0];
        c->known[1] = c->known[1] == PREPARED ? UNKNOWN : c->known[1];
    }
    ASSERT(p->w->with_efa);
}

static void act_other(struct aligned *p, uint64_t what, unsigned i)
{
    switch (what) {
    case 0:
        start(p);
        break;
    case 1:
        act_reboot(p);
        break;
    case 2:
        act_store(p, 1u + (unsigned)world_random(p->w, 3), world_random(p->w, 2) == 0);
        break;
    case 3:
        remove_files();
        world_pass(p->w, 2 * ALIGNED_RECONCILE_MS);
        break;
    case 4:
        world_net(p->w, NET_REFUSED, true);
        p->away = true;
        break;
    case 5:
        world_net(p->w, NET_OPEN, false);
        world_pass(p->w, SECONDS(40));
        p->away = false;
        break;
    case 6:
        act_given_up(p, &p->pair[i]);
        break;
    default:
        act_rest(p);
        break;
    }
}

static void act(struct aligned *p)
{
    uint64_t what = world_random(p->w, 24);
    unsigned i = (unsigned)world_random(p->w, ALIGNED);
    world_note(p->w, what < 8 ? "prepare" : (what < 14 ? "unprepare" : "other"), p->pair[i].uid);
    if (what < 8) {
        act_prepare(p, i);
    } else if (what < 14) {
        act_unprepare(p, i);
    } else {
        act_other(p, what - 14, i);
    }
    check(p);
}

void aligned_play(struct world *w, struct row *r, uint64_t seed)
{
    struct aligned p = {.w = w, .r = r};
    world_new(w, seed);
    r->begin_ms = w->now_ms;
    w->settings.reconcile_ms = ALIGNED_RECONCILE_MS;
    world_efa(w);
    start(&p);
    world_pass(w, SECONDS(30));
    for (unsigned i = 0; i < ACTIONS && !r->failed; i++) {
        act(&p);
    }
    if (!r->failed) {
        act_rest(&p);
    }
}

void aligned_runs(struct world *w, struct totals *t, const struct share *share, bool loud)
{
    for (uint64_t seed = share->first; seed <= share->last && t->failed == 0;
         seed += share->stride) {
        struct row r = {.name = "both drivers", .recovery_ms = NEVER};
        aligned_play(w, &r, seed);
        t->seeds++;
        t->steps += w->steps;
        t->ms += w->now_ms - r.begin_ms;
        if (r.failed) {
            t->failed++;
            (void)printf("FAIL  both drivers, seed %llu: %s\n", (unsigned long long)seed, r.why);
            world_show_log(w, loud ? UINT32_MAX : 40);
            (void)printf("      (make sim ALIGNED=%llu)\n", (unsigned long long)seed);
        }
    }
}
