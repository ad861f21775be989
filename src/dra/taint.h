/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reasons for which a device is published with a taint, and the taint of each reason. A device
 * can have several taints at once: a set of reasons is a mask of TAINT_BIT. Owns no state. Source:
 * DeviceTaint of Kubernetes (resource.k8s.io, KEP-5055).
 */
#ifndef DRA_TAINT_H
#define DRA_TAINT_H

#include "base/bytes.h"
#include "cfg/identity.h"

/* Reasons for a taint. Each is a bit of device.tainted, and an index of devices.taints. */
enum taint_reason {
    TAINT_UNHEALTHY,   /* the device is unhealthy (--unhealthy-taint) */
    TAINT_MEMORY_HELD, /* its memory stays in use, and no claim holds it (--memory-held-taint) */
    TAINT_DRAIN,       /* a label of its Node asks to drain the node */
    TAINTS             /* number of reasons */
};
/* Key of the taint TAINT_DRAIN, and of the Node's label that asks for it. */
#define DRAIN_KEY DRIVER_NAME "/drain"
/* The bit of a reason in a mask of taints. */
#define TAINT_BIT(reason) (1u << (unsigned)(reason))

/* Largest key of a taint, a label key with its prefix (253, '/', 63), with NUL. */
#define TAINT_KEY_CAP 318u
/* Size of a buffer for an effect, NoSchedule or NoExecute, with NUL. */
#define TAINT_EFFECT_CAP 16u

/* The taint of one reason. */
struct taint {
    char key[TAINT_KEY_CAP]; /* empty: devices get no taint for this reason */
    char effect[TAINT_EFFECT_CAP];
};

#endif
