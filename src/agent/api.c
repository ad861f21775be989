/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the API server: when to connect, requests in flight, their time-outs, and what
 * ends a connection. Owns struct api. Answers are pulled by api_next; whom they concern is the
 * frame's to know (agent.c).
 */
#include "agent/decode.h"
#include "agent/state.h"
#include "base/assert.h"
#include "generated/projection.pb.h"

void api_init(struct agent *a)
{
    a->api.state = API_DOWN;
    a->api.connect_at_ms = a->now_ms + API_START_MS;
    a->api.ended = REQUESTS_MAX;
    a->api.piece_of = REQUESTS_MAX;
    text_cut(a->api.trouble, sizeof a->api.trouble,
             view_text("the API server is not connected yet"));
}

bool api_ready(const struct agent *a)
{
    return a->api.state == API_UP && !a->stopping;
}

void agent_api_identity(struct agent *a, struct view token, struct view authority)
{
    text_cut(a->api.token, sizeof a->api.token, token);
    text_cut(a->api.authority, sizeof a->api.authority, authority);
}

void agent_api_opened(struct agent *a, uint64_t now_ms)
{
    struct api *api = &a->api;
    ASSERT(api->state == API_CONNECTING);
    const struct h2_memory memory = {
        .rx = api->rx,
        .rx_cap = sizeof api->rx,
        .tx = api->tx,
        .tx_cap = sizeof api->tx,
        .field = api->field,
        .field_cap = sizeof api->field,
        .scratch = api->scratch,
        .scratch_cap = sizeof api->scratch,
        .streams = api->streams,
        .streams_cap = H2_CLIENT_STREAMS,
        .window = H2_CLIENT_WINDOW,
        .table_size = HPACK_TABLE_BYTES,
    };
    h2_init(&api->h2, H2_CLIENT, &memory, now_ms);
    api->state = API_UP;
    api->opened_ms = now_ms;
    api->heard_ms = now_ms;
    api->pinged = false;
    api->ended_why[0] = 0;
    api->opened = true;
    api->busy = true;
    event_say(a, EVENT_API_CONNECTED, "server", api->authority);
}

void agent_api_ended(struct agent *a, const char *why)
{
    text_cut(a->api.ended_why, sizeof a->api.ended_why, view_text(why));
    h2_rx_end(&a->api.h2);
    a->step_now = true;
}

/* The connection lasted longer than any wait for one. */
static bool connection_settled(const struct agent *a)
{
    return a->now_ms - a->api.opened_ms >= API_BACKOFF_MAX_MS;
}

static void plan_connection(struct agent *a)
{
    a->api.state = API_DOWN;
    a->api.connect_at_ms = a->now_ms + agent_backoff(a, &a->api.backoff_ms);
}

void agent_api_failed(struct agent *a, enum status status, const char *why, uint64_t now_ms)
{
    ASSERT(a->api.state == API_CONNECTING);
    a->now_ms = (now_ms > a->now_ms) ? now_ms : a->now_ms;
    text_cut(a->api.trouble, sizeof a->api.trouble, view_text(why));
    plan_connection(a);
    event_begin(a, EVENT_API_FAILED);
    event_text(a, "status", status_name(status));
    event_text(a, "text", why);
    uint64_t retry_ms = a->api.connect_at_ms - a->now_ms;
    event_number(a, "retry_ms", (int64_t)retry_ms);
    event_end(a);
}

/* --- requests --- */

/* The entry is free again; what was not told of its request is not told any more. */
static void request_release(struct api *api, unsigned index)
{
    ASSERT(index < REQUESTS_MAX);
    struct request *r = &api->request[index];
    r->kind = REQUEST_NONE;
    r->stream = 0;
    r->over = false;
    if (api->ended == index) {
        api->ended = REQUESTS_MAX;
    }
    if (api->piece_of == index) {
        api->piece_of = REQUESTS_MAX;
    }
}

/* The request is over; its END is owed from now on. The first verdict stands. */
static void request_over(struct api *api, unsigned index, enum status verdict)
{
    struct request *r = &api->request[index];
    ASSERT(r->kind != REQUEST_NONE);
    if (!r->over && api->ended != index) {
        /* An answer may come before all of the body went out: the stream is ours to end then. */
        h2_reset(&api->h2, r->stream, H2_CANCEL);
        r->over = true;
        r->verdict = verdict;
        api->busy = true;
    }
}

