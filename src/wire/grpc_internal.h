/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the files of the gRPC server share; grpc.h names the specifications. Owns no
 * state. Only src/wire/grpc*.c include this file.
 *
 *   grpc.c       requests: header fields, the message, deadlines, events
 *   grpc_send.c  replies, statuses, refusals, the end of a call
 */
#ifndef WIRE_GRPC_INTERNAL_H
#define WIRE_GRPC_INTERNAL_H

#include "wire/grpc.h"

/* Values of `state` in struct grpc_call: progress of a call. */
enum {
    GRPC_CALL_HEAD,     /* the header list of the request is arriving */
    GRPC_CALL_PREFIX,   /* the prefix of the request's message is arriving */
    GRPC_CALL_BODY,     /* the request's message is arriving */
    GRPC_CALL_WHOLE,    /* the message is complete; the stream's input has not ended */
    GRPC_CALL_RUNNING,  /* the CALL event was returned to the owner */
    GRPC_CALL_REFUSED,  /* the refusal waits for send room */
    GRPC_CALL_ANSWERED, /* the refusal was sent; the rest of the request is dropped */
    GRPC_CALL_STATES
};

/*
 * Bits of `flags` in struct grpc_call: properties of the request, and what was received and sent.
 */
#define GRPC_FLAG_POST 0x01u
#define GRPC_FLAG_TYPE 0x02u /* the request's content-type is application/grpc */
#define GRPC_FLAG_PATH_LONG 0x04u
#define GRPC_FLAG_TIMEOUT_BAD 0x08u
#define GRPC_FLAG_INPUT_ENDED 0x10u
#define GRPC_FLAG_HEAD_SENT 0x20u
#define GRPC_FLAG_REPLY_BEGUN 0x40u /* grpc_reply_message or grpc_reply_all began a message */
/* the request's method is HEAD: send no body (RFC 9110 §9.3.2) */
#define GRPC_FLAG_BODILESS 0x80u

/*
 * Reasons to end a call without a CALL event to the owner. The table in grpc_send.c has the
 * response that the peer gets for each reason.
 */
enum grpc_refusal {
    GRPC_REFUSE_METHOD,
    GRPC_REFUSE_TYPE,
    GRPC_REFUSE_UNKNOWN,
    /*
     * If a request is still arriving when its refusal has been sent, the reason decides what
     * call_end does: for METHOD, TYPE and UNKNOWN it drops the rest of the request; for
     * GRPC_REFUSE_STOPPING and every later value it resets the stream.
     */
    GRPC_REFUSE_STOPPING,
    GRPC_REFUSE_PATH,
    GRPC_REFUSE_TIMEOUT,
    GRPC_REFUSE_COMPRESSED, /* by the encoding that grpc-encoding names */
    GRPC_REFUSE_UNENCODED,  /* the message is marked as compressed, but no encoding is named */
    GRPC_REFUSE_PREFIX,
    GRPC_REFUSE_SIZE,
    GRPC_REFUSE_BUFFERS,
    GRPC_REFUSE_EMPTY,
    GRPC_REFUSE_HALF,
    GRPC_REFUSE_SECOND,
    GRPC_REFUSE_SLOW,
    GRPC_REFUSE_DEADLINE,
    GRPC_REFUSALS
};

/* --- functions of grpc_send.c --- */

/* Releases the buffer of a long message, if the call has one. */
void grpc_buffer_release(struct grpc_server *s, struct grpc_call *call);
/* Releases the buffer of the call, and frees the entry of the call in the call table. */
void grpc_call_free(struct grpc_server *s, struct grpc_call *call);
/* Sends a refusal, at once or as soon as there is send room, and then ends the call. */
void grpc_refuse(struct grpc_server *s, struct grpc_call *call, enum grpc_refusal why);
/* Sends the refusals that wait for send room, as far as there is room now. */
void grpc_refuse_due(struct grpc_server *s);

#endif
