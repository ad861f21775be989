/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spellings of the command line: switches without a value, klog's -v, -ojson, and what is suggested
 * for a misspelt word.
 */
#include "agent/settings_internal.h"
#include "dra/device_internal.h"
#include "settings_lines.h"

/* A switch alone means true; the word after it is its value only if it is one of a switch. */
static void test_switches_alone(void **state)
{
    (void)state;
    expect_good("--node-name n --claim-status");
    assert_true(settings.claim_status);
    expect_good("--claim-status --efa --node-name n");
    assert_true(settings.claim_status && settings.efa);
    expect_good("--node-name n --sandbox false --claim-status true --efa 1 --share-cores 0");
    assert_true(!settings.sandbox && settings.claim_status && settings.efa);
    assert_false(settings.share_cores);
    expect_good("--node-name n --sandbox=false --claim-status=true");
    assert_true(!settings.sandbox && settings.claim_status);
    expect_good("devices --efa --claim-status -o json");
    assert_true(settings.efa && settings.claim_status && settings.output == OUTPUT_JSON);
    /* the command and its operand are no values */
    expect_good("--efa probe --claim-status liveness");
    assert_int_equal(settings.command, COMMAND_PROBE);
    assert_string_equal(settings.operand, "liveness");
    assert_true(settings.efa && settings.claim_status);
    expect_good("--efa false probe liveness");
    assert_false(settings.efa);
    expect_good("--efa=false --efa devices"); /* the last of equal flags counts */
    assert_true(settings.efa);
    expect_bad("run --node-name n --efa yes", "unexpected argument \"yes\"; see --help");
    expect_bad("--efa= devices", "--efa \"\": must be true or false");
    expect_bad("--efa=yes devices", "--efa \"yes\": must be true or false");
    /* a flag that is no switch still needs its value */
    expect_bad("devices --log-level", "--log-level needs a value; see --help");
}

/* klog's verbosity, in each of its spellings, is another one of --log-level. */
static void test_verbosity(void **state)
{
    static const struct {
        const char *line;
        enum log_level level;
    } rows[] = {
        {"run -v=4", LOG_DEBUG},
        {"run -v 4", LOG_DEBUG},
        {"run -v4", LOG_DEBUG},
        {"run --v=6", LOG_DEBUG},
        {"run --v 10", LOG_DEBUG},
        {"run -v=2147483647", LOG_DEBUG},
        {"run -v=3", LOG_INFO},
        {"run -v 0", LOG_INFO},
        {"run --v=2", LOG_INFO},
        {"run --log-level=warn -v=4", LOG_DEBUG},
        {"run -v=4 --log-level=warn", LOG_WARN},
        {"run --log-level=debug -v=2", LOG_INFO},
    };
    const char *const variables[] = {"LOG_LEVEL=error", "NODE_NAME=n", "V=9", NULL};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (parse_with(rows[i].line, variables) != STATUS_OK) {
            fail_msg("%s: %s", rows[i].line, why_text);
        }
        assert_int_equal(settings.log_level, rows[i].level);
    }
    assert_int_equal(parse_with("run", variables), STATUS_OK);
    assert_int_equal(settings.log_level, LOG_ERROR);
#define NO_NUMBER ": must be a number, as of klog: from 4 on like --log-level=debug"
    expect_bad("-v=debug", "-v \"debug\"" NO_NUMBER);
    expect_bad("--v=-1", "--v \"-1\"" NO_NUMBER);
    expect_bad("-v 4x", "-v \"4x\"" NO_NUMBER);
    expect_bad("-v=2147483648", "-v \"2147483648\"" NO_NUMBER);
    expect_bad("-v=", "-v \"\"" NO_NUMBER);
    expect_bad("run -v", "-v needs a value; see --help");
    expect_bad("-version", "unknown flag \"-version\"; see --help");
}

