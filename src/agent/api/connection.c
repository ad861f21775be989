/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the API server, see connection.h: when it is opened, and what ends it. Owns
 * struct api_connection.
 *
 * Attempts are at least API_CONNECT_EVERY_MS apart. While a call of the kubelet needs the
 * connection, and before the first one of the process, the wait doubles with each attempt, up to
 * API_RETRY_LEAST_MS. Otherwise the attempts are spread (API_RECONNECT_MS, API_RETRY_SPREAD_MS),
 * because an API server that restarts has lost all agents at once. The doubled wait returns to its
 * minimum after a stable connection: one that lasted at least API_BACKOFF_MAX_MS, or at least
 * API_REPAID_FACTOR times the wait before it.
 */
#include "agent/api/connection.h"

#include <string.h>

#include "agent/api/backoff.h"
#include "agent/api/room.h"
#include "agent/frame.h"
#include "base/assert.h"
#include "base/crc32c.h"
#include "base/time.h"

void connection_init(struct agent *a)
{
    struct api_connection *c = &a->api->connection;
    c->state = API_UNTRIED;
    c->connect_at_ms = a->now_ms + API_START_MS;
    text_cut(c->trouble, sizeof c->trouble, view_text("the API server is not connected yet"));
}

bool connection_open(const struct agent *a)
{
    return a->api->connection.state == API_UP || a->api->connection.state == API_DRAINING;
}

/* --- orders for the host --- */

static unsigned order_bit(enum agent_order order)
{
    return 1u << (unsigned)order;
}

void connection_want(struct agent *a, enum agent_order order)
{
    a->api->connection.orders |= order_bit(order);
}

enum agent_order connection_order(struct agent *a)
{
    static const enum agent_order orders[] = {ORDER_READ_TOKEN, ORDER_CLOSE_API, ORDER_CONNECT_API};
    struct api_connection *c = &a->api->connection;
    for (unsigned i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        if ((c->orders & order_bit(orders[i])) != 0u) {
            c->orders &= ~order_bit(orders[i]);
            return orders[i];
        }
    }
    return ORDER_NONE;
}

/* --- facts that the host passes in --- */

bool connection_identity(struct agent *a, struct view token, struct view authority)
{
    struct api_connection *c = &a->api->connection;
    uint32_t sum = crc32c(0, token);
    bool other = sum != c->token_sum;
    explicit_bzero(c->token, sizeof c->token);
    text_cut(c->token, sizeof c->token, token);
    text_cut(c->authority, sizeof c->authority, authority);
    c->token_sum = sum;
    return other;
}

void connection_opened(struct agent *a, uint64_t now_ms)
{
    struct api_connection *c = &a->api->connection;
    ASSERT(c->state == API_CONNECTING);
    struct h2_memory memory = H2_MEMORY_OF(c, H2_CLIENT_WINDOW);
    memory.connection_window = H2_CLIENT_CONNECTION_WINDOW;
    /* erase the send buffer: unsent bytes of the last connection may contain a token */
    explicit_bzero(c->tx, c->h2.tx_len);
    h2_init(&c->h2, H2_CLIENT, &memory, now_ms);
    c->state = API_UP;
    c->opened_ms = now_ms;
    c->heard_ms = now_ms;
    c->ping_ms = 0;
    c->ended_why[0] = '\0';
    c->notice = CONNECTION_OPENED;
}

/*
 * Plans the next attempt after `wait_ms`, or after `call_ms` if a call needs it (connection_hurry).
 */
static void plan_attempt(struct agent *a, uint64_t wait_ms, uint64_t call_ms)
{
    struct api_connection *c = &a->api->connection;
    uint64_t earliest = c->tried_ms + API_CONNECT_EVERY_MS;
    c->state = API_DOWN;
    c->connect_at_ms = later(a->now_ms + wait_ms, earliest);
    c->hurry_at_ms = later(a->now_ms + call_ms, earliest);
}

/* The wait before the next attempt that a call needs; it doubles with each attempt. */
static uint64_t call_wait(struct agent *a)
{
    uint64_t *backoff_ms = &a->api->connection.backoff_ms;
    return agent_backoff_within(a, backoff_ms, API_BACKOFF_MIN_MS, API_RETRY_LEAST_MS);
}

/*
 * The wait before the next attempt that no call needs. Once the agent was connected, a failure is
 * most likely that of a server that has lost all agents at once.
 */
static uint64_t calm_wait(struct agent *a, uint64_t call_ms)
{
    bool shared = a->api->connection.opened_ms > 0u || call_ms >= API_RETRY_LEAST_MS;
    return shared ? API_RETRY_LEAST_MS + agent_random(a) % API_RETRY_SPREAD_MS : call_ms;
}

void connection_attempt_failed(struct agent *a, const char *why)
{
    struct api_connection *c = &a->api->connection;
    ASSERT(c->state == API_CONNECTING);
    text_cut(c->trouble, sizeof c->trouble, view_text(why));
    uint64_t call_ms = call_wait(a);
    plan_attempt(a, calm_wait(a, call_ms), call_ms);
}

void connection_ended(struct agent *a, const char *why)
{
    struct api_connection *c = &a->api->connection;
    text_cut(c->ended_why, sizeof c->ended_why, view_text(why));
    h2_rx_end(&c->h2);
}

