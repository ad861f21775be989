/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that x509_names.c and x509_constraints.c share. Owns no state; only these two files
 * include it.
 */
#ifndef X509_X509_NAMES_INTERNAL_H
#define X509_X509_NAMES_INTERNAL_H

#include "x509/der.h"
#include "x509/x509_names.h"

/* Tags of GeneralName (RFC 5280 §4.2.1.6). */
#define X509_NAME_EMAIL DER_CONTEXT(1u)
#define X509_NAME_DNS DER_CONTEXT(2u)
#define X509_NAME_URI DER_CONTEXT(6u)
#define X509_NAME_IP DER_CONTEXT(7u)

/* Returns the GeneralNames in a certificate's subjectAltName; empty: none. */
struct view x509_names_of(const struct x509_cert *cert);
/*
 * Whether the name has only visible ASCII characters, no empty label and no final dot; a constraint
 * may start with a dot. The empty name is valid.
 */
bool x509_domain_valid(struct view name, bool constraint);
/*
 * Returns the four bytes of an IPv4 address mapped into IPv6 (RFC 4291 §2.5.5.2), and any other
 * address unchanged.
 */
struct view x509_unmapped(struct view address);
/* Whether both domain names are equal, ignoring the case of ASCII letters. */
bool x509_same_domain(struct view a, struct view b);
/* Finds the host and port of a URI; *authority may be empty. false: the URI is not supported. */
MUST_USE bool x509_uri_authority(struct view uri, struct view *authority);

#endif
