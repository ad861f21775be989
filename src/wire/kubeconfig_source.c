/* SPDX-License-Identifier: Apache-2.0 */
/* One stream of nodes over both formats: which of them a text is, and JSON tokens as nodes. */
#include <string.h>

#include "base/assert.h"
#include "wire/kubeconfig_internal.h"

void source_open(struct node_source *s, struct view text)
{
    memset(s, 0, sizeof *s);
    s->line = 1;
    s->is_json = view_starts(view_trim(text), "{");
    if (s->is_json) {
        json_open(&s->json, text);
    } else {
        yaml_open_text(&s->yaml, text);
    }
}

static void count_lines(struct node_source *s)
{
    ASSERT(s->counted <= s->json.in.pos);
    for (; s->counted < s->json.in.pos; s->counted++) {
        s->line += (s->json.in.data[s->counted] == '\n') ? 1u : 0u;
    }
}

static enum node_kind kind_of(enum json_kind kind)
{
    switch (kind) {
    case JSON_OBJECT_BEGIN:
        return NODE_MAP_BEGIN;
    case JSON_OBJECT_END:
        return NODE_MAP_END;
    case JSON_ARRAY_BEGIN:
        return NODE_LIST_BEGIN;
    case JSON_ARRAY_END:
        return NODE_LIST_END;
    case JSON_NAME:
        return NODE_KEY;
    case JSON_END:
        return NODE_DOCUMENT_END;
    default:
        return NODE_SCALAR;
    }
}

static enum status next_json(struct node_source *s, struct node *node)
{
    struct json_token token;
    enum status status = json_next(&s->json, &token);
    count_lines(s);
    if (status != STATUS_OK) {
        s->problem = (status == FULL_BUFFER) ? "nested too deeply for a kubeconfig"
                                             : "not JSON, as the brace at the beginning promised";
        return PEER_MALFORMED;
    }
    memset(node, 0, sizeof *node);
    node->kind = kind_of(token.kind);
    node->line = s->line;
    node->raw = (token.kind == JSON_NULL) ? view_of(0, 0) : token.text;
    bool quoted = token.kind == JSON_NAME || token.kind == JSON_STRING;
    node->style = quoted ? SCALAR_DOUBLE : SCALAR_PLAIN;
    return STATUS_OK;
}

enum status source_next(struct node_source *s, struct node *node)
{
    if (s->is_json) {
        return next_json(s, node);
    }
    enum status status = yaml_next(&s->yaml, node);
    s->line = (status == STATUS_OK) ? node->line : s->yaml.line;
    s->problem = s->yaml.problem;
    return status;
}

enum status source_skip(struct node_source *s, const struct node *node)
{
    struct node inner = *node;
    unsigned depth = 0;
    for (unsigned i = 0; i < NODES_MAX; i++) {
        bool begin = inner.kind == NODE_MAP_BEGIN || inner.kind == NODE_LIST_BEGIN;
        bool end = inner.kind == NODE_MAP_END || inner.kind == NODE_LIST_END;
        ASSERT(!end || depth > 0u);
        depth += begin ? 1u : 0u;
        depth -= end ? 1u : 0u;
        if (depth == 0u) {
            return STATUS_OK;
        }
        enum status status = source_next(s, &inner);
        if (status != STATUS_OK) {
            return status;
        }
    }
    ASSERT(depth == 0u);
    return STATUS_OK;
}
