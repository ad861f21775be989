/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim builder: how it checks identity and results, and the text of every refusal; which
 * records are valid.
 */
#include "tests/unit/node/claim_builder.h"

/* --- identity --- */

static void test_id_check(void **state)
{
    static const struct {
        struct claim_id id;
        const char *why; /* NULL: fine */
    } rows[] = {
        {{UID, "default", "c"}, NULL},
        {{"1", "a-b-0", "my.claim-0.x"}, NULL},
        {{"", "default", "c"},
         "claim UID \"\" is not valid: it needs letters, digits and '-', letters or digits at both "
         "ends"},
        {{"../etc/x", "default", "c"},
         "claim UID \"../etc/x\" is not valid: it needs letters, digits and '-', letters or digits "
         "at both ends"},
        {{"a.b", "default", "c"},
         "claim UID \"a.b\" is not valid: it needs letters, digits and '-', letters or digits at "
         "both ends"},
        {{"-a", "default", "c"},
         "claim UID \"-a\" is not valid: it needs letters, digits and '-', letters or digits at "
         "both ends"},
        {{UID, "", "c"},
         "claim namespace \"\" is not valid: it needs letters, digits and '-', letters or digits "
         "at both ends"},
        {{UID, "a/b", "c"},
         "claim namespace \"a/b\" is not valid: it needs letters, digits and '-', letters or "
         "digits at both ends"},
        {{UID, "a.b", "c"},
         "claim namespace \"a.b\" is not valid: it needs letters, digits and '-', letters or "
         "digits at both ends"},
        {{UID, "default", "x\ny\""},
         "claim name \"x?y?\" is not valid: it needs letters, digits, '-' and '.', letters or "
         "digits at both ends"},
        {{UID, "default", ".."},
         "claim name \"..\" is not valid: it needs letters, digits, '-' and '.', letters or digits "
         "at both ends"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[CLAIM_ERROR_CAP] = "";
        struct writer why = writer_of(text, sizeof text - 1);
        enum status s = claim_id_check(&rows[i].id, &why);
        assert_int_equal(s, (rows[i].why == NULL) ? STATUS_OK : PEER_MALFORMED);
        assert_string_equal(text, (rows[i].why == NULL) ? "" : rows[i].why);
    }
}

/* Every byte that a UID may not hold, in the middle: it becomes part of a file name. */
static void test_uid_bytes(void **state)
{
    (void)state;
    for (int c = 1; c < 256; c++) {
        struct claim_id id = {.namespace_ = "n", .name = "c"};
        char text[CLAIM_ERROR_CAP] = "";
        struct writer why = writer_of(text, sizeof text - 1);
        (void)snprintf(id.uid, sizeof id.uid, "a%cb", c);
        bool fine =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
        assert_int_equal(claim_id_check(&id, &why) == STATUS_OK, fine);
        if (!fine) {
            assert_one_line(text);
        }
    }
}

static void test_other_uid(void **state)
{
    (void)state;
    claim_meta(&b, view_text(OTHER_UID));
    add("a", "neuron-device-0");
    claim_allocated(&b);
    assert_int_equal(claim_end(&b), PEER_NOT_FOUND);
    assert_string_equal(b.why, "claim training/llama-0 got replaced: UID " UID
                               " was asked for, the API server has UID " OTHER_UID);
}

/* The longest names leave the text whole. */
static void test_other_uid_longest(void **state)
{
    struct claim_record longest;
    (void)state;
    fill_longest(&longest);
    claim_begin(&b, &devices, DRIVER_NAME, "node-1", &longest.id);
    char other[400];
    fill_name(other, sizeof other, 'o');
    claim_meta(&b, view_text(other));
    assert_int_equal(claim_end(&b), PEER_NOT_FOUND);
    assert_one_line(b.why);
    assert_true(strlen(b.why) < CLAIM_ERROR_CAP);
    assert_string_equal(b.why + strlen(b.why) - 4, "o...");
}

#define AGAIN "; delete the pod to have the claim allocated again"

static void test_lacking(void **state)
{
    (void)state;
    assert_int_equal(claim_end(&b), PEER_REFUSED);
    assert_string_equal(b.why,
                        "claim training/llama-0 has no metadata in the API server's response");
    (void)setup(NULL);
    claim_meta(&b, view_text(UID));
    assert_int_equal(claim_end(&b), PEER_REFUSED);
    assert_string_equal(b.why,
                        "claim training/llama-0 is not allocated: delete the pod, and create it "
                        "without spec.nodeName, so that the scheduler allocates the claim");
    (void)setup(NULL);
    refused("claim training/llama-0 has no allocation result of driver neuron.aws.com" AGAIN);
    (void)setup(NULL);
    struct claim_result_in other = result_of("a", "nic-0");
    other.driver = view_text("dra.networking");
    other.pool = view_text("elsewhere");
    claim_result_add(&b, &other);
    refused("claim training/llama-0 has no allocation result of driver neuron.aws.com" AGAIN);
}

static void test_malformed(void **state)
{
    (void)state;
    add("a", "neuron-device-0");
    claim_malformed(&b, "a result is not readable");
    claim_malformed(&b, "a later failure is not reported");
    refused("claim training/llama-0 has a malformed allocation: a result is not readable" AGAIN);
}

/* --- results --- */

static void test_results(void **state)
{
    (void)state;
    struct claim_result_in shared = result_of("probe/only", "neuron-device-2");
    struct claim_result_in other = result_of("net", "neuron-device-9");
    other.driver = view_text("neuron.aws.com.other");
    shared.share_id = view_text(SHARE_ID);
    shared.admin_access = true;
    add("train", "neuron-device-15");
    claim_result_add(&b, &other);
    add("train", "neuron-device-4");
    claim_result_add(&b, &shared);
    b.zero_numbering = true;
    prepared();
    assert_int_equal(b.record.count, 3);
    assert_string_equal(b.record.id.uid, UID);
    assert_string_equal(b.record.id.namespace_, "training");
    assert_string_equal(b.record.id.name, "llama-0");
    assert_string_equal(b.record.pool, "node-1");
    assert_string_equal(b.record.boot_id, BOOT_ID);
    assert_true(b.record.zero_numbering);
    assert_string_equal(b.record.result[0].request, "train");
    assert_int_equal(b.record.result[0].number, 15);
    assert_false(b.record.result[0].admin_access);
    assert_int_equal(b.record.result[0].logical_neuron_core, 0);
    assert_int_equal(b.record.result[1].number, 4);
    assert_string_equal(b.record.result[2].request, "probe");
    assert_string_equal(b.record.result[2].share_id, SHARE_ID);
    assert_true(b.record.result[2].admin_access);
    assert_true(claim_numbers(&b.record) == (UINT64_C(1) << 15 | UINT64_C(1) << 4));
}

#define DELETE "; delete the pod to get one that exists"
#define GONE                                                                                       \
    " is gone: the kernel module no longer shows it (see dmesg). Delete the pod to get another "   \
    "device."

static void test_unknown_device(void **state)
{
    (void)state;
    add("a", "neuron-device-99");
    refused("device neuron-device-99 not found on node node-1; devices here: neuron-device-0 ... "
            "neuron-device-15" DELETE);
    (void)setup(NULL);
    add("a", "neuron-device-16"); /* the type has 16 */
    refused("device neuron-device-16 not found on node node-1; devices here: neuron-device-0 ... "
            "neuron-device-15" DELETE);
    (void)setup_trn1(NULL);
    add("a", "neuron-device-1");
    refused(
        "device neuron-device-1 not found on node node-1; devices here: neuron-device-0" DELETE);
    fill_devices(&devices, &trn2, 5, 2);
    claim_begin(&b, &devices, DRIVER_NAME, "node-1", &wanted);
    add("a", "neuron-device-0");
    refused("neuron-device-0" GONE);
    fill_devices(&devices, &trn1, 0, 0);
    claim_begin(&b, &devices, DRIVER_NAME, "node-1", &wanted);
    add("a", "neuron-device-0");
    refused("neuron-device-0" GONE);
    claim_begin(&b, &devices, DRIVER_NAME, "node-1", &wanted);
    add("a", "neurondevice0");
    refused("device neurondevice0 not found on node node-1; devices here: none" DELETE);
    (void)setup(NULL);
    add("a", "neuron\ndevice");
    refused("device neuron?device not found on node node-1; devices here: neuron-device-0 ... "
            "neuron-device-15" DELETE);
}

/*
 * A device inside the range of those that are left: the text lists no range that has it. On a board
 * that is not known, any number may have been there.
 */
static void test_gone_device(void **state)
{
    (void)state;
    devices.device[2] = devices.device[15];
    devices.count = 15;
    add("a", "neuron-device-2");
    refused("neuron-device-2 is gone: the kernel module no longer shows it (see dmesg). Delete the "
            "pod to get another device.");
    (void)setup(NULL);
    devices.board = NULL;
    add("a", "neuron-device-63");
    refused("neuron-device-63" GONE);
}

static void test_foreign_pool(void **state)
{
    (void)state;
    struct claim_result_in in = result_of("a", "neuron-device-3");
    in.pool = view_text("node-2");
    claim_result_add(&b, &in);
    refused("device neuron-device-3 is allocated from pool node-2, the pool of this node is "
            "node-1; delete the pod and create it without spec.nodeName, or check --node-name of "
            "the agent");
}

static void test_device_twice(void **state)
{
    (void)state;
    add("a", "neuron-device-3");
    add("b", "neuron-device-3");
    refused("claim training/llama-0 has a malformed allocation: device neuron-device-3 is "
            "allocated to it twice" AGAIN);
    (void)setup(NULL);
    add("a", "neuron-device-3");
    add_admin("watch", "neuron-device-3");
    prepared();
    assert_int_equal(b.record.count, 2);
    assert_true(claim_numbers(&b.record) == UINT64_C(1) << 3);
    (void)setup(NULL);
    struct claim_result_in share = result_of("a", "neuron-device-3");
    share.share_id = view_text("s1");
    claim_result_add(&b, &share);
    share.share_id = view_text("s2");
    claim_result_add(&b, &share);
    prepared();
    assert_true(claim_shares(&b.record));
    b.record.result[1].share_id[0] = '\0';
    assert_false(claim_shares(&b.record));
    b.record.result[1].admin_access = true;
    assert_true(claim_shares(&b.record));
    (void)setup(NULL);
    claim_result_add(&b, &share);
    claim_result_add(&b, &share);
    assert_int_equal(end(), PEER_MALFORMED);
    (void)setup(NULL); /* a share of a device that the claim has alone */
    claim_result_add(&b, &share);
    add("b", "neuron-device-3");
    assert_int_equal(end(), PEER_MALFORMED);
}

static unsigned free_from(unsigned used, unsigned first, unsigned cores)
{
    unsigned room = 0;
    while (first + room < cores && (used >> (first + room) & 1u) == 0) {
        room++;
    }
    return room;
}

/* The free cores of the smallest gap with room for a part, by another way; more: there is none. */
static unsigned least_gap(unsigned used, unsigned size, unsigned cores, unsigned unit)
{
    unsigned least = cores + 1;
    for (unsigned first = 0; first + size <= cores; first += unit) {
        unsigned room = free_from(used, first, cores);
        bool begins = first < unit || (used >> (first - unit) & ((1u << unit) - 1)) != 0;
        least = (begins && room >= size && room < least) ? room : least;
    }
    return least;
}

static void check_place(unsigned used, unsigned size, unsigned cores, unsigned unit)
{
    unsigned part = (1u << size) - 1;
    unsigned got = cores_place((uint8_t)used, (uint8_t)part, cores, unit);
    unsigned least = least_gap(used, size, cores, unit);
    assert_int_equal(got == 0, least > cores);
    if (got != 0) {
        unsigned first = (unsigned)__builtin_ctz(got);
        assert_int_equal(got, part << first);
        assert_int_equal(first % unit, 0);
        assert_int_equal(free_from(used, first, cores), least);
    }
}

/* Every state of a device and every part: what is chosen is free, and leaves larger gaps whole. */
static void test_cores_place(void **state)
{
    (void)state;
    for (unsigned cores = 2; cores <= SHARED_CORES_MAX; cores *= 2) {
        for (unsigned used = 0; used < 1u << cores; used++) {
            for (unsigned size = 1; size <= cores; size++) {
                check_place(used, size, cores, 1);
                check_place(used, size + size % 2, cores, 2);
            }
        }
    }
}

static void test_cores_write(void **state)
{
    static const struct {
        uint8_t part;
        uint8_t unit;
        const char *text;
    } rows[] = {{1, 1, "0"},    {2, 1, "1"},      {3, 1, "0-1"},  {0xff, 1, "0-7"}, {3, 2, "0"},
                {0x0c, 2, "1"}, {0x3c, 2, "1-2"}, {0xc0, 2, "3"}, {0xff, 2, "0-3"}};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[8] = "";
        struct writer w = writer_of(text, sizeof text - 1);
        cores_write(&w, rows[i].part, rows[i].unit);
        assert_string_equal(text, rows[i].text);
    }
}

