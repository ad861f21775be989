/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages of the whole agent's metrics port, what they show in each state
 * of the agent, and that clients that read slowly, break off or come in numbers disturb nobody.
 */
#include "tests/unit/kubelet/agent_page.h"

/* --- pages --- */

static void test_pages(void **state)
{
    (void)state;
    world_new();
    start();
    page_is("/healthz", "200 OK", "ok\n");
    page_is("/healthz?verbose", "200 OK", "ok\n");
    page_is("/", "404 Not Found",
            "no such page; there are /metrics /readyz /healthz /statusz /slicesz /slicesz.json "
            "/logz\n");
    node_up();
    page_is("/readyz", "200 OK", "ok\n");
}

static void test_reasons(void **state)
{
    (void)state;
    world_new();
    api.reachable = false;
    start();
    pass(2000);
    page_is("/readyz", "503 Service Unavailable",
            "the kubelet has not registered the driver: the kubelet has not connected to the "
            "registration socket\n"
            "the stored ResourceSlices are not confirmed as up to date: the Node is not known "
            "yet\n"
            "the API server cannot be asked: 10.0.0.1:443: connection refused\n"
            "the claim store is new or lost a part: no new claim is prepared until the claims in "
            "use on this node were listed at the API server\n");
    text_cut(world.agent->serve->registration.last_error, CLAIM_ERROR_CAP, view_text("no\nway"));
    const char *answer = page_get("/readyz");
    assert_non_null(strstr(answer, "has not registered the driver: no way\n"));
    api.reachable = true;
    node_up();
    page_is("/readyz", "200 OK", "ok\n");
    world.agent->ledger->retry_ms = UINT64_MAX;
    world.agent->ledger->usable = false;
    text_cut(world.agent->ledger->trouble, CLAIM_ERROR_CAP, view_text("the store is gone"));
    page_is("/readyz", "503 Service Unavailable", "the store is gone\n");
    metrics_get();
    has_line("neuron_dra_store_usable 0");
    has_line("neuron_dra_ready 0");
    world.agent->ledger->usable = true;
    char text[256];
    struct writer why = writer_of(text, sizeof text);
    world.agent->stopping = true;
    assert_true(ready_reason(world.agent, 0, &why));
    assert_true(view_is(writer_view(&why), "the agent is stopping"));
    world.agent->stopping = false;
    world.agent->node->inventory.devices.unknown = true;
    page_is("/readyz", "503 Service Unavailable",
            "the devices of the node are not known: the sysfs root cannot be read\n");
}

static void plugin_is(const char *name)
{
    agent_device_plugin(world.agent, name);
    world.poked = true;
    settle();
}

#define PLUGIN_REASON                                                                              \
    "a Neuron device plugin runs on this node and allocates the same devices: let only one of "    \
    "the two run here; its socket is /var/lib/kubelet/device-plugins/"

/* Beside a device plugin the agent is not ready, and does its work all the same. */
static void test_device_plugin(void **state)
{
    (void)state;
    world_new();
    (void)claim_add(0);
    node_up();
    metrics_get();
    has_line("neuron_dra_device_plugin 0");
    plugin_is("neuron.sock");
    page_is("/readyz", "503 Service Unavailable", PLUGIN_REASON "neuron.sock\n");
    page_is("/healthz", "200 OK", "ok\n");
    metrics_get();
    has_line("neuron_dra_device_plugin 1");
    has_line("neuron_dra_ready 0");
    has_line("neuron_dra_log_events_total{event=\"device_plugin_found\"} 1");
    prepare_well(0, 1);
    unprepare_well(0, 1);
    plugin_is("neuroncore.sock"); /* another one of its sockets */
    page_is("/readyz", "503 Service Unavailable", PLUGIN_REASON "neuroncore.sock\n");
    plugin_is("");
    page_is("/readyz", "200 OK", "ok\n");
    metrics_get();
    has_line("neuron_dra_device_plugin 0");
    has_line("neuron_dra_log_events_total{event=\"device_plugin_found\"} 1");
    has_line("neuron_dra_log_events_total{event=\"device_plugin_gone\"} 1");
}

