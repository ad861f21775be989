/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter of the API server's protobuf messages: one step from any state that `sound` allows,
 * and `sound` again after it; by induction, input of any length. Rules have any content, within
 * what kube_rules_valid checks: a rule that enters a message has room for its frame. That a kept
 * field is in a record, which mark_truncated asserts, is left to kube_rules_valid.
 */
#define PROOF_CONTENT_IS_ANY
#include "stubs.h"

#include "wire/kube_filter.c"

static struct kube_filter filter;

static bool frames_sound(const struct kube_filter *f)
{
    bool good = true;
    for (unsigned i = 0; i < KUBE_DEPTH_MAX; i++) {
        if (i < f->depth) {
            uint8_t rule = f->frames[i].rule;
            good = good && (rule == KUBE_ROOT || rule < f->rules.count);
            good = good && f->frames[i].record_start <= f->len - f->emit_len;
        }
    }
    return good;
}

static bool kept_sound(const struct kube_filter *f)
{
    bool size = f->kept_size <= 5u && f->kept_size <= f->kept_at && f->kept_at <= f->len;
    bool left = f->phase == PHASE_VALUE ? f->kept_left <= f->value_left : f->kept_left == 0u;
    return (f->kept_size == 0u || size) && left && f->field_at <= f->len;
}

/* kube_filter_valid, and what the steps rely on besides. */
static bool sound(const struct kube_filter *f)
{
    bool enters = f->rule != KUBE_ROOT && rule_enters(&f->rules.rules[f->rule]);
    bool magic_left = f->phase != PHASE_MAGIC || f->varint_len < sizeof magic;
    return kube_filter_valid(f) && kept_sound(f) && magic_left &&
           (!enters || f->depth < KUBE_DEPTH_MAX);
}

static struct kube_filter *any_filter(void)
{
    struct kube_filter f;
    filter = f;
    struct kube_rule *rules = malloc(filter.rules.count * sizeof *rules);
    ASSUME(rules != NULL && filter.rules.count < KUBE_ROOT);
    filter.rules.rules = rules;
    ASSUME(filter.depth >= 1u && filter.depth <= KUBE_DEPTH_MAX && filter.emit_len == 0u);
    ASSUME(filter.failed == STATUS_OK && filter.len <= sizeof filter.buffer);
    ASSUME(filter.rule == KUBE_ROOT || filter.rule < filter.rules.count);
    ASSUME(sound(&filter) && frames_sound(&filter));
    ASSUME(filter.rule == KUBE_ROOT || !rule_keeps(&rules[filter.rule]) ||
           rules[filter.rule].as != 0u);
    return &filter;
}

uint8_t stub_find_rule(const struct kube_filter *f, uint32_t field)
{
    CHECK(field != 0u && f->depth >= 1u);
    uint8_t i = any_u8();
    if (i >= f->rules.count) {
        return KUBE_ROOT;
    }
    const struct kube_rule *rule = &f->rules.rules[i];
    ASSUME(!rule_enters(rule) || f->depth < KUBE_DEPTH_MAX);
    ASSUME(rule->as != 0u || (!rule_keeps(rule) && rule->kind != KUBE_PRESENT));
    return i;
}

void stub_mark_truncated(struct kube_filter *f)
{
    f->frames[0].truncated = any_bool();
}

/* A varint has 1 to 10 bytes, and not more than five below 2^35. */
void stub_varint(struct writer *w, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = any_u8();
    ASSUME(n >= 1u && n <= (value < (UINT64_C(1) << 35) ? 5u : 10u));
    stub_writer_bytes(w, bytes, n);
}

enum step stub_consume_value(struct kube_filter *f, struct reader *in)
{
    CHECK(f->phase == PHASE_VALUE && f->value_left > 0u && reader_left(in) > 0u);
    in->pos += 1u + any_length(reader_left(in) - 1u);
    return STEP_ON;
}

enum step stub_end_field(struct kube_filter *f, struct kube_record *record)
{
    (void)record;
    CHECK(f->depth > 0u && f->phase == PHASE_VALUE && f->value_left == 0u);
    f->phase = PHASE_TAG;
    f->rule = KUBE_ROOT;
    return STEP_ON;
}

enum step stub_end_message(struct kube_filter *f, struct kube_record *record)
{
    (void)record;
    CHECK(f->depth > 0u);
    f->depth--;
    return STEP_ON;
}

/*
 * What is left to do, which each step lessens that goes on: the bytes of the input, then the
 * messages that are open, then the field. A byte opens one message and one field at most.
 */
static size_t left_to_do(const struct kube_filter *f, const struct reader *in)
{
    return (in->len - in->pos) * 4u + f->depth * 2u + (f->phase == PHASE_VALUE ? 1u : 0u);
}