static void add_part(const char *request, const char *device, const char *key, const char *cores)
{
    struct claim_result_in share = result_of(request, device);
    share.share_id = view_text("s1");
    claim_capacity(&b, view_text("memory"), view_text("7"));
    claim_capacity(&b, view_text(key), view_text(cores));
    claim_result_add(&b, &share);
}

/* What takes fewer cores than the device has is a part, alone in its claim, under number 0. */
static void test_parts(void **state)
{
    (void)state;
    add_part("a", "neuron-device-3", "cores", "2");
    prepared();
    assert_int_equal(claim_cores(&b.record), 3);
    assert_int_equal(b.record.result[0].logical_neuron_core, 2);
    assert_true(b.record.zero_numbering && claim_joins(&b.record));
    assert_true(claim_container_numbers(&b.record) == UINT64_MAX);
    struct claim_record other = b.record;
    other.result[0].cores = 0x0c; /* which ones is not the scheduler's choice */
    assert_true(claim_results_same(&b.record, &other));
    other.result[0].cores = 0x0f;
    assert_false(claim_devices_same(&b.record, &other));
    static const char *const whole[] = {"8", "9", "255", "256", "0", "", "1.5", "2k"};
    for (size_t i = 0; i < COUNT(whole); i++) {
        (void)setup(NULL);
        add_part("a", "neuron-device-3", "cores", whole[i]);
        prepared();
        assert_int_equal(claim_cores(&b.record), 0);
        assert_true(claim_shares(&b.record) && !claim_joins(&b.record));
        assert_false(b.record.zero_numbering);
    }
    (void)setup(NULL); /* not our capacity; and what one result takes is not the next one's */
    add_part("a", "neuron-device-3", "other.example.com/cores", "2");
    prepared();
    assert_int_equal(claim_cores(&b.record), 0);
    (void)setup(NULL);
    struct claim_result_in foreign = result_of("a", "core-set-0");
    foreign.driver = view_text("cores.example.com");
    claim_capacity(&b, view_text("cores"), view_text("2"));
    claim_result_add(&b, &foreign);
    add_part("a", "neuron-device-3", "other.example.com/cores", "2");
    prepared();
    assert_int_equal(claim_cores(&b.record), 0);
    (void)setup(NULL);
    claim_capacity(&b, view_text("cores"), view_text("2"));
    add("a", "neuron-device-3"); /* no share */
    prepared();
    assert_int_equal(claim_cores(&b.record), 0);
    (void)setup(NULL);
    add_part("a", "neuron-device-3", "cores", "3");
    refused("claim training/llama-0 asks for a part of a device's cores that is not a multiple of "
            "the published step; allocate it again");
    (void)setup(NULL);
    add_part("a", "neuron-device-3", "cores", "2");
    add("b", "neuron-device-4");
    refused("claim training/llama-0 asks for a part of a device's cores beside other devices; ask "
            "for it in a claim of its own");
}

