/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims: what the API server allocated to one claim, gathered piece by piece and checked; the
 * record that is kept of it; and the CDI file that the record means. Owns the rules of claim
 * validation; knows neither the wire nor files. A claim is known by its UID alone. Sources: the DRA
 * prepare contract (KEP-4381), prioritized lists (KEP-4816), admin access (KEP-5018), CDI
 * specification 0.6.0.
 *
 * Invariants:
 * I1 A record that claim_end gives is valid and comes without a reason; the same object gives the
 *    same record however its bytes were split.
 * I2 A claim that failed has one line of printable ASCII as its reason.
 * I3 Every valid record fits a half of the store and reads back from it.
 * I4 A CDI file is JSON of at most CDI_BYTES_MAX, the same for the same record.
 * I5 A device that is neither shared nor under admin access is in a record once, be it as itself or
 *    as one of the node's.
 * I6 A record that is read from a CDI file is valid; from one that cdi_write wrote, it is
 *    the same, but never `rebuilt`: who has its file alone waits for an unprepare.
 */
#ifndef DRA_CLAIM_H
#define DRA_CLAIM_H

#include "dra/config.h"
#include "dra/device.h"

struct claim_id { /* as the kubelet named it */
    char uid[UID_CAP];
    char namespace_[NAMESPACE_CAP];
    char name[NAME_CAP];
};

/* Whether a text can be a claim's UID: what cannot was never prepared, and no file has its name. */
bool claim_uid_like(const char *uid);
/* Whether a text is a DNS label, but for its case and length; what is, is one name of a path. */
bool claim_label_like(struct view text);
/*
 * Whether the texts are valid as what they stand for. UID: letters, digits and '-' (it becomes part
 * of a file name); namespace alike, name also '.'; a letter or digit at both ends, none empty.
 * PEER_MALFORMED: `why` gets one printable line.
 */
MUST_USE enum status claim_id_check(const struct claim_id *id, struct writer *why);

/* One device that the claim got, and what it asked of it. */
struct claim_result {
    char request[REQUEST_BASE_CAP]; /* base name, without "/sub" */
    char share_id[UID_CAP];         /* empty: none */
    bool node;                      /* all devices of the node: the name is NODE_DEVICE_NAME */
    uint16_t number;                /* else device N < DEVICES_MAX: the name is neuron-device-N */
    uint8_t logical_neuron_core;    /* 0: not asked for */
    uint8_t ultraserver_mode;       /* node count asked for, 0: none */
    bool admin_access;
    uint8_t cores;        /* bit N: NeuronCore N of the device; 0: the whole device */
    uint16_t uverbs;      /* of an EFA device: N of /dev/infiniband/uverbsN when it was prepared */
    uint32_t efa_address; /* its PCI address, by which it is named; 0: a Neuron device */
};

/* What a claim can be reserved for (KEP-4381; a PodGroup: KEP-5729). */
enum claim_consumer_kind { CONSUMER_POD, CONSUMER_POD_GROUP, CONSUMER_KINDS };

/* What a claim is for; empty: not known. It is shown, and decides nothing. */
struct claim_consumer {
    char name[NAME_CAP];
    char uid[UID_CAP];
    uint8_t kind; /* enum claim_consumer_kind */
};

/* What the API server has of a claim that somebody holds, or waits to use. It is only shown. */
struct claim_reservation {
    struct claim_id id;
    char pool[NAME_CAP];          /* of its first device of this driver: the node */
    char resource[NAMESPACE_CAP]; /* plural kind of the first consumer, as in "pods" */
    char consumer[NAME_CAP];      /* its name */
    uint32_t consumers;           /* all of them, more than 0 */
};

