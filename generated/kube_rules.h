/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tools/build/generate.py from proto/projection.proto: edit that, then run 'make generate'. */
/*
 * The records of the field filter and, for each object, the rows of its table (struct kube_rule of
 * wire/kube_filter.h). What each record holds: proto/projection.proto.
 */
#ifndef GENERATED_KUBE_RULES_H
#define GENERATED_KUBE_RULES_H

/* Numbers of the records. */
enum {
    KUBE_RECORD_NONE,
    KUBE_WATCH_EVENT,
    KUBE_TYPE_META,
    KUBE_GROUP_VERSION,
    KUBE_OBJECT_END,
    KUBE_STATUS,
    KUBE_STATUS_CAUSE,
    KUBE_META,
    KUBE_LABEL,
    KUBE_ANNOTATION,
    KUBE_RESULT_CAPACITY,
    KUBE_NODE_INFO,
    KUBE_ALLOCATION,
    KUBE_RESULT,
    KUBE_CONFIG,
    KUBE_CONSUMER,
    KUBE_SLICE_ATTRIBUTE,
    KUBE_SLICE_TAINT,
    KUBE_SLICE_COUNTER,
    KUBE_SLICE_CAPACITY,
    KUBE_SLICE_RESOURCE,
    KUBE_SLICE_DEVICE,
    KUBE_SLICE_COUNTERS,
    KUBE_SLICE_NAME,
    KUBE_SLICE_SPEC,
    KUBE_LIST_META,
    KUBE_POD,
    KUBE_RECORDS
};

/* Row of the envelope, in every table. */
#define KUBE_ROW_ENVELOPE 2u

/* Any */
#define KUBE_ROWS_ANY \
    /* 0 */ {KUBE_ROOT, KUBE_RECORD_FIELD, 1, KUBE_WATCH_EVENT, 1, 15}, /* type */ \
    /* 1 */ {KUBE_ROOT, KUBE_DESCEND, 2, 0, 0, 0}, /* object */ \
    /* 2 */ {1, KUBE_ENVELOPE, 1, 0, 0, 0}, /* object.raw */ \
    /* 3 */ {2, KUBE_RECORD, 1, KUBE_TYPE_META, 0, 0}, /* object.raw.typeMeta */ \
    /* 4 */ {3, KUBE_KEEP, 1, 0, 1, 63}, /* object.raw.typeMeta.apiVersion */ \
    /* 5 */ {3, KUBE_KEEP, 2, 0, 2, 63}, /* object.raw.typeMeta.kind */ \
    /* 6 */ {2, KUBE_RECORD, 2, KUBE_OBJECT_END, 0, 0}, /* object.raw.raw */

/* Status */
#define KUBE_ROWS_STATUS \
    /* 0 */ {KUBE_ROOT, KUBE_RECORD_FIELD, 1, KUBE_WATCH_EVENT, 1, 15}, /* type */ \
    /* 1 */ {KUBE_ROOT, KUBE_DESCEND, 2, 0, 0, 0}, /* object */ \
    /* 2 */ {1, KUBE_ENVELOPE, 1, 0, 0, 0}, /* object.raw */ \
    /* 3 */ {2, KUBE_RECORD, 1, KUBE_TYPE_META, 0, 0}, /* object.raw.typeMeta */ \
    /* 4 */ {3, KUBE_KEEP, 1, 0, 1, 63}, /* object.raw.typeMeta.apiVersion */ \
    /* 5 */ {3, KUBE_KEEP, 2, 0, 2, 63}, /* object.raw.typeMeta.kind */ \
    /* 6 */ {2, KUBE_RECORD, 2, KUBE_STATUS, 0, 0}, /* object.raw.raw */ \
    /* 7 */ {6, KUBE_DESCEND, 5, 0, 0, 0}, /* details */ \
    /* 8 */ {7, KUBE_RECORD, 4, KUBE_STATUS_CAUSE, 0, 0}, /* details.causes */ \
    /* 9 */ {8, KUBE_KEEP_CUT, 2, 0, 2, 511}, /* details.causes.message */ \
    /* 10 */ {8, KUBE_KEEP_CUT, 3, 0, 4, 253}, /* details.causes.field */ \
    /* 11 */ {7, KUBE_KEEP, 1, 0, 4, 253}, /* details.name */ \
    /* 12 */ {7, KUBE_KEEP, 5, 0, 5, 0}, /* details.retryAfterSeconds */ \
    /* 13 */ {7, KUBE_KEEP, 3, 0, 7, 63}, /* details.kind */ \
    /* 14 */ {6, KUBE_KEEP, 2, 0, 1, 15}, /* status */ \
    /* 15 */ {6, KUBE_KEEP_CUT, 3, 0, 2, 511}, /* message */ \
    /* 16 */ {6, KUBE_KEEP, 4, 0, 3, 63}, /* reason */ \
    /* 17 */ {6, KUBE_KEEP, 6, 0, 6, 0}, /* code */

/* APIGroup */
#define KUBE_ROWS_APIGROUP \
    /* 0 */ {KUBE_ROOT, KUBE_RECORD_FIELD, 1, KUBE_WATCH_EVENT, 1, 15}, /* type */ \
    /* 1 */ {KUBE_ROOT, KUBE_DESCEND, 2, 0, 0, 0}, /* object */ \
    /* 2 */ {1, KUBE_ENVELOPE, 1, 0, 0, 0}, /* object.raw */ \
    /* 3 */ {2, KUBE_RECORD, 1, KUBE_TYPE_META, 0, 0}, /* object.raw.typeMeta */ \
    /* 4 */ {3, KUBE_KEEP, 1, 0, 1, 63}, /* object.raw.typeMeta.apiVersion */ \
    /* 5 */ {3, KUBE_KEEP, 2, 0, 2, 63}, /* object.raw.typeMeta.kind */ \
    /* 6 */ {2, KUBE_RECORD, 2, KUBE_OBJECT_END, 0, 0}, /* object.raw.raw */ \
    /* 7 */ {6, KUBE_RECORD, 2, KUBE_GROUP_VERSION, 0, 0}, /* versions */ \
    /* 8 */ {7, KUBE_KEEP, 1, 0, 1, 63}, /* versions.groupVersion */

