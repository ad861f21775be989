/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes what sysfs shows of the devices, see sysfs_copy.h. Copies the whole tree below
 * class/neuron_device, because other versions of the kernel module have other files there. Of the
 * other folders it copies only the files that the agent or the simulated node uses: those of all
 * PCI functions of Amazon and of all RDMA devices. Layout: the Neuron module's
 * neuron_sysfs_metrics.c and neuron_cdev.c; the kernel's drivers/base/bus.c.
 */
#include "host/commands/sysfs_copy.h"

#include <errno.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/chars.h"
#include "host/commands/commands_internal.h"
#include "host/system.h"

/* Size of a buffer for the path of a file: the sysfs root, and the longest path below it. */
#define COPY_PATH_CAP (PATH_CAP + 320u)
#define FILES_MAX 9u /* longest list of files, with the NULL at its end */
#define TREE "class/neuron_device"

/* A folder of sysfs, and the files in it that are copied. */
struct folder {
    const char *name;
    const char *const *files; /* ends with NULL */
    bool links;  /* the files are in each directory to which a link in this folder leads */
    bool amazon; /* only links to PCI functions of Amazon */
};

static const char *const of_module[] = {"version", "srcversion", NULL};
static const char *const of_machine[] = {"product_name", NULL};
static const char *const of_function[] = {"vendor",    "device",           "class",
                                          "revision",  "subsystem_vendor", "subsystem_device",
                                          "numa_node", "modalias",         NULL};
static const char *const of_rdma[] = {"ports/1/state", "ports/1/link_layer", NULL};
static const char *const of_verbs[] = {"ibdev", "dev", NULL};
static const char *const none[] = {NULL};

static const struct folder folders[] = {
    {.name = "module/neuron", .files = of_module},
    {.name = "devices/virtual/dmi/id", .files = of_machine},
    {.name = "bus/pci/devices", .files = of_function, .links = true, .amazon = true},
    {.name = "bus/pci/drivers/efa", .files = none, .links = true},
    {.name = "class/infiniband", .files = of_rdma, .links = true},
    {.name = "class/infiniband_verbs", .files = of_verbs, .links = true},
};

/* Words in names of files that identify a device. */
static const char *const identities[] = {"serial", "uuid", "guid", "asset"};

/* Where the copy is in the tree. */
struct copy {
    struct command_memory *m;
    struct writer *why;
    enum status status; /* of the output */
    unsigned depth;     /* number of elements of m->levels that are open */
    unsigned lines;     /* number of lines written */
    size_t bytes;       /* number of bytes written */
    uint64_t end_ms;    /* when the copy ends, complete or not (CLOCK_MONOTONIC) */
    size_t root_len;    /* length of the sysfs root with a slash */
    size_t len;
    char path[COPY_PATH_CAP];
};

/* --- the lines of the output --- */

static void flush(struct copy *c)
{
    c->bytes += c->m->out.len;
    c->status = output_flush(&c->m->out, c->m->out_fd, c->why);
}

/* Writes bytes; those below `lowest`, above ASCII, and backslashes as \xNN. */
static void write_escaped(struct copy *c, struct view bytes, char lowest)
{
    struct writer *out = &c->m->out;
    for (size_t i = 0; i < bytes.len && c->status == STATUS_OK; i++) {
        uint8_t byte = bytes.data[i];
        if (byte < (uint8_t)lowest || byte > (uint8_t)'~' || byte == (uint8_t)'\\') {
            writer_text(out, "\\x");
            writer_hex(out, byte, 2);
        } else {
            writer_u8(out, byte);
        }
        if (writer_room(out) < WRITER_SAFE_ROOM) {
            flush(c);
        }
    }
}

static void write_line(struct copy *c, const char *kind, struct view value)
{
    struct view path = view_of((const uint8_t *)c->path, c->len);
    c->m->out = writer_of(c->m->part, sizeof c->m->part);
    writer_text(&c->m->out, kind);
    write_escaped(c, view_from(path, c->root_len), '!');
    writer_text(&c->m->out, " ");
    write_escaped(c, value, ' ');
    writer_text(&c->m->out, "\n");
    c->lines++;
    if (c->status == STATUS_OK) {
        flush(c);
    }
}

