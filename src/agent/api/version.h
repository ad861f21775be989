/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version of resource.k8s.io that requests are made in (version.c). Owns struct version.
 * Internal to src/agent.
 */
#ifndef AGENT_API_VERSION_H
#define AGENT_API_VERSION_H

#include "agent/api/client.h"

enum version_state {
    VERSION_UNKNOWN, /* the API group has to be read first */
    VERSION_TRIED,   /* the group names none of use: a list of slices tries `now` */
    VERSION_SETTLED, /* `now` is named by the API group, or slices were listed in it */
    VERSION_NONE     /* none of them is served: the group is read again when due */
};

/* What changed in the version, a set of bits: see version_changes. */
enum {
    VERSION_NAMED = 1,   /* another one is settled, or the first one: worth a log line */
    VERSION_OTHER = 2,   /* another one is used, or tried: slices have to be listed again */
    VERSION_UNSERVED = 4 /* none is served any more */
};

/* The versions that the API server serves, and the one in use. */
struct version {
    enum version_state state;
    enum api_version now;
    bool named;          /* VERSION_NAMED was reported for `now` */
    bool proven;         /* `now` was settled once, perhaps on an earlier connection */
    unsigned changes;    /* not taken yet */
    uint8_t served;      /* bit per version: named in the response under way */
    uint8_t refused;     /* bit per version: slices could not be listed in it */
    uint64_t due_ms;     /* when the API group is read; UINT64_MAX: not planned */
    uint64_t backoff_ms; /* of VERSION_NONE */
};

/* A new connection, perhaps to another server; then the verbs of state.h. */
void version_connected(struct agent *a);
void version_step(struct agent *a);
uint64_t version_deadline(const struct agent *a);
/* The version that is used, or tried. */
enum api_version version_now(const struct agent *a);
/* Whether it is settled that this version is served. */
bool version_settled(const struct agent *a);
/* Whether requests may be made in the version that version_name returns. */
bool version_ready(const struct agent *a);
/*
 * Whether claims may be read in that version. A version that was settled before will do while our
 * own requests pause and the API group cannot be read.
 */
bool version_readable(const struct agent *a);
/* Whether the API group is still to be read, so that no claim can be. */
bool version_pending(const struct agent *a);
/* "v1", "v1beta2" or "v1beta1": the version that is used now. Never NULL. */
const char *version_name(const struct agent *a);
/* "resource.k8s.io/v1" and so on: the same with its group. Never NULL. */
const char *version_group(enum api_version version);
/* Why a request of resource.k8s.io is not sent now; never NULL. */
const char *version_waits_for(const struct agent *a);
/* A record, and the end, of the GET of the API group. */
void version_record(struct agent *a, const struct api_result *r, const struct kube_record *record);
void version_end(struct agent *a, const struct api_result *r);
/* A request of any kind ended: takes from it what it shows of the version it was made in. */
void version_heard(struct agent *a, const struct api_result *r);
/* What changed since the last call; called after version_end and version_heard. */
unsigned version_changes(struct agent *a);

#endif
