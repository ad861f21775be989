/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims: reads and checks the allocation of one claim piece by piece, builds the record of the
 * claim, and writes a CDI file from the record. Owns the rules of claim validation; knows neither
 * the wire nor files. Only the UID identifies a claim. Sources: the DRA prepare contract
 * (KEP-4381), prioritized lists (KEP-4816), admin access (KEP-5018), CDI specification 0.6.0.
 *
 * Invariants:
 * I1 When claim_end returns STATUS_OK, the record is valid. The same object always leads to the
 *    same record, however its bytes are split into pieces.
 * I2 The reason for a claim's failure is one line of printable ASCII.
 * I3 Every valid record fits in one half of a slot of the claim store, and reads back unchanged.
 * I4 A CDI file is JSON of at most CDI_BYTES_MAX bytes. The same record and the same struct
 *    cdi_host always lead to the same bytes.
 * I5 A record has a device that is neither shared nor under admin access at most once: in a result
 *    for this device, or in the result that stands for the whole node.
 * I6 A record read from a CDI file is valid. If cdi_write wrote the file, the record read equals
 *    the record written, except that its consumer is empty and `rebuilt` is false. The file stores
 *    neither; a claim with a CDI file counts as prepared, and will be unprepared.
 */
#ifndef DRA_CLAIM_H
#define DRA_CLAIM_H

#include "dra/config.h"
#include "dra/device.h"

struct claim_id { /* identity of a claim, as the kubelet sends it */
    char uid[UID_CAP];
    char namespace_[NAMESPACE_CAP];
    char name[NAME_CAP];
};

/*
 * Whether a text has the form of a claim's UID. If not, the agent never prepared a claim with this
 * UID, and no file name contains it.
 */
bool claim_uid_like(const char *uid);
/*
 * Whether a text is a DNS label, except that it may have upper-case letters. Such a text is safe as
 * one component of a path.
 */
bool claim_label_like(struct view text);
/*
 * Whether a text has the form of the name of a claim or a pod: letters, digits, '-' and '.', the
 * first and the last of them a letter or digit.
 */
bool claim_name_like(struct view text);
/*
 * Checks the form of UID, namespace and name. Each may have letters, digits and '-', and the name
 * also '.'; each must begin and end with a letter or digit. PEER_MALFORMED: one of them is not
 * valid, and `why` gets one printable line.
 */
MUST_USE enum status claim_id_check(const struct claim_id *id, struct writer *why);

/* One allocated device, and what the claim requests for it. */
struct claim_result {
    char request[REQUEST_BASE_CAP]; /* base name of the request, without "/sub" */
    char share_id[UID_CAP];         /* share ID of the result; empty: the result is not a share */
    /* the result is for the device NODE_DEVICE_NAME, which stands for all devices of the node */
    bool node;
    uint16_t number;             /* device number, below DEVICES_MAX; 0 if `node` */
    uint8_t logical_neuron_core; /* requested LNC; 0: the claim requests none */
    /* requested number of UltraServer nodes; 0: the claim requests none */
    uint8_t ultraserver_mode;
    bool admin_access;
    /* bit N: the claim has NeuronCore N of the device; 0: it has the whole device */
    uint8_t cores;
    /* EFA device: N of /dev/infiniband/uverbsN at prepare time; Neuron device: 0 */
    uint16_t uverbs;
    uint32_t efa_address; /* PCI address of an EFA device; 0: a Neuron device */
};

/* Kinds of objects for which a claim can be reserved (Pod: KEP-4381, PodGroup: KEP-5729). */
enum claim_consumer_kind { CONSUMER_POD, CONSUMER_POD_GROUP, CONSUMER_KINDS };

/*
 * The pod or PodGroup that uses a claim; empty: unknown. Operators see the consumer. Two claims of
 * one consumer, identified by its UID, must not use the same device numbers in containers
 * (agent/claim/numbering.h).
 */
struct claim_consumer {
    char name[NAME_CAP];
    char uid[UID_CAP];
    uint8_t kind; /* kind of the consumer, as enum claim_consumer_kind */
};

