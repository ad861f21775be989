/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole agent under a script: octets of strangers on every socket, a kubelet and an API server
 * that behave until the script says otherwise, octets changed on their way, time, a disk that
 * fails, a process that is killed and begins again. Checks I1 to I8 of src/agent/agent.h. A run
 * begins on a node that is up, or with a process that was just started; both are made once.
 *
 * Input: a script: octets on every socket, changed octets, disk faults, time, kills and restarts
 */
#include "tests/fuzz/agent_end.h"

#define ACTIONS_MAX 48u
#define SAY_BYTES_MAX 4096u
#define TIME_MAX_MS 900000u /* that a script lets pass: what takes longer is the simulator's */

/* --- the script: strangers --- */

static void stranger_hears(struct stranger *p, struct view bytes, uint64_t salt)
{
    struct fuzz_cuts cuts =
        (salt == 0u) ? fuzz_cuts_whole() : fuzz_cuts_of(bytes.data, bytes.len, salt);
    bool going = p->open;
    while (going && bytes.len > 0u) {
        struct writer room = agent_link_rx(agent, p->link);
        struct view piece = view_first(bytes, fuzz_cut(&cuts, bytes.len));
        struct mangle none = {0};
        size_t n = copy(room, piece, &none);
        check_input(p->link, n);
        agent_link_rx_commit(agent, p->link, n);
        bytes = view_from(bytes, n);
        world.poked = true;
        settle();
        going = n > 0u && p->open && !world.exited;
    }
}

