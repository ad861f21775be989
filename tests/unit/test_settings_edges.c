/* SPDX-License-Identifier: Apache-2.0 */
/* Values of flags at the edge of their length, empty words, and the help and completion of each
 * command and shell. */
#include "settings_lines.h"

#include "agent/settings_internal.h"
#include "boards/board.h"

static char line[4096];

/* "START/aaa…END" with a part of `len` letters. */
static const char *with_part(const char *start, size_t len, const char *end)
{
    size_t at = strlen(start);
    assert_true(at + len + strlen(end) < sizeof line);
    memcpy(line, start, at);
    memset(&line[at], 'a', len);
    memcpy(&line[at + len], end, strlen(end) + 1u);
    return line;
}

static void test_long_folders(void **state)
{
    (void)state;
    expect_good(with_part("--node-name n --dev-root /", PATH_CAP - 2u, ""));
    assert_int_equal(
        parse_with(with_part("--node-name n --dev-root /", PATH_CAP, ""), no_variables),
        PEER_MALFORMED);
    assert_non_null(strstr(why_text, "--dev-root"));
    expect_good("--node-name n --dev-root /.//./");
    assert_string_equal(settings.dev_root, "/");
}

/* The folder beside a long one has a longer name. */
static void test_folders_beside(void **state)
{
    (void)state;
    const char *const rows[][2] = {
        {"/plugins", "device-plugins next to it; give --kubelet-device-plugins-directory-path"},
        {"/plugins --kubelet-device-plugins-directory-path /d",
         "dra_manager_state next to it; give --kubelet-state-file"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *start = "--node-name n --kubelet-plugins-directory-path /";
        enum status s = parse_with(with_part(start, PATH_CAP - 12u, rows[i][0]), no_variables);
        assert_int_equal(s, PEER_MALFORMED);
        if (strstr(why_text, rows[i][1]) == NULL) {
            fail_msg("%s", why_text);
        }
    }
}

static void test_files_that_are_no_text(void **state)
{
    (void)state;
    assert_int_equal(parse_with("--node-name n --kubelet-state-file /a\xff", no_variables),
                     PEER_MALFORMED);
    assert_true(view_ends(view_text(why_text), ": contains bytes that are not text"));
    expect_good("--node-name n --kubelet-state-file /a\xc3\xa9");
    assert_string_equal(settings.kubelet_state, "/a\xc3\xa9");
}

static void test_taint_keys(void **state)
{
    static const struct {
        size_t len;
        const char *end;
        bool good;
    } rows[] = {
        {63, ":NoSchedule", true},     {64, ":NoSchedule", false},  {253, "/b:NoSchedule", true},
        {254, "/b:NoSchedule", false}, {63, "/b:NoSchedule", true}, {0, "/b:NoSchedule", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *words = with_part("--node-name n --unhealthy-taint ", rows[i].len, rows[i].end);
        assert_int_equal(parse_with(words, no_variables) == STATUS_OK, rows[i].good);
    }
}

static void test_durations(void **state)
{
    static const char *const bad[] = {"1.", "1.5", ".", "1.5.s", ""};
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        (void)snprintf(line, sizeof line, "--node-name n --health-interval=%s", bad[i]);
        assert_int_equal(parse_with(line, no_variables), PEER_MALFORMED);
        assert_non_null(strstr(why_text, "--health-interval"));
    }
    expect_good("--node-name n --health-interval=1.5s");
    assert_int_equal(settings.health_ms, 1500);
}

/* The operand of bundle: "-" is standard output, an empty word is no path. */
static void test_operands(void **state)
{
    const char *const dash[] = {"bundle", "-"};
    const char *const empty[] = {"bundle", ""};
    const char *const twice[] = {"bundle", "a", "b"};
    (void)state;
    assert_int_equal(parse_words(dash, 2, no_variables), STATUS_OK);
    assert_string_equal(settings.operand, "-");
    assert_int_equal(parse_words(empty, 2, no_variables), PEER_MALFORMED);
    assert_int_equal(parse_words(twice, 3, no_variables), PEER_MALFORMED);
    assert_non_null(strstr(why_text, "\"b\""));
}

/* Of an environment without an end only so much is read. */
static void test_environment_without_end(void **state)
{
    static const char *variables[ENVIRONMENT_MAX + 1u];
    (void)state;
    for (size_t i = 0; i < ENVIRONMENT_MAX; i++) {
        variables[i] = "=";
    }
    variables[ENVIRONMENT_MAX - 1u] = "NODE_NAME=last";
    variables[ENVIRONMENT_MAX] = "LOG_LEVEL=nonsense";
    assert_int_equal(parse_words(no_variables, 0, variables), STATUS_OK);
    assert_string_equal(settings.node_name, "last");
}

static size_t help_of(enum settings_command command, char *text, size_t cap)
{
    struct writer w = writer_of(text, cap - 1u);
    for (unsigned part = 0; settings_help(&w, command, part); part++) {
    }
    assert_false(w.full);
    text[w.len] = '\0';
    return w.len;
}

static void test_help_of_each_command(void **state)
{
    static char text[65536];
    (void)state;
    for (unsigned command = COMMAND_RUN + 1u; command < COMMANDS; command++) {
        const struct command_row *row = &command_rows[command];
        assert_true(help_of((enum settings_command)command, text, sizeof text) > 0);
        assert_non_null(strstr(text, row->name));
        assert_non_null(strstr(text, row->help));
        assert_true(row->example == NULL || strstr(text, row->example) != NULL);
        assert_true(row->more == NULL || strstr(text, row->more) != NULL);
    }
}

static void test_completion_of_each_shell(void **state)
{
    static char text[3][65536];
    static const char *const shells[] = {"bash", "zsh", "fish"};
    (void)state;
    for (size_t i = 0; i < COUNT(shells); i++) {
        struct writer w = writer_of(text[i], sizeof text[i] - 1u);
        settings_completion(shells[i], &w);
        assert_false(w.full);
        assert_non_null(strstr(text[i], "reservations"));
        const char *types = strstr(text[i], "--board");
        assert_non_null(types);
        for (unsigned b = 0; board_at(b) != NULL; b++) {
            types = strstr(types, board_at(b)->instance_type);
            assert_non_null(types); /* in the order of the table */
        }
        assert_true(i == 0 || strcmp(text[i], text[i - 1u]) != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_folders),
        cmocka_unit_test(test_folders_beside),
        cmocka_unit_test(test_files_that_are_no_text),
        cmocka_unit_test(test_taint_keys),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_environment_without_end),
        cmocka_unit_test(test_help_of_each_command),
        cmocka_unit_test(test_completion_of_each_shell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
