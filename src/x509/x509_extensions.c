/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the extensions of a certificate (RFC 5280 §4.2). See x509.h. */
#include <string.h>

#include "cfg/limits.h"
#include "x509/der.h"
#include "x509/x509_internal.h"
#include "x509/x509_names.h"

#define OID_CE "\x55\x1d" /* the OID id-ce, to which each extension adds one arc */
#define OID_AUTHORITY_ACCESS "\x2b\x06\x01\x05\x05\x07\x01\x01"
#define OID_SERVER_AUTH "\x2b\x06\x01\x05\x05\x07\x03\x01"
#define OID_ANY_USAGE "\x55\x1d\x25\x00"

struct extension {
    struct view oid;
    struct view value;
    bool critical;
};

/*
 * Result of parsing one extension. PASSED: the extension is not evaluated; if it is critical, it
 * becomes cert->unhandled.
 */
enum found { FOUND, PASSED, FAULT };

static bool parse_extension(struct view *in, struct extension *e)
{
    struct view content = {0};
    *e = (struct extension){0};
    return der_expect(in, DER_SEQUENCE, &content) && der_oid(&content, &e->oid) &&
           (!der_next_is(content, DER_BOOLEAN) || der_boolean(&content, &e->critical)) &&
           der_expect(&content, DER_OCTET_STRING, &e->value);
}

/* --- one parser for each extension --- */

static enum found read_key_usage(const struct extension *e, struct x509_cert *cert)
{
    struct view in = e->value;
    struct view bits = {0};
    unsigned unused = 0;
    if (!der_bits(&in, &bits, &unused)) {
        return FAULT;
    }
    for (unsigned i = 0; i < 9u && i / 8u < bits.len; i++) {
        unsigned octet = bits.data[i / 8u];
        cert->key_usage |= ((octet >> (7u - i % 8u)) & 1u) << i;
    }
    return FOUND;
}

static enum found read_basic_constraints(const struct extension *e, struct x509_cert *cert)
{
    struct view value = e->value;
    struct view in = {0};
    if (!der_expect(&value, DER_SEQUENCE, &in) ||
        (der_next_is(in, DER_BOOLEAN) && !der_boolean(&in, &cert->is_ca))) {
        return FAULT;
    }
    cert->has_basic_constraints = true;
    cert->has_path_len = der_next_is(in, DER_INTEGER);
    return (!cert->has_path_len || der_number(&in, DER_INTEGER, &cert->path_len)) ? FOUND : FAULT;
}

static enum found read_names(const struct extension *e, struct x509_cert *cert)
{
    bool some = false;
    cert->names = e->value;
    cert->has_names = true;
    if (!x509_names_valid(e->value, &some)) {
        return FAULT;
    }
    return some ? FOUND : PASSED;
}

static enum found read_constraints(const struct extension *e, struct x509_cert *cert)
{
    struct view value = e->value;
    struct view in = {0};
    bool permitted = false;
    bool excluded = false;
    bool whole = true;
    cert->has_constraints = true;
    if (!der_expect(&value, DER_SEQUENCE, &in) || value.len > 0u ||
        !der_optional(&in, DER_CONTEXT_OUTER(0u), &permitted, &cert->permitted) ||
        !der_optional(&in, DER_CONTEXT_OUTER(1u), &excluded, &cert->excluded) || in.len > 0u ||
        cert->permitted.len + cert->excluded.len == 0u) {
        return FAULT;
    }
    if (!x509_constraints_valid(cert->permitted, &whole) ||
        !x509_constraints_valid(cert->excluded, &whole)) {
        return FAULT;
    }
    return whole ? FOUND : PASSED;
}

/*
 * RFC 5280 §4.2.1.1, §4.2.1.2 and §4.2.2.1: key identifiers and authority information access must
 * not be critical.
 */
static enum found read_subject_key_id(const struct extension *e, struct x509_cert *cert)
{
    struct view in = e->value;
    return (!e->critical && der_expect(&in, DER_OCTET_STRING, &cert->subject_key_id)) ? FOUND
                                                                                      : FAULT;
}

static enum found read_authority_key_id(const struct extension *e, struct x509_cert *cert)
{
    struct view value = e->value;
    struct view in = {0};
    bool given = false;
    bool good = !e->critical && der_expect(&value, DER_SEQUENCE, &in) &&
                der_optional(&in, DER_CONTEXT(0u), &given, &cert->authority_key_id);
    return good ? FOUND : FAULT;
}

