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
 *    "ClaimInfoStateList":[{"ClaimUID":UID,"ClaimName":NAME,"Namespace":NAMESPACE,…,
 *                           "DriverState":{DRIVER:…,…}},…]}, or null instead of the list.
 *
 * Invariants:
 * I1 STATUS_OK of kubelet_state_end means that every byte was read, the checksum is right, the kind
 *    and version are known, and every claim was returned.
 * I2 A failure is sticky.
 */
#ifndef DRA_KUBELET_STATE_H
#define DRA_KUBELET_STATE_H

#include "base/bytes.h"
#include "cfg/limits.h"
#include "dra/claim.h"

/* A claim that the checkpoint lists. */
struct kubelet_claim {
    /* The namespace and the name are empty if the checkpoint has none, or one that is too long. */
    struct claim_id id;
    bool of_driver; /* the claim has devices of the driver that kubelet_state_begin got */
};

/* The member of a list element that is being read. */
enum kubelet_member {
    MEMBER_OTHER,
    MEMBER_UID,
    MEMBER_NAME,
    MEMBER_NAMESPACE,
    MEMBER_DRIVERS,
    KUBELET_MEMBERS /* number of kinds of members */
};

/* Progress of parsing a checkpoint. Private to kubelet_state.c. */
struct kubelet_state {
    enum status failed; /* first failure, which stays; STATUS_OK: no failure */
    uint8_t place;      /* position in the outer JSON text (OUTER_…) */
    /* number of bytes read so far of the fixed text at `place`, or of the checksum */
    size_t matched;
    /* escape in the value of "Data": ESCAPE_KIND, or number of \u digits still to read; 0: none */
    uint8_t escape;
    uint32_t escaped; /* value of the \u digits read so far */
    uint32_t crc;     /* CRC of the data read so far */
    uint64_t sum;     /* the value of "Checksum" read so far */
    size_t head;      /* number of bytes read of the fixed text at the start of the data */
    bool data_ended;  /* the data's last brace was read */
    uint8_t depth;    /* number of open objects and arrays in the data */
    bool in_string;   /* the position is inside a string of the data */
    bool backslash;   /* the last byte of the current string started an escape */
    enum kubelet_member member; /* the member of the current list element that is being read */
    bool has_uid;               /* the current element of the list has a UID */
    bool claim_due;             /* `claim` is complete, and must be returned to the caller */
    struct view driver;         /* name of the driver; borrowed */
    struct kubelet_claim claim; /* the members of the current list element that were read */
    size_t len;                 /* length of `text` */
    char text[NAME_CAP];        /* last string in a list element or in its drivers; may be cut */
};

/*
 * Starts parsing a checkpoint. `driver`: name of the driver whose claims get `of_driver`; borrowed
 * until parsing ends.
 */
void kubelet_state_begin(struct kubelet_state *k, const char *driver);
/*
 * Continues parsing. Returns the next claim, which is valid until the next call; the caller calls
 * again with the rest of `in`. NULL: `in` is consumed, or parsing failed.
 */
const struct kubelet_claim *kubelet_state_next(struct kubelet_state *k, struct reader *in);
/*
 * Ends parsing. STATUS_OK: the checkpoint is complete. PEER_MALFORMED: the checkpoint is damaged.
 * PEER_UNSUPPORTED: the checkpoint has another kind, version or layout.
 */
MUST_USE enum status kubelet_state_end(const struct kubelet_state *k);

#endif
