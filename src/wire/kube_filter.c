/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resumable parser of one protobuf message: keeps a stack of open messages, and the position inside
 * a tag, a length or a value. Reads each input byte only once; has no callbacks.
 */
#include "wire/kube_filter.h"

#include <string.h>

#include "base/assert.h"

#define LENGTH_UNKNOWN UINT64_MAX
/*
 * Protobuf encoding: the top bit of a varint byte is set if more bytes follow; ten bytes hold 64
 * bits.
 */
#define VARINT_MORE 0x80u
#define VARINT_BITS 7u
#define VARINT_BYTES_MAX 10u
/* Protobuf encoding: no message and no length-delimited field is 2 GiB or longer. */
#define FIELD_LENGTH_MAX 0x7fffffffu
/* Protobuf encoding: a tag is a 29-bit field number and a 3-bit wire type. */
#define TAG_MAX UINT32_MAX
#define TAG_WIRE_BITS 3u
#define TAG_WIRE_MASK 7u

/* Protobuf encoding: wire types. */
enum { WIRE_VARINT = 0, WIRE_I64 = 1, WIRE_LEN = 2, WIRE_I32 = 5 };

/* Values of `phase` in struct kube_filter: the part of the input that is read next. */
enum { PHASE_MAGIC, PHASE_TAG, PHASE_LENGTH, PHASE_VARINT, PHASE_VALUE };

/* How one step of parsing ended; STEP_ON: progress was made, run the next step. */
enum step { STEP_ON, STEP_RECORD, STEP_STARVED, STEP_FAILED };

/*
 * Kubernetes API concepts, "Protobuf encoding": first bytes of every stored or transmitted object.
 */
static const uint8_t magic[] = {'k', '8', 's', 0};

/* --- checking a table of rules, and finding a rule --- */

static bool rule_enters(const struct kube_rule *rule)
{
    return rule->kind == KUBE_DESCEND || rule->kind == KUBE_ENVELOPE || rule->kind == KUBE_RECORD;
}

static bool rule_keeps(const struct kube_rule *rule)
{
    return rule->kind == KUBE_KEEP || rule->kind == KUBE_KEEP_CUT ||
           rule->kind == KUBE_RECORD_FIELD;
}

/*
 * Returns how many messages are nested around a field whose rule has this `parent`; *in_record:
 * whether a RECORD rule enters one of these messages.
 */
static unsigned rule_depth(struct kube_rules rules, uint8_t parent, bool *in_record)
{
    unsigned depth = 1;
    uint8_t above = parent;

    *in_record = false;
    while (above != KUBE_ROOT) {
        ASSERT(above < rules.count && depth <= rules.count);
        *in_record = *in_record || rules.rules[above].kind == KUBE_RECORD;
        above = rules.rules[above].parent;
        depth++;
    }
    return depth;
}

/* Whether the parent of this row is KUBE_ROOT or an earlier row whose rule enters a message. */
static bool parent_valid(struct kube_rules rules, uint8_t row)
{
    uint8_t parent = rules.rules[row].parent;

    return parent == KUBE_ROOT || (parent < row && rule_enters(&rules.rules[parent]));
}

static bool rule_valid(struct kube_rules rules, uint8_t row)
{
    const struct kube_rule *rule = &rules.rules[row];
    bool in_record;
    bool writes = rule_keeps(rule) || rule->kind == KUBE_PRESENT;
    bool any_field = rule->field == KUBE_ANY_FIELD && rule->kind != KUBE_PRESENT;

    if (rule->kind > KUBE_PRESENT || any_field || !parent_valid(rules, row)) {
        return false;
    }
    if (rule_depth(rules, rule->parent, &in_record) + 1u > KUBE_DEPTH_MAX) {
        return false;
    }
    return !writes || (rule->as != 0u && (in_record || rule->kind == KUBE_RECORD_FIELD));
}

bool kube_rules_valid(struct kube_rules rules)
{
    bool in_record = false;

    ASSERT(rules.rules != NULL || rules.count == 0u);
    if (rules.count >= KUBE_ROOT || (rules.top != KUBE_ROOT && rules.top >= rules.count)) {
        return false;
    }
    for (uint8_t i = 0; i < rules.count; i++) {
        if (!rule_valid(rules, i)) {
            return false;
        }
    }
    if (rules.top == KUBE_ROOT) {
        return true;
    }
    (void)rule_depth(rules, rules.top, &in_record);
    return !in_record && rule_enters(&rules.rules[rules.top]);
}

