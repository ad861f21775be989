/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IP addresses and their texts. Owns no state.
 *
 * Invariants:
 * I1 ip_parse accepts the same texts as inet_pton(3), and returns the same octets.
 * I2 When ip_parse refuses a text, *out is unchanged.
 */
#ifndef BASE_IP_H
#define BASE_IP_H

#include "base/bytes.h"

/* Octets of an IPv4 address (RFC 791). */
#define IPV4_BYTES 4u
/* Octets of an IPv6 address (RFC 4291). */
#define IPV6_BYTES 16u

/* One IPv4 or IPv6 address. */
struct ip_address {
    bool v6;
    uint8_t bytes[IPV6_BYTES]; /* network order; IPv4 uses the first four */
};

/* Whether `a` and `b` are the same address. */
bool ip_equal(const struct ip_address *a, const struct ip_address *b);
/* Number of octets that the address has. */
size_t ip_len(const struct ip_address *a);
/*
 * Parses an address without brackets, port or zone: IPv4 as four decimal numbers without leading
 * zeros, or IPv6 in a form of RFC 4291 §2.2. Returns false if the text is not such an address.
 */
MUST_USE bool ip_parse(struct view text, struct ip_address *out);

#endif
