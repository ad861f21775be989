/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of IP addresses of any length. A group is read in any state of the groups before it that
 * `sound` allows, and keeps it; by induction, so does every group of an address.
 */
#include "stubs.h"

#include "base/ip.c"

/* What ip_parse establishes, and every group and every "::" keeps. */
static bool sound(const struct groups *g)
{
    return g->len <= IPV6_BYTES && g->len % GROUP_BYTES == 0u && g->gap_at <= g->len;
}

static struct groups any_groups(void)
{
    struct groups g;
    g.has_gap = any_bool();
    ASSUME(sound(&g));
    return g;
}

bool stub_ipv4_parse(struct view text, uint8_t out[IPV4_BYTES])
{
    stub_check_view(text);
    CHECK(__CPROVER_w_ok(out, IPV4_BYTES));
    out[0] = any_u8();
    return text.len > 0u && any_bool();
}

/* Proof ip_group: a group consumes at least its colon or the rest of the text. */
bool stub_group_next(struct view *rest, struct groups *g)
{
    stub_check_view(*rest);
    CHECK(rest->len > 0u && sound(g));
    *rest = view_from(*rest, 1u + any_length(rest->len - 1u));
    g->len = any_length(IPV6_BYTES);
    ASSUME(sound(g));
    return any_bool();
}

void proof_ip_v4(void)
{
    struct view text = any_view(ANY_LENGTH);
    uint8_t out[IPV4_BYTES];
    bool good = ipv4_parse(text, out);
    CHECK(!good || text.len > 0u);
}

void proof_ip_group(void)
{
    struct groups g = any_groups();
    struct view text = any_view(ANY_LENGTH);
    struct view rest = text;
    size_t before = g.len;
    ASSUME(rest.len > 0u); /* the loop of ipv6_parse ends before */
    bool good = group_next(&rest, &g);
    CHECK(view_within(rest, text) && rest.len < text.len);
    CHECK(sound(&g) && g.len >= before && (!good || g.len > before));
}

void proof_ip_gap(void)
{
    struct groups g = any_groups();
    bool had = g.has_gap;
    if (any_bool()) {
        struct view text = any_view(ANY_LENGTH);
        struct view rest = text;
        CHECK(gap_next(&rest, &g) == !had);
        CHECK(view_within(rest, text) && sound(&g) && g.has_gap);
    } else {
        bool whole = !had && g.len == IPV6_BYTES;
        CHECK(fill_gap(&g) == (whole || (had && g.len < IPV6_BYTES)));
    }
}

void proof_ip_parse(void)
{
    struct ip_address out;
    out.v6 = any_bool();
    uint8_t last = out.bytes[IPV6_BYTES - 1u];
    bool v6 = out.v6;
    bool good = ip_parse(any_view(ANY_LENGTH), &out);
    CHECK(good || (out.v6 == v6 && out.bytes[IPV6_BYTES - 1u] == last));
    CHECK(ip_len(&out) == (out.v6 ? IPV6_BYTES : IPV4_BYTES));
}

void proof_ip_equal(void)
{
    struct ip_address a;
    struct ip_address b;
    a.v6 = any_bool();
    b.v6 = any_bool();
    bool equal = ip_equal(&a, &b);
    CHECK(a.v6 == b.v6 || !equal);
}