/* The device goes, or is another one, while the claim is read: that ends no agent. */
static void test_part_of_what_went(void **state)
{
    (void)state;
    for (unsigned change = 0; change < 3; change++) {
        (void)setup(NULL);
        add_part("a", "neuron-device-3", "cores", "2");
        devices.count = (change == 0) ? 0 : devices.count;
        devices.device[3].core_count = (change == 1) ? 0 : 8;
        devices.device[3].number = (change == 2) ? 20 : 3;
        refused("claim training/llama-0 asks for a part of a device's cores that is not a multiple "
                "of the published step; allocate it again");
    }
}

/* What would make a part ambiguous is no record. */
static void test_part_records(void **state)
{
    (void)state;
    for (unsigned change = 0; change < 9; change++) {
        (void)setup(NULL);
        add_part("a", "neuron-device-3", "cores", "2");
        prepared();
        struct claim_record *r = &b.record;
        r->zero_numbering = change != 1;
        r->first_number = (change == 2) ? 1 : 0;
        r->result[0].admin_access = change == 3;
        r->result[0].share_id[0] = (change == 4) ? '\0' : 's';
        if (change == 5) {
            r->result[1] = r->result[0];
            r->count = 2;
        }
        if (change == 6) {
            r->driver = DRIVER_EFA;
            r->result[0].efa_address = 1;
        }
        if (change >
            6) { /* no whole logical core of LNC 2: one, and two that begin at an odd one */
            r->result[0].cores = (change == 7) ? 1 : 6;
        }
        assert_int_equal(claim_record_valid(r), change == 0);
    }
}

