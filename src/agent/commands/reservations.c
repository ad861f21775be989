/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the reserved claims, see reservations.h. Each page is read as a stream, and only one claim
 * is kept at a time, so that memory use does not depend on the number of pages and consumers. If
 * any part is unreadable, the whole list fails, because a wrong "none" could make an operator
 * remove the driver.
 *
 * handle_event passes the events of api_next to this file and to version.c. In a process that
 * serves the kubelet, agent.c passes the events instead.
 */
#include "agent/commands/reservations.h"

#include "agent/api/retry.h"
#include "agent/api/version.h"
#include "agent/frame.h"
#include "base/assert.h"
#include "base/time.h"
#include "cfg/identity.h"
#include "generated/projection.pb.h"
#include "wire/decode.h"

void reservations_init(struct agent *a, const struct reservations *k)
{
    ASSERT(!k->running && k->found == 0u);
    /* a user waits for the output, so connect to the API server without waiting API_START_MS */
    api_hurry(a);
}

/* --- requests for pages of the list of claims --- */

static bool may_ask(const struct agent *a, const struct reservations *k)
{
    return !k->running && api_ready(a) && version_ready(a);
}

static void request_page(struct agent *a, struct reservations *k)
{
    char path[KUBE_PATH_CAP];
    struct writer out = writer_of(path, sizeof path);
    const char *token = (k->token[0] != '\0') ? k->token : NULL;
    if (!may_ask(a, k) || a->now_ms < k->due_ms) {
        return;
    }
    if (kube_path_claims(&out, version_name(a), token) != STATUS_OK) {
        text_set(k->why, sizeof k->why, "the token of the next page is not valid");
        k->state = RESERVATIONS_FAILED;
        return;
    }
    const struct api_request r = {.kind = API_LIST_CLAIMS,
                                  .shape = KUBE_SHAPE_CLAIM_LIST,
                                  .version = version_now(a),
                                  .head = {.method = "GET", .path = writer_view(&out)}};
    if (api_start(a, API_SLOT_CLAIM_FIRST, &r) != STATUS_OK) {
        k->due_ms = api_later(a);
        return;
    }
    k->running = true;
    k->described = false;
    k->broken = false;
}

/* --- parsing one claim of the list --- */

static void begin_claim(struct reservations *k, struct view message)
{
    projection_MetaRecord m = projection_MetaRecord_init_zero;
    struct claim_reservation *c = &k->claim;
    k->broken = k->broken || !decode(message, projection_MetaRecord_fields, &m);
    *c = (struct claim_reservation){.consumers = 0};
    k->ours = false;
    text_cut(c->id.uid, sizeof c->id.uid, view_text(m.uid));
    text_cut(c->id.namespace_, sizeof c->id.namespace_, view_text(m.namespace));
    text_cut(c->id.name, sizeof c->id.name, view_text(m.name));
}

static bool is_ours(const struct settings *s, struct view driver)
{
    return view_is(driver, DRIVER_NAME) || (s->efa && view_is(driver, s->efa_driver));
}

/* Stores the pool of the first device of this driver that the claim has. */
static void parse_result(const struct settings *s, struct reservations *k, struct view message)
{
    projection_ResultRecord m = projection_ResultRecord_init_zero;
    if (!decode(message, projection_ResultRecord_fields, &m)) {
        k->broken = true;
    } else if (is_ours(s, view_text(m.driver)) && !k->ours) {
        k->ours = true;
        text_cut(k->claim.pool, sizeof k->claim.pool, view_text(m.pool));
    }
}

static void parse_consumer(struct reservations *k, struct view message)
{
    projection_ConsumerRecord m = projection_ConsumerRecord_init_zero;
    struct claim_reservation *c = &k->claim;
    k->broken = k->broken || !decode(message, projection_ConsumerRecord_fields, &m);
    if (c->consumers == 0u) {
        text_cut(c->resource, sizeof c->resource, view_text(m.resource));
        text_cut(c->consumer, sizeof c->consumer, view_text(m.name));
    }
    c->consumers++;
}

static void parse_page(struct reservations *k, struct view message)
{
    projection_ListMetaRecord m = projection_ListMetaRecord_init_zero;
    k->broken = k->broken || !decode(message, projection_ListMetaRecord_fields, &m);
    k->described = true;
    text_set(k->token, sizeof k->token, m.continue_token);
}

static void handle_record(const struct settings *s, struct reservations *k,
                          const struct kube_record *r)
{
    /* Accept a truncated configuration, because the command does not show it. */
    k->broken = k->broken || (r->truncated && r->record != KUBE_CONFIG);
    switch (r->record) {
    case KUBE_LIST_META:
        parse_page(k, r->message);
        break;
    case KUBE_META:
        begin_claim(k, r->message);
        break;
    case KUBE_RESULT:
        parse_result(s, k, r->message);
        break;
    case KUBE_CONSUMER:
        parse_consumer(k, r->message);
        break;
    case KUBE_OBJECT_END:
        if (k->ours && k->claim.consumers > 0u) {
            k->found++;
            k->state = RESERVATIONS_CLAIM;
        }
        k->ours = false;
        break;
    default:
        break; /* records of other kinds are not needed to show the claim */
    }
}

/* --- the end of the response for a page --- */