static void test_joined_output(void **state)
{
    (void)state;
    expect_good("devices -ojson");
    assert_int_equal(settings.output, OUTPUT_JSON);
    expect_good("-oyaml claims");
    assert_int_equal(settings.output, OUTPUT_YAML);
    expect_good("devices -o=json");
    assert_int_equal(settings.output, OUTPUT_JSON);
    expect_bad("devices -oxml", "--output \"xml\": must be one of text, json, yaml");
    expect_bad("devices -output=json",
               "unknown flag \"-output\" (did you mean --output?); see --help");
    expect_bad("devices -o", "-o needs a value; see --help");
    expect_bad("devices -j", "unknown flag \"-j\"; see --help");
}

/* A flag that only some commands read is refused by the others: its user waits for an effect. */
static void test_flags_without_effect(void **state)
{
    (void)state;
    expect_good("devices -w");
    expect_good("claims --watch=true");
    expect_good("claims --pod a/b");
    expect_good("release u-1 --health-interval 1m"); /* has a variable, for all commands */
    expect_bad("slices --watch=false", "--watch has no effect with slices; see slices --help");
    expect_bad("devices --pod a/b", "--pod has no effect with devices; see devices --help");
    expect_bad("claims --board trn2.48xlarge",
               "--board has no effect with claims; see claims --help");
    expect_bad("probe liveness -o json", "--output has no effect with probe; see probe --help");
    expect_bad("slices --no-headers", "--no-headers has no effect with slices; see slices --help");
    static const char *const others[] = {
        "slices",       "check",       "bundle /x",       "probe liveness",
        "reservations", "release u-1", "completion bash", "run --node-name n"};
    for (size_t i = 0; i < COUNT(others); i++) {
        char line[64];
        char why[128];
        (void)snprintf(line, sizeof line, "%s --watch", others[i]);
        int name = (int)strcspn(others[i], " ");
        (void)snprintf(why, sizeof why, "--watch has no effect with %.*s; see %.*s --help", name,
                       others[i], name, others[i]);
        expect_bad(line, why);
    }
}

static void test_did_you_mean(void **state)
{
    (void)state;
    expect_bad("device", "unknown command \"device\" (did you mean devices?); see --help");
    expect_bad("cliams -o json", "unknown command \"cliams\" (did you mean claims?); see --help");
    expect_bad("help chek", "unknown command \"chek\" (did you mean check?); see --help");
    expect_bad("--metric-port=1",
               "unknown flag \"--metric-port\" (did you mean --metrics-port?); see --help");
    expect_bad("--kubelet-plugins /x", "unknown flag \"--kubelet-plugins\" (did you mean "
                                       "--kubelet-plugins-directory-path?); see --help");
    expect_bad(
        "probe livenes",
        "probe takes liveness or readiness, not \"livenes\" (did you mean liveness?); see --help");
    expect_bad(
        "completion bsh",
        "completion takes bash or zsh or fish, not \"bsh\" (did you mean bash?); see --help");
}

static bool is_flag(struct view word)
{
    bool found = false;
    for (unsigned i = 0; i < SETTINGS_COUNT; i++) {
        found = found || view_is(word, setting_row(i)->flag);
    }
    return found;
}

/* A remedy of an issue of the node names flags as they are spelt, and no other word starts so. */
static void test_flags_of_remedies(void **state)
{
    (void)state;
    unsigned flags = 0;
    for (unsigned kind = 0; kind < PROBE_ISSUE_KINDS; kind++) {
        struct probe_issues issues = {0};
        probe_issue_add(&issues, kind, 0, view_text("value"));
        char remedy[256];
        (void)snprintf(remedy, sizeof remedy, "%s", issues.issue[0].remedy);
        for (char *word = strtok(remedy, " ,;:"); word != NULL; word = strtok(NULL, " ,;:")) {
            if (word[0] == '-' && !is_flag(view_text(word))) {
                fail_msg("%s: %s", probe_issue_name(kind), word);
            }
            flags += (word[0] == '-') ? 1u : 0u;
        }
    }
    assert_int_equal(flags, 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_switches_alone), cmocka_unit_test(test_verbosity),
        cmocka_unit_test(test_joined_output),  cmocka_unit_test(test_flags_without_effect),
        cmocka_unit_test(test_did_you_mean),   cmocka_unit_test(test_flags_of_remedies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
