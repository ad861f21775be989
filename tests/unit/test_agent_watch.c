/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole agent watching its ResourceSlice: what others change is repaired, and whatever the
 * API server does to the watch, it is opened again, without a storm of requests.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

static void up(void)
{
    world_new();
    node_up();
    assert_int_equal(api_slices(), 1);
    assert_non_null(api_watch_of(SIM_SLICE));
    api_forget();
    log_forget();
}

static void check_right(void)
{
    const struct sim_object *s = api_slice_only();
    assert_int_equal(slice_devices(s), 16);
    assert_string_equal(slice_owner(s), NODE_UID);
    assert_true(publish_current(world.agent));
    assert_true(agent_ready(world.agent));
    assert_non_null(api_watch_of(SIM_SLICE));
}

/* Path of the watch under way. */
static bool watches_from(uint64_t version)
{
    char text[48];
    (void)snprintf(text, sizeof text, "&resourceVersion=%llu", (unsigned long long)version);
    const char *at = strstr(api_watch_of(SIM_SLICE)->path, text);
    return at != NULL && at[strlen(text)] == 0;
}

/* --- what others do --- */

static void test_deleted(void **state)
{
    (void)state;
    up();
    api_slice_delete(api_slice_only());
    pass(SLICE_REPAIR_MS - 1);
    assert_int_equal(api_writes(), 0);
    assert_false(agent_ready(world.agent));
    pass(1000);
    check_right();
    assert_int_equal(api_asked("POST "), 1);
    /* a pool's next slice has the next generation */
    assert_int_equal(slice_generation(api_slice_only()), 2);
    log_has("slice_drift_detected");
}

static void test_deleted_again_and_again(void **state)
{
    (void)state;
    up();
    for (unsigned i = 2; i < 12; i++) {
        api_slice_delete(api_slice_only());
        pass(60000);
        check_right();
        assert_int_equal(slice_generation(api_slice_only()), i);
    }
    assert_int_equal(took.asked, 1);
    (void)event_only("ResourceSliceDriftDetected");
    /* another incident, another Event */
    pass(SLICE_INCIDENT_MS);
    for (unsigned i = 0; i < 3; i++) {
        api_slice_delete(api_slice_only());
        pass(60000);
    }
    assert_int_equal(events_stored(), 2);
}

/*
 * Somebody deletes the slices of all nodes, one after the other: each agent restores its own, and
 * logs it. An Event of each agent would be as many requests as the slices themselves.
 */
static void test_all_deleted(void **state)
{
    (void)state;
    static const char *const flags[] = {"--ultraserver-devices", "both"};
    world_new();
    settings_set(flags, 2);
    found_set("trn2u.48xlarge", 16, 8);
    (void)snprintf(world.found.ultraserver.modes, sizeof world.found.ultraserver.modes, "1,3,4");
    for (unsigned n = 0; n < ULTRASERVER_SIZES; n++) {
        (void)snprintf(world.found.ultraserver.node_id[n], 2, "2");
        (void)snprintf(world.found.ultraserver.server_id[n], 17, "00000000000000a%u", n);
    }
    node_up();
    unsigned slices = api_slices();
    assert_int_equal(slices, 2);
    for (unsigned i = 0; i < slices; i++) {
        log_forget();
        api_slice_delete(api_slice_at(i));
        pass(5000);
        log_has("slice_drift_detected");
        assert_int_equal(api_slices(), slices);
        assert_true(publish_current(world.agent));
    }
    pass(60000);
    assert_int_equal(took.asked, 0);
}

/* A slice of another pool of this node and driver is somebody's own: it is left alone. */
static void test_another_pool(void **state)
{
    uint8_t pool_bytes[128];
    uint8_t spec_bytes[256];
    uint8_t body_bytes[300];
    struct writer pool = writer_of(pool_bytes, sizeof pool_bytes);
    struct writer spec = writer_of(spec_bytes, sizeof spec_bytes);
    struct writer body = writer_of(body_bytes, sizeof body_bytes);
    (void)state;
    up();
    struct sim_object *ours = api_slice_only();
    put_str(&pool, 1, "another-pool");
    put_int(&pool, 2, 1);
    put_int(&pool, 3, 1);
    put_str(&spec, 1, "neuron.aws.com");
    put_view(&spec, 2, writer_view(&pool));
    put_str(&spec, 3, NODE_NAME);
    put_view(&body, 2, writer_view(&spec));
    (void)api_slice_new("another", view_of(NULL, 0), writer_view(&body));
    pass(1000);
    api_slice_delete(ours);
    pass(60000);
    assert_non_null(api_slice_named("another"));
    assert_int_equal(api_slices(), 2);
    assert_int_equal(api_asked("DELETE "), 0);
    assert_true(publish_current(world.agent));
}

