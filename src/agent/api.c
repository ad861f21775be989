/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the API server: when to connect, requests in flight, their time-outs, and what
 * ends a connection. Owns struct api. Answers go to the owner of the request by its table index:
 * fetches, publisher (or the version, which has no entry of its own), watch.
 */
#include "agent/decode.h"
#include "agent/state.h"
#include "base/assert.h"
#include "generated/projection.pb.h"

void api_init(struct agent *a)
{
    a->api.state = API_DOWN;
    a->api.connect_at_ms = a->now_ms + API_START_MS;
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
    api->ended[0] = 0;
    version_connected(a);
    event_say(a, EVENT_API_CONNECTED, "server", api->authority);
}

void agent_api_ended(struct agent *a, const char *why)
{
    text_cut(a->api.ended, sizeof a->api.ended, view_text(why));
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

static void request_release(struct request *r)
{
    r->kind = REQUEST_NONE;
    r->stream = 0;
}

static uint64_t time_limit(enum request_kind kind)
{
    uint64_t limit = API_REQUEST_MS;
    if (kind == REQUEST_CLAIM) {
        limit = CLAIM_GET_MS;
    } else if (kind == REQUEST_VERSIONS) {
        limit = VERSION_GET_MS;
    } else if (kind == REQUEST_SLICE_WATCH) {
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
    r->deadline_ms = a->now_ms + time_limit(kind);
    kube_answer_init(&r->answer, shape);
    return STATUS_OK;
}

void api_cancel(struct agent *a, unsigned index)
{
    ASSERT(index < REQUESTS_MAX);
    struct request *r = &a->api.request[index];
    if (r->kind != REQUEST_NONE) {
        h2_reset(&a->api.h2, r->stream, H2_CANCEL);
        request_release(r);
    }
}

/* --- answers to their owners --- */

static void owner_record(struct agent *a, unsigned index, const struct kube_record *record)
{
    ASSERT(index < REQUESTS_MAX);
    if (index < FETCHES_MAX) {
        fetch_record(a, index, record);
    } else if (a->api.request[index].kind == REQUEST_VERSIONS) {
        version_record(a, record);
    } else {
        publish_record(a, index, record);
    }
}

static void owner_end(struct agent *a, unsigned index, enum status status)
{
    struct request *r = &a->api.request[index];
    ASSERT(r->kind != REQUEST_NONE);
    if (index < FETCHES_MAX) {
        fetch_end(a, index, status);
    } else if (r->kind == REQUEST_VERSIONS) {
        version_end(a, status);
    } else {
        publish_end(a, index, status);
    }
    request_release(r);
}

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

static void request_data(struct agent *a, unsigned index, struct view data)
{
    struct request *r = &a->api.request[index];
    struct reader in = reader_of(data);
    struct kube_record record;
    enum status s = STATUS_OK;
    /* Each record takes at least one byte of the piece. */
    for (size_t i = 0; i <= data.len && s == STATUS_OK; i++) {
        s = kube_answer_next(&r->answer, &in, &record);
        if (s == STATUS_OK && record.record == KUBE_STATUS) {
            keep_status(r, record.message);
        }
        if (s == STATUS_OK) {
            owner_record(a, index, &record);
        }
        if (r->kind == REQUEST_NONE) {
            return; /* the owner cancelled it */
        }
    }
    if (s != STATUS_OK && s != STATUS_MORE) {
        h2_reset(&a->api.h2, r->stream, H2_CANCEL);
        owner_end(a, index, s);
    }
}

static void request_over(struct agent *a, unsigned index)
{
    struct request *r = &a->api.request[index];
    bool unauthorized = r->answer.http_status == 401u;
    enum request_kind kind = r->kind;
    enum api_version version = r->version;
    enum status verdict = judge(r);
    /* An answer may come before all of the body went out: the stream is ours to end then. */
    h2_reset(&a->api.h2, r->stream, H2_CANCEL);
    owner_end(a, index, verdict);
    version_heard(a, kind, version, verdict);
    if (unauthorized) {
        /* The token is read again with the next connection. */
        api_lost(a, "the API server answered 401 Unauthorized: the token is read again");
    }
}

/* Whether the stream still is the request's: what was cancelled may still be answered. */
static bool request_alive(const struct agent *a, unsigned index, uint32_t stream)
{
    return index < REQUESTS_MAX && a->api.request[index].kind != REQUEST_NONE &&
           a->api.request[index].stream == stream;
}

static void request_event(struct agent *a, const struct h2_event *e)
{
    unsigned at = e->tag;
    if (!request_alive(a, at, e->stream)) {
        return;
    }
    switch (e->kind) {
    case H2_EVENT_FIELD:
        if (!e->trailers) {
            kube_answer_field(&a->api.request[at].answer, e->name, e->value);
        }
        break;
    case H2_EVENT_DATA:
        request_data(a, at, e->data);
        break;
    case H2_EVENT_RESET:
        owner_end(a, at, PEER_CLOSED);
        return;
    case H2_EVENT_HEADERS_END:
    case H2_EVENT_GOAWAY:
    case H2_EVENT_PING_ACK:
    case H2_EVENT_WRITABLE:
        break;
    }
    if (e->end_stream && e->kind != H2_EVENT_FIELD && request_alive(a, at, e->stream)) {
        request_over(a, at);
    }
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
            owner_end(a, i, PEER_CLOSED);
        }
    }
    publish_disconnected(a);
}