/* A reserved claim as the API server lists it. Only shown to operators. */
struct claim_reservation {
    struct claim_id id;
    char pool[NAME_CAP];          /* pool (node) of the claim's first device of this driver */
    char resource[NAMESPACE_CAP]; /* resource of the first consumer, such as "pods" */
    char consumer[NAME_CAP];      /* name of the first consumer */
    uint32_t consumers;           /* number of consumers, more than 0 */
};

/* The record of a prepared claim: all that the reply, the CDI file or an unprepare call needs. */
struct claim_record {
    struct claim_id id;
    char pool[NAME_CAP];
    char boot_id[UID_CAP];          /* boot id of the host; empty: unreadable at prepare time */
    struct claim_consumer consumer; /* the first consumer at prepare time */
    /* --device-numbering=zero was set at prepare time, or the claim has a part of a device */
    bool zero_numbering;
    /* with zero_numbering: number of the claim's first device inside a container; otherwise 0 */
    uint8_t first_number;
    bool metadata; /* --device-metadata was set at prepare time */
    /*
     * if `metadata`: the claim's name in the pod's spec; empty: the claim does not come from a
     * claim template
     */
    char pod_claim[NAMESPACE_CAP];
    /*
     * the record was built from the API server's list of claims; the kubelet may never have asked
     * to prepare the claim
     */
    bool rebuilt;
    /* bit N: the result for the whole node includes device N; 0: the claim has no such result */
    uint64_t node_devices;
    /* values common to all results that request an UltraServer mode */
    struct ultraserver_use ultraserver;
    enum driver_kind driver; /* driver of all results */
    uint8_t count;           /* number of results, 1 to RESULTS_MAX */
    struct claim_result result[RESULTS_MAX];
};

/*
 * Whether a record is valid: names, counts and numbers are in bounds, and all results of one
 * request have the same configuration.
 */
bool claim_record_valid(const struct claim_record *r);
/*
 * Copies a record; `to` may equal `from`. Does not touch the memory after the last result, so that
 * this memory stays non-resident.
 */
void claim_record_copy(struct claim_record *to, const struct claim_record *from);
/* Whether two records have the same devices for the same requests, whatever their configuration. */
bool claim_devices_same(const struct claim_record *x, const struct claim_record *y);
/*
 * Whether two records have the same devices for the same requests with the same configuration. If
 * the configuration has an UltraServer mode, the node's place in its UltraServer must also be the
 * same.
 */
bool claim_results_same(const struct claim_record *x, const struct claim_record *y);
/* The LNC of the first result that has an LNC; 0: no result has one. */
uint8_t claim_logical_neuron_core(const struct claim_record *r);

/* --- building a record from the filtered API object, in the order of its bytes --- */

/* A claim while its record is built. Borrowed objects must live until claim_end. */
struct claim_builder {
    const struct devices *devices; /* table of this driver's devices, borrowed */
    const char *pool;              /* pool (node) name of this agent, borrowed */
    const char *driver;            /* name of this agent's driver, borrowed */
    const struct claim_id *wanted; /* identity that the API object must have, borrowed */
    /*
     * facts about the UltraServer, copied from `devices`; the caller may set newer values before it
     * adds the first configuration
     */
    struct ultraserver ultraserver;
    bool seen_meta;
    bool is_wanted; /* the API object has the wanted UID */
    bool allocated;
    uint8_t consumers; /* number of entries in status.reservedFor; 2: two or more */
    /* number of configuration entries added; after the first one, no result may be added */
    unsigned configs;
    /*
     * --device-numbering=zero is set; set by the caller after claim_begin, copied to the record by
     * claim_end
     */
    bool zero_numbering;
    bool ended;         /* claim_end was called: the whole object was read */
    enum status failed; /* the first failure; STATUS_OK: no failure */
    char why[CLAIM_ERROR_CAP];
    /*
     * for each result: source of the applied LNC or mode; 0 none, 1 class, 2 claim; the higher
     * source overrules the lower one
     */
    uint8_t lnc_source[RESULTS_MAX];
    uint8_t mode_source[RESULTS_MAX];
    /*
     * apiVersion of the configuration that set the LNC of the result; NULL: no configuration set it
     */
    const char *lnc_version[RESULTS_MAX];
    const char *mode_version[RESULTS_MAX];
    /* for each enum config_kind; bit i: the configuration applied to result i names its request */
    uint32_t named[2];
    /*
     * for each enum config_kind and result: the value that the applied configuration overruled
     * although both had equal precedence; 0: none
     */
    uint8_t overruled[2][RESULTS_MAX];
    /* the configuration that config_check refused; api_version NULL: none was refused */
    struct config refused;
    unsigned refused_result; /* the first result that it applies to */
    /* for each result: full name of its request, "req" or "req/sub" */
    char request[RESULTS_MAX][REQUEST_CAP];
    /* number of cores that the next result consumes (claim_capacity) */
    uint8_t cores;
    struct claim_record record;
};

