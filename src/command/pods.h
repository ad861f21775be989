/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pods of one namespace that use a claim, for `claims --pod`, as the kubelet lists them
 * (wire/pod_list). Owns the list, in fixed memory; does no I/O.
 *
 * Why the kubelet: a record of the claim store has the first consumer at prepare time. Pods join
 * later, and for them the kubelet does not call the driver again, so the record cannot have them.
 * status.reservedFor at the API server has them, but names a PodGroup instead of its pods, and
 * reading it needs the API server. The kubelet's list has each active pod with the claims of its
 * containers, those of PodGroups included.
 *
 * The metrics of the running agent use the same list, by agent/pods: the agent reads it after a
 * scrape, and finds the claims that it holds in it. This module serves the command, which works
 * while no agent runs, and keeps all claims of a namespace instead.
 *
 * Invariants:
 * I1 The list does not depend on how the response is split into pieces.
 * I2 The list has each pair of a pod and a claim once.
 * I3 If pods_end does not return STATUS_OK, the list is empty.
 * I4 If a pair is missing although the response has it, `partial` is set.
 * I5 The names in the list have the form of names of pods and claims (claim_name_like).
 */
#ifndef COMMAND_PODS_H
#define COMMAND_PODS_H

#include "base/bytes.h"
#include "cfg/limits.h"
#include "wire/pod_list.h"

/* The pods of one namespace, and the claims that each of them uses. */
struct pods {
    struct view namespace_; /* the namespace, borrowed */
    /* pairs are missing, because there are too many, or because a name has no valid form */
    bool partial;
    /*
     * a pod of any namespace uses a claim; false: perhaps the kubelet lists no claims, which before
     * Kubernetes 1.34 needs the feature gate KubeletPodResourcesDynamicResources
     */
    bool any;
    /* this and all later members are internal */
    struct pod_list list;
    uint16_t count;     /* number of pairs, at most POD_USES_MAX */
    struct writer uses; /* the pairs, each as "CLAIM\0POD\0" */
    uint8_t bytes[POD_USES_BYTES];
};

/* Starts an empty list of the pods of a namespace. */
void pods_begin(struct pods *p, struct view namespace_);
/* Reads the next bytes of the response: a gRPC message with its prefix. */
void pods_feed(struct pods *p, struct view bytes);
/* Ends the response. PEER_MALFORMED: its message is not well-formed, or it ends inside a field. */
MUST_USE enum status pods_end(struct pods *p);
/*
 * Iterates over the pods that use a claim: returns the name of the first such pod from the place
 * *at of the list on, and moves *at behind it; the name is valid as long as the list. 0 is the
 * first place. NULL: there is no further pod.
 */
const char *pods_next(const struct pods *p, struct view claim, size_t *at);
/* Whether the pod uses the claim. */
bool pods_has(const struct pods *p, struct view claim, struct view pod);

#endif
