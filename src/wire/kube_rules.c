/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The field lists, as rows {parent row, what to do, field, record, field in the record, most
 * bytes}. Field numbers: proto/SOURCES. Limits: as in proto/projection.options, where a longer
 * value would fail.
 */
#include "wire/kube_rules.h"

#include "base/assert.h"

/* Short words of the API: event type, configuration source, Success and Failure. */
#define WORD_MAX 15u
/* apiVersion, kind, reason. */
#define TYPE_NAME_MAX 63u
/* Device sharing identifier: a UUID. */
#define SHARE_ID_MAX 36u
/* Label key: DNS subdomain of 253, a slash, name of 63; label value. */
#define LABEL_KEY_MAX 317u
#define LABEL_VALUE_MAX 63u
/* Token for the next page of a list: opaque, today base64 of the last key. */
#define CONTINUE_MAX 1023u

/* --- WatchEvent, RawExtension, runtime.Unknown: the same rows begin every table --- */

enum {
    ROW_WATCH_TYPE,
    ROW_WATCH_OBJECT,
    ROW_ENVELOPE,
    ROW_TYPE_META,
    ROW_API_VERSION,
    ROW_KIND,
    ROW_RAW,
    ROWS_ENVELOPE
};

/* clang-format off */
#define ENVELOPE_ROWS(raw_kind, raw_record)                                                        \
    [ROW_WATCH_TYPE]   = {KUBE_ROOT, KUBE_RECORD_FIELD, 1, KUBE_WATCH_EVENT, 1, WORD_MAX},         \
    [ROW_WATCH_OBJECT] = {KUBE_ROOT, KUBE_DESCEND, 2, 0, 0, 0},                                    \
    [ROW_ENVELOPE]     = {ROW_WATCH_OBJECT, KUBE_ENVELOPE, 1, 0, 0, 0},                            \
    [ROW_TYPE_META]    = {ROW_ENVELOPE, KUBE_RECORD, 1, KUBE_TYPE_META, 0, 0},                     \
    [ROW_API_VERSION]  = {ROW_TYPE_META, KUBE_KEEP, 1, 0, 1, TYPE_NAME_MAX},                       \
    [ROW_KIND]         = {ROW_TYPE_META, KUBE_KEEP, 2, 0, 2, TYPE_NAME_MAX},                       \
    [ROW_RAW]          = {ROW_ENVELOPE, raw_kind, 2, raw_record, 0, 0}

/* --- ObjectMeta of the object at row `object`; managedFields and annotations have no row --- */

#define ROWS_META 10
#define META_ROWS(object, at)                                                                      \
    [(at)]     = {(object), KUBE_RECORD, 1, KUBE_META, 0, 0},                                      \
    [(at) + 1] = {(at), KUBE_KEEP, 1, 0, 1, NAME_CAP - 1u},              /* name */                \
    [(at) + 2] = {(at), KUBE_KEEP, 2, 0, 7, NAME_CAP - 1u},              /* generateName */        \
    [(at) + 3] = {(at), KUBE_KEEP, 3, 0, 2, NAMESPACE_CAP - 1u},         /* namespace */           \
    [(at) + 4] = {(at), KUBE_KEEP, 5, 0, 3, UID_CAP - 1u},               /* uid */                 \
    [(at) + 5] = {(at), KUBE_KEEP, 6, 0, 4, RESOURCE_VERSION_CAP - 1u},  /* resourceVersion */     \
    [(at) + 6] = {(at), KUBE_DESCEND, 9, 0, 0, 0},                       /* deletionTimestamp */   \
    [(at) + 7] = {(at) + 6, KUBE_KEEP, 1, 0, 5, 0},                      /* Time.seconds */        \
    [(at) + 8] = {(at), KUBE_DESCEND, 13, 0, 0, 0},                      /* ownerReferences */     \
    [(at) + 9] = {(at) + 8, KUBE_KEEP, 4, 0, 6, UID_CAP - 1u}            /* uid */

/* --- Status --- */

