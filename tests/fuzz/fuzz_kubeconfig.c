/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts for src/kubeconfig. Checks I1 to I5 of kubeconfig.h. The oracle is a reader of its own over
 * libyaml's events, which take both forms. What the product accepts, libyaml accepts, unless its
 * refusal is one of `permitted`, each with its reason; and every value found is the same, unless
 * the text is one of `incomparable` or `skipped_comment`. What the product refuses is not compared,
 * because it reads a subset of YAML.
 *
 * Input: a kubeconfig, YAML or JSON
 * Links: -lyaml
 */
#include "tests/fuzz/fuzz.h"
#include "kubeconfig/kubeconfig.h"
#include "kubeconfig/yaml.h"

static char why_text[4096];

/* What was found, in the order of struct kubeconfig. */
enum { VALUES = 10 };
_Static_assert(sizeof(struct kubeconfig) == VALUES * sizeof(struct view), "only views");

static void check_why(struct view why)
{
    CHECK(why.len > 0u);
    for (size_t i = 0; i < why.len; i++) {
        CHECK(why.data[i] >= ' ' && why.data[i] != 0x7fu);
    }
}

#ifndef FUZZ_ALONE
#include <yaml.h>

/* --- a small tree of libyaml's events: the nodes of one document --- */

#define NODES_MAX 20000u
#define DEPTH_MAX 64u

struct tree_node {
    yaml_event_t event;
    int parent;
    int key; /* of the mapping: the scalar before it; -1: it is one, or there is none */
};

static struct tree_node nodes[NODES_MAX];
static int count;
static bool incomparable; /* an alias, more nodes than `nodes`, or line ends of YAML 1.1 */

struct tree_walk {
    int open[DEPTH_MAX];
    int key[DEPTH_MAX];
    int depth;
};

/* A node begins: below which one, and behind which key. */
static void add_node(struct tree_walk *w, const yaml_event_t *event)
{
    int parent = -1;
    int key = -1;
    if (w->depth > 0) {
        parent = w->open[w->depth - 1];
        key = w->key[w->depth - 1];
        bool mapped = nodes[parent].event.type == YAML_MAPPING_START_EVENT;
        w->key[w->depth - 1] = (mapped && key < 0) ? count : -1;
    }
    nodes[count] = (struct tree_node){.event = *event, .parent = parent, .key = key};
    if (event->type != YAML_SCALAR_EVENT) {
        w->open[w->depth] = count;
        w->key[w->depth] = -1;
        w->depth++;
    }
    count++;
}

/* The product takes markers behind the document, between which only empty documents can be. */
static void check_empty(const yaml_event_t *event)
{
    bool scalar = event->type == YAML_SCALAR_EVENT;
    CHECK(event->type != YAML_MAPPING_START_EVENT && event->type != YAML_SEQUENCE_START_EVENT);
    CHECK(event->type != YAML_ALIAS_EVENT && (!scalar || event->data.scalar.length == 0u));
}

/* Takes no more nodes once the tree is not complete. */
static void take_node(struct tree_walk *w, const yaml_event_t *event)
{
    if (incomparable) {
        return;
    }
    switch (event->type) {
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        w->depth--;
        break;
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
    case YAML_SCALAR_EVENT:
        incomparable = count == (int)NODES_MAX || w->depth + 1 >= (int)DEPTH_MAX;
        if (!incomparable) {
            add_node(w, event);
        }
        break;
    case YAML_ALIAS_EVENT:
        incomparable = true;
        break;
    default:
        break;
    }
}

static void forget_tree(void)
{
    for (int i = 0; i < count; i++) {
        yaml_event_delete(&nodes[i].event);
    }
    count = 0;
    incomparable = false;
}

/*
 * libyaml is of YAML 1.1: there next line, line and paragraph separator end lines, as YAML 1.2 has
 * it no more.
 */
