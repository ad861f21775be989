/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of a kubeconfig: one token from any state of a pass that `walk_sound` allows, and
 * `walk_sound` again after it; by induction, a text of any length. The tokens are those that yaml.h
 * promises; proofs of yaml.c are apart. The proof of the loop over tokens is about its end alone.
 */
#include "stubs.h"

#include "kubeconfig/kubeconfig.c"

static struct walk walk;
static struct writer why;

/* The content of the tokens does not matter to the checks: only their lines say that they are. */
void *stub_wipe(void *to, int value, size_t n)
{
    CHECK(__CPROVER_w_ok(to, n) && value == 0);
    return to;
}

void stub_writer_fill(struct writer *w, const char *form, const struct fill *fills, size_t count)
{
    CHECK(writer_sound(w) && form != NULL && (count == 0u || __CPROVER_r_ok(fills, count)));
    size_t more = any_length(w->cap - w->len);
    w->full = w->full || any_bool();
    w->len += w->full ? 0u : more;
}

bool stub_view_ends(struct view v, const char *suffix)
{
    stub_check_view(v);
    return v.len >= strlen(suffix) && any_bool();
}

/* --- the pass --- */

/* Key of the collection at this depth, of which the one around it is `outer`. */
static bool key_fits(enum key outer, enum key inner, unsigned depth)
{
    switch (depth) {
    case 1:
        return inner == ROOT;
    case 2:
        return inner == CONTEXTS || inner == CLUSTERS || inner == USERS;
    case 3:
        return (int)inner == (int)outer - (int)CONTEXTS + (int)CONTEXT_ENTRY;
    default:
        return (int)inner == (int)outer - (int)CONTEXT_ENTRY + (int)CONTEXT;
    }
}

/* Each open collection is one of the table, and a list exactly at the depth of the lists. */
static bool walk_sound(const struct walk *w)
{
    bool good = w->in.depth <= LEVELS && w->in.line >= 1u && writer_sound(w->why);
    for (unsigned d = 1; d <= LEVELS; d++) {
        bool open = d <= w->in.depth;
        good = good && (!open || (key_fits(w->at[d - 1u], w->at[d], d) &&
                                  w->in.stack[d - 1u].list == (d == ENTRY_DEPTH)));
    }
    for (unsigned kind = 0; kind < ENTRY_KINDS; kind++) {
        good = good && w->wanted[kind].len <= KUBECONFIG_NAME_BYTES_MAX;
    }
    return good;
}

static bool is_begin(const struct yaml_token *t)
{
    return t->json.kind == JSON_OBJECT_BEGIN || t->json.kind == JSON_ARRAY_BEGIN;
}

/* Any pass: the tokens of now[] have any lines, and texts that are not read but through one. */
static struct walk *any_walk(void)
{
    __CPROVER_havoc_object(&walk);
    why = any_writer(ANY_LENGTH);
    walk.why = &why;
    for (unsigned d = 0; d < LEVELS; d++) {
        walk.in.stack[d].list = any_bool();
    }
    ASSUME(walk_sound(&walk));
    return &walk;
}

/* A token of any kind, text and line. */
static struct yaml_token any_token(void)
{
    struct yaml_token t;
    t.json.text = any_view(KUBECONFIG_BYTES_MAX);
    t.bad_escape = any_bool();
    ASSUME(t.line >= 1u && t.json.kind <= JSON_END);
    return t;
}

/* A token that starts a value: a scalar or the begin of a collection, which is then open. */
static void open_value(struct yaml_reader *r, struct yaml_token *t)
{
    ASSUME(t->json.kind == JSON_NULL || t->json.kind == JSON_STRING || is_begin(t));
    t->json.depth = r->depth;
    if (is_begin(t)) {
        ASSUME(r->depth < YAML_DEPTH_MAX);
        r->stack[r->depth].list = t->json.kind == JSON_ARRAY_BEGIN;
        r->depth++;
    }
}

static void any_problem(struct yaml_reader *r)
{
    r->problem = "a problem";
    r->line = any_unsigned();
    ASSUME(r->line >= 1u);
}

/* yaml.h: after a name, its value. */
enum status stub_value_token(struct walk *w, struct yaml_token *t)
{
    if (any_bool()) {
        any_problem(&w->in);
        return fail_malformed(w, w->in.line, w->in.problem, "");
    }
    *t = any_token();
    open_value(&w->in, t);
    return STATUS_OK;
}

