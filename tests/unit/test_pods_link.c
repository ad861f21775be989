/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to the kubelet's list of pods, between a real socket and the whole agent. */
#include "tests/unit/kubelet/agent_page.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/pods_link.h"

static struct pods_link host_link;
static struct settings host_settings;
static char folder[] = "/tmp/pods_link.XXXXXX";

static void connect_now(void)
{
    pods_link_start(&host_link, world.now_ms);
}

/* Opens the socket of a kubelet whose directory is `folder`. */
static int kubelet_listens(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/pod-resources", folder);
    assert_int_equal(mkdir(address.sun_path, 0700), 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/pod-resources/kubelet.sock",
                   folder);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

static void plugins_dir_set(const char *path)
{
    text_set(host_settings.plugins_dir, sizeof host_settings.plugins_dir, path);
}

/* A claim is held; what the agent orders goes to the host's side. */
static void begin_world(void)
{
    char plugins[64];
    world_new();
    (void)claim_add(0);
    node_up();
    prepare_well(0, 1);
    log_forget();
    pods_link_init(&host_link, world.agent, &host_settings);
    (void)snprintf(plugins, sizeof plugins, "%s/plugins", folder);
    plugins_dir_set(plugins);
    world.connect_pods = connect_now;
}

static void step_now(void)
{
    world.poked = true;
    settle();
}

/* A scrape, after which the agent has the host connect. */
static void ask(void)
{
    pass(POD_LIST_AGE_MS);
    metrics_get();
}

/* Accepts the connection, and reads the beginning of HTTP/2 on it. */
static int accept_now(int listener)
{
    char bytes[1024];
    short events = 0;
    int fd = accept(listener, NULL, NULL);
    assert_true(fd >= 0);
    assert_int_equal(pods_link_interest(&host_link, &events), host_link.fd);
    assert_int_equal(events, POLLIN | POLLOUT);
    assert_true(pods_link_write(&host_link));
    assert_false(pods_link_write(&host_link)); /* nothing is left */
    assert_true(recv(fd, bytes, sizeof bytes, 0) > 24);
    assert_memory_equal(bytes, "PRI * HTTP/2.0\r\n", 16);
    (void)pods_link_interest(&host_link, &events);
    assert_int_equal(events, POLLIN);
    return fd;
}

static void test_path(void **state)
{
    char path[SOCKET_PATH_CAP];
    char longest[SOCKET_PATH_CAP + 1u];
    (void)state;
    plugins_dir_set("/var/lib/kubelet/plugins");
    assert_true(pods_link_path(&host_settings, path));
    assert_string_equal(path, "/var/lib/kubelet/pod-resources/kubelet.sock");
    plugins_dir_set("plugins");
    assert_true(pods_link_path(&host_settings, path));
    assert_string_equal(path, "pod-resources/kubelet.sock");
    memset(longest, 'x', sizeof longest);
    longest[SOCKET_PATH_CAP - 2u] = '/';
    longest[SOCKET_PATH_CAP] = 0;
    plugins_dir_set(longest);
    assert_false(pods_link_path(&host_settings, path));
}

/* When the host cannot connect, it reports the path and the reason to the agent. */
static void test_no_socket(void **state)
{
    char longest[SOCKET_PATH_CAP];
    short events = 1;
    (void)state;
    begin_world();
    ask();
    assert_int_equal(host_link.fd, -1);
    assert_int_equal(pods_link_interest(&host_link, &events), -1);
    assert_int_equal(events, 0);
    assert_false(pods_link_write(&host_link));
    pods_link_turn(&host_link, POLLIN);
    metrics_get();
    log_has("pod-resources/kubelet.sock: no such file or directory");
    begin_world();
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 2u] = '/';
    longest[sizeof longest - 1u] = 0;
    plugins_dir_set(longest);
    ask();
    metrics_get();
    log_has("event=pod_list_incomplete");
    log_has("name too long");
}

/* Bytes in both directions, until the agent has the host close. */
static void test_bytes(void **state)
{
    static const char settings[] = "\0\0\0\4\0\0\0\0\0";
    (void)state;
    int listener = *(int *)*state;
    begin_world();
    ask();
    int fd = accept_now(listener);
    pods_link_turn(&host_link, 0);
    pods_link_turn(&host_link, POLLIN); /* a wake-up without bytes */
    assert_true(host_link.fd >= 0);
    assert_int_equal(write(fd, settings, 9), 9);
    pods_link_turn(&host_link, POLLIN);
    step_now();
    assert_true(pods_link_write(&host_link)); /* the acknowledgement */
    pass(PODS_MAX_MS);
    log_has("text=\"the kubelet gives no list of pods in time\"");
    assert_int_equal(agent_link_rx(world.agent, LINK_PODS).cap, 0);
    pods_link_end(&host_link);
    pods_link_end(&host_link);
    assert_int_equal(close(fd), 0);
}

