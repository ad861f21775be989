/* SPDX-License-Identifier: Apache-2.0 */
/* Parses yaml.h's subset of YAML 1.2.2: blocks by columns, flow collections by brackets. */
#include "kubeconfig/yaml.h"

#include <string.h>

#include "base/assert.h"
#include "base/chars.h"

#define FLOW_MARKS ",[]{}"
#define LIKE_A_KEY "a value that looks like another \"key:\"; quote or indent it"
#define TAB_INDENTS "a tab in the indentation; use spaces"
#define IN_FLOW (-2) /* value of `parent` for a scalar in a flow collection */

static enum status fail_parsing(struct yaml_reader *r, const char *problem)
{
    if (r->problem == NULL) {
        r->problem = problem;
    }
    return PEER_MALFORMED;
}

/* --- moving over characters and lines --- */

static bool one_of(uint8_t c, const char *set)
{
    return memchr(set, c, strlen(set)) != NULL;
}

/* The byte at `ahead` bytes after the position; a line end if the text has no such byte. */
static uint8_t peek_byte(const struct yaml_reader *r, size_t ahead)
{
    size_t at = r->pos + ahead;
    return (at < r->text.len) ? r->text.data[at] : (uint8_t)'\n';
}

static int column_of(const struct yaml_reader *r)
{
    ASSERT(r->pos >= r->line_start);
    size_t columns = r->pos - r->line_start;
    return (int)columns;
}

static struct view rest_of_line(const struct yaml_reader *r)
{
    struct view rest = view_from(r->text, r->pos);
    rest = view_first(rest, view_find(rest, '\n'));
    rest.len -= view_ends(rest, "\r") ? 1u : 0u;
    return rest;
}

static void next_line(struct yaml_reader *r)
{
    size_t length = view_find(view_from(r->text, r->pos), '\n');
    bool last = r->pos + length == r->text.len;
    r->pos += last ? length : length + 1u;
    r->line += last ? 0u : 1u;
    r->line_start = r->pos;
}

/*
 * Whether the rest of the line holds only blanks and a comment, which must follow a blank (YAML
 * 1.2.2 §6.6).
 */
static bool rest_is_blank(const struct yaml_reader *r)
{
    struct view rest = rest_of_line(r);
    size_t blanks = 0;
    while (blanks < rest.len && is_blank(rest.data[blanks])) {
        blanks++;
    }
    bool apart = blanks > 0u || r->pos == r->line_start || is_blank(r->text.data[r->pos - 1u]);
    return blanks == rest.len || (rest.data[blanks] == '#' && apart);
}

static enum status finish_line(struct yaml_reader *r)
{
    if (!rest_is_blank(r)) {
        return fail_parsing(r, "unexpected text after a value");
    }
    next_line(r);
    return STATUS_OK;
}

static void skip_blanks(struct yaml_reader *r)
{
    while (is_blank(peek_byte(r, 0))) {
        r->pos++;
    }
}

static bool at_marker(const struct yaml_reader *r, const char *marker)
{
    return column_of(r) == 0 && view_starts(view_from(r->text, r->pos), marker) &&
           is_space(peek_byte(r, 3));
}

/* At the end or the start of a document, even within quotes (YAML 1.2.2 §9.1.2). */
static bool at_any_marker(const struct yaml_reader *r)
{
    return at_marker(r, "---") || at_marker(r, "...");
}

/*
 * Moves past blank lines, comments and the spaces before the next text. false: the input ends
 * first.
 */
static bool seek_text(struct yaml_reader *r)
{
    while (r->pos < r->text.len && rest_is_blank(r)) {
        next_line(r);
    }
    while (peek_byte(r, 0) == ' ') {
        r->pos++;
    }
    return r->pos < r->text.len;
}

/*
 * Like seek_text, but stays within the document: returns false also at the end of the document, and
 * after a failure.
 */
static bool seek_in_document(struct yaml_reader *r)
{
    bool ended = false;
    while (r->problem == NULL && seek_text(r)) {
        if (!at_any_marker(r)) {
            if (ended || peek_byte(r, 0) == '\t') {
                (void)fail_parsing(r, ended ? "a second document; a file holds one kubeconfig"
                                            : TAB_INDENTS);
            }
            return r->problem == NULL;
        }
        ended = true;
        r->pos += 3u;
        (void)finish_line(r);
    }
    return false;
}