/* Starts a record. `wanted` has passed claim_id_check; all arguments must live until claim_end. */
void claim_begin(struct claim_builder *b, const struct devices *devices, const char *driver,
                 const char *pool, const struct claim_id *wanted);
/*
 * Checks the UID in the object's metadata. If it is not the wanted UID, the claim fails with `claim
 * ns/name got replaced …`. A claim that is being deleted is accepted.
 */
void claim_meta(struct claim_builder *b, struct view uid);
/*
 * An allocation result, status.allocation.devices.results[i], as the API server sends it; views are
 * borrowed.
 */
struct claim_result_in {
    struct view request;
    struct view driver;
    struct view pool;
    struct view device;
    struct view share_id;
    bool admin_access;
};
/*
 * Reads one consumed capacity of the next result; `value` is a Quantity. Ignores capacities other
 * than CORES_CAPACITY. A share with fewer NeuronCores than the device has is a part of the device.
 */
void claim_capacity(struct claim_builder *b, struct view key, struct view value);
/*
 * Adds one allocation result; ignores results of other drivers. The claim fails on an unknown
 * device, a pool of another node, more than RESULTS_MAX results, or a device that the claim has
 * twice without admin access and without distinct share IDs.
 */
void claim_result_add(struct claim_builder *b, const struct claim_result_in *in);
/*
 * A configuration entry, status.allocation.devices.config[i], as the API server sends it; views are
 * borrowed.
 */
struct claim_config_in {
    struct view source; /* source of the entry: the text FromClass or FromClaim */
    /* driver of the opaque configuration; empty: the entry has no opaque configuration */
    struct view driver;
    struct view parameters; /* parameters of the opaque configuration, as JSON */
    bool truncated;         /* a field exceeded its bound, and is cut or missing */
    unsigned requests;      /* number of names in `request`; 0: the entry applies to all requests */
    struct view request[CONFIG_REQUESTS_MAX];
};
/*
 * Applies one configuration entry to the results that it names ("req" covers "req/sub"). For each
 * kind separately, an entry of the claim overrules one of the class, and a later entry overrules an
 * earlier one of the same source. When two entries of one source both name requests, or both name
 * none, the earlier value is remembered as overruled. Entries of other drivers, and entries that
 * apply to no result of this driver, are ignored undecoded. Failure text: `error applying config:
 * <why of config.h> (config[N] of the allocation, <source>, <requests>)`.
 */
void claim_config_add(struct claim_builder *b, const struct claim_config_in *in);
/*
 * Counts status.reservedFor[i] in `consumers`. Stores the first entry that is a pod or a PodGroup;
 * does not store other kinds and invalid names.
 */
void claim_consumer(struct claim_builder *b, struct view resource, struct view name,
                    struct view uid);
