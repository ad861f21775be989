/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that several commands use: they read the devices of the node and the claim store, and
 * write output to a descriptor. The commands decide what they print.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/chars.h"
#include "base/crc32c.h"
#include "cfg/identity.h"
#include "host/commands/commands_internal.h"
#include "host/servers.h"
#include "host/system.h"

/* --- writing the output --- */

enum status output_write(int fd, struct view bytes, struct writer *why)
{
    static const char *const names[STDERR_FILENO + 1] = {
        [STDOUT_FILENO] = "standard output", [STDERR_FILENO] = "standard error"};
    int error = 0;
    enum status s = descriptor_write(fd, bytes, -1, &error);
    if (s != STATUS_OK) {
        bool standard = fd == STDOUT_FILENO || fd == STDERR_FILENO;
        WRITE(why, "% cannot be written: %", TEXT(standard ? names[fd] : "the file"), ERRNO(error));
    }
    return s;
}

enum status output_flush(struct writer *out, int fd, struct writer *why)
{
    ASSERT(!out->full);
    enum status s = output_write(fd, writer_view(out), why);
    out->len = 0;
    return s;
}

/*
 * Length of the escape sequence for a colour (of the command `devices`) with which the text starts;
 * 0: there is none.
 */
static size_t colour_length(struct view v)
{
    static const char begin[] = ANSI_ESCAPE "[1;3";
    static const char end[] = ANSI_ESCAPE "[0m";
    if (view_starts(v, end)) {
        return sizeof end - 1u;
    }
    /*
     * the byte that selects the colour must be a digit, because any other byte could be a control
     * character
     */
    bool begins = view_starts(v, begin) && v.len > sizeof begin &&
                  is_digit(v.data[sizeof begin - 1u]) && v.data[sizeof begin] == 'm';
    return begins ? sizeof begin + 1u : 0u;
}

enum status commands_write(int fd, struct view text, bool colour, struct writer *why)
{
    uint8_t bytes[WRITE_PIECE_BYTES];
    enum status s = STATUS_OK;
    struct view rest = text;
    while (rest.len > 0u && s == STATUS_OK) {
        struct writer out = writer_of(bytes, sizeof bytes);
        size_t sequence = colour ? colour_length(rest) : 0u;
        size_t n = sequence;
        writer_append(&out, view_first(rest, sequence));
        if (sequence == 0u) {
            size_t escape = view_find(view_from(rest, 1u), '\033') + 1u;
            n = writer_safe(&out, view_first(rest, colour ? escape : rest.len), true);
        }
        rest = view_from(rest, n);
        s = output_flush(&out, fd, why);
    }
    return s;
}

enum status commands_flush(struct command_memory *m, struct writer *why)
{
    struct view text = writer_view(&m->out);
    ASSERT(!m->out.full);
    m->out.len = 0;
    m->sum = crc32c(m->sum, text);
    return m->compares ? STATUS_OK : commands_write(m->out_fd, text, m->inventory.colour, why);
}

bool commands_are_text(const struct command_memory *m)
{
    return m->output == OUTPUT_TEXT;
}

/* --- reading the devices of the node --- */

/*
 * Returns 0 or the errno that shows that --sysfs-root has no sysfs. This distinguishes a wrong
 * --sysfs-root from a node without devices: in both cases the class neuron_device is absent, but a
 * node without devices has sysfs. Not inlined, so that the buffer of this function is not on the
 * stack while devices are read.
 */
__attribute__((noinline)) static int find_sysfs(const struct command_memory *m)
{
    char path[COMMAND_PATH_CAP];
    struct stat st;
    path_join(path, sizeof path, m->settings->sysfs_root, "class");
    return (path_stat(path, &st) == 0) ? 0 : errno;
}

enum status commands_node(struct command_memory *m, struct writer *why)
{
    int error = find_sysfs(m);
    error = (error == 0) ? probe_node(m->settings, &m->probe) : error;
    if (error != 0) {
        WRITE(why,
              "%/class/neuron_device cannot be read: %; run this as root on the node, or in the "
              "agent's pod",
              TEXT(m->settings->sysfs_root), ERRNO(error));
        return errno_status(error);
    }
    devices_build(&m->inventory.devices, &m->probe.found, &m->inventory.issues);
    return STATUS_OK;
}

enum status commands_efas(struct command_memory *m, bool offline, struct writer *why)
{
    struct inventory *v = &m->inventory;
    int error = 0;
    if (!offline) {
        error = efas_probe(m->settings, &m->efas);
    } else if (!command_board_efas(m->settings->board, &m->efas)) {
        error = ENOENT; /* unreachable: board_load has checked that the instance type is known */
    }
    if (error != 0) {
        WRITE(why,
              "the EFA devices in % cannot be read: %; run this as root on the node, or in the "
              "agent's pod",
              TEXT(m->settings->sysfs_root), ERRNO(error));
        return errno_status(error);
    }
    efas_build(&v->devices, NULL, &m->efas, &v->issues);
    v->devices.shares = (uint8_t)((m->settings->efa_share > 1u) ? m->settings->efa_share : 0u);
    v->devices.resources = m->settings->driver[DRIVER_EFA].resources;
    v->issues.count = offline ? 0u : v->issues.count;
    return STATUS_OK;
}

