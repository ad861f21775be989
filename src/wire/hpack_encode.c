/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HPACK encoder without a dynamic table and without Huffman, RFC 7541 §6.1, §6.2.2, §6.2.3.
 * Pure; owns no state, so it can never be out of step with its peer.
 */
#include "base/assert.h"
#include "generated/hpack_static.h"
#include "wire/hpack_internal.h"

struct static_match {
    uint32_t exact; /* index of an entry with this name and value, 0: none */
    uint32_t name;  /* index of the first entry with this name, 0: none */
};

static struct static_match static_find(struct view name, struct view value)
{
    struct static_match match = {0, 0};
    for (uint32_t i = 1; i <= HPACK_STATIC_ENTRIES && match.exact == 0u; i++) {
        if (!view_equal(name, hpack_static_name(i))) {
            continue;
        }
        if (match.name == 0u) {
            match.name = i;
        }
        if (view_equal(value, hpack_static_value(i))) {
            match.exact = i;
        }
    }
    ASSERT(match.exact == 0u || match.name != 0u);
    return match;
}

/* RFC 7541 §5.1; `pattern` stands in the bits above the prefix. */
static void write_integer(struct writer *out, uint8_t pattern, unsigned prefix_bits, size_t value)
{
    ASSERT(value <= HPACK_INTEGER_MAX);
    uint32_t prefix_max = ((uint32_t)1u << prefix_bits) - 1u;
    if (value < prefix_max) {
        writer_u8(out, (uint8_t)(pattern | value));
        return;
    }
    writer_u8(out, (uint8_t)(pattern | prefix_max));
    size_t rest = value - prefix_max;
    for (unsigned octets = 0; octets < 4u && rest >= 0x80u; octets++) {
        writer_u8(out, (uint8_t)(0x80u | (rest & 0x7fu)));
        rest >>= 7;
    }
    writer_u8(out, (uint8_t)rest);
}

static void write_string(struct writer *out, struct view v)
{
    ASSERT(v.len == 0u || v.data != NULL);
    write_integer(out, 0x00, 7, v.len);
    writer_append(out, v);
}

void hpack_encode(struct writer *out, struct view name, struct view value, bool sensitive)
{
    ASSERT(name.len > 0u);
    struct static_match match = static_find(name, value);
    if (match.exact != 0u && !sensitive) {
        write_integer(out, 0x80, 7, match.exact);
        return;
    }
    write_integer(out, sensitive ? 0x10 : 0x00, 4, match.name);
    if (match.name == 0u) {
        write_string(out, name);
    }
    write_string(out, value);
}
