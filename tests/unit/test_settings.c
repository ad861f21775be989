/* SPDX-License-Identifier: Apache-2.0 */
/* Flags and variables: defaults, precedence, every kind of value, refusals, socket paths. */
#include <arpa/inet.h>

#include "agent/settings_internal.h"
#include "settings_lines.h"

static void test_defaults(void **state)
{
    (void)state;
    expect_good("run --node-name n1");
    assert_int_equal(settings.command, COMMAND_RUN);
    assert_string_equal(settings.node_name, "n1");
    assert_string_equal(settings.kubeconfig, "");
    assert_int_equal(settings.tls_min, TLS_MIN_1_3);
    assert_string_equal(settings.cdi_root, "/var/run/cdi");
    assert_string_equal(settings.registrar_dir, "/var/lib/kubelet/plugins_registry");
    assert_string_equal(settings.plugins_dir, "/var/lib/kubelet/plugins");
    assert_string_equal(settings.pod_uid, "");
    assert_string_equal(settings.device_plugins_dir, "/var/lib/kubelet/device-plugins");
    assert_int_equal(settings.healthcheck_port, 51515);
    assert_int_equal(settings.metrics_port, 51516);
    assert_string_equal(settings.sysfs_root, "/sys");
    assert_string_equal(settings.proc_root, "/proc");
    assert_string_equal(settings.dev_root, "/dev");
    assert_string_equal(settings.instance_type, "");
    assert_false(settings.zero_numbering);
    assert_int_equal(settings.ultraserver, ULTRASERVER_AUTO);
    assert_string_equal(settings.taint[TAINT_UNHEALTHY].key, "neuron.aws.com/unhealthy");
    assert_string_equal(settings.taint[TAINT_UNHEALTHY].effect, "NoSchedule");
    assert_false(settings.claim_status);
    assert_int_equal(settings.reconcile_ms, 600000);
    assert_int_equal(settings.health_ms, 5000);
    assert_int_equal(settings.log_format, LOG_TEXT);
    assert_int_equal(settings.log_level, LOG_INFO);
    assert_string_equal(settings.driver[DRIVER_NEURON].registration_socket,
                        "/var/lib/kubelet/plugins_registry/neuron.aws.com-reg.sock");
    assert_string_equal(settings.driver[DRIVER_NEURON].service_socket,
                        "/var/lib/kubelet/plugins/neuron.aws.com/dra.sock");
}

static void test_every_flag(void **state)
{
    (void)state;
    expect_good("--node-name=ip-10-0-0-1.ec2.internal --kubeconfig kc --cdi-root /c "
                "--kubelet-registrar-directory-path=/r --kubelet-plugins-directory-path /p "
                "--pod-uid=12aB-3 --kubelet-device-plugins-directory-path=/d");
    assert_string_equal(settings.node_name, "ip-10-0-0-1.ec2.internal");
    assert_string_equal(settings.kubeconfig, "kc");
    assert_string_equal(settings.cdi_root, "/c");
    assert_string_equal(settings.pod_uid, "12aB-3");
    assert_string_equal(settings.device_plugins_dir, "/d");
    assert_string_equal(settings.driver[DRIVER_NEURON].registration_socket,
                        "/r/neuron.aws.com-12aB-3-reg.sock");
    assert_string_equal(settings.driver[DRIVER_NEURON].service_socket,
                        "/p/neuron.aws.com/dra-12aB-3.sock");
    expect_good("--node-name n --healthcheck-port -1 --metrics-port=0 --sysfs-root /s "
                "--proc-root=/pr --dev-root=/dv --instance-type trn2.48xlarge "
                "--device-numbering zero");
    assert_int_equal(settings.healthcheck_port, -1);
    assert_int_equal(settings.metrics_port, 0);
    assert_string_equal(settings.sysfs_root, "/s");
    assert_string_equal(settings.proc_root, "/pr");
    assert_string_equal(settings.dev_root, "/dv");
    assert_string_equal(settings.instance_type, "trn2.48xlarge");
    assert_true(settings.zero_numbering);
    expect_good("--node-name n --ultraserver-devices devices --unhealthy-taint a/b:NoExecute "
                "--claim-status=1 --reconcile-interval 1s --health-interval=500ms "
                "--log-format json --log-level debug");
    assert_int_equal(settings.ultraserver, ULTRASERVER_DEVICES);
    assert_string_equal(settings.taint[TAINT_UNHEALTHY].key, "a/b");
    assert_string_equal(settings.taint[TAINT_UNHEALTHY].effect, "NoExecute");
    assert_true(settings.claim_status);
    assert_int_equal(settings.reconcile_ms, 1000);
    assert_int_equal(settings.health_ms, 500);
    assert_int_equal(settings.log_format, LOG_JSON);
    assert_int_equal(settings.log_level, LOG_DEBUG);
}

