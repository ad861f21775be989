/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests to the API server: what may be sent when, and what their answers mean. Owns the
 * table of requests, the answer that is being read, and the pauses between requests; knows nothing
 * of how a connection begins and ends.
 *
 * Requests of our own keep to API_REQUESTS_PER_SECOND in any second, and pause as long as a 429 or
 * 503 asks by Retry-After (RFC 9110 §10.2.3), or for API_REFUSED_MS when the token was refused.
 * Claim GETs do neither: the kubelet asks for them and hears in words what came of it.
 */
#include "agent/api/api_internal.h"
#include "wire/decode.h"
#include "agent/api/retry.h"
#include "base/assert.h"
#include "base/crc32c.h"
#include "generated/projection.pb.h"

void requests_init(struct api *api)
{
    api->ended = REQUESTS_MAX;
    api->piece_of = REQUESTS_MAX;
}

bool api_ready(const struct agent *a)
{
    return a->api.state == API_UP && !a->stopping;
}

void agent_api_identity(struct agent *a, struct view token, struct view authority)
{
    struct api *api = &a->api;
    uint32_t sum = crc32c(0, token);
    if (sum != api->token_sum) {
        api->refused_ms = 0; /* who was refused is another one now */
    }
    text_cut(api->token, sizeof api->token, token);
    text_cut(api->authority, sizeof api->authority, authority);
    api->token_sum = sum;
    api->token_read = true;
    api->busy = true;
}

/* --- the table --- */

/* The entry is free again; what was not told of its request is not told any more. */
static void release(struct api *api, unsigned index)
{
    ASSERT(index < REQUESTS_MAX);
    struct request *r = &api->request[index];
    r->kind = REQUEST_NONE;
    r->stream = 0;
    r->over = false;
    r->unauthorized = false;
    if (api->ended == index) {
        api->ended = REQUESTS_MAX;
    }
    if (api->piece_of == index) {
        api->piece_of = REQUESTS_MAX;
    }
}

/* The request is over; its END is owed from now on. The first verdict stands. */
static void finish(struct api *api, unsigned index, enum status verdict)
{
    struct request *r = &api->request[index];
    ASSERT(index < REQUESTS_MAX);
    if (r->kind != REQUEST_NONE && !r->over && api->ended != index) {
        /* An answer may come before all of the body went out: the stream is ours to end then. */
        h2_reset(&api->h2, r->stream, H2_CANCEL);
        r->over = true;
        r->verdict = verdict;
        api->busy = true;
    }
}

void requests_end(struct api *api, enum status verdict)
{
    for (unsigned i = 0; i < REQUESTS_MAX; i++) {
        finish(api, i, verdict);
    }
}

static bool is_watch(enum request_kind kind)
{
    return kind == REQUEST_SLICE_WATCH || kind == REQUEST_NODE_WATCH;
}

/*
 * Watches leave a stream to what ends: where the server allows one they find no room, where it
 * allows two the Node's does not.
 */
static bool is_cramped(const struct api *api, enum request_kind kind)
{
    return is_watch(kind) && h2_streams_max(&api->h2) < ((kind == REQUEST_NODE_WATCH) ? 3u : 2u);
}

/* A watch that finds no room ends at once; its owner reads from time to time instead. */
static void leave_room(struct agent *a, unsigned index)
{
    struct api *api = &a->api;
    if (!api->cramped) {
        api->cramped = true;
        log_begin(a, LOG_ID_API_REQUEST_FAILED);
        log_text(a, "doing", "watch");
        log_text(a, "text", "too few requests may run at a time: read every half minute");
        log_remedy(a, "raise --http2-max-streams-per-connection of the API server");
        log_end(a);
    }
    finish(api, index, FULL_TABLE);
}

/* Requests that hang side by side count once. */
static void timed_out(struct agent *a, uint64_t sent_ms)
{
    struct api *api = &a->api;
    if (sent_ms >= api->mute_ms) {
        api->mute++;
        api->mute_ms = a->now_ms;
    }
}

void requests_expire(struct agent *a)
{
    for (unsigned i = 0; i < REQUESTS_MAX; i++) {
        const struct request *r = &a->api.request[i];
        bool told = r->over || a->api.ended == i;
        bool late = r->kind != REQUEST_NONE && !told && a->now_ms >= r->deadline_ms;
        if (late) {
            finish(&a->api, i, PEER_TIMEOUT);
            timed_out(a, r->sent_ms);
        }
        if (!late && !told && is_cramped(&a->api, r->kind)) {
            leave_room(a, i);
        }
    }
}

