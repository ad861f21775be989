/* SPDX-License-Identifier: Apache-2.0 */
/* The checksum of base/crc32c.c reads any view inside it, and its table inside the table. */
#include "proof.h"

#include "base/crc32c.c"

void proof_crc32c(void)
{
    struct view v = any_view(ANY_LENGTH);
    uint32_t seed = any_u32();
    uint32_t sum = crc32c(seed, v);
    CHECK(v.len > 0u || sum == seed);
}
