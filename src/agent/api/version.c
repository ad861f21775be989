/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the version of resource.k8s.io: the newest of v1, v1beta2 and v1beta1 that the API server
 * serves. Owns struct version; sends only the GET of the API group.
 *
 * The group is read once per connection, because an upgraded server drops its connections. While
 * v1 is in use it is not read again: there is no better version, and a server that no longer
 * serves v1 refuses the first list. So an agent that reconnects needs three requests: watch of
 * the Node, list and watch of the slices. At a start the group is read before anything else, so
 * that a start needs the same five requests whichever version is served: group, Node, list,
 * create, watch. If the group cannot be read and the lists in v1 and v1beta2 fail, a start needs
 * seven requests. After a GOAWAY, the agent reads the group no earlier than API_START_MS after
 * the new connection opened, so that pending requests come first: the server may answer only one
 * request before it sends the next GOAWAY.
 *
 * When the group lists no usable version, the agent tries a list of slices in each version, from v1
 * on: the path of a list exists if and only if the version is served. A 404 for a single object is
 * less certain: after it, the group is read again. While an older version is used, the group is
 * read every VERSION_CHECK_MS. Source: Kubernetes API concepts, "Discovery API" (APIGroup).
 */
#include "agent/api/version.h"

#include "agent/api/backoff.h"
#include "agent/api/room.h"
#include "agent/frame.h"
#include "base/assert.h"
#include "generated/projection.pb.h"
#include "wire/decode.h"

static const char *const groups[API_VERSIONS] = {
    [API_V1] = KUBE_RESOURCE_GROUP "/v1",
    [API_V1BETA2] = KUBE_RESOURCE_GROUP "/v1beta2",
    [API_V1BETA1] = KUBE_RESOURCE_GROUP "/v1beta1",
};

static uint8_t version_bit(enum api_version version)
{
    ASSERT(version < API_VERSIONS);
    return (uint8_t)(1u << (unsigned)version);
}

/* The most preferred version in a set of versions; API_VERSIONS: the set is empty. */
static enum api_version best_of(unsigned set)
{
    enum api_version best = API_VERSIONS;
    if ((set & version_bit(API_V1)) != 0u) {
        best = API_V1;
    } else if ((set & version_bit(API_V1BETA2)) != 0u) {
        best = API_V1BETA2;
    } else if ((set & version_bit(API_V1BETA1)) != 0u) {
        best = API_V1BETA1;
    }
    return best;
}

const char *version_group(enum api_version version)
{
    ASSERT(version < API_VERSIONS);
    return groups[version];
}

const char *version_name(const struct agent *a)
{
    return version_group(a->api->version.now) + sizeof KUBE_RESOURCE_GROUP;
}

enum api_version version_now(const struct agent *a)
{
    return a->api->version.now;
}

bool version_settled(const struct agent *a)
{
    return a->api->version.state == VERSION_SETTLED;
}

bool version_ready(const struct agent *a)
{
    enum version_state state = a->api->version.state;
    return state == VERSION_TRIED || state == VERSION_SETTLED;
}

bool version_readable(const struct agent *a)
{
    return version_ready(a) || (a->api->version.proven && api_paused(a));
}

bool version_pending(const struct agent *a)
{
    return a->api->version.state == VERSION_UNKNOWN;
}

const char *version_waits_for(const struct agent *a)
{
    const char *why = "all requests are busy";
    if (api_token_refused(a)) {
        why = "it does not accept the agent's token: " API_TOKEN_REMEDY;
    } else if (!api_ready(a)) {
        why = api_trouble(a);
    } else if (a->api->version.state == VERSION_NONE) {
        why = "it serves none of resource.k8s.io/v1, v1beta2 and v1beta1; enable one of them";
    } else if (a->api->version.state != VERSION_SETTLED) {
        why = "it has not reported yet which versions of resource.k8s.io it serves";
    }
    return why;
}

/* --- the API version in use --- */

static void use_version(struct agent *a, enum api_version version, enum version_state state)
{
    struct version *v = &a->api->version;
    bool settled = state == VERSION_SETTLED;
    bool other = v->now != version;
    bool check = settled && version != API_V1;
    v->now = version;
    v->state = state;
    v->due_ms = check ? a->now_ms + agent_jitter(a, VERSION_CHECK_MS) : UINT64_MAX;
    v->named = v->named && !other;
    v->proven = settled || (v->proven && !other);
    if (settled && !v->named) {
        v->changes |= VERSION_NAMED;
        v->named = true;
    }
    if (other || state == VERSION_TRIED) {
        v->changes |= VERSION_OTHER;
    }
}

static void use_none(struct agent *a)
{
    struct version *v = &a->api->version;
    v->state = VERSION_NONE;
    v->proven = false;
    v->refused = 0;
    v->named = false;
    v->due_ms =
        a->now_ms + agent_backoff_within(a, &v->backoff_ms, API_REFUSED_MS, VERSION_NONE_MAX_MS);
    v->changes = VERSION_UNSERVED;
}

