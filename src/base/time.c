/* SPDX-License-Identifier: Apache-2.0 */
/* Implements base/time.h: the proleptic Gregorian calendar in integer arithmetic. */
#include "base/time.h"

static void two_digits(struct writer *w, uint64_t n)
{
    writer_u8(w, (uint8_t)('0' + n / 10u % 10u));
    writer_u8(w, (uint8_t)('0' + n % 10u));
}

/*
 * Days from 1970-01-01 to a date. Lets years begin in March, so that a leap day is the last day of
 * its year. Accepts month 13 as January of the next year.
 */
static int64_t days_to(int64_t year, int64_t month, int64_t day)
{
    int64_t y = (month <= 2) ? year - 1 : year;
    int64_t m = (month <= 2) ? month + 9 : month - 3;
    int64_t leaps = y / 4 - y / 100 + y / 400 - ((y < 0) ? 1 : 0);
    return 365 * y + leaps + (153 * m + 2) / 5 + day - 1 - 719468;
}

bool time_days(int64_t year, int64_t month, int64_t day, int64_t *days)
{
    bool valid = year >= 0 && year <= 9999 && month >= 1 && month <= 12 && day >= 1;
    if (!valid || days_to(year, month, day) >= days_to(year, month + 1, 1)) {
        return false;
    }
    *days = days_to(year, month, day);
    return true;
}

/*
 * Writes the date that is `days` days after 1970-01-01. Counts in 400-year cycles, the first of
 * which begins on 1 March of year 0.
 */
static void write_date(struct writer *w, uint64_t days)
{
    uint64_t z = days + 719468u;
    uint64_t era = z / 146097u;
    uint64_t day_of_era = z % 146097u;
    uint64_t leap_days = day_of_era / 1460u - day_of_era / 36524u + day_of_era / 146096u;
    uint64_t year_of_era = (day_of_era - leap_days) / 365u;
    uint64_t year_begins = 365u * year_of_era + year_of_era / 4u - year_of_era / 100u;
    uint64_t day_of_year = day_of_era - year_begins;
    uint64_t shifted = (5u * day_of_year + 2u) / 153u; /* number of whole months since March */
    uint64_t month = (shifted < 10u) ? shifted + 3u : shifted - 9u;
    uint64_t year = year_of_era + era * 400u + ((month <= 2u) ? 1u : 0u);
    writer_decimal(w, year);
    writer_u8(w, '-');
    two_digits(w, month);
    writer_u8(w, '-');
    two_digits(w, day_of_year - (153u * shifted + 2u) / 5u + 1u);
}

void writer_time_s(struct writer *w, uint64_t seconds, const char *end)
{
    write_date(w, seconds / 86400u);
    writer_u8(w, 'T');
    two_digits(w, seconds / 3600u % 24u);
    writer_u8(w, ':');
    two_digits(w, seconds / 60u % 60u);
    writer_u8(w, ':');
    two_digits(w, seconds % 60u);
    writer_text(w, end);
}

void writer_time(struct writer *w, uint64_t wall_ms, const char *end)
{
    writer_time_s(w, wall_ms / 1000u, ".");
    writer_u8(w, (uint8_t)('0' + wall_ms / 100u % 10u));
    two_digits(w, wall_ms % 100u);
    writer_text(w, end);
}
