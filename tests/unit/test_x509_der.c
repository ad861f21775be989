/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DER elements as a hostile server may encode them, and PEM blocks as an operator may paste them:
 * what each reader accepts, and what it refuses.
 */
#include "certificates.h"

#include "x509/pem.h"

struct number_row {
    struct view bytes;
    bool integer; /* der_integer accepts it */
    bool number;  /* der_number accepts it */
    uint64_t value;
};

/* X.690 §8.3: shortest form; der_number takes 0 to 2^63 - 1. */
static void test_integers(void **state)
{
    const struct number_row rows[] = {
        {BYTES("\x02\x01\x00"), true, true, 0},
        {BYTES("\x02\x01\x7f"), true, true, 127},
        {BYTES("\x02\x02\x00\x80"), true, true, 128},
        {BYTES("\x02\x08\x7f\xff\xff\xff\xff\xff\xff\xff"), true, true, INT64_MAX},
        {BYTES("\x02\x09\x00\xff\xff\xff\xff\xff\xff\xff\xff"), true, false, 0},
        {BYTES("\x02\x01\x80"), true, false, 0},
        {BYTES("\x02\x02\xff\x7f"), true, false, 0},
        {BYTES("\x02\x02\x00\x7f"), false, false, 0},
        {BYTES("\x02\x02\xff\x80"), false, false, 0},
        {BYTES("\x02\x00"), false, false, 0},
        {BYTES("\x04\x01\x00"), false, false, 0},
        {BYTES("\x02\x02\x00"), false, false, 0},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        struct view in = rows[i].bytes;
        struct view content = {0};
        uint64_t value = 0;
        assert_true(der_integer(&in, DER_INTEGER, &content) == rows[i].integer);
        in = rows[i].bytes;
        assert_true(der_number(&in, DER_INTEGER, &value) == rows[i].number);
        assert_true(!rows[i].number || (value == rows[i].value && in.len == 0));
    }
}

/* X.690 §11.1: TRUE is 0xff. */
static void test_booleans(void **state)
{
    const struct {
        struct view bytes;
        bool good;
        bool value;
    } rows[] = {
        {BYTES("\x01\x01\xff"), true, true},       {BYTES("\x01\x01\x00"), true, false},
        {BYTES("\x01\x01\x01"), false, false},     {BYTES("\x01\x00"), false, false},
        {BYTES("\x01\x02\xff\xff"), false, false}, {BYTES("\x02\x01\xff"), false, false},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        struct view in = rows[i].bytes;
        bool value = false;
        assert_true(der_boolean(&in, &value) == rows[i].good);
        assert_true(!rows[i].good || value == rows[i].value);
    }
}

/* Absent is valid, cut off is not. */
static void test_optional_element(void **state)
{
    const struct {
        struct view bytes;
        bool good;
        bool present;
    } rows[] = {
        {BYTES("\xa0\x01\x05"), true, true},
        {BYTES("\x02\x01\x05"), true, false},
        {NONE, true, false},
        {CUT("\xa0"), false, true},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        struct view in = rows[i].bytes;
        struct view content = {0};
        bool present = false;
        assert_true(der_optional(&in, DER_CONTEXT_OUTER(0u), &present, &content) == rows[i].good);
        assert_true(present == rows[i].present);
        assert_int_equal(content.len, (rows[i].good && present) ? 1 : 0);
    }
}

/* X.690 §8.6 and §11.2.1: unused bits are 0 to 7, and zero. */
static void test_bit_strings(void **state)
{
    const struct {
        struct view bytes;
        bool good;
        unsigned unused;
    } rows[] = {
        {BYTES("\x03\x02\x00\xff"), true, 0},  {BYTES("\x03\x02\x07\x80"), true, 7},
        {BYTES("\x03\x02\x07\xc0"), false, 0}, {BYTES("\x03\x01\x00"), true, 0},
        {BYTES("\x03\x01\x01"), false, 0},     {BYTES("\x03\x02\x08\x00"), false, 0},
        {BYTES("\x03\x00"), false, 0},         {BYTES("\x04\x02\x00\xff"), false, 0},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        struct view in = rows[i].bytes;
        struct view content = {0};
        unsigned unused = 99;
        assert_true(der_bits(&in, &content, &unused) == rows[i].good);
        assert_true(!rows[i].good || unused == rows[i].unused);
    }
}