static void test_commands(void **state)
{
    (void)state;
    const char *const broken[] = {"METRICS_PORT=x", NULL};
    assert_int_equal(parse_with("--version", broken), STATUS_OK);
    assert_int_equal(settings.command, COMMAND_VERSION);
    assert_int_equal(parse_with("version", broken), STATUS_OK);
    assert_int_equal(settings.command, COMMAND_VERSION);
    static const struct {
        const char *words;
        enum settings_command topic;
    } helps[] = {{"help", COMMAND_HELP},
                 {"help run", COMMAND_RUN},
                 {"run --help", COMMAND_RUN},
                 {"-h", COMMAND_HELP},
                 {"--node-name n -h", COMMAND_HELP},
                 {"claims --help", COMMAND_CLAIMS},
                 {"version --help", COMMAND_VERSION},
                 {"version -h", COMMAND_VERSION},
                 {"help claims", COMMAND_CLAIMS}};
    for (unsigned i = 0; i < sizeof helps / sizeof helps[0]; i++) {
        assert_int_equal(parse_with(helps[i].words, broken), STATUS_OK);
        assert_int_equal(settings.command, COMMAND_HELP);
        assert_int_equal(settings.topic, helps[i].topic);
    }
    expect_good("--node-name n run");
    assert_int_equal(settings.command, COMMAND_RUN);
    expect_bad("serve --node-name n", "unknown command \"serve\"; see --help");
    expect_bad("run --node-name n stray", "unexpected argument \"stray\"; see --help");
}

static void test_flag_errors(void **state)
{
    (void)state;
    expect_bad("--bogus=1", "unknown flag \"--bogus\"; see --help");
    expect_bad("run -node-name x",
               "unknown flag \"-node-name\" (did you mean --node-name?); see --help");
    expect_bad("--node-name", "--node-name needs a value; see --help");
    expect_bad("--node-name --cdi-root /x", "--node-name needs a value; see --help");
    expect_bad("", "run needs the node's name: give --node-name or set NODE_NAME");
    expect_good("--node-name a --node-name b --metrics-port 1 --metrics-port=2");
    assert_string_equal(settings.node_name, "b");
    assert_int_equal(settings.metrics_port, 2);
}

static void test_variables(void **state)
{
    (void)state;
    const char *const env[] = {"PATH=/bin",      "NODE_NAME=from-env",
                               "METRICS_PORT=9", "METRICS_PORT=8",
                               "CDI_ROOT=",      "odd",
                               "LOG_LEVEL=loud", NULL};
    assert_int_equal(parse_with("--log-level warn", env), STATUS_OK);
    assert_string_equal(settings.node_name, "from-env");
    assert_int_equal(settings.metrics_port, 9);
    assert_string_equal(settings.cdi_root, "/var/run/cdi");
    assert_int_equal(settings.log_level, LOG_WARN);
    assert_int_equal(parse_with("--node-name flag --metrics-port=7 --log-level=info", env),
                     STATUS_OK);
    assert_string_equal(settings.node_name, "flag");
    assert_int_equal(settings.metrics_port, 7);
    assert_int_equal(parse_with("", env), PEER_MALFORMED);
    expect_line("LOG_LEVEL \"loud\": must be one of error, warn, info, debug");
}

/* The taint of held memory is none unless it is set; each flag sets its own taint. */
static void test_taint_of_held_memory(void **state)
{
    (void)state;
    expect_good("--node-name n");
    assert_string_equal(settings.taint[TAINT_MEMORY_HELD].key, "");
    expect_good("--node-name n --memory-held-taint neuron.aws.com/memory-held:NoSchedule");
    assert_string_equal(settings.taint[TAINT_MEMORY_HELD].key, "neuron.aws.com/memory-held");
    assert_string_equal(settings.taint[TAINT_MEMORY_HELD].effect, "NoSchedule");
    assert_string_equal(settings.taint[TAINT_UNHEALTHY].key, "neuron.aws.com/unhealthy");
    const char *const env[] = {"NODE_NAME=n", "MEMORY_HELD_TAINT=a/b", NULL};
    assert_int_equal(parse_with("", env), PEER_MALFORMED);
    expect_line("MEMORY_HELD_TAINT \"a/b\": must be key:NoSchedule or key:NoExecute, or empty");
}

static void test_empty_values(void **state)
{
    (void)state;
    const char *const env[] = {"NODE_NAME=n", "UNHEALTHY_TAINT=", "POD_UID=", "KUBECONFIG=", NULL};
    const char *const nameless[] = {"NODE_NAME=", NULL};
    assert_int_equal(parse_with("", env), STATUS_OK);
    assert_string_equal(settings.taint[TAINT_UNHEALTHY].key, "");
    assert_string_equal(settings.taint[TAINT_UNHEALTHY].effect, "");
    assert_string_equal(settings.pod_uid, "");
    expect_good("--node-name n --unhealthy-taint= --pod-uid= --kubeconfig= --instance-type=");
    assert_string_equal(settings.taint[TAINT_UNHEALTHY].key, "");
    assert_string_equal(settings.instance_type, "");
    assert_int_equal(parse_with("", nameless), PEER_MALFORMED);
    expect_line("run needs the node's name: give --node-name or set NODE_NAME");
    expect_bad("--node-name n --cdi-root=", "--cdi-root \"\": is not an absolute path");
}

#define NAME_RULE                                                                                  \
    "is not a node name: lower-case letters, digits, '-' and '.', letters or digits at the ends"