/* A step, as proof_kube_byte, proof_kube_value and proof_kube_end have it. */
enum step stub_filter_step(struct kube_filter *f, struct reader *in, struct kube_record *record)
{
    CHECK(f->failed == STATUS_OK && f->emit_len == 0u && reader_left(in) <= in->len);
    CHECK(kube_filter_valid(f));
    size_t before = left_to_do(f, in);
    in->pos += any_length(reader_left(in));
    f->depth = any_u8() % (KUBE_DEPTH_MAX + 1u);
    f->phase = any_u8() % (PHASE_VALUE + 1u);
    f->len = any_u16();
    f->kept_left = any_u16();
    f->varint_len = any_u8() % VARINT_BYTES_MAX;
    f->rule = KUBE_ROOT;
    enum step step = (enum step)(any_u8() % 4u);
    ASSUME(step == STEP_ON || step == STEP_STARVED || step == STEP_FAILED || step == STEP_RECORD);
    if (step == STEP_FAILED) {
        f->failed = PEER_MALFORMED;
    }
    if (step == STEP_RECORD) {
        f->emit_len = any_u16();
        record->truncated = any_bool();
    }
    ASSUME(kube_filter_valid(f) && (step != STEP_ON || left_to_do(f, in) < before));
    return step;
}

void proof_kube_filter_next(void)
{
    struct kube_filter *f = any_filter();
    /* the record of the call before is still in the buffer */
    uint16_t emitted = any_u16();
    ASSUME(emitted <= sizeof f->buffer - f->len && f->kept_left == 0u);
    f->len = (uint16_t)(f->len + emitted);
    f->emit_len = emitted;
    f->failed = any_bool() ? PEER_MALFORMED : STATUS_OK;
    struct reader in = any_reader(ANY_LENGTH);
    struct kube_record record;
    enum status s = kube_filter_next(f, &in, &record);
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == PEER_MALFORMED);
    CHECK(in.pos <= in.len && kube_filter_valid(f));
    CHECK(f->failed == (s == PEER_MALFORMED ? PEER_MALFORMED : STATUS_OK));
}

void proof_kube_byte(void)
{
    struct kube_filter *f = any_filter();
    struct reader in = any_reader(ANY_LENGTH);
    struct kube_record record;
    size_t before = left_to_do(f, &in);
    enum step step = filter_step(f, &in, &record);
    CHECK(step != STEP_ON || left_to_do(f, &in) < before);
    CHECK(step == STEP_ON || step == STEP_STARVED || step == STEP_FAILED);
    CHECK(in.pos <= in.len);
    CHECK(step == STEP_FAILED || sound(f));
}

void proof_kube_value(void)
{
    struct kube_filter *f = any_filter();
    struct reader in = any_reader(ANY_LENGTH);
    ASSUME(f->phase == PHASE_VALUE && f->value_left > 0u && reader_left(&in) > 0u);
    size_t before = left_to_do(f, &in);
    CHECK(consume_value(f, &in) == STEP_ON && left_to_do(f, &in) < before);
    CHECK(sound(f) && in.pos <= in.len);
}

void proof_kube_end(void)
{
    struct kube_filter *f = any_filter();
    struct kube_record record;
    enum step step;
    struct reader none = {NULL, 0, 0};
    size_t before = left_to_do(f, &none);
    if (any_bool()) {
        ASSUME(f->phase == PHASE_VALUE && f->value_left == 0u && f->kept_left == 0u);
        step = end_field(f, &record);
    } else {
        ASSUME(f->phase == PHASE_TAG && top_frame(f)->left == 0u);
        step = end_message(f, &record);
    }
    CHECK(step == STEP_ON || step == STEP_RECORD);
    CHECK(step != STEP_ON || left_to_do(f, &none) < before);
    CHECK(kube_filter_valid(f));
    CHECK(step != STEP_RECORD || view_within(record.message, view_of(f->buffer, sizeof f->buffer)));
}

void proof_kube_found(void)
{
    struct kube_filter *f = any_filter();
    uint8_t row = find_rule(f, any_u32());
    uint8_t parent = f->frames[f->depth - 1u].rule;
    CHECK(row == KUBE_ROOT || row < f->rules.count);
    CHECK(row == KUBE_ROOT || f->rules.rules[row].parent == parent);
    bool done = kube_filter_done(f);
    enum status s = kube_filter_end(f);
    CHECK(s == STATUS_OK || s == PEER_MALFORMED);
    CHECK(!done && kube_filter_valid(f) && (s == STATUS_OK) == kube_filter_done(f));
}
