/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that mbedTLS needs from the system: the kernel's random bytes, and calendar dates. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/assert.h"
#include "host/apiserver/tls_internal.h"

#include <mbedtls/entropy.h>
#include <mbedtls/platform_time.h>
#include <mbedtls/platform_util.h>
#include <psa/crypto.h>

/* getrandom(2) always completes a request of up to 256 bytes, even if a signal arrives. */
#define RANDOM_PIECE 256u

int tls_random(void *context, unsigned char *data, size_t len)
{
    (void)context;
    size_t done = 0;
    for (size_t i = 0; i <= len && done < len; i++) {
        size_t piece = (len - done < RANDOM_PIECE) ? len - done : (size_t)RANDOM_PIECE;
        ssize_t n = getrandom(data + done, piece, 0);
        if (n <= 0 && errno != EINTR) {
            return MBEDTLS_ERR_ENTROPY_SOURCE_FAILED;
        }
        done += (n > 0) ? (size_t)n : 0u;
    }
    return (done == len) ? 0 : MBEDTLS_ERR_ENTROPY_SOURCE_FAILED;
}

psa_status_t mbedtls_psa_external_get_random(mbedtls_psa_external_random_context_t *context,
                                             uint8_t *output, size_t output_size,
                                             size_t *output_length)
{
    (void)context;
    if (tls_random(NULL, output, output_size) != 0) {
        return PSA_ERROR_INSUFFICIENT_ENTROPY;
    }
    *output_length = output_size;
    return PSA_SUCCESS;
}

/*
 * Converts days since 1970-01-01 to a Gregorian date. Replaces the C library's gmtime_r, which may
 * read files. Counts years from March, so that a leap day is the last day of its year; 400 years
 * have 146097 days, and the five months from March to July have 153, as do the next five.
 */
static void civil_date(int64_t days, struct tm *out)
{
    int64_t shifted = days + 719468; /* days since 0000-03-01 */
    ASSERT(shifted >= 0);
    int64_t era = shifted / 146097;
    int64_t day = shifted % 146097;
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int64_t of_year = day - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153; /* 0 is March, 11 is February */
    bool next = month >= 10;
    out->tm_mday = (int)(of_year - (153 * month + 2) / 5 + 1);
    out->tm_mon = (int)(month + (next ? -10 : 2));
    out->tm_year = (int)(era * 400 + year + (next ? 1 : 0) - 1900);
}

struct tm *mbedtls_platform_gmtime_r(const mbedtls_time_t *tt, struct tm *tm_buf)
{
    int64_t seconds = (int64_t)*tt;
    if (seconds < 0) {
        return NULL;
    }
    memset(tm_buf, 0, sizeof *tm_buf);
    civil_date(seconds / 86400, tm_buf);
    tm_buf->tm_hour = (int)(seconds % 86400 / 3600);
    tm_buf->tm_min = (int)(seconds % 3600 / 60);
    tm_buf->tm_sec = (int)(seconds % 60);
    return tm_buf;
}
