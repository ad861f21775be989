/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server sockets over time: what others remove is created again, with its directory where that
 * is the agent's own.
 */
#include "tests/unit/disk/host_harness.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/agent.h"
#include "agent/serve/readiness.h"
#include "base/assert.h"
#include "host/servers.h"
#include "tests/sim/disk/sim_disk.h"

_Noreturn void assert_failed(const char *file, int line, const char *condition)
{
    _fail(file, line);
    (void)fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

static struct settings settings;
static struct server servers[SERVERS];
static struct agent *agent;

static void begin(void)
{
    static char service_dir[SOCKET_PATH_CAP - 9];
    (void)snprintf(service_dir, sizeof service_dir, "%s", at("plugins/driver"));
    memset(&settings, 0, sizeof settings);
    (void)snprintf(settings.driver[DRIVER_NEURON].service_socket, SOCKET_PATH_CAP, "%s/dra.sock",
                   service_dir);
    settings.log_level = LOG_WARN;
    (void)snprintf(settings.driver[DRIVER_NEURON].registration_socket, SOCKET_PATH_CAP, "%s",
                   at("registry/reg.sock"));
    settings.healthcheck_port = -1;
    settings.metrics_port = -1;
    make_directories("plugins/driver");
    make_directories("registry");
    agent = agent_init(&settings, &disk_files, 1, 1000, 1000);
    servers_init(servers, &settings, DRIVER_NEURON, service_dir);
    for (unsigned i = 0; i <= LINK_SERVICE; i++) {
        server_try(&servers[i], agent, 1000);
        assert_true(server_serves(&servers[i]));
    }
}

static void end(void)
{
    for (unsigned i = 0; i < SERVERS; i++) {
        server_stop(&servers[i]);
    }
}

static bool is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* Whether a reason against readiness has this text. */
static bool unready_for(const char *text)
{
    char line[512];
    for (unsigned i = 0; i < 16; i++) {
        struct writer w = writer_of(line, sizeof line);
        bool more = ready_reason(agent, i, &w);
        assert_int_equal(writer_end_text(&w), STATUS_OK);
        if (more && strstr(line, text) != NULL) {
            return true;
        }
    }
    return false;
}

static void test_service_directory_removed(void **state)
{
    struct server *s = &servers[LINK_SERVICE];
    (void)state;
    begin();
    assert_int_equal(unlink(settings.driver[DRIVER_NEURON].service_socket), 0);
    assert_int_equal(rmdir(at("plugins/driver")), 0);
    server_check(s, agent, 2000);
    assert_true(is_there(settings.driver[DRIVER_NEURON].service_socket));
    assert_true(server_serves(s));
    /* a file stands where the directory was: nobody can connect, and the log says why */
    assert_int_equal(unlink(settings.driver[DRIVER_NEURON].service_socket), 0);
    assert_int_equal(rmdir(at("plugins/driver")), 0);
    put("plugins/driver", "");
    server_check(s, agent, 3000);
    assert_false(server_serves(s));
    agent_service(agent, server_serves(s));
    assert_true(unready_for("this process has no service socket"));
    struct view log = agent_log(agent);
    assert_non_null(memmem(log.data, log.len, "not a directory", 15));
    assert_int_equal(unlink(at("plugins/driver")), 0);
    server_try(s, agent, 3000 + LISTEN_RETRY_MAX_MS);
    assert_true(server_serves(s));
    agent_service(agent, server_serves(s));
    assert_false(unready_for("this process has no service socket"));
    end();
}

/* The registrar directory is the kubelet's: it is waited for. */
static void test_registrar_directory_removed(void **state)
{
    struct server *s = &servers[LINK_REGISTRATION];
    (void)state;
    begin();
    assert_int_equal(unlink(settings.driver[DRIVER_NEURON].registration_socket), 0);
    assert_int_equal(rmdir(at("registry")), 0);
    server_check(s, agent, 2000);
    assert_false(server_serves(s));
    assert_false(is_there(at("registry")));
    make_directories("registry");
    server_try(s, agent, 2000 + LISTEN_RETRY_MAX_MS);
    assert_true(server_serves(s));
    assert_true(is_there(settings.driver[DRIVER_NEURON].registration_socket));
    end();
}

/* A second process with the same path: its socket is left alone, and this one serves nobody. */
static void test_socket_taken(void **state)
{
    struct server *s = &servers[LINK_SERVICE];
    (void)state;
    begin();
    assert_int_equal(unlink(settings.driver[DRIVER_NEURON].service_socket), 0);
    put("plugins/driver/dra.sock", "");
    server_check(s, agent, 2000);
    assert_false(server_serves(s));
    assert_int_equal(unlink(settings.driver[DRIVER_NEURON].service_socket), 0);
    server_check(s, agent, 3000);
    assert_true(server_serves(s));
    end();
}

/* A second agent with the same path is killed: its socket stays, and nobody serves it. */
static void test_socket_left_behind(void **state)
{
    struct server *s = &servers[LINK_SERVICE];
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    (void)state;
    begin();
    text_set(to.sun_path, sizeof to.sun_path, settings.driver[DRIVER_NEURON].service_socket);
    assert_int_equal(unlink(to.sun_path), 0);
    int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(other >= 0);
    assert_int_equal(bind(other, (const struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(listen(other, 1), 0);
    server_check(s, agent, 2000);
    assert_false(server_serves(s));
    server_check(s, agent, 3000);
    assert_false(server_serves(s));
    assert_int_equal(close(other), 0);
    server_check(s, agent, 4000);
    assert_true(server_serves(s));
    assert_false(socket_is_dead(to.sun_path));
    end();
}

/* Whether a connection to the port at 127.0.0.`last` is taken. */
static bool answers(uint16_t port, uint8_t last)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = port};
    to.sin_addr.s_addr = htonl(UINT32_C(0x7f000000) + last);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    bool taken = connect(fd, (const struct sockaddr *)&to, sizeof to) == 0;
    assert_true(taken || errno == ECONNREFUSED);
    assert_int_equal(close(fd), 0);
    return taken;
}

/* --healthcheck-bind-address and --metrics-bind-address: the port is that of one address alone. */
static void test_bind_addresses(void **state)
{
    static const enum link_kind kinds[] = {LINK_GRPC_HEALTH, LINK_METRICS};
    (void)state;
    begin();
    settings.healthcheck_port = 0;
    settings.metrics_port = 0;
    for (unsigned i = 0; i < 4; i++) {
        bool any = i >= 2;
        uint8_t own = (i % 2 == 0) ? 2 : 3;
        struct server *s = &servers[kinds[i % 2]];
        struct sockaddr_in bound;
        socklen_t len = sizeof bound;
        text_set(settings.healthcheck_address, sizeof settings.healthcheck_address,
                 any ? "" : "127.0.0.2");
        text_set(settings.metrics_address, sizeof settings.metrics_address, any ? "" : "127.0.0.3");
        end();
        servers_init(servers, &settings, DRIVER_NEURON, at("plugins/driver"));
        server_try(s, agent, 2000);
        assert_true(server_serves(s));
        assert_int_equal(getsockname(server_poll(s, 2000), (struct sockaddr *)&bound, &len), 0);
        for (uint8_t last = 1; last <= 3; last++) {
            assert_int_equal(answers(bound.sin_port, last), any || last == own);
        }
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(test_service_directory_removed),
        HOST_TEST(test_registrar_directory_removed),
        HOST_TEST(test_socket_taken),
        HOST_TEST(test_socket_left_behind),
        HOST_TEST(test_bind_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
