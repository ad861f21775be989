/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc.health.v1.Health: the state of a service, once or as a subscription. Does not decide about
 * readiness. Sources: grpc.health.v1 and the text of the "GRPC Health Checking Protocol".
 */
#include "agent/serve/health.h"

#include <string.h>

#include "agent/serve/readiness.h"
#include "agent/serve/responses.h"
#include "agent/state.h"
#include "base/assert.h"
#include "generated/health.pb.h"
#include "wire/decode.h"

enum { SERVICE_LIVENESS, SERVICE_READINESS, SERVICE_OTHER };

/* HealthCheckResponse: field 1, a varint of one octet. No state is 0, which protobuf would omit. */
#define STATE_BYTES 2u
#define STATE_TAG 0x08u
_Static_assert(health_HealthCheckResponse_status_tag == 1, "the tag is that of the field");

static uint8_t service_asked(const struct grpc_event *event)
{
    health_HealthCheckRequest request = health_HealthCheckRequest_init_zero;
    bool readable = decode(event->message, health_HealthCheckRequest_fields, &request);
    struct view name = view_text(readable ? request.service : "?");
    if (name.len == 0u || view_is(name, "liveness")) {
        return SERVICE_LIVENESS;
    }
    return view_is(name, "readiness") ? SERVICE_READINESS : SERVICE_OTHER;
}

static uint8_t state_of(const struct agent *a, uint8_t service)
{
    if (service == SERVICE_OTHER) {
        return health_HealthCheckResponse_ServingStatus_SERVICE_UNKNOWN;
    }
    bool serving = service == SERVICE_LIVENESS || agent_ready(a);
    return serving ? health_HealthCheckResponse_ServingStatus_SERVING
                   : health_HealthCheckResponse_ServingStatus_NOT_SERVING;
}

void health_check(struct agent *a, unsigned link, const struct grpc_event *event)
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

void health_watch(struct agent *a, unsigned link, const struct grpc_event *event)
{
    ASSERT(link < GRPC_LINKS);
    const struct grpc_server *s = &a->link[link].grpc;
    struct health_subscription *own = a->health_subscription[link];
    ASSERT(grpc_call_alive(s, event->call));
    for (unsigned i = 0; i < HEALTH_SUBSCRIPTIONS_PER_LINK; i++) {
        if (!grpc_call_alive(s, own[i].id)) {
            own[i] =
                (struct health_subscription){.id = event->call, .service = service_asked(event)};
            return;
        }
    }
    response_status(a, link, event->call, GRPC_RESOURCE_EXHAUSTED,
                    "too many health watches on one connection");
}

unsigned health_subscriptions(const struct agent *a, unsigned link)
{
    ASSERT(link < GRPC_LINKS);
    const struct grpc_server *s = &a->link[link].grpc;
    unsigned n = 0;
    for (unsigned i = 0; i < HEALTH_SUBSCRIPTIONS_PER_LINK; i++) {
        n += grpc_call_alive(s, a->health_subscription[link][i].id) ? 1u : 0u;
    }
    ASSERT(n <= grpc_calls_open(s));
    return n;
}

void health_forget(struct agent *a, unsigned link)
{
    ASSERT(link < GRPC_LINKS);
    memset(a->health_subscription[link], 0, sizeof a->health_subscription[link]);
}

/* A message whose sending has begun takes the latest state: its length never changes. */
static void subscription_step(const struct agent *a, struct grpc_server *s,
                              struct health_subscription *h)
{
    if (!grpc_call_alive(s, h->id)) {
        return;
    }
    const uint8_t response[STATE_BYTES] = {STATE_TAG, state_of(a, h->service)};
    if (h->sent != response[1]) {
        enum status st = grpc_reply_message(s, h->id, view_of(response, sizeof response));
        h->sent = (st == STATUS_OK) ? response[1] : 0u;
    }
    if (a->stopping) {
        /* Without room it is retried until the time to stop is over. */
        enum status st =
            grpc_finish(s, h->id, GRPC_UNAVAILABLE, "the agent is stopping; try again");
        ASSERT(st == STATUS_OK || st == STATUS_MORE);
    }
}

void health_step(struct agent *a)
{
    for (unsigned i = 0; i < GRPC_LINKS * HEALTH_SUBSCRIPTIONS_PER_LINK; i++) {
        unsigned link = i / HEALTH_SUBSCRIPTIONS_PER_LINK;
        struct server_link *l = &a->link[link];
        if (l->open && !l->failed) {
            subscription_step(a, &l->grpc,
                              &a->health_subscription[link][i % HEALTH_SUBSCRIPTIONS_PER_LINK]);
        }
    }
}
