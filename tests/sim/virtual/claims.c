/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random schedules of claims: prepares and unprepares while the process is killed, the node
 * reboots, the disk fails, the store rots or is removed, CDI files vanish and the API server is
 * away. After every action what must always hold is looked at: no claim that was answered is lost,
 * none that was unprepared is back, no device is held twice, and an agent that says ready prepares.
 * At rest, CDI files are those of the claims that are held, and nothing is held that is gone from
 * the API server. A schedule is a list made from its seed before it is played: one that fails is
 * played again without one action after the other, and what is left is printed.
 */
#include <stdio.h>
#include <string.h>

#include "agent/serve/readiness.h"
#include "agent/state.h"
#include "cfg/identity.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/virtual/row.h"

#define CLAIMS 10
#define DEVICES 6     /* fewer than claims: they meet */
#define SPARE DEVICES /* the last one, that only the look at readiness takes */
#define ACTIONS_MAX 48
#define RECONCILE_MS SECONDS(60)
/* At rest: two looks at the API server for each claim, and the waits of retries before. */
#define REST_MS MINUTES(8)
/* Schedules that may fail before a run ends: each is shrunk, and the first ones say enough. */
#define FAILURES_MAX 2

/* --- the list --- */

enum act {
    ACT_PREPARE,
    ACT_UNPREPARE,
    ACT_REALLOCATE, /* a claim gets another device under its UID: its pod was deleted by force */
    ACT_FAULT,      /* the next call of the kubelet meets one fault of the disk */
    ACT_KILL,
    ACT_REBOOT,
    ACT_REFUSE, /* a directory can be read only, or is full, until ACT_REST */
    ACT_ROT,    /* the newest half of a claim that is held */
    ACT_ROT_OLD,
    ACT_ROT_HEADER,
    ACT_STORE_GONE,
    ACT_STORE_ZEROS,
    ACT_STORE_CUT,
    ACT_CDI_GONE,
    ACT_CDI_EDITED,
    ACT_API_AWAY,
    ACT_API_BACK,
    ACT_GIVEN_UP, /* a claim goes from the API server, and the kubelet never unprepares it */
    ACT_WAIT,
    ACT_REST,
    ACTS
};

static const struct {
    const char *name;
    unsigned weight;
} acts[ACTS] = {
    [ACT_PREPARE] = {"prepare", 24},
    [ACT_UNPREPARE] = {"unprepare", 12},
    [ACT_REALLOCATE] = {"a claim is allocated again", 3},
    [ACT_FAULT] = {"the disk fails once in the next call", 8},
    [ACT_KILL] = {"the agent is killed", 5},
    [ACT_REBOOT] = {"the node reboots", 2},
    [ACT_REFUSE] = {"a directory refuses writes", 3},
    [ACT_ROT] = {"the newest half of a record rots", 2},
    [ACT_ROT_OLD] = {"an older half rots", 1},
    [ACT_ROT_HEADER] = {"the header rots", 1},
    [ACT_STORE_GONE] = {"the store is removed", 1},
    [ACT_STORE_ZEROS] = {"the store is zeroed", 1},
    [ACT_STORE_CUT] = {"the store is cut", 1},
    [ACT_CDI_GONE] = {"the CDI directory is emptied", 2},
    [ACT_CDI_EDITED] = {"a CDI file is edited", 1},
    [ACT_API_AWAY] = {"the API server is away", 2},
    [ACT_API_BACK] = {"the API server is back", 2},
    [ACT_GIVEN_UP] = {"a claim is gone without unprepare", 2},
    [ACT_WAIT] = {"time passes", 6},
    [ACT_REST] = {"rest", 3},
};

struct action {
    enum act act;
    uint64_t number;
    bool left_out;
};

struct list {
    unsigned count;
    struct action action[ACTIONS_MAX];
};

static void list_make(struct world *w, struct list *l)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < ACTS; i++) {
        sum += acts[i].weight;
    }
    *l = (struct list){.count = 8u + (unsigned)world_random(w, ACTIONS_MAX - 8u)};
    for (unsigned i = 0; i < l->count; i++) {
        uint64_t at = world_random(w, sum);
        unsigned act = 0;
        while (at >= acts[act].weight) {
            at -= acts[act].weight;
            act++;
        }
        l->action[i] = (struct action){.act = (enum act)act, .number = world_random(w, UINT32_MAX)};
    }
}

