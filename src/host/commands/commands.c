/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs all commands but `run`; see commands.h. Each command is a process that ends after its
 * output.
 */
#include "host/commands/commands.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "agent/troubles.h"
#include "base/assert.h"
#include "cfg/identity.h"
#include "host/commands/commands_internal.h"
#include "host/system.h"

static bool write_part(struct command_memory *m, unsigned part)
{
    const struct settings *s = m->settings;
    if (m->command == COMMAND_SLICES) {
        const char *node = (s->node_name[0] != '\0') ? s->node_name : "node";
        bool efa = m->inventory.devices.driver == DRIVER_EFA;
        return command_slices(&m->inventory, efa ? s->efa_driver : DRIVER_NAME, node, part,
                              &m->document);
    }
    return commands_are_text(m) ? command_devices_text(&m->inventory, part, &m->out)
                                : command_devices_document(&m->inventory, part, &m->document);
}

/* --- the devices of an instance type (--board) --- */

static enum status board_load(struct command_memory *m, struct writer *why)
{
    struct inventory *v = &m->inventory;
    if (!command_board(m->settings->board, &m->probe.found)) {
        command_board_unknown(m->settings->board, why);
        return PEER_MALFORMED;
    }
    devices_build(&v->devices, &m->probe.found, &v->issues);
    /*
     * Drop the issues of the instance type's devices, because without hardware all values are
     * missing, and each missing value would be reported as an issue.
     */
    v->issues.count = 0;
    return STATUS_OK;
}

/* --- commands `devices` and `slices` --- */

/*
 * Marks the unhealthy devices with the taint of the settings or, without a taint, removes them. For
 * how long a device's memory has been in use, only a running agent knows.
 */
static void taint_unhealthy(struct command_memory *m)
{
    struct devices *d = &m->inventory.devices;
    unsigned kept = 0;
    const struct taint *taint = &m->settings->taint[TAINT_UNHEALTHY];
    d->taints = m->settings->taint;
    for (unsigned i = 0; i < d->count; i++) {
        bool unhealthy = device_reading_health(&d->device[i].reading) == HEALTH_UNHEALTHY;
        bool tainted = unhealthy && taint->key[0] != '\0';
        d->device[i].tainted = tainted ? TAINT_BIT(TAINT_UNHEALTHY) : 0u;
        if (!unhealthy || tainted) {
            d->device[kept] = d->device[i];
            kept++;
        }
    }
    d->count = (uint16_t)kept;
}

/*
 * Changes the devices of the inventory to what an agent with these settings would publish on
 * Kubernetes 1.36 or newer.
 */
static void publish_as_node(struct command_memory *m)
{
    struct devices *d = &m->inventory.devices;
    if (d->ultraserver.member && m->settings->ultraserver != ULTRASERVER_DEVICES) {
        devices_add_node(d, m->settings->ultraserver == ULTRASERVER_NODE);
    } else {
        d->shares = m->settings->share_cores ? SHARED_CORES_MAX : 0u;
    }
}

static enum status write_parts(struct command_memory *m, enum status loaded, struct writer *why)
{
    enum status s = loaded;
    for (unsigned part = 0; s == STATUS_OK && write_part(m, part); part++) {
        s = commands_flush(m, why);
    }
    return s;
}

/*
 * Prints one driver's devices. `loaded`: status of the call that loaded the devices. If the claim
 * store cannot be read, still prints the devices; the first such failure sets m->holders to its
 * status and appends its reason to `why`. Not inlined, so that the stack frame of the caller stays
 * small.
 */
__attribute__((noinline)) static enum status write_inventory(struct command_memory *m,
                                                             enum driver_kind driver, bool offline,
                                                             enum status loaded, struct writer *why)
{
    struct writer failed = *why;
    if (loaded == STATUS_OK && !offline && m->command == COMMAND_DEVICES) {
        struct writer first = writer_of(NULL, 0);
        enum status s = commands_holders(m, driver, (m->holders == STATUS_OK) ? why : &first);
        m->holders = (m->holders == STATUS_OK) ? s : m->holders;
        commands_verdicts(m);
    }
    enum status s = write_parts(m, loaded, &failed);
    if (s != STATUS_OK) {
        /* let `why` report why the output is incomplete, not why the claim store cannot be read */
        *why = failed;
    }
    return s;
}

