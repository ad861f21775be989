/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the EFA devices in sysfs, see efa_probe.h. bus/pci/drivers/efa has one link for each PCI
 * function, named by the function's address; class/infiniband_verbs/uverbsN is a link to a path
 * that contains this address. Layout: kernel's drivers/base/bus.c, uverbs_main.c, core/sysfs.c and
 * pci-sysfs.c.
 */
#include "host/node/efa_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/assert.h"
#include "host/node/reading.h"
#include "host/system.h"

#define DRIVER_FOLDER "bus/pci/drivers/efa"
#define VERBS_FOLDER "class/infiniband_verbs"
static const char verbs_prefix[] = "uverbs";
/* Size of a buffer for "uverbs", the five digits of a uint16, and NUL. */
#define VERBS_NAME_CAP 12u
/*
 * Size of a buffer for a path below the sysfs root: the longest folder, an RDMA device's name, and
 * a file.
 */
#define EFA_REST_CAP (64u + RDMA_NAME_CAP)
#define EFA_PATH_CAP (PATH_CAP + EFA_REST_CAP)

/* The arguments of folder_list; the function `take` handles each name in the folder. */
struct efa_listing {
    const struct settings *settings;
    struct found_efas *out;
    void (*take)(const struct efa_listing *l, const struct directory_entry *e);
};

static void rest_path(char path[EFA_PATH_CAP], const char *sysfs_root, const char *folder,
                      const char *name, const char *file)
{
    WRITE_TEXT(path, EFA_PATH_CAP, "%/%/%%", TEXT(sysfs_root), TEXT(folder), TEXT(name),
               TEXT(file)); /* the path fits into its buffer, because `name` is valid */
}

/* Reads one value of sysfs and removes white space around it. Empty: the file is unreadable. */
static void value_read(const char *path, char *value, size_t cap)
{
    uint8_t bytes[SYSFS_VALUE_CAP];
    struct writer w = writer_of(bytes, sizeof bytes);
    int error = 0;
    reading_begins(path);
    enum status s = file_read_start(path, &w, &error);
    reading_ends();
    text_cut(value, cap, (s == STATUS_OK) ? view_trim(writer_view(&w)) : view_of(NULL, 0));
}

/* --- PCI functions of the driver efa --- */

static void accept_function(const struct efa_listing *l, const struct directory_entry *e)
{
    struct found_efas *out = l->out;
    uint32_t address = 0;
    if (!pci_address_parse(view_text(e->name), &address)) {
        return; /* not a PCI function, but another file such as bind or uevent */
    }
    if (out->count == EFAS_MAX) {
        out->ignored++;
        return;
    }
    out->efa[out->count] = (struct found_efa){.address = address};
    out->count++;
}

/* --- entries of EFA devices in class/infiniband_verbs --- */

static struct found_efa *find_efa(struct found_efas *out, uint32_t address)
{
    for (unsigned i = 0; i < out->count; i++) {
        if (out->efa[i].address == address) {
            return &out->efa[i];
        }
    }
    return NULL;
}

static void verbs_name(char name[VERBS_NAME_CAP], unsigned number)
{
    WRITE_TEXT(name, VERBS_NAME_CAP, "%%", TEXT(verbs_prefix), NUMBER(number));
}

static void probe_node_file(const char *dev_root, const char *name, struct found_efa *efa)
{
    char path[EFA_PATH_CAP];
    struct stat st;
    WRITE_TEXT(path, sizeof path, "%/infiniband/%", TEXT(dev_root), TEXT(name));
    efa->node_exists = path_stat(path, &st) == 0;
    bool special = efa->node_exists && S_ISCHR(st.st_mode);
    efa->place.node = special ? (uint64_t)st.st_rdev : 0u;
}

/*
 * Whether the text is a plain file name. A slash or a leading dot could make the path lead out of
 * the folder.
 */
static bool is_name(const char *text)
{
    struct view v = view_text(text);
    return v.len > 0u && v.data[0] != (uint8_t)'.' && view_find(v, '/') == v.len;
}

