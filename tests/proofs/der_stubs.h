/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the readers of DER elements promise, in place of x509/der.c; tests/proofs/der.c proves them.
 * Each cuts any part off the front of its input, or refuses.
 */
#ifndef PROOF_DER_STUBS_H
#define PROOF_DER_STUBS_H

#include "stubs.h"
#include "x509/der.h"

bool stub_der_any(struct view *in, struct der *out)
{
    stub_check_view(*in);
    if (in->len < 2u || any_bool()) {
        return false;
    }
    size_t header = any_u8();
    ASSUME(header >= 2u && header <= 6u && header <= in->len);
    size_t len = any_length(in->len - header);
    size_t used = header + len;
    out->tag = any_u8();
    out->whole = (struct view){in->data, used};
    out->content = (struct view){(len > 0u) ? in->data + header : NULL, len};
    *in = (struct view){(used < in->len) ? in->data + used : NULL, in->len - used};
    return true;
}

bool stub_der_expect(struct view *in, unsigned tag, struct view *content)
{
    struct der e = {0};
    (void)tag;
    if (!stub_der_any(in, &e)) {
        return false;
    }
    *content = e.content;
    return true;
}

bool stub_der_optional(struct view *in, unsigned tag, bool *present, struct view *content)
{
    *present = in->len > 0u && any_bool();
    return !*present || stub_der_expect(in, tag, content);
}

bool stub_der_boolean(struct view *in, bool *value)
{
    struct view content = {0};
    *value = any_bool();
    return stub_der_expect(in, DER_BOOLEAN, &content);
}

bool stub_der_integer(struct view *in, unsigned tag, struct view *content)
{
    return stub_der_expect(in, tag, content) && content->len > 0u;
}

bool stub_der_number(struct view *in, unsigned tag, uint64_t *value)
{
    struct view content = {0};
    *value = any_u64() >> 1;
    return stub_der_expect(in, tag, &content);
}

bool stub_der_oid(struct view *in, struct view *content)
{
    return stub_der_expect(in, DER_OID, content) && content->len > 0u;
}

bool stub_der_long_oid(struct view *in, struct view *content)
{
    return stub_der_oid(in, content);
}

bool stub_der_bits(struct view *in, struct view *bytes, unsigned *unused)
{
    *unused = any_unsigned() & 7u;
    return stub_der_expect(in, DER_BIT_STRING, bytes) && (bytes->len > 0u || *unused == 0u);
}

bool stub_der_time(struct view *in, int64_t *seconds)
{
    struct view content = {0};
    *seconds = any_i64();
    ASSUME(*seconds >= -62167219200 && *seconds <= 253402300799);
    return stub_der_expect(in, DER_UTC_TIME, &content);
}

bool stub_der_is(struct view content, const char *octets, size_t len)
{
    stub_check_view(content);
    __CPROVER_assert(__CPROVER_r_ok(octets, len), "the compared octets are readable");
    return content.len == len && any_bool();
}

bool stub_der_is_ascii(struct view text)
{
    stub_check_view(text);
    return text.len == 0u || any_bool();
}

#endif
