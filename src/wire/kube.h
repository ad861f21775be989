/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the Kubernetes API server and its responses, in protobuf encoding: request heads, the
 * k8s\0 envelope, watch framing, and projections of the objects that this program reads. Owns the
 * parsing state of one response; the agent decides what to request and how to react. Sources:
 * Kubernetes API concepts (protobuf encoding, watch), resource.k8s.io/v1 and meta/v1 field numbers
 * in proto/SOURCES.
 *
 * Invariants:
 * I1 Records and status of a response are the same for every split of its body.
 * I2 A record is one flat, well-formed message of at most KUBE_RECORD_BYTES_MAX. If the server
 *    sends the field types of its API, the record has those of proto/projection.proto.
 * I3 kube_response_next returns STATUS_MORE only after it has consumed all input.
 * I4 A failure is sticky, and so is the result of kube_response_end.
 * I5 `message` is one line of printable ASCII.
 * I6 A name in a path is one path segment or one query value, and percent-decodes to the name.
 * I7 A path is written completely or not at all.
 * I8 Envelopes and Events read back as the values that were given.
 * I9 A sent header list is one that RFC 9113 allows.
 */
#ifndef WIRE_KUBE_H
#define WIRE_KUBE_H

#include "base/bytes.h"
#include "cfg/limits.h"
#include "generated/kube_rules.h" /* record numbers, such as KUBE_TYPE_META */
#include "wire/h2.h"
#include "wire/http_status.h"
#include "wire/kube_filter.h"

/*
 * The expected content of a response, which chooses the rules. Status objects are understood in
 * every case; apiVersion distinguishes slices of v1, v1beta2 and v1beta1. The response to a watch
 * with an HTTP status other than 200 holds one object, without frames.
 */
enum kube_shape {
    KUBE_SHAPE_NODE,
    KUBE_SHAPE_CLAIM,
    KUBE_SHAPE_SLICE, /* response to POST and PUT */
    KUBE_SHAPE_SLICE_LIST,
    KUBE_SHAPE_SLICE_WATCH, /* framed watch events of slices */
    KUBE_SHAPE_NODE_WATCH,  /* framed watch events of Nodes */
    /*
     * response to a DELETE, to a POST or PATCH of an Event, or to a PATCH of a claim's status: a
     * Status, or the object; the content of an object is ignored
     */
    KUBE_SHAPE_STATUS,
    KUBE_SHAPE_GROUP,     /* an APIGroup: the versions in which the server has the group */
    KUBE_SHAPE_CLAIM_LIST /* one page of the claims of all namespaces */
};

/* The API group of claims and slices. */
#define KUBE_RESOURCE_GROUP "resource.k8s.io"
/* A GET of this path returns the APIGroup of KUBE_RESOURCE_GROUP. */
#define KUBE_RESOURCE_GROUP_PATH "/apis/" KUBE_RESOURCE_GROUP

/* Group and version of Events. */
#define KUBE_EVENTS_VERSION "events.k8s.io/v1"

/*
 * Rules for an object of `kind` and `api_version` in a response of `shape`. Both texts are empty
 * while the object's type is unknown. `framed`: the input is a WatchEvent around the object. All
 * tables have the same rows from the top message down to the object, so that a filter can switch
 * tables there.
 */
struct kube_rules kube_rules_of(enum kube_shape shape, bool framed, struct view kind,
                                struct view api_version);

