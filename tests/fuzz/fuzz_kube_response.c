/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of the API server: header fields, then a body in pieces: objects, lists, watch frames,
 * Status, text. Checks I1 to I5 of wire/kube.h. Watch bodies may be given as events, which are
 * framed here; what their length says is then right.
 *
 * Input: header fields of a response, then its body in pieces
 */
#include "pb_decode.h"
#include "generated/projection.pb.h"
#include "tests/fuzz/fuzz.h"
#include "wire/kube.h"

static struct kube_response answer;

struct verdict {
    enum status status;
    struct fuzz_sum records;
};

/* --- one record --- */

static bool skip_bytes(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    (void)field;
    (void)arg;
    return pb_read(in, NULL, in->bytes_left);
}

static bool decode(struct view message, const pb_msgdesc_t *fields, void *out)
{
    pb_istream_t in = pb_istream_from_buffer(message.data, message.len);
    return pb_decode(&in, fields, out);
}

static const pb_msgdesc_t *const messages[KUBE_RECORDS] = {
    [KUBE_TYPE_META] = projection_TypeMeta_fields,
    [KUBE_STATUS] = projection_StatusRecord_fields,
    [KUBE_META] = projection_MetaRecord_fields,
    [KUBE_LABEL] = projection_LabelRecord_fields,
    [KUBE_ANNOTATION] = projection_LabelRecord_fields,
    [KUBE_RESULT_CAPACITY] = projection_LabelRecord_fields,
    [KUBE_NODE_INFO] = projection_NodeInfoRecord_fields,
    [KUBE_RESULT] = projection_ResultRecord_fields,
    [KUBE_CONFIG] = projection_ConfigRecord_fields,
    [KUBE_ALLOCATION] = projection_AllocationRecord_fields,
    [KUBE_SLICE_ATTRIBUTE] = projection_AttributeRecord_fields,
    [KUBE_SLICE_DEVICE] = projection_DeviceRecord_fields,
    [KUBE_SLICE_SPEC] = projection_SliceSpecRecord_fields,
    [KUBE_OBJECT_END] = projection_ObjectEndRecord_fields,
    [KUBE_LIST_META] = projection_ListMetaRecord_fields,
    [KUBE_WATCH_EVENT] = projection_WatchTypeRecord_fields,
    [KUBE_GROUP_VERSION] = projection_TypeMeta_fields,
    [KUBE_CONSUMER] = projection_ConsumerRecord_fields,
    [KUBE_SLICE_NAME] = projection_DeviceRecord_fields,
    [KUBE_SLICE_TAINT] = projection_TaintRecord_fields,
    [KUBE_SLICE_RESOURCE] = projection_ResourceRecord_fields,
    [KUBE_SLICE_COUNTER] = projection_QuantityRecord_fields,
    [KUBE_SLICE_CAPACITY] = projection_QuantityRecord_fields,
    [KUBE_SLICE_COUNTERS] = projection_DeviceRecord_fields,
    [KUBE_STATUS_CAUSE] = projection_StatusRecord_fields,
};

/* Every message that a record decodes into. */
static union {
    projection_ConfigRecord config;
    projection_StatusRecord status;
    projection_ListMetaRecord list;
    uint8_t room[8192];
} decoded;

/* Fields of type bytes in generated/projection.pb.h, beside those of KUBE_CONFIG. */
static bool is_bytes(unsigned record, uint64_t field)
{
    return (record == (unsigned)KUBE_SLICE_RESOURCE && field == 1u) ||
           (record == (unsigned)KUBE_SLICE_CAPACITY && field == 4u);
}

/* Texts of a record are UTF-8, or nanopb refuses it; it never refuses for another reason: the
 * limits of the rules are those of the messages. */
static bool texts_good(unsigned record, struct view message)
{
    struct reader in = reader_of(message);
    uint64_t tag = 0;
    uint64_t value = 0;
    struct view text;
    while (reader_left(&in) > 0u) {
        CHECK(reader_varint(&in, &tag) == STATUS_OK);
        if ((tag & 7u) == 0u) {
            CHECK(reader_varint(&in, &value) == STATUS_OK);
        } else if ((tag & 7u) == 2u) {
            CHECK(reader_varint(&in, &value) == STATUS_OK);
            CHECK(reader_consume(&in, (size_t)value, &text) == STATUS_OK);
            if (!is_bytes(record, tag >> 3) &&
                !fuzz_nanopb_takes(view_first(text, view_find(text, 0)))) {
                return false; /* a text ends at its first NUL for nanopb */
            }
        } else {
            CHECK((tag & 7u) == 1u || (tag & 7u) == 5u);
            CHECK(reader_consume(&in, (tag & 7u) == 1u ? 8u : 4u, &text) == STATUS_OK);
            return false; /* no field of ours has this type */
        }
    }
    return true;
}

