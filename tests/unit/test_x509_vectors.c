/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts on the certificates of servers: the situations of tests/conformance/verdict with the
 * verdicts of Go's crypto/x509, recorded in tests/vectors/x509 with real signatures. In each
 * situation a server sends certificates to a client that trusts a bundle.
 */
#include <mbedtls/memory_buffer_alloc.h>

#include "unit.h"

#include "cfg/limits.h"
#include "host/apiserver/tls.h"
#include "host/apiserver/tls_verify.h"
#include "x509/pem.h"

/* tools/make/unit.mk unpacks it from tests/vectors/x509/situations.zip. */
#define VECTORS "build/vectors/x509/situations"
#define VECTORS_BYTES_MAX (4u << 20)
#define SITUATIONS_MIN 600u

static uint8_t vectors[VECTORS_BYTES_MAX];
static struct reader in;
static int64_t recorded_ms;
static uint32_t situations;
/* Large enough for the longest chain besides one verification. */
static unsigned char arena[256u * 1024u] __attribute__((aligned(16)));

static uint32_t number(void)
{
    uint32_t n = 0;
    assert_int_equal(reader_u32(&in, &n), STATUS_OK);
    return n;
}

static struct view bytes(void)
{
    struct view v = {0};
    assert_int_equal(reader_consume(&in, number(), &v), STATUS_OK);
    return v;
}

static const char *name(char *out, size_t cap)
{
    assert_int_equal(text_copy(out, cap, bytes()), STATUS_OK);
    return out;
}

static int load(void **state)
{
    FILE *file = fopen(VECTORS, "rb");
    (void)state;
    if (file == NULL) {
        print_error(VECTORS ": cannot be opened: make it, or run this in the top folder\n");
        return -1;
    }
    size_t len = fread(vectors, 1, sizeof vectors, file);
    (void)fclose(file);
    assert_true(len < sizeof vectors);
    in = reader_of(view_of(vectors, len));
    recorded_ms = (int64_t)number() * 1000;
    situations = number();
    assert_int_equal(tls_setup(), STATUS_OK);
    return 0;
}

/* The verdict on the certificates that follow in the vectors; why they are refused, or "". */
static const char *judge(struct view anchors, const char *host)
{
    static struct tls_verifier verifier;
    mbedtls_x509_crt chain;
    uint32_t flags = 0;
    mbedtls_memory_buffer_alloc_init(arena, sizeof arena);
    mbedtls_x509_crt_init(&chain);
    for (uint32_t left = number(); left > 0; left--) {
        struct view der = bytes();
        assert_int_equal(mbedtls_x509_crt_parse_der(&chain, der.data, der.len), 0);
    }
    tls_verifier_start(&verifier, anchors, view_text(host));
    assert_int_equal(tls_verify(&verifier, &chain, 0, &flags), 0);
    /* tls_verify began at the time of the clock; the vectors are valid for a day only. */
    verifier.trust.now_ms = recorded_ms;
    if (verifier.unread.reason == X509_TRUSTED) {
        x509_begin(&verifier.search, &verifier.trust, &verifier.sent);
    }
    enum status s = STATUS_MORE;
    for (unsigned i = 0; s == STATUS_MORE; i++) {
        assert_true(i <= X509_CANDIDATES_MAX + 1u);
        s = tls_verify_on(&verifier);
    }
    assert_true((s == STATUS_OK) == (verifier.text[0] == '\0'));
    mbedtls_x509_crt_free(&chain);
    mbedtls_memory_buffer_alloc_free();
    return verifier.text;
}

static void test_verdicts(void **state)
{
    static uint8_t bundle[CA_BYTES_MAX];
    static char title[128];
    static char host[256];
    static char words[256];
    unsigned accepted = 0;
    unsigned wrong = 0;
    (void)state;
    for (uint32_t i = 0; i < situations; i++) {
        (void)name(title, sizeof title);
        (void)name(host, sizeof host);
        (void)name(words, sizeof words);
        struct view pem = bytes();
        bool trusted = number() != 0;
        assert_true(pem.len <= sizeof bundle);
        memcpy(bundle, pem.data, pem.len);
        size_t len = pem_certificates(bundle, pem.len);
        const char *why = judge(view_of(bundle, len), host);
        if ((why[0] == '\0') != trusted || strstr(why, words) == NULL) {
            print_error("%s: \"%s\"; Go: %s\n", title, why, trusted ? "trusted" : "refused");
            wrong++;
        }
        accepted += trusted ? 1u : 0u;
    }
    assert_int_equal(reader_left(&in), 0);
    assert_int_equal(wrong, 0);
    assert_true(situations >= SITUATIONS_MIN && accepted > 100 && accepted < situations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
