/* SPDX-License-Identifier: Apache-2.0 */
/* The API server's rules for names, keys and versions, on texts of any length. */
#include "stubs.h"

#include "dra/issue.c"

/* Proof issue_names. */
bool stub_is_label(struct view v)
{
    stub_check_view(v);
    return v.len > 0u && v.len <= LABEL_MAX && any_bool();
}

/* Proof issue_word. */
bool stub_is_version_word(struct view v, unsigned where)
{
    stub_check_view(v);
    CHECK(where <= BUILD);
    return v.len > 0u && any_bool();
}

bool stub_is_subdomain(struct view v)
{
    stub_check_view(v);
    return v.len > 0u && v.len <= SUBDOMAIN_MAX && any_bool();
}

bool stub_is_identifier(struct view v)
{
    stub_check_view(v);
    return v.len > 0u && v.len <= IDENTIFIER_MAX && any_bool();
}

void proof_issue_names(void)
{
    struct view v = any_view(ANY_LENGTH);
    bool label = is_label(v);
    CHECK(!label || (v.len > 0u && v.len <= LABEL_MAX && v.data[0] != '-'));
    bool identifier = is_identifier(v);
    CHECK(!identifier || (v.len > 0u && v.len <= IDENTIFIER_MAX && !is_digit(v.data[0])));
}

void proof_issue_subdomain(void)
{
    struct view v = any_view(ANY_LENGTH);
    CHECK(!is_subdomain(v) || (v.len > 0u && v.len <= SUBDOMAIN_MAX));
}

void proof_issue_key(void)
{
    struct view v = any_view(ANY_LENGTH);
    CHECK(!is_key(v) || (v.len > 0u && v.len <= SUBDOMAIN_MAX + 1u + IDENTIFIER_MAX));
}

void proof_issue_word(void)
{
    struct view v = any_view(ANY_LENGTH);
    unsigned where = any_unsigned();
    ASSUME(where <= BUILD); /* is_version has no other part */
    CHECK(!is_version_word(v, where) || v.len > 0u);
}

void proof_issue_version(void)
{
    struct view v = any_view(ANY_LENGTH);
    CHECK(!is_version(v) || v.len >= 5u); /* three numbers and two points */
}
