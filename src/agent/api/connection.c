/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the API server: when one is tried, what ends it, and what api_next tells. Owns
 * struct api but for what belongs to requests.c. Whom an answer concerns is the frame's to know
 * (agent.c).
 *
 * Attempts are API_CONNECT_EVERY_MS apart at least, and the wait doubles from one to the next. It
 * begins anew after a connection that lasted API_REPAID_FACTOR times as long as the wait before it,
 * or as the longest wait: what a connection costs is small then beside what it served. A server
 * that takes connections and soon ends each is no better than one that takes none.
 */
#include "agent/api/api_internal.h"
#include "base/assert.h"

void api_init(struct agent *a)
{
    requests_init(&a->api);
    a->api.state = API_DOWN;
    a->api.connect_at_ms = a->now_ms + API_START_MS;
    text_cut(a->api.trouble, sizeof a->api.trouble,
             view_text("the API server is not connected yet"));
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
    api->mute = 0;
    api->blocked_ms = 0;
    api->cramped = false;
    api->reread_ms = 0;
    api->ended_why[0] = 0;
    api->opened = true;
    api->busy = true;
    log_one(a, LOG_ID_API_CONNECTED, "server", api->authority);
}

void agent_api_ended(struct agent *a, const char *why)
{
    text_cut(a->api.ended_why, sizeof a->api.ended_why, view_text(why));
    h2_rx_end(&a->api.h2);
    a->step_now = true;
}

static void plan_connection(struct agent *a, uint64_t wait_ms)
{
    struct api *api = &a->api;
    uint64_t at = a->now_ms + wait_ms;
    uint64_t earliest = api->tried_ms + API_CONNECT_EVERY_MS;
    api->state = API_DOWN;
    api->connect_at_ms = (at > earliest) ? at : earliest;
}

void agent_api_failed(struct agent *a, enum status status, const char *why, uint64_t now_ms)
{
    ASSERT(a->api.state == API_CONNECTING);
    a->now_ms = (now_ms > a->now_ms) ? now_ms : a->now_ms;
    text_cut(a->api.trouble, sizeof a->api.trouble, view_text(why));
    plan_connection(a, agent_backoff(a, &a->api.backoff_ms));
    log_begin(a, LOG_ID_API_CONNECT_FAILED);
    log_text(a, "status", status_name(status));
    log_text(a, "text", why);
    uint64_t retry_ms = a->api.connect_at_ms - a->now_ms;
    log_number(a, "retry_ms", (int64_t)retry_ms);
    log_end(a);
}

/* --- its end --- */

/* `moved`: the server only asked for another connection. */
static void connection_over(struct agent *a, bool moved)
{
    struct api *api = &a->api;
    uint64_t lasted = a->now_ms - api->opened_ms;
    bool repaid = lasted >= API_BACKOFF_MAX_MS || lasted >= API_REPAID_FACTOR * api->backoff_ms;
    api->backoff_ms = repaid ? 0u : api->backoff_ms;
    uint64_t wait = agent_backoff(a, &api->backoff_ms);
    if (moved) {
        wait = repaid ? agent_random(a) % API_MOVE_MS : wait;
        wait = (wait < API_MOVE_MAX_MS) ? wait : API_MOVE_MAX_MS;
    }
    plan_connection(a, wait);
    api->moved = moved;
    api->close_wanted = true;
    h2_goaway(&api->h2, H2_NO_ERROR, true); /* unless it failed: then its GOAWAY is said */
    requests_end(api, PEER_CLOSED);
    api->lost = true;
    api->busy = true;
}

static void lose(struct agent *a, const char *why)
{
    struct api *api = &a->api;
    if (api->state != API_UP && api->state != API_DRAINING) {
        return;
    }
    text_cut(api->trouble, sizeof api->trouble, view_text(why));
    log_one(a, LOG_ID_API_CONNECTION_LOST, "text", why);
    connection_over(a, false);
}

/* --- events --- */

