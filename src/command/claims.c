/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the claims in the claim store: decodes a slot with dra/store.h and writes its claim. */
#include "base/assert.h"
#include "base/chars.h"
#include "cfg/identity.h"
#include "command/command_internal.h"

static const char *const cdi_states[CDI_STATES] = {[CDI_GOOD] = "good",
                                                   [CDI_MISSING] = "missing",
                                                   [CDI_DIFFERENT] = "different",
                                                   [CDI_UNREADABLE] = "unreadable",
                                                   [CDI_ALONE] = "alone"};

void command_cdi_remedy(enum cdi_state state, struct writer *out)
{
    static const char *const remedies[CDI_STATES] = {
        [CDI_MISSING] = "a container that starts now fails",
        [CDI_DIFFERENT] = "it is not what the agent wrote; a container that starts now may fail",
        [CDI_UNREADABLE] = "a container that starts now fails, and the agent may fail to write it",
        [CDI_ALONE] = "the claim store has no intact record of the claim"};
    ASSERT(remedies[state] != NULL);
    WRITE(out, "%; the agent repairs it within --reconcile-interval, or when it is restarted",
          TEXT(remedies[state]));
}

enum slot_state command_slot(const struct view bytes[2], unsigned slot, struct claim_record *r,
                             struct store_outline *o)
{
    struct store_half halves[2];
    store_half_read(bytes[0], slot, &halves[0]);
    store_half_read(bytes[1], slot, &halves[1]);
    int at = store_pick(halves);
    if (at < 0) {
        return SLOT_DAMAGED;
    }
    if (halves[at].state == STORE_HALF_FREE) {
        return SLOT_FREE;
    }
    if (store_record_decode(halves[at].record, r) == STATUS_OK) {
        return SLOT_CLAIM;
    }
    bool known = store_outline_decode(halves[at].record, o) == STATUS_OK;
    return known ? SLOT_OUTLINE : SLOT_DAMAGED;
}

static void write_results(const struct claim_record *r, struct writer *out)
{
    char name[DEVICE_NAME_CAP];
    writer_text(out, "  devices:\n");
    for (unsigned i = 0; i < r->count; i++) {
        const struct claim_result *result = &r->result[i];
        claim_device_name(result, name);
        WRITE(out, "    % (request %", SAFE(name), SAFE(result->request));
        if (result->logical_neuron_core != 0u) {
            WRITE(out, ", logicalNeuronCore %", NUMBER(result->logical_neuron_core));
        }
        if (result->ultraserver_mode != 0u) {
            WRITE(out, ", ultraserverMode %", NUMBER(result->ultraserver_mode));
        }
        if (result->cores != 0u) {
            writer_text(out, ", cores ");
            cores_write(out, result->cores, 1u);
        } else {
            writer_text(out, (result->share_id[0] != '\0') ? ", a share" : "");
        }
        writer_text(out, result->admin_access ? ", admin access)\n" : ")\n");
    }
}

static void write_id(const struct claim_id *id, const char *driver, struct writer *out)
{
    WRITE(out, "%/%\n  uid: %\n", SAFE(id->namespace_), SAFE(id->name), SAFE(id->uid));
    if (driver != NULL) {
        WRITE(out, "  driver: %\n", TEXT(driver));
    }
}

void command_outline_text(const struct store_outline *o, const char *driver, struct writer *out)
{
    write_id(&o->id, driver, out);
    writer_text(out, o->released ? "  unprepared; its CDI file could not be removed yet\n"
                                 : "  prepared by a newer agent, which knows its devices\n");
    ASSERT(!out->full);
}

/* Parts of a claim's output: its record, then its pods, then the devices. */
enum { PART_RECORD, PART_PODS, FIRST_DEVICE };

/*
 * Returns the allocation result whose device part number `part` of the claim's output shows; NULL:
 * the part shows no device.
 * - Part FIRST_DEVICE and the next parts, one for each result: this result, unless it is for the
 *   whole node.
 * - Each later part shows the device with one device number, which is stored in *number: the result
 *   for the whole node, if this device belongs to that result.
 */
static const struct claim_result *device_part(const struct claim_shown *c, unsigned part,
                                              unsigned *number)
{
    const struct claim_record *r = c->record;
    const struct claim_result *found = NULL;
    unsigned at = part - FIRST_DEVICE;
    *number = 0;
    if (c->node == NULL) {
        return NULL;
    }
    if (at < r->count) {
        return r->result[at].node ? NULL : &r->result[at];
    }
    *number = at - r->count;
    for (unsigned i = 0; i < r->count; i++) {
        bool has = r->result[i].node && (r->node_devices >> *number & 1u) != 0u;
        found = has ? &r->result[i] : found;
    }
    return found;
}

static unsigned last_part(const struct claim_shown *c)
{
    return FIRST_DEVICE + c->record->count + DEVICES_MAX - 1u;
}

static void write_claim(const struct claim_shown *c, struct writer *out)
{
    const struct claim_record *r = c->record;
    write_id(&r->id, c->driver, out);
    if (r->consumer.name[0] != '\0') {
        WRITE(out, "  prepared for: % %\n",
              TEXT(claim_consumer_name((enum claim_consumer_kind)r->consumer.kind)),
              SAFE(r->consumer.name));
    } else {
        writer_text(out, "  prepared for: not known\n");
    }
    write_results(r, out);
    WRITE(out, "  CDI file: %", TEXT(cdi_states[c->cdi]));
    if (c->cdi != CDI_GOOD) {
        writer_text(out, ": ");
        command_cdi_remedy(c->cdi, out);
    }
    writer_text(out, "\n");
    ASSERT(!out->full);
}