enum status stub_yaml_next(struct yaml_reader *r, struct yaml_token *t)
{
    if (any_bool()) {
        any_problem(r);
        return PEER_MALFORMED;
    }
    *t = any_token();
    return STATUS_OK;
}

/* yaml.h: the value of a name, the rest of a collection, or nothing. */
enum status stub_yaml_skip(struct yaml_reader *r, const struct yaml_token *t)
{
    if (is_begin(t)) {
        CHECK(r->depth == t->json.depth + 1u);
        r->depth--;
    }
    if (any_bool()) {
        any_problem(r);
        return PEER_MALFORMED;
    }
    return STATUS_OK;
}

/* The next token of a pass, as yaml_next returns it for the open collections. */
static struct yaml_token any_next(struct walk *w)
{
    struct yaml_token t = any_token();
    bool list = w->in.stack[w->in.depth - 1u].list;
    if (any_bool()) { /* the end of the innermost collection */
        t.json.kind = list ? JSON_ARRAY_END : JSON_OBJECT_END;
        w->in.depth--;
        t.json.depth = w->in.depth;
    } else if (list) {
        open_value(&w->in, &t);
    } else {
        t.json.kind = JSON_NAME;
        t.json.depth = w->in.depth;
    }
    return t;
}

static bool explained(enum status s)
{
    return s == STATUS_OK || s == PEER_MALFORMED || s == PEER_UNSUPPORTED;
}

static unsigned any_key(unsigned first)
{
    unsigned k = any_unsigned();
    ASSUME(k >= first && k < (unsigned)KEY_COUNT);
    return k;
}

/* --- what other proofs of this file show --- */

/* The rows that copy_value is called for: the others have no member to copy to. */
static bool is_copied(unsigned k)
{
    return k == (unsigned)CURRENT_CONTEXT ||
           (k >= (unsigned)FIRST_VALUE && k < (unsigned)KEY_COUNT);
}

/* Proof kubeconfig_copy. */
enum status stub_copy_value(struct walk *w, unsigned k)
{
    CHECK(is_copied(k) && walk_sound(w));
    return any_bool() ? STATUS_OK : any_bool() ? PEER_MALFORMED : PEER_UNSUPPORTED;
}

/* Proof kubeconfig_entry. */
enum status stub_finish_entry(struct walk *w, unsigned kind)
{
    CHECK(kind < ENTRY_KINDS && walk_sound(w));
    return any_bool() ? STATUS_OK : any_bool() ? PEER_MALFORMED : PEER_UNSUPPORTED;
}

/* The depths at which the table has lists and mappings. */
static bool depth_fits(enum shape shape, unsigned depth)
{
    switch (shape) {
    case LIST:
        return depth == 1u;
    case MAP:
        return depth == 2u || depth == 3u;
    default:
        return true;
    }
}

static bool is_collection(unsigned k)
{
    return keys[k].shape == MAP || keys[k].shape == LIST;
}

/* A collection of the table is entered, any other is skipped. */
static void enter_value(struct walk *w, unsigned k, const struct yaml_token *t)
{
    if (is_begin(t) && is_collection(k)) {
        w->at[t->json.depth + 1u] = (enum key)k;
    } else if (is_begin(t)) {
        w->in.depth--;
    }
}

/* Proof kubeconfig_value. */
enum status stub_start_value(struct walk *w, unsigned k, const struct yaml_token *t, unsigned line)
{
    CHECK(k < (unsigned)KEY_COUNT && k >= (unsigned)CURRENT_CONTEXT && line >= 1u);
    CHECK(t->json.depth <= LEVELS && keys[k].name != NULL);
    CHECK(w->in.depth == t->json.depth + (is_begin(t) ? 1u : 0u));
    CHECK(depth_fits(keys[k].shape, t->json.depth) && keys[k].below == w->at[t->json.depth]);
    if (any_bool() || (is_collection(k) && !has_shape(k, t->json.kind))) {
        return any_bool() ? PEER_MALFORMED : PEER_UNSUPPORTED;
    }
    enter_value(w, k, t);
    return STATUS_OK;
}

