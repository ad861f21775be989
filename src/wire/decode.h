/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One protobuf message that is complete in memory, by nanopb: a record of the field filter or a
 * request. Owns nothing; the message and what it is decoded into are the caller's.
 *
 * Invariants, for every message of generated/ that a peer or the disk hands in:
 * I1 What was decoded can be encoded.
 * I2 That decodes again and encodes to the same bytes.
 * I3 Nothing is written behind the structure, whatever the bytes.
 */
#ifndef WIRE_DECODE_H
#define WIRE_DECODE_H

#include "base/bytes.h"
#include "pb_decode.h"

/*
 * Decodes `message` into the nanopb structure of `fields`; false: not readable, *out is unusable.
 */
MUST_USE static inline bool decode(struct view message, const pb_msgdesc_t *fields, void *out)
{
    pb_istream_t in = pb_istream_from_buffer(message.data, message.len);
    return pb_decode(&in, fields, out);
}

#endif
