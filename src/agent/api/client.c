/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client of the API server, see client.h. Owns struct api_client: the table of requests, the
 * response that is being read, and the pauses between requests.
 *
 * At most API_REQUESTS_PER_SECOND requests start in any second. Requests pause for as long as the
 * server asks in a Retry-After with 429 or 503 (RFC 9110 §10.2.3), and for API_REFUSED_MS after the
 * server refused the token. Claim GETs are exempt from the limit and the pauses, because the
 * kubelet waits for them.
 */
#include "agent/api/client.h"

#include "agent/api/backoff.h"
#include "agent/api/room.h"
#include "agent/frame.h"
#include "base/assert.h"
#include "base/time.h"
#include "generated/projection.pb.h"
#include "wire/decode.h"

_Static_assert(H2_CLIENT_STREAMS >= API_PLACES, "each place has a stream");

void api_init(struct agent *a)
{
    connection_init(a);
    a->api->client.piece.place = API_PLACES;
}

/* --- state of the connection to the API server --- */

bool api_connected(const struct agent *a)
{
    return a->api->connection.state == API_UP;
}

bool api_pending(const struct agent *a)
{
    enum api_state state = a->api->connection.state;
    return (state == API_UNTRIED || state == API_CONNECTING) && !a->stopping;
}

uint64_t api_since_ms(const struct agent *a)
{
    uint64_t opened_ms = a->api->connection.opened_ms;
    return (opened_ms == 0u && api_pending(a)) ? UINT64_MAX : opened_ms;
}

bool api_draining(const struct agent *a)
{
    return a->api->connection.state == API_DRAINING;
}

bool api_token_refused(const struct agent *a)
{
    return a->now_ms < a->api->client.refused_ms;
}

bool api_ready(const struct agent *a)
{
    return api_connected(a) && !a->stopping;
}

bool api_connection_ends(const struct agent *a)
{
    return !api_connected(a) || h2_failure(&a->api->connection.h2, NULL) != STATUS_OK;
}

bool api_connection_moved(const struct agent *a)
{
    return a->api->connection.moved;
}

bool api_streams_limited(const struct agent *a)
{
    return a->api->client.streams != API_STREAMS_ENOUGH;
}

const char *api_authority(const struct agent *a)
{
    return a->api->connection.authority;
}

const char *api_trouble(const struct agent *a)
{
    return a->api->connection.trouble;
}

uint64_t api_reconnect_wait_ms(const struct agent *a)
{
    ASSERT(a->api->connection.connect_at_ms >= a->now_ms);
    return a->api->connection.connect_at_ms - a->now_ms;
}

/* --- facts that the host passes in --- */

void api_identity(struct agent *a, struct view token, struct view authority)
{
    struct api_client *c = &a->api->client;
    if (connection_identity(a, token, authority)) {
        /* only the previous token was refused, so the pause for a refused token ends */
        c->refused_ms = 0;
    }
    c->token_handed = true;
    c->busy = true;
}

void api_opened(struct agent *a, uint64_t now_ms)
{
    struct api_client *c = &a->api->client;
    connection_opened(a, now_ms);
    c->timeouts_in_a_row = 0;
    c->allowed_before |= c->allowed;
    c->allowed = 0;
    c->blocked_ms = 0;
    c->streams = API_STREAMS_ENOUGH;
    c->reread_ms = 0;
    c->busy = true;
}

void api_failed(struct agent *a, const char *why)
{
    connection_attempt_failed(a, why);
}

void api_ended(struct agent *a, const char *why)
{
    connection_ended(a, why);
}

struct writer api_rx(struct agent *a)
{
    return h2_rx_space(&a->api->connection.h2);
}

void api_rx_commit(struct agent *a, size_t n)
{
    connection_heard(a);
    h2_rx_commit(&a->api->connection.h2, n);
}

struct view api_tx(struct agent *a)
{
    return h2_tx_data(&a->api->connection.h2);
}

void api_tx_commit(struct agent *a, size_t n)
{
    h2_tx_commit(&a->api->connection.h2, n);
}

enum agent_order api_order(struct agent *a)
{
    return connection_order(a);
}

