/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version of resource.k8s.io used in requests (version.c). Owns struct version. Internal to
 * src/agent.
 */
#ifndef AGENT_API_VERSION_H
#define AGENT_API_VERSION_H

#include "agent/api/client.h"

/* Progress of the choice of the version of resource.k8s.io. */
enum version_state {
    VERSION_UNKNOWN, /* the API group must be read first */
    VERSION_TRIED,   /* the group names no usable version: a list of slices tries `now` */
    VERSION_SETTLED, /* the API group names `now`, or a list in this version succeeded */
    VERSION_NONE     /* no version is served: the group is read again later */
};

/* Changes of the version, a set of bits: see version_changes. */
enum {
    VERSION_NAMED = 1,   /* the first version, or another one, is settled: log it */
    VERSION_OTHER = 2,   /* another version is used or tried: list the slices again */
    VERSION_UNSERVED = 4 /* no version is served any longer */
};

/* The versions that the API server serves, and the one in use. */
struct version {
    enum version_state state;
    enum api_version now;
    bool named;          /* `now` was reported by VERSION_NAMED */
    bool proven;         /* `now` was settled before, perhaps on an earlier connection */
    unsigned changes;    /* bits VERSION_… that version_changes has not returned yet */
    uint8_t served;      /* bit per version: the response being read names that version */
    uint8_t refused;     /* bit per version: a list in that version failed */
    uint64_t due_ms;     /* when to read the API group; UINT64_MAX: not planned */
    uint64_t backoff_ms; /* wait between reads of the group in VERSION_NONE */
};

/* Handles a new connection, perhaps to another server: plans a read of the API group. */
void version_connected(struct agent *a);
void version_step(struct agent *a);
uint64_t version_deadline(const struct agent *a);
/* The version that is used or tried. */
enum api_version version_now(const struct agent *a);
/* Whether version_now is known to be served. */
bool version_settled(const struct agent *a);
/* Whether requests may use the version that version_name returns. */
bool version_ready(const struct agent *a);
/*
 * Whether claims may be read with the current version. While requests pause, a version that was
 * settled earlier suffices, because the API group cannot be read then.
 */
bool version_readable(const struct agent *a);
/* Whether the API group must still be read, which delays the reading of claims. */
bool version_pending(const struct agent *a);
/* "v1", "v1beta2" or "v1beta1": the current version. Never NULL. */
const char *version_name(const struct agent *a);
/* "resource.k8s.io/v1" and so on: the version with its group. Never NULL. */
const char *version_group(enum api_version version);
/* Why requests to resource.k8s.io are delayed; never NULL. */
const char *version_waits_for(const struct agent *a);
/* Handle a record of the response to the GET of the API group, and the end of that GET. */
void version_record(struct agent *a, const struct api_result *r, const struct kube_record *record);
void version_end(struct agent *a, const struct api_result *r);
/* Handles the end of a request of any kind: its result may show whether its version is served. */
void version_heard(struct agent *a, const struct api_result *r);
/* Returns and clears the changes (VERSION_ bits); call after version_end and version_heard. */
unsigned version_changes(struct agent *a);

#endif