static void test_node_names(void **state)
{
    (void)state;
    char line[400] = "--node-name ";
    static const char *const bad[] = {"A", "a_b", "-a", "a-", ".a", "a.", "a..b", "a.-b", "a-.b"};
    static const char *const good[] = {"a", "0", "a-b", "a--b", "a.b-c.d", "1.2.3.4"};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char expected[200];
        (void)snprintf(line, sizeof line, "--node-name %s", bad[i]);
        (void)snprintf(expected, sizeof expected, "--node-name \"%s\": " NAME_RULE, bad[i]);
        expect_bad(line, expected);
    }
    for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
        (void)snprintf(line, sizeof line, "--node-name %s", good[i]);
        expect_good(line);
        assert_string_equal(settings.node_name, good[i]);
    }
    strcpy(line, "--node-name ");
    size_t begin = strlen(line);
    memset(line + begin, 'a', 253);
    line[begin + 253] = '\0';
    expect_good(line);
    assert_int_equal(strlen(settings.node_name), 253);
    strcat(line, "a");
    assert_int_equal(parse_with(line, no_variables), PEER_MALFORMED);
    assert_non_null(strstr(why_text, "is 254 bytes long, the limit is 253"));
}

static void test_efa_settings(void **state)
{
    (void)state;
    expect_good("--node-name n");
    assert_false(settings.efa);
    assert_string_equal(settings.efa_driver, "dra.net");
    expect_good("--node-name n --efa true --efa-driver-name efa.example.com");
    assert_true(settings.efa);
    assert_string_equal(settings.efa_driver, "efa.example.com");
    assert_int_equal(settings.efa_share, 1);
    assert_int_equal(settings.driver[DRIVER_EFA].shares, 1);
    expect_good("--node-name n --efa true --efa-share 16");
    assert_int_equal(settings.driver[DRIVER_EFA].shares, 16);
    assert_int_equal(settings.driver[DRIVER_NEURON].shares, 1);
    expect_good("--node-name n --share-cores true");
    assert_true(settings.driver[DRIVER_NEURON].shares > 1);
    expect_bad("--node-name n --efa-share 17", "--efa-share \"17\": is not a number from 1 to 16");
    expect_bad("--node-name n --efa-share 0", "--efa-share \"0\": is not a number from 1 to 16");
    expect_bad("--node-name n --efa-share 2.5",
               "--efa-share \"2.5\": is not a number from 1 to 16");
    expect_bad("--node-name n --efa-driver-name neuron.aws.com",
               "--efa-driver-name \"neuron.aws.com\": is the driver of the Neuron devices; give "
               "another name");
    expect_bad("--node-name n --efa-driver-name EFA",
               "--efa-driver-name \"EFA\": is not a driver name: lower-case letters, digits, '-' "
               "and '.', letters or digits at the ends");
}

static const char *needed(enum driver_kind driver, unsigned resource)
{
    return settings.driver[driver].resources.quantity[resource];
}

static void test_efa_node_resources(void **state)
{
#define FLAG "--node-name n --efa-node-resources"
#define NAMES                                                                                      \
    "must be NAME=QUANTITY,... with the names hugepages-1Gi, hugepages-2Mi and memory, each once " \
    "at most"
#define QUANTITIES                                                                                 \
    "a quantity is like 320Mi, with Ki, Mi, Gi or Ti, at most 1Ti, and whole huge pages"
    static const struct {
        const char *value;
        const char *problem;
    } bad[] = {
        {"cpu=1", NAMES},
        {"cpu=1,memory=1Mi", NAMES},
        {"memory", QUANTITIES},
        {"memory=", QUANTITIES},
        {"memory=64", QUANTITIES},
        {"memory=1Mi,", NAMES},
        {",memory=1Mi", NAMES},
        {"memory=1Mi,memory=1Mi", NAMES},
        {"memory=1Mi,hugepages-1Gi=1Gi,hugepages-2Mi=2Mi,memory=2Mi", NAMES},
        {"memory=1Mi,hugepages-1Gi=1Gi,hugepages-2Mi=2Mi,", NAMES},
        {"Memory=1Mi", NAMES},
        {"hugepages-2Mi=5Mi", QUANTITIES},
        {"hugepages-64Ki=64Ki", NAMES},
        {"memory=1Mi=2Mi", QUANTITIES},
    };
    (void)state;
    expect_good("--node-name n");
    assert_string_equal(needed(DRIVER_EFA, NODE_MEMORY), "");
    expect_good(FLAG " hugepages-2Mi=5120Mi,memory=64Mi");
    assert_string_equal(needed(DRIVER_EFA, NODE_HUGEPAGES_2MI), "5Gi");
    assert_string_equal(needed(DRIVER_EFA, NODE_MEMORY), "64Mi");
    assert_string_equal(needed(DRIVER_EFA, NODE_HUGEPAGES_1GI), "");
    assert_string_equal(needed(DRIVER_NEURON, NODE_MEMORY), "");
    expect_good(FLAG " memory=1Mi,hugepages-1Gi=1Gi,hugepages-2Mi=2Mi");
    assert_string_equal(needed(DRIVER_EFA, NODE_HUGEPAGES_1GI), "1Gi");
    expect_good(FLAG "=");
    assert_string_equal(needed(DRIVER_EFA, NODE_MEMORY), "");
    for (unsigned i = 0; i < COUNT(bad); i++) {
        char line[200];
        char why[300];
        (void)snprintf(line, sizeof line, FLAG " %s", bad[i].value);
        (void)snprintf(why, sizeof why, "--efa-node-resources \"%s\": %s", bad[i].value,
                       bad[i].problem);
        expect_bad(line, why);
    }
#undef FLAG
#undef NAMES
#undef QUANTITIES
}

