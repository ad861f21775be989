/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short responses. A response is sent at once if the peer's window and the send buffer have space
 * for it; otherwise it is kept in a fixed table until they do. If all entries of a connection are
 * in use, the call ends with RESOURCE_EXHAUSTED; if the send buffer has no space for that, the
 * connection is closed.
 */
#include "agent/serve/responses.h"

#include <string.h>

#include "agent/frame.h"
#include "agent/report/log.h"
#include "agent/serve/room.h"
#include "base/assert.h"

static enum status try_send(struct agent *a, const struct response *r)
{
    struct grpc_server *s = &a->serve->link[r->link].grpc;
    if (r->code == GRPC_OK) {
        return grpc_reply_all(s, r->id, view_of(r->message, r->len));
    }
    return grpc_finish(s, r->id, r->code, r->text);
}

static void send_or_keep(struct agent *a, const struct response *wanted)
{
    if (try_send(a, wanted) != STATUS_MORE) {
        return; /* the response was sent, or the call has ended */
    }
    /* Each link has its own entries, so a peer that does not read delays only its own responses. */
    size_t first = (size_t)wanted->link * RESPONSES_PER_LINK;
    struct response *own = &a->serve->response[first];
    for (unsigned i = 0; i < RESPONSES_PER_LINK; i++) {
        if (!own[i].used) {
            own[i] = *wanted;
            own[i].used = true;
            return;
        }
    }
    /*
     * A peer may close its window for as long as it likes (RFC 9113 §6.9.2), so a response without
     * an entry costs its call only: a status needs no window.
     */
    if (grpc_finish(&a->serve->link[wanted->link].grpc, wanted->id, GRPC_RESOURCE_EXHAUSTED,
                    "too many responses on this connection wait for its flow-control window") ==
        STATUS_OK) {
        return;
    }
    /*
     * The peer does not read. Ends the connection as if the peer had closed it: links_step then
     * reports the calls of the connection as gone, and closes the link.
     */
    h2_goaway(&a->serve->link[wanted->link].grpc.h2, H2_ENHANCE_YOUR_CALM, true);
    h2_rx_end(&a->serve->link[wanted->link].grpc.h2);
}

void response_message(struct agent *a, unsigned link, struct grpc_call_id id, struct view message)
{
    struct response r = {
        .link = (uint8_t)link, .id = id, .code = GRPC_OK, .len = (uint16_t)message.len};
    ASSERT(link < GRPC_LINKS && message.len <= sizeof r.message);
    if (message.len > 0u) {
        memcpy(r.message, message.data, message.len);
    }
    send_or_keep(a, &r);
}

void response_status(struct agent *a, unsigned link, struct grpc_call_id id, enum grpc_status code,
                     const char *text)
{
    ASSERT(link < GRPC_LINKS && code != GRPC_OK);
    const struct response r = {.link = (uint8_t)link, .id = id, .code = code, .text = text};
    send_or_keep(a, &r);
}

void response_refuse(struct agent *a, unsigned link, const struct grpc_event *event,
                     enum grpc_status code, const char *text)
{
    log_begin(a, LOG_ID_CALL_REFUSED);
    log_view(a, "path", event->path);
    log_text(a, "text", text);
    log_end(a);
    response_status(a, link, event->call, code, text);
}

void responses_forget(struct agent *a, unsigned link)
{
    ASSERT(link < GRPC_LINKS);
    for (unsigned i = 0; i < RESPONSES_PER_LINK; i++) {
        a->serve->response[link * RESPONSES_PER_LINK + i].used = false;
    }
}

void response_stop(const struct agent *a, struct grpc_server *server, struct grpc_call_id id)
{
    if (a->stopping) {
        enum status s =
            grpc_finish(server, id, GRPC_UNAVAILABLE, "the agent is stopping; try again");
        ASSERT(s == STATUS_OK || s == STATUS_MORE);
    }
}

void responses_step(struct agent *a)
{
    for (unsigned i = 0; i < RESPONSES_MAX; i++) {
        struct response *r = &a->serve->response[i];
        if (!r->used) {
            continue;
        }
        bool over = !a->serve->link[r->link].open || a->serve->link[r->link].failed;
        if (over || try_send(a, r) != STATUS_MORE) {
            r->used = false;
        }
    }
}
