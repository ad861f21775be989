/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of DER (X.690) as certificates use them: tags of one octet, and definite lengths in
 * their shortest form, up to 2^32 - 1. All other elements are refused. Pure; owns no memory.
 *
 * Each function with a parameter `struct view *in` consumes one element from the front of *in.
 * false: the element is absent or malformed; *in and the results are then undefined.
 */
#ifndef X509_DER_H
#define X509_DER_H

#include "base/bytes.h"

#define DER_BOOLEAN 0x01u          /* one octet: 0x00 is FALSE, 0xff is TRUE */
#define DER_INTEGER 0x02u          /* a number, encoded in two's complement */
#define DER_BIT_STRING 0x03u       /* number of unused bits at the end, then the bits */
#define DER_OCTET_STRING 0x04u     /* any bytes */
#define DER_OID 0x06u              /* OBJECT IDENTIFIER */
#define DER_UTC_TIME 0x17u         /* a time whose year has two digits */
#define DER_GENERALIZED_TIME 0x18u /* a time whose year has four digits */
#define DER_SEQUENCE 0x30u         /* a list whose elements have a fixed order */
#define DER_SET 0x31u              /* a list whose elements have no order */
/* Context-specific tags: DER_CONTEXT is primitive, DER_CONTEXT_OUTER is constructed. */
#define DER_CONTEXT(number) (0x80u | (number))
#define DER_CONTEXT_OUTER(number) (0xa0u | (number))

/* One DER element: its tag, and views of its octets. */
struct der {
    unsigned tag;
    struct view whole;   /* the element with its tag and length */
    struct view content; /* the element without its tag and length */
};

/* Consumes an element of any tag. */
MUST_USE bool der_any(struct view *in, struct der *out);
/* Consumes an element with this tag; *content is the element without its tag and length. */
MUST_USE bool der_expect(struct view *in, unsigned tag, struct view *content);
/* Whether the next element has this tag. */
bool der_next_is(struct view in, unsigned tag);
/*
 * Consumes the next element if it has this tag; *present: whether it has. false: the element is
 * malformed.
 */
MUST_USE bool der_optional(struct view *in, unsigned tag, bool *present, struct view *content);
/* Consumes a BOOLEAN. */
MUST_USE bool der_boolean(struct view *in, bool *value);
/*
 * Consumes an INTEGER of any size in its shortest form, with the tag `tag`; *content is its two's
 * complement, never empty.
 */
MUST_USE bool der_integer(struct view *in, unsigned tag, struct view *content);
/* Consumes an INTEGER from 0 to 2^63 - 1, with the tag `tag`. */
MUST_USE bool der_number(struct view *in, unsigned tag, uint64_t *value);
/* Consumes an OBJECT IDENTIFIER with arcs below 2^31; *content is its encoding. */
MUST_USE bool der_oid(struct view *in, struct view *content);
/* Like der_oid, but with arcs of any size, which policy identifiers may have. */
MUST_USE bool der_long_oid(struct view *in, struct view *content);
/* Consumes a BIT STRING; the last *unused bits of *bytes are unused and must be 0. */
MUST_USE bool der_bits(struct view *in, struct view *bytes, unsigned *unused);
/*
 * Consumes a UTCTime or GeneralizedTime of zone Z (RFC 5280 §4.1.2.5); *seconds counts from 1970.
 */
MUST_USE bool der_time(struct view *in, int64_t *seconds);
/* Whether the content of an element, such as an OBJECT IDENTIFIER, equals `len` given octets. */
bool der_is(struct view content, const char *octets, size_t len);
/* Whether every octet is ASCII (IA5String). */
bool der_is_ascii(struct view text);

/* Whether the content of an element equals a string literal without its NUL. */
#define DER_IS(content, literal) der_is((content), (literal), sizeof(literal) - 1u)

#endif
