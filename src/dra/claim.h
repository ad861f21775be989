/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims: the allocation of one claim, gathered piece by piece and checked; the record that is kept
 * of it; and the CDI file made from the record. Owns the rules of claim validation; knows neither
 * the wire nor files. Only the UID identifies a claim. Sources: the DRA prepare contract
 * (KEP-4381), prioritized lists (KEP-4816), admin access (KEP-5018), CDI specification 0.6.0.
 *
 * Invariants:
 * I1 A record that claim_end returns with STATUS_OK is valid; the same object gives the same
 *    record, however its bytes were split.
 * I2 A failed claim has one line of printable ASCII as its reason.
 * I3 Every valid record fits a half of the store and reads back from it.
 * I4 A CDI file is JSON of at most CDI_BYTES_MAX, the same for the same record.
 * I5 A device that is neither shared nor under admin access is in a record at most once: by itself,
 *    or as one of the devices of the result that stands for the node.
 * I6 A record read from a CDI file is valid. If cdi_write wrote the file, the record read equals
 *    the record written, except that its consumer is empty and `rebuilt` is false. The file stores
 *    neither; a claim with a CDI file counts as prepared, and will be unprepared.
 */
#ifndef DRA_CLAIM_H
#define DRA_CLAIM_H

#include "dra/config.h"
#include "dra/device.h"

struct claim_id { /* A claim as the kubelet names it. */
    char uid[UID_CAP];
    char namespace_[NAMESPACE_CAP];
    char name[NAME_CAP];
};

/*
 * Whether a text has the form of a claim's UID. If not, no claim of this UID was ever prepared, and
 * no file has it in its name.
 */
bool claim_uid_like(const char *uid);
/*
 * Whether a text is a DNS label, apart from letter case and length; such a text is safe as one
 * component of a path.
 */
bool claim_label_like(struct view text);
/*
 * Checks the form of UID, namespace and name. UID and namespace: letters, digits and '-'; name:
 * also '.'; each with a letter or digit at both ends, none empty. PEER_MALFORMED: `why` gets one
 * printable line.
 */
MUST_USE enum status claim_id_check(const struct claim_id *id, struct writer *why);

/* One allocated device, and what the claim requests for it. */
struct claim_result {
    char request[REQUEST_BASE_CAP]; /* base name of the request, without "/sub" */
    char share_id[UID_CAP];         /* empty: none */
    /* the device NODE_DEVICE_NAME, which stands for all devices of the node */
    bool node;
    uint16_t number;             /* unless `node`: N of neuron-device-N, below DEVICES_MAX */
    uint8_t logical_neuron_core; /* requested LNC; 0: none */
    uint8_t ultraserver_mode;    /* requested number of nodes; 0: none */
    bool admin_access;
    uint8_t cores;        /* bit N: NeuronCore N of the device; 0: the whole device */
    uint16_t uverbs;      /* EFA device: N of /dev/infiniband/uverbsN at prepare time */
    uint32_t efa_address; /* EFA device: its PCI address, which names it; 0: a Neuron device */
};

/* What a claim can be reserved for (KEP-4381; a PodGroup: KEP-5729). */
enum claim_consumer_kind { CONSUMER_POD, CONSUMER_POD_GROUP, CONSUMER_KINDS };

/* Who uses a claim; empty: unknown. Shown to operators only; no decision depends on it. */
struct claim_consumer {
    char name[NAME_CAP];
    char uid[UID_CAP];
    uint8_t kind; /* enum claim_consumer_kind */
};

/* The API server's view of a claim that is held or awaited. Shown to operators only. */
struct claim_reservation {
    struct claim_id id;
    char pool[NAME_CAP];          /* pool (node) of the claim's first device of this driver */
    char resource[NAMESPACE_CAP]; /* plural kind of the first consumer, as in "pods" */
    char consumer[NAME_CAP];      /* name of the first consumer */
    uint32_t consumers;           /* number of consumers, more than 0 */
};

