/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes written as hexadecimal digits, with spaces anywhere. */
#ifndef TESTS_UNIT_HEX_H
#define TESTS_UNIT_HEX_H

#include "unit.h"

static size_t from_hex(const char *hex, uint8_t *out, size_t cap)
{
    size_t digits = 0;
    for (const char *p = hex; *p != '\0'; p++) {
        if (*p == ' ') {
            continue;
        }
        assert_non_null(strchr("0123456789abcdef", *p));
        unsigned nibble = (unsigned)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
        assert_true(digits / 2 < cap);
        out[digits / 2] = (uint8_t)(digits % 2 == 0 ? nibble << 4 : out[digits / 2] | nibble);
        digits++;
    }
    assert_int_equal(digits % 2, 0);
    return digits / 2;
}

#endif
