/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the kubelet's list of pods through the field filter, one pod at a time, and keeps the pairs
 * of a pod and a claim that are in the wanted namespace.
 */
#include "command/pods.h"

#include <string.h>

#include "base/assert.h"
#include "dra/claim.h"
#include "generated/kube_rules.h"
#include "generated/projection.pb.h"

void pods_begin(struct pods *p, struct view namespace_)
{
    static const struct kube_rule rows[] = {KUBE_ROWS_LIST_POD_RESOURCES_RESPONSE};
    const struct kube_rules rules = {
        .rules = rows, .count = sizeof rows / sizeof rows[0], .top = KUBE_ROOT};
    p->namespace_ = namespace_;
    p->partial = false;
    p->any = false;
    p->skipped = 0;
    p->count = 0;
    p->uses = writer_of(p->bytes, sizeof p->bytes);
    kube_filter_init(&p->filter, rules, UINT64_MAX);
}

/* --- the list --- */

const char *pods_next(const struct pods *p, struct view claim, size_t *at)
{
    while (*at < p->uses.len) {
        const char *used = (const char *)&p->bytes[*at];
        const char *pod = used + strlen(used) + 1u;
        *at += strlen(used) + strlen(pod) + 2u;
        if (view_is(claim, used)) {
            return pod;
        }
    }
    return NULL;
}

bool pods_has(const struct pods *p, struct view claim, struct view pod)
{
    size_t at = 0;
    const char *found = pods_next(p, claim, &at);
    while (found != NULL && !view_is(pod, found)) {
        found = pods_next(p, claim, &at);
    }
    return found != NULL;
}

/* Adds a pair, unless another container of the pod has led to the same one. */
static void add_use(struct pods *p, struct view pod, struct view claim)
{
    size_t room = writer_room(&p->uses);
    if (pods_has(p, claim, pod)) {
        return;
    }
    if (p->count == POD_USES_MAX || pod.len + claim.len + 2u > room || !claim_name_like(pod) ||
        !claim_name_like(claim)) {
        p->partial = true;
        return;
    }
    writer_append(&p->uses, claim);
    writer_u8(&p->uses, 0);
    writer_append(&p->uses, pod);
    writer_u8(&p->uses, 0);
    p->count++;
}

/* --- the response --- */

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
 * Adds the pairs of one pod. Reads the record twice, because protobuf does not promise that the
 * name comes before the claims.
 */
static void add_pod(struct pods *p, const struct kube_record *record)
{
    struct view text;
    struct view name = view_of(NULL, 0);
    struct view namespace_ = view_of(NULL, 0);
    uint64_t number = 0;
    struct reader in = reader_of(record->message);
    while (next_field(&in, &number, &text)) {
        switch (number) {
        case projection_PodRecord_name_tag:
            name = text;
            break;
        case projection_PodRecord_namespace_tag:
            namespace_ = text;
            break;
        default:
            p->any = true; /* the record has claims besides */
            break;
        }
    }
    if (!view_equal(namespace_, p->namespace_)) {
        return;
    }
    p->partial = p->partial || record->truncated;
    in = reader_of(record->message);
    while (next_field(&in, &number, &text)) {
        if (number == (uint64_t)projection_PodRecord_claims_tag) {
            add_use(p, name, text);
        }
    }
}

void pods_feed(struct pods *p, struct view bytes)
{
    struct reader in = reader_of(bytes);
    struct kube_record record;
    uint8_t byte = 0;
    while (p->skipped < GRPC_PREFIX_BYTES && reader_u8(&in, &byte) == STATUS_OK) {
        p->skipped++;
    }
    enum status s = kube_filter_next(&p->filter, &in, &record);
    while (s == STATUS_OK) {
        add_pod(p, &record);
        s = kube_filter_next(&p->filter, &in, &record);
    }
    /* s is STATUS_MORE, or a failure, which kube_filter_end returns again */
}

enum status pods_end(struct pods *p)
{
    enum status s = kube_filter_end(&p->filter);
    p->uses.len = (s == STATUS_OK) ? p->uses.len : 0u;
    return s;
}
