/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lower half of the YAML scanner: positions, lines, markers, escapes and scalars, each function
 * from any state that `sound` allows, and `sound` again after it. The text has any length.
 */
#define PROOF_CONTENT_IS_ANY
#include "stubs.h"

#include "kubeconfig/yaml.c"

static struct yaml_reader reader;

/* A line ends for each '\n' before the position, so there are no more lines than bytes. */
static bool sound(const struct yaml_reader *r)
{
    return r->pos <= r->text.len && r->line_start <= r->pos && r->line >= 1u &&
           r->line - 1u <= r->pos && writer_sound(&r->values);
}

static struct yaml_reader *any_yaml(void)
{
    __CPROVER_havoc_object(&reader);
    reader.text = any_view(ANY_LENGTH);
    reader.pos = any_length(reader.text.len);
    reader.values = any_writer(ANY_LENGTH);
    reader.problem = any_bool() ? NULL : "a problem";
    ASSUME(sound(&reader));
    return &reader;
}

bool stub_rest_is_blank(const struct yaml_reader *r)
{
    CHECK(r->pos <= r->text.len);
    return any_bool();
}

void stub_next_line(struct yaml_reader *r)
{
    CHECK(sound(r));
    size_t by = any_length(r->text.len - r->pos);
    bool last = r->pos + by == r->text.len;
    /* proof_yaml_lines: to the byte after the next '\n', or to the end */
    r->line += (by > 0u && any_bool()) ? 1u : 0u;
    r->pos += by;
    r->line_start = r->pos;
    ASSUME(by > 0u || last);
}

bool stub_seek_text(struct yaml_reader *r)
{
    stub_next_line(r);
    return r->pos < r->text.len;
}

/* consume_hex: where all digits are there, the position moves past them. */
bool stub_consume_hex(struct yaml_reader *r, unsigned digits, uint32_t *value)
{
    CHECK(digits == 2u || digits == 4u || digits == 8u);
    if (r->pos > r->text.len || digits > r->text.len - r->pos || any_bool()) {
        return false;
    }
    *value = any_u32();
    ASSUME(digits == 8u || *value < 1u << (4u * digits));
    r->pos += digits;
    return true;
}

bool stub_put_escape(struct yaml_reader *r)
{
    CHECK(sound(r) && r->pos < r->text.len);
    r->pos += 1u + any_length(r->text.len - r->pos - 1u);
    r->values.len += any_length(r->values.cap - r->values.len);
    return any_bool();
}

void stub_fold_lines(struct yaml_reader *r, bool escaped)
{
    (void)escaped;
    size_t before = r->pos;
    stub_next_line(r);
    ASSUME(before == r->text.len || r->pos > before);
    r->values.len += any_length(r->values.cap - r->values.len);
}

void stub_put_quoted(struct yaml_reader *r, uint8_t quote, size_t *solid)
{
    CHECK(sound(r) && r->pos < r->text.len && *solid <= r->values.len);
    CHECK(quote == '"' || quote == '\'');
    stub_next_line(r);
    r->values.len += any_length(r->values.cap - r->values.len);
    *solid = any_length(r->values.len);
}

/* one_of by its meaning: the model of memchr misses characters. */
bool stub_one_of(uint8_t c, const char *set)
{
    bool found = false;
    for (size_t i = 0; set[i] != '\0'; i++) {
        found = found || (uint8_t)set[i] == c;
    }
    return found;
}

void proof_yaml_look(void)
{
    struct yaml_reader *r = any_yaml();
    uint8_t c = peek_byte(r, any_u8() & 15u);
    CHECK(c == '\n' || r->text.len > 0u);
    CHECK(column_of(r) >= 0);
    struct view rest = rest_of_line(r);
    CHECK(view_within(rest, r->text));
    CHECK(!at_marker(r, "---") || r->text.len - r->pos >= 3u);
    CHECK(!at_any_marker(r) || r->text.len - r->pos >= 3u);
}

void proof_yaml_blank(void)
{
    struct yaml_reader *r = any_yaml();
    bool blank = rest_is_blank(r);
    CHECK(blank || r->pos < r->text.len);
}

