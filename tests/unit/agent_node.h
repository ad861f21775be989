/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Node of the API server in memory: its metadata, and the watch of it. Header only, because
 * each test is one file.
 */
#ifndef TESTS_UNIT_AGENT_NODE_H
#define TESTS_UNIT_AGENT_NODE_H

#include "agent_api.h"

#define NODES_PATH "/api/v1/nodes"
#define NODE_WATCHES "GET " NODES_PATH "?"
#define NODE_READS "GET " NODES_PATH "/"

enum { LABEL_LAYER_1, LABEL_LAYER_2, LABEL_LAYER_3, LABEL_BLOCK, LABEL_BETA_TYPE, LABEL_TYPE };

static const char *const api_label_keys[API_LABELS] = {
    "topology.k8s.aws/network-node-layer-1", "topology.k8s.aws/network-node-layer-2",
    "topology.k8s.aws/network-node-layer-3", "topology.k8s.aws/capacity-block-id",
    "beta.kubernetes.io/instance-type",      "node.kubernetes.io/instance-type",
};

/* The Node's metadata in its envelope, as a server answers when it is asked for that alone. */
static void api_put_node(struct writer *out)
{
    uint8_t bytes[2048];
    uint8_t pair_bytes[256];
    uint8_t object_bytes[2200];
    struct writer meta = writer_of(bytes, sizeof bytes);
    struct writer object = writer_of(object_bytes, sizeof object_bytes);
    writer_append(&meta, api_metadata(NODE_NAME, "", api.node_uid, api.node_version));
    for (unsigned i = 0; i < API_LABELS; i++) {
        struct writer pair = writer_of(pair_bytes, sizeof pair_bytes);
        if (api.label[i] != NULL) {
            put_str(&pair, 1, api_label_keys[i]);
            put_str(&pair, 2, api.label[i]);
            put_view(&meta, 11, writer_view(&pair));
        }
    }
    put_view(&object, 1, writer_view(&meta));
    assert_false(meta.full || object.full);
    put_envelope(out, "meta.k8s.io/v1", "PartialObjectMetadata", writer_view(&object));
}

/* To the watch of the Node, if there is one. */
static void api_node_event(const char *type)
{
    uint8_t bytes[2400];
    struct writer w = writer_of(bytes, sizeof bytes);
    struct api_stream *s = api_watch_of(true);
    api_put_node(&w);
    if (s != NULL && !api.node_silent) {
        api_put_event(s, type, writer_view(&w));
    }
}

/* The labels, which the test wrote into api.label, are stored. */
UNUSED_OK static void api_node_touch(void)
{
    api.node_version = ++api.version;
    api_node_event("MODIFIED");
}

UNUSED_OK static void api_node_delete(void)
{
    api.node_version = ++api.version;
    api_node_event("DELETED");
    api.node_absent = true;
}

UNUSED_OK static void api_node_create(const char *uid)
{
    api.node_uid = uid;
    api.node_absent = false;
    api.node_version = ++api.version;
    api_node_event("ADDED");
}

/* An event of another object than the Node; "": of none. */
static void api_node_event_of(const char *type, const char *name)
{
    uint8_t bytes[512];
    uint8_t object_bytes[256];
    struct writer w = writer_of(bytes, sizeof bytes);
    struct writer object = writer_of(object_bytes, sizeof object_bytes);
    assert_non_null(api_watch_of(true));
    put_view(&object, 1, api_metadata(name, "", name, api.version));
    put_envelope(&w, "meta.k8s.io/v1", "PartialObjectMetadata", writer_view(&object));
    api_put_event(api_watch_of(true), type, writer_view(&w));
}

UNUSED_OK static void api_node_bookmark(void)
{
    api_node_event_of("BOOKMARK", "");
}

UNUSED_OK static void api_node_error(unsigned http, const char *reason)
{
    uint8_t bytes[1024];
    struct writer w = writer_of(bytes, sizeof bytes);
    assert_non_null(api_watch_of(true));
    api_put_status(&w, http, reason, "too old resource version");
    api_put_event(api_watch_of(true), "ERROR", writer_view(&w));
}

/* The watch begins: without a version the state of now comes first, else what changed since. */
static void api_node_watch(struct api_stream *s)
{
    const char *at = strstr(s->path, "&resourceVersion=");
    uint64_t from = at == NULL ? 0 : strtoull(at + strlen("&resourceVersion="), NULL, 10);
    assert_non_null(strstr(s->path, "fieldSelector=metadata.name%3D" NODE_NAME "&"));
    assert_non_null(strstr(s->accept, "as=PartialObjectMetadata;g=meta.k8s.io;v=v1;stream=watch"));
    s->watch = true;
    s->node = true;
    s->http = 200;
    if (!api.node_absent && api.node_version > from) {
        api_node_event(from == 0 ? "ADDED" : "MODIFIED");
    } else if (api.node_absent && from > 0 && api.node_version > from) {
        api_node_event("DELETED");
    }
}

#endif
