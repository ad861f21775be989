/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the API server (connection.c): when to open it, what ends it, the identity that
 * is used on it, and the orders that it gives the host. Owns struct api_connection; knows nothing
 * about requests. Only client.c calls these functions; all other files call the functions of
 * client.h.
 */
#ifndef AGENT_API_CONNECTION_H
#define AGENT_API_CONNECTION_H

#include "agent/agent.h"
#include "wire/h2.h"

/* State of the connection to the API server. */
enum api_state {
    API_UNTRIED, /* the agent has not yet tried to connect */
    API_DOWN,    /* there is no connection; the next attempt starts at connect_at_ms */
    API_CONNECTING,
    API_UP,
    API_DRAINING /* after GOAWAY: running requests may finish, but no new request starts */
};

/* Changes of the connection, which the client reports to the agent. */
enum connection_notice {
    CONNECTION_QUIET,  /* the connection has not changed */
    CONNECTION_OPENED, /* there is a new connection, perhaps to another server */
    CONNECTION_LOST,   /* the connection ended; `trouble` has the reason */
    /* the connection ended because the server asked for another one; `trouble` says so */
    CONNECTION_MOVED,
    CONNECTION_CLOSED /* all requests have ended after CONNECTION_LOST or CONNECTION_MOVED */
};

/* The connection: its transport, its state, and the identity that the agent uses on it. */
struct api_connection {
    enum api_state state;
    enum connection_notice notice;
    unsigned orders; /* bit for each enum agent_order: the host has not fetched this order yet */
    /*
     * the last connection ended because the server asked for another one, so planned work continues
     */
    bool moved;
    uint64_t opened_ms;     /* when this connection was opened */
    uint64_t heard_ms;      /* when bytes last arrived from the server */
    uint64_t ping_ms;       /* when the unanswered PING was sent; 0: none */
    uint64_t connect_at_ms; /* when to try the next connection */
    uint64_t hurry_at_ms;   /* when to try it if a call needs it */
    uint64_t tried_ms;      /* when the last attempt started */
    uint64_t backoff_ms;
    uint32_t token_sum;
    char trouble[CLAIM_ERROR_CAP]; /* why there is no connection */
    /* the reason why the transport ended; empty: the server closed it */
    char ended_why[CLAIM_ERROR_CAP];
    char token[TOKEN_CAP];
    char authority[NAME_CAP + 8u];
    struct h2 h2;
    struct h2_stream streams[H2_CLIENT_STREAMS];
    uint8_t rx[H2_CLIENT_RX_BYTES];
    uint8_t tx[H2_CLIENT_TX_BYTES];
    uint8_t field[H2_CLIENT_FIELD_BYTES];
    uint8_t scratch[H2_CLIENT_FIELD_BYTES];
};

/* Initializes the state without a connection; the first attempt starts after API_START_MS. */
void connection_init(struct agent *a);
/* Whether a connection is open: API_UP or API_DRAINING. */
bool connection_open(const struct agent *a);
/* The host reports events of the connection by these functions; agent.h describes each one. */
void connection_opened(struct agent *a, uint64_t now_ms);
void connection_attempt_failed(struct agent *a, const char *why);
void connection_ended(struct agent *a, const char *why);
/* Records that bytes arrived from the server. */
void connection_heard(struct agent *a);
/* Copies the token and the server's authority; returns whether the token has changed. */
bool connection_identity(struct agent *a, struct view token, struct view authority);
/*
 * Plans the next attempt to connect earlier, because a call of the kubelet needs the connection:
 * the first attempt of the process at once, each later one after a wait that doubles with each
 * failure.
 */
void connection_hurry(struct agent *a);
/* Opens a connection if one is due. */
void connection_try(struct agent *a);
/* When connection_try or connection_silent next has work to do; UINT64_MAX: no timer runs. */
uint64_t connection_deadline(const struct agent *a);
/*
 * Sends a PING on a silent connection. true: the server did not answer the last PING in time, so
 * the caller must give up the connection (RFC 9113 §6.7).
 */
bool connection_silent(struct agent *a);
/*
 * Handles a GOAWAY or the answer to a PING. false: the event is of another kind, and the caller
 * must handle it.
 */
bool connection_event(struct agent *a, const struct h2_event *e);
/* Ends the connection because of `why`; false: no connection is open. */
bool connection_lose(struct agent *a, const char *why);
/* Ends the connection because the server asked for another connection and no request is running. */
void connection_move(struct agent *a);
/*
 * Returns CONNECTION_LOST or CONNECTION_MOVED once after a connection has ended; at all other times
 * returns CONNECTION_QUIET.
 */
enum connection_notice connection_poll_loss(struct agent *a);
/*
 * Returns CONNECTION_OPENED or CONNECTION_CLOSED once after that change; at all other times returns
 * CONNECTION_QUIET. Call it only after the ends of all requests were reported.
 */
enum connection_notice connection_poll_notice(struct agent *a);
/*
 * Requests an action that only the host can execute, for example to connect to the API server;
 * connection_order returns it later.
 */
void connection_want(struct agent *a, enum agent_order order);
/* Removes and returns the next action that the host must execute; ORDER_NONE: there is none. */
enum agent_order connection_order(struct agent *a);

#endif
