/* SPDX-License-Identifier: Apache-2.0 */
/*
 * That the builds of the unit tests catch what they are there for: each violation is done in a
 * process of its own, which its sanitizer has to end with the right words. A build without that
 * sanitizer skips it.
 */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mbedtls/sha256.h>

#include "base/crc32c.h"
#include "unit.h"

#ifdef __SANITIZE_ADDRESS__ /* gcc */
#define HAS_ADDRESS 1
#define HAS_MEMORY 0
#define HAS_CONVERSION 0
#elif defined(__has_feature)
#define HAS_ADDRESS __has_feature(address_sanitizer)
#define HAS_MEMORY __has_feature(memory_sanitizer)
#define HAS_CONVERSION HAS_ADDRESS /* the same build, see the Makefile */
#else
#define HAS_ADDRESS 0
#define HAS_MEMORY 0
#define HAS_CONVERSION 0
#endif

/* --- violations; what they compute is looked at, or the compiler would leave them out --- */

static volatile int sink;

static void branch_on(uint32_t value)
{
    if (value == 42u) {
        (void)close(-1); /* a call, so that this stays a branch: choosing a value is no use of it */
    }
}

/* Memory that nobody wrote, hidden from compilers that would warn. */
static uint8_t *unwritten(void)
{
    uint8_t *volatile data = malloc(16);
    assert_non_null(data);
    return data;
}

/* Through our own code. */
static void unwritten_own(void)
{
    uint8_t *data = unwritten();
    branch_on(crc32c(0, view_of(data, 16)));
    free(data);
}

/* The same through mbedTLS: its memory is followed too. */
static void unwritten_library(void)
{
    uint8_t digest[32];
    uint8_t *data = unwritten();
    (void)mbedtls_sha256(data, 16, digest, 0);
    branch_on(digest[7]);
    free(data);
}

/* And through cmocka, which compares. */
static void unwritten_compared(void)
{
    uint8_t *data = unwritten();
    assert_memory_equal(data, "0123456789abcdef", 16);
    free(data);
}

static void past_the_end(void)
{
    uint8_t *data = calloc(16, 1);
    branch_on(crc32c(0, view_of(data, 17)));
    free(data);
}

static void shift_too_far(void)
{
    volatile unsigned by = 32;
    sink = (int)(1u << by);
}

static void conversion_cuts(void)
{
    volatile unsigned value = 256;
    volatile uint8_t byte = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
    byte = value;
#pragma GCC diagnostic pop
    branch_on(byte);
}

/* --- */

/* What the process wrote before it ended; it must not end well. */
static const char *words_of(void (*violation)(void))
{
    static char text[65536];
    size_t have = 0;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        violation();
        _exit(0);
    }
    assert_int_equal(close(ends[1]), 0);
    for (ssize_t n = 1; n > 0 && have < sizeof text - 1;) {
        n = read(ends[0], text + have, sizeof text - 1 - have);
        have += (n > 0) ? (size_t)n : 0;
    }
    text[have] = 0;
    assert_int_equal(close(ends[0]), 0);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return text;
}

static void caught(bool here, void (*violation)(void), const char *words)
{
    if (!here) {
        skip();
    }
    const char *text = words_of(violation);
    if (strstr(text, words) == NULL) {
        fail_msg("\"%s\" is not in:\n%s", words, text);
    }
}

static void test_memory(void **state)
{
    (void)state;
    static const char words[] = "use-of-uninitialized-value";
    caught(HAS_MEMORY, unwritten_own, words);
    caught(HAS_MEMORY, unwritten_library, words);
    caught(HAS_MEMORY, unwritten_compared, words);
}

static void test_address(void **state)
{
    (void)state;
    caught(HAS_ADDRESS, past_the_end, "heap-buffer-overflow");
}

static void test_undefined(void **state)
{
    (void)state;
    caught(HAS_ADDRESS, shift_too_far, "shift exponent 32 is too large");
}

static void test_conversion(void **state)
{
    (void)state;
    caught(HAS_CONVERSION, conversion_cuts, "implicit conversion");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_address),
        cmocka_unit_test(test_undefined),
        cmocka_unit_test(test_conversion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
