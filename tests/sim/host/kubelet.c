/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-kubelet: the kubelet model over unix sockets. It watches a registration directory and calls
 * what registers there. Owns descriptors only; what happens is sim_kubelet's.
 *
 *   sim-kubelet --registry DIR [--release 1.36] [--notice-ms 1000]
 *
 * stdin:   prepare|unprepare DRIVER (NAMESPACE NAME UID)...
 * stdout:  registered DRIVER ENDPOINT SERVICE | refused TEXT | gone DRIVER
 *          called ID | failed TEXT
 *          reply ID HEX, then answered ID CODE TEXT
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/assert.h"
#include "tests/sim/host/host.h"
#include "tests/sim/kubelet/sim_kubelet.h"

#define INOTIFY_BYTES 8192
#define DRIVER_WORD 1
#define CLAIM_WORDS 3
#define FIRST_CLAIM 2

struct seen {
    char path[SOCKET_PATH_CAP]; /* empty: free */
    ino_t inode;
    struct timespec changed;
    bool here;
};

static struct sim_kubelet kubelet;
static struct seen seen[SIM_PLUGINS_MAX];
static int link_fd[SIM_LINKS_MAX];
static const char *registry;

/* --- the directory --- */

static struct seen *seen_at(const char *path)
{
    for (unsigned i = 0; i < SIM_PLUGINS_MAX; i++) {
        if (strcmp(seen[i].path, path) == 0) {
            return &seen[i];
        }
    }
    return NULL;
}

static bool is_same(const struct seen *s, const struct stat *st)
{
    return s->inode == st->st_ino && s->changed.tv_sec == st->st_mtim.tv_sec &&
           s->changed.tv_nsec == st->st_mtim.tv_nsec;
}

/* A socket stands there: tells the model when it is new, or was made anew. */
static void look_at(const char *path)
{
    struct stat st;
    struct seen *s = seen_at(path);
    if (lstat(path, &st) != 0 || !S_ISSOCK(st.st_mode)) {
        return;
    }
    bool same = s != NULL && is_same(s, &st);
    s = s == NULL ? seen_at("") : s;
    if (s == NULL || text_copy(s->path, sizeof s->path, view_text(path)) != STATUS_OK) {
        host_say("refused %s: too many sockets, or too long a path", path);
        return;
    }
    s->inode = st.st_ino;
    s->changed = st.st_mtim;
    s->here = true;
    if (!same && sim_kubelet_socket(&kubelet, path, true) != STATUS_OK) {
        host_say("refused %s: too many plugins", path);
    }
}

static void scan(void)
{
    char path[PATH_CAP];
    DIR *dir = opendir(registry);
    if (dir == NULL) {
        host_fail(registry);
    }
    for (unsigned i = 0; i < SIM_PLUGINS_MAX; i++) {
        seen[i].here = false;
    }
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        struct writer w = writer_of(path, sizeof path);
        writer_text(&w, registry);
        writer_text(&w, "/");
        writer_text(&w, e->d_name);
        if (e->d_name[0] != '.' && writer_end_text(&w) == STATUS_OK) {
            look_at(path);
        }
    }
    (void)closedir(dir);
    for (unsigned i = 0; i < SIM_PLUGINS_MAX; i++) {
        if (seen[i].path[0] != 0 && !seen[i].here) {
            ASSERT(sim_kubelet_socket(&kubelet, seen[i].path, false) == STATUS_OK);
            seen[i].path[0] = 0;
        }
    }
}

static int watch_directory(void)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0 || inotify_add_watch(fd, registry, IN_CREATE | IN_DELETE | IN_MOVE) < 0) {
        host_fail(registry);
    }
    return fd;
}

static void take_notices(int fd)
{
    char bytes[INOTIFY_BYTES];
    while (read(fd, bytes, sizeof bytes) > 0) {
    }
    scan();
}

/* --- links --- */

static void link_close(unsigned link)
{
    if (link_fd[link] >= 0) {
        (void)close(link_fd[link]);
        link_fd[link] = -1;
    }
}

static enum status dial(unsigned link, const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (text_copy(to.sun_path, sizeof to.sun_path, view_text(path)) != STATUS_OK) {
        return FULL_BUFFER;
    }
    link_close(link);
    link_fd[link] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (link_fd[link] >= 0 &&
        connect(link_fd[link], (const struct sockaddr *)&to, sizeof to) == 0) {
        return STATUS_OK;
    }
    link_close(link);
    return HOST_IO;
}

static void carry_out(void)
{
    const char *path = NULL;
    unsigned link = 0;
    enum sim_order order = sim_kubelet_order(&kubelet, &link, &path);
    while (order != SIM_ORDER_NONE) {
        if (order == SIM_ORDER_CLOSE) {
            link_close(link);
        } else {
            sim_kubelet_connected(&kubelet, link, dial(link, path));
        }
        order = sim_kubelet_order(&kubelet, &link, &path);
    }
}

static bool read_link(unsigned link)
{
    struct writer w = sim_kubelet_rx(&kubelet, link);
    if (link_fd[link] < 0 || writer_room(&w) == 0) {
        return false;
    }
    ssize_t n = read(link_fd[link], w.data + w.len, writer_room(&w));
    if (n > 0) {
        sim_kubelet_rx_commit(&kubelet, link, (size_t)n);
        return true;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        sim_kubelet_link_end(&kubelet, link);
        link_close(link);
        return true;
    }
    return false;
}

