/* SPDX-License-Identifier: Apache-2.0 */
/* Responses of the API server: envelope, every shape, Status objects, watch framing. */
#include "tests/unit/apiserver/kube_harness.h"

/* --- single objects --- */

/* clang-format off */
static void test_claim(void **state)
{
    (void)state;
    check(KUBE_SHAPE_CLAIM, "200", claim_object(),
          "TYPE{1=resource.k8s.io/v1 2=ResourceClaim}\n"
          "ANNOTATION{1=note 2=an annotation}\n"
          META_TEXT("claim", "team-a")
          "RESULT{1=req-1 2=neuron.aws.com 3=node-a 4=neuron-device-3 6=a-share}\n"
          "RESULT{1=req-2/sub 2=gpu.example.com 3=node-a 4=neuron-device-3 5=#1 6=a-share}\n"
          "CONFIG{1=FromClass 2=req-1 2=req-2 3=neuron.aws.com 4={\"kind\":\"NeuronConfig\"}}\n"
          "CONFIG{1=FromClaim}\nALLOCATION{}\nEND{}\nok");
}
/* clang-format on */

/* clang-format off */
static void test_claim_without_allocation(void **state)
{
    struct message status;

    (void)state;
    put_metadata(message_new(&object_), 1, "claim", "ns");
    put_message(&object_, 3, message_new(&status));
    check(KUBE_SHAPE_CLAIM, "200", envelope("resource.k8s.io/v1", "ResourceClaim", &object_),
          "TYPE{1=resource.k8s.io/v1 2=ResourceClaim}\n" "ANNOTATION{1=note 2=an annotation}\n"
          META_TEXT("claim", "ns") "END{}\nok");
    put_bytes(&status, 1, "", 0);
    put_message(message_new(&object_), 3, &status);
    check(KUBE_SHAPE_CLAIM, "200", envelope("resource.k8s.io/v1beta1", "ResourceClaim", &object_),
          "TYPE{1=resource.k8s.io/v1beta1 2=ResourceClaim}\nALLOCATION{}\nEND{}\nok");
}
/* clang-format on */

static void test_claim_consumers(void **state)
{
    struct message status;
    struct message consumer;

    (void)state;
    put_text(message_new(&consumer), 1, "");
    put_text(&consumer, 3, "pods");
    put_text(&consumer, 4, "trainer-0");
    put_text(&consumer, 5, "u-1");
    put_bytes(message_new(&status), 1, "", 0);
    put_message(&status, 2, &consumer);
    put_text(message_new(&consumer), 1, "x.io");
    put_text(&consumer, 3, "things");
    put_message(&status, 2, &consumer);
    put_message(message_new(&object_), 3, &status);
    check(KUBE_SHAPE_CLAIM, "200", envelope("resource.k8s.io/v1", "ResourceClaim", &object_),
          "TYPE{1=resource.k8s.io/v1 2=ResourceClaim}\nALLOCATION{}\n"
          "CONSUMER{1=pods 2=trainer-0 3=u-1}\nCONSUMER{1=things}\nEND{}\nok");
}

static void test_deleted_object(void **state)
{
    static struct message meta;
    static struct message time;

    (void)state;
    put_varint(message_new(&time), 1, 1700000001);
    put_varint(&time, 2, 0);
    put_text(message_new(&meta), 1, "n");
    put_message(&meta, 9, &time);
    put_message(message_new(&object_), 1, &meta);
    check(KUBE_SHAPE_CLAIM, "200", envelope("v1", "X", &object_),
          "TYPE{1=v1 2=X}\nMETA{1=n 5=#1700000001}\nEND{}\nok");
}

