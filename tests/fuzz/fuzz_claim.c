/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ResourceClaim as the API server answers it, through the field filter and the agent's decoding,
 * becomes a claim record, what the store keeps of it, and a CDI file. Checks I1 to I6 of
 * dra/claim.h. The input is the object's bytes behind one byte of choices; the oracle for the CDI
 * file is jansson.
 *
 * Input: one byte of choices, then a ResourceClaim in protobuf
 * Links: -ljansson
 */
#include "cfg/identity.h"
#include "agent/state.h"
#include "dra/store.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/json_oracle.h"

static struct agent *agent;
static struct settings settings;
static struct devices devices;
static struct claim_builder copy;
static bool class_fails; /* the class files of the UltraServer cannot be read */

static enum status port_refuses(void *ctx, const char *name, enum files_lock which)
{
    (void)ctx;
    (void)name;
    (void)which;
    return HOST_BUSY;
}

/* The class files as they are in the prepare: other modes than those of choose_node. */
static enum status port_ultraserver(void *ctx, struct found_ultraserver *out)
{
    static const struct found_ultraserver other = {
        .modes = "3,4", .node_id = {"2", ""}, .server_id = {"00000000000000c3", ""}};
    (void)ctx;
    *out = other;
    return class_fails ? HOST_IO : STATUS_OK;
}

static const struct files port = {.lock = port_refuses, .ultraserver = port_ultraserver};

static void prepare(void)
{
    static const char *const args[] = {"--node-name", "node-a"};
    static const char *const env[] = {NULL};
    char text[256];
    struct writer why = writer_of(text, sizeof text);
    CHECK(settings_parse(&settings, args, 2, env, &why) == STATUS_OK);
    agent = agent_init(&settings, &port, 1, 0, 0);
    memcpy(devices.instance_type, "trn2.48xlarge", 14);
    memcpy(devices.boot_id, "boot-1", 7);
    devices.board = board_find(devices.instance_type);
    devices.lnc_allowed = board_family(devices.instance_type)->lnc_allowed;
    devices.count = 16;
    for (unsigned i = 0; i < devices.count; i++) {
        struct writer name = writer_of(devices.device[i].name, DEVICE_NAME_CAP);
        devices.device[i].number = (uint16_t)i;
        writer_text(&name, "neuron-device-");
        writer_decimal(&name, i);
        CHECK(writer_end_text(&name) == STATUS_OK);
    }
}

/* The same devices as those of a plain node, or of a node of an UltraServer. */
static void choose_node(bool ultraserver)
{
    static const struct ultraserver place = {
        .member = true,
        .modes = (1u << 1) | (1u << 3) | (1u << 4),
        .place = {{.server_id = "00000000000000a1", .node_id = 1},
                  {.server_id = "00000000000000b2", .node_id = 2}}};
    static const struct ultraserver none;
    devices.board = board_find(ultraserver ? "trn2u.48xlarge" : "trn2.48xlarge");
    devices.ultraserver = ultraserver ? place : none;
}

/* One body, in pieces or whole, into the builder of fetch 0. */
static enum status read_claim(struct view object, struct fuzz_cuts cuts, bool zero)
{
    static const struct claim_id wanted = {.uid = "uid-1", .namespace_ = "team-a", .name = "c"};
    static struct kube_response answer;
    uint8_t head[64];
    struct writer w = writer_of(head, sizeof head);
    struct claim_builder *b = &agent->claim->fetch[0].builder;
    const struct api_result so_far = {.kind = API_GET_CLAIM, .slot = API_SLOT_CLAIM_FIRST};
    struct kube_record record;
    agent->claim->fetch[0].state = FETCH_RUNNING;
    claim_begin(b, &devices, DRIVER_NAME, "node-a", &wanted);
    b->zero_numbering = zero;
    b->record.metadata = zero; /* its annotation is read then */
    kube_envelope_head(&w, "resource.k8s.io/v1", "ResourceClaim", object.len);
    kube_response_init(&answer, KUBE_SHAPE_CLAIM);
    kube_response_field(&answer, view_text(":status"), view_text("200"));
    kube_response_field(&answer, view_text("content-type"),
                        view_text("application/vnd.kubernetes.protobuf"));
    struct view bytes = writer_view(&w);
    enum status s = STATUS_MORE;
    for (unsigned part = 0; part < 2u; part++) {
        while (bytes.len > 0u && s == STATUS_MORE) {
            size_t n = fuzz_cut(&cuts, bytes.len);
            struct reader in = reader_of(view_first(bytes, n));
            for (s = kube_response_next(&answer, &in, &record); s == STATUS_OK;
                 s = kube_response_next(&answer, &in, &record)) {
                fetch_record(agent, &so_far, &record);
            }
            bytes = view_from(bytes, n);
        }
        bytes = object;
    }
    s = (s == STATUS_MORE) ? kube_response_end(&answer) : s;
    return (s == STATUS_OK) ? claim_end(b) : PEER_CLOSED;
}