void proof_yaml_lines(void)
{
    struct yaml_reader *r = any_yaml();
    size_t before = r->pos;
    switch (any_u8()) {
    case 0:
        next_line(r);
        CHECK(r->pos > before || r->pos == r->text.len);
        break;
    case 1:
        CHECK((finish_line(r) == STATUS_OK) || r->problem != NULL);
        break;
    default:
        skip_blanks(r);
        break;
    }
    CHECK(sound(r) && r->pos >= before);
}

void proof_yaml_seek(void)
{
    struct yaml_reader *r = any_yaml();
    CHECK(seek_text(r) == (r->pos < r->text.len));
    CHECK(sound(r));
}

void proof_yaml_document(void)
{
    struct yaml_reader *r = any_yaml();
    bool more = seek_in_document(r);
    CHECK(sound(r) && (!more || (r->pos < r->text.len && r->problem == NULL)));
}

void proof_yaml_folds(void)
{
    struct yaml_reader *r = any_yaml();
    size_t before = r->values.len;
    if (any_bool()) {
        put_fold(r, any_unsigned(), any_bool());
    } else {
        fold_lines(r, any_bool());
    }
    CHECK(sound(r) && r->values.len >= before);
}

void proof_yaml_hex(void)
{
    struct yaml_reader *r = any_yaml();
    uint32_t value = 0;
    unsigned digits = 2u << (any_u8() % 3u);
    size_t before = r->pos;
    bool good = consume_hex(r, digits, &value);
    CHECK(sound(r) && r->pos == before + (good ? digits : 0u));
    CHECK(digits == 8u || value < 1u << (4u * digits));
}

void proof_yaml_escape(void)
{
    struct yaml_reader *r = any_yaml();
    ASSUME(r->pos < r->text.len); /* put_quoted: the byte after the backslash is no line end */
    size_t before = r->pos;
    (void)put_escape(r);
    CHECK(sound(r) && r->pos > before);
}

void proof_yaml_quoted_byte(void)
{
    struct yaml_reader *r = any_yaml();
    uint8_t quote = any_bool() ? (uint8_t)'"' : (uint8_t)'\'';
    size_t solid = any_length(r->values.len);
    size_t before = r->pos;
    /* read_quoted: not at the end, and not at the closing quote */
    ASSUME(r->pos < r->text.len);
    ASSUME(peek_byte(r, 0) != quote || (quote != '"' && peek_byte(r, 1) == quote));
    put_quoted(r, quote, &solid);
    CHECK(sound(r) && r->pos > before && solid <= r->values.len);
}

void proof_yaml_quoted(void)
{
    struct yaml_reader *r = any_yaml();
    ASSUME(r->pos < r->text.len && one_of(peek_byte(r, 0), "\"'"));
    ASSUME(r->text.data[r->pos] == '"' || r->text.data[r->pos] == '\'');
    enum status s = read_quoted(r);
    CHECK(s == STATUS_OK || (s == PEER_MALFORMED && r->problem != NULL));
    CHECK(sound(r));
}

/* --- the upper half: scalars of a line, the stack of collections, the text as a whole --- */

static bool stack_sound(const struct yaml_reader *r)
{
    return sound(r) && r->depth <= YAML_DEPTH_MAX;
}

/* Any state with a stack; its top has any indentation. */
static struct yaml_reader *any_stack(void)
{
    struct yaml_reader *r = any_yaml();
    for (unsigned i = 0; i < YAML_DEPTH_MAX; i++) {
        r->stack[i].list = any_bool();
        r->stack[i].flow = any_bool();
    }
    ASSUME(stack_sound(r));
    return r;
}

void proof_yaml_stack(void)
{
    struct yaml_reader *r = any_stack();
    unsigned before = r->depth;
    struct yaml_token t;
    bool flow = any_bool() ? true : false;
    ASSUME(!flow || r->pos < r->text.len); /* at its bracket */
    enum status s = push_collection(r, any_bool(), flow, &t);
    CHECK(stack_sound(r) && (s == STATUS_OK ? r->depth == before + 1u : r->problem != NULL));
    CHECK(s != STATUS_OK || (top_of(r)->flow == flow && in_flow(r) == flow));
    CHECK(s != STATUS_OK || !flow || before > 0u || block_indent(r) == -1);
}

