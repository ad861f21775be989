/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the harnesses share: values that CBMC chooses freely, memory of any size and content, and
 * models of the functions of the C library that loop over bytes. Owns nothing of the product.
 *
 * A harness is one translation unit that includes the source it proves, so that it reaches static
 * functions. It assumes what the caller promises (ASSUME) and states what the callee promises
 * (CHECK). An ASSERT of the product that can fail, fails the proof.
 */
#ifndef PROOF_H
#define PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"

#define ASSUME(condition) __CPROVER_assume(condition)
#define CHECK(condition) __CPROVER_assert((condition), #condition)

/*
 * Longest input where a proof says "any length": 1 GiB. No buffer of the program is longer
 * (cfg/budget.h bounds the sum of all at less), and CBMC's pointers reach as far.
 */
#define ANY_LENGTH (((size_t)1u << 30) - 1u)

/* A value of any size that CBMC chooses: it is not initialised on purpose. */
#define ANY(type, name)                                                                            \
    static inline type any_##name(void)                                                            \
    {                                                                                              \
        type value;                                                                                \
        return value;                                                                              \
    }
ANY(bool, bool)
ANY(uint8_t, u8)
ANY(uint16_t, u16)
ANY(uint32_t, u32)
ANY(uint64_t, u64)
ANY(int64_t, i64)
ANY(size_t, size)
ANY(unsigned, unsigned)

/* A length up to `max` and ANY_LENGTH; its upper bits are constant, which spares CBMC work. */
static size_t any_length(size_t max)
{
    size_t len = any_u32() >> 2;
    ASSUME(len <= max);
    return len;
}

/* A failed ASSERT of the product is a failed proof. */
void assert_failed(const char *file, int line, const char *condition)
{
    (void)file;
    (void)line;
    (void)condition;
    __CPROVER_assert(false, "no ASSERT of the product fails");
    __CPROVER_assume(false);
}

/* Memory of `len` bytes of any content, or NULL for none. */
static uint8_t *any_memory(size_t len)
{
    uint8_t *data = NULL;
    if (len > 0u || any_bool()) {
        data = malloc(len);
        ASSUME(data != NULL);
    }
    return data;
}

/* A view of any bytes, `max` of them at most. */
static struct view any_view(size_t max)
{
    size_t len = any_length(max);
    return (struct view){.data = any_memory(len), .len = len};
}

/* A reader at any place of any bytes. */
static struct reader any_reader(size_t max)
{
    struct view v = any_view(max);
    struct reader r = {.data = v.data, .len = v.len, .pos = any_length(v.len)};
    return r;
}

/* A writer in any state that its header allows. */
static struct writer any_writer(size_t max)
{
    size_t cap = any_length(max);
    struct writer w = {
        .data = any_memory(cap), .cap = cap, .len = any_length(cap), .full = any_bool()};
    return w;
}

static bool writer_sound(const struct writer *w)
{
    return w->len <= w->cap;
}

/* Whether `part` is readable and lies in the memory of `whole`, or is empty. */
static bool view_within(struct view part, struct view whole)
{
    return part.len == 0u || (__CPROVER_same_object(part.data, whole.data) &&
                              __CPROVER_r_ok(part.data, part.len) && part.len <= whole.len);
}

/* --- models: they check what is read, and return any value that the standard allows --- */

int memcmp(const void *a, const void *b, size_t n)
{
    __CPROVER_assert(n == 0u || __CPROVER_r_ok(a, n), "memcmp reads the first memory inside it");
    __CPROVER_assert(n == 0u || __CPROVER_r_ok(b, n), "memcmp reads the second memory inside it");
    int order;
    return n == 0u ? 0 : order;
}

void *memchr(const void *memory, int c, size_t n)
{
    __CPROVER_assert(n == 0u || __CPROVER_r_ok(memory, n), "memchr reads inside the memory");
    size_t at = any_u32() >> 2;
    if (at >= n || any_bool()) {
        return NULL;
    }
    const uint8_t *bytes = memory;
    ASSUME(bytes[at] == (uint8_t)c);
    return (void *)(bytes + at);
}

#ifdef PROOF_CONTENT_IS_ANY
/*
 * For harnesses whose memory has any content from the start: copying would only replace any bytes
 * by any others, so these models copy nothing and check the bounds.
 */
void *memcpy(void *to, const void *from, size_t n)
{
    __CPROVER_assert(n == 0u || __CPROVER_r_ok(from, n), "memcpy reads inside the memory");
    __CPROVER_assert(n == 0u || __CPROVER_w_ok(to, n), "memcpy writes inside the memory");
    return to;
}

void *memmove(void *to, const void *from, size_t n)
{
    __CPROVER_assert(n == 0u || __CPROVER_r_ok(from, n), "memmove reads inside the memory");
    __CPROVER_assert(n == 0u || __CPROVER_w_ok(to, n), "memmove writes inside the memory");
    return to;
}
#endif

#endif
