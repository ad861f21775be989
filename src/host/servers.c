/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens and renews the agent's server sockets; see servers.h. The directory of the registration
 * socket belongs to the kubelet: the agent waits for it and never creates it. The directory of the
 * service socket belongs to the agent, which creates it again if it was removed.
 */
#include "host/servers.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/report/log_catalogue.h"
#include "base/assert.h"
#include "base/chars.h"
#include "cfg/identity.h"
#include "host/system.h"

/* Sets the TCP port of a server. -1: the server is off; 0: the kernel chooses the port. */
static void port_set(struct server *s, int32_t port, const char *address)
{
    s->listener.address = address;
    ASSERT(port <= UINT16_MAX);
    s->wanted = port >= 0;
    s->listener.port = s->wanted ? (uint16_t)port : 0u;
}

void servers_directory(const struct driver *driver, char path[PATH_CAP])
{
    const char *socket_path = driver->service_socket;
    const char *slash = strrchr(socket_path, '/');
    ASSERT(slash != NULL && slash != socket_path);
    enum status s =
        text_copy(path, PATH_CAP, view_of(socket_path, strlen(socket_path) - strlen(slash)));
    ASSERT(s == STATUS_OK);
}

void servers_init(struct server servers[SERVERS], const struct settings *settings,
                  enum driver_kind driver, const char *service_dir)
{
    const struct driver *names = &settings->driver[driver];
    bool ports = driver == DRIVER_NEURON;
    static const enum link_kind kinds[SERVERS] = {LINK_REGISTRATION, LINK_SERVICE, LINK_GRPC_HEALTH,
                                                  LINK_METRICS};
    for (unsigned i = 0; i < SERVERS; i++) {
        ASSERT((unsigned)kinds[i] == i);
        servers[i] = (struct server){
            .listener = {.fd = -1}, .driver = names->name, .kind = kinds[i], .wanted = true};
    }
    servers[LINK_REGISTRATION].listener.path = names->registration_socket;
    servers[LINK_SERVICE].listener.path = names->service_socket;
    servers[LINK_SERVICE].directory = service_dir;
    port_set(&servers[LINK_GRPC_HEALTH], ports ? settings->healthcheck_port : -1,
             settings->healthcheck_address);
    port_set(&servers[LINK_METRICS], ports ? settings->metrics_port : -1,
             settings->metrics_address);
}

/* --- log lines about server sockets --- */

static void name_write(const struct server *s, struct writer *out)
{
    if (s->listener.path == NULL) {
        WRITE(out, "% on TCP port %",
              TEXT((s->kind == LINK_GRPC_HEALTH) ? "health service" : "metrics"),
              NUMBER(s->listener.port));
        if (s->listener.address[0] != '\0') {
            WRITE(out, " of %", TEXT(s->listener.address));
        }
        return;
    }
    WRITE(out, "% socket %", TEXT((s->kind == LINK_REGISTRATION) ? "registration" : "service"),
          TEXT(s->listener.path));
}

/* Returns the remedy for a server's unix socket that cannot be opened. */
static const char *remedy_for(const struct server *s, int error)
{
    if (error == EEXIST) {
        return "a file of this name exists and is not a socket: remove it";
    }
    if (s->kind == LINK_REGISTRATION && error == ENOENT) {
        return "the kubelet creates this directory: start the kubelet, or correct "
               "--kubelet-registrar-directory-path";
    }
    return "check owner and permissions of its directory";
}

static void trouble_write(const struct server *s, int error, struct writer *out)
{
    name_write(s, out);
    WRITE(out, " cannot be opened: %; ", ERRNO(error));
    if (s->listener.path != NULL) {
        writer_text(out, remedy_for(s, error));
        return;
    }
    WRITE(out, "%choose another with --%%",
          TEXT((error == EADDRINUSE) ? "end the process that has it, or " : ""),
          TEXT((s->kind == LINK_GRPC_HEALTH) ? "healthcheck-" : "metrics-"),
          TEXT((error == EADDRNOTAVAIL) ? "bind-address" : "port"));
}

static void log_text(struct agent *agent, int event, struct writer *w)
{
    writer_close_text(w);
    agent_host_log(agent, event, (const char *)w->data);
}

static void log_open(const struct server *s, struct agent *agent)
{
    char text[HOST_TEXT_CAP];
    struct writer w = writer_of(text, sizeof text);
    name_write(s, &w);
    writer_text(&w, " is open");
    log_text(agent, LOG_ID_SOCKET_OPENED, &w);
}

