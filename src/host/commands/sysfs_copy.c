/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes what sysfs shows of the devices, see sysfs_copy.h. Copies the whole tree below
 * class/neuron_device, because other versions of the kernel module have other files there, and of
 * the other folders only the files that the agent or the simulated node uses. Layout: the Neuron
 * module's neuron_sysfs_metrics.c and neuron_cdev.c; the kernel's drivers/base/bus.c.
 */
#include "host/commands/sysfs_copy.h"

#include <errno.h>
#include <unistd.h>

#include "base/assert.h"
#include "host/commands/commands_internal.h"
#include "host/system.h"

/* Size of a buffer for the path of a file: the sysfs root, and the longest path below it. */
#define COPY_PATH_CAP (PATH_CAP + 320u)
#define FILES_MAX 9u /* elements of `files` in struct folder; the last one is NULL */

/* A folder of sysfs, and the files in it that are copied. */
struct folder {
    const char *name;
    const char *files[FILES_MAX];
    bool links;  /* the files are in each directory to which a link in this folder leads */
    bool amazon; /* only links to PCI functions of Amazon */
};

static const struct folder folders[] = {
    {.name = "module/neuron", .files = {"version", "srcversion"}},
    {.name = "devices/virtual/dmi/id", .files = {"product_name"}},
    {.name = "bus/pci/devices",
     .files = {"vendor", "device", "class", "revision", "subsystem_vendor", "subsystem_device",
               "numa_node", "modalias"},
     .links = true,
     .amazon = true},
    {.name = "bus/pci/drivers/efa", .links = true},
    {.name = "class/infiniband", .files = {"ports/1/state", "ports/1/link_layer"}, .links = true},
    {.name = "class/infiniband_verbs", .files = {"ibdev", "dev"}, .links = true},
};

/* Where the copy is in the tree. */
struct copy {
    struct command_memory *m;
    struct writer *why;
    enum status status; /* of the output */
    unsigned depth;     /* number of elements of m->levels that are open */
    unsigned files;     /* number of files below class/neuron_device that were visited */
    size_t root_len;    /* length of the sysfs root with a slash */
    size_t len;
    char path[COPY_PATH_CAP];
};

/* --- the lines of the output --- */

static void line_begin(struct copy *c)
{
    struct view below = view_from(view_of((const uint8_t *)c->path, c->len), c->root_len);
    c->m->out = writer_of(c->m->part, sizeof c->m->part);
    size_t written = writer_safe(&c->m->out, below, false);
    ASSERT(written == below.len);
}

static void line_end(struct copy *c)
{
    writer_text(&c->m->out, "\n");
    c->status = output_flush(&c->m->out, c->m->out_fd, c->why);
}

static void write_reason(struct copy *c, const char *reason)
{
    line_begin(c);
    WRITE(&c->m->out, " ! %", TEXT(reason));
    line_end(c);
}

static void write_errno(struct copy *c, int error)
{
    char text[ERRNO_WORDS_CAP];
    write_reason(c, errno_words(error, text));
}

static void write_value(struct copy *c, struct view value)
{
    struct view rest = value;
    line_begin(c);
    writer_text(&c->m->out, " ");
    while (rest.len > 0u && c->status == STATUS_OK) { /* each iteration writes a part of `rest` */
        rest = view_from(rest, writer_safe(&c->m->out, rest, false));
        if (rest.len > 0u) {
            c->status = output_flush(&c->m->out, c->m->out_fd, c->why);
        }
    }
    if (c->status == STATUS_OK) {
        line_end(c);
    }
}

/* --- one file --- */

/* Appends a name to the path; false: it does not fit. */
static bool path_push(struct copy *c, const char *name)
{
    struct writer out = writer_of(c->path, sizeof c->path);
    out.len = c->len;
    if (writer_room(&out) < view_text(name).len + 2u) {
        write_reason(c, "a path below it is too long");
        return false;
    }
    WRITE(&out, "%%", TEXT((c->len > c->root_len) ? "/" : ""), TEXT(name));
    c->len = out.len;
    c->path[c->len] = '\0';
    return true;
}

static void path_cut(struct copy *c, size_t len)
{
    c->len = len;
    c->path[len] = '\0';
}

static void copy_value(struct copy *c)
{
    struct writer value = writer_of(c->m->cdi[0], SYSFS_COPY_VALUE_MAX);
    int error = 0;
    if (view_ends(view_text(c->path), "/serial_number")) {
        write_reason(c, "left out, because it identifies the device");
    } else if (file_read_start(c->path, &value, &error) == STATUS_OK) {
        write_value(c, writer_view(&value));
    } else {
        write_errno(c, error);
    }
}

static void copy_link(struct copy *c)
{
    char target[COPY_PATH_CAP];
    ssize_t n = readlink(c->path, target, sizeof target);
    if (n < 0) {
        write_errno(c, errno);
        return;
    }
    line_begin(c);
    writer_text(&c->m->out, " -> ");
    size_t written = writer_safe(&c->m->out, view_of((const uint8_t *)target, (size_t)n), false);
    ASSERT(written == (size_t)n);
    line_end(c);
}

static bool is_dots(const char *name)
{
    return text_is(name, ".") || text_is(name, "..");
}

/* --- the folders of which some files are copied --- */