/* The record of a prepared claim: everything that a reply, a CDI file or an undo needs. */
struct claim_record {
    struct claim_id id;
    char pool[NAME_CAP];
    char boot_id[UID_CAP];          /* empty: unreadable at prepare time */
    struct claim_consumer consumer; /* the first consumer at prepare time */
    bool zero_numbering;            /* --device-numbering=zero at prepare time */
    /* with zero_numbering: number of the first device in a container; else 0 */
    uint8_t first_number;
    bool metadata; /* --device-metadata at prepare time */
    /* if `metadata`: the claim's name in the pod; empty: the claim is not made from a template */
    char pod_claim[NAMESPACE_CAP];
    /* built from the API server's list; the kubelet may never have asked for it */
    bool rebuilt;
    /* bit N: device N of the result that stands for the node; 0: no such result */
    uint64_t node_devices;
    struct ultraserver_use ultraserver; /* common to all results that ask for an UltraServer mode */
    enum driver_kind driver;            /* common to all results */
    uint8_t count;                      /* 1 to RESULTS_MAX */
    struct claim_result result[RESULTS_MAX];
};

/*
 * Whether names, counts and numbers are in bounds, and all results of one request are configured
 * alike.
 */
bool claim_record_valid(const struct claim_record *r);
/*
 * Copies a record, possibly onto itself. Memory past the last result is not touched, so that it
 * stays non-resident.
 */
void claim_record_copy(struct claim_record *to, const struct claim_record *from);
/* Whether two records have the same devices for the same requests, whatever their configuration. */
bool claim_devices_same(const struct claim_record *x, const struct claim_record *y);
/*
 * Whether two records have the same devices for the same requests with the same configuration and,
 * if that includes an UltraServer mode, the same place of the node in its UltraServer.
 */
bool claim_results_same(const struct claim_record *x, const struct claim_record *y);
/* The first LNC that the claim asks for; 0: none. */
uint8_t claim_logical_neuron_core(const struct claim_record *r);

/* --- building a record from the filtered API object, in the order of its bytes --- */

/* A claim while its record is built. Borrowed objects must live until claim_end. */
struct claim_builder {
    const struct devices *devices; /* borrowed */
    const char *pool;              /* pool (node) name of this agent, borrowed */
    const char *driver;            /* name of this agent's driver, borrowed */
    const struct claim_id *wanted; /* borrowed */
    /* copied from `devices`; until the first configuration the owner may set a newer value */
    struct ultraserver ultraserver;
    bool seen_meta;
    bool is_wanted; /* the object has the wanted UID */
    bool allocated;
    bool configured;     /* a configuration entry was added: no result may follow */
    bool zero_numbering; /* set by the owner after claim_begin */
    enum status failed;  /* the first failure, or STATUS_OK */
    char why[CLAIM_ERROR_CAP];
    /* source of the applied value: 0 none, 1 class, 2 claim; a higher source takes precedence */
    uint8_t lnc_source[RESULTS_MAX];
    uint8_t mode_source[RESULTS_MAX];
    const char *lnc_version[RESULTS_MAX]; /* apiVersion of the applied configuration; NULL: none */
    const char *mode_version[RESULTS_MAX];
    /* by kind, bit i: the applied configuration names result i's request */
    uint32_t named[2];
    /* by kind: value that a configuration of equal precedence has overruled; 0: none */
    uint8_t overruled[2][RESULTS_MAX];
    char request[RESULTS_MAX][REQUEST_CAP]; /* full names, "req" or "req/sub" */
    uint8_t cores;                          /* cores of the next result, if it is a share */
    struct claim_record record;
};

/* Starts a record. `wanted` has passed claim_id_check; pointers must live until claim_end. */
void claim_begin(struct claim_builder *b, const struct devices *devices, const char *driver,
                 const char *pool, const struct claim_id *wanted);
/*
 * Takes the UID of the object's metadata. A UID other than the wanted one fails the claim: `claim
 * ns/name got replaced …`. A claim under deletion is accepted.
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
 * Takes one capacity of the next result, as a Quantity. Capacities other than CORES_CAPACITY are
 * ignored. A share with fewer NeuronCores than the device has is a part of the device.
 */
void claim_capacity(struct claim_builder *b, struct view key, struct view value);
/*
 * Adds one allocation result; results of other drivers are ignored. The claim fails on an unknown
 * device, a foreign pool, more than RESULTS_MAX results, or a device given twice without admin
 * access or distinct shares.
 */
