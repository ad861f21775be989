/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every limit of the program: what it bounds, why it has this value, and what happens when it is
 * reached ("Longer:", "More:", "Full:", "Reached:"). Owns numbers only; cfg/budget.h relates them.
 */
#ifndef CFG_LIMITS_H
#define CFG_LIMITS_H

#include "cfg/limits_read.h"
#include "cfg/limits_wire.h"

/* ---- names (Kubernetes API) ---- */
/*
 * Text of a claim UID with its NUL: a UUID is 36 characters; 63 leaves room for other API servers.
 * Longer: the claim is refused.
 */
#define UID_CAP 64u
/*
 * Namespace with NUL: a DNS label, RFC 1123, 63 characters. Longer: no such namespace exists; the
 * claim is refused.
 */
#define NAMESPACE_CAP 64u
/*
 * Object name with NUL: a DNS subdomain of at most 253 characters; also node and pool name. Longer:
 * no such object can exist; the claim or setting is refused.
 */
#define NAME_CAP 254u
/*
 * Request name with NUL: "request/subrequest", two DNS labels and a slash, 127 characters. Longer:
 * the claim is refused.
 */
#define REQUEST_CAP 128u
/* Base request name with NUL: a DNS label, 63 characters. Longer: the claim is refused. */
#define REQUEST_BASE_CAP 64u
/*
 * Device name with NUL: a DNS label, 63 characters. Longer: not a device of this driver; the claim
 * is refused.
 */
#define DEVICE_NAME_CAP 64u
/*
 * Driver name with NUL: at most 63 characters (ResourceSlice validation). Longer: not this driver;
 * the entry is ignored.
 */
#define DRIVER_CAP 64u
/*
 * resourceVersion with NUL. The value is opaque; etcd writes decimal int64 numbers, so 63
 * characters leave room. Longer: cut; the server then refuses the watch as too old, and slices are
 * listed again.
 */
#define RESOURCE_VERSION_CAP 64u
/*
 * Token with which a list continues on its next page, with NUL. The token is opaque; today it is
 * the base64 text of a namespace, a name and about 70 bytes: 520 characters. Longer: the token is
 * dropped; the list fails and starts again later.
 */
#define CONTINUE_CAP 640u
/* A kubelet's version with NUL, such as v1.34.1-eks-113cf36. Longer: cut. */
#define KUBELET_VERSION_CAP 64u

/* ---- node (kernel module: at most 64 devices a node, neuron_cdev.c) ---- */
/*
 * Devices of one node; also the width of the device masks. More directories in sysfs are reported
 * and ignored.
 */
#define DEVICES_MAX 64u
/*
 * EFA devices of one node: no instance type has more than 32 (EC2's network cards), Trainium types
 * have 16. More are reported and left out.
 */
#define EFAS_MAX 32u
/*
 * Shares of one EFA device: the 16 devices of a Trainium type then have 256 shares, one for each
 * claim that the store holds (CLAIMS_MAX). More: --efa-share refuses the number.
 */
#define EFA_SHARES_MAX 16u
/*
 * NeuronCores of a device that claims can share: a record has one bit for each core, and the
 * largest device has 8 cores. More: the device is not shared.
 */
#define SHARED_CORES_MAX 8u
/*
 * Devices whose health files stay open: every known instance type has at most sixteen devices.
 * More: each probe opens the files of the further devices again.
 */
#define HEALTH_DEVICES_KEPT 16u
/* Smallest size that sysfs reports for its files: the smallest page. Less: not a sysfs file. */
#define SYSFS_PAGE_MIN 4096
/*
 * Neighbours that connected_devices can name: a device in a torus has four. More: connected_devices
 * is reported as an issue and not published.
 */
#define NEIGHBOURS_MAX 4u
/*
 * One sysfs value: unhealthy_components lists ten words of at most 26 characters. A longer value is
 * reported as an issue and ignored.
 */
#define SYSFS_VALUE_CAP 256u
/*
 * One class file of an UltraServer node: 16 hexadecimal digits, or a list of four modes. Longer:
 * cut, and then invalid.
 */
#define ULTRASERVER_TEXT_CAP 24u
/*
 * Highest UltraServer mode of the kernel module and the runtime: mode 1 means four nodes, modes 2
 * and 3 mean two nodes, mode 4 means one node.
 */
#define ULTRASERVER_MODE_MAX 4u
/* Nodes that a claim can ask to use as one machine (AWS Neuron DRA documentation: 1, 2 or 4). */
#define ULTRASERVER_NODES_MAX 4u
/*
 * Target of a link in bus/pci/devices: 17 bytes for the path to sysfs's device tree, 16 bytes for
 * the root complex, and 13 bytes for each of up to 17 bridges.
 */
#define LINK_BYTES_MAX 256u
/*
 * Cores of one device whose metrics are read: the largest device has 8 cores. More: the further
 * cores have no series. One reading covers the files of one device, so --device-metrics costs at
 * most three system calls for each of 86 files in every --health-interval, and
 * --neuron-monitor-metrics as many for each of 40 files.
 */
#define TELEMETRY_CORES_MAX 8u
/*
 * Metric files of a device: five errors and its power, and for each core eight errors, two kinds of
 * memory and five uses of device memory. More: does not compile.
 */
#define TELEMETRY_VALUES (6u + 15u * TELEMETRY_CORES_MAX)
/*
 * Series of one scrape: DEVICES_MAX devices of TELEMETRY_CORES_MAX cores, all held, with
 * --device-metrics, --neuron-monitor-metrics and --efa, and each kind of request with each class of
 * response; without the further pods of claims (CLAIM_PODS_MAX). More: a unit test fails; whoever
 * adds a label or file stays below this number or justifies a higher one.
 */
#define METRICS_SERIES_MAX 10800u
/* Each of server_id_2, server_id_4 and reservation_id: 16 hexadecimal digits and NUL. */
#define SERVER_ID_CAP 17u
/*
 * Attributes of one device (ResourceSlice validation: 32 attributes and capacities). Never reached:
 * the agent publishes fewer than 25; a stored device with more counts as different.
 */
#define ATTRIBUTES_MAX 32u
/*
 * Amount of memory or of huge pages that a pod needs for one EFA device: 1 TiB, half of the memory
 * of the largest type; with more, no node has room for a claim of two devices. More:
 * --efa-node-resources refuses the quantity.
 */
