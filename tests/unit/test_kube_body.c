/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies that are damaged or no protobuf, response headers, and records against nanopb and its
 * limits. */
#include "tests/unit/apiserver/kube_harness.h"

#include <pb_decode.h>

#include "generated/projection.pb.h"

/* --- what is wrong, or no protobuf --- */

static void test_malformed_bodies(void **state)
{
    struct view claim = claim_object();

    (void)state;
    check(KUBE_SHAPE_CLAIM, "200", view_of("", 0), "peer-malformed");
    check(KUBE_SHAPE_CLAIM, "200", view_of("k8s", 3), "peer-malformed");
    check(KUBE_SHAPE_CLAIM, "200", view_text("{\"kind\":\"Status\"}"), "peer-malformed");
    start(KUBE_SHAPE_CLAIM, "200");
    run(&whole, view_first(claim, claim.len - 1), 100, 100);
    assert_non_null(strstr(whole.text, "peer-malformed"));
    /* sticky */
    assert_int_equal(feed(&whole, claim), PEER_MALFORMED);
}

static void check_text(const char *type, const char *body, const char *want)
{
    for (size_t step = 1; step < 9; step++) {
        kube_response_init(&answer, KUBE_SHAPE_SLICE_WATCH);
        header(":status", "429");
        header("content-type", type);
        run(&whole, view_text(body), step, step);
        assert_false(answer.is_protobuf);
        assert_string_equal(whole.text, "ok");
        assert_string_equal(answer.message, want);
    }
}

static void test_bodies_that_are_no_protobuf(void **state)
{
    static char longer[2000];

    (void)state;
    check_text("text/plain; charset=utf-8", "Too many requests, please try again later.\n",
               "Too many requests, please try again later.");
    check_text("text/html", "\r\n\n<html>\n<body>", "<html>");
    check_text("application/json", "{\"a\":\t\"\xc3\xa9\x01\"}", "{\"a\":?\"???\"}");
    check_text("application/vnd.kubernetes.protobufx", "x", "x");
    check_text("", "", "");
    memset(longer, 'l', sizeof longer - 1);
    kube_response_init(&answer, KUBE_SHAPE_NODE);
    header(":status", "502");
    run(&whole, view_text(longer), 100, 100);
    assert_int_equal(strlen(answer.message), KUBE_MESSAGE_CAP - 1);
}

/* A page of text, or nothing, with a status of success: an empty list it is not. */
static void test_success_without_an_object(void **state)
{
    static const char *const bodies[] = {"<html>", ""};

    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        kube_response_init(&answer, KUBE_SHAPE_SLICE_LIST);
        header(":status", "200");
        header("content-type", "text/html");
        run(&whole, view_text(bodies[i]), 2, 2);
        assert_non_null(strstr(whole.text, "peer-malformed"));
    }
}

/* Only a watch that succeeds may end before its first event: every refusal says why. */
static void test_watch_without_a_body(void **state)
{
    (void)state;
    check(KUBE_SHAPE_SLICE_WATCH, "200", view_of("", 0), "ok");
    check(KUBE_SHAPE_SLICE_WATCH, "404", view_of("", 0), "peer-malformed");
    check(KUBE_SHAPE_SLICE_LIST, "404", view_of("", 0), "peer-malformed");
}

/* Whatever is wrong in a body: a verdict, and the same one for every split. */
static void test_damaged_bodies(void **state)
{
    static uint8_t body[4096];
    uint32_t seed = 7;
    unsigned refused = 0;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        bool watch = (round & 1) != 0;
        struct view claim = claim_object();
        struct writer w = writer_of(body, sizeof body);
        if (watch) {
            static struct message stream;
            put_event(message_new(&stream), "ADDED", claim);
            writer_append(&w, message_view(&stream));
        } else {
            writer_append(&w, claim);
        }
        for (int i = 0; i < 1 + round % 3; i++) {
            seed = seed * 1664525u + 1013904223u;
            body[(seed >> 8) % w.len] ^= (uint8_t)(1u << (seed >> 29));
        }
        enum kube_shape shape = watch ? KUBE_SHAPE_NODE_WATCH : KUBE_SHAPE_CLAIM;
        start(shape, "200");
        run(&whole, writer_view(&w), w.len, w.len);
        start(shape, "200");
        run(&pieces, writer_view(&w), 1 + seed % w.len, 11);
        assert_string_equal(whole.text, pieces.text);
        refused += strstr(whole.text, "peer-malformed") != NULL;
    }
    assert_in_range(refused, 2000, 19000);
}

/* A type that is no text is not one that anybody knows. */
static void test_type_that_is_a_number(void **state)
{
    static const char body[] = "k8s\0\x0a\x0a\x08\x05\x12\x06Status\x12\x05\x0a\x03\x0a\x01n";

    (void)state;
    check(KUBE_SHAPE_CLAIM, "200", view_of(body, sizeof body - 1),
          "TYPE{1=#5 2=Status}\nMETA{1=n}\nEND{}\nok");
}

