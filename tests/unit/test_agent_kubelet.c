/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole agent towards the kubelet and its probes: registration, health, unknown methods, links,
 * and a clean stop.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#define GET_INFO "/pluginregistration.Registration/GetInfo"
#define NOTIFY "/pluginregistration.Registration/NotifyRegistrationStatus"
#define CHECK_PATH "/grpc.health.v1.Health/Check"

static void test_get_info(void **state)
{
    static const char want[] = "\x0a\x09"
                               "DRAPlugin"
                               "\x12\x0e"
                               "neuron.aws.com"
                               "\x1a\x30"
                               "/var/lib/kubelet/plugins/neuron.aws.com/dra.sock"
                               "\x22\x0c"
                               "v1.DRAPlugin"
                               "\x22\x11"
                               "v1beta1.DRAPlugin"
                               "\x22\x14"
                               "v1.DRAResourceHealth"
                               "\x22\x1a"
                               "v1alpha1.DRAResourceHealth";
    (void)state;
    world_new();
    api.reachable = false;
    start();
    struct peer *p = peer_open(LINK_REGISTRATION, 65535);
    struct view reply = call_now(p, GET_INFO, view_of(NULL, 0));
    assert_int_equal(reply.len, sizeof want - 1);
    assert_memory_equal(reply.data, want, sizeof want - 1);
    check_idle();
}

/* A socket answers its own services alone; health is on the service socket too. */
static void test_services_of_sockets(void **state)
{
    enum {
        REGISTRATION = 1u << LINK_REGISTRATION,
        SERVICE = 1u << LINK_SERVICE,
        HEALTH = 1u << LINK_GRPC_HEALTH
    };
    static const enum link_kind kinds[] = {LINK_REGISTRATION, LINK_SERVICE, LINK_GRPC_HEALTH};
    static const struct {
        const char *path;
        unsigned served_on;
    } services[] = {
        {GET_INFO, REGISTRATION},
        {NOTIFY, REGISTRATION},
        {"/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources", SERVICE},
        {"/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources", SERVICE},
        {"/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources", SERVICE},
        {"/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodeUnprepareResources", SERVICE},
        {CHECK_PATH, SERVICE | HEALTH},
        {"/v1.NodeHealth/WatchResources", 0},
    };
    (void)state;
    world_new();
    start();
    for (unsigned k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        struct peer *p = peer_open(kinds[k], 65535);
        for (unsigned i = 0; i < sizeof services / sizeof services[0]; i++) {
            if ((services[i].served_on & 1u << kinds[k]) != 0u) {
                (void)call_now(p, services[i].path, view_of(NULL, 0));
            } else {
                call_refused(p, services[i].path, view_of(NULL, 0), GRPC_UNIMPLEMENTED);
            }
        }
    }
    check_idle();
}

static void test_registered(void **state)
{
    (void)state;
    world_new();
    start();
    register_driver();
    log_has("registered");
    pass(3600000);
    assert_int_equal(world.renewals, 0);
}

static void test_refused(void **state)
{
    static const char refusal[] = "\x08\x00\x12\x0a"
                                  "no version";
    (void)state;
    world_new();
    start();
    struct peer *p = peer_open(LINK_REGISTRATION, 65535);
    (void)call_now(p, GET_INFO, view_of(NULL, 0));
    (void)call_now(p, NOTIFY, view_of(refusal, sizeof refusal - 1));
    log_has("no version");
    pass(29999);
    assert_int_equal(world.renewals, 0);
    pass(1);
    assert_int_equal(world.renewals, 1);
    log_has("last_error=\"no version\"");
    /* a registration that succeeds ends it */
    (void)call_now(p, NOTIFY, view_of("\x08\x01", 2));
    pass(3600000);
    assert_int_equal(world.renewals, 1);
}

