/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the files with a device's metrics; opens each file by name and reads it once. */
#include "host/node/telemetry.h"

#include "host/node/probe.h"
#include "host/node/reading.h"
#include "host/system.h"

/* Size of a buffer for the folder of a device and the longest path below that folder. */
#define TELEMETRY_PATH_CAP (PATH_CAP + 128u)

static void file_path(const struct settings *s, unsigned number, const struct telemetry_file *f,
                      char path[TELEMETRY_PATH_CAP])
{
    struct writer w = writer_of(path, TELEMETRY_PATH_CAP);
    WRITE(&w, "%/class/neuron_device/neuron%", TEXT(s->sysfs_root), NUMBER(number));
    if (f->core >= 0) {
        WRITE(&w, "/neuron_core%", NUMBER((unsigned)f->core));
    }
    WRITE(&w, "/stats/%%%", TEXT(f->folder), TEXT(f->name), TEXT((f->core >= 0) ? "/total" : ""));
    writer_close_text(&w);
}

void telemetry_read(const struct settings *settings, const struct found_node *found,
                    struct telemetry *t)
{
    if (found->count == 0u) {
        return;
    }
    const struct found_device *d = &found->devices[t->turn % found->count];
    uint64_t cores = 0;
    t->turn++;
    if (d->number >= DEVICES_MAX || !reading_of(READING_DEVICE, d->number)) {
        return;
    }
    t->value[d->number][TELEMETRY_READ_MS] = clock_now_ms();
    enum status s = view_decimal(view_text(d->core_count), UINT8_MAX, &cores);
    status_ignore(s, "of a device with no such number of cores, no core is known");
    unsigned end = settings->neuron_monitor_metrics ? TELEMETRY_VALUES : TELEMETRY_USES_FIRST;
    for (unsigned i = settings->device_metrics ? 0u : TELEMETRY_USES_FIRST; i < end; i++) {
        char value[SYSFS_VALUE_CAP] = {0};
        struct telemetry_file f = telemetry_file(i);
        if (f.core < (int)((cores < TELEMETRY_CORES_MAX) ? cores : TELEMETRY_CORES_MAX)) {
            char path[TELEMETRY_PATH_CAP];
            file_path(settings, d->number, &f, path);
            probe_value(path, value);
        }
        telemetry_parse(&t->value[d->number][i], i, view_text(value));
    }
}
