/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in certificates: whether they match the server, and whether name constraints permit them
 * (RFC 5280 §4.2.1.6 and §4.2.1.10, RFC 9525). Decides as Go's crypto/x509 does. Pure.
 */
#ifndef X509_X509_NAMES_H
#define X509_X509_NAMES_H

#include "x509/x509.h"

/*
 * Whether the value of subjectAltName is well-formed. *some becomes true if the value has a name of
 * an evaluated kind (DNS, IP address, email address, URI).
 */
MUST_USE bool x509_names_valid(struct view value, bool *some);
/*
 * Whether the GeneralSubtrees of name constraints are well-formed. *whole becomes false when a
 * subtree has a kind of name that is not evaluated.
 */
MUST_USE bool x509_constraints_valid(struct view subtrees, bool *whole);
/*
 * Whether the certificate lists `host`: a DNS name, possibly with a trailing dot, or an IP address,
 * possibly in brackets. Ignores the common name.
 */
bool x509_lists_host(const struct x509_cert *cert, struct view host);
/*
 * Parses `host` as an IP address, possibly in brackets, and returns the number of bytes of the
 * address. 0: `host` is a name.
 */
size_t x509_address_of(struct view host, uint8_t address[16]);
/*
 * Whether the name constraints of `ca` permit all names of `cert`. false: *name is the first
 * GeneralName that they do not permit. *budget is the number of comparisons left for the chain;
 * when it reaches 0, the result is false.
 */
bool x509_permits(const struct x509_cert *ca, const struct x509_cert *cert, uint32_t *budget,
                  struct view *name);
/* Appends a GeneralName to a message; an IP address appears as text. */
void x509_show_general_name(struct writer *w, struct view name);

#endif