/* Proof kubeconfig_key. */
enum status stub_handle_key(struct walk *w, struct yaml_token *t)
{
    CHECK(t->json.depth >= 1u && t->json.depth == w->in.depth && walk_sound(w));
    return any_bool() ? STATUS_OK : any_bool() ? PEER_MALFORMED : PEER_UNSUPPORTED;
}

/* --- proofs --- */

void proof_kubeconfig_reason(void)
{
    struct walk *w = any_walk();
    unsigned line = any_unsigned();
    ASSUME(line > 0u);
    CHECK(fail_malformed(w, line, "what", " is wrong") == PEER_MALFORMED);
    CHECK(writer_sound(w->why));
}

void proof_kubeconfig_wanted(void)
{
    struct walk *w = any_walk();
    unsigned kind = any_unsigned();
    ASSUME(kind < ENTRY_KINDS);
    put_wanted(w, kind);
    CHECK(writer_sound(w->why));
}

/* Proof kubeconfig_wanted. */
void stub_put_wanted(struct walk *w, unsigned kind)
{
    CHECK(kind < ENTRY_KINDS);
    stub_writer_fill(w->why, "", NULL, 0);
}

void proof_kubeconfig_line(void)
{
    struct view v = any_view(KUBECONFIG_BYTES_MAX);
    CHECK(is_one_line(v) || v.len > 0u);
}

void proof_kubeconfig_entry(void)
{
    struct walk *w = any_walk();
    unsigned kind = any_unsigned();
    ASSUME(kind < ENTRY_KINDS);
    w->now[(unsigned)CONTEXT_NAME + kind] = any_token();
    w->now[(unsigned)CONTEXT_NAME + kind].line = any_unsigned();
    CHECK(explained(finish_entry(w, kind)));
    CHECK(walk_sound(w));
}

void proof_kubeconfig_tokens(void)
{
    struct walk *w = any_walk();
    struct yaml_token t = any_token();
    enum status s;
    if (any_bool()) {
        s = next_token(w, &t);
        CHECK(s != STATUS_OK || t.line >= 1u);
    } else {
        ASSUME(t.json.depth <= LEVELS);
        ASSUME(!is_begin(&t) || w->in.depth == t.json.depth + 1u);
        s = skip_token(w, &t);
    }
    CHECK((s == STATUS_OK || s == PEER_MALFORMED) && writer_sound(w->why));
}

/* A value of key k where the collection around it is the one that the table says. */
void proof_kubeconfig_value(void)
{
    struct walk *w = any_walk();
    ASSUME(w->in.depth >= 1u);
    unsigned k = any_key(CURRENT_CONTEXT);
    ASSUME(keys[k].below == w->at[w->in.depth]);
    struct yaml_token t = any_token();
    open_value(&w->in, &t);
    unsigned line = any_unsigned();
    ASSUME(line >= 1u);
    enum status s = start_value(w, k, &t, line);
    CHECK(explained(s) && (s != STATUS_OK || walk_sound(w)));
}

void proof_kubeconfig_key(void)
{
    struct walk *w = any_walk();
    struct yaml_token t = any_token();
    ASSUME(w->in.depth >= 1u && !w->in.stack[w->in.depth - 1u].list);
    t.json.kind = JSON_NAME;
    t.json.depth = w->in.depth;
    enum status s = handle_key(w, &t);
    CHECK(explained(s) && (s != STATUS_OK || walk_sound(w)));
}

void proof_kubeconfig_token(void)
{
    struct walk *w = any_walk();
    ASSUME(w->in.depth >= 1u);
    struct yaml_token t = any_next(w);
    enum status s = handle_token(w, &t);
    CHECK(explained(s) && (s != STATUS_OK || walk_sound(w)));
}

/* --- the passes --- */

void stub_yaml_open(struct yaml_reader *r, struct view text, uint8_t *room)
{
    (void)room;
    stub_check_view(text);
    r->text = text;
    r->pos = 0;
    r->depth = 0;
    r->line = 1;
}

/*
 * One turn of the loop over tokens: the tokens of yaml_next, of which each takes bytes of the text
 * (yaml.c), so that the loop ends.
 */
