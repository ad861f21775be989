/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small answers: one message of a few bytes, or a status alone. Sent at once when the peer's window
 * and the send buffer allow, else kept in a fixed table and sent on as they open.
 * Owns that table. A peer that lets its places fill up loses its connection.
 */
#include <string.h>

#include "agent/state.h"
#include "base/assert.h"

static enum status try_send(struct agent *a, const struct answer *w)
{
    struct grpc_server *s = &a->link[w->link].grpc;
    if (w->code == GRPC_OK) {
        return grpc_reply_all(s, w->id, view_of(w->message, w->len));
    }
    return grpc_finish(s, w->id, w->code, w->text);
}

static void send_or_keep(struct agent *a, const struct answer *wanted)
{
    if (try_send(a, wanted) != STATUS_MORE) {
        return; /* sent, or the call is gone */
    }
    /* Each link has places of its own: a peer that does not listen takes none from the others. */
    size_t first = (size_t)wanted->link * ANSWERS_PER_LINK;
    struct answer *own = &a->answer[first];
    for (unsigned i = 0; i < ANSWERS_PER_LINK; i++) {
        if (!own[i].used) {
            own[i] = *wanted;
            own[i].used = true;
            return;
        }
    }
    /* As if the peer had left: its calls are reported gone, its link is closed and free again. */
    h2_goaway(&a->link[wanted->link].grpc.h2, H2_ENHANCE_YOUR_CALM, true);
    h2_rx_end(&a->link[wanted->link].grpc.h2);
    a->step_now = true;
}

void answer_message(struct agent *a, unsigned link, struct grpc_call_id id, struct view message)
{
    struct answer w = {
        .link = (uint8_t)link, .id = id, .code = GRPC_OK, .len = (uint16_t)message.len};
    ASSERT(link < GRPC_LINKS && message.len <= sizeof w.message);
    if (message.len > 0u) {
        memcpy(w.message, message.data, message.len);
    }
    send_or_keep(a, &w);
}

void answer_status(struct agent *a, unsigned link, struct grpc_call_id id, enum grpc_status code,
                   const char *text)
{
    ASSERT(link < GRPC_LINKS && code != GRPC_OK);
    const struct answer w = {.link = (uint8_t)link, .id = id, .code = code, .text = text};
    send_or_keep(a, &w);
}

void answers_drop(struct agent *a, unsigned link)
{
    ASSERT(link < GRPC_LINKS);
    for (unsigned i = 0; i < ANSWERS_PER_LINK; i++) {
        a->answer[link * ANSWERS_PER_LINK + i].used = false;
    }
}

void answers_step(struct agent *a)
{
    for (unsigned i = 0; i < ANSWERS_MAX; i++) {
        struct answer *w = &a->answer[i];
        if (!w->used) {
            continue;
        }
        bool over = !a->link[w->link].open || a->link[w->link].failed;
        if (over || try_send(a, w) != STATUS_MORE) {
            w->used = false;
        }
    }
}
