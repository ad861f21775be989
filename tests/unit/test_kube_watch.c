/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One Kubernetes watch, for both kinds of owner: one that lists, and one whose watch reports the
 * current state by itself. Records and ends are handed in as the client does.
 */
#include "agent/api/watch.h"

#include "tests/unit/kubelet/agent_kubelet.h"
#include "tests/unit/wire/protobuf_build.h"

static struct kube_watch watch;
static struct api_result result;

/* A connected agent, and a watch in a slot that it does not use now. */
static void up(bool reports_state)
{
    world_new();
    node_up();
    assert_true(api_ready(world.agent));
    memset(&watch, 0, sizeof watch);
    memset(&result, 0, sizeof result);
    watch_init(&watch, API_SLOT_CLAIM_STATUS, reports_state);
    result.status = STATUS_MORE;
    result.http = 200;
}

static struct watch_report hand_in(uint8_t kind, struct view message)
{
    const struct kube_record record = {.record = kind, .message = message};
    return watch_record(world.agent, &watch, &result, &record);
}

/* A whole event; its last report. */
static struct watch_report event(const char *type, const char *version)
{
    static struct message m;
    put_text(message_new(&m), 1, type);
    struct watch_report started = hand_in(KUBE_WATCH_EVENT, message_view(&m));
    assert_int_equal(started.kind, WATCH_EVENT_STARTS);
    (void)message_new(&m);
    if (version != NULL) {
        put_text(&m, 4, version);
    }
    assert_int_equal(hand_in(KUBE_META, message_view(&m)).kind, WATCH_NOTHING);
    return hand_in(KUBE_OBJECT_END, view_of(NULL, 0));
}

static struct watch_report ends(enum status status, uint16_t http)
{
    result.status = status;
    result.http = http;
    return watch_end(world.agent, &watch, &result);
}

static bool is_planned(void)
{
    return watch_deadline(world.agent, &watch) != UINT64_MAX;
}

/* --- versions --- */

static void test_version_follows_the_events(void **state)
{
    (void)state;
    up(false);
    assert_int_equal(event("ADDED", "11").kind, WATCH_STORED);
    assert_string_equal(watch.version, "11");
    assert_int_equal(event("MODIFIED", NULL).kind, WATCH_STORED);
    assert_string_equal(watch.version, "11");
    assert_int_equal(event("BOOKMARK", "17").kind, WATCH_BOOKMARK);
    assert_string_equal(watch.version, "17");
    assert_int_equal(event("DELETED", "18").kind, WATCH_DELETED);
    assert_string_equal(watch.version, "18");
}

/* An event that is cut off changes nothing: the next watch starts before it. */
static void test_half_an_event(void **state)
{
    static struct message m;
    (void)state;
    up(false);
    watch_from(&watch, view_text("5"));
    put_text(message_new(&m), 4, "6");
    (void)hand_in(KUBE_META, message_view(&m));
    assert_int_equal(ends(PEER_CLOSED, 200).kind, WATCH_NOTHING);
    assert_string_equal(watch.version, "5");
    assert_true(is_planned());
}

/* A version that did not fit its record is none: the next watch starts from the one before. */
static void test_truncated_version(void **state)
{
    static struct message m;
    (void)state;
    up(false);
    assert_int_equal(event("ADDED", "11").kind, WATCH_STORED);
    put_text(message_new(&m), 1, "MODIFIED");
    assert_int_equal(hand_in(KUBE_WATCH_EVENT, message_view(&m)).kind, WATCH_EVENT_STARTS);
    put_text(message_new(&m), 4, "12");
    const struct kube_record meta = {
        .record = KUBE_META, .truncated = true, .message = message_view(&m)};
    assert_int_equal(watch_record(world.agent, &watch, &result, &meta).kind, WATCH_NOTHING);
    assert_int_equal(hand_in(KUBE_OBJECT_END, view_of(NULL, 0)).kind, WATCH_STORED);
    assert_string_equal(watch.version, "11");
}

/* --- a version that is too old --- */

static void test_gone_by_status_code(void **state)
{
    (void)state;
    up(false);
    watch_from(&watch, view_text("5"));
    struct watch_report r = ends(PEER_REFUSED, 410);
    assert_int_equal(r.kind, WATCH_OUTDATED);
    assert_true(r.wait_ms > 0);
    assert_false(is_planned());
    watch_resume(world.agent, &watch);
    assert_true(is_planned());
}

static void test_gone_by_an_event(void **state)
{
    (void)state;
    up(false);
    watch_from(&watch, view_text("5"));
    assert_int_equal(hand_in(KUBE_STATUS, view_of(NULL, 0)).kind, WATCH_OUTDATED);
    assert_false(is_planned());
    result.http = 403; /* the Status is the answer itself: its end says so */
    assert_int_equal(hand_in(KUBE_STATUS, view_of(NULL, 0)).kind, WATCH_NOTHING);
}

