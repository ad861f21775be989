/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads class/neuron_device, module/neuron/version and the DMI product name under the sysfs root,
 * and the boot id under the proc root. Layout: neuron_cdev.c and neuron_sysfs_metrics.c of the
 * kernel module. opendir(3) allocates, so directories are read by getdents64(2).
 */
#include "host/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "host/system.h"

#define PROBE_PATH_CAP (PATH_CAP + 64u)
/* "neuron" and the five digits of a uint16, a slash, the longest file name below it, NUL. */
#define DEVICE_PATH_CAP 64u

static const char device_prefix[] = "neuron";

/* The process lacks memory or descriptors: this says nothing about the file. */
static bool is_shortage(int error)
{
    return error == ENOMEM || error == EMFILE || error == ENFILE || error == EINTR;
}

/* One read: sysfs gives a value whole or not at all. `*error` keeps the last shortage. */
static void value_at(int dir_fd, const char *path, char value[SYSFS_VALUE_CAP], int *error)
{
    uint8_t bytes[SYSFS_VALUE_CAP];
    value[0] = 0;
    int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = (fd < 0) ? -1 : read(fd, bytes, sizeof bytes);
    if (n < 0 && is_shortage(errno)) {
        *error = errno;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    ASSERT(n <= (ssize_t)sizeof bytes);
    if (n > 0) {
        text_cut(value, SYSFS_VALUE_CAP, view_trim(view_of(bytes, (size_t)n)));
    }
}

static void path_join(char *path, size_t cap, const char *root, const char *rest)
{
    struct writer w = writer_of(path, cap);
    writer_text(&w, root);
    writer_text(&w, "/");
    writer_text(&w, rest);
    enum status ended = writer_end_text(&w);
    ASSERT(ended == STATUS_OK);
}

static void value_under(const char *root, const char *rest, char value[SYSFS_VALUE_CAP], int *error)
{
    char path[PROBE_PATH_CAP];
    path_join(path, sizeof path, root, rest);
    value_at(AT_FDCWD, path, value, error);
}

/* --- the class directory --- */

struct class_scan {
    int fd;
    int error; /* 0, or why what was read is not the whole truth */
    const char *dev_root;
    struct found_node *out;
};

static void device_value(struct class_scan *scan, const char *name, const char *file,
                         char value[SYSFS_VALUE_CAP])
{
    char path[DEVICE_PATH_CAP];
    path_join(path, sizeof path, name, file);
    value_at(scan->fd, path, value, &scan->error);
}

/* What a node is: 0 for what is no character device. */
static uint64_t node_of(const struct stat *st)
{
    return S_ISCHR(st->st_mode) ? (uint64_t)st->st_rdev : 0u;
}

static void device_read(struct class_scan *scan, const char *name, struct found_device *d)
{
    char node[PROBE_PATH_CAP];
    struct stat st;
    path_join(node, sizeof node, scan->dev_root, name);
    d->node_exists = stat(node, &st) == 0;
    d->place.node = d->node_exists ? node_of(&st) : 0u;
    if (!d->node_exists && is_shortage(errno)) {
        scan->error = errno;
    }
    device_value(scan, name, "core_count", d->core_count);
    device_value(scan, name, "connected_devices", d->connected_devices);
}

/* Number of a directory "neuronN", written as the kernel writes it; false for any other name. */
static bool device_number(const char *name, uint16_t *number)
{
    uint64_t n = 0;
    struct view v = view_text(name);
    if (!view_starts(v, device_prefix)) {
        return false;
    }
    struct view digits = view_from(v, sizeof device_prefix - 1u);
    if (view_decimal(digits, UINT16_MAX, &n) != STATUS_OK ||
        (digits.data[0] == '0' && digits.len > 1u)) {
        return false;
    }
    *number = (uint16_t)n;
    return true;
}

/* Inode of a directory; 0: it is none. */
static uint64_t directory_inode(struct class_scan *scan, const char *name)
{
    struct stat st;
    bool known = fstatat(scan->fd, name, &st, 0) == 0;
    if (!known && is_shortage(errno)) {
        scan->error = errno;
    }
    return (known && S_ISDIR(st.st_mode)) ? (uint64_t)st.st_ino : 0u;
}

static void entry_take(struct class_scan *scan, const char *name)
{
    struct found_node *out = scan->out;
    uint16_t number = 0;
    /* Plain files beside the devices are attributes of the class, such as ultraserver_mode. */
    uint64_t folder = (name[0] == '.') ? 0u : directory_inode(scan, name);
    if (folder == 0u) {
        return;
    }
    if (!device_number(name, &number) || out->count >= DEVICES_MAX) {
        out->ignored = (uint16_t)((out->ignored < UINT16_MAX) ? out->ignored + 1u : UINT16_MAX);
        return;
    }
    struct found_device *d = &out->devices[out->count];
    out->count++;
    d->number = number;
    d->place.folder = folder;
    device_read(scan, name, d);
}

static void entries_take(struct class_scan *scan, struct view records)
{
    size_t at = 0;
    const char *name = directory_entry(records, &at);
    while (name != NULL) {
        entry_take(scan, name);
        name = directory_entry(records, &at);
    }
}

static int class_read(const struct settings *settings, struct found_node *out)
{
    char path[PROBE_PATH_CAP];
    uint8_t bytes[DIRECTORY_READ_BYTES];
    path_join(path, sizeof path, settings->sysfs_root, "class/neuron_device");
    struct class_scan scan = {.dev_root = settings->dev_root, .out = out};
    scan.fd = path_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (scan.fd < 0) {
        return (errno == ENOENT || errno == ENOTDIR) ? 0 : errno;
    }
    long n = 1;
    for (unsigned i = 0; i < DIRECTORY_READS_MAX && n > 0; i++) {
        n = syscall(SYS_getdents64, scan.fd, bytes, sizeof bytes);
        if (n > 0) {
            entries_take(&scan, view_of(bytes, (size_t)n));
        }
    }
    if (n < 0) {
        scan.error = errno;
    }
    (void)close(scan.fd);
    ASSERT(out->count <= DEVICES_MAX);
    return scan.error;
}

int probe_node(const struct settings *settings, struct found_node *out)
{
    int error = 0;
    ASSERT(settings->sysfs_root[0] != '\0' && settings->dev_root[0] != '\0');
    /* Entries beyond count are left as they are: most nodes touch a quarter of the table. */
    out->count = 0;
    out->ignored = 0;
    value_under(settings->sysfs_root, "devices/virtual/dmi/id/product_name", out->product_name,
                &error);
    if (settings->instance_type[0] != '\0') {
        text_cut(out->product_name, sizeof out->product_name, view_text(settings->instance_type));
    }
    value_under(settings->sysfs_root, "module/neuron/version", out->driver_version, &error);
    value_under(settings->proc_root, "sys/kernel/random/boot_id", out->boot_id, &error);
    int class_error = class_read(settings, out);
    return (class_error != 0) ? class_error : error;
}

/* --- one device --- */

int probe_device(const char *sysfs_root, const char *dev_root, unsigned number,
                 struct device_place *out)
{
    static const char folder[] = "class/neuron_device/";
    char name[DEVICE_PATH_CAP];
    char path[PROBE_PATH_CAP];
    struct stat st = {0};
    struct writer w = writer_of(name, sizeof name);
    writer_text(&w, folder);
    writer_text(&w, device_prefix);
    writer_decimal(&w, number);
    enum status ended = writer_end_text(&w);
    ASSERT(ended == STATUS_OK);
    path_join(path, sizeof path, sysfs_root, name);
    int failed = stat(path, &st);
    out->folder = (uint64_t)st.st_ino;
    if (failed == 0) {
        path_join(path, sizeof path, dev_root, &name[sizeof folder - 1u]);
        failed = stat(path, &st);
    }
    out->node = node_of(&st);
    return (failed == 0) ? 0 : errno;
}
