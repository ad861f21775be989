/* SPDX-License-Identifier: Apache-2.0 */
/* Checks certificate policies if an authority requires them (RFC 5280 §6.1, RFC 9618). Pure. */
#ifndef X509_X509_POLICY_H
#define X509_X509_POLICY_H

#include "x509/x509.h"

/*
 * Whether certificate policies allow the chain, from the server's certificate to the last
 * certificate below the anchor: if a certificate in the chain requires a policy, all must have one
 * in common. Two rules are stricter than Go's:
 * - Policy mappings are not followed, so a chain that needs them is refused.
 * - If any certificate has inhibitAnyPolicy, whatever its value of SkipCerts, anyPolicy matches
 *   no other policy anywhere in the chain.
 */
bool x509_policies_allow(const struct x509_cert *const chain[], size_t count);

#endif