/* Whether the output shows an instance type (--board) instead of this node. */
static bool is_offline(const struct command_memory *m)
{
    return m->settings->board[0] != '\0' && m->settings->command != COMMAND_BUNDLE;
}

/*
 * If the printed slices do not come from a running agent, writes a line that says so and why: to
 * standard error, or in a bundle as a comment of the file.
 */
static enum status note_forecast(struct command_memory *m, struct writer *why)
{
    bool bundle = m->settings->command == COMMAND_BUNDLE;
    size_t before = why->len;
    if (m->forecast.len == 0u) {
        return STATUS_OK;
    }
    WRITE(&m->out, "%what an agent with these settings would publish here: %\n",
          TEXT(bundle ? "# " : AGENT_NAME ": "), VIEW(m->forecast));
    enum status s = output_flush(&m->out, bundle ? m->out_fd : STDERR_FILENO, why);
    if (s != STATUS_OK && !bundle) {
        /* print the slices even if the line about their origin cannot be written */
        why->len = before;
        s = STATUS_OK;
    }
    return s;
}

/*
 * Writes YAML comments about the devices that the printed slices lack; writes nothing into JSON,
 * which has no comments.
 */
static enum status note_left_out(struct command_memory *m, struct writer *why)
{
    const struct devices *d = &m->inventory.devices;
    enum status s = STATUS_OK;
    if (!m->document.yaml) {
        return STATUS_OK;
    }
    if (devices_refusal(d) != NULL) {
        writer_text(&m->out, "# ");
        trouble_refused_type(d, &m->out);
        writer_text(&m->out, "\n");
        return commands_flush(m, why);
    }
    for (unsigned number = 0; number < DEVICES_MAX && s == STATUS_OK; number++) {
        command_left_out(&m->inventory, number, m->settings->taint[TAINT_UNHEALTHY].key[0] == '\0',
                         &m->out);
        s = commands_flush(m, why);
    }
    return s;
}

static enum status run_inventory(struct command_memory *m, struct writer *why)
{
    bool offline = is_offline(m);
    enum status s = offline ? board_load(m, why) : commands_node(m, why);
    if (m->command == COMMAND_SLICES && s == STATUS_OK) {
        s = note_forecast(m, why);
        s = (s == STATUS_OK) ? note_left_out(m, why) : s;
        taint_unhealthy(m);
        publish_as_node(m);
    }
    s = write_inventory(m, DRIVER_NEURON, offline, s, why);
    if (m->settings->efa && s == STATUS_OK) {
        s = commands_efas(m, offline, why);
        if (m->command == COMMAND_SLICES) {
            taint_unhealthy(m);
        }
        s = write_inventory(m, DRIVER_EFA, offline, s, why);
    }
    return (s == STATUS_OK) ? m->holders : s;
}

/*
 * Prints the slices that the running agent of this node publishes, as that agent reports them. If
 * no agent runs, or its release has no page with the slices, prints the slices that an agent would
 * publish. Fails if the agent is busy or the page ends early, because the running agent may publish
 * other slices.
 */
static enum status run_slices(struct command_memory *m, struct writer *why)
{
    bool absent = false;
    struct writer line = writer_of(m->half[0], sizeof m->half[0]);
    if (is_offline(m)) {
        return run_inventory(m, why);
    }
    enum status s =
        page_print(m, (m->output == OUTPUT_JSON) ? "/slicesz.json" : "/slicesz", &absent, &line);
    if (!absent) {
        writer_append(why, writer_view(&line));
        return s;
    }
    m->forecast = writer_view(&line);
    return run_inventory(m, why);
}

/* --- command `claims` --- */

static void write_damaged(struct command_memory *m, unsigned slot, const char *driver)
{
    if (!commands_are_text(m)) {
        document_object_begin(&m->document);
        document_text(&m->document, "driver", driver);
        document_number(&m->document, "damagedSlot", slot);
        document_object_end(&m->document);
        return;
    }
    WRITE(&m->out, "slot % of % is damaged; an agent that starts repairs the store\n", NUMBER(slot),
          TEXT(driver));
}

