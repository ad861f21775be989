/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as text (RFC 3339). Owns the calendar; reads no clock.
 *
 * Invariant: I1. The text is the time's in the proleptic Gregorian calendar, UTC.
 */
#ifndef BASE_TIME_H
#define BASE_TIME_H

#include "base/bytes.h"

/*
 * Appends a time in UTC, e.g. 2026-11-21T12:00:00.123 and then `end`: "Z", or "000Z" where
 * microseconds are asked for (Kubernetes' MicroTime). `wall_ms` are Unix milliseconds.
 */
void writer_time(struct writer *w, uint64_t wall_ms, const char *end);

#endif
