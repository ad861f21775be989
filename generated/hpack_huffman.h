/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tools/build/generate.py from tools/build/hpack_tables.json: edit that, then run 'make generate'. */
/*
 * HPACK Huffman code, RFC 7541 Appendix B, as what it is: a canonical code. Codes of one length are
 * consecutive; each row describes one length, shortest first.
 *
 * To decode: let `window` be the next 32 bits of the input, first bit highest, padded with ones.
 * The symbol belongs to the first row with
 *   window - row.first < (uint32_t)row.count << (32 - row.length)
 * and is hpack_huffman_symbols[row.offset + ((window - row.first) >> (32 - row.length))]. Rows are
 * tried in order, so `window >= row.first` holds whenever a row is reached. No row: EOS, an error in
 * a string.
 */
#ifndef GENERATED_HPACK_HUFFMAN_H
#define GENERATED_HPACK_HUFFMAN_H

#include <stdint.h>

#define HPACK_HUFFMAN_ROWS 21u
#define HPACK_HUFFMAN_LENGTH_MIN 5u  /* bits of the shortest code */
#define HPACK_HUFFMAN_LENGTH_MAX 30 /* bits of the longest code */

struct hpack_huffman_row {
    uint32_t first; /* first code of this length, its first bit in bit 31 */
    uint8_t length; /* bits */
    uint8_t count;  /* symbols of this length, EOS not counted */
    uint8_t offset; /* of its first symbol in hpack_huffman_symbols */
};

extern const struct hpack_huffman_row hpack_huffman_rows[HPACK_HUFFMAN_ROWS];
extern const uint8_t hpack_huffman_symbols[256]; /* in the order of their codes, EOS left out */

#endif
