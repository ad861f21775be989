/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the API server: credentials, address, TCP, TLS, then bytes between TLS and the
 * agent's link LINK_API. Owns the descriptor, the time limits and the one line that reports what
 * failed; knows nothing of HTTP. Nothing here blocks.
 */
#ifndef HOST_APISERVER_APILINK_H
#define HOST_APISERVER_APILINK_H

#include "agent/agent.h"
#include "host/apiserver/credentials.h"
#include "host/apiserver/resolver.h"

/* How far the connection has come. */
enum apilink_phase {
    APILINK_IDLE,
    APILINK_RESOLVING,
    APILINK_CONNECTING,
    APILINK_SHAKING,
    APILINK_OPEN
};

/* The connection, or the attempt at one. */
struct apilink {
    struct agent *agent;             /* borrowed; is called with every outcome */
    const struct settings *settings; /* borrowed */
    enum apilink_phase phase;
    int fd;                    /* -1: none */
    bool tls;                  /* a TLS session exists */
    bool token_trouble;        /* logged once until the token can be read again */
    bool read_wants_write;     /* TLS must send before it can read more */
    unsigned turn;             /* attempts that failed; each starts with another address */
    unsigned first;            /* index of the address that this attempt starts with */
    unsigned next;             /* addresses tried in this attempt */
    bool worked;               /* the address tried last did: the next attempt starts with it */
    struct ip_address address; /* tried last */
    bool slow;           /* the server sent too fast: nothing is read until read_us allows it */
    uint64_t read_us;    /* each read adds its cost to it, see API_READ_US */
    int error;           /* errno of the last address that failed */
    uint64_t attempt_ms; /* end of the whole attempt */
    uint64_t address_ms; /* end of the attempt with this address */
    uint64_t token_ms;   /* when the token file is read again */
    size_t
        unsent; /* bytes TLS accepted but has not sent: they must be passed to it again unchanged */
    struct resolver resolver;
    struct credentials credentials;
};

/*
 * Initialises `l` with nothing open; `agent` and `settings` are borrowed until the process ends.
 */
void apilink_init(struct apilink *l, struct agent *agent, const struct settings *settings);
/* Starts a connection; closes an earlier one first. Calls agent_api_opened or agent_api_failed,
 * perhaps before this returns. */
void apilink_start(struct apilink *l, uint64_t now_ms);
/* Reads the token again, if it comes from a file, and passes it to the agent. */
void apilink_read_token(struct apilink *l);
/* Closes the connection without a call to the agent. */
void apilink_close(struct apilink *l);
/*
 * Sends the agent's last bytes, as far as the socket takes them at once, and closes. Among them is
 * a GOAWAY with the reason (RFC 9113 §5.4.1).
 */
void apilink_end(struct apilink *l);

/* What poll(2) should wait for: returns the descriptor, or -1, and sets *events. */
int apilink_interest(struct apilink *l, short *events);
/* Continues the connection after poll returned `revents` (0: only time has passed). */
void apilink_turn(struct apilink *l, short revents, uint64_t now_ms);
/* Passes the agent's bytes to TLS, one piece. Whether any were accepted. */
bool apilink_write(struct apilink *l);
/*
 * Whether poll must not sleep: the handshake has more to do, or decrypted bytes wait and the agent
 * has room for them.
 */
bool apilink_eager(struct apilink *l);
/* When apilink_turn must run at the latest. */
uint64_t apilink_deadline(const struct apilink *l);

#endif