/*
 * Whether the command is `claims` with --pod. With this flag, the command prints the claims of one
 * pod with the current state of their devices.
 */
static bool of_one_pod(const struct command_memory *m)
{
    return m->command == COMMAND_CLAIMS && m->settings->pod[0] != '\0';
}

static enum status write_record(struct command_memory *m, const char *driver, enum cdi_state cdi,
                                struct writer *why)
{
    const struct claim_shown shown = {.record = &m->record,
                                      /*
                                       * the text output omits the driver's name if there is a
                                       * single driver
                                       */
                                      .driver = (m->settings->efa || !commands_are_text(m)) ? driver
                                                                                            : NULL,
                                      .cdi = cdi,
                                      .node = of_one_pod(m) ? &m->inventory : NULL,
                                      .pods = (of_one_pod(m) && m->pods_known) ? &m->pods : NULL};
    enum status s = STATUS_OK;
    bool more = true;
    unsigned part = 0;
    while (more && s == STATUS_OK) {
        more = commands_are_text(m) ? command_claim_text(&shown, part, &m->out)
                                    : command_claim_document(&shown, part, &m->document);
        s = commands_flush(m, why);
        part++;
    }
    return s;
}

static enum status write_slot(struct command_memory *m, unsigned slot, enum slot_state state,
                              struct writer *why)
{
    const char *driver = m->settings->driver[m->driver].name;
    if (state == SLOT_CLAIM) {
        return write_record(m, driver, commands_cdi_state(m), why);
    }
    if (state == SLOT_OUTLINE && commands_are_text(m)) {
        command_outline_text(&m->outline, m->settings->efa ? driver : NULL, &m->out);
    } else if (state == SLOT_OUTLINE) {
        command_outline_document(&m->outline, driver, &m->document);
    } else {
        write_damaged(m, slot, driver);
    }
    return commands_flush(m, why);
}

/* Returns the namespace of --pod, and sets *name to its name. */
static struct view pod_wanted(const struct command_memory *m, struct view *name)
{
    struct view pod = view_text(m->settings->pod);
    size_t slash = view_find(pod, '/');
    *name = view_from(pod, slash + 1u);
    return view_first(pod, slash);
}

/*
 * Whether to print the claim of this slot. With --pod, only claims are printed that were prepared
 * for that pod, or that it uses according to the kubelet.
 */
static bool is_wanted(const struct command_memory *m, enum slot_state state)
{
    const struct claim_record *r = &m->record;
    struct view pod;
    if (!of_one_pod(m)) {
        return state != SLOT_FREE;
    }
    if (state != SLOT_CLAIM || !view_is(pod_wanted(m, &pod), r->id.namespace_)) {
        return false;
    }
    bool first = r->consumer.kind == (uint8_t)CONSUMER_POD && view_is(pod, r->consumer.name);
    return first || (m->pods_known && pods_has(&m->pods, view_text(r->id.name), pod));
}

/* Opens the claim store of a driver. On failure (HOST_*) `why` gets one line. */
static enum status store_ready(struct command_memory *m, unsigned driver, struct writer *why)
{
    commands_driver(m, m->settings->driver[driver].kind);
    enum status s = commands_store(m);
    if (s != STATUS_OK) {
        commands_store_trouble(m, s, why);
    }
    return s;
}

/*
 * Opens the claim store of a driver and, with --pod, loads the devices. On failure (HOST_*) `why`
 * gets one line.
 */
static enum status sources_ready(struct command_memory *m, unsigned driver, struct writer *why)
{
    enum status s = store_ready(m, driver, why);
    return (s == STATUS_OK && of_one_pod(m)) ? commands_devices(m, driver, why) : s;
}

/*
 * Prints the claims that only CDI files show. The pods of such claims are unknown, so --pod prints
 * no such claim. Not inlined, so that the stack frame of the caller stays small.
 */
__attribute__((noinline)) static enum status
write_witnesses(struct command_memory *m, unsigned driver, bool *any, struct writer *why)
{
    enum status s = STATUS_OK;
    struct cdi_witness w;
    commands_witness_begin(m);
    while (s == STATUS_OK && commands_witness_next(m, &w)) {
        if (w.read && w.alone && !of_one_pod(m)) {
            *any = true;
            s = write_record(m, m->settings->driver[driver].name, CDI_ALONE, why);
        }
    }
    int error = commands_witness_end(m);
    (void)error; /* ignore the error: the command `check` reports a CDI root that cannot be read */
    return s;
}

