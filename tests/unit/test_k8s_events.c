/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes Events of the whole agent on a virtual clock: which there are and what they hold, how
 * equal ones are counted, how many requests they cost, and what becomes of them when the API server
 * refuses or is away.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#define SECOND UINT64_C(1000)
#define MINUTE (60 * SECOND)

static void begin(void)
{
    world_new();
    node_up();
    api_forget();
}

/* Prepares claims of which the API server knows nothing: each one is refused. */
static void refuse_claims(unsigned first, unsigned count)
{
    struct peer *p = service_open();
    (void)call_now(p, PREPARE, claims_request(first, count));
    peer_close(p);
}

static void refuse_registration(const char *why)
{
    uint8_t bytes[300];
    struct writer w = writer_of(bytes, sizeof bytes);
    struct peer *p = peer_open(LINK_REGISTRATION, 65535);
    put_str(&w, 2, why);
    (void)call_now(p, "/pluginregistration.Registration/NotifyRegistrationStatus", writer_view(&w));
    peer_close(p);
}

/* --- what becomes an Event --- */

static void test_healthy_node_has_none(void **state)
{
    (void)state;
    begin();
    for (unsigned n = 0; n < 4; n++) {
        (void)claim_add(n);
    }
    struct peer *p = service_open();
    (void)call_now(p, PREPARE, claims_request(0, 4));
    (void)call_now(p, PREPARE, claims_request(0, 4));
    (void)call_now(p, UNPREPARE, claims_request(0, 2));
    pass(5 * MINUTE);
    restart();
    register_driver();
    pass(5 * MINUTE);
    assert_int_equal(took.asked, 0);
}

static void test_claim(void **state)
{
    (void)state;
    begin();
    refuse_claims(7, 1);
    const struct stored_event *e = event_only("ClaimFailed");
    assert_string_equal(e->type, "Warning");
    assert_string_equal(e->action, "Prepare");
    assert_string_equal(e->kind, "ResourceClaim");
    assert_string_equal(e->api_version, "resource.k8s.io/v1");
    assert_string_equal(e->ns, "ml");
    assert_string_equal(e->about_ns, "ml");
    assert_string_equal(e->about_name, "claim-7");
    assert_string_equal(e->about_uid, "c1a10000-0000-4000-8000-000000000007");
    assert_string_equal(e->instance, NODE_NAME);
    assert_string_equal(e->note,
                        "namespace=ml claim=claim-7 claim_uid=c1a10000-0000-4000-8000-000000000007 "
                        "error=\"claim ml/claim-7 not found on the API server\"");
    assert_int_equal(e->seconds, WALL_MS(world.now_ms) / 1000);
    assert_int_equal(e->nanos, WALL_MS(world.now_ms) % 1000 * 1000000);
    assert_int_equal(strncmp(e->name, "claim-7.", 8), 0);
    assert_int_equal(strlen(e->name), 8 + 16);
    assert_int_equal(e->count, 0);
    assert_int_equal(events_stored(), 1);
}

static void test_node(void **state)
{
    (void)state;
    begin();
    refuse_registration("endpoint already registered");
    const struct stored_event *e = event_only("RegistrationRefused");
    assert_string_equal(e->kind, "Node");
    assert_string_equal(e->api_version, "v1");
    assert_string_equal(e->ns, "default");
    assert_string_equal(e->about_ns, "");
    assert_string_equal(e->about_name, NODE_NAME);
    assert_string_equal(e->about_uid, NODE_UID);
    assert_int_equal(strncmp(e->name, NODE_NAME ".", sizeof NODE_NAME), 0);
    assert_non_null(strstr(e->note, "reason=\"endpoint already registered\" remedy="));
}

static void plugin_is(const char *name)
{
    agent_device_plugin(world.agent, name);
    world.poked = true;
    settle();
}

