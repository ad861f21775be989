/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Board rows: against the facts of their golden files, against SHA-256 computed here, and against
 * the published values of the group ids.
 */
#include "tests/unit/node/board_vectors.h"

#include <glob.h>
#include <mbedtls/sha256.h>

/* --- rows and golden files --- */

static void lnc_text(const struct board_family *family, char *text, size_t cap)
{
    size_t len = 0;
    text[0] = '\0';
    for (unsigned n = 0; n < 8; n++) {
        if ((family->lnc_allowed & (1u << n)) != 0) {
            len += (size_t)snprintf(text + len, cap - len, "%s%u", (len > 0) ? "," : "", n);
        }
    }
    if (len == 0) {
        (void)snprintf(text, cap, "none");
    }
}

/* The `board` lines of a golden file, made from the row. */
static void row_text(const struct board *board, char *text, size_t cap)
{
    char lnc[32];
    char grid[16] = "none";
    char contiguous[8] = "none";
    const struct board_family *family = board_family(board->instance_type);
    lnc_text(family, lnc, sizeof lnc);
    if (board->grid_rows != 0) {
        (void)snprintf(grid, sizeof grid, "%ux%u", board->grid_rows, board->grid_columns);
    }
    if (board->contiguous != 0) {
        (void)snprintf(contiguous, sizeof contiguous, "%u", board->contiguous);
    }
    int len = snprintf(text, cap,
                       "board devices %u\nboard cores_per_device %u\nboard memory_gib %u\n"
                       "board grid %s\nboard contiguous %s\nboard ultraserver %s\n"
                       "board lnc %s\nboard lnc_default %u\n",
                       board->devices, family->cores_per_device, family->memory_gib, grid,
                       contiguous, board->ultraserver ? "yes" : "no", lnc, family->lnc_default);
    assert_in_range(len, 1, cap - 1);
}

static void test_each_row_is_what_its_golden_file_says(void **state)
{
    (void)state;
    for (unsigned i = 0; board_at(i) != NULL; i++) {
        char wanted[256];
        row_text(board_at(i), wanted, sizeof wanted);
        const char *before = strstr(golden_load(board_at(i)->instance_type), "\nboard ");
        assert_non_null(before);
        const char *facts = before + 1;
        assert_in_range(strlen(facts), strlen(wanted), GOLDEN_BYTES_MAX);
        assert_memory_equal(facts, wanted, strlen(wanted));
        assert_null(strstr(facts + strlen(wanted) - 1, "\nboard "));
    }
}

/* tools/simnode/simnode.py makes the list for these (HEALTH_FAMILIES). */
static void test_families_that_list_health(void **state)
{
    static const char *const families[] = {
        "module instance_type Trn2\n",
        "module instance_type Trn3\n",
    };
    (void)state;
    for (unsigned i = 0; board_at(i) != NULL; i++) {
        const char *type = board_at(i)->instance_type;
        const char *golden = golden_load(type);
        bool lists = false;
        for (size_t k = 0; k < sizeof families / sizeof families[0]; k++) {
            lists = lists || strstr(golden, families[k]) != NULL;
        }
        assert_int_equal(board_family(type)->lists_health, lists);
    }
}

static void test_rows_and_golden_files_are_equally_many(void **state)
{
    (void)state;
    unsigned rows = 0;
    while (board_at(rows) != NULL) {
        rows++;
    }
    glob_t files;
    assert_int_equal(glob(GOLDEN_DIR "/*.txt", 0, NULL, &files), 0);
    if (files.gl_pathc != rows) {
        fail_msg("%zu golden files, %u rows: a new file of boards/ needs 'make generate'",
                 files.gl_pathc, rows);
    }
    globfree(&files);
    assert_null(board_at(rows + 1));
}

