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
    VERSION_TRIED,   /* the group lists no usable version: a list of slices in `now` is tried */
    VERSION_SETTLED, /* the API group lists the version in use, or a list request in it succeeded */
    VERSION_NONE     /* no version is served: the group is read again later */
};

/* Changes of the version, a set of bits: see version_changes. */
enum {
    VERSION_NAMED = 1,   /* the version in use is settled and was not logged yet: log it */
    VERSION_OTHER = 2,   /* another version is used or tried: list the slices again */
    VERSION_UNSERVED = 4 /* no version is served any longer */
};

/* The versions that the API server serves, and the one in use. */
struct version {
    enum version_state state;
    enum api_version now;
    bool named;          /* the version in use was reported by VERSION_NAMED */
    bool proven;         /* `now` was settled, on this connection or an earlier one */
    unsigned changes;    /* bits VERSION_… that version_changes has not returned yet */
    uint8_t served;      /* bit per version: the API group, as read so far, lists this version */
    uint8_t refused;     /* bit per version: a list in it got 404, so the server lacks it */
    uint64_t due_ms;     /* when to read the API group; UINT64_MAX: not planned */
    uint64_t backoff_ms; /* wait between reads of the group in VERSION_NONE */
};

/* Handles a new connection, perhaps to another server: plans a read of the API group. */
void version_connected(struct agent *a);
void version_step(struct agent *a);
uint64_t version_deadline(const struct agent *a);
/* The version of resource.k8s.io that is in use or being tried. */
enum api_version version_now(const struct agent *a);
/* Whether version_now is known to be served. */
bool version_settled(const struct agent *a);
/* Whether requests may use the version of version_now: it is settled, or being tried. */
bool version_ready(const struct agent *a);
/*
 * Whether claims may be read in the version of version_now. While requests pause, it suffices that
 * this version was settled earlier, because the API group cannot be read during the pause.
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
