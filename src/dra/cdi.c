/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the CDI file of a prepared claim (Container Device Interface 0.6.0). Owns the file's
 * layout: each request of the claim is one CDI device, so that containers with different requests
 * get different devices. The annotations carry the whole claim record, so that the file alone shows
 * what was prepared.
 */
#include "base/assert.h"
#include "base/json.h"
#include "dra/cdi_internal.h"
#include "dra/claim.h"
#include "dra/metadata.h"

/*
 * Size in bytes of a buffer for the path of a device node: a directory, "/neuron" or
 * "/infiniband/uverbs", a number, and NUL.
 */
#define NODE_PATH_CAP (PATH_CAP + 32u)
#define ENV_CAP 64u

enum { CDI_INDENT = 2 };

/* --- names of CDI files and CDI devices --- */

static void file_name(enum driver_kind driver, const char *uid, const char *suffix,
                      char out[CDI_FILE_NAME_CAP])
{
    WRITE_TEXT(out, CDI_FILE_NAME_CAP, "%%%", TEXT(driver_traits(driver)->cdi_prefix), TEXT(uid),
               TEXT(suffix));
}

void cdi_file_name(enum driver_kind driver, const char *uid, char out[CDI_FILE_NAME_CAP])
{
    file_name(driver, uid, CDI_FILE_SUFFIX, out);
}

void cdi_tombstone_name(enum driver_kind driver, const char *uid, char out[CDI_FILE_NAME_CAP])
{
    file_name(driver, uid, CDI_TOMBSTONE_SUFFIX, out);
}

bool cdi_name_uid(enum driver_kind driver, const char *name, const char *suffix, char uid[UID_CAP])
{
    struct view v = view_text(name);
    const char *prefix = driver_traits(driver)->cdi_prefix;
    size_t begins = view_text(prefix).len;
    size_t ends = begins + view_text(suffix).len;
    if (!view_starts(v, prefix) || !view_ends(v, suffix) || v.len <= ends) {
        return false;
    }
    struct view middle = view_from(view_first(v, v.len - view_text(suffix).len), begins);
    /* a UID has the form of a label (claim_uid_like); text_copy checks its length */
    return claim_label_like(middle) && text_copy(uid, UID_CAP, middle) == STATUS_OK;
}

static void device_name(struct writer *w, const char *uid, const char *request)
{
    WRITE(w, "%-%", TEXT(uid), TEXT(request));
}

void cdi_device_id(enum driver_kind driver, const char *uid, const char *request,
                   char out[CDI_ID_CAP])
{
    WRITE_TEXT(out, CDI_ID_CAP, "%=%-%", TEXT(driver_traits(driver)->cdi_kind), TEXT(uid),
               TEXT(request));
}

_Static_assert(sizeof(EFA_CDI_KIND) + UID_CAP + REQUEST_BASE_CAP <= CDI_ID_CAP &&
                   sizeof(EFA_CDI_FILE_PREFIX CDI_TOMBSTONE_SUFFIX) + UID_CAP <= CDI_FILE_NAME_CAP,
               "those of the EFA driver fit");
_Static_assert(sizeof(CDI_KIND) + UID_CAP + REQUEST_BASE_CAP <= CDI_ID_CAP,
               "the longest CDI id fits");
_Static_assert(sizeof(CDI_FILE_PREFIX CDI_FILE_SUFFIX) + UID_CAP <= CDI_FILE_NAME_CAP &&
                   sizeof(CDI_FILE_PREFIX CDI_TOMBSTONE_SUFFIX) + UID_CAP <= CDI_FILE_NAME_CAP,
               "the longest file name fits");

/* --- writing JSON members --- */

static void member_number(struct json_writer *j, const char *name, unsigned value)
{
    if (value != 0u) {
        json_name(j, name);
        json_number(j, value);
    }
}

