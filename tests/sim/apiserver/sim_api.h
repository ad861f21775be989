/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API server as the agent sees it: Nodes, ResourceClaims and ResourceSlices over HTTP/2 in
 * protobuf, with discovery, lists, watches, resourceVersion and conflicts, 401, 404, 409, 410 and
 * 422 as the real one answers them; and what goes wrong with it, as the owner says. Owns the
 * connections' HTTP state and the objects. Pure: the owner moves the bytes and tells the time.
 * Sources: Kubernetes API concepts; resource.k8s.io/v1; events.k8s.io/v1.
 *
 * Not simulated: JSON of objects (406), continue tokens, admission, authorisation beyond one bearer
 * token. Events are judged and counted, patches of Events and of a claim's status are counted: of
 * all of them only names are kept.
 * A watch that is behind gets the last state of an object once, not each of its states in between.
 */
#ifndef TESTS_SIM_SIM_API_H
#define TESTS_SIM_SIM_API_H

#include "tests/sim/apiserver/sim_store.h"
#include "wire/h2.h"

struct sim_api;
struct sim_api_event;
/* Sees a request of a connection before it is served; faults that it sets or ends count for it. */
typedef void sim_request_seen(struct sim_api *a, unsigned connection,
                              const struct sim_api_event *e);

struct sim_api_config {
    const char *token;         /* bearer token that is let in, borrowed; empty: everybody */
    bool serves[SIM_VERSIONS]; /* versions of resource.k8s.io */
    unsigned streams;          /* of one connection; 0: as many as there is room for */
    unsigned window;           /* of a stream that its client sends on; 0: SIM_WINDOW */
    bool timeless;             /* watches end and get bookmarks only when the owner says so */
    uint64_t seed;
    sim_request_seen *seen; /* NULL: nobody */
};

/* What a request asks for; a set of them is a sum. */
enum sim_asked {
    SIM_ASK_OTHER = 1,
    SIM_ASK_GROUP = 2,
    SIM_ASK_NODE = 4,   /* GET, list or watch of Nodes */
    SIM_ASK_LIST = 8,   /* of slices, or a GET of one */
    SIM_ASK_WATCH = 16, /* of slices */
    SIM_ASK_CREATE = 32,
    SIM_ASK_UPDATE = 64,
    SIM_ASK_DELETE = 128,
    SIM_ASK_CLAIM = 256,
    SIM_ASK_EVENT = 512,
    SIM_ASK_STATUS = 1024, /* PATCH of a claim's status */
    SIM_ASK_CLAIMS = 2048, /* list of claims */
    SIM_ASK_ALL = 4095
};

/* What can go wrong with the requests of a set; each has an entry of its own. */
enum sim_fault_kind {
    SIM_FAULT_ANSWER,     /* answered by `http`, not done */
    SIM_FAULT_REFUSED,    /* REFUSED_STREAM, not done */
    SIM_FAULT_RESET,      /* done, then the stream is reset without an answer */
    SIM_FAULT_HELD,       /* done, the answer waits until the fault ends */
    SIM_FAULT_SILENT,     /* neither done nor answered */
    SIM_FAULT_OTHER,      /* done, but the answer carries another object, or another name */
    SIM_FAULT_PAGE,       /* not done; 200 with a page of text, as an intermediary says it */
    SIM_FAULT_CUT,        /* done, but the answer ends in its midst */
    SIM_FAULT_UNSELECTED, /* lists and watches ignore their selector */
    SIM_FAULT_DROPPED,    /* what is stored lacks what `key` names, or all devices */
    SIM_FAULT_UNTOLD,     /* watches are told nothing of what changes meanwhile */
    SIM_FAULT_EXPIRED,    /* watches begin with the ERROR event of 410 */
    /* A fuzzer's corpus names the kinds above by their numbers. */
    SIM_FAULT_POSTPONED,   /* neither done nor answered until sim_api_resume */
    SIM_FAULT_UNANSWERED,  /* done, never answered */
    SIM_FAULT_LOST,        /* done, but answered by `http` */
    SIM_FAULT_PAGED,       /* lists name a next page */
    SIM_FAULT_UNVERSIONED, /* lists carry no resourceVersion */
    SIM_FAULT_KINDS
};

