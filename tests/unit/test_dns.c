/* SPDX-License-Identifier: Apache-2.0 */
/* DNS messages: queries byte by byte, responses as servers send them, and responses that end
 * anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire/dns.h"

static const char name[] = "api.example.com";

/* RFC 1035 §4.1: id 0x1234, recursion desired, one question. */
static const uint8_t query_a[] = {0x12, 0x34, 0x01, 0x00, 0,   1,   0,   0,   0,   0,   0,
                                  0,    3,    'a',  'p',  'i', 7,   'e', 'x', 'a', 'm', 'p',
                                  'l',  'e',  3,    'c',  'o', 'm', 0,   0,   1,   0,   1};

static void test_query(void **state)
{
    (void)state;
    uint8_t bytes[64];
    struct writer w = writer_of(bytes, sizeof bytes);
    assert_int_equal(dns_query(&w, 0x1234, DNS_A, view_text(name)), STATUS_OK);
    assert_int_equal(w.len, sizeof query_a);
    assert_memory_equal(bytes, query_a, sizeof query_a);
    w = writer_of(bytes, sizeof bytes);
    assert_int_equal(dns_query(&w, 0x1234, DNS_AAAA, view_text(name)), STATUS_OK);
    assert_int_equal(w.len, sizeof query_a);
    assert_int_equal(bytes[sizeof query_a - 3], 28);
}

static void test_bad_names(void **state)
{
    (void)state;
    uint8_t bytes[512];
    char label[80];
    char large[260];
    memset(label, 'a', 64);
    label[64] = 0;
    memset(large, 'a', sizeof large);
    for (unsigned i = 40; i < sizeof large; i += 40) {
        large[i] = '.';
    }
    large[255] = 0;
    const char *const names[] = {"", ".", "..", ".a", "a..b", "a.", "a..", label, large};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct writer w = writer_of(bytes, sizeof bytes);
        w.len = 3;
        assert_int_equal(dns_query(&w, 1, DNS_A, view_text(names[i])), PEER_MALFORMED);
        assert_int_equal(w.len, 3);
    }
    label[63] = 0;
    struct writer w = writer_of(bytes, sizeof bytes);
    assert_int_equal(dns_query(&w, 1, DNS_A, view_text(label)), STATUS_OK);
    w = writer_of(bytes, 20);
    assert_int_equal(dns_query(&w, 1, DNS_A, view_text(name)), FULL_BUFFER);
    assert_int_equal(w.len, 0);
}

/* --- answers --- */

static uint8_t message[512];
static size_t message_len;

/* Begins an answer to the query above: header with `records` answers and the question. */
static void answer_begin(uint8_t rcode, uint8_t records)
{
    memcpy(message, query_a, sizeof query_a);
    message[2] = 0x81;
    message[3] = (uint8_t)(0x80u | rcode);
    message[7] = records;
    message_len = sizeof query_a;
}

static void add(const uint8_t *bytes, size_t len)
{
    memcpy(&message[message_len], bytes, len);
    message_len += len;
}

static void add_record(uint8_t type, const uint8_t *data, uint8_t len)
{
    const uint8_t head[] = {0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, len};
    add(head, sizeof head);
    add(data, len);
}

static enum status read_answer(enum dns_type type, struct ip_addresses *out)
{
    return dns_answer(view_of(message, message_len), 0x1234, type, view_text(name), out);
}

static void test_addresses_behind_a_cname(void **state)
{
    (void)state;
    static const uint8_t alias[] = {2, 'l', 'b', 0xc0, 16};
    static const uint8_t first[] = {10, 0, 0, 1};
    static const uint8_t second[] = {10, 0, 0, 2};
    struct ip_addresses out = {0};
    answer_begin(0, 3);
    add_record(5, alias, sizeof alias);
    add_record(1, first, 4);
    add_record(1, second, 4);
    assert_int_equal(read_answer(DNS_A, &out), STATUS_OK);
    assert_int_equal(out.count, 2);
    assert_false(out.address[0].v6);
    assert_memory_equal(out.address[0].bytes, first, 4);
    assert_memory_equal(out.address[1].bytes, second, 4);
}

static void test_ipv6_is_appended(void **state)
{
    (void)state;
    static const uint8_t six[16] = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    struct ip_addresses out = {.count = 1};
    answer_begin(0, 1);
    message[sizeof query_a - 3] = 28;
    add_record(28, six, 16);
    assert_int_equal(read_answer(DNS_AAAA, &out), STATUS_OK);
    assert_int_equal(out.count, 2);
    assert_true(out.address[1].v6);
    assert_memory_equal(out.address[1].bytes, six, 16);
}

static void test_more_addresses_than_fit(void **state)
{
    (void)state;
    static const uint8_t address[] = {10, 0, 0, 1};
    struct ip_addresses out = {0};
    answer_begin(0, API_ADDRESSES_MAX + 3);
    for (unsigned i = 0; i < API_ADDRESSES_MAX + 3u; i++) {
        add_record(1, address, 4);
    }
    assert_int_equal(read_answer(DNS_A, &out), STATUS_OK);
    assert_int_equal(out.count, API_ADDRESSES_MAX);
}

