/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf for tests of the whole agent: tests/sim/sim_proto.h, where anything malformed and any
 * lack of room fails the test. Header only.
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

#include "tests/sim/sim_proto.h"

#define UNUSED_OK __attribute__((unused))

/* --- building --- */

UNUSED_OK static void put_int(struct writer *w, unsigned field, uint64_t value)
{
    sim_put_value(w, field, value);
    assert_false(w->full);
}

UNUSED_OK static void put_view(struct writer *w, unsigned field, struct view v)
{
    sim_put_bytes(w, field, v);
    assert_false(w->full);
}

UNUSED_OK static void put_str(struct writer *w, unsigned field, const char *text)
{
    put_view(w, field, view_text(text));
}

UNUSED_OK static void put_envelope(struct writer *w, const char *api_version, const char *kind,
                                   struct view object)
{
    sim_put_envelope(w, api_version, kind, object);
    assert_false(w->full);
}

/* --- walking --- */

/* Next field; false at the end. Anything malformed fails the test. */
UNUSED_OK static bool proto_next(struct reader *in, struct sim_field *f)
{
    enum status s = sim_field_next(in, f);
    assert_true(s == STATUS_OK || s == STATUS_MORE);
    return s == STATUS_OK;
}

/* First field of that number; an empty view when there is none. */
UNUSED_OK static struct sim_field proto_get(struct view message, unsigned number)
{
    struct reader in = reader_of(message);
    struct sim_field f = {0};
    while (proto_next(&in, &f)) {
        if (f.number == number) {
            return f;
        }
    }
    return (struct sim_field){0};
}

UNUSED_OK static unsigned proto_count(struct view message, unsigned number)
{
    struct reader in = reader_of(message);
    struct sim_field f = {0};
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
