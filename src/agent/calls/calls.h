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

/* Progress of one claim of a call: the values of `state` in struct operation. */
enum {
    OPERATION_FREE,
    OPERATION_WAITING,  /* the operation waits until the GET of its claim can start */
    OPERATION_FETCHING, /* the GET of the operation's claim is running */
    OPERATION_WRITTEN,  /* the store and the CDI file are changed, but not flushed */
    OPERATION_DONE,     /* the claim is prepared or unprepared, and the changes are flushed */
    OPERATION_FAILED    /* the operation failed; `error` has the reason */
};

/* The work of a call for one claim: its progress and its result. */
struct operation {
    uint8_t state;   /* progress of the operation: OPERATION_FREE to OPERATION_FAILED */
    uint8_t fetch;   /* if OPERATION_FETCHING: index of the fetch */
    uint8_t history; /* set of bits about earlier GETs of the claim, see FETCH_UNPROCESSED */
    uint8_t waits;   /* how many times the wait before the next GET was doubled */
    uint16_t call;
    /* a prepare that is OPERATION_WRITTEN or OPERATION_DONE: slot of the claim in the ledger */
    uint16_t slot;
    bool compares; /* the claim is already held: the GET only serves to compare its allocation */
    bool store_awaited; /* the operation already waited once until a removed store was recreated */
    bool fresh; /* this operation added the claim to the ledger, and the claim is not flushed yet */
    /*
     * a prepare that is OPERATION_WRITTEN or OPERATION_DONE: length of the claim's devices in the
     * reply, in bytes
     */
    uint32_t devices_len;
    /* if OPERATION_WAITING: when the operation fails or, if `compares`, uses the stored record */
    uint64_t deadline_ms;
    uint64_t next_ms; /* if OPERATION_WAITING: earliest start of the next GET; 0: at once */
    struct claim_id id;
    /* if OPERATION_FAILED, the reason; if OPERATION_WAITING, why the last GET failed, or "" */
    char error[CLAIM_ERROR_CAP];
};

/* Progress of a call: the values of `state` in struct call. */
enum {
    CALL_FREE,
    CALL_RUNNING,  /* some claims of the call have no result yet */
    CALL_REPLYING, /* the reply is being sent as fast as the peer accepts it */
    CALL_FAILED    /* the call failed: `code` and `text` are sent once the send buffer has space */
};

/* One prepare or unprepare call. */
struct call {
    uint8_t state; /* progress of the call: CALL_FREE to CALL_FAILED */
    bool unprepare;
    bool asked; /* a GET for at least one claim of the call was sent */
    /* the server side of the call's connection; borrowed, valid until calls_gone is called */
    struct grpc_server *server;
    struct grpc_call_id id;
    uint64_t start_ms; /* when the request of the call was complete, in milliseconds */
    /* start of the call by agent_clock_us, to measure the duration of the call */
    uint64_t start_us;
    uint64_t end_ms;       /* when all GETs of the call must have ended */
    enum grpc_status code; /* if CALL_FAILED: the status to send, never GRPC_OK */
    const char *text;      /* if CALL_FAILED: the status message to send; static text */
    uint16_t count;
    uint16_t operation[CLAIMS_PER_CALL_MAX];
};
/* Maximum number of open calls on all links together. */
#define CALLS_MAX (SERVICE_LINKS * H2_SERVER_STREAMS)

/*
 * Starts a prepare or unprepare call. GRPC_OK: the call runs, and is answered when it is complete.
 * Any other code: the call is refused, and the caller must answer it with that code and *text,
 * which is static.
 */
MUST_USE enum grpc_status calls_start(struct agent *a, struct grpc_server *server,
                                      const struct grpc_event *event, bool unprepare,
                                      const char **text);
/* Frees a call, its operations and its reply. Sends no answer. */
void calls_release(struct agent *a, unsigned index);
/*
 * Handles the end of a call whose response was not sent completely. If the serial of `id` is 0,
 * handles all calls on the connection of `server`. Prepared claims stay prepared.
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
 * whose GET runs waits again, and an operation that has written its claim fails.
 */
void calls_retire(struct agent *a);
/* Ends every running call with UNAVAILABLE because the agent stops. */
void calls_abandon(struct agent *a);

#endif