static enum found read_usages(const struct extension *e, struct x509_cert *cert)
{
    struct view value = e->value;
    struct view in = {0};
    struct view oid = {0};
    if (!der_expect(&value, DER_SEQUENCE, &in)) {
        return FAULT;
    }
    while (in.len > 0u) {
        if (!der_oid(&in, &oid)) {
            return FAULT;
        }
        cert->usages |= DER_IS(oid, OID_ANY_USAGE)     ? (unsigned)X509_USAGE_ANY
                        : DER_IS(oid, OID_SERVER_AUTH) ? (unsigned)X509_USAGE_SERVER
                                                       : (unsigned)X509_USAGE_OTHER;
    }
    return FOUND;
}

/* Whether one of the first `count` policies of the list has this OID. */
static bool policy_seen(struct view in, size_t count, struct view oid)
{
    struct view content = {0};
    struct view other = {0};
    for (size_t i = 0; i < count; i++) {
        if (!der_expect(&in, DER_SEQUENCE, &content) || !der_expect(&content, DER_OID, &other) ||
            view_equal(other, oid)) {
            return true;
        }
    }
    return false;
}

/*
 * RFC 5280 §4.2.1.4: no policy may occur twice. x509_policy.c evaluates the policies if a
 * certificate of the chain requires one.
 */
static enum found read_policies(const struct extension *e, struct x509_cert *cert)
{
    struct view value = e->value;
    struct view in = {0};
    struct view content = {0};
    struct view oid = {0};
    if (!der_expect(&value, DER_SEQUENCE, &in)) {
        return FAULT;
    }
    cert->policies = in;
    size_t count = 0;
    while (in.len > 0u) {
        if (count == X509_LIST_MAX || !der_expect(&in, DER_SEQUENCE, &content) ||
            !der_long_oid(&content, &oid) || policy_seen(cert->policies, count, oid)) {
            return FAULT;
        }
        count++;
    }
    return FOUND;
}

static enum found read_policy_mappings(const struct extension *e, struct x509_cert *cert)
{
    struct view value = e->value;
    struct view in = {0};
    struct view pair = {0};
    struct view from = {0};
    struct view to = {0};
    if (!der_expect(&value, DER_SEQUENCE, &in)) {
        return FAULT;
    }
    cert->maps_policies = in.len > 0u;
    while (in.len > 0u) {
        if (!der_expect(&in, DER_SEQUENCE, &pair) || !der_expect(&pair, DER_OID, &from) ||
            !der_expect(&pair, DER_OID, &to)) {
            return FAULT;
        }
        cert->maps_any_policy = cert->maps_any_policy || DER_IS(from, X509_OID_ANY_POLICY) ||
                                DER_IS(to, X509_OID_ANY_POLICY);
    }
    return FOUND;
}

static enum found read_policy_constraints(const struct extension *e, struct x509_cert *cert)
{
    struct view value = e->value;
    struct view in = {0};
    uint64_t mapping = 0;
    if (!der_expect(&value, DER_SEQUENCE, &in)) {
        return FAULT;
    }
    cert->requires_policy = der_next_is(in, DER_CONTEXT(0u));
    if (cert->requires_policy && !der_number(&in, DER_CONTEXT(0u), &cert->explicit_policy)) {
        return FAULT;
    }
    bool more = der_next_is(in, DER_CONTEXT(1u));
    return (!more || der_number(&in, DER_CONTEXT(1u), &mapping)) ? FOUND : FAULT;
}

static enum found read_inhibit_any_policy(const struct extension *e, struct x509_cert *cert)
{
    struct view in = e->value;
    uint64_t skip = 0;
    cert->inhibits_any_policy = true;
    return der_number(&in, DER_INTEGER, &skip) ? FOUND : FAULT;
}

/*
 * Checks the encoding of cRLDistributionPoints (RFC 5280 §4.2.1.13). Revocation lists are never
 * fetched, but a malformed extension invalidates the certificate.
 */
static enum found read_distribution_points(const struct extension *e, struct x509_cert *cert)
{
    struct view value = e->value;
    struct view in = {0};
    struct view point = {0};
    struct view name = {0};
    struct view full = {0};
    struct der uri = {0};
    bool given = false;
    (void)cert;
    if (!der_expect(&value, DER_SEQUENCE, &in)) {
        return FAULT;
    }
    while (in.len > 0u) {
        if (!der_expect(&in, DER_SEQUENCE, &point) ||
            !der_optional(&point, DER_CONTEXT_OUTER(0u), &given, &name) ||
            (given && !der_expect(&name, DER_CONTEXT_OUTER(0u), &full))) {
            return FAULT;
        }
        while (given && der_next_is(full, DER_CONTEXT(6u))) {
            if (!der_any(&full, &uri)) {
                return FAULT;
            }
        }
    }
    return FOUND;
}

