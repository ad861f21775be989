/* SPDX-License-Identifier: Apache-2.0 */
/* Implements base/document.h: writes documents as JSON or YAML. Holds no state. */
#include "base/document.h"

#include "base/assert.h"
#include "base/chars.h"

#define DOCUMENT_INDENT 2u
/*
 * Length of "false", the longest word that YAML reads as something other than a string. Longer
 * words of letters need no quotes.
 */
#define WORD_AMBIGUOUS_MAX 5u

struct document document_of(struct writer *out, bool yaml)
{
    struct document d = {.yaml = yaml, .dash = true, .empty = true};
    d.json = json_writer_of(out, DOCUMENT_INDENT);
    return d;
}

static struct writer *out_of(struct document *d)
{
    return d->json.out;
}

/*
 * Begins a new line with the current indentation. Stays on the line after a dash and at the start
 * of the document.
 */
static void line_begin(struct document *d)
{
    if (!d->dash) {
        writer_text(out_of(d), "\n");
        for (unsigned i = 0; i < d->depth; i++) {
            writer_text(out_of(d), "  ");
        }
    }
    d->dash = false;
    d->empty = false;
}

static void member_name(struct document *d, const char *text)
{
    if (!d->yaml) {
        json_name(&d->json, text);
        return;
    }
    line_begin(d);
    WRITE(out_of(d), "%:", TEXT(text));
}

void document_object_begin(struct document *d)
{
    if (!d->yaml) {
        json_object_begin(&d->json);
        return;
    }
    if (d->element) {
        line_begin(d);
        writer_text(out_of(d), "- ");
        d->dash = true;
        d->depth++;
    }
    d->element = false;
    d->empty = true;
}

static void close_empty(struct document *d, const char *form)
{
    if (d->empty) {
        WRITE(out_of(d), "%%", TEXT(d->dash ? "" : " "), TEXT(form));
    }
    d->dash = false;
    d->empty = false;
}

void document_object_end(struct document *d)
{
    if (!d->yaml) {
        json_object_end(&d->json);
        return;
    }
    close_empty(d, "{}");
    d->depth -= (d->depth > 0u) ? 1u : 0u;
    /* an object that begins next is an element of an array; before a member, this has no effect */
    d->element = true;
}

void document_member_begin(struct document *d, const char *name)
{
    member_name(d, name);
    if (!d->yaml) {
        json_object_begin(&d->json);
        return;
    }
    d->depth++;
    d->empty = true;
    d->element = false;
}

void document_array_begin(struct document *d, const char *name)
{
    member_name(d, name);
    if (!d->yaml) {
        json_array_begin(&d->json);
        return;
    }
    d->empty = true;
    d->element = true;
}

void document_array_end(struct document *d)
{
    if (!d->yaml) {
        json_array_end(&d->json);
        return;
    }
    close_empty(d, "[]");
    d->element = false;
}

static bool is_word_byte(uint8_t byte)
{
    return is_letter(byte) || is_digit(byte) || byte == '-' || byte == '.' || byte == '/' ||
           byte == '_';
}

static bool is_plain(struct view text)
{
    bool plain = text.len > WORD_AMBIGUOUS_MAX && is_letter(text.data[0]);
    for (size_t i = 0; i < text.len && plain; i++) {
        plain = is_word_byte(text.data[i]);
    }
    return plain;
}

/* Writes a text, quoted if necessary. A quoted JSON string is also valid YAML (YAML 1.2 §1.2). */
static void value_text(struct document *d, struct view value)
{
    if (is_plain(value)) {
        writer_append(out_of(d), value);
        return;
    }
    struct json_writer quoted = json_writer_of(out_of(d), 0);
    json_string(&quoted, value);
}

void document_text(struct document *d, const char *name, const char *value)
{
    member_name(d, name);
    if (!d->yaml) {
        json_string(&d->json, view_text(value));
        return;
    }
    writer_text(out_of(d), " ");
    value_text(d, view_text(value));
}

void document_number(struct document *d, const char *name, int64_t value)
{
    member_name(d, name);
    if (!d->yaml) {
        json_number(&d->json, value);
        return;
    }
    writer_text(out_of(d), " ");
    writer_signed(out_of(d), value);
}

void document_bool(struct document *d, const char *name, bool value)
{
    member_name(d, name);
    if (!d->yaml) {
        json_bool(&d->json, value);
        return;
    }
    writer_text(out_of(d), value ? " true" : " false");
}

void document_element(struct document *d, struct view value)
{
    if (!d->yaml) {
        json_string(&d->json, value);
        return;
    }
    ASSERT(d->element);
    line_begin(d);
    writer_text(out_of(d), "- ");
    value_text(d, value);
}

void document_end(struct document *d)
{
    writer_text(out_of(d), "\n");
}
