/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in API server by itself, with an HTTP/2 client: what it must refuse as the real one
 * does, what a watch reports, and the two layouts of a slice. A server that accepts everything
 * would test no agent.
 */
#include "tests/unit/apiserver/sim_client.h"

/* --- tests --- */

static void test_who_and_what(void **state)
{
    const struct ask stranger = {.method = "GET", .path = SLICES, .token = "other"};
    const struct ask text = {.method = "GET", .path = SLICES, .accept = "text/html"};
    (void)state;
    begin();
    assert_int_equal(ask(&stranger), 401);
    assert_reason("Unauthorized", "Unauthorized");
    assert_int_equal(ask(&text), 406);
    assert_int_equal(get(SLICES "/absent"), 404);
    assert_reason("NotFound", "resourceslices.resource.k8s.io \"absent\" not found");
    assert_int_equal(get("/api/v1/nodes/absent"), 404);
    assert_reason("NotFound", "nodes \"absent\" not found");
    assert_int_equal(get("/apis/resource.k8s.io/v1alpha3/resourceslices"), 404);
    assert_string_equal(client.type, "text/plain; charset=utf-8");
    assert_int_equal(get(SLICES "?fieldSelector=spec.other%3Dx"), 400);
    assert_int_equal(send("PATCH", SLICES "/absent", view_text("{}")), 405);
    assert_int_equal(get("/apis/events.k8s.io/v1"), 404);
}

static void test_discovery(void **state)
{
    (void)state;
    begin_with(false, true);
    assert_int_equal(get("/apis/resource.k8s.io"), 200);
    struct view group = answer("APIGroup");
    assert_view(sim_field_bytes(group, 1), "resource.k8s.io");
    assert_view(sim_field_bytes(sim_field_bytes(group, 3), 2), "v1beta1");
    assert_int_equal(get(SLICES), 404);
    assert_int_equal(get(BETA_SLICES), 200);
    begin_with(false, false);
    assert_int_equal(get("/apis/resource.k8s.io"), 404);
}

static void test_bad_bodies(void **state)
{
    const struct ask json = {
        .method = "POST", .path = SLICES, .type = "application/json", .body = view_text("{}")};
    (void)state;
    begin();
    assert_int_equal(ask(&json), 415);
    assert_int_equal(send("POST", SLICES, view_text("not enveloped")), 400);
    assert_int_equal(send("POST", SLICES, view_of("k8s\0\xff", 5)), 400);
}

static void test_invalid_slices(void **state)
{
    static char long_text[66] = "";
    struct slice s = good;
    (void)state;
    memset(long_text, 'x', sizeof long_text - 1);
    begin();
    s.driver = "";
    assert_int_equal(send("POST", SLICES, slice(&s)), 422);
    assert_reason("Invalid", "spec.driver: Required value");
    s = good;
    s.device = "Neuron_0";
    assert_int_equal(send("POST", SLICES, slice(&s)), 422);
    s = good;
    s.value = long_text;
    assert_int_equal(send("POST", SLICES, slice(&s)), 422);
    assert_reason("Invalid", "at most 64 bytes");
    assert_int_equal(api.store.version, 1000); /* nothing was stored */
}

static void test_conflicts(void **state)
{
    (void)state;
    begin();
    struct slice s = created();
    assert_int_equal(send("PUT", path_of(&s), slice(&s)), 200); /* changes nothing */
    assert_view(sim_field_bytes(sim_field_bytes(answer("ResourceSlice"), 1), 6), s.version);
    s.value = "other";
    assert_int_equal(send("PUT", path_of(&s), slice(&s)), 200);
    assert_int_equal(sim_field_value(sim_field_bytes(answer("ResourceSlice"), 1), 7), 2);
    assert_int_equal(send("PUT", path_of(&s), slice(&s)), 409); /* the old resourceVersion */
    assert_reason("Conflict", "the object has been modified");
    s.version = "";
    s.uid = "another";
    assert_int_equal(send("PUT", path_of(&s), slice(&s)), 409);
    s.uid = "";
    s.driver = "other.example.com";
    assert_int_equal(send("PUT", path_of(&s), slice(&s)), 422);
    assert_reason("Invalid", "immutable");
}

