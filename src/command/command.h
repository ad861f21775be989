/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of the commands other than `run`: devices, slices, claims, reservations, check, and shell
 * completion. Owns only texts: the host reads the files and passes their contents. Commands may run
 * while an agent runs, and change nothing.
 *
 * Output is made in parts of at most COMMAND_PART_BYTES, so that output of any size needs a fixed
 * amount of memory. The host empties the writer after each part.
 *
 * Invariants:
 * I1 A part never makes the writer full.
 * I2 While an agent writes one half of a slot, the other half is still shown.
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
    uint16_t others; /* number of further claims that hold shares of the device */
    char claim[NAMESPACE_CAP + NAME_CAP]; /* namespace/name; empty: the device is free */
    char pod[NAME_CAP];                   /* empty: unknown */
};

/*
 * The data of `devices` and `slices`. With --efa there are two inventories, first of the Neuron
 * devices, then of the EFA devices; both have `efa` set. The output of the second inventory
 * continues the output of the first.
 */
struct inventory {
    struct devices devices;
    struct probe_issues issues;
    struct holder holder[DEVICES_MAX]; /* by device number */
    bool colour;
    bool efa; /* --efa is set */
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
 * Marks the devices of `numbers`, bit N for device N, as held by the claim, alone or by shares;
 * `pod` may be empty.
 */
void command_hold(struct inventory *v, uint64_t numbers, const struct claim_id *id,
                  const char *pod);

/*
 * Fills *out with the devices of a node of this instance type, without access to hardware. false:
 * the type is unknown.
 */
bool command_board(const char *type, struct found_node *out);
/* Fills *out with the EFA devices in the map of this instance type. false: the type is unknown. */
bool command_board_efas(const char *type, struct found_efas *out);
/* Appends the types that command_board knows. */
void command_board_names(struct writer *out);

/* Writes an issue of a probe with its remedy, as one line without a newline. */
void command_issue(const struct probe_issue *issue, struct writer *out);
/* Whether the device of this number is unhealthy. If so, writes a line without a newline. */
bool command_unhealthy(const struct inventory *v, unsigned number, struct writer *out);
/*
 * Write part `part`, counted from 0, of the output of `devices`, as text or as a document. false:
 * there is no such part.
 */
bool command_devices_text(const struct inventory *v, unsigned part, struct writer *out);
bool command_devices_document(const struct inventory *v, unsigned part, struct document *d);
/*
 * Writes part `part` of the slices that an agent with this inventory would create, as a document:
 * one slice, or a list of slices. false: there is no such part.
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
 * Writes the end of the output: if `found` is 0, that no claim is reserved, otherwise what to do
 * with the `found` reserved claims. `efa_driver`: name of the EFA driver; NULL: none.
 */
void command_reservations_end(uint32_t found, const char *efa_driver, struct writer *out);

/*
 * Parses an HTTP response into a view of its body; returns its status code, or 0: not a response.
 */
unsigned command_response(struct view response, struct view *body);

#endif
