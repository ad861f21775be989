/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the server sockets: unix(7) stream sockets with checked peers, and TCP ports for IPv6
 * and IPv4. Logs nothing and retries nothing; servers.c decides when to try again.
 */
#include "host/sockets.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/assert.h"
#include "cfg/limits.h"
#include "host/system.h"

/* --- unix sockets --- */

/*
 * Removes a socket file, which a killed process may have left. Does not remove a file of another
 * type; *error is EEXIST then.
 */
static enum status stale_remove(const char *path, int *error)
{
    struct stat st;
    if (link_stat(path, &st) != 0) {
        return STATUS_OK; /* the file is absent, or bind(2) reports why it cannot be examined */
    }
    if (!S_ISSOCK(st.st_mode)) {
        *error = EEXIST;
        return errno_status(*error);
    }
    if (unlink(path) != 0 && errno != ENOENT) {
        *error = errno;
        return errno_status(*error);
    }
    return STATUS_OK;
}

static struct sockaddr_un unix_address(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    ASSERT(len > 0u && len < sizeof address.sun_path);
    memcpy(address.sun_path, path, len);
    return address;
}

int socket_connect(const char *path)
{
    struct sockaddr_un address = unix_address(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        int error = errno;
        (void)close(fd);
        errno = error;
        fd = -1;
    }
    return fd;
}

bool socket_is_dead(const char *path)
{
    struct stat st;
    if (link_stat(path, &st) != 0 || !S_ISSOCK(st.st_mode)) {
        return false;
    }
    int fd = socket_connect(path);
    if (fd < 0) {
        return errno == ECONNREFUSED;
    }
    (void)close(fd);
    return false;
}

static int bind_unix(int fd, const char *path)
{
    struct sockaddr_un address = unix_address(path);
    /*
     * The umask sets the mode of the new file; a chmod after bind would leave the file accessible
     * to other users for a moment.
     */
    mode_t before = umask(0177);
    int failed = bind(fd, (const struct sockaddr *)&address, sizeof address);
    (void)umask(before);
    return failed;
}

/*
 * Writes the temporary path of a socket: the name's first letter becomes a dot. The kubelet's
 * plugin watcher skips hidden names, and the path does not get longer.
 */
static void hidden_path(char hidden[SOCKET_PATH_CAP], const char *path)
{
    size_t len = strlen(path);
    size_t name = len;
    ASSERT(len > 0u && len < SOCKET_PATH_CAP);
    memcpy(hidden, path, len + 1u);
    while (name > 0u && path[name - 1u] != '/') {
        name--;
    }
    hidden[name] = '.';
}

/*
 * Opens a unix socket under a temporary path and renames it once it is listening, so that a process
 * which finds the final name can connect.
 */
static enum status open_unix(struct listener *l, int fd, int *error)
{
    struct stat st;
    char hidden[SOCKET_PATH_CAP];
    enum status s = stale_remove(l->path, error);
    hidden_path(hidden, l->path);
    s = (s == STATUS_OK) ? stale_remove(hidden, error) : s;
    if (s != STATUS_OK) {
        return s;
    }
    if (bind_unix(fd, hidden) != 0) {
        *error = errno;
        return errno_status(*error);
    }
    if (listen(fd, LISTEN_BACKLOG) != 0 || link_stat(hidden, &st) != 0 ||
        path_rename(hidden, l->path) != 0) {
        *error = errno;
        (void)unlink(hidden);
        return errno_status(*error);
    }
    l->device = st.st_dev;
    l->inode = st.st_ino;
    return STATUS_OK;
}

/* --- TCP ports --- */

static bool any_address(const struct listener *l)
{
    return l->address == NULL || l->address[0] == '\0';
}

/* Returns the address to bind; all zero: every address of the machine. */
static struct ip_address listener_address(const struct listener *l, bool v6)
{
    struct ip_address address = {.v6 = v6};
    bool known = any_address(l) || ip_parse(view_text(l->address), &address);
    ASSERT(known && address.v6 == v6); /* the settings accept only valid addresses */
    return address;
}

static struct sockaddr_in6 ipv6_address(const struct ip_address *a, uint16_t port)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    memcpy(address.sin6_addr.s6_addr, a->bytes, sizeof address.sin6_addr.s6_addr);
    return address;
}

static struct sockaddr_in ipv4_address(const struct ip_address *a, uint16_t port)
{
    uint32_t v4 = 0;
    struct reader r = reader_of(view_of(a->bytes, sizeof v4));
    enum status s = reader_u32(&r, &v4);
    ASSERT(s == STATUS_OK);
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(v4)};
}

static int bind_tcp6(const struct listener *l, int fd)
{
    int off = 0;
    struct ip_address address = listener_address(l, true);
    struct sockaddr_in6 at = ipv6_address(&address, l->port);
    if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0) {
        return -1;
    }
    return bind(fd, (const struct sockaddr *)&at, sizeof at);
}

static int bind_tcp4(const struct listener *l, int fd)
{
    struct ip_address address = listener_address(l, false);
    struct sockaddr_in at = ipv4_address(&address, l->port);
    return bind(fd, (const struct sockaddr *)&at, sizeof at);
}

static void learn_port(struct listener *l, int fd)
{
    struct sockaddr_in6 bound = {0};
    socklen_t len = sizeof bound;
    int failed = getsockname(fd, (struct sockaddr *)&bound, &len);
    ASSERT(failed == 0);
    /*
     * The port has the same offset in sockaddr_in and sockaddr_in6, so sin6_port is the port for
     * both families (RFC 3493 §3.3).
     */
    l->port = ntohs(bound.sin6_port);
}

