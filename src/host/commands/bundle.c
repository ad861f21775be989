/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `bundle`, see bundle.h. Each file of the bundle is the output of another command, a
 * page of the agent, or a copy of one of the agent's files; no file contains a credential. If one
 * file is unavailable, the command reports that and writes the other files.
 */
#include "host/commands/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/assert.h"
#include "cfg/identity.h"
#include "host/commands/commands_internal.h"
#include "host/commands/sysfs_copy.h"
#include "host/system.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x8u /* flag of memfd_create(2) since Linux 6.3 */
#endif

/* --- the content of one file of the bundle --- */

static enum status copy_failed(struct writer *why, const char *from, int error)
{
    WRITE(why, "% cannot be read: %", TEXT(from), ERRNO(error));
    return errno_status(error);
}

/*
 * Copies the file that is open as `fd` to m->out_fd, until the file ends, an error occurs, or
 * BUNDLE_FILE_BYTES_MAX bytes are copied. *n: what the last read(2) returned.
 */
static enum status copy_bytes(struct command_memory *m, int fd, ssize_t *n, struct writer *why)
{
    enum status s = STATUS_OK;
    size_t copied = 0;
    *n = 1;
    while (*n > 0 && s == STATUS_OK && copied < BUNDLE_FILE_BYTES_MAX) {
        *n = read(fd, m->part, sizeof m->part);
        m->out.len = (*n > 0) ? (size_t)*n : 0u;
        copied += m->out.len;
        /* output_flush does not escape bytes, so the copy equals the file */
        s = (*n > 0) ? output_flush(&m->out, m->out_fd, why) : STATUS_OK;
    }
    return s;
}

static enum status copy_file(struct command_memory *m, const char *from, struct writer *why)
{
    ssize_t n = -1;
    int fd = path_open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    enum status s = (fd >= 0) ? copy_bytes(m, fd, &n, why) : STATUS_OK;
    int error = (n > 0) ? EFBIG : errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    return (s == STATUS_OK && n != 0) ? copy_failed(why, from, error) : s;
}

static enum status write_settings(struct command_memory *m, const struct settings_input *input,
                                  struct writer *why)
{
    enum status s = STATUS_OK;
    for (unsigned i = 0; s == STATUS_OK && settings_source(input, i, &m->out); i++) {
        s = commands_flush(m, why);
    }
    return s;
}

static void known_or_not(struct writer *out, const char *what, const char *value)
{
    WRITE(out, "%%\n", TEXT(what), TEXT((value[0] != '\0') ? value : "not known"));
}

/*
 * Not inlined, so that the buffers of this function are not on the stack while the other files of
 * the bundle are written.
 */
__attribute__((noinline)) static enum status write_versions(struct command_memory *m,
                                                            struct writer *why)
{
    struct utsname kernel;
    uint8_t bytes[HOST_TEXT_CAP];
    struct writer unused = writer_of(bytes, sizeof bytes);
    bool known = uname(&kernel) == 0;
    /* Ignore a failed probe here, because the bundle's file devices.txt reports the failure. */
    (void)(commands_node(m, &unused) == STATUS_OK);
    writer_text(&m->out, AGENT_NAME " " AGENT_VERSION ", build " BUILD_ID "\n");
    known_or_not(&m->out, "kernel: ", known ? kernel.release : "");
    known_or_not(&m->out, "architecture: ", known ? kernel.machine : "");
    known_or_not(&m->out, "Neuron kernel module: ", m->inventory.devices.driver_version);
    known_or_not(&m->out, "instance type: ", m->inventory.devices.instance_type);
    return commands_flush(m, why);
}

/* --- the table of the bundle's files --- */

enum entry_kind {
    ENTRY_COMMAND,
    ENTRY_PAGE,
    ENTRY_SETTINGS,
    ENTRY_VERSIONS,
    ENTRY_SYSFS,
    ENTRY_STORE,
    ENTRY_CDI
};

struct entry {
    enum entry_kind kind;
    /* name of the file in the bundle; NULL for CDI files, which keep their own names */
    const char *name;
    enum settings_command command;
    enum settings_output output;
    /* driver whose claim store is copied; the EFA driver's store is copied only with --efa */
    enum driver_kind driver;
    const char *page;
};

