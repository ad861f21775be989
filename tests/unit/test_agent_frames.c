/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the API server may say in HTTP/2 beside what is asked: frames of which nobody has use,
 * limits that it lowers later, trailers, responses without a body or with another one than a
 * Status. Claims are prepared all the same.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

static void up(void)
{
    world_new();
    for (unsigned n = 0; n < 8; n++) {
        (void)claim_add(n);
    }
    node_up();
    pass(20000);
    api_forget();
    log_forget();
}

/* Frames of the API server, which nothing else is under way with. */
static uint8_t frames[16384];
static struct writer frame;

static void frame_add(uint8_t type, uint8_t flags, uint32_t stream, struct view payload)
{
    writer_u8(&frame, 0);
    writer_u8(&frame, (uint8_t)(payload.len >> 8));
    writer_u8(&frame, (uint8_t)payload.len);
    writer_u8(&frame, type);
    writer_u8(&frame, flags);
    writer_u32(&frame, stream);
    writer_append(&frame, payload);
    assert_false(frame.full);
}

static void frames_begin(void)
{
    frame = writer_of(frames, sizeof frames);
}

/* The agent receives them, and is not stepped yet. */
static void frames_arrive(void)
{
    struct view left = writer_view(&frame);
    while (left.len > 0) {
        struct writer room = agent_link_rx(world.agent, LINK_API);
        struct view piece = view_first(left, room.cap);
        assert_true(piece.len > 0);
        memcpy(room.data, piece.data, piece.len);
        agent_link_rx_commit(world.agent, LINK_API, piece.len);
        left = view_from(left, piece.len);
        if (left.len > 0) {
            world.poked = true;
            settle();
        }
    }
    world.poked = true;
}

enum { DATA = 0, HEADERS = 1, SETTINGS = 4, WINDOW_UPDATE = 8, UNKNOWN = 0xee };
enum { END_STREAM = 1, END_HEADERS = 4 };

static void allow_streams(uint8_t count)
{
    const uint8_t setting[] = {0, 3, 0, 0, 0, count};
    frames_begin();
    frame_add(SETTINGS, 0, 0, view_of(setting, sizeof setting));
    frames_arrive();
    settle();
}

/* The stream of the request for claim 0, which the server does not answer. */
static uint32_t hanging_stream(struct peer_call **c)
{
    api.claim[0].fault = API_HANGS;
    *c = call_send(service_open(), PREPARE, claims_request(0, 1));
    settle();
    const struct api_exchange *x = world.agent->api->client.exchange;
    for (unsigned i = 0; i < API_PLACES; i++) {
        if (x[i].state == EXCHANGE_OPEN && x[i].result.kind == API_GET_CLAIM) {
            return x[i].stream;
        }
    }
    fail_msg("no request");
    return 0;
}

/* Frames that carry nothing, without end: the connection is given up, and the next one is used. */
static void test_frames_without_use(void **state)
{
    (void)state;
    up();
    unsigned connections = api.connections;
    frames_begin();
    for (unsigned i = 0; i < 2u * H2_CREDIT_MAX; i++) {
        frame_add(UNKNOWN, 0, 0, view_of(NULL, 0));
    }
    frames_arrive();
    settle();
    assert_false(api_connected(world.agent));
    log_has("text=\"the API server sent too long a header list, or too many frames that carry "
            "nothing\"");
    api.connected = false;
    pass(API_BACKOFF_MAX_MS);
    assert_int_equal(api.connections, connections + 1);
    prepare_well(0, 1);
}

/* The server allows fewer requests than before: the watches end, and claims have what is left. */
static void test_fewer_streams(void **state)
{
    (void)state;
    up();
    allow_streams(1);
    pass(1000);
    assert_int_equal(said("event=api_request_failed doing=watch"), 1);
    log_has("--http2-max-streams-per-connection");
    assert_int_equal(api_asked("(reset "), 2);
    prepare_well(0, 4);
    pass(60000);
    assert_true(publish_current(world.agent));
    assert_int_equal(said("event=api_request_failed doing=watch"), 1);
}

/* It allows none while one runs: when that one ends, the agent waits in vain, and then leaves. */
static void test_no_stream_any_more(void **state)
{
    struct peer_call *c = NULL;
    (void)state;
    up();
    unsigned connections = api.connections;
    (void)hanging_stream(&c);
    allow_streams(0);
    (void)call_send(service_open(), PREPARE, claims_request(1, 1));
    pass(API_REQUEST_MS + 10000);
    log_has("its SETTINGS_MAX_CONCURRENT_STREAMS is 0");
    api_release();
    pass(API_BACKOFF_MAX_MS);
    assert_true(api.connections > connections);
    prepare_well(1, 1);
}

