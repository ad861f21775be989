/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the Kubernetes API server and its responses, in protobuf encoding: request heads, the
 * k8s\0 envelope, watch framing, and projections of the objects that this program reads. Owns the
 * parsing state of one response; the agent decides what to request and how to react. Sources:
 * Kubernetes API concepts (protobuf encoding, watch); the field numbers of resource.k8s.io/v1 and
 * meta/v1 in proto/SOURCES.
 *
 * Invariants:
 * I1 The records and the status of a response do not depend on how its body is split into reads.
 * I2 A record is one flat, well-formed message of at most KUBE_RECORD_BYTES_MAX. If the server
 *    sends its fields with the types that its API defines, the fields of the record have the types
 *    of proto/projection.proto.
 * I3 kube_response_next returns STATUS_MORE only after it has consumed all input.
 * I4 A failure is sticky, including a failure that kube_response_end finds.
 * I5 `message` is one line of printable ASCII.
 * I6 A name in a path is one path segment or one query value; percent-decoding restores the name.
 * I7 A path is written completely or not at all.
 * I8 A parser of a written envelope or Event gets the values that the caller passed.
 * I9 RFC 9113 allows every header list that is sent.
 */
#ifndef WIRE_KUBE_H
#define WIRE_KUBE_H

#include "base/bytes.h"
#include "cfg/limits.h"
#include "generated/kube_rules.h" /* defines the record numbers, such as KUBE_TYPE_META */
#include "wire/h2.h"
#include "wire/http_status.h"
#include "wire/kube_filter.h"

/*
 * The expected content of a response, which selects the rules of the filter. Every shape also
 * accepts a Status object; apiVersion distinguishes slices of v1, v1beta2 and v1beta1. A response
 * to a watch with an HTTP status other than 200 holds one object, without frames.
 */
enum kube_shape {
    KUBE_SHAPE_NODE,
    KUBE_SHAPE_CLAIM,
    KUBE_SHAPE_SLICE, /* one ResourceSlice: the response to its POST or PUT */
    KUBE_SHAPE_SLICE_LIST,
    KUBE_SHAPE_SLICE_WATCH, /* framed watch events of slices */
    KUBE_SHAPE_NODE_WATCH,  /* framed watch events of Nodes */
    /*
     * response to a DELETE, to a POST or PATCH of an Event, or to a PATCH of a claim's status: a
     * Status, or the object; the content of an object is ignored
     */
    KUBE_SHAPE_STATUS,
    KUBE_SHAPE_GROUP,     /* an APIGroup: which versions of an API group the server serves */
    KUBE_SHAPE_CLAIM_LIST /* one page of the claims of all namespaces */
};

/* The API group of claims and slices. */
#define KUBE_RESOURCE_GROUP "resource.k8s.io"
/* A GET of this path returns the APIGroup of KUBE_RESOURCE_GROUP. */
#define KUBE_RESOURCE_GROUP_PATH "/apis/" KUBE_RESOURCE_GROUP

/* Group and version of Events. */
#define KUBE_EVENTS_VERSION "events.k8s.io/v1"

/*
 * Returns the rules for an object of `kind` and `api_version` in a response of `shape`. Both texts
 * are empty while the object's type is unknown. `framed`: the input is a WatchEvent that contains
 * the object. All tables of rules that one response may need have the same rows from the top
 * message down to the object, so that kube_filter_switch can change the table once the type is
 * known.
 */
struct kube_rules kube_rules_of(enum kube_shape shape, bool framed, struct view kind,
                                struct view api_version);

/* The parsing state of one response. */
struct kube_response {
    enum kube_shape shape;
    /* HTTP status of the final response; 0: not received yet (1xx responses are ignored) */
    uint16_t http_status;
    bool is_protobuf; /* the content-type is that of protobuf */
    /*
     * Retry-After in seconds. 0: the field is absent, or holds a date, which is ignored.
     * UINT32_MAX: this number of seconds or more
     */
    uint32_t retry_after_s;
    /* first line of a body that is not protobuf, in printable ASCII, for the log */
    char message[KUBE_MESSAGE_CAP];
    enum status failed;
    /* this and all later members are internal */
    uint8_t phase;
    uint8_t prefix_have;
    uint8_t prefix[4]; /* length of the next watch frame, big-endian */
    uint16_t message_len;
    bool message_ended;
    struct kube_filter filter;
};

/* Initializes *r for a response whose body has the given shape. */
void kube_response_init(struct kube_response *r, enum kube_shape shape);
/* Adds a response header field (trailers are ignored). */
void kube_response_field(struct kube_response *r, struct view name, struct view value);
/*
 * Consumes body bytes from `in`:
 * - STATUS_OK: *record is the next record, valid until the next call.
 * - STATUS_MORE: the input is consumed.
 * - PEER_MALFORMED: wrong magic, malformed protobuf, a watch frame over KUBE_WATCH_FRAME_MAX, or a
 *   body that is not protobuf although the HTTP status is a success.
 * If the HTTP status is not a success, a body that is not protobuf is consumed to its end, and its
 * first line is kept in `message`. The caller checks the object's kind in the KUBE_TYPE_META
 * record; a `Status` object produces a KUBE_STATUS record for every shape.
 */
MUST_USE enum status kube_response_next(struct kube_response *r, struct reader *in,
                                        struct kube_record *record);