/* Writes a member whose value is a path: `dir`, `stem` and `number`, joined. */
static void member_numbered(struct json_writer *j, const char *name, const char *dir,
                            const char *stem, unsigned number)
{
    char text[NODE_PATH_CAP];
    struct writer w = writer_of(text, sizeof text);
    WRITE(&w, "%%%", TEXT(dir), TEXT(stem), NUMBER(number));
    ASSERT(!w.full);
    json_name(j, name);
    json_string(j, writer_view(&w));
}

/* --- writing annotations --- */

/* Writes an allocation result as a JSON object, without the fields that are not set. */
static void result_object(struct writer *out, const struct claim_result *r)
{
    char device[DEVICE_NAME_CAP];
    struct json_writer j = json_writer_of(out, 0);
    claim_device_name(r, device);
    json_object_begin(&j);
    json_member(&j, "request", r->request);
    json_member(&j, "device", device);
    if (r->admin_access) {
        json_name(&j, "adminAccess");
        json_bool(&j, true);
    }
    if (r->share_id[0] != '\0') {
        json_member(&j, "shareID", r->share_id);
    }
    if (r->efa_address != 0u) {
        json_name(&j, "number");
        json_number(&j, r->number);
        json_name(&j, "uverbs");
        json_number(&j, r->uverbs);
    }
    member_number(&j, "cores", r->cores);
    member_number(&j, "logicalNeuronCore", r->logical_neuron_core);
    member_number(&j, "ultraserverMode", r->ultraserver_mode);
    json_object_end(&j);
    ASSERT(!out->full);
}

/*
 * Writes the annotation for the allocation result with index `at`: a JSON object inside a string,
 * because annotation values must be strings.
 */
static void result_annotation(struct json_writer *j, const struct claim_record *r, unsigned at)
{
    char key_text[RESULT_KEY_CAP];
    char value_text[RESULT_VALUE_CAP];
    struct writer value = writer_of(value_text, sizeof value_text);
    WRITE_TEXT(key_text, sizeof key_text, ANNOTATION("result-") "%", NUMBER(at));
    result_object(&value, &r->result[at]);
    json_name(j, key_text);
    json_string(j, writer_view(&value));
}

/* Writes a string value: the text `before`, then the number. */
static void string_numbered(struct json_writer *j, const char *before, unsigned value)
{
    char text[ENV_CAP];
    struct writer w = writer_of(text, sizeof text);
    writer_text(&w, before);
    writer_decimal(&w, value);
    ASSERT(!w.full);
    json_string(j, writer_view(&w));
}

/*
 * Writes a member with a number as its value, in a string, because annotation values must be
 * strings.
 */
static void member_decimal(struct json_writer *j, const char *name, unsigned value)
{
    json_name(j, name);
    string_numbered(j, "", value);
}

/*
 * Writes the annotations that only some claims have: those for the device that stands for the node,
 * for an UltraServer mode, and for device metadata files.
 */
static void node_annotations(struct json_writer *j, const struct claim_record *r)
{
    const struct ultraserver_use *u = &r->ultraserver;
    if (r->node_devices != 0u) {
        char text[DEVICE_NUMBERS_CAP];
        struct writer w = writer_of(text, sizeof text);
        device_numbers_write(&w, r->node_devices);
        ASSERT(!w.full);
        json_name(j, ANNOTATION("node-devices"));
        json_string(j, writer_view(&w));
    }
    if (u->mode != 0u) {
        member_decimal(j, ANNOTATION("ultraserver-mode"), u->mode);
    }
    if (u->place.server_id[0] != '\0') {
        json_member(j, ANNOTATION("ultraserver-server-id"), u->place.server_id);
        member_decimal(j, ANNOTATION("ultraserver-node-id"), u->place.node_id);
    }
    if (r->metadata) {
        json_member(j, ANNOTATION("device-metadata"), r->pod_claim);
    }
}

