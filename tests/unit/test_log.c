/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines: form, time, levels, long lines, lost lines. */
#include "unit.h"

#include "base/json.h"
#include "base/log.h"

static struct log log_;

static void open_log(enum log_format format)
{
    memset(&log_, 0xaa, sizeof log_); /* log_init must not depend on zeros */
    log_init(&log_, LOG_INFO, format);
    log_.wall_ms = UINT64_C(1795262400123);
}

static void test_text_line(void **state)
{
    (void)state;
    open_log(LOG_TEXT);
    log_line_begin(&log_, LOG_INFO, "claim_prepared");
    log_line_text(&log_, "namespace", "training");
    log_line_number(&log_, "devices", 16);
    log_line_number(&log_, "delta", -3);
    log_line_view(&log_, "pool", view_text("node-1"));
    log_line_end(&log_);
    assert_view(log_pending(&log_),
                "ts=2026-11-21T12:00:00.123Z level=info event=claim_prepared namespace=training "
                "devices=16 delta=-3 pool=node-1\n");
}

/* The text form for other uses: quoted where a word could be taken for two. */
static void test_word(void **state)
{
    uint8_t bytes[64];
    struct writer w = writer_of(bytes, sizeof bytes);
    (void)state;
    log_word(&w, "a", view_text("b"));
    log_word(&w, "c", view_text("d \"e\""));
    log_word(&w, "f", view_text(""));
    assert_view(writer_view(&w), "a=bc=\"d \\\"e\\\"\"f=\"\"");
}

static void test_json_line(void **state)
{
    (void)state;
    open_log(LOG_JSON);
    log_line_begin(&log_, LOG_ERROR, "store_failed");
    log_line_text(&log_, "text", "say \"no\"\n");
    log_line_number(&log_, "slot", 255);
    log_line_text(&log_, "empty", "");
    log_line_end(&log_);
    assert_view(log_pending(&log_),
                "{\"ts\":\"2026-11-21T12:00:00.123Z\",\"level\":\"error\","
                "\"event\":\"store_failed\",\"text\":\"say \\\"no\\\"\\n\",\"slot\":255,"
                "\"empty\":\"\"}\n");
}

