/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the API server (connection.c): when one is tried, what ends it, who we are on
 * it, and the orders for the host that it needs. Owns struct api_connection; knows no request. Only
 * the client (client.c) uses it: all others ask the client.
 */
#ifndef AGENT_API_CONNECTION_H
#define AGENT_API_CONNECTION_H

#include "agent/agent.h"
#include "wire/h2.h"

/* State of the connection. */
enum api_state {
    API_UNTRIED, /* none was tried since the start */
    API_DOWN,    /* the next one is tried at connect_at_ms */
    API_CONNECTING,
    API_UP,
    API_DRAINING /* after GOAWAY: what is under way may end, nothing new starts */
};

/* What the connection has to report, the client passes it on. */
enum connection_notice {
    CONNECTION_QUIET,  /* nothing */
    CONNECTION_OPENED, /* a new connection, perhaps to another server */
    CONNECTION_LOST,   /* it ended, see trouble */
    CONNECTION_MOVED,  /* the server asked for another connection, see trouble */
    CONNECTION_CLOSED  /* follows the two above, when every request has ended */
};

/* The transport, its state, and the identity that it uses. */
struct api_connection {
    enum api_state state;
    enum connection_notice notice;
    unsigned orders;        /* bit per enum agent_order: for the host, not carried out yet */
    bool moved;             /* the server ended the last one in order: what was planned goes on */
    uint64_t opened_ms;     /* when this connection was opened */
    uint64_t heard_ms;      /* last bytes from the server */
    uint64_t ping_ms;       /* when the PING under way was sent; 0: none is */
    uint64_t connect_at_ms; /* when the next connection is tried */
    uint64_t tried_ms;      /* when the last one was */
    uint64_t backoff_ms;
    uint32_t token_sum;
    char trouble[CLAIM_ERROR_CAP];   /* why there is no connection */
    char ended_why[CLAIM_ERROR_CAP]; /* why the transport of this one ended; empty: closed */
    char token[TOKEN_CAP];
    char authority[NAME_CAP + 8u];
    struct h2 h2;
    struct h2_stream streams[H2_CLIENT_STREAMS];
    uint8_t rx[H2_CLIENT_RX_BYTES];
    uint8_t tx[H2_CLIENT_TX_BYTES];
    uint8_t field[H2_CLIENT_FIELD_BYTES];
    uint8_t scratch[H2_CLIENT_FIELD_BYTES];
};

/* No connection yet; the first one is tried after API_START_MS. */
void connection_init(struct agent *a);
/* Whether there is one: bytes flow. */
bool connection_open(const struct agent *a);
/* The host's facts, see agent.h. */
void connection_opened(struct agent *a, uint64_t now_ms);
void connection_attempt_failed(struct agent *a, const char *why);
void connection_ended(struct agent *a, const char *why);
/* Bytes came from the server. */
void connection_heard(struct agent *a);
/* Takes over token and authority; true: the token is another one than before. */
bool connection_identity(struct agent *a, struct view token, struct view authority);
/* The first connection need not wait any longer. */
void connection_hurry(struct agent *a);
/* Tries a connection when one is due. */
void connection_try(struct agent *a);
/* When connection_try or connection_silent has something to do; UINT64_MAX: not by time. */
uint64_t connection_deadline(const struct agent *a);
/*
 * Sends a PING on a silent path. True: the last one was not answered in time, and the connection is
 * to be given up (RFC 9113 §6.7).
 */
bool connection_silent(struct agent *a);
/* Takes an event that concerns the whole connection; false: it concerns a stream. */
bool connection_event(struct agent *a, const struct h2_event *e);
/* The connection is over because of `why`; false: there is none. */
bool connection_lose(struct agent *a, const char *why);
/* The server asked for another connection, and nothing is under way any more. */
void connection_move(struct agent *a);
/* LOST or MOVED, which counts as reported; QUIET: neither. */
enum connection_notice connection_take_loss(struct agent *a);
/* OPENED, or CLOSED when no end is left to report; the same verdicts. */
enum connection_notice connection_take_notice(struct agent *a);
/* Asks the host for something; connection_order hands it out. */
void connection_want(struct agent *a, enum agent_order order);
/* The next order for the host, which counts as carried out; ORDER_NONE: there is none. */
enum agent_order connection_order(struct agent *a);

#endif
