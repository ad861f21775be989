/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of Kubernetes Events (k8s_events.c), which an operator sees in `kubectl describe node`
 * and `kubectl get events`. Holds the table of log events that become Kubernetes Events, and the
 * Events that wait for k8s_event_writer.c or are already stored; equal Events share one entry with
 * a count. Owns struct k8s_events; sends nothing. Internal to src/agent.
 */
#ifndef AGENT_REPORT_K8S_EVENTS_H
#define AGENT_REPORT_K8S_EVENTS_H

#include "agent/report/log_catalogue.h"
#include "cfg/limits.h"
#include "dra/claim.h"

/*
 * The reasons of Kubernetes Events, a stable contract with their readers. Applies X to every row:
 * X(log event, warning, reason, action). An Event regards the Node, or the claim that log_about
 * names. A log event without a row is only logged: a healthy node that starts, restarts or prepares
 * claims has no Kubernetes Event.
 */
#define K8S_EVENT_REASONS(X)                                                                       \
    X(LOG_ID_DEVICE_ISSUE_FOUND, true, "NeuronDeviceIssue", "Discover")                            \
    X(LOG_ID_DEVICE_UNHEALTHY, true, "NeuronDeviceUnhealthy", "CheckHealth")                       \
    X(LOG_ID_DEVICE_RECOVERED, false, "NeuronDeviceRecovered", "CheckHealth")                      \
    X(LOG_ID_SYSFS_READ_STALLED, true, "SysfsReadStalled", "CheckHealth")                          \
    X(LOG_ID_DEVICE_PLUGIN_FOUND, true, "NeuronDevicePluginFound", "Discover")                     \
    X(LOG_ID_DEVICE_PLUGIN_GONE, false, "NeuronDevicePluginGone", "Discover")                      \
    X(LOG_ID_OTHER_DRIVER_FOUND, true, "OtherDriverFound", "Discover")                             \
    X(LOG_ID_OTHER_DRIVER_GONE, false, "OtherDriverGone", "Discover")                              \
    X(LOG_ID_PROBE_FAILED, true, "NeuronDiscoveryFailed", "Discover")                              \
    X(LOG_ID_INSTANCE_TYPE_MISMATCH_FOUND, true, "InstanceTypeMismatch", "Discover")               \
    X(LOG_ID_SOCKET_OPEN_FAILED, true, "SocketOpenFailed", "Listen")                               \
    X(LOG_ID_SOCKET_FILE_LOST, true, "SocketFileLost", "Listen")                                   \
    X(LOG_ID_REGISTRATION_REFUSED, true, "RegistrationRefused", "Register")                        \
    X(LOG_ID_REGISTRATION_SOCKET_REPLACED, true, "RegistrationOverdue", "Register")                \
    X(LOG_ID_RESOURCE_API_NOT_SERVED, true, "ResourceAPINotServed", "Publish")                     \
    X(LOG_ID_API_REQUEST_FAILED, true, "APIRequestFailed", "Publish")                              \
    X(LOG_ID_SLICE_FIELDS_DROPPED, true, "ResourceSliceFieldsDropped", "Publish")                  \
    X(LOG_ID_DEVICE_SHARING_DROPPED, true, "DeviceSharingDropped", "Publish")                      \
    X(LOG_ID_SLICE_ITEM_OMITTED, true, "ResourceSliceItemOmitted", "Publish")                      \
    X(LOG_ID_API_RESPONSE_UNEXPECTED, true, "UnexpectedAPIResponse", "Publish")                    \
    X(LOG_ID_SLICE_DRIFT_DETECTED, false, "ResourceSliceDriftDetected", "Publish")                 \
    X(LOG_ID_DEVICES_LOST_IN_USE, true, "DevicesLostInUse", "Discover")                            \
    X(LOG_ID_NODE_DRAINED, false, "NodeDrained", "Drain")                                          \
    X(LOG_ID_DEVICE_MEMORY_STUCK, true, "DeviceMemoryStuck", "Prepare")                            \
    X(LOG_ID_CLAIM_FAILED, true, "ClaimFailed", "Prepare")                                         \
    X(LOG_ID_CLAIM_CONFIG_AMBIGUOUS, true, "ClaimConfigAmbiguous", "Prepare")                      \
    X(LOG_ID_CLAIM_DEVICES_SCATTERED, true, "ClaimDevicesScattered", "Prepare")                    \
    X(LOG_ID_CLAIM_ADOPTED, true, "ClaimAdopted", "Reconcile")                                     \
    X(LOG_ID_CLAIM_RELEASED, true, "ClaimReleased", "Reconcile")                                   \
    X(LOG_ID_CLAIM_RELEASE_WITHHELD, true, "ClaimReleaseWithheld", "Reconcile")                    \
    X(LOG_ID_DRIVER_KEPT, true, "EFADriverKept", "Unprepare")                                      \
    X(LOG_ID_CDI_FILE_FAILED, true, "CDIFileFailed", "Prepare")                                    \
    X(LOG_ID_STORE_DAMAGED, true, "ClaimStoreDamaged", "OpenStore")                                \
    X(LOG_ID_STORE_HALF_DAMAGED, true, "ClaimRecordDamaged", "OpenStore")                          \
    X(LOG_ID_STORE_CONFLICT, true, "ClaimRecordConflict", "OpenStore")                             \
    X(LOG_ID_STORE_FAILED, true, "ClaimStoreFailed", "OpenStore")

