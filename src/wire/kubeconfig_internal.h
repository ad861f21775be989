/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the kubeconfig reader share: one stream of nodes, whether the text is YAML or
 * JSON. Owns no state of its own. Nobody else includes it.
 */
#ifndef WIRE_KUBECONFIG_INTERNAL_H
#define WIRE_KUBECONFIG_INTERNAL_H

#include "base/json.h"
#include "wire/kubeconfig.h"

/* What a node is; both formats yield the same ones. */
enum node_kind {
    NODE_MAP_BEGIN,
    NODE_MAP_END,
    NODE_LIST_BEGIN,
    NODE_LIST_END,
    NODE_KEY,
    NODE_SCALAR,
    NODE_DOCUMENT_END,
};

/* How a scalar is written, YAML 1.2.2 §7.3 and §8.1. */
enum scalar_style {
    SCALAR_PLAIN,   /* also null: nothing, "~" or "null" */
    SCALAR_SINGLE,  /* `raw` is what stands between the quotes */
    SCALAR_DOUBLE,  /* likewise; JSON strings too */
    SCALAR_LITERAL, /* `raw` is whole lines */
    SCALAR_FOLDED,
};

/* YAML 1.2.2 §8.1.1.2 */
enum scalar_chomp { CHOMP_CLIP, CHOMP_STRIP, CHOMP_KEEP };

/* One node; views are borrowed from the text. */
struct node {
    enum node_kind kind;
    enum scalar_style style; /* of keys and scalars */
    enum scalar_chomp chomp; /* of block scalars: what becomes of the line ends at their end */
    unsigned indent;         /* of block scalars: columns before the text */
    unsigned line;           /* where it begins, from 1 */
    struct view raw;         /* borrowed from the text; escapes and folding not resolved */
};

/* What may stand at the reading position. */
enum yaml_expect {
    YAML_DOCUMENT, /* the first node */
    YAML_LINE,     /* an entry of the innermost collection, or the end of it */
    YAML_VALUE,    /* behind "key:" */
    YAML_CLOSE,    /* the end of an empty flow collection */
};

/* An open collection. */
struct yaml_open {
    int indent; /* column of its keys or dashes */
    bool list;
};

/* Position in a YAML text, which is borrowed. */
struct yaml_reader {
    struct view text;
    size_t pos;
    size_t line_start;
    unsigned line;
    unsigned depth;
    struct yaml_open stack[YAML_DEPTH_MAX];
    enum yaml_expect expect;
    enum node_kind closing; /* YAML_CLOSE */
    const char *problem;    /* sticky, with `line` where it is; NULL: none */
};

/* Begins to read the text. */
void yaml_open_text(struct yaml_reader *r, struct view text);
/* Next node. PEER_MALFORMED: r->problem in r->line. */
MUST_USE enum status yaml_next(struct yaml_reader *r, struct node *node);
/*
 * A scalar at r->pos, within a collection of `parent` columns (-1: none); moves behind its line.
 * Same verdicts.
 */
MUST_USE enum status yaml_scalar(struct yaml_reader *r, int parent, struct node *node);
/* Moves to the next character that is neither space, comment nor line end. False: the text ends. */
bool yaml_seek(struct yaml_reader *r);
/* Only blanks and a comment may be left in the line; moves to the next one. Same verdicts. */
MUST_USE enum status yaml_finish_line(struct yaml_reader *r);
/* From r->pos to the end of the line, which is not part of it. */
struct view yaml_rest(const struct yaml_reader *r);
/* Moves to the begin of the next line. */
void yaml_next_line(struct yaml_reader *r);
/* Remembers the first problem; always PEER_MALFORMED. */
enum status yaml_fail(struct yaml_reader *r, const char *problem);
/* Whether a document marker ("---" or "...") stands at r->pos. */
bool yaml_marker(const struct yaml_reader *r, const char *marker);
/* Bytes up to the ':' of a key that begins at r->pos, or 0: no key. `node` gets the key. */
size_t yaml_key(const struct yaml_reader *r, struct node *node);

/*
 * Value of a key or scalar, escapes and folding resolved, appended byte by byte: `out` may lie over
 * the very bytes of `raw`, because nothing grows. PEER_MALFORMED: an escape that is not supported.
 */
