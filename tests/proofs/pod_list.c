/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's list of pods. What kube_filter.h promises of a record, whole fields, is the ghost
 * `field`: a position between two fields, of which each has a tag with one of its four wire types,
 * and its whole value.
 */
#include "stubs.h"

#include "wire/pod_list.c"

static struct pod_list list;

/* What is read next of a record. */
static enum { AT_TAG, AT_NUMBER, AT_LENGTH, AT_BYTES } ghost;
static size_t value_len; /* AT_BYTES: length of the value, all of which is there */

/* After a tag: its wire type is one of four, and `left` bytes have the whole value. */
static void tag_read(uint64_t tag, size_t left)
{
    switch (tag & 7u) {
    case PB_WT_VARINT:
        ghost = AT_NUMBER;
        ASSUME(left >= 1u);
        break;
    case PB_WT_STRING:
        ghost = AT_LENGTH;
        ASSUME(left >= 1u);
        break;
    default:
        ASSUME((tag & 7u) == PB_WT_64BIT || (tag & 7u) == PB_WT_32BIT);
        value_len = (tag & 7u) == PB_WT_64BIT ? 8u : 4u;
        ghost = AT_BYTES;
        ASSUME(left >= value_len);
        break;
    }
}

/* Proof reader_varint, over whole fields: no varint is cut off or malformed. */
enum status stub_whole_varint(struct reader *r, uint64_t *value)
{
    stub_check_reader(r);
    size_t left = r->len - r->pos;
    if (ghost == AT_TAG && left == 0u) {
        return STATUS_MORE;
    }
    size_t n = any_u8();
    ASSUME(n >= 1u && n <= 10u && n <= left);
    r->pos += n;
    left -= n;
    *value = any_u64();
    if (ghost == AT_TAG) {
        tag_read(*value, left);
    } else if (ghost == AT_LENGTH) {
        ASSUME(*value <= left);
        value_len = (size_t)*value;
        ghost = AT_BYTES;
    } else {
        CHECK(ghost == AT_NUMBER);
        ghost = AT_TAG;
    }
    return STATUS_OK;
}

enum status stub_whole_consume(struct reader *r, size_t n, struct view *out)
{
    CHECK(ghost == AT_BYTES && n == value_len);
    ghost = AT_TAG;
    ASSUME(n <= r->len - r->pos);
    return stub_reader_consume(r, n, out);
}

/* proof kube_next of kube_filter.c. */
enum status stub_filter_next(struct kube_filter *f, struct reader *in, struct kube_record *record)
{
    (void)f;
    stub_check_reader(in);
    in->pos += any_length(in->len - in->pos);
    if (any_bool()) {
        return any_bool() ? STATUS_MORE : PEER_MALFORMED;
    }
    record->message = any_view(ANY_LENGTH);
    record->truncated = any_bool();
    return STATUS_OK;
}

enum status stub_filter_end(struct kube_filter *f)
{
    (void)f;
    return any_bool() ? STATUS_OK : PEER_MALFORMED;
}

void stub_filter_init(struct kube_filter *f, struct kube_rules rules, uint64_t left)
{
    (void)f;
    (void)left;
    CHECK(rules.count > 0u && __CPROVER_r_ok(rules.rules, rules.count * sizeof rules.rules[0]));
}

void proof_pod_begin(void)
{
    pod_list_begin(&list);
    CHECK(list.skipped == 0u);
    enum status s = pod_list_end(&list);
    CHECK(s == STATUS_OK || s == PEER_MALFORMED);
}

void proof_pod_field(void)
{
    struct reader in = any_reader(ANY_LENGTH);
    struct view whole = view_of(in.data, in.len);
    struct view text = view_of(NULL, 0);
    uint64_t number = 0;
    size_t before = in.pos;
    ghost = AT_TAG;
    bool more = next_field(&in, &number, &text);
    CHECK(ghost == AT_TAG && in.pos <= in.len && (more ? in.pos > before : in.pos == in.len));
    CHECK(view_within(text, whole));
}

/* Proof pod_field. */
bool stub_next_field(struct reader *in, uint64_t *number, struct view *text)
{
    stub_check_reader(in);
    if (in->pos == in->len) {
        return false;
    }
    *number = any_u64();
    size_t begin = in->pos + 1u;
    size_t len = any_length(in->len - begin);
    in->pos = begin + len;
    *text = (struct view){(len > 0u) ? in->data + begin : NULL, len};
    return true;
}

void proof_pod_record(void)
{
    struct kube_record record;
    record.message = any_view(ANY_LENGTH);
    record.truncated = any_bool();
    struct listed_pod pod;
    read_pod(&record, &pod);
    CHECK(pod.fields.pos == 0u && pod.fields.len == record.message.len);
    CHECK(view_within(pod.name, record.message) && view_within(pod.namespace_, record.message));
}

/* Proof pod_record. */
void stub_read_pod(const struct kube_record *record, struct listed_pod *pod)
{
    stub_check_view(record->message);
    pod->fields = reader_of(record->message);
}

void proof_pod_next(void)
{
    struct listed_pod pod;
    struct reader in = any_reader(ANY_LENGTH);
    size_t before = in.pos;
    list.skipped = any_u8();
    ASSUME(list.skipped <= GRPC_PREFIX_BYTES);
    enum status s = pod_list_next(&list, &in, &pod);
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == PEER_MALFORMED);
    CHECK(list.skipped <= GRPC_PREFIX_BYTES && in.pos >= before && in.pos <= in.len);
}

void proof_pod_claim(void)
{
    struct listed_pod pod;
    struct view claim = view_of(NULL, 0);
    pod.fields = any_reader(ANY_LENGTH);
    size_t before = pod.fields.pos;
    bool more = listed_pod_claim(&pod, &claim);
    CHECK(pod.fields.pos >= before && pod.fields.pos <= pod.fields.len);
    CHECK(more || pod.fields.pos == pod.fields.len);
}