static bool is_watch(enum request_kind kind)
{
    return kind == REQUEST_SLICE_WATCH || kind == REQUEST_NODE_WATCH;
}

static uint64_t time_limit(enum request_kind kind)
{
    uint64_t limit = API_REQUEST_MS;
    if (kind == REQUEST_CLAIM) {
        limit = CLAIM_GET_MS;
    } else if (kind == REQUEST_VERSIONS) {
        limit = VERSION_GET_MS;
    } else if (is_watch(kind)) {
        limit = WATCH_SECONDS * 1000u + API_REQUEST_MS;
    }
    return limit;
}

enum status api_send(struct agent *a, unsigned index, enum request_kind kind, enum kube_shape shape,
                     struct kube_request *head)
{
    ASSERT(index < REQUESTS_MAX && kind != REQUEST_NONE);
    struct api *api = &a->api;
    struct request *r = &api->request[index];
    ASSERT(r->kind == REQUEST_NONE);
    if (!api_ready(a)) {
        return STATUS_MORE;
    }
    uint32_t stream = 0;
    enum status s = h2_open(&api->h2, index, &stream);
    if (s != STATUS_OK) {
        return STATUS_MORE;
    }
    head->token = view_text(api->token);
    head->authority = view_text(api->authority);
    s = kube_request_send(&api->h2, stream, head);
    if (s != STATUS_OK) {
        h2_reset(&api->h2, stream, H2_CANCEL);
        return STATUS_MORE;
    }
    r->kind = kind;
    r->version = a->version.now;
    r->stream = stream;
    r->refused = false;
    r->reason[0] = 0;
    r->message[0] = 0;
    r->sent_ms = a->now_ms;
    r->deadline_ms = a->now_ms + time_limit(kind);
    kube_answer_init(&r->answer, shape);
    return STATUS_OK;
}

void api_cancel(struct agent *a, unsigned index)
{
    ASSERT(index < REQUESTS_MAX);
    const struct request *r = &a->api.request[index];
    if (r->kind != REQUEST_NONE) {
        h2_reset(&a->api.h2, r->stream, H2_CANCEL);
        request_release(&a->api, index);
    }
}

/* --- answers --- */

static void keep_status(struct request *r, struct view message)
{
    projection_StatusRecord status = projection_StatusRecord_init_zero;
    if (!decode(message, projection_StatusRecord_fields, &status)) {
        return;
    }
    r->refused = view_is(view_text(status.status), "Failure");
    text_cut(r->reason, sizeof r->reason, view_text(status.reason));
    text_cut(r->message, sizeof r->message, view_text(status.message));
}

/*
 * Whether a 404 says that the path is not known rather than that the object is not there: for an
 * object a Status says NotFound. Paths that no handler of the server takes get a line of text, or,
 * in a version that is served in part, a Status with client-go's words for it. A list exists as
 * long as its version does.
 */
static bool path_unknown(const struct request *r)
{
    static const char unknown[] = "the server could not find the requested resource";
    struct view message = view_text(r->message);
    if (r->kind == REQUEST_NODE || r->kind == REQUEST_VERSIONS) {
        return false;
    }
    bool text = r->reason[0] == '\0' && r->message[0] != '{'; /* JSON: a Status as well */
    return r->kind == REQUEST_SLICE_LIST || text ||
           view_is(view_first(message, sizeof unknown - 1u), unknown);
}

/* A verdict on a complete answer. */
static enum status judge(struct request *r)
{
    enum status s = kube_answer_end(&r->answer);
    uint16_t http = r->answer.http_status;
    if (http >= 200u && http < 300u) {
        return s;
    }
    if (r->message[0] == '\0') {
        text_cut(r->message, sizeof r->message, view_text(r->answer.message));
    }
    if (http != 404u) {
        return PEER_REFUSED;
    }
    return path_unknown(r) ? PEER_UNSUPPORTED : PEER_NOT_FOUND;
}

/* --- the connection --- */

static void connection_over(struct agent *a)
{
    struct api *api = &a->api;
    /* A server that answers and soon ends each connection is no better than one that fails. */
    if (connection_settled(a)) {
        api->backoff_ms = 0;
    }
    plan_connection(a);
    api->close_wanted = true;
    for (unsigned i = 0; i < REQUESTS_MAX; i++) {
        if (api->request[i].kind != REQUEST_NONE) {
            request_over(api, i, PEER_CLOSED);
        }
    }
    api->lost = true;
    api->busy = true;
}

