/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CDI files of any length and content: one member from any place between two members of an object,
 * and again such a place after it; by induction, every object of a file.
 */
#include "dra_json.h"

#include "dra/cdi_read.c"

static struct claim_record record;

/* Whether the tokenizer is between two members of the object that is `depth` deep. */
static bool between(const struct json_reader *r, unsigned depth)
{
    return json_sound(r) && r->depth == depth && r->stack[depth - 1u] == (uint8_t)'{' &&
           (r->expect == NEED_FIRST_NAME || r->expect == NEED_NEXT);
}

static struct members_reader any_members(unsigned depth)
{
    struct members_reader m;
    m.in.in = any_reader(ANY_LENGTH);
    ASSUME(between(&m.in, depth) && m.in.failed == STATUS_OK);
    return m;
}

static struct json_token any_token(void)
{
    struct json_token t;
    t.text = any_view(ANY_LENGTH);
    ASSUME(t.kind <= JSON_END);
    return t;
}

static struct claim_record *any_record(void)
{
    record.count = any_u8();             /* all else of a record is only written */
    ASSUME(record.count <= RESULTS_MAX); /* parse_result keeps it from 0 on */
    return &record;
}

/* Proof pci_address. */
bool stub_efa_device_address(struct view name, uint32_t *address)
{
    stub_check_view(name);
    uint32_t found = any_u32();
    bool good = found != 0u && any_bool();
    *address = good ? found : *address;
    return good;
}

/* Proof device_neighbour. */
bool stub_neuron_device_number(struct view name, uint64_t last, uint64_t *number)
{
    stub_check_view(name);
    uint64_t n = any_u64();
    bool good = n <= last && any_bool();
    *number = good ? n : *number;
    return good;
}

/* Proof cdi_text; the bytes of a record's texts matter to no check. */
bool stub_parse_text(const struct json_token *value, char *to, size_t cap)
{
    stub_check_view(value->text);
    CHECK(cap >= 1u && __CPROVER_w_ok(to, cap));
    return value->kind == JSON_STRING && any_bool();
}

/* Proof text_compare, without the length of the name. */
bool stub_name_is(struct view a, const char *text)
{
    stub_check_view(a);
    CHECK(__CPROVER_r_ok(text, 1));
    return any_bool();
}

/* Proof cdi_lists. */
bool stub_parse_numbers(struct view list, uint64_t *numbers)
{
    stub_check_view(list);
    *numbers |= any_u64();
    return list.len > 0u && any_bool();
}

bool stub_parse_numbering(const struct json_token *value, struct claim_record *r)
{
    stub_check_view(value->text);
    r->first_number = any_u8();
    return value->kind == JSON_STRING && any_bool();
}

bool stub_is_next_result(struct view name, unsigned count)
{
    stub_check_view(name);
    CHECK(count <= RESULTS_MAX);
    return any_bool();
}

/* As stub_parse_text, for the text of a result, which the caller reads. */
bool stub_parse_value(const struct json_token *value, char *to, size_t cap)
{
    bool good = stub_parse_text(value, to, cap);
    any_text_in(to, cap);
    return good;
}

/* Proofs cdi_member and cdi_annotation: after a member that is good, the next one may follow. */
static bool member_end(struct members_reader *m)
{
    m->in.in.pos += any_length(m->in.in.len - m->in.in.pos);
    m->seen |= any_unsigned();
    m->in.failed = any_bool() ? STATUS_OK : PEER_MALFORMED;
    m->in.expect = any_u8();
    bool good = any_bool();
    if (good) {
        m->in.depth -= json_begins(m->value.kind) ? 1u : 0u;
        m->in.expect = NEED_NEXT;
    }
    ASSUME(json_sound(&m->in));
    return good;
}

bool stub_parse_member(struct members_reader *m, struct claim_result *to)
{
    CHECK(__CPROVER_w_ok(to, sizeof *to) && json_sound(&m->in));
    return member_end(m);
}

bool stub_parse_annotation(struct members_reader *m, struct claim_record *r)
{
    CHECK(r->count <= RESULTS_MAX && json_sound(&m->in));
    r->count = any_u8();
    ASSUME(r->count <= RESULTS_MAX);
    return member_end(m);
}

/* Proof cdi_result. */
bool stub_parse_result(const struct json_token *value, struct claim_record *r)
{
    stub_check_view(value->text);
    CHECK(r->count <= RESULTS_MAX);
    if (r->count == RESULTS_MAX || any_bool()) {
        return false;
    }
    r->count++;
    return value->kind == JSON_STRING && any_bool();
}

