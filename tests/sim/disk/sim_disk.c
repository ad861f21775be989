/* SPDX-License-Identifier: Apache-2.0 */
/* Files in memory; see sim_disk.h. */
#include "tests/sim/disk/sim_disk.h"

#include <setjmp.h>
#include <string.h>

#include "base/assert.h"
#include "base/time.h"

/* A disk is no part of what a fuzzer explores. */
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("coverage"))), apply_to = function)
#endif

struct disk disk = {.pool_used = 1, .frozen = 1};

static uint8_t pool[DISK_POOL_PAGES][DISK_PAGE];
/* Bytes of each page that were written, from its start; those behind them are zeros. */
static uint16_t filled[DISK_POOL_PAGES];
static jmp_buf killed;
static bool may_kill; /* `killed` is a place to jump to */

/* --- pages --- */

unsigned disk_pages_of(uint64_t len)
{
    return (unsigned)((len + DISK_PAGE - 1u) / DISK_PAGE);
}

struct disk_page *disk_pages(const struct disk_file *f)
{
    return disk.page[f - disk.file];
}

static uint16_t page_new(uint16_t from)
{
    uint16_t page = 0;
    if (disk.free_pages > 0u) {
        disk.free_pages--;
        page = disk.free_page[disk.free_pages];
    } else {
        ASSERT(disk.pool_used < DISK_POOL_PAGES);
        page = (uint16_t)disk.pool_used;
        disk.pool_used++;
    }
    filled[page] = filled[from];
    memcpy(pool[page], pool[from], filled[from]);
    return page;
}

static void page_free(uint16_t page)
{
    if (page >= disk.frozen) {
        disk.free_page[disk.free_pages] = page;
        disk.free_pages++;
    }
}

/* What is there now is what a power cut leaves. */
static void page_settle(struct disk_page *p)
{
    if (p->committed != p->now) {
        page_free(p->committed);
    }
    p->committed = p->now;
    p->pending = false;
}

/* What is there now is lost. */
static void page_revert(struct disk_page *p)
{
    if (p->committed != p->now) {
        page_free(p->now);
    }
    p->now = p->committed;
    p->pending = false;
}

/* The number of a page that may be written. */
static uint16_t page_own(struct disk_page *p)
{
    if (p->now < disk.frozen || p->now == p->committed) {
        p->now = page_new(p->now);
    }
    p->pending = true;
    return p->now;
}

static void page_put(struct disk_page *p, size_t within, struct view bytes)
{
    uint16_t page = page_own(p);
    size_t end = within + bytes.len;
    if (within > filled[page]) {
        memset(pool[page] + filled[page], 0, within - filled[page]);
    }
    memcpy(pool[page] + within, bytes.data, bytes.len);
    filled[page] = (end > filled[page]) ? (uint16_t)end : filled[page];
}

/* An extension later finds zeros behind `len`. */
static void page_cut(struct disk_page *p, size_t len)
{
    uint16_t page = page_own(p);
    filled[page] = (len < filled[page]) ? (uint16_t)len : filled[page];
}

/* Bytes of a page from `within` on: those that were written, or zeros; at least one. */
static struct view page_view(uint16_t page, size_t within)
{
    bool zeros = within >= filled[page];
    return zeros ? view_of(pool[0] + within, DISK_PAGE - within)
                 : view_of(pool[page] + within, filled[page] - within);
}

void disk_freeze(void)
{
    disk.frozen = disk.pool_used;
    disk.free_pages = 0;
}

void disk_thaw(void)
{
    disk.pool_used = disk.frozen;
    disk.free_pages = 0;
}

/* --- bytes --- */

static void extend(struct disk_file *f, uint64_t len)
{
    unsigned first = disk_pages_of(f->len);
    unsigned end = disk_pages_of(len);
    ASSERT(end <= DISK_PAGES_MAX);
    if (end > first) {
        memset(&disk_pages(f)[first], 0, (end - first) * sizeof(struct disk_page));
    }
    f->len = (len > f->len) ? len : f->len;
}

void disk_set_len(struct disk_file *f, uint64_t len)
{
    struct disk_page *page = disk_pages(f);
    size_t within = (size_t)(len % DISK_PAGE);
    unsigned kept = disk_pages_of(len);
    if (len < f->len && within > 0u) {
        page_cut(&page[kept - 1u], within);
        page_settle(&page[kept - 1u]);
    }
    for (unsigned i = kept; i < disk_pages_of(f->len); i++) {
        page_settle(&page[i]);
        page_free(page[i].now);
    }
    f->len = (len < f->len) ? len : f->len;
    extend(f, len);
}

