/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of claims that somebody holds, as `reservations` reads it: what counts, on how many
 * pages, in which version, and that nothing but a whole list says "none".
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#include "agent/commands/reservations.h"
#include "command/command.h"

#define LISTS "GET /apis/resource.k8s.io/v1/resourceclaims?limit="
#define LIMIT_MS 30000u

static struct reservations list;
static struct claim_reservation seen[API_CLAIMS];

/* How much of the response to a list arrives before the connection is lost; SIZE_MAX: all. */
static size_t arrives = SIZE_MAX;

/* The response to the list, as far as `arrives`. */
static bool cut_to_agent(void)
{
    size_t n = 0;
    api_pump(world.now_ms);
    if (!move_bytes(api_h2(), agent_link_rx(world.agent, LINK_API), arrives, &n)) {
        return false;
    }
    agent_link_rx_commit(world.agent, LINK_API, n);
    arrives -= n;
    if (arrives == 0) {
        (void)reservations_step(world.agent, &list);
        arrives = SIZE_MAX;
        api_end("reset by peer");
    }
    return true;
}

/* One turn at one moment; whether anything moved. */
static bool turn(void)
{
    bool moved = false;
    take_log();
    enum agent_order order = agent_next_order(world.agent);
    for (; order != ORDER_NONE; order = agent_next_order(world.agent)) {
        carry_out(order);
        moved = true;
    }
    moved = agent_to_api() || moved;
    bool cut = arrives != SIZE_MAX && api_asked(LISTS) > 0;
    return (cut ? cut_to_agent() : api_to_agent()) || moved;
}

/* Steps to the end of the list, or of the time: WAIT. */
static enum reservations_state read_list(void)
{
    uint64_t end = world.now_ms + LIMIT_MS;
    for (unsigned i = 0; i < TURNS_MAX; i++) {
        enum reservations_state state = reservations_step(world.agent, &list);
        if (state == RESERVATIONS_CLAIM) {
            assert_in_range(list.found, 1, API_CLAIMS);
            seen[list.found - 1u] = list.claim;
        } else if (state != RESERVATIONS_WAIT) {
            return state;
        } else if (!turn()) {
            uint64_t at = reservations_deadline(world.agent, &list);
            if (at >= end) {
                return RESERVATIONS_WAIT;
            }
            set_time(at > world.now_ms ? at : world.now_ms);
        }
    }
    fail_msg("turns without end");
    return RESERVATIONS_WAIT;
}

static void begin(void)
{
    static struct agent *memory;
    world_new();
    if (memory != NULL) {
        memset((void *)memory, 0, sizeof(struct agents));
    }
    memset(&list, 0, sizeof list);
    memory = agent_init(&world.settings, &disk_files, 42, world.now_ms, WALL_MS(world.now_ms));
    world.agent = memory;
    api.lists_claims = true;
    reservations_init(world.agent, &list);
}

#define REACH "; see that the API server runs and can be reached, and try again"

static void remedy_is(const char *text)
{
    assert_string_equal(reservations_remedy(world.agent, &list), text);
}

static void trouble_has(const char *words)
{
    const char *why = reservations_trouble(world.agent, &list);
    if (strstr(why, words) == NULL) {
        fail_msg("no \"%s\" in: %s", words, why);
    }
}

static void test_none(void **state)
{
    (void)state;
    begin();
    assert_int_equal(read_list(), RESERVATIONS_END);
    assert_int_equal(list.found, 0);
    begin();
    claim_add(0)->unreserved = true;
    claim_add(1)->unallocated = true;
    assert_int_equal(read_list(), RESERVATIONS_END);
    assert_int_equal(list.found, 0);
    assert_int_equal(api_asked(LISTS), 1);
}

/* Whatever its node, and whether a pod or a group of pods waits for it. */
static void test_some(void **state)
{
    (void)state;
    begin();
    (void)claim_add(0);
    claim_add(1)->unreserved = true;
    claim_add(2)->result[0].pool = "another-node";
    claim_add(3)->for_group = true;
    assert_int_equal(read_list(), RESERVATIONS_END);
    assert_int_equal(list.found, 3);
    assert_string_equal(seen[0].id.namespace_, "ml");
    assert_string_equal(seen[0].id.name, "claim-0");
    assert_string_equal(seen[0].pool, NODE_NAME);
    assert_string_equal(seen[0].resource, "pods");
    assert_string_equal(seen[0].consumer, "claim-0");
    assert_int_equal(seen[0].consumers, 1);
    assert_string_equal(seen[1].pool, "another-node");
    assert_string_equal(seen[2].resource, "podgroups");
}

