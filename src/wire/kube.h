/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the Kubernetes API server and its responses, in protobuf encoding: request heads, the
 * k8s\0 envelope, watch framing, and the projections of the objects that this program reads. Owns
 * the reading state of one response; which object is wanted, and what to do about it, is for the
 * agent to decide. Sources: Kubernetes API concepts (protobuf encoding, watch),
 * resource.k8s.io/v1 and meta/v1 field numbers in proto/SOURCES.
 *
 * Invariants:
 * I1 Records and status of a response are the same for every split of its body.
 * I2 A record is one flat message of at most KUBE_RECORD_BYTES_MAX, well-formed, with the field
 *    types of proto/projection.proto where the server's are those of its API.
 * I3 Input is taken to its end before more is asked for.
 * I4 A failure is sticky, and so is the status at the end.
 * I5 `message` is one line of printable ASCII.
 * I6 A name in a path is one segment or one value of the query; decoded it is the name.
 * I7 A path is written whole or not at all.
 * I8 Envelopes and Events read back as the values that were given.
 * I9 A header list that was sent is one that RFC 9113 allows.
 */
#ifndef WIRE_KUBE_H
#define WIRE_KUBE_H

#include "base/bytes.h"
#include "cfg/limits.h"
#include "generated/kube_rules.h" /* numbers of the records */
#include "wire/h2.h"
#include "wire/http_status.h"
#include "wire/kube_filter.h"

/*
 * What the response is expected to hold; chooses the rules. Status objects are understood in every
 * case; apiVersion distinguishes slices of v1, v1beta2 and v1beta1. The response to a watch with
 * another HTTP status than 200 holds one object, without frames.
 */
enum kube_shape {
    KUBE_SHAPE_NODE,
    KUBE_SHAPE_CLAIM,
    KUBE_SHAPE_SLICE, /* response to POST and PUT */
    KUBE_SHAPE_SLICE_LIST,
    KUBE_SHAPE_SLICE_WATCH, /* framed watch events of slices */
    KUBE_SHAPE_NODE_WATCH,  /* framed watch events of Nodes */
    /*
     * response to DELETE: Status or the object, whose content does not matter; also to POST and
     * PATCH of an Event and to PATCH of a claim's status
     */
    KUBE_SHAPE_STATUS,
    KUBE_SHAPE_GROUP,     /* an APIGroup: the versions it is served in */
    KUBE_SHAPE_CLAIM_LIST /* one page of the claims of all namespaces */
};

/* The API group of claims and slices; a GET of it answers with its APIGroup. */
#define KUBE_RESOURCE_GROUP "resource.k8s.io"
/* Path of that GET. */
#define KUBE_RESOURCE_GROUP_PATH "/apis/" KUBE_RESOURCE_GROUP

/* Group and version of Events. */
#define KUBE_EVENTS_VERSION "events.k8s.io/v1"

/*
 * Rules for an object of `kind` and `api_version` in a response of `shape`; both empty while they
 * are not known yet. `framed`: the input is a WatchEvent around the object. The rows down to the
 * object are the same in every table, so that a filter can be switched from one to the other there.
 */
struct kube_rules kube_rules_of(enum kube_shape shape, bool framed, struct view kind,
                                struct view api_version);

/* The reading state of one response. */
struct kube_response {
    enum kube_shape shape;
    /* of the final response; 0 while none came (interim 1xx ones are passed over) */
    uint16_t http_status;
    bool is_protobuf; /* from content-type */
    /* Retry-After in seconds, 0: none (a date is treated as none); UINT32_MAX: that, or more */
    uint32_t retry_after_s;
    /* first line of a body that is no protobuf, printable ASCII, for the log */
    char message[KUBE_MESSAGE_CAP];
    enum status failed;
    /* internal */
    uint8_t phase;
    uint8_t prefix_have;
    uint8_t prefix[4]; /* length of the next watch frame, big-endian */
    uint16_t message_len;
    bool message_ended;
    struct kube_filter filter;
};

/* Starts a response that is expected to hold `shape`. */
void kube_response_init(struct kube_response *r, enum kube_shape shape);
/* One response header field (trailers are ignored). */
void kube_response_field(struct kube_response *r, struct view name, struct view value);
/*
 * Takes body bytes from `in`: STATUS_OK with a record, STATUS_MORE when the input is used up,
 * PEER_MALFORMED when the body is not what its headers say (magic wrong, malformed protobuf, watch
 * frame over KUBE_WATCH_FRAME_MAX). Bodies that are no protobuf are taken to the end, their start
 * kept in `message`; PEER_MALFORMED after the first bytes when they are called a success. The
 * object's kind is checked by the caller against KUBE_TYPE_META; a `Status` object yields
 * KUBE_STATUS whatever the shape. The record is valid until the next call.
 */