static const struct entry entries[] = {
    {.name = "versions.txt", .kind = ENTRY_VERSIONS},
    {.name = "settings.txt", .kind = ENTRY_SETTINGS},
    {.name = "check.txt", .kind = ENTRY_COMMAND, .command = COMMAND_CHECK},
    {.name = "devices.txt", .kind = ENTRY_COMMAND, .command = COMMAND_DEVICES},
    {.name = "slices.yaml",
     .kind = ENTRY_COMMAND,
     .command = COMMAND_SLICES,
     .output = OUTPUT_YAML},
    {.name = "claims.yaml",
     .kind = ENTRY_COMMAND,
     .command = COMMAND_CLAIMS,
     .output = OUTPUT_YAML},
    {.name = STORE_FILE_NAME, .kind = ENTRY_STORE},
    {.name = "efa-" STORE_FILE_NAME, .kind = ENTRY_STORE, .driver = DRIVER_EFA},
    {.name = "statusz.txt", .kind = ENTRY_PAGE, .page = "/statusz"},
    {.name = "readyz.txt", .kind = ENTRY_PAGE, .page = "/readyz"},
    {.name = "metrics.txt", .kind = ENTRY_PAGE, .page = "/metrics"},
    {.name = "log.txt", .kind = ENTRY_PAGE, .page = "/logz"},
};

/*
 * Written after all others, because a broken device may delay each read of its files, or hang the
 * command.
 */
static const struct entry last_entry = {.name = "sysfs.txt", .kind = ENTRY_SYSFS};

static enum status entry_fill(struct command_memory *m, const struct settings_input *input,
                              const struct entry *e, const char *name, struct writer *why)
{
    char from[COMMAND_PATH_CAP];
    enum status s = STATUS_OK;
    m->out = writer_of(m->part, sizeof m->part);
    switch (e->kind) {
    case ENTRY_COMMAND:
        m->command = e->command;
        m->output = e->output;
        s = commands_print(m, why);
        break;
    case ENTRY_PAGE:
        s = page_copy(m, e->page, why);
        break;
    case ENTRY_SETTINGS:
        s = write_settings(m, input, why);
        break;
    case ENTRY_VERSIONS:
        s = write_versions(m, why);
        break;
    case ENTRY_SYSFS:
        s = sysfs_copy(m, why);
        break;
    case ENTRY_STORE:
        commands_driver(m, e->driver);
        path_join(from, sizeof from, m->state_dir, STORE_FILE_NAME);
        s = copy_file(m, from, why);
        break;
    case ENTRY_CDI:
        path_join(from, sizeof from, m->settings->cdi_root, name);
        s = copy_file(m, from, why);
        break;
    }
    return s;
}

/* --- the directory or archive of the bundle --- */

/*
 * Whether to write the bundle as a tar archive to standard output, which the operand "-" requests.
 */
static bool is_tar(const struct command_memory *m)
{
    return text_is(m->settings->operand, "-");
}

/*
 * Prints one line about a file of the bundle: the file was written, or why it is missing. The line
 * goes to standard output, or to standard error if standard output gets a tar archive.
 */
static enum status print_entry(struct command_memory *m, const char *folder, const char *name,
                               struct view reason, struct writer *why)
{
    bool slash = name[0] != '\0' && !view_ends(view_text(folder), "/");
    m->out = writer_of(m->part, sizeof m->part);
    m->out_fd = is_tar(m) ? STDERR_FILENO : STDOUT_FILENO;
    WRITE(&m->out, "% %%%", TEXT((reason.len == 0u) ? "wrote" : "missing"), TEXT(folder),
          TEXT(slash ? "/" : ""), TEXT(name));
    if (reason.len > 0u) {
        WRITE(&m->out, ": %", VIEW(reason));
    }
    writer_text(&m->out, "\n");
    size_t before = why->len;
    enum status s = commands_flush(m, why);
    if (s != STATUS_OK && is_tar(m)) {
        /*
         * Ignore the failure, because the archive is complete even if this line does not reach
         * standard error.
         */
        why->len = before;
        s = STATUS_OK;
    }
    return s;
}

/* --- members of a tar archive --- */

/* Name of the folder that contains all files of the bundle in the tar archive. */
#define TAR_FOLDER "neuron-dra-agent"

/*
 * Fills the anonymous file m->member_fd with the content of one file of the bundle. In the tar
 * archive the size of a file precedes its content, so the content must be complete first; it is
 * kept in an anonymous file, because the root file system of the container is read-only.
 */
