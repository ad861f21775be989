/* SPDX-License-Identifier: Apache-2.0 */
/* The piece of a payload that lies in the receive buffer, in place of the code of h2_stream.c. */
#ifndef PROOF_H2_RX_STUBS_H
#define PROOF_H2_RX_STUBS_H

#include "stubs.h"
#include "wire/h2_internal.h"

struct view stub_rx_piece(const struct h2 *c)
{
    CHECK(c->rx_pos <= c->rx_len);
    size_t here = c->rx_len - c->rx_pos;
    size_t n = here < c->left ? here : c->left;
    return (struct view){(n > 0u) ? c->mem.rx + c->rx_pos : NULL, n};
}

void stub_rx_consume(struct h2 *c, size_t n)
{
    CHECK(n <= c->left && n <= c->rx_len - c->rx_pos);
    c->rx_pos += n;
    c->left -= (uint32_t)n;
}

#endif