/* A slice too many that is being deleted already, and kept by a finalizer, is not deleted again. */
static void test_surplus_that_goes(void **state)
{
    (void)state;
    up();
    api_slice_keep(api_slice_double(api_slice_only(), "another"));
    pass(60000);
    assert_int_equal(api_writes(), 0);
    assert_int_equal(said("event=slice_drift_detected"), 0);
    assert_true(publish_current(world.agent));
    assert_int_equal(api_slices(), 2);
}

/* Somebody deletes the slice that is to be updated: the update finds none, and it is made again. */
static void test_deleted_before_the_update(void **state)
{
    (void)state;
    up();
    api.write_http = 404;
    found_set("trn2.48xlarge", 15, 8);
    agent_found(world.agent, &world.found);
    world.poked = true;
    pass(5000);
    assert_true(api_asked("PUT ") > 0);
    log_has("event=slice_write_conflicted");
    api.write_http = 0;
    pass(60000);
    assert_int_equal(slice_devices(api_slice_only()), 15);
    assert_true(publish_current(world.agent));
}

static bool lists(void)
{
    return world.agent->publish->round.step == ROUND_LIST;
}

static bool writes(void)
{
    return world.agent->publish->round.step == ROUND_WRITE;
}

/* What is seen of slices while a write is under way is looked at after it, whoever made them. */
static void test_strange_slice_during_a_write(void **state)
{
    (void)state;
    up();
    found_set("trn2.48xlarge", 15, 8);
    agent_found(world.agent, &world.found);
    world.poked = true;
    world.halt = lists;
    pass(5000);
    assert_true(lists());
    api.hangs = true; /* so that the write is not answered */
    world.halt = NULL;
    settle();
    unsigned listed = api_lists();
    struct sim_object *s = api_slice_foreign("strange", "neuron.aws.com", NODE_NAME);
    settle();
    api_slice_delete(s);
    settle();
    assert_true(writes());
    assert_int_equal(api_lists(), listed);
    api_release();
    pass(SLICE_REPAIR_MS + 5000);
    assert_true(api_lists() > listed);
    assert_int_equal(slice_devices(api_slice_only()), 15);
    assert_true(publish_current(world.agent));
}

/*
 * The server lowers its limit on streams while a write is under way: the watch ends, and the round
 * that runs is followed by no other one for it.
 */
static void test_no_room_during_a_write(void **state)
{
    static const uint8_t one_stream[] = {0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1};
    (void)state;
    up();
    found_set("trn2.48xlarge", 15, 8);
    agent_found(world.agent, &world.found);
    world.poked = true;
    world.halt = lists;
    pass(5000);
    assert_true(lists());
    api.hangs = true;
    world.halt = NULL;
    settle();
    assert_true(writes());
    struct writer in = agent_link_rx(world.agent, LINK_API);
    memcpy(in.data + in.len, one_stream, sizeof one_stream);
    agent_link_rx_commit(world.agent, LINK_API, sizeof one_stream);
    world.poked = true;
    settle();
    assert_int_equal(api_asked("(reset " SLICES_PATH), 1);
    assert_true(writes());
    assert_true(pacing_due(&world.agent->publish->pacing) == UINT64_MAX);
    api_release();
    pass(5000);
    assert_int_equal(slice_devices(api_slice_only()), 15);
    assert_true(publish_current(world.agent));
}

/* Somebody who will not have our slice does not draw us into writing without pause. */
static void test_fight(void **state)
{
    (void)state;
    up();
    for (unsigned i = 0; i < 6000; i++) {
        if (api_slices() > 0) {
            api_slice_cut(api_slice_only());
        }
        pass(100);
    }
    assert_in_range(api_writes(), 10, 60);
    pass(60000);
    check_right();
}

static bool writing(void)
{
    return api_slot_kind(world.agent, API_SLOT_SLICES) == API_WRITE_SLICE;
}

/* Somebody deletes the slice between our list and the end of our write. */
static void test_deleted_in_a_write(void **state)
{
    (void)state;
    up();
    api_slice_cut(api_slice_only());
    world.halt = writing;
    pass(1000);
    assert_true(writing());
    world.halt = NULL;
    api_slice_delete(api_slice_only());
    pass(5000);
    check_right();
}

