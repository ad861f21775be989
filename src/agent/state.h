/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct agent: all state of the program, one member per module, each written by that module alone.
 * Internal to src/agent; the host sees agent/agent.h only.
 */
#ifndef AGENT_STATE_H
#define AGENT_STATE_H

#include "agent/agent.h"
#include "agent/events.h"
#include "base/log.h"
#include "dra/claim.h"
#include "dra/slice.h"
#include "dra/store.h"
#include "wire/grpc.h"
#include "wire/kube.h"

/* --- links.c --- */

struct server_link {
    bool open;
    bool failed; /* its engine failed and was reported; only output is left */
    bool busy;   /* events were left over in the last step */
    enum link_kind kind;
    uint64_t opened_ms;
    uint64_t close_ms; /* failed: closed now even if its peer takes no more output */
    struct grpc_server grpc;
};

/* --- answers.c --- */

struct answer {
    bool used;
    uint8_t link;
    uint16_t len;
    enum grpc_status code;
    const char *text; /* of a status: static */
    struct grpc_call_id id;
    uint8_t message[ANSWER_BYTES_MAX];
};

/* --- kubelet.c --- */

struct registration {
    bool registered;
    bool asked;          /* GetInfo was called at least once */
    uint64_t waiting_ms; /* since when no registration succeeded */
    uint64_t retry_ms;   /* wait before the socket is made anew; doubles */
    char last_error[CLAIM_ERROR_CAP];
};

/* --- ledger.c: the claim table over the store and the CDI files --- */

enum ledger_state {
    LEDGER_FREE,
    LEDGER_HELD,
    LEDGER_FREEING, /* unprepared, but the store refused the write: tried again with every sync */
    LEDGER_DAMAGED  /* both halves unreadable: left alone */
};

struct ledger_entry {
    uint8_t state;     /* enum ledger_state */
    uint8_t half;      /* which half counts */
    uint64_t sequence; /* of that half */
    uint64_t numbers;  /* device numbers held exclusively, bit N */
    struct claim_id id;
};

struct ledger {
    bool usable;       /* the store is open */
    bool unreadable;   /* what the store holds could not be read yet */
    bool dirty;        /* written since the last sync */
    uint64_t flush_ms; /* when what no call flushed is flushed */
    uint64_t flush_backoff_ms;
    uint16_t held;
    uint16_t freeing;
    uint64_t retry_ms; /* when opening is tried again while not usable */
    uint64_t backoff_ms;
    char trouble[CLAIM_ERROR_CAP];
    struct ledger_entry entry[CLAIMS_MAX];
    uint16_t gone_count;               /* claims unprepared while the store was unreadable: */
    char gone[CLAIMS_MAX][UID_CAP];    /* freed as soon as it is read */
};

/* --- calls.c: NodePrepareResources and NodeUnprepareResources --- */

enum operation_state {
    OPERATION_FREE,
    OPERATION_WAITING,  /* for a claim GET to begin */
    OPERATION_FETCHING,
    OPERATION_WRITTEN,  /* in store and CDI, not flushed */
    OPERATION_DONE,     /* success, flushed */
    OPERATION_FAILED    /* `error` says why */
};

struct operation {
    uint8_t state;      /* enum operation_state */
    uint8_t fetch;      /* FETCHING: index of the fetch */
    uint16_t call;
    uint16_t slot;      /* WRITTEN, DONE of prepare: where the record is */
    bool fresh;         /* this operation wrote the record */
    uint32_t entry_len; /* bytes of its entry in the reply */
    uint64_t deadline_ms;
    struct claim_id id;
    char error[CLAIM_ERROR_CAP];
};

struct call {
    bool used;
    bool unprepare;
    bool replying;
    bool begun;          /* the reply's length prefix is out */
    uint8_t link;
    struct grpc_call_id id;
    uint16_t count;
    uint16_t at;         /* replying: operation under way */
    uint32_t offset;     /* bytes of its entry already sent */
    uint16_t operation[CLAIMS_PER_CALL_MAX];
};
#define CALLS_MAX (SERVICE_LINKS * H2_SERVER_STREAMS)

/* --- api.c --- */

