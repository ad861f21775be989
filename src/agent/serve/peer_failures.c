/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes log lines about peers that broke the protocol; limits the number of these lines on the TCP
 * ports.
 */
#include "agent/serve/peer_failures.h"

#include "agent/frame.h"
#include "agent/report/log.h"
#include "agent/serve/room.h"

/*
 * Index of the first link of the TCP ports (health and metrics); links with a lower index are unix
 * sockets.
 */
#define FIRST_TCP_LINK (REGISTRATION_LINKS + SERVICE_LINKS)

/*
 * Counts the failure of a peer on a TCP port. true: the caller must log it; false: too many
 * failures were logged in this window, and this one counts as suppressed.
 */
static bool may_log_line(struct agent *a)
{
    struct peer_failures *f = &a->serve->peer_failures;
    bool room = f->logged < CONNECTION_LINES_MAX;
    if (f->logged == 0u) {
        f->window_ms = a->now_ms + CONNECTION_LINES_MS;
    }
    f->logged += room ? 1u : 0u;
    f->suppressed += room ? 0u : 1u;
    return room;
}

void peer_failed(struct agent *a, unsigned link, enum status why, const char *response,
                 uint32_t code)
{
    if (link >= FIRST_TCP_LINK && !may_log_line(a)) {
        log_count(a, LOG_ID_CONNECTION_FAILED, 1);
        return;
    }
    log_begin(a, LOG_ID_CONNECTION_FAILED);
    log_number(a, "link", (int64_t)link);
    log_text(a, "status", status_name(why));
    if (response != NULL) {
        log_text(a, "response", response);
        log_remedy(a, "see who connects: ss -tnp on the node; the port serves GET and HEAD of "
                      "HTTP/1.1");
    } else {
        log_number(a, "h2_code", (int64_t)code);
    }
    log_end(a);
}

void peer_failures_step(struct agent *a)
{
    struct peer_failures *f = &a->serve->peer_failures;
    if (f->logged == 0u || a->now_ms < f->window_ms) {
        return;
    }
    if (f->suppressed > 0u) {
        log_begin(a, LOG_ID_CONNECTION_FAILURES_SUPPRESSED);
        log_number(a, "suppressed", (int64_t)f->suppressed);
        log_end(a);
    }
    *f = (struct peer_failures){0};
}

uint64_t peer_failures_deadline(const struct agent *a)
{
    return (a->serve->peer_failures.logged > 0u) ? a->serve->peer_failures.window_ms : UINT64_MAX;
}
