/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies and refusals of gRPC: the account of the buffers, header texts, DATA in pieces, and the
 * states of a call, each step from any state that call_sound allows, and call_sound again after it.
 * The engine is h2_owner_stubs.h.
 */
#define PROOF_CONTENT_IS_ANY
#include "h2_owner_stubs.h"

#include "wire/grpc_send.c"

static struct grpc_server server;
static struct grpc_buffers buffers;

/* The fixed replies of the table are at most this long. */
#define REFUSAL_TEXT_MAX 48u

void stub_writer_decimal(struct writer *w, uint64_t value)
{
    uint8_t digits[20];
    size_t n = any_u8();
    ASSUME(n >= 1u && n <= (value <= 9999999999u ? 10u : sizeof digits));
    stub_writer_bytes(w, digits, n);
}

/* Any text with its NUL: text.c proves text_cut. */
void stub_text_cut(char *text, size_t cap, struct view v)
{
    CHECK(cap >= 1u && __CPROVER_w_ok(text, cap));
    stub_check_view(v);
    size_t end = any_size();
    ASSUME(end < cap);
    __CPROVER_havoc_slice(text, cap);
    text[end] = '\0';
    text[cap - 1u] = '\0';
}

/* A buffer that a call holds counts for the connection and for all of them. */
static bool account_sound(const struct grpc_server *s, const struct grpc_call *c)
{
    return c->buffer == GRPC_BUFFERS || (c->buffer < GRPC_BUFFERS && s->buffers == &buffers &&
                                         buffers.buffers[c->buffer].taken && s->held > 0u &&
                                         buffers.taken > 0u && buffers.holders > 0u);
}

static bool call_sound(const struct grpc_server *s, const struct grpc_call *c)
{
    if (c->stream == 0u) {
        return c->serial == 0u;
    }
    return c->serial != 0u && c->state < GRPC_CALL_STATES && c->refusal < GRPC_REFUSALS &&
           c->prefix_len <= GRPC_PREFIX_BYTES && account_sound(s, c);
}

/* A call in any state, the first of the table; the others are any bytes. */
static struct grpc_call *any_call(void)
{
    struct grpc_call call;
    server.calls[0] = call;
    server.held = any_unsigned();
    server.now_ms = any_u64() >> 1;
    buffers.taken = any_unsigned();
    buffers.holders = any_unsigned();
    uint8_t i = any_u8();
    ASSUME(i < GRPC_BUFFERS);
    buffers.buffers[i].taken = true;
    server.buffers = any_bool() ? &buffers : NULL;
    struct grpc_call *c = &server.calls[0];
    ASSUME(c->stream != 0u && (c->buffer == i || c->buffer == GRPC_BUFFERS));
    ASSUME(call_sound(&server, c));
    return c;
}

/* --- what other proofs of this file show --- */

/* Proof grpc_freed. */
void stub_call_free(struct grpc_server *s, struct grpc_call *call)
{
    CHECK(call->stream != 0u && account_sound(s, call));
    call->buffer = GRPC_BUFFERS;
    call->stream = 0;
    call->serial = 0;
}

void stub_buffer_release(struct grpc_server *s, struct grpc_call *call)
{
    CHECK(account_sound(s, call));
    call->buffer = GRPC_BUFFERS;
}

/* Proof grpc_header_number: `value` has as many digits as the header allows. */
void stub_header_number(struct h2 *c, const char *name, uint64_t value)
{
    CHECK(value <= 9999999999u);
    stub_h2_header_text(c, name, "");
}

/* Proof grpc_header_message. */
void stub_header_message(struct h2 *c, const char *text)
{
    stub_h2_header_text(c, "grpc-message", text);
}

/* Proof grpc_status_sent. */
enum status stub_send_status(struct grpc_server *s, const struct grpc_call *call,
                             enum grpc_status code, const char *text)
{
    (void)s;
    (void)text;
    CHECK(!building && call->stream != 0u && (unsigned)code <= (unsigned)GRPC_UNAVAILABLE);
    return any_bool() ? STATUS_OK : any_bool() ? STATUS_MORE : PEER_CLOSED;
}