/* Node */
#define KUBE_ROWS_NODE \
    /* 0 */ {KUBE_ROOT, KUBE_RECORD_FIELD, 1, KUBE_WATCH_EVENT, 1, 15}, /* type */ \
    /* 1 */ {KUBE_ROOT, KUBE_DESCEND, 2, 0, 0, 0}, /* object */ \
    /* 2 */ {1, KUBE_ENVELOPE, 1, 0, 0, 0}, /* object.raw */ \
    /* 3 */ {2, KUBE_RECORD, 1, KUBE_TYPE_META, 0, 0}, /* object.raw.typeMeta */ \
    /* 4 */ {3, KUBE_KEEP, 1, 0, 1, 63}, /* object.raw.typeMeta.apiVersion */ \
    /* 5 */ {3, KUBE_KEEP, 2, 0, 2, 63}, /* object.raw.typeMeta.kind */ \
    /* 6 */ {2, KUBE_RECORD, 2, KUBE_OBJECT_END, 0, 0}, /* object.raw.raw */ \
    /* 7 */ {6, KUBE_RECORD, 1, KUBE_META, 0, 0}, /* metadata */ \
    /* 8 */ {7, KUBE_KEEP, 1, 0, 1, 253}, /* metadata.name */ \
    /* 9 */ {7, KUBE_KEEP, 3, 0, 2, 63}, /* metadata.namespace */ \
    /* 10 */ {7, KUBE_KEEP, 5, 0, 3, 63}, /* metadata.uid */ \
    /* 11 */ {7, KUBE_KEEP, 6, 0, 4, 63}, /* metadata.resourceVersion */ \
    /* 12 */ {7, KUBE_DESCEND, 9, 0, 0, 0}, /* metadata.deletionTimestamp */ \
    /* 13 */ {12, KUBE_KEEP, 1, 0, 5, 0}, /* metadata.deletionTimestamp.seconds */ \
    /* 14 */ {7, KUBE_DESCEND, 13, 0, 0, 0}, /* metadata.ownerReferences */ \
    /* 15 */ {14, KUBE_KEEP, 4, 0, 6, 63}, /* metadata.ownerReferences.uid */ \
    /* 16 */ {7, KUBE_KEEP, 2, 0, 7, 253}, /* metadata.generateName */ \
    /* 17 */ {7, KUBE_RECORD, 11, KUBE_LABEL, 0, 0}, /* metadata.labels */ \
    /* 18 */ {17, KUBE_KEEP, 1, 0, 1, 317}, /* metadata.labels.key */ \
    /* 19 */ {17, KUBE_KEEP, 2, 0, 2, 63}, /* metadata.labels.value */ \
    /* 20 */ {6, KUBE_DESCEND, 3, 0, 0, 0}, /* status */ \
    /* 21 */ {20, KUBE_RECORD, 7, KUBE_NODE_INFO, 0, 0}, /* status.nodeInfo */ \
    /* 22 */ {21, KUBE_KEEP_CUT, 7, 0, 1, 63}, /* status.nodeInfo.kubeletVersion */

/* ResourceClaim */
#define KUBE_ROWS_RESOURCE_CLAIM \
    /* 0 */ {KUBE_ROOT, KUBE_RECORD_FIELD, 1, KUBE_WATCH_EVENT, 1, 15}, /* type */ \
    /* 1 */ {KUBE_ROOT, KUBE_DESCEND, 2, 0, 0, 0}, /* object */ \
    /* 2 */ {1, KUBE_ENVELOPE, 1, 0, 0, 0}, /* object.raw */ \
    /* 3 */ {2, KUBE_RECORD, 1, KUBE_TYPE_META, 0, 0}, /* object.raw.typeMeta */ \
    /* 4 */ {3, KUBE_KEEP, 1, 0, 1, 63}, /* object.raw.typeMeta.apiVersion */ \
    /* 5 */ {3, KUBE_KEEP, 2, 0, 2, 63}, /* object.raw.typeMeta.kind */ \
    /* 6 */ {2, KUBE_RECORD, 2, KUBE_OBJECT_END, 0, 0}, /* object.raw.raw */ \
    /* 7 */ {6, KUBE_RECORD, 1, KUBE_META, 0, 0}, /* metadata */ \
    /* 8 */ {7, KUBE_KEEP, 1, 0, 1, 253}, /* metadata.name */ \
    /* 9 */ {7, KUBE_KEEP, 3, 0, 2, 63}, /* metadata.namespace */ \
    /* 10 */ {7, KUBE_KEEP, 5, 0, 3, 63}, /* metadata.uid */ \
    /* 11 */ {7, KUBE_KEEP, 6, 0, 4, 63}, /* metadata.resourceVersion */ \
    /* 12 */ {7, KUBE_DESCEND, 9, 0, 0, 0}, /* metadata.deletionTimestamp */ \
    /* 13 */ {12, KUBE_KEEP, 1, 0, 5, 0}, /* metadata.deletionTimestamp.seconds */ \
    /* 14 */ {7, KUBE_DESCEND, 13, 0, 0, 0}, /* metadata.ownerReferences */ \
    /* 15 */ {14, KUBE_KEEP, 4, 0, 6, 63}, /* metadata.ownerReferences.uid */ \
    /* 16 */ {7, KUBE_KEEP, 2, 0, 7, 253}, /* metadata.generateName */ \
    /* 17 */ {7, KUBE_RECORD, 12, KUBE_ANNOTATION, 0, 0}, /* metadata.annotations */ \
    /* 18 */ {17, KUBE_KEEP, 1, 0, 1, 317}, /* metadata.annotations.key */ \
    /* 19 */ {17, KUBE_KEEP, 2, 0, 2, 63}, /* metadata.annotations.value */ \
    /* 20 */ {6, KUBE_DESCEND, 3, 0, 0, 0}, /* status */ \
    /* 21 */ {20, KUBE_RECORD, 1, KUBE_ALLOCATION, 0, 0}, /* status.allocation */ \
    /* 22 */ {21, KUBE_DESCEND, 1, 0, 0, 0}, /* status.allocation.devices */ \
    /* 23 */ {22, KUBE_RECORD, 1, KUBE_RESULT, 0, 0}, /* status.allocation.devices.results */ \
    /* 24 */ {23, KUBE_RECORD, 10, KUBE_RESULT_CAPACITY, 0, 0}, /* status.allocation.devices.results.consumedCapacity */ \
    /* 25 */ {24, KUBE_KEEP, 1, 0, 1, 317}, /* status.allocation.devices.results.consumedCapacity.key */ \
    /* 26 */ {24, KUBE_DESCEND, 2, 0, 0, 0}, /* status.allocation.devices.results.consumedCapacity.value */ \
    /* 27 */ {26, KUBE_KEEP, 1, 0, 2, 63}, /* status.allocation.devices.results.consumedCapacity.value.string */ \
    /* 28 */ {23, KUBE_KEEP, 1, 0, 1, 127}, /* status.allocation.devices.results.request */ \
    /* 29 */ {23, KUBE_KEEP, 2, 0, 2, 63}, /* status.allocation.devices.results.driver */ \
    /* 30 */ {23, KUBE_KEEP, 3, 0, 3, 253}, /* status.allocation.devices.results.pool */ \
    /* 31 */ {23, KUBE_KEEP, 4, 0, 4, 63}, /* status.allocation.devices.results.device */ \
    /* 32 */ {23, KUBE_KEEP, 5, 0, 5, 0}, /* status.allocation.devices.results.adminAccess */ \
    /* 33 */ {23, KUBE_KEEP, 9, 0, 6, 36}, /* status.allocation.devices.results.shareID */ \
    /* 34 */ {22, KUBE_RECORD, 2, KUBE_CONFIG, 0, 0}, /* status.allocation.devices.config */ \
    /* 35 */ {34, KUBE_KEEP, 1, 0, 1, 15}, /* status.allocation.devices.config.source */ \
    /* 36 */ {34, KUBE_KEEP, 2, 0, 2, 127}, /* status.allocation.devices.config.requests */ \
    /* 37 */ {34, KUBE_DESCEND, 3, 0, 0, 0}, /* status.allocation.devices.config.deviceConfiguration */ \
    /* 38 */ {37, KUBE_DESCEND, 1, 0, 0, 0}, /* status.allocation.devices.config.deviceConfiguration.opaque */ \
    /* 39 */ {38, KUBE_KEEP, 1, 0, 3, 63}, /* status.allocation.devices.config.deviceConfiguration.opaque.driver */ \
    /* 40 */ {38, KUBE_DESCEND, 2, 0, 0, 0}, /* status.allocation.devices.config.deviceConfiguration.opaque.parameters */ \
    /* 41 */ {40, KUBE_KEEP, 1, 0, 4, 10240}, /* status.allocation.devices.config.deviceConfiguration.opaque.parameters.raw */ \
    /* 42 */ {20, KUBE_RECORD, 2, KUBE_CONSUMER, 0, 0}, /* status.reservedFor */ \
    /* 43 */ {42, KUBE_KEEP, 3, 0, 1, 63}, /* status.reservedFor.resource */ \
    /* 44 */ {42, KUBE_KEEP, 4, 0, 2, 253}, /* status.reservedFor.name */ \
    /* 45 */ {42, KUBE_KEEP, 5, 0, 3, 63}, /* status.reservedFor.uid */

