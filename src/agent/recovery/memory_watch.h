/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches the memory of devices that no claim holds (memory_watch.c): memory that stays in use
 * there belongs to a runtime that died, or to a container that nobody can end, and the next pod
 * cannot use it. Owns struct memory_watch. Internal to src/agent.
 *
 * Rules:
 * M1 Memory counts beyond the base line of each core (dra/core_memory.h).
 * M2 A device that a claim holds is not judged: its containers may run, or be slow to end. The only
 *    exception is a part of a device for which a claim was refused.
 * M3 A device is held if each look shows memory in use for DEVICE_MEMORY_STUCK_MS. That time begins
 *    when the last claim gave the device up, when a look first showed memory in use, or when the
 *    agent started, whichever is later.
 * M4 If the kubelet's checkpoint still lists the claim that had the device last, the kubelet has
 *    not finished with its containers, so the watch starts the time of rule M3 again. If the
 *    checkpoint cannot be read, the kubelet's unprepare alone starts that time.
 * M5 A look that shows no memory in use ends all of that at once. So does a device that vanishes.
 * M6 While the agent does not know all claims of the node, no device is judged.
 */
#ifndef AGENT_RECOVERY_MEMORY_WATCH_H
#define AGENT_RECOVERY_MEMORY_WATCH_H

#include "agent/agent.h"
#include "base/bytes.h"

/* The devices whose memory is watched. Bit N of a mask is the device with number N. */
struct memory_watch {
    bool started;     /* the first step made all devices watched */
    uint64_t claimed; /* devices that claims held at the last step */
    /*
     * devices that each look includes: those that a claim gave up, and those whose memory was in
     * use at the last look
     */
    uint64_t watched;
    uint64_t held;                  /* devices that are held by rule M3, which was logged */
    uint64_t looking;               /* devices whose files are being read; 0: no look is running */
    uint64_t look_ms;               /* time of the next look */
    unsigned turn;                  /* number of the device that the last look included in turn */
    uint64_t since_ms[DEVICES_MAX]; /* element N: when the time of rule M3 began for device N */
};

/*
 * Looks at the memory of devices every DEVICE_MEMORY_LOOK_MS: at those that are watched, and at one
 * other device in turn. Logs a device that is held, once, and its end. Passes the held devices to
 * agent/node, and lets the publisher update the slices.
 */
void memory_watch_step(struct agent *a);
uint64_t memory_watch_deadline(const struct agent *a);
/* Whether memory_watch_text has something to say about device `number`. */
bool memory_watch_has_text(const struct agent *a, unsigned number);
/* Writes one line for an operator about a device that is held or refused to claims. */
void memory_watch_text(const struct agent *a, unsigned number, struct writer *out);

#endif
