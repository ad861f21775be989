/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Responses and requests of the API server: header fields, each step of a body, and the header
 * block of a request. The state of a response is any that `sound` allows, and `sound` again after
 * each step; by induction, bodies of any length. The filter and HTTP/2 are stubs.
 */
#define PROOF_CONTENT_IS_ANY
#include "h2_owner_stubs.h"

#include "wire/kube.c"

static struct kube_response response;

static bool sound(const struct kube_response *r)
{
    return (unsigned)r->shape < SHAPES && r->phase <= PHASE_TEXT &&
           r->http_status <= HTTP_STATUS_MAX && r->message_len < sizeof r->message &&
           r->prefix_have <= sizeof r->prefix &&
           (r->prefix_have < sizeof r->prefix || r->failed != STATUS_OK) &&
           r->failed < STATUS_COUNT && r->failed != STATUS_MORE;
}

static struct kube_response *any_response(void)
{
    __CPROVER_havoc_object(&response);
    ASSUME(sound(&response));
    return &response;
}

void explicit_bzero(void *memory, size_t n)
{
    CHECK(n == 0u || __CPROVER_w_ok(memory, n));
}

/* --- the filter (wire/kube_filter.h) --- */

void stub_filter_init(struct kube_filter *f, struct kube_rules rules, uint64_t length)
{
    CHECK(f == &response.filter && rules.count > 0u && rules.rules != NULL);
    CHECK(rules.top == KUBE_ROOT || rules.top < rules.count);
    CHECK(length == UINT64_MAX || length <= KUBE_WATCH_FRAME_MAX);
}

void stub_filter_switch(struct kube_filter *f, struct kube_rules rules)
{
    CHECK(f == &response.filter && rules.count > 0u && rules.rules != NULL);
}

enum status stub_filter_next(struct kube_filter *f, struct reader *in, struct kube_record *record)
{
    CHECK(f == &response.filter);
    stub_check_reader(in);
    in->pos += any_length(in->len - in->pos);
    if (any_bool()) {
        record->record = any_u8();
        record->message = view_of(f->buffer, any_length(sizeof f->buffer));
        return STATUS_OK;
    }
    return any_bool() ? STATUS_MORE : any_bool() ? PEER_MALFORMED : FULL_BUFFER;
}

bool stub_filter_done(const struct kube_filter *f)
{
    CHECK(f == &response.filter);
    return any_bool();
}

enum status stub_filter_end(struct kube_filter *f)
{
    CHECK(f == &response.filter);
    return any_bool() ? STATUS_OK : PEER_MALFORMED;
}

bool stub_view_ends(struct view a, const char *suffix)
{
    stub_check_view(a);
    return a.len >= strlen(suffix) && any_bool();
}

struct view stub_view_trim(struct view a)
{
    stub_check_view(a);
    size_t begin = any_length(a.len);
    size_t len = any_length(a.len - begin);
    return (struct view){(len > 0u) ? a.data + begin : NULL, len};
}

struct view stub_record_text(struct view message, uint64_t field)
{
    CHECK(field == 1u || field == 2u);
    return stub_view_trim(message);
}

void stub_consume_choice(struct kube_response *r, struct view type_meta)
{
    CHECK(r->phase == PHASE_OBJECT || r->phase == PHASE_FRAME);
    stub_check_view(type_meta);
}

/* "Bearer %" with one view: as long as both together. */
void stub_writer_fill(struct writer *w, const char *form, const struct fill *fills, size_t count)
{
    CHECK(count == 1u && fills[0].kind == FILL_VIEW);
    stub_writer_bytes(w, form, strlen(form) - 1u);
    stub_writer_bytes(w, fills[0].data, fills[0].number);
}

void stub_writer_decimal(struct writer *w, uint64_t value)
{
    uint8_t digits[UINT64_DIGITS];
    (void)value;
    size_t n = any_u8();
    ASSUME(n >= 1u && n <= sizeof digits);
    stub_writer_bytes(w, digits, n);
}

void proof_kube_fields(void)
{
    struct kube_response *r = any_response();
    struct view value = any_view(ANY_LENGTH);
    if (any_bool()) {
        kube_response_field(r, any_view(ANY_LENGTH), value);
    } else {
        (void)retry_after(value);
    }
    CHECK(sound(r));
}

void proof_kube_start(void)
{
    struct kube_response *r = &response;
    __CPROVER_havoc_object(r);
    enum kube_shape shape = (enum kube_shape)(any_u8() % SHAPES);
    kube_response_init(r, shape);
    CHECK(sound(r) && r->phase == PHASE_START && r->message[0] == '\0');
    struct kube_rules rules =
        kube_rules_of(shape, any_bool(), any_view(ANY_LENGTH), any_view(ANY_LENGTH));
    CHECK(rules.count > 0u && (rules.top == KUBE_ROOT || rules.top < rules.count));
}

void proof_kube_text(void)
{
    struct kube_response *r = any_response();
    struct reader in = any_reader(ANY_LENGTH);
    enum status s = consume_text(r, &in);
    CHECK(s == STATUS_MORE || s == PEER_MALFORMED);
    CHECK(sound(r) && in.pos == in.len);
}

void proof_kube_text_byte(void)
{
    struct kube_response *r = any_response();
    uint16_t before = r->message_len;
    keep_text_byte(r, any_u8());
    CHECK(sound(r) && r->message_len >= before);
    CHECK(r->message_len == before || r->message[r->message_len] == '\0');
}

void proof_kube_record_text(void)
{
    struct view message = any_view(ANY_LENGTH);
    struct view text = record_text(message, any_u64());
    CHECK(view_within(text, message));
}

void proof_kube_object(void)
{
    struct kube_response *r = any_response();
    struct reader in = any_reader(ANY_LENGTH);
    struct kube_record record = {0};
    ASSUME(r->phase == PHASE_OBJECT || r->phase == PHASE_FRAME);
    (void)consume_object(r, &in, &record);
    CHECK(sound(r) && in.pos <= in.len);
}

void proof_kube_next(void)
{
    struct kube_response *r = any_response();
    struct reader in = any_reader(ANY_LENGTH);
    struct kube_record record = {0};
    enum status before = r->failed;
    enum status s = kube_response_next(r, &in, &record);
    CHECK(sound(r) && in.pos <= in.len);
    CHECK(before == STATUS_OK || s == before);
    CHECK((s == STATUS_OK || s == STATUS_MORE) == (r->failed == STATUS_OK));
    s = kube_response_end(r);
    CHECK(sound(r) && s == r->failed);
}

void proof_kube_request(void)
{
    building = false;
    struct h2 *none = NULL; /* the stubs of header blocks read no connection */
    struct kube_request request = {
        .method = "PATCH",
        .path = any_view(ANY_LENGTH),
        .authority = any_view(ANY_LENGTH),
        .token = any_view(TOKEN_CAP - 1u),
        .watch = any_bool(),
        .body_len = any_u64(),
        .has_body = any_bool(),
        .body_type = any_bool() ? NULL : KUBE_APPLY_PATCH,
    };
    ASSUME(request.path.len > 0u && request.authority.len > 0u);
    uint32_t stream = any_u32();
    ASSUME(stream != 0u); /* kube.h: an open stream */
    enum status s = kube_request_send(none, stream, &request);
    CHECK(s == STATUS_OK || s == FULL_BUFFER || s == PEER_CLOSED);
    CHECK(!building);
}