/* Column of the keys or dashes of the innermost block collection; -1: there is none. */
static int block_indent(const struct yaml_reader *r)
{
    return (r->depth > 0u) ? r->stack[r->depth - 1u].indent : -1;
}

/* --- reading scalars --- */

static void put_times(struct yaml_reader *r, uint8_t c, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        writer_u8(&r->values, c);
    }
}

/*
 * Appends `breaks` folded line ends (YAML 1.2.2 §6.5). A single line end becomes a space, or
 * nothing if it is escaped; n line ends become n - 1 line ends.
 */
static void put_fold(struct yaml_reader *r, unsigned breaks, bool escaped)
{
    put_times(r, ' ', (breaks == 1u && !escaped) ? 1u : 0u);
    put_times(r, '\n', (breaks > 1u) ? breaks - 1u : 0u);
}

/* Consumes `digits` hexadecimal digits. false: there are fewer, and nothing is consumed. */
static bool consume_hex(struct yaml_reader *r, unsigned digits, uint32_t *value)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < digits; i++) {
        if (!is_hex_digit(peek_byte(r, i))) {
            return false;
        }
        sum = (sum << 4) | hex_value(peek_byte(r, i));
    }
    *value = sum;
    r->pos += digits;
    return true;
}

/*
 * Code point of the surrogate pair that `c` begins; consumes the escape of its second half. U+FFFD:
 * there is no valid second half, as in json_unescape.
 */
static uint32_t join_surrogates(struct yaml_reader *r, uint32_t c)
{
    struct yaml_reader ahead = *r;
    uint32_t low = 0;
    ahead.pos += 2u;
    if (c > 0xdbffu || peek_byte(r, 0) != '\\' || peek_byte(r, 1) != 'u' ||
        !consume_hex(&ahead, 4, &low) || low < 0xdc00u || low > 0xdfffu) {
        return 0xfffdu;
    }
    r->pos = ahead.pos;
    return 0x10000u + ((c - 0xd800u) << 10) + (low - 0xdc00u);
}

/* Decodes the escape after a backslash. false: YAML has no such escape. */
static bool put_escape(struct yaml_reader *r)
{
    /*
     * The letters of the escapes (YAML 1.2.2 §5.7). \L and \P are left out, because their UTF-8 is
     * longer than the escape and might not fit into the buffer for values; the text may contain the
     * characters themselves.
     */
    static const char letters[] = "0abt\tnvfre \"/\\N_";
    static const uint8_t values[] = {0,  7,  8,   9,   9,   10,   11,   12,
                                     13, 27, ' ', '"', '/', '\\', 0x85, 0xa0};
    static const char hex[] = "xuU";
    uint8_t letter = peek_byte(r, 0);
    size_t row = view_find(view_text(letters), letter);
    size_t power = view_find(view_text(hex), letter);
    uint32_t c = 0;
    r->pos++;
    if (row < sizeof values) {
        writer_utf8(&r->values, values[row]);
        return true;
    }
    if (power == sizeof hex - 1u || !consume_hex(r, 2u << power, &c) || c > 0x10ffffu) {
        return false;
    }
    writer_utf8(&r->values, (c >= 0xd800u && c <= 0xdfffu) ? join_surrogates(r, c) : c);
    return true;
}

/* Folds the line ends in a quoted scalar at the position, and drops the blanks around them. */
static void fold_lines(struct yaml_reader *r, bool escaped)
{
    unsigned line = r->line;
    while (r->pos < r->text.len && is_space(peek_byte(r, 0))) {
        if (peek_byte(r, 0) == '\n') {
            next_line(r);
        } else {
            r->pos++;
        }
    }
    put_fold(r, r->line - line, escaped);
}

/*
 * Appends the next character, escape or line end of a quoted scalar. *solid: length of r->values
 * without the blanks at its end, which are dropped before a line end.
 */
static void put_quoted(struct yaml_reader *r, uint8_t quote, size_t *solid)
{
    uint8_t c = peek_byte(r, 0);
    if (one_of(c, "\r\n")) {
        r->values.len = *solid;
        fold_lines(r, false);
    } else if (quote == '"' && c == '\\') {
        r->pos++;
        if (one_of(peek_byte(r, 0), "\r\n")) {
            fold_lines(r, true);
        } else {
            r->bad_escape = !put_escape(r) || r->bad_escape;
        }
    } else {
        writer_u8(&r->values, c);
        r->pos += (c == quote) ? 2u : 1u; /* skips both bytes of a doubled single quote */
        if (is_blank(c)) {
            return;
        }
    }
    *solid = r->values.len;
}

