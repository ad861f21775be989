/* SPDX-License-Identifier: Apache-2.0 */
/* HPACK Huffman decoding, RFC 7541 §5.2: every code at every bit position, padding, room. */

#include "hex.h"
#include "tests/unit/wire/hpack_codes.h"
#include "unit.h"
#include "wire/hpack.h"

/* Writes codes one after the other and pads with ones. */
static size_t huffman_encode(const uint8_t *symbols, size_t n, uint8_t *out)
{
    uint64_t bits = 0;
    unsigned count = 0;
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        const struct huffman_code *c = &huffman_codes[symbols[i]];
        bits = bits << c->bits | c->code;
        count += c->bits;
        for (; count >= 8; count -= 8) {
            out[len++] = (uint8_t)(bits >> (count - 8));
        }
    }
    if (count > 0) {
        out[len++] = (uint8_t)(bits << (8 - count) | (0xffu >> count));
    }
    return len;
}

static void every_huffman_code(void **state)
{
    (void)state;
    for (unsigned symbol = 0; symbol < 256; symbol++) {
        /* Alone, and at each of the eight bit positions behind "0" (5 bits). */
        for (size_t before = 0; before < 8; before++) {
            uint8_t in[9];
            uint8_t coded[64];
            uint8_t out[16];
            memset(in, '0', sizeof in);
            in[before] = (uint8_t)symbol;
            size_t n = huffman_encode(in, before + 1, coded);
            struct writer w = writer_of(out, sizeof out);
            assert_int_equal(hpack_huffman_decode(view_of(coded, n), &w), STATUS_OK);
            assert_int_equal(w.len, before + 1);
            assert_memory_equal(out, in, before + 1);
        }
    }
}

static void random_huffman_strings(void **state)
{
    (void)state;
    uint32_t seed = 7541;
    for (unsigned round = 0; round < 2000; round++) {
        uint8_t in[100];
        uint8_t coded[400];
        uint8_t out[100];
        size_t n = round % (sizeof in + 1);
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525u + 1013904223u;
            in[i] = (uint8_t)(seed >> 24);
        }
        size_t len = huffman_encode(in, n, coded);
        struct writer w = writer_of(out, n);
        assert_int_equal(hpack_huffman_decode(view_of(coded, len), &w), STATUS_OK);
        assert_int_equal(w.len, n);
        assert_memory_equal(out, in, n);
        if (n > 0) {
            w = writer_of(out, n - 1);
            assert_int_equal(hpack_huffman_decode(view_of(coded, len), &w), FULL_BUFFER);
            assert_int_equal(w.len, 0);
        }
    }
}

static void huffman_padding(void **state)
{
    (void)state;
    static const struct {
        const char *hex;
        enum status expected;
    } cases[] = {
        {"", STATUS_OK},                /* the empty string */
        {"07", STATUS_OK},              /* "0" and three ones */
        {"00", PEER_MALFORMED},         /* "0" padded by zeros */
        {"06", PEER_MALFORMED},         /* one zero in the padding */
        {"07ff", PEER_MALFORMED},       /* 11 bits of padding */
        {"ff", PEER_MALFORMED},         /* 8 bits of padding and no symbol */
        {"f8ff", PEER_MALFORMED},       /* "&" and 8 bits of padding */
        {"f8", STATUS_OK},              /* "&", no padding */
        {"fffffffc", PEER_MALFORMED},   /* EOS */
        {"ffffffff", PEER_MALFORMED},   /* EOS and two ones */
        {"07fffffffc", PEER_MALFORMED}, /* a symbol before EOS */
        {"fffffff0", PEER_MALFORMED},   /* 0x0a and two zeros */
        {"fffffff3", STATUS_OK},        /* 0x0a and two ones */
        {"fffffff7", STATUS_OK},        /* 0x0d and two ones */
        {"fe", PEER_MALFORMED},         /* half of a code */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t bytes[8];
        uint8_t out[8];
        size_t n = from_hex(cases[i].hex, bytes, sizeof bytes);
        struct writer w = writer_of(out, sizeof out);
        enum status s = hpack_huffman_decode(view_of(bytes, n), &w);
        if (s != cases[i].expected) {
            fail_msg("%s: %s", cases[i].hex, status_name(s));
        }
        assert_true(s == STATUS_OK || w.len == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_huffman_code),
        cmocka_unit_test(random_huffman_strings),
        cmocka_unit_test(huffman_padding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
