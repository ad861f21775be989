/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the kubelet's checkpoint, the file dra_manager_state in the kubelet's root directory,
 * which lists the claims that the kubelet will still unprepare. Owns the format; does no I/O. The
 * caller passes the bytes piece by piece; the parser keeps only one string at a time.
 *
 * Kubernetes 1.32 and later (pkg/kubelet/cm/dra/state/checkpoint.go) write, with Go's encoding/json
 * and without white space:
 *
 *   {"Data":TEXT,"Checksum":CRC}
 *
 * TEXT is a JSON string; CRC is the CRC-32 (IEEE 802.3) of its unescaped bytes, in decimal. These
 * bytes are JSON again:
 *
 *   {"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1",
 *    "ClaimInfoStateList":[{"ClaimUID":UID,…},…]}, or null instead of the list.
 *
 * Invariants:
 * I1 STATUS_OK of kubelet_state_end means that every byte was read, the checksum is right, the kind
 *    and version are known, and every ClaimUID was returned.
 * I2 A failure is sticky.
 */
#ifndef DRA_KUBELET_STATE_H
#define DRA_KUBELET_STATE_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* Progress of parsing a checkpoint. Private to kubelet_state.c. */
struct kubelet_state {
    enum status failed; /* first failure, which stays; STATUS_OK: no failure */
    uint8_t place;      /* position in the outer JSON text (OUTER_…) */
    /* bytes already matched: of the fixed text at `place`, or of the checksum */
    size_t matched;
    uint8_t escape;          /* outer string: ESCAPE_KIND, or number of \u digits still to read */
    uint32_t escaped;        /* value of the \u digits read so far */
    uint32_t crc;            /* CRC of the data read so far */
    uint64_t sum;            /* the value of "Checksum" read so far */
    size_t head;             /* bytes read of the fixed text at the start of the data */
    bool data_ended;         /* the data's last brace was read */
    uint8_t depth;           /* number of open objects and arrays in the data */
    bool in_string;          /* the position is inside a string of the data */
    bool backslash;          /* the last byte of the current string started an escape */
    bool wants_uid;          /* the next string is a UID */
    bool has_uid;            /* the current element of the list has a UID */
    bool uid_due;            /* `text` is a UID to be returned to the caller */
    size_t len;              /* length of `text` */
    char text[UID_CAP + 1u]; /* last string directly in a list element; may be cut */
};

/* Starts parsing a checkpoint. */
void kubelet_state_begin(struct kubelet_state *k);
/*
 * Continues parsing. Returns true if it found the next claim: `uid` gets the claim's UID, and the
 * caller calls again with the rest of `in`. Returns false if `in` is consumed, or parsing failed.
 */
bool kubelet_state_next(struct kubelet_state *k, struct reader *in, char uid[UID_CAP]);
/*
 * Ends parsing. STATUS_OK: the checkpoint is complete. PEER_MALFORMED: the checkpoint is damaged.
 * PEER_UNSUPPORTED: the checkpoint has another kind, version or layout.
 */
MUST_USE enum status kubelet_state_end(const struct kubelet_state *k);

#endif
