/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's list of pods: reads the response to the method PodResourcesLister/List of its
 * socket pod-resources/kubelet.sock, pod by pod, in fixed memory. Owns the position in one
 * response; keeps no pod.
 *
 * Limits of the list: it names claims without their UID, so that a claim is found by namespace and
 * name. It lacks pods of which no container uses the claim, and pods that the kubelet has
 * forgotten, such as force-deleted ones.
 *
 * Sources: k8s.io/kubelet, pkg/apis/podresources/v1 (KEP-606, KEP-3695); gRPC "PROTOCOL-HTTP2" for
 * the prefix of a message.
 *
 * Invariants:
 * I1 The pods and the statuses do not depend on how the response is split into pieces.
 * I2 If a claim of a pod is missing although the response has it, the pod is `truncated`.
 */
#ifndef WIRE_POD_LIST_H
#define WIRE_POD_LIST_H

#include "base/bytes.h"
#include "cfg/limits.h"
#include "wire/grpc.h"
#include "wire/kube_filter.h"

/* Path of the method whose response this module reads; its request is an empty message. */
#define POD_LIST_METHOD "/v1.PodResourcesLister/List"

/* A pod of the list; its texts are any bytes, valid until the next call of pod_list_next. */
struct listed_pod {
    struct view name;
    struct view namespace_;
    bool truncated;       /* the pod has more claims, or its name or namespace is too long */
    bool uses;            /* the pod uses a claim */
    struct reader fields; /* internal: the fields that listed_pod_claim has not read yet */
};

/* A response that is being read. All members are internal. */
struct pod_list {
    /*
     * number of bytes received of the prefix of the gRPC message; the prefix is ignored, because
     * the call has one message, and asks for no compression
     */
    uint8_t skipped;
    struct kube_filter filter;
};

/* Starts a response. */
void pod_list_begin(struct pod_list *l);
/*
 * Reads the next pod from the bytes of the response: a gRPC message with its prefix. STATUS_MORE:
 * `in` ends before the next pod. After a failure, which pod_list_end returns again, every later
 * call fails.
 */
MUST_USE enum status pod_list_next(struct pod_list *l, struct reader *in, struct listed_pod *pod);
/*
 * Reads the next claim that a container of the pod uses; the namespace of the claim is that of the
 * pod. Returns each claim once for each such container; false: the pod has no further claim.
 */
bool listed_pod_claim(struct listed_pod *pod, struct view *claim);
/* Ends the response. PEER_MALFORMED: its message is not well-formed, or it ends inside a field. */
MUST_USE enum status pod_list_end(struct pod_list *l);

#endif