static void test_result_names(void **state)
{
    static const char *const bad[] = {"",   "/",  "a/",   "/b",  "a/b/c", "a b",
                                      "-a", "a-", "a/-b", "a\n", "a.b",   "a/b.c"};
    static const char text[] = "claim training/llama-0 has a malformed allocation: a request name "
                               "or share ID of its results is not valid" AGAIN;
    char longer[REQUEST_CAP + REQUEST_BASE_CAP];
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        (void)setup(NULL);
        add(bad[i], "neuron-device-0");
        refused(text);
    }
    (void)setup(NULL);
    fill_name(longer, REQUEST_BASE_CAP + 1, 'x');
    add(longer, "neuron-device-0");
    refused(text);
    (void)setup(NULL);
    fill_name(longer, REQUEST_CAP + 1, 'x');
    longer[63] = '/';
    add(longer, "neuron-device-0");
    refused(text);
    (void)setup(NULL);
    fill_name(longer, REQUEST_CAP, 'x');
    longer[63] = '/';
    add(longer, "neuron-device-0");
    prepared();
    assert_int_equal(strlen(b.record.result[0].request), 63);
    (void)setup(NULL);
    struct claim_result_in in = result_of("a", "neuron-device-0");
    in.share_id = view_text("s\"1");
    claim_result_add(&b, &in);
    refused(text);
    (void)setup(NULL);
    fill_name(longer, UID_CAP + 1, 'x');
    in.share_id = view_text(longer);
    claim_result_add(&b, &in);
    refused(text);
}

