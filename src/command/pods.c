/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the kubelet's list of pods, one pod at a time, and keeps the pairs of a pod and a claim
 * that are in the wanted namespace.
 */
#include "command/pods.h"

#include <string.h>

#include "dra/claim.h"

void pods_begin(struct pods *p, struct view namespace_)
{
    p->namespace_ = namespace_;
    p->partial = false;
    p->any = false;
    p->count = 0;
    p->uses = writer_of(p->bytes, sizeof p->bytes);
    pod_list_begin(&p->list);
}

/* --- the list --- */

const char *pods_next(const struct pods *p, struct view claim, size_t *at)
{
    while (*at < p->uses.len) {
        const char *used = (const char *)&p->bytes[*at];
        const char *pod = used + strlen(used) + 1u;
        *at += strlen(used) + strlen(pod) + 2u;
        if (view_is(claim, used)) {
            return pod;
        }
    }
    return NULL;
}

bool pods_has(const struct pods *p, struct view claim, struct view pod)
{
    size_t at = 0;
    const char *found = pods_next(p, claim, &at);
    while (found != NULL && !view_is(pod, found)) {
        found = pods_next(p, claim, &at);
    }
    return found != NULL;
}

/* Adds a pair, unless another container of the pod has led to the same one. */
static void add_use(struct pods *p, struct view pod, struct view claim)
{
    size_t room = writer_room(&p->uses);
    if (pods_has(p, claim, pod)) {
        return;
    }
    if (p->count == POD_USES_MAX || pod.len + claim.len + 2u > room || !claim_name_like(pod) ||
        !claim_name_like(claim)) {
        p->partial = true;
        return;
    }
    writer_append(&p->uses, claim);
    writer_u8(&p->uses, 0);
    writer_append(&p->uses, pod);
    writer_u8(&p->uses, 0);
    p->count++;
}

/* --- the response --- */

static void add_pod(struct pods *p, struct listed_pod *pod)
{
    struct view claim;
    p->any = p->any || pod->uses;
    if (!view_equal(pod->namespace_, p->namespace_)) {
        return;
    }
    p->partial = p->partial || pod->truncated;
    while (listed_pod_claim(pod, &claim)) {
        add_use(p, pod->name, claim);
    }
}

void pods_feed(struct pods *p, struct view bytes)
{
    struct reader in = reader_of(bytes);
    struct listed_pod pod;
    enum status s = pod_list_next(&p->list, &in, &pod);
    while (s == STATUS_OK) {
        add_pod(p, &pod);
        s = pod_list_next(&p->list, &in, &pod);
    }
    /* s is STATUS_MORE, or a failure, which pod_list_end returns again */
}

enum status pods_end(struct pods *p)
{
    enum status s = pod_list_end(&p->list);
    p->uses.len = (s == STATUS_OK) ? p->uses.len : 0u;
    return s;
}
