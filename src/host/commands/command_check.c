/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `check`: whether the node is ready, why not, and what else is wrong. While an agent
 * responds, the reasons are those of its page /readyz, and every other finding is a warning.
 * Without an agent, the reasons are the conditions that prevent an agent from working on this node.
 *
 * The document has the reasons before the warnings, so the checks run twice: once for each kind.
 */
#include <errno.h>
#include <poll.h>

#include "agent/troubles.h"
#include "base/assert.h"
#include "cfg/identity.h"
#include "host/commands/commands_internal.h"
#include "host/node/device_plugin.h"
#include "host/servers.h"
#include "host/system.h"

/* --- printing the findings --- */

/* In a JSON or YAML document each byte of a finding can become six, as in \u001b. */
_Static_assert(6u * FINDING_BYTES_MAX + 1024u <= COMMAND_PART_BYTES, "an escaped finding fits");

/*
 * Prints a finding if it is of the kind that is printed now (m->finding). Cuts a finding to
 * FINDING_BYTES_MAX.
 */
static enum status add_finding(struct command_memory *m, enum finding_kind kind, struct view text,
                               struct writer *why)
{
    if (kind != m->finding) {
        return STATUS_OK;
    }
    struct view shown = view_first(text, FINDING_BYTES_MAX);
    m->answer_no = m->answer_no || kind == FINDING_REASON;
    if (commands_are_text(m)) {
        WRITE(&m->out, "%%\n", TEXT((kind == FINDING_WARNING) ? "warning: " : ""), VIEW(shown));
    } else {
        document_element(&m->document, shown);
    }
    return commands_flush(m, why);
}

/*
 * Kind of a finding that can prevent an agent from working on this node. If an agent responds, the
 * finding is only a warning, because then /readyz says whether the agent works.
 */
static enum finding_kind hindrance(const struct command_memory *m)
{
    return m->agent_responds ? FINDING_WARNING : FINDING_REASON;
}

static enum status add_hindrance(struct command_memory *m, struct view text, struct writer *why)
{
    return add_finding(m, hindrance(m), text, why);
}

/* --- checks of the node and its devices --- */

/*
 * Adds an issue of the probe: as a reason if the agent refuses the instance family, else as a
 * warning. If an agent responds, adds no reason, because the page /readyz of that agent already has
 * it.
 */
static enum status check_issue(struct command_memory *m, const struct probe_issue *issue,
                               struct writer *why)
{
    struct writer line = writer_of(m->line, sizeof m->line);
    bool refused = issue->kind == PROBE_ISSUE_REFUSED_TYPE;
    if (refused && m->agent_responds) {
        return STATUS_OK;
    }
    if (refused) {
        trouble_refused_type(&m->inventory.devices, &line);
    } else {
        command_issue(issue, &line);
    }
    return add_finding(m, refused ? FINDING_REASON : FINDING_WARNING, writer_view(&line), why);
}

/* Warns if an agent runs and gives no verdicts on the devices' health. */
static enum status check_verdicts(struct command_memory *m, struct writer *why)
{
    const struct inventory *v = &m->inventory;
    struct writer line = writer_of(m->line, sizeof m->line);
    if (!m->agent_responds || v->devices.count == 0u || v->verdicts != VERDICTS_MISSING) {
        return STATUS_OK;
    }
    WRITE(&line, "the agent's verdict on the health of % devices is not available: %",
          NUMBER(v->devices.count), VIEW(v->verdicts_missing));
    return add_finding(m, FINDING_WARNING, writer_view(&line), why);
}

/*
 * Checks the devices of a driver. Also reads which claims hold devices, because a missing device is
 * reported only if a claim holds it.
 */
static enum status check_node(struct command_memory *m, unsigned driver, struct writer *why)
{
    struct writer line = writer_of(m->line, sizeof m->line);
    enum status s = commands_devices(m, driver, &line);
    if (s != STATUS_OK) {
        return add_hindrance(m, writer_view(&line), why);
    }
    enum status held = commands_holders(m, m->settings->driver[driver].kind, &line);
    status_ignore(held, "check_store reports it");
    s = check_verdicts(m, why);
    for (unsigned i = 0; i < m->inventory.issues.count && s == STATUS_OK; i++) {
        s = check_issue(m, &m->inventory.issues.issue[i], why);
    }
    for (unsigned i = 0; i < DEVICES_MAX && s == STATUS_OK; i++) {
        line.len = 0;
        if (command_unhealthy(&m->inventory, i, &line)) {
            s = add_finding(m, FINDING_WARNING, writer_view(&line), why);
        }
    }
    return s;
}

