/* SPDX-License-Identifier: Apache-2.0 */
/* Subject alternative names: whether they match the server. See x509_names.h. */
#include "x509/x509_names.h"

#include <string.h>

#include "base/chars.h"
#include "base/ip.h"
#include "cfg/limits.h"
#include "x509/der.h"
#include "x509/x509_names_internal.h"

/* --- whether names are well-formed --- */

bool x509_domain_valid(struct view name, bool constraint)
{
    bool empty = true; /* no character of the current label has been seen yet */
    if (name.len == 0u) {
        return true;
    }
    if (name.data[name.len - 1u] == '.') {
        return false;
    }
    for (size_t i = (constraint && name.data[0] == '.') ? 1u : 0u; i < name.len; i++) {
        uint8_t c = name.data[i];
        if (!is_visible(c) || (c == '.' && empty)) {
            return false;
        }
        empty = c == '.';
    }
    return true;
}

/*
 * Whether all characters are printable ASCII and each '%' precedes two hexadecimal digits (RFC 3986
 * §2.1).
 */
static bool uri_chars_valid(struct view uri)
{
    for (size_t i = 0; i < uri.len; i++) {
        bool escape = uri.data[i] == '%' && uri.len - i > 2u && is_hex_digit(uri.data[i + 1u]) &&
                      is_hex_digit(uri.data[i + 2u]);
        bool plain = is_printable(uri.data[i]) && uri.data[i] != '%';
        if (!escape && !plain) {
            return false;
        }
    }
    return true;
}

/* Length of the scheme of a URI, with its colon (RFC 3986 §3.1). 0: the text has no scheme. */
static size_t scheme_len(struct view uri)
{
    for (size_t i = 0; i < uri.len; i++) {
        uint8_t c = uri.data[i];
        if (c == ':') {
            return (i > 0u) ? i + 1u : 0u;
        }
        if (!is_letter(c) && (i == 0u || (!is_digit(c) && c != '+' && c != '-' && c != '.'))) {
            return 0;
        }
    }
    return 0;
}

/*
 * Whether the authority is empty, or a host of letters, digits, dots, hyphens and underscores with
 * an optional port.
 */
static bool authority_valid(struct view authority)
{
    struct view host = view_first(authority, view_find(authority, ':'));
    struct view port = view_from(authority, host.len + 1u);
    for (size_t i = 0; i < host.len; i++) {
        uint8_t c = host.data[i];
        if (!is_alphanumeric(c) && c != '.' && c != '-' && c != '_') {
            return false;
        }
    }
    for (size_t i = 0; i < port.len; i++) {
        if (!is_digit(port.data[i])) {
            return false;
        }
    }
    return x509_domain_valid(host, false) && (host.len > 0u || authority.len == 0u);
}

/*
 * Stricter than Go's URL parser: refuses a URI with a user name, an IPv6 literal, or escapes in its
 * host.
 */
bool x509_uri_authority(struct view uri, struct view *authority)
{
    size_t scheme = scheme_len(uri);
    struct view rest = view_from(uri, scheme);
    size_t slash = view_find(rest, '/');
    *authority = view_of(NULL, 0);
    if (!uri_chars_valid(uri)) {
        return false;
    }
    if (!view_starts(rest, "//")) {
        return scheme > 0u || view_find(rest, ':') >= slash;
    }
    rest = view_from(rest, 2);
    size_t end = 0;
    while (end < rest.len && !view_has(view_text("/?#"), rest.data[end])) {
        end++;
    }
    *authority = view_first(rest, end);
    return authority_valid(*authority);
}

static bool name_valid(const struct der *name)
{
    struct view authority = {0};
    switch (name->tag) {
    case X509_NAME_EMAIL:
    case X509_NAME_DNS:
        return der_is_ascii(name->content);
    case X509_NAME_URI:
        return der_is_ascii(name->content) && x509_uri_authority(name->content, &authority);
    case X509_NAME_IP:
        return name->content.len == IPV4_BYTES || name->content.len == IPV6_BYTES;
    default:
        return true;
    }
}

static bool is_evaluated(unsigned tag)
{
    return tag == X509_NAME_EMAIL || tag == X509_NAME_DNS || tag == X509_NAME_URI ||
           tag == X509_NAME_IP;
}

bool x509_names_valid(struct view value, bool *some)
{
    struct view list = {0};
    struct der name = {0};
    if (!der_expect(&value, DER_SEQUENCE, &list)) {
        return false;
    }
    while (list.len > 0u) {
        if (!der_any(&list, &name) || !name_valid(&name)) {
            return false;
        }
        *some = *some || is_evaluated(name.tag);
    }
    return true;
}

