/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates of any length: names, algorithms, keys and the order of the fields. The elements
 * come from stubs of der.c; a part that one proof shows is a stub in the proof of the whole.
 */
#include "der_stubs.h"

#include "x509/x509.c"

bool stub_string_valid(const struct der *e)
{
    stub_check_view(e->content);
    return any_bool();
}

bool stub_extensions(struct view in, struct x509_cert *cert)
{
    stub_check_view(in);
    cert->fault = "extension";
    return any_bool();
}

bool stub_algorithm(struct view in, struct view *oid, struct view *parameters)
{
    struct der e = {0};
    stub_check_view(in);
    *parameters = view_of(NULL, 0);
    if (!stub_der_oid(&in, oid) || (in.len > 0u && !stub_der_any(&in, &e))) {
        return false;
    }
    *parameters = e.whole;
    return true;
}

const char *stub_spki(struct view in, struct x509_cert *cert)
{
    stub_check_view(in);
    (void)cert;
    return any_bool() ? NULL : "key";
}

bool stub_name(struct view *in, struct view *whole)
{
    struct der e = {0};
    if (!stub_der_any(in, &e)) {
        return false;
    }
    *whole = e.whole;
    return any_bool();
}

bool stub_scheme(struct view in, struct x509_cert *cert)
{
    stub_check_view(in);
    cert->scheme = X509_SCHEME_OTHER;
    return any_bool();
}

bool stub_octets(struct view *in, struct view *octets)
{
    return stub_der_expect(in, DER_BIT_STRING, octets);
}

void proof_x509_texts(void)
{
    struct view text = any_view(ANY_LENGTH);
    if (any_bool()) {
        CHECK(text.len > 0u || is_numeric_string(text));
    } else {
        CHECK(is_bmp(text) ? text.len % 2u == 0u : text.len > 0u);
    }
}

void proof_x509_name(void)
{
    struct view name = any_view(ANY_LENGTH);
    struct view shown = {NULL, 0};
    if (name_walk(name, &shown)) {
        stub_check_view(shown);
    }
}

void proof_x509_algorithm(void)
{
    struct x509_cert cert = {0};
    if (read_scheme(any_view(ANY_LENGTH), &cert)) {
        CHECK(cert.hash_bits == 0u || cert.hash_bits == 256u || cert.hash_bits == 384u ||
              cert.hash_bits == 512u);
        CHECK(cert.scheme != X509_SCHEME_PSS || cert.hash_bits > 0u);
    }
}

void proof_x509_key(void)
{
    struct x509_cert cert = {0};
    const char *fault = read_spki(any_view(ANY_LENGTH), &cert);
    CHECK(fault != NULL || cert.key != X509_KEY_RSA || cert.exponent > 0u);
}

void proof_x509_certificate(void)
{
    struct x509_cert cert;
    struct view der = any_view(ANY_LENGTH);
    enum status s = x509_read(der, &cert);
    CHECK(s == STATUS_OK || s == PEER_MALFORMED);
    CHECK((s == STATUS_OK) == (cert.fault == NULL));
    CHECK(s != STATUS_OK || (cert.version >= 1u && cert.version <= 3u));
    CHECK(view_within(cert.raw, der) && view_within(cert.tbs, der));
    CHECK(view_within(cert.spki, der) && view_within(cert.subject, der));
}

void proof_x509_subject(void)
{
    struct view der = any_view(ANY_LENGTH);
    struct view subject;
    if (x509_subject(der, &subject)) {
        CHECK(view_within(subject, der) && subject.len >= 2u);
    }
}
