/* SPDX-License-Identifier: Apache-2.0 */
/* Connections and streams of the API server model; see sim_api.h. */
#include "tests/sim/apiserver/sim_api.h"

#include <string.h>

#include "base/assert.h"
#include "tests/sim/apiserver/sim_api_internal.h"

void sim_api_init(struct sim_api *a, const struct sim_api_config *config, uint64_t now_ms)
{
    a->config = *config;
    a->now_ms = now_ms;
    a->now_s = 0;
    a->events = 0;
    a->series = 0;
    memset(a->log_id_name, 0, sizeof a->log_id_name);
    a->patches = 0;
    memset(a->fault, 0, sizeof a->fault);
    sim_store_init(&a->store, config->seed);
    for (unsigned i = 0; i < SIM_CONNECTIONS_MAX; i++) {
        a->connection[i].open = false;
        for (unsigned n = 0; n < SIM_STREAMS_MAX; n++) {
            a->connection[i].stream[n].state = SIM_STREAM_FREE;
            a->connection[i].stream[n].told = true;
        }
    }
}

/* --- objects from the side --- */

enum status sim_api_put(struct sim_api *a, enum sim_kind kind, struct view object)
{
    struct sim_wanted wanted = {.kind = kind, .now_s = a->now_s};
    struct writer body = writer_of(a->scratch, sizeof a->scratch);
    struct reader in = reader_of(object);
    struct sim_field f;
    enum status s = sim_field_next(&in, &f);
    while (s == STATUS_OK) {
        if (f.number == 1) {
            wanted.meta = f.bytes;
        } else {
            writer_append(&body, f.whole);
        }
        s = sim_field_next(&in, &f);
    }
    if (s != STATUS_MORE || body.full) {
        return s == STATUS_MORE ? FULL_BUFFER : PEER_MALFORMED;
    }
    wanted.body = writer_view(&body);
    wanted.ns = kind == SIM_CLAIM ? sim_field_bytes(wanted.meta, 3) : view_of(NULL, 0);
    struct sim_object *o =
        sim_store_find(&a->store, kind, wanted.ns, sim_field_bytes(wanted.meta, 1));
    return o != NULL ? sim_store_update(&a->store, o, &wanted)
                     : sim_store_create(&a->store, &wanted, &o);
}

enum status sim_api_delete(struct sim_api *a, enum sim_kind kind, const char *ns, const char *name)
{
    struct sim_object *o = sim_store_find(&a->store, kind, view_text(ns), view_text(name));
    if (o == NULL) {
        return PEER_NOT_FOUND;
    }
    sim_store_delete(&a->store, o);
    return STATUS_OK;
}

/* --- connections --- */

static struct sim_connection *connection_of(struct sim_api *a, unsigned connection)
{
    ASSERT(connection < SIM_CONNECTIONS_MAX && a->connection[connection].open);
    return &a->connection[connection];
}

int sim_api_open(struct sim_api *a)
{
    for (unsigned i = 0; i < SIM_CONNECTIONS_MAX; i++) {
        struct sim_connection *c = &a->connection[i];
        struct h2_memory memory = H2_MEMORY_OF(c, SIM_WINDOW);
        memory.streams_cap = a->config.streams > 0 ? a->config.streams : SIM_STREAMS_MAX;
        memory.window = a->config.window > 0 ? a->config.window : SIM_WINDOW;
        if (!c->open) {
            c->open = true;
            c->failed = false;
            h2_init(&c->h2, H2_SERVER, &memory, a->now_ms);
            return (int)i;
        }
    }
    return -1;
}

struct writer sim_api_rx(struct sim_api *a, unsigned connection)
{
    return h2_rx_space(&connection_of(a, connection)->h2);
}

void sim_api_rx_commit(struct sim_api *a, unsigned connection, size_t n)
{
    h2_rx_commit(&connection_of(a, connection)->h2, n);
}

void sim_api_end(struct sim_api *a, unsigned connection)
{
    h2_rx_end(&connection_of(a, connection)->h2);
}