void api_time_old(struct agent *a, bool old)
{
    struct api_client *c = &a->api->client;
    /* the next step does the work that waited until the time was set */
    c->busy = c->busy || c->time_old;
    c->time_old = old;
}

void api_hurry(struct agent *a)
{
    connection_hurry(a);
}

/* --- slots of requests --- */

/* Returns the index of this driver's slot in the table of all drivers' requests. */
static unsigned place_of(const struct agent *a, unsigned slot)
{
    ASSERT(slot < (unsigned)API_SLOTS);
    /* all drivers share one slot for requests of this kind */
    bool shared = slot == (unsigned)API_SLOT_NODE || slot == (unsigned)API_SLOT_K8S_EVENT ||
                  slot == (unsigned)API_SLOT_GROUP;
    return (shared ? 0u : (unsigned)a->driver->kind * (unsigned)API_SLOTS) + slot;
}

static struct api_exchange *exchange_at(struct agent *a, unsigned place)
{
    ASSERT(place < API_PLACES);
    return &a->api->client.exchange[place];
}

static bool is_awaited(const struct api_exchange *x)
{
    return x->state == EXCHANGE_OPEN || x->state == EXCHANGE_UNAUTHORIZED;
}

static bool is_busy(const struct api_exchange *x)
{
    return is_awaited(x) || x->state == EXCHANGE_OVER;
}

bool api_slot_busy(const struct agent *a, unsigned slot)
{
    return is_busy(&a->api->client.exchange[place_of(a, slot)]);
}

enum api_kind api_slot_kind(const struct agent *a, unsigned slot)
{
    const struct api_exchange *x = &a->api->client.exchange[place_of(a, slot)];
    return is_busy(x) ? x->result.kind : API_NONE;
}

/* Updates the result of a request with what the response contains so far. */
static const struct api_result *refresh_result(const struct agent *a, struct api_exchange *x)
{
    x->result.http = x->response.http_status;
    x->result.retry_after_s = x->response.retry_after_s;
    x->result.elapsed_ms = a->now_ms - x->sent_ms;
    x->result.elapsed_us = agent_clock_us(a) - x->sent_us;
    return &x->result;
}

const struct api_result *api_slot_result(struct agent *a, unsigned slot)
{
    return refresh_result(a, exchange_at(a, place_of(a, slot)));
}

/* Frees the slot; api_next no longer reports records of its request. */
static void release_place(struct agent *a, unsigned place)
{
    struct api_client *c = &a->api->client;
    exchange_at(a, place)->state = EXCHANGE_FREE;
    if (c->piece.place == place) {
        c->piece.place = API_PLACES;
    }
}

/* Ends a request; api_next reports the end. A request that has already ended keeps its status. */
static void finish_request(struct agent *a, unsigned place, enum status status)
{
    struct api_exchange *x = exchange_at(a, place);
    if (is_awaited(x)) {
        /* Reset the stream, because its request or response may be incomplete. */
        h2_reset(&a->api->connection.h2, x->stream, H2_CANCEL);
        x->state = EXCHANGE_OVER;
        x->result.status = status;
        a->api->client.busy = true;
    }
}

static void finish_all(struct agent *a, enum status status)
{
    for (unsigned i = 0; i < API_PLACES; i++) {
        finish_request(a, i, status);
    }
}

static void lose_link(struct agent *a, const char *why)
{
    if (connection_lose(a, why)) {
        finish_all(a, PEER_CLOSED);
        a->api->client.busy = true;
    }
}

static uint32_t kind_bit(enum api_kind kind)
{
    return 1u << (unsigned)kind;
}

bool api_forbidden(const struct agent *a, enum api_kind kind)
{
    return (a->api->client.forbidden & kind_bit(kind)) != 0u;
}

static bool is_watch(enum api_kind kind)
{
    return kind == API_WATCH_SLICES || kind == API_WATCH_NODE;
}

/*
 * Whether the server's limit on streams is too low for this watch. One stream must stay free for
 * other requests, and the watch of the Node leaves one for the watch of slices. So a watch of
 * slices needs a limit of two streams, and the watch of the Node three. With --efa, which adds a
 * second watch of slices, both need one more.
 */