static void test_changed(void **state)
{
    (void)state;
    up();
    api_slice_cut(api_slice_only());
    pass(1000);
    check_right();
    assert_int_equal(api_asked("PUT "), 1);
    assert_int_equal(api_writes(), 1);
    api_slice_own(api_slice_only(), "nobody");
    pass(1000);
    check_right();
    assert_int_equal(api_writes(), 2);
}

static void test_doubled(void **state)
{
    (void)state;
    up();
    (void)api_slice_double(api_slice_only(), "double");
    pass(1000);
    check_right();
    assert_int_equal(api_asked("DELETE "), 1);
    assert_int_equal(api_writes(), 1);
}

/* Deleted, and kept by somebody's finalizer: another one takes its place at once. */
static void test_kept_by_a_finalizer(void **state)
{
    (void)state;
    up();
    api_slice_keep(api_slice_only());
    pass(2000);
    assert_int_equal(api_asked("POST "), 1);
    assert_int_equal(api_writes(), 1);
    assert_int_equal(api_slices(), 2);
    assert_true(publish_current(world.agent));
}

static bool created(void)
{
    return writing() && api_slices() == 1;
}

/* The double comes while the answer to our own creation is on its way. */
static void test_doubled_in_a_write(void **state)
{
    (void)state;
    up();
    world.halt = created;
    api_slice_delete(api_slice_only());
    pass(1000);
    assert_true(created());
    world.halt = NULL;
    (void)api_slice_double(api_slice_only(), "double");
    pass(5000);
    check_right();
    assert_int_equal(api_asked("POST "), 1);
    assert_int_equal(api_asked("DELETE "), 1);
}

/* Several hints become one round. */
static void test_hints_are_gathered(void **state)
{
    (void)state;
    up();
    for (unsigned i = 0; i < 5; i++) {
        api_slice_cut(api_slice_only());
        pass(20);
    }
    pass(2000);
    check_right();
    assert_int_equal(api_asked("GET " SLICES_PATH "?"), 1);
}

/* --- what the server does to the watch --- */

static void test_bookmark(void **state)
{
    (void)state;
    up();
    server.store.version = 9000;
    sim_api_bookmark(&server, SIM_SLICE);
    settle();
    api_watch_end(SIM_SLICE);
    pass(2000);
    assert_true(watches_from(9000));
    assert_int_equal(api_writes(), 0);
    assert_int_equal(api_lists(), 0);
    check_right();
}

static void test_end_and_resume(void **state)
{
    (void)state;
    up();
    uint64_t version = server.store.version;
    api.any_selector = true;
    (void)api_slice_foreign("gpu", "gpu.example.com", NODE_NAME);
    settle();
    api_watch_end(SIM_SLICE);
    settle();
    assert_null(api_watch_of(SIM_SLICE));
    pass(2000);
    assert_true(watches_from(version + 1));
    assert_int_equal(api_watches_asked(), 1);
    assert_int_equal(api_lists(), 0);
}

static void test_expired(void **state)
{
    (void)state;
    up();
    server.store.version = 5000;
    sim_api_expire(&server, SIM_SLICE);
    pass(2000);
    assert_true(watches_from(5000));
    assert_int_equal(api_lists(), 1);
    assert_int_equal(api_writes(), 0);
    check_right();
}

/* What happened while no watch ran is seen by the list. */
static void test_expired_and_deleted(void **state)
{
    (void)state;
    up();
    sim_api_expire(&server, SIM_SLICE);
    api_watch_end(SIM_SLICE);
    api_slice_delete(api_slice_only());
    pass(3000);
    check_right();
    assert_int_equal(api_asked("POST "), 1);
}

static void test_expired_at_once(void **state)
{
    (void)state;
    up();
    api.watch_http = 410;
    api_watch_end(SIM_SLICE);
    pass(2000);
    api.watch_http = 0;
    pass(60000);
    check_right();
    assert_int_equal(api_writes(), 0);
}

/* A watch that is refused is asked for again, slowly, and the slice counts as what it is. */
static void refused_watch(unsigned http, unsigned most)
{
    up();
    api.watch_http = http;
    api_watch_end(SIM_SLICE);
    pass(600000);
    assert_in_range(api_watches_asked(), 10, most);
    if (http != 410) {
        log_has("api_request_failed");
    }
    api.watch_http = 0;
    pass(60000);
    check_right();
    assert_int_equal(api_writes(), 0);
}