#define NODE_RESOURCE_BYTES_MAX (UINT64_C(1) << 40)
/*
 * Attribute key with NUL: a domain of 63 characters, a slash, and a C identifier of 32. Longer in a
 * stored slice: the slice counts as different and is rewritten.
 */
#define ATTRIBUTE_KEY_CAP 97u
/*
 * String attribute with NUL: 64 bytes (ResourceSlice validation). Longer in a stored slice: the
 * slice counts as different and is rewritten.
 */
#define ATTRIBUTE_VALUE_CAP 65u

/* ---- claims ---- */
/*
 * Claims prepared at the same time: 64 claims that hold one device each, 64 claims with admin
 * access, and a reserve of as many claims again. Reached: the claim is refused with this reason.
 */
#define CLAIMS_MAX 256u
/*
 * Claims of one NodePrepareResources or NodeUnprepareResources call. More: the call ends with
 * RESOURCE_EXHAUSTED.
 */
#define CLAIMS_PER_CALL_MAX 64u
/* Allocation results of one claim (API maximum 32). More: the claim is refused. */
#define RESULTS_MAX 32u
/*
 * Claims in all running calls: 128 for prepare calls, and 64 (one full call) that only unprepare
 * calls use. Reached: the call ends with RESOURCE_EXHAUSTED and the kubelet retries.
 */
#define OPERATIONS_MAX 192u
/* Claim GETs in flight at the same time; further ones wait. */
#define FETCHES_MAX 8u
/*
 * Claim GETs in flight for a single call: half of FETCHES_MAX, so that a call whose GETs all hang
 * does not delay another call. Reached: the next GET waits.
 */
#define FETCHES_PER_CALL_MAX 4u
/*
 * Claim GETs reserved for calls that have no GET in flight. Reached: a call that has a GET in
 * flight waits before it starts another.
 */
#define FETCHES_SPARE 2u
/*
 * One opaque configuration (API maximum 10 KiB, resource/v1 OpaqueParametersMaxLength). Longer: the
 * claim is refused.
 */
#define OPAQUE_BYTES_MAX 10240u
/*
 * Requests named by one configuration entry: as many as a claim can have. More: the claim is
 * refused.
 */
#define CONFIG_REQUESTS_MAX 32u
/*
 * Strict decoding errors of one configuration that the error text lists. More: the text gives their
 * number, to stay under CLAIM_ERROR_CAP.
 */
#define CONFIG_STRICT_ERRORS_MAX 3u
/*
 * Bytes that an error text repeats of a name or value from outside: the length of a DNS label.
 * Longer: cut, and ended by "...".
 */
#define SHOWN_BYTES_MAX 63u
/*
 * Error text of one claim with NUL. One line; the kubelet puts it into an Event of at most 1 KiB.
 * Longer: cut.
 */
#define CLAIM_ERROR_CAP 512u

/* ---- claim store ---- */
/*
 * Encoded claim record: uid, names and 32 results of at most 200 bytes. Longer: the claim is
 * refused.
 */
#define STORE_RECORD_MAX 8128u
/*
 * One half of a slot: header and record; a multiple of the 4096-byte page, so that no two halves
 * share a page. Never reached: STORE_RECORD_MAX bounds the record.
 */
#define STORE_HALF_BYTES 8192u
/*
 * Sequence numbers that the store skips when it opens with a damaged half. The half may become
 * readable again; because the store skips more numbers than it has ever used, the half then counts
 * as older than every new one. Never reached: a sequence number has 64 bits.
 */
#define STORE_SEQUENCE_SKIP (UINT64_C(1) << 32)
/* File header area: two copies of 4096 bytes. Never reached: a copy uses 36 bytes. */
#define STORE_HEADER_BYTES 8192u

/*
 * One claim's entry in a response: 32 devices of at most 640 bytes (names of 63, 253, 63 and 191
 * characters), UID and lengths. Never reached: cfg/budget.h asserts it.
 */
#define REPLY_ENTRY_BYTES_MAX 24576u

/*
 * Claim records kept in memory, those written or read last: a pod has one to three claims, and the
 * reply to its prepare call is built from their records. More claims in one call: the other records
 * are read from the store again.
 */
#define LEDGER_RECORDS_MAX 4u

/* ---- CDI ---- */
/*
 * CDI file of one claim: 32 devices of about 250 bytes, environment and annotations. Longer: the
 * claim is refused.
 */
#define CDI_BYTES_MAX 32768u
/*
 * File name of a CDI or device metadata file with NUL: prefix, UID and suffix. Never reached:
 * UID_CAP bounds the only part that varies.
 */
#define CDI_FILE_NAME_CAP 128u
/* Path of a device metadata file in a container, with NUL. Never reached: names are bounded. */
#define METADATA_PATH_CAP 512u
/* API versions in which a device metadata file repeats its content: v1beta1, v1alpha1. */
#define METADATA_VERSIONS 2u
/*
 * One part of a device metadata file: the head with its names, and a device with ATTRIBUTES_MAX
 * attributes of the longest key and value, with every byte escaped. Never reached.
 */
#define METADATA_PART_MAX 24576u
/*
 * Held claims whose CDI files the agent compares with the claims' records in one step; a full step
 * takes half a millisecond. More: the next step compares them.
 */
#define RECONCILE_FILES_PER_STEP 8u
/*
 * CDI device id with NUL: kind "=" UID "-" request name. Never reached: UID_CAP and
 * REQUEST_BASE_CAP bound the variable parts.
 */
#define CDI_ID_CAP 192u

/* ---- connections ---- */
/*
 * Connections to each server socket. Full: the agent closes a failed connection, or else one of the
 * peer that has the most, idle connections first.
 */
#define REGISTRATION_LINKS 4u
#define SERVICE_LINKS 4u
#define GRPC_HEALTH_LINKS 4u
#define GRPC_LINKS (REGISTRATION_LINKS + SERVICE_LINKS + GRPC_HEALTH_LINKS)
/*
 * Connections that share GRPC_BUFFERS: those of the unix sockets. Connections of the health port,
 * which any process can reach, get no buffer. Never reached: each connection is one share.
 */
#define GRPC_SHARES (REGISTRATION_LINKS + SERVICE_LINKS)
/*
 * Connections to the metrics port: METRICS_SCRAPES for scrapes, and as many for other pages and for
 * connections that have sent no request yet. Full: the agent closes a connection that waits or
 * whose response stalls; if there is none, a new connection waits in the kernel's queue.
 */
