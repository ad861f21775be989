/* SPDX-License-Identifier: Apache-2.0 */
/* Counts; see tally.h. */
#include "tests/sim/virtual/tally.h"

#include <string.h>

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
        return TALLY_CLAIM;
    default:
        return strstr(e->path, "watch=true") != NULL ? TALLY_WATCH : TALLY_GET;
    }
}

static void count_second(struct tally *t, uint64_t now_ms)
{
    while (t->count > 0 && t->recent[t->first] + 1000 <= now_ms) {
        t->first = (t->first + 1) % TALLY_RECENT;
        t->count--;
    }
    if (t->count < TALLY_RECENT) {
        t->recent[(t->first + t->count) % TALLY_RECENT] = now_ms;
        t->count++;
    }
    if (t->count > t->most) {
        t->most = t->count;
        t->most_ms = now_ms;
    }
}

void tally_request(struct tally *t, const struct sim_api_event *e, uint64_t now_ms)
{
    enum tally_verb verb = verb_of(e);
    t->verb[verb]++;
    if (verb != TALLY_CLAIM) {
        count_second(t, now_ms);
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
