/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct agent: all state of the program, one member per module, each written by that module alone.
 * Internal to src/agent; the host sees agent/agent.h only. Owns every byte that the agent keeps.
 *
 * Modules share their verbs: X_init sets up, X_step does what is due, X_deadline tells when X_step
 * must run at the latest (in now_ms terms; UINT64_MAX: never). What ends in _ms is milliseconds of
 * the clock of now_ms, or a duration of them.
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

/* One connection of a peer to one of our sockets. */
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

/* A short answer that waits for room. */
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

/* What the kubelet said of us. */
struct registration {
    bool registered;
    bool asked;          /* GetInfo was called at least once */
    uint64_t waiting_ms; /* since when no registration succeeded */
    uint64_t retry_ms;   /* wait before the socket is made anew; doubles */
    char last_error[CLAIM_ERROR_CAP];
};

/* --- ledger.c: the claim table over the store and the CDI files --- */

/* `state` of a slot. */
enum {
    LEDGER_FREE,
    LEDGER_HELD,
    LEDGER_FREEING, /* to be free, but the store refused the write: tried again with every sync */
    LEDGER_DAMAGED  /* both halves unreadable: left alone */
};

/* What is remembered of a slot; its record stays on the disk. */
struct ledger_entry {
    uint8_t state;     /* LEDGER_… */
    uint8_t half;      /* which half counts */
    bool unsynced;     /* written since the last good sync */
    uint64_t sequence; /* of that half */
    uint64_t numbers;  /* device numbers held exclusively, bit N */
    struct claim_id id;
};

/* The table and the state of the store. */
struct ledger {
    bool usable;       /* the store is open */
    bool busy;         /* another agent uses it: nothing of it may be touched */
    bool dirty;        /* written since the last good sync */
    bool rewrite;      /* a sync failed: what was written since the last good one is in doubt */
    uint64_t flush_ms; /* when what no call flushed is flushed */
    uint64_t flush_backoff_ms;
    uint16_t held;
    uint16_t freeing;
    uint64_t retry_ms; /* when opening is tried again while not usable */
    uint64_t backoff_ms;
    char trouble[CLAIM_ERROR_CAP];
    struct ledger_entry entry[CLAIMS_MAX];
    uint16_t gone_count;               /* claims unprepared while the store was not usable: */
    char gone[CLAIMS_MAX][UID_CAP];    /* freed as soon as it is read */
};

/* --- calls.c: NodePrepareResources and NodeUnprepareResources --- */

/* How far one claim of a call has come; `state` of struct operation. */
enum {
    OPERATION_FREE,
    OPERATION_WAITING,  /* for a claim GET to begin */
    OPERATION_FETCHING,
    OPERATION_WRITTEN,  /* in store and CDI, not flushed */
    OPERATION_DONE,     /* success, flushed */
    OPERATION_FAILED    /* `error` says why */
};

/* One claim of a call. */
struct operation {
    uint8_t state;      /* OPERATION_… */
    uint8_t fetch;      /* FETCHING: index of the fetch */
    uint8_t refuted;    /* bit per api_version in which its claim's path was not known */
    uint16_t call;
    uint16_t slot;      /* WRITTEN, DONE of prepare: where the record is */
    bool fresh;         /* this operation wrote the record */
    uint32_t entry_len; /* bytes of its entry in the reply */
    uint64_t deadline_ms;
    struct claim_id id;
    char error[CLAIM_ERROR_CAP];
};

/* One prepare or unprepare call. */
struct call {
    bool used;
    bool unprepare;
    bool replying;
    bool asked;          /* the GET of one of its claims was sent */
    bool begun;          /* the reply's length prefix is out */
    uint8_t link;
    struct grpc_call_id id;
    uint16_t count;
    uint16_t at;         /* replying: operation under way */
    uint32_t offset;     /* bytes of its entry already sent */
    uint16_t operation[CLAIMS_PER_CALL_MAX];
};
/* Calls that all links together can have open. */
#define CALLS_MAX (SERVICE_LINKS * H2_SERVER_STREAMS)

/* --- version.c: the version of resource.k8s.io that is spoken --- */

/* In order of preference. */
enum api_version { API_V1, API_V1BETA2, API_V1BETA1, API_VERSIONS };

enum version_state {
    VERSION_UNKNOWN, /* the API group is to be asked first */
    VERSION_TRIED,   /* the API group told nothing: `now` is tried, the list of slices decides */
    VERSION_SETTLED, /* `now` is named by the API group, or slices were listed in it */
    VERSION_NONE     /* none of them is served: asked again when due */
};

/* What is known of the versions that the API server serves. */
struct version {
    enum version_state state;
    enum api_version now;
    bool said;           /* `now` was logged */
    uint8_t named;       /* bit per version: by the answer under way */
    uint8_t refused;     /* bit per version: slices could not be listed in it */
    uint64_t due_ms;     /* when the API group is asked; UINT64_MAX: not planned */
    uint64_t backoff_ms; /* of VERSION_NONE */
};

/* --- api.c --- */

