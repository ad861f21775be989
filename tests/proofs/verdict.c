/* SPDX-License-Identifier: Apache-2.0 */
/* A line about a device's health, of any length and content. */
#include "dra_stubs.h"

#include "dra/verdict.c"

/* Proof health_reasons. */
uint32_t stub_device_health_reasons(struct view text)
{
    stub_check_view(text);
    uint32_t reasons = any_u32();
    ASSUME((reasons == 0u) == (text.len == 0u) && reasons < 2u * HEALTH_REASON_GONE);
    return reasons;
}

void proof_verdict(void)
{
    struct view line = any_view(ANY_LENGTH);
    struct view name = {NULL, 0};
    struct device_verdict v = {.given = false};
    bool good = device_verdict_read(line, &name, &v);
    CHECK(good == v.given);
    CHECK(good || (name.data == NULL && v.reasons == 0u));
    CHECK(view_within(name, line) && v.state < STATES && v.reasons < 2u * HEALTH_REASON_GONE);
    CHECK(!good || (v.reasons != 0u) == (v.state == (uint8_t)HEALTH_UNHEALTHY));
}
