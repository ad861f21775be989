/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Responses of a DNS server, of any length, and the queries. Each proof below calls stubs of what
 * an earlier one shows: the cursor of a reader only moves forward and stays inside the message.
 */
#include "stubs.h"

#include "wire/dns.c"

void proof_dns_name(void)
{
    struct reader r = any_reader(ANY_LENGTH);
    size_t before = r.pos;
    enum status s = name_skip(&r);
    CHECK(s == STATUS_OK || s == PEER_MALFORMED);
    CHECK(r.pos <= r.len && r.pos >= before);
}

static void stub_move(struct reader *r)
{
    stub_check_reader(r);
    r->pos += any_length(r->len - r->pos);
}

enum status stub_name_skip(struct reader *r)
{
    stub_move(r);
    return any_bool() ? STATUS_OK : PEER_MALFORMED;
}

enum status stub_record_read(struct reader *r, enum dns_type type, struct ip_addresses *out)
{
    (void)type;
    CHECK(out->count <= API_ADDRESSES_MAX);
    stub_move(r);
    if (any_bool()) {
        return PEER_MALFORMED;
    }
    out->count += (any_bool() && out->count < API_ADDRESSES_MAX) ? 1u : 0u;
    return STATUS_OK;
}

enum status stub_question_match(struct reader *r, enum dns_type type, struct view name)
{
    (void)type;
    stub_check_view(name);
    stub_move(r);
    return any_bool() ? STATUS_OK : STATUS_MORE;
}

static enum dns_type any_type(void)
{
    return any_bool() ? DNS_A : DNS_AAAA;
}

void proof_dns_record(void)
{
    struct reader r = any_reader(ANY_LENGTH);
    struct ip_addresses out;
    struct dns_header h;
    ASSUME(out.count <= API_ADDRESSES_MAX);
    unsigned before = out.count;
    if (any_bool()) {
        enum status s = record_read(&r, any_type(), &out);
        CHECK(s == STATUS_OK || s == PEER_MALFORMED);
        CHECK(out.count <= API_ADDRESSES_MAX && out.count >= before && out.count - before <= 1u);
    } else {
        enum status s = header_read(&r, &h);
        CHECK(s == STATUS_OK || s == STATUS_MORE);
    }
    CHECK(r.pos <= r.len);
}

void proof_dns_question(void)
{
    struct reader r = any_reader(ANY_LENGTH);
    enum status s = question_match(&r, any_type(), any_view(ANY_LENGTH));
    CHECK(s == STATUS_OK || s == STATUS_MORE);
    CHECK(r.pos <= r.len);
}

void proof_dns_answer(void)
{
    struct ip_addresses out;
    ASSUME(out.count <= API_ADDRESSES_MAX);
    enum status s =
        dns_answer(any_view(ANY_LENGTH), any_u16(), any_type(), any_view(ANY_LENGTH), &out);
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == PEER_NOT_FOUND || s == PEER_REFUSED ||
          s == PEER_MALFORMED);
    CHECK(out.count <= API_ADDRESSES_MAX);
}

void proof_dns_query(void)
{
    struct writer out = any_writer(ANY_LENGTH);
    struct writer before = out;
    enum status s = dns_query(&out, any_u16(), any_type(), any_view(ANY_LENGTH));
    CHECK(s == STATUS_OK || s == PEER_MALFORMED || s == FULL_BUFFER);
    CHECK(out.len <= out.cap);
    CHECK(s == STATUS_OK || out.len == before.len);
}
