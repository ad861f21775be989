/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds protobuf messages in tests, field by field; shares no code with what is tested but the
 * writer.
 */
#ifndef TESTS_PROTOBUF_BUILD_H
#define TESTS_PROTOBUF_BUILD_H

#include <string.h>

#include "base/bytes.h"

#define MESSAGE_MAX 40000

struct message {
    struct writer w;
    uint8_t bytes[MESSAGE_MAX];
};

static inline struct message *message_new(struct message *m)
{
    m->w = writer_of(m->bytes, sizeof m->bytes);
    return m;
}

static inline struct view message_view(const struct message *m)
{
    return writer_view(&m->w);
}

static inline void put_varint(struct message *m, unsigned field, uint64_t value)
{
    writer_varint(&m->w, (uint64_t)field << 3);
    writer_varint(&m->w, value);
}

static inline void put_fixed64(struct message *m, unsigned field, uint64_t value)
{
    writer_varint(&m->w, (uint64_t)field << 3 | 1u);
    for (unsigned i = 0; i < 8u; i++) {
        writer_u8(&m->w, (uint8_t)(value >> (8u * i)));
    }
}

static inline void put_bytes(struct message *m, unsigned field, const void *data, size_t len)
{
    writer_varint(&m->w, ((uint64_t)field << 3) | 2);
    writer_varint(&m->w, len);
    writer_bytes(&m->w, data, len);
}

static inline void put_text(struct message *m, unsigned field, const char *text)
{
    put_bytes(m, field, text, strlen(text));
}

static inline void put_message(struct message *m, unsigned field, const struct message *inner)
{
    put_bytes(m, field, inner->bytes, inner->w.len);
}

#endif
