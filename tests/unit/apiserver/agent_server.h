/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the API server's model: what the test said becomes faults of each request, and
 * requests are kept as text, "GET path", one line each. Header only, because each test is one file.
 */
#ifndef TESTS_UNIT_AGENT_SERVER_H
#define TESTS_UNIT_AGENT_SERVER_H

#include "agent_events.h"

/* --- the log of requests --- */

static void api_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void api_note(const char *format, ...)
{
    va_list args;
    if (api.log_len > sizeof api.log / 2) {
        api.log_len = 0; /* what is old goes */
    }
    va_start(args, format);
    int n = vsnprintf(api.log + api.log_len, sizeof api.log - api.log_len, format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < sizeof api.log - api.log_len);
    api.log_len += (size_t)n;
}

/* How many requests begin like that, e.g. "PUT " or "GET /api/v1/nodes/". */
UNUSED_OK static unsigned api_asked(const char *start)
{
    unsigned n = 0;
    const char *line = api.log;
    while (*line != 0) {
        n += strncmp(line, start, strlen(start)) == 0 ? 1u : 0u;
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        line = end + 1;
    }
    return n;
}

/* Watches of slices. */
UNUSED_OK static unsigned api_watches_asked(void)
{
    return api_asked("GET " SLICES_PATH "?fieldSelector=spec.driver%3Dneuron.aws.com%2C"
                     "spec.nodeName%3D" NODE_NAME "&watch=true&");
}

UNUSED_OK static unsigned api_lists(void)
{
    return api_asked("GET " SLICES_PATH "?f") - api_watches_asked();
}

UNUSED_OK static unsigned api_writes(void)
{
    return api_asked("POST ") + api_asked("PUT ") + api_asked("DELETE ");
}

UNUSED_OK static void api_forget(void)
{
    api.log_len = 0;
    api.log[0] = 0;
}

/* --- what becomes of a request --- */

static void meet(const struct sim_api_event *e, enum sim_fault_kind kind, struct sim_fault fault)
{
    assert_true(fault.http < API_HTTP_MAX);
    api.said[fault.http] = true;
    fault.asked = e->asked;
    sim_api_fault(&server, kind, &fault);
}

/* A failure, `message` NULL: in the server's usual words. Status 0: none. */
static void refuse(const struct sim_api_event *e, unsigned http, const char *message)
{
    if (http != 0) {
        meet(e, SIM_FAULT_ANSWER,
             (struct sim_fault){.http = http,
                                .retry_after_s = api.retry_after,
                                .text = message,
                                .field = http == 422 ? api.cause_field : NULL,
                                .cause = api.cause_message});
    }
}

/* What a server says of a path that it does not know at all. */
static void disown(const struct sim_api_event *e)
{
    meet(e, SIM_FAULT_PAGE,
         (struct sim_fault){.http = 404,
                            .type = "text/plain; charset=utf-8",
                            .body = view_text("404 page not found\n")});
}

static void meet_event(const struct sim_api_event *e)
{
    bool denied = took.denied_ns != NULL && strcmp(took.denied_ns, e->target->ns) == 0;
    if (took.http == 999) {
        disown(e);
    } else {
        refuse(e, denied ? 403 : took.http, took.message);
    }
    if (took.mute) {
        meet(e, SIM_FAULT_UNANSWERED, (struct sim_fault){0});
    }
}

static void meet_claim(const struct sim_api_event *e)
{
    const struct api_claim *c = api_claim_store(e->target->ns, e->target->name);
    if (api.refuses > 0) {
        api.refuses--;
        meet(e, SIM_FAULT_REFUSED, (struct sim_fault){0});
    } else if (c != NULL && c->fault == API_HANGS) {
        meet(e, SIM_FAULT_POSTPONED, (struct sim_fault){0});
    } else if (c != NULL && c->fault == API_RESETS) {
        meet(e, SIM_FAULT_RESET, (struct sim_fault){0});
    } else if (c != NULL && c->fault == API_MISTAKES) {
        meet(e, SIM_FAULT_OTHER, (struct sim_fault){0});
    } else if (c != NULL && c->http == 999) {
        disown(e);
    } else if (c != NULL && c->http_page != NULL) {
        meet(e, SIM_FAULT_PAGE,
             (struct sim_fault){
                 .http = c->http, .type = "application/json", .body = view_text(c->http_page)});
    } else if (c != NULL) {
        refuse(e, c->http, c->http == 429 ? "too many requests" : c->http_message);
    }
}

