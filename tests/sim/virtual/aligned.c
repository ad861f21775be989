/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random schedules of claims with devices of both drivers: each driver prepares and unprepares its
 * part, by itself or at the same moment as the other, while the disk fails, the process is killed,
 * the node reboots, the store of either driver is removed or zeroed, CDI files vanish and the API
 * server is away; while the kubelet's checkpoint is absent, old or damaged, listings end early, EFA
 * devices vanish and get other uverbs nodes, containers outlive their pods, and --efa is switched
 * off while claims are held. In each fourth schedule a second agent comes and goes, as in a rolling
 * update.
 *
 * After each action: what a driver answered as prepared it holds, with the device that was
 * allocated and no other driver's, and its CDI file is its own; a claim that vanished is held as
 * long as nothing says that the kubelet is done with it; what was unprepared is not held; no device
 * is held twice, and none is granted while a container of another claim uses it. At rest: each
 * driver's part has its CDI file with the node that its device has, and what is gone from the API
 * server is held by neither. A schedule follows from its seed alone.
 */
#include <stdio.h>
#include <string.h>

#include "agent/state.h"
#include "base/assert.h"
#include "cfg/identity.h"
#include "tests/sim/disk/sim_disk.h"
#include "tests/sim/virtual/claims.h"

#define ALIGNED 6 /* claims, and devices of each driver that they take */
#define ACTIONS 40
/* Each fourth schedule has a second agent. */
#define PAIRED(seed) ((seed) % 4 == 0)
/* Time for a listing that was cut to be repeated (RECONCILE_LIST_MS). */
#define LIST_AGAIN_MS SECONDS(10)
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
    unsigned boot[DRIVERS]; /* in which it was prepared last */
    char name[WORLD_CLAIM_CAP];
    char uid[WORLD_CLAIM_CAP];
};

/* The kubelet's checkpoint as a witness; CHECKPOINT_GOOD lists no claim and is always newer. */
enum checkpoint {
    CHECKPOINT_GOOD,
    CHECKPOINT_ABSENT,
    CHECKPOINT_OLD,
    CHECKPOINT_DAMAGED,
    CHECKPOINT_LISTS, /* all claims that are, or may be, prepared */
    CHECKPOINTS
};

struct aligned {
    struct world *w;
    struct row *r;
    struct pair pair[ALIGNED];
    enum checkpoint checkpoint;
    char user[ALIGNED]
             [WORLD_CLAIM_CAP]; /* by Neuron device: UID of a claim whose container lives */
    bool away;
    unsigned boot;
};

static const char *const store_name[DRIVERS] = {STORE_FILE_NAME, EFA_STORE_NAME};

/* The driver in the process that has its claim store; if none has, in one that runs. */
static struct agent *driver_at(const struct aligned *p, unsigned driver)
{
    const struct world *w = p->w;
    const struct world *second = w->second;
    bool efa = driver == DRIVER_EFA;
    bool other = second != NULL && second->agent != NULL &&
                 (w->agent == NULL || (efa ? world_owns_efa : world_owns)(second));
    w = other ? second : w;
    return efa ? w->efa : w->agent;
}

/* Whether it runs: that of the EFA devices has ended where --efa is off and it holds nothing. */
static bool is_there(const struct aligned *p, unsigned driver)
{
    return driver_at(p, driver) != NULL;
}

static bool runs(const struct aligned *p)
{
    return p->w->agent != NULL || (p->w->second != NULL && p->w->second->agent != NULL);
}

static bool both_run(const struct aligned *p)
{
    return p->w->agent != NULL && p->w->second != NULL && p->w->second->agent != NULL;
}

