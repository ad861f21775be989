/* SPDX-License-Identifier: Apache-2.0 */
/* The look for a device plugin's socket, on real sockets: served, left behind, and what is none. */
#include "tests/unit/disk/host_harness.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "base/assert.h"
#include "host/node/device_plugin.h"

_Noreturn void assert_failed(const char *file, int line, const char *condition)
{
    _fail(file, line);
    (void)fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

#define LISTENERS_MAX 32

static int listeners[LISTENERS_MAX];
static unsigned listeners_count;
static char name[SOCKET_PATH_CAP];

static int begin(void **state)
{
    listeners_count = 0;
    memset(name, 0, sizeof name);
    return harness_begin(state);
}

static int end(void **state)
{
    for (unsigned i = 0; i < listeners_count; i++) {
        (void)close(listeners[i]);
    }
    return harness_end(state);
}

#define PLUGIN_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

static const char *directory(void)
{
    return at("device-plugins");
}

/* A socket of this name in the directory; its path may be longer than an address takes. */
static int serve(const char *socket_name)
{
    char before[1024];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    make_directories("device-plugins");
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(directory()), 0);
    assert_true(strlen(socket_name) < sizeof address.sun_path);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(chdir(before), 0);
    assert_true(listeners_count < LISTENERS_MAX);
    listeners[listeners_count++] = fd;
    return fd;
}

/* What a killed process leaves. */
static void leave(const char *socket_name)
{
    (void)serve(socket_name);
    listeners_count--;
    assert_int_equal(close(listeners[listeners_count]), 0);
}

static void remove_socket(const char *socket_name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", directory(), socket_name);
    assert_int_equal(unlink(path), 0);
}

static void look_finds(const char *wanted)
{
    assert_int_equal(device_plugin_scan(directory(), DRIVER_NEURON, name), 0);
    assert_string_equal(name, wanted);
}

static void test_what_is_none(void **state)
{
    (void)state;
    look_finds(""); /* no directory */
    put("device-plugins", "");
    look_finds(""); /* a file in its place */
    assert_int_equal(unlink(directory()), 0);
    make_directories("device-plugins");
    look_finds("");
    (void)serve("kubelet.sock");
    (void)serve("neuro.sock");
    (void)serve("NEURON.sock"); /* names are told apart by case */
    put("device-plugins/kubelet_internal_checkpoint", "{}");
    put("device-plugins/neuron.json", "{}");
    make_directories("device-plugins/neuron");
    put("device-plugins/neuron/neuron.sock", "");
    assert_int_equal(symlink("kubelet.sock", at("device-plugins/neuron-link.sock")), 0);
    look_finds("");
}

static void test_served_and_gone(void **state)
{
    static const char *const names[] = {"neuron.sock", "neuron", "aws.amazon.com_neuroncore.sock",
                                        "my-neuron-plugin"};
    (void)state;
    (void)serve("kubelet.sock");
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        int fd = serve(names[i]);
        look_finds(names[i]);
        look_finds(names[i]);
        remove_socket(names[i]);
        look_finds("");
        (void)close(fd);
        listeners_count--;
    }
}

/* A plugin with more connections than it takes is one all the same. */
static void test_busy(void **state)
{
    (void)state;
    (void)serve("neuron.sock");
    for (unsigned i = 0; i < 8u; i++) {
        look_finds("neuron.sock"); /* nobody accepts: what was closed still fills the backlog */
    }
}

/* What a killed plugin leaves behind does not count, and does not hide another one. */
static void test_stale(void **state)
{
    (void)state;
    leave("neuron.sock");
    look_finds("");
    leave("a-neuron.sock");
    leave("z-neuron.sock");
    look_finds("");
    (void)serve("neuroncore.sock");
    look_finds("neuroncore.sock");
    remove_socket("neuroncore.sock");
    look_finds("");
}

/* A plugin that dies while it is known. */
static void test_dies(void **state)
{
    (void)state;
    int fd = serve("neuron.sock");
    look_finds("neuron.sock");
    (void)close(fd);
    listeners_count--;
    look_finds("");
    remove_socket("neuron.sock");
    (void)serve("neuron.sock"); /* and comes again */
    look_finds("neuron.sock");
}

/* The name does not change while its socket is served, wherever others stand in the listing. */
static void test_same_name(void **state)
{
    static const char *const others[] = {"0-neuron.sock", "a-neuron.sock", "n-neuron.sock",
                                         "z-neuron.sock"};
    (void)state;
    (void)serve("neuron.sock");
    look_finds("neuron.sock");
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        (void)serve(others[i]);
        look_finds("neuron.sock");
    }
    remove_socket("neuron.sock");
    assert_int_equal(device_plugin_scan(directory(), DRIVER_NEURON, name), 0);
    assert_non_null(strstr(name, "-neuron.sock"));
}

/* A directory that cannot be read says nothing: what was found before stays. */
static void test_unreadable(void **state)
{
    (void)state;
    (void)serve("neuron.sock");
    look_finds("neuron.sock");
    assert_int_equal(rename(directory(), at("away")), 0);
    assert_int_equal(symlink("device-plugins", directory()), 0);
    assert_int_equal(device_plugin_scan(directory(), DRIVER_NEURON, name), ELOOP);
    assert_string_equal(name, "neuron.sock");
    name[0] = 0;
    assert_int_equal(device_plugin_scan(directory(), DRIVER_NEURON, name), ELOOP);
    assert_string_equal(name, "");
    assert_int_equal(unlink(directory()), 0);
    assert_int_equal(rename(at("away"), directory()), 0);
    look_finds("neuron.sock");
}

