/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version of resource.k8s.io used in requests (version.c). Owns struct version. Internal to
 * src/agent.
 */
#ifndef AGENT_API_VERSION_H
#define AGENT_API_VERSION_H

#include "agent/api/client.h"

/*
 * States of the choice of the API version: whether a version of resource.k8s.io is chosen and known
 * to be served.
 */
enum version_state {
    VERSION_UNKNOWN, /* no version is chosen: the API group must be read first */
    VERSION_TRIED,   /* the group lists no usable version: a list of slices in `now` is tried */
    VERSION_SETTLED, /* the API group lists the version in use, or a list request in it succeeded */
    /* the server serves no version that the agent knows: the group is read again later */
    VERSION_NONE
};

/* Bits for changes of the version in use, see version_changes. */
enum {
    /* the version in use is settled and must be logged, because it was not logged yet */
    VERSION_NAMED = 1,
    /* another version is in use or being tried: the slices must be listed again */
    VERSION_OTHER = 2,
    VERSION_UNSERVED = 4 /* the server no longer serves any version that the agent knows */
};

/* The versions that the API server serves, and the version in use. */
struct version {
    enum version_state state;
    enum api_version now;
    bool named;       /* VERSION_NAMED has reported the version in use */
    bool proven;      /* the version `now` was settled, on this connection or an earlier one */
    unsigned changes; /* set of VERSION_… bits that version_changes has not returned yet */
    /* bit for each version: the API group, as far as it is read, lists this version */
    uint8_t served;
    /* bit for each version: a list in this version got 404, so the server lacks it */
    uint8_t refused;
    uint64_t due_ms;     /* when to read the API group; UINT64_MAX: no read is planned */
    uint64_t backoff_ms; /* wait between reads of the API group while the state is VERSION_NONE */
};

/* Handles a new connection, perhaps to another server: plans a read of the API group. */
void version_connected(struct agent *a);
void version_step(struct agent *a);
uint64_t version_deadline(const struct agent *a);
/* The version of resource.k8s.io that is in use or being tried. */
enum api_version version_now(const struct agent *a);
/* Whether the server is known to serve the version that version_now returns. */
bool version_settled(const struct agent *a);
/* Whether requests may use the version that version_now returns: it is settled, or being tried. */
bool version_ready(const struct agent *a);
/*
 * Whether claims may be read in the version that version_now returns. While requests pause, it
 * suffices that this version was settled earlier, because the API group cannot be read during the
 * pause.
 */
bool version_readable(const struct agent *a);
/* Whether the API group must be read, before which no claim can be read but by version_readable. */
bool version_pending(const struct agent *a);
/* The name of the current version: "v1", "v1beta2" or "v1beta1". Never NULL. */
const char *version_name(const struct agent *a);
/* The name of a version with its API group, for example "resource.k8s.io/v1". Never NULL. */
const char *version_group(enum api_version version);
/* Why requests to resource.k8s.io are delayed; never NULL. */
const char *version_waits_for(const struct agent *a);
/*
 * version_record handles a record of the response to the GET of the API group; version_end, the end
 * of that GET.
 */
void version_record(struct agent *a, const struct api_result *r, const struct kube_record *record);
void version_end(struct agent *a, const struct api_result *r);
/*
 * Handles the end of a request of any kind: the result may show whether the server serves the
 * version of that request.
 */
void version_heard(struct agent *a, const struct api_result *r);
/*
 * Returns the changes since the last call, as VERSION_… bits; call after version_end and
 * version_heard.
 */
unsigned version_changes(struct agent *a);

#endif
