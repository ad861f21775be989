/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger in the states that a crash can leave. Scripts of prepares, unprepares, replacements,
 * restarts and damage are run over a disk that records each write by its sectors of 512 bytes. In
 * the last step of a script the process ends at each call of the files port (before it, after it,
 * and within a write), with and without one call that failed before; or the power goes, and every
 * sector that no flush covers has its old content or any that was written since: all mixtures up to
 * CHOICES_MAX, else PICKS of them. Then a new process opens what is left.
 *
 * Invariants:
 * I1 A claim that was answered as prepared, and not as unprepared, is held with its devices, and
 *    perhaps with more that it had: no repair lowers what is held.
 * I2 A claim whose unprepare was flushed is not held.
 * I3 No device is in two claims.
 * I4 The store can be opened.
 *
 *   crash [steps of a script]     default 2
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/recovery/opening.h"
#include "agent/state.h"
#include "base/assert.h"
#include "cfg/identity.h"

enum { SECTOR = 512, FILES = 12, PENDING_MAX = 2048, CLAIMS = 2 };
/* All choices of sectors are tried up to so many; else PICKS of them, as when a store is made. */
enum { CHOICES_MAX = 256, PICKS = 8 };
#define FILE_MAX ((uint32_t)STORE_FILE_BYTES)