/* A process of the node chooses the name: it stays one line, and its length fits the page. */
static void test_device_plugin_name(void **state)
{
    char name[300];
    (void)state;
    world_new();
    node_up();
    plugin_is("neuron\n\"\xff.sock");
    page_is("/readyz", "503 Service Unavailable", PLUGIN_REASON "neuron???.sock\n");
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    plugin_is(name);
    name[SOCKET_PATH_CAP - 1u] = 0;
    assert_non_null(strstr(page_get("/readyz"), name));
    assert_true(view_ends(view_text(page), "n\n"));
    memset(world.settings.device_plugins_dir, 'd', PATH_CAP - 1u);
    assert_true(view_ends(view_text(page_get("/readyz")), "n\n"));
}

#define STATUS_HEAD "agent: " AGENT_VERSION ", build unit\n"
#define API_V1_LINE "API: resource.k8s.io/v1\n"
#define FORBIDDEN "trouble: the API server forbids the agent to "
#define ALLOW                                                                                      \
    "; allow it in the agent's ClusterRole, or see the log for the policy that denied it\n"

/* /statusz: versions, then the verdict on each device, then `rest`. */
static void status_is(const char *versions, const char *verdict, const char *rest)
{
    static char body[4096];
    struct writer w = writer_of(body, sizeof body);
    WRITE(&w, STATUS_HEAD "%", TEXT(versions));
    for (unsigned i = 0; i < 16u; i++) {
        WRITE(&w, "device neuron-device-%: %\n", NUMBER(i), TEXT(verdict));
    }
    writer_text(&w, rest);
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    page_is("/statusz", "200 OK", body);
}

static void test_status(void **state)
{
    (void)state;
    world_new();
    api.reachable = false;
    start();
    status_is("kubelet: not known\nAPI: not known\n", "unknown", "");
    api.reachable = true;
    node_up();
    status_is("kubelet: v1.36.3\n" API_V1_LINE, "unknown", "");
}

/* What is forbidden is named until it is allowed, also where it leaves the agent ready. */
static void test_forbidden(void **state)
{
    (void)state;
    world_new();
    api.node_watch_http = 403;
    api.write_http = 403;
    start();
    register_driver();
    pass(5000);
    status_is("kubelet: v1.36.3\n" API_V1_LINE, "unknown",
              FORBIDDEN "create or update resourceslices" ALLOW FORBIDDEN "watch nodes" ALLOW);
    api.write_http = 0;
    pass(600000);
    page_is("/readyz", "200 OK", "ok\n");
    status_is("kubelet: v1.36.3\n" API_V1_LINE, "unknown", FORBIDDEN "watch nodes" ALLOW);
}

static void test_kubelet_bugs(void **state)
{
    static const struct {
        const char *version;
        bool idle;
        bool skips;
    } rows[] = {{"v1.34.0", true, true},    {"v1.34.1-eks-113cf36", true, true},
                {"v1.34.2", false, true},   {"v1.34.3+k3s1", false, true},
                {"v1.34.1~rc", true, true}, {"v1.34.4", false, false},
                {"v1.34.10", false, false}, {"v1.35.0", false, false},
                {"v1.34.", false, false},   {"v1.34.x", false, false},
                {"v1.33.1", false, false}};
    (void)state;
    world_new();
    start();
    node_up();
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        api.kubelet = rows[i].version;
        api_node_touch();
        pass(1000);
        const char *body = body_of(page_get("/statusz"));
        assert_non_null(strstr(body, rows[i].version));
        assert_int_equal(strstr(body, "after 30 idle minutes") != NULL, rows[i].idle);
        assert_int_equal(strstr(body, "skips claims of a pod") != NULL, rows[i].skips);
    }
}

/* The last lines, for who is in the same network namespace. */
static void test_log_page(void **state)
{
    (void)state;
    world_new();
    start();
    node_up();
    struct view lines = agent_log(world.agent);
    agent_log_written(world.agent, lines.len);
    const char *body = body_of(page_get("/logz"));
    assert_true(view_starts(view_text(body), "ts="));
    assert_true(view_ends(view_text(body), "\n"));
    assert_non_null(strstr(body, "event=registered"));
    int link = page_connect_from(7);
    page[0] = 0;
    page_ask(link, "GET /logz HTTP/1.0\r\n\r\n");
    while (page_take(link, SIZE_MAX)) {
    }
    assert_true(view_starts(view_text(page), "HTTP/1.1 404 "));
    assert_null(strstr(page, "event="));
}