static void put(struct disk_file *f, uint64_t offset, struct view bytes, bool durable)
{
    if (bytes.len > 0u) {
        extend(f, offset + bytes.len);
    }
    while (bytes.len > 0u) {
        struct disk_page *p = &disk_pages(f)[offset / DISK_PAGE];
        size_t within = (size_t)(offset % DISK_PAGE);
        struct view piece = view_first(bytes, DISK_PAGE - within);
        page_put(p, within, piece);
        if (durable) {
            page_settle(p);
        }
        bytes = view_from(bytes, piece.len);
        offset += piece.len;
    }
}

void disk_set(struct disk_file *f, uint64_t offset, struct view bytes)
{
    put(f, offset, bytes, true);
}

void disk_get(const struct disk_file *f, uint64_t offset, struct writer *out)
{
    while (offset < f->len && writer_room(out) > 0u) {
        uint16_t page = disk_pages(f)[offset / DISK_PAGE].now;
        struct view piece = page_view(page, (size_t)(offset % DISK_PAGE));
        piece = view_first(view_first(piece, writer_room(out)), (size_t)(f->len - offset));
        writer_append(out, piece);
        offset += piece.len;
    }
}

/* fdatasync(2): pending pages reach the disk or do not; either way the kernel calls them done. */
static void write_back(struct disk_file *f, bool well)
{
    struct disk_page *page = disk_pages(f);
    for (unsigned i = 0; i < disk_pages_of(f->len); i++) {
        if (page[i].pending && well) {
            page_settle(&page[i]);
        }
        page[i].pending = false;
    }
}

void disk_power_cut(bool (*lost)(void *ctx), void *ctx)
{
    for (unsigned i = 0; i < disk.top; i++) {
        bool state = disk.file[i].used && disk.file[i].dir == FILES_STATE;
        for (unsigned k = 0; state && k < disk_pages_of(disk.file[i].len); k++) {
            struct disk_page *p = &disk.page[i][k];
            if (p->now != p->committed && (!p->pending || lost == NULL || lost(ctx))) {
                page_revert(p);
            }
            page_settle(p);
        }
    }
}

/* --- names --- */

struct disk_file *disk_find(enum files_dir dir, const char *name)
{
    for (unsigned i = 0; i < disk.top; i++) {
        struct disk_file *f = &disk.file[i];
        if (f->used && f->dir == dir && strcmp(f->name, name) == 0) {
            return f;
        }
    }
    return NULL;
}

struct disk_file *disk_make(enum files_dir dir, const char *name)
{
    struct disk_file *f = disk_find(dir, name);
    if (f != NULL) {
        return f;
    }
    unsigned i = 0;
    while (i < disk.top && disk.file[i].used) {
        i++;
    }
    ASSERT(i < DISK_FILES_MAX);
    disk.top = (i == disk.top) ? i + 1u : disk.top;
    f = &disk.file[i];
    *f = (struct disk_file){.used = true, .dir = dir};
    text_set(f->name, sizeof f->name, name);
    return f;
}

unsigned disk_count(enum files_dir dir)
{
    unsigned n = 0;
    for (unsigned i = 0; i < disk.top; i++) {
        n += (disk.file[i].used && disk.file[i].dir == dir) ? 1u : 0u;
    }
    return n;
}

void disk_unlink(struct disk_file *f)
{
    for (unsigned i = 0; i < DISK_BAD_MAX; i++) {
        disk.bad[i].file = (disk.bad[i].file == f) ? NULL : disk.bad[i].file;
    }
    disk_set_len(f, 0);
    f->used = false;
}

void disk_rename(struct disk_file *f, const char *name)
{
    struct disk_file *old = disk_find(f->dir, name);
    if (old != NULL && old != f) {
        disk_unlink(old);
    }
    text_set(f->name, sizeof f->name, name);
}

/* --- faults --- */

void disk_break(const struct disk_file *f, uint64_t from, uint64_t len, bool read, bool write)
{
    unsigned i = 0;
    while (disk.bad[i].file != NULL) {
        i++;
        ASSERT(i < DISK_BAD_MAX);
    }
    disk.bad[i] = (struct disk_bad){f, from, from + len, read, write};
}

void disk_repair(void)
{
    memset(disk.bad, 0, sizeof disk.bad);
}