static void test_rows_are_sound(void **state)
{
    (void)state;
    for (unsigned i = 0; board_at(i) != NULL; i++) {
        const struct board *b = board_at(i);
        const struct board_family *family = board_family(b->instance_type);
        unsigned cells = (unsigned)b->grid_rows * b->grid_columns;
        assert_true(b >= family->board && b < family->board + family->boards);
        assert_true(cells == 0 || cells == b->devices);
        assert_in_range(b->devices, 1, DEVICES_MAX);
        assert_in_range(b->contiguous, 0, (b->devices < 12) ? b->devices : 12);
        assert_int_not_equal(b->contiguous, 1);
        assert_in_range(family->cores_per_device, 1, 8);
        assert_in_range(strlen(b->instance_type), 1, ATTRIBUTE_VALUE_CAP - 1);
        assert_true(b->efa == NULL || b->devices == BOARD_GROUPED_DEVICES);
        assert_in_range(family->lnc_default, 1, 2);
        assert_true(family->lnc_default == 1 ||
                    (family->lnc_allowed & (1u << family->lnc_default)) != 0);
        /* parts of a device have the default: where it is 1, a claim can ask for no other */
        assert_true(family->lnc_default != 1 || (family->lnc_allowed & ~(1u << 1)) == 0);
    }
}

/* --- group ids --- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The rule of the public maps: sorted, distinct, joined by commas, hashed, cut at 16 digits. */
static void group_id(const struct efa_map *efa, unsigned first, unsigned count, char id[17])
{
    const char *sorted[BOARD_GROUPED_DEVICES];
    char joined[512] = "";
    unsigned char hash[32];
    for (unsigned i = 0; i < count; i++) {
        sorted[i] = efa->address[first + i];
    }
    qsort(sorted, count, sizeof sorted[0], by_text);
    for (unsigned i = 0; i < count; i++) {
        if (i == 0 || strcmp(sorted[i], sorted[i - 1]) != 0) {
            (void)strcat(strcat(joined, (i > 0) ? "," : ""), sorted[i]);
        }
    }
    assert_int_equal(mbedtls_sha256((const unsigned char *)joined, strlen(joined), hash, 0), 0);
    for (unsigned i = 0; i < 8; i++) {
        (void)snprintf(id + (size_t)2 * i, 3, "%02x", hash[i]);
    }
}

static void check_group(const struct efa_map *efa, unsigned first, unsigned count, const char *id)
{
    char computed[17];
    group_id(efa, first, count, computed);
    assert_string_equal(computed, id);
}

static void test_group_ids_are_hashes_of_the_addresses(void **state)
{
    (void)state;
    unsigned maps = 0;
    for (unsigned i = 0; board_at(i) != NULL; i++) {
        const struct efa_map *efa = board_at(i)->efa;
        for (unsigned block = 0; efa != NULL && block < 4; block++) {
            check_group(efa, block * 4, 4, efa->group4[block]);
            check_group(efa, block / 2 * 8, 8, efa->group8[block / 2]);
            check_group(efa, 0, 16, efa->group16);
        }
        maps += (efa != NULL) ? 1u : 0u;
    }
    assert_int_equal(maps, 11);
}

/* Values as captured from nodes and as the public maps give them. */
static const struct {
    const char *type, *first_address, *last_address, *group4[4], *group8[2], *group16;
} published[] = {
    {"trn1.32xlarge",
     "0000:10:1a.0",
     "0000:a0:19.0",
     {"88a3c6ad1661fe1d", "69b2225fd72a59dd", "e3c29faa0cd11323", "178a9e264a26793e"},
     {"86c451036f622685", "aa86c05423d6e8cd"},
     "fb838249c99a6341"},
    {"trn1n.32xlarge",
     "0000:10:17.0",
     "0000:a0:18.0",
     {"f9415ac86580cd2a", "81d377c56bbb18dd", "e367b751fc858d72", "6b9b077320083e11"},
     {"25ab6fa8d56db17d", "feac12f490fb3cba"},
     "9ea13cbe1ff23763"},
    {"trn3.48xlarge",
     "0000:be:00.0",
     "0000:eb:00.0",
     {"68ac040ea32655a7", "1c060eef5f3a4fe1", "68e7529909eadc38", "11626cfcde6dcac3"},
     {"bafc439bf9664feb", "629b2570d9887aaf"},
     "31980acd145f7025"},
    {"trn3-dev0.48xlarge",
     "0000:a9:00.0",
     "0000:8d:00.0",
     {"68ac040ea32655a7", "11626cfcde6dcac3", "1c060eef5f3a4fe1", "68e7529909eadc38"},
     {"e24e6d445a226240", "a6e1fae95cf7af58"},
     "31980acd145f7025"},
    {"trn2.48xlarge",
     "0000:c9:00.0",
     "0000:f6:00.0",
     {"13713e551cd37c19", "671622785349fddf", "237e3ef7b968b4d3", "b3d6ce1919d29f8f"},
     {"3593812b8066a078", "614e16dab9ba2f1f"},
     "821d14afaf11327d"},
};