struct view sim_api_tx(struct sim_api *a, unsigned connection)
{
    return h2_tx_data(&connection_of(a, connection)->h2);
}

void sim_api_tx_commit(struct sim_api *a, unsigned connection, size_t n)
{
    h2_tx_commit(&connection_of(a, connection)->h2, n);
}

bool sim_api_done(struct sim_api *a, unsigned connection)
{
    struct sim_connection *c = connection_of(a, connection);
    if (!c->failed || (h2_failure(&c->h2, NULL) != PEER_CLOSED && h2_tx_data(&c->h2).len > 0)) {
        return false;
    }
    sim_api_drop(a, connection);
    return true;
}

void sim_api_drop(struct sim_api *a, unsigned connection)
{
    struct sim_connection *c = connection_of(a, connection);
    for (unsigned i = 0; i < SIM_STREAMS_MAX; i++) {
        c->stream[i].state = SIM_STREAM_FREE;
    }
    c->open = false;
}

void sim_api_goaway(struct sim_api *a, unsigned connection, bool final)
{
    h2_goaway(&connection_of(a, connection)->h2, H2_NO_ERROR, final);
}

/* --- requests --- */

static struct sim_stream *stream_of(struct sim_connection *c, uint32_t id)
{
    for (unsigned i = 0; i < SIM_STREAMS_MAX; i++) {
        if (c->stream[i].state != SIM_STREAM_FREE && c->stream[i].id == id) {
            return &c->stream[i];
        }
    }
    return NULL;
}

static struct sim_stream *stream_new(const struct sim_api *a, struct sim_connection *c, uint32_t id)
{
    for (unsigned i = 0; i < SIM_STREAMS_MAX; i++) {
        struct sim_stream *s = &c->stream[i];
        if (s->state == SIM_STREAM_FREE && s->told) {
            memset(s, 0, offsetof(struct sim_stream, body));
            s->state = SIM_STREAM_READING;
            s->id = id;
            s->told = true; /* nothing to tell yet */
            s->authorised = a->config.token[0] == 0;
            return s;
        }
    }
    return NULL;
}

static void take_body(struct sim_stream *s, struct view data)
{
    if (data.len > sizeof s->body - s->body_len) {
        s->body_cut = true;
    } else if (data.len > 0) {
        memcpy(s->body + s->body_len, data.data, data.len);
        s->body_len += data.len;
    }
}

/* The stream of an event; a field of a new one opens it. */
static struct sim_stream *stream_for(struct sim_api *a, struct sim_connection *c,
                                     const struct h2_event *e)
{
    struct sim_stream *s = e->stream == 0 ? NULL : stream_of(c, e->stream);
    if (s != NULL || e->stream == 0 || e->kind != H2_EVENT_FIELD) {
        return s;
    }
    s = stream_new(a, c, e->stream);
    if (s == NULL) {
        h2_reset(&c->h2, e->stream, H2_REFUSED_STREAM);
    }
    return s;
}

static void take_request(struct sim_api *a, struct sim_connection *c, struct sim_stream *s,
                         const struct h2_event *e)
{
    if (e->kind == H2_EVENT_FIELD && !e->trailers) {
        sim_field_read(a, s, e->name, e->value);
    } else if (e->kind == H2_EVENT_DATA) {
        take_body(s, e->data);
    }
    bool whole = e->kind == H2_EVENT_DATA || e->kind == H2_EVENT_HEADERS_END;
    if (whole && e->end_stream) {
        s->told = false;
        sim_request(a, c, s);
    }
}

static void take_event(struct sim_api *a, struct sim_connection *c, const struct h2_event *e)
{
    struct sim_stream *s = stream_for(a, c, e);
    if (s != NULL && e->kind == H2_EVENT_RESET) {
        sim_request_cancelled(a, c, s);
    } else if (s != NULL && s->state == SIM_STREAM_READING) {
        take_request(a, c, s, e);
    }
}

/* --- answers --- */