enum request_kind {
    REQUEST_NONE,
    REQUEST_CLAIM,       /* owner: fetch index */
    REQUEST_NODE,
    REQUEST_SLICE_LIST,
    REQUEST_SLICE_WRITE, /* POST or PUT */
    REQUEST_SLICE_DELETE,
    REQUEST_SLICE_WATCH
};

/* One entry per owner: the fetches, then the publisher's request, then its watch. */
#define REQUEST_PUBLISHER FETCHES_MAX
#define REQUEST_WATCH (FETCHES_MAX + 1)
#define REQUESTS_MAX (FETCHES_MAX + 2)

struct request {
    enum request_kind kind;
    uint32_t stream;
    uint64_t deadline_ms;
    bool refused;          /* the answer is a Status of failure */
    char reason[64];       /* of that Status */
    char message[KUBE_MESSAGE_CAP];
    struct kube_answer answer;
};

enum api_state { API_DOWN, API_CONNECTING, API_UP, API_DRAINING };

struct api {
    enum api_state state;
    bool close_wanted;      /* an ORDER_CLOSE_API is owed */
    bool connect_wanted;    /* an ORDER_CONNECT_API is owed */
    bool pinged;
    uint64_t ping_ms;       /* when the PING under way was sent */
    bool busy;              /* events were left over in the last step */
    uint64_t heard_ms;      /* last bytes from the server */
    uint64_t connect_at_ms; /* when the next connection is tried */
    uint64_t backoff_ms;
    char trouble[CLAIM_ERROR_CAP]; /* why there is no connection */
    char ended[CLAIM_ERROR_CAP];   /* why the transport of this connection ended; empty: closed */
    char token[TOKEN_CAP];
    char authority[NAME_CAP + 8];
    struct request request[REQUESTS_MAX];
    struct h2 h2;
    struct h2_stream streams[H2_CLIENT_STREAMS];
    uint8_t rx[H2_CLIENT_RX_BYTES];
    uint8_t tx[H2_CLIENT_TX_BYTES];
    uint8_t field[H2_CLIENT_FIELD_BYTES];
    uint8_t scratch[H2_CLIENT_FIELD_BYTES];
};

/* --- fetch.c --- */

struct fetch {
    bool used;
    uint16_t operation;
    struct claim_builder builder;
};

/* --- publish.c --- */

enum publish_step {
    PUBLISH_IDLE,    /* nothing to do until a change, a watch event or the interval */
    PUBLISH_NODE,    /* reading the Node */
    PUBLISH_LIST,
    PUBLISH_DELETE,  /* removing what is not wanted, one by one */
    PUBLISH_WRITE
};

struct slice_seen {
    char name[NAME_CAP];
    char uid[UID_CAP];
    char resource_version[RESOURCE_VERSION_CAP];
    char owner_uid[UID_CAP];
    int64_t generation;
    bool same_place;   /* driver, pool and node are ours */
    bool same_count;   /* resourceSliceCount is 1 and nothing unknown stands in the spec */
    bool same_devices;
    bool doomed;       /* to be deleted */
};

struct publish {
    enum publish_step step;
    bool running;             /* the step's request is in flight */
    bool current;             /* stored == wanted, as far as is known */
    bool said;                /* `current` was logged since it became true */
    bool again;               /* a hint came during a round: another one follows */
    bool refused;             /* the last failure needs an operator: slow retry */
    uint64_t due_ms;          /* when the next round begins; UINT64_MAX: not planned */
    uint64_t not_before_ms;   /* no round begins earlier, whatever the hints say */
    uint64_t backoff_ms;
    uint64_t write_ms;        /* last write */
    uint64_t fight_ms;        /* backoff between writes that follow each other closely */
    unsigned writes;          /* that followed each other closely */
    uint64_t watch_due_ms;    /* when the watch is (re)opened */
    uint64_t watch_backoff_ms;
    bool node_seen;           /* the Node answer under way was our Node */
    char node_uid[UID_CAP];
    char resource_version[RESOURCE_VERSION_CAP]; /* watch from here */
    char watch_type[16];
    int64_t generation_max;
    unsigned seen_count;
    unsigned overflow;        /* slices that did not fit `seen` */
    int keep;                 /* index in `seen` of the slice to update; -1: create */
    uint32_t body_len;        /* PUBLISH_WRITE: envelope and object */
    uint32_t body_sent;
    struct node_labels labels; /* of the Node answer under way */
    int64_t generation;       /* PUBLISH_WRITE: of the slice to be written */
    struct slice_seen kept;   /* our slice after the round; empty name: none */
    struct slice_seen now;    /* object under way */
    struct slice_seen seen[SLICES_SEEN_MAX];
    struct devices wanted;    /* what this round publishes: stays put while the node may change */
    struct slice_compare compare;
    struct slice_compare watch_compare;
    struct slice_seen watch_now;
};

