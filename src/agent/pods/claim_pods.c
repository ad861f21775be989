/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the kubelet's list of pods, and keeps the pods of held claims, see claim_pods.h. */
#include "agent/pods/claim_pods.h"

#include <string.h>

#include "agent/frame.h"
#include "agent/ledger/ledger.h"
#include "agent/pods/room.h"
#include "agent/report/log.h"
#include "agent/report/log_catalogue.h"
#include "base/assert.h"
#include "base/time.h"

/* --- when a call begins --- */

/* Number of claims that all drivers hold. */
static unsigned claims_held(const struct agent *a)
{
    unsigned n = 0;
    for (const struct agent *d = a; d != NULL; d = d->next) {
        n += ledger_held_count(d);
    }
    return n;
}

void claim_pods_want(struct agent *a)
{
    struct claim_pods *p = a->pods;
    if (p->call == POD_CALL_NONE && a->now_ms >= p->next_ms && claims_held(a) > 0u) {
        p->call = POD_CALL_DUE;
        p->next_ms = a->now_ms + POD_LIST_AGE_MS;
    }
}

enum agent_order claim_pods_order(struct agent *a)
{
    struct claim_pods *p = a->pods;
    if (p->closes) {
        p->closes = false;
        return ORDER_CLOSE_PODS;
    }
    if (p->call == POD_CALL_DUE) {
        p->call = POD_CALL_CONNECTING;
        return ORDER_CONNECT_PODS;
    }
    return ORDER_NONE;
}

/* The table that the call fills. */
static struct pod_table *next_table(struct claim_pods *p)
{
    return &p->table[1u - p->shown];
}

void claim_pods_opened(struct agent *a, uint64_t now_ms)
{
    static const uint8_t empty[GRPC_PREFIX_BYTES]; /* a message without fields */
    struct claim_pods *p = a->pods;
    struct pod_table *t = next_table(p);
    struct h2_memory memory = H2_MEMORY_OF(p, H2_WINDOW_DEFAULT);
    ASSERT(p->call == POD_CALL_CONNECTING);
    p->call = POD_CALL_RUNNING;
    p->busy = false;
    p->lacks = NULL;
    p->received = 0;
    p->end_ms = now_ms + PODS_MAX_MS;
    t->began_ms = now_ms;
    t->count = 0;
    t->names = writer_of(t->bytes, sizeof t->bytes);
    pod_list_begin(&p->list);
    h2_init(&p->h2, H2_CLIENT, &memory, now_ms);
    grpc_client_begin(&p->client, &p->h2, POD_LIST_METHOD, view_of(empty, sizeof empty));
}

/* --- the pods of a list --- */

/*
 * The slot of the claim that had this name when the call began; -1: the driver held none, or the
 * name belongs to another claim by now. The kubelet has one claim of a name, so of two that are
 * held, one of which is gone from the API server, it is the younger one.
 */
static int find_slot(const struct agent *driver, struct view namespace_, struct view claim,
                     uint64_t began_ms)
{
    int found = -1;
    uint64_t entered = 0;
    for (unsigned slot = 0; slot < CLAIMS_MAX; slot++) {
        const struct ledger_entry *e = ledger_entry(driver, slot);
        const struct claim_id *id = ledger_id(driver, slot);
        if (e->state == LEDGER_HELD && e->entered >= entered && view_is(claim, id->name) &&
            view_is(namespace_, id->namespace_)) {
            entered = e->entered;
            found = (e->held_ms < began_ms) ? (int)slot : -1;
        }
    }
    return found;
}

static const char *name_at(const struct pod_table *t, unsigned index)
{
    ASSERT(index < t->count);
    return (const char *)&t->bytes[t->pod[index].name];
}

static bool is_pair(const struct pod_table *t, unsigned index, const struct agent *driver,
                    unsigned slot)
{
    const struct claim_pod *pod = &t->pod[index];
    return pod->slot == slot && pod->driver == (uint8_t)driver->driver->kind;
}

static bool has_pair(const struct pod_table *t, const struct agent *driver, unsigned slot,
                     struct view pod)
{
    for (unsigned i = 0; i < t->count; i++) {
        if (is_pair(t, i, driver, slot) && view_is(pod, name_at(t, i))) {
            return true;
        }
    }
    return false;
}

