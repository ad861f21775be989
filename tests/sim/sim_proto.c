/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf field by field; see sim_proto.h. Source: the "Encoding" text of Protocol Buffers. */
#include "tests/sim/sim_proto.h"

#include "base/assert.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

static enum status content(struct reader *in, struct sim_field *f)
{
    size_t len = 0;
    if (f->wire == WIRE_VARINT) {
        return reader_varint(in, &f->value);
    }
    if (f->wire == WIRE_BYTES) {
        enum status s = reader_varint(in, &f->value);
        if (s != STATUS_OK || f->value > reader_left(in)) {
            return PEER_MALFORMED;
        }
        len = (size_t)f->value;
    } else if (f->wire == WIRE_FIXED64 || f->wire == WIRE_FIXED32) {
        len = f->wire == WIRE_FIXED64 ? 8 : 4;
    } else {
        return PEER_MALFORMED;
    }
    return reader_consume(in, len, &f->bytes);
}

enum status sim_field_next(struct reader *in, struct sim_field *f)
{
    uint64_t tag = 0;
    size_t from = in->pos;
    struct reader ahead = *in;
    if (reader_left(in) == 0) {
        return STATUS_MORE;
    }
    *f = (struct sim_field){0};
    if (reader_varint(&ahead, &tag) != STATUS_OK || (tag >> 3) == 0 || (tag >> 3) > 0x1fffffff) {
        return PEER_MALFORMED;
    }
    f->number = (unsigned)(tag >> 3);
    f->wire = (unsigned)(tag & 7);
    if (content(&ahead, f) != STATUS_OK) {
        return PEER_MALFORMED;
    }
    f->whole = view_of(in->data + from, ahead.pos - from);
    *in = ahead;
    return STATUS_OK;
}

bool sim_field_find(struct view message, unsigned number, struct sim_field *f)
{
    struct reader in = reader_of(message);
    struct sim_field next;
    bool found = false;
    while (sim_field_next(&in, &next) == STATUS_OK) {
        if (next.number == number) {
            *f = next;
            found = true;
        }
    }
    return found;
}

struct view sim_field_bytes(struct view message, unsigned number)
{
    struct sim_field f;
    return sim_field_find(message, number, &f) ? f.bytes : view_of(NULL, 0);
}

uint64_t sim_field_value(struct view message, unsigned number)
{
    struct sim_field f;
    return sim_field_find(message, number, &f) ? f.value : 0;
}

bool sim_message_valid(struct view message)
{
    struct reader in = reader_of(message);
    struct sim_field f;
    enum status s = STATUS_OK;
    while (s == STATUS_OK) {
        s = sim_field_next(&in, &f);
    }
    return s == STATUS_MORE;
}

static void put_tag(struct writer *w, unsigned number, unsigned wire)
{
    ASSERT(number > 0 && wire <= WIRE_FIXED32);
    writer_varint(w, ((uint64_t)number << 3) | wire);
}

void sim_put_value(struct writer *w, unsigned number, uint64_t value)
{
    put_tag(w, number, WIRE_VARINT);
    writer_varint(w, value);
}

void sim_put_head(struct writer *w, unsigned number, size_t len)
{
    put_tag(w, number, WIRE_BYTES);
    writer_varint(w, len);
}

void sim_put_bytes(struct writer *w, unsigned number, struct view bytes)
{
    sim_put_head(w, number, bytes.len);
    writer_append(w, bytes);
}

void sim_put_text(struct writer *w, unsigned number, const char *text)
{
    sim_put_bytes(w, number, view_text(text));
}

/* --- frames --- */

enum { UNKNOWN_TYPE = 1, UNKNOWN_RAW = 2, UNKNOWN_ENCODING = 3, UNKNOWN_CONTENT_TYPE = 4 };
enum { TYPE_VERSION = 1, TYPE_KIND = 2 };
enum { EVENT_TYPE = 1, EVENT_OBJECT = 2, EXTENSION_RAW = 1 };

void sim_put_envelope(struct writer *w, const char *api_version, const char *kind,
                      struct view object)
{
    uint8_t bytes[256];
    struct writer type = writer_of(bytes, sizeof bytes);
    sim_put_text(&type, TYPE_VERSION, api_version);
    sim_put_text(&type, TYPE_KIND, kind);
    ASSERT(!type.full);
    writer_bytes(w, "k8s\0", 4);
    sim_put_bytes(w, UNKNOWN_TYPE, writer_view(&type));
    sim_put_bytes(w, UNKNOWN_RAW, object);
    sim_put_text(w, UNKNOWN_ENCODING, "");
    sim_put_text(w, UNKNOWN_CONTENT_TYPE, "");
}

static size_t varint_len(size_t value)
{
    size_t n = 1;
    while (value >= 0x80) {
        value >>= 7;
        n++;
    }
    return n;
}

void sim_put_watch_event(struct writer *w, const char *type, struct view object)
{
    size_t before = w->len;
    size_t extension = 1 + varint_len(object.len) + object.len;
    size_t type_len = view_text(type).len;
    size_t event = 2 + type_len + 1 + varint_len(extension) + extension;
    writer_u32(w, (uint32_t)event);
    sim_put_text(w, EVENT_TYPE, type);
    sim_put_head(w, EVENT_OBJECT, extension);
    sim_put_bytes(w, EXTENSION_RAW, object);
    ASSERT(w->full || w->len == before + event + 4);
}
