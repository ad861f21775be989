/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The extensions of a certificate, of any length: each parser, the search for those that stand
 * there twice, and their texts. The elements come from stubs of der.c; names and constraints have
 * their own proofs.
 */
#include "x509_views.h"

#include "x509/x509_extensions.c"

bool stub_names_valid(struct view value, bool *some)
{
    stub_check_view(value);
    *some = *some || any_bool();
    return any_bool();
}

bool stub_constraints_valid(struct view subtrees, bool *whole)
{
    stub_check_view(subtrees);
    *whole = *whole && any_bool();
    return any_bool();
}

static struct extension any_extension(void)
{
    struct view der = any_view(ANY_LENGTH);
    return (struct extension){any_part(der), any_part(der), any_bool()};
}

void proof_x509_extension(void)
{
    struct view der = any_view(ANY_LENGTH);
    struct view in = der;
    struct extension e;
    if (parse_extension(&in, &e)) {
        CHECK(in.len < der.len && view_within(in, der));
        CHECK(view_within(e.oid, der) && view_within(e.value, der) && e.oid.len > 0u);
    }
}

void proof_x509_key_usage(void)
{
    struct extension e = {.value = any_view(ANY_LENGTH)};
    struct x509_cert cert = {0};
    enum found found = read_key_usage(&e, &cert);
    CHECK((found == FOUND || found == FAULT) && cert.key_usage < 1u << 9);
}

/* An extension whose value is any bytes; `der` is where its views lie. */
static struct extension any_value(void)
{
    return (struct extension){.value = any_view(ANY_LENGTH), .critical = any_bool()};
}

void proof_x509_basic(void)
{
    struct extension e = any_value();
    struct x509_cert cert = {0};
    enum found found = read_basic_constraints(&e, &cert);
    CHECK(found == FOUND || found == FAULT);
    CHECK(found == FAULT || cert.has_basic_constraints);
    CHECK(found == FAULT || cert.has_path_len || cert.path_len == 0u);
}

void proof_x509_subject_names(void)
{
    struct extension e = any_value();
    struct x509_cert cert = {0};
    (void)read_names(&e, &cert);
    CHECK(cert.has_names && view_within(cert.names, e.value));
}

void proof_x509_constraint_lists(void)
{
    struct extension e = any_value();
    struct x509_cert cert = {0};
    enum found found = read_constraints(&e, &cert);
    CHECK(cert.has_constraints);
    CHECK(found == FAULT || cert.permitted.len + cert.excluded.len > 0u);
    CHECK(found == FAULT ||
          (view_within(cert.permitted, e.value) && view_within(cert.excluded, e.value)));
}

void proof_x509_key_ids(void)
{
    struct extension e = any_value();
    struct x509_cert cert = {0};
    bool own = any_bool();
    enum found found = own ? read_subject_key_id(&e, &cert) : read_authority_key_id(&e, &cert);
    CHECK(found == FAULT || !e.critical);
    CHECK(view_within(own ? cert.subject_key_id : cert.authority_key_id, e.value));
}

void proof_x509_usages(void)
{
    struct extension e = any_value();
    struct x509_cert cert = {0};
    enum found found = read_usages(&e, &cert);
    CHECK((found == FOUND || found == FAULT) && cert.usages <= 7u);
}

void proof_x509_policy_seen(void)
{
    struct view list = any_view(ANY_LENGTH);
    size_t count = any_size();
    ASSUME(count <= X509_LIST_MAX);
    CHECK(!policy_seen(list, count, any_view(ANY_LENGTH)) || count > 0u);
}

/* Proofs x509_policy_seen and x509_seen. */
bool stub_seen(struct view in, size_t count, struct view oid)
{
    stub_check_view(in);
    stub_check_view(oid);
    CHECK(count <= X509_LIST_MAX);
    return count > 0u && any_bool();
}

void proof_x509_policies(void)
{
    struct extension e = any_value();
    struct x509_cert cert = {0};
    enum found found = read_policies(&e, &cert);
    CHECK(found == FOUND || found == FAULT);
    CHECK(view_within(cert.policies, e.value));
}

