/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resumable projection of protobuf messages: keeps the fields on a list, drops the rest, as the
 * bytes arrive. Owns the position inside one message of any size in fixed memory; knows protobuf,
 * not Kubernetes.
 *
 * A table of rules is a tree. DESCEND enters a sub-message; RECORD enters one and starts a record;
 * KEEP copies a field into the innermost open record under a new field number. When a record's
 * message ends, the record is complete: a small, flat protobuf message of our own
 * (proto/projection.proto) that nanopb decodes. Fields without a rule are skipped by length.
 * Records may nest (a list item with sub-items): the inner one is emitted when it ends, before the
 * outer one; both share the one buffer. Groups (wire types 3, 4), field number 0, varints over 64
 * bits, lengths over 2 GiB or that overrun their parent, and messages to enter that are not
 * length-delimited are PEER_MALFORMED. Depth comes from the table alone: a peer's nesting that no
 * rule follows is skipped.
 *
 * Invariants:
 * I1 Records and status are the same for every split of the input.
 * I2 Memory is sizeof(struct kube_filter) whatever arrives; no record is longer than
 *    KUBE_RECORD_BYTES_MAX.
 * I3 A field that does not fit its record is left out (KEEP_CUT: cut between two characters) and
 *    the record is `truncated`; fields before and after it are kept.
 * I4 A failure is sticky and takes no further byte.
 * I5 What is listed above is refused, at the byte that shows it; a message that ends early is
 *    refused at its end.
 * I6 Nothing else is refused.
 */
#ifndef WIRE_KUBE_FILTER_H
#define WIRE_KUBE_FILTER_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* What is done with a field, `kind` of a rule; names as in the description above. */
enum {
    KUBE_DESCEND,
    KUBE_ENVELOPE, /* DESCEND into bytes that begin with the magic k8s\0 */
    KUBE_RECORD,
    /*
     * KEEP as a record of its own, emitted when the field ends; a record that holds it stays open
     */
    KUBE_RECORD_FIELD,
    /*
     * any wire type; lengths over what fits leave the field out. A repeated field is kept as often
     * as it comes
     */
    KUBE_KEEP,
    KUBE_KEEP_CUT, /* text: cut at `limit` bytes on a UTF-8 boundary */
    KUBE_PRESENT   /* write varint 1 under `as` when the field occurs, drop its content */
};
/* In `field` of a PRESENT rule: every field of the parent that has no rule of its own. */
#define KUBE_ANY_FIELD 0u

/* One row of a table: one field of one message. */
struct kube_rule {
    /* index of an earlier rule whose message holds this field; KUBE_ROOT for the top message */
    uint8_t parent;
    uint8_t kind;   /* what is done with it */
    uint8_t field;  /* field number in the parent message, 1 to 255, or KUBE_ANY_FIELD */
    uint8_t record; /* RECORD…: number reported in the event */
    uint8_t as;     /* KEEP…: field number in the record */
    uint16_t limit; /* KEEP…: most bytes kept; 0: no limit of its own */
};
/* The outermost message. */
#define KUBE_ROOT 255u

/* A table; const data of whoever reads by it, borrowed. */
struct kube_rules {
    const struct kube_rule *rules;
    uint8_t count;
    /* whose message the input is: KUBE_ROOT, or the index of a DESCEND or ENVELOPE rule */
    uint8_t top;
};

/* One complete record. */
struct kube_record {
    uint8_t record;      /* number from the rule */
    bool truncated;      /* a kept field did not fit and is missing or cut */
    struct view message; /* valid until the next call */
};

/* An open message. */
struct kube_frame {
    /* bytes of this message still to come; UINT64_MAX for a top message of unknown length */
    uint64_t left;
    uint16_t record_start; /* where its record begins in the buffer (RECORD frames) */
    uint8_t rule;          /* index, KUBE_ROOT at the top */
    bool truncated;        /* of the record (RECORD frames) */
};

/* Position inside one message. */
struct kube_filter {
    struct kube_rules rules;
    unsigned depth;
    struct kube_frame frames[KUBE_DEPTH_MAX];
    enum status failed;
    /* internal: position inside a tag, a length or a value */
    uint8_t phase;
    uint8_t wire_type;
    uint8_t rule;       /* rule of the field under way, KUBE_ROOT: none */
    uint8_t varint_len; /* bytes of a varint, or of the magic, seen so far */
    /*
     * bytes that the length of the kept field takes, right before kept_at; 0: not length-delimited
     */
    uint8_t kept_size;
    bool field_truncated; /* the field under way did not fit or was cut */
    uint64_t varint;
    uint64_t value_left;
    uint16_t field_at;  /* where the field under way began in the buffer, its tag included */
    uint16_t kept_at;   /* where its kept content began */
    uint16_t kept_left; /* bytes of it still to keep */
    uint16_t emit_len;  /* bytes of an emitted record to be released by the next call */
    uint16_t len;
    uint8_t buffer[KUBE_RECORD_BYTES_MAX];
};

/*
 * Whether a table is a tree of at most KUBE_DEPTH_MAX levels in which every KEEP stands below a
 * RECORD.
 */
bool kube_rules_valid(struct kube_rules rules);
/*
 * Starts on a message of `length` bytes, or of unknown length (UINT64_MAX) that kube_filter_end
 * ends. The rules are borrowed.
 */
void kube_filter_init(struct kube_filter *f, struct kube_rules rules, uint64_t length);
/* Whether the position holds together: for assertions and tests. */
bool kube_filter_valid(const struct kube_filter *f);
/*
 * Goes on with other rules after a record, when that record decides what follows. The rows of all
 * messages open now must be the same in both.
 */
void kube_filter_switch(struct kube_filter *f, struct kube_rules rules);
/*
 * Takes bytes from `in` until a record is complete (STATUS_OK, *record) or the input is used up
 * (STATUS_MORE). With a known length, nothing past the message is taken; kube_filter_done is true
 * when it is over. Failures are sticky.
 */
MUST_USE enum status kube_filter_next(struct kube_filter *f, struct reader *in,
                                      struct kube_record *record);
/* Whether a message of known length is over. */
bool kube_filter_done(const struct kube_filter *f);
/* The input ended: STATUS_OK at a message boundary, PEER_MALFORMED inside a field. */
MUST_USE enum status kube_filter_end(struct kube_filter *f);

#endif
