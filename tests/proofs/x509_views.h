/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the proofs of certificates: where views lie, for the contracts of loops over elements, and a
 * certificate whose views are any parts of one input, which x509_read gives to its callers.
 */
#ifndef PROOF_X509_VIEWS_H
#define PROOF_X509_VIEWS_H

#include "der_stubs.h"
#include "x509/x509.h"

/*
 * Whether `part` is empty, or memory of the same object as `whole`: view_within, for contracts,
 * where __CPROVER_r_ok would complain of the pointers that it is to exclude.
 */
#define PART_OF(part, memory)                                                                      \
    ((part).len == 0u ||                                                                           \
     (__CPROVER_same_object((part).data, (memory)) &&                                              \
      __CPROVER_POINTER_OFFSET((part).data) <= __CPROVER_OBJECT_SIZE(memory) &&                    \
      (part).len <= __CPROVER_OBJECT_SIZE(memory) - __CPROVER_POINTER_OFFSET((part).data)))
#define PART(part, whole) PART_OF(part, (whole).data)

/* The same for a view that a loop shortens: it stays in the memory that it had before the loop. */
#define STAYS(part) PART_OF(part, __CPROVER_loop_entry((part).data))

/* Any part of a view. */
static struct view any_part(struct view whole)
{
    size_t begin = any_length(whole.len);
    size_t len = any_length(whole.len - begin);
    return (struct view){(len > 0u) ? whole.data + begin : NULL, len};
}

/* A certificate of any content whose views are parts of `der`. */
static struct x509_cert any_cert(struct view der)
{
    struct x509_cert cert;
    cert.fault = NULL;
    cert.raw = any_part(der);
    cert.tbs = any_part(der);
    cert.issuer = any_part(der);
    cert.subject = any_part(der);
    cert.spki = any_part(der);
    cert.signature = any_part(der);
    cert.subject_key_id = any_part(der);
    cert.authority_key_id = any_part(der);
    cert.names = any_part(der);
    cert.permitted = any_part(der);
    cert.excluded = any_part(der);
    cert.policies = any_part(der);
    cert.unhandled = any_part(der);
    return cert;
}

/* A decimal number has at most 20 digits. */
void stub_writer_decimal(struct writer *w, uint64_t value)
{
    uint8_t digits[20];
    size_t n = any_u8();
    ASSUME(n >= 1u && n <= (value < 10u ? 1u : sizeof digits));
    stub_writer_bytes(w, digits, n);
}

void stub_writer_shown(struct writer *w, struct view v, size_t max)
{
    stub_check_view(v);
    CHECK(writer_sound(w) && max <= ANY_LENGTH);
    size_t more = any_length(w->cap - w->len);
    w->full = w->full || any_bool();
    w->len += w->full ? 0u : more;
}

#endif
