/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes which file of the node this process is reading. The kernel runs a driver's code for a read
 * of sysfs; if that hangs, so does the read, and this process cannot end it. So a reader (reader.h)
 * notes each file before it reads, in memory shared with the agent, and leaves out what another
 * reader hangs in. A process that is not a reader, such as a command, notes nothing and leaves
 * nothing out. Owns the place of the note.
 */
#ifndef HOST_NODE_READING_H
#define HOST_NODE_READING_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* Subjects of files. */
enum reading_kind {
    READING_NODE,   /* the node; id 0 */
    READING_DEVICE, /* a Neuron device; its number */
    READING_EFA,    /* an EFA device; its PCI address */
    READING_NOTHING /* none */
};
/* What a reading is of. */
struct reading_subject {
    uint32_t kind; /* enum reading_kind */
    uint32_t id;
};

/* Written by the reader, read by the agent. */
struct reading_note {
    uint32_t step; /* odd while a file is being read */
    struct reading_subject of;
    char file[READING_FILE_CAP]; /* last component of its path */
};

/* Subjects that must not be read. */
struct reading_left_out {
    unsigned count;
    struct reading_subject of[READERS];
};

/* Sets where this process notes its reads, and what it must leave out; both are borrowed. */
void reading_here(struct reading_note *note, const struct reading_left_out *left_out);
/* Begins reading this subject. false: it must be left out. */
MUST_USE bool reading_of(enum reading_kind kind, uint32_t id);
/* Call around each open, read and close of a file of sysfs. */
void reading_begins(const char *path);
void reading_ends(void);

#endif
