/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in API server by itself: Nodes as metadata, Events, patches of a claim's status, and
 * each fault that it makes when a test asks for it.
 */
#include "tests/unit/apiserver/sim_client.h"

/* --- Nodes --- */

#define AS_METADATA PROTOBUF ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
#define NODES "/api/v1/nodes?fieldSelector=metadata.name%3Dnode-a&watch=true"

/* A Node with one label and a status that says `beat`. */
static void put_node(const char *uid, const char *label, const char *beat)
{
    uint8_t label_bytes[128];
    uint8_t meta_bytes[512];
    uint8_t bytes[1024];
    struct writer entry = writer_of(label_bytes, sizeof label_bytes);
    struct writer meta = writer_of(meta_bytes, sizeof meta_bytes);
    struct writer w = writer_of(bytes, sizeof bytes);
    sim_put_text(&entry, 1, "layer");
    sim_put_text(&entry, 2, label);
    sim_put_text(&meta, 1, "node-a");
    sim_put_text(&meta, 5, uid);
    sim_put_bytes(&meta, 11, writer_view(&entry));
    sim_put_bytes(&w, 1, writer_view(&meta));
    sim_put_text(&w, 3, beat);
    assert_int_equal(sim_api_put(&api, SIM_NODE, writer_view(&w)), STATUS_OK);
}

/* The type and the metadata of the only event that came since. */
static const char *node_event(struct view *meta)
{
    struct view object = view_of(NULL, 0);
    settle();
    struct reader in = reader_of(view_of(client.body, client.len));
    const char *type = event(&in, "PartialObjectMetadata", &object);
    *meta = sim_field_bytes(object, 1);
    assert_int_equal(reader_left(&in), 0);
    assert_int_equal(sim_field_bytes(object, 3).len, 0);
    client.len = 0;
    return type;
}

static void test_node_watch(void **state)
{
    const struct ask watch = {
        .method = "GET", .path = NODES, .accept = AS_METADATA ";stream=watch," AS_METADATA};
    struct view meta;
    (void)state;
    begin();
    put_node("uid-1", "one", "beat");
    assert_int_equal(ask(&watch), 200);
    assert_string_equal(node_event(&meta), "ADDED");
    assert_view(sim_field_bytes(meta, 5), "uid-1");
    put_node("uid-1", "two", "beat");
    assert_string_equal(node_event(&meta), "MODIFIED");
    assert_view(sim_field_bytes(sim_field_bytes(meta, 11), 2), "two");
    put_node("uid-1", "two", "another beat");
    assert_string_equal(node_event(&meta), "MODIFIED");
    assert_int_equal(sim_api_delete(&api, SIM_NODE, "", "node-a"), STATUS_OK);
    assert_string_equal(node_event(&meta), "DELETED");
    put_node("uid-2", "two", "beat");
    assert_string_equal(node_event(&meta), "ADDED");
    assert_view(sim_field_bytes(meta, 5), "uid-2");
}

/* --- Events and claim status --- */

#define EVENTS "/apis/events.k8s.io/v1/namespaces/default/events"

/* `series` empty: no series. */
static struct view event_with(const char *name, const char *reason, struct view series)
{
    static uint8_t bytes[1024];
    uint8_t meta_bytes[300];
    uint8_t event_bytes[700];
    struct writer meta = writer_of(meta_bytes, sizeof meta_bytes);
    struct writer e = writer_of(event_bytes, sizeof event_bytes);
    struct writer w = writer_of(bytes, sizeof bytes);
    sim_put_text(&meta, 1, name);
    sim_put_bytes(&e, 1, writer_view(&meta));
    sim_put_bytes(&e, 2, view_of("\x08\x01", 2));
    if (series.len > 0) {
        sim_put_bytes(&e, 3, series);
    }
    sim_put_text(&e, 4, "neuron.aws.com");
    sim_put_text(&e, 5, "neuron.aws.com-node-a");
    sim_put_text(&e, 6, "Publish");
    sim_put_text(&e, 7, reason);
    sim_put_text(&e, 11, "Warning");
    kube_envelope_head(&w, "events.k8s.io/v1", "Event", e.len);
    writer_append(&w, writer_view(&e));
    assert_false(w.full || e.full || meta.full);
    return writer_view(&w);
}

