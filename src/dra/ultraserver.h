/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place of the node in its UltraServer. An UltraServer consists of several nodes with linked
 * devices; sets of one, two or four of these nodes work as one machine. Owns the meaning of the
 * kernel module's UltraServer files in class/neuron_device, and chooses the mode of the runtime for
 * a requested number of nodes; reads no file. Sources: the kernel module's v3 and v4 device layers
 * (files in class/neuron_device), AWS's init script for UltraServers (mode for a number of nodes).
 *
 * Invariants:
 * I1 Whatever the files contain, a server id is 16 hexadecimal digits or empty, and a mode is a
 *    number from 1 to ULTRASERVER_MODE_MAX.
 * I2 ultraserver_mode returns only modes that the kernel module offers.
 */
#ifndef DRA_ULTRASERVER_H
#define DRA_ULTRASERVER_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* Sizes of the node sets for which the kernel module has ids: two nodes and four nodes. */
enum { ULTRASERVER_PAIR, ULTRASERVER_QUAD, ULTRASERVER_SIZES };

/* The texts of files in class/neuron_device as read; empty: the file is absent or unreadable. */
struct found_ultraserver {
    char modes[ULTRASERVER_TEXT_CAP]; /* text of the file ultraserver_mode */
    /* texts of the files node_id_2 and node_id_4 */
    char node_id[ULTRASERVER_SIZES][ULTRASERVER_TEXT_CAP];
    /* texts of the files server_id_2 and server_id_4 */
    char server_id[ULTRASERVER_SIZES][ULTRASERVER_TEXT_CAP];
    /* text of the file node_id, which only switched types such as trn3.48xlarge have */
    char group_node_id[ULTRASERVER_TEXT_CAP];
    /* text of the file reservation_id, which only switched types such as trn3.48xlarge have */
    char group_id[ULTRASERVER_TEXT_CAP];
};

/* The node's membership in one set of nodes. */
struct ultraserver_place {
    char server_id[SERVER_ID_CAP]; /* id of the set; empty: none */
    uint8_t node_id;               /* id of the node in the set; 0 without a server id */
};

/* The place of this node in its UltraServer, and the modes that the node offers. */
struct ultraserver {
    bool member;   /* nodes of this instance type belong to an UltraServer */
    bool electing; /* the UltraServer leader election is still running */
    uint8_t modes; /* bit n: the kernel module offers the runtime's mode n */
    struct ultraserver_place place[ULTRASERVER_SIZES];
};

/* Values of the UltraServer environment variables in a claim's containers; all zero: none. */
struct ultraserver_use {
    /* The runtime's mode: 1 means four nodes, 2 and 3 mean two nodes, 4 means one node. */
    uint8_t mode;
    struct ultraserver_place place;
};

/*
 * Builds *u from the texts of files in class/neuron_device. `member`: nodes of this instance type
 * belong to an UltraServer; if not, all other members of *u stay empty. Returns false if the file
 * ultraserver_mode is not a list of modes; the node then offers no mode.
 */
bool ultraserver_build(struct ultraserver *u, const struct found_ultraserver *found, bool member);
/* Whether `a` and `b` are equal in all members. */
bool ultraserver_same(const struct ultraserver *a, const struct ultraserver *b);
/*
 * Resolves a claim's request for a set of 1, 2 or 4 nodes. PEER_UNSUPPORTED, with one line in
 * `why`: nodes of this instance type belong to no UltraServer, the leader election of the
 * UltraServer still runs, or the kernel module does not offer such a set; `use` is all zero then.
 */
MUST_USE enum status ultraserver_mode(const struct ultraserver *u, unsigned nodes,
                                      const char *instance_type, struct ultraserver_use *use,
                                      struct writer *why);
/* Whether the values of `use` are consistent, as ultraserver_mode sets them. */
bool ultraserver_use_valid(const struct ultraserver_use *use);
/* Whether `a` and `b` set the same environment variables to the same values. */
bool ultraserver_use_same(const struct ultraserver_use *a, const struct ultraserver_use *b);

#endif