/* --- what the kubelet was told of each claim --- */

enum known {
    UNPREPARED,
    PREPARED,
    UNKNOWN /* a call was not answered, or its record was lost by two faults */
};

struct claim {
    bool allocated; /* it is at the API server */
    bool moved;     /* it is prepared, and allocated another device since */
    bool rotted;    /* its newest half, and the process has not read it since */
    unsigned device;
    unsigned round; /* of its UID */
    unsigned boot;  /* in which it was prepared */
    enum known known;
    char name[WORLD_CLAIM_CAP];
    char uid[WORLD_CLAIM_CAP];
};

struct play {
    struct world *w;
    struct row *r;
    struct claim claim[CLAIMS];
    uint64_t number; /* of the action */
    unsigned boot;
    bool refused;       /* a directory refuses writes */
    bool store_refused; /* it is that of the store */
    bool damaged;       /* the store was changed and not read since, or cannot be repaired */
    bool cdi_damaged;   /* CDI files were changed and cannot be written again */
    bool away;
};

static struct agent *agent_of(const struct play *p)
{
    return p->w->agent;
}

static bool is_held(const struct play *p, const struct claim *c)
{
    return ledger_find(agent_of(p), c->uid) >= 0;
}

static bool device_taken(const struct play *p, unsigned device, const struct claim *except)
{
    for (unsigned i = 0; i < CLAIMS; i++) {
        const struct claim *c = &p->claim[i];
        if (c != except && c->device == device && (c->allocated || c->known != UNPREPARED)) {
            return true;
        }
    }
    return false;
}

static bool cdi_refused(const struct play *p)
{
    return p->refused && !p->store_refused;
}

/* --- what must hold --- */

static void check_devices(const struct play *p)
{
    uint64_t seen = 0;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &agent_of(p)->ledger.entry[i];
        if (e->state == LEDGER_HELD) {
            expect(p->r, (seen & e->numbers) == 0u, "a device of claim %s is held twice",
                   e->id.uid);
            seen |= e->numbers;
        }
    }
}

static void check_claims(const struct play *p)
{
    for (unsigned i = 0; i < CLAIMS && agent_of(p)->ledger.usable; i++) {
        const struct claim *c = &p->claim[i];
        bool held = is_held(p, c);
        expect(p->r, c->known != PREPARED || held, "claim %s was prepared and is lost", c->uid);
        expect(p->r, c->known != UNPREPARED || !held, "claim %s was unprepared and is held",
               c->uid);
    }
}

static bool spare(const struct play *p, bool unprepare)
{
    bool well = world_call(p->w, unprepare, "spare", "claim-uid-spare");
    while (!p->w->answered.done && p->w->answered.text[0] != 0 &&
           strcmp(p->w->answered.text, "no answer") == 0) {
        world_pass(p->w, SECONDS(1));
    }
    return well || (p->w->answered.done && p->w->answered.well);
}

/*
 * A disk that has just failed, or a store that was just removed, is found out by the claim that
 * meets it: then the next one is prepared, or the agent is not ready.
 */
static void check_ready(const struct play *p)
{
    if (p->away || !agent_ready(agent_of(p))) {
        return;
    }
    bool well = spare(p, false) || (agent_ready(agent_of(p)) && spare(p, false));
    expect(p->r, well || !agent_ready(agent_of(p)), "ready, and a new claim was not prepared: %s",
           p->w->answered.text);
    expect(p->r, spare(p, true), "the spare claim was not unprepared: %s", p->w->answered.text);
}

static void check_always(const struct play *p)
{
    check_devices(p);
    check_claims(p);
    check_ready(p);
    expect(p->r, !p->w->exited, "the agent ended");
}

static void check_cdi(const struct play *p, const struct claim *c)
{
    static uint8_t wanted_bytes[CDI_BYTES_MAX];
    static uint8_t stored_bytes[CDI_BYTES_MAX];
    struct writer wanted = writer_of(wanted_bytes, sizeof wanted_bytes);
    struct writer stored = writer_of(stored_bytes, sizeof stored_bytes);
    const struct claim_record *r = NULL;
    char name[CDI_FILE_NAME_CAP];
    cdi_file_name(c->uid, name);
    const struct disk_file *f = disk_find(FILES_CDI, name);
    int slot = ledger_find(agent_of(p), c->uid);
    bool readable = slot >= 0 && ledger_record(agent_of(p), (unsigned)slot, &r) == STATUS_OK;
    expect(p->r, readable, "the record of claim %s cannot be read", c->uid);
    expect(p->r, f != NULL, "claim %s has no CDI file", c->uid);
    if (readable && f != NULL) {
        expect(p->r, cdi_write(r, p->w->settings.dev_root, &wanted) == STATUS_OK, "claim %s",
               c->uid);
        disk_get(f, 0, &stored);
        expect(p->r, view_equal(writer_view(&wanted), writer_view(&stored)),
               "claim %s has another CDI file than its record", c->uid);
    }
}

