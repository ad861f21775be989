/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, results, configurations and consumers of a claim, of any length, for a builder in any
 * state that claim_begin and the calls after it allow. Texts that WRITE appends matter to no check.
 */
#include "dra_stubs.h"

#include "dra/claim.c"

static struct claim_builder builder;
static struct devices table;
static struct board board;
static struct claim_id wanted;

/* A text of the agent, which ends in NUL inside its array; its bytes matter to no check. */
size_t stub_text_length(const char *text)
{
    size_t len = any_length(REQUEST_CAP - 1u);
    CHECK(__CPROVER_r_ok(text, 1));
    ASSUME(__CPROVER_r_ok(text, len + 1u));
    return len;
}

/* Proof claim_names. */
bool stub_name_like(struct view v, bool dots)
{
    (void)dots;
    stub_check_view(v);
    return v.len > 0u && any_bool();
}

bool stub_neuron_device_number(struct view name, uint64_t last, uint64_t *number)
{
    stub_check_view(name);
    uint64_t n = any_u64();
    bool good = n <= last && any_bool();
    *number = good ? n : *number;
    return good;
}

/* Proof device_find. */
int stub_devices_find(const struct devices *d, struct view name)
{
    stub_check_view(name);
    CHECK(d->count <= DEVICES_MAX);
    unsigned at = any_u16();
    return (at < d->count) ? (int)at : -1;
}

bool stub_devices_are_node(const struct devices *d)
{
    return d->count > 0u && any_bool();
}

/* What add_device asserts and reads. */
void stub_add_device(struct claim_builder *b, const struct claim_result_in *in, int device)
{
    stub_check_view(in->request);
    stub_check_view(in->share_id);
    CHECK(b->record.count < RESULTS_MAX && device < (int)b->devices->count);
}

/* Proof config_decode. */
enum status stub_config_decode(struct view json, struct config *out, struct writer *why)
{
    stub_check_view(json);
    CHECK(why->len <= why->cap);
    why->len += any_length(why->cap - why->len);
    if (any_bool()) {
        return any_bool() ? PEER_MALFORMED : PEER_UNSUPPORTED;
    }
    struct config c = {.kind = any_bool() ? CONFIG_NEURON : CONFIG_ULTRASERVER,
                       .api_version = "v1",
                       .value = any_u8()};
    ASSUME(c.value > 0u && c.value < 8u);
    *out = c;
    return STATUS_OK;
}

/* I4 of dra/config.h. */
enum status stub_config_check(const struct config *c, unsigned lnc_allowed,
                              const struct ultraserver *ultraserver, const char *instance_type,
                              struct writer *why)
{
    (void)lnc_allowed;
    CHECK(c->value < 8u && __CPROVER_r_ok(ultraserver, sizeof *ultraserver));
    CHECK(__CPROVER_r_ok(instance_type, 1) && why->len <= why->cap);
    return any_bool() ? STATUS_OK : PEER_UNSUPPORTED;
}

uint32_t stub_covered_results(const struct claim_builder *b, const struct claim_config_in *in)
{
    CHECK(b->record.count <= RESULTS_MAX && in->requests <= CONFIG_REQUESTS_MAX);
    return any_u32() & ((UINT32_C(1) << b->record.count) - 1u);
}

void stub_apply_config(struct claim_builder *b, uint32_t mask, const struct config *c,
                       uint8_t source, bool named)
{
    (void)mask;
    (void)named;
    CHECK(b->record.count <= RESULTS_MAX && (unsigned)c->kind < 2u && source > 0u);
}

/* claim_devices_same without the devices: it compares as many results as both records have. */
bool stub_devices_same(const struct claim_record *x, const struct claim_record *y)
{
    CHECK(x->count <= RESULTS_MAX && y->count <= RESULTS_MAX);
    return x->count == y->count && any_bool();
}

bool stub_text_is(const char *text, const char *word)
{
    CHECK(__CPROVER_r_ok(text, 1) && __CPROVER_r_ok(word, 1));
    return any_bool();
}

static struct claim_builder *any_builder(void)
{
    builder.devices = &table;
    builder.pool = "node";
    builder.driver = "driver";
    builder.wanted = &wanted;
    builder.cores = any_u8();
    builder.configs = any_unsigned();
    builder.failed = any_bool() ? STATUS_OK : PEER_MALFORMED;
    builder.record.count = any_u8();
    builder.record.driver = any_bool() ? DRIVER_NEURON : DRIVER_EFA;
    table.driver = builder.record.driver;
    table.count = any_u16();
    table.unknown = any_bool();
    table.ultraserver.member = any_bool();
    table.board = any_bool() ? &board : NULL;
    board.devices = any_u8();
    ASSUME(board.devices > 0u); /* test_boards checks it of each row */
    builder.record.consumer.kind = CONSUMER_POD;
    builder.why[CLAIM_ERROR_CAP - 1u] = '\0'; /* claim_begin clears it */
    ASSUME(table.count <= DEVICES_MAX);       /* devices_valid */
    ASSUME(builder.record.count <= RESULTS_MAX && builder.configs < ANY_LENGTH);
    return &builder;
}