/* Told once, however often it is looked for, and whichever of its sockets is found. */
static void test_device_plugin(void **state)
{
    (void)state;
    begin();
    plugin_is("");
    assert_int_equal(took.asked, 0);
    for (unsigned i = 0; i < 10; i++) {
        plugin_is((i < 5) ? "neuron.sock" : "neuroncore.sock");
        pass(5 * SECOND);
    }
    const struct stored_event *e = event_only("NeuronDevicePluginFound");
    assert_string_equal(e->type, "Warning");
    assert_string_equal(e->action, "Discover");
    assert_string_equal(e->kind, "Node");
    assert_string_equal(e->about_name, NODE_NAME);
    assert_string_equal(e->note,
                        "directory=/var/lib/kubelet/device-plugins socket=neuron.sock "
                        "remedy=\"run only one of the two on this node: exclude the node from the "
                        "DaemonSet of the other by a nodeSelector\"");
    assert_int_equal(e->count, 0);
    assert_int_equal(said("event=device_plugin_found directory=/var/lib/kubelet/device-plugins "
                          "socket=neuron.sock remedy="),
                     1);
    assert_int_equal(said("event=device_plugin_"), 1);
    for (unsigned i = 0; i < 10; i++) {
        plugin_is("");
        pass(5 * SECOND);
    }
    e = event_only("NeuronDevicePluginGone");
    assert_string_equal(e->type, "Normal");
    assert_string_equal(e->note, "directory=/var/lib/kubelet/device-plugins");
    assert_int_equal(said("event=device_plugin_gone directory=/var/lib/kubelet/device-plugins\n"),
                     1);
    assert_int_equal(events_stored(), 2);
    /* an agent that starts beside one says it too */
    plugin_is("neuron.sock");
    log_forget();
    kill_agent();
    start();
    plugin_is("neuron.sock");
    assert_int_equal(said("event=device_plugin_found"), 1);
}

/* A plugin that starts and ends at every look costs as many requests as any Event that repeats. */
static void test_device_plugin_flaps(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < 720; i++) {
        plugin_is(((i & 1u) == 0u) ? "neuron\n\xff.sock" : "");
        pass(5 * SECOND);
    }
    assert_int_equal(events_stored(), 2);
    assert_true(took.asked <= 120);
    assert_int_equal(world.agent->report->count[LOG_ID_DEVICE_PLUGIN_FOUND], 360);
}

/* What the agent finds before it knows the Node waits for its UID. */
static void test_node_uid_is_waited_for(void **state)
{
    (void)state;
    world_new();
    world.found.devices[3].node_exists = false;
    node_up();
    for (unsigned i = 0; i < 2; i++) {
        assert_string_equal(took.event[i].reason, "NeuronDeviceIssue");
        assert_string_equal(took.event[i].about_uid, NODE_UID);
    }
    assert_non_null(strstr(took.event[0].note, "issue=no-device-node device=3 value="));
    assert_int_equal(events_stored(), 2);
}

/* A Node that cannot be read: its name stands in the place of the UID, as in the kubelet's own. */
static void test_node_without_uid(void **state)
{
    (void)state;
    world_new();
    api.node_http = 403;
    api.node_watch_http = 403;
    node_up();
    pass(API_ROLES_MS); /* until then the role may be new */
    assert_int_equal(took.asked, 0);
    pass(MINUTE + K8S_EVENT_UID_MS);
    assert_true(took.posts > 0);
    for (unsigned i = 0; i < took.posts; i++) {
        const struct stored_event *e = &took.event[i];
        assert_string_equal(e->reason, "APIRequestFailed");
        assert_string_equal(e->about_uid, NODE_NAME);
        assert_non_null(strstr(e->note, " Node\" status="));
        assert_non_null(strstr(e->note, "http=403"));
        assert_null(strstr(e->note, "retry_ms"));
    }
}

static void test_what_passes_by_itself(void **state)
{
    (void)state;
    world_new();
    api.list_http = 500;
    start();
    register_driver();
    pass(10 * SECOND);
    assert_true(api_asked("GET /apis/resource.k8s.io/v1/resourceslices?") > 2);
    api.list_http = 0;
    pass(10 * MINUTE);
    assert_int_equal(took.asked, 0);
}

/* The first retry comes soon, but an operator sees at once what the server calls invalid. */
static void test_invalid_content(void **state)
{
    (void)state;
    world_new();
    api.write_http = 422;
    start();
    register_driver();
    pass(5 * SECOND);
    const struct stored_event *e = event_only("APIRequestFailed");
    assert_string_equal(e->kind, "Node");
    assert_non_null(strstr(e->note, "http=422"));
}

