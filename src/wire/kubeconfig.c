/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The current context of a kubeconfig: three walks over the text, because the current context may
 * be named first or last and lists stand in any order: its name, its entry, its cluster and user.
 * Owns what the found values must be; kubeconfig_walk.c finds them.
 */
#include "wire/kubeconfig.h"

#include <string.h>

#include "base/assert.h"
#include "wire/kubeconfig_internal.h"

/* --- what was found --- */

static bool given(const struct walk *w, enum field f)
{
    return w->found[f].line != 0u && !scalar_is_null(&w->found[f]);
}

/* Whether a value may hold line ends: base64 does. */
static bool is_data(enum field f)
{
    return f == FIELD_CA_DATA || f == FIELD_CERT_DATA || f == FIELD_KEY_DATA;
}

static bool is_one_line(struct view value)
{
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < 0x20u || value.data[i] == 0x7fu) {
            return false;
        }
    }
    return true;
}

/* Resolves the value in place, that is within `text`, into *out. */
static enum status take_value(struct walk *w, const struct writer *text, enum field f,
                              struct view *out)
{
    const struct node *node = &w->found[f];
    *out = view_of(text->data, 0);
    if (!given(w, f)) {
        return STATUS_OK;
    }
    if (node->kind != NODE_SCALAR) {
        return walk_malformed(w, node->line, kubeconfig_fields[f].key, " must be a single value");
    }
    if (node->raw.len == 0u) {
        return STATUS_OK;
    }
    ASSERT(node->raw.data >= text->data && node->raw.len <= text->len);
    struct writer bytes = writer_of(text->data + (node->raw.data - text->data), node->raw.len);
    if (scalar_resolve(node, &bytes) != STATUS_OK || bytes.full) {
        return walk_malformed(w, node->line, kubeconfig_fields[f].key,
                              " has an escape that is not supported");
    }
    *out = view_trim(writer_view(&bytes));
    if (!is_data(f) && !is_one_line(*out)) {
        return walk_malformed(w, node->line, kubeconfig_fields[f].key, " must be one line of text");
    }
    return STATUS_OK;
}

struct target {
    enum field field;
    struct view *out;
};

static enum status take_values(struct walk *w, const struct writer *text, struct kubeconfig *out)
{
    const struct target targets[] = {
        {FIELD_SERVER, &out->server},
        {FIELD_CA_FILE, &out->ca_file},
        {FIELD_CA_DATA, &out->ca_data},
        {FIELD_TLS_SERVER_NAME, &out->tls_server_name},
        {FIELD_CERT_FILE, &out->cert_file},
        {FIELD_CERT_DATA, &out->cert_data},
        {FIELD_KEY_FILE, &out->key_file},
        {FIELD_KEY_DATA, &out->key_data},
        {FIELD_TOKEN, &out->token},
        {FIELD_TOKEN_FILE, &out->token_file},
        {FIELD_CONTEXT_NAMESPACE, &out->namespace_},
    };
    for (unsigned i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        enum status s = take_value(w, text, targets[i].field, targets[i].out);
        if (s != STATUS_OK) {
            return s;
        }
    }
    return STATUS_OK;
}

static enum status unsupported(struct walk *w, unsigned line, const char *what, const char *problem)
{
    (void)walk_malformed(w, line, what, problem);
    return PEER_UNSUPPORTED;
}

static void put_quoted(struct writer *why, struct view text)
{
    writer_u8(why, '"');
    for (size_t i = 0; i < text.len; i++) {
        writer_u8(why, (text.data[i] < 0x20u) ? (uint8_t)'?' : text.data[i]);
    }
    writer_u8(why, '"');
}

static enum status refuse_field(struct walk *w, enum field f)
{
    const struct field_row *row = &kubeconfig_fields[f];
    ASSERT(row->refused != NULL && w->wanted[row->section] != NULL);
    writer_text(w->why, kubeconfig_sections[row->section].inner);
    writer_text(w->why, " ");
    put_quoted(w->why, name_view(w->wanted[row->section]));
    writer_text(w->why, ", ");
    (void)walk_malformed(w, w->found[f].line, row->key, ": ");
    writer_text(w->why, row->refused);
    return PEER_UNSUPPORTED;
}

static enum status refuse_unsupported(struct walk *w)
{
    const struct node *insecure = &w->found[FIELD_INSECURE];
    for (unsigned f = 0; f < (unsigned)FIELD_COUNT; f++) {
        const struct node *node = &w->found[f];
        bool empty = node->kind == NODE_SCALAR && node->raw.len == 0u;
        if (kubeconfig_fields[f].refused != NULL && given(w, (enum field)f) && !empty) {
            return refuse_field(w, (enum field)f);
        }
    }
    if (given(w, FIELD_INSECURE) && !view_is(insecure->raw, "false")) {
        return unsupported(w, insecure->line, kubeconfig_fields[FIELD_INSECURE].key,
                           " is not supported: the server is always verified; give "
                           "certificate-authority-data or certificate-authority");
    }
    return STATUS_OK;
}

/* Inline data wins over files, as in client-go. */
static void prefer_data(struct view data, struct view *file)
{
    if (data.len > 0u) {
        *file = view_first(*file, 0);
    }
}

