/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc.health.v1.Health/Watch of the whole agent: what a subscriber gets and when, what ends its
 * call, and that it takes no place, buffer or time from other calls.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#define NOTIFY "/pluginregistration.Registration/NotifyRegistrationStatus"
#define WATCH_PATH "/grpc.health.v1.Health/Watch"

enum { SERVING = 1, NOT_SERVING = 2, SERVICE_UNKNOWN = 3 };

static struct view service_named(const char *service)
{
    static uint8_t bytes[400];
    struct writer w = writer_of(bytes, sizeof bytes);
    if (service[0] != 0) {
        put_str(&w, 1, service);
    }
    assert_false(w.full);
    return writer_view(&w);
}

static struct peer_call *watch(struct peer *p, const char *service)
{
    struct peer_call *c = call_send(p, WATCH_PATH, service_named(service));
    settle();
    return c;
}

/* All messages so far, one digit each. */
static const char *told(const struct peer_call *c)
{
    static char text[64];
    size_t n = 0;
    assert_int_equal(c->len % 7, 0);
    for (size_t at = 0; at < c->len; at += 7) {
        assert_memory_equal(c->bytes + at, "\0\0\0\0\2\x08", 6);
        text[n++] = (char)('0' + c->bytes[at + 6]);
    }
    text[n] = 0;
    return text;
}

static void notify(struct peer *kubelet, bool registered)
{
    (void)call_now(kubelet, NOTIFY, registered ? view_of("\x08\x01", 2) : view_of(NULL, 0));
}

static void test_states(void **state)
{
    (void)state;
    world_new();
    start();
    struct peer *p = peer_open(LINK_GRPC_HEALTH, 65535);
    const struct peer_call *all = watch(p, "");
    const struct peer_call *live = watch(p, "liveness");
    const struct peer_call *ready = watch(p, "readiness");
    const struct peer_call *other = watch(p, "other");
    assert_string_equal(told(all), "1");
    assert_string_equal(told(live), "1");
    assert_string_equal(told(ready), "2");
    assert_string_equal(told(other), "3");
    register_driver();
    pass(2000);
    assert_string_equal(told(ready), "21");
    struct peer *kubelet = peer_open(LINK_REGISTRATION, 65535);
    notify(kubelet, false);
    assert_string_equal(told(ready), "212");
    notify(kubelet, false);
    notify(kubelet, true);
    assert_string_equal(told(ready), "2121");
    /* no time of ours ends what stays as it is */
    pass(24 * 3600 * 1000);
    assert_string_equal(told(ready), "2121");
    assert_string_equal(told(all), "1");
    assert_string_equal(told(live), "1");
    assert_string_equal(told(other), "3");
    assert_false(all->ended || live->ended || ready->ended || other->ended);
    assert_int_equal(links_calls_open(world.agent), 4);
}

/* Beside a unary call, on both sockets that serve it, and on no other. */
static void test_sockets(void **state)
{
    (void)state;
    world_new();
    node_up();
    struct peer *service = service_open();
    const struct peer_call *c = watch(service, "readiness");
    assert_string_equal(told(c), "1");
    (void)call_now(service, PREPARE, view_of(NULL, 0));
    struct peer *registration = peer_open(LINK_REGISTRATION, 65535);
    call_refused(registration, WATCH_PATH, view_of(NULL, 0), GRPC_UNIMPLEMENTED);
    assert_false(c->ended);
}

/* A name of the longest kind and what is no protobuf are services that nobody knows. */
static void test_odd_requests(void **state)
{
    char name[GRPC_SMALL_BYTES + 1];
    (void)state;
    world_new();
    start();
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    struct peer *p = service_open();
    assert_string_equal(told(watch(p, name)), "3");
    const struct peer_call *c = call_send(p, WATCH_PATH, view_of("\x0a", 1));
    settle();
    assert_string_equal(told(c), "3");
    /* the first one's request was held in a buffer while it arrived: no longer */
    (void)call_now(p, PREPARE, view_of(NULL, 0));
    assert_int_equal(world.agent->serve->buffers.taken, 0);
    assert_int_equal(links_calls_open(world.agent), 2);
}

/* Octet by octet, and whatever changes meanwhile: one message, the newest state. */
static void test_slow_reader(void **state)
{
    (void)state;
    world_new();
    node_up();
    struct peer *kubelet = peer_open(LINK_REGISTRATION, 65535);
    struct peer *p = peer_open(LINK_GRPC_HEALTH, 1);
    p->deaf = true;
    const struct peer_call *c = watch(p, "readiness");
    for (unsigned i = 0; i < 101; i++) {
        notify(kubelet, i % 2 == 1);
        pass(100);
    }
    assert_int_equal(c->len, 0);
    p->deaf = false;
    settle();
    assert_string_equal(told(c), "2");
    notify(kubelet, true);
    assert_string_equal(told(c), "21");
    assert_false(c->ended);
}

