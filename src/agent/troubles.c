/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/troubles.h"

#include "base/assert.h"

#define RIVAL                                                                                      \
    " runs on this node and allocates the same devices: let only one of the two run here; its "    \
    "socket is "

void trouble_device_plugin(const struct settings *settings, enum driver_kind driver,
                           const char *name, struct writer *out)
{
    WRITE(out, "% device plugin" RIVAL "%/%", TEXT(driver_traits(driver)->a_device),
          TEXT(settings->device_plugins_dir), SHOWN_LONG(view_text(name), SOCKET_PATH_CAP));
}

void trouble_other_driver(const char *driver, const char *path, struct writer *out)
{
    WRITE(out, "another driver %, as dranet is," RIVAL "%", TEXT(driver), TEXT(path));
}

void trouble_refused_type(const struct devices *devices, struct writer *out)
{
    const char *refusal = devices_refusal(devices);
    ASSERT(refusal != NULL);
    WRITE(out, "no device of instance type % is published: %", TEXT(devices->instance_type),
          TEXT(refusal));
}
