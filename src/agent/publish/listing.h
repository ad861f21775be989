/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this driver publishes, as a document in parts (listing.c): the slices that the driver wants
 * to be stored, and notes about devices and attributes that are not in them. Owns no state.
 * Internal to src/agent.
 */
#ifndef AGENT_PUBLISH_LISTING_H
#define AGENT_PUBLISH_LISTING_H

#include "dra/slice_document.h"

struct agent;

/* A number that rises whenever the slices of this driver may have changed; never 0. */
uint32_t listing_version(const struct agent *a);
/*
 * Whether it is known what this driver publishes: its slices were built after the Node was read, or
 * it publishes none because another driver of the node owns the slices.
 */
bool listing_known(const struct agent *a);
/* Number of slices that this driver wants to be stored. */
unsigned listing_slices(const struct agent *a);
/*
 * Writes part `part` (from 0) of this driver's slices, at most SLICE_PART_BYTES; false: there is no
 * such part.
 */
bool listing_part(const struct agent *a, unsigned part, struct document *d);
/*
 * Appends note number `index` (from 0) as one line without a newline; the line may be empty. false:
 * there is no such note. The notes say what a node of an UltraServer publishes, whether the slices
 * are stored, and which devices and attributes are left out of the slices.
 */
bool listing_note(const struct agent *a, unsigned index, struct writer *out);

#endif