static void test_renewals_double(void **state)
{
    static const unsigned at_s[] = {30, 90, 210, 450, 750, 1050};
    (void)state;
    world_new();
    start();
    uint64_t begin = world.now_ms;
    for (unsigned i = 0; i < sizeof at_s / sizeof at_s[0]; i++) {
        pass(begin + at_s[i] * 1000u - world.now_ms - 1);
        assert_int_equal(world.renewals, i);
        pass(1);
        assert_int_equal(world.renewals, i + 1);
    }
}

static void test_notify_garbage(void **state)
{
    (void)state;
    world_new();
    start();
    struct peer *p = peer_open(LINK_REGISTRATION, 65535);
    call_refused(p, NOTIFY, view_of("\x08", 1), GRPC_INVALID_ARGUMENT);
    assert_false(world.agent->serve->registration.registered);
    check_idle();
}

static unsigned health_of(struct peer *p, const char *service)
{
    uint8_t bytes[64];
    struct writer w = writer_of(bytes, sizeof bytes);
    if (service[0] != 0) {
        put_str(&w, 1, service);
    }
    return (unsigned)proto_get(call_now(p, CHECK_PATH, writer_view(&w)), 1).value;
}

static void test_health(void **state)
{
    enum { SERVING = 1, NOT_SERVING = 2 };
    (void)state;
    world_new();
    api.hangs = true;
    start();
    struct peer *p = peer_open(LINK_GRPC_HEALTH, 65535);
    assert_int_equal(health_of(p, ""), SERVING);
    assert_int_equal(health_of(p, "liveness"), SERVING);
    assert_int_equal(health_of(p, "readiness"), NOT_SERVING);
    call_refused(p, CHECK_PATH,
                 view_of("\x0a\x05"
                         "other",
                         7),
                 GRPC_NOT_FOUND);
    register_driver();
    pass(2000);
    assert_int_equal(health_of(p, "readiness"), NOT_SERVING);
    api_release();
    pass(1000);
    assert_int_equal(health_of(p, "readiness"), SERVING);
    assert_int_equal(api_slices(), 1);
    check_idle();
}

/* An answer of some bytes also reaches a peer that takes one byte at a time. */
static void test_answer_through_a_keyhole(void **state)
{
    (void)state;
    world_new();
    start();
    struct peer *wide = peer_open(LINK_REGISTRATION, 65535);
    struct view want = call_now(wide, GET_INFO, view_of(NULL, 0));
    struct peer *narrow = peer_open(LINK_REGISTRATION, 1);
    narrow->cut = 5;
    struct view got = call_now(narrow, GET_INFO, view_of(NULL, 0));
    assert_int_equal(got.len, want.len);
    assert_memory_equal(got.data, want.data, want.len);
    check_idle();
}

/* A reason that is longer than what is kept of it: its beginning is logged. */
static void test_long_refusal(void **state)
{
    static uint8_t bytes[4096];
    static char reason[3000];
    struct writer w = writer_of(bytes, sizeof bytes);
    (void)state;
    world_new();
    start();
    memset(reason, 'r', sizeof reason - 1);
    memcpy(reason, "no version", 10);
    put_str(&w, 2, reason);
    struct peer *p = peer_open(LINK_REGISTRATION, 65535);
    (void)call_now(p, NOTIFY, writer_view(&w));
    log_has("event=registration_refused reason=\"no versionrrr");
    assert_false(registration_is_done(world.agent));
    size_t kept = strlen(world.agent->serve->registration.last_error);
    assert_in_range(kept, 100, sizeof world.agent->serve->registration.last_error - 1);
    check_idle();
}

/* Says another SETTINGS_INITIAL_WINDOW_SIZE in the peer's name. */
static void peer_window(struct peer *p, uint32_t window)
{
    static const uint8_t head[] = {0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4};
    struct writer room = agent_link_rx(world.agent, (unsigned)p->link);
    writer_bytes(&room, head, sizeof head);
    writer_u32(&room, window);
    assert_false(room.full);
    agent_link_rx_commit(world.agent, (unsigned)p->link, room.len);
    world.poked = true;
    settle();
}