static bool meets(const struct disk_bad *b, const struct disk_file *f, uint64_t from, uint64_t len)
{
    return f != NULL && b->file == f && from < b->end && from + len > b->from;
}

static bool bad_read(const struct disk_file *f, uint64_t from, uint64_t len)
{
    bool bad = false;
    for (unsigned i = 0; i < DISK_BAD_MAX; i++) {
        bad = bad || (disk.bad[i].read && meets(&disk.bad[i], f, from, len));
    }
    return bad;
}

/* A sector that can be written is given another place by the disk, and can be read then. */
static bool bad_write(const struct disk_file *f, uint64_t from, uint64_t len)
{
    bool bad = false;
    for (unsigned i = 0; i < DISK_BAD_MAX; i++) {
        bad = bad || (disk.bad[i].write && meets(&disk.bad[i], f, from, len));
    }
    for (unsigned i = 0; i < DISK_BAD_MAX && !bad; i++) {
        struct disk_bad *b = &disk.bad[i];
        b->read = b->read && !meets(b, f, from, len);
    }
    return bad;
}

void disk_clear(void)
{
    disk.top = 0;
    disk_thaw();
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    disk.refusal = HOST_IO;
    for (unsigned dir = 0; dir < 2u; dir++) {
        disk.refuse[dir] = false;
        disk.refuse_remove[dir] = false;
        disk.refuse_read[dir] = false;
    }
    memset(disk.locked_by_other, 0, sizeof disk.locked_by_other);
    memset(disk.locked, 0, sizeof disk.locked);
    memset(disk.runs, 0, sizeof disk.runs);
    disk.running = 0;
    disk.driver = 0;
    disk.list_cut = 0;
    disk.refuse_from = 0;
    disk.refuse_flush = false;
    disk_repair();
    memset(disk.device, 0, sizeof disk.device);
    memset(disk.device_absent, 0, sizeof disk.device_absent);
    memset(disk.memory, 0, sizeof disk.memory);
    disk.memory_status = STATUS_OK;
    disk.memory_read = STATUS_OK;
    disk.ultraserver = NULL;
    disk_kubelet_state(NULL, 0, UINT64_MAX, false);
}

void disk_fault(enum fault fault, unsigned at, bool changes_only, enum status failure)
{
    disk.calls = 0;
    disk.fault = fault;
    disk.fault_at = at;
    disk.lasting = false;
    disk.changes_only = changes_only;
    disk.failure = failure;
}

void disk_refuse(enum files_dir dir, enum status failure)
{
    disk.refusal = (failure != STATUS_OK) ? failure : disk.refusal;
    disk.refuse[dir] = failure != STATUS_OK;
    disk.refuse_remove[dir] = failure == HOST_DENIED;
}

bool disk_survives(void (*step)(struct agent *a), struct agent *a)
{
    may_kill = true;
    if (setjmp(killed) != 0) {
        may_kill = false;
        disk.fault = FAULT_NONE;
        return false;
    }
    step(a);
    may_kill = false;
    return true;
}

static void kill_process(void)
{
    ASSERT(may_kill);
    longjmp(killed, 1);
}

static enum fault enter(const void *ctx, const char *name, bool change)
{
    ASSERT(ctx == &disk && name[0] != '\0' && strlen(name) < DISK_NAME_CAP);
    ASSERT(strchr(name, '/') == NULL);
    if (disk.changes_only && !change) {
        return FAULT_NONE;
    }
    disk.calls++;
    bool met = disk.calls == disk.fault_at || (disk.lasting && disk.calls > disk.fault_at);
    if (met && disk.fault == FAULT_KILL_BEFORE) {
        kill_process();
    }
    return met ? disk.fault : FAULT_NONE;
}

/* Why a call that is no write does nothing; STATUS_OK: it does its work. */
static enum status prevented(enum fault now, bool refused)
{
    bool fails = now == FAULT_ERROR || now == FAULT_ERROR_TORN || now == FAULT_ERROR_WRITTEN;
    enum status refusal = refused ? disk.refusal : STATUS_OK;
    return fails ? disk.failure : refusal;
}

static enum status leave(enum fault now, enum status s)
{
    if (now == FAULT_KILL_AFTER || now == FAULT_KILL_TORN) {
        kill_process();
    }
    s = (now == FAULT_NONE) ? s : disk.failure;
    disk.last = (s != STATUS_OK) ? s : disk.last;
    return s;
}

/* --- the port --- */