static bool lacks_stream(const struct agent *a, enum api_kind kind)
{
    uint32_t needs = ((kind == API_WATCH_NODE) ? 3u : 2u) + (a->settings->efa ? 1u : 0u);
    return is_watch(kind) && h2_streams_max(&a->api->connection.h2) < needs;
}

/* Ends a watch because the server allows too few streams; its owner reads periodically instead. */
static void leave_room(struct agent *a, unsigned place)
{
    struct api_client *c = &a->api->client;
    if (c->streams == API_STREAMS_ENOUGH) {
        c->streams = API_STREAMS_LIMITED;
    }
    finish_request(a, place, FULL_TABLE);
}

static uint64_t time_limit(enum api_kind kind)
{
    if (kind == API_GET_CLAIM) {
        return CLAIM_GET_MS;
    }
    if (kind == API_GET_GROUP) {
        return VERSION_GET_MS;
    }
    return is_watch(kind) ? WATCH_BEGIN_MS : API_REQUEST_MS;
}

/*
 * Counts a request that timed out. Of requests that hang at the same time, counts only one. Does
 * not count a request whose time limit was shorter than the default of its kind: the server may
 * only be slow.
 */
static void count_timeout(struct agent *a, const struct api_exchange *x)
{
    struct api_client *c = &a->api->client;
    bool whole = a->now_ms - x->sent_ms >= time_limit(x->result.kind);
    if (whole && x->sent_ms >= c->timeout_ms) {
        c->timeouts_in_a_row++;
        c->timeout_ms = a->now_ms;
    }
}

static void expire_requests(struct agent *a)
{
    for (unsigned i = 0; i < API_PLACES; i++) {
        const struct api_exchange *x = &a->api->client.exchange[i];
        if (!is_awaited(x)) {
            continue;
        }
        if (a->now_ms >= x->deadline_ms) {
            finish_request(a, i, PEER_TIMEOUT);
            count_timeout(a, x);
        } else if (lacks_stream(a, x->result.kind)) {
            leave_room(a, i);
        }
    }
}

/*
 * Whether a request that ends soon is running: any request except a watch, or a watch that was
 * answered with 401.
 */
static bool is_awaiting(const struct agent *a)
{
    for (unsigned i = 0; i < API_PLACES; i++) {
        const struct api_exchange *x = &a->api->client.exchange[i];
        bool watch = is_watch(x->result.kind) && x->state != EXCHANGE_UNAUTHORIZED;
        if (is_busy(x) && !watch) {
            return true;
        }
    }
    return false;
}

/* --- when a request may start --- */

/*
 * Earliest time at which the rate limit and the pauses allow a request; this time may be in the
 * past.
 */
static uint64_t free_ms(const struct api_client *c)
{
    uint64_t at = c->rate_ms[c->rate_at];
    at = (c->retry_after_ms > at) ? c->retry_after_ms : at;
    return (c->refused_ms > at) ? c->refused_ms : at;
}

uint64_t api_later(const struct agent *a)
{
    uint64_t at = free_ms(&a->api->client);
    return (at > a->now_ms) ? at : a->now_ms + API_BACKOFF_MIN_MS;
}

bool api_paused(const struct agent *a)
{
    return a->now_ms < a->api->client.retry_after_ms || a->now_ms < a->api->client.refused_ms;
}

uint64_t api_retry_after_ms(const struct api_result *r)
{
    uint64_t asked = (uint64_t)r->retry_after_s * 1000u;
    return (asked <= API_RETRY_AFTER_MAX_MS) ? asked : API_REFUSED_MS;
}

/*
 * Called when no stream can be opened. If that lasts API_REQUEST_MS while no request runs, the
 * connection is dropped, as after timeouts. Until then the senders of requests retry.
 */
static void note_blocked(struct agent *a)
{
    struct api_client *c = &a->api->client;
    const struct h2 *h2 = &a->api->connection.h2;
    bool under_way = h2_streams_open(h2) > 0u && h2_streams_max(h2) > 0u;
    if (c->blocked_ms == 0u || under_way) {
        c->blocked_ms = a->now_ms;
    }
    if (a->now_ms - c->blocked_ms >= API_REQUEST_MS) {
        c->timeouts_in_a_row = API_TIMEOUTS_MAX;
    }
}

/*
 * Whether a request of this kind may start now. Sets held_back if the rate limit or a pause delays
 * the request. Does not count the request (count_request does).
 */