void connection_heard(struct agent *a)
{
    a->api->connection.heard_ms = a->now_ms;
}

/* --- end of the connection --- */

/*
 * Ends the connection and plans the next attempt. `moved`: the connection ends only because the
 * server asked for another one, so the wait is at most API_MOVE_MAX_MS.
 */
static void end_connection(struct agent *a, bool moved)
{
    struct api_connection *c = &a->api->connection;
    uint64_t lasted = a->now_ms - c->opened_ms;
    bool repaid = lasted >= API_BACKOFF_MAX_MS || lasted >= API_REPAID_FACTOR * c->backoff_ms;
    c->backoff_ms = repaid ? 0u : c->backoff_ms;
    uint64_t call_ms = call_wait(a);
    uint64_t wait = repaid ? agent_random(a) % API_RECONNECT_MS : calm_wait(a, call_ms);
    if (moved) {
        wait = repaid ? agent_random(a) % API_MOVE_MS : call_ms;
        wait = (wait < API_MOVE_MAX_MS) ? wait : API_MOVE_MAX_MS;
    }
    plan_attempt(a, wait, call_ms);
    c->moved = moved;
    c->notice = moved ? CONNECTION_MOVED : CONNECTION_LOST;
    connection_want(a, ORDER_CLOSE_API);
    /*
     * h2_goaway has no effect if the HTTP/2 engine has failed, because the engine then sends a
     * GOAWAY itself
     */
    h2_goaway(&c->h2, H2_NO_ERROR, true);
}

bool connection_lose(struct agent *a, const char *why)
{
    struct api_connection *c = &a->api->connection;
    if (!connection_open(a)) {
        return false;
    }
    text_cut(c->trouble, sizeof c->trouble, view_text(why));
    end_connection(a, false);
    return true;
}

void connection_move(struct agent *a)
{
    ASSERT(a->api->connection.state == API_DRAINING);
    end_connection(a, true);
}

bool connection_event(struct agent *a, const struct h2_event *e)
{
    struct api_connection *c = &a->api->connection;
    if (e->kind == H2_EVENT_GOAWAY) {
        c->state = API_DRAINING;
        text_cut(c->trouble, sizeof c->trouble,
                 view_text("the API server asked to move to a new connection"));
        return true;
    }
    if (e->kind == H2_EVENT_PING_ACK) {
        c->ping_ms = 0;
        return true;
    }
    return false;
}

/* --- reports to the client --- */

enum connection_notice connection_poll_loss(struct agent *a)
{
    struct api_connection *c = &a->api->connection;
    enum connection_notice notice = c->notice;
    if (notice != CONNECTION_LOST && notice != CONNECTION_MOVED) {
        return CONNECTION_QUIET;
    }
    c->notice = CONNECTION_CLOSED;
    return notice;
}

enum connection_notice connection_poll_notice(struct agent *a)
{
    struct api_connection *c = &a->api->connection;
    enum connection_notice notice = c->notice;
    c->notice = CONNECTION_QUIET;
    return notice;
}

/* --- PINGs and deadlines --- */

bool connection_silent(struct agent *a)
{
    struct api_connection *c = &a->api->connection;
    if (a->now_ms - c->heard_ms < API_PING_AFTER_MS) {
        c->ping_ms = 0;
    } else if (c->ping_ms == 0u) {
        /*
         * If the send buffer has no space for the PING, the server reads nothing, which counts as
         * no answer.
         */
        enum status sent = h2_ping(&c->h2);
        status_ignore(sent, "no response ends the connection, whether the PING went out or not");
        c->ping_ms = a->now_ms;
    } else {
        return a->now_ms - c->ping_ms >= API_PING_ANSWER_MS;
    }
    return false;
}

void connection_hurry(struct agent *a)
{
    struct api_connection *c = &a->api->connection;
    uint64_t at_ms = (c->state == API_UNTRIED) ? a->now_ms : later(a->now_ms, c->hurry_at_ms);
    bool planned = c->state == API_UNTRIED || c->state == API_DOWN;
    if (planned && c->connect_at_ms > at_ms) {
        c->connect_at_ms = at_ms;
    }
}

/* Whether an attempt to connect is planned; connect_at_ms is the time of that attempt. */
static bool is_planned(const struct agent *a)
{
    enum api_state state = a->api->connection.state;
    return (state == API_UNTRIED || state == API_DOWN) && !a->stopping;
}

void connection_try(struct agent *a)
{
    struct api_connection *c = &a->api->connection;
    if (is_planned(a) && a->now_ms >= c->connect_at_ms) {
        c->tried_ms = a->now_ms;
        c->state = API_CONNECTING;
        connection_want(a, ORDER_CONNECT_API);
    }
}

uint64_t connection_deadline(const struct agent *a)
{
    const struct api_connection *c = &a->api->connection;
    if (!connection_open(a)) {
        return is_planned(a) ? c->connect_at_ms : UINT64_MAX;
    }
    uint64_t ping =
        (c->ping_ms > 0u) ? c->ping_ms + API_PING_ANSWER_MS : c->heard_ms + API_PING_AFTER_MS;
    uint64_t at = h2_deadline(&c->h2);
    return (ping < at) ? ping : at;
}
