/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client of the API server (client.c): it decides when requests may start, keeps the running
 * requests, and judges their responses. Owns struct api_client; the connection below it belongs to
 * connection.h. All of src/agent reaches the API server through these functions. The client logs
 * nothing: an event of api_next or the result of a request says what to log.
 *
 * Life of a request: its owner calls api_start on its own slot. api_next returns the records of the
 * response and then its end; agent.c passes each of them to the owner of the request's kind. After
 * the end, the slot is free again.
 */
#ifndef AGENT_API_CLIENT_H
#define AGENT_API_CLIENT_H

#include "agent/agent.h"
#include "wire/http_status.h"
#include "wire/kube.h"

/* Versions of resource.k8s.io, in order of preference. */
enum api_version { API_V1, API_V1BETA2, API_V1BETA1, API_VERSIONS };

/* The purpose of a request, given by its verb and object. */
enum api_kind {
    API_NONE,
    API_GET_CLAIM,
    API_GET_GROUP, /* GET of the versions of resource.k8s.io that the server serves */
    API_GET_NODE,
    API_LIST_SLICES,
    API_WRITE_SLICE, /* POST or PUT of a ResourceSlice */
    API_DELETE_SLICE,
    API_WATCH_SLICES,
    API_WATCH_NODE,
    API_WRITE_EVENT, /* POST or PATCH of a Kubernetes Event */
    API_APPLY_CLAIM_STATUS,
    API_LOOK_CLAIM, /* GET of a held claim, to find out whether the claim still exists */
    API_LIST_CLAIMS /* GET of one page of ResourceClaims */
};
/* Number of kinds of requests, API_NONE included. */
#define API_KINDS ((unsigned)API_LIST_CLAIMS + 1u)

/*
 * The slots for the requests of one driver. Each file that sends requests has slots of its own; a
 * slot holds one request at a time.
 */
enum {
    /* first of the slots of claim GETs: fetch i has the slot API_SLOT_CLAIM_FIRST + i */
    API_SLOT_CLAIM_FIRST,
    API_SLOT_SLICES = FETCHES_MAX,
    API_SLOT_SLICE_WATCH,
    API_SLOT_NODE,
    API_SLOT_K8S_EVENT,
    API_SLOT_CLAIM_STATUS,
    API_SLOT_LOOK,
    API_SLOT_GROUP,
    API_SLOTS /* number of slots of one driver */
};
/*
 * Number of slots of all drivers together. A place is the index of one of these slots; the value
 * API_PLACES means no slot.
 */
#define API_PLACES ((unsigned)API_SLOTS * DRIVERS)

/*
 * Returns bytes of a request's body, from `offset` on: at least one byte, at most `room` bytes,
 * valid until the next call. Returns nothing if the body has changed since the request started; the
 * request then ends with FULL_BUFFER.
 */
typedef struct view (*api_body_part)(struct agent *a, uint32_t offset, size_t room);

/* A request, filled in by its owner; borrowed until api_start returns. */
struct api_request {
    enum api_kind kind;
    enum kube_shape shape;    /* which content the response is expected to have */
    enum api_version version; /* version of resource.k8s.io, if the path contains one */
    /*
     * time limit for the complete response, if shorter than the limit of the kind; 0: the kind's
     * limit
     */
    uint64_t limit_ms;
    /* head of the request; the client sets token, authority and has_body */
    struct kube_request head;
    /* function that returns the head.body_len bytes of the body; NULL: the request has no body */
    api_body_part body;
};

/* The result of a request; while the request runs, the part of the response that has arrived. */
struct api_result {
    enum api_kind kind;
    struct agent *owner; /* the driver that sent the request */
    unsigned slot;
    enum api_version version; /* version of resource.k8s.io in the request */
    /*
     * STATUS_OK: the server reported success and the response is complete. PEER_NOT_FOUND: the
     * object does not exist. PEER_UNSUPPORTED: the server does not know the path. PEER_REFUSED: the
     * server answered with any other HTTP status. PEER_CLOSED: the connection or the stream ended
     * early. PEER_TIMEOUT: no complete response arrived in time. PEER_MALFORMED: the response is
     * invalid. FULL_TABLE: too few streams for a watch. FULL_BUFFER: the body changed while it was
     * being sent. STATUS_MORE: the request is still running.
     */
    enum status status;
    uint16_t http;    /* HTTP status code of the response; 0: no response */
    bool unprocessed; /* the server did not process the request (REFUSED_STREAM): safe to repeat */
    /* the response is a 403, but perhaps only because the server has not read its roles yet */
    bool roles_unread;
    /* the response is a 403, but perhaps only because the roles are created with the agent */
    bool roles_new;
    /* wait in the header Retry-After of the response, in seconds; 0: none */
    uint32_t retry_after_s;
    bool creates;        /* the request was a POST */
    uint64_t elapsed_ms; /* time from sending the request to the step that handles its end */
    uint64_t elapsed_us; /* time since the request was sent, by agent_clock_us */
    char reason[64];     /* reason in the Status of the response; "": there is none */
    /*
     * message in the Status of the response or, if the body is no Status, the first line of the
     * body
     */
    char message[KUBE_MESSAGE_CAP];
    /* path of the request without its query, if --log-level=debug, else "" */
    char path[API_PATH_LOGGED_CAP];
};

