/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters protobuf messages as their bytes arrive: keeps the fields that a table of rules lists and
 * drops all others. Owns the position inside one message of any size, in fixed memory; knows
 * protobuf, not Kubernetes.
 *
 * A table of rules is a tree. DESCEND enters a sub-message; RECORD enters a sub-message and starts
 * a record; KEEP copies a field into the innermost open record under a new field number. When the
 * sub-message of a record ends, the record is complete: a small, flat protobuf message of our own
 * (proto/projection.proto) that nanopb decodes. Fields without a rule are skipped by length.
 * Records may nest (a list item with sub-items): the inner record is emitted when it ends, before
 * the outer record; both share one buffer. Only the table bounds the nesting depth, because nested
 * messages without a rule are skipped.
 *
 * PEER_MALFORMED means one of these:
 * - a group (wire types 3, 4) or an undefined wire type (6, 7);
 * - field number 0, or a tag over 32 bits;
 * - a varint over 64 bits;
 * - a length of 2 GiB or more, or one that exceeds the rest of the enclosing message;
 * - a field that a rule enters, but whose wire type is not length-delimited;
 * - an ENVELOPE that does not start with the magic.
 *
 * Invariants:
 * I1 The records and the status do not depend on how the input is split into reads.
 * I2 Memory is sizeof(struct kube_filter) for every input; no record is longer than
 *    KUBE_RECORD_BYTES_MAX.
 * I3 A field that does not fit its record is left out (KEEP_CUT: cut between two characters) and
 *    the record is marked `truncated`; the fields before and after it are kept.
 * I4 A failure is sticky and consumes no further byte.
 * I5 The malformed cases above are refused at the first byte that shows them. A message that ends
 *    early is refused at its end.
 * I6 No other input is refused.
 */
#ifndef WIRE_KUBE_FILTER_H
#define WIRE_KUBE_FILTER_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* Values of `kind` in struct kube_rule: how the filter treats a field. */
enum {
    KUBE_DESCEND,
    KUBE_ENVELOPE, /* like KUBE_DESCEND, for bytes that start with the magic k8s\0 */
    KUBE_RECORD,
    /*
     * copy a field into a record of its own, emitted when the field ends; an enclosing record stays
     * open
     */
    KUBE_RECORD_FIELD,
    /*
     * copy a field of any wire type, or leave it out if it does not fit; each occurrence of a
     * repeated field is kept
     */
    KUBE_KEEP,
    KUBE_KEEP_CUT, /* like KEEP, but a text that does not fit is cut between two characters */
    KUBE_PRESENT   /* write varint 1 under `as` if the field occurs; drop its content */
};
/* As `field` of a PRESENT rule: every field of the parent that no other rule names. */
#define KUBE_ANY_FIELD 0u

/* One row of a table: a rule for one field of one message. */
struct kube_rule {
    /* index of an earlier rule whose message holds this field; KUBE_ROOT for the top message */
    uint8_t parent;
    uint8_t kind;   /* kind of the rule, KUBE_DESCEND to KUBE_PRESENT */
    uint8_t field;  /* field number in the parent message, 1 to 255, or KUBE_ANY_FIELD */
    uint8_t record; /* RECORD and RECORD_FIELD: the value that kube_record.record reports */
    /* KEEP, KEEP_CUT, PRESENT, RECORD_FIELD: field number under which the record has the field */
    uint8_t as;
    /* KEEP and KEEP_CUT: maximum number of bytes kept; 0: limited only by the record */
    uint16_t limit;
};
/* As `parent` or `top`: the outermost message, which no rule enters. */
#define KUBE_ROOT 255u

/* A table of rules; borrowed constant data. */
struct kube_rules {
    const struct kube_rule *rules;
    uint8_t count;
    /* the message type of the input: KUBE_ROOT, or the index of a DESCEND or ENVELOPE rule */
    uint8_t top;
};

/* One complete record. */
struct kube_record {
    uint8_t record;      /* kube_rule.record of the rule that started the record */
    bool truncated;      /* a kept field did not fit and is missing or cut */
    struct view message; /* the record, encoded; valid until the next call of kube_filter_next */
};

/* An open message: one whose end has not been reached. */
struct kube_frame {
    /* number of bytes of this message still to come; UINT64_MAX: a top message of unknown length */
    uint64_t left;
    /* only if a RECORD rule entered the message: where its record starts in the buffer */
    uint16_t record_start;
    uint8_t rule;   /* index of the rule that entered the message; KUBE_ROOT: top message */
    bool truncated; /* only if a RECORD rule entered the message: its record is truncated */
};

/* Parser state for one top message. */
struct kube_filter {
    struct kube_rules rules;
    unsigned depth;
    struct kube_frame frames[KUBE_DEPTH_MAX];
    enum status failed;
    /* this and all later members are internal; `phase` is the part of the input read next */
    uint8_t phase;
    uint8_t wire_type;
    uint8_t rule;       /* index of the current field's rule; KUBE_ROOT: none */
    uint8_t varint_len; /* number of bytes read so far of a varint or of the magic */
    /*
     * number of bytes in the buffer that encode the kept field's length, just before kept_at; 0:
     * the field has no length
     */
    uint8_t kept_size;
    bool field_truncated; /* the current field did not fit or was cut */
    uint64_t varint;
    uint64_t value_left;
    uint16_t field_at;  /* start of the current field in the buffer, tag included */
    uint16_t kept_at;   /* start of the current field's content in the buffer */
    uint16_t kept_left; /* number of bytes of the content still to be copied to the buffer */
    uint16_t emit_len;  /* length of the record returned last, which the next call removes */
    uint16_t len;
    uint8_t buffer[KUBE_RECORD_BYTES_MAX];
};

/*
 * Whether a table of rules is a tree of at most KUBE_DEPTH_MAX levels in which every KEEP is below
 * a RECORD.
 */
bool kube_rules_valid(struct kube_rules rules);
/*
 * Starts a message of `length` bytes. UINT64_MAX: the length is unknown, and kube_filter_end ends
 * the message. The rules are borrowed.
 */
void kube_filter_init(struct kube_filter *f, struct kube_rules rules, uint64_t length);
/* Whether the state of the parser is consistent; for assertions and tests. */
bool kube_filter_valid(const struct kube_filter *f);
/*
 * Continues with other rules after a record whose content determines the rules for the rest of the
 * message. The rows of all open messages must be the same in both tables.
 */
void kube_filter_switch(struct kube_filter *f, struct kube_rules rules);
/*
 * Consumes bytes from `in` until a record is complete (STATUS_OK, *record) or the input ends
 * (STATUS_MORE). If the length is known, no byte after the message is consumed, and
 * kube_filter_done is true at the end of the message. After a failure, every later call fails too.
 */
MUST_USE enum status kube_filter_next(struct kube_filter *f, struct reader *in,
                                      struct kube_record *record);
/* Whether a message of known length has ended. */
bool kube_filter_done(const struct kube_filter *f);
/*
 * Ends the input. STATUS_OK: the message is complete; PEER_MALFORMED: it is incomplete or
 * malformed.
 */
MUST_USE enum status kube_filter_end(struct kube_filter *f);

#endif