static void write_pods(const struct claim_shown *c, struct writer *out)
{
    const char *before = "  pods: ";
    struct view claim = view_text(c->record->id.name);
    size_t at = 0;
    const char *pod = pods_next(c->pods, claim, &at);
    while (pod != NULL) {
        WRITE(out, "%%", TEXT(before), TEXT(pod));
        before = ", ";
        pod = pods_next(c->pods, claim, &at);
    }
    writer_text(out, (before[0] == ',') ? "\n" : "  pods: none that the kubelet lists\n");
    ASSERT(!out->full);
}

bool command_claim_text(const struct claim_shown *c, unsigned part, struct writer *out)
{
    unsigned number = 0;
    if (part > last_part(c)) {
        return false;
    }
    if (part == PART_RECORD) {
        write_claim(c, out);
        return true;
    }
    if (part == PART_PODS) {
        if (c->pods != NULL) {
            write_pods(c, out);
        }
        return true;
    }
    const struct claim_result *result = device_part(c, part, &number);
    if (result != NULL) {
        command_device_text(c->node, result, number, out);
    }
    return true;
}

/* Writes the members of a JSON or YAML object that identify a claim. */
static void id_document(const struct claim_id *id, const char *driver, struct document *d)
{
    document_text(d, "driver", driver);
    document_text(d, "namespace", id->namespace_);
    document_text(d, "name", id->name);
    document_text(d, "uid", id->uid);
}

void command_outline_document(const struct store_outline *o, const char *driver, struct document *d)
{
    document_object_begin(d);
    id_document(&o->id, driver, d);
    document_bool(d, "released", o->released);
    document_object_end(d);
    ASSERT(!d->json.out->full);
}

static void result_document(const struct claim_result *result, struct document *d)
{
    char name[DEVICE_NAME_CAP];
    claim_device_name(result, name);
    document_object_begin(d);
    document_text(d, "request", result->request);
    document_text(d, "name", name);
    if (!result->node && result->efa_address == 0u) {
        document_number(d, "number", result->number);
    }
    if (result->logical_neuron_core != 0u) {
        document_number(d, "logicalNeuronCore", result->logical_neuron_core);
    }
    if (result->ultraserver_mode != 0u) {
        document_number(d, "ultraserverMode", result->ultraserver_mode);
    }
    if (result->share_id[0] != '\0') {
        document_text(d, "shareID", result->share_id);
    }
    if (result->cores != 0u) {
        char text[8] = {0};
        struct writer w = writer_of(text, sizeof text);
        cores_write(&w, result->cores, 1u);
        document_text(d, "cores", text);
    }
    document_bool(d, "adminAccess", result->admin_access);
    document_object_end(d);
}

static void start_document(const struct claim_shown *c, struct document *d)
{
    const struct claim_record *r = c->record;
    document_object_begin(d);
    id_document(&r->id, c->driver, d);
    if (r->consumer.name[0] != '\0') {
        document_member_begin(d, "consumer");
        document_text(d, "kind", claim_consumer_name((enum claim_consumer_kind)r->consumer.kind));
        document_text(d, "name", r->consumer.name);
        document_object_end(d);
    }
    document_array_begin(d, "devices");
    for (unsigned i = 0; i < r->count; i++) {
        result_document(&r->result[i], d);
    }
    document_array_end(d);
    document_text(d, "cdi", cdi_states[c->cdi]);
    ASSERT(!d->json.out->full);
}

/* Writes the pods, and begins the list of devices, which the next parts continue. */
static void pods_document(const struct claim_shown *c, struct document *d)
{
    struct view claim = view_text(c->record->id.name);
    size_t at = 0;
    if (c->pods != NULL) {
        document_array_begin(d, "pods");
        const char *pod = pods_next(c->pods, claim, &at);
        while (pod != NULL) {
            document_element(d, view_text(pod));
            pod = pods_next(c->pods, claim, &at);
        }
        document_array_end(d);
    }
    if (c->node != NULL) {
        document_array_begin(d, "onNode");
    }
    ASSERT(!d->json.out->full);
}

static void end_document(const struct claim_shown *c, struct document *d)
{
    if (c->node != NULL) {
        document_array_end(d);
    }
    document_object_end(d);
}

bool command_claim_document(const struct claim_shown *c, unsigned part, struct document *d)
{
    unsigned number = 0;
    if (part > last_part(c) + 1u) {
        return false;
    }
    if (part == PART_RECORD) {
        start_document(c, d);
        return true;
    }
    if (part == PART_PODS) {
        pods_document(c, d);
        return true;
    }
    if (part > last_part(c)) {
        end_document(c, d);
        return true;
    }
    const struct claim_result *result = device_part(c, part, &number);
    if (result != NULL) {
        command_device_document(c->node, result, number, d);
    }
    return true;
}

/* --- claims that are not held --- */

#define UID_CHARACTERS 36u /* length of a UUID with its hyphens, 8-4-4-4-12 (RFC 9562) */

static bool has_uid_form(struct view uid)
{
    for (size_t i = 0; i < uid.len; i++) {
        bool hyphen = i == 8u || i == 13u || i == 18u || i == 23u;
        if (hyphen ? uid.data[i] != (uint8_t)'-' : !is_hex_digit(uid.data[i])) {
            return false;
        }
    }
    return uid.len == UID_CHARACTERS;
}

void command_not_held(const char *uid, struct writer *out)
{
    struct view text = view_text(uid);
    if (has_uid_form(text)) {
        writer_text(out, "no claim of this UID is held here; see " AGENT_NAME " claims");
        return;
    }
    WRITE(out,
          "\"%\" is malformed as the UID of a claim, which has 8-4-4-4-12 hexadecimal digits: "
          "copy it from \"" AGENT_NAME " claims\"",
          SHOWN(text));
}