/* RFC 9113 6.9.2: a peer that opens no window delays its answers; one too many costs that call. */
static void test_answers_wait_for_a_window(void **state)
{
    const struct peer_call *kept[RESPONSES_PER_LINK];
    (void)state;
    world_new();
    start();
    struct peer *p = peer_open(LINK_REGISTRATION, 65535);
    peer_window(p, 0);
    for (unsigned i = 0; i < RESPONSES_PER_LINK; i++) {
        kept[i] = call_send(p, GET_INFO, view_of(NULL, 0));
        settle();
        assert_false(kept[i]->ended);
    }
    const struct peer_call *over = call_send(p, GET_INFO, view_of(NULL, 0));
    settle();
    assert_true(over->ended && !over->reset && !p->closed_by_agent);
    assert_int_equal(over->status, GRPC_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(over->text, "flow-control window"));
    /* a status needs no window: it is sent at once */
    call_refused(p, NOTIFY, view_text("\xff"), GRPC_INVALID_ARGUMENT);
    peer_window(p, 65535);
    for (unsigned i = 0; i < RESPONSES_PER_LINK; i++) {
        assert_true(call_reply_of(kept[i]).len > 0);
    }
    assert_true(call_now(p, GET_INFO, view_of(NULL, 0)).len > 0);
    check_idle();
}

/* A peer that asks and does not listen fills the send buffer: it goes, nobody else does. */
static void test_answers_full(void **state)
{
    const struct peer_call *first = NULL;
    (void)state;
    world_new();
    start();
    struct peer *p = peer_open(LINK_REGISTRATION, 1);
    struct peer *q = peer_open(LINK_REGISTRATION, 1);
    p->deaf = true;
    q->deaf = true;
    for (unsigned i = 0; i < RESPONSES_PER_LINK; i++) {
        (void)call_send(q, GET_INFO, view_of(NULL, 0));
        settle();
    }
    first = call_send(p, GET_INFO, view_of(NULL, 0));
    settle();
    assert_false(q->closed_by_agent);
    unsigned more = 0;
    while (!q->closed_by_agent && more < 200) { /* it gives each call up: 16 may be open */
        call_cancel(q, call_send(q, GET_INFO, view_of(NULL, 0)));
        more++;
    }
    assert_in_range(more, 20, 199);
    assert_false(p->closed_by_agent);
    p->deaf = false;
    settle();
    (void)call_reply_of(first);
    check_idle();
}

/* Each method on its own sockets only; DRA calls never come from the network. */
static void test_links_full(void **state)
{
    struct peer *p[4];
    (void)state;
    world_new();
    start();
    for (unsigned i = 0; i < 4; i++) {
        p[i] = peer_open(LINK_GRPC_HEALTH, 65535);
        pass(1);
    }
    /* each has a moment; then the oldest one without calls goes, and there is room */
    assert_false(agent_link_free(world.agent, LINK_GRPC_HEALTH));
    uint64_t room_ms = agent_link_room_ms(world.agent, LINK_GRPC_HEALTH);
    assert_int_equal(room_ms, world.now_ms - 4u + LINK_GRACE_MS);
    assert_int_equal(agent_link_open(world.agent, LINK_GRPC_HEALTH, 0, room_ms - 1u), -1);
    settle();
    assert_false(p[0]->closed_by_agent);
    pass(room_ms - world.now_ms);
    assert_int_equal(agent_link_open(world.agent, LINK_GRPC_HEALTH, 0, world.now_ms), -1);
    world.poked = true;
    settle();
    assert_true(p[0]->closed_by_agent && p[0]->goaway);
    assert_false(p[1]->closed_by_agent);
    (void)peer_open(LINK_GRPC_HEALTH, 65535);
    assert_int_equal(health_of(p[1], "liveness"), 1);
}

static int newcomer(uint32_t who)
{
    int link = agent_link_open(world.agent, LINK_SERVICE, who, world.now_ms);
    world.poked = true;
    settle();
    return link;
}

