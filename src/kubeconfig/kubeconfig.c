/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the current context of a kubeconfig. One table lists the keys, their parents, and the
 * members that get their values. The text is read three times: for the name of the current context,
 * for the entry of that context, and for its cluster and user. One pass is not enough, because the
 * lists and current-context may come in any order.
 */
#include "kubeconfig/kubeconfig.h"

#include <string.h>

#include "base/assert.h"
#include "base/chars.h"
#include "kubeconfig/yaml.h"

/* --- the keys of a kubeconfig --- */

/*
 * Keys of a kubeconfig; each is an index of the table `keys`. The code handles the keys before
 * FIRST_VALUE one by one; the values of all others are copied or refused as their row says.
 */
enum key {
    NO_KEY,
    ROOT,
    CURRENT_CONTEXT,
    CONTEXTS,
    CLUSTERS,
    USERS,
    CONTEXT_ENTRY, /* this and all later keys belong to an entry of a list */
    CLUSTER_ENTRY,
    USER_ENTRY,
    CONTEXT_NAME,
    CLUSTER_NAME,
    USER_NAME,
    CONTEXT,
    CLUSTER,
    USER,
    FIRST_VALUE,
    KEY_COUNT = (int)FIRST_VALUE + 22
};

/*
 * Maximum depth of the mappings and lists that the parser enters: the root mapping has depth 1, a
 * list in it 2, an entry of the list 3, and the mapping in the entry 4. Deeper ones are skipped.
 */
#define LEVELS 4u
#define ENTRY_DEPTH 2u

enum { OF_CONTEXT, OF_CLUSTER, OF_USER, ENTRY_KINDS };

/* The name of the current context, or of its cluster or user. len 0: not given, or not read yet. */
struct name {
    size_t len;
    uint8_t bytes[KUBECONFIG_NAME_BYTES_MAX];
};

/* State of one pass over the text. now[k].line: the line of key k; 0: the text lacks key k. */
struct walk {
    struct yaml_reader in;
    struct writer *why;       /* borrowed; on failure, the reason is appended to it */
    enum key at[LEVELS + 1u]; /* key of each open collection */
    /* values of the keys in the current list entry and in the collections around it */
    struct yaml_token now[KEY_COUNT];
    struct name wanted[ENTRY_KINDS]; /* names of the entries to find, as far as known */
    unsigned line[ENTRY_KINDS];      /* line of each wanted entry; 0: not found in this pass */
    struct kubeconfig found;
};

enum shape { VALUE, NAME, MAP, LIST };

struct key_row {
    enum key below;
    /* (literal) name of the key; for an entry of a list: the name of the entry in messages */
    const char *name;
    enum shape shape;
    size_t to;           /* VALUE, NAME: offset of the member of struct walk that gets the value */
    const char *refused; /* (literal) why the key is refused; NULL: it is accepted */
    const char *unless;  /* (literal) the only value of a refused key that is accepted */
};

#define NAME_OF(kind) NAME, offsetof(struct walk, wanted[kind]), NULL, NULL
#define TO(member) VALUE, offsetof(struct walk, found.member), NULL, NULL
#define REFUSED(why) VALUE, 0, why, ""
#define NOT_RUN " is not supported; use a client certificate, token or tokenFile"
#define AS_REFUSED "impersonation is not supported; use credentials of the agent's own"
#define BASIC_REFUSED "basic authentication is not served by Kubernetes 1.19 and later; use a token"
#define INSECURE_REFUSED                                                                           \
    "the server is always verified; give certificate-authority-data or certificate-authority"

