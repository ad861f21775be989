/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random schedules of claims: prepares and unprepares while the process is killed, the node
 * reboots, the disk fails, the store rots or is removed, CDI files vanish, listings of them end
 * early, the kubelet's checkpoint is absent, old or damaged, and the API server is away. After
 * every action what must always hold is looked at: no claim that was answered is lost, none that
 * was unprepared is back, no core is held twice, and an agent that says ready prepares.
 * At rest, CDI files are those of the claims that are held, and nothing is held that is gone from
 * the API server. In some schedules a second agent comes and goes, as in a rolling update: then
 * never two own the claim store, only the owner writes slices, and in an update without faults each
 * call is answered well, and soon. A schedule is a list made from its seed before it is played: one
 * that fails is played again without one action after the other, and what is left is printed.
 */
#include <stdio.h>
#include <string.h>

#include "agent/state.h"
#include "cfg/identity.h"
#include "tests/sim/disk/sim_disk.h"
#include "tests/sim/virtual/steps.h"
#include "tests/sim/virtual/claims.h"

#define DEVICES 6     /* fewer than claims: they meet */
#define SPARE DEVICES /* the last one, that only the look at readiness takes */
#define ABSENT (SPARE + 2)
#define RECONCILE_MS SECONDS(60)
/* At rest: two looks at the API server for each claim, and the waits of retries before. */
#define REST_MS MINUTES(8)
/* Schedules that may fail before a run ends: each is shrunk, and the first ones say enough. */
#define FAILURES_MAX 2

/* --- what is known of each claim --- */

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

/* --- actions --- */

bool store_sound(const struct play *p)
{
    bool sound = !p->damaged;
    for (unsigned i = 0; i < CLAIMS; i++) {
        sound = sound && !p->claim[i].rotted;
    }
    return sound;
}

static void kill_all(struct play *p)
{
    world_kill(p->w);
    if (p->w->second != NULL) {
        world_kill(p->w->second);
    }
}

/* What is read from a CDI file waits for an unprepare, whether the kubelet asked for it or not. */
static void leave_to_file(struct claim *c)
{
    c->from_file = c->waits || c->listed;
    c->freed = c->freed || (c->there && c->known == UNKNOWN);
}

/* So does what one half names, with no CDI file to say that the other one was older. */
static void leave_to_half(struct claim *c)
{
    char name[CDI_FILE_NAME_CAP];
    cdi_file_name(DRIVER_NEURON, c->uid, name);
    if (c->worn && disk_find(FILES_CDI, name) == NULL) {
        leave_to_file(c);
    }
    c->worn = false;
}

static void start(struct play *p)
{
    kill_all(p);
    for (unsigned i = 0; i < CLAIMS; i++) {
        leave_to_half(&p->claim[i]);
    }
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
        c->round += c->there ? 0u : 1u;
        c->there = false;
        c->unfit = false;
        (void)snprintf(c->name, sizeof c->name, "claim-%u", i);
        (void)snprintf(c->uid, sizeof c->uid, "claim-uid-%u-%u", i, c->round);
        world_claim_put(c->name, c->uid, device_number(c->device), false);
    }
}

static void reserve(struct claim *c, bool reserved)
{
    c->reserved = reserved;
    if (c->allocated) {
        world_claim_put(c->name, c->uid, c->unfit ? ABSENT : device_number(c->device), reserved);
    }
}

/* Whether the agent may hold the claim: it was prepared, or is listed while its pod waits. */
static bool may_hold(const struct play *p, const struct claim *c)
{
    return c->known != UNPREPARED || is_held(p, c);
}

/* What is held of the claim is not what is allocated to it now. */
static void moves(const struct play *p, struct claim *c)
{
    c->moved = true;
    if (c->known == PREPARED && c->boot != p->boot) {
        c->known = UNKNOWN; /* it gives way to a claim that has its old device */
    }
}

