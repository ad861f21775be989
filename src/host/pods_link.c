/* SPDX-License-Identifier: Apache-2.0 */
/* Moves bytes between the kubelet's socket and LINK_PODS, see pods_link.h. */
#include "host/pods_link.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "host/sockets.h"
#include "host/system.h"

bool pods_link_path(const struct settings *s, char path[SOCKET_PATH_CAP])
{
    struct writer w = writer_of(path, SOCKET_PATH_CAP);
    struct view root = view_text(s->plugins_dir);
    while (root.len > 0u && root.data[root.len - 1u] != (uint8_t)'/') {
        root.len--;
    }
    WRITE(&w, "%pod-resources/kubelet.sock", VIEW(root));
    return writer_end_text(&w) == STATUS_OK;
}

void pods_link_init(struct pods_link *l, struct agent *agent, const struct settings *settings)
{
    ASSERT(agent != NULL && settings != NULL);
    l->agent = agent;
    l->settings = settings;
    l->fd = -1;
}

void pods_link_start(struct pods_link *l, uint64_t now_ms)
{
    char path[SOCKET_PATH_CAP];
    char text[HOST_TEXT_CAP];
    pods_link_end(l);
    if (pods_link_path(l->settings, path)) {
        l->fd = socket_connect(path);
    } else {
        path[0] = '\0';
        errno = ENAMETOOLONG;
    }
    if (l->fd >= 0) {
        agent_pods_opened(l->agent, now_ms);
        return;
    }
    WRITE_TEXT(text, sizeof text, "%: %", TEXT(path), ERRNO(errno));
    agent_pods_failed(l->agent, text);
}

void pods_link_end(struct pods_link *l)
{
    if (l->fd >= 0) {
        (void)close(l->fd);
        l->fd = -1;
    }
}

/* The kubelet has closed the connection, or the descriptor failed. */
static void report_closed(struct pods_link *l)
{
    pods_link_end(l);
    agent_link_end(l->agent, LINK_PODS);
}

int pods_link_interest(const struct pods_link *l, short *events)
{
    *events = 0;
    if (l->fd >= 0) {
        struct writer room = agent_link_rx(l->agent, LINK_PODS);
        *events = (writer_room(&room) > 0u) ? POLLIN : 0;
        *events |= (agent_link_tx(l->agent, LINK_PODS).len > 0u) ? POLLOUT : 0;
    }
    return l->fd;
}

void pods_link_turn(struct pods_link *l, short revents)
{
    if (l->fd < 0 || (revents & (POLLIN | POLLHUP | POLLERR)) == 0) {
        return;
    }
    struct writer room = agent_link_rx(l->agent, LINK_PODS);
    if (writer_room(&room) == 0u) {
        return; /* the rest of the list is read when the agent has handled what it has */
    }
    ssize_t n = read(l->fd, &room.data[room.len], writer_room(&room));
    if (n > 0) {
        agent_link_rx_commit(l->agent, LINK_PODS, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        report_closed(l);
    } else {
        /* the bytes come with a later event */
    }
}

bool pods_link_write(struct pods_link *l)
{
    if (l->fd < 0) {
        return false;
    }
    struct view tx = agent_link_tx(l->agent, LINK_PODS);
    ssize_t n = (tx.len > 0u) ? send(l->fd, tx.data, tx.len, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
    if (n > 0) {
        agent_link_tx_commit(l->agent, LINK_PODS, (size_t)n);
    } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
        /*
         * the kubelet has closed the connection, perhaps after the whole list, which is still to be
         * read: only drop the output
         */
        agent_link_tx_commit(l->agent, LINK_PODS, tx.len);
    } else {
        /* nothing to send, or the kubelet does not read */
    }
    return n > 0;
}