/* One peer's flood ends its own connections, and keeps nobody out, with calls or without. */
static void test_places_are_shared(void **state)
{
    struct peer *p[4];
    (void)state;
    world_new();
    api.reachable = false;
    start();
    struct peer *kubelet = peer_open_as(LINK_SERVICE, 65535, 1);
    for (unsigned i = 0; i < 3; i++) {
        pass(1);
        p[i] = peer_open_as(LINK_SERVICE, 65535, 2);
    }
    for (unsigned i = 0; i < 3; i++) { /* the oldest of its own each time */
        assert_int_equal(newcomer(2), -1);
        assert_true(p[i]->closed_by_agent && p[i]->goaway);
        pass(1);
        p[i] = peer_open_as(LINK_SERVICE, 65535, 2);
    }
    assert_false(kubelet->closed_by_agent);
    /* its calls wait for an API server that is not there: it has three places and gets no fourth */
    for (unsigned i = 0; i < 3; i++) {
        (void)call_send(p[i], PREPARE, claims_request(i, 1));
        settle();
    }
    assert_int_equal(newcomer(2), -1);
    assert_false(kubelet->closed_by_agent || p[0]->closed_by_agent);
    /* a peer without a place gets one of them, calls or not */
    peer_close(kubelet);
    p[3] = peer_open_as(LINK_SERVICE, 65535, 2);
    (void)call_send(p[3], PREPARE, claims_request(3, 1));
    settle();
    assert_int_equal(links_calls_open(world.agent), 4);
    assert_int_equal(newcomer(1), -1);
    assert_true(p[0]->closed_by_agent);
    assert_int_equal(links_calls_open(world.agent), 3);
    kubelet = peer_open_as(LINK_SERVICE, 65535, 1);
    assert_int_equal(health_of(kubelet, "liveness"), 1);
}

/* A third peer gets a place of the peer that has several, not that of the one that has one. */
static void test_most_places_give_way(void **state)
{
    struct peer *p[4];
    (void)state;
    world_new();
    start();
    for (uint32_t i = 0; i < 4; i++) {
        p[i] = peer_open_as(LINK_SERVICE, 65535, i < 3 ? 2 : 1);
        pass(1);
    }
    assert_int_equal(newcomer(3), -1);
    assert_true(p[0]->closed_by_agent && p[0]->goaway);
    assert_false(p[1]->closed_by_agent || p[2]->closed_by_agent || p[3]->closed_by_agent);
}

/* The oldest connection of the health port stays while another peer has more of them. */
static void test_single_stranger_stays(void **state)
{
    struct peer *p[GRPC_HEALTH_LINKS];
    (void)state;
    world_new();
    start();
    assert_true(agent_link_free(world.agent, LINK_GRPC_HEALTH));
    for (uint32_t i = 0; i < GRPC_HEALTH_LINKS; i++) {
        assert_int_equal(agent_link_room_ms(world.agent, LINK_GRPC_HEALTH), 0);
        p[i] = peer_open_as(LINK_GRPC_HEALTH, 65535, i == 0 ? 1 : 2);
        bool full = i == GRPC_HEALTH_LINKS - 1;
        assert_int_equal(agent_link_free(world.agent, LINK_GRPC_HEALTH), !full);
        pass(1);
    }
    uint64_t room_ms = agent_link_room_ms(world.agent, LINK_GRPC_HEALTH);
    assert_int_equal(room_ms, world.now_ms - GRPC_HEALTH_LINKS + 1 + LINK_GRACE_MS);
    pass(room_ms - world.now_ms);
    assert_int_equal(agent_link_open(world.agent, LINK_GRPC_HEALTH, 3, world.now_ms), -1);
    world.poked = true;
    settle();
    assert_true(p[1]->closed_by_agent);
    assert_false(p[0]->closed_by_agent || p[2]->closed_by_agent);
}

