/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates and private keys in PEM (RFC 7468), decoded in place: their DER takes three quarters
 * of the room. And the base64 in it.
 * Pure; the text is the caller's.
 */
#ifndef X509_PEM_H
#define X509_PEM_H

#include "base/bytes.h"

/*
 * Replaces the text by the DER of its certificates, one behind the other, and returns its length.
 * Other blocks, blocks with headers and text between blocks are skipped, and so is a block that is
 * not base64 or holds anything but one element of DER.
 */
size_t pem_certificates(uint8_t *text, size_t len);
/*
 * The same for private keys: PKCS #8 (RFC 7468 §10), or else PKCS #1 of RSA, or else SEC 1 of an
 * elliptic curve. Keys that a password protects are skipped: theirs is another label, or a header.
 */
size_t pem_keys(uint8_t *text, size_t len);
/* Whether a line of the text begins a block of PEM. */
bool pem_begins(struct view text);
/*
 * Appends what base64 (RFC 4648 §4) stands for, blanks and line ends left out. `out` may lie before
 * `in` in the same buffer, since four digits become three octets. False: not base64.
 */
MUST_USE bool pem_base64(struct view in, struct writer *out);

#endif
