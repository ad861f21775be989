/* SPDX-License-Identifier: Apache-2.0 */
/* The class files of UltraServer nodes, and what a claim that asks for nodes gets. */
#include "unit.h"

#include "dra/ultraserver.h"

#define ID_PAIR "00a1b2c3d4e5f607"
#define ID_QUAD "0123456789ABCDEF"
#define ID_NONE "0000000000000000"

static struct ultraserver u;
static char why_text[512];

static void text(char to[ULTRASERVER_TEXT_CAP], const char *value)
{
    memset(to, 0, ULTRASERVER_TEXT_CAP);
    memcpy(to, value, strlen(value) < ULTRASERVER_TEXT_CAP ? strlen(value) : ULTRASERVER_TEXT_CAP);
}

static struct found_ultraserver found_of(const char *modes)
{
    struct found_ultraserver f;
    memset(&f, 0, sizeof f);
    text(f.modes, modes);
    text(f.node_id[ULTRASERVER_PAIR], "1");
    text(f.node_id[ULTRASERVER_QUAD], "3");
    text(f.server_id[ULTRASERVER_PAIR], ID_PAIR);
    text(f.server_id[ULTRASERVER_QUAD], ID_QUAD);
    return f;
}

static void test_modes(void **state)
{
    static const struct {
        const char *text;
        bool good;
        bool electing;
        uint8_t modes;
    } rows[] = {
        {"1,3,4", true, false, 1u << 1 | 1u << 3 | 1u << 4},
        {"1, 2, 3, 4\n", true, false, 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4},
        {"4", true, false, 1u << 4},
        {"", true, false, 0},
        {"\n", true, false, 0},
        {"0", true, false, 0},
        {"busy", true, true, 0},
        {"busy\n", true, true, 0},
        {"init_error", false, false, 0},
        {"1,5", false, false, 0},
        {"1,,4", false, false, 0},
        {"-1", false, false, 0},
        {"+1", false, false, 0},
        {"1 4", false, false, 0},
        {"1,3,4,1,3,4,1,3,4,1,3,4,1,3,4", false, false, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct found_ultraserver f = found_of(rows[i].text);
        assert_int_equal(ultraserver_build(&u, &f, true), rows[i].good);
        assert_int_equal(u.electing, rows[i].electing);
        assert_int_equal(u.modes, rows[i].modes);
        assert_true(ultraserver_build(&u, &f, false));
        static const struct ultraserver nothing;
        assert_true(ultraserver_same(&u, &nothing));
    }
}

static void test_places(void **state)
{
    static const struct {
        const char *server;
        const char *node;
        const char *group;
        const char *group_node;
        const char *id; /* that counts */
        uint8_t node_id;
    } rows[] = {
        {ID_PAIR, "1", "", "", ID_PAIR, 1},
        {ID_PAIR "\n", " 0\n", "", "", ID_PAIR, 0},
        {ID_QUAD, "3", ID_PAIR, "0", ID_QUAD, 3},
        {ID_NONE, "-1", "", "", "", 0},
        {ID_NONE, "0", "", "", "", 0},
        {ID_PAIR, "-1", "", "", "", 0},
        {ID_PAIR, "", "", "", "", 0},
        {ID_PAIR, "busy", "", "", "", 0},
        {ID_PAIR, "256", "", "", "", 0},
        {"busy", "busy", "", "", "", 0},
        {"", "", ID_PAIR, "2", ID_PAIR, 2}, /* switched types */
        {ID_NONE, "-1", ID_PAIR, "2", ID_PAIR, 2},
        {"", "", ID_NONE, "0", "", 0},
        {ID_PAIR "8", "1", "", "", "", 0},
        {"00a1b2c3d4e5f60", "1", "", "", "", 0},
        {"00a1b2c3d4e5f60g", "1", "", "", "", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct found_ultraserver f = found_of("4");
        text(f.server_id[ULTRASERVER_QUAD], rows[i].server);
        text(f.node_id[ULTRASERVER_QUAD], rows[i].node);
        text(f.group_id, rows[i].group);
        text(f.group_node_id, rows[i].group_node);
        assert_true(ultraserver_build(&u, &f, true));
        assert_string_equal(u.place[ULTRASERVER_QUAD].server_id, rows[i].id);
        assert_int_equal(u.place[ULTRASERVER_QUAD].node_id, rows[i].node_id);
        assert_string_equal(u.place[ULTRASERVER_PAIR].server_id, ID_PAIR);
    }
}

/* An election on demand: the modes of the one before are no answer, whichever file is busy. */
static void test_busy_ids(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2u * (unsigned)ULTRASERVER_SIZES; i++) {
        struct ultraserver_use use;
        struct found_ultraserver f = found_of("1,3,4");
        char reason[CLAIM_ERROR_CAP];
        struct writer why = writer_of(reason, sizeof reason);
        text((i % 2u == 0u) ? f.node_id[i / 2u] : f.server_id[i / 2u], "busy\n");
        assert_true(ultraserver_build(&u, &f, true));
        assert_true(u.electing);
        assert_int_equal(ultraserver_mode(&u, 4, "trn2u.48xlarge", &use, &why), PEER_UNSUPPORTED);
    }
}

static void test_same(void **state)
{
    struct found_ultraserver f = found_of("1,3,4");
    struct ultraserver before;
    (void)state;
    (void)ultraserver_build(&before, &f, true);
    (void)ultraserver_build(&u, &f, true);
    assert_true(ultraserver_same(&u, &before));
    u.modes = 1u << 4;
    assert_false(ultraserver_same(&u, &before));
    u = before;
    u.electing = true;
    assert_false(ultraserver_same(&u, &before));
    u = before;
    u.member = false;
    assert_false(ultraserver_same(&u, &before));
    u = before;
    u.place[ULTRASERVER_QUAD].node_id = 2;
    assert_false(ultraserver_same(&u, &before));
    u = before;
    u.place[ULTRASERVER_PAIR].server_id[0] = 'f';
    assert_false(ultraserver_same(&u, &before));
}

static void test_what_a_claim_gets(void **state)
{
    static const struct {
        const char *modes;
        unsigned nodes;
        unsigned mode;   /* 0: refused */
        const char *why; /* else */
        const char *id;
    } rows[] = {
        {"1,3,4", 4, 1, "", ID_QUAD},
        {"1,3,4", 2, 3, "", ID_PAIR},
        {"1,2,3,4", 2, 3, "", ID_PAIR},
        {"1,2,4", 2, 2, "", ID_PAIR},
        {"1,3,4", 1, 4, "", ""},
        {"4", 1, 4, "", ""},
        {"4", 2, 0,
         "ultraserverMode 2 (two nodes) is not possible on this node now; possible: 1. Check the "
         "links between the nodes, or ask for 1.",
         ""},
        {"3,4", 4, 0,
         "ultraserverMode 4 (four nodes) is not possible on this node now; possible: 1 or 2. Check "
         "the links between the nodes, or ask for 1 or 2.",
         ""},
        {"", 1, 0,
         "ultraserverMode 1 (one node) is not possible on this node now; possible: none. Check the "
         "links between the nodes and the log of the kernel module (dmesg).",
         ""},
        {"busy", 4, 0,
         "the nodes of the UltraServer are still finding each other (the kernel module reports "
         "busy, for up to 10 minutes); the kubelet tries again",
         ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct found_ultraserver f = found_of(rows[i].modes);
        struct ultraserver_use use;
        struct writer why = writer_of(why_text, sizeof why_text);
        memset(why_text, 0, sizeof why_text);
        memset(&use, 0xaa, sizeof use);
        (void)ultraserver_build(&u, &f, true);
        enum status s = ultraserver_mode(&u, rows[i].nodes, "trn2u.48xlarge", &use, &why);
        assert_int_equal(s, (rows[i].mode != 0) ? STATUS_OK : PEER_UNSUPPORTED);
        assert_int_equal(use.mode, rows[i].mode);
        assert_string_equal(use.place.server_id, rows[i].id);
        assert_string_equal(why_text, rows[i].why);
        assert_true(ultraserver_use_valid(&use));
    }
}

static void test_other_types(void **state)
{
    struct found_ultraserver f = found_of("1,3,4");
    struct ultraserver_use use;
    struct writer why = writer_of(why_text, sizeof why_text);
    (void)state;
    memset(why_text, 0, sizeof why_text);
    (void)ultraserver_build(&u, &f, false);
    assert_int_equal(ultraserver_mode(&u, 4, "trn2.48xlarge", &use, &why), PEER_UNSUPPORTED);
    assert_string_equal(why_text,
                        "UltraServer mode is not configurable for instance type trn2.48xlarge; "
                        "remove the UltraServerConfig, or use a node of an UltraServer, such as "
                        "trn2u.48xlarge");
    why = writer_of(why_text, sizeof why_text);
    memset(why_text, 0, sizeof why_text);
    assert_int_equal(ultraserver_mode(&u, 1, "", &use, &why), PEER_UNSUPPORTED);
    assert_string_equal(why_text,
                        "UltraServer mode is not configurable for instance type (unknown); remove "
                        "the UltraServerConfig, or use a node of an UltraServer, such as "
                        "trn2u.48xlarge");
}

/* A record or a CDI file that names a server names it by its whole ID, and has a mode. */
static void test_uses_that_are_not_valid(void **state)
{
    static const struct {
        const char *id;
        unsigned node_id;
        unsigned mode;
        bool valid;
    } rows[] = {
        {"", 0, 0, true},   {"", 0, 1, true},       {ID_QUAD, 3, 4, true},  {ID_QUAD, 0, 4, true},
        {"", 1, 0, false},  {"", 1, 4, false},      {ID_QUAD, 3, 0, false}, {"a", 0, 0, false},
        {"a", 0, 4, false}, {ID_QUAD, 3, 5, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ultraserver_use use = {.mode = (uint8_t)rows[i].mode,
                                      .place.node_id = (uint8_t)rows[i].node_id};
        (void)snprintf(use.place.server_id, sizeof use.place.server_id, "%s", rows[i].id);
        assert_true(ultraserver_use_valid(&use) == rows[i].valid);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_busy_ids),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_what_a_claim_gets),
        cmocka_unit_test(test_other_types),
        cmocka_unit_test(test_uses_that_are_not_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
