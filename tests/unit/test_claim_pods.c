/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pods of held claims in the metrics, in the whole agent: when the kubelet is asked, whatever
 * it answers, and what the metrics show of it.
 */
#include "tests/unit/kubelet/agent_page.h"
#include "tests/unit/kubelet/listed_pods.h"

#include "agent/pods/claim_pods.h"

#define FIRST_UID "11111111-2222-3333-4444-555555555555"
#define AGE POD_LIST_AGE_MS

/* --- the kubelet's PodResources service: an HTTP/2 server with one call --- */

static struct {
    struct h2 h2;
    struct h2_stream streams[4];
    uint8_t rx[8192];
    uint8_t tx[16384];
    uint8_t field[2048];
    uint8_t scratch[2048];
    uint32_t stream; /* 0: no request has arrived */
    char path[64];
    size_t body; /* bytes of the request's body */
} service;

static void service_event(const struct h2_event *e)
{
    if (e->kind == H2_EVENT_FIELD && view_is(e->name, ":path")) {
        text_cut(service.path, sizeof service.path, e->value);
    }
    service.body += (e->kind == H2_EVENT_DATA) ? e->data.len : 0;
    if ((e->kind == H2_EVENT_DATA || e->kind == H2_EVENT_HEADERS_END) && e->end_stream) {
        service.stream = e->stream;
    }
}

/* Moves bytes both ways, at most `cut` at a time to the agent, until none is left. */
static void exchange(size_t cut)
{
    bool moved = world.pods_open;
    while (moved && world.pods_open) {
        struct h2_event e;
        size_t out = 0;
        size_t in = 0;
        moved = move_view(&service.h2, agent_link_tx(world.agent, LINK_PODS), &out);
        if (out > 0) {
            agent_link_tx_commit(world.agent, LINK_PODS, out);
        }
        while (h2_next(&service.h2, &e) == STATUS_OK) {
            service_event(&e);
        }
        moved = move_bytes(&service.h2, agent_link_rx(world.agent, LINK_PODS), cut, &in) || moved;
        if (in > 0) {
            agent_link_rx_commit(world.agent, LINK_PODS, in);
        }
        world.poked = true;
        settle();
    }
}

/* The agent has just connected: its request arrives. */
static void accept_call(void)
{
    struct h2_memory memory = H2_MEMORY_OF(&service, H2_WINDOW_DEFAULT);
    assert_true(world.pods_open);
    service.stream = 0;
    service.body = 0;
    h2_init(&service.h2, H2_SERVER, &memory, world.now_ms);
    exchange(SIZE_MAX);
    assert_true(service.stream != 0);
    assert_string_equal(service.path, "/v1.PodResourcesLister/List");
    assert_int_equal(service.body, 5);
}

static void respond_head(void)
{
    h2_headers_begin(&service.h2, service.stream);
    h2_header_text(&service.h2, ":status", "200");
    h2_header_text(&service.h2, "content-type", "application/grpc");
    assert_int_equal(h2_headers_end(&service.h2, false), STATUS_OK);
}

/* Sends the list, as far as windows and buffers allow while the agent takes it. */
static void respond_list(size_t cut)
{
    struct view rest = writer_view(&list);
    assert_false(list.full);
    while (rest.len > 0 && world.pods_open) {
        struct view piece = view_first(rest, h2_data_room(&service.h2, service.stream));
        if (piece.len > 0) {
            assert_int_equal(h2_data(&service.h2, service.stream, piece, false), STATUS_OK);
        }
        rest = view_from(rest, piece.len);
        exchange(cut);
    }
}

static void respond_end(const char *code, const char *text, size_t cut)
{
    h2_headers_begin(&service.h2, service.stream);
    h2_header_text(&service.h2, "grpc-status", code);
    if (text != NULL) {
        h2_header_text(&service.h2, "grpc-message", text);
    }
    assert_int_equal(h2_headers_end(&service.h2, true), STATUS_OK);
    exchange(cut);
}

static void respond_in_pieces(size_t cut)
{
    accept_call();
    respond_head();
    respond_list(cut);
    respond_end("0", NULL, cut);
    assert_false(world.pods_open);
}

static void respond(void)
{
    respond_in_pieces(SIZE_MAX);
}

/* --- what the metrics show --- */

