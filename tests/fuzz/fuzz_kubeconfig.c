/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts for src/kubeconfig. Checks I1 to I5 of kubeconfig.h. The oracle for the values is a reader
 * of its own over libyaml's events, which take both forms: what the product accepts, libyaml
 * accepts, and every value found is the same.
 *
 * Input: a kubeconfig, YAML or JSON
 * Links: -lyaml
 */
#include "tests/fuzz/fuzz.h"
#include "kubeconfig/kubeconfig.h"

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
static bool odd; /* has what the product refuses or reads otherwise on purpose */

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

/* False: the document is too large to look at. */
static bool take_node(struct tree_walk *w, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        w->depth--;
        return true;
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
    case YAML_SCALAR_EVENT:
        odd = odd || count == (int)NODES_MAX || w->depth + 1 >= (int)DEPTH_MAX;
        if (!odd) {
            add_node(w, event);
        }
        return !odd;
    case YAML_ALIAS_EVENT:
        odd = true;
        return false;
    default:
        return true;
    }
}

static void forget_tree(void)
{
    for (int i = 0; i < count; i++) {
        yaml_event_delete(&nodes[i].event);
    }
    count = 0;
    odd = false;
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

/* False: libyaml finds a mistake. */
static bool read_tree(struct view text)
{
    yaml_parser_t parser;
    struct tree_walk w = {.depth = 0};
    bool good = yaml_parser_initialize(&parser) == 1;
    bool more = good;
    unsigned documents = 0;
    yaml_parser_set_input_string(&parser, text.data, text.len);
    while (more) {
        yaml_event_t event;
        good = yaml_parser_parse(&parser, &event) == 1;
        if (!good) {
            break;
        }
        yaml_event_type_t type = event.type;
        int before = count;
        documents += type == YAML_DOCUMENT_START_EVENT ? 1u : 0u;
        more = take_node(&w, &event) && type != YAML_STREAM_END_EVENT;
        if (count == before) {
            yaml_event_delete(&event);
        }
    }
    yaml_parser_delete(&parser);
    odd = odd || documents != 1u || old_breaks(text);
    return good;
}

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
    bool good = read_tree(text);
    if (good && !odd) {
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