/* ResourceClaimList */
#define KUBE_ROWS_RESOURCE_CLAIM_LIST \
    /* 0 */ {KUBE_ROOT, KUBE_RECORD_FIELD, 1, KUBE_WATCH_EVENT, 1, 15}, /* type */ \
    /* 1 */ {KUBE_ROOT, KUBE_DESCEND, 2, 0, 0, 0}, /* object */ \
    /* 2 */ {1, KUBE_ENVELOPE, 1, 0, 0, 0}, /* object.raw */ \
    /* 3 */ {2, KUBE_RECORD, 1, KUBE_TYPE_META, 0, 0}, /* object.raw.typeMeta */ \
    /* 4 */ {3, KUBE_KEEP, 1, 0, 1, 63}, /* object.raw.typeMeta.apiVersion */ \
    /* 5 */ {3, KUBE_KEEP, 2, 0, 2, 63}, /* object.raw.typeMeta.kind */ \
    /* 6 */ {2, KUBE_DESCEND, 2, 0, 0, 0}, /* object.raw.raw */ \
    /* 7 */ {6, KUBE_RECORD, 2, KUBE_OBJECT_END, 0, 0}, /* items */ \
    /* 8 */ {7, KUBE_RECORD, 1, KUBE_META, 0, 0}, /* items.metadata */ \
    /* 9 */ {8, KUBE_KEEP, 1, 0, 1, 253}, /* items.metadata.name */ \
    /* 10 */ {8, KUBE_KEEP, 3, 0, 2, 63}, /* items.metadata.namespace */ \
    /* 11 */ {8, KUBE_KEEP, 5, 0, 3, 63}, /* items.metadata.uid */ \
    /* 12 */ {8, KUBE_KEEP, 6, 0, 4, 63}, /* items.metadata.resourceVersion */ \
    /* 13 */ {8, KUBE_DESCEND, 9, 0, 0, 0}, /* items.metadata.deletionTimestamp */ \
    /* 14 */ {13, KUBE_KEEP, 1, 0, 5, 0}, /* items.metadata.deletionTimestamp.seconds */ \
    /* 15 */ {8, KUBE_DESCEND, 13, 0, 0, 0}, /* items.metadata.ownerReferences */ \
    /* 16 */ {15, KUBE_KEEP, 4, 0, 6, 63}, /* items.metadata.ownerReferences.uid */ \
    /* 17 */ {8, KUBE_KEEP, 2, 0, 7, 253}, /* items.metadata.generateName */ \
    /* 18 */ {8, KUBE_RECORD, 12, KUBE_ANNOTATION, 0, 0}, /* items.metadata.annotations */ \
    /* 19 */ {18, KUBE_KEEP, 1, 0, 1, 317}, /* items.metadata.annotations.key */ \
    /* 20 */ {18, KUBE_KEEP, 2, 0, 2, 63}, /* items.metadata.annotations.value */ \
    /* 21 */ {7, KUBE_DESCEND, 3, 0, 0, 0}, /* items.status */ \
    /* 22 */ {21, KUBE_RECORD, 1, KUBE_ALLOCATION, 0, 0}, /* items.status.allocation */ \
    /* 23 */ {22, KUBE_DESCEND, 1, 0, 0, 0}, /* items.status.allocation.devices */ \
    /* 24 */ {23, KUBE_RECORD, 1, KUBE_RESULT, 0, 0}, /* items.status.allocation.devices.results */ \
    /* 25 */ {24, KUBE_RECORD, 10, KUBE_RESULT_CAPACITY, 0, 0}, /* items.status.allocation.devices.results.consumedCapacity */ \
    /* 26 */ {25, KUBE_KEEP, 1, 0, 1, 317}, /* items.status.allocation.devices.results.consumedCapacity.key */ \
    /* 27 */ {25, KUBE_DESCEND, 2, 0, 0, 0}, /* items.status.allocation.devices.results.consumedCapacity.value */ \
    /* 28 */ {27, KUBE_KEEP, 1, 0, 2, 63}, /* items.status.allocation.devices.results.consumedCapacity.value.string */ \
    /* 29 */ {24, KUBE_KEEP, 1, 0, 1, 127}, /* items.status.allocation.devices.results.request */ \
    /* 30 */ {24, KUBE_KEEP, 2, 0, 2, 63}, /* items.status.allocation.devices.results.driver */ \
    /* 31 */ {24, KUBE_KEEP, 3, 0, 3, 253}, /* items.status.allocation.devices.results.pool */ \
    /* 32 */ {24, KUBE_KEEP, 4, 0, 4, 63}, /* items.status.allocation.devices.results.device */ \
    /* 33 */ {24, KUBE_KEEP, 5, 0, 5, 0}, /* items.status.allocation.devices.results.adminAccess */ \
    /* 34 */ {24, KUBE_KEEP, 9, 0, 6, 36}, /* items.status.allocation.devices.results.shareID */ \
    /* 35 */ {23, KUBE_RECORD, 2, KUBE_CONFIG, 0, 0}, /* items.status.allocation.devices.config */ \
    /* 36 */ {35, KUBE_KEEP, 1, 0, 1, 15}, /* items.status.allocation.devices.config.source */ \
    /* 37 */ {35, KUBE_KEEP, 2, 0, 2, 127}, /* items.status.allocation.devices.config.requests */ \
    /* 38 */ {35, KUBE_DESCEND, 3, 0, 0, 0}, /* items.status.allocation.devices.config.deviceConfiguration */ \
    /* 39 */ {38, KUBE_DESCEND, 1, 0, 0, 0}, /* items.status.allocation.devices.config.deviceConfiguration.opaque */ \
    /* 40 */ {39, KUBE_KEEP, 1, 0, 3, 63}, /* items.status.allocation.devices.config.deviceConfiguration.opaque.driver */ \
    /* 41 */ {39, KUBE_DESCEND, 2, 0, 0, 0}, /* items.status.allocation.devices.config.deviceConfiguration.opaque.parameters */ \
    /* 42 */ {41, KUBE_KEEP, 1, 0, 4, 10240}, /* items.status.allocation.devices.config.deviceConfiguration.opaque.parameters.raw */ \
    /* 43 */ {21, KUBE_RECORD, 2, KUBE_CONSUMER, 0, 0}, /* items.status.reservedFor */ \
    /* 44 */ {43, KUBE_KEEP, 3, 0, 1, 63}, /* items.status.reservedFor.resource */ \
    /* 45 */ {43, KUBE_KEEP, 4, 0, 2, 253}, /* items.status.reservedFor.name */ \
    /* 46 */ {43, KUBE_KEEP, 5, 0, 3, 63}, /* items.status.reservedFor.uid */ \
    /* 47 */ {6, KUBE_RECORD, 1, KUBE_LIST_META, 0, 0}, /* metadata */ \
    /* 48 */ {47, KUBE_KEEP, 2, 0, 1, 63}, /* metadata.resourceVersion */ \
    /* 49 */ {47, KUBE_KEEP, 3, 0, 2, 639}, /* metadata.continue */

