/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes which file of the node this process is reading. For a read of sysfs the kernel runs a
 * driver's code; if that code hangs, the read hangs too, and this process cannot end it. So a
 * reader (reader.h) notes each file before reading it, in memory shared with the agent, and leaves
 * out each subject that another reader is reading. A process that is not a reader, such as a
 * command, notes nothing and leaves nothing out. Owns the pointers to the shared memory.
 */
#ifndef HOST_NODE_READING_H
#define HOST_NODE_READING_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* Kinds of subjects to which files belong; the id of a subject is given for each. */
enum reading_kind {
    READING_NODE,   /* facts of the node; id 0 */
    READING_DEVICE, /* a Neuron device; id: its number */
    READING_EFA,    /* an EFA device; id: its PCI address */
    READING_NOTHING
};
/* The subject to which a file belongs. */
struct reading_subject {
    uint32_t kind; /* enum reading_kind */
    uint32_t id;
};

/* What a reader is reading; written by the reader, read by the agent. */
struct reading_note {
    uint32_t step; /* counts starts and ends of reads: odd while a file is read */
    struct reading_subject of;
    char file[READING_FILE_CAP]; /* end of the file's path */
};

/* Subjects that the reader must leave out. */
struct reading_left_out {
    unsigned count;
    struct reading_subject of[READERS];
};

/* Sets where this process notes its reads, and what it must leave out. Both are borrowed. */
void reading_here(struct reading_note *note, const struct reading_left_out *left_out);
/* Notes the subject of the next reads. false: its files must not be read now. */
MUST_USE bool reading_of(enum reading_kind kind, uint32_t id);
/* Note the start and the end of reading one file: call them before open and after close. */
void reading_begins(const char *path);
void reading_ends(void);

#endif
