/* SPDX-License-Identifier: Apache-2.0 */
/* Server sockets: modes, stale and foreign files, lost sockets, peers, and the TCP port. */
#include "tests/unit/disk/host_harness.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/report/log_catalogue.h"
#include "cfg/identity.h"
#include "host/servers.h"

static struct {
    unsigned count;
    int event;
    char text[HOST_TEXT_CAP];
} logged;

/* The agent itself is not linked. */
void agent_host_log(struct agent *a, int event, const char *text)
{
    assert_null(a);
    logged.count++;
    logged.event = event;
    (void)snprintf(logged.text, sizeof logged.text, "%s", text);
}

static struct listener unix_listener(const char *path)
{
    return (struct listener){.path = path, .fd = -1};
}

static int dial_unix(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)strcpy(to.sun_path, path);
    if (connect(fd, (const struct sockaddr *)&to, sizeof to) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static int dial_tcp(int family, uint16_t port)
{
    struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_loopback};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(family, SOCK_STREAM, 0);
    int failed = (family == AF_INET6) ? connect(fd, (const struct sockaddr *)&six, sizeof six)
                                      : connect(fd, (const struct sockaddr *)&four, sizeof four);
    if (failed != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static void test_opens_for_the_owner_only(void **state)
{
    (void)state;
    struct stat st;
    int error = 0;
    struct listener l = unix_listener(at("a.sock"));
    assert_int_equal(listener_open(&l, &error), STATUS_OK);
    assert_int_equal(lstat(l.path, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(listener_file(&l), LISTENER_FILE_OURS);
    listener_close(&l);
    assert_int_equal(l.fd, -1);
    assert_false(exists(at("a.sock")));
    listener_close(&l);
}

static void test_takes_connections(void **state)
{
    (void)state;
    int error = 0;
    struct accepted got;
    struct listener l = unix_listener(at("a.sock"));
    assert_int_equal(listener_open(&l, &error), STATUS_OK);
    assert_int_equal(listener_accept(&l, &got), STATUS_MORE);
    int peer = dial_unix(l.path);
    assert_true(peer >= 0);
    assert_int_equal(listener_accept(&l, &got), STATUS_OK);
    assert_true((fcntl(got.fd, F_GETFL) & O_NONBLOCK) != 0);
    assert_true((fcntl(got.fd, F_GETFD) & FD_CLOEXEC) != 0);
    assert_int_equal(write(peer, "x", 1), 1);
    char byte = 0;
    assert_int_equal(read(got.fd, &byte, 1), 1);
    assert_int_equal(byte, 'x');
    assert_int_equal(listener_accept(&l, &got), STATUS_MORE);
    (void)close(peer);
    listener_close(&l);
}

/* One address of one family: the other family, and other addresses, find nothing. */
static void test_tcp_on_one_address(void **state)
{
    (void)state;
    int error = 0;
    struct accepted got;
    struct listener four = {.fd = -1, .address = "127.0.0.1"};
    assert_int_equal(listener_open(&four, &error), STATUS_OK);
    assert_int_equal(dial_tcp(AF_INET6, four.port), -1);
    int peer = dial_tcp(AF_INET, four.port);
    assert_true(peer >= 0);
    assert_int_equal(listener_accept(&four, &got), STATUS_OK);
    (void)close(got.fd);
    (void)close(peer);
    listener_close(&four);
    struct listener other = {.fd = -1, .address = "127.0.0.2"};
    assert_int_equal(listener_open(&other, &error), STATUS_OK);
    assert_int_equal(dial_tcp(AF_INET, other.port), -1);
    listener_close(&other);
    struct listener foreign = {.fd = -1, .address = "192.0.2.1"}; /* RFC 5737: nobody's */
    assert_int_equal(listener_open(&foreign, &error), HOST_IO);
    assert_int_equal(error, EADDRNOTAVAIL);
    struct listener six = {.fd = -1, .address = "::1"};
    if (listener_open(&six, &error) != STATUS_OK) {
        print_message("no IPv6 on this machine: %s\n", strerror(error));
        return;
    }
    assert_int_equal(dial_tcp(AF_INET, six.port), -1);
    peer = dial_tcp(AF_INET6, six.port);
    assert_true(peer >= 0);
    (void)close(peer);
    listener_close(&six);
}

/* While the agent is busy elsewhere, short connections in a row wait and none is refused. */
static void test_connections_wait(void **state)
{
    (void)state;
    enum { CONNECTIONS = 200 };
    int error = 0;
    int peer[CONNECTIONS];
    struct listener l = unix_listener(at("a.sock"));
    assert_int_equal(listener_open(&l, &error), STATUS_OK);
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    (void)strcpy(to.sun_path, l.path);
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        peer[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0); /* as Go's, which gets EAGAIN */
        assert_int_equal(connect(peer[i], (const struct sockaddr *)&to, sizeof to), 0);
    }
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        struct accepted got;
        assert_int_equal(listener_accept(&l, &got), STATUS_OK);
        (void)close(got.fd);
        (void)close(peer[i]);
    }
    listener_close(&l);
}

static void test_stale_socket_gives_way(void **state)
{
    (void)state;
    int error = 0;
    struct listener killed = unix_listener(at("a.sock"));
    assert_int_equal(listener_open(&killed, &error), STATUS_OK);
    assert_int_equal(close(killed.fd), 0); /* the file stays, as after SIGKILL */
    assert_int_equal(dial_unix(at("a.sock")), -1);
    struct listener l = unix_listener(at("a.sock"));
    assert_int_equal(listener_open(&l, &error), STATUS_OK);
    int peer = dial_unix(at("a.sock"));
    assert_true(peer >= 0);
    (void)close(peer);
    listener_close(&l);
}

#define DEAD_UID "aaaaaaaa-0000-4000-8000-00000000000"

/* A socket file on which nobody listens. */
static void leave_socket(const char *path)
{
    struct listener l = unix_listener(path);
    int error = 0;
    assert_int_equal(listener_open(&l, &error), STATUS_OK);
    (void)close(l.fd);
}

static void test_sockets_of_dead_pods(void **state)
{
    static const char *const dead[] = {
        "r/neuron.aws.com-" DEAD_UID "1-reg.sock", "r/neuron.aws.com-" DEAD_UID "2-reg.sock",
        "r/neuron.aws.com-reg.sock", "p/dra-" DEAD_UID "1.sock", "p/dra.sock"};
    static const char *const others[] = {"r/other.example-" DEAD_UID "1-reg.sock",
                                         "r/neuron.aws.com-other-reg.sock",
                                         "r/neuron.aws.com-" DEAD_UID "12-reg.sock",
                                         "r/neuron.aws.com-" DEAD_UID "1-reg.sock.old",
                                         "r/neuron.aws.com",
                                         "p/dra-x.sock"};
    static char registration[256];
    static char service[256];
    struct server servers[SERVERS];
    static struct settings settings;
    (void)state;
    make_directories("r");
    make_directories("p");
    for (size_t i = 0; i < sizeof dead / sizeof dead[0]; i++) {
        leave_socket(at(dead[i]));
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        leave_socket(at(others[i]));
    }
    /* one that answers, one that is ours, one that is no socket */
    static char live_path[256];
    (void)snprintf(live_path, sizeof live_path, "%s", at("p/dra-" DEAD_UID "3.sock"));
    struct listener live = unix_listener(live_path);
    int error = 0;
    assert_int_equal(listener_open(&live, &error), STATUS_OK);
    (void)snprintf(registration, sizeof registration, "%s",
                   at("r/neuron.aws.com-" DEAD_UID "9-reg.sock"));
    (void)snprintf(service, sizeof service, "%s", at("p/dra-" DEAD_UID "9.sock"));
    leave_socket(service);
    put("p/dra-" DEAD_UID "4.sock", "no socket");
    text_set(settings.driver[DRIVER_NEURON].registration_socket,
             sizeof settings.driver[DRIVER_NEURON].registration_socket, registration);
    text_set(settings.driver[DRIVER_NEURON].service_socket,
             sizeof settings.driver[DRIVER_NEURON].service_socket, service);
    text_set(settings.driver[DRIVER_NEURON].name, DRIVER_CAP, DRIVER_NAME);
    settings.healthcheck_port = -1;
    settings.metrics_port = -1;
    servers_init(servers, &settings, DRIVER_NEURON, at("p"));
    logged.count = 0;
    servers_remove_stale(servers, NULL);
    assert_int_equal(logged.count, sizeof dead / sizeof dead[0]);
    assert_int_equal(logged.event, LOG_ID_STALE_SOCKET_REMOVED);
    for (size_t i = 0; i < sizeof dead / sizeof dead[0]; i++) {
        assert_int_not_equal(access(at(dead[i]), F_OK), 0);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(access(at(others[i]), F_OK), 0);
    }
    assert_int_equal(access(live_path, F_OK), 0);
    assert_int_equal(access(service, F_OK), 0);
    assert_int_equal(access(at("p/dra-" DEAD_UID "4.sock"), F_OK), 0);
    listener_close(&live);
}

static void test_foreign_file_stays(void **state)
{
    (void)state;
    int error = 0;
    put("a.sock", "not a socket");
    struct listener l = unix_listener(at("a.sock"));
    assert_int_equal(listener_open(&l, &error), HOST_IO);
    assert_int_equal(error, EEXIST);
    assert_int_equal(l.fd, -1);
    assert_true(exists(at("a.sock")));
}

static void test_absent_directory(void **state)
{
    (void)state;
    int error = 0;
    struct listener l = unix_listener(at("registry/a.sock"));
    assert_int_equal(listener_open(&l, &error), HOST_ABSENT);
    assert_int_equal(error, ENOENT);
    assert_false(exists(at("registry")));
    make_directories("registry");
    assert_int_equal(listener_open(&l, &error), STATUS_OK);
    listener_close(&l);
}

static void test_lost_and_replaced(void **state)
{
    (void)state;
    int error = 0;
    struct listener old = unix_listener(at("a.sock"));
    struct listener new = unix_listener(at("a.sock"));
    assert_int_equal(listener_open(&old, &error), STATUS_OK);
    assert_int_equal(listener_open(&new, &error), STATUS_OK);
    /* The newer process owns the name: the older one notices and leaves it alone. */
    assert_int_equal(listener_file(&old), LISTENER_FILE_TAKEN);
    assert_int_equal(listener_file(&new), LISTENER_FILE_OURS);
    listener_close(&old);
    assert_true(exists(at("a.sock")));
    assert_int_equal(listener_file(&new), LISTENER_FILE_OURS);
    assert_int_equal(unlink(at("a.sock")), 0);
    assert_int_equal(listener_file(&new), LISTENER_FILE_GONE);
    listener_close(&new);
}

static void test_tcp_on_all_addresses(void **state)
{
    (void)state;
    int error = 0;
    struct accepted got;
    struct listener l = {.fd = -1};
    assert_int_equal(listener_open(&l, &error), STATUS_OK);
    assert_true(l.port != 0);
    assert_int_equal(listener_file(&l), LISTENER_FILE_OURS);
    int peer = dial_tcp(AF_INET, l.port);
    assert_true(peer >= 0);
    assert_int_equal(listener_accept(&l, &got), STATUS_OK);
    (void)close(got.fd);
    (void)close(peer);
    int six = dial_tcp(AF_INET6, l.port);
    if (six < 0) {
        print_message("no IPv6 on this machine: %s\n", strerror(errno));
    } else {
        assert_int_equal(listener_accept(&l, &got), STATUS_OK);
        (void)close(got.fd);
        (void)close(six);
    }
    struct listener second = {.fd = -1, .port = l.port};
    assert_int_equal(listener_open(&second, &error), HOST_IO);
    assert_int_equal(error, EADDRINUSE);
    listener_close(&l);
    assert_int_equal(listener_open(&second, &error), STATUS_OK);
    listener_close(&second);
}

/* Without a free descriptor accept(2) fails in each turn; it is logged once. */
static void test_no_descriptors(void **state)
{
    (void)state;
    int error = 0;
    struct accepted got;
    struct rlimit whole;
    struct server s = {.listener = unix_listener(at("d.sock")), .kind = LINK_SERVICE};
    assert_int_equal(listener_open(&s.listener, &error), STATUS_OK);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &whole), 0);
    for (unsigned round = 1; round <= 2; round++) {
        int peer = dial_unix(s.listener.path);
        assert_true(peer >= 0);
        struct rlimit none = {.rlim_cur = (rlim_t)peer + 1, .rlim_max = whole.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        for (unsigned i = 0; i < 5; i++) {
            uint64_t now_ms = i * UINT64_C(1000);
            assert_int_equal(server_accept(&s, NULL, now_ms, &got), STATUS_MORE);
            assert_int_equal(server_poll(&s, now_ms), -1);
            assert_int_equal(logged.count, round);
        }
        assert_int_equal(logged.event, LOG_ID_ACCEPT_FAILED);
        assert_non_null(strstr(logged.text, " cannot accept a connection: "));
        assert_non_null(strstr(logged.text, "; check this node's limits of open files"));
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &whole), 0);
        assert_int_equal(server_accept(&s, NULL, 5000, &got), STATUS_OK);
        assert_int_equal(server_accept(&s, NULL, 5000, &got), STATUS_MORE);
        (void)close(got.fd);
        (void)close(peer);
    }
    listener_close(&s.listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(test_opens_for_the_owner_only), HOST_TEST(test_takes_connections),
        HOST_TEST(test_stale_socket_gives_way),   HOST_TEST(test_foreign_file_stays),
        HOST_TEST(test_absent_directory),         HOST_TEST(test_lost_and_replaced),
        HOST_TEST(test_tcp_on_all_addresses),     HOST_TEST(test_connections_wait),
        HOST_TEST(test_tcp_on_one_address),       HOST_TEST(test_no_descriptors),
        HOST_TEST(test_sockets_of_dead_pods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