static void test_quoting(void **state)
{
    static const struct {
        const char *value;
        const char *field;
    } rows[] = {
        {"plain/1.0:x,y", "k=plain/1.0:x,y"},
        {"", "k=\"\""},
        {"two words", "k=\"two words\""},
        {"a=b", "k=\"a=b\""},
        {"say \"x\"", "k=\"say \\\"x\\\"\""},
        {"back\\slash", "k=\"back\\\\slash\""},
        {"two\nlines\r", "k=\"two\\nlines\\r\""},
        {"\x1b[31m", "k=\"\\u001b[31m\""},
        {"\x7f", "k=\"\\u007f\""},
        {"\xc2\x9b"
         "31m",
         "k=\"\\u009b31m\""},
        {"\xe2\x80\xa8", "k=\"\\u2028\""},
        {"\xc3\xa4", "k=\"\xc3\xa4\""},
        {"\xff", "k=\"\xef\xbf\xbd\""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char expected[256];
        open_log(LOG_TEXT);
        log_line_begin(&log_, LOG_WARN, "e");
        log_line_text(&log_, "k", rows[i].value);
        log_line_end(&log_);
        (void)snprintf(expected, sizeof expected,
                       "ts=2026-11-21T12:00:00.123Z level=warn event=e %s\n", rows[i].field);
        assert_view(log_pending(&log_), expected);
    }
}

static void test_times(void **state)
{
    static const struct {
        uint64_t ms;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {UINT64_C(951782399999), "2000-02-28T23:59:59.999Z"},
        {UINT64_C(951782400000), "2000-02-29T00:00:00.000Z"},
        {UINT64_C(951868800000), "2000-03-01T00:00:00.000Z"},
        {UINT64_C(1709164800001), "2024-02-29T00:00:00.001Z"},
        {UINT64_C(1767225599050), "2025-12-31T23:59:59.050Z"},
        {UINT64_C(1767225600000), "2026-01-01T00:00:00.000Z"},
        {UINT64_C(4107542399000), "2100-02-28T23:59:59.000Z"},
        {UINT64_C(4107542400000), "2100-03-01T00:00:00.000Z"},
        {UINT64_C(253402300799999), "9999-12-31T23:59:59.999Z"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char expected[64];
        open_log(LOG_TEXT);
        log_.wall_ms = rows[i].ms;
        log_line_begin(&log_, LOG_INFO, "e");
        log_line_end(&log_);
        (void)snprintf(expected, sizeof expected, "ts=%s level=info event=e\n", rows[i].text);
        assert_view(log_pending(&log_), expected);
    }
    log_.wall_ms = UINT64_MAX; /* a clock that is nonsense costs no more than a strange line */
    log_line_begin(&log_, LOG_INFO, "e");
    log_line_end(&log_);
    assert_true(view_ends(log_pending(&log_), " level=info event=e\n"));
}

static void test_levels(void **state)
{
    (void)state;
    for (int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
        for (int line = LOG_ERROR; line <= LOG_DEBUG; line++) {
            open_log(LOG_TEXT);
            log_.level = (enum log_level)level;
            log_line_begin(&log_, (enum log_level)line, "e");
            log_line_text(&log_, "k", "v");
            log_line_number(&log_, "n", 1);
            log_line_end(&log_);
            assert_int_equal(log_pending(&log_).len > 0, line <= level);
        }
    }
}

static void test_fields_outside_a_line(void **state)
{
    (void)state;
    open_log(LOG_TEXT);
    log_line_text(&log_, "k", "v");
    log_line_number(&log_, "n", 1);
    log_line_end(&log_);
    assert_int_equal(log_pending(&log_).len, 0);
}

/* Fields of every length around the limit: whole lines only, marked when a field is missing. */
static void long_lines(enum log_format format)
{
    char value[LOG_LINE_BYTES_MAX + 8];
    unsigned cut = 0;
    memset(value, 'v', sizeof value);
    for (size_t n = 0; n < sizeof value; n++) {
        open_log(format);
        log_line_begin(&log_, LOG_INFO, "e");
        log_line_view(&log_, "long", view_of(value, n));
        log_line_text(&log_, "k", "v");
        log_line_end(&log_);
        struct view line = log_pending(&log_);
        assert_true(line.len <= LOG_LINE_BYTES_MAX);
        assert_true(view_ends(line, (format == LOG_JSON) ? "}\n" : "\n"));
        assert_int_equal(view_find(line, '\n'), line.len - 1);
        bool marked =
            view_ends(line, (format == LOG_JSON) ? ",\"truncated\":true}\n" : " truncated=true\n");
        bool whole = strstr(text_of(line), (format == LOG_JSON) ? "\"k\":\"v\"" : " k=v") != NULL;
        assert_int_equal(marked, !whole);
        cut += marked;
        if (format == LOG_JSON) {
            struct json_reader r;
            struct json_token t;
            json_open(&r, line);
            assert_int_equal(json_next(&r, &t), STATUS_OK);
            assert_int_equal(json_skip(&r, &t), STATUS_OK);
            assert_int_equal(json_next(&r, &t), STATUS_OK);
        }
    }
    assert_in_range(cut, 8, 200);
}

static void test_long_lines(void **state)
{
    (void)state;
    long_lines(LOG_TEXT);
    long_lines(LOG_JSON);
}

static void one_line(const char *event)
{
    log_line_begin(&log_, LOG_INFO, event);
    log_line_text(&log_, "k", "a value that makes the line a little longer");
    log_line_end(&log_);
}

static unsigned lines_pending(void)
{
    unsigned lines = 0;
    struct view v = log_pending(&log_);
    for (size_t i = 0; i < v.len; i++) {
        lines += v.data[i] == '\n';
    }
    return lines;
}

static void test_lost_lines(void **state)
{
    (void)state;
    open_log(LOG_TEXT);
    unsigned kept = 0;
    while (log_.lost == 0) {
        one_line("flood");
        kept += log_.lost == 0;
        assert_true(kept < LOG_BUFFER_BYTES);
    }
    one_line("flood");
    one_line("flood");
    assert_int_equal(log_.lost, 3);
    assert_int_equal(lines_pending(), kept);
    log_written(&log_, 1); /* no room yet */
    assert_int_equal(log_.lost, 3);
    log_written(&log_, LOG_LINE_BYTES_MAX);
    assert_int_equal(log_.lost, 0);
    const char *pending = text_of(log_pending(&log_));
    assert_non_null(strstr(pending, "level=warn event=log_lines_lost count=3\n"));
    one_line("after");
    log_written(&log_, log_pending(&log_).len);
    assert_int_equal(log_pending(&log_).len, 0);
    one_line("clean");
    assert_null(strstr(text_of(log_pending(&log_)), "log_lines_lost"));
    assert_int_equal(lines_pending(), 1);
}

static void test_loss_is_said_when_all_was_taken(void **state)
{
    (void)state;
    open_log(LOG_JSON);
    for (unsigned i = 0; i < LOG_BUFFER_BYTES; i++) {
        one_line("flood");
    }
    uint64_t lost = log_.lost;
    assert_true(lost > 0);
    log_written(&log_, log_pending(&log_).len);
    char expected[128];
    (void)snprintf(expected, sizeof expected,
                   "{\"ts\":\"2026-11-21T12:00:00.123Z\",\"level\":\"warn\","
                   "\"event\":\"log_lines_lost\",\"count\":%llu}\n",
                   (unsigned long long)lost);
    assert_view(log_pending(&log_), expected);
}

/* Lines come out in order and whole, whatever pieces are taken. */
static void test_taken_in_pieces(void **state)
{
    char all[65536];
    size_t len = 0;
    uint32_t seed = 7;
    (void)state;
    open_log(LOG_TEXT);
    for (unsigned i = 0; i < 400; i++) {
        log_line_begin(&log_, LOG_INFO, "e");
        log_line_number(&log_, "n", i);
        log_line_end(&log_);
        struct view v = log_pending(&log_);
        size_t n = next_random(&seed) % (v.len + 1);
        memcpy(all + len, v.data, n);
        len += n;
        log_written(&log_, n);
    }
    struct view rest = log_pending(&log_);
    memcpy(all + len, rest.data, rest.len);
    len += rest.len;
    assert_int_equal(log_.lost, 0);
    char *at = all;
    all[len] = 0;
    for (unsigned i = 0; i < 400; i++) {
        char expected[96];
        int n = snprintf(expected, sizeof expected,
                         "ts=2026-11-21T12:00:00.123Z level=info event=e n=%u\n", i);
        assert_memory_equal(at, expected, (size_t)n);
        at += n;
    }
    assert_int_equal(*at, 0);
}

/* What was written out can be read until the room is needed, and then from a whole line on. */
static void test_last_lines(void **state)
{
    uint64_t at = 0;
    char number[32];
    (void)state;
    open_log(LOG_TEXT);
    one_line("first");
    log_written(&log_, log_pending(&log_).len);
    one_line("second");
    struct view all = log_last(&log_, &at);
    assert_int_equal(at, 0);
    assert_non_null(strstr(text_of(all), "event=first"));
    assert_non_null(strstr(text_of(all), "event=second"));
    at = log_.written;
    assert_view(log_last(&log_, &at), text_of(log_pending(&log_)));
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(number, sizeof number, "n-%u-", i);
        one_line(number);
        log_written(&log_, log_pending(&log_).len);
        at = 0;
        all = log_last(&log_, &at);
        assert_true(view_starts(all, "ts="));
        assert_true(view_ends(all, "\n"));
        assert_non_null(strstr(text_of(all), number));
    }
    assert_int_equal(log_.lost, 0);
    assert_true(all.len > LOG_BUFFER_BYTES / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_line),
        cmocka_unit_test(test_word),
        cmocka_unit_test(test_json_line),
        cmocka_unit_test(test_quoting),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_fields_outside_a_line),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_lost_lines),
        cmocka_unit_test(test_loss_is_said_when_all_was_taken),
        cmocka_unit_test(test_taken_in_pieces),
        cmocka_unit_test(test_last_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
