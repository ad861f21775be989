/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of flags, with one row for each flag, and the text of --help, which is made from it.
 * Parses nothing.
 */
#include "agent/settings_internal.h"
#include "base/assert.h"
#include "boards/board.h"
#include "cfg/identity.h"

#define FIELD(member)                                                                              \
    .offset = offsetof(struct settings, member), .size = sizeof(((struct settings *)0)->member)

/* The commands that read a setting, as a set of bits. */
#define READ_BY(command) (uint16_t)((uint32_t)1 << (unsigned)(command))
#define BY_PAGES                                                                                   \
    (READ_BY(COMMAND_PROBE) | READ_BY(COMMAND_CHECK) | READ_BY(COMMAND_BUNDLE) |                   \
     READ_BY(COMMAND_SLICES) | READ_BY(COMMAND_DEVICES) | READ_BY(COMMAND_CLAIMS))
#define BY_CLAIMS (READ_BY(COMMAND_CLAIMS) | READ_BY(COMMAND_CHECK) | READ_BY(COMMAND_BUNDLE))
#define BY_DEVICES (READ_BY(COMMAND_DEVICES) | READ_BY(COMMAND_SLICES))
#define BY_STORE (BY_CLAIMS | READ_BY(COMMAND_DEVICES) | READ_BY(COMMAND_RELEASE))
#define BY_NODE (BY_DEVICES | READ_BY(COMMAND_CHECK) | READ_BY(COMMAND_BUNDLE))
#define BY_CLUSTER READ_BY(COMMAND_RESERVATIONS)
/* the commands that work with the devices or claims of each driver, as a set of bits */
#define BY_DRIVERS (BY_NODE | READ_BY(COMMAND_CLAIMS) | READ_BY(COMMAND_RELEASE) | BY_CLUSTER)
#define BY_OUTPUT (BY_DEVICES | READ_BY(COMMAND_CLAIMS) | READ_BY(COMMAND_CHECK) | BY_CLUSTER)