/* I2: what the kubelet shows is one line, within its room. */
static void look_why(const struct claim_builder *b)
{
    CHECK(memchr(b->why, 0, sizeof b->why) != NULL && b->why[0] != '\0');
    for (const char *c = b->why; *c != '\0'; c++) {
        CHECK(*c >= ' ' && *c <= '~');
    }
}

static void look_stored(const struct claim_record *r)
{
    static struct claim_record again;
    static uint8_t room[STORE_RECORD_MAX];
    struct writer out = writer_of(room, sizeof room);
    CHECK(store_record_encode(r, &out) == STATUS_OK); /* I3: every record has room */
    CHECK(store_record_decode(writer_view(&out), &again) == STATUS_OK);
    CHECK(strcmp(again.id.uid, r->id.uid) == 0 && again.count == r->count);
    CHECK(memcmp(again.result, r->result, r->count * sizeof r->result[0]) == 0);
    CHECK(claim_numbers(&again) == claim_numbers(r) && claim_results_same(&again, r));
    CHECK(strcmp(again.consumer.uid, r->consumer.uid) == 0 &&
          again.zero_numbering == r->zero_numbering && again.first_number == r->first_number);
    CHECK(again.metadata == r->metadata && strcmp(again.pod_claim, r->pod_claim) == 0);
}

static void look_cdi(const struct claim_record *r)
{
    static struct claim_record again;
    static uint8_t first[CDI_BYTES_MAX + 64u];
    static uint8_t second[CDI_BYTES_MAX + 64u];
    struct writer out = writer_of(first, sizeof first);
    struct writer same = writer_of(second, sizeof second);
    const struct cdi_host host = {.dev_root = "/dev", .cdi_root = "/c", .driver = DRIVER_NAME};
    enum status s = cdi_write(r, &host, &out);
    CHECK(s == STATUS_OK || s == FULL_BUFFER);
    CHECK(cdi_write(r, &host, &same) == s);
    if (s == STATUS_OK) {
        CHECK(out.len <= CDI_BYTES_MAX && view_equal(writer_view(&out), writer_view(&same)));
        CHECK(oracle_takes(writer_view(&out)));                                             /* I4 */
        CHECK(cdi_read(writer_view(&out), &again) == STATUS_OK && again.count == r->count); /* I6 */
        CHECK(memcmp(again.result, r->result, r->count * sizeof r->result[0]) == 0);
        CHECK(claim_results_same(&again, r));
    }
    for (unsigned i = 0; i < r->count; i++) {
        char id[CDI_ID_CAP];
        cdi_device_id(DRIVER_NEURON, r->id.uid, r->result[i].request, id);
        CHECK(strncmp(id, "neuron.aws.com/claim=uid-1-", 27) == 0);
    }
}

static void look_record(const struct claim_builder *b)
{
    const struct claim_record *r = &b->record;
    CHECK(claim_record_valid(r) && b->why[0] == '\0'); /* I1 */
    uint64_t held = 0;
    for (unsigned i = 0; i < r->count; i++) {
        uint64_t numbers = claim_result_numbers(r, i);
        bool alone = !r->result[i].admin_access && r->result[i].share_id[0] == '\0';
        CHECK(r->result[i].number < devices.count);
        CHECK(!alone || (held & numbers) == 0u); /* I5: one device, one exclusive holder */
        held |= alone ? numbers : 0u;
    }
    look_stored(r);
    look_cdi(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz in = fuzz_of(data, size);
    if (agent == NULL) {
        prepare();
    }
    uint8_t how = fuzz_u8(&in);
    struct view object = fuzz_rest(&in);
    choose_node((how & 0x80u) != 0u);
    class_fails = (how & 0x40u) == 0u;
    struct claim_builder *b = &agent->claim->fetch[0].builder;
    enum status s = read_claim(object, fuzz_cuts_whole(), (how & 1u) != 0u);
    if (s == STATUS_OK) {
        look_record(b);
    } else if (s != PEER_CLOSED) {
        look_why(b);
    }
    copy = *b;
    enum status again = read_claim(object, fuzz_cuts_of(data, size, how), (how & 1u) != 0u);
    CHECK(again == s && strcmp(copy.why, b->why) == 0);
    CHECK(s != STATUS_OK || memcmp(&copy.record, &b->record, sizeof copy.record) == 0);
    return 0;
}
