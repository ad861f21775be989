/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in kubelet by itself, against a plugin that answers as each test says: how it chooses
 * among versions, tries again, and judges replies. The plugin is the gRPC server of src/wire.
 */
#include "tests/sim/kubelet/sim_kubelet.h"
#include "tests/sim/sim_proto.h"
#include "unit.h"

#define SOCKET "/r/driver-reg.sock"
#define ENDPOINT "/p/dra.sock"
#define DRIVER "driver.example.com"

static struct sim_kubelet kubelet;
static struct grpc_buffers buffers;
static struct grpc_server server[2]; /* registration, service */

static struct plugin {
    uint64_t now_ms;
    bool listens; /* the registration socket takes connections */
    bool open[2];
    const char *type;
    const char *versions[4];
    unsigned infos;
    unsigned verdicts;
    enum grpc_status verdict_code;
    bool told_good;
    char path[GRPC_PATH_CAP]; /* of the last service call */
    bool silent;
    uint8_t reply[512];
    size_t reply_len;
    char log[2048]; /* events of the kubelet */
} plugin;

/* --- the plugin --- */

static void write_info(struct writer *w)
{
    sim_put_text(w, 1, plugin.type);
    sim_put_text(w, 2, DRIVER);
    sim_put_text(w, 3, ENDPOINT);
    for (unsigned i = 0; i < COUNT(plugin.versions) && plugin.versions[i] != NULL; i++) {
        sim_put_text(w, 4, plugin.versions[i]);
    }
}

static void answer(unsigned which, const struct grpc_event *e)
{
    uint8_t bytes[512];
    struct writer w = writer_of(bytes, sizeof bytes);
    enum grpc_status code = GRPC_OK;
    if (view_ends(e->path, "/GetInfo")) {
        plugin.infos++;
        write_info(&w);
    } else if (view_ends(e->path, "/NotifyRegistrationStatus")) {
        plugin.verdicts++;
        plugin.told_good = sim_field_value(e->message, 1) == 1;
        code = plugin.verdict_code;
    } else {
        text_cut(plugin.path, sizeof plugin.path, e->path);
        writer_bytes(&w, plugin.reply, plugin.reply_len);
    }
    if (code == GRPC_OK) {
        assert_int_equal(grpc_reply_all(&server[which], e->call, writer_view(&w)), STATUS_OK);
    } else {
        assert_int_equal(grpc_finish(&server[which], e->call, code, "no"), STATUS_OK);
    }
}

static void plugin_turn(unsigned which)
{
    struct grpc_event e;
    while (grpc_next(&server[which], plugin.now_ms, &e) == STATUS_OK) {
        if (e.kind == GRPC_EVENT_CALL && !plugin.silent) {
            answer(which, &e);
        }
    }
}

/* --- bytes, orders, events --- */

static size_t copy(struct writer to, struct view from)
{
    struct view v = view_first(from, to.cap - to.len);
    if (v.len > 0) {
        memcpy(to.data + to.len, v.data, v.len);
    }
    return v.len;
}

static bool move(unsigned which)
{
    if (!plugin.open[which]) {
        return false;
    }
    size_t in = copy(h2_rx_space(&server[which].h2), sim_kubelet_tx(&kubelet, which));
    sim_kubelet_tx_commit(&kubelet, which, in);
    h2_rx_commit(&server[which].h2, in);
    plugin_turn(which);
    size_t out = copy(sim_kubelet_rx(&kubelet, which), h2_tx_data(&server[which].h2));
    h2_tx_commit(&server[which].h2, out);
    sim_kubelet_rx_commit(&kubelet, which, out);
    return in + out > 0;
}

static bool orders(void)
{
    const char *path = NULL;
    unsigned link = 0;
    bool moved = false;
    enum sim_order order = sim_kubelet_order(&kubelet, &link, &path);
    for (; order != SIM_ORDER_NONE; order = sim_kubelet_order(&kubelet, &link, &path)) {
        moved = true;
        assert_true(link < 2);
        plugin.open[link] = order == SIM_ORDER_CONNECT && plugin.listens;
        if (order == SIM_ORDER_CONNECT) {
            assert_string_equal(path, link == 0 ? SOCKET : ENDPOINT);
            sim_kubelet_connected(&kubelet, link, plugin.listens ? STATUS_OK : HOST_IO);
            grpc_init(&server[link], &buffers, NULL, 0, plugin.now_ms);
        }
    }
    return moved;
}

