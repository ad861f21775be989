/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device metadata files (KEP-5304): a file for each claim and request, by which a container reads
 * the devices that it got and their attributes, without rights at the API server. Owns the names
 * and the bytes; does no I/O.
 *
 * A file is two JSON documents of the same content, v1beta1 before v1alpha1 of
 * metadata.resource.k8s.io: readers take the first one that they know. The bytes are those that
 * Go's encoder would write. The name of a request is without its subrequest, which no record has
 * room for.
 *
 * Invariants:
 * I1 The same record and the same table give the same bytes.
 * I2 The path in a container is below METADATA_CONTAINER_DIR, whatever a claim's annotations say.
 */
#ifndef DRA_METADATA_H
#define DRA_METADATA_H

#include "base/json.h"
#include "dra/claim.h"

/* How the names of the driver's files start; no reader of CDI files takes one for its own. */
const char *metadata_file_prefix(enum driver_kind driver);
/* Name of the file of the request of result `at`, which is its first: prefix, uid, "_", at. */
void metadata_file_name(enum driver_kind driver, const char *uid, unsigned at,
                        char out[CDI_FILE_NAME_CAP]);
/* Whether a file of this name is such a file; `uid` is the claim's then. */
bool metadata_name_uid(enum driver_kind driver, const char *name, char uid[UID_CAP]);
/* Where a container finds the file of that request; at most METADATA_PATH_CAP bytes. */
void metadata_container_path(const struct claim_record *r, unsigned at, const char *driver,
                             struct writer *out);
/*
 * An annotation of a claim: that which names the claim in its pod's specification fills
 * `pod_claim`. What cannot be such a name is ignored.
 */
void metadata_annotation(struct view key, struct view value, char pod_claim[NAMESPACE_CAP]);
/* Whether all devices of that request are in the table, so that their attributes are known. */
bool metadata_known(const struct claim_record *r, unsigned at, const struct devices *devices);

/* A file while it is written, part by part. */
struct metadata_parts {
    const struct claim_record *record; /* borrowed */
    const struct devices *devices;     /* borrowed */
    const char *driver;                /* name of the driver, borrowed */
    struct attributes *attributes;     /* room for those of one device, borrowed */
    unsigned first;                    /* the request's first result */
    unsigned next;                     /* `first`, and 0, before the first part */
    unsigned version;
    struct json_writer json;
};
/*
 * Appends the next part, at most METADATA_PART_MAX bytes; `out` may be another writer than before.
 * false: the file is complete, and nothing was appended.
 */
MUST_USE bool metadata_next(struct metadata_parts *m, struct writer *out);

#endif
