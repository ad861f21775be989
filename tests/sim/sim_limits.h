/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of the stand-in kubelet and API server: what each bounds, why this value, and what is seen
 * when it is reached. Owns numbers only; the agent's own limits are in cfg/limits.h.
 */
#ifndef TESTS_SIM_SIM_LIMITS_H
#define TESTS_SIM_SIM_LIMITS_H

#include "cfg/limits.h"

/* ---- both ---- */
/* Receive and send buffer of one connection: two of the largest frames; h2 sends one. */
#define SIM_RX_BYTES 32768
#define SIM_TX_BYTES H2_FRAME_MAX
/* One header field: a bearer token and its name. Longer: the connection ends by the engine. */
#define SIM_FIELD_BYTES 8192
/* Window of a stream: what grpc-go and Go's HTTP/2 begin with (RFC 9113 §6.9.2). */
#define SIM_WINDOW 65535

/* ---- kubelet ---- */
/* Registration sockets known at one time: two agents of a rolling update, twice over. */
#define SIM_PLUGINS_MAX 4
/* Calls under way to one agent: pods of one node that start in the same moment. */
#define SIM_CALLS_MAX 8
/* One reply: the kubelet takes 4 MiB; 64 claims of a few devices are under this. Longer: failed. */
#define SIM_REPLY_BYTES 524288
/* Milliseconds of the kubelet's deadlines: dialling, GetInfo, NotifyRegistrationStatus, call. */
#define SIM_DIAL_MS 10000
#define SIM_GET_INFO_MS 1000
#define SIM_NOTIFY_MS 5000
#define SIM_CALL_MS 45000
/* Backoff of a failed registration: from 500 ms, doubled up to about two minutes. */
#define SIM_BACKOFF_MIN_MS 500
#define SIM_BACKOFF_MAX_MS 122000
/* gRPC's backoff when the service connection ended: from one second, up to two minutes. */
#define SIM_RECONNECT_MIN_MS 1000
#define SIM_RECONNECT_MAX_MS 120000

/* ---- API server ---- */
/* Objects stored at one time, deleted ones that a watch may still ask for included. */
#define SIM_OBJECTS_MAX 512
/* Fields of one object besides its metadata: a slice of 64 devices takes about 60 KiB. */
#define SIM_BODY_BYTES 131072
/* Labels, annotations, owners and finalizers of one object. Longer: 422. */
#define SIM_META_BYTES 4096
/* Connections at one time: an old and a new one of two agents. Further ones: closed. */
#define SIM_CONNECTIONS_MAX 4
/* Streams of a connection: as many as an agent has. Further ones: REFUSED_STREAM. */
#define SIM_STREAMS_MAX H2_CLIENT_STREAMS
/* Body of one request: one object. Longer: 413. */
#define SIM_REQUEST_BYTES (SIM_BODY_BYTES + 2 * SIM_META_BYTES)
/* One answer, or the watch events of one turn: slices of two agents. Longer: 500. */
#define SIM_ANSWER_BYTES 409600
/* Names of Events that are remembered, as the real server does for an hour: of the newest ones. */
#define SIM_EVENTS_MAX 128
/* Seconds between bookmarks of a watch (the real server: about 60) and its longest life. */
#define SIM_BOOKMARK_MS 60000
#define SIM_WATCH_MAX_MS 7200000
/* Header fields accept and content-type as they are kept. Longer: cut. */
#define SIM_HEADER_CAP 256
/* Entries of a path and of a selector that are looked at; the longest path served has eight. */
#define SIM_SEGMENTS_MAX 8
/* Devices of one slice (resource/v1 ResourceSliceMaxDevices). More: 422. */
#define SIM_SLICE_DEVICES_MAX 128

#endif