static void note(const struct sim_kubelet_event *e)
{
    static const char *const names[] = {"registered", "refused", "gone", "answered"};
    size_t len = strlen(plugin.log);
    (void)snprintf(plugin.log + len, sizeof plugin.log - len, "%s %s;", names[e->kind], e->text);
}

static void settle(void)
{
    struct sim_kubelet_event e;
    for (bool moved = true; moved;) {
        sim_kubelet_step(&kubelet, plugin.now_ms);
        moved = orders();
        moved = move(0) || moved;
        moved = move(1) || moved;
        while (sim_kubelet_next(&kubelet, &e) == STATUS_OK) {
            note(&e);
            moved = true;
        }
    }
}

static void pass(uint64_t ms)
{
    uint64_t end = plugin.now_ms + ms;
    uint64_t at = sim_kubelet_deadline(&kubelet);
    while (at <= end) {
        plugin.now_ms = at > plugin.now_ms ? at : plugin.now_ms;
        settle();
        at = sim_kubelet_deadline(&kubelet);
        assert_true(at > plugin.now_ms);
    }
    plugin.now_ms = end;
    settle();
}

/* What the kubelet logged since the last call. */
static void logged(const char *text)
{
    assert_string_equal(plugin.log, text);
    plugin.log[0] = 0;
}

static void begin(bool knows_v1, bool retries_notify)
{
    const struct sim_kubelet_config config = {.knows_v1 = knows_v1,
                                              .retries_notify = retries_notify};
    memset(&plugin, 0, sizeof plugin);
    plugin.listens = true;
    plugin.type = "DRAPlugin";
    plugin.versions[0] = "v1.DRAPlugin";
    plugin.versions[1] = "v1beta1.DRAPlugin";
    plugin.now_ms = 1000;
    sim_kubelet_init(&kubelet, &config, plugin.now_ms);
}

static void appear(void)
{
    assert_int_equal(sim_kubelet_socket(&kubelet, SOCKET, true), STATUS_OK);
    settle();
}

static const struct sim_claim claims[2] = {{"ml", "one", "uid-1"}, {"ml", "two", "uid-2"}};

static enum status call(unsigned count)
{
    const struct sim_batch batch = {
        .method = SIM_PREPARE, .driver = DRIVER, .claims = claims, .count = count};
    unsigned number = 0;
    enum status s = sim_kubelet_call(&kubelet, plugin.now_ms, &batch, &number);
    settle();
    return s;
}

static void reply_entry(const char *uid, const char *error)
{
    uint8_t value_bytes[128];
    uint8_t entry_bytes[256];
    struct writer value = writer_of(value_bytes, sizeof value_bytes);
    struct writer entry = writer_of(entry_bytes, sizeof entry_bytes);
    struct writer w =
        writer_of(plugin.reply + plugin.reply_len, sizeof plugin.reply - plugin.reply_len);
    sim_put_text(&value, 2, error);
    sim_put_text(&entry, 1, uid);
    sim_put_bytes(&entry, 2, writer_view(&value));
    sim_put_bytes(&w, 1, writer_view(&entry));
    assert_false(w.full);
    plugin.reply_len += w.len;
}

/* --- tests --- */

static void test_versions(void **state)
{
    (void)state;
    begin(true, true);
    appear();
    logged("registered ;");
    assert_true(plugin.told_good);
    assert_int_equal(call(0), STATUS_OK);
    assert_non_null(strstr(plugin.path, ".v1.DRAPlugin/NodePrepareResources"));
    begin(false, true);
    appear();
    assert_int_equal(call(0), STATUS_OK);
    assert_non_null(strstr(plugin.path, ".v1beta1.DRAPlugin/NodePrepareResources"));
}

static void test_refused_plugins(void **state)
{
    (void)state;
    begin(false, true);
    plugin.versions[1] = NULL;
    appear();
    assert_false(plugin.told_good);
    logged("refused none of services supported by the plugin are supported by the kubelet;");
    assert_int_equal(call(0), PEER_NOT_FOUND);
    begin(true, true);
    plugin.versions[0] = NULL;
    appear();
    logged("refused empty list of supported gRPC services (aka supported versions);");
    begin(true, true);
    plugin.type = "CSIPlugin";
    appear();
    logged("refused no handler registered for this plugin type;");
}

