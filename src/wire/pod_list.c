/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the kubelet's list of pods through the field filter, see pod_list.h. */
#include "wire/pod_list.h"

#include "base/assert.h"
#include "generated/kube_rules.h"
#include "generated/projection.pb.h"

void pod_list_begin(struct pod_list *l)
{
    static const struct kube_rule rows[] = {KUBE_ROWS_LIST_POD_RESOURCES_RESPONSE};
    const struct kube_rules rules = {
        .rules = rows, .count = sizeof rows / sizeof rows[0], .top = KUBE_ROOT};
    l->skipped = 0;
    kube_filter_init(&l->filter, rules, UINT64_MAX);
}

/*
 * Reads the value of a field with this wire type; *text is empty unless it is a text. The field
 * filter keeps the wire type that the peer gave a field, and writes whole fields.
 */
static void read_value(struct reader *in, uint64_t wire_type, struct view *text)
{
    uint64_t number = 0;
    enum status s = STATUS_OK;
    *text = view_of(NULL, 0);
    if (wire_type == (uint64_t)PB_WT_STRING || wire_type == (uint64_t)PB_WT_VARINT) {
        s = reader_varint(in, &number);
        ASSERT(s == STATUS_OK);
    }
    if (wire_type == (uint64_t)PB_WT_STRING) {
        s = reader_consume(in, (size_t)number, text);
    } else if (wire_type != (uint64_t)PB_WT_VARINT) {
        struct view fixed;
        s = reader_consume(in, (wire_type == (uint64_t)PB_WT_64BIT) ? 8u : 4u, &fixed);
    }
    ASSERT(s == STATUS_OK);
}

/*
 * Reads the next field of a record of a pod: sets *number to the number of the field, and *text to
 * its value, which is empty if the field is no text. Returns false at the end of the record.
 */
static bool next_field(struct reader *in, uint64_t *number, struct view *text)
{
    uint64_t tag = 0;
    bool more = reader_varint(in, &tag) == STATUS_OK;
    if (more) {
        *number = tag >> 3;
        read_value(in, tag & 7u, text);
    }
    return more;
}

/*
 * Sets *pod to the pod of a record. The caller reads the claims by a second pass, because protobuf
 * does not promise that the name comes before the claims.
 */
static void read_pod(const struct kube_record *record, struct listed_pod *pod)
{
    struct view text;
    uint64_t number = 0;
    struct reader in = reader_of(record->message);
    *pod =
        (struct listed_pod){.truncated = record->truncated, .fields = reader_of(record->message)};
    while (next_field(&in, &number, &text)) {
        switch (number) {
        case projection_PodRecord_name_tag:
            pod->name = text;
            break;
        case projection_PodRecord_namespace_tag:
            pod->namespace_ = text;
            break;
        default:
            pod->uses = true; /* the record has claims besides */
            break;
        }
    }
}

enum status pod_list_next(struct pod_list *l, struct reader *in, struct listed_pod *pod)
{
    struct kube_record record;
    uint8_t byte = 0;
    while (l->skipped < GRPC_PREFIX_BYTES && reader_u8(in, &byte) == STATUS_OK) {
        l->skipped++;
    }
    enum status s = kube_filter_next(&l->filter, in, &record);
    if (s == STATUS_OK) {
        read_pod(&record, pod);
    }
    return s;
}

bool listed_pod_claim(struct listed_pod *pod, struct view *claim)
{
    uint64_t number = 0;
    bool more = next_field(&pod->fields, &number, claim);
    while (more && number != (uint64_t)projection_PodRecord_claims_tag) {
        more = next_field(&pod->fields, &number, claim);
    }
    return more;
}

enum status pod_list_end(struct pod_list *l)
{
    return kube_filter_end(&l->filter);
}