static const struct key_row keys[KEY_COUNT] = {
    [CURRENT_CONTEXT] = {ROOT, "current-context", NAME_OF(OF_CONTEXT)},
    [CONTEXTS] = {ROOT, "contexts", LIST, 0, NULL, NULL},
    [CLUSTERS] = {ROOT, "clusters", LIST, 0, NULL, NULL},
    [USERS] = {ROOT, "users", LIST, 0, NULL, NULL},
    [CONTEXT_ENTRY] = {CONTEXTS, "contexts: each entry", MAP, 0, NULL, NULL},
    [CLUSTER_ENTRY] = {CLUSTERS, "clusters: each entry", MAP, 0, NULL, NULL},
    [USER_ENTRY] = {USERS, "users: each entry", MAP, 0, NULL, NULL},
    [CONTEXT_NAME] = {CONTEXT_ENTRY, "name", VALUE, 0, NULL, NULL},
    [CLUSTER_NAME] = {CLUSTER_ENTRY, "name", VALUE, 0, NULL, NULL},
    [USER_NAME] = {USER_ENTRY, "name", VALUE, 0, NULL, NULL},
    [CONTEXT] = {CONTEXT_ENTRY, "context", MAP, 0, NULL, NULL},
    [CLUSTER] = {CLUSTER_ENTRY, "cluster", MAP, 0, NULL, NULL},
    [USER] = {USER_ENTRY, "user", MAP, 0, NULL, NULL},
    [FIRST_VALUE] = {CONTEXT, "cluster", NAME_OF(OF_CLUSTER)},
    {CONTEXT, "user", NAME_OF(OF_USER)},
    {CLUSTER, "server", TO(server)},
    {CLUSTER, "certificate-authority", TO(ca_file)},
    {CLUSTER, "certificate-authority-data", TO(ca_data)},
    {CLUSTER, "tls-server-name", TO(tls_server_name)},
    {CLUSTER, "insecure-skip-tls-verify", VALUE, 0, INSECURE_REFUSED, "false"},
    {CLUSTER, "proxy-url", REFUSED("proxies are not supported; name the API server's own address")},
    {USER, "client-certificate", TO(cert_file)},
    {USER, "client-certificate-data", TO(cert_data)},
    {USER, "client-key", TO(key_file)},
    {USER, "client-key-data", TO(key_data)},
    {USER, "token", TO(token)},
    {USER, "tokenFile", TO(token_file)},
    {USER, "exec", REFUSED("a credential program" NOT_RUN)},
    {USER, "auth-provider", REFUSED("an auth provider" NOT_RUN)},
    {USER, "username", REFUSED(BASIC_REFUSED)},
    {USER, "password", REFUSED(BASIC_REFUSED)},
    {USER, "as", REFUSED(AS_REFUSED)},
    {USER, "as-uid", REFUSED(AS_REFUSED)},
    {USER, "as-groups", REFUSED(AS_REFUSED)},
    {USER, "as-user-extra", REFUSED(AS_REFUSED)},
};

/* --- writing the reason of a failure --- */

static enum status fail_malformed(struct walk *w, unsigned line, const char *what,
                                  const char *problem)
{
    ASSERT(line > 0u);
    WRITE(w->why, "line %: %%", NUMBER(line), TEXT(what), TEXT(problem));
    return PEER_MALFORMED;
}

static void put_wanted(struct walk *w, unsigned kind)
{
    WRITE(w->why, "% \"", TEXT(keys[(unsigned)CONTEXT + kind].name));
    for (size_t i = 0; i < w->wanted[kind].len; i++) {
        uint8_t c = w->wanted[kind].bytes[i];
        writer_u8(w->why, is_control(c) ? (uint8_t)'?' : c);
    }
    writer_text(w->why, "\"");
}

/* --- checking and copying the value of one key --- */

static bool is_one_line(struct view value)
{
    for (size_t i = 0; i < value.len; i++) {
        if (is_control(value.data[i])) {
            return false;
        }
    }
    return true;
}

static enum status refuse_key(struct walk *w, unsigned k)
{
    const struct yaml_token *t = &w->now[k];
    if (t->json.kind == JSON_STRING && view_is(view_trim(t->json.text), keys[k].unless)) {
        return STATUS_OK;
    }
    put_wanted(w, keys[k].below - CONTEXT);
    writer_text(w->why, ", ");
    (void)fail_malformed(w, t->line, keys[k].name, ": ");
    writer_text(w->why, keys[k].refused);
    return PEER_UNSUPPORTED;
}

static enum status put_name(struct walk *w, unsigned k)
{
    struct name name;
    struct writer bytes = writer_of(name.bytes, sizeof name.bytes);
    writer_append(&bytes, w->now[k].json.text);
    if (bytes.full) {
        return fail_malformed(w, w->now[k].line, keys[k].name, " is longer than 512 bytes");
    }
    name.len = bytes.len;
    memcpy((uint8_t *)w + keys[k].to, (const uint8_t *)&name, sizeof name);
    return STATUS_OK;
}