/* Progress of a request. */
enum exchange_state {
    EXCHANGE_FREE,
    EXCHANGE_OPEN,
    /* the response was 401: the request ends after the host has read the token again */
    EXCHANGE_UNAUTHORIZED,
    EXCHANGE_OVER, /* the request has ended; api_next has not reported the end yet */
    EXCHANGE_ENDED /* the end was reported; the next api_next or api_start frees the slot */
};

/*
 * A request and its response. In other comments, the place of a request is the index of this struct
 * in api_client.exchange.
 */
struct api_exchange {
    enum exchange_state state;
    uint32_t stream;
    uint32_t token_sum; /* checksum of the token that was sent with the request */
    uint32_t body_len;
    uint32_t body_sent;
    api_body_part body;
    uint64_t sent_ms;
    uint64_t sent_us;
    uint64_t deadline_ms;
    struct api_result result;
    struct kube_response response;
};

/* The piece of a response whose records are being read. */
struct api_piece {
    /* place of the request to which the piece belongs; API_PLACES: there is no piece */
    unsigned place;
    uint32_t stream;
    bool last; /* the piece is the last one of its response */
    /* bytes of the piece that are not read yet; valid until the next h2_next */
    struct reader bytes;
};

/* Whether the server allows enough streams for the watches of the agent. */
enum api_streams {
    API_STREAMS_ENOUGH,
    API_STREAMS_LIMITED, /* the server allows too few streams, and this was not reported yet */
    API_STREAMS_LIMITED_REPORTED
};

/* The requests to the API server, and the limits for starting the next one. */
struct api_client {
    bool busy;      /* api_next has, or may have, more to report */
    bool held_back; /* a request waits until the rate limit and the pauses allow it */
    /* the time is outdated (agent_time_old): no request and no connection may start */
    bool time_old;
    bool token_handed; /* the host has read the token again since the last 401 */
    enum api_streams streams;
    unsigned timeouts_in_a_row; /* number of timeouts since the server last began a response */
    uint64_t timeout_ms;        /* when a request was last counted as timed out */
    /* time since which no stream can be opened; 0: the last request got a stream */
    uint64_t blocked_ms;
    unsigned rate_at; /* index of the oldest time in `rate_ms` */
    /* element for each of the last requests: the start of the request plus one second */
    uint64_t rate_ms[API_REQUESTS_PER_SECOND];
    uint64_t retry_after_ms; /* end of the pause that the server asked for by Retry-After */
    uint64_t refused_ms;     /* a refused token is not used before this time */
    /* when to read the file of a refused token again; 0: the token was not refused */
    uint64_t reread_ms;
    /* bit for each api_kind: the last request of this kind was refused with 403 */
    uint32_t forbidden;
    /* bit for each api_kind: the server has allowed a request of this kind on this connection */
    uint32_t allowed;
    /* bit for each api_kind: as `allowed`, but on an earlier connection, and not refused since */
    uint32_t allowed_before;
    struct api_piece piece;
    struct api_exchange exchange[API_PLACES];
};

/* The kinds of reports of api_next. */
enum api_event_kind {
    API_EVENT_NONE,   /* api_next did some work, which needs no report */
    API_EVENT_OPENED, /* there is a new connection, perhaps to another server */
    API_EVENT_RECORD, /* a record of a response has arrived */
    API_EVENT_END,    /* a request has ended */
    /*
     * the connection is lost for the reason in `text`; API_EVENT_END for each request and then
     * API_EVENT_CLOSED follow
     */
    API_EVENT_LOST,
    API_EVENT_MOVED,          /* like API_EVENT_LOST, but the server asked for a new connection */
    API_EVENT_CLOSED,         /* the connection is closed, and every request has ended */
    API_EVENT_STREAMS_LIMITED /* the server allows too few streams for watches */
};

/* A report of api_next; data to which it points is valid until the next api_next. */
struct api_event {
    enum api_event_kind kind;
    const char *text; /* the reason, if the kind is API_EVENT_LOST or API_EVENT_MOVED; else NULL */
    /* the result of the request, so far (RECORD) or complete (END); else NULL */
    const struct api_result *result;
    struct kube_record record; /* the record of a response, if the kind is API_EVENT_RECORD */
};

/*
 * The init, step and deadline functions of the client, see frame.h; call api_next before api_step.
 */
void api_init(struct agent *a);
void api_step(struct agent *a);
uint64_t api_deadline(const struct agent *a);
/*
 * Does one piece of work: handles an event of the connection, a record of a response, or the end of
 * a request. false: no work is left until bytes arrive or time passes. While work is left,
 * api_deadline returns now_ms.
 */
