/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resumable projection of protobuf messages: keeps the fields that its rules list and drops the
 * rest, as the bytes arrive. Owns the position inside one message of any size in fixed memory;
 * knows protobuf, not Kubernetes.
 *
 * A table of rules is a tree. DESCEND enters a sub-message; RECORD enters one and starts a record;
 * KEEP copies a field into the innermost open record under a new field number. When a record's
 * message ends, the record is complete: a small, flat protobuf message of our own
 * (proto/projection.proto) that nanopb decodes. Fields without a rule are skipped by length.
 * Records may nest (a list item with sub-items): the inner one is emitted when it ends, before the
 * outer one; both share the one buffer. The table alone bounds the depth: nested messages without a
 * rule are skipped.
 *
 * PEER_MALFORMED:
 * - a group (wire types 3, 4), or field number 0;
 * - a varint over 64 bits;
 * - a length over 2 GiB, or one that exceeds the rest of the enclosing message;
 * - a field with a rule that enters it, but without the length-delimited wire type.
 *
 * Invariants:
 * I1 Records and status are the same for every split of the input.
 * I2 Memory is sizeof(struct kube_filter) whatever arrives; no record is longer than
 *    KUBE_RECORD_BYTES_MAX.
 * I3 A field that does not fit its record is left out (KEEP_CUT: cut between two characters) and
 *    the record is `truncated`; fields before and after it are kept.
 * I4 A failure is sticky and consumes no further byte.
 * I5 The malformed cases above are refused at the byte that shows them. A message that ends early
 *    is refused at its end.
 * I6 Nothing else is refused.
 */
#ifndef WIRE_KUBE_FILTER_H
#define WIRE_KUBE_FILTER_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* Values of `kind` in struct kube_rule: how the filter treats a field. */
enum {
    KUBE_DESCEND,
    KUBE_ENVELOPE, /* DESCEND into bytes that start with the magic k8s\0 */
    KUBE_RECORD,
    /* KEEP as a separate record, emitted when the field ends; an enclosing record stays open */
    KUBE_RECORD_FIELD,
    /*
     * copy a field of any wire type, or leave it out if it does not fit; each occurrence of a
     * repeated field is kept
     */
    KUBE_KEEP,
    KUBE_KEEP_CUT, /* text: cut at `limit` bytes on a UTF-8 boundary */
    KUBE_PRESENT   /* write varint 1 under `as` when the field occurs, drop its content */
};
/* As `field` of a PRESENT rule: every field of the parent that no other rule names. */
#define KUBE_ANY_FIELD 0u

/* One row of a table: a rule for one field of one message. */
struct kube_rule {
    /* index of an earlier rule whose message holds this field; KUBE_ROOT for the top message */
    uint8_t parent;
    uint8_t kind;   /* KUBE_DESCEND to KUBE_PRESENT */
    uint8_t field;  /* field number in the parent message, 1 to 255, or KUBE_ANY_FIELD */
    uint8_t record; /* RECORD…: number of the record, reported as kube_record.record */
    uint8_t as;     /* KEEP…, PRESENT, RECORD_FIELD: new field number in the record */
    uint16_t limit; /* KEEP…: maximum number of bytes kept; 0: limited only by the record */
};
/* As `parent` or `top`: the outermost message, which no rule enters. */
#define KUBE_ROOT 255u

/* A table; constant data, borrowed. */
struct kube_rules {
    const struct kube_rule *rules;
    uint8_t count;
    /* the message type of the input: KUBE_ROOT, or the index of a DESCEND or ENVELOPE rule */
    uint8_t top;
};

/* One complete record. */
struct kube_record {
    uint8_t record;      /* kube_rule.record of its rule */
    bool truncated;      /* a kept field did not fit and is missing or cut */
    struct view message; /* valid until the next call */
};

/* An open message. */
struct kube_frame {
    /* bytes of this message still to come; UINT64_MAX: a top message of unknown length */
    uint64_t left;
    uint16_t record_start; /* start of its record in the buffer (RECORD frames) */
    uint8_t rule;          /* index of the rule that entered it; KUBE_ROOT: top message */
    bool truncated;        /* the record is truncated (RECORD frames) */
};

/* Parser state for one top message. */
struct kube_filter {
    struct kube_rules rules;
    unsigned depth;
    struct kube_frame frames[KUBE_DEPTH_MAX];
    enum status failed;
    /* internal: position inside a tag, a length or a value */
    uint8_t phase;
    uint8_t wire_type;
    uint8_t rule;       /* rule of the current field, KUBE_ROOT: none */
    uint8_t varint_len; /* bytes of a varint, or of the magic, read so far */
    /* bytes of the kept field's length, which precede kept_at; 0: not length-delimited */
    uint8_t kept_size;
    bool field_truncated; /* the current field did not fit or was cut */
    uint64_t varint;
    uint64_t value_left;
    uint16_t field_at;  /* start of the current field in the buffer, tag included */
    uint16_t kept_at;   /* start of the kept content of that field */
    uint16_t kept_left; /* bytes of that content still to keep */
    uint16_t emit_len;  /* length of the record returned last, which the next call removes */
    uint16_t len;
    uint8_t buffer[KUBE_RECORD_BYTES_MAX];
};

/*
 * Whether a table is a tree of at most KUBE_DEPTH_MAX levels in which every KEEP is below a RECORD.
 */
bool kube_rules_valid(struct kube_rules rules);
/*
 * Starts a message of `length` bytes, or of unknown length (UINT64_MAX), which kube_filter_end
 * ends. The rules are borrowed.
 */
void kube_filter_init(struct kube_filter *f, struct kube_rules rules, uint64_t length);
/* Whether the parser state is consistent: for assertions and tests. */
bool kube_filter_valid(const struct kube_filter *f);
/*
 * Continues with other rules after a record, when that record determines what follows. The rows of
 * all open messages must be the same in both tables.
 */
void kube_filter_switch(struct kube_filter *f, struct kube_rules rules);
/*
 * Consumes bytes from `in` until a record is complete (STATUS_OK, *record) or the input ends
 * (STATUS_MORE). With a known length, nothing behind the message is consumed; kube_filter_done is
 * true at the end of the message. Failures are sticky.
 */
MUST_USE enum status kube_filter_next(struct kube_filter *f, struct reader *in,
                                      struct kube_record *record);
/* Whether a message of known length has ended. */
bool kube_filter_done(const struct kube_filter *f);
/* Ends the input. STATUS_OK: at a message boundary; PEER_MALFORMED: inside a field. */
MUST_USE enum status kube_filter_end(struct kube_filter *f);

#endif
