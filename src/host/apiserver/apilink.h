/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the API server: loads the credentials, resolves the name, opens TCP and TLS,
 * then moves bytes between TLS and the agent's link LINK_API. Owns the descriptor, the time limits
 * and the text that reports a failure; knows nothing of HTTP. No function blocks.
 */
#ifndef HOST_APISERVER_APILINK_H
#define HOST_APISERVER_APILINK_H

#include "agent/agent.h"
#include "host/apiserver/credentials.h"
#include "host/apiserver/resolver.h"

/* Progress of the connection to the API server. */
enum apilink_phase {
    APILINK_IDLE,
    APILINK_RESOLVING,
    APILINK_CONNECTING,
    APILINK_SHAKING,
    APILINK_OPEN
};

/* The connection to the API server, or the attempt to open it. */
struct apilink {
    /* the agent to which agent_api_opened, agent_api_failed and agent_api_ended report; borrowed */
    struct agent *agent;
    const struct settings *settings; /* the settings of the agent; borrowed */
    enum apilink_phase phase;
    int fd;                /* descriptor of the connection's socket; -1: there is no socket */
    bool tls;              /* a TLS session exists */
    bool token_trouble;    /* a token failure was logged, and the token is still unreadable */
    bool read_wants_write; /* TLS must send bytes before it can read more */
    /* number of failed attempts to connect; selects the first address of the next attempt */
    unsigned turn;
    /* index, in the list of resolved addresses, of the address that this attempt tries first */
    unsigned first;
    unsigned next; /* number of addresses tried in this attempt */
    /* the last attempt to connect succeeded, so the next attempt tries `address` first */
    bool worked;
    struct ip_address address; /* the last address tried */
    /*
     * The server sent too fast: nothing is read until read_us is at most API_READ_BURST_MS ahead of
     * the clock.
     */
    bool slow;
    uint64_t read_us;    /* virtual clock in microseconds; each read advances it, see API_READ_US */
    int error;           /* errno of the last failed attempt to connect to an address */
    uint64_t attempt_ms; /* deadline of the whole attempt to connect */
    uint64_t address_ms; /* deadline for connecting to `address` */
    uint64_t token_ms;   /* time of the next read of the token file */
    /*
     * Length of the last write that TLS did not complete; the next write must repeat these bytes.
     * 0: the last write is complete.
     */
    size_t unsent;
    struct resolver resolver;
    struct credentials credentials;
};

/*
 * Initializes `l` without a connection; `agent` and `settings` are borrowed until the process ends.
 */
void apilink_init(struct apilink *l, struct agent *agent, const struct settings *settings);
/*
 * Closes the connection to the API server, if any, and starts a new attempt to connect. Reports the
 * outcome by agent_api_opened or agent_api_failed, perhaps before this function returns.
 */
void apilink_start(struct apilink *l, uint64_t now_ms);
/* Reads the token file again, if there is one, and passes the token to the agent. */
void apilink_read_token(struct apilink *l);
/* Closes the connection to the API server without reporting the end to the agent. */
void apilink_close(struct apilink *l);
/*
 * Sends the agent's last bytes, as far as the socket accepts them at once, and closes the
 * connection. The last bytes include a GOAWAY frame with the reason (RFC 9113 §5.4.1).
 */
void apilink_end(struct apilink *l);

/*
 * Returns the descriptor for poll(2), and sets *events to the events to wait for; -1: there is no
 * descriptor to wait for.
 */
int apilink_interest(struct apilink *l, short *events);
/*
 * Continues the connection after poll(2) returned `revents`; `revents` 0: no event, but a timer may
 * be due.
 */
void apilink_turn(struct apilink *l, short revents, uint64_t now_ms);
/* Passes one piece of the agent's output to TLS. Returns whether any bytes were accepted. */
bool apilink_write(struct apilink *l);
/*
 * Whether poll(2) must not wait, because the handshake can continue, or because TLS still has
 * received bytes and the agent has buffer space for them.
 */
bool apilink_eager(struct apilink *l);
/* Returns the time by which apilink_turn must be called again; UINT64_MAX: no limit. */
uint64_t apilink_deadline(const struct apilink *l);

#endif
