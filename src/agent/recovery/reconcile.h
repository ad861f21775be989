/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares what is held with what else there is to know (reconcile.c): the CDI files, the boot of
 * the node, and the claims of the API server. Owns struct reconcile. Internal to src/agent.
 *
 * Invariants:
 * I1 No claim is released because of an error: only because the API server says twice that it is
 *    gone, and in between that the Node is there, and a witness says that the kubelet will not
 *    unprepare it: the node was booted since, or the kubelet's checkpoint does not list it; or
 *    because the node was booted since and another claim needs its devices; or because it was
 *    prepared on another machine. One that was rebuilt and not prepared since counts as gone, too,
 *    when it has no device of this node any more.
 * I2 A CDI file without a record is removed only if its claim was unprepared by this process.
 * I3 Looks are fair: a claim whose look fails is asked for again after every claim that was due.
 */
#ifndef AGENT_RECOVERY_RECONCILE_H
#define AGENT_RECOVERY_RECONCILE_H

#include "agent/api/client.h"
#include "dra/claim.h"

/* When the claim in a slot is looked up next, and what the last answer was. */
struct claim_look {
    uint64_t due_ms;
    uint64_t entered;       /* of the record that it is about, see struct ledger_entry */
    bool gone;              /* the API server said once that the claim is gone */
    bool withheld;          /* it is gone, and no witness lets it be released: said in the log */
    uint64_t since_wall_ms; /* Unix time: it was prepared then or before, see witness.h */
    bool failed;            /* the last GET of it did */
    bool again;             /* prepared in this boot, which the disk did not let the record say */
};

struct reconcile {
    /* CDI files */
    bool complete;            /* every CDI file without a record was taken in */
    bool unseen;              /* not all of them were seen since the store was opened */
    unsigned next_slot;       /* whose CDI file is looked at next; CLAIMS_MAX: all were */
    uint64_t files_ms;        /* when the directory is looked through next */
    bool labels;              /* files were compared since the Node's labels are known */
    enum status list_failing; /* by which the last listing failed; STATUS_OK: it did not */
    /* claims of the API server */
    bool asks_node; /* see reconcile_asks_node */
    bool running;   /* a GET is in flight, of the claim `uid` in `slot` */
    unsigned slot;
    char uid[UID_CAP];
    char found_uid[UID_CAP]; /* in the response; empty: none yet */
    bool allocated;          /* and it has devices of this node */
    uint64_t look_ms;        /* no GET is due before */
    uint64_t pause_ms;       /* none may start before */
    uint64_t backoff_ms;
    char failed_uid[UID_CAP]; /* of the claim whose look failed last; empty: none since */
    uint8_t failures;         /* looks at one claim after another that failed */
    struct claim_look look[CLAIMS_MAX];
    struct claim_record record; /* being read from a CDI file, or changed */
};

/* The module's verbs, see state.h. */
void reconcile_step(struct agent *a);
uint64_t reconcile_deadline(const struct agent *a);
/* Whether the Node is to be read again, before a claim counts as gone. Asked once. */
bool reconcile_asks_node(struct agent *a);
/* Whether this step begins a round over the CDI root, if the store is open. */
bool reconcile_begins(const struct agent *a);
/* The claim store was opened: takes in the CDI files that have no record. */
void reconcile_opened(struct agent *a);
/* The look found other devices: records and CDI files of EFA claims follow their uverbs nodes. */
void reconcile_devices(struct agent *a);
/* The claim in this slot is in the way of another one: it is looked up at once. */
void reconcile_look(struct agent *a, unsigned slot);
/* The claim in this slot was prepared, or prepared again: what a witness has to be newer than. */
void reconcile_prepared(struct agent *a, unsigned slot);
/* Whether the held claim in this slot is gone, and is not released for want of a witness. */
bool reconcile_withholds(const struct agent *a, unsigned slot);
/*
 * Whether the claim in this slot was prepared before the node was booted, and not since: then it
 * may be released for another one.
 */
bool reconcile_may_give_way(struct agent *a, unsigned slot);
/* Releases it if so; false: it stays held. */
bool reconcile_gives_way(struct agent *a, unsigned slot);
/*
 * Holds a claim that has a CDI file and no record; `from` says who knew of it. `why` gets a line if
 * the record could not be written: then the CDI file alone is what the next process finds. false:
 * there is no place for the claim.
 */
bool reconcile_adopt(struct agent *a, const struct claim_record *r, const char *from,
                     struct writer *why);
/*
 * The claim in this slot is prepared again: its record gets this boot's id. While the disk does not
 * take that, the claim's CDI file has it, and it is tried again. One that was rebuilt is not
 * prepared before its record says that the kubelet asked for it: else HOST_*, and `why` gets one
 * line. *r: the record before and after, valid until the next one is put or read.
 */
MUST_USE enum status reconcile_prepared_again(struct agent *a, unsigned slot,
                                              const struct claim_record **r, struct writer *why);
/*
 * The record of this held slot cannot be read any more (HOST_DAMAGED), as when it rots or an old
 * copy of the store is put back: writes it again, from memory or from the claim's CDI file, and
 * logs that. false: neither has it, or the disk refuses.
 */
bool reconcile_restore(struct agent *a, unsigned slot);
/* Of the response to a GET. */
void reconcile_record(struct agent *a, const struct api_result *r,
                      const struct kube_record *record);
void reconcile_end(struct agent *a, const struct api_result *r);

#endif
