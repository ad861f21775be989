/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads facts about the node and its devices: texts of the Neuron kernel module, the DMI product
 * name and the boot id. Owns the descriptors of the health files and validates nothing
 * (dra/device.h does). Never opens /dev/neuron*: the kernel module resets a device after it was
 * opened, and the next user of the device would have to wait.
 */
#ifndef HOST_NODE_PROBE_H
#define HOST_NODE_PROBE_H

#include "agent/settings.h"
#include "dra/device.h"

/* What shows that the directory of the device nodes has changed; all zero: it was not found. */
struct nodes_mark {
    uint64_t device; /* file system of the directory */
    uint64_t inode;
    int64_t changed_s; /* time of the last change, as seconds and nanoseconds */
    int64_t changed_ns;
};

/* State that one probe of the node passes to the next probe; all zero before the first probe. */
struct probe {
    struct found_node found;
    bool known;       /* the last probe read class/neuron_device without an error */
    uint32_t listing; /* CRC-32C of the names and inodes in class/neuron_device */
    /*
     * Index of the device that the next probe reads completely. If it equals found.count, the next
     * probe reads the facts of the node again instead.
     */
    unsigned turn;
    struct nodes_mark nodes; /* at the last probe */
    unsigned nodes_seen; /* number of probes in a row that found `nodes`, up to NODE_PROBES_MIN */
    /*
     * Descriptors of health files, by index of the device in `found`. 0: the file is not open; -1:
     * the file was absent.
     */
    int kept[HEALTH_DEVICES_KEPT][HEALTH_FILES];
};

/*
 * Probes the node: p->found becomes its current state. Absent or unreadable values stay empty; a
 * value that is too long or contains a NUL is cut and ends in '?'. `settings` provides the roots
 * and, if set, the instance type. A probe makes at most two times DIRECTORY_READS_MAX reads of the
 * class directory. For each of at most DEVICES_MAX devices it reads eight files and, if the board's
 * table has the device's PCI address, a file and a link of the PCI device.
 *
 * The kernel creates a device's entry in the class directory with the device, and never changes the
 * contents of its files, except the health files. So while names and inodes in the directory are
 * unchanged, a probe reads only the device nodes, values that were empty, and the health files
 * that decide; in addition, it reads all files of one device, which is a different device in each
 * probe. While the directory of the device nodes has not changed, a probe does not look at them
 * either, except at that device's.
 *
 * Health files in sysfs stay open: each read at offset 0 returns the current value. If a file was
 * removed, the read fails, and the probe opens the file by name. The complete read of a device also
 * tries to open files that were absent. Files outside sysfs can be replaced at any time, so each
 * probe opens them.
 *
 * Returns 0, or an errno if the state of the node is unknown: no memory or no descriptor left, or
 * the class directory exists and cannot be read. p->found must not be used then, because devices
 * may be missing from it.
 */
MUST_USE int probe_node(const struct settings *settings, struct probe *p);
/* Closes the health files that a probe keeps open; the next probe opens them again. */
void probe_close(struct probe *p);
/*
 * Finds which Neuron device and which device node have number `number` now, with two system calls.
 * Returns 0, or the errno of the first call that failed; members of *out that were not read are 0.
 */
MUST_USE int probe_device(const char *sysfs_root, const char *dev_root, unsigned number,
                          struct device_place *out);
/*
 * Reads a counter of the memory use of a core, with three system calls. `file`: path of its file
 * below the core's folder device_mem (core_memory_path). Returns 0, or the errno of the call that
 * failed.
 */
MUST_USE int probe_memory(const char *sysfs_root, unsigned number, unsigned core, const char *file,
                          char value[SYSFS_VALUE_CAP]);
/*
 * Sets `value` to the content of one file of sysfs, cut as in probe_node; empty: the file is
 * unreadable.
 */
void probe_value(const char *path, char value[SYSFS_VALUE_CAP]);
/* Sets `value` to the boot id of the host, cut as in probe_node; empty: the file is unreadable. */
void probe_boot_id(const char *proc_root, char value[SYSFS_VALUE_CAP]);
/*
 * Reads the UltraServer files of class/neuron_device (modes, and results of the leader election):
 * one system call to open that directory and three for each file. Returns 0, or an errno if the
 * state of the node is unknown.
 */
MUST_USE int probe_ultraserver(const char *sysfs_root, struct found_ultraserver *out);
/*
 * Opens hw_error_event of a device and reads it once, so that poll(2) reports later errors by
 * POLLPRI. Returns the descriptor, which the caller closes. -1: the file is absent, unreadable or
 * not a regular file, or reading_of does not allow reading it.
 */
MUST_USE int probe_open_errors(const char *sysfs_root, unsigned number);

#endif