static void test_not_our_answer(void **state)
{
    (void)state;
    static const uint8_t address[] = {10, 0, 0, 1};
    struct ip_addresses out = {0};
    answer_begin(0, 1);
    add_record(1, address, 4);
    message[1] ^= 1u; /* another id */
    assert_int_equal(read_answer(DNS_A, &out), STATUS_MORE);
    message[1] ^= 1u;
    message[2] &= 0x7fu; /* a query */
    assert_int_equal(read_answer(DNS_A, &out), STATUS_MORE);
    message[2] |= 0x80u;
    message[14] = 'q'; /* another name */
    assert_int_equal(read_answer(DNS_A, &out), STATUS_MORE);
    message[14] = 'P'; /* the same in another case */
    assert_int_equal(read_answer(DNS_AAAA, &out), STATUS_MORE);
    assert_int_equal(out.count, 0);
    assert_int_equal(read_answer(DNS_A, &out), STATUS_OK);
}

static void test_refusals(void **state)
{
    (void)state;
    struct ip_addresses out = {0};
    answer_begin(3, 0);
    assert_int_equal(read_answer(DNS_A, &out), PEER_NOT_FOUND);
    answer_begin(2, 0);
    assert_int_equal(read_answer(DNS_A, &out), PEER_REFUSED);
    answer_begin(0, 0);
    assert_int_equal(read_answer(DNS_A, &out), PEER_NOT_FOUND);
    static const uint8_t odd[] = {10, 0, 0};
    answer_begin(0, 1);
    add_record(1, odd, 3);
    assert_int_equal(read_answer(DNS_A, &out), PEER_NOT_FOUND);
    assert_int_equal(out.count, 0);
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    static const uint8_t address[] = {10, 0, 0, 1};
    struct ip_addresses out = {0};
    answer_begin(0, 2);
    add_record(1, address, 4);
    add_record(1, address, 4);
    size_t whole = message_len;
    size_t first = sizeof query_a + 16; /* end of the first address */
    for (message_len = 0; message_len < first; message_len++) {
        enum status want = (message_len < sizeof query_a) ? STATUS_MORE : PEER_MALFORMED;
        assert_int_equal(read_answer(DNS_A, &out), want);
        assert_int_equal(out.count, 0);
    }
    for (; message_len < whole; message_len++) {
        out.count = 0;
        assert_int_equal(read_answer(DNS_A, &out), STATUS_OK);
        assert_int_equal(out.count, 1);
        assert_memory_equal(out.address[0].bytes, address, 4);
    }
    /* A label length that is neither label nor pointer. */
    message_len = whole;
    message[sizeof query_a] = 0x80;
    out.count = 0;
    assert_int_equal(read_answer(DNS_A, &out), PEER_MALFORMED);
    assert_int_equal(out.count, 0);
}

/* RFC 1035 §4.2.1: addresses of a truncated response are kept; none in it does not mean none. */
static void test_truncated(void **state)
{
    (void)state;
    static const uint8_t address[] = {10, 0, 0, 1};
    static const uint8_t alias[] = {2, 'l', 'b', 0xc0, 16};
    struct ip_addresses out = {0};
    answer_begin(0, 2);
    message[2] |= 0x02u;
    add_record(5, alias, sizeof alias);
    add_record(1, address, 4);
    assert_int_equal(read_answer(DNS_A, &out), STATUS_OK);
    assert_int_equal(out.count, 1);
    out.count = 0;
    answer_begin(0, 1);
    message[2] |= 0x02u;
    add_record(5, alias, sizeof alias);
    assert_int_equal(read_answer(DNS_A, &out), PEER_MALFORMED);
    assert_int_equal(out.count, 0);
}

/* Records of other classes and names without compression; messages with other questions. */
static void test_odd_answers(void **state)
{
    (void)state;
    static const uint8_t labels[] = {1, 'x', 2, 'y', 'z', 0, 0,  1, 0, 1,
                                     0, 0,   0, 60,  0,   4, 10, 0, 0, 9};
    static const uint8_t address[] = {10, 0, 0, 9};
    struct ip_addresses out = {0};
    answer_begin(0, 1);
    add(labels, sizeof labels);
    assert_int_equal(read_answer(DNS_A, &out), STATUS_OK);
    assert_int_equal(out.count, 1);
    assert_memory_equal(out.address[0].bytes, address, 4);
    out.count = 0;
    message[sizeof query_a + 9] = 3; /* the class CHAOS */
    assert_int_equal(read_answer(DNS_A, &out), PEER_NOT_FOUND);
    message[sizeof query_a + 9] = 1;
    message[5] = 2; /* two questions */
    assert_int_equal(read_answer(DNS_A, &out), STATUS_MORE);
    message[5] = 1;
    struct view whole = view_of(message, message_len);
    assert_int_equal(dns_answer(whole, 0x1234, DNS_A, view_text("a..b"), &out), STATUS_MORE);
    assert_int_equal(out.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query),
        cmocka_unit_test(test_bad_names),
        cmocka_unit_test(test_addresses_behind_a_cname),
        cmocka_unit_test(test_ipv6_is_appended),
        cmocka_unit_test(test_more_addresses_than_fit),
        cmocka_unit_test(test_not_our_answer),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_odd_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
