/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wakes the reader process when the kernel module counts an error. The module notifies the device's
 * file hw_error_event, and poll(2) reports this as POLLPRI on a descriptor from which the file was
 * read before (sysfs_notify; neuron_sysfs_metrics.c). If the file does not exist (modules before
 * 2.28) or is outside sysfs, poll(2) reports nothing, and the probe at each --health-interval finds
 * the error. Owns one descriptor for each device; reads no value.
 */
#ifndef HOST_NODE_ERROR_EVENTS_H
#define HOST_NODE_ERROR_EVENTS_H

#include <poll.h>

#include "host/node/probe.h"

/* Descriptors of the files hw_error_event, one for each device. */
struct error_events {
    /*
     * the open files belong to the devices of the probe whose checksum is `listing`; false: open
     * all files again
     */
    bool follows;
    uint32_t listing;  /* value of `listing` in struct probe for which the files were opened */
    uint64_t armed_ms; /* time until which error events are ignored */
    /* descriptors, by index of the device in the probe's table; -1: no file is open */
    int fd[DEVICES_MAX];
    uint16_t number[DEVICES_MAX]; /* number of the device to which fd[i] belongs */
};

/* Initializes `e` without open files. Call before the first probe. */
void error_events_begin(struct error_events *e);
/*
 * Call after each probe. If the devices have changed, opens the file hw_error_event of each, with
 * three system calls for each device.
 */
void error_events_follow(struct error_events *e, const char *sysfs_root, const struct probe *p);
/* Sets the slots for poll(2): DEVICES_MAX of them, one for each file hw_error_event. */
void error_events_interest(const struct error_events *e, struct pollfd *slots, uint64_t now_ms);
/* Returns the time until which error events are ignored; this time may be in the past. */
uint64_t error_events_armed_ms(const struct error_events *e);
/*
 * Whether a slot of poll(2) reports an error of a device, so that the node must be probed. Reopens
 * the files of the devices that reported an error, and ignores further events for
 * ERROR_EVENT_GAP_MS.
 */
bool error_events_poll(struct error_events *e, const char *sysfs_root, const struct pollfd *slots,
                       uint64_t now_ms);
/* Closes all open files hw_error_event. */
void error_events_end(struct error_events *e);

#endif
