/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drivers of this process, and what differs between their devices: one row a kind. Owns these
 * constants only.
 */
#ifndef DRA_DRIVER_H
#define DRA_DRIVER_H

#include <stdbool.h>

/* The drivers of this process; each has its own devices, claims and claim store. */
enum driver_kind { DRIVER_NEURON, DRIVER_EFA };
/* Number of kinds. */
#define DRIVERS ((unsigned)DRIVER_EFA + 1u)

/* What holds for all devices of a kind. Texts are static. */
struct driver_traits {
    const char *module;     /* kernel module, and the word in the names of its device plugins */
    const char *software;   /* its name in messages that ask to reload it */
    const char *a_device;   /* in messages, with its article */
    const char *cdi_kind;   /* of its CDI files */
    const char *cdi_prefix; /* of the names of its CDI files */
    const char *metadata_prefix; /* of the names of its device metadata files */
    /*
     * The number alone names a device and its node. Otherwise the PCI address and the uverbs node
     * of the device do, and its number follows from the board's map.
     */
    bool numbered;
    bool has_cores;    /* a part of a device is some of its cores; otherwise a share of all of it */
    bool configurable; /* a claim may have a configuration */
};

/* The row of a kind; never NULL. */
const struct driver_traits *driver_traits(enum driver_kind kind);

#endif