/* Copies the files of the row that exist in the directory c->path. */
static void copy_files(struct copy *c, const struct folder *f)
{
    size_t before = c->len;
    for (unsigned i = 0; i < FILES_MAX && f->files[i] != NULL && c->status == STATUS_OK; i++) {
        struct stat st;
        if (path_push(c, f->files[i]) && path_stat(c->path, &st) == 0) {
            copy_value(c);
        }
        path_cut(c, before);
    }
}

/* Whether the PCI function of the directory c->path is one of Amazon. */
static bool is_amazon(struct copy *c)
{
    struct writer value = writer_of(c->m->cdi[0], SYSFS_COPY_VALUE_MAX);
    size_t before = c->len;
    int error = 0;
    bool read = path_push(c, "vendor") && file_read_start(c->path, &value, &error) == STATUS_OK;
    path_cut(c, before);
    return read && view_is(view_trim(writer_view(&value)), "0x1d0f");
}

static void copy_linked(struct copy *c, const struct folder *f)
{
    struct stat st;
    bool link = link_stat(c->path, &st) == 0 && S_ISLNK(st.st_mode);
    if (link && (!f->amazon || is_amazon(c))) {
        copy_link(c);
        copy_files(c, f);
    }
}

static void copy_links(struct copy *c, const struct folder *f)
{
    struct directory *d = &c->m->levels[0].directory;
    struct directory_entry e;
    size_t before = c->len;
    directory_open(d, c->path);
    while (c->status == STATUS_OK && directory_next(d, &e)) {
        if (!is_dots(e.name) && path_push(c, e.name)) {
            copy_linked(c, f);
        }
        path_cut(c, before);
    }
    int error = directory_close(d);
    if (c->status == STATUS_OK && error != 0) {
        write_errno(c, error);
    }
}

static void copy_folder(struct copy *c, const struct folder *f)
{
    if (!path_push(c, f->name)) {
        return;
    }
    if (f->links) {
        copy_links(c, f);
    } else {
        copy_files(c, f);
    }
}

/* --- the tree of the Neuron devices --- */

static void tree_enter(struct copy *c, size_t parent_len)
{
    if (c->depth == SYSFS_COPY_LEVELS_MAX) {
        write_reason(c, "left out, because it is too deep");
        path_cut(c, parent_len);
        return;
    }
    struct directory_level *level = &c->m->levels[c->depth];
    level->parent_len = parent_len;
    directory_open(&level->directory, c->path);
    c->depth++;
}

static void tree_leave(struct copy *c)
{
    c->depth--;
    int error = directory_close(&c->m->levels[c->depth].directory);
    if (c->status == STATUS_OK && error != 0) {
        write_errno(c, error);
    }
    path_cut(c, c->m->levels[c->depth].parent_len);
}

/*
 * Copies the file c->path, or enters it if it is a directory, or a link to a device, which only
 * class/neuron_device itself has.
 */
static void tree_visit(struct copy *c, size_t parent_len)
{
    struct stat st;
    bool enter = false;
    c->files++;
    if (link_stat(c->path, &st) != 0) {
        write_errno(c, errno);
    } else if (S_ISLNK(st.st_mode)) {
        copy_link(c);
        enter = c->depth == 1u;
    } else if (S_ISDIR(st.st_mode)) {
        enter = true;
    } else if (S_ISREG(st.st_mode) && (st.st_mode & S_IRUSR) != 0u) {
        copy_value(c);
    } else {
        write_reason(c, "not readable");
    }
    if (enter) {
        tree_enter(c, parent_len);
    } else {
        path_cut(c, parent_len);
    }
}

/* Goes on in the innermost directory that is open: visits one file of it, or leaves it. */
static void tree_step(struct copy *c)
{
    struct directory_entry e;
    size_t parent_len = c->len;
    bool goes_on = c->status == STATUS_OK && c->files < SYSFS_COPY_FILES_MAX;
    if (!goes_on || !directory_next(&c->m->levels[c->depth - 1u].directory, &e)) {
        tree_leave(c);
    } else if (!is_dots(e.name) && path_push(c, e.name)) {
        tree_visit(c, parent_len);
    } else {
        /* the next step takes the next name */
    }
}

static void copy_tree(struct copy *c, const char *folder)
{
    size_t before = c->len;
    if (path_push(c, folder)) {
        tree_enter(c, before);
    }
    while (c->depth > 0u) { /* each step closes a directory, or takes a name of one */
        tree_step(c);
    }
    if (c->status == STATUS_OK && c->files == SYSFS_COPY_FILES_MAX && path_push(c, folder)) {
        write_reason(c, "has more files than are copied");
        path_cut(c, before);
    }
}

enum status sysfs_copy(struct command_memory *m, struct writer *why)
{
    struct copy c = {.m = m, .why = why};
    struct writer root = writer_of(c.path, sizeof c.path);
    WRITE(&root, "%/", TEXT(m->settings->sysfs_root));
    c.root_len = root.len;
    c.len = root.len;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0] && c.status == STATUS_OK; i++) {
        copy_folder(&c, &folders[i]);
        path_cut(&c, c.root_len);
    }
    if (c.status == STATUS_OK) {
        copy_tree(&c, "class/neuron_device");
    }
    return c.status;
}