/* Whether the last metrics have this further pod of a device. */
static bool shows(unsigned device, const char *pod)
{
    char line[256];
    (void)snprintf(line, sizeof line,
                   "neuron_dra_device_consumer_info{device=\"neuron-device-%u\",kind=\"Pod\","
                   "name=\"%s\",uid=\"\"} 1",
                   device, pod);
    if (strstr(page, line) != NULL) {
        has_line(line); /* once */
        return true;
    }
    return false;
}

/* Whether the last metrics have the first consumer of a device. */
static bool shows_first(unsigned device, const char *kind, const char *name)
{
    char line[256];
    (void)snprintf(line, sizeof line,
                   "\nneuron_dra_device_consumer_info{device=\"neuron-device-%u\",kind=\"%s\","
                   "name=\"%s\",uid=\"" FIRST_UID "\"} 1\n",
                   device, kind, name);
    return strstr(page, line) != NULL;
}

static void complete_is(unsigned value)
{
    char line[64];
    (void)snprintf(line, sizeof line, "neuron_dra_device_consumers_complete %u", value);
    has_line(line);
}

/* A second scrape after the last one, whose call has ended; it begins no further call. */
static void look(void)
{
    unsigned before = world.pods_connects;
    pass(1);
    metrics_get();
    assert_int_equal(world.pods_connects, before);
}

/* A scrape that begins a call. */
static void ask(void)
{
    unsigned before = world.pods_connects;
    pass(AGE);
    metrics_get();
    assert_int_equal(world.pods_connects, before + 1);
}

/* Claims 0 (a pod's) and 1 (a PodGroup's) are held. */
static void begin_world(void)
{
    world_new();
    (void)claim_add(0);
    claim_add(1)->for_group = true;
    (void)claim_add(2);
    node_up();
    world.lists_pods = true;
    prepare_well(0, 2);
    log_forget();
    list_begin();
}

/* Adds a pod with two claims. */
static void list_add_two(const char *name, const char *claim, const char *other)
{
    uint8_t bytes[4096];
    struct writer pod = writer_of(bytes, sizeof bytes);
    put_container(&pod, 3, view_text(claim));
    put_container(&pod, 3, view_text(other));
    put(&pod, 2, view_text("ml"));
    put(&pod, 1, view_text(name));
    assert_false(pod.full);
    put(&list, 1, writer_view(&pod));
}

/* --- the tests --- */

/* Every pod of a claim once; the first one with its UID, a PodGroup beside its pods. */
static void test_pods_of_claims(void **state)
{
    (void)state;
    begin_world();
    list_add("ml", "claim-0", "claim-0"); /* the first consumer */
    list_add("ml", "joined", "claim-0");
    list_add("other", "stranger", "claim-0");
    list_add("ml", "plain", NULL);
    list_add("ml", "unknown", "claim-7");
    list_add_two("both", "claim-0", "claim-1");
    list_add("ml", "member", "claim-1");
    list_add("ml", "claim-1", "claim-1"); /* a pod with the name of the group */
    ask();
    assert_false(shows(0, "joined"));
    complete_is(0);
    respond();
    look();
    complete_is(1);
    assert_true(shows_first(0, "Pod", "claim-0"));
    assert_true(shows_first(1, "PodGroup", "claim-1"));
    assert_true(shows(0, "joined") && shows(0, "both") && shows(1, "both") && shows(1, "member"));
    assert_true(shows(1, "claim-1"));
    assert_false(shows(0, "claim-0") || shows(0, "stranger") || shows(0, "plain") ||
                 shows(0, "unknown") || shows(0, "member") || shows(1, "joined"));
    assert_null(strstr(page, "device_consumer_info{device=\"neuron-device-2\""));
    /* the other series of a device stay one, with the first pod */
    has_line("neuron_dra_device_held{device=\"neuron-device-0\",claim_namespace=\"ml\","
             "claim_name=\"claim-0\",claim_uid=\"c1a10000-0000-4000-8000-000000000000\","
             "pod_name=\"claim-0\",pod_uid=\"" FIRST_UID "\"} 1");
    assert_int_equal(said("event=pod_list"), 0);
    log_forget();
}

/* The pieces in which the response arrives make no difference. */
static void test_pieces(void **state)
{
    (void)state;
    begin_world();
    for (unsigned i = 0; i < 70; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "pod-%u", i);
        list_add("ml", name, "claim-0");
    }
    for (size_t cut = 1; cut < 9000; cut = cut * 3 + 1) {
        ask();
        respond_in_pieces(cut);
        look();
        assert_true(shows(0, "pod-0") && shows(0, "pod-69"));
        assert_false(shows(0, "pod-70"));
        complete_is(1);
    }
}

