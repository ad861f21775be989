/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes certificates and private keys in PEM (RFC 7468), and base64. Works in place, because DER
 * takes only three quarters of the space of its base64. Pure; the caller owns the text.
 */
#ifndef X509_PEM_H
#define X509_PEM_H

#include "base/bytes.h"

/*
 * Replaces the text by the DER of its certificates, concatenated, and returns the length of this
 * DER in bytes. Skips other blocks, blocks with headers, text between blocks, and blocks that are
 * not the base64 of exactly one DER element.
 */
size_t pem_certificates(uint8_t *text, size_t len);
/*
 * Like pem_certificates, for private keys. Looks for PKCS #8 (RFC 7468 §10), then PKCS #1 (RSA),
 * then SEC 1 (elliptic curve), and decodes only keys of the first format that the text contains.
 * Skips keys protected by a password, because they have another label or a header.
 */
size_t pem_keys(uint8_t *text, size_t len);
/* Whether a line of the text begins a PEM block. */
bool pem_begins(struct view text);
/*
 * Appends the decoded base64 (RFC 4648 §4), ignoring blanks and line ends. `out` may precede `in`
 * in the same buffer, since four digits become three octets. false: not base64.
 */
MUST_USE bool pem_base64(struct view in, struct writer *out);

#endif