enum status stub_pass_token(struct walk *w, struct yaml_token *t)
{
    CHECK(w->in.pos <= w->in.text.len);
    if (w->in.pos == w->in.text.len || any_bool()) {
        any_problem(&w->in);
        return fail_malformed(w, w->in.line, w->in.problem, "");
    }
    *t = any_token();
    w->in.pos += 1u + any_length(w->in.text.len - w->in.pos - 1u);
    return STATUS_OK;
}

/* Proof kubeconfig_token: a pass that did not fail stays sound. */
enum status stub_pass_handle(struct walk *w, struct yaml_token *t)
{
    CHECK(t->line >= 1u && w->in.pos <= w->in.text.len);
    w->in.pos += any_length(w->in.text.len - w->in.pos);
    return any_bool() ? STATUS_OK : any_bool() ? PEER_MALFORMED : PEER_UNSUPPORTED;
}

enum status stub_fail_malformed(struct walk *w, unsigned line, const char *what,
                                const char *problem)
{
    CHECK(line > 0u && what != NULL && problem != NULL);
    stub_writer_fill(w->why, "", NULL, 0);
    return PEER_MALFORMED;
}

void proof_kubeconfig_pass(void)
{
    struct walk *w = any_walk();
    struct view text = any_view(KUBECONFIG_BYTES_MAX);
    CHECK(explained(walk_text(w, text, NULL)));
    CHECK(writer_sound(w->why));
}

static unsigned passes;

/*
 * Each pass sets the lines of the entries that it finds. All passes read the same text: the first
 * one reads the name of the context and the second one those of cluster and user, and later passes
 * do not change these names.
 */
enum status stub_walk_text(struct walk *w, struct view text, uint8_t *room)
{
    (void)room;
    stub_check_view(text);
    for (unsigned kind = 0; kind < ENTRY_KINDS; kind++) {
        bool known = passes > (kind == OF_CONTEXT ? 0u : 1u);
        w->wanted[kind].len = known ? w->wanted[kind].len : any_length(KUBECONFIG_NAME_BYTES_MAX);
        w->line[kind] = any_unsigned();
    }
    passes++;
    return any_bool() ? STATUS_OK : any_bool() ? PEER_MALFORMED : PEER_UNSUPPORTED;
}

static bool searched(enum status s)
{
    return explained(s) || s == PEER_NOT_FOUND;
}

void proof_kubeconfig_passes(void)
{
    struct walk *w = any_walk();
    struct view text = any_view(KUBECONFIG_BYTES_MAX);
    passes = 0; /* a contract of a loop makes a static any value */
    enum status s = walk_all(w, text, NULL);
    CHECK(searched(s) && writer_sound(w->why));
    CHECK(s != STATUS_OK || w->line[OF_CLUSTER] != 0u);
    CHECK(s != STATUS_OK || w->wanted[OF_USER].len == 0u || w->line[OF_USER] != 0u);
}

/* Proof kubeconfig_passes. Values of a user come from the entry that was found. */
enum status stub_walk_all(struct walk *w, struct view text, uint8_t *room)
{
    (void)room;
    stub_check_view(text);
    struct kubeconfig found;
    w->found = found;
    struct view v = any_view(KUBECONFIG_BYTES_MAX);
    w->found.server = any_bool() ? v : view_of(NULL, 0);
    struct view *lengths[] = {&w->found.ca_data,   &w->found.ca_file,  &w->found.cert_data,
                              &w->found.cert_file, &w->found.key_data, &w->found.key_file};
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        *lengths[i] = any_bool() ? v : view_of(NULL, 0);
    }
    w->line[OF_CLUSTER] = any_unsigned();
    w->line[OF_USER] = any_unsigned();
    bool user = w->found.cert_data.len + w->found.cert_file.len + w->found.key_data.len +
                    w->found.key_file.len >
                0u;
    ASSUME(w->line[OF_CLUSTER] != 0u && (!user || w->line[OF_USER] != 0u));
    return any_bool()   ? STATUS_OK
           : any_bool() ? PEER_MALFORMED
           : any_bool() ? PEER_UNSUPPORTED
                        : PEER_NOT_FOUND;
}

