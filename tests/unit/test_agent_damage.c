/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the API server sends comes otherwise than it was sent, from a start with a Node, a watch,
 * slices and two claims to a list of claims for a store that was lost: each text as a number, and
 * single bytes. The agent goes on all the same, and in the end prepares the claims and has its
 * slices as wanted.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#include "base/chars.h"

#define BYTES_MAX 65536u

static uint8_t sent[BYTES_MAX]; /* by the API server, without damage */
static size_t passed;           /* bytes so far */
static size_t harm_at;          /* from which byte on; SIZE_MAX: none */
static uint8_t harm_bytes[BYTES_MAX];
static size_t harm_len;

/* Damages what is in one piece. */
static void harm(uint8_t *bytes, size_t n)
{
    if (harm_at == SIZE_MAX) {
        assert_true(passed + n <= sizeof sent);
        memcpy(&sent[passed], bytes, n);
    } else if (harm_at >= passed && harm_at + harm_len <= passed + n) {
        memcpy(&bytes[harm_at - passed], harm_bytes, harm_len);
    }
    passed += n;
}

static void prepare_in_the_end(unsigned count)
{
    bool good = false;
    for (unsigned tries = 0; tries < 40 && !good; tries++) {
        struct view reply = prepare_soon(0, count);
        good = true;
        for (unsigned n = 0; n < count && good; n++) {
            good = reply.len > 0 && prepare_error(reply, n)[0] == '\0';
        }
    }
    if (!good) {
        fail_msg("byte %zu: claims are not prepared\n%s", harm_at, world.log);
    }
}

/* A node comes up, prepares, loses its store, and comes up again. */
static void live(void)
{
    world_new();
    passed = 0;
    world.harm = harm;
    api.lists_claims = true;
    for (unsigned n = 0; n < 2; n++) {
        (void)claim_add(n);
    }
    node_up();
    (void)prepare_soon(0, 2);
    kill_agent();
    disk_clear();
    start();
    register_driver();
    pass(5000);
    world.harm = NULL;
    pass(2 * world.settings.reconcile_ms);
    prepare_in_the_end(2);
    assert_int_equal(held(), 2);
    assert_true(publish_current(world.agent));
    assert_int_equal(api_slices(), 1);
}

static size_t live_well(void)
{
    harm_at = SIZE_MAX;
    live();
    assert_in_range(passed, 1000, sizeof sent);
    return passed;
}

/* Length of the text in the field at this place, as protobuf has it; 0: there is none. */
static size_t text_at(size_t at, size_t all)
{
    size_t len = sent[at + 1u];
    bool text = (sent[at] & 7u) == 2u && sent[at] < 0x80u && len > 0 && len < 0x80u;
    for (size_t i = 0; i < len && text; i++) {
        text = at + 2u + i < all && is_printable(sent[at + 2u + i]);
    }
    return text ? len : 0;
}

/* Whether the same field with the same text came before. */
static bool came_before(size_t at, size_t len)
{
    bool came = false;
    for (size_t i = 0; i + len + 2u <= at && !came; i++) {
        came = memcmp(&sent[i], &sent[at], len + 2u) == 0;
    }
    return came;
}

/* The field as the number 1, and a field that nobody knows for the rest of its bytes. */
static void make_number(size_t at, size_t len)
{
    harm_len = len + 2u;
    memset(harm_bytes, 'x', harm_len);
    harm_bytes[0] = sent[at] & 0xf8u;
    harm_bytes[1] = 1;
    if (len == 1) {
        harm_bytes[1] = 0x81;
        harm_bytes[2] = 0;
    } else {
        harm_bytes[2] = 0x7a;
        harm_bytes[3] = (uint8_t)(len - 2u);
    }
}

static void test_numbers_for_texts(void **state)
{
    (void)state;
    size_t all = live_well();
    unsigned texts = 0;
    for (size_t at = 0; at + 2u < all; at++) {
        size_t len = text_at(at, all);
        if (len > 0 && !came_before(at, len)) {
            make_number(at, len);
            harm_at = at;
            live();
            texts++;
        }
    }
    assert_in_range(texts, 50, 2000);
}

static void test_single_bytes(void **state)
{
    (void)state;
    size_t all = live_well();
    for (size_t at = 0; at < all; at += 307) {
        harm_bytes[0] = sent[at] ^ (uint8_t)(1u << at % 8u);
        harm_len = 1;
        harm_at = at;
        live();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_for_texts),
        cmocka_unit_test(test_single_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