/* The EFA device as the last look found it; NULL: it is not there. */
static const struct found_efa *function_of(const struct aligned *p, unsigned device)
{
    for (unsigned i = 0; i < p->w->efas.count; i++) {
        if (p->w->efas.efa[i].address == world_efa_address(device)) {
            return &p->w->efas.efa[i];
        }
    }
    return NULL;
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

/* A CDI file that can be read is that of its claim, with the device that was allocated. */
static void check_own_file(const struct aligned *p, unsigned driver, const struct pair *c)
{
    static struct claim_record file;
    uint32_t address = driver == DRIVER_EFA ? world_efa_address(c->device[driver]) : 0u;
    if (ledger_read_cdi(driver_at(p, driver), c->uid, &file) == STATUS_OK) {
        expect(p->r,
               strcmp(file.id.uid, c->uid) == 0 && file.driver == (enum driver_kind)driver &&
                   file.count == 1u && file.result[0].efa_address == address &&
                   (driver == DRIVER_EFA || file.result[0].number == c->device[driver]),
               "driver %u: the CDI file of claim %s is another claim's", driver, c->uid);
    }
}

/* By PCI address, because numbers and uverbs nodes of EFA devices change. */
static void check_functions(const struct aligned *p)
{
    if (!is_there(p, DRIVER_EFA)) {
        return;
    }
    const struct ledger *l = driver_at(p, DRIVER_EFA)->ledger;
    uint32_t seen[CLAIMS_MAX];
    unsigned count = 0;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &l->entry[i];
        bool one =
            e->state == LEDGER_HELD && e->functions != 0u && e->functions != LEDGER_ALL_FUNCTIONS;
        uint32_t address = one ? l->function[__builtin_ctzll(e->functions)].address : 0u;
        for (unsigned k = 0; one && k < count; k++) {
            expect(p->r, seen[k] != address, "an EFA device of claim %s is held twice",
                   l->id[i].uid);
        }
        seen[count] = address;
        count += one ? 1u : 0u;
    }
}

static void check_numbers(const struct aligned *p)
{
    const struct ledger *l = driver_at(p, DRIVER_NEURON)->ledger;
    uint64_t seen = 0;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        bool held = l->entry[i].state == LEDGER_HELD;
        expect(p->r, !held || (seen & l->entry[i].numbers) == 0u,
               "a Neuron device of claim %s is held twice", l->id[i].uid);
        seen |= held ? l->entry[i].numbers : 0u;
    }
}

/* A driver that has ended holds nothing that was prepared. */
static void check_ended(const struct aligned *p)
{
    for (unsigned i = 0; i < ALIGNED && !is_there(p, DRIVER_EFA); i++) {
        expect(p->r, p->pair[i].known[DRIVER_EFA] != PREPARED,
               "the EFA driver has ended, and claim %s is prepared", p->pair[i].uid);
    }
}

/* Before the claims were listed, or the CDI root to its end, what is held is not all known. */
static void check_driver(const struct aligned *p, unsigned driver)
{
    const struct agent *a = driver_at(p, driver);
    bool known = is_there(p, driver) && a->ledger->usable && !a->ledger->unlisted &&
                 a->recovery->reconcile.complete;
    for (unsigned i = 0; i < ALIGNED && known; i++) {
        if (p->pair[i].uid[0] != '\0') {
            check_part(p, driver, &p->pair[i]);
            check_own_file(p, driver, &p->pair[i]);
        }
    }
}

static void check(const struct aligned *p)
{
    check_numbers(p);
    check_functions(p);
    check_ended(p);
    for (unsigned d = 0; d < DRIVERS; d++) {
        check_driver(p, d);
    }
    expect(p->r, p->w->two_owners == 0, "two agents had a claim store");
    expect(p->r, !p->w->exited && (p->w->second == NULL || !p->w->second->exited),
           "the agent ended");
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
    bool unsure = driver_at(p, driver)->ledger->entry[slot].record == RECORD_UNSURE;
    expect(p->r, unsure || (s == STATUS_OK && f != NULL),
           "driver %u: claim %s has no record or no file", driver, c->uid);
    if (s == STATUS_OK && f != NULL) {
        disk_get(f, 0, &stored);
        const struct cdi_host host = {.dev_root = p->w->settings.dev_root};
        bool whole = cdi_write(record, &host, &wanted) == STATUS_OK;
        expect(p->r, whole && view_equal(writer_view(&wanted), writer_view(&stored)),
               "driver %u: claim %s has another file than its record", driver, c->uid);
        const struct found_efa *found =
            driver == DRIVER_EFA ? function_of(p, c->device[driver]) : NULL;
        expect(p->r, found == NULL || record->result[0].uverbs == found->number,
               "claim %s has another uverbs node than its device", c->uid);
    }
    return f != NULL;
}

