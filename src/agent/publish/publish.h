/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The publisher (publish.c): brings the stored ResourceSlices of this node to the wanted content
 * and keeps them there. An unchanged inventory causes no write. Owns struct publish, whose members
 * are each written by the file of their name. Internal to src/agent.
 */
#ifndef AGENT_PUBLISH_PUBLISH_H
#define AGENT_PUBLISH_PUBLISH_H

#include "agent/publish/pacing.h"
#include "agent/publish/plan.h"
#include "agent/publish/round.h"
#include "agent/publish/slice_watch.h"
#include "agent/publish/wanted.h"

/* All that the publisher keeps. */
struct publish {
    struct round round;
    struct pacing pacing;
    struct wanted wanted;
    struct plan plan;
    struct slice_watch watch;
    struct left_out left_out;
    struct attributes attributes; /* working memory: too large for the stack */
};

/* The module's verbs, see state.h. */
void publish_init(struct agent *a);
void publish_step(struct agent *a);
uint64_t publish_deadline(const struct agent *a);
/* Devices or Node changed: the stored slices do not count as the wanted ones before a round. */
void publish_changed(struct agent *a);
/* The kubelet knows the driver: what waited for that may be published. */
void publish_registered(struct agent *a);
/*
 * The API connection is gone: nothing that was in flight will be answered. A round goes on only
 * when the server moved us to another connection.
 */
void publish_disconnected(struct agent *a);
/* Another version of the API is spoken, or tried: what is stored is looked at again. */
void publish_version(struct agent *a);
/* No slice can be written any more, or none may: another agent of the node does. */
void publish_suspend(struct agent *a);
/* A record, and the end, of the response to a request of a round. */
void publish_record(struct agent *a, const struct api_result *r, const struct kube_record *record);
void publish_end(struct agent *a, const struct api_result *r);
/* The same of the watch. */
void publish_watch_record(struct agent *a, const struct api_result *r,
                          const struct kube_record *record);
void publish_watch_end(struct agent *a, const struct api_result *r);
/* Whether the stored slices are known to be the wanted ones. */
bool publish_current(const struct agent *a);
/* Why they are not, as far as the publisher itself knows; never NULL. */
const char *publish_reason(const struct agent *a);

#endif
