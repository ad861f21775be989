/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New connections to the TCP ports, in rounds: accepted into the port's pending connections, and
 * from there given places of the agent. Owns nothing: the connections are those of server_links.h,
 * the budget is that of pace.h.
 *
 * A peer that has sent nothing gets a free place alone, and never one that another has; the others
 * get theirs in the order of how many places their peers have, then of their age.
 */
#ifndef HOST_STRANGERS_H
#define HOST_STRANGERS_H

#include "host/server_links.h"
#include "host/servers.h"

/* Whether sockets of the kind are TCP ports. */
bool strangers_come(enum link_kind kind);
/* Whether the next round of a port may be now. */
bool strangers_may(const struct server_links *l, enum link_kind kind, uint64_t now_ms);
/* What poll(2) waits for on the pending connections of a port. */
void strangers_interest(const struct server_links *l, enum link_kind kind,
                        struct pollfd slots[PENDING_LINKS], uint64_t now_ms);
/* One round of a port, if strangers_may. */
void strangers_round(struct server_links *l, struct server *s, uint64_t now_ms);
/* When a port has a round to do that no descriptor announces. */
uint64_t strangers_due(const struct server_links *l, enum link_kind kind, uint64_t now_ms);

#endif