/*
 * Finds the rule for a field of the innermost open message; KUBE_ROOT: there is none. A rule with
 * the number of the field takes precedence over a rule with KUBE_ANY_FIELD.
 */
static uint8_t find_rule(const struct kube_filter *f, uint32_t field)
{
    uint8_t parent = f->frames[f->depth - 1u].rule;
    uint8_t any = KUBE_ROOT;

    for (uint8_t i = 0; i < f->rules.count; i++) {
        const struct kube_rule *rule = &f->rules.rules[i];
        if (rule->parent == parent && rule->field == field) {
            return i;
        }
        if (rule->parent == parent && rule->field == KUBE_ANY_FIELD) {
            any = i;
        }
    }
    return any;
}

/* --- entering and ending messages --- */

static struct kube_frame *top_frame(struct kube_filter *f)
{
    ASSERT(f->depth >= 1u && f->depth <= KUBE_DEPTH_MAX);
    return &f->frames[f->depth - 1u];
}

/* Returns the rule for the current field; NULL: there is none. */
static const struct kube_rule *field_rule(const struct kube_filter *f)
{
    ASSERT(f->rule == KUBE_ROOT || f->rule < f->rules.count);
    return f->rule == KUBE_ROOT ? NULL : &f->rules.rules[f->rule];
}

static void frame_spend(struct kube_frame *frame, uint64_t n)
{
    ASSERT(n <= frame->left);
    if (frame->left != LENGTH_UNKNOWN) {
        frame->left -= n;
    }
}

static void frame_push(struct kube_filter *f, uint8_t rule, uint64_t length)
{
    bool envelope = rule != KUBE_ROOT && f->rules.rules[rule].kind == KUBE_ENVELOPE;

    ASSERT(f->depth < KUBE_DEPTH_MAX);
    f->frames[f->depth] = (struct kube_frame){.left = length, .record_start = f->len, .rule = rule};
    f->depth++;
    f->rule = KUBE_ROOT;
    f->phase = envelope ? PHASE_MAGIC : PHASE_TAG;
}

/* Marks the innermost open record as truncated. */
static void mark_truncated(struct kube_filter *f)
{
    ASSERT(f->depth > 0u);
    unsigned i = f->depth - 1u;

    /* kube_rules_valid ensures that nothing is kept outside a record */
    while (f->rules.rules[f->frames[i].rule].kind != KUBE_RECORD) {
        ASSERT(i > 0u && f->frames[i].rule != KUBE_ROOT);
        i--;
    }
    f->frames[i].truncated = true;
}

static enum step emit_record(struct kube_filter *f, struct kube_record *record, uint16_t start,
                             uint8_t number)
{
    ASSERT(start <= f->len);
    record->record = number;
    record->message = view_of(f->buffer + start, (size_t)f->len - start);
    f->emit_len = (uint16_t)(f->len - start);
    return STEP_RECORD;
}

static enum step end_message(struct kube_filter *f, struct kube_record *record)
{
    const struct kube_frame *frame = top_frame(f);

    ASSERT(frame->left == 0u);
    f->depth--;
    if (frame->rule == KUBE_ROOT || f->rules.rules[frame->rule].kind != KUBE_RECORD) {
        return STEP_ON;
    }
    record->truncated = frame->truncated;
    return emit_record(f, record, frame->record_start, f->rules.rules[frame->rule].record);
}

static enum step fail_filter(struct kube_filter *f)
{
    f->failed = PEER_MALFORMED;
    return STEP_FAILED;
}

/* --- copying kept fields into a record --- */

static struct writer rest_of_record(struct kube_filter *f)
{
    return writer_of(f->buffer + f->len, sizeof f->buffer - f->len);
}

static void write_tag(struct writer *w, const struct kube_rule *rule, uint8_t wire)
{
    ASSERT(rule->as != 0u);
    writer_varint(w, ((uint64_t)rule->as << TAG_WIRE_BITS) | (uint64_t)wire);
}