/* The APIGroup as no honest server answers it, until the next call. */
static struct view group_lie(void)
{
    static uint8_t bytes[200000];
    static uint8_t enveloped[200100];
    uint8_t version_bytes[128];
    bool other = api.group == GROUP_OTHER;
    struct writer w = writer_of(bytes, sizeof bytes);
    struct writer out = writer_of(enveloped, sizeof enveloped);
    put_str(&w, 1, other ? "apps" : "resource.k8s.io");
    for (unsigned i = 0; i < ((api.group == GROUP_HUGE) ? 4000u : 0u); i++) {
        struct writer version = writer_of(version_bytes, sizeof version_bytes);
        put_str(&version, 1, "resource.k8s.io/v9beta9");
        put_str(&version, 2, "v9beta9");
        put_view(&w, 2, writer_view(&version));
    }
    for (unsigned i = 0; i < API_VERSIONS; i++) {
        char text[40];
        struct writer version = writer_of(version_bytes, sizeof version_bytes);
        (void)snprintf(text, sizeof text, "resource.k8s.io/%s", api_names[i]);
        put_str(&version, 1, other ? "apps/v1" : text);
        put_str(&version, 2, api_names[i]);
        if (api.group == GROUP_LIES || (api.served & SERVES(i)) != 0) {
            put_view(&w, 2, writer_view(&version));
        }
    }
    put_envelope(&out, "v1", "APIGroup", writer_view(&w));
    return view_first(writer_view(&out), out.len - (api.group == GROUP_TRUNCATED ? 1 : 0));
}

static void meet_group(const struct sim_api_event *e)
{
    static const char json[] = "{\"kind\":\"APIGroup\",\"versions\":[{\"groupVersion\":\"x\"}]}";
    switch (api.group) {
    case GROUP_TELLS:
        break;
    case GROUP_ABSENT:
        disown(e);
        break;
    case GROUP_REFUSES:
        refuse(e, 403, NULL);
        break;
    case GROUP_JSON:
        meet(e, SIM_FAULT_PAGE,
             (struct sim_fault){.type = "application/json", .body = view_text(json)});
        break;
    case GROUP_HANGS:
        meet(e, SIM_FAULT_POSTPONED, (struct sim_fault){0});
        break;
    case GROUP_LIES:
    case GROUP_OTHER:
    case GROUP_TRUNCATED:
    case GROUP_HUGE:
        meet(e, SIM_FAULT_PAGE, (struct sim_fault){.type = PROTOBUF, .body = group_lie()});
        break;
    }
}

/* The agent asks for one Node. */
static void meet_node(const struct sim_api_event *e)
{
    (void)api_node_store();
    if (e->watch) {
        assert_non_null(strstr(e->accept, "stream=watch"));
        assert_non_null(strstr(e->path, "fieldSelector=metadata.name%3D" NODE_NAME "&"));
    } else {
        assert_string_equal(e->path, NODES_PATH "/" NODE_NAME);
    }
    refuse(e, e->watch ? api.node_watch_http : api.node_http, NULL);
}

/* What the agent must say in a write, though the server would take it without. */
static void check_write(const struct sim_api_event *e)
{
    char text[80];
    struct view object = proto_get(view_from(e->body, 4), 2).bytes;
    struct view meta = proto_get(object, 1).bytes;
    struct view conditions = proto_get(object, 2).bytes;
    if (e->asked == SIM_ASK_CREATE) {
        char wanted_text[80];
        proto_text(proto_get(object, 2).bytes, 1, text, sizeof text);
        (void)snprintf(wanted_text, sizeof wanted_text, NODE_NAME "-%.60s-", text);
        proto_text(meta, 2, text, sizeof text);
        assert_string_equal(text, wanted_text);
    } else if (e->asked == SIM_ASK_UPDATE) {
        assert_true(proto_get(meta, 5).bytes.len > 0 && proto_get(meta, 6).bytes.len > 0);
    } else {
        assert_int_equal(proto_count(conditions, 1) + proto_count(conditions, 2), 2);
    }
}