/* Nothing is wrong any more, and there was time. */
static void check_rest(const struct play *p)
{
    unsigned held = 0;
    expect(p->r, disk_find(FILES_STATE, STORE_FILE_NAME) != NULL, "the store is not made again");
    for (unsigned i = 0; i < CLAIMS && !p->r->failed; i++) {
        const struct claim *c = &p->claim[i];
        bool here = is_held(p, c);
        expect(p->r, c->allocated || !here, "claim %s is gone and still holds its device", c->uid);
        if (here) {
            check_cdi(p, c);
            held++;
        }
    }
    expect(p->r, agent_of(p)->ledger.usable, "the store is not usable: %s",
           agent_of(p)->ledger.trouble);
    expect(p->r, disk_count(FILES_CDI) == held, "%u CDI files of %u claims", disk_count(FILES_CDI),
           held);
    expect(p->r, agent_ready(agent_of(p)), "not ready");
}

/* --- actions --- */

static bool store_sound(const struct play *p)
{
    bool sound = !p->damaged;
    for (unsigned i = 0; i < CLAIMS; i++) {
        sound = sound && !p->claim[i].rotted;
    }
    return sound;
}

static void start(struct play *p)
{
    world_start(p->w);
    world_pass(p->w, SECONDS(3));
    p->damaged = p->store_refused && !store_sound(p);
    for (unsigned i = 0; i < CLAIMS; i++) {
        p->claim[i].rotted = false;
    }
}

/* A fault of the disk may have ended the process. */
static void start_again(struct play *p)
{
    if (agent_of(p) == NULL) {
        disk_fault(FAULT_NONE, 0, false, STATUS_OK);
        start(p);
    }
}

/* The answer of the call that was made; it may take its time, and the process may end in it. */
static bool answer(struct play *p)
{
    for (unsigned i = 0; i < 50 && !p->w->answered.done && agent_of(p) != NULL; i++) {
        world_pass(p->w, SECONDS(1));
    }
    bool well = p->w->answered.done && p->w->answered.well;
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    start_again(p);
    return well;
}

/* The scheduler allocates a device that is free. */
static void allocate(struct play *p, struct claim *c)
{
    unsigned i = (unsigned)(c - p->claim);
    c->device = (unsigned)(p->number / CLAIMS % DEVICES);
    c->allocated = !device_taken(p, c->device, c);
    if (c->allocated) {
        c->round++;
        (void)snprintf(c->name, sizeof c->name, "claim-%u", i);
        (void)snprintf(c->uid, sizeof c->uid, "claim-uid-%u-%u", i, c->round);
        world_claim_put(c->name, c->uid, c->device);
    }
}

/* The API server was asked, so the claim has the device that it is allocated now. */
static void check_allocation(const struct play *p, const struct claim *c)
{
    int slot = ledger_find(agent_of(p), c->uid);
    if (slot >= 0 && !p->away) {
        expect(p->r, agent_of(p)->ledger.entry[slot].numbers == UINT64_C(1) << c->device,
               "claim %s was prepared with a device that is not its own", c->uid);
    }
}

static void act_reallocate(struct play *p, struct claim *c)
{
    unsigned device = (unsigned)(p->number / CLAIMS % DEVICES);
    if (c->allocated && !device_taken(p, device, c)) {
        c->moved = c->moved || (c->known != UNPREPARED && device != c->device);
        if (c->moved && c->boot != p->boot) {
            c->known = UNKNOWN; /* it gives way to a claim that has its old device */
        }
        c->device = device;
        world_claim_put(c->name, c->uid, c->device);
    }
}

/* Whether nothing stands in the way of a claim that is prepared again. */
static bool is_simple(const struct play *p, const struct claim *c)
{
    bool sound = !p->refused && !p->damaged && !c->rotted && !c->moved;
    return c->known == PREPARED && sound && disk.fault == FAULT_NONE;
}

