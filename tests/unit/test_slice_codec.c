/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codec of slices, alone: what is encoded is observed as exact again, in every version of the
 * API and for each part of the pool; what differs is not.
 */
#include "tests/unit/node/board_vectors.h"

#include "agent/publish/slice_codec.h"

#define BODY_MAX 65536u

static struct found_node found;
static struct probe_issues issues;
static struct wanted wanted;
static struct attributes attributes;
static struct slice_observer observer;
static struct slice_seen stored;
static uint8_t body[BODY_MAX];

static int setup(void **state)
{
    (void)state;
    memset(&wanted, 0, sizeof wanted);
    memset(&stored, 0, sizeof stored);
    labels_set(&wanted.devices);
    found_board(&found, board_find("trn2.48xlarge"));
    devices_build(&wanted.devices, &found, &issues);
    wanted.driver = DRIVER_NAME;
    wanted.node_name = "node-a";
    text_set(wanted.owner, sizeof wanted.owner, "uid-of-the-node");
    text_set(stored.name, sizeof stored.name, "slice-1");
    text_set(stored.uid, sizeof stored.uid, "uid-1");
    text_set(stored.resource_version, sizeof stored.resource_version, "42");
    return 0;
}

static struct slice_request request(enum slice_verb verb, enum api_version version, unsigned first,
                                    unsigned count)
{
    return (struct slice_request){.verb = verb,
                                  .version = version,
                                  .stored = &stored,
                                  .wanted = &wanted,
                                  .attributes = &attributes,
                                  .first = first,
                                  .count = count,
                                  .generation = 9,
                                  .slices = 3};
}

/* The whole body in pieces of `step` bytes. */
static struct view body_in_pieces(struct slice_request *r, size_t step)
{
    uint32_t len = slice_body_len(r);
    assert_true(len <= sizeof body);
    memset(body, 0xee, sizeof body);
    for (uint32_t at = 0; at < len;) {
        struct writer out = writer_of(body + at, step);
        assert_int_equal(slice_body_part(r, at, &out), STATUS_OK);
        assert_true(out.len > 0);
        at += (uint32_t)out.len;
    }
    struct writer out = writer_of(body + len, step);
    assert_int_equal(slice_body_part(r, len, &out), STATUS_MORE);
    return view_of(body, len);
}

/* Reads the body as the answer of an API server that stores what it is sent. */
static const struct slice_seen *observe(struct view sent)
{
    static struct kube_response answer;
    struct kube_record record;
    struct reader in = reader_of(sent);
    kube_response_init(&answer, KUBE_SHAPE_SLICE);
    kube_response_field(&answer, view_text(":status"), view_text("200"));
    kube_response_field(&answer, view_text("content-type"),
                        view_text("application/vnd.kubernetes.protobuf"));
    slice_observe_begin(&observer, &wanted);
    while (kube_response_next(&answer, &in, &record) == STATUS_OK) {
        (void)slice_observe(&observer, &record);
    }
    assert_int_equal(kube_response_end(&answer), STATUS_OK);
    return &observer.seen;
}

static void test_what_is_written_is_exact(void **state)
{
    (void)state;
    for (unsigned version = 0; version < API_VERSIONS; version++) {
        for (unsigned first = 0; first < 16; first += 5) {
            struct slice_request r =
                request(SLICE_UPDATE, (enum api_version)version, first, 16 - first);
            const struct slice_seen *seen = observe(body_in_pieces(&r, 4096));
            assert_true(seen->exact);
            assert_int_equal(seen->scope, SLICE_OURS);
            assert_int_equal(seen->first, first);
            assert_int_equal(seen->count, 16 - first);
            assert_int_equal(seen->generation, 9);
            assert_int_equal(seen->slices, 3);
            assert_false(seen->deleting);
            assert_string_equal(seen->name, stored.name);
            assert_string_equal(seen->uid, stored.uid);
            assert_string_equal(seen->resource_version, stored.resource_version);
        }
    }
}