/* The array has no explicit size, so that an assertion on its size also detects a surplus row. */
static const struct setting_row setting_rows[] = {
    {.flag = "--node-name",
     .readers = READ_BY(COMMAND_SLICES) | READ_BY(COMMAND_BUNDLE),
     .variable = "NODE_NAME",
     .kind = KIND_NODE_NAME,
     FIELD(node_name),
     .default_text = "required by run",
     .help = "name of this node in Kubernetes; its devices form a pool of the same name"},
    {.flag = "--kubeconfig",
     .readers = BY_CLUSTER,
     .variable = "KUBECONFIG",
     .kind = KIND_KUBECONFIG,
     FIELD(kubeconfig),
     .default_text = "the pod's service account",
     .help = "path of one kubeconfig file (YAML or JSON); its current context is used"},
    {.flag = "--tls-min-version",
     .readers = BY_CLUSTER,
     .variable = "TLS_MIN_VERSION",
     .kind = KIND_CHOICE,
     FIELD(tls_min),
     .default_value = "1.3",
     .choices = {[TLS_MIN_1_2] = "1.2", [TLS_MIN_1_3] = "1.3"},
     .help = "oldest TLS version that the agent accepts from the API server"},
    {.flag = "--cdi-root",
     .readers = BY_CLAIMS | READ_BY(COMMAND_DEVICES),
     .variable = "CDI_ROOT",
     .kind = KIND_FOLDER,
     FIELD(cdi_root),
     .default_value = "/var/run/cdi",
     .help = "directory where the agent writes one CDI file for each prepared claim"},
    {.flag = "--kubelet-registrar-directory-path",
     .readers = READ_BY(COMMAND_CHECK) | READ_BY(COMMAND_BUNDLE),
     .variable = "KUBELET_REGISTRAR_DIRECTORY_PATH",
     .kind = KIND_FOLDER,
     FIELD(registrar_dir),
     .default_value = "/var/lib/kubelet/plugins_registry",
     .help = "directory where the kubelet looks for registration sockets"},
    {.flag = "--kubelet-plugins-directory-path",
     .readers = BY_STORE,
     .variable = "KUBELET_PLUGINS_DIRECTORY_PATH",
     .kind = KIND_FOLDER,
     FIELD(plugins_dir),
     .default_value = "/var/lib/kubelet/plugins",
     .help =
         "directory of the kubelet's plugins; the agent has its service socket and " STORE_FILE_NAME
         " in a subdirectory for each driver, such as " DRIVER_NAME},
    {.flag = "--pod-uid",
     .readers = READ_BY(COMMAND_CHECK) | READ_BY(COMMAND_RELEASE) | READ_BY(COMMAND_BUNDLE),
     .variable = "POD_UID",
     .kind = KIND_UID,
     FIELD(pod_uid),
     .default_text = "none",
     .help =
         "UID of the agent's pod, part of the socket names; lets two agents overlap in an update"},
    {.flag = "--kubelet-device-plugins-directory-path",
     .readers = READ_BY(COMMAND_CHECK) | READ_BY(COMMAND_BUNDLE),
     .variable = "KUBELET_DEVICE_PLUGINS_DIRECTORY_PATH",
     .kind = KIND_FOLDER,
     FIELD(device_plugins_dir),
     .default_text = "device-plugins next to the plugins directory",
     .help = "directory of the device plugins' sockets; the agent is not ready while a "
             "socket there has \"neuron\" in its name, or with --efa \"efa\""},
    {.flag = "--kubelet-state-file",
     .variable = "KUBELET_STATE_FILE",
     .kind = KIND_FILE,
     FIELD(kubelet_state),
     .default_text = "dra_manager_state next to the plugins directory",
     .help =
         "the kubelet's checkpoint of claims: without an unprepare, the agent releases no claim "
         "that the file lists, and no claim at all while it cannot read the file; see the "
         "command release"},
    {.flag = "--healthcheck-port",
     .variable = "HEALTHCHECK_PORT",
     .kind = KIND_PORT,
     FIELD(healthcheck_port),
     .default_value = "51515",
     .help = "port of the gRPC health service; -1: off; 0: any free port, which the log names"},
    {.flag = "--healthcheck-bind-address",
     .variable = "HEALTHCHECK_BIND_ADDRESS",
     .kind = KIND_ADDRESS,
     FIELD(healthcheck_address),
     .default_text = "all addresses",
     .help = "IP address of this node on which the gRPC health service listens"},
    {.flag = "--metrics-port",
     .readers = BY_PAGES,
     .variable = "METRICS_PORT",
     .kind = KIND_PORT,
     FIELD(metrics_port),
     .default_value = "51516",
     .help =
         "port of HTTP pages such as /metrics and /readyz; -1: off; 0: any free port, which the "
         "log names"},
    {.flag = "--metrics-bind-address",
     .readers = BY_PAGES,
     .variable = "METRICS_BIND_ADDRESS",
     .kind = KIND_ADDRESS,
     FIELD(metrics_address),
     .default_text = "all addresses",
     .help = "IP address of this node on which the HTTP pages are served"},
    {.flag = "--sysfs-root",
     .readers = BY_NODE | READ_BY(COMMAND_CLAIMS),
     .variable = "SYSFS_ROOT",
     .kind = KIND_FOLDER,
     FIELD(sysfs_root),
     .default_value = "/sys",
     .help = "where the devices, the Neuron driver and the instance type (DMI) are found"},
    {.flag = "--proc-root",
     .variable = "PROC_ROOT",
     .kind = KIND_FOLDER,
     FIELD(proc_root),
     .default_value = "/proc",
     .help = "where the boot ID (sys/kernel/random/boot_id) is found"},
    {.flag = "--dev-root",
     .readers = BY_NODE | READ_BY(COMMAND_CLAIMS),
     .variable = "DEV_ROOT",
     .kind = KIND_FOLDER,
     FIELD(dev_root),
     .default_value = "/dev",
     .help = "directory of the device nodes on the host; containers always see /dev/neuronN"},
    {.flag = "--neuron-config-directory-path",
     .readers = BY_NODE | READ_BY(COMMAND_CLAIMS),
     .variable = "NEURON_CONFIG_DIRECTORY_PATH",
     .kind = KIND_FOLDER,
     FIELD(neuron_dir),
     .default_value = "/opt/aws/neuron",
     .help = "directory of the host's logical_nc_config, the LNC of claims that ask for none"},
    {.flag = "--instance-type",
     .readers = BY_NODE | READ_BY(COMMAND_CLAIMS),
     .variable = "INSTANCE_TYPE",
     .kind = KIND_TEXT,
     FIELD(instance_type),
     .default_text = "what DMI reports",
     .help = "instance type of this node, such as trn2.48xlarge, in place of what DMI reports"},
    {.flag = "--device-numbering",
     .variable = "DEVICE_NUMBERING",
     .kind = KIND_CHOICE,
     FIELD(zero_numbering),
     .default_value = "host",
     .choices = {"host", "zero"},
     .help = "numbers of the devices in a container: those of the host, or counted from zero"},
    {.flag = "--ultraserver-devices",
     .readers = READ_BY(COMMAND_SLICES),
     .variable = "ULTRASERVER_DEVICES",
     .kind = KIND_CHOICE,
     FIELD(ultraserver),
     .default_value = "auto",
     .choices = {[ULTRASERVER_AUTO] = "auto",
                 [ULTRASERVER_NODE] = "node",
                 [ULTRASERVER_BOTH] = "both",
                 [ULTRASERVER_DEVICES] = "devices"},
     .help =
         "what a node of an UltraServer publishes; node: all of it as one device; devices: each "
         "device; both: these two, with shared counters; auto: both from Kubernetes 1.36 on, else "
         "node"},
    {.flag = "--unhealthy-taint",
     .readers = READ_BY(COMMAND_SLICES),
     .variable = "UNHEALTHY_TAINT",
     .kind = KIND_TAINT,
     FIELD(taint[TAINT_UNHEALTHY]),
     .default_value = DRIVER_NAME "/unhealthy:NoSchedule",
     .help = "taint of an unhealthy device; empty: the agent does not publish such a device"},
    {.flag = "--memory-held-taint",
     .variable = "MEMORY_HELD_TAINT",
     .kind = KIND_TAINT,
     FIELD(taint[TAINT_MEMORY_HELD]),
     .default_text = "none",
     .help = "taint of a device whose memory stays in use though no claim holds the device, such "
             "as " DRIVER_NAME "/memory-held:NoSchedule; empty: no taint"},
    {.flag = "--share-cores",
     .readers = READ_BY(COMMAND_SLICES),
     .variable = "SHARE_CORES",
     .kind = KIND_BOOL,
     FIELD(share_cores),
     .default_value = "false",
     .help = "claims can share a Neuron device, if each asks for less than all of its capacity "
             "\"cores\""},
    {.flag = "--efa",
     .readers = BY_DRIVERS,
     .variable = "EFA",
     .kind = KIND_BOOL,
     FIELD(efa),
     .default_value = "false",
     .help =
         "also serve the EFA devices of the node, as a second driver; commands then show them too"},
    {.flag = "--efa-driver-name",
     .readers = BY_DRIVERS,
     .variable = "EFA_DRIVER_NAME",
     .kind = KIND_DRIVER,
     FIELD(efa_driver),
     .default_value = EFA_DRIVER_NAME,
     .help = "name of the driver of the EFA devices; AWS's EFA driver (dranet) uses the default"},
    {.flag = "--efa-share",
     .readers = READ_BY(COMMAND_SLICES),
     .variable = "EFA_SHARE",
     .kind = KIND_SHARES,
     FIELD(efa_share),
     .default_value = "1",
     .help =
         "how many claims can share an EFA device, if each asks for less than all of its capacity "
         "\"shares\"; 1: no sharing"},
    {.flag = "--efa-node-resources",
     .readers = READ_BY(COMMAND_SLICES),
     .variable = "EFA_NODE_RESOURCES",
     .kind = KIND_RESOURCES,
     FIELD(efa_node_resources),
     .default_text = "none",
     .help = "what a pod needs of its node for each EFA device of its claims, such as "
             "hugepages-2Mi=320Mi,memory=64Mi; needs the feature gate DRANodeAllocatableResources"},
    {.flag = "--claim-status",
     .variable = "CLAIM_STATUS",
     .kind = KIND_BOOL,
     FIELD(claim_status),
     .default_value = "false",
     .help = "write the prepared devices into the claim's status.devices"},
    {.flag = "--device-metadata",
     .variable = "DEVICE_METADATA",
     .kind = KIND_BOOL,
     FIELD(device_metadata),
     .default_value = "false",
     .help = "mount a file into each container that lists its devices with their attributes"},
    {.flag = "--device-metrics",
     .variable = "DEVICE_METRICS",
     .kind = KIND_BOOL,
     FIELD(device_metrics),
     .default_value = "false",
     .help = "also serve errors, memory and power of each device as metrics; in each "
             "--health-interval the agent reads those of one device"},
    {.flag = "--neuron-monitor-metrics",
     .variable = "NEURON_MONITOR_METRICS",
     .kind = KIND_BOOL,
     FIELD(neuron_monitor_metrics),
     .default_value = "false",
     .help = "also serve the device memory of each core under the names of neuron-monitor, "
             "neuroncore_memory_usage_*; leave it off where neuron-monitor is scraped"},
    {.flag = "--check-device-memory",
     .variable = "CHECK_DEVICE_MEMORY",
     .kind = KIND_BOOL,
     FIELD(check_device_memory),
     .default_value = "true",
     .help = "prepare no new claim while a process still has memory of one of the claim's devices, "
             "and report devices whose memory stays in use"},
    {.flag = "--require-consecutive",
     .variable = "REQUIRE_CONSECUTIVE",
     .kind = KIND_BOOL,
     FIELD(require_consecutive),
     .default_value = "false",
     .help = "prepare no new claim whose Neuron devices are not consecutive on the host"},
    {.flag = "--sandbox",
     .variable = "SANDBOX",
     .kind = KIND_BOOL,
     FIELD(sandbox),
     .default_value = "true",
     .help = "restrict the agent to its paths and system calls, by landlock and seccomp"},
    {.flag = "--reconcile-interval",
     .variable = "RECONCILE_INTERVAL",
     .kind = KIND_DURATION,
     FIELD(reconcile_ms),
     .default_value = "10m",
     .least_ms = RECONCILE_INTERVAL_MIN_MS,
     .help = "how often the agent compares claims, CDI files and slices with the API server's"},
    {.flag = "--health-interval",
     .variable = "HEALTH_INTERVAL",
     .kind = KIND_DURATION,
     FIELD(health_ms),
     .default_value = "5s",
     .least_ms = HEALTH_INTERVAL_MIN_MS,
     .help = "how often the agent looks for devices and reads their health"},
    {.flag = "--log-format",
     .variable = "LOG_FORMAT",
     .kind = KIND_CHOICE,
     FIELD(log_format),
     .default_value = "text",
     .choices = {[LOG_TEXT] = "text", [LOG_JSON] = "json"},
     .help = "format of the log on stderr"},
    {.flag = "--log-level",
     .variable = "LOG_LEVEL",
     .kind = KIND_CHOICE,
     FIELD(log_level),
     .default_value = "info",
     .choices =
         {[LOG_ERROR] = "error", [LOG_WARN] = "warn", [LOG_INFO] = "info", [LOG_DEBUG] = "debug"},
     .help =
         "least severe events that are logged; also -v N, as klog has it: debug from 4 on, else "
         "info"},
    {.flag = "--output",
     .readers = BY_OUTPUT,
     .kind = KIND_CHOICE,
     FIELD(output),
     .default_value = "text",
     .choices = {[OUTPUT_TEXT] = "text", [OUTPUT_JSON] = "json", [OUTPUT_YAML] = "yaml"},
     .help = "output format of devices, slices, claims, reservations and check; also -o"},
    {.flag = "--board",
     .readers = BY_DEVICES,
     .kind = KIND_TEXT,
     FIELD(board),
     .default_text = "this node",
     .help = "instance type; devices and slices print what a node of that type has"},
    {.flag = "--no-headers",
     .readers = READ_BY(COMMAND_DEVICES) | READ_BY(COMMAND_CLAIMS),
     .kind = KIND_BOOL,
     FIELD(no_headers),
     .default_value = "false",
     .help =
         "devices prints only the rows of devices; claims prints nothing if there are no claims"},
    {.flag = "--watch",
     .readers = READ_BY(COMMAND_DEVICES) | READ_BY(COMMAND_CLAIMS),
     .kind = KIND_BOOL,
     FIELD(watch),
     .default_value = "false",
     .help = "devices and claims print again after each change, until ^C; also -w"},
    {.flag = "--pod",
     .readers = READ_BY(COMMAND_CLAIMS),
     .kind = KIND_POD,
     FIELD(pod),
     .default_text = "all pods",
     .help =
         "claims prints only the claims of this pod, and their devices as the node has them now"}};