void proof_x509_mappings(void)
{
    struct extension e = any_value();
    struct x509_cert cert = {0};
    enum found found = read_policy_mappings(&e, &cert);
    CHECK(found == FOUND || found == FAULT);
    CHECK(!cert.maps_any_policy || cert.maps_policies);
}

void proof_x509_policy_numbers(void)
{
    struct extension e = any_value();
    struct x509_cert cert = {0};
    if (any_bool()) {
        CHECK(read_inhibit_any_policy(&e, &cert) != PASSED && cert.inhibits_any_policy);
    } else {
        CHECK(read_policy_constraints(&e, &cert) != PASSED);
        CHECK(cert.requires_policy || cert.explicit_policy == 0u);
    }
}

void proof_x509_points(void)
{
    struct extension e = any_value();
    struct x509_cert cert;
    CHECK(read_distribution_points(&e, &cert) != PASSED);
}

void proof_x509_access(void)
{
    struct extension e = any_value();
    struct x509_cert cert;
    enum found found = read_authority_access(&e, &cert);
    CHECK(found == FAULT || (found == FOUND && !e.critical));
}

/* Proof x509_extension. */
bool stub_parse_extension(struct view *in, struct extension *e)
{
    struct der outer = {0};
    *e = (struct extension){0};
    if (!stub_der_any(in, &outer)) {
        return false;
    }
    e->oid = any_part(outer.content);
    e->value = any_part(outer.content);
    e->critical = any_bool();
    return e->oid.len > 0u;
}

void proof_x509_seen(void)
{
    struct view list = any_view(ANY_LENGTH);
    size_t count = any_size();
    ASSUME(count <= X509_LIST_MAX);
    CHECK(!extension_seen(list, count, any_view(ANY_LENGTH)) || count > 0u);
}

/* Proof x509_one: it changes the certificate, and names the part where it refuses. */
bool stub_read_one(const struct extension *e, struct x509_cert *cert)
{
    stub_check_view(e->oid);
    stub_check_view(e->value);
    bool good = any_bool();
    cert->fault = good ? cert->fault : "a part";
    cert->unhandled = (good && cert->unhandled.len == 0u && any_bool()) ? e->oid : cert->unhandled;
    return good;
}

void proof_x509_all_extensions(void)
{
    struct x509_cert cert = {0};
    struct view in = any_view(ANY_LENGTH);
    bool good = x509_extensions(in, &cert);
    CHECK(good == (cert.fault == NULL));
}

/* Each parser has its own proof; here what read_one does with its result matters. */
static enum found stub_parser(const struct extension *e, struct x509_cert *cert)
{
    (void)cert;
    stub_check_view(e->value);
    return any_bool() ? FOUND : any_bool() ? PASSED : FAULT;
}

static const struct kind *kind_found;

/* Proof x509_oid_text enters kind_of. */
const struct kind *stub_kind_of(struct view oid)
{
    stub_check_view(oid);
    return kind_found;
}

void proof_x509_one(void)
{
    static const struct kind any_kind = {"", 0, "a part", stub_parser};
    struct extension e = any_extension();
    struct x509_cert cert = {0};
    bool good;
    if (any_bool()) {
        kind_found = &any_kind;
        good = read_one(&e, &cert);
    } else {
        kind_found = NULL;
        good = read_one(&e, &cert);
        CHECK(good);
    }
    CHECK(good == (cert.fault == NULL));
    CHECK(cert.unhandled.len == 0u || (e.critical && cert.unhandled.data == e.oid.data));
}

void proof_x509_arcs(void)
{
    struct writer w = any_writer(ANY_LENGTH);
    show_arcs(&w, any_view(SHOWN_BYTES_MAX));
    CHECK(writer_sound(&w));
}

/* Proof x509_arcs. */
void stub_show_arcs(struct writer *w, struct view oid)
{
    stub_check_view(oid);
    CHECK(oid.len <= SHOWN_BYTES_MAX);
    stub_writer_shown(w, oid, oid.len);
}

void proof_x509_oid_text(void)
{
    struct writer w = any_writer(ANY_LENGTH);
    x509_show_oid(&w, any_view(ANY_LENGTH));
    CHECK(writer_sound(&w));
}