bool requests_waiting(const struct api *api)
{
    for (unsigned i = 0; i < REQUESTS_MAX; i++) {
        const struct request *r = &api->request[i];
        if (r->kind != REQUEST_NONE && (r->unauthorized || !is_watch(r->kind))) {
            return true;
        }
    }
    return false;
}

uint64_t requests_deadline(const struct api *api)
{
    uint64_t at = api->waiting ? requests_free_ms(api) : UINT64_MAX;
    for (unsigned i = 0; i < REQUESTS_MAX; i++) {
        const struct request *r = &api->request[i];
        if (r->kind != REQUEST_NONE && r->deadline_ms < at) {
            at = r->deadline_ms;
        }
    }
    return at;
}

/* --- sending --- */

static uint64_t time_limit(enum request_kind kind)
{
    uint64_t limit = API_REQUEST_MS;
    if (kind == REQUEST_CLAIM) {
        limit = CLAIM_GET_MS;
    } else if (kind == REQUEST_VERSIONS) {
        limit = VERSION_GET_MS;
    } else if (is_watch(kind)) {
        limit = WATCH_BEGIN_MS;
    }
    return limit;
}

uint64_t requests_free_ms(const struct api *api)
{
    uint64_t at = api->rate_ms[api->rate_at];
    at = (api->hold_ms > at) ? api->hold_ms : at;
    return (api->refused_ms > at) ? api->refused_ms : at;
}

uint64_t api_later(const struct agent *a)
{
    uint64_t at = requests_free_ms(&a->api);
    return (at > a->now_ms) ? at : a->now_ms + API_BACKOFF_MIN_MS;
}

bool api_paused(const struct agent *a)
{
    return a->now_ms < a->api.hold_ms || a->now_ms < a->api.refused_ms;
}

/*
 * A server that lets no request begin, though none is under way or though it allows none at all, is
 * no better than one that answers none. The owners try again and again.
 */
static void note_blocked(struct agent *a)
{
    struct api *api = &a->api;
    bool under_way = h2_streams_open(&api->h2) > 0u && h2_streams_max(&api->h2) > 0u;
    if (api->blocked_ms == 0u || under_way) {
        api->blocked_ms = a->now_ms;
    }
    if (a->now_ms - api->blocked_ms >= API_REQUEST_MS) {
        api->mute = API_TIMEOUTS_MAX;
    }
}

/* Whether a request of this kind may go now; counts none. */
static bool may_send(struct agent *a, enum request_kind kind)
{
    struct api *api = &a->api;
    if (!api_ready(a)) {
        return false;
    }
    bool held = kind != REQUEST_CLAIM && a->now_ms < requests_free_ms(api);
    api->waiting = api->waiting || held;
    return !held;
}

static void count_request(struct agent *a, enum request_kind kind)
{
    struct api *api = &a->api;
    if (kind != REQUEST_CLAIM) {
        api->rate_ms[api->rate_at] = a->now_ms + 1000u;
        api->rate_at = (api->rate_at + 1u) % API_REQUESTS_PER_SECOND;
    }
}

/* Sends a head on a stream of its own, *stream. */
static enum status send_head(struct agent *a, unsigned index, struct kube_request *head,
                             uint32_t *stream)
{
    struct api *api = &a->api;
    if (h2_open(&api->h2, index, stream) != STATUS_OK) {
        note_blocked(a);
        return STATUS_MORE;
    }
    api->blocked_ms = 0;
    head->token = view_text(api->token);
    head->authority = view_text(api->authority);
    enum status s = kube_request_send(&api->h2, *stream, head);
    if (s != STATUS_OK) {
        h2_reset(&api->h2, *stream, H2_CANCEL);
    }
    return s;
}

enum status api_send(struct agent *a, unsigned index, enum request_kind kind, enum kube_shape shape,
                     struct kube_request *head)
{
    ASSERT(index < REQUESTS_MAX && kind != REQUEST_NONE);
    struct api *api = &a->api;
    struct request *r = &api->request[index];
    ASSERT(r->kind == REQUEST_NONE);
    uint32_t stream = 0; /* of one that finds no room */
    bool cramped = is_cramped(api, kind);
    if (!may_send(a, kind) || (!cramped && send_head(a, index, head, &stream) != STATUS_OK)) {
        return STATUS_MORE;
    }
    count_request(a, kind);
    r->kind = kind;
    r->version = a->version.now;
    r->stream = stream;
    r->token_sum = api->token_sum;
    r->unprocessed = false;
    r->reason[0] = 0;
    r->message[0] = 0;
    r->sent_ms = a->now_ms;
    r->deadline_ms = a->now_ms + time_limit(kind);
    kube_answer_init(&r->answer, shape);
    if (cramped) {
        leave_room(a, index);
    }
    return STATUS_OK;
}