static bool may_start(struct agent *a, enum api_kind kind)
{
    struct api_client *c = &a->api->client;
    if (!api_ready(a) || c->time_old) {
        return false;
    }
    bool held_back = kind != API_GET_CLAIM && a->now_ms < free_ms(c);
    c->held_back = c->held_back || held_back;
    return !held_back;
}

static void count_request(struct agent *a, enum api_kind kind)
{
    struct api_client *c = &a->api->client;
    if (kind != API_GET_CLAIM) {
        c->rate_ms[c->rate_at] = a->now_ms + 1000u;
        c->rate_at = (c->rate_at + 1u) % API_REQUESTS_PER_SECOND;
    }
}

/* --- sending requests --- */

/* Opens a stream and sends the request's header list on it; *stream is the stream's id. */
static enum status send_head(struct agent *a, unsigned place, const struct api_request *r,
                             uint32_t *stream)
{
    struct api_connection *c = &a->api->connection;
    struct kube_request head = r->head;
    if (h2_open(&c->h2, (uint32_t)place, stream) != STATUS_OK) {
        note_blocked(a);
        return STATUS_MORE;
    }
    a->api->client.blocked_ms = 0;
    head.token = view_text(c->token);
    head.authority = view_text(c->authority);
    head.has_body = r->body != NULL;
    enum status s = kube_request_send(&c->h2, *stream, &head);
    if (s != STATUS_OK) {
        h2_reset(&c->h2, *stream, H2_CANCEL);
    }
    return s;
}

/*
 * Sends more of the request's body, as far as the flow-control windows and the send buffer allow.
 */
static void send_body(struct agent *a, unsigned place)
{
    struct h2 *h2 = &a->api->connection.h2;
    struct api_exchange *x = exchange_at(a, place);
    while (x->state == EXCHANGE_OPEN && x->body_sent < x->body_len) {
        size_t room = h2_data_room(h2, x->stream);
        if (room == 0u) {
            return;
        }
        struct view piece = x->body(x->result.owner, x->body_sent, room);
        if (piece.len == 0u) {
            finish_request(a, place, FULL_BUFFER);
            return;
        }
        ASSERT(piece.len <= room && piece.len <= x->body_len - x->body_sent);
        bool last = x->body_sent + piece.len == x->body_len;
        enum status sent = h2_data(h2, x->stream, piece, last);
        ASSERT(sent == STATUS_OK); /* h2_data_room was above 0, so the stream is open */
        x->body_sent += (uint32_t)piece.len;
    }
}

enum status api_start(struct agent *a, unsigned slot, const struct api_request *r)
{
    unsigned place = place_of(a, slot);
    struct api_exchange *x = exchange_at(a, place);
    /* id of the new stream; stays 0 if no stream is free for a watch, and then nothing is sent */
    uint32_t stream = 0;
    bool lacks = lacks_stream(a, r->kind);
    ASSERT(r->kind != API_NONE && !api_slot_busy(a, slot));
    ASSERT((r->body != NULL) == (r->head.body_len > 0u));
    if (!may_start(a, r->kind) || (!lacks && send_head(a, place, r, &stream) != STATUS_OK)) {
        return STATUS_MORE;
    }
    release_place(a, place);
    count_request(a, r->kind);
    x->state = EXCHANGE_OPEN;
    x->stream = stream;
    x->token_sum = a->api->connection.token_sum;
    x->body_len = (uint32_t)r->head.body_len;
    x->body_sent = 0;
    x->body = r->body;
    x->sent_ms = a->now_ms;
    x->sent_us = agent_clock_us(a);
    uint64_t limit = time_limit(r->kind);
    x->deadline_ms = a->now_ms + ((r->limit_ms > 0u) ? earlier(limit, r->limit_ms) : limit);
    x->result.kind = r->kind;
    x->result.owner = a;
    x->result.slot = slot;
    x->result.version = r->version;
    x->result.creates = view_is(view_text(r->head.method), "POST");
    x->result.status = STATUS_MORE;
    x->result.unprocessed = false;
    x->result.roles_unread = false;
    x->result.roles_new = false;
    x->result.reason[0] = '\0';
    x->result.message[0] = '\0';
    x->result.path[0] = '\0';
    if (a->settings->log_level == LOG_DEBUG) {
        struct view path = view_first(r->head.path, view_find(r->head.path, (uint8_t)'?'));
        text_cut(x->result.path, sizeof x->result.path, path);
    }
    kube_response_init(&x->response, r->shape);
    a->api->client.forbidden &= ~kind_bit(r->kind);
    if (lacks) {
        leave_room(a, place);
    }
    send_body(a, place);
    return STATUS_OK;
}

