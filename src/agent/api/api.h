/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the API server (api.c) and its requests (requests.c). Owns struct api. Internal
 * to src/agent.
 */
#ifndef AGENT_API_API_H
#define AGENT_API_API_H

#include "agent/agent.h"
#include "wire/kube.h"

/* Versions of resource.k8s.io in order of preference. */
enum api_version { API_V1, API_V1BETA2, API_V1BETA1, API_VERSIONS };

/* What a request is for. */
enum request_kind {
    REQUEST_NONE,
    REQUEST_CLAIM,    /* owner: fetch index */
    REQUEST_VERSIONS, /* GET of the API group */
    REQUEST_NODE,
    REQUEST_SLICE_LIST,
    REQUEST_SLICE_WRITE, /* POST or PUT */
    REQUEST_SLICE_DELETE,
    REQUEST_SLICE_WATCH,
    REQUEST_NODE_WATCH,
    REQUEST_EVENT,       /* POST or PATCH of an Event */
    REQUEST_CLAIM_STATUS /* PATCH of a claim's status */
};
/* Numbers of kinds, REQUEST_NONE included. */
#define REQUEST_KINDS ((unsigned)REQUEST_CLAIM_STATUS + 1u)

/*
 * One entry per owner: the fetches, the publisher's request, its watch, the Node (node.c), the
 * event recorder (recorder.c), the claim status writer (claim_status.c), the version (version.c).
 */
#define REQUEST_PUBLISHER FETCHES_MAX
#define REQUEST_WATCH (FETCHES_MAX + 1u)
#define REQUEST_NODE_ENTRY (FETCHES_MAX + 2u)
#define REQUEST_RECORDER (FETCHES_MAX + 3u)
#define REQUEST_STATUS_WRITER (FETCHES_MAX + 4u)
#define REQUEST_VERSION (FETCHES_MAX + 5u)
/* All entries. */
#define REQUESTS_MAX (FETCHES_MAX + 6u)

/* One request to the API server. */
struct request {
    enum request_kind kind;
    enum api_version version; /* of resource.k8s.io, spoken when it was sent */
    uint32_t stream;
    uint64_t sent_ms;
    uint64_t deadline_ms;
    bool over;         /* its END is owed, with `verdict` */
    bool unauthorized; /* answered by 401: over as soon as the token was read again */
    bool unprocessed;  /* the server did not look at it (REFUSED_STREAM): safe to repeat */
    enum status verdict;
    uint32_t token_sum; /* of the token that it was sent with */
    char reason[64];    /* of the Status that it was answered with */
    char message[KUBE_MESSAGE_CAP];
    struct kube_answer answer;
};

/* What api_next tells. */
enum api_event_kind {
    API_EVENT_NONE,   /* work was done that concerns nobody */
    API_EVENT_OPENED, /* a new connection, perhaps to another server */
    API_EVENT_RECORD, /* a record of an answer */
    API_EVENT_END,    /* a request is over; its entry is readable until the next api_next */
    API_EVENT_LOST    /* the connection is gone; every request was ended before */
};

/* One event of api_next. */
struct api_event {
    enum api_event_kind kind;
    unsigned index;            /* RECORD, END: entry of the request */
    enum request_kind request; /* and what it is for */
    enum status status;        /* END: the verdict */
    struct kube_record record; /* RECORD; valid until the next api_next */
};

/* The connection to the API server. */
enum api_state { API_DOWN, API_CONNECTING, API_UP, API_DRAINING };

/* The connection to the API server and its requests. */
struct api {
    enum api_state state;
    bool close_wanted;   /* an ORDER_CLOSE_API is owed */
    bool token_wanted;   /* an ORDER_READ_TOKEN is owed */
    bool token_read;     /* the host told the token since a 401 asked for it */
    bool connect_wanted; /* an ORDER_CONNECT_API is owed */
    bool tried;          /* a connection was tried at least once */
    uint64_t opened_ms;  /* when this connection was opened */
    bool pinged;
    uint64_t ping_ms;  /* when the PING under way was sent */
    bool busy;         /* api_next has, or may have, more to tell */
    bool opened;       /* an OPENED is owed */
    bool lost;         /* a LOST is owed */
    unsigned ended;    /* entry whose END was told last; REQUESTS_MAX: none */
    unsigned piece_of; /* entry whose answer `piece` belongs to; REQUESTS_MAX: none */
    uint32_t piece_stream;
    bool piece_last;        /* nothing follows the piece on its stream */
    struct reader piece;    /* of an answer; valid until the next h2_next */
    uint64_t heard_ms;      /* last bytes from the server */
    uint64_t connect_at_ms; /* when the next connection is tried */
    uint64_t tried_ms;      /* when the last one was */
    uint64_t backoff_ms;
    unsigned mute;       /* requests that timed out, one after the other, without an answer */
    uint64_t mute_ms;    /* when the last of them did */
    uint64_t blocked_ms; /* since when no request could be opened; 0: the last one was */
    bool moved;          /* the last connection ended in order: what was planned goes on */
    bool cramped;        /* that watches find no room was said */
    bool waiting;        /* a request of our own was held back: it goes at the times below */
    unsigned rate_at;    /* the oldest of `rate_ms` */
    uint64_t rate_ms[API_REQUESTS_PER_SECOND]; /* a second after each of the last requests */
    uint64_t hold_ms;                          /* what Retry-After asks for */
    uint64_t refused_ms;                       /* no earlier is a refused token shown again */
    uint64_t reread_ms; /* when the file of a refused token is read next; 0: not waited for */
    uint32_t token_sum;
    char trouble[CLAIM_ERROR_CAP];   /* why there is no connection */
    char ended_why[CLAIM_ERROR_CAP]; /* why the transport of this one ended; empty: closed */
    char token[TOKEN_CAP];
    char authority[NAME_CAP + 8u];
    struct request request[REQUESTS_MAX];
    struct h2 h2;
    struct h2_stream streams[H2_CLIENT_STREAMS];
    uint8_t rx[H2_CLIENT_RX_BYTES];
    uint8_t tx[H2_CLIENT_TX_BYTES];
    uint8_t field[H2_CLIENT_FIELD_BYTES];
    uint8_t scratch[H2_CLIENT_FIELD_BYTES];
};

/* The connection: its verbs, see state.h; events are pulled before api_step. */
void api_init(struct agent *a);
void api_step(struct agent *a);
uint64_t api_deadline(const struct agent *a);
/*
 * Does one piece of work: takes one event of the connection, one record of an answer, or one end.
 * False: nothing to do until more bytes or time. What is left over keeps api_deadline at now.
 */
bool api_next(struct agent *a, struct api_event *event);
/* Whether requests may be opened now. */
bool api_ready(const struct agent *a);
/*
 * When a request that api_send did not take is worth another try: for owners that plan it, the
 * others are stepped at the time.
 */
uint64_t api_later(const struct agent *a);
/* Whether requests of our own are held back for long: the server asked for it, or refused us. */
bool api_paused(const struct agent *a);
/*
 * Sends a request head on entry `index`. STATUS_MORE: not now (no room, no stream,
 * too many requests of our own, or the server asked for a pause). After success
 * api_next tells its records and its end; the body, if any, is sent by the owner. A watch ends by
 * FULL_TABLE, unsent, where the server allows so few streams that none would be left for the rest.
 */
MUST_USE enum status api_send(struct agent *a, unsigned index, enum request_kind kind,
                              enum kube_shape shape, struct kube_request *head);
/* Ends a request without waiting for its answer; api_next tells no more of it. */
void api_cancel(struct agent *a, unsigned index);

#endif
