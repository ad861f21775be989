/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the API server from its files to the open session: what is missing is reported
 * and looked for again, and which of several addresses is tried first. The agent is a stand-in that
 * keeps what it is called with.
 */
#include "tests/unit/disk/host_harness.h"

#include "host/apiserver/apilink.h"
#include "tests/unit/apiserver/tls_peer.h"

static struct apilink l;

/* --- in place of the agent --- */

struct agent {
    unsigned opened;
    unsigned failed;
    enum status status;
    char why[1024];
    char authority[300];
};

static struct agent agent;

void agent_api_identity(struct agent *a, struct view token, struct view authority)
{
    assert_true(view_is(token, "tok.en"));
    text_cut(a->authority, sizeof a->authority, authority);
}

void agent_api_opened(struct agent *a, uint64_t now_ms)
{
    (void)now_ms;
    a->opened++;
}

void agent_api_failed(struct agent *a, enum status status, const char *why, uint64_t now_ms)
{
    (void)now_ms;
    a->failed++;
    a->status = status;
    (void)snprintf(a->why, sizeof a->why, "%s", why);
}

void agent_api_ended(struct agent *a, const char *why)
{
    (void)a;
    fail_msg("the connection ended: %s", why);
}

void agent_host_log(struct agent *a, int log_id, const char *text)
{
    (void)a;
    fail_msg("log %d: %s", log_id, text);
}

struct writer agent_link_rx(struct agent *a, unsigned link)
{
    (void)a;
    (void)link;
    return writer_of(NULL, 0);
}

void agent_link_rx_commit(struct agent *a, unsigned link, size_t n)
{
    (void)a;
    fail_msg("%zu bytes read on link %u", n, link);
}

struct view agent_link_tx(struct agent *a, unsigned link)
{
    (void)a;
    (void)link;
    return view_of(NULL, 0);
}

void agent_link_tx_commit(struct agent *a, unsigned link, size_t n)
{
    (void)a;
    fail_msg("%zu bytes sent on link %u", n, link);
}

/* --- driving it --- */

#define NOW 1000u

static struct settings settings;

static void begin(void)
{
    memset(&agent, 0, sizeof agent);
    memset(&l, 0, sizeof l);
    settings.tls_min = TLS_MIN_1_3;
    (void)snprintf(settings.kubeconfig, sizeof settings.kubeconfig, "%s", at("etc/kubeconfig"));
    apilink_init(&l, &agent, &settings);
}

/* Until the attempt has an outcome. */
static void finish(void)
{
    unsigned outcomes = agent.opened + agent.failed;
    for (unsigned i = 0; i < 1000 && agent.opened + agent.failed == outcomes; i++) {
        struct pollfd p = {.events = 0};
        p.fd = apilink_interest(&l, &p.events);
        assert_true(p.fd >= 0);
        bool eager = apilink_eager(&l);
        int ready = poll(&p, 1, eager ? 0 : PATIENCE_MS);
        assert_true(ready == 1 || (eager && ready == 0));
        apilink_turn(&l, p.revents, NOW);
    }
    assert_int_equal(agent.opened + agent.failed, outcomes + 1);
}

static void put_config(const char *host, uint16_t port)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
                   "clusters: [{name: k, cluster: {server: 'https://%s:%u', certificate-authority: "
                   "ca.crt}}]\nusers: [{name: u, user: {tokenFile: token}}]\n",
                   host, port);
    put("etc/kubeconfig", text);
}

static void put_ca(void)
{
    struct view ca = pem("ca.pem", 0);
    put_bytes("etc/ca.crt", ca.data, ca.len);
}

static void assert_missing(const char *words)
{
    apilink_start(&l, NOW);
    assert_int_equal(agent.status, HOST_ABSENT);
    if (strstr(agent.why, words) == NULL) {
        fail_msg("\"%s\" lacks: %s", agent.why, words);
    }
    short events = 0;
    assert_int_equal(apilink_interest(&l, &events), -1);
    assert_int_equal(apilink_deadline(&l), UINT64_MAX); /* nothing by itself: the agent paces it */
}

/* --- tests --- */

