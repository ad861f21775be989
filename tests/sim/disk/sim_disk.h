/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files port in memory, for unit tests, the simulator and the fuzz targets. Any call can fail,
 * tear or end the process; what was written survives the process, as the page cache survives a
 * kill; a power cut takes what no commit wrote back. Owns the one disk of the program.
 *
 * A file is a table of pages of 4 KiB. A page is written in place unless it is the committed copy
 * or was there at disk_freeze, so that a test that starts with a whole store costs only what it
 * changes.
 */
#ifndef TESTS_SIM_SIM_DISK_H
#define TESTS_SIM_SIM_DISK_H

#include "agent/files.h"
#include "dra/claim.h"

/* Files at one time: one CDI file per claim, the store, its lock and its damaged ones. */
#define DISK_FILES_MAX 320u
#define DISK_NAME_CAP 128u
/* Entries that one page of a listing goes through. */
#define DISK_PAGE_FILES 8u
#define DISK_PAGE 4096u
/* Pages of one file: a claim store, and what a test writes behind its end. */
#define DISK_PAGES_MAX 1100u
/* Pages at one time: four stores, each with a committed copy, and the CDI files. */
#define DISK_POOL_PAGES 9600u

/* Bytes of the kubelet's checkpoint: a few claims. */
#define DISK_KUBELET_STATE_MAX 32768u
/* Bad places at one time. */
#define DISK_BAD_MAX 8u

struct agent;

/* A directory entry. */
struct disk_file {
    bool used;
    enum files_dir dir;
    char name[DISK_NAME_CAP];
    uint64_t len;
};

/* Bytes of a file that the disk cannot give or does not take: HOST_IO. */
struct disk_bad {
    const struct disk_file *file; /* NULL: none */
    uint64_t from;
    uint64_t end;
    bool read;
    bool write; /* false: a write makes them good */
};

/* A page of a file, by its numbers in the pool; 0 is a page of zeros that is never written. */
struct disk_page {
    uint16_t now;
    uint16_t committed; /* what a power cut leaves */
    bool pending;       /* the next commit writes it back */
};

/* What happens to one call of the port. */
enum fault {
    FAULT_NONE,
    FAULT_KILL_BEFORE, /* the process ends, the call did nothing */
    FAULT_KILL_TORN,   /* a write leaves its first half, a commit does not rename */
    FAULT_KILL_AFTER,
    FAULT_ERROR,        /* the call fails, nothing was done */
    FAULT_ERROR_TORN,   /* a write fails after its first half; others as FAULT_ERROR */
    FAULT_ERROR_AFTER,  /* the call fails although all was done */
    FAULT_ERROR_WRITTEN /* a write fails although all was done; others as FAULT_ERROR */
};

struct disk {
    struct disk_file file[DISK_FILES_MAX];
    unsigned top;                                          /* no entry from here on is used */
    struct disk_page page[DISK_FILES_MAX][DISK_PAGES_MAX]; /* up to the end of the file */
    uint16_t free_page[DISK_POOL_PAGES];
    unsigned free_pages;
    unsigned pool_used;
    unsigned frozen; /* pages below are never written or freed */
    unsigned calls;  /* since disk_fault */
    enum fault fault;
    unsigned fault_at;   /* of which call, from 1 */
    bool lasting;        /* and of all calls after it */
    bool changes_only;   /* reads are not counted */
    enum status failure; /* of FAULT_ERROR… */
    enum status refusal; /* of `refuse…` */
    bool refuse[2];      /* by directory: write and commit fail */
    bool refuse_remove[2];
    bool refuse_read[2];
    bool refuse_flush; /* commits in FILES_STATE fail, and writes do not */
    struct disk_bad bad[DISK_BAD_MAX];
    /* by driver and lock: another process has it */
    enum files_holder locked_by_other[DRIVERS][2];
    /* by driver and lock: which process has it, by its number + 1; 0: none has */
    uint8_t locked[DRIVERS][2];
    uint8_t running;      /* number of the process that calls the port */
    bool runs[2];         /* by number: the process has called and has not ended */
    uint8_t driver;       /* that calls the port, see disk_writer */
    unsigned list_cut;    /* a listing fails after so many pages; 0: never */
    unsigned refuse_from; /* from this call on nothing is written in FILES_STATE; 0: never */
    enum status last;     /* of the last call that failed */
    /* where devices are now; as in a found_node of zeros unless the owner says otherwise */
    struct device_place device[DEVICES_MAX];
    bool device_absent[DEVICES_MAX];
    uint64_t memory[DEVICES_MAX][TELEMETRY_CORES_MAX]; /* in use on each core */
    enum status memory_status;                         /* of each read of that */
    enum status memory_read;                           /* how far their files are read */
    const struct found_ultraserver *ultraserver;       /* the class files; NULL: none can be read */
    /*
     * The kubelet's checkpoint: its bytes, when they were written, and what a read comes to. The
     * owner sets them; an empty disk has one without claims that is always newer than any claim.
     */
    enum status kubelet_state_status;
    uint64_t kubelet_state_ms;
    size_t kubelet_state_len;
    char kubelet_state[DISK_KUBELET_STATE_MAX];
    uint64_t flush_us; /* how long a flush takes; the model's clock does not move by it */
};

