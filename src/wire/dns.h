/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS messages of a stub resolver: a query for the addresses of one name, and the addresses in its
 * response (RFC 1035 §4, RFC 3596). Owns only the format; sends nothing, follows no referral, keeps
 * no cache.
 *
 * Invariants:
 * I1. A query is written completely or not at all: a failure leaves the writer unchanged.
 * I2. Round trip: if our query is turned into a response, dns_answer accepts it for the same
 *     question and id, but refuses it for any other id.
 * I3. dns_answer returns STATUS_OK if it appended an address; otherwise *out is unchanged.
 * I4. Bounded: never more than API_ADDRESSES_MAX addresses; nothing is read outside the message.
 * I5. Agreement: if another parser reads a message to its end, it finds the same addresses.
 */
#ifndef WIRE_DNS_H
#define WIRE_DNS_H

#include "base/ip.h"
#include "cfg/limits.h"

/* DNS record types, RFC 1035 §3.2.2 and RFC 3596 §2.1. */
enum dns_type { DNS_A = 1, DNS_AAAA = 28 };

/* Addresses in the order of the response; addresses beyond API_ADDRESSES_MAX are dropped. */
struct ip_addresses {
    unsigned count;
    struct ip_address address[API_ADDRESSES_MAX];
};

/*
 * Appends a query with recursion desired. PEER_MALFORMED: `name` is not a host name (empty label,
 * trailing dot, label over 63 or name over 253 bytes). FULL_BUFFER: no room in `out`. On failure
 * `out` is unchanged.
 */
MUST_USE enum status dns_query(struct writer *out, uint16_t id, enum dns_type type,
                               struct view name);
/*
 * Parses a message from the server that was asked and appends its addresses; addresses that do not
 * fit are dropped. The owner names of records are not compared with `name`: the server follows
 * CNAMEs, so the addresses may belong to a name of which `name` is an alias.
 * Returns:
 * - STATUS_OK: at least one address was appended, perhaps from a damaged or truncated message.
 * - STATUS_MORE: the message is not the answer to this question (other id, other name, or a query);
 *   the caller continues to wait.
 * - PEER_NOT_FOUND: the name does not exist or has no address of this type.
 * - PEER_REFUSED: the server returned another error code.
 * - PEER_MALFORMED: no address was found, and the message is incomplete, malformed, or truncated by
 *   the server (TC, RFC 1035 §4.2.1).
 */
MUST_USE enum status dns_answer(struct view message, uint16_t id, enum dns_type type,
                                struct view name, struct ip_addresses *out);

#endif