static enum status disk_read(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                             struct writer *out)
{
    enum fault now = enter(ctx, name, false);
    const struct disk_file *f = disk_find(dir, name);
    enum status s = prevented(now, disk.refuse_read[dir]);
    if (s == STATUS_OK && bad_read(f, offset, writer_room(out))) {
        s = HOST_IO;
    } else if (s == STATUS_OK && f != NULL) {
        disk_get(f, offset, out);
    } else if (s == STATUS_OK) {
        s = HOST_ABSENT;
    }
    return leave(now, s);
}

static bool write_refused(enum files_dir dir)
{
    bool late = disk.refuse_from != 0u && disk.calls >= disk.refuse_from;
    return disk.refuse[dir] || (late && dir == FILES_STATE);
}

static enum status disk_write(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                              struct view bytes)
{
    enum fault now = enter(ctx, name, true);
    if (now == FAULT_ERROR || write_refused(dir)) {
        return leave(now, disk.refusal);
    }
    if (offset > 0u && disk_find(dir, name) == NULL) {
        return leave(now, HOST_ABSENT);
    }
    struct disk_file *f = disk_make(dir, name);
    if (bad_write(f, offset, bytes.len)) {
        return leave(now, HOST_IO);
    }
    bool torn = now == FAULT_KILL_TORN || now == FAULT_ERROR_TORN;
    if (dir == FILES_CDI && offset == 0u) {
        disk_set_len(f, 0);
    }
    put(f, offset, torn ? view_first(bytes, bytes.len / 2u) : bytes, false);
    return leave(now, STATUS_OK);
}

static enum status disk_commit(void *ctx, enum files_dir dir, const char *name,
                               const char *final_name)
{
    enum fault now = enter(ctx, name, true);
    struct disk_file *f = disk_find(dir, name);
    bool refused = disk.refuse[dir] || (disk.refuse_flush && dir == FILES_STATE);
    enum status s = prevented(now, refused);
    if (f != NULL && dir == FILES_STATE) {
        write_back(f, s == STATUS_OK);
    }
    s = (s == STATUS_OK && f == NULL) ? HOST_ABSENT : s;
    if (s == STATUS_OK && final_name != NULL && now != FAULT_KILL_TORN) {
        disk_rename(f, final_name);
    }
    return leave(now, s);
}

static enum status disk_remove(void *ctx, enum files_dir dir, const char *name, const char *aside)
{
    enum fault now = enter(ctx, name, true);
    struct disk_file *f = disk_find(dir, name);
    enum status s = prevented(now, disk.refuse_remove[dir]);
    s = (s == STATUS_OK && f == NULL) ? HOST_ABSENT : s;
    if (s == STATUS_OK && aside != NULL) {
        disk_rename(f, aside);
    } else if (s == STATUS_OK) {
        disk_unlink(f);
    }
    return leave(now, s);
}

void disk_process(unsigned number)
{
    disk.running = (uint8_t)number;
    disk.runs[number] = true;
}

void disk_driver_ended(unsigned driver, unsigned number)
{
    for (unsigned i = 0; i < 2u; i++) {
        uint8_t *lock = &disk.locked[driver][i];
        *lock = (*lock == number + 1u) ? 0u : *lock;
    }
}

void disk_process_ended(unsigned number)
{
    disk.runs[number] = false;
    for (unsigned driver = 0; driver < DRIVERS; driver++) {
        disk_driver_ended(driver, number);
    }
}

static enum files_holder holder_of(enum files_lock which)
{
    unsigned by = disk.locked[disk.driver][which];
    bool other = by != 0u && by != disk.running + 1u;
    return other ? HOLDER_AGENT : disk.locked_by_other[disk.driver][which];
}

/* What other processes have locked; only making the file can be refused. */
static enum status disk_lock(void *ctx, const char *name, enum files_lock which)
{
    enum fault now = enter(ctx, name, false);
    bool absent = disk_find(FILES_STATE, name) == NULL;
    enum status s = prevented(now, disk.refuse[FILES_STATE] && absent);
    s = (prevented(now, false) == STATUS_OK && holder_of(which) != 0u) ? HOST_BUSY : s;
    if (s == STATUS_OK) {
        (void)disk_make(FILES_STATE, name);
        disk.locked[disk.driver][which] = (uint8_t)(disk.running + 1u);
    }
    return leave(now, s);
}

static void disk_unlock(void *ctx, enum files_lock which)
{
    ASSERT(ctx == &disk);
    uint8_t *lock = &disk.locked[disk.driver][which];
    *lock = (*lock == disk.running + 1u) ? 0u : *lock;
}

