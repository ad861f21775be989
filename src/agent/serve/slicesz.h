/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages /slicesz and /slicesz.json (slicesz.c): the slices that the agent publishes for all
 * drivers, as YAML with notes in comments, or as JSON. Owns struct slicesz. Internal to src/agent.
 */
#ifndef AGENT_SERVE_SLICESZ_H
#define AGENT_SERVE_SLICESZ_H

#include "base/document.h"
#include "dra/driver.h"

struct agent;

/* Position of one connection in a page about slices. */
struct slicesz {
    uint8_t stage; /* the part of the page being written: notes, start of the list, slices or end */
    uint8_t driver; /* index of the driver whose parts are being written */
    uint16_t part;
    /* listing_version of each driver when the page began; 0: there is no such driver */
    uint32_t version[DRIVERS];
    uint32_t offset;          /* number of bytes of the current part already written */
    struct document document; /* state of the document before the current part */
};

/* Sets the position to the start of the page; `yaml`: the page is YAML, else JSON. */
void slicesz_begin(const struct agent *a, struct slicesz *s, bool yaml);
/*
 * Whether the slices may have changed since slicesz_begin. If so, the page must end unfinished,
 * because its parts would show different slices, or form no valid document.
 */
bool slicesz_outdated(const struct agent *a, const struct slicesz *s);
/*
 * Appends the next bytes of the page, until `out` is full; true: the page is complete. Call it only
 * if slicesz_outdated returns false. Each call builds the current part of the page again, in
 * scratch.body, and copies the next bytes of it, so that no buffer must hold the whole page. The
 * line of a note is not split; it fits into an empty `out` of METRICS_LINE_BYTES_MAX.
 */
bool slicesz_write(struct agent *a, struct slicesz *s, struct writer *out);

#endif
