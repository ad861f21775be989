/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records which file of the node this process is reading. To read a file of sysfs, the kernel runs
 * a driver's code; if that code hangs, the read hangs too, and this process cannot end it. So a
 * reader (reader.h) records each file before reading it, in memory shared with the agent, and
 * leaves out each subject that another reader is reading. A process that is not a reader, such as a
 * command, records nothing and leaves nothing out. Owns the pointers to the shared memory.
 */
#ifndef HOST_NODE_READING_H
#define HOST_NODE_READING_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* Kinds of subjects. Each file belongs to one subject, which has a kind and an id. */
enum reading_kind {
    READING_NODE,   /* the files with facts of the node; id: 0 */
    READING_DEVICE, /* a Neuron device; id: its number */
    READING_EFA,    /* an EFA device; id: its PCI address */
    READING_NOTHING
};
/* The subject to which a file belongs. */
struct reading_subject {
    uint32_t kind; /* kind of the subject, as enum reading_kind */
    uint32_t id;
};

/* What a reader is reading; written by the reader, read by the agent. */
struct reading_note {
    uint32_t step; /* number of starts and ends of reads so far: odd while a file is being read */
    struct reading_subject of;
    char file[READING_FILE_CAP]; /* last bytes of the path of the file that is being read */
};

/* Subjects whose files the reader must not read. */
struct reading_left_out {
    unsigned count;
    struct reading_subject of[READERS];
};

/*
 * Makes this process a reader, which records its reads in `note` and leaves out the subjects of
 * `left_out`. Both are borrowed.
 */
void reading_here(struct reading_note *note, const struct reading_left_out *left_out);
/*
 * Records the subject of the files that are read next. Returns false if the caller must not read
 * files of this subject now.
 */
MUST_USE bool reading_of(enum reading_kind kind, uint32_t id);
/*
 * reading_begins records that a read of one file starts; reading_ends records that this read has
 * ended. Call reading_begins before the file is opened or read, and reading_ends when both are
 * done.
 */
void reading_begins(const char *path);
void reading_ends(void);

#endif