/* Reads a quoted scalar, and moves past its closing quote (YAML 1.2.2 §7.3.1, §7.3.2). */
static enum status read_quoted(struct yaml_reader *r)
{
    uint8_t quote = peek_byte(r, 0);
    unsigned line = r->line;
    size_t solid = r->values.len;
    r->pos++;
    while (r->pos < r->text.len && !at_any_marker(r)) {
        if (peek_byte(r, 0) == quote && (quote == '"' || peek_byte(r, 1) != quote)) {
            r->pos++;
            return STATUS_OK;
        }
        put_quoted(r, quote, &solid);
    }
    r->line = line;
    return fail_parsing(r, "this quote is not closed");
}

/* Whether a plain scalar ends before byte `at` of its line (YAML 1.2.2 §7.3.3). */
static bool ends_plain(struct view line, size_t at, bool flow)
{
    uint8_t c = line.data[at];
    uint8_t next = (at + 1u < line.len) ? line.data[at + 1u] : (uint8_t)'\n';
    if (c == '#') {
        return at > 0u && is_blank(line.data[at - 1u]);
    }
    if (c == ':' && is_space(next)) {
        return true;
    }
    return flow && one_of((c == ':') ? next : c, FLOW_MARKS);
}

/*
 * Appends the part of a plain scalar that is on this line and moves past it. Returns the byte that
 * ends this part.
 */
static uint8_t plain_part(struct yaml_reader *r, bool flow)
{
    struct view rest = rest_of_line(r);
    size_t length = 0;
    while (length < rest.len && !ends_plain(rest, length, flow)) {
        length++;
    }
    uint8_t end = (length < rest.len) ? rest.data[length] : (uint8_t)'\n';
    while (length > 0u && is_blank(rest.data[length - 1u])) {
        length--;
    }
    writer_append(&r->values, view_first(rest, length));
    r->pos += length;
    return end;
}

/* Moves to the next line with text, behind its spaces; to the end if there is no such line. */
static void seek_text_below(struct yaml_reader *r)
{
    next_line(r);
    while (r->pos < r->text.len && view_trim(rest_of_line(r)).len == 0u) {
        next_line(r);
    }
    while (peek_byte(r, 0) == ' ') {
        r->pos++;
    }
}

/*
 * Whether text follows a tab in the columns that indent a flow collection within a block (YAML
 * 1.2.2 §6.1). The stack lacks the blocks within a value that is being skipped, so that fewer
 * columns count there.
 */
static bool tab_indents_flow(const struct yaml_reader *r)
{
    return column_of(r) <= block_indent(r) && peek_byte(r, 0) == '\t' && !rest_is_blank(r);
}

/*
 * Whether the next line with text continues a plain scalar; if so, moves to this text and appends
 * the folded line ends. Returns false also after a failure.
 */
static bool plain_goes_on(struct yaml_reader *r, int parent)
{
    struct yaml_reader ahead = *r;
    seek_text_below(&ahead);
    if (parent == IN_FLOW && tab_indents_flow(&ahead)) {
        r->line = ahead.line;
        (void)fail_parsing(r, TAB_INDENTS);
        return false;
    }
    int column = column_of(&ahead); /* tabs do not count */
    skip_blanks(&ahead);
    if (ahead.pos == ahead.text.len || column <= parent || peek_byte(&ahead, 0) == '#' ||
        at_any_marker(&ahead)) {
        return false;
    }
    put_fold(&ahead, ahead.line - r->line, false);
    *r = ahead;
    return true;
}

/*
 * Reads a plain scalar. In a block, a scalar that is a key sets *key and leaves the position at its
 * colon; after any other scalar, the position moves to the next line.
 */