/* clang-format off */
static void test_node(void **state)
{
    static struct message inner;

    (void)state;
    put_metadata(message_new(&object_), 1, "node-a", "");
    put_text(message_new(&inner), 8, "an image list, of no interest");
    static struct message info;
    put_text(message_new(&info), 6, "containerd://2.0.0");
    put_text(&info, 7, "v1.34.1");
    put_message(&inner, 7, &info);
    put_message(&object_, 3, &inner);
    check(KUBE_SHAPE_NODE, "200", envelope("v1", "Node", &object_),
          "TYPE{1=v1 2=Node}\nLABEL{1=topology 2=spine}\n"
          META_TEXT("node-a", "") "INFO{1=v1.34.1}\nEND{}\nok");
}
/* clang-format on */

/* clang-format off */
static void test_slice(void **state)
{
    (void)state;
    put_slice(message_new(&object_), "s-1", false, false);
    check(KUBE_SHAPE_SLICE, "201", envelope("resource.k8s.io/v1", "ResourceSlice", &object_),
          "TYPE{1=resource.k8s.io/v1 2=ResourceSlice}\n" SLICE_TEXT("s-1") "ok");
}
/* clang-format on */

/* clang-format off */
static void test_slice_of_v1beta1(void **state)
{
    (void)state;
    put_slice(message_new(&object_), "s-1", true, false);
    check(KUBE_SHAPE_SLICE, "201", envelope("resource.k8s.io/v1beta1", "ResourceSlice", &object_),
          "TYPE{1=resource.k8s.io/v1beta1 2=ResourceSlice}\n" BETA_SLICE_TEXT("s-1") "ok");
}
/* clang-format on */

static void test_slice_with_fields_of_others(void **state)
{
    static struct message device;

    (void)state;
    put_slice(message_new(&object_), "s", false, true);
    start(KUBE_SHAPE_SLICE, "200");
    run(&whole, envelope("resource.k8s.io/v1", "ResourceSlice", &object_), 1, 1);
    assert_non_null(strstr(whole.text, "SPEC{1=neuron.aws.com 2=node-a 3=#4 4=#1 5=node-a 6=#1}"));
    put_text(message_new(&device), 1, "d");
    put_text(&device, 10, "a binding condition");
    put_attribute(&device, 2, "list", 8, "one");
    put_message(message_new(&body_), 6, &device);
    put_message(message_new(&object_), 2, &body_);
    start(KUBE_SHAPE_SLICE, "200");
    run(&whole, envelope("resource.k8s.io/v1", "ResourceSlice", &object_), 1, 1);
    assert_non_null(
        strstr(whole.text, "NAME{1=d}\nATTRIBUTE{1=list 6=#1}\nDEVICE{2=#1}\nSPEC{}\n"));
}

/* clang-format off */
static void test_list(void **state)
{
    static struct message list;
    static struct message item;

    (void)state;
    put_text(message_new(&item), 1, "");
    put_text(&item, 2, "99");
    put_text(&item, 3, "more");
    put_message(message_new(&list), 1, &item);
    put_slice(message_new(&item), "s-1", false, false);
    put_message(&list, 2, &item);
    put_slice(message_new(&item), "s-2", false, false);
    put_message(&list, 2, &item);
    check(KUBE_SHAPE_SLICE_LIST, "200", envelope("resource.k8s.io/v1", "ResourceSliceList", &list),
          "TYPE{1=resource.k8s.io/v1 2=ResourceSliceList}\nLIST{1=99 2=more}\n"
          SLICE_TEXT("s-1") SLICE_TEXT("s-2") "ok");
    put_slice(message_new(&item), "s-3", true, false);
    put_message(message_new(&list), 2, &item);
    check(KUBE_SHAPE_SLICE_LIST, "200",
          envelope("resource.k8s.io/v1beta1", "ResourceSliceList", &list),
          "TYPE{1=resource.k8s.io/v1beta1 2=ResourceSliceList}\n" BETA_SLICE_TEXT("s-3") "ok");
}
/* clang-format on */

