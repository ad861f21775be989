/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the reader processes, gives them tasks and receives their answers; see readers.h. */
#include "host/node/readers.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/time.h"
#include "host/system.h"

/*
 * Maximum number of bytes that the agent receives from a reader in one turn of the main loop. A
 * reader sends one byte for its answer, and one for each error event, at most once a second.
 * Further bytes wait for the next turn.
 */
#define HEARD_MAX 8u

/* --- start and end of the readers --- */

/*
 * Runs a reader in the new process. First closes all descriptors of the agent except 0 to 2 and
 * `fd`.
 */
__attribute__((noreturn)) static void begin_here(const struct settings *settings,
                                                 struct reader_page *page, int fd)
{
    for (unsigned other = (unsigned)STDERR_FILENO + 1u; other < DESCRIPTORS_NEEDED; other++) {
        if ((int)other != fd) {
            (void)close((int)other);
        }
    }
    reader_run(settings, page, fd);
}

static bool reader_begin(struct reader_state *x, const struct settings *settings,
                         struct reader_page *page)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) {
        return false;
    }
    pid_t pid = _Fork();
    if (pid == 0) {
        begin_here(settings, page, pair[1]);
    }
    (void)close(pair[1]);
    *x = (struct reader_state){.fd = pair[0], .page = page};
    return pid > 0;
}