static void test_paths(void **state)
{
    (void)state;
    expect_good("--node-name n --kubelet-plugins-directory-path //var///k/./plugins/. "
                "--kubelet-registrar-directory-path / --cdi-root /a..b/");
    assert_string_equal(settings.plugins_dir, "/var/k/plugins");
    assert_string_equal(settings.device_plugins_dir, "/var/k/device-plugins");
    assert_string_equal(settings.registrar_dir, "/");
    assert_string_equal(settings.driver[DRIVER_NEURON].registration_socket,
                        "/neuron.aws.com-reg.sock");
    assert_string_equal(settings.cdi_root, "/a..b");
    expect_good("--node-name n --kubelet-plugins-directory-path /p");
    assert_string_equal(settings.device_plugins_dir, "/device-plugins");
    expect_good("--node-name n --kubelet-plugins-directory-path=/");
    assert_string_equal(settings.driver[DRIVER_NEURON].service_socket, "/neuron.aws.com/dra.sock");
    expect_bad("--node-name n --cdi-root run/cdi",
               "--cdi-root \"run/cdi\": is not an absolute path");
    expect_bad("--node-name n --cdi-root /a/../b",
               "--cdi-root \"/a/../b\": must not contain \"..\"");
    expect_bad("--node-name n --cdi-root /a\tb", "--cdi-root \"/a?b\": is not an absolute path");
    expect_bad("--node-name n --cdi-root /a\xff", "--cdi-root \"/a\xff\": is not an absolute path");
    expect_good("--node-name n --tls-min-version 1.2");
    assert_int_equal(settings.tls_min, TLS_MIN_1_2);
    expect_bad("--node-name n --tls-min-version 1.1",
               "--tls-min-version \"1.1\": must be one of 1.2, 1.3");
    expect_bad("--node-name n --kubeconfig /a:/b",
               "--kubeconfig \"/a:/b\": name one file; lists of files with ':' are not supported");
    expect_good("--node-name n --kubelet-state-file /a:b"); /* a list nowhere */
    assert_string_equal(settings.kubelet_state, "/a:b");
}

static void test_long_path(void **state)
{
    (void)state;
    char line[700] = "--node-name n --cdi-root /";
    size_t begin = strlen(line);
    memset(line + begin, 'c', 510);
    expect_good(line);
    assert_int_equal(strlen(settings.cdi_root), 511);
    line[begin + 510] = 'c';
    assert_int_equal(parse_with(line, no_variables), PEER_MALFORMED);
    assert_non_null(strstr(why_text, "is 512 bytes long, the limit is 511"));
}

/* "/…" of `len` bytes as the given directory. */
static enum status parse_folder(const char *flag, size_t len)
{
    char line[700];
    int n = snprintf(line, sizeof line, "--node-name n --pod-uid 12345678 %s /", flag);
    assert_true(n > 0 && (size_t)n + len < sizeof line);
    memset(line + n, 'd', len - 1);
    line[(size_t)n + len - 1] = '\0';
    return parse_with(line, no_variables);
}

static void test_socket_paths(void **state)
{
    (void)state;
    /* "/neuron.aws.com-12345678-reg.sock" is 33 bytes, "/neuron.aws.com/dra-12345678.sock" too. */
    assert_int_equal(parse_folder("--kubelet-registrar-directory-path", 107 - 33), STATUS_OK);
    assert_int_equal(strlen(settings.driver[DRIVER_NEURON].registration_socket), 107);
    assert_int_equal(parse_folder("--kubelet-plugins-directory-path", 107 - 33), STATUS_OK);
    assert_int_equal(strlen(settings.driver[DRIVER_NEURON].service_socket), 107);
    assert_int_equal(parse_folder("--kubelet-registrar-directory-path", 108 - 33), PEER_MALFORMED);
    assert_non_null(strstr(why_text, "registration socket \"/ddd"));
    assert_non_null(strstr(why_text, "ddd/neuron.aws.com-12345678-reg.sock\" is 108 bytes long, "
                                     "the limit of unix sockets is 107; give a shorter "
                                     "--kubelet-registrar-directory-path"));
    assert_int_equal(parse_folder("--kubelet-plugins-directory-path", 108 - 33), PEER_MALFORMED);
    assert_non_null(strstr(why_text, "ddd/neuron.aws.com/dra-12345678.sock\" is 108 bytes long, "
                                     "the limit of unix sockets is 107; give a shorter "
                                     "--kubelet-plugins-directory-path"));
    assert_int_equal(parse_folder("--kubelet-plugins-directory-path", 511), PEER_MALFORMED);
    assert_non_null(strstr(why_text, " is 544 bytes long"));
}