static void connection_event(struct agent *a, const struct h2_event *e)
{
    if (e->kind == H2_EVENT_GOAWAY) {
        a->api.state = API_DRAINING;
        text_cut(a->api.trouble, sizeof a->api.trouble,
                 view_text("the API server asked to move to a new connection"));
    } else if (e->kind == H2_EVENT_PING_ACK) {
        a->api.pinged = false;
    } else {
        requests_event(a, e);
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
        lose(a,
             (api->ended_why[0] != '\0') ? api->ended_why : "the API server closed the connection");
    } else if (s != STATUS_MORE) {
        lose(a, words_of(s));
    }
    return s != STATUS_MORE;
}

/*
 * Requests were refused for their token, and it was read again: with another one they are repeated
 * on a new connection (the server closes this one), else nothing of our own is asked for some time.
 */
static bool token_judged(struct agent *a)
{
    struct api *api = &a->api;
    uint32_t shown = 0;
    if (!requests_reread(api, &shown)) {
        return false;
    }
    if (shown == api->token_sum) {
        api->refused_ms = a->now_ms + agent_jitter(a, API_REFUSED_MS);
        lose(a, "the API server answered 401 Unauthorized, and there is no other token yet");
    } else {
        lose(a, "the API server answered 401 Unauthorized: repeated with the new token");
    }
    return true;
}

bool api_next(struct agent *a, struct api_event *event)
{
    struct api *api = &a->api;
    event->kind = API_EVENT_NONE;
    api->busy = true;
    if (token_judged(a) || requests_next(a, event)) {
        return true;
    }
    if (api->lost) {
        api->lost = false;
        event->kind = API_EVENT_LOST;
    } else if (api->opened) {
        api->opened = false;
        event->kind = API_EVENT_OPENED;
    } else {
        api->busy = take_event(a);
    }
    return api->busy;
}

/* --- time --- */

/* Requests are taken and none is answered: another server behind the same address may do better. */
static void check_answers(struct agent *a)
{
    requests_expire(a);
    if (a->api.mute >= API_TIMEOUTS_MAX) {
        lose(a, (h2_streams_max(&a->api.h2) == 0u)
                    ? "the API server allows no request: its SETTINGS_MAX_CONCURRENT_STREAMS is 0"
                    : "the API server answers no request in time");
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
        lose(a, "the API server is silent and did not answer a PING");
    }
}

/*
 * After GOAWAY the answers under way may end; a watch would go on for long and is opened again
 * elsewhere.
 */
static void check_drained(struct agent *a)
{
    if (a->api.state == API_DRAINING && !requests_waiting(&a->api)) {
        log_one(a, LOG_ID_API_CONNECTION_DRAINED, "text", a->api.trouble);
        connection_over(a, true);
    }
}

/*
 * A token was refused: another one is seen soon after it is there. Who waits has planned for the
 * end of the pause, but comes at once on a new connection.
 */
static void check_token(struct agent *a)
{
    struct api *api = &a->api;
    if (a->now_ms >= api->refused_ms) {
        bool other = api->reread_ms > 0u && api->refused_ms == 0u;
        api->reread_ms = 0;
        if (other) {
            lose(a, "there is another token than the one that was refused");
        }
    } else if (a->now_ms >= api->reread_ms) {
        api->reread_ms = a->now_ms + TOKEN_REFUSED_MS;
        api->token_wanted = true;
    } else {
        /* it was read just now */
    }
}

void api_step(struct agent *a)
{
    struct api *api = &a->api;
    bool due = a->now_ms >= api->connect_at_ms || (!api->tried && a->registration.asked);
    if (api->state == API_UP || api->state == API_DRAINING) {
        check_answers(a);
        check_path(a);
        check_drained(a);
        check_token(a);
        api->waiting = api->waiting && a->now_ms < requests_free_ms(api);
    } else if (api->state == API_DOWN && due && !api->busy && !a->stopping) {
        api->tried = true;
        api->tried_ms = a->now_ms;
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
    uint64_t ping =
        api->pinged ? api->ping_ms + API_PING_ANSWER_MS : api->heard_ms + API_PING_AFTER_MS;
    at = (ping < at) ? ping : at;
    at = (a->now_ms < api->refused_ms && api->reread_ms < at) ? api->reread_ms : at;
    uint64_t requests = requests_deadline(api);
    return (requests < at) ? requests : at;
}