/* Lines that give way while the page is sent leave a gap; it ends where the log ended. */
static void test_log_page_in_a_flood(void **state)
{
    (void)state;
    world_new();
    start();
    node_up();
    for (unsigned i = 0; i < 400; i++) {
        agent_host_log(world.agent, LOG_ID_SANDBOX, "before");
        agent_log_written(world.agent, agent_log(world.agent).len);
    }
    int link = page_connect();
    page[0] = 0;
    page_ask(link, "GET /logz HTTP/1.0\r\n\r\n");
    assert_true(page_take(link, 100));
    for (unsigned i = 0; i < 400; i++) {
        agent_host_log(world.agent, LOG_ID_SANDBOX, "meanwhile");
        agent_log_written(world.agent, agent_log(world.agent).len);
    }
    while (page_take(link, SIZE_MAX)) {
    }
    assert_true(agent_link_done(world.agent, (unsigned)link));
    assert_true(view_ends(view_text(page), "\n"));
    assert_non_null(strstr(page, "before"));
}

/* --- slices --- */

/* Asks for a page about slices, and takes the first `most` bytes of the response. */
static int slices_begin(const char *request, size_t most)
{
    int link = page_connect();
    page[0] = 0;
    page_ask(link, request);
    for (size_t got = 0; got < most; got = strlen(page)) {
        assert_true(page_take(link, (most - got < 100u) ? most - got : 100u));
    }
    return link;
}

/* The agent closes the connection soon, although the client has not taken the end of the page. */
static void slices_break_off(int link)
{
    bool done = false;
    for (unsigned i = 0; i < 400 && !done; i++) {
        pass(10);
        done = agent_link_done(world.agent, (unsigned)link);
    }
    assert_true(done);
    assert_false(view_ends(view_text(page), "\r\n0\r\n\r\n"));
    pass(4000);
}

static const char *const slices[] = {"GET /slicesz HTTP/1.1\r\nHost: a\r\n\r\n",
                                     "GET /slicesz.json HTTP/1.1\r\nHost: a\r\n\r\n"};

/*
 * One slice becomes two while a page about it is sent: the page stays unfinished. The labels make
 * the only device too long for one send buffer.
 */
static void test_slices_become_a_list(void **state)
{
    (void)state;
    world_new();
    api.kubelet = "v1.35.4";
    found_set("trn2u.48xlarge", 16, 8);
    (void)snprintf(world.found.ultraserver.modes, sizeof world.found.ultraserver.modes, "1,3,4");
    for (unsigned n = 0; n < ULTRASERVER_SIZES; n++) {
        (void)snprintf(world.found.ultraserver.node_id[n], 2, "2");
        (void)snprintf(world.found.ultraserver.server_id[n], 17, "00000000000000a%u", n);
    }
    for (unsigned n = 0; n < API_LABELS; n++) {
        api.label[n] = "nn-0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab";
    }
    node_up();
    assert_false(world.agent->publish->wanted.devices.counters);
    int link = slices_begin(slices[1], 1);
    api.kubelet = "v1.36.0";
    api_node_touch();
    slices_break_off(link);
    assert_true(world.agent->publish->wanted.devices.counters);
    link = slices_begin(slices[1], 100);
    while (page_take(link, SIZE_MAX)) {
    }
    assert_true(view_ends(view_text(page), "\r\n0\r\n\r\n"));
}

