/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes documents that other programs read. The same calls write JSON or YAML in block style (YAML
 * 1.2). Owns only the layout. The caller may empty the writer between two calls.
 *
 * Invariants:
 * I1 The same calls write the same value as JSON and as YAML.
 * I2 In YAML, a text is quoted unless every parser of YAML 1.1 and 1.2 reads it as a string.
 */
#ifndef BASE_DOCUMENT_H
#define BASE_DOCUMENT_H

#include "base/json.h"

/* State of a document that is being written. */
struct document {
    struct json_writer json; /* writer of JSON; its member `out` is also used for YAML */
    bool yaml;
    bool dash;      /* YAML: the next member continues the current line, for example after a dash */
    bool empty;     /* the innermost open object or array is still empty */
    bool element;   /* the next value is an element of an array, not the value of a member */
    unsigned depth; /* YAML: levels of indentation */
};

/* Starts a document at the end of `out`, which is borrowed until document_end. */
struct document document_of(struct writer *out, bool yaml);
/* Begins an object, which is the document's value or an element of an array. */
void document_object_begin(struct document *d);
void document_object_end(struct document *d);
/* Begins an array as a member's value. */
void document_array_begin(struct document *d, const char *name);
void document_array_end(struct document *d);
/* Begins a member whose value is an object. */
void document_member_begin(struct document *d, const char *name);
/* Write a member; `name` is plain ASCII that needs no quotes in YAML. */
void document_text(struct document *d, const char *name, const char *value);
void document_number(struct document *d, const char *name, int64_t value);
void document_bool(struct document *d, const char *name, bool value);
/* Writes a text as an element of an array. */
void document_element(struct document *d, struct view value);
/* Ends the document with a newline. */
void document_end(struct document *d);

#endif
