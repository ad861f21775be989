/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what the node says about its devices: texts of the Neuron kernel module, the DMI product
 * name and the boot id. Owns the descriptors of the health files and validates nothing
 * (dra/device.h does); never opens
 * /dev/neuron*, because the next user of an opened device waits for a reset.
 */
#ifndef HOST_NODE_PROBE_H
#define HOST_NODE_PROBE_H

#include "agent/settings.h"
#include "dra/device.h"

/* What the probe knows from one look to the next; all zero before the first. */
struct probe {
    struct found_node found;
    bool known;       /* `found` is the whole of a class directory that adds up to `listing` */
    uint32_t listing; /* CRC-32C of its names and inodes */
    unsigned turn;    /* index of the device that the next look reads whole; `count`: the node */
    /* Descriptors of sysfs files, by index of `found`; 0: none, -1: there was no such file. */
    int kept[HEALTH_DEVICES_KEPT][HEALTH_FILES];
};

/*
 * Looks at the node: p->found is what is there now. What is absent or cannot be read stays empty; a
 * value longer than its room, or with a NUL in its midst, is cut and ends in '?'. `settings` gives
 * the roots, and the instance type where it is set. Bounded: twice DIRECTORY_READS_MAX reads of the
 * class directory and eight files for each of DEVICES_MAX devices, and a file and a link of its
 * PCI device where the board names that.
 *
 * The kernel makes the entry of a device in the class directory with the device, and never changes
 * what its files say. So while the names and inodes there are those of the last look, only the
 * nodes are looked at, what was empty, the files of health, which do change, and one device in
 * turn, whose files are read again.
 *
 * Files of health that the kernel makes stay open: it gives their value of now to each read at
 * offset 0, and fails the read of one that it has removed, which is then opened by its name. One
 * that was not there is looked for in the device's turn. Files of other kinds can be replaced at
 * any time and are opened in each look.
 *
 * Returns 0, or the errno of a failure that says nothing about the node: no memory or no descriptor
 * left, a class directory that exists and cannot be read. p->found must not be used then: what it
 * lacks may exist.
 */
MUST_USE int probe_node(const struct settings *settings, struct probe *p);
/* Closes what a look left open; the next one opens it again. */
void probe_close(struct probe *p);
/*
 * Looks where the device of this number is now: two system calls. Returns 0, or the errno of the
 * first of the two places that cannot be reached; what was not seen is 0 in *out.
 */
MUST_USE int probe_device(const char *sysfs_root, const char *dev_root, unsigned number,
                          struct device_place *out);
/*
 * Reads device_mem/total of a core, as it is now: three system calls. 0, or the errno of the one
 * that failed.
 */
MUST_USE int probe_memory(const char *sysfs_root, unsigned number, unsigned core,
                          char value[SYSFS_VALUE_CAP]);
/* Reads one file of sysfs, cut as in probe_node; empty: it cannot be read. */
void probe_value(const char *path, char value[SYSFS_VALUE_CAP]);
/*
 * Reads the class files of a node of an UltraServer, one system call to open the class directory
 * and three for each file. Returns 0, or the errno of a failure that says nothing about the node.
 */
MUST_USE int probe_ultraserver(const char *sysfs_root, struct found_ultraserver *out);
/*
 * Opens hw_error_event of this device and reads it once, so that poll(2) reports by POLLPRI what
 * the kernel module counts from now on. Returns the descriptor, the caller's to close, or -1: there
 * is no such file, or it is no plain one.
 */
MUST_USE int probe_open_errors(const char *sysfs_root, unsigned number);

#endif
