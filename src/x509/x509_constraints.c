/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Name constraints (RFC 5280 §4.2.1.10) for DNS names, IP addresses, email addresses and URIs.
 * Constraints of other kinds, such as directory names, are not evaluated: they are ignored, but if
 * the extension is critical, the certificate is refused. See x509_names.h.
 */

#include "base/assert.h"
#include "base/chars.h"
#include "x509/der.h"
#include "x509/x509_names_internal.h"

/* --- whether name constraints are well-formed --- */

/* Whether the mask is a sequence of bits that are 1, followed only by bits that are 0. */
static bool mask_valid(struct view mask)
{
    bool ended = false;
    for (size_t i = 0; i < mask.len * 8u; i++) {
        uint32_t octet = mask.data[i / 8u];
        bool one = ((octet << (i % 8u)) & 0x80u) != 0u;
        if (one && ended) {
            return false;
        }
        ended = ended || !one;
    }
    return true;
}

/* Whether the range is an IP address and a mask, both of four or both of sixteen octets. */
static bool range_valid(struct view range)
{
    return (range.len == 8u || range.len == 32u) && mask_valid(view_from(range, range.len / 2u));
}

static bool is_mapped(struct view address)
{
    return x509_unmapped(address).len != address.len;
}

/*
 * Whether an IP range can make Go's search miss other ranges in the same list: the address of the
 * range has bits outside its mask, as in 10.0.0.5/255.0.0.0, or the range ends within the IPv4
 * addresses mapped into IPv6. A range without such bits that begins there ends there too.
 */
static bool is_odd(struct view range)
{
    size_t len = range.len / 2u;
    uint8_t last[16];
    bool loose = false;
    ASSERT(len <= sizeof last);
    for (size_t i = 0; i < len; i++) {
        uint32_t address = range.data[i];
        uint32_t rest = ~(uint32_t)range.data[len + i] & 0xffu;
        last[i] = (uint8_t)(address | rest);
        loose = loose || (address & rest) != 0u;
    }
    return loose || is_mapped(view_of(last, len));
}

/*
 * Splits a mailbox "local@domain" (RFC 5321 §4.1.2). Only atoms and dots may precede the "@"; a
 * quoted local part is not supported. false: the mailbox has another form.
 */
static bool mailbox_split(struct view mailbox, struct view *local, struct view *domain)
{
    size_t at = view_find(mailbox, '@');
    uint8_t before = (uint8_t)'.';
    *local = view_first(mailbox, at);
    *domain = view_from(mailbox, at + 1u);
    for (size_t i = 0; i < local->len; i++) {
        uint8_t c = local->data[i];
        if (!is_alphanumeric(c) && !view_has(view_text("!#$%&'*+-/=?^_`{|}~."), c)) {
            return false;
        }
        if (c == '.' && before == '.') {
            return false;
        }
        before = c;
    }
    return at < mailbox.len && before != '.' && domain->len > 0u &&
           x509_domain_valid(*domain, false);
}

static bool subtree_valid(const struct der *base, bool *whole)
{
    struct view local = {0};
    struct view domain = {0};
    uint8_t address[16];
    struct view text = base->content;
    switch (base->tag) {
    case X509_NAME_DNS:
        return der_is_ascii(text) && x509_domain_valid(text, true);
    case X509_NAME_IP:
        return range_valid(text);
    case X509_NAME_EMAIL:
        return der_is_ascii(text) &&
               ((view_find(text, '@') < text.len) ? mailbox_split(text, &local, &domain)
                                                  : x509_domain_valid(text, true));
    case X509_NAME_URI:
        return der_is_ascii(text) && x509_address_of(text, address) == 0u &&
               x509_domain_valid(text, true);
    default:
        *whole = false;
        return true;
    }
}

/*
 * Parses the name of the next GeneralSubtree. Ignores minimum and maximum, which no name form uses
 * (RFC 5280 §4.2.1.10).
 */
static bool consume_subtree(struct view *in, struct der *base)
{
    struct view content = {0};
    return der_expect(in, DER_SEQUENCE, &content) && der_any(&content, base);
}

/*
 * Refuses several IP ranges of one address family if one of them is odd (is_odd), because Go's
 * search could then miss some of these ranges.
 */
bool x509_constraints_valid(struct view subtrees, bool *whole)
{
    struct der base = {0};
    size_t ranges[2] = {0}; /* number of IPv4 ranges and number of IPv6 ranges */
    bool odd[2] = {0};
    while (subtrees.len > 0u) {
        if (!consume_subtree(&subtrees, &base) || !subtree_valid(&base, whole)) {
            return false;
        }
        if (base.tag == X509_NAME_IP) {
            size_t family = (base.content.len == 8u) ? 0u : 1u;
            ranges[family]++;
            odd[family] = odd[family] || is_odd(base.content);
        }
    }
    return (!odd[0] || ranges[0] == 1u) && (!odd[1] || ranges[1] == 1u);
}

/* --- comparison of names with constraints --- */

/*
 * A name of the certificate, split into the parts that are compared with constraints of its kind.
 */
struct subject {
    unsigned tag;
    struct view shown;
    struct view domain; /* domain of a DNS name, URI or email address */
    struct view local;  /* local part of an email address */
    struct view address;
};