static void test_older_version(void **state)
{
    (void)state;
    begin();
    (void)claim_add(0);
    api.served = SERVES(API_V1BETA1);
    assert_int_equal(read_list(), RESERVATIONS_END);
    assert_int_equal(list.found, 1);
}

static void test_forbidden(void **state)
{
    (void)state;
    begin();
    api.claims_http = 403;
    assert_int_equal(read_list(), RESERVATIONS_FAILED);
    assert_int_equal(api_asked(LISTS), 1);
    trouble_has("HTTP 403 ");
    remedy_is("; see that the account may list resourceclaims");
}

/* A token that is not accepted is no matter of roles. */
static void test_unauthorized(void **state)
{
    (void)state;
    begin();
    api.claims_http = 401;
    assert_int_equal(read_list(), RESERVATIONS_FAILED);
    trouble_has(API_TOKEN_REMEDY);
    remedy_is(""); /* the token is at fault: neither the network nor a role */
}

/* What passes by itself is asked for again, until whoever waits has enough. */
static void test_busy_server(void **state)
{
    (void)state;
    begin();
    (void)claim_add(0);
    api.claims_http = 503;
    assert_int_equal(read_list(), RESERVATIONS_WAIT);
    assert_in_range(api_asked(LISTS), 2, 20);
    trouble_has("HTTP 503 ");
    remedy_is(REACH);
    api.claims_http = 0;
    assert_int_equal(read_list(), RESERVATIONS_END);
    assert_int_equal(list.found, 1);
}

static void test_unreachable_server(void **state)
{
    (void)state;
    begin();
    api.reachable = false;
    assert_int_equal(read_list(), RESERVATIONS_WAIT);
    trouble_has("connection refused");
    remedy_is(REACH);
    begin();
    api.served = 0;
    assert_int_equal(read_list(), RESERVATIONS_WAIT);
    trouble_has("serves none of resource.k8s.io");
    begin();
    world.api_deaf = false;
    api.hangs = true;
    assert_int_equal(read_list(), RESERVATIONS_WAIT);
    assert_int_equal(list.found, 0);
}

static void test_pages(void **state)
{
    (void)state;
    begin();
    (void)claim_add(0);
    fill_cluster();
    assert_int_equal(read_list(), RESERVATIONS_END);
    assert_int_equal(list.found, 1);
    assert_int_equal(api_asked(LISTS), 2);
    assert_int_equal(api_asked(LISTS "500&continue="), 1);
}

/* A token that is too old: the list starts again, unless lines of it would come twice. */
static void test_outdated_token(void **state)
{
    (void)state;
    begin();
    claim_add(0)->unreserved = true;
    fill_cluster();
    api.claims_gone = 1;
    assert_int_equal(read_list(), RESERVATIONS_END);
    assert_int_equal(list.found, 0);
    assert_int_equal(api_asked(LISTS), 4);
    begin();
    (void)claim_add(0);
    assert_non_null(api_claim_store("ml", "claim-0"));
    fill_cluster();
    api.claims_gone = 1;
    assert_int_equal(read_list(), RESERVATIONS_FAILED);
    assert_int_equal(list.found, 1);
    trouble_has("HTTP 410 ");
}

/* Reads the list until so many bytes of it have come. true: a claim has come with them. */
static bool read_part(size_t bytes)
{
    bool claim = false;
    arrives = bytes;
    for (unsigned i = 0; i < TURNS_MAX && arrives != SIZE_MAX && !claim; i++) {
        claim = reservations_step(world.agent, &list) == RESERVATIONS_CLAIM;
        if (!turn() && arrives != SIZE_MAX) {
            uint64_t next = reservations_deadline(world.agent, &list);
            set_time(next > world.now_ms ? next : world.now_ms);
        }
    }
    arrives = SIZE_MAX;
    return claim || list.found > 0;
}

/*
 * A list that breaks off behind a device of ours, in the same claim. The next one has the claim
 * without its device, and nothing of the first one counts.
 */
