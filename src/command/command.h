/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of the commands other than `run`: devices, slices, claims, reservations, check, and shell
 * completion. Owns only texts: the host reads the files and passes their contents. Commands may run
 * while an agent runs; they change nothing.
 *
 * The functions write the output in parts of at most COMMAND_PART_BYTES, so that output of any size
 * needs a fixed amount of memory. The host empties the writer after each part.
 *
 * Invariants:
 * I1 A part never makes the writer full.
 * I2 While an agent writes one half of a slot, the other half is still shown.
 */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

#include "agent/settings.h"
#include "base/document.h"
#include "command/pods.h"
#include "dra/claim.h"
#include "dra/efa.h"
#include "dra/slice_document.h"
#include "dra/store.h"
#include "dra/verdict.h"

/* Size of a buffer for the longest part of an output: one device of a slice. */
#define COMMAND_PART_BYTES SLICE_PART_BYTES

/* The byte that begins an escape sequence for a colour in the output of `devices`. */
#define ANSI_ESCAPE "\033"

/* The claim that holds a device or a share of the device. */
struct holder {
    uint16_t others; /* number of other claims that also hold shares of the device */
    /* namespace/name of the claim; empty: no claim holds the device */
    char claim[NAMESPACE_CAP + NAME_CAP];
    char pod[NAME_CAP]; /* name of the pod that uses the claim; empty: unknown */
};

/* Where the verdicts on the devices' health come from. */
enum verdicts {
    /*
     * The output shows the devices of an instance type (--board), which no agent judges: their
     * health comes from the readings alone.
     */
    VERDICTS_OF_FILES,
    VERDICTS_OF_AGENT, /* a running agent gave the verdicts */
    VERDICTS_MISSING   /* no agent gave verdicts; verdicts_missing says why */
};

/*
 * What the commands `devices` and `slices` show. With --efa there are two inventories, the first
 * for the Neuron devices and the second for the EFA devices; both have `efa` set. The output of the
 * second inventory continues the output of the first.
 */
struct inventory {
    struct devices devices;
    struct probe_issues issues;
    /* the claims that hold the devices, indexed by device number */
    struct holder holder[DEVICES_MAX];
    /*
     * The claim store cannot be read, so a claim may hold a device that has no entry in `holder`.
     */
    bool holders_unknown;
    /* number of slots of the claim store of which both halves are damaged */
    uint16_t damaged_slots;
    /* number of claims in `holder` that have a CDI file but no record in the claim store */
    uint16_t witnesses;
    uint16_t cdi_unread; /* number of unreadable CDI files of claims that the claim store lacks */
    char cdi_file[CDI_FILE_NAME_CAP]; /* name of one of the files that cdi_unread counts */
    bool cdi_unlisted;                /* the directory of CDI files cannot be read completely */
    /* the agent's verdicts on the health of the devices, indexed by device number */
    struct device_verdict verdict[DEVICES_MAX];
    enum verdicts verdicts;
    /*
     * with VERDICTS_MISSING: why no agent gave verdicts, as one line without a newline; empty:
     * another part of the output says why
     */
    struct view verdicts_missing;
    struct view drain; /* what /statusz says of a drain of the node, borrowed; empty: none */
    bool colour;       /* the output goes to a terminal that shows colours */
    bool efa;          /* --efa is set */
    bool rows_only; /* --no-headers: the text output has a row for each device and nothing else */
};

/* How a claim's CDI file compares with the claim's record in the claim store. */
enum cdi_state {
    CDI_GOOD,
    CDI_MISSING,
    CDI_DIFFERENT,
    CDI_UNREADABLE,
    CDI_ALONE, /* the CDI file is good, and the claim store lacks the claim's record */
    CDI_STATES
};
/* The content of a slot of the claim store. */
enum slot_state { SLOT_FREE, SLOT_CLAIM, SLOT_OUTLINE, SLOT_DAMAGED };

/*
 * Decodes a slot from the bytes of its two halves. SLOT_CLAIM: *r is the record of a claim.
 * SLOT_OUTLINE: the claim was released, or only a newer agent can decode the whole record; *o has
 * the fields that every agent can read.
 */
enum slot_state command_slot(const struct view bytes[2], unsigned slot, struct claim_record *r,
                             struct store_outline *o);
/*
 * Appends what is wrong with the CDI file of a claim and what to do, as part of a sentence. `state`
 * must differ from CDI_GOOD.
 */
void command_cdi_remedy(enum cdi_state state, struct writer *out);
/*
 * Marks each device N whose bit N is set in `numbers` as held by the claim, exclusively or as a
 * share; `pod` may be empty.
 */
void command_hold(struct inventory *v, uint64_t numbers, const struct claim_id *id,
                  const char *pod);

/*
 * Fills *out with the devices that a node of instance type `type` has, without access to hardware.
 * Returns false if the type is unknown.
 */
bool command_board(const char *type, struct found_node *out);
/*
 * Like command_board, but fills *out with the EFA devices that the EFA map of the instance type
 * lists; none if the type has no such map.
 */
bool command_board_efas(const char *type, struct found_efas *out);
/*
 * Appends one line about an instance type that command_board does not know: the most similar known
 * type, and all known types.
 */
