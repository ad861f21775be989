/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares held claims with other evidence (reconcile.c): the CDI files, the boot of the node, and
 * the claims at the API server. Owns struct reconcile. Internal to src/agent.
 *
 * Invariants:
 * I1 No claim is released because of an error. A claim is released only if
 *    - the API server answers twice that the claim is deleted and, between these answers, that the
 *      Node exists; and a witness shows that the kubelet will not unprepare the claim: the node was
 *      booted since the prepare, or the kubelet's checkpoint does not list the claim; or
 *    - the node was booted since the prepare, and another claim needs its devices; or
 *    - the claim was prepared on another machine.
 *    A claim that was rebuilt and not prepared since also counts as deleted when it no longer has a
 *    device of this node.
 * I2 A CDI file without a record is removed only if this process unprepared its claim, or the file
 *    was made on another machine.
 * I3 Checks are fair: a claim whose check fails is checked again only after all other claims whose
 *    checks were due.
 */
#ifndef AGENT_RECOVERY_RECONCILE_H
#define AGENT_RECOVERY_RECONCILE_H

#include "agent/api/client.h"
#include "dra/claim.h"

/* When the claim in a slot is next checked at the API server, and the result of the last check. */
struct claim_check {
    uint64_t due_ms;
    uint64_t entered; /* value of ledger_entry.entered for the record that was checked */
    bool gone;        /* the API server answered once that the claim is deleted */
    /* the claim is deleted, but the kubelet may still unprepare it; this was logged */
    bool withheld;
    /* the claim was prepared at this time at the latest, in Unix milliseconds */
    uint64_t since_wall_ms;
    bool failed; /* the last GET of the claim failed */
    /* the claim was prepared in this boot, but writing that into its record failed */
    bool boot_unwritten;
};

/* State of two comparisons: of CDI files with records, and of claims with the API server. */
struct reconcile {
    /* comparison of CDI files with records */
    bool complete; /* every CDI file without a record was handled */
    /* name of the first CDI file in the last listing that cannot be read; empty: none */
    char unread[CDI_FILE_NAME_CAP];
    unsigned unread_count; /* number of CDI files in the last listing that cannot be read */
    bool unseen;           /* since the store was opened, no listing of the CDI root was complete */
    unsigned next_slot;    /* slot whose CDI file is compared next; CLAIMS_MAX: no slot is left */
    uint64_t files_ms;     /* when to list the CDI root next */
    bool labels;           /* CDI files were compared again after the Node's labels became known */
    enum status list_failing; /* error of the last listing of the CDI root; STATUS_OK: none */
    /* checks of claims at the API server */
    bool asks_node; /* the Node must be read before a claim counts as deleted */
    bool running;   /* a GET of the claim `uid` in `slot` is in flight */
    unsigned slot;
    char uid[UID_CAP];
    /* UID of the claim in the response to the GET; empty: it has not arrived yet */
    char found_uid[UID_CAP];
    bool allocated;    /* the claim in the response has devices of this node */
    uint64_t check_ms; /* when the next claim must be checked: the smallest due_ms */
    uint64_t pause_ms; /* no GET may start before this time */
    uint64_t backoff_ms;
    /* UID of the claim whose check failed last; empty: a later check succeeded */
    char failed_uid[UID_CAP];
    uint8_t failures; /* number of consecutive failed checks of different claims */
    struct claim_check check[CLAIMS_MAX];
    struct claim_record record; /* working copy of a claim record, for one function at a time */
};

/*
 * reconcile_step does the work that is due; reconcile_deadline returns when to call it again
 * (frame.h).
 */
void reconcile_step(struct agent *a);
uint64_t reconcile_deadline(const struct agent *a);
/*
 * Whether the Node must be read again before a claim counts as deleted. The caller must then read
 * it: the next call returns false, unless the reconciliation asks for the Node again.
 */
bool reconcile_asks_node(struct agent *a);
/* Whether this step starts to compare the CDI root with the records, if the store is open. */
bool reconcile_begins(const struct agent *a);
/* Whether every CDI file without a record was handled. */
bool reconcile_is_complete(const struct agent *a);
/* Appends why reconcile_is_complete returns false, with the path of the file, and the remedy. */
void reconcile_reason(const struct agent *a, struct writer *out);
/*
 * Called when the claim store was opened: adopts claims of CDI files without a record, and makes
 * the checks of all held claims due soon.
 */
void reconcile_opened(struct agent *a);
/*
 * Called when a probe found changed devices: lets the next steps update the uverbs nodes in the
 * records and CDI files of EFA claims.
 */
void reconcile_devices(struct agent *a);
/*
 * Makes the check of the claim in this slot due now, for example because the claim blocks another
 * one. Does not advance the second check of a claim that was found deleted, unless its release is
 * withheld.
 */
void reconcile_check(struct agent *a, unsigned slot);
/*
 * Records that the claim in this slot was prepared, perhaps again. From now on, only a checkpoint
 * that the kubelet writes later can show that the kubelet has finished with the claim.
 */
void reconcile_prepared(struct agent *a, unsigned slot);
/*
 * Whether the held claim in this slot is deleted at the API server, but not released because the
 * kubelet may still unprepare it.
 */
bool reconcile_withholds(const struct agent *a, unsigned slot);
/*
 * Whether the claim in this slot was prepared before the node booted, and not since; if so, it may
 * be released for another claim.
 */
bool reconcile_is_stale(struct agent *a, unsigned slot);
/*
 * Releases the claim in this slot, which must be stale (reconcile_is_stale). false: the claim stays
 * held.
 */
bool reconcile_release_stale(struct agent *a, unsigned slot);
/*
 * Holds a claim that has a CDI file and no record; `from`: where the claim was found, for the log.
 * If the record could not be written, `why` gets a line, and the next process finds only the CDI
 * file. false: there is no slot for the claim.
 */
bool reconcile_adopt(struct agent *a, const struct claim_record *r, const char *from,
                     struct writer *why);
/*
 * Handles a repeated prepare of the claim in this slot: writes the id of this boot into the claim's
 * record. If that write fails, only the CDI file has the id, and the write is retried later. The
 * record of a rebuilt claim must also show, before the claim is prepared, that the kubelet asked
 * for the claim. HOST_*: the record of a rebuilt claim could not be written; `why` gets one line.
 * *r: before the call the current record; after it the new record, valid until the next record is
 * put or read.
 */
MUST_USE enum status reconcile_prepared_again(struct agent *a, unsigned slot,
                                              const struct claim_record **r, struct writer *why);
/*
 * Called when the record of this held slot became unreadable (HOST_DAMAGED), because the disk
 * damaged it or an old copy of the store was restored. Writes the record again, from memory or from
 * the claim's CDI file, and logs that. false: neither source has the record, or it could not be
 * written.
 */
bool reconcile_restore(struct agent *a, unsigned slot);
/*
 * reconcile_record handles a record of the response to the GET of a claim; reconcile_end, the end
 * of that response.
 */
void reconcile_record(struct agent *a, const struct api_result *r,
                      const struct kube_record *record);
void reconcile_end(struct agent *a, const struct api_result *r);

#endif