/* Before the Node was read there are no slices, which is not the same as an empty slice. */
static void test_slices_not_known_yet(void **state)
{
    (void)state;
    world_new();
    api.reachable = false;
    start();
    pass(2000);
    static const char none[] = "the agent publishes no slices yet: the Node is not known yet\n";
    page_is("/slicesz", "503 Service Unavailable", none);
    page_is("/slicesz.json", "503 Service Unavailable", none);
    api.reachable = true;
    node_up();
    assert_true(view_starts(view_text(page_get("/slicesz.json")), "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(page, "neuron-device-15"));
}

/* Devices vanish while a page about them is sent: it would end well without them. */
static void test_slices_lose_devices(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        world_new();
        node_up();
        int link = slices_begin(slices[i], 8000);
        found_set("trn2.48xlarge", 2, 8);
        agent_found(world.agent, &world.found);
        world.poked = true;
        slices_break_off(link);
        assert_int_equal(world.agent->publish->wanted.devices.count, 2);
    }
}

/* --- metrics --- */

static void test_metrics_at_start(void **state)
{
    (void)state;
    world_new();
    api.reachable = false;
    start();
    metrics_get();
    has_line("# HELP neuron_dra_registered 1 while the kubelet has registered the driver.\n"
             "# TYPE neuron_dra_registered gauge\n"
             "neuron_dra_registered 0");
    has_line("neuron_dra_ready 0");
    has_line("neuron_dra_api_connected 0");
    has_line("neuron_dra_slice_current 0");
    has_line("neuron_dra_slice_verified_timestamp_seconds 0");
    has_line("neuron_dra_devices 16");
    has_line("neuron_dra_devices_published 0");
    has_line("neuron_dra_claims_held 0\n"
             "# HELP neuron_dra_claims_capacity Claims that can be prepared at the same time.\n"
             "# TYPE neuron_dra_claims_capacity gauge\n"
             "neuron_dra_claims_capacity 256");
    has_line("neuron_dra_store_usable 1");
    has_line("neuron_dra_store_quarantined_slots 0");
    has_line("# TYPE neuron_dra_build_info gauge\n"
             "neuron_dra_build_info{version=\"" AGENT_VERSION "\",build=\"unit\"} 1");
    has_line("neuron_dra_node_info{node=\"" NODE_NAME "\",instance_type=\"trn2.48xlarge\","
             "driver_version=\"2.26.5.0\"} 1");
    /* no version is spoken yet, no request was answered: the families are there, empty */
    assert_non_null(strstr(page, "# TYPE neuron_dra_resource_api_version_info gauge\n# HELP "));
    has_line("# TYPE neuron_dra_api_request_duration_seconds histogram");
    assert_null(strstr(page, "neuron_dra_api_request_duration_seconds_"));
    has_line("# TYPE neuron_dra_log_events_total counter\n"
             "neuron_dra_log_events_total{event=\"started\"} 1\n"
             "neuron_dra_log_events_total{event=\"stop_requested\"} 0");
    has_line("neuron_dra_log_events_total{event=\"Opaque device configs\"} 0");
    has_line("neuron_dra_device_held{device=\"neuron-device-15\",claim_namespace=\"\","
             "claim_name=\"\",claim_uid=\"\",pod_name=\"\",pod_uid=\"\"} 0");
    assert_null(strstr(page, "neuron-device-16"));
    has_line("neuron_dra_kubelet_call_duration_seconds_bucket{"
             "method=\"NodePrepareResources\",result=\"ok\",le=\"0.00025\"}"
             " 0");
    has_line("neuron_dra_kubelet_call_duration_seconds_count{method=\"NodeUnprepareResources\","
             "result=\"error\"} 0");
    assert_true(view_ends(view_text(page), "\n"));
    assert_null(strstr(page, "\n\n"));
}

static void test_metrics_at_work(void **state)
{
    (void)state;
    world_new();
    claim_add(0);
    claim_add(1);
    node_up();
    prepare_well(0, 2);
    unprepare_well(1, 1);
    metrics_get();
    has_line("neuron_dra_ready 1");
    has_line("neuron_dra_api_connected 1");
    has_line("neuron_dra_slice_current 1");
    has_line("neuron_dra_pool_generation 1");
    has_line("neuron_dra_devices_published 16");
    has_line("neuron_dra_claims_held 1");
    has_line("neuron_dra_resource_api_version_info{version=\"v1\"} 1");
    has_line("neuron_dra_log_events_total{event=\"claim_prepared\"} 2");
    has_line("neuron_dra_log_events_total{event=\"claim_unprepared\"} 1");
    has_line("neuron_dra_kubelet_call_duration_seconds_bucket{"
             "method=\"NodePrepareResources\",result=\"ok\",le=\"0.00025\"}"
             " 1");
    has_line("neuron_dra_kubelet_call_duration_seconds_bucket{"
             "method=\"NodePrepareResources\",result=\"ok\",le=\"+Inf\"}"
             " 1");
    has_line("neuron_dra_kubelet_call_duration_seconds_sum{"
             "method=\"NodePrepareResources\",result=\"ok\"} 0");
    has_line("neuron_dra_kubelet_call_duration_seconds_count{method=\"NodePrepareResources\","
             "result=\"ok\"} 1");
    has_line("neuron_dra_kubelet_call_duration_seconds_count{method=\"NodePrepareResources\","
             "result=\"error\"} 0");
    has_line("neuron_dra_api_request_duration_seconds_count{verb=\"get\","
             "resource=\"resourceclaims\",code=\"2xx\",result=\"ok\"} 2");
    has_line("neuron_dra_api_request_duration_seconds_count{verb=\"create\","
             "resource=\"resourceslices\",code=\"2xx\",result=\"ok\"} 1");
    has_line("neuron_dra_store_flush_duration_seconds_count{result=\"error\"} 0");
    assert_null(strstr(page, "code=\"4xx\""));
    assert_null(strstr(page, "neuron_dra_slice_verified_timestamp_seconds 0\n"));
    /* the one that is held, and the one that was given back */
    static const char before[] = "neuron_dra_device_held{device=\"neuron-device-0\","
                                 "claim_namespace=\"ml\",claim_name=\"claim-0\",claim_uid=\"";
    static const char after[] = "pod_name=\"claim-0\","
                                "pod_uid=\"11111111-2222-3333-4444-555555555555\"} 1\n";
    assert_non_null(strstr(page, before));
    assert_non_null(strstr(page, after));
    restart();
    metrics_get();
    assert_non_null(strstr(page, before));
    assert_non_null(strstr(page, after));
    has_line("neuron_dra_device_held{device=\"neuron-device-1\",claim_namespace=\"\","
             "claim_name=\"\",claim_uid=\"\",pod_name=\"\",pod_uid=\"\"} 0");
}

/* A device whose claim is for a PodGroup names no pod. */
static void test_metrics_of_a_consumer(void **state)
{
    (void)state;
    world_new();
    claim_add(0);
    claim_add(1)->for_group = true;
    node_up();
    prepare_well(0, 2);
    for (unsigned i = 0; i < 2; i++) {
        metrics_get();
        has_line("neuron_dra_device_consumer_info{device=\"neuron-device-0\",kind=\"Pod\","
                 "name=\"claim-0\",uid=\"11111111-2222-3333-4444-555555555555\"} 1");
        has_line("neuron_dra_device_consumer_info{device=\"neuron-device-1\",kind=\"PodGroup\","
                 "name=\"claim-1\",uid=\"11111111-2222-3333-4444-555555555555\"} 1");
        assert_null(strstr(page, "device_consumer_info{device=\"neuron-device-2\""));
        assert_null(strstr(page, "pod_name=\"claim-1\""));
        restart();
    }
}

static void test_labels_are_escaped(void **state)
{
    (void)state;
    world_new();
    start();
    text_cut(world.agent->node->inventory.devices.instance_type, ATTRIBUTE_VALUE_CAP,
             view_text("a\"b\\c\nd\te\x80\x7f f"));
    metrics_get();
    has_line("neuron_dra_node_info{node=\"" NODE_NAME "\",instance_type=\"a\\\"b\\\\c\\nd?e?? f\","
             "driver_version=\"2.26.5.0\"} 1");
}

/* Whole lines, whatever room the reader gives; the same text in every way. */
static void test_cursor_at_every_room(void **state)
{
    (void)state;
    static char whole[PAGE_MAX];
    static char pieces[PAGE_MAX];
    world_new();
    claim_add(0);
    node_up();
    prepare_well(0, 1);
    struct metrics_cursor c = {0};
    struct writer out = writer_of(whole, sizeof whole);
    assert_true(metrics_write(world.agent, &c, &out));
    for (size_t room = 256; room < 4096; room += (room < 600) ? 1 : 37) {
        size_t len = 0;
        bool last = false;
        memset(&c, 0, sizeof c);
        for (unsigned i = 0; i < 1000 && !last; i++) {
            struct writer piece = writer_of(&pieces[len], room);
            last = metrics_write(world.agent, &c, &piece);
            assert_false(piece.full);
            assert_true(last || (piece.len > 0 && piece.data[piece.len - 1] == '\n'));
            len += piece.len;
        }
        assert_true(last);
        assert_int_equal(len, out.len);
        assert_memory_equal(pieces, whole, len);
    }
}

/* A histogram that grows while its lines are sent tells of one moment. */
static void test_histogram_is_of_one_moment(void **state)
{
    (void)state;
    world_new();
    start();
    struct agent *a = world.agent;
    durations_call(a, METHOD_PREPARE, RESULT_OK, 1);
    struct metrics_cursor c = {0};
    page[0] = '\n';
    struct writer all = writer_of(&page[1], sizeof page - 2);
    bool last = false;
    while (!last) {
        struct writer piece = writer_of(&all.data[all.len], 300);
        last = metrics_write(a, &c, &piece);
        all.len += piece.len;
        durations_call(a, METHOD_PREPARE, RESULT_OK, 1);
    }
    page[1 + all.len] = 0;
    const char *inf = strstr(page, "{method=\"NodePrepareResources\",result=\"ok\",le=\"+Inf\"} ");
    const char *count = strstr(page, "_count{method=\"NodePrepareResources\",result=\"ok\"} ");
    assert_non_null(inf);
    assert_non_null(count);
    assert_int_equal(atoi(strchr(inf, ' ')), atoi(strchr(count, ' ')));
    assert_true(atoi(strchr(inf, ' ')) > 10);
}

/* --- connections --- */

/* A peer that takes a byte at a time: the kubelet's calls go on, and its time ends. */
static void test_slow_reader(void **state)
{
    (void)state;
    world_new();
    claim_add(0);
    node_up();
    int link = page_connect();
    page[0] = 0;
    page_ask(link, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(agent_link_tx(world.agent, (unsigned)link).len <= HTTP1_TX_BYTES);
    for (unsigned i = 0; i < 9; i++) {
        assert_true(page_take(link, 1));
        pass(1000);
    }
    prepare_well(0, 1);
    assert_false(agent_link_done(world.agent, (unsigned)link));
    pass(1000);
    assert_true(agent_link_done(world.agent, (unsigned)link));
    assert_true(view_starts(view_text(page), "HTTP/1.1 "));
}

static void test_keep_alive_and_pipelining(void **state)
{
    (void)state;
    world_new();
    start();
    int link = page_connect();
    page[0] = 0;
    page_ask(link, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
                   "HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    while (page_take(link, 17)) {
    }
    assert_non_null(strstr(page, "0003\r\nok\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: "
                                 "text/plain; version=0.0.4; charset=utf-8\r\n"
                                 "Transfer-Encoding: chunked\r\n\r\nHTTP/1.1 404 Not Found\r\n"));
    assert_false(agent_link_done(world.agent, (unsigned)link));
    pass(HTTP1_IDLE_MS - 1);
    assert_false(agent_link_done(world.agent, (unsigned)link));
    pass(1);
    assert_true(agent_link_done(world.agent, (unsigned)link));
    /* the host is told once, and a connection that is over has nothing to send */
    assert_false(agent_link_done(world.agent, (unsigned)link));
    assert_int_equal(agent_link_tx(world.agent, (unsigned)link).len, 0);
}

static const char scrape[] = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
static const char probe[] = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";

static void page_starts(int link, const char *text)
{
    struct view tx = agent_link_tx(world.agent, (unsigned)link);
    if (!view_starts(tx, text)) {
        fail_msg("link %d has %.*s", link, (int)tx.len, (const char *)tx.data);
    }
}

/* A connection that displaces another one: which. */
static int page_displaces(uint32_t peer, const int *links, unsigned count, int *link)
{
    int gone = -1;
    assert_int_equal(page_connect_from(peer), -1);
    for (unsigned i = 0; i < count; i++) {
        if (agent_link_done(world.agent, (unsigned)links[i])) {
            assert_int_equal(gone, -1);
            gone = (int)i;
        }
    }
    *link = page_connect_from(peer);
    assert_true((*link >= 0) == (gone >= 0));
    return gone;
}

/* All places taken: who has not asked has a moment, who was served and asks again has none. */
static void test_places(void **state)
{
    (void)state;
    world_new();
    start();
    int link[METRICS_LINKS];
    int newcomer = -1;
    for (unsigned i = 0; i < METRICS_LINKS; i++) {
        assert_int_equal(agent_link_room_ms(world.agent, LINK_METRICS), 0);
        link[i] = page_connect_from(i);
        assert_true(link[i] >= 0);
    }
    uint64_t begun_ms = world.now_ms;
    assert_int_equal(agent_link_room_ms(world.agent, LINK_METRICS), begun_ms + HTTP1_GRACE_MS);
    pass(HTTP1_GRACE_MS - 1);
    assert_int_equal(page_displaces(9, link, METRICS_LINKS, &newcomer), -1);
    pass(1);
    assert_int_equal(page_displaces(9, link, METRICS_LINKS, &link[0]), 0);
    page_ask(link[3], probe);
    page[0] = 0;
    assert_true(page_take(link[3], SIZE_MAX));
    pass(1);
    /* the others asked for nothing for longer */
    assert_int_equal(page_displaces(9, link, METRICS_LINKS, &link[1]), 1);
    assert_int_equal(agent_link_room_ms(world.agent, LINK_SERVICE), 0);
    /* a peer that has more gives way first: 9 has two, and its older one may go */
    pass(HTTP1_GRACE_MS);
    assert_int_equal(page_displaces(10, link, METRICS_LINKS, &link[0]), 0);
    /* a second request earns no place */
    page_ask(link[3], probe);
    assert_int_equal(agent_link_room_ms(world.agent, LINK_METRICS), 0);
}

/* Of several connections that may go, the one that has waited longest does. */
static void test_longest_wait_gives_way(void **state)
{
    static const uint32_t peers[2][METRICS_LINKS] = {{1, 2, 3, 4, 5, 6}, {1, 1, 3, 4, 5, 6}};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        int link[METRICS_LINKS];
        int newcomer = -1;
        world_new();
        start();
        for (unsigned k = 0; k < METRICS_LINKS; k++) {
            link[k] = page_connect_from(peers[i][k]);
            assert_true(link[k] >= 0);
        }
        pass(HTTP1_GRACE_MS + 100);
        page_ask(link[0], probe);
        page[0] = 0;
        assert_true(page_take(link[0], SIZE_MAX));
        pass(1);
        /* the others have waited equally long: the first of them, or the other one of peer 1 */
        assert_int_equal(page_displaces(9, link, METRICS_LINKS, &newcomer), 1);
    }
}

/* A scrape that is being sent keeps its place, although it is the second request. */
static void test_second_request_is_a_scrape(void **state)
{
    int link[METRICS_LINKS];
    (void)state;
    world_new();
    start();
    for (unsigned i = 0; i < METRICS_LINKS; i++) {
        link[i] = page_connect_from(i);
    }
    page_ask(link[0], probe);
    page[0] = 0;
    assert_true(page_take(link[0], SIZE_MAX));
    assert_int_equal(agent_link_room_ms(world.agent, LINK_METRICS), world.now_ms);
    page_ask(link[0], scrape);
    assert_int_equal(agent_link_room_ms(world.agent, LINK_METRICS), world.now_ms + HTTP1_GRACE_MS);
    for (unsigned i = 1; i < METRICS_LINKS; i++) {
        agent_link_end(world.agent, (unsigned)link[i]);
    }
    page_starts(link[0], "HTTP/1.1 200 OK\r\n");
}

/* The host closes what is over. */
static void closes(void)
{
    for (unsigned i = GRPC_LINKS; i < SERVER_LINKS; i++) {
        (void)agent_link_done(world.agent, i);
    }
}

/* Scrapes that nobody reads: other pages are served, and what stalls gives way. */
static void test_scrapes_stall(void **state)
{
    (void)state;
    world_new();
    start();
    int link[METRICS_LINKS];
    for (unsigned i = 0; i < METRICS_LINKS; i++) {
        link[i] = page_connect_from(7);
        page_ask(link[i], (i < METRICS_LINKS - 1u) ? scrape : probe);
    }
    for (unsigned i = 0; i < METRICS_SCRAPES; i++) {
        page_starts(link[i], "HTTP/1.1 200 OK\r\n");
    }
    page_starts(link[METRICS_SCRAPES], "HTTP/1.1 503 Service Unavailable\r\n");
    page_starts(link[METRICS_LINKS - 1u], "HTTP/1.1 200 OK\r\n");
    page[0] = 0;
    for (unsigned i = METRICS_SCRAPES; i < METRICS_LINKS; i++) {
        assert_true(page_take(link[i], SIZE_MAX));
    }
    assert_non_null(strstr(page, "too many scrapes at one time; try again\n"));
    /* they are through; newcomers take their places, and the scrapes go on */
    int newcomer = -1;
    int gone = page_displaces(8, link, METRICS_LINKS, &newcomer);
    assert_true(gone >= (int)METRICS_SCRAPES);
    link[gone] = newcomer;
    /* another peer may scrape: the one with three of them loses one */
    page_ask(newcomer, scrape);
    page_starts(newcomer, "HTTP/1.1 200 OK\r\n");
    unsigned ended = 0;
    for (unsigned i = 0; i < METRICS_SCRAPES; i++) {
        ended += agent_link_done(world.agent, (unsigned)link[i]) ? 1u : 0u;
    }
    assert_int_equal(ended, 1);
    /* who takes some of it is left alone; those who take nothing for a second are not */
    pass(HTTP1_PAUSE_MS - 1);
    assert_true(page_take(newcomer, 1));
    pass(1);
    for (unsigned i = 0; i < METRICS_SCRAPES; i++) {
        int next = page_connect_from(20 + i);
        if (next < 0) {
            closes();
            next = page_connect_from(20 + i);
        }
        assert_true(next >= 0);
        page_ask(next, scrape);
        page_starts(next, (i < METRICS_SCRAPES - 1u) ? "HTTP/1.1 200 OK\r\n"
                                                     : "HTTP/1.1 503 Service Unavailable\r\n");
        closes();
    }
    page_starts(newcomer, "TTP/1.1 200 OK\r\n");
}

static unsigned lines_with(const char *text)
{
    unsigned n = 0;
    for (const char *at = strstr(world.log, text); at != NULL; at = strstr(at + 1, text)) {
        n++;
    }
    return n;
}

/* Strangers that break the protocol fill no log; what is counted is exact. */
static void test_lines_about_strangers(void **state)
{
    (void)state;
    world_new();
    start();
    log_forget();
    for (unsigned i = 0; i < 100; i++) {
        int link = page_connect();
        assert_true(link >= 0);
        page_ask(link, "\x16\x03\x01\r\n");
        page[0] = 0;
        assert_true(page_take(link, SIZE_MAX));
        agent_link_end(world.agent, (unsigned)link);
        assert_true(agent_link_done(world.agent, (unsigned)link));
        pass(100);
    }
    assert_int_equal(world.agent->report->count[LOG_ID_CONNECTION_FAILED], 100);
    assert_int_equal(lines_with("event=connection_failed "), CONNECTION_LINES_MAX);
    log_has("response=\"400 Bad Request\"");
    assert_int_equal(lines_with("connection_failures_suppressed"), 0);
    pass(CONNECTION_LINES_MS);
    assert_int_equal(lines_with("event=connection_failures_suppressed suppressed=96 "), 1);
    assert_int_equal(world.agent->report->count[LOG_ID_CONNECTION_FAILED], 100);
    log_forget();
    pass(10 * CONNECTION_LINES_MS);
    assert_int_equal(lines_with("connection_failures_suppressed"), 0);
    /* a few of them, all of which have a line: there is nothing to sum up */
    peer_failed(world.agent, GRPC_LINKS, PEER_PROTOCOL, "400 Bad Request", 0);
    pass(CONNECTION_LINES_MS + 1);
    assert_int_equal(lines_with("event=connection_failed "), 1);
    assert_int_equal(lines_with("connection_failures_suppressed"), 0);
    assert_int_equal(world.agent->serve->peer_failures.logged, 0);
    log_forget();
    /* peers of the health port count with them, the kubelet's sockets do not */
    peer_failed(world.agent, GRPC_LINKS - 1, PEER_PROTOCOL, NULL, 1);
    for (unsigned i = 0; i < 10; i++) {
        peer_failed(world.agent, 0, PEER_PROTOCOL, NULL, 1);
    }
    world.poked = true;
    settle();
    assert_int_equal(lines_with("event=connection_failed "), 11);
    assert_int_equal(world.agent->serve->peer_failures.logged, 1);
}

/* Nobody waits for a page when the process is to end. */
static void test_stop_leaves_pages(void **state)
{
    (void)state;
    world_new();
    start();
    int link = page_connect();
    page_ask(link, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    agent_stop(world.agent, world.now_ms);
    world.poked = true;
    settle();
    assert_true(world.exited);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_forbidden),
        cmocka_unit_test(test_kubelet_bugs),
        cmocka_unit_test(test_log_page),
        cmocka_unit_test(test_log_page_in_a_flood),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_device_plugin),
        cmocka_unit_test(test_device_plugin_name),
        cmocka_unit_test(test_slices_become_a_list),
        cmocka_unit_test(test_slices_lose_devices),
        cmocka_unit_test(test_slices_not_known_yet),
        cmocka_unit_test(test_metrics_at_start),
        cmocka_unit_test(test_metrics_at_work),
        cmocka_unit_test(test_metrics_of_a_consumer),
        cmocka_unit_test(test_labels_are_escaped),
        cmocka_unit_test(test_cursor_at_every_room),
        cmocka_unit_test(test_histogram_is_of_one_moment),
        cmocka_unit_test(test_slow_reader),
        cmocka_unit_test(test_keep_alive_and_pipelining),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_longest_wait_gives_way),
        cmocka_unit_test(test_second_request_is_a_scrape),
        cmocka_unit_test(test_scrapes_stall),
        cmocka_unit_test(test_lines_about_strangers),
        cmocka_unit_test(test_stop_leaves_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