/*
 * Whether `name` is the constraint or below it; a constraint that starts with a dot only matches
 * names below it.
 */
static bool is_under(struct view name, struct view constraint)
{
    if (constraint.len == 0u) {
        return true;
    }
    if (constraint.len > name.len) {
        return false;
    }
    size_t more = name.len - constraint.len;
    bool border = more == 0u || constraint.data[0] == '.' || name.data[more - 1u] == '.';
    return border && x509_same_domain(view_from(name, more), constraint);
}

/*
 * Whether a wildcard name covers the constraint, as *.a.b covers x.a.b. The certificate would then
 * be valid for an excluded name.
 */
static bool wildcard_hits(struct view name, struct view constraint)
{
    size_t dot = view_find(constraint, '.');
    return view_starts(name, "*") && dot < constraint.len &&
           x509_same_domain(view_from(name, view_find(name, '.')), view_from(constraint, dot));
}

/*
 * Whether the range matches the address. Two kinds of IPv6 addresses are distinguished: IPv4
 * addresses mapped into IPv6, and all others.
 * - As in Go, a range matches only addresses of its own kind.
 * - Stricter than Go: an excluded range of mapped addresses matches addresses of both kinds.
 */
static bool is_in_range(struct view address, struct view range, bool excludes)
{
    bool of_mapped = is_mapped(view_first(range, range.len / 2u));
    bool inside = range.len == 2u * address.len &&
                  (of_mapped == is_mapped(address) || (excludes && of_mapped));
    for (size_t i = 0; inside && i < address.len; i++) {
        inside = ((address.data[i] ^ range.data[i]) & range.data[address.len + i]) == 0u;
    }
    return inside;
}

static bool mail_hits(const struct subject *s, struct view constraint)
{
    struct view local = {0};
    struct view domain = {0};
    if (view_find(constraint, '@') == constraint.len) {
        return is_under(s->domain, constraint);
    }
    return mailbox_split(constraint, &local, &domain) && view_equal(local, s->local) &&
           x509_same_domain(domain, s->domain);
}

static bool constraint_hits(const struct subject *s, struct view constraint, bool excludes)
{
    switch (s->tag) {
    case X509_NAME_IP:
        return is_in_range(s->address, constraint, excludes);
    case X509_NAME_EMAIL:
        return mail_hits(s, constraint) || (excludes && wildcard_hits(s->domain, constraint));
    default:
        return is_under(s->domain, constraint) ||
               (excludes && wildcard_hits(s->domain, constraint));
    }
}

struct search {
    bool some; /* at least one subtree is of the same kind (DNS, IP, …) as the checked name */
    bool hit;
};

static struct search search_subtrees(const struct subject *s, struct view subtrees, bool excludes,
                                     uint32_t *budget)
{
    struct search found = {0};
    struct der base = {0};
    while (subtrees.len > 0u && !found.hit && *budget > 0u && consume_subtree(&subtrees, &base)) {
        *budget -= 1u;
        if (base.tag == s->tag) {
            found.some = true;
            found.hit = constraint_hits(s, base.content, excludes);
        }
    }
    return found;
}

static struct view without_port(struct view authority)
{
    return view_first(authority, view_find(authority, ':'));
}

/*
 * Splits a name of a certificate for comparison with constraints. false: the name has a form that
 * cannot be compared, such as a URI without a host name; the certificate is then refused, whatever
 * the constraints are.
 */
static bool subject_of(const struct der *name, struct subject *s)
{
    uint8_t address[16];
    *s = (struct subject){.tag = name->tag, .shown = name->content};
    switch (name->tag) {
    case X509_NAME_DNS:
        s->domain = name->content;
        return x509_domain_valid(s->domain, false);
    case X509_NAME_IP:
        s->address = name->content;
        return true;
    case X509_NAME_EMAIL:
        return mailbox_split(name->content, &s->local, &s->domain);
    default:
        if (!x509_uri_authority(name->content, &s->domain)) {
            return false;
        }
        s->domain = without_port(s->domain);
        return s->domain.len > 0u && x509_address_of(s->domain, address) == 0u;
    }
}

static bool permits_name(const struct x509_cert *ca, const struct der *name, uint32_t *budget)
{
    struct subject s = {0};
    if (!subject_of(name, &s)) {
        return false;
    }
    struct search permitted = search_subtrees(&s, ca->permitted, false, budget);
    struct search excluded = search_subtrees(&s, ca->excluded, true, budget);
    return (permitted.hit || !permitted.some) && !excluded.hit && *budget > 0u;
}

bool x509_permits(const struct x509_cert *ca, const struct x509_cert *cert, uint32_t *budget,
                  struct view *name)
{
    struct view list = x509_names_of(cert);
    struct der next = {0};
    while (list.len > 0u && der_any(&list, &next)) {
        bool evaluated = next.tag == X509_NAME_DNS || next.tag == X509_NAME_IP ||
                         next.tag == X509_NAME_EMAIL || next.tag == X509_NAME_URI;
        if (evaluated && !permits_name(ca, &next, budget)) {
            *name = next.whole;
            return false;
        }
    }
    return true;
}
