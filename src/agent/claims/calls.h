/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodePrepareResources and NodeUnprepareResources (calls.c, replies.c). Owns struct call and struct
 * operation. Internal to src/agent.
 */
#ifndef AGENT_CLAIMS_CALLS_H
#define AGENT_CLAIMS_CALLS_H

#include "agent/agent.h"
#include "dra/claim.h"
#include "wire/grpc.h"

/* How far one claim of a call has come; `state` of struct operation. */
enum {
    OPERATION_FREE,
    OPERATION_WAITING, /* for a claim GET to begin */
    OPERATION_FETCHING,
    OPERATION_WRITTEN, /* in store and CDI, not flushed */
    OPERATION_DONE,    /* success, flushed */
    OPERATION_FAILED   /* `error` says why */
};

/* In `refuted`: the server refused to look at its GET. */
#define OPERATION_UNPROCESSED 0x80u

/* One claim of a call. */
struct operation {
    uint8_t state; /* OPERATION_… */
    uint8_t fetch; /* FETCHING: index of the fetch */
    /* bit per api_version in which its claim's path was not known, and OPERATION_UNPROCESSED */
    uint8_t refuted;
    uint16_t call;
    uint16_t slot;      /* WRITTEN, DONE of prepare: where the record is */
    bool fresh;         /* this operation wrote the record */
    uint32_t entry_len; /* bytes of its entry in the reply */
    uint64_t deadline_ms;
    struct claim_id id;
    char error[CLAIM_ERROR_CAP];
};

/* One prepare or unprepare call. */
struct call {
    bool used;
    bool unprepare;
    bool replying;
    bool asked; /* the GET of one of its claims was sent */
    bool begun; /* the reply's length prefix is out */
    uint8_t link;
    struct grpc_call_id id;
    uint64_t begun_ms; /* when it was complete */
    uint16_t count;
    uint16_t at;     /* replying: operation under way */
    uint32_t offset; /* bytes of its entry already sent */
    uint16_t operation[CLAIMS_PER_CALL_MAX];
};
/* Calls that all links together can have open. */
#define CALLS_MAX (SERVICE_LINKS * H2_SERVER_STREAMS)

/* Begins a prepare or unprepare call (calls.c); answers it itself when it cannot. */
void calls_begin(struct agent *a, unsigned link, const struct grpc_event *event, bool unprepare);
/* A call ended without its answer; serial 0: all calls of the link did. */
void calls_gone(struct agent *a, unsigned link, struct grpc_call_id id);
void calls_step(struct agent *a);
uint64_t calls_deadline(const struct agent *a);
/* Ends every running call with UNAVAILABLE (stop). */
void calls_abandon(struct agent *a);
/* Result of a fetch: b is complete, or NULL and `why`. */
void calls_fetched(struct agent *a, unsigned operation, const struct claim_builder *b,
                   const char *why);

#endif
