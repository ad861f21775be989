/* SPDX-License-Identifier: Apache-2.0 */
/* The commands beside `run`; see commands.h. Each is one process that ends after its output. */
#include "host/commands.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "cfg/identity.h"
#include "host/sockets.h"
#include "host/system.h"

/* How long the agent's page may take: it responds in one turn of its loop. */
#define PAGE_WAIT_S 5
/* A directory of the settings, and the longest file name in it. */
#define COMMAND_PATH_CAP (PATH_CAP + CDI_FILE_NAME_CAP + 16u)

/* --- output --- */

static enum status flush(struct command_memory *m, struct writer *why)
{
    int error = 0;
    ASSERT(!m->out.full);
    enum status s = descriptor_write(STDOUT_FILENO, writer_view(&m->out), -1, &error);
    m->out.len = 0;
    if (s != STATUS_OK) {
        writer_text(why, "standard output cannot be written: ");
        writer_errno(why, error);
    }
    return s;
}

static bool is_text(const struct command_memory *m)
{
    return m->settings->output == OUTPUT_TEXT;
}

static bool write_part(struct command_memory *m, unsigned part)
{
    const struct settings *s = m->settings;
    if (s->command == COMMAND_SLICES) {
        const char *node = (s->node_name[0] != '\0') ? s->node_name : "node";
        return command_slices(&m->inventory, node, part, &m->document);
    }
    return is_text(m) ? command_devices_text(&m->inventory, part, &m->out)
                      : command_devices_document(&m->inventory, part, &m->document);
}

/* --- the node --- */

static enum status board_load(struct command_memory *m, struct writer *why)
{
    struct inventory *v = &m->inventory;
    if (!command_board(m->settings->board, &m->probe.found)) {
        writer_text(why, "--board: unknown instance type \"");
        writer_shown(why, view_text(m->settings->board), SHOWN_BYTES_MAX);
        writer_text(why, "\"; known: ");
        command_board_names(why);
        return PEER_MALFORMED;
    }
    devices_build(&v->devices, &m->probe.found, &v->issues);
    v->issues.count = 0; /* what a simulated node lacks says nothing */
    return STATUS_OK;
}

static enum status node_load(struct command_memory *m, struct writer *why)
{
    int error = probe_node(m->settings, &m->probe);
    if (error != 0) {
        writer_text(why, m->settings->sysfs_root);
        writer_text(why, "/class/neuron_device cannot be read: ");
        writer_errno(why, error);
        writer_text(why, "; run this as root on the node, or in the agent's pod");
        return errno_status(error);
    }
    devices_build(&m->inventory.devices, &m->probe.found, &m->inventory.issues);
    return STATUS_OK;
}

/* --- the claim store --- */

/*
 * Not by the files port: that takes the store's lock. One read is enough, and a part that is short
 * is damaged.
 */
static struct view store_part(const struct command_memory *m, uint64_t offset, void *bytes,
                              size_t cap)
{
    ssize_t n = pread(m->store_fd, bytes, cap, (off_t)offset);
    return view_of(bytes, (n > 0) ? (size_t)n : 0u);
}

/* STATUS_OK: it has a header; HOST_ABSENT: there is no store. */
static enum status store_open(struct command_memory *m)
{
    char path[COMMAND_PATH_CAP];
    struct store_header header;
    struct writer w = writer_of(path, sizeof path);
    writer_text(&w, m->state_dir);
    writer_text(&w, "/" STORE_FILE_NAME);
    enum status s = writer_end_text(&w);
    ASSERT(s == STATUS_OK);
    m->store_fd = path_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (m->store_fd < 0) {
        return errno_status(errno);
    }
    s = store_header_read(store_part(m, 0, m->half[0], STORE_HEADER_WRITTEN), &header);
    if (s == HOST_DAMAGED) {
        s = store_header_read(
            store_part(m, STORE_HEADER_BYTES / 2u, m->half[0], STORE_HEADER_WRITTEN), &header);
    }
    return s;
}