/* Each file is looked for again with each attempt, first and later; with all there is a session. */
static void test_files_that_come(void **state)
{
    (void)state;
    struct server server = server_start("ec", "-alpn h2");
    begin();
    make_directories("etc");
    assert_missing("etc/kubeconfig cannot be read: no such file or directory; correct");
    put_config("127.0.0.1", server.port);
    assert_missing("etc/ca.crt cannot be read: no such file or directory; create");
    put("etc/ca.crt", "");
    assert_missing("etc/ca.crt is empty; create");
    put_ca();
    assert_missing("etc/token cannot be read: no such file or directory; create");
    put("etc/token", "tok.en\n");
    apilink_start(&l, NOW);
    finish();
    assert_int_equal(agent.opened, 1);
    assert_int_equal(agent.failed, 4);
    assert_int_equal(unlink(at("etc/token")), 0);
    assert_missing("etc/token cannot be read");
    put("etc/token", "tok.en\n");
    apilink_start(&l, NOW);
    finish();
    assert_int_equal(agent.opened, 2);
    apilink_close(&l);
    server_stop(&server);
}

/* As if a name server had just given these addresses. */
static void resolved_to(const struct ip_address *first, const struct ip_address *second)
{
    struct resolver *r = &l.resolver;
    struct writer why = writer_of(why_text, sizeof why_text);
    apilink_close(&l);
    enum status s = credentials_load(&l.credentials, l.settings->kubeconfig, &why);
    if (s != STATUS_OK) {
        fail_msg("%.*s", (int)why.len, why_text);
    }
    r->fd = socket(AF_INET, SOCK_DGRAM, 0);
    assert_true(r->fd >= 0);
    r->servers = 1;
    r->answered = 3;
    r->found = (struct ip_addresses){.count = 2, .address = {*first, *second}};
    l.attempt_ms = NOW + API_CONNECT_MS;
    l.phase = APILINK_RESOLVING;
    apilink_turn(&l, 0, NOW);
    finish();
}

/*
 * A new connection starts with the address that worked last, wherever it stands in the list; once
 * that fails, each address has its turn.
 */
static void test_address_that_worked(void **state)
{
    (void)state;
    static const struct ip_address dead = {.bytes = {127, 0, 0, 9}};
    struct ip_address good = {.bytes = {127, 0, 0, 1, 99}}; /* IPv4: the rest has no meaning */
    struct server server = server_start("ec", "-alpn h2");
    begin();
    put_config("api.test", server.port);
    put_ca();
    put("etc/token", "tok.en");
    resolved_to(&dead, &good);
    assert_int_equal(agent.opened, 1);
    assert_int_equal(l.next, 2); /* addresses tried */
    good.bytes[4] = 0;
    resolved_to(&dead, &good);
    assert_int_equal(agent.opened, 2);
    assert_int_equal(l.next, 1);
    resolved_to(&good, &dead);
    assert_int_equal(agent.opened, 3);
    assert_int_equal(l.next, 1);
    /* what failed before an address was tried changes nothing */
    assert_int_equal(unlink(at("etc/token")), 0);
    assert_missing("etc/token cannot be read");
    put("etc/token", "tok.en");
    resolved_to(&dead, &good);
    assert_int_equal(agent.opened, 4);
    assert_int_equal(l.next, 1);
    server_stop(&server);
    resolved_to(&dead, &good);
    assert_int_equal(agent.failed, 2);
    assert_int_equal(agent.status, PEER_REFUSED);
    assert_int_equal(l.first, 1);
    for (unsigned first = 2; first < 6; first++) {
        resolved_to(&dead, &good);
        assert_int_equal(l.first, first % 2);
    }
    assert_int_equal(agent.failed, 6);
}

/* The dot of an absolute name (RFC 1034 §3.1) is in the authority, not in what is verified. */
static void test_absolute_name(void **state)
{
    (void)state;
    static const struct ip_address loopback = {.bytes = {127, 0, 0, 1}};
    char authority[64];
    struct server server = server_start("ec", "-alpn h2");
    begin();
    put_config("api.test.", server.port);
    put_ca();
    put("etc/token", "tok.en");
    resolved_to(&loopback, &loopback);
    assert_string_equal(agent.why, "");
    assert_int_equal(agent.opened, 1);
    (void)snprintf(authority, sizeof authority, "api.test.:%u", server.port);
    assert_string_equal(agent.authority, authority);
    apilink_close(&l);
    server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(test_files_that_come),
        HOST_TEST(test_address_that_worked),
        HOST_TEST(test_absolute_name),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