/* The log may be as terse as it likes. */
static void test_log_settings(void **state)
{
    static const char *const args[] = {"--log-level", "error", "--log-format", "json"};
    (void)state;
    world_new();
    settings_set(args, 4);
    node_up();
    log_forget();
    refuse_claims(1, 1);
    assert_int_equal(world.log_len, 0);
    assert_non_null(strstr(event_only("ClaimFailed")->note, "claim=claim-1 claim_uid="));
}

static void test_log_format(void **state)
{
    static const char *const args[] = {"--log-format", "json"};
    (void)state;
    world_new();
    settings_set(args, 2);
    node_up();
    assert_memory_equal(world.log, "{\"", 2);
    assert_non_null(strstr(world.log, "\"event\":\"slice_published\""));
}

/* --- names and notes --- */

static void test_long_names(void **state)
{
    uint8_t bytes[512];
    uint8_t outer_bytes[600];
    char name[NAME_CAP];
    struct writer claim = writer_of(bytes, sizeof bytes);
    struct writer request = writer_of(outer_bytes, sizeof outer_bytes);
    (void)state;
    begin();
    memset(name, 'c', sizeof name - 1);
    name[235] = '.';
    name[234] = '-'; /* no name of Kubernetes has these two side by side; none ends in either */
    name[sizeof name - 1] = 0;
    put_str(&claim, 1, "ml");
    put_str(&claim, 2, "c1a10000-0000-4000-8000-000000000001");
    put_str(&claim, 3, name);
    put_view(&request, 1, writer_view(&claim));
    (void)call_now(service_open(), PREPARE, writer_view(&request));
    const struct stored_event *e = event_only("ClaimFailed");
    assert_string_equal(e->about_name, name);
    assert_int_equal(strlen(e->name), 234 + 1 + 16);
    assert_int_equal(memcmp(e->name, name, 234), 0);
}

/* What no claim can be called is no part of a path or of a reference: the Node has the Event. */
static void test_impossible_names(void **state)
{
    uint8_t bytes[512];
    uint8_t outer_bytes[600];
    struct writer claim = writer_of(bytes, sizeof bytes);
    struct writer request = writer_of(outer_bytes, sizeof outer_bytes);
    (void)state;
    begin();
    put_str(&claim, 1, "../kube-system");
    put_str(&claim, 2, "c1a10000-0000-4000-8000-000000000001");
    put_str(&claim, 3, "x");
    put_view(&request, 1, writer_view(&claim));
    (void)call_now(service_open(), PREPARE, writer_view(&request));
    assert_string_equal(event_only("ClaimFailed")->kind, "Node");
}

/* Two bytes for each character, so that the cut must not fall into one. */
static void test_long_note(void **state)
{
    char text[1500];
    (void)state;
    begin();
    for (unsigned i = 0; i + 2 < sizeof text; i += 2) {
        memcpy(text + i, "\xc3\xa9", 3);
    }
    for (unsigned shift = 0; shift < 2; shift++) {
        agent_host_log(world.agent, LOG_ID_PROBE_FAILED, text + 2 * shift);
        text[2] = 'x';
        text[3] = (char)('0' + shift);
    }
    world.poked = true;
    pass(2 * SECOND);
    assert_int_equal(events_stored(), 2); /* the server checked length and UTF-8 of both */
    for (unsigned i = 0; i < 2; i++) {
        assert_in_range(strlen(took.event[i].note), 1023, 1024);
    }
}

/* --- one Event for what repeats --- */

static void test_series(void **state)
{
    (void)state;
    begin();
    refuse_claims(1, 1);
    for (unsigned i = 0; i < 3; i++) {
        pass(MINUTE);
        refuse_claims(1, 1);
    }
    assert_int_equal(took.asked, 1);
    pass(K8S_EVENT_SERIES_MS - 3 * MINUTE - 1);
    assert_int_equal(took.asked, 1);
    pass(1);
    const struct stored_event *e = event_only("ClaimFailed");
    assert_int_equal(took.asked, 2);
    assert_int_equal(e->count, 4);
    /* 2023-11-14T22:13:20Z is 1700000000; the last came 187 s and the node's 2 s and 5 s later */
    assert_string_equal(e->patch, "{\"series\":{\"count\":4,\"lastObservedTime\":"
                                  "\"2023-11-14T22:16:27.000000Z\"}}");
    pass(60 * MINUTE);
    assert_int_equal(took.asked, 2);
}

