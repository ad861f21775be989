/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What real kubelets sent (tests/vectors/recorded), replayed to the whole agent: it registers,
 * prepares the claim that was recorded and unprepares it. However the octets are cut, it sends
 * and logs the same.
 */
#include "tests/unit/kubelet/agent_kubelet.h"
#include "tests/unit/wire/recorded.h"

#define AGENT_CUTS 60u /* replays of a recording, each with cuts of its own */
#define SAID_MAX 16384
#define PREFACE_BYTES 24u
#define FRAME_HEADER_BYTES 9u
#define TYPE_DATA 0u

/* What came of one replay. */
struct replayed {
    bool held; /* the claim's CDI file was there */
    size_t said;
    uint8_t bytes[SAID_MAX];
    char log[WORLD_LOG_BYTES];
};

static struct replayed first;
static struct replayed other;
static struct replayed *now_in;
static char cdi_name[DISK_NAME_CAP];

/* --- one connection --- */

static void take_answers(unsigned link)
{
    struct view out = agent_link_tx(world.agent, link);
    if (out.len > 0) {
        assert_in_range(out.len, 0, SAID_MAX - now_in->said);
        memcpy(now_in->bytes + now_in->said, out.data, out.len);
        now_in->said += out.len;
    }
    agent_link_tx_commit(world.agent, link, out.len);
}

static void run_agent(unsigned link)
{
    world.poked = true;
    settle();
    take_answers(link);
    world.poked = true;
    settle();
    bool there = cdi_name[0] != '\0' && disk_find(FILES_CDI, cdi_name) != NULL;
    now_in->held = now_in->held || there;
}

static void kubelet_says(unsigned link, struct view bytes)
{
    while (bytes.len > 0) {
        struct writer room = agent_link_rx(world.agent, link);
        struct view piece = view_first(view_first(bytes, cut_next()), room.cap - room.len);
        assert_true(piece.len > 0);
        memcpy(room.data + room.len, piece.data, piece.len);
        agent_link_rx_commit(world.agent, link, piece.len);
        run_agent(link);
        bytes = view_from(bytes, piece.len);
    }
}

/*
 * Where the next frame begins that may be the kubelet's answer to ours: it waits for an answer
 * before it calls again, and measures by PING what it got. Only DATA follows by itself.
 */
static size_t next_turn(const struct view bytes, size_t at)
{
    size_t end = at == 0 ? PREFACE_BYTES : at;
    while (end < bytes.len) {
        struct reader in = reader_of(view_from(bytes, end));
        uint16_t high = 0;
        uint8_t low = 0;
        uint8_t type = 0;
        assert_int_equal(reader_u16(&in, &high), STATUS_OK);
        assert_int_equal(reader_u8(&in, &low), STATUS_OK);
        assert_int_equal(reader_u8(&in, &type), STATUS_OK);
        if (type != TYPE_DATA && end > at) {
            return end;
        }
        end += FRAME_HEADER_BYTES + ((size_t)high << 8) + low;
    }
    assert_int_equal(end, bytes.len);
    return end;
}

static void replay_connection(enum link_kind kind, struct view bytes)
{
    int link = agent_link_open(world.agent, kind, 0, world.now_ms);
    assert_true(link >= 0);
    run_agent((unsigned)link);
    for (size_t at = 0; at < bytes.len;) {
        size_t end = next_turn(bytes, at);
        kubelet_says((unsigned)link, view_first(view_from(bytes, at), end - at));
        at = end;
    }
    agent_link_end(world.agent, (unsigned)link);
    run_agent((unsigned)link);
    assert_true(agent_link_done(world.agent, (unsigned)link));
}

/* --- one recording --- */