void proof_kubeconfig_whole(void)
{
    struct kubeconfig out;
    out.server = view_of(NULL, 0);
    why = any_writer(ANY_LENGTH);
    struct view text = any_view(ANY_LENGTH);
    enum status s = kubeconfig_read(text, NULL, &out, &why);
    CHECK(searched(s) || s == FULL_BUFFER);
    CHECK((s == FULL_BUFFER) == (text.len > KUBECONFIG_BYTES_MAX));
    CHECK(s != STATUS_OK || (out.server.len >= 8u && out.ca_data.len + out.ca_file.len > 0u));
    CHECK(s != STATUS_OK || out.ca_data.len == 0u || out.ca_file.len == 0u);
    CHECK(writer_sound(&why));
}

/* --- the server --- */

void proof_kubeconfig_host(void)
{
    struct view v = any_view(KUBECONFIG_BYTES_MAX);
    CHECK(!is_host(v, any_bool()) || v.len > 0u);
}

bool stub_is_host(struct view host, bool bracketed)
{
    (void)bracketed;
    stub_check_view(host);
    return host.len > 0u && any_bool();
}

void proof_kubeconfig_server(void)
{
    struct view server = any_view(KUBECONFIG_BYTES_MAX);
    struct view host = view_of(NULL, 0);
    uint16_t port = 0;
    enum status s = kubeconfig_server(server, &host, &port);
    CHECK(s == STATUS_OK || s == PEER_MALFORMED);
    CHECK(s != STATUS_OK || (view_within(host, server) && host.len > 0u && port != 0u));
}

/* --- one value --- */

struct view stub_view_trim(struct view a)
{
    stub_check_view(a);
    size_t begin = any_length(a.len);
    return view_from(view_first(a, begin + any_length(a.len - begin)), begin);
}

/* Proof kubeconfig_line. */
bool stub_is_one_line(struct view value)
{
    stub_check_view(value);
    return any_bool();
}

/* With each row as a constant, so that the offsets of its table are constants too. */
#define FOR_ROW(s, k, call)                                                                        \
    for (unsigned i = 0; i < (unsigned)KEY_COUNT; i++) {                                           \
        if (i == (k)) {                                                                            \
            (s) = call;                                                                            \
        }                                                                                          \
    }

/* The token of a row as start_value has kept it; line 0: the start of an entry has wiped it. */
static void keep_token(struct walk *w, unsigned k, unsigned first_line)
{
    struct yaml_token t = any_token();
    t.line = any_unsigned();
    ASSUME(t.line >= first_line);
    for (unsigned i = 0; i < (unsigned)KEY_COUNT; i++) {
        if (i == k) {
            w->now[i] = t;
        }
    }
}

/* Proof kubeconfig_name. */
enum status stub_put_name(struct walk *w, unsigned k)
{
    CHECK(k < (unsigned)KEY_COUNT && keys[k].shape == NAME && w->now[k].line >= 1u);
    return any_bool() ? STATUS_OK : PEER_MALFORMED;
}

/* Proof kubeconfig_refused. */
enum status stub_refuse_key(struct walk *w, unsigned k)
{
    CHECK(k < (unsigned)KEY_COUNT && keys[k].refused != NULL && w->now[k].line >= 1u);
    return any_bool() ? STATUS_OK : PEER_UNSUPPORTED;
}

/* Proof text_writer_text; the content does not matter. */
void stub_append_text(struct writer *w, const char *text)
{
    CHECK(text != NULL);
    stub_writer_fill(w, "", NULL, 0);
}

void proof_kubeconfig_copy(void)
{
    struct walk *w = any_walk();
    unsigned k = any_unsigned();
    enum status s = STATUS_OK;
    ASSUME(is_copied(k));
    keep_token(w, k, 0);
    FOR_ROW(s, k, copy_value(w, i));
    CHECK(explained(s) && walk_sound(w));
}

void proof_kubeconfig_name(void)
{
    struct walk *w = any_walk();
    unsigned k = any_key(CURRENT_CONTEXT);
    enum status s = STATUS_OK;
    ASSUME(keys[k].shape == NAME);
    keep_token(w, k, 1);
    FOR_ROW(s, k, put_name(w, i));
    CHECK(explained(s) && walk_sound(w));
}

void proof_kubeconfig_refused(void)
{
    struct walk *w = any_walk();
    unsigned k = any_key(FIRST_VALUE);
    ASSUME(keys[k].refused != NULL);
    w->now[k] = any_token();
    CHECK(explained(refuse_key(w, k)) && walk_sound(w));
}
