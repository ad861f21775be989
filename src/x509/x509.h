/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One X.509 certificate (RFC 5280) as views into its DER. Refuses what Go's crypto/x509 refuses,
 * because the other components of Kubernetes verify certificates with it. Pure: no memory of its
 * own, no clock, no cryptography.
 */
#ifndef X509_X509_H
#define X509_X509_H

#include "base/bytes.h"

/* Kinds of public keys. */
enum x509_key { X509_KEY_OTHER, X509_KEY_RSA, X509_KEY_EC, X509_KEY_ED25519 };

/* Signature schemes of certificates. */
enum x509_scheme {
    X509_SCHEME_OTHER, /* a scheme that is not listed here */
    X509_SCHEME_WEAK,  /* a scheme that uses MD5 or SHA-1 */
    X509_SCHEME_RSA,   /* PKCS #1 v1.5 */
    /* RSASSA-PSS whose salt is as long as the hash, with MGF1 of the same hash */
    X509_SCHEME_PSS,
    X509_SCHEME_ECDSA
};

/* Bits for extended key usages: anyExtendedKeyUsage, serverAuth, others (RFC 5280 §4.2.1.12). */
enum { X509_USAGE_ANY = 1, X509_USAGE_SERVER = 2, X509_USAGE_OTHER = 4 };

/* One parsed certificate; all views point into its DER. */
struct x509_cert {
    const char *fault; /* what is invalid in the certificate, for a message; NULL: nothing */
    struct view raw;
    struct view tbs; /* tbsCertificate, the part that is signed */
    struct view issuer;
    struct view subject;
    struct view spki; /* subjectPublicKeyInfo */
    struct view signature;
    struct view subject_key_id;
    struct view authority_key_id;
    struct view names;     /* value of the extension subjectAltName; empty: absent */
    struct view permitted; /* name constraints: content of permittedSubtrees */
    struct view excluded;
    struct view policies;  /* content of certificatePolicies */
    struct view unhandled; /* OID of the first critical extension that is not evaluated */
    int64_t not_before;    /* start of the validity period, in seconds since 1970 */
    int64_t not_after;
    uint64_t path_len; /* pathLenConstraint; valid only if has_path_len */
    uint64_t exponent; /* public exponent of an RSA key */
    uint64_t explicit_policy;
    unsigned version; /* X.509 version: 1 to 3 */
    enum x509_key key;
    enum x509_scheme scheme;
    unsigned hash_bits; /* length of the scheme's hash: 256, 384 or 512 */
    unsigned usages;    /* bits X509_USAGE_… of the extended key usages; 0: not restricted */
    unsigned key_usage; /* bits of KeyUsage, bit 0 is digitalSignature; 0: not restricted */
    bool has_names;
    bool has_constraints;
    bool has_basic_constraints;
    bool is_ca;
    bool has_path_len;
    bool requires_policy; /* policyConstraints has requireExplicitPolicy */
    bool maps_policies;
    bool maps_any_policy;
    bool inhibits_any_policy;
};

/* keyCertSign (RFC 5280 §4.2.1.3), as a bit of x509_cert.key_usage. */
#define X509_KEY_USAGE_SIGN_CERTS (1u << 5)

/* Parses one certificate, which must fill `der`. PEER_MALFORMED: out->fault has the reason. */
MUST_USE enum status x509_read(struct view der, struct x509_cert *out);
/*
 * Parses only the subject of a certificate, at a tenth of the cost of x509_read. false: `der` is
 * not a certificate.
 */
MUST_USE bool x509_subject(struct view der, struct view *subject);
/*
 * Appends, in quotes, the last common name of a Name, or its last attribute if it has no common
 * name.
 */
void x509_show_name(struct writer *w, struct view name);
/* Appends an OBJECT IDENTIFIER: its name if it is a known extension, else its arcs. */
void x509_show_oid(struct writer *w, struct view oid);

#endif
