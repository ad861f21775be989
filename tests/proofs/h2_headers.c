/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HEADERS and CONTINUATION: the start of a block, its fields as they arrive, their rules, and its
 * end, in any state of the connection. HPACK is a stub of its promises (tests/proofs/hpack.c).
 */
#define PROOF_CONTENT_IS_ANY
#include "h2_stubs.h"

#include "wire/h2_headers.c"

uint32_t stub_list_max(const struct h2 *c)
{
    return c->role == H2_CLIENT ? H2_CLIENT_LIST_MAX : H2_HEADER_LIST_MAX;
}

/* A field in the scratch buffer, or a verdict that leaves the cursor. */
enum status stub_hpack_decode(struct hpack_decoder *d, struct reader *in, bool block_start,
                              struct writer *scratch, struct hpack_field *field)
{
    (void)d;
    (void)block_start;
    stub_check_reader(in);
    CHECK(scratch->len <= scratch->cap);
    if (in->pos == in->len || any_bool()) {
        return any_bool() ? STATUS_MORE : any_bool() ? PEER_MALFORMED : FULL_BUFFER;
    }
    in->pos += 1u + any_length(in->len - in->pos - 1u);
    /* I5 of wire/hpack.h: what was incomplete before ends after what was carried */
    ASSUME(in->data != connection.mem.field || in->pos > connection.block.carried);
    size_t name = any_length(scratch->cap);
    *field = (struct hpack_field){.size_update = any_bool(), .never_indexed = any_bool()};
    field->name = (struct view){scratch->data, name};
    field->value = (struct view){scratch->data + name, any_length(scratch->cap - name)};
    return STATUS_OK;
}

enum status stub_decode_field(struct h2 *c, struct view in, size_t *used, struct hpack_field *field)
{
    stub_check_view(in);
    struct reader r = {in.data, in.len, 0};
    struct writer scratch = {c->mem.scratch, c->mem.scratch_cap, 0, false};
    enum status s = stub_hpack_decode(NULL, &r, false, &scratch, field);
    *used = s == STATUS_MORE ? in.len : r.pos;
    c->block.carried = s == STATUS_OK ? 0u : c->block.carried;
    return s;
}

bool stub_list_field(struct h2_list *list, struct view name, struct view value)
{
    stub_check_view(name);
    stub_check_view(value);
    list->status = list->kind == H2_LIST_RESPONSE ? any_u16() : list->status;
    return any_bool();
}

static bool block_sound(const struct h2 *c)
{
    const struct h2_block *b = &c->block;
    return b->continuations <= H2_CONTINUATIONS_MAX && b->list.kind <= H2_LIST_TRAILERS &&
           b->listed <= H2_HEADER_LIST_HARD_MAX && b->size_updates <= HPACK_SIZE_UPDATES_MAX &&
           b->carried < c->mem.field_cap && b->reset_code <= H2_HTTP_1_1_REQUIRED;
}

static void any_buffers(struct h2_memory *m)
{
    m->field_cap = any_u16();
    ASSUME(m->field_cap > 0u);
    m->field = any_memory(m->field_cap);
    m->scratch_cap = any_u16();
    ASSUME(m->scratch_cap >= m->field_cap);
    m->scratch = any_memory(m->scratch_cap);
}

/* A connection whose header block is in any state that is sound. */
static struct h2 *any_block(void)
{
    (void)any_engine();
    any_buffers(&connection.mem);
    ASSUME(block_sound(&connection));
    ASSUME(connection.left <= H2_FRAME_MAX && connection.frame.stream != 0u);
    return &connection;
}

void proof_h2_field_rules(void)
{
    struct h2 *c = any_block();
    struct h2_list *list = &c->block.list;
    /* a second :status is refused before its value is read */
    ASSUME(list->status <= 999u);
    ASSUME((list->status == 0u) == ((list->pseudo & PSEUDO_STATUS) == 0u));
    bool good = list_field(list, any_view(ANY_LENGTH), any_view(ANY_LENGTH));
    CHECK(list->kind <= H2_LIST_TRAILERS && list->status <= 999u);
    CHECK(!good || list->regular || list->pseudo != 0u);
}

void proof_h2_headers_frame(void)
{
    struct h2 *c = any_block();
    struct h2_event event;
    if (any_bool()) {
        ASSUME(c->frame.type == H2_HEADERS && c->block.stream == 0u);
        size_t prefix = ((c->frame.flags & H2_FLAG_PADDED) != 0u ? 1u : 0u) +
                        ((c->frame.flags & H2_FLAG_PRIORITY) != 0u ? 5u : 0u);
        struct view fixed = {any_memory(prefix), prefix};
        CHECK(step_known(h2_on_headers(c, fixed, &event)));
        CHECK(c->left <= H2_FRAME_MAX);
    } else {
        ASSUME(c->frame.type == H2_CONTINUATION && c->block.stream == c->frame.stream);
        CHECK(step_known(h2_on_continuation(c, (struct view){NULL, 0}, &event)));
    }
    CHECK(block_sound(c));
}

void proof_h2_decode_field(void)
{
    struct h2 *c = any_block();
    struct hpack_field field = {.size_update = false};
    struct view in = any_view(ANY_LENGTH);
    ASSUME(in.len > 0u);
    size_t used = 0;
    enum status s = decode_field(c, in, &used, &field);
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == PEER_MALFORMED || s == FULL_BUFFER);
    CHECK(used <= in.len && block_sound(c));
    CHECK(s != STATUS_OK || used > 0u);
}

void proof_h2_fragment(void)
{
    struct h2 *c = any_block();
    struct h2_event event;
    ASSUME(c->block.stream == c->frame.stream);
    ASSUME(streams[0].id != c->block.stream || streams[0].state == H2_STREAM_OPEN);
    ASSUME(streams[1].id != c->block.stream || streams[1].state == H2_STREAM_OPEN);
    unsigned seen = H2_STREAM_LENGTH_KNOWN | H2_STREAM_REMOTE_ENDED;
    ASSUME((streams[0].flags & seen) == 0u && (streams[1].flags & seen) == 0u);
    ASSUME(streams[0].informational <= H2_INFORMATIONAL_MAX);
    ASSUME(streams[1].informational <= H2_INFORMATIONAL_MAX);
    CHECK(step_known(h2_stage_fragment(c, &event)));
    CHECK(c->rx_pos <= c->rx_len);
}