struct sim_fault {
    unsigned asked;         /* set of enum sim_asked that it meets; 0: off */
    const char *about;      /* borrowed: name of the one object that it meets; NULL: all */
    unsigned http;          /* SIM_FAULT_ANSWER, SIM_FAULT_LOST; SIM_FAULT_PAGE: 0 means 200 */
    unsigned retry_after_s; /* SIM_FAULT_ANSWER; 0: not said */
    /* Texts and bytes are borrowed. */
    const char *key;   /* SIM_FAULT_DROPPED; NULL: all devices */
    const char *name;  /* SIM_FAULT_OTHER; NULL: that of another object, if there is one */
    const char *text;  /* SIM_FAULT_ANSWER: the Status's whole message; NULL: the usual one */
    const char *field; /* SIM_FAULT_ANSWER: field of the Status's one cause; NULL: no cause */
    const char *cause; /* SIM_FAULT_ANSWER: message of that cause */
    const char *type;  /* SIM_FAULT_PAGE: content-type of `body`; NULL: a page of text */
    struct view body;
};

struct sim_selector { /* of a list or watch; empty: everything */
    char driver[DRIVER_CAP];
    char node[NAME_CAP];
    char name[NAME_CAP];
};

struct sim_query { /* what stands behind the '?' */
    struct sim_selector selector;
    bool watch;
    bool bookmarks;
    bool has_version;
    bool wrong; /* something of it is not understood */
    uint64_t version;
    uint64_t limit;      /* of a list; 0: none */
    uint64_t from;       /* place in the store at which the page begins, by its token */
    uint64_t timeout_ms; /* of a watch */
};

enum sim_target_kind {
    SIM_TARGET_NONE,
    SIM_TARGET_OBJECTS,
    SIM_TARGET_GROUP,
    SIM_TARGET_EVENTS,
    SIM_TARGET_CLAIM_STATUS
};

struct sim_target { /* what a path names */
    enum sim_target_kind what;
    enum sim_kind kind;
    enum sim_version version;
    char ns[NAMESPACE_CAP];
    char name[NAME_CAP]; /* empty: the collection */
};

enum sim_stream_state {
    SIM_STREAM_FREE,
    SIM_STREAM_READING,
    SIM_STREAM_ANSWERING,
    SIM_STREAM_WATCHING
};

struct sim_stream { /* internal: one request */
    enum sim_stream_state state;
    uint32_t id;
    char method[16];
    char path[KUBE_PATH_CAP];
    char accept[SIM_HEADER_CAP];
    char type[SIM_HEADER_CAP]; /* of the body */
    bool path_cut;
    bool authorised;
    bool protobuf; /* accepted */
    bool partial;  /* accepted as PartialObjectMetadata */
    bool json;     /* accepted */
    bool body_protobuf;
    bool body_patch; /* server-side apply, or a merge patch */
    unsigned asked;  /* enum sim_asked; 0: not complete yet */
    unsigned retry_after_s;
    bool body_cut;
    struct sim_target target;
    struct sim_query query;
    unsigned http; /* 0: not answered yet */
    const char *content_type;
    bool headed;
    bool last; /* nothing follows what stands in `out` */
    bool told; /* the owner took the event of this request */
    bool postponed;
    bool unanswered; /* the answer in `out` stays there */
    uint64_t watch_end_ms;
    uint64_t bookmark_ms;
    size_t body_len;
    size_t out_len;
    size_t out_sent;
    uint8_t body[SIM_REQUEST_BYTES];
    uint8_t out[SIM_ANSWER_BYTES];
};

struct sim_connection { /* internal */
    bool open;
    bool failed;
    struct h2 h2;
    struct h2_stream streams[SIM_STREAMS_MAX];
    struct sim_stream stream[SIM_STREAMS_MAX];
    uint8_t rx[SIM_RX_BYTES];
    uint8_t tx[SIM_TX_BYTES];
    uint8_t field[SIM_FIELD_BYTES];
    uint8_t scratch[SIM_FIELD_BYTES];
};

