/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC over HTTP/2, client role: one unary call on a connection of its own. Sends the request, and
 * returns the response message in the pieces in which it arrives, so that its length is not
 * bounded. Owns struct grpc_client; the owner of the connection passes bytes through its struct h2.
 * Source: gRPC "PROTOCOL-HTTP2".
 *
 * Invariants:
 * I1 The pieces joined, the status and its text do not depend on how the peer's octets are split
 *    into reads.
 * I2 After the end of the response, grpc_client_next is not called again.
 * I3 Bounded memory: the text of the status is cut at GRPC_CLIENT_TEXT_CAP.
 */
#ifndef WIRE_GRPC_CLIENT_H
#define WIRE_GRPC_CLIENT_H

#include "wire/h2.h"

/* `code`: no grpc-status was received; no status of gRPC has this number or a higher one. */
#define GRPC_CODE_NONE 17u

/* A call. The owner reads all members. */
struct grpc_client {
    struct h2 *h2; /* the connection; borrowed */
    uint32_t stream;
    bool ended;         /* the response has ended */
    unsigned code;      /* value of grpc-status in the response, or GRPC_CODE_NONE */
    struct writer text; /* value of grpc-message in the response, cut; may be any bytes */
    uint8_t text_bytes[GRPC_CLIENT_TEXT_CAP];
};

/*
 * Puts the request into the send buffer of `h2`, a connection that the owner has just started
 * (h2_init). `request`: the message with its prefix. Head and request fit the send buffer.
 */
void grpc_client_begin(struct grpc_client *c, struct h2 *h2, const char *method,
                       struct view request);
/*
 * Handles the next event of the connection. STATUS_OK: *piece is the next piece of the response
 * message, which starts with its prefix; it is valid until the next call, and may be empty, and
 * c->ended tells whether the response has ended. STATUS_MORE: bytes must be sent or received first.
 * PEER_MALFORMED: the peer does not speak HTTP/2, reset the call, or closed the connection.
 */
MUST_USE enum status grpc_client_next(struct grpc_client *c, struct view *piece);

#endif
