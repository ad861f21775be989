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

/* A server that allows no stream yet gets no request, and is asked as soon as it allows one. */
static void test_server_without_streams(void **state)
{
    (void)state;
    begin();
    (void)claim_add(0);
    api.streams_max = 0;
    assert_int_equal(read_list(), RESERVATIONS_WAIT);
    assert_int_equal(api_asked(LISTS), 0);
    api.streams_max = SIM_STREAMS_MAX;
    api.connected = false;
    api_end("connection reset by peer");
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

/* Whether a list of two claims breaks off, at the first of the places where it can. */
static bool breaks_off(bool moves)
{
    bool broken = false;
    for (size_t bytes = 1; bytes < 4000 && !broken; bytes += 7) {
        begin();
        (void)claim_add(0);
        (void)claim_add(1);
        api.moves = moves;
        arrives = bytes;
        broken = read_list() == RESERVATIONS_FAILED;
        arrives = SIZE_MAX;
    }
    return broken;
}

/*
 * A list that breaks off behind a claim that was told is not read again, because the claim would be
 * told twice. The error says why it broke off.
 */
static void test_broken_off_for_good(void **state)
{
    (void)state;
    assert_true(breaks_off(false));
    assert_in_range(list.found, 1, 2);
    assert_int_equal(api_asked(LISTS), 1);
    trouble_has("the list broke off: the connection to the API server ended");
}

/* The same on a connection that the server asked to leave: the error names that reason. */
static void test_broken_off_while_moving(void **state)
{
    (void)state;
    assert_true(breaks_off(true));
    assert_in_range(list.found, 1, 2);
    trouble_has("the list broke off: the API server asked to move to a new connection");
}

/* A server that resets the request, on a connection that stays, is asked again. */
static void test_reset(void **state)
{
    (void)state;
    begin();
    (void)claim_add(0);
    api.claims_reset = true;
    assert_int_equal(read_list(), RESERVATIONS_WAIT);
    trouble_has("the list broke off: the server reset the request");
    assert_in_range(api_asked(LISTS), 2, 20);
    api.claims_reset = false;
    assert_int_equal(read_list(), RESERVATIONS_END);
    assert_int_equal(list.found, 1);
}

/* However many pages a list has, no more requests are sent in a second than the limit allows. */
static void test_many_pages(void **state)
{
    static const uint8_t page[] = {0x0a, 3, 0x1a, 1, 'x'}; /* nothing but a token */
    (void)state;
    begin();
    api.claims_list = view_of(page, sizeof page);
    assert_int_equal(read_list(), RESERVATIONS_WAIT);
    assert_in_range(api_asked(LISTS), LIMIT_MS / 1000u,
                    (LIMIT_MS / 1000u + 1u) * API_REQUESTS_PER_SECOND);
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

/* --- lists as no honest server sends them --- */

/* One claim of such a list. */
struct listed {
    const char *uid;
    const char *driver[2]; /* of its results; NULL: none */
    const char *pool[2];
    const char *consumer[2]; /* NULL: none */
    size_t parameters;       /* length of those of a configuration; 0: there is none */
};

static struct view message_of(uint8_t *to, size_t cap, unsigned field, struct view content)
{
    struct writer w = writer_of(to, cap);
    put_view(&w, field, content);
    assert_false(w.full);
    return writer_view(&w);
}

static void put_listed(struct writer *list_w, const struct listed *c)
{
    static uint8_t meta_bytes[256];
    static uint8_t devices_bytes[32768];
    static uint8_t one[32768];
    static uint8_t two[32768];
    static uint8_t claim_bytes[32768];
    static char json[20000];
    struct writer meta = writer_of(meta_bytes, sizeof meta_bytes);
    struct writer devices = writer_of(devices_bytes, sizeof devices_bytes);
    struct writer claim = writer_of(claim_bytes, sizeof claim_bytes);
    put_str(&meta, 1, "claim-a");
    put_str(&meta, 3, "ml");
    put_str(&meta, 5, c->uid);
    put_view(&claim, 1, writer_view(&meta));
    for (unsigned i = 0; i < 2 && c->driver[i] != NULL; i++) {
        struct writer result = writer_of(one, sizeof one);
        put_str(&result, 1, "r");
        put_str(&result, 2, c->driver[i]);
        put_str(&result, 3, c->pool[i]);
        put_str(&result, 4, "d");
        put_view(&devices, 1, writer_view(&result));
    }
    if (c->parameters > 0) {
        memset(json, ' ', c->parameters);
        json[c->parameters] = '\0';
        struct writer opaque = writer_of(one, sizeof one);
        put_str(&opaque, 1, DRIVER_NAME);
        put_view(&opaque, 2, message_of(two, sizeof two, 1, view_text(json)));
        struct view configuration = message_of(two, sizeof two, 1, writer_view(&opaque));
        put_view(&devices, 2, message_of(one, sizeof one, 3, configuration));
    }
    struct writer status = writer_of(two, sizeof two);
    put_view(&status, 1, message_of(one, sizeof one, 1, writer_view(&devices)));
    for (unsigned i = 0; i < 2 && c->consumer[i] != NULL; i++) {
        struct writer consumer = writer_of(one, sizeof one);
        put_str(&consumer, 3, "pods");
        put_str(&consumer, 4, c->consumer[i]);
        put_view(&status, 2, writer_view(&consumer));
    }
    put_view(&claim, 3, writer_view(&status));
    put_view(list_w, 2, writer_view(&claim));
}

/* The list of these claims, with its metadata behind them unless the token is NULL. */
static void list_is(const struct listed *c, size_t count, const char *token)
{
    static uint8_t bytes[60000];
    uint8_t meta_bytes[512];
    struct writer w = writer_of(bytes, sizeof bytes);
    struct writer meta = writer_of(meta_bytes, sizeof meta_bytes);
    for (size_t i = 0; i < count; i++) {
        put_listed(&w, &c[i]);
    }
    if (token != NULL) {
        put_str(&meta, 2, "42");
        put_str(&meta, 3, token);
        put_view(&w, 1, writer_view(&meta));
    }
    assert_false(w.full);
    api.claims_list = writer_view(&w);
}

#define UID "c1a10000-0000-4000-8000-000000000001"
#define GOOD {UID, {DRIVER_NAME}, {"pool"}, {"pod-a"}, 0}

/* A list that is not understood to its last byte never ends as a whole one. */
static void test_unreadable_lists(void **state)
{
    static const struct {
        struct listed claim;
        const char *token;
    } rows[] = {
        {{"\xff", {DRIVER_NAME}, {"pool"}, {"pod-a"}, 0}, ""},
        {{UID UID, {DRIVER_NAME}, {"pool"}, {"pod-a"}, 0}, ""},
        {{UID, {"\xff"}, {"pool"}, {"pod-a"}, 0}, ""},
        {{UID, {DRIVER_NAME}, {"pool"}, {"\xff"}, 0}, ""},
        {GOOD, "\xff"},
        {GOOD, NULL},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct listed two[] = {rows[i].claim, GOOD};
        begin();
        list_is(two, 2, rows[i].token);
        assert_int_equal(read_list(), RESERVATIONS_FAILED);
        trouble_has("the response is not a readable ResourceClaimList");
        assert_int_equal(api_asked(LISTS), 1);
    }
    begin();
    api.claims_list = view_of("\x12\0", 2); /* one claim of nobody, and no metadata */
    assert_int_equal(read_list(), RESERVATIONS_FAILED);
    assert_int_equal(list.found, 0);
    begin();
    api.claims_list = view_of("\x12\x05", 2);
    assert_int_equal(read_list(), RESERVATIONS_FAILED);
    trouble_has("the response is not a readable ResourceClaimList");
}

static void test_impossible_token(void **state)
{
    static const struct listed claims[] = {GOOD};
    static char token[2000];
    (void)state;
    memset(token, '%', 480); /* each takes three bytes of a path */
    begin();
    list_is(claims, 1, token);
    assert_int_equal(read_list(), RESERVATIONS_FAILED);
    trouble_has("the token of the next page is not valid");
    assert_int_equal(list.found, 1);
}

/* The first device of this driver and the first pod stand for all; the rest may be long. */
static void test_first_of_several(void **state)
{
    static const struct listed claims[] = {
        {UID, {DRIVER_NAME, DRIVER_NAME}, {"pool-a", "pool-b"}, {"pod-a", "pod-b"}, 0},
        {UID, {"gpu.example.com", DRIVER_NAME}, {"pool-a", "pool-b"}, {"pod-c"}, 19000},
        {UID, {"gpu.example.com"}, {"pool-a"}, {"pod-d"}, 0},
    };
    (void)state;
    begin();
    list_is(claims, 3, "");
    assert_int_equal(read_list(), RESERVATIONS_END);
    assert_int_equal(list.found, 2);
    assert_string_equal(seen[0].pool, "pool-a");
    assert_string_equal(seen[0].consumer, "pod-a");
    assert_int_equal(seen[0].consumers, 2);
    assert_string_equal(seen[1].pool, "pool-b");
    assert_string_equal(seen[1].consumer, "pod-c");
}

/* Claims for EFA devices count with --efa alone. */
static void test_claims_of_efa(void **state)
{
    static const struct listed claims[] = {{UID, {"efa.test"}, {"pool"}, {"pod-a"}, 0},
                                           GOOD,
                                           {UID, {"gpu.test"}, {"pool"}, {"pod-b"}, 0}};
    (void)state;
    begin();
    text_set(world.settings.efa_driver, sizeof world.settings.efa_driver, "efa.test");
    list_is(claims, 3, "");
    assert_int_equal(read_list(), RESERVATIONS_END);
    assert_int_equal(list.found, 1);
    begin();
    text_set(world.settings.efa_driver, sizeof world.settings.efa_driver, "efa.test");
    world.settings.efa = true;
    list_is(claims, 3, "");
    assert_int_equal(read_list(), RESERVATIONS_END);
    assert_int_equal(list.found, 2);
}

/* The list is under way: nothing failed, and the time was short. */
static void test_short_time(void **state)
{
    (void)state;
    begin();
    (void)claim_add(0);
    assert_int_equal(read_list(), RESERVATIONS_END);
    list.state = RESERVATIONS_WAIT;
    trouble_has("the list is too long for the time");
    remedy_is(REACH);
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
        cmocka_unit_test(test_server_without_streams),
        cmocka_unit_test(test_unreachable_server),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_outdated_token),
        cmocka_unit_test(test_broken_off),
        cmocka_unit_test(test_broken_off_for_good),
        cmocka_unit_test(test_broken_off_while_moving),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_many_pages),
        cmocka_unit_test(test_longest_message),
        cmocka_unit_test(test_unreadable_lists),
        cmocka_unit_test(test_impossible_token),
        cmocka_unit_test(test_first_of_several),
        cmocka_unit_test(test_claims_of_efa),
        cmocka_unit_test(test_short_time),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_longest_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
