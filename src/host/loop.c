/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main loop; see loop.h. poll(2) uses a fixed array with one slot for each descriptor that can
 * exist, so that descriptors need not be registered.
 */
#include "host/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/report/log_catalogue.h"
#include "base/assert.h"
#include "base/time.h"
#include "cfg/identity.h"
#include "host/apiserver/apilink.h"
#include "host/commands/bundle.h"
#include "host/commands/commands.h"
#include "host/node/device_plugin.h"
#include "host/files.h"
#include "host/node/probes.h"
#include "host/loop_time.h"
#include "host/pods_link.h"
#include "host/commands/reservations.h"
#include "host/sandbox.h"
#include "host/server_links.h"
#include "host/servers.h"
#include "host/strangers.h"
#include "host/system.h"
#include "host/usage.h"

enum { SLOT_SIGNAL, SLOT_STDERR, SLOT_API, SLOT_PODS, SLOTS_FIXED };
#define SLOT_SERVER ((unsigned)SLOTS_FIXED)
#define SLOT_READER (SLOT_SERVER + SERVERS * DRIVERS)
#define SLOT_LINK (SLOT_READER + READERS)
#define SLOT_PENDING (SLOT_LINK + SERVER_LINKS * DRIVERS)
#define PORTS 2u /* the TCP ports LINK_GRPC_HEALTH and LINK_METRICS */
#define SLOTS (SLOT_PENDING + PENDING_LINKS * PORTS)

struct host_driver {
    struct agent *agent;
    struct files files;
    struct host_files disk;
    struct server server[SERVERS];
    struct server_links links;
    char state_dir[PATH_CAP];
    /* file name of a device plugin's socket; empty: no plugin was found */
    char device_plugin[SOCKET_PATH_CAP];
};

/* All state of the running agent that is outside struct agent; lives as long as the process. */
struct host {
    const struct settings *settings;
    struct agent *agent; /* the agent of the first driver (Neuron) */
    unsigned drivers;    /* number of running drivers */
    struct host_driver driver[DRIVERS];
    int signal_fd;
    int log_fd;    /* stderr, or the same file opened again */
    bool log_free; /* a write to log_fd never blocks */
    struct loop_time time;
    int plugin_error;  /* errno of the last scan for device plugins; 0: the scan succeeded */
    uint64_t check_ms; /* time of the next check of the server sockets' files */
    struct usage usage;
    bool eager; /* the last turn of the main loop left work to do, so poll(2) must not wait */
    bool exiting;
    struct pollfd slots[SLOTS];
    struct apilink api;
    struct pods_link pods;
    /*
     * Must be the last member, because `probes` ends with the telemetry. Without --device-metrics
     * no code touches the telemetry, so its memory pages at the end of this struct stay unused.
     */
    struct probes probes;
};

/*
 * HOST_BYTES_MAX also covers the memory of TLS, which is outside struct host: the arena, and about
 * as many bytes for other buffers and tables of TLS.
 */
_Static_assert(sizeof(struct host) <= HOST_BYTES_MAX - 2u * TLS_ARENA_BYTES,
               "the host layer keeps to its budget");

/* A process runs either the main loop or one command, so the two can share this memory. */
static union {
    struct host loop;
    struct command_memory command;
    struct reservations_memory reservations;
} the_host;

/* --- writing the agent's log --- */

/*
 * Returns how many bytes of `lines` to pass to one write(2), at most STDERR_WRITE_MAX: whole lines,
 * unless the first line alone is longer.
 */
static size_t log_piece(struct view lines)
{
    size_t n = (lines.len < STDERR_WRITE_MAX) ? lines.len : STDERR_WRITE_MAX;
    for (size_t i = n; i > 0u; i--) {
        if (lines.data[i - 1u] == '\n') {
            return i;
        }
    }
    return n;
}

/*
 * Chooses the descriptor for the log, so that a write does not block:
 * - Plain file: stderr itself, because a write never blocks.
 * - Pipe, as in containers, or terminal: the same file, opened again with O_NONBLOCK. Setting
 *   O_NONBLOCK on stderr would affect other processes, which share its file description. For a
 *   terminal poll(2) is not enough: it may report a terminal as writable although the terminal
 *   accepts less than a line, and then the write blocks.
 * - Otherwise, or if /proc is not usable: stderr, with poll(2) before each write.
 */
