/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client of the API server (client.c): what may be asked when, the requests under way, and what
 * their responses mean. Owns struct api_client; the connection below it is connection.h's. All of
 * src/agent speaks to the API server through these verbs. Logs nothing: what is worth a line is an
 * event of api_next or stands in the result of a request.
 *
 * One request: its owner calls api_start on its own slot. Records of the response and the end come
 * out of api_next, and agent.c hands each to the owner of its kind. The slot is free again at the
 * end.
 */
#ifndef AGENT_API_CLIENT_H
#define AGENT_API_CLIENT_H

#include "agent/agent.h"
#include "wire/http_status.h"
#include "wire/kube.h"

/* Versions of resource.k8s.io in order of preference. */
enum api_version { API_V1, API_V1BETA2, API_V1BETA1, API_VERSIONS };

/* What a request is for: verb and object. */
enum api_kind {
    API_NONE,
    API_GET_CLAIM,
    API_GET_GROUP, /* which versions of resource.k8s.io are served */
    API_GET_NODE,
    API_LIST_SLICES,
    API_WRITE_SLICE, /* POST or PUT */
    API_DELETE_SLICE,
    API_WATCH_SLICES,
    API_WATCH_NODE,
    API_WRITE_EVENT, /* POST or PATCH of a Kubernetes Event */
    API_APPLY_CLAIM_STATUS,
    API_LOOK_CLAIM, /* GET of a held claim: whether it still is */
    API_LIST_CLAIMS /* one page */
};
/* Number of kinds, API_NONE included. */
#define API_KINDS ((unsigned)API_LIST_CLAIMS + 1u)

/* Places for requests of one driver: each owner has its own, and one request at a time in it. */
enum {
    API_SLOT_CLAIM_FIRST, /* the slot of fetch i is API_SLOT_CLAIM_FIRST + i */
    API_SLOT_SLICES = FETCHES_MAX,
    API_SLOT_SLICE_WATCH,
    API_SLOT_NODE,
    API_SLOT_K8S_EVENT,
    API_SLOT_CLAIM_STATUS,
    API_SLOT_LOOK,
    API_SLOT_GROUP,
    API_SLOTS /* number of slots */
};
/* The places of all drivers; as a place: none. */
#define API_PLACES ((unsigned)API_SLOTS * DRIVERS)

/*
 * Bytes of a request's body from `offset` on: at least one, at most `room`, valid until the next
 * call. Empty: the body is not the one that was started any more, and the request ends with
 * FULL_BUFFER.
 */
typedef struct view (*api_body_part)(struct agent *a, uint32_t offset, size_t room);

/* A request as its owner fills it in; borrowed until api_start returns. */
struct api_request {
    enum api_kind kind;
    enum kube_shape shape;    /* of the response */
    enum api_version version; /* of resource.k8s.io, where the path names one */
    uint64_t limit_ms;        /* time for the whole answer where the kind's is longer; 0: that */
    struct kube_request head; /* token, authority and has_body are filled in */
    api_body_part body;       /* of head.body_len bytes; NULL: no body */
};

/* The result of a request; while it runs, what has arrived so far. */
struct api_result {
    enum api_kind kind;
    struct agent *owner; /* the driver's that asked */
    unsigned slot;
    enum api_version version; /* as in the request */
    /*
     * STATUS_OK: a success, answered whole. PEER_NOT_FOUND: there is no such object.
     * PEER_UNSUPPORTED: the path is not known. PEER_REFUSED: any other HTTP status. PEER_CLOSED:
     * connection or stream ended before. PEER_TIMEOUT. PEER_MALFORMED. FULL_TABLE: a watch for
     * which there is no room. FULL_BUFFER: see api_body_part. STATUS_MORE while it runs.
     */
    enum status status;
    uint16_t http;          /* status code; 0: none came */
    bool unprocessed;       /* the server did not look at it (REFUSED_STREAM): safe to repeat */
    uint32_t retry_after_s; /* of Retry-After; 0: none */
    uint64_t elapsed_ms;    /* since it was sent */
    char reason[64];        /* of the Status that answered it; "": none */
    char message[KUBE_MESSAGE_CAP]; /* its message, or the first line of another body */
};

/* A request under way. */
enum exchange_state {
    EXCHANGE_FREE,
    EXCHANGE_OPEN,
    EXCHANGE_UNAUTHORIZED, /* answered by 401: ends as soon as the token was read again */
    EXCHANGE_OVER,         /* api_next reports its end next */
    EXCHANGE_ENDED         /* its end was reported; free at the next api_next or api_start */
};

/* One place: a request and its response. */
struct api_exchange {
    enum exchange_state state;
    uint32_t stream;
    uint32_t token_sum; /* of the token that it was sent with */
    uint32_t body_len;
    uint32_t body_sent;
    api_body_part body;
    uint64_t sent_ms;
    uint64_t deadline_ms;
    struct api_result result;
    struct kube_response response;
};

/* The piece of a response that records are being read from. */
struct api_piece {
    unsigned place; /* API_PLACES: there is no piece */
    uint32_t stream;
    bool last;           /* nothing follows on its stream */
    struct reader bytes; /* valid until the next h2_next */
};

/* Whether the server allows streams enough for the watches. */
enum api_streams {
    API_STREAMS_ENOUGH,
    API_STREAMS_LIMITED, /* not reported yet */
    API_STREAMS_LIMITED_REPORTED
};