static enum status read_plain(struct yaml_reader *r, int parent, bool *key)
{
    bool flow = parent == IN_FLOW;
    unsigned line = r->line;
    uint8_t end = plain_part(r, flow);
    /* length of r->values up to the last text of the scalar, without line ends after this text */
    size_t solid = r->values.len;
    while (end == '\n' && plain_goes_on(r, parent)) {
        size_t folded = r->values.len;
        end = plain_part(r, flow);
        solid = (r->values.len > folded) ? r->values.len : solid;
    }
    r->values.len = solid;
    if (flow) {
        return (r->problem == NULL) ? STATUS_OK : PEER_MALFORMED;
    }
    if (end == ':') {
        *key = line == r->line;
        skip_blanks(r);
        return *key ? STATUS_OK : fail_parsing(r, LIKE_A_KEY);
    }
    next_line(r);
    return STATUS_OK;
}

/* A literal or folded scalar being read (YAML 1.2.2 §8.1). */
struct block {
    bool folded;
    bool some; /* at least one line of text was read */
    /* the previous line starts with a blank, so the line ends around it are kept */
    bool wide;
    uint8_t chomp;   /* chomping indicator: '-' or '+'; 0: none */
    unsigned breaks; /* line ends that are not appended yet */
    unsigned indent; /* columns before the text; 0: unknown until the first line of text is read */
    unsigned blanks; /* most columns of a line before the first line of text (§8.1.1.1) */
};

static enum status block_header(struct yaml_reader *r, int parent, struct block *b)
{
    r->pos++;
    for (unsigned i = 0; i < 2u && !is_space(peek_byte(r, 0)); i++) {
        uint8_t c = peek_byte(r, 0);
        if (b->indent == 0u && c != '0' && is_digit(c)) {
            b->indent = (unsigned)(c - '0') + (unsigned)((parent < 0) ? 0 : parent);
        } else if (b->chomp == 0u && one_of(c, "-+")) {
            b->chomp = c;
        } else {
            return fail_parsing(r, "a block scalar that is neither |, >, |-, >- nor with a digit");
        }
        r->pos++;
    }
    return finish_line(r);
}

/*
 * Whether the line belongs to the block scalar: the line is empty, or indented by at least
 * b->indent columns, which the first line of text sets if the header does not.
 */
static bool block_goes_on(struct yaml_reader *r, int parent, struct block *b)
{
    struct view line = rest_of_line(r);
    size_t spaces = 0;
    while (spaces < line.len && line.data[spaces] == ' ') {
        spaces++;
    }
    if (spaces == line.len || (int)spaces <= parent) {
        b->blanks = (b->indent == 0u && spaces > b->blanks) ? (unsigned)spaces : b->blanks;
        return spaces == line.len;
    }
    b->indent = (b->indent == 0u) ? (unsigned)spaces : b->indent;
    if (spaces < b->indent || spaces < b->blanks) {
        (void)fail_parsing(r, "less indentation than the block scalar's first line has");
    }
    return spaces >= b->indent;
}

static void put_block_line(struct yaml_reader *r, struct block *b)
{
    struct view line = view_from(rest_of_line(r), b->indent);
    if (line.len > 0u && b->indent > 0u) {
        bool wide = is_blank(line.data[0]);
        if (b->folded && b->some && !b->wide && !wide) {
            put_fold(r, b->breaks, false);
        } else {
            put_times(r, '\n', b->breaks);
        }
        writer_append(&r->values, line);
        b->breaks = 0;
        b->some = true;
        b->wide = wide;
    }
    b->breaks++;
    next_line(r);
}

static enum status read_block(struct yaml_reader *r, int parent)
{
    struct block b = {.folded = peek_byte(r, 0) == '>'};
    if (block_header(r, parent, &b) != STATUS_OK) {
        return PEER_MALFORMED;
    }
    while (r->pos < r->text.len && block_goes_on(r, parent, &b)) {
        put_block_line(r, &b);
    }
    unsigned ends = b.some ? 1u : 0u;
    put_times(r, '\n', (b.chomp == '-') ? 0u : ((b.chomp == '+') ? b.breaks : ends));
    return (r->problem == NULL) ? STATUS_OK : PEER_MALFORMED;
}

/*
 * Reads a scalar; the caller has handled first characters that cannot start one. *key: whether
 * the scalar is a key; if it is, the reader is then at the colon after it.
 */
static enum status read_scalar(struct yaml_reader *r, int parent, bool *key)
{
    uint8_t c = peek_byte(r, 0);
    unsigned line = r->line;
    *key = false;
    if (!one_of(c, "\"'")) {
        return (parent != IN_FLOW && one_of(c, "|>")) ? read_block(r, parent)
                                                      : read_plain(r, parent, key);
    }
    enum status s = read_quoted(r);
    if (parent != IN_FLOW && r->line == line) {
        skip_blanks(r);
        *key = peek_byte(r, 0) == ':' && is_space(peek_byte(r, 1));
    }
    return s;
}

