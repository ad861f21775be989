/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodePrepareResources and NodeUnprepareResources (calls.c, calls_start.c). Owns struct call and
 * struct operation. A call is answered through its gRPC connection as soon as all of its claims
 * have their result. Internal to src/agent.
 */
#ifndef AGENT_CALLS_CALLS_H
#define AGENT_CALLS_CALLS_H

#include "agent/agent.h"
#include "dra/claim.h"
#include "wire/grpc.h"

/* How far one claim of a call has come; `state` of struct operation. */
enum {
    OPERATION_FREE,
    OPERATION_WAITING,  /* for a claim GET to start */
    OPERATION_FETCHING, /* its GET runs */
    OPERATION_WRITTEN,  /* in store and CDI, not flushed */
    OPERATION_DONE,     /* success, flushed */
    OPERATION_FAILED    /* `error` says why */
};

/* One claim of a call. */
struct operation {
    uint8_t state;   /* OPERATION_… */
    uint8_t fetch;   /* FETCHING: index of the fetch */
    uint8_t history; /* of its GETs, see FETCH_UNPROCESSED */
    uint8_t waits;   /* how often the wait for its next GET was doubled */
    uint16_t call;
    uint16_t slot;        /* WRITTEN, DONE of a prepare: slot of the record in the ledger */
    bool compares;        /* the claim is held: its GET only tells whether it is still the same */
    bool again;           /* it waited for a store that was removed */
    bool fresh;           /* this operation wrote the record, and it is not flushed yet */
    uint32_t entry_len;   /* WRITTEN, DONE of a prepare: bytes of its entry in the reply */
    uint64_t deadline_ms; /* WAITING: when it fails */
    uint64_t next_ms;     /* WAITING: no GET starts earlier; 0: one may start now */
    struct claim_id id;
    char error[CLAIM_ERROR_CAP]; /* WAITING: what the last GET failed by; "": nothing */
};

/* How far a call has come; `state` of struct call. */
enum {
    CALL_FREE,
    CALL_RUNNING,  /* some of its claims have no result yet */
    CALL_REPLYING, /* its reply is sent as the peer takes it */
    CALL_FAILED    /* `code` and `text` are sent as soon as there is room */
};

/* One prepare or unprepare call. */
struct call {
    uint8_t state; /* CALL_… */
    bool unprepare;
    bool asked; /* the GET of one of its claims was sent */
    /* borrowed: the connection's; valid until calls_gone */
    struct grpc_server *server;
    struct grpc_call_id id;
    uint64_t start_ms;     /* when its request was complete */
    uint64_t end_ms;       /* when each of its GETs has ended */
    enum grpc_status code; /* FAILED: not OK */
    const char *text;      /* FAILED: static */
    uint16_t count;
    uint16_t operation[CLAIMS_PER_CALL_MAX];
};
/* Calls that all links together can have open. */
#define CALLS_MAX (SERVICE_LINKS * H2_SERVER_STREAMS)

/*
 * Starts a prepare or unprepare call. GRPC_OK: it runs, and is answered when it is complete. Other
 * codes: it is refused, its request is forgotten, and the caller answers it with the code and
 * *text, which is static.
 */
MUST_USE enum grpc_status calls_start(struct agent *a, struct grpc_server *server,
                                      const struct grpc_event *event, bool unprepare,
                                      const char **text);
/* Ends a call without an answer to its peer. */
void calls_release(struct agent *a, unsigned index);
/*
 * A call of the connection ended without its response; `id` of serial 0: all of its calls did.
 * What they prepared stays prepared.
 */
void calls_gone(struct agent *a, const struct grpc_server *server, struct grpc_call_id id);
void calls_step(struct agent *a);
uint64_t calls_deadline(const struct agent *a);
/* Whether a call is open that came before that time. */
bool calls_open_before(const struct agent *a, uint64_t start_ms);
/* Whether a call is open that came then or later. */
bool calls_open_since(const struct agent *a, uint64_t start_ms);
/* The store is another agent's from now on: what still runs waits for it, or fails. */
void calls_retire(struct agent *a);
/* Ends every running call with UNAVAILABLE, because the agent stops. */
void calls_abandon(struct agent *a);

#endif