/* --- memory for one step of work; nothing in it lives from one function to the next --- */

struct scratch {
    uint8_t half[STORE_HALF_BYTES];
    uint8_t record[STORE_RECORD_MAX];
    uint8_t cdi[CDI_BYTES_MAX];
    uint8_t cdi_old[CDI_BYTES_MAX];
    uint8_t entry[REPLY_ENTRY_BYTES_MAX];
    struct claim_record claim;
    struct devices devices;
    struct device_findings findings;
};

struct agent {
    const struct settings *settings;
    const struct files *files;
    uint64_t now_ms;
    uint64_t random;       /* state of the jitter generator */
    uint64_t started_ms;
    bool stopping;
    uint64_t stop_ms;      /* when running calls are ended */
    bool step_now;         /* something changed outside a step */
    bool order_renew, order_close_registration, order_exit;
    bool exited;
    uint64_t counter[EVENT_COUNT];
    struct log log;
    struct devices devices;
    struct registration registration;
    struct ledger ledger;
    struct api api;
    struct publish publish;
    struct fetch fetch[FETCHES_MAX];
    struct call call[CALLS_MAX];
    struct operation operation[OPERATIONS_MAX];
    struct grpc_buffers buffers;
    struct answer answer[ANSWERS_MAX];
    struct server_link link[SERVER_LINKS];
    struct scratch scratch;
};

/* --- what every module uses --- */

/*
 * events.c: begins the line of an event and counts it; add fields with log_text & co, end with
 * log_end(&a->log).
 */
void event_begin(struct agent *a, enum event_id id);
/* A whole event with one text field. */
void event_say(struct agent *a, enum event_id id, const char *key, const char *text);

/* backoff.c: `base_ms` plus up to a quarter of it, at random. */
uint64_t agent_jitter(struct agent *a, uint64_t base_ms);
/* Doubles a backoff between its bounds and returns the jittered wait. */
uint64_t agent_backoff(struct agent *a, uint64_t *backoff_ms);
/* Registered with the kubelet, and the stored slices are the wanted ones. */
bool agent_ready(const struct agent *a);

/* --- modules to each other --- */

/*
 * links.c: the next event of a server link; false: none now, or the link is closed. What is not
 * asked for in this step keeps links_deadline at now.
 */
bool link_next(struct agent *a, unsigned link, struct grpc_event *event);
uint64_t links_deadline(const struct agent *a);
unsigned links_calls_open(const struct agent *a);
void links_drain(struct agent *a);

/*
 * answers.c: ends a call with one message of at most ANSWER_BYTES_MAX and status OK, or with a
 * status and a static text.
 */
void answer_message(struct agent *a, unsigned link, struct grpc_call_id id, struct view message);
void answer_status(struct agent *a, unsigned link, struct grpc_call_id id, enum grpc_status code,
                   const char *text);
void answers_step(struct agent *a);

/* One complete request of a link (kubelet.c). */
void kubelet_call(struct agent *a, unsigned link, const struct grpc_event *event);
void kubelet_init(struct agent *a);
void kubelet_step(struct agent *a);
uint64_t kubelet_deadline(const struct agent *a);

