/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the assertions of the modules rest on: each invariant of their state, broken by itself, is
 * seen by the module's check, and the state is good again without it.
 */
#include "tests/unit/node/device_harness.h"
#include "tests/unit/wire/h2_harness.h"
#include "wire/grpc.h"
#include "wire/grpc_internal.h"
#include "wire/h2_internal.h"
#include "wire/kube_filter.h"

/* `check` says no while `place` has `value`. */
#define BREAKS(check, place, value)                                                                \
    do {                                                                                           \
        __typeof__(place) kept = (place);                                                          \
        assert_true(check);                                                                        \
        (place) = (__typeof__(place))(value);                                                      \
        if (check) {                                                                               \
            fail_msg("not seen: " #place " = " #value);                                            \
        }                                                                                          \
        (place) = kept;                                                                            \
        assert_true(check);                                                                        \
    } while (0)

static struct conn peer;

static void test_h2_connection(void **state)
{
    (void)state;
    conn_start(&peer, H2_CLIENT);
    struct h2 *c = &peer.h2;
    BREAKS(h2_valid(c), c->rx_pos, c->rx_len + 1);
    BREAKS(h2_valid(c), c->rx_len, c->mem.rx_cap + 1);
    BREAKS(h2_valid(c), c->tx_pos, c->tx_len + 1);
    BREAKS(h2_valid(c), c->tx_len, c->mem.tx_cap + 1);
    BREAKS(h2_valid(c), c->block.carried, c->mem.field_cap + 1);
    BREAKS(h2_valid(c), c->send_window, (int64_t)H2_WINDOW_MAX + 1);
    BREAKS(h2_valid(c), c->recv_window, -1);
    BREAKS(h2_valid(c), c->consumed, (int64_t)c->mem.connection_window + 1 - c->recv_window);
    BREAKS(h2_valid(c), c->block.continuations, H2_CONTINUATIONS_MAX + 1);
    BREAKS(h2_valid(c), c->credit, H2_CREDIT_MAX + 1);
    BREAKS(h2_valid(c), c->charged, H2_CREDIT_MAX + 1);
    BREAKS(h2_valid(c), c->stage, H2_STAGES);
    BREAKS(h2_valid(c), c->peer_frame_max, H2_FRAME_MAX - 1);
}

static void test_h2_stream(void **state)
{
    (void)state;
    uint32_t id = 0;
    conn_start(&peer, H2_CLIENT);
    assert_int_equal(h2_open(&peer.h2, 1, &id), STATUS_OK);
    struct h2 *c = &peer.h2;
    struct h2_stream *s = &c->mem.streams[0];
    assert_int_equal(s->id, id);
    /* A server never opens a stream, so it reserves none. */
    BREAKS(h2_valid(c), c->role, H2_SERVER);
    BREAKS(h2_valid(c), s->id, 2);
    BREAKS(h2_valid(c), s->id, (uint32_t)H2_STREAM_MAX + 2);
    BREAKS(h2_valid(c), s->send_window, (int64_t)H2_WINDOW_MAX + 1);
    BREAKS(h2_valid(c), s->recv_window, (int64_t)H2_WINDOW_MAX + 1);
    BREAKS(h2_valid(c), s->state, H2_STREAM_RESET_DUE + 1);
    assert_int_equal(send_list(&peer, id, false), STATUS_OK);
    /* One that ended on both sides is closed, and its entry free. */
    BREAKS(h2_valid(c), s->flags, H2_STREAM_LOCAL_ENDED | H2_STREAM_REMOTE_ENDED);
}

/* Three literals with incremental indexing (RFC 7541 §6.2.1): a=b, c=d, e=f. */
static void test_hpack_table(void **state)
{
    (void)state;
    static struct hpack_decoder d;
    static const uint8_t block[] = "\x40\x01"
                                   "a\x01"
                                   "b\x40\x01"
                                   "c\x01"
                                   "d\x40\x01"
                                   "e\x01"
                                   "f";
    uint8_t bytes[64];
    hpack_decoder_init(&d, HPACK_TABLE_BYTES);
    struct reader in = reader_of(view_of(block, sizeof block - 1));
    for (unsigned i = 0; i < 3; i++) {
        struct writer scratch = writer_of(bytes, sizeof bytes);
        struct hpack_field field;
        assert_int_equal(hpack_decode(&d, &in, i == 0, &scratch, &field), STATUS_OK);
    }
    assert_int_equal(d.count, 3);
    assert_int_equal(d.used, 3 * (2 + 32));
    BREAKS(hpack_valid(&d), d.max_size, d.allowed_size + 1);
    BREAKS(hpack_valid(&d), d.max_size, d.used - 1);
    BREAKS(hpack_valid(&d), d.allowed_size, HPACK_TABLE_BYTES + 1);
    BREAKS(hpack_valid(&d), d.count, HPACK_ENTRIES_MAX + 1);
    BREAKS(hpack_valid(&d), d.first, HPACK_ENTRIES_MAX);
    BREAKS(hpack_valid(&d), d.used, d.used - 1);
    BREAKS(hpack_valid(&d), d.ring_head, d.ring_head + 1);
    BREAKS(hpack_valid(&d), d.entries[d.first].name_len, 2);
}

static void test_grpc_call(void **state)
{
    (void)state;
    static struct grpc_server s;
    static struct grpc_buffers buffers;
    grpc_init(&s, &buffers, NULL, 0, 0);
    struct grpc_call *call = &s.calls[3];
    BREAKS(grpc_valid(&s), call->serial, 7);
    call->stream = 5;
    call->serial = 7;
    call->state = GRPC_CALL_BODY;
    call->buffer = GRPC_BUFFERS;
    call->message_len = GRPC_SMALL_BYTES;
    BREAKS(grpc_valid(&s), call->stream, 0);
    BREAKS(grpc_valid(&s), call->serial, 0);
    BREAKS(grpc_valid(&s), call->state, GRPC_CALL_STATES);
    BREAKS(grpc_valid(&s), call->buffer, GRPC_BUFFERS + 1);
    BREAKS(grpc_valid(&s), call->message_len, GRPC_SMALL_BYTES + 1);
    BREAKS(grpc_valid(&s), call->buffer, 0); /* lent, but not taken */
    buffers.buffers[0].taken = true;
    call->buffer = 0;
    call->message_len = GRPC_MESSAGE_BYTES_MAX;
    BREAKS(grpc_valid(&s), s.buffers, NULL);
    BREAKS(grpc_valid(&s), call->message_len, GRPC_MESSAGE_BYTES_MAX + 1);
}

/* --- the field filter --- */

static struct kube_rule rows[] = {
    {.parent = KUBE_ROOT, .kind = KUBE_DESCEND, .field = 1},
    {.parent = 0, .kind = KUBE_RECORD, .field = 2, .record = 1},
    {.parent = 1, .kind = KUBE_KEEP, .field = 3, .as = 1},
    {.parent = 1, .kind = KUBE_PRESENT, .field = KUBE_ANY_FIELD, .as = 2},
};

static void test_filter_rules(void **state)
{
    (void)state;
    struct kube_rules rules = {.rules = rows, .count = 4, .top = KUBE_ROOT};
    BREAKS(kube_rules_valid(rules), rules.count, KUBE_ROOT);
    BREAKS(kube_rules_valid(rules), rules.top, 4);
    BREAKS(kube_rules_valid(rules), rules.top, 2); /* nothing lies below what is kept */
    BREAKS(kube_rules_valid(rules), rules.top, 1); /* the record would have begun before */
    BREAKS(kube_rules_valid(rules), rows[0].kind, KUBE_PRESENT + 1);
    BREAKS(kube_rules_valid(rules), rows[2].field, KUBE_ANY_FIELD);
    BREAKS(kube_rules_valid(rules), rows[1].parent, 1);
    BREAKS(kube_rules_valid(rules), rows[3].parent, 2);
    BREAKS(kube_rules_valid(rules), rows[2].as, 0);
    BREAKS(kube_rules_valid(rules), rows[2].parent, 0); /* kept, but in no record */
    rules.top = 0;
    assert_true(kube_rules_valid(rules));
}

static void test_filter_state(void **state)
{
    (void)state;
    static struct kube_filter f;
    struct kube_rules rules = {.rules = rows, .count = 4, .top = KUBE_ROOT};
    kube_filter_init(&f, rules, UINT64_MAX);
    BREAKS(kube_filter_valid(&f), f.depth, KUBE_DEPTH_MAX + 1);
    BREAKS(kube_filter_valid(&f), f.phase, UINT8_MAX);
    BREAKS(kube_filter_valid(&f), f.len, sizeof f.buffer + 1);
    BREAKS(kube_filter_valid(&f), f.emit_len, f.len + 1);
    BREAKS(kube_filter_valid(&f), f.varint_len, UINT8_MAX);
    BREAKS(kube_filter_valid(&f), f.kept_left, sizeof f.buffer + 1);
    BREAKS(kube_filter_valid(&f), f.rule, 4);
}

/* --- the device table --- */

static void test_devices(void **state)
{
    (void)state;
    build_type("trn2.48xlarge");
    struct devices *d = &devices;
    struct device *last = &d->device[d->count - 1];
    BREAKS(devices_valid(d), last->number, DEVICES_MAX);
    BREAKS(devices_valid(d), last->number, 0); /* twice, and out of order */
    BREAKS(devices_valid(d), last->core_count, 256);
    BREAKS(devices_valid(d), last->neighbours, NEIGHBOURS_MAX + 1);
    BREAKS(devices_valid(d), d->instance_type[0], 0); /* a board needs its type */
    BREAKS(devices_valid(d), d->count, DEVICES_MAX + 1);
}

/* A text without its end. */
static void test_device_texts(void **state)
{
    (void)state;
    build_type("trn2.48xlarge");
    struct devices good = devices;
    char *const texts[] = {devices.instance_type, devices.driver_version, devices.boot_id,
                           devices.device[0].name};
    const size_t caps[] = {sizeof devices.instance_type, sizeof devices.driver_version,
                           sizeof devices.boot_id, sizeof devices.device[0].name};
    for (unsigned i = 0; i < 4; i++) {
        devices = good;
        assert_true(devices_valid(&devices));
        memset(texts[i], 'x', caps[i]);
        assert_false(devices_valid(&devices));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_h2_connection), cmocka_unit_test(test_h2_stream),
        cmocka_unit_test(test_hpack_table),   cmocka_unit_test(test_grpc_call),
        cmocka_unit_test(test_filter_rules),  cmocka_unit_test(test_filter_state),
        cmocka_unit_test(test_devices),       cmocka_unit_test(test_device_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