_Static_assert(sizeof setting_rows / sizeof setting_rows[0] == SETTINGS_COUNT,
               "SETTINGS_COUNT in settings_internal.h is the number of rows");

const struct setting_row *setting_row(unsigned index)
{
    ASSERT(index < SETTINGS_COUNT);
    return &setting_rows[index];
}

#define SELF "  " AGENT_NAME " "

/* The shells for which the command `completion` prints a script. */
enum { SHELL_BASH, SHELL_ZSH, SHELL_FISH, SHELLS };
_Static_assert(SHELLS <= COMMAND_OPERANDS_MAX, "each is an operand");

const struct command_row command_rows[COMMANDS] = {
    [COMMAND_RUN] = {.name = "run",
                     .help = "serve the kubelet and publish the devices (default)",
                     .more = "Runs until SIGTERM or SIGINT. Outside a pod, the API server is\n"
                             "that of --kubeconfig. Each option has a variable; the exit code\n"
                             "is 1 when the agent cannot run, and 2 for a wrong option.",
                     .example = SELF "--node-name \"$(hostname)\" --kubeconfig agent.conf\n" SELF
                                     "run --log-format json\n"},
    [COMMAND_DEVICES] = {.name = "devices",
                         .help = "print the devices, their health and the claims that hold them",
                         .more = "A device is gone when the instance type has it, or a claim\n"
                                 "holds it, but the kernel does not show it.",
                         .example =
                             SELF "devices\n" SELF "devices --board trn2.48xlarge -o yaml\n"},
    [COMMAND_SLICES] = {.name = "slices",
                        .help = "print the ResourceSlices that the agent of this node publishes",
                        .more = "Asks the running agent, which also says what it leaves out and\n"
                                "what --ultraserver-devices auto chose. Without an agent, prints\n"
                                "what one with these settings would publish here; with --board,\n"
                                "what one on a node of that type would. These two lack the\n"
                                "attributes from labels of the Node.",
                        .example = SELF "slices -o json\n" SELF "slices --board trn2.48xlarge\n"},
    [COMMAND_CLAIMS] = {.name = "claims",
                        .help = "print the prepared claims",
                        .more = "Prints each claim in the claim store of this node with its\n"
                                "devices, its configuration and the state of its CDI file.",
                        .example = SELF "claims\n" SELF "claims --pod default/llama-0\n" SELF
                                        "claims -o json\n"},
    [COMMAND_RESERVATIONS] = {.name = "reservations",
                              .help = "print the claims of the cluster that pods hold or wait for",
                              .more =
                                  "Asks the API server. The exit code is 0 when no claim is\n"
                                  "reserved and the driver may be uninstalled, 1 when some are,\n"
                                  "and 2 when the claims cannot be read.",
                              .example = SELF "reservations\n" SELF
                                              "reservations --kubeconfig admin.conf -o json\n"},
    [COMMAND_RELEASE] = {.name = "release",
                         .directory = "CLAIM-UID",
                         .help = "release a held claim that the kubelet does not unprepare",
                         .more = "Has the agent of this node unprepare the claim, as the kubelet\n"
                                 "does. Run it only when no container uses the claim's devices:\n"
                                 "look for its processes first (neuron-ls, or the claim's pod in\n"
                                 "crictl ps). Then other claims can get the devices.",
                         .example = SELF "release 5b2f0c1e-7d3a-4e8f-9a60-0d3c2b1a4f5e\n"},
    [COMMAND_CHECK] = {.name = "check",
                       .help = "print whether the node is ready, each reason why not, and warnings",
                       .more = "The reasons are those of the agent's /readyz. Other faults in\n"
                               "the node's directories or on /statusz are warnings. The exit\n"
                               "code is 0 when the node is ready, even with warnings, else 1.",
                       .example = SELF "check\n" SELF "check -o json\n"},
    [COMMAND_PROBE] = {.name = "probe",
                       .operand = {"liveness", "readiness"},
                       .help = "exit with 0 while the agent is alive, or ready",
                       .example = SELF "probe readiness\n"},
    [COMMAND_BUNDLE] = {.name = "bundle",
                        .directory = "DIRECTORY|-",
                        .help =
                            "write what a problem report needs into a directory or a tar archive",
                        .more = "The bundle has slices, claims, CDI files, claim store, versions,\n"
                                "the value of each option, what sysfs shows of the devices, the\n"
                                "agent's pages and last log lines; it has no token and no\n"
                                "kubeconfig. A missing directory is made,\n"
                                "an existing one must be empty; with - a tar archive goes to\n"
                                "standard output. The exit code is 0 when every file was\n"
                                "written, else 1.",
                        .example = SELF "bundle /tmp/neuron\n  kubectl exec POD -- " AGENT_NAME
                                        " bundle - > node.tar\n"},
    [COMMAND_COMPLETION] =
        {.name = "completion",
         .operand = {[SHELL_BASH] = "bash", [SHELL_ZSH] = "zsh", [SHELL_FISH] = "fish"},
         .help = "print the completion script for a shell",
         .example = "  source <(" AGENT_NAME " completion bash)\n  " AGENT_NAME
                    " completion fish | source\n"},
    [COMMAND_VERSION] = {.name = "version",
                         .help = "print version and build (also --version)",
                         .example = SELF "version\n"},
    [COMMAND_HELP] = {
        .name = "help",
        .help = "print this text (also --help); help COMMAND prints the help of a command"}};

