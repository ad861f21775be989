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
