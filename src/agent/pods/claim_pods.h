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
 * I2 The list that is shown does not change while a page of metrics is being sent, except that the
 *    pods of released claims vanish.
 * I3 The list has each pair of a claim and a pod once.
 * I4 If a call fails, the list is empty; claim_pods_complete says whether pods may be missing.
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
 * the call may be shown. `a`: the first driver.
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

/* Number of pairs of a claim and a pod in the list that is shown. */
unsigned claim_pods_count(const struct agent *a);
/*
 * The pod of pair `index` (below claim_pods_count) if it uses the claim that this slot of the
 * driver holds; else NULL.
 */
const char *claim_pods_name(const struct agent *a, unsigned index, unsigned slot);
/*
 * Whether the list that is shown has all pods that the kubelet lists for the held claims of all
 * drivers; true also if no claim is held. `a`: the first driver.
 */
bool claim_pods_complete(const struct agent *a);

#endif
