/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold in a schedule of claims; see claims.h. */
#include "tests/sim/virtual/claims.h"

#include <string.h>

#include "agent/serve/readiness.h"
#include "agent/state.h"
#include "cfg/identity.h"
#include "tests/sim/disk/sim_disk.h"

/* The kubelet has registered an agent that starts, and the store has changed hands. */
#define SETTLED_MS SECONDS(3)

struct agent *agent_of(const struct play *p)
{
    const struct world *second = p->w->second;
    bool other = second != NULL && (p->w->agent == NULL || world_owns(second));
    return other ? second->agent : p->w->agent;
}

bool two_run(const struct play *p)
{
    return p->w->agent != NULL && p->w->second != NULL && p->w->second->agent != NULL;
}

bool is_held(const struct play *p, const struct claim *c)
{
    return ledger_find(agent_of(p), c->uid) >= 0;
}

unsigned device_number(unsigned device)
{
    return world_parts ? device / 2u : device;
}

uint64_t allocated_number(const struct claim *c)
{
    return UINT64_C(1) << device_number(c->device);
}

/*
 * A claim without cores of its own has all of them. What is held by a guess blocks new claims; an
 * outline does not say that it was one.
 */
static void check_devices(const struct play *p)
{
    uint8_t seen[DEVICES_MAX] = {0};
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &agent_of(p)->ledger->entry[i];
        uint8_t cores = (e->cores != 0u) ? e->cores : UINT8_MAX;
        bool guess = e->guessed || (world_parts && e->record != RECORD_WHOLE);
        for (unsigned n = 0; n < DEVICES_MAX && e->state == LEDGER_HELD && !guess; n++) {
            if ((e->numbers >> n & 1u) != 0u) {
                expect(p->r, (seen[n] & cores) == 0u, "a core of claim %s is held twice",
                       agent_of(p)->ledger->id[i].uid);
                seen[n] |= cores;
            }
        }
    }
}

/* Whether the device that its last prepare was answered with is held, for others to see. */
static bool holds_device(const struct play *p, const struct claim *c)
{
    int slot = ledger_find(agent_of(p), c->uid);
    return slot < 0 || (c->given & ~agent_of(p)->ledger->entry[slot].numbers) == 0u;
}

static void check_claim(const struct play *p, const struct claim *c)
{
    bool held = is_held(p, c);
    bool whole = !agent_of(p)->ledger->unlisted && agent_of(p)->recovery->reconcile.complete;
    bool prepared = c->known == PREPARED && whole;
    expect(p->r, !prepared || held, "claim %s was prepared and is lost", c->uid);
    expect(p->r, !prepared || holds_device(p, c), "claim %s was prepared, and its device is free",
           c->uid);
    expect(p->r, c->known != UNPREPARED || c->waits || !held, "claim %s was unprepared and is held",
           c->uid);
}

static void check_claims(const struct play *p)
{
    for (unsigned i = 0; i < CLAIMS && agent_of(p)->ledger->usable; i++) {
        check_claim(p, &p->claim[i]);
    }
}

bool spare(const struct play *p, bool unprepare)
{
    bool well = world_call(p->w, unprepare, "spare", SPARE_UID);
    while (!p->w->answered.done && p->w->answered.text[0] != 0 &&
           strcmp(p->w->answered.text, "no answer") == 0) {
        world_pass(p->w, SECONDS(1));
    }
    return well || (p->w->answered.done && p->w->answered.well);
}

/*
 * Whether the kubelet calls the agent that has the store. It calls the one that registered last,
 * and a handover takes its time.
 */
static bool is_called(const struct play *p)
{
    const struct world *owner = world_owns(p->w->second) ? p->w->second : p->w;
    return !two_run(p) ||
           (world_owns(owner) && strcmp(owner->settings.driver[DRIVER_NEURON].registration_socket,
                                        sim_kubelet_called(&world_kubelet, DRIVER_NAME)) == 0);
}

/*
 * A disk that has just failed, or a store that was just removed, is found out by the claim that
 * meets it: then the next one is prepared, or the agent is not ready.
 */
static void check_ready(const struct play *p)
{
    if (!is_called(p)) {
        world_pass(p->w, SETTLED_MS);
    }
    if (p->away || !agent_ready(agent_of(p))) {
        return;
    }
    bool well = spare(p, false) || (agent_ready(agent_of(p)) && spare(p, false));
    expect(p->r, well || !agent_ready(agent_of(p)), "ready, and a new claim was not prepared: %s",
           p->w->answered.text);
    expect(p->r, spare(p, true), "the spare claim was not unprepared: %s", p->w->answered.text);
}

static void check_owner(const struct play *p)
{
    const struct world *w = p->w;
    expect(p->r, w->two_owners == 0, "two agents had the claim store");
    expect(p->r, w->foreign_writes == 0, "a slice was written by an agent without the claim store");
    expect(p->r, !two_run(p) || !agent_ready(w->agent) || !agent_ready(w->second->agent),
           "two agents are ready");
}

