/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of HTTP/2 as a fuzzed peer sends them (RFC 9113 §4.1). Checks none of their fields. */
#ifndef TESTS_FUZZ_FRAME_H
#define TESTS_FUZZ_FRAME_H

#include "base/bytes.h"

/* Octets of a frame's header. */
#define FRAME_HEAD 9u

/* Appends the header of a frame with a payload of `len` octets. */
static inline void frame_head(struct writer *w, size_t len, uint8_t type, uint8_t flags,
                              uint32_t stream)
{
    writer_u24(w, (uint32_t)len);
    writer_u8(w, type);
    writer_u8(w, flags);
    writer_u32(w, stream);
}

/* Appends a whole frame. */
static inline void frame_put(struct writer *w, uint8_t type, uint8_t flags, uint32_t stream,
                             struct view payload)
{
    frame_head(w, payload.len, type, flags, stream);
    writer_append(w, payload);
}

#endif