enum status stub_finish_line(struct yaml_reader *r)
{
    stub_next_line(r);
    return any_bool() ? STATUS_OK : fail_parsing(r, "a problem");
}

void proof_yaml_pop(void)
{
    struct yaml_reader *r = any_stack();
    struct yaml_token t;
    ASSUME(r->depth > 0u);
    unsigned before = r->depth;
    enum status s = pop_collection(r, &t);
    CHECK(stack_sound(r) && r->depth == before - 1u && (s == STATUS_OK || r->problem != NULL));
    CHECK(r->expect == after_value(r));
}

void proof_yaml_ends(void)
{
    struct yaml_reader *r = any_stack();
    ASSUME(r->depth > 0u);
    CHECK(ends_collection(r, any_bool()) || r->depth > 0u);
    CHECK(!at_dash(r) || r->pos < r->text.len);
}

void proof_yaml_name(void)
{
    struct yaml_reader *r = any_yaml();
    struct yaml_token t;
    t.json.text = any_view(ANY_LENGTH);
    enum status s = check_name(r, &t);
    CHECK(t.json.kind == JSON_NAME && (s == STATUS_OK || r->problem != NULL));
    CHECK(is_null(t.json.text) || t.json.text.len > 0u);
}

/* Any character may be one of the set. */
bool stub_any_of(uint8_t c, const char *set)
{
    (void)c;
    CHECK(set != NULL);
    return any_bool();
}

void proof_yaml_word(void)
{
    struct yaml_reader *r = any_yaml();
    size_t before = r->pos;
    skip_word(r, any_bool());
    CHECK(sound(r) && r->pos >= before);
}

void proof_yaml_text(void)
{
    struct view text = any_view(ANY_LENGTH);
    CHECK(is_text(text) || text.len > 0u);
}

bool stub_is_text(struct view text)
{
    stub_check_view(text);
    return any_bool();
}

void proof_yaml_open(void)
{
    struct view text = any_view(ANY_LENGTH);
    yaml_open(&reader, text, any_memory(text.len));
    CHECK(reader.pos <= text.len && reader.line_start == reader.pos && reader.line == 1u);
    CHECK(stack_sound(&reader) && reader.depth == 0u);
}

void proof_yaml_flow_space(void)
{
    struct yaml_reader *r = any_yaml();
    unsigned line = any_unsigned();
    ASSUME(line >= 1u && line - 1u <= r->pos);
    enum status s = flow_space(r, line);
    CHECK(sound(r) && (s == STATUS_OK ? r->pos < r->text.len : r->problem != NULL));
}

void stub_skip_blanks(struct yaml_reader *r)
{
    CHECK(sound(r));
    r->pos += any_length(r->text.len - r->pos);
}

void proof_yaml_plain_part(void)
{
    struct yaml_reader *r = any_yaml();
    size_t before = r->pos;
    (void)plain_part(r, any_bool());
    CHECK(sound(r) && r->pos >= before);
}

bool stub_ends_plain(struct view line, size_t at, bool flow)
{
    (void)flow;
    CHECK(at < line.len);
    return any_bool();
}

void proof_yaml_ends_plain(void)
{
    struct view line = any_view(ANY_LENGTH);
    size_t at = any_size();
    ASSUME(at < line.len);
    (void)ends_plain(line, at, any_bool());
}

struct view stub_view_trim(struct view text)
{
    stub_check_view(text);
    return view_first(text, any_length(text.len));
}

void proof_yaml_below(void)
{
    struct yaml_reader *r = any_yaml();
    size_t before = r->pos;
    seek_text_below(r);
    CHECK(sound(r) && r->pos >= before && (r->pos > before || r->pos == r->text.len));
}

void proof_yaml_tab(void)
{
    const struct yaml_reader *r = any_stack();
    CHECK(!tab_indents_flow(r) || (r->pos < r->text.len && r->depth > 0u));
}

void proof_yaml_block_header(void)
{
    struct yaml_reader *r = any_yaml();
    struct block b = {.folded = any_bool()};
    int parent = (int)any_length(ANY_LENGTH) - 1;
    ASSUME(r->pos < r->text.len); /* at its '|' or '>' */
    enum status s = block_header(r, parent, &b);
    CHECK(sound(r) && (s == STATUS_OK || r->problem != NULL));
}
