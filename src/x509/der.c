/* SPDX-License-Identifier: Apache-2.0 */
#include "x509/der.h"

#include "base/chars.h"
#include "base/time.h"

#define LENGTH_OCTETS_MAX 4u

/*
 * Parses the length octets of the element at the start of `in`; *used is the number of these
 * octets. false: the length is cut off, indefinite, not in its shortest form, or above 2^32 - 1.
 */
static bool parse_length(struct view in, size_t *used, size_t *length)
{
    size_t count = in.data[1] & 0x7fu;
    size_t value = 0;
    if (in.data[1] < 0x80u) {
        *used = 1;
        *length = in.data[1];
        return true;
    }
    if (count == 0u || count > LENGTH_OCTETS_MAX || in.len - 2u < count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        value = (value << 8) | in.data[2u + i];
    }
    *used = 1u + count;
    *length = value;
    return value >= 0x80u && in.data[2] != 0u;
}

bool der_any(struct view *in, struct der *out)
{
    size_t used = 0;
    size_t length = 0;
    if (in->len < 2u || (in->data[0] & 0x1fu) == 0x1fu || !parse_length(*in, &used, &length)) {
        return false;
    }
    size_t header = 1u + used;
    if (in->len - header < length) {
        return false;
    }
    out->tag = in->data[0];
    out->whole = view_first(*in, header + length);
    out->content = view_from(out->whole, header);
    *in = view_from(*in, header + length);
    return true;
}

bool der_expect(struct view *in, unsigned tag, struct view *content)
{
    struct der e = {0};
    if (!der_any(in, &e) || e.tag != tag) {
        return false;
    }
    *content = e.content;
    return true;
}

bool der_next_is(struct view in, unsigned tag)
{
    return in.len > 0u && in.data[0] == tag;
}

bool der_optional(struct view *in, unsigned tag, bool *present, struct view *content)
{
    *present = der_next_is(*in, tag);
    return !*present || der_expect(in, tag, content);
}

bool der_boolean(struct view *in, bool *value)
{
    struct view content = {0};
    if (!der_expect(in, DER_BOOLEAN, &content) || content.len != 1u) {
        return false;
    }
    *value = content.data[0] == 0xffu;
    return *value || content.data[0] == 0u;
}

bool der_integer(struct view *in, unsigned tag, struct view *content)
{
    if (!der_expect(in, tag, content) || content->len == 0u) {
        return false;
    }
    if (content->len == 1u) {
        return true;
    }
    bool high = (content->data[1] & 0x80u) != 0u;
    return !(content->data[0] == 0u && !high) && !(content->data[0] == 0xffu && high);
}

bool der_number(struct view *in, unsigned tag, uint64_t *value)
{
    struct view content = {0};
    if (!der_integer(in, tag, &content) || content.len > sizeof *value ||
        (content.data[0] & 0x80u) != 0u) {
        return false;
    }
    *value = 0;
    for (size_t i = 0; i < content.len; i++) {
        *value = (*value << 8) | content.data[i];
    }
    return true;
}

/*
 * X.690 §8.19.2: an arc is encoded with seven bits per octet, in the shortest form; only the last
 * octet of an arc has a clear high bit.
 */
bool der_long_oid(struct view *in, struct view *content)
{
    bool inside = false;
    if (!der_expect(in, DER_OID, content) || content->len == 0u) {
        return false;
    }
    for (size_t i = 0; i < content->len; i++) {
        uint8_t octet = content->data[i];
        if (!inside && octet == 0x80u) {
            return false;
        }
        inside = (octet & 0x80u) != 0u;
    }
    return !inside;
}

bool der_oid(struct view *in, struct view *content)
{
    uint32_t arc = 0;
    if (!der_long_oid(in, content)) {
        return false;
    }
    for (size_t i = 0; i < content->len; i++) {
        uint8_t octet = content->data[i];
        if (arc >= UINT32_C(0x1000000)) {
            return false;
        }
        arc = ((octet & 0x80u) != 0u) ? (arc << 7) | (octet & 0x7fu) : 0u;
    }
    return true;
}

bool der_bits(struct view *in, struct view *bytes, unsigned *unused)
{
    struct view content = {0};
    if (!der_expect(in, DER_BIT_STRING, &content) || content.len == 0u || content.data[0] > 7u) {
        return false;
    }
    *unused = content.data[0];
    *bytes = view_from(content, 1);
    if (bytes->len == 0u) {
        return *unused == 0u;
    }
    static const uint8_t masks[] = {0, 1, 3, 7, 15, 31, 63, 127};
    return (bytes->data[bytes->len - 1u] & masks[*unused]) == 0u;
}

bool der_is(struct view content, const char *octets, size_t len)
{
    return view_equal(content, view_of(octets, len));
}

bool der_is_ascii(struct view text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] >= 0x80u) {
            return false;
        }
    }
    return true;
}

/* --- parsing a time --- */

/* Consumes exactly `digits` decimal digits. false: there are fewer. */
static bool consume_digits(struct view *in, size_t digits, int64_t *value)
{
    *value = 0;
    if (in->len < digits) {
        return false;
    }
    for (size_t i = 0; i < digits; i++) {
        if (!is_digit(in->data[i])) {
            return false;
        }
        int64_t digit = hex_value(in->data[i]);
        *value = *value * 10 + digit;
    }
    *in = view_from(*in, digits);
    return true;
}

/*
 * Consumes the year. RFC 5280 §4.1.2.5.1: years 50 to 99 of a UTCTime are 1950 to 1999, years 00 to
 * 49 are 2000 to 2049.
 */
static bool consume_year(struct view *in, bool utc, int64_t *year)
{
    if (!consume_digits(in, utc ? 2u : 4u, year)) {
        return false;
    }
    if (utc) {
        *year += (*year >= 50) ? 1900 : 2000;
    }
    return true;
}

#define PARTS 5u /* parts of a time after its year: month, day, hour, minute, second */

/*
 * Consumes a time from its month to its seconds, and checks that only "Z" follows. As in Go, a
 * UTCTime may lack the seconds.
 */
static bool consume_parts(struct view *in, bool utc, int64_t part[PARTS])
{
    for (size_t i = 0; i < PARTS; i++) {
        bool ended = utc && i == PARTS - 1u && view_is(*in, "Z");
        part[i] = 0;
        if (!ended && !consume_digits(in, 2, &part[i])) {
            return false;
        }
    }
    return view_is(*in, "Z");
}

bool der_time(struct view *in, int64_t *seconds)
{
    struct der e = {0};
    int64_t year = 0;
    int64_t days = 0;
    int64_t part[PARTS];
    if (!der_any(in, &e) || (e.tag != DER_UTC_TIME && e.tag != DER_GENERALIZED_TIME)) {
        return false;
    }
    bool utc = e.tag == DER_UTC_TIME;
    if (!consume_year(&e.content, utc, &year) || !consume_parts(&e.content, utc, part)) {
        return false;
    }
    if (!time_days(year, part[0], part[1], &days) || part[2] > 23 || part[3] > 59 || part[4] > 59) {
        return false;
    }
    *seconds = ((days * 24 + part[2]) * 60 + part[3]) * 60 + part[4];
    return true;
}
