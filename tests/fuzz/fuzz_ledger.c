/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim store on a disk that lies, tears and refuses: an image of any bytes is opened, claims
 * are put and removed, each call of the files port may fail, and the power may go. Checks I1 to I5
 * of agent/ledger/ledger.h against a model that reads the image by the layout of dra/store.h alone.
 *
 * Input: an image of the claim store, then a script: claims put and removed, faults, a power cut
 */
#include "agent/ledger/ledger_open.h"
#include "agent/recovery/opening.h"
#include "agent/state.h"
#include "base/crc32c.h"
#include "cfg/identity.h"
#include "tests/fuzz/fuzz.h"
#include "tests/sim/disk/sim_disk.h"

#define UIDS_MAX 16u

/* --- the agent --- */

static struct settings settings;
static struct agent *agent;
static uint64_t now_ms;

/* Links, calls and their buffers are never used here: they stay zeros. */
static void start(void)
{
    if (agent != NULL) {
        memset(agent->report, 0, sizeof *agent->report);
        memset(agent->ledger, 0, sizeof *agent->ledger);
        memset(agent, 0, sizeof *agent);
    }
    agent = agent_init(&settings, &disk_files, 1, now_ms, now_ms);
}

/* Opens until it works: a fault is met once. */
static void open_store(void)
{
    for (unsigned i = 0; i < 3u && !agent->ledger->usable; i++) {
        disk.fault = (i == 0u) ? disk.fault : FAULT_NONE;
        now_ms += 60000u;
        agent_time(agent, now_ms, now_ms);
        opening_step(agent);
        agent_log_written(agent, agent_log(agent).len);
    }
    CHECK(agent->ledger->usable);
}

static void fault(struct fuzz *in)
{
    static const enum status failures[] = {HOST_IO, HOST_NO_SPACE, HOST_DENIED, HOST_IO};
    static const enum fault torn[] = {FAULT_ERROR_TORN, FAULT_ERROR_WRITTEN};
    uint8_t how = fuzz_u8(in);
    unsigned at = fuzz_u8(in);
    at = (how & 8u) != 0u ? at * 17u : at % 8u;
    bool armed = (how & 0x30u) == 0u && at > 0u;
    enum fault kind = (how & 4u) != 0u ? torn[how >> 7] : FAULT_ERROR;
    disk_fault(armed ? kind : FAULT_NONE, at, false, failures[how & 3u]);
    disk.lasting = (how & 0x40u) != 0u;
}

/* --- the model: what a store's bytes hold --- */

struct slot_model {
    enum ledger_state state;
    bool damaged; /* one half */
    bool lost;    /* no half, or a record that says nothing */
    uint64_t sequence;
    uint64_t numbers;
    bool shares; /* see claim_shares */
    char uid[UID_CAP];
};

static struct slot_model model[CLAIMS_MAX];
static struct disk_page fresh[STORE_FILE_BYTES / DISK_PAGE]; /* a new store */

/* Whether a slot still is as in a new store, page by page: most are, and such a slot is free. */
FUZZ_UNSEEN static bool untouched(const struct disk_file *f, unsigned slot)
{
    const struct disk_page *page = disk_pages(f);
    uint64_t first = store_offset(slot, 0) / DISK_PAGE;
    bool same = f->len == STORE_FILE_BYTES;
    for (uint64_t i = first; same && i < first + STORE_SLOT_BYTES / DISK_PAGE; i++) {
        same = page[i].now == fresh[i].now;
    }
    return same;
}

FUZZ_UNSEEN static uint32_t be32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Sequence of an intact half and one, or 0; *length of its record. */
FUZZ_UNSEEN static uint64_t half_of(const uint8_t *bytes, size_t len, unsigned slot,
                                    uint32_t *length)
{
    uint8_t number[4] = {0, 0, (uint8_t)(slot >> 8), (uint8_t)slot};
    *length = be32(bytes + 4);
    if (len < 24u || memcmp(bytes, "NDRS", 4) != 0 || *length > STORE_RECORD_MAX ||
        *length > len - 24u || be32(bytes + 20) != 0u) {
        return 0;
    }
    uint32_t sum = crc32c(crc32c(0, view_of(bytes, 16)), view_of(number, 4));
    sum = crc32c(sum, view_of(bytes + 24, *length));
    uint64_t sequence = (uint64_t)be32(bytes + 8) << 32 | be32(bytes + 12);
    return (sum == be32(bytes + 16)) ? sequence + 1u : 0;
}