/* One to which nobody can connect by its path counts, served or not; its name is cut. */
static void test_long_path(void **state)
{
    char long_name[100];
    (void)state;
    memset(long_name, 'n', sizeof long_name - 1);
    memcpy(long_name, "neuron", 6);
    long_name[sizeof long_name - 1] = 0;
    leave(long_name);
    assert_true(strlen(directory()) + 1 + strlen(long_name) >= SOCKET_PATH_CAP);
    look_finds(long_name);
    look_finds(long_name);
    remove_socket(long_name);
    look_finds("");
    /* longer than the room for the name */
    char longer[200];
    char path[512];
    memset(longer, 'n', sizeof longer - 1);
    memcpy(longer, "neuron", 6);
    longer[sizeof longer - 1] = 0;
    leave("neuron.sock");
    (void)snprintf(path, sizeof path, "device-plugins/%s", longer);
    assert_int_equal(rename(at("device-plugins/neuron.sock"), at(path)), 0);
    longer[SOCKET_PATH_CAP - 1u] = 0;
    look_finds(longer);
    look_finds(longer);
}

/* However many are left behind, one look connects to a bounded number. */
static void test_many(void **state)
{
    char text[32];
    (void)state;
    for (unsigned i = 0; i < DEVICE_PLUGIN_SOCKETS_MAX; i++) {
        (void)snprintf(text, sizeof text, "neuron-%u.sock", i);
        leave(text);
    }
    look_finds("");
    leave("neuron-more.sock");
    assert_int_equal(device_plugin_scan(directory(), DRIVER_NEURON, name), 0);
    assert_string_not_equal(name, "");
}

/* Of each driver its own; "default" has the letters of the EFA plugin's name. */
static void test_of_efa(void **state)
{
    char efa[SOCKET_PATH_CAP] = "";
    (void)state;
    (void)serve("default.sock");
    (void)serve("neuron.sock");
    assert_int_equal(device_plugin_scan(directory(), DRIVER_EFA, efa), 0);
    assert_string_equal(efa, "");
    (void)serve("aws-efa-device-plugin.sock");
    assert_int_equal(device_plugin_scan(directory(), DRIVER_EFA, efa), 0);
    assert_string_equal(efa, "aws-efa-device-plugin.sock");
    look_finds("neuron.sock");
    remove_socket("aws-efa-device-plugin.sock");
    (void)serve("efa.sock");
    assert_int_equal(device_plugin_scan(directory(), DRIVER_EFA, efa), 0);
    assert_string_equal(efa, "efa.sock");
}

static struct settings settings;

/* The registration socket that the agent itself has. */
static void ours_is(const char *registration_socket)
{
    struct driver *d = &settings.driver[DRIVER_EFA];
    text_set(settings.registrar_dir, sizeof settings.registrar_dir, directory());
    text_set(d->name, sizeof d->name, "dra.net");
    (void)snprintf(d->registration_socket, sizeof d->registration_socket, "%s/%s", directory(),
                   registration_socket);
}

/* Another driver has the name without a pod's UID; a socket of ours or one left behind is none. */
static void test_other_driver(void **state)
{
    char path[SOCKET_PATH_CAP];
    (void)state;
    make_directories("device-plugins");
    ours_is("dra.net-0001-reg.sock");
    assert_false(other_driver_scan(&settings, DRIVER_EFA, false, path));
    (void)serve("dra.net-0001-reg.sock");
    (void)serve("dra.net-0002-reg.sock"); /* as in a rolling update */
    (void)serve("neuron.aws.com-reg.sock");
    assert_false(other_driver_scan(&settings, DRIVER_EFA, false, path));
    leave("dra.net-reg.sock");
    assert_false(other_driver_scan(&settings, DRIVER_EFA, false, path));
    remove_socket("dra.net-reg.sock");
    (void)serve("dra.net-reg.sock");
    assert_true(other_driver_scan(&settings, DRIVER_EFA, false, path));
    assert_string_equal(path, at("device-plugins/dra.net-reg.sock"));
    ours_is("dra.net-reg.sock");
    assert_false(other_driver_scan(&settings, DRIVER_EFA, false, path));
    assert_true(other_driver_scan(&settings, DRIVER_EFA, true, path));
    remove_socket("dra.net-reg.sock");
    assert_false(other_driver_scan(&settings, DRIVER_EFA, true, path));
    memset(settings.registrar_dir, 'd', sizeof settings.registrar_dir - 1u);
    assert_false(other_driver_scan(&settings, DRIVER_EFA, true, path));
}

/* More entries than one read returns. */
static void test_large_directory(void **state)
{
    char text[200];
    (void)state;
    for (unsigned i = 0; i < 200u; i++) {
        (void)snprintf(text, sizeof text, "device-plugins/%0100u", i);
        put(text, "");
    }
    look_finds("");
    for (unsigned i = 0; i < 8u; i++) {
        (void)snprintf(text, sizeof text, "%u-neuron.sock", i);
        (void)serve(text);
        look_finds(text);
        remove_socket(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLUGIN_TEST(test_what_is_none), PLUGIN_TEST(test_served_and_gone),
        PLUGIN_TEST(test_busy),         PLUGIN_TEST(test_stale),
        PLUGIN_TEST(test_dies),         PLUGIN_TEST(test_same_name),
        PLUGIN_TEST(test_unreadable),   PLUGIN_TEST(test_long_path),
        PLUGIN_TEST(test_many),         PLUGIN_TEST(test_large_directory),
        PLUGIN_TEST(test_of_efa),       PLUGIN_TEST(test_other_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
