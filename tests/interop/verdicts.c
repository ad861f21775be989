/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's verdicts on certificates without a handshake, for tests/conformance/verdict: many in
 * a short time. Input, each number of four octets, the high one first: length and octets of the
 * authorities' DER, of the server's name, then the number of certificates sent, and of each its
 * length and its DER. Output: one line for each, "ok" or the reason. An empty name is not looked
 * for, as in Go's crypto/x509: the public suites have certificates without one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cfg/limits.h"
#include "host/apiserver/tls_verify.h"
#include "x509/x509_names.h"

#include <mbedtls/memory_buffer_alloc.h>

#define INPUT_BYTES (1u << 20)
#define CERTIFICATES_MAX 256u

/* The linker puts this in the place of x509_lists_host. */
bool __real_x509_lists_host(const struct x509_cert *cert, struct view host);
bool __wrap_x509_lists_host(const struct x509_cert *cert, struct view host);

bool __wrap_x509_lists_host(const struct x509_cert *cert, struct view host)
{
    return host.len == 0u || __real_x509_lists_host(cert, host);
}

static unsigned char arena[INPUT_BYTES + TLS_ARENA_BYTES];
static uint8_t anchors[CA_BYTES_MAX];
static uint8_t name[256];
static uint8_t sent[INPUT_BYTES];

static _Noreturn void give_up(const char *what)
{
    (void)fprintf(stderr, "verdicts: %s\n", what);
    exit(1);
}

/* False: the input has ended. */
static bool read_number(uint32_t *value)
{
    uint8_t bytes[4];
    if (fread(bytes, 1, sizeof bytes, stdin) != sizeof bytes) {
        return false;
    }
    *value =
        (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    return true;
}

static struct view read_bytes(uint8_t *to, size_t cap)
{
    uint32_t len = 0;
    if (!read_number(&len) || len > cap || fread(to, 1, len, stdin) != len) {
        give_up("the input is cut, or too long");
    }
    return view_of(to, len);
}

static void read_chain(mbedtls_x509_crt *chain)
{
    uint32_t count = 0;
    if (!read_number(&count) || count > CERTIFICATES_MAX) {
        give_up("too many certificates");
    }
    for (uint32_t i = 0; i < count; i++) {
        struct view der = read_bytes(sent, sizeof sent);
        if (mbedtls_x509_crt_parse_der(chain, der.data, der.len) != 0) {
            give_up("the arena is exhausted");
        }
    }
}

static void judge(struct view authorities)
{
    static struct tls_verifier verifier;
    mbedtls_x509_crt chain;
    uint32_t flags = 0;
    struct view host = read_bytes(name, sizeof name);
    mbedtls_memory_buffer_alloc_init(arena, sizeof arena);
    mbedtls_x509_crt_init(&chain);
    read_chain(&chain);
    tls_verifier_start(&verifier, authorities, host);
    if (tls_verify(&verifier, &chain, 0, &flags) != 0) {
        give_up("tls_verify");
    }
    enum status s = STATUS_MORE;
    while (s == STATUS_MORE) {
        s = tls_verify_on(&verifier);
    }
    (void)printf("%s\n", (s == STATUS_OK) ? "ok" : verifier.text);
    mbedtls_x509_crt_free(&chain);
    mbedtls_memory_buffer_alloc_free();
}

int main(void)
{
    for (int next = getchar(); next != EOF; next = getchar()) {
        (void)ungetc(next, stdin);
        judge(read_bytes(anchors, sizeof anchors));
        if (fflush(stdout) != 0) {
            give_up("output");
        }
    }
    return 0;
}
