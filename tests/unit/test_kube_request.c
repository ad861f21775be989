/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the API server: paths, header lists as the server reads them, envelope head. */
#include "tests/unit/wire/h2_harness.h"
#include "cfg/identity.h"
#include "wire/kube.h"

static struct conn client;
static struct conn server;

/* --- paths --- */

static char text_space[KUBE_PATH_CAP];

static struct writer path_writer(void)
{
    return writer_of(text_space, sizeof text_space);
}

static void check_path(enum status st, const struct writer *out, const char *want)
{
    assert_int_equal(st, STATUS_OK);
    if (!view_is(writer_view(out), want)) {
        fail_msg("%.*s, not %s", (int)out->len, text_space, want);
    }
}

static void test_paths(void **state)
{
    static const struct kube_manager ours = {DRIVER_NAME, "node-a"};
    static const struct kube_manager efa = {"dra.net", "node-a"};
    struct writer w = path_writer();

    (void)state;
    check_path(kube_path_node(&w, "ip-10-0-1-2.ec2.internal"), &w,
               "/api/v1/nodes/ip-10-0-1-2.ec2.internal");
    w = path_writer();
    check_path(kube_path_node_watch(&w, "node-a", "4711"), &w,
               "/api/v1/nodes?fieldSelector=metadata.name%3Dnode-a&watch=true"
               "&allowWatchBookmarks=true&timeoutSeconds=3600&resourceVersion=4711");
    w = path_writer();
    check_path(kube_path_node_watch(&w, "node-a", ""), &w,
               "/api/v1/nodes?fieldSelector=metadata.name%3Dnode-a&watch=true"
               "&allowWatchBookmarks=true&timeoutSeconds=3600");
    w = path_writer();
    check_path(kube_path_claim(&w, "v1", "team-a", "claim-1"), &w,
               "/apis/resource.k8s.io/v1/namespaces/team-a/resourceclaims/claim-1");
    w = path_writer();
    check_path(kube_path_claims(&w, "v1", NULL), &w,
               "/apis/resource.k8s.io/v1/resourceclaims?limit=500");
    w = path_writer();
    check_path(kube_path_claims(&w, "v1beta2", "eyJ2Ijoi_-0"), &w,
               "/apis/resource.k8s.io/v1beta2/resourceclaims?limit=500&continue=eyJ2Ijoi_-0");
    w = path_writer();
    check_path(kube_path_slices(&w, "v1beta1", "neuron.aws.com", "node-a", NULL), &w,
               "/apis/resource.k8s.io/v1beta1/resourceslices"
               "?fieldSelector=spec.driver%3Dneuron.aws.com%2Cspec.nodeName%3Dnode-a");
    w = path_writer();
    check_path(kube_path_slices(&w, "v1", "neuron.aws.com", "node-a", "12"), &w,
               "/apis/resource.k8s.io/v1/resourceslices"
               "?fieldSelector=spec.driver%3Dneuron.aws.com%2Cspec.nodeName%3Dnode-a"
               "&watch=true&allowWatchBookmarks=true&timeoutSeconds=3600&resourceVersion=12");
    w = path_writer();
    check_path(kube_path_slice(&w, "v1", NULL), &w, "/apis/resource.k8s.io/v1/resourceslices");
    w = path_writer();
    check_path(kube_path_slice(&w, "v1beta2", "s-1"), &w,
               "/apis/resource.k8s.io/v1beta2/resourceslices/s-1");
    w = path_writer();
    check_path(kube_path_claim_status(&w, "v1", "team-a", "claim-1", &ours), &w,
               "/apis/resource.k8s.io/v1/namespaces/team-a/resourceclaims/claim-1/status"
               "?fieldManager=neuron.aws.com-node-a&force=true");
    w = path_writer();
    check_path(kube_path_claim_status(&w, "v1", "team-a", "claim-1", &efa), &w,
               "/apis/resource.k8s.io/v1/namespaces/team-a/resourceclaims/claim-1/status"
               "?fieldManager=dra.net-node-a&force=true");
    w = path_writer();
    check_path(kube_path_event(&w, "default", NULL), &w,
               "/apis/events.k8s.io/v1/namespaces/default/events");
    w = path_writer();
    check_path(kube_path_event(&w, "team-a", "claim-1.0a"), &w,
               "/apis/events.k8s.io/v1/namespaces/team-a/events/claim-1.0a");
}