struct sim_api {
    struct sim_api_config config;
    uint64_t now_ms;
    uint64_t now_s;                             /* Unix time, for creationTimestamp only */
    uint64_t events;                            /* created ones */
    uint64_t series;                            /* updates of them */
    char log_id_name[SIM_EVENTS_MAX][NAME_CAP]; /* of the newest Events */
    uint64_t patches;                           /* of claims' status */
    struct sim_fault fault[SIM_FAULT_KINDS];
    struct sim_store store;
    struct sim_connection connection[SIM_CONNECTIONS_MAX];
    uint8_t scratch[SIM_ANSWER_BYTES]; /* one object or list while it gets its envelope */
};

/* One complete request. */
struct sim_api_event {
    const char *method; /* texts and bytes are borrowed until the next call */
    const char *path;
    const char *accept;
    const char *type; /* of the body */
    struct view body;
    const struct sim_target *target;
    uint32_t stream; /* of its connection */
    unsigned asked;  /* enum sim_asked */
    unsigned http;   /* 0: it was not done, or reset */
    bool watch;
    bool authorised;
    bool cancelled; /* the client reset it before its end; only the owner's `seen` gets these */
};

void sim_api_init(struct sim_api *a, const struct sim_api_config *config, uint64_t now_ms);

/*
 * What somebody with kubectl does: creates or replaces an object of which `object` is the v1
 * encoding without envelope; its metadata may name a UID. Errors as of sim_store_create.
 */
MUST_USE enum status sim_api_put(struct sim_api *a, enum sim_kind kind, struct view object);
/* PEER_NOT_FOUND: there is none. */
MUST_USE enum status sim_api_delete(struct sim_api *a, enum sim_kind kind, const char *ns,
                                    const char *name);

/* From now on requests that `fault` names meet this fault; it is copied. */
void sim_api_fault(struct sim_api *a, enum sim_fault_kind kind, const struct sim_fault *fault);
/* The fault ends; held answers go out. */
void sim_api_fault_end(struct sim_api *a, enum sim_fault_kind kind);
/* Requests that were postponed are served. */
void sim_api_resume(struct sim_api *a);
/* History is compacted: a watch from before now gets 410. */
void sim_api_forget(struct sim_api *a);
/* The watches of a kind get the ERROR event of 410, and go on. */
void sim_api_expire(struct sim_api *a, enum sim_kind kind);
/* The watches of a kind get a bookmark, once what changed is on its way. */
void sim_api_bookmark(struct sim_api *a, enum sim_kind kind);
/* They get an event of the newest version of an object that is not stored. */
void sim_api_tell(struct sim_api *a, enum sim_kind kind, const char *type, const char *name);

/* A connection was accepted: its number, or -1 when there are too many. */
int sim_api_open(struct sim_api *a);
struct writer sim_api_rx(struct sim_api *a, unsigned connection);
void sim_api_rx_commit(struct sim_api *a, unsigned connection, size_t n);
void sim_api_end(struct sim_api *a, unsigned connection);
struct view sim_api_tx(struct sim_api *a, unsigned connection);
void sim_api_tx_commit(struct sim_api *a, unsigned connection, size_t n);
/* Whether the owner must close it now; true also says that its number is free again. */
bool sim_api_done(struct sim_api *a, unsigned connection);
/* The connection was reset: nothing of it goes on, its number is free again. */
void sim_api_drop(struct sim_api *a, unsigned connection);
/* Says GOAWAY on a connection: graceful, or final with the true last stream. */
void sim_api_goaway(struct sim_api *a, unsigned connection, bool final);

/* Takes what came, answers, feeds the watches. Times never go back. */
void sim_api_step(struct sim_api *a, uint64_t now_ms, uint64_t now_s);
uint64_t sim_api_deadline(const struct sim_api *a);
/* Next complete request; STATUS_MORE: none. Watches are told when they begin. */
MUST_USE enum status sim_api_next(struct sim_api *a, struct sim_api_event *e);

#endif
