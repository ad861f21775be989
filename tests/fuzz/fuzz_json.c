/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON tokenizer and writer. Checks I1 to I7 of base/json.h. The oracle is jansson: both
 * must take or refuse a text, and find the same values in it.
 *
 * Input: one byte of room, then a JSON text
 * Links: -ljansson
 */
#include "base/json.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/json_oracle.h"

/* Tokens of a text up to its end; what one of them may be. */
static enum status read_all(struct view text)
{
    struct json_reader r;
    struct json_token token = {.kind = JSON_NULL};
    enum status s = STATUS_OK;
    size_t tokens = 0;
    json_open(&r, text);
    while (s == STATUS_OK && (tokens == 0u || token.kind != JSON_END)) {
        size_t before = r.in.pos;
        s = json_next(&r, &token);
        tokens++;
        CHECK(s != STATUS_OK || token.kind == JSON_END || r.in.pos > before); /* I2 */
        CHECK(r.depth <= JSON_DEPTH_MAX && r.in.pos <= text.len);
    }
    if (s != STATUS_OK) {
        CHECK(s == PEER_MALFORMED || s == FULL_BUFFER);
        CHECK(json_next(&r, &token) == s && json_next(&r, &token) == s); /* I1 */
    }
    return s;
}

/* The first value skipped as a whole: the verdict is that of the text. */
static void skip_all(struct view text, enum status expected)
{
    struct json_reader r;
    struct json_token token;
    json_open(&r, text);
    enum status s = json_next(&r, &token);
    s = (s == STATUS_OK) ? json_skip(&r, &token) : s;
    s = (s == STATUS_OK) ? json_next(&r, &token) : s;
    CHECK(s == expected);
    CHECK(s != STATUS_OK || token.kind == JSON_END);
}

/* A string into room that may be too small: whole, or nothing of it. */
static void unescape(struct view raw, size_t cap)
{
    uint8_t *room = fuzz_copy(raw.data, raw.len);
    uint8_t whole[4096];
    struct writer small = writer_of(room, (cap < raw.len) ? cap : raw.len);
    struct writer large = writer_of(whole, sizeof whole);
    enum status s = json_unescape(raw, &large);
    CHECK(raw.len > sizeof whole || s == STATUS_OK);
    if (json_unescape(raw, &small) != STATUS_OK) {
        CHECK(small.len == 0u && !small.full); /* I4 */
    } else {
        CHECK(view_equal(writer_view(&small), writer_view(&large)));
    }
    free(room);
}

static void strings(struct view text, size_t cap)
{
    struct json_reader r;
    struct json_token token;
    json_open(&r, text);
    while (json_next(&r, &token) == STATUS_OK && token.kind != JSON_END) {
        if (token.kind == JSON_NAME || token.kind == JSON_STRING) {
            unescape(token.text, cap);
        }
    }
}

/* A form with texts put in is JSON in one line as well. */
static void fill(struct view content)
{
    static uint8_t room[65536];
    char text[600];
    const char *const values[] = {text, "b", text};
    struct writer out = writer_of(room, sizeof room);
    text_cut(text, sizeof text, content);
    json_fill(&out, "{\"a\":%,\"list\":[%,%]}", values);
    CHECK(!out.full && read_all(writer_view(&out)) == STATUS_OK); /* I5 */
    oracle_judge(writer_view(&out), STATUS_OK);
}

/* What is written is one JSON text in one line, and read back it is what was given. */
static void write_and_read(struct view content, unsigned indent)
{
    static uint8_t room[65536];
    static uint8_t back[65536];
    struct writer out = writer_of(room, sizeof room);
    struct json_writer w = json_writer_of(&out, indent);
    json_object_begin(&w);
    json_name(&w, "text");
    json_string(&w, content);
    json_name(&w, "list");
    json_array_begin(&w);
    json_number(&w, (int64_t)content.len - 7);
    json_bool(&w, content.len > 3u);
    json_array_end(&w);
    json_object_end(&w);
    if (out.full) {
        return;
    }
    CHECK(read_all(writer_view(&out)) == STATUS_OK); /* I5 */
    oracle_judge(writer_view(&out), STATUS_OK);
    for (size_t i = 0; i < out.len; i++) {
        CHECK(room[i] != 0x7fu && (room[i] >= 0x20u || (indent > 0u && room[i] == '\n')));
    }
    struct json_reader r;
    struct json_token token;
    json_open(&r, writer_view(&out));
    for (unsigned i = 0; i < 3u; i++) {
        CHECK(json_next(&r, &token) == STATUS_OK);
    }
    struct writer again = writer_of(back, sizeof back);
    CHECK(token.kind == JSON_STRING && json_unescape(token.text, &again) == STATUS_OK);
    CHECK(!view_is_utf8(content) || view_equal(content, writer_view(&again))); /* I6 */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz in = fuzz_of(data, size);
    uint8_t how = fuzz_u8(&in);
    struct view rest = fuzz_rest(&in);
    uint8_t *copy = fuzz_copy(rest.data, rest.len);
    struct view text = view_of(copy, rest.len);
    enum status s = read_all(text);
    skip_all(text, s);
    strings(text, how);
    oracle_judge(text, s); /* I3, I7 */
    write_and_read(view_first(text, 8192), how & 3u);
    fill(text);
    free(copy);
    return 0;
}
