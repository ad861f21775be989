/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of the gRPC client: the order in which it uses the engine, the code and the text of a
 * status of any length, and one event of any kind at a time.
 */
#include "h2_owner_stubs.h"

#include "wire/grpc_client.c"

static struct h2 connection;
static struct grpc_client client;

/* grpc_client.h: `h2` has just started, so that it has a stream and room for head and request. */
enum status stub_h2_open(struct h2 *c, uint32_t tag, uint32_t *stream)
{
    (void)c;
    (void)tag;
    CHECK(!building);
    *stream = 1;
    return STATUS_OK;
}

enum status stub_headers_fit(struct h2 *c, bool end_stream)
{
    (void)stub_h2_headers_end(c, end_stream);
    return STATUS_OK;
}

size_t stub_request_fits(const struct h2 *c, uint32_t stream)
{
    (void)c;
    CHECK(!building && stream == 1u);
    room_told = H2_FRAME_MAX;
    return room_told;
}

/* What grpc_client_begin establishes and each event keeps. */
static bool client_sound(const struct grpc_client *c)
{
    return c->text.data == c->text_bytes && c->text.cap == sizeof c->text_bytes &&
           writer_sound(&c->text) && c->code <= GRPC_CODE_NONE && c->h2 == &connection;
}

static struct grpc_client *any_client(void)
{
    client.h2 = &connection;
    client.stream = 1;
    client.ended = any_bool();
    client.code = any_unsigned();
    client.text = writer_of(client.text_bytes, sizeof client.text_bytes);
    client.text.len = any_length(sizeof client.text_bytes);
    client.text.full = any_bool();
    ASSUME(client_sound(&client));
    return &client;
}

void proof_grpc_client_begin(void)
{
    grpc_client_begin(&client, &connection, "/v1.Service/Method", any_view(H2_FRAME_MAX));
    CHECK(client_sound(&client) && !client.ended && client.stream == 1u && !building);
}

void proof_grpc_client_next(void)
{
    struct grpc_client *c = any_client();
    struct view piece;
    ASSUME(!c->ended);
    enum status s = grpc_client_next(c, &piece);
    CHECK(client_sound(c) && (s == STATUS_OK || !c->ended));
    CHECK(s == STATUS_OK || piece.len == 0u);
    CHECK(piece.len == 0u || __CPROVER_r_ok(piece.data, piece.len));
}

/* I3: the text stays within its bytes, and a status that does not fit is none. */
void proof_grpc_client_field(void)
{
    struct grpc_client *c = any_client();
    struct h2_event e = {.name = any_view(ANY_LENGTH), .value = any_view(ANY_LENGTH)};
    bool full = c->text.full;
    size_t before = c->text.len;
    read_field(c, &e);
    CHECK(client_sound(c) && c->text.len >= before && (full || !c->text.full));
}