static void act_prepare(struct play *p, struct claim *c)
{
    if (!c->allocated && c->known == UNPREPARED) {
        allocate(p, c);
    }
    if (!c->allocated) {
        return;
    }
    bool simple = is_simple(p, c);
    (void)world_call(p->w, false, c->name, c->uid);
    bool well = answer(p);
    expect(p->r, well || !simple || !p->w->answered.done,
           "claim %s was prepared and is not prepared again: %s", c->uid, p->w->answered.text);
    if (well) {
        c->known = PREPARED;
        c->boot = p->boot;
        c->moved = c->moved && p->away;
        check_allocation(p, c);
    } else if (c->known == UNPREPARED) {
        c->known = UNKNOWN;
    } else {
        /* it stays what it was */
    }
}

static bool has_file(const struct claim *c)
{
    char name[CDI_FILE_NAME_CAP];
    cdi_file_name(c->uid, name);
    return disk_find(FILES_CDI, name) != NULL;
}

static void act_unprepare(struct play *p, struct claim *c)
{
    if (c->uid[0] == 0) {
        return;
    }
    /* no witness of it can be read: it is taken for one that never was prepared here */
    bool unknown = !agent_of(p)->ledger.known && !has_file(c);
    (void)world_call(p->w, true, c->name, c->uid);
    c->known = answer(p) && !unknown ? UNPREPARED : UNKNOWN;
    if (c->known == UNPREPARED && c->allocated && p->number % 4 != 0) {
        world_claim_delete(c->name);
        c->allocated = false;
    }
}

static void act_fault(struct play *p)
{
    static const enum fault all[] = {FAULT_KILL_BEFORE,  FAULT_KILL_TORN,  FAULT_KILL_AFTER,
                                     FAULT_ERROR,        FAULT_ERROR_TORN, FAULT_ERROR_AFTER,
                                     FAULT_ERROR_WRITTEN};
    if (!p->refused) {
        disk_fault(all[p->number % 7u], 1u + (unsigned)(p->number / 7u % 8u), false, HOST_IO);
    }
}

/* What a reboot may undo; `unflushed`: the store did not take everything. */
static void doubt_claims(struct play *p, bool unflushed)
{
    for (unsigned i = 0; i < CLAIMS; i++) {
        struct claim *c = &p->claim[i];
        bool doubtful = c->rotted || p->damaged || c->moved ||
                        (unflushed && c->known == UNPREPARED && c->uid[0] != 0);
        c->known = doubtful ? UNKNOWN : c->known;
    }
}

static void act_reboot(struct play *p)
{
    const struct ledger *l = &agent_of(p)->ledger;
    bool unflushed = p->store_refused || l->dirty || l->freeing > 0;
    world_kill(p->w);
    disk_power_cut(NULL, NULL);
    for (unsigned i = 0; i < disk.top; i++) {
        if (disk.file[i].used && disk.file[i].dir == FILES_CDI) {
            disk_unlink(&disk.file[i]); /* /run is in memory */
        }
    }
    doubt_claims(p, unflushed);
    p->boot++;
    p->cdi_damaged = cdi_refused(p);
    (void)snprintf(p->w->found.boot_id, sizeof p->w->found.boot_id,
                   "6b1d58d4-7a0f-4c7e-9d3a-%012llx\n", (unsigned long long)p->number);
    start(p);
}

static void act_refuse(struct play *p)
{
    static const enum status why[] = {HOST_IO, HOST_NO_SPACE, HOST_DENIED};
    if (!p->refused) {
        p->store_refused = p->number % 2 == 0;
        disk_refuse(p->store_refused ? FILES_STATE : FILES_CDI, why[p->number / 2 % 3]);
        p->refused = true;
    }
}

/* --- damage: one witness of a claim at a time, and no fault while the other one is needed --- */

static struct disk_file *store_file(void)
{
    return disk_find(FILES_STATE, STORE_FILE_NAME);
}

static void flip(struct disk_file *f, uint64_t offset)
{
    uint8_t octet = 0;
    struct writer out = writer_of(&octet, 1);
    disk_get(f, offset, &out);
    octet ^= 0x40u;
    disk_set(f, offset, view_of(&octet, 1));
}

