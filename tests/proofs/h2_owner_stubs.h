/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What wire/h2.h promises to the owner of a connection, in place of the engine, and what it asks of
 * the owner: the order of header blocks and DATA, and lengths that fit. The engine's own state is
 * not modelled: each call returns any result that its header allows.
 */
#ifndef PROOF_H2_OWNER_STUBS_H
#define PROOF_H2_OWNER_STUBS_H

#include "stubs.h"
#include "wire/h2.h"

/* Between h2_headers_begin and h2_headers_end no other call of the engine is allowed. */
static bool building;
/* What h2_data_room returned last: h2_data accepts no more. */
static size_t room_told;

void stub_h2_headers_begin(struct h2 *c, uint32_t stream)
{
    (void)c;
    CHECK(!building && stream != 0u);
    building = true;
}

void stub_h2_header(struct h2 *c, const char *name, struct view value, bool sensitive)
{
    (void)c;
    (void)sensitive;
    CHECK(building && name != NULL);
    stub_check_view(value);
}

void stub_h2_header_text(struct h2 *c, const char *name, const char *text)
{
    (void)c;
    CHECK(building && name != NULL && text != NULL);
}

enum status stub_h2_headers_end(struct h2 *c, bool end_stream)
{
    (void)c;
    (void)end_stream;
    CHECK(building);
    building = false;
    return any_bool() ? STATUS_OK : any_bool() ? FULL_BUFFER : PEER_CLOSED;
}

size_t stub_h2_data_room(const struct h2 *c, uint32_t stream)
{
    (void)c;
    CHECK(!building && stream != 0u);
    room_told = any_length(H2_FRAME_MAX);
    return room_told;
}

/* The room was above 0, so the stream is open and the send buffer takes the frame. */
enum status stub_h2_data(struct h2 *c, uint32_t stream, struct view data, bool end_stream)
{
    (void)c;
    CHECK(!building && stream != 0u && data.len <= room_told && (data.len > 0u || end_stream));
    stub_check_view(data);
    room_told -= data.len;
    return STATUS_OK;
}

void stub_h2_reset(struct h2 *c, uint32_t stream, enum h2_error code)
{
    (void)c;
    CHECK(!building && stream != 0u && code <= H2_HTTP_1_1_REQUIRED);
}

enum status stub_h2_failure(const struct h2 *c, uint32_t *code)
{
    (void)c;
    (void)code;
    CHECK(!building);
    return any_bool() ? STATUS_OK : any_bool() ? PEER_CLOSED : PEER_PROTOCOL;
}

/* Any event of an engine: its views are any bytes. */
enum status stub_h2_next(struct h2 *c, struct h2_event *event)
{
    (void)c;
    CHECK(!building);
    if (any_bool()) {
        return any_bool() ? STATUS_MORE : any_bool() ? PEER_CLOSED : PEER_PROTOCOL;
    }
    unsigned kind = any_unsigned();
    ASSUME(kind <= (unsigned)H2_EVENT_WRITABLE);
    event->kind = (enum h2_event_kind)kind;
    event->stream = any_u32();
    event->name = any_view(ANY_LENGTH);
    event->value = any_view(ANY_LENGTH);
    event->data = any_view(ANY_LENGTH);
    event->end_stream = any_bool();
    event->trailers = any_bool();
    event->code = any_u32();
    ASSUME(kind >= (unsigned)H2_EVENT_GOAWAY || event->stream != 0u);
    return STATUS_OK;
}

#endif
