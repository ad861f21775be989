/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices of the node as the agent works with them (inventory.c): those of the last probe, or,
 * for a while, those of the probe before it, when all of them vanished at once. Owns struct
 * inventory, which agent.devices points into. Internal to src/agent.
 */
#ifndef AGENT_NODE_INVENTORY_H
#define AGENT_NODE_INVENTORY_H

#include "agent/agent.h"
#include "dra/device.h"

/* The device table of the node, and what its last probe means for it. */
struct node_inventory {
    bool known;          /* the node was probed */
    bool missing;        /* the last probe found none: the devices of the probe before are kept */
    uint64_t missing_ms; /* when that began */
    uint32_t issues_sum; /* checksum of the issues last logged; 0: none */
    struct devices devices;
};

/* What a probe changed. */
enum inventory_change {
    INVENTORY_KEPT, /* nothing: the devices of the probe before it stay */
    INVENTORY_SAME, /* the same devices */
    INVENTORY_OTHER /* other devices, or other published facts of them */
};

/*
 * Adopts the table in the scratch memory, with its issues, and logs what is new. For a driver that
 * is switched off, nothing is logged.
 */
enum inventory_change inventory_adopt(struct agent *a);
/*
 * Applies the health of the devices, from the last probe; of devices that are missing or unknown,
 * the state stays. `held`: devices that claims hold; `shared`: some are held by shares. true: the
 * published content changes.
 */
bool inventory_apply_health(struct agent *a, uint64_t held, bool shared);
/* Whether the node was probed. */
bool inventory_is_known(const struct agent *a);
/* Whether the last probe found no device where there were some, which are kept for a while. */
bool inventory_is_missing(const struct agent *a);

#endif