MUST_USE enum status kube_response_next(struct kube_response *r, struct reader *in,
                                        struct kube_record *record);
/*
 * The stream ended well: checks that the body is complete. PEER_MALFORMED: it ends inside an object
 * or a watch frame.
 */
MUST_USE enum status kube_response_end(struct kube_response *r);

/* --- requests --- */

/* Types of bodies that are not protobuf. Server-side apply reads JSON as YAML. */
#define KUBE_MERGE_PATCH "application/merge-patch+json"
#define KUBE_APPLY_PATCH "application/apply-patch+yaml"

/* Head of one request; views and texts are borrowed until it is sent. */
struct kube_request {
    const char *method;    /* "GET", "POST", "PUT", "PATCH", "DELETE" */
    struct view path;      /* with query */
    struct view authority; /* host:port as in the kubeconfig or service variables */
    struct view token;     /* bearer token, empty: none; sent as never-indexed field */
    bool watch;            /* the response comes framed (Accept …;stream=watch) */
    uint64_t body_len;     /* content-length when has_body */
    bool has_body;
    const char *body_type; /* Content-Type, static; NULL: application/vnd.kubernetes.protobuf */
};

/*
 * Writes the request's header block on an open stream; ends the stream when there is no body.
 * FULL_BUFFER: no room in the send buffer, nothing was sent.
 */
MUST_USE enum status kube_request_send(struct h2 *c, uint32_t stream, const struct kube_request *r);

/*
 * Path of one node. FULL_BUFFER: longer than the room of `out`, which is unchanged then. In all
 * paths names are percent-encoded where RFC 3986 asks for it; `version` is "v1", "v1beta2" or
 * "v1beta1".
 */
MUST_USE enum status kube_path_node(struct writer *out, const char *node);
/*
 * Watch of one node from resource_version; when that is "", the current state comes first. Fails as
 * kube_path_node does.
 */
MUST_USE enum status kube_path_node_watch(struct writer *out, const char *node,
                                          const char *resource_version);
/* One claim. Fails as kube_path_node does. */
MUST_USE enum status kube_path_claim(struct writer *out, const char *version, const char *ns,
                                     const char *name);
/*
 * One page of the claims of all namespaces, CLAIM_LIST_PAGE of them: the first one, or with
 * `continue_token` not NULL the one that the token of the page before names. Fails as
 * kube_path_node does.
 */
MUST_USE enum status kube_path_claims(struct writer *out, const char *version,
                                      const char *continue_token);
/* Who applies; no two drivers and no two nodes are one field manager. */
struct kube_manager {
    const char *driver; /* shorter than DRIVER_CAP */
    const char *node;
};
/*
 * Status of one claim, for server-side apply by the driver on that node. Fails as kube_path_node
 * does.
 */
MUST_USE enum status kube_path_claim_status(struct writer *out, const char *version, const char *ns,
                                            const char *name, const struct kube_manager *manager);
/* One Event, or the Events of a namespace when `name` is NULL. Fails as kube_path_node does. */
MUST_USE enum status kube_path_event(struct writer *out, const char *ns, const char *name);
/*
 * List of the slices of `driver` on `node`; with resource_version not NULL, a watch from it. Fails
 * as kube_path_node does.
 */
MUST_USE enum status kube_path_slices(struct writer *out, const char *version, const char *driver,
                                      const char *node, const char *resource_version);
/* One slice, or the collection when `name` is NULL. Fails as kube_path_node does. */
MUST_USE enum status kube_path_slice(struct writer *out, const char *version, const char *name);

/*
 * Appends the head of an enveloped object: k8s\0, Unknown{typeMeta, raw of raw_len bytes}:
 * everything before the bytes of raw.
 */
void kube_envelope_head(struct writer *out, const char *api_version, const char *kind,
                        uint64_t raw_len);

/* An Event of events.k8s.io/v1; texts are borrowed, times are Unix milliseconds. */
struct kube_event {
    const char *name; /* at most NAME_CAP, as are all names here */
    const char *ns;
    uint64_t first_wall_ms; /* eventTime */
    uint64_t last_wall_ms;  /* of the series */
    uint32_t count;         /* over 1: a series */
    const char *instance;   /* reportingInstance, at most 128 bytes; the driver is controller */
    const char *action;
    const char *reason;
    const char *note; /* at most 1024 bytes */
    bool warning;
    const char *kind; /* what it regards */
    const char *api_version;
    const char *regarding_ns; /* empty: an object of the cluster */
    const char *regarding_name;
    const char *regarding_uid;
};

/* Appends the object, without its envelope. */
void kube_event_write(struct writer *out, const struct kube_event *e);

#endif
