/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of a publisher's round, alone: tables of stored slices and what has to be done for them.
 * Each case also carries its plan out and checks that the next list plans nothing more.
 */
#include "unit.h"

#include "agent/publish/plan.h"

static struct plan plan;

/* One stored slice of a table. A slice with `first` below 0 holds something else. */
struct row {
    const char *name; /* NULL: no more rows */
    int first;
    unsigned count;
    int64_t generation;
    int64_t slices;
    bool deleting;
};

/* One case: what is stored, and what has to be done to publish `devices` of them. */
struct plan_case {
    const char *label;
    unsigned devices;
    struct row stored[6];
    const char *deletes;
    const char *writes; /* "u" or "c", and the name of what is updated */
    int64_t generation;
};

static struct slice_seen seen_of(const struct row *row)
{
    struct slice_seen s = {.scope = SLICE_OURS};
    (void)snprintf(s.name, sizeof s.name, "%s", row->name);
    (void)snprintf(s.uid, sizeof s.uid, "uid-%s", row->name);
    s.exact = row->first >= 0;
    s.first = s.exact ? (unsigned)row->first : 0;
    s.count = row->count;
    s.generation = row->generation;
    s.slices = row->slices;
    s.deleting = row->deleting;
    s.sum = 77;
    return s;
}

static int setup(void **state)
{
    (void)state;
    memset(&plan, 0, sizeof plan);
    return 0;
}

static void list(const struct row *rows, unsigned devices)
{
    plan_list_begin(&plan);
    for (unsigned i = 0; rows[i].name != NULL; i++) {
        struct slice_seen s = seen_of(&rows[i]);
        plan_list_add(&plan, &s);
    }
    plan_make(&plan, devices, false);
}

static void add(char *text, size_t cap, const char *word)
{
    size_t at = strlen(text);
    (void)snprintf(text + at, cap - at, "%s%s", at > 0 ? " " : "", word);
}

/* What the server answers to the write of a part. */
static struct slice_seen answer_of(const struct slice_part *part)
{
    static unsigned created;
    struct slice_seen s = part->stored;
    if (part->action == PART_CREATE) {
        (void)snprintf(s.name, sizeof s.name, "new-%u", ++created);
        (void)snprintf(s.uid, sizeof s.uid, "uid-%.40s", s.name);
    }
    s.scope = SLICE_OURS;
    s.exact = true;
    s.counters = part->counters;
    s.first = part->first;
    s.count = part->count;
    s.generation = plan.generation;
    s.slices = plan.parts;
    return s;
}

static void carry_out(char *deletes, char *writes, size_t cap)
{
    for (const struct slice_seen *s = plan_next_delete(&plan); s != NULL;
         s = plan_next_delete(&plan)) {
        add(deletes, cap, s->name);
        plan_deleted(&plan);
    }
    for (const struct slice_part *part = plan_next_write(&plan); part != NULL;
         part = plan_next_write(&plan)) {
        char word[NAME_CAP + 2];
        (void)snprintf(word, sizeof word, "%s%s", part->action == PART_CREATE ? "c" : "u ",
                       part->stored.name);
        add(writes, cap, word);
        struct slice_seen answer = answer_of(part);
        assert_true(plan_written(&plan, &answer));
    }
}

/* What is stored once the plan was carried out: it needs nothing more. */
static void check_settled(unsigned devices)
{
    static struct slice_seen stored[SLICES_MAX];
    unsigned parts = plan.parts;
    for (unsigned i = 0; i < parts; i++) {
        stored[i] = plan.part[i].stored;
    }
    assert_true(plan_complete(&plan));
    plan_list_begin(&plan);
    for (unsigned i = parts; i > 0; i--) {
        plan_list_add(&plan, &stored[i - 1]);
    }
    plan_make(&plan, devices, false);
    assert_true(plan_complete(&plan));
}