static void log_trouble(const struct server *s, struct agent *agent, int error)
{
    char text[HOST_TEXT_CAP];
    struct writer w = writer_of(text, sizeof text);
    trouble_write(s, error, &w);
    writer_text(&w, "; the agent retries until it works");
    log_text(agent, LOG_ID_SOCKET_OPEN_FAILED, &w);
}

/* --- removing sockets that earlier pods left --- */

/*
 * Whether the text is a UUID (RFC 9562 §4), the form of a UID that the API server creates. This
 * test excludes a socket of another driver whose name starts with this driver's name.
 */
static bool is_uuid(struct view v)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    bool same = v.len == sizeof form - 1u;
    for (size_t i = 0; same && i < v.len; i++) {
        same = (form[i] == '-') ? v.data[i] == (uint8_t)'-' : is_hex_digit(v.data[i]);
    }
    return same;
}

/* Whether `name` has the form of this driver's socket names, with or without the UID of a pod. */
static bool name_is_ours(const struct server *s, const char *name)
{
    bool registration = s->kind == LINK_REGISTRATION;
    const char *stem = registration ? s->driver : SERVICE_SOCKET_STEM;
    struct view suffix =
        view_text(registration ? REGISTRATION_SOCKET_SUFFIX : SERVICE_SOCKET_SUFFIX);
    struct view rest = view_from(view_text(name), strlen(stem));
    if (!view_starts(view_text(name), stem) || rest.len < suffix.len ||
        !view_equal(view_from(rest, rest.len - suffix.len), suffix)) {
        return false;
    }
    struct view uid = view_first(rest, rest.len - suffix.len);
    return uid.len == 0u || (uid.data[0] == (uint8_t)'-' && is_uuid(view_from(uid, 1)));
}

/* Removes a socket of this driver that no process serves. `folder` ends in a slash. */
static void remove_if_stale(const struct server *s, struct view folder, const char *name,
                            struct agent *agent)
{
    char text[HOST_TEXT_CAP];
    char path[SOCKET_PATH_CAP];
    struct writer p = writer_of(path, sizeof path);
    WRITE(&p, "%%", VIEW(folder), TEXT(name));
    if (!name_is_ours(s, name) || writer_end_text(&p) != STATUS_OK ||
        strcmp(path, s->listener.path) == 0 || !socket_is_dead(path) || unlink(path) != 0) {
        return;
    }
    struct writer w = writer_of(text, sizeof text);
    writer_text(&w, path);
    log_text(agent, LOG_ID_STALE_SOCKET_REMOVED, &w);
}

static void remove_stale(const struct server *s, struct agent *agent)
{
    char folder[SOCKET_PATH_CAP];
    struct directory d;
    struct directory_entry e;
    const char *slash = strrchr(s->listener.path, '/');
    ASSERT(slash != NULL);
    struct view dir = view_of(s->listener.path, strlen(s->listener.path) - strlen(slash) + 1u);
    enum status copied = text_copy(folder, sizeof folder, dir);
    ASSERT(copied == STATUS_OK);
    directory_open(&d, folder);
    while (directory_next(&d, &e)) {
        remove_if_stale(s, dir, e.name, agent);
    }
    /* if the directory cannot be read, stale sockets stay until the next start */
    (void)directory_close(&d);
}

void servers_remove_stale(const struct server servers[SERVERS], struct agent *agent)
{
    remove_stale(&servers[LINK_REGISTRATION], agent);
    remove_stale(&servers[LINK_SERVICE], agent);
}

/* --- opening sockets --- */

static enum status server_open(struct server *s, int *error)
{
    enum status status = listener_open(&s->listener, error);
    if (status != HOST_ABSENT || s->directory == NULL) {
        return status;
    }
    status = directory_make(s->directory, 0750, error);
    return (status == STATUS_OK) ? listener_open(&s->listener, error) : status;
}

void server_try(struct server *s, struct agent *agent, uint64_t now_ms)
{
    int error = 0;
    if (!s->wanted || s->listener.fd >= 0 || now_ms < s->retry_ms) {
        return;
    }
    if (server_open(s, &error) == STATUS_OK) {
        s->reported = 0;
        s->backoff_ms = 0;
        log_open(s, agent);
        return;
    }
    ASSERT(error > 0);
    s->backoff_ms = (s->backoff_ms == 0u) ? LISTEN_RETRY_MIN_MS : s->backoff_ms * 2u;
    s->backoff_ms = (s->backoff_ms > LISTEN_RETRY_MAX_MS) ? LISTEN_RETRY_MAX_MS : s->backoff_ms;
    s->retry_ms = now_ms + s->backoff_ms;
    if (error != s->reported) {
        s->reported = error;
        log_trouble(s, agent, error);
    }
}