/* clang-format off */
#define LISTED_CLAIM_TEXT                                                                          \
    "RESULT{1=req-1 2=neuron.aws.com 3=node-a 4=neuron-device-3 6=a-share}\n"                      \
    "RESULT{1=req-2/sub 2=gpu.example.com 3=node-a 4=neuron-device-3 5=#1 6=a-share}\n"            \
    "ALLOCATION{}\nCONSUMER{1=pods 2=pod-1 3=pod-uid}\nEND{}\n"
/* clang-format on */

/* An item of a list of claims; `junk` bytes stand in each place that is skipped. */
static void put_listed_claim(struct message *list, const char *name, size_t junk)
{
    static char filler[MESSAGE_MAX];
    static struct message devices;
    static struct message outer;
    static struct message item;

    memset(filler, 'j', junk);
    put_metadata(message_new(&item), 1, name, "team-a");
    put_bytes(&item, 2, filler, junk); /* spec */
    put_result(message_new(&devices), "req-1", "neuron.aws.com", -1);
    put_bytes(&devices, 9, filler, junk);
    put_result(&devices, "req-2/sub", "gpu.example.com", 1);
    put_message(message_new(&outer), 1, &devices);
    put_bytes(&outer, 3, filler, junk); /* nodeSelector */
    put_message(message_new(&devices), 1, &outer);
    put_text(message_new(&outer), 3, "pods");
    put_text(&outer, 4, "pod-1");
    put_text(&outer, 5, "pod-uid");
    put_message(&devices, 2, &outer);
    put_bytes(&devices, 4, filler, junk); /* status.devices */
    put_message(&item, 3, &devices);
    put_message(list, 2, &item);
}

static void begin_claim_list(struct message *list, const char *token)
{
    static struct message meta;

    put_text(message_new(&meta), 2, "99");
    put_text(&meta, 3, token);
    put_varint(&meta, 4, 12000); /* remainingItemCount */
    put_message(message_new(list), 1, &meta);
}

/* clang-format off */
static void test_claim_list(void **state)
{
    static struct message list;
    static struct message item;

    (void)state;
    begin_claim_list(&list, "eyJ");
    put_listed_claim(&list, "c-1", 3);
    put_text(message_new(&item), 1, "");
    put_message(&list, 2, &item); /* a claim of nothing but metadata */
    put_text(&list, 9, "not an item");
    put_listed_claim(&list, "c-2", 0);
    check(KUBE_SHAPE_CLAIM_LIST, "200",
          envelope("resource.k8s.io/v1beta1", "ResourceClaimList", &list),
          "TYPE{1=resource.k8s.io/v1beta1 2=ResourceClaimList}\nLIST{1=99 2=eyJ}\n"
          "ANNOTATION{1=note 2=an annotation}\n"
          META_TEXT("c-1", "team-a") LISTED_CLAIM_TEXT
          "META{}\nEND{}\n"
          "ANNOTATION{1=note 2=an annotation}\n"
          META_TEXT("c-2", "team-a") LISTED_CLAIM_TEXT "ok");
}
/* clang-format on */

/* Items may be of any size: what is skipped of them takes no room. */
static void test_claim_list_of_huge_items(void **state)
{
    static struct message list;

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        begin_claim_list(&list, "t");
        put_listed_claim(&list, "c-1", 40 * i);
        start(KUBE_SHAPE_CLAIM_LIST, "200");
        run(&whole, envelope("resource.k8s.io/v1", "ResourceClaimList", &list), 1 + i, 13);
        assert_non_null(strstr(whole.text, LISTED_CLAIM_TEXT));
        assert_non_null(strstr(whole.text, "END{}\nok"));
    }
}

