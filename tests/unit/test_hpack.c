/* SPDX-License-Identifier: Apache-2.0 */
/* HPACK: the examples of RFC 7541 Appendix C, the edges of each rule. */

#include "hex.h"
#include "unit.h"
#include "wire/hpack.h"

static void append_text(char *out, size_t cap, struct view v)
{
    size_t len = strlen(out);
    assert_true(len + v.len < cap);
    memcpy(out + len, v.data, v.len);
    out[len + v.len] = '\0';
}

/*
 * Decodes a whole block into "name: value\n…"; size updates show as "*\n", never-indexed fields
 * end in "!". Before each representation every shorter input must ask for more and change
 * nothing.
 */
static enum status decode_block(struct hpack_decoder *d, struct view block, char *out, size_t cap)
{
    uint8_t bytes[512];
    struct reader r = reader_of(block);
    bool start = true;
    out[0] = '\0';
    while (reader_left(&r) > 0) {
        struct writer scratch = writer_of(bytes, sizeof bytes);
        struct hpack_field field;
        size_t from = r.pos;
        enum status s = hpack_decode(d, &r, start, &scratch, &field);
        assert_true(hpack_valid(d));
        if (s != STATUS_OK) {
            assert_int_equal(r.pos, from);
            return s;
        }
        assert_true(r.pos > from);
        if (field.size_update) {
            append_text(out, cap, view_text("*\n"));
            continue;
        }
        start = false;
        append_text(out, cap, field.name);
        append_text(out, cap, view_text(": "));
        append_text(out, cap, field.value);
        append_text(out, cap, view_text(field.never_indexed ? "!\n" : "\n"));
    }
    return STATUS_OK;
}

static enum status decode_hex(struct hpack_decoder *d, const char *hex, char *out, size_t cap)
{
    uint8_t bytes[1024];
    size_t n = from_hex(hex, bytes, sizeof bytes);
    return decode_block(d, view_of(bytes, n), out, cap);
}

/* --- RFC 7541 Appendix C --- */

struct example {
    const char *block;
    const char *fields;
    uint32_t used; /* table size after it */
};

static void run_examples(const struct example *examples, size_t n, uint32_t table)
{
    static struct hpack_decoder d;
    char text[1024];
    hpack_decoder_init(&d, table);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(decode_hex(&d, examples[i].block, text, sizeof text), STATUS_OK);
        assert_string_equal(text, examples[i].fields);
        assert_int_equal(d.used, examples[i].used);
    }
}

#define RUN(examples, table) run_examples(examples, sizeof examples / sizeof examples[0], table)

static void representations_c2(void **state)
{
    (void)state;
    static const struct example c21[] = {
        {"400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
         "custom-key: custom-header\n", 55}};
    static const struct example c22[] = {
        {"040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path\n", 0}};
    static const struct example c23[] = {
        {"1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret!\n", 0}};
    static const struct example c24[] = {{"82", ":method: GET\n", 0}};
    RUN(c21, 4096);
    RUN(c22, 4096);
    RUN(c23, 4096);
    RUN(c24, 4096);
}

#define REQUEST_1 ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n"
#define REQUEST_2 REQUEST_1 "cache-control: no-cache\n"
#define REQUEST_3                                                                                  \
    ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\n"              \
    "custom-key: custom-value\n"

static void requests_c3_c4(void **state)
{
    (void)state;
    static const struct example plain[] = {
        {"8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", REQUEST_1, 57},
        {"8286 84be 5808 6e6f 2d63 6163 6865", REQUEST_2, 110},
        {"8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", REQUEST_3,
         164}};
    static const struct example huffman[] = {
        {"8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", REQUEST_1, 57},
        {"8286 84be 5886 a8eb 1064 9cbf", REQUEST_2, 110},
        {"8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", REQUEST_3, 164}};
    RUN(plain, 4096);
    RUN(huffman, 4096);
}

#define RESPONSE_1                                                                                 \
    ":status: 302\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\n"                  \
    "location: https://www.example.com\n"
