/* SPDX-License-Identifier: Apache-2.0 */
/* Checks names, keys, texts and versions by the API server's rules; one function for each rule. */
#include "dra/issue.h"

#include "base/assert.h"
#include "base/chars.h"

#define LABEL_MAX 63u
#define SUBDOMAIN_MAX 63u
#define IDENTIFIER_MAX 32u
#define VERSION_NUMBERS 3u

static const char *const texts[ISSUES] = {
    [ISSUE_NONE] = "none",
    [ISSUE_NAME] = "the name is not a DNS label of at most 63 characters",
    [ISSUE_KEY] =
        "the key is not a C identifier of at most 32 characters, with or without a domain",
    [ISSUE_LENGTH] = "the value is longer than 64 bytes",
    [ISSUE_UTF8] = "the value is not UTF-8",
    [ISSUE_VERSION] = "the value is not a semantic version",
};

const char *issue_text(enum issue issue)
{
    ASSERT((unsigned)issue < (unsigned)ISSUES);
    return texts[issue];
}

/* Returns the part of `rest` before the first `byte`, and removes that part and the byte. */
static struct view split_part(struct view *rest, uint8_t byte)
{
    size_t at = view_find(*rest, byte);
    struct view first = view_first(*rest, at);
    *rest = view_from(*rest, at + 1u);
    return first;
}

/* Whether `v` is an RFC 1123 label in lower case. */
static bool is_label(struct view v)
{
    bool good = v.len > 0u && v.len <= LABEL_MAX && v.data[0] != '-' && v.data[v.len - 1u] != '-';
    for (size_t i = 0; i < v.len; i++) {
        good = good && (is_lower(v.data[i]) || is_digit(v.data[i]) || v.data[i] == '-');
    }
    return good;
}

static bool is_subdomain(struct view v)
{
    bool good = v.len > 0u && v.len <= SUBDOMAIN_MAX && v.data[v.len - 1u] != '.';
    while (good && v.len > 0u) {
        good = is_label(split_part(&v, '.'));
    }
    return good;
}

static bool is_identifier(struct view v)
{
    bool good = v.len > 0u && v.len <= IDENTIFIER_MAX && !is_digit(v.data[0]);
    for (size_t i = 0; i < v.len; i++) {
        good = good && (is_letter(v.data[i]) || is_digit(v.data[i]) || v.data[i] == '_');
    }
    return good;
}

static bool is_key(struct view v)
{
    if (view_find(v, '/') == v.len) {
        return is_identifier(v);
    }
    struct view domain = split_part(&v, '/');
    return is_subdomain(domain) && is_identifier(v);
}

/* Parts of a semantic version: CORE[-PRE_RELEASE][+BUILD]. */
enum { CORE, PRE_RELEASE, BUILD };

/*
 * Whether `v`, the text between two separators in the part `where` of a version, is a valid
 * identifier. An identifier of digits only must not have leading zeros, except in build metadata.
 */
static bool is_version_word(struct view v, unsigned where)
{
    bool digits = true;
    for (size_t i = 0; i < v.len; i++) {
        digits = digits && is_digit(v.data[i]);
    }
    bool leading = digits && v.len > 1u && v.data[0] == '0';
    return v.len > 0u && (digits || where != CORE) && (!leading || where == BUILD);
}

/*
 * Returns the part of a version in which the text after `c` lies; `c` lies in the part `where`.
 * Only the first dash and the first plus begin another part.
 */
static unsigned part_after(uint8_t c, unsigned where)
{
    if (c == '+' && where < BUILD) {
        return BUILD;
    }
    return (c == '-' && where == CORE) ? PRE_RELEASE : where;
}

/* Whether `v` is a version as items 2, 9 and 10 of Semantic Versioning 2.0.0 define it. */
static bool is_version(struct view v)
{
    unsigned where = CORE;
    unsigned numbers = 0;
    size_t from = 0;
    bool good = true;
    for (size_t i = 0; good && i <= v.len; i++) {
        uint8_t c = (i < v.len) ? v.data[i] : (uint8_t)'.';
        unsigned next = part_after(c, where);
        if (c == '.' || next != where) {
            good = is_version_word(view_first(view_from(v, from), i - from), where);
            numbers += (where == CORE) ? 1u : 0u;
            from = i + 1u;
            where = next;
        } else {
            good = is_digit(c) || is_letter(c) || c == '-';
        }
    }
    return good && numbers == VERSION_NUMBERS;
}

/* The text in an array, up to its NUL; the whole array if there is no NUL. */
static struct view text_in(const char *text, size_t cap)
{
    struct view all = view_of(text, cap);
    return view_first(all, view_find(all, 0));
}

enum issue attribute_issue(const struct attribute *attribute)
{
    struct view key = text_in(attribute->key, sizeof attribute->key);
    struct view text = text_in(attribute->text, sizeof attribute->text);
    bool version = attribute->type == ATTRIBUTE_VERSION;
    enum issue issue = ISSUE_NONE;
    if (!is_key(key)) {
        issue = ISSUE_KEY;
    } else if (attribute->type != ATTRIBUTE_STRING && !version) {
        issue = ISSUE_NONE;
    } else if (text.len >= ATTRIBUTE_VALUE_CAP) {
        issue = ISSUE_LENGTH;
    } else if (!view_is_utf8(text)) {
        issue = ISSUE_UTF8;
    } else if (version && !is_version(text)) {
        issue = ISSUE_VERSION;
    }
    return issue;
}

enum issue device_name_issue(const struct device *device)
{
    return is_label(text_in(device->name, sizeof device->name)) ? ISSUE_NONE : ISSUE_NAME;
}