/* ResourceSlice */
#define KUBE_ROWS_RESOURCE_SLICE \
    /* 0 */ {KUBE_ROOT, KUBE_RECORD_FIELD, 1, KUBE_WATCH_EVENT, 1, 15}, /* type */ \
    /* 1 */ {KUBE_ROOT, KUBE_DESCEND, 2, 0, 0, 0}, /* object */ \
    /* 2 */ {1, KUBE_ENVELOPE, 1, 0, 0, 0}, /* object.raw */ \
    /* 3 */ {2, KUBE_RECORD, 1, KUBE_TYPE_META, 0, 0}, /* object.raw.typeMeta */ \
    /* 4 */ {3, KUBE_KEEP, 1, 0, 1, 63}, /* object.raw.typeMeta.apiVersion */ \
    /* 5 */ {3, KUBE_KEEP, 2, 0, 2, 63}, /* object.raw.typeMeta.kind */ \
    /* 6 */ {2, KUBE_RECORD, 2, KUBE_OBJECT_END, 0, 0}, /* object.raw.raw */ \
    /* 7 */ {6, KUBE_RECORD, 1, KUBE_META, 0, 0}, /* metadata */ \
    /* 8 */ {7, KUBE_KEEP, 1, 0, 1, 253}, /* metadata.name */ \
    /* 9 */ {7, KUBE_KEEP, 3, 0, 2, 63}, /* metadata.namespace */ \
    /* 10 */ {7, KUBE_KEEP, 5, 0, 3, 63}, /* metadata.uid */ \
    /* 11 */ {7, KUBE_KEEP, 6, 0, 4, 63}, /* metadata.resourceVersion */ \
    /* 12 */ {7, KUBE_DESCEND, 9, 0, 0, 0}, /* metadata.deletionTimestamp */ \
    /* 13 */ {12, KUBE_KEEP, 1, 0, 5, 0}, /* metadata.deletionTimestamp.seconds */ \
    /* 14 */ {7, KUBE_DESCEND, 13, 0, 0, 0}, /* metadata.ownerReferences */ \
    /* 15 */ {14, KUBE_KEEP, 4, 0, 6, 63}, /* metadata.ownerReferences.uid */ \
    /* 16 */ {7, KUBE_KEEP, 2, 0, 7, 253}, /* metadata.generateName */ \
    /* 17 */ {6, KUBE_RECORD, 2, KUBE_SLICE_SPEC, 0, 0}, /* spec */ \
    /* 18 */ {17, KUBE_RECORD, 6, KUBE_SLICE_DEVICE, 0, 0}, /* spec.devices */ \
    /* 19 */ {18, KUBE_RECORD, 2, KUBE_SLICE_ATTRIBUTE, 0, 0}, /* spec.devices.attributes */ \
    /* 20 */ {19, KUBE_KEEP, 1, 0, 1, 96}, /* spec.devices.attributes.key */ \
    /* 21 */ {19, KUBE_DESCEND, 2, 0, 0, 0}, /* spec.devices.attributes.value */ \
    /* 22 */ {21, KUBE_KEEP, 2, 0, 2, 0}, /* spec.devices.attributes.value.int */ \
    /* 23 */ {21, KUBE_KEEP, 3, 0, 3, 0}, /* spec.devices.attributes.value.bool */ \
    /* 24 */ {21, KUBE_KEEP, 4, 0, 4, 64}, /* spec.devices.attributes.value.string */ \
    /* 25 */ {21, KUBE_KEEP, 5, 0, 5, 64}, /* spec.devices.attributes.value.version */ \
    /* 26 */ {21, KUBE_PRESENT, 0, 0, 6, 0}, /* spec.devices.attributes.value.* */ \
    /* 27 */ {18, KUBE_RECORD, 8, KUBE_SLICE_TAINT, 0, 0}, /* spec.devices.taints */ \
    /* 28 */ {27, KUBE_KEEP, 1, 0, 1, 317}, /* spec.devices.taints.key */ \
    /* 29 */ {27, KUBE_KEEP, 3, 0, 2, 15}, /* spec.devices.taints.effect */ \
    /* 30 */ {27, KUBE_KEEP, 2, 0, 3, 63}, /* spec.devices.taints.value */ \
    /* 31 */ {18, KUBE_RECORD, 4, KUBE_SLICE_COUNTERS, 0, 0}, /* spec.devices.consumesCounters */ \
    /* 32 */ {31, KUBE_RECORD, 2, KUBE_SLICE_COUNTER, 0, 0}, /* spec.devices.consumesCounters.counters */ \
    /* 33 */ {32, KUBE_KEEP, 1, 0, 1, 96}, /* spec.devices.consumesCounters.counters.key */ \
    /* 34 */ {32, KUBE_DESCEND, 2, 0, 0, 0}, /* spec.devices.consumesCounters.counters.value */ \
    /* 35 */ {34, KUBE_DESCEND, 1, 0, 0, 0}, /* spec.devices.consumesCounters.counters.value.value */ \
    /* 36 */ {35, KUBE_KEEP, 1, 0, 2, 15}, /* spec.devices.consumesCounters.counters.value.value.string */ \
    /* 37 */ {34, KUBE_PRESENT, 0, 0, 3, 0}, /* spec.devices.consumesCounters.counters.value.* */ \
    /* 38 */ {31, KUBE_KEEP, 1, 0, 1, 63}, /* spec.devices.consumesCounters.name */ \
    /* 39 */ {18, KUBE_RECORD, 3, KUBE_SLICE_CAPACITY, 0, 0}, /* spec.devices.capacity */ \
    /* 40 */ {39, KUBE_KEEP, 1, 0, 1, 96}, /* spec.devices.capacity.key */ \
    /* 41 */ {39, KUBE_DESCEND, 2, 0, 0, 0}, /* spec.devices.capacity.value */ \
    /* 42 */ {41, KUBE_DESCEND, 1, 0, 0, 0}, /* spec.devices.capacity.value.value */ \
    /* 43 */ {42, KUBE_KEEP, 1, 0, 2, 15}, /* spec.devices.capacity.value.value.string */ \
    /* 44 */ {41, KUBE_PRESENT, 0, 0, 3, 0}, /* spec.devices.capacity.value.* */ \
    /* 45 */ {41, KUBE_KEEP, 2, 0, 4, 32}, /* spec.devices.capacity.value.requestPolicy */ \
    /* 46 */ {18, KUBE_RECORD_FIELD, 14, KUBE_SLICE_RESOURCE, 1, 40}, /* spec.devices.nodeAllocatableResources */ \
    /* 47 */ {18, KUBE_RECORD_FIELD, 1, KUBE_SLICE_NAME, 1, 63}, /* spec.devices.name */ \
    /* 48 */ {18, KUBE_PRESENT, 0, 0, 2, 0}, /* spec.devices.* */ \
    /* 49 */ {18, KUBE_KEEP, 12, 0, 3, 0}, /* spec.devices.allowMultipleAllocations */ \
    /* 50 */ {17, KUBE_RECORD, 8, KUBE_SLICE_COUNTERS, 0, 0}, /* spec.sharedCounters */ \
    /* 51 */ {50, KUBE_RECORD, 2, KUBE_SLICE_COUNTER, 0, 0}, /* spec.sharedCounters.counters */ \
    /* 52 */ {51, KUBE_KEEP, 1, 0, 1, 96}, /* spec.sharedCounters.counters.key */ \
    /* 53 */ {51, KUBE_DESCEND, 2, 0, 0, 0}, /* spec.sharedCounters.counters.value */ \
    /* 54 */ {53, KUBE_DESCEND, 1, 0, 0, 0}, /* spec.sharedCounters.counters.value.value */ \
    /* 55 */ {54, KUBE_KEEP, 1, 0, 2, 15}, /* spec.sharedCounters.counters.value.value.string */ \
    /* 56 */ {53, KUBE_PRESENT, 0, 0, 3, 0}, /* spec.sharedCounters.counters.value.* */ \
    /* 57 */ {50, KUBE_KEEP, 1, 0, 1, 63}, /* spec.sharedCounters.name */ \
    /* 58 */ {17, KUBE_KEEP, 1, 0, 1, 63}, /* spec.driver */ \
    /* 59 */ {17, KUBE_DESCEND, 2, 0, 0, 0}, /* spec.pool */ \
    /* 60 */ {59, KUBE_KEEP, 1, 0, 2, 253}, /* spec.pool.name */ \
    /* 61 */ {59, KUBE_KEEP, 2, 0, 3, 0}, /* spec.pool.generation */ \
    /* 62 */ {59, KUBE_KEEP, 3, 0, 4, 0}, /* spec.pool.resourceSliceCount */ \
    /* 63 */ {17, KUBE_KEEP, 3, 0, 5, 253}, /* spec.nodeName */ \
    /* 64 */ {17, KUBE_PRESENT, 0, 0, 6, 0}, /* spec.* */ \
    /* 65 */ {17, KUBE_KEEP, 5, 0, 7, 0}, /* spec.allNodes */