/* What is kept of a prepared claim, and all that a reply, a CDI file or an undo needs. */
struct claim_record {
    struct claim_id id;
    char pool[NAME_CAP];
    char boot_id[UID_CAP]; /* empty: it could not be read */
    struct claim_consumer
        consumer;         /* the first one that it was reserved for when it was prepared */
    bool zero_numbering;  /* --device-numbering=zero at prepare time */
    uint8_t first_number; /* if so: the number of its first device in a container; else 0 */
    bool metadata;        /* --device-metadata at prepare time */
    char pod_claim[NAMESPACE_CAP]; /* if so: its name in the pod; empty: not from a template */
    bool rebuilt;          /* the API server listed it; the kubelet may never have asked for it */
    uint64_t node_devices; /* bit N: of the node's device; 0: no result is that */
    struct ultraserver_use ultraserver; /* of all results that ask for an UltraServer mode */
    enum driver_kind driver;            /* of all its results */
    uint8_t count;                      /* 1 to RESULTS_MAX */
    struct claim_result result[RESULTS_MAX];
};

/*
 * Whether names, counts and numbers are in their bounds, and the results of one request configured
 * alike.
 */
bool claim_record_valid(const struct claim_record *r);
/*
 * Copies a record, perhaps onto itself, but no place behind its last result: such memory stays
 * untouched.
 */
void claim_record_copy(struct claim_record *to, const struct claim_record *from);
/* Whether two records have the same devices for the same requests, however they are configured. */
bool claim_devices_same(const struct claim_record *x, const struct claim_record *y);
/*
 * Whether two records have the same devices for the same requests, configured alike, and the node
 * the same place in its UltraServer where that matters.
 */
bool claim_results_same(const struct claim_record *x, const struct claim_record *y);
/* The first LNC that the claim asks for; 0: none. */
uint8_t claim_logical_neuron_core(const struct claim_record *r);

/* --- gathering: fed from the projected API object, in the order of its bytes --- */

/* A claim while it is gathered. What is borrowed must live until claim_end. */
struct claim_builder {
    const struct devices *devices; /* borrowed */
    const char *pool;              /* own pool (node) name, borrowed */
    const char *driver;            /* own name, borrowed */
    const struct claim_id *wanted; /* borrowed */
    /* that of `devices`; the owner may set one that it has just read, before any configuration */
    struct ultraserver ultraserver;
    bool seen_meta;
    bool is_wanted; /* its UID is the wanted one */
    bool allocated;
    bool configured;     /* a configuration entry came: no result may follow */
    bool zero_numbering; /* set by the owner after claim_begin */
    enum status failed;  /* first failure, STATUS_OK while none */
    char why[CLAIM_ERROR_CAP];
    uint8_t lnc_source[RESULTS_MAX]; /* 0 none, 1 class, 2 claim: precedence */
    uint8_t mode_source[RESULTS_MAX];
    const char *lnc_version[RESULTS_MAX]; /* apiVersion of what was applied; NULL: nothing was */
    const char *mode_version[RESULTS_MAX];
    uint32_t named[2];                 /* by kind, bit i: what counts names result i's request */
    uint8_t overruled[2][RESULTS_MAX]; /* by kind: another value that was as good; 0: none */
    char request[RESULTS_MAX][REQUEST_CAP]; /* full names, "req" or "req/sub" */
    uint8_t cores;                          /* that the next result takes, if a share does */
    struct claim_record record;
};

/* `wanted` has passed claim_id_check. What is borrowed must live until claim_end. */
void claim_begin(struct claim_builder *b, const struct devices *devices, const char *driver,
                 const char *pool, const struct claim_id *wanted);
/*
 * Metadata of the object. Another UID: `claim ns/name got replaced …`. One under deletion is
 * allowed.
 */
void claim_meta(struct claim_builder *b, struct view uid);
/* status.allocation.devices.results[i] as the API server has it; views are borrowed. */
struct claim_result_in {
    struct view request;
    struct view driver;
    struct view pool;
    struct view device;
    struct view share_id;
    bool admin_access;
};
/*
 * One capacity that the next result takes, as a Quantity. Other capacities than CORES_CAPACITY are
 * ignored. A share of fewer NeuronCores than the device has is a part of it.
 */