static const struct plan_case cases[] = {
    {.label = "nothing stored", .devices = 16, .deletes = "", .writes = "c", .generation = 1},
    {.label = "no devices are a slice too",
     .devices = 0,
     .deletes = "",
     .writes = "c",
     .generation = 1},
    {.label = "as wanted",
     .devices = 16,
     .stored = {{"a", 0, 16, 7, 1, false}},
     .deletes = "",
     .writes = "",
     .generation = 7},
    {.label = "one slice differs: its generation stays",
     .devices = 16,
     .stored = {{"a", -1, 16, 7, 1, false}},
     .deletes = "",
     .writes = "u a",
     .generation = 7},
    {.label = "too few devices in it",
     .devices = 16,
     .stored = {{"a", 0, 15, 7, 1, false}},
     .deletes = "",
     .writes = "u a",
     .generation = 7},
    {.label = "doubles: the one of the highest generation stays",
     .devices = 16,
     .stored = {{"a", 0, 16, 1, 1, false}, {"b", 0, 16, 3, 1, false}, {"c", -1, 16, 3, 1, false}},
     .deletes = "a c",
     .writes = "",
     .generation = 3},
    {.label = "what fits stays, in an old generation too",
     .devices = 16,
     .stored = {{"a", 0, 16, 1, 1, false}, {"b", -1, 16, 3, 1, false}},
     .deletes = "b",
     .writes = "u a",
     .generation = 3},
    {.label = "none fits: the highest generation is rewritten",
     .devices = 16,
     .stored = {{"a", -1, 16, 1, 1, false}, {"b", -1, 16, 3, 1, false}},
     .deletes = "a",
     .writes = "u b",
     .generation = 3},
    {.label = "one that is being deleted counts for its generation only",
     .devices = 16,
     .stored = {{"a", 0, 16, 9, 1, true}},
     .deletes = "",
     .writes = "c",
     .generation = 10},
    {.label = "a pool in two parts, cut by an earlier process, is kept",
     .devices = 16,
     .stored = {{"a", 0, 8, 4, 2, false}, {"b", 8, 8, 4, 2, false}},
     .deletes = "",
     .writes = "",
     .generation = 4},
    {.label = "one of two parts differs",
     .devices = 16,
     .stored = {{"a", 0, 8, 4, 2, false}, {"b", -1, 8, 4, 2, false}},
     .deletes = "",
     .writes = "u b",
     .generation = 4},
    {.label = "both parts differ: a new generation for all",
     .devices = 16,
     .stored = {{"a", -1, 8, 4, 2, false}, {"b", -1, 8, 4, 2, false}},
     .deletes = "",
     .writes = "u a u b",
     .generation = 5},
    {.label = "half a pool of two shows no cut: it becomes one slice",
     .devices = 16,
     .stored = {{"a", 0, 8, 4, 2, false}},
     .deletes = "",
     .writes = "u a",
     .generation = 5},
    {.label = "the number of slices is wrong: a new generation",
     .devices = 16,
     .stored = {{"a", 0, 16, 4, 3, false}},
     .deletes = "",
     .writes = "u a",
     .generation = 5},
    {.label = "more devices need a third part: updates first, and a new generation",
     .devices = 20,
     .stored = {{"a", 0, 8, 4, 2, false}, {"b", 8, 8, 4, 2, false}},
     .deletes = "",
     .writes = "u a u b c",
     .generation = 5},
    {.label = "fewer devices: one part is deleted",
     .devices = 8,
     .stored = {{"a", 0, 8, 4, 2, false}, {"b", 8, 8, 4, 2, false}},
     .deletes = "b",
     .writes = "u a",
     .generation = 5},
    {.label = "the highest generation there is",
     .devices = 16,
     .stored = {{"a", -1, 16, INT64_MAX, 2, false}},
     .deletes = "",
     .writes = "u a",
     .generation = INT64_MAX},
};

static void test_cases(void **state)
{
    (void)state;
    for (unsigned i = 0; i < COUNT(cases); i++) {
        const struct plan_case *c = &cases[i];
        char deletes[256] = "";
        char writes[256] = "";
        (void)setup(NULL);
        print_message("# %s\n", c->label);
        list(c->stored, c->devices);
        assert_int_equal(plan.generation, c->generation);
        carry_out(deletes, writes, sizeof deletes);
        assert_string_equal(deletes, c->deletes);
        assert_string_equal(writes, c->writes);
        check_settled(c->devices);
    }
}

