/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device metadata files (KEP-5304): a file for each claim and request, from which a container reads
 * its devices and their attributes, without access to the API server. Owns the names and the bytes;
 * does no I/O.
 *
 * A file is two JSON documents with the same content, v1beta1 before v1alpha1 of
 * metadata.resource.k8s.io: a reader uses the first one that it knows. The bytes are those that
 * Go's encoder would write. A request is named without its subrequest, for which a record has no
 * room.
 *
 * Invariants:
 * I1 The same record and the same table give the same bytes.
 * I2 The path in a container is below METADATA_CONTAINER_DIR, whatever a claim's annotations
 *    contain.
 */
#ifndef DRA_METADATA_H
#define DRA_METADATA_H

#include "base/json.h"
#include "dra/claim.h"

/* Name of the metadata file of a request, whose first result is `at`: prefix, uid, "_", at. */
void metadata_file_name(enum driver_kind driver, const char *uid, unsigned at,
                        char out[CDI_FILE_NAME_CAP]);
/* Whether this is the name of a metadata file; if so, `uid` is the claim's. */
bool metadata_name_uid(enum driver_kind driver, const char *name, char uid[UID_CAP]);
/*
 * Path, inside a container, of the metadata file of the request whose first result is `at`; at most
 * METADATA_PATH_CAP bytes.
 */
void metadata_container_path(const struct claim_record *r, unsigned at, const char *driver,
                             struct writer *out);
/*
 * Takes an annotation of a claim. POD_CLAIM_ANNOTATION, the claim's name in the pod's
 * specification, sets `pod_claim`; other annotations and invalid names are ignored.
 */
void metadata_annotation(struct view key, struct view value, char pod_claim[NAMESPACE_CAP]);
/* Whether `devices` has all devices of the request whose first result is `at`. */
bool metadata_known(const struct claim_record *r, unsigned at, const struct devices *devices);

/* Progress of writing a file, part by part. */
struct metadata_parts {
    const struct claim_record *record; /* borrowed */
    const struct devices *devices;     /* borrowed */
    const char *driver;                /* name of the driver, borrowed */
    struct attributes *attributes;     /* room for one device's attributes, borrowed */
    unsigned first;                    /* index of the request's first result */
    /* result and version of the next part; `first` and 0 before the first part */
    unsigned next;
    unsigned version;
    struct json_writer json;
};
/*
 * Appends the next part, at most METADATA_PART_MAX bytes; `out` may differ from call to call.
 * false: the file was already complete, and nothing was appended.
 */
MUST_USE bool metadata_next(struct metadata_parts *m, struct writer *out);

#endif