/* Without --efa a name of the EFA driver that leaves no room for its sockets does no harm. */
static void test_sockets_of_efa(void **state)
{
    (void)state;
    const char *name = "--node-name n --pod-uid 12345678 --kubelet-plugins-directory-path "
                       "/var/lib/kubelet/plugins-of-a-directory-with-a-name-that-is-long-enough "
                       "--efa-driver-name a-long-name-of-a-driver.example.com";
    char line[700];
    assert_int_equal(parse_with(name, no_variables), STATUS_OK);
    assert_string_equal(settings.driver[DRIVER_EFA].service_socket, "");
    (void)snprintf(line, sizeof line, "%s --efa true", name);
    assert_int_equal(parse_with(line, no_variables), PEER_MALFORMED);
    assert_int_equal(parse_with("--node-name n", no_variables), STATUS_OK);
    assert_string_equal(settings.driver[DRIVER_EFA].service_socket,
                        "/var/lib/kubelet/plugins/dra.net/dra.sock");
}

static const char *const address_texts[] = {"0.0.0.0",
                                            "127.0.0.1",
                                            "255.255.255.255",
                                            "256.0.0.1",
                                            "1.2.3",
                                            "1.2.3.4.5",
                                            "1.2.3.4.",
                                            ".1.2.3.4",
                                            "1..2.3",
                                            "01.2.3.4",
                                            "1.2.3.00",
                                            "1.2.3.4 ",
                                            "1.2.3.a",
                                            "localhost",
                                            "::",
                                            "::1",
                                            "1::",
                                            ":",
                                            ":::",
                                            "1:::2",
                                            "1::2::3",
                                            ":1",
                                            "1:",
                                            "1:2:3:4:5:6:7:8",
                                            "1:2:3:4:5:6:7",
                                            "1:2:3:4:5:6:7:8:9",
                                            "1:2:3:4:5:6:7::",
                                            "::2:3:4:5:6:7:8",
                                            "1:2:3:4:5:6:7:8::",
                                            "fe80::1",
                                            "FE80::ABCD",
                                            "12345::",
                                            "g::",
                                            "fe80::1%eth0",
                                            "[::1]",
                                            "::ffff:1.2.3.4",
                                            "1:2:3:4:5:6:1.2.3.4",
                                            "1:2:3:4:5:6:7:1.2.3.4",
                                            "::1.2.3",
                                            "1.2.3.4::",
                                            "64:ff9b::192.0.2.33",
                                            "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"};

/* What is an address and what is not, as inet_pton(3) has it, by which the socket is bound. */
static void test_addresses(void **state)
{
    (void)state;
    unsigned good = 0;
    for (unsigned i = 0; i < sizeof address_texts / sizeof address_texts[0]; i++) {
        char text[100];
        char expected[200];
        uint8_t bytes[16];
        bool wanted = inet_pton(AF_INET, address_texts[i], bytes) == 1 ||
                      inet_pton(AF_INET6, address_texts[i], bytes) == 1;
        (void)snprintf(text, sizeof text, "--metrics-bind-address=%s", address_texts[i]);
        const char *const args[] = {"--node-name=n", text};
        enum status s = parse_words(args, 2, no_variables);
        if (s != (wanted ? STATUS_OK : PEER_MALFORMED)) {
            fail_msg("%s: %d", address_texts[i], (int)s);
        }
        good += wanted ? 1 : 0;
        (void)snprintf(expected, sizeof expected,
                       "--metrics-bind-address \"%s\": is not an IP address", address_texts[i]);
        if (wanted) {
            assert_string_equal(settings.metrics_address, address_texts[i]);
        } else {
            expect_line(expected);
        }
    }
    assert_int_equal(good, 15);
    expect_good("--node-name n --healthcheck-bind-address=");
    assert_string_equal(settings.healthcheck_address, "");
    assert_string_equal(settings.metrics_address, "");
}

