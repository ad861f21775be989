/* SPDX-License-Identifier: Apache-2.0 */
/* YAML scalars in all their styles: where each one ends. kubeconfig_value.c makes their values. */
#include <string.h>

#include "base/assert.h"
#include "wire/kubeconfig_internal.h"

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

static struct view without_trailing_blanks(struct view v)
{
    while (v.len > 0u && is_blank(v.data[v.len - 1u])) {
        v.len--;
    }
    return v;
}

static struct view between(const struct yaml_reader *r, size_t begin, size_t end)
{
    ASSERT(begin <= end && end <= r->text.len);
    return view_from(view_first(r->text, end), begin);
}

/* --- quoted --- */

/* Bytes of the first character of `rest`: two for an escape or a doubled quote. */
static size_t quoted_step(struct view rest, uint8_t quote)
{
    uint8_t c = rest.data[0];
    uint8_t next = (rest.len > 1u) ? rest.data[1] : (uint8_t)'\n';
    if (quote == '\'') {
        return (c == quote && next == quote) ? 2u : 1u;
    }
    return (c == '\\' && next != '\n' && next != '\r') ? 2u : 1u;
}

/* Moves from behind the opening quote onto the closing one. */
static enum status to_closing_quote(struct yaml_reader *r, uint8_t quote)
{
    for (size_t i = 0; i <= r->text.len && r->pos < r->text.len; i++) {
        struct view rest = view_from(r->text, r->pos);
        size_t step = quoted_step(rest, quote);
        if (rest.data[0] == quote && step == 1u) {
            return STATUS_OK;
        }
        if (rest.data[0] == '\n') {
            yaml_next_line(r);
        } else {
            r->pos += step;
        }
    }
    return yaml_fail(r, "a quote that is not closed");
}

static enum status quoted(struct yaml_reader *r, struct node *node)
{
    uint8_t quote = r->text.data[r->pos];
    unsigned line = r->line;
    r->pos++;
    size_t begin = r->pos;
    if (to_closing_quote(r, quote) != STATUS_OK) {
        r->line = line;
        return PEER_MALFORMED;
    }
    node->style = (quote == '"') ? SCALAR_DOUBLE : SCALAR_SINGLE;
    node->raw = between(r, begin, r->pos);
    r->pos++;
    return yaml_finish_line(r);
}

/* --- block --- */

/* Whether the block scalar's indicator is one, and what it says. */
static bool block_indicator(uint8_t c, int parent, struct node *node)
{
    if (c == '-' || c == '+') {
        node->chomp = (c == '-') ? CHOMP_STRIP : CHOMP_KEEP;
        return true;
    }
    if (c < '1' || c > '9') {
        return false;
    }
    node->indent = (unsigned)(c - '0') + (unsigned)((parent < 0) ? 0 : parent);
    return true;
}

static enum status block_header(struct yaml_reader *r, int parent, struct node *node)
{
    struct view rest = yaml_rest(r);
    size_t i = 1;
    node->style = (rest.data[0] == '|') ? SCALAR_LITERAL : SCALAR_FOLDED;
    for (; i < rest.len && i < 3u && !is_blank(rest.data[i]); i++) {
        if (!block_indicator(rest.data[i], parent, node)) {
            return yaml_fail(r, "a block scalar that is neither |, >, |-, >- nor with a digit");
        }
    }
    r->pos += i;
    return yaml_finish_line(r);
}

/* Whether the line at the position belongs to the scalar. Its first text sets the indentation. */
static bool block_line(struct yaml_reader *r, int parent, struct node *node)
{
    struct view line = yaml_rest(r);
    size_t spaces = 0;
    while (spaces < line.len && line.data[spaces] == ' ') {
        spaces++;
    }
    if (spaces == line.len) {
        return true;
    }
    if ((int)spaces <= parent) {
        return false;
    }
    if (node->indent == 0u) {
        node->indent = (unsigned)spaces;
    }
    if (spaces < node->indent) {
        (void)yaml_fail(r, "indentation less than that of the block scalar's first line");
        return false;
    }
    return true;
}

static enum status block(struct yaml_reader *r, int parent, struct node *node)
{
    if (block_header(r, parent, node) != STATUS_OK) {
        return PEER_MALFORMED;
    }
    size_t begin = r->pos;
    for (size_t i = 0; i <= r->text.len && r->pos < r->text.len; i++) {
        if (!block_line(r, parent, node)) {
            break;
        }
        yaml_next_line(r);
    }
    node->raw = between(r, begin, r->pos);
    return (r->problem == NULL) ? STATUS_OK : PEER_MALFORMED;
}

/* --- plain --- */

