/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event catalogue: everything that the agent ever says, numbered by order. Each event is one
 * log line and one counter. Columns: identifier, level, name in the log, cause, what the operator
 * should do. Numbers are append-only. Owns these words; counts and writes nothing.
 */
#ifndef AGENT_REPORT_LOG_CATALOGUE_H
#define AGENT_REPORT_LOG_CATALOGUE_H

/* Applies X to every row: X(identifier, level, name, cause, remedy). */
#define LOG_CATALOGUE(X)                                                                           \
    X(LOG_ID_STARTED, LOG_INFO, "started", "the process runs", "nothing")                          \
    X(LOG_ID_STOPPING, LOG_INFO, "stopping", "asked to stop by a signal", "nothing")               \
    X(LOG_ID_STOPPED, LOG_INFO, "stopped", "running calls have ended", "nothing")                  \
    X(LOG_ID_HOST_LISTENING, LOG_INFO, "listening", "a server socket is open", "nothing")          \
    X(LOG_ID_HOST_LISTEN_FAILED, LOG_WARN, "listen_failed",                                        \
      "a server socket cannot be opened; it is tried again", "mend what the text names")           \
    X(LOG_ID_HOST_SOCKET_LOST, LOG_WARN, "socket_lost",                                            \
      "a socket file was removed or replaced; it is made anew",                                    \
      "find out who else uses these paths")                                                        \
    X(LOG_ID_HOST_PEER_DENIED, LOG_WARN, "peer_denied", "a peer of another user was turned away",  \
      "only root and the agent's own user are served")                                             \
    X(LOG_ID_HOST_ACCEPT_FAILED, LOG_WARN, "accept_failed", "a connection could not be accepted",  \
      "end what holds the descriptors or the memory that the text names")                          \
    X(LOG_ID_HOST_TOKEN_UNREADABLE, LOG_WARN, "token_unreadable",                                  \
      "the token file cannot be read; the old one stays", "check the service account volume")      \
    X(LOG_ID_BOARD, LOG_INFO, "board", "devices were found", "nothing")                            \
    X(LOG_ID_DEVICE_FINDING, LOG_WARN, "device_finding", "a fact of the node is missing or odd",   \
      "told with each finding")                                                                    \
    X(LOG_ID_REGISTRATION_ASKED, LOG_INFO, "registration_asked", "the kubelet called GetInfo",     \
      "nothing")                                                                                   \
    X(LOG_ID_REGISTERED, LOG_INFO, "registered", "the kubelet accepted the driver", "nothing")     \
    X(LOG_ID_REGISTRATION_REFUSED, LOG_ERROR, "registration_refused",                              \
      "the kubelet refused the driver", "read the kubelet's reason; the kubelet tries again")      \
    X(LOG_ID_REGISTRATION_RENEWED, LOG_WARN, "registration_renewed",                               \
      "no registration succeeded in time",                                                         \
      "check that the kubelet watches the registrar directory")                                    \
    X(LOG_ID_API_CONNECTED, LOG_INFO, "api_connected", "the API server is reached and verified",   \
      "nothing")                                                                                   \
    X(LOG_ID_API_LOST, LOG_WARN, "api_lost", "the connection to the API server ended",             \
      "nothing, it is tried again")                                                                \
    X(LOG_ID_API_FAILED, LOG_ERROR, "api_failed", "the API server cannot be reached",              \
      "check the address, certificates and token that the text names")                             \
    X(LOG_ID_API_ERROR, LOG_ERROR, "api_error", "the API server refused a request",                \
      "check RBAC and the server's text")                                                          \
    X(LOG_ID_SLICE_PUBLISHED, LOG_INFO, "slice_published", "the ResourceSlice was written",        \
      "nothing")                                                                                   \
    X(LOG_ID_SLICE_CURRENT, LOG_INFO, "slice_current",                                             \
      "the stored ResourceSlice is the wanted one", "nothing")                                     \
    X(LOG_ID_SLICE_REPAIR, LOG_WARN, "slice_repair",                                               \
      "a stored ResourceSlice was changed, doubled or deleted", "nothing, it is put right")        \
    X(LOG_ID_SLICE_DROPPED_FIELDS, LOG_ERROR, "slice_dropped_fields",                              \
      "the API server stored less than was sent", "check its version and feature gates")           \
    X(LOG_ID_CLAIM_PREPARED, LOG_INFO, "claim_prepared", "a claim was prepared", "nothing")        \
    X(LOG_ID_CLAIM_REPEATED, LOG_INFO, "claim_repeated", "a prepared claim was asked for again",   \
      "nothing")                                                                                   \
    X(LOG_ID_CLAIM_REFUSED, LOG_WARN, "claim_refused", "a claim could not be prepared",            \
      "mend what the error names; the kubelet tries again by itself")                              \
    X(LOG_ID_CLAIM_UNPREPARED, LOG_INFO, "claim_unprepared", "a claim was unprepared", "nothing")  \
    X(LOG_ID_CLAIM_CONFIG, LOG_INFO, "Opaque device configs",                                      \
      "a claim carries configuration for its devices", "nothing")                                  \
    X(LOG_ID_CDI_REBUILT, LOG_WARN, "cdi_rebuilt",                                                 \
      "the CDI file of a prepared claim was gone or changed", "nothing")                           \
    X(LOG_ID_CDI_TROUBLE, LOG_ERROR, "cdi_trouble", "a CDI file cannot be written or removed",     \
      "check space and rights of the CDI root")                                                    \
    X(LOG_ID_STORE_CREATED, LOG_INFO, "store_created", "there was no claim store yet", "nothing")  \
    X(LOG_ID_STORE_OPENED, LOG_INFO, "store_opened", "the claim store was read", "nothing")        \
    X(LOG_ID_STORE_DAMAGED, LOG_ERROR, "store_damaged",                                            \
      "the claim store is not readable as a whole",                                                \
      "its copy is kept beside it; what could be read was kept")                                   \
    X(LOG_ID_STORE_SLOT_DAMAGED, LOG_ERROR, "store_slot_damaged",                                  \
      "one slot of the store is unreadable", "delete and re-create the pod that lost its claim")   \
    X(LOG_ID_STORE_TROUBLE, LOG_ERROR, "store_trouble",                                            \
      "the claim store cannot be read or written",                                                 \
      "check space and rights of the plugin directory")                                            \
    X(LOG_ID_CALL_REFUSED, LOG_WARN, "call_refused", "a gRPC call was malformed or over a limit",  \
      "only the kubelet and health probes are served; see who else calls this socket")             \
    X(LOG_ID_CONNECTION_FAILED, LOG_WARN, "connection_failed", "a peer broke the protocol",        \
      "this socket speaks gRPC over HTTP/2; see who else connects to it")                          \
    X(LOG_ID_API_VERSION, LOG_INFO, "api_version",                                                 \
      "the version of resource.k8s.io that is spoken from now on", "nothing")                      \
    X(LOG_ID_API_UNSERVED, LOG_ERROR, "api_unserved",                                              \
      "the API server serves no version of resource.k8s.io that the agent speaks",                 \
      "Kubernetes 1.34 serves v1 by default; on 1.32 and 1.33 start the API server with "          \
      "--feature-gates=DynamicResourceAllocation=true "                                            \
      "--runtime-config=resource.k8s.io/v1beta1=true")                                             \
    X(LOG_ID_HOST_PROBE_FAILED, LOG_ERROR, "probe_failed",                                         \
      "the node could not be looked at; nothing is concluded from it",                             \
      "give the process memory and descriptors, and the right to read the sysfs root")             \
    X(LOG_ID_API_MOVED, LOG_INFO, "api_moved",                                                     \
      "the API server ended the connection in order; a new one follows", "nothing")                \
    X(LOG_ID_SLICE_OVERTAKEN, LOG_INFO, "slice_overtaken",                                         \
      "somebody else wrote the slice between list and write; it is listed again", "nothing")       \
    X(LOG_ID_NODE_CHANGED, LOG_INFO, "node_changed",                                               \
      "the Node object is another one, or other labels of it become attributes", "nothing")        \
    X(LOG_ID_NODE_TYPE, LOG_WARN, "node_type",                                                     \
      "the Node's label names another instance type than the machine does",                        \
      "correct --instance-type or the label node.kubernetes.io/instance-type")                     \
    X(LOG_ID_API_STRANGE, LOG_ERROR, "api_strange",                                                \
      "the API server told of another object than was asked for; nothing is concluded from it",    \
      "see what stands between the agent and the API server: a proxy, an admission webhook")       \
    X(LOG_ID_ITEM_LEFT_OUT, LOG_ERROR, "item_left_out",                                            \
      "the API server would refuse the slice for this device or attribute; the rest is published", \
      "see where the value comes from: sysfs, a label of the Node, or the agent's settings")       \
    X(LOG_ID_SLICE_CUT, LOG_WARN, "slice_cut",                                                     \
      "a slice is too large for the API server; the devices go into more slices", "nothing")       \
    X(LOG_ID_CONNECTIONS_SUPPRESSED, LOG_WARN, "connections_suppressed",                           \
      "more peers of a TCP port broke the protocol than are told one by one",                      \
      "see who else connects to the health or metrics port")                                       \
    X(LOG_ID_EVENTS_REFUSED, LOG_WARN, "events_refused",                                           \
      "the API server takes no Kubernetes Events of the agent; this log tells the same",           \
      "allow create and patch of events in events.k8s.io; otherwise see the server's text")        \
    X(LOG_ID_EVENTS_DROPPED, LOG_WARN, "events_dropped",                                           \
      "more happened than is told in Kubernetes Events; this log has it all", "read this log")     \
    X(LOG_ID_CLAIM_STATUS_REFUSED, LOG_WARN, "claim_status_refused",                               \
      "the status of a claim's devices was not written; the claim itself is not touched by it",    \
      "allow patch of resourceclaims/status and, from Kubernetes 1.36 on, associated-node:patch "  \
      "of resourceclaims/driver, both in resource.k8s.io, or run without --claim-status")

/* A row of the catalogue as its number alone. */
#define LOG_ID_NUMBER(id, level, name, cause, remedy) id,
/* Numbers of the events: index of a counter in struct agent. */
enum log_id { LOG_CATALOGUE(LOG_ID_NUMBER) LOG_ID_COUNT };

#endif