#define RESPONSE_2                                                                                 \
    ":status: 307\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\n"                  \
    "location: https://www.example.com\n"
#define RESPONSE_3                                                                                 \
    ":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\n"                  \
    "location: https://www.example.com\ncontent-encoding: gzip\n"                                  \
    "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n"

static void responses_with_eviction_c5_c6(void **state)
{
    (void)state;
    static const struct example plain[] = {
        {"4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 "
         "303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 "
         "6f6d",
         RESPONSE_1, 222},
        {"4803 3330 37c1 c0bf", RESPONSE_2, 222},
        {"88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 "
         "5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 "
         "5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
         RESPONSE_3, 215}};
    static const struct example huffman[] = {
        {"4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b "
         "ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
         RESPONSE_1, 222},
        {"4883 640e ffc1 c0bf", RESPONSE_2, 222},
        {"88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad "
         "94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 "
         "65c0 03ed 4ee5 b106 3d50 07",
         RESPONSE_3, 215}};
    RUN(plain, 256);
    RUN(huffman, 256);
}

/* --- rules of the decoder --- */

static void wrong_and_incomplete_blocks(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        const char *hex;
        enum status expected;
    } cases[] = {
        {"index 0", "80", PEER_MALFORMED},
        {"index behind the static table", "be", PEER_MALFORMED},
        {"index far behind", "ff00", PEER_MALFORMED},
        {"name index behind the static table", "7e0161", PEER_MALFORMED},
        {"name index behind, without indexing", "0f2f0161", PEER_MALFORMED},
        {"size update after a field", "8220", PEER_MALFORMED},
        {"size update over what was announced", "3fe21f", PEER_MALFORMED},
        {"size update of exactly what was announced", "3fe11f 82", STATUS_OK},
        {"two size updates at the start", "203fe11f82", STATUS_OK},
        {"integer of 2^32, which wraps to 0 in 32 bits", "7f81ffffff0f", PEER_MALFORMED},
        {"integer of five continuation octets", "7f8080808000", PEER_MALFORMED},
        {"integer with needless zeros", "ff80808000", PEER_MALFORMED}, /* index 127 */
        {"integer of exactly the bound", "007f81ff3f", STATUS_MORE},
        {"integer over the bound", "007f82ff3f", PEER_MALFORMED},
        {"string longer than the block", "0001610261", STATUS_MORE},
        {"string length cut", "00016a7f", STATUS_MORE},
        {"literal without a value", "000161", STATUS_MORE},
        {"only the first octet", "40", STATUS_MORE},
        {"integer cut", "ff", STATUS_MORE},
        {"integer cut behind a continuation", "ff80", STATUS_MORE},
        {"Huffman name with EOS", "0084fffffffc0161", PEER_MALFORMED},
        {"Huffman value padded by zero", "00016181 00", PEER_MALFORMED},
        {"empty name and empty value", "000000", STATUS_OK},
        {"empty Huffman strings", "008080", STATUS_OK},
    };
    static struct hpack_decoder d;
    char text[256];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hpack_decoder_init(&d, 4096);
        enum status s = decode_hex(&d, cases[i].hex, text, sizeof text);
        if (s != cases[i].expected) {
            fail_msg("%s: %s", cases[i].what, status_name(s));
        }
    }
}

/* Every proper prefix of a representation asks for more, moves nothing and inserts nothing. */
static void any_prefix_asks_for_more(void **state)
{
    (void)state;
    static const char *const representations[] = {
        "82",
        "be",
        "3fe11f",
        "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
        "040c 2f73 616d 706c 652f 7061 7468",
        "0f2e 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "1008 7061 7373 776f 7264 0673 6563 7265 74",
        "5886 a8eb 1064 9cbf"};
    static struct hpack_decoder d;
    for (size_t i = 0; i < sizeof representations / sizeof representations[0]; i++) {
        uint8_t bytes[64];
        uint8_t buffer[64];
        size_t n = from_hex(representations[i], bytes, sizeof bytes);
        for (size_t len = 0; len < n; len++) {
            hpack_decoder_init(&d, 4096);
            struct reader r = reader_of(view_of(bytes, len));
            struct writer scratch = writer_of(buffer, sizeof buffer);
            struct hpack_field field;
            assert_int_equal(hpack_decode(&d, &r, true, &scratch, &field), STATUS_MORE);
            assert_int_equal(r.pos, 0);
            assert_int_equal(d.count, 0);
        }
    }
}

