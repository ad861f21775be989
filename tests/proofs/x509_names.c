/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of a certificate of any length: their form, the search for the server's name or address,
 * and their texts. The elements come from stubs of der.c.
 */
#define PROOF_CONTENT_IS_ANY
#include "x509_views.h"

#include "x509/x509_names.c"

bool stub_ip_parse(struct view text, struct ip_address *out)
{
    stub_check_view(text);
    out->v6 = any_bool();
    return any_bool();
}

size_t stub_ip_len(const struct ip_address *a)
{
    return a->v6 ? IPV6_BYTES : IPV4_BYTES;
}

bool stub_domain_valid(struct view name, bool constraint)
{
    (void)constraint;
    stub_check_view(name);
    return name.len == 0u || any_bool();
}

bool stub_view_test(struct view text)
{
    stub_check_view(text);
    return text.len == 0u || any_bool();
}

size_t stub_scheme_len(struct view uri)
{
    stub_check_view(uri);
    return any_length(uri.len);
}

bool stub_uri_authority(struct view uri, struct view *authority)
{
    stub_check_view(uri);
    *authority = any_part(uri);
    return any_bool();
}

bool stub_same_domain(struct view a, struct view b)
{
    stub_check_view(a);
    stub_check_view(b);
    return a.len == b.len && any_bool();
}

void proof_x509_name_forms(void)
{
    struct view name = any_view(ANY_LENGTH);
    if (any_bool()) {
        CHECK(uri_chars_valid(name) || name.len > 0u);
    } else {
        size_t len = scheme_len(name);
        CHECK(len != 1u && len <= name.len);
    }
}

void proof_x509_domain(void)
{
    struct view name = any_view(ANY_LENGTH);
    CHECK(x509_domain_valid(name, any_bool()) || name.len > 0u);
}

void proof_x509_hostname(void)
{
    struct view name = any_view(ANY_LENGTH);
    CHECK(!is_hostname(name, any_bool()) || name.len > 0u);
}

void proof_x509_authority_form(void)
{
    struct view name = any_view(ANY_LENGTH);
    CHECK(authority_valid(name) || name.len > 0u);
}

void proof_x509_authority(void)
{
    struct view uri = any_view(ANY_LENGTH);
    struct view authority;
    bool good = x509_uri_authority(uri, &authority);
    CHECK(view_within(authority, uri) || !good);
}

void proof_x509_name_list(void)
{
    struct view value = any_view(ANY_LENGTH);
    if (any_bool()) {
        bool some = false;
        CHECK(!x509_names_valid(value, &some) || value.len > 0u);
    } else {
        struct der name = {any_u8(), value, any_part(value)};
        bool good = name_valid(&name);
        CHECK(!good || name.tag != X509_NAME_IP || name.content.len == IPV4_BYTES ||
              name.content.len == IPV6_BYTES);
    }
}

void proof_x509_same(void)
{
    struct view a = any_view(ANY_LENGTH);
    struct view b = any_view(ANY_LENGTH);
    CHECK(!x509_same_domain(a, b) || a.len == b.len);
}

void proof_x509_pattern(void)
{
    struct view host = any_view(ANY_LENGTH);
    (void)pattern_matches(any_view(ANY_LENGTH), host);
    struct view bare = x509_unmapped(host);
    CHECK(bare.len == host.len || (host.len == IPV6_BYTES && bare.len == IPV4_BYTES));
    CHECK(view_within(bare, host));
}

/* A certificate of which the functions below read the names alone. */
static struct x509_cert named(void)
{
    struct x509_cert cert;
    cert.names = any_view(ANY_LENGTH);
    return cert;
}

void proof_x509_names_list(void)
{
    struct x509_cert cert = named();
    struct view list = x509_names_of(&cert);
    CHECK(view_within(list, cert.names) && (list.len == 0u || list.len < cert.names.len));
}

bool stub_is_hostname(struct view host, bool pattern)
{
    (void)pattern;
    stub_check_view(host);
    return host.len > 0u && any_bool();
}

/* Proof x509_pattern. */
struct view stub_unmapped(struct view address)
{
    stub_check_view(address);
    bool mapped = address.len == IPV6_BYTES && any_bool();
    return mapped ? view_from(address, 12) : address;
}

/* Proof x509_names_list. */
struct view stub_names_of(const struct x509_cert *cert)
{
    stub_check_view(cert->names);
    return any_part(cert->names);
}

void proof_x509_name_search(void)
{
    struct x509_cert cert = named();
    CHECK(!lists_name(&cert, any_view(ANY_LENGTH)) || cert.names.len > 0u);
}

void proof_x509_address_search(void)
{
    struct x509_cert cert = named();
    size_t len = any_bool() ? IPV4_BYTES : IPV6_BYTES;
    struct view address = {any_memory(len), len};
    ASSUME(address.data != NULL);
    CHECK(!lists_address(&cert, address) || cert.names.len > 0u);
}

void proof_x509_address(void)
{
    uint8_t address[IPV6_BYTES];
    size_t len = x509_address_of(any_view(ANY_LENGTH), address);
    CHECK(len == 0u || len == IPV4_BYTES || len == IPV6_BYTES);
}

void proof_x509_address_text(void)
{
    struct writer w = any_writer(ANY_LENGTH);
    size_t len = any_bool() ? IPV4_BYTES : IPV6_BYTES;
    struct view address = {any_memory(len), len};
    ASSUME(address.data != NULL);
    show_address(&w, address);
    CHECK(writer_sound(&w));
}

/* Proof x509_address_text. */
void stub_show_address(struct writer *w, struct view address)
{
    CHECK(address.len == IPV4_BYTES || address.len == IPV6_BYTES);
    stub_writer_shown(w, address, address.len);
}

void proof_x509_name_text(void)
{
    struct writer w = any_writer(ANY_LENGTH);
    x509_show_general_name(&w, any_view(ANY_LENGTH));
    CHECK(writer_sound(&w));
}

/* Proofs x509_name_search and x509_address_search. */
bool stub_search(const struct x509_cert *cert, struct view host)
{
    stub_check_view(cert->names);
    stub_check_view(host);
    return cert->names.len > 0u && any_bool();
}

void proof_x509_host(void)
{
    struct x509_cert cert = named();
    CHECK(!x509_lists_host(&cert, any_view(ANY_LENGTH)) || cert.names.len > 0u);
}