static void test_refused(void **state)
{
    (void)state;
    refused_watch(403, 25);
    refused_watch(500, 60);
    refused_watch(410, 40);
}

/* A server that ends every watch at once is not asked in a storm. */
static void test_short_watches(void **state)
{
    (void)state;
    up();
    for (unsigned i = 0; i < 600; i++) {
        if (api_watch_of(SIM_SLICE) != NULL) {
            api_watch_end(SIM_SLICE);
        }
        pass(100);
    }
    assert_in_range(api_watches_asked(), 3, 12);
    pass(60000);
    check_right();
}

static void test_reset(void **state)
{
    (void)state;
    up();
    struct sim_stream *s = api_watch_of(SIM_SLICE);
    h2_reset(api_h2(), s->id, H2_INTERNAL_ERROR);
    s->state = SIM_STREAM_FREE;
    pass(2000);
    check_right();
    assert_int_equal(api_lists(), 0);
}

/* The server never ends it: the agent does, and goes on from where it was. */
static void test_endless(void **state)
{
    (void)state;
    up();
    pass(4u * 3600000u);
    assert_in_range(api_watches_asked(), 3, 4);
    assert_int_equal(api_writes(), 0);
    check_right();
}

static void test_garbage(void **state)
{
    (void)state;
    up();
    struct sim_stream *s = api_watch_of(SIM_SLICE);
    memcpy(s->out + s->out_len, "\0\0\0\x05\x0a\xff\xff\xff\x7f", 9);
    s->out_len += 9;
    pass(60000);
    check_right();
    assert_int_equal(api_writes(), 0);
}

/* --- connections --- */

static void test_goaway(void **state)
{
    (void)state;
    up();
    unsigned connections = api.connections;
    sim_api_goaway(&server, api.link, false);
    pass(3000);
    assert_int_equal(api.connections, connections + 1);
    check_right();
    assert_int_equal(api_writes(), 0);
}

static void test_changed_while_away(void **state)
{
    (void)state;
    up();
    api.reachable = false;
    api_end("");
    settle();
    api_slice_delete(api_slice_only());
    pass(60000);
    api.reachable = true;
    pass(60000);
    check_right();
}

/* The API server starts again, and answers 403 from now on. */
static void restart_forbidding(void)
{
    up();
    pass(API_ROLES_MS); /* the rule is about the next connection, and this one is old */
    api_forget();
    api.list_http = api.watch_http = api.node_watch_http = api.node_http = 403;
    api_end("");
    pass(API_RECONNECT_MS);
    assert_true(api_asked("") > 0);
}

/* Roles that the server has not read yet: its 403 is met as a 5xx, and no Event tells of it. */
static void test_roles_unread(void **state)
{
    (void)state;
    restart_forbidding();
    pass(API_ROLES_MS - API_RECONNECT_MS - 20000);
    assert_true(api_asked("") < 20);
    assert_int_equal(api_asked("GET " NODES_PATH "/"), 0);
    log_has("doing=\"list slices\" status=peer-refused http=403");
    log_has("doing=\"watch Node\" status=peer-refused http=403");
    log_has("remedy=\"none needed: the agent retries\"");
    assert_null(strstr(world.log, "check RBAC"));
    assert_null(strstr(world.log, "grant the agent's ClusterRole"));
    api.list_http = api.watch_http = api.node_watch_http = api.node_http = 0;
    pass(20000);
    assert_non_null(api_watch_of(SIM_NODE));
    check_right();
    assert_int_equal(api_writes(), 0);
    pass(60000);
    assert_int_equal(took.asked, 0);
}

/* A role that was taken away while the server was away is reported in the end. */
static void test_roles_lost(void **state)
{
    (void)state;
    restart_forbidding();
    pass(API_ROLES_MS + API_BUSY_MAX_MS * 5 / 4 + 1000);
    log_has("check RBAC");
    log_has("grant the agent's ClusterRole");
    pass(60000);
    assert_true(took.posts > 0);
    /* the next connection brings no patience: the last answer was a refusal */
    log_forget();
    api_forget();
    api_end("");
    pass(API_RECONNECT_MS + 5000);
    assert_true(api_asked(NODES_PATH) <= 2);
}

/* The role of a new agent does not exist yet, or it lacks ResourceSlices. */
static void start_forbidden(bool node)
{
    world_new();
    api.list_http = api.watch_http = 403;
    api.node_watch_http = api.node_http = node ? 403 : 0;
    node_up();
}

