/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the state of the program, and sets each driver's pointers to that state. */
#include "agent/instance.h"

#include "agent/state.h"
#include "cfg/budget.h"

static struct agents the_agents;

static struct agent *join_rooms(struct driver_state *d)
{
    d->agent.api = &the_agents.shared.api;
    d->agent.report = &the_agents.shared.report;
    d->agent.node_object = &the_agents.shared.node_object;
    d->agent.pods = &the_agents.shared.pods;
    d->agent.node = &d->node;
    d->agent.publish = &d->publish;
    d->agent.ledger = &d->ledger;
    d->agent.claim = &d->claim;
    d->agent.recovery = &d->recovery;
    d->agent.calls = &d->calls;
    d->agent.serve = &d->serve;
    d->agent.devices = &d->node.inventory.devices;
    return &d->agent;
}

struct agent *instance_neuron(void)
{
    return join_rooms(&the_agents.neuron);
}

struct agent *instance_efa(void)
{
    return join_rooms(&the_agents.efa);
}

_Static_assert(sizeof(struct agents) <= RAM_BYTES_MAX - HOST_BYTES_MAX,
               "the agent's tables fit the memory budget");