static struct view event_body(const char *reason)
{
    return event_with("x", reason, view_of(NULL, 0));
}

static void test_invalid_events(void **state)
{
    static const char *const names[] = {"",   "X",    "-a",   "a-",  "a..b", ".a",
                                        "a.", "a.-b", "a-.b", "a_b", "a b"};
    struct sim_api_event e;
    char name[255];
    (void)state;
    begin();
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct view event = event_with(names[i], "Why", view_of(NULL, 0));
        assert_int_equal(send("POST", EVENTS, event), 422);
        assert_int_equal(sim_api_next(&api, &e), STATUS_OK); /* its slot is free again */
    }
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = 0;
    assert_int_equal(send("POST", EVENTS, event_with(name, "Why", view_of(NULL, 0))), 422);
    assert_int_equal(send("POST", EVENTS, event_with(name + 1, "Why", view_of(NULL, 0))), 201);
    assert_int_equal(send("POST", EVENTS, event_with("a-b.c", "Why", view_of(NULL, 0))), 201);
    /* count 1; no time; both right */
    struct view series = view_of("\x08\x01\x12\x02\x08\x01", 6);
    assert_int_equal(send("POST", EVENTS, event_with("s", "Why", series)), 422);
    assert_reason("Invalid", "series");
    assert_int_equal(send("POST", EVENTS, event_with("s", "Why", view_of("\x08\x02", 2))), 422);
    series = view_of("\x08\x02\x12\x02\x08\x01", 6);
    assert_int_equal(send("POST", EVENTS, event_with("s", "Why", series)), 201);
}

static void test_events(void **state)
{
    struct sim_api_event e;
    (void)state;
    begin();
    assert_int_equal(send("POST", EVENTS, event_body("SliceRefused")), 201);
    (void)answer("Event");
    assert_int_equal(api.events, 1);
    assert_int_equal(sim_api_next(&api, &e), STATUS_OK);
    assert_int_equal(e.asked, SIM_ASK_EVENT);
    assert_true(view_equal(e.body, event_body("SliceRefused")));
    assert_int_equal(send("POST", EVENTS, event_body("")), 422);
    assert_reason("Invalid", "reason");
    assert_int_equal(
        send("POST", "/apis/events.k8s.io/v1/namespaces/ml/events", event_body("SliceRefused")),
        422);
    assert_int_equal(get(EVENTS), 405);
    assert_int_equal(send("POST", EVENTS, event_body("SliceRefused")), 409); /* its name */
    assert_int_equal(api.events, 1);
    const struct ask series = {.method = "PATCH",
                               .path = EVENTS "/x",
                               .body = view_text("{}"),
                               .type = "application/merge-patch+json"};
    const struct ask unknown = {.method = "PATCH",
                                .path = EVENTS "/y",
                                .body = view_text("{}"),
                                .type = "application/merge-patch+json"};
    assert_int_equal(ask(&series), 200);
    (void)answer("Event");
    assert_int_equal(ask(&unknown), 404);
    assert_int_equal(send("PATCH", EVENTS "/x", view_text("{}")), 415);
    assert_int_equal(api.series, 1);
}

static void test_claim_status(void **state)
{
    static const char claim[] = "\x0a\x09\x0a\x03one\x1a\x02ml";
    const char *path =
        "/apis/resource.k8s.io/v1/namespaces/ml/resourceclaims/one/status?force=true";
    struct ask patch = {.method = "PATCH",
                        .path = path,
                        .body = view_text("{}"),
                        .type = "application/apply-patch+yaml"};
    (void)state;
    begin();
    assert_int_equal(ask(&patch), 404);
    assert_int_equal(sim_api_put(&api, SIM_CLAIM, view_of(claim, sizeof claim - 1)), STATUS_OK);
    assert_int_equal(ask(&patch), 200);
    (void)answer("ResourceClaim");
    assert_int_equal(api.patches, 1);
    patch.type = PROTOBUF;
    assert_int_equal(ask(&patch), 415);
    assert_int_equal(get(path), 405);
}

