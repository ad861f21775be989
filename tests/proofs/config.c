/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opaque configurations of any length and content: one member from any place between two members
 * of the object, and again such a place after it; by induction, every object.
 */
#include "dra_json.h"

#include "dra/config.c"

static struct decoder decoder;
static struct writer why;

/* Whether the tokenizer is between two members of the top object. */
static bool between(const struct json_reader *r)
{
    return json_sound(r) && r->depth == 1u && r->stack[0] == (uint8_t)'{' &&
           (r->expect == NEED_FIRST_NAME || r->expect == NEED_NEXT);
}

/* A token from a text, as json_next returns it for a value. */
static struct json_token any_value(void)
{
    struct json_token t;
    t.text = any_view(ANY_LENGTH);
    ASSUME(json_starts_value(t.kind));
    return t;
}

static struct decoder *any_decoder(void)
{
    struct decoder any;
    unsigned row = any_unsigned();
    ASSUME(row < KINDS);
    decoder = any;
    why = any_writer(ANY_LENGTH);
    decoder.why = &why;
    decoder.row = &kind_rows[row]; /* find_row, before the second pass reads it */
    decoder.field_name[FIELD_VERSION] = "apiVersion";
    decoder.field_name[FIELD_KIND] = "kind";
    decoder.field_name[FIELD_VALUE] = kind_rows[row].field;
    decoder.in.in = any_reader(ANY_LENGTH);
    decoder.in.failed = STATUS_OK;
    decoder.name = any_view(ANY_LENGTH);
    decoder.value = any_value();
    decoder.text[FIELD_VERSION] = any_view(ANY_LENGTH);
    decoder.text[FIELD_KIND] = any_view(ANY_LENGTH);
    decoder.number = any_value();
    for (unsigned i = 0; i < FIELDS; i++) {
        decoder.seen[i] = any_bool();
    }
    /* each complaint takes a member of a text */
    ASSUME(json_sound(&decoder.in) && decoder.complaints < ANY_LENGTH);
    return &decoder;
}

static bool explained(enum status s)
{
    return s == STATUS_OK || s == PEER_MALFORMED || s == PEER_UNSUPPORTED;
}

/* Proof text_numbers. */
void stub_writer_signed(struct writer *w, int64_t value)
{
    (void)value;
    CHECK(w->len <= w->cap);
    w->len += any_length(w->cap - w->len);
    w->full = w->full || any_bool();
}

/* Proofs config_type and config_member: a member was read to its end, or an error ends the loop. */
static enum status member_end(struct decoder *d)
{
    CHECK(json_sound(&d->in));
    d->in.in.pos += any_length(d->in.in.len - d->in.in.pos);
    d->why->len += any_length(d->why->cap - d->why->len);
    if (json_may_fail && any_bool()) {
        d->in.failed = any_bool() ? STATUS_OK : PEER_MALFORMED;
        return PEER_MALFORMED;
    }
    d->in.depth = 1;
    d->in.expect = NEED_NEXT;
    return STATUS_OK;
}

/* Proof config_open. */
enum status stub_syntax_error(struct decoder *d)
{
    CHECK(d->why->len <= d->why->cap);
    d->why->len += any_length(d->why->cap - d->why->len);
    d->why->full = d->why->full || any_bool();
    return PEER_MALFORMED;
}

enum status stub_parse_type(struct decoder *d)
{
    return member_end(d);
}

enum status stub_parse_member(struct decoder *d)
{
    d->complaints = any_unsigned();
    ASSUME(d->complaints < ANY_LENGTH);
    return member_end(d);
}

enum status stub_read_type(struct decoder *d, struct view json)
{
    stub_check_view(json);
    d->text[FIELD_VERSION] = any_view(ANY_LENGTH);
    d->text[FIELD_KIND] = any_view(ANY_LENGTH);
    return any_bool() ? STATUS_OK : PEER_MALFORMED;
}