_Noreturn void assert_failed(const char *file, int line, const char *condition)
{
    (void)fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

/* --- the disk --- */

struct file {
    bool used;
    enum files_dir dir;
    char name[CDI_FILE_NAME_CAP];
    uint32_t len;
    uint8_t data[FILE_MAX];
};

struct image {
    struct file file[FILES];
};

/* A sector that was written and not flushed. */
struct pending {
    unsigned file;
    uint32_t sector;
    uint8_t data[SECTOR];
};

static struct image live; /* as the running process sees it */
static struct image safe; /* what was flushed */
static struct pending pending[PENDING_MAX];
static unsigned pendings;

/* What happens at one call of the port. */
enum fate { FATE_NONE, FATE_BEFORE, FATE_TORN, FATE_AFTER };
static unsigned calls;
static unsigned crash_at; /* 0: never */
static enum fate crash_how;
static size_t crash_bytes; /* FATE_TORN: so many bytes of the write are there */
static unsigned fail_at;   /* 0: never */
static bool fail_done;     /* the call that fails did its work */
static jmp_buf crashed;

static void file_copy(struct file *to, const struct file *from)
{
    uint32_t kept = (to->len > from->len) ? to->len : from->len;
    if (!from->used) {
        to->used = false;
        return;
    }
    memcpy(to, from, offsetof(struct file, data) + from->len);
    if (kept > from->len) {
        memset(to->data + from->len, 0, kept - from->len);
    }
}

static void image_copy(struct image *to, const struct image *from)
{
    for (unsigned i = 0; i < FILES; i++) {
        file_copy(&to->file[i], &from->file[i]);
    }
}

static int find(const struct image *m, enum files_dir dir, const char *name)
{
    for (unsigned i = 0; i < FILES; i++) {
        const struct file *f = &m->file[i];
        if (f->used && f->dir == dir && strcmp(f->name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static struct file *make(enum files_dir dir, const char *name)
{
    int at = find(&live, dir, name);
    for (unsigned i = 0; i < FILES && at < 0; i++) {
        if (!live.file[i].used && !safe.file[i].used) {
            at = (int)i;
        }
    }
    ASSERT(at >= 0);
    struct file *f = &live.file[at];
    if (!f->used) {
        memset(f, 0, sizeof *f);
        f->used = true;
        f->dir = dir;
        text_set(f->name, sizeof f->name, name);
    }
    return f;
}

/* What is in both at once: names, and files of the CDI root. */
static void settle(const struct file *f)
{
    size_t at = (size_t)(f - live.file);
    file_copy(&safe.file[at], f);
    unsigned kept = 0;
    for (unsigned i = 0; i < pendings; i++) {
        if (pending[i].file != at) {
            pending[kept++] = pending[i];
        }
    }
    pendings = kept;
}

static void drop(int at)
{
    live.file[at].used = false;
    settle(&live.file[at]);
}

static void rename_to(int at, const char *name)
{
    int old = find(&live, live.file[at].dir, name);
    if (old >= 0 && old != at) {
        drop(old);
    }
    text_set(live.file[at].name, sizeof live.file[at].name, name);
    text_set(safe.file[at].name, sizeof safe.file[at].name, name);
}

/* --- the port --- */

static enum fate enter(void)
{
    calls++;
    if (calls != crash_at) {
        return FATE_NONE;
    }
    if (crash_how == FATE_BEFORE) {
        longjmp(crashed, 1);
    }
    return crash_how;
}

static enum status leave(enum fate fate, enum status s)
{
    if (fate != FATE_NONE) {
        longjmp(crashed, 1);
    }
    return (calls == fail_at) ? HOST_IO : s;
}

static bool prevented(void)
{
    return calls == fail_at && !fail_done;
}

static enum status port_read(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                             struct writer *out)
{
    (void)ctx;
    int at = find(&live, dir, name);
    if (at < 0) {
        return HOST_ABSENT;
    }
    const struct file *f = &live.file[at];
    if (offset < f->len) {
        struct view rest = view_from(view_of(f->data, f->len), (size_t)offset);
        writer_append(out, view_first(rest, writer_room(out)));
    }
    return STATUS_OK;
}

static void put(struct file *f, uint32_t offset, struct view bytes)
{
    ASSERT(offset + bytes.len <= FILE_MAX);
    memcpy(f->data + offset, bytes.data, bytes.len);
    f->len = (offset + bytes.len > f->len) ? (uint32_t)(offset + bytes.len) : f->len;
    for (uint32_t s = offset / SECTOR; s * SECTOR < offset + bytes.len; s++) {
        ASSERT(pendings < PENDING_MAX);
        struct pending *p = &pending[pendings++];
        p->file = (unsigned)(f - live.file);
        p->sector = s;
        memcpy(p->data, f->data + (size_t)s * SECTOR, SECTOR);
    }
}

static enum status port_write(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                              struct view bytes)
{
    (void)ctx;
    enum fate fate = enter();
    if (prevented()) {
        return leave(fate, HOST_IO);
    }
    if (dir == FILES_STATE && offset > 0u && find(&live, dir, name) < 0) {
        return leave(fate, HOST_ABSENT);
    }
    struct file *f = make(dir, name);
    if (fate == FATE_TORN) {
        bytes = view_first(bytes, crash_bytes);
    }
    if (dir == FILES_CDI && offset == 0u) {
        f->len = 0;
    }
    if (bytes.len > 0u) {
        put(f, (uint32_t)offset, bytes);
    }
    if (dir == FILES_CDI) {
        settle(f);
    }
    return leave(fate, STATUS_OK);
}

static enum status port_commit(void *ctx, enum files_dir dir, const char *name,
                               const char *final_name)
{
    (void)ctx;
    enum fate fate = enter();
    int at = find(&live, dir, name);
    if (prevented() || at < 0) {
        return leave(fate, (at < 0) ? HOST_ABSENT : HOST_IO);
    }
    settle(&live.file[at]);
    if (final_name != NULL && fate != FATE_TORN) {
        rename_to(at, final_name);
    }
    return leave(fate, STATUS_OK);
}

static uint64_t port_flush_us(void *ctx)
{
    (void)ctx;
    return 0;
}

static enum status port_remove(void *ctx, enum files_dir dir, const char *name, const char *aside)
{
    (void)ctx;
    int at = find(&live, dir, name);
    if (at < 0) {
        return HOST_ABSENT; /* changes nothing, and is no place to crash at */
    }
    enum fate fate = enter();
    if (prevented() || fate == FATE_TORN) {
        return leave(fate, HOST_IO);
    }
    if (aside != NULL) {
        rename_to(at, aside);
    } else {
        drop(at);
    }
    return leave(fate, STATUS_OK);
}

static enum status port_lock(void *ctx, const char *name, enum files_lock which)
{
    (void)ctx;
    (void)name;
    (void)which;
    return STATUS_OK;
}

static void port_unlock(void *ctx, enum files_lock which)
{
    (void)ctx;
    (void)which;
}

static enum files_holder port_holder(void *ctx, enum files_lock which)
{
    (void)ctx;
    (void)which;
    return HOLDER_NOBODY;
}

static const char *port_temporary(void *ctx)
{
    (void)ctx;
    return "neuron.aws.com-claim.0.tmp";
}

static enum status port_tidy(void *ctx)
{
    return port_remove(ctx, FILES_CDI, port_temporary(ctx), NULL);
}

static enum status port_list(void *ctx, enum files_dir dir, const char *prefix, struct listing *at,
                             struct writer *out)
{
    (void)ctx;
    (void)at;
    for (unsigned i = 0; i < FILES; i++) {
        const struct file *f = &live.file[i];
        if (f->used && f->dir == dir && view_starts(view_text(f->name), prefix)) {
            writer_bytes(out, f->name, strlen(f->name) + 1u);
        }
    }
    return STATUS_OK;
}

static enum status port_kubelet_state(void *ctx, uint64_t offset, struct writer *out,
                                      uint64_t *written_ms)
{
    (void)ctx;
    (void)offset;
    (void)out;
    (void)written_ms;
    return HOST_ABSENT;
}

static enum status port_device(void *ctx, unsigned number, struct device_place *place)
{
    (void)ctx;
    (void)number;
    memset(place, 0, sizeof *place);
    return STATUS_OK;
}

static enum status port_memory(void *ctx, unsigned number, unsigned core, uint64_t *bytes)
{
    (void)ctx;
    (void)number;
    (void)core;
    *bytes = 0;
    return STATUS_OK;
}

static enum status port_ultraserver(void *ctx, struct found_ultraserver *out)
{
    (void)ctx;
    (void)out;
    return HOST_ABSENT;
}

static const char *port_why(void *ctx)
{
    (void)ctx;
    return "fault";
}

static const struct files port = {.read = port_read,
                                  .write = port_write,
                                  .commit = port_commit,
                                  .temporary = port_temporary,
                                  .tidy = port_tidy,
                                  .flush_us = port_flush_us,
                                  .remove = port_remove,
                                  .lock = port_lock,
                                  .unlock = port_unlock,
                                  .holder = port_holder,
                                  .list = port_list,
                                  .kubelet_state = port_kubelet_state,
                                  .device = port_device,
                                  .memory = port_memory,
                                  .ultraserver = port_ultraserver,
                                  .why = port_why};

/* --- the agent --- */

static struct settings settings;
static struct agent *agent;
static uint64_t now_ms;

static void start(void)
{
    if (agent != NULL) {
        memset(agent->report, 0, sizeof *agent->report);
        memset(agent->ledger, 0, sizeof *agent->ledger);
        memset(&agent->recovery->reconcile, 0, sizeof agent->recovery->reconcile);
        memset(agent, 0, sizeof *agent);
    }
    agent = agent_init(&settings, &port, 1, now_ms, now_ms);
}

static void turn(void)
{
    now_ms += 60000u;
    agent_time(agent, now_ms, now_ms);
    opening_step(agent);
    agent_log_written(agent, agent_log(agent).len);
}

static void open_store(void)
{
    start();
    for (unsigned i = 0; i < 3u && !agent->ledger->usable; i++) {
        turn();
    }
}

/* --- claims --- */

/* What was answered of a claim. */
struct known {
    bool held;        /* it was answered as prepared, and no unprepare came */
    bool gone;        /* its unprepare was flushed, or it was never prepared */
    uint64_t numbers; /* what it may hold */
    uint64_t other;   /* or, while that is changed */
    uint64_t before;  /* all that it ever held: damage may leave nothing newer */
};

static struct known known[CLAIMS];
static bool damaged; /* the CDI root is the only witness of something */

/* Of three sectors. The claims have devices in common; after its replacement claim 0 has others. */
static const struct claim_record *record_of(unsigned n, bool replaced)
{
    static struct claim_record r;
    memset(&r, 0, sizeof r);
    memcpy(r.id.uid, "uid-A", 6);
    r.id.uid[4] = (char)('A' + n);
    memcpy(r.id.namespace_, "team", 5);
    memcpy(r.id.name, "claim", 6);
    memcpy(r.pool, "node-a", 7);
    memset(r.consumer.name, 'p', NAME_CAP - 1u);
    memset(r.id.name, 'c', NAME_CAP - 1u);
    memcpy(r.consumer.uid, "pod", 4);
    r.count = 8;
    for (unsigned i = 0; i < 8u; i++) {
        memset(r.result[i].request, 'r', REQUEST_BASE_CAP - 1u);
        r.result[i].request[0] = (char)('a' + i);
        r.result[i].number = (uint16_t)(4u * n + i + (replaced ? 8u : 0u));
    }
    return &r;
}

static void put_claim(unsigned n, bool replaced)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    const struct claim_record *r = record_of(n, replaced);
    struct known *k = &known[n];
    unsigned slot = 0;
    bool before = ledger_find(agent, r->id.uid) >= 0;
    if (ledger_holder(agent, claim_numbers(r), r->id.uid) >= 0) {
        return;
    }
    k->gone = false;
    k->other = claim_numbers(r);
    k->numbers = before ? k->numbers : k->other;
    k->before |= k->other;
    enum status s = ledger_put(agent, r, &slot, &why);
    if (s == STATUS_OK) {
        s = ledger_sync(agent, &why);
        if (s != STATUS_OK && !before) {
            s = ledger_remove(agent, record_of(n, replaced)->id.uid, &why);
            return;
        }
    }
    if (s == STATUS_OK) {
        k->held = true;
        k->numbers = k->other;
    }
}

static void remove_claim(unsigned n)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    struct known *k = &known[n];
    k->held = false;
    if (ledger_remove(agent, record_of(n, false)->id.uid, &why) == STATUS_OK &&
        ledger_sync(agent, &why) == STATUS_OK && agent->ledger->freeing == 0u) {
        k->gone = true;
    }
}

/* --- scripts --- */

/* One letter for each step. */
static const char letters[] = "abABrkhxzd";

static void rot(uint32_t at, uint32_t len)
{
    int f = find(&live, FILES_STATE, STORE_FILE_NAME);
    if (f < 0) {
        return;
    }
    memset(live.file[f].data + at, 0x5a, len);
    settle(&live.file[f]);
    damaged = true;
}

/* The half of claim 0 that counts, or the other one where it holds none. */
static void rot_half(void)
{
    int slot = ledger_find(agent, record_of(0, false)->id.uid);
    unsigned half =
        (slot >= 0) ? agent->ledger->entry[slot].half : 1u - agent->ledger->entry[0].half;
    rot((uint32_t)store_offset((slot >= 0) ? (unsigned)slot : 0u, half), SECTOR);
}

static void step(char letter)
{
    int f = find(&live, FILES_STATE, STORE_FILE_NAME);
    switch (letter) {
    case 'a': /* prepare */
    case 'b':
        put_claim((unsigned)(letter - 'a'), false);
        break;
    case 'A': /* unprepare */
    case 'B':
        remove_claim((unsigned)(letter - 'A'));
        break;
    case 'r': /* the claim got other devices */
        put_claim(0, true);
        break;
    case 'k':
        open_store();
        break;
    case 'h':
        rot(0, STORE_HEADER_BYTES);
        open_store();
        break;
    case 'x':
        rot_half();
        open_store();
        break;
    case 'z':
        rot(STORE_HEADER_BYTES, FILE_MAX - STORE_HEADER_BYTES);
        open_store();
        break;
    case 'd': /* the store is removed while the agent runs */
        if (f >= 0) {
            drop(f);
        }
        damaged = true;
        break;
    default:
        ASSERT(letter == 'n'); /* the first start on a new node */
        open_store();
        break;
    }
    turn();
}

/* Of both processes. */
struct found {
    _Atomic unsigned long states;
    _Atomic unsigned long violations;
};

static struct found *found;
static const char *script;

static void violation(const char *what, unsigned claim)
{
    found->violations++;
    if (found->violations <= 20u) {
        printf(
            "VIOLATION script %s, crash at call %u (%d, %zu bytes), failing call %u (%d): claim %u "
            "%s\n",
            script, crash_at, (int)crash_how, crash_bytes, fail_at, fail_done, claim, what);
    }
}

static void check_devices(void)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &agent->ledger->entry[i];
        uint64_t numbers = (e->state == LEDGER_HELD) ? e->numbers : 0u;
        if ((numbers & all) != 0u) {
            violation("holds a device that another claim holds", i);
        }
        all |= numbers;
    }
}

static void check_claim(unsigned n)
{
    int slot = ledger_find(agent, record_of(n, false)->id.uid);
    const struct known *k = &known[n];
    if (slot < 0) {
        if (k->held) {
            violation("is lost", n);
        }
        return;
    }
    uint64_t numbers = agent->ledger->entry[slot].numbers;
    if (k->gone) {
        violation("is held although its unprepare was flushed", n);
    } else if (k->held && (numbers & k->numbers) != k->numbers &&
               (numbers & k->other) != k->other) {
        violation("holds less than it was prepared with", n);
    } else if ((numbers & ~(k->numbers | k->other | k->before)) != 0u) {
        violation("holds devices that it never had", n);
    } else {
        /* as it has to be */
    }
}

/* Opens what is left in `live`. */
static void check(void)
{
    unsigned at = crash_at;
    unsigned failing = fail_at;
    found->states++;
    crash_at = 0;
    fail_at = 0;
    pendings = 0;
    image_copy(&safe, &live);
    open_store();
    crash_at = at;
    fail_at = failing;
    if (!agent->ledger->usable) {
        violation("the store cannot be opened", 0);
        return;
    }
    check_devices();
    for (unsigned n = 0; n < CLAIMS; n++) {
        check_claim(n);
    }
}

/* --- the power goes --- */

struct place {
    unsigned file;
    uint32_t sector;
    unsigned versions; /* that were written */
};

static struct place place[PENDING_MAX];
static struct pending kept[PENDING_MAX];
static struct image flushed;
static struct image seen;

static unsigned list_places(unsigned count)
{
    unsigned places = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned p = 0;
        while (p < places && (place[p].file != kept[i].file || place[p].sector != kept[i].sector)) {
            p++;
        }
        if (p == places) {
            place[places++] = (struct place){kept[i].file, kept[i].sector, 0};
        }
        place[p].versions++;
    }
    return places;
}