/* ResourceSliceV1beta1 */
#define KUBE_ROWS_RESOURCE_SLICE_V1BETA1 \
    /* 0 */ {KUBE_ROOT, KUBE_RECORD_FIELD, 1, KUBE_WATCH_EVENT, 1, 15}, /* type */ \
    /* 1 */ {KUBE_ROOT, KUBE_DESCEND, 2, 0, 0, 0}, /* object */ \
    /* 2 */ {1, KUBE_ENVELOPE, 1, 0, 0, 0}, /* object.raw */ \
    /* 3 */ {2, KUBE_RECORD, 1, KUBE_TYPE_META, 0, 0}, /* object.raw.typeMeta */ \
    /* 4 */ {3, KUBE_KEEP, 1, 0, 1, 63}, /* object.raw.typeMeta.apiVersion */ \
    /* 5 */ {3, KUBE_KEEP, 2, 0, 2, 63}, /* object.raw.typeMeta.kind */ \
    /* 6 */ {2, KUBE_RECORD, 2, KUBE_OBJECT_END, 0, 0}, /* object.raw.raw */ \
    /* 7 */ {6, KUBE_RECORD, 1, KUBE_META, 0, 0}, /* metadata */ \
    /* 8 */ {7, KUBE_KEEP, 1, 0, 1, 253}, /* metadata.name */ \
    /* 9 */ {7, KUBE_KEEP, 3, 0, 2, 63}, /* metadata.namespace */ \
    /* 10 */ {7, KUBE_KEEP, 5, 0, 3, 63}, /* metadata.uid */ \
    /* 11 */ {7, KUBE_KEEP, 6, 0, 4, 63}, /* metadata.resourceVersion */ \
    /* 12 */ {7, KUBE_DESCEND, 9, 0, 0, 0}, /* metadata.deletionTimestamp */ \
    /* 13 */ {12, KUBE_KEEP, 1, 0, 5, 0}, /* metadata.deletionTimestamp.seconds */ \
    /* 14 */ {7, KUBE_DESCEND, 13, 0, 0, 0}, /* metadata.ownerReferences */ \
    /* 15 */ {14, KUBE_KEEP, 4, 0, 6, 63}, /* metadata.ownerReferences.uid */ \
    /* 16 */ {7, KUBE_KEEP, 2, 0, 7, 253}, /* metadata.generateName */ \
    /* 17 */ {6, KUBE_RECORD, 2, KUBE_SLICE_SPEC, 0, 0}, /* spec */ \
    /* 18 */ {17, KUBE_RECORD, 6, KUBE_SLICE_DEVICE, 0, 0}, /* spec.devices */ \
    /* 19 */ {18, KUBE_DESCEND, 2, 0, 0, 0}, /* spec.devices.basic */ \
    /* 20 */ {19, KUBE_RECORD, 1, KUBE_SLICE_ATTRIBUTE, 0, 0}, /* spec.devices.basic.attributes */ \
    /* 21 */ {20, KUBE_KEEP, 1, 0, 1, 96}, /* spec.devices.basic.attributes.key */ \
    /* 22 */ {20, KUBE_DESCEND, 2, 0, 0, 0}, /* spec.devices.basic.attributes.value */ \
    /* 23 */ {22, KUBE_KEEP, 2, 0, 2, 0}, /* spec.devices.basic.attributes.value.int */ \
    /* 24 */ {22, KUBE_KEEP, 3, 0, 3, 0}, /* spec.devices.basic.attributes.value.bool */ \
    /* 25 */ {22, KUBE_KEEP, 4, 0, 4, 64}, /* spec.devices.basic.attributes.value.string */ \
    /* 26 */ {22, KUBE_KEEP, 5, 0, 5, 64}, /* spec.devices.basic.attributes.value.version */ \
    /* 27 */ {22, KUBE_PRESENT, 0, 0, 6, 0}, /* spec.devices.basic.attributes.value.* */ \
    /* 28 */ {19, KUBE_RECORD, 7, KUBE_SLICE_TAINT, 0, 0}, /* spec.devices.basic.taints */ \
    /* 29 */ {28, KUBE_KEEP, 1, 0, 1, 317}, /* spec.devices.basic.taints.key */ \
    /* 30 */ {28, KUBE_KEEP, 3, 0, 2, 15}, /* spec.devices.basic.taints.effect */ \
    /* 31 */ {28, KUBE_KEEP, 2, 0, 3, 63}, /* spec.devices.basic.taints.value */ \
    /* 32 */ {19, KUBE_RECORD, 2, KUBE_SLICE_CAPACITY, 0, 0}, /* spec.devices.basic.capacity */ \
    /* 33 */ {32, KUBE_KEEP, 1, 0, 1, 96}, /* spec.devices.basic.capacity.key */ \
    /* 34 */ {32, KUBE_DESCEND, 2, 0, 0, 0}, /* spec.devices.basic.capacity.value */ \
    /* 35 */ {34, KUBE_DESCEND, 1, 0, 0, 0}, /* spec.devices.basic.capacity.value.value */ \
    /* 36 */ {35, KUBE_KEEP, 1, 0, 2, 15}, /* spec.devices.basic.capacity.value.value.string */ \
    /* 37 */ {34, KUBE_PRESENT, 0, 0, 3, 0}, /* spec.devices.basic.capacity.value.* */ \
    /* 38 */ {34, KUBE_KEEP, 2, 0, 4, 32}, /* spec.devices.basic.capacity.value.requestPolicy */ \
    /* 39 */ {19, KUBE_RECORD_FIELD, 14, KUBE_SLICE_RESOURCE, 1, 40}, /* spec.devices.basic.nodeAllocatableResources */ \
    /* 40 */ {19, KUBE_PRESENT, 0, 0, 2, 0}, /* spec.devices.basic.* */ \
    /* 41 */ {19, KUBE_KEEP, 11, 0, 3, 0}, /* spec.devices.basic.allowMultipleAllocations */ \
    /* 42 */ {18, KUBE_RECORD_FIELD, 1, KUBE_SLICE_NAME, 1, 63}, /* spec.devices.name */ \
    /* 43 */ {18, KUBE_PRESENT, 0, 0, 2, 0}, /* spec.devices.* */ \
    /* 44 */ {18, KUBE_KEEP, 12, 0, 3, 0}, /* spec.devices.allowMultipleAllocations */ \
    /* 45 */ {17, KUBE_KEEP, 1, 0, 1, 63}, /* spec.driver */ \
    /* 46 */ {17, KUBE_DESCEND, 2, 0, 0, 0}, /* spec.pool */ \
    /* 47 */ {46, KUBE_KEEP, 1, 0, 2, 253}, /* spec.pool.name */ \
    /* 48 */ {46, KUBE_KEEP, 2, 0, 3, 0}, /* spec.pool.generation */ \
    /* 49 */ {46, KUBE_KEEP, 3, 0, 4, 0}, /* spec.pool.resourceSliceCount */ \
    /* 50 */ {17, KUBE_KEEP, 3, 0, 5, 253}, /* spec.nodeName */ \
    /* 51 */ {17, KUBE_PRESENT, 0, 0, 6, 0}, /* spec.* */ \
    /* 52 */ {17, KUBE_KEEP, 5, 0, 7, 0}, /* spec.allNodes */