static void test_headers(void **state)
{
    (void)state;
    kube_response_init(&answer, KUBE_SHAPE_NODE);
    assert_int_equal(answer.http_status, 0);
    header(":status", "103");
    header("link", "</style.css>");
    assert_int_equal(answer.http_status, 0);
    header(":status", "200");
    header("content-type", "application/vnd.kubernetes.protobuf;stream=watch");
    header("retry-after", "17");
    assert_int_equal(answer.http_status, 200);
    assert_true(answer.is_protobuf);
    assert_int_equal(answer.retry_after_s, 17);
    kube_response_init(&answer, KUBE_SHAPE_NODE);
    header(":status", "20x");
    header("retry-after", "4294967295");
    assert_true(answer.retry_after_s == UINT32_MAX);
    header("retry-after", "4294967296");
    assert_true(answer.retry_after_s == UINT32_MAX);
    header("retry-after", "99999999999999999999999999");
    assert_true(answer.retry_after_s == UINT32_MAX);
    header("retry-after", "-4294967296");
    assert_int_equal(answer.retry_after_s, 0);
    header("retry-after", "-1");
    assert_int_equal(answer.retry_after_s, 0);
    header("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT");
    assert_int_equal(answer.http_status, 0);
    assert_int_equal(answer.retry_after_s, 0);
    /* trailers change nothing */
    start(KUBE_SHAPE_CLAIM, "200");
    run(&whole, claim_object(), 50, 50);
    header(":status", "500");
    header("content-type", "text/plain");
    assert_int_equal(answer.http_status, 200);
    assert_true(answer.is_protobuf);
}

/* --- records are what nanopb expects: the limits of both agree --- */

static char *fill(char *space, size_t len)
{
    memset(space, 'a', len);
    space[len] = '\0';
    return space;
}

static void test_longest_metadata_decodes(void **state)
{
    static char space[6][400];
    static struct message meta;
    projection_MetaRecord record = projection_MetaRecord_init_zero;
    struct kube_record found = {0};
    struct reader in;
    pb_istream_t stream;

    (void)state;
    put_text(message_new(&meta), 1, fill(space[0], NAME_CAP - 1));
    put_text(&meta, 2, fill(space[1], NAME_CAP - 1));
    put_text(&meta, 3, fill(space[2], NAMESPACE_CAP - 1));
    put_text(&meta, 5, fill(space[3], UID_CAP - 1));
    put_text(&meta, 6, fill(space[4], RESOURCE_VERSION_CAP - 1));
    put_message(message_new(&object_), 1, &meta);
    start(KUBE_SHAPE_CLAIM, "200");
    in = reader_of(envelope("v1", "X", &object_));
    while (found.record != KUBE_META) {
        assert_int_equal(kube_response_next(&answer, &in, &found), STATUS_OK);
    }
    assert_false(found.truncated);
    stream = pb_istream_from_buffer(found.message.data, found.message.len);
    assert_true(pb_decode(&stream, projection_MetaRecord_fields, &record));
    assert_int_equal(strlen(record.name), NAME_CAP - 1);
    assert_int_equal(strlen(record.uid), UID_CAP - 1);
    assert_false(record.has_owner_uid);
}

static void test_status_decodes(void **state)
{
    projection_StatusRecord record = projection_StatusRecord_init_zero;
    struct kube_record found = {0};
    struct reader in = reader_of(status_object());
    pb_istream_t stream;

    (void)state;
    start(KUBE_SHAPE_CLAIM, "404");
    while (found.record != KUBE_STATUS) {
        assert_int_equal(kube_response_next(&answer, &in, &found), STATUS_OK);
    }
    stream = pb_istream_from_buffer(found.message.data, found.message.len);
    assert_true(pb_decode(&stream, projection_StatusRecord_fields, &record));
    assert_string_equal(record.reason, "NotFound");
    assert_string_equal(record.details_name, "c");
    assert_string_equal(record.details_kind, "resourceclaims");
    assert_int_equal(record.code, 404);
    assert_int_equal(record.retry_after_seconds, 7);
}

/* A configuration of the largest size with the most request names is kept whole. */
static void test_largest_configuration(void **state)
{
    static char json[OPAQUE_BYTES_MAX + 2];
    static char request[REQUEST_CAP];
    static struct message config;
    static struct message inner;
    static struct message outer;
    struct kube_record found = {0};
    struct reader in;

    (void)state;
    put_text(message_new(&config), 1, "FromClaim");
    for (unsigned i = 0; i < CONFIG_REQUESTS_MAX; i++) {
        put_text(&config, 2, fill(request, REQUEST_CAP - 1));
    }
    put_text(message_new(&inner), 1, fill(json, OPAQUE_BYTES_MAX));
    put_text(message_new(&outer), 1, fill(request, DRIVER_CAP - 1));
    put_message(&outer, 2, &inner);
    put_message(message_new(&inner), 1, &outer);
    put_message(&config, 3, &inner);
    put_message(message_new(&inner), 2, &config);
    put_message(message_new(&outer), 1, &inner);
    put_message(message_new(&inner), 1, &outer);
    put_message(message_new(&object_), 3, &inner);
    start(KUBE_SHAPE_CLAIM, "200");
    in = reader_of(envelope("resource.k8s.io/v1", "ResourceClaim", &object_));
    while (found.record != KUBE_CONFIG) {
        assert_int_equal(kube_response_next(&answer, &in, &found), STATUS_OK);
    }
    assert_false(found.truncated);
    assert_true(found.message.len > OPAQUE_BYTES_MAX + CONFIG_REQUESTS_MAX * (REQUEST_CAP - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_malformed_bodies),
        cmocka_unit_test(test_bodies_that_are_no_protobuf),
        cmocka_unit_test(test_success_without_an_object),
        cmocka_unit_test(test_watch_without_a_body),
        cmocka_unit_test(test_damaged_bodies),
        cmocka_unit_test(test_type_that_is_a_number),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_longest_metadata_decodes),
        cmocka_unit_test(test_status_decodes),
        cmocka_unit_test(test_largest_configuration),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