/* Version `v` of a place; 0 is what was flushed. */
static void apply(const struct place *p, unsigned v, unsigned count)
{
    struct file *f = &live.file[p->file];
    unsigned n = 0;
    for (unsigned i = 0; i < count && n < v; i++) {
        if (kept[i].file == p->file && kept[i].sector == p->sector) {
            n++;
            if (n == v) {
                if (!f->used) { /* its name was not flushed either */
                    memcpy(f, &seen.file[p->file], offsetof(struct file, data));
                    memset(f->data, 0, sizeof f->data);
                }
                f->len = seen.file[p->file].len;
                memcpy(f->data + (size_t)p->sector * SECTOR, kept[i].data, SECTOR);
            }
        }
    }
}

static uint64_t dice;
static unsigned pick(unsigned below)
{
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((dice >> 33) % below);
}

/* Every choice of versions, or PICKS of them where they are more than CHOICES_MAX. */
static void power_states(bool without_cdi)
{
    unsigned count = pendings;
    memcpy(kept, pending, count * sizeof kept[0]);
    image_copy(&flushed, &safe);
    image_copy(&seen, &live);
    unsigned places = list_places(count);
    unsigned long choices = 1;
    for (unsigned p = 0; p < places && choices <= CHOICES_MAX; p++) {
        choices *= place[p].versions + 1u;
    }
    bool every = choices <= CHOICES_MAX;
    for (unsigned long c = 0; c < (every ? choices : PICKS); c++) {
        unsigned long rest = c;
        image_copy(&live, &flushed);
        for (unsigned p = 0; p < places; p++) {
            unsigned v =
                every ? (unsigned)(rest % (place[p].versions + 1u)) : pick(place[p].versions + 1u);
            rest /= place[p].versions + 1u;
            apply(&place[p], v, count);
        }
        for (unsigned i = 0; i < FILES && without_cdi; i++) {
            live.file[i].used = live.file[i].used && live.file[i].dir != FILES_CDI;
        }
        check();
    }
    image_copy(&live, &seen);
    image_copy(&safe, &flushed);
    memcpy(pending, kept, count * sizeof kept[0]);
    pendings = count;
}