static bool starts_plain(uint8_t c, bool flow)
{
    return !one_of(c, "\"'") && (flow || !one_of(c, "|>"));
}

/*
 * Why a plain scalar cannot start with `c` when `next` follows (YAML 1.2.2 §7.3.3); NULL: it can.
 */
static const char *plain_problem(uint8_t c, uint8_t next, bool flow)
{
    static const struct {
        const char *bytes;
        const char *problem;
    } rows[] = {
        {"&*", "anchors and aliases are not supported; write the value out"},
        {"!", "tags are not supported; remove the tag"},
        {FLOW_MARKS "%@`#|>", "a value that needs quotes"},
    };
    if (one_of(c, "?:-") && (is_space(next) || (flow && c != '-'))) {
        return "unexpected '?', ':' or '-'";
    }
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (one_of(c, rows[i].bytes)) {
            return rows[i].problem;
        }
    }
    return NULL;
}

static bool is_null(struct view text)
{
    return text.len == 0u || view_is(text, "~") || view_is(text, "null") || view_is(text, "Null") ||
           view_is(text, "NULL");
}

static enum status read_any_scalar(struct yaml_reader *r, int parent, struct yaml_token *t,
                                   bool *key)
{
    bool flow = parent == IN_FLOW;
    uint8_t c = peek_byte(r, 0);
    size_t start = r->values.len;
    bool quote = one_of(c, "\"'");
    bool is_plain = starts_plain(c, flow);
    const char *problem = is_plain ? plain_problem(c, peek_byte(r, 1), flow) : NULL;
    if (problem != NULL) {
        return fail_parsing(r, problem);
    }
    r->bad_escape = false;
    enum status s = read_scalar(r, parent, key);
    t->json.text = view_from(writer_view(&r->values), start);
    t->json.kind = (is_plain && is_null(t->json.text)) ? JSON_NULL : JSON_STRING;
    t->bad_escape = r->bad_escape;
    return (s == STATUS_OK && quote && !flow && !*key) ? finish_line(r) : s;
}

/* --- the stack of open collections --- */

static bool at_dash(const struct yaml_reader *r)
{
    return peek_byte(r, 0) == '-' && is_space(peek_byte(r, 1));
}

static struct yaml_open *top_of(struct yaml_reader *r)
{
    ASSERT(r->depth > 0u);
    return &r->stack[r->depth - 1u];
}

static bool in_flow(const struct yaml_reader *r)
{
    return r->depth > 0u && r->stack[r->depth - 1u].flow;
}

static enum status push_collection(struct yaml_reader *r, bool list, bool flow,
                                   struct yaml_token *t)
{
    if (r->depth == YAML_DEPTH_MAX) {
        return fail_parsing(r, "nested too deeply for a kubeconfig");
    }
    int indent = flow ? block_indent(r) : column_of(r);
    r->stack[r->depth] =
        (struct yaml_open){.list = list, .flow = flow, .indent = indent, .line = r->line};
    r->depth++;
    r->pos += flow ? 1u : 0u;
    r->expect = flow ? YAML_FLOW_FIRST : YAML_LINE;
    t->json = (struct json_token){.kind = list ? JSON_ARRAY_BEGIN : JSON_OBJECT_BEGIN};
    return STATUS_OK;
}

/* Returns what may follow a value in the innermost open collection. */
static enum yaml_expect after_value(const struct yaml_reader *r)
{
    return in_flow(r) ? YAML_FLOW_NEXT : YAML_LINE;
}

/*
 * Ends the innermost collection; the bracket that ends the outermost flow collection must end its
 * line.
 */
static enum status pop_collection(struct yaml_reader *r, struct yaml_token *t)
{
    const struct yaml_open *top = top_of(r);
    t->json.kind = top->list ? JSON_ARRAY_END : JSON_OBJECT_END;
    r->depth--;
    r->expect = after_value(r);
    return (top->flow && !in_flow(r)) ? finish_line(r) : STATUS_OK;
}

/* --- reading values and keys of block collections --- */

