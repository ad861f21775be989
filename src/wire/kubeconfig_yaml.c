/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML as kubeconfig files have it: block mappings and sequences by indentation, node by node.
 * Owns lines, columns and open collections; scalars are read by kubeconfig_scalar.c.
 */
#include <string.h>

#include "base/assert.h"
#include "wire/kubeconfig_internal.h"

enum status yaml_fail(struct yaml_reader *r, const char *problem)
{
    ASSERT(problem != NULL);
    if (r->problem == NULL) {
        r->problem = problem;
    }
    return PEER_MALFORMED;
}

/* --- lines --- */

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

/* The byte `ahead` of the position; a line end where the text has ended. */
static uint8_t peek(const struct yaml_reader *r, size_t ahead)
{
    size_t at = r->pos + ahead;
    return (at < r->text.len) ? r->text.data[at] : (uint8_t)'\n';
}

static bool ends_word(uint8_t c)
{
    return is_blank(c) || c == '\n' || c == '\r';
}

/*
 * Whether what begins here is no key of ours: flow style, an anchor, a tag, a complex key ("? ").
 */
static bool at_indicator(const struct yaml_reader *r)
{
    static const char set[] = "{}[]&*!|>%@`,";
    uint8_t c = peek(r, 0);
    return memchr(set, c, sizeof set - 1u) != NULL || (c == '?' && ends_word(peek(r, 1)));
}

static int column(const struct yaml_reader *r)
{
    ASSERT(r->pos >= r->line_start);
    size_t columns = r->pos - r->line_start;
    return (int)columns;
}

struct view yaml_rest(const struct yaml_reader *r)
{
    struct view rest = view_from(r->text, r->pos);
    rest = view_first(rest, view_find(rest, '\n'));
    if (rest.len > 0u && rest.data[rest.len - 1u] == '\r') {
        rest.len--;
    }
    return rest;
}

void yaml_next_line(struct yaml_reader *r)
{
    struct view rest = view_from(r->text, r->pos);
    size_t length = view_find(rest, '\n');
    ASSERT(r->pos <= r->text.len);
    r->pos += (length < rest.len) ? length + 1u : length;
    if (length < rest.len) {
        r->line++;
    }
    r->line_start = r->pos;
}

bool yaml_marker(const struct yaml_reader *r, const char *marker)
{
    ASSERT(strlen(marker) == 3u);
    return column(r) == 0 && view_starts(view_from(r->text, r->pos), marker) &&
           ends_word(peek(r, 3));
}

/* Whether nothing but blanks and a comment is left of the line. A comment stands behind a blank. */
static bool rest_is_blank(const struct yaml_reader *r)
{
    struct view rest = yaml_rest(r);
    size_t blanks = 0;
    while (blanks < rest.len && is_blank(rest.data[blanks])) {
        blanks++;
    }
    bool apart = blanks > 0u || r->pos == r->line_start || is_blank(r->text.data[r->pos - 1u]);
    return blanks == rest.len || (rest.data[blanks] == '#' && apart);
}

enum status yaml_finish_line(struct yaml_reader *r)
{
    if (!rest_is_blank(r)) {
        return yaml_fail(r, "unexpected text behind a value");
    }
    yaml_next_line(r);
    return STATUS_OK;
}

static bool seek_any(struct yaml_reader *r)
{
    for (size_t i = 0; i <= r->text.len && r->pos < r->text.len; i++) {
        if (!rest_is_blank(r)) {
            break;
        }
        yaml_next_line(r);
    }
    while (r->pos < r->text.len && r->text.data[r->pos] == ' ') {
        r->pos++;
    }
    return r->pos < r->text.len;
}

bool yaml_seek(struct yaml_reader *r)
{
    if (!seek_any(r)) {
        return false;
    }
    if (r->text.data[r->pos] == '\t') {
        (void)yaml_fail(r, "a tab in the indentation; use spaces");
        return false;
    }
    if (yaml_marker(r, "...")) {
        yaml_next_line(r);
        if (seek_any(r)) {
            (void)yaml_fail(r, "text behind the end of the document");
        }
        return false;
    }
    if (yaml_marker(r, "---")) {
        (void)yaml_fail(r, "a second document; one file holds one kubeconfig");
        return false;
    }
    return true;
}

/* --- keys --- */