static enum status member_fill(struct command_memory *m, const struct settings_input *input,
                               const struct entry *e, const char *name, struct writer *line)
{
    m->out_fd = m->member_fd;
    if (ftruncate(m->member_fd, 0) != 0 || lseek(m->member_fd, 0, SEEK_SET) != 0) {
        WRITE(line, "%", ERRNO(errno));
        return errno_status(errno);
    }
    return entry_fill(m, input, e, name, line);
}

/*
 * Writes one file of the tar archive to standard output: a header, the content of the anonymous
 * file, and zeros that fill the last block.
 */
static enum status member_write(struct command_memory *m, const char *name, struct writer *why)
{
    off_t size = lseek(m->member_fd, 0, SEEK_END);
    off_t at = 0;
    ssize_t n = 1;
    ASSERT(size >= 0);
    m->out = writer_of(m->part, sizeof m->part);
    command_tar_header(TAR_FOLDER, name, (uint64_t)size, clock_wall_ms() / 1000u, &m->out);
    enum status s = output_flush(&m->out, STDOUT_FILENO, why);
    while (s == STATUS_OK && at < size && n > 0) {
        n = pread(m->member_fd, m->part, sizeof m->part, at);
        m->out.len = (n > 0) ? (size_t)n : 0u;
        at += (n > 0) ? (off_t)n : 0;
        s = output_flush(&m->out, STDOUT_FILENO, why);
    }
    if (s == STATUS_OK && at < size) {
        /*
         * the tar header states the full size, so missing content damages the rest of the archive
         */
        WRITE(why, "the archive is incomplete: % cannot be read back: %", TEXT(name),
              ERRNO((n < 0) ? errno : EIO));
        return HOST_IO;
    }
    command_tar_pad((uint64_t)size, 0, &m->out);
    return (s == STATUS_OK) ? output_flush(&m->out, STDOUT_FILENO, why) : s;
}

/*
 * Checks that standard output can receive a tar archive, and creates the anonymous file. On failure
 * (HOST_* or PEER_MALFORMED) `why` gets one line.
 */
