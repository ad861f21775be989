/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Name constraints of any length: the form of subtrees, comparison with names, and the budget of
 * comparisons. The elements come from stubs of der.c, the names from stubs of x509_names.c.
 */
#include "x509_views.h"

#include "x509/x509_constraints.c"

bool stub_domain_valid(struct view name, bool constraint)
{
    (void)constraint;
    stub_check_view(name);
    return name.len == 0u || any_bool();
}

bool stub_same_domain(struct view a, struct view b)
{
    stub_check_view(a);
    stub_check_view(b);
    return a.len == b.len && (a.len == 0u || any_bool());
}

bool stub_uri_authority(struct view uri, struct view *authority)
{
    stub_check_view(uri);
    *authority = any_part(uri);
    return any_bool();
}

struct view stub_unmapped(struct view address)
{
    stub_check_view(address);
    return address.len == 16u && any_bool() ? (struct view){address.data + 12, 4u} : address;
}

size_t stub_address_of(struct view host, uint8_t address[16])
{
    stub_check_view(host);
    CHECK(__CPROVER_w_ok(address, 16u));
    return any_bool() ? 0u : any_bool() ? 4u : 16u;
}

struct view stub_names_of(const struct x509_cert *cert)
{
    return any_part(cert->names);
}

bool stub_mailbox_split(struct view mailbox, struct view *local, struct view *domain)
{
    stub_check_view(mailbox);
    *local = any_part(mailbox);
    *domain = any_part(mailbox);
    return domain->len > 0u && any_bool();
}

bool stub_consume_subtree(struct view *in, struct der *base)
{
    struct view content = {0};
    return stub_der_expect(in, DER_SEQUENCE, &content) && stub_der_any(&content, base);
}

bool stub_constraint_hits(const struct subject *s, struct view constraint, bool excludes)
{
    (void)excludes;
    stub_check_view(s->domain);
    stub_check_view(s->local);
    stub_check_view(s->address);
    stub_check_view(constraint);
    return any_bool();
}

/* A name of a certificate as subject_of splits it; an address has 4 or 16 octets (name_valid). */
static struct subject any_subject(void)
{
    struct view der = any_view(ANY_LENGTH);
    struct subject s = {any_u8(), der, any_part(der), any_part(der), any_part(der)};
    return s;
}

void proof_x509_range(void)
{
    struct view range = any_view(ANY_LENGTH);
    bool good = range_valid(range);
    CHECK(!good || range.len == 8u || range.len == 32u);
    if (good) {
        (void)is_odd(range);
    }
}

void proof_x509_mailbox(void)
{
    struct view mailbox = any_view(ANY_LENGTH);
    struct view local;
    struct view domain;
    bool good = mailbox_split(mailbox, &local, &domain);
    CHECK(view_within(local, mailbox) && view_within(domain, mailbox));
    CHECK(!good || (domain.len > 0u && local.len > 0u));
}

void proof_x509_subtree(void)
{
    struct view der = any_view(ANY_LENGTH);
    struct der base = {any_u8(), der, any_part(der)};
    bool whole = true;
    bool good = subtree_valid(&base, &whole);
    CHECK(!good || base.tag != X509_NAME_IP || base.content.len == 8u || base.content.len == 32u);
    struct view in = der;
    CHECK(!consume_subtree(&in, &base) || (in.len < der.len && view_within(base.content, der)));
}

void proof_x509_search(void)
{
    struct subject s = any_subject();
    uint32_t budget = any_u32();
    uint32_t before = budget;
    struct search found = search_subtrees(&s, any_view(ANY_LENGTH), any_bool(), &budget);
    CHECK(budget <= before && (!found.hit || found.some));
}

bool stub_permits_name(const struct x509_cert *ca, const struct der *name, uint32_t *budget)
{
    (void)ca;
    stub_check_view(name->content);
    stub_check_view(name->whole);
    uint32_t left = any_u32();
    ASSUME(left <= *budget);
    *budget = left;
    return any_bool();
}

void proof_x509_permits(void)
{
    struct view der = any_view(ANY_LENGTH);
    /* of its members the function reads the names alone, and of the other certificate none */
    static struct x509_cert ca;
    static struct x509_cert cert;
    cert.names = der;
    uint32_t budget = any_u32();
    uint32_t before = budget;
    struct view name = {0};
    bool good = x509_permits(&ca, &cert, &budget, &name);
    CHECK(budget <= before && (good || view_within(name, der)));
}

struct search stub_search_subtrees(const struct subject *s, struct view subtrees, bool excludes,
                                   uint32_t *budget)
{
    (void)excludes;
    stub_check_view(s->domain);
    stub_check_view(s->local);
    stub_check_view(s->address);
    stub_check_view(subtrees);
    uint32_t left = any_u32();
    ASSUME(left <= *budget);
    *budget = left;
    struct search found = {.some = any_bool()};
    found.hit = found.some && any_bool();
    return found;
}

/* A name without constraints of its kind is permitted, as long as the budget lasts. */
void proof_x509_name_permitted(void)
{
    struct view der = any_view(ANY_LENGTH);
    static struct x509_cert ca; /* of its members the stub of the search takes two */
    ca.permitted = any_view(ANY_LENGTH);
    ca.excluded = any_view(ANY_LENGTH);
    struct der name = {any_u8(), der, der};
    uint32_t budget = any_u32();
    uint32_t before = budget;
    bool good = permits_name(&ca, &name, &budget);
    CHECK(budget <= before && (!good || budget > 0u));
}

void proof_x509_hits(void)
{
    struct subject s = any_subject();
    (void)constraint_hits(&s, any_view(ANY_LENGTH), any_bool());
}