/* Begins a prepare or unprepare call (calls.c); answers it itself when it cannot. */
void calls_begin(struct agent *a, unsigned link, const struct grpc_event *event, bool unprepare);
void calls_gone(struct agent *a, unsigned link, struct grpc_call_id id);
void calls_step(struct agent *a);
uint64_t calls_deadline(const struct agent *a);
/* Ends every running call with UNAVAILABLE (stop). */
void calls_abandon(struct agent *a);
/* Result of a fetch: b is complete, or NULL and `why`. */
void calls_fetched(struct agent *a, unsigned operation, struct claim_builder *b, const char *why);

/* Opens the store when it is due, and repeats what the disk refused. */
void ledger_step(struct agent *a);
uint64_t ledger_deadline(const struct agent *a);
/* Opens the store, creating or repairing it; says in ledger.trouble why not. */
void ledger_open(struct agent *a);
/* One sentence: the store's path, what could not be done with it, why, and the remedy. */
void ledger_trouble_text(const struct agent *a, const char *doing, enum status s,
                         const char *remedy, struct writer *why);
/* Removes what a kill may have left in the CDI root. */
void ledger_tidy(struct agent *a);
/* Slot that holds `uid`, or -1. */
int ledger_find(const struct agent *a, const char *uid);
/* Slot of another claim that holds one of the device numbers, or -1. */
int ledger_holder(const struct agent *a, uint64_t numbers, const char *uid);
/* CDI file, then record. On failure nothing is left, and `why` gets one line. */
MUST_USE enum status ledger_put(struct agent *a, const struct claim_record *r, unsigned *slot,
                                struct writer *why);
/* Reads the record of a held slot into scratch.claim. */
MUST_USE enum status ledger_read(struct agent *a, unsigned slot);
/* The same from another file of the store's form. */
MUST_USE enum status ledger_read_from(struct agent *a, const char *file, unsigned slot);
/* Makes sure that the CDI file of scratch.claim is there and right. */
MUST_USE enum status ledger_ensure_cdi(struct agent *a, struct writer *why);
/*
 * Forgets a claim: record, then CDI file. Succeeds for claims never seen; what the disk refuses is
 * tried again later and logged.
 */
void ledger_remove(struct agent *a, const char *uid);
/* Forgets what was unprepared while the store could not be read. */
void ledger_remove_gone(struct agent *a);
/* One flush for everything written since the last. */
MUST_USE enum status ledger_sync(struct agent *a, struct writer *why);

void api_init(struct agent *a);
void api_step(struct agent *a);
uint64_t api_deadline(const struct agent *a);
/* Whether requests may be opened now. */
bool api_ready(const struct agent *a);
/*
 * Sends a request head on entry `index`. STATUS_MORE: not now (no room, no stream). After success
 * the owner hears of it by its …_record and …_end function; the body, if any, is sent by the owner.
 */
MUST_USE enum status api_send(struct agent *a, unsigned index, enum request_kind kind,
                              enum kube_shape shape, struct kube_request *head);
/* Ends a request without waiting for its answer; the owner hears no more of it. */
void api_cancel(struct agent *a, unsigned index);

/* Ends the connection: every request fails with PEER_CLOSED, a new connection is planned. */
void api_lost(struct agent *a, const char *why);

/* fetch.c */
/* Begins the GET for an operation in WAITING; false: no free fetch or no room. */
bool fetch_begin(struct agent *a, unsigned operation);
void fetch_cancel(struct agent *a, unsigned fetch);
void fetch_record(struct agent *a, unsigned fetch, const struct kube_record *record);
void fetch_end(struct agent *a, unsigned fetch, enum status status);

/* publish.c */
void publish_init(struct agent *a);
void publish_step(struct agent *a);
uint64_t publish_deadline(const struct agent *a);
/* The wanted content may have changed. */
void publish_changed(struct agent *a);
/* The API connection is gone: nothing that was in flight will answer. */
void publish_disconnected(struct agent *a);
void publish_record(struct agent *a, unsigned index, const struct kube_record *record);
void publish_end(struct agent *a, unsigned index, enum status status);

/* slice_body.c: the wanted slice as a request body */
/* Length in bytes of envelope and object. */
uint32_t slice_body_len(struct agent *a);
/* Appends body bytes from `offset` until `out` is full or the body ends. */
MUST_USE enum status slice_body_part(struct agent *a, uint32_t offset, struct writer *out);

#endif
