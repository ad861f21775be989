/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version of resource.k8s.io that is spoken (version.c). Owns struct version. Internal to
 * src/agent.
 */
#ifndef AGENT_API_VERSION_H
#define AGENT_API_VERSION_H

#include "agent/api/client.h"

enum version_state {
    VERSION_UNKNOWN, /* the API group is to be asked first */
    VERSION_TRIED,   /* the API group told nothing: `now` is tried, the list of slices decides */
    VERSION_SETTLED, /* `now` is named by the API group, or slices were listed in it */
    VERSION_NONE     /* none of them is served: asked again when due */
};

/* What changed in the version, a set of bits: see version_changes. */
enum {
    VERSION_NAMED = 1,   /* it is settled for the first time, or is another one: worth a log line */
    VERSION_OTHER = 2,   /* another one is spoken, or tried: what is stored is looked at again */
    VERSION_UNSERVED = 4 /* none is served any more */
};

/* What is known of the versions that the API server serves. */
struct version {
    enum version_state state;
    enum api_version now;
    bool named;          /* VERSION_NAMED was reported of `now` */
    bool proven;         /* `now` was settled once, perhaps on an earlier connection */
    unsigned changes;    /* not taken yet */
    uint8_t served;      /* bit per version: by the answer under way */
    uint8_t refused;     /* bit per version: slices could not be listed in it */
    uint64_t due_ms;     /* when the API group is asked; UINT64_MAX: not planned */
    uint64_t backoff_ms; /* of VERSION_NONE */
};

/* A new connection, perhaps to another server; then the verbs of state.h. */
void version_connected(struct agent *a);
void version_step(struct agent *a);
uint64_t version_deadline(const struct agent *a);
/* The version that is spoken, or tried. */
enum api_version version_now(const struct agent *a);
/* Whether it is settled that this version is served. */
bool version_settled(const struct agent *a);
/* Whether requests may be made in the version that version_name returns. */
bool version_ready(const struct agent *a);
/*
 * Whether claims may be read in that version: also while the API group cannot be asked for long,
 * when it was settled before.
 */
bool version_readable(const struct agent *a);
/* "v1", "v1beta2", "v1beta1": the version that is spoken now. Never NULL. */
const char *version_name(const struct agent *a);
/* "resource.k8s.io/v1" and so on; never NULL. */
const char *version_group(enum api_version version);
/* Why a request that waits is not sent, in words; never NULL. */
const char *version_waits_for(const struct agent *a);
/* A record, and the end, of the answer about the API group. */
void version_record(struct agent *a, const struct api_result *r, const struct kube_record *record);
void version_end(struct agent *a, const struct api_result *r);
/* A request of any kind ended: what that shows of the version it was made in. */
void version_heard(struct agent *a, const struct api_result *r);
/* What changed since this was asked last; to be asked after each of the three above. */
unsigned version_changes(struct agent *a);

#endif
