/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole agent under a kubelet, an API server and a disk that do anything in any order, seeded:
 * calls cross and are cancelled, responses hang, connections end, the process is killed or the disk
 * fails. Whatever happened: every call ends in time, no device has two holders, and nothing is left
 * when all claims are unprepared.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#define SEEDS 150
#define MOVES 60
#define CLAIMS 12
#define DEVICES 8 /* claims n and n+8 want the same one */
#define CALL_MS 45000

static uint64_t dice;
static struct {
    const struct peer_call *call;
    uint64_t since_ms;
} running[PEER_CALLS];
static struct peer *kubelet;

static unsigned roll(unsigned sides)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (unsigned)(dice % sides);
}

/* --- what must hold at every moment --- */

static void check_holders(void)
{
    uint64_t taken = 0;
    const struct ledger *l = world.agent->ledger;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        if (l->entry[i].state != LEDGER_HELD) {
            continue;
        }
        assert_int_equal(taken & l->entry[i].numbers, 0);
        assert_int_equal(ledger_find(world.agent, l->id[i].uid), i);
        taken |= l->entry[i].numbers;
    }
    (void)held();
}

static void check_calls(void)
{
    for (unsigned i = 0; i < PEER_CALLS; i++) {
        const struct peer_call *c = running[i].call;
        if (c == NULL) {
            continue;
        }
        assert_true(c->ended || world.now_ms - running[i].since_ms < CALL_MS);
        if (c->ended && !c->reset) {
            bool known = c->status == GRPC_OK || c->status == GRPC_INTERNAL ||
                         c->status == GRPC_RESOURCE_EXHAUSTED || c->status == GRPC_UNAVAILABLE;
            assert_true(known);
        }
        if (c->ended) {
            running[i].call = NULL;
        }
    }
}

/* --- moves --- */

static void connect_kubelet(void)
{
    memset(running, 0, sizeof running);
    kubelet = service_open();
}

/* A process that was killed is started again, at once, as its supervisor would. */
static void revive(void)
{
    for (unsigned i = 0; i < 8 && world.agent == NULL; i++) {
        disk_fault(FAULT_NONE, 0, true, STATUS_OK);
        start();
    }
    if (!kubelet->open) {
        connect_kubelet();
    }
}

static void move_call(const char *path)
{
    unsigned first = roll(CLAIMS);
    unsigned count = 1 + roll(4);
    count = first + count > CLAIMS ? CLAIMS - first : count;
    unsigned at = 0;
    while (at < PEER_CALLS && running[at].call != NULL) {
        at++;
    }
    if (at == PEER_CALLS) {
        return;
    }
    running[at].call = call_send(kubelet, path, claims_request(first, count));
    running[at].since_ms = world.now_ms;
    if (roll(2) == 0) {
        settle();
    }
}

static void move_cancel(void)
{
    unsigned at = roll(PEER_CALLS);
    for (unsigned i = 0; i < PEER_CALLS; i++) {
        if (running[at].call == &kubelet->call[i] && !kubelet->call[i].ended) {
            call_cancel(kubelet, &kubelet->call[i]);
            running[at].call = NULL;
        }
    }
}

static void move_fault(enum api_fault *fault)
{
    unsigned which = roll(3);
    *fault = (enum api_fault)which;
}

static void move_api(void)
{
    struct api_claim *claim = &api.claim[roll(CLAIMS)];
    switch (roll(6)) {
    case 0:
        api.reachable = roll(3) != 0;
        if (api.connected) {
            api_end("connection reset by peer");
        }
        break;
    case 1:
        api.reachable = true;
        break;
    case 2:
        if (api.connected) {
            sim_api_goaway(&server, api.link, roll(2) == 0);
        }
        break;
    case 3:
        api_release();
        break;
    case 4:
        claim->http = roll(2) == 0 ? 500 : 0;
        break;
    default:
        move_fault(&claim->fault);
        break;
    }
}

static void move_disk(bool kills)
{
    /* One roll a statement: the order of arguments is the compiler's. */
    unsigned at = 1 + roll(15);
    if (kills) {
        disk_fault((enum fault)(FAULT_KILL_BEFORE + roll(3)), at, false, STATUS_OK);
        return;
    }
    enum status failure = roll(2) == 0 ? HOST_NO_SPACE : HOST_IO;
    enum files_dir dir = roll(2) == 0 ? FILES_CDI : FILES_STATE;
    if (roll(4) == 0) {
        disk_refuse(dir, roll(2) == 0 ? failure : STATUS_OK);
    } else {
        disk_fault((enum fault)(FAULT_ERROR + roll(3)), at, true, failure);
    }
}

static void move_time(bool kills)
{
    if (kills && roll(6) == 0) {
        kill_agent();
    } else {
        pass(roll(4) == 0 ? roll(20000) : roll(300));
    }
}

static void move(bool kills)
{
    unsigned what = roll(12);
    if (what < 4) {
        move_call(PREPARE);
    } else if (what < 7) {
        move_call(roll(2) == 0 ? UNPREPARE : DRA_BETA "NodeUnprepareResources");
    } else if (what == 7) {
        move_cancel();
    } else if (what == 8) {
        move_api();
    } else if (what == 9) {
        move_disk(kills);
    } else {
        move_time(kills);
    }
}

static void calm(void)
{
    disk_fault(FAULT_NONE, 0, true, STATUS_OK);
    disk_refuse(FILES_CDI, STATUS_OK);
    disk_refuse(FILES_STATE, STATUS_OK);
    for (unsigned n = 0; n < CLAIMS; n++) {
        api.claim[n].http = 0;
    }
    api.reachable = true;
    api_release();
    revive();
    pass(120000);
    revive();
}

static void play(uint64_t seed, bool kills)
{
    dice = seed * 2654435761u + 88172645463325252u;
    world_new();
    for (unsigned n = 0; n < CLAIMS; n++) {
        api.claim[n] = *claim_add(n);
        api.claim[n].result[0].device = claim_add(n % DEVICES)->result[0].device;
    }
    node_up();
    connect_kubelet();
    for (unsigned i = 0; i < MOVES; i++) {
        move(kills);
        revive();
        check_holders();
        check_calls();
    }
    calm();
    check_holders();
    check_calls();
    check_idle();
    unprepare_well(0, CLAIMS);
    assert_int_equal(held(), 0);
    assert_int_equal(disk_count(FILES_CDI), 0);
    restart();
    assert_int_equal(held(), 0);
    assert_int_equal(disk_count(FILES_STATE), 2);
    pass(60000);
    prepare_well(0, DEVICES);
    assert_int_equal(api_slices(), 1);
    assert_true(publish_current(world.agent));
}

static void test_kills(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play(seed, true);
    }
}

static void test_errors(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play(seed, false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kills),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
