/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of its own for each test of src/host, made and emptied around it. */
#ifndef TESTS_UNIT_HOST_HARNESS_H
#define TESTS_UNIT_HOST_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char harness_root[64];

/* Path below the test's directory; four may be in use at a time. */
static inline const char *at(const char *rest)
{
    static char paths[4][1024];
    static unsigned next;
    char *path = paths[next++ % 4u];
    (void)snprintf(path, sizeof paths[0], "%s/%s", harness_root, rest);
    return path;
}

static inline void make_directories(const char *rest)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s", at(rest));
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        (void)mkdir(path, 0755);
        *slash = '/';
    }
    (void)mkdir(path, 0755);
}

/* Writes a file and makes the directories above it. */
static inline void put_bytes(const char *rest, const void *bytes, size_t len)
{
    char directory[512];
    (void)snprintf(directory, sizeof directory, "%s", rest);
    char *slash = strrchr(directory, '/');
    if (slash != NULL) {
        *slash = 0;
        make_directories(directory);
    }
    FILE *f = fopen(at(rest), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static inline void put(const char *rest, const char *text)
{
    put_bytes(rest, text, strlen(text));
}

static inline int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline int harness_begin(void **state)
{
    (void)state;
    (void)strcpy(harness_root, "/tmp/neuron-dra-unit-XXXXXX");
    return (mkdtemp(harness_root) != NULL) ? 0 : -1;
}

static inline int harness_end(void **state)
{
    (void)state;
    return nftw(harness_root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

#define HOST_TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)

#endif