static void act_reallocate(struct play *p, struct claim *c)
{
    unsigned device = (unsigned)(p->number / CLAIMS % DEVICES);
    if (c->allocated && !device_taken(p, device, c)) {
        if (c->moved || (may_hold(p, c) && device != c->device)) {
            moves(p, c);
        }
        c->device = device;
        c->unfit = false;
        c->given = (c->listed && !is_held(p, c)) ? 0u : c->given;
        reserve(c, c->reserved);
    }
}

/* The device that it had stays its own here: it may still be held. */
static void act_unfit(struct play *p, struct claim *c)
{
    if (c->allocated) {
        if (may_hold(p, c)) {
            moves(p, c);
        }
        c->known = c->listed ? UNKNOWN : c->known; /* its old device nobody can tell any more */
        c->unfit = true;
        reserve(c, c->reserved);
    }
}

/* Whether nothing stands in the way of a claim that is prepared again. */
static bool is_simple(const struct play *p, const struct claim *c)
{
    const struct ledger *l = agent_of(p)->ledger;
    bool listed = !l->unlisted && (l->usable || !p->away); /* a store that opens may ask for it */
    listed = listed && disk.list_cut == 0u;
    bool sound = !p->refused && !p->damaged && !c->rotted && !c->moved && listed;
    return c->known == PREPARED && sound && disk.fault == FAULT_NONE;
}

/* Whether a prepare is refused, and nothing of the claim is held before and after. */
static bool is_refused(const struct claim *c)
{
    return c->unfit && c->known == UNPREPARED && !c->waits && disk.fault == FAULT_NONE;
}

static void prepared(const struct play *p, struct claim *c)
{
    c->given = check_allocation(p, c);
    c->known = PREPARED;
    c->boot = p->boot;
    c->moved = c->moved && p->away;
    c->listed = c->listed && p->store_refused;
    c->from_file = c->listed; /* whether its record says that it was listed is not known */
}

/* The call may have replaced a record that was allocated again, all the same. */
static void not_prepared(const struct play *p, struct claim *c)
{
    if (c->moved && !c->unfit && !p->away) {
        c->given = 0;
    }
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
    bool nothing = is_refused(c);
    reserve(c, true);
    c->waits = false;
    c->from_file = c->from_file || c->listed; /* until it is answered well */
    (void)world_call(p->w, false, c->name, c->uid);
    bool well = answer(p);
    check_prepared(p, c, well, simple);
    if (well) {
        prepared(p, c);
    } else if (c->known == UNPREPARED && !nothing) {
        c->known = UNKNOWN;
    } else {
        not_prepared(p, c);
    }
}

/* A record that waits for its CDI file to go does not count beside a damaged half. */
static bool lasts(const struct play *p, const struct claim *c)
{
    return !cdi_refused(p) || (!p->damaged && !c->rotted);
}

static void act_unprepare(struct play *p, struct claim *c)
{
    if (c->uid[0] == 0) {
        return;
    }
    (void)world_call(p->w, true, c->name, c->uid);
    c->known = (answer(p) && lasts(p, c)) ? UNPREPARED : UNKNOWN;
    c->waits = false;
    c->freed = c->freed && c->known != UNPREPARED;
    reserve(c, c->reserved && c->known != UNPREPARED);
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
    unsigned kind = list_modelled ? p->number % 2u * 2u : p->number % 7u;
    if (!p->refused) {
        disk_fault(all[kind], 1u + (unsigned)(p->number / 7u % 8u), false, HOST_IO);
    }
}

static void doubt(struct claim *c)
{
    c->known = UNKNOWN;
    c->freed = c->freed || c->there;
}

/* What a reboot may undo; `unflushed`: the store did not take everything. */
static void doubt_claims(struct play *p, bool unflushed)
{
    for (unsigned i = 0; i < CLAIMS; i++) {
        struct claim *c = &p->claim[i];
        bool doubtful = c->rotted || p->damaged || c->moved ||
                        (unflushed && c->known == UNPREPARED && c->uid[0] != 0);
        if (doubtful) {
            doubt(c);
        }
    }
}