/* --- running a script --- */

/* false: it came to its end. */
static bool run(const char *text, enum fate how, unsigned at, size_t bytes)
{
    unsigned failing = fail_at;
    size_t last = strlen(text) - 1u;
    crash_at = 0;
    fail_at = 0;
    now_ms = 1000;
    pendings = 0;
    damaged = false;
    for (unsigned i = 0; i < FILES; i++) {
        live.file[i].used = false;
        safe.file[i].used = false;
    }
    for (unsigned n = 0; n < CLAIMS; n++) {
        known[n] = (struct known){.gone = true};
    }
    bool ends = setjmp(crashed) != 0;
    if (!ends) {
        for (size_t i = 0; i <= last; i++) {
            if (i == last) {
                calls = 0;
                crash_at = at;
                crash_how = how;
                crash_bytes = bytes;
                fail_at = failing;
            }
            step(text[i]);
        }
    }
    return ends;
}

/* The states at one call; false: there is no such call. */
static bool crash_in_call(const char *text, unsigned at)
{
    static const size_t torn[] = {1, 16, 24, 100, 512, 513, 1024};
    static const enum fate fates[] = {FATE_BEFORE, FATE_TORN, FATE_AFTER};
    for (unsigned i = 0; i < 3u; i++) {
        size_t tears = (fates[i] == FATE_TORN) ? sizeof torn / sizeof torn[0] : 1u;
        for (size_t t = 0; t < tears; t++) {
            if (!run(text, fates[i], at, torn[t])) {
                return false;
            }
            power_states(false);
            if (!damaged && t == 0u) {
                power_states(true);
            }
            check(); /* the process alone ended */
        }
    }
    return true;
}