static bool old_breaks(struct view text)
{
    bool found = false;
    for (size_t i = 0; i < text.len; i++) {
        struct view rest = view_from(text, i);
        found = found || view_starts(rest, "\xc2\x85") || view_starts(rest, "\xe2\x80\xa8") ||
                view_starts(rest, "\xe2\x80\xa9");
    }
    return found;
}

/* What libyaml says about a text that it refuses; both texts are literals of libyaml. */
struct refusal {
    const char *problem;
    const char *context;
    unsigned line; /* from 1 */
    bool reader;   /* a character that no YAML text may hold, in whatever place */
};

static void note_refusal(const yaml_parser_t *parser, struct refusal *r)
{
    *r = (struct refusal){
        .problem = (parser->problem != NULL) ? parser->problem : "",
        .context = (parser->context != NULL) ? parser->context : "",
        .line = (unsigned)parser->problem_mark.line + 1u,
        .reader = parser->error == YAML_READER_ERROR,
    };
}

/* Reads the whole text, and makes the tree. False: libyaml finds a mistake, which *refusal gets. */
static bool read_tree(struct view text, struct refusal *refusal)
{
    yaml_parser_t parser;
    struct tree_walk w = {.depth = 0};
    unsigned documents = 0;
    yaml_event_type_t type = YAML_NO_EVENT;
    CHECK(yaml_parser_initialize(&parser) == 1);
    yaml_parser_set_input_string(&parser, text.data, text.len);
    bool breaks = old_breaks(text);
    incomparable = breaks;
    bool good = true;
    while (good && type != YAML_STREAM_END_EVENT) {
        yaml_event_t event;
        good = yaml_parser_parse(&parser, &event) == 1;
        if (!good) {
            note_refusal(&parser, refusal);
            break;
        }
        type = event.type;
        int before = count;
        documents += type == YAML_DOCUMENT_START_EVENT ? 1u : 0u;
        if (documents > 1u && !breaks) { /* a marker may be text behind a line end of YAML 1.1 */
            check_empty(&event);
        } else {
            take_node(&w, &event);
        }
        if (count == before) {
            yaml_event_delete(&event);
        }
    }
    yaml_parser_delete(&parser);
    CHECK(!good || documents > 0u);
    return good;
}

/* --- where libyaml may refuse what the product takes --- */

#define SIMPLE_KEY_MAX 1024u /* characters of a key, YAML 1.2.2 7.4.3 and 8.2.2 */

/* What yaml_next says about the whole text, of which kubeconfig_read skips some values unread. */
struct reading {
    unsigned failed;     /* line of the failure; 0: none */
    unsigned bad_escape; /* line of the first token that has a bad escape; 0: none */
    bool wide_key; /* a key not on one line with its colon, or that may be too long for libyaml */
};

/* Whether a key that was just read is wide for libyaml; `before`: where the search for it began. */
static bool is_wide_key(const struct yaml_reader *r, const struct yaml_token *t, size_t before)
{
    struct view rest = view_from(r->text, r->pos);
    rest = view_trim(view_first(rest, view_find(rest, '\n')));
    bool colon_below = r->expect == YAML_FLOW_VALUE && (rest.len == 0u || rest.data[0] == '#');
    bool wide = r->line != t->line || r->pos - before > SIMPLE_KEY_MAX || colon_below;
    return t->json.kind == JSON_NAME && wide;
}

static struct reading read_strictly(struct view text)
{
    uint8_t *values = malloc((text.len > 0u) ? text.len : 1u);
    struct reading reading = {.failed = 0};
    struct yaml_token t = {.json = {.kind = JSON_NULL}};
    struct yaml_reader r;
    enum status s = STATUS_OK;
    yaml_open(&r, text, values);
    while (s == STATUS_OK && t.json.kind != JSON_END) {
        size_t before = r.pos;
        s = yaml_next(&r, &t);
        if (r.bad_escape && reading.bad_escape == 0u) {
            reading.bad_escape = t.line; /* of the last scalar, also when yaml_next fails */
        }
        reading.wide_key = reading.wide_key || is_wide_key(&r, &t, before);
    }
    reading.failed = (s == STATUS_OK) ? 0u : r.line;
    free(values);
    return reading;
}