static void send_number(struct sim_connection *c, const char *name, uint64_t number)
{
    uint8_t bytes[20];
    struct writer w = writer_of(bytes, sizeof bytes);
    writer_decimal(&w, number);
    h2_header(&c->h2, name, writer_view(&w), false);
}

static bool send_head(struct sim_connection *c, struct sim_stream *s)
{
    h2_headers_begin(&c->h2, s->id);
    send_number(c, ":status", s->http);
    h2_header(&c->h2, "content-type", view_text(s->content_type), false);
    h2_header(&c->h2, "cache-control", view_text("no-cache, private"), false);
    if (s->retry_after_s > 0) {
        send_number(c, "retry-after", s->retry_after_s);
    }
    s->headed = h2_headers_end(&c->h2, false) == STATUS_OK;
    return s->headed;
}

/* Sends one piece; whether anything moved. */
static bool send_piece(struct sim_connection *c, struct sim_stream *s)
{
    struct view left = view_of(s->out + s->out_sent, s->out_len - s->out_sent);
    struct view piece = view_first(left, h2_data_room(&c->h2, s->id));
    bool end = s->last && piece.len == left.len;
    if (piece.len == 0 && !end) {
        return false;
    }
    enum status st = h2_data(&c->h2, s->id, piece, end);
    if (st != STATUS_OK) {
        return false;
    }
    s->out_sent += piece.len;
    if (end) {
        s->state = SIM_STREAM_FREE;
    }
    return !end;
}

static void send_answer(struct sim_connection *c, struct sim_stream *s)
{
    bool moved = s->headed || send_head(c, s);
    while (moved) {
        moved = send_piece(c, s);
    }
}

/* --- turns --- */

static void connection_turn(struct sim_api *a, struct sim_connection *c)
{
    struct h2_event e;
    h2_set_time(&c->h2, a->now_ms);
    enum status s = h2_next(&c->h2, &e);
    while (s == STATUS_OK) {
        take_event(a, c, &e);
        s = h2_next(&c->h2, &e);
    }
    c->failed = s != STATUS_MORE;
    for (unsigned i = 0; i < SIM_STREAMS_MAX && !c->failed; i++) {
        struct sim_stream *stream = &c->stream[i];
        if (stream->state == SIM_STREAM_WATCHING) {
            sim_watch_turn(a, stream);
        }
        bool held = stream->unanswered || sim_fault_meets(a, SIM_FAULT_HELD, stream);
        if (stream->state != SIM_STREAM_FREE && stream->http != 0 && !held) {
            send_answer(c, stream);
        }
    }
}

void sim_api_step(struct sim_api *a, uint64_t now_ms, uint64_t now_s)
{
    ASSERT(now_ms >= a->now_ms);
    a->now_ms = now_ms;
    a->now_s = now_s;
    for (unsigned i = 0; i < SIM_CONNECTIONS_MAX; i++) {
        if (a->connection[i].open) {
            connection_turn(a, &a->connection[i]);
        }
    }
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t sim_api_deadline(const struct sim_api *a)
{
    uint64_t at = UINT64_MAX;
    for (unsigned i = 0; i < SIM_CONNECTIONS_MAX; i++) {
        const struct sim_connection *c = &a->connection[i];
        if (!c->open) {
            continue;
        }
        at = least(at, h2_deadline(&c->h2));
        for (unsigned n = 0; n < SIM_STREAMS_MAX; n++) {
            if (c->stream[n].state == SIM_STREAM_WATCHING) {
                at = least(at, sim_watch_deadline(&c->stream[n]));
            }
        }
    }
    return at;
}

enum status sim_api_next(struct sim_api *a, struct sim_api_event *e)
{
    for (unsigned i = 0; i < SIM_CONNECTIONS_MAX; i++) {
        for (unsigned n = 0; n < SIM_STREAMS_MAX; n++) {
            struct sim_stream *s = &a->connection[i].stream[n];
            if (!s->told) {
                s->told = true;
                *e = sim_event_of(s);
                return STATUS_OK;
            }
        }
    }
    return STATUS_MORE;
}
