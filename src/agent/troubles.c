/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/troubles.h"

static void write_rival(struct writer *out)
{
    writer_text(out, " runs on this node and gives away the same devices: let only one of the two "
                     "run here; its socket is ");
}

void trouble_device_plugin(const struct settings *settings, enum driver_kind driver,
                           const char *name, struct writer *out)
{
    writer_text(out, (driver == DRIVER_EFA) ? "an EFA device plugin" : "a Neuron device plugin");
    write_rival(out);
    writer_text(out, settings->device_plugins_dir);
    writer_text(out, "/");
    writer_shown(out, view_text(name), SOCKET_PATH_CAP);
}

void trouble_other_driver(const char *driver, const char *path, struct writer *out)
{
    writer_text(out, "another driver ");
    writer_text(out, driver);
    writer_text(out, ", as dranet is,");
    write_rival(out);
    writer_text(out, path);
}
