/* SPDX-License-Identifier: Apache-2.0 */
/* The table of flags, one row each, and the help text that is made of it. Holds no parser. */
#include "agent/settings_internal.h"
#include "base/assert.h"
#include "cfg/identity.h"

#define FIELD(member)                                                                              \
    .offset = offsetof(struct settings, member), .size = sizeof(((struct settings *)0)->member)

const struct setting_row setting_rows[SETTINGS_COUNT] = {
    {.flag = "--node-name",
     .variable = "NODE_NAME",
     .kind = KIND_NODE_NAME,
     FIELD(node_name),
     .otherwise = "required by run",
     .help = "Kubernetes name of this node; also the name of its pool"},
    {.flag = "--kubeconfig",
     .variable = "KUBECONFIG",
     .kind = KIND_FILE,
     FIELD(kubeconfig),
     .otherwise = "in-cluster service account",
     .help = "one kubeconfig file, YAML or JSON, of which the current context is used"},
    {.flag = "--cdi-root",
     .variable = "CDI_ROOT",
     .kind = KIND_FOLDER,
     FIELD(cdi_root),
     .standard = "/var/run/cdi",
     .help = "directory of the CDI files, one for each claim"},
    {.flag = "--kubelet-registrar-directory-path",
     .variable = "KUBELET_REGISTRAR_DIRECTORY_PATH",
     .kind = KIND_FOLDER,
     FIELD(registrar_dir),
     .standard = "/var/lib/kubelet/plugins_registry",
     .help = "the kubelet's directory of registration sockets"},
    {.flag = "--kubelet-plugins-directory-path",
     .variable = "KUBELET_PLUGINS_DIRECTORY_PATH",
     .kind = KIND_FOLDER,
     FIELD(plugins_dir),
     .standard = "/var/lib/kubelet/plugins",
     .help = DRIVER_NAME "/ below it holds the service socket and " STORE_FILE_NAME},
    {.flag = "--pod-uid",
     .variable = "POD_UID",
     .kind = KIND_UID,
     FIELD(pod_uid),
     .otherwise = "none",
     .help = "UID of the agent's pod, put into socket names for rolling updates"},
    {.flag = "--kubelet-device-plugins-directory-path",
     .variable = "KUBELET_DEVICE_PLUGINS_DIRECTORY_PATH",
     .kind = KIND_FOLDER,
     FIELD(device_plugins_dir),
     .otherwise = "device-plugins beside the plugins directory",
     .help = "read only: a neuron socket there means that the device plugin runs on this node"},
    {.flag = "--healthcheck-port",
     .variable = "HEALTHCHECK_PORT",
     .kind = KIND_PORT,
     FIELD(healthcheck_port),
     .standard = "51515",
     .help = "gRPC health service on all addresses; -1: off, 0: any free port, which is logged"},
    {.flag = "--metrics-port",
     .variable = "METRICS_PORT",
     .kind = KIND_PORT,
     FIELD(metrics_port),
     .standard = "51516",
     .help = "HTTP /metrics, /healthz and /readyz; -1: off, 0: any free port, which is logged"},
    {.flag = "--sysfs-root",
     .variable = "SYSFS_ROOT",
     .kind = KIND_FOLDER,
     FIELD(sysfs_root),
     .standard = "/sys",
     .help = "where class/neuron_device, module/neuron and the DMI product name are read"},
    {.flag = "--proc-root",
     .variable = "PROC_ROOT",
     .kind = KIND_FOLDER,
     FIELD(proc_root),
     .standard = "/proc",
     .help = "where sys/kernel/random/boot_id is read"},
    {.flag = "--dev-root",
     .variable = "DEV_ROOT",
     .kind = KIND_FOLDER,
     FIELD(dev_root),
     .standard = "/dev",
     .help = "where device nodes lie on the host; containers always see /dev/neuronN"},
    {.flag = "--instance-type",
     .variable = "INSTANCE_TYPE",
     .kind = KIND_TEXT,
     FIELD(instance_type),
     .otherwise = "DMI product name",
     .help = "instance type of this node, such as trn2.48xlarge"},
    {.flag = "--device-numbering",
     .variable = "DEVICE_NUMBERING",
     .kind = KIND_CHOICE,
     FIELD(zero_numbering),
     .standard = "host",
     .choices = {"host", "zero"},
     .help = "host: the device's own number in the container; zero: from 0, ascending"},
    {.flag = "--ultraserver-devices",
     .variable = "ULTRASERVER_DEVICES",
     .kind = KIND_CHOICE,
     FIELD(ultraserver),
     .standard = "auto",
     .choices = {[ULTRASERVER_AUTO] = "auto",
                 [ULTRASERVER_NODE] = "node",
                 [ULTRASERVER_BOTH] = "both",
                 [ULTRASERVER_DEVICES] = "devices"},
     .help = "what an UltraServer node publishes: whole node, single devices, or both"},
    {.flag = "--unhealthy-taint",
     .variable = "UNHEALTHY_TAINT",
     .kind = KIND_TAINT,
     FIELD(taint_key),
     .standard = DRIVER_NAME "/unhealthy:NoSchedule",
     .help = "key:effect of an unhealthy device's taint; empty: the device is left out instead"},
    {.flag = "--claim-status",
     .variable = "CLAIM_STATUS",
     .kind = KIND_BOOL,
     FIELD(claim_status),
     .standard = "false",
     .help = "write status.devices of prepared claims"},
    {.flag = "--reconcile-interval",
     .variable = "RECONCILE_INTERVAL",
     .kind = KIND_DURATION,
     FIELD(reconcile_ms),
     .standard = "10m",
     .least_ms = RECONCILE_INTERVAL_MIN_MS,
     .help = "how often the stored slices are compared with the wanted ones"},
    {.flag = "--health-interval",
     .variable = "HEALTH_INTERVAL",
     .kind = KIND_DURATION,
     FIELD(health_ms),
     .standard = "5s",
     .least_ms = HEALTH_INTERVAL_MIN_MS,
     .help = "how often the devices' health is read"},
    {.flag = "--log-format",
     .variable = "LOG_FORMAT",
     .kind = KIND_CHOICE,
     FIELD(log_format),
     .standard = "text",
     .choices = {[LOG_TEXT] = "text", [LOG_JSON] = "json"},
     .help = "form of the log on stderr, one event a line"},
    {.flag = "--log-level",
     .variable = "LOG_LEVEL",
     .kind = KIND_CHOICE,
     FIELD(log_level),
     .standard = "info",
     .choices =
         {[LOG_ERROR] = "error", [LOG_WARN] = "warn", [LOG_INFO] = "info", [LOG_DEBUG] = "debug"},
     .help = "least important event that is logged"}};

