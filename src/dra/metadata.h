/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device metadata files (KEP-5304): a file for each claim and request, from which a container reads
 * its devices and their attributes, without access to the API server. Owns the names and the bytes;
 * does no I/O.
 *
 * A file consists of two JSON documents with the same content, for versions v1beta1 and v1alpha1 of
 * metadata.resource.k8s.io in this order; a reader uses the first document whose version it knows.
 * The bytes are the same as Go's encoder would write. The documents contain the name of a request
 * without its subrequest, because a claim record does not store subrequests.
 *
 * Invariants:
 * I1 The same record and the same table always lead to the same bytes.
 * I2 The path in a container is below METADATA_CONTAINER_DIR, whatever a claim's annotations
 *    contain.
 */
#ifndef DRA_METADATA_H
#define DRA_METADATA_H

#include "base/json.h"
#include "dra/claim.h"

/*
 * Name of the metadata file of one request of a claim: prefix, uid, "_", `at`. `at`: index of the
 * first result of the request.
 */
void metadata_file_name(enum driver_kind driver, const char *uid, unsigned at,
                        char out[CDI_FILE_NAME_CAP]);
/* Whether `name` is the name of a metadata file; if so, `uid` gets the claim's UID. */
bool metadata_name_uid(enum driver_kind driver, const char *name, char uid[UID_CAP]);
/*
 * Path, inside a container, of the metadata file of one request; at most METADATA_PATH_CAP bytes.
 * `at`: index of the first result of the request.
 */
void metadata_container_path(const struct claim_record *r, unsigned at, const char *driver,
                             struct writer *out);
/*
 * Handles one annotation of a claim. Copies the value of POD_CLAIM_ANNOTATION, the claim's name in
 * the pod's specification, to `pod_claim`; ignores other annotations and invalid names.
 */
void metadata_annotation(struct view key, struct view value, char pod_claim[NAMESPACE_CAP]);
/* Whether the table has all devices of the request whose first result has index `at`. */
bool metadata_known(const struct claim_record *r, unsigned at, const struct devices *devices);

/* Progress of writing a file, part by part. */
struct metadata_parts {
    const struct claim_record *record; /* the record of the claim; borrowed */
    const struct devices *devices;     /* the table of devices; borrowed */
    const char *driver;                /* name of the driver, borrowed */
    struct attributes *attributes;     /* buffer for one device's attributes, borrowed */
    unsigned first;                    /* index of the request's first result */
    unsigned next;                     /* index of the next result; initially `first` */
    unsigned version;                  /* index of the current document; 0: v1beta1, 1: v1alpha1 */
    struct json_writer json;
};
/*
 * Appends the next part of the file, at most METADATA_PART_MAX bytes; each call may pass another
 * `out`. Returns false and appends nothing if the file was already complete.
 */
MUST_USE bool metadata_next(struct metadata_parts *m, struct writer *out);

#endif