static const struct row one[] = {{"a", -1, 16, 1, 1, false}, {NULL, 0, 0, 0, 0, false}};
static const struct row none[] = {{NULL, 0, 0, 0, 0, false}};

/* --- answers to a write --- */

static void test_answer_is_another_object(void **state)
{
    (void)state;
    list(one, 16);
    struct slice_seen good = answer_of(plan_next_write(&plan));
    struct slice_seen bad = good;
    (void)snprintf(bad.name, sizeof bad.name, "b");
    assert_false(plan_written(&plan, &bad));
    bad = good;
    (void)snprintf(bad.uid, sizeof bad.uid, "another");
    assert_false(plan_written(&plan, &bad));
    bad = good;
    bad.scope = SLICE_OTHER_POOL;
    assert_false(plan_written(&plan, &bad));
    assert_non_null(plan_next_write(&plan));
    assert_true(plan_written(&plan, &good));
    assert_null(plan_next_write(&plan));
}

static void test_created_without_a_name(void **state)
{
    (void)state;
    list(none, 16);
    struct slice_seen good = answer_of(plan_next_write(&plan));
    struct slice_seen bad = good;
    bad.name[0] = 0;
    assert_false(plan_written(&plan, &bad));
    bad = good;
    bad.uid[0] = 0;
    assert_false(plan_written(&plan, &bad));
    assert_true(plan_written(&plan, &good));
}

/* --- shared counters --- */

static unsigned listed_parts(unsigned parts, bool counters)
{
    static struct slice_seen stored[SLICES_MAX];
    for (unsigned i = 0; i < parts; i++) {
        stored[i] = plan.part[i].stored;
    }
    plan_list_begin(&plan);
    for (unsigned i = 0; i < parts; i++) {
        plan_list_add(&plan, &stored[i]);
    }
    plan_make(&plan, 17, counters);
    return plan.parts;
}

/* Counters are stored before any device takes from them, and stay as they are after that. */
static void test_counters_first(void **state)
{
    (void)state;
    char deletes[64] = "";
    char writes[64] = "";
    list(one, 1);
    carry_out(deletes, writes, sizeof deletes);
    assert_int_equal(listed_parts(1, true), 2);
    const struct slice_part *part = plan_next_write(&plan);
    assert_true(part->counters);
    assert_int_equal(part->count, 0);
    carry_out(deletes, writes, sizeof deletes);
    assert_int_equal(plan_devices_part(&plan)->count, 17);
    assert_string_equal(deletes, "");
    assert_int_equal(listed_parts(2, true), 2);
    assert_true(plan_complete(&plan));
    /* somebody deletes them: the devices are written again after they are back */
    struct slice_seen devices = plan_devices_part(&plan)->stored;
    plan_list_begin(&plan);
    plan_list_add(&plan, &devices);
    plan_make(&plan, 17, true);
    assert_int_equal(plan_devices_part(&plan)->action, PART_UPDATE);
    assert_true(plan_next_write(&plan)->counters);
    carry_out(deletes, writes, sizeof deletes);
    /* the next process finds one cut: that the counters are in a slice of their own is none */
    plan.cut = 0;
    assert_int_equal(listed_parts(2, true), 2);
    assert_int_equal(plan.cut, SLICE_DEVICES_MAX);
    assert_true(plan_complete(&plan));
    /* a server that keeps none: one slice is too many */
    assert_int_equal(listed_parts(2, false), 1);
    assert_non_null(plan_next_delete(&plan));
    carry_out(deletes, writes, sizeof deletes);
    assert_int_equal(listed_parts(1, false), 1);
    assert_true(plan_complete(&plan));
}

/* --- a server that stores less than it is sent --- */

static struct slice_seen lossy_answer(void)
{
    list(none, 16);
    struct slice_seen answer = answer_of(plan_next_write(&plan));
    answer.exact = false;
    answer.sum = 5;
    assert_true(plan_written(&plan, &answer));
    return answer;
}