/* The API server takes a manager of 128 bytes at most; two nodes never share one. */
static void test_manager_of_a_long_name(void **state)
{
    char node[2][NAME_CAP];
    char path[2][KUBE_PATH_CAP];
    char longest[DRIVER_CAP];
    const char *const drivers[] = {DRIVER_NAME, longest, "dra.net"};
    (void)state;
    memset(longest, 'd', sizeof longest - 1u);
    longest[sizeof longest - 1u] = 0;
    for (unsigned d = 0; d < 3u; d++) {
        for (unsigned i = 0; i < 2; i++) {
            memset(node[i], 'n', NAME_CAP - 1);
            node[i][NAME_CAP - 2] = (char)('0' + i);
            node[i][NAME_CAP - 1] = 0;
            struct writer w = writer_of(path[i], KUBE_PATH_CAP);
            const struct kube_manager manager = {drivers[d], node[i]};
            enum status s = kube_path_claim_status(&w, "v1", "ns", "c", &manager);
            assert_int_equal(s, STATUS_OK);
            assert_int_equal(writer_end_text(&w), STATUS_OK);
            const char *text = strstr(path[i], "fieldManager=") + strlen("fieldManager=");
            assert_int_equal(strcspn(text, "&"), (d < 2u) ? 128 : 121);
        }
        assert_string_not_equal(path[0], path[1]);
    }
}

/* Names come from other hands: none leaves its segment. */
static void test_names_are_encoded(void **state)
{
    struct writer w = path_writer();

    (void)state;
    check_path(kube_path_claim(&w, "v1", "a/b", "../x?y=z&\xc3\xa9 %_~"), &w,
               "/apis/resource.k8s.io/v1/namespaces/a%2Fb/resourceclaims/"
               "..%2Fx%3Fy%3Dz%26%C3%A9%20%25_~");
    w = path_writer();
    check_path(kube_path_claims(&w, "v1", "a&limit=1/+="), &w,
               "/apis/resource.k8s.io/v1/resourceclaims?limit=500&continue=a%26limit%3D1%2F%2B%3D");
}

static void test_path_that_does_not_fit(void **state)
{
    static const char want[] = "x/api/v1/nodes/abcdef";
    struct writer w;

    (void)state;
    for (size_t cap = 1; cap < sizeof want - 1; cap++) {
        w = writer_of(text_space, cap);
        writer_u8(&w, 'x');
        assert_int_equal(kube_path_node(&w, "abcdef"), FULL_BUFFER);
        assert_true(view_is(writer_view(&w), "x"));
        assert_false(w.full);
    }
    w = writer_of(text_space, sizeof want - 1);
    writer_u8(&w, 'x');
    check_path(kube_path_node(&w, "abcdef"), &w, want);
}

static void test_longest_names_fit(void **state)
{
    char name[NAME_CAP];
    char ns[NAMESPACE_CAP];
    char version[RESOURCE_VERSION_CAP];
    char token[CONTINUE_CAP];
    struct writer w = path_writer();

    (void)state;
    memset(token, 'n', sizeof token);
    token[sizeof token - 1] = '\0';
    memset(name, 'n', sizeof name);
    memset(ns, 'n', sizeof ns);
    memset(version, '9', sizeof version);
    name[sizeof name - 1] = '\0';
    ns[sizeof ns - 1] = '\0';
    version[sizeof version - 1] = '\0';
    assert_int_equal(kube_path_claim(&w, "v1beta1", ns, name), STATUS_OK);
    w = path_writer();
    assert_int_equal(kube_path_slices(&w, "v1beta1", "neuron.aws.com", name, version), STATUS_OK);
    w = path_writer();
    assert_int_equal(kube_path_node_watch(&w, name, version), STATUS_OK);
    w = path_writer();
    assert_int_equal(kube_path_claims(&w, "v1beta1", token), STATUS_OK);
    memset(token, '/', sizeof token - 1); /* no server's token: encoded it is three times as long */
    assert_int_equal(kube_path_claims(&w, "v1beta1", token), FULL_BUFFER);
}