/* A token that has no room is left out, and the record says so: the list must not seem complete. */
static void test_claim_list_with_a_long_token(void **state)
{
    static struct message list;
    static char token[CONTINUE_CAP + 1];

    (void)state;
    memset(token, 't', CONTINUE_CAP - 1);
    begin_claim_list(&list, token);
    start(KUBE_SHAPE_CLAIM_LIST, "200");
    run(&whole, envelope("resource.k8s.io/v1", "ResourceClaimList", &list), 5, 5);
    assert_non_null(strstr(whole.text, "LIST{1=99 2=ttt"));
    token[CONTINUE_CAP - 1] = 't';
    begin_claim_list(&list, token);
    start(KUBE_SHAPE_CLAIM_LIST, "200");
    run(&whole, envelope("resource.k8s.io/v1", "ResourceClaimList", &list), 5, 5);
    assert_non_null(strstr(whole.text, "LIST!{1=99}"));
}

static void put_version(struct message *out, unsigned field, const char *group_version)
{
    static struct message version;

    put_text(message_new(&version), 1, group_version);
    put_text(&version, 2, "the part behind the slash");
    put_message(out, field, &version);
}

static void test_group(void **state)
{
    (void)state;
    put_text(message_new(&object_), 1, "resource.k8s.io");
    put_version(&object_, 2, "resource.k8s.io/v1");
    put_version(&object_, 2,
                "resource.k8s.io/a-name-that-is-longer-than-any-version-that-"
                "the-agent-could-know-of");
    put_version(&object_, 2, "");
    put_version(&object_, 2, "resource.k8s.io/v1beta1");
    put_version(&object_, 3, "resource.k8s.io/v1");
    check(KUBE_SHAPE_GROUP, "200", envelope("v1", "APIGroup", &object_),
          "TYPE{1=v1 2=APIGroup}\nVERSION{1=resource.k8s.io/v1}\nVERSION!{}\nVERSION{1=}\n"
          "VERSION{1=resource.k8s.io/v1beta1}\nEND{}\nok");
}

static void test_status_in_every_shape(void **state)
{
    (void)state;
    for (int shape = KUBE_SHAPE_NODE; shape <= KUBE_SHAPE_CLAIM_LIST; shape++) {
        /* a watch that is refused has no frames */
        check((enum kube_shape)shape, "404", status_object(), STATUS_TEXT "ok");
    }
    check(KUBE_SHAPE_STATUS, "200", status_object(), STATUS_TEXT "ok");
    check(KUBE_SHAPE_STATUS, "200", claim_object(),
          "TYPE{1=resource.k8s.io/v1 2=ResourceClaim}\nEND{}\nok");
}

static void test_long_status_message(void **state)
{
    static char text[3000];

    (void)state;
    memset(text, 'm', sizeof text - 1);
    put_text(message_new(&object_), 3, text);
    start(KUBE_SHAPE_CLAIM, "422");
    run(&whole, envelope("v1", "Status", &object_), 7, 7);
    assert_memory_equal(whole.text, "TYPE{1=v1 2=Status}\nSTATUS!{2=m", 31);
    assert_int_equal(strspn(strstr(whole.text, "{2=") + 3, "m"), KUBE_MESSAGE_CAP - 1);
    assert_non_null(strstr(whole.text, "ok"));
}

/* runtime.Unknown may carry raw before typeMeta: it is then read by what was asked for */
static void test_type_after_object(void **state)
{
    static const char body[] = "k8s\0\x12\x05\x0a\x03\x0a\x01n\x0a\x06\x0a\x02v1\x12\x00";

    (void)state;
    check(KUBE_SHAPE_CLAIM, "200", view_of(body, sizeof body - 1),
          "META{1=n}\nEND{}\nTYPE{1=v1 2=}\nok");
}

/* --- watch --- */

