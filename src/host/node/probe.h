/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the node's facts about its devices: texts of the Neuron kernel module, the DMI product name
 * and the boot id. Owns the descriptors of the health files and validates nothing (dra/device.h
 * does); never opens /dev/neuron*, because the next user of an opened device would wait for a
 * reset.
 */
#ifndef HOST_NODE_PROBE_H
#define HOST_NODE_PROBE_H

#include "agent/settings.h"
#include "dra/device.h"

/* State from one probe to the next; all zero before the first. */
struct probe {
    struct found_node found;
    bool known;       /* `found` covers the complete class directory, whose checksum is `listing` */
    uint32_t listing; /* CRC-32C of the directory's names and inodes */
    /* index of the device that the next probe reads completely; `count`: the node */
    unsigned turn;
    /* Descriptors of health files, by index in `found`; 0: none, -1: the file was absent. */
    int kept[HEALTH_DEVICES_KEPT][HEALTH_FILES];
};

/*
 * Probes the node: p->found is the current state. Absent or unreadable values stay empty; a value
 * that is too long or contains a NUL is cut and ends in '?'. `settings` provides the roots, and the
 * instance type where it is set. Bounded: twice DIRECTORY_READS_MAX reads of the class directory
 * and eight files for each of DEVICES_MAX devices, and a file and a link of its PCI device where
 * the board names one.
 *
 * The kernel creates a device's entry in the class directory with the device, and never changes the
 * contents of its files. So while names and inodes there are unchanged, a probe reads only the
 * nodes, values that were empty, the health files, which do change, and all files of one device in
 * turn.
 *
 * Health files in sysfs stay open: the kernel returns the current value to each read at offset 0,
 * and fails the read of a removed file, which is then opened by name. An absent one is tried again
 * in the device's turn. Files elsewhere can be replaced at any time and are opened in each probe.
 *
 * Returns 0, or the errno of a failure that proves nothing about the node: no memory or no
 * descriptor left, a class directory that exists and cannot be read. p->found must not be used
 * then: what it lacks may exist.
 */
MUST_USE int probe_node(const struct settings *settings, struct probe *p);
/* Closes the kept descriptors; the next probe opens the files again. */
void probe_close(struct probe *p);
/*
 * Identifies the device that has this number now: two system calls. Returns 0, or the errno of the
 * first of the two places that failed; members that were not reached are 0 in *out.
 */
MUST_USE int probe_device(const char *sysfs_root, const char *dev_root, unsigned number,
                          struct device_place *out);
/*
 * Reads device_mem/total of a core: three system calls. Returns 0, or the errno of the one that
 * failed.
 */
MUST_USE int probe_memory(const char *sysfs_root, unsigned number, unsigned core,
                          char value[SYSFS_VALUE_CAP]);
/* Reads one file of sysfs, cut as in probe_node; empty: unreadable. */
void probe_value(const char *path, char value[SYSFS_VALUE_CAP]);
/*
 * Reads the class files of an UltraServer node: one system call to open the class directory and
 * three for each file. Returns 0, or the errno of a failure that proves nothing about the node.
 */
MUST_USE int probe_ultraserver(const char *sysfs_root, struct found_ultraserver *out);
/*
 * Opens hw_error_event of this device and reads it once, so that poll(2) reports errors from now on
 * by POLLPRI. Returns the descriptor, which the caller closes, or -1: no such file, or not a plain
 * one.
 */
MUST_USE int probe_open_errors(const char *sysfs_root, unsigned number);

#endif
