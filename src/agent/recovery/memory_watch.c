/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the memory of devices that no claim holds, see memory_watch.h. */
#include "agent/recovery/memory_watch.h"

#include "agent/claim/device_memory.h"
#include "agent/frame.h"
#include "agent/ledger/ledger.h"
#include "agent/node/device_states.h"
#include "agent/node/inventory.h"
#include "agent/publish/publish.h"
#include "agent/recovery/room.h"
#include "agent/recovery/unlisted.h"
#include "agent/recovery/witness.h"
#include "agent/report/log.h"

/* --- the log --- */

static void log_device(struct agent *a, enum log_id id, unsigned number, uint64_t bytes)
{
    char text[CLAIM_ERROR_CAP];
    char name[DEVICE_NAME_CAP];
    struct writer w = writer_of(text, sizeof text);
    devices_name(a->devices, number, name);
    log_begin(a, id);
    log_text(a, "device", name);
    if (bytes > 0u) {
        device_memory_last(a, number, &w);
        writer_close_text(&w);
        log_number(a, "bytes", (int64_t)bytes);
        uint64_t used_ms = a->now_ms - a->recovery->memory_watch.since_ms[number];
        log_number(a, "used_ms", (int64_t)used_ms);
        log_text(a, "text", text);
    }
    log_end(a);
}

static void end_watches(struct agent *a, uint64_t numbers)
{
    struct memory_watch *w = &a->recovery->memory_watch;
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        if ((w->held & numbers & device_bit(n)) != 0u) {
            log_device(a, LOG_ID_DEVICE_MEMORY_FREED, n, 0);
        }
    }
    w->watched &= ~numbers;
    w->held &= ~numbers;
}

/* --- which devices a look includes --- */

/* Begins the time of rule M3 for these devices, and makes them watched. */
static void watch_devices(struct agent *a, uint64_t numbers)
{
    struct memory_watch *w = &a->recovery->memory_watch;
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        w->since_ms[n] = ((numbers & device_bit(n)) != 0u) ? a->now_ms : w->since_ms[n];
    }
    w->watched |= numbers;
}

/*
 * Makes those devices watched that a claim gave up, or for which a claim was refused. Ends the
 * watch of those that a claim got or that vanished.
 */
static void watch_changes(struct agent *a)
{
    struct memory_watch *w = &a->recovery->memory_watch;
    uint64_t claimed = ledger_numbers(a);
    uint64_t refused = device_memory_used(a);
    uint64_t added = (w->claimed & ~claimed) | (refused & ~w->watched);
    uint64_t ended = w->watched & ~refused & (claimed | ~devices_numbers(a->devices));
    added |= w->started ? 0u : UINT64_MAX;
    if (added != 0u) {
        watch_devices(a, added);
    }
    if (ended != 0u) {
        end_watches(a, ended);
    }
    w->started = true;
    w->claimed = claimed;
}

/* The next device of `among` after the one that the last look included in turn, as a mask. */
static uint64_t take_turn(struct memory_watch *w, uint64_t among)
{
    for (unsigned i = 1; i <= DEVICES_MAX; i++) {
        unsigned number = (w->turn + i) % DEVICES_MAX;
        if ((among & device_bit(number)) != 0u) {
            w->turn = number;
            return device_bit(number);
        }
    }
    return 0;
}

static uint64_t devices_to_read(struct agent *a)
{
    struct memory_watch *w = &a->recovery->memory_watch;
    uint64_t idle = devices_numbers(a->devices) & ~w->claimed;
    return (w->watched & idle) | device_memory_used(a) | take_turn(w, idle & ~w->watched);
}

/* --- judging a device --- */

/* The memory of the device is in use, and the time of rule M3 is over. */
static void hold_device(struct agent *a, unsigned number, uint64_t bytes)
{
    struct memory_watch *w = &a->recovery->memory_watch;
    if (witness_lists(a, ledger_last(a, number)->uid)) {
        watch_devices(a, device_bit(number));
    } else {
        w->held |= device_bit(number);
        log_device(a, LOG_ID_DEVICE_MEMORY_STUCK, number, bytes);
    }
}

static void judge_device(struct agent *a, unsigned number)
{
    const struct memory_watch *w = &a->recovery->memory_watch;
    uint64_t bit = device_bit(number);
    uint64_t bytes = 0;
    uint8_t refused = device_memory_refused_cores(a, number);
    bool claimed = (w->claimed & bit) != 0u;
    bool judged = !claimed || refused != 0u;
    uint8_t used = judged ? device_memory_cores(a, number, claimed ? refused : 0u, &bytes) : 0u;
    if ((used & refused) == 0u) {
        device_memory_forget(a, number);
    }
    if (used == 0u) {
        end_watches(a, bit);
    } else if ((w->watched & bit) == 0u) {
        watch_devices(a, bit);
    } else if ((w->held & bit) == 0u && a->now_ms - w->since_ms[number] >= DEVICE_MEMORY_STUCK_MS) {
        hold_device(a, number, bytes);
    } else {
        /* it was logged that the device is held, or it is too early */
    }
}

static void judge_devices(struct agent *a, uint64_t looked)
{
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        if ((looked & device_bit(n)) != 0u) {
            judge_device(a, n);
        }
    }
}

static void look(struct agent *a)
{
    struct memory_watch *w = &a->recovery->memory_watch;
    if (w->looking == 0u && a->now_ms < w->look_ms) {
        return;
    }
    w->looking = (w->looking == 0u) ? devices_to_read(a) : w->looking;
    w->look_ms = a->now_ms + DEVICE_MEMORY_LOOK_MS;
    enum status s = device_memory_read_of(a, w->looking);
    if (s == STATUS_MORE) {
        return;
    }
    uint64_t looked = (s == STATUS_OK) ? w->looking : 0u;
    w->looking = 0;
    judge_devices(a, looked);
}

/* --- what the rest of the agent calls --- */

static bool is_watching(const struct agent *a)
{
    bool has = a->driver->kind == DRIVER_NEURON && a->settings->check_device_memory;
    return has && inventory_is_known(a) && ledger_is_usable(a) && !unlisted_blocks(a);
}

void memory_watch_step(struct agent *a)
{
    const struct memory_watch *w = &a->recovery->memory_watch;
    if (!is_watching(a)) {
        return;
    }
    watch_changes(a);
    look(a);
    if (device_states_hold_memory(a, w->held & ~w->claimed)) {
        publish_changed(a);
    }
}

uint64_t memory_watch_deadline(const struct agent *a)
{
    return is_watching(a) ? a->recovery->memory_watch.look_ms : UINT64_MAX;
}

bool memory_watch_has_text(const struct agent *a, unsigned number)
{
    return ((device_memory_used(a) | device_states_memory_held(a)) & device_bit(number)) != 0u;
}

void memory_watch_text(const struct agent *a, unsigned number, struct writer *out)
{
    char name[DEVICE_NAME_CAP];
    if ((device_memory_used(a) & device_bit(number)) != 0u) {
        device_memory_text(a, number, out);
        return;
    }
    devices_name(a->devices, number, name);
    uint64_t used_ms = a->now_ms - a->recovery->memory_watch.since_ms[number];
    WRITE(out, "no claim holds device %, but its memory has been in use for % min: ", TEXT(name),
          NUMBER(used_ms / 60000u));
    device_memory_last(a, number, out);
    writer_text(out, "; if there is none, reload the Neuron driver or replace the node");
}
