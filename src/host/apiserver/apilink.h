/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the API server: credentials, address, TCP, TLS, then bytes between TLS and the
 * agent's link LINK_API. Owns the descriptor, the time limits and the line that reports a failure;
 * knows nothing of HTTP. Nothing here blocks.
 */
#ifndef HOST_APISERVER_APILINK_H
#define HOST_APISERVER_APILINK_H

#include "agent/agent.h"
#include "host/apiserver/credentials.h"
#include "host/apiserver/resolver.h"

/* Progress of the connection. */
enum apilink_phase {
    APILINK_IDLE,
    APILINK_RESOLVING,
    APILINK_CONNECTING,
    APILINK_SHAKING,
    APILINK_OPEN
};

/* The connection, or the attempt to open one. */
struct apilink {
    struct agent *agent;             /* borrowed; receives every outcome */
    const struct settings *settings; /* borrowed */
    enum apilink_phase phase;
    int fd;                    /* -1: none */
    bool tls;                  /* a TLS session exists */
    bool token_trouble;        /* a token failure was logged, and the token is still unreadable */
    bool read_wants_write;     /* TLS must send before it can read on */
    unsigned turn;             /* failed attempts; each one starts with another address */
    unsigned first;            /* index of the first address of this attempt */
    unsigned next;             /* number of addresses tried in this attempt */
    bool worked;               /* the last address worked: the next attempt starts with it */
    struct ip_address address; /* the last address tried */
    bool slow;                 /* the server sent too fast: read again when read_us allows it */
    uint64_t read_us;          /* sum of the costs of reads, see API_READ_US */
    int error;                 /* errno of the last address that failed */
    uint64_t attempt_ms;       /* end of the whole attempt */
    uint64_t address_ms;       /* end of the attempt with this address */
    uint64_t token_ms;         /* when to read the token file again */
    size_t
        unsent; /* bytes TLS accepted but has not sent: they must be passed to it again unchanged */
    struct resolver resolver;
    struct credentials credentials;
};

/*
 * Initialises `l` without a connection; `agent` and `settings` are borrowed until the process ends.
 */
void apilink_init(struct apilink *l, struct agent *agent, const struct settings *settings);
/* Starts a connection; closes an earlier one first. Calls agent_api_opened or agent_api_failed,
 * perhaps before this returns. */
void apilink_start(struct apilink *l, uint64_t now_ms);
/* Reads the token file again, if there is one, and passes the token to the agent. */
void apilink_read_token(struct apilink *l);
/* Closes the connection without telling the agent. */
void apilink_close(struct apilink *l);
/*
 * Sends the agent's last bytes, as far as the socket accepts them at once, and closes. They include
 * a GOAWAY with the reason (RFC 9113 §5.4.1).
 */
void apilink_end(struct apilink *l);

/* Returns the descriptor for poll(2), or -1, and sets *events. */
int apilink_interest(struct apilink *l, short *events);
/* Continues the connection after poll returned `revents` (0: only time has passed). */
void apilink_turn(struct apilink *l, short revents, uint64_t now_ms);
/* Passes one piece of the agent's output to TLS. Returns whether any bytes were accepted. */
bool apilink_write(struct apilink *l);
/*
 * Whether poll must not sleep: the handshake can continue, or the agent has room for decrypted
 * bytes.
 */
bool apilink_eager(struct apilink *l);
/* The latest time for the next apilink_turn. */
uint64_t apilink_deadline(const struct apilink *l);

#endif
