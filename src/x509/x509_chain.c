/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for a chain, one possible issuer (candidate) after the other. See x509_chain.h. */
#include "x509/x509_chain.h"

#include "base/assert.h"
#include "x509/der.h"
#include "x509/x509_names.h"
#include "x509/x509_policy.h"

static struct x509_verdict refused_verdict(enum x509_reason reason, const struct x509_cert *issuer)
{
    struct x509_verdict v = {.reason = reason};
    if (issuer != NULL) {
        v.about_issuer = true;
        v.subject = issuer->subject;
        v.detail = (reason == X509_CRITICAL) ? issuer->unhandled : v.detail;
    }
    return v;
}

/*
 * Keeps the first refusal, because the likeliest issuers are tried first and so their refusal
 * explains the most.
 */
static void keep_first(struct x509_verdict *kept, struct x509_verdict v)
{
    if (kept->reason == X509_TRUSTED) {
        *kept = v;
    }
}

/* --- judging one certificate --- */

/*
 * Judges whether the certificate is valid at `now_ms`. Compares in milliseconds, because in Go a
 * certificate has expired right after the instant notAfter, not one second later.
 */
static enum x509_reason judge_time(const struct x509_cert *cert, int64_t now_ms)
{
    if (now_ms < cert->not_before * 1000) {
        return X509_FUTURE;
    }
    return (now_ms > cert->not_after * 1000) ? X509_EXPIRED : X509_TRUSTED;
}

/* Whether the key of this certificate may sign certificates (RFC 5280 §4.2.1.9 and §4.2.1.3). */
static bool may_sign(const struct x509_cert *cert)
{
    bool constrained = cert->has_basic_constraints || cert->version == 3u;
    if (constrained && !cert->is_ca) {
        return false;
    }
    return cert->key_usage == 0u || (cert->key_usage & X509_KEY_USAGE_SIGN_CERTS) != 0u;
}

/*
 * Whether `cert` may be an issuer in a chain, judged by its critical extensions, validity and path
 * length; `below` certificates stand between it and the server's certificate.
 */
static enum x509_reason judge_issuer(const struct x509_search *s, const struct x509_cert *cert,
                                     bool is_anchor, size_t below)
{
    if (cert->unhandled.len > 0u) {
        return X509_CRITICAL;
    }
    enum x509_reason reason = judge_time(cert, s->trust->now_ms);
    if (reason != X509_TRUSTED) {
        return reason;
    }
    if (!is_anchor && !cert->is_ca) {
        return X509_NO_AUTHORITY;
    }
    return (cert->has_path_len && below > cert->path_len) ? X509_PATH_LEN : X509_TRUSTED;
}

/* --- judging a whole chain --- */

static const struct x509_cert *chain_at(const struct x509_search *s, size_t i)
{
    return &s->sent->cert[s->frame[i].cert];
}

static bool allows_servers(const struct x509_cert *cert)
{
    unsigned good = (unsigned)X509_USAGE_ANY | (unsigned)X509_USAGE_SERVER;
    return cert->usages == 0u || (cert->usages & good) != 0u;
}

/*
 * Checks that the extended key usages of every issuer of the chain allow servers, because they also
 * restrict the certificates below it. judge_own has checked those of the server's certificate.
 */
static struct x509_verdict judge_usages(const struct x509_search *s)
{
    if (!allows_servers(&s->anchor)) {
        return refused_verdict(X509_USAGE, &s->anchor);
    }
    for (size_t i = s->depth; i > 1u; i--) {
        const struct x509_cert *cert = chain_at(s, i - 1u);
        if (!allows_servers(cert)) {
            return refused_verdict(X509_USAGE, cert);
        }
    }
    return refused_verdict(X509_TRUSTED, NULL);
}

/* Checks the names of each certificate against the name constraints of all issuers above it. */
static struct x509_verdict judge_constraints(const struct x509_search *s)
{
    uint32_t budget = X509_COMPARISONS_MAX;
    for (size_t i = 0; i < s->depth; i++) {
        for (size_t above = i + 1u; above <= s->depth; above++) {
            const struct x509_cert *ca = (above < s->depth) ? chain_at(s, above) : &s->anchor;
            struct x509_verdict v = refused_verdict(X509_CONSTRAINTS, ca);
            if (ca->has_constraints && !x509_permits(ca, chain_at(s, i), &budget, &v.detail)) {
                return (budget > 0u) ? v : refused_verdict(X509_COMPARISONS, NULL);
            }
        }
    }
    return refused_verdict(X509_TRUSTED, NULL);
}