/* A connection of this kind whose peer sends no HTTP/2, and reads nothing of the answer. */
static unsigned broken_link(enum link_kind kind)
{
    static const char http1[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    int link = agent_link_open(world.agent, kind, 9, world.now_ms);
    assert_true(link >= 0);
    struct writer room = agent_link_rx(world.agent, (unsigned)link);
    writer_text(&room, http1);
    agent_link_rx_commit(world.agent, (unsigned)link, room.len);
    world.poked = true;
    settle();
    assert_int_equal(agent_link_rx(world.agent, (unsigned)link).cap, 0);
    return (unsigned)link;
}

/* Who broke the protocol has no moment: its place is the next one's at once, nobody else's is. */
static void test_broken_link_gives_way(void **state)
{
    struct peer *p[GRPC_HEALTH_LINKS - 1];
    (void)state;
    world_new();
    start();
    unsigned broken = broken_link(LINK_GRPC_HEALTH);
    for (uint32_t i = 0; i < GRPC_HEALTH_LINKS - 1; i++) {
        p[i] = peer_open_as(LINK_GRPC_HEALTH, 65535, 4);
    }
    assert_false(agent_link_done(world.agent, broken)); /* bytes wait for its peer */
    assert_int_equal(agent_link_room_ms(world.agent, LINK_GRPC_HEALTH), 0);
    assert_int_equal(agent_link_open(world.agent, LINK_GRPC_HEALTH, 5, world.now_ms), -1);
    assert_true(agent_link_done(world.agent, broken));
    assert_false(agent_link_done(world.agent, broken)); /* the host is told once */
    struct peer *q = peer_open_as(LINK_GRPC_HEALTH, 65535, 5);
    assert_int_equal(health_of(q, "liveness"), 1);
    for (unsigned i = 0; i < GRPC_HEALTH_LINKS - 1; i++) {
        assert_int_equal(health_of(p[i], "liveness"), 1);
    }
}

/*
 * A peer that sends many frames at once has a share of each step: what is left is due at once, and
 * the kubelet's call is answered before it.
 */
static void test_flood_of_frames(void **state)
{
    static const uint8_t update[] = {0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    (void)state;
    world_new();
    node_up();
    struct peer *flood = service_open();
    struct peer *kubelet = service_open();
    (void)call_send(flood, "/grpc.health.v1.Health/Watch", view_of(NULL, 0));
    settle();
    struct writer room = agent_link_rx(world.agent, (unsigned)flood->link);
    for (unsigned i = 0; i < 2 * LINK_EVENTS_PER_STEP; i++) {
        writer_bytes(&room, update, sizeof update);
    }
    assert_false(room.full);
    agent_link_rx_commit(world.agent, (unsigned)flood->link, room.len);
    struct peer_call *c = call_send(kubelet, PREPARE, view_of(NULL, 0));
    while (peer_to_agent(kubelet)) {
    }
    (void)step();
    assert_int_equal(agent_deadline(world.agent), world.now_ms);
    assert_true(c->ended);
    (void)call_reply_of(c);
    settle();
    assert_true(agent_deadline(world.agent) > world.now_ms);
    assert_false(flood->closed_by_agent);
}

/* An answer that waits for its peer goes with the connection, and is not the next one's. */
static void test_waiting_answer_goes_with_the_link(void **state)
{
    struct peer *p[4];
    (void)state;
    world_new();
    start();
    for (uint32_t i = 0; i < 4; i++) {
        p[i] = peer_open_as(LINK_REGISTRATION, i == 0 ? 1 : 65535, i < 2 ? 10 : 10 + i);
        pass(1);
    }
    p[0]->deaf = true;
    (void)call_send(p[0], GET_INFO, view_of(NULL, 0));
    (void)call_open(p[1], GET_INFO, NULL); /* so that this one is at work, too */
    settle();
    const struct response *kept =
        &world.agent->serve->response[(unsigned)p[0]->link * RESPONSES_PER_LINK];
    assert_true(kept->used);
    assert_int_equal(agent_link_open(world.agent, LINK_REGISTRATION, 20, world.now_ms), -1);
    world.poked = true;
    settle();
    assert_true(p[0]->closed_by_agent);
    assert_false(kept->used);
    struct peer *q = peer_open_as(LINK_REGISTRATION, 65535, 20);
    assert_int_equal(q->link, p[0]->link);
    assert_true(call_now(q, GET_INFO, view_of(NULL, 0)).len > 100);
    assert_false(p[1]->closed_by_agent || p[2]->closed_by_agent || p[3]->closed_by_agent);
}

/* Half a request, which is never completed. */
static void call_start_slowly(struct peer *p)
{
    static const uint8_t half[] = {0, 0, 0, 0, 100, 1};
    uint32_t stream = call_open(p, PREPARE, NULL);
    assert_int_equal(h2_data(&p->h2, stream, view_of(half, sizeof half), false), STATUS_OK);
    settle();
}

/* Requests that do not arrive keep the places of a socket for a second, whoever sends them. */
static void test_slow_requests_give_way(void **state)
{
    struct peer *p[4];
    (void)state;
    for (uint32_t apart = 0; apart < 2; apart++) {
        world_new();
        start();
        for (uint32_t i = 0; i < 4; i++) {
            p[i] = peer_open_as(LINK_SERVICE, 65535, 10 + i * apart);
            call_start_slowly(p[i]);
        }
        assert_int_equal(newcomer(10), -1);
        assert_int_equal(links_calls_open(world.agent), 4);
        pass(GRPC_SLOW_MS);
        assert_int_equal(newcomer(10), -1);
        assert_int_equal(links_calls_open(world.agent), 3);
        assert_true(p[0]->closed_by_agent && !p[1]->closed_by_agent);
        struct peer *kubelet = peer_open_as(LINK_SERVICE, 65535, 10);
        assert_int_equal(health_of(kubelet, "liveness"), 1);
    }
}

/* Strangers reach the health port: whatever they begin there takes no buffer from the kubelet. */
static void test_health_takes_no_buffer(void **state)
{
    uint8_t bytes[GRPC_SMALL_BYTES + 1] = {0};
    (void)state;
    world_new();
    start();
    struct peer *p = peer_open(LINK_GRPC_HEALTH, 65535);
    call_refused(p, CHECK_PATH, view_of(bytes, sizeof bytes), GRPC_RESOURCE_EXHAUSTED);
    check_idle();
    struct peer *kubelet = peer_open(LINK_REGISTRATION, 65535);
    call_refused(kubelet, NOTIFY, view_of(bytes, sizeof bytes), GRPC_INVALID_ARGUMENT);
    check_idle();
}

static void test_peer_breaks_protocol(void **state)
{
    (void)state;
    world_new();
    start();
    int link = agent_link_open(world.agent, LINK_SERVICE, 0, world.now_ms);
    assert_true(link >= 0);
    struct writer room = agent_link_rx(world.agent, (unsigned)link);
    static const char http1[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    assert_true(room.cap > sizeof http1);
    memcpy(room.data, http1, sizeof http1 - 1);
    agent_link_rx_commit(world.agent, (unsigned)link, sizeof http1 - 1);
    world.poked = true;
    settle();
    struct view out = agent_link_tx(world.agent, (unsigned)link);
    agent_link_tx_commit(world.agent, (unsigned)link, out.len);
    assert_true(agent_link_done(world.agent, (unsigned)link));
    log_has("connection_failed");
}

/* --- stopping --- */

static void stop(void)
{
    agent_stop(world.agent, world.now_ms);
    world.poked = true;
}

static void test_stop_idle(void **state)
{
    (void)state;
    world_new();
    node_up();
    struct peer *p = service_open();
    stop();
    settle();
    assert_true(world.exited);
    assert_true(p->goaway);
    assert_int_equal(world.closed_registration, 1);
    assert_int_equal(api_slices(), 1);
    assert_int_equal(api_asked("DELETE "), 0);
    log_has("no call was running");
}

/* A broken connection whose peer reads nothing delays the end for the time that it has to close. */
static void test_stop_beside_a_broken_link(void **state)
{
    (void)state;
    world_new();
    node_up();
    unsigned broken = broken_link(LINK_SERVICE);
    struct peer *p = service_open();
    stop();
    settle();
    assert_true(p->goaway);
    assert_false(world.exited);
    pass(LINK_CLOSE_MS - 1);
    assert_false(agent_link_done(world.agent, broken) || world.exited);
    set_time(world.now_ms + 1);
    assert_true(agent_link_done(world.agent, broken));
    world.poked = true;
    settle();
    assert_true(world.exited);
    log_has("no call was running");
}

static void test_stop_lets_calls_end(void **state)
{
    (void)state;
    world_new();
    claim_add(0)->fault = API_HANGS;
    node_up();
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    settle();
    stop();
    pass(1000);
    assert_false(world.exited);
    assert_int_equal(world.closed_registration, 1);
    api_release();
    pass(1);
    assert_string_equal(prepare_error(call_reply_of(c), 0), "");
    assert_true(world.exited);
}

static void test_stop_ends_what_hangs(void **state)
{
    (void)state;
    world_new();
    claim_add(0)->fault = API_HANGS;
    node_up();
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    settle();
    stop();
    pass(4999);
    assert_false(world.exited);
    pass(1);
    assert_true(world.exited);
    assert_int_equal(c->status, GRPC_UNAVAILABLE);
    log_has("calls that still ran were ended");
}

static void test_stop_refuses_new_calls(void **state)
{
    (void)state;
    world_new();
    claim_add(0)->fault = API_HANGS;
    claim_add(1);
    node_up();
    struct peer *p = service_open();
    (void)call_send(p, PREPARE, claims_request(0, 1));
    struct peer *early = service_open();
    stop();
    /* GOAWAY came before: its client sends the call again, elsewhere. */
    const struct peer_call *dropped = call_send(early, PREPARE, claims_request(1, 1));
    settle();
    assert_true(early->goaway);
    assert_int_equal(dropped->status, -1);
    /* Who comes now is answered, and not sent away to come again at once. */
    struct peer *late = service_open();
    const struct peer_call *c = call_send(late, PREPARE, claims_request(1, 1));
    settle();
    assert_false(late->goaway);
    assert_int_equal(c->status, GRPC_UNAVAILABLE);
    assert_null(cdi_of(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get_info),
        cmocka_unit_test(test_services_of_sockets),
        cmocka_unit_test(test_registered),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_renewals_double),
        cmocka_unit_test(test_notify_garbage),
        cmocka_unit_test(test_health),
        cmocka_unit_test(test_long_refusal),
        cmocka_unit_test(test_answer_through_a_keyhole),
        cmocka_unit_test(test_answers_wait_for_a_window),
        cmocka_unit_test(test_answers_full),
        cmocka_unit_test(test_links_full),
        cmocka_unit_test(test_places_are_shared),
        cmocka_unit_test(test_most_places_give_way),
        cmocka_unit_test(test_single_stranger_stays),
        cmocka_unit_test(test_broken_link_gives_way),
        cmocka_unit_test(test_flood_of_frames),
        cmocka_unit_test(test_waiting_answer_goes_with_the_link),
        cmocka_unit_test(test_slow_requests_give_way),
        cmocka_unit_test(test_health_takes_no_buffer),
        cmocka_unit_test(test_peer_breaks_protocol),
        cmocka_unit_test(test_stop_idle),
        cmocka_unit_test(test_stop_beside_a_broken_link),
        cmocka_unit_test(test_stop_lets_calls_end),
        cmocka_unit_test(test_stop_ends_what_hangs),
        cmocka_unit_test(test_stop_refuses_new_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
