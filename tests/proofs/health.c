/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of a device's health files, and lists of reasons, of any length. */
#include "dra_stubs.h"

#include "dra/health.c"

#define ALL_REASONS (2u * HEALTH_REASON_GONE - 1u)

/* Proof health_word. */
uint32_t stub_component_bit(struct view word)
{
    stub_check_view(word);
    uint32_t bit = any_u32();
    ASSUME(bit != 0u && (bit & (bit - 1u)) == 0u && bit <= HEALTH_REASON_COMPONENT);
    return bit;
}

static struct device_reading any_reading(void)
{
    struct device_reading r;
    r.listed = any_bool();
    r.known = any_bool();
    r.blind = any_bool();
    ASSUME(r.reasons <= ALL_REASONS);
    return r;
}

void proof_health_files(void)
{
    bool lists = any_bool();
    unsigned files = health_files_of(any_view(ANY_LENGTH), lists);
    CHECK(files < FILE_BIT(HEALTH_FILES));
    CHECK(lists || (files & COMPONENTS_FILE) == 0u);
}

void proof_health_word(void)
{
    uint32_t bit = component_bit(any_view(ANY_LENGTH));
    CHECK(bit != 0u && (bit & (bit - 1u)) == 0u && bit <= HEALTH_REASON_COMPONENT);
}

void proof_health_components(void)
{
    struct device_reading r = any_reading();
    bool there = any_bool();
    device_reading_components(&r, any_view(ANY_LENGTH), there);
    CHECK(r.reasons <= ALL_REASONS && r.listed == there && (!r.known || there));
}

void proof_health_reset(void)
{
    struct device_reading r = any_reading();
    device_reading_reset(&r, any_view(ANY_LENGTH));
    CHECK(r.reasons <= ALL_REASONS);
}

void proof_health_counter(void)
{
    struct device_reading r = any_reading();
    unsigned counter = any_unsigned();
    uint8_t counted = r.counted;
    ASSUME(counter < HEALTH_COUNTERS); /* the function asserts it; sysfs.c reads no other file */
    device_reading_counter(&r, counter, any_view(ANY_LENGTH));
    CHECK((r.counted & ~(1u << counter)) == (counted & ~(1u << counter)));
}

void proof_health_reasons(void)
{
    struct view text = any_view(ANY_LENGTH);
    uint32_t reasons = device_health_reasons(text);
    CHECK((reasons == 0u) == (text.len == 0u) && reasons <= ALL_REASONS);
}