/* Checks the encoding of authorityInfoAccess (RFC 5280 §4.2.2.1); its locations are not used. */
static enum found read_authority_access(const struct extension *e, struct x509_cert *cert)
{
    struct view value = e->value;
    struct view in = {0};
    struct view access = {0};
    struct view method = {0};
    struct der place = {0};
    (void)cert;
    if (e->critical || !der_expect(&value, DER_SEQUENCE, &in)) {
        return FAULT;
    }
    while (in.len > 0u) {
        if (!der_expect(&in, DER_SEQUENCE, &access) || !der_oid(&access, &method) ||
            (der_next_is(access, DER_CONTEXT(6u)) && !der_any(&access, &place))) {
            return FAULT;
        }
    }
    return FOUND;
}

/* --- parsing all extensions of a certificate --- */

struct kind {
    const char *oid;
    size_t len;
    const char *name; /* title of the extension, for messages */
    enum found (*read)(const struct extension *e, struct x509_cert *cert);
};

#define CE(arc) OID_CE arc, sizeof(OID_CE arc) - 1u

static const struct kind kinds[] = {
    {CE("\x0e"), "subject key identifier", read_subject_key_id},
    {CE("\x0f"), "key usage", read_key_usage},
    {CE("\x11"), "subject alternative names", read_names},
    {CE("\x13"), "basic constraints", read_basic_constraints},
    {CE("\x1e"), "name constraints", read_constraints},
    {CE("\x1f"), "CRL distribution points", read_distribution_points},
    {CE("\x20"), "certificate policies", read_policies},
    {CE("\x21"), "policy mappings", read_policy_mappings},
    {CE("\x23"), "authority key identifier", read_authority_key_id},
    {CE("\x24"), "policy constraints", read_policy_constraints},
    {CE("\x25"), "extended key usage", read_usages},
    {CE("\x36"), "inhibit anyPolicy", read_inhibit_any_policy},
    {OID_AUTHORITY_ACCESS, sizeof OID_AUTHORITY_ACCESS - 1u, "authority information access",
     read_authority_access},
};

static const struct kind *kind_of(struct view oid)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (der_is(oid, kinds[i].oid, kinds[i].len)) {
            return &kinds[i];
        }
    }
    return NULL;
}

/* Whether one of the first `count` extensions has this OID. */
static bool extension_seen(struct view in, size_t count, struct view oid)
{
    struct extension other = {0};
    for (size_t i = 0; i < count; i++) {
        if (!parse_extension(&in, &other) || view_equal(other.oid, oid)) {
            return true;
        }
    }
    return false;
}

static bool read_one(const struct extension *e, struct x509_cert *cert)
{
    const struct kind *kind = kind_of(e->oid);
    enum found found = (kind != NULL) ? kind->read(e, cert) : PASSED;
    if (found == FAULT) {
        cert->fault = kind->name;
        return false;
    }
    if (found == PASSED && e->critical && cert->unhandled.len == 0u) {
        cert->unhandled = e->oid;
    }
    return true;
}

bool x509_extensions(struct view in, struct x509_cert *cert)
{
    struct view list = {0};
    struct extension e = {0};
    cert->fault = "extensions";
    if (!der_expect(&in, DER_SEQUENCE, &list)) {
        return false;
    }
    struct view left = list;
    size_t count = 0;
    while (left.len > 0u) {
        if (count == X509_LIST_MAX || !parse_extension(&left, &e)) {
            return false;
        }
        if (extension_seen(list, count, e.oid)) {
            cert->fault = "extensions, one of which stands there twice";
            return false;
        }
        if (!read_one(&e, cert)) {
            return false;
        }
        count++;
    }
    cert->fault = NULL;
    return true;
}

/* --- writing OIDs into messages --- */

/* Appends an OID in dotted decimal. The first encoded number holds two arcs (X.690 §8.19.4). */
static void show_arcs(struct writer *w, struct view oid)
{
    uint64_t arc = 0;
    bool first = true;
    for (size_t i = 0; i < oid.len; i++) {
        arc = (arc << 7) | (oid.data[i] & 0x7fu);
        if ((oid.data[i] & 0x80u) != 0u) {
            continue;
        }
        if (first) {
            uint64_t top = (arc < 80u) ? arc / 40u : 2u;
            writer_decimal(w, top);
            arc -= top * 40u;
            first = false;
        }
        writer_text(w, ".");
        writer_decimal(w, arc);
        arc = 0;
    }
}

void x509_show_oid(struct writer *w, struct view oid)
{
    const struct kind *kind = kind_of(oid);
    if (kind != NULL) {
        writer_text(w, kind->name);
    } else {
        show_arcs(w, view_first(oid, SHOWN_BYTES_MAX));
    }
}