FUZZ_UNSEEN static void model_record(struct slot_model *m, struct view record)
{
    static struct claim_record r;
    struct store_outline o;
    bool whole = store_record_decode(record, &r) == STATUS_OK;
    m->lost = !whole && store_outline_decode(record, &o) != STATUS_OK;
    m->state = m->lost ? LEDGER_FREE : LEDGER_HELD;
    if (!m->lost && !whole && o.released) {
        m->state = LEDGER_FREEING;
    }
    m->numbers = whole ? claim_numbers(&r) : o.numbers;
    m->shares = whole && claim_shares(&r);
    text_cut(m->uid, sizeof m->uid, view_text(whole ? r.id.uid : o.id.uid));
}

FUZZ_UNSEEN static void model_slot(const struct disk_file *f, unsigned slot)
{
    static uint8_t bytes[2][STORE_HALF_BYTES];
    struct slot_model *m = &model[slot];
    uint32_t length[2];
    uint64_t sequence[2];
    for (unsigned half = 0; half < 2u; half++) {
        uint64_t at = STORE_HEADER_BYTES + (slot * 2u + half) * (uint64_t)STORE_HALF_BYTES;
        struct writer w = writer_of(bytes[half], STORE_HALF_HEADER);
        memset(bytes[half], 0, STORE_HALF_HEADER);
        disk_get(f, at, &w);
        if (be32(bytes[half] + 4) > 0u) { /* most are free */
            w.cap = STORE_HALF_BYTES;
            disk_get(f, at + w.len, &w);
        }
        sequence[half] = half_of(bytes[half], w.len, slot, &length[half]);
    }
    unsigned pick = (sequence[0] > sequence[1]) ? 0u : 1u;
    m->lost = sequence[pick] == 0u;
    m->damaged = !m->lost && sequence[1u - pick] == 0u;
    m->sequence = sequence[pick];
    if (!m->lost && length[pick] > 0u) {
        model_record(m, view_of(bytes[pick] + STORE_HALF_HEADER, length[pick]));
    }
}

FUZZ_UNSEEN static bool model_header(const struct disk_file *f)
{
    struct store_header h;
    for (unsigned copy = 0; copy < 2u; copy++) {
        uint8_t bytes[STORE_HEADER_WRITTEN];
        struct writer w = writer_of(bytes, sizeof bytes);
        disk_get(f, copy * (uint64_t)DISK_PAGE, &w);
        if (store_header_read(writer_view(&w), &h) == STATUS_OK) {
            return f->len >= STORE_FILE_BYTES;
        }
    }
    return false;
}

FUZZ_UNSEEN static bool cdi_has(const char *uid, bool tombstone)
{
    char name[CDI_FILE_NAME_CAP];
    if (tombstone) {
        cdi_tombstone_name(DRIVER_NEURON, uid, name);
    } else {
        cdi_file_name(DRIVER_NEURON, uid, name);
    }
    return disk_find(FILES_CDI, name) != NULL;
}

FUZZ_UNSEEN static bool model_conflict(const struct slot_model *one, const struct slot_model *two)
{
    bool held = one->state == LEDGER_HELD && two->state == LEDGER_HELD;
    bool shared = one->shares && two->shares;
    bool overlap = (one->numbers & two->numbers) != 0u && !shared;
    return held && (strcmp(one->uid, two->uid) == 0 || overlap);
}

/* Of two records of one claim the newer stays, and what a damaged half revived gives way. */
FUZZ_UNSEEN static void model_pair(struct slot_model *one, struct slot_model *two)
{
    if (!model_conflict(one, two)) {
        return;
    }
    bool same = strcmp(one->uid, two->uid) == 0;
    struct slot_model *other = (one->sequence > two->sequence) ? two : one;
    if (!same && one->damaged != two->damaged) {
        other = one->damaged ? one : two;
    }
    if (same || (other->damaged && !cdi_has(other->uid, false))) {
        other->state = LEDGER_FREEING;
    }
}

