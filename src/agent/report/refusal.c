/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the log lines of failed requests, see refusal.h. */
#include "agent/report/refusal.h"

#include "agent/api/retry.h"
#include "agent/frame.h"
#include "agent/report/log.h"
#include "base/assert.h"

bool log_api_refusal(struct agent *a, struct refusal *last, const char *doing,
                     const struct api_result *r, enum status status)
{
    bool passes = retry_passes(r);
    bool lasts = last->doing == doing && last->http == r->http && last->passes == passes;
    ASSERT(doing != NULL);
    if (r->unprocessed && api_draining(a)) {
        /*
         * the server did not process the request (GOAWAY, RFC 9113 §6.8), so the sender repeats it
         */
        return false;
    }
    if (lasts && a->now_ms - last->logged_ms < REFUSAL_LOG_PAUSE_MS) {
        return false;
    }
    *last =
        (struct refusal){.doing = doing, .http = r->http, .passes = passes, .logged_ms = a->now_ms};
    log_begin(a, LOG_ID_API_REQUEST_FAILED);
    if ((!lasts && passes) || r->roles_new) {
        /* this refusal may be transient, so it causes no Kubernetes Event */
        log_no_k8s_event(a);
    }
    log_text(a, "doing", doing);
    log_text(a, "status", status_name(status));
    log_number(a, "http", r->http);
    log_api_refusal_field(a, "reason", r->reason);
    log_api_refusal_field(a, "message", r->message);
    return true;
}

void log_api_refusal_field(struct agent *a, const char *key, const char *text)
{
    if (text[0] != '\0') {
        log_text(a, key, text);
    }
}

void log_api_refusal_end(struct agent *a, const struct refusal *last, const char *remedy)
{
    const char *text = last->passes ? "none needed: the agent retries" : remedy;
    ASSERT(last->doing != NULL);
    text = (last->http == HTTP_UNAUTHORIZED) ? API_TOKEN_REMEDY : text;
    if (text != NULL) {
        log_remedy(a, text);
    }
    log_end(a);
}

void log_write_refusal(struct agent *a, uint16_t *logged_http, enum log_id id,
                       const struct claim_id *claim, const struct api_result *r)
{
    if (*logged_http == r->http) {
        return;
    }
    *logged_http = r->http;
    log_begin(a, id);
    if (claim != NULL) {
        log_claim(a, claim);
    }
    log_number(a, "http", r->http);
    log_text(a, "reason", r->reason);
    log_text(a, "message", r->message);
    if (r->http == HTTP_UNAUTHORIZED) {
        log_remedy(a, API_TOKEN_REMEDY);
    }
    log_end(a);
}
