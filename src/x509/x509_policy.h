/* SPDX-License-Identifier: Apache-2.0 */
/* Certificate policies, where an authority requires them (RFC 5280 §6.1, RFC 9618). Pure. */
#ifndef X509_X509_POLICY_H
#define X509_X509_POLICY_H

#include "x509/x509.h"

/*
 * Whether the chain, from the server's certificate up to but without its anchor, has the policy
 * that an authority in it requires. Two rules are stricter than Go's: policy mappings are not
 * followed, so a chain that needs them is refused; and if one certificate inhibits anyPolicy, it
 * does not count anywhere in the chain, whatever its number of skipped certificates.
 */
bool x509_policies_allow(const struct x509_cert *const chain[], size_t count);

#endif
