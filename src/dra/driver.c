/* SPDX-License-Identifier: Apache-2.0 */
/* The table of driver traits; see driver.h. */
#include "dra/driver.h"

#include "base/assert.h"
#include "cfg/identity.h"

static const struct driver_traits rows[DRIVERS] = {
    [DRIVER_NEURON] = {.module = "neuron",
                       .software = "Neuron",
                       .a_device = "a Neuron",
                       .cdi_kind = CDI_KIND,
                       .cdi_prefix = CDI_FILE_PREFIX,
                       .metadata_prefix = METADATA_FILE_PREFIX,
                       .numbered = true,
                       .has_cores = true,
                       .configurable = true},
    [DRIVER_EFA] = {.module = "efa",
                    .software = "efa",
                    .a_device = "an EFA",
                    .cdi_kind = EFA_CDI_KIND,
                    .cdi_prefix = EFA_CDI_FILE_PREFIX,
                    .metadata_prefix = EFA_METADATA_FILE_PREFIX,
                    .numbered = false,
                    .has_cores = false,
                    .configurable = false},
};

const struct driver_traits *driver_traits(enum driver_kind kind)
{
    ASSERT((unsigned)kind < DRIVERS);
    return &rows[kind];
}
