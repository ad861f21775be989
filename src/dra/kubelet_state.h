/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's checkpoint of claims, dra_manager_state in its root: which claims it will still
 * unprepare. Owns the format; does no I/O, and keeps no more of the text than one string. The bytes
 * come piece by piece.
 *
 * Kubernetes 1.32 and later (pkg/kubelet/cm/dra/state/checkpoint.go) write, as Go's encoding/json
 * does, without white space:
 *
 *   {"Data":TEXT,"Checksum":CRC}
 *
 * TEXT is a JSON string, CRC the CRC-32 (IEEE 802.3) of its bytes after its escapes are resolved,
 * in decimal. These bytes are JSON again:
 *
 *   {"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1",
 *    "ClaimInfoStateList":[{"ClaimUID":UID,…},…]}, or null in the place of the list.
 *
 * Invariants:
 * I1 STATUS_OK of kubelet_state_end means that every byte was read, that the sum is right and the
 *    kind and version are known; every ClaimUID was returned.
 * I2 A failure is sticky.
 */
#ifndef DRA_KUBELET_STATE_H
#define DRA_KUBELET_STATE_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* How far a checkpoint was read. Owners read nothing of it. */
struct kubelet_state {
    enum status failed;      /* sticky; STATUS_OK: none */
    uint8_t place;           /* in the outer text */
    size_t matched;          /* bytes of the fixed text at `place`, or digits of the sum */
    uint8_t escape;          /* of the outer string: characters of an escape that are to come */
    uint32_t escaped;        /* value of a \u escape so far */
    uint32_t crc;            /* of the data so far */
    uint64_t sum;            /* that the checkpoint has */
    size_t head;             /* bytes of the data's fixed head that matched */
    bool data_ended;         /* its last brace was there */
    uint8_t depth;           /* containers open in the data */
    bool in_string;          /* of the data */
    bool backslash;          /* the last byte of that string is an unfinished escape */
    bool wants_uid;          /* the next string is a UID */
    bool has_uid;            /* the element has one */
    bool uid_due;            /* `text` is a UID to be returned */
    size_t len;              /* of `text` */
    char text[UID_CAP + 1u]; /* string at the depth of an element; what is longer is cut */
};

/* Starts a checkpoint. */
void kubelet_state_begin(struct kubelet_state *k);
/*
 * Reads on. true: `uid` is that of the next claim, to be asked again with the rest of `in`; false:
 * `in` is at its end, or the checkpoint is damaged.
 */
bool kubelet_state_next(struct kubelet_state *k, struct reader *in, char uid[UID_CAP]);
/*
 * All bytes were read. STATUS_OK: the checkpoint is whole. PEER_MALFORMED: it is damaged.
 * PEER_UNSUPPORTED: it is of another kind or version.
 */
MUST_USE enum status kubelet_state_end(const struct kubelet_state *k);

#endif
