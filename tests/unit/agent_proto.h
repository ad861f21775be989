/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf by hand for tests of the whole agent: building into writers, walking of what came.
 * Shares no code with what is tested but reader and writer. Header only.
 */
#ifndef TESTS_UNIT_AGENT_PROTO_H
#define TESTS_UNIT_AGENT_PROTO_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"

#define UNUSED_OK __attribute__((unused))

/* --- building --- */

UNUSED_OK static void put_int(struct writer *w, unsigned field, uint64_t value)
{
    writer_varint(w, (uint64_t)field << 3);
    writer_varint(w, value);
}

UNUSED_OK static void put_view(struct writer *w, unsigned field, struct view v)
{
    writer_varint(w, ((uint64_t)field << 3) | 2);
    writer_varint(w, v.len);
    writer_append(w, v);
    assert_false(w->full);
}

UNUSED_OK static void put_str(struct writer *w, unsigned field, const char *text)
{
    put_view(w, field, view_text(text));
}

/* k8s\0 Unknown{typeMeta, raw, contentEncoding "", contentType ""}, as the server writes it */
UNUSED_OK static void put_envelope(struct writer *w, const char *api_version, const char *kind,
                                   struct view object)
{
    uint8_t bytes[256];
    struct writer type = writer_of(bytes, sizeof bytes);
    put_str(&type, 1, api_version);
    put_str(&type, 2, kind);
    writer_bytes(w, "k8s\0", 4);
    put_view(w, 1, writer_view(&type));
    put_view(w, 2, object);
    put_str(w, 3, "");
    put_str(w, 4, "");
    assert_false(w->full);
}

/* --- walking --- */

struct proto_field {
    unsigned number;
    uint64_t value;    /* of varints */
    struct view bytes; /* of what has a length */
};

/* Next field; false at the end. Anything malformed fails the test. */
UNUSED_OK static bool proto_next(struct reader *in, struct proto_field *f)
{
    uint64_t tag = 0;
    if (reader_left(in) == 0) {
        return false;
    }
    assert_int_equal(reader_varint(in, &tag), STATUS_OK);
    f->number = (unsigned)(tag >> 3);
    f->value = 0;
    f->bytes = view_of(NULL, 0);
    assert_int_equal(reader_varint(in, &f->value), STATUS_OK);
    if ((tag & 7) == 2) {
        assert_int_equal(reader_take(in, (size_t)f->value, &f->bytes), STATUS_OK);
    } else {
        assert_int_equal(tag & 7, 0);
    }
    return true;
}

/* First field of that number; an empty view when there is none. */
UNUSED_OK static struct proto_field proto_get(struct view message, unsigned number)
{
    struct reader in = reader_of(message);
    struct proto_field f = {0, 0, {NULL, 0}};
    while (proto_next(&in, &f)) {
        if (f.number == number) {
            return f;
        }
    }
    return (struct proto_field){0, 0, {NULL, 0}};
}

UNUSED_OK static unsigned proto_count(struct view message, unsigned number)
{
    struct reader in = reader_of(message);
    struct proto_field f = {0, 0, {NULL, 0}};
    unsigned n = 0;
    while (proto_next(&in, &f)) {
        n += f.number == number ? 1u : 0u;
    }
    return n;
}

UNUSED_OK static void proto_text(struct view message, unsigned number, char *out, size_t cap)
{
    struct view v = proto_get(message, number).bytes;
    assert_int_equal(text_copy(out, cap, v), STATUS_OK);
}

#endif