static enum files_holder disk_holder(void *ctx, enum files_lock which)
{
    ASSERT(ctx == &disk);
    return holder_of(which);
}

/* Pages are short, so that every test of more than a few claims goes through several. */
static enum status disk_list(void *ctx, enum files_dir dir, const char *prefix, struct listing *at,
                             struct writer *out)
{
    enum fault now = enter(ctx, "any", false);
    enum status s = prevented(now, disk.list_cut > 0u && at->pages >= disk.list_cut);
    unsigned next = (unsigned)at->place;
    unsigned end = (unsigned)earlier(next + DISK_PAGE_FILES, disk.top);
    ASSERT(writer_room(out) >= LIST_PAGE_BYTES && at->place >= 0);
    for (; next < end && s == STATUS_OK; next++) {
        const struct disk_file *f = &disk.file[next];
        bool wanted = f->used && f->dir == dir && view_starts(view_text(f->name), prefix);
        writer_bytes(out, f->name, wanted ? strlen(f->name) + 1u : 0u);
    }
    at->pages++;
    at->place = (int)next;
    bool more = s == STATUS_OK && next < disk.top;
    return leave(now, more ? STATUS_MORE : s);
}

/* --- files on their way to their name --- */

void disk_writer(unsigned driver)
{
    ASSERT(driver < DRIVERS);
    disk.driver = (uint8_t)driver;
}

/* By process and driver. */
static const char *disk_temporary(void *ctx)
{
    static char name[DISK_NAME_CAP];
    ASSERT(ctx == &disk);
    struct writer w = writer_of(name, sizeof name);
    writer_text(&w, "neuron.aws.com-claim.");
    writer_decimal(&w, disk.running);
    writer_text(&w, "-");
    writer_decimal(&w, disk.driver);
    writer_text(&w, ".tmp");
    ASSERT(writer_end_text(&w) == STATUS_OK);
    return name;
}

/* Whether it is a temporary file that the other one of two processes that run may be writing. */
static bool is_of_other(const char *name)
{
    char other[] = "neuron.aws.com-claim.0-";
    bool first = disk.running == 0u;
    other[sizeof other - 3u] = first ? '1' : '0';
    return disk.runs[first ? 1 : 0] && view_starts(view_text(name), other);
}

static enum status disk_tidy(void *ctx)
{
    enum fault now = enter(ctx, "any", true);
    enum status s = prevented(now, disk.refuse_remove[FILES_CDI]);
    enum status gone = HOST_ABSENT;
    for (unsigned i = 0; i < disk.top && s == STATUS_OK; i++) {
        struct disk_file *f = &disk.file[i];
        struct view name = view_text(f->name);
        if (f->used && f->dir == FILES_CDI && view_starts(name, "neuron.aws.com-claim.") &&
            view_ends(name, ".tmp") && !is_of_other(f->name)) {
            disk_unlink(f);
            gone = STATUS_OK;
        }
    }
    return leave(now, (s == STATUS_OK) ? gone : s);
}

static enum status disk_device(void *ctx, unsigned number, struct device_place *place)
{
    ASSERT(ctx == &disk && number < DEVICES_MAX);
    *place = disk.device[number];
    disk.last = disk.device_absent[number] ? HOST_ABSENT : disk.last;
    return disk.device_absent[number] ? HOST_ABSENT : STATUS_OK;
}

static enum status disk_memory_read(void *ctx, uint64_t numbers)
{
    ASSERT(ctx == &disk && numbers != 0u);
    disk.last = disk.memory_read;
    return disk.memory_read;
}

static enum status disk_memory(void *ctx, unsigned number, unsigned core, uint64_t *bytes)
{
    (void)ctx;
    *bytes = disk.memory[number][core];
    disk.last = (disk.memory_status != STATUS_OK) ? disk.memory_status : disk.last;
    return disk.memory_status;
}

static enum status disk_ultraserver(void *ctx, struct found_ultraserver *out)
{
    ASSERT(ctx == &disk);
    if (disk.ultraserver == NULL) {
        disk.last = HOST_ABSENT;
        return HOST_ABSENT;
    }
    *out = *disk.ultraserver;
    return STATUS_OK;
}

static uint64_t disk_flush_us(void *ctx)
{
    ASSERT(ctx == &disk);
    return disk.flush_us;
}

/* --- the kubelet's checkpoint --- */