static const struct kube_rule status_rows[] = {
    ENVELOPE_ROWS(KUBE_RECORD, KUBE_STATUS),
    [ROWS_ENVELOPE]     = {ROW_RAW, KUBE_KEEP, 2, 0, 1, WORD_MAX},                  /* status */
    [ROWS_ENVELOPE + 1] = {ROW_RAW, KUBE_KEEP_CUT, 3, 0, 2, KUBE_MESSAGE_CAP - 1u},  /* message */
    [ROWS_ENVELOPE + 2] = {ROW_RAW, KUBE_KEEP, 4, 0, 3, TYPE_NAME_MAX},             /* reason */
    [ROWS_ENVELOPE + 3] = {ROW_RAW, KUBE_KEEP, 6, 0, 6, 0},                         /* code */
    [ROWS_ENVELOPE + 4] = {ROW_RAW, KUBE_DESCEND, 5, 0, 0, 0},                      /* details */
    [ROWS_ENVELOPE + 5] = {ROWS_ENVELOPE + 4, KUBE_KEEP, 1, 0, 4, NAME_CAP - 1u},    /* name */
    [ROWS_ENVELOPE + 6] = {ROWS_ENVELOPE + 4, KUBE_KEEP, 3, 0, 7, TYPE_NAME_MAX},   /* kind */
    /* retryAfterSeconds */
    [ROWS_ENVELOPE + 7] = {ROWS_ENVELOPE + 4, KUBE_KEEP, 5, 0, 5, 0},
    [ROWS_ENVELOPE + 8] = {ROWS_ENVELOPE + 4, KUBE_RECORD, 4, KUBE_STATUS_CAUSE, 0, 0},
    [ROWS_ENVELOPE + 9] = {ROWS_ENVELOPE + 8, KUBE_KEEP_CUT, 2, 0, 2, KUBE_MESSAGE_CAP - 1u},
    [ROWS_ENVELOPE + 10] = {ROWS_ENVELOPE + 8, KUBE_KEEP_CUT, 3, 0, 4, NAME_CAP - 1u}, /* field */
};

/* --- an object whose content does not matter --- */

static const struct kube_rule any_rows[ROWS_ENVELOPE] = {
    ENVELOPE_ROWS(KUBE_RECORD, KUBE_OBJECT_END),
};

/* --- APIGroup: group and version of each entry of `versions` --- */

static const struct kube_rule group_rows[ROWS_ENVELOPE + 2] = {
    ENVELOPE_ROWS(KUBE_RECORD, KUBE_OBJECT_END),
    [ROWS_ENVELOPE]     = {ROW_RAW, KUBE_RECORD, 2, KUBE_GROUP_VERSION, 0, 0},
    [ROWS_ENVELOPE + 1] = {ROWS_ENVELOPE, KUBE_KEEP, 1, 0, 1, TYPE_NAME_MAX},
};

/* --- Node, or its PartialObjectMetadata: metadata and labels --- */

enum { NODE_META = ROWS_ENVELOPE, NODE_LABEL = NODE_META + ROWS_META };

static const struct kube_rule node_rows[] = {
    ENVELOPE_ROWS(KUBE_RECORD, KUBE_OBJECT_END),
    META_ROWS(ROW_RAW, NODE_META),
    [NODE_LABEL]     = {NODE_META, KUBE_RECORD, 11, KUBE_LABEL, 0, 0},
    [NODE_LABEL + 1] = {NODE_LABEL, KUBE_KEEP, 1, 0, 1, LABEL_KEY_MAX},
    [NODE_LABEL + 2] = {NODE_LABEL, KUBE_KEEP, 2, 0, 2, LABEL_VALUE_MAX},
};

/* --- ResourceClaim: metadata and status.allocation --- */

enum {
    CLAIM_META = ROWS_ENVELOPE,
    CLAIM_STATUS = CLAIM_META + ROWS_META,
    CLAIM_ALLOCATION,
    CLAIM_DEVICES,
    CLAIM_RESULT,
    CLAIM_CONFIG = CLAIM_RESULT + 7,
    CLAIM_DEVICE_CONFIGURATION = CLAIM_CONFIG + 3,
    CLAIM_OPAQUE,
    CLAIM_DRIVER,
    CLAIM_PARAMETERS,
    CLAIM_RAW,
    CLAIM_CONSUMER
};