static bool judge_policies(const struct x509_search *s)
{
    const struct x509_cert *chain[X509_SENT_MAX] = {0};
    for (size_t i = 0; i < s->depth; i++) {
        chain[i] = chain_at(s, i);
    }
    return x509_policies_allow(chain, s->depth);
}

/*
 * Judges the complete chain, from the server's certificate in s->frame[0] to s->anchor: usages,
 * policies, name constraints. true: the chain is valid.
 */
static bool judge_chain(struct x509_search *s)
{
    struct x509_verdict v = judge_usages(s);
    if (v.reason == X509_TRUSTED && !judge_policies(s)) {
        v = refused_verdict(X509_POLICY, NULL);
    }
    if (v.reason == X509_TRUSTED) {
        v = judge_constraints(s);
    }
    keep_first(&s->chain, v);
    return v.reason == X509_TRUSTED;
}

/* --- finding and trying possible issuers --- */

/*
 * How well the subject key identifier of a possible issuer matches the authority key identifier of
 * the child. 0 (best): equal, or both are missing; 1: only one is missing; 2 (worst): they differ.
 */
static unsigned likeness_of(const struct x509_cert *issuer, const struct x509_cert *child)
{
    if (view_equal(issuer->subject_key_id, child->authority_key_id)) {
        return 0;
    }
    return (issuer->subject_key_id.len == 0u || child->authority_key_id.len == 0u) ? 1u : 2u;
}

#define LIKENESSES 3u

/*
 * Whether the search for the issuer of frame `f` goes through the anchors, which it does while
 * f->pass is 0 to 2. While f->pass is 3 to 5, it goes through the sent certificates.
 */
static bool is_among_anchors(const struct x509_frame *f)
{
    return f->pass < LIKENESSES;
}

/*
 * Whether the subject of `cert` is the issuer that the certificate of frame `f` names, and the two
 * certificates have the likeness (likeness_of) that f->pass selects.
 */
static bool is_wanted(const struct x509_search *s, const struct x509_frame *f,
                      const struct x509_cert *cert)
{
    const struct x509_cert *child = &s->sent->cert[f->cert];
    return view_equal(cert->subject, child->issuer) &&
           likeness_of(cert, child) == f->pass % LIKENESSES;
}

/*
 * Finds the next anchor that may have issued the certificate of frame `f`, according to is_wanted.
 * false: no such anchor is left for the current value of f->pass.
 */
static bool next_anchor(const struct x509_search *s, struct x509_frame *f, struct x509_cert *out)
{
    const struct x509_cert *child = &s->sent->cert[f->cert];
    struct view left = view_from(s->trust->anchors, f->at);
    struct view subject = {0};
    struct der e = {0};
    while (left.len > 0u && der_any(&left, &e)) {
        f->at = s->trust->anchors.len - left.len;
        if (x509_subject(e.whole, &subject) && view_equal(subject, child->issuer) &&
            x509_read(e.whole, out) == STATUS_OK && is_wanted(s, f, out)) {
            return true;
        }
    }
    return false;
}

static bool next_sent(const struct x509_search *s, struct x509_frame *f, struct x509_cert *out)
{
    while (f->at < s->sent->count) {
        const struct x509_cert *cert = &s->sent->cert[f->at];
        f->at++;
        if (is_wanted(s, f, cert)) {
            *out = *cert;
            return true;
        }
    }
    return false;
}

/*
 * Finds the next possible issuer for frame `f`: in three passes among the anchors, from the best
 * match to the worst (likeness_of), then in three passes among the sent certificates. false: no
 * possible issuer is left.
 */
static bool next_candidate(const struct x509_search *s, struct x509_frame *f, struct x509_cert *out)
{
    while (f->pass < 2u * LIKENESSES) {
        if (is_among_anchors(f) ? next_anchor(s, f, out) : next_sent(s, f, out)) {
            return true;
        }
        f->pass++;
        /* skips index 0 of the sent certificates, which is the server's own */
        f->at = is_among_anchors(f) ? 0u : 1u;
    }
    return false;
}

/*
 * Whether the chain already has a certificate with the subject, key and subject alternative names
 * of the candidate. This check is needed because cross-signed certificates can form a loop. As in
 * Go, returns false as soon as it meets a certificate that has the candidate's subject and key, but
 * only one of these two certificates has subject alternative names.
 */