#define SETTING_KINDS ((unsigned)KIND_RESOURCES + 1u)

static const char *value_word(const struct setting_row *row)
{
    static const char words[SETTING_KINDS][18] = {[KIND_NODE_NAME] = "NAME",
                                                  [KIND_FOLDER] = "DIRECTORY",
                                                  [KIND_FILE] = "FILE",
                                                  [KIND_KUBECONFIG] = "FILE",
                                                  [KIND_TEXT] = "TEXT",
                                                  [KIND_UID] = "UID",
                                                  [KIND_PORT] = "PORT",
                                                  [KIND_BOOL] = "[true|false]",
                                                  [KIND_DURATION] = "DURATION",
                                                  [KIND_TAINT] = "KEY:EFFECT",
                                                  [KIND_ADDRESS] = "ADDRESS",
                                                  [KIND_DRIVER] = "NAME",
                                                  [KIND_SHARES] = "N",
                                                  [KIND_POD] = "NAMESPACE/NAME",
                                                  [KIND_RESOURCES] = "NAME=QUANTITY,..."};
    ASSERT((unsigned)row->kind < sizeof words / sizeof words[0] && words[row->kind][0] != '\0');
    return words[row->kind];
}

static void help_value(struct writer *out, const struct setting_row *row)
{
    if (row->kind != KIND_CHOICE) {
        writer_text(out, value_word(row));
        return;
    }
    for (unsigned i = 0; i < SETTING_CHOICES_MAX && row->choices[i] != NULL; i++) {
        WRITE(out, "%%", TEXT((i == 0u) ? "" : "|"), TEXT(row->choices[i]));
    }
}

