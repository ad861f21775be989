/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a server's certificate is trusted: the chain from it to one of the given authorities,
 * found and judged as Go's crypto/x509 does it (Certificate.Verify with DNSName and the usage
 * serverAuth), because every other component of Kubernetes decides with that. Pure: signatures are
 * checked by a function that is handed in. No recursion; work is bounded by limits.
 *
 * Invariants:
 * C1 What Go refuses is refused.
 * C2 A certificate of the authorities is an anchor by being there: its own signature and issuer do
 *    not matter, its validity, path length and constraints do.
 * C3 At most X509_CANDIDATES_MAX possible issuers are tried, and so many signatures checked: at
 *    most one in each call of x509_step.
 */
#ifndef X509_X509_CHAIN_H
#define X509_X509_CHAIN_H

#include "cfg/limits.h"
#include "x509/x509.h"

/* Why a certificate is not trusted. */
enum x509_reason {
    X509_TRUSTED,
    X509_UNREADABLE,
    X509_CRITICAL, /* a critical extension that is not evaluated */
    X509_FUTURE,
    X509_EXPIRED,
    X509_HOST, /* does not list the server */
    X509_NO_ISSUER,
    X509_NO_AUTHORITY, /* its issuer may not sign certificates */
    X509_PATH_LEN,
    X509_BAD_SIGNATURE,
    X509_WEAK_SIGNATURE,
    X509_OTHER_SIGNATURE,
    X509_WEAK_KEY,
    X509_ED25519_KEY, /* which mbedTLS does not know */
    X509_OTHER_KEY,
    X509_USAGE,
    X509_CONSTRAINTS,
    X509_POLICY,
    X509_SENT,        /* no issuer among the first X509_SENT_MAX certificates, and more were sent */
    X509_CANDIDATES,  /* more than X509_CANDIDATES_MAX possible issuers */
    X509_COMPARISONS, /* more than X509_COMPARISONS_MAX of names with constraints */
    X509_MEMORY       /* the signature could not be checked */
};

/* Whether `issuer` signed `child`: X509_TRUSTED, or why not. */
typedef enum x509_reason x509_check(void *context, const struct x509_cert *child,
                                    const struct x509_cert *issuer);

struct x509_trust {
    struct view anchors; /* authorities: DER, one behind the other */
    struct view host;    /* DNS name or IP address of the server */
    int64_t now_ms;      /* since 1970 */
    x509_check *check;
    void *context;
};

/* Certificates of the server, its own first. Each one must have been read. */
struct x509_sent {
    struct x509_cert cert[X509_SENT_MAX];
    size_t count; /* at least 1 */
};

/* Where the search stands in one certificate's possible issuers. */
struct x509_frame {
    size_t at;    /* offset in the anchors, or index of what was sent */
    uint8_t cert; /* index of what was sent */
    uint8_t pass; /* over the anchors, then over what was sent, once for each likeness */
};

struct x509_verdict {
    enum x509_reason reason;
    bool about_issuer; /* the reason is about `subject`, an issuer, not about the server's own */
    enum x509_reason hint; /* X509_NO_ISSUER: why the best candidate was refused, or X509_TRUSTED */
    struct view subject;   /* of the certificate that `hint` or `reason` is about, or empty */
    struct view detail;    /* a GeneralName, an OID or a text, or empty */
};

/* The search; its content means nothing to others. About 2 KB. */
struct x509_search {
    const struct x509_trust *trust;
    const struct x509_sent *sent;
    struct x509_frame frame[X509_SENT_MAX];
    struct x509_cert anchor; /* end of the chain that is judged */
    size_t depth;
    unsigned candidates; /* tried so far */
    unsigned checks;     /* signatures that were checked */
    bool over;           /* `verdict` is final */
    struct x509_verdict verdict;
    struct x509_verdict chain;  /* why the first whole chain was refused */
    struct x509_verdict broken; /* why the first candidate was refused */
};

/* Begins to judge sent->cert[0]; `trust` and `sent` are borrowed until the search is over. */
void x509_begin(struct x509_search *s, const struct x509_trust *trust,
                const struct x509_sent *sent);
/*
 * Goes on until one signature is checked: that takes milliseconds. True: the search is over, with
 * the verdict *v, whose views lie in the certificates.
 */
MUST_USE bool x509_step(struct x509_search *s, struct x509_verdict *v);
/* One line: what is wrong with the server's certificate, for a sentence that ends in ": ". */
void x509_explain(struct writer *w, const struct x509_verdict *v, struct view host);

#endif
