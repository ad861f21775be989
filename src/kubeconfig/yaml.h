/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of a subset of YAML 1.2.2 over one complete text, of which JSON is a part: it yields the
 * kinds of tokens of base/json.h. Owns syntax only: knows no domain, opens no file, never recurses.
 *
 * Read: block mappings and sequences, also with dashes in the column of their key; flow mappings
 * and sequences, so all of JSON; scalars of all five styles; comments; one document with `---`,
 * `...` and `%YAML 1.x`. Refused: anchors, aliases, tags, merge keys, keys of several lines and a
 * second document. In what yaml_skip skips all of these are accepted, at any depth.
 *
 * Invariants:
 * I1 A failure is sticky, and has a line from 1 to the number of lines.
 * I2 Values are those that YAML 1.2.2 gives the scalars. All those of one text together are never
 *    longer than the text.
 * I3 The depth of a token is the number of collections that are open around it.
 */
#ifndef KUBECONFIG_YAML_H
#define KUBECONFIG_YAML_H

#include "base/json.h"

/*
 * One token. `json.text` of a name or scalar is its value. A plain scalar that is null in YAML's
 * core schema is JSON_NULL, every other scalar JSON_STRING.
 */
struct yaml_token {
    struct json_token json;
    unsigned line;   /* where it starts, from 1 */
    bool bad_escape; /* YAML does not have an escape of it: the value lacks it */
};

/* What comes next at the reading position. */
enum yaml_expect {
    YAML_DOCUMENT,   /* the first token */
    YAML_LINE,       /* an entry of the innermost block collection, or its end */
    YAML_VALUE,      /* what follows "key:" in a block mapping */
    YAML_FLOW_FIRST, /* the first entry of the innermost flow collection, or its bracket */
    YAML_FLOW_VALUE, /* what follows a key in a flow mapping */
    YAML_FLOW_NEXT   /* a comma, or the bracket */
};

/* An open collection. */
struct yaml_open {
    bool list;
    bool flow;
    int indent;    /* of a block collection: column of its keys or dashes */
    unsigned line; /* where it starts */
};

/* Position in a text. Text and room for values are borrowed until the last token is used. */
struct yaml_reader {
    struct view text;
    struct writer values;
    size_t pos;
    size_t line_start;
    unsigned line;
    unsigned depth;
    struct yaml_open stack[YAML_DEPTH_MAX];
    enum yaml_expect expect;
    bool bad_escape;     /* of the scalar that was read last */
    const char *problem; /* static text of the first failure, which is in `line`; NULL: none */
};

/* Starts to read `text`. As many bytes at `room` get the values. Never fails: yaml_next does. */
void yaml_open(struct yaml_reader *r, struct view text, uint8_t *room);
/*
 * Next token; JSON_END after the last one. PEER_MALFORMED: r->problem in r->line, also for what is
 * refused and for collections deeper than YAML_DEPTH_MAX. Sticky.
 */
MUST_USE enum status yaml_next(struct yaml_reader *r, struct yaml_token *token);
/*
 * Skips what belongs to the token just read: the value of a name, the rest of a collection that
 * starts, nothing of a scalar. PEER_MALFORMED: a quote or bracket is not closed, a tab indents, or
 * a plain scalar looks like a key.
 */
MUST_USE enum status yaml_skip(struct yaml_reader *r, const struct yaml_token *token);

#endif
