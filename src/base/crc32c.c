/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C four bits at a time: 16 constants, computed from the reflected polynomial 0x82F63B78. */
#include "base/crc32c.h"

static const uint32_t nibble[16] = {
    0x00000000u, 0x105EC76Fu, 0x20BD8EDEu, 0x30E349B1u, 0x417B1DBCu, 0x5125DAD3u,
    0x61C69362u, 0x7198540Du, 0x82F63B78u, 0x92A8FC17u, 0xA24BB5A6u, 0xB21572C9u,
    0xC38D26C4u, 0xD3D3E1ABu, 0xE330A81Au, 0xF36E6F75u,
};

uint32_t crc32c(uint32_t seed, struct view v)
{
    uint32_t crc = ~seed;
    for (size_t i = 0; i < v.len; i++) {
        crc ^= v.data[i];
        crc = (crc >> 4) ^ nibble[crc & 0xfu];
        crc = (crc >> 4) ^ nibble[crc & 0xfu];
    }
    return ~crc;
}
