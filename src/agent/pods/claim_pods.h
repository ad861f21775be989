/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pods that use each held claim, for the metrics, as the kubelet lists them (wire/pod_list).
 * Owns struct claim_pods: the list that is shown, and the call that reads the next one. Internal to
 * src/agent.
 *
 * The kubelet sends no event when a pod joins a claim, so the list is read when somebody wants it:
 * after a scrape of the metrics, if a claim is held and the last call began POD_LIST_AGE_MS ago.
 * That scrape shows the last list, the next one the new list. Without scrapes there is no call.
 *
 * Invariants, whatever the kubelet sends:
 * I1 A pod is shown only for a claim that was held when the call of its list began, and has been
 *    held since: never for another claim that got the slot later.
 * I2 The list that is shown does not change within a page of metrics, except that the pods of
 *    released claims vanish. A new list waits until no page is being sent, but only until the next
 *    call would be due, so that slow readers do not keep it back; then claim_pods_version changes
 *    while pages are being sent, and serve/pages gives them up.
 * I3 The list has each pair of a claim and a pod once.
 * I4 If a call fails, the list is empty, and claim_pods_complete returns false.
 * I5 A call takes at most PODS_MAX_MS and POD_LIST_BYTES_MAX; at most one call runs.
 * I6 A change of what a call gives is logged once.
 */
#ifndef AGENT_PODS_CLAIM_PODS_H
#define AGENT_PODS_CLAIM_PODS_H

#include "agent/agent.h"

/* A page of metrics was sent: starts a call, if one is due. `a`: the first driver. */
void claim_pods_want(struct agent *a);
/*
 * Reads the events of the call. `settled`: no page of metrics is being sent, so that the result of
 * the call may be shown; it is shown later also without (I2). `a`: the first driver.
 */
void claim_pods_step(struct agent *a, bool settled);
/* The latest time at which claim_pods_step must run. */
uint64_t claim_pods_deadline(const struct agent *a);
/* ORDER_CONNECT_PODS or ORDER_CLOSE_PODS, once each time; else ORDER_NONE. */
enum agent_order claim_pods_order(struct agent *a);
/* The host connected, or could not connect; agent.h describes both. */
void claim_pods_opened(struct agent *a, uint64_t now_ms);
void claim_pods_failed(struct agent *a, const char *why);

/* The bytes of LINK_PODS; agent.h describes the functions for links. */
struct writer claim_pods_rx(struct agent *a);
void claim_pods_rx_commit(struct agent *a, size_t n);
void claim_pods_rx_end(struct agent *a);
struct view claim_pods_tx(const struct agent *a);
void claim_pods_tx_commit(struct agent *a, size_t n);

/* Differs from the last call's value if another list is shown. */
uint32_t claim_pods_version(const struct agent *a);
/* Number of pairs of a claim and a pod in the list that is shown. */
unsigned claim_pods_count(const struct agent *a);
/*
 * The slot of the claim of pair `index` (below claim_pods_count); -1: the claim is another
 * driver's, or another claim has got its slot. The slot may be free by now.
 */
int claim_pods_slot(const struct agent *a, unsigned index);
/* The pod of pair `index` (below claim_pods_count); never NULL. */
const char *claim_pods_name(const struct agent *a, unsigned index);
/*
 * Whether the last list left out none of the pods that the kubelet had for claims held then; true
 * also if no claim is held. Pods that joined, and claims prepared, after the list do not change
 * the result. `a`: the first driver.
 */
bool claim_pods_complete(const struct agent *a);

#endif