static void list_one(const struct slice_seen *s)
{
    plan_list_begin(&plan);
    plan_list_add(&plan, s);
    plan_make(&plan, 16, false);
}

static void test_lossy_is_not_written_again(void **state)
{
    (void)state;
    struct slice_seen stored = lossy_answer();
    assert_true(plan_lossy(&plan));
    assert_false(plan_complete(&plan));
    list_one(&stored);
    assert_null(plan_next_write(&plan));
    assert_false(plan_complete(&plan));
    assert_true(plan_as_wanted(&plan, &plan.part[0], &stored));
}

static void test_lossy_that_changes_is_written(void **state)
{
    (void)state;
    struct slice_seen stored = lossy_answer();
    stored.sum = 6;
    list_one(&stored);
    assert_non_null(plan_next_write(&plan));
    assert_false(plan_as_wanted(&plan, &plan.part[0], &stored));
}

static void test_lossy_is_forgotten(void **state)
{
    (void)state;
    struct slice_seen stored = lossy_answer();
    plan_forget_losses(&plan);
    list_one(&stored);
    assert_non_null(plan_next_write(&plan));
}

static void test_lossy_until_it_is_exact(void **state)
{
    (void)state;
    struct slice_seen stored = lossy_answer();
    stored.exact = true;
    list_one(&stored);
    assert_false(plan_lossy(&plan));
    assert_true(plan_complete(&plan));
}

/* What the server dropped of the counters is no loss of the devices that stand there next. */
static void test_lossy_counters_go(void **state)
{
    (void)state;
    plan_list_begin(&plan);
    assert_null(plan_next_write(&plan));
    plan_make(&plan, 17, true);
    struct slice_seen answer = answer_of(plan_next_write(&plan));
    answer.exact = false;
    assert_true(plan_written(&plan, &answer));
    assert_true(plan.part[0].counters && plan.part[0].lossy && !plan.part[1].lossy);
    assert_true(plan_lossy(&plan));
    plan_list_begin(&plan);
    plan_make(&plan, 17, false);
    assert_false(plan.part[0].counters || plan.part[0].lossy);
}

/* --- the cut --- */

/* Slices that are smaller than any cut, or as large as no cut, set none. */
static void test_cut_of_odd_slices(void **state)
{
    static const unsigned counts[] = {SLICE_DEVICES_MIN - 1u, SLICE_DEVICES_MIN,
                                      SLICE_DEVICES_MAX - 1u, SLICE_DEVICES_MAX};
    (void)state;
    for (unsigned i = 0; i < COUNT(counts); i++) {
        struct row two[] = {{"a", 0, counts[i], 4, 2, false},
                            {"b", (int)counts[i], counts[i], 4, 2, false},
                            {NULL, 0, 0, 0, 0, false}};
        bool usable = counts[i] >= SLICE_DEVICES_MIN && counts[i] < SLICE_DEVICES_MAX;
        memset(&plan, 0, sizeof plan);
        list(two, 64);
        assert_int_equal(plan.cut, usable ? counts[i] : SLICE_DEVICES_MAX);
    }
}

static void test_cut_smaller(void **state)
{
    (void)state;
    list(none, 40);
    assert_int_equal(plan.parts, 1);
    assert_int_equal(plan_cut_smaller(&plan), 20);
    list(none, 40);
    assert_int_equal(plan.parts, 2);
    assert_int_equal(plan_cut_smaller(&plan), 10);
    list(none, 40);
    assert_int_equal(plan.parts, 4);
    assert_int_equal(plan.part[3].first, 30);
    assert_int_equal(plan_cut_smaller(&plan), 0);
    list(none, 40);
    assert_int_equal(plan.parts, 4);
}

