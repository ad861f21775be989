/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short responses (responses.c): one message of a few bytes, or only a status. Owns the table of
 * responses that could not be sent yet. Internal to src/agent.
 */
#ifndef AGENT_SERVE_RESPONSES_H
#define AGENT_SERVE_RESPONSES_H

#include "agent/agent.h"
#include "wire/grpc.h"

/* A response that waits until the send buffer and the peer's window have space for it. */
struct response {
    bool used;
    uint8_t link;
    uint16_t len;
    enum grpc_status code;
    const char *text; /* text of the status; a static string */
    struct grpc_call_id id;
    uint8_t message[RESPONSE_BYTES_MAX];
};

/*
 * Ends a call with one message of at most RESPONSE_BYTES_MAX bytes and the status OK. If the
 * message must wait and all RESPONSES_PER_LINK entries of the link are in use, the call ends with
 * RESOURCE_EXHAUSTED instead, behind a part of the message if the window took one; if the send
 * buffer has no space for that, the connection ends. That
 * loses nothing: the replies of prepare and unprepare calls do not pass here, only their refusals.
 */
void response_message(struct agent *a, unsigned link, struct grpc_call_id id, struct view message);
/* Ends a call with a status other than OK and with a static text. */
void response_status(struct agent *a, unsigned link, struct grpc_call_id id, enum grpc_status code,
                     const char *text);
/* Logs that the call is refused (call_refused), then responds like response_status. */
void response_refuse(struct agent *a, unsigned link, const struct grpc_event *event,
                     enum grpc_status code, const char *text);
/*
 * Ends an open stream with UNAVAILABLE if the agent is stopping. If the send buffer has no space
 * for the status, the caller tries again in its next step, until a->stop_ms.
 */
void response_stop(const struct agent *a, struct grpc_server *server, struct grpc_call_id id);
/* Sends the kept responses for which the send buffer and the peer's window have space now. */
void responses_step(struct agent *a);
/*
 * Called when a new connection gets the link: drops the responses of the link's earlier connection.
 */
void responses_forget(struct agent *a, unsigned link);

#endif