/* Every crash in the last step, then at its end, with the call that fails or none. */
static void crash_in_step(const char *text)
{
    unsigned at = fail_at + 1u;
    while (crash_in_call(text, at)) {
        at++;
    }
    power_states(false);
    if (!damaged) {
        power_states(true);
    }
    check();
}

static void try_script(const char *text)
{
    script = text;
    fail_at = 0;
    crash_in_step(text);
    (void)run(text, FATE_NONE, 0, 0);
    unsigned end = calls;
    for (unsigned f = 1; f <= end; f++) {
        for (unsigned done = 0; done < 2u; done++) {
            fail_at = f;
            fail_done = done != 0u;
            crash_in_step(text);
        }
    }
    fail_at = 0;
}

/* Every second one of all scripts of so many steps after those that begin them. */
static void try_all(const char *begin, unsigned steps, unsigned part)
{
    char text[16];
    size_t at = strlen(begin);
    memcpy(text, begin, at);
    unsigned long scripts = 1;
    unsigned base = (unsigned)sizeof letters - 1u;
    for (unsigned i = 0; i < steps; i++) {
        scripts *= base;
    }
    for (unsigned long s = part; s < scripts; s += 2u) {
        unsigned long rest = s;
        for (unsigned i = 0; i < steps; i++) {
            text[at + i] = letters[rest % base];
            rest /= base;
        }
        text[at + steps] = '\0';
        try_script(text);
    }
}

static int report(bool ended)
{
    printf("crash: %lu states, %lu violations%s\n", found->states, found->violations,
           ended ? "" : "; a process died");
    return (ended && found->violations == 0u) ? 0 : 1;
}

int main(int argc, char **argv)
{
    static const char *const args[] = {"run", "--node-name", "node-a"};
    static const char *const env[] = {NULL};
    char text[256];
    struct writer why = writer_of(text, sizeof text);
    unsigned steps = (argc > 1) ? (unsigned)strtoul(argv[1], NULL, 10) : 2u;
    enum status s = settings_parse(&settings, args, 3, env, &why);
    ASSERT(s == STATUS_OK && steps < 12u);
    found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT(found != MAP_FAILED);
    pid_t other = fork();
    for (unsigned n = 0; n <= steps && other >= 0; n++) {
        try_all("n", n, (other == 0) ? 1u : 0u);
        try_all("nar", n, (other == 0) ? 1u : 0u); /* a claim that was allocated again */
    }
    int status = 0;
    if (other == 0) {
        return 0;
    }
    bool ended = waitpid(other, &status, 0) == other && status == 0;
    return report(ended);
}