/*
 * Why a list broke off. While a connection ends, its requests end first, so it still counts as
 * ready; api_trouble has its reason only after that.
 */
static const char *broken_by(const struct agent *a)
{
    const char *ended = api_ready(a) ? "the connection to the API server ended" : api_trouble(a);
    return api_connection_ends(a) ? ended : "the server reset the request";
}

static void write_failure(const struct agent *a, struct reservations *k, const struct api_result *r)
{
    struct writer w = writer_of(k->why, sizeof k->why - 1u);
    k->http = r->http;
    if (r->status == PEER_REFUSED || r->status == PEER_UNSUPPORTED) {
        retry_refusal_write(r, &w);
    } else if (r->status == PEER_TIMEOUT) {
        writer_text(&w, "no response in time");
    } else if (r->status == PEER_CLOSED) {
        writer_text(&w, "the list broke off: ");
        writer_cut(&w, view_text(broken_by(a)));
    } else {
        writer_text(&w, "the response is not a readable ResourceClaimList");
    }
    k->why[w.len] = '\0';
}

/*
 * Whether a failed request for a page must not be repeated, because the response would be the same,
 * or because claims that were already reported would be reported again.
 */
static bool is_final(const struct reservations *k, const struct api_result *r)
{
    return k->found > 0u || r->http == HTTP_FORBIDDEN || r->status == STATUS_OK ||
           r->status == PEER_MALFORMED;
}

static void page_end(struct agent *a, struct reservations *k, const struct api_result *r)
{
    k->running = false;
    if (r->status == STATUS_OK && k->described && !k->broken) {
        k->state = (k->token[0] == '\0') ? RESERVATIONS_END : RESERVATIONS_WAIT;
        return;
    }
    write_failure(a, k, r);
    if (is_final(k, r)) {
        k->state = RESERVATIONS_FAILED;
        return;
    }
    k->token[0] = '\0';
    k->due_ms = a->now_ms + ((r->status == PEER_UNSUPPORTED) ? OUTGOING_GAP_MS
                                                             : retry_wait(a, r, &k->backoff_ms));
}

/* --- the step function of the command `reservations` --- */

/*
 * Handles the end of the connection to the API server. The list waits for the next connection. If
 * the server refused the token, the list fails instead, because a command gets no other token while
 * it runs.
 */
static void connection_lost(struct reservations *k, const char *why)
{
    if (text_is(why, API_TOKEN_REFUSED)) {
        text_cut(k->why, sizeof k->why, view_text(API_TOKEN_REFUSED ": " API_TOKEN_REMEDY));
        k->http = HTTP_UNAUTHORIZED;
        k->state = RESERVATIONS_FAILED;
    }
}

static void handle_event(struct agent *a, struct reservations *k, const struct api_event *event)
{
    bool list = event->result != NULL && event->result->kind == API_LIST_CLAIMS;
    if (event->kind == API_EVENT_OPENED) {
        version_connected(a);
    } else if (event->kind == API_EVENT_RECORD && list) {
        handle_record(a->settings, k, &event->record);
    } else if (event->kind == API_EVENT_RECORD) {
        version_record(a, event->result, &event->record);
    } else if (event->kind == API_EVENT_END && list) {
        page_end(a, k, event->result);
        version_heard(a, event->result);
    } else if (event->kind == API_EVENT_END) {
        version_end(a, event->result);
    } else if (event->kind == API_EVENT_LOST) {
        connection_lost(k, event->text);
    } else {
        /* events of other kinds need no work */
    }
}

enum reservations_state reservations_step(struct agent *a, struct reservations *k)
{
    struct api_event event;
    ASSERT(k->state == RESERVATIONS_WAIT || k->state == RESERVATIONS_CLAIM);
    k->state = RESERVATIONS_WAIT;
    for (unsigned i = 0;
         i < LINK_EVENTS_PER_STEP && k->state == RESERVATIONS_WAIT && api_next(a, &event); i++) {
        handle_event(a, k, &event);
    }
    if (k->state == RESERVATIONS_WAIT) {
        api_step(a);
        version_step(a);
        request_page(a, k);
    }
    return k->state;
}

uint64_t reservations_deadline(const struct agent *a, const struct reservations *k)
{
    uint64_t at = earlier(api_deadline(a), version_deadline(a));
    return may_ask(a, k) ? earlier(at, later(k->due_ms, a->now_ms)) : at;
}

/*
 * Whether the list cannot be requested yet, because there is no connection to the API server or no
 * API version is known.
 */
static bool is_waiting(const struct agent *a, const struct reservations *k)
{
    return k->state != RESERVATIONS_FAILED && !(api_ready(a) && version_ready(a));
}

const char *reservations_trouble(const struct agent *a, const struct reservations *k)
{
    if (is_waiting(a, k)) {
        return version_waits_for(a);
    }
    return (k->why[0] != '\0') ? k->why : "the list is too long for the time";
}

const char *reservations_remedy(const struct agent *a, const struct reservations *k)
{
    bool waits = is_waiting(a, k);
    if (!waits && k->http == HTTP_UNAUTHORIZED) {
        return "";
    }
    return (!waits && k->http == HTTP_FORBIDDEN)
               ? "; see that the account may list resourceclaims"
               : "; see that the API server runs and can be reached, and try again";
}