/* Reads a value at the position: a flow collection or a scalar. */
static enum status inline_value(struct yaml_reader *r, int parent, struct yaml_token *t)
{
    bool key = false;
    if (one_of(peek_byte(r, 0), "[{")) {
        return push_collection(r, peek_byte(r, 0) == '[', true, t);
    }
    enum status s = read_any_scalar(r, parent, t, &key);
    return key ? fail_parsing(r, LIKE_A_KEY) : s;
}

/*
 * Reads a value on a line of its own, or after a dash, in a collection whose keys or dashes are in
 * column `parent`.
 */
static enum status block_value(struct yaml_reader *r, int parent, struct yaml_token *t)
{
    struct yaml_reader ahead = *r;
    bool key = false;
    t->line = r->line;
    if (at_dash(r)) {
        return push_collection(r, true, false, t);
    }
    if (one_of(peek_byte(r, 0), "[{")) {
        return inline_value(r, parent, t);
    }
    enum status s = read_any_scalar(&ahead, parent, t, &key);
    if (key) {
        return push_collection(r, false, false, t);
    }
    *r = ahead;
    return s;
}

/* Reads the value after "key:" or a dash, on this line or below; a missing value is null. */
static enum status next_value(struct yaml_reader *r, bool dash, struct yaml_token *t)
{
    int indent = top_of(r)->indent;
    if (!dash && !rest_is_blank(r)) {
        skip_blanks(r);
        return at_dash(r)
                   ? fail_parsing(r,
                                  "a sequence starts on the line of its key; use a line of its own")
                   : inline_value(r, indent, t);
    }
    /* a list below its key may have its dashes in the column of the key */
    bool below = seek_in_document(r) &&
                 (column_of(r) > indent || (column_of(r) == indent && !dash && at_dash(r)));
    if (r->problem != NULL) {
        return PEER_MALFORMED;
    }
    return below ? block_value(r, indent, t) : STATUS_OK;
}

static enum status check_name(struct yaml_reader *r, struct yaml_token *t)
{
    t->json.kind = JSON_NAME;
    return view_is(t->json.text, "<<")
               ? fail_parsing(r, "merge keys (<<) are not supported; write the values out")
               : STATUS_OK;
}

static enum status next_key(struct yaml_reader *r, struct yaml_token *t)
{
    bool key = false;
    enum status s = at_dash(r) ? STATUS_OK : read_any_scalar(r, top_of(r)->indent, t, &key);
    if (s != STATUS_OK) {
        return s;
    }
    if (!key) {
        r->line = t->line;
        return fail_parsing(r, "expected \"key:\"");
    }
    r->pos++;
    r->expect = YAML_VALUE;
    return check_name(r, t);
}

/*
 * Whether the line at the position ends the innermost collection; `more`: whether the document has
 * another line.
 */
static bool ends_collection(const struct yaml_reader *r, bool more)
{
    const struct yaml_open *top = &r->stack[r->depth - 1u];
    return !more || column_of(r) < top->indent ||
           (column_of(r) == top->indent && top->list && !at_dash(r));
}

static enum status next_line_token(struct yaml_reader *r, struct yaml_token *t)
{
    bool more = seek_in_document(r);
    t->line = r->line;
    if (r->problem != NULL) {
        return PEER_MALFORMED;
    }
    if (r->depth == 0u) {
        t->json.kind = JSON_END;
        return more ? fail_parsing(r, "unexpected text after the document's value") : STATUS_OK;
    }
    const struct yaml_open *top = top_of(r);
    if (ends_collection(r, more)) {
        return pop_collection(r, t);
    }
    if (column_of(r) > top->indent) {
        return fail_parsing(r, "indentation that fits nothing above");
    }
    if (!top->list) {
        return next_key(r, t);
    }
    r->pos++; /* skips the dash */
    return next_value(r, true, t);
}

/* Skips what may precede the document: a %YAML directive and the marker `---`. */
static enum status skip_head(struct yaml_reader *r)
{
    bool more = seek_text(r);
    bool directive = more && column_of(r) == 0 && peek_byte(r, 0) == '%';
    if (directive) {
        if (!view_starts(rest_of_line(r), "%YAML 1.")) {
            return fail_parsing(r, "a directive other than %YAML 1.x is not supported");
        }
        next_line(r);
        more = seek_text(r);
    }
    if (more && at_marker(r, "---")) {
        r->pos += 3u;
        return finish_line(r);
    }
    return directive ? fail_parsing(r, "a directive without --- after it") : STATUS_OK;
}