/* The line's part of a plain scalar; *comment: one stands behind it. */
static struct view plain_line(const struct yaml_reader *r, bool *comment)
{
    struct view rest = yaml_rest(r);
    *comment = false;
    for (size_t i = 1; i < rest.len; i++) {
        if (rest.data[i] == '#' && is_blank(rest.data[i - 1u])) {
            rest.len = i;
            *comment = true;
        }
    }
    return without_trailing_blanks(rest);
}

/* Moves to the next line that is not empty, behind its spaces. False: there is none. */
static bool to_next_text(struct yaml_reader *r)
{
    bool text = false;
    yaml_next_line(r);
    for (size_t i = 0; i <= r->text.len && !text && r->pos < r->text.len; i++) {
        text = without_trailing_blanks(yaml_rest(r)).len > 0u;
        if (!text) {
            yaml_next_line(r);
        }
    }
    while (r->pos < r->text.len && r->text.data[r->pos] == ' ') {
        r->pos++;
    }
    return text;
}

/* Whether the next line goes on with a plain scalar; moves to its text. Otherwise nothing moves. */
static bool plain_goes_on(struct yaml_reader *r, int parent)
{
    struct yaml_reader ahead = *r;
    if (!to_next_text(&ahead)) {
        return false;
    }
    size_t columns = ahead.pos - ahead.line_start;
    if ((int)columns <= parent) {
        return false;
    }
    uint8_t c = ahead.text.data[ahead.pos];
    if (c == '#' || c == '\t' || yaml_marker(&ahead, "---") || yaml_marker(&ahead, "...")) {
        return false;
    }
    *r = ahead;
    return true;
}

static enum status plain(struct yaml_reader *r, int parent, struct node *node)
{
    size_t begin = r->pos;
    size_t end = begin;
    bool comment = false;
    for (size_t i = 0; i <= r->text.len; i++) {
        struct node key;
        if (yaml_key(r, &key) > 0u) {
            return yaml_fail(r, "a value that looks like another \"key:\"; quote it or indent it");
        }
        end = r->pos + plain_line(r, &comment).len;
        if (comment || !plain_goes_on(r, parent)) {
            break;
        }
    }
    node->style = SCALAR_PLAIN;
    node->raw = between(r, begin, end);
    yaml_next_line(r);
    return STATUS_OK;
}

/* --- which of them --- */

static enum status empty_flow(struct yaml_reader *r, struct node *node)
{
    bool list = r->text.data[r->pos] == '[';
    struct view rest = yaml_rest(r);
    if (!view_starts(rest, list ? "[]" : "{}")) {
        return yaml_fail(r, "flow collections with content are not supported; use block style");
    }
    r->pos += 2u;
    node->kind = list ? NODE_LIST_BEGIN : NODE_MAP_BEGIN;
    r->closing = list ? NODE_LIST_END : NODE_MAP_END;
    if (yaml_finish_line(r) != STATUS_OK) {
        return PEER_MALFORMED;
    }
    r->expect = YAML_CLOSE;
    return STATUS_OK;
}

struct indicator {
    const char *bytes;
    const char *problem;
};

/* Why a plain scalar cannot begin with `c` before `next`; NULL: it can. */
static const char *plain_problem(uint8_t c, uint8_t next)
{
    static const struct indicator always[] = {
        {"&*", "anchors and aliases are not supported; write the value out"},
        {"!", "tags are not supported; leave the tag out"},
        {"}],%@`#", "a value that needs quotes"},
    };
    bool apart = is_blank(next) || next == '\n' || next == '\r';
    if (apart && memchr("?:-", c, 3) != NULL) {
        return "unexpected '?', ':' or '-'";
    }
    for (unsigned i = 0; i < sizeof always / sizeof always[0]; i++) {
        if (memchr(always[i].bytes, c, strlen(always[i].bytes)) != NULL) {
            return always[i].problem;
        }
    }
    return 0;
}

enum status yaml_scalar(struct yaml_reader *r, int parent, struct node *node)
{
    ASSERT(r->pos < r->text.len);
    uint8_t c = r->text.data[r->pos];
    uint8_t next = (r->pos + 1u < r->text.len) ? r->text.data[r->pos + 1u] : (uint8_t)'\n';
    node->kind = NODE_SCALAR;
    r->expect = YAML_LINE;
    switch (c) {
    case '"':
    case '\'':
        return quoted(r, node);
    case '|':
    case '>':
        return block(r, parent, node);
    case '{':
    case '[':
        return empty_flow(r, node);
    default:
        break;
    }
    const char *problem = plain_problem(c, next);
    return (problem != NULL) ? yaml_fail(r, problem) : plain(r, parent, node);
}
