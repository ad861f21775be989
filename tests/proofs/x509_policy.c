/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificate policies of a chain of the real length: each certificate of the chain is one of two
 * of any content. The elements come from stubs of der.c.
 */
#include "x509_views.h"

#include "cfg/limits.h"
#include "x509/x509_policy.c"

static struct x509_cert certs[2];
static const struct x509_cert *chain[X509_SENT_MAX];

/* A chain as judge_policies of x509_chain.c passes it: from 1 certificate to the real maximum. */
static size_t any_chain(void)
{
    for (unsigned i = 0; i < 2u; i++) {
        struct x509_cert cert;
        certs[i] = cert;
        certs[i].policies = any_view(ANY_LENGTH);
        certs[i].issuer = any_view(ANY_LENGTH);
        certs[i].subject = any_view(ANY_LENGTH);
        certs[i].maps_policies = any_bool();
        certs[i].maps_any_policy = any_bool();
        certs[i].inhibits_any_policy = any_bool();
        certs[i].requires_policy = any_bool();
    }
    for (unsigned i = 0; i < X509_SENT_MAX; i++) {
        chain[i] = any_bool() ? &certs[0] : &certs[1];
    }
    size_t count = any_size();
    ASSUME(count >= 1u && count <= X509_SENT_MAX);
    return count;
}

void proof_x509_policy(void)
{
    struct view in = any_view(ANY_LENGTH);
    struct view whole = in;
    struct view oid = view_of(NULL, 0);
    if (consume_policy(&in, &oid)) {
        CHECK(in.len < whole.len && view_within(in, whole));
        CHECK(oid.len > 0u && view_within(oid, whole));
    }
}

/* Proof x509_policy. */
bool stub_consume_policy(struct view *in, struct view *oid)
{
    struct der e = {0};
    if (!stub_der_any(in, &e)) {
        return false;
    }
    *oid = any_part(e.content);
    return oid->len > 0u;
}

void proof_x509_policy_listed(void)
{
    struct x509_cert cert;
    cert.policies = any_view(ANY_LENGTH);
    CHECK(!lists_policy(&cert, any_view(ANY_LENGTH), any_bool()) || cert.policies.len > 0u);
}

/* Proof x509_policy_listed. */
bool stub_lists_policy(const struct x509_cert *cert, struct view policy, bool any_counts)
{
    (void)any_counts;
    stub_check_view(cert->policies);
    stub_check_view(policy);
    return cert->policies.len > 0u && any_bool();
}

void proof_x509_policy_all(void)
{
    size_t count = any_chain();
    (void)all_list(chain, count, any_view(ANY_LENGTH), any_bool());
}

void proof_x509_policy_required(void)
{
    size_t count = any_chain();
    bool required = is_required(chain, count);
    CHECK(required || !(chain[0]->requires_policy && chain[0]->explicit_policy == 0u));
}

void proof_x509_policy_maps(void)
{
    size_t count = any_chain();
    CHECK(!maps_any(chain, count) || count > 1u);
}

bool stub_chain_test(const struct x509_cert *const certs_of[], size_t count)
{
    CHECK(count >= 1u && count <= X509_SENT_MAX);
    CHECK(__CPROVER_r_ok(certs_of, count * sizeof certs_of[0]));
    return any_bool();
}

void proof_x509_policy_chain(void)
{
    (void)x509_policies_allow(chain, any_chain());
}
