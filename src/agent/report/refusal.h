/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the log lines of requests that the API server refused or did not answer (refusal.c). A
 * lasting refusal is logged at most once per REFUSAL_LOG_PAUSE_MS. Owns the type struct refusal;
 * each sender of requests, such as the watch of slices, has its own.
 */
#ifndef AGENT_REPORT_REFUSAL_H
#define AGENT_REPORT_REFUSAL_H

#include "agent/api/client.h"
#include "agent/report/log_catalogue.h"
#include "dra/claim.h"

/* The refusal that was last logged for one sender of requests, such as the watch of slices. */
struct refusal {
    /* purpose of the refused request, static text; NULL: no refusal was logged */
    const char *doing;
    uint16_t http;
    bool passes; /* the failure was transient (retry_passes) */
    uint64_t logged_ms;
};

/*
 * Begins the log line of a request that failed with `status`. false: no line was begun, because the
 * same refusal was logged within REFUSAL_LOG_PAUSE_MS or the connection was ending. true: the
 * caller may add fields, and must end the line with log_api_refusal_end.
 */
bool log_api_refusal(struct agent *a, struct refusal *last, const char *doing,
                     const struct api_result *r, enum status status);
/* Adds a field to the line of log_api_refusal; an empty text is left out. */
void log_api_refusal_field(struct agent *a, const char *key, const char *text);
/*
 * Ends the line of log_api_refusal with `remedy` or, if that is NULL, with the remedy of the
 * catalogue. Two cases have their own remedy: after a transient failure the agent retries, and
 * after a 401 an operator must replace the token.
 */
void log_api_refusal_end(struct agent *a, const struct refusal *last, const char *remedy);
/*
 * Logs a write that the server refused, once for each HTTP status: *logged_http is the status that
 * was last logged, 0: none. `claim`: the claim to which the write belongs; NULL: none.
 */
void log_write_refusal(struct agent *a, uint16_t *logged_http, enum log_id id,
                       const struct claim_id *claim, const struct api_result *r);

#endif
