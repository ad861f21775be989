/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC over HTTP/2, client role, unary calls: what a kubelet speaks to a plugin. Owns the calls of
 * one connection; knows no service. Pure: bytes go in and out by `h2`, time is told.
 * Source: gRPC "PROTOCOL-HTTP2" text; headers as grpc-go sends them.
 */
#ifndef TESTS_SIM_SIM_GRPC_H
#define TESTS_SIM_SIM_GRPC_H

#include "tests/sim/sim_limits.h"
#include "wire/grpc.h"

struct sim_call {
    uint32_t stream; /* 0: free entry */
    uint32_t tag;    /* caller's number */
    bool ended;
    uint64_t deadline_ms;
    unsigned http;
    int code; /* grpc-status, -1: none came */
    char text[GRPC_STATUS_TEXT_CAP];
    size_t sent; /* bytes of the request that went out */
    size_t len;
    size_t have; /* bytes of the reply that came */
    uint8_t request[GRPC_MESSAGE_BYTES_MAX + GRPC_PREFIX_BYTES];
    uint8_t reply[SIM_REPLY_BYTES];
};

struct sim_grpc {
    struct h2 h2;
    uint64_t now_ms;
    struct sim_call call[SIM_CALLS_MAX];
    struct h2_stream streams[SIM_CALLS_MAX];
    uint8_t rx[SIM_RX_BYTES];
    uint8_t tx[SIM_TX_BYTES];
    uint8_t field[SIM_FIELD_BYTES];
    uint8_t scratch[SIM_FIELD_BYTES];
};

struct sim_grpc_request {
    const char *path; /* "/package.Service/Method" */
    const char *authority;
    struct view message; /* at most GRPC_MESSAGE_BYTES_MAX */
    uint32_t tag;
    uint64_t limit_ms; /* sent as grpc-timeout, and kept */
};

/* How one call ended. */
struct sim_grpc_result {
    uint32_t tag;
    int code;            /* enum grpc_status */
    const char *text;    /* borrowed until the next call of this module */
    struct view message; /* likewise; of code 0 only */
};

void sim_grpc_init(struct sim_grpc *c, uint64_t now_ms);
/*
 * Starts a call, whose limit counts from `now_ms`. FULL_TABLE: SIM_CALLS_MAX are under way.
 * STATUS_MORE: the peer takes no stream now.
 */
MUST_USE enum status sim_grpc_call(struct sim_grpc *c, uint64_t now_ms,
                                   const struct sim_grpc_request *r);
/*
 * Next ended call. STATUS_MORE: none now. Others: the connection failed (sticky), and every call
 * was reported UNAVAILABLE before.
 */
MUST_USE enum status sim_grpc_next(struct sim_grpc *c, uint64_t now_ms, struct sim_grpc_result *r);
/* When sim_grpc_next must be called at the latest. */
uint64_t sim_grpc_deadline(const struct sim_grpc *c);

#endif
