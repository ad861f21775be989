/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices of the node that the agent works with (inventory.c): the devices of the last probe.
 * When all devices vanish at once, the agent keeps the earlier devices for a while. Owns struct
 * node_inventory, which agent.devices points into. Internal to src/agent.
 */
#ifndef AGENT_NODE_INVENTORY_H
#define AGENT_NODE_INVENTORY_H

#include "agent/agent.h"
#include "dra/device.h"

/* The device table of the node, and facts about the last probe. */
struct node_inventory {
    bool known;   /* the node was probed at least once */
    bool missing; /* the last probe found no device, and the devices found earlier are kept */
    bool lost;    /* the last probe was the first to show that the kernel module was unloaded */
    uint64_t missing_ms; /* when a probe first found that the devices are missing */
    uint32_t issues_sum; /* checksum of the issues that were last logged; 0: none were logged */
    struct devices devices;
};

/* What a probe changed in the inventory. */
enum inventory_change {
    INVENTORY_KEPT, /* the probe found no device, so the earlier devices stay */
    INVENTORY_SAME, /* the probe found the same devices */
    INVENTORY_OTHER /* the probe found other devices, or other facts that are published */
};

/*
 * Adopts a probe's devices and issues, which are in a->scratch, and logs what is new. Logs nothing
 * for the EFA driver without --efa.
 */
enum inventory_change inventory_adopt(struct agent *a);
/*
 * Applies the health of the devices from the last probe; returns whether the published content
 * changes. If that probe failed or found no device, an unhealthy device stays unhealthy. `held`:
 * mask of the devices that claims hold; `shared`: a claim holds only a share of a device
 * (--efa-share or --share-cores).
 */
bool inventory_apply_health(struct agent *a, uint64_t held, bool shared);
/* Whether the node was probed at least once. */
bool inventory_is_known(const struct agent *a);
/*
 * Whether the last probe found no device although an earlier probe did; the agent keeps the earlier
 * devices for a while.
 */
bool inventory_is_missing(const struct agent *a);
/*
 * Whether the last probe was the first to show that the kernel module was unloaded: it found no
 * device, or found a device that sysfs shows in another folder than the probe before.
 */
bool inventory_is_lost(const struct agent *a);

#endif
