/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for other programs that offer the same devices; see device_plugin.h. */
#include "host/node/device_plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/chars.h"
#include "cfg/identity.h"
#include "host/sockets.h"
#include "host/system.h"

struct plugin_search {
    const char *directory;
    enum driver_kind driver; /* driver whose devices the device plugin would offer */
    char *name;              /* output: the socket's file name, SOCKET_PATH_CAP bytes */
    unsigned sockets;        /* number of sockets tested so far */
    bool found;
};

/*
 * Whether the name contains the word "neuron" or, for the EFA driver, "efa". "efa" after a letter
 * does not count, because it is part of another word, as in "default".
 */
static bool has_word(const char *name, enum driver_kind driver)
{
    const char *word = driver_traits(driver)->module;
    const char *at = strstr(name, word);
    while (at != NULL && driver == DRIVER_EFA && at != name && is_letter((uint8_t)at[-1])) {
        at = strstr(&at[1], word);
    }
    return at != NULL;
}

static bool is_served(struct plugin_search *l, const char *name)
{
    char path[HOST_TEXT_CAP];
    struct stat st;
    struct writer w = writer_of(path, sizeof path);
    WRITE(&w, "%/%", TEXT(l->directory), TEXT(name));
    if (writer_end_text(&w) != STATUS_OK || link_stat(path, &st) != 0 || !S_ISSOCK(st.st_mode)) {
        return false;
    }
    l->sockets++;
    return l->sockets > DEVICE_PLUGIN_SOCKETS_MAX || w.len >= SOCKET_PATH_CAP ||
           !socket_is_dead(path);
}

/*
 * Sets l->found and l->name if a device plugin serves a socket in l->directory. Returns 0 or an
 * errno.
 */
static int scan_directory(struct plugin_search *l)
{
    struct directory d;
    struct directory_entry e;
    directory_open(&d, l->directory);
    while (!l->found && directory_next(&d, &e)) {
        l->found = has_word(e.name, l->driver) && is_served(l, e.name);
        if (l->found) {
            text_cut(l->name, SOCKET_PATH_CAP, view_text(e.name));
        }
    }
    return directory_close(&d);
}

int device_plugin_scan(const char *directory, enum driver_kind driver, char name[SOCKET_PATH_CAP])
{
    struct plugin_search l = {.directory = directory, .driver = driver, .name = name};
    if (name[0] != '\0' && is_served(&l, name)) {
        return 0;
    }
    int error = scan_directory(&l);
    error = (error == ENOENT || error == ENOTDIR) ? 0 : error;
    if (error == 0 && !l.found) {
        name[0] = '\0';
    }
    return error;
}

bool other_driver_scan(const struct settings *settings, enum driver_kind driver, bool taken,
                       char path[SOCKET_PATH_CAP])
{
    const struct driver *ours = &settings->driver[driver];
    struct plugin_search l = {.directory = settings->registrar_dir};
    char name[DRIVER_CAP + sizeof REGISTRATION_SOCKET_SUFFIX];
    struct writer n = writer_of(name, sizeof name);
    struct writer p = writer_of(path, SOCKET_PATH_CAP);
    WRITE(&n, "%" REGISTRATION_SOCKET_SUFFIX, TEXT(ours->name));
    WRITE(&p, "%/%" REGISTRATION_SOCKET_SUFFIX, TEXT(settings->registrar_dir), TEXT(ours->name));
    /* A path that is too long for unix(7) belongs to no served socket. */
    bool good = writer_end_text(&n) == STATUS_OK && writer_end_text(&p) == STATUS_OK;
    bool own = good && strcmp(path, ours->registration_socket) == 0;
    return good && (taken || !own) && is_served(&l, name);
}