static void act_reboot(struct play *p)
{
    kill_all(p);
    disk_power_cut(NULL, NULL);
    for (unsigned i = 0; i < disk.top; i++) {
        if (disk.file[i].used && disk.file[i].dir == FILES_CDI) {
            disk_unlink(&disk.file[i]); /* /run is in memory */
        }
    }
    steps_see(STEP_FAULT);
    doubt_claims(p, p->store_refused);
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

/* --- damage, and no fault while what is left is needed --- */

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

static void act_rot_one(struct play *p, struct claim *c, bool newest)
{
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    int slot = is_held(p, c) ? ledger_find(agent_of(p), c->uid) : -1;
    if (slot >= 0 && store_file() != NULL && !p->cdi_damaged) {
        unsigned half = agent_of(p)->ledger->entry[slot].half;
        flip(store_file(),
             store_offset((unsigned)slot, newest ? half : 1u - half) + p->number / CLAIMS % 200u);
        c->rotted = c->rotted || newest;
        c->worn = c->worn || !newest;
    }
}

/* What was unprepared while a directory refused writes is known from the other one alone. */
static void forget_unprepared(struct play *p)
{
    for (unsigned i = 0; i < CLAIMS; i++) {
        struct claim *c = &p->claim[i];
        if (c->known == UNPREPARED && c->uid[0] != 0) {
            doubt(c);
        }
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

/* A round of reconciliation sees it, and makes it again from memory and CDI files. */
static void meet_overwritten(struct play *p)
{
    world_pass(p->w, 3 * RECONCILE_MS);
    p->damaged = !store_is_whole();
    expect(p->r, !p->damaged, "the store is not made again");
}

static void left_to_files(struct play *p)
{
    for (unsigned i = 0; i < CLAIMS; i++) {
        leave_to_file(&p->claim[i]);
    }
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
    left_to_files(p);
    spoil_store(p, f, act);
    steps_see(STEP_FAULT);
    if (p->number / 7 % 2 == 0) {
        start(p);
    } else if (act == ACT_STORE_GONE && !p->refused) {
        meet_removed(p);
    } else if (p->number / 14 % 2 == 0 && !p->refused) {
        meet_overwritten(p);
    } else {
        /* nobody notices at once */
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

/* Whether the store has the claim too. */
static bool is_stored(const struct play *p, const struct claim *c)
{
    int slot = is_held(p, c) ? ledger_find(agent_of(p), c->uid) : -1;
    return slot >= 0 && !agent_of(p)->ledger->entry[slot].refused;
}

/*
 * What a prepare that was cut off or refused left behind is no witness of a claim, or, where the
 * store takes no writes, the only one.
 */
static bool is_leftover(const struct play *p, const struct disk_file *f)
{
    char name[CDI_FILE_NAME_CAP];
    bool held = false;
    for (unsigned i = 0; i < CLAIMS; i++) {
        cdi_file_name(DRIVER_NEURON, p->claim[i].uid, name);
        held = held || (strcmp(f->name, name) == 0 && is_stored(p, &p->claim[i]));
    }
    return !held;
}

static void act_cdi(struct play *p, bool all)
{
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    p->cdi_damaged = cdi_refused(p);
    if (all && p->store_refused) {
        forget_unprepared(p); /* of some claims the tombstone was here alone */
    }
    for (unsigned i = 0; i < disk.top && store_sound(p); i++) {
        if (disk.file[i].used && disk.file[i].dir == FILES_CDI &&
            (all || !is_leftover(p, &disk.file[i]))) {
            spoil_file(&disk.file[i], all, p->number);
        }
    }
    steps_see(STEP_FAULT);
    if (p->number % 2 == 0) {
        start(p);
    } else {
        world_pass(p->w, 2 * RECONCILE_MS);
    }
}

/* Of the CDI root: all files go, that of one claim, or none. */
static void lose_files(const char *uid, uint64_t which)
{
    char name[CDI_FILE_NAME_CAP];
    cdi_file_name(DRIVER_NEURON, uid, name);
    for (unsigned i = 0; i < disk.top; i++) {
        struct disk_file *f = &disk.file[i];
        bool own = f->used && strcmp(f->name, name) == 0;
        if (f->used && f->dir == FILES_CDI && (which == 0u || (own && which == 1u))) {
            disk_unlink(f);
        }
    }
}

static void rot_slot(unsigned slot, unsigned half, uint64_t kind)
{
    flip(store_file(), store_offset(slot, half) + kind % 24u);
    if (kind % 2u == 0u) {
        flip(store_file(), store_offset(slot, 1u - half) + kind % 23u);
    }
    if (kind / 2u % 2u == 0u) {
        flip(store_file(), kind / 4u % 2u * STORE_HEADER_BYTES / 2u + kind % 32u);
    }
}

/* What is left of the claim, and the API server, have its device. */
static void only_listed(struct claim *c)
{
    c->known = (c->freed || c->unfit || !c->allocated) ? UNKNOWN : c->known;
    c->freed = c->freed || (c->there && c->known == UNKNOWN);
    c->listed = c->listed || c->known == PREPARED;
    c->from_file = c->from_file || c->listed;
    c->given = c->moved ? 0u : c->given;
}

/*
 * The newest half of a record, and with it a header copy, the older half, or the claim's CDI file,
 * or all CDI files. An older record may come back.
 */
static void act_rot_more(struct play *p, struct claim *c)
{
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    int slot = is_held(p, c) ? ledger_find(agent_of(p), c->uid) : -1;
    if (slot >= 0 && store_file() != NULL && !p->refused && store_sound(p)) {
        unsigned half = agent_of(p)->ledger->entry[slot].half;
        uint64_t kind = p->number / CLAIMS;
        kill_all(p);
        forget_unprepared(p);
        left_to_files(p);
        rot_slot((unsigned)slot, half, kind);
        lose_files(c->uid, kind / 8u % 3u);
        only_listed(c);
        start(p);
    }
}

static void act_rot(struct play *p, struct claim *c, enum act act)
{
    if (act == ACT_ROT_MORE) {
        act_rot_more(p, c);
    } else {
        act_rot_one(p, c, act == ACT_ROT);
    }
}

/* What was prepared and is not reserved at the API server was given up. */
static void act_all_gone(struct play *p)
{
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    if (p->refused) {
        return;
    }
    kill_all(p);
    for (unsigned i = 0; i < disk.top; i++) {
        if (disk.file[i].used) {
            disk_unlink(&disk.file[i]);
        }
    }
    steps_see(STEP_FAULT);
    for (unsigned i = 0; i < CLAIMS; i++) {
        struct claim *c = &p->claim[i];
        c->known = (c->freed || c->unfit) ? UNKNOWN : c->known;
        c->freed = false;
        c->listed = c->known == PREPARED;
        c->given = allocated_number(c);
    }
    start(p);
}

/* What is not known of a claim that is there, but not allocated, nobody will tell. */
static void delete_freed(struct play *p)
{
    for (unsigned i = 0; i < CLAIMS; i++) {
        struct claim *c = &p->claim[i];
        if (c->freed && c->known == UNKNOWN) {
            world_claim_delete(c->name);
            c->there = false;
            c->freed = false;
        }
    }
}

/* What the kubelet's checkpoint and a listing of the CDI root say is all there is. */
static void heal_witnesses(void)
{
    disk_kubelet_state(NULL, 0, UINT64_MAX, false);
    disk.list_cut = 0;
}

static void act_rest(struct play *p)
{
    heal_witnesses();
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
        start(p);
    }
    delete_freed(p);
    world_pass(p->w, REST_MS);
    for (unsigned i = 0; i < CLAIMS; i++) {
        struct claim *c = &p->claim[i];
        if (c->known == UNKNOWN && !c->allocated) {
            c->known = UNPREPARED;
        }
    }
    check_rest(p);
}

/* --- what else happens --- */

static void act_waiting(struct play *p, struct claim *c)
{
    if (c->known != UNPREPARED) {
        return;
    }
    if (!c->allocated) {
        allocate(p, c);
    }
    reserve(c, c->allocated);
    c->waits = c->allocated;
}

/*
 * What the kubelet asked for waits for its unprepare, as long as anything but the list of claims
 * says so.
 */
static void act_freed(struct claim *c)
{
    if (!c->allocated || c->known == UNKNOWN) {
        return;
    }
    c->allocated = false;
    c->reserved = false;
    c->freed = (c->known == PREPARED && !c->listed) || c->from_file;
    c->known = (c->waits || c->listed) ? UNKNOWN : c->known;
    c->waits = false;
    c->there = true;
    world_claim_put(c->name, c->uid, WORLD_NO_DEVICE, false);
}

static void act_given_up(struct claim *c)
{
    if (c->allocated) {
        world_claim_delete(c->name);
        c->allocated = false;
        c->waits = false;
        c->known = UNKNOWN; /* until rest */
    }
}

static void act_checkpoint(const struct play *p)
{
    unsigned kind = (unsigned)(p->number / CLAIMS % 4u);
    uint64_t now_ms = WALL_MS(p->w->now_ms);
    disk_kubelet_state(NULL, 0, kind == 0u ? UINT64_MAX : (kind == 1u ? 1u : now_ms), kind == 2u);
    disk.kubelet_state_status = kind == 3u ? HOST_ABSENT : STATUS_OK;
}

static void act_other(struct play *p, enum act act)
{
    switch (act) {
    case ACT_CHECKPOINT:
        act_checkpoint(p);
        break;
    case ACT_LIST_CUT:
        disk.list_cut = 1u + (unsigned)(p->number / CLAIMS % 2u);
        break;
    case ACT_KILL:
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
    case ACT_UNFIT:
        (a->act == ACT_UNFIT ? act_unfit : act_reallocate)(p, c);
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
    case ACT_ROT_MORE:
        act_rot(p, c, a->act);
        break;
    case ACT_ROT_HEADER:
    case ACT_STORE_GONE:
    case ACT_STORE_ZEROS:
    case ACT_STORE_CUT:
        act_store(p, a->act);
        break;
    case ACT_ALL_GONE:
        act_all_gone(p);
        break;
    case ACT_CDI_GONE:
    case ACT_CDI_EDITED:
        act_cdi(p, a->act == ACT_CDI_GONE);
        break;
    case ACT_WAITING:
        act_waiting(p, c);
        break;
    case ACT_FREED:
        act_freed(c);
        break;
    case ACT_GIVEN_UP:
        act_given_up(c);
        break;
    default:
        (a->act >= ACTS_ALONE ? pair_act : act_other)(p, a->act);
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
    static struct world second;
    struct play p = {.w = w, .r = r};
    world_new(w, seed);
    steps_schedule(w);
    r->begin_ms = w->now_ms;
    w->settings.reconcile_ms = RECONCILE_MS;
    world_parted(w, seed % 3 == 0);
    if (PAIRED(seed)) {
        world_pair(w, &second);
    }
    world_devices(w, DEVICES + 1, false);
    world_claim_put("spare", SPARE_UID, SPARE, false);
    start(&p);
    world_pass(w, SECONDS(30));
    for (unsigned i = 0; i < l->count && !r->failed; i++) {
        if (!l->action[i].left_out) {
            world_note(w, act_name(l->action[i].act), "");
            act(&p, &l->action[i]);
        }
    }
    world_note(w, act_name(ACT_REST), "");
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
            (void)printf("      %2u %s %llu\n", i, act_name(l->action[i].act),
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
