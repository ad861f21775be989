/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of the kubelet's socket that are no protobuf, or another protobuf than is meant, and
 * deadlines that leave no time: each is answered at once, and the next call is served as ever.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

static void begin(void)
{
    world_new();
    (void)claim_add(0);
    node_up();
}

static void test_unreadable_requests(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } rows[] = {
        {"\x00", 1},       /* no field has the number 0 */
        {"\x80", 1},       /* a tag that does not end */
        {"\x08\x01", 2},   /* the claims as a number */
        {"\x0a\x05xx", 4}, /* a claim that is longer than the request */
        {"\x0a\xff\xff\xff\xff\x0f", 6},
        {"\x0a\x02\x08\x01", 4}, /* a claim whose namespace is a number */
        {"\x0a\x03\x0a\x05x", 5},
        {"\x12\x05x", 3}, /* another field that is longer than the request */
        {"\x0b\x0c", 2},  /* a group */
    };
    (void)state;
    begin();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct peer *p = service_open();
        struct view bytes = view_of((const uint8_t *)rows[i].bytes, rows[i].len);
        call_refused(p, PREPARE, bytes, GRPC_INVALID_ARGUMENT);
        call_refused(p, UNPREPARE, bytes, GRPC_INVALID_ARGUMENT);
        peer_close(p);
    }
    assert_int_equal(held(), 0);
    prepare_well(0, 1);
    unprepare_well(0, 1);
}

/* What a later kubelet may say beside the claims is passed over. */
static void test_fields_of_others(void **state)
{
    uint8_t bytes[2048];
    struct writer w = writer_of(bytes, sizeof bytes);
    (void)state;
    begin();
    writer_bytes(&w, "\x10\x01", 2);
    writer_append(&w, claims_request(0, 1));
    writer_bytes(&w, "\x7a\x02xx", 4);
    assert_false(w.full);
    struct peer *p = service_open();
    struct view reply = call_now(p, PREPARE, writer_view(&w));
    assert_string_equal(prepare_error(reply, 0), "");
    assert_int_equal(held(), 1);
    peer_close(p);
}

static void test_deadlines(void **state)
{
    static const char *const timeouts[] = {"1m", "100m", "1S", "10S", "1H"};
    (void)state;
    for (size_t i = 0; i < sizeof timeouts / sizeof timeouts[0]; i++) {
        begin();
        struct peer *p = service_open();
        struct peer_call *c = call_send_within(p, PREPARE, claims_request(0, 1), timeouts[i]);
        settle();
        assert_true(c->ended);
        assert_int_equal(c->status, GRPC_OK);
        assert_int_equal(held(), 1);
        peer_close(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unreadable_requests),
        cmocka_unit_test(test_fields_of_others),
        cmocka_unit_test(test_deadlines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