/* What must and what cannot go together. */
static enum status check_values(struct walk *w, const struct kubeconfig *k)
{
    unsigned cluster = w->found_line[SECTION_CLUSTER];
    bool cert = k->cert_data.len + k->cert_file.len > 0u;
    bool key = k->key_data.len + k->key_file.len > 0u;
    if (k->server.len == 0u) {
        return walk_malformed(w, cluster, "this cluster", " has no server");
    }
    if (!view_starts(k->server, "https://")) {
        return unsupported(w, w->found[FIELD_SERVER].line, "server",
                           " is not https://; a plain connection is not supported");
    }
    if (k->ca_data.len + k->ca_file.len == 0u) {
        return unsupported(w, cluster, "this cluster",
                           " has neither certificate-authority-data nor certificate-authority; "
                           "there is no system store to fall back to");
    }
    if (cert != key) {
        return walk_malformed(w, w->found_line[SECTION_USER], "this user has a client ",
                              cert ? "certificate but no client key"
                                   : "key but no client certificate");
    }
    return STATUS_OK;
}

/* --- the three walks --- */

static enum status missing(struct walk *w, enum section section)
{
    writer_text(w->why, kubeconfig_sections[section].inner);
    writer_text(w->why, " ");
    put_quoted(w->why, name_view(w->wanted[section]));
    writer_text(w->why, " is not in the file");
    return PEER_NOT_FOUND;
}

static enum status find_current(struct walk *w, struct view text, struct name *name)
{
    enum status s = walk_text(w, text);
    name->len = 0;
    if (s == STATUS_OK && w->current.line != 0u) {
        s = walk_name(w, &w->current, "current-context", name);
    }
    if (s == STATUS_OK && name->len == 0u) {
        writer_text(w->why, "no current-context is set; "
                            "choose one with \"kubectl config use-context\"");
        s = PEER_NOT_FOUND;
    }
    return s;
}

static enum status find_context(struct walk *w, struct view text, struct name *cluster,
                                struct name *user)
{
    const struct node *const found = w->found;
    enum status s = walk_text(w, text);
    if (s == STATUS_OK && w->found_line[SECTION_CONTEXT] == 0u) {
        return missing(w, SECTION_CONTEXT);
    }
    if (s == STATUS_OK && !given(w, FIELD_CONTEXT_CLUSTER)) {
        return walk_malformed(w, w->found_line[SECTION_CONTEXT], "this context",
                              " names no cluster");
    }
    if (s == STATUS_OK) {
        s = walk_name(w, &found[FIELD_CONTEXT_CLUSTER], "cluster", cluster);
    }
    user->len = 0;
    if (s == STATUS_OK && given(w, FIELD_CONTEXT_USER)) {
        s = walk_name(w, &found[FIELD_CONTEXT_USER], "user", user);
    }
    return s;
}

/* Without a user there are no credentials: the server decides what anonymous requests may do. */
static enum status find_parts(struct walk *w, struct view text)
{
    enum status s = walk_text(w, text);
    if (s == STATUS_OK && w->found_line[SECTION_CLUSTER] == 0u) {
        return missing(w, SECTION_CLUSTER);
    }
    if (s == STATUS_OK && w->wanted[SECTION_USER] != NULL && w->found_line[SECTION_USER] == 0u) {
        return missing(w, SECTION_USER);
    }
    return s;
}

static enum status find_all(struct walk *w, struct view text, struct name names[SECTION_COUNT])
{
    enum status s = find_current(w, text, &names[SECTION_CONTEXT]);
    if (s == STATUS_OK) {
        w->wanted[SECTION_CONTEXT] = &names[SECTION_CONTEXT];
        s = find_context(w, text, &names[SECTION_CLUSTER], &names[SECTION_USER]);
    }
    if (s == STATUS_OK) {
        /* Context and its namespace are found; a third look at it would be a second context. */
        w->wanted[SECTION_CONTEXT] = NULL;
        w->wanted[SECTION_CLUSTER] = &names[SECTION_CLUSTER];
        w->wanted[SECTION_USER] = (names[SECTION_USER].len > 0u) ? &names[SECTION_USER] : NULL;
        s = find_parts(w, text);
    }
    return s;
}

enum status kubeconfig_read(const struct writer *text, struct kubeconfig *out, struct writer *why)
{
    struct name names[SECTION_COUNT];
    struct kubeconfig k;
    struct walk w;
    ASSERT(text != NULL && out != NULL && why != NULL && !text->full);
    memset(&w, 0, sizeof w);
    memset(&k, 0, sizeof k);
    w.why = why;
    if (text->len > KUBECONFIG_BYTES_MAX) {
        writer_text(why, "larger than 64 KiB; keep the contexts in use only "
                         "(kubectl config view --minify --flatten)");
        return FULL_BUFFER;
    }
    enum status s = find_all(&w, writer_view(text), names);
    if (s == STATUS_OK) {
        s = refuse_unsupported(&w);
    }
    if (s == STATUS_OK) {
        s = take_values(&w, text, &k);
    }
    prefer_data(k.ca_data, &k.ca_file);
    prefer_data(k.cert_data, &k.cert_file);
    prefer_data(k.key_data, &k.key_file);
    if (s == STATUS_OK) {
        s = check_values(&w, &k);
    }
    if (s == STATUS_OK) {
        *out = k;
    }
    return s;
}
