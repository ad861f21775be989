/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C (Castagnoli, reflected polynomial 0x82F63B78, as in RFC 3720 §12.1): the checksum of
 * stored records. Pure arithmetic: owns a table of 16 constants, no state.
 */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include "base/bytes.h"

/*
 * Returns the checksum of `v`. To checksum data in parts, pass the result for the previous parts as
 * `seed`; for the first part pass 0. The checksum of "123456789" is 0xE3069283.
 */
uint32_t crc32c(uint32_t seed, struct view v);

#endif
