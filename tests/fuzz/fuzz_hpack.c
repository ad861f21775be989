/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Header compression, src/wire/hpack.h. The first byte chooses the table that we announced, the
 * rest is one header block after the other, each with its length before it in one byte (255: two
 * bytes more).
 *
 * Links: -lnghttp2
 */
#include "tests/fuzz/fuzz.h"
#include "wire/hpack.h"

#define SCRATCH_BYTES H2_SERVER_FIELD_BYTES

/* Decodes a block; false after the first failure. */
static bool run_block(struct hpack_decoder *d, struct view block)
{
    uint8_t room[SCRATCH_BYTES];
    struct writer scratch = writer_of(room, sizeof room);
    struct reader in = reader_of(block);
    bool start = true;
    while (reader_left(&in) > 0u) {
        struct hpack_field field;
        size_t before = in.pos;
        enum status s = hpack_decode(d, &in, start, &scratch, &field);
        CHECK(hpack_valid(d));
        if (s != STATUS_OK) {
            CHECK(in.pos == before);
            return false;
        }
        CHECK(in.pos > before);
        start = start && field.size_update;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz f = fuzz_of(data, size);
    static struct hpack_decoder d;
    hpack_decoder_init(&d, (fuzz_u8(&f) & 1u) != 0u ? HPACK_TABLE_BYTES : 0u);
    bool going = true;
    while (going && fuzz_left(&f) > 0u) {
        size_t len = fuzz_u8(&f);
        going = run_block(&d, fuzz_bytes(&f, (len == 255u) ? fuzz_u16(&f) : len));
    }
    return 0;
}
