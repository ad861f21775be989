/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of real peers, tests/vectors/recorded: which there are, reading the files and cutting
 * their octets. Header only, because each test is one file; a harness comes before it. Run from the
 * top of the source tree.
 */
#ifndef TESTS_UNIT_RECORDED_H
#define TESTS_UNIT_RECORDED_H

#include <ctype.h>
#include <dirent.h>

#include "base/bytes.h"

#define RECORDED_DIR "tests/vectors/recorded"
#define RECORDED_BYTES_MAX 65536
#define RECORDED_STEPS_MAX 256
#define RECORDED_TEXT_MAX 1024
#define RELEASES_MAX 16
#define RELEASE_CAP 32
#define RANDOM_CUTS 300u /* replays of a recording, each with cuts of its own */

enum step_kind { STEP_CONNECTION, STEP_SAY, STEP_ASK, STEP_RESET };

struct recorded_step {
    enum step_kind kind;
    uint32_t stream; /* ASK, RESET */
    char method[16]; /* ASK */
    char path[512];
    size_t from; /* SAY: octets in recorded.bytes */
    size_t len;
};

static struct {
    size_t len;
    uint8_t bytes[RECORDED_BYTES_MAX];
    unsigned steps;
    struct recorded_step step[RECORDED_STEPS_MAX];
} recorded;

static inline struct recorded_step *recorded_add(enum step_kind kind)
{
    assert_in_range(recorded.steps, 0, RECORDED_STEPS_MAX - 1);
    struct recorded_step *s = &recorded.step[recorded.steps];
    memset(s, 0, sizeof *s);
    s->kind = kind;
    recorded.steps++;
    return s;
}

/* Lines of octets that follow each other are one step. */
static inline void recorded_say(const char *hex)
{
    struct recorded_step *last = recorded.steps > 0 ? &recorded.step[recorded.steps - 1] : NULL;
    if (last == NULL || last->kind != STEP_SAY) {
        last = recorded_add(STEP_SAY);
        last->from = recorded.len;
    }
    for (; isxdigit((unsigned char)hex[0]) != 0; hex += 2) {
        unsigned octet = 0;
        assert_int_equal(sscanf(hex, "%2x", &octet), 1);
        assert_in_range(recorded.len, 0, RECORDED_BYTES_MAX - 1);
        recorded.bytes[recorded.len] = (uint8_t)octet;
        recorded.len++;
        last->len++;
    }
}

static inline void recorded_line(const char *line)
{
    if (strncmp(line, "say ", 4) == 0) {
        recorded_say(line + 4);
    } else if (strncmp(line, "ask ", 4) == 0) {
        struct recorded_step *s = recorded_add(STEP_ASK);
        assert_int_equal(sscanf(line, "ask %u %15s %511s", &s->stream, s->method, s->path), 3);
    } else if (strncmp(line, "reset ", 6) == 0) {
        struct recorded_step *s = recorded_add(STEP_RESET);
        assert_int_equal(sscanf(line, "reset %u", &s->stream), 1);
    } else if (strncmp(line, "connection ", 11) == 0) {
        (void)recorded_add(STEP_CONNECTION);
    } else if (line[0] != '#' && line[0] != '\n') {
        fail_msg("not a line of a recording: %s", line);
    }
}

static inline void recorded_load(const char *release, const char *name)
{
    char path[256];
    static char line[RECORDED_TEXT_MAX];
    recorded.len = 0;
    recorded.steps = 0;
    (void)snprintf(path, sizeof path, RECORDED_DIR "/%s/%s", release, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("%s: cannot be opened: make record makes it; this has to be the top folder", path);
        return;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        recorded_line(line);
    }
    (void)fclose(file);
    assert_true(recorded.steps > 0 && recorded.len > 0);
}

/* --- releases --- */

/* Each folder of recordings is one of Kubernetes; which are made says tools/cluster/record.py. */
struct releases {
    unsigned count;
    char name[RELEASES_MAX][RELEASE_CAP];
};

static inline struct releases releases_find(void)
{
    struct releases all = {.count = 0};
    DIR *folder = opendir(RECORDED_DIR);
    assert_non_null(folder);
    for (const struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
        if (isdigit((unsigned char)e->d_name[0]) != 0) {
            assert_in_range(all.count, 0, RELEASES_MAX - 1);
            (void)snprintf(all.name[all.count], RELEASE_CAP, "%.31s", e->d_name);
            all.count++;
        }
    }
    (void)closedir(folder);
    assert_true(all.count > 0);
    return all;
}

/* The version of resource.k8s.io in which a release was recorded: 1.33 serves no v1. */
static inline const char *release_version(const char *release)
{
    return strncmp(release, "1.33.", 5) == 0 ? "v1beta1" : "v1";
}

/* --- cuts --- */

/* How a recording is cut: 0 whole, 1 octet by octet, from 2 on at random places. */
static unsigned cutting;
static uint64_t cut_state;

static inline void cutting_begin(unsigned way)
{
    cutting = way;
    cut_state = 0x9e3779b97f4a7c15u * (way + 1u);
}

static inline size_t cut_next(void)
{
    if (cutting < 2u) {
        return cutting == 0u ? SIZE_MAX : 1u;
    }
    cut_state ^= cut_state << 13;
    cut_state ^= cut_state >> 7;
    cut_state ^= cut_state << 17;
    /* short pieces and long ones, each kind often */
    size_t most = cut_state % 3u == 0u ? 8u : (cut_state % 3u == 1u ? 128u : 4096u);
    return 1u + (size_t)((cut_state >> 16) % most);
}

#endif
