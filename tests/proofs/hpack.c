/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HPACK: integers, strings, Huffman codes and the encoder, on input of any length. The dynamic
 * table has no proof here: tests/proofs/exceptions.toml says why.
 */
#include "stubs.h"

#include "wire/hpack.c"

/* The verdicts that leave the cursor where it was, and where it may be after success. */
static void check_cursor(const struct reader *r, const struct reader *before, enum status s)
{
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == PEER_MALFORMED);
    CHECK(r->data == before->data && r->len == before->len);
    CHECK(r->pos <= r->len && r->pos >= before->pos);
    CHECK(s != STATUS_OK || r->pos > before->pos);
}

void proof_hpack_integer(void)
{
    struct reader r = any_reader(ANY_LENGTH);
    struct reader before = r;
    unsigned prefix = any_unsigned();
    ASSUME(prefix >= 4u && prefix <= 7u && reader_left(&r) > 0u);
    uint32_t value = 0;
    enum status s = parse_integer(&r, prefix, &value);
    check_cursor(&r, &before, s);
    CHECK(s != STATUS_OK || value <= HPACK_INTEGER_MAX);
    CHECK(r.pos - before.pos <= 1u + INTEGER_OCTETS_MAX);
}

void proof_hpack_string(void)
{
    struct reader r = any_reader(ANY_LENGTH);
    struct reader before = r;
    struct view all = view_of(r.data, r.len);
    struct representation rep = {.kind = INDEXED};
    enum status s = parse_representation(&r, &rep);
    check_cursor(&r, &before, s);
    if (s != STATUS_OK) {
        return;
    }
    CHECK(rep.kind <= LITERAL && rep.integer <= HPACK_INTEGER_MAX);
    CHECK(view_within(rep.name.octets, all) && view_within(rep.value.octets, all));
}

void proof_hpack_huffman(void)
{
    struct view in = any_view(ANY_LENGTH);
    struct writer out = any_writer(ANY_LENGTH);
    ASSUME(!out.full);
    struct writer before = out;
    enum status s = hpack_huffman_decode(in, &out);
    CHECK(s == STATUS_OK || s == PEER_MALFORMED || s == FULL_BUFFER);
    CHECK(out.data == before.data && out.cap == before.cap && !out.full && writer_sound(&out));
    CHECK(s == STATUS_OK ? out.len >= before.len : out.len == before.len);
}

void proof_hpack_encode(void)
{
    struct view name = any_view(HPACK_INTEGER_MAX);
    struct view value = any_view(HPACK_INTEGER_MAX);
    ASSUME(name.len > 0u);
    struct writer out = any_writer(ANY_LENGTH);
    size_t before = out.len;
    hpack_encode(&out, name, value, any_bool());
    CHECK(writer_sound(&out) && out.len >= before);
}