#define METRICS_LINKS 6u
/*
 * Metrics responses that are sent at the same time: to two Prometheus servers and a person. Full:
 * the agent ends a response that stalls, or one to a peer that has more of them than the new peer;
 * if there is none, the new request gets 503. Other pages do not count.
 */
#define METRICS_SCRAPES 3u
#define SERVER_LINKS (GRPC_LINKS + METRICS_LINKS)
#define RESPONSES_MAX (GRPC_LINKS * RESPONSES_PER_LINK)

/*
 * Health watches of one connection: a client needs one for each service (liveness, readiness, the
 * empty name), and one more while an old watch ends. More: RESOURCE_EXHAUSTED.
 */
#define GRPC_HEALTH_SUBSCRIPTIONS_PER_LINK 4u

/*
 * Health streams of one connection (NodeWatchResources): a kubelet has one stream, and a second one
 * while the old stream ends. More: RESOURCE_EXHAUSTED.
 */
#define DEVICE_STREAMS_PER_LINK 2u
/*
 * How long the kubelet trusts a report of the devices' health (the kubelet's default), and how
 * often the agent repeats an unchanged report. Longer: the kubelet treats the health as unknown.
 */
#define DEVICE_LEASE_MS 30000u
#define DEVICE_REPORT_MS 10000u

/*
 * Log lines about TCP peers that broke the protocol, in CONNECTION_LINES_MS: peers must not be able
 * to fill the log. More: counted, and logged as one number.
 */
#define CONNECTION_LINES_MAX 4u
#define CONNECTION_LINES_MS 60000u

/*
 * Engine events handled for one connection in one step, so that no peer keeps the others waiting.
 * More: in the next step.
 */
#define LINK_EVENTS_PER_STEP 64u

/* ---- Kubernetes API client ---- */
/* Bearer token with NUL: service account tokens are 1 to 2 KiB. Longer: refused with the reason. */
#define TOKEN_CAP 4096u
/*
 * Record that the field filter assembles: one opaque configuration with 32 request names. Longer:
 * the field is left out and the record is marked `truncated`.
 */
#define KUBE_RECORD_BYTES_MAX 15360u
/*
 * Open messages in the path of a kept field: Unknown, object, status, allocation, devices, config,
 * deviceConfiguration, opaque, parameters; watch adds two. Never reached: the generated
 * rules are checked against it.
 */
#define KUBE_DEPTH_MAX 16u
/*
 * One watch event: etcd limits an object to 1.5 MiB, client-go limits a frame to 16 MiB. Longer:
 * the agent ends the watch.
 */
#define KUBE_WATCH_FRAME_MAX 16777216u
/*
 * URL path with query and NUL: names of 253 and 63 bytes, percent-encoded selectors. Never reached:
 * names are bounded by NAME_CAP and NAMESPACE_CAP.
 */
#define KUBE_PATH_CAP 1024u
/*
 * Encoded metadata of an Event, or its reference to an object: two names, a namespace and a UID.
 * Never reached: cfg/budget.h asserts it.
 */
#define KUBE_REFERENCE_BYTES_MAX 768u
/*
 * Claims of one page of a list, the page size of client-go and kubectl: with 2 KiB for each, a page
 * is 1 MiB. A node that has lost its claim store lists all claims of the cluster, so each request
 * must stay small. A list with resourceVersion=0 would be cheaper, but its response may be older
 * than the allocation of a claim, and the server ignores the page size for it (Kubernetes API
 * concepts, "Semantics for get and list"). More: in further pages.
 */
#define CLAIM_LIST_PAGE 500u
/*
 * Time for the command `reservations` to list all claims: enough for a new pod's network to start,
 * for a restart of the API server, and for 50,000 claims; well below the time limit of the chart's
 * Job. Longer: the command fails with the reason.
 */
#define RESERVATIONS_LIMIT_MS 30000u
/* Text of a Status message, or of a response that is not protobuf, with NUL. Longer: cut. */
#define KUBE_MESSAGE_CAP 512u
/* Slices of this driver in one list: twice as many as wanted. More: deleted in further rounds. */
#define SLICES_SEEN_MAX 16u
/*
 * Most slices into which the pool is cut: DEVICES_MAX in slices of SLICE_DEVICES_MIN. Reached: the
 * pool is not cut further.
 */
#define SLICES_MAX 8u
/*
 * Devices of one slice (ResourceSlice validation: 128; 64 when one has taints, counters or lists).
 * More: the pool is cut into several slices.
 */
#define SLICE_DEVICES_MAX 64u
/*
 * Fewest devices in one slice: when a server refuses slices as too large, they are halved down to
 * this. Reached: the refused slice is sent again at INVALID_RETRY_MS.
 */
#define SLICE_DEVICES_MIN 8u
/* First cause of a refusal and its field path, each with NUL. Longer: cut. */
#define SLICE_CAUSE_CAP 256u
/*
 * Devices and attributes that the log names as left out of slices. More: left out without a log
 * line.
 */
#define OMITTED_LOGGED_MAX 16u

/* ---- metrics ---- */
/*
 * One line of the metrics text: a device with its driver, claim and pod, names of 253 and 63
 * characters and two UIDs, every character escaped. Never reached: names and UIDs need no escapes.
 */
#define METRICS_LINE_BYTES_MAX 1664u

/* ---- the kubelet's list of pods, for the metrics ---- */
/*
 * Least time between two lists: a scrape comes every 15 to 60 s, and two scrapers need one list.
 * Sooner: the last list is shown. A list that is complete waits at most until then for pages of
 * metrics that are being sent. Longer: these pages are given up.
 */
#define POD_LIST_AGE_MS 10000u
/*
 * Bytes that arrive for one list, HTTP/2 included: 250 pods of 16 KiB, with the devices and CPUs of
 * each container; gRPC clients in Go accept as many by default. More: the list is given up.
 */
#define POD_LIST_BYTES_MAX 4194304u
/*
 * Pairs of a held claim and a pod, and the bytes of the pods' names: the 110 pods of a kubelet by
 * default, each with a claim of each driver, and names of 36 characters on average. More: left out,
 * and the agent says so.
 */
