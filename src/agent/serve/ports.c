/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the link functions of agent.h: passes each link's bytes to the file that owns the
 * link. gRPC connections belong to links.c, pages to pages.c, the API connection to src/agent/api,
 * the kubelet's list of pods to src/agent/pods. Owns no state.
 */
#include "agent/frame.h"
#include "agent/pods/claim_pods.h"
#include "agent/serve/device_streams.h"
#include "agent/serve/grpc_health.h"
#include "agent/serve/links.h"
#include "agent/serve/pages.h"
#include "agent/serve/responses.h"
#include "base/assert.h"

static bool is_page(unsigned link)
{
    ASSERT(link < LINKS_TOTAL);
    return link >= GRPC_LINKS && link < SERVER_LINKS;
}

int agent_link_open(struct agent *a, enum link_kind kind, uint32_t peer, uint64_t now_ms)
{
    if (kind == LINK_METRICS) {
        unsigned first_page = GRPC_LINKS;
        int place = pages_open(a, peer, now_ms);
        return (place < 0) ? place : place + (int)first_page;
    }
    int link = links_open(a, kind, peer, now_ms);
    if (link >= 0) {
        responses_forget(a, (unsigned)link);
        grpc_health_forget(a, (unsigned)link);
        device_streams_forget(a, (unsigned)link);
    }
    return link;
}

uint64_t agent_link_room_ms(const struct agent *a, enum link_kind kind)
{
    return (kind == LINK_METRICS) ? pages_room_ms(a) : links_room_ms(a, kind);
}

bool agent_link_free(const struct agent *a, enum link_kind kind)
{
    return (kind == LINK_METRICS) ? pages_free(a) : links_free(a, kind);
}

struct writer agent_link_rx(struct agent *a, unsigned link)
{
    if (is_page(link)) {
        return http1_rx_space(pages_engine(a, link - GRPC_LINKS));
    }
    if (link == LINK_PODS) {
        return claim_pods_rx(a);
    }
    return (link == LINK_API) ? api_rx(a) : links_rx(a, link);
}

void agent_link_rx_commit(struct agent *a, unsigned link, size_t n)
{
    if (link == LINK_API) {
        api_rx_commit(a, n);
    } else if (link == LINK_PODS) {
        claim_pods_rx_commit(a, n);
    } else if (is_page(link)) {
        struct http1 *page = pages_engine(a, link - GRPC_LINKS);
        http1_set_time(page, a->now_ms);
        http1_rx_commit(page, n);
    } else {
        links_rx_commit(a, link, n);
    }
}

void agent_link_end(struct agent *a, unsigned link)
{
    /*
     * the link is never LINK_API, because the host reports the end of the API connection by
     * agent_api_ended
     */
    ASSERT(link != LINK_API);
    if (link == LINK_PODS) {
        claim_pods_rx_end(a);
    } else if (is_page(link)) {
        http1_rx_end(pages_engine(a, link - GRPC_LINKS));
    } else {
        links_rx_end(a, link);
    }
}

struct view agent_link_tx(struct agent *a, unsigned link)
{
    if (is_page(link)) {
        unsigned place = link - GRPC_LINKS;
        return pages_is_open(a, place) ? http1_tx_data(pages_engine(a, place)) : view_of(NULL, 0);
    }
    if (link == LINK_PODS) {
        return claim_pods_tx(a);
    }
    return (link == LINK_API) ? api_tx(a) : links_tx(a, link);
}

void agent_link_tx_commit(struct agent *a, unsigned link, size_t n)
{
    bool more = n > 0u;
    if (link == LINK_API) {
        api_tx_commit(a, n);
    } else if (link == LINK_PODS) {
        claim_pods_tx_commit(a, n);
    } else if (is_page(link)) {
        struct http1 *page = pages_engine(a, link - GRPC_LINKS);
        http1_set_time(page, a->now_ms);
        http1_tx_commit(page, n);
    } else {
        /*
         * After bytes were sent, a step is needed only if links_step has more work for the link, or
         * if the agent is stopping.
         */
        more = links_tx_commit(a, link, n) || (more && a->stopping);
    }
    a->step_now = a->step_now || more;
}

bool agent_link_done(struct agent *a, unsigned link)
{
    if (link >= SERVER_LINKS) {
        return false; /* the host closes these when it gets ORDER_CLOSE_API and ORDER_CLOSE_PODS */
    }
    return is_page(link) ? pages_done(a, link - GRPC_LINKS) : links_done(a, link);
}