static const struct kube_rule claim_rows[] = {
    ENVELOPE_ROWS(KUBE_RECORD, KUBE_OBJECT_END),
    META_ROWS(ROW_RAW, CLAIM_META),
    [CLAIM_STATUS]     = {ROW_RAW, KUBE_DESCEND, 3, 0, 0, 0},
    [CLAIM_ALLOCATION] = {CLAIM_STATUS, KUBE_RECORD, 1, KUBE_ALLOCATION, 0, 0},
    [CLAIM_DEVICES]    = {CLAIM_ALLOCATION, KUBE_DESCEND, 1, 0, 0, 0},
    [CLAIM_RESULT]     = {CLAIM_DEVICES, KUBE_RECORD, 1, KUBE_RESULT, 0, 0},
    [CLAIM_RESULT + 1] = {CLAIM_RESULT, KUBE_KEEP, 1, 0, 1, REQUEST_CAP - 1u},     /* request */
    [CLAIM_RESULT + 2] = {CLAIM_RESULT, KUBE_KEEP, 2, 0, 2, DRIVER_CAP - 1u},      /* driver */
    [CLAIM_RESULT + 3] = {CLAIM_RESULT, KUBE_KEEP, 3, 0, 3, NAME_CAP - 1u},        /* pool */
    [CLAIM_RESULT + 4] = {CLAIM_RESULT, KUBE_KEEP, 4, 0, 4, DEVICE_NAME_CAP - 1u}, /* device */
    [CLAIM_RESULT + 5] = {CLAIM_RESULT, KUBE_KEEP, 5, 0, 5, 0},                   /* adminAccess */
    [CLAIM_RESULT + 6] = {CLAIM_RESULT, KUBE_KEEP, 9, 0, 6, SHARE_ID_MAX},        /* shareID */
    [CLAIM_CONFIG]     = {CLAIM_DEVICES, KUBE_RECORD, 2, KUBE_CONFIG, 0, 0},
    [CLAIM_CONFIG + 1] = {CLAIM_CONFIG, KUBE_KEEP, 1, 0, 1, WORD_MAX},            /* source */
    [CLAIM_CONFIG + 2] = {CLAIM_CONFIG, KUBE_KEEP, 2, 0, 2, REQUEST_CAP - 1u},     /* requests */
    [CLAIM_DEVICE_CONFIGURATION] = {CLAIM_CONFIG, KUBE_DESCEND, 3, 0, 0, 0},
    [CLAIM_OPAQUE]     = {CLAIM_DEVICE_CONFIGURATION, KUBE_DESCEND, 1, 0, 0, 0},
    [CLAIM_DRIVER]     = {CLAIM_OPAQUE, KUBE_KEEP, 1, 0, 3, DRIVER_CAP - 1u},
    [CLAIM_PARAMETERS] = {CLAIM_OPAQUE, KUBE_DESCEND, 2, 0, 0, 0},
    [CLAIM_RAW]        = {CLAIM_PARAMETERS, KUBE_KEEP, 1, 0, 4, OPAQUE_BYTES_MAX},
    [CLAIM_CONSUMER]   = {CLAIM_STATUS, KUBE_RECORD, 2, KUBE_CONSUMER, 0, 0},     /* reservedFor */
    [CLAIM_CONSUMER + 1] = {CLAIM_CONSUMER, KUBE_KEEP, 3, 0, 1, TYPE_NAME_MAX},   /* resource */
    [CLAIM_CONSUMER + 2] = {CLAIM_CONSUMER, KUBE_KEEP, 4, 0, 2, NAME_CAP - 1u},   /* name */
    [CLAIM_CONSUMER + 3] = {CLAIM_CONSUMER, KUBE_KEEP, 5, 0, 3, UID_CAP - 1u},    /* uid */
};

/* --- ResourceSlice --- */

