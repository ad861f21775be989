/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as numbers, and as text (RFC 3339). Owns the calendar; reads no clock.
 *
 * Invariant: I1. Texts and dates are those of the proleptic Gregorian calendar in UTC.
 */
#ifndef BASE_TIME_H
#define BASE_TIME_H

#include "base/bytes.h"

/* The earlier of two times; UINT64_MAX means never. */
static inline uint64_t earlier(uint64_t a_ms, uint64_t b_ms)
{
    return (a_ms < b_ms) ? a_ms : b_ms;
}

/* The later of two times. */
static inline uint64_t later(uint64_t a_ms, uint64_t b_ms)
{
    return (a_ms > b_ms) ? a_ms : b_ms;
}

/*
 * Sets *days to the days from 1970-01-01 to a date in the years 0 to 9999. Returns false if there
 * is no such date; *days is then unchanged.
 */
MUST_USE bool time_days(int64_t year, int64_t month, int64_t day, int64_t *days);
/*
 * Appends a time in UTC with milliseconds, such as 2026-11-21T12:00:00.123, and then `end`: "Z", or
 * "000Z" for the microseconds of Kubernetes' MicroTime. `wall_ms`: Unix time in milliseconds.
 */
void writer_time(struct writer *w, uint64_t wall_ms, const char *end);
/* Like writer_time, but without milliseconds, and from Unix seconds. */
void writer_time_s(struct writer *w, uint64_t seconds, const char *end);

#endif