void api_cancel(struct agent *a, unsigned slot)
{
    unsigned place = place_of(a, slot);
    const struct api_exchange *x = exchange_at(a, place);
    if (x->state != EXCHANGE_FREE) {
        h2_reset(&a->api->connection.h2, x->stream, H2_CANCEL);
        release_place(a, place);
    }
}

/* --- the meaning of a response --- */

static void keep_status(struct api_result *r, struct view message)
{
    projection_StatusRecord status = projection_StatusRecord_init_zero;
    if (!decode(message, projection_StatusRecord_fields, &status)) {
        return;
    }
    text_cut(r->reason, sizeof r->reason, view_text(status.reason));
    text_cut(r->message, sizeof r->message, view_text(status.message));
}

/*
 * Whether a 404 means that the server does not know the path; otherwise the object is absent. The
 * paths of the Node and of the API group count as known. Any other path is unknown in these cases:
 * - The request is a list.
 * - The body is not a Status: the server has no handler for the path.
 * - The Status has the generic message of an unknown path: the server knows the API version, but
 *   does not serve this resource in it.
 */
static bool path_unknown(const struct api_result *r)
{
    static const char unknown[] = "the server could not find the requested resource";
    struct view message = view_text(r->message);
    if (r->kind == API_GET_NODE || r->kind == API_WATCH_NODE || r->kind == API_GET_GROUP) {
        return false;
    }
    /* the body is plain text: a Status in JSON would begin with '{' */
    bool text = r->reason[0] == '\0' && r->message[0] != '{';
    return r->kind == API_LIST_SLICES || r->kind == API_LIST_CLAIMS || text ||
           view_is(view_first(message, sizeof unknown - 1u), unknown);
}

/* Returns the status with which a complete response ends its request. */
static enum status judge_response(struct api_exchange *x)
{
    struct api_result *r = &x->result;
    enum status s = kube_response_end(&x->response);
    uint16_t http = x->response.http_status;
    if (http_is_success(http)) {
        return s;
    }
    if (r->message[0] == '\0') {
        text_cut(r->message, sizeof r->message, view_text(x->response.message));
    }
    if (http != HTTP_NOT_FOUND) {
        return PEER_REFUSED;
    }
    return path_unknown(r) ? PEER_UNSUPPORTED : PEER_NOT_FOUND;
}

/*
 * Handles a 403. An API server that has just started answers so until it has read its roles. That
 * is the likely reason if the server allowed such requests on an earlier connection, has allowed
 * none on this one, and this one is younger than API_ROLES_MS. If the server has allowed nothing on
 * an earlier connection, the agent is new, and its roles may be created within seconds (roles_new).
 * Otherwise the role is missing.
 */
static void judge_forbidden(struct agent *a, struct api_result *r)
{
    struct api_client *c = &a->api->client;
    uint32_t bit = kind_bit(r->kind);
    bool young = a->now_ms - a->api->connection.opened_ms < API_ROLES_MS;
    bool early = young && (c->allowed & bit) == 0u;
    r->roles_unread = early && (c->allowed_before & bit) != 0u;
    r->roles_new = early && c->allowed_before == 0u;
    if (!r->roles_unread) {
        c->forbidden |= bit;
        c->allowed &= ~bit;
        c->allowed_before &= ~bit;
    }
}

/*
 * Ends a request whose response is complete. After 401 the request does not end yet: the host reads
 * the token first, then judge_token ends the request.
 */