/* spec of the slice at row `object`, all but its devices */
#define ROWS_SPEC 9
#define SPEC_ROWS(object, at)                                                                      \
    [(at)]     = {(object), KUBE_RECORD, 2, KUBE_SLICE_SPEC, 0, 0},                                \
    [(at) + 1] = {(at), KUBE_KEEP, 1, 0, 1, DRIVER_CAP - 1u},      /* driver */                    \
    [(at) + 2] = {(at), KUBE_DESCEND, 2, 0, 0, 0},                 /* pool */                      \
    [(at) + 3] = {(at) + 2, KUBE_KEEP, 1, 0, 2, NAME_CAP - 1u},    /* name */                      \
    [(at) + 4] = {(at) + 2, KUBE_KEEP, 2, 0, 3, 0},                /* generation */                \
    [(at) + 5] = {(at) + 2, KUBE_KEEP, 3, 0, 4, 0},                /* resourceSliceCount */        \
    [(at) + 6] = {(at), KUBE_KEEP, 3, 0, 5, NAME_CAP - 1u},        /* nodeName */                  \
    /* allNodes: a server writes it into every slice of v1beta1, even when false */                \
    [(at) + 7] = {(at), KUBE_KEEP, 5, 0, 7, 0},                                                    \
    [(at) + 8] = {(at), KUBE_PRESENT, KUBE_ANY_FIELD, 0, 6, 0}

/* one attribute: entry of the map in field `field` of the message at row `holder` */
#define ATTRIBUTE_ROWS(holder, field, at)                                                          \
    [(at)]     = {(holder), KUBE_RECORD, (field), KUBE_SLICE_ATTRIBUTE, 0, 0},                     \
    [(at) + 1] = {(at), KUBE_KEEP, 1, 0, 1, ATTRIBUTE_KEY_CAP - 1u},                              \
    [(at) + 2] = {(at), KUBE_DESCEND, 2, 0, 0, 0},                                                 \
    [(at) + 3] = {(at) + 2, KUBE_KEEP, 2, 0, 2, 0},                          /* int */             \
    [(at) + 4] = {(at) + 2, KUBE_KEEP, 3, 0, 3, 0},                          /* bool */            \
    [(at) + 5] = {(at) + 2, KUBE_KEEP, 4, 0, 4, ATTRIBUTE_VALUE_CAP - 1u},   /* string */          \
    [(at) + 6] = {(at) + 2, KUBE_KEEP, 5, 0, 5, ATTRIBUTE_VALUE_CAP - 1u},   /* version */         \
    [(at) + 7] = {(at) + 2, KUBE_PRESENT, KUBE_ANY_FIELD, 0, 6, 0}

/* devices of the spec at row `spec`: v1 and v1beta2 */
#define DEVICE_ROWS(spec, at)                                                                      \
    [(at)]     = {(spec), KUBE_RECORD, 6, KUBE_SLICE_DEVICE, 0, 0},                                \
    [(at) + 1] = {(at), KUBE_RECORD_FIELD, 1, KUBE_SLICE_NAME, 1, DEVICE_NAME_CAP - 1u},          \
    [(at) + 2] = {(at), KUBE_PRESENT, KUBE_ANY_FIELD, 0, 2, 0},                                    \
    ATTRIBUTE_ROWS((at), 2, (at) + 3)

/* the same in v1beta1, where a message `basic` stands between */
#define BETA_DEVICE_ROWS(spec, at)                                                                 \
    [(at)]     = {(spec), KUBE_RECORD, 6, KUBE_SLICE_DEVICE, 0, 0},                                \
    [(at) + 1] = {(at), KUBE_RECORD_FIELD, 1, KUBE_SLICE_NAME, 1, DEVICE_NAME_CAP - 1u},          \
    [(at) + 2] = {(at), KUBE_PRESENT, KUBE_ANY_FIELD, 0, 2, 0},                                    \
    [(at) + 3] = {(at), KUBE_DESCEND, 2, 0, 0, 0},                                                 \
    [(at) + 4] = {(at) + 3, KUBE_PRESENT, KUBE_ANY_FIELD, 0, 2, 0},                                \
    ATTRIBUTE_ROWS((at) + 3, 1, (at) + 5)

enum {
    SLICE_META = ROWS_ENVELOPE,
    SLICE_SPEC = SLICE_META + ROWS_META,
    SLICE_DEVICE = SLICE_SPEC + ROWS_SPEC
};

static const struct kube_rule slice_rows[] = {
    ENVELOPE_ROWS(KUBE_RECORD, KUBE_OBJECT_END),
    META_ROWS(ROW_RAW, SLICE_META),
    SPEC_ROWS(ROW_RAW, SLICE_SPEC),
    DEVICE_ROWS(SLICE_SPEC, SLICE_DEVICE),
};