static void write_reason(struct copy *c, const char *reason)
{
    write_line(c, "! ", view_text(reason));
}

static void write_errno(struct copy *c, int error)
{
    char text[ERRNO_WORDS_CAP];
    write_reason(c, errno_words(error, text));
}

/* Whether the copy has neither failed nor reached one of its bounds. */
static bool may_go_on(const struct copy *c)
{
    return c->status == STATUS_OK && c->lines < SYSFS_COPY_LINES_MAX &&
           c->bytes < SYSFS_COPY_BYTES_MAX && clock_now_ms() < c->end_ms;
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
    if (file_read_start(c->path, &value, &error) == STATUS_OK) {
        write_line(c, "f ", writer_view(&value));
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
    } else if ((size_t)n == sizeof target) {
        write_reason(c, "its target is too long");
    } else {
        write_line(c, "l ", view_of((const uint8_t *)target, (size_t)n));
    }
}

static bool is_dots(const char *name)
{
    return text_is(name, ".") || text_is(name, "..");
}

/* Whether `word` is at the start of `name`, in letters of any case. */
static bool is_at(const char *name, const char *word)
{
    size_t i = 0;
    while (word[i] != '\0' && to_lower((uint8_t)name[i]) == (uint8_t)word[i]) {
        i++;
    }
    return word[i] == '\0';
}

static bool identifies(const char *name)
{
    bool found = false;
    for (size_t i = 0; name[i] != '\0' && !found; i++) {
        for (size_t w = 0; w < sizeof identities / sizeof identities[0]; w++) {
            found = found || is_at(&name[i], identities[w]);
        }
    }
    return found;
}

/* --- the folders of which some files are copied --- */

/* Copies the files of the row that exist in the directory c->path. */
static void copy_files(struct copy *c, const struct folder *f)
{
    size_t before = c->len;
    for (unsigned i = 0; i < FILES_MAX && f->files[i] != NULL && may_go_on(c); i++) {
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
    bool known = path_push(c, "vendor") && file_read_start(c->path, &value, &error) == STATUS_OK;
    path_cut(c, before);
    return known && view_is(view_trim(writer_view(&value)), "0x1d0f");
}

static void copy_linked(struct copy *c, const struct folder *f)
{
    struct stat st;
    bool leads = link_stat(c->path, &st) == 0 && S_ISLNK(st.st_mode);
    if (leads && (!f->amazon || is_amazon(c))) {
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
    while (may_go_on(c) && directory_next(d, &e)) {
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

/* Takes the next name of the innermost directory that is open, or closes that directory. */
static void tree_step(struct copy *c)
{
    struct directory_entry e;
    size_t parent_len = c->len;
    if (!may_go_on(c) || !directory_next(&c->m->levels[c->depth - 1u].directory, &e)) {
        tree_leave(c);
    } else if (is_dots(e.name) || !path_push(c, e.name)) {
        /* the next step takes the next name */
    } else if (identifies(e.name)) {
        write_reason(c, "left out, because it identifies the device");
        path_cut(c, parent_len);
    } else {
        tree_visit(c, parent_len);
    }
}

static void copy_tree(struct copy *c)
{
    if (path_push(c, TREE)) {
        tree_enter(c, c->root_len);
    }
    while (c->depth > 0u) { /* each step closes a directory, or takes a name of one */
        tree_step(c);
    }
}

enum status sysfs_copy(struct command_memory *m, struct writer *why)
{
    struct copy c = {.m = m, .why = why, .end_ms = clock_now_ms() + SYSFS_COPY_MS};
    struct writer root = writer_of(c.path, sizeof c.path);
    WRITE(&root, "%/", TEXT(m->settings->sysfs_root));
    c.root_len = root.len;
    c.len = root.len;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0] && may_go_on(&c); i++) {
        copy_folder(&c, &folders[i]);
        path_cut(&c, c.root_len);
    }
    copy_tree(&c);
    if (c.status == STATUS_OK && !may_go_on(&c) && path_push(&c, TREE)) {
        write_reason(&c, "the copy ends here: it is too long, or took too long");
    }
    return c.status;
}