static void test_numbers(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "-2", "65536", "+1", "1 ", "x", "", "0x10", "--1", "99999999999999999999999"};
    expect_good("--node-name n --metrics-port 65535");
    assert_int_equal(settings.metrics_port, 65535);
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[100];
        char expected[200];
        (void)snprintf(text, sizeof text, "--metrics-port=%s", bad[i]);
        (void)snprintf(expected, sizeof expected,
                       "--metrics-port \"%s\": is not a port: -1 (off), 0 (any) or 1 to 65535",
                       bad[i]);
        const char *const args[] = {"--node-name=n", text};
        assert_int_equal(parse_words(args, 2, no_variables), PEER_MALFORMED);
        expect_line(expected);
    }
    expect_bad("--node-name n --claim-status=yes", "--claim-status \"yes\": must be true or false");
    expect_good("--node-name n --claim-status true");
    assert_true(settings.claim_status);
    expect_good("--node-name n --claim-status 0");
    assert_false(settings.claim_status);
    assert_false(settings.device_metadata);
    expect_good("--node-name n --device-metadata true");
    assert_true(settings.device_metadata);
    assert_false(settings.device_metrics);
    assert_false(settings.neuron_monitor_metrics);
    expect_good("--node-name n --device-metrics true");
    assert_true(settings.device_metrics);
    assert_false(settings.neuron_monitor_metrics);
    expect_good("--node-name n --neuron-monitor-metrics true");
    assert_true(settings.neuron_monitor_metrics);
    assert_false(settings.device_metrics);
    assert_false(settings.require_consecutive);
    expect_good("--node-name n --require-consecutive true");
    assert_true(settings.require_consecutive);
    expect_bad("--node-name n --device-numbering Zero",
               "--device-numbering \"Zero\": must be one of host, zero");
    expect_bad("--node-name n --ultraserver-devices x",
               "--ultraserver-devices \"x\": must be one of auto, node, both, devices");
    expect_bad("--node-name n --pod-uid a.b",
               "--pod-uid \"a.b\": only letters, digits and '-' are allowed");
    expect_bad("--node-name n --instance-type a/b",
               "--instance-type \"a/b\": only letters, digits, '-' and '.' are allowed");
}

struct duration_case {
    const char *text;
    uint64_t ms; /* 0: no duration */
};

static void test_durations(void **state)
{
    (void)state;
    static const struct duration_case cases[] = {
        {"10m", 600000},
        {"1h30m", 5400000},
        {"1h15m30.918s", 4530918},
        {"1.5s", 1500},
        {"1500ms", 1500},
        {"1000000us", 1000},
        {"1000000\xc2\xb5s", 1000},
        {"1000000000ns", 1000},
        {".5m", 30000},
        {"1.h", 3600000},
        {"0.0166666666666667h", 59999},
        {"1s999999ns", 1000},
        {"1.9999999999999999999999s", 1999},
        {"8760h", 31536000000u},
        {"0001s", 1000},
        {"8760h1ms", 0},
        {"8761h", 0},
        {"10", 0},
        {"", 0},
        {"s", 0},
        {".s", 0},
        {"1 s", 0},
        {"-1s", 0},
        {"1d", 0},
        {"1s ", 0},
        {"1ss", 0},
        {"1.2.3s", 0},
        {"18446744073709551616ns", 0},
        {"99999999999999999999999999h", 0},
        {"1e3s", 0},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[100];
        (void)snprintf(text, sizeof text, "--reconcile-interval=%s", cases[i].text);
        const char *const args[] = {"--node-name=n", text};
        enum status s = parse_words(args, 2, no_variables);
        if (s != ((cases[i].ms == 0) ? PEER_MALFORMED : STATUS_OK)) {
            fail_msg("%s: %s", text, why_text);
        }
        if (s == STATUS_OK) {
            assert_int_equal(settings.reconcile_ms, cases[i].ms);
        } else {
            assert_non_null(strstr(why_text, "is not a duration up to 8760h, such as 10m"));
        }
    }
    expect_bad("--node-name n --reconcile-interval 999ms",
               "--reconcile-interval \"999ms\": must be at least 1000ms");
    expect_bad("--node-name n --health-interval 0s",
               "--health-interval \"0s\": must be at least 100ms");
}

static void test_taints(void **state)
{
    (void)state;
    char longest[500] = "--node-name n --unhealthy-taint ";
    size_t begin = strlen(longest);
    memset(longest + begin, 'p', 253);
    strcat(longest, "/");
    memset(longest + begin + 254, 'N', 63);
    strcat(longest, ":NoSchedule");
    expect_good(longest);
    assert_int_equal(strlen(settings.taint[TAINT_UNHEALTHY].key), 317);
    expect_good("--node-name n --unhealthy-taint plain_Key.1:NoExecute");
    assert_string_equal(settings.taint[TAINT_UNHEALTHY].key, "plain_Key.1");
    static const char *const effects[] = {"a/b", "a/b:", "a/b:PreferNoSchedule", "a/b:noschedule",
                                          "a:b:NoSchedule"};
    for (unsigned i = 0; i < sizeof effects / sizeof effects[0]; i++) {
        char line[100];
        (void)snprintf(line, sizeof line, "--node-name n --unhealthy-taint %s", effects[i]);
        assert_int_equal(parse_with(line, no_variables), PEER_MALFORMED);
        assert_non_null(strstr(why_text, "must be key:NoSchedule or key:NoExecute, or empty"));
    }
    static const char *const keys[] = {":NoSchedule",    "/b:NoSchedule",   "a/:NoSchedule",
                                       "A/b:NoSchedule", "a/b/c:NoExecute", "a/-b:NoExecute",
                                       "k=v:NoSchedule", "a/b-:NoSchedule"};
    for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char line[100];
        (void)snprintf(line, sizeof line, "--node-name n --unhealthy-taint %s", keys[i]);
        assert_int_equal(parse_with(line, no_variables), PEER_MALFORMED);
        assert_non_null(strstr(why_text, "key before ':' must be a label key"));
    }
}