/* A row of K8S_EVENT_REASONS; its texts are static. */
struct k8s_event_reason {
    uint8_t log_id; /* the log event that becomes this Kubernetes Event, an enum log_id */
    const char *action;
    const char *reason;
    bool warning; /* whether the type of the Event is Warning; false: Normal */
};

/* Progress of an Event: the values of `state` in struct k8s_event. */
enum { K8S_EVENT_FREE, K8S_EVENT_NEW, K8S_EVENT_STORED };

/* A Kubernetes Event, and the number of its occurrences. */
struct k8s_event {
    uint8_t state;  /* progress of the Event: K8S_EVENT_FREE, K8S_EVENT_NEW or K8S_EVENT_STORED */
    uint8_t reason; /* index of the Event's row in K8S_EVENT_REASONS */
    uint32_t count; /* number of occurrences of the Event */
    uint32_t sent_count;    /* the count of the Event that the API server has */
    uint64_t first_wall_ms; /* time of the Event's first occurrence, in Unix milliseconds */
    uint64_t last_wall_ms;
    uint64_t first_ms;
    uint64_t last_ms;
    uint64_t sent_ms; /* time at which the Event was last sent or postponed */
    uint64_t serial;  /* last part of the Event's name; random, so that names are unique */
    /* the claim that the Event regards; empty name: the Event regards the Node */
    struct claim_id about;
    char note[K8S_EVENT_NOTE_CAP];
};

/* The queue of Kubernetes Events, with a count of dropped Events. */
struct k8s_events {
    /*
     * number of Events that were dropped, because the queue was full or after HTTP 403, and are not
     * logged yet
     */
    uint64_t dropped;
    struct k8s_event event[K8S_EVENTS_MAX];
};

struct agent;

/* The row of K8S_EVENT_REASONS for an Event. Never NULL. */
const struct k8s_event_reason *k8s_event_reason(const struct k8s_event *e);
/* Whether the API server lacks the Event, or has an older count of it. */
bool k8s_event_pending(const struct k8s_event *e);

/*
 * Adds an Event to the queue, or increments the count of an equal one. `id` has a row in
 * K8S_EVENT_REASONS; `about` NULL: the Event regards the Node; `note` has at most
 * K8S_EVENT_NOTE_CAP bytes with its NUL.
 */
void k8s_events_add(struct agent *a, enum log_id id, const struct claim_id *about,
                    const char *note);

/* --- results of sending Event `at` of the queue, for k8s_event_writer.c --- */

/* Records that the API server has stored the Event with the count `count`. */
void k8s_event_sent(struct agent *a, unsigned at, uint32_t count);
/*
 * Records that the API server no longer has the Event: the agent creates it again under another
 * name.
 */
void k8s_event_lost(struct agent *a, unsigned at);
/* Removes the Event, because the API server will never accept it. */
void k8s_event_remove(struct agent *a, unsigned at);
/*
 * Records that the Event could not be sent now: it is tried again after all Events that are already
 * due.
 */
void k8s_event_postpone(struct agent *a, unsigned at);
/* Removes the Event from the queue, and counts it as dropped. */
void k8s_event_drop(struct agent *a, unsigned at);
/* Returns the number of Events that were dropped since the last call. */
uint64_t k8s_events_new_drops(struct agent *a);

#endif
