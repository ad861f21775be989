/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files port of the EFA driver: that of the disk, but for the claim store and what belongs to
 * it, which lie in a directory of their own, as the name says. See sim_disk.h.
 */
#include <stdio.h>

#include "base/assert.h"
#include "tests/sim/disk/sim_disk.h"

static const char *place(enum files_dir dir, const char *name, char text[DISK_NAME_CAP])
{
    int n = snprintf(text, DISK_NAME_CAP, "%s%s", dir == FILES_STATE ? "efa-" : "", name);
    ASSERT(n > 0 && (unsigned)n < DISK_NAME_CAP);
    return text;
}

static enum status efa_read(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                            struct writer *out)
{
    char text[DISK_NAME_CAP];
    return disk_files.read(ctx, dir, place(dir, name, text), offset, out);
}

static enum status efa_write(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                             struct view bytes)
{
    char text[DISK_NAME_CAP];
    return disk_files.write(ctx, dir, place(dir, name, text), offset, bytes);
}

static enum status efa_commit(void *ctx, enum files_dir dir, const char *name,
                              const char *final_name)
{
    char text[DISK_NAME_CAP];
    char final_text[DISK_NAME_CAP];
    const char *last = final_name != NULL ? place(dir, final_name, final_text) : NULL;
    return disk_files.commit(ctx, dir, place(dir, name, text), last);
}

static enum status efa_remove(void *ctx, enum files_dir dir, const char *name, const char *aside)
{
    char text[DISK_NAME_CAP];
    char aside_text[DISK_NAME_CAP];
    const char *other = aside != NULL ? place(dir, aside, aside_text) : NULL;
    return disk_files.remove(ctx, dir, place(dir, name, text), other);
}

static enum status efa_lock(void *ctx, const char *name, enum files_lock which)
{
    char text[DISK_NAME_CAP];
    disk_writer(DRIVER_EFA);
    enum status s = disk_files.lock(ctx, place(FILES_STATE, name, text), which);
    disk_writer(DRIVER_NEURON);
    return s;
}

static void efa_unlock(void *ctx, enum files_lock which)
{
    disk_writer(DRIVER_EFA);
    disk_files.unlock(ctx, which);
    disk_writer(DRIVER_NEURON);
}

static enum files_holder efa_holder(void *ctx, enum files_lock which)
{
    disk_writer(DRIVER_EFA);
    enum files_holder holder = disk_files.holder(ctx, which);
    disk_writer(DRIVER_NEURON);
    return holder;
}

static enum status efa_list(void *ctx, enum files_dir dir, const char *prefix, struct listing *at,
                            struct writer *out)
{
    ASSERT(dir == FILES_CDI); /* names of the other directory would keep what `place` puts before */
    return disk_files.list(ctx, dir, prefix, at, out);
}

static const char *efa_temporary(void *ctx)
{
    disk_writer(DRIVER_EFA);
    const char *name = disk_files.temporary(ctx);
    disk_writer(DRIVER_NEURON);
    return name;
}

static enum status efa_tidy(void *ctx)
{
    return disk_files.tidy(ctx);
}

static enum status efa_device(void *ctx, unsigned number, struct device_place *device)
{
    return disk_files.device(ctx, number, device);
}

static enum status efa_memory(void *ctx, unsigned number, unsigned core, uint64_t *bytes)
{
    (void)ctx;
    (void)number;
    (void)core;
    (void)bytes;
    return HOST_ABSENT;
}

static enum status efa_ultraserver(void *ctx, struct found_ultraserver *out)
{
    (void)ctx;
    (void)out;
    return HOST_ABSENT;
}

static enum status efa_kubelet_state(void *ctx, uint64_t offset, struct writer *out,
                                     uint64_t *written_ms)
{
    return disk_files.kubelet_state(ctx, offset, out, written_ms);
}

static uint64_t efa_flush_us(void *ctx)
{
    return disk_files.flush_us(ctx);
}

static const char *efa_why(void *ctx)
{
    return disk_files.why(ctx);
}

const struct files efa_files = {
    .ctx = &disk,
    .read = efa_read,
    .write = efa_write,
    .commit = efa_commit,
    .remove = efa_remove,
    .lock = efa_lock,
    .list = efa_list,
    .unlock = efa_unlock,
    .holder = efa_holder,
    .kubelet_state = efa_kubelet_state,
    .device = efa_device,
    .temporary = efa_temporary,
    .tidy = efa_tidy,
    .memory = efa_memory,
    .ultraserver = efa_ultraserver,
    .flush_us = efa_flush_us,
    .why = efa_why,
};
