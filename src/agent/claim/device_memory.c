/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the memory of devices before a new claim gets them, see device_memory.h. */
#include "agent/claim/device_memory.h"

#include "agent/claim/room.h"
#include "agent/frame.h"
#include "agent/ledger/ledger.h"
#include "agent/report/log.h"
#include "agent/report/log_catalogue.h"
#include "base/assert.h"

static uint64_t device_bit(unsigned number)
{
    return UINT64_C(1) << number;
}

/*
 * Number of cores of the device for which files with the memory use are read. If the number of its
 * cores is unknown, returns the largest number that any device has.
 */
static unsigned cores_of(const struct agent *a, unsigned number)
{
    int at = devices_numbered(a->devices, number);
    unsigned cores = (at >= 0) ? a->devices->device[at].core_count : 0u;
    return (cores == 0u || cores > TELEMETRY_CORES_MAX) ? TELEMETRY_CORES_MAX : cores;
}

/*
 * Returns the cores of the device whose memory is in use, and sets *bytes to the size of that
 * memory. Looks only at the cores in `of`; 0: at all cores.
 */
static uint8_t cores_used(const struct agent *a, unsigned number, uint8_t of, uint64_t *bytes)
{
    const struct files *f = a->files;
    unsigned cores = cores_of(a, number);
    unsigned used = 0;
    enum status s = STATUS_OK;
    *bytes = 0;
    for (unsigned core = 0; core < cores && s != HOST_ABSENT; core++) {
        uint64_t value = 0;
        if (of != 0u && ((unsigned)of >> core & 1u) == 0u) {
            continue;
        }
        s = f->memory(f->ctx, number, core, &value);
        if (s == STATUS_OK && value > 0u) {
            used |= 1u << core;
            *bytes += value;
        }
    }
    return (uint8_t)used;
}

static void note_used(struct agent *a, unsigned number, uint8_t cores)
{
    struct device_memory *m = &a->claim->device_memory;
    if (m->used == 0u) {
        m->check_ms = a->now_ms + DEVICE_MEMORY_LOOK_MS;
    }
    if ((m->used & device_bit(number)) == 0u) {
        m->since_ms[number] = a->now_ms;
        m->cores[number] = 0;
    }
    m->used |= device_bit(number);
    m->cores[number] |= cores;
}

/*
 * Writes which claim held the device last, and how to find the process that still uses its memory.
 */
static void write_last(const struct agent *a, unsigned number, struct writer *out)
{
    const struct claim_id *last = ledger_last(a, number);
    if (last->uid[0] == '\0') {
        writer_text(out, "which claim had it last is not known");
    } else {
        WRITE(out, "claim %/% (%) had it last", SHOWN(view_text(last->namespace_)),
              SHOWN(view_text(last->name)), TEXT(last->uid));
    }
    WRITE(out, "; find the process on the node by fuser -v /dev/neuron%", NUMBER(number));
}

static void write_used(const struct agent *a, unsigned number, uint64_t bytes, struct writer *why)
{
    char name[DEVICE_NAME_CAP];
    devices_name(a->devices, number, name);
    WRITE(why, "requested device % has % bytes of memory in use by a process of another claim: ",
          TEXT(name), NUMBER(bytes));
    write_last(a, number, why);
    writer_text(why, "; the claim is prepared once that memory is free");
}

/*
 * The devices of the record whose memory must be checked, because the claim does not hold them yet;
 * bit N: device N.
 */
static uint64_t numbers_of(const struct agent *a, const struct claim_record *r)
{
    int slot = ledger_find(a, r->id.uid);
    uint64_t own = (slot >= 0) ? ledger_entry(a, (unsigned)slot)->numbers : 0u;
    bool due = driver_traits(r->driver)->has_cores && a->settings->check_device_memory;
    return due ? claim_numbers(r) & ~own : 0u;
}