static void test_group_ids_are_the_published_ones(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        const struct board *board = board_find(published[i].type);
        assert_non_null(board);
        assert_non_null(board->efa);
        assert_string_equal(board->efa->address[0], published[i].first_address);
        assert_string_equal(board->efa->address[15], published[i].last_address);
        for (unsigned block = 0; block < 4; block++) {
            assert_string_equal(board->efa->group4[block], published[i].group4[block]);
            assert_string_equal(board->efa->group8[block / 2], published[i].group8[block / 2]);
        }
        assert_string_equal(board->efa->group16, published[i].group16);
    }
}

static void test_small_types_have_no_groups(void **state)
{
    (void)state;
    assert_null(board_find("trn1.2xlarge")->efa);
    assert_null(board_find("trn2.3xlarge")->efa);
}

/* --- search --- */

static void test_find(void **state)
{
    (void)state;
    for (unsigned i = 0; board_at(i) != NULL; i++) {
        char hyperpod[80];
        (void)snprintf(hyperpod, sizeof hyperpod, "ml.%s", board_at(i)->instance_type);
        assert_ptr_equal(board_find(board_at(i)->instance_type), board_at(i));
        assert_ptr_equal(board_find(hyperpod), board_at(i));
    }
}

static void test_find_refuses(void **state)
{
    (void)state;
    static const char *const others[] = {
        "",
        "ml.",
        "ml",
        "trn2",
        "trn2.",
        "trn2.48",
        "trn2.48xlarge ",
        "TRN2.48xlarge",
        "trn2.48xlargex",
        "ml.ml.trn2.48xlarge",
        "xl.trn2.48xlarge",
        "m5.large",
        "xyz9.96xlarge",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_null(board_find(others[i]));
    }
}

static void test_family(void **state)
{
    (void)state;
    static const struct {
        const char *type, *family;
    } rows[] = {
        {"trn2.48xlarge", "trn2"},    {"ml.trn2.48xlarge", "trn2"},
        {"trn2-ac.48xlarge", "trn2"}, {"trn2x.96xlarge", "trn2"},
        {"trn3pd98.3xlarge", "trn3"}, {"inf1.6xlarge", "inf1"},
        {"trn20.48xlarge", NULL},     {"trn2", NULL},
        {"xyz9.96xlarge", NULL},      {"", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct board_family *family = board_family(rows[i].type);
        assert_true((family == NULL) == (rows[i].family == NULL));
        if (family != NULL) {
            assert_string_equal(family->name, rows[i].family);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_row_is_what_its_golden_file_says),
        cmocka_unit_test(test_families_that_list_health),
        cmocka_unit_test(test_rows_and_golden_files_are_equally_many),
        cmocka_unit_test(test_rows_are_sound),
        cmocka_unit_test(test_group_ids_are_hashes_of_the_addresses),
        cmocka_unit_test(test_group_ids_are_the_published_ones),
        cmocka_unit_test(test_small_types_have_no_groups),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_find_refuses),
        cmocka_unit_test(test_family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