/* --- faults --- */

static void fault(enum sim_fault_kind kind, unsigned asked, unsigned http)
{
    const struct sim_fault f = {.asked = asked, .http = http, .retry_after_s = 7, .key = "key"};
    sim_api_fault(&api, kind, &f);
}

static void test_faults_instead_of_an_answer(void **state)
{
    (void)state;
    begin();
    fault(SIM_FAULT_ANSWER, SIM_ASK_LIST, 429);
    assert_int_equal(get(SLICES), 429);
    assert_memory_equal(client.body, "Too many", 8);
    fault(SIM_FAULT_ANSWER, SIM_ASK_LIST, 503);
    assert_int_equal(get(SLICES), 503);
    assert_reason("ServiceUnavailable", "unable to handle");
    sim_api_fault_end(&api, SIM_FAULT_ANSWER);
    fault(SIM_FAULT_REFUSED, SIM_ASK_CREATE, 0);
    assert_int_equal(send("POST", SLICES, slice(&good)), 0);
    assert_int_equal(get(SLICES), 200);
    assert_int_equal(sim_field_bytes(answer("ResourceSliceList"), 2).len, 0);
    sim_api_fault_end(&api, SIM_FAULT_REFUSED);
    fault(SIM_FAULT_RESET, SIM_ASK_CREATE, 0);
    assert_int_equal(send("POST", SLICES, slice(&good)), 0);
    fault(SIM_FAULT_SILENT, SIM_ASK_LIST, 0);
    assert_int_equal(get(SLICES), 0);
    sim_api_fault_end(&api, SIM_FAULT_SILENT);
    fault(SIM_FAULT_HELD, SIM_ASK_LIST, 0);
    assert_int_equal(get(SLICES), 0);
    sim_api_fault_end(&api, SIM_FAULT_HELD);
    settle();
    assert_int_equal(client.http, 200);
    assert_true(sim_field_bytes(answer("ResourceSliceList"), 2).len > 0); /* it was done */
}

static void test_faults_in_an_answer(void **state)
{
    (void)state;
    begin();
    fault(SIM_FAULT_DROPPED, SIM_ASK_CREATE, 0);
    char name[NAME_CAP];
    struct slice s = created();
    assert_null(memmem(client.body, client.len, "key", 3));
    text_cut(name, sizeof name, view_text(s.name));
    const struct slice other = created();
    s.name = name;
    assert_int_equal(get(path_of(&s)), 200);
    fault(SIM_FAULT_OTHER, SIM_ASK_LIST, 0);
    assert_int_equal(get(path_of(&s)), 200);
    assert_view(sim_field_bytes(sim_field_bytes(answer("ResourceSlice"), 1), 1), other.name);
    assert_int_equal(get(SLICES "?fieldSelector=spec.nodeName%3Dnode-b"), 200);
    assert_int_equal(sim_field_bytes(answer("ResourceSliceList"), 2).len, 0);
    sim_api_fault_end(&api, SIM_FAULT_OTHER);
    fault(SIM_FAULT_CUT, SIM_ASK_LIST, 0);
    assert_int_equal(get(path_of(&s)), 200);
    assert_true(client.ended && !sim_message_valid(view_of(client.body + 4, client.len - 4)));
    sim_api_fault_end(&api, SIM_FAULT_CUT);
    fault(SIM_FAULT_PAGE, SIM_ASK_GROUP, 0);
    assert_int_equal(get("/apis/resource.k8s.io"), 200);
    assert_memory_equal(client.body, "<html>", 6);
    fault(SIM_FAULT_UNSELECTED, SIM_ASK_LIST, 0);
    assert_int_equal(get(SLICES "?fieldSelector=spec.nodeName%3Dnode-b"), 200);
    assert_true(sim_field_bytes(answer("ResourceSliceList"), 2).len > 0);
}

