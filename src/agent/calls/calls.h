/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodePrepareResources and NodeUnprepareResources (calls.c, calls_start.c). Owns struct call and
 * struct operation. A call is answered through its gRPC connection as soon as all of its claims
 * have a result. Internal to src/agent.
 */
#ifndef AGENT_CALLS_CALLS_H
#define AGENT_CALLS_CALLS_H

#include "agent/agent.h"
#include "dra/claim.h"
#include "wire/grpc.h"

/* Progress of one claim of a call; `state` of struct operation. */
enum {
    OPERATION_FREE,
    OPERATION_WAITING,  /* waits until its claim GET can start */
    OPERATION_FETCHING, /* its GET runs */
    OPERATION_WRITTEN,  /* the store and the CDI file are changed, but not flushed */
    OPERATION_DONE,     /* success, flushed */
    OPERATION_FAILED    /* `error` has the reason */
};

/* A claim of a call. */
struct operation {
    uint8_t state;   /* OPERATION_… */
    uint8_t fetch;   /* FETCHING: index of the fetch */
    uint8_t history; /* history of its GETs, see FETCH_UNPROCESSED */
    uint8_t waits;   /* how often the wait before its next GET was doubled */
    uint16_t call;
    uint16_t slot;        /* WRITTEN, DONE of a prepare: slot of the record in the ledger */
    bool compares;        /* the claim is held: its GET only compares it with the API server */
    bool store_awaited;   /* it already waited once for a removed store to be recreated */
    bool fresh;           /* this operation wrote the record, which is not flushed yet */
    uint32_t devices_len; /* WRITTEN, DONE of a prepare: bytes of its devices in the reply */
    uint64_t deadline_ms; /* WAITING: when the operation fails */
    uint64_t next_ms;     /* WAITING: earliest start of its GET; 0: now */
    struct claim_id id;
    char error[CLAIM_ERROR_CAP]; /* WAITING: failure of the last GET; "": none */
};

/* Progress of a call; `state` of struct call. */
enum {
    CALL_FREE,
    CALL_RUNNING,  /* some of its claims have no result yet */
    CALL_REPLYING, /* its reply is sent as the peer accepts it */
    CALL_FAILED    /* `code` and `text` are sent as soon as there is room */
};

/* One prepare or unprepare call. */
struct call {
    uint8_t state; /* CALL_… */
    bool unprepare;
    bool asked; /* a GET for one of its claims was sent */
    /* borrowed: the server of its connection; valid until calls_gone */
    struct grpc_server *server;
    struct grpc_call_id id;
    uint64_t start_ms;     /* when its request was complete */
    uint64_t end_ms;       /* when all of its GETs must have ended */
    enum grpc_status code; /* FAILED: the status to send, not GRPC_OK */
    const char *text;      /* FAILED: the status message, static */
    uint16_t count;
    uint16_t operation[CLAIMS_PER_CALL_MAX];
};
/* Maximum number of open calls on all links together. */
#define CALLS_MAX (SERVICE_LINKS * H2_SERVER_STREAMS)

/*
 * Starts a prepare or unprepare call. GRPC_OK: it runs, and is answered when complete. Other codes:
 * it is refused and forgotten, and the caller answers with the code and *text, which is static.
 */
MUST_USE enum grpc_status calls_start(struct agent *a, struct grpc_server *server,
                                      const struct grpc_event *event, bool unprepare,
                                      const char **text);
/* Ends a call without an answer. */
void calls_release(struct agent *a, unsigned index);
/*
 * Handles a call of the connection that ended without its response; serial 0 in `id`: handles all
 * calls of the connection. Prepared claims stay prepared.
 */
void calls_gone(struct agent *a, const struct grpc_server *server, struct grpc_call_id id);
void calls_step(struct agent *a);
uint64_t calls_deadline(const struct agent *a);
/* Whether a call is open that arrived before `start_ms`. */
bool calls_open_before(const struct agent *a, uint64_t start_ms);
/* Whether a call is open that arrived at `start_ms` or later. */
bool calls_open_since(const struct agent *a, uint64_t start_ms);
/*
 * Stops the running operations, because another agent owns the store from now on: an operation
 * whose GET runs waits again, and one that has written its claim fails.
 */
void calls_retire(struct agent *a);
/* Ends every running call with UNAVAILABLE because the agent stops. */
void calls_abandon(struct agent *a);

#endif