static enum status check_socket(struct command_memory *m, const char *path, struct writer *why)
{
    struct writer line = writer_of(m->line, sizeof m->line);
    struct stat st;
    bool there = link_stat(path, &st) == 0;
    if (!there) {
        WRITE(&line, "socket %: %", TEXT(path), ERRNO(errno));
    } else if (!S_ISSOCK(st.st_mode)) {
        WRITE(&line, "% is not a socket", TEXT(path));
    } else if (socket_is_dead(path)) {
        WRITE(&line, "socket %: nobody listens", TEXT(path));
    } else {
        return STATUS_OK;
    }
    writer_text(&line, "; check that the agent runs, with this --pod-uid and these directories");
    return add_hindrance(m, writer_view(&line), why);
}

/*
 * Adds a warning about the claim in m->record: `state` is the state of its CDI file, `file` the
 * name of that file.
 */
static enum status add_cdi(struct command_memory *m, enum cdi_state state, const char *file,
                           struct writer *why)
{
    static const char *const texts[CDI_STATES] = {[CDI_MISSING] = "is missing",
                                                  [CDI_DIFFERENT] = "was changed",
                                                  [CDI_UNREADABLE] = "cannot be read",
                                                  [CDI_ALONE] = "is its only record"};
    struct writer line = writer_of(m->line, sizeof m->line);
    WRITE(&line, "claim %/%: CDI file %/% %: ", TEXT(m->record.id.namespace_),
          TEXT(m->record.id.name), TEXT(m->settings->cdi_root), TEXT(file), TEXT(texts[state]));
    command_cdi_remedy(state, &line);
    return add_finding(m, FINDING_WARNING, writer_view(&line), why);
}

/*
 * Compares the CDI file of the claim in this slot with the record again, after a pause, because the
 * agent may be preparing or unpreparing the claim.
 */
static enum cdi_state cdi_again(struct command_memory *m, unsigned slot)
{
    (void)poll(NULL, 0, (int)PAGE_RETRY_MS);
    return (commands_slot(m, slot) == SLOT_CLAIM) ? commands_cdi_state(m) : CDI_GOOD;
}

/* Warns if the CDI file of a prepared claim is not what the agent wrote. */
static enum status check_claim_cdi(struct command_memory *m, unsigned slot, struct writer *why)
{
    char file[CDI_FILE_NAME_CAP];
    enum cdi_state state = commands_cdi_state(m);
    state = (state != CDI_GOOD) ? cdi_again(m, slot) : state;
    if (state == CDI_GOOD) {
        return STATUS_OK;
    }
    cdi_file_name(m->record.driver, m->record.id.uid, file);
    return add_cdi(m, state, file, why);
}

/*
 * Warns if the devices of a prepared claim are not consecutive, or its CDI file is not what the
 * agent wrote.
 */
static enum status check_claim(struct command_memory *m, unsigned slot, struct writer *why)
{
    struct writer line = writer_of(m->line, sizeof m->line);
    enum status s = STATUS_OK;
    if (m->finding != FINDING_WARNING) {
        return STATUS_OK;
    }
    if (!claim_consecutive(&m->record)) {
        claim_scattered_write(&line, &m->record, m->inventory.devices.board);
        s = add_finding(m, FINDING_WARNING, writer_view(&line), why);
    }
    return (s == STATUS_OK) ? check_claim_cdi(m, slot, why) : s;
}

/* --- claims that have a CDI file but are not in the claim store --- */

/* Reads the list of the claims that are in the claim store now. */
static void load_stored(struct command_memory *m)
{
    commands_stored_begin(m);
    bool readable = commands_store(m) == STATUS_OK;
    for (unsigned slot = 0; slot < CLAIMS_MAX && readable; slot++) {
        commands_stored_add(m, commands_slot(m, slot));
    }
}

/*
 * Whether a CDI file shows a claim or devices that the store lacks, or the directory of CDI files
 * cannot be read.
 */
static bool has_witness(struct command_memory *m)
{
    struct cdi_witness w;
    load_stored(m);
    commands_witness_begin(m);
    bool has = commands_witness_next(m, &w);
    return commands_witness_end(m) != 0 || has;
}

