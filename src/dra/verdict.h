/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's verdict on the health of one device, as a line of text: the page /statusz has the
 * line, and the commands `devices`, `check` and `claims` read it. Owns the form of that line.
 *
 * Invariants:
 * I1 A line that device_verdict_write wrote is read as the same name and verdict.
 */
#ifndef DRA_VERDICT_H
#define DRA_VERDICT_H

#include "dra/health.h"

/* What the agent says about the health of a device. */
struct device_verdict {
    bool given; /* the agent has a verdict on the device */
    /*
     * the device is unhealthy although its files show no error any more: the agent waits until they
     * have shown none for a while (rules R3 and R4 of dra/health.h)
     */
    bool waits;
    /* the device's memory stays in use, and no claim holds the device */
    bool memory_held;
    uint8_t state; /* health of the device, as enum health */
    /* why the device is unhealthy, as bits HEALTH_REASON_…; 0: it is not unhealthy */
    uint32_t reasons;
};

/*
 * Writes the line about the device of this name, without a newline, such as
 * "device neuron-device-3: unhealthy, without errors now: hbm, sram".
 */
void device_verdict_write(struct writer *out, const char *name, const struct device_verdict *v);
/*
 * Reads a line that device_verdict_write wrote. Returns false for any other line; otherwise *name
 * is a view of the device's name in the line.
 */
bool device_verdict_read(struct view line, struct view *name, struct device_verdict *v);

#endif