/* Back where it was before a message that began got out: the message is still ended. */
static void test_state_comes_back(void **state)
{
    (void)state;
    world_new();
    node_up();
    struct peer *kubelet = peer_open(LINK_REGISTRATION, 65535);
    struct peer *p = peer_open(LINK_GRPC_HEALTH, 1);
    const struct peer_call *c = watch(p, "readiness");
    assert_string_equal(told(c), "1");
    p->deaf = true;
    notify(kubelet, false);
    notify(kubelet, true);
    p->deaf = false;
    pass(GRPC_REPLY_MS);
    assert_string_equal(told(c), "11");
    assert_false(c->ended);
}

static void test_many(void **state)
{
    struct peer_call *c[GRPC_HEALTH_SUBSCRIPTIONS_PER_LINK];
    (void)state;
    world_new();
    start();
    struct peer *p = peer_open(LINK_GRPC_HEALTH, 65535);
    struct peer *q = peer_open(LINK_GRPC_HEALTH, 65535);
    for (unsigned i = 0; i < GRPC_HEALTH_SUBSCRIPTIONS_PER_LINK; i++) {
        c[i] = watch(p, "liveness");
        assert_string_equal(told(c[i]), "1");
    }
    call_refused(p, WATCH_PATH, view_of(NULL, 0), GRPC_RESOURCE_EXHAUSTED);
    assert_string_equal(told(watch(q, "liveness")), "1");
    call_cancel(p, c[1]);
    assert_string_equal(told(watch(p, "readiness")), "2");
    call_refused(p, WATCH_PATH, view_of(NULL, 0), GRPC_RESOURCE_EXHAUSTED);
    /* what a connection leaves behind is not the next one's */
    peer_close(p);
    p = peer_open(LINK_GRPC_HEALTH, 65535);
    for (unsigned i = 0; i < GRPC_HEALTH_SUBSCRIPTIONS_PER_LINK; i++) {
        assert_string_equal(told(watch(p, "other")), "3");
    }
}

/* Each time before it was looked at: no answer, no entry, and in the end ENHANCE_YOUR_CALM. */
static void test_rapid_cancels(void **state)
{
    unsigned n = 0;
    (void)state;
    world_new();
    start();
    struct peer *p = peer_open(LINK_GRPC_HEALTH, 65535);
    for (; n < 2 * H2_CREDIT_MAX && !p->closed_by_agent; n++) {
        struct peer_call *c = call_send(p, WATCH_PATH, view_of(NULL, 0));
        call_cancel(p, c);
        assert_true(p->closed_by_agent || links_calls_open(world.agent) == 0);
    }
    assert_true(p->closed_by_agent && p->goaway);
    assert_in_range(n, H2_CREDIT_MAX, H2_CREDIT_MAX + 1);
    assert_string_equal(told(watch(peer_open(LINK_GRPC_HEALTH, 65535), "")), "1");
}

/* Connections that only watch give way to the kubelet: none of them is at work. */
static void test_watches_keep_nobody_out(void **state)
{
    struct peer *p[SERVICE_LINKS];
    (void)state;
    world_new();
    node_up();
    for (unsigned i = 0; i < SERVICE_LINKS; i++) {
        p[i] = peer_open_as(LINK_SERVICE, 65535, 10 + i);
        (void)watch(p[i], "readiness");
        pass(1);
    }
    assert_int_equal(agent_link_open(world.agent, LINK_SERVICE, 1, world.now_ms), -1);
    world.poked = true;
    settle();
    assert_true(p[0]->closed_by_agent && p[0]->goaway);
    assert_false(p[1]->closed_by_agent);
    struct peer *kubelet = peer_open_as(LINK_SERVICE, 65535, 1);
    (void)call_now(kubelet, PREPARE, view_of(NULL, 0));
    assert_int_equal(links_calls_open(world.agent), SERVICE_LINKS - 1);
}

/* A watch waits for ever: the end does not wait for it. */
static void test_stop(void **state)
{
    (void)state;
    world_new();
    node_up();
    struct peer *p = peer_open(LINK_GRPC_HEALTH, 65535);
    const struct peer_call *ready = watch(p, "readiness");
    const struct peer_call *live = watch(p, "liveness");
    agent_stop(world.agent, world.now_ms);
    world.poked = true;
    settle();
    assert_true(world.exited && p->goaway);
    assert_string_equal(told(ready), "12");
    assert_string_equal(told(live), "1");
    assert_int_equal(ready->status, GRPC_UNAVAILABLE);
    assert_int_equal(live->status, GRPC_UNAVAILABLE);
    log_has("no call was running");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_sockets),
        cmocka_unit_test(test_odd_requests),
        cmocka_unit_test(test_slow_reader),
        cmocka_unit_test(test_state_comes_back),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_rapid_cancels),
        cmocka_unit_test(test_watches_keep_nobody_out),
        cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
