/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of the stand-in API server: Nodes, ResourceClaims and ResourceSlices, kept as the
 * bytes of their v1 encoding, with the metadata that a server owns (uid, resourceVersion,
 * generation, creation time). Owns the table and the one counter of versions; knows nothing of
 * HTTP. Deleted objects stay as tombstones, so that a watch learns of them, until the room is
 * needed. Pure; random names and UIDs follow from the seed.
 */
#ifndef TESTS_SIM_SIM_STORE_H
#define TESTS_SIM_SIM_STORE_H

#include "tests/sim/sim_limits.h"
#include "tests/sim/sim_proto.h"

enum sim_kind { SIM_NODE, SIM_CLAIM, SIM_SLICE, SIM_KINDS };

/* API versions of resource.k8s.io; v1beta1 has another layout of a slice's devices. */
enum sim_version { SIM_V1, SIM_V1BETA2, SIM_V1BETA1, SIM_VERSIONS };

enum sim_object_state { SIM_FREE, SIM_LIVE, SIM_DELETED };

struct sim_object {
    enum sim_object_state state;
    enum sim_kind kind;
    char ns[NAMESPACE_CAP]; /* empty: cluster-scoped */
    char name[NAME_CAP];
    char generate_name[NAME_CAP];
    char uid[UID_CAP];
    uint64_t version; /* of the last change, deletion included */
    uint64_t created_version;
    uint64_t generation; /* bumped by changes of the body */
    uint64_t created_s;  /* Unix time */
    size_t meta_len;     /* labels, annotations, owners, finalizers, as fields */
    size_t body_len;     /* all fields but metadata, v1 layout */
    uint8_t meta[SIM_META_BYTES];
    uint8_t body[SIM_BODY_BYTES];
};

struct sim_store {
    uint64_t version;   /* of the last change */
    uint64_t forgotten; /* tombstones up to this version are gone: such watches expired */
    uint64_t random;
    unsigned top; /* entries from here on were never used, and hold nothing */
    struct sim_object object[SIM_OBJECTS_MAX];
};

/* What somebody wants stored: views into his message. */
struct sim_wanted {
    enum sim_kind kind;
    struct view ns;   /* of the path */
    struct view meta; /* ObjectMeta */
    struct view body; /* the other fields of the object, v1 layout */
    uint64_t now_s;
};

void sim_store_init(struct sim_store *s, uint64_t seed);
struct sim_object *sim_store_find(struct sim_store *s, enum sim_kind kind, struct view ns,
                                  struct view name);
/*
 * PEER_REFUSED: the name exists. PEER_MALFORMED: no name, or one that is too long. FULL_TABLE,
 * FULL_BUFFER: no room.
 */
MUST_USE enum status sim_store_create(struct sim_store *s, const struct sim_wanted *wanted,
                                      struct sim_object **out);
/*
 * PEER_PROTOCOL: uid or resourceVersion, where the metadata names them, are not the stored ones.
 * FULL_BUFFER: no room. A change that changes nothing keeps the version, as the real server does.
 */
MUST_USE enum status sim_store_update(struct sim_store *s, struct sim_object *o,
                                      const struct sim_wanted *wanted);
void sim_store_delete(struct sim_store *s, struct sim_object *o);
/* The object with the lowest version above `after` of that kind, tombstones included; or NULL. */
const struct sim_object *sim_store_after(const struct sim_store *s, enum sim_kind kind,
                                         uint64_t after);

/* Writes the object's metadata as a field 1. */
void sim_object_meta(const struct sim_object *o, struct writer *w);
/* Writes the whole object in the layout of a version, without envelope. */
void sim_object_write(const struct sim_object *o, enum sim_version version, struct writer *w);
/*
 * Rewrites the body of a slice from the layout of a version into that of v1, or the other way.
 * PEER_MALFORMED: it does not decode. FULL_BUFFER: no room.
 */
MUST_USE enum status sim_slice_to_v1(struct view body, enum sim_version from, struct writer *w);
MUST_USE enum status sim_slice_from_v1(struct view body, enum sim_version to, struct writer *w);
#define SIM_TAINTS "taints"     /* no attribute: the taints of the devices */
#define SIM_COUNTERS "counters" /* no attribute: shared counters, and what devices take of them */
#define SIM_SHARES "shares"     /* no attribute: that several claims may have a device */
#define SIM_RESOURCES "needs"   /* no attribute: what a pod needs of the node for a device */
/*
 * Writes the body of a slice (v1 layout) without the attributes of that key, or without SIM_TAINTS,
 * SIM_COUNTERS, SIM_SHARES or SIM_RESOURCES; NULL: no device.
 */
void sim_slice_without(struct view body, const char *key, struct writer *w);

#endif
