/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PEM of any length: marks, base64, and the blocks that are decoded in place. Each contract carries
 * both positions: where the text is read, and where the octets are written, which never overtake.
 */
#define PROOF_CONTENT_IS_ANY
#include "der_stubs.h"

#include "x509/pem.c"

/* A place at or after `from` where the mark stands whole, or the end. */
size_t stub_find_mark(struct view text, size_t from, const char *mark)
{
    stub_check_view(text);
    CHECK(from <= text.len);
    size_t at = any_length(text.len);
    ASSUME(at >= from && (at == text.len || text.len - at >= strlen(mark)));
    return at;
}

size_t stub_base64_value(uint8_t c)
{
    size_t value = any_u8();
    ASSUME(value <= PADDING || value == NO_DIGIT);
    ASSUME((value == PADDING) == (c == '='));
    return value;
}

/* At most three octets for four characters, as proof_pem_digits shows. */
bool stub_base64(struct view in, struct writer *out)
{
    stub_check_view(in);
    CHECK(writer_sound(out) && !out->full);
    size_t more = any_length(in.len);
    ASSUME(more <= in.len - in.len / 4u);
    if (more > out->cap - out->len) {
        out->full = true;
    } else {
        out->len += more;
    }
    return any_bool();
}

bool stub_is_element(struct view der)
{
    stub_check_view(der);
    return any_bool();
}

size_t stub_decode_blocks(uint8_t *text, size_t len, const struct marks *marks)
{
    CHECK(marks->begin != NULL && marks->end != NULL);
    CHECK(len == 0u || __CPROVER_w_ok(text, len));
    return any_length(len);
}

void proof_pem_mark(void)
{
    struct view text = any_view(ANY_LENGTH);
    size_t from = any_length(text.len);
    const char *mark = "-----BEGIN CERTIFICATE-----";
    size_t at = find_mark(text, from, mark);
    CHECK(at >= from && at <= text.len);
    CHECK(at == text.len || text.len - at >= strlen(mark));
    CHECK(!pem_begins(text) || text.len >= 11u);
}

void proof_pem_value(void)
{
    uint8_t c = any_u8();
    size_t value = base64_value(c);
    CHECK(value <= PADDING || value == NO_DIGIT);
    CHECK((value == PADDING) == (c == '='));
}

void proof_pem_digits(void)
{
    struct view in = any_view(ANY_LENGTH);
    struct writer out = any_writer(ANY_LENGTH);
    size_t before = out.len;
    size_t room = out.full ? 0u : out.cap - out.len;
    bool was_full = out.full;
    (void)pem_base64(in, &out);
    CHECK(writer_sound(&out) && out.len >= before && out.len - before <= in.len - in.len / 4u);
    CHECK(was_full || !out.full || room < in.len);
}

void proof_pem_blocks(void)
{
    size_t len = any_length(ANY_LENGTH);
    uint8_t *text = any_memory(len);
    static const struct marks marks = {"-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"};
    CHECK(decode_blocks(text, len, &marks) <= len);
}

void proof_pem_files(void)
{
    size_t len = any_length(ANY_LENGTH);
    uint8_t *text = any_memory(len);
    size_t used = any_bool() ? pem_certificates(text, len) : pem_keys(text, len);
    CHECK(used <= len);
    struct view element = any_view(ANY_LENGTH);
    CHECK(!is_element(element) || element.len >= 2u);
}
