/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads class/neuron_device, module/neuron/version and the DMI product name under the sysfs root,
 * and the boot id under the proc root. Layout: neuron_cdev.c and neuron_sysfs_metrics.c of the
 * kernel module. opendir(3) allocates, so this file reads directories with getdents64(2).
 */
#include "host/node/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/crc32c.h"
#include "host/node/reading.h"
#include "host/system.h"

/*
 * Size of a buffer for a folder or file of sysfs, a slash, "neuron", the five digits of a uint16,
 * and NUL.
 */
#define DEVICE_PATH_CAP 80u
/* Size of a buffer for a root directory from the settings, and a path below it. */
#define PROBE_PATH_CAP (PATH_CAP + DEVICE_PATH_CAP)

static const char device_prefix[] = "neuron";
#define ERROR_EVENT "stats/hardware/health_status/hw_error_event"

/*
 * Whether the call failed for lack of memory or descriptors, or was interrupted; then the file may
 * still be readable.
 */
static bool is_shortage(int error)
{
    return error == ENOMEM || error == EMFILE || error == ENFILE || error == EINTR;
}

/*
 * Copies the value of a sysfs file. Valid values contain no NUL and do not fill the buffer. Any
 * other value is cut and ends in '?', which makes it invalid, because a cut value without '?' could
 * look valid.
 */
static void copy_value(char value[SYSFS_VALUE_CAP], uint8_t bytes[SYSFS_VALUE_CAP], size_t len)
{
    if (len == SYSFS_VALUE_CAP) {
        bytes[SYSFS_VALUE_CAP - 2u] = (uint8_t)'?';
        /*
         * Set the last byte to '?', too, because text_cut could drop the first '?' if the byte
         * after it looked like the continuation of a UTF-8 character.
         */
        bytes[SYSFS_VALUE_CAP - 1u] = (uint8_t)'?';
    }
    struct view text = view_trim(view_of(bytes, len));
    size_t nul = view_find(text, 0);
    text_cut(value, SYSFS_VALUE_CAP, text);
    if (nul < text.len) {
        ASSERT(nul < SYSFS_VALUE_CAP - 1u); /* the buffer has room for the '?' and the NUL */
        value[nul] = '?';
        value[nul + 1u] = '\0';
    }
}

/*
 * Reads a file once; sysfs returns a value in one read or not at all. *error: set only if memory or
 * descriptors are lacking. false: the file is unreadable.
 */
