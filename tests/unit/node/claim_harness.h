/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of claims, CDI files and the store share: a node's devices and claim records, both
 * made by hand.
 */
#ifndef TESTS_CLAIM_HARNESS_H
#define TESTS_CLAIM_HARNESS_H

#include "tests/unit/unit.h"

#include "cfg/identity.h"
#include "dra/claim.h"

#define UID "0d5f3c9a-21bb-4a44-9c41-5a7b1f0e2d33"
#define OTHER_UID "7e1c0f7e-52c3-4d6f-8a61-9f0b3f1f7a10"
#define BOOT_ID "6b1d58d4-7a0f-4c7e-9d3a-2f5a6b7c8d9e"
#define SHARE_ID "c5a5c3c2-9d8e-4b0a-8e58-0f3a5b7b9f01"

static const struct claim_id wanted = {.uid = UID, .namespace_ = "training", .name = "llama-0"};

static const struct board trn2 = {.instance_type = "trn2.48xlarge", .devices = 16};
static const struct board trn1 = {.instance_type = "trn1.2xlarge", .devices = 1};

/* `count` devices whose numbers begin at `first`. */
static inline void fill_devices(struct devices *d, const struct board *board, unsigned first,
                                unsigned count)
{
    memset(d, 0, sizeof *d);
    d->board = board;
    d->lnc_allowed = board_family(board->instance_type)->lnc_allowed;
    (void)snprintf(d->instance_type, sizeof d->instance_type, "%s", board->instance_type);
    (void)snprintf(d->boot_id, sizeof d->boot_id, "%s", BOOT_ID);
    d->count = (uint16_t)count;
    for (unsigned i = 0; i < count; i++) {
        d->device[i].number = (uint16_t)(first + i);
        d->device[i].core_count = board_family(board->instance_type)->cores_per_device;
        (void)snprintf(d->device[i].name, sizeof d->device[i].name, "neuron-device-%u", first + i);
    }
}

static inline void record_begin(struct claim_record *r)
{
    memset(r, 0, sizeof *r);
    r->id = wanted;
    (void)snprintf(r->pool, sizeof r->pool, "node-1");
    (void)snprintf(r->boot_id, sizeof r->boot_id, "%s", BOOT_ID);
}

/* Whether the cores of a part follow one another. */
static inline bool side_by_side(unsigned cores)
{
    unsigned from_first = cores;
    while (from_first != 0u && (from_first & 1u) == 0u) {
        from_first >>= 1u;
    }
    return (from_first & (from_first + 1u)) == 0u;
}

static inline struct claim_result *record_add(struct claim_record *r, const char *request,
                                              unsigned number)
{
    struct claim_result *to = &r->result[r->count];
    assert_true(r->count < RESULTS_MAX);
    r->count++;
    (void)snprintf(to->request, sizeof to->request, "%s", request);
    to->number = (uint16_t)number;
    return to;
}

/* The place of the second of four nodes. */
static inline void record_mode(struct claim_record *r, unsigned mode)
{
    r->ultraserver.mode = (uint8_t)mode;
    (void)snprintf(r->ultraserver.place.server_id, SERVER_ID_CAP, "0123456789abcdef");
    r->ultraserver.place.node_id = 1;
}

/* The longest record of a node's device, for one request. */
static inline void fill_node(struct claim_record *r)
{
    record_begin(r);
    struct claim_result *to = record_add(r, "neurons", 0);
    to->node = true;
    to->ultraserver_mode = 4;
    to->logical_neuron_core = 1;
    r->node_devices = UINT64_MAX;
    record_mode(r, 1);
}

static inline void fill_name(char *text, size_t cap, char c)
{
    memset(text, c, cap - 1);
    text[cap - 1] = 0;
}

/* Every text and number at its longest, every result in a request of its own. */
static inline void fill_longest(struct claim_record *r)
{
    memset(r, 0, sizeof *r);
    fill_name(r->id.uid, sizeof r->id.uid, 'u');
    fill_name(r->id.namespace_, sizeof r->id.namespace_, 's');
    fill_name(r->id.name, sizeof r->id.name, 'n');
    fill_name(r->pool, sizeof r->pool, 'p');
    fill_name(r->boot_id, sizeof r->boot_id, 'b');
    fill_name(r->consumer.name, sizeof r->consumer.name, 'd');
    fill_name(r->consumer.uid, sizeof r->consumer.uid, 'i');
    r->zero_numbering = true;
    r->first_number = DEVICES_MAX - RESULTS_MAX;
    r->count = RESULTS_MAX;
    for (unsigned i = 0; i < RESULTS_MAX; i++) {
        struct claim_result *to = &r->result[i];
        fill_name(to->request, sizeof to->request, 'r');
        to->request[0] = (char)('a' + i / 26);
        to->request[1] = (char)('a' + i % 26);
        fill_name(to->share_id, sizeof to->share_id, 'h');
        to->number = (uint16_t)(DEVICES_MAX - RESULTS_MAX + i);
        to->logical_neuron_core = UINT8_MAX;
        to->ultraserver_mode = UINT8_MAX;
        to->admin_access = true;
    }
    record_mode(r, ULTRASERVER_MODE_MAX);
    r->ultraserver.place.node_id = UINT8_MAX;
}

static inline void assert_same_record(const struct claim_record *a, const struct claim_record *b)
{
    assert_string_equal(a->id.uid, b->id.uid);
    assert_string_equal(a->id.namespace_, b->id.namespace_);
    assert_string_equal(a->id.name, b->id.name);
    assert_string_equal(a->pool, b->pool);
    assert_string_equal(a->boot_id, b->boot_id);
    assert_string_equal(a->consumer.name, b->consumer.name);
    assert_string_equal(a->consumer.uid, b->consumer.uid);
    assert_int_equal(a->zero_numbering, b->zero_numbering);
    assert_int_equal(a->first_number, b->first_number);
    assert_int_equal(a->rebuilt, b->rebuilt);
    assert_int_equal(a->metadata, b->metadata);
    assert_string_equal(a->pod_claim, b->pod_claim);
    assert_int_equal(a->count, b->count);
    assert_true(a->node_devices == b->node_devices);
    assert_true(ultraserver_use_same(&a->ultraserver, &b->ultraserver));
    for (unsigned i = 0; i < a->count; i++) {
        const struct claim_result *x = &a->result[i];
        const struct claim_result *y = &b->result[i];
        assert_string_equal(x->request, y->request);
        assert_string_equal(x->share_id, y->share_id);
        assert_int_equal(x->number, y->number);
        assert_int_equal(x->node, y->node);
        assert_int_equal(x->logical_neuron_core, y->logical_neuron_core);
        assert_int_equal(x->ultraserver_mode, y->ultraserver_mode);
        assert_int_equal(x->admin_access, y->admin_access);
        assert_int_equal(x->cores, y->cores);
    }
}

#endif
