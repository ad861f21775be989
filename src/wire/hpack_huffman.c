/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Huffman decoding of HPACK string literals, RFC 7541 §5.2, by the canonical rows in generated/.
 * Pure; owns no state.
 */
#include "base/assert.h"
#include "generated/hpack_huffman.h"
#include "wire/hpack.h"

/* Input bits not yet decoded: `count` of them, in the low end of `bits`. */
struct bit_window {
    uint64_t bits;
    unsigned count;
};

/* The row that the next 32 bits fall into; HPACK_HUFFMAN_ROWS: none, they begin with EOS. */
static unsigned row_of(uint32_t window)
{
    for (unsigned i = 0; i < HPACK_HUFFMAN_ROWS; i++) {
        const struct hpack_huffman_row *row = &hpack_huffman_rows[i];
        if (window - row->first < (uint32_t)row->count << (32u - row->length)) {
            return i;
        }
    }
    return HPACK_HUFFMAN_ROWS;
}

/* The next 32 bits, first bit highest; ones where the input has ended. */
static uint32_t peek(const struct bit_window *w)
{
    ASSERT(w->count < 64u);
    if (w->count >= 32u) {
        return (uint32_t)(w->bits >> (w->count - 32u));
    }
    unsigned missing = 32u - w->count;
    uint64_t ones = ((uint64_t)1 << missing) - 1u;
    return (uint32_t)((w->bits << missing) | ones);
}

static void refill(struct bit_window *w, struct view in, size_t *pos)
{
    ASSERT(*pos <= in.len && w->count < 64u);
    for (unsigned i = 0; i < 4u && *pos < in.len && w->count < 32u; i++) {
        w->bits = (w->bits << 8) | in.data[*pos];
        w->count += 8u;
        *pos += 1;
    }
}

/* The end of the string: at most 7 bits, all ones (RFC 7541 §5.2). */
static bool is_padding(const struct bit_window *w)
{
    ASSERT(w->count < 64u);
    uint64_t ones = ((uint64_t)1 << (w->count % 8u)) - 1u;
    return w->count < 8u && (w->bits & ones) == ones;
}

static enum status decode_symbols(struct view in, struct writer *out)
{
    struct bit_window w = {0, 0};
    size_t pos = 0;
    /*
     * A symbol takes at least HPACK_HUFFMAN_LENGTH_MIN bits, so this bound is never reached
     * before the end.
     */
    size_t symbols_max = in.len * 8u / HPACK_HUFFMAN_LENGTH_MIN + 1u;
    for (size_t i = 0; i < symbols_max; i++) {
        refill(&w, in, &pos);
        if (is_padding(&w)) {
            return STATUS_OK;
        }
        uint32_t window = peek(&w);
        unsigned row = row_of(window);
        if (row == HPACK_HUFFMAN_ROWS || hpack_huffman_rows[row].length > w.count) {
            return PEER_MALFORMED;
        }
        const struct hpack_huffman_row *r = &hpack_huffman_rows[row];
        if (writer_room(out) == 0u) {
            return FULL_BUFFER;
        }
        uint32_t rank = (window - r->first) >> (32u - r->length);
        ASSERT(rank < r->count);
        writer_u8(out, hpack_huffman_symbols[r->offset + rank]);
        w.count -= r->length;
        w.bits &= ((uint64_t)1 << w.count) - 1u;
    }
    return is_padding(&w) ? STATUS_OK : PEER_MALFORMED;
}

enum status hpack_huffman_decode(struct view in, struct writer *out)
{
    ASSERT(out != NULL && !out->full);
    size_t before = out->len;
    enum status s = decode_symbols(in, out);
    if (s != STATUS_OK) {
        out->len = before;
    }
    ASSERT(out->len <= out->cap);
    return s;
}