/* Repeated before the first was posted: the series is there from the beginning. */
static void test_series_in_post(void **state)
{
    (void)state;
    begin();
    took.mute = true; /* there is no response to the first request */
    refuse_claims(1, 1);
    refuse_claims(2, 1);
    refuse_claims(2, 1);
    refuse_claims(2, 1);
    took.mute = false;
    pass(API_REQUEST_MS + 5 * SECOND);
    assert_int_equal(events_stored(), 2);
    const struct stored_event *e = &took.event[1];
    assert_string_equal(e->about_name, "claim-2");
    assert_int_equal(e->count, 3);
    assert_true(e->last_seconds >= e->seconds);
}

static void test_window(void **state)
{
    (void)state;
    begin();
    refuse_claims(1, 1);
    pass(K8S_EVENT_WINDOW_MS);
    refuse_claims(1, 1);
    pass(SECOND);
    assert_int_equal(took.posts, 2);
    assert_int_equal(events_stored(), 2);
}

/* The server keeps Events for an hour: a series outlives its Event. */
static void test_series_of_expired_event(void **state)
{
    (void)state;
    begin();
    refuse_claims(1, 1);
    events_expire();
    refuse_claims(1, 1);
    pass(K8S_EVENT_SERIES_MS + MINUTE);
    const struct stored_event *e = event_only("ClaimFailed");
    assert_int_equal(e->count, 2);
    assert_int_equal(took.asked, 3); /* POST, PATCH, POST */
}

/* --- how many requests --- */

static void test_burst(void **state)
{
    (void)state;
    begin();
    refuse_claims(0, 14);
    assert_int_equal(took.asked, 1);
    pass(OUTGOING_GAP_MS);
    assert_int_equal(took.asked, 2); /* never more than two a second */
    pass(10 * SECOND);
    assert_int_equal(took.asked, K8S_EVENT_BURST);
    pass(K8S_EVENT_REFILL_MS);
    assert_int_equal(took.asked, K8S_EVENT_BURST + 1);
    pass(3 * K8S_EVENT_REFILL_MS);
    assert_int_equal(events_stored(), 14);
    pass(60 * MINUTE);
    assert_int_equal(took.asked, 14);
}

static void test_full_table(void **state)
{
    (void)state;
    begin();
    refuse_claims(0, 40);
    log_has("level=warn event=k8s_events_dropped count=");
    pass(K8S_EVENTS_DROPPED_MS);
    uint64_t dropped = world.agent->report->count[LOG_ID_K8S_EVENTS_DROPPED];
    pass(60 * MINUTE);
    unsigned stored = events_stored();
    assert_in_range(stored, K8S_EVENTS_MAX,
                    K8S_EVENTS_MAX + 1); /* the first may be sent before the last */
    assert_int_equal(dropped, 40 - stored);
    assert_int_equal(world.agent->report->count[LOG_ID_K8S_EVENTS_DROPPED], dropped);
    refuse_claims(41, 3); /* entries that are sent in full give way */
    pass(5 * SECOND);
    assert_int_equal(events_stored(), stored + 3);
}

/* --- refusals --- */

static void test_forbidden(void **state)
{
    (void)state;
    begin();
    took.http = 403;
    refuse_registration("no");
    refuse_claims(1, 2);
    pass(10 * SECOND);
    log_has("level=warn event=k8s_events_refused http=403 reason=Forbidden");
    log_has("remedy=\"allow create and patch of events in events.k8s.io");
    log_forget();
    pass(OUTGOING_DENIED_MS - 11 * SECOND);
    assert_int_equal(took.asked, 2);
    pass(OUTGOING_DENIED_MS / 2);
    assert_int_equal(took.asked, 3);
    assert_null(strstr(world.log, "k8s_events_refused"));
    took.http = 0;
    pass(2 * OUTGOING_DENIED_MS);
    assert_true(events_stored() > 0);
}