static void keep_varint(struct kube_filter *f, const struct kube_rule *rule, uint64_t value)
{
    struct writer w = rest_of_record(f);

    write_tag(&w, rule, WIRE_VARINT);
    writer_varint(&w, value);
    if (w.full) {
        f->field_truncated = true;
    } else {
        f->len = (uint16_t)(f->len + w.len);
    }
}

static uint64_t at_most(uint64_t value, uint64_t bound)
{
    return (value < bound) ? value : bound;
}

/*
 * Writes the tag and the length of a kept field that has `length` bytes, and determines how many of
 * these bytes are kept.
 */
static void keep_begin(struct kube_filter *f, const struct kube_rule *rule, uint64_t length)
{
    struct writer w = rest_of_record(f);
    bool cut = rule->kind == KUBE_KEEP_CUT && f->wire_type == WIRE_LEN;
    uint64_t limit = (rule->limit != 0u) ? rule->limit : UINT64_MAX;
    uint64_t keep = cut ? at_most(length, limit) : length;
    size_t tag_len;

    write_tag(&w, rule, f->wire_type);
    tag_len = w.len;
    if (f->wire_type == WIRE_LEN) {
        writer_varint(&w, keep);
    }
    keep = cut ? at_most(keep, writer_room(&w)) : keep;
    f->field_truncated = keep < length;
    if (w.full || keep > at_most(writer_room(&w), limit)) {
        f->field_truncated = true;
        return;
    }
    f->kept_size = (uint8_t)(w.len - tag_len);
    f->len = (uint16_t)(f->len + w.len);
    f->kept_at = f->len;
    f->kept_left = (uint16_t)keep;
}

/* Length of the longest prefix of `text` that ends between two UTF-8 sequences (RFC 3629 §3). */
static uint16_t utf8_whole(const uint8_t *text, uint16_t len)
{
    uint16_t lead = len;
    uint16_t need = 1;

    while (lead > 0u && lead + 3u > len && (text[lead - 1u] & 0xc0u) == 0x80u) {
        lead--;
    }
    if (lead == 0u) {
        return len;
    }
    lead--;
    if (text[lead] >= 0xf0u) {
        need = 4;
    } else if (text[lead] >= 0xe0u) {
        need = 3;
    } else if (text[lead] >= 0xc0u) {
        need = 2;
    }
    return lead + need > len ? lead : len;
}

/*
 * Shortens a cut text so that it ends between two characters. Writes the new length over the old
 * one, in the same number of bytes: protobuf allows varints that are longer than necessary.
 */
static void keep_cut_end(struct kube_filter *f)
{
    uint16_t len = utf8_whole(f->buffer + f->kept_at, (uint16_t)(f->len - f->kept_at));
    uint8_t *size = f->buffer + f->kept_at - f->kept_size;

    ASSERT(f->kept_size >= 1u && f->kept_at <= f->len);
    f->len = (uint16_t)(f->kept_at + len);
    for (unsigned i = 0; i < f->kept_size; i++) {
        uint8_t more = i + 1u < f->kept_size ? VARINT_MORE : 0u;
        unsigned below = VARINT_BITS * i;
        uint8_t bits = (uint8_t)(((unsigned)len >> below) & 0x7fu);
        size[i] = bits | more;
    }
}

static enum step end_field(struct kube_filter *f, struct kube_record *record)
{
    const struct kube_rule *rule = field_rule(f);

    ASSERT(f->kept_left == 0u);
    f->phase = PHASE_TAG;
    f->rule = KUBE_ROOT;
    if (rule == NULL) {
        return STEP_ON;
    }
    if (rule->kind == KUBE_KEEP_CUT && f->field_truncated && f->kept_size != 0u) {
        keep_cut_end(f);
    }
    if (rule->kind == KUBE_RECORD_FIELD) {
        record->truncated = f->field_truncated;
        return emit_record(f, record, f->field_at, rule->record);
    }
    if (f->field_truncated) {
        mark_truncated(f);
    }
    return STEP_ON;
}

/* --- one parsing step for each phase --- */

static enum step begin_value(struct kube_filter *f, uint64_t length)
{
    const struct kube_rule *rule = field_rule(f);

    if (length > top_frame(f)->left) {
        return fail_filter(f);
    }
    frame_spend(top_frame(f), length);
    f->phase = PHASE_VALUE;
    f->value_left = length;
    if (rule != NULL && rule_keeps(rule)) {
        keep_begin(f, rule, length);
    }
    return STEP_ON;
}

