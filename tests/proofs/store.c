/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim store as a disk may return it: a half of a slot and a copy of the header, of any length
 * and content. The checksum is any number, so damaged bytes that pass it are covered too.
 */
#include "stubs.h"

#include "dra/store.c"

uint32_t stub_crc32c(uint32_t seed, struct view v)
{
    (void)seed;
    stub_check_view(v);
    return any_u32();
}

void proof_store_half(void)
{
    struct view bytes = any_view(ANY_LENGTH);
    struct store_half half;
    store_half_read(bytes, any_unsigned(), &half);
    CHECK(half.state == STORE_HALF_DAMAGED || half.state == STORE_HALF_FREE ||
          half.state == STORE_HALF_RECORD);
    CHECK(view_within(half.record, bytes) && half.record.len <= STORE_RECORD_MAX);
    CHECK((half.state == STORE_HALF_RECORD) == (half.record.len > 0u));
    CHECK(half.state != STORE_HALF_DAMAGED || half.sequence == 0u);
}

void proof_store_header(void)
{
    struct store_header h = {.flags = 7};
    enum status s = store_header_read(any_view(ANY_LENGTH), &h);
    CHECK(s == STATUS_OK || s == HOST_DAMAGED || s == PEER_UNSUPPORTED);
    CHECK(s == STATUS_OK || h.flags == 7u);
}

void proof_store_pick(void)
{
    struct store_half halves[2];
    int picked = store_pick(halves);
    CHECK(picked >= -1 && picked <= 1);
    CHECK(picked < 0 || halves[picked].state != STORE_HALF_DAMAGED);
    CHECK(picked >= 0 ||
          (halves[0].state == STORE_HALF_DAMAGED && halves[1].state == STORE_HALF_DAMAGED));
}
