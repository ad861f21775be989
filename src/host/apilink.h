/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the API server: credentials, address, TCP, TLS, then bytes between TLS and the
 * agent's link LINK_API. Owns descriptor, time limits and the one line that says what failed; knows
 * no byte of HTTP. Nothing here blocks.
 */
#ifndef HOST_APILINK_H
#define HOST_APILINK_H

#include "agent/agent.h"
#include "host/credentials.h"
#include "host/resolver.h"

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
    struct agent *agent;    /* borrowed; hears of every outcome */
    const char *kubeconfig; /* borrowed; empty: in-cluster */
    enum apilink_phase phase;
    int fd;                /* -1: none */
    bool tls;              /* a TLS session exists */
    bool token_trouble;    /* said once until it works again */
    bool read_wants_write; /* TLS has to send before it can read on */
    unsigned turn;         /* attempts that failed: another address comes first each time */
    unsigned next;         /* addresses tried in this attempt */
    bool slow;             /* more was read than may be: not read on before read_us allows it */
    uint64_t read_us;      /* each read moves it on by what it costs, see API_READ_US */
    int error;             /* errno of the last address that failed */
    uint64_t attempt_ms;   /* end of the whole attempt */
    uint64_t address_ms;   /* end of the attempt with this address */
    uint64_t token_ms;     /* when the token file is read again */
    size_t unsent; /* bytes that TLS took in but has not sent: must be handed in again unchanged */
    struct resolver resolver;
    struct credentials credentials;
};

/* Nothing open yet; `agent` and `kubeconfig` are borrowed for good. */
void apilink_init(struct apilink *l, struct agent *agent, const char *kubeconfig);
/* Begins a connection; ends an earlier one first. The agent hears agent_api_opened or
 * agent_api_failed, perhaps before this returns. */
void apilink_begin(struct apilink *l, uint64_t now_ms);
/* Reads the token again, if it comes from a file, and tells the agent. */
void apilink_read_token(struct apilink *l);
/* Closes without telling the agent. */
void apilink_close(struct apilink *l);
/*
 * Closes after the agent's last bytes, as far as the socket takes them at once: the server learns
 * by GOAWAY why (RFC 9113 §5.4.1).
 */
void apilink_end(struct apilink *l);

/* What poll(2) should wait for: returns the descriptor, or -1, and sets *events. */
int apilink_interest(struct apilink *l, short *events);
/* Continues after poll said `revents` (0: only time has passed). */
void apilink_turn(struct apilink *l, short revents, uint64_t now_ms);
/* Hands the agent's bytes to TLS, one piece; whether any moved. */
bool apilink_write(struct apilink *l);
/* Whether decrypted bytes wait and the agent has room: poll must not sleep. */
bool apilink_eager(struct apilink *l);
/* When apilink_turn must run at the latest. */
uint64_t apilink_deadline(const struct apilink *l);

#endif
