/* SPDX-License-Identifier: Apache-2.0 */
/* The look for a device plugin's socket; see device_plugin.h. */
#include "host/device_plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/sockets.h"
#include "host/system.h"

struct plugin_search {
    const char *directory;
    char *name;       /* SOCKET_PATH_CAP bytes */
    unsigned sockets; /* that were looked at */
    bool found;
};

/* strstr(3) is a kilobyte of code. */
static bool is_neuron(struct view name)
{
    bool is = false;
    for (size_t i = 0; i < name.len && !is; i++) {
        is = view_starts(view_from(name, i), "neuron");
    }
    return is;
}

static bool is_served(struct plugin_search *l, const char *name)
{
    char path[HOST_TEXT_CAP];
    struct stat st;
    struct writer w = writer_of(path, sizeof path);
    writer_text(&w, l->directory);
    writer_text(&w, "/");
    writer_text(&w, name);
    if (writer_end_text(&w) != STATUS_OK || link_stat(path, &st) != 0 || !S_ISSOCK(st.st_mode)) {
        return false;
    }
    l->sockets++;
    return l->sockets > DEVICE_PLUGIN_SOCKETS_MAX || w.len >= SOCKET_PATH_CAP ||
           !socket_is_dead(path);
}

static void records_look(struct plugin_search *l, struct view records)
{
    struct directory_entry e;
    size_t at = 0;
    while (!l->found && directory_next(records, &at, &e)) {
        l->found = is_neuron(view_text(e.name)) && is_served(l, e.name);
        if (l->found) {
            text_cut(l->name, SOCKET_PATH_CAP, view_text(e.name));
        }
    }
}

/* 0, or an errno. */
static int directory_look(struct plugin_search *l, int fd)
{
    uint8_t bytes[DIRECTORY_READ_BYTES];
    long n = 1;
    for (unsigned i = 0; i < DIRECTORY_READS_MAX && n > 0 && !l->found; i++) {
        n = syscall(SYS_getdents64, fd, bytes, sizeof bytes);
        records_look(l, view_of(bytes, (n > 0) ? (size_t)n : 0u));
    }
    return (n < 0) ? errno : 0;
}

int device_plugin_look(const char *directory, char name[SOCKET_PATH_CAP])
{
    struct plugin_search l = {.directory = directory, .name = name};
    if (name[0] != '\0' && is_served(&l, name)) {
        return 0;
    }
    int fd = path_open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    int error = (fd < 0) ? errno : directory_look(&l, fd);
    if (fd >= 0) {
        (void)close(fd);
    }
    error = (error == ENOENT || error == ENOTDIR) ? 0 : error;
    if (error == 0 && !l.found) {
        name[0] = '\0';
    }
    return error;
}
