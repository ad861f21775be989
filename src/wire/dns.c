/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the queries and parses the responses of a stub resolver (RFC 1035 §4.1). Every loop ends,
 * because each iteration consumes bytes of the message; compression pointers are skipped, never
 * followed.
 */
#include "wire/dns.h"

#include <string.h>

#include "base/assert.h"
#include "base/chars.h"

#define DNS_CLASS_IN 1u
#define DNS_FLAG_RECURSION_DESIRED 0x0100u
#define DNS_FLAG_RESPONSE 0x8000u
#define DNS_FLAG_TRUNCATED 0x0200u
#define DNS_RCODE_MASK 0x000fu
#define DNS_RCODE_NAME_ERROR 3u
#define DNS_POINTER 0xc0u
#define DNS_LABEL_MAX 63u
#define DNS_NAME_MAX 253u

/*
 * Writes a host name as DNS labels, each preceded by its length octet. PEER_MALFORMED: `name` is
 * not a host name.
 */
static enum status name_write(struct writer *out, struct view name)
{
    struct view rest = name;
    if (rest.len == 0u || rest.len > DNS_NAME_MAX) {
        return PEER_MALFORMED;
    }
    while (rest.len > 0u) {
        size_t len = view_find(rest, '.');
        if (len == 0u || len > DNS_LABEL_MAX || len + 1u == rest.len) {
            return PEER_MALFORMED;
        }
        writer_u8(out, (uint8_t)len);
        writer_append(out, view_first(rest, len));
        rest = view_from(rest, len + 1u);
    }
    writer_u8(out, 0);
    return STATUS_OK;
}

static enum status question_write(struct writer *out, enum dns_type type, struct view name)
{
    enum status s = name_write(out, name);
    writer_u16(out, (uint16_t)type);
    writer_u16(out, DNS_CLASS_IN);
    return s;
}

enum status dns_query(struct writer *out, uint16_t id, enum dns_type type, struct view name)
{
    struct writer w = *out;
    ASSERT(type == DNS_A || type == DNS_AAAA);
    writer_u16(&w, id);
    writer_u16(&w, DNS_FLAG_RECURSION_DESIRED);
    writer_u16(&w, 1); /* number of questions in the message */
    writer_u16(&w, 0);
    writer_u16(&w, 0);
    writer_u16(&w, 0);
    enum status s = question_write(&w, type, name);
    if (s != STATUS_OK) {
        return s;
    }
    if (w.full) {
        return FULL_BUFFER;
    }
    *out = w;
    return STATUS_OK;
}

/* --- parsing responses --- */

/*
 * Compares the question in the message with the question that we asked, ignoring the case of
 * letters (RFC 1035 §2.3.3). STATUS_MORE: the questions differ.
 */
static enum status question_match(struct reader *r, enum dns_type type, struct view name)
{
    uint8_t wanted[DNS_NAME_MAX + 8u];
    struct writer w = writer_of(wanted, sizeof wanted);
    struct view got = {0};
    enum status s = question_write(&w, type, name);
    ASSERT(!w.full);
    if (s != STATUS_OK || reader_consume(r, w.len, &got) != STATUS_OK) {
        return STATUS_MORE;
    }
    for (size_t i = 0; i < got.len; i++) {
        if (to_lower(got.data[i]) != to_lower(wanted[i])) {
            return STATUS_MORE;
        }
    }
    return STATUS_OK;
}

static enum status name_skip(struct reader *r)
{
    uint8_t len = 1;
    struct view label = {0};
    while (len != 0u) {
        if (reader_u8(r, &len) != STATUS_OK) {
            return PEER_MALFORMED;
        }
        bool pointer = (len & DNS_POINTER) == DNS_POINTER;
        if (!pointer && len > DNS_LABEL_MAX) {
            return PEER_MALFORMED;
        }
        if (reader_consume(r, pointer ? 1u : len, &label) != STATUS_OK) {
            return PEER_MALFORMED;
        }
        len = pointer ? 0u : len;
    }
    return STATUS_OK;
}

static void address_append(struct ip_addresses *out, enum dns_type type, struct view data)
{
    size_t size = (type == DNS_AAAA) ? 16u : 4u;
    if (data.len != size || out->count >= API_ADDRESSES_MAX) {
        return;
    }
    struct ip_address *a = &out->address[out->count];
    out->count++;
    a->v6 = type == DNS_AAAA;
    memcpy(a->bytes, data.data, size);
}

static enum status record_read(struct reader *r, enum dns_type type, struct ip_addresses *out)
{
    uint16_t record_type = 0;
    uint16_t class = 0;
    uint32_t ttl = 0;
    uint16_t size = 0;
    struct view data = {0};
    bool whole = name_skip(r) == STATUS_OK && reader_u16(r, &record_type) == STATUS_OK &&
                 reader_u16(r, &class) == STATUS_OK && reader_u32(r, &ttl) == STATUS_OK &&
                 reader_u16(r, &size) == STATUS_OK && reader_consume(r, size, &data) == STATUS_OK;
    if (!whole) {
        return PEER_MALFORMED;
    }
    if (record_type == (uint16_t)type && class == DNS_CLASS_IN) {
        address_append(out, type, data);
    }
    return STATUS_OK;
}

struct dns_header {
    uint16_t id;
    uint16_t flags;
    uint16_t questions;
    uint16_t answers;
    uint16_t authorities;
    uint16_t additional;
};

static enum status header_read(struct reader *r, struct dns_header *h)
{
    bool whole =
        reader_u16(r, &h->id) == STATUS_OK && reader_u16(r, &h->flags) == STATUS_OK &&
        reader_u16(r, &h->questions) == STATUS_OK && reader_u16(r, &h->answers) == STATUS_OK &&
        reader_u16(r, &h->authorities) == STATUS_OK && reader_u16(r, &h->additional) == STATUS_OK;
    return whole ? STATUS_OK : STATUS_MORE;
}

/*
 * Reads the answer records and appends their addresses to *out. STATUS_OK: at least one address was
 * appended, even if a later part of the message is missing or malformed.
 */
static enum status records_read(struct reader *r, const struct dns_header *h, enum dns_type type,
                                struct ip_addresses *out)
{
    unsigned before = out->count;
    enum status s = STATUS_OK;
    for (unsigned i = 0; i < h->answers && s == STATUS_OK; i++) {
        s = record_read(r, type, out);
    }
    if (out->count > before) {
        return STATUS_OK;
    }
    bool cut = s != STATUS_OK || (h->flags & DNS_FLAG_TRUNCATED) != 0u;
    return cut ? PEER_MALFORMED : PEER_NOT_FOUND;
}

enum status dns_answer(struct view message, uint16_t id, enum dns_type type, struct view name,
                       struct ip_addresses *out)
{
    struct reader r = reader_of(message);
    struct dns_header h = {0};
    ASSERT(out->count <= API_ADDRESSES_MAX);
    if (header_read(&r, &h) != STATUS_OK || h.id != id || (h.flags & DNS_FLAG_RESPONSE) == 0u ||
        h.questions != 1u || question_match(&r, type, name) != STATUS_OK) {
        return STATUS_MORE;
    }
    unsigned rcode = h.flags & DNS_RCODE_MASK;
    if (rcode != 0u) {
        return (rcode == DNS_RCODE_NAME_ERROR) ? PEER_NOT_FOUND : PEER_REFUSED;
    }
    return records_read(&r, &h, type, out);
}