void claim_result_add(struct claim_builder *b, const struct claim_result_in *in);
/* status.allocation.devices.config[i] as the API server has it; views are borrowed. */
struct claim_config_in {
    struct view source;     /* FromClass or FromClaim */
    struct view driver;     /* empty: no opaque configuration */
    struct view parameters; /* JSON */
    bool truncated;         /* longer than OPAQUE_BYTES_MAX, and cut there */
    unsigned requests;      /* number of request names that follow; 0: all requests */
    struct view request[CONFIG_REQUESTS_MAX];
};
/*
 * Applies one configuration entry to the results that it names ("req" covers "req/sub"). For each
 * kind separately, an entry of the claim overrules one of the class, and a later entry overrules an
 * earlier one of the same source. When two entries of one source both name requests, or both name
 * none, the earlier value is remembered as overruled. Entries of other drivers, and entries that
 * apply to no result of this driver, are ignored undecoded. Failure text: `error applying config:
 * <why of config.h>`.
 */
void claim_config_add(struct claim_builder *b, const struct claim_config_in *in);
/*
 * Takes status.reservedFor[i], and keeps the first pod or PodGroup. Other kinds and invalid names
 * are ignored.
 */
void claim_consumer(struct claim_builder *b, struct view resource, struct view name,
                    struct view uid);
/* Records that the object has a complete status.allocation. */
void claim_allocated(struct claim_builder *b);
/* Fails the claim because its object is malformed; `what` is one clause that says what is wrong. */
void claim_malformed(struct claim_builder *b, const char *what);
/*
 * Completes the record after the whole object was passed.
 * - STATUS_OK: b->record is complete. Results are in the API's order, the boot id is that of the
 *   devices, and if no result asks for an LNC, the host's LNC applies.
 * - Otherwise: b->why holds one printable line: not allocated, no result of this driver, or the
 *   first failure.
 * A part of a device must be its claim's only result and is /dev/neuron0 in the container, whatever
 * zero_numbering says. Its cores are provisionally the lowest ones; the caller places them with
 * cores_place.
 */
MUST_USE enum status claim_end(struct claim_builder *b);

/* "Pod" or "PodGroup". Never NULL. */
const char *claim_consumer_name(enum claim_consumer_kind kind);

/* Bit N: the claim holds device N, alone or as a share. Results with admin access hold nothing. */
uint64_t claim_numbers(const struct claim_record *r);
/*
 * Whether every device that the claim holds has a share ID, so that other claims may hold other
 * shares of these devices.
 */
bool claim_shares(const struct claim_record *r);
/*
 * Whether other claims may hold the rest of the claim's devices: the claim has shares of EFA
 * devices, or a part of a Neuron device.
 */
bool claim_joins(const struct claim_record *r);
/* Bit N: the claim holds core N of its only device; 0: the claim has no part of a device. */
uint8_t claim_cores(const struct claim_record *r);
/*
 * Chooses the cores of a part: as many as `part` has, adjacent, none of them in `used`, starting at
 * a multiple of `unit`. `cores`: number of cores of the device. Chooses the smallest gap with
 * enough room, so that larger parts fit later. 0: no room, or `cores` is 0.
 */
uint8_t cores_place(uint8_t used, uint8_t part, unsigned cores, unsigned unit);
/* Writes a part as "2" or "2-3": logical cores, each of which has `unit` physical cores. */
void cores_write(struct writer *out, uint8_t part, unsigned unit);
/* Bit N: result `at` contains device N, with or without admin access. */
uint64_t claim_result_numbers(const struct claim_record *r, unsigned at);
/* Bit N: the claim contains device N, with or without admin access. */
uint64_t claim_all_numbers(const struct claim_record *r);
/*
 * Bit N: no other claim may use /dev/neuronN in the containers of this claim. Usually these are the
 * numbers at which the claim's own devices appear. For a part of a device all bits are set, because
 * NEURON_RT_VISIBLE_CORES applies to the whole container.
 */