static enum status open_tcp(struct listener *l, int fd, int family, int *error)
{
    int on = 1;
    int failed = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (failed == 0) {
        failed = (family == AF_INET6) ? bind_tcp6(l, fd) : bind_tcp4(l, fd);
    }
    if (failed != 0 || listen(fd, LISTEN_BACKLOG) != 0) {
        *error = errno;
        return errno_status(*error);
    }
    learn_port(l, fd);
    return STATUS_OK;
}

/* --- opening and closing unix sockets and TCP ports --- */

static enum status open_family(struct listener *l, int family, int *error)
{
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        *error = errno;
        return errno_status(*error);
    }
    enum status s = (family == AF_UNIX) ? open_unix(l, fd, error) : open_tcp(l, fd, family, error);
    if (s != STATUS_OK) {
        (void)close(fd);
        return s;
    }
    l->fd = fd;
    return STATUS_OK;
}

enum status listener_open(struct listener *l, int *error)
{
    ASSERT(l->fd == -1);
    if (l->path != NULL) {
        return open_family(l, AF_UNIX, error);
    }
    bool any = any_address(l);
    bool v4 = !any && strchr(l->address, ':') == NULL;
    enum status s = open_family(l, v4 ? AF_INET : AF_INET6, error);
    if (any && s != STATUS_OK && (*error == EAFNOSUPPORT || *error == EADDRNOTAVAIL)) {
        s = open_family(l, AF_INET, error);
    }
    return s;
}

enum listener_file listener_file(const struct listener *l)
{
    struct stat st;
    if (l->path == NULL || l->fd < 0) {
        return LISTENER_FILE_OURS;
    }
    if (link_stat(l->path, &st) != 0) {
        return LISTENER_FILE_GONE;
    }
    bool same = st.st_dev == l->device && st.st_ino == l->inode;
    return same ? LISTENER_FILE_OURS : LISTENER_FILE_TAKEN;
}

void listener_close(struct listener *l)
{
    if (l->fd < 0) {
        return;
    }
    /*
     * Compare the socket file before closing the socket, because no other file can get the inode
     * number of the socket file while the socket is open.
     */
    if (l->path != NULL && listener_file(l) == LISTENER_FILE_OURS) {
        (void)unlink(l->path);
    }
    (void)close(l->fd);
    l->fd = -1;
}

static bool accept_again(int error)
{
    return error == EINTR || error == ECONNABORTED || error == EPROTO;
}

static enum status check_peer(struct accepted *out)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t len = sizeof peer;
    if (getsockopt(out->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
        (peer.uid == 0u || peer.uid == getauxval(AT_EUID))) {
        out->peer = (uint32_t)peer.pid;
        return STATUS_OK;
    }
    out->uid = peer.uid;
    (void)close(out->fd);
    out->fd = -1;
    return HOST_DENIED;
}

int address_connect(int fd, const struct ip_address *a, uint16_t port)
{
    if (a->v6) {
        struct sockaddr_in6 to = ipv6_address(a, port);
        return connect(fd, (const struct sockaddr *)&to, sizeof to);
    }
    struct sockaddr_in to = ipv4_address(a, port);
    return connect(fd, (const struct sockaddr *)&to, sizeof to);
}

/*
 * Returns a number for the peer's address, never 0: the XOR of all 32-bit words after the family
 * and the port. In both families these words contain the address (RFC 3493 §3.3).
 */
static uint32_t address_folded(const struct sockaddr_in6 *from)
{
    struct reader r = reader_of(view_of(from, sizeof *from));
    uint32_t word = 0;
    uint32_t folded = 0;
    enum status s = reader_u32(&r, &word); /* the first word has the family and the port */
    for (size_t i = 1; i < sizeof *from / sizeof word && s == STATUS_OK; i++) {
        s = reader_u32(&r, &word);
        folded ^= word;
    }
    ASSERT(s == STATUS_OK);
    return (folded != 0u) ? folded : 1u;
}

/*
 * Whether both ends of the connection have the same IP address, which means that the peer runs in
 * this network namespace.
 */
static bool is_local(int fd, const struct sockaddr_in6 *from)
{
    struct sockaddr_in6 own = {0};
    socklen_t len = sizeof own;
    bool known = getsockname(fd, (struct sockaddr *)&own, &len) == 0;
    own.sin6_port = from->sin6_port;
    return known && view_equal(view_of(&own, sizeof own), view_of(from, sizeof *from));
}

enum status listener_accept(const struct listener *l, struct accepted *out)
{
    ASSERT(l->fd >= 0);
    struct sockaddr_in6 from = {0};
    *out = (struct accepted){.fd = -1};
    for (unsigned i = 0; i < SYSCALL_RETRIES_MAX && out->fd < 0; i++) {
        socklen_t len = sizeof from;
        out->fd = accept4(l->fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (out->fd < 0 && !accept_again(errno)) {
            break;
        }
    }
    if (out->fd < 0) {
        out->error = errno;
        return (errno == EAGAIN || accept_again(errno)) ? STATUS_MORE : HOST_IO;
    }
    if (l->path != NULL) {
        return check_peer(out);
    }
    out->peer = is_local(out->fd, &from) ? 0u : address_folded(&from);
    int on = 1;
    /*
     * TCP_NODELAY makes the kernel send small responses at once. A failure is ignored, because the
     * connection works without this option.
     */
    (void)setsockopt(out->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return STATUS_OK;
}