static void test_create_has_no_name(void **state)
{
    (void)state;
    struct slice_request r = request(SLICE_CREATE, API_V1, 0, 16);
    const struct slice_seen *seen = observe(body_in_pieces(&r, 4096));
    assert_true(seen->exact);
    assert_string_equal(seen->name, "");
    assert_string_equal(seen->uid, "");
    assert_string_equal(seen->resource_version, "");
}

static void test_no_devices(void **state)
{
    (void)state;
    struct slice_request r = request(SLICE_UPDATE, API_V1, 0, 0);
    const struct slice_seen *seen = observe(body_in_pieces(&r, 4096));
    assert_true(seen->exact);
    assert_int_equal(seen->count, 0);
}

/* Where the bytes begin in the body that was written last. */
static uint8_t *find_bytes(const uint8_t *bytes, size_t len, size_t in)
{
    for (size_t at = 0; at + len <= in; at++) {
        if (memcmp(body + at, bytes, len) == 0) {
            return body + at;
        }
    }
    return NULL;
}

/* Devices that claims share: the flag, and the capacity with its policy. */
static void test_shared(void **state)
{
    /* value 8, then the policy: default 8, min 1, step 1 */
    static const uint8_t capacity[] = {0x0a, 3,  0x0a, 1, '8',  0x12, 17,  0x0a, 3, 0x0a, 1, '8',
                                       0x22, 10, 0x0a, 3, 0x0a, 1,    '1', 0x1a, 3, 0x0a, 1, '1'};
    static const uint8_t flag[] = {0x60, 1}; /* field 12 */
    (void)state;
    wanted.devices.driver = DRIVER_EFA;
    wanted.devices.shares = 8;
    for (unsigned i = 0; i < wanted.devices.count; i++) {
        wanted.devices.device[i].efa.address = i + 1u;
    }
    struct slice_request r = request(SLICE_UPDATE, API_V1, 0, 16);
    struct view sent = body_in_pieces(&r, 4096);
    assert_true(observe(sent)->exact);
    assert_false(observe(sent)->unshared);
    /* another default, another least amount, a policy that has no step */
    static const unsigned changes[] = {11, 18, 23};
    for (unsigned i = 0; i < COUNT(changes); i++) {
        sent = body_in_pieces(&r, 4096);
        uint8_t *at = find_bytes(capacity, sizeof capacity, sent.len);
        assert_non_null(at);
        at[changes[i]]++;
        assert_false(observe(sent)->exact);
        assert_false(observe(sent)->unshared);
    }
    /* a server that keeps neither stores exclusive devices */
    wanted.devices.shares = 0;
    sent = body_in_pieces(&r, 4096);
    assert_null(find_bytes(capacity, sizeof capacity, sent.len));
    assert_true(observe(sent)->exact);
    wanted.devices.shares = 8;
    assert_false(observe(sent)->exact);
    assert_true(observe(sent)->unshared);
    /* a device that is stored as shared and is not to be */
    sent = body_in_pieces(&r, 4096);
    assert_non_null(find_bytes(flag, sizeof flag, sent.len));
    wanted.devices.shares = 0;
    assert_false(observe(sent)->exact);
    assert_false(observe(sent)->unshared);
}