static void api_lost(struct agent *a, const char *why)
{
    struct api *api = &a->api;
    if (api->state != API_UP && api->state != API_DRAINING) {
        return;
    }
    text_cut(api->trouble, sizeof api->trouble, view_text(why));
    event_say(a, EVENT_API_LOST, "text", why);
    connection_over(a);
}

/* --- events --- */

/* Whether the stream still is the request's: what was cancelled may still be answered. */
static bool request_alive(const struct api *api, unsigned index, uint32_t stream)
{
    return index < REQUESTS_MAX && api->request[index].kind != REQUEST_NONE &&
           !api->request[index].over && api->request[index].stream == stream;
}

/* The answer is complete. */
static void answer_complete(struct agent *a, unsigned index)
{
    struct request *r = &a->api.request[index];
    bool unauthorized = r->answer.http_status == 401u;
    request_over(&a->api, index, judge(r));
    if (unauthorized) {
        /* The token is read again with the next connection. */
        api_lost(a, "the API server answered 401 Unauthorized: the token is read again");
    }
}

static void request_event(struct agent *a, const struct h2_event *e)
{
    struct api *api = &a->api;
    unsigned at = e->tag;
    if (!request_alive(api, at, e->stream)) {
        return;
    }
    switch (e->kind) {
    case H2_EVENT_FIELD:
        if (!e->trailers) {
            kube_answer_field(&api->request[at].answer, e->name, e->value);
        }
        return;
    case H2_EVENT_DATA:
        api->piece_of = at;
        api->piece_stream = e->stream;
        api->piece_last = e->end_stream;
        api->piece = reader_of(e->data);
        return;
    case H2_EVENT_RESET:
        request_over(api, at, PEER_CLOSED);
        return;
    case H2_EVENT_HEADERS_END:
        if (e->end_stream) {
            answer_complete(a, at);
        }
        return;
    case H2_EVENT_GOAWAY:
    case H2_EVENT_PING_ACK:
    case H2_EVENT_WRITABLE:
        break;
    }
}

static void connection_event(struct agent *a, const struct h2_event *e)
{
    if (e->kind == H2_EVENT_GOAWAY) {
        a->api.state = API_DRAINING;
        text_cut(a->api.trouble, sizeof a->api.trouble,
                 view_text("the API server asked to move to a new connection"));
    } else if (e->kind == H2_EVENT_PING_ACK) {
        a->api.pinged = false;
    } else {
        request_event(a, e);
    }
}

/* Takes one event of the connection; false: there is none now. */
static bool take_event(struct agent *a)
{
    struct api *api = &a->api;
    struct h2_event event;
    if (api->state != API_UP && api->state != API_DRAINING) {
        return false;
    }
    h2_set_time(&api->h2, a->now_ms);
    enum status s = h2_next(&api->h2, &event);
    if (s == STATUS_OK) {
        connection_event(a, &event);
    } else if (s == PEER_CLOSED) {
        api_lost(a, (api->ended_why[0] != '\0') ? api->ended_why
                                               : "the API server closed the connection");
    } else if (s != STATUS_MORE) {
        api_lost(a, "the API server broke the HTTP/2 protocol");
    }
    return s != STATUS_MORE;
}

/* Takes the next record out of the piece, or lets go of the piece. */
static void take_record(struct agent *a, struct api_event *event)
{
    struct api *api = &a->api;
    unsigned at = api->piece_of;
    struct request *r = &api->request[at];
    bool alive = request_alive(api, at, api->piece_stream);
    enum status s = alive ? kube_answer_next(&r->answer, &api->piece, &event->record) : STATUS_MORE;
    if (s == STATUS_OK) {
        event->kind = API_EVENT_RECORD;
        event->index = at;
        event->request = r->kind;
        if (event->record.record == KUBE_STATUS) {
            keep_status(r, event->record.message);
        }
        return;
    }
    api->piece_of = REQUESTS_MAX;
    if (s != STATUS_MORE) {
        request_over(api, at, s);
    } else if (alive && api->piece_last) {
        answer_complete(a, at);
    }
}