static const struct kube_rule beta_slice_rows[] = {
    ENVELOPE_ROWS(KUBE_RECORD, KUBE_OBJECT_END),
    META_ROWS(ROW_RAW, SLICE_META),
    SPEC_ROWS(ROW_RAW, SLICE_SPEC),
    BETA_DEVICE_ROWS(SLICE_SPEC, SLICE_DEVICE),
};

/* --- ResourceSliceList --- */

#define ROWS_LIST 4
#define LIST_ROWS(at)                                                                              \
    [(at)]     = {ROW_RAW, KUBE_RECORD, 1, KUBE_LIST_META, 0, 0},                                  \
    [(at) + 1] = {(at), KUBE_KEEP, 2, 0, 1, RESOURCE_VERSION_CAP - 1u},                           \
    [(at) + 2] = {(at), KUBE_KEEP, 3, 0, 2, CONTINUE_MAX},                                         \
    [(at) + 3] = {ROW_RAW, KUBE_RECORD, 2, KUBE_OBJECT_END, 0, 0}

enum {
    LIST_ITEM = ROWS_ENVELOPE + ROWS_LIST - 1,
    LIST_META,
    LIST_SPEC = LIST_META + ROWS_META,
    LIST_DEVICE = LIST_SPEC + ROWS_SPEC
};

static const struct kube_rule slice_list_rows[] = {
    ENVELOPE_ROWS(KUBE_DESCEND, 0),
    LIST_ROWS(ROWS_ENVELOPE),
    META_ROWS(LIST_ITEM, LIST_META),
    SPEC_ROWS(LIST_ITEM, LIST_SPEC),
    DEVICE_ROWS(LIST_SPEC, LIST_DEVICE),
};

static const struct kube_rule beta_slice_list_rows[] = {
    ENVELOPE_ROWS(KUBE_DESCEND, 0),
    LIST_ROWS(ROWS_ENVELOPE),
    META_ROWS(LIST_ITEM, LIST_META),
    SPEC_ROWS(LIST_ITEM, LIST_SPEC),
    BETA_DEVICE_ROWS(LIST_SPEC, LIST_DEVICE),
};

/* --- choice --- */

#define TABLE(table) {(table), (uint8_t)(sizeof(table) / sizeof(table)[0]), KUBE_ROOT}

#define SHAPES ((unsigned)KUBE_SHAPE_GROUP + 1u)
#define BETA_SHAPES ((unsigned)KUBE_SHAPE_SLICE_WATCH + 1u)

static const struct kube_rules status_table = TABLE(status_rows);

static const struct kube_rules shape_tables[SHAPES] = {
    [KUBE_SHAPE_NODE]        = TABLE(node_rows),
    [KUBE_SHAPE_CLAIM]       = TABLE(claim_rows),
    [KUBE_SHAPE_SLICE]       = TABLE(slice_rows),
    [KUBE_SHAPE_SLICE_LIST]  = TABLE(slice_list_rows),
    [KUBE_SHAPE_SLICE_WATCH] = TABLE(slice_rows),
    [KUBE_SHAPE_NODE_WATCH]  = TABLE(node_rows),
    [KUBE_SHAPE_STATUS]      = TABLE(any_rows),
    [KUBE_SHAPE_GROUP]       = TABLE(group_rows),
};

/* Shapes that v1beta1 lays out otherwise. */
static const struct kube_rules beta_tables[BETA_SHAPES] = {
    [KUBE_SHAPE_SLICE]       = TABLE(beta_slice_rows),
    [KUBE_SHAPE_SLICE_LIST]  = TABLE(beta_slice_list_rows),
    [KUBE_SHAPE_SLICE_WATCH] = TABLE(beta_slice_rows),
};
/* clang-format on */

struct kube_rules kube_rules_of(enum kube_shape shape, bool framed, struct view kind,
                                struct view api_version)
{
    struct kube_rules rules;

    ASSERT((unsigned)shape < sizeof shape_tables / sizeof shape_tables[0]);
    rules = shape_tables[shape];
    if (view_is(kind, "Status")) {
        rules = status_table;
    } else if (view_ends(api_version, "/v1beta1") && shape <= KUBE_SHAPE_SLICE_WATCH &&
               beta_tables[shape].rules != NULL) {
        rules = beta_tables[shape];
    }
    rules.top = framed ? KUBE_ROOT : ROW_ENVELOPE;
    return rules;
}
