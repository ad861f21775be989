/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers of a tar archive in the format ustar (POSIX.1-2017, pax, "ustar Interchange Format"), for
 * plain files that belong to root.
 */
#include "base/assert.h"
#include "command/command.h"

#define TAR_MODE 0x180u /* mode of each file in the archive: the owner may read and write */
#define TAR_SUM_AT 148u
#define TAR_SUM_DIGITS 6u
#define TAR_PREFIX_AT 345u

/*
 * Latest file time that the header can hold, in the year 2242; a wrong clock may give a later time.
 */
#define TAR_TIME_MAX (((uint64_t)1 << 33u) - 1u)

static void write_octal(struct writer *out, uint64_t value, unsigned digits)
{
    unsigned bits = 3u * digits;
    ASSERT(value >> bits == 0u);
    for (unsigned i = 0; i < digits; i++) {
        unsigned above = 3u * (digits - 1u - i);
        writer_u8(out, (uint8_t)('0' + (value >> above & 7u)));
    }
    writer_u8(out, 0);
}

/* Writes a text into a header field of `bytes` bytes, and fills the rest of the field with NULs. */
static void write_field(struct writer *out, struct view text, size_t bytes)
{
    ASSERT(text.len <= bytes);
    writer_append(out, text);
    for (size_t i = text.len; i < bytes; i++) {
        writer_u8(out, 0);
    }
}

static unsigned sum_of(struct view header)
{
    unsigned sum = 0;
    for (size_t i = 0; i < header.len; i++) {
        sum += header.data[i];
    }
    return sum;
}

void command_tar_header(const char *folder, const char *name, uint64_t size, uint64_t wall_s,
                        struct writer *out)
{
    struct writer header = writer_of(&out->data[out->len], writer_room(out));
    write_field(&header, view_text(name), TAR_NAME_BYTES);
    /* three fields of the header: mode of the file, owner, group */
    write_octal(&header, TAR_MODE, 7);
    write_octal(&header, 0, 7);
    write_octal(&header, 0, 7);
    write_octal(&header, size, 11);
    write_octal(&header, (wall_s < TAR_TIME_MAX) ? wall_s : TAR_TIME_MAX, 11);
    /*
     * First the field of the checksum, which counts as eight spaces while the checksum is computed
     * and gets the checksum below. Then the field of the file type: "0" for a plain file.
     */
    writer_text(&header, "        0");
    write_field(&header, view_text(""), TAR_NAME_BYTES);
    writer_text(&header, "ustar");
    writer_u8(&header, 0);
    writer_text(&header, "00");
    write_field(&header, view_text("root"), 32);
    write_field(&header, view_text("root"), 32);
    write_octal(&header, 0, 7);
    write_octal(&header, 0, 7);
    ASSERT(header.len == TAR_PREFIX_AT);
    write_field(&header, view_text(folder), TAR_BLOCK_BYTES - TAR_PREFIX_AT);
    ASSERT(!header.full && header.len == TAR_BLOCK_BYTES);
    struct writer sum = writer_of(&header.data[TAR_SUM_AT], TAR_SUM_DIGITS + 1u);
    write_octal(&sum, sum_of(writer_view(&header)), TAR_SUM_DIGITS);
    out->len += TAR_BLOCK_BYTES;
}

void command_tar_pad(uint64_t size, unsigned blocks, struct writer *out)
{
    size_t over = (size_t)(size % TAR_BLOCK_BYTES);
    size_t pad = (over > 0u) ? TAR_BLOCK_BYTES - over : 0u;
    write_field(out, view_text(""), pad + blocks * (size_t)TAR_BLOCK_BYTES);
    ASSERT(!out->full);
}