static void response_complete(struct agent *a, unsigned place)
{
    struct api_client *c = &a->api->client;
    struct api_exchange *x = exchange_at(a, place);
    uint16_t http = x->response.http_status;
    uint64_t asked = api_retry_after_ms(refresh_result(a, x));
    enum status s = judge_response(x);
    if (http == HTTP_UNAUTHORIZED) {
        x->state = EXCHANGE_UNAUTHORIZED;
        connection_want(a, ORDER_READ_TOKEN);
        c->token_handed = false;
        return;
    }
    if ((http == HTTP_TOO_MANY_REQUESTS || http == HTTP_SERVICE_UNAVAILABLE) && asked > 0u) {
        c->retry_after_ms = a->now_ms + agent_spread(a, asked);
    }
    if (http == HTTP_FORBIDDEN) {
        judge_forbidden(a, &x->result);
    }
    finish_request(a, place, s);
}

/* --- handling of a refused token (401) --- */

/*
 * Ends the requests that were answered with 401, after the host has read the token again: with
 * PEER_CLOSED if the token has changed, so that they are repeated, otherwise with PEER_REFUSED.
 * Returns whether there was such a request; sets *shown to the checksum of the refused token.
 */
static bool finish_unauthorized(struct agent *a, uint32_t *shown)
{
    bool any = false;
    for (unsigned i = 0; i < API_PLACES; i++) {
        const struct api_exchange *x = &a->api->client.exchange[i];
        if (x->state == EXCHANGE_UNAUTHORIZED) {
            bool same = x->token_sum == a->api->connection.token_sum;
            finish_request(a, i, same ? PEER_REFUSED : PEER_CLOSED);
            *shown = x->token_sum;
            any = true;
        }
    }
    return any;
}

/*
 * Ends the connection after a 401, once the host has read the token again. false: there was nothing
 * to do. If the token has changed, the refused requests are repeated on a new connection. Otherwise
 * all requests except claim GETs pause.
 */
static bool judge_token(struct agent *a)
{
    uint32_t shown = 0;
    if (!a->api->client.token_handed || !finish_unauthorized(a, &shown)) {
        return false;
    }
    if (shown == a->api->connection.token_sum) {
        a->api->client.refused_ms = a->now_ms + agent_jitter(a, API_REFUSED_MS);
        lose_link(a, API_TOKEN_REFUSED);
    } else {
        lose_link(a, "the API server answered 401 Unauthorized: repeated with the new token");
    }
    connection_hurry(a); /* only this agent has lost its connection */
    return true;
}

/*
 * During the pause after a 401, orders the host to read the token file every TOKEN_REFUSED_MS. When
 * the token has changed, api_identity ends the pause, and this function ends the connection: the
 * delayed requests then start at once on a new connection.
 */
static void check_token(struct agent *a)
{
    struct api_client *c = &a->api->client;
    if (a->now_ms >= c->refused_ms) {
        bool other = c->reread_ms > 0u && c->refused_ms == 0u;
        c->reread_ms = 0;
        if (other) {
            lose_link(a, "there is another token than the one that was refused");
            connection_hurry(a);
        }
    } else if (a->now_ms >= c->reread_ms) {
        c->reread_ms = a->now_ms + TOKEN_REFUSED_MS;
        connection_want(a, ORDER_READ_TOKEN);
    } else {
        /* the token file was read less than TOKEN_REFUSED_MS ago, so it is not yet read again */
    }
}

/* --- events of the connection --- */

/*
 * Whether the request at `place` still awaits its response on this stream. If not, a frame of this
 * stream belongs to a request that was cancelled.
 */
static bool is_alive(const struct agent *a, unsigned place, uint32_t stream)
{
    const struct api_exchange *all = a->api->client.exchange;
    ASSERT(place < API_PLACES);
    return is_awaited(&all[place]) && all[place].stream == stream;
}

static void headers_complete(struct agent *a, unsigned place, bool end)
{
    struct api_exchange *x = exchange_at(a, place);
    uint16_t http = x->response.http_status;
    a->api->client.timeouts_in_a_row = 0;
    /* wire/h2 reports no headers of a status below 200 as complete */
    if (http <= HTTP_OK_LAST) {
        a->api->client.allowed |= kind_bit(x->result.kind);
    }
    if (is_watch(x->result.kind)) {
        x->deadline_ms = x->sent_ms + WATCH_SECONDS * UINT64_C(1000) + API_REQUEST_MS;
    }
    if (end) {
        response_complete(a, place);
    }
}