static struct view line_of(struct view text, unsigned line)
{
    for (unsigned i = 1; i < line; i++) {
        text = view_from(text, view_find(text, '\n') + 1u);
    }
    return view_first(text, view_find(text, '\n'));
}

/* All that was known when libyaml refused a text. */
struct refused {
    struct view text;
    struct refusal by;
    struct reading product;
};

static bool problem_is(const struct refused *t, const char *problem)
{
    return strcmp(t->by.problem, problem) == 0;
}

/* yaml_skip looks for few mistakes; yaml_next, which enters all values, fails there or before. */
static bool in_skipped(const struct refused *t)
{
    return t->product.failed != 0u && t->product.failed <= t->by.line;
}

static bool of_old_breaks(const struct refused *t)
{
    return old_breaks(t->text);
}

/* Whether the text has \uD800 to \uDFFF, as JSON writes half of a character beyond U+FFFF. */
static bool has_surrogate(struct view text)
{
    bool found = false;
    for (size_t i = 0; i + 3u < text.len; i++) {
        const uint8_t *at = &text.data[i];
        bool d = (at[2] == 'd' || at[2] == 'D') && strchr("89abcdefABCDEF", at[3]) != NULL;
        found = found || (at[0] == '\\' && at[1] == 'u' && d && at[3] != 0u);
    }
    return found;
}

static bool surrogate(const struct refused *t)
{
    return problem_is(t, "found invalid Unicode character escape code") &&
           has_surrogate(line_of(t->text, t->by.line));
}

static bool bad_escape(const struct refused *t)
{
    bool escape = problem_is(t, "found invalid Unicode character escape code") ||
                  problem_is(t, "did not find expected hexdecimal number") ||
                  problem_is(t, "found unknown escape character");
    return escape && t->product.bad_escape != 0u && t->product.bad_escape <= t->by.line;
}

static bool colon_in_flow(const struct refused *t)
{
    return problem_is(t, "found unexpected ':'");
}

static bool blank_with_tab(const struct refused *t)
{
    struct view line = line_of(t->text, t->by.line);
    struct view rest = view_trim(line);
    while (view_starts(rest, "-")) { /* entries of which the line has no more than the dash */
        rest = view_trim(view_from(rest, 1));
    }
    bool empty = rest.len == 0u || rest.data[0] == '#';
    bool tab = problem_is(t, "found character that cannot start any token") ||
               problem_is(t, "found a tab character that violates indentation") ||
               problem_is(t, "found a tab character where an indentation space is expected");
    return tab && empty && view_find(line, '\t') < line.len;
}

/* The first line of a block scalar's text; its indentation is the spaces before the tab. */
static bool tab_in_block(const struct refused *t)
{
    return strcmp(t->by.context, "while scanning a block scalar") == 0 &&
           problem_is(t, "found a tab character where an indentation space is expected");
}

static bool wide_key(const struct refused *t)
{
    bool missing = problem_is(t, "did not find expected ',' or '}'") ||
                   problem_is(t, "could not find expected ':'") ||
                   problem_is(t, "mapping values are not allowed in this context");
    return missing && t->product.wide_key;
}

static bool version(const struct refused *t)
{
    bool directive = strstr(t->by.context, "directive") != NULL ||
                     problem_is(t, "found incompatible YAML document");
    return directive && view_starts(line_of(t->text, t->by.line), "%YAML 1.");
}

static bool character(const struct refused *t)
{
    return t->by.reader && problem_is(t, "control characters are not allowed");
}

