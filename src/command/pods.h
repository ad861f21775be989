/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pods that use a claim, as the kubelet knows them: reads the response to the method
 * PodResourcesLister/List of its socket pod-resources/kubelet.sock. Owns the list of one namespace,
 * in fixed memory; does no I/O.
 *
 * Why the kubelet: a record of the claim store has the first consumer at prepare time. Pods join
 * later, and for them the kubelet does not call the driver again, so neither the record nor any
 * other knowledge of the agent can have them. status.reservedFor at the API server has them, but
 * names a PodGroup instead of its pods, and reading it needs the API server. The kubelet's list has
 * each active pod with the claims of its containers, those of PodGroups included.
 *
 * Why the metrics do not use it: the kubelet sends no event when a pod joins a claim, so a running
 * agent would need a second client, which repeats this call. A list of reservedFor from the GET at
 * prepare time would lack every pod that joined later, and nothing would show that it is outdated.
 *
 * Limits of the list: it names claims without their UID, so that a claim is found by namespace and
 * name. It lacks pods of which no container uses the claim, and pods that the kubelet has
 * forgotten, such as force-deleted ones.
 *
 * Sources: k8s.io/kubelet, pkg/apis/podresources/v1 (KEP-606, KEP-3695); gRPC "PROTOCOL-HTTP2" for
 * the prefix of a message.
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
#include "wire/grpc.h"
#include "wire/kube_filter.h"

/* Path of the method whose response this module reads; its request is an empty message. */
#define PODS_METHOD "/v1.PodResourcesLister/List"

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
    /*
     * number of bytes received of the prefix of the gRPC message; the prefix is ignored, because
     * the call has one message, and asks for no compression
     */
    uint8_t skipped;
    struct kube_filter filter;
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