/* What a request is for. */
enum request_kind {
    REQUEST_NONE,
    REQUEST_CLAIM,       /* owner: fetch index */
    REQUEST_VERSIONS,    /* on the publisher's entry */
    REQUEST_NODE,
    REQUEST_SLICE_LIST,
    REQUEST_SLICE_WRITE, /* POST or PUT */
    REQUEST_SLICE_DELETE,
    REQUEST_SLICE_WATCH
};

/* One entry per owner: the fetches, then the publisher's request, then its watch. */
#define REQUEST_PUBLISHER FETCHES_MAX
#define REQUEST_WATCH (FETCHES_MAX + 1u)
/* All entries. */
#define REQUESTS_MAX (FETCHES_MAX + 2u)

/* One request to the API server. */
struct request {
    enum request_kind kind;
    enum api_version version; /* of resource.k8s.io, spoken when it was sent */
    uint32_t stream;
    uint64_t deadline_ms;
    bool refused;          /* the answer is a Status of failure */
    char reason[64];       /* of that Status */
    char message[KUBE_MESSAGE_CAP];
    struct kube_answer answer;
};

/* The connection to the API server. */
enum api_state { API_DOWN, API_CONNECTING, API_UP, API_DRAINING };

/* The connection to the API server and its requests. */
struct api {
    enum api_state state;
    bool close_wanted;      /* an ORDER_CLOSE_API is owed */
    bool connect_wanted;    /* an ORDER_CONNECT_API is owed */
    bool tried;             /* a connection was tried at least once */
    uint64_t opened_ms;     /* when this connection was opened */
    bool pinged;
    uint64_t ping_ms;       /* when the PING under way was sent */
    bool busy;              /* events were left over in the last step */
    uint64_t heard_ms;      /* last bytes from the server */
    uint64_t connect_at_ms; /* when the next connection is tried */
    uint64_t backoff_ms;
    char trouble[CLAIM_ERROR_CAP]; /* why there is no connection */
    char ended[CLAIM_ERROR_CAP];   /* why the transport of this connection ended; empty: closed */
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

/* --- fetch.c --- */

/* One claim GET. */
struct fetch {
    bool used;
    uint16_t operation;
    struct claim_builder builder;
};

/* --- publish.c --- */

/* Steps of a round. */
enum publish_step {
    PUBLISH_IDLE,    /* nothing to do until a change, a watch event or the interval */
    PUBLISH_NODE,    /* reading the Node */
    PUBLISH_LIST,
    PUBLISH_DELETE,  /* removing what is not wanted, one by one */
    PUBLISH_WRITE
};

/* What matters of one stored slice. */
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

/* The round under way, and what is known of the stored slices. */
struct publish {
    enum publish_step step;
    enum api_version version; /* of the body under way: it is encoded piece by piece */
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
    struct attributes attributes; /* of the device being encoded; too large for the stack */
    struct slice_compare compare;
    struct slice_compare watch_compare;
    struct slice_seen watch_now;
};

/* --- memory for one step of work: its user names it in every call that fills or reads it --- */

/* Working memory: too large for the stack. */
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

/* Everything. */
struct agent {
    const struct settings *settings; /* borrowed */
    const struct files *files;       /* borrowed */
    uint64_t now_ms;
    uint64_t random;       /* state of the jitter generator */
    uint64_t started_ms;
    bool started;          /* the first step was made */
    bool found;            /* the node was looked at */
    bool devices_known;    /* a look did not fail */
    uint32_t findings_sum; /* of the findings that were said last; 0: none */
    bool stopping;
    uint64_t stop_ms;      /* when running calls are ended */
    bool step_now;         /* something changed outside a step */
    bool order_renew;
    bool order_close_registration;
    bool order_exit;
    bool exited;
    uint64_t counter[EVENT_COUNT];
    enum event_id event;   /* whose line is under way */
    bool remedy_said;      /* in that line */
    struct log log;
    struct devices devices;
    struct registration registration;
    struct ledger ledger;
    struct api api;
    struct version version;
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
 * event_end.
 */
void event_begin(struct agent *a, enum event_id id);
/* The remedy of the event under way, where the cause asks for another one than the catalogue's. */
void event_remedy(struct agent *a, const char *text);
/* Ends the line; a warning or error without a remedy of its own gets the catalogue's. */
void event_end(struct agent *a);
/* A whole event with one text field. */
void event_say(struct agent *a, enum event_id id, const char *key, const char *text);

/* backoff.c: `base_ms` plus up to a quarter of it, at random. */
uint64_t agent_jitter(struct agent *a, uint64_t base_ms);
/* Doubles a backoff between its bounds and returns the jittered wait. */
uint64_t agent_backoff(struct agent *a, uint64_t *backoff_ms);
/* ready.c: whether the kubelet knows us and the stored slices are the wanted ones. */
bool agent_ready(const struct agent *a);

/* --- modules to each other --- */

/*
 * links.c: the next event of a server link; false: none now, or the link is closed. What is not
 * asked for in this step keeps links_deadline at now.
 */
bool link_next(struct agent *a, unsigned link, struct grpc_event *event);
/* See above. */
uint64_t links_deadline(const struct agent *a);
/* Calls that peers still wait for. */
unsigned links_calls_open(const struct agent *a);
/* Lets no new call begin on any link; running ones end. */
void links_drain(struct agent *a);

/*
 * answers.c: ends a call with one message of at most ANSWER_BYTES_MAX and status OK, or with a
 * status and a static text.
 */
void answer_message(struct agent *a, unsigned link, struct grpc_call_id id, struct view message);
void answer_status(struct agent *a, unsigned link, struct grpc_call_id id, enum grpc_status code,
                   const char *text);
/* Sends what waits for room. */
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
void calls_fetched(struct agent *a, unsigned operation, const struct claim_builder *b,
                   const char *why);

/* Opens the store when it is due, and repeats what the disk refused. */
void ledger_step(struct agent *a);
uint64_t ledger_deadline(const struct agent *a);
/* Opens the store, creating or repairing it; says in ledger.trouble why not. */
void ledger_open(struct agent *a);
/* One sentence: the store's path, what could not be done with it, why, and the remedy. */
void ledger_trouble_text(const struct agent *a, const char *doing, enum status s,
                         struct writer *why);
/*
 * Why a call of the store or the files port failed, and what to do: static text or the port's,
 * never NULL.
 */
const char *ledger_reason(const struct agent *a, enum status s);
const char *ledger_remedy(enum status s);
/* Removes what a kill may have left in the CDI root. */
void ledger_tidy(struct agent *a);
/* Slot that holds `uid`, or -1. */
int ledger_find(const struct agent *a, const char *uid);
/* Slot of another claim that holds one of the device numbers, or -1. */
int ledger_holder(const struct agent *a, uint64_t numbers, const char *uid);
/*
 * CDI file, then record. FULL_TABLE: no free slot; FULL_BUFFER: the CDI file is too long; HOST_*:
 * the store is not open, or the disk refused. Nothing is left then, and `why` gets one line.
 */
MUST_USE enum status ledger_put(struct agent *a, const struct claim_record *r, unsigned *slot,
                                struct writer *why);
/*
 * Reads the record of a held slot. HOST_DAMAGED: neither record nor slot; HOST_*: the file cannot
 * be read.
 */
MUST_USE enum status ledger_read(struct agent *a, unsigned slot, struct claim_record *out);
/* Same verdicts, from another file of the store's form. */
MUST_USE enum status ledger_read_from(struct agent *a, const char *file, unsigned slot,
                                      struct claim_record *out);
/*
 * Makes sure that the CDI file of a record is there and right. FULL_BUFFER, HOST_*: it cannot be
 * written; `why` gets one line.
 */
MUST_USE enum status ledger_ensure_cdi(struct agent *a, const struct claim_record *r,
                                       struct writer *why);
/*
 * Forgets a claim: record, then CDI file. Succeeds for claims never seen; what the disk refuses is
 * tried again later and logged. HOST_BUSY: another agent uses the store, FULL_TABLE: too many were
 * forgotten while it was not usable; nothing is forgotten then, and `why` gets one line.
 */
MUST_USE enum status ledger_remove(struct agent *a, const char *uid, struct writer *why);
/* Forgets what was unprepared while the store was not usable. */
void ledger_remove_gone(struct agent *a);
/* One flush for everything written since the last. HOST_*: `why` gets one line. */
MUST_USE enum status ledger_sync(struct agent *a, struct writer *why);

/* The connection: see above for the verbs. */
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

/* version.c */
/* A new connection: perhaps to another server. */
void version_connected(struct agent *a);
void version_step(struct agent *a);
uint64_t version_deadline(const struct agent *a);
/* Whether requests may be made in the version that version_name tells. */
bool version_ready(const struct agent *a);
/* "v1", "v1beta2", "v1beta1": the version that is spoken now. Never NULL. */
const char *version_name(const struct agent *a);
/* "resource.k8s.io/v1" and so on; never NULL. */
const char *version_group(enum api_version version);
/* Why a request that waits is not sent, in words; never NULL. */
const char *version_waits_for(const struct agent *a);
/* A record, and the end, of the answer about the API group. */
void version_record(struct agent *a, const struct kube_record *record);
void version_end(struct agent *a, enum status status);
/* The verdict on a request of `kind` in `version`: what it tells of that version. */
void version_heard(struct agent *a, enum request_kind kind, enum api_version version,
                   enum status status);

/* fetch.c */
/* Begins the GET for an operation in WAITING; false: no free fetch, no room, no API version yet. */
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
/* Another version of the API is spoken, or tried: what is stored is looked at again. */
void publish_version(struct agent *a);
/* No version of the API is served any more. */
void publish_unserved(struct agent *a);
void publish_record(struct agent *a, unsigned index, const struct kube_record *record);
void publish_end(struct agent *a, unsigned index, enum status status);

/* slice_body.c: the wanted slice as a request body */
/* Length in bytes of envelope and object. */
uint32_t slice_body_len(struct agent *a);
/*
 * Appends body bytes from `offset` until `out` is full or the body ends. STATUS_MORE: not one
 * byte was appended.
 */
MUST_USE enum status slice_body_part(struct agent *a, uint32_t offset, struct writer *out);

#endif