static enum slot_state slot_load(struct command_memory *m, unsigned slot)
{
    struct view bytes[2];
    for (unsigned half = 0; half < 2u; half++) {
        bytes[half] = store_part(m, store_offset(slot, half), m->half[half], STORE_HALF_BYTES);
    }
    return command_slot(bytes, slot, &m->record, &m->outline);
}

static void store_trouble(const struct command_memory *m, enum status s, struct writer *why)
{
    writer_text(why, m->state_dir);
    writer_text(why, "/" STORE_FILE_NAME);
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
    case HOST_DAMAGED:
        writer_text(why, " is damaged; an agent that starts repairs it");
        break;
    default:
        writer_text(why, " cannot be read; check that it is a file, and the disk");
        break;
    }
}

static enum cdi_state cdi_look(struct command_memory *m)
{
    char name[CDI_FILE_NAME_CAP];
    char path[COMMAND_PATH_CAP];
    int error = 0;
    struct writer w = writer_of(path, sizeof path);
    struct writer stored = writer_of(m->cdi[0], sizeof m->cdi[0]);
    struct writer wanted = writer_of(m->cdi[1], sizeof m->cdi[1]);
    cdi_file_name(m->record.id.uid, name);
    writer_text(&w, m->settings->cdi_root);
    writer_text(&w, "/");
    writer_text(&w, name);
    enum status s = writer_end_text(&w);
    ASSERT(s == STATUS_OK);
    s = file_read_whole(path, &stored, &error);
    if (s != STATUS_OK) {
        return (s == HOST_ABSENT) ? CDI_MISSING : CDI_UNREADABLE;
    }
    s = cdi_write(&m->record, m->settings->dev_root, &wanted);
    bool same = s == STATUS_OK && view_equal(writer_view(&stored), writer_view(&wanted));
    return same ? CDI_GOOD : CDI_DIFFERENT;
}

/* --- devices, slices --- */

static void holder_load(struct command_memory *m, unsigned slot)
{
    const struct claim_record *r = &m->record;
    enum slot_state state = slot_load(m, slot);
    if (state == SLOT_CLAIM) {
        command_hold(&m->inventory, claim_numbers(r), &r->id, r->consumer.name);
    }
    if (state == SLOT_OUTLINE && !m->outline.released) {
        command_hold(&m->inventory, m->outline.numbers, &m->outline.id, "");
    }
}

/* Who holds what, also by records of a newer agent. HOST_*: the store cannot be read. */
static enum status holders_load(struct command_memory *m, struct writer *why)
{
    enum status s = store_open(m);
    if (s == HOST_ABSENT) {
        return STATUS_OK; /* nothing was ever prepared */
    }
    if (s != STATUS_OK) {
        store_trouble(m, s, why);
        return s;
    }
    for (unsigned slot = 0; slot < CLAIMS_MAX; slot++) {
        holder_load(m, slot);
    }
    return STATUS_OK;
}

static enum status run_inventory(struct command_memory *m, struct writer *why)
{
    bool offline = m->settings->board[0] != '\0';
    enum status s = offline ? board_load(m, why) : node_load(m, why);
    if (s == STATUS_OK && !offline && m->settings->command == COMMAND_DEVICES) {
        s = holders_load(m, why);
    }
    for (unsigned part = 0; s == STATUS_OK && write_part(m, part); part++) {
        s = flush(m, why);
    }
    return s;
}

/* --- claims --- */

static void outline_text(struct command_memory *m)
{
    writer_text(&m->out, m->outline.id.namespace_);
    writer_text(&m->out, "/");
    writer_text(&m->out, m->outline.id.name);
    writer_text(&m->out, "\n  uid: ");
    writer_text(&m->out, m->outline.id.uid);
    writer_text(&m->out, m->outline.released
                             ? "\n  unprepared; its CDI file could not be removed yet\n"
                             : "\n  prepared by a newer agent, which knows its devices\n");
}

