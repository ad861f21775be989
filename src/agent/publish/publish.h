/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The publisher (publish.c): brings the stored ResourceSlices of this node to the wanted content
 * and keeps them there. An unchanged inventory causes no write. Owns struct publish; each member is
 * written by the file named like it. Internal to src/agent.
 */
#ifndef AGENT_PUBLISH_PUBLISH_H
#define AGENT_PUBLISH_PUBLISH_H

#include "agent/publish/pacing.h"
#include "agent/publish/plan.h"
#include "agent/publish/round.h"
#include "agent/publish/slice_watch.h"
#include "agent/publish/wanted.h"

/* The init, step and deadline functions of the publisher, see frame.h. */
void publish_init(struct agent *a);
void publish_step(struct agent *a);
uint64_t publish_deadline(const struct agent *a);
/*
 * Handles a change of the devices or of the Node: until the next round, the stored slices count as
 * different from the wanted ones.
 */
void publish_changed(struct agent *a);
/*
 * Ends the wait of the rounds for the registration, because the kubelet has registered the driver.
 */
void publish_registered(struct agent *a);
/*
 * Handles the loss of the API connection, after which running requests get no response. The current
 * round continues only if the server asked for another connection.
 */
void publish_disconnected(struct agent *a);
/* Requests a new list of the stored slices, because another version of the API is used. */
void publish_version(struct agent *a);
/*
 * Gives up the current round, because no API version is served, or another agent or driver of the
 * node owns the slices.
 */
void publish_suspend(struct agent *a);
/*
 * publish_record handles a record of the response to a round's request; publish_end, the end of
 * that request.
 */
void publish_record(struct agent *a, const struct api_result *r, const struct kube_record *record);
void publish_end(struct agent *a, const struct api_result *r);
/*
 * publish_watch_record handles a record of the watch of slices; publish_watch_end, the end of that
 * watch.
 */
void publish_watch_record(struct agent *a, const struct api_result *r,
                          const struct kube_record *record);
void publish_watch_end(struct agent *a, const struct api_result *r);
/* Whether the stored slices are known to match the wanted ones. */
bool publish_current(const struct agent *a);
/* Generation of the pool according to the current plan. */
int64_t publish_generation(const struct agent *a);
/*
 * When the stored slices were last known to match the wanted ones, in Unix milliseconds; 0: never
 * yet.
 */
uint64_t publish_verified_wall_ms(const struct agent *a);
/*
 * What the first complete list of slices in this process shows: whether this driver published on
 * this node before.
 */
enum first_list publish_first_list(const struct agent *a);
/* Number of devices in the wanted slices. */
unsigned publish_device_count(const struct agent *a);
/* Whether the API server does not keep the node resources of devices. */
bool publish_lacks_resources(const struct agent *a);
/* Why the stored slices are not known to match the wanted ones. Never NULL. */
const char *publish_reason(const struct agent *a);

#endif