/* The kubelet is asked after a scrape, while claims are held, and not again for a while. */
static void test_when_it_is_asked(void **state)
{
    (void)state;
    world_new();
    (void)claim_add(0);
    node_up();
    world.lists_pods = true;
    metrics_get();
    pass(AGE);
    metrics_get();
    complete_is(1); /* nothing can be missing */
    assert_int_equal(world.pods_connects, 0);
    prepare_well(0, 1);
    pass(4 * AGE);
    (void)page_get("/healthz");
    (void)page_get("/statusz");
    assert_int_equal(world.pods_connects, 0);
    list_begin();
    list_add("ml", "joined", "claim-0");
    metrics_get();
    metrics_get(); /* while the call runs */
    pass(100);
    metrics_get();
    assert_int_equal(world.pods_connects, 1);
    respond();
    pass(AGE - 101);
    metrics_get();
    assert_true(shows(0, "joined"));
    assert_int_equal(world.pods_connects, 1);
    pass(1);
    metrics_get();
    assert_int_equal(world.pods_connects, 2);
    respond();
    pass(10 * AGE);
    assert_int_equal(world.pods_connects, 2);
}

/* A claim that is released takes its pods along; another one in its slot has none of them. */
static void test_slot_of_another_claim(void **state)
{
    (void)state;
    begin_world();
    list_add("ml", "joined", "claim-0");
    list_add("ml", "member", "claim-1");
    ask();
    respond();
    look();
    assert_true(shows(0, "joined"));
    unprepare_well(0, 1);
    look();
    assert_false(shows(0, "joined"));
    assert_true(shows(1, "member"));
    prepare_well(2, 1);
    assert_int_equal(ledger_find(world.agent, api.claim[2].uid), 0);
    look();
    assert_false(shows(2, "joined") || shows(0, "joined"));
    assert_true(shows(1, "member"));
}

/* Pods that are listed for a claim of an earlier moment are not those of a claim of its name. */
static void test_claim_of_the_same_name(void **state)
{
    (void)state;
    begin_world();
    list_add("ml", "early", "claim-0");
    ask();
    accept_call();
    unprepare_well(0, 1);
    api.claim[0].uid[0] = 'd';
    struct claim_id id = {.name = "claim-0", .namespace_ = "ml"};
    text_set(id.uid, sizeof id.uid, "d1a10000-0000-4000-8000-000000000000");
    struct ledger *l = world.agent->ledger;
    l->entry[7] = l->entry[1]; /* held since the call began, beside an older one of its name */
    l->id[7] = id;
    l->entry[7].entered = l->entry[1].entered + 1u;
    l->entry[7].held_ms = world.now_ms;
    l->entry[8] = l->entry[1];
    l->id[8] = id;
    respond_head();
    respond_list(SIZE_MAX);
    respond_end("0", NULL, SIZE_MAX);
    assert_int_equal(claim_pods_count(world.agent), 0);
    pass(AGE);
    metrics_get();
    respond();
    assert_int_equal(claim_pods_count(world.agent), 1);
    assert_int_equal(claim_pods_slot(world.agent, 0), 7);
    assert_string_equal(claim_pods_name(world.agent, 0), "early");
    l->entry[7].held_ms = world.now_ms;
    assert_int_equal(claim_pods_slot(world.agent, 0), -1);
    l->entry[7] = (struct ledger_entry){0};
    l->entry[8] = (struct ledger_entry){0};
}

/* Of two claims that share a device, the metrics name consumers of the one of device_held. */
static void test_shared_device(void **state)
{
    (void)state;
    begin_world();
    struct ledger *l = world.agent->ledger;
    l->entry[7] = l->entry[0];
    l->id[7] = (struct claim_id){
        .uid = "5a1e0000-0000-4000-8000-000000000000", .name = "sharer", .namespace_ = "ml"};
    list_add("ml", "other", "sharer");
    list_add("ml", "joined", "claim-0");
    ask();
    respond();
    look();
    assert_int_equal(claim_pods_slot(world.agent, 0), 7);
    assert_true(ledger_holds_device(world.agent, 7, 0));
    assert_true(ledger_holds_device(world.agent, 1, 1));
    assert_false(ledger_holds_device(world.agent, 1, 0));
    assert_true(shows(0, "joined"));
    assert_false(shows(0, "other"));
    l->entry[7] = (struct ledger_entry){0};
}

