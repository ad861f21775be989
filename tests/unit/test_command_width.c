/* SPDX-License-Identifier: Apache-2.0 */
/* What `devices` prints fits a terminal, however long the names are. */
#include "tests/unit/node/command_table.h"

/* The rows fit a terminal, however long the names are; the legend has the whole names. */
static void test_rows_fit_a_terminal(void **state)
{
    static const char claim[] =
        "a-name-that-is-as-long-as-the-longest-that-anybody-gives-to-a-claim";
    static const char pod[] = "a-pod-whose-name-is-long-as-well-as-those-of-jobs-are-0-x7k2p";
    (void)state;
    node(16);
    device_reading_components(&inventory.devices.device[1].reading, view_text("hbm,sram,dma,tpb"),
                              true);
    hold(claim, pod, 1, 2);
    hold("llama", pod, 3, 1);
    hold("mistral", "m-0", 3, 1);
    inventory.rows_only = true;
    whole(table_part);
    unsigned rows = 0;
    for (const char *at = text; *at != '\0'; rows++) {
        size_t len = strcspn(at, "\n");
        assert_in_range(len, 1, 80);
        at += len + 1u;
    }
    assert_int_equal(rows, 16);
    assert_null(strstr(text, "NAME"));
    has("neuron-device-1   8      unhealthy: hbm, sram, u~");
    has("neuron-device-3   8      healthy");
    has(" +1\n");
    inventory.rows_only = false;
    whole(table_part);
    has(claim);
    has(pod);
    /* short names have all of their columns */
    node(16);
    hold("llama", pod, 1, 1);
    whole(table_part);
    has("training/llama  a-pod-whose-name-is-long");
}

/* Fails for a line of the text that is over 80 columns wide. */
static void fits_a_terminal(void)
{
    for (const char *at = text; *at != '\0'; at += strcspn(at, "\n") + 1u) {
        size_t len = strcspn(at, "\n");
        if (len > 80u) {
            fail_msg("%zu columns: %.*s", len, (int)len, at);
        }
    }
}

/* What stands below the rows fits a terminal too, with the longest names that there are. */
static void test_lines_below_fit_a_terminal(void **state)
{
    char name[NAME_CAP];
    (void)state;
    memset(name, 'n', sizeof name - 1u);
    name[sizeof name - 1u] = '\0';
    node(16);
    inventory.devices.lnc_host = 2;
    inventory.holders_unknown = true;
    inventory.damaged_slots = 256;
    inventory.witnesses = 256;
    inventory.cdi_unlisted = true;
    hold(name, name, 0, 1);
    hold("llama", "a-pod-whose-name-is-long-as-well-as-those-of-jobs-are-0-x7k2p", 1, 1);
    hold("mistral", "m-0", 2, 1);
    for (unsigned i = 3; i < 16; i++) {
        device_reading_components(&inventory.devices.device[i].reading, view_text("hbm"), true);
    }
    struct probe_issue *issue = &inventory.issues.issue[0];
    *issue = (struct probe_issue){.kind = PROBE_ISSUE_CORES, .number = 3, .remedy = "reset it"};
    memset(issue->text, 'x', sizeof issue->text - 1u);
    inventory.issues.count = 1;
    whole(table_part);
    fits_a_terminal();
    has("   A  training/\n      nnn");
    has("\n      nnn");
    has("   B  training/llama,\n"
        "      pod a-pod-whose-name-is-long-as-well-as-those-of-jobs-are-0-x7k2p\n");
    has("   C  training/mistral, pod m-0\n");
    has("\ntrn2.48xlarge: 16 devices, at least 3 held, 13 unhealthy or gone, LNC 2 by\n"
        "      logical_nc_config\n");
    has("xxx\n      xxx");
    has(": reset it\n");
    /* a colour takes no column */
    inventory.colour = true;
    whole(table_part);
    has("training/mistral, pod m-0\n");
}

/* A character of several bytes takes one column: a name of such characters is not broken early. */
static void test_columns_of_characters(void **state)
{
    static const char euro[] = "\xe2\x82\xac";
    char pod[NAME_CAP] = "";
    char line[NAME_CAP + 32u];
    (void)state;
    for (unsigned i = 0; i < 80u - strlen("      pod "); i++) {
        strcat(pod, euro);
    }
    node(16);
    hold("llama", pod, 0, 1);
    whole(table_part);
    (void)snprintf(line, sizeof line, "\n      pod %s\n", pod);
    has(line);
    strcat(pod, euro);
    hold("llama", pod, 0, 1);
    whole(table_part);
    (void)snprintf(line, sizeof line, "\n      pod\n      %s\n", pod);
    has(line);
}

/* A name is cut before an escape or a character that does not fit, not inside it. */
static void test_cut_between_characters(void **state)
{
    (void)state;
    for (unsigned before = 0; before < 4u; before++) {
        for (unsigned kind = 0; kind < 2u; kind++) {
            char name[NAME_CAP] = "aaaa";
            char claim[NAME_CAP];
            name[before] = '\0';
            for (unsigned i = 0; i < 24u; i++) {
                strcat(name, (kind == 0u) ? "\x1b" : "\xe2\x82\xac");
            }
            (void)memset(claim, 'c', sizeof claim);
            claim[sizeof claim - 1u] = '\0';
            node(1);
            hold(claim, name, 0, 1);
            inventory.rows_only = true;
            whole(table_part);
            assert_true(view_is_utf8(view_text(text)));
            char *cut = strrchr(text, '~');
            assert_non_null(cut);
            assert_memory_equal(cut - 4, (kind == 0u) ? "\\x1b" : cut - 4, 4);
            inventory.rows_only = false;
        }
    }
}

/* The column of pods has room for the number of claims that share a device. */
static void test_sharers_fit(void **state)
{
    char claim[NAME_CAP];
    (void)state;
    (void)memset(claim, 'c', sizeof claim);
    claim[sizeof claim - 1u] = '\0';
    node(2);
    hold(claim, "llama-0", 0, 1);
    hold(claim, "llama-0", 0, 1);
    inventory.rows_only = true;
    whole(table_part);
    has("~  llama-0 +1\n");
    node(2);
    hold(claim, "", 0, 1);
    inventory.holder[0].others = 65535;
    inventory.rows_only = true;
    whole(table_part);
    has("~  - +65535\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_fit_a_terminal),
        cmocka_unit_test(test_lines_below_fit_a_terminal),
        cmocka_unit_test(test_columns_of_characters),
        cmocka_unit_test(test_cut_between_characters),
        cmocka_unit_test(test_sharers_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