/* Words of the command line; only run needs the node's name. */
static void test_other_commands(void **state)
{
    static const char *const names[COMMANDS] = {
        [COMMAND_DEVICES] = "devices",       [COMMAND_SLICES] = "slices --board trn2.48xlarge",
        [COMMAND_CLAIMS] = "claims -o json", [COMMAND_CHECK] = "check --output=yaml",
        [COMMAND_PROBE] = "probe readiness", [COMMAND_COMPLETION] = "completion bash",
        [COMMAND_BUNDLE] = "bundle ./here",  [COMMAND_RESERVATIONS] = "reservations -o json"};
    (void)state;
    for (unsigned i = 0; i < (unsigned)COMMANDS; i++) {
        if (names[i] != NULL) {
            expect_good(names[i]);
            assert_int_equal(settings.command, i);
        }
    }
    expect_good("claims -o json");
    assert_int_equal(settings.output, OUTPUT_JSON);
    expect_good("devices -w true --no-headers=true");
    assert_true(settings.watch && settings.no_headers);
    expect_good("--log-level debug probe --pod-uid u liveness");
    assert_int_equal(settings.command, COMMAND_PROBE);
    assert_string_equal(settings.operand, "liveness");
    assert_string_equal(settings.driver[DRIVER_NEURON].service_socket,
                        "/var/lib/kubelet/plugins/neuron.aws.com/dra-u.sock");
    expect_bad("probe", "probe needs liveness or readiness; see --help");
    expect_bad("completion", "completion needs bash or zsh or fish; see --help");
    expect_bad("bundle", "bundle needs DIRECTORY|-; see --help");
    expect_bad("bundle a b", "unexpected argument \"b\"; see --help");
    char line[PATH_CAP + 16u] = "bundle ";
    memset(&line[7], 'x', PATH_CAP);
    expect_bad(line, "bundle: the path is too long");
    expect_bad("probe health", "probe takes liveness or readiness, not \"health\"; see --help");
    expect_bad("probe liveness readiness", "unexpected argument \"readiness\"; see --help");
    expect_bad("devices all", "unexpected argument \"all\"; see --help");
    expect_bad("devices -o xml", "--output \"xml\": must be one of text, json, yaml");
    const char *const variables[] = {"BOARD=trn1.2xlarge", "OUTPUT=json", NULL};
    assert_int_equal(parse_with("devices", variables), STATUS_OK);
    assert_true(settings.board[0] == '\0' && settings.output == OUTPUT_TEXT);
}

static void test_pods(void **state)
{
    static const char *const bad[] = {"llama-0", "/llama-0", "default/",  "default/a/b",
                                      "pod/A",   "-/a",      "default a", ""};
    (void)state;
    expect_good("claims --pod default/llama-0.x");
    assert_string_equal(settings.pod, "default/llama-0.x");
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char line[64];
        const char *const args[] = {"claims", "--pod", bad[i]};
        (void)snprintf(line, sizeof line, "--pod \"%s\": is not a pod; give NAMESPACE/NAME",
                       bad[i]);
        assert_int_equal(parse_words(args, 3, no_variables), PEER_MALFORMED);
        expect_line(line);
    }
    char line[NAMESPACE_CAP + NAME_CAP + 32u] = "claims --pod a/";
    memset(&line[strlen(line)], 'x', NAMESPACE_CAP + NAME_CAP);
    assert_int_equal(parse_with(line, no_variables), PEER_MALFORMED);
}

/* The completion has every command and what it takes, every flag and its values. */
static void test_completion(void **state)
{
    static char text[4096];
    struct writer w = writer_of(text, sizeof text);
    (void)state;
    settings_completion("bash", &w);
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    static const char *const words[] = {" devices ",
                                        "    probe) list=\"liveness readiness\" ;;\n",
                                        "    bundle) list=\"\" ;;\n",
                                        "    --output) list=\"text json yaml\" ;;\n",
                                        "    --board) list=\"",
                                        "    --sandbox) list=\"true false\" ;;\n",
                                        "    --kubeconfig) list=\"\" ;;\n",
                                        " --board ",
                                        " --node-name ",
                                        " -o -w\"",
                                        "complete -o default"};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        assert_non_null(strstr(text, words[i]));
    }
}

static void test_quoting(void **state)
{
    (void)state;
    const char *const newline[] = {"a\nb\x7f"};
    assert_int_equal(parse_words(newline, 1, no_variables), PEER_MALFORMED);
    expect_line("unknown command \"a?b?\"; see --help");
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    const char *const long_word[] = {text};
    assert_int_equal(parse_words(long_word, 1, no_variables), PEER_MALFORMED);
    assert_non_null(strstr(why_text, "xxx...\"; see --help"));
    assert_true(strlen(why_text) < 512);
}

/* A caller's short buffer is not overrun. */
static void test_short_why(void **state)
{
    (void)state;
    const char *const args[] = {"--nonsense"};
    char small[24];
    memset(small, '#', sizeof small);
    struct writer why = writer_of(small, 16);
    assert_int_equal(settings_parse(&settings, args, 1, no_variables, &why), PEER_MALFORMED);
    assert_memory_equal(small + 16, "########", 8);
}