/* What read_type showed of the same text: its first token begins an object. */
enum status stub_open_again(struct decoder *d, struct view json)
{
    stub_json_open(&d->in, json);
    ASSUME(json.len > 0u);
    d->in.in.pos = 1u + any_length(json.len - 1u);
    d->in.depth = 1;
    d->in.stack[0] = (uint8_t)'{';
    d->in.expect = NEED_FIRST_NAME;
    return STATUS_OK;
}

enum status stub_read_members(struct decoder *d, struct view json)
{
    stub_check_view(json);
    CHECK(d->row >= kind_rows && d->row < kind_rows + KINDS);
    d->number = any_value();
    return any_bool() ? STATUS_OK : PEER_MALFORMED;
}

/* Reads the next member's name and value, in a place between two members, and takes it. */
static void one_member(enum status (*take)(struct decoder *))
{
    struct decoder *d = any_decoder();
    bool end = false;
    ASSUME(between(&d->in));
    size_t before = d->in.in.pos;
    enum status s = next_member(d, &end);
    CHECK(s == STATUS_OK || s == PEER_MALFORMED);
    CHECK(s != STATUS_OK || d->in.in.pos > before);
    CHECK(s != STATUS_OK || !end || d->in.depth == 0u);
    if (s == STATUS_OK && !end) {
        s = take(d);
        CHECK(s == STATUS_OK || s == PEER_MALFORMED);
        CHECK(s != STATUS_OK || between(&d->in));
    }
    CHECK(why.len <= why.cap);
}

void proof_config_type(void)
{
    one_member(parse_type);
}

void proof_config_member(void)
{
    json_may_fail = false; /* read_type has read the same text to its end */
    one_member(parse_member);
    CHECK(decoder.in.failed == STATUS_OK);
}

void proof_config_first_pass(void)
{
    struct decoder *d = any_decoder();
    enum status s = read_type(d, any_view(ANY_LENGTH));
    CHECK(s == STATUS_OK || s == PEER_MALFORMED);
    CHECK(why.len <= why.cap);
}

void proof_config_second_pass(void)
{
    struct decoder *d = any_decoder();
    json_may_fail = false;
    enum status s = read_members(d, any_view(ANY_LENGTH));
    CHECK(s == STATUS_OK ? d->complaints == 0u : s == PEER_MALFORMED);
    CHECK(why.len <= why.cap);
}

void proof_config_open(void)
{
    struct decoder *d = any_decoder();
    enum status s = open_object(d, any_view(ANY_LENGTH));
    CHECK(s == STATUS_OK ? between(&d->in) : s == PEER_MALFORMED);
}

void proof_config_row(void)
{
    struct decoder *d = any_decoder();
    struct config out = {.api_version = NULL};
    enum status s = find_row(d, &out);
    CHECK(explained(s) && why.len <= why.cap);
    CHECK(s == STATUS_OK ? out.api_version != NULL && (unsigned)out.kind < KINDS
                         : out.api_version == NULL);
    CHECK(d->row >= kind_rows && d->row < kind_rows + KINDS);
}

void proof_config_value(void)
{
    struct decoder *d = any_decoder();
    struct config out = {.value = VALUE_LIMIT};
    enum status s = check_value(d, &out);
    CHECK(s == STATUS_OK || s == PEER_MALFORMED);
    CHECK(s == STATUS_OK ? out.value > 0u && out.value < VALUE_LIMIT : out.value == VALUE_LIMIT);
}

void proof_config_decode(void)
{
    struct config out = {.value = VALUE_LIMIT};
    why = any_writer(ANY_LENGTH);
    enum status s = config_decode(any_view(ANY_LENGTH), &out, &why);
    CHECK(explained(s) && why.len <= why.cap);
    CHECK(s == STATUS_OK ? out.value > 0u && out.value < VALUE_LIMIT && out.api_version != NULL
                         : out.value == VALUE_LIMIT && out.api_version == NULL);
}
