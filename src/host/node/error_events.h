/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wakes the loop when the kernel module counts an error: it notifies the device's hw_error_event,
 * which poll(2) reports by POLLPRI to a descriptor that has read the file (sysfs_notify;
 * neuron_sysfs_metrics.c). Where the file is absent, as in modules before 2.28, or does not notify,
 * as a plain file, the look at each --health-interval finds the error. Owns one descriptor for each
 * device; reads no value.
 */
#ifndef HOST_NODE_ERROR_EVENTS_H
#define HOST_NODE_ERROR_EVENTS_H

#include <poll.h>

#include "host/node/probe.h"

struct error_events {
    bool follows;                 /* the descriptors are those of `listing` */
    uint32_t listing;             /* see struct probe */
    uint64_t armed_ms;            /* nothing is waited for before */
    int fd[DEVICES_MAX];          /* by index of the probe's table; -1: none */
    uint16_t number[DEVICES_MAX]; /* of the devices */
};

/* Before the first look at the node: no file is open. */
void error_events_begin(struct error_events *e);
/*
 * After a look at the node: when its devices are others than before, their files are opened, three
 * system calls each.
 */
void error_events_follow(struct error_events *e, const char *sysfs_root, const struct probe *p);
/* What poll(2) waits for, DEVICES_MAX slots. */
void error_events_interest(const struct error_events *e, struct pollfd *slots, uint64_t now_ms);
/* When waiting goes on; `now_ms` or before: it does already. */
uint64_t error_events_armed_ms(const struct error_events *e);
/*
 * Whether a device has news in one of the slots: the node is to be looked at. The files of these
 * devices are opened again, and nothing is waited for during ERROR_EVENT_GAP_MS.
 */
bool error_events_take(struct error_events *e, const char *sysfs_root, const struct pollfd *slots,
                       uint64_t now_ms);
/* Closes what is open, at the end of the process. */
void error_events_end(struct error_events *e);

#endif
