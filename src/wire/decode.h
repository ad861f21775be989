/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes one complete protobuf message with nanopb: a record that kube_filter.c returned, or a
 * gRPC request. Owns nothing; the caller owns the message and the structure.
 *
 * Invariants, for every message of generated/ that comes from a peer or the disk:
 * I1 A decoded message can be encoded.
 * I2 A decoded message that is encoded and decoded again encodes to the same bytes.
 * I3 Decoding writes nothing outside the structure, whatever bytes the message holds.
 */
#ifndef WIRE_DECODE_H
#define WIRE_DECODE_H

#include "base/bytes.h"
#include "pb_decode.h"

/*
 * Decodes `message` into *out, the nanopb structure that `fields` describes. false: the message is
 * malformed; *out is unusable, and *why is nanopb's reason, a static text such as "invalid utf8".
 */
MUST_USE static inline bool decode_or_why(struct view message, const pb_msgdesc_t *fields,
                                          void *out, const char **why)
{
    pb_istream_t in = pb_istream_from_buffer(message.data, message.len);
    bool good = pb_decode(&in, fields, out);
    *why = good ? "" : PB_GET_ERROR(&in);
    return good;
}

/* Like decode_or_why, for callers that do not report the reason. */
MUST_USE static inline bool decode(struct view message, const pb_msgdesc_t *fields, void *out)
{
    const char *why = "";
    return decode_or_why(message, fields, out, &why);
}

#endif
