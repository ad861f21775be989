/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the ResourceSlices of a pool as a document, in the format of kubectl: for the agent's page
 * of what it publishes, and for the command `slices`. Decides nothing: the caller chooses the
 * devices, and dra/device.h their attributes.
 */
#ifndef DRA_SLICE_DOCUMENT_H
#define DRA_SLICE_DOCUMENT_H

#include "base/document.h"
#include "dra/device.h"

/* One slice of a pool; pointers are borrowed. */
struct slice_shown {
    const char *driver;
    const char *node_name; /* name of the node, which is also the name of the pool */
    const struct devices *devices;
    struct attributes *attributes; /* working memory for the attributes of one device */
    int64_t generation;
    unsigned slices; /* number of slices in the pool */
    bool counters;   /* the slice holds the shared counters and no device */
    /* index of the slice's first device; the slice has `count` devices */
    unsigned first;
    unsigned count;
};

/* Number of parts in which slice_document writes a slice. */
unsigned slice_document_parts(const struct slice_shown *s);
/* Writes part `part` of a slice, at most SLICE_PART_BYTES: its head, one device, or its end. */
void slice_document(const struct slice_shown *s, unsigned part, struct document *d);
/* Begin and end a list of slices. */
void slice_list_begin(struct document *d);
void slice_list_end(struct document *d);
/* Writes the members attributes and capacity, each only if it is not empty. */
void slice_document_attributes(const struct attributes *all, struct document *d);

#endif