/* --- opening and reading the claim store --- */

void commands_driver(struct command_memory *m, enum driver_kind driver)
{
    m->driver = driver;
    servers_directory(&m->settings->driver[driver], m->state_dir);
}

unsigned commands_drivers(const struct command_memory *m)
{
    return m->settings->efa ? (unsigned)DRIVERS : 1u;
}

/*
 * Reads a part of the store directly, because the files port would take the store's lock. Calls
 * pread(2) once; the caller treats a result that is too short as damage of the store.
 */
static struct view store_part(const struct command_memory *m, uint64_t offset, void *bytes,
                              size_t cap)
{
    ssize_t n = pread(m->store_fd, bytes, cap, (off_t)offset);
    return view_of(bytes, (n > 0) ? (size_t)n : 0u);
}

/*
 * Whether `fd` is a plain file. A directory or a pipe may stand at the path of the claim store,
 * too.
 */
static bool is_plain(int fd)
{
    struct stat st;
    return descriptor_stat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

enum status commands_store(struct command_memory *m)
{
    char path[COMMAND_PATH_CAP];
    struct store_header header;
    path_join(path, sizeof path, m->state_dir, STORE_FILE_NAME);
    if (m->store_fd >= 0) {
        (void)close(m->store_fd);
    }
    m->store_fd = path_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (m->store_fd < 0) {
        return errno_status(errno);
    }
    if (!is_plain(m->store_fd)) {
        return HOST_BUSY;
    }
    enum status s = store_header_read(store_part(m, 0, m->half[0], STORE_HEADER_WRITTEN), &header);
    if (s == HOST_DAMAGED) {
        s = store_header_read(
            store_part(m, STORE_HEADER_BYTES / 2u, m->half[0], STORE_HEADER_WRITTEN), &header);
    }
    return s;
}

enum slot_state commands_slot(struct command_memory *m, unsigned slot)
{
    struct view bytes[2];
    for (unsigned half = 0; half < 2u; half++) {
        bytes[half] = store_part(m, store_offset(slot, half), m->half[half], STORE_HALF_BYTES);
    }
    return command_slot(bytes, slot, &m->record, &m->outline);
}

void commands_store_trouble(const struct command_memory *m, enum status s, struct writer *why)
{
    WRITE(why, "%/" STORE_FILE_NAME, TEXT(m->state_dir));
    switch (s) {
    case HOST_ABSENT:
        writer_text(why, " does not exist: no agent has run on this node; see "
                         "--kubelet-plugins-directory-path");
        break;
    case HOST_DENIED:
        writer_text(why, " may not be read; run this as root on the node, or in the agent's pod");
        break;
    case PEER_UNSUPPORTED:
        writer_text(why, " has another format; use the commands of the agent that wrote it");
        break;
    case HOST_BUSY:
        writer_text(why, " is not a plain file; move away what has its name: an agent that starts "
                         "makes the store again");
        break;
    case HOST_DAMAGED:
        writer_text(why, " is damaged; an agent that starts repairs it");
        break;
    default:
        writer_text(why, " cannot be read; check that it is a file, and the disk");
        break;
    }
}

/* --- the claims that hold the devices --- */

static void holder_load(struct command_memory *m, unsigned slot)
{
    const struct claim_record *r = &m->record;
    enum slot_state state = commands_slot(m, slot);
    commands_stored_add(m, state);
    m->inventory.damaged_slots =
        (uint16_t)(m->inventory.damaged_slots + ((state == SLOT_DAMAGED) ? 1u : 0u));
    if (state == SLOT_CLAIM) {
        command_hold(&m->inventory, claim_numbers(r), &r->id, r->consumer.name);
    }
    if (state == SLOT_OUTLINE && !m->outline.released) {
        command_hold(&m->inventory, m->outline.numbers, &m->outline.id, "");
    }
}

enum status commands_holders(struct command_memory *m, enum driver_kind driver, struct writer *why)
{
    struct inventory *v = &m->inventory;
    memset(v->holder, 0, sizeof v->holder);
    v->damaged_slots = 0;
    v->witnesses = 0;
    v->cdi_unread = 0;
    commands_driver(m, driver);
    commands_stored_begin(m);
    enum status s = commands_store(m);
    for (unsigned slot = 0; slot < CLAIMS_MAX && s == STATUS_OK; slot++) {
        holder_load(m, slot);
    }
    /* without a claim store, the driver has prepared no claim */
    s = (s == HOST_ABSENT) ? STATUS_OK : s;
    v->holders_unknown = s != STATUS_OK;
    if (s != STATUS_OK) {
        commands_store_trouble(m, s, why);
    }
    commands_witness_hold(m);
    return s;
}