static void test_gone_and_no_list_is_needed(void **state)
{
    (void)state;
    up(true);
    watch_from(&watch, view_text("5"));
    assert_int_equal(ends(PEER_REFUSED, 410).kind, WATCH_NOTHING);
    assert_string_equal(watch.version, "");
    assert_true(is_planned());
    watch_from(&watch, view_text("5"));
    result.http = 200;
    assert_int_equal(hand_in(KUBE_STATUS, view_of(NULL, 0)).kind, WATCH_NOTHING);
    assert_string_equal(watch.version, "");
    assert_true(is_planned());
}

/* --- other ends --- */

static void test_normal_ends(void **state)
{
    static const enum status statuses[] = {STATUS_OK, PEER_CLOSED, PEER_TIMEOUT};
    (void)state;
    for (unsigned i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        up(false);
        watch_from(&watch, view_text("5"));
        assert_int_equal(ends(statuses[i], 200).kind, WATCH_NOTHING);
        assert_string_equal(watch.version, "5");
        assert_true(is_planned());
        assert_false(watch.unusable);
    }
    assert_int_equal(ends(PEER_TIMEOUT, 0).kind, WATCH_OUTDATED); /* no answer came at all */
    assert_int_equal(ends(PEER_MALFORMED, 200).kind, WATCH_OUTDATED);
}

static void test_refused(void **state)
{
    (void)state;
    up(true);
    struct watch_report r = ends(PEER_REFUSED, 403);
    assert_int_equal(r.kind, WATCH_REFUSED);
    assert_true(r.first);
    assert_true(r.wait_ms >= API_REFUSED_MS);
    r = ends(PEER_REFUSED, 403);
    assert_false(r.first);
    assert_true(r.wait_ms >= 2 * API_REFUSED_MS);
    assert_true(watch.unusable);
    uint64_t due_ms = watch.due_ms;
    watch_disconnected(world.agent, &watch);
    assert_true(watch.due_ms == due_ms);
    result.http = 200;
    (void)event("ADDED", "7");
    assert_false(watch.unusable);
}

static void test_no_room(void **state)
{
    (void)state;
    up(false);
    watch_from(&watch, view_text("5"));
    assert_int_equal(ends(FULL_TABLE, 0).kind, WATCH_NO_ROOM);
    assert_false(is_planned());
    assert_string_equal(watch.version, "5");
}

static void test_reconnect(void **state)
{
    (void)state;
    up(true);
    for (unsigned i = 0; i < 4; i++) {
        (void)ends(PEER_CLOSED, 200);
    }
    assert_true(watch.due_ms > world.agent->now_ms);
    watch_disconnected(world.agent, &watch);
    assert_true(watch_is_due(world.agent, &watch));
}

/* A busy server is asked for the watch again; a third refusal has the owner read instead. */
static void test_busy(void **state)
{
    static const uint16_t codes[] = {429, 500, 503};
    (void)state;
    for (unsigned i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        up(true);
        watch_from(&watch, view_text("5"));
        for (unsigned tries = 0; tries < 2; tries++) {
            struct watch_report r = ends(PEER_REFUSED, codes[i]);
            assert_int_equal(r.kind, WATCH_BUSY);
            assert_true(r.wait_ms < 2 * WATCH_BUSY_MS);
            assert_false(watch.unusable);
            assert_true(is_planned());
        }
        struct watch_report r = ends(PEER_REFUSED, codes[i]);
        assert_int_equal(r.kind, WATCH_REFUSED);
        assert_true(r.first);
        assert_true(watch.unusable);
        assert_string_equal(watch.version, "5");
    }
}

/* Reading would be refused as well by a server that has not read its roles. */
static void test_roles_unread(void **state)
{
    (void)state;
    up(true);
    watch_from(&watch, view_text("5"));
    result.roles_unread = true;
    for (unsigned tries = 0; tries < 9; tries++) {
        struct watch_report r = ends(PEER_REFUSED, 403);
        assert_int_equal(r.kind, WATCH_BUSY);
        assert_true(r.wait_ms <= API_BUSY_MAX_MS * 5 / 4);
        assert_false(watch.unusable);
    }
    assert_string_equal(watch.version, "5");
    result.roles_unread = false;
    struct watch_report r = ends(PEER_REFUSED, 403);
    assert_int_equal(r.kind, WATCH_REFUSED);
    assert_true(r.first && r.wait_ms >= API_REFUSED_MS);
    assert_string_equal(watch.version, "");
}

/* --- silence --- */

static void open_now(uint64_t silent_ms)
{
    const struct api_request r = {.kind = API_WATCH_NODE,
                                  .shape = KUBE_SHAPE_NODE_WATCH,
                                  .head = {.method = "GET", .path = view_text("/silent")}};
    assert_true(watch_is_due(world.agent, &watch));
    watch_open(world.agent, &watch, &r, silent_ms);
    assert_true(api_slot_busy(world.agent, watch.slot));
}

