/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows a request to the API server that failed (retry.c): how long to wait, and what is
 * said of it. Owns struct refusal. Internal to src/agent.
 */
#ifndef AGENT_API_RETRY_H
#define AGENT_API_RETRY_H

#include "agent/api/api.h"

/* Status codes that decide what follows (RFC 9110 §15). */
#define HTTP_UNAUTHORIZED 401u
#define HTTP_FORBIDDEN 403u
#define HTTP_GONE 410u

/* The refusal that was said last, by one who asks. */
struct refusal {
    const char *doing; /* NULL: none; static text */
    uint16_t http;
    uint64_t said_ms;
};

/* What Retry-After asks for in milliseconds, 0: nothing; what no server means is not kept to. */
uint64_t retry_after_ms(const struct request *r);
/*
 * Until the request may be made again: doubled from time to time, longer when the server asks for
 * it, slow when only an operator can mend it (403).
 */
uint64_t retry_wait(struct agent *a, const struct request *r, uint64_t *backoff_ms);
/*
 * Until the watch on entry `index`, which ends just now, is opened again: longer each time, unless
 * it ran for some time.
 */
uint64_t retry_watch_wait(struct agent *a, unsigned index, uint64_t *backoff_ms);
/*
 * Begins the line of a request that failed; false: the same was said within REFUSAL_SAID_MS, and
 * nothing is said. After true the caller may add fields, and ends the line by retry_say_end.
 */
bool retry_say(struct agent *a, struct refusal *last, const char *doing, const struct request *r,
               enum status status);
/* A field of that line, unless there is nothing to say. */
void retry_say_more(struct agent *a, const char *key, const char *text);
/*
 * Ends it with this remedy (NULL: the catalogue's), unless what failed passes by itself: then with
 * that.
 */
void retry_say_end(struct agent *a, const struct refusal *last, const char *remedy);
/* Whether a watch ended as watches do: it goes on from the last version. */
bool retry_watch_goes_on(const struct request *r, enum status status);

#endif