/* Proof cdi_annotations: a good object was read to its end. */
bool stub_parse_annotations(struct json_reader *in, struct claim_record *r)
{
    CHECK(between(in, 2) && r->count <= RESULTS_MAX);
    r->count = any_u8();
    ASSUME(r->count <= RESULTS_MAX);
    in->in.pos += any_length(in->in.len - in->in.pos);
    if (any_bool()) {
        in->failed = any_bool() ? STATUS_OK : PEER_MALFORMED;
        return false;
    }
    in->depth = 1;
    in->expect = NEED_NEXT;
    return true;
}

bool stub_claim_record_valid(const struct claim_record *r)
{
    CHECK(r->count <= RESULTS_MAX);
    return any_bool();
}

void proof_cdi_text(void)
{
    char to[NAME_CAP];
    struct json_token value = any_token();
    size_t cap = any_length(sizeof to);
    ASSUME(cap >= 1u);
    bool good = parse_text(&value, to, cap);
    size_t end = 0;
    bool ends = false;
    for (; end < sizeof to && !ends; end++) {
        ends = end < cap && to[end] == '\0';
    }
    CHECK(!good || (ends && value.kind == JSON_STRING));
}

void proof_cdi_numbers(void)
{
    struct json_token value = any_token();
    uint8_t small;
    uint16_t number;
    bool flag;
    bool good = any_bool() ? parse_small(&value, &small) : parse_number(&value, &number);
    CHECK(!good || value.kind == JSON_NUMBER);
    CHECK(!parse_decimal(&value, &small) || value.kind == JSON_STRING);
    good = parse_bool(&value, &flag);
    CHECK(good == (value.kind == JSON_TRUE || value.kind == JSON_FALSE));
}

void proof_cdi_lists(void)
{
    struct json_token value = any_token();
    struct claim_record *r = any_record();
    uint64_t numbers = any_u64();
    uint64_t before = numbers;
    bool good = parse_numbers(value.text, &numbers);
    CHECK((!good || numbers != 0u) && (numbers & before) == before);
    good = parse_numbering(&value, r);
    CHECK(!good || value.kind == JSON_STRING);
    CHECK(r->first_number < DEVICES_MAX || !good || !r->zero_numbering);
}

void proof_cdi_device(void)
{
    struct json_token value = any_token();
    struct claim_result to;
    enum driver_kind driver;
    to.node = any_bool();
    if (parse_device(&value, &to)) {
        CHECK(value.kind == JSON_STRING);
        CHECK(to.node || to.efa_address != 0u || to.number < DEVICES_MAX);
    }
    bool known = parse_kind(&value, &driver);
    CHECK(!known || ((unsigned)driver < (unsigned)DRIVERS && value.kind == JSON_STRING));
    CHECK(!is_next_result(value.text, any_u8()) || value.text.len <= RESULT_KEY_CAP);
}

void proof_cdi_member(void)
{
    struct members_reader m = any_members(1);
    struct claim_result to;
    to.efa_address = any_u32();
    size_t before = m.in.in.pos;
    if (next_member(&m)) {
        bool good = parse_member(&m, &to);
        CHECK(json_sound(&m.in) && m.in.in.pos > before);
        CHECK(!good || between(&m.in, 1));
    } else {
        bool ends = text_ends(&m.in);
        CHECK(!ends || m.in.failed == STATUS_OK);
    }
}

void proof_cdi_result(void)
{
    struct json_token value = any_token();
    struct claim_record *r = any_record();
    unsigned before = r->count;
    bool good = parse_result(&value, r);
    CHECK(r->count <= RESULTS_MAX && (!good || r->count == before + 1u));
}

void proof_cdi_annotation(void)
{
    struct members_reader m = any_members(2);
    struct claim_record *r = any_record();
    size_t before = m.in.in.pos;
    if (next_member(&m)) {
        bool good = parse_annotation(&m, r);
        CHECK(json_sound(&m.in) && m.in.in.pos > before && r->count <= RESULTS_MAX);
        CHECK(!good || between(&m.in, 2));
    }
}

void proof_cdi_annotations(void)
{
    struct members_reader m = any_members(2);
    struct claim_record *r = any_record();
    bool good = parse_annotations(&m.in, r);
    CHECK(json_sound(&m.in) && r->count <= RESULTS_MAX);
    CHECK(!good || (m.in.depth == 1u && m.in.expect == NEED_NEXT));
}

void proof_cdi_file(void)
{
    enum status s = cdi_read(any_view(ANY_LENGTH), any_record());
    CHECK(s == STATUS_OK || s == HOST_DAMAGED);
    CHECK(s == STATUS_OK || (record.count == 0u && record.id.uid[0] == '\0'));
}
