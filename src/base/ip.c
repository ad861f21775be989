/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ip.h"

#include <string.h>

#include "base/chars.h"

#define IPV4_PARTS 4u
#define GROUP_BYTES 2u
#define GROUP_DIGITS 4u

bool ip_equal(const struct ip_address *a, const struct ip_address *b)
{
    return a->v6 == b->v6 && memcmp(a->bytes, b->bytes, ip_len(a)) == 0;
}

size_t ip_len(const struct ip_address *a)
{
    return a->v6 ? IPV6_BYTES : IPV4_BYTES;
}

/*
 * Consumes *rest up to and including the next `mark` (all of it if there is no mark), and returns
 * the part before the mark.
 */
static struct view part_next(struct view *rest, char mark)
{
    size_t len = view_find(*rest, (uint8_t)mark);
    struct view part = view_first(*rest, len);
    *rest = view_from(*rest, len + 1u);
    return part;
}

static bool ipv4_parse(struct view text, uint8_t out[IPV4_BYTES])
{
    struct view rest = text;
    unsigned dots = 0;
    bool good = true;
    for (size_t i = 0; i < text.len; i++) {
        dots += (text.data[i] == '.') ? 1u : 0u;
    }
    for (unsigned i = 0; i < IPV4_PARTS && good; i++) {
        uint64_t n = 0;
        struct view part = part_next(&rest, '.');
        good = view_decimal(part, 255, &n) == STATUS_OK && (part.len == 1u || part.data[0] != '0');
        out[i] = (uint8_t)n;
    }
    return good && dots == IPV4_PARTS - 1u;
}

/* The groups of an IPv6 address that were read so far. */
struct groups {
    uint8_t bytes[IPV6_BYTES];
    size_t len;
    bool has_gap;  /* "::" was read */
    size_t gap_at; /* number of address bytes before the "::" */
};

static bool group_parse(struct view digits, struct groups *g)
{
    unsigned value = 0;
    bool good = digits.len > 0u && digits.len <= GROUP_DIGITS && g->len + GROUP_BYTES <= IPV6_BYTES;
    for (size_t i = 0; i < digits.len && good; i++) {
        good = is_hex_digit(digits.data[i]);
        value = good ? value * 16u + hex_value(digits.data[i]) : 0u;
    }
    if (good) {
        g->bytes[g->len] = (uint8_t)(value >> 8);
        g->bytes[g->len + 1u] = (uint8_t)(value & 0xffu);
        g->len += GROUP_BYTES;
    }
    return good;
}

/*
 * Consumes a group and the colon after it, or an IPv4 address at the end of the text, which counts
 * as two groups. Returns false if the text has neither, or if it ends in a single colon.
 */
static bool group_next(struct view *rest, struct groups *g)
{
    uint8_t v4[IPV4_BYTES];
    bool last = view_find(*rest, ':') == rest->len;
    struct view part = part_next(rest, ':');
    if (last && g->len + IPV4_BYTES <= IPV6_BYTES && ipv4_parse(part, v4)) {
        memcpy(&g->bytes[g->len], v4, sizeof v4);
        g->len += IPV4_BYTES;
        return true;
    }
    bool lone_colon = !last && rest->len == 0u;
    return !lone_colon && group_parse(part, g);
}

/*
 * Stores the position of a "::", whose first colon is already consumed, and consumes its second
 * colon. Returns false if the address has an earlier "::".
 */
static bool gap_next(struct view *rest, struct groups *g)
{
    bool second = g->has_gap;
    g->has_gap = true;
    g->gap_at = g->len;
    *rest = view_from(*rest, 1);
    return !second;
}

/*
 * Replaces the "::" with one or more groups of zeros. Returns false if an address without "::" has
 * fewer than eight groups, or if an address with "::" already has eight.
 */
static bool fill_gap(struct groups *g)
{
    size_t tail = g->len - g->gap_at;
    if (!g->has_gap || g->len == IPV6_BYTES) {
        return !g->has_gap && g->len == IPV6_BYTES;
    }
    memmove(&g->bytes[IPV6_BYTES - tail], &g->bytes[g->gap_at], tail);
    memset(&g->bytes[g->gap_at], 0, IPV6_BYTES - g->len);
    return true;
}

static bool ipv6_parse(struct view text, struct groups *g)
{
    struct view rest = text;
    bool good = true;
    if (view_starts(text, "::")) {
        rest = view_from(text, 1);
        good = gap_next(&rest, g);
    }
    while (rest.len > 0u && good) {
        good = group_next(&rest, g);
        if (good && view_starts(rest, ":")) {
            good = gap_next(&rest, g);
        }
    }
    return good && fill_gap(g);
}

bool ip_parse(struct view text, struct ip_address *out)
{
    struct groups g = {.len = 0};
    uint8_t v4[IPV4_BYTES];
    if (ipv4_parse(text, v4)) {
        *out = (struct ip_address){.v6 = false};
        memcpy(out->bytes, v4, sizeof v4);
        return true;
    }
    if (!ipv6_parse(text, &g)) {
        return false;
    }
    out->v6 = true;
    memcpy(out->bytes, g.bytes, sizeof g.bytes);
    return true;
}