/* Length of a quoted text with its quotes, all in one line; 0: it is none. */
static size_t quoted_length(struct view rest)
{
    uint8_t quote = rest.data[0];
    size_t at = 1;
    while (at < rest.len) {
        bool pair = quote == '\'' && at + 1u < rest.len && rest.data[at + 1u] == quote;
        bool escape = (rest.data[at] == '\\' && quote == '"') || (rest.data[at] == quote && pair);
        if (!escape && rest.data[at] == quote) {
            return at + 1u;
        }
        at += escape ? 2u : 1u;
    }
    return 0;
}

static size_t quoted_key(struct view rest, struct node *node)
{
    size_t length = quoted_length(rest);
    size_t colon = length;
    while (length > 0u && colon < rest.len && is_blank(rest.data[colon])) {
        colon++;
    }
    if (length == 0u || colon >= rest.len || rest.data[colon] != ':') {
        return 0;
    }
    node->style = (rest.data[0] == '"') ? SCALAR_DOUBLE : SCALAR_SINGLE;
    node->raw = view_from(view_first(rest, length - 1u), 1u);
    return colon;
}

static size_t plain_key(struct view rest, struct node *node)
{
    for (size_t i = 1; i < rest.len; i++) {
        if (rest.data[i] == '#' && is_blank(rest.data[i - 1u])) {
            return 0;
        }
        if (rest.data[i] == ':' && (i + 1u == rest.len || is_blank(rest.data[i + 1u]))) {
            node->style = SCALAR_PLAIN;
            node->raw = view_trim(view_first(rest, i));
            return i;
        }
    }
    return 0;
}

size_t yaml_key(const struct yaml_reader *r, struct node *node)
{
    struct view rest = yaml_rest(r);
    if (rest.len == 0u) {
        return 0;
    }
    bool quoted = rest.data[0] == '"' || rest.data[0] == '\'';
    size_t colon = quoted ? quoted_key(rest, node) : plain_key(rest, node);
    bool last = colon + 1u == rest.len;
    return (last || (colon < rest.len && is_blank(rest.data[colon + 1u]))) ? colon : 0u;
}

/* --- collections --- */

static bool at_dash(const struct yaml_reader *r)
{
    return peek(r, 0) == '-' && ends_word(peek(r, 1));
}

static enum status push(struct yaml_reader *r, bool list, struct node *node)
{
    if (r->depth == YAML_DEPTH_MAX) {
        return yaml_fail(r, "nested too deeply for a kubeconfig");
    }
    r->stack[r->depth] = (struct yaml_open){.indent = column(r), .list = list};
    r->depth++;
    r->expect = YAML_LINE;
    node->kind = list ? NODE_LIST_BEGIN : NODE_MAP_BEGIN;
    return STATUS_OK;
}

static enum status pop(struct yaml_reader *r, struct node *node)
{
    ASSERT(r->depth > 0u);
    r->depth--;
    node->kind = r->stack[r->depth].list ? NODE_LIST_END : NODE_MAP_END;
    return STATUS_OK;
}

/* A node at the position, within a collection of `parent` columns. */
static enum status open_node(struct yaml_reader *r, int parent, struct node *node)
{
    struct node key;
    node->line = r->line;
    if (at_dash(r)) {
        return push(r, true, node);
    }
    /* What begins with an indicator is left to the scalars, which say what is wrong with it. */
    if (!at_indicator(r) && yaml_key(r, &key) > 0u) {
        return push(r, false, node);
    }
    return yaml_scalar(r, parent, node);
}

static enum status null_scalar(struct yaml_reader *r, struct node *node)
{
    node->kind = NODE_SCALAR;
    node->style = SCALAR_PLAIN;
    node->raw = view_of(r->text.data, 0);
    r->expect = YAML_LINE;
    return STATUS_OK;
}

static enum status next_value(struct yaml_reader *r, struct node *node)
{
    int indent = r->stack[r->depth - 1u].indent;
    if (!rest_is_blank(r)) {
        while (is_blank(peek(r, 0))) {
            r->pos++;
        }
        node->line = r->line;
        return at_dash(r) ? yaml_fail(r, "a sequence begins on the line of its key")
                          : yaml_scalar(r, indent, node);
    }
    bool more = yaml_seek(r);
    if (r->problem != NULL) {
        return PEER_MALFORMED;
    }
    bool below = more && (column(r) > indent || (column(r) == indent && at_dash(r)));
    return below ? open_node(r, indent, node) : null_scalar(r, node);
}

