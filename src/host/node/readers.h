/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's side of the processes that read sysfs (reader.h): starts them, asks one that is
 * idle, takes the answers as poll(2) reports them, and sees when one hangs. Owns the pages and the
 * agent's ends of the pairs. A reader can write anything into its page at any time: the functions
 * here bound what they take from it, and end its texts.
 */
#ifndef HOST_NODE_READERS_H
#define HOST_NODE_READERS_H

#include <poll.h>

#include "host/node/reader.h"

/* One reader, as the agent knows it. */
struct reader_state {
    int fd;
    struct reader_page *page;
    bool busy;         /* asked, and not answered */
    bool answered;     /* a question for memory was answered in this turn */
    bool hangs;        /* made no step for READ_HANG_MS; until it has done what it was asked */
    bool changed;      /* that is new, or over, in this turn */
    uint32_t step;     /* of its note */
    uint64_t since_ms; /* when the step was first seen, or the reader asked */
    uint64_t hung_since_ms;
    enum reader_task task; /* what it was asked last */
    uint64_t numbers;      /* of READER_MEMORY; 0: the answer is for nobody any more */
    /* while it hangs, and when that is over: what it read last */
    struct reading_subject of;
    char file[READING_FILE_CAP];
};

struct readers {
    struct reader_state reader[READERS];
    int looker;   /* does the looks and waits for errors of devices; -1: none yet */
    bool looking; /* it was asked for a look */
    bool looked;  /* its answer came in this turn */
    bool stirred; /* a device reported an error in this turn */
    bool changed; /* a reader hangs since this turn, or does not any more */
    bool ended;   /* one is gone: the process cannot go on */
    int memory;   /* whose answer readers_memory reads, or who is late with it */
    uint64_t now_ms;
};

/*
 * Maps the pages and forks the readers, before the sandbox, which allows no fork. They close every
 * descriptor but the standard ones and their own. A failure: `why` has a line. In the readers it
 * does not return.
 */
MUST_USE enum status readers_begin(struct readers *r, const struct settings *settings,
                                   struct writer *why);
/* Closes the pairs: the readers end. */
void readers_end(struct readers *r);
/* What poll(2) waits for. */
void readers_interest(const struct readers *r, struct pollfd slots[READERS]);
/* A turn of the loop begins: takes the answers, and sees which reads hang. */
void readers_turn(struct readers *r, const struct pollfd slots[READERS], uint64_t now_ms);
/* When readers_turn must be called at the latest. */
uint64_t readers_deadline(const struct readers *r);

/*
 * Asks for a look at the node, with `efas` at its EFA devices too. `last` is the one before: what
 * is left out, because another reader is just reading it, stays as it was there. false: a look is
 * under way, or no reader is idle.
 */
MUST_USE bool readers_look(struct readers *r, const struct sysfs_look *last, bool efas);
/* Takes the look that has been answered into *last, which has the one before. */
void readers_take(const struct readers *r, struct sysfs_look *last);
/* Marks in a look the devices whose files hang; all are unknown where no reader is left. */
void readers_mark(const struct readers *r, struct sysfs_look *look);

/*
 * Has the memory of these devices read, as it is now. STATUS_OK: it is, and until the turn ends
 * readers_memory gives it; STATUS_MORE: it is under way, call again in a later turn; HOST_BUSY: a
 * read of their files has taken READ_WAIT_MS, or each reader hangs, and readers_why says in what.
 */
MUST_USE enum status readers_memory_read(struct readers *r, uint64_t numbers);
/* Bytes in use of a core, or -errno. */
int64_t readers_memory(const struct readers *r, unsigned number, unsigned core);
/*
 * Reads the class files of a node of an UltraServer as they are now. Waits READ_BRIEF_MS at most,
 * and not at all while one of these files hangs. Returns 0, or the errno of a failure: EBUSY: no
 * reader was idle, or none has answered.
 */
MUST_USE int readers_ultraserver(struct readers *r, struct found_ultraserver *out);
/* Appends the file that is in the way of what was asked for last, and for how long it is. */
void readers_why(struct readers *r, struct writer *w);
/* The same of one that hangs. */
void readers_hanging(const struct readers *r, unsigned i, struct writer *w);

#endif