static enum status next_document(struct yaml_reader *r, struct yaml_token *t)
{
    bool more = skip_head(r) == STATUS_OK && seek_in_document(r);
    return more ? block_value(r, -1, t) : next_line_token(r, t);
}

/* --- reading flow collections --- */

/*
 * Moves past blanks, line ends and comments in a flow collection. `line`: where the collection
 * starts, which is reported if the text ends here.
 */
static enum status flow_space(struct yaml_reader *r, unsigned line)
{
    while (r->pos < r->text.len && rest_is_blank(r)) {
        next_line(r);
    }
    skip_blanks(r);
    if (r->pos == r->text.len || at_any_marker(r)) {
        r->line = line;
        return fail_parsing(r, "this bracket is not closed");
    }
    return STATUS_OK;
}

/* Reads the value after a key of a flow mapping; a missing value is null. */
static enum status flow_value(struct yaml_reader *r, struct yaml_token *t)
{
    if (peek_byte(r, 0) == ':') {
        r->pos++;
        if (flow_space(r, top_of(r)->line) != STATUS_OK) {
            return PEER_MALFORMED;
        }
    } else if (!one_of(peek_byte(r, 0), ",}")) {
        return fail_parsing(r, "expected ':' after a key");
    }
    t->line = r->line;
    return one_of(peek_byte(r, 0), ",}") ? STATUS_OK : inline_value(r, IN_FLOW, t);
}

/* Reads an entry of a flow collection, or the end of the collection. */
static enum status flow_entry(struct yaml_reader *r, bool first, struct yaml_token *t)
{
    const struct yaml_open *top = top_of(r);
    bool key = false;
    bool comma = !first && peek_byte(r, 0) == ',';
    if (comma) {
        r->pos++;
        if (flow_space(r, top->line) != STATUS_OK) {
            return PEER_MALFORMED;
        }
    }
    t->line = r->line;
    if (peek_byte(r, 0) == (top->list ? ']' : '}')) {
        r->pos++;
        return pop_collection(r, t);
    }
    if (!first && !comma) {
        return fail_parsing(r, "expected ',' or the closing bracket");
    }
    if (top->list) {
        return inline_value(r, IN_FLOW, t);
    }
    enum status s = read_any_scalar(r, IN_FLOW, t, &key);
    r->expect = YAML_FLOW_VALUE;
    return (s == STATUS_OK) ? check_name(r, t) : s;
}

/* --- skipping values --- */

/* Skips an anchor, an alias or a tag. */
static void skip_word(struct yaml_reader *r, bool flow)
{
    while (!is_space(peek_byte(r, 0)) && !(flow && one_of(peek_byte(r, 0), FLOW_MARKS))) {
        r->pos++;
    }
}

static unsigned count_brackets(unsigned open, uint8_t c)
{
    return open + (one_of(c, "[{") ? 1u : 0u) - (one_of(c, "]}") ? 1u : 0u);
}

/*
 * Skips to the end of a flow value; `level`: number of brackets of the value that are already open.
 */
static enum status skip_flow(struct yaml_reader *r, unsigned level)
{
    unsigned line = r->line;
    unsigned open = level;
    while (flow_space(r, line) == STATUS_OK) {
        uint8_t c = peek_byte(r, 0);
        bool key = false;
        if (open == 0u && one_of(c, ",]}")) {
            return STATUS_OK;
        }
        if (one_of(c, FLOW_MARKS ":?")) {
            r->pos++;
            open = count_brackets(open, c);
            if (open == 0u && !one_of(c, ":?")) {
                return STATUS_OK;
            }
        } else if (one_of(c, "&*!")) {
            skip_word(r, true);
        } else if (read_scalar(r, IN_FLOW, &key) != STATUS_OK) {
            break;
        }
    }
    return PEER_MALFORMED;
}

/*
 * Skips the next part of a line: an anchor, alias or tag, a flow collection, an indicator ('-', '?'
 * or ':'), or a scalar. *parent: column of the last key or dash.
 */
