/* SPDX-License-Identifier: Apache-2.0 */
/* What is observed of each claim, see steps.h. */
#include "tests/sim/virtual/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/ledger/ledger.h"
#include "agent/state.h"
#include "base/assert.h"
#include "cfg/identity.h"
#include "dra/store.h"
#include "tests/sim/disk/sim_disk.h"

#define WATCHED_MAX 64u /* claims of one schedule, each UID for itself */
/* The agent takes the first free slot of the store; no schedule has more claims at a time. */
#define USED_SLOTS 48u
#define APIS 5u
#define SLOTS 4u
#define SEEN (APIS * SLOTS * 32u)

/* As tests/model/steps.h counts them. */
enum { API_ABSENT, API_FREE, API_ALLOCATED, API_RESERVED, API_DELETED };
enum { SLOT_CLOSED, SLOT_EMPTY, SLOT_HELD, SLOT_FREEING };

struct count {
    uint64_t times;
    uint64_t seed; /* of the first schedule that made it */
};
typedef struct count counts[ACTORS][SEEN][SEEN];

struct watched {
    char name[WORLD_CLAIM_CAP];
    char uid[WORLD_CLAIM_CAP];
    unsigned api;
    bool told;
    unsigned seen; /* observed last */
};

/* A half of a slot of the claim store: whether it counts, and whose record it has. */
struct half {
    enum store_half_state state;
    uint64_t sequence;
    char uid[UID_CAP]; /* empty: none, or its claim was released */
};
typedef struct half halves[USED_SLOTS][2];

static counts *counted;
static struct world *node;
static struct watched watched[WATCHED_MAX];
static unsigned watched_count;
static halves cached;
static halves flushed;
static bool pending; /* a record was written, and the ledger has not moved its slot yet */
static bool inside;  /* a call of the port runs */
static bool touched; /* since the last observation */
static int called;   /* index of the claim of the kubelet's last call, -1: of none */
static bool unprepares;
static struct files port;
static const struct files *below;

void steps_begin(void)
{
    counted =
        mmap(NULL, sizeof *counted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counted == MAP_FAILED) {
        perror("sim: mmap");
        exit(2);
    }
}

void steps_schedule(struct world *w)
{
    node = w;
    watched_count = 0;
    called = -1;
    pending = false;
    inside = false;
    touched = false;
    memset(cached, 0, sizeof cached);
    memset(flushed, 0, sizeof flushed);
}

/* --- the claim store --- */

static void parse_half(struct half *h, unsigned slot, struct view bytes)
{
    struct store_half read;
    struct store_outline outline;
    store_half_read(bytes, slot, &read);
    *h = (struct half){.state = read.state, .sequence = read.sequence};
    if (read.state == STORE_HALF_RECORD &&
        store_outline_decode(read.record, &outline) == STATUS_OK && !outline.released) {
        text_set(h->uid, sizeof h->uid, outline.id.uid);
    }
}

/* Reads the slots of the store file again. */
static void scan_store(void)
{
    static uint8_t bytes[STORE_HALF_BYTES];
    const struct disk_file *f = disk_find(FILES_STATE, STORE_FILE_NAME);
    memset(cached, 0, sizeof cached);
    for (unsigned i = 0; f != NULL && i < USED_SLOTS * 2u; i++) {
        struct writer out = writer_of(bytes, sizeof bytes);
        disk_get(f, store_offset(i / 2u, i % 2u), &out);
        parse_half(&cached[i / 2u][i % 2u], i / 2u, writer_view(&out));
    }
}

/* No page of the file waits to be written back: a loss of power leaves what is read. */
static void see_flushed(void)
{
    const struct disk_file *f = disk_find(FILES_STATE, STORE_FILE_NAME);
    bool settled = true;
    for (unsigned i = 0; f != NULL && i < disk_pages_of(f->len); i++) {
        const struct disk_page *p = &disk_pages(f)[i];
        settled = settled && p->now == p->committed;
    }
    if (settled) {
        memcpy(flushed, cached, sizeof flushed);
    }
}

static void written(uint64_t offset, struct view bytes)
{
    if (offset < STORE_HEADER_BYTES) {
        return;
    }
    unsigned at = (unsigned)((offset - STORE_HEADER_BYTES) / STORE_HALF_BYTES);
    ASSERT(at / 2u < USED_SLOTS);
    parse_half(&cached[at / 2u][at % 2u], at / 2u, bytes);
}