static void field_longer_than_the_scratch(void **state)
{
    (void)state;
    static struct hpack_decoder d;
    uint8_t bytes[64];
    uint8_t buffer[9];
    static const char *const blocks[] = {
        "0003 616263 07 30303030303030",  /* raw value, one too many */
        "000a 30303030303030303030 0161", /* raw name */
        "0003 616263 85 0842108421",      /* Huffman value: eight "1" */
    };
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        hpack_decoder_init(&d, 4096);
        size_t n = from_hex(blocks[i], bytes, sizeof bytes);
        struct reader r = reader_of(view_of(bytes, n));
        struct writer scratch = writer_of(buffer, sizeof buffer);
        struct hpack_field field;
        assert_int_equal(hpack_decode(&d, &r, true, &scratch, &field), FULL_BUFFER);
        assert_int_equal(r.pos, 0);
    }
    /* ":method" and "GET" are ten octets. */
    struct reader r = reader_of(view_of("\x82", 1));
    struct writer scratch = writer_of(buffer, sizeof buffer);
    struct hpack_field field;
    assert_int_equal(hpack_decode(&d, &r, true, &scratch, &field), FULL_BUFFER);
}

/* --- dynamic table --- */

static void put_literal(struct writer *w, uint8_t first, const char *name, size_t value_len)
{
    assert_true(strlen(name) < 127 && value_len < 4096);
    writer_u8(w, first);
    writer_u8(w, (uint8_t)strlen(name));
    writer_text(w, name);
    if (value_len < 127) {
        writer_u8(w, (uint8_t)value_len);
    } else {
        writer_u8(w, 127);
        writer_u8(w, (uint8_t)(0x80u | ((value_len - 127) & 0x7fu)));
        writer_u8(w, (uint8_t)((value_len - 127) >> 7));
    }
    for (size_t i = 0; i < value_len; i++) {
        writer_u8(w, (uint8_t)('a' + i % 26));
    }
}

static enum status decode_one(struct hpack_decoder *d, struct view in, struct hpack_field *field)
{
    static uint8_t buffer[4200];
    struct reader r = reader_of(in);
    struct writer scratch = writer_of(buffer, sizeof buffer);
    enum status s = hpack_decode(d, &r, true, &scratch, field);
    assert_true(hpack_valid(d));
    return s;
}

static void insert(struct hpack_decoder *d, const char *name, size_t value_len)
{
    uint8_t bytes[4400];
    struct writer w = writer_of(bytes, sizeof bytes);
    struct hpack_field field;
    put_literal(&w, 0x40, name, value_len);
    assert_int_equal(decode_one(d, writer_view(&w), &field), STATUS_OK);
    assert_true(view_is(field.name, name));
    assert_int_equal(field.value.len, value_len);
}

static struct hpack_field lookup(struct hpack_decoder *d, unsigned index)
{
    uint8_t byte = (uint8_t)(0x80u | index);
    struct hpack_field field;
    assert_in_range(index, 1, 126);
    assert_int_equal(decode_one(d, view_of(&byte, 1), &field), STATUS_OK);
    return field;
}

static void entry_larger_than_the_table_empties_it(void **state)
{
    (void)state;
    static struct hpack_decoder d;
    hpack_decoder_init(&d, 4096);
    insert(&d, "a", 10);
    insert(&d, "b", 4096 - 32 - 1); /* fills it exactly, evicting "a" */
    assert_int_equal(d.used, 4096);
    assert_int_equal(d.count, 1);
    insert(&d, "c", 4096 - 32); /* one octet too large */
    assert_int_equal(d.used, 0);
    assert_int_equal(d.count, 0);
}