/* "lenient": the product takes more than YAML 1.2.2, and LEDGER.md has the finding. */
static const struct {
    const char *why;
    bool (*holds)(const struct refused *t);
} permitted[] = {
    {"yaml.h, yaml_skip: a value that the agent does not need is not checked as a whole",
     in_skipped},
    {"YAML 1.2.2 5.4: NEL, LS and PS end no line; in YAML 1.1 they did", of_old_breaks},
    {"RFC 8259 7: JSON writes a character as two escapes; libyaml refuses each", surrogate},
    {"yaml.h, bad_escape: the agent refuses it only in a value that it needs", bad_escape},
    {"YAML 1.2.2 7.3.3: a colon before a question mark is text in a flow collection",
     colon_in_flow},
    {"YAML 1.2.2 6.6: a line without text may have tabs; lenient: also in and behind a scalar",
     blank_with_tab},
    {"YAML 1.2.2 8.1.1.1: the text of a block scalar may begin with a tab", tab_in_block},
    {"YAML 1.2.2 7.4.2: a key in braces may have many lines; lenient: it may be of any length",
     wide_key},
    {"yaml.h: %YAML 1.x is accepted; lenient: whatever x is", version},
    {"YAML 1.2.2 5.1: quotes may hold what is not printable; lenient: so may other text",
     character},
};

/*
 * libyaml begins a comment without a blank before it, YAML 1.2.2 6.6. The product refuses such a
 * text, but not in a value that it skips, behind which the two then read another structure.
 */
static bool skipped_comment(struct view text)
{
    bool found = false;
    for (size_t i = 1; i < text.len; i++) {
        bool mark = text.data[i - 1u] != 0u && strchr(",:[]{}\"'", text.data[i - 1u]) != NULL;
        found = found || (mark && text.data[i] == '#');
    }
    return found && read_strictly(text).failed != 0u;
}

static bool is_permitted(const struct refused *t)
{
    for (size_t i = 0; i < sizeof permitted / sizeof permitted[0]; i++) {
        if (permitted[i].holds(t)) {
            return true;
        }
    }
    fprintf(stderr, "libyaml refuses line %u: %s: %s; yaml_next fails in line %u\n", t->by.line,
            t->by.context, t->by.problem, t->product.failed);
    return false;
}

/* --- the values by libyaml --- */

static bool scalar_is(int at, const char *text)
{
    return at >= 0 && nodes[at].event.type == YAML_SCALAR_EVENT &&
           view_is(view_of(nodes[at].event.data.scalar.value, nodes[at].event.data.scalar.length),
                   text);
}

/* The value of a key in the mapping at `parent`; -1: it has none. */
static int member(int parent, const char *key)
{
    for (int i = parent + 1; i < count; i++) {
        if (nodes[i].parent == parent && nodes[i].key >= 0 && scalar_is(nodes[i].key, key)) {
            return i;
        }
    }
    return -1;
}

static bool is_null(int at)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    if (at < 0) {
        return true;
    }
    const yaml_event_t *e = &nodes[at].event;
    bool null = false;
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        null = null || scalar_is(at, words[i]);
    }
    return null && e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static struct view value_of(int at)
{
    if (at < 0 || nodes[at].event.type != YAML_SCALAR_EVENT || is_null(at)) {
        return view_of(NULL, 0);
    }
    return view_trim(
        view_of(nodes[at].event.data.scalar.value, nodes[at].event.data.scalar.length));
}

/* The inner mapping of the entry of that name in a list; -1: there is none. */
static int entry(const char *list, const char *inner, struct view name)
{
    int at = member(0, list);
    for (int i = at + 1; at >= 0 && i < count; i++) {
        int label = (nodes[i].parent == at) ? member(i, "name") : -1;
        if (label >= 0 && view_equal(value_of(label), name)) {
            return member(i, inner);
        }
    }
    return -1;
}

static struct view text_at(int at, const char *key)
{
    return (at < 0) ? view_of(NULL, 0) : value_of(member(at, key));
}

static void same(struct view ours, int at, const char *key, struct view wins)
{
    struct view theirs = (wins.len > 0u) ? view_of(NULL, 0) : text_at(at, key);
    CHECK(view_equal(ours, theirs)); /* I3 */
}