static void test_tries_again(void **state)
{
    (void)state;
    begin(true, true);
    plugin.listens = false;
    appear();
    pass(1400); /* after 0, 500 and 1500 ms */
    logged("refused the registration socket takes no connection;"
           "refused the registration socket takes no connection;");
    plugin.listens = true;
    pass(200);
    logged("registered ;");
}

static void test_refused_verdict(void **state)
{
    (void)state;
    begin(true, true);
    plugin.verdict_code = GRPC_INTERNAL;
    appear();
    pass(1000);
    assert_int_equal(plugin.verdicts, 2); /* since 1.36 it is tried again */
    begin(true, false);
    plugin.verdict_code = GRPC_INTERNAL;
    appear();
    pass(600000);
    assert_int_equal(plugin.verdicts, 1); /* before: not until the socket is created again */
    plugin.verdict_code = GRPC_OK;
    plugin.log[0] = 0;
    appear();
    logged("registered ;");
}

static void test_silent_plugin(void **state)
{
    (void)state;
    begin(true, true);
    plugin.silent = true;
    appear();
    pass(1000);
    logged("refused context deadline exceeded;");
    plugin.silent = false;
    pass(500);
    logged("registered ;");
    plugin.silent = true;
    assert_int_equal(call(1), STATUS_OK);
    pass(44999);
    logged("");
    pass(1);
    logged("answered NodePrepareResources: context deadline exceeded;");
}

/* The limit of a call counts from the call, however long the connection was idle before. */
static void test_call_after_an_idle_time(void **state)
{
    (void)state;
    begin(true, true);
    appear();
    plugin.log[0] = 0;
    plugin.silent = true;
    plugin.now_ms += 60000;
    assert_int_equal(call(1), STATUS_OK);
    pass(44999);
    logged("");
    pass(1);
    logged("answered NodePrepareResources: context deadline exceeded;");
}

static void test_judges_replies(void **state)
{
    (void)state;
    begin(true, true);
    appear();
    plugin.log[0] = 0;
    reply_entry("uid-1", "");
    assert_int_equal(call(2), STATUS_OK);
    logged("answered NodePrepareResources skipped 1 ResourceClaims;");
    reply_entry("uid-2", "no such device");
    assert_int_equal(call(2), STATUS_OK);
    logged("answered NodePrepareResources failed for ResourceClaim two: no such device;");
    assert_int_equal(call(1), STATUS_OK);
    logged("answered NodePrepareResources returned result for unknown claim UID uid-2;");
    plugin.reply_len = 0;
    reply_entry("uid-1", "");
    assert_int_equal(call(1), STATUS_OK);
    logged("answered ;");
    plugin.reply[0] = 0xff;
    assert_int_equal(call(1), STATUS_OK);
    logged("answered the reply does not decode;");
}

static void test_lost_connections(void **state)
{
    (void)state;
    begin(true, true);
    appear();
    plugin.silent = true;
    assert_int_equal(call(1), STATUS_OK);
    plugin.log[0] = 0;
    sim_kubelet_link_end(&kubelet, 1);
    settle();
    assert_non_null(strstr(plugin.log, "answered NodePrepareResources: "));
    assert_int_equal(call(1), STATUS_MORE);
    plugin.silent = false;
    pass(1000); /* gRPC dials again */
    assert_int_equal(call(0), STATUS_OK);
    plugin.silent = true;
    assert_int_equal(call(1), STATUS_OK);
    plugin.log[0] = 0;
    assert_int_equal(sim_kubelet_socket(&kubelet, SOCKET, false), STATUS_OK);
    settle();
    logged("answered NodePrepareResources: the connection was closed;gone ;");
    assert_int_equal(call(1), PEER_NOT_FOUND);
    assert_false(plugin.open[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),         cmocka_unit_test(test_refused_plugins),
        cmocka_unit_test(test_tries_again),      cmocka_unit_test(test_refused_verdict),
        cmocka_unit_test(test_silent_plugin),    cmocka_unit_test(test_judges_replies),
        cmocka_unit_test(test_lost_connections), cmocka_unit_test(test_call_after_an_idle_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