static bool is_in_chain(const struct x509_search *s, const struct x509_cert *candidate)
{
    for (size_t i = 0; i < s->depth; i++) {
        const struct x509_cert *cert = chain_at(s, i);
        if (!view_equal(candidate->subject, cert->subject) ||
            !view_equal(candidate->spki, cert->spki)) {
            continue;
        }
        if (candidate->has_names != cert->has_names) {
            return false;
        }
        if (view_equal(candidate->names, cert->names)) {
            return true;
        }
    }
    return false;
}

/*
 * Whether the candidate signed the last certificate of the chain and is allowed to be its issuer.
 */
static bool candidate_fits(struct x509_search *s, const struct x509_cert *candidate, bool is_anchor)
{
    const struct x509_cert *child = chain_at(s, s->depth - 1u);
    if (candidate->key == X509_KEY_OTHER || is_in_chain(s, candidate)) {
        return false;
    }
    enum x509_reason reason = X509_NO_AUTHORITY;
    if (may_sign(candidate)) {
        reason = s->trust->check(s->trust->context, child, candidate);
        s->checks++;
    }
    if (reason == X509_TRUSTED) {
        reason = judge_issuer(s, candidate, is_anchor, s->depth - 1u);
    }
    if (reason == X509_MEMORY) {
        /*
         * The memory did not suffice to check this candidate, which may be the right issuer. The
         * verdict therefore states X509_MEMORY, and not why an earlier candidate was refused.
         */
        s->broken = refused_verdict(reason, NULL);
    }
    if (reason != X509_TRUSTED) {
        keep_first(&s->broken, refused_verdict(reason, candidate));
    }
    return reason == X509_TRUSTED;
}

/*
 * Appends the sent certificate with index `cert` to the chain. s->frame always has a free entry,
 * because the chain has at most one certificate for each candidate tried and the server's own, and
 * X509_SENT_MAX is larger than X509_CANDIDATES_MAX (cfg/budget.h).
 */
static void push_frame(struct x509_search *s, size_t cert)
{
    ASSERT(s->depth < X509_SENT_MAX && cert < s->sent->count);
    s->frame[s->depth] = (struct x509_frame){.cert = (uint8_t)cert};
    s->depth++;
}

/*
 * Tries one possible issuer of the last certificate of the chain; if none is left, removes that
 * certificate from the chain. true: the chain is complete and valid.
 */
static bool try_next(struct x509_search *s)
{
    struct x509_cert candidate;
    struct x509_frame *f = &s->frame[s->depth - 1u];
    if (!next_candidate(s, f, &candidate)) {
        s->depth--;
        return false;
    }
    bool is_anchor = is_among_anchors(f);
    s->candidates++;
    if (s->candidates > X509_CANDIDATES_MAX || !candidate_fits(s, &candidate, is_anchor)) {
        return false;
    }
    if (!is_anchor) {
        push_frame(s, f->at - 1u);
        return false;
    }
    s->anchor = candidate;
    return judge_chain(s);
}

/* --- running a search, and its verdict --- */

static bool is_anchor_itself(const struct x509_trust *trust, const struct x509_cert *cert)
{
    struct view left = trust->anchors;
    struct der e = {0};
    while (left.len > 0u && der_any(&left, &e)) {
        if (view_equal(e.whole, cert->raw)) {
            return true;
        }
    }
    return false;
}

/*
 * Judges the server's certificate without its chain: validity, critical extensions, names, usages.
 */
static struct x509_verdict judge_own(const struct x509_trust *trust, const struct x509_cert *own)
{
    struct x509_verdict v = {.reason = judge_time(own, trust->now_ms)};
    if (own->unhandled.len > 0u) {
        v.reason = X509_CRITICAL;
        v.detail = own->unhandled;
    }
    if (v.reason == X509_TRUSTED && !x509_lists_host(own, trust->host)) {
        v.reason = X509_HOST;
    }
    if (v.reason == X509_TRUSTED && !allows_servers(own)) {
        v.reason = X509_USAGE;
    }
    return v;
}