static bool value_at(int dir_fd, const char *path, char value[SYSFS_VALUE_CAP], int *error)
{
    uint8_t bytes[SYSFS_VALUE_CAP];
    value[0] = 0;
    reading_begins(path);
    int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = (fd < 0) ? -1 : read(fd, bytes, sizeof bytes);
    if (n < 0 && is_shortage(errno)) {
        *error = errno;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    reading_ends();
    ASSERT(n <= (ssize_t)sizeof bytes);
    if (n > 0) {
        copy_value(value, bytes, (size_t)n);
    }
    return n >= 0;
}

/*
 * Copies the value of a sysfs file to a shorter array. Empties the array if the value does not fit,
 * because a cut value could look valid.
 */
static void copy_fitting(char *text, size_t cap, struct view value)
{
    text_cut(text, cap, (value.len < cap) ? value : view_of(NULL, 0));
}

void probe_value(const char *path, char value[SYSFS_VALUE_CAP])
{
    int error = 0;
    (void)value_at(AT_FDCWD, path, value, &error);
}

/* --- values of the node, such as its instance type --- */

static const char boot_id_path[] = "sys/kernel/random/boot_id";

void probe_boot_id(const char *proc_root, char value[SYSFS_VALUE_CAP])
{
    char path[PROBE_PATH_CAP];
    path_join(path, sizeof path, proc_root, boot_id_path);
    probe_value(path, value);
}

struct probe_run {
    const struct settings *settings;
    struct probe *probe;
    struct found_node *out; /* the findings: member `found` of `probe` */
    /* descriptor of class/neuron_device; -1: the directory is absent, or cannot be opened */
    int fd;
    int error; /* errno of a failure that makes the findings incomplete; 0: no failure */
    bool all;  /* read all files of the current device, even those whose value is known */
    bool nodes_unchanged; /* see nodes_look */
    /* descriptors of the current device's health files that stay open; NULL: none stays open */
    int *kept;
};

/* Reads a value of the node if the value is still empty or `all` is set. */
static void node_value(struct probe_run *l, const char *root, const char *rest, bool all,
                       char value[SYSFS_VALUE_CAP])
{
    if (all || value[0] == '\0') {
        char path[PROBE_PATH_CAP];
        path_join(path, sizeof path, root, rest);
        (void)value_at(AT_FDCWD, path, value, &l->error);
    }
}

static void node_values(struct probe_run *l, bool all)
{
    static const char product[] = "devices/virtual/dmi/id/product_name";
    const struct settings *s = l->settings;
    struct found_node *out = l->out;
    if (!reading_of(READING_NODE, 0)) {
        return;
    }
    if (s->instance_type[0] != '\0') {
        text_cut(out->product_name, sizeof out->product_name, view_text(s->instance_type));
    } else {
        node_value(l, s->sysfs_root, product, all, out->product_name);
    }
    node_value(l, s->sysfs_root, "module/neuron/version", all, out->driver_version);
    node_value(l, s->proc_root, boot_id_path, all, out->boot_id);
    /* Read this file in every probe, because it is not in sysfs, and an operator may change it. */
    node_value(l, s->neuron_dir, "logical_nc_config", true, out->lnc_config);
}

/*
 * Reads one of the files of class/neuron_device that show how the UltraServer leader election
 * ended. Reads a known value again only if `all` is set, because the values rarely change: the
 * election runs when the kernel module loads, and again only if an ioctl requests it.
 */
static void ultraserver_value(struct probe_run *l, const char *file, bool all,
                              char value[ULTRASERVER_TEXT_CAP])
{
    char text[SYSFS_VALUE_CAP];
    bool known = value[0] != '\0' && !text_is(value, "busy");
    if (all || !known) {
        (void)value_at(l->fd, file, text, &l->error);
        text_cut(value, ULTRASERVER_TEXT_CAP, view_text(text));
    }
}

static void ultraserver_read(struct probe_run *l, bool all, struct found_ultraserver *u)
{
    char before[ULTRASERVER_TEXT_CAP];
    memcpy(before, u->modes, sizeof before);
    ultraserver_value(l, "ultraserver_mode", true, u->modes);
    /*
     * If the file with the UltraServer modes has changed, a new leader election may have changed
     * the node ids too.
     */
    bool changed = all || strncmp(before, u->modes, sizeof before) != 0;
    ultraserver_value(l, "node_id_2", changed, u->node_id[ULTRASERVER_PAIR]);
    ultraserver_value(l, "node_id_4", changed, u->node_id[ULTRASERVER_QUAD]);
    ultraserver_value(l, "server_id_2", changed, u->server_id[ULTRASERVER_PAIR]);
    ultraserver_value(l, "server_id_4", changed, u->server_id[ULTRASERVER_QUAD]);
    ultraserver_value(l, "node_id", changed, u->group_node_id);
    ultraserver_value(l, "reservation_id", changed, u->group_id);
}

static void read_ultraserver(struct probe_run *l, bool all)
{
    const struct board *board = board_find(l->out->product_name);
    struct found_ultraserver *u = &l->out->ultraserver;
    if (board == NULL || !board->ultraserver || l->fd < 0) {
        memset(u, 0, sizeof *u);
        return;
    }
    if (reading_of(READING_NODE, 0)) {
        ultraserver_read(l, all, u);
    }
}

static void device_value(struct probe_run *l, const char *name, const char *file, bool all,
                         char value[SYSFS_VALUE_CAP])
{
    if (all || value[0] == '\0') {
        char path[DEVICE_PATH_CAP];
        path_join(path, sizeof path, name, file);
        (void)value_at(l->fd, path, value, &l->error);
    }
}

/* --- health files of a device --- */

/*
 * Whether the file `fd`, from which a read returned `n` bytes, is in sysfs: its size is at least
 * SYSFS_PAGE_MIN, it has no blocks, and the read returned less than its size. A file elsewhere may
 * be replaced while the old descriptor stays valid, so its descriptor must not be kept.
 */
static bool is_of_sysfs(int fd, ssize_t n)
{
    struct stat st;
    return n >= 0 && n < (ssize_t)SYSFS_VALUE_CAP && descriptor_stat(fd, &st) == 0 &&
           S_ISREG(st.st_mode) && st.st_size >= SYSFS_PAGE_MIN && st.st_blocks == 0;
}

/*
 * After a complete read of a device, keeps the descriptor of a sysfs file open; otherwise closes
 * the descriptor. Sets l->kept[which] to the descriptor that stays open. -1: the file is absent. 0:
 * no descriptor stays open.
 */
static void health_file_keep(struct probe_run *l, unsigned which, int fd, ssize_t n, bool absent)
{
    bool keep = fd >= 0 && l->kept != NULL && l->all && is_of_sysfs(fd, n);
    if (fd >= 0 && !keep) {
        (void)close(fd);
    }
    if (l->kept != NULL) {
        int none = absent ? -1 : 0;
        l->kept[which] = keep ? fd : none;
    }
}

/* Opens and reads a file by name. Keeps the descriptor in l->kept[which], or closes it. */
static ssize_t health_file_open(struct probe_run *l, const char *path, unsigned which,
                                uint8_t *bytes, bool *absent)
{
    int fd = openat(l->fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = (fd < 0) ? -1 : read(fd, bytes, SYSFS_VALUE_CAP);
    *absent = fd < 0 && errno == ENOENT;
    if (n < 0 && is_shortage(errno)) {
        l->error = errno;
    }
    health_file_keep(l, which, fd, n, *absent);
    return n;
}

/* Reads a health file of a device. Returns false if the file is unreadable. */
static bool health_value(struct probe_run *l, const char *name, unsigned which,
                         char value[SYSFS_VALUE_CAP], struct device_reading *r)
{
    uint8_t bytes[SYSFS_VALUE_CAP];
    char path[DEVICE_PATH_CAP];
    int fd = (l->kept != NULL) ? l->kept[which] : 0;
    ssize_t n = -1;
    path_join(path, sizeof path, name, health_file_path(which));
    reading_begins(path);
    if (fd > 0) {
        n = pread(fd, bytes, sizeof bytes, 0);
        if (n < 0) {
            /*
             * The kernel has removed this file, so the file of the same name is opened again below.
             */
            (void)close(fd);
        }
    }
    /*
     * Do not try in each probe to open a file that the kernel module does not provide. Each module
     * with health files has the file of the ECC counters. So while that file is open, the device
     * exists, and an absent file is one that the module lacks. Only a complete read of the device
     * tries to open such a file again.
     */
    bool missing = fd < 0 && l->kept[HEALTH_FILE_ECC] > 0 && !l->all;
    bool absent = missing;
    if (n < 0 && !missing) {
        n = health_file_open(l, path, which, bytes, &absent);
    }
    reading_ends();
    ASSERT(n <= (ssize_t)sizeof bytes);
    if (n < 0) {
        device_reading_unread(r, which, absent);
    }
    value[0] = '\0';
    if (n > 0) {
        copy_value(value, bytes, (size_t)n);
    }
    return n >= 0;
}

/*
 * Reads the health files of a device, including its list of components, which kernel modules since
 * 2.30 provide on Trainium2 and Trainium3. While that list can be read, the counters decide nothing
 * (rule R2 of dra/health.h), so only a complete read of the device reads them.
 */
static void read_health(struct probe_run *l, const char *name, struct device_reading *r)
{
    static const unsigned counter_files = ((1u << HEALTH_COUNTERS) - 1u)
                                          << (unsigned)HEALTH_FILE_ECC;
    char value[SYSFS_VALUE_CAP];
    const struct device_reading last = *r;
    *r = (struct device_reading){0};
    bool there = health_value(l, name, HEALTH_FILE_COMPONENTS, value, r);
    device_reading_components(r, view_text(value), there);
    if (health_value(l, name, HEALTH_FILE_RESET, value, r)) {
        device_reading_reset(r, view_text(value));
    }
    if (there && last.listed && !l->all) {
        r->unread = (uint8_t)(r->unread | (last.unread & counter_files));
        r->absent = (uint8_t)(r->absent | (last.absent & counter_files));
        return;
    }
    for (unsigned i = 0; i < HEALTH_COUNTERS; i++) {
        if (health_value(l, name, (unsigned)HEALTH_FILE_ECC + i, value, r)) {
            device_reading_counter(r, i, view_text(value));
        }
    }
}

void probe_close(struct probe *p)
{
    for (unsigned i = 0; i < HEALTH_DEVICES_KEPT; i++) {
        for (unsigned file = 0; file < HEALTH_FILES; file++) {
            if (p->kept[i][file] > 0) {
                (void)close(p->kept[i][file]);
            }
            p->kept[i][file] = 0;
        }
    }
}

/* --- the values of one device --- */

/* Device number (st_rdev) of a device node; 0: the file is not a character device. */
static uint64_t node_of(const struct stat *st)
{
    return S_ISCHR(st->st_mode) ? (uint64_t)st->st_rdev : 0u;
}

/*
 * Sets l->nodes_unchanged if no device node can have changed since the last probe: the kernel sets
 * the time of change of the directory when an entry is created, removed or replaced. The first
 * probes after a change still look at each node, because a second change in the same tick of the
 * kernel's clock does not show. A node that is a link may change elsewhere.
 */
static void nodes_look(struct probe_run *l)
{
    struct probe *p = l->probe;
    struct stat st;
    struct nodes_mark now = {0};
    if (path_stat(l->settings->dev_root, &st) == 0) {
        now.device = (uint64_t)st.st_dev;
        now.inode = (uint64_t)st.st_ino;
        now.changed_s = (int64_t)st.st_ctim.tv_sec;
        now.changed_ns = (int64_t)st.st_ctim.tv_nsec;
    }
    bool same = now.inode != 0u && now.inode == p->nodes.inode && now.device == p->nodes.device &&
                now.changed_s == p->nodes.changed_s && now.changed_ns == p->nodes.changed_ns;
    p->nodes = now;
    l->nodes_unchanged = same && p->nodes_seen >= NODE_PROBES_MIN;
    p->nodes_seen = same ? p->nodes_seen : 0u;
    p->nodes_seen = l->nodes_unchanged ? p->nodes_seen : p->nodes_seen + 1u;
}

static void read_node(struct probe_run *l, const char *name, struct found_device *d)
{
    char node[PROBE_PATH_CAP];
    struct stat st;
    path_join(node, sizeof node, l->settings->dev_root, name);
    bool exists = link_stat(node, &st) == 0;
    if (exists && S_ISLNK(st.st_mode)) {
        l->probe->nodes_seen = 0;
        exists = path_stat(node, &st) == 0;
    }
    d->node_exists = exists;
    d->place.node = exists ? node_of(&st) : 0u;
    if (!exists && is_shortage(errno)) {
        l->error = errno;
    }
}

/*
 * Finds the root complex of a PCI device. The link in bus/pci/devices leads to
 * ../../../devices/pci<domain>:<bus>/…/<address> (pci-sysfs.c). Sets `root` to an empty text if the
 * link has another form.
 */
static void read_root(const char *path, const char *address, char root[PCIE_ROOT_CAP])
{
    static const char tree[] = "../../../devices/";
    uint8_t bytes[LINK_BYTES_MAX];
    ssize_t n = readlink(path, (char *)bytes, sizeof bytes);
    struct view target = view_of(bytes, (n > 0) ? (size_t)n : 0u);
    size_t last = PCI_ADDRESS_CAP - 1u;
    struct view first = view_of(NULL, 0);
    if (target.len > sizeof tree + last && target.len < sizeof bytes && view_starts(target, tree) &&
        view_is(view_from(target, target.len - last), address)) {
        first = view_from(target, sizeof tree - 1u);
        first = view_first(first, view_find(first, '/'));
    }
    bool good = view_starts(first, "pci");
    copy_fitting(root, PCIE_ROOT_CAP, good ? first : view_of(NULL, 0));
}

/*
 * Reads the NUMA node and the PCIe root. The PCI address comes from the board's table, because the
 * kernel module does not show it.
 */
static void read_pci(struct probe_run *l, bool all, struct found_device *d)
{
    const char *address = board_pci_address(board_find(l->out->product_name), d->number);
    if (address[0] == '\0') {
        d->numa_node[0] = '\0';
        d->pcie_root[0] = '\0';
    } else if (all || d->numa_node[0] == '\0') {
        char folder[DEVICE_PATH_CAP];
        char file[DEVICE_PATH_CAP];
        char path[PROBE_PATH_CAP];
        char value[SYSFS_VALUE_CAP];
        path_join(folder, sizeof folder, "bus/pci/devices", address);
        path_join(file, sizeof file, folder, "numa_node");
        path_join(path, sizeof path, l->settings->sysfs_root, folder);
        read_root(path, address, d->pcie_root);
        value[0] = '\0';
        node_value(l, l->settings->sysfs_root, file, true, value);
        copy_fitting(d->numa_node, sizeof d->numa_node, view_text(value));
    } else {
        /* keep the known NUMA node and PCIe root until the next complete read of this device */
    }
}

static void read_device(struct probe_run *l, const char *name, bool all, unsigned place)
{
    struct found_device *d = &l->out->devices[place];
    l->all = all;
    l->kept = (place < HEALTH_DEVICES_KEPT) ? l->probe->kept[place] : NULL;
    if (all || !l->nodes_unchanged) {
        read_node(l, name, d);
    }
    if (!reading_of(READING_DEVICE, d->number)) {
        return;
    }
    device_value(l, name, "core_count", all, d->core_count);
    /*
     * connected_devices is empty until the kernel module has found all devices (neuron_pci.c:
     * total_neuron_devices).
     */
    device_value(l, name, "connected_devices", all, d->connected_devices);
    read_pci(l, all, d);
    read_health(l, name, &d->reading);
}

/*
 * Parses the number in the name of a directory "neuronN" as the kernel writes it. Returns false for
 * another name.
 */
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

/* Writes the path of a device below `folder`, which ends in a slash or is empty. */
static void device_path(char path[DEVICE_PATH_CAP], const char *folder, unsigned number)
{
    WRITE_TEXT(path, DEVICE_PATH_CAP, "%%%", TEXT(folder), TEXT(device_prefix), NUMBER(number));
}

/* Inode of the directory `name`; 0: there is no directory of this name. */
static uint64_t directory_inode(struct probe_run *l, const char *name)
{
    struct stat st;
    bool known = entry_stat(l->fd, name, &st) == 0;
    if (!known && is_shortage(errno)) {
        l->error = errno;
    }
    return (known && S_ISDIR(st.st_mode)) ? (uint64_t)st.st_ino : 0u;
}

static void accept_entry(struct probe_run *l, const char *name)
{
    struct found_node *out = l->out;
    uint16_t number = 0;
    /*
     * In class/neuron_device each directory is a device; a plain file is an attribute of the class,
     * such as ultraserver_mode.
     */
    uint64_t folder = (name[0] == '.') ? 0u : directory_inode(l, name);
    if (folder == 0u) {
        return;
    }
    if (!device_number(name, &number) || out->count >= DEVICES_MAX) {
        out->ignored = (uint16_t)((out->ignored < UINT16_MAX) ? out->ignored + 1u : UINT16_MAX);
        return;
    }
    struct found_device *d = &out->devices[out->count];
    out->count++;
    *d = (struct found_device){.number = number, .place = {.folder = folder}};
    read_device(l, name, true, out->count - 1u);
}

static void class_open(struct probe_run *l)
{
    char path[PROBE_PATH_CAP];
    path_join(path, sizeof path, l->settings->sysfs_root, "class/neuron_device");
    l->fd = path_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (l->fd < 0 && errno != ENOENT && errno != ENOTDIR) {
        l->error = errno;
    }
}

/*
 * Reads class/neuron_device to its end and returns the checksum of the names and inodes in it.
 * `take`: also probes each device.
 */
static uint32_t class_read(struct probe_run *l, bool take)
{
    struct directory d;
    struct directory_entry e;
    uint32_t sum = 0;
    directory_begin(&d, l->fd);
    while (directory_next(&d, &e)) {
        sum = crc32c(sum, view_of(&e.inode, sizeof e.inode));
        sum = crc32c(sum, view_text(e.name));
        if (take) {
            accept_entry(l, e.name);
        }
    }
    if (l->fd >= 0 && d.error != 0) {
        l->error = d.error;
    }
    return sum;
}

static void probe_all(struct probe_run *l)
{
    struct found_node *out = l->out;
    /*
     * Do not clear the table of devices, so that its unused memory pages are never written and take
     * no memory; on most nodes three quarters of the table are unused.
     */
    out->count = 0;
    out->ignored = 0;
    probe_close(l->probe);
    node_values(l, true);
    if (l->fd >= 0) {
        (void)close(l->fd);
        class_open(l);
        (void)class_read(l, true);
    }
    read_ultraserver(l, true);
    ASSERT(out->count <= DEVICES_MAX);
}

/*
 * Probes the known devices, after the names and inodes in class/neuron_device were found unchanged:
 * reads all files of the device with index `turn`, and of the others those that change. Returns
 * false if another device has taken the place of the device `turn`.
 */
static bool probe_known(struct probe_run *l, unsigned turn)
{
    struct found_node *out = l->out;
    bool same = true;
    node_values(l, turn == out->count);
    for (unsigned i = 0; i < out->count && same; i++) {
        char name[DEVICE_PATH_CAP];
        struct found_device *d = &out->devices[i];
        device_path(name, "", d->number);
        same = i != turn || directory_inode(l, name) == d->place.folder;
        read_device(l, name, i == turn, i);
    }
    if (same) {
        read_ultraserver(l, turn == out->count);
    }
    return same;
}

int probe_node(const struct settings *settings, struct probe *p)
{
    struct probe_run l = {.settings = settings, .probe = p, .out = &p->found};
    ASSERT(settings->sysfs_root[0] != '\0' && settings->dev_root[0] != '\0');
    class_open(&l);
    nodes_look(&l);
    /*
     * Compute the checksum before probing the devices, so that the next probe detects changes that
     * happen during this probe.
     */
    uint32_t listing = class_read(&l, false);
    bool same = p->known && l.fd >= 0 && l.error == 0 && listing == p->listing;
    if (!same || !probe_known(&l, p->turn)) {
        probe_all(&l);
    }
    p->known = l.fd >= 0 && l.error == 0;
    p->listing = listing;
    p->turn = (p->turn < p->found.count) ? p->turn + 1u : 0u;
    if (l.fd >= 0) {
        (void)close(l.fd);
    }
    return l.error;
}

/* --- identity, memory use and errors of one device --- */

int probe_device(const char *sysfs_root, const char *dev_root, unsigned number,
                 struct device_place *out)
{
    static const char folder[] = "class/neuron_device/";
    char name[DEVICE_PATH_CAP];
    char path[PROBE_PATH_CAP];
    struct stat st = {0};
    device_path(name, folder, number);
    path_join(path, sizeof path, sysfs_root, name);
    int failed = path_stat(path, &st);
    out->folder = (uint64_t)st.st_ino;
    if (failed == 0) {
        path_join(path, sizeof path, dev_root, &name[sizeof folder - 1u]);
        failed = path_stat(path, &st);
    }
    out->node = node_of(&st);
    return (failed == 0) ? 0 : errno;
}

int probe_memory(const char *sysfs_root, unsigned number, unsigned core, const char *file,
                 char value[SYSFS_VALUE_CAP])
{
    char path[PROBE_PATH_CAP];
    int error = 0;
    WRITE_TEXT(path, sizeof path,
               "%/class/neuron_device/neuron%/neuron_core%/stats/memory_usage/device_mem/%",
               TEXT(sysfs_root), NUMBER(number), NUMBER(core), TEXT(file));
    return value_at(AT_FDCWD, path, value, &error) ? 0 : errno;
}

int probe_ultraserver(const char *sysfs_root, struct found_ultraserver *out)
{
    char path[PROBE_PATH_CAP];
    memset(out, 0, sizeof *out);
    path_join(path, sizeof path, sysfs_root, "class/neuron_device");
    struct probe_run l = {.fd = path_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)};
    if (l.fd < 0) {
        return errno;
    }
    ultraserver_read(&l, true, out);
    (void)close(l.fd);
    return l.error;
}

int probe_open_errors(const char *sysfs_root, unsigned number)
{
    uint8_t bytes[SYSFS_VALUE_CAP];
    char name[DEVICE_PATH_CAP];
    char file[DEVICE_PATH_CAP];
    char path[PROBE_PATH_CAP];
    struct stat st;
    device_path(name, "class/neuron_device/", number);
    path_join(file, sizeof file, name, ERROR_EVENT);
    path_join(path, sizeof path, sysfs_root, file);
    if (!reading_of(READING_DEVICE, number)) {
        return -1;
    }
    reading_begins(path);
    int fd = path_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
    /*
     * Accept only a plain file. If the file is a FIFO without a writer, for instance, poll(2)
     * reports an event in each turn of the reader's loop.
     */
    bool plain = fd >= 0 && descriptor_stat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (fd >= 0 && !(plain && read(fd, bytes, sizeof bytes) >= 0)) {
        (void)close(fd);
        fd = -1;
    }
    reading_ends();
    return fd;
}