static void meet_write(const struct sim_api_event *e)
{
    struct view spec = proto_get(proto_get(view_from(e->body, 4), 2).bytes, 2).bytes;
    check_write(e);
    if (e->asked == SIM_ASK_DELETE) {
        refuse(e, api.delete_http, NULL);
        return;
    }
    if (api.devices_max > 0 && proto_count(spec, 6) > api.devices_max) {
        refuse(e, api.devices_http, NULL);
        return;
    }
    refuse(e, api.write_http, NULL);
    if (api.write_lost) {
        meet(e, SIM_FAULT_LOST, (struct sim_fault){.http = 504});
    }
    if (api.answers_name != NULL) {
        meet(e, SIM_FAULT_OTHER, (struct sim_fault){.name = api.answers_name});
    }
}

/*
 * The claims of all namespaces, as far as the test wants them listed: most tests have claims that
 * nobody was given yet when the agent starts.
 */
static void meet_claims(const struct sim_api_event *e)
{
    static uint8_t bytes[65536];
    struct writer out = writer_of(bytes, sizeof bytes);
    bool given = api.claims_list.len > 0;
    put_envelope(&out, "resource.k8s.io/v1", "ResourceClaimList",
                 given ? api.claims_list : view_of("\x0a\0", 2));
    refuse(e, api.claims_http, api.claims_message);
    if (api.claims_reset) {
        meet(e, SIM_FAULT_RESET, (struct sim_fault){0});
    }
    if (api.claims_gone > 0 && strstr(e->path, "&continue=") != NULL) {
        api.claims_gone--;
        refuse(e, 410, NULL);
    }
    for (unsigned i = 0; i < API_CLAIMS && api.lists_claims; i++) {
        if (api.claim[i].uid[0] != 0) {
            (void)api_claim_store(api.claim[i].ns, api.claim[i].name);
        }
    }
    if ((given || !api.lists_claims) && api.claims_http == 0) {
        meet(e, SIM_FAULT_PAGE, (struct sim_fault){.type = PROTOBUF, .body = writer_view(&out)});
    }
}

static void meet_slices(const struct sim_api_event *e)
{
    assert_true(!e->watch || strstr(e->accept, "stream=watch") != NULL);
    refuse(e, e->watch ? api.watch_http : api.list_http, NULL);
}

static void meet_request(const struct sim_api_event *e)
{
    if ((e->asked & api.page_asked) != 0) {
        meet(e, SIM_FAULT_PAGE,
             (struct sim_fault){.http = api.page_http, .type = PROTOBUF, .body = api.page});
        return;
    }
    switch (e->asked) {
    case SIM_ASK_EVENT:
        meet_event(e);
        break;
    case SIM_ASK_STATUS:
        (void)api_claim_store(e->target->ns, e->target->name);
        if (took.status_http == 999) {
            disown(e);
        } else {
            refuse(e, took.status_http, took.message);
        }
        if (took.mute) {
            meet(e, SIM_FAULT_UNANSWERED, (struct sim_fault){0});
        }
        break;
    case SIM_ASK_CLAIM:
        meet_claim(e);
        break;
    case SIM_ASK_CLAIMS:
        meet_claims(e);
        break;
    case SIM_ASK_GROUP:
        meet_group(e);
        break;
    case SIM_ASK_NODE:
        meet_node(e);
        break;
    case SIM_ASK_LIST:
    case SIM_ASK_WATCH:
        meet_slices(e);
        break;
    case SIM_ASK_CREATE:
    case SIM_ASK_UPDATE:
    case SIM_ASK_DELETE:
        meet_write(e);
        break;
    default:
        break; /* a version that is not served: the model answers 404 */
    }
}

/* Whole requests; what meets them is set for each alone. */
static void api_seen(struct sim_api *a, unsigned connection, const struct sim_api_event *e)
{
    static const enum sim_fault_kind kinds[] = {
        SIM_FAULT_ANSWER,    SIM_FAULT_REFUSED,    SIM_FAULT_RESET, SIM_FAULT_PAGE,
        SIM_FAULT_POSTPONED, SIM_FAULT_UNANSWERED, SIM_FAULT_LOST,  SIM_FAULT_OTHER};
    if (e->cancelled) {
        api_note("(reset %s)\n", e->path);
        return;
    }
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        sim_api_fault_end(a, kinds[i]);
    }
    api_note("%s%s %s\n", e->asked == SIM_ASK_EVENT ? "event " : "", e->method, e->path);
    if (api.moves) {
        sim_api_goaway(a, connection, true);
    }
    if ((e->asked & (SIM_ASK_CLAIM | SIM_ASK_STATUS)) == 0) {
        assert_true(api.own < API_OWN_MAX);
        api.own_ms[api.own++] = a->now_ms;
    }
    if (!e->authorised) {
        sim_api_goaway(a, connection, false);
    } else if (api.hangs) {
        meet(e, SIM_FAULT_POSTPONED, (struct sim_fault){0});
    } else {
        meet_request(e);
    }
}