/* --- matching and showing the server's name --- */

struct view x509_names_of(const struct x509_cert *cert)
{
    struct view value = cert->names;
    struct view list = {0};
    bool read = der_expect(&value, DER_SEQUENCE, &list);
    return read ? list : view_of(NULL, 0);
}

bool x509_same_domain(struct view a, struct view b)
{
    bool same = a.len == b.len;
    for (size_t i = 0; same && i < a.len; i++) {
        same = to_lower(a.data[i]) == to_lower(b.data[i]);
    }
    return same;
}

/*
 * Whether `host` has only letters, digits, underscores, and hyphens that do not start a label; a
 * pattern may start with "*.".
 */
static bool is_hostname(struct view host, bool pattern)
{
    bool empty = true; /* no character of the current label has been seen yet */
    bool wild = pattern && view_starts(host, "*.");
    for (size_t i = wild ? 2u : 0u; i < host.len; i++) {
        uint8_t c = host.data[i];
        bool inner = c == '-' || c == '.';
        if (inner ? empty : (c != '_' && !is_alphanumeric(c))) {
            return false;
        }
        empty = c == '.';
    }
    return !empty;
}

/* RFC 9525 §6.3: the wildcard matches exactly one whole label, the first. */
static bool pattern_matches(struct view pattern, struct view host)
{
    if (!view_starts(pattern, "*.")) {
        return x509_same_domain(pattern, host);
    }
    return x509_same_domain(view_from(pattern, 1), view_from(host, view_find(host, '.')));
}

static bool lists_name(const struct x509_cert *cert, struct view host)
{
    struct view list = x509_names_of(cert);
    struct der name = {0};
    struct view bare = view_without_dot(host);
    bool plain = is_hostname(bare, false);
    while (list.len > 0u && der_any(&list, &name)) {
        if (name.tag != X509_NAME_DNS) {
            continue;
        }
        bool found = (plain && is_hostname(name.content, true))
                         ? pattern_matches(name.content, bare)
                         : (name.content.len > 0u && !view_is(name.content, ".") &&
                            x509_same_domain(name.content, host));
        if (found) {
            return true;
        }
    }
    return false;
}

struct view x509_unmapped(struct view address)
{
    static const uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    bool mapped = address.len == IPV6_BYTES && memcmp(address.data, prefix, sizeof prefix) == 0;
    return mapped ? view_from(address, sizeof prefix) : address;
}

static bool lists_address(const struct x509_cert *cert, struct view address)
{
    struct view list = x509_names_of(cert);
    struct der name = {0};
    while (list.len > 0u && der_any(&list, &name)) {
        if (name.tag == X509_NAME_IP &&
            view_equal(x509_unmapped(name.content), x509_unmapped(address))) {
            return true;
        }
    }
    return false;
}

size_t x509_address_of(struct view host, uint8_t address[16])
{
    struct ip_address ip;
    bool brackets = host.len >= 3u && host.data[0] == '[' && host.data[host.len - 1u] == ']';
    struct view inner = brackets ? view_first(view_from(host, 1), host.len - 2u) : host;
    if (!ip_parse(inner, &ip)) {
        return 0;
    }
    memcpy(address, ip.bytes, ip_len(&ip));
    return ip_len(&ip);
}

/*
 * Writes an IPv4 address in decimal, and an IPv6 address with all its digits (RFC 4291 §2.2, first
 * form). Avoids inet_ntop(3), which would link all of printf(3), 20 KB.
 */
static void show_address(struct writer *w, struct view address)
{
    bool v4 = address.len == IPV4_BYTES;
    for (size_t i = 0; i < address.len; i++) {
        if (v4) {
            writer_text(w, (i > 0u) ? "." : "");
            writer_decimal(w, address.data[i]);
        } else {
            writer_text(w, (i > 0u && i % 2u == 0u) ? ":" : "");
            writer_hex(w, address.data[i], 2);
        }
    }
}

void x509_show_general_name(struct writer *w, struct view name)
{
    struct der e = {0};
    if (!der_any(&name, &e)) {
        return;
    }
    if (e.tag == X509_NAME_IP && (e.content.len == IPV4_BYTES || e.content.len == IPV6_BYTES)) {
        show_address(w, e.content);
    } else {
        writer_shown(w, e.content, SHOWN_BYTES_MAX);
    }
}

bool x509_lists_host(const struct x509_cert *cert, struct view host)
{
    uint8_t address[IPV6_BYTES];
    size_t len = x509_address_of(host, address);
    return (len > 0u) ? lists_address(cert, view_of(address, len)) : lists_name(cert, host);
}