static void outline_document(struct command_memory *m)
{
    struct document *d = &m->document;
    document_object_begin(d);
    document_text(d, "namespace", m->outline.id.namespace_);
    document_text(d, "name", m->outline.id.name);
    document_text(d, "uid", m->outline.id.uid);
    document_bool(d, "released", m->outline.released);
    document_object_end(d);
}

static void write_claim(struct command_memory *m, unsigned slot, enum slot_state state)
{
    if (state == SLOT_CLAIM && is_text(m)) {
        command_claim_text(&m->record, cdi_look(m), &m->out);
    } else if (state == SLOT_CLAIM) {
        command_claim_document(&m->record, cdi_look(m), &m->document);
    } else if (state == SLOT_OUTLINE && is_text(m)) {
        outline_text(m);
    } else if (state == SLOT_OUTLINE) {
        outline_document(m);
    } else if (is_text(m)) {
        writer_text(&m->out, "slot ");
        writer_decimal(&m->out, slot);
        writer_text(&m->out, " is damaged; an agent that starts repairs the store\n");
    } else {
        document_object_begin(&m->document);
        document_number(&m->document, "damagedSlot", slot);
        document_object_end(&m->document);
    }
}

static enum status run_claims(struct command_memory *m, struct writer *why)
{
    enum status s = store_open(m);
    bool any = false;
    if (s != STATUS_OK) {
        store_trouble(m, s, why);
        return s;
    }
    if (!is_text(m)) {
        document_object_begin(&m->document);
        document_array_begin(&m->document, "claims");
    }
    for (unsigned slot = 0; slot < CLAIMS_MAX && s == STATUS_OK; slot++) {
        enum slot_state state = slot_load(m, slot);
        if (state != SLOT_FREE) {
            write_claim(m, slot, state);
            any = true;
            s = flush(m, why);
        }
    }
    if (!is_text(m)) {
        document_array_end(&m->document);
        document_object_end(&m->document);
        document_end(&m->document);
    } else {
        writer_text(&m->out, any ? "" : "No claims are prepared.\n");
    }
    return (s == STATUS_OK) ? flush(m, why) : s;
}

/* --- the agent's pages --- */

static int page_connect(const struct settings *s)
{
    struct ip_address address = {0};
    const char *text = (s->metrics_address[0] != '\0') ? s->metrics_address : "127.0.0.1";
    address.v6 = inet_pton(AF_INET6, text, address.bytes) == 1;
    if (!address.v6 && inet_pton(AF_INET, text, address.bytes) != 1) {
        errno = EINVAL;
        return -1;
    }
    int fd = socket(address.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && address_connect(fd, &address, (uint16_t)s->metrics_port) != 0) {
        int error = errno;
        (void)close(fd);
        errno = error;
        fd = -1;
    }
    return fd;
}

/* Sends the request, and reads to the end of the connection. An errno, or 0. */
static int page_exchange(int fd, const char *path, struct writer *out)
{
    uint8_t bytes[64];
    struct writer request = writer_of(bytes, sizeof bytes);
    int error = 0;
    writer_text(&request, "GET ");
    writer_text(&request, path);
    writer_text(&request, " HTTP/1.0\r\n\r\n");
    ASSERT(!request.full);
    enum status s = descriptor_write(fd, writer_view(&request), -1, &error);
    ssize_t n = (s == STATUS_OK) ? 1 : 0;
    for (unsigned i = 0; i < CDI_BYTES_MAX && n > 0 && writer_room(out) > 0u; i++) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        int ready = poll(&wait, 1, PAGE_WAIT_S * 1000);
        n = (ready == 1) ? read(fd, &out->data[out->len], writer_room(out)) : -1;
        error = (ready == 0) ? ETIMEDOUT : ((n < 0) ? errno : 0);
        out->len += (n > 0) ? (size_t)n : 0u;
    }
    return error;
}

