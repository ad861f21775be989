/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of gRPC methods. Sources: kubelet pluginregistration v1, dra v1 and v1beta1,
 * grpc.health.v1.
 */
#include "agent/serve/methods.h"

#include "agent/serve/health.h"
#include "agent/serve/responses.h"
#include "agent/state.h"
#include "base/assert.h"

#define ON(kind) (1u << (unsigned)(kind))

/* The checker of the static rules counts a function of another file in a table as unused. */

static void get_info(struct agent *a, unsigned link, const struct grpc_event *event)
{
    registration_get_info(a, link, event);
}

static void notify_status(struct agent *a, unsigned link, const struct grpc_event *event)
{
    registration_notify(a, link, event);
}

static void check(struct agent *a, unsigned link, const struct grpc_event *event)
{
    health_check(a, link, event);
}

static void watch(struct agent *a, unsigned link, const struct grpc_event *event)
{
    health_watch(a, link, event);
}

/* src/agent/claims responds to the call, unless it refuses it at once. */
static void start_call(struct agent *a, unsigned link, const struct grpc_event *event,
                       bool unprepares)
{
    const char *text = "";
    enum grpc_status code = calls_start(a, &a->link[link].grpc, event, unprepares, &text);
    if (code != GRPC_OK) {
        response_refuse(a, link, event, code, text);
    }
}

static void prepare(struct agent *a, unsigned link, const struct grpc_event *event)
{
    start_call(a, link, event, false);
}

static void unprepare(struct agent *a, unsigned link, const struct grpc_event *event)
{
    start_call(a, link, event, true);
}

/* v1 and v1beta1 have the same messages by number. */
static const struct {
    const char *path;
    unsigned kinds;
    void (*serve)(struct agent *a, unsigned link, const struct grpc_event *event);
} methods[] = {
    {"/pluginregistration.Registration/GetInfo", ON(LINK_REGISTRATION) | ON(LINK_SERVICE),
     get_info},
    {"/pluginregistration.Registration/NotifyRegistrationStatus", ON(LINK_REGISTRATION),
     notify_status},
    {"/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources", ON(LINK_SERVICE), prepare},
    {"/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources", ON(LINK_SERVICE),
     unprepare},
    {"/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources", ON(LINK_SERVICE),
     prepare},
    {"/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodeUnprepareResources", ON(LINK_SERVICE),
     unprepare},
    {"/grpc.health.v1.Health/Check", ON(LINK_HEALTH) | ON(LINK_SERVICE), check},
    {"/grpc.health.v1.Health/Watch", ON(LINK_HEALTH) | ON(LINK_SERVICE), watch},
};
#define METHODS (sizeof methods / sizeof methods[0])

int method_find(struct view path, unsigned kind)
{
    ASSERT(kind < (unsigned)LINK_METRICS);
    for (unsigned i = 0; i < METHODS; i++) {
        if ((methods[i].kinds & ON(kind)) != 0u && view_is(path, methods[i].path)) {
            return (int)i;
        }
    }
    return -1;
}

void method_call(struct agent *a, unsigned link, const struct grpc_event *event)
{
    ASSERT(link < GRPC_LINKS && event->method < METHODS);
    methods[event->method].serve(a, link, event);
}
