/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON texts by jansson beside the product's tokenizer, for the targets that read or write JSON.
 * Owns the comparison of both and the few places where they differ by intent: jansson refuses
 * lone surrogates, NUL in names and numbers beyond its types; the product is bounded in depth.
 * Header only, because each target is one file; with FUZZ_ALONE the comparisons say yes.
 */
#ifndef TESTS_FUZZ_JSON_ORACLE_H
#define TESTS_FUZZ_JSON_ORACLE_H

#include "base/json.h"
#include "tests/fuzz/fuzz.h"

#ifndef FUZZ_ALONE

/* Both call some things alike; the library's own calls stay within it. */
#define json_string jansson_string
#define json_integer jansson_integer
#define JSON_STRING JANSSON_STRING
#define JSON_TRUE JANSSON_TRUE
#define JSON_FALSE JANSSON_FALSE
#define JSON_NULL JANSSON_NULL
#include <jansson.h>
#undef json_string
#undef json_integer
#undef JSON_STRING
#undef JSON_TRUE
#undef JSON_FALSE
#undef JSON_NULL

#define ORACLE_TEXT_BYTES 70000u

/* --- jansson's view --- */

static inline json_t *oracle_load(struct view text, json_error_t *error)
{
    size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL;
    const char *bytes = (text.len == 0u) ? "" : (const char *)text.data;
    return json_loadb(bytes, text.len, flags, error);
}

/* Refusals that say nothing about the syntax. */
static inline bool oracle_beside(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);
    bool surrogate = strstr(error->text, "invalid Unicode") != NULL;
    bool name = code == json_error_null_byte_in_key;
    return surrogate || name || code == json_error_numeric_overflow;
}

/* --- the product's tokens as a tree of jansson's --- */

struct oracle_tree {
    json_t *open[JSON_DEPTH_MAX + 1u];
    json_t *top;
    size_t name_len;
    char name[ORACLE_TEXT_BYTES]; /* of the member whose value comes */
};

static inline size_t oracle_text(struct view raw, char *room, size_t cap)
{
    struct writer w = writer_of(room, cap);
    CHECK(json_unescape(raw, &w) == STATUS_OK);
    CHECK(w.len <= raw.len && view_is_utf8(writer_view(&w)));
    return w.len;
}

static inline json_t *oracle_number(struct view literal)
{
    char text[ORACLE_TEXT_BYTES];
    int64_t number = 0;
    CHECK(text_copy(text, sizeof text, literal) == STATUS_OK);
    if (json_integer(literal, &number) == STATUS_OK) {
        return json_pack("I", (json_int_t)number);
    }
    CHECK(strpbrk(text, ".eE") != NULL); /* jansson takes no integer beyond 64 bits */
    return json_real(strtod(text, NULL));
}

static inline json_t *oracle_value(const struct json_token *token)
{
    static char text[ORACLE_TEXT_BYTES];
    switch (token->kind) {
    case JSON_OBJECT_BEGIN:
        return json_object();
    case JSON_ARRAY_BEGIN:
        return json_array();
    case JSON_STRING:
        return json_stringn(text, oracle_text(token->text, text, sizeof text));
    case JSON_NUMBER:
        return oracle_number(token->text);
    case JSON_TRUE:
        return json_true();
    case JSON_FALSE:
        return json_false();
    default:
        CHECK(token->kind == JSON_NULL);
        return json_null();
    }
}

static inline void oracle_add(struct oracle_tree *t, unsigned depth, json_t *value)
{
    CHECK(value != NULL);
    if (depth == 0u) {
        t->top = value;
    } else if (json_is_object(t->open[depth - 1u])) {
        json_t *object = t->open[depth - 1u];
        CHECK(json_object_setn_new(object, t->name, t->name_len, value) == 0);
    } else {
        CHECK(json_array_append_new(t->open[depth - 1u], value) == 0);
    }
    t->open[depth] = value;
}

/* A text that both take: the values must be the same, in the same order. */
static inline void oracle_compare(struct view text, const json_t *theirs)
{
    static struct oracle_tree t;
    struct json_reader r;
    struct json_token token;
    json_open(&r, text);
    while (json_next(&r, &token) == STATUS_OK && token.kind != JSON_END) {
        CHECK(token.depth <= JSON_DEPTH_MAX);
        if (token.kind == JSON_NAME) {
            t.name_len = oracle_text(token.text, t.name, sizeof t.name);
        } else if (token.kind != JSON_OBJECT_END && token.kind != JSON_ARRAY_END) {
            oracle_add(&t, token.depth, oracle_value(&token));
        }
    }
    CHECK(r.failed == STATUS_OK && json_equal(t.top, theirs));
    json_decref(t.top);
}

/* The product's verdict on a text against jansson's, and then every value. */
static inline void oracle_judge(struct view text, enum status verdict)
{
    json_error_t error;
    json_t *theirs = oracle_load(text, &error);
    if (theirs == NULL) {
        CHECK(verdict != STATUS_OK || oracle_beside(&error));
        return;
    }
    bool nul = view_find(text, 0) < text.len; /* outside of strings jansson takes it for the end */
    CHECK(verdict == STATUS_OK || verdict == FULL_BUFFER || nul);
    if (verdict == STATUS_OK && text.len < ORACLE_TEXT_BYTES) {
        oracle_compare(text, theirs);
    }
    json_decref(theirs);
}

/* Whether a text of ours is JSON for jansson too. */
static inline bool oracle_takes(struct view text)
{
    json_error_t error;
    json_t *theirs = oracle_load(text, &error);
    bool good = theirs != NULL;
    json_decref(theirs);
    return good;
}

#else

static inline void oracle_judge(struct view text, enum status verdict)
{
    CHECK(verdict == STATUS_OK || verdict == FULL_BUFFER || verdict == PEER_MALFORMED);
    (void)text;
}

static inline bool oracle_takes(struct view text)
{
    (void)text;
    return true;
}

#endif

#endif