/* Proof grpc_http_sent: STATUS_OK where the whole text was sent, or has no place. */
enum status stub_send_http(struct grpc_server *s, struct grpc_call *call, uint16_t code,
                           const char *text)
{
    (void)s;
    CHECK(!building && call->stream != 0u && code >= 100u && code <= 599u);
    CHECK((call->flags & GRPC_FLAG_HEAD_SENT) == 0u ||
          (call->reply_left > 0u && call->reply_left <= strlen(text)));
    return any_bool() ? STATUS_OK : any_bool() ? STATUS_MORE : PEER_CLOSED;
}

/* Proof grpc_ended. */
void stub_call_end(struct grpc_server *s, struct grpc_call *call)
{
    CHECK(call->stream != 0u && account_sound(s, call) && !building);
    if (any_bool()) {
        call->state = GRPC_CALL_ANSWERED;
    } else {
        stub_call_free(s, call);
    }
}

/* Proof grpc_data_sent. */
size_t stub_send_data(struct grpc_server *s, const struct grpc_call *call, struct view bytes,
                      bool last)
{
    (void)s;
    (void)last;
    CHECK(!building && call->stream != 0u);
    stub_check_view(bytes);
    return any_length(bytes.len < H2_FRAME_MAX ? bytes.len : H2_FRAME_MAX);
}

/* Proof grpc_head_sent. */
enum status stub_send_head(struct grpc_server *s, struct grpc_call *call)
{
    (void)s;
    CHECK(!building && call->stream != 0u);
    if (any_bool()) {
        call->flags |= GRPC_FLAG_HEAD_SENT;
        return STATUS_OK;
    }
    return any_bool() ? STATUS_MORE : PEER_CLOSED;
}

/* Proof grpc_prefix_sent. */
bool stub_prefix_sent(struct grpc_server *s, struct grpc_call *call)
{
    (void)s;
    CHECK(!building && call->stream != 0u && call->prefix_len <= GRPC_PREFIX_BYTES);
    uint8_t left = any_u8();
    ASSUME(left <= call->prefix_len);
    call->prefix_len = left;
    return left == 0u;
}

/* Proof grpc_reply_started. */
enum status stub_reply_begin(struct grpc_server *s, struct grpc_call *call, uint32_t len)
{
    (void)s;
    CHECK(call->reply_left == 0u && call->stream != 0u);
    if (any_bool()) {
        return any_bool() ? STATUS_MORE : PEER_CLOSED;
    }
    call->reply_left = len;
    return STATUS_OK;
}

/* Proof grpc_reply_piece. */
enum status stub_reply_bytes(struct grpc_server *s, struct grpc_call *call, struct view bytes,
                             size_t *taken)
{
    (void)s;
    CHECK(bytes.len <= call->reply_left);
    stub_check_view(bytes);
    *taken = any_length(bytes.len);
    call->reply_left -= (uint32_t)*taken;
    return *taken > 0u || any_bool() ? STATUS_OK : PEER_CLOSED;
}

/* --- proofs --- */

void proof_grpc_freed(void)
{
    struct grpc_call *c = any_call();
    unsigned held = server.held;
    bool lent = c->buffer != GRPC_BUFFERS;
    if (any_bool()) {
        grpc_buffer_release(&server, c);
        CHECK(call_sound(&server, c) && c->stream != 0u);
    } else {
        grpc_call_free(&server, c);
        CHECK(c->stream == 0u && c->serial == 0u);
    }
    CHECK(c->buffer == GRPC_BUFFERS && server.held == held - (lent ? 1u : 0u));
}

void proof_grpc_alive(void)
{
    struct grpc_call_id id = {any_u16(), any_u32()};
    struct grpc_call calls[H2_SERVER_STREAMS];
    memcpy(server.calls, calls, sizeof calls);
    bool alive = grpc_call_alive(&server, id);
    struct grpc_call *c = call_alive(&server, id);
    CHECK(alive == (c != NULL));
    CHECK(c == NULL || (id.index < H2_SERVER_STREAMS && c == &server.calls[id.index]));
}

void proof_grpc_header_number(void)
{
    building = true;
    uint64_t value = any_u64();
    ASSUME(value <= 9999999999u); /* callers: codes of HTTP and gRPC */
    header_number(&server.h2, "grpc-status", value);
    header_head(&server.h2);
    CHECK(building);
}

void proof_grpc_header_message(void)
{
    building = true;
    header_message(&server.h2, "text"); /* stub_text_cut replaces it by any text */
    CHECK(building);
}

