/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server sends as its certificates, under a bundle of authorities. Checks of
 * src/x509/x509_chain.h: C3; what is trusted lists the host, is valid now, has DNS names that the
 * anchor's name constraints permit, and is an anchor or has a signature that was checked; every
 * verdict has a text. Of src/x509/pem.h: the DER is a list of
 * elements, and it fits. Of src/x509/x509.h: all views lie in the certificate,
 * and elements are as long as they say.
 *
 * The first four bytes are the time, then comes a host with its length in one byte, the number of
 * certificates in one byte, each of them with its length in two bytes; the rest is the bundle, as
 * PEM if it begins with '-' or '#', else as DER.
 *
 * Input: a time, a host, certificates as a server sends them, and a bundle of authorities
 */
#include <strings.h>

#include "cfg/limits.h"
#include "x509/der.h"
#include "x509/pem.h"
#include "x509/x509_chain.h"
#include "x509/x509_names.h"
#include "tests/fuzz/fuzz.h"

#define BUNDLE_BYTES 65536u

static bool lies_in(struct view part, struct view whole)
{
    return part.len == 0u || (part.data >= whole.data && part.len <= whole.len &&
                              (size_t)(part.data - whole.data) <= whole.len - part.len);
}

/* Whether tag and length octets announce exactly the element. */
static bool is_whole(struct view e)
{
    struct reader r = reader_of(view_from(e, 1));
    uint8_t octet = 0;
    size_t len = 0;
    CHECK(reader_u8(&r, &octet) == STATUS_OK);
    len = octet;
    if (octet >= 0x80u) {
        len = 0;
        for (unsigned left = octet & 0x7fu; left > 0u; left--) {
            CHECK(reader_u8(&r, &octet) == STATUS_OK);
            len = (len << 8) | octet;
        }
    }
    return len == reader_left(&r);
}

static void check_cert(const struct x509_cert *c, struct view der)
{
    struct view again = {0};
    CHECK(c->fault == NULL && view_equal(c->raw, der));
    const struct view parts[] = {
        c->tbs,
        c->issuer,
        c->subject,
        c->spki,
        c->signature,
        c->subject_key_id,
        c->authority_key_id,
        c->permitted,
        c->excluded,
        c->policies,
        c->names,
        c->unhandled,
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        CHECK(lies_in(parts[i], der));
    }
    CHECK(is_whole(c->raw) && is_whole(c->tbs) && is_whole(c->issuer) && is_whole(c->spki));
    CHECK(x509_subject(der, &again) && view_equal(again, c->subject));
}

/* Signatures that end in an odd octet are wrong. */
static enum x509_reason check_signature(void *context, const struct x509_cert *child,
                                        const struct x509_cert *issuer)
{
    unsigned *calls = context;
    (*calls)++;
    CHECK(view_equal(child->issuer, issuer->subject));
    bool odd = child->signature.len > 0u && (child->signature.data[child->signature.len - 1u] & 1u);
    return odd ? X509_BAD_SIGNATURE : X509_TRUSTED;
}

/* The bundle as DER, at most as long as it was. */
static struct view anchors_of(uint8_t room[BUNDLE_BYTES], struct view bundle)
{
    struct view in = view_first(bundle, BUNDLE_BYTES);
    if (in.len > 0u) {
        memcpy(room, in.data, in.len);
    }
    if (in.len == 0u || (in.data[0] != '-' && in.data[0] != '#')) {
        return view_of(room, in.len);
    }
    struct view list = view_of(room, pem_certificates(room, in.len));
    CHECK(list.len <= in.len / 4u * 3u);
    struct view left = list;
    struct der e = {0};
    while (left.len > 0u) {
        CHECK(der_any(&left, &e));
    }
    return list;
}

static bool take_sent(struct reader *r, struct x509_sent *sent)
{
    uint8_t count = 0;
    if (reader_u8(r, &count) != STATUS_OK) {
        return false;
    }
    for (unsigned i = 0; i < count && sent->count < X509_SENT_MAX; i++) {
        uint16_t len = 0;
        struct view der = {0};
        struct x509_cert *cert = &sent->cert[sent->count];
        if (reader_u16(r, &len) != STATUS_OK || reader_consume(r, len, &der) != STATUS_OK) {
            return false;
        }
        if (x509_read(der, cert) == STATUS_OK) {
            check_cert(cert, der);
            sent->count++;
        } else {
            CHECK(cert->fault != NULL);
        }
    }
    return sent->count > 0u;
}

static bool is_anchor(struct view anchors, const struct x509_cert *own)
{
    struct der e = {0};
    while (anchors.len > 0u && der_any(&anchors, &e)) {
        if (view_equal(e.whole, own->raw)) {
            return true;
        }
    }
    return false;
}