static enum step on_wire_type(struct kube_filter *f)
{
    switch (f->wire_type) {
    case WIRE_VARINT:
        f->phase = PHASE_VARINT;
        return STEP_ON;
    case WIRE_LEN:
        f->phase = PHASE_LENGTH;
        return STEP_ON;
    case WIRE_I64:
        return begin_value(f, sizeof(uint64_t));
    case WIRE_I32:
        return begin_value(f, sizeof(uint32_t));
    default: /* refuses groups (wire types 3 and 4) and the undefined wire types 6 and 7 */
        return fail_filter(f);
    }
}

static enum step on_tag(struct kube_filter *f, uint64_t tag)
{
    uint32_t field = (uint32_t)(tag >> TAG_WIRE_BITS);
    const struct kube_rule *rule;

    if (tag > TAG_MAX || field == 0u) {
        return fail_filter(f);
    }
    f->wire_type = (uint8_t)(tag & TAG_WIRE_MASK);
    f->rule = find_rule(f, field);
    f->field_at = f->len;
    f->kept_size = 0;
    f->field_truncated = false;
    rule = field_rule(f);
    if (rule != NULL && rule_enters(rule) && f->wire_type != WIRE_LEN) {
        return fail_filter(f);
    }
    if (rule != NULL && rule->kind == KUBE_PRESENT) {
        keep_varint(f, rule, 1);
    }
    return on_wire_type(f);
}

static enum step on_length(struct kube_filter *f, uint64_t length)
{
    const struct kube_rule *rule = field_rule(f);

    if (length > FIELD_LENGTH_MAX || length > top_frame(f)->left) {
        return fail_filter(f);
    }
    if (rule == NULL || !rule_enters(rule)) {
        return begin_value(f, length);
    }
    frame_spend(top_frame(f), length);
    frame_push(f, f->rule, length);
    return STEP_ON;
}

static enum step on_varint(struct kube_filter *f, uint64_t value)
{
    const struct kube_rule *rule = field_rule(f);

    if (rule != NULL && rule_keeps(rule)) {
        keep_varint(f, rule, value);
    }
    f->phase = PHASE_VALUE;
    f->value_left = 0;
    return STEP_ON;
}

static enum step varint_byte(struct kube_filter *f, uint8_t byte)
{
    uint64_t value;

    /* the tenth byte of a varint holds only bit 63, so it is 0 or 1 */
    if (f->varint_len == VARINT_BYTES_MAX - 1u && byte > 1u) {
        return fail_filter(f);
    }
    f->varint |= ((uint64_t)byte & 0x7fu) << (VARINT_BITS * f->varint_len);
    f->varint_len++;
    if ((byte & VARINT_MORE) != 0u) {
        return STEP_ON;
    }
    value = f->varint;
    f->varint = 0;
    f->varint_len = 0;
    switch (f->phase) {
    case PHASE_TAG:
        return on_tag(f, value);
    case PHASE_LENGTH:
        return on_length(f, value);
    default:
        ASSERT(f->phase == PHASE_VARINT);
        return on_varint(f, value);
    }
}

static enum step magic_byte(struct kube_filter *f, uint8_t byte)
{
    ASSERT(f->varint_len < sizeof magic);
    if (byte != magic[f->varint_len]) {
        return fail_filter(f);
    }
    f->varint_len++;
    if (f->varint_len == sizeof magic) {
        f->varint_len = 0;
        f->phase = PHASE_TAG;
    }
    return STEP_ON;
}

static enum step consume_byte(struct kube_filter *f, struct reader *in)
{
    struct kube_frame *top = top_frame(f);
    uint8_t byte = 0;
    enum status taken;

    if (top->left == 0u) {
        return fail_filter(f);
    }
    taken = reader_u8(in, &byte);
    ASSERT(taken == STATUS_OK);
    frame_spend(top, 1);
    return f->phase == PHASE_MAGIC ? magic_byte(f, byte) : varint_byte(f, byte);
}

/*
 * Consumes the available bytes of a value, up to its end; copies the front part that the rule
 * keeps.
 */
static enum step consume_value(struct kube_filter *f, struct reader *in)
{
    size_t n = reader_left(in);
    size_t keep;
    struct view bytes = {0};
    enum status taken;