static void replay(struct replayed *o, enum link_kind kind, unsigned way)
{
    const struct api_claim claim = api.claim[0];
    now_in = o;
    o->held = false;
    o->said = 0;
    world_new();
    api.claim[0] = claim;
    node_up();
    log_forget();
    cutting_begin(way);
    for (unsigned i = 0; i < recorded.steps; i++) {
        const struct recorded_step *s = &recorded.step[i];
        assert_true(s->kind == STEP_SAY || s->kind == STEP_CONNECTION);
        if (s->kind == STEP_SAY) {
            replay_connection(kind, view_of(recorded.bytes + s->from, s->len));
        }
    }
    check_idle();
    assert_in_range(world.log_len, 0, sizeof o->log - 1);
    memcpy(o->log, world.log, world.log_len);
    o->log[world.log_len] = '\0';
}

static void check_all_cuts(const char *release, enum link_kind kind)
{
    replay(&first, kind, 0);
    for (unsigned way = 1; way < 2u + AGENT_CUTS; way++) {
        replay(&other, kind, way);
        if (strcmp(first.log, other.log) != 0) {
            fail_msg("%s, cut %u: not\n%s\nbut\n%s", release, way, first.log, other.log);
        }
        assert_int_equal(first.said, other.said);
        assert_memory_equal(first.bytes, other.bytes, first.said);
        assert_int_equal(first.held, other.held);
    }
}

static void test_registered(void **state)
{
    const struct releases releases = releases_find();
    (void)state;
    cdi_name[0] = '\0';
    for (unsigned i = 0; i < releases.count; i++) {
        world_new();
        recorded_load(releases.name[i], "registration.txt");
        check_all_cuts(releases.name[i], LINK_REGISTRATION);
        /* GetInfo's answer names the driver and its socket */
        assert_non_null(memmem(first.bytes, first.said, "\x12\x0eneuron.aws.com", 16));
        assert_non_null(memmem(first.bytes, first.said, "dra.sock", 8));
        assert_non_null(strstr(first.log, "event=registered"));
    }
}

/* The claim of the recording, as the stand-in API server has it. */
static void claim_of_recording(void)
{
    static const char before[] = "\x0a\x07"
                                 "default\x12\x24";
    const size_t len = sizeof before - 1;
    struct api_claim *c = claim_add(0);
    const uint8_t *at = memmem(recorded.bytes, recorded.len, before, len);
    assert_non_null(at);
    size_t from = (size_t)(at - recorded.bytes) + len;
    struct reader in = reader_of(view_from(view_of(recorded.bytes, recorded.len), from));
    struct view uid;
    struct view name;
    uint8_t tag = 0;
    uint8_t name_len = 0;
    assert_int_equal(reader_consume(&in, 36, &uid), STATUS_OK);
    assert_int_equal(reader_u8(&in, &tag), STATUS_OK);
    assert_int_equal(tag, 0x1a);
    assert_int_equal(reader_u8(&in, &name_len), STATUS_OK);
    assert_int_equal(reader_consume(&in, name_len, &name), STATUS_OK);
    text_cut(c->ns, sizeof c->ns, view_text("default"));
    text_cut(c->uid, sizeof c->uid, uid);
    text_cut(c->name, sizeof c->name, name);
    (void)snprintf(cdi_name, sizeof cdi_name, "neuron.aws.com-claim_%s.json", c->uid);
}

static void test_prepared_and_unprepared(void **state)
{
    const struct releases releases = releases_find();
    char line[256];

    (void)state;
    for (unsigned i = 0; i < releases.count; i++) {
        world_new();
        recorded_load(releases.name[i], "dra.txt");
        claim_of_recording();
        check_all_cuts(releases.name[i], LINK_SERVICE);
        assert_true(first.held);
        assert_null(disk_find(FILES_CDI, cdi_name));
        (void)snprintf(line, sizeof line,
                       "event=claim_prepared namespace=default claim=%s claim_uid=%s",
                       api.claim[0].name, api.claim[0].uid);
        assert_non_null(strstr(first.log, line));
        assert_non_null(strstr(first.log, "event=claim_unprepared"));
        /* the answer names the CDI device of the claim's one request */
        (void)snprintf(line, sizeof line, "neuron.aws.com/claim=%s-req", api.claim[0].uid);
        assert_non_null(memmem(first.bytes, first.said, line, strlen(line)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registered),
        cmocka_unit_test(test_prepared_and_unprepared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