/* Copies a key's value to the member that the key's row of the table names, or refuses the key. */
static enum status copy_value(struct walk *w, unsigned k)
{
    struct yaml_token *t = &w->now[k];
    const struct key_row *row = &keys[k];
    if (t->line == 0u || t->json.kind == JSON_NULL) {
        return STATUS_OK;
    }
    if (row->refused != NULL) {
        return refuse_key(w, k);
    }
    if (t->json.kind != JSON_STRING) {
        return fail_malformed(w, t->line, row->name, " must be a single value");
    }
    if (t->bad_escape) {
        return fail_malformed(w, t->line, row->name, " has an escape that YAML does not have");
    }
    if (row->shape == NAME) {
        return put_name(w, k);
    }
    t->json.text = view_trim(t->json.text);
    /* the values of keys that end in -data are base64, which may contain line ends */
    if (!view_ends(view_text(row->name), "-data") && !is_one_line(t->json.text)) {
        return fail_malformed(w, t->line, row->name, " must be one line of text");
    }
    memcpy((uint8_t *)w + row->to, (const uint8_t *)&t->json.text, sizeof t->json.text);
    return STATUS_OK;
}

/* --- making the passes over the text --- */

/* Ends an entry of contexts, clusters or users: copies its values if it has the wanted name. */
static enum status finish_entry(struct walk *w, unsigned kind)
{
    const struct yaml_token *t = &w->now[(unsigned)CONTEXT_NAME + kind];
    const struct name *wanted = &w->wanted[kind];
    if (wanted->len == 0u || t->line == 0u || t->json.kind != JSON_STRING || t->bad_escape ||
        !view_equal(t->json.text, view_of(wanted->bytes, wanted->len))) {
        return STATUS_OK;
    }
    if (w->line[kind] != 0u) {
        return fail_malformed(w, t->line, keys[(unsigned)CONTEXT + kind].name,
                              " of this name is given twice");
    }
    w->line[kind] = t->line;
    enum status s = STATUS_OK;
    for (unsigned k = FIRST_VALUE; k < (unsigned)KEY_COUNT && s == STATUS_OK; k++) {
        s = copy_value(w, k);
    }
    return s;
}

static enum status next_token(struct walk *w, struct yaml_token *t)
{
    enum status s = yaml_next(&w->in, t);
    return (s == STATUS_OK) ? s : fail_malformed(w, w->in.line, w->in.problem, "");
}

static enum status skip_token(struct walk *w, const struct yaml_token *t)
{
    enum status s = yaml_skip(&w->in, t);
    return (s == STATUS_OK) ? s : fail_malformed(w, w->in.line, w->in.problem, "");
}

/*
 * Whether a value has the shape that the table requires for key `k`. A null has every shape, as if
 * the key were not given, but a null entry of a list is refused.
 */
static bool has_shape(unsigned k, enum json_kind kind)
{
    bool entry = k >= (unsigned)CONTEXT_ENTRY && k <= (unsigned)USER_ENTRY;
    switch (keys[k].shape) {
    case MAP:
        return kind == JSON_OBJECT_BEGIN || (kind == JSON_NULL && !entry);
    case LIST:
        return kind == JSON_ARRAY_BEGIN || kind == JSON_NULL;
    default: /* VALUE or NAME: copy_value checks the values of wanted entries */
        return true;
    }
}

/*
 * Records the value of key `k`, or begins an entry of a list; `line`: where the key or entry
 * starts. Enters a mapping or list of the table, and skips any other value.
 */
static enum status start_value(struct walk *w, unsigned k, const struct yaml_token *t,
                               unsigned line)
{
    enum shape shape = keys[k].shape;
    if (t->json.depth == ENTRY_DEPTH) {
        memset(&w->now[CONTEXT_ENTRY], 0,
               ((size_t)KEY_COUNT - (size_t)CONTEXT_ENTRY) * sizeof w->now[0]);
    }
    if (!has_shape(k, t->json.kind)) {
        return fail_malformed(w, t->line, keys[k].name,
                              (shape == MAP) ? " must be a mapping" : " must be a list");
    }
    w->now[k] = *t;
    w->now[k].line = line;
    if (shape == VALUE || shape == NAME) {
        enum status s = skip_token(w, t);
        return (s == STATUS_OK && k == (unsigned)CURRENT_CONTEXT) ? copy_value(w, k) : s;
    }
    if (t->json.kind != JSON_NULL) {
        w->at[t->json.depth + 1u] = (enum key)k;
    }
    return STATUS_OK;
}

