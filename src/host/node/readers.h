/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's side of the processes that read sysfs (reader.h): starts them, gives work to an idle
 * one, receives answers as poll(2) reports them, and detects when one hangs. Owns the pages and the
 * agent's ends of the socket pairs. A reader can write anything into its page at any time: the
 * functions here bound what they read from it, and terminate its texts.
 */
#ifndef HOST_NODE_READERS_H
#define HOST_NODE_READERS_H

#include <poll.h>

#include "host/node/reader.h"

/* The agent's view of one reader. */
struct reader_state {
    int fd;
    struct reader_page *page;
    bool busy;         /* asked, has not answered */
    bool answered;     /* answered a question about memory in this turn */
    bool hangs;        /* no progress for READ_HANG_MS, and its task is not done since */
    bool changed;      /* the hang began or ended in this turn */
    uint32_t step;     /* step of its note */
    uint64_t since_ms; /* when that step was first seen, or the reader was asked */
    uint64_t hung_since_ms;
    enum reader_task task; /* its last task */
    uint64_t numbers;      /* devices of READER_MEMORY; 0: the answer is no longer wanted */
    /* what it hangs in, or hung in last */
    struct reading_subject of;
    char file[READING_FILE_CAP];
};

/* The reader processes, and what they last reported. */
struct readers {
    struct reader_state reader[READERS];
    int prober;   /* reader that probes and waits for errors of devices; -1: none yet */
    bool probing; /* a probe is running */
    bool probed;  /* its answer came in this turn */
    bool stirred; /* a device reported an error in this turn */
    bool changed; /* a hang began or ended in this turn */
    bool ended;   /* a reader has ended: the process cannot continue */
    int memory;   /* reader with the answer for readers_memory, or that is late with it */
    uint64_t now_ms;
};

/*
 * Maps the pages and forks the readers, before the sandbox, which forbids forking. The readers
 * close every descriptor but the standard ones and their own. On failure `why` has a line. Does not
 * return in the readers.
 */
MUST_USE enum status readers_begin(struct readers *r, const struct settings *settings,
                                   struct writer *why);
/* Closes the socket pairs, which ends the readers. */
void readers_end(struct readers *r);
/* Sets the slots for poll(2). */
void readers_interest(const struct readers *r, struct pollfd slots[READERS]);
/* Begins a turn of the loop: receives answers, and detects hanging reads. */
void readers_turn(struct readers *r, const struct pollfd slots[READERS], uint64_t now_ms);
/* The latest time for the next readers_turn. */
uint64_t readers_deadline(const struct readers *r);

/*
 * Starts a probe of the node, with `efas` of its EFA devices too. `last`: the previous probe, which
 * provides the values of subjects that another reader is just reading. false: a probe is running,
 * or no reader is idle.
 */
MUST_USE bool readers_probe(struct readers *r, const struct sysfs_probe *last, bool efas);
/* Moves the completed probe into *last, which holds the previous one. */
void readers_result(const struct readers *r, struct sysfs_probe *last);
/* Marks the devices whose files hang; all are unknown if every reader hangs. */
void readers_mark(const struct readers *r, struct sysfs_probe *result);

/*
 * Has the current memory use of these devices read. STATUS_OK: done, and readers_memory returns it
 * until the end of the turn. STATUS_MORE: it is running, call again in a later turn. HOST_BUSY:
 * reading their files exceeds READ_WAIT_MS, or every reader hangs; readers_why names the file.
 */
MUST_USE enum status readers_memory_read(struct readers *r, uint64_t numbers);
/* Bytes in use of a core, or -errno. */
int64_t readers_memory(const struct readers *r, unsigned number, unsigned core);
/*
 * Reads the current class files of an UltraServer node. Waits READ_BRIEF_MS at most, and not at all
 * while one of these files hangs. Returns 0, or an errno; EBUSY: no reader was idle, or none
 * answered.
 */
MUST_USE int readers_ultraserver(struct readers *r, struct found_ultraserver *out);
/* Appends the file that blocks the last request, and for how long. */
void readers_why(struct readers *r, struct writer *w);
/* Appends the file in which reader `i` hangs, and for how long. */
void readers_hanging(const struct readers *r, unsigned i, struct writer *w);

#endif