/* The parsing state of one response. */
struct kube_response {
    enum kube_shape shape;
    /* status of the final response; 0: not received yet (interim 1xx ones are skipped) */
    uint16_t http_status;
    bool is_protobuf; /* from content-type */
    /*
     * Retry-After in seconds. 0: none, or a date, which is ignored. UINT32_MAX: this number of
     * seconds or more
     */
    uint32_t retry_after_s;
    /* first line of a body that is not protobuf, in printable ASCII, for the log */
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

/* Initializes *r for a response whose body has this shape. */
void kube_response_init(struct kube_response *r, enum kube_shape shape);
/* Adds a response header field (trailers are ignored). */
void kube_response_field(struct kube_response *r, struct view name, struct view value);
/*
 * Consumes body bytes from `in`:
 * - STATUS_OK: *record is the next record, valid until the next call.
 * - STATUS_MORE: the input is consumed.
 * - PEER_MALFORMED: wrong magic, malformed protobuf, a watch frame over KUBE_WATCH_FRAME_MAX, or a
 *   body that is not protobuf although the HTTP status is a success.
 * With another HTTP status, a body that is not protobuf is consumed to its end, and its start is
 * kept in `message`. The caller checks the object's kind by KUBE_TYPE_META; a `Status` object gives
 * KUBE_STATUS whatever the shape.
 */
MUST_USE enum status kube_response_next(struct kube_response *r, struct reader *in,
                                        struct kube_record *record);
/*
 * Ends a stream without error: checks that the body is complete. PEER_MALFORMED: it ends inside an
 * object or a watch frame.
 */
MUST_USE enum status kube_response_end(struct kube_response *r);

/* --- requests --- */

/* Types of bodies that are not protobuf. Server-side apply reads JSON as YAML. */
#define KUBE_MERGE_PATCH "application/merge-patch+json"
#define KUBE_APPLY_PATCH "application/apply-patch+yaml"

/* The head of one request; views and texts are borrowed until it is sent. */
struct kube_request {
    const char *method;    /* "GET", "POST", "PUT", "PATCH", "DELETE" */
    struct view path;      /* path and query */
    struct view authority; /* host:port as in the kubeconfig or service variables */
    struct view token;     /* bearer token, empty: none; sent as never-indexed field */
    bool watch;            /* ask for a framed response (Accept …;stream=watch) */
    uint64_t body_len;     /* content-length when has_body */
    bool has_body;
    const char *body_type; /* Content-Type, static; NULL: application/vnd.kubernetes.protobuf */
};

/*
 * Writes the request's header block on an open stream; without a body, ends the stream.
 * FULL_BUFFER: no room in the send buffer; nothing was sent.
 */
MUST_USE enum status kube_request_send(struct h2 *c, uint32_t stream, const struct kube_request *r);

/*
 * Writes the path of one node. FULL_BUFFER: no room in `out`, which is unchanged then. In all paths
 * names are percent-encoded as RFC 3986 requires; `version` is "v1", "v1beta2" or "v1beta1".
 */
MUST_USE enum status kube_path_node(struct writer *out, const char *node);
/*
 * Writes the path of a watch of one node from resource_version on. If that is "", the watch first
 * sends the current state. Fails like kube_path_node.
 */
MUST_USE enum status kube_path_node_watch(struct writer *out, const char *node,
                                          const char *resource_version);
/* Writes the path of one claim. Fails like kube_path_node. */
MUST_USE enum status kube_path_claim(struct writer *out, const char *version, const char *ns,
                                     const char *name);
/*
 * Writes the path of one page of the claims of all namespaces, CLAIM_LIST_PAGE claims long: the
 * first page if `continue_token` is NULL, else the page behind the one that gave the token. Fails
 * like kube_path_node.
 */
MUST_USE enum status kube_path_claims(struct writer *out, const char *version,
                                      const char *continue_token);
/* The field manager of a server-side apply; it is unique for each driver and node. */
struct kube_manager {
    const char *driver; /* shorter than DRIVER_CAP */
    const char *node;
};
/*
 * Writes the path of the status of one claim, for server-side apply by the driver on that node.
 * Fails like kube_path_node.
 */
MUST_USE enum status kube_path_claim_status(struct writer *out, const char *version, const char *ns,
                                            const char *name, const struct kube_manager *manager);
/*
 * Writes the path of one Event, or of all Events of a namespace when `name` is NULL. Fails like
 * kube_path_node.
 */
MUST_USE enum status kube_path_event(struct writer *out, const char *ns, const char *name);
/*
 * Writes a path for the slices of `driver` on `node`: of their list if resource_version is NULL,
 * otherwise of a watch that starts at resource_version. Fails like kube_path_node.
 */
MUST_USE enum status kube_path_slices(struct writer *out, const char *version, const char *driver,
                                      const char *node, const char *resource_version);
/* Writes the path of one slice, or of all slices when `name` is NULL. Fails like kube_path_node. */
MUST_USE enum status kube_path_slice(struct writer *out, const char *version, const char *name);

/*
 * Appends the head of an enveloped object, everything before the bytes of raw: k8s\0,
 * Unknown{typeMeta, raw of raw_len bytes}.
 */
void kube_envelope_head(struct writer *out, const char *api_version, const char *kind,
                        uint64_t raw_len);

/* An Event of events.k8s.io/v1; texts are borrowed, times are Unix milliseconds. */
struct kube_event {
    const char *name; /* at most NAME_CAP, as all names here */
    const char *ns;
    uint64_t first_wall_ms; /* eventTime */
    uint64_t last_wall_ms;  /* lastObservedTime of the series */
    uint32_t count;         /* number of occurrences; over 1: the Event has a series */
    const char
        *instance; /* reportingInstance, at most 128 bytes; reportingController is the driver */
    const char *action;
    const char *reason;
    const char *note; /* at most 1024 bytes */
    bool warning;
    const char *kind; /* the members from here on identify the object that the Event is about */
    const char *api_version;
    const char *regarding_ns; /* empty: a cluster-scoped object */
    const char *regarding_name;
    const char *regarding_uid;
};

/* Appends the object, without its envelope. */
void kube_event_write(struct writer *out, const struct kube_event *e);

#endif