#define HELP_COLUMNS 80u
#define HELP_INDENT "      "

/*
 * Appends the words of a text in lines of at most HELP_COLUMNS columns. The first line already has
 * `column` columns; a word that is longer than a line gets its own line. Returns the column after
 * the last word.
 */
static size_t help_words(struct writer *out, size_t column, const char *text)
{
    struct view rest = view_text(text);
    size_t at = column;
    while (rest.len > 0u) {
        size_t n = view_find(rest, ' ');
        bool fits = at + 1u + n <= HELP_COLUMNS;
        if (at > sizeof HELP_INDENT - 1u) {
            writer_text(out, fits ? " " : "\n" HELP_INDENT);
            at = fits ? at + 1u : sizeof HELP_INDENT - 1u;
        }
        writer_append(out, view_first(rest, n));
        at += n;
        rest = view_from(rest, (n < rest.len) ? n + 1u : n);
    }
    return at;
}

static void help_row(struct writer *out, const struct setting_row *row)
{
    ASSERT(row->default_text != NULL || row->default_value != NULL);
    WRITE(out, "  % ", TEXT(row->flag));
    help_value(out, row);
    writer_text(out, "\n" HELP_INDENT);
    (void)help_words(out, sizeof HELP_INDENT - 1u, row->help);
    writer_text(out, "\n" HELP_INDENT);
    size_t column = sizeof HELP_INDENT - 1u;
    if (row->variable != NULL) {
        column = help_words(out, column, "variable");
        column = help_words(out, column, row->variable);
        writer_text(out, ",");
        column++;
    }
    column = help_words(out, column, "default:");
    const char *text = (row->default_text != NULL) ? row->default_text : row->default_value;
    (void)help_words(out, column, text);
    writer_text(out, "\n");
}