static void test_too_many_results(void **state)
{
    char name[DEVICE_NAME_CAP];
    (void)state;
    fill_devices(&devices, &trn2, 0, DEVICES_MAX);
    claim_begin(&b, &devices, DRIVER_NAME, "node-1", &wanted);
    for (unsigned i = 0; i < RESULTS_MAX; i++) {
        (void)snprintf(name, sizeof name, "neuron-device-%u", i);
        add("all", name);
    }
    assert_int_equal(b.failed, STATUS_OK);
    struct claim_builder full = b;
    prepared();
    assert_int_equal(b.record.count, RESULTS_MAX);
    b = full;
    add("all", "neuron-device-63");
    refused("claim training/llama-0 has a malformed allocation: it has more results than the API "
            "allows" AGAIN);
}

static void consumer(const char *resource, const char *name, const char *uid)
{
    claim_consumer(&b, view_text(resource), view_text(name), view_text(uid));
}

/* The first pod is kept; whatever else uses the claim, and what cannot be a pod, is passed over. */
static void test_consumers(void **state)
{
    char longest[NAME_CAP + 1];
    (void)state;
    add("a", "neuron-device-0");
    fill_name(longest, sizeof longest, 'n');
    assert_int_equal(b.consumers, 0);
    consumer("things", "a", "b");
    assert_int_equal(b.consumers, 1);
    consumer("", "a", "b");
    assert_int_equal(b.consumers, 2);
    consumer("pods", "", "b");
    consumer("pods", "a", "");
    consumer("pods", "a\"b", "c");
    consumer("pods", longest, "c");
    assert_string_equal(b.record.consumer.name, "");
    assert_string_equal(b.record.consumer.uid, "");
    consumer("pods", "trainer-0.x", "11-22");
    consumer("pods", "trainer-1", "33-44");
    consumer("podgroups", "trainers", "55-66");
    assert_int_equal(b.consumers, 2);
    prepared();
    assert_int_equal(b.record.consumer.kind, CONSUMER_POD);
    assert_string_equal(b.record.consumer.name, "trainer-0.x");
    assert_string_equal(b.record.consumer.uid, "11-22");
    assert_true(claim_record_valid(&b.record));
}