static void agent_unreachable(const struct command_memory *m, const char *path, int error,
                              struct writer *why)
{
    writer_text(why, "no agent responds to ");
    writer_text(why, path);
    writer_text(why, " at port ");
    writer_decimal(why, (uint64_t)m->settings->metrics_port);
    writer_text(why, ": ");
    writer_errno(why, error);
    writer_text(why, "; is it running here, with this --metrics-port?");
}

/*
 * The page of the agent: its code, 0 with a line in `why` when nobody responds. The body is valid
 * until the next page.
 */
static unsigned page_get(struct command_memory *m, const char *path, struct view *body,
                         struct writer *why)
{
    struct writer response = writer_of(m->cdi[0], sizeof m->cdi[0]);
    *body = view_of(NULL, 0);
    if (m->settings->metrics_port <= 0) {
        writer_text(why, "--metrics-port must be the agent's port, from 1 on: ");
        writer_text(why, path);
        writer_text(why, " is asked there");
        return 0;
    }
    int fd = page_connect(m->settings);
    int error = (fd < 0) ? errno : page_exchange(fd, path, &response);
    if (fd >= 0) {
        (void)close(fd);
    }
    unsigned code = (error == 0) ? command_response(writer_view(&response), body) : 0u;
    if (code == 0u) {
        agent_unreachable(m, path, (error == 0) ? EPROTO : error, why);
    }
    return code;
}

static enum status run_probe(struct command_memory *m, struct writer *why)
{
    struct view body;
    bool ready = view_is(view_text(m->settings->operand), "readiness");
    unsigned code = page_get(m, ready ? "/readyz" : "/healthz", &body, why);
    m->answer_no = code != 200u;
    if (code == 0u) {
        return HOST_IO;
    }
    writer_append(&m->out, view_first(body, writer_room(&m->out)));
    return flush(m, why);
}

/* --- check --- */

static enum status reason(struct command_memory *m, struct view text, struct writer *why)
{
    m->reasons++;
    if (is_text(m)) {
        writer_append(&m->out, text);
        writer_text(&m->out, "\n");
    } else {
        document_element(&m->document, text);
    }
    return flush(m, why);
}

static enum status check_node(struct command_memory *m, struct writer *why)
{
    uint8_t bytes[HOST_TEXT_CAP];
    struct writer line = writer_of(bytes, sizeof bytes);
    enum status s = node_load(m, &line);
    if (s != STATUS_OK) {
        return reason(m, writer_view(&line), why);
    }
    for (unsigned i = 0; i < m->inventory.issues.count && s == STATUS_OK; i++) {
        line.len = 0;
        command_issue(&m->inventory.issues.issue[i], &line);
        s = reason(m, writer_view(&line), why);
    }
    return s;
}

static enum status check_socket(struct command_memory *m, const char *path, struct writer *why)
{
    uint8_t bytes[HOST_TEXT_CAP];
    struct writer line = writer_of(bytes, sizeof bytes);
    struct stat st;
    bool there = link_stat(path, &st) == 0;
    writer_text(&line, "socket ");
    writer_text(&line, path);
    if (!there) {
        writer_text(&line, ": ");
        writer_errno(&line, errno);
    } else if (!S_ISSOCK(st.st_mode)) {
        writer_text(&line, " is no socket");
    } else if (socket_is_dead(path)) {
        writer_text(&line, ": nobody listens");
    } else {
        return STATUS_OK;
    }
    writer_text(&line, "; is the agent running, with this --pod-uid and these directories?");
    return reason(m, writer_view(&line), why);
}

static enum status check_store(struct command_memory *m, struct writer *why)
{
    uint8_t bytes[HOST_TEXT_CAP];
    struct writer line = writer_of(bytes, sizeof bytes);
    enum status s = store_open(m);
    if (s == STATUS_OK) {
        return STATUS_OK;
    }
    store_trouble(m, s, &line);
    return reason(m, writer_view(&line), why);
}