static void write_command(struct writer *out, const struct command_row *row)
{
    writer_text(out, row->name);
    for (unsigned i = 0; i < COMMAND_OPERANDS_MAX && row->operand[i] != NULL; i++) {
        WRITE(out, "%%", TEXT((i == 0u) ? " " : "|"), TEXT(row->operand[i]));
    }
    if (row->directory != NULL) {
        WRITE(out, " %", TEXT(row->directory));
    }
}

static void help_command(struct writer *out, const struct command_row *row)
{
    writer_text(out, "  ");
    write_command(out, row);
    WRITE(out, "\n      %\n", TEXT(row->help));
}

static void help_head(struct writer *out)
{
    writer_text(out, AGENT_NAME
                " " AGENT_VERSION ": Kubernetes DRA driver\n" DRIVER_NAME
                " for AWS Neuron devices\n\n"
                "Usage: " AGENT_NAME " [COMMAND] [FLAG VALUE | FLAG=VALUE]...\n\n"
                "Commands (all but run may run beside an agent; only release changes its claims;\n"
                " see COMMAND --help):\n");
    for (unsigned i = 0; i < (unsigned)COMMANDS; i++) {
        help_command(out, &command_rows[i]);
    }
    writer_text(out,
                "\nFlags (a flag wins over its variable; of a repeated flag the last one counts;\n"
                " an empty variable counts as not set, except UNHEALTHY_TAINT;\n"
                " durations as in 1h30m, 10m, 1.5s, 500ms):\n");
}