enum status readers_begin(struct readers *r, const struct settings *settings, struct writer *why)
{
    union {
        void *begin;
        intptr_t value; /* address that mmap(2) returned, as a number; -1: MAP_FAILED */
    } map = {.begin = mmap(NULL, READERS * sizeof(struct reader_page), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    struct reader_page *pages = map.begin;
    bool good = map.value != -1;
    *r = (struct readers){.prober = -1, .memory = -1, .now_ms = clock_now_ms()};
    for (unsigned i = 0; i < READERS && good; i++) {
        good = reader_begin(&r->reader[i], settings, &pages[i]);
    }
    if (!good) {
        int error = errno;
        WRITE(why, "the processes that read sysfs cannot be started: %%", ERRNO(error),
              TEXT((error == EAGAIN) ? "; allow the container 3 more processes (podPidsLimit "
                                       "of the kubelet, ulimit -u)"
                                     : ""));
        return HOST_IO;
    }
    return STATUS_OK;
}

void readers_end(struct readers *r)
{
    for (unsigned i = 0; i < READERS; i++) {
        (void)close(r->reader[i].fd);
        r->reader[i].fd = -1;
    }
}

/* --- answers of readers, and hanging reads --- */

void readers_interest(const struct readers *r, struct pollfd slots[READERS])
{
    for (unsigned i = 0; i < READERS; i++) {
        slots[i] = (struct pollfd){.fd = r->reader[i].fd, .events = POLLIN};
    }
}

static void accept_answer(struct readers *r, unsigned i)
{
    struct reader_state *x = &r->reader[i];
    bool probes = x->task == READER_PROBE;
    x->answered = x->busy && !probes;
    if (x->busy && probes && r->prober == (int)i) {
        r->probed = true;
        r->probing = false;
    }
    x->busy = false;
}

static void receive_bytes(struct readers *r, unsigned i)
{
    uint8_t bytes[HEARD_MAX];
    ssize_t n = read(r->reader[i].fd, bytes, sizeof bytes);
    r->ended = r->ended || n == 0 || (n < 0 && errno == ECONNRESET);
    for (ssize_t at = 0; at < n; at++) {
        if (bytes[at] == (uint8_t)READER_ANSWER) {
            accept_answer(r, i);
        } else {
            r->stirred = r->stirred || r->prober == (int)i;
        }
    }
}

static bool is_reading(uint32_t step)
{
    return (step & 1u) != 0u;
}

/*
 * Copies from the shared page the name of the file that the reader is reading. While the reader
 * lists a directory, there is no such file, and x->file becomes "sysfs".
 */
static void copy_note(struct reader_state *x)
{
    const struct reading_note *note = &x->page->note;
    if (is_reading(note->step)) {
        x->of = note->of;
        memcpy(x->file, note->file, sizeof x->file);
        x->file[sizeof x->file - 1u] = '\0';
    } else {
        x->of = (struct reading_subject){.kind = (uint32_t)READING_NOTHING};
        text_set(x->file, sizeof x->file, "sysfs");
    }
}

/*
 * Handles the start of a hang: another reader takes over the task, and a late answer of this reader
 * is ignored.
 */
static void hang_begins(struct readers *r, unsigned i)
{
    struct reader_state *x = &r->reader[i];
    x->hung_since_ms = x->since_ms;
    x->page->forget = true;
    x->page->numbers = 0;
    x->numbers = 0;
    if (r->prober == (int)i) {
        r->probing = false;
        r->probed = false;
        r->prober = -1;
    }
}

/* Marks a reader as hanging if it has made no progress for READ_HANG_MS. */
static void mark_hanging(struct readers *r, unsigned i)
{
    struct reader_state *x = &r->reader[i];
    const struct reading_subject before = x->of;
    copy_note(x);
    x->changed = !x->hangs || x->of.kind != before.kind || x->of.id != before.id;
    if (!x->hangs) {
        hang_begins(r, i);
    }
    x->hangs = true;
}

static void watch_progress(struct readers *r, unsigned i)
{
    struct reader_state *x = &r->reader[i];
    uint32_t step = x->page->note.step;
    bool at_work = x->busy || is_reading(step);
    if (at_work && step == x->step && r->now_ms - x->since_ms >= READ_HANG_MS) {
        mark_hanging(r, i);
    } else {
        /*
         * A hang ends only when the reader has finished its task, not when it has read the slow
         * file, because the next file may be slow too.
         */
        x->changed = x->hangs && !at_work;
        x->hangs = x->hangs && at_work;
    }
    r->changed = r->changed || x->changed;
    if (step != x->step) {
        x->step = step;
        x->since_ms = r->now_ms;
    }
}

/*
 * Starts the time of each read again after a gap of more than READ_HANG_MS between two turns of the
 * main loop: the node was paused or had no processor time, and the readers did not run either. If
 * the agent alone waited, for a slow disk, a hang is found one READ_HANG_MS later.
 */
static void restart_times(struct readers *r)
{
    for (unsigned i = 0; i < READERS; i++) {
        struct reader_state *x = &r->reader[i];
        x->since_ms = x->hangs ? x->since_ms : r->now_ms;
    }
}

void readers_turn(struct readers *r, const struct pollfd slots[READERS], uint64_t now_ms)
{
    bool paused = now_ms - r->now_ms > READ_HANG_MS;
    r->now_ms = now_ms;
    if (paused) {
        restart_times(r);
    }
    r->probed = false;
    r->stirred = false;
    r->changed = false;
    r->memory = -1;
    for (unsigned i = 0; i < READERS; i++) {
        r->reader[i].answered = false;
        if (slots[i].revents != 0) {
            receive_bytes(r, i);
        }
        watch_progress(r, i);
    }
}

uint64_t readers_deadline(const struct readers *r)
{
    uint64_t at = UINT64_MAX;
    for (unsigned i = 0; i < READERS; i++) {
        const struct reader_state *x = &r->reader[i];
        bool due = (x->busy || is_reading(x->step)) && !x->hangs;
        bool slow = r->now_ms - x->since_ms >= READ_WAIT_MS;
        at = due ? earlier(at, x->since_ms + (slow ? READ_HANG_MS : READ_WAIT_MS)) : at;
    }
    return at;
}

/* --- questions to readers --- */

/*
 * Tells a reader to leave out the subjects that the other readers are reading, so that a hanging
 * read of one file does not block two readers.
 */
static void leave_out(const struct readers *r, struct reader_state *x)
{
    struct reading_left_out *out = &x->page->left_out;
    out->count = 0;
    for (unsigned i = 0; i < READERS; i++) {
        const struct reader_state *other = &r->reader[i];
        bool reads = is_reading(other->page->note.step);
        if (other != x && (reads || other->hangs)) {
            out->of[out->count] = reads ? other->page->note.of : other->of;
            out->count++;
        }
    }
}

static bool is_among(const struct reading_subject *of, uint64_t numbers)
{
    return of->kind == (uint32_t)READING_DEVICE && of->id < DEVICES_MAX &&
           (numbers >> of->id & 1u) != 0u;
}

/*
 * Whether the reader must leave out one of the devices in `numbers` (bit N: device N), whose memory
 * use is wanted.
 */
static bool leaves_out(const struct reading_left_out *out, uint64_t numbers)
{
    bool some = false;
    for (unsigned i = 0; i < READERS; i++) {
        some = some || (i < out->count && is_among(&out->of[i], numbers));
    }
    return some;
}

/*
 * Gives a task to a reader. `numbers`: bit N: device N, for the task READER_MEMORY; otherwise 0.
 * Returns false if the reader cannot be asked now, or if another reader is reading a file of one of
 * these devices. If the reader has ended, receive_bytes detects that.
 */
static bool ask_reader(const struct readers *r, struct reader_state *x, enum reader_task task,
                       uint64_t numbers)
{
    const uint8_t byte = READER_ASK;
    leave_out(r, x);
    if (leaves_out(&x->page->left_out, numbers)) {
        return false;
    }
    x->page->task = (uint32_t)task;
    x->page->numbers = numbers;
    x->task = task;
    x->numbers = numbers;
    x->answered = false;
    x->step = x->page->note.step;
    x->since_ms = r->now_ms;
    x->busy = write(x->fd, &byte, sizeof byte) == (ssize_t)sizeof byte;
    return x->busy;
}

/*
 * Returns the index of an idle reader; the reader `other` only if it is the only idle one. -1: no
 * reader is idle.
 */
static int idle_reader(const struct readers *r, int other)
{
    int found = -1;
    for (unsigned i = 0; i < READERS; i++) {
        const struct reader_state *x = &r->reader[i];
        bool is_idle = !x->busy && !x->hangs;
        found = (is_idle && (found < 0 || found == other)) ? (int)i : found;
    }
    return found;
}

static bool all_hang(const struct readers *r)
{
    bool all = true;
    for (unsigned i = 0; i < READERS; i++) {
        all = all && r->reader[i].hangs;
    }
    return all;
}

/* --- probes of the node --- */

/*
 * Returns a number of devices from a reader's page, at most `max`. Reads the number only once,
 * because the reader process can change it at any time.
 */
static unsigned count_of(const volatile uint16_t *count, unsigned max)
{
    unsigned n = *count;
    return (n < max) ? n : max;
}

/*
 * Makes a bool that was copied from a reader's page valid, because the reader process may have
 * written any byte.
 */
static void bool_end(bool *b)
{
    const void *raw = b;
    uint8_t byte = 0;
    memcpy(&byte, raw, sizeof byte);
    *b = byte != 0u;
}

static void ultraserver_texts_end(struct found_ultraserver *u)
{
    u->modes[sizeof u->modes - 1u] = '\0';
    u->group_node_id[sizeof u->group_node_id - 1u] = '\0';
    u->group_id[sizeof u->group_id - 1u] = '\0';
    for (unsigned i = 0; i < (unsigned)ULTRASERVER_SIZES; i++) {
        u->node_id[i][sizeof u->node_id[i] - 1u] = '\0';
        u->server_id[i][sizeof u->server_id[i] - 1u] = '\0';
    }
}

static void texts_end(struct found_node *f)
{
    f->product_name[sizeof f->product_name - 1u] = '\0';
    f->driver_version[sizeof f->driver_version - 1u] = '\0';
    f->boot_id[sizeof f->boot_id - 1u] = '\0';
    f->lnc_config[sizeof f->lnc_config - 1u] = '\0';
    ultraserver_texts_end(&f->ultraserver);
    bool_end(&f->unknown);
    for (unsigned i = 0; i < f->count; i++) {
        struct found_device *d = &f->devices[i];
        d->core_count[sizeof d->core_count - 1u] = '\0';
        d->connected_devices[sizeof d->connected_devices - 1u] = '\0';
        d->numa_node[sizeof d->numa_node - 1u] = '\0';
        d->pcie_root[sizeof d->pcie_root - 1u] = '\0';
        bool_end(&d->node_exists);
        bool_end(&d->reading.listed);
        bool_end(&d->reading.known);
        bool_end(&d->reading.blind);
    }
}

static void efa_texts_end(struct found_efas *f)
{
    bool_end(&f->unknown);
    for (unsigned i = 0; i < f->count; i++) {
        struct found_efa *e = &f->efa[i];
        e->rdma_name[sizeof e->rdma_name - 1u] = '\0';
        e->pcie_root[sizeof e->pcie_root - 1u] = '\0';
        e->numa_node[sizeof e->numa_node - 1u] = '\0';
        e->subsystem[sizeof e->subsystem - 1u] = '\0';
        e->port_state[sizeof e->port_state - 1u] = '\0';
        bool_end(&e->verbs);
        bool_end(&e->node_exists);
        bool_end(&e->silent);
    }
}

/*
 * Copies the findings of a probe from or to a reader's page, and makes the copy valid. Copies only
 * the devices in use, and no descriptors.
 */
static void copy_result(struct sysfs_probe *to, const struct sysfs_probe *from)
{
    const struct found_node *found = &from->probe.found;
    unsigned count = count_of(&found->count, DEVICES_MAX);
    unsigned efas = count_of(&from->efas.count, EFAS_MAX);
    to->error = from->error;
    to->efa_error = from->efa_error;
    memcpy(&to->probe.known, &from->probe.known, sizeof to->probe.known);
    bool_end(&to->probe.known);
    to->probe.listing = from->probe.listing;
    to->probe.turn = from->probe.turn;
    memcpy(&to->probe.found, found, offsetof(struct found_node, devices));
    memcpy(to->probe.found.devices, found->devices, count * sizeof found->devices[0]);
    to->probe.found.count = (uint16_t)count;
    texts_end(&to->probe.found);
    memcpy(&to->efas, &from->efas, offsetof(struct found_efas, efa));
    memcpy(to->efas.efa, from->efas.efa, efas * sizeof from->efas.efa[0]);
    to->efas.count = (uint16_t)efas;
    efa_texts_end(&to->efas);
    to->telemetry.turn = from->telemetry.turn;
    for (unsigned i = 0; i < count && from->telemetry.turn > 0u; i++) {
        unsigned n = to->probe.found.devices[i].number;
        if (n < DEVICES_MAX) {
            memcpy(to->telemetry.value[n], from->telemetry.value[n], sizeof to->telemetry.value[n]);
        }
    }
}

bool readers_probe(struct readers *r, const struct sysfs_probe *last, bool efas)
{
    if (r->probing) {
        return false;
    }
    if (r->prober < 0) {
        r->prober = idle_reader(r, -1);
        if (r->prober >= 0) {
            copy_result(&r->reader[r->prober].page->result, last);
        }
    }
    if (r->prober < 0 || r->reader[r->prober].busy) {
        return false;
    }
    r->reader[r->prober].page->efas = efas;
    r->probing = ask_reader(r, &r->reader[r->prober], READER_PROBE, 0);
    return r->probing;
}

static struct found_device *device_of(struct found_node *f, uint32_t number)
{
    unsigned count = count_of(&f->count, DEVICES_MAX);
    for (unsigned i = 0; i < count; i++) {
        if (f->devices[i].number == number) {
            return &f->devices[i];
        }
    }
    return NULL;
}

static struct found_efa *efa_of(struct found_efas *f, uint32_t address)
{
    unsigned count = count_of(&f->count, EFAS_MAX);
    for (unsigned i = 0; i < count; i++) {
        if (f->efa[i].address == address) {
            return &f->efa[i];
        }
    }
    return NULL;
}

/*
 * Copies the values of a device's files from the previous probe, unless the device was replaced
 * since then.
 */
static void device_keep(struct found_device *to, const struct found_device *from)
{
    if (from->place.folder == to->place.folder) {
        struct found_device kept = *from;
        kept.place = to->place;
        /* Copy node_exists as a byte, because it may not be a valid bool yet; see bool_end. */
        memcpy(&kept.node_exists, &to->node_exists, sizeof kept.node_exists);
        *to = kept;
    }
}

static void efa_keep(struct found_efa *to, const struct found_efa *from)
{
    if (from->place.folder == to->place.folder) {
        text_set(to->rdma_name, sizeof to->rdma_name, from->rdma_name);
        text_set(to->numa_node, sizeof to->numa_node, from->numa_node);
        text_set(to->subsystem, sizeof to->subsystem, from->subsystem);
        text_set(to->port_state, sizeof to->port_state, from->port_state);
    }
}

/* Copies the values of a subject from the previous probe, because the new probe left it out. */
static void keep_subject(struct sysfs_probe *to, struct sysfs_probe *from,
                         const struct reading_subject *of)
{
    struct found_device *device = device_of(&to->probe.found, of->id);
    const struct found_device *before = device_of(&from->probe.found, of->id);
    struct found_efa *efa = efa_of(&to->efas, of->id);
    const struct found_efa *efa_before = efa_of(&from->efas, of->id);
    if (of->kind == (uint32_t)READING_DEVICE && device != NULL && before != NULL) {
        device_keep(device, before);
    }
    if (of->kind == (uint32_t)READING_EFA && efa != NULL && efa_before != NULL) {
        efa_keep(efa, efa_before);
    }
}

void readers_result(const struct readers *r, struct sysfs_probe *last)
{
    ASSERT(r->probed && r->prober >= 0);
    struct reader_page *page = r->reader[r->prober].page;
    const volatile unsigned *left_out = &page->left_out.count;
    unsigned count = *left_out;
    for (unsigned i = 0; i < count && i < READERS; i++) {
        keep_subject(&page->result, last, &page->left_out.of[i]);
    }
    copy_result(last, &page->result);
}

/* Whether a reader hangs while reading one of this subject's files. */
static bool is_silent(const struct readers *r, enum reading_kind kind, uint32_t id)
{
    bool silent = false;
    for (unsigned i = 0; i < READERS; i++) {
        const struct reader_state *x = &r->reader[i];
        silent = silent || (x->hangs && x->of.kind == (uint32_t)kind && x->of.id == id);
    }
    return silent;
}

void readers_mark(const struct readers *r, struct sysfs_probe *result)
{
    bool none_left = all_hang(r);
    for (unsigned i = 0; i < result->probe.found.count; i++) {
        struct found_device *d = &result->probe.found.devices[i];
        if (none_left) {
            d->reading = (struct device_reading){.blind = true};
        }
        d->reading.reasons &= ~(uint32_t)HEALTH_REASON_SILENT;
        if (is_silent(r, READING_DEVICE, d->number)) {
            d->reading.reasons |= (uint32_t)HEALTH_REASON_SILENT;
        }
    }
    for (unsigned i = 0; i < result->efas.count; i++) {
        struct found_efa *efa = &result->efas.efa[i];
        if (none_left) {
            efa->port_state[0] = '\0';
        }
        efa->silent = is_silent(r, READING_EFA, efa->address);
    }
}

/* --- memory use of devices --- */

/* How far a reader has progressed in reading the memory use of the devices that the agent wants. */
enum progress { UNRELATED, UNDER_WAY, LATE, ANSWERED };

/*
 * Judges whether reader `i` is reading a file of one of the devices in `numbers`, for any task.
 * LATE: the reader has been reading such a file for READ_WAIT_MS, or hangs because of such a file.
 * UNDER_WAY: the reader is reading such a file, and is not late. UNRELATED: neither.
 */
static enum progress file_progress(const struct readers *r, unsigned i, uint64_t numbers)
{
    const struct reader_state *x = &r->reader[i];
    const struct reading_note *note = &x->page->note;
    if (is_reading(note->step) && is_among(&note->of, numbers)) {
        bool late = note->step == x->step && r->now_ms - x->since_ms >= READ_WAIT_MS;
        return (late || x->hangs) ? LATE : UNDER_WAY;
    }
    return (x->hangs && is_among(&x->of, numbers)) ? LATE : UNRELATED;
}

static enum progress progress_of(const struct readers *r, unsigned i, uint64_t numbers)
{
    const struct reader_state *x = &r->reader[i];
    enum progress of_file = file_progress(r, i, numbers);
    bool asked = x->task == READER_MEMORY && x->numbers == numbers;
    if (asked && x->answered) {
        return ANSWERED;
    }
    bool under_way = of_file == UNRELATED && asked && x->busy;
    return under_way ? UNDER_WAY : of_file;
}

enum status readers_memory_read(struct readers *r, uint64_t numbers)
{
    enum progress most = UNRELATED;
    for (unsigned i = 0; i < READERS; i++) {
        enum progress p = progress_of(r, i, numbers);
        if (p > most) {
            most = p;
            r->memory = (int)i;
        }
    }
    if (most == UNRELATED && all_hang(r)) {
        most = LATE;
        r->memory = 0;
    }
    int free = idle_reader(r, r->prober);
    if (most == UNRELATED && free >= 0) {
        /* if the question cannot be sent, a later call of this function asks again */
        (void)ask_reader(r, &r->reader[free], READER_MEMORY, numbers);
    }
    if (most == ANSWERED) {
        return STATUS_OK;
    }
    return (most == LATE) ? HOST_BUSY : STATUS_MORE;
}

int64_t readers_memory(const struct readers *r, unsigned number, unsigned core)
{
    ASSERT(r->memory >= 0 && number < DEVICES_MAX && core < TELEMETRY_CORES_MAX);
    return r->reader[r->memory].page->memory[number][core];
}

/* --- UltraServer files of class/neuron_device --- */

/*
 * Whether a reader has the task READER_ULTRASERVER, or is reading a file of the node
 * (READING_NODE).
 */
static bool reads_node(const struct readers *r)
{
    bool reads = false;
    for (unsigned i = 0; i < READERS; i++) {
        const struct reader_state *x = &r->reader[i];
        reads = reads || (x->busy && x->task == READER_ULTRASERVER) ||
                (is_reading(x->page->note.step) && x->page->note.of.kind == (uint32_t)READING_NODE);
    }
    return reads;
}

int readers_ultraserver(struct readers *r, struct found_ultraserver *out)
{
    int which = reads_node(r) ? -1 : idle_reader(r, r->prober);
    if (which < 0) {
        return EBUSY;
    }
    struct reader_state *x = &r->reader[which];
    struct pollfd answer = {.fd = x->fd, .events = POLLIN};
    bool asked = ask_reader(r, x, READER_ULTRASERVER, 0);
    if (asked && poll(&answer, 1, READ_BRIEF_MS) > 0) {
        receive_bytes(r, (unsigned)which);
    }
    if (!asked || x->busy) {
        return EBUSY;
    }
    memcpy(out, &x->page->ultraserver, sizeof *out);
    ultraserver_texts_end(out);
    const volatile int *of_page = &x->page->ultraserver_error;
    int error = *of_page;
    return (error >= 0) ? error : EIO;
}

/* --- texts for an operator --- */

void readers_hanging(const struct readers *r, unsigned i, struct writer *w)
{
    const struct reader_state *x = &r->reader[i];
    ASSERT(i < READERS);
    WRITE(w, "% does not answer: a read of it has taken % s",
          SHOWN_LONG(view_text(x->file), sizeof x->file),
          NUMBER((r->now_ms - x->since_ms) / 1000u));
}

void readers_why(struct readers *r, struct writer *w)
{
    ASSERT(r->memory >= 0);
    if (!r->reader[r->memory].hangs) {
        copy_note(&r->reader[r->memory]);
    }
    readers_hanging(r, (unsigned)r->memory, w);
}