/* --- header lists --- */

static void deliver(struct conn *from, struct conn *to)
{
    struct view out = h2_tx_data(&from->h2);
    size_t n = out.len;

    conn_feed(to, out.data, n);
    h2_tx_commit(&from->h2, n);
}

static uint32_t begin(void)
{
    uint32_t stream = 0;

    conn_init(&client, H2_CLIENT);
    conn_init(&server, H2_SERVER);
    client.hold_output = true;
    server.hold_output = true;
    deliver(&client, &server);
    deliver(&server, &client);
    conn_pump(&client);
    assert_int_equal(h2_open(&client.h2, 0, &stream), STATUS_OK);
    return stream;
}

static void check_list(const struct kube_request *r, const char *want)
{
    uint32_t stream = begin();

    assert_int_equal(kube_request_send(&client.h2, stream, r), STATUS_OK);
    deliver(&client, &server);
    assert_string_equal(server.events.text, want);
}

#define SAID(method, path)                                                                         \
    " F1 :method=" method " F1 :scheme=https F1 :authority=10.0.0.1:443 F1 :path=" path
#define PROTOBUF "application/vnd.kubernetes.protobuf"
#define AGENT " F1 user-agent=" AGENT_NAME "/" AGENT_VERSION

static struct kube_request request(const char *method, const char *path)
{
    struct kube_request r = {0};

    r.method = method;
    r.path = view_text(path);
    r.authority = view_text("10.0.0.1:443");
    return r;
}

static void test_get(void **state)
{
    struct kube_request r = request("GET", "/a");

    (void)state;
    check_list(&r, SAID("GET", "/a") " F1 accept=" PROTOBUF ",application/json" AGENT " H1e");
    r.watch = true;
    check_list(&r, SAID("GET", "/a") " F1 accept=" PROTOBUF ";stream=watch," PROTOBUF
                                     ",application/json" AGENT " H1e");
}

static void test_token_and_body(void **state)
{
    struct kube_request r = request("POST", "/b?c=d");

    (void)state;
    r.token = view_text("abc.def");
    r.has_body = true;
    r.body_len = 12345678901ull;
    check_list(&r,
               SAID("POST", "/b?c=d") " F1 accept=" PROTOBUF ",application/json" AGENT
                                      " F1 authorization=Bearer%20abc.def F1 content-type=" PROTOBUF
                                      " F1 content-length=12345678901 H1");
}

/* RFC 7541 §7.1.3: no table on the way may keep the token. */
static void test_token_is_never_indexed(void **state)
{
    struct kube_request r = request("GET", "/a");
    uint32_t stream = begin();
    struct view out;
    bool found = false;

    (void)state;
    r.token = view_text("s3cret");
    assert_int_equal(kube_request_send(&client.h2, stream, &r), STATUS_OK);
    out = h2_tx_data(&client.h2);
    /* 0001 with the static index 23 of authorization: 1f 08, then the length and the value */
    for (size_t i = 0; i + 16 <= out.len; i++) {
        found = found || memcmp(out.data + i,
                                "\x1f\x08\x0d"
                                "Bearer s3cret",
                                16) == 0;
    }
    assert_true(found);
}