static void help_tail(struct writer *out)
{
    writer_text(out, "\nExit codes: 0 stopped when asked to, 1 cannot run, 2 bad usage;\n"
                     "of probe and check: 0 alive or ready, 1 not; of bundle: 0 complete, 1 not;\n"
                     "of reservations: 0 no claim, 1 some claims, 2 not known.\n");
}

static void topic_head(struct writer *out, const struct command_row *row)
{
    WRITE(out, AGENT_NAME " %: %.\n", TEXT(row->name), TEXT(row->help));
    if (row->more != NULL) {
        WRITE(out, "\n%\n", TEXT(row->more));
    }
    WRITE(out, "\nExamples:\n%\nOptions (other flags of " AGENT_NAME " --help have no effect):\n",
          TEXT(row->example));
}

static void topic_tail(struct writer *out, const struct command_row *row)
{
    writer_text(out, "\nUsage:\n" SELF);
    write_command(out, row);
    writer_text(out, " [OPTION]...\n");
}

/*
 * Whether the command reads the setting. The command `run` reads each setting that has an
 * environment variable.
 */
static bool is_read_by(const struct setting_row *row, enum settings_command command)
{
    bool listed = (row->readers >> (unsigned)command & 1u) != 0u;
    return (command == COMMAND_RUN) ? row->variable != NULL : listed;
}

bool settings_help(struct writer *out, enum settings_command topic, unsigned part)
{
    ASSERT(out != NULL);
    const struct command_row *command = &command_rows[topic];
    /*
     * true: write the help of this command; false: the command has no help of its own, so write the
     * program's help
     */
    bool one = command->example != NULL;
    if (part > SETTINGS_COUNT + 1u) {
        return false;
    }
    if (part == 0u && one) {
        topic_head(out, command);
    } else if (part == 0u) {
        help_head(out);
    } else if (part <= SETTINGS_COUNT) {
        const struct setting_row *row = setting_row(part - 1u);
        if (!one || is_read_by(row, topic)) {
            help_row(out, row);
        }
    } else if (one) {
        topic_tail(out, command);
    } else {
        help_tail(out);
    }
    return true;
}

/* --- completion scripts for shells --- */

/*
 * The texts in which the completion scripts of the shells differ. Each script has one branch of a
 * `case` or `switch` statement for each word that may stand before the cursor.
 */
static const struct shell {
    const char *begin; /* start of the completion script, before its first branch */
    const char *before;
    /*
     * `before` and `after` surround the word of a branch; then come the words that may follow that
     * word
     */
    const char *after;
    const char *end; /* text at the end of a branch */
    /* text of a branch that offers file names, because no known words may follow */
    const char *files;
    const char *others;
    const char *tail; /* end of the completion script, after its last branch */
} shells[SHELLS] = {
    [SHELL_BASH] = {.begin = "_neuron_dra_agent() {\n"
                             "    local list\n"
                             "    case \"${COMP_WORDS[COMP_CWORD-1]/#-o/--output}\" in\n",
                    .before = "    ",
                    .after = ") list=\"",
                    .end = "\" ;;\n",
                    .files = "",
                    .others = "*",
                    .tail = "    esac\n"
                            "    COMPREPLY=($(compgen -W \"$list\" -- "
                            "\"${COMP_WORDS[COMP_CWORD]}\"))\n"
                            "}\n"
                            "complete -o default -F _neuron_dra_agent " AGENT_NAME "\n"},
    [SHELL_ZSH] = {.begin = "#compdef " AGENT_NAME "\n"
                            "_neuron_dra_agent() {\n"
                            "    local list\n"
                            "    case \"${words[CURRENT-1]/#-o/--output}\" in\n",
                   .before = "    ",
                   .after = ") list=\"",
                   .end = "\" ;;\n",
                   .files = "",
                   .others = "*",
                   .tail = "    esac\n"
                           "    if [[ -n $list ]]; then compadd -- ${=list}; else _files; fi\n"
                           "}\n"
                           "compdef _neuron_dra_agent " AGENT_NAME "\n"},
    [SHELL_FISH] = {.begin = "function __neuron_dra_agent\n"
                             "    set -l list\n"
                             "    switch (string replace -r '^-o' -- --output "
                             "(commandline -opc)[-1])\n",
                    .before = "    case '",
                    .after = "'\n        set list ",
                    .end = "\n",
                    .files = "(__fish_complete_path (commandline -ct))",
                    .others = "*",
                    .tail = "    end\n"
                            "    string join \\n -- $list\n"
                            "end\n"
                            "complete -c " AGENT_NAME " -f -a '(__neuron_dra_agent)'\n"}};