/* clang-format off */
static void test_slice_watch(void **state)
{
    static struct message stream;
    static struct message meta;

    (void)state;
    (void)message_new(&stream);
    put_slice(message_new(&object_), "s-1", false, false);
    put_event(&stream, "ADDED", envelope("resource.k8s.io/v1", "ResourceSlice", &object_));
    put_text(message_new(&meta), 6, "5000");
    put_message(message_new(&object_), 1, &meta);
    put_event(&stream, "BOOKMARK", envelope("resource.k8s.io/v1", "ResourceSlice", &object_));
    put_slice(message_new(&object_), "s-2", true, false);
    put_event(&stream, "DELETED", envelope("resource.k8s.io/v1beta1", "ResourceSlice", &object_));
    put_event(&stream, "ERROR", status_object());
    put_slice(message_new(&object_), "s-3", false, false);
    put_event(&stream, "MODIFIED", envelope("resource.k8s.io/v1", "ResourceSlice", &object_));
    check(KUBE_SHAPE_SLICE_WATCH, "200", message_view(&stream),
          "WATCH{1=ADDED}\nTYPE{1=resource.k8s.io/v1 2=ResourceSlice}\n"
          SLICE_TEXT("s-1")
          "WATCH{1=BOOKMARK}\nTYPE{1=resource.k8s.io/v1 2=ResourceSlice}\nMETA{4=5000}\nEND{}\n"
          "WATCH{1=DELETED}\nTYPE{1=resource.k8s.io/v1beta1 2=ResourceSlice}\n"
          BETA_SLICE_TEXT("s-2")
          "WATCH{1=ERROR}\n" STATUS_TEXT
          "WATCH{1=MODIFIED}\nTYPE{1=resource.k8s.io/v1 2=ResourceSlice}\n"
          SLICE_TEXT("s-3") "ok");
}
/* clang-format on */

static void test_watch_that_ends(void **state)
{
    static struct message stream;

    (void)state;
    check(KUBE_SHAPE_NODE_WATCH, "200", view_of("", 0), "ok");
    put_event(message_new(&stream), "ERROR", status_object());
    for (size_t n = 1; n < stream.w.len; n++) {
        start(KUBE_SHAPE_NODE_WATCH, "200");
        run(&whole, view_first(message_view(&stream), n), n, n);
        assert_non_null(strstr(whole.text, "peer-malformed"));
        assert_int_equal(kube_response_end(&answer), PEER_MALFORMED);
    }
}

static void test_watch_frames_of_odd_size(void **state)
{
    (void)state;
    check(KUBE_SHAPE_NODE_WATCH, "200", view_of("\0\0\0\0\0\0\0\2\x78\1\0\0\0\0", 14), "ok");
    check(KUBE_SHAPE_NODE_WATCH, "200", view_of("\0\0\0\2\x0a\1", 6), "peer-malformed");
    check(KUBE_SHAPE_NODE_WATCH, "200", view_of("\x01\0\0\1", 4), "peer-malformed");
    check(KUBE_SHAPE_NODE_WATCH, "200", view_of("\xff\xff\xff\xff", 4), "peer-malformed");
    /* the largest frame is begun */
    start(KUBE_SHAPE_NODE_WATCH, "200");
    assert_int_equal(feed(&whole, view_of("\x01\0\0\0", 4)), STATUS_MORE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claim),
        cmocka_unit_test(test_claim_without_allocation),
        cmocka_unit_test(test_claim_consumers),
        cmocka_unit_test(test_deleted_object),
        cmocka_unit_test(test_node),
        cmocka_unit_test(test_slice),
        cmocka_unit_test(test_slice_of_v1beta1),
        cmocka_unit_test(test_slice_with_fields_of_others),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_claim_list),
        cmocka_unit_test(test_claim_list_of_huge_items),
        cmocka_unit_test(test_claim_list_with_a_long_token),
        cmocka_unit_test(test_group),
        cmocka_unit_test(test_status_in_every_shape),
        cmocka_unit_test(test_long_status_message),
        cmocka_unit_test(test_type_after_object),
        cmocka_unit_test(test_slice_watch),
        cmocka_unit_test(test_watch_that_ends),
        cmocka_unit_test(test_watch_frames_of_odd_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