/* Postponed: nothing is done before the end. Unanswered, lost: all is done. */
static void test_faults_of_the_moment(void **state)
{
    struct sim_api_event e;
    (void)state;
    begin();
    fault(SIM_FAULT_POSTPONED, SIM_ASK_CREATE, 0);
    assert_int_equal(send("POST", SLICES, slice(&good)), 0);
    assert_int_equal(sim_api_next(&api, &e), STATUS_MORE);
    assert_int_equal(get(SLICES), 200);
    assert_int_equal(sim_field_bytes(answer("ResourceSliceList"), 2).len, 0);
    while (sim_api_next(&api, &e) == STATUS_OK) {
        assert_int_equal(e.asked, SIM_ASK_LIST);
    }
    sim_api_fault_end(&api, SIM_FAULT_POSTPONED);
    client.http = 0;
    settle();
    assert_int_equal(client.http, 0);
    sim_api_resume(&api);
    settle();
    assert_int_equal(client.http, 201);
    assert_int_equal(sim_api_next(&api, &e), STATUS_OK);
    assert_int_equal(e.asked, SIM_ASK_CREATE);
    fault(SIM_FAULT_UNANSWERED, SIM_ASK_CREATE, 0);
    assert_int_equal(send("POST", SLICES, slice(&good)), 0);
    sim_api_fault_end(&api, SIM_FAULT_UNANSWERED);
    settle();
    assert_int_equal(client.http, 0);
    fault(SIM_FAULT_LOST, SIM_ASK_CREATE, 504);
    assert_int_equal(send("POST", SLICES, slice(&good)), 504);
    assert_reason("Timeout", "unable to return");
    assert_int_equal(get(SLICES), 200);
    struct reader in = reader_of(answer("ResourceSliceList"));
    struct sim_field f;
    unsigned items = 0;
    while (sim_field_next(&in, &f) == STATUS_OK) {
        items += f.number == 2 ? 1 : 0;
    }
    assert_int_equal(items, 3);
}

static void test_faults_in_words(void **state)
{
    const struct sim_fault refused = {
        .asked = SIM_ASK_CREATE, .http = 422, .field = "spec.devices", .cause = "too many"};
    const struct sim_fault said = {.asked = SIM_ASK_LIST, .http = 429, .text = "not so fast"};
    const struct sim_fault page = {
        .asked = SIM_ASK_GROUP, .http = 404, .type = "a/b", .body = view_text("gone")};
    const struct sim_fault renamed = {.asked = SIM_ASK_CREATE, .name = "another"};
    const struct sim_fault dropped = {.asked = SIM_ASK_CREATE};
    (void)state;
    begin();
    sim_api_fault(&api, SIM_FAULT_ANSWER, &refused);
    assert_int_equal(send("POST", SLICES, slice(&good)), 422);
    struct view cause = sim_field_bytes(sim_field_bytes(answer("Status"), 5), 4);
    assert_view(sim_field_bytes(cause, 2), "too many");
    assert_view(sim_field_bytes(cause, 3), "spec.devices");
    sim_api_fault(&api, SIM_FAULT_ANSWER, &said);
    assert_int_equal(get(SLICES), 429);
    assert_view(sim_field_bytes(answer("Status"), 3), "not so fast");
    sim_api_fault_end(&api, SIM_FAULT_ANSWER);
    sim_api_fault(&api, SIM_FAULT_PAGE, &page);
    assert_int_equal(get("/apis/resource.k8s.io"), 404);
    assert_string_equal(client.type, "a/b");
    assert_memory_equal(client.body, "gone", 4);
    sim_api_fault(&api, SIM_FAULT_OTHER, &renamed);
    sim_api_fault(&api, SIM_FAULT_DROPPED, &dropped);
    assert_int_equal(send("POST", SLICES, slice(&good)), 201);
    assert_view(sim_field_bytes(sim_field_bytes(answer("ResourceSlice"), 1), 1), "another");
    assert_int_equal(sim_field_bytes(sim_field_bytes(answer("ResourceSlice"), 2), 6).len, 0);
    fault(SIM_FAULT_PAGED, SIM_ASK_LIST, 0);
    assert_int_equal(get(SLICES), 200);
    struct view meta = sim_field_bytes(answer("ResourceSliceList"), 1);
    assert_view(sim_field_bytes(meta, 3), "next");
    assert_view(sim_field_bytes(meta, 2), "1001");
    fault(SIM_FAULT_UNVERSIONED, SIM_ASK_LIST, 0);
    assert_int_equal(get(SLICES), 200);
    assert_int_equal(sim_field_bytes(sim_field_bytes(answer("ResourceSliceList"), 1), 2).len, 0);
}