/* Adds a pair, unless another container of the pod has led to the same one. */
static void add_pair(struct claim_pods *p, const struct agent *driver, unsigned slot,
                     struct view pod)
{
    struct pod_table *t = next_table(p);
    if (has_pair(t, driver, slot, pod)) {
        return;
    }
    if (!claim_name_like(pod)) {
        p->lacks = "the kubelet lists a pod without a valid name";
        return;
    }
    if (t->count == CLAIM_PODS_MAX || pod.len + 1u > writer_room(&t->names)) {
        p->lacks = "too many pods use claims";
        return;
    }
    t->pod[t->count] = (struct claim_pod){.slot = (uint16_t)slot,
                                          .name = (uint16_t)t->names.len,
                                          .driver = (uint8_t)driver->driver->kind};
    t->count++;
    writer_append(&t->names, pod);
    writer_u8(&t->names, 0);
}

static void add_pod(struct agent *a, struct listed_pod *pod)
{
    struct claim_pods *p = a->pods;
    struct view claim;
    p->any = p->any || pod->uses;
    if (pod->truncated) {
        p->lacks = "the kubelet lists a pod with too many claims, or too long a name";
    }
    while (listed_pod_claim(pod, &claim)) {
        for (const struct agent *d = a; d != NULL; d = d->next) {
            int slot = find_slot(d, pod->namespace_, claim, next_table(p)->began_ms);
            if (slot >= 0) {
                add_pair(p, d, (unsigned)slot, pod->name);
            }
        }
    }
}

static void add_pods(struct agent *a, struct view piece)
{
    struct reader in = reader_of(piece);
    struct listed_pod pod;
    enum status s = pod_list_next(&a->pods->list, &in, &pod);
    while (s == STATUS_OK) {
        add_pod(a, &pod);
        s = pod_list_next(&a->pods->list, &in, &pod);
    }
    /* s is STATUS_MORE, or a failure, which pod_list_end returns again */
}

/* --- the end of a call --- */

static void end_call(struct claim_pods *p, enum pod_result result, struct view why)
{
    text_cut(p->why, sizeof p->why, why);
    p->next = result;
    p->call = POD_CALL_ENDED;
    p->busy = false;
    if (result != POD_RESULT_COMPLETE && result != POD_RESULT_PARTIAL) {
        next_table(p)->count = 0;
    }
}

static void fail_call(struct claim_pods *p, const char *why)
{
    p->closes = true;
    end_call(p, POD_RESULT_FAILED, view_text(why));
}

void claim_pods_failed(struct agent *a, const char *why)
{
    ASSERT(a->pods->call == POD_CALL_CONNECTING);
    end_call(a->pods, POD_RESULT_ABSENT, view_text(why));
}

/* The response has ended. */
static void judge_response(struct claim_pods *p)
{
    bool read = pod_list_end(&p->list) == STATUS_OK;
    p->closes = true;
    if (p->client.code != 0u) {
        bool said = p->client.text.len > 0u;
        end_call(p, POD_RESULT_FAILED,
                 said ? writer_view(&p->client.text)
                      : view_text("the kubelet gives no list of pods"));
    } else if (!read) {
        end_call(p, POD_RESULT_FAILED, view_text("the kubelet's list of pods is malformed"));
    } else if (!p->any) {
        end_call(p, POD_RESULT_EMPTY, view_text("the kubelet lists no claims"));
    } else if (p->lacks != NULL) {
        end_call(p, POD_RESULT_PARTIAL, view_text(p->lacks));
    } else {
        end_call(p, POD_RESULT_COMPLETE, view_of(NULL, 0));
    }
}

static void log_result(struct agent *a)
{
    static const char *const remedies[POD_RESULTS] = {
        [POD_RESULT_PARTIAL] = "see claims --pod for the pods of one claim",
        [POD_RESULT_EMPTY] = "none is needed while no container has a claim; before Kubernetes "
                             "1.34, switch on the kubelet's feature gate "
                             "KubeletPodResourcesDynamicResources",
        [POD_RESULT_FAILED] = "see the kubelet's log",
        [POD_RESULT_ABSENT] = "mount the kubelet's directory pod-resources into the agent's pod, "
                              "as the chart does, and check that the kubelet runs"};
    const struct claim_pods *p = a->pods;
    if (p->next == POD_RESULT_COMPLETE) {
        log_one(a, LOG_ID_POD_LIST_COMPLETE, "text", "the list has all pods again");
        return;
    }
    log_begin(a, LOG_ID_POD_LIST_INCOMPLETE);
    log_text(a, "text", p->why);
    log_remedy(a, remedies[p->next]);
    log_end(a);
}