enum status server_begin(struct server *s, struct agent *agent, struct writer *why)
{
    int error = 0;
    ASSERT(s->wanted && s->listener.fd == -1);
    enum status status = server_open(s, &error);
    if (status != STATUS_OK) {
        trouble_write(s, error, why);
        return status;
    }
    log_open(s, agent);
    return STATUS_OK;
}

void server_renew(struct server *s, struct agent *agent, uint64_t now_ms)
{
    if (s->taken) {
        return; /* another process has replaced the socket file */
    }
    listener_close(&s->listener);
    s->retry_ms = now_ms;
    server_try(s, agent, now_ms);
}

void server_check(struct server *s, struct agent *agent, uint64_t now_ms)
{
    char text[HOST_TEXT_CAP];
    enum listener_file file = listener_file(&s->listener);
    if (file == LISTENER_FILE_TAKEN && socket_is_dead(s->listener.path)) {
        file = LISTENER_FILE_GONE; /* its process was killed, and left the file behind */
    }
    bool changed = file == LISTENER_FILE_GONE || (file == LISTENER_FILE_TAKEN && !s->taken);
    s->taken = file == LISTENER_FILE_TAKEN;
    if (!changed) {
        return;
    }
    struct writer w = writer_of(text, sizeof text);
    name_write(s, &w);
    /*
     * If another process has replaced the socket file, leave that file. Otherwise two agents would
     * replace each other's socket forever.
     */
    writer_text(&w, s->taken
                        ? " now belongs to another process, perhaps a second agent; it is created"
                          " again when that one has ended"
                        : " was removed or replaced by another process; it is created again");
    log_text(agent, LOG_ID_SOCKET_FILE_LOST, &w);
    if (!s->taken) {
        server_renew(s, agent, now_ms);
    }
}

bool server_serves(const struct server *s)
{
    return s->listener.fd >= 0 && !s->taken;
}

void server_stop(struct server *s)
{
    s->wanted = false;
    listener_close(&s->listener);
    ASSERT(s->listener.fd == -1);
}

/* --- accepting connections --- */

static void log_denied(const struct server *s, struct agent *agent, uid_t uid)
{
    char text[HOST_TEXT_CAP];
    struct writer w = writer_of(text, sizeof text);
    WRITE(&w, "connection from user id % closed: only root and the agent's own user may use the ",
          NUMBER(uid));
    name_write(s, &w);
    log_text(agent, LOG_ID_PEER_DENIED, &w);
}

static void log_accept(const struct server *s, struct agent *agent, int error)
{
    char text[HOST_TEXT_CAP];
    struct writer w = writer_of(text, sizeof text);
    name_write(s, &w);
    WRITE(&w,
          " cannot accept a connection: %; check this node's limits of open files and memory; the "
          "agent retries until it works",
          ERRNO(error));
    log_text(agent, LOG_ID_ACCEPT_FAILED, &w);
}

enum status server_accept(struct server *s, struct agent *agent, uint64_t now_ms,
                          struct accepted *out)
{
    ASSERT(s->listener.fd >= 0);
    enum status status = listener_accept(&s->listener, out);
    if (status == HOST_IO) {
        if (!s->accept_fails) {
            log_accept(s, agent, out->error);
        }
        s->accept_fails = true;
        s->pause_ms = now_ms + ACCEPT_PAUSE_MS;
        return STATUS_MORE;
    }
    s->accept_fails = s->accept_fails && status == STATUS_MORE;
    if (status == HOST_DENIED) {
        log_denied(s, agent, out->uid);
        return STATUS_MORE;
    }
    return status;
}

int server_poll(const struct server *s, uint64_t now_ms)
{
    return (now_ms >= s->pause_ms) ? s->listener.fd : -1;
}

uint64_t server_deadline(const struct server *s, uint64_t now_ms)
{
    if (!s->wanted) {
        return UINT64_MAX;
    }
    if (s->listener.fd < 0) {
        return s->retry_ms;
    }
    return (s->pause_ms > now_ms) ? s->pause_ms : UINT64_MAX;
}
