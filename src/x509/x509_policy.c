/* SPDX-License-Identifier: Apache-2.0 */
#include "x509/x509_policy.h"

#include "x509/der.h"
#include "x509/x509_internal.h"

static bool consume_policy(struct view *in, struct view *oid)
{
    struct view content = {0};
    return in->len > 0u && der_expect(in, DER_SEQUENCE, &content) && der_long_oid(&content, oid);
}

static bool lists_policy(const struct x509_cert *cert, struct view policy, bool any_counts)
{
    struct view in = cert->policies;
    struct view oid = {0};
    while (consume_policy(&in, &oid)) {
        if (view_equal(oid, policy) || (any_counts && DER_IS(oid, X509_OID_ANY_POLICY))) {
            return true;
        }
    }
    return false;
}

static bool all_list(const struct x509_cert *const chain[], size_t count, struct view policy,
                     bool any_counts)
{
    bool all = true;
    for (size_t i = 0; all && i < count; i++) {
        all = lists_policy(chain[i], policy, any_counts);
    }
    return all;
}

/*
 * Whether all certificates of the chain have a policy in common. anyPolicy matches every policy,
 * unless a certificate of the chain inhibits it. Returns false if a certificate of the chain has
 * policy mappings.
 */
static bool has_common(const struct x509_cert *const chain[], size_t count)
{
    bool any_counts = true;
    for (size_t i = 0; i < count; i++) {
        if (chain[i]->maps_policies) {
            return false;
        }
        any_counts = any_counts && !chain[i]->inhibits_any_policy;
    }
    for (size_t i = 0; i < count; i++) {
        struct view in = chain[i]->policies;
        struct view oid = {0};
        while (consume_policy(&in, &oid)) {
            bool counts = any_counts || !DER_IS(oid, X509_OID_ANY_POLICY);
            if (counts && all_list(chain, count, oid, any_counts)) {
                return true;
            }
        }
    }
    return false;
}

/*
 * Whether the chain must have a valid policy. Computes the variable explicit_policy of RFC 5280
 * §6.1.4 (h) and (i), §6.1.5 (a) and (b).
 */
static bool is_required(const struct x509_cert *const chain[], size_t count)
{
    uint64_t explicit_policy = count + 1u;
    for (size_t i = count; i > 1u; i--) {
        const struct x509_cert *cert = chain[i - 1u];
        bool own = view_equal(cert->issuer, cert->subject);
        if (!own && explicit_policy > 0u) {
            explicit_policy--;
        }
        if (cert->requires_policy && cert->explicit_policy < explicit_policy) {
            explicit_policy = cert->explicit_policy;
        }
    }
    bool own_zero = chain[0]->requires_policy && chain[0]->explicit_policy == 0u;
    return explicit_policy <= 1u || own_zero;
}

/*
 * Whether an authority maps anyPolicy, which makes a chain invalid even if no policy is required.
 */
static bool maps_any(const struct x509_cert *const chain[], size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (chain[i]->maps_any_policy) {
            return true;
        }
    }
    return false;
}

bool x509_policies_allow(const struct x509_cert *const chain[], size_t count)
{
    return !maps_any(chain, count) && (!is_required(chain, count) || has_common(chain, count));
}