#define DNS_NAME DER_CONTEXT(2u)

static bool same_letters(struct view a, struct view b)
{
    return a.len == b.len &&
           (a.len == 0u || strncasecmp((const char *)a.data, (const char *)b.data, a.len) == 0);
}

static bool next_dns_name(struct view *names, struct view *name)
{
    struct der e = {0};
    while (names->len > 0u && der_any(names, &e)) {
        if (e.tag == DNS_NAME) {
            *name = e.content;
            return true;
        }
    }
    return false;
}

static struct view names_of(const struct x509_cert *own)
{
    struct view value = own->names;
    struct view names = {0};
    return der_expect(&value, DER_SEQUENCE, &names) ? names : view_of(NULL, 0);
}

/* The host is there letter by letter, perhaps without its last dot, or "*" for its first label. */
static void check_host(const struct x509_cert *own, struct view host)
{
    uint8_t address[16];
    struct view names = names_of(own);
    struct view name = {0};
    struct view bare = view_without_dot(host);
    struct view rest = view_from(bare, view_find(bare, '.'));
    bool listed = x509_address_of(host, address) > 0u;
    while (!listed && next_dns_name(&names, &name)) {
        listed = same_letters(name, host) || same_letters(name, bare) ||
                 (view_starts(name, "*.") && same_letters(view_from(name, 1), rest));
    }
    CHECK(listed);
}

/* Whether one of the DNS constraints is the end of the name, or all of it. *some: there is one. */
static bool is_matched(struct view subtrees, struct view name, bool whole, bool *some)
{
    struct view subtree = {0};
    struct der base = {0};
    bool matched = false;
    while (subtrees.len > 0u && der_expect(&subtrees, DER_SEQUENCE, &subtree) &&
           der_any(&subtree, &base)) {
        size_t len = base.content.len;
        bool fits = whole ? len == name.len : len <= name.len;
        *some = *some || base.tag == DNS_NAME;
        matched = matched || (base.tag == DNS_NAME && fits &&
                              same_letters(view_from(name, name.len - len), base.content));
    }
    return matched;
}

static void check_constraints(const struct x509_cert *own, const struct x509_cert *anchor)
{
    struct view names = names_of(own);
    struct view name = {0};
    while (next_dns_name(&names, &name)) {
        bool some = false;
        CHECK(!is_matched(anchor->excluded, name, true, &some));
        some = false;
        CHECK(is_matched(anchor->permitted, name, false, &some) || !some);
    }
}

/* Each step that is not the last checks one signature. */
static struct x509_verdict search_whole(struct x509_search *search, const struct x509_trust *trust,
                                        const struct x509_sent *sent, const unsigned *calls)
{
    struct x509_verdict v = {.reason = X509_TRUSTED};
    x509_begin(search, trust, sent);
    for (unsigned before = 0; !x509_step(search, &v); before++) {
        CHECK(*calls == before + 1u);
    }
    return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t room[BUNDLE_BYTES];
    static struct x509_sent sent;
    static struct x509_search search;
    struct reader r = reader_of(view_of(data, size));
    uint32_t now = 0;
    uint8_t host_len = 0;
    unsigned calls = 0;
    char text[X509_TEXT_CAP];
    struct writer w = writer_of(text, sizeof text);
    struct x509_trust trust = {.check = check_signature, .context = &calls};
    sent.count = 0;
    if (reader_u32(&r, &now) != STATUS_OK || reader_u8(&r, &host_len) != STATUS_OK ||
        reader_consume(&r, host_len, &trust.host) != STATUS_OK || !take_sent(&r, &sent)) {
        return 0;
    }
    trust.now_ms = (int64_t)now * 1000;
    trust.anchors = anchors_of(room, view_of(&data[r.pos], reader_left(&r)));
    struct x509_verdict v = search_whole(&search, &trust, &sent, &calls);
    CHECK(calls <= X509_CANDIDATES_MAX);
    if (v.reason == X509_TRUSTED) {
        const struct x509_cert *own = &sent.cert[0];
        CHECK(x509_lists_host(own, trust.host));
        check_host(own, trust.host);
        check_constraints(own, &search.anchor);
        CHECK(own->not_before * 1000 <= trust.now_ms && trust.now_ms <= own->not_after * 1000);
        CHECK(own->unhandled.len == 0u && (calls > 0u || is_anchor(trust.anchors, own)));
    } else {
        x509_explain(&w, &v, trust.host);
        CHECK(w.len > 10u && !w.full);
    }
    return 0;
}