static void most_entries_and_wrapping(void **state)
{
    (void)state;
    static struct hpack_decoder d;
    hpack_decoder_init(&d, 4096);
    struct hpack_field field;
    for (unsigned i = 0; i < 1000; i++) { /* empty names and values: 32 octets each */
        assert_int_equal(decode_one(&d, view_of("\x40\x00\x00", 3), &field), STATUS_OK);
    }
    assert_int_equal(d.count, HPACK_ENTRIES_MAX);
    assert_int_equal(d.used, 4096);
    for (unsigned i = 0; i < 500; i++) { /* each wraps at another place */
        char name[16];
        (void)snprintf(name, sizeof name, "n%u", i);
        insert(&d, name, i * 7 % 1500);
        struct hpack_field newest = lookup(&d, 62);
        assert_true(view_is(newest.name, name));
        assert_int_equal(newest.value.len, i * 7 % 1500);
        for (size_t at = 0; at < newest.value.len; at++) {
            assert_int_equal(newest.value.data[at], 'a' + at % 26);
        }
    }
}

/* An entry that wraps around the end of the ring, into a scratch of exactly its length. */
static void lookup_into_an_exact_scratch(void **state)
{
    (void)state;
    static struct hpack_decoder d;
    uint8_t buffer[3000];
    hpack_decoder_init(&d, 4096);
    insert(&d, "first", 2000);
    insert(&d, "second", 2994);
    for (size_t less = 0; less < 2; less++) {
        struct reader r = reader_of(view_of("\xbe", 1));
        struct writer scratch = writer_of(buffer, sizeof buffer - less);
        struct hpack_field field;
        enum status s = hpack_decode(&d, &r, true, &scratch, &field);
        assert_int_equal(s, less == 0 ? STATUS_OK : FULL_BUFFER);
    }
}

/* RFC 7541 §4.4: the name may come from an entry that the insertion evicts. */
static void name_of_an_evicted_entry(void **state)
{
    (void)state;
    static struct hpack_decoder d;
    hpack_decoder_init(&d, 64);
    insert(&d, "long-name", 20);
    struct hpack_field field;
    assert_int_equal(decode_one(&d, view_of("\x7e\x05-----", 7), &field), STATUS_OK);
    assert_true(view_is(field.name, "long-name"));
    assert_true(view_is(field.value, "-----"));
    assert_int_equal(d.count, 1);
    assert_true(view_is(lookup(&d, 62).name, "long-name"));
}

static void size_updates_evict_and_bound(void **state)
{
    (void)state;
    static struct hpack_decoder d;
    struct hpack_field field;
    hpack_decoder_init(&d, 4096);
    insert(&d, "a", 10);
    insert(&d, "b", 10);
    insert(&d, "c", 10);
    assert_int_equal(d.used, 3 * 43);
    assert_int_equal(decode_one(&d, view_of("\x3f\x4a", 2), &field), STATUS_OK); /* 105 */
    assert_true(field.size_update);
    assert_int_equal(d.max_size, 105);
    assert_int_equal(d.count, 2);
    assert_true(view_is(lookup(&d, 62).name, "c"));
    assert_true(view_is(lookup(&d, 63).name, "b"));
    assert_int_equal(decode_one(&d, view_of("\x20", 1), &field), STATUS_OK);
    assert_int_equal(d.count, 0);
    insert(&d, "d", 0);
    assert_int_equal(d.count, 0);
    assert_int_equal(decode_one(&d, view_of("\x3f\xe1\x1f", 3), &field), STATUS_OK);
    insert(&d, "e", 0);
    assert_int_equal(d.count, 1);
}

/* A table of size 0 was announced: literals with indexing are legal and keep nothing. */
static void no_table_at_all(void **state)
{
    (void)state;
    static struct hpack_decoder d;
    struct hpack_field field;
    hpack_decoder_init(&d, 0);
    insert(&d, "a", 10);
    assert_int_equal(d.count, 0);
    assert_int_equal(decode_one(&d, view_of("\x20", 1), &field), STATUS_OK);
    assert_int_equal(decode_one(&d, view_of("\x21", 1), &field), PEER_MALFORMED);
    assert_int_equal(decode_one(&d, view_of("\xbe", 1), &field), PEER_MALFORMED);
}

