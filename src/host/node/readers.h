/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's side of the processes that read sysfs (reader.h): starts them, gives tasks to idle
 * readers, receives their answers, and detects when a reader hangs. Owns the pages and the agent's
 * ends of the socket pairs. A reader can write anything into its page at any time, so these
 * functions check the range of each value that they copy from a page, and terminate each string.
 */
#ifndef HOST_NODE_READERS_H
#define HOST_NODE_READERS_H

#include <poll.h>

#include "host/node/reader.h"

/* What the agent knows about one reader process. */
struct reader_state {
    int fd;
    struct reader_page *page;
    bool busy; /* the reader has not answered its last question yet */
    /*
     * the answer of the reader arrived in this turn of the main loop; not set for the answer to a
     * probe
     */
    bool answered;
    bool hangs; /* the reader made no progress for READ_HANG_MS, and its task is not finished yet */
    bool changed;  /* the reader's hang began or ended in this turn of the main loop */
    uint32_t step; /* value of page->note.step that the agent last saw */
    /* when `step` was first seen, the last question was sent, or a pause of the agent ended */
    uint64_t since_ms;
    uint64_t hung_since_ms;
    enum reader_task task; /* the last task that the reader got */
    /* for the task READER_MEMORY: bit N: read device N; 0: the agent no longer needs the answer */
    uint64_t numbers;
    /* Subject of the file whose read hangs, or was the last one that hung. */
    struct reading_subject of;
    char file[READING_FILE_CAP];
};

/* All reader processes, and what they reported last. */
struct readers {
    struct reader_state reader[READERS];
    /*
     * index of the reader that probes the node and reports error events; -1: there is no such
     * reader
     */
    int prober;
    bool probing; /* a reader is running a probe of the node */
    bool probed;  /* the answer to a probe arrived in this turn of the main loop */
    /* the reader `prober` reported an error of a device in this turn of the main loop */
    bool stirred;
    bool changed; /* the hang of a reader began or ended in this turn of the main loop */
    bool ended;   /* a reader process has ended, so the agent must restart */
    /*
     * index of the reader that answered readers_memory_read or delays the answer; -1: there is no
     * such reader
     */
    int memory;
    uint64_t now_ms;
};

/*
 * Maps the shared pages and forks the readers. Call before entering the sandbox, which forbids
 * forking. Each reader closes all descriptors except 0 to 2 and its end of the socket pair. Returns
 * only in the agent. On failure `why` gets one line.
 */
MUST_USE enum status readers_begin(struct readers *r, const struct settings *settings,
                                   struct writer *why);
/* Closes the socket pairs, which ends the readers. */
void readers_end(struct readers *r);
/* Sets the slots for poll(2), one for each reader. */
void readers_interest(const struct readers *r, struct pollfd slots[READERS]);
/*
 * Call at the start of a turn of the main loop: receives the answers of the readers, and detects
 * hanging reads.
 */
void readers_turn(struct readers *r, const struct pollfd slots[READERS], uint64_t now_ms);
/* Returns the time by which readers_turn must be called again; UINT64_MAX: no limit. */
uint64_t readers_deadline(const struct readers *r);

/*
 * Starts a probe of the node; `efas`: the probe includes the EFA devices. `last`: the previous
 * probe, whose values are used for subjects that another reader is reading now. Returns false if a
 * probe is running, or if no reader is idle.
 */
MUST_USE bool readers_probe(struct readers *r, const struct sysfs_probe *last, bool efas);
/*
 * Replaces *last, the previous probe, with the completed probe. Keeps the values of subjects that
 * the completed probe left out.
 */
void readers_result(const struct readers *r, struct sysfs_probe *last);
/*
 * Marks each device for which a reader hangs while reading one of its files. If every reader hangs,
 * marks the health of all devices as unknown.
 */
void readers_mark(const struct readers *r, struct sysfs_probe *result);

/*
 * Makes a reader read the current memory use of the devices in `numbers` (bit N: device N).
 * STATUS_OK: the values were read, and readers_memory returns them until the end of this turn of
 * the main loop. STATUS_MORE: the values are not read yet; call again in a later turn. HOST_BUSY: a
 * file takes longer than READ_WAIT_MS, or every reader hangs; readers_why names the file.
 */
MUST_USE enum status readers_memory_read(struct readers *r, uint64_t numbers);
/* Returns the number of bytes of device memory that a core uses, or -errno. */
int64_t readers_memory(const struct readers *r, unsigned number, unsigned core);
/*
 * Reads the UltraServer files of class/neuron_device as they are now. Waits at most READ_BRIEF_MS;
 * does not wait while a reader is still reading one of these files. Returns 0 or an errno; EBUSY:
 * no reader was idle, or none answered in time.
 */
MUST_USE int readers_ultraserver(struct readers *r, struct found_ultraserver *out);
/* Appends a text that says which file delayed the last readers_memory_read, and for how long. */
void readers_why(struct readers *r, struct writer *w);
/* Appends a text that says in which file reader `i` hangs, and for how long. */
void readers_hanging(const struct readers *r, unsigned i, struct writer *w);

#endif