static void act_rot(struct play *p, struct claim *c, bool newest)
{
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    int slot = is_held(p, c) ? ledger_find(agent_of(p), c->uid) : -1;
    if (slot >= 0 && store_file() != NULL && !p->cdi_damaged) {
        unsigned half = agent_of(p)->ledger.entry[slot].half;
        flip(store_file(),
             store_offset((unsigned)slot, newest ? half : 1u - half) + p->number / CLAIMS % 200u);
        c->rotted = c->rotted || newest;
    }
}

/* What was unprepared while a directory refused writes is known from the other one alone. */
static void forget_unprepared(struct play *p)
{
    for (unsigned i = 0; i < CLAIMS; i++) {
        struct claim *c = &p->claim[i];
        c->known = (c->known == UNPREPARED && c->uid[0] != 0) ? UNKNOWN : c->known;
    }
}

static void spoil_store(const struct play *p, struct disk_file *f, enum act act)
{
    static const uint8_t zeros[4096];
    if (act == ACT_STORE_GONE) {
        disk_unlink(f);
    } else if (act == ACT_STORE_CUT) {
        disk_set_len(f, p->number % f->len);
    } else if (act == ACT_ROT_HEADER) {
        flip(f, p->number % 32u);
        flip(f, STORE_HEADER_BYTES / 2u + p->number % 32u);
    } else {
        for (uint64_t at = 0; at < f->len; at += sizeof zeros) {
            disk_set(f, at, view_of(zeros, sizeof zeros));
        }
    }
}

/* The running agent makes it again from memory as soon as a claim meets it. */
static void meet_removed(struct play *p)
{
    (void)spare(p, false);
    world_pass(p->w, SECONDS(1));
    (void)spare(p, true);
    p->damaged = store_file() == NULL;
    expect(p->r, p->away || !p->damaged, "the store is not made again");
}

static void act_store(struct play *p, enum act act)
{
    struct disk_file *f = store_file();
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    if (f == NULL || p->cdi_damaged) {
        return;
    }
    p->damaged = true;
    if (cdi_refused(p) || act == ACT_STORE_CUT) {
        forget_unprepared(p); /* a cut may take the half that says so, and leave the older record */
    }
    spoil_store(p, f, act);
    if (p->number / 7 % 2 == 0) {
        world_kill(p->w);
        start(p);
    } else if (act == ACT_STORE_GONE && !p->refused) {
        meet_removed(p);
    } else {
        /* nobody notices before the next start */
    }
}

static void spoil_file(struct disk_file *f, bool removed, uint64_t number)
{
    if (removed) {
        disk_unlink(f);
    } else if (f->len > 0) {
        flip(f, number % f->len);
    } else {
        /* a tombstone */
    }
}

static void act_cdi(struct play *p, bool all)
{
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    p->cdi_damaged = cdi_refused(p);
    if (all && p->store_refused) {
        forget_unprepared(p); /* of some claims the tombstone was here alone */
    }
    for (unsigned i = 0; i < disk.top && store_sound(p); i++) {
        if (disk.file[i].used && disk.file[i].dir == FILES_CDI) {
            spoil_file(&disk.file[i], all, p->number);
        }
    }
    if (p->number % 2 == 0) {
        world_kill(p->w);
        start(p);
    } else {
        world_pass(p->w, 2 * RECONCILE_MS);
    }
}

static void act_rest(struct play *p)
{
    for (unsigned dir = 0; dir < 2u; dir++) {
        disk_refuse((enum files_dir)dir, STATUS_OK);
    }
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    start_again(p);
    world_net(p->w, NET_OPEN, false);
    p->refused = false;
    p->store_refused = false;
    p->cdi_damaged = false;
    p->away = false;
    if (!store_sound(p)) {
        world_kill(p->w);
        start(p);
    }
    world_pass(p->w, REST_MS);
    for (unsigned i = 0; i < CLAIMS; i++) {
        struct claim *c = &p->claim[i];
        if (c->known == UNKNOWN && !c->allocated) {
            c->known = UNPREPARED;
        }
    }
    check_rest(p);
}

static void act_given_up(struct claim *c)
{
    if (c->allocated) {
        world_claim_delete(c->name);
        c->allocated = false;
        c->known = UNKNOWN; /* until rest */
    }
}