/* The head of the response arrives. */
static void head_arrives(uint16_t http)
{
    world.agent->api->client.exchange[watch.slot].response.http_status = http;
}

/* A server that has not answered is slow and not silent, for as long as a GET may take. */
static void test_slow(void **state)
{
    (void)state;
    up(true);
    open_now(NODE_SILENT_MS);
    assert_true(watch_deadline(world.agent, &watch) == world.agent->now_ms + API_REQUEST_MS);
    world.agent->now_ms += API_REQUEST_MS - 1;
    assert_int_equal(watch_check(world.agent, &watch).kind, WATCH_NOTHING);
    world.agent->now_ms += 1;
    assert_int_equal(watch_check(world.agent, &watch).kind, WATCH_SILENT);
    watch_stop(world.agent, &watch);
    /* it was slow and not mute: the next watch that it accepts is as good as any */
    open_now(UINT64_MAX);
    assert_int_equal(watch_check(world.agent, &watch).kind, WATCH_NOTHING);
    assert_true(watch.unusable);
    head_arrives(200);
    assert_int_equal(watch_check(world.agent, &watch).kind, WATCH_NOTHING);
    assert_false(watch.unusable);
}

/* A refusal of which the body is still awaited does not make a watch that was refused usable. */
static void test_refusal_on_its_way(void **state)
{
    (void)state;
    up(true);
    open_now(NODE_SILENT_MS);
    watch.unusable = true;
    head_arrives(403);
    assert_int_equal(watch_check(world.agent, &watch).kind, WATCH_NOTHING);
    assert_true(watch.unusable);
    head_arrives(299);
    assert_int_equal(watch_check(world.agent, &watch).kind, WATCH_NOTHING);
    assert_false(watch.unusable);
}

static void test_silence(void **state)
{
    (void)state;
    up(true);
    open_now(NODE_SILENT_MS);
    world.agent->now_ms += 3000;
    head_arrives(200);
    assert_int_equal(watch_check(world.agent, &watch).kind, WATCH_NOTHING);
    assert_true(watch_deadline(world.agent, &watch) == world.agent->now_ms + NODE_SILENT_MS);
    world.agent->now_ms += NODE_SILENT_MS;
    struct watch_report r = watch_check(world.agent, &watch);
    assert_int_equal(r.kind, WATCH_SILENT);
    assert_true(r.first);
    assert_int_equal(watch_check(world.agent, &watch).kind, WATCH_NOTHING);
    watch_stop(world.agent, &watch);
    assert_true(watch_is_due(world.agent, &watch));
    /* that the server accepts the next one proves nothing: an event does */
    open_now(UINT64_MAX);
    head_arrives(200);
    assert_int_equal(watch_check(world.agent, &watch).kind, WATCH_NOTHING);
    assert_true(watch.unusable);
    (void)event("MODIFIED", "9");
    assert_false(watch.unusable);
}

/* The state came with the head: nothing is awaited any more. */
static void test_state_with_the_head(void **state)
{
    (void)state;
    up(true);
    open_now(NODE_SILENT_MS);
    head_arrives(200);
    (void)event("ADDED", "3");
    assert_int_equal(watch_check(world.agent, &watch).kind, WATCH_NOTHING);
    assert_true(watch_deadline(world.agent, &watch) == UINT64_MAX);
}

/* One that ends before it reported the state, on a connection that goes on, is silent as well. */
static void test_ends_without_a_word(void **state)
{
    (void)state;
    up(true);
    open_now(NODE_SILENT_MS);
    assert_int_equal(ends(STATUS_OK, 200).kind, WATCH_SILENT);
    watch_stop(world.agent, &watch);
    watch.due_ms = 0;
    open_now(NODE_SILENT_MS);
    (void)event("ADDED", "3");
    assert_int_equal(ends(STATUS_OK, 200).kind, WATCH_NOTHING);
}

static void test_silence_that_is_expected(void **state)
{
    (void)state;
    up(true);
    open_now(UINT64_MAX);
    assert_int_equal(ends(STATUS_OK, 200).kind, WATCH_NOTHING);
    watch_stop(world.agent, &watch);
    watch.due_ms = 0;
    watch_from(&watch, view_text("5")); /* nothing changed since: there is nothing to report */
    open_now(NODE_SILENT_MS);
    assert_int_equal(ends(STATUS_OK, 200).kind, WATCH_NOTHING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_follows_the_events),
        cmocka_unit_test(test_half_an_event),
        cmocka_unit_test(test_truncated_version),
        cmocka_unit_test(test_gone_by_status_code),
        cmocka_unit_test(test_gone_by_an_event),
        cmocka_unit_test(test_gone_and_no_list_is_needed),
        cmocka_unit_test(test_normal_ends),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_reconnect),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_roles_unread),
        cmocka_unit_test(test_slow),
        cmocka_unit_test(test_refusal_on_its_way),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_state_with_the_head),
        cmocka_unit_test(test_ends_without_a_word),
        cmocka_unit_test(test_silence_that_is_expected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