/* Neuron devices that claims share by core: pairs of 8 cores; memory goes to who asks for it. */
static void test_shared_cores(void **state)
{
    static const uint8_t cores[] = {0x0a, 3,  0x0a, 1, '8',  0x12, 17,  0x0a, 3, 0x0a, 1, '8',
                                    0x22, 10, 0x0a, 3, 0x0a, 1,    '2', 0x1a, 3, 0x0a, 1, '2'};
    static const uint8_t memory[] = {'G', 'i', 0x12, 5, 0x0a, 3, 0x0a, 1, '0'};
    static const unsigned changes[] = {11, 18, 23};
    (void)state;
    wanted.devices.shares = SHARED_CORES_MAX;
    struct slice_request r = request(SLICE_UPDATE, API_V1, 0, 16);
    struct view sent = body_in_pieces(&r, 4096);
    assert_non_null(find_bytes(memory, sizeof memory, sent.len));
    assert_true(observe(sent)->exact);
    for (unsigned i = 0; i < COUNT(changes); i++) {
        sent = body_in_pieces(&r, 4096);
        uint8_t *at = find_bytes(cores, sizeof cores, sent.len);
        assert_non_null(at);
        at[changes[i]]++;
        assert_false(observe(sent)->exact);
    }
    sent = body_in_pieces(&r, 4096);
    find_bytes(memory, sizeof memory, sent.len)[sizeof memory - 1] = '1';
    assert_false(observe(sent)->exact);
    /* silicon that is not known is not shared, and a server that keeps no shares is noticed */
    wanted.devices.shares = 0;
    sent = body_in_pieces(&r, 4096);
    assert_null(find_bytes(memory, sizeof memory, sent.len));
    wanted.devices.shares = SHARED_CORES_MAX;
    assert_true(observe(sent)->unshared);
    for (unsigned i = 0; i < wanted.devices.count; i++) {
        wanted.devices.device[i].core_count = 16;
    }
    sent = body_in_pieces(&r, 4096);
    assert_true(observe(sent)->exact);
    assert_false(observe(sent)->unshared);
    assert_null(find_bytes(memory, sizeof memory, sent.len));
}

/* A message of one field with these bytes; `to` may be `from`. */
static size_t wrap(uint8_t *to, unsigned field, const uint8_t *from, size_t n)
{
    assert_true(n < 0x80);
    memmove(to + 2, from, n);
    to[0] = (uint8_t)(field << 3 | 2u);
    to[1] = (uint8_t)n;
    return n + 2;
}

/* Another driver of this name may store any value beside a policy. */
static void test_policy_of_any_value(void **state)
{
    static const char digits[] = "103079215104000";
    (void)state;
    for (size_t n = 1; n < sizeof digits; n++) {
        uint8_t quantity[64];
        uint8_t object[256] = {'k', '8', 's', 0};
        size_t text = wrap(quantity, 1, (const uint8_t *)digits, n);
        text = wrap(quantity, 1, quantity, text);                 /* value */
        text += wrap(quantity + text, 2, (const uint8_t *)"", 0); /* requestPolicy */
        text = wrap(quantity, 2, quantity, text);                 /* of the entry */
        text = wrap(quantity, 3, quantity, text);                 /* capacity */
        text = wrap(quantity, 6, quantity, text);                 /* the device */
        text = wrap(quantity, 2, quantity, text);                 /* spec */
        text = wrap(object + 4, 2, quantity, text);               /* raw, in the envelope */
        assert_false(observe(view_of(object, text + 4))->exact);
    }
}

/* --- what a pod needs of the node --- */

static void need(unsigned resource, const char *quantity)
{
    text_set(wanted.devices.resources.quantity[resource], NODE_QUANTITY_CAP, quantity);
}

