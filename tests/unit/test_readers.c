/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's side of the processes that read sysfs, with readers that are made by hand: what they
 * note, answer, and leave unanswered.
 */
#include "tests/unit/disk/host_harness.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include "host/node/readers.h"

#define DEVICE_3 (UINT64_C(1) << 3u)

static struct readers readers;
static struct sysfs_probe last;
static int theirs[READERS]; /* the readers' ends */
static char *map;
static size_t map_size;

/* The last page ends where nothing is mapped. */
static int begin(void **state)
{
    (void)state;
    size_t whole = (sizeof(struct reader_page) + 4095u) & ~(size_t)4095u;
    map_size = READERS * (whole + 4096u);
    map = mmap(NULL, map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    readers = (struct readers){.prober = -1, .memory = -1};
    memset(&last, 0, sizeof last);
    for (unsigned i = 0; i < READERS; i++) {
        int pair[2];
        char *at_page = map + i * (whole + 4096u);
        size_t before = (whole - sizeof(struct reader_page)) & ~(size_t)15u;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0 ||
            mprotect(at_page, whole, PROT_READ | PROT_WRITE) != 0) {
            return -1;
        }
        void *page = at_page + before;
        readers.reader[i] = (struct reader_state){.fd = pair[0], .page = page};
        theirs[i] = pair[1];
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    readers_end(&readers);
    for (unsigned i = 0; i < READERS; i++) {
        (void)close(theirs[i]);
    }
    return munmap(map, map_size);
}

static void turn(uint64_t now_ms)
{
    struct pollfd slots[READERS];
    readers_interest(&readers, slots);
    assert_true(poll(slots, READERS, 0) >= 0);
    readers_turn(&readers, slots, now_ms);
}

/* A file of a device. */
static void reads(unsigned i, unsigned number, const char *file)
{
    struct reading_note *note = &readers.reader[i].page->note;
    note->of = (struct reading_subject){.kind = READING_DEVICE, .id = number};
    (void)snprintf(note->file, sizeof note->file, "%s", file);
    note->step++;
}

static void has_read(unsigned i)
{
    readers.reader[i].page->note.step++;
}

static void answers(unsigned i)
{
    const uint8_t byte = READER_ANSWER;
    assert_int_equal(write(theirs[i], &byte, 1), 1);
}

static bool was_asked(unsigned i)
{
    uint8_t byte = 0;
    return read(theirs[i], &byte, 1) == 1 && byte == (uint8_t)READER_ASK;
}

static void assert_why(const char *want)
{
    char text[HOST_TEXT_CAP];
    struct writer w = writer_of(text, sizeof text);
    readers_why(&readers, &w);
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    assert_non_null(strstr(text, want));
}

static void test_memory_is_asked_of_another_reader(void **state)
{
    (void)state;
    turn(0);
    assert_int_equal(readers_memory_read(&readers, DEVICE_3), STATUS_MORE);
    assert_true(was_asked(0));
    reads(0, 7, "neuron7/hw_error_event"); /* no file of the device that was asked for */
    turn(1);
    turn(READ_HANG_MS);
    assert_int_equal(readers_memory_read(&readers, DEVICE_3), STATUS_MORE);
    assert_false(was_asked(1));
    turn(1 + READ_HANG_MS);
    assert_int_equal(readers_memory_read(&readers, DEVICE_3), STATUS_MORE);
    assert_true(was_asked(1));
    readers.reader[1].page->memory[3][0] = 42;
    answers(1);
    turn(2 + READ_HANG_MS);
    assert_int_equal(readers_memory_read(&readers, DEVICE_3), STATUS_OK);
    assert_int_equal(readers_memory(&readers, 3, 0), 42);
}

/* SIGSTOP, a live migration, a machine without processor time. */
static void test_pause_of_the_agent_does_not_count(void **state)
{
    (void)state;
    turn(0);
    assert_int_equal(readers_memory_read(&readers, DEVICE_3), STATUS_MORE);
    assert_true(was_asked(0));
    reads(0, 7, "neuron7/hw_error_event");
    turn(1);
    turn(READ_HANG_MS + 2);
    assert_int_equal(readers_memory_read(&readers, DEVICE_3), STATUS_MORE);
    assert_false(was_asked(1));
    turn(2 * READ_HANG_MS + 1);
    assert_int_equal(readers_memory_read(&readers, DEVICE_3), STATUS_MORE);
    assert_false(was_asked(1));
    turn(2 * READ_HANG_MS + 2);
    assert_int_equal(readers_memory_read(&readers, DEVICE_3), STATUS_MORE);
    assert_true(was_asked(1));
    /* a hang that began before a pause goes on */
    turn(4 * READ_HANG_MS);
    assert_true(readers.reader[0].hangs);
}

static void test_memory_is_refused_when_the_last_reader_hangs(void **state)
{
    (void)state;
    reads(0, 1, "neuron1/reset");
    reads(1, 2, "neuron2/reset");
    turn(0);
    turn(READ_HANG_MS);
    assert_int_equal(readers_memory_read(&readers, DEVICE_3), STATUS_MORE);
    assert_true(was_asked(2));
    reads(2, 7, "neuron7/hw_error_event");
    turn(READ_HANG_MS + 1);
    assert_int_equal(readers_memory_read(&readers, DEVICE_3), STATUS_MORE);
    turn(2 * READ_HANG_MS + 1);
    assert_int_equal(readers_memory_read(&readers, DEVICE_3), HOST_BUSY);
    assert_why("does not answer: a read of it has taken ");
}

static void test_answer_after_a_hang_is_for_nobody(void **state)
{
    (void)state;
    turn(0);
    assert_int_equal(readers_memory_read(&readers, DEVICE_3), STATUS_MORE);
    assert_true(was_asked(0));
    reads(0, 3, "neuron3/total");
    turn(1);
    turn(1 + READ_HANG_MS);
    assert_int_equal(readers_memory_read(&readers, DEVICE_3), HOST_BUSY);
    assert_why("neuron3/total does not answer");
    assert_int_equal(readers.reader[0].page->numbers, 0);
    has_read(0);
    answers(0);
    turn(2 + READ_HANG_MS);
    assert_int_equal(readers_memory_read(&readers, DEVICE_3), STATUS_MORE);
    assert_true(was_asked(0) || was_asked(1));
}

/* Each of its files takes long: that is one hang, until the look is answered. */
static void test_slow_files_are_one_hang(void **state)
{
    uint64_t now_ms = 1;
    (void)state;
    turn(0);
    assert_true(readers_probe(&readers, &last, false));
    reads(0, 3, "neuron3/reset");
    turn(now_ms);
    for (unsigned file = 0; file < 3; file++) {
        now_ms += READ_HANG_MS;
        turn(now_ms);
        assert_true(readers.reader[0].hangs);
        assert_int_equal(readers.reader[0].changed, file == 0);
        has_read(0);
        turn(now_ms + 1);
        assert_true(readers.reader[0].hangs);
        assert_false(readers.changed);
        assert_int_equal(readers_memory_read(&readers, DEVICE_3), HOST_BUSY);
        reads(0, 3, "neuron3/other");
        now_ms += 2;
        turn(now_ms);
        assert_false(readers.changed);
    }
    has_read(0);
    answers(0);
    turn(now_ms + 1);
    assert_false(readers.reader[0].hangs);
    assert_true(readers.changed);
    assert_int_equal(now_ms + 1 - readers.reader[0].hung_since_ms, 3 * (READ_HANG_MS + 2) + 1);
}

/* In a listing, or stopped: no file is noted, and yet it does not answer. */
static void test_reader_that_stands_outside_a_file(void **state)
{
    (void)state;
    turn(0);
    assert_true(readers_probe(&readers, &last, false));
    turn(READ_WAIT_MS);
    assert_int_equal(readers_deadline(&readers), READ_HANG_MS);
    turn(READ_HANG_MS);
    assert_true(readers.reader[0].hangs);
    assert_int_equal(readers_deadline(&readers), UINT64_MAX);
    readers.memory = 0;
    assert_why("sysfs does not answer: a read of it has taken 5 s");
    assert_true(readers_probe(&readers, &last, false));
    assert_int_equal(readers.prober, 1);
}

/* Writes what no reader of ours writes: counts over the tables, values no bool has. */
static void test_page_is_bounded(void **state)
{
    (void)state;
    turn(0);
    assert_true(readers_probe(&readers, &last, true));
    struct reader_page *page = readers.reader[0].page;
    struct found_node *found = &page->result.probe.found;
    found->count = UINT16_MAX;
    page->result.efas.count = UINT16_MAX;
    memset(&found->unknown, 2, 1);
    memset(&page->result.probe.known, 2, 1);
    memset(&found->devices[5].node_exists, 2, 1);
    memset(&found->devices[5].reading.known, 2, 1);
    memset(&page->result.efas.efa[5].verbs, 2, 1);
    page->left_out.count = UINT32_MAX;
    for (unsigned i = 0; i < READERS; i++) {
        page->left_out.of[i] = (struct reading_subject){.kind = READING_DEVICE, .id = 77777};
    }
    last.probe.found.count = 1;
    last.probe.found.devices[0].number = 0;
    page->left_out.of[0].id = 0;
    answers(0);
    turn(1);
    readers_result(&readers, &last);
    assert_int_equal(last.probe.found.count, DEVICES_MAX);
    assert_int_equal(last.efas.count, EFAS_MAX);
    assert_int_equal(last.probe.found.devices[5].node_exists, true);
}

static void test_error_of_the_class_files(void **state)
{
    struct found_ultraserver found;
    (void)state;
    turn(0);
    for (unsigned i = 0; i < READERS; i++) {
        readers.reader[i].page->ultraserver_error = -7;
        answers(i); /* before it is asked: taken by the wait */
    }
    assert_int_equal(readers_ultraserver(&readers, &found), EIO);
}

#define READERS_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        READERS_TEST(test_memory_is_asked_of_another_reader),
        READERS_TEST(test_pause_of_the_agent_does_not_count),
        READERS_TEST(test_memory_is_refused_when_the_last_reader_hangs),
        READERS_TEST(test_answer_after_a_hang_is_for_nobody),
        READERS_TEST(test_slow_files_are_one_hang),
        READERS_TEST(test_reader_that_stands_outside_a_file),
        READERS_TEST(test_page_is_bounded),
        READERS_TEST(test_error_of_the_class_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