static enum status add_witness(struct command_memory *m, const struct cdi_witness *w,
                               struct writer *why)
{
    struct writer line = writer_of(m->line, sizeof m->line);
    if (w->read) {
        return w->alone ? add_cdi(m, CDI_ALONE, w->file, why) : STATUS_OK;
    }
    WRITE(&line,
          "CDI file %/% cannot be read, and the claim store lacks its claim, which may hold "
          "devices: delete the file once no container uses the claim",
          TEXT(m->settings->cdi_root), TEXT(w->file));
    return add_finding(m, FINDING_WARNING, writer_view(&line), why);
}

/*
 * Warns about CDI files whose claims the store lacks. Checks twice, because the agent writes the
 * record of a claim after its CDI file.
 */
static enum status check_witnesses(struct command_memory *m, struct writer *why)
{
    enum status s = STATUS_OK;
    struct cdi_witness w;
    if (m->finding != FINDING_WARNING || !has_witness(m)) {
        return STATUS_OK;
    }
    (void)poll(NULL, 0, (int)PAGE_RETRY_MS);
    load_stored(m);
    commands_witness_begin(m);
    while (s == STATUS_OK && commands_witness_next(m, &w)) {
        s = add_witness(m, &w, why);
    }
    int error = commands_witness_end(m);
    if (s != STATUS_OK || error == 0) {
        return s;
    }
    struct writer line = writer_of(m->line, sizeof m->line);
    WRITE(&line, "CDI root %: %; claims recorded only in CDI files may hold devices",
          TEXT(m->settings->cdi_root), ERRNO(error));
    return add_finding(m, FINDING_WARNING, writer_view(&line), why);
}

static enum status check_store(struct command_memory *m, struct writer *why)
{
    struct writer line = writer_of(m->line, sizeof m->line);
    enum status s = commands_store(m);
    enum status told = STATUS_OK;
    unsigned damaged = 0;
    for (unsigned slot = 0; slot < CLAIMS_MAX && s == STATUS_OK && told == STATUS_OK; slot++) {
        enum slot_state state = commands_slot(m, slot);
        damaged += (state == SLOT_DAMAGED) ? 1u : 0u;
        told = (state == SLOT_CLAIM) ? check_claim(m, slot, why) : STATUS_OK;
    }
    if (told != STATUS_OK || (s == STATUS_OK && damaged == 0u)) {
        return told;
    }
    if (s == STATUS_OK) {
        WRITE(&line,
              "%/" STORE_FILE_NAME
              " has % damaged slots; see store_damaged in the agent's log, and check the disk",
              TEXT(m->state_dir), NUMBER(damaged));
    } else {
        commands_store_trouble(m, s, &line);
    }
    return add_hindrance(m, writer_view(&line), why);
}

static enum status check_cdi(struct command_memory *m, struct writer *why)
{
    struct writer line = writer_of(m->line, sizeof m->line);
    struct stat st;
    int error = (path_stat(m->settings->cdi_root, &st) == 0) ? 0 : errno;
    if (error == 0 && S_ISDIR(st.st_mode)) {
        return STATUS_OK;
    }
    if (error == 0) {
        WRITE(&line, "CDI root % is not a directory", TEXT(m->settings->cdi_root));
    } else {
        WRITE(&line, "CDI root %: %", TEXT(m->settings->cdi_root), ERRNO(error));
    }
    writer_text(&line, "; see --cdi-root, and cdi_spec_dirs of the container runtime");
    return add_hindrance(m, writer_view(&line), why);
}

/*
 * Adds warnings about the troubles on the agent's page /statusz, such as missing rights at the API
 * server. The agent is ready despite these troubles.
 */
static enum status check_troubles(struct command_memory *m, struct writer *why)
{
    enum status s = STATUS_OK;
    struct view body = commands_status(m);
    while (body.len > 0u && s == STATUS_OK) {
        size_t end = view_find(body, '\n');
        struct view text = view_first(body, end);
        if (view_starts(text, TROUBLE_LINE)) {
            text = view_from(text, sizeof TROUBLE_LINE - 1u);
            s = add_finding(m, FINDING_WARNING, text, why);
        }
        body = view_from(body, end + 1u);
    }
    return s;
}

/*
 * Adds a reason if a device plugin runs. Used only when no agent responds, because a running agent
 * reports the device plugin itself.
 */