/* A connection that asks for the page of metrics and has read nothing of it; `page` is empty. */
static int metrics_begin(void)
{
    int link = page_connect();
    page[0] = 0;
    page_ask(link, "GET /metrics HTTP/1.0\r\n\r\n");
    return link;
}

/* The list changes between two pages, and never within one. */
static void test_list_during_a_page(void **state)
{
    (void)state;
    begin_world();
    list_add("ml", "joined", "claim-0");
    ask();
    int link = metrics_begin();
    assert_true(page_take(link, 1));
    accept_call();
    respond_head();
    respond_list(SIZE_MAX);
    respond_end("0", NULL, SIZE_MAX);
    assert_false(world.pods_open);
    assert_int_equal(claim_pods_count(world.agent), 0);
    while (page_take(link, SIZE_MAX)) {
    }
    assert_true(agent_link_done(world.agent, (unsigned)link));
    assert_null(strstr(page, "joined"));
    assert_int_equal(claim_pods_count(world.agent), 1);
    look();
    assert_true(shows(0, "joined"));
}

/*
 * Readers that are slow by turns do not keep a list back for longer than POD_LIST_AGE_MS: what they
 * have of a page that would mix two lists ends without its last line.
 */
static void test_slow_readers(void **state)
{
    (void)state;
    begin_world();
    list_add("ml", "joined", "claim-0");
    ask();
    int link = metrics_begin();
    assert_true(page_take(link, 1));
    respond();
    pass(AGE / 2u);
    assert_int_equal(claim_pods_count(world.agent), 0);
    int other = metrics_begin();
    pass(AGE - AGE / 2u);
    assert_int_equal(claim_pods_count(world.agent), 1);
    while (page_take(other, SIZE_MAX)) {
    }
    assert_true(agent_link_done(world.agent, (unsigned)other));
    assert_null(strstr(page, "process_max_fds"));
    metrics_get();
    assert_true(shows(0, "joined"));
}

/* A page whose reader is gone does not keep the list from being shown. */
static void test_page_without_reader(void **state)
{
    (void)state;
    begin_world();
    list_add("ml", "joined", "claim-0");
    ask();
    int link = metrics_begin();
    respond();
    assert_int_equal(claim_pods_count(world.agent), 0);
    bool done = false;
    for (unsigned i = 0; i < 12000 && !done; i++) {
        pass(10);
        done = agent_link_done(world.agent, (unsigned)link);
    }
    assert_true(done);
    metrics_get();
    assert_true(shows(0, "joined"));
}

/* More pairs than the table has, or names without the form of one: what fits, and a line. */
static void test_too_many(void **state)
{
    (void)state;
    begin_world();
    for (unsigned i = 0; i < CLAIM_PODS_MAX; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "p-%u", i);
        list_add("ml", name, "claim-0");
    }
    ask();
    respond();
    look();
    assert_true(shows(0, "p-255"));
    complete_is(1);
    list_add("ml", "p-256", "claim-0");
    ask();
    respond();
    look();
    assert_true(shows(0, "p-255"));
    assert_false(shows(0, "p-256"));
    complete_is(0);
    log_has("event=pod_list_incomplete text=\"too many pods use claims\"");
    list_begin();
    list_add("ml", "not a name", "claim-0");
    list_add("ml", "joined", "claim-0");
    ask();
    respond();
    look();
    assert_true(shows(0, "joined"));
    complete_is(0);
    assert_int_equal(said("event=pod_list_incomplete"), 1); /* once, although the reason differs */
    list_begin();
    list_add("ml", "joined", "claim-0");
    ask();
    respond();
    look();
    complete_is(1);
    assert_int_equal(said("event=pod_list_complete"), 1);
}

/* What is left out is logged with its reason. */
static void test_left_out(void **state)
{
    char name[300];
    (void)state;
    begin_world();
    list_add("ml", "a\"b\nc", "claim-0");
    ask();
    respond();
    look();
    complete_is(0);
    log_has("text=\"the kubelet lists a pod without a valid name\"");
    begin_world();
    memset(name, 'n', sizeof name);
    name[sizeof name - 1u] = 0;
    list_add("ml", name, "claim-0");
    ask();
    respond();
    look();
    complete_is(0);
    log_has("event=pod_list_incomplete");
    assert_null(strstr(world.log, "too many pods"));
}

