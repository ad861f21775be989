/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that x509.c, x509_extensions.c and x509_policy.c share. Owns no state; only these
 * files include it.
 */
#ifndef X509_X509_INTERNAL_H
#define X509_X509_INTERNAL_H

#include "x509/x509.h"

/*
 * Parses the extensions of a certificate; `in` is the content of field [3] of tbsCertificate.
 * false: cert->fault names the invalid part.
 */
MUST_USE bool x509_extensions(struct view in, struct x509_cert *cert);

#define X509_OID_ANY_POLICY "\x55\x1d\x20\x00" /* the OID anyPolicy, RFC 5280 §4.2.1.4 */

#endif
