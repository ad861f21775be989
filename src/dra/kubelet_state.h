/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's checkpoint of claims, dra_manager_state in its root: the claims that it will still
 * unprepare. Owns the format; does no I/O. The caller passes the bytes piece by piece, and only one
 * string of them is kept.
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
    enum status failed;      /* sticky; STATUS_OK: no failure */
    uint8_t place;           /* position in the outer text */
    size_t matched;          /* matched bytes of the fixed text at `place`, or digits of the sum */
    uint8_t escape;          /* outer string: characters of the current escape still to come */
    uint32_t escaped;        /* value of a \u escape so far */
    uint32_t crc;            /* CRC of the data so far */
    uint64_t sum;            /* the checkpoint's own CRC */
    size_t head;             /* matched bytes of the data's fixed head */
    bool data_ended;         /* the data's last brace was read */
    uint8_t depth;           /* open containers in the data */
    bool in_string;          /* inside a string of the data */
    bool backslash;          /* the string's last byte started an escape */
    bool wants_uid;          /* the next string is a UID */
    bool has_uid;            /* the current element has a UID */
    bool uid_due;            /* `text` is a UID that the caller has not got yet */
    size_t len;              /* length of `text` */
    char text[UID_CAP + 1u]; /* string at an element's depth; cut where longer */
};

/* Starts a checkpoint. */
void kubelet_state_begin(struct kubelet_state *k);
/*
 * Continues parsing. true: `uid` is the UID of the next claim; call again with the rest of `in`.
 * false: `in` is consumed, or the checkpoint is damaged.
 */
bool kubelet_state_next(struct kubelet_state *k, struct reader *in, char uid[UID_CAP]);
/*
 * Ends the checkpoint. STATUS_OK: it is complete. PEER_MALFORMED: it is damaged. PEER_UNSUPPORTED:
 * it is of another kind or version.
 */
MUST_USE enum status kubelet_state_end(const struct kubelet_state *k);

#endif
