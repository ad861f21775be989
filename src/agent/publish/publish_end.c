/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ends of the publisher's requests: what a verdict means for the round, when the next one
 * follows, and what is said. Sends nothing.
 */
#include "agent/api/retry.h"
#include "agent/publish/publish_internal.h"
#include "base/assert.h"

/* --- failures --- */

/* The server takes no slice of this size, or of these devices. */
static uint64_t wait_of_invalid(struct agent *a, const struct api_result *r)
{
    struct publish *p = &a->publish;
    bool large = r->http == HTTP_CONTENT_TOO_LARGE || p->too_many;
    p->not_before_ms = 0;
    if (large && publish_cut_smaller(a)) {
        return API_BACKOFF_MIN_MS;
    }
    p->trouble = "the API server refuses the slices as invalid; see its causes in the log";
    uint64_t wait = agent_backoff_within(a, &p->invalid_ms, INVALID_RETRY_MS, INVALID_RETRY_MAX_MS);
    p->not_before_ms = a->now_ms + wait;
    return wait;
}

static uint64_t wait_after(struct agent *a, const struct api_result *r)
{
    struct publish *p = &a->publish;
    uint16_t http = r->http;
    bool writes = p->step == PUBLISH_WRITE;
    if (writes && (http == HTTP_UNPROCESSABLE_CONTENT || http == HTTP_CONTENT_TOO_LARGE)) {
        return wait_of_invalid(a, r);
    }
    p->trouble = (http == HTTP_FORBIDDEN)
                     ? "the API server forbids requests for ResourceSlices: check RBAC and policies"
                     : "a request for ResourceSlices failed and is tried again";
    return retry_wait(a, r, &p->backoff_ms);
}

/* The round is given up; `firm`: hints and new connections do not bring the next one forward. */
static void round_later(struct publish *p, uint64_t due_ms, bool firm)
{
    p->step = PUBLISH_IDLE;
    p->running = false;
    p->again = false;
    p->due_ms = due_ms;
    if (firm && p->not_before_ms < due_ms) {
        p->not_before_ms = due_ms;
    }
}

/* Ends the line of a failure; what passes by itself is for the log alone. */
static void say_retry(struct agent *a, uint64_t wait_ms)
{
    log_number(a, "retry_ms", (int64_t)wait_ms);
    if (wait_ms < API_REFUSED_MS) {
        log_no_k8s_event(a);
    }
    log_api_refusal_end(a, &a->publish.refusal, NULL);
}

static void round_failed(struct agent *a, const struct api_result *r, enum status status)
{
    struct publish *p = &a->publish;
    static const char *const doing[PUBLISH_STEPS] = {
        [PUBLISH_IDLE] = "idle",         [PUBLISH_NODE] = "read Node",
        [PUBLISH_LIST] = "list slices",  [PUBLISH_DELETE] = "delete slice",
        [PUBLISH_WRITE] = "write slice",
    };
    uint64_t wait = wait_after(a, r);
    if (log_api_refusal(a, &p->refusal, doing[p->step], r, status)) {
        log_api_refusal_field(a, "field", p->field);
        log_api_refusal_field(a, "cause", p->cause);
        say_retry(a, wait);
    }
    round_later(p, a->now_ms + wait, status != PEER_CLOSED);
}

/* Somebody else wrote or deleted the slice since it was listed: everyday life. */
static void overtaken(struct agent *a)
{
    struct publish *p = &a->publish;
    uint64_t wait = agent_backoff(a, &p->backoff_ms);
    log_begin(a, LOG_ID_SLICE_WRITE_CONFLICTED);
    log_number(a, "retry_ms", (int64_t)wait);
    log_end(a);
    round_later(p, a->now_ms + wait, true);
}

/* --- writes --- */

/*
 * Somebody else who writes the same slice, or a server that keeps less than it is sent, must not
 * draw this agent into writing without pause: a few repairs are free, then each waits longer.
 */
static void pace_writes(struct agent *a)
{
    struct publish *p = &a->publish;
    bool close = p->write_ms > 0u && a->now_ms - p->write_ms < SLICE_REPAIRS_MS;
    p->writes = close ? p->writes + 1u : 0u;
    p->fight_ms = close ? p->fight_ms : 0u;
    p->write_ms = a->now_ms;
    if (!p->current && p->overflow == 0u) { /* more of them: the next round goes on at once */
        p->not_before_ms = a->now_ms + API_REFUSED_MS;
    } else if (p->writes > SLICE_REPAIRS_FREE) {
        p->not_before_ms = a->now_ms + agent_backoff(a, &p->fight_ms);
    }
}

/* Whether the answer carries the object that was written. */
static bool answered_ours(const struct slice_seen *kept, const struct slice_seen *now)
{
    bool update = kept->name[0] != '\0';
    bool same =
        view_is(view_text(now->name), kept->name) && view_is(view_text(now->uid), kept->uid);
    return now->ours && now->name[0] != '\0' && now->uid[0] != '\0' && (same || !update);
}