/*
 * Switches to the most preferred version in `set` in which no list was answered with 404; if there
 * is none, switches to no version.
 */
static void choose_version(struct agent *a, unsigned set, enum version_state state)
{
    enum api_version best = best_of(set & ~(unsigned)a->api->version.refused);
    if (best == API_VERSIONS) {
        use_none(a);
    } else {
        use_version(a, best, state);
    }
}

static unsigned all_versions(void)
{
    return (1u << (unsigned)API_VERSIONS) - 1u;
}

/* --- reading the API group --- */

void version_connected(struct agent *a)
{
    struct version *v = &a->api->version;
    bool settled = v->state == VERSION_SETTLED;
    bool best = settled && v->now == API_V1;
    bool known = best || (settled && api_connection_moved(a));
    v->state = known ? VERSION_SETTLED : VERSION_UNKNOWN;
    v->refused = 0;
    v->backoff_ms = 0;
    v->due_ms = best ? UINT64_MAX : a->now_ms + (known ? API_START_MS : 0u);
}

uint64_t version_deadline(const struct agent *a)
{
    bool asks = api_slot_busy(a, API_SLOT_GROUP);
    return (api_ready(a) && !asks) ? a->api->version.due_ms : UINT64_MAX;
}

void version_step(struct agent *a)
{
    struct version *v = &a->api->version;
    if (a->now_ms < version_deadline(a)) {
        return;
    }
    const struct api_request r = {
        .kind = API_GET_GROUP,
        .shape = KUBE_SHAPE_GROUP,
        .head = {.method = "GET", .path = view_text(KUBE_RESOURCE_GROUP_PATH)}};
    v->served = 0;
    if (api_start(a, API_SLOT_GROUP, &r) == STATUS_OK) {
        v->due_ms = UINT64_MAX;
    } else {
        v->due_ms = api_later(a);
    }
}

void version_record(struct agent *a, const struct api_result *r, const struct kube_record *record)
{
    (void)r;
    projection_TypeMeta m = projection_TypeMeta_init_zero;
    if (record->record != KUBE_GROUP_VERSION ||
        !decode(record->message, projection_TypeMeta_fields, &m)) {
        return;
    }
    for (unsigned i = 0; i < (unsigned)API_VERSIONS; i++) {
        if (text_is(m.api_version, groups[i])) {
            a->api->version.served |= (uint8_t)(1u << i);
        }
    }
}

void version_end(struct agent *a, const struct api_result *r)
{
    struct version *v = &a->api->version;
    unsigned served = (r->status == STATUS_OK) ? v->served : 0u;
    if (served != 0u) {
        choose_version(a, served, VERSION_SETTLED);
    } else if (!api_ready(a)) {
        /* no read is planned here: on the next connection, the agent reads the API group first */
    } else if (v->state == VERSION_SETTLED) {
        v->due_ms = a->now_ms + agent_jitter(a, VERSION_CHECK_MS);
    } else {
        choose_version(a, all_versions(), VERSION_TRIED);
    }
}

/* --- what results of other requests show about the version --- */

static void list_answered(struct agent *a)
{
    struct version *v = &a->api->version;
    v->refused = 0;
    v->backoff_ms = 0;
    if (v->state != VERSION_SETTLED) {
        use_version(a, v->now, VERSION_SETTLED);
    }
}

static void list_refused(struct agent *a, enum api_version version)
{
    struct version *v = &a->api->version;
    v->refused |= version_bit(version);
    if (v->state == VERSION_TRIED) {
        choose_version(a, all_versions(), VERSION_TRIED);
    } else {
        v->state = VERSION_UNKNOWN;
        v->due_ms = a->now_ms;
    }
}

/* Whether the request is a list: its path exists if and only if the server serves the version. */
static bool is_list(enum api_kind kind)
{
    return kind == API_LIST_SLICES || kind == API_LIST_CLAIMS;
}

void version_heard(struct agent *a, const struct api_result *r)
{
    struct version *v = &a->api->version;
    bool list = is_list(r->kind);
    if (r->kind == API_WRITE_EVENT || r->version != v->now || v->state == VERSION_NONE) {
        return; /* the request was for another API group, or in a version that is not in use now */
    }
    if (list && r->status == STATUS_OK) {
        list_answered(a);
    } else if (list && r->status == PEER_UNSUPPORTED) {
        list_refused(a, r->version);
    } else if (r->status == PEER_UNSUPPORTED && v->state == VERSION_SETTLED) {
        v->state = VERSION_UNKNOWN;
        v->due_ms = a->now_ms;
    }
}

unsigned version_changes(struct agent *a)
{
    unsigned changes = a->api->version.changes;
    a->api->version.changes = 0;
    return changes;
}