/* A claim of a PodGroup names no pod. */
static void test_consumer_that_is_a_group(void **state)
{
    (void)state;
    add("a", "neuron-device-0");
    consumer("podgroups", "", "c");
    consumer("podgroups", "trainers", "55-66");
    consumer("pods", "trainer-0", "11-22");
    prepared();
    assert_int_equal(b.record.consumer.kind, CONSUMER_POD_GROUP);
    assert_string_equal(b.record.consumer.name, "trainers");
    assert_string_equal(b.record.consumer.uid, "55-66");
    assert_string_equal(claim_consumer_name(CONSUMER_POD_GROUP), "PodGroup");
}

static void test_numbers(void **state)
{
    struct claim_record r;
    (void)state;
    record_begin(&r);
    (void)record_add(&r, "a", 0);
    (void)record_add(&r, "a", 63);
    record_add(&r, "w", 7)->admin_access = true;
    assert_true(claim_numbers(&r) == (UINT64_C(1) | UINT64_C(1) << 63));
}

/* --- records --- */

enum damage {
    UID_EMPTY,
    UID_PATH,
    NAMESPACE_EMPTY,
    NAME_EMPTY,
    POOL_EMPTY,
    BOOT_ID_SPACE,
    NO_RESULTS,
    TOO_MANY,
    REQUEST_EMPTY,
    REQUEST_SLASH,
    REQUEST_DOT,
    SHARE_DOT,
    SHARE_QUOTE,
    NUMBER_HIGH,
    CONFIGURED_UNLIKE,
    NODE_WITHOUT_DEVICES,
    DEVICES_WITHOUT_NODE,
    MODE_UNTRANSLATED,
    MODE_UNASKED,
    MODE_HIGH,
    SERVER_ID_TEXT,
    NODE_ID_ALONE,
    DAMAGES
};

/* What only a record of a node's device can have wrong. */
static void damage_node(struct claim_record *r, enum damage how)
{
    fill_node(r);
    if (how == MODE_HIGH) {
        r->ultraserver.mode = ULTRASERVER_MODE_MAX + 1;
    } else if (how == SERVER_ID_TEXT) {
        r->ultraserver.place.server_id[3] = 'x';
    } else {
        r->ultraserver.place.server_id[0] = 0;
    }
}

static void damage_names(struct claim_record *r, enum damage how)
{
    switch (how) {
    case UID_EMPTY:
        r->id.uid[0] = 0;
        break;
    case UID_PATH:
        r->id.uid[3] = '/';
        break;
    case NAMESPACE_EMPTY:
        r->id.namespace_[0] = 0;
        break;
    case NAME_EMPTY:
        r->id.name[0] = 0;
        break;
    case POOL_EMPTY:
        r->pool[0] = 0;
        break;
    case BOOT_ID_SPACE:
        r->boot_id[3] = ' ';
        break;
    default:
        break;
    }
}

