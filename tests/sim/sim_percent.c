/* SPDX-License-Identifier: Apache-2.0 */
/* Percent-encoding; see sim_percent.h. */
#include "tests/sim/sim_percent.h"

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int sim_percent_octet(struct view v)
{
    if (v.len < 3 || v.data[0] != '%') {
        return -1;
    }
    int high = hex_digit(v.data[1]);
    int low = hex_digit(v.data[2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}