/* Trailers say nothing that counts: neither another status nor a Retry-After. */
static void test_trailers(void **state)
{
    struct peer_call *c = NULL;
    static const uint8_t head[] = {0x08, 3, '5', '0', '3'}; /* literal :status */
    static const char trailer[] = "\x00\x0bretry-after\x05"
                                  "10000";
    (void)state;
    up();
    uint32_t stream = hanging_stream(&c);
    frames_begin();
    frame_add(HEADERS, END_HEADERS, stream, view_of(head, sizeof head));
    frame_add(HEADERS, END_HEADERS | END_STREAM, stream, view_of(trailer, sizeof trailer - 1));
    frames_arrive();
    settle();
    assert_false(c->ended);
    api.claim[0].fault = API_ANSWERS;
    pass(CLAIM_BACKOFF_MAX_MS);
    assert_string_equal(prepare_error(call_reply_of(c), 0), "");
}

/* A proxy answers without a body: the status counts. */
static void test_response_without_a_body(void **state)
{
    struct peer_call *c = NULL;
    static const uint8_t head[] = {0x08, 3, '4', '0', '3'};
    (void)state;
    up();
    uint32_t stream = hanging_stream(&c);
    frames_begin();
    frame_add(HEADERS, END_HEADERS | END_STREAM, stream, view_of(head, sizeof head));
    frames_arrive();
    settle();
    assert_non_null(strstr(prepare_error(call_reply_of(c), 0), "HTTP 403"));
    prepare_well(1, 1);
}

/* Frames fill a step to its last event when the connection ends: nothing of the end is lost. */
static void test_end_behind_many_frames(void **state)
{
    static const uint8_t one[] = {0, 0, 0, 1};
    (void)state;
    for (unsigned n = LINK_EVENTS_PER_STEP - 12u; n <= LINK_EVENTS_PER_STEP; n++) {
        struct peer_call *c = NULL;
        up();
        unsigned connections = api.connections;
        (void)hanging_stream(&c);
        frames_begin();
        for (unsigned i = 0; i < n; i++) {
            frame_add(WINDOW_UPDATE, 0, 0, view_of(one, sizeof one));
        }
        frames_arrive();
        api.connected = false;
        api_end("the network went away");
        settle();
        api.claim[0].fault = API_ANSWERS;
        assert_int_equal(said("event=api_connection_lost"), 1);
        pass(5000);
        assert_int_equal(api.connections, connections + 1);
        assert_string_equal(prepare_error(call_reply_of(c), 0), "");
        assert_true(publish_current(world.agent));
    }
}

/* What a 404 means for a claim: that it is gone, or that the server lacks the path. */
static void test_absent_claims(void **state)
{
    static const struct {
        const char *message;
        const char *page;
        bool gone;
    } rows[] = {
        {NULL, NULL, true},
        {NULL, "{\"kind\":\"Status\",\"code\":404}", true},
        {NULL, "no such page", false},
        {"the server could not find the requested resource (get resourceclaims.resource.k8s.io)",
         NULL, false},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        up();
        api.claim[0].http = 404;
        api.claim[0].http_message = rows[i].message;
        api.claim[0].http_page = rows[i].page;
        struct peer *p = service_open();
        const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
        pass(2000);
        const char *error = prepare_error(call_reply_of(c), 0);
        bool gone = strstr(error, "not found on the API server") != NULL;
        assert_int_equal(gone, rows[i].gone);
        /* without the path, the versions are asked for again, and the claim once more */
        assert_int_equal(api_asked("GET /apis/resource.k8s.io\n") > 0, !rows[i].gone);
        assert_int_equal(api_asked("GET /apis/resource.k8s.io/v1/namespaces/ml/"), gone ? 1 : 2);
        prepare_well(1, 1);
    }
}

/*
 * A response that is not a readable ResourceClaim, and a refusal with a very long message: the
 * error of each claim names the cause.
 */
static void test_odd_responses(void **state)
{
    static char message[4000];
    (void)state;
    memset(message, 'm', sizeof message - 1);
    up();
    api.claim[0].http_page = "{\"kind\":\"ResourceClaim\"}";
    api.claim[1].http = 403;
    api.claim[1].http_message = message;
    struct view reply = prepare_soon(0, 2);
    assert_string_equal(prepare_error(reply, 0), "claim ml/claim-0 cannot be read from the API "
                                                 "server: the response is not a readable "
                                                 "ResourceClaim");
    assert_non_null(strstr(prepare_error(reply, 1), "HTTP 403"));
}

/* Nodes that cannot be watched are read. */
static void test_watch_of_the_node_is_absent(void **state)
{
    (void)state;
    world_new();
    (void)claim_add(0);
    api.node_watch_http = 404;
    node_up();
    pass(20000);
    assert_true(api_asked(NODE_READS) > 0);
    assert_true(publish_current(world.agent));
    assert_true(version_settled(world.agent));
    prepare_well(0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_without_use),
        cmocka_unit_test(test_fewer_streams),
        cmocka_unit_test(test_no_stream_any_more),
        cmocka_unit_test(test_trailers),
        cmocka_unit_test(test_response_without_a_body),
        cmocka_unit_test(test_end_behind_many_frames),
        cmocka_unit_test(test_absent_claims),
        cmocka_unit_test(test_odd_responses),
        cmocka_unit_test(test_watch_of_the_node_is_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