/* Arcs below 2^31, as in Go; policy identifiers may have larger ones. */
static void test_large_arcs(void **state)
{
    const struct {
        struct view content;
        bool good;
    } rows[] = {
        {BYTES("\x2a\x87\xff\xff\xff\x7f"), true},  {BYTES("\x2a\x88\x80\x80\x80\x00"), false},
        {BYTES("\x2a\x8f\xff\xff\xff\x7f"), false}, {BYTES("\x2a\x81\x80\x80\x80\x80\x00"), false},
        {BYTES("\x88\x80\x80\x80\x00"), false},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        struct view oid = DER(DER_OID, rows[i].content);
        struct view in = oid;
        struct view content = {0};
        assert_true(der_oid(&in, &content) == rows[i].good);
        in = oid;
        assert_true(der_long_oid(&in, &content));
        assert_true(view_equal(content, rows[i].content));
    }
}

/* RFC 5280 §4.1.2.5. As in Go, a UTCTime may lack its seconds. */
static void test_times(void **state)
{
    const struct {
        unsigned tag;
        const char *text;
        bool good;
        int64_t seconds;
    } rows[] = {
        {DER_UTC_TIME, "700101000000Z", true, 0},
        {DER_UTC_TIME, "491231235959Z", true, INT64_C(2524607999)},
        {DER_UTC_TIME, "500101000000Z", true, INT64_C(-631152000)},
        {DER_UTC_TIME, "7001010001Z", true, 60},
        {DER_GENERALIZED_TIME, "19700101000001Z", true, 1},
        {DER_GENERALIZED_TIME, "99991231235959Z", true, INT64_C(253402300799)},
        {DER_GENERALIZED_TIME, "197001010001Z", false, 0},
        {DER_GENERALIZED_TIME, "197", false, 0},
        {DER_UTC_TIME, "7", false, 0},
        {DER_UTC_TIME, "7x0101000000Z", false, 0},
        {DER_UTC_TIME, "70010100000xZ", false, 0},
        {DER_UTC_TIME, "700101000000", false, 0},
        {DER_UTC_TIME, "700101000000+0000", false, 0},
        {DER_UTC_TIME, "701301000000Z", false, 0},
        {DER_UTC_TIME, "700230000000Z", false, 0},
        {DER_UTC_TIME, "700101240000Z", false, 0},
        {DER_UTC_TIME, "700101006000Z", false, 0},
        {DER_UTC_TIME, "700101000060Z", false, 0},
        {UTF8_STRING, "700101000000Z", false, 0},
        {UTF8_STRING, "19700101000001Z", false, 0},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        struct view in = DER(rows[i].tag, view_text(rows[i].text));
        int64_t seconds = -1;
        assert_true(der_time(&in, &seconds) == rows[i].good);
        assert_true(!rows[i].good || seconds == rows[i].seconds);
    }
    struct view cut = CUT("\x17");
    int64_t seconds = 0;
    assert_false(der_time(&cut, &seconds));
}

#define BEGIN "-----BEGIN CERTIFICATE-----\n"
#define END "-----END CERTIFICATE-----\n"

/* The bundle keeps its good blocks, whatever stands between them. */
static void test_pem_blocks(void **state)
{
    const struct {
        const char *text;
        struct view der;
    } rows[] = {
        {BEGIN "BQA=\n" END, BYTES("\x05\x00")},
        {BEGIN "BQA=\n" END "note\n" BEGIN "BAFh\n" END, BYTES("\x05\x00\x04\x01"
                                                               "a")},
        {BEGIN "BQ==\n" END BEGIN "BQA=\n" END, BYTES("\x05\x00")},
        {BEGIN "BQAA\n" END BEGIN "BQA=\n" END, BYTES("\x05\x00")},
        {BEGIN "BQ=A\n" END BEGIN "BQA=\n" END, BYTES("\x05\x00")},
        {BEGIN "B!A=\n" END BEGIN "BQA=\n" END, BYTES("\x05\x00")},
        {BEGIN "BQA=\n" END BEGIN "BQA=\n", BYTES("\x05\x00")},
        {BEGIN "BQA=\n", NONE},
        {"x" BEGIN "BQA=\n" END, NONE},
        {"", NONE},
    };
    (void)state;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        uint8_t text[256];
        size_t len = strlen(rows[i].text);
        assert_true(len <= sizeof text);
        memcpy(text, rows[i].text, len);
        len = pem_certificates(text, len);
        assert_true(view_equal(view_of(text, len), rows[i].der));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_integers, forget_elements),
        cmocka_unit_test_setup(test_booleans, forget_elements),
        cmocka_unit_test_setup(test_optional_element, forget_elements),
        cmocka_unit_test_setup(test_bit_strings, forget_elements),
        cmocka_unit_test_setup(test_large_arcs, forget_elements),
        cmocka_unit_test_setup(test_times, forget_elements),
        cmocka_unit_test_setup(test_pem_blocks, forget_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