void api_lost(struct agent *a, const char *why)
{
    struct api *api = &a->api;
    if (api->state != API_UP && api->state != API_DRAINING) {
        return;
    }
    text_cut(api->trouble, sizeof api->trouble, view_text(why));
    event_say(a, EVENT_API_LOST, "text", why);
    connection_over(a);
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

static void pull_events(struct agent *a)
{
    struct api *api = &a->api;
    struct h2_event event;
    enum status s = STATUS_OK;
    api->busy = false;
    for (unsigned i = 0; i < LINK_EVENTS_PER_STEP && s == STATUS_OK; i++) {
        s = h2_next(&api->h2, &event);
        if (s == STATUS_OK) {
            connection_event(a, &event);
        }
        if (api->state != API_UP && api->state != API_DRAINING) {
            return;
        }
    }
    api->busy = s == STATUS_OK;
    if (s == PEER_CLOSED) {
        api_lost(a, (api->ended[0] != '\0') ? api->ended : "the API server closed the connection");
    } else if (s != STATUS_OK && s != STATUS_MORE) {
        api_lost(a, "the API server broke the HTTP/2 protocol");
    }
}

static void expire_requests(struct agent *a)
{
    for (unsigned i = 0; i < REQUESTS_MAX; i++) {
        const struct request *r = &a->api.request[i];
        if (r->kind != REQUEST_NONE && a->now_ms >= r->deadline_ms) {
            h2_reset(&a->api.h2, r->stream, H2_CANCEL);
            owner_end(a, i, PEER_TIMEOUT);
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
    for (unsigned i = 0; i < REQUEST_WATCH; i++) {
        if (a->api.request[i].kind != REQUEST_NONE) {
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
    if (api->state == API_DOWN && !a->stopping) {
        if (a->now_ms >= api->connect_at_ms || (!api->tried && a->registration.asked)) {
            api->tried = true;
            api->state = API_CONNECTING;
            api->connect_wanted = true;
        }
        return;
    }
    if (api->state != API_UP && api->state != API_DRAINING) {
        return;
    }
    h2_set_time(&api->h2, a->now_ms);
    pull_events(a);
    if (api->state == API_UP || api->state == API_DRAINING) {
        expire_requests(a);
        check_path(a);
        check_drained(a);
    }
}

uint64_t api_deadline(const struct agent *a)
{
    const struct api *api = &a->api;
    if (api->state == API_DOWN) {
        return a->stopping ? UINT64_MAX : api->connect_at_ms;
    }
    if (api->state == API_CONNECTING) {
        return UINT64_MAX;
    }
    if (api->busy) {
        return a->now_ms;
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
