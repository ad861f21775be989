/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that read certificates share. Owns no state; nobody else includes it. */
#ifndef HOST_X509_INTERNAL_H
#define HOST_X509_INTERNAL_H

#include "host/x509.h"

/* Reads the extensions: the content of [3]. False: cert->fault is set. */
MUST_USE bool x509_extensions(struct view in, struct x509_cert *cert);
/* Whether an OBJECT IDENTIFIER has these octets. */
bool x509_oid_is(struct view oid, const char *octets, size_t len);
/* Whether every octet is ASCII (IA5String). */
bool x509_is_ia5(struct view text);

#define X509_OID_ANY_POLICY "\x55\x1d\x20\x00" /* RFC 5280 §4.2.1.4 */

/* The octets of a string literal, without its NUL. */
#define OID_IS(oid, literal) x509_oid_is((oid), (literal), sizeof(literal) - 1u)

#endif