bool api_next(struct agent *a, struct api_event *event);

/* The host reports events of the connection by these functions; agent.h describes each one. */
void api_identity(struct agent *a, struct view token, struct view authority);
void api_opened(struct agent *a, uint64_t now_ms);
void api_failed(struct agent *a, const char *why);
void api_ended(struct agent *a, const char *why);
/*
 * Access to the connection's receive and send buffers, see agent_link_rx and agent_link_tx in
 * agent.h.
 */
struct writer api_rx(struct agent *a);
void api_rx_commit(struct agent *a, size_t n);
struct view api_tx(struct agent *a);
void api_tx_commit(struct agent *a, size_t n);
/* Removes and returns the next order for the host; ORDER_NONE: there is none. */
enum agent_order api_order(struct agent *a);
/* Sets whether the time of the last agent_time is outdated; while it is, no request may start. */
void api_time_old(struct agent *a, bool old);
/* Connects as early as the doubled waits allow, because a call needs the connection. */
void api_hurry(struct agent *a);

/* --- state of the connection to the API server --- */

/*
 * The reason why a connection is lost (API_EVENT_LOST) when the server refuses the token with 401,
 * and the remedy. Missing roles are never the cause of a 401, unlike of a 403.
 */
#define API_TOKEN_REFUSED                                                                          \
    "the API server answered 401 Unauthorized, and there is no other token yet"
#define API_TOKEN_REMEDY                                                                           \
    "delete the agent's pod to get a new token; outside a pod, renew the token of its kubeconfig"
/*
 * Whether the last request of this kind was refused with 403 Forbidden. A 403 with `roles_unread`
 * does not count.
 */
bool api_forbidden(const struct agent *a, enum api_kind kind);
/* Whether all requests but claim GETs pause, because the server refused the token. */
bool api_token_refused(const struct agent *a);
/* Whether requests can start now. */
bool api_ready(const struct agent *a);
/* Whether there is a connection that accepts requests. */
bool api_connected(const struct agent *a);
/* Whether a connection is being opened, or the first attempt to connect is still to come. */
bool api_pending(const struct agent *a);
/*
 * When the last connection was opened; from then on the server could answer requests. UINT64_MAX:
 * no connection was opened yet, and an attempt is running or still to come; 0: no connection was
 * opened yet, and the last attempt failed.
 */
uint64_t api_since_ms(const struct agent *a);
/* Whether the server sent GOAWAY: running requests may finish, new ones do not start. */
bool api_draining(const struct agent *a);
/* Whether the connection is down, draining or failed: owners then repeat unanswered requests. */
bool api_connection_ends(const struct agent *a);
/*
 * Whether the last connection ended because the server asked for another one: planned work
 * continues on the new connection.
 */
bool api_connection_moved(const struct agent *a);
/* Whether the server allows too few streams for the watches of the agent on this connection. */
bool api_streams_limited(const struct agent *a);
/*
 * api_authority returns the host and port of the server; api_trouble, why there is no connection.
 * Never NULL.
 */
const char *api_authority(const struct agent *a);
const char *api_trouble(const struct agent *a);
/* Milliseconds until the next connection attempt. */
uint64_t api_reconnect_wait_ms(const struct agent *a);

/* --- starting and ending requests --- */

/*
 * Starts a request in a free slot. STATUS_MORE: the request cannot start now (no connection, no
 * stream, no space in the send buffer, rate limit, or pause). After STATUS_OK the client sends the
 * body as buffer space becomes free, even while the connection drains, and api_next reports the
 * records of the response and the end of the request. A watch that would leave too few streams for
 * other requests ends unsent with FULL_TABLE.
 */
MUST_USE enum status api_start(struct agent *a, unsigned slot, const struct api_request *r);
/* Ends a request without waiting for its response; api_next does not report the end. */
void api_cancel(struct agent *a, unsigned slot);
/* The kind of the request in this slot; API_NONE: the slot is free. */
enum api_kind api_slot_kind(const struct agent *a, unsigned slot);
/* Whether a request is running in the slot. */
bool api_slot_busy(const struct agent *a, unsigned slot);
/* The result of the request in this slot, as far as the response has arrived. Never NULL. */
const struct api_result *api_slot_result(struct agent *a, unsigned slot);
/*
 * Earliest time to retry a request that api_start did not accept. Only a sender that has its own
 * timer needs this time; for all other senders, api_deadline returns it.
 */
uint64_t api_later(const struct agent *a);
/*
 * Whether requests other than claim GETs pause, because the server asked for a pause or refused the
 * token.
 */
bool api_paused(const struct agent *a);
/*
 * The wait in the Retry-After of the response, in milliseconds; 0: the response has none. For a
 * wait above API_RETRY_AFTER_MAX_MS, API_REFUSED_MS is returned instead.
 */
uint64_t api_retry_after_ms(const struct api_result *r);

#endif