/* Whether the half that counts of a slot has a record of the claim. */
static bool has_record(halves *all, const char *uid)
{
    bool found = false;
    for (unsigned i = 0; i < USED_SLOTS && !found; i++) {
        const struct half *h = (*all)[i];
        bool second = h[1].state != STORE_HALF_DAMAGED &&
                      (h[0].state == STORE_HALF_DAMAGED || h[1].sequence >= h[0].sequence);
        found = strcmp(h[second ? 1 : 0].uid, uid) == 0;
    }
    return found;
}

/* --- one claim --- */

static unsigned slot_of(const char *uid)
{
    const struct world *w = world_owns(node) ? node : node->second;
    if (!world_owns(w)) {
        return SLOT_CLOSED;
    }
    const struct ledger *l = w->agent->ledger;
    unsigned slot = SLOT_EMPTY;
    for (unsigned i = 0; i < CLAIMS_MAX && slot != SLOT_HELD; i++) {
        if (l->entry[i].state != LEDGER_FREE && strcmp(l->id[i].uid, uid) == 0) {
            slot = (l->entry[i].state == LEDGER_HELD) ? SLOT_HELD : SLOT_FREEING;
        }
    }
    return slot;
}

static unsigned look(const struct watched *c)
{
    char file[CDI_FILE_NAME_CAP];
    char tombstone[CDI_FILE_NAME_CAP];
    cdi_file_name(DRIVER_NEURON, c->uid, file);
    cdi_tombstone_name(DRIVER_NEURON, c->uid, tombstone);
    return (c->api * SLOTS + slot_of(c->uid)) * 32u + (has_record(&cached, c->uid) ? 1u : 0u) +
           (has_record(&flushed, c->uid) ? 2u : 0u) +
           (disk_find(FILES_CDI, file) != NULL ? 4u : 0u) +
           (disk_find(FILES_CDI, tombstone) != NULL ? 8u : 0u) + (c->told ? 16u : 0u);
}

static void count(enum actor actor, unsigned from, unsigned to)
{
    struct count *c = &(*counted)[actor][from][to];
    if (__atomic_fetch_add(&c->times, 1u, __ATOMIC_RELAXED) == 0u) {
        c->seed = node->seed;
    }
}

void steps_see(enum actor actor)
{
    if (counted == NULL || node == NULL) {
        return;
    }
    if (actor == STEP_FAULT || actor == STEP_KILL) {
        scan_store();
        see_flushed();
    }
    for (unsigned i = 0; i < watched_count; i++) {
        unsigned now = look(&watched[i]);
        if (now != watched[i].seen) {
            count(actor, watched[i].seen, now);
            watched[i].seen = now;
        }
    }
    pending = false;
    touched = false;
}

void steps_see_step(void)
{
    if (touched || pending) {
        steps_see(STEP_AGENT);
    }
}

void steps_moved(void)
{
    touched = true;
}

void steps_killed(void)
{
    if (counted != NULL && node != NULL && !inside) {
        steps_see_step();
    }
}

void steps_ended(void)
{
    bool within = inside;
    inside = false;
    steps_see(within ? STEP_KILL : STEP_FAULT);
}

/* --- what the simulator tells --- */

static struct watched *find(const char *uid)
{
    for (unsigned i = 0; i < watched_count; i++) {
        if (strcmp(watched[i].uid, uid) == 0) {
            return &watched[i];
        }
    }
    return NULL;
}

void steps_claim(const char *name, const char *uid, bool allocated, bool reserved)
{
    if (counted == NULL || node == NULL || strncmp(name, "claim-", 6) != 0) {
        return;
    }
    struct watched *c = find(uid);
    if (c == NULL) {
        ASSERT(watched_count < WATCHED_MAX);
        c = &watched[watched_count];
        watched_count++;
        *c = (struct watched){.api = API_ABSENT};
        text_set(c->name, sizeof c->name, name);
        text_set(c->uid, sizeof c->uid, uid);
        c->seen = look(c);
    }
    c->api = !allocated ? API_FREE : (reserved ? API_RESERVED : API_ALLOCATED);
    steps_see(STEP_CLUSTER);
}