#define SETTING_KINDS ((unsigned)KIND_TAINT + 1u)

static const char *value_word(const struct setting_row *row)
{
    static const char *const words[SETTING_KINDS] = {
        [KIND_NODE_NAME] = "NAME",  [KIND_FOLDER] = "DIRECTORY",  [KIND_FILE] = "FILE",
        [KIND_TEXT] = "TEXT",       [KIND_UID] = "UID",           [KIND_PORT] = "PORT",
        [KIND_BOOL] = "true|false", [KIND_DURATION] = "DURATION", [KIND_TAINT] = "KEY:EFFECT"};
    ASSERT((unsigned)row->kind < sizeof words / sizeof words[0] && words[row->kind] != NULL);
    return words[row->kind];
}

static void help_value(struct writer *out, const struct setting_row *row)
{
    if (row->kind != KIND_CHOICE) {
        writer_text(out, value_word(row));
        return;
    }
    for (unsigned i = 0; i < SETTING_CHOICES_MAX && row->choices[i] != NULL; i++) {
        writer_text(out, (i == 0u) ? "" : "|");
        writer_text(out, row->choices[i]);
    }
}

static void help_row(struct writer *out, const struct setting_row *row)
{
    ASSERT(row->otherwise != NULL || row->standard != NULL);
    writer_text(out, "  ");
    writer_text(out, row->flag);
    writer_text(out, " ");
    help_value(out, row);
    writer_text(out, "\n      ");
    writer_text(out, row->help);
    writer_text(out, "\n      variable ");
    writer_text(out, row->variable);
    writer_text(out, ", default: ");
    writer_text(out, (row->otherwise != NULL) ? row->otherwise : row->standard);
    writer_text(out, "\n");
}

bool settings_help(struct writer *out, unsigned part)
{
    ASSERT(out != NULL);
    if (part == 0u) {
        writer_text(out, AGENT_NAME
                    " " AGENT_VERSION ": Kubernetes DRA driver " DRIVER_NAME
                    " for AWS Neuron devices\n\n"
                    "Usage: " AGENT_NAME " [run] [FLAG VALUE | FLAG=VALUE]...\n\n"
                    "Commands:\n"
                    "  run       serve the kubelet and publish the devices (default)\n"
                    "  version   print version and build (also --version)\n"
                    "  help      print this text (also --help)\n\n"
                    "Flags (a flag wins over its variable; of a flag given twice the last "
                    "one\n"
                    "counts; an empty variable counts as not set, but for UNHEALTHY_TAINT;\n"
                    "durations as in 1h30m, 10m, 1.5s, 500ms):\n");
    } else if (part <= SETTINGS_COUNT) {
        help_row(out, &setting_rows[part - 1u]);
    } else if (part == SETTINGS_COUNT + 1u) {
        writer_text(out, "\nExit codes: 0 stopped when asked to, 1 cannot run, 2 bad usage.\n");
    }
    return part <= SETTINGS_COUNT + 1u;
}