/* Rights that are missing in one namespace silence no other. */
static void test_forbidden_in_one_namespace(void **state)
{
    (void)state;
    begin();
    took.denied_ns = "ml";
    refuse_claims(1, 4);
    refuse_registration("no");
    pass(10 * SECOND);
    assert_int_equal(took.asked, 1);
    pass(K8S_EVENT_REFILL_MS);
    assert_true(events_stored() > 0);
    assert_string_equal(took.event[0].reason, "RegistrationRefused");
    log_has("level=warn event=k8s_events_refused http=403 reason=Forbidden");
    pass(K8S_EVENTS_DROPPED_MS);
    assert_int_equal(world.agent->report->count[LOG_ID_K8S_EVENTS_DROPPED], 4);
    took.denied_ns = NULL;
    refuse_claims(5, 1);
    pass(K8S_EVENT_REFILL_MS);
    assert_string_equal(event_only("ClaimFailed")->about_name, "claim-5");
}

/* Of two such namespaces the second one stops all Events, but for a while only. */
/* Events of another namespace that wait beside the refused ones are sent. */
static void test_forbidden_beside_others(void **state)
{
    (void)state;
    begin();
    took.denied_ns = "ml";
    refuse_registration("no");
    refuse_claims(1, 2);
    refuse_registration("no again");
    assert_int_equal(took.asked, 1);
    pass(OUTGOING_GAP_MS + K8S_EVENT_REFILL_MS + SECOND);
    for (unsigned i = 0; i < took.posts; i++) {
        assert_string_equal(took.event[i].ns, "default");
    }
    assert_non_null(strstr(took.event[1].note, "no again"));
    pass(K8S_EVENTS_DROPPED_MS);
    assert_int_equal(world.agent->report->count[LOG_ID_K8S_EVENTS_DROPPED], 2);
}

static void test_forbidden_in_two_namespaces(void **state)
{
    (void)state;
    begin();
    took.http = 403;
    refuse_registration("no");
    pass(SECOND);
    refuse_claims(1, 1);
    pass(K8S_EVENT_REFILL_MS);
    assert_int_equal(took.asked, 2);
    took.http = 0;
    took.denied_ns = "ml";
    refuse_registration("no again");
    pass(4 * OUTGOING_DENIED_MS);
    assert_true(events_stored() > 0);
    assert_string_equal(took.event[0].ns, "default");
}

static void test_namespace_ends(void **state)
{
    (void)state;
    begin();
    took.http = 403;
    took.message = "events \"x\" is forbidden: unable to create new content in namespace ml "
                   "because it is being terminated";
    refuse_claims(1, 1);
    took.http = 0;
    refuse_registration("no");
    pass(SECOND);
    assert_null(strstr(world.log, "k8s_events_refused"));
    assert_int_equal(events_stored(), 1);
    assert_string_equal(took.event[0].reason, "RegistrationRefused");
}

static void test_not_served(void **state)
{
    (void)state;
    begin();
    took.http = 999;
    refuse_claims(1, 1);
    pass(10 * MINUTE);
    log_has("event=k8s_events_refused http=404");
    assert_int_equal(took.asked, 1);
    assert_int_equal(api_asked("GET /apis/resource.k8s.io "), 0); /* no doubt of that group */
}

static void test_invalid(void **state)
{
    (void)state;
    begin();
    took.http = 422;
    refuse_claims(1, 1);
    log_has("event=k8s_events_refused http=422 reason=Invalid");
    took.http = 0;
    refuse_claims(2, 1);
    pass(60 * MINUTE);
    assert_int_equal(took.asked, 2);
    assert_string_equal(took.event[0].about_name, "claim-2");
}

static void test_server_errors(void **state)
{
    static const unsigned http[] = {429, 500};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        begin();
        took.http = http[i];
        api.retry_after = 20;
        refuse_claims(1, 1);
        pass(19 * SECOND);
        assert_int_equal(took.asked, 1);
        took.http = 0;
        pass(10 * SECOND);
        assert_int_equal(events_stored(), 1);
        assert_null(strstr(world.log, "k8s_events_refused"));
    }
}