/* Prints a driver's claims. Sets *any if at least one claim is printed. */
static enum status write_claims(struct command_memory *m, unsigned driver, bool *any,
                                struct writer *why)
{
    enum status s = sources_ready(m, driver, why);
    commands_stored_begin(m);
    for (unsigned slot = 0; slot < CLAIMS_MAX && s == STATUS_OK; slot++) {
        enum slot_state state = commands_slot(m, slot);
        commands_stored_add(m, state);
        if (is_wanted(m, state)) {
            *any = true;
            s = write_slot(m, slot, state, why);
        }
    }
    return (s == STATUS_OK) ? write_witnesses(m, driver, any, why) : s;
}

static void claims_begin(struct command_memory *m)
{
    if (!commands_are_text(m)) {
        document_object_begin(&m->document);
        document_array_begin(&m->document, "claims");
    }
}

/*
 * Completes the output of the command `claims`. HOST_ABSENT: no claim is of the pod that --pod
 * names.
 */
static enum status claims_end(struct command_memory *m, bool any, struct writer *why)
{
    bool missing = of_one_pod(m) && !any;
    if (!commands_are_text(m)) {
        document_array_end(&m->document);
        document_object_end(&m->document);
        document_end(&m->document);
    } else {
        bool silent = any || missing || m->settings->no_headers;
        writer_text(&m->out, silent ? "" : "No claims are prepared.\n");
    }
    enum status s = commands_flush(m, why);
    if (s == STATUS_OK && missing) {
        WRITE(why, "no claim % pod %%: see \"claims\"",
              TEXT(m->pods_known ? "that is prepared here is of" : "was prepared here for"),
              TEXT(m->settings->pod),
              TEXT(m->pods_known ? ""
                                 : "; a claim of several pods is listed for the first of them, and "
                                   "one of a pod group for the group"));
        s = HOST_ABSENT;
    }
    return s;
}

static enum status run_claims(struct command_memory *m, struct writer *why)
{
    enum status s = STATUS_OK;
    bool any = false;
    /*
     * Read the data of all drivers before printing: if the data of one driver cannot be read, print
     * nothing, because a partial list would look complete.
     */
    for (unsigned d = 0; d < commands_drivers(m) && s == STATUS_OK; d++) {
        s = sources_ready(m, d, why);
    }
    if (s == STATUS_OK && of_one_pod(m)) {
        struct view pod;
        s = pods_ask(m, pod_wanted(m, &pod), why);
    }
    if (s != STATUS_OK) {
        return s;
    }
    claims_begin(m);
    for (unsigned d = 0; d < commands_drivers(m) && s == STATUS_OK; d++) {
        s = write_claims(m, d, &any, why);
    }
    return (s == STATUS_OK) ? claims_end(m, any, why) : s;
}

/* --- command `probe` --- */

static enum status run_probe(struct command_memory *m, struct writer *why)
{
    struct view body;
    bool ready = text_is(m->settings->operand, "readiness");
    unsigned code = page_get(m, ready ? "/readyz" : "/healthz", &body, why);
    m->answer_no = code != HTTP_OK;
    if (code == 0u) {
        return HOST_IO;
    }
    writer_append(&m->out, view_first(body, writer_room(&m->out)));
    return commands_flush(m, why);
}

/* --- command `release` --- */

/*
 * Whether the selected driver's store has a claim with this UID that is not released. If so, sets
 * *id to the UID, namespace and name of the claim.
 */
static bool holds_claim(struct command_memory *m, const char *uid, struct claim_id *id)
{
    for (unsigned slot = 0; slot < CLAIMS_MAX; slot++) {
        enum slot_state state = commands_slot(m, slot);
        bool outline = state == SLOT_OUTLINE && !m->outline.released;
        if (state == SLOT_CLAIM || outline) {
            *id = outline ? m->outline.id : m->record.id;
            if (text_is(id->uid, uid)) {
                return true;
            }
        }
    }
    return false;
}