uint64_t claim_container_numbers(const struct claim_record *r);
/*
 * Whether the claim's Neuron devices have consecutive numbers; only the claim's own constraints
 * ensure that. For core ranges and PCI addresses the kernel module adds the number of the first
 * device to the index in the container (ncdev_crwl_nc_range_mark), so a claim with a gap reaches a
 * device that it does not hold. The module does not wrap from the last number to the first, not
 * even on a ring.
 */
bool claim_consecutive(const struct claim_record *r);
/* Appends a message on a claim whose device numbers have a gap: devices, effect, remedy. */
void claim_scattered_write(struct writer *out, const struct claim_record *r);
/* Number of devices in a mask. */
unsigned claim_numbers_count(uint64_t numbers);
/* Whether result `at` is the first one of its request. */
bool claim_request_begins(const struct claim_record *r, unsigned at);
/* Published name of the result's device. */
void claim_device_name(const struct claim_result *result, char out[DEVICE_NAME_CAP]);
/*
 * The attributes of device `index` as the claim with the result `result` sees them: those of
 * device_attributes and, for a Neuron device of a known type:
 * - logicalNeuronCore (int): the LNC of the claim's containers;
 * - logicalCores (string, such as "0-3"): the claim's cores on the device, as logical cores of that
 *   LNC, counted from 0.
 */
void claim_attributes(const struct claim_result *result, const struct devices *d, unsigned index,
                      struct attributes *out);

/* --- CDI --- */

/* File name of a claim's CDI file: prefix, uid, CDI_FILE_SUFFIX. */
void cdi_file_name(enum driver_kind driver, const char *uid, char out[CDI_FILE_NAME_CAP]);
/* Name of the same file as a tombstone: prefix, uid, CDI_TOMBSTONE_SUFFIX. */
void cdi_tombstone_name(enum driver_kind driver, const char *uid, char out[CDI_FILE_NAME_CAP]);
/* Whether this is the name of a claim's file with this suffix; if so, `uid` is the claim's. */
bool cdi_name_uid(enum driver_kind driver, const char *name, const char *suffix, char uid[UID_CAP]);
/*
 * CDI device id of one request of a claim: <kind>=<uid>-<request>, with the CDI kind of the driver,
 * such as neuron.aws.com/claim. One CDI device per base request name carries all its device nodes.
 */
void cdi_device_id(enum driver_kind driver, const char *uid, const char *request,
                   char out[CDI_ID_CAP]);
/* Parts of a CDI file that come from the host and the settings; borrowed. */
struct cdi_host {
    const char *dev_root;
    const char *cdi_root; /* for metadata files */
    const char *driver;   /* the driver's name, for metadata files */
};
/*
 * Writes the CDI file of a record (CDI 0.6.0, deterministic bytes): annotations that show the
 * record, and one CDI device per distinct request, in the order of the results. A CDI device has:
 * - deviceNodes of Neuron devices: hostPath <dev_root>/neuronN; path /dev/neuronN or, with
 *   zero_numbering, /dev/neuronK, where K counts the claim's devices from first_number on;
 * - deviceNodes of EFA devices: /dev/infiniband/uverbsN with the kernel's N; libfabric's provider
 *   efa opens only these nodes (README.md);
 * - its environment: NEURON_LOGICAL_NC_CONFIG; for a part NEURON_RT_VISIBLE_CORES; for an
 *   UltraServer NEURON_RT_ULTRASERVER_MODE, _SERVER_ID and _NODE_ID;
 * - the mount of its metadata file (dra/metadata.h).
 * The file has no edits outside these CDI devices, so that a container gets only what its requests
 * name. FULL_BUFFER: the file exceeds CDI_BYTES_MAX or the room of `out`; `out` then holds an
 * incomplete file.
 */
MUST_USE enum status cdi_write(const struct claim_record *r, const struct cdi_host *host,
                               struct writer *out);
/*
 * Reads the record from a CDI file's annotations. The record's consumer stays empty, because the
 * file does not contain it. HOST_DAMAGED: the file is damaged, or not a CDI file of this agent; `r`
 * is all zero then.
 */
MUST_USE enum status cdi_read(struct view file, struct claim_record *r);

#endif