/* Records that the object has a complete status.allocation. */
void claim_allocated(struct claim_builder *b);
/* Fails the claim because its object is malformed; `what` says in one clause what is wrong. */
void claim_malformed(struct claim_builder *b, const char *what);
/*
 * Completes the record after the caller has passed the whole object.
 * - STATUS_OK: b->record is complete. Results are in the API's order, the boot id comes from
 *   `devices`, and if no result asks for an LNC, the host's LNC applies.
 * - Otherwise: b->why is one printable line. It says that the claim is not allocated or has no
 *   result of this driver, or it is the text of the first failure.
 * A part of a device must be its claim's only result. In the container, the device is /dev/neuron0,
 * even if the caller did not set zero_numbering. The cores of the part are provisionally the lowest
 * ones of the device; the caller chooses the final cores with cores_place.
 */
MUST_USE enum status claim_end(struct claim_builder *b);
/*
 * Gives a complete claim the LNC of `before`, its held record, if both have the same devices in the
 * same boot and no configuration asks for an LNC: until the next boot, a change of the node's
 * logical_nc_config is for new claims alone, because containers of one pod must agree. Call it
 * after claim_end.
 */
void claim_keep_lnc(struct claim_builder *b, const struct claim_record *before);

/* Name of a consumer kind, "Pod" or "PodGroup". Never NULL. */
const char *claim_consumer_name(enum claim_consumer_kind kind);

/*
 * Bit N: the claim holds device N, or a share of it. A result with admin access does not hold its
 * device.
 */
uint64_t claim_numbers(const struct claim_record *r);
/*
 * Whether the claim holds only shares of devices: each result that holds a device has a share ID.
 * Other claims may then hold other shares of these devices.
 */
bool claim_shares(const struct claim_record *r);
/*
 * Whether other claims may hold the remaining shares or cores of the claim's devices: the claim has
 * shares of EFA devices, or a part of a Neuron device.
 */
bool claim_joins(const struct claim_record *r);
/* Bit N: the claim holds core N of its only device; 0: the claim has no part of a device. */
uint8_t claim_cores(const struct claim_record *r);
/*
 * Chooses cores for a part of a device: as many as `part` has bits, adjacent, starting at a
 * multiple of `unit`, and none that is in `used`. `cores`: number of cores of the device. Chooses
 * the smallest gap that is large enough, so that larger parts fit later. Returns the cores as bits;
 * 0: no gap is large enough, or `cores` is 0.
 */
uint8_t cores_place(uint8_t used, uint8_t part, unsigned cores, unsigned unit);
/*
 * Writes the cores of a part of a device, a bit for each physical core, as a range of logical
 * cores, "2" or "2-3"; each logical core has `unit` physical cores.
 */
void cores_write(struct writer *out, uint8_t part, unsigned unit);
/* Bit N: the result with index `at` contains device N, with or without admin access. */
uint64_t claim_result_numbers(const struct claim_record *r, unsigned at);
/* Bit N: the claim contains device N, with or without admin access. */
uint64_t claim_all_numbers(const struct claim_record *r);
/*
 * Bit N: no other claim may use /dev/neuronN in the containers of this claim. Usually the bits are
 * the numbers that the claim's own devices have in its containers. For a part of a device all bits
 * are set, because NEURON_RT_VISIBLE_CORES applies to the whole container.
 */
uint64_t claim_container_numbers(const struct claim_record *r);
/*
 * Whether the claim's Neuron devices have consecutive numbers; only constraints in the claim itself
 * ensure this. For core ranges and PCI addresses, the kernel module adds the number of the claim's
 * first device to a device's index in the container (ncdev_crwl_nc_range_mark). So if the numbers
 * have a gap, the container reaches a device that the claim does not hold. The module does not wrap
 * from the last number to the first, even if the devices form a ring.
 */
bool claim_consecutive(const struct claim_record *r);
/*
 * Appends what to do about a claim whose devices are not consecutive: delete the pod, and ask for
 * as many consecutive devices as the claim has, by an attribute whose full name is in the text. If
 * the board has no attribute for this number, the text names the next larger number that has one.
 * If no such number exists, or `board` is NULL (an instance type without a board row), the text
 * suggests a selector on deviceId instead.
 */
void claim_consecutive_write(struct writer *out, const struct claim_record *r,
                             const struct board *board);
