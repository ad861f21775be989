/* SPDX-License-Identifier: Apache-2.0 */
/* Certificate policies, where an authority requires them (RFC 5280 §6.1, RFC 9618). Pure. */
#ifndef X509_X509_POLICY_H
#define X509_X509_POLICY_H

#include "x509/x509.h"

/*
 * Whether the chain, the server's certificate first and its anchor left out, has the policy that an
 * authority in it requires. Two things are stricter than in Go: mapped policies are not followed,
 * so a chain that needs them is refused; and where one certificate inhibits anyPolicy, it counts
 * nowhere in the chain, whatever its number of skipped certificates.
 */
bool x509_policies_allow(const struct x509_cert *const chain[], size_t count);

#endif