static void test_node_resources(void **state)
{
    /* the whole field of a device, as Kubernetes' own encoder writes it */
    static const uint8_t pages[] = {0x72, 28,   0x0a, 13,   'h', 'u', 'g', 'e',  'p', 'a',
                                    'g',  'e',  's',  '-',  '2', 'M', 'i', 0x12, 11,  0x22,
                                    9,    0x0a, 7,    0x0a, 5,   '3', '2', '0',  'M', 'i'};
    static const uint8_t memory[] = {0x72, 20,   0x0a, 6,    'm', 'e',  'm', 'o', 'r', 'y', 0x12,
                                     10,   0x22, 8,    0x0a, 6,   0x0a, 4,   '6', '4', 'M', 'i'};
    (void)state;
    for (unsigned version = 0; version < API_VERSIONS; version++) {
        need(NODE_HUGEPAGES_2MI, "320Mi");
        need(NODE_MEMORY, "64Mi");
        struct slice_request r = request(SLICE_UPDATE, (enum api_version)version, 0, 16);
        struct view sent = body_in_pieces(&r, 4096);
        uint8_t *at = find_bytes(pages, sizeof pages, sent.len);
        assert_non_null(at);
        assert_memory_equal(at + sizeof pages, memory, sizeof memory);
        assert_true(observe(sent)->exact);
        assert_false(observe(sent)->lacks_resources);
        /* other amounts, more and fewer of them: what is wanted decides */
        need(NODE_MEMORY, "65Mi");
        assert_false(observe(sent)->exact);
        assert_true(observe(sent)->lacks_resources);
        need(NODE_MEMORY, "");
        assert_false(observe(sent)->exact);
        assert_false(observe(sent)->lacks_resources);
        need(NODE_MEMORY, "64Mi");
        need(NODE_HUGEPAGES_1GI, "1Gi");
        assert_false(observe(sent)->exact);
        assert_true(observe(sent)->lacks_resources);
        need(NODE_HUGEPAGES_1GI, "");
        /* the amount in another field (perContainer), a resource of another name */
        find_bytes(pages, sizeof pages, sent.len)[21] = 0x12;
        assert_false(observe(sent)->exact);
        sent = body_in_pieces(&r, 4096);
        find_bytes(memory, sizeof memory, sent.len)[4] = 'n';
        assert_false(observe(sent)->exact);
        assert_true(observe(sent)->lacks_resources);
        /* nothing is wanted: nothing is sent */
        wanted.devices.resources = (struct node_resources){0};
        sent = body_in_pieces(&r, 4096);
        assert_null(find_bytes(memory, sizeof memory, sent.len));
        assert_true(observe(sent)->exact);
        need(NODE_HUGEPAGES_2MI, "320Mi");
        assert_false(observe(sent)->exact);
        assert_true(observe(sent)->lacks_resources);
        wanted.devices.resources = (struct node_resources){0};
    }
}

/* The comparison alone: a resource outside a device, none that is wanted, and one twice. */
static void test_node_resource_records(void **state)
{
    struct slice_compare c;
    (void)state;
    need(NODE_MEMORY, "64Mi");
    slice_compare_begin(&c, &wanted.devices);
    slice_compare_resource(&c, NODE_MEMORY);
    assert_true(c.differs);
    for (unsigned twice = 0; twice < 3; twice++) {
        slice_compare_begin(&c, &wanted.devices);
        slice_compare_name(&c, view_text("neuron-device-0"));
        slice_compare_resource(&c, NODE_MEMORY);
        assert_false(c.differs);
        if (twice > 0) {
            slice_compare_resource(&c, (twice == 1) ? NODE_MEMORY : NODE_RESOURCES);
        }
        assert_int_equal(c.differs, twice > 0);
    }
}

/* The body is the same for every size of its pieces. */
static void test_pieces(void **state)
{
    static uint8_t whole[BODY_MAX];
    static const size_t steps[] = {1, 7, 100, 16384};
    (void)state;
    for (unsigned verb = SLICE_CREATE; verb <= SLICE_DELETE; verb++) {
        struct slice_request r = request((enum slice_verb)verb, API_V1, 3, 2);
        struct view v = body_in_pieces(&r, sizeof body / 2);
        memcpy(whole, v.data, v.len);
        for (unsigned i = 0; i < COUNT(steps); i++) {
            struct view other = body_in_pieces(&r, steps[i]);
            assert_int_equal(other.len, v.len);
            assert_memory_equal(other.data, whole, v.len);
        }
    }
}

static void test_preconditions_of_a_delete(void **state)
{
    (void)state;
    struct slice_request r = {.verb = SLICE_DELETE, .stored = &stored};
    struct view v = body_in_pieces(&r, 4096);
    assert_true(view_starts(v, "k8s"));
    assert_non_null(memmem(v.data, v.len, "uid-1", 5));
    assert_non_null(memmem(v.data, v.len, "42", 2));
    assert_non_null(memmem(v.data, v.len, "DeleteOptions", 13));
}

/* --- what differs --- */

static const struct slice_seen *observe_written(void)
{
    static struct slice_request r;
    r = request(SLICE_UPDATE, API_V1, 0, 16);
    return observe(body_in_pieces(&r, 4096));
}