static void test_longest_token(void **state)
{
    static char token[TOKEN_CAP];
    struct kube_request r = request("GET", "/a");

    (void)state;
    memset(token, 't', sizeof token - 1);
    r.token = view_text(token);
    assert_int_equal(kube_request_send(&client.h2, begin(), &r), STATUS_OK);
    /* a second one does not fit: nothing of it goes out, and the stream can be tried again */
    uint32_t second = 0;
    uint32_t third = 0;
    assert_int_equal(h2_open(&client.h2, 0, &second), STATUS_OK);
    size_t before = h2_tx_data(&client.h2).len;
    assert_int_equal(kube_request_send(&client.h2, second, &r), FULL_BUFFER);
    assert_int_equal(h2_tx_data(&client.h2).len, before);
    h2_tx_commit(&client.h2, before);
    assert_int_equal(kube_request_send(&client.h2, second, &r), STATUS_OK);
    h2_tx_commit(&client.h2, h2_tx_data(&client.h2).len);
    assert_int_equal(h2_open(&client.h2, 0, &third), STATUS_OK);
    assert_int_equal(third, second + 2);
}

/* --- envelope --- */

static void test_envelope_head(void **state)
{
    uint8_t want[64];
    uint8_t got[64];
    struct writer w = writer_of(got, sizeof got);
    size_t n = hex_bytes("6b387300 0a23 0a12 7265736f757263652e6b38732e696f2f7631 120d "
                         "5265736f75726365536c696365 12ef01",
                         want, sizeof want);

    (void)state;
    kube_envelope_head(&w, "resource.k8s.io/v1", "ResourceSlice", 239);
    assert_false(w.full);
    assert_int_equal(w.len, n);
    assert_memory_equal(got, want, n);
    w = writer_of(got, n - 1);
    kube_envelope_head(&w, "resource.k8s.io/v1", "ResourceSlice", 239);
    assert_true(w.full);
    /* lengths of two bytes, in the TypeMeta too */
    char version[201];
    uint8_t large[256];
    memset(version, 'v', 200);
    version[200] = '\0';
    w = writer_of(large, sizeof large);
    kube_envelope_head(&w, version, "K", 1);
    assert_int_equal(w.len, 4 + 3 + (3 + 200 + 3) + 2);
    assert_memory_equal(large, "k8s\0\x0a\xce\x01\x0a\xc8\x01vv", 12);
}

/* The bytes are protoc's, from the published events/v1/generated.proto of k8s.io/api 0.36.3. */
static void test_event(void **state)
{
    uint8_t want[256];
    uint8_t got[256];
    struct writer w = writer_of(got, sizeof got);
    const struct kube_event event = {
        .name = "claim-7.00000000000004d2",
        .ns = "ml",
        .first_wall_ms = UINT64_C(1700000007123),
        .last_wall_ms = UINT64_C(1700000187000),
        .count = 4,
        .instance = "node-a",
        .action = "Prepare",
        .reason = "ClaimRefused",
        .note = "error=x",
        .warning = true,
        .kind = "ResourceClaim",
        .api_version = "resource.k8s.io/v1",
        .regarding_ns = "ml",
        .regarding_name = "claim-7",
        .regarding_uid = "u-7",
    };
    size_t n = hex_bytes(
        "0a1e0a18636c61696d2d372e303030303030303030303030303464321a026d6c120b0887e2cfaa0610c0a9d33a"
        "1a0c0804120808bbe3cfaa061000220e6e6575726f6e2e6177732e636f6d2a066e6f64652d6132075072657061"
        "72653a0c436c61696d5265667573656442350a0d5265736f75726365436c61696d12026d6c1a07636c61696d2d"
        "372203752d372a127265736f757263652e6b38732e696f2f763152076572726f723d785a075761726e696e67",
        want, sizeof want);

    (void)state;
    kube_event_write(&w, &event);
    assert_false(w.full);
    assert_int_equal(w.len, n);
    assert_memory_equal(got, want, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_manager_of_a_long_name),
        cmocka_unit_test(test_names_are_encoded),
        cmocka_unit_test(test_path_that_does_not_fit),
        cmocka_unit_test(test_longest_names_fit),
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_token_and_body),
        cmocka_unit_test(test_token_is_never_indexed),
        cmocka_unit_test(test_longest_token),
        cmocka_unit_test(test_envelope_head),
        cmocka_unit_test(test_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