void claim_capacity(struct claim_builder *b, struct view key, struct view value);
/*
 * One allocation result; those of other drivers are ignored. Unknown device, foreign pool, over
 * RESULTS_MAX, a device twice without admin access or distinct shares: the claim fails.
 */
void claim_result_add(struct claim_builder *b, const struct claim_result_in *in);
/* status.allocation.devices.config[i] as the API server has it; views are borrowed. */
struct claim_config_in {
    struct view source;     /* FromClass or FromClaim */
    struct view driver;     /* empty: no opaque configuration */
    struct view parameters; /* JSON */
    bool truncated;         /* it was longer than OPAQUE_BYTES_MAX */
    unsigned requests;      /* names that follow; 0: all requests */
    struct view request[CONFIG_REQUESTS_MAX];
};
/*
 * One configuration entry; applied to the results it names ("req" covers "req/sub"): claim over
 * class, later over earlier, each kind by itself; of two entries of one source, which both name
 * requests or both do not, the value of the earlier one is remembered as overruled. Entries of
 * other drivers and those that apply to no own result are ignored undecoded. Failure text: `error
 * applying config: <why of config.h>`.
 */
void claim_config_add(struct claim_builder *b, const struct claim_config_in *in);
/*
 * status.reservedFor[i]: the first pod or PodGroup is kept. What is neither, or cannot be one, is
 * ignored.
 */
void claim_consumer(struct claim_builder *b, struct view resource, struct view name,
                    struct view uid);
/* status.allocation is there and complete. */
void claim_allocated(struct claim_builder *b);
/* The object could not be read at this point; `what` names it in one clause. The claim fails. */
void claim_malformed(struct claim_builder *b, const char *what);
/*
 * The object was read to its end. STATUS_OK: b->record is complete (results in the API's order,
 * boot id from the devices, and the host's LNC where no result asks for one). Else b->why holds one
 * printable line: not allocated, no result of this driver, or the first failure. A part of a device
 * is all that its claim has, is /dev/neuron0 in the container whatever zero_numbering says, and has
 * its lowest cores: which ones it is to have is for cores_place.
 */
MUST_USE enum status claim_end(struct claim_builder *b);

/* "Pod" or "PodGroup". Never NULL. */
const char *claim_consumer_name(enum claim_consumer_kind kind);

/*
 * Bit N: device number N is held, by this claim alone or by shares. Results with admin access hold
 * nothing.
 */
uint64_t claim_numbers(const struct claim_record *r);
/* Whether it has a share ID for every device that it holds: others may hold shares of these. */
bool claim_shares(const struct claim_record *r);
/* Whether others may hold the rest of its devices: it has shares of EFA devices, or a part. */
bool claim_joins(const struct claim_record *r);
/* The cores of the device of which the claim has a part; 0: it has no part. */
uint8_t claim_cores(const struct claim_record *r);
/*
 * A part of a device for a claim: as many cores as `part` has, side by side, of the `cores` that
 * the device has, from a multiple of `unit` on, none of them in `used`. The smallest gap that has
 * room, so that larger claims find room later. 0: there is none; `cores` 0 has none either.
 */
uint8_t cores_place(uint8_t used, uint8_t part, unsigned cores, unsigned unit);
/* The cores of a part as "2" or "2-3", where `unit` of them count as one. */
void cores_write(struct writer *out, uint8_t part, unsigned unit);
/* Bit N: device number N is one of result `at`, however it is held. */
uint64_t claim_result_numbers(const struct claim_record *r, unsigned at);
/* Bit N: device number N is one of the claim, however it is held. */
uint64_t claim_all_numbers(const struct claim_record *r);
/*
 * Bit N: a device of the claim is /dev/neuronN in its containers, or nothing else may be: all of
 * them for a part of a device, because NEURON_RT_VISIBLE_CORES holds for a whole container.
 */