static void test_layouts(void **state)
{
    struct slice beta = good;
    (void)state;
    begin();
    beta.beta = true;
    assert_int_equal(send("POST", SLICES, slice(&beta)), 400); /* the body names another version */
    assert_int_equal(send("POST", BETA_SLICES, slice(&beta)), 201);
    char name[NAME_CAP];
    text_cut(name, sizeof name, sim_field_bytes(sim_field_bytes(answer("ResourceSlice"), 1), 1));
    struct slice s = good;
    s.name = name;
    assert_int_equal(get(path_of(&s)), 200);
    struct view device = sim_field_bytes(sim_field_bytes(answer("ResourceSlice"), 2), 6);
    assert_view(sim_field_bytes(device, 1), "neuron-device-0");
    assert_view(sim_field_bytes(sim_field_bytes(device, 2), 1), "key"); /* v1: attributes */
    assert_int_equal(get(BETA_SLICES "?fieldSelector=metadata.name%3Dother"), 200);
    assert_int_equal(sim_field_bytes(answer("ResourceSliceList"), 2).len, 0);
    assert_int_equal(get(BETA_SLICES), 200);
    device =
        sim_field_bytes(sim_field_bytes(sim_field_bytes(answer("ResourceSliceList"), 2), 2), 6);
    struct view basic = sim_field_bytes(device, 2);
    assert_view(sim_field_bytes(sim_field_bytes(basic, 1), 1), "key");
}

static void test_watch(void **state)
{
    struct view object;
    (void)state;
    begin();
    struct slice s = created();
    assert_int_equal(get(SLICES "?watch=true&allowWatchBookmarks=true&timeoutSeconds=300"), 200);
    assert_string_equal(client.type, PROTOBUF ";stream=watch");
    struct reader in = reader_of(view_of(client.body, client.len));
    assert_string_equal(event(&in, "ResourceSlice", &object), "ADDED");
    assert_string_equal(event(&in, "ResourceSlice", &object), "none");
    assert_int_equal(sim_api_delete(&api, SIM_SLICE, "", s.name), STATUS_OK);
    settle();
    in = reader_of(view_from(view_of(client.body, client.len), in.pos));
    assert_string_equal(event(&in, "ResourceSlice", &object), "DELETED");
    assert_view(sim_field_bytes(sim_field_bytes(object, 1), 1), s.name);
    client.len = 0;
    client.now_ms = sim_api_deadline(&api);
    settle();
    in = reader_of(view_of(client.body, client.len));
    assert_string_equal(event(&in, "ResourceSlice", &object), "BOOKMARK");
    assert_false(client.ended);
    for (unsigned i = 0; i < 20 && !client.ended; i++) {
        client.len = 0;
        client.now_ms = sim_api_deadline(&api);
        settle();
    }
    assert_true(client.ended);
    assert_true(client.now_ms >= 301000);
}

static void test_expired_watch(void **state)
{
    struct view object;
    (void)state;
    begin();
    struct slice s = created();
    assert_int_equal(sim_api_delete(&api, SIM_SLICE, "", s.name), STATUS_OK);
    api.store.forgotten = api.store.version; /* as when the tombstone's room was needed */
    assert_int_equal(get(SLICES "?watch=true&resourceVersion=1000"), 200);
    struct reader in = reader_of(view_of(client.body, client.len));
    assert_string_equal(event(&in, "Status", &object), "ERROR");
    assert_int_equal(sim_field_value(object, 6), 410);
    assert_true(client.ended);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_and_what), cmocka_unit_test(test_discovery),
        cmocka_unit_test(test_bad_bodies),   cmocka_unit_test(test_invalid_slices),
        cmocka_unit_test(test_conflicts),    cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_watch),        cmocka_unit_test(test_expired_watch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
