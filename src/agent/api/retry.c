/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After a failure: waits and words that all who ask the API server have in common. Owns no state;
 * the waits of one connection are api.c's.
 */
#include "agent/api/retry.h"

#include "agent/state.h"
#include "base/assert.h"

uint64_t retry_after_ms(const struct request *r)
{
    uint64_t asked = (uint64_t)r->answer.retry_after_s * 1000u;
    return (asked <= API_RETRY_AFTER_MAX_MS) ? asked : API_REFUSED_MS;
}

uint64_t retry_wait(struct agent *a, const struct request *r, uint64_t *backoff_ms)
{
    uint64_t wait = agent_backoff(a, backoff_ms);
    uint64_t asked = retry_after_ms(r);
    uint64_t pause = api_later(a) - a->now_ms;
    uint16_t http = r->answer.http_status;
    /* After 401 api_send holds requests back, and only until there is another token. */
    pause = (http == HTTP_UNAUTHORIZED) ? 0u : pause;
    asked = (asked > pause) ? asked : pause;
    if (http == HTTP_FORBIDDEN && wait < API_REFUSED_MS) {
        wait = agent_jitter(a, API_REFUSED_MS);
    }
    return (asked > wait) ? asked : wait;
}

uint64_t retry_watch_wait(struct agent *a, unsigned index, uint64_t *backoff_ms)
{
    ASSERT(index < REQUESTS_MAX);
    const struct request *r = &a->api.request[index];
    if (r->answer.http_status != 0u && a->now_ms - r->sent_ms >= API_REFUSED_MS) {
        *backoff_ms = 0; /* it ran well for a time */
    }
    return retry_wait(a, r, backoff_ms);
}

bool retry_watch_goes_on(const struct request *r, enum status status)
{
    bool late = status == PEER_TIMEOUT && r->answer.http_status > 0u;
    return status == STATUS_OK || status == PEER_CLOSED || late;
}

/* A server or a path that fails, or has too much to do. */
static bool passes(uint16_t http)
{
    return http == 0u || http == 429u || http >= 500u;
}

bool retry_say(struct agent *a, struct refusal *last, const char *doing, const struct request *r,
               enum status status)
{
    uint16_t http = r->answer.http_status;
    bool lasts = last->doing == doing && last->http == http;
    ASSERT(doing != NULL);
    if (r->unprocessed && a->api.state == API_DRAINING) {
        return false; /* RFC 9113 §6.8: it crossed a GOAWAY, and is made again elsewhere */
    }
    if (lasts && a->now_ms - last->said_ms < REFUSAL_SAID_MS) {
        return false;
    }
    *last = (struct refusal){.doing = doing, .http = http, .said_ms = a->now_ms};
    log_begin(a, LOG_ID_API_REQUEST_FAILED);
    if (!lasts && passes(http)) {
        log_no_k8s_event(a); /* it passes by itself, unless it is seen again */
    }
    log_text(a, "doing", doing);
    log_text(a, "status", status_name(status));
    log_number(a, "http", http);
    retry_say_more(a, "reason", r->reason);
    retry_say_more(a, "message", r->message);
    return true;
}

void retry_say_more(struct agent *a, const char *key, const char *text)
{
    if (text[0] != '\0') {
        log_text(a, key, text);
    }
}

void retry_say_end(struct agent *a, const struct refusal *last, const char *remedy)
{
    const char *text = passes(last->http) ? "nothing, it is tried again" : remedy;
    ASSERT(last->doing != NULL);
    if (text != NULL) {
        log_remedy(a, text);
    }
    log_end(a);
}