static void stream_event(struct agent *a, const struct h2_event *e)
{
    unsigned place = e->tag;
    if (!is_alive(a, place, e->stream)) {
        return;
    }
    struct api_exchange *x = exchange_at(a, place);
    switch (e->kind) {
    case H2_EVENT_FIELD:
        if (!e->trailers) {
            kube_response_field(&x->response, e->name, e->value);
        }
        break;
    case H2_EVENT_DATA:
        a->api->client.piece = (struct api_piece){.place = place,
                                                  .stream = e->stream,
                                                  .last = e->end_stream,
                                                  .bytes = reader_of(e->data)};
        break;
    case H2_EVENT_RESET:
        x->result.unprocessed = e->code == (uint32_t)H2_REFUSED_STREAM;
        finish_request(a, place, PEER_CLOSED);
        break;
    case H2_EVENT_HEADERS_END:
        headers_complete(a, place, e->end_stream);
        break;
    default: /* the other events are the connection's, and belong to no stream */
        break;
    }
}

static const char *words_of(enum status failure)
{
    switch (failure) {
    case FULL_BUDGET:
        return "the API server sent too long a header list, or too many frames that carry nothing";
    case PEER_TIMEOUT:
        return "the API server began no HTTP/2, ended no header list, or took nothing for too long";
    default:
        return "the API server broke the HTTP/2 protocol";
    }
}

/* Handles one event of the connection; false: no event has arrived completely. */
static bool handle_event(struct agent *a)
{
    struct api_connection *c = &a->api->connection;
    struct h2_event event;
    if (!connection_open(a)) {
        return false;
    }
    h2_set_time(&c->h2, a->now_ms);
    enum status s = h2_next(&c->h2, &event);
    if (s == STATUS_OK) {
        if (!connection_event(a, &event)) {
            stream_event(a, &event);
        }
    } else if (s == PEER_CLOSED) {
        lose_link(a, (c->ended_why[0] != '\0') ? c->ended_why
                                               : "the API server closed the connection");
    } else if (s != STATUS_MORE) {
        lose_link(a, words_of(s));
    } else {
        /* STATUS_MORE: no event is complete */
    }
    return s != STATUS_MORE;
}

/* --- reports that api_next returns --- */

/*
 * Frees the slots of the requests whose end was reported by the last api_next: their owners have
 * handled the end.
 */
static void free_ended(struct agent *a)
{
    for (unsigned i = 0; i < API_PLACES; i++) {
        if (a->api->client.exchange[i].state == EXCHANGE_ENDED) {
            release_place(a, i);
        }
    }
}

static bool report_end(struct agent *a, struct api_event *event)
{
    for (unsigned i = 0; i < API_PLACES; i++) {
        struct api_exchange *x = &a->api->client.exchange[i];
        if (x->state == EXCHANGE_OVER) {
            x->state = EXCHANGE_ENDED;
            event->kind = API_EVENT_END;
            event->result = refresh_result(a, x);
            return true;
        }
    }
    return false;
}

/*
 * Reads the next record from the current piece of a response; if the piece has no more records,
 * drops the piece.
 */
static void next_record(struct agent *a, struct api_event *event)
{
    struct api_piece *piece = &a->api->client.piece;
    unsigned place = piece->place;
    struct api_exchange *x = exchange_at(a, place);
    bool alive = is_alive(a, place, piece->stream);
    enum status s =
        alive ? kube_response_next(&x->response, &piece->bytes, &event->record) : STATUS_MORE;
    if (s == STATUS_OK) {
        event->kind = API_EVENT_RECORD;
        if (event->record.record == KUBE_STATUS) {
            keep_status(&x->result, event->record.message);
        }
        event->result = refresh_result(a, x);
        return;
    }
    piece->place = API_PLACES;
    if (s != STATUS_MORE) {
        finish_request(a, place, s);
    } else if (alive && piece->last) {
        response_complete(a, place);
    } else {
        /* the rest of the response follows in another piece, or the request has ended */
    }
}

/*
 * Reports that the limit on streams is low, or that the connection is lost. The requests of a lost
 * connection are reported as ended after that.
 */