/* The verdict of a search that found no valid chain. */
static struct x509_verdict failure_verdict(const struct x509_search *s)
{
    struct x509_verdict v = {.reason = X509_NO_ISSUER};
    if (s->chain.reason != X509_TRUSTED) {
        return s->chain;
    }
    if (s->candidates > X509_CANDIDATES_MAX) {
        v.reason = X509_CANDIDATES;
        return v;
    }
    if (s->broken.reason == X509_MEMORY) {
        return s->broken;
    }
    v.hint = s->broken.reason;
    v.subject = s->broken.subject;
    v.detail = s->broken.detail;
    return v;
}

void x509_begin(struct x509_search *s, const struct x509_trust *trust, const struct x509_sent *sent)
{
    ASSERT(sent->count > 0u && sent->count <= X509_SENT_MAX && trust->check != NULL);
    *s = (struct x509_search){.trust = trust, .sent = sent};
    s->verdict = judge_own(trust, &sent->cert[0]);
    s->over = s->verdict.reason != X509_TRUSTED || is_anchor_itself(trust, &sent->cert[0]);
    push_frame(s, 0);
}

bool x509_step(struct x509_search *s, struct x509_verdict *v)
{
    unsigned before = s->checks;
    while (!s->over && s->checks == before) {
        if (s->depth > 0u && s->candidates <= X509_CANDIDATES_MAX) {
            s->over = try_next(s);
        } else {
            s->verdict = failure_verdict(s);
            s->over = true;
        }
    }
    *v = s->verdict;
    return s->over;
}

/* --- the text of a verdict --- */

static const struct {
    enum x509_reason reason;
    const char *text; /* what is wrong: follows "it " or "its issuer NAME " */
} texts[] = {
    {X509_UNREADABLE, "cannot be read: "},
    {X509_CRITICAL, "has a critical extension that is not supported: "},
    {X509_FUTURE, "is not valid yet; check the clock of this node"},
    {X509_EXPIRED, "has expired"},
    {X509_HOST, "does not list "},
    {X509_NO_ISSUER, "is not signed by the given certificate authority"},
    {X509_NO_AUTHORITY, "may not sign certificates"},
    {X509_PATH_LEN, "allows fewer certificates below it"},
    {X509_BAD_SIGNATURE, "has another key than the one that signed"},
    {X509_WEAK_SIGNATURE, "signed with SHA-1 or MD5"},
    {X509_OTHER_SIGNATURE, "signed with an algorithm that is not supported"},
    {X509_WEAK_KEY, "has an RSA key of fewer than 1024 bits"},
    {X509_ED25519_KEY, "has an Ed25519 key, which is not supported; RSA and EC keys are"},
    {X509_OTHER_KEY, "has a key that is not supported; RSA of up to 4096 bits and EC keys are"},
    {X509_USAGE, "has an extended key usage that does not allow servers"},
    {X509_CONSTRAINTS, "has name constraints that do not permit "},
    {X509_POLICY, "is signed by an authority whose certificate policies it does not have"},
    {X509_SENT, "has no issuer among the first 32 certificates that were sent; let the server send "
                "fewer, its own chain first"},
    {X509_CANDIDATES, "has more possible issuers than are tried"},
    {X509_COMPARISONS, "has more names under name constraints than are compared"},
    {X509_MEMORY, "could not be verified: memory is exhausted"},
};

static void explain_reason(struct writer *w, enum x509_reason reason, struct view detail,
                           struct view host)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].reason == reason) {
            writer_text(w, texts[i].text);
        }
    }
    if (reason == X509_CRITICAL) {
        x509_show_oid(w, detail);
    }
    if (reason == X509_CONSTRAINTS) {
        x509_show_general_name(w, detail);
    }
    if (reason == X509_UNREADABLE) {
        writer_shown(w, detail, SHOWN_BYTES_MAX);
    }
    if (reason == X509_HOST) {
        WRITE(w, "% among its subject alternative names", VIEW(host));
    }
}

void x509_explain(struct writer *w, const struct x509_verdict *v, struct view host)
{
    if (v->about_issuer) {
        writer_text(w, "its issuer ");
        x509_show_name(w, v->subject);
        writer_text(w, " ");
    } else {
        writer_text(w, "it ");
    }
    explain_reason(w, v->reason, v->detail, host);
    if (v->reason == X509_NO_ISSUER && v->hint != X509_TRUSTED) {
        writer_text(w, "; ");
        x509_show_name(w, v->subject);
        writer_text(w, " ");
        explain_reason(w, v->hint, v->detail, host);
    }
}
