/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of DER, of any length. The first proof shows what der_any and der_expect promise: the
 * parts of an element lie inside the input. The others call stubs with that promise
 * (der_stubs.h).
 */
#include "der_stubs.h"

#include "x509/der.c"

void proof_der_element(void)
{
    struct view in = any_view(ANY_LENGTH);
    struct view before = in;
    struct der e = {0};
    struct view content = {NULL, 0};
    bool present = false;
    if (any_bool()) {
        if (der_any(&in, &e)) {
            CHECK(view_within(e.whole, before) && view_within(e.content, before));
            CHECK(e.whole.len >= 2u && e.content.len <= e.whole.len - 2u);
            CHECK(in.len == before.len - e.whole.len && view_within(in, before));
            CHECK(before.data[1] >= 0x80u || e.content.len == before.data[1]);
        }
    } else if (der_optional(&in, any_u8(), &present, &content)) {
        CHECK(present ? in.len < before.len : in.len == before.len);
        CHECK(view_within(content, before) && view_within(in, before));
    }
}

void proof_der_numbers(void)
{
    struct view in = any_view(ANY_LENGTH);
    struct view all = in;
    struct view content = {NULL, 0};
    uint64_t number = 0;
    unsigned unused = 0;
    bool flag = false;
    switch (any_u8()) {
    case 0:
        CHECK(!der_boolean(&in, &flag) || in.len < all.len);
        break;
    case 1:
        CHECK(!der_number(&in, DER_INTEGER, &number) || number <= INT64_MAX);
        break;
    default:
        if (der_bits(&in, &content, &unused)) {
            CHECK(unused <= 7u && view_within(content, all));
            CHECK(content.len > 0u || unused == 0u);
        }
        break;
    }
}

void proof_der_oids(void)
{
    struct view in = any_view(ANY_LENGTH);
    struct view all = in;
    struct view content = {NULL, 0};
    if (any_bool()) {
        CHECK(all.len > 0u || der_is_ascii(all));
        CHECK(!der_is(all, "\x55\x1d", 2) || all.len == 2u);
    } else if (der_oid(&in, &content)) {
        CHECK(content.len > 0u && view_within(content, all));
        CHECK((content.data[content.len - 1u] & 0x80u) == 0u);
    }
}

void proof_der_times(void)
{
    struct view in = any_view(ANY_LENGTH);
    int64_t seconds = 0;
    if (der_time(&in, &seconds)) {
        /* years 0 to 9999 */
        CHECK(seconds >= -62167219200 && seconds <= 253402300799);
    }
}