FUZZ_UNSEEN static void model_settle(void)
{
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        for (unsigned k = i + 1u; k < CLAIMS_MAX; k++) {
            if (model[i].state != LEDGER_FREE && model[k].state != LEDGER_FREE) {
                model_pair(&model[i], &model[k]);
            }
        }
    }
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        struct slot_model *m = &model[i];
        if (m->state == LEDGER_HELD && cdi_has(m->uid, true) && !cdi_has(m->uid, false)) {
            m->state = LEDGER_FREEING;
        }
    }
}

/* Slots as the ledger must find them; true: in a store that has to be made again. */
FUZZ_UNSEEN static bool model_read(void)
{
    const struct disk_file *f = disk_find(FILES_STATE, STORE_FILE_NAME);
    bool again = f == NULL || !model_header(f);
    for (unsigned slot = 0; slot < CLAIMS_MAX; slot++) {
        model[slot] = (struct slot_model){.state = LEDGER_FREE};
        if (f != NULL && !untouched(f, slot)) {
            model_slot(f, slot);
        }
        again = again || model[slot].lost;
    }
    for (unsigned slot = 0; slot < CLAIMS_MAX; slot++) {
        model[slot].damaged = model[slot].damaged && !again;
        model[slot].sequence = (again && model[slot].sequence < 3u) ? 3u : model[slot].sequence;
    }
    model_settle();
    return again;
}

/*
 * I1, I2: nothing intact is lost, nothing damaged is taken, and nothing else appears but what has a
 * CDI file.
 */
FUZZ_UNSEEN static void same_slots(void)
{
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &agent->ledger->entry[i];
        if (model[i].state == LEDGER_FREE && e->state == LEDGER_HELD) {
            CHECK(cdi_has(agent->ledger->id[i].uid, false)); /* adopted */
            continue;
        }
        bool settled = model[i].state == LEDGER_FREEING && e->state == LEDGER_FREE;
        bool freeing = model[i].state == LEDGER_FREEING && ledger_is_freeing(e);
        CHECK(settled || freeing || e->state == model[i].state);
        CHECK(e->state != LEDGER_HELD || strcmp(agent->ledger->id[i].uid, model[i].uid) == 0);
        CHECK(e->state != LEDGER_HELD || e->numbers == model[i].numbers);
    }
}

/* --- images --- */

static void make_record(struct claim_record *r, unsigned uid, uint8_t shape)
{
    memset(r, 0, sizeof *r);
    memcpy(r->id.uid, "uid-A", 6);
    r->id.uid[4] = (char)('A' + uid);
    memcpy(r->id.namespace_, "team", 5);
    memcpy(r->id.name, "claim", 6);
    memcpy(r->pool, "node-a", 7);
    r->count = (uint8_t)(1u + (shape & 3u));
    for (unsigned i = 0; i < r->count; i++) {
        memcpy(r->result[i].request, "req", 4);
        r->result[i].number = (uint16_t)(uid * 4u + i);
        r->result[i].admin_access = (shape & 4u) != 0u;
    }
}

static void edit_record(struct disk_file *f, struct fuzz *in, unsigned slot, unsigned half)
{
    static struct claim_record r;
    uint8_t room[STORE_RECORD_MAX];
    uint8_t bytes[STORE_HALF_BYTES];
    struct writer record = writer_of(room, sizeof room);
    struct writer out = writer_of(bytes, sizeof bytes);
    uint8_t what = fuzz_u8(in);
    uint8_t sequence = fuzz_u8(in);
    make_record(&r, what % UIDS_MAX, what >> 4);
    CHECK(store_record_encode(&r, &record) == STATUS_OK);
    bool none = (what & 0x80u) != 0u;
    struct view content = none ? view_first(fuzz_text(in), 64) : writer_view(&record);
    store_half_write(&out, slot, sequence, content);
    disk_set(f, store_offset(slot, half), writer_view(&out));
}

/* Changes of a fresh store: halves that hold something, and bytes anywhere. */
static void edit(struct disk_file *f, struct fuzz *in)
{
    unsigned edits = fuzz_u8(in) % 12u;
    for (unsigned i = 0; i < edits && fuzz_left(in) > 0u; i++) {
        uint8_t what = fuzz_u8(in);
        unsigned slot = fuzz_u8(in);
        if ((what & 3u) != 0u) {
            edit_record(f, in, slot % ((what & 8u) != 0u ? CLAIMS_MAX : 4u), what >> 2 & 1u);
        } else if ((what & 4u) != 0u) {
            uint64_t at = fuzz_u16(in) * UINT64_C(37) + slot * UINT64_C(8192);
            struct view bytes = fuzz_text(in);
            disk_set(f, at % (STORE_FILE_BYTES - 256u), bytes);
        } else {
            disk_set(f, (what & 8u) != 0u ? DISK_PAGE : 0u, fuzz_text(in));
        }
    }
    uint8_t end = fuzz_u8(in);
    if (end == 255u) {
        disk_set_len(f, fuzz_u16(in) * UINT64_C(64));
    }
}