static void write_annotations(struct json_writer *j, const struct claim_record *r)
{
    json_name(j, "annotations");
    json_object_begin(j);
    json_member(j, ANNOTATION("claim-namespace"), r->id.namespace_);
    json_member(j, ANNOTATION("claim-name"), r->id.name);
    json_member(j, ANNOTATION("claim-uid"), r->id.uid);
    json_member(j, ANNOTATION("pool"), r->pool);
    json_member(j, ANNOTATION("boot-id"), r->boot_id);
    json_name(j, ANNOTATION("device-numbering"));
    if (r->first_number != 0u) {
        string_numbered(j, "zero+", r->first_number);
    } else {
        json_string(j, view_text(r->zero_numbering ? "zero" : "host"));
    }
    node_annotations(j, r);
    for (unsigned i = 0; i < r->count; i++) {
        result_annotation(j, r, i);
    }
    json_object_end(j);
}

/* --- writing CDI devices --- */

/*
 * The device number inside the container: the host's number or, with zero_numbering, first_number
 * plus the rank of the device among the claim's devices.
 */
static unsigned container_number(const struct claim_record *r, unsigned number)
{
    uint64_t lower = claim_all_numbers(r) & ((UINT64_C(1) << number) - 1u);
    unsigned rank = r->first_number + claim_numbers_count(lower);
    return r->zero_numbering ? rank : number;
}
_Static_assert(DEVICES_MAX <= 64u, "one bit for each device number");

static bool same_request(const struct claim_record *r, unsigned i, unsigned k)
{
    return text_is(r->result[i].request, r->result[k].request);
}

bool claim_request_begins(const struct claim_record *r, unsigned at)
{
    for (unsigned k = 0; k < at; k++) {
        if (same_request(r, k, at)) {
            return false;
        }
    }
    return true;
}

static void write_node(struct json_writer *j, const char *dev_root, const char *stem,
                       unsigned number, unsigned host_number)
{
    json_object_begin(j);
    member_numbered(j, "path", "/dev", stem, number);
    member_numbered(j, "hostPath", dev_root, stem, host_number);
    json_member(j, "permissions", "rw");
    json_object_end(j);
}

static void write_nodes(struct json_writer *j, const struct claim_record *r, uint64_t devices,
                        const char *dev_root)
{
    for (unsigned number = 0; number < DEVICES_MAX; number++) {
        if ((devices >> number & 1u) != 0u) {
            write_node(j, dev_root, "/neuron", container_number(r, number), number);
        }
    }
}

/*
 * Writes the device nodes of the request whose first result has index `first`. If two results of
 * the request are shares of one device, writes the node of this device only once.
 */
static void device_nodes(struct json_writer *j, const struct claim_record *r, unsigned first,
                         const char *dev_root)
{
    uint64_t written = 0;
    json_name(j, "deviceNodes");
    json_array_begin(j);
    for (unsigned i = first; i < r->count; i++) {
        uint64_t devices = same_request(r, first, i) ? claim_result_numbers(r, i) & ~written : 0u;
        if (driver_traits(r->driver)->numbered) {
            write_nodes(j, r, devices, dev_root);
        } else if (devices != 0u) {
            write_node(j, dev_root, "/infiniband/uverbs", r->result[i].uverbs, r->result[i].uverbs);
        }
        written |= devices;
    }
    json_array_end(j);
}

static void variable_text(struct json_writer *j, const char *name, const char *value)
{
    char text[ENV_CAP];
    struct writer w = writer_of(text, sizeof text);
    writer_text(&w, name);
    writer_text(&w, value);
    ASSERT(!w.full);
    json_string(j, writer_view(&w));
}