void proof_grpc_status_sent(void)
{
    struct grpc_call *c = any_call();
    unsigned code = any_unsigned();
    ASSUME(code <= (unsigned)GRPC_UNAVAILABLE);
    enum status s = send_status(&server, c, (enum grpc_status)code, any_bool() ? NULL : "text");
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == PEER_CLOSED);
    CHECK(!building && call_sound(&server, c));
}

void proof_grpc_data_sent(void)
{
    const struct grpc_call *c = any_call();
    struct view bytes = any_view(ANY_LENGTH);
    size_t sent = send_data(&server, c, bytes, any_bool());
    CHECK(sent <= bytes.len && sent <= H2_FRAME_MAX);
}

void proof_grpc_http_sent(void)
{
    struct grpc_call *c = any_call();
    const char text[] = "content-type must be application/grpc\n";
    ASSUME((c->flags & GRPC_FLAG_HEAD_SENT) == 0u ||
           (c->reply_left > 0u && c->reply_left <= sizeof text - 1u));
    enum status s = send_http(&server, c, HTTP_METHOD_NOT_ALLOWED, text);
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == PEER_CLOSED);
    CHECK((c->flags & GRPC_FLAG_HEAD_SENT) == 0u || c->reply_left <= sizeof text - 1u);
    CHECK(!building && call_sound(&server, c));
}

void proof_grpc_ended(void)
{
    struct grpc_call *c = any_call();
    call_end(&server, c);
    CHECK(call_sound(&server, c) && (c->stream == 0u || c->state == GRPC_CALL_ANSWERED));
}

/* What waits in the table: the rest of the text of a refusal over HTTP is not longer than it. */
static bool refusal_sound(const struct grpc_call *c)
{
    return c->state != GRPC_CALL_REFUSED || refusals[c->refusal].http == HTTP_OK ||
           (c->flags & GRPC_FLAG_HEAD_SENT) == 0u ||
           (c->reply_left > 0u && c->reply_left <= strlen(refusals[c->refusal].text));
}

void proof_grpc_refusal(void)
{
    struct grpc_call *c = any_call();
    ASSUME(c->state == GRPC_CALL_REFUSED && refusal_sound(c));
    refusal_send(&server, c);
    CHECK(call_sound(&server, c));
}

/* Proof grpc_refusal. */
void stub_refusal_send(struct grpc_server *s, struct grpc_call *call)
{
    CHECK(call->state == GRPC_CALL_REFUSED && call->refusal < GRPC_REFUSALS);
    CHECK(refusal_sound(call) && account_sound(s, call));
    if (any_bool()) {
        stub_call_end(s, call);
    }
}

void proof_grpc_refused(void)
{
    struct grpc_call *c = any_call();
    unsigned why = any_unsigned();
    /* before its answer begins, as grpc.c calls it, or after a head that was not that of HTTP */
    ASSUME(why < (unsigned)GRPC_REFUSALS && c->state != GRPC_CALL_HEAD);
    ASSUME((c->flags & GRPC_FLAG_HEAD_SENT) == 0u || refusals[why].http == HTTP_OK);
    grpc_refuse(&server, c, (enum grpc_refusal)why);
    CHECK(call_sound(&server, c) && c->buffer == GRPC_BUFFERS);
}

static bool table_sound(const struct grpc_server *s)
{
    bool good = true;
    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        const struct grpc_call *c = &s->calls[i];
        good = good && (c->stream == 0u || (c->refusal < GRPC_REFUSALS && refusal_sound(c) &&
                                            c->buffer == GRPC_BUFFERS));
    }
    return good;
}

void proof_grpc_refused_due(void)
{
    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        struct grpc_call call;
        server.calls[i] = call;
    }
    ASSUME(table_sound(&server));
    grpc_refuse_due(&server);
    CHECK(table_sound(&server));
}

void proof_grpc_head_sent(void)
{
    struct grpc_call *c = any_call();
    enum status s = send_head(&server, c);
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == PEER_CLOSED);
    CHECK((s == STATUS_OK) == ((c->flags & GRPC_FLAG_HEAD_SENT) != 0u));
    CHECK(!building && call_sound(&server, c));
}