static uint64_t first_slice_within(uint64_t most_ms)
{
    uint64_t from_ms = world.now_ms;
    while (api_slices() == 0u && world.now_ms - from_ms < most_ms) {
        pass(100);
    }
    return world.now_ms - from_ms;
}

/*
 * An agent that starts before its roles exist asks again within seconds, and not many times. What
 * lacks is reported at once, without an Event.
 */
static void test_roles_new(void **state)
{
    (void)state;
    for (unsigned late_s = 1; late_s < 50; late_s += 7) {
        bool node = late_s % 2u == 0u;
        start_forbidden(node);
        pass(late_s * 1000u);
        log_has(node ? "grant the agent's ClusterRole" : "check RBAC");
        assert_in_range(api_asked(""), 2, 30);
        api.list_http = api.watch_http = api.node_watch_http = api.node_http = 0;
        uint64_t doubled_ms = 2u * late_s * 1000u + 2000u;
        uint64_t bound_ms = 2u * API_RETRY_LEAST_MS + 1000u;
        assert_true(first_slice_within(60000) <= ((doubled_ms < bound_ms) ? doubled_ms : bound_ms));
        pass(2000);
        check_right();
        assert_int_equal(took.posts, 0);
    }
}

/* Roles that do not come are asked for slowly after API_ROLES_MS, and reported by an Event. */
static void test_roles_never_come(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        const char *asked = (i == 0u) ? "GET " SLICES_PATH "?" : "GET " NODES_PATH "/";
        start_forbidden(i == 1u);
        pass(API_ROLES_MS + 2u * API_RETRY_LEAST_MS);
        api_forget();
        pass(300000);
        assert_in_range(api_asked(asked), 7, 10);
        assert_true(took.posts > 0);
    }
}

/* What a server allowed once on the first connection is not about to be granted. */
static void test_roles_lost_on_the_first_connection(void **state)
{
    (void)state;
    up();
    log_forget();
    api_forget();
    api.list_http = 403;
    sim_api_expire(&server, SIM_SLICE);
    api_watch_end(SIM_SLICE);
    pass(API_REFUSED_MS - 1000);
    assert_int_equal(api_asked("GET " SLICES_PATH "?"), 1);
    log_has("check RBAC");
}

/* A role that is taken away while the agent is connected is reported at once: it was in force. */
static void test_roles_lost_at_once(void **state)
{
    (void)state;
    up();
    api_end("");
    pass(API_RECONNECT_MS);
    assert_int_equal(api_lists(), 1);
    log_forget();
    api.list_http = 403;
    sim_api_expire(&server, SIM_SLICE);
    api_watch_end(SIM_SLICE);
    pass(3000);
    log_has("doing=\"list slices\" status=peer-refused http=403");
    log_has("check RBAC");
}

/* --- servers that are odd: no loop without an end, whatever they say --- */

static void test_list_without_version(void **state)
{
    (void)state;
    world_new();
    api.no_version = true;
    node_up();
    pass(60000);
    log_has("event=api_request_failed doing=\"watch slices\" status=peer-malformed http=200");
    log_has("cause=\"the list has no resourceVersion\"");
    assert_true(publish_current(world.agent)); /* all the same */
    assert_int_equal(api_lists(), 1);
    assert_null(api_watch_of(SIM_SLICE));
    /* the next lists have none either, which is not said each time */
    for (unsigned i = 0; i < 2; i++) {
        found_set("trn2.48xlarge", 15 - i, 8);
        agent_found(world.agent, &world.found);
        world.poked = true;
        pass(5000);
    }
    assert_int_equal(api_lists(), 3);
    assert_int_equal(said("event=api_request_failed doing=\"watch slices\""), 2);
    api_slice_delete(api_slice_only());
    pass(world.settings.reconcile_ms * 5u / 4u + 1000u);
    assert_int_equal(api_slices(), 1);
}