/* ResourceSliceList */
#define KUBE_ROWS_RESOURCE_SLICE_LIST \
    /* 0 */ {KUBE_ROOT, KUBE_RECORD_FIELD, 1, KUBE_WATCH_EVENT, 1, 15}, /* type */ \
    /* 1 */ {KUBE_ROOT, KUBE_DESCEND, 2, 0, 0, 0}, /* object */ \
    /* 2 */ {1, KUBE_ENVELOPE, 1, 0, 0, 0}, /* object.raw */ \
    /* 3 */ {2, KUBE_RECORD, 1, KUBE_TYPE_META, 0, 0}, /* object.raw.typeMeta */ \
    /* 4 */ {3, KUBE_KEEP, 1, 0, 1, 63}, /* object.raw.typeMeta.apiVersion */ \
    /* 5 */ {3, KUBE_KEEP, 2, 0, 2, 63}, /* object.raw.typeMeta.kind */ \
    /* 6 */ {2, KUBE_DESCEND, 2, 0, 0, 0}, /* object.raw.raw */ \
    /* 7 */ {6, KUBE_RECORD, 2, KUBE_OBJECT_END, 0, 0}, /* items */ \
    /* 8 */ {7, KUBE_RECORD, 1, KUBE_META, 0, 0}, /* items.metadata */ \
    /* 9 */ {8, KUBE_KEEP, 1, 0, 1, 253}, /* items.metadata.name */ \
    /* 10 */ {8, KUBE_KEEP, 3, 0, 2, 63}, /* items.metadata.namespace */ \
    /* 11 */ {8, KUBE_KEEP, 5, 0, 3, 63}, /* items.metadata.uid */ \
    /* 12 */ {8, KUBE_KEEP, 6, 0, 4, 63}, /* items.metadata.resourceVersion */ \
    /* 13 */ {8, KUBE_DESCEND, 9, 0, 0, 0}, /* items.metadata.deletionTimestamp */ \
    /* 14 */ {13, KUBE_KEEP, 1, 0, 5, 0}, /* items.metadata.deletionTimestamp.seconds */ \
    /* 15 */ {8, KUBE_DESCEND, 13, 0, 0, 0}, /* items.metadata.ownerReferences */ \
    /* 16 */ {15, KUBE_KEEP, 4, 0, 6, 63}, /* items.metadata.ownerReferences.uid */ \
    /* 17 */ {8, KUBE_KEEP, 2, 0, 7, 253}, /* items.metadata.generateName */ \
    /* 18 */ {7, KUBE_RECORD, 2, KUBE_SLICE_SPEC, 0, 0}, /* items.spec */ \
    /* 19 */ {18, KUBE_RECORD, 6, KUBE_SLICE_DEVICE, 0, 0}, /* items.spec.devices */ \
    /* 20 */ {19, KUBE_RECORD, 2, KUBE_SLICE_ATTRIBUTE, 0, 0}, /* items.spec.devices.attributes */ \
    /* 21 */ {20, KUBE_KEEP, 1, 0, 1, 96}, /* items.spec.devices.attributes.key */ \
    /* 22 */ {20, KUBE_DESCEND, 2, 0, 0, 0}, /* items.spec.devices.attributes.value */ \
    /* 23 */ {22, KUBE_KEEP, 2, 0, 2, 0}, /* items.spec.devices.attributes.value.int */ \
    /* 24 */ {22, KUBE_KEEP, 3, 0, 3, 0}, /* items.spec.devices.attributes.value.bool */ \
    /* 25 */ {22, KUBE_KEEP, 4, 0, 4, 64}, /* items.spec.devices.attributes.value.string */ \
    /* 26 */ {22, KUBE_KEEP, 5, 0, 5, 64}, /* items.spec.devices.attributes.value.version */ \
    /* 27 */ {22, KUBE_PRESENT, 0, 0, 6, 0}, /* items.spec.devices.attributes.value.* */ \
    /* 28 */ {19, KUBE_RECORD, 8, KUBE_SLICE_TAINT, 0, 0}, /* items.spec.devices.taints */ \
    /* 29 */ {28, KUBE_KEEP, 1, 0, 1, 317}, /* items.spec.devices.taints.key */ \
    /* 30 */ {28, KUBE_KEEP, 3, 0, 2, 15}, /* items.spec.devices.taints.effect */ \
    /* 31 */ {28, KUBE_KEEP, 2, 0, 3, 63}, /* items.spec.devices.taints.value */ \
    /* 32 */ {19, KUBE_RECORD, 4, KUBE_SLICE_COUNTERS, 0, 0}, /* items.spec.devices.consumesCounters */ \
    /* 33 */ {32, KUBE_RECORD, 2, KUBE_SLICE_COUNTER, 0, 0}, /* items.spec.devices.consumesCounters.counters */ \
    /* 34 */ {33, KUBE_KEEP, 1, 0, 1, 96}, /* items.spec.devices.consumesCounters.counters.key */ \
    /* 35 */ {33, KUBE_DESCEND, 2, 0, 0, 0}, /* items.spec.devices.consumesCounters.counters.value */ \
    /* 36 */ {35, KUBE_DESCEND, 1, 0, 0, 0}, /* items.spec.devices.consumesCounters.counters.value.value */ \
    /* 37 */ {36, KUBE_KEEP, 1, 0, 2, 15}, /* items.spec.devices.consumesCounters.counters.value.value.string */ \
    /* 38 */ {35, KUBE_PRESENT, 0, 0, 3, 0}, /* items.spec.devices.consumesCounters.counters.value.* */ \
    /* 39 */ {32, KUBE_KEEP, 1, 0, 1, 63}, /* items.spec.devices.consumesCounters.name */ \
    /* 40 */ {19, KUBE_RECORD, 3, KUBE_SLICE_CAPACITY, 0, 0}, /* items.spec.devices.capacity */ \
    /* 41 */ {40, KUBE_KEEP, 1, 0, 1, 96}, /* items.spec.devices.capacity.key */ \
    /* 42 */ {40, KUBE_DESCEND, 2, 0, 0, 0}, /* items.spec.devices.capacity.value */ \
    /* 43 */ {42, KUBE_DESCEND, 1, 0, 0, 0}, /* items.spec.devices.capacity.value.value */ \
    /* 44 */ {43, KUBE_KEEP, 1, 0, 2, 15}, /* items.spec.devices.capacity.value.value.string */ \
    /* 45 */ {42, KUBE_PRESENT, 0, 0, 3, 0}, /* items.spec.devices.capacity.value.* */ \
    /* 46 */ {42, KUBE_KEEP, 2, 0, 4, 32}, /* items.spec.devices.capacity.value.requestPolicy */ \
    /* 47 */ {19, KUBE_RECORD_FIELD, 14, KUBE_SLICE_RESOURCE, 1, 40}, /* items.spec.devices.nodeAllocatableResources */ \
    /* 48 */ {19, KUBE_RECORD_FIELD, 1, KUBE_SLICE_NAME, 1, 63}, /* items.spec.devices.name */ \
    /* 49 */ {19, KUBE_PRESENT, 0, 0, 2, 0}, /* items.spec.devices.* */ \
    /* 50 */ {19, KUBE_KEEP, 12, 0, 3, 0}, /* items.spec.devices.allowMultipleAllocations */ \
    /* 51 */ {18, KUBE_RECORD, 8, KUBE_SLICE_COUNTERS, 0, 0}, /* items.spec.sharedCounters */ \
    /* 52 */ {51, KUBE_RECORD, 2, KUBE_SLICE_COUNTER, 0, 0}, /* items.spec.sharedCounters.counters */ \
    /* 53 */ {52, KUBE_KEEP, 1, 0, 1, 96}, /* items.spec.sharedCounters.counters.key */ \
    /* 54 */ {52, KUBE_DESCEND, 2, 0, 0, 0}, /* items.spec.sharedCounters.counters.value */ \
    /* 55 */ {54, KUBE_DESCEND, 1, 0, 0, 0}, /* items.spec.sharedCounters.counters.value.value */ \
    /* 56 */ {55, KUBE_KEEP, 1, 0, 2, 15}, /* items.spec.sharedCounters.counters.value.value.string */ \
    /* 57 */ {54, KUBE_PRESENT, 0, 0, 3, 0}, /* items.spec.sharedCounters.counters.value.* */ \
    /* 58 */ {51, KUBE_KEEP, 1, 0, 1, 63}, /* items.spec.sharedCounters.name */ \
    /* 59 */ {18, KUBE_KEEP, 1, 0, 1, 63}, /* items.spec.driver */ \
    /* 60 */ {18, KUBE_DESCEND, 2, 0, 0, 0}, /* items.spec.pool */ \
    /* 61 */ {60, KUBE_KEEP, 1, 0, 2, 253}, /* items.spec.pool.name */ \
    /* 62 */ {60, KUBE_KEEP, 2, 0, 3, 0}, /* items.spec.pool.generation */ \
    /* 63 */ {60, KUBE_KEEP, 3, 0, 4, 0}, /* items.spec.pool.resourceSliceCount */ \
    /* 64 */ {18, KUBE_KEEP, 3, 0, 5, 253}, /* items.spec.nodeName */ \
    /* 65 */ {18, KUBE_PRESENT, 0, 0, 6, 0}, /* items.spec.* */ \
    /* 66 */ {18, KUBE_KEEP, 5, 0, 7, 0}, /* items.spec.allNodes */ \
    /* 67 */ {6, KUBE_RECORD, 1, KUBE_LIST_META, 0, 0}, /* metadata */ \
    /* 68 */ {67, KUBE_KEEP, 2, 0, 1, 63}, /* metadata.resourceVersion */ \
    /* 69 */ {67, KUBE_KEEP, 3, 0, 2, 639}, /* metadata.continue */