static void write_end(struct agent *a, const struct api_result *r)
{
    struct publish *p = &a->publish;
    int at = publish_unwritten(p);
    ASSERT(at >= 0);
    struct slice_part *part = &p->part[at];
    if (!answered_ours(&part->kept, &p->now)) {
        log_one(a, LOG_ID_API_RESPONSE_UNEXPECTED, "doing", "write slice");
        p->trouble = "the API server answered with another object than was written";
        round_later(p, a->now_ms + retry_wait(a, r, &p->backoff_ms), true);
        return;
    }
    bool update = part->kept.name[0] != '\0';
    part->write = false;
    part->kept = p->now;
    part->lossy = !publish_exact(p, part, &p->now);
    part->stored_sum = p->now.sum;
    p->generation_max =
        (p->now.generation > p->generation_max) ? p->now.generation : p->generation_max;
    log_begin(a, part->lossy ? LOG_ID_SLICE_FIELDS_DROPPED : LOG_ID_SLICE_PUBLISHED);
    log_text(a, "slice", part->kept.name);
    log_text(a, "how", update ? "updated" : "created");
    log_number(a, "devices", part->count);
    log_number(a, "generation", part->kept.generation);
    log_end(a);
    if (publish_unwritten(p) < 0) {
        p->said = true;
        publish_round_over(a);
        pace_writes(a);
    }
}

static void delete_end(struct publish *p)
{
    int at = publish_doomed(p);
    ASSERT(at >= 0);
    p->seen[at].doomed = false;
}

/* --- the watch --- */

void publish_watch_end(struct agent *a, const struct api_result *r)
{
    struct publish *p = &a->publish;
    uint16_t http = r->http;
    enum status status = r->status;
    uint64_t wait = retry_watch_wait(a, r, &p->watch_backoff_ms);
    p->watch_due_ms = a->now_ms + wait;
    if (status == FULL_TABLE) {
        /* No room for it: rounds list instead, and the end of each tries again. */
        p->due_ms = (p->watch_due_ms < p->due_ms) ? p->watch_due_ms : p->due_ms;
        p->watch_due_ms = UINT64_MAX;
    } else if (http > HTTP_OK_LAST && http != HTTP_GONE) {
        /* The rounds of the interval go on without a watch. */
        if (log_api_refusal(a, &p->refusal, "watch slices", r, status)) {
            say_retry(a, wait);
        }
    } else if (http == HTTP_GONE || !retry_watch_goes_on(r)) {
        /* Too old a version, no answer or one that cannot be trusted: list first, then watch. */
        if (status == PEER_MALFORMED &&
            log_api_refusal(a, &p->refusal, "watch slices", r, status)) {
            say_retry(a, wait);
        }
        publish_hint(a, wait);
        p->watch_due_ms = UINT64_MAX;
    }
}

/* --- every end --- */

/* What is stored is known. Without a version there is nothing to watch from: rounds list. */
static void list_end(struct agent *a, const struct api_result *r)
{
    struct publish *p = &a->publish;
    if (p->resource_version[0] == '\0' &&
        log_api_refusal(a, &p->refusal, "watch slices", r, PEER_MALFORMED)) {
        log_text(a, "cause", "the list has no resourceVersion");
        log_api_refusal_end(a, &p->refusal,
                            "see what answers for the API server; slices are listed "
                            "at the interval instead");
    }
    publish_plan(a);
}

static void step_over(struct agent *a, const struct api_result *r)
{
    struct publish *p = &a->publish;
    switch (p->step) {
    case PUBLISH_LIST:
        list_end(a, r);
        break;
    case PUBLISH_DELETE:
        delete_end(p);
        break;
    case PUBLISH_WRITE:
        write_end(a, r);
        break;
    case PUBLISH_NODE:
    case PUBLISH_IDLE:
        break;
    }
}

/* No page was asked for: what is on the others would be taken for not stored. */
static enum status whole(struct publish *p, enum status status)
{
    if (p->step != PUBLISH_LIST || status != STATUS_OK || !p->partial) {
        return status;
    }
    text_cut(p->cause, sizeof p->cause, view_text("a page of a list"));
    return PEER_MALFORMED;
}

void publish_end(struct agent *a, const struct api_result *r)
{
    struct publish *p = &a->publish;
    uint16_t http = r->http;
    enum status verdict = whole(p, r->status);
    p->running = false;
    if (p->step == PUBLISH_LIST && verdict == PEER_UNSUPPORTED) {
        return; /* listed again in the version that is chosen next */
    }
    bool gone = verdict == PEER_NOT_FOUND && p->step == PUBLISH_DELETE;
    if (verdict == STATUS_OK || gone) {
        step_over(a, r);
    } else if (p->step > PUBLISH_LIST && (verdict == PEER_NOT_FOUND || http == HTTP_CONFLICT)) {
        overtaken(a);
    } else {
        round_failed(a, r, verdict);
    }
}