static void act_other(struct play *p, enum act act)
{
    switch (act) {
    case ACT_KILL:
        world_kill(p->w);
        start(p);
        break;
    case ACT_API_AWAY:
        world_net(p->w, NET_REFUSED, true);
        p->away = true;
        break;
    case ACT_API_BACK:
        world_net(p->w, NET_OPEN, false);
        world_pass(p->w, SECONDS(40));
        p->away = false;
        break;
    case ACT_WAIT:
        world_pass(p->w, p->number % MINUTES(3));
        break;
    default:
        act_rest(p);
        break;
    }
}

static void act(struct play *p, const struct action *a)
{
    struct claim *c = &p->claim[a->number % CLAIMS];
    p->number = a->number;
    switch (a->act) {
    case ACT_PREPARE:
        act_prepare(p, c);
        break;
    case ACT_UNPREPARE:
        act_unprepare(p, c);
        break;
    case ACT_REALLOCATE:
        act_reallocate(p, c);
        break;
    case ACT_FAULT:
        act_fault(p);
        return; /* it waits for a call */
    case ACT_REBOOT:
        act_reboot(p);
        break;
    case ACT_REFUSE:
        act_refuse(p);
        break;
    case ACT_ROT:
    case ACT_ROT_OLD:
        act_rot(p, c, a->act == ACT_ROT);
        break;
    case ACT_ROT_HEADER:
    case ACT_STORE_GONE:
    case ACT_STORE_ZEROS:
    case ACT_STORE_CUT:
        act_store(p, a->act);
        break;
    case ACT_CDI_GONE:
    case ACT_CDI_EDITED:
        act_cdi(p, a->act == ACT_CDI_GONE);
        break;
    case ACT_GIVEN_UP:
        act_given_up(c);
        break;
    default:
        act_other(p, a->act);
        break;
    }
    start_again(p);
    if (disk.fault == FAULT_NONE) {
        check_always(p);
    }
}

/* --- one schedule --- */

static void play(struct world *w, struct row *r, uint64_t seed, const struct list *l)
{
    static const struct action rest = {.act = ACT_REST};
    struct play p = {.w = w, .r = r};
    world_new(w, seed);
    r->begin_ms = w->now_ms;
    w->settings.reconcile_ms = RECONCILE_MS;
    world_devices(w, DEVICES + 1, false);
    world_claim_put("spare", "claim-uid-spare", SPARE);
    start(&p);
    world_pass(w, SECONDS(30));
    for (unsigned i = 0; i < l->count && !r->failed; i++) {
        if (!l->action[i].left_out) {
            world_note(w, acts[l->action[i].act].name, "");
            act(&p, &l->action[i]);
        }
    }
    world_note(w, acts[ACT_REST].name, "");
    act(&p, &rest);
}

/* Leaves out every action without which the schedule still fails. */
static void shrink(struct world *w, uint64_t seed, struct list *l)
{
    for (unsigned i = l->count; i > 0; i--) {
        struct row r = {.name = "shrinking", .recovery_ms = NEVER};
        l->action[i - 1].left_out = true;
        play(w, &r, seed, l);
        l->action[i - 1].left_out = r.failed;
    }
}

static void print_failure(struct world *w, uint64_t seed, struct list *l, bool loud)
{
    struct row r = {.name = "claims", .recovery_ms = NEVER};
    shrink(w, seed, l);
    play(w, &r, seed, l);
    (void)printf("FAIL  claims, seed %llu: %s\n", (unsigned long long)seed, r.why);
    for (unsigned i = 0; i < l->count; i++) {
        if (!l->action[i].left_out) {
            (void)printf("      %2u %s %llu\n", i, acts[l->action[i].act].name,
                         (unsigned long long)(l->action[i].number % CLAIMS));
        }
    }
    world_show_log(w, loud ? UINT32_MAX : 20);
    (void)printf("      (make sim CLAIMS=%llu)\n", (unsigned long long)seed);
}

void claim_runs(struct world *w, struct totals *t, const struct share *share, bool loud)
{
    uint64_t seed = share->first;
    for (; seed <= share->last && t->failed < FAILURES_MAX; seed += share->stride) {
        struct list l;
        struct row r = {.name = "claims", .recovery_ms = NEVER};
        world_new(w, seed);
        list_make(w, &l);
        play(w, &r, seed, &l);
        t->seeds++;
        t->steps += w->steps;
        t->ms += w->now_ms - r.begin_ms;
        if (r.failed) {
            t->failed++;
            print_failure(w, seed, &l, loud);
        }
    }
}
