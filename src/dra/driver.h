/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drivers of this process, and the differences between their devices: one row of traits for
 * each driver kind. Owns these constants only.
 */
#ifndef DRA_DRIVER_H
#define DRA_DRIVER_H

#include <stdbool.h>

/* The drivers of this process; each has its own devices, claims and claim store. */
enum driver_kind { DRIVER_NEURON, DRIVER_EFA };
/* Number of driver kinds. */
#define DRIVERS ((unsigned)DRIVER_EFA + 1u)

/* Properties that all devices of a driver have in common. Texts are static. */
struct driver_traits {
    /* name of the kernel module; names of device plugins for these devices contain it as a word */
    const char *module;
    const char *software;        /* name of the driver software in messages that ask to reload it */
    const char *a_device;        /* text before "device" in messages: "a Neuron" or "an EFA" */
    const char *cdi_kind;        /* CDI kind in the CDI files of the driver */
    const char *cdi_prefix;      /* prefix of the names of the driver's CDI files */
    const char *metadata_prefix; /* prefix of the names of the driver's metadata files */
    /*
     * true: a device's number alone determines the names of the device and of its node. false: the
     * PCI address determines the device's name, the uverbs number its node, and the device's number
     * follows from the board's map.
     */
    bool numbered;
    bool has_cores;    /* shares divide a device's cores; false: each share uses the whole device */
    bool configurable; /* a claim may have a configuration for this driver */
};

/* Returns the row of a driver kind; never NULL. */
const struct driver_traits *driver_traits(enum driver_kind kind);

#endif
