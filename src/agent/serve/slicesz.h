/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages /slicesz and /slicesz.json (slicesz.c): what the agent publishes, all drivers, as YAML
 * with notes in comments, or as JSON. Owns struct slicesz. Internal to src/agent.
 */
#ifndef AGENT_SERVE_SLICESZ_H
#define AGENT_SERVE_SLICESZ_H

#include "base/document.h"

struct agent;

/* A reader's position in the page. */
struct slicesz {
    uint8_t stage;  /* notes, start, slices or end */
    uint8_t driver; /* of which driver the next part is */
    uint16_t part;
    uint32_t offset;          /* bytes of the part that are written */
    struct document document; /* as it is before the part */
};

/* Sets the position to the start of the page. */
void slicesz_begin(struct slicesz *s, bool yaml);
/*
 * Appends bytes of the page until `out` is full; true: the page is complete. A part is made again
 * for each piece of it, so that the page needs no memory; uses scratch.body.
 */
bool slicesz_write(struct agent *a, struct slicesz *s, struct writer *out);

#endif
