/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates of any length: texts in names, keys, and the way to the subject. The elements come
 * from stubs of der.c; parse_algorithm is a stub in the proof of the key.
 */
#include "der_stubs.h"

#include "x509/x509.c"

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

void proof_x509_texts(void)
{
    struct view text = any_view(ANY_LENGTH);
    if (any_bool()) {
        CHECK(text.len > 0u || is_numeric_string(text));
    } else {
        CHECK(is_bmp(text) ? text.len % 2u == 0u : text.len > 0u);
    }
}

void proof_x509_key(void)
{
    struct x509_cert cert = {0};
    const char *fault = read_spki(any_view(ANY_LENGTH), &cert);
    CHECK(fault != NULL || cert.key != X509_KEY_RSA || cert.exponent > 0u);
}

void proof_x509_subject(void)
{
    struct view der = any_view(ANY_LENGTH);
    struct view subject;
    if (x509_subject(der, &subject)) {
        CHECK(view_within(subject, der) && subject.len >= 2u);
    }
}
