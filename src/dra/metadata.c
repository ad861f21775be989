/* SPDX-License-Identifier: Apache-2.0 */
/* Writes names and bytes of device metadata files; see metadata.h. */
#include "dra/metadata.h"

#include "cfg/identity.h"

enum { METADATA_INDENT = 2 };

/* --- names and paths of metadata files --- */

void metadata_file_name(enum driver_kind driver, const char *uid, unsigned at,
                        char out[CDI_FILE_NAME_CAP])
{
    WRITE_TEXT(out, CDI_FILE_NAME_CAP, "%%_%", TEXT(driver_traits(driver)->metadata_prefix),
               TEXT(uid), NUMBER(at));
}
_Static_assert(sizeof METADATA_FILE_PREFIX + UID_CAP + 3u <= CDI_FILE_NAME_CAP &&
                   sizeof EFA_METADATA_FILE_PREFIX + UID_CAP + 3u <= CDI_FILE_NAME_CAP &&
                   RESULTS_MAX <= 100u,
               "the longest name fits");

bool metadata_name_uid(enum driver_kind driver, const char *name, char uid[UID_CAP])
{
    struct view v = view_text(name);
    const char *prefix = driver_traits(driver)->metadata_prefix;
    struct view rest = view_from(v, view_text(prefix).len);
    size_t end = view_find(rest, '_');
    return view_starts(v, prefix) && end < rest.len &&
           text_copy(uid, UID_CAP, view_first(rest, end)) == STATUS_OK;
}

void metadata_container_path(const struct claim_record *r, unsigned at, const char *driver,
                             struct writer *out)
{
    bool template = r->pod_claim[0] != '\0';
    WRITE(out, METADATA_CONTAINER_DIR "%%/%/%" METADATA_FILE_SUFFIX,
          TEXT(template ? "/resourceclaimtemplates/" : "/resourceclaims/"),
          TEXT(template ? r->pod_claim : r->id.name), TEXT(r->result[at].request), TEXT(driver));
}
_Static_assert(sizeof METADATA_CONTAINER_DIR "/resourceclaimtemplates/" + NAME_CAP +
                       REQUEST_BASE_CAP + DRIVER_CAP + sizeof METADATA_FILE_SUFFIX <=
                   METADATA_PATH_CAP,
               "the longest path fits");

void metadata_annotation(struct view key, struct view value, char pod_claim[NAMESPACE_CAP])
{
    if (view_is(key, POD_CLAIM_ANNOTATION) && claim_label_like(value)) {
        text_cut(pod_claim, NAMESPACE_CAP, value);
    }
}

/* --- finding the devices of a request in the table --- */

/*
 * Sets `name` to the name of a result's device. Returns the device's index in the table; -1: the
 * table lacks the device.
 */
static int index_of(const struct claim_result *result, const struct devices *devices,
                    char name[DEVICE_NAME_CAP])
{
    claim_device_name(result, name);
    return devices_find(devices, view_text(name));
}

static bool of_request(const struct claim_record *r, unsigned first, unsigned at)
{
    return text_is(r->result[first].request, r->result[at].request);
}

bool metadata_known(const struct claim_record *r, unsigned at, const struct devices *devices)
{
    char name[DEVICE_NAME_CAP];
    bool known = true;
    for (unsigned i = at; i < r->count; i++) {
        known = known && (!of_request(r, at, i) || index_of(&r->result[i], devices, name) >= 0);
    }
    return known;
}

/* --- writing the two documents of a file --- */

static void write_attribute(struct json_writer *j, const struct attribute *a)
{
    json_name(j, a->key);
    json_object_begin(j);
    if (a->type == ATTRIBUTE_INT) {
        json_name(j, "int");
        json_number(j, a->number);
    } else if (a->type == ATTRIBUTE_BOOL) {
        json_name(j, "bool");
        json_bool(j, a->number != 0);
    } else {
        json_member(j, (a->type == ATTRIBUTE_VERSION) ? "version" : "string", a->text);
    }
    json_object_end(j);
}

/*
 * Writes the attributes, but not the capacities. Every device has at least one attribute, its PCI
 * address or its resource type, so the object is never empty.
 */
static void write_attributes(struct json_writer *j, const struct attributes *all)
{
    json_name(j, "attributes");
    json_object_begin(j);
    for (unsigned i = 0; i < all->count; i++) {
        if (all->attribute[i].type != ATTRIBUTE_CAPACITY) {
            write_attribute(j, &all->attribute[i]);
        }
    }
    json_object_end(j);
}

static void write_device(struct metadata_parts *m, const struct claim_result *result)
{
    char name[DEVICE_NAME_CAP];
    struct json_writer *j = &m->json;
    int index = index_of(result, m->devices, name);
    json_object_begin(j);
    json_member(j, "driver", m->driver);
    json_member(j, "pool", m->record->pool);
    json_member(j, "name", name);
    if (index >= 0) {
        claim_attributes(result, m->devices, (unsigned)index, m->attributes);
        write_attributes(j, m->attributes);
    }
    json_object_end(j);
}

static void write_head(struct metadata_parts *m)
{
    const struct claim_record *r = m->record;
    struct json_writer *j = &m->json;
    json_object_begin(j);
    json_member(j, "kind", "DeviceMetadata");
    json_member(j, "apiVersion",
                (m->version == 0u) ? METADATA_API_GROUP "/v1beta1"
                                   : METADATA_API_GROUP "/v1alpha1");
    json_name(j, "metadata");
    json_object_begin(j);
    json_member(j, "name", r->id.name);
    json_member(j, "namespace", r->id.namespace_);
    json_member(j, "uid", r->id.uid);
    json_name(j, "generation");
    json_number(j, 1);
    json_object_end(j);
    if (r->pod_claim[0] != '\0') {
        json_member(j, "podClaimName", r->pod_claim);
    }
    json_name(j, "requests");
    json_array_begin(j);
    json_object_begin(j);
    json_member(j, "name", r->result[m->first].request);
    json_name(j, "devices");
    json_array_begin(j);
}

static void write_tail(struct metadata_parts *m)
{
    json_array_end(&m->json);
    json_object_end(&m->json);
    json_array_end(&m->json);
    json_object_end(&m->json);
    writer_u8(m->json.out, '\n');
}

bool metadata_next(struct metadata_parts *m, struct writer *out)
{
    const struct claim_record *r = m->record;
    if (m->version >= METADATA_VERSIONS) {
        return false;
    }
    if (m->next == m->first) {
        m->json = json_writer_of(out, METADATA_INDENT);
        m->json.markup = true;
        write_head(m);
    }
    m->json.out = out;
    if (of_request(r, m->first, m->next)) {
        write_device(m, &r->result[m->next]);
    }
    m->next++;
    if (m->next == r->count) {
        write_tail(m);
        m->next = m->first;
        m->version++;
    }
    return true;
}