static enum status tar_begin(struct command_memory *m, struct writer *why)
{
    if (isatty(STDOUT_FILENO) == 1) {
        writer_text(why, "bundle - writes a tar archive: give a file, as in bundle - > node.tar");
        return PEER_MALFORMED;
    }
    /* With the sysctl vm.memfd_noexec=2, memfd_create(2) fails without MFD_NOEXEC_SEAL. */
    m->member_fd = memfd_create("bundle", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (m->member_fd < 0 && errno == EINVAL) { /* Linux before 6.3 lacks MFD_NOEXEC_SEAL */
        m->member_fd = memfd_create("bundle", MFD_CLOEXEC);
    }
    if (m->member_fd < 0) {
        WRITE(why, "bundle - cannot make the anonymous file that it needs: %; give a directory",
              ERRNO(errno));
        return errno_status(errno);
    }
    return STATUS_OK;
}

static enum status tar_end(struct command_memory *m, struct writer *why)
{
    m->out = writer_of(m->part, sizeof m->part);
    command_tar_pad(0, 2, &m->out);
    (void)close(m->member_fd);
    return output_flush(&m->out, STDOUT_FILENO, why);
}

/* --- writing one file of the bundle --- */

/*
 * Writes one file into the directory of the bundle; removes the new file again if its content is
 * incomplete. If a file of this name already exists, fails and leaves that file unchanged.
 */
static enum status file_write(struct command_memory *m, const struct settings_input *input,
                              const struct entry *e, const char *name, struct writer *line)
{
    char path[COMMAND_PATH_CAP];
    enum status s = HOST_IO;
    path_join(path, sizeof path, m->settings->operand, name);
    m->out_fd = path_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (m->out_fd >= 0) {
        s = entry_fill(m, input, e, name, line);
        (void)close(m->out_fd);
        if (s != STATUS_OK) {
            (void)unlink(path);
        }
    } else {
        WRITE(line, "%", ERRNO(errno));
    }
    return s;
}

/*
 * Writes one file of the bundle, and prints a line about it. Fails (HOST_*) if standard output
 * failed, or if the content of a member of the archive cannot be read back.
 */
static enum status entry_write(struct command_memory *m, const struct settings_input *input,
                               const struct entry *e, const char *name, struct writer *why)
{
    struct writer line = writer_of(m->reason, sizeof m->reason);
    bool tar = is_tar(m);
    enum status s =
        tar ? member_fill(m, input, e, name, &line) : file_write(m, input, e, name, &line);
    m->incomplete = m->incomplete || s != STATUS_OK;
    if (tar && s == STATUS_OK) {
        return member_write(m, name, why);
    }
    return print_entry(m, tar ? TAR_FOLDER : m->settings->operand, name,
                       (s == STATUS_OK) ? view_of(NULL, 0) : writer_view(&line), why);
}

static bool is_cdi_file(const struct command_memory *m, struct view name)
{
    bool ours = view_starts(name, CDI_FILE_PREFIX) ||
                (m->settings->efa && view_starts(name, EFA_CDI_FILE_PREFIX));
    return ours && name.len <= TAR_NAME_BYTES; /* no CDI file of the agent has a longer name */
}

/*
 * Copies all CDI files of the agent into the bundle. *error: errno if the directory of CDI files
 * cannot be read; 0: success.
 */
static enum status cdi_write_all(struct command_memory *m, int *error, struct writer *why)
{
    const struct entry e = {.kind = ENTRY_CDI};
    struct directory *d = &m->directory;
    struct directory_entry found;
    enum status s = STATUS_OK;
    directory_open(d, m->settings->cdi_root);
    while (s == STATUS_OK && directory_next(d, &found)) {
        bool ours = is_cdi_file(m, view_text(found.name));
        s = ours ? entry_write(m, NULL, &e, found.name, why) : STATUS_OK;
    }
    *error = directory_close(d);
    return s;
}

static enum status cdi_copy_all(struct command_memory *m, struct writer *why)
{
    char text[ERRNO_WORDS_CAP];
    int error = 0;
    enum status s = cdi_write_all(m, &error, why);
    if (s == STATUS_OK && error != 0) {
        m->incomplete = true;
        s = print_entry(m, m->settings->cdi_root, "", view_text(errno_words(error, text)), why);
    }
    return s;
}

/*
 * Creates the directory of the bundle if it is missing. Returns 0 if the directory is empty,
 * otherwise an errno. Not inlined, so that its buffer is not on the stack while the files are
 * written.
 */
__attribute__((noinline)) static int directory_ready(const char *path)
{
    struct directory d;
    struct directory_entry found;
    bool empty = true;
    int error = 0;
    if (directory_make(path, 0700, &error) != STATUS_OK) {
        return error;
    }
    directory_open(&d, path);
    while (empty && directory_next(&d, &found)) {
        empty = text_is(found.name, ".") || text_is(found.name, "..");
    }
    error = directory_close(&d);
    return empty ? error : ENOTEMPTY;
}

/*
 * Prepares the directory of the bundle. On failure (HOST_* or PEER_MALFORMED) `why` gets one line.
 */
static enum status directory_prepare(const char *directory, struct writer *why)
{
    int error = directory_ready(directory);
    if (error != 0) {
        WRITE(why,
              "%%%; give a directory that is empty, or that can be made, or - for a tar archive",
              TEXT(directory), TEXT((error == ENOTEMPTY) ? " is not empty" : ": "),
              TEXT((error == ENOTEMPTY) ? "" : errno_text(error)));
        return (error == ENOTEMPTY) ? PEER_MALFORMED : errno_status(error);
    }
    return STATUS_OK;
}

enum status bundle_write(struct command_memory *m, const struct settings_input *input,
                         struct writer *why)
{
    bool tar = is_tar(m);
    enum status s = tar ? tar_begin(m, why) : directory_prepare(m->settings->operand, why);
    for (unsigned i = 0; i < sizeof entries / sizeof entries[0] && s == STATUS_OK; i++) {
        bool absent = entries[i].driver == DRIVER_EFA && !m->settings->efa;
        s = absent ? s : entry_write(m, input, &entries[i], entries[i].name, why);
    }
    s = (s == STATUS_OK) ? cdi_copy_all(m, why) : s;
    s = (s == STATUS_OK) ? entry_write(m, input, &last_entry, last_entry.name, why) : s;
    s = (s == STATUS_OK && tar) ? tar_end(m, why) : s;
    m->answer_no = m->incomplete;
    return s;
}
