/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of a name server and our questions. Checks of src/wire/dns.h: I1 to I5; I5 with the
 * parser of the C library, which reads all sections: what it reads, we read the same.
 *
 * The first byte is the type of record (odd: AAAA), then comes a name with its length in one byte,
 * two bytes of identifier and the message. An empty message stands for an echo of our question.
 *
 * Input: a record type, a host name, an identifier, and a name server's response
 * Links: -lresolv
 */
#include "tests/fuzz/fuzz.h"
#include "wire/dns.h"

#ifndef FUZZ_ALONE
#include <arpa/nameser.h>
#include <resolv.h>
#endif

#define QUERY_BYTES 300u
#define HEADER_BYTES 12u

/* A question of ours with its answer's flag set, without records. */
static struct view echo_of(uint8_t *room, uint16_t id, enum dns_type type, struct view name)
{
    struct writer out = writer_of(room, QUERY_BYTES);
    enum status s = dns_query(&out, id, type, name);
    CHECK(s == STATUS_OK || s == PEER_MALFORMED);
    CHECK(s == STATUS_OK ? out.len > HEADER_BYTES + 5u : out.len == 0u);
    if (s == STATUS_OK) {
        CHECK((room[2] & 0x80u) == 0u);
        room[2] |= 0x80u;
    }
    return writer_view(&out);
}

/* Our own question, sent back without an answer, is the answer to it; in a small room it fails. */
static void check_query(uint16_t id, enum dns_type type, struct view name, size_t less)
{
    uint8_t room[QUERY_BYTES];
    struct view echo = echo_of(room, id, type, name);
    struct ip_addresses none = {.count = 0};
    if (echo.len == 0u) {
        CHECK(dns_answer(view_of(room, HEADER_BYTES), id, type, name, &none) == STATUS_MORE);
        return;
    }
    CHECK(dns_answer(echo, id, type, name, &none) == PEER_NOT_FOUND && none.count == 0u);
    uint16_t other = (uint16_t)(id + 1u);
    CHECK(dns_answer(echo, other, type, name, &none) == STATUS_MORE);
    uint8_t small[QUERY_BYTES];
    struct writer out = writer_of(small, echo.len - 1u - less % echo.len);
    CHECK(dns_query(&out, id, type, name) == FULL_BUFFER && out.len == 0u && !out.full);
}

#ifndef FUZZ_ALONE

/* Their addresses of the type; false when they cannot read all of the message. */
static bool their_answer(struct view message, enum dns_type type, struct ip_addresses *out)
{
    ns_msg handle;
    if (ns_initparse(message.data, (int)message.len, &handle) != 0) {
        return false;
    }
    for (int i = 0; i < ns_msg_count(handle, ns_s_an); i++) {
        ns_rr rr;
        if (ns_parserr(&handle, ns_s_an, i, &rr) != 0) {
            return false;
        }
        size_t want = (type == DNS_AAAA) ? 16u : 4u;
        bool ours = (unsigned)ns_rr_type(rr) == (unsigned)type && ns_rr_class(rr) == ns_c_in;
        if (ours && ns_rr_rdlen(rr) == want && out->count < API_ADDRESSES_MAX) {
            out->address[out->count].v6 = type == DNS_AAAA;
            memcpy(out->address[out->count].bytes, ns_rr_rdata(rr), want);
            out->count++;
        }
    }
    return true;
}

/* Whether the server cut the message: addresses that are missing may be in another answer. */
static bool truncated(struct view message)
{
    return (message.data[2] & 0x02u) != 0u;
}

/* Only what is an answer of theirs without an error is compared. */
static void compare(struct view message, enum dns_type type, enum status s,
                    const struct ip_addresses *got)
{
    struct ip_addresses want = {.count = 0};
    bool error = message.len < HEADER_BYTES || (message.data[3] & 0x0fu) != 0u;
    if (s == STATUS_MORE || error || !their_answer(message, type, &want)) {
        return;
    }
    enum status none = truncated(message) ? PEER_MALFORMED : PEER_NOT_FOUND;
    CHECK(s == (want.count > 0u ? STATUS_OK : none) && got->count == want.count);
    for (unsigned i = 0; i < want.count; i++) {
        size_t len = want.address[i].v6 ? 16u : 4u;
        CHECK(memcmp(want.address[i].bytes, got->address[i].bytes, len) == 0);
    }
}

#endif

static void check_answer(struct view message, uint16_t id, enum dns_type type, struct view name)
{
    struct ip_addresses got;
    memset(&got, 0, sizeof got);
    enum status s = dns_answer(message, id, type, name, &got);
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == PEER_NOT_FOUND || s == PEER_REFUSED ||
          s == PEER_MALFORMED);
    CHECK(s == STATUS_OK ? got.count > 0u && got.count <= API_ADDRESSES_MAX : got.count == 0u);
    for (unsigned i = 0; i < got.count; i++) {
        CHECK(got.address[i].v6 == (type == DNS_AAAA));
    }
#ifndef FUZZ_ALONE
    compare(message, type, s, &got);
#endif
    /* appended to what is there: a full list stays as it is */
    struct ip_addresses full = got;
    full.count = API_ADDRESSES_MAX;
    enum status again = dns_answer(message, id, type, name, &full);
    CHECK(full.count == API_ADDRESSES_MAX);
    CHECK(s == STATUS_OK ? again == PEER_NOT_FOUND || again == PEER_MALFORMED : again == s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz f = fuzz_of(data, size);
    enum dns_type type = (fuzz_u8(&f) & 1u) != 0u ? DNS_AAAA : DNS_A;
    struct view name = fuzz_text(&f);
    uint16_t id = fuzz_u16(&f);
    struct view message = fuzz_rest(&f);
    uint8_t *copy = fuzz_copy(message.data, message.len);
    check_query(id, type, name, message.len);
    check_answer(view_of(copy, message.len), id, type, name);
    free(copy);
    return 0;
}