static void test_broken_off(void **state)
{
    (void)state;
    size_t bytes = 1;
    bool whole = false;
    for (; !whole; bytes += 3) {
        begin();
        claim_add(0)->parameters = "{\"a\":\"what follows the device\"}";
        whole = read_part(bytes);
        api.claim[0].results = 0;
        if (!whole) {
            assert_int_equal(read_list(), RESERVATIONS_END);
            assert_int_equal(list.found, 0);
        }
    }
    assert_in_range(bytes, 100, 2000);
}

/* What the server says fills the text to its last byte, and ends there. */
static void test_longest_message(void **state)
{
    static char message[KUBE_MESSAGE_CAP];
    (void)state;
    memset(message, 'm', sizeof message - 1);
    begin();
    api.claims_http = 403;
    api.claims_message = message;
    assert_int_equal(read_list(), RESERVATIONS_FAILED);
    trouble_has("HTTP 403 mmm");
    assert_int_equal(strlen(reservations_trouble(world.agent, &list)), CLAIM_ERROR_CAP - 1);
}

/* --- lines --- */

static char text[COMMAND_PART_BYTES];

static void test_lines(void **state)
{
    (void)state;
    struct claim_reservation c = {.id = {.namespace_ = "ml", .name = "llama"},
                                  .pool = "node-1",
                                  .resource = "pods",
                                  .consumer = "llama-0",
                                  .consumers = 1};
    struct writer out = writer_of(text, sizeof text);
    command_reservation_text(&c, &out);
    c.consumers = 3;
    text_set(c.consumer, sizeof c.consumer, "a\x1b[2J\"");
    command_reservation_text(&c, &out);
    assert_int_equal(writer_end_text(&out), STATUS_OK);
    assert_string_equal(text,
                        "claim ml/llama on node node-1 is reserved for pods/llama-0\n"
                        "claim ml/llama on node node-1 is reserved for pods/a?[2J? and 2 more\n");
    out = writer_of(text, sizeof text);
    command_reservations_end(0, NULL, &out);
    assert_int_equal(writer_end_text(&out), STATUS_OK);
    assert_string_equal(text, "No claim of neuron.aws.com is reserved.\n");
    out = writer_of(text, sizeof text);
    command_reservations_end(0, "dra.net", &out);
    assert_int_equal(writer_end_text(&out), STATUS_OK);
    assert_string_equal(text, "No claim of neuron.aws.com or dra.net is reserved.\n");
    out = writer_of(text, sizeof text);
    command_reservations_end(2, "dra.net", &out);
    assert_int_equal(writer_end_text(&out), STATUS_OK);
    assert_non_null(strstr(text, "end these pods first"));
    assert_non_null(strstr(text, "--no-hooks"));
    assert_non_null(strstr(text, "Claims: 2\n"));
}

/* The longest names, each byte of them escaped, fit into what the host empties after each claim. */
static void test_longest_document(void **state)
{
    (void)state;
    for (unsigned yaml = 0; yaml < 2; yaml++) {
        struct claim_reservation c;
        memset(&c, 1, sizeof c);
        c.id.uid[UID_CAP - 1u] = 0;
        c.id.namespace_[NAMESPACE_CAP - 1u] = 0;
        c.id.name[NAME_CAP - 1u] = 0;
        c.pool[NAME_CAP - 1u] = 0;
        c.resource[NAMESPACE_CAP - 1u] = 0;
        c.consumer[NAME_CAP - 1u] = 0;
        struct writer out = writer_of(text, COMMAND_PART_BYTES / 2u);
        struct document d = document_of(&out, yaml != 0);
        document_object_begin(&d);
        document_array_begin(&d, "reservations");
        command_reservation_document(&c, &d);
        assert_false(out.full);
        assert_in_range(out.len, 5000, COMMAND_PART_BYTES / 2u);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_some),
        cmocka_unit_test(test_older_version),
        cmocka_unit_test(test_forbidden),
        cmocka_unit_test(test_unauthorized),
        cmocka_unit_test(test_busy_server),
        cmocka_unit_test(test_unreachable_server),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_outdated_token),
        cmocka_unit_test(test_broken_off),
        cmocka_unit_test(test_longest_message),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_longest_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
