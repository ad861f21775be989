/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the memory of devices before a new claim gets them, see device_memory.h. */
#include "agent/claim/device_memory.h"

#include "agent/claim/room.h"
#include "agent/frame.h"
#include "agent/ledger/ledger.h"
#include "base/assert.h"

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

uint8_t device_memory_cores(const struct agent *a, unsigned number, uint8_t of, uint64_t *bytes)
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
    if ((m->used & device_bit(number)) == 0u) {
        m->cores[number] = 0;
    }
    m->used |= device_bit(number);
    m->cores[number] |= cores;
}

void device_memory_last(const struct agent *a, unsigned number, struct writer *out)
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
    device_memory_last(a, number, why);
    writer_text(why, "; the claim is prepared once that memory is free");
}

/*
 * The devices of the record whose memory must be checked; bit N: device N. They are those that the
 * claim does not hold yet and, if it was rebuilt from the API server's list, those that it holds:
 * the kubelet may never have asked to prepare it, so a container of another claim may use them.
 */
static uint64_t numbers_of(const struct agent *a, const struct claim_record *r)
{
    int slot = ledger_find(a, r->id.uid);
    uint64_t own = (slot >= 0 && !r->rebuilt) ? ledger_entry(a, (unsigned)slot)->numbers : 0u;
    bool due = driver_traits(r->driver)->has_cores && a->settings->check_device_memory;
    return due ? claim_numbers(r) & ~own : 0u;
}

enum status device_memory_read_of(const struct agent *a, uint64_t numbers)
{
    const struct files *f = a->files;
    bool asks = numbers != 0u && f->memory_read != NULL;
    return asks ? f->memory_read(f->ctx, numbers) : STATUS_OK;
}

enum status device_memory_read(const struct agent *a, const struct claim_record *r,
                               struct writer *why)
{
    enum status s = device_memory_read_of(a, numbers_of(a, r));
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
        uint8_t used = ((numbers & device_bit(n)) != 0u)
                           ? device_memory_cores(a, n, claim_cores(r), &bytes)
                           : 0u;
        if (used != 0u) {
            note_used(a, n, used);
            write_used(a, n, bytes, why);
            return HOST_BUSY;
        }
    }
    return STATUS_OK;
}

/* --- devices for which claims were refused --- */

void device_memory_text(const struct agent *a, unsigned number, struct writer *out)
{
    char name[DEVICE_NAME_CAP];
    devices_name(a->devices, number, name);
    WRITE(out,
          "claims are refused device %, because a process of another claim still has memory of "
          "it: ",
          TEXT(name));
    device_memory_last(a, number, out);
}

uint64_t device_memory_used(const struct agent *a)
{
    return a->claim->device_memory.used;
}

uint8_t device_memory_refused_cores(const struct agent *a, unsigned number)
{
    const struct device_memory *m = &a->claim->device_memory;
    return ((m->used & device_bit(number)) != 0u) ? m->cores[number] : 0u;
}

void device_memory_forget(struct agent *a, unsigned number)
{
    a->claim->device_memory.used &= ~device_bit(number);
}
