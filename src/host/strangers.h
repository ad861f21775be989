/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles new connections to the TCP ports in rounds. A round accepts connections, which become
 * pending, and gives links in the agent to pending connections. Owns nothing: server_links.h owns
 * the connections, pace.h the limits.
 *
 * A connection whose peer has sent nothing gets a link only if one is free; it never replaces
 * another connection. Among the other connections, the next link goes to a connection whose peer
 * has the fewest links; among those, to the oldest one.
 */
#ifndef HOST_STRANGERS_H
#define HOST_STRANGERS_H

#include "host/server_links.h"
#include "host/servers.h"

/* Whether the server sockets of this kind are TCP ports. */
bool strangers_come(enum link_kind kind);
/* Whether the next round of a TCP port may begin now. */
bool strangers_may(const struct server_links *l, enum link_kind kind, uint64_t now_ms);
/* Sets the slots for poll(2) on the pending connections of a port. */
void strangers_interest(const struct server_links *l, enum link_kind kind,
                        struct pollfd slots[PENDING_LINKS], uint64_t now_ms);
/* Runs one round of a port if strangers_may returns true; otherwise does nothing. */
void strangers_round(struct server_links *l, struct server *s, uint64_t now_ms);
/* Returns when a port needs a round even if poll(2) reports no event. */
uint64_t strangers_due(const struct server_links *l, enum link_kind kind, uint64_t now_ms);

#endif