static void damage_record(struct claim_record *r, int how)
{
    struct claim_result *last = &r->result[r->count - 1];
    switch ((enum damage)how) {
    case NO_RESULTS:
        r->count = 0;
        break;
    case TOO_MANY:
        r->count = RESULTS_MAX + 1;
        break;
    case REQUEST_EMPTY:
        last->request[0] = 0;
        break;
    case REQUEST_SLASH:
        memcpy(last->request, "a/b", 4);
        break;
    case REQUEST_DOT:
        memcpy(last->request, "a.b", 4);
        break;
    case SHARE_DOT:
        memcpy(last->share_id, "a.b", 4);
        break;
    case SHARE_QUOTE:
        memcpy(last->share_id, "a\"b", 4);
        break;
    case NUMBER_HIGH:
        last->number = DEVICES_MAX;
        break;
    case CONFIGURED_UNLIKE:
        last->logical_neuron_core = 2;
        break;
    case NODE_WITHOUT_DEVICES:
        last->node = true;
        last->number = 0;
        break;
    case DEVICES_WITHOUT_NODE:
        r->node_devices = 1;
        break;
    case MODE_UNTRANSLATED:
        r->result[0].ultraserver_mode = 2;
        last->ultraserver_mode = 2;
        break;
    case MODE_UNASKED:
        r->ultraserver.mode = 1;
        break;
    case MODE_HIGH:
    case SERVER_ID_TEXT:
    case NODE_ID_ALONE:
        damage_node(r, (enum damage)how);
        break;
    default:
        damage_names(r, (enum damage)how);
        break;
    }
}

static void test_record_valid(void **state)
{
    struct claim_record good;
    (void)state;
    record_begin(&good);
    (void)record_add(&good, "a", 0);
    (void)record_add(&good, "a", 63);
    assert_true(claim_record_valid(&good));
    for (int how = 0; how < DAMAGES; how++) {
        struct claim_record r = good;
        damage_record(&r, how);
        if (claim_record_valid(&r)) {
            fail_msg("damage %d goes unseen", how);
        }
    }
    good.boot_id[0] = '~';
    (void)snprintf(good.pool, sizeof good.pool, "ip-10-0-0-1.ec2.internal");
    assert_true(claim_record_valid(&good));
    good.boot_id[0] = 0;
    assert_true(claim_record_valid(&good));
    fill_longest(&good);
    assert_true(claim_record_valid(&good));
    fill_node(&good);
    assert_true(claim_record_valid(&good));
}

/* Devices side by side, whatever request they are of. */
static void test_consecutive(void **state)
{
    static const struct {
        uint64_t numbers;
        bool consecutive;
    } rows[] = {{0x1, true},        {0x8000, true},
                {0xffff, true},     {0xf0, true},
                {UINT64_MAX, true}, {UINT64_C(3) << 62, true},
                {0x5, false},       {0x23, false},
                {0x8001, false}, /* no ring */
                {0x1111, false},    {UINT64_C(1) << 63 | 1u, false}};
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct claim_record r;
        record_begin(&r);
        r.node_devices = rows[i].numbers;
        record_add(&r, "a", 0)->node = true;
        assert_int_equal(claim_consecutive(&r), rows[i].consecutive);
        r.driver = DRIVER_EFA;
        assert_true(claim_consecutive(&r));
    }
    /* admin access sees, and has nothing */
    struct claim_record r;
    record_begin(&r);
    record_add(&r, "b", 6);
    record_add(&r, "a", 5);
    record_add(&r, "c", 9)->admin_access = true;
    assert_true(claim_consecutive(&r));
    r.result[2].admin_access = false;
    assert_false(claim_consecutive(&r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_id_check),
        cmocka_unit_test(test_uid_bytes),
        cmocka_unit_test_setup(test_other_uid, setup),
        cmocka_unit_test_setup(test_other_uid_longest, setup),
        cmocka_unit_test_setup(test_lacking, setup),
        cmocka_unit_test_setup(test_malformed, setup),
        cmocka_unit_test_setup(test_results, setup),
        cmocka_unit_test_setup(test_unknown_device, setup),
        cmocka_unit_test_setup(test_gone_device, setup),
        cmocka_unit_test_setup(test_foreign_pool, setup),
        cmocka_unit_test_setup(test_device_twice, setup),
        cmocka_unit_test(test_cores_place),
        cmocka_unit_test(test_cores_write),
        cmocka_unit_test_setup(test_parts, setup),
        cmocka_unit_test(test_part_of_what_went),
        cmocka_unit_test_setup(test_part_records, setup),
        cmocka_unit_test_setup(test_result_names, setup),
        cmocka_unit_test_setup(test_too_many_results, setup),
        cmocka_unit_test_setup(test_consumers, setup),
        cmocka_unit_test_setup(test_consumer_that_is_a_group, setup),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_consecutive),
        cmocka_unit_test(test_record_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