static void image(struct fuzz *in)
{
    if ((fuzz_u8(in) & 7u) == 7u) {
        return; /* no store at all */
    }
    struct disk_file *f = disk_make(FILES_STATE, STORE_FILE_NAME);
    disk_set_len(f, STORE_FILE_BYTES);
    memcpy(disk_pages(f), fresh, sizeof fresh);
    edit(f, in);
}

/* What a new store looks like: the ledger's own, made once. */
static void prepare(void)
{
    static const char *const args[] = {"run", "--node-name", "node-a"};
    static const char *const env[] = {NULL};
    char text[256];
    struct writer why = writer_of(text, sizeof text);
    CHECK(settings_parse(&settings, args, 3, env, &why) == STATUS_OK);
    now_ms = 1000;
    start();
    open_store();
    const struct disk_file *f = disk_find(FILES_STATE, STORE_FILE_NAME);
    CHECK(f != NULL && f->len == STORE_FILE_BYTES);
    memcpy(fresh, disk_pages(f), sizeof fresh);
    disk_freeze();
    (void)model_read();
    same_slots();
}

/* --- claims --- */

/* What is certain of a claim whatever happens to the power. */
enum sure { NOT_SURE, SURE_HELD, SURE_GONE };
struct claim_model {
    bool held;      /* as the ledger says now */
    bool doubt;     /* the disk refused while it was changed */
    enum sure sure; /* since the last flush that worked */
};

static struct claim_model claims[UIDS_MAX];
static struct claim_record scratch;

static int find(unsigned uid)
{
    make_record(&scratch, uid, 0);
    return ledger_find(agent, scratch.id.uid);
}

static bool is_held(unsigned uid)
{
    return find(uid) >= 0;
}

static void put_claim(unsigned uid, uint8_t shape)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    const struct claim_record *back = NULL;
    unsigned slot = 0;
    if (is_held(uid)) {
        return;
    }
    make_record(&scratch, uid, shape);
    enum status s = ledger_put(agent, &scratch, &slot, &why);
    CHECK(is_held(uid) == (s == STATUS_OK)); /* I3 */
    claims[uid].held = s == STATUS_OK;
    claims[uid].doubt = s != STATUS_OK && agent->ledger->freeing > 0u;
    claims[uid].sure = NOT_SURE;
    disk.fault = FAULT_NONE;
    make_record(&scratch, uid, shape);
    if (s == STATUS_OK) {
        CHECK(ledger_read(agent, slot, &back) == STATUS_OK);
        CHECK(memcmp(back, &scratch, sizeof *back) == 0); /* I4 */
    }
}

static void remove_claim(unsigned uid)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    make_record(&scratch, uid, 0);
    enum status s = ledger_remove(agent, scratch.id.uid, &why);
    /* nothing on the disk could say so, to the next process or when the claims are listed */
    bool kept = is_held(uid) || ledger_freeing(agent, scratch.id.uid) || agent->ledger->unlisted;
    CHECK(s == STATUS_OK || (kept && why.len > 0u));
    CHECK(agent->ledger->freeing > 0u || !is_held(uid) || agent->ledger->held > 0u);
    claims[uid].held = is_held(uid); /* an image may hold one claim twice */
    claims[uid].doubt = s != STATUS_OK || agent->ledger->freeing > 0u;
    claims[uid].sure = NOT_SURE;
}