static enum status skip_step(struct yaml_reader *r, int *parent)
{
    uint8_t c = peek_byte(r, 0);
    int start = column_of(r);
    bool key = false;
    if (one_of(c, "&*!")) {
        skip_word(r, false);
        return STATUS_OK;
    }
    if (one_of(c, "[{")) {
        return skip_flow(r, 0);
    }
    bool mark = one_of(c, "-?:") && is_space(peek_byte(r, 1));
    enum status s = mark ? STATUS_OK : read_scalar(r, *parent, &key);
    if (mark || key) {
        r->pos++;
        *parent = (mark && c == ':') ? *parent : start;
    }
    return s;
}

/*
 * Skips the rest of the line and the following lines that are indented deeper than `indent`; with
 * `dashes`, also lines with a dash in column `indent`. Scalars are read as usual, so that their
 * lines cannot be mistaken for keys.
 */
static enum status skip_block(struct yaml_reader *r, int indent, bool dashes)
{
    int parent = indent;
    while (r->problem == NULL) {
        if (r->pos != r->line_start) {
            skip_blanks(r);
            if (rest_is_blank(r)) {
                next_line(r);
                continue;
            }
        } else if (!seek_in_document(r) || column_of(r) < indent ||
                   (column_of(r) == indent && !(dashes && at_dash(r)))) {
            break;
        }
        (void)skip_step(r, &parent);
    }
    return (r->problem == NULL) ? STATUS_OK : PEER_MALFORMED;
}

/* Skips the value after a key's colon. */
static enum status skip_value(struct yaml_reader *r)
{
    r->expect = after_value(r);
    if (in_flow(r)) {
        return skip_flow(r, 0);
    }
    skip_blanks(r);
    while (one_of(peek_byte(r, 0), "&!")) {
        skip_word(r, false);
        skip_blanks(r);
    }
    return skip_block(r, top_of(r)->indent, rest_is_blank(r));
}

enum status yaml_skip(struct yaml_reader *r, const struct yaml_token *token)
{
    enum json_kind kind = token->json.kind;
    if (r->problem != NULL) {
        return PEER_MALFORMED;
    }
    if (kind == JSON_NAME) {
        return skip_value(r);
    }
    if (kind != JSON_OBJECT_BEGIN && kind != JSON_ARRAY_BEGIN) {
        return STATUS_OK;
    }
    const struct yaml_open *top = top_of(r);
    struct yaml_token end;
    enum status s =
        top->flow ? skip_flow(r, 1) : skip_block(r, top->indent - (top->list ? 0 : 1), top->list);
    return (s == STATUS_OK) ? pop_collection(r, &end) : s;
}

/* --- checking the text, and returning its tokens --- */

/* Whether the text is UTF-8 without control characters other than LF, CRLF and tab. */
static bool is_text(struct view text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        bool crlf = c == '\r' && i + 1u < text.len && text.data[i + 1u] == '\n';
        if (is_control(c) && c != '\n' && c != '\t' && !crlf) {
            return false;
        }
    }
    return view_is_utf8(text);
}

void yaml_open(struct yaml_reader *r, struct view text, uint8_t *room)
{
    *r = (struct yaml_reader){.text = text, .line = 1, .expect = YAML_DOCUMENT};
    r->values = writer_of(room, text.len);
    r->pos = view_starts(text, "\xef\xbb\xbf") ? 3u : 0u; /* skips a byte order mark */
    r->line_start = r->pos;
    if (!is_text(text)) {
        r->problem = "the file is not UTF-8 text, or holds a control character";
    }
}

static enum status next_token(struct yaml_reader *r, struct yaml_token *t)
{
    enum yaml_expect expect = r->expect;
    r->expect = after_value(r);
    if (in_flow(r) && flow_space(r, top_of(r)->line) != STATUS_OK) {
        return PEER_MALFORMED;
    }
    switch (expect) {
    case YAML_DOCUMENT:
        return next_document(r, t);
    case YAML_LINE:
        return next_line_token(r, t);
    case YAML_VALUE:
        return next_value(r, false, t);
    case YAML_FLOW_VALUE:
        return flow_value(r, t);
    default:
        return flow_entry(r, expect == YAML_FLOW_FIRST, t);
    }
}

enum status yaml_next(struct yaml_reader *r, struct yaml_token *token)
{
    unsigned depth = r->depth;
    if (r->problem != NULL) {
        return PEER_MALFORMED;
    }
    *token = (struct yaml_token){.json = {.kind = JSON_NULL}, .line = r->line};
    enum status s = next_token(r, token);
    token->json.depth = (r->depth < depth) ? r->depth : depth;
    return s;
}