/* What the product took is what libyaml read. */
static void compare(const struct kubeconfig *k)
{
    struct view none = view_of(NULL, 0);
    CHECK(count > 0 && nodes[0].event.type == YAML_MAPPING_START_EVENT);
    int context = entry("contexts", "context", text_at(0, "current-context"));
    int cluster = entry("clusters", "cluster", text_at(context, "cluster"));
    struct view name = text_at(context, "user");
    int user = (name.len > 0u) ? entry("users", "user", name) : -1;
    same(k->server, cluster, "server", none);
    same(k->ca_data, cluster, "certificate-authority-data", none);
    same(k->ca_file, cluster, "certificate-authority", k->ca_data);
    same(k->tls_server_name, cluster, "tls-server-name", none);
    same(k->cert_data, user, "client-certificate-data", none);
    same(k->cert_file, user, "client-certificate", k->cert_data);
    same(k->key_data, user, "client-key-data", none);
    same(k->key_file, user, "client-key", k->key_data);
    same(k->token, user, "token", none);
    same(k->token_file, user, "tokenFile", none);
}

#endif

static void judge(struct view text, enum status s, const struct kubeconfig *k)
{
    if (s != STATUS_OK) {
        return;
    }
    CHECK(k->server.len >= 8u && k->ca_data.len + k->ca_file.len > 0u);
#ifndef FUZZ_ALONE
    struct refused t = {.text = text};
    bool good = read_tree(text, &t.by);
    if (!good) {
        t.product = read_strictly(text);
        CHECK(is_permitted(&t));
    } else if (!incomparable && !skipped_comment(text)) {
        compare(k);
    }
    forget_tree();
#endif
    (void)text;
}

/* Host and port of a server: what is taken is written the same way again. */
static void try_server(struct view server)
{
    struct view host = view_text("before");
    uint16_t port = 7;
    if (kubeconfig_server(server, &host, &port) != STATUS_OK) {
        CHECK(view_is(host, "before") && port == 7u);
        return;
    }
    char text[8192];
    struct writer w = writer_of(text, sizeof text);
    bool bracketed = view_find(host, (uint8_t)':') < host.len;
    writer_text(&w, bracketed ? "https://[" : "https://");
    writer_append(&w, host);
    writer_text(&w, bracketed ? "]:" : ":");
    writer_decimal(&w, port);
    struct view again;
    uint16_t port_again = 0;
    CHECK(port > 0u && host.len > 0u);
    CHECK(w.full || kubeconfig_server(writer_view(&w), &again, &port_again) == STATUS_OK);
    CHECK(w.full || (port_again == port && view_equal(again, host))); /* I5 */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = fuzz_copy(data, size);
    uint8_t *room = malloc((size > 0u) ? size : 1u);
    struct writer why = writer_of(why_text, sizeof why_text);
    struct kubeconfig k;
    struct kubeconfig before;
    memset(&k, 0x5a, sizeof k);
    before = k;
    enum status s = kubeconfig_read(view_of(copy, size), room, &k, &why);
    if (s == STATUS_OK) {
        struct view values[VALUES];
        memcpy(values, &k, sizeof values);
        for (unsigned i = 0; i < VALUES; i++) {
            CHECK(values[i].len == 0u ||
                  (values[i].data >= room && values[i].data + values[i].len <= room + size));
        }
        CHECK(why.len == 0u); /* I2 */
        try_server(k.server);
    } else {
        CHECK(s == PEER_MALFORMED || s == PEER_NOT_FOUND || s == PEER_UNSUPPORTED ||
              s == FULL_BUFFER);
        CHECK(memcmp(&k, &before, sizeof k) == 0); /* I1 */
        CHECK(!why.full);
        check_why(writer_view(&why)); /* I4 */
    }
    judge(view_of(data, size), s, &k);
    try_server(view_first(view_of(data, size), 4096));
    CHECK(memcmp(copy, data, size) == 0);
    free(room);
    free(copy);
    return 0;
}