static enum status release_at(struct command_memory *m, unsigned driver, bool *any,
                              struct writer *why)
{
    const struct driver *names = &m->settings->driver[driver];
    struct claim_id id;
    enum status s = store_ready(m, driver, why);
    if (s != STATUS_OK || !holds_claim(m, m->settings->operand, &id)) {
        return s;
    }
    s = release_call(m, names->service_socket, &id, why);
    if (s != STATUS_OK) {
        return s;
    }
    *any = true;
    WRITE(&m->out, "released claim %/% (%) of %\n", TEXT(id.namespace_), TEXT(id.name),
          TEXT(id.uid), TEXT(names->name));
    return commands_flush(m, why);
}

static enum status run_release(struct command_memory *m, struct writer *why)
{
    enum status s = STATUS_OK;
    bool any = false;
    for (unsigned d = 0; d < commands_drivers(m) && s == STATUS_OK; d++) {
        s = release_at(m, d, &any, why);
    }
    if (s == STATUS_OK && !any) {
        command_not_held(m->settings->operand, why);
        return HOST_ABSENT;
    }
    return s;
}

/* --- entry points of the commands --- */

enum status commands_print(struct command_memory *m, struct writer *why)
{
    enum status s = STATUS_OK;
    bool yaml =
        m->output == OUTPUT_YAML || (m->command == COMMAND_SLICES && m->output == OUTPUT_TEXT);
    m->out = writer_of(m->part, sizeof m->part);
    m->document = document_of(&m->out, yaml);
    m->sum = 0;
    memset(&m->inventory, 0, sizeof m->inventory);
    m->inventory.colour =
        m->command == COMMAND_DEVICES && commands_are_text(m) && isatty(m->out_fd) == 1;
    m->inventory.efa = m->settings->efa;
    m->inventory.rows_only = m->settings->no_headers;
    m->forecast = view_of(NULL, 0);
    m->holders = STATUS_OK;
    commands_status_forget(m, false);
    switch (m->command) {
    case COMMAND_CLAIMS:
        s = run_claims(m, why);
        break;
    case COMMAND_SLICES:
        s = run_slices(m, why);
        break;
    case COMMAND_CHECK:
        s = command_check(m, why);
        break;
    case COMMAND_PROBE:
        s = run_probe(m, why);
        break;
    case COMMAND_RELEASE:
        s = run_release(m, why);
        break;
    case COMMAND_COMPLETION:
        settings_completion(m->settings->operand, &m->out);
        s = commands_flush(m, why);
        break;
    default:
        s = run_inventory(m, why);
        break;
    }
    return s;
}

/*
 * With --watch: waits until the next check for changes is due. Returns false if standard output is
 * a pipe or terminal whose reader has closed it.
 */
static bool watch_wait(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = 0};
    return poll(&out, 1, (int)WATCH_MS) <= 0;
}

/*
 * With --watch: writes the separator between two outputs: "---" for YAML, an empty line for text,
 * nothing for JSON.
 */
static enum status write_separator(struct command_memory *m, struct writer *why)
{
    bool yaml = m->output == OUTPUT_YAML;
    m->out = writer_of(m->part, sizeof m->part);
    writer_text(&m->out, yaml ? "---\n" : (commands_are_text(m) ? "\n" : ""));
    return commands_flush(m, why);
}

enum status commands_watch(struct command_memory *m, struct writer *why)
{
    enum status s = commands_print(m, why);
    /* a signal also ends this loop, because it ends the process */
    while (s == STATUS_OK && m->settings->watch && watch_wait()) {
        uint32_t before = m->sum;
        m->compares = true;
        s = commands_print(m, why);
        m->compares = false;
        if (s == STATUS_OK && m->sum != before) {
            s = write_separator(m, why);
            s = (s == STATUS_OK) ? commands_print(m, why) : s;
        }
    }
    return s;
}

void commands_begin(struct command_memory *m, const struct settings *settings)
{
    m->settings = settings;
    m->command = settings->command;
    m->output = settings->output;
    commands_driver(m, DRIVER_NEURON);
    m->store_fd = -1;
    m->out_fd = STDOUT_FILENO;
}