static uint32_t crc32(const char *bytes, size_t len)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < len; i++) {
        crc ^= (uint8_t)bytes[i];
        for (unsigned bit = 0; bit < 8u; bit++) {
            crc = (crc >> 1) ^ ((crc & 1u) != 0u ? 0xedb88320u : 0u);
        }
    }
    return ~crc;
}

/* Writes the checkpoint with these bytes as the elements of its list. */
static void write_checkpoint(struct view elements, uint64_t written_ms)
{
    static char data[DISK_KUBELET_STATE_MAX / 2u];
    struct writer plain = writer_of(data, sizeof data);
    struct writer out = writer_of(disk.kubelet_state, sizeof disk.kubelet_state);
    writer_text(&plain, "{\"kind\":\"DRACheckpoint\",\"apiVersion\":"
                        "\"checkpoint.dra.kubelet.k8s.io/v1\",\"ClaimInfoStateList\":[");
    writer_append(&plain, elements);
    writer_text(&plain, "]}");
    writer_text(&out, "{\"Data\":\"");
    for (size_t i = 0; i < plain.len; i++) {
        writer_text(&out, (data[i] == '"') ? "\\" : "");
        writer_bytes(&out, &data[i], 1);
    }
    writer_text(&out, "\",\"Checksum\":");
    writer_decimal(&out, crc32(data, plain.len));
    writer_text(&out, "}");
    ASSERT(!out.full && !plain.full);
    disk.kubelet_state_len = out.len;
    disk.kubelet_state_ms = written_ms;
    disk.kubelet_state_status = STATUS_OK;
}

void disk_kubelet_state(const char *const *uid, unsigned count, uint64_t written_ms, bool damaged)
{
    static char elements[DISK_KUBELET_STATE_MAX / 2u];
    struct writer out = writer_of(elements, sizeof elements);
    for (unsigned i = 0; i < count; i++) {
        writer_text(&out, (i > 0u) ? ",{\"ClaimUID\":\"" : "{\"ClaimUID\":\"");
        writer_text(&out, uid[i]);
        writer_text(&out, "\",\"PodUIDs\":{\"pod\":{}}}");
    }
    write_checkpoint(writer_view(&out), written_ms);
    disk.kubelet_state[disk.kubelet_state_len / 2u] ^= damaged ? 1 : 0;
}

void disk_kubelet_claims(const struct claim_id *const *claim, unsigned count, const char *driver,
                         uint64_t written_ms)
{
    static char elements[DISK_KUBELET_STATE_MAX / 2u];
    struct writer out = writer_of(elements, sizeof elements);
    for (unsigned i = 0; i < count; i++) {
        WRITE(&out, "%{\"ClaimUID\":\"%\",\"ClaimName\":\"%\",\"Namespace\":\"%\",",
              TEXT((i > 0u) ? "," : ""), TEXT(claim[i]->uid), TEXT(claim[i]->name),
              TEXT(claim[i]->namespace_));
        WRITE(&out, "\"PodUIDs\":{\"pod\":{}},\"DriverState\":{\"%\":{\"Devices\":null}}}",
              TEXT(driver));
    }
    write_checkpoint(writer_view(&out), written_ms);
}

static enum status disk_read_kubelet_state(void *ctx, uint64_t offset, struct writer *out,
                                           uint64_t *written_ms)
{
    ASSERT(ctx == &disk);
    if (disk.kubelet_state_status != STATUS_OK) {
        disk.last = disk.kubelet_state_status;
        return disk.last;
    }
    struct view all = view_of(disk.kubelet_state, disk.kubelet_state_len);
    struct view left = view_from(all, (size_t)offset);
    *written_ms = disk.kubelet_state_ms;
    writer_append(out, view_first(left, writer_room(out)));
    return STATUS_OK;
}

/* Stands for the words of an errno. */
static const char *disk_why(void *ctx)
{
    ASSERT(ctx == &disk);
    return status_name(disk.last);
}

const struct files disk_files = {
    .ctx = &disk,
    .read = disk_read,
    .write = disk_write,
    .commit = disk_commit,
    .remove = disk_remove,
    .lock = disk_lock,
    .list = disk_list,
    .unlock = disk_unlock,
    .holder = disk_holder,
    .kubelet_state = disk_read_kubelet_state,
    .device = disk_device,
    .temporary = disk_temporary,
    .tidy = disk_tidy,
    .memory_read = disk_memory_read,
    .memory = disk_memory,
    .ultraserver = disk_ultraserver,
    .flush_us = disk_flush_us,
    .why = disk_why,
};

#ifdef __clang__
#pragma clang attribute pop
#endif