static void values_read(const struct settings *s, const char *name, struct found_efa *efa)
{
    char path[EFA_PATH_CAP];
    char address[PCI_ADDRESS_CAP];
    pci_address_text(efa->address, address);
    rest_path(path, s->sysfs_root, "bus/pci/devices", address, "/numa_node");
    value_read(path, efa->numa_node, sizeof efa->numa_node);
    rest_path(path, s->sysfs_root, "bus/pci/devices", address, "/subsystem_device");
    value_read(path, efa->subsystem, sizeof efa->subsystem);
    rest_path(path, s->sysfs_root, VERBS_FOLDER, name, "/ibdev");
    value_read(path, efa->rdma_name, sizeof efa->rdma_name);
    if (is_name(efa->rdma_name)) {
        rest_path(path, s->sysfs_root, "class/infiniband", efa->rdma_name, "/ports/1/state");
        value_read(path, efa->port_state, sizeof efa->port_state);
    }
}

static void accept_verbs(const struct efa_listing *l, const struct directory_entry *e)
{
    uint8_t bytes[LINK_BYTES_MAX];
    char path[EFA_PATH_CAP];
    char root[PCIE_ROOT_CAP];
    uint64_t number = 0;
    uint32_t address = 0;
    struct view name = view_text(e->name);
    struct view digits = view_from(name, sizeof verbs_prefix - 1u);
    if (!view_starts(name, verbs_prefix) ||
        view_decimal(digits, UINT16_MAX, &number) != STATUS_OK || name.len >= VERBS_NAME_CAP) {
        /* not an entry of a device: abi_version, or a name that the kernel does not create */
        return;
    }
    rest_path(path, l->settings->sysfs_root, VERBS_FOLDER, e->name, "");
    ssize_t n = readlink(path, (char *)bytes, sizeof bytes);
    struct view leads_to = view_of(bytes, (n > 0) ? (size_t)n : 0u);
    if (leads_to.len == sizeof bytes || !efa_link_parse(leads_to, name, &address, root)) {
        return;
    }
    struct found_efa *efa = find_efa(l->out, address);
    if (efa == NULL) {
        return; /* the entry belongs to an RDMA device of another kernel driver */
    }
    efa->verbs = true;
    efa->number = (uint16_t)number;
    efa->place.folder = e->inode;
    text_set(efa->pcie_root, sizeof efa->pcie_root, root);
    probe_node_file(l->settings->dev_root, e->name, efa);
    if (reading_of(READING_EFA, address)) {
        values_read(l->settings, e->name, efa);
    }
}

/* --- the probe of all EFA devices --- */

/*
 * Calls l->take for each name in a folder of sysfs. Returns 0, even if the folder is absent. If the
 * folder cannot be read, returns an errno, and the devices are unknown.
 */
static int folder_list(const struct efa_listing *l, const char *folder)
{
    struct directory d;
    struct directory_entry e;
    char path[EFA_PATH_CAP];
    rest_path(path, l->settings->sysfs_root, folder, "", "");
    directory_open(&d, path);
    while (directory_next(&d, &e)) {
        l->take(l, &e);
    }
    int error = directory_close(&d);
    return (error == ENOENT || error == ENOTDIR) ? 0 : error;
}

int efas_probe(const struct settings *settings, struct found_efas *found)
{
    struct efa_listing l = {.settings = settings, .out = found, .take = accept_function};
    ASSERT(settings->sysfs_root[0] != '\0' && settings->dev_root[0] != '\0');
    found->count = 0;
    found->ignored = 0;
    int error = folder_list(&l, DRIVER_FOLDER);
    l.take = accept_verbs;
    if (error == 0 && found->count > 0u) {
        error = folder_list(&l, VERBS_FOLDER);
    }
    found->unknown = error != 0;
    found->count = (error != 0) ? 0u : found->count;
    return error;
}

int efa_identify(const char *sysfs_root, const char *dev_root, unsigned number,
                 struct device_place *out)
{
    struct found_efa efa = {0};
    char name[VERBS_NAME_CAP];
    char path[EFA_PATH_CAP];
    struct stat st;
    verbs_name(name, number);
    rest_path(path, sysfs_root, VERBS_FOLDER, name, "");
    int failed = link_stat(path, &st);
    out->folder = (failed == 0) ? (uint64_t)st.st_ino : 0u;
    if (failed == 0) {
        probe_node_file(dev_root, name, &efa);
        failed = efa.node_exists ? 0 : -1;
    }
    out->node = efa.place.node;
    return (failed == 0) ? 0 : errno;
}
