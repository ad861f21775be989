/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pod needs of its node for each device of its claim, besides the device: memory and huge
 * pages. Owns the names of these resources and the form of their quantities. Sources: Device of
 * Kubernetes (resource.k8s.io, nodeAllocatableResources, KEP-5517), Quantity of its API machinery.
 */
#ifndef DRA_NODE_RESOURCE_H
#define DRA_NODE_RESOURCE_H

#include "base/bytes.h"

/* The resources, by ascending name, as the API server stores them. */
enum {
    NODE_HUGEPAGES_1GI, /* huge pages of 1 GiB */
    NODE_HUGEPAGES_2MI, /* huge pages of 2 MiB */
    NODE_MEMORY,
    NODE_RESOURCES /* number of resources */
};

/* Largest name of a resource, with NUL. */
#define NODE_RESOURCE_NAME_CAP sizeof "hugepages-1Gi"
/* A quantity up to NODE_RESOURCE_BYTES_MAX: at most ten digits, a unit of two letters, NUL. */
#define NODE_QUANTITY_CAP 13u

/*
 * The amount of each resource, as a Quantity in the canonical form, which the API server does not
 * change. Empty: the resource is not needed.
 */
struct node_resources {
    char quantity[NODE_RESOURCES][NODE_QUANTITY_CAP];
};

/* Name of a resource, as a Node has it in status.allocatable. Static text. */
const char *node_resource_name(unsigned resource);
/*
 * Parses an amount of `resource` such as 5120Mi: digits and one of the units Ki, Mi, Gi and Ti.
 * Writes the same amount with the largest unit in which it is a whole number, here 5Gi.
 * PEER_MALFORMED: it has another form, is 0 or above NODE_RESOURCE_BYTES_MAX, or is not a multiple
 * of the size of a huge page; `quantity` is unchanged.
 */
MUST_USE enum status node_quantity_parse(unsigned resource, struct view text,
                                         char quantity[NODE_QUANTITY_CAP]);

#endif