/* As few requests at a time as a server allows: watches leave the last one to what ends. */
static void few_streams(unsigned streams)
{
    world_new();
    api.streams_max = streams;
    claim_add(0);
    claim_add(1)->fault = API_HANGS;
    node_up();
    pass(20000);
    assert_int_equal(api_slices(), 1);
    assert_true(publish_current(world.agent));
    log_has("event=api_request_failed doing=watch");
    log_has("remedy=\"raise --http2-max-streams-per-connection of the API server\"");
    log_forget();
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    pass(1000);
    assert_string_equal(prepare_error(call_reply_of(c), 0), "");
    c = call_send(p, PREPARE, claims_request(1, 1));
    pass(CLAIM_GET_MS + 1000);
    assert_non_null(strstr(prepare_error(call_reply_of(c), 1), "no response in time"));
    /* slices and Node are read from time to time, and nobody is alarmed again */
    api_slice_delete(api_slice_only());
    api.node_uid = "5ad9b0c4-0000-4000-8000-00000000000b";
    api_forget();
    pass(2 * API_BACKOFF_MAX_MS);
    assert_string_equal(slice_owner(api_slice_only()), api.node_uid);
    assert_in_range(api_asked(""), 3, 12);
    assert_int_equal(api_writes(), 1);
    assert_null(strstr(world.log, "api_request_failed"));
    assert_null(strstr(world.log, "api_connection_lost"));
}

static void test_one_stream(void **state)
{
    (void)state;
    few_streams(1);
    assert_null(api_watch_of(SIM_NODE));
    assert_null(api_watch_of(SIM_SLICE));
}

static void test_two_streams(void **state)
{
    (void)state;
    few_streams(2);
    assert_null(api_watch_of(SIM_NODE));
    assert_non_null(api_watch_of(SIM_SLICE));
}

/* The path dies while a body fills the send buffer: even a PING has no room. */
static void test_stuck_output(void **state)
{
    (void)state;
    up();
    world.api_deaf = true;
    found_set("trn2.48xlarge", 15, 8);
    agent_found(world.agent, &world.found);
    world.poked = true;
    unsigned steps = world.steps;
    pass(60000);
    assert_true(world.steps - steps < 200);
    const struct sim_object *s = api_slice_only();
    assert_int_equal(slice_devices(s), 15);
    assert_true(publish_current(world.agent));
}

/* As many PINGs as the agent takes from a peer that reads none of the answers. */
static void ping_flood(unsigned link)
{
    static const uint8_t ping[17] = {0, 0, 8, 6};
    for (unsigned i = 0; i < 200; i++) {
        struct writer room = agent_link_rx(world.agent, link);
        if (room.cap - room.len < sizeof ping) {
            return;
        }
        memcpy(room.data + room.len, ping, sizeof ping);
        agent_link_rx_commit(world.agent, link, sizeof ping);
        world.poked = true;
        settle();
    }
}

static void test_flooded_output(void **state)
{
    (void)state;
    up();
    world.api_deaf = true;
    found_set("trn2.48xlarge", 15, 8);
    agent_found(world.agent, &world.found);
    world.poked = true;
    settle();
    ping_flood(LINK_API);
    unsigned steps = world.steps;
    pass(60000);
    assert_true(world.steps - steps < 200);
    assert_true(publish_current(world.agent));
    struct peer *p = service_open();
    p->deaf = true;
    ping_flood((unsigned)p->link);
    steps = world.steps;
    pass(60000);
    assert_true(world.steps - steps < 200);
    assert_true(p->closed_by_agent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_another_pool),
        cmocka_unit_test(test_surplus_that_goes),
        cmocka_unit_test(test_deleted_before_the_update),
        cmocka_unit_test(test_strange_slice_during_a_write),
        cmocka_unit_test(test_no_room_during_a_write),
        cmocka_unit_test(test_deleted),
        cmocka_unit_test(test_deleted_again_and_again),
        cmocka_unit_test(test_all_deleted),
        cmocka_unit_test(test_fight),
        cmocka_unit_test(test_deleted_in_a_write),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_doubled),
        cmocka_unit_test(test_kept_by_a_finalizer),
        cmocka_unit_test(test_doubled_in_a_write),
        cmocka_unit_test(test_hints_are_gathered),
        cmocka_unit_test(test_bookmark),
        cmocka_unit_test(test_end_and_resume),
        cmocka_unit_test(test_expired),
        cmocka_unit_test(test_expired_and_deleted),
        cmocka_unit_test(test_expired_at_once),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_short_watches),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_endless),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_goaway),
        cmocka_unit_test(test_changed_while_away),
        cmocka_unit_test(test_roles_unread),
        cmocka_unit_test(test_roles_lost),
        cmocka_unit_test(test_roles_new),
        cmocka_unit_test(test_roles_never_come),
        cmocka_unit_test(test_roles_lost_on_the_first_connection),
        cmocka_unit_test(test_roles_lost_at_once),
        cmocka_unit_test(test_list_without_version),
        cmocka_unit_test(test_one_stream),
        cmocka_unit_test(test_two_streams),
        cmocka_unit_test(test_stuck_output),
        cmocka_unit_test(test_flooded_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