uint64_t claim_container_numbers(const struct claim_record *r);
/*
 * Whether the Neuron devices that the claim holds have consecutive numbers, which nothing but the
 * claim's constraints sees to. For core ranges and PCI addresses the kernel module adds the number
 * of the first device to the index in the container (ncdev_crwl_nc_range_mark), so a claim with a
 * gap reaches a device that it does not have. The first number does not follow the last one there,
 * on a ring either.
 */
bool claim_consecutive(const struct claim_record *r);
/* Appends which devices such a claim has, what follows, and what to ask for instead. */
void claim_scattered_write(struct writer *out, const struct claim_record *r);
/* How many device numbers a mask has. */
unsigned claim_numbers_count(uint64_t numbers);
/* Whether result `at` is the first one of its request. */
bool claim_request_begins(const struct claim_record *r, unsigned at);
/* Published name of the result's device. */
void claim_device_name(const struct claim_result *result, char out[DEVICE_NAME_CAP]);
/*
 * The attributes of device `index`, one of the result, as its claim has it: those of
 * device_attributes, and of a Neuron device logicalNeuronCore (int), the LNC of the claim's
 * containers, and logicalCores (string, such as "0-3"), the cores of that size which they have of
 * it, counted from 0 on the device. Both are left out where the type is not known.
 */
void claim_attributes(const struct claim_result *result, const struct devices *d, unsigned index,
                      struct attributes *out);

/* --- CDI --- */

/* How the names of the driver's CDI files start. */
const char *cdi_file_prefix(enum driver_kind driver);
/* File name of a claim's CDI file: prefix, uid, CDI_FILE_SUFFIX. */
void cdi_file_name(enum driver_kind driver, const char *uid, char out[CDI_FILE_NAME_CAP]);
/* The name that it has as a tombstone: prefix, uid, CDI_TOMBSTONE_SUFFIX. */
void cdi_tombstone_name(enum driver_kind driver, const char *uid, char out[CDI_FILE_NAME_CAP]);
/* Whether a file of this name is a claim's, with this suffix; `uid` is the claim's then. */
bool cdi_name_uid(enum driver_kind driver, const char *name, const char *suffix, char uid[UID_CAP]);
/*
 * CDI device id of one request of a claim: neuron.aws.com/claim=<uid>-<request>, or that of the EFA
 * driver's kind. One CDI device per base request name carries all its device nodes.
 */
void cdi_device_id(enum driver_kind driver, const char *uid, const char *request,
                   char out[CDI_ID_CAP]);
/* What a CDI file has of the host and of the settings; borrowed. */
struct cdi_host {
    const char *dev_root;
    const char *cdi_root; /* for records with metadata files */
    const char *driver;   /* the name of the driver, for these too */
};
/*
 * The CDI file of a record (CDI 0.6.0, byte-deterministic): annotations that show the record to
 * whoever looks; one device per distinct request, in the order of the results, with its deviceNodes
 * (hostPath <dev_root>/neuronN, path /dev/neuronN, or /dev/neuronK with K from first_number on,
 * ascending over the claim's devices; of an EFA device /dev/infiniband/uverbsN, with the kernel's
 * own N, which is all that libfabric's provider efa opens: README.md), its environment
 * (NEURON_LOGICAL_NC_CONFIG; NEURON_RT_VISIBLE_CORES of a part; NEURON_RT_ULTRASERVER_MODE,
 * _SERVER_ID and _NODE_ID), and with
 * metadata files the mount of its own (dra/metadata.h). Nothing applies to the file as a whole, so
 * that a container gets what its requests name and nothing more. FULL_BUFFER: over CDI_BYTES_MAX or
 * the room of `out`, which then holds a useless part.
 */
MUST_USE enum status cdi_write(const struct claim_record *r, const struct cdi_host *host,
                               struct writer *out);
/*
 * The record that a CDI file's annotations hold; its consumer, which is no part of them, is empty.
 * HOST_DAMAGED: not such a file; `r` is all zero then.
 */
MUST_USE enum status cdi_read(struct view file, struct claim_record *r);

#endif