static enum status handle_key(struct walk *w, struct yaml_token *t)
{
    unsigned line = t->line;
    unsigned k = CURRENT_CONTEXT;
    while (k < (unsigned)KEY_COUNT && (keys[k].below != w->at[t->json.depth] || t->bad_escape ||
                                       !view_is(t->json.text, keys[k].name))) {
        k++;
    }
    if (k == (unsigned)KEY_COUNT) {
        return skip_token(w, t);
    }
    if (w->now[k].line != 0u) {
        return fail_malformed(w, line, keys[k].name, " is given twice");
    }
    enum status s = next_token(w, t);
    return (s == STATUS_OK) ? start_value(w, k, t, line) : s;
}

static enum status handle_token(struct walk *w, struct yaml_token *t)
{
    switch (t->json.kind) {
    case JSON_NAME:
        return handle_key(w, t);
    case JSON_OBJECT_END:
        return (t->json.depth == ENTRY_DEPTH)
                   ? finish_entry(w, w->at[ENTRY_DEPTH + 1u] - CONTEXT_ENTRY)
                   : STATUS_OK;
    case JSON_ARRAY_END:
        return STATUS_OK;
    default: /* the first token of an entry of a list */
        return start_value(w, w->at[t->json.depth] - CONTEXTS + CONTEXT_ENTRY, t, t->line);
    }
}

/* Makes one pass over the whole text. On failure, w->why has the reason. */
static enum status walk_text(struct walk *w, struct view text, uint8_t *room)
{
    struct yaml_token t;
    yaml_open(&w->in, text, room);
    memset(w->now, 0, sizeof w->now);
    memset(w->line, 0, sizeof w->line);
    enum status s = next_token(w, &t);
    if (s == STATUS_OK && t.json.kind != JSON_OBJECT_BEGIN) {
        return fail_malformed(
            w, t.line, "this is not a kubeconfig: ",
            "it must be a mapping with current-context, contexts, clusters and users");
    }
    w->at[1] = ROOT;
    while (s == STATUS_OK) {
        s = next_token(w, &t);
        if (s != STATUS_OK || t.json.kind == JSON_END) {
            break;
        }
        s = handle_token(w, &t);
    }
    return s;
}

/*
 * Checks that the last pass found the wanted context, cluster or user (`kind`). STATUS_OK also if
 * no entry of this kind is wanted.
 */
static enum status check_found(struct walk *w, unsigned kind)
{
    if (w->line[kind] != 0u || w->wanted[kind].len == 0u) {
        return STATUS_OK;
    }
    put_wanted(w, kind);
    writer_text(w->why, " is not in the file");
    return PEER_NOT_FOUND;
}

/*
 * Makes the three passes. A context without a user has no credentials: the server decides about
 * anonymous requests.
 */
static enum status walk_all(struct walk *w, struct view text, uint8_t *room)
{
    enum status s = walk_text(w, text, room);
    if (s == STATUS_OK && w->wanted[OF_CONTEXT].len == 0u) {
        writer_text(w->why, "no current-context is set; "
                            "choose one with \"kubectl config use-context\"");
        return PEER_NOT_FOUND;
    }
    s = (s == STATUS_OK) ? walk_text(w, text, room) : s;
    s = (s == STATUS_OK) ? check_found(w, OF_CONTEXT) : s;
    if (s == STATUS_OK && w->wanted[OF_CLUSTER].len == 0u) {
        return fail_malformed(w, w->line[OF_CONTEXT], "this context", " names no cluster");
    }
    s = (s == STATUS_OK) ? walk_text(w, text, room) : s;
    s = (s == STATUS_OK) ? check_found(w, OF_CLUSTER) : s;
    return (s == STATUS_OK) ? check_found(w, OF_USER) : s;
}

/* --- splitting the server's URL --- */

static bool is_host(struct view host, bool bracketed)
{
    static const char ipv6[] = "abcdefABCDEF0123456789:.";
    for (size_t i = 0; i < host.len; i++) {
        uint8_t c = host.data[i];
        if (bracketed ? memchr(ipv6, c, sizeof ipv6 - 1u) == NULL
                      : !is_alphanumeric(c) && c != '.' && c != '-' && c != '_') {
            return false;
        }
    }
    return host.len > 0u;
}

