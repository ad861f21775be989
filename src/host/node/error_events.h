/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wakes the loop when the kernel module counts an error: it notifies the device's hw_error_event,
 * which poll(2) reports by POLLPRI to a descriptor that has read the file (sysfs_notify;
 * neuron_sysfs_metrics.c). Where the file is absent, as in modules before 2.28, or does not notify,
 * as a plain file, the probe at each --health-interval finds the error. Owns one descriptor for
 * each device; reads no value.
 */
#ifndef HOST_NODE_ERROR_EVENTS_H
#define HOST_NODE_ERROR_EVENTS_H

#include <poll.h>

#include "host/node/probe.h"

/* Descriptors by which the kernel module reports errors of devices. */
struct error_events {
    bool follows;                 /* the descriptors belong to the devices of `listing` */
    uint32_t listing;             /* see struct probe */
    uint64_t armed_ms;            /* events are ignored before this time */
    int fd[DEVICES_MAX];          /* by index in the probe's table; -1: none */
    uint16_t number[DEVICES_MAX]; /* number of each device */
};

/* Initializes without open files, before the first probe. */
void error_events_begin(struct error_events *e);
/* After a probe: if the devices have changed, opens their files, three system calls each. */
void error_events_follow(struct error_events *e, const char *sysfs_root, const struct probe *p);
/* Sets the slots for poll(2), DEVICES_MAX of them. */
void error_events_interest(const struct error_events *e, struct pollfd *slots, uint64_t now_ms);
/* Time at which waiting resumes; `now_ms` or earlier: it has resumed. */
uint64_t error_events_armed_ms(const struct error_events *e);
/*
 * Whether a slot reports an error, so that the node must be probed. Opens the files of these
 * devices again, and ignores events during ERROR_EVENT_GAP_MS.
 */
bool error_events_poll(struct error_events *e, const char *sysfs_root, const struct pollfd *slots,
                       uint64_t now_ms);
/* Closes all descriptors, at the end of the process. */
void error_events_end(struct error_events *e);

#endif