#define CLAIM_PODS_MAX 256u
#define CLAIM_PODS_BYTES 8192u
/*
 * Buffers of the connection to the kubelet: bytes that arrive in one turn of the loop, a request
 * without a body and acknowledgements, and one header field, encoded and decoded, which is also the
 * header list size that the agent announces. Full: the kubelet waits; a longer field:
 * ENHANCE_YOUR_CALM, so that the list is given up.
 */
#define POD_LIST_RX_BYTES 8192u
#define POD_LIST_TX_BYTES 1024u
#define POD_LIST_FIELD_BYTES 2048u

/* ---- Events and claim status ---- */
/*
 * Kubernetes Events that wait to be sent, or are kept to count repetitions. Full: a new Event
 * replaces the oldest one that was sent completely; if there is none, the new Event is dropped and
 * counted.
 */
#define K8S_EVENTS_MAX 16u
/* `note` of an Event with NUL: at most 1024 bytes (validation of events.k8s.io/v1). Longer: cut. */
#define K8S_EVENT_NOTE_CAP 1025u
/*
 * An Event that repeats within this time after the last equal one is counted in its series, not
 * created again.
 */
#define K8S_EVENT_WINDOW_MS 900000u
/*
 * The series of an Event is updated at most this often: an Event that repeats for a day costs 288
 * requests.
 */
#define K8S_EVENT_SERIES_MS 300000u
/*
 * Requests for Events: K8S_EVENT_BURST at once, then one every K8S_EVENT_REFILL_MS. 10 at once are
 * enough for a node with an issue on every device. More: they wait.
 */
#define K8S_EVENT_BURST 10u
#define K8S_EVENT_REFILL_MS 30000u
/* An Event about the Node waits this long for the Node's UID; then the name is used instead. */
#define K8S_EVENT_UID_MS 30000u
/* Dropped Events are logged at most this often. */
#define K8S_EVENTS_DROPPED_MS 60000u
/* Pause between two requests for Events, or two for claim status: two a second at most. */
#define OUTGOING_GAP_MS 500u
/* Pause of Event or claim status requests after a 403: only an operator can grant the right. */
#define OUTGOING_DENIED_MS 1800000u
/*
 * Attempts to write the status of one claim while the server fails. Reached: that claim's status is
 * not written; the claim itself is not affected.
 */
#define CLAIM_STATUS_TRIES 6u
/*
 * Unprepared claims whose status entries must still be removed. Full: the oldest one is dropped;
 * the server clears the entries itself when it deallocates the claim.
 */
#define CLAIM_STATUS_GONE_MAX 16u

/* ---- settings ---- */
/*
 * IP address as text with NUL: the longest IPv6 address, with IPv4 at its end, has 45 characters.
 * Longer: refused.
 */
#define ADDRESS_TEXT_CAP 46u
/*
 * Entries of the environment that are read. Never reached: execve(2) passes at most 6 MiB of texts
 * and pointers.
 */
#define ENVIRONMENT_MAX 1048576u
/*
 * Longest word that is compared with known words to suggest what the user meant: 1.5 times the
 * length of the longest flag. Longer: nothing is suggested.
 */
#define SUGGEST_BYTES_MAX 64u
/*
 * The lowest verbosity (-v) that shows debug events: as in klog, where 4 is "debug level verbosity"
 * (Kubernetes logging conventions). Lower: the level is info.
 */
#define KLOG_DEBUG_VERBOSITY 4u
/* The highest verbosity: klog stores it as an int32. Higher: refused. */
#define KLOG_VERBOSITY_MAX 2147483647u
/*
 * Shortest reconcile and health intervals: each reconcile round costs API requests, and each health
 * probe costs a few file reads. Shorter: refused.
 */
#define RECONCILE_INTERVAL_MIN_MS 1000u
#define HEALTH_INTERVAL_MIN_MS 100u
/*
 * How long slices and claims keep the devices after a probe found none: reloading the kernel module
 * takes less. An agent that starts meanwhile keeps the devices of the stored slices for the same
 * time. Reached: the agent publishes the result of the next probe that finds none, and refuses to
 * prepare claims on the missing devices.
 */
#define DEVICES_GRACE_MS 30000u
/*
 * How long a device counts as unhealthy after an error counter of the kernel module rose: the
 * counter does not show when the fault is over, and an operator checks the node in less time.
 * Reached: the device counts as healthy.
 */
#define HEALTH_ERROR_MS 600000u
/*
 * How often a device can become unhealthy, each time within HEALTH_FALLS_MS after the last, and
 * still become healthy with the next probe without an error. More: the device must first stay free
 * of errors for HEALTH_HOLD_MS, doubled each time, up to HEALTH_HOLD_MAX_MS. So a device causes at
 * most 2 * (HEALTH_FALLS_FREE + 5) writes in the first hour and four in each later hour, whatever
 * its files contain.
 */
#define HEALTH_FALLS_FREE 3u
#define HEALTH_FALLS_MS 3600000u
#define HEALTH_HOLD_MS 60000u
#define HEALTH_HOLD_MAX_MS 1800000u
/*
 * Probes that look at each device node after the directory of the nodes has changed: a change in
 * the same tick of the kernel's clock, at most 10 ms, as the one before does not show, and two
 * probes may fall into one tick, but not three (ERROR_EVENT_GAP_MS, HEALTH_INTERVAL_MIN_MS).
 */
#define NODE_PROBES_MIN 3u
/*
 * After the kernel module reported an error and the agent probed the node, the agent ignores
 * further reports for this time, so that a storm of errors costs one probe a second.
 */
#define ERROR_EVENT_GAP_MS 1000u
/* A device's health reasons as text, with NUL: all seventeen take 288 characters. Never reached. */
#define HEALTH_TEXT_CAP 320u
/* Longest interval, one year: sums of times cannot overflow. Longer: refused. */
#define INTERVAL_MAX_MS UINT64_C(31536000000)

/* ---- host ---- */
/*
 * Static memory of the host layer: TLS arena, PEM and kubeconfig texts, one probe of the node and
 * one of its EFA devices, descriptors of two drivers, 64 KiB of values that are untouched without
 * --device-metrics and --neuron-monitor-metrics. More: does not compile.
 */
#define HOST_BYTES_MAX 684032u

/*
 * Most descriptors that the process has open: connections, listeners, API connection, the kubelet's
 * list of pods, store, probe, standard streams, /proc/self/statm, one for the error reports of each
 * device, five health files of each of HEALTH_DEVICES_KEPT devices, and the pending connections of
 * two TCP ports. If the system allows fewer, the program ends with the reason.
 */
