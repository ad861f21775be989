/* SPDX-License-Identifier: Apache-2.0 */
/* Counts; see tally.h. */
#include "tests/sim/virtual/tally.h"

#include <string.h>

/* Of a path in a version that is not served. */
static enum tally_verb other_verb(const char *path)
{
    if (strstr(path, "/resourceclaims") != NULL) {
        return TALLY_CLAIM;
    }
    return strstr(path, "watch=true") != NULL ? TALLY_WATCH : TALLY_GET;
}

static enum tally_verb verb_of(const struct sim_api_event *e)
{
    switch (e->asked) {
    case SIM_ASK_LIST:
        return TALLY_LIST;
    case SIM_ASK_WATCH:
        return TALLY_WATCH;
    case SIM_ASK_CREATE:
        return TALLY_POST;
    case SIM_ASK_UPDATE:
        return TALLY_PUT;
    case SIM_ASK_DELETE:
        return TALLY_DELETE;
    case SIM_ASK_EVENT:
        return TALLY_EVENT;
    case SIM_ASK_STATUS:
        return TALLY_STATUS;
    case SIM_ASK_CLAIM:
    case SIM_ASK_CLAIMS:
        return TALLY_CLAIM;
    default:
        return other_verb(e->path);
    }
}

/* --- when requests were sent --- */

void tally_connected(struct tally *t)
{
    t->skip = TALLY_PREFACE;
    t->have = 0;
}

static void take_head(struct tally *t, uint64_t now_ms)
{
    const uint8_t *h = t->head;
    uint32_t stream = ((uint32_t)h[5] << 24 | (uint32_t)h[6] << 16 | (uint32_t)h[7] << 8 | h[8]);
    if (h[3] == TALLY_HEADERS) {
        t->sent_ms[stream / 2 % TALLY_STREAMS] = now_ms;
    }
    t->skip = (size_t)h[0] << 16 | (size_t)h[1] << 8 | h[2];
    t->have = 0;
}

void tally_sent(struct tally *t, struct view bytes, uint64_t now_ms)
{
    while (bytes.len > 0) {
        size_t n = t->skip < bytes.len ? t->skip : bytes.len;
        t->skip -= n;
        bytes = view_from(bytes, n);
        if (bytes.len > 0) {
            t->head[t->have++] = bytes.data[0];
            bytes = view_from(bytes, 1);
        }
        if (t->have == TALLY_HEAD) {
            take_head(t, now_ms);
        }
    }
}

void tally_process(struct tally *t)
{
    memset(t->recent, 0, sizeof t->recent);
}

/* --- counts --- */

/* Requests of the second that ends at `ms`. */
static unsigned count_second(const struct tally *t, uint64_t ms)
{
    unsigned n = 0;
    for (unsigned i = 0; i < TALLY_RECENT; i++) {
        n += t->recent[i] > 0 && t->recent[i] <= ms && t->recent[i] + 1000 > ms ? 1 : 0;
    }
    return n;
}

void tally_request(struct tally *t, const struct sim_api_event *e)
{
    enum tally_verb verb = verb_of(e);
    uint64_t ms = t->sent_ms[e->stream / 2 % TALLY_STREAMS];
    t->verb[verb]++;
    if (verb == TALLY_CLAIM) {
        return;
    }
    t->recent[t->next] = ms;
    t->next = (t->next + 1) % TALLY_RECENT;
    unsigned n = count_second(t, ms);
    if (n > t->most) {
        t->most = n;
        t->most_ms = ms;
    }
}

unsigned tally_own(const struct tally *t)
{
    unsigned n = 0;
    for (unsigned i = 0; i < TALLY_CLAIM; i++) {
        n += t->verb[i];
    }
    return n;
}

unsigned tally_writes(const struct tally *t)
{
    return t->verb[TALLY_POST] + t->verb[TALLY_PUT] + t->verb[TALLY_DELETE];
}
