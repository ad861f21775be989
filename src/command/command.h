/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of the commands beside `run`: devices, slices, claims, reservations, check, and shell
 * completion. Owns texts only: the host reads files and passes their contents. Commands run beside
 * an agent, and change nothing.
 *
 * Output is made in parts of at most COMMAND_PART_BYTES, so that output of any size costs fixed
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

/* The claim that holds a device, or a share of it. */
struct holder {
    uint16_t others;                      /* further claims that hold shares of it */
    char claim[NAMESPACE_CAP + NAME_CAP]; /* namespace/name; empty: the device is free */
    char pod[NAME_CAP];                   /* empty: unknown */
};

/*
 * The data of `devices` and `slices`. With EFA devices there are two inventories, both with `efa`:
 * the output of the second one continues that of the first.
 */
struct inventory {
    struct devices devices;
    struct probe_issues issues;
    struct holder holder[DEVICES_MAX]; /* by device number */
    bool colour;
    bool efa; /* --efa */
};

/* How a claim's CDI file compares with its record. */
enum cdi_state { CDI_GOOD, CDI_MISSING, CDI_DIFFERENT, CDI_UNREADABLE, CDI_STATES };
/* The content of a slot of the claim store. */
enum slot_state { SLOT_FREE, SLOT_CLAIM, SLOT_OUTLINE, SLOT_DAMAGED };

/*
 * Reads a slot from the bytes of its two halves. SLOT_CLAIM: *r is the record. SLOT_OUTLINE: a
 * newer agent wrote the record, or its claim was released; *o has the fields that every release can
 * read.
 */
enum slot_state command_slot(const struct view bytes[2], unsigned slot, struct claim_record *r,
                             struct store_outline *o);
/*
 * Marks devices, as bits by number, as held by the claim, alone or by shares; `pod` may be empty.
 */
void command_hold(struct inventory *v, uint64_t numbers, const struct claim_id *id,
                  const char *pod);

/* The devices of a node of this type, without hardware. false: unknown type. */
bool command_board(const char *type, struct found_node *out);
/* The EFA devices in the type's map. false: unknown type. */
bool command_board_efas(const char *type, struct found_efas *out);
/* Appends the types that command_board knows. */
void command_board_names(struct writer *out);

/* Writes an issue of a probe with its remedy, one line without its end. */
void command_issue(const struct probe_issue *issue, struct writer *out);
/* Writes a line for the device of this number if it is unhealthy. false: it is not. */
bool command_unhealthy(const struct inventory *v, unsigned number, struct writer *out);
/*
 * Write part `part`, counted from 0, of the output of `devices`: as text, and as a document. false:
 * no such part.
 */
bool command_devices_text(const struct inventory *v, unsigned part, struct writer *out);
bool command_devices_document(const struct inventory *v, unsigned part, struct document *d);
/*
 * Writes the slices that an agent with this inventory would create: one, or a list; always a
 * document.
 */
bool command_slices(const struct inventory *v, const char *driver, const char *node_name,
                    unsigned part, struct document *d);
/* A claim of the store; the members are borrowed. */
struct claim_shown {
    const struct claim_record *record;
    const char *driver; /* NULL: left out of the text; a document needs it */
    enum cdi_state cdi;
    const struct inventory *node; /* to show the current state of each device; NULL: not shown */
};
/* Writes part `part`, counted from 0, of one claim. false: no such part. */
bool command_claim_text(const struct claim_shown *c, unsigned part, struct writer *out);
bool command_claim_document(const struct claim_shown *c, unsigned part, struct document *d);
/* Writes a claim that was released, or that this release cannot read. */
void command_outline_text(const struct store_outline *o, const char *driver, struct writer *out);
void command_outline_document(const struct store_outline *o, const char *driver,
                              struct document *d);

/* Writes a reserved claim of the cluster: one line, or an object. */
void command_reservation_text(const struct claim_reservation *c, struct writer *out);
void command_reservation_document(const struct claim_reservation *c, struct document *d);
/*
 * Writes the end after `found` such lines: that there are none, or what to do. `efa_driver`: name
 * of the second driver, NULL: none.
 */
void command_reservations_end(uint32_t found, const char *efa_driver, struct writer *out);

/*
 * Parses an HTTP response into a view of its body; returns its status code, or 0: not a response.
 */
unsigned command_response(struct view response, struct view *body);

#endif