void proof_grpc_prefix_sent(void)
{
    struct grpc_call *c = any_call();
    uint8_t before = c->prefix_len;
    bool whole = prefix_sent(&server, c);
    CHECK(c->prefix_len <= before && whole == (c->prefix_len == 0u) && call_sound(&server, c));
}

void proof_grpc_reply_started(void)
{
    struct grpc_call *c = any_call();
    uint32_t len = any_u32();
    ASSUME(c->reply_left == 0u); /* the owner begins a message after the whole last one */
    enum status s = reply_begin(&server, c, len);
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == PEER_CLOSED);
    CHECK(c->reply_left == (s == STATUS_OK ? len : 0u) && call_sound(&server, c));
}

void proof_grpc_reply_piece(void)
{
    struct grpc_call *c = any_call();
    struct view bytes = any_view(ANY_LENGTH);
    uint32_t left = c->reply_left;
    size_t taken = 0;
    ASSUME(bytes.len <= left);
    enum status s = reply_bytes(&server, c, bytes, &taken);
    CHECK(s == STATUS_OK || (s == PEER_CLOSED && taken == 0u));
    CHECK(taken <= bytes.len && c->reply_left == left - taken && call_sound(&server, c));
}

/* A call that the owner answers, and its id; the id may also be another one. */
static struct grpc_call_id any_id(const struct grpc_call *c)
{
    return (struct grpc_call_id){0, any_bool() ? c->serial : any_u32()};
}

void proof_grpc_reply_calls(void)
{
    struct grpc_call *c = any_call();
    struct grpc_call_id id = any_id(c);
    struct view bytes = any_view(ANY_LENGTH);
    size_t taken = 0;
    if (any_bool()) {
        ASSUME(c->reply_left == 0u);
        (void)grpc_reply_begin(&server, id, any_u32());
    } else {
        ASSUME(bytes.len <= c->reply_left);
        enum status s = grpc_reply_bytes(&server, id, bytes, &taken);
        CHECK(taken <= bytes.len && (s == STATUS_OK || taken == 0u));
    }
    CHECK(call_sound(&server, c));
}

/* A message is begun once; its rest is not longer than itself. */
static struct view any_reply(const struct grpc_call *c)
{
    struct view message = any_view(ANY_LENGTH);
    bool begun = (c->flags & GRPC_FLAG_REPLY_BEGUN) != 0u;
    ASSUME(begun ? c->reply_left <= message.len : c->reply_left == 0u);
    return message;
}

void proof_grpc_message_sent(void)
{
    struct grpc_call *c = any_call();
    struct view message = any_reply(c);
    enum status s = grpc_reply_message(&server, any_id(c), message);
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == PEER_CLOSED);
    CHECK(s != STATUS_OK || (c->reply_left == 0u && (c->flags & GRPC_FLAG_REPLY_BEGUN) == 0u));
    CHECK(call_sound(&server, c));
}

/* Proof grpc_message_sent, for a call that is alive. */
enum status stub_reply_message(struct grpc_server *s, struct grpc_call *call, struct view message)
{
    (void)s;
    CHECK(call->stream != 0u && message.len <= UINT32_MAX);
    call->reply_left = any_u32();
    ASSUME(call->reply_left <= message.len);
    if (call->reply_left == 0u && any_bool()) {
        return STATUS_OK;
    }
    return any_bool() ? STATUS_MORE : PEER_CLOSED;
}

void proof_grpc_finished(void)
{
    struct grpc_call *c = any_call();
    unsigned code = any_unsigned();
    ASSUME(code <= (unsigned)GRPC_UNAVAILABLE && (code != 0u || c->reply_left == 0u));
    struct grpc_call_id id = any_id(c);
    enum status s = grpc_finish(&server, id, (enum grpc_status)code, any_bool() ? NULL : "text");
    CHECK(s == STATUS_OK || s == STATUS_MORE);
    CHECK(call_sound(&server, c) && (s != STATUS_OK || !grpc_call_alive(&server, id)));
}

void proof_grpc_replied(void)
{
    struct grpc_call *c = any_call();
    struct view message = any_reply(c);
    struct grpc_call_id id = any_id(c);
    enum status s = grpc_reply_all(&server, id, message);
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == PEER_CLOSED);
    CHECK(call_sound(&server, c) && (s != STATUS_OK || !grpc_call_alive(&server, id)));
}
