/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tools/generate.py from tools/hpack_tables.json: edit that, then run 'make generate'. */
/*
 * HPACK static table, RFC 7541 Appendix A. Entry i has the index i + 1. Texts end in NUL; their
 * lengths do
 * not count it. Texts stand inside the entries so that the table needs no relocation.
 */
#ifndef GENERATED_HPACK_STATIC_H
#define GENERATED_HPACK_STATIC_H

#include <stdint.h>

#define HPACK_STATIC_ENTRIES 61u
#define HPACK_STATIC_NAME_CAP 28u
#define HPACK_STATIC_VALUE_CAP 14u

struct hpack_static_entry {
    char name[HPACK_STATIC_NAME_CAP];
    char value[HPACK_STATIC_VALUE_CAP];
    uint8_t name_len;
    uint8_t value_len;
};

extern const struct hpack_static_entry hpack_static_table[HPACK_STATIC_ENTRIES];

#endif