/* --- the connection --- */

static void test_kept_while_away(void **state)
{
    (void)state;
    begin();
    api.reachable = false;
    api_end("");
    settle();
    refuse_registration("no");
    pass(10 * MINUTE);
    assert_int_equal(took.asked, 0);
    api.reachable = true;
    pass(MINUTE);
    const struct stored_event *e = event_only("RegistrationRefused");
    assert_true(e->seconds + 600 <=
                WALL_MS(world.now_ms) / 1000); /* when it occurred, not when it was sent */
}

/* Stored, and the answer lost with the connection: it is not there twice. */
static void test_ambiguous_post(void **state)
{
    (void)state;
    begin();
    took.mute = true;
    refuse_registration("no");
    assert_int_equal(events_stored(), 1);
    took.mute = false;
    api_end("connection reset");
    pass(20 * SECOND);
    assert_int_equal(took.asked, 2);
    assert_int_equal(events_stored(), 1);
    assert_int_equal(took.event[0].count, 0);
}

/* Windows of a few bytes: the body goes out in pieces, as it was when it began. */
static void test_small_windows(void **state)
{
    (void)state;
    for (uint32_t window = 1; window < 400; window += 57) {
        world_new();
        node_up();
        api.window = window;
        api_end("");
        pass(MINUTE);
        refuse_registration("no");
        pass(SECOND);
        (void)event_only("RegistrationRefused");
    }
}

static bool half_sent(void)
{
    const struct api_exchange *x = &world.agent->api->client.exchange[API_SLOT_K8S_EVENT];
    return x->body_sent > 0 && x->body_sent < x->body_len;
}

/* Half of an Event is out when the object that it regards changes: it is sent again. */
static void test_changes_under_way(void **state)
{
    (void)state;
    world_new();
    api.node_http = 422;
    api.node_watch_http = 422;
    api.window = 50;
    node_up();
    world.halt = half_sent;
    pass(K8S_EVENT_UID_MS);
    assert_true(half_sent());
    (void)snprintf(world.agent->report->k8s_event_writer.node_uid, UID_CAP, "%s", NODE_UID);
    world.halt = NULL;
    pass(MINUTE);
    assert_string_equal(took.event[0].about_uid, NODE_UID);
    assert_string_equal(took.event[0].reason, "APIRequestFailed");
}

/* A hanging API server holds up no call. */
static void test_prepare_is_not_held_up(void **state)
{
    (void)state;
    begin();
    (void)claim_add(5);
    took.mute = true;
    refuse_claims(1, 4);
    struct view reply = call_now(service_open(), PREPARE, claims_request(5, 1));
    assert_string_equal(prepare_error(reply, 5), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy_node_has_none),
        cmocka_unit_test(test_claim),
        cmocka_unit_test(test_node),
        cmocka_unit_test(test_device_plugin),
        cmocka_unit_test(test_device_plugin_flaps),
        cmocka_unit_test(test_node_uid_is_waited_for),
        cmocka_unit_test(test_node_without_uid),
        cmocka_unit_test(test_what_passes_by_itself),
        cmocka_unit_test(test_invalid_content),
        cmocka_unit_test(test_log_settings),
        cmocka_unit_test(test_log_format),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_impossible_names),
        cmocka_unit_test(test_long_note),
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_series_in_post),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_series_of_expired_event),
        cmocka_unit_test(test_burst),
        cmocka_unit_test(test_full_table),
        cmocka_unit_test(test_forbidden),
        cmocka_unit_test(test_forbidden_in_one_namespace),
        cmocka_unit_test(test_forbidden_beside_others),
        cmocka_unit_test(test_forbidden_in_two_namespaces),
        cmocka_unit_test(test_namespace_ends),
        cmocka_unit_test(test_not_served),
        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_server_errors),
        cmocka_unit_test(test_kept_while_away),
        cmocka_unit_test(test_ambiguous_post),
        cmocka_unit_test(test_small_windows),
        cmocka_unit_test(test_changes_under_way),
        cmocka_unit_test(test_prepare_is_not_held_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
