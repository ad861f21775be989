/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of one run: flags and environment variables, parsed and checked. Owns names, defaults
 * and bounds of every setting (the contract with charts and scripts); opens no file.
 *
 * Invariants:
 * I1 An error is one line without control characters.
 * I2 An error names the flag, the environment variable or the word at fault.
 * I3 If parsed settings are written out as flags, parsing these flags yields the same settings.
 * I4 Durations are those of Go's time.ParseDuration without a sign, down to milliseconds.
 * I5 Sockets have absolute paths that unix(7) can bind.
 */
#ifndef AGENT_SETTINGS_H
#define AGENT_SETTINGS_H

#include "base/bytes.h"
#include "base/log.h"
#include "cfg/limits.h"
#include "dra/device.h"

/* The commands, chosen by the first word of the command line. */
enum settings_command {
    COMMAND_RUN,
    COMMAND_DEVICES,
    COMMAND_SLICES,
    COMMAND_CLAIMS,
    COMMAND_RESERVATIONS,
    COMMAND_RELEASE,
    COMMAND_CHECK,
    COMMAND_PROBE,
    COMMAND_BUNDLE,
    COMMAND_COMPLETION,
    COMMAND_VERSION,
    COMMAND_HELP,
    COMMANDS
};
/* Values of --output: the format in which a command prints. */
enum settings_output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_YAML };
/* Values of --ultraserver-devices: how a node of an UltraServer publishes its devices. */
enum ultraserver_devices {
    ULTRASERVER_AUTO,
    ULTRASERVER_NODE,
    ULTRASERVER_BOTH,
    ULTRASERVER_DEVICES
};

/* Values of --tls-min-version: the lowest version of TLS that the agent accepts. */
enum tls_min { TLS_MIN_1_2, TLS_MIN_1_3 };

/* A driver of the agent: its name, and the sockets for the kubelet. */
struct driver {
    enum driver_kind kind;
    char name[DRIVER_CAP];
    /* number of claims that may share one device at a time; 1: claims do not share devices */
    unsigned shares;
    /* what a pod needs of the node for each device of its claim */
    struct node_resources resources;
    char registration_socket[SOCKET_PATH_CAP]; /* full path of the registration socket */
    /* full path of the service socket, in the directory of the claim store */
    char service_socket[SOCKET_PATH_CAP];
};

/* All settings of a run. Texts end in NUL; an empty text means that the setting is not set. */
struct settings {
    enum settings_command command;
    /* the command that `help` explains; COMMAND_HELP: `help` explains the whole program */
    enum settings_command topic;
    char operand[PATH_CAP]; /* second word of the command line, if the command accepts an operand */
    enum settings_output output;
    char board[64]; /* instance type whose devices are printed; empty: the type of this node */
    /* namespace/name of the pod whose claims are printed; empty: all claims */
    char pod[NAMESPACE_CAP + NAME_CAP];
    bool no_headers;
    bool watch;
    char node_name[NAME_CAP];
    /* path of the kubeconfig; empty: the in-cluster service account is used */
    char kubeconfig[PATH_CAP];
    enum tls_min tls_min;
    char cdi_root[PATH_CAP];
    char registrar_dir[PATH_CAP];
    /*
     * directory with one subdirectory for each driver, in which the driver has its service socket
     * and its claim store
     */
    char plugins_dir[PATH_CAP];
    /* UID of the agent's pod, a part of the names of the sockets; empty: the names have no UID */
    char pod_uid[UID_CAP];
    /* directory on the host that contains the Neuron runtime's settings */
    char neuron_dir[PATH_CAP];
    /*
     * directory of the device plugins' sockets; default: "device-plugins" in the parent of
     * plugins_dir
     */
    char device_plugins_dir[PATH_CAP];
    /* the kubelet's checkpoint; default: "dra_manager_state" in the parent of plugins_dir */
    char kubelet_state[PATH_CAP];
    /* port of the health service; -1: the service is off; 0: any free port */
    int32_t healthcheck_port;
    /* address on which the health service listens; empty: all addresses */
    char healthcheck_address[ADDRESS_TEXT_CAP];
    int32_t metrics_port;
    char metrics_address[ADDRESS_TEXT_CAP];
    char sysfs_root[PATH_CAP];
    char proc_root[PATH_CAP];
    char dev_root[PATH_CAP];
    char instance_type[64]; /* instance type of the node; empty: it is read from DMI */
    bool zero_numbering;
    enum ultraserver_devices ultraserver;
    /*
     * taints of devices in the slices, by reason. Empty TAINT_UNHEALTHY: the slices omit unhealthy
     * devices; empty TAINT_MEMORY_HELD: devices get no taint for this reason. TAINT_DRAIN is no
     * setting: always the key DRAIN_KEY, NoSchedule.
     */
    struct taint taint[TAINTS];
    bool share_cores;
    bool efa;
    char efa_driver[DRIVER_CAP];
    /* number of shares into which each EFA device is divided, 1 to EFA_SHARES_MAX */
    uint32_t efa_share;
    struct node_resources efa_node_resources;
    bool claim_status;
    bool device_metadata;
    bool device_metrics;
    bool neuron_monitor_metrics;
    bool check_device_memory;
    bool require_consecutive;
    bool sandbox;
    uint64_t reconcile_ms;
    uint64_t health_ms;
    enum log_format log_format;
    enum log_level log_level;
    /*
     * The drivers, derived from other settings. The EFA driver is derived even without --efa,
     * unless its socket paths are too long.
     */
    struct driver driver[DRIVERS];
};

/* The command line and the environment from which settings are parsed. */
struct settings_input {
    const char *const *args; /* words of the command line, without the program name */
    unsigned count;
    const char *const *env; /* texts of the form "NAME=value", ended by NULL */
};

/*
 * Parses `args` (without the program name) and `env` ("NAME=value" texts, NULL-terminated); the
 * texts are not kept. A flag takes precedence over its environment variable. Both `--flag value`
 * and `--flag=value` are valid; if a flag is given several times, the last one applies. A switch
 * (true or false) alone means true, and the word after it is its value only if it is true, false, 1
 * or 0. `-o VALUE` and `-oVALUE` mean --output. klog's `-v N`, `-vN` and `--v=N` mean
 * --log-level=debug if N is at least KLOG_DEBUG_VERBOSITY, else --log-level=info. An empty
 * environment variable counts as not set, except that of a taint. The first word without dashes is
 * the command, the second one its operand; COMMAND_VERSION and COMMAND_HELP ignore everything else.
 *
 * PEER_MALFORMED: `why` gets one line with the flag, environment variable or word at fault and the
 * remedy; *out is unusable then.
 */
MUST_USE enum status settings_parse(struct settings *out, const char *const *args, unsigned count,
                                    const char *const *env, struct writer *why);
/*
 * Appends setting `index` (from 0) of a parsed input, as one line: flag, value, and the source of
 * the value (flag, environment variable or default). Returns false if there is no such setting.
 */
bool settings_source(const struct settings_input *in, unsigned index, struct writer *out);
/*
 * Appends part `part` (from 0) of the text of --help, at most 2 KiB. For COMMAND_HELP: an
 * introduction, then each flag with its environment variable, default and meaning, then the exit
 * codes. For another command: its description and examples, then the flags that it reads, then its
 * usage. Returns false if there is no such part.
 */
bool settings_help(struct writer *out, enum settings_command topic, unsigned part);
/*
 * Appends the shell script that completes commands, flags and their values, at most 4 KiB. `name`:
 * the shell, as an operand of the command `completion`.
 */
void settings_completion(const char *name, struct writer *out);

#endif