static enum status read_of(const struct agent *a, uint64_t numbers)
{
    const struct files *f = a->files;
    bool asks = numbers != 0u && f->memory_read != NULL;
    return asks ? f->memory_read(f->ctx, numbers) : STATUS_OK;
}

enum status device_memory_read(const struct agent *a, const struct claim_record *r,
                               struct writer *why)
{
    enum status s = read_of(a, numbers_of(a, r));
    if (s == HOST_BUSY) {
        const char *reason = a->files->why(a->files->ctx);
        WRITE(why,
              "the memory of its devices cannot be read: %; the claim is prepared once the "
              "file is read",
              TEXT(reason));
    }
    return s;
}

enum status device_memory_check(struct agent *a, const struct claim_record *r, bool parts,
                                struct writer *why)
{
    bool has_part = claim_cores(r) != 0u;
    uint64_t numbers = (has_part == parts) ? numbers_of(a, r) : 0u;
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        uint64_t bytes = 0;
        uint8_t used =
            ((numbers & device_bit(n)) != 0u) ? cores_used(a, n, claim_cores(r), &bytes) : 0u;
        if (used != 0u) {
            note_used(a, n, used);
            write_used(a, n, bytes, why);
            return HOST_BUSY;
        }
    }
    return STATUS_OK;
}

/* --- devices whose memory stays in use --- */

void device_memory_text(const struct agent *a, unsigned number, struct writer *out)
{
    char name[DEVICE_NAME_CAP];
    devices_name(a->devices, number, name);
    WRITE(out,
          "claims are refused device %, because a process of another claim still has memory of "
          "it: ",
          TEXT(name));
    write_last(a, number, out);
}

static void log_device(struct agent *a, enum log_id id, unsigned number, uint64_t bytes)
{
    char text[CLAIM_ERROR_CAP];
    char name[DEVICE_NAME_CAP];
    struct writer w = writer_of(text, sizeof text);
    devices_name(a->devices, number, name);
    log_begin(a, id);
    log_text(a, "device", name);
    if (bytes > 0u) {
        write_last(a, number, &w);
        writer_close_text(&w);
        log_number(a, "bytes", (int64_t)bytes);
        uint64_t used_ms = a->now_ms - a->claim->device_memory.since_ms[number];
        log_number(a, "used_ms", (int64_t)used_ms);
        log_text(a, "text", text);
    }
    log_end(a);
}

static void check_again(struct agent *a, unsigned number)
{
    struct device_memory *m = &a->claim->device_memory;
    uint64_t bytes = 0;
    if (cores_used(a, number, m->cores[number], &bytes) == 0u) {
        if ((m->stuck & device_bit(number)) != 0u) {
            log_device(a, LOG_ID_DEVICE_MEMORY_FREED, number, 0);
        }
        m->used &= ~device_bit(number);
        m->stuck &= ~device_bit(number);
    } else if ((m->stuck & device_bit(number)) == 0u &&
               a->now_ms - m->since_ms[number] >= DEVICE_MEMORY_STUCK_MS) {
        m->stuck |= device_bit(number);
        log_device(a, LOG_ID_DEVICE_MEMORY_STUCK, number, bytes);
    }
}

void device_memory_step(struct agent *a)
{
    struct device_memory *m = &a->claim->device_memory;
    if (m->used == 0u || (a->now_ms < m->check_ms && !m->reading)) {
        return;
    }
    enum status s = read_of(a, m->used);
    m->reading = s == STATUS_MORE;
    m->check_ms = a->now_ms + DEVICE_MEMORY_LOOK_MS;
    if (s != STATUS_OK) {
        return;
    }
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        if ((m->used & device_bit(n)) != 0u) {
            check_again(a, n);
        }
    }
}

uint64_t device_memory_deadline(const struct agent *a)
{
    return (a->claim->device_memory.used != 0u) ? a->claim->device_memory.check_ms : UINT64_MAX;
}

uint64_t device_memory_used(const struct agent *a)
{
    return a->claim->device_memory.used;
}
