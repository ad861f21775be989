/* SPDX-License-Identifier: Apache-2.0 */
#include "x509/pem.h"

#include "base/assert.h"
#include "base/chars.h"
#include "x509/der.h"

/* The lines before and after the base64 of a PEM block (RFC 7468 §2). */
struct marks {
    const char *begin;
    const char *end;
};
#define PADDING 64u
#define NO_DIGIT 255u

/* Offset of the first line at or after `from` that starts with `mark`; text.len: no such line. */
static size_t find_mark(struct view text, size_t from, const char *mark)
{
    bool line = true;
    for (size_t i = from; i < text.len; i++) {
        if (line && text.data[i] == '-' && view_starts(view_from(text, i), mark)) {
            return i;
        }
        line = text.data[i] == '\n';
    }
    return text.len;
}

/*
 * Value 0 to 63 of a base64 digit (RFC 4648 §4); PADDING: `c` is '='; NO_DIGIT: any other
 * character.
 */
static size_t base64_value(uint8_t c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t value = view_find(view_text(digits), c);
    if (c == '=') {
        return PADDING;
    }
    return (value < sizeof digits - 1u) ? value : NO_DIGIT;
}

/*
 * Whether a base64 character, given as its base64_value, may follow `padding` characters '='. A
 * digit is allowed only before the first '=', and at most two '=' are allowed.
 */
static bool may_follow(size_t value, size_t padding)
{
    size_t most = (value == PADDING) ? 1u : 0u;
    return value != NO_DIGIT && padding <= most;
}

/* Writes the octets of four base64 characters: three octets, minus one for each '=' (`padding`). */
static void put_octets(struct writer *out, uint32_t bits, size_t padding)
{
    const uint8_t octets[] = {(uint8_t)(bits >> 16), (uint8_t)(bits >> 8), (uint8_t)bits};
    writer_bytes(out, octets, sizeof octets - padding);
}

bool pem_base64(struct view in, struct writer *out)
{
    uint32_t bits = 0;
    size_t digits = 0;
    size_t padding = 0;
    for (size_t i = 0; i < in.len; i++) {
        size_t value = base64_value(in.data[i]);
        if (is_space(in.data[i])) {
            continue;
        }
        if (!may_follow(value, padding)) {
            return false;
        }
        padding += (value == PADDING) ? 1u : 0u;
        bits = (bits << 6) | ((uint32_t)value & 63u);
        digits++;
        if (digits % 4u == 0u) {
            put_octets(out, bits, padding);
        }
    }
    return digits % 4u == 0u;
}

/* Whether the bytes are exactly one element of DER. */
static bool is_element(struct view der)
{
    struct der e = {0};
    return der_any(&der, &e) && der.len == 0u;
}

static size_t decode_blocks(uint8_t *text, size_t len, const struct marks *marks)
{
    struct view all = view_of(text, len);
    struct writer out = writer_of(text, len);
    size_t begin = find_mark(all, 0, marks->begin);
    while (begin < len) {
        size_t body = begin + view_text(marks->begin).len;
        size_t end = find_mark(all, body, marks->end);
        if (end == len) {
            break;
        }
        /*
         * Decodes in place: the output never overtakes the input, because a block is longer than
         * its DER.
         */
        size_t before = out.len;
        ASSERT(before <= begin && !out.full);
        if (!pem_base64(view_first(view_from(all, body), end - body), &out) ||
            !is_element(view_from(writer_view(&out), before))) {
            out.len = before;
        }
        begin = find_mark(all, end + view_text(marks->end).len, marks->begin);
    }
    return out.len;
}

size_t pem_certificates(uint8_t *text, size_t len)
{
    static const struct marks marks = {"-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"};
    return decode_blocks(text, len, &marks);
}

size_t pem_keys(uint8_t *text, size_t len)
{
    static const struct marks marks[] = {
        {"-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"},
        {"-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"},
        {"-----BEGIN EC PRIVATE KEY-----", "-----END EC PRIVATE KEY-----"},
    };
    size_t keys = 0;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0] && keys == 0u; i++) {
        keys = decode_blocks(text, len, &marks[i]);
    }
    return keys;
}

bool pem_begins(struct view text)
{
    return find_mark(text, 0, "-----BEGIN ") < text.len;
}