/* The kubelet goes: before it has read, while it is silent, and with a descriptor that fails. */
static void test_kubelet_goes(void **state)
{
    int listener = *(int *)*state;
    begin_world();
    ask();
    int fd = accept_now(listener);
    assert_int_equal(close(fd), 0);
    pods_link_turn(&host_link, POLLIN | POLLHUP);
    assert_int_equal(host_link.fd, -1);
    step_now();
    log_has("text=\"the kubelet gives no list of pods\"");
    ask();
    fd = accept(listener, NULL, NULL);
    assert_int_equal(close(fd), 0);
    assert_false(pods_link_write(&host_link)); /* EPIPE */
    assert_int_equal(agent_link_tx(world.agent, LINK_PODS).len, 0);
    pods_link_turn(&host_link, POLLIN | POLLHUP);
    assert_int_equal(host_link.fd, -1);
    step_now();
    assert_int_equal(said("event=pod_list_incomplete"), 1);
    ask();
    fd = accept_now(listener);
    assert_int_equal(write(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28), 28);
    pods_link_turn(&host_link, POLLIN);
    struct writer room = agent_link_rx(world.agent, LINK_PODS);
    assert_int_equal(writer_room(&room), 0); /* until the agent has looked */
    pods_link_turn(&host_link, POLLIN | POLLHUP);
    assert_true(host_link.fd >= 0);
    step_now();
    pods_link_end(&host_link);
    assert_int_equal(close(fd), 0);
}

/* A kubelet that goes right after its last byte: its bytes are read, although none can be sent. */
static void test_last_words(void **state)
{
    static const char settings[] = "\0\0\0\4\0\0\0\0\0";
    int listener = *(int *)*state;
    begin_world();
    ask();
    int fd = accept_now(listener);
    assert_int_equal(write(fd, settings, 9), 9);
    pods_link_turn(&host_link, POLLIN);
    step_now();
    assert_int_equal(write(fd, settings, 9), 9);
    assert_int_equal(close(fd), 0);
    assert_false(pods_link_write(&host_link)); /* EPIPE */
    assert_true(host_link.fd >= 0);
    pods_link_turn(&host_link, POLLIN | POLLHUP);
    struct writer room = agent_link_rx(world.agent, LINK_PODS);
    assert_int_equal(writer_room(&room), 0); /* the bytes have arrived */
    step_now();
    assert_true(host_link.fd >= 0);
    pods_link_turn(&host_link, POLLIN | POLLHUP);
    assert_int_equal(host_link.fd, -1);
    step_now();
}

/* A kubelet that reads nothing: the bytes wait, and so does the agent, until its time limit. */
static void test_full_socket(void **state)
{
    static char bytes[65536];
    int listener = *(int *)*state;
    begin_world();
    ask();
    int fd = accept(listener, NULL, NULL);
    while (send(host_link.fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
    }
    assert_false(pods_link_write(&host_link));
    assert_true(host_link.fd >= 0);
    pass(PODS_MAX_MS);
    pods_link_end(&host_link);
    assert_int_equal(close(fd), 0);
}

static int set_up(void **state)
{
    static int listener;
    assert_non_null(mkdtemp(folder));
    listener = kubelet_listens();
    *state = &listener;
    return 0;
}

static int tear_down(void **state)
{
    char path[64];
    int failed = close(*(int *)*state);
    (void)snprintf(path, sizeof path, "%s/pod-resources/kubelet.sock", folder);
    failed |= unlink(path);
    (void)snprintf(path, sizeof path, "%s/pod-resources", folder);
    failed |= rmdir(path);
    return failed | rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest alone[] = {cmocka_unit_test(test_path),
                                       cmocka_unit_test(test_no_socket)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_kubelet_goes),
        cmocka_unit_test(test_last_words),
        cmocka_unit_test(test_full_socket),
    };
    int failed = cmocka_run_group_tests(alone, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, set_up, tear_down);
}
