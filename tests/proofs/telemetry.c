/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of metric files, of any length, and any value that was stored before. */
#include "dra_stubs.h"

#include "dra/telemetry.c"

/* What telemetry_parse stores; 0 before the first reading. */
static bool sound(uint64_t kept)
{
    return (kept & ~(FELL | LOST)) <= VALUE_MAX + 1u;
}

void proof_telemetry(void)
{
    uint64_t kept = any_u64();
    unsigned index = any_unsigned();
    int64_t value;
    ASSUME(sound(kept));
    telemetry_parse(&kept, index, any_view(ANY_LENGTH));
    bool known = telemetry_known(kept, &value);
    CHECK(sound(kept) && (!known || (value >= 0 && (uint64_t)value <= VALUE_MAX)));
    CHECK(index != TELEMETRY_POWER || !known || value <= 1009);
    CHECK(index < COUNT_OF(ecc_names) || (kept & (FELL | LOST)) == 0u);
}