static void stranger_opens(struct fuzz *in, struct stranger *p)
{
    uint8_t how = fuzz_u8(in);
    if (p->open || world.exited) {
        return;
    }
    enum link_kind kind = (enum link_kind)(how & 3u);
    int link = agent_link_open(agent, kind, 1u + (how >> 2) % 3u, world.now_ms);
    if (link >= 0) {
        *p = (struct stranger){.open = true, .kind = kind, .link = (unsigned)link};
        told_begin(p->link);
    }
    world.poked = true;
    settle();
    if ((how & 0x80u) != 0u) {
        uint8_t bytes[64];
        struct writer w = writer_of(bytes, sizeof bytes);
        writer_text(&w, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        writer_bytes(&w, "\0\0\0\4\0\0\0\0\0", FRAME_HEAD);
        stranger_hears(p, writer_view(&w), 0);
    }
}

static void stranger_frames(struct fuzz *in, struct stranger *p)
{
    uint8_t bytes[300];
    struct writer w = writer_of(bytes, sizeof bytes);
    uint8_t type = fuzz_u8(in);
    uint8_t flags = fuzz_u8(in);
    uint8_t stream = fuzz_u8(in);
    frame_put(&w, type & 15u, flags, stream, fuzz_text(in));
    stranger_hears(p, writer_view(&w), type >> 4);
}

/* The message of a call: claims that there are, or octets of the script. */
static void put_message(struct fuzz *in, struct writer *w)
{
    uint8_t claims = fuzz_u8(in);
    if (claims == 0u) {
        writer_append(w, fuzz_text(in));
        return;
    }
    for (unsigned n = 0; n < 4u; n++) {
        uint8_t bytes[256];
        struct writer claim = writer_of(bytes, sizeof bytes);
        struct sim_claim c;
        name_claim(&c, ((claims & 15u) + n) % CLAIMS);
        sim_put_text(&claim, 1, c.ns);
        sim_put_text(&claim, 2, c.uid);
        sim_put_text(&claim, 3, c.name);
        if (n <= claims >> 6) {
            sim_put_bytes(w, 1, writer_view(&claim));
        }
    }
}

static void stranger_calls(struct fuzz *in, struct stranger *p)
{
    static const char *const paths[] = {
        "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources",
        "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources",
        "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources",
        "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodeUnprepareResources",
        "/pluginregistration.Registration/GetInfo",
        "/pluginregistration.Registration/NotifyRegistrationStatus",
        "/grpc.health.v1.Health/Check",
        "/grpc.health.v1.Health/Watch",
    };
    uint8_t block[512];
    uint8_t message[1400];
    uint8_t bytes[2000];
    struct writer b = writer_of(block, sizeof block);
    struct writer m = writer_of(message, sizeof message);
    struct writer w = writer_of(bytes, sizeof bytes);
    uint8_t path = fuzz_u8(in);
    uint8_t stream = fuzz_u8(in);
    hpack_encode(&b, view_text(":method"), view_text("POST"), false);
    hpack_encode(&b, view_text(":scheme"), view_text("http"), false);
    hpack_encode(&b, view_text(":path"), view_text(paths[path & 7u]), false);
    hpack_encode(&b, view_text("content-type"), view_text("application/grpc"), false);
    if ((path & 8u) != 0u) {
        hpack_encode(&b, view_text("grpc-timeout"), view_text("900m"), false);
    }
    writer_bytes(&m, "\0\0\0\0\0", GRPC_PREFIX_BYTES);
    put_message(in, &m);
    CHECK(!b.full && !m.full);
    message[3] = (uint8_t)((m.len - GRPC_PREFIX_BYTES) >> 8);
    message[4] = (uint8_t)(m.len - GRPC_PREFIX_BYTES);
    frame_put(&w, 1, 4, stream | 1u, writer_view(&b));
    frame_put(&w, 0, (path & 16u) == 0u, stream | 1u, writer_view(&m));
    CHECK(!w.full);
    stranger_hears(p, writer_view(&w), path >> 5);
}

static struct view long_text(struct fuzz *in)
{
    size_t n = fuzz_u16(in) % (SAY_BYTES_MAX + 1u);
    return fuzz_bytes(in, n);
}

static void stranger_says(struct fuzz *in, struct stranger *p, uint64_t salt)
{
    stranger_hears(p, long_text(in), salt);
}

static void stranger_ends(struct stranger *p)
{
    if (p->open) {
        agent_link_end(agent, p->link);
        world.poked = true;
    }
}

/* --- the script: the API server --- */

/* What is not the model says these octets, to whatever the agent asked. */
static void api_says(struct fuzz *in, uint64_t salt)
{
    struct view bytes = long_text(in);
    struct fuzz_cuts cuts =
        (salt == 0u) ? fuzz_cuts_whole() : fuzz_cuts_of(bytes.data, bytes.len, salt);
    bool going = true;
    while (going && world.api_open && world.model < 0 && bytes.len > 0u) {
        struct mangle none = {0};
        struct view piece = view_first(bytes, fuzz_cut(&cuts, bytes.len));
        size_t n = copy(agent_link_rx(agent, LINK_API), piece, &none);
        agent_link_rx_commit(agent, LINK_API, n);
        bytes = view_from(bytes, n);
        world.poked = true;
        settle();
        going = n > 0u && !world.exited;
    }
}

static void api_path(struct fuzz *in)
{
    uint8_t how = fuzz_u8(in);
    world.api_peer = (enum api_peer)(how & 3u);
    if ((how & 4u) != 0u) {
        api_cut((how & 8u) != 0u ? "connection reset by peer" : "");
    }
    if ((how & 16u) != 0u && world.model >= 0) {
        sim_api_goaway(&api, (unsigned)world.model, (how & 32u) != 0u);
    }
    if (world.connecting) {
        api_try();
    }
}

static void api_fault(struct fuzz *in)
{
    static const uint16_t codes[] = {500, 503, 429, 403, 404, 409, 422, 401, 410, 413, 502, 504};
    enum sim_fault_kind kind = (enum sim_fault_kind)(fuzz_u8(in) % (SIM_FAULT_EXPIRED + 1));
    uint8_t how = fuzz_u8(in);
    struct sim_fault f = {.asked = fuzz_u16(in) & SIM_ASK_ALL,
                          .http = codes[(how & 15u) % 12u],
                          .retry_after_s = how >> 6,
                          .key = "coreCount"};
    if ((how & 16u) != 0u || f.asked == 0u) {
        sim_api_fault_end(&api, kind);
    } else {
        sim_api_fault(&api, kind, &f);
    }
}

static void wipe_slices(bool all)
{
    for (unsigned i = 0; i < api.store.top; i++) {
        struct sim_object *o = &api.store.object[i];
        if (o->state == SIM_LIVE && o->kind == SIM_SLICE) {
            sim_store_delete(&api.store, o);
            if (!all) {
                return;
            }
        }
    }
}

static void wipe_node(void)
{
    enum status s = sim_api_delete(&api, SIM_NODE, "", NODE_NAME);
    CHECK(s == STATUS_OK || s == PEER_NOT_FOUND);
}

static void change_objects(struct fuzz *in)
{
    static const char *const layers[] = {"nn-1", "nn-2", "", "nn-3 is no label"};
    uint8_t what = fuzz_u8(in);
    switch (what & 7u) {
    case 0:
        wipe_slices((what & 8u) != 0u);
        break;
    case 1:
        put_node(layers[what >> 3 & 3u]);
        break;
    case 2:
        put_claim((what >> 3) % CLAIMS, (what & 0x80u) != 0u);
        break;
    case 3:
        sim_api_forget(&api);
        break;
    case 4:
        api.config.serves[SIM_V1] = (what & 8u) != 0u;
        api.config.serves[SIM_V1BETA2] = (what & 16u) != 0u;
        api.config.serves[SIM_V1BETA1] = (what & 32u) != 0u;
        break;
    case 5:
        world.token[sizeof TOKEN_MARK] = (char)('0' + (what >> 3 & 7u));
        tell_token();
        break;
    case 6:
        api.config.token = (what & 8u) != 0u ? TOKEN_MARK "-1" : "";
        break;
    default:
        wipe_node();
        break;
    }
}

/* --- the script: kubelet, disk, process --- */

static void kubelet_calls(struct fuzz *in)
{
    struct sim_claim claims[4];
    uint8_t what = fuzz_u8(in);
    unsigned number = 0;
    const struct sim_batch batch = {.method = (what & 0x80u) != 0u ? SIM_UNPREPARE : SIM_PREPARE,
                                    .driver = DRIVER_NAME,
                                    .claims = claims,
                                    .count = 1u + (what >> 4 & 3u)};
    for (unsigned i = 0; i < batch.count; i++) {
        name_claim(&claims[i], ((what & 15u) + i) % CLAIMS);
    }
    enum status s = sim_kubelet_call(&kubelet, world.now_ms, &batch, &number);
    CHECK(s == STATUS_OK || s == PEER_NOT_FOUND || s == STATUS_MORE || s == FULL_TABLE);
}

static void disk_fails(struct fuzz *in)
{
    static const enum status failures[] = {HOST_IO, HOST_NO_SPACE, HOST_DENIED, HOST_IO};
    static const enum fault errors[] = {FAULT_ERROR, FAULT_ERROR_TORN, FAULT_ERROR_WRITTEN};
    static const enum fault kills[] = {FAULT_KILL_BEFORE, FAULT_KILL_TORN, FAULT_KILL_AFTER};
    uint8_t how = fuzz_u8(in);
    uint8_t at = fuzz_u8(in);
    unsigned part = (how & 4u) == 0u ? 0u : 1u + (how >> 3 & 1u);
    enum fault fault = (how & 32u) != 0u ? kills[part] : errors[part];
    disk_fault((how & 64u) != 0u ? FAULT_NONE : fault, 1u + at % 64u, false, failures[how & 3u]);
    disk.lasting = (how & 16u) != 0u;
}

static bool page_lost(void *in)
{
    return (fuzz_u8((struct fuzz *)in) & 1u) != 0u;
}

static void process_again(struct fuzz *in)
{
    uint8_t how = fuzz_u8(in);
    if ((how & 1u) != 0u) {
        disk.fault = FAULT_NONE;
        forget_unprepares();
        disk_power_cut(page_lost, in);
    } else {
        expect_same_claims();
    }
    process_start();
}

static void time_passes(struct fuzz *in)
{
    static const uint32_t spans[] = {1,    10,    50,    100,   300,   1000,  2000,   3000,
                                     5000, 11000, 16000, 31000, 46000, 61000, 121000, 601000};
    uint8_t n = fuzz_u8(in);
    uint64_t ms = spans[n & 15u] + (n >> 4);
    pass((world.now_ms + ms < TIME_MAX_MS) ? ms : 1u);
}

static void set_mangle(struct fuzz *in)
{
    uint8_t how = fuzz_u8(in);
    struct mangle m = {.in = 1u + fuzz_u16(in) % 8192u, .by = fuzz_u8(in)};
    *((how & 1u) != 0u ? &world.api_mangle : &world.kubelet_mangle) = m;
}

static void devices_change(struct fuzz *in)
{
    uint8_t n = fuzz_u8(in);
    find_devices(n % 9u);
    world.found.unknown = (n & 0x80u) != 0u;
    agent_found(agent, &world.found);
    agent_device_plugin(agent, ((n & 0x40u) != 0u) ? "neuron\n\"\xff.sock" : "");
    world.poked = true;
}

/* --- one action --- */

static void act_on_stranger(struct fuzz *in, unsigned what, struct stranger *p)
{
    switch (what) {
    case 0:
        stranger_opens(in, p);
        break;
    case 1:
        stranger_says(in, p, 0);
        break;
    case 2:
        stranger_says(in, p, 1);
        break;
    case 3:
        stranger_frames(in, p);
        break;
    case 4:
        stranger_calls(in, p);
        break;
    case 5:
        p->deaf = !p->deaf;
        break;
    default:
        stranger_ends(p);
        break;
    }
}

static void act_on_world(struct fuzz *in, unsigned what)
{
    static void (*const actions[])(struct fuzz *in) = {
        time_passes,    time_passes, kubelet_calls, kubelet_calls, api_path,      api_fault,
        change_objects, disk_fails,  process_again, set_mangle,    devices_change};
    if (what < sizeof actions / sizeof actions[0]) {
        actions[what](in);
    } else if (what < 13u) {
        api_says(in, what - 11u);
    } else if (what == 13u) {
        kubelet_restarts((fuzz_u8(in) & 1u) != 0u);
    } else {
        agent_stop(agent, world.now_ms);
        world.poked = true;
    }
}

static void act(struct fuzz *in)
{
    uint8_t what = fuzz_u8(in);
    if (world.exited) {
        process_start();
    }
    if ((what & 0x80u) != 0u) {
        act_on_stranger(in, (what & 15u) % 7u, &world.stranger[(what >> 4 & 7u) % STRANGERS]);
    } else {
        act_on_world(in, what % 15u);
    }
    settle();
    check_promises();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    struct fuzz in = fuzz_of(data, size);
    if (!ready) {
        make_beginnings();
        ready = true;
    }
    begin_again(&beginnings[fuzz_u8(&in) & 1u]);
    for (unsigned i = 0; i < ACTIONS_MAX && fuzz_left(&in) > 0u; i++) {
        act(&in);
    }
    check_registered();
    check_pages();
    return 0;
}