#define DESCRIPTORS_NEEDED (64u + DEVICES_MAX + 5u * HEALTH_DEVICES_KEPT + 2u * PENDING_LINKS)

/*
 * One error text of the host layer: a path and 500 bytes. Longer: the value from outside that it
 * repeats is cut.
 */
#define HOST_TEXT_CAP (PATH_CAP + 512u)
/* The loop wakes at least once an hour: poll(2) takes an int of milliseconds. */
#define WAIT_MAX_MS 3600000u
/*
 * DNS responses read from the socket in one step: two are expected. More: the next step reads them.
 */
#define DNS_DATAGRAMS_PER_STEP 4u

/* ---- log ---- */
/*
 * One log line: a status message of 511 bytes and a dozen fields. Longer: cut, and marked as
 * truncated.
 */
#define LOG_LINE_BYTES_MAX 2048u
/*
 * Names of a call's claims in a debug line: two of the longest, or two dozen usual ones. Longer:
 * the line ends with the last name that fits.
 */
#define CALL_NAMES_BYTES_MAX 768u
/*
 * Path of a request in a debug line, without its query, with NUL: that of a claim's status with the
 * longest names has 398 characters. Longer: cut.
 */
#define API_PATH_LOGGED_CAP 400u
/*
 * Buffer of the newest log lines, including those that wait to be written to stderr. Full of
 * waiting lines: further lines are lost, and the agent logs their number.
 */
#define LOG_BUFFER_BYTES 16384u

/* ---- times (milliseconds) ---- */
/*
 * Time between two looks at the memory of devices: of one that no claim holds, in turn, and of
 * those whose memory was in use. Each look reads at most TELEMETRY_CORES_MAX files of a device
 * whose memory is free, and three times as many of another one.
 */
#define DEVICE_MEMORY_LOOK_MS 10000u
/*
 * How long a draining node must hold no claim before it counts as drained. Within this time a
 * kubelet asks for a claim that was allocated before the scheduler saw the taint.
 */
#define DRAIN_SETTLE_MS 10000u
/* Claims that the log line and the Event about lost devices name: a note has 1,024 bytes. */
#define LOST_CLAIMS_NAMED 3u
/*
 * How long a device's memory may stay in use without a claim, or after a claim was refused for it,
 * before the device counts as held: a container usually has 30 s to end, a training job that writes
 * a checkpoint has some minutes, and the end of a container with Neuron devices was seen to take
 * more than the two minutes after which Linux reports a hung task (aws-neuron-sdk issue 887).
 * Longer: the agent writes a log line and an Event, and taints the device if --memory-held-taint is
 * set.
 */
#define DEVICE_MEMORY_STUCK_MS 300000u
/*
 * Time between the API server's first answer that a held claim is gone and the second one, which
 * releases it: the containers of a pod deleted by force normally end within 30 s.
 */
#define RECONCILE_CONFIRM_MS 30000u
/*
 * Held claims are first compared with the API server at a random moment within this time, so that
 * agents of a cluster that restart together do not ask at the same time.
 */
#define RECONCILE_SPREAD_MS 10000u
/*
 * Number of consecutive failures that each double the pause between GETs of held claims, up to half
 * a minute: like the backoff of other requests to a failing server. More: the pause stays the same.
 */
#define RECONCILE_FAILURES_MAX 6u
/*
 * Wait before a held claim is read again after two failures in a row, so that a claim whose GETs
 * hang uses at most a third of the time for reading claims.
 */
#define RECONCILE_FAILED_MS 30000u
/* Wait before a CDI root that could not be listed completely is listed again. */
#define RECONCILE_LIST_MS 5000u
/*
 * Largest checkpoint of the kubelet that the agent reads to find out whether the kubelet still
 * knows a claim: 2,000 claims of 500 bytes, read in 20 ms. More: the checkpoint counts as damaged,
 * and the claims stay held.
 */
#define KUBELET_STATE_BYTES_MAX 1048576u
/*
 * The list of all claims starts at a random moment within this time, because many agents may have
 * lost their stores for one reason. New claims wait for the list meanwhile.
 */
#define REBUILD_SPREAD_MS 2000u
/*
 * Longest wait for the first list of slices; after it, the agent lists all claims. The first list
 * of slices waits for the kubelet's registration, at most PUBLISH_WAIT_MS, and for the Node.
 */
#define REBUILD_SLICES_MS 30000u
/* Wait before tombstones are checked again: by then the change that frees the record is flushed. */
#define RECONCILE_TOMBSTONE_MS 5000u
/* Time limit of a claim GET: a GET that hangs must leave time for a retry in the kubelet's 45 s. */
#define CLAIM_GET_MS 10000u
/*
 * The socket files are checked this often, so that a removed one exists again before the kubelet
 * tries again.
 */
#define SOCKET_CHECK_MS 5000u
/*
 * Additional time that a claim may wait for its first GET while the API server is connected: with
 * this wait and a GET of CLAIM_GET_MS the call still ends within the kubelet's 45 s. Reached: the
 * claims of the call fail with the reason.
 */
#define CLAIM_QUEUE_MS 20000u
/*
 * Time limit of a prepare call, unless its grpc-timeout is shorter: the kubelet uses the same
 * limit. A claim whose GET failed for a transient reason is read again as long as the limit leaves
 * CLAIM_REPEAT_MS for the GET, and CLAIM_REPLY_MS (or a quarter of a short limit) for the reply.
 * Reached: the claim fails with the last reason. A grpc-timeout under CLAIM_REPEAT_MS is not
 * divided: the call fails with DEADLINE_EXCEEDED.
 */
#define CLAIM_CALL_MS 45000u
#define CLAIM_REPLY_MS 5000u
#define CLAIM_REPEAT_MS 2000u
/*
 * Time for the GET of a held claim that compares its record with the API server, and for the wait
 * before it. Reached: the agent replies from the record.
 */
#define CLAIM_COMPARE_MS 2000u
/*
 * Longest wait before a failed claim GET is repeated within a call, unless the server asks for a
 * longer wait by Retry-After: a server that is busy or restarting gets ten requests for a claim in
 * one call.
 */
#define CLAIM_BACKOFF_MAX_MS 4000u
/*
 * Time limit of each request to the API server except claim GETs (the server's own limit for writes
 * is 34 s).
 */