static enum status next_item(struct yaml_reader *r, struct node *node)
{
    int indent = r->stack[r->depth - 1u].indent;
    bool more = yaml_seek(r);
    if (r->problem != NULL) {
        return PEER_MALFORMED;
    }
    return (more && column(r) > indent) ? open_node(r, indent, node) : null_scalar(r, node);
}

static enum status next_key(struct yaml_reader *r, struct node *node)
{
    size_t colon = yaml_key(r, node);
    if (at_dash(r) || colon == 0u) {
        return yaml_fail(r, "expected \"key:\"");
    }
    if (at_indicator(r)) {
        return yaml_fail(r, "keys with anchors, tags or flow collections are not supported");
    }
    node->kind = NODE_KEY;
    node->line = r->line;
    r->pos += colon + 1u;
    r->expect = YAML_VALUE;
    return STATUS_OK;
}

/* Whether the line at the position, if any, ends the innermost collection. */
static bool ends_collection(const struct yaml_reader *r, bool more)
{
    const struct yaml_open *top = &r->stack[r->depth - 1u];
    if (!more || column(r) < top->indent) {
        return true;
    }
    /* The list of a key may stand in the very column of the keys. */
    return column(r) == top->indent && top->list && !at_dash(r);
}

static enum status next_end(struct yaml_reader *r, bool more, struct node *node)
{
    node->kind = NODE_DOCUMENT_END;
    return more ? yaml_fail(r, "unexpected text behind the document's value") : STATUS_OK;
}

static enum status next_line(struct yaml_reader *r, struct node *node)
{
    bool more = yaml_seek(r);
    node->line = r->line;
    if (r->problem != NULL) {
        return PEER_MALFORMED;
    }
    if (r->depth == 0u) {
        return next_end(r, more, node);
    }
    if (ends_collection(r, more)) {
        return pop(r, node);
    }
    const struct yaml_open *top = &r->stack[r->depth - 1u];
    if (column(r) > top->indent) {
        return yaml_fail(r, "indentation that fits nothing above");
    }
    if (!top->list) {
        return next_key(r, node);
    }
    r->pos++; /* the dash */
    return next_item(r, node);
}

static enum status next_document(struct yaml_reader *r, struct node *node)
{
    bool more = seek_any(r);
    if (more && yaml_marker(r, "---")) {
        r->pos += 3u;
        if (yaml_finish_line(r) != STATUS_OK) {
            return PEER_MALFORMED;
        }
    }
    more = yaml_seek(r);
    if (r->problem != NULL) {
        return PEER_MALFORMED;
    }
    r->expect = YAML_LINE;
    node->line = r->line;
    return more ? open_node(r, -1, node) : next_line(r, node);
}

/* --- the text as a whole --- */

/* Line ends are LF or CRLF, blanks may be tabs, nothing else is a control character. */
static bool is_text(struct view text, unsigned *line)
{
    *line = 1;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        bool crlf = c == '\r' && i + 1u < text.len && text.data[i + 1u] == '\n';
        if ((c < 0x20u && c != '\n' && c != '\t' && !crlf) || c == 0x7fu) {
            return false;
        }
        *line += (c == '\n') ? 1u : 0u;
    }
    *line = 1;
    return view_is_utf8(text);
}

void yaml_open_text(struct yaml_reader *r, struct view text)
{
    memset(r, 0, sizeof *r);
    r->text = text;
    r->line = 1;
    r->expect = YAML_DOCUMENT;
    if (view_starts(text, "\xef\xbb\xbf")) {
        r->pos = 3; /* byte order mark */
        r->line_start = 3;
    }
    if (!is_text(text, &r->line)) {
        r->problem = "bytes that are no UTF-8 text";
    }
}

enum status yaml_next(struct yaml_reader *r, struct node *node)
{
    if (r->problem != NULL) {
        return PEER_MALFORMED;
    }
    memset(node, 0, sizeof *node);
    node->line = r->line;
    switch (r->expect) {
    case YAML_DOCUMENT:
        return next_document(r, node);
    case YAML_VALUE:
        return next_value(r, node);
    case YAML_CLOSE:
        node->kind = r->closing;
        r->expect = YAML_LINE;
        return STATUS_OK;
    default:
        ASSERT(r->expect == YAML_LINE);
        return next_line(r, node);
    }
}