/* The end, or the loss, that is owed; false: none. */
static bool take_end(struct api *api, struct api_event *event)
{
    for (unsigned i = 0; i < REQUESTS_MAX; i++) {
        struct request *r = &api->request[i];
        if (r->over) {
            r->over = false;
            api->ended = i;
            event->kind = API_EVENT_END;
            event->index = i;
            event->request = r->kind;
            event->status = r->verdict;
            return true;
        }
    }
    event->kind = api->lost ? API_EVENT_LOST : API_EVENT_NONE;
    api->lost = false;
    return event->kind == API_EVENT_LOST;
}

bool api_next(struct agent *a, struct api_event *event)
{
    struct api *api = &a->api;
    event->kind = API_EVENT_NONE;
    api->busy = true;
    if (api->ended < REQUESTS_MAX) {
        request_release(api, api->ended);
    }
    if (take_end(api, event)) {
        return true;
    }
    if (api->opened) {
        api->opened = false;
        event->kind = API_EVENT_OPENED;
    } else if (api->piece_of < REQUESTS_MAX) {
        take_record(a, event);
    } else {
        api->busy = take_event(a);
    }
    return api->busy;
}

/* --- time --- */

static void expire_requests(struct agent *a)
{
    for (unsigned i = 0; i < REQUESTS_MAX; i++) {
        const struct request *r = &a->api.request[i];
        if (r->kind != REQUEST_NONE && a->now_ms >= r->deadline_ms) {
            request_over(&a->api, i, PEER_TIMEOUT);
        }
    }
}

/* A silent path is asked by PING; no answer ends the connection (RFC 9113 §6.7). */
static void check_path(struct agent *a)
{
    struct api *api = &a->api;
    bool silent = a->now_ms - api->heard_ms >= API_PING_AFTER_MS;
    if (!silent) {
        api->pinged = false;
    } else if (!api->pinged) {
        /* No room for a PING means that the server takes nothing: it is given up as soon. */
        enum status sent = h2_ping(&api->h2);
        status_ignore(sent, "no answer ends the connection, whether the PING went out or not");
        api->pinged = true;
        api->ping_ms = a->now_ms;
    } else if (a->now_ms - api->ping_ms >= API_PING_ANSWER_MS) {
        api_lost(a, "the API server is silent and did not answer a PING");
    }
}

/*
 * After GOAWAY the answers under way may end; a watch would go on for long and is opened again
 * elsewhere.
 */
static void check_drained(struct agent *a)
{
    if (a->api.state != API_DRAINING) {
        return;
    }
    for (unsigned i = 0; i < REQUESTS_MAX; i++) {
        enum request_kind kind = a->api.request[i].kind;
        if (kind != REQUEST_NONE && !is_watch(kind)) {
            return;
        }
    }
    event_say(a, EVENT_API_MOVED, "text", a->api.trouble);
    connection_over(a);
    if (connection_settled(a)) {
        a->api.connect_at_ms = a->now_ms; /* servers balance their load so */
    }
}

void api_step(struct agent *a)
{
    struct api *api = &a->api;
    bool due = a->now_ms >= api->connect_at_ms || (!api->tried && a->registration.asked);
    if (api->state == API_UP || api->state == API_DRAINING) {
        expire_requests(a);
        check_path(a);
        check_drained(a);
    } else if (api->state == API_DOWN && due && !api->busy && !a->stopping) {
        api->tried = true;
        api->state = API_CONNECTING;
        api->connect_wanted = true;
    }
}

uint64_t api_deadline(const struct agent *a)
{
    const struct api *api = &a->api;
    if (api->busy) {
        return a->now_ms;
    }
    if (api->state == API_DOWN) {
        return a->stopping ? UINT64_MAX : api->connect_at_ms;
    }
    if (api->state == API_CONNECTING) {
        return UINT64_MAX;
    }
    uint64_t at = h2_deadline(&api->h2);
    uint64_t ping = api->pinged ? api->ping_ms + API_PING_ANSWER_MS
                                : api->heard_ms + API_PING_AFTER_MS;
    at = (ping < at) ? ping : at;
    for (unsigned i = 0; i < REQUESTS_MAX; i++) {
        const struct request *r = &api->request[i];
        if (r->kind != REQUEST_NONE && r->deadline_ms < at) {
            at = r->deadline_ms;
        }
    }
    return at;
}