static bool report_loss(struct agent *a, struct api_event *event)
{
    if (a->api->client.streams == API_STREAMS_LIMITED) {
        a->api->client.streams = API_STREAMS_LIMITED_REPORTED;
        event->kind = API_EVENT_STREAMS_LIMITED;
        return true;
    }
    enum connection_notice notice = connection_poll_loss(a);
    if (notice != CONNECTION_QUIET) {
        event->kind = (notice == CONNECTION_LOST) ? API_EVENT_LOST : API_EVENT_MOVED;
        event->text = api_trouble(a);
    }
    return notice != CONNECTION_QUIET;
}

/* Reports that the connection opened or closed, once the ends of all requests were reported. */
static bool report_notice(struct agent *a, struct api_event *event)
{
    enum connection_notice notice = connection_poll_notice(a);
    if (notice != CONNECTION_QUIET) {
        event->kind = (notice == CONNECTION_OPENED) ? API_EVENT_OPENED : API_EVENT_CLOSED;
    }
    return notice != CONNECTION_QUIET;
}

bool api_next(struct agent *a, struct api_event *event)
{
    struct api_client *c = &a->api->client;
    event->kind = API_EVENT_NONE;
    event->text = NULL;
    event->result = NULL;
    c->busy = true;
    free_ended(a);
    if (judge_token(a) || report_loss(a, event) || report_end(a, event)) {
        return true;
    }
    if (c->piece.place != API_PLACES) {
        next_record(a, event);
        return true;
    }
    c->busy = report_notice(a, event) || handle_event(a);
    return c->busy;
}

/* --- time limits and deadlines --- */

/*
 * Ends requests whose time limit has passed. After API_TIMEOUTS_MAX timeouts in a row, drops the
 * connection, because a new one may reach another server.
 */
static void check_timeouts(struct agent *a)
{
    expire_requests(a);
    if (a->api->client.timeouts_in_a_row >= API_TIMEOUTS_MAX) {
        lose_link(a,
                  (h2_streams_max(&a->api->connection.h2) == 0u)
                      ? "the API server allows no request: its SETTINGS_MAX_CONCURRENT_STREAMS is 0"
                      : "the API server answers no request in time");
    }
}

/*
 * After GOAWAY, ends the connection as soon as only watches run; the watches reopen on the next
 * connection.
 */
static void check_drained(struct agent *a)
{
    if (api_draining(a) && !is_awaiting(a)) {
        connection_move(a);
        finish_all(a, PEER_CLOSED);
        a->api->client.busy = true;
    }
}

static void send_bodies(struct agent *a)
{
    for (unsigned i = 0; i < API_PLACES && connection_open(a); i++) {
        send_body(a, i);
    }
}

void api_step(struct agent *a)
{
    struct api_client *c = &a->api->client;
    if (connection_open(a)) {
        check_timeouts(a);
        if (connection_silent(a)) {
            lose_link(a, "the API server is silent and did not answer a PING");
        }
        check_drained(a);
        check_token(a);
        c->held_back = c->held_back && a->now_ms < free_ms(c);
        send_bodies(a);
    } else if (!c->busy && !c->time_old) {
        connection_try(a);
    } else {
        /* the agent must not connect yet: api_next has more to report, or the time is outdated */
    }
}

/* When the next request times out, or a delayed request may start; UINT64_MAX: no timer runs. */
static uint64_t requests_deadline(const struct agent *a)
{
    const struct api_client *c = &a->api->client;
    uint64_t at = c->held_back ? free_ms(c) : UINT64_MAX;
    for (unsigned i = 0; i < API_PLACES; i++) {
        if (is_busy(&c->exchange[i]) && c->exchange[i].deadline_ms < at) {
            at = c->exchange[i].deadline_ms;
        }
    }
    return at;
}

uint64_t api_deadline(const struct agent *a)
{
    const struct api_client *c = &a->api->client;
    if (c->busy || c->time_old) {
        /*
         * at once: there is more work to do (busy), or work waits for agent_time to set the time
         * (time_old)
         */
        return a->now_ms;
    }
    uint64_t at = connection_deadline(a);
    if (!connection_open(a)) {
        return at;
    }
    uint64_t requests = requests_deadline(a);
    at = (requests < at) ? requests : at;
    return (a->now_ms < c->refused_ms && c->reread_ms < at) ? c->reread_ms : at;
}