static bool write_link(unsigned link)
{
    struct view v = sim_kubelet_tx(&kubelet, link);
    if (link_fd[link] < 0 || v.len == 0) {
        return false;
    }
    ssize_t n = send(link_fd[link], v.data, v.len, MSG_NOSIGNAL);
    if (n > 0) {
        sim_kubelet_tx_commit(&kubelet, link, (size_t)n);
    }
    return n > 0;
}

/* --- events --- */

static void tell_answer(const struct sim_kubelet_event *e)
{
    char text[32];
    struct writer w = writer_of(text, sizeof text);
    writer_text(&w, "reply ");
    writer_decimal(&w, e->call);
    ASSERT(writer_end_text(&w) == STATUS_OK);
    host_say_bytes(text, e->reply);
    host_say("answered %u %d %s", e->call, e->code, e->text);
}

static bool tell(void)
{
    struct sim_kubelet_event e;
    if (sim_kubelet_next(&kubelet, &e) != STATUS_OK) {
        return false;
    }
    switch (e.kind) {
    case SIM_KUBELET_REGISTERED:
        host_say("registered %s %s %s", e.driver, e.endpoint, e.service);
        break;
    case SIM_KUBELET_REFUSED:
        host_say("refused %s", e.text);
        break;
    case SIM_KUBELET_GONE:
        host_say("gone %s", e.driver);
        break;
    case SIM_KUBELET_ANSWERED:
        tell_answer(&e);
        break;
    }
    return true;
}

/* --- commands --- */

static bool read_claims(const struct host_words *words, struct sim_claim *claims, unsigned *count)
{
    unsigned given = words->count - FIRST_CLAIM;
    *count = given / CLAIM_WORDS;
    if (given % CLAIM_WORDS != 0 || *count > CLAIMS_PER_CALL_MAX) {
        return false;
    }
    for (unsigned i = 0; i < *count; i++) {
        char *const *at = &words->at[FIRST_CLAIM + i * CLAIM_WORDS];
        struct sim_claim *c = &claims[i];
        if (text_copy(c->ns, sizeof c->ns, view_text(at[0])) != STATUS_OK ||
            text_copy(c->name, sizeof c->name, view_text(at[1])) != STATUS_OK ||
            text_copy(c->uid, sizeof c->uid, view_text(at[2])) != STATUS_OK) {
            return false;
        }
    }
    return true;
}

static void command(const struct host_words *words)
{
    static struct sim_claim claims[CLAIMS_PER_CALL_MAX];
    struct sim_batch batch = {.claims = claims};
    unsigned call = 0;
    bool known = words->count >= FIRST_CLAIM &&
                 (strcmp(words->at[0], "prepare") == 0 || strcmp(words->at[0], "unprepare") == 0);
    if (!known || !read_claims(words, claims, &batch.count)) {
        host_say("failed unknown command");
        return;
    }
    batch.method = strcmp(words->at[0], "prepare") == 0 ? SIM_PREPARE : SIM_UNPREPARE;
    batch.driver = words->at[DRIVER_WORD];
    enum status s = sim_kubelet_call(&kubelet, host_now_ms(), &batch, &call);
    if (s == PEER_NOT_FOUND) {
        host_say("failed DRA driver %s is not registered", batch.driver);
    } else if (s == STATUS_OK) {
        host_say("called %u", call);
    } else {
        host_say("failed %s", status_name(s));
    }
}

/* --- the loop --- */

static void turn(void)
{
    bool moved = true;
    while (moved) {
        moved = false;
        sim_kubelet_step(&kubelet, host_now_ms());
        for (unsigned i = 0; i < SIM_LINKS_MAX; i++) {
            moved = read_link(i) || moved;
        }
        moved = tell() || moved;
        carry_out();
        for (unsigned i = 0; i < SIM_LINKS_MAX; i++) {
            moved = write_link(i) || moved;
        }
    }
}

static void wait_for(int notices, struct pollfd *fds)
{
    fds[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = notices, .events = POLLIN};
    for (unsigned i = 0; i < SIM_LINKS_MAX; i++) {
        bool out = sim_kubelet_tx(&kubelet, i).len > 0;
        fds[2 + i] = (struct pollfd){
            .fd = link_fd[i],
            .events = (short)(POLLIN | (out ? POLLOUT : 0)),
        };
    }
    uint64_t at = sim_kubelet_deadline(&kubelet);
    if (poll(fds, 2 + SIM_LINKS_MAX, host_wait_ms(at)) < 0 && errno != EINTR) {
        host_fail("poll");
    }
}

int main(int argc, char **argv)
{
    static const char *const options[] = {"--registry", "--release", "--notice-ms", NULL};
    struct pollfd fds[2 + SIM_LINKS_MAX];
    struct host_words words;
    host_usage(argc, argv, options);
    registry = host_option(argc, argv, "--registry", ".");
    double release = strtod(host_option(argc, argv, "--release", "1.36"), NULL);
    const struct sim_kubelet_config config = {
        .knows_v1 = release > 1.335,
        .retries_notify = release > 1.355,
        .notice_ms = strtoul(host_option(argc, argv, "--notice-ms", "1000"), NULL, 10),
    };
    for (unsigned i = 0; i < SIM_LINKS_MAX; i++) {
        link_fd[i] = -1;
    }
    sim_kubelet_init(&kubelet, &config, host_now_ms());
    int notices = watch_directory();
    scan();
    for (;;) {
        turn();
        wait_for(notices, fds);
        if (fds[1].revents != 0) {
            take_notices(notices);
        }
        if (fds[0].revents != 0 && !host_read()) {
            return 0;
        }
        while (host_command(&words)) {
            command(&words);
        }
    }
}