static void log_open(struct host *h)
{
    struct stat st;
    h->log_fd = STDERR_FILENO;
    h->log_free = descriptor_stat(STDERR_FILENO, &st) == 0 && S_ISREG(st.st_mode);
    if (h->log_free || !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))) {
        return;
    }
    int own = path_open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0);
    if (own >= 0) {
        h->log_fd = own;
        h->log_free = true;
    }
}

/*
 * Writes log lines to stderr until no line is left or a write would block. Waits at most `wait_ms`
 * before each write.
 */
static void log_flush(struct host *h, int wait_ms)
{
    struct view lines = agent_log(h->agent);
    /* Each iteration removes at least one byte from the log, or is the last one. */
    for (unsigned i = 0; i < LOG_BUFFER_BYTES && lines.len > 0u; i++) {
        struct pollfd out = {.fd = h->log_fd, .events = POLLOUT};
        bool must_poll = !h->log_free || wait_ms > 0;
        if (must_poll && poll(&out, 1, wait_ms) != 1) {
            return;
        }
        size_t n = log_piece(lines);
        ssize_t written = write(h->log_fd, lines.data, n);
        if (written < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        /*
         * If the process that reads the log has closed the pipe, or the disk is full, these lines
         * are lost and the agent continues.
         */
        agent_log_written(h->agent, (written < 0) ? n : (size_t)written);
        lines = agent_log(h->agent);
    }
}

/* --- accepting connections --- */

static void accept_some(const struct host *h, struct host_driver *d, struct server *s)
{
    bool more = true;
    for (unsigned i = 0; i < ACCEPTS_PER_TURN && more && s->listener.fd >= 0; i++) {
        struct accepted peer;
        /*
         * Accepts another connection only if the last one did not have to replace an older
         * connection. Otherwise clients that reconnect immediately would keep replacing each other,
         * and the agent would serve none of them.
         */
        more = server_accept(s, d->agent, h->time.now_ms, &peer) == STATUS_OK &&
               server_link_begin(&d->links, s->kind, &peer, h->time.now_ms);
    }
}

/* --- waiting for events --- */

/*
 * Sets the slots of one driver for poll(2); the slots of a driver that does not run have descriptor
 * -1.
 */
static void driver_poll_fill(struct host *h, unsigned at)
{
    struct host_driver *d = &h->driver[at];
    struct pollfd *servers = &h->slots[SLOT_SERVER + at * SERVERS];
    struct pollfd *links = &h->slots[SLOT_LINK + at * SERVER_LINKS];
    for (unsigned i = 0; at >= h->drivers && i < SERVER_LINKS; i++) {
        links[i] = (struct pollfd){.fd = -1};
    }
    for (unsigned i = 0; i < SERVERS; i++) {
        const struct server *s = &d->server[i];
        bool port = strangers_come(s->kind);
        bool polled =
            at < h->drivers && (!port || strangers_may(&d->links, s->kind, h->time.now_ms));
        int fd = polled ? server_poll(s, h->time.now_ms) : -1;
        servers[i] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    if (at < h->drivers) {
        server_links_interest(&d->links, links, h->time.now_ms);
    }
}

static void poll_fill(struct host *h)
{
    h->slots[SLOT_SIGNAL] = (struct pollfd){.fd = h->signal_fd, .events = POLLIN};
    bool log_waits = agent_log(h->agent).len > 0u;
    int log_fd = log_waits ? h->log_fd : -1;
    h->slots[SLOT_STDERR] = (struct pollfd){.fd = log_fd, .events = POLLOUT};
    short events = 0;
    int api_fd = apilink_interest(&h->api, &events);
    h->slots[SLOT_API] = (struct pollfd){.fd = api_fd, .events = events};
    int pods_fd = pods_link_interest(&h->pods, &events);
    h->slots[SLOT_PODS] = (struct pollfd){.fd = pods_fd, .events = events};
    probes_interest(&h->probes, &h->slots[SLOT_READER]);
    for (unsigned i = 0; i < PORTS; i++) { /* only the first driver has TCP ports */
        const struct host_driver *d = &h->driver[DRIVER_NEURON];
        strangers_interest(&d->links, (i == 0u) ? LINK_GRPC_HEALTH : LINK_METRICS,
                           &h->slots[SLOT_PENDING + i * PENDING_LINKS], h->time.now_ms);
    }
    for (unsigned d = 0; d < DRIVERS; d++) {
        driver_poll_fill(h, d);
    }
}

/*
 * Returns the earliest deadline of the agent, the probes, the servers, the connection to the API
 * server and the check of the socket files.
 */
static uint64_t due_ms(struct host *h)
{
    uint64_t at = earlier(agent_deadline(h->agent), h->check_ms);
    at = earlier(at, earlier(probes_deadline(&h->probes), apilink_deadline(&h->api)));
    for (unsigned i = 0; i < SERVERS * h->drivers; i++) {
        const struct host_driver *d = &h->driver[i / SERVERS];
        const struct server *s = &d->server[i % SERVERS];
        at = earlier(at, server_deadline(s, h->time.now_ms));
    }
    return at;
}

/*
 * Returns when TCP connections need a turn of the main loop even if poll(2) reports no event,
 * because pace.h allows transfers again or a port needs a round (strangers.h).
 */
static uint64_t pace_ms(const struct host *h)
{
    /* Only the first driver has the TCP ports. */
    const struct host_driver *d = &h->driver[DRIVER_NEURON];
    uint64_t at = server_links_due(&d->links);
    at = earlier(at, strangers_due(&d->links, LINK_GRPC_HEALTH, h->time.now_ms));
    return earlier(at, strangers_due(&d->links, LINK_METRICS, h->time.now_ms));
}

static void poll_slots(struct host *h, uint64_t wait_ms)
{
    int ready = poll(h->slots, SLOTS, (int)earlier(wait_ms, WAIT_MAX_MS));
    /* EINVAL is impossible, because descriptors_enough has raised the limit on open files */
    ASSERT(ready >= 0 || errno == EINTR || errno == ENOMEM);
    for (unsigned i = 0; i < SLOTS && ready <= 0; i++) {
        h->slots[i].revents = 0; /* if poll(2) fails, it does not set revents */
    }
}

/* Whether poll(2) reported an event on a connection: input, or that output can be sent. */
static bool links_ready(const struct host *h)
{
    bool ready = h->slots[SLOT_API].revents != 0 || h->slots[SLOT_PODS].revents != 0;
    for (unsigned i = SLOT_LINK; i < SLOT_PENDING; i++) {
        ready = ready || h->slots[i].revents != 0;
    }
    return ready;
}

/*
 * Waits for events or the next time limit, then sets the time of this turn of the main loop. If a
 * limit has passed during the wait, polls the descriptors once more, so that bytes which arrived
 * before that limit are not missed.
 */
static void wait_and_poll(struct host *h)
{
    uint64_t due = due_ms(h);
    uint64_t clock_ms = clock_now_ms();
    uint64_t wake = earlier(due, pace_ms(h));
    bool at_once = h->eager || apilink_eager(&h->api) || wake <= clock_ms;
    poll_slots(h, at_once ? 0u : wake - clock_ms);
    if (!at_once) {
        clock_ms = clock_now_ms();
        if (clock_ms >= due) {
            poll_slots(h, 0);
        }
    }
    loop_time_set(&h->time, clock_ms, due, links_ready(h));
}

/* --- one turn of the main loop --- */

static void read_signals(struct host *h)
{
    struct signalfd_siginfo info;
    if ((h->slots[SLOT_SIGNAL].revents & POLLIN) == 0) {
        return;
    }
    ssize_t n = read(h->signal_fd, &info, sizeof info);
    if (n == (ssize_t)sizeof info) {
        agent_stop(h->agent, h->time.now_ms);
    }
}

static void scan_plugins(struct host *h, enum driver_kind kind)
{
    struct host_driver *d = &h->driver[kind];
    const char *directory = h->settings->device_plugins_dir;
    int error = device_plugin_scan(directory, kind, d->device_plugin);
    if (error != 0 && error != h->plugin_error) {
        char text[HOST_TEXT_CAP];
        WRITE_TEXT(text, sizeof text, "%: %", TEXT(directory), ERRNO(error));
        agent_host_log(h->agent, LOG_ID_DEVICE_PLUGIN_SEARCH_FAILED, text);
    }
    h->plugin_error = error;
    agent_device_plugin(d->agent, d->device_plugin);
}

/*
 * Searches for other programs that offer the same devices: device plugins and, for EFA, another
 * driver of the same name, such as dranet.
 */
static void scan_rivals(struct host *h)
{
    scan_plugins(h, DRIVER_NEURON);
    struct host_driver *d = &h->driver[DRIVER_EFA];
    if (h->drivers > (unsigned)DRIVER_EFA && d->server[LINK_REGISTRATION].wanted) {
        scan_plugins(h, DRIVER_EFA);
        char path[SOCKET_PATH_CAP];
        bool taken = d->server[LINK_REGISTRATION].taken;
        bool runs = other_driver_scan(h->settings, DRIVER_EFA, taken, path);
        agent_other_driver(d->agent, runs ? path : "");
    }
}

static void check_sockets(struct host *h)
{
    if (h->time.now_ms < h->check_ms) {
        return;
    }
    h->check_ms = h->time.now_ms + SOCKET_CHECK_MS;
    for (unsigned at = 0; at < h->drivers; at++) {
        struct host_driver *d = &h->driver[at];
        /*
         * Skip a driver whose registration socket is not wanted, because such a driver is stopping,
         * or has not opened its sockets yet.
         */
        for (unsigned i = 0; i < SERVERS && d->server[LINK_REGISTRATION].wanted; i++) {
            server_check(&d->server[i], d->agent, h->time.now_ms);
        }
        agent_service(d->agent, server_serves(&d->server[LINK_SERVICE]));
    }
}

static void sockets_open(const struct host *h, struct host_driver *d)
{
    d->server[LINK_SERVICE].wanted = true;
    d->server[LINK_REGISTRATION].wanted = true;
    server_try(&d->server[LINK_SERVICE], d->agent, h->time.now_ms);
    server_try(&d->server[LINK_REGISTRATION], d->agent, h->time.now_ms);
}

static void driver_end(struct host_driver *d)
{
    for (unsigned i = 0; i < SERVERS; i++) {
        server_stop(&d->server[i]);
    }
    server_links_close(&d->links);
    host_files_end(&d->disk);
}

static void order_carry_out(struct host *h, struct host_driver *d, enum agent_order order)
{
    switch (order) {
    case ORDER_CONNECT_API:
        apilink_start(&h->api, h->time.now_ms);
        break;
    case ORDER_READ_TOKEN:
        apilink_read_token(&h->api);
        break;
    case ORDER_CLOSE_API:
        apilink_end(&h->api);
        break;
    case ORDER_CONNECT_PODS:
        pods_link_start(&h->pods, h->time.now_ms);
        break;
    case ORDER_CLOSE_PODS:
        pods_link_end(&h->pods);
        break;
    case ORDER_RENEW_REGISTRATION:
        server_renew(&d->server[LINK_REGISTRATION], d->agent, h->time.now_ms);
        break;
    case ORDER_OPEN_SOCKETS:
        sockets_open(h, d);
        break;
    case ORDER_CLOSE_REGISTRATION:
        server_stop(&d->server[LINK_REGISTRATION]);
        break;
    case ORDER_END_DRIVER:
        driver_end(d);
        h->drivers = (unsigned)DRIVER_EFA;
        h->probes.efa = NULL;
        break;
    case ORDER_EXIT:
        h->exiting = true;
        break;
    case ORDER_NONE:
        break;
    }
}

static void orders_carry_out(struct host *h)
{
    for (unsigned at = 0; at < h->drivers; at++) {
        struct host_driver *d = &h->driver[at];
        enum agent_order order = agent_next_order(d->agent);
        for (unsigned n = 0; n <= (unsigned)ORDER_EXIT && order != ORDER_NONE; n++) {
            order_carry_out(h, d, order);
            order = agent_next_order(d->agent);
        }
    }
}

/*
 * Calls agent_step, carries out the agent's orders and sends its output. Repeats this while output
 * was sent and the agent has more work, at most STEPS_PER_TURN times.
 */
static void agent_turn(struct host *h)
{
    bool moved = true;
    for (unsigned i = 0; i < STEPS_PER_TURN && moved && !h->exiting; i++) {
        agent_step(h->agent);
        orders_carry_out(h);
        moved = apilink_write(&h->api);
        moved = pods_link_write(&h->pods) || moved;
        for (unsigned d = 0; d < h->drivers; d++) {
            moved = server_links_flush(&h->driver[d].links, h->time.now_ms) || moved;
        }
        moved = moved && agent_step_due(h->agent);
    }
    h->eager = moved;
}

static void driver_turn(struct host *h, unsigned at, bool old)
{
    struct host_driver *d = &h->driver[at];
    const struct pollfd *servers = &h->slots[SLOT_SERVER + at * SERVERS];
    const struct pollfd *links = &h->slots[SLOT_LINK + at * SERVER_LINKS];
    /*
     * The links of the TCP ports have the highest indexes, so this loop reads the kubelet's links
     * first.
     */
    for (unsigned i = 0; i < SERVER_LINKS; i++) {
        server_link_read(&d->links, i, links[i].revents, h->time.now_ms);
    }
    for (unsigned i = 0; i < SERVERS; i++) {
        if (servers[i].revents != 0 && !old && !strangers_come(d->server[i].kind)) {
            accept_some(h, d, &d->server[i]);
        }
        server_try(&d->server[i], d->agent, h->time.now_ms);
    }
}

/* Runs one round (strangers.h) of each TCP port that has an event or whose timer is due. */
static void strangers_turn(struct host *h)
{
    struct host_driver *d = &h->driver[DRIVER_NEURON];
    for (unsigned i = 0; i < PORTS; i++) {
        struct server *s = &d->server[(unsigned)LINK_GRPC_HEALTH + i];
        bool stirs = h->slots[SLOT_SERVER + (unsigned)LINK_GRPC_HEALTH + i].revents != 0 ||
                     strangers_due(&d->links, s->kind, h->time.now_ms) <= h->time.now_ms;
        for (unsigned n = 0; n < PENDING_LINKS; n++) {
            stirs = stirs || h->slots[SLOT_PENDING + i * PENDING_LINKS + n].revents != 0;
        }
        if (stirs) {
            strangers_round(&d->links, s, h->time.now_ms);
        }
    }
}

static void run_turn(struct host *h)
{
    poll_fill(h);
    wait_and_poll(h);
    /*
     * Compare now_ms with the clock before the work of this turn of the main loop, so that slow
     * work does not delay new connections.
     */
    bool old = loop_time_is_old(&h->time, clock_now_ms());
    for (unsigned d = 0; d < h->drivers; d++) {
        host_files_turn(&h->driver[d].disk);
    }
    agent_time(h->agent, h->time.now_ms, clock_wall_ms());
    if (old) {
        agent_time_old(h->agent);
    }
    read_signals(h);
    apilink_turn(&h->api, h->slots[SLOT_API].revents, h->time.now_ms);
    pods_link_turn(&h->pods, h->slots[SLOT_PODS].revents);
    for (unsigned d = h->drivers; d > 0u; d--) {
        /* handle the first driver last, because it has the TCP ports */
        driver_turn(h, d - 1u, old);
    }
    if (!old) {
        strangers_turn(h);
    }
    if (probes_turn(&h->probes, &h->slots[SLOT_READER], h->time.now_ms)) {
        scan_rivals(h);
    }
    check_sockets(h);
    agent_turn(h);
    log_flush(h, 0);
}

/* --- start and end of the process --- */

/*
 * Opens /dev/null for each of the descriptors 0 to 2 that is closed; otherwise a socket or file
 * that is opened later would become stdin, stdout or stderr. These descriptors stay open until the
 * process ends. On failure (HOST_*) `why` gets one line.
 */
static enum status standard_descriptors(struct writer *why)
{
    static int stand_in[STDERR_FILENO + 1];
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        stand_in[fd] = (fcntl(fd, F_GETFD) >= 0) ? fd : open("/dev/null", O_RDWR);
        if (stand_in[fd] != fd) {
            writer_text(
                why, "descriptors 0 to 2 are closed and /dev/null cannot be opened in their place");
            return HOST_IO;
        }
    }
    return STATUS_OK;
}

/*
 * Raises the limit on open files to the number that all connections, the claim store and a probe
 * need. poll(2) fails with EINVAL if its array is longer than this limit.
 */
static enum status descriptors_enough(void)
{
    struct rlimit limit;
    /*
     * Calls prlimit instead of setrlimit. This process has one thread, and musl's setrlimit adds 4
     * KB of code that sets the limit in every thread.
     */
    if (prlimit(0, RLIMIT_NOFILE, NULL, &limit) != 0) {
        return HOST_IO;
    }
    if (limit.rlim_cur >= DESCRIPTORS_NEEDED) {
        return STATUS_OK;
    }
    limit.rlim_cur = DESCRIPTORS_NEEDED;
    return (prlimit(0, RLIMIT_NOFILE, &limit, NULL) == 0) ? STATUS_OK : FULL_TABLE;
}

static enum status signals_begin(struct host *h)
{
    sigset_t stop;
    bool good =
        sigemptyset(&stop) == 0 && sigaddset(&stop, SIGTERM) == 0 && sigaddset(&stop, SIGINT) == 0;
    /*
     * SIGPIPE and SIGHUP are blocked and never read, so that a write to a closed pipe returns
     * EPIPE, and the hang-up of a terminal has no effect.
     */
    sigset_t blocked = stop;
    good = good && sigaddset(&blocked, SIGPIPE) == 0 && sigaddset(&blocked, SIGHUP) == 0 &&
           pthread_sigmask(SIG_BLOCK, &blocked, NULL) == 0;
    h->signal_fd = good ? signalfd(-1, &stop, SFD_NONBLOCK | SFD_CLOEXEC) : -1;
    return (h->signal_fd >= 0) ? STATUS_OK : HOST_IO;
}

static enum status state_begin(struct host *h, struct writer *why)
{
    int error = 0;
    enum status s = STATUS_OK;
    const char *state_dir = NULL;
    for (unsigned d = 0; d < h->drivers && s == STATUS_OK; d++) {
        state_dir = h->driver[d].state_dir;
        servers_directory(&h->settings->driver[d], h->driver[d].state_dir);
        s = directory_make(state_dir, 0750, &error);
    }
    if (s != STATUS_OK) {
        WRITE(why,
              "directory % cannot be created: %; correct --kubelet-plugins-directory-path, or the "
              "permissions of its parent",
              TEXT(state_dir), ERRNO(error));
    }
    return s;
}

static enum status process_begin(struct host *h, struct writer *why)
{
    (void)umask(022);
    enum status s = standard_descriptors(why);
    if (s != STATUS_OK) {
        return s;
    }
    log_open(h);
    s = descriptors_enough();
    if (s != STATUS_OK) {
        WRITE(why, "the limit of open files is too low; raise it (ulimit -n) to %",
              NUMBER(DESCRIPTORS_NEEDED));
        return s;
    }
    usage_begin(&h->usage);
    s = signals_begin(h);
    if (s != STATUS_OK) {
        writer_text(why, "signals cannot be received; see signalfd(2)");
        return s;
    }
    s = probes_begin(&h->probes, h->settings, h->drivers > (unsigned)DRIVER_EFA, why);
    return (s == STATUS_OK) ? state_begin(h, why) : s;
}

/*
 * Sets `path` to the directory of the kubelet's checkpoint; the sandbox needs a rule for the
 * directory, because the kubelet replaces the file. Returns false if the directory is absent, or is
 * the root.
 */
static bool kubelet_directory(const struct settings *s, char path[PATH_CAP])
{
    struct stat st;
    text_set(path, PATH_CAP, s->kubelet_state);
    char *slash = strrchr(path, '/');
    ASSERT(slash != NULL);
    *slash = '\0';
    return slash != path && path_stat(path, &st) == 0;
}

static void sandbox_begin(struct host *h)
{
    const struct settings *s = h->settings;
    char text[HOST_TEXT_CAP];
    char wide_text[HOST_TEXT_CAP];
    struct writer w = writer_of(text, sizeof text);
    struct writer wide = writer_of(wide_text, sizeof wide_text);
    bool in_pod = s->kubeconfig[0] == '\0';
    struct sandbox_paths paths;
    paths.write[0] = h->driver[DRIVER_NEURON].state_dir;
    /*
     * Directory of the EFA driver's claim store. If only the Neuron driver runs, this is the
     * directory in paths.write[0] again.
     */
    paths.write[3] = h->driver[h->drivers - 1u].state_dir;
    paths.write[1] = s->cdi_root;
    paths.write[2] = s->registrar_dir;
    /*
     * In a pod, the agent may not read sysfs, because only the reader processes read it. Outside a
     * pod, it may read every file, because a kubeconfig can name files anywhere.
     */
    paths.read[0] = in_pod ? s->device_plugins_dir : "/";
    paths.read[1] = NULL;
    paths.read[2] = NULL;
    paths.fixed[0] = "/etc";
    paths.fixed[1] = SERVICE_ACCOUNT_DIR;
    paths.fixed[2] = NULL;
    paths.reader = false;
    char kubelet_dir[PATH_CAP];
    paths.file = kubelet_directory(s, kubelet_dir) ? kubelet_dir : "/etc";
    sandbox_enter(&paths, &w, &wide);
    writer_close_text(&w);
    agent_host_log(h->agent, LOG_ID_SANDBOX, text);
    writer_close_text(&wide);
    if (wide.len > 0u) {
        agent_host_log(h->agent, LOG_ID_SANDBOX_WIDE, wide_text);
    }
}

/*
 * Creates the server sockets of a driver. The service socket comes first, because the kubelet
 * connects to it as soon as it finds the registration socket.
 */
static enum status driver_servers_begin(struct host *h, unsigned at, struct writer *why)
{
    ASSERT(at < DRIVERS);
    struct host_driver *d = &h->driver[at];
    servers_init(d->server, h->settings, (enum driver_kind)at, d->state_dir);
    servers_remove_stale(d->server, d->agent);
    if (at == (unsigned)DRIVER_EFA && !h->settings->efa) {
        /* ORDER_OPEN_SOCKETS opens the service socket and the registration socket later */
        d->server[LINK_SERVICE].wanted = false;
        d->server[LINK_REGISTRATION].wanted = false;
        return STATUS_OK;
    }
    enum status s = server_begin(&d->server[LINK_SERVICE], d->agent, why);
    if (s != STATUS_OK) {
        return s;
    }
    server_try(&d->server[LINK_REGISTRATION], d->agent, h->time.now_ms);
    server_try(&d->server[LINK_GRPC_HEALTH], d->agent, h->time.now_ms);
    server_try(&d->server[LINK_METRICS], d->agent, h->time.now_ms);
    return STATUS_OK;
}

static enum status servers_begin(struct host *h, struct writer *why)
{
    enum status s = STATUS_OK;
    for (unsigned d = 0; d < h->drivers && s == STATUS_OK; d++) {
        s = driver_servers_begin(h, d, why);
    }
    return s;
}

static struct files *driver_begin(struct host *h, unsigned at)
{
    struct host_driver *d = &h->driver[at];
    const struct settings *s = h->settings;
    d->files = host_files_init(&d->disk, s->cdi_root, d->state_dir, s->sysfs_root, s->dev_root);
    d->disk.kubelet_state = s->kubelet_state;
    d->disk.readers = &h->probes.readers;
    d->disk.usage = &h->usage;
    d->disk.efa = at == (unsigned)DRIVER_EFA;
    return &d->files;
}

static void agent_begin(struct host *h)
{
    const struct files *files = driver_begin(h, DRIVER_NEURON);
    h->time.now_ms = clock_now_ms();
    h->agent = agent_init(h->settings, files, random_seed(), h->time.now_ms, clock_wall_ms());
    h->driver[DRIVER_NEURON].agent = h->agent;
    if (h->settings->device_metrics || h->settings->neuron_monitor_metrics) {
        agent_telemetry(h->agent, &h->probes.result.telemetry);
    }
    if (h->drivers > (unsigned)DRIVER_EFA) {
        h->driver[DRIVER_EFA].agent = agent_add_efa(h->agent, driver_begin(h, DRIVER_EFA));
    }
    /* let the first turn of the main loop run agent_step without waiting for an event */
    h->eager = true;
    apilink_init(&h->api, h->agent, h->settings);
    pods_link_init(&h->pods, h->agent, h->settings);
    for (unsigned d = 0; d < h->drivers; d++) {
        server_links_init(&h->driver[d].links, h->driver[d].agent);
    }
    probes_first(&h->probes, h->agent, h->driver[DRIVER_EFA].agent);
}

/*
 * Fails if the credentials for the API server are invalid. Accepts a missing file, because the file
 * may appear later; until then, the agent serves the kubelet. Does not connect to the API server.
 */
static enum status credentials_check(struct host *h, struct writer *why)
{
    size_t before = why->len;
    enum status s = credentials_load(&h->api.credentials, h->settings->kubeconfig, why);
    credentials_wipe(&h->api.credentials);
    if (s == HOST_ABSENT) {
        why->len = before;
        return STATUS_OK;
    }
    return s;
}

static void host_end(struct host *h)
{
    apilink_close(&h->api);
    pods_link_end(&h->pods);
    for (unsigned at = 0; at < h->drivers; at++) {
        driver_end(&h->driver[at]);
    }
    probes_end(&h->probes);
    log_flush(h, STDERR_DRAIN_MS);
    (void)close(h->signal_fd);
}

/*
 * Whether to run the EFA driver: with --efa, or if an earlier run with --efa left a claim store,
 * because the kubelet will still ask to unprepare the claims in that store.
 */
static bool has_efa_driver(const struct settings *s)
{
    char directory[PATH_CAP];
    char path[PATH_CAP + sizeof STORE_FILE_NAME];
    struct stat st;
    if (s->efa || s->driver[DRIVER_EFA].service_socket[0] == '\0') {
        return s->efa;
    }
    servers_directory(&s->driver[DRIVER_EFA], directory);
    path_join(path, sizeof path, directory, STORE_FILE_NAME);
    return path_stat(path, &st) == 0;
}

/*
 * Fails if a reader process has ended. The sandbox forbids forking a new reader, so the whole agent
 * must restart.
 */
static enum status readers_whole(const struct host *h, struct writer *why)
{
    if (h->probes.readers.ended && !h->exiting) {
        writer_text(why, "a process that reads sysfs for the agent has ended");
        return HOST_IO;
    }
    return STATUS_OK;
}

enum status host_run(const struct settings *settings, struct writer *why)
{
    struct host *h = &the_host.loop;
    ASSERT(settings != NULL && h->agent == NULL);
    h->settings = settings;
    h->drivers = has_efa_driver(settings) ? DRIVERS : 1u;
    enum status s = process_begin(h, why);
    if (s == STATUS_OK) {
        s = credentials_check(h, why);
    }
    if (s != STATUS_OK) {
        return s;
    }
    agent_begin(h);
    if (settings->sandbox) {
        sandbox_begin(h);
    }
    s = servers_begin(h, why);
    if (s == STATUS_OK) {
        s = tls_setup();
        writer_text(
            why, (s == STATUS_OK) ? "" : "the kernel provides no random numbers; see getrandom(2)");
    }
    scan_rivals(h);
    while (s == STATUS_OK && !h->exiting) {
        run_turn(h);
        s = readers_whole(h, why);
    }
    host_end(h);
    return s;
}

enum status host_command(const struct settings *settings, const struct settings_input *input,
                         bool *no, struct writer *why)
{
    struct command_memory *m = &the_host.command;
    ASSERT(settings->command != COMMAND_RUN);
    enum status s = standard_descriptors(why);
    if (s != STATUS_OK) {
        return s;
    }
    if (settings->command == COMMAND_RESERVATIONS) {
        return reservations_print(&the_host.reservations, settings, no, why);
    }
    commands_begin(m, settings);
    s = (settings->command == COMMAND_BUNDLE) ? bundle_write(m, input, why)
                                              : commands_watch(m, why);
    *no = m->answer_no;
    return s;
}
