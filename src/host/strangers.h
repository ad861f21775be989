/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New connections to the TCP ports, in rounds: accepted into the port's pending connections, and
 * from there given places in the agent. Owns nothing: server_links.h owns the connections, pace.h
 * the budget.
 *
 * A connection whose peer has sent nothing gets a place only if one is free; it never replaces
 * another. The rest get places in this order: those whose peer holds the fewest places, then the
 * oldest.
 */
#ifndef HOST_STRANGERS_H
#define HOST_STRANGERS_H

#include "host/server_links.h"
#include "host/servers.h"

/* Whether sockets of the kind are TCP ports. */
bool strangers_come(enum link_kind kind);
/* Whether the next round of a port may begin now. */
bool strangers_may(const struct server_links *l, enum link_kind kind, uint64_t now_ms);
/* Sets the slots for poll(2) on the pending connections of a port. */
void strangers_interest(const struct server_links *l, enum link_kind kind,
                        struct pollfd slots[PENDING_LINKS], uint64_t now_ms);
/* Runs one round of a port, if strangers_may. */
void strangers_round(struct server_links *l, struct server *s, uint64_t now_ms);
/* When a port has a round to do although no descriptor is ready. */
uint64_t strangers_due(const struct server_links *l, enum link_kind kind, uint64_t now_ms);

#endif
