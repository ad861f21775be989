/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a claim's object, one by one as the field filter hands them over: what cannot be
 * read fails the claim where its devices depend on it, and is ignored elsewhere.
 */
#include "tests/unit/node/claim_builder.h"

#include "agent/claim/fetch.h"
#include "agent/state.h"
#include "generated/kube_rules.h"

static uint8_t bytes[4096];

struct field {
    unsigned number;
    const char *text; /* NULL: no more fields */
};

/* A record with these texts as its fields; valid until the next call. */
static struct view record_of(const struct field *fields)
{
    struct writer w = writer_of(bytes, sizeof bytes);
    for (; fields->text != NULL; fields++) {
        writer_u8(&w, (uint8_t)(fields->number << 3 | 2u));
        writer_u8(&w, (uint8_t)strlen(fields->text));
        writer_text(&w, fields->text);
    }
    assert_false(w.full);
    return writer_view(&w);
}

#define RECORD(...) record_of((const struct field[]){__VA_ARGS__, {0, NULL}})

static void feed(unsigned kind, struct view message)
{
    const struct kube_record record = {.record = (uint8_t)kind, .message = message};
    fetch_feed(&b, &record);
}

static void feed_device(const char *request, const char *device)
{
    feed(KUBE_RESULT, RECORD({1, request}, {2, DRIVER_NAME}, {3, "node-1"}, {4, device}));
}

static void failed_with(const char *why)
{
    assert_int_not_equal(b.failed, STATUS_OK);
    if (strstr(b.why, why) == NULL) {
        fail_msg("no \"%s\" in: %s", why, b.why);
    }
}

static void test_unreadable_identity(void **state)
{
    (void)state;
    feed(KUBE_META, RECORD({3, UID}));
    assert_true(b.is_wanted);
    (void)setup(state);
    feed(KUBE_META, RECORD({3, UID "\xff"}));
    assert_false(b.is_wanted);
}

/* Admin access that is stated and false is the same as none. */
static void test_stated_admin_access(void **state)
{
    (void)state;
    struct view plain = RECORD({1, "a"}, {2, DRIVER_NAME}, {3, "node-1"}, {4, "neuron-device-3"});
    bytes[plain.len] = 5u << 3;
    bytes[plain.len + 1] = 0;
    feed(KUBE_RESULT, view_of(bytes, plain.len + 2));
    assert_int_equal(b.record.count, 1);
    assert_false(b.record.result[0].admin_access);
    bytes[plain.len + 1] = 1;
    feed(KUBE_RESULT, view_of(bytes, plain.len + 2));
    assert_int_equal(b.record.count, 2);
    assert_true(b.record.result[1].admin_access);
    assert_int_equal(b.failed, STATUS_OK);
}

static void test_unreadable_results(void **state)
{
    (void)state;
    feed_device("a", "neuron-device-\xff");
    failed_with("an allocation result is not readable: ");
    (void)setup(state);
    feed(KUBE_CONFIG, RECORD({3, "\xff"}));
    failed_with("a configuration entry is not readable: ");
}

/* nanopb keeps a number on its stack while its field is decoded: no view of it may stay. */
static void test_numbers_for_texts(void **state)
{
    static const uint8_t number[] = {2u << 3, 56};
    static const uint8_t parameters[] = {4u << 3, 1};
    static const uint8_t too_long[] = {2u << 3 | 2u, 5, 'a'};
    (void)state;
    feed(KUBE_CONFIG, view_of(number, sizeof number));
    failed_with("a configuration entry is not readable: a field has the wrong wire type");
    assert_int_equal(b.configs, 0);
    (void)setup(state);
    feed(KUBE_CONFIG, view_of(parameters, sizeof parameters));
    failed_with("a configuration entry is not readable: a field has the wrong wire type");
    (void)setup(state);
    feed(KUBE_CONFIG, view_of(too_long, sizeof too_long));
    failed_with("a configuration entry is not readable: a field has the wrong wire type");
}

/* A configuration for more requests than a claim has. */
static void test_too_many_requests(void **state)
{
    struct field fields[CONFIG_REQUESTS_MAX + 2u] = {{0, NULL}};
    (void)state;
    for (unsigned count = CONFIG_REQUESTS_MAX; count <= CONFIG_REQUESTS_MAX + 1u; count++) {
        (void)setup(state);
        for (unsigned i = 0; i < count; i++) {
            fields[i] = (struct field){2, "a"};
        }
        feed(KUBE_CONFIG, record_of(fields));
        if (count > CONFIG_REQUESTS_MAX) {
            failed_with("a configuration entry is not readable: ");
        } else {
            assert_null(strstr(b.why, "is not readable"));
        }
    }
}

/* Unreadable capacities, consumers and annotations do not change the values read before. */
static void test_records_that_are_ignored(void **state)
{
    (void)state;
    feed(KUBE_RESULT_CAPACITY, RECORD({1, "cores"}, {2, "2"}));
    assert_int_equal(b.cores, 2);
    feed(KUBE_RESULT_CAPACITY, RECORD({1, "cores"}, {2, "\xff"}));
    assert_int_equal(b.cores, 2);
    feed(KUBE_CONSUMER, RECORD({1, "pods"}, {2, "pod-a"}, {3, UID}));
    assert_string_equal(b.record.consumer.name, "pod-a");
    feed(KUBE_CONSUMER, RECORD({1, "pods"}, {2, "\xff"}, {3, UID}));
    assert_string_equal(b.record.consumer.name, "pod-a");
    b.record.metadata = true;
    feed(KUBE_ANNOTATION, RECORD({1, "resource.kubernetes.io/pod-claim-name"}, {2, "gpu"}));
    assert_string_equal(b.record.pod_claim, "gpu");
    feed(KUBE_ANNOTATION, RECORD({1, "resource.kubernetes.io/pod-claim-name"}, {2, "\xff"}));
    assert_string_equal(b.record.pod_claim, "gpu");
    assert_int_equal(b.failed, STATUS_OK);
}

/* A result is this agent's by its driver and its pool. */
static void test_whose_result(void **state)
{
    static struct agent agent;
    static struct driver driver;
    static struct settings settings;
    const struct {
        const char *driver;
        const char *pool;
        bool ours;
    } rows[] = {
        {DRIVER_NAME, "node-1", true},
        {DRIVER_NAME, "node-2", false},
        {"gpu.example.com", "node-1", false},
        {"\xff", "node-1", false},
    };
    (void)state;
    text_set(driver.name, sizeof driver.name, DRIVER_NAME);
    text_set(settings.node_name, sizeof settings.node_name, "node-1");
    agent.driver = &driver;
    agent.settings = &settings;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        struct view message = RECORD({1, "a"}, {2, rows[i].driver}, {3, rows[i].pool});
        assert_true(fetch_is_ours(&agent, message) == rows[i].ours);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_unreadable_identity, setup),
        cmocka_unit_test_setup(test_stated_admin_access, setup),
        cmocka_unit_test_setup(test_unreadable_results, setup),
        cmocka_unit_test_setup(test_numbers_for_texts, setup),
        cmocka_unit_test_setup(test_too_many_requests, setup),
        cmocka_unit_test_setup(test_records_that_are_ignored, setup),
        cmocka_unit_test_setup(test_whose_result, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