#define API_REQUEST_MS 15000u
/*
 * TCP connect and TLS handshake together; a handshake takes up to a second under a 20m CPU quota.
 */
#define API_CONNECT_MS 10000u
/*
 * Silence after which a PING is sent to the API server, and how long its acknowledgement may take
 * (client-go's values are 30 s and 15 s; 45 s in sum).
 */
#define API_PING_AFTER_MS 25000u
#define API_PING_ANSWER_MS 15000u
/* Shortest and longest backoff of the API connection and of failed writes. */
#define API_BACKOFF_MIN_MS 500u
#define API_BACKOFF_MAX_MS 30000u
/*
 * After a connection that is lost, all agents of a cluster reconnect: the API server has restarted.
 * Each connects at a random moment within API_RECONNECT_MS, so that no second has more than a
 * fifteenth of them. An agent whose attempt fails tries again after API_RETRY_LEAST_MS and a random
 * time of less than API_RETRY_SPREAD_MS: the mean of 12.5 s spreads the attempts of a long outage
 * over 8 % a second, and after it every agent is back within 17 s. While a call of the kubelet is
 * running the waits are shorter: they double up to API_RETRY_LEAST_MS.
 */
#define API_RECONNECT_MS 16000u
#define API_RETRY_LEAST_MS 8000u
#define API_RETRY_SPREAD_MS 9000u
/*
 * Longest wait, without its jitter, before a request is repeated that a busy or restarting server
 * refused (429, 5xx), so that the watches are back within 20 s after the server is.
 */
#define API_BUSY_MAX_MS 12000u
/*
 * Longest Retry-After that is respected. A longer one counts as a mistake: the request is repeated
 * after API_REFUSED_MS, so that one wrong number does not stop a node for hours.
 */
#define API_RETRY_AFTER_MAX_MS 300000u
/*
 * Requests of the agent in any second, except claim GETs, which the kubelet causes. Ten thousand
 * nodes share the capacity that the server gives to service accounts. Reached: the next request
 * waits.
 */
#define API_REQUESTS_PER_SECOND 5u
/* Attempts to connect to the API server are at least this far apart. */
#define API_CONNECT_EVERY_MS 1000u
/*
 * A connection that lasted this many times as long as the wait that preceded it counts as stable
 * and resets the backoff.
 */
#define API_REPAID_FACTOR 16u
/*
 * A server that moves its clients to new connections (GOAWAY) moves all of them at once, so each
 * agent reconnects at a random moment within this time.
 */
#define API_MOVE_MS 250u
/*
 * Longest wait before the next connection to a server that sends GOAWAY repeatedly: less than
 * CLAIM_GET_MS, so that a waiting claim is still read.
 */
#define API_MOVE_MAX_MS 8000u
/*
 * Consecutive requests that time out on one connection. Reached: the agent closes the connection,
 * because a new one to the same address may reach another server.
 */
#define API_TIMEOUTS_MAX 3u
/*
 * Seconds for which the agent asks the server to keep a watch. client-go picks 300 to 600; two
 * watches of an hour cost 48 requests on a quiet day instead of 300, and PING detects a dead
 * connection. Reached: the server ends the watch, and it is resumed from the last version.
 */
#define WATCH_SECONDS 3600u
/*
 * Time for the response head of a watch, which servers send at once: twice that of other requests.
 * Reached: the agent lists, then watches again.
 */
#define WATCH_BEGIN_MS 30000u
/*
 * A watch of the Node that starts without a resourceVersion reports the Node at once. If it reports
 * nothing for this long after the server has accepted it, the agent reads the Node with a GET.
 */
#define NODE_SILENT_MS 2000u
/*
 * A watch that a busy server refuses (429, 5xx) is only opened again while its waits, which double
 * from API_BACKOFF_MIN_MS on, are below this: twice. Reached: the agent reads the Node with a GET,
 * because this server may refuse watches alone.
 */
#define WATCH_BUSY_MS 2000u
/* The same refusal of the API server is logged once in this time. */
#define REFUSAL_LOG_PAUSE_MS 60000u
/*
 * Longest wait after repeated refusals: a watch on nodes that the role does not grant costs 300
 * requests a day.
 */
#define REFUSED_MAX_MS 300000u
/*
 * Wait for a successful registration before the registration socket is recreated: kubelets up to
 * 1.35 retry only then.
 */
#define REGISTRATION_RETRY_MS 30000u
#define REGISTRATION_RETRY_MAX_MS 300000u
/*
 * Random wait between the registration and the first list, so that the ten thousand nodes of a
 * starting cluster do not list in the same second.
 */
#define PUBLISH_SPREAD_MS UINT64_C(1000)
/* The first publication waits for the registration at most this long. */
#define PUBLISH_WAIT_MS 10000u
/* The TLS handshake starts after the kubelet's GetInfo, or after this time without GetInfo. */
#define API_START_MS 1000u
/*
 * Wait between a sign that a stored slice changed and the next round, so that several signs cause
 * one round.
 */
#define SLICE_REPAIR_MS 200u
/*
 * Wait before the agent flushes a write that no call has flushed, because the peer closed the
 * connection or the disk failed. Further attempts follow at growing intervals.
 */
#define STORE_FLUSH_MS 1000u
/*
 * While files cannot be written to the CDI root, the agent tries this often to write a file of
 * STORE_HALF_BYTES there. Must be under a minute, because the agent must become ready within a
 * minute after the root is writable again.
 */
#define CDI_TRY_MS 10000u
/* How often a command with --watch checks for changes: each check reads every slot of the store. */
#define WATCH_MS 2000u
/*
 * How often the agent tries to lock the store while another agent has the lock: in a rolling update
 * claims wait for the store, and a try costs a few system calls.
 */
#define STORE_BUSY_MS 250u
/*
 * How often the owner of the claim store checks whether another agent waits for it: with
 * STORE_BUSY_MS the store is handed over within two seconds. A check costs three system calls; the
 * agent may make 40 system calls in five seconds on an idle node.
 */
#define HANDOVER_CHECK_MS 1700u
/*
 * Only one in this many handover checks also examines whether the lock file was removed or
 * replaced.
 */
#define HANDOVER_LOCK_LOOKS 8u
/*
 * Time that running calls get to end before the store is handed over. Reached: claims that wait for
 * the API server fail or wait for the store, and the kubelet repeats them at the other agent.
 */