static void random_octets_keep_the_table_valid(void **state)
{
    (void)state;
    static struct hpack_decoder d;
    uint32_t seed = 1;
    char text[131072];
    for (unsigned round = 0; round < 20000; round++) {
        uint8_t bytes[48];
        if (round % 100 == 0) {
            hpack_decoder_init(&d, round % 3 == 0 ? 4096 : 100);
        }
        for (size_t i = 0; i < sizeof bytes; i++) {
            seed = seed * 1664525u + 1013904223u;
            bytes[i] = (uint8_t)(seed >> 24);
        }
        bytes[0] = (uint8_t)(bytes[0] | 0x40u);
        (void)decode_block(&d, view_of(bytes, 1 + seed % sizeof bytes), text, sizeof text);
    }
}

/* --- encoder --- */

static void encoded_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *value;
        bool sensitive;
        const char *hex;
    } cases[] = {
        {":status", "200", false, "88"},
        {":status", "418", false, "08 03 343138"},
        {":method", "POST", false, "83"},
        {":path", "/", false, "84"},
        {":path", "/a", false, "04 02 2f61"},
        {"content-type", "application/grpc", false, "0f10 10 6170706c69636174696f6e2f67727063"},
        {"x-a", "", false, "00 03 782d61 00"},
        {"authorization", "t", true, "1f08 01 74"},
        {"x-a", "t", true, "10 03 782d61 01 74"},
        {":method", "GET", true, "12 03 474554"}, /* sensitive is never an index of the pair */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t out[64];
        uint8_t expected[64];
        struct writer w = writer_of(out, sizeof out);
        hpack_encode(&w, view_text(cases[i].name), view_text(cases[i].value), cases[i].sensitive);
        size_t n = from_hex(cases[i].hex, expected, sizeof expected);
        assert_false(w.full);
        assert_int_equal(w.len, n);
        assert_memory_equal(out, expected, n);
    }
}

static void encoded_lengths_come_back(void **state)
{
    (void)state;
    static struct hpack_decoder d;
    static uint8_t value[4096];
    static uint8_t out[8192];
    memset(value, 'v', sizeof value);
    hpack_decoder_init(&d, 4096);
    for (size_t len = 0; len < 4000; len += len < 300 ? 1 : 97) {
        struct writer w = writer_of(out, sizeof out);
        hpack_encode(&w, view_text("x-name"), view_of(value, len), len % 2 == 0);
        assert_false(w.full);
        struct hpack_field field;
        assert_int_equal(decode_one(&d, writer_view(&w), &field), STATUS_OK);
        assert_true(view_is(field.name, "x-name"));
        assert_true(view_equal(field.value, view_of(value, len)));
        assert_int_equal(field.never_indexed, len % 2 == 0);
        assert_int_equal(d.count, 0);
    }
    struct writer small = writer_of(out, 10);
    hpack_encode(&small, view_text("x-name"), view_of(value, 100), false);
    assert_true(small.full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(representations_c2),
        cmocka_unit_test(requests_c3_c4),
        cmocka_unit_test(responses_with_eviction_c5_c6),
        cmocka_unit_test(wrong_and_incomplete_blocks),
        cmocka_unit_test(any_prefix_asks_for_more),
        cmocka_unit_test(field_longer_than_the_scratch),
        cmocka_unit_test(entry_larger_than_the_table_empties_it),
        cmocka_unit_test(most_entries_and_wrapping),
        cmocka_unit_test(lookup_into_an_exact_scratch),
        cmocka_unit_test(name_of_an_evicted_entry),
        cmocka_unit_test(size_updates_evict_and_bound),
        cmocka_unit_test(no_table_at_all),
        cmocka_unit_test(random_octets_keep_the_table_valid),
        cmocka_unit_test(encoded_bytes),
        cmocka_unit_test(encoded_lengths_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
