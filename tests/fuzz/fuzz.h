/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzz targets share: numbers taken from the input, cuts of the input that depend on it
 * alone, sums of what came out, and CHECK. Owns the entry point's prototype and the end of a failed
 * assertion; every target is one file that includes this one.
 *
 * A target's head says which numbered invariants of which header it checks. A line "Links: -lNAME"
 * there names a library of somebody else that it compares with; with FUZZ_ALONE defined it is built
 * without the library and without that comparison (memory sanitizer, machines that lack it).
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"

/* The engine's entry point: returns 0; a broken invariant ends the process by abort(). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The end of a failed ASSERT of the product: names place and condition, then abort(). */
void assert_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

/* States an invariant; stays on in every build. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* --- numbers and bytes from the front of the input; zeros and empty views once it ends --- */

struct fuzz {
    const uint8_t *data;
    size_t len;
    size_t pos;
};

static inline struct fuzz fuzz_of(const uint8_t *data, size_t len)
{
    return (struct fuzz){.data = data, .len = len, .pos = 0};
}

static inline size_t fuzz_left(const struct fuzz *f)
{
    return f->len - f->pos;
}

static inline uint8_t fuzz_u8(struct fuzz *f)
{
    return (f->pos < f->len) ? f->data[f->pos++] : 0u;
}

static inline uint16_t fuzz_u16(struct fuzz *f)
{
    uint16_t high = fuzz_u8(f);
    return (uint16_t)(high << 8 | fuzz_u8(f));
}

static inline uint32_t fuzz_u32(struct fuzz *f)
{
    uint32_t high = fuzz_u16(f);
    return high << 16 | fuzz_u16(f);
}

/* `low` to `high`, both included; takes one byte for a range below 256, else four. */
static inline uint32_t fuzz_range(struct fuzz *f, uint32_t low, uint32_t high)
{
    uint32_t span = high - low;
    uint32_t number = (span < 256u) ? fuzz_u8(f) : fuzz_u32(f);
    return (span == UINT32_MAX) ? number : low + number % (span + 1u);
}

/* The next `n` bytes, or what is left. */
static inline struct view fuzz_bytes(struct fuzz *f, size_t n)
{
    n = (n < fuzz_left(f)) ? n : fuzz_left(f);
    struct view v = {.data = f->data + f->pos, .len = n};
    f->pos += n;
    return v;
}

/* A length in one byte, then so many bytes. */
static inline struct view fuzz_text(struct fuzz *f)
{
    size_t n = fuzz_u8(f);
    return fuzz_bytes(f, n);
}

static inline struct view fuzz_rest(struct fuzz *f)
{
    return fuzz_bytes(f, fuzz_left(f));
}

/* What only watches is no part of what a fuzzer explores. */
#ifdef __clang__
#define FUZZ_UNSEEN __attribute__((no_sanitize("coverage")))
#else
#define FUZZ_UNSEEN
#endif

/* --- sums: FNV-1a of 64 bits; two runs that told the same in the same order are equal --- */

struct fuzz_sum {
    uint64_t value;
};

static inline struct fuzz_sum fuzz_sum_of(void)
{
    return (struct fuzz_sum){14695981039346656037u};
}

FUZZ_UNSEEN static inline void fuzz_sum_bytes(struct fuzz_sum *s, const void *data, size_t len)
{
    const uint8_t *bytes = (const uint8_t *)data;
    for (size_t i = 0; i < len; i++) {
        s->value = (s->value ^ bytes[i]) * 1099511628211u;
    }
}

static inline void fuzz_sum_u64(struct fuzz_sum *s, uint64_t number)
{
    fuzz_sum_bytes(s, &number, sizeof number);
}

/* Length, then bytes: "ab","c" is not "a","bc". */
static inline void fuzz_sum_view(struct fuzz_sum *s, struct view v)
{
    fuzz_sum_u64(s, v.len);
    fuzz_sum_bytes(s, v.data, v.len);
}

/* --- cuts: pieces of an input whose sizes depend on the input and `salt` alone --- */

struct fuzz_cuts {
    uint64_t state;
    unsigned kind; /* 0: whole, 1: byte by byte, 2: small pieces, 3: pieces of all sizes */
};

FUZZ_UNSEEN static inline uint64_t fuzz_mix(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline struct fuzz_cuts fuzz_cuts_whole(void)
{
    return (struct fuzz_cuts){.state = 0, .kind = 0};
}

static inline struct fuzz_cuts fuzz_cuts_of(const uint8_t *data, size_t len, uint64_t salt)
{
    struct fuzz_sum sum = fuzz_sum_of();
    fuzz_sum_u64(&sum, salt);
    fuzz_sum_bytes(&sum, data, len);
    struct fuzz_cuts cuts = {.state = sum.value};
    cuts.kind = 1u + (unsigned)(fuzz_mix(&cuts.state) % 3u);
    return cuts;
}

/* Size of the next piece of `left` bytes: 1 to `left`, 0 when none are left. */
FUZZ_UNSEEN static inline size_t fuzz_cut(struct fuzz_cuts *cuts, size_t left)
{
    if (left <= 1u || cuts->kind == 0u) {
        return left;
    }
    uint64_t number = fuzz_mix(&cuts->state);
    size_t most = (cuts->kind == 1u) ? 1u : (cuts->kind == 2u) ? 16u : left;
    most = (most < left) ? most : left;
    return 1u + (size_t)(number % most);
}

/*
 * A copy of exactly `len` bytes on the heap, so that a sanitizer sees each byte read behind its
 * end. Freed by the caller.
 */
static inline uint8_t *fuzz_copy(const void *data, size_t len)
{
    uint8_t *copy = (uint8_t *)malloc(len + (len == 0u));
    CHECK(copy != NULL);
    if (len > 0u) {
        memcpy(copy, data, len);
    }
    return copy;
}

/* What nanopb takes as text: UTF-8 without the noncharacters U+FFFE and U+FFFF. */
static inline bool fuzz_nanopb_takes(struct view text)
{
    for (size_t i = 0; i + 2u < text.len; i++) {
        const uint8_t *at = &text.data[i];
        if (at[0] == 0xefu && at[1] == 0xbfu && at[2] >= 0xbeu) {
            return false;
        }
    }
    return view_is_utf8(text);
}

#endif