#define HANDOVER_MS 2000u
/*
 * How long a call waits while another agent has the store: longer than a handover takes. Reached:
 * its claims fail with the reason.
 */
#define STORE_WAIT_MS 5000u
/*
 * Number of publishing rounds with writes in quick succession, each within SLICE_REPAIRS_MS after
 * the last, that are not delayed. More: each further round waits longer, but always less than
 * SLICE_REPAIRS_MS.
 */
#define SLICE_REPAIRS_FREE 20u
#define SLICE_REPAIRS_MS 60000u
/*
 * Stored slices that differ, each within this time of the last one, are one incident, which causes
 * at most one Kubernetes Event: as long as equal Events are counted as one (K8S_EVENT_WINDOW_MS).
 */
#define SLICE_INCIDENT_MS 900000u
/*
 * Slices that the server refuses as invalid are sent again when their content changes, or after a
 * wait that doubles between these bounds: a webhook or a server in an upgrade recovers soon,
 * whereas other validation rules stay in force.
 */
#define INVALID_RETRY_MS 10000u
#define INVALID_RETRY_MAX_MS 3600000u
/*
 * For this long after a connection opens, a 403 may only mean that the API server has just started
 * and has not read its roles yet: kube-apiserver gives itself 30 s for that, and one without enough
 * processor time needs longer. In this time such a request is repeated as after a 5xx, at most ten
 * times. The same time is for the roles of an agent that no connection has served yet, because an
 * installation may create them after the agent. Reached: a 403 counts as a refusal.
 */
#define API_ROLES_MS 60000u
/* Wait after a refusal that only an operator can resolve (403, 422). */
#define API_REFUSED_MS 30000u
/*
 * Time for the GET of the API group, for which claims wait: half of CLAIM_GET_MS, so that a hanging
 * response leaves time to try the versions one by one.
 */
#define VERSION_GET_MS 5000u
/*
 * While the agent uses an older version of resource.k8s.io than v1, it asks the server this often
 * for a newer version.
 */
#define VERSION_CHECK_MS 3600000u
/*
 * While the server serves none of the three supported versions of resource.k8s.io, the agent asks
 * it after API_REFUSED_MS and then at intervals of this length: with jitter a node recovers within
 * a minute after an operator enables a version, and 10,000 nodes ask 200 times a second.
 */
#define VERSION_NONE_MAX_MS 45000u
/* A failed connection is closed after this time even if its peer reads nothing. */
#define LINK_CLOSE_MS 2000u
/* Running calls may take this long after SIGTERM. */
#define SHUTDOWN_MS 5000u

/* ---- host (descriptors, files, clocks) ---- */
/*
 * Connections accepted from one unix socket in one turn of the loop; only one if the agent must
 * close another connection for it. More: they wait for the next turn, so that a flood cannot starve
 * running calls.
 */
#define ACCEPTS_PER_TURN 8u
/*
 * Connections that the kernel queues on a listener: the default of net.core.somaxconn, to which the
 * kernel reduces a larger value. A shorter queue would cost the same, and a full one refuses the
 * kubelet (EAGAIN) and makes a probe wait a second for its next SYN. More: connect(2) of the peer
 * waits or fails.
 */
#define LISTEN_BACKLOG 4096u
/*
 * Most turns in a row in which the loop does not advance its own time, because a time limit has
 * passed while bytes that arrived before that moment are still unread. In 64 turns the API
 * connection can read a megabyte (H2_CLIENT_RX_BYTES each). Reached: the time limits apply,
 * whatever arrives.
 */
#define FROZEN_TURNS_MAX 64u
/*
 * The limit of FROZEN_TURNS_MAX as a time, because turns can be slow (a slow disk, a CPU quota).
 * The first turn already reads the bytes that arrived before a stall. Reached: the time limits
 * apply, and connections are accepted.
 */
#define FROZEN_MS_MAX 1000u
/*
 * Age of the loop's time at which a turn neither accepts connections nor starts API requests: their
 * time limits count from that time, and the shortest is a second. Reached: they follow in the next
 * turn.
 */
#define TIME_OLD_MS 100u
/*
 * Transfers (one recv(2) or send(2), up to 4 KiB) of all TCP connections together in one window: a
 * scrape needs 35 transfers, and a transfer takes 15 us of CPU time. More: they wait for the next
 * window.
 */
#define STRANGER_TRANSFERS 64u
#define STRANGER_WINDOW_MS 100u
/*
 * Additional transfers of a new connection: a gRPC probe needs seven transfers, a probe over
 * HTTP/1.1 three. More: they count as transfers of the window.
 */
#define STRANGER_FIRST_TRANSFERS 8u
/*
 * A TCP port is served in windows of STRANGER_ROUND_MS. In each window the program starts at most
 * STRANGER_ROUNDS rounds, accepts STRANGER_ACCEPTS connections, and passes STRANGER_PLACES
 * connections to the agent. LISTEN_BACKLOG waiting connections are accepted within 0.64 s, before a
 * probe's time limit of one second; accepting one costs 10 us of CPU time, serving it and its
 * request about 100 us. More: they wait for the next window.
 */
#define STRANGER_ROUND_MS 10u
#define STRANGER_ROUNDS 4u
#define STRANGER_ACCEPTS 64u
#define STRANGER_PLACES 8u
/*
 * Accepted connections of a TCP port that the agent does not serve yet: as many as one window
 * accepts. Full: the program closes the oldest one that has sent nothing for a window, or else the
 * oldest one that is closing; if there is none, connections wait in the kernel's queue.
 */
#define PENDING_LINKS 64u
/* Pending connections (PENDING_LINKS) that are closing. More: the oldest one is reset. */
#define PENDING_CLOSING 16u
/* Bytes read at once from a closing connection. More: the next round reads them. */
#define PENDING_DROP_BYTES 2048u
/* How long a pending connection waits for its first byte, or to be served. Longer: it is closed. */
#define PENDING_MS 5000u
/*
 * How long the agent keeps a connection to the health port before it may close it in favour of one
 * whose peer has sent something: a probe takes a few round trips, and the node may be busy.
 */
#define LINK_GRACE_MS 40u
/*
 * Steps of the agent in one turn of the loop while bytes still move: two are usual. Reached: the
 * loop polls its descriptors and the clock before the next step.
 */