extern struct disk disk;
/* The port over it. */
extern const struct files disk_files;
/* The port of the EFA driver: the same disk, its claim store in a directory of its own. */
extern const struct files efa_files;
/* Name of the EFA driver's claim store on the disk. */
#define EFA_STORE_NAME "efa-" STORE_FILE_NAME

/* An empty disk without faults, as on a new node. What disk_freeze kept stays in the pool. */
void disk_clear(void);
/* Arms one fault at the `at`-th call from now; FAULT_NONE only counts. */
void disk_fault(enum fault fault, unsigned at, bool changes_only, enum status failure);
/* From now on nothing can be written (and, for HOST_DENIED, nothing removed) in a directory. */
void disk_refuse(enum files_dir dir, enum status failure);
/* From now on these bytes of the file cannot be read or written, wherever it is renamed to. */
void disk_break(const struct disk_file *f, uint64_t from, uint64_t len, bool read, bool write);
/* No place is bad any more. */
void disk_repair(void);
/* Runs one step of the agent; false: a fault ended the process in it. */
bool disk_survives(void (*step)(struct agent *a), struct agent *a);
/*
 * Cuts the power: of the files in FILES_STATE that is left which a commit wrote back. Of the other
 * pages those are lost for which `lost` says so, in the order of the files; NULL: all. A page whose
 * commit failed is lost without asking.
 */
void disk_power_cut(bool (*lost)(void *ctx), void *ctx);

/*
 * The kubelet writes its checkpoint at this Unix time, with the claims of these UIDs; `damaged`:
 * a byte of it is another one then.
 */
void disk_kubelet_state(const char *const *uid, unsigned count, uint64_t written_ms, bool damaged);
/*
 * The kubelet writes its checkpoint at this Unix time, with these claims, each with devices of the
 * driver.
 */
void disk_kubelet_claims(const struct claim_id *const *claim, unsigned count, const char *driver,
                         uint64_t written_ms);
/* The process of that number calls the port from now on: 0, or 1 where two run. */
void disk_process(unsigned number);
/* The driver that calls the port from now on, an enum driver_kind: each has its own temporary files
 * and locks. */
void disk_writer(unsigned driver);
/* A driver of a process has ended, or a process: its locks are gone. */
void disk_driver_ended(unsigned driver, unsigned number);
void disk_process_ended(unsigned number);

/* The pages that exist now are kept as they are for the life of the program. */
void disk_freeze(void);
/* Forgets all pages made since disk_freeze; the caller has put back the tables of that moment. */
void disk_thaw(void);

/* --- the files, past the port --- */

/* NULL: no such file. */
struct disk_file *disk_find(enum files_dir dir, const char *name);
/* Finds the file or makes an empty one. Never NULL. */
struct disk_file *disk_make(enum files_dir dir, const char *name);
unsigned disk_count(enum files_dir dir);
/* Gives the file another name, in place of the one that has it. */
void disk_rename(struct disk_file *f, const char *name);
void disk_unlink(struct disk_file *f);
/* Cuts the file or extends it by zeros; a power cut does not undo it. */
void disk_set_len(struct disk_file *f, uint64_t len);
/* Appends bytes of the file from `offset` until `out` is filled up or the file ends. */
void disk_get(const struct disk_file *f, uint64_t offset, struct writer *out);
/* Puts bytes into the file as if they had always been there; a power cut does not undo it. */
void disk_set(struct disk_file *f, uint64_t offset, struct view bytes);
/* The file's page table, valid up to its length. */
struct disk_page *disk_pages(const struct disk_file *f);
/* How many pages `len` bytes take. */
unsigned disk_pages_of(uint64_t len);

#endif
