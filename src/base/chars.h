/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes of ASCII characters. Bytes above 0x7f belong to no class. Owns no state and, unlike
 * <ctype.h>, depends on no locale.
 */
#ifndef BASE_CHARS_H
#define BASE_CHARS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether `c` is one of 0-9. */
static inline bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Whether `c` is one of a-z. */
static inline bool is_lower(uint8_t c)
{
    return c >= 'a' && c <= 'z';
}

/* Whether `c` is one of A-Z. */
static inline bool is_upper(uint8_t c)
{
    return c >= 'A' && c <= 'Z';
}

/* Whether `c` is one of a-z and A-Z. */
static inline bool is_letter(uint8_t c)
{
    return is_lower(c) || is_upper(c);
}

/* Whether `c` is one of a-z, A-Z and 0-9. */
static inline bool is_alphanumeric(uint8_t c)
{
    return is_letter(c) || is_digit(c);
}

/* `c` with A-Z turned into a-z; other bytes are unchanged. */
static inline uint8_t to_lower(uint8_t c)
{
    return is_upper(c) ? (uint8_t)(c | 0x20u) : c;
}

/* Whether `c` is one of 0-9, a-f and A-F. */
static inline bool is_hex_digit(uint8_t c)
{
    return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'f');
}

/* Whether `c` is a space or a tab. */
static inline bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

/* Whether `c` is a blank, CR or LF. */
static inline bool is_space(uint8_t c)
{
    return is_blank(c) || c == '\r' || c == '\n';
}

/* Whether `c` is one of 0x20 to 0x7e. */
static inline bool is_printable(uint8_t c)
{
    return c >= ' ' && c <= '~';
}

/* Whether `c` is printable and not a space. */
static inline bool is_visible(uint8_t c)
{
    return is_printable(c) && c != ' ';
}

/* Whether `c` is one of 0x00 to 0x1f, or 0x7f. */
static inline bool is_control(uint8_t c)
{
    return c < ' ' || c == 0x7fu;
}

/* Value, 0 to 15, of the hexadecimal digit `c`. The caller has checked is_hex_digit. */
static inline uint8_t hex_value(uint8_t c)
{
    return (uint8_t)(is_digit(c) ? c - '0' : to_lower(c) - 'a' + 10);
}

#endif
