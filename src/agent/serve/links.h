/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of peers to our sockets, and answers that wait for room (links.c, answers.c).
 * Owns struct server_link and struct answer. Internal to src/agent.
 */
#ifndef AGENT_SERVE_LINKS_H
#define AGENT_SERVE_LINKS_H

#include "agent/agent.h"
#include "agent/serve/health.h"
#include "wire/grpc.h"

/* One connection of a peer to one of our sockets. */
struct server_link {
    bool open;
    bool failed; /* its engine failed and was reported, or it gave way; only output is left */
    bool busy;   /* events were left over in the last step */
    enum link_kind kind;
    uint32_t peer; /* see agent_link_open */
    uint64_t opened_ms;
    uint64_t close_ms; /* failed: closed now even if its peer takes no more output */
    struct watch watch[WATCHES_PER_LINK];
    struct grpc_server grpc;
};

/* Lines about failed connections of strangers. */
struct link_failures {
    uint64_t window_ms;  /* when the next lines may be written */
    uint32_t said;       /* lines of this window */
    uint32_t suppressed; /* failures of it without a line */
};

/* A short answer that waits for room. */
struct answer {
    bool used;
    uint8_t link;
    uint16_t len;
    enum grpc_status code;
    const char *text; /* of a status: static */
    struct grpc_call_id id;
    uint8_t message[ANSWER_BYTES_MAX];
};

/*
 * links.c: the next event of a server link; false: none now, or the link is closed. What is not
 * asked for in this step keeps links_deadline at now.
 */
bool link_next(struct agent *a, unsigned link, struct grpc_event *event);
/* See above. */
uint64_t links_deadline(const struct agent *a);
/*
 * A peer of a link broke the protocol: counted, and said in a line, with the answer it got over
 * HTTP/1.1, or the code of HTTP/2 when `answer` is NULL. Lines about TCP peers, whoever
 * they are, are CONNECTION_LINES_MAX in CONNECTION_LINES_MS; further ones are told as a number.
 */
void connection_failed(struct agent *a, unsigned link, enum status why, const char *answer,
                       uint32_t code);
/* Tells that number when it is due. */
void links_step(struct agent *a);
/* Calls that peers still wait for. */
unsigned links_calls_open(const struct agent *a);
/* Lets no new call begin on any link; running ones end. */
void links_drain(struct agent *a);

/*
 * answers.c: ends a call with one message of at most ANSWER_BYTES_MAX and status OK, or with a
 * status and a static text.
 */
void answer_message(struct agent *a, unsigned link, struct grpc_call_id id, struct view message);
void answer_status(struct agent *a, unsigned link, struct grpc_call_id id, enum grpc_status code,
                   const char *text);
/* Sends what waits for room. */
void answers_step(struct agent *a);
/* Forgets what waits for a connection that is gone. */
void answers_drop(struct agent *a, unsigned link);

#endif