void api_cancel(struct agent *a, unsigned index)
{
    ASSERT(index < REQUESTS_MAX);
    const struct request *r = &a->api.request[index];
    if (r->kind != REQUEST_NONE) {
        h2_reset(&a->api.h2, r->stream, H2_CANCEL);
        release(&a->api, index);
    }
}

/* --- what an answer means --- */

static void keep_status(struct request *r, struct view message)
{
    projection_StatusRecord status = projection_StatusRecord_init_zero;
    if (!decode(message, projection_StatusRecord_fields, &status)) {
        return;
    }
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
    if (r->kind == REQUEST_NODE || r->kind == REQUEST_NODE_WATCH || r->kind == REQUEST_VERSIONS) {
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
    if (http >= HTTP_OK && http <= HTTP_OK_LAST) {
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

/*
 * The answer is complete. One that was refused for its token waits until the host has read the
 * token again.
 */
static void answer_complete(struct agent *a, unsigned index)
{
    struct api *api = &a->api;
    struct request *r = &api->request[index];
    uint16_t http = r->answer.http_status;
    uint64_t asked = retry_after_ms(r);
    r->verdict = judge(r);
    if (http == 401u) {
        r->unauthorized = true;
        api->token_wanted = true;
        api->token_read = false;
        return;
    }
    if ((http == 429u || http == 503u) && asked > 0u) {
        api->hold_ms = a->now_ms + agent_jitter(a, asked);
    }
    finish(api, index, r->verdict);
}

bool requests_reread(struct api *api, uint32_t *shown)
{
    bool any = false;
    for (unsigned i = 0; i < REQUESTS_MAX && api->token_read; i++) {
        struct request *r = &api->request[i];
        if (r->unauthorized) {
            r->unauthorized = false;
            finish(api, i, (r->token_sum == api->token_sum) ? r->verdict : PEER_CLOSED);
            *shown = r->token_sum;
            any = true;
        }
    }
    return any;
}

/* --- events --- */

/* Whether the stream still is the request's: what was cancelled may still be answered. */
static bool is_alive(const struct api *api, unsigned index, uint32_t stream)
{
    return index < REQUESTS_MAX && api->request[index].kind != REQUEST_NONE &&
           !api->request[index].over && api->request[index].stream == stream;
}

void requests_event(struct agent *a, const struct h2_event *e)
{
    struct api *api = &a->api;
    unsigned at = e->tag;
    if (!is_alive(api, at, e->stream)) {
        return;
    }
    struct request *r = &api->request[at];
    switch (e->kind) {
    case H2_EVENT_FIELD:
        if (!e->trailers) {
            kube_answer_field(&r->answer, e->name, e->value);
        }
        break;
    case H2_EVENT_DATA:
        api->piece_of = at;
        api->piece_stream = e->stream;
        api->piece_last = e->end_stream;
        api->piece = reader_of(e->data);
        break;
    case H2_EVENT_RESET:
        r->unprocessed = e->code == (uint32_t)H2_REFUSED_STREAM;
        finish(api, at, PEER_CLOSED);
        break;
    case H2_EVENT_HEADERS_END:
        api->mute = 0;
        if (is_watch(r->kind)) {
            r->deadline_ms = r->sent_ms + WATCH_SECONDS * UINT64_C(1000) + API_REQUEST_MS;
        }
        if (e->end_stream) {
            answer_complete(a, at);
        }
        break;
    case H2_EVENT_GOAWAY:
    case H2_EVENT_PING_ACK:
    case H2_EVENT_WRITABLE:
        break;
    }
}

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
    return false;
}

/* Takes the next record out of the piece, or lets go of the piece. */
static void take_record(struct agent *a, struct api_event *event)
{
    struct api *api = &a->api;
    unsigned at = api->piece_of;
    struct request *r = &api->request[at];
    bool alive = is_alive(api, at, api->piece_stream);
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
        finish(api, at, s);
    } else if (alive && api->piece_last) {
        answer_complete(a, at);
    } else {
        /* the rest of the answer comes in another piece, or is not wanted any more */
    }
}

bool requests_next(struct agent *a, struct api_event *event)
{
    struct api *api = &a->api;
    if (api->ended < REQUESTS_MAX) {
        release(api, api->ended);
    }
    if (take_end(api, event)) {
        return true;
    }
    if (api->piece_of < REQUESTS_MAX) {
        take_record(a, event);
        return true;
    }
    return false;
}
