/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves grpc.health.v1.Health: returns the state of a service, once or as a subscription.
 * readiness.c decides whether the agent is ready. Sources: grpc.health.v1 and the text of the "GRPC
 * Health Checking Protocol".
 */
#include "agent/serve/grpc_health.h"

#include <string.h>

#include "agent/frame.h"
#include "agent/serve/readiness.h"
#include "agent/serve/responses.h"
#include "agent/serve/room.h"
#include "base/assert.h"
#include "generated/grpc_health.pb.h"
#include "wire/decode.h"

enum { SERVICE_LIVENESS, SERVICE_READINESS, SERVICE_OTHER };

/*
 * Size of a HealthCheckResponse: the tag of field 1 and a varint of one byte. Protobuf omits a
 * field with the value 0, but no state that is sent has that value.
 */
#define STATE_BYTES 2u
#define STATE_TAG 0x08u
_Static_assert(grpc_health_HealthCheckResponse_status_tag == 1, "the tag is that of the field");

static uint8_t service_asked(const struct grpc_event *event)
{
    grpc_health_HealthCheckRequest request = grpc_health_HealthCheckRequest_init_zero;
    bool readable = decode(event->message, grpc_health_HealthCheckRequest_fields, &request);
    struct view name = view_text(readable ? request.service : "?");
    if (name.len == 0u || view_is(name, "liveness")) {
        return SERVICE_LIVENESS;
    }
    return view_is(name, "readiness") ? SERVICE_READINESS : SERVICE_OTHER;
}

static uint8_t state_of(const struct agent *a, uint8_t service)
{
    if (service == SERVICE_OTHER) {
        return grpc_health_HealthCheckResponse_ServingStatus_SERVICE_UNKNOWN;
    }
    bool serving = service == SERVICE_LIVENESS || agent_ready(a);
    return serving ? grpc_health_HealthCheckResponse_ServingStatus_SERVING
                   : grpc_health_HealthCheckResponse_ServingStatus_NOT_SERVING;
}

void grpc_health_check(struct agent *a, unsigned link, const struct grpc_event *event)
{
    uint8_t service = service_asked(event);
    if (service == SERVICE_OTHER) {
        response_status(a, link, event->call, GRPC_NOT_FOUND,
                        "unknown service; known: liveness, readiness and the empty name");
        return;
    }
    const uint8_t response[STATE_BYTES] = {STATE_TAG, state_of(a, service)};
    response_message(a, link, event->call, view_of(response, sizeof response));
}

void grpc_health_watch(struct agent *a, unsigned link, const struct grpc_event *event)
{
    ASSERT(link < GRPC_LINKS);
    const struct grpc_server *s = &a->serve->link[link].grpc;
    struct grpc_health_subscription *own = a->serve->grpc_health_subscription[link];
    ASSERT(grpc_call_alive(s, event->call));
    for (unsigned i = 0; i < GRPC_HEALTH_SUBSCRIPTIONS_PER_LINK; i++) {
        if (!grpc_call_alive(s, own[i].id)) {
            own[i] = (struct grpc_health_subscription){.id = event->call,
                                                       .service = service_asked(event)};
            return;
        }
    }
    response_status(a, link, event->call, GRPC_RESOURCE_EXHAUSTED,
                    "too many health watches on one connection");
}

unsigned grpc_health_subscriptions(const struct agent *a, unsigned link)
{
    ASSERT(link < GRPC_LINKS);
    const struct grpc_server *s = &a->serve->link[link].grpc;
    unsigned n = 0;
    for (unsigned i = 0; i < GRPC_HEALTH_SUBSCRIPTIONS_PER_LINK; i++) {
        n += grpc_call_alive(s, a->serve->grpc_health_subscription[link][i].id) ? 1u : 0u;
    }
    ASSERT(n <= grpc_calls_open(s));
    return n;
}

void grpc_health_forget(struct agent *a, unsigned link)
{
    ASSERT(link < GRPC_LINKS);
    memset(a->serve->grpc_health_subscription[link], 0,
           sizeof a->serve->grpc_health_subscription[link]);
}

/*
 * Sends the current state to a subscription if it differs from the state that was sent last. If a
 * message was only partly sent, its remaining bytes are those of the newest state, which is safe
 * because all messages have the same length.
 */
static void subscription_step(const struct agent *a, struct grpc_server *s,
                              struct grpc_health_subscription *h)
{
    if (!grpc_call_alive(s, h->id)) {
        return;
    }
    const uint8_t response[STATE_BYTES] = {STATE_TAG, state_of(a, h->service)};
    if (h->sent != response[1]) {
        enum status st = grpc_reply_message(s, h->id, view_of(response, sizeof response));
        h->sent = (st == STATUS_OK) ? response[1] : 0u;
    }
    response_stop(a, s, h->id);
}

void grpc_health_step(struct agent *a)
{
    for (unsigned i = 0; i < GRPC_LINKS * GRPC_HEALTH_SUBSCRIPTIONS_PER_LINK; i++) {
        unsigned link = i / GRPC_HEALTH_SUBSCRIPTIONS_PER_LINK;
        struct server_link *l = &a->serve->link[link];
        if (l->open && !l->failed) {
            subscription_step(
                a, &l->grpc,
                &a->serve->grpc_health_subscription[link][i % GRPC_HEALTH_SUBSCRIPTIONS_PER_LINK]);
        }
    }
}
