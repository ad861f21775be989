/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ceilings of memory and program size, and the relations that must hold between limits. A limit
 * that exceeds what the others allow does not compile. Owns no other number.
 */
#ifndef CFG_BUDGET_H
#define CFG_BUDGET_H

#include "cfg/limits.h"

/*
 * All static memory of the program, libraries included; tools/gates/check_binary.py compares the
 * binary with it. Most of it is tables whose pages stay untouched, and so non-resident, on a quiet
 * node. The tables of the EFA driver, 1.6 MiB, stay untouched without --efa.
 */
#define RAM_BYTES_MAX (4480u * 1024u)

/*
 * The stripped program on disk; tools/gates/check_binary.py compares the binary with it. A node
 * pulls it once and maps the pages that run. RAM_BYTES_MAX bounds its memory, so this ceiling only
 * keeps the program small enough to review as a whole, and leaves room for plain tables. Release
 * 1.0.0 raised this ceiling from 640 KiB for remedies in error texts, debug lines, metrics of the
 * process and of results, the tar of a bundle, and completion for two more shells; from 704 KiB for
 * the drain of a node, node resources of EFA devices, and memory that is held without a claim; from
 * 712 KiB for the kubelet's list of pods in the metrics; from 720 KiB for the check of hosts in
 * HTTP/1.1, and for tombstones of claims in two slots.
 * tests/bench/size.json shows the growth of a layer before the limit is reached.
 */
#define BINARY_BYTES_MAX (728u * 1024u)

/* Both ceilings bound memory mappings, which consist of whole pages. */
_Static_assert(RAM_BYTES_MAX % 4096u == 0u && BINARY_BYTES_MAX % 4096u == 0u, "whole pages");

/* One request of CLAIMS_PER_CALL_MAX claims fits a message buffer: names, UID, tags and lengths. */
_Static_assert((UID_CAP + NAMESPACE_CAP + NAME_CAP + 2u) * CLAIMS_PER_CALL_MAX <=
                   GRPC_MESSAGE_BYTES_MAX,
               "a full call fits a gRPC message buffer");
/* Prepare calls leave enough operations for one full unprepare call. */
_Static_assert(OPERATIONS_MAX >= 2u * CLAIMS_PER_CALL_MAX, "a full call of each kind fits");
/* When the streams for unprepares and for all watches are in use, some remain for prepares. */
_Static_assert(UNPREPARE_STREAMS + WATCHES_PER_LINK < H2_SERVER_STREAMS, "each has streams");
/* Each half of a slot of the claim store holds its header and the longest record. */
_Static_assert(STORE_RECORD_MAX + 64u <= STORE_HALF_BYTES, "the longest record fits half a slot");
_Static_assert(STORE_HALF_BYTES % 4096u == 0u && STORE_HEADER_BYTES % 4096u == 0u,
               "halves never share a page");
/* A claim's longest entry in a response fits its bound: RESULTS_MAX devices, and an error. */
_Static_assert((REQUEST_BASE_CAP + NAME_CAP + DEVICE_NAME_CAP + CDI_ID_CAP + UID_CAP + 16u) *
                           RESULTS_MAX +
                       CLAIM_ERROR_CAP + UID_CAP + 16u <=
                   REPLY_ENTRY_BYTES_MAX,
               "the longest entry of a response fits");
/*
 * One record of the field filter holds the longest opaque configuration with all its request names.
 */
_Static_assert(OPAQUE_BYTES_MAX + CONFIG_REQUESTS_MAX * (REQUEST_CAP + 2u) + 128u <=
                   KUBE_RECORD_BYTES_MAX,
               "the longest configuration entry fits a record");
/*
 * The `regarding` reference of an Event: name, namespace, UID (or a name instead of the UID), kind,
 * version and lengths.
 */
_Static_assert(2u * NAME_CAP + NAMESPACE_CAP + 64u + 16u <= KUBE_REFERENCE_BYTES_MAX,
               "the longest reference of an Event fits");
/* Two attempts to read a claim fit the kubelet's 45 s. */
_Static_assert(2u * CLAIM_GET_MS < 45000u, "a retry fits the kubelet's deadline");
/* SLICES_MAX slices of the smallest size hold all devices; a list has room for twice as many. */
_Static_assert(DEVICES_MAX <= SLICES_MAX * SLICE_DEVICES_MIN && SLICES_SEEN_MAX >= 2u * SLICES_MAX,
               "the pool can be cut");
/* Device masks are 64 bits wide. */
_Static_assert(DEVICES_MAX <= 64u, "one bit for each device");
/* A line of the metrics text, its chunk framing and the last chunk fit the send buffer. */
_Static_assert(METRICS_LINE_BYTES_MAX + 32u <= HTTP1_TX_BYTES, "a line fits");
/* When METRICS_SCRAPES scrapes run, connections remain for the other pages. */
_Static_assert(METRICS_SCRAPES < METRICS_LINKS, "scrapes leave places");
/* In each window every TCP connection can read once and write once. */
_Static_assert(STRANGER_TRANSFERS >= 2u * (GRPC_HEALTH_LINKS + METRICS_LINKS),
               "nobody is left out");
/* Each tried issuer adds at most one certificate to the server's own in a chain. */
_Static_assert(X509_SENT_MAX > X509_CANDIDATES_MAX, "the longest chain has a frame for each");
/* A request head with the longest token fits the send buffer. */
_Static_assert(TOKEN_CAP + KUBE_PATH_CAP + NAME_CAP + 512u <= H2_CLIENT_TX_BYTES,
               "a request head fits");

#endif