    if (n > f->value_left) {
        n = (size_t)f->value_left;
    }
    taken = reader_consume(in, n, &bytes);
    ASSERT(taken == STATUS_OK);
    keep = n < f->kept_left ? n : f->kept_left;
    ASSERT(keep <= sizeof f->buffer - f->len);
    if (keep > 0u) {
        memcpy(f->buffer + f->len, bytes.data, keep);
    }
    f->len = (uint16_t)(f->len + keep);
    f->kept_left = (uint16_t)(f->kept_left - keep);
    f->value_left -= n;
    return STEP_ON;
}

static enum step filter_step(struct kube_filter *f, struct reader *in, struct kube_record *record)
{
    if (f->depth == 0u) {
        return STEP_STARVED;
    }
    if (f->phase == PHASE_VALUE && f->value_left == 0u) {
        return end_field(f, record);
    }
    if (f->phase == PHASE_TAG && f->varint_len == 0u && top_frame(f)->left == 0u) {
        return end_message(f, record);
    }
    if (reader_left(in) == 0u) {
        return STEP_STARVED;
    }
    return f->phase == PHASE_VALUE ? consume_value(f, in) : consume_byte(f, in);
}

/* --- the functions of kube_filter.h --- */

bool kube_filter_valid(const struct kube_filter *f)
{
    return f->depth <= KUBE_DEPTH_MAX && f->phase <= PHASE_VALUE && f->len <= sizeof f->buffer &&
           f->emit_len <= f->len && f->varint_len < VARINT_BYTES_MAX &&
           f->kept_left <= sizeof f->buffer - f->len &&
           (f->rule == KUBE_ROOT || f->rule < f->rules.count);
}

void kube_filter_init(struct kube_filter *f, struct kube_rules rules, uint64_t length)
{
    ASSERT(kube_rules_valid(rules));
    ASSERT(length <= FIELD_LENGTH_MAX || length == LENGTH_UNKNOWN);
    /* clears the members that precede `buffer`; bytes of `buffer` are valid only below `len` */
    memset(f, 0, offsetof(struct kube_filter, buffer));
    f->rules = rules;
    frame_push(f, rules.top, length);
    if (length == 0u && f->phase == PHASE_TAG) {
        f->depth = 0;
    }
    ASSERT(kube_filter_valid(f));
}

enum status kube_filter_next(struct kube_filter *f, struct reader *in, struct kube_record *record)
{
    enum step step = STEP_ON;

    ASSERT(kube_filter_valid(f));
    f->len = (uint16_t)(f->len - f->emit_len);
    f->emit_len = 0;
    if (f->failed != STATUS_OK) {
        return f->failed;
    }
    /* the loop ends, because each step consumes a byte, or ends a field or a message */
    while (step == STEP_ON) {
        step = filter_step(f, in, record);
    }
    if (step == STEP_FAILED) {
        return f->failed;
    }
    return step == STEP_RECORD ? STATUS_OK : STATUS_MORE;
}

void kube_filter_switch(struct kube_filter *f, struct kube_rules rules)
{
    ASSERT(kube_rules_valid(rules) && rules.top == f->rules.top);
    ASSERT(f->phase == PHASE_TAG && f->varint_len == 0u);
    for (unsigned i = 0; i < f->depth; i++) {
        uint8_t row = f->frames[i].rule;
        ASSERT(row == KUBE_ROOT ||
               (row < rules.count && rules.rules[row].kind == f->rules.rules[row].kind &&
                rules.rules[row].parent == f->rules.rules[row].parent &&
                rules.rules[row].record == f->rules.rules[row].record));
    }
    f->rules = rules;
}

bool kube_filter_done(const struct kube_filter *f)
{
    return f->depth == 0u && f->failed == STATUS_OK;
}

enum status kube_filter_end(struct kube_filter *f)
{
    bool boundary = f->depth == 1u && f->frames[0].left == LENGTH_UNKNOWN &&
                    f->phase == PHASE_TAG && f->varint_len == 0u;

    ASSERT(kube_filter_valid(f));
    if (f->failed == STATUS_OK && f->depth != 0u && !boundary) {
        f->failed = PEER_MALFORMED;
    }
    if (boundary) {
        f->depth = 0;
    }
    return f->failed;
}
