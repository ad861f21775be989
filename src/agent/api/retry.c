/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes waits after failed requests, see retry.h. connection.c computes the waits between
 * connections.
 */
#include "agent/api/retry.h"

#include "agent/api/backoff.h"
#include "agent/frame.h"
#include "base/assert.h"

uint64_t retry_wait(struct agent *a, const struct api_result *r, uint64_t *backoff_ms)
{
    uint64_t most = retry_is_busy(r) ? API_BUSY_MAX_MS : API_BACKOFF_MAX_MS;
    most = r->roles_new ? API_RETRY_LEAST_MS : most;
    uint64_t wait = agent_backoff_within(a, backoff_ms, API_BACKOFF_MIN_MS, most);
    uint64_t asked = agent_spread(a, api_retry_after_ms(r));
    uint64_t pause = api_later(a) - a->now_ms;
    /*
     * After 401, ignore the pause in api_later, because it ends early when the token is replaced.
     */
    pause = (r->http == HTTP_UNAUTHORIZED) ? 0u : pause;
    asked = (asked > pause) ? asked : pause;
    if (r->roles_new) {
        /* all agents of a new installation get this 403: spread them more widely than by jitter */
        wait = agent_spread(a, *backoff_ms);
    } else if (r->http == HTTP_FORBIDDEN && !r->roles_unread && wait < API_REFUSED_MS) {
        wait = agent_jitter(a, API_REFUSED_MS);
    }
    return (asked > wait) ? asked : wait;
}

uint64_t retry_watch_wait(struct agent *a, const struct api_result *r, uint64_t *backoff_ms)
{
    if (r->http != 0u && r->elapsed_ms >= API_REFUSED_MS) {
        /* the server accepted the watch and kept it for API_REFUSED_MS or longer */
        *backoff_ms = 0;
    }
    return retry_wait(a, r, backoff_ms);
}

bool retry_watch_goes_on(const struct api_result *r)
{
    bool started = r->status == PEER_TIMEOUT && r->http > 0u;
    return r->status == STATUS_OK || r->status == PEER_CLOSED || started;
}

bool retry_passes(const struct api_result *r)
{
    return r->http == 0u || retry_is_busy(r);
}

bool retry_is_busy(const struct api_result *r)
{
    return r->http == HTTP_TOO_MANY_REQUESTS || r->http >= HTTP_SERVER_ERROR_FIRST ||
           r->roles_unread;
}

void retry_refusal_write(const struct api_result *r, struct writer *out)
{
    if (r->http == HTTP_UNAUTHORIZED) {
        writer_text(out, "HTTP 401 Unauthorized: the token is not accepted; " API_TOKEN_REMEDY);
        return;
    }
    WRITE(out, "HTTP % ", NUMBER(r->http));
    writer_cut(out, view_text(r->message));
}
