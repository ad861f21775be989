/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file of the node this process reads at the moment. The kernel runs code of a driver for a
 * read of sysfs, and if that hangs, so does the read, until it returns: nothing that this process
 * does can end it. So a reader (reader.h) notes each file before it reads, in memory that the
 * agent sees too, and leaves out what another reader hangs in. A process that is no reader, such as
 * a command, notes nothing and leaves nothing out. Owns the place of the note.
 */
#ifndef HOST_NODE_READING_H
#define HOST_NODE_READING_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* What files are of. */
enum reading_kind {
    READING_NODE,   /* the node; id 0 */
    READING_DEVICE, /* a Neuron device; its number */
    READING_EFA,    /* an EFA device; its PCI address */
    READING_NOTHING /* no file */
};
struct reading_subject {
    uint32_t kind; /* enum reading_kind */
    uint32_t id;
};

/* Written by the reader, read by the agent. */
struct reading_note {
    uint32_t step; /* odd while a file is read */
    struct reading_subject of;
    char file[READING_FILE_CAP]; /* the last part of its path */
};

/* What is not to be read. */
struct reading_left_out {
    unsigned count;
    struct reading_subject of[READERS];
};

/* Where this process notes what it reads, and finds what it is to leave out; both are borrowed. */
void reading_here(struct reading_note *note, const struct reading_left_out *left_out);
/* What is read from now on is of this subject. false: it is to be left out. */
MUST_USE bool reading_of(enum reading_kind kind, uint32_t id);
/* Around each open, read and close of a file of sysfs. */
void reading_begins(const char *path);
void reading_ends(void);

#endif