static struct claim_result_in any_result(void)
{
    return (struct claim_result_in){.request = any_view(ANY_LENGTH),
                                    .driver = any_view(ANY_LENGTH),
                                    .pool = any_view(ANY_LENGTH),
                                    .device = any_view(ANY_LENGTH),
                                    .share_id = any_view(ANY_LENGTH),
                                    .admin_access = any_bool()};
}

static struct claim_config_in any_config(void)
{
    static struct claim_config_in in;
    in.source = any_view(ANY_LENGTH);
    in.driver = any_view(ANY_LENGTH);
    in.parameters = any_view(ANY_LENGTH);
    in.truncated = any_bool();
    in.requests = any_unsigned();
    struct view names = any_view(ANY_LENGTH);
    for (unsigned i = 0; i < CONFIG_REQUESTS_MAX; i++) {
        in.request[i] = view_first(names, any_length(ANY_LENGTH));
    }
    ASSUME(in.requests <= CONFIG_REQUESTS_MAX); /* the decoder keeps no more */
    return in;
}

void proof_claim_names(void)
{
    struct view v = any_view(ANY_LENGTH);
    bool label = claim_label_like(v);
    CHECK(!label || (v.len > 0u && v.len < NAMESPACE_CAP && v.data[0] != '-'));
    bool name = claim_name_like(v);
    CHECK(!name || (v.len > 0u && v.data[0] != '-'));
}

void proof_claim_requests(void)
{
    struct view v = any_view(ANY_LENGTH);
    CHECK(!request_like(v) || v.len > 0u);
    CHECK(share_like(v) || v.len > 0u);
    struct view request = any_view(ANY_LENGTH);
    CHECK(!name_covers(v, request) || v.len <= request.len);
}

/* The first failure stays, and its text ends in NUL. */
void proof_claim_failures(void)
{
    struct claim_builder *b = any_builder();
    struct claim_result_in in = any_result();
    enum status before = b->failed;
    switch (any_u8()) {
    case 0:
        claim_malformed(b, "what");
        break;
    case 1:
        unknown_device(b, in.device);
        break;
    case 2:
        foreign_pool(b, &in);
        break;
    case 3:
        fail_duplicate(b, &in);
        break;
    case 4:
        refuse_config(b, "what");
        break;
    case 5:
        unknown_source(b, in.pool);
        break;
    default:
        no_part(b, "what");
        break;
    }
    CHECK(b->failed != STATUS_OK && (before == STATUS_OK || b->failed == before));
    CHECK(b->why[CLAIM_ERROR_CAP - 1u] == '\0');
}

void proof_claim_meta(void)
{
    struct claim_builder *b = any_builder();
    enum status before = b->failed;
    claim_meta(b, any_view(ANY_LENGTH));
    CHECK(b->seen_meta && (b->is_wanted ? b->failed == before : b->failed != STATUS_OK));
    claim_allocated(b);
    CHECK(b->allocated);
}

void proof_claim_capacity(void)
{
    struct claim_builder *b = any_builder();
    uint8_t before = b->cores;
    struct view key = any_view(ANY_LENGTH);
    claim_capacity(b, key, any_view(ANY_LENGTH));
    CHECK(key.len == strlen(CORES_CAPACITY) || b->cores == before);
}

void proof_claim_result(void)
{
    struct claim_builder *b = any_builder();
    struct claim_result_in in = any_result();
    claim_result_add(b, &in);
    CHECK(b->record.count <= RESULTS_MAX);
}

void proof_claim_covered(void)
{
    struct claim_builder *b = any_builder();
    struct claim_config_in in = any_config();
    uint32_t mask = covered_results(b, &in);
    CHECK((mask >> b->record.count) == 0u);
}

void proof_claim_config(void)
{
    struct claim_builder *b = any_builder();
    struct claim_config_in in = any_config();
    enum status before = b->failed;
    unsigned configs = b->configs;
    claim_config_add(b, &in);
    CHECK(b->configs == configs + 1u && (before == STATUS_OK || b->failed == before));
    CHECK(b->why[CLAIM_ERROR_CAP - 1u] == '\0' && b->refused_result < RESULTS_MAX);
}

void proof_claim_keep_lnc(void)
{
    static struct claim_record before;
    struct claim_builder *b = any_builder();
    uint8_t lnc = b->record.result[0].logical_neuron_core;
    before.count = any_u8();
    ASSUME(before.count <= RESULTS_MAX);
    before.result[0].logical_neuron_core = any_u8();
    b->lnc_source[0] = any_u8();
    claim_keep_lnc(b, &before);
    CHECK(b->record.count == 0u || b->lnc_source[0] == 0u ||
          b->record.result[0].logical_neuron_core == lnc);
    CHECK(b->record.count == before.count || b->record.result[0].logical_neuron_core == lnc);
}

void proof_claim_consumer(void)
{
    struct claim_builder *b = any_builder();
    claim_consumer(b, any_view(ANY_LENGTH), any_view(ANY_LENGTH), any_view(ANY_LENGTH));
    CHECK(b->record.consumer.kind < (uint8_t)CONSUMER_KINDS);
}
