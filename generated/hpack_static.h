/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tools/build/generate.py from tools/build/hpack_tables.json: edit that, then run 'make generate'. */
/*
 * HPACK static table, RFC 7541 Appendix A. Entry i has the index i + 1. All texts stand one behind
 * the other, without NUL, each value behind its name.
 */
#ifndef GENERATED_HPACK_STATIC_H
#define GENERATED_HPACK_STATIC_H

#include <stdint.h>

#define HPACK_STATIC_ENTRIES 61u

struct hpack_static_entry {
    uint16_t at; /* of the name in hpack_static_texts */
    uint8_t name_len;
    uint8_t value_len;
};

extern const struct hpack_static_entry hpack_static_table[HPACK_STATIC_ENTRIES];
extern const char hpack_static_texts[685]; /* with the NUL of the last one */

#endif