/* Shows the list of the call that has ended. */
static void show_list(struct agent *a)
{
    struct claim_pods *p = a->pods;
    bool expected = p->result == POD_RESULT_NONE && p->next == POD_RESULT_COMPLETE;
    if (p->next != p->result && !expected) {
        log_result(a);
    }
    p->shown = 1u - p->shown;
    p->version++;
    p->result = p->next;
    p->call = POD_CALL_NONE;
}

/* --- one step --- */

static void read_events(struct agent *a)
{
    struct claim_pods *p = a->pods;
    struct view piece;
    enum status s = STATUS_OK;
    h2_set_time(&p->h2, a->now_ms);
    for (unsigned i = 0; i < LINK_EVENTS_PER_STEP && s == STATUS_OK && !p->client.ended; i++) {
        s = grpc_client_next(&p->client, &piece);
        add_pods(a, piece);
    }
    p->busy = s == STATUS_OK;
    if (p->client.ended) {
        judge_response(p);
    } else if (s != STATUS_OK && s != STATUS_MORE) {
        fail_call(p, "the kubelet gives no list of pods");
    } else if (a->now_ms >= p->end_ms) {
        fail_call(p, "the kubelet gives no list of pods in time");
    } else if (p->received > POD_LIST_BYTES_MAX) {
        fail_call(p, "the kubelet's list of pods is too long");
    } else {
        /* the rest of the response has not arrived yet */
    }
}

void claim_pods_step(struct agent *a, bool settled)
{
    if (a->pods->call == POD_CALL_RUNNING) {
        read_events(a);
    }
    if (a->pods->call == POD_CALL_ENDED && (settled || a->now_ms >= a->pods->next_ms)) {
        show_list(a);
    }
}

uint64_t claim_pods_deadline(const struct agent *a)
{
    const struct claim_pods *p = a->pods;
    if (p->call == POD_CALL_RUNNING) {
        return p->busy ? a->now_ms : earlier(p->end_ms, h2_deadline(&p->h2));
    }
    return (p->call == POD_CALL_ENDED) ? p->next_ms : UINT64_MAX;
}

/* --- bytes of the connection --- */

struct writer claim_pods_rx(struct agent *a)
{
    struct claim_pods *p = a->pods;
    return (p->call == POD_CALL_RUNNING) ? h2_rx_space(&p->h2) : writer_of(NULL, 0);
}

void claim_pods_rx_commit(struct agent *a, size_t n)
{
    ASSERT(a->pods->call == POD_CALL_RUNNING);
    a->pods->received += (uint32_t)n;
    h2_rx_commit(&a->pods->h2, n);
}

void claim_pods_rx_end(struct agent *a)
{
    if (a->pods->call == POD_CALL_RUNNING) {
        h2_rx_end(&a->pods->h2);
    }
}

struct view claim_pods_tx(const struct agent *a)
{
    const struct claim_pods *p = a->pods;
    return (p->call == POD_CALL_RUNNING) ? h2_tx_data(&p->h2) : view_of(NULL, 0);
}

void claim_pods_tx_commit(struct agent *a, size_t n)
{
    ASSERT(a->pods->call == POD_CALL_RUNNING);
    h2_tx_commit(&a->pods->h2, n);
}

/* --- the list that is shown --- */

static const struct pod_table *shown_table(const struct agent *a)
{
    return &a->pods->table[a->pods->shown];
}

uint32_t claim_pods_version(const struct agent *a)
{
    return a->pods->version;
}

unsigned claim_pods_count(const struct agent *a)
{
    return shown_table(a)->count;
}

int claim_pods_slot(const struct agent *a, unsigned index)
{
    const struct pod_table *t = shown_table(a);
    ASSERT(index < t->count);
    unsigned slot = t->pod[index].slot;
    bool same = is_pair(t, index, a, slot) && ledger_entry(a, slot)->held_ms < t->began_ms;
    return same ? (int)slot : -1;
}

const char *claim_pods_name(const struct agent *a, unsigned index)
{
    return name_at(shown_table(a), index);
}

bool claim_pods_complete(const struct agent *a)
{
    return a->pods->result == POD_RESULT_COMPLETE || claims_held(a) == 0u;
}