static enum status check_device_plugin(struct command_memory *m, unsigned driver,
                                       struct writer *why)
{
    struct writer line = writer_of(m->line, sizeof m->line);
    char name[SOCKET_PATH_CAP] = {0};
    enum driver_kind kind = m->settings->driver[driver].kind;
    int error = device_plugin_scan(m->settings->device_plugins_dir, kind, name);
    if (error != 0) {
        WRITE(&line, "%: %; see --kubelet-device-plugins-directory-path",
              TEXT(m->settings->device_plugins_dir), ERRNO(error));
    } else if (name[0] != '\0') {
        trouble_device_plugin(m->settings, kind, name, &line);
    } else {
        return STATUS_OK;
    }
    return add_hindrance(m, writer_view(&line), why);
}

/* Adds the reasons why the agent is not ready: one in each line of the body of /readyz. */
static enum status add_reasons(struct command_memory *m, struct view body, struct writer *why)
{
    enum status s = STATUS_OK;
    struct view rest = body;
    while (rest.len > 0u && s == STATUS_OK) {
        size_t end = view_find(rest, '\n');
        s = add_finding(m, FINDING_REASON, view_first(rest, end), why);
        rest = view_from(rest, end + 1u);
    }
    return s;
}

/*
 * Asks the agent whether it is ready. Without an agent, checks the conditions that a running agent
 * would report.
 */
static enum status check_agent(struct command_memory *m, struct writer *why)
{
    struct writer line = writer_of(m->line, sizeof m->line);
    struct view body;
    unsigned code = page_get(m, "/readyz", &body, &line);
    m->agent_responds = code != 0u;
    commands_status_forget(m, !m->agent_responds);
    if (code != 0u && code != HTTP_OK && body.len == 0u) {
        WRITE(&line,
              "the response of /readyz has no reason, but the status %; check that --metrics-port "
              "is the agent's",
              NUMBER(code));
    }
    if (line.len > 0u) {
        return add_finding(m, FINDING_REASON, writer_view(&line), why);
    }
    return (code != HTTP_OK) ? add_reasons(m, body, why) : STATUS_OK;
}

/* --- the command `check` --- */

/* Checks the devices, sockets and claim store of one driver. */
static enum status check_driver(struct command_memory *m, unsigned driver, struct writer *why)
{
    const struct driver *names = &m->settings->driver[driver];
    enum status s = check_node(m, driver, why);
    if (s == STATUS_OK) {
        s = check_socket(m, names->registration_socket, why);
    }
    if (s == STATUS_OK) {
        s = check_socket(m, names->service_socket, why);
    }
    commands_driver(m, names->kind);
    s = (s == STATUS_OK) ? check_store(m, why) : s;
    s = (s == STATUS_OK) ? check_witnesses(m, why) : s;
    return (s == STATUS_OK && !m->agent_responds) ? check_device_plugin(m, driver, why) : s;
}

/* Prints all findings of one kind: the reasons or the warnings. */
static enum status print_findings(struct command_memory *m, enum finding_kind kind,
                                  struct writer *why)
{
    enum status s = STATUS_OK;
    m->finding = kind;
    if (!commands_are_text(m)) {
        document_array_begin(&m->document, (kind == FINDING_REASON) ? "reasons" : "warnings");
    }
    if (kind == FINDING_REASON) {
        /*
         * check_agent runs first, because it finds out whether an agent responds, which decides the
         * kind of other findings
         */
        s = check_agent(m, why);
    } else if (m->agent_responds) {
        s = check_troubles(m, why);
    } else {
        /* without a running agent, there is no page /statusz that lists troubles */
    }
    for (unsigned d = 0; d < commands_drivers(m) && s == STATUS_OK; d++) {
        s = check_driver(m, d, why);
    }
    s = (s == STATUS_OK) ? check_cdi(m, why) : s;
    if (!commands_are_text(m)) {
        document_array_end(&m->document);
    }
    return s;
}

enum status command_check(struct command_memory *m, struct writer *why)
{
    if (!commands_are_text(m)) {
        document_object_begin(&m->document);
    }
    m->answer_no = false;
    enum status s = print_findings(m, FINDING_REASON, why);
    s = (s == STATUS_OK) ? print_findings(m, FINDING_WARNING, why) : s;
    if (s != STATUS_OK) {
        return s;
    }
    if (commands_are_text(m)) {
        writer_text(&m->out, m->answer_no ? "" : "ready\n");
    } else {
        document_bool(&m->document, "ready", !m->answer_no);
        document_object_end(&m->document);
        document_end(&m->document);
    }
    return commands_flush(m, why);
}
