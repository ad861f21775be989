/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalogue of log lines: one row for each event that the agent reports. A row has an
 * identifier, a level, the name in `event=`, its cause, and what an operator can do about it. Names
 * and remedies are a contract with readers of the log; CATALOGUE.md is generated from this table.
 * Owns these texts; counts and writes nothing.
 */
#ifndef AGENT_REPORT_LOG_CATALOGUE_H
#define AGENT_REPORT_LOG_CATALOGUE_H

/* Applies X to every row: X(identifier, level, name, cause, remedy). */
#define LOG_CATALOGUE(X)                                                                           \
    /* events of the agent's process */                                                            \
    X(LOG_ID_STARTED, LOG_INFO, "started", "the agent started", "none")                            \
    X(LOG_ID_STOP_REQUESTED, LOG_INFO, "stop_requested", "a signal asked the agent to stop",       \
      "none")                                                                                      \
    X(LOG_ID_STOPPED, LOG_INFO, "stopped", "the agent stopped", "none")                            \
    X(LOG_ID_SANDBOX, LOG_INFO, "sandbox", "the agent gave up the rights that it does not need",   \
      "none; where the kernel lacks a mechanism, the restrictions of the pod remain")              \
    X(LOG_ID_SANDBOX_WIDE, LOG_WARN, "sandbox_wide",                                               \
      "a rule of the sandbox covers the whole file system",                                        \
      "make the directory that the text names a mount point, or set a directory below another "    \
      "one")                                                                                       \
    /* events of sockets and their peers */                                                        \
    X(LOG_ID_SOCKET_OPENED, LOG_INFO, "socket_opened", "a server socket is open", "none")          \
    X(LOG_ID_SOCKET_OPEN_FAILED, LOG_WARN, "socket_open_failed",                                   \
      "a server socket cannot be opened; the agent retries",                                       \
      "see what has the port or the path: ss -lntxp on the node; the ports are --metrics-port "    \
      "and --healthcheck-port")                                                                    \
    X(LOG_ID_SOCKET_FILE_LOST, LOG_WARN, "socket_file_lost",                                       \
      "a socket file was removed or replaced; the agent creates it again",                         \
      "see what else uses the path: ss -lxp on the node")                                          \
    X(LOG_ID_STALE_SOCKET_REMOVED, LOG_INFO, "stale_socket_removed",                               \
      "the agent removed a socket at start that an earlier pod of the agent left behind", "none")  \
    X(LOG_ID_PEER_DENIED, LOG_WARN, "peer_denied",                                                 \
      "the agent disconnected a peer that runs as another user",                                   \
      "connect as root or as the user of the agent; the agent serves no other user")               \
    X(LOG_ID_ACCEPT_FAILED, LOG_WARN, "accept_failed", "a connection could not be accepted",       \
      "raise the limit that the text names: descriptors (ulimit -n), or the memory limit of the "  \
      "pod")                                                                                       \
    X(LOG_ID_CALL_REFUSED, LOG_WARN, "call_refused",                                               \
      "a gRPC call was malformed or exceeded a limit",                                             \
      "see who calls: ss -xp on the node; the socket serves only the kubelet and health probes")   \
    X(LOG_ID_CONNECTION_FAILED, LOG_WARN, "connection_failed",                                     \
      "a peer broke the protocol; the agent closed its connection",                                \
      "see who connects: ss -xp and ss -tnp on the node; the socket serves gRPC over HTTP/2")      \
    X(LOG_ID_CONNECTION_FAILURES_SUPPRESSED, LOG_WARN, "connection_failures_suppressed",           \
      "peers of a TCP port broke the protocol so often that some failures have no line",           \
      "see who connects to the health or metrics port: ss -tnp on the node")                       \
    /* events about the node and its devices */                                                    \
    X(LOG_ID_PROBE_FAILED, LOG_WARN, "probe_failed",                                               \
      "the devices of the node could not be read; the agent keeps those of the last successful "   \
      "probe",                                                                                     \
      "give the process memory and descriptors, and the right to read the sysfs root")             \
    X(LOG_ID_SYSFS_READ_STALLED, LOG_WARN, "sysfs_read_stalled",                                   \
      "a read of a file in sysfs hangs in the kernel; its device is unhealthy until the read "     \
      "returns",                                                                                   \
      "see dmesg; if the read stays stalled, reload the kernel module (neuron, or efa for EFA "    \
      "devices), or replace the node")                                                             \
    X(LOG_ID_SYSFS_READ_RESUMED, LOG_INFO, "sysfs_read_resumed",                                   \
      "a stalled read of a file in sysfs returned", "none")                                        \
    X(LOG_ID_DEVICES_FOUND, LOG_INFO, "devices_found",                                             \
      "the devices of the node were read for the first time, or they changed", "none")             \
    X(LOG_ID_DEVICES_MISSING, LOG_WARN, "devices_missing",                                         \
      "the probe found no device, although the probe before or the stored slice has some; the "    \
      "agent keeps those devices until a probe after grace_ms finds none either",                  \
      "load the kernel module (neuron, or efa for EFA devices); none while the module is being "   \
      "reloaded")                                                                                  \
    X(LOG_ID_DEVICE_ISSUE_FOUND, LOG_WARN, "device_issue_found",                                   \
      "a fact about the node or a device is missing or unexpected",                                \
      "depends on the issue; each line states its own remedy")                                     \
    X(LOG_ID_DEVICE_UNHEALTHY, LOG_WARN, "device_unhealthy",                                       \
      "a device is unhealthy: new pods do not get it, and it stays in the slice for the pods "     \
      "that have it",                                                                              \
      "see dmesg and the files of the device in --sysfs-root; delete its pods and reset it, or "   \
      "replace the instance")                                                                      \
    X(LOG_ID_DEVICE_RECOVERED, LOG_INFO, "device_recovered",                                       \
      "a device that was unhealthy shows no error any more", "none")                               \
    X(LOG_ID_DEVICE_MEMORY_STUCK, LOG_WARN, "device_memory_stuck",                                 \
      "memory of a device has been in use for five minutes, and no claim holds the device, or "    \
      "claims are refused it",                                                                     \
      "end the process that uses it; if there is none, reload the Neuron driver or replace the "   \
      "node")                                                                                      \
    X(LOG_ID_DEVICE_MEMORY_FREED, LOG_INFO, "device_memory_freed",                                 \
      "the memory of a device that device_memory_stuck named is free again", "none")               \
    X(LOG_ID_DEVICE_PLUGIN_FOUND, LOG_WARN, "device_plugin_found",                                 \
      "a Neuron or EFA device plugin serves a socket on this node and allocates the same "         \
      "devices as the agent; the agent is not ready until the plugin is gone",                     \
      "run only one of the two on this node: exclude the node from the DaemonSet of the other "    \
      "by a nodeSelector")                                                                         \
    X(LOG_ID_DEVICE_PLUGIN_GONE, LOG_INFO, "device_plugin_gone",                                   \
      "no device plugin serves a socket on this node any more", "none")                            \
    X(LOG_ID_OTHER_DRIVER_FOUND, LOG_WARN, "other_driver_found",                                   \
      "another EFA driver of the same name, such as dranet, serves a socket on this node; the "    \
      "agent is not ready until that driver is gone, and leaves the ResourceSlices to it",         \
      "run only one of the two on this node: exclude the node from the other DaemonSet by a "      \
      "nodeSelector, or set draDriver.efa.enabled=false")                                          \
    X(LOG_ID_OTHER_DRIVER_GONE, LOG_INFO, "other_driver_gone",                                     \
      "no other EFA driver of the same name serves a socket on this node any more", "none")        \
    X(LOG_ID_DEVICE_PLUGIN_SEARCH_FAILED, LOG_WARN, "device_plugin_search_failed",                 \
      "the directory of device plugins cannot be read; the agent uses what it last read there",    \
      "give the agent the right to read the directory, or correct "                                \
      "--kubelet-device-plugins-directory-path")                                                   \
    X(LOG_ID_NODE_CHANGED, LOG_INFO, "node_changed",                                               \
      "the Node object was replaced, or its labels that become attributes or ask for a drain "     \
      "changed",                                                                                   \
      "none")                                                                                      \
    X(LOG_ID_DEVICES_LOST_IN_USE, LOG_WARN, "devices_lost_in_use",                                 \
      "devices were removed or made again, as by a reload of the kernel module, under claims",     \
      "delete the pods of these claims; drain the node before the next upgrade of the module")     \
    X(LOG_ID_NODE_DRAINED, LOG_INFO, "node_drained",                                               \
      "no claim is held, and none is prepared until the drain ends: the kernel module may be "     \
      "unloaded",                                                                                  \
      "none")                                                                                      \
    X(LOG_ID_INSTANCE_TYPE_MISMATCH_FOUND, LOG_WARN, "instance_type_mismatch_found",               \
      "the Node's label names another instance type than the hardware reports",                    \
      "correct --instance-type or the label node.kubernetes.io/instance-type")                     \
    /* events of the registration with the kubelet */                                              \
    X(LOG_ID_REGISTRATION_INFO_REQUESTED, LOG_INFO, "registration_info_requested",                 \
      "the kubelet called GetInfo", "none")                                                        \
    X(LOG_ID_REGISTERED, LOG_INFO, "registered", "the kubelet registered the driver", "none")      \
    X(LOG_ID_REGISTRATION_REFUSED, LOG_ERROR, "registration_refused",                              \
      "the kubelet refused to register the driver",                                                \
      "see journalctl -u kubelet on the node; the kubelet retries")                                \
    X(LOG_ID_REGISTRATION_SOCKET_REPLACED, LOG_WARN, "registration_socket_replaced",               \
      "the kubelet did not register the driver in time; the agent creates its registration "       \
      "socket again",                                                                              \
      "check that the kubelet watches the registrar directory")                                    \
    /* events of the connection to the API server */                                               \
    X(LOG_ID_API_CONNECTED, LOG_INFO, "api_connected",                                             \
      "the agent is connected to the API server and has verified it", "none")                      \
    X(LOG_ID_API_CONNECTION_LOST, LOG_WARN, "api_connection_lost",                                 \
      "the connection to the API server was lost", "none, the agent reconnects")                   \
    X(LOG_ID_API_CONNECT_FAILED, LOG_ERROR, "api_connect_failed",                                  \
      "the API server cannot be reached, or a file needed for it is missing; the agent retries",   \
      "correct the file, the certificate or the token that the text names; if it names none, "     \
      "see that the API server runs at that address, and that the node can reach it")              \
    X(LOG_ID_TOKEN_READ_FAILED, LOG_WARN, "token_read_failed",                                     \
      "the token file cannot be read; the agent keeps the previous token",                         \
      "see that the service account volume is mounted: kubectl describe pod")                      \
    X(LOG_ID_API_CONNECTION_DRAINED, LOG_INFO, "api_connection_drained",                           \
      "the API server asked for a new connection (GOAWAY); the old one has no request left",       \
      "none")                                                                                      \
    X(LOG_ID_API_REQUEST_FAILED, LOG_ERROR, "api_request_failed",                                  \
      "the API server refused a request or did not answer it",                                     \
      "check RBAC: kubectl auth can-i --list --as=system:serviceaccount:NAMESPACE:NAME; for any "  \
      "other cause read the API server's message")                                                 \
    X(LOG_ID_API_RESPONSE_UNEXPECTED, LOG_ERROR, "api_response_unexpected",                        \
      "the API server returned another object than the requested one; the agent ignores it",       \
      "check for a proxy or an admission webhook between the agent and the API server")            \
    X(LOG_ID_RESOURCE_API_VERSION_SELECTED, LOG_INFO, "resource_api_version_selected",             \
      "the agent chose a version of resource.k8s.io, which it uses from now on", "none")           \
    X(LOG_ID_RESOURCE_API_NOT_SERVED, LOG_ERROR, "resource_api_not_served",                        \
      "the API server serves no version of resource.k8s.io that the agent supports",               \
      "Kubernetes 1.34 serves v1 by default; on 1.32 and 1.33 start the API server with "          \
      "--feature-gates=DynamicResourceAllocation=true "                                            \
      "--runtime-config=resource.k8s.io/v1beta1=true")                                             \
    X(LOG_ID_API_REQUEST_ENDED, LOG_DEBUG, "api_request_ended",                                    \
      "a request to the API server ended; a watch ends after minutes, and a request that the "     \
      "agent itself gives up has no line",                                                         \
      "none")                                                                                      \
    /* events about ResourceSlices */                                                              \
    X(LOG_ID_SLICE_PUBLISHED, LOG_INFO, "slice_published", "a ResourceSlice was written", "none")  \
    X(LOG_ID_SLICE_VERIFIED, LOG_INFO, "slice_verified",                                           \
      "the stored ResourceSlices are those that the agent publishes", "none")                      \
    X(LOG_ID_SLICE_DRIFT_DETECTED, LOG_WARN, "slice_drift_detected",                               \
      "a stored ResourceSlice was changed, duplicated or deleted", "none, the agent restores it")  \
    X(LOG_ID_SLICE_FIELDS_DROPPED, LOG_ERROR, "slice_fields_dropped",                              \
      "the API server stored less than the agent sent",                                            \
      "check the version and the feature gates of the API server: its metric "                     \
      "kubernetes_feature_enabled")                                                                \
    X(LOG_ID_DEVICE_TAINT_DROPPED, LOG_INFO, "device_taint_dropped",                               \
      "the API server drops the taint of a device; the agent leaves an unhealthy device out of "   \
      "the slice instead, unless a claim holds it, and offers any other without the taint",        \
      "none; Kubernetes 1.36 keeps taints by default, earlier versions with the feature gate "     \
      "DRADeviceTaints")                                                                           \
    X(LOG_ID_DEVICE_SHARING_DROPPED, LOG_WARN, "device_sharing_dropped",                           \
      "the API server drops the fields by which claims share a device; the agent publishes "       \
      "devices as exclusive, and pods that would share one stay Pending",                          \
      "from Kubernetes 1.34 on, enable the feature gate DRAConsumableCapacity of API server, "     \
      "scheduler and kubelet (1.36 enables it by default), then restart the agent; or set "        \
      "--efa-share=1 or --share-cores=false")                                                      \
    X(LOG_ID_NODE_RESOURCES_DROPPED, LOG_WARN, "node_resources_dropped",                           \
      "the API server does not keep --efa-node-resources; the scheduler does not count them",      \
      "from Kubernetes 1.37 on, enable the feature gate DRANodeAllocatableResources of API "       \
      "server, scheduler and kubelet, then restart the agent")                                     \
    X(LOG_ID_SLICE_ITEM_OMITTED, LOG_ERROR, "slice_item_omitted",                                  \
      "the API server would reject the slice because of a device or an attribute; the agent "      \
      "publishes the rest",                                                                        \
      "check where the value comes from: sysfs, a label of the Node, or a setting of the agent")   \
    X(LOG_ID_SLICE_SPLIT, LOG_WARN, "slice_split",                                                 \
      "a ResourceSlice is too large for the API server; its devices are spread over more slices",  \
      "none")                                                                                      \
    X(LOG_ID_SLICE_WRITE_CONFLICTED, LOG_INFO, "slice_write_conflicted",                           \
      "another client wrote the ResourceSlice between list and write; the agent lists again",      \
      "none")                                                                                      \
    /* events about claims */                                                                      \
    X(LOG_ID_CLAIM_PREPARED, LOG_INFO, "claim_prepared", "a claim was prepared", "none")           \
    X(LOG_ID_CLAIM_PREPARE_REPEATED, LOG_INFO, "claim_prepare_repeated",                           \
      "the kubelet asked again for a prepared claim", "none")                                      \
    X(LOG_ID_CLAIM_REALLOCATED, LOG_WARN, "claim_reallocated",                                     \
      "the API server allocated other devices to a prepared claim; the agent prepares it again "   \
      "with them",                                                                                 \
      "check that no container of a pod that was deleted by force still uses the earlier devices") \
    X(LOG_ID_EFA_NODE_MOVED, LOG_WARN, "efa_node_moved",                                           \
      "an EFA device of a prepared claim has another uverbs node, for example after a reload of "  \
      "the kernel module efa; the agent writes the new node to the record and the CDI file of "    \
      "the claim",                                                                                 \
      "restart the pod: its containers still have the earlier node")                               \
    X(LOG_ID_EFA_NODE_CONTESTED, LOG_ERROR, "efa_node_contested",                                  \
      "an EFA device of a prepared claim has a uverbs node that the record of claim other_uid "    \
      "names for another device; the claim keeps the node of its record",                          \
      "delete the pods of both claims; the agent retries in each round of reconciliation")         \
    X(LOG_ID_CLAIM_UNPREPARED, LOG_INFO, "claim_unprepared", "a claim was unprepared", "none")     \
    X(LOG_ID_CLAIM_FAILED, LOG_WARN, "claim_failed",                                               \
      "a claim could not be prepared or unprepared",                                               \
      "each error states its own remedy; the kubelet retries")                                     \
    X(LOG_ID_CLAIM_CONFIG, LOG_INFO, "Opaque device configs",                                      \
      "a claim, prepared or refused, configures its devices; AWS's own driver gives the event "    \
      "this name",                                                                                 \
      "none")                                                                                      \
    X(LOG_ID_CLAIM_CONFIG_AMBIGUOUS, LOG_WARN, "claim_config_ambiguous",                           \
      "a request, or a container that uses both of the named requests or claims, has two "         \
      "contradictory settings; the last one counts",                                               \
      "depends on which settings contradict each other; each line states its own remedy")          \
    X(LOG_ID_CLAIM_DEVICES_SCATTERED, LOG_WARN, "claim_devices_scattered",                         \
      "the Neuron devices of a prepared claim are not consecutive on the host: the kernel "        \
      "module counts cores from the first of them on, and reaches devices of other pods",          \
      "depends on the instance type and the number of devices; each line states its own remedy")   \
    X(LOG_ID_CLAIM_STATUS_REFUSED, LOG_WARN, "claim_status_refused",                               \
      "the status of a claim's devices was not written; the claim itself is not affected",         \
      "allow patch of resourceclaims/status and, from Kubernetes 1.36 on, associated-node:patch "  \
      "of resourceclaims/driver, both in resource.k8s.io, or run without --claim-status")          \
    X(LOG_ID_CDI_FILE_REBUILT, LOG_WARN, "cdi_file_rebuilt",                                       \
      "the CDI file of a prepared claim was missing or changed; the agent wrote it again", "none") \
    X(LOG_ID_CLAIM_ADOPTED, LOG_WARN, "claim_adopted",                                             \
      "a claim has no record in the claim store, but it has a CDI file, or the API server lists "  \
      "it as in use on this node; the agent keeps its devices from other claims",                  \
      "none: an unprepare frees the claim, and so does the agent once the API server no longer "   \
      "knows the claim")                                                                           \
    X(LOG_ID_CLAIMS_LISTED, LOG_INFO, "claims_listed",                                             \
      "the claim store was new or damaged, so the agent read the claims that the kubelet's "       \
      "checkpoint names (pages=0), or listed all; it keeps the devices of those in use here",      \
      "none")                                                                                      \
    X(LOG_ID_CLAIM_RELEASED, LOG_WARN, "claim_released",                                           \
      "a held claim is no longer in use; its devices are free again", "none")                      \
    X(LOG_ID_CDI_FILE_REMOVED, LOG_WARN, "cdi_file_removed",                                       \
      "the agent removed a CDI file without a record: its claim was already unprepared, or "       \
      "another machine wrote the file, from which the disk of this one was copied",                \
      "none")                                                                                      \
    X(LOG_ID_CLAIM_RELEASE_WITHHELD, LOG_WARN, "claim_release_withheld",                           \
      "a held claim is gone from the API server, but the kubelet may still unprepare it; the "     \
      "agent keeps holding it",                                                                    \
      "once no container of the node uses its devices, run: neuron-dra-agent release CLAIM-UID")   \
    X(LOG_ID_CDI_FILE_FAILED, LOG_ERROR, "cdi_file_failed",                                        \
      "a CDI file cannot be read, written or removed",                                             \
      "check the free space and the permissions of the CDI root")                                  \
    X(LOG_ID_CDI_FILE_IGNORED, LOG_WARN, "cdi_file_ignored",                                       \
      "a file in the CDI root has a name like those of the agent, but with no claim UID in it: "   \
      "the agent never wrote it, and holds no claim because of it",                                \
      "delete the file, unless another program needs it")                                          \
    X(LOG_ID_CDI_ROOT_WRITABLE, LOG_INFO, "cdi_root_writable",                                     \
      "the CDI root accepts files again, after cdi_file_failed", "none")                           \
    X(LOG_ID_DRIVER_KEPT, LOG_WARN, "driver_kept",                                                 \
      "--efa is off, but claims for EFA devices are held here; the driver lets their pods end, "   \
      "prepares no new claim, and ends with the last held claim",                                  \
      "end the pods that have EFA devices, or set draDriver.efa.enabled=true again")               \
    X(LOG_ID_DRIVER_ENDED, LOG_INFO, "driver_ended",                                               \
      "--efa is off, and no claim for EFA devices is held any longer; the EFA driver ended",       \
      "none")                                                                                      \
    X(LOG_ID_POD_LIST_INCOMPLETE, LOG_WARN, "pod_list_incomplete",                                 \
      "the kubelet gives no complete list of its pods, so device_consumer_info may lack pods "     \
      "that share a claim; nothing else depends on that list",                                     \
      "depends on the reason; each line states its own remedy")                                    \
    X(LOG_ID_POD_LIST_COMPLETE, LOG_INFO, "pod_list_complete",                                     \
      "the kubelet's list of pods is complete, after pod_list_incomplete", "none")                 \
    X(LOG_ID_KUBELET_CALL_ENDED, LOG_DEBUG, "kubelet_call_ended",                                  \
      "a call of the kubelet ended: it was answered, refused as a whole, or given up by the "      \
      "kubelet",                                                                                   \
      "none")                                                                                      \
    /* events about the claim store */                                                             \
    X(LOG_ID_STORE_CREATED, LOG_INFO, "store_created",                                             \
      "there was no claim store; the agent created an empty one", "none")                          \
    X(LOG_ID_STORE_OPENED, LOG_INFO, "store_opened", "the claim store was opened", "none")         \
    X(LOG_ID_STORE_AWAITED, LOG_INFO, "store_awaited",                                             \
      "another agent of this node owns the claim store; this agent waits for it", "none")          \
    X(LOG_ID_STORE_HANDED_OVER, LOG_INFO, "store_handed_over",                                     \
      "this agent handed the claim store over to another agent of this node, which the kubelet "   \
      "calls from now on",                                                                         \
      "none")                                                                                      \
    X(LOG_ID_STORE_DAMAGED, LOG_ERROR, "store_damaged", "the claim store is missing or damaged",   \
      "depends on the damage; each line states its own remedy")                                    \
    X(LOG_ID_STORE_HALF_DAMAGED, LOG_WARN, "store_half_damaged",                                   \
      "one half of a slot of the claim store, or one copy of its header, cannot be read; the "     \
      "agent uses the other one",                                                                  \
      "none after a loss of power, which can tear a write; otherwise check the disk")              \
    X(LOG_ID_STORE_CONFLICT, LOG_ERROR, "store_conflict",                                          \
      "two records of the claim store name the same claim or the same device",                     \
      "none if the agent released one of the two claims (other=released); otherwise delete one "   \
      "of them once no pod uses it")                                                               \
    X(LOG_ID_STORE_FAILED, LOG_ERROR, "store_failed", "the claim store cannot be read or written", \
      "check the free space and the permissions of the plugin directory")                          \
    /* events about the sending of Kubernetes Events */                                            \
    X(LOG_ID_K8S_EVENTS_REFUSED, LOG_WARN, "k8s_events_refused",                                   \
      "the API server does not accept the agent's Kubernetes Events; the log has the same "        \
      "information",                                                                               \
      "allow create and patch of events in events.k8s.io; for any other cause see the API "        \
      "server's message")                                                                          \
    X(LOG_ID_K8S_EVENTS_DROPPED, LOG_WARN, "k8s_events_dropped",                                   \
      "the queue of Kubernetes Events was full; some were not sent",                               \
      "read the log, which has all events")

/* Makes the identifier of a catalogue row, for enum log_id. */
#define LOG_ID_NUMBER(id, level, name, cause, remedy) id,
/* Identifiers of the catalogue's rows; each is the index of the row's counter in struct report. */
enum log_id { LOG_CATALOGUE(LOG_ID_NUMBER) LOG_ID_COUNT };

#endif