/* How many files the parts that the driver holds have, each of a claim that is there. */
static unsigned check_files(const struct aligned *p, unsigned driver)
{
    struct agent *a = driver_at(p, driver);
    unsigned held = 0;
    expect(p->r, a->ledger->usable, "driver %u: the store is not usable", driver);
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

static void kill_all(const struct aligned *p)
{
    world_kill(p->w);
    if (p->w->second != NULL) {
        world_kill(p->w->second);
    }
}

static void start(struct aligned *p)
{
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    kill_all(p);
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

/* Both drivers know what is held: none waits for the list of claims, or of CDI files. */
static bool is_listed(const struct aligned *p)
{
    bool listed = true;
    for (unsigned d = 0; d < DRIVERS; d++) {
        const struct agent *a = driver_at(p, d);
        listed = listed && (a == NULL || (!a->ledger->unlisted && a->recovery->reconcile.complete));
    }
    return listed;
}

/* Whether a container of another claim has memory of the Neuron device. */
static bool is_used(const struct aligned *p, const struct pair *c)
{
    const char *user = p->user[c->device[DRIVER_NEURON]];
    return user[0] != '\0' && strcmp(user, c->uid) != 0;
}

/* Whether nothing stands in the way of a call for the claim. */
static bool is_clean(const struct aligned *p, const struct pair *c, bool unprepare)
{
    /* One that has gone may be held with the uverbs node that another one has by now. */
    bool all = p->w->efas.count == BOARD_GROUPED_DEVICES;
    bool there = !is_used(p, c) && all && p->w->settings.efa;
    return !p->away && disk.fault == FAULT_NONE && is_listed(p) && !both_run(p) &&
           (unprepare || there);
}

static bool is_done(const struct aligned *p, const bool asked[DRIVERS])
{
    return (!asked[DRIVER_NEURON] || p->w->answered.done) &&
           (!asked[DRIVER_EFA] || p->w->efa_answered.done);
}

static void wait_answers(const struct aligned *p, const bool asked[DRIVERS])
{
    world_settle(p->w);
    for (unsigned s = 0; s < ANSWER_SECONDS && runs(p) && !is_done(p, asked); s++) {
        world_pass(p->w, SECONDS(1));
    }
}

/* A claim that was prepared at no time: its devices are free for it. */
static void check_granted(const struct aligned *p, const struct pair *c, unsigned driver)
{
    bool taken = driver == DRIVER_NEURON && is_used(p, c);
    bool off = driver == DRIVER_EFA && !p->w->settings.efa && !both_run(p);
    expect(p->r, !off || c->known[driver] != UNPREPARED, "claim %s was prepared without --efa",
           c->uid);
    expect(p->r, !taken || c->known[driver] != UNPREPARED,
           "claim %s was granted a device that a container of claim %s uses", c->uid,
           p->user[c->device[DRIVER_NEURON]]);
}

/* What an answer, or none, says of a driver's part; one that was prepared stays so. */
static void learn(struct aligned *p, struct pair *c, unsigned driver, bool unprepare, bool clean)
{
    const struct answered *a = driver == DRIVER_EFA ? &p->w->efa_answered : &p->w->answered;
    bool well = a->done && a->well;
    if (well && !unprepare) {
        check_granted(p, c, driver);
    }
    expect(p->r, well || !clean, "driver %u: nothing is wrong, and claim %s: %s", driver, c->uid,
           a->text);
    if (well) {
        c->known[driver] = unprepare ? UNPREPARED : PREPARED;
        c->boot[driver] = p->boot;
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
    bool clean = is_clean(p, c, unprepare);
    for (unsigned d = 0; d < DRIVERS; d++) {
        bool wanted = (drivers >> d & 1u) != 0u;
        asked[d] = wanted && world_ask(p->w, (enum driver_kind)d, unprepare, c->name, c->uid);
        expect(p->r, asked[d] || !wanted || !clean || c->known[d] != PREPARED,
               "driver %u: the kubelet cannot unprepare claim %s", d, c->uid);
    }
    wait_answers(p, asked);
    for (unsigned d = 0; d < DRIVERS; d++) {
        if (asked[d]) {
            learn(p, c, d, unprepare, clean);
        }
    }
    if (!runs(p)) {
        start(p); /* a fault of the disk ended the process */
    }
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
}

static void end_containers(struct aligned *p)
{
    memset(p->user, 0, sizeof p->user);
    memset(disk.memory, 0, sizeof disk.memory);
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

/*
 * What is gone from the API server may be released where a witness says that the kubelet does not
 * unprepare it: the checkpoint, or a boot since it was prepared.
 */
static void forget_gone(struct aligned *p)
{
    for (unsigned i = 0; i < ALIGNED * DRIVERS; i++) {
        struct pair *c = &p->pair[i / DRIVERS];
        enum known *known = &c->known[i % DRIVERS];
        bool over = p->checkpoint == CHECKPOINT_GOOD || c->boot[i % DRIVERS] != p->boot;
        *known = (!c->allocated && over && *known == PREPARED) ? UNKNOWN : *known;
    }
}

/*
 * CDI files go that were the only witness left, as those of a store that was lost before the CDI
 * root could be listed to its end.
 */
static void forget_unread(struct aligned *p)
{
    for (unsigned i = 0; i < ALIGNED * DRIVERS; i++) {
        struct pair *c = &p->pair[i / DRIVERS];
        enum known *known = &c->known[i % DRIVERS];
        bool held = is_there(p, i % DRIVERS) && ledger_find(driver_at(p, i % DRIVERS), c->uid) >= 0;
        *known = (!held && *known == PREPARED) ? UNKNOWN : *known;
    }
}

/* It ends all containers, too. */
static void act_reboot(struct aligned *p)
{
    forget_unread(p);
    kill_all(p);
    end_containers(p);
    disk_power_cut(NULL, NULL);
    remove_files(); /* /run is in memory */
    p->boot++;
    forget_gone(p);
    (void)snprintf(p->w->found.boot_id, sizeof p->w->found.boot_id,
                   "6b1d58d4-7a0f-4c7e-9d3a-%012u\n", p->boot);
    start(p);
}

/* The store of one driver, or of both, is removed or zeroed: the CDI files know what it held. */
static void act_store(struct aligned *p, unsigned drivers, bool zeroed)
{
    static const uint8_t zeros[DISK_PAGE];
    kill_all(p);
    for (unsigned d = 0; d < DRIVERS; d++) {
        struct disk_file *f = disk_find(FILES_STATE, store_name[d]);
        if (f == NULL || (drivers >> d & 1u) == 0u) {
            continue;
        }
        zeroed = zeroed || !p->w->settings.efa; /* by the file the agent knows that it had --efa */
        for (uint64_t at = 0; at < f->len && zeroed; at += sizeof zeros) {
            disk_set(f, at, view_of(zeros, sizeof zeros));
        }
        if (!zeroed) {
            disk_unlink(f);
        }
    }
    start(p);
}

static void set_checkpoint(struct aligned *p, enum checkpoint checkpoint)
{
    const char *uid[ALIGNED];
    unsigned count = 0;
    uint64_t now_ms = WALL_MS(p->w->now_ms);
    p->checkpoint = checkpoint;
    for (unsigned i = 0; i < ALIGNED && checkpoint == CHECKPOINT_LISTS; i++) {
        const struct pair *c = &p->pair[i];
        bool lives = c->known[DRIVER_NEURON] != UNPREPARED || c->known[DRIVER_EFA] != UNPREPARED;
        uid[count] = c->uid;
        count += lives ? 1u : 0u;
    }
    if (checkpoint == CHECKPOINT_GOOD) {
        disk_kubelet_state(NULL, 0, UINT64_MAX, false);
    } else {
        disk_kubelet_state(uid, count, checkpoint == CHECKPOINT_OLD ? 1u : now_ms,
                           checkpoint == CHECKPOINT_DAMAGED);
    }
    disk.kubelet_state_status = checkpoint == CHECKPOINT_ABSENT ? HOST_ABSENT : STATUS_OK;
    forget_gone(p);
}

static enum checkpoint one_checkpoint(const struct aligned *p)
{
    uint64_t which = world_random(p->w, CHECKPOINTS);
    return (enum checkpoint)which;
}

/* The functions get each other's uverbs nodes, as after a reload of the kernel driver. */
static void act_renumber(struct aligned *p)
{
    struct found_efas *f = &p->w->efas;
    unsigned turn = 1u + (unsigned)world_random(p->w, BOARD_GROUPED_DEVICES - 1u);
    for (unsigned i = 0; i < f->count; i++) {
        f->efa[i].number = (uint16_t)((f->efa[i].number + turn) % BOARD_GROUPED_DEVICES);
    }
    world_efas_found(p->w);
    world_settle(p->w);
}

/* One of the functions that claims can have is gone; or all are back, with their first nodes. */
static void act_vanish(struct aligned *p)
{
    struct found_efas *f = &p->w->efas;
    unsigned at = (unsigned)world_random(p->w, ALIGNED);
    if (f->count < BOARD_GROUPED_DEVICES) {
        world_efa_devices(p->w);
    } else {
        f->count--;
        f->efa[at] = f->efa[f->count];
    }
    world_efas_found(p->w);
    world_settle(p->w);
}

/* A pod is deleted by force: all is over for kubelet and API server, but its container lives. */
static void act_outlives(struct aligned *p, struct pair *c)
{
    unsigned device = c->device[DRIVER_NEURON];
    if (!c->allocated || c->known[DRIVER_NEURON] != PREPARED || is_used(p, c)) {
        return;
    }
    disk.memory[device][0] = DISK_PAGE;
    text_set(p->user[device], sizeof p->user[device], c->uid);
    call(p, c, true, 3);
    world_claim_delete(c->name);
    c->allocated = false;
}

static void act_list_cut(struct aligned *p)
{
    disk.list_cut = disk.list_cut == 0u ? 1u + (unsigned)world_random(p->w, 2) : 0u;
    world_pass(p->w, LIST_AGAIN_MS);
}

/* By an upgrade of the chart: the DaemonSet's pod starts anew. */
static void switch_efa(struct aligned *p, bool on)
{
    p->w->settings.efa = on;
    if (p->w->second != NULL) {
        p->w->second->settings.efa = on;
    }
    start(p);
}

static void act_rest(struct aligned *p)
{
    if (!p->w->settings.efa) {
        switch_efa(p, true);
    }
    world_net(p->w, NET_OPEN, false);
    p->away = false;
    disk.list_cut = 0;
    end_containers(p);
    set_checkpoint(p, CHECKPOINT_GOOD);
    world_efa_devices(p->w);
    world_efas_found(p->w);
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
static void act_given_up(struct aligned *p, struct pair *c)
{
    if (c->allocated) {
        world_claim_delete(c->name);
        c->allocated = false;
    }
    forget_gone(p);
}

/* --- a second agent --- */

static void act_second(struct aligned *p)
{
    struct world *idle = p->w->agent == NULL ? p->w : p->w->second;
    if (idle->agent == NULL) {
        world_start(idle);
        world_pass(p->w, world_random(p->w, SECONDS(5)));
    }
}

static void act_end_one(struct aligned *p, bool killed)
{
    struct world *one = world_random(p->w, 2) == 0 ? p->w : p->w->second;
    if (!both_run(p)) {
        return;
    }
    if (killed) {
        world_kill(one);
        world_settle(p->w); /* the kubelet notices */
    } else {
        expect(p->r, world_stop(one, SECONDS(30)), "an agent does not stop");
    }
    world_pass(p->w, SECONDS(3));
}

static void act_pair(struct aligned *p)
{
    uint64_t what = p->w->second != NULL ? world_random(p->w, 4) : 4;
    if (what < 2) {
        act_second(p);
    } else if (what < 4) {
        act_end_one(p, what == 2);
    } else {
        world_pass(p->w, SECONDS(40));
    }
}

/* What no witness of a claim is, or says more than it seems to. */
static void act_doubtful(struct aligned *p, uint64_t what, unsigned i)
{
    switch (what) {
    case 0:
    case 1:
        set_checkpoint(p, one_checkpoint(p));
        break;
    case 2:
        act_list_cut(p);
        break;
    case 3:
        act_renumber(p);
        break;
    case 4:
        act_vanish(p);
        break;
    case 5:
        act_outlives(p, &p->pair[i]);
        break;
    case 6:
        end_containers(p);
        break;
    case 7:
        switch_efa(p, !p->w->settings.efa);
        break;
    default:
        act_pair(p);
        break;
    }
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
        forget_unread(p);
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
    uint64_t what = world_random(p->w, 37);
    unsigned i = (unsigned)world_random(p->w, ALIGNED);
    static const char *const other[] = {"killed",
                                        "reboot",
                                        "store lost",
                                        "CDI files go",
                                        "API server away",
                                        "API server back",
                                        "claim gone",
                                        "rest",
                                        "rest",
                                        "rest",
                                        "checkpoint",
                                        "checkpoint",
                                        "listing cut",
                                        "uverbs nodes",
                                        "function gone or back",
                                        "container stays",
                                        "containers end",
                                        "--efa on or off",
                                        "second or wait",
                                        "second or wait",
                                        "second or wait",
                                        "second or wait",
                                        "second or wait"};
    const char *name = what < 8 ? "prepare" : (what < 14 ? "unprepare" : other[what - 14]);
    world_note(p->w, name, p->pair[i].uid);
    if (what < 8) {
        act_prepare(p, i);
    } else if (what < 14) {
        act_unprepare(p, i);
    } else if (what < 24) {
        act_other(p, what - 14, i);
    } else {
        act_doubtful(p, what - 24, i);
    }
    check(p);
}

void aligned_play(struct world *w, struct row *r, uint64_t seed)
{
    static struct world second;
    struct aligned p = {.w = w, .r = r};
    world_new(w, seed);
    r->begin_ms = w->now_ms;
    w->settings.reconcile_ms = ALIGNED_RECONCILE_MS;
    world_efa(w);
    if (PAIRED(seed)) {
        world_pair(w, &second);
    }
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