void steps_claim_deleted(const char *name)
{
    for (unsigned i = 0; counted != NULL && i < watched_count; i++) {
        if (watched[i].api != API_DELETED && strcmp(watched[i].name, name) == 0) {
            watched[i].api = API_DELETED;
        }
    }
    steps_see(STEP_CLUSTER);
}

void steps_call(const char *uid, bool unprepare)
{
    struct watched *c = (counted != NULL) ? find(uid) : NULL;
    called = (c != NULL) ? (int)(c - watched) : -1;
    unprepares = unprepare;
    if (c != NULL && unprepare) {
        c->told = false;
        steps_see(STEP_KUBELET);
    }
}

void steps_answered(bool well)
{
    if (counted != NULL && called >= 0 && well && !unprepares) {
        steps_see_step();
        watched[called].told = true;
        steps_see(STEP_KUBELET);
    }
    called = -1;
}

/* --- the files port --- */

static void port_enters(void)
{
    if (pending) {
        steps_see(STEP_AGENT);
    }
    inside = true;
    touched = true;
}

static enum status port_write(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                              struct view bytes)
{
    port_enters();
    enum status s = below->write(ctx, dir, name, offset, bytes);
    inside = false;
    if (s == STATUS_OK && dir == FILES_STATE && strcmp(name, STORE_FILE_NAME) == 0) {
        written(offset, bytes);
        pending = true; /* the ledger moves the slot of the record next */
    } else if (dir == FILES_CDI) {
        steps_see(STEP_AGENT);
    } else {
        /* the file is not the store yet */
    }
    return s;
}

static enum status port_commit(void *ctx, enum files_dir dir, const char *name,
                               const char *final_name)
{
    port_enters();
    enum status s = below->commit(ctx, dir, name, final_name);
    inside = false;
    if (s == STATUS_OK && dir == FILES_STATE && final_name != NULL) {
        scan_store();
    }
    if (s == STATUS_OK && dir == FILES_STATE &&
        (final_name != NULL || strcmp(name, STORE_FILE_NAME) == 0)) {
        memcpy(flushed, cached, sizeof flushed);
    }
    steps_see(STEP_AGENT);
    return s;
}

static enum status port_remove(void *ctx, enum files_dir dir, const char *name, const char *aside)
{
    port_enters();
    enum status s = below->remove(ctx, dir, name, aside);
    inside = false;
    steps_see(STEP_AGENT);
    return s;
}

static enum status port_lock(void *ctx, const char *name, enum files_lock which)
{
    touched = true;
    return below->lock(ctx, name, which);
}

static void port_unlock(void *ctx, enum files_lock which)
{
    touched = true;
    below->unlock(ctx, which);
}

const struct files *steps_port(const struct files *files)
{
    if (counted == NULL) {
        return files;
    }
    below = files;
    port = *files;
    port.write = port_write;
    port.commit = port_commit;
    port.remove = port_remove;
    port.lock = port_lock;
    port.unlock = port_unlock;
    return &port;
}

/* --- the result --- */

static void write_seen(FILE *out, unsigned seen)
{
    (void)fprintf(out, " %c%c", "-farx"[seen / (SLOTS * 32u)], ".ehg"[seen / 32u % SLOTS]);
    for (unsigned bit = 0; bit < 5u; bit++) {
        (void)fputc((seen >> bit & 1u) != 0u ? "CDFTP"[bit] : '-', out);
    }
}

bool steps_write(const char *path)
{
    FILE *out = fopen(path, "w");
    for (unsigned i = 0; out != NULL && i < ACTORS * SEEN * SEEN; i++) {
        const struct count *c = &(*counted)[i / (SEEN * SEEN)][i / SEEN % SEEN][i % SEEN];
        if (c->times > 0u) {
            (void)fputc("ACKFX"[i / (SEEN * SEEN)], out);
            write_seen(out, i / SEEN % SEEN);
            write_seen(out, i % SEEN);
            (void)fprintf(out, " %llu %llu\n", (unsigned long long)c->times,
                          (unsigned long long)c->seed);
        }
    }
    bool well = out != NULL && fclose(out) == 0;
    if (!well) {
        perror(path);
    }
    return well;
}
