/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one complete text in a subset of YAML 1.2.2 that includes all of JSON, and returns tokens
 * of the kinds of base/json.h. Owns only the syntax: knows no keys, opens no file, never recurses.
 *
 * Accepted: block mappings and sequences, also with dashes in the column of their key; flow
 * mappings and sequences, and thus all of JSON; scalars of all five styles; comments; one document
 * with `---`, `...` and `%YAML 1.x`. Refused: anchors, aliases, tags, merge keys, keys that span
 * several lines of a block mapping, and a second document. yaml_skip accepts anchors, aliases,
 * tags, merge keys and `?` keys at any depth.
 *
 * Invariants:
 * I1 A failure is sticky, and has a line from 1 to the number of lines.
 * I2 The values of scalars are as YAML 1.2.2 defines them. All values of one text together are
 *    never longer than the text.
 * I3 The depth of a token is the number of collections open around it.
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
    unsigned line;   /* line where the token starts, from 1 */
    bool bad_escape; /* the token has an escape unknown to YAML, which the value omits */
};

/* What may come next at the reading position. */
enum yaml_expect {
    YAML_DOCUMENT, /* the first token of the text */
    YAML_LINE,     /* an entry of the innermost block collection, or the end of this collection */
    YAML_VALUE,    /* the value after "key:" in a block mapping */
    /* the first entry of the innermost flow collection, or the end of this collection */
    YAML_FLOW_FIRST,
    YAML_FLOW_VALUE, /* the value after a key in a flow mapping */
    YAML_FLOW_NEXT   /* a comma, or the closing bracket of the innermost flow collection */
};

/* An open collection. */
struct yaml_open {
    bool list;
    bool flow;
    /*
     * Column of the keys or dashes; of a flow collection: that of the block collection around it,
     * -1 if there is none.
     */
    int indent;
    unsigned line; /* line where the collection starts */
};

/*
 * Reading position in a text. The text and the buffer for values are borrowed until the last use of
 * a token.
 */
struct yaml_reader {
    struct view text;
    struct writer values;
    size_t pos;
    size_t line_start;
    unsigned line;
    unsigned depth;
    struct yaml_open stack[YAML_DEPTH_MAX];
    enum yaml_expect expect;
    bool bad_escape; /* the last scalar has an escape unknown to YAML */
    /* message (static) about the first failure, which is in `line`; NULL: no failure */
    const char *problem;
};

/*
 * Starts reading `text`. The values are written to `room`, which has as many bytes as the text.
 * Never fails: yaml_next reports a text that is not readable.
 */
void yaml_open(struct yaml_reader *r, struct view text, uint8_t *room);
/*
 * Returns the next token; JSON_END after the last token. PEER_MALFORMED: r->problem has the reason,
 * and r->line its line; a text with refused syntax or with collections deeper than YAML_DEPTH_MAX
 * fails as well. Later calls return the same failure.
 */
MUST_USE enum status yaml_next(struct yaml_reader *r, struct yaml_token *token);
/*
 * Skips what belongs to the token just read: the value of a name, or the rest of a collection;
 * skips nothing for a scalar. PEER_MALFORMED: an unclosed quote or bracket, a tab as indentation, a
 * plain scalar that looks like a key, a malformed block scalar, or a second document.
 */
MUST_USE enum status yaml_skip(struct yaml_reader *r, const struct yaml_token *token);

#endif