/* Requests, and when the next one may start. */
struct api_client {
    bool busy;         /* api_next has, or may have, more to report */
    bool held_back;    /* a request of our own was: it goes at the times below */
    bool time_old;     /* see agent_time_old: neither request nor connection starts */
    bool token_handed; /* the host handed the token in since a 401 asked for it */
    enum api_streams streams;
    unsigned timeouts_in_a_row; /* requests that had no response in time, one after the other */
    uint64_t timeout_ms;        /* when the last of them ended */
    uint64_t blocked_ms;        /* since when no request could start; 0: the last one did */
    unsigned rate_at;           /* the oldest of `rate_ms` */
    uint64_t rate_ms[API_REQUESTS_PER_SECOND]; /* a second after each of the last requests */
    uint64_t retry_after_ms;                   /* when the pause of Retry-After ends */
    uint64_t refused_ms;                       /* no earlier is a refused token shown again */
    uint64_t reread_ms; /* when the file of a refused token is read next; 0: not waited for */
    uint32_t forbidden; /* bit per api_kind: the last one was refused with 403 */
    struct api_piece piece;
    struct api_exchange exchange[API_PLACES];
};

/* What api_next reports. */
enum api_event_kind {
    API_EVENT_NONE,           /* work was done that concerns nobody */
    API_EVENT_OPENED,         /* a new connection, perhaps to another server */
    API_EVENT_RECORD,         /* a record of a response */
    API_EVENT_END,            /* a request is over */
    API_EVENT_LOST,           /* the connection ended because of `text`; ends follow, then CLOSED */
    API_EVENT_MOVED,          /* the same: the server asked for another connection */
    API_EVENT_CLOSED,         /* the connection is gone; every request was ended before */
    API_EVENT_STREAMS_LIMITED /* the server allows too few streams for watches */
};

/* One event of api_next; what it points to is valid until the next api_next. */
struct api_event {
    enum api_event_kind kind;
    const char *text;                /* LOST, MOVED; else NULL */
    const struct api_result *result; /* RECORD: so far; END; else NULL */
    struct kube_record record;       /* RECORD */
};

/* The module's verbs, see state.h; events are taken by api_next before api_step. */
void api_init(struct agent *a);
void api_step(struct agent *a);
uint64_t api_deadline(const struct agent *a);
/*
 * Does one piece of work: takes one event of the connection, one record of a response, or one end.
 * False: nothing to do until more bytes or time. What is left over keeps api_deadline at now.
 */
bool api_next(struct agent *a, struct api_event *event);

/* Facts from the host, which agent.h describes. */
void api_identity(struct agent *a, struct view token, struct view authority);
void api_opened(struct agent *a, uint64_t now_ms);
void api_failed(struct agent *a, const char *why);
void api_ended(struct agent *a, const char *why);
/* Bytes of the connection. */
struct writer api_rx(struct agent *a);
void api_rx_commit(struct agent *a, size_t n);
struct view api_tx(struct agent *a);
void api_tx_commit(struct agent *a, size_t n);
/* The next order for the host, which counts as carried out; ORDER_NONE: there is none. */
enum agent_order api_order(struct agent *a);
/* Whether the time is old, see agent_time_old. */
void api_time_old(struct agent *a, bool old);
/* The first connection is wanted now. */
void api_hurry(struct agent *a);

/* --- state of the connection --- */

/* Whether the last request of the kind was refused with 403, Forbidden. */
bool api_forbidden(const struct agent *a, enum api_kind kind);
/* Whether requests may be started now. */
bool api_ready(const struct agent *a);
/* Whether there is a connection that takes requests. */
bool api_connected(const struct agent *a);
/* Whether a connection is being made: the first one, or one that is tried now. */
bool api_pending(const struct agent *a);
/*
 * Since when requests can be answered: when the last connection was opened; UINT64_MAX while the
 * first one is being made, 0 when that failed.
 */
uint64_t api_since_ms(const struct agent *a);
/* Whether the server asked for another connection, and what is under way ends on this one. */
bool api_draining(const struct agent *a);
/* Whether the connection is at its end: what it does not answer is asked again on the next one. */
bool api_connection_ends(const struct agent *a);
/* Whether the server itself asked for the new connection: what was planned goes on there. */
bool api_connection_moved(const struct agent *a);
/* Whether the server allows too few streams for the watches of this connection. */
bool api_streams_limited(const struct agent *a);
/* host:port of the server; why there is no connection. Never NULL. */
const char *api_authority(const struct agent *a);
const char *api_trouble(const struct agent *a);
/* Until the next connection is tried. */
uint64_t api_reconnect_wait_ms(const struct agent *a);

/* --- requests --- */

/*
 * Starts a request in a free slot. STATUS_MORE: not now (no room, no stream, too many requests of
 * our own, or the server asked for a pause). After STATUS_OK api_next reports its records and its
 * end, and its body is sent as there is room for it, also while the connection drains. A watch ends
 * with FULL_TABLE, unsent, where the server allows so few streams that none would be left for the
 * rest.
 */
MUST_USE enum status api_start(struct agent *a, unsigned slot, const struct api_request *r);
/* Ends a request without waiting for its response; api_next reports no more of it. */
void api_cancel(struct agent *a, unsigned slot);
/* What the slot's request is for; API_NONE: the slot is free. */
enum api_kind api_slot_kind(const struct agent *a, unsigned slot);
/* Whether a request is under way in the slot. */
bool api_slot_busy(const struct agent *a, unsigned slot);
/* The result of the slot's request so far. Never NULL. */
const struct api_result *api_slot_result(struct agent *a, unsigned slot);
/*
 * When a request that api_start did not take is worth another try: for owners that plan it, the
 * others are stepped at the time.
 */
uint64_t api_later(const struct agent *a);
/* Whether requests of our own are held back for long: the server asked for it, or refused us. */
bool api_paused(const struct agent *a);
/* What Retry-After asks for in milliseconds, 0: nothing. An absurd time is API_REFUSED_MS. */
uint64_t api_retry_after_ms(const struct api_result *r);

#endif
