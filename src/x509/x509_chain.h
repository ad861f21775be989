/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether a server's certificate is trusted: searches for a chain from it to one of the
 * given authorities and judges the chain as Go's crypto/x509 does (Certificate.Verify with DNSName
 * and the usage serverAuth), because the other components of Kubernetes use that package. Pure: the
 * caller passes the function that checks signatures. No recursion; limits bound the work.
 *
 * Invariants:
 * C1 A chain that Go refuses is refused.
 * C2 An authority's certificate is an anchor because it is in the list: its own signature and
 *    issuer are not checked; its validity, path length and constraints are.
 * C3 A search tries at most X509_CANDIDATES_MAX possible issuers and checks at most one signature
 *    for each of them; a call of x509_step checks at most one signature.
 */
#ifndef X509_X509_CHAIN_H
#define X509_X509_CHAIN_H

#include "cfg/limits.h"
#include "x509/x509.h"

/* Why a certificate is not trusted. */
enum x509_reason {
    X509_TRUSTED,
    X509_UNREADABLE,
    X509_CRITICAL, /* the certificate has a critical extension that is not evaluated */
    X509_FUTURE,
    X509_EXPIRED,
    X509_HOST, /* the certificate lists neither the name nor the address of the server */
    X509_NO_ISSUER,
    X509_NO_AUTHORITY, /* the issuer is not allowed to sign certificates */
    X509_PATH_LEN,
    X509_BAD_SIGNATURE,
    X509_WEAK_SIGNATURE,
    X509_OTHER_SIGNATURE,
    X509_WEAK_KEY,
    X509_ED25519_KEY, /* the certificate has an Ed25519 key, which mbedTLS does not support */
    X509_OTHER_KEY,
    X509_USAGE,
    X509_CONSTRAINTS,
    X509_POLICY,
    /*
     * no issuer was found among the first X509_SENT_MAX sent certificates; the others were not
     * searched
     */
    X509_SENT,
    X509_CANDIDATES, /* the search found more than X509_CANDIDATES_MAX possible issuers */
    /* the chain needs more than X509_COMPARISONS_MAX comparisons of names with constraints */
    X509_COMPARISONS,
    X509_MEMORY /* memory was exhausted, so a signature could not be checked */
};

/* Checks that `issuer` signed `child`. Returns X509_TRUSTED, or why the signature is refused. */
typedef enum x509_reason x509_check(void *context, const struct x509_cert *child,
                                    const struct x509_cert *issuer);

/* What a chain of certificates is verified against. */
struct x509_trust {
    struct view anchors; /* DER certificates of the authorities, concatenated */
    struct view host;    /* DNS name or IP address of the server */
    int64_t now_ms;      /* the time for which validity is judged, in milliseconds since 1970 */
    x509_check *check;
    void *context;
};

/* The parsed certificates that the server sent; the first is the server's certificate. */
struct x509_sent {
    struct x509_cert cert[X509_SENT_MAX];
    size_t count; /* number of certificates, at least 1 */
};

/* Position of the search among the possible issuers of one certificate. */
struct x509_frame {
    /* where the search continues: offset in the anchors, or index of a sent certificate */
    size_t at;
    uint8_t cert; /* index of the sent certificate whose issuer is searched for */
    /*
     * which possible issuers are tried now. 0 to 2: anchors, from those that match best
     * (likeness_of) to those that match worst; 3 to 5: sent certificates, in the same order
     */
    uint8_t pass;
};

/* Result of a verification, and which certificate it concerns. */
struct x509_verdict {
    enum x509_reason reason;
    /*
     * true: the reason concerns an issuer, whose subject is `subject`; false: the server's
     * certificate
     */
    bool about_issuer;
    /*
     * for X509_NO_ISSUER: why the first refused candidate was refused; X509_TRUSTED: no candidate
     * was refused
     */
    enum x509_reason hint;
    /* subject of the certificate that `hint` or `reason` concerns, or empty */
    struct view subject;
    struct view detail; /* a GeneralName, an OID or a text, depending on `reason`; may be empty */
};

/* State of a search; private to x509_chain.c. About 2 KB. */
struct x509_search {
    const struct x509_trust *trust;
    const struct x509_sent *sent;
    struct x509_frame frame[X509_SENT_MAX];
    struct x509_cert anchor; /* the authority at the end of the chain that is judged */
    size_t depth;
    unsigned candidates; /* number of possible issuers (candidates) tried so far */
    unsigned checks;     /* number of signatures checked so far */
    bool over;           /* the search has ended, and `verdict` is final */
    struct x509_verdict verdict;
    struct x509_verdict chain; /* why the first complete chain was refused */
    /* verdict on the first candidate that was refused as an issuer; X509_MEMORY replaces it */
    struct x509_verdict broken;
};

/* Starts to verify sent->cert[0]; `trust` and `sent` are borrowed until the end of the search. */
void x509_begin(struct x509_search *s, const struct x509_trust *trust,
                const struct x509_sent *sent);
/*
 * Continues the search until it has checked one signature, which takes milliseconds, or has ended.
 * true: the search has ended with the verdict *v, whose views point into the certificates.
 */
MUST_USE bool x509_step(struct x509_search *s, struct x509_verdict *v);
/*
 * Appends what is wrong with the server's certificate, without a line end, as a clause that begins
 * with "it" or "its issuer" ("it has expired").
 */
void x509_explain(struct writer *w, const struct x509_verdict *v, struct view host);

#endif