static void test_another_owner(void **state)
{
    static struct slice_request r;
    (void)state;
    r = request(SLICE_UPDATE, API_V1, 0, 16);
    struct view v = body_in_pieces(&r, 4096);
    uint32_t sum = observe(v)->sum;
    text_set(wanted.owner, sizeof wanted.owner, "uid-of-another-node");
    assert_false(observe(v)->exact);
    assert_int_equal(observe(v)->sum, sum); /* of what is stored, not of what is wanted */
    v = body_in_pieces(&r, 4096);
    assert_true(observe(v)->exact);
    assert_int_not_equal(observe(v)->sum, sum);
}

static void test_another_device(void **state)
{
    (void)state;
    struct slice_request r = request(SLICE_UPDATE, API_V1, 0, 16);
    struct view v = body_in_pieces(&r, 4096);
    wanted.devices.device[7].core_count ^= 1u;
    assert_false(observe(v)->exact);
}

static void test_scope(void **state)
{
    (void)state;
    struct slice_request r = request(SLICE_UPDATE, API_V1, 0, 16);
    struct view v = body_in_pieces(&r, 4096);
    wanted.node_name = "node-b";
    assert_int_equal(observe(v)->scope, SLICE_FOREIGN);
    /* the pool's name stands last of the three: spec.nodeName stays */
    wanted.node_name = "node-a";
    uint8_t *at = memmem(body, v.len, "node-a", 6);
    uint8_t *last = NULL;
    unsigned names = 0;
    for (; at != NULL; at = memmem(at + 1, (size_t)(body + v.len - at) - 1, "node-a", 6)) {
        names++;
        last = (last == NULL && names == 2) ? at : last;
    }
    assert_int_equal(names, 3);
    last[5] = 'c';
    assert_int_equal(observe(v)->scope, SLICE_OTHER_POOL);
}

/* The wanted content changes while a slice is half read: it does not count as exact. */
static void test_outdated(void **state)
{
    (void)state;
    assert_true(observe_written()->exact);
    struct slice_seen seen = observer.seen;
    slice_observe_outdated(&observer);
    assert_false(slice_compare_end(&observer.compare));
    assert_string_equal(observer.seen.name, seen.name);
}

/* A slice whose name was cut off is none that can be touched. */
static void test_name_cut_off(void **state)
{
    (void)state;
    assert_string_equal(observe_written()->name, "slice-1");
    struct kube_record record = {.record = KUBE_META, .truncated = true};
    assert_true(slice_observe(&observer, &record));
    assert_string_equal(observer.seen.name, "");
    record.record = KUBE_LIST_META;
    assert_false(slice_observe(&observer, &record));
}

/* --- records that are odd --- */

#define KINDS 9u

/* What a server or another client may have stored in one record. */
enum oddity { PLAIN, EXTRA, NO_EXTRA, UNREADABLE, CUT };

/* Reads a slice whose first record of this kind is odd; `extra` is the field of that name. */
static bool exact_with(struct view sent, unsigned kind, unsigned extra, enum oddity oddity)
{
    static struct kube_response answer;
    static uint8_t bytes[KUBE_RECORD_BYTES_MAX + 2u];
    struct kube_record record;
    struct reader in = reader_of(sent);
    unsigned seen = 0;
    kube_response_init(&answer, KUBE_SHAPE_SLICE);
    kube_response_field(&answer, view_text(":status"), view_text("200"));
    kube_response_field(&answer, view_text("content-type"),
                        view_text("application/vnd.kubernetes.protobuf"));
    slice_observe_begin(&observer, &wanted);
    while (kube_response_next(&answer, &in, &record) == STATUS_OK) {
        if (record.record == kind && seen++ == 0) {
            struct writer w = writer_of(bytes, sizeof bytes);
            writer_append(&w, record.message);
            if (oddity == EXTRA || oddity == NO_EXTRA) {
                writer_u8(&w, (uint8_t)(extra << 3));
                writer_u8(&w, (oddity == EXTRA) ? 1 : 0);
            }
            record.message = (oddity == UNREADABLE) ? view_text("\xff") : writer_view(&w);
            record.truncated = oddity == CUT;
        }
        (void)slice_observe(&observer, &record);
    }
    assert_true(seen > 0);
    return observer.seen.exact;
}