#define STEPS_PER_TURN 8u
/*
 * Writes that empty the send buffer before the API connection is closed: H2_CLIENT_TX_BYTES in
 * records of 4 KiB, the first of which may be shorter. More, or no room in the socket: the rest,
 * with the GOAWAY, is dropped.
 */
#define API_WRITES_AT_END 6u
/*
 * Pace of reading from a server that sends without pause. Each read (at most a TLS record, or a
 * bounded piece of a handshake) counts as API_READ_US microseconds, and every API_READ_BYTES_PER_US
 * bytes count as one more: 4 MB or 4,000 small records a second, a few percent of a processor.
 * Reached: the server waits.
 */
#define API_READ_US 250u
#define API_READ_BYTES_PER_US 4u
/*
 * Records read in one turn of the loop: a response of Go's server has three. More: the next turn
 * reads them.
 */
#define API_READS_PER_TURN 4u
/*
 * How far reading from the API server may run ahead of the pace of API_READ_US: enough for 16 MiB
 * in whole records, the largest watch event.
 */
#define API_READ_BURST_MS 4500u
/* Repetitions of one system call that a signal interrupts. Reached: the call counts as failed. */
#define SYSCALL_RETRIES_MAX 64u
/* Buffer for one page of a directory listing: it holds the names that one read returns. */
#define LIST_PAGE_BYTES 4096u
/*
 * Age at which an unlocked temporary file in the CDI root is a leftover. Releases that do not lock
 * their temporary files write and rename them within milliseconds.
 */
#define TEMPORARY_AGE_MS 60000u
/*
 * Pause before the agent tries again to open a listener: the registry directory may appear
 * meanwhile, or the port may become free.
 */
#define LISTEN_RETRY_MIN_MS 500u
#define LISTEN_RETRY_MAX_MS 5000u
/* Pause of a listener after accept failed for lack of descriptors or memory. */
#define ACCEPT_PAUSE_MS 500u
/* The token file is read again this often while connected (client-go's value). */
#define TOKEN_REFRESH_MS 60000u
/*
 * The token file is read this often while requests wait because the server refused the token:
 * reading a small file costs little.
 */
#define TOKEN_REFUSED_MS 5000u
/*
 * Age of unacknowledged bytes at which the kernel gives up the API connection (TCP_USER_TIMEOUT):
 * as long as a PING needs to detect a dead connection.
 */
#define API_UNACKED_MS 45000u
/* Addresses of the API server that one connection attempt tries. More: ignored. */
#define API_ADDRESSES_MAX 4u
/*
 * Host name of the API server with NUL: a DNS name has 253 characters. Longer: refused with the
 * reason.
 */
#define API_HOST_CAP 254u
/*
 * Reads of one directory: 4096 times 4 KiB are some 200,000 entries, read in about 0.1 s. More: the
 * listing fails, and unread entries count as unknown.
 */
#define DIRECTORY_READS_MAX 4096u
#define DIRECTORY_READ_BYTES 4096u
/*
 * Sockets with "neuron" in their name to which one scan for device plugins connects: a plugin has
 * one for each of its two resources, and the kubelet empties the directory at its start. More: a
 * further socket counts as a device plugin without a connection.
 */
#define DEVICE_PLUGIN_SOCKETS_MAX 16u
/*
 * A reason or warning that `check` prints: a line of the agent's pages is not longer than their
 * send buffer. Longer: cut.
 */
#define FINDING_BYTES_MAX HTTP1_TX_BYTES
/*
 * Time for a command to connect to the agent and read one page. The agent normally responds within
 * one turn of its loop; time in which the command's own output blocks does not count. Longer: the
 * command fails with the reason.
 */
#define PAGE_MAX_MS 5000u
/*
 * How often a command repeats the request for a page that ended early, and the pause before each
 * repetition: the agent ends a page early when the slices change, which they do a few times in a
 * row at most. More: the command fails with the reason.
 */
#define PAGE_RETRIES_MAX 3u
#define PAGE_RETRY_MS 200u
/*
 * A page of the agent that a command reads as a whole: the slices of both drivers have less than
 * 128 KiB on the largest type. Longer: the command fails with the reason.
 */
#define PAGE_BYTES_MAX ((size_t)256u * 1024u)
/*
 * A device of a slice with all its attributes, printed by `slices` and by the page /slicesz.
 * Never reached: the number and lengths of the attributes are bounded.
 */
#define SLICE_PART_BYTES 16384u
/*
 * Pods of one namespace on a node with their claims, of which `claims --pod` reads the names: a
 * kubelet has up to 110 pods by default, and their names some 30 bytes. All pods of a claim fit
 * into one part of the output (COMMAND_PART_BYTES). More: `claims --pod` says that pods may be
 * missing.
 */
#define POD_USES_MAX 512u
#define POD_USES_BYTES 8192u
/*
 * Time for the kubelet to list the pods: it reads them from its memory. Longer: `claims --pod`
 * prints what the claim store has, and says so; the metrics show the first consumers alone.
 */
#define PODS_MAX_MS 5000u
/*
 * Output of a command that is escaped and written at once: its buffer is on the stack. Longer
 * output is written in several pieces.
 */
#define WRITE_PIECE_BYTES 1024u
/*
 * Largest file that `bundle` writes or copies: twice the size of the claim store. More: the file is
 * left out.
 */
#define BUNDLE_FILE_BYTES_MAX ((size_t)8u * 1024u * 1024u)
/*
 * The file sysfs.txt of a bundle. Directories that are open at a time, class/neuron_device
 * included: the module 2.30 needs six. Lines: the module has at most 64 devices, with some 130
 * files for each of 8 cores. Bytes: those of 64 devices with 8 cores are 5 MiB. Bytes of a value:
 * sysfs shows one page. Time: a device whose firmware does not respond delays each read by up to
 * 15 s.
 */
#define SYSFS_COPY_LEVELS_MAX 8u
#define SYSFS_COPY_LINES_MAX 80000u
#define SYSFS_COPY_BYTES_MAX BUNDLE_FILE_BYTES_MAX
#define SYSFS_COPY_MS 30000u
#define SYSFS_COPY_VALUE_MAX 4096u
/*
 * Largest piece written to stderr at once: a pipe that reports room accepts this much without
 * blocking (PIPE_BUF). More: written in the next turn.
 */
#define STDERR_WRITE_MAX 4096u
/* How long the last log lines may wait for a slow reader of stderr before the process ends. */
#define STDERR_DRAIN_MS 200u

#endif