/*
 * Appends a message that says which devices of the claim have numbers with a gap, what this causes,
 * and what to do.
 */
void claim_scattered_write(struct writer *out, const struct claim_record *r,
                           const struct board *board);
/* Number of bits that are set in a mask of devices or cores. */
unsigned claim_numbers_count(uint64_t numbers);
/* Whether the result with index `at` is the first one of its request. */
bool claim_request_begins(const struct claim_record *r, unsigned at);
/* Name under which the result's device is published. */
void claim_device_name(const struct claim_result *result, char out[DEVICE_NAME_CAP]);
/*
 * Builds the attributes of the device with index `index` for the claim that has `result`: the
 * attributes of device_attributes and, for a Neuron device of a known type:
 * - logicalNeuronCore (int): the LNC of the claim's containers;
 * - logicalCores (string, such as "0-3"): the claim's cores on the device, as logical cores of that
 *   LNC, counted from 0.
 */
void claim_attributes(const struct claim_result *result, const struct devices *d, unsigned index,
                      struct attributes *out);

/* --- CDI files --- */

/* File name of a claim's CDI file: prefix, uid, CDI_FILE_SUFFIX. */
void cdi_file_name(enum driver_kind driver, const char *uid, char out[CDI_FILE_NAME_CAP]);
/* Name of the CDI file after it became a tombstone: prefix, uid, CDI_TOMBSTONE_SUFFIX. */
void cdi_tombstone_name(enum driver_kind driver, const char *uid, char out[CDI_FILE_NAME_CAP]);
/*
 * Whether `name` is the name of a claim's CDI file or tombstone with this suffix; if so, `uid` gets
 * the claim's UID. Returns false if the middle part of `name` does not have the form of a UID
 * (claim_uid_like): the agent writes no such file.
 */
bool cdi_name_uid(enum driver_kind driver, const char *name, const char *suffix, char uid[UID_CAP]);
/*
 * CDI device id of one request of a claim: <kind>=<uid>-<request>, with the CDI kind of the driver,
 * such as neuron.aws.com/claim. There is one CDI device for each base request name; it has all
 * device nodes of the request.
 */
void cdi_device_id(enum driver_kind driver, const char *uid, const char *request,
                   char out[CDI_ID_CAP]);
/* Values in a CDI file that come from the host and the settings; all are borrowed. */
struct cdi_host {
    const char *dev_root;
    const char *cdi_root; /* directory of the metadata files that containers mount */
    const char *driver;   /* the driver's name, for the paths of metadata files */
};
/*
 * Writes the CDI file of a record (CDI 0.6.0, deterministic bytes): annotations that show the
 * record, and one CDI device per distinct request, in the order of the results. A CDI device has:
 * - deviceNodes of Neuron devices: hostPath <dev_root>/neuronN; path /dev/neuronN or, with
 *   zero_numbering, /dev/neuronK, where K counts the claim's devices from first_number on;
 * - deviceNodes of EFA devices: /dev/infiniband/uverbsN with the kernel's N; libfabric's provider
 *   efa opens only these nodes (README.md);
 * - environment variables: NEURON_LOGICAL_NC_CONFIG; for a part of a device,
 *   NEURON_RT_VISIBLE_CORES; for an UltraServer, NEURON_RT_ULTRASERVER_MODE, _SERVER_ID and
 *   _NODE_ID;
 * - if the record has `metadata`, the mount of its metadata file (dra/metadata.h).
 * The file has no edits outside these CDI devices, so that a container gets only the devices of its
 * own requests. FULL_BUFFER: the file exceeds CDI_BYTES_MAX or the room of `out`; `out` then
 * contains an incomplete or too long file.
 */
MUST_USE enum status cdi_write(const struct claim_record *r, const struct cdi_host *host,
                               struct writer *out);
/*
 * Reads the record from a CDI file's annotations. The record's consumer stays empty, because the
 * file does not contain a consumer. HOST_DAMAGED: the file is damaged, or this agent did not write
 * it; `r` is then all zero.
 */
MUST_USE enum status cdi_read(struct view file, struct claim_record *r);

#endif