/* A call that is repeated finds its CDI file right, whatever became of it. */
static void repeat_claim(unsigned uid)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    make_record(&scratch, uid, 0);
    int slot = ledger_find(agent, scratch.id.uid);
    const struct claim_record *r = NULL;
    if (slot < 0 || ledger_rewrite_refused(agent, (unsigned)slot, &why) != STATUS_OK ||
        ledger_read(agent, (unsigned)slot, &r) != STATUS_OK) {
        return;
    }
    int holder = ledger_holder(agent, claim_numbers(r), r->id.uid);
    CHECK(holder < (int)CLAIMS_MAX && holder != slot);
    CHECK(ledger_consumer(agent, (unsigned)slot)->uid[0] == '\0');
    char name[CDI_FILE_NAME_CAP];
    cdi_file_name(DRIVER_NEURON, r->id.uid, name);
    enum status s = ledger_ensure_cdi(agent, r, &why);
    CHECK(s != STATUS_OK || disk_find(FILES_CDI, name) != NULL);
}

/* Flushes when it is due, as the agent's step does. */
static void let_flush(void)
{
    uint64_t due = ledger_deadline(agent);
    now_ms = (due != UINT64_MAX && due > now_ms) ? due : now_ms;
    agent_time(agent, now_ms, now_ms);
    opening_step(agent);
}

static void sync_claims(void)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    if (ledger_sync(agent, &why) != STATUS_OK || agent->ledger->freeing > 0u) {
        return;
    }
    for (unsigned i = 0; i < UIDS_MAX; i++) {
        int slot = find(i);
        claims[i].held = slot >= 0;
        claims[i].doubt =
            slot >= 0 && agent->ledger->entry[slot].refused; /* ledger_rewrite_refused */
        enum sure sure = claims[i].held ? SURE_HELD : SURE_GONE;
        claims[i].sure = claims[i].doubt ? NOT_SURE : sure;
    }
}

static bool page_lost(void *in)
{
    return (fuzz_u8((struct fuzz *)in) & 1u) != 0u;
}

static void restart(struct fuzz *in, bool cut)
{
    if (cut) {
        disk_power_cut(page_lost, in);
    }
    disk.fault = FAULT_NONE;
    (void)model_read();
    start();
    open_store();
    same_slots();
    for (unsigned i = 0; i < UIDS_MAX; i++) {
        bool held = is_held(i);
        CHECK(claims[i].sure != SURE_HELD || held); /* I5 */
        CHECK(claims[i].sure != SURE_GONE || !held);
        CHECK(cut || claims[i].doubt || held == claims[i].held);
        enum sure sure = held ? SURE_HELD : SURE_GONE;
        claims[i] = (struct claim_model){.held = held, .sure = cut ? sure : NOT_SURE};
    }
}

static void act(struct fuzz *in)
{
    uint8_t what = fuzz_u8(in);
    unsigned uid = what >> 4;
    fault(in);
    switch (what & 7u) {
    case 0:
    case 1:
        put_claim(uid, fuzz_u8(in));
        break;
    case 2:
        repeat_claim(uid);
        break;
    case 3:
    case 4:
        remove_claim(uid);
        break;
    case 5:
        sync_claims();
        break;
    case 6:
        let_flush();
        break;
    default:
        restart(in, (what & 8u) != 0u);
        break;
    }
    disk.fault = FAULT_NONE;
    CHECK(agent->ledger->held <= CLAIMS_MAX);
    agent_log_written(agent, agent_log(agent).len);
    if (!agent->ledger->usable) {
        open_store();
    }
}

/* Under the second name when it cannot be told whether the first is taken. */
static bool kept_aside(void)
{
    return disk_find(FILES_STATE, STORE_FILE_NAME ".damaged") != NULL ||
           disk_find(FILES_STATE, STORE_FILE_NAME ".damaged-newest") != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz in = fuzz_of(data, size);
    static bool ready;
    disk_clear();
    if (!ready) {
        prepare();
        disk_clear();
        ready = true;
    }
    now_ms = 1000;
    image(&in);
    bool absent = disk_find(FILES_STATE, STORE_FILE_NAME) == NULL;
    bool anew = model_read();
    start();
    fault(&in);
    bool unreadable = disk.fault != FAULT_NONE && disk.lasting; /* that the store is short, say */
    open_store();
    disk.fault = FAULT_NONE;
    same_slots();
    CHECK(absent || anew == kept_aside() || (anew && unreadable));
    for (unsigned i = 0; i < UIDS_MAX; i++) {
        claims[i] = (struct claim_model){.held = is_held(i)};
    }
    for (unsigned i = 0; i < 24u && fuzz_left(&in) > 0u; i++) {
        act(&in);
    }
    restart(&in, false);
    return 0;
}
