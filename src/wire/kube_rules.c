/* SPDX-License-Identifier: Apache-2.0 */
/* The generated tables of the field filter, and which of them an object is read by. */
#include "wire/kube_rules.h"

#include "base/assert.h"
#include "generated/projection.pb.h"

/* A record has room for what cfg/limits.h allows, and the tables keep no more than its room. */
#define ROOM(message, member, cap)                                                                 \
    _Static_assert(sizeof(((message *)0)->member) == (cap),                                        \
                   "max_length of proto/projection.proto and cfg/limits.h agree")
ROOM(projection_StatusRecord, message, KUBE_MESSAGE_CAP);
ROOM(projection_StatusRecord, details_name, NAME_CAP);
ROOM(projection_MetaRecord, name, NAME_CAP);
ROOM(projection_MetaRecord, generate_name, NAME_CAP);
ROOM(projection_MetaRecord, namespace, NAMESPACE_CAP);
ROOM(projection_MetaRecord, uid, UID_CAP);
ROOM(projection_MetaRecord, owner_uid, UID_CAP);
ROOM(projection_MetaRecord, resource_version, RESOURCE_VERSION_CAP);
ROOM(projection_ResultRecord, request, REQUEST_CAP);
ROOM(projection_ResultRecord, driver, DRIVER_CAP);
ROOM(projection_ResultRecord, pool, NAME_CAP);
ROOM(projection_ResultRecord, device, DEVICE_NAME_CAP);
ROOM(projection_ConfigRecord, driver, DRIVER_CAP);
ROOM(projection_ConsumerRecord, name, NAME_CAP);
ROOM(projection_ConsumerRecord, uid, UID_CAP);
ROOM(projection_AttributeRecord, key, ATTRIBUTE_KEY_CAP);
ROOM(projection_AttributeRecord, string_value, ATTRIBUTE_VALUE_CAP);
ROOM(projection_AttributeRecord, version_value, ATTRIBUTE_VALUE_CAP);
ROOM(projection_DeviceRecord, name, DEVICE_NAME_CAP);
ROOM(projection_SliceSpecRecord, driver, DRIVER_CAP);
ROOM(projection_SliceSpecRecord, pool_name, NAME_CAP);
ROOM(projection_SliceSpecRecord, node_name, NAME_CAP);
ROOM(projection_ListMetaRecord, resource_version, RESOURCE_VERSION_CAP);

static const struct kube_rule any_rows[] = {KUBE_ROWS_ANY};
static const struct kube_rule status_rows[] = {KUBE_ROWS_STATUS};
static const struct kube_rule group_rows[] = {KUBE_ROWS_APIGROUP};
static const struct kube_rule node_rows[] = {KUBE_ROWS_NODE};
static const struct kube_rule claim_rows[] = {KUBE_ROWS_RESOURCE_CLAIM};
static const struct kube_rule slice_rows[] = {KUBE_ROWS_RESOURCE_SLICE};
static const struct kube_rule beta_slice_rows[] = {KUBE_ROWS_RESOURCE_SLICE_V1BETA1};
static const struct kube_rule list_rows[] = {KUBE_ROWS_RESOURCE_SLICE_LIST};
static const struct kube_rule beta_list_rows[] = {KUBE_ROWS_RESOURCE_SLICE_LIST_V1BETA1};

#define TABLE(rows) {(rows), (uint8_t)(sizeof(rows) / sizeof(rows)[0]), KUBE_ROOT}
#define SHAPES ((unsigned)KUBE_SHAPE_GROUP + 1u)
#define BETA_SHAPES ((unsigned)KUBE_SHAPE_SLICE_WATCH + 1u)

static const struct kube_rules status_table = TABLE(status_rows);

static const struct kube_rules shape_tables[SHAPES] = {
    [KUBE_SHAPE_NODE] = TABLE(node_rows),         [KUBE_SHAPE_CLAIM] = TABLE(claim_rows),
    [KUBE_SHAPE_SLICE] = TABLE(slice_rows),       [KUBE_SHAPE_SLICE_LIST] = TABLE(list_rows),
    [KUBE_SHAPE_SLICE_WATCH] = TABLE(slice_rows), [KUBE_SHAPE_NODE_WATCH] = TABLE(node_rows),
    [KUBE_SHAPE_STATUS] = TABLE(any_rows),        [KUBE_SHAPE_GROUP] = TABLE(group_rows),
};

/* Shapes that v1beta1 lays out otherwise. */
static const struct kube_rules beta_tables[BETA_SHAPES] = {
    [KUBE_SHAPE_SLICE] = TABLE(beta_slice_rows),
    [KUBE_SHAPE_SLICE_LIST] = TABLE(beta_list_rows),
    [KUBE_SHAPE_SLICE_WATCH] = TABLE(beta_slice_rows),
};

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
    rules.top = framed ? KUBE_ROOT : KUBE_ROW_ENVELOPE;
    return rules;
}
