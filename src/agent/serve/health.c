/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc.health.v1.Health: the state of each service, asked for once or watched. Owns the table of
 * watches of each link; decides nothing about readiness. Sources: grpc.health.v1 and the text of
 * the "GRPC Health Checking Protocol".
 */
#include "agent/serve/health.h"

#include "wire/decode.h"
#include "agent/serve/readiness.h"
#include "agent/state.h"
#include "base/assert.h"
#include "generated/health.pb.h"

enum { SERVICE_LIVENESS, SERVICE_READINESS, SERVICE_OTHER };

/* HealthCheckResponse: field 1, a varint of one octet; no state is 0, which would be left out. */
#define RESPONSE_BYTES 2u
#define RESPONSE_TAG 0x08u
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
        answer_status(a, link, event->call, GRPC_NOT_FOUND,
                      "unknown service; known: liveness, readiness and the empty name");
        return;
    }
    const uint8_t response[RESPONSE_BYTES] = {RESPONSE_TAG, state_of(a, service)};
    answer_message(a, link, event->call, view_of(response, sizeof response));
}

void health_watch(struct agent *a, unsigned link, const struct grpc_event *event)
{
    ASSERT(link < GRPC_LINKS);
    struct server_link *l = &a->link[link];
    ASSERT(grpc_call_alive(&l->grpc, event->call));
    for (unsigned i = 0; i < WATCHES_PER_LINK; i++) {
        if (!grpc_call_alive(&l->grpc, l->watch[i].id)) {
            l->watch[i] = (struct watch){.id = event->call, .service = service_asked(event)};
            return;
        }
    }
    answer_status(a, link, event->call, GRPC_RESOURCE_EXHAUSTED,
                  "too many health watches on one connection");
}

unsigned health_watches(const struct server_link *l)
{
    unsigned n = 0;
    for (unsigned i = 0; i < WATCHES_PER_LINK; i++) {
        n += grpc_call_alive(&l->grpc, l->watch[i].id) ? 1u : 0u;
    }
    ASSERT(n <= grpc_calls_open(&l->grpc));
    return n;
}

/* A message under way ends with the state as it is then: its length never changes. */
static void watch_step(const struct agent *a, struct grpc_server *s, struct watch *w)
{
    if (!grpc_call_alive(s, w->id)) {
        return;
    }
    const uint8_t response[RESPONSE_BYTES] = {RESPONSE_TAG, state_of(a, w->service)};
    if (w->told != response[1]) {
        enum status st = grpc_reply_message(s, w->id, view_of(response, sizeof response));
        w->told = (st == STATUS_OK) ? response[1] : 0u;
    }
    if (a->stopping) {
        /* Without room now: tried again when there is, until the time to stop is over. */
        enum status st =
            grpc_finish(s, w->id, GRPC_UNAVAILABLE, "the agent is stopping; try again");
        ASSERT(st == STATUS_OK || st == STATUS_MORE);
    }
}

void health_step(struct agent *a)
{
    for (unsigned i = 0; i < GRPC_LINKS * WATCHES_PER_LINK; i++) {
        struct server_link *l = &a->link[i / WATCHES_PER_LINK];
        if (l->open && !l->failed) {
            watch_step(a, &l->grpc, &l->watch[i % WATCHES_PER_LINK]);
        }
    }
}