/* All devices there can be, in the smallest slices, fit the table of parts. */
static void test_smallest_cut_of_all_devices(void **state)
{
    (void)state;
    list(none, DEVICES_MAX);
    while (plan_cut_smaller(&plan) > 0) {
        list(none, DEVICES_MAX);
    }
    char deletes[256] = "";
    char writes[256] = "";
    carry_out(deletes, writes, sizeof writes);
    unsigned devices = 0;
    for (unsigned i = 0; i < plan.parts; i++) {
        assert_int_equal(plan.part[i].first, devices);
        devices += plan.part[i].count;
    }
    assert_int_equal(devices, DEVICES_MAX);
    check_settled(DEVICES_MAX);
}

/* Only the first list of a process shows a cut; later ones keep what was decided. */
static void test_cut_is_adopted_once(void **state)
{
    static const struct row two[] = {
        {"a", 0, 8, 4, 2, false}, {"b", 8, 8, 4, 2, false}, {NULL, 0, 0, 0, 0, false}};
    (void)state;
    list(none, 16);
    list(two, 16);
    assert_int_equal(plan.parts, 1);
    assert_int_equal(plan.generation, 5);
}

/* --- more than a list has room for --- */

static void test_overflow(void **state)
{
    (void)state;
    plan_list_begin(&plan);
    for (unsigned i = 0; i < SLICES_SEEN_MAX + 2; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "s%u", i);
        struct row row = {name, 0, 16, i, 1, false};
        struct slice_seen s = seen_of(&row);
        plan_list_add(&plan, &s);
    }
    plan_make(&plan, 16, false);
    assert_int_equal(plan.overflow, 2);
    /* the generation of what did not fit counts */
    assert_int_equal(plan.generation, SLICES_SEEN_MAX + 1);
    char deletes[256] = "";
    char writes[256] = "";
    carry_out(deletes, writes, sizeof writes);
    assert_false(plan_complete(&plan));
}

/* --- a slice of a watch event --- */

static void test_part_of(void **state)
{
    static const struct row two[] = {
        {"a", 0, 8, 4, 2, false}, {"b", 8, 8, 4, 2, false}, {NULL, 0, 0, 0, 0, false}};
    (void)state;
    assert_null(plan_part_of(&plan, "a"));
    list(two, 16);
    assert_ptr_equal(plan_part_of(&plan, "b"), &plan.part[1]);
    assert_null(plan_part_of(&plan, "c"));
    struct slice_seen s = seen_of(&two[1]);
    assert_true(plan_as_wanted(&plan, &plan.part[1], &s));
    assert_false(plan_as_wanted(&plan, &plan.part[0], &s));
    s.generation = 5;
    assert_false(plan_as_wanted(&plan, &plan.part[1], &s));
    s.generation = 4;
    s.slices = 1;
    assert_false(plan_as_wanted(&plan, &plan.part[1], &s));
}

static void test_generation_of_a_watch_event(void **state)
{
    (void)state;
    struct row row = {"x", -1, 1, 9, 1, false};
    struct slice_seen s = seen_of(&row);
    plan_saw_generation(&plan, &s);
    list(none, 16);
    assert_int_equal(plan.generation, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test_setup(test_answer_is_another_object, setup),
        cmocka_unit_test_setup(test_counters_first, setup),
        cmocka_unit_test_setup(test_created_without_a_name, setup),
        cmocka_unit_test_setup(test_lossy_is_not_written_again, setup),
        cmocka_unit_test_setup(test_lossy_that_changes_is_written, setup),
        cmocka_unit_test_setup(test_lossy_is_forgotten, setup),
        cmocka_unit_test_setup(test_lossy_until_it_is_exact, setup),
        cmocka_unit_test_setup(test_lossy_counters_go, setup),
        cmocka_unit_test_setup(test_cut_of_odd_slices, setup),
        cmocka_unit_test_setup(test_cut_smaller, setup),
        cmocka_unit_test_setup(test_smallest_cut_of_all_devices, setup),
        cmocka_unit_test_setup(test_cut_is_adopted_once, setup),
        cmocka_unit_test_setup(test_overflow, setup),
        cmocka_unit_test_setup(test_part_of, setup),
        cmocka_unit_test_setup(test_generation_of_a_watch_event, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