/* ResourceSliceListV1beta1 */
#define KUBE_ROWS_RESOURCE_SLICE_LIST_V1BETA1 \
    /* 0 */ {KUBE_ROOT, KUBE_RECORD_FIELD, 1, KUBE_WATCH_EVENT, 1, 15}, /* type */ \
    /* 1 */ {KUBE_ROOT, KUBE_DESCEND, 2, 0, 0, 0}, /* object */ \
    /* 2 */ {1, KUBE_ENVELOPE, 1, 0, 0, 0}, /* object.raw */ \
    /* 3 */ {2, KUBE_RECORD, 1, KUBE_TYPE_META, 0, 0}, /* object.raw.typeMeta */ \
    /* 4 */ {3, KUBE_KEEP, 1, 0, 1, 63}, /* object.raw.typeMeta.apiVersion */ \
    /* 5 */ {3, KUBE_KEEP, 2, 0, 2, 63}, /* object.raw.typeMeta.kind */ \
    /* 6 */ {2, KUBE_DESCEND, 2, 0, 0, 0}, /* object.raw.raw */ \
    /* 7 */ {6, KUBE_RECORD, 2, KUBE_OBJECT_END, 0, 0}, /* items */ \
    /* 8 */ {7, KUBE_RECORD, 1, KUBE_META, 0, 0}, /* items.metadata */ \
    /* 9 */ {8, KUBE_KEEP, 1, 0, 1, 253}, /* items.metadata.name */ \
    /* 10 */ {8, KUBE_KEEP, 3, 0, 2, 63}, /* items.metadata.namespace */ \
    /* 11 */ {8, KUBE_KEEP, 5, 0, 3, 63}, /* items.metadata.uid */ \
    /* 12 */ {8, KUBE_KEEP, 6, 0, 4, 63}, /* items.metadata.resourceVersion */ \
    /* 13 */ {8, KUBE_DESCEND, 9, 0, 0, 0}, /* items.metadata.deletionTimestamp */ \
    /* 14 */ {13, KUBE_KEEP, 1, 0, 5, 0}, /* items.metadata.deletionTimestamp.seconds */ \
    /* 15 */ {8, KUBE_DESCEND, 13, 0, 0, 0}, /* items.metadata.ownerReferences */ \
    /* 16 */ {15, KUBE_KEEP, 4, 0, 6, 63}, /* items.metadata.ownerReferences.uid */ \
    /* 17 */ {8, KUBE_KEEP, 2, 0, 7, 253}, /* items.metadata.generateName */ \
    /* 18 */ {7, KUBE_RECORD, 2, KUBE_SLICE_SPEC, 0, 0}, /* items.spec */ \
    /* 19 */ {18, KUBE_RECORD, 6, KUBE_SLICE_DEVICE, 0, 0}, /* items.spec.devices */ \
    /* 20 */ {19, KUBE_DESCEND, 2, 0, 0, 0}, /* items.spec.devices.basic */ \
    /* 21 */ {20, KUBE_RECORD, 1, KUBE_SLICE_ATTRIBUTE, 0, 0}, /* items.spec.devices.basic.attributes */ \
    /* 22 */ {21, KUBE_KEEP, 1, 0, 1, 96}, /* items.spec.devices.basic.attributes.key */ \
    /* 23 */ {21, KUBE_DESCEND, 2, 0, 0, 0}, /* items.spec.devices.basic.attributes.value */ \
    /* 24 */ {23, KUBE_KEEP, 2, 0, 2, 0}, /* items.spec.devices.basic.attributes.value.int */ \
    /* 25 */ {23, KUBE_KEEP, 3, 0, 3, 0}, /* items.spec.devices.basic.attributes.value.bool */ \
    /* 26 */ {23, KUBE_KEEP, 4, 0, 4, 64}, /* items.spec.devices.basic.attributes.value.string */ \
    /* 27 */ {23, KUBE_KEEP, 5, 0, 5, 64}, /* items.spec.devices.basic.attributes.value.version */ \
    /* 28 */ {23, KUBE_PRESENT, 0, 0, 6, 0}, /* items.spec.devices.basic.attributes.value.* */ \
    /* 29 */ {20, KUBE_RECORD, 7, KUBE_SLICE_TAINT, 0, 0}, /* items.spec.devices.basic.taints */ \
    /* 30 */ {29, KUBE_KEEP, 1, 0, 1, 317}, /* items.spec.devices.basic.taints.key */ \
    /* 31 */ {29, KUBE_KEEP, 3, 0, 2, 15}, /* items.spec.devices.basic.taints.effect */ \
    /* 32 */ {29, KUBE_KEEP, 2, 0, 3, 63}, /* items.spec.devices.basic.taints.value */ \
    /* 33 */ {20, KUBE_RECORD, 2, KUBE_SLICE_CAPACITY, 0, 0}, /* items.spec.devices.basic.capacity */ \
    /* 34 */ {33, KUBE_KEEP, 1, 0, 1, 96}, /* items.spec.devices.basic.capacity.key */ \
    /* 35 */ {33, KUBE_DESCEND, 2, 0, 0, 0}, /* items.spec.devices.basic.capacity.value */ \
    /* 36 */ {35, KUBE_DESCEND, 1, 0, 0, 0}, /* items.spec.devices.basic.capacity.value.value */ \
    /* 37 */ {36, KUBE_KEEP, 1, 0, 2, 15}, /* items.spec.devices.basic.capacity.value.value.string */ \
    /* 38 */ {35, KUBE_PRESENT, 0, 0, 3, 0}, /* items.spec.devices.basic.capacity.value.* */ \
    /* 39 */ {35, KUBE_KEEP, 2, 0, 4, 32}, /* items.spec.devices.basic.capacity.value.requestPolicy */ \
    /* 40 */ {20, KUBE_RECORD_FIELD, 14, KUBE_SLICE_RESOURCE, 1, 40}, /* items.spec.devices.basic.nodeAllocatableResources */ \
    /* 41 */ {20, KUBE_PRESENT, 0, 0, 2, 0}, /* items.spec.devices.basic.* */ \
    /* 42 */ {20, KUBE_KEEP, 11, 0, 3, 0}, /* items.spec.devices.basic.allowMultipleAllocations */ \
    /* 43 */ {19, KUBE_RECORD_FIELD, 1, KUBE_SLICE_NAME, 1, 63}, /* items.spec.devices.name */ \
    /* 44 */ {19, KUBE_PRESENT, 0, 0, 2, 0}, /* items.spec.devices.* */ \
    /* 45 */ {19, KUBE_KEEP, 12, 0, 3, 0}, /* items.spec.devices.allowMultipleAllocations */ \
    /* 46 */ {18, KUBE_KEEP, 1, 0, 1, 63}, /* items.spec.driver */ \
    /* 47 */ {18, KUBE_DESCEND, 2, 0, 0, 0}, /* items.spec.pool */ \
    /* 48 */ {47, KUBE_KEEP, 1, 0, 2, 253}, /* items.spec.pool.name */ \
    /* 49 */ {47, KUBE_KEEP, 2, 0, 3, 0}, /* items.spec.pool.generation */ \
    /* 50 */ {47, KUBE_KEEP, 3, 0, 4, 0}, /* items.spec.pool.resourceSliceCount */ \
    /* 51 */ {18, KUBE_KEEP, 3, 0, 5, 253}, /* items.spec.nodeName */ \
    /* 52 */ {18, KUBE_PRESENT, 0, 0, 6, 0}, /* items.spec.* */ \
    /* 53 */ {18, KUBE_KEEP, 5, 0, 7, 0}, /* items.spec.allNodes */ \
    /* 54 */ {6, KUBE_RECORD, 1, KUBE_LIST_META, 0, 0}, /* metadata */ \
    /* 55 */ {54, KUBE_KEEP, 2, 0, 1, 63}, /* metadata.resourceVersion */ \
    /* 56 */ {54, KUBE_KEEP, 3, 0, 2, 639}, /* metadata.continue */

/* ListPodResourcesResponse */
#define KUBE_ROWS_LIST_POD_RESOURCES_RESPONSE \
    /* 0 */ {KUBE_ROOT, KUBE_RECORD, 1, KUBE_POD, 0, 0}, /* podResources */ \
    /* 1 */ {0, KUBE_KEEP, 1, 0, 1, 253}, /* podResources.name */ \
    /* 2 */ {0, KUBE_KEEP, 2, 0, 2, 63}, /* podResources.namespace */ \
    /* 3 */ {0, KUBE_DESCEND, 3, 0, 0, 0}, /* podResources.containers */ \
    /* 4 */ {3, KUBE_DESCEND, 5, 0, 0, 0}, /* podResources.containers.dynamicResources */ \
    /* 5 */ {4, KUBE_KEEP, 2, 0, 3, 253}, /* podResources.containers.dynamicResources.claimName */

#endif