/* Nothing ends or tells such a watch but its owner. */
static void test_timeless_watch(void **state)
{
    struct view object;
    (void)state;
    begin();
    api.config.timeless = true;
    assert_int_equal(get(SLICES "?watch=true&allowWatchBookmarks=true&timeoutSeconds=300"), 200);
    client.now_ms += 7200000;
    settle();
    assert_false(client.ended);
    assert_int_equal(client.len, 0);
    sim_api_bookmark(&api, SIM_NODE);
    sim_api_expire(&api, SIM_NODE);
    settle();
    assert_int_equal(client.len, 0);
    sim_api_bookmark(&api, SIM_SLICE);
    sim_api_expire(&api, SIM_SLICE);
    sim_api_tell(&api, SIM_SLICE, "DELETED", "of-nobody");
    settle();
    struct reader in = reader_of(view_of(client.body, client.len));
    assert_string_equal(event(&in, "ResourceSlice", &object), "BOOKMARK");
    assert_string_equal(event(&in, "Status", &object), "ERROR");
    assert_string_equal(event(&in, "ResourceSlice", &object), "DELETED");
    assert_view(sim_field_bytes(sim_field_bytes(object, 1), 1), "of-nobody");
    assert_string_equal(event(&in, "Status", &object), "none");
    assert_false(client.ended);
}

static void test_faults_of_a_watch(void **state)
{
    struct view object;
    (void)state;
    begin();
    assert_int_equal(get(SLICES "?watch=true"), 200);
    fault(SIM_FAULT_UNTOLD, SIM_ASK_WATCH, 0);
    struct slice s = good;
    s.name = "sent-to-nobody";
    struct view body = slice(&s);
    assert_int_equal(sim_api_put(&api, SIM_SLICE, opened(body, "ResourceSlice")), STATUS_OK);
    settle();
    sim_api_fault_end(&api, SIM_FAULT_UNTOLD);
    settle();
    assert_int_equal(client.len, 0);
    sim_api_forget(&api);
    fault(SIM_FAULT_EXPIRED, SIM_ASK_WATCH, 0);
    assert_int_equal(get(SLICES "?watch=true&resourceVersion=1001"), 200);
    struct reader in = reader_of(view_of(client.body, client.len));
    assert_string_equal(event(&in, "Status", &object), "ERROR");
}

static void test_goaway(void **state)
{
    uint32_t stream = 0;
    (void)state;
    begin();
    settle();
    sim_api_goaway(&api, (unsigned)client.number, true);
    settle();
    assert_int_equal(h2_open(&client.h2, 0, &stream), PEER_CLOSED);
    sim_api_drop(&api, (unsigned)client.number);
    assert_int_equal(sim_api_open(&api), client.number); /* its number is free again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node_watch),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_invalid_events),
        cmocka_unit_test(test_claim_status),
        cmocka_unit_test(test_faults_instead_of_an_answer),
        cmocka_unit_test(test_faults_in_an_answer),
        cmocka_unit_test(test_faults_of_the_moment),
        cmocka_unit_test(test_faults_in_words),
        cmocka_unit_test(test_faults_of_a_watch),
        cmocka_unit_test(test_timeless_watch),
        cmocka_unit_test(test_goaway),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