/* Splits "[host]:port" or "host:port"; *port is empty when absent (RFC 3986 §3.2). */
static enum status split_host(struct view text, struct view *host, struct view *port)
{
    bool bracketed = view_starts(text, "[");
    struct view inner = view_from(text, bracketed ? 1u : 0u);
    *host = view_first(inner, view_find(inner, bracketed ? (uint8_t)']' : (uint8_t)':'));
    struct view behind = view_from(inner, host->len);
    if (!is_host(*host, bracketed) || (bracketed && behind.len == 0u)) {
        return PEER_MALFORMED;
    }
    behind = view_from(behind, bracketed ? 1u : 0u);
    *port = view_from(behind, 1);
    if (behind.len > 0u && (behind.data[0] != ':' || port->len == 0u)) {
        return PEER_MALFORMED;
    }
    return STATUS_OK;
}

/*
 * Length of "https://" at the start of `server`, in any letter case (RFC 3986 §3.1); 0: another
 * scheme.
 */
static size_t scheme_length(struct view server)
{
    static const char scheme[] = "https://";
    for (size_t i = 0; i < sizeof scheme - 1u; i++) {
        if (i == server.len || to_lower(server.data[i]) != (uint8_t)scheme[i]) {
            return 0;
        }
    }
    return sizeof scheme - 1u;
}

enum status kubeconfig_server(struct view server, struct view *host, uint16_t *port)
{
    struct view name;
    struct view digits;
    uint64_t number = HTTPS_PORT;
    size_t scheme = scheme_length(server);
    struct view rest = view_from(server, scheme);
    rest = view_first(rest, rest.len - (view_ends(rest, "/") ? 1u : 0u));
    if (scheme == 0u || split_host(rest, &name, &digits) != STATUS_OK) {
        return PEER_MALFORMED;
    }
    if (digits.len > 0u && (view_decimal(digits, 65535, &number) != STATUS_OK || number == 0u)) {
        return PEER_MALFORMED;
    }
    *host = name;
    *port = (uint16_t)number;
    return STATUS_OK;
}

/* --- reading a whole kubeconfig --- */

/*
 * Empties `file`, the name of a file, if `data` gives the same value inline, which takes
 * precedence, as in client-go.
 */
static void prefer_data(struct view data, struct view *file)
{
    *file = (data.len > 0u) ? view_first(*file, 0) : *file;
}

/*
 * Checks that the kubeconfig gives a server and a certificate authority, that the server's URL is
 * https, and that a client certificate comes with its key.
 */
static enum status check_values(struct walk *w)
{
    const struct kubeconfig *k = &w->found;
    bool cert = k->cert_data.len + k->cert_file.len > 0u;
    bool key = k->key_data.len + k->key_file.len > 0u;
    if (k->server.len == 0u) {
        return fail_malformed(w, w->line[OF_CLUSTER], "this cluster", " has no server");
    }
    if (scheme_length(k->server) == 0u) {
        (void)fail_malformed(w, w->line[OF_CLUSTER], "the server of this cluster",
                             " is not https://; a plain connection is not supported");
        return PEER_UNSUPPORTED;
    }
    if (k->ca_data.len + k->ca_file.len == 0u) {
        (void)fail_malformed(w, w->line[OF_CLUSTER], "this cluster",
                             " has neither certificate-authority-data nor certificate-authority; "
                             "there is no system store to fall back to");
        return PEER_UNSUPPORTED;
    }
    if (cert != key) {
        return fail_malformed(w, w->line[OF_USER], "this user has a client ",
                              cert ? "certificate but no client key"
                                   : "key but no client certificate");
    }
    return STATUS_OK;
}

enum status kubeconfig_read(struct view text, uint8_t *room, struct kubeconfig *out,
                            struct writer *why)
{
    struct walk w = {.why = why};
    if (text.len > KUBECONFIG_BYTES_MAX) {
        writer_text(why, "larger than 64 KiB; keep the contexts in use only "
                         "(kubectl config view --minify --flatten)");
        return FULL_BUFFER;
    }
    enum status s = walk_all(&w, text, room);
    prefer_data(w.found.ca_data, &w.found.ca_file);
    prefer_data(w.found.cert_data, &w.found.cert_file);
    prefer_data(w.found.key_data, &w.found.key_file);
    s = (s == STATUS_OK) ? check_values(&w) : s;
    if (s == STATUS_OK) {
        *out = w.found;
    }
    return s;
}