MUST_USE enum status scalar_resolve(const struct node *node, struct writer *out);
/* Whether a key or scalar is null. */
bool scalar_is_null(const struct node *node);
/* Whether a key, once resolved, is `text`. */
bool scalar_is(const struct node *node, const char *text);

/* One stream over both formats. */
struct node_source {
    bool is_json;
    struct yaml_reader yaml;
    struct json_reader json;
    size_t counted;      /* JSON bytes whose lines are counted */
    unsigned line;       /* of the last node, or of the problem */
    const char *problem; /* static text; NULL: none */
};

/* Begins to read the text, borrowed; its first character tells the format. */
void source_open(struct node_source *s, struct view text);
/* PEER_MALFORMED: s->problem in s->line. */
MUST_USE enum status source_next(struct node_source *s, struct node *node);
/* Moves behind the value that `node` begins. Same verdicts. */
MUST_USE enum status source_skip(struct node_source *s, const struct node *node);

/* --- the walk over the nodes --- */

/* The lists of a kubeconfig in which names are looked up. */
enum section { SECTION_CONTEXT, SECTION_CLUSTER, SECTION_USER, SECTION_COUNT };

/* What is taken from their entries, or refused. */
enum field {
    FIELD_CONTEXT_CLUSTER,
    FIELD_CONTEXT_USER,
    FIELD_CONTEXT_NAMESPACE,
    FIELD_SERVER,
    FIELD_CA_FILE,
    FIELD_CA_DATA,
    FIELD_TLS_SERVER_NAME,
    FIELD_INSECURE,
    FIELD_PROXY,
    FIELD_CERT_FILE,
    FIELD_CERT_DATA,
    FIELD_KEY_FILE,
    FIELD_KEY_DATA,
    FIELD_TOKEN,
    FIELD_TOKEN_FILE,
    FIELD_EXEC,
    FIELD_AUTH_PROVIDER,
    FIELD_USERNAME,
    FIELD_PASSWORD,
    FIELD_AS,
    FIELD_AS_UID,
    FIELD_AS_GROUPS,
    FIELD_AS_EXTRA,
    FIELD_COUNT
};

/* Where a section stands; texts are literals. */
struct section_row {
    const char *list;  /* key of the list */
    const char *inner; /* key within its entries, beside "name" */
};

/* By enum section. */
extern const struct section_row kubeconfig_sections[SECTION_COUNT];

/* Where a field stands; texts are literals. */
struct field_row {
    const char *key;
    enum section section;
    const char *refused; /* why any value is refused; NULL: it is not */
};

/* By enum field. */
extern const struct field_row kubeconfig_fields[FIELD_COUNT];

/* A resolved name: of the current context, its cluster or its user. */
struct name {
    size_t len;
    uint8_t bytes[KUBECONFIG_NAME_BYTES_MAX];
};

/* Nodes whose line is 0 were not given. */
/* One entry of a section. */
struct entry {
    struct node name;
    struct node inner; /* the key that was seen, against a second one */
    struct node field[FIELD_COUNT];
};

/* The walk over one text; `why` is borrowed and gets the line on failure. */
struct walk {
    struct node_source source;
    struct writer *why;
    struct node current;
    bool seen[SECTION_COUNT];
    struct entry entry;                       /* the one being read */
    const struct name *wanted[SECTION_COUNT]; /* NULL: entries of this section are passed over */
    unsigned found_line[SECTION_COUNT];       /* 0: not found */
    struct node found[FIELD_COUNT];
};

/*
 * The whole text: also what nobody asks for must follow the syntax. Fills current and found.
 * PEER_MALFORMED: it does not; the line is in w->why.
 */
MUST_USE enum status walk_text(struct walk *w, struct view text);
/*
 * Resolves a name; null gives an empty one. `what` is said in errors. PEER_MALFORMED: no single
 * value, a wrong escape, or longer than KUBECONFIG_NAME_BYTES_MAX.
 */
MUST_USE enum status walk_name(struct walk *w, const struct node *node, const char *what,
                               struct name *out);
/* The bytes of a name; empty when it was null. */
struct view name_view(const struct name *name);
/* "line N: " and both texts into w->why; always PEER_MALFORMED. */
enum status walk_malformed(struct walk *w, unsigned line, const char *what, const char *problem);

/* More nodes than any text has: each byte begins at most one and ends at most one. */
#define NODES_MAX (2u * KUBECONFIG_BYTES_MAX + 2u)

#endif