static void write_environment(struct json_writer *j, const struct claim_record *r,
                              const struct claim_result *result)
{
    const struct ultraserver_use *u = &r->ultraserver;
    bool lnc = result->logical_neuron_core != 0u;
    bool mode = result->ultraserver_mode != 0u;
    if (!lnc && !mode && result->cores == 0u) {
        return;
    }
    json_name(j, "env");
    json_array_begin(j);
    if (lnc) {
        string_numbered(j, "NEURON_LOGICAL_NC_CONFIG=", result->logical_neuron_core);
    }
    if (result->cores != 0u) {
        char text[ENV_CAP];
        struct writer w = writer_of(text, sizeof text);
        writer_text(&w, "NEURON_RT_VISIBLE_CORES=");
        cores_write(&w, result->cores, lnc ? result->logical_neuron_core : 1u);
        ASSERT(!w.full);
        json_string(j, writer_view(&w));
    }
    if (mode) {
        string_numbered(j, "NEURON_RT_ULTRASERVER_MODE=", u->mode);
    }
    if (mode && u->place.server_id[0] != '\0') {
        variable_text(j, "NEURON_RT_ULTRASERVER_SERVER_ID=", u->place.server_id);
        string_numbered(j, "NEURON_RT_ULTRASERVER_NODE_ID=", u->place.node_id);
    }
    json_array_end(j);
}

/*
 * Writes the mount of a request's metadata file on one line, so that 32 mounts fit in
 * CDI_BYTES_MAX.
 */
static void write_mounts(struct json_writer *j, const struct claim_record *r, unsigned first,
                         const struct cdi_host *host)
{
    char name[CDI_FILE_NAME_CAP];
    char text[NODE_PATH_CAP + CDI_FILE_NAME_CAP];
    struct writer w = writer_of(text, sizeof text);
    metadata_file_name(r->driver, r->id.uid, first, name);
    json_name(j, "mounts");
    j->indent = 0;
    json_array_begin(j);
    json_object_begin(j);
    json_name(j, "hostPath");
    WRITE(&w, "%/%", TEXT(host->cdi_root), TEXT(name));
    json_string(j, writer_view(&w));
    w.len = 0;
    json_name(j, "containerPath");
    metadata_container_path(r, first, host->driver, &w);
    json_string(j, writer_view(&w));
    ASSERT(!w.full);
    json_name(j, "options");
    json_array_begin(j);
    json_string(j, view_text("ro"));
    json_string(j, view_text("bind"));
    json_array_end(j);
    json_object_end(j);
    json_array_end(j);
    j->indent = CDI_INDENT;
}
_Static_assert(METADATA_PATH_CAP <= NODE_PATH_CAP, "either path fits");

static void device_object(struct json_writer *j, const struct claim_record *r, unsigned first,
                          const struct cdi_host *host)
{
    char text[UID_CAP + REQUEST_BASE_CAP];
    struct writer name = writer_of(text, sizeof text);
    device_name(&name, r->id.uid, r->result[first].request);
    ASSERT(!name.full);
    json_object_begin(j);
    json_name(j, "name");
    json_string(j, writer_view(&name));
    json_name(j, "containerEdits");
    json_object_begin(j);
    write_environment(j, r, &r->result[first]);
    device_nodes(j, r, first, host->dev_root);
    if (r->metadata) {
        write_mounts(j, r, first, host);
    }
    json_object_end(j);
    json_object_end(j);
}

enum status cdi_write(const struct claim_record *r, const struct cdi_host *host, struct writer *out)
{
    ASSERT(claim_record_valid(r));
    size_t start = out->len;
    struct json_writer j = json_writer_of(out, CDI_INDENT);
    json_object_begin(&j);
    json_member(&j, "cdiVersion", CDI_VERSION);
    json_member(&j, "kind", driver_traits(r->driver)->cdi_kind);
    write_annotations(&j, r);
    json_name(&j, "devices");
    json_array_begin(&j);
    for (unsigned i = 0; i < r->count; i++) {
        if (claim_request_begins(r, i)) {
            device_object(&j, r, i, host);
        }
    }
    json_array_end(&j);
    json_object_end(&j);
    writer_u8(out, '\n');
    ASSERT(out->full || j.depth == 0u);
    return (out->full || out->len - start > CDI_BYTES_MAX) ? FULL_BUFFER : STATUS_OK;
}
