/* SPDX-License-Identifier: Apache-2.0 */
/* What names and name constraints share. Owns no state; nobody else includes it. */
#ifndef X509_X509_NAMES_INTERNAL_H
#define X509_X509_NAMES_INTERNAL_H

#include "x509/der.h"
#include "x509/x509_names.h"

/* GeneralName (RFC 5280 §4.2.1.6). */
#define X509_NAME_EMAIL DER_CONTEXT(1u)
#define X509_NAME_DNS DER_CONTEXT(2u)
#define X509_NAME_URI DER_CONTEXT(6u)
#define X509_NAME_IP DER_CONTEXT(7u)

/* The GeneralNames of a certificate; empty without any. */
struct view x509_names_of(const struct x509_cert *cert);
/* No empty label, no final dot; a constraint may begin with a dot. The empty name is valid. */
bool x509_domain_valid(struct view name, bool constraint);
/* Of an IPv4 address that is mapped into IPv6 (RFC 4291 §2.5.5.2) its four bytes, else all. */
struct view x509_unmapped(struct view address);
/* Whether both are the same letters, A-Z being a-z. */
bool x509_same_domain(struct view a, struct view b);
/* Host and port of a URI, perhaps empty. False: not one that is understood. */
MUST_USE bool x509_uri_authority(struct view uri, struct view *authority);

#endif