/* Names that are too long for the table together, and a pod with more claims than a record has. */
static void test_long_names(void **state)
{
    static uint8_t bytes[64u * 1024u];
    (void)state;
    begin_world();
    for (unsigned i = 0; i < 40; i++) {
        char name[254];
        (void)snprintf(name, sizeof name, "%02u%0250d", i, 0);
        list_add("ml", name, "claim-0");
    }
    ask();
    respond();
    complete_is(0);
    assert_int_equal(claim_pods_count(world.agent), CLAIM_PODS_BYTES / 253);
    log_has("event=pod_list_incomplete text=\"too many pods use claims\"");
    struct writer pod = writer_of(bytes, sizeof bytes);
    put(&pod, 1, view_text("greedy"));
    put(&pod, 2, view_text("ml"));
    for (unsigned i = 0; i < 100; i++) {
        char name[254];
        (void)snprintf(name, sizeof name, "%02u%0250d", i, 0);
        put_container(&pod, 3, view_text(name));
    }
    list_begin();
    put(&list, 1, writer_view(&pod));
    ask();
    respond();
    look();
    complete_is(0);
}

static void failure_is(const char *text, unsigned lines)
{
    look();
    complete_is(0);
    assert_false(shows(0, "joined"));
    assert_true(shows_first(0, "Pod", "claim-0"));
    assert_int_equal(said("event=pod_list_incomplete"), lines);
    if (lines > 0) {
        log_has(text);
    }
}

/* A list, so that a later failure has something to lose. */
static void list_well(void)
{
    list_begin();
    list_add("ml", "joined", "claim-0");
    ask();
    respond();
    look();
    assert_true(shows(0, "joined"));
    log_forget();
}

/* Whatever the kubelet answers instead of a list, the first consumer alone is shown. */
static void test_refusals(void **state)
{
    static const struct {
        const char *code;
        const char *message;
        const char *text;
    } rows[] = {
        {"8", "rejected by rate limit", "text=\"rejected by rate limit\""},
        {"12", NULL, "text=\"the kubelet gives no list of pods\""},
        {"many", NULL, "text=\"the kubelet gives no list of pods\""},
    };
    (void)state;
    begin_world();
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        list_well();
        ask();
        accept_call();
        respond_head();
        respond_end(rows[i].code, rows[i].message, SIZE_MAX);
        failure_is(rows[i].text, 1);
        ask();
        accept_call();
        respond_head();
        respond_end(rows[i].code, rows[i].message, SIZE_MAX);
        failure_is(rows[i].text, 1); /* logged once */
        assert_null(strstr(world.log, "pod_list_complete"));
    }
}

/* A response that is cut off, malformed, endless or silent. */
static void test_bad_responses(void **state)
{
    (void)state;
    begin_world();
    list_well();
    list.data[5] = 0x0b; /* a group */
    ask();
    respond();
    failure_is("text=\"the kubelet's list of pods is malformed\"", 1);
    list_well();
    ask();
    accept_call();
    agent_link_end(world.agent, LINK_PODS);
    world.poked = true;
    settle();
    assert_false(world.pods_open);
    failure_is("text=\"the kubelet gives no list of pods\"", 1);
    list_well();
    ask();
    accept_call();
    h2_reset(&service.h2, service.stream, H2_INTERNAL_ERROR);
    exchange(SIZE_MAX);
    failure_is("text=\"the kubelet gives no list of pods\"", 1);
    list_well();
    ask();
    accept_call();
    pass(PODS_MAX_MS - 1);
    assert_true(world.pods_open);
    pass(1);
    assert_false(world.pods_open);
    failure_is("text=\"the kubelet gives no list of pods in time\"", 1);
    agent_link_end(world.agent, LINK_PODS); /* the host closes what is closed */
    assert_int_equal(agent_link_rx(world.agent, LINK_PODS).cap, 0);
    assert_int_equal(agent_link_tx(world.agent, LINK_PODS).len, 0);
    assert_false(agent_link_done(world.agent, LINK_PODS));
}

static void test_endless_list(void **state)
{
    (void)state;
    begin_world();
    list_well();
    list_begin();
    for (unsigned i = 0; i < 1000; i++) {
        list_add("ml", "plain", NULL);
    }
    ask();
    accept_call();
    respond_head();
    for (unsigned i = 0; i < POD_LIST_BYTES_MAX / list.len + 1 && world.pods_open; i++) {
        respond_list(SIZE_MAX);
        list.data[4] = 0;
    }
    while (world.pods_open) {
        respond_list(SIZE_MAX);
    }
    failure_is("text=\"the kubelet's list of pods is too long\"", 1);
}