/*
 * Writes the completion script's branch for `word`, which offers the words that may follow `word`
 * or, if there are none, file names.
 */
static void complete_after(struct writer *out, const struct shell *shell, const char *word,
                           const char *const *follow, unsigned most)
{
    WRITE(out, "%%%", TEXT(shell->before), TEXT(word), TEXT(shell->after));
    for (unsigned i = 0; i < most && follow[i] != NULL; i++) {
        WRITE(out, "%%", TEXT((i == 0u) ? "" : " "), TEXT(follow[i]));
    }
    writer_text(out, (follow[0] == NULL) ? shell->files : "");
    writer_text(out, shell->end);
}

/*
 * Writes the completion script's branch for a flag whose value is an instance type: the branch
 * offers the instance types that the agent supports.
 */
static void complete_board(struct writer *out, const struct shell *shell, const char *flag)
{
    unsigned index = 0;
    const struct board *row = board_at(index);
    WRITE(out, "%%%", TEXT(shell->before), TEXT(flag), TEXT(shell->after));
    while (row != NULL) {
        WRITE(out, "%%", TEXT((index == 0u) ? "" : " "), TEXT(row->instance_type));
        index++;
        row = board_at(index);
    }
    writer_text(out, shell->end);
}

static void complete_value(struct writer *out, const struct shell *shell,
                           const struct setting_row *row)
{
    static const char *const truth[] = {"true", "false"};
    if (row->kind == KIND_BOOL) {
        complete_after(out, shell, row->flag, truth, sizeof truth / sizeof truth[0]);
    } else if (row->kind == KIND_CHOICE || row->kind == KIND_FOLDER || row->kind == KIND_FILE ||
               row->kind == KIND_KUBECONFIG) {
        complete_after(out, shell, row->flag, row->choices, SETTING_CHOICES_MAX);
    } else if (row->offset == offsetof(struct settings, board)) {
        complete_board(out, shell, row->flag);
    } else {
        /* the value is free text, so the script offers no completion for it */
    }
}

static const struct shell *shell_named(const char *name)
{
    const struct command_row *row = &command_rows[COMMAND_COMPLETION];
    unsigned at = 0;
    while (at + 1u < (unsigned)SHELLS && !text_is(name, row->operand[at])) {
        at++;
    }
    return &shells[at];
}

void settings_completion(const char *name, struct writer *out)
{
    const struct shell *shell = shell_named(name);
    ASSERT(out != NULL);
    writer_text(out, shell->begin);
    for (unsigned i = 0; i < (unsigned)COMMANDS; i++) {
        if (command_rows[i].operand[0] != NULL || command_rows[i].directory != NULL) {
            complete_after(out, shell, command_rows[i].name, command_rows[i].operand,
                           COMMAND_OPERANDS_MAX);
        }
    }
    for (unsigned i = 0; i < SETTINGS_COUNT; i++) {
        complete_value(out, shell, setting_row(i));
    }
    WRITE(out, "%%%", TEXT(shell->before), TEXT(shell->others), TEXT(shell->after));
    for (unsigned i = 0; i < (unsigned)COMMANDS; i++) {
        WRITE(out, "% ", TEXT(command_rows[i].name));
    }
    for (unsigned i = 0; i < SETTINGS_COUNT; i++) {
        WRITE(out, "% ", TEXT(setting_row(i)->flag));
    }
    WRITE(out, "-o -w%%", TEXT(shell->end), TEXT(shell->tail));
}
