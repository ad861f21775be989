/* SPDX-License-Identifier: Apache-2.0 */
/* Certificate policies, where an authority requires them (RFC 5280 §6.1, RFC 9618). Pure. */
#ifndef X509_X509_POLICY_H
#define X509_X509_POLICY_H

#include "x509/x509.h"

/*
 * Whether the chain, from the server's certificate to the last one below the anchor, has the policy
 * that an authority in it requires. Two rules are stricter than Go's:
 * - Policy mappings are not followed, so a chain that needs them is refused.
 * - If any certificate has inhibitAnyPolicy, with whatever value of SkipCerts, anyPolicy does not
 *   count anywhere in the chain.
 */
bool x509_policies_allow(const struct x509_cert *const chain[], size_t count);

#endif