/* The help of each command: what it does, an example, its own flags, its usage. */
static void test_help_of_a_command(void **state)
{
    static char text[8192];
    (void)state;
    expect_good("devices --help");
    assert_int_equal(settings.topic, COMMAND_DEVICES);
    expect_good("help bundle");
    assert_int_equal(settings.command, COMMAND_HELP);
    assert_int_equal(settings.topic, COMMAND_BUNDLE);
    expect_bad("help me", "unknown command \"me\"; see --help");
    struct writer w = writer_of(text, sizeof text);
    for (unsigned part = 0; settings_help(&w, COMMAND_BUNDLE, part); part++) {
    }
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    static const char *const parts[] = {
        "neuron-dra-agent bundle: write what", "\nExamples:\n  neuron-dra-agent bundle /",
        "\nOptions (", "\n  --cdi-root DIRECTORY\n",
        "\nUsage:\n  neuron-dra-agent bundle DIRECTORY|- [OPTION]...\n"};
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        assert_non_null(strstr(text, parts[i]));
    }
    assert_null(strstr(text, "--board"));
    w = writer_of(text, sizeof text);
    for (unsigned part = 0; settings_help(&w, COMMAND_RUN, part); part++) {
    }
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    static const char *const of_run[] = {"neuron-dra-agent run: serve", "\n  --node-name NAME\n",
                                         "\n  --log-level ", "\n  neuron-dra-agent run [OPTION]"};
    for (unsigned i = 0; i < sizeof of_run / sizeof of_run[0]; i++) {
        assert_non_null(strstr(text, of_run[i]));
    }
    assert_null(strstr(text, "--board"));
    assert_null(strstr(text, "--watch"));
}

/* Each setting with the flag, the variable or the default that gave it. */
static void test_sources(void **state)
{
    static char text[8192];
    static const char *const args[] = {
        "bundle", "-o", "yaml", "--metrics-port", "-1", "d", "--cdi-root=/a", "--cdi-root", "/b"};
    static const char *const env[] = {"NODE_NAME=n\n1", "SECRET=x", "CDI_ROOT=/c", NULL};
    const struct settings_input input = {.args = args, .count = 9, .env = env};
    unsigned count = 0;
    (void)state;
    struct writer w = writer_of(text, sizeof text);
    while (settings_source(&input, count, &w)) {
        count++;
    }
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    assert_int_equal(count, SETTINGS_COUNT);
    static const char *const lines[] = {"--node-name=n?1   # NODE_NAME, default: required by run\n",
                                        "--cdi-root=/b   # --cdi-root, default: /var/run/cdi\n",
                                        "--metrics-port=-1   # --metrics-port, default: 51516\n",
                                        "--output=yaml   # --output, default: text\n",
                                        "--sysfs-root=/sys   # default\n",
                                        "--pod-uid=none   # default\n"};
    for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_non_null(strstr(text, lines[i]));
    }
    assert_null(strstr(text, "SECRET"));
}

static void test_help(void **state)
{
    (void)state;
    static char text[16384];
    struct writer w = writer_of(text, sizeof text);
    unsigned count = 0;
    while (settings_help(&w, COMMAND_HELP, count)) {
        count++;
    }
    assert_int_equal(count, SETTINGS_COUNT + 2u); /* head, flags, exit codes */
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    static const char *const parts[] = {
        "--node-name NAME\n",
        "--metrics-bind-address ADDRESS\n",
        "variable HEALTHCHECK_BIND_ADDRESS, default: all addresses\n",
        "variable NODE_NAME, default: required by run\n",
        "--device-numbering host|zero\n",
        "--ultraserver-devices auto|node|both|devices\n",
        "variable KUBELET_DEVICE_PLUGINS_DIRECTORY_PATH, default: device-plugins\n      next to",
        "variable RECONCILE_INTERVAL, default: 10m\n",
        "--log-level error|warn|info|debug\n",
        "default: neuron.aws.com/unhealthy:NoSchedule\n",
    };
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strstr(text, parts[i]) == NULL) {
            fail_msg("help lacks: %s", parts[i]);
        }
    }
    assert_null(strstr(text, "no effect"));
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1u) {
        if (strcspn(line, "\n") > 80u) {
            fail_msg("more than 80 columns: %.*s", (int)strcspn(line, "\n"), line);
        }
    }
    unsigned flags = 0;
    for (const char *at = strstr(text, "\n  --"); at != NULL; at = strstr(at + 1, "\n  --")) {
        flags++;
    }
    assert_int_equal(flags, SETTINGS_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_flag),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_flag_errors),
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_empty_values),
        cmocka_unit_test(test_efa_settings),
        cmocka_unit_test(test_efa_node_resources),
        cmocka_unit_test(test_node_names),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_long_path),
        cmocka_unit_test(test_socket_paths),
        cmocka_unit_test(test_sockets_of_efa),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_taints),
        cmocka_unit_test(test_taint_of_held_memory),
        cmocka_unit_test(test_other_commands),
        cmocka_unit_test(test_pods),
        cmocka_unit_test(test_completion),
        cmocka_unit_test(test_quoting),
        cmocka_unit_test(test_short_why),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_help_of_a_command),
        cmocka_unit_test(test_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