/*
 * Checks, when the stream has ended without an error, that the body is complete. PEER_MALFORMED:
 * the body ends inside an object or a watch frame, or a response with a success status has no
 * protobuf body.
 */
MUST_USE enum status kube_response_end(struct kube_response *r);

/* --- writing requests --- */

/*
 * Content types of request bodies that are not protobuf. KUBE_APPLY_PATCH, for server-side apply,
 * names YAML: the JSON that we send is valid YAML.
 */
#define KUBE_MERGE_PATCH "application/merge-patch+json"
#define KUBE_APPLY_PATCH "application/apply-patch+yaml"

/* The head of one request; views and texts are borrowed until the request is sent. */
struct kube_request {
    const char *method; /* "GET", "POST", "PUT", "PATCH", "DELETE" */
    struct view path;   /* path and query */
    /* host:port of the API server, from the kubeconfig or from KUBERNETES_SERVICE_HOST and _PORT */
    struct view authority;
    struct view token; /* bearer token, empty: none; sent as never-indexed field */
    bool watch;        /* ask for a response in watch frames (Accept …;stream=watch) */
    uint64_t body_len; /* content-length; valid if has_body */
    bool has_body;
    const char *body_type; /* Content-Type, static; NULL: application/vnd.kubernetes.protobuf */
};

/*
 * Writes the request's header block on an open stream; without a body, ends the stream.
 * FULL_BUFFER: no room in the send buffer; nothing was sent.
 */
MUST_USE enum status kube_request_send(struct h2 *c, uint32_t stream, const struct kube_request *r);

/*
 * Writes the path of one node. FULL_BUFFER: no room in `out`, which stays unchanged. All path
 * functions percent-encode names as RFC 3986 requires; their `version` is "v1", "v1beta2" or
 * "v1beta1".
 */
MUST_USE enum status kube_path_node(struct writer *out, const char *node);
/*
 * Writes the path of a watch of one node that starts at resource_version. If resource_version is
 * "", the server first sends the current state. FULL_BUFFER: no room in `out`, which stays
 * unchanged.
 */
MUST_USE enum status kube_path_node_watch(struct writer *out, const char *node,
                                          const char *resource_version);
/* Writes the path of one claim. FULL_BUFFER: no room in `out`, which stays unchanged. */
MUST_USE enum status kube_path_claim(struct writer *out, const char *version, const char *ns,
                                     const char *name);
/*
 * Writes the path of one page of the list of claims in all namespaces; a page has at most
 * CLAIM_LIST_PAGE claims. If `continue_token` is NULL, the path is that of the first page,
 * otherwise that of the page after the one that returned the token. FULL_BUFFER: no room in `out`,
 * which stays unchanged.
 */
MUST_USE enum status kube_path_claims(struct writer *out, const char *version,
                                      const char *continue_token);
/* The field manager of a server-side apply; it is unique for each driver and node. */
struct kube_manager {
    const char *driver; /* name of the driver, shorter than DRIVER_CAP */
    const char *node;
};
/*
 * Writes the path of the status of one claim, for server-side apply by manager->driver on
 * manager->node. FULL_BUFFER: no room in `out`, which stays unchanged.
 */
MUST_USE enum status kube_path_claim_status(struct writer *out, const char *version, const char *ns,
                                            const char *name, const struct kube_manager *manager);
/*
 * Writes the path of one Event, or of all Events of a namespace when `name` is NULL. FULL_BUFFER:
 * no room in `out`, which stays unchanged.
 */
MUST_USE enum status kube_path_event(struct writer *out, const char *ns, const char *name);
/*
 * Writes the path of the list of the slices of `driver` on `node` or, if resource_version is not
 * NULL, of a watch of these slices that starts at resource_version. FULL_BUFFER: no room in `out`,
 * which stays unchanged.
 */
MUST_USE enum status kube_path_slices(struct writer *out, const char *version, const char *driver,
                                      const char *node, const char *resource_version);
/*
 * Writes the path of one slice, or of all slices when `name` is NULL. FULL_BUFFER: no room in
 * `out`, which stays unchanged.
 */
MUST_USE enum status kube_path_slice(struct writer *out, const char *version, const char *name);

/*
 * Appends the head of an enveloped object, Unknown{typeMeta, raw}: the magic k8s\0 and everything
 * before the `raw_len` bytes of raw, which the caller appends.
 */
void kube_envelope_head(struct writer *out, const char *api_version, const char *kind,
                        uint64_t raw_len);

/* An Event of events.k8s.io/v1; texts are borrowed, times are Unix milliseconds. */
struct kube_event {
    const char *name; /* name of the Event; all names in this struct are shorter than NAME_CAP */
    const char *ns;
    uint64_t first_wall_ms; /* eventTime of the Event */
    uint64_t last_wall_ms;  /* lastObservedTime of the Event's series */
    uint32_t count;         /* number of occurrences; over 1: the Event has a series */
    /* reportingInstance, at most 128 bytes; reportingController is DRIVER_NAME */
    const char *instance;
    const char *action;
    const char *reason;
    const char *note; /* text of the Event, at most 1024 bytes */
    bool warning;
    const char *kind; /* the members from here on identify the object that the Event is about */
    const char *api_version;
    const char *regarding_ns; /* namespace of the object; empty: the object is cluster-scoped */
    const char *regarding_name;
    const char *regarding_uid;
};

/* Appends the Event, without its envelope. */
void kube_event_write(struct writer *out, const struct kube_event *e);

#endif