void command_board_unknown(const char *type, struct writer *out);

/*
 * Writes an issue that a probe of the node found, with its remedy, as one line without a newline.
 */
void command_issue(const struct probe_issue *issue, struct writer *out);
/*
 * Whether the device with this number is unhealthy. If so, writes its health and a remedy, without
 * a newline.
 */
bool command_unhealthy(const struct inventory *v, unsigned number, struct writer *out);
/*
 * Write part number `part`, counted from 0, of the output of the command `devices`, as text or as a
 * JSON or YAML document. Return false if there is no such part.
 */
bool command_devices_text(const struct inventory *v, unsigned part, struct writer *out);
bool command_devices_document(const struct inventory *v, unsigned part, struct document *d);
/*
 * Writes part number `part`, counted from 0, of the slices that an agent with this inventory would
 * create. All parts together are one JSON or YAML document: a slice or a list of slices. Returns
 * false if there is no such part.
 */
bool command_slices(const struct inventory *v, const char *driver, const char *node_name,
                    unsigned part, struct document *d);
/*
 * If no slice has the Neuron device with this number, writes a YAML comment of one line that says
 * why. `drops`: the slices leave out unhealthy devices.
 */
void command_left_out(const struct inventory *v, unsigned number, bool drops, struct writer *out);
/* A claim of the claim store, as the command `claims` shows it; the pointers are borrowed. */
struct claim_shown {
    const struct claim_record *record;
    /* name of the driver; NULL: the text output omits it (JSON and YAML output need a name) */
    const char *driver;
    enum cdi_state cdi;
    /* the node's devices, to show the current state of each device; NULL: not shown */
    const struct inventory *node;
    /* the kubelet's list of the pods in the claim's namespace; NULL: not known, so not shown */
    const struct pods *pods;
};
/* Write part number `part`, counted from 0, of one claim. Return false if there is no such part. */
bool command_claim_text(const struct claim_shown *c, unsigned part, struct writer *out);
bool command_claim_document(const struct claim_shown *c, unsigned part, struct document *d);
/*
 * Write the outline of a claim that was released, or whose record this version can decode only in
 * part because a newer agent wrote it.
 */
void command_outline_text(const struct store_outline *o, const char *driver, struct writer *out);
void command_outline_document(const struct store_outline *o, const char *driver,
                              struct document *d);

/*
 * Writes one line for a claim that `release` does not find. The line says that the node holds no
 * claim with this UID or, if `uid` does not have the form of a UID of Kubernetes, that `uid` is
 * malformed.
 */
void command_not_held(const char *uid, struct writer *out);

/* Write a reserved claim of the cluster, as one line of text or as a JSON or YAML object. */
void command_reservation_text(const struct claim_reservation *c, struct writer *out);
void command_reservation_document(const struct claim_reservation *c, struct document *d);
/*
 * Writes the last lines of the output of `reservations`. If `found` is 0, they say that no claim is
 * reserved; otherwise they say what to do about the `found` reserved claims. `efa_driver`: name of
 * the EFA driver; NULL: only the Neuron driver was asked about.
 */
void command_reservations_end(uint32_t found, const char *efa_driver, struct writer *out);

/* Bytes of a block of a tar archive; an archive ends with two blocks of zeros. */
#define TAR_BLOCK_BYTES 512u
#define TAR_NAME_BYTES 100u /* length of the longest name in a tar archive */
/*
 * Appends the header of the file `folder`/`name` in a tar archive; `size` bytes of content must
 * follow the header. Each name has at most TAR_NAME_BYTES. `wall_s`: modification time of the file,
 * in Unix seconds.
 */
void command_tar_header(const char *folder, const char *name, uint64_t size, uint64_t wall_s,
                        struct writer *out);
/*
 * Appends the zeros that fill the last block of a file of `size` bytes in a tar archive, then
 * `blocks` blocks of zeros.
 */
void command_tar_pad(uint64_t size, unsigned blocks, struct writer *out);

/* Which part of an HTTP response the parser expects next. */
enum response_stage {
    RESPONSE_HEAD,
    RESPONSE_SIZE, /* the line with the size of the next chunk */
    RESPONSE_BODY, /* bytes of a chunk, or of a body without chunks */
    RESPONSE_CHUNK_END,
    RESPONSE_LAST, /* the empty line after the last chunk */
    RESPONSE_WHOLE,
    RESPONSE_BAD /* the bytes are not a valid HTTP response */
};
/* An HTTP response that is being parsed; all zero at its start. */
struct page_response {
    enum response_stage stage;
    unsigned code; /* HTTP status code; 0: the head of the response is not complete */
    bool chunked;
    uint32_t left; /* number of bytes of the current chunk that are not parsed yet */
};
/*
 * Parses received bytes of an HTTP response: returns the next piece of the body, and removes the
 * parsed bytes from the front of *rest. Returns an empty view if *rest ends before the next piece
 * of the body; call again when more bytes have arrived.
 */
struct view command_response(struct page_response *r, struct view *rest);
/* Whether the HTTP response is complete if the connection ends after the bytes parsed so far. */
bool command_response_whole(const struct page_response *r);

#endif