void check_always(const struct play *p)
{
    check_owner(p);
    check_devices(p);
    check_claims(p);
    check_ready(p);
    expect(p->r, !p->w->exited && (p->w->second == NULL || !p->w->second->exited),
           "the agent ended");
}

/*
 * A claim whose newer record may be lost has no record until it is prepared again, and perhaps no
 * file. Returns whether there is a file.
 */
static bool check_cdi(const struct play *p, const char *uid)
{
    static uint8_t wanted_bytes[CDI_BYTES_MAX];
    static uint8_t stored_bytes[CDI_BYTES_MAX];
    struct writer wanted = writer_of(wanted_bytes, sizeof wanted_bytes);
    struct writer stored = writer_of(stored_bytes, sizeof stored_bytes);
    const struct claim_record *r = NULL;
    char name[CDI_FILE_NAME_CAP];
    cdi_file_name(DRIVER_NEURON, uid, name);
    const struct disk_file *f = disk_find(FILES_CDI, name);
    int slot = ledger_find(agent_of(p), uid);
    bool readable = slot >= 0 && ledger_record(agent_of(p), (unsigned)slot, &r) == STATUS_OK;
    bool unsure = slot >= 0 && agent_of(p)->ledger->entry[slot].record != RECORD_WHOLE;
    expect(p->r, readable || unsure, "the record of claim %s cannot be read", uid);
    expect(p->r, f != NULL || unsure, "claim %s has no CDI file", uid);
    if (readable && f != NULL) {
        expect(p->r,
               cdi_write(r, &(struct cdi_host){.dev_root = p->w->settings.dev_root}, &wanted) ==
                   STATUS_OK,
               "claim %s", uid);
        disk_get(f, 0, &stored);
        expect(p->r, view_equal(writer_view(&wanted), writer_view(&stored)),
               "claim %s has another CDI file than its record", uid);
    }
    return f != NULL;
}

void check_rest(const struct play *p)
{
    /* A store that was damaged may have it back: without proof its device is held. */
    bool back = ledger_find(agent_of(p), SPARE_UID) >= 0;
    unsigned held = back && check_cdi(p, SPARE_UID) ? 1u : 0u;
    expect(p->r, disk_find(FILES_STATE, STORE_FILE_NAME) != NULL, "the store is not made again");
    for (unsigned i = 0; i < CLAIMS && !p->r->failed; i++) {
        const struct claim *c = &p->claim[i];
        bool here = is_held(p, c);
        expect(p->r, c->allocated || c->freed || !here,
               "claim %s is gone and still holds its device", c->uid);
        if (here) {
            held += check_cdi(p, c->uid) ? 1u : 0u;
        }
    }
    expect(p->r, agent_of(p)->ledger->usable, "the store is not usable: %s",
           agent_of(p)->ledger->trouble);
    expect(p->r, disk_count(FILES_CDI) == held, "%u CDI files of %u claims", disk_count(FILES_CDI),
           held);
    expect(p->r, agent_ready(agent_of(p)), "not ready");
    expect(p->r, world_looks_fair(p->w), "a held claim was not looked up in its turn");
}

/* While the API server is away, the record of a claim that was allocated again answers. */
uint64_t check_allocation(const struct play *p, const struct claim *c)
{
    int slot = ledger_find(agent_of(p), c->uid);
    if (slot < 0) {
        return 0;
    }
    const struct ledger_entry *e = &agent_of(p)->ledger->entry[slot];
    bool told = c->known == PREPARED && c->given != 0u;
    bool before = p->away && c->moved && (!told || e->numbers == c->given);
    expect(p->r, before || e->numbers == allocated_number(c),
           "claim %s was prepared with a device that is not its own", c->uid);
    expect(p->r, world_parts == (e->cores != 0u), "claim %s has no cores of its own", c->uid);
    return e->numbers;
}

bool store_is_whole(void)
{
    uint8_t bytes[STORE_HEADER_BYTES / 2u];
    struct store_header h;
    struct writer out = writer_of(bytes, sizeof bytes);
    const struct disk_file *f = disk_find(FILES_STATE, STORE_FILE_NAME);
    if (f == NULL || f->len < STORE_FILE_BYTES) {
        return false;
    }
    disk_get(f, 0, &out);
    return store_header_read(writer_view(&out), &h) == STATUS_OK;
}

void check_prepared(const struct play *p, const struct claim *c, bool well, bool simple)
{
    expect(p->r, well || !simple || !p->w->answered.done,
           "claim %s was prepared and is not prepared again: %s", c->uid, p->w->answered.text);
    expect(p->r, !well || !c->unfit || p->away, "claim %s was prepared with a device that is gone",
           c->uid);
}