/* Requests that were served: what the agent says must be what a server takes. */
static void api_take(const struct sim_api_event *e)
{
    bool strange =
        e->http == 400 || e->http == 405 || e->http == 406 || e->http == 415 || e->http == 422;
    if (strange && !api.said[e->http]) {
        fail_msg("%s %s was answered by %u", e->method, e->path, e->http);
    }
    if (e->asked == SIM_ASK_EVENT && e->authorised) {
        took_event(e);
    } else if (e->asked == SIM_ASK_STATUS && e->authorised) {
        took_status(e);
    } else if (e->asked == SIM_ASK_DELETE && e->http == 409) {
        api_note("(precondition failed)\n");
    }
}

/* --- life --- */

static void standing(enum sim_fault_kind kind, bool on, unsigned asked)
{
    const struct sim_fault fault = {.asked = on ? asked : 0};
    sim_api_fault(&server, kind, &fault);
}

/* What the test says of the server at all times. */
static void api_say(void)
{
    assert_memory_equal(api.authorization, "Bearer ", 7);
    server.config.token = api.authorization + 7;
    for (unsigned i = 0; i < API_VERSIONS; i++) {
        server.config.serves[i] = (api.served & SERVES(i)) != 0;
    }
    standing(SIM_FAULT_UNTOLD, api.node_silent, SIM_ASK_NODE);
    standing(SIM_FAULT_UNSELECTED, api.any_selector, SIM_ASK_LIST | SIM_ASK_WATCH);
    const char *key = api.drops_counters ? SIM_COUNTERS : NULL;
    key = api.drops_taints ? SIM_TAINTS : key;
    key = api.drops_shares ? SIM_SHARES : key;
    key = api.drops_resources ? SIM_RESOURCES : key;
    bool drops = api.drops_devices || key != NULL;
    const struct sim_fault dropped = {.asked = drops ? SIM_ASK_CREATE | SIM_ASK_UPDATE : 0,
                                      .key = key};
    sim_api_fault(&server, SIM_FAULT_DROPPED, &dropped);
    standing(SIM_FAULT_UNVERSIONED, api.no_version, SIM_ASK_LIST);
    standing(SIM_FAULT_PAGED, api.pages, SIM_ASK_LIST);
}

UNUSED_OK static void api_reset(uint64_t now_ms)
{
    const struct sim_api_config config = {
        .token = "secret", .timeless = true, .seed = 1, .seen = api_seen};
    memset(&api, 0, sizeof api);
    memset(&took, 0, sizeof took);
    api.reachable = true;
    api.authorization = "Bearer secret";
    api.served = SERVES(API_V1);
    api.streams_max = SIM_STREAMS_MAX;
    api.node_uid = NODE_UID;
    sim_api_init(&server, &config, now_ms);
    (void)api_node_store();
}

static void model_step(uint64_t now_ms)
{
    sim_api_step(&server, now_ms, 1700000000 + now_ms / 1000);
}

static void api_connect(uint64_t now_ms)
{
    if (server.connection[api.link].open) {
        sim_api_drop(&server, api.link);
    }
    model_step(now_ms);
    server.config.streams = api.streams_max > 0 ? api.streams_max : 1;
    server.config.window = api.window;
    int link = sim_api_open(&server);
    assert_true(link >= 0);
    api.link = (unsigned)link;
    api.connected = true;
    api.connections++;
    if (api.streams_max == 0) {
        memset(&server.connection[link].tx[9 + 2 * 6 + 2], 0, 4); /* value of the third setting */
    }
}

/* Takes all requests, sends what there is room for. */
static void api_pump(uint64_t now_ms)
{
    struct sim_api_event e;
    if (!api.connected) {
        return;
    }
    api_say();
    model_step(now_ms);
    while (sim_api_next(&server, &e) == STATUS_OK) {
        api_take(&e);
    }
}

/* Requests that hung are answered now. */
UNUSED_OK static void api_release(void)
{
    api.hangs = false;
    for (unsigned i = 0; i < API_CLAIMS; i++) {
        api.claim[i].fault = API_ANSWERS;
    }
    sim_api_resume(&server);
}

#endif