/* A peer that sends many frames at once does not keep the others waiting. */
static void test_many_frames(void **state)
{
    (void)state;
    begin_world();
    ask();
    accept_call();
    respond_head();
    list_add("ml", "joined", "claim-0");
    for (unsigned i = 0; i < list.len; i++) {
        struct view byte = view_of(&list.data[i], 1);
        assert_int_equal(h2_data(&service.h2, service.stream, byte, false), STATUS_OK);
    }
    struct view frames = h2_tx_data(&service.h2);
    assert_true(frames.len > 10u * LINK_EVENTS_PER_STEP);
    exchange(SIZE_MAX);
    respond_end("0", NULL, SIZE_MAX);
    look();
    assert_true(shows(0, "joined"));
}

/* No socket, or a kubelet that lists no claims. */
static void test_absent_and_empty(void **state)
{
    (void)state;
    begin_world();
    world.lists_pods = false;
    ask();
    failure_is("event=pod_list_incomplete text=\"/kubelet.sock: no such file or directory\"", 1);
    assert_non_null(strstr(world.log, "mount the kubelet's directory pod-resources"));
    ask();
    failure_is("event=pod_list_incomplete", 1);
    world.lists_pods = true;
    list_add("ml", "claim-0", NULL);
    ask();
    respond();
    failure_is("event=pod_list_incomplete text=\"the kubelet lists no claims\"", 2);
    assert_non_null(strstr(world.log, "KubeletPodResourcesDynamicResources"));
    list_well();
    list_begin(); /* it has listed claims before: no pod uses one now */
    ask();
    respond();
    look();
    complete_is(1);
    assert_false(shows(0, "joined"));
    assert_int_equal(said("event=pod_list"), 0);
}

/* Another process begins without a list. */
static void test_restart(void **state)
{
    (void)state;
    begin_world();
    list_well();
    restart();
    metrics_get();
    assert_false(shows(0, "joined"));
    assert_true(shows_first(0, "Pod", "claim-0"));
    complete_is(0);
}

/* With two drivers, one list has the pods of the claims of both. */
static void test_two_drivers(void **state)
{
    static struct agent second;
    static struct driver driver;
    (void)state;
    begin_world();
    struct agent *a = world.agent;
    list_add("ml", "joined", "claim-0");
    pass(AGE);
    metrics_get();
    accept_call();
    second = *a;
    driver = *a->driver;
    driver.kind = DRIVER_EFA;
    second.driver = &driver;
    second.next = NULL;
    world.settings.efa = true;
    a->next = &second;
    respond_head();
    struct view all = writer_view(&list);
    assert_int_equal(h2_data(&service.h2, service.stream, all, false), STATUS_OK);
    h2_headers_begin(&service.h2, service.stream);
    h2_header_text(&service.h2, "grpc-status", "0");
    assert_int_equal(h2_headers_end(&service.h2, true), STATUS_OK);
    size_t n = 0;
    assert_true(move_bytes(&service.h2, agent_link_rx(a, LINK_PODS), SIZE_MAX, &n));
    agent_link_rx_commit(a, LINK_PODS, n);
    claim_pods_step(a, true);
    assert_int_equal(claim_pods_count(a), 2);
    assert_int_equal(claim_pods_slot(a, 0), 0);
    assert_int_equal(claim_pods_slot(a, 1), -1);
    assert_int_equal(claim_pods_slot(&second, 0), -1);
    assert_int_equal(claim_pods_slot(&second, 1), 0);
    assert_string_equal(claim_pods_name(a, 0), "joined");
    assert_string_equal(claim_pods_name(a, 1), "joined");
    a->next = NULL;
    world.settings.efa = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pods_of_claims),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_when_it_is_asked),
        cmocka_unit_test(test_slot_of_another_claim),
        cmocka_unit_test(test_claim_of_the_same_name),
        cmocka_unit_test(test_shared_device),
        cmocka_unit_test(test_list_during_a_page),
        cmocka_unit_test(test_slow_readers),
        cmocka_unit_test(test_page_without_reader),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_bad_responses),
        cmocka_unit_test(test_endless_list),
        cmocka_unit_test(test_many_frames),
        cmocka_unit_test(test_absent_and_empty),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_two_drivers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
