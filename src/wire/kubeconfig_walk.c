/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over the nodes of a kubeconfig: entries of the wanted names are kept, everything else is
 * passed over. Owns which keys there are (client-go's v1.Config); judges no value.
 */
#include <string.h>

#include "base/assert.h"
#include "wire/kubeconfig_internal.h"

const struct section_row kubeconfig_sections[SECTION_COUNT] = {
    [SECTION_CONTEXT] = {.list = "contexts", .inner = "context"},
    [SECTION_CLUSTER] = {.list = "clusters", .inner = "cluster"},
    [SECTION_USER] = {.list = "users", .inner = "user"},
};

#define NOT_RUN " is not supported; use a client certificate, token or tokenFile"
#define AS_REFUSED "impersonation is not supported; use credentials of the agent's own"
#define BASIC_REFUSED "basic authentication is not served by Kubernetes 1.19 and later; use a token"

const struct field_row kubeconfig_fields[FIELD_COUNT] = {
    [FIELD_CONTEXT_CLUSTER] = {"cluster", SECTION_CONTEXT, 0},
    [FIELD_CONTEXT_USER] = {"user", SECTION_CONTEXT, 0},
    [FIELD_CONTEXT_NAMESPACE] = {"namespace", SECTION_CONTEXT, 0},
    [FIELD_SERVER] = {"server", SECTION_CLUSTER, 0},
    [FIELD_CA_FILE] = {"certificate-authority", SECTION_CLUSTER, 0},
    [FIELD_CA_DATA] = {"certificate-authority-data", SECTION_CLUSTER, 0},
    [FIELD_TLS_SERVER_NAME] = {"tls-server-name", SECTION_CLUSTER, 0},
    [FIELD_INSECURE] = {"insecure-skip-tls-verify", SECTION_CLUSTER, 0},
    [FIELD_PROXY] = {"proxy-url", SECTION_CLUSTER,
                     "proxies are not supported; name the API server's own address"},
    [FIELD_CERT_FILE] = {"client-certificate", SECTION_USER, 0},
    [FIELD_CERT_DATA] = {"client-certificate-data", SECTION_USER, 0},
    [FIELD_KEY_FILE] = {"client-key", SECTION_USER, 0},
    [FIELD_KEY_DATA] = {"client-key-data", SECTION_USER, 0},
    [FIELD_TOKEN] = {"token", SECTION_USER, 0},
    [FIELD_TOKEN_FILE] = {"tokenFile", SECTION_USER, 0},
    [FIELD_EXEC] = {"exec", SECTION_USER, "a credential program" NOT_RUN},
    [FIELD_AUTH_PROVIDER] = {"auth-provider", SECTION_USER, "an auth provider" NOT_RUN},
    [FIELD_USERNAME] = {"username", SECTION_USER, BASIC_REFUSED},
    [FIELD_PASSWORD] = {"password", SECTION_USER, BASIC_REFUSED},
    [FIELD_AS] = {"as", SECTION_USER, AS_REFUSED},
    [FIELD_AS_UID] = {"as-uid", SECTION_USER, AS_REFUSED},
    [FIELD_AS_GROUPS] = {"as-groups", SECTION_USER, AS_REFUSED},
    [FIELD_AS_EXTRA] = {"as-user-extra", SECTION_USER, AS_REFUSED},
};

/* --- words --- */

enum status walk_malformed(struct walk *w, unsigned line, const char *what, const char *problem)
{
    ASSERT(line > 0u);
    writer_text(w->why, "line ");
    writer_decimal(w->why, line);
    writer_text(w->why, ": ");
    writer_text(w->why, what);
    writer_text(w->why, problem);
    return PEER_MALFORMED;
}

struct view name_view(const struct name *name)
{
    ASSERT(name->len <= sizeof name->bytes);
    return view_of(name->bytes, name->len);
}

static enum status next(struct walk *w, struct node *node)
{
    enum status s = source_next(&w->source, node);
    return (s == STATUS_OK) ? s : walk_malformed(w, w->source.line, w->source.problem, "");
}

static enum status skip(struct walk *w, const struct node *node)
{
    enum status s = source_skip(&w->source, node);
    return (s == STATUS_OK) ? s : walk_malformed(w, w->source.line, w->source.problem, "");
}

/* --- names --- */

enum status walk_name(struct walk *w, const struct node *node, const char *what, struct name *out)
{
    struct writer bytes = writer_of(out->bytes, sizeof out->bytes);
    if (node->kind != NODE_SCALAR) {
        return walk_malformed(w, node->line, what, " must be a single value");
    }
    if (scalar_resolve(node, &bytes) != STATUS_OK) {
        return walk_malformed(w, node->line, what, " has an escape that YAML does not have");
    }
    if (bytes.full) {
        return walk_malformed(w, node->line, what, " is longer than 512 bytes");
    }
    out->len = scalar_is_null(node) ? 0u : bytes.len;
    return STATUS_OK;
}

/* --- one walk --- */

static enum status take_field(struct walk *w, enum section section, const struct node *key)
{
    struct node value;
    enum status s = next(w, &value);
    if (s != STATUS_OK) {
        return s;
    }
    for (unsigned f = 0; f < (unsigned)FIELD_COUNT; f++) {
        if (kubeconfig_fields[f].section != section || !scalar_is(key, kubeconfig_fields[f].key)) {
            continue;
        }
        if (w->entry.field[f].line != 0u) {
            return walk_malformed(w, key->line, kubeconfig_fields[f].key, " is given twice");
        }
        w->entry.field[f] = value;
        w->entry.field[f].line = key->line;
        break;
    }
    return skip(w, &value);
}

/* The mapping below "context:", "cluster:" or "user:". */
static enum status walk_inner(struct walk *w, enum section section, const struct node *begin)
{
    if (scalar_is_null(begin)) {
        return STATUS_OK;
    }
    if (begin->kind != NODE_MAP_BEGIN) {
        return walk_malformed(w, begin->line, kubeconfig_sections[section].inner,
                              " must be a mapping");
    }
    for (unsigned i = 0; i < NODES_MAX; i++) {
        struct node key;
        enum status s = next(w, &key);
        if (s != STATUS_OK || key.kind == NODE_MAP_END) {
            return s;
        }
        s = take_field(w, section, &key);
        if (s != STATUS_OK) {
            return s;
        }
    }
    ASSERT(false);
    return PEER_MALFORMED;
}

static enum status take_entry_key(struct walk *w, enum section section, const struct node *key)
{
    struct node value;
    bool is_name = scalar_is(key, "name");
    bool is_inner = scalar_is(key, kubeconfig_sections[section].inner);
    struct node *slot = is_name ? &w->entry.name : &w->entry.inner;
    enum status s = next(w, &value);
    if (s != STATUS_OK) {
        return s;
    }
    if (!is_name && !is_inner) {
        return skip(w, &value);
    }
    if (slot->line != 0u) {
        return walk_malformed(w, key->line, is_name ? "name" : kubeconfig_sections[section].inner,
                              " is given twice");
    }
    *slot = value;
    return is_inner ? walk_inner(w, section, &value) : skip(w, &value);
}

/* Keeps the entry when it is the wanted one. */
static enum status finish_entry(struct walk *w, enum section section)
{
    struct name name;
    if (w->wanted[section] == NULL || w->entry.name.line == 0u) {
        return STATUS_OK;
    }
    enum status s = walk_name(w, &w->entry.name, "name", &name);
    if (s != STATUS_OK || !view_equal(name_view(&name), name_view(w->wanted[section]))) {
        return s;
    }
    if (w->found_line[section] != 0u) {
        return walk_malformed(w, w->entry.name.line, kubeconfig_sections[section].inner,
                              " of this name is given twice");
    }
    w->found_line[section] = w->entry.name.line;
    for (unsigned f = 0; f < (unsigned)FIELD_COUNT; f++) {
        if (kubeconfig_fields[f].section == section) {
            w->found[f] = w->entry.field[f];
        }
    }
    return STATUS_OK;
}

static enum status walk_entry(struct walk *w, enum section section, const struct node *begin)
{
    if (begin->kind != NODE_MAP_BEGIN) {
        return walk_malformed(w, begin->line, kubeconfig_sections[section].list,
                              ": each entry must be a mapping");
    }
    memset(&w->entry, 0, sizeof w->entry);
    for (unsigned i = 0; i < NODES_MAX; i++) {
        struct node key;
        enum status s = next(w, &key);
        if (s != STATUS_OK) {
            return s;
        }
        if (key.kind == NODE_MAP_END) {
            return finish_entry(w, section);
        }
        s = take_entry_key(w, section, &key);
        if (s != STATUS_OK) {
            return s;
        }
    }
    ASSERT(false);
    return PEER_MALFORMED;
}

static enum status walk_list(struct walk *w, enum section section)
{
    struct node node;
    enum status s = next(w, &node);
    if (s != STATUS_OK || scalar_is_null(&node)) {
        return s;
    }
    if (node.kind != NODE_LIST_BEGIN) {
        return walk_malformed(w, node.line, kubeconfig_sections[section].list, " must be a list");
    }
    for (unsigned i = 0; i < NODES_MAX; i++) {
        s = next(w, &node);
        if (s != STATUS_OK || node.kind == NODE_LIST_END) {
            return s;
        }
        s = walk_entry(w, section, &node);
        if (s != STATUS_OK) {
            return s;
        }
    }
    ASSERT(false);
    return PEER_MALFORMED;
}

static enum status take_top_key(struct walk *w, const struct node *key)
{
    struct node value;
    for (unsigned section = 0; section < (unsigned)SECTION_COUNT; section++) {
        if (!scalar_is(key, kubeconfig_sections[section].list)) {
            continue;
        }
        if (w->seen[section]) {
            return walk_malformed(w, key->line, kubeconfig_sections[section].list,
                                  " is given twice");
        }
        w->seen[section] = true;
        return walk_list(w, (enum section)section);
    }
    enum status s = next(w, &value);
    if (s != STATUS_OK) {
        return s;
    }
    if (scalar_is(key, "current-context")) {
        if (w->current.line != 0u) {
            return walk_malformed(w, key->line, "current-context", " is given twice");
        }
        w->current = value;
    }
    return skip(w, &value);
}

enum status walk_text(struct walk *w, struct view text)
{
    struct node node;
    source_open(&w->source, text);
    memset(w->seen, 0, sizeof w->seen);
    memset(&w->current, 0, sizeof w->current);
    enum status s = next(w, &node);
    if (s == STATUS_OK && node.kind != NODE_MAP_BEGIN) {
        return walk_malformed(
            w, node.line, "this is no kubeconfig: ",
            "it must be a mapping with current-context, contexts, clusters and users");
    }
    for (unsigned i = 0; i < NODES_MAX && s == STATUS_OK; i++) {
        s = next(w, &node);
        if (s == STATUS_OK && node.kind == NODE_DOCUMENT_END) {
            return STATUS_OK;
        }
        if (s == STATUS_OK && node.kind == NODE_KEY) {
            s = take_top_key(w, &node);
        }
    }
    ASSERT(s != STATUS_OK);
    return s;
}
