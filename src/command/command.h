/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands beside `run` print: devices, slices, claims, reservations, check, and the
 * completion of a shell. Owns texts only: the host reads files, and hands in what they say. A
 * command runs beside an agent, and changes nothing.
 *
 * Text is made in parts, of at most COMMAND_PART_BYTES each, so that output of any size costs fixed
 * memory. The host empties the writer after each part.
 *
 * Invariants:
 * I1 A part never makes the writer full.
 * I2 A half of a store that is being written does not hide the other half.
 */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

#include "agent/settings.h"
#include "command/document.h"
#include "dra/claim.h"
#include "dra/efa.h"
#include "dra/store.h"

/* Room for the longest part: one device of a slice, with all its attributes. */
#define COMMAND_PART_BYTES 16384u

/* Which claim holds a device, or a share of it. */
struct holder {
    uint16_t others;                      /* claims that hold shares of it beside this one */
    char claim[NAMESPACE_CAP + NAME_CAP]; /* namespace/name; empty: the device is free */
    char pod[NAME_CAP];                   /* empty: not known */
};

/*
 * What `devices` and `slices` show. With the EFA devices there are two of them, one after the other
 * and both `efa`: the output of the second one continues that of the first.
 */
struct inventory {
    struct devices devices;
    struct probe_issues issues;
    struct holder holder[DEVICES_MAX]; /* by device number */
    bool colour;
    bool efa; /* --efa */
};

/* What became of a claim's CDI file. */
enum cdi_state { CDI_GOOD, CDI_MISSING, CDI_DIFFERENT, CDI_UNREADABLE, CDI_STATES };
/* What a slot of the claim store holds. */
enum slot_state { SLOT_FREE, SLOT_CLAIM, SLOT_OUTLINE, SLOT_DAMAGED };

/*
 * Judges a slot by the bytes of its two halves. SLOT_CLAIM: *r is the record. SLOT_OUTLINE: a newer
 * agent wrote the record, or its claim was released; *o has the fields that any release reads.
 */
enum slot_state command_slot(const struct view bytes[2], unsigned slot, struct claim_record *r,
                             struct store_outline *o);
/* The claim holds these devices, as bits by number, alone or by shares; `pod` may be empty. */
void command_hold(struct inventory *v, uint64_t numbers, const struct claim_id *id,
                  const char *pod);

/* The devices that a node of this type has, without hardware. false: no such type. */
bool command_board(const char *type, struct found_node *out);
/* The EFA devices that its map names. false: no such type. */
bool command_board_efas(const char *type, struct found_efas *out);
/* Appends the types that command_board knows. */
void command_board_names(struct writer *out);

/* One issue of a probe with its remedy, one line without its end. */
void command_issue(const struct probe_issue *issue, struct writer *out);
/* The same of the device of this number, when it is unhealthy. False: it is not. */
bool command_unhealthy(const struct inventory *v, unsigned number, struct writer *out);
/* Part `part` of a command's output, from 0 on. False: there is none. */
bool command_devices_text(const struct inventory *v, unsigned part, struct writer *out);
bool command_devices_document(const struct inventory *v, unsigned part, struct document *d);
/* The slices that an agent with this inventory would create: one, or a list; always a document. */
bool command_slices(const struct inventory *v, const char *driver, const char *node_name,
                    unsigned part, struct document *d);
/* A claim of the store; what is in it is borrowed. */
struct claim_shown {
    const struct claim_record *record;
    const char *driver; /* text has it where it is not NULL; a document needs it */
    enum cdi_state cdi;
    const struct inventory *node; /* each device as the node has it now follows; NULL: none does */
};
/* Part `part` of one claim, from 0 on. False: there is none. */
bool command_claim_text(const struct claim_shown *c, unsigned part, struct writer *out);
bool command_claim_document(const struct claim_shown *c, unsigned part, struct document *d);
/* A claim that this release does not understand, or that was released. */
void command_outline_text(const struct store_outline *o, const char *driver, struct writer *out);
void command_outline_document(const struct store_outline *o, const char *driver,
                              struct document *d);

/* A claim of the cluster that is reserved: one line, or an object. */
void command_reservation_text(const struct claim_reservation *c, struct writer *out);
void command_reservation_document(const struct claim_reservation *c, struct document *d);
/*
 * What follows `found` such lines: that there are none, or what to do. `efa_driver`: name of the
 * second driver, NULL where there is none.
 */
void command_reservations_end(uint32_t found, const char *efa_driver, struct writer *out);

/* An HTTP response as a view of its body; its status code, or 0 when it is no response. */
unsigned command_response(struct view response, struct view *body);

#endif