/* A record that cannot be read, is cut off, or holds more, differs from what is wanted. */
static void test_odd_records(void **state)
{
    static const struct {
        unsigned kind;
        unsigned extra; /* number of the field; 0: it has none */
        bool cut;       /* a record of this kind may be cut off */
        bool counters;  /* of the slice with the shared counters */
    } rows[KINDS] = {
        {KUBE_SLICE_RESOURCE, 0, false, false},  {KUBE_SLICE_NAME, 0, false, false},
        {KUBE_SLICE_ATTRIBUTE, 6, false, false}, {KUBE_SLICE_CAPACITY, 3, true, false},
        {KUBE_SLICE_TAINT, 0, true, false},      {KUBE_SLICE_DEVICE, 2, false, false},
        {KUBE_SLICE_SPEC, 6, false, false},      {KUBE_SLICE_COUNTER, 0, true, true},
        {KUBE_SLICE_COUNTERS, 0, false, true},
    };
    (void)state;
    static const struct taint taints[TAINTS] = {{"neuron.aws.com/unhealthy", "NoSchedule"},
                                                {"neuron.aws.com/memory-held", "NoExecute"}};
    wanted.devices.device[0].tainted = TAINT_BIT(TAINT_UNHEALTHY);
    wanted.devices.device[0].taint_s[TAINT_UNHEALTHY] = 1764158400;
    wanted.devices.device[1].tainted = TAINT_BIT(TAINT_UNHEALTHY) | TAINT_BIT(TAINT_MEMORY_HELD);
    wanted.devices.taints = taints;
    need(NODE_MEMORY, "64Mi");
    devices_add_node(&wanted.devices, false);
    wanted.devices.counters = true;
    for (unsigned i = 0; i < KINDS; i++) {
        struct slice_request r = request(SLICE_UPDATE, API_V1, 0, rows[i].counters ? 0 : 16);
        r.counters = rows[i].counters;
        struct view sent = body_in_pieces(&r, 4096);
        assert_true(exact_with(sent, rows[i].kind, 0, PLAIN));
        assert_false(exact_with(sent, rows[i].kind, 0, UNREADABLE));
        assert_true(!rows[i].cut || !exact_with(sent, rows[i].kind, 0, CUT));
        if (rows[i].extra > 0) {
            assert_false(exact_with(sent, rows[i].kind, rows[i].extra, EXTRA));
            assert_true(exact_with(sent, rows[i].kind, rows[i].extra, NO_EXTRA));
        }
    }
    /* stated instead of left out: the device is not shared, and the slice is not for all nodes */
    struct slice_request r = request(SLICE_UPDATE, API_V1, 0, 16);
    struct view sent = body_in_pieces(&r, 4096);
    assert_true(exact_with(sent, KUBE_SLICE_DEVICE, 3, NO_EXTRA));
    assert_false(exact_with(sent, KUBE_SLICE_DEVICE, 3, EXTRA));
    assert_true(exact_with(sent, KUBE_SLICE_SPEC, 7, NO_EXTRA));
    assert_false(exact_with(sent, KUBE_SLICE_SPEC, 7, EXTRA));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_is_written_is_exact, setup),
        cmocka_unit_test_setup(test_create_has_no_name, setup),
        cmocka_unit_test_setup(test_no_devices, setup),
        cmocka_unit_test_setup(test_shared, setup),
        cmocka_unit_test_setup(test_shared_cores, setup),
        cmocka_unit_test_setup(test_policy_of_any_value, setup),
        cmocka_unit_test_setup(test_node_resources, setup),
        cmocka_unit_test_setup(test_node_resource_records, setup),
        cmocka_unit_test_setup(test_pieces, setup),
        cmocka_unit_test_setup(test_preconditions_of_a_delete, setup),
        cmocka_unit_test_setup(test_another_owner, setup),
        cmocka_unit_test_setup(test_another_device, setup),
        cmocka_unit_test_setup(test_scope, setup),
        cmocka_unit_test_setup(test_outdated, setup),
        cmocka_unit_test_setup(test_name_cut_off, setup),
        cmocka_unit_test_setup(test_odd_records, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