static enum status check_cdi(struct command_memory *m, struct writer *why)
{
    uint8_t bytes[HOST_TEXT_CAP];
    struct writer line = writer_of(bytes, sizeof bytes);
    struct stat st;
    if (path_stat(m->settings->cdi_root, &st) == 0 && S_ISDIR(st.st_mode)) {
        return STATUS_OK;
    }
    writer_text(&line, "CDI directory ");
    writer_text(&line, m->settings->cdi_root);
    writer_text(&line,
                " does not exist; see --cdi-root, and cdi_spec_dirs of the container runtime");
    return reason(m, writer_view(&line), why);
}

/* What only the agent knows: the kubelet's registration, its rights at the API server, slices. */
static enum status check_agent(struct command_memory *m, struct writer *why)
{
    uint8_t bytes[HOST_TEXT_CAP];
    struct writer line = writer_of(bytes, sizeof bytes);
    struct view body;
    unsigned code = page_get(m, "/readyz", &body, &line);
    if (code == 0u) {
        return reason(m, writer_view(&line), why);
    }
    enum status s = STATUS_OK;
    if (code != 200u && body.len == 0u) {
        writer_text(&line, "the response of /readyz has no reason, but the status ");
        writer_decimal(&line, code);
        writer_text(&line, "; check that --metrics-port is the agent's");
        s = reason(m, writer_view(&line), why);
    }
    while (code != 200u && body.len > 0u && s == STATUS_OK) {
        size_t end = view_find(body, '\n');
        s = reason(m, view_first(view_first(body, end), COMMAND_PART_BYTES / 2u), why);
        body = view_from(body, end + 1u);
    }
    return s;
}

static enum status check_end(struct command_memory *m, struct writer *why)
{
    m->answer_no = m->reasons > 0u;
    if (is_text(m)) {
        writer_text(&m->out, m->answer_no ? "" : "ready\n");
    } else {
        document_array_end(&m->document);
        document_bool(&m->document, "ready", !m->answer_no);
        document_object_end(&m->document);
        document_end(&m->document);
    }
    return flush(m, why);
}

static enum status run_check(struct command_memory *m, struct writer *why)
{
    if (!is_text(m)) {
        document_object_begin(&m->document);
        document_array_begin(&m->document, "reasons");
    }
    enum status s = check_node(m, why);
    if (s == STATUS_OK) {
        s = check_socket(m, m->settings->registration_socket, why);
    }
    if (s == STATUS_OK) {
        s = check_socket(m, m->settings->service_socket, why);
    }
    if (s == STATUS_OK) {
        s = check_store(m, why);
    }
    if (s == STATUS_OK) {
        s = check_cdi(m, why);
    }
    if (s == STATUS_OK) {
        s = check_agent(m, why);
    }
    return (s == STATUS_OK) ? check_end(m, why) : s;
}

/* --- all --- */

enum status commands_run(struct command_memory *m, const struct settings *settings,
                         struct writer *why)
{
    enum status s = STATUS_OK;
    m->settings = settings;
    struct writer path = writer_of(m->state_dir, sizeof m->state_dir);
    writer_text(&path, settings->plugins_dir);
    writer_text(&path, "/" DRIVER_NAME);
    if (writer_end_text(&path) != STATUS_OK) {
        writer_text(why, "--kubelet-plugins-directory-path is too long");
        return PEER_MALFORMED;
    }
    m->store_fd = -1;
    m->out = writer_of(m->part, sizeof m->part);
    m->inventory.colour = isatty(STDOUT_FILENO) == 1;
    bool yaml = settings->output == OUTPUT_YAML ||
                (settings->command == COMMAND_SLICES && settings->output == OUTPUT_TEXT);
    m->document = document_of(&m->out, yaml);
    switch (settings->command) {
    case COMMAND_CLAIMS:
        s = run_claims(m, why);
        break;
    case COMMAND_CHECK:
        s = run_check(m, why);
        break;
    case COMMAND_PROBE:
        s = run_probe(m, why);
        break;
    case COMMAND_COMPLETION:
        settings_completion(&m->out);
        s = flush(m, why);
        break;
    default:
        s = run_inventory(m, why);
        break;
    }
    return s;
}