/* Fields of a type other than the message's are nanopb's to refuse. */
static void look(const struct kube_record *r)
{
    CHECK(r->record > KUBE_RECORD_NONE && r->record < KUBE_RECORDS && r->record != KUBE_POD);
    CHECK(r->message.len <= KUBE_RECORD_BYTES_MAX);
    memset(&decoded, 0, sizeof decoded);
    if (r->record == KUBE_CONFIG) {
        decoded.config.requests.funcs.decode = skip_bytes;
        decoded.config.parameters.funcs.decode = skip_bytes;
    }
    bool good = texts_good((unsigned)r->record, r->message);
    bool taken = decode(r->message, messages[r->record], &decoded);
    CHECK(good || !taken || r->record == KUBE_CONFIG); /* I2 */
}

/* --- one run --- */

static enum status feed(struct view piece, struct fuzz_sum *records)
{
    struct reader in = reader_of(piece);
    struct kube_record record;
    enum status s = kube_response_next(&answer, &in, &record);
    while (s == STATUS_OK) {
        look(&record);
        fuzz_sum_u64(records, record.record * 2u + (record.truncated ? 1u : 0u));
        fuzz_sum_view(records, record.message);
        s = kube_response_next(&answer, &in, &record);
    }
    CHECK(s == STATUS_MORE || s == PEER_MALFORMED);
    CHECK(s != STATUS_MORE || reader_left(&in) == 0u); /* I3 */
    if (s != STATUS_MORE) {
        CHECK(kube_response_next(&answer, &in, &record) == s && kube_response_end(&answer) == s);
    }
    return s;
}

static void head(struct fuzz *in, enum kube_shape shape)
{
    static const char *const statuses[] = {"200", "201", "404", "409", "100", "503", "2000", ""};
    static const char *const types[] = {"application/vnd.kubernetes.protobuf",
                                        "application/vnd.kubernetes.protobuf;stream=watch",
                                        "application/json", "text/plain"};
    uint8_t how = fuzz_u8(in);
    kube_response_init(&answer, shape);
    kube_response_field(&answer, view_text(":status"), view_text(statuses[how & 7u]));
    kube_response_field(&answer, view_text("content-type"), view_text(types[how >> 3 & 3u]));
    if ((how & 0x80u) != 0u) {
        kube_response_field(&answer, view_text("retry-after"), fuzz_text(in));
        kube_response_field(&answer, fuzz_text(in), fuzz_text(in));
        kube_response_field(&answer, view_text(":status"), fuzz_text(in));
    }
}

static struct verdict run(struct view input, enum kube_shape shape, struct view body,
                          struct fuzz_cuts cuts)
{
    struct verdict v = {.status = STATUS_MORE, .records = fuzz_sum_of()};
    struct fuzz in = fuzz_of(input.data, input.len);
    head(&in, shape);
    while (body.len > 0u && v.status == STATUS_MORE) {
        size_t n = fuzz_cut(&cuts, body.len);
        v.status = feed(view_first(body, n), &v.records);
        body = view_from(body, n);
    }
    v.status = (v.status == STATUS_MORE) ? kube_response_end(&answer) : v.status;
    CHECK(kube_response_end(&answer) == v.status); /* I4 */
    for (const char *c = answer.message; *c != 0; c++) {
        CHECK(*c >= ' ' && *c <= '~'); /* I5 */
    }
    if (v.status == STATUS_OK) { /* of a body that is refused at once only a front was seen */
        fuzz_sum_view(&v.records, view_text(answer.message));
    }
    fuzz_sum_u64(&v.records, answer.http_status + answer.retry_after_s * UINT64_C(1000));
    return v;
}

/* Events that stand one behind the other, each with its length in two bytes, become frames. */
static struct view frame(struct fuzz *in, uint8_t *room, size_t cap)
{
    struct writer out = writer_of(room, cap);
    while (fuzz_left(in) > 0u) {
        struct view event = fuzz_bytes(in, fuzz_u16(in));
        writer_u32(&out, (uint32_t)event.len);
        writer_append(&out, event);
    }
    return writer_view(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t room[131072];
    struct fuzz in = fuzz_of(data, size);
    uint8_t how = fuzz_u8(&in);
    /* pods are in a response of the kubelet: fuzz_pods.c */
    for (unsigned record = KUBE_RECORD_NONE + 1u; record < KUBE_RECORDS; record++) {
        CHECK((messages[record] != NULL) == (record != KUBE_POD));
    }
    /* the shapes are more than the three bits that old inputs have for them */
    enum kube_shape shape =
        (how & 0x10u) != 0u ? KUBE_SHAPE_CLAIM_LIST : (enum kube_shape)(how & 7u);
    struct view input = view_from(view_of(data, size), 1);
    head(&in, shape);
    struct view body = (how & 8u) != 0u ? frame(&in, room, sizeof room) : fuzz_rest(&in);
    struct verdict whole = run(input, shape, body, fuzz_cuts_whole());
    for (uint64_t salt = 0; salt < 2u; salt++) {
        struct verdict pieces = run(input, shape, body, fuzz_cuts_of(data, size, salt));
        CHECK(pieces.status == whole.status); /* I1 */
        CHECK(pieces.records.value == whole.records.value);
    }
    return 0;
}
